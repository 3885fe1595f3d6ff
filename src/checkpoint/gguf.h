// SPDX-License-Identifier: Apache-2.0
// GGUF files (of ggml and llama.cpp; ggml's documentation of the format): one file that has a model's configuration, its
// tokenizer and its weights. Version 2 and 3, little-endian:
//
//   "GGUF" | u32 version | u64 tensors | u64 pairs | pairs: string key, u32 type, value | tensors: string name, u32 rank,
//   u64 dimensions (the last first), u32 type, u64 offset | padding | data: one tensor behind the other, each padded
//   string: u64 length, bytes    array: u32 type, u64 count, values
//
// Every count, length, offset and dimension is checked against the file before anything is sized by it.
#ifndef ASSAY_CHECKPOINT_GGUF_H
#define ASSAY_CHECKPOINT_GGUF_H

#include "checkpoint/computed.h"

enum gguf_kind {
	GGUF_U8,
	GGUF_I8,
	GGUF_U16,
	GGUF_I16,
	GGUF_U32,
	GGUF_I32,
	GGUF_F32,
	GGUF_BOOL,
	GGUF_STRING,
	GGUF_ARRAY,
	GGUF_U64,
	GGUF_I64,
	GGUF_F64,
	GGUF_KINDS
};

struct gguf_pair {
	const char *key;
	enum gguf_kind kind; // of an array, of its values
	bool is_array;
	uint64_t count;     // 1 where it is no array
	const uint8_t *at;  // in the file: the first value; of strings, its length
	const uint8_t *end; // behind the last
};

// How ggml lays out numbers: blocks of `block` numbers in `nbytes` bytes. Number i of a block is
//   scale(group of i) * code(i) - less(group of i)
// in float32, where `group` numbers that follow each other have one scale (ggml's dequantize_row_*).
struct ggml_type {
	uint32_t id;
	const char *name;
	int block, nbytes, group;
	void (*scale)(const uint8_t *block, int group, float *scale, float *less);
	int (*code)(const uint8_t *block, int i);
	enum dtype plain; // F32, F16, BF16: no blocks
};
const struct ggml_type *ggml_type_find(uint32_t id); // NULL: one that is not read
const char *ggml_type_name(uint32_t id);             // also of those that are not read; NULL: ggml has none
// Numbers [first, first + count) of a row of whole blocks. Pure.
void ggml_numbers(const struct ggml_type *t, const uint8_t *row, int64_t first, size_t count, float *out);

struct gguf_tensor {
	const char *name;
	const struct ggml_type *type;
	int rank;
	int64_t dim[4]; // as everywhere here: the last is the one that follows itself in memory
	uint64_t offset, nbytes;
};

struct gguf {
	const struct shard *file;
	struct gguf_pair *pairs; // sorted by key
	size_t pair_count;
	struct gguf_tensor *tensors; // in the order of the file
	size_t tensor_count;
	size_t header_nbytes; // before the data
};

// A file that is mapped; memory in `a`. BAD_INPUT, UNSUPPORTED: a sentence with the file's name.
enum status gguf_parse(struct gguf *out, struct arena *a, const struct shard *file, struct error *err);
const struct gguf_pair *gguf_find(const struct gguf *g, const char *key); // NULL: there is none
// Keys that are there and hold no single number, though they stand for one, are refused by name. The list ends with NULL.
enum status gguf_check_numbers(const struct gguf *g, const char *const *keys, struct error *err);
// BAD_INPUT: the token that texts begin or end with is none of the file's tokens.
enum status gguf_check_tokens(const struct gguf *g, struct error *err);
// One number, whatever its type; also of an array whose values are all the same. False: it is none.
bool gguf_number(const struct gguf_pair *p, double *out);
// Number i of an array of numbers, or the number.
double gguf_number_at(const struct gguf_pair *p, uint64_t i);
// The text at *at, which moves behind it; for the strings of a pair, begin with p->at. Not terminated.
const char *gguf_string(const uint8_t **at, size_t *nbytes);
// A string of at most `most` bytes of UTF-8 without U+0000, in `a`; NULL: it is none.
const char *gguf_text(const struct gguf *g, struct arena *a, const char *key, size_t most);

// gguf_model.c. The checkpoint of a file: its configuration as config.json would have it, its weights under the names and in the
// order that transformers gives them. What lies in the file as it is needed is read there, everything else is computed.
enum status gguf_open(struct checkpoint *c, const char *path, struct error *err);

#endif
