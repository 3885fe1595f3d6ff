// SPDX-License-Identifier: Apache-2.0
// Precisions that can be asked for, and how the words are read. What a graph stores and computes in is built by the builder
// (graph_form.precise) or done by the engine (an option of the platform's row, platform/precision.c); the row of a cell says
// which, and what the engine confirmed.
#ifndef ASSAY_ONNX_PRECISION_H
#define ASSAY_ONNX_PRECISION_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

// code, word, what it is
#define PRECISION_LIST(X) \
	X(STORED, "stored", "weights as they lie in the checkpoint, arithmetic in float32") \
	X(FLOAT32, "float32", "weights and arithmetic in float32") \
	X(FLOAT16, "float16", "weights and arithmetic in float16") \
	X(BFLOAT16, "bfloat16", "weights and arithmetic in bfloat16") \
	X(INT8_DYNAMIC, "int8-dynamic", "weights in 8 bits a channel, activations quantised as they come") \
	X(INT8_STATIC, "int8-static", "weights and activations in 8 bits, activations by ranges from calibration (QDQ)") \
	X(INT8_WEIGHTS, "int8-weights", \
		"weights in 8 bits, blocks along the input, arithmetic as the engine does it (MatMulNBits)") \
	X(INT4_WEIGHTS, "int4-weights", \
		"weights in 4 bits, blocks along the input, arithmetic as the engine does it (MatMulNBits)")

enum precision {
#define X(code, word, what) PRECISION_##code,
	PRECISION_LIST(X)
#undef X
		PRECISION_COUNT
};

const char *precision_word(enum precision p);
const char *precision_what(enum precision p);
enum precision precision_find(
	const char *word); // NULL is STORED; PRECISION_COUNT: there is none; what stands after a colon is not looked at
bool precision_is_reduced(enum precision p); // less than float32 was asked for: it is judged against float32, and so is its time

// A precision and what goes with it, as it is written: WORD[:KEY=VALUE]...
//     int4-weights:block=64:head=float32       blocks of 64 weights, the last layer as it is stored
// No comma: lists of precisions have them.
enum { PRECISION_BLOCK = 32, PRECISION_ACCURACY = 4 };
struct precise {
	enum precision precision;
	int block;       // weights that share a scale, along the input: 16, 32, .. 256; 0: not in blocks
	int accuracy;    // what MatMulNBits may bring activations down to: 0 its choice, 1 float32, 2 float16, 3 bfloat16, 4 int8
	bool by_engine;  // of activations: the engine quantises them, the graph holds weights alone
	bool asymmetric; // blocks have a zero point; else the middle of the integers is 0
	bool float_head; // the last layer is left as it is stored
	// Not asked for by words: the graph that judges the arithmetic of this precision. It reads the same converted weights,
	// multiplies them out in float32 and leaves the product to MatMul; int8 activations are rounded to the same integers
	// first.
	bool dequantised;
};

// As people type it: in any case, and fp32, fp16, bf16, int8, int4, w4a16 and their like, to the words of the table; what is none
// of them, and what follows a colon, stays as it is. In the arena; NULL for NULL.
const char *precision_typed(struct arena *a, const char *text);
// NULL is STORED. BAD_INPUT names what there is.
enum status precision_parse(struct precise *out, const char *text, struct error *err);

#endif
