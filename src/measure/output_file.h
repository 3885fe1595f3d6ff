// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_MEASURE_OUTPUT_FILE_H
#define ASSAY_MEASURE_OUTPUT_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"

// Beside the outputs: which tokens of the input are there ([batch, seq], 0: padding), and of a causal language model the tokens that
// its logits are about.
#define OUTPUTS_TOKENS "in.input_ids"
#define OUTPUTS_MASK "in.attention_mask"

// outputs[count] under their names. `made_from`: what the file says of itself (base/sealed.h); NULL: nothing, it is read once and
// removed. Scratch memory in `a`.
enum status outputs_write(
	struct arena *a, const char *path, const char *made_from, const struct tensor *outputs, size_t count, struct error *err);

// Is this open file what its name says, and whole? BAD_INPUT: it is not to be believed.
struct shard;
enum status outputs_check(const struct shard *file, struct error *err);

#endif
