// SPDX-License-Identifier: Apache-2.0
// A checkpoint: config.json and files of weights (safetensors, else PyTorch's own), one or sharded, mapped and never copied but
// for views that do not lie row-major in their file.
//
// safetensors file:  u64 little-endian N | N bytes of JSON header | data
//   header: {"NAME": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ..., "__metadata__": {..}}
// Every number is checked against the file: header within the file, offsets in order and inside the data, no overlap,
// end - begin = product(shape) * size(dtype), no name twice (over all shards), rank at most TENSOR_MAX_RANK. Holes between
// tensors are refused as the reference implementation does.
// What it does not do: convert, hash, or interpret names.
#ifndef ASSAY_CHECKPOINT_CHECKPOINT_H
#define ASSAY_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"

struct shard {
	const char *path;      // as opened, for messages
	const char *real_path; // links resolved: where the bytes lie
	const char *location;  // its name beside a graph: what graph_external is given and artifact/ places it under
	const uint8_t *map;    // the whole file, read-only
	size_t nbytes;
	size_t header_nbytes;   // 8 + N; of a file of torch.save its pickles, its zip's table of contents
	uint64_t stored_nbytes; // that the file really takes on its disk: less than nbytes where it has holes
	bool synthetic;         // its metadata says so: {"assay": "synthetic"}, written by synth_write
	bool copied;   // no file yet: the image of one in memory, with the views that had to be copied; artifact/ writes it
	bool computed; // no file and no bytes: the place of weights that are computed (computed.h), so that a graph can name them
	const char **ignored;               // of a pickle: names of what is no tensor
	size_t ignored_count, ignored_more; // [ignored_count]; and how many there are beside them
	// For people, and no proof: the Hub's etag (name of the blob) inside its cache, else "dev:inode:size:mtime_ns".
	const char *identity;
	char digest[65]; // SHA-256 of its content; "" until checkpoint_digest
};

struct weight {
	const char *name;
	enum dtype dtype;
	int rank;
	int64_t dim[TENSOR_MAX_RANK];
	const struct shard *shard; // NULL in a plan (a checkpoint that is only wished for)
	uint64_t offset;           // bytes from the start of the shard's file
	uint64_t nbytes;
	const void *data; // shard->map + offset; may be unaligned, files in the wild are
	double gain;      // in a plan: what the usual scale of seeded weights is multiplied by; 0: 1
	const int64_t
		*stride; // of a copied view: elements from one to the next in each dimension, as its file says; NULL otherwise
	const struct computed
		*computed; // what its numbers are made from (computed.h), and `data` is NULL; NULL: they lie in the file
};

// The weight as a tensor, whose data are the weight's: they live as long, and may be unaligned.
struct tensor weight_tensor(const struct weight *w);

struct checkpoint {
	struct arena arena;
	const char *path; // the folder, or the GGUF file
	json_t *config;   // config.json, or what the GGUF file says instead; freed with the arena
	struct shard *shards;
	size_t shard_count;
	struct weight *weights; // sorted by name
	size_t weight_count;    // 0 for a folder with nothing but a config.json
	size_t copied_count;    // weights that were copied, because no graph can point at them where they lie
	uint64_t copied_nbytes;
	// Of weights that are published in another form than a graph reads: "fp8 (f8e4m3 in blocks of 128 x 128), 252 weights
	// dequantised to bf16"; NULL: they are read as they lie.
	const char *weights_from;
	size_t computed_count; // weights that are computed: artifact/ makes them when a graph reads them
};

// Opens config.json and, when there are any, the weights: model.safetensors, else model.safetensors.index.json and its
// shards, else pytorch_model.bin, else pytorch_model.bin.index.json (the order of transformers). Quantised weights are found by
// config.json's quantization_config and stand in `weights` as the numbers that they mean (computed.h). A folder of an adapter
// is its base model's checkpoint with the adapter merged (adapter.h), and `path` is the base's. A file *.gguf is all of it
// (gguf.h). An absent config.json is
// BAD_INPUT; absent weights are not an error here. config.json may say NaN, Infinity and -Infinity as Python's json writes them:
// each becomes {"__float__": "Infinity"}, the spelling of transformers 5. Integers beyond 64 bits become reals. On failure
// nothing is left open. close accepts a zeroed or half-open checkpoint.
enum status checkpoint_open(struct checkpoint *out, const char *folder, struct error *err);
// A configuration's text, with those spellings; *out is owned by the caller.
enum status checkpoint_json(const char *name, const char *data, size_t nbytes, json_t **out, struct error *err);
// A checkpoint of a configuration alone, from memory; `name` stands for the path in errors.
enum status checkpoint_open_config(struct checkpoint *out, const char *name, const char *text, size_t nbytes, struct error *err);
void checkpoint_close(struct checkpoint *c);

// The files of weights that checkpoint_open would read in this folder, and their index where there is one: names within the
// folder. A damaged index is named alone. Nothing is opened but the index.
void checkpoint_files(const char *folder, struct arena *a, const char *const **out, size_t *count);

struct digest_watch;
// Fills the digest of every shard. `watch` may be NULL (base/digest.h).
enum status checkpoint_digest(struct checkpoint *c, struct digest_watch *watch, struct error *err);
// One shard's, from `digest` or made now.
enum status shard_digest(char out[65], const struct shard *s, struct digest_watch *watch, struct error *err);

// A shard's location is the base name of its real path (in the Hub's cache the blob's name), so that an engine finds it in
// the real folder. For files that a person will look at, this makes it the name in the checkpoint's folder instead.
void checkpoint_plain_locations(struct checkpoint *c);

const struct weight *checkpoint_find(const struct checkpoint *c, const char *name); // NULL if absent

// One safetensors file by itself (conformance inputs, reference outputs); weights sorted by name, memory in `a`.
enum status safetensors_open(
	struct arena *a, const char *path, struct shard *shard, struct weight **out, size_t *count, struct error *err);
// The "__metadata__" of such a file, names and texts, owned by the caller; NULL where it has none. Its tensors are not looked at.
enum status safetensors_metadata(const char *path, json_t **out, struct error *err);
enum status safetensors_metadata_of(const struct shard *file, json_t **out, struct error *err); // of one that is open
// The header of a file in memory: what safetensors_open does after mapping, and what the fuzzer calls.
enum status safetensors_parse(struct arena *a, const struct shard *shard, struct weight **out, size_t *count, struct error *err);

// The same for a file of torch.save. Tensors may share bytes, or have strides; checkpoint_open copies those.
enum status torch_open(
	struct arena *a, const char *path, struct shard *shard, struct weight **out, size_t *count, struct error *err);
// A file in memory; shard->ignored is filled in.
enum status torch_parse(struct arena *a, struct shard *shard, struct weight **out, size_t *count, struct error *err);

// Writing. The header text for tensors in the given order with the offsets they will have, padded so that data starts at a
// multiple of 64 (external data maps well); total file size in *file_nbytes. `weights[i].offset` is filled in.
enum status safetensors_header(struct arena *a, struct weight *weights, size_t count, char **header, size_t *header_nbytes,
	uint64_t *file_nbytes, struct error *err);
// The same for seeded weights: the reader of the file sets shard.synthetic.
enum status safetensors_header_synthetic(struct arena *a, struct weight *weights, size_t count, char **header,
	size_t *header_nbytes, uint64_t *file_nbytes, struct error *err);
// The same with metadata, an object of strings; it comes first in the header, without white space. BAD_INPUT: not UTF-8.
enum status safetensors_header_metadata(struct arena *a, struct weight *weights, size_t count, const json_t *metadata,
	char **header, size_t *header_nbytes, uint64_t *file_nbytes, struct error *err);
// A whole small file at once, atomically.
enum status safetensors_write(const char *path, const struct tensor *tensors, size_t count, struct error *err);
enum status safetensors_write_user(
	const char *path, const struct tensor *tensors, size_t count, struct error *err); // by file_write_user

// Seeded weights (the conformance formula, ../tests/conform/README.md; `seed` 0 is exactly that, another seed gives
// other numbers): stream = fnv1a64(name) ^ (seed ? splitmix64(seed, 0) : 0).
//   rank >= 2                                u * sqrt(3 / (product of all dims but the first)), times w->gain where it is set
//   name ends in running_var                 u * 0.1 + 1
//   rank 1, name ends in "weight"/"gamma"    u * 0.1 + 1
//   anything else                            u * 0.1
// Fills elements [first, first + count) of the tensor at `out` in w->dtype; integer, boolean and 8-bit float types get zeros.
void weights_fill(const struct weight *w, uint64_t seed, size_t first, size_t count, void *out);

#endif
