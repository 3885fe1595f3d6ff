// SPDX-License-Identifier: Apache-2.0
// What an engine needs to know of an ONNX file without loading it: node names, inputs and outputs.
#ifndef ASSAY_BACKEND_OUTLINE_H
#define ASSAY_BACKEND_OUTLINE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"

struct outline_node {
	const char *name, *op;
	enum dtype dtype, half;
}; // see outline_types
struct outline {
	struct outline_node *nodes; // in the file's order; a node without a name has ""
	size_t node_count;
	struct tensor_type *inputs,
		*outputs; // inputs that an initializer fills are left out; -1: symbolic, its name in `symbol` where it has one
	size_t input_count, output_count;
};

// Weights inside the file are stepped over, never copied. Memory in `a`.
enum status outline_read(struct outline *out, struct arena *a, const void *onnx, size_t nbytes, struct error *err);
// Which nodes follow from nothing but weights and constants, so that an engine folds them before anything is placed; those with
// branches, that draw numbers or that quantise are left out, as ONNX Runtime does. `out`: node_count of outline_read.
void outline_constant(bool *out, size_t count, struct arena *a, const void *onnx, size_t nbytes);
// Gives each node the type of its first input, DTYPE_NONE where it cannot be told: followed from inputs and weights through
// operators that keep a type or name another. half: F16 or BF16 where the node rounds to it; NONE where it only moves such values
// or widens them.
void outline_types(struct outline *o, struct arena *a, const void *onnx, size_t nbytes);

struct outline_weights {
	uint64_t nbytes;  // of all tensors that the file holds or names: by their shapes, whether they lie inside or outside
	enum dtype dtype; // of most of these bytes; NONE: there are none, or of a type that dtype.h has not
	int64_t layers;   // the file says that it is a model's first ones (graph_set_layers); 0: says nothing
};
// Initializers and constants, those of nested graphs too; no weight is read. Which files they lie in: onnx/external.h.
enum status outline_weights(struct outline_weights *out, const void *onnx, size_t nbytes, struct error *err);

// What a file rounds to besides float32, branches and functions of the model too. A node that leads to no output rounds nothing.
enum {
	OUTLINE_F16 = 1,
	OUTLINE_BF16 = 2,
	// Weights are integers, activations are not, or as the engine likes (MatMulNBits, DequantizeLinear alone).
	OUTLINE_WEIGHTS = 4,
	OUTLINE_STATIC = 8,   // activations are integers by scales of the file
	OUTLINE_DYNAMIC = 16, // ... by scales of the run
};
struct outline_arithmetic {
	unsigned of;           // 0: float32 alone
	bool f32;              // some of it is
	const char *quantised; // the first operator on integers that stand for real numbers; NULL: none
	const char *draws;     // the first operator that draws random numbers; NULL: none
};
// `o`: as outline_read gave it; gets its types.
void outline_arithmetic(struct outline_arithmetic *out, struct outline *o, struct arena *a, const void *onnx, size_t nbytes);

// For each of o->inputs, how many rows the table has that its numbers index: the smallest one where there are several, 0 where
// none was found. An input is followed to the indices of Gather (also GatherElements, com.microsoft.GatherBlockQuantized and
// .EmbedLayerNormalization), through operators that only cast or arrange it, into the branches of If and Loop. `rows` has
// input_count places. One pass over the nodes in the order of the file, which ONNX wants sorted: the time is linear whatever the
// file says.
void outline_tables(const struct outline *o, const void *onnx, size_t nbytes, int64_t *rows);

#endif
