// SPDX-License-Identifier: Apache-2.0
// How an engine gets a graph and its weights without copying them.
//
//   ONNX Runtime   the graph from memory; weights_dir is the real folder of the safetensors files (external data refuses
//                  symbolic links that leave the folder, and the Hub's cache is made of them)
//                  (a view that had to be copied lies in no folder yet: then as for OpenVINO, with the copies written beside)
//   OpenVINO       a graph file in the cache with hard links to the files beside it; where link() fails (EXDEV, EPERM,
//                  EMLINK, EROFS) a reflink, and where that fails a copy, after its size and the free space were compared
//
// Cache: CACHE/artifact/KEY/{model.onnx, *.safetensors, made.json}; KEY = SHA-256 over graph bytes and the contents of
// each file of weights. A folder is made under a temporary name and renamed: concurrent builders are safe.
#ifndef ASSAY_ARTIFACT_ARTIFACT_H
#define ASSAY_ARTIFACT_ARTIFACT_H

#include "arch/arch.h"
#include "artifact/convert.h"
#include "base/arena.h"
#include "base/tensor.h"
#include "checkpoint/checkpoint.h"
#include "onnx/graph.h"

struct artifact {
	const char *key;   // 64 hex digits; NULL until artifact_identify
	const void *graph; // ONNX bytes
	size_t graph_nbytes;
	const char *file;        // what the graph is called where it is exported: "model.onnx", "encoder_model.onnx"
	const char *graph_path;  // graph file with its weights beside it; NULL until artifact_place
	const char *weights_dir; // real folder of all weight files; NULL when they lie in several folders or there are none
	const char *placed_by;   // "memory", "hardlink", "reflink", "copy", "file" (an .onnx given by the user)
	const struct tensor_type *inputs, *outputs; // -1: decided at run time; NULL for a user's .onnx (the engine tells)
	size_t input_count, output_count;
	const struct tensor
		*fixed; // of a user's .onnx whose shapes were fixed in `graph`, and not in the file at graph_path; or NULL
	size_t fixed_count;
	struct graph_summary summary;
	uint64_t weights_nbytes;            // of the tensors the graph uses
	const struct artifact_parts *parts; // the same as files that a browser can fetch; NULL until artifact_cut (parts.h)
	enum dtype weights_dtype;           // the dtype of most weight bytes
};

// Builds (arch_build, graph_write) and fills everything but graph_path. Memory in `a`; the checkpoint must outlive it.
// A graph that needs converted weights is refused here.
enum status artifact_build(struct artifact *out, struct arena *a, const struct checkpoint *c, const struct spec *s,
	const struct arch_graph *which, struct graph *g, struct error *err);
// The graphs of one model together: what they need in another form is converted once, for all of them (convert.h); *conversion
// says what was made.
struct artifact_set {
	size_t count; // of each array
	const struct arch_graph *const *which;
	struct graph *const *graphs; // new ones, in the form that is wanted
	struct artifact *out;
};
enum status artifact_build_all(const struct artifact_set *set, struct arena *a, struct checkpoint *c, const struct spec *s,
	struct conversion *conversion, struct error *err);
// A user's .onnx file as it is.
enum status artifact_open_onnx(struct artifact *out, struct arena *a, const char *path, struct error *err);
// The same with its inputs' shapes as `given` has them (onnx/fix.h), under another key; `given` must outlive it. After
// artifact_identify.
enum status artifact_fix_shapes(
	struct artifact *art, struct arena *a, const struct tensor *given, size_t count, struct error *err);
// Gives it its key: SHA-256 over the graph's bytes and the contents of every file that the graph names, so weights are read once
// here (base/digest.h). `c`: as in artifact_build; NULL for a user's .onnx file. Nothing to do where there is a key.
enum status artifact_identify(struct artifact *art, struct arena *a, const struct checkpoint *c, struct error *err);
// Whether no one folder holds all its weights, so that every engine needs artifact_place.
bool artifact_needs_path(const struct artifact *art);
// Gives it a path in the cache.
enum status artifact_place(struct artifact *art, struct arena *a, const struct checkpoint *c, struct error *err);

// `assay build`: the graphs of one model and their weights in `folder`; of several graphs also the model's small files (its
// configuration, its tokenizer), which programs look for beside them. `link`: hard links; else files that stand alone (reflink or
// copy).
enum status artifact_export(const struct artifact *arts, size_t count, const struct checkpoint *c, const char *folder, bool link,
	const char **placed_by, struct error *err);

// file_place.c: one file to another path by the first way that works; `how` is "hardlink", "reflink" or "copy".
// Copying first compares the size with the free space: NO_SPACE names both.
enum { PLACE_LINK = 1, PLACE_REFLINK = 2, PLACE_COPY = 4 };
enum status file_place(const char *from, const char *to, int ways, const char **how, struct error *err);

// synth.c: a checkpoint with the right names and shapes and seeded random weights.
struct synth_options {
	uint64_t seed;
	enum dtype dtype; // DTYPE_NONE: as the configuration says, else f32
	int64_t layers;   // 0: all
	// For graphs of this form alone, of a reduced precision: tensors that those read in another form only are named in the
	// file, which has a hole where they would lie; convert.h makes the other form from the formula. NULL: all are written.
	const struct graph_form *form;
	bool generates; // of `form`: the graphs of a generation, not the whole model's
	// Called between tensors with bytes done and in all; may be NULL. Non-zero stops: INTERRUPTED.
	int (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
};
// Into a folder: config.json (with the layer count and dtype that were used) and model.safetensors. Space is checked first.
enum status synth_write(const char *folder, const struct checkpoint *config, const struct synth_options *o, struct error *err);
// In the cache, shared by configuration, seed, dtype and layers: CACHE/synthetic/KEY; made if absent; *folder in `a`. Marks it
// used.
enum status synth_cached(
	const char **folder, struct arena *a, const struct checkpoint *config, const struct synth_options *o, struct error *err);
uint64_t synth_nbytes(const struct spec *s, enum dtype t);      // 0 when it cannot be known
enum dtype synth_dtype(const struct spec *s, enum dtype asked); // asked, else as the configuration says, else float32

// cache.c
struct cache_usage {
	uint64_t artifact_bytes, synthetic_bytes, converted_bytes, copied_bytes, reference_bytes, compiled_bytes, conform_bytes,
		digest_bytes, claim_bytes, other_bytes;
	size_t artifacts, synthetics, converted, copied, references, compiled, cases, digests, claims;
	size_t dead_links; // the last link of a blob that is gone from the Hub's cache
};
enum status cache_usage(struct cache_usage *out, struct error *err); // real disk use: links are not counted twice
// Removes synthetic, converted and copied weights, references, what compilers made, conformance cases and digests, whichever
// was used least recently first and none that is in use, until they are at most `limit` bytes together; *removed counts
// bytes. Goes too: what killed makers left, and artifacts unused for an hour whose weights live on nowhere else. A cache that
// is not to be used (base/cache.h) is left alone: FAILED. While other programs use the cache, references and digests of the
// last minute stay: between writing one and opening it nothing is locked.
enum status cache_trim(uint64_t limit, uint64_t *removed, struct error *err);
// cache_trim to nothing, and every graph. FAILED while other programs use the cache: a cell may be about to open one.
enum status cache_clear(uint64_t *removed, struct error *err);
// Hashes what is known by its SHA-256 (blobs of weights and ONNX files of the Hub's cache, and links to them) and says which do
// not match.
enum status cache_verify(struct text *report, size_t *bad, struct error *err);

// Does the file system still give what an engine reads of it? NOT_ASKED with the file's name and why; `said` as in
// file_check_given. After an engine failed, which says of a server that went what it likes.
enum status artifact_check_given(const struct artifact *art, const char *said, struct error *err);

// `listener` is told by cache_waits: the file of the lock while another process makes what this one asks of the cache, or the
// folder that could not be written; NULL after that.
void cache_set_waiting(void (*listener)(const char *path));
void cache_waits(const char *path);

#endif
