// SPDX-License-Identifier: Apache-2.0
// reduced.h: which weights are built in fewer bits, and as what.
//
//     int8-weights, int4-weights    x --com.microsoft.MatMulNBits(values, scales[, zeros])--> Add(bias)
//     .., to judge it               x times the weight as dequantised.c makes it in float32: precise.dequantised
//
// Blocks lie along the input: with K inputs and blocks of 32, output n has ceil(K / 32) scales; what a block holds beyond K is 0.
// (https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulNBits)
#include "onnx/reduced.h"

#include "onnx/inside.h"
#include "onnx/op.h"

// Sentences of graph_left_out.
static const char is_head[] = "the last layer, as asked (head=float32)";
static const char is_made[] = "not as it is stored: cut from or put together of others in the graph";
static const char is_narrow[] = "fewer inputs than a block";
static const char is_short[] = "fewer than 16 outputs: nothing to gain";
enum { OUTPUTS_LEAST = 16 };
static const char is_integer[] = "not stored as float32, float16 or bfloat16";

static const char *why_not(const struct graph *g, graph_value stored, int64_t inputs, int64_t outputs)
{
	const struct value_info *i = &g->values[stored.id];

	if (!stored.id)
		return is_made;
	if (i->dtype != DTYPE_F32 && i->dtype != DTYPE_F16 && i->dtype != DTYPE_BF16)
		return is_integer;
	if (g->is_head && g->form.precise.float_head)
		return is_head;
	return inputs < g->form.precise.block ? is_narrow : outputs < OUTPUTS_LEAST ? is_short : NULL;
}

static graph_value matmul_bits(struct graph *g, graph_value x, graph_value stored, int bits, int64_t in, int64_t out, bool in_out)
{
	const struct precise *p = &g->form.precise;
	const struct value_info v = *VALUE(g, x);
	struct recipe how = {
		.kind = RECIPE_BLOCK_VALUES, .bits = bits, .block = p->block, .asymmetric = p->asymmetric, .in_out = in_out
	};
	int64_t blocks = (in + p->block - 1) / p->block, row = (blocks * bits + 7) / 8;
	struct text word = { 0 };
	graph_value w[4] = { x, NO_VALUE, NO_VALUE, NO_VALUE };
	int count = 3;

	text_addf(&word, "int%d", bits);
	w[1] = graph_derived(g, stored, text_get(&word), &how, DTYPE_U8, 3, (int64_t[]){ out, blocks, p->block * bits / 8 });
	how.kind = RECIPE_BLOCK_SCALES;
	text_add(&word, ".scales");
	w[2] = graph_derived(g, stored, text_get(&word), &how, DTYPE_F32, 1, (int64_t[]){ out * blocks });
	if (p->asymmetric) {
		how.kind = RECIPE_BLOCK_ZEROS;
		word.length = 0;
		text_addf(&word, "int%d.zeros", bits);
		w[count++] = graph_derived(g, stored, text_get(&word), &how, DTYPE_U8, 1, (int64_t[]){ out * row });
	}
	text_done(&word);
	if (g->failed)
		return NO_VALUE;
	if (p->dequantised)
		return dequantised_blocks(g, x, &(struct block_weight){ w[1], w[2], w[3], in, out, p->block, bits });
	int64_t dim[TENSOR_MAX_RANK];
	for (int i = 0; i < v.rank; i++)
		dim[i] = v.dim[i];
	dim[v.rank - 1] = out;
	struct attribute at[] = { ATTR_I("K", in), ATTR_I("N", out), ATTR_I("bits", bits), ATTR_I("block_size", p->block),
		ATTR_I("accuracy_level", p->accuracy) };
	return graph_node(g, "MatMulNBits", DOMAIN_MICROSOFT, w, count, at, 5, NODE_OUTPUT(v.dtype, v.rank, dim));
}

bool linear_reduced(struct graph *g, graph_value x, graph_value w, graph_value b, bool in_out, graph_value *y)
{
	enum precision asked = g->form.precise.precision;
	bool quantised = asked == PRECISION_INT8_DYNAMIC || asked == PRECISION_INT8_STATIC;
	int bits = asked == PRECISION_INT4_WEIGHTS ? 4 : asked == PRECISION_INT8_WEIGHTS ? 8 : 0;

	*y = NO_VALUE;
	if (g->form.watches_ranges && graph_stored(g, w).id)
		quantised_watch(g, g->form.linear == LINEAR_GEMM ? graph_rows(g, x) : x, graph_stored(g, w));
	if (!bits && !quantised)
		return false;
	const struct value_info v = *VALUE(g, x);
	int64_t in = value_dim(g, w, in_out ? 0 : 1), out = value_dim(g, w, in_out ? 1 : 0);
	graph_value stored = graph_stored(g, w);
	const char *why = why_not(g, stored, in, out), *name = !why && quantised ? quantised_name(g, stored) : NULL;
	if (name)
		why = quantised_why_not(g, name);
	if (why) {
		graph_leave_out(g, g->values[stored.id ? stored.id : w.id].name, why);
		return false;
	}
	int64_t dim[TENSOR_MAX_RANK];
	for (int i = 0; i < v.rank; i++)
		dim[i] = v.dim[i];
	dim[v.rank - 1] = out;
	for (int i = 0; i < v.rank - 1; i++)
		op_dim(g, x, i); // so that the way back is known
	// MatMulNBits takes any rank, and a Reshape of every layer's input and result costs a token more than it is worth.
	bool in_rows = g->form.linear == LINEAR_GEMM && quantised;
	graph_value rows = in_rows ? graph_rows(g, x) : x;
	if (!graph_alive(g, rows))
		return true;
	*y = quantised ? quantised_linear(g, rows, stored, name, in, out, in_out)
		       : matmul_bits(g, rows, stored, bits, in, out, in_out);
	if (b.id && !g->failed)
		*y = op_add(g, *y, b);
	if (in_rows && !g->failed)
		*y = graph_from_rows(g, *y, v.rank, dim);
	return true;
}

void convolution_left_out(struct graph *g, graph_value w)
{
	enum precision p = g->form.precise.precision;
	graph_value stored = graph_stored(g, w);

	if (p == PRECISION_INT8_DYNAMIC || p == PRECISION_INT8_STATIC || p == PRECISION_INT8_WEIGHTS ||
		p == PRECISION_INT4_WEIGHTS)
		graph_leave_out(g, VALUE(g, stored.id ? stored : w)->name, "a convolution: only linear layers are quantised");
}
