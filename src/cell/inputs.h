// SPDX-License-Identifier: Apache-2.0
// Inputs for a graph: synthetic ones of the right shape, seeded, or those of a file.
#ifndef ASSAY_CELL_INPUTS_H
#define ASSAY_CELL_INPUTS_H

#include "arch/arch.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"
#include "onnx/graph.h"

// `past`: how many tokens a cache holds already. The other lengths of tokens follow from these. `image_size`: height and width of
// images; 0: what the model says.
// `encoder`: how many states of an encoder a decoder is given; 0: `sequence`.
struct input_shape {
	int64_t batch, sequence, past, image_size, encoder;
	const char *file; // a safetensors file that inputs come from; NULL: they are synthetic. For predictions.
};

// The number that a symbol stands for: batch, image_batch (a picture a text), *sequence* (sequence, decoder_sequence, ...), past*
// and total* lengths, samples (one second of 16 kHz), and what the hints say; -1 where that is not known. `hints` may be NULL.
int64_t inputs_symbol(const char *name, const struct input_hints *hints, const struct input_shape *shape);
// What is asked for, or the usual: batch 1, 128 tokens beside those of an image, or what the model takes if less. UNSUPPORTED for
// an asked sequence that is longer than that. Zero: not asked.
enum status inputs_shape(
	struct input_shape *out, const struct input_hints *hints, int64_t batch, int64_t sequence, struct error *err);
// How many inputs one run answers, where that can be known: the size of a dimension that a declared type names as a batch
// (inputs_names_batch); else `asked`, where it is above 1, every input begins with so many, and none of these dimensions has a
// name that says something else than a batch. -1: not known. That some input begins with a 2 says nothing: it may be the layers
// of a state.
int64_t inputs_batch(const struct tensor_type *types, const struct tensor *built, size_t count, int64_t asked);
// "batch", "batch_size", ... on any axis; "N", "B" and "bs" on the first only.
bool inputs_names_batch(const char *symbol, int axis);
// Does a name say that a dimension is a length or a number of things in one input: time, sequence, frames, points, num_boxes?
bool inputs_names_length(const char *symbol);
// May a batch of the inputs come out again: is a dimension of an output open, or the first one as large?
bool inputs_batch_leaves(const struct tensor_type *outputs, size_t count, int64_t batch);
// Of a user's .onnx: UNSUPPORTED where a batch above 1 or a length of token ids was asked for and every input has another one
// fixed.
enum status inputs_check_asked(const struct tensor_type *types, size_t count, int64_t batch, int64_t sequence, struct error *err);
// Batch and sequence of the inputs in a file: the batch of token ids, else of a mask, pixels or sound, else of the first tensor
// that has one.
enum status inputs_file_shape(struct input_shape *out, const char *path, struct error *err);
// How many bytes the inputs in a file take; 0 where it cannot be read.
uint64_t inputs_file_nbytes(const char *path);
// The numbers that the symbols of a graph's inputs have in a file, each the largest one; [*n] of them, in `a`.
enum status inputs_file_symbols(struct arena *a, const struct tensor_type *types, size_t count, const char *path,
	struct input_symbol **out, size_t *n, struct error *err);
// Binds them all in a graph that is about to be built static.
void inputs_bind(struct graph *g, const struct input_hints *hints, const struct input_shape *shape);
// In any form: a size of images that was asked for is a number before the first node is built, because learned positions depend
// on it.
void inputs_bind_image(struct graph *g, const struct input_shape *shape);
// Whether the inputs of a built graph have that size; UNSUPPORTED says which it has, that there are no
// images, or what the model's table of positions takes at most.
enum status inputs_check_image(const struct tensor_type *types, size_t count, const struct input_hints *hints,
	const struct input_shape *shape, struct error *err);

// One tensor for each declared input, by its name:
//   *ids                in [0, vocab) without the pad token; input_ids with as many image tokens and the end token as hints say;
//                       of a user's .onnx in [0, rows of the table that they index), 0 and 1 where none was found
//   *mask, is_longer    1                       *token_type_ids  0
//   position_ids        counted from the past   image_sizes      the hints' height and width
//   of a user's .onnx: states 0, a sample rate 16000, factors of scale 1 (guess.h)
//   speaker_id, speaker_ids, lang_ids  0
//   bbox                left, top < right, bottom, below 1000
//   floats              in [-1, 1)              other integers   0 and 1, or rows of the table that they index
// What holds an encoder's states (encoder_attention_mask, encoder_hidden_states, past_key_values.*.encoder.*) is as long as any
// of them declares to be, else `sequence`: a cache of it is never empty, since attention over nothing is no number. Memory in
// `a`. UNSUPPORTED names an input whose shape cannot be decided, two that hold the states of one encoder in different lengths, or
// a sequence too short for its image tokens.
enum status inputs_synthetic(struct arena *a, const struct tensor_type *types, size_t count, const struct input_hints *hints,
	const struct input_shape *shape, uint64_t seed, struct tensor *out, struct error *err);
// Gives some rows of a text padding at the end, in place, as a batch of texts of different lengths has it: without it nothing
// would notice a graph that ignores its mask. `in`: what inputs_synthetic made for a graph that assay builds. Only where there
// are input_ids and an attention_mask of the same shape [batch, seq], both of integers, and at least 8 tokens beside those of an
// image; other masks stay full.
//   length   the last row loses a quarter of its tokens beside those of an image, and 0 to 2 more by the seed; the rows before it
//            less and
//            less, in proportion, down to none in the first: every place is a token's in some row. The only row of a batch of 1
//            is its last.
//   ids      the pad token, or the row's first where the model has none in its vocabulary; the end token, where hints say so, is
//            the last
//            real one
void inputs_pad(const struct tensor *in, size_t count, const struct input_hints *hints, uint64_t seed);
// The share of tokens where that mask is 0; NaN where there are no such ids and mask.
double inputs_padding(const struct tensor *in, size_t count);
// What integers a user's .onnx is given, input by input, in `a`: "input_ids: below 30522, the rows of the table that it indexes",
// or "input_ids: 0 and 1, vocabulary not found". NULL: it has none, or assay built the graph.
const char *inputs_note(struct arena *a, const struct tensor_type *types, size_t count, const struct input_hints *hints);
// How many positions the position_ids of a user's .onnx may count, by the smallest table that they index; 0: no limit is known.
int64_t inputs_positions(const struct input_hints *hints);
// Tensors "in.NAME" of a safetensors file for the declared inputs; memory in `a`. BAD_INPUT names a missing one.
// A declared mask, token_type_ids or position_ids that the file lacks gets its neutral value, speaker_id(s) and lang_ids -1,
// speaker_embedding 0, which are nobody, and a decoder's cache is empty; so
// is that of an encoder's states, where the file says that the cache is not used (use_cache_branch false), else it must be there.
// *lacks (may be NULL): what got its neutral value: "token_type_ids (0)"; NULL: nothing.
// BAD_INPUT too where a mask of tokens holds another number than 0 and 1, or input_ids one below 0.
enum status inputs_file(struct arena *a, const struct tensor_type *types, size_t count, const char *path, struct tensor *out,
	const char **lacks, struct error *err);
// The same of `there` tensors that are at hand, "in.NAME" too; `path` is what errors call them.
enum status inputs_of(struct arena *a, const struct tensor_type *types, size_t count, const struct weight *tensors, size_t there,
	const char *path, struct tensor *out, const char **lacks, struct error *err);
// BAD_INPUT: a text, a picture or a sound was made a tensor "in.NAME" of, and no input has that name.
enum status inputs_all_taken(
	const struct tensor_type *types, size_t count, const struct weight *tensors, size_t there, struct error *err);
// One input from one tensor of a file, converted where the graph declares another type; memory in `a`. BAD_INPUT: another shape,
// or floats for integers.
enum status inputs_take(struct arena *a, const struct tensor_type *type, const struct weight *w, const char *path,
	struct tensor *out, struct error *err);
bool inputs_is_float(enum dtype t);
void inputs_store(const struct tensor *t, size_t i, double x); // element i, of any type that has a size
// SHA-256 over names, types, shapes and bytes.
void inputs_hash(const struct tensor *in, size_t count, char out[65]);

#endif
