// SPDX-License-Identifier: Apache-2.0
// Precisions that can be asked for. What a graph stores and computes in is drawn by the builder (graph_form.precision) or done by the
// engine (an option of the platform's row); the row of a cell says which, and what the engine confirmed.
#ifndef ASSAY_ONNX_PRECISION_H
#define ASSAY_ONNX_PRECISION_H

#include <stdbool.h>

// code, word, what it is
#define PRECISION_LIST(X)                                                                                                  \
	X(STORED, "stored", "weights as they lie in the checkpoint, arithmetic in float32")                                \
	X(FLOAT32, "float32", "weights and arithmetic in float32")                                                         \
	X(FLOAT16, "float16", "weights and arithmetic in float16")                                                         \
	X(BFLOAT16, "bfloat16", "weights and arithmetic in bfloat16")                                                      \
	X(INT8_DYNAMIC, "int8-dynamic", "weights in 8 bits a channel, activations quantised as they come")                 \
	X(INT8_STATIC, "int8-static", "weights and activations in 8 bits, activations by ranges from calibration (QDQ)")   \
	X(INT8_WEIGHTS, "int8-weights", "weights in 8 bits, blocks along the input, arithmetic as the engine does it (MatMulNBits)")   \
	X(INT4_WEIGHTS, "int4-weights", "weights in 4 bits, blocks along the input, arithmetic as the engine does it (MatMulNBits)")

enum precision {
#define X(code, word, what) PRECISION_##code,
	PRECISION_LIST(X)
#undef X
	PRECISION_COUNT
};

const char *precision_word(enum precision p);
const char *precision_what(enum precision p);
enum precision precision_find(const char *word);             // NULL is STORED; PRECISION_COUNT: there is none
bool precision_is_reduced(enum precision p);                 // less than float32 was asked for: it is judged against float32, and so is its time

#endif
