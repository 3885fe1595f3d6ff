// SPDX-License-Identifier: Apache-2.0
// What --shape, --dim and --input ask of the inputs. Each text is of one value or of several with ";" between; names are those of
// an .onnx file that assay did not build.
//   shapes   INPUT:N,N,...        no number after the colon: a scalar
//   dims     NAME=N,NAME=N,...
//   inputs   INPUT=FILE.npy | FILE.safetensors | random:LOW,HIGH | ones | zeros
//            file:PATH            a picture, a recording or a text, for the model's own processor or tokenizer
//            text:TEXT            a text, in which %25, %3B and %0A stand for "%", ";" and a line break
#ifndef ASSAY_CELL_ASKED_H
#define ASSAY_CELL_ASKED_H

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"
#include "question/question.h"

enum asked_fill { ASKED_FILE, ASKED_RANDOM, ASKED_ONES, ASKED_ZEROS };
struct asked_inputs {
	struct asked_shape {
		const char *input;
		int rank;
		int64_t dim[TENSOR_MAX_RANK];
	} * shapes;
	struct asked_dim {
		const char *symbol;
		int64_t number;
	} * dims;
	struct asked_input {
		const char *input;
		enum asked_fill fill;
		const char *path; // of ASKED_FILE
		double low, high; // of ASKED_RANDOM: from low, below high
	} * inputs;
	struct asked_thing { // what the model's own processor or tokenizer makes inputs of
		bool is_file;
		const char *value; // a path, or a text
	} * things;
	size_t shape_count, dim_count, input_count, thing_count;
};

// A value of --input as a person types it, in the form above: INPUT=WHAT, file: and text: as they are, the name of a file that is
// there or a word that looks like one as file:, anything else as text:. In `a`.
const char *asked_typed(struct arena *a, const char *value);

// Memory in `a`. BAD_INPUT in the words of the option. Files are not looked at.
enum status asked_parse(struct asked_inputs *out, struct arena *a, const struct question *q, struct error *err);
// Are the files there, and can they be read as what their names say? And, in q->inputs, their paths made absolute: a question
// that is asked again from another folder is the same one.
enum status asked_check(struct question *q, struct arena *a, struct error *err);
// For keys: what the files contain, one line each; "" where there is none.
const char *asked_digests(struct arena *a, const struct question *q);
bool asked_has_files(const struct question *q);  // is any input one of a file?
bool asked_has_things(const struct question *q); // is any a file or a text for the model's own processor or tokenizer?
// How many bytes they take.
uint64_t asked_nbytes(const struct question *q);

// Are the inputs and dimensions there that were asked for by name? BAD_INPUT lists what the file has, each once.
enum status asked_names(
	const struct asked_inputs *asked, const struct tensor_type *types, size_t count, struct arena *a, struct error *err);
// Puts the numbers that were asked for into `types`, whose symbols are the file's. A number that one dimension of a name gets is
// that of all of this name. UNSUPPORTED: there is no such input or name, or the file has another number or rank there.
enum status asked_apply(
	const struct asked_inputs *asked, struct tensor_type *types, size_t count, struct arena *a, struct error *err);
// Overwrites what was made for the inputs that --input names. BAD_INPUT: a file does not fit.
enum status asked_fill(const struct asked_inputs *asked, struct arena *a, const struct tensor_type *types, struct tensor *made,
	size_t count, uint64_t seed, struct error *err);

#endif
