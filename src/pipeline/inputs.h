// SPDX-License-Identifier: Apache-2.0
// Inputs for a graph: synthetic ones of the right shape, seeded, or those of a file.
#ifndef ASSAY_PIPELINE_INPUTS_H
#define ASSAY_PIPELINE_INPUTS_H

#include "arch/arch.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"

struct input_shape { int64_t batch, sequence; };        // for symbols "batch" and "sequence"

// One tensor for each declared input, by its name: *ids in [0, vocab) without the pad token, masks 1, token_type_ids 0,
// position_ids counted, floats in [-1, 1). Memory in `a`. UNSUPPORTED names an input whose shape cannot be decided.
enum status inputs_synthetic(struct arena *a, const struct tensor_type *types, size_t count, const struct input_hints *hints,
	const struct input_shape *shape, uint64_t seed, struct tensor *out, struct error *err);
// Tensors "in.NAME" of a safetensors file for the declared inputs; memory in `a`. BAD_INPUT names a missing one.
// A declared attention_mask, token_type_ids or position_ids that the file lacks gets its neutral value.
enum status inputs_file(struct arena *a, const struct tensor_type *types, size_t count, const char *path, struct tensor *out, struct error *err);
// SHA-256 over names, types, shapes and bytes.
void inputs_hash(const struct tensor *in, size_t count, char out[65]);

#endif
