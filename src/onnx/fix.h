// SPDX-License-Identifier: Apache-2.0
// An .onnx file whose inputs have the shapes that they are given: for engines that compile fixed shapes only.
#ifndef ASSAY_ONNX_FIX_H
#define ASSAY_ONNX_FIX_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"

// Sets every open dimension of the graph's inputs from the tensor of that name, and of its outputs and values where they have the
// name of such a dimension. What follows from these the engine infers. *out is in `a`, *n its size; weights that lie inside are
// copied.
enum status onnx_fix_shapes(void **out, size_t *n, struct arena *a, const void *onnx, size_t nbytes, const struct tensor *given,
	size_t count, struct error *err);

#endif
