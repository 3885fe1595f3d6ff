// SPDX-License-Identifier: Apache-2.0
// The operators that the builder emits. Private to onnx/. graph_node refuses an operator that has no row here, so none can be
// emitted whose types are not checked and whose arithmetic is not counted (cost.c).
//
// Inputs: one letter each, in order; "?" after a letter: it may be left out; "*" after the last: any number of it.
// The letter is the set of types that the input takes (the sets are in operator.c); inputs in capitals have one type together.
// Source: the operator specification (https://onnx.ai/onnx/operators/) of opset 17, of Gelu 20, for com.microsoft
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md. Mod takes floats with fmod alone (op_fmod).
// Operations: `of_result` for each element of the first result and `of_input` for each of the first input (COST_EACH), a formula
// of cost.c, or COST_NONE: it moves, chooses or casts.
#ifndef ASSAY_ONNX_OPERATOR_H
#define ASSAY_ONNX_OPERATOR_H

#include <stdbool.h>

#include "base/dtype.h"

enum cost_kind {
	COST_UNSTATED,
	COST_NONE,
	COST_EACH,
	COST_PRODUCT,
	COST_BLOCKS,
	COST_CONVOLUTION,
	COST_ATTENTION,
	COST_RESIZE,
	COST_POOL,
	COST_GELU,
	COST_SCATTER,
	COST_GRID,
	COST_ROI,
	COST_RECURRENT,
	COST_FOURIER,
	COST_BODY
};

enum { OPSET_LEAST = 17, OPSET_MOST = 20 };

// In the order of names. Name, domain, the opset whose version of it this is, inputs, cost, of_result, of_input.
#define OPERATOR_LIST(X) \
	X("Abs", "", 13, "N", EACH, 1, 0) \
	X("Acos", "", 7, "H", EACH, 1, 0) \
	X("Add", "", 14, "NN", EACH, 1, 0) \
	X("And", "", 7, "BB", NONE, 0, 0) \
	X("ArgMax", "", 13, "N", EACH, 0, 1) \
	X("AveragePool", "", 11, "H", POOL, 0, 0) \
	X("BatchNormalization", "", 15, "FFFFF", EACH, 0, 2) \
	X("Cast", "", 13, "A", NONE, 0, 0) \
	X("Concat", "", 13, "A*", NONE, 0, 0) \
	X("Conv", "", 11, "HHH?", CONVOLUTION, 0, 0) \
	X("ConvTranspose", "", 11, "HHH?", CONVOLUTION, 0, 0) \
	X("Cos", "", 7, "H", EACH, 1, 0) \
	X("CumSum", "", 14, "Mx", EACH, 0, 1) \
	X("DFT", "", 17, "Fx?l?", FOURIER, 0, 0) \
	X("DepthToSpace", "", 13, "a", NONE, 0, 0) \
	X("DequantizeLinear", "", 13, "DeD?", EACH, 2, 0) \
	X("Div", "", 14, "NN", EACH, 1, 0) \
	X("DynamicQuantizeLinear", "", 11, "e", EACH, 0, 4) \
	X("Equal", "", 13, "AA", EACH, 1, 0) \
	X("Erf", "", 13, "F", EACH, 1, 0) \
	X("Exp", "", 13, "F", EACH, 1, 0) \
	X("Expand", "", 13, "al", NONE, 0, 0) \
	X("Floor", "", 13, "F", EACH, 1, 0) \
	X("FusedMatMul", DOMAIN_MICROSOFT, 1, "FF", PRODUCT, 0, 0) \
	X("GRU", "", 14, "HHHH?w?H?", RECURRENT, 0, 0) \
	X("Gather", "", 13, "ax", NONE, 0, 0) \
	X("GatherElements", "", 13, "ax", NONE, 0, 0) \
	X("GatherND", "", 13, "al", NONE, 0, 0) \
	X("Gelu", "", 20, "F", GELU, 0, 0) \
	X("Gelu", DOMAIN_MICROSOFT, 1, "F", GELU, 0, 0) \
	X("Gemm", "", 13, "MMM?", PRODUCT, 0, 0) \
	X("GlobalAveragePool", "", 1, "H", EACH, 1, 1) \
	X("Greater", "", 13, "NN", EACH, 1, 0) \
	X("GridSample", "", 16, "ah", GRID, 0, 0) \
	X("GroupQueryAttention", DOMAIN_MICROSOFT, 1, "FF?F?F?F?wwF?F?l?F?F?", ATTENTION, 0, 0) \
	X("Identity", "", 16, "A", NONE, 0, 0) \
	X("If", "", 16, "b", BODY, 0, 0) \
	X("InstanceNormalization", "", 6, "HHH", EACH, 0, 7) \
	X("LSTM", "", 14, "HHHH?w?H?H?H?", RECURRENT, 0, 0) \
	X("LayerNormalization", "", 17, "FFF?", EACH, 0, 7) \
	X("Less", "", 13, "NN", EACH, 1, 0) \
	X("LessOrEqual", "", 16, "NN", EACH, 1, 0) \
	X("Log", "", 13, "F", EACH, 1, 0) \
	X("Loop", "", 16, "l?b?a*", BODY, 0, 0) \
	X("MatMul", "", 13, "MM", PRODUCT, 0, 0) \
	X("MatMulInteger", "", 10, "qqq?q?", PRODUCT, 0, 0) \
	X("MatMulNBits", DOMAIN_MICROSOFT, 1, "fufz?", BLOCKS, 0, 0) \
	X("Max", "", 13, "N*", EACH, 1, 0) \
	X("MaxPool", "", 12, "K", POOL, 0, 0) \
	X("Min", "", 13, "N*", EACH, 1, 0) \
	X("Mod", "", 13, "NN", EACH, 1, 0) \
	X("Mul", "", 14, "NN", EACH, 1, 0) \
	X("MultiHeadAttention", DOMAIN_MICROSOFT, 1, "FF?F?F?w?F?F?F?", ATTENTION, 0, 0) \
	X("Neg", "", 13, "S", EACH, 1, 0) \
	X("NonMaxSuppression", "", 11, "eel?e?e?", NONE, 0, 0) \
	X("NonZero", "", 13, "a", NONE, 0, 0) \
	X("Not", "", 1, "B", NONE, 0, 0) \
	X("Or", "", 7, "BB", NONE, 0, 0) \
	X("Pad", "", 13, "AlA?", NONE, 0, 0) \
	X("Pow", "", 15, "pn", EACH, 1, 0) \
	X("QuantizeLinear", "", 13, "eeq?", EACH, 2, 0) \
	X("Range", "", 11, "GGG", NONE, 0, 0) \
	X("ReduceL2", "", 13, "Ml?", EACH, 0, 2) \
	X("ReduceMax", "", 13, "Rl?", EACH, 0, 1) \
	X("ReduceMean", "", 13, "Ml?", EACH, 1, 1) \
	X("ReduceMin", "", 13, "Rl?", EACH, 0, 1) \
	X("ReduceProd", "", 13, "Ml?", EACH, 0, 1) \
	X("ReduceSum", "", 13, "Ml?", EACH, 0, 1) \
	X("Relu", "", 14, "S", EACH, 1, 0) \
	X("Reshape", "", 14, "al", NONE, 0, 0) \
	X("Resize", "", 13, "ah?e?l?", RESIZE, 0, 0) \
	X("RoiAlign", "", 16, "HHl", ROI, 0, 0) \
	X("RotaryEmbedding", DOMAIN_MICROSOFT, 1, "FlFF", EACH, 3, 0) \
	X("Scan", "", 16, "a*", BODY, 0, 0) \
	X("ScatterElements", "", 16, "AxA", SCATTER, 0, 0) \
	X("ScatterND", "", 16, "AlA", SCATTER, 0, 0) \
	X("Shape", "", 15, "a", NONE, 0, 0) \
	X("Sigmoid", "", 13, "F", EACH, 1, 0) \
	X("SimplifiedLayerNormalization", "", 1, "FF", EACH, 0, 4) \
	X("Sin", "", 7, "H", EACH, 1, 0) \
	X("Slice", "", 13, "aXXX?X?", NONE, 0, 0) \
	X("Softmax", "", 13, "F", EACH, 0, 5) \
	X("Softplus", "", 1, "H", EACH, 1, 0) \
	X("SpaceToDepth", "", 13, "a", NONE, 0, 0) \
	X("Split", "", 13, "al?", NONE, 0, 0) \
	X("Sqrt", "", 13, "F", EACH, 1, 0) \
	X("Squeeze", "", 13, "al?", NONE, 0, 0) \
	X("Sub", "", 14, "NN", EACH, 1, 0) \
	X("Tanh", "", 13, "F", EACH, 1, 0) \
	X("TopK", "", 11, "tl", EACH, 0, 1) \
	X("Transpose", "", 13, "a", NONE, 0, 0) \
	X("Trilu", "", 14, "al?", NONE, 0, 0) \
	X("Unsqueeze", "", 13, "al", NONE, 0, 0) \
	X("Where", "", 16, "bAA", NONE, 0, 0)

struct operator
{
	const char *name, *domain;
	int opset;
	const char *inputs;
	enum cost_kind cost;
	int of_result, of_input;
};

extern const struct operator operators[];
extern const int operator_count;

// NULL: the builder has no such operator.
const struct operator* operator_find(const char *name, const char *domain);

// What input number i of an operator takes.
struct operator_input {
	unsigned types;        // bit 1 << enum dtype
	bool optional, shared; // shared: of one type with the other shared inputs
	const char *words;     // "i32 or i64"
};
int operator_inputs(const struct operator* o); // how many the row names; one that may be repeated counts once
// False: it has no such input.
bool operator_input(const struct operator* o, int i, struct operator_input *out);
bool operator_takes(const struct operator* o, int i, enum dtype t);

#endif
