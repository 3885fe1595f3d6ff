// SPDX-License-Identifier: Apache-2.0
// Linear layers whose activations are integers too. Weights are 8 bits, symmetric, with a scale for each output; activations u8
// with one scale and zero point for the tensor.
//
//     int8-dynamic            DynamicQuantizeLinear(x) -> MatMulInteger(q, w) -> Cast -> Mul(scale of x * scales of w) ->
//                             Add(bias)
//     .., by the engine       Gemm(x, DequantizeLinear(w)), and the engine quantises x as it comes
//     .., to judge it         Gemm(DequantizeLinear(DynamicQuantizeLinear(x)), DequantizeLinear(w)): precise.dequantised
//     int8-static             Gemm(DequantizeLinear(QuantizeLinear(x, range)), DequantizeLinear(w, zeros)) -> Add(bias): QDQ
//
// Standard operators of opset 17, which ONNX Runtime finds and fuses as it does its own: three layers of
// bert-base's size, 128 rows: 53.7 ms with com.microsoft.DynamicQuantizeMatMul, 55.4 with these, 175 in float32 (version 1.31).
// Products of two activations (attention's) stay float32. Of QDQ ONNX Runtime makes a QGemm only where the weight lies [out, in]
// with zero points, all 0; after a Transpose, or without them, it multiplies in float32 (bert-base: slower than without), and so
// does OpenVINO.
#include "onnx/reduced.h"

#include "onnx/inside.h"
#include "onnx/op.h"

// Sentences of graph_left_out.
static const char is_unknown[] = "its input was not seen when ranges were measured";

// i8 [out, in] and its scales [out], however the weight lies.
static void quantised_weight(
	struct graph *g, graph_value stored, int64_t in, int64_t out, bool in_out, graph_value *values, graph_value *scales)
{
	struct recipe how = { .kind = RECIPE_ROW_VALUES, .bits = 8, .in_out = in_out };

	*values = graph_derived(g, stored, in_out ? "int8.transposed" : "int8", &how, DTYPE_I8, 2, (int64_t[]){ out, in });
	how.kind = RECIPE_ROW_SCALES;
	*scales = graph_derived(
		g, stored, in_out ? "int8.transposed.scales" : "int8.scales", &how, DTYPE_F32, 1, (int64_t[]){ out });
}

static graph_value dequantise(struct graph *g, graph_value x, graph_value scale, graph_value zero, int64_t axis)
{
	const struct value_info v = *VALUE(g, x);

	return graph_node(g, "DequantizeLinear", "", (graph_value[]){ x, scale, zero }, zero.id ? 3 : 2,
		(struct attribute[]){ ATTR_I("axis", axis) }, axis >= 0, NODE_OUTPUT(DTYPE_F32, v.rank, v.dim));
}

// x times the transposed w [out, in], which lies as ONNX Runtime finds integers after it.
static graph_value float_product(struct graph *g, graph_value x, graph_value w)
{
	if (g->failed)
		return NO_VALUE;
	const int64_t dim[2] = { value_dim(g, x, 0), value_dim(g, w, 0) };

	if (value_rank(g, x) == 2)
		return graph_node(g, "Gemm", "", (graph_value[]){ x, w }, 2, (struct attribute[]){ ATTR_I("transB", 1) }, 1,
			NODE_OUTPUT(DTYPE_F32, 2, dim));
	return op_matmul(g, x, op_transpose(g, w, 2, (int[]){ 1, 0 }));
}

static graph_value dynamic(struct graph *g, graph_value x, graph_value values, graph_value scales)
{
	const struct value_info v = *VALUE(g, x);
	const int64_t none[1] = { 0 };
	struct node_output outputs[] = { { NULL, DTYPE_U8, v.rank, v.dim }, { "scale", DTYPE_F32, 0, none },
		{ "zero", DTYPE_U8, 0, none } };
	graph_value q[3];

	if (!graph_node_of(g, "DynamicQuantizeLinear", "", &x, 1, NULL, 0, &(struct node_outputs){ 3, outputs, q }))
		return NO_VALUE;
	if (g->form.precise.dequantised)
		return float_product(g, dequantise(g, q[0], q[1], q[2], -1), dequantise(g, values, scales, NO_VALUE, 0));
	graph_value w = op_transpose(g, values, 2, (int[]){ 1, 0 });
	if (g->failed)
		return NO_VALUE;
	int64_t dim[TENSOR_MAX_RANK];
	for (int i = 0; i < v.rank; i++)
		dim[i] = v.dim[i];
	dim[v.rank - 1] = value_dim(g, w, -1);
	graph_value sum = graph_node(
		g, "MatMulInteger", "", (graph_value[]){ q[0], w, q[2] }, 3, NULL, 0, NODE_OUTPUT(DTYPE_I32, v.rank, dim));
	return op_mul(g, op_cast(g, sum, DTYPE_F32), op_mul(g, q[1], scales));
}

// The affine u8 range that has low, high and 0 in it, as DynamicQuantizeLinear's text gives it (https://onnx.ai/onnx/operators/).
void quantised_range(float low, float high, float *scale, uint8_t *zero)
{
	low = low < 0 ? low : 0;
	high = high > 0 ? high : 0;
	*scale = (high - low) / 255;
	if (!(*scale > 0))
		*scale = 1;
	float at = -low / *scale;
	*zero = (uint8_t)(at >= 255 ? 255 : at + 0.5f);
}

static graph_value with_range(
	struct graph *g, graph_value x, graph_value values, graph_value scales, const struct linear_range *range)
{
	const struct value_info v = *VALUE(g, x);
	const int64_t none[1] = { 0 };
	float scale = 1;
	uint8_t zero = 0;

	quantised_range(range->low, range->high, &scale, &zero);
	graph_value s = graph_f32(g, scale), z = graph_constant(g, DTYPE_U8, 0, none, &zero);
	graph_value q =
		graph_node(g, "QuantizeLinear", "", (graph_value[]){ x, s, z }, 3, NULL, 0, NODE_OUTPUT(DTYPE_U8, v.rank, v.dim));
	if (g->failed)
		return NO_VALUE;
	int64_t out = value_dim(g, values, 0);
	graph_value zeros = graph_constant(g, DTYPE_I8, 1, &out, GRAPH_TABLE(g, NULL, out, 1, int8_t));
	return float_product(g, dequantise(g, q, s, z, -1), dequantise(g, values, scales, zeros, 0));
}

// A weight may be used more than once (albert's layers share theirs): the n-th use has a name of its own.
const char *quantised_name(struct graph *g, graph_value stored)
{
	struct value_info *w = VALUE(g, stored);

	w->uses++;
	return w->uses > 1 ? arena_printf(&g->arena, "%s#%d", w->name, w->uses) : w->name;
}

static const struct linear_range *find_range(const struct graph *g, const char *name)
{
	for (size_t i = 0; i < g->form.range_count; i++)
		if (text_is(g->form.ranges[i].name, name))
			return &g->form.ranges[i];
	return NULL;
}

const char *quantised_why_not(struct graph *g, const char *name)
{
	return g->form.precise.precision == PRECISION_INT8_STATIC && g->form.ranges && !find_range(g, name) ? is_unknown : NULL;
}

graph_value quantised_linear(
	struct graph *g, graph_value x, graph_value stored, const char *name, int64_t in, int64_t out, bool in_out)
{
	static const struct linear_range some = { NULL, -1, 1 }; // nothing but the graph's size is wanted
	const struct linear_range *range = g->form.ranges ? find_range(g, name) : &some;
	graph_value values, scales;

	quantised_weight(g, stored, in, out, in_out, &values, &scales);
	if (g->failed)
		return NO_VALUE;
	if (g->form.precise.precision == PRECISION_INT8_STATIC)
		return with_range(g, x, values, scales, range);
	if (!g->form.precise.by_engine)
		return dynamic(g, x, values, scales);
	return float_product(g, x, dequantise(g, values, scales, NO_VALUE, 0));
}

// The smallest and largest number that goes into a linear layer, as outputs "low NAME" and "high NAME".
void quantised_watch(struct graph *g, graph_value x, graph_value stored)
{
	const char *name = quantised_name(g, stored);
	const int64_t none[1] = { 0 };

	graph_output(g, arena_printf(&g->arena, "low %s", name),
		graph_node(g, "ReduceMin", "", &x, 1, (struct attribute[]){ ATTR_I("keepdims", 0) }, 1,
			NODE_OUTPUT(DTYPE_F32, 0, none)));
	graph_output(g, arena_printf(&g->arena, "high %s", name),
		graph_node(g, "ReduceMax", "", &x, 1, (struct attribute[]){ ATTR_I("keepdims", 0) }, 1,
			NODE_OUTPUT(DTYPE_F32, 0, none)));
}
