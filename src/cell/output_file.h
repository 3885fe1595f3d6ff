// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_CELL_OUTPUT_FILE_H
#define ASSAY_CELL_OUTPUT_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"

// What a run gave, and of its inputs what is needed to judge that. In a file, as golden files have it: "out." before the name of
// an output, "in.attention_mask" and "in.input_ids". No model can call an output so that it is taken for an input.
struct answer {
	struct tensor *tensors; // the outputs; names as the graph's
	size_t count;
	const struct tensor *mask;   // which tokens of the input are there, [batch, seq], 0: padding; NULL: not known
	const struct tensor *tokens; // [batch, seq]; NULL: not known, or no matter
};

// `made_from`: what the file says of itself (base/sealed.h); NULL: nothing, it is read once and removed. Scratch memory in `a`.
enum status outputs_write(
	struct arena *a, const char *path, const char *made_from, const struct answer *answer, struct error *err);
// The tensors of a file, aligned; their bytes lie in it or in `a`, which keeps it open.
enum status outputs_read(struct arena *a, const char *path, struct answer *out, struct error *err);

// The same of a file that says what it was made from. BAD_INPUT: it is not what its name says, or not whole.
enum status outputs_read_sealed(struct arena *a, const char *path, struct answer *out, struct error *err);

#endif
