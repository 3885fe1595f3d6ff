// SPDX-License-Identifier: Apache-2.0
// A graph that was built in float32, brought to float16 or bfloat16 when it is finished: families and blocks know of no other
// type.
//
//   low    MatMul, Gemm, Conv, attention, norms, softmax, gelu; what is elementwise or moves, where an input of it is low
//   high   what overflows or loses its meaning in 16 bits: angles (Sin, Cos, Range), sums of squares and their roots (an RMS norm
//          taken
//          apart is float32 up to the product with x; a fused LayerNormalization sums in float32 inside), Exp, Log; what is made
//          of
//          integers: positions, masks
//
// Where a high value meets a low node it is cast once, and the other way round; a mask's lowest number becomes the lowest finite
// one of the type first, so that a row with nothing allowed still has a softmax. Weights are converted in their file
// (graph_derived). Inputs and outputs of the graph stay float32, but for the cache of keys and values, which an engine shall be
// able to share.
#include "onnx/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/flow.h"
#include "onnx/inside.h"
#include "onnx/op.h"
#include "onnx/operator.h"

struct pass {
	struct graph *g;
	enum dtype half;
	float most; // the largest finite number of it
	struct node *old;
	int old_count;
	int *low, *high; // by value: its copy of that type, 0 none yet
	bool *far;       // by value, float32: may lie beyond what the type holds
	bool *squares;   // by value: read by sums alone, and the square of something
	int capacity;    // of the three; values made later have no entry
};

static bool one_of(const char *op, const char *const *list)
{
	while (*list && !text_is(op, *list))
		list++;
	return *list != NULL;
}

static const char *const always_low[] = { "MatMul", "Gemm", "FusedMatMul", "MatMulNBits", "Conv", "ConvTranspose",
	"MultiHeadAttention", "GroupQueryAttention", "LayerNormalization", "SimplifiedLayerNormalization", "BatchNormalization",
	"Softmax", "Gelu", NULL };
static const char *const always_high[] = { "Sin", "Cos", "Acos", "Range", "Pow", "Sqrt", "Exp", "Log", "Softplus", "CumSum",
	"ReduceMean", "ReduceSum", "InstanceNormalization", "Floor", "Mod", "Resize", "Scan", "ReduceProd", "ReduceL2",
	"GridSample", "RoiAlign", "LSTM", "GRU", "If", "Loop", "DFT", "NonMaxSuppression", "RotaryEmbedding", NULL };
static const char *const moves[] = { "Reshape", "Transpose", "Slice", "Gather", "GatherND", "GatherElements", "Concat", "Squeeze",
	"Unsqueeze", "Expand", "Identity", "ScatterND", "ScatterElements", "Split", NULL };

static bool is_float(const struct pass *p, graph_value v)
{
	return v.id && VALUE(p->g, v)->dtype == DTYPE_F32;
}

// A weight, or a float32 copy of one: there in either type.
static bool is_weight(const struct pass *p, graph_value v)
{
	return v.id && graph_stored(p->g, v).id;
}

static bool is_low(const struct pass *p, graph_value v)
{
	return v.id && VALUE(p->g, v)->dtype == p->half && !is_weight(p, v);
}

// ---- what a node is ------------------------------------------------------------------------------------------------------

static bool runs_low(const struct pass *p, const struct node *n)
{
	bool any = false, weights = false;

	if (n->body) // float32, as what flows into it and out of it
		return false;
	// In opset 17 convolutions and pools take no bfloat16, for example.
	if (!operator_takes(n->row, 0, p->half) && operator_takes(n->row, 0, DTYPE_F32))
		return false;
	if (one_of(n->op, always_low))
		return true;
	if (one_of(n->op, always_high) || p->squares[n->outputs[0]])
		return false;
	for (int k = 0; k < n->input_count; k++) {
		any |= is_low(p, n->inputs[k]);
		weights |= is_float(p, n->inputs[k]) && is_weight(p, n->inputs[k]);
	}
	return any || (weights && one_of(n->op, moves));
}

// x * x that only sums read: high, as the sum is.
static void find_squares(struct pass *p)
{
	for (int i = 0; i < p->old_count; i++) {
		const struct node *n = &p->old[i];

		p->squares[n->outputs[0]] = text_is(n->op, "Mul") && n->inputs[0].id == n->inputs[1].id;
	}
	for (int i = 0; i < p->old_count; i++)
		for (int k = 0; k < p->old[i].input_count; k++)
			if (!text_is(p->old[i].op, "ReduceSum") && !text_is(p->old[i].op, "ReduceMean"))
				p->squares[p->old[i].inputs[k].id] = false;
}

// ---- values of the other type -------------------------------------------------------------------------------------------

static graph_value beside(struct pass *p, graph_value v, enum dtype t)
{
	const struct value_info i = *VALUE(p->g, v);

	graph_enter(p->g, "%s", i.name);
	graph_value made = graph_node(
		p->g, "Cast", "", &v, 1, (struct attribute[]){ ATTR_I("to", dtype_onnx(t)) }, 1, NODE_OUTPUT(t, i.rank, i.dim));
	graph_leave(p->g);
	return made;
}

static graph_value low_constant(struct pass *p, graph_value v)
{
	const struct tensor *c = VALUE(p->g, v)->constant;
	size_t count = c->nbytes / sizeof(float);
	uint16_t *numbers = ARENA_ARRAY(&p->g->arena, count + 1, uint16_t);

	for (size_t i = 0; i < count; i++) {
		float x = ((const float *)c->data)[i];

		x = x > p->most ? p->most : x < -p->most ? -p->most : x;
		numbers[i] = p->half == DTYPE_F16 ? f16_of_f32(x) : bf16_of_f32(x);
	}
	return graph_constant(p->g, p->half, c->rank, c->dim, numbers);
}

static graph_value low_weight(struct pass *p, graph_value v)
{
	graph_value stored = graph_stored(p->g, v);
	const struct value_info i = *VALUE(p->g, stored);

	return i.dtype == p->half ? stored
				  : graph_derived(p->g, stored, dtype_word(p->half), &(struct recipe){ .kind = RECIPE_CAST },
					    p->half, i.rank, i.dim);
}

static graph_value lowered(struct pass *p, graph_value v)
{
	if (v.id >= p->capacity || p->g->failed)
		return v;
	if (!p->low[v.id]) {
		graph_value made;

		if (VALUE(p->g, v)->constant) {
			made = low_constant(p, v);
		} else if (is_weight(p, v)) {
			made = low_weight(p, v);
		} else {
			graph_value x = v;
			graph_enter(p->g, "%s", VALUE(p->g, v)->name);
			if (p->far[v.id])
				x = op_max(p->g, v, graph_f32(p->g, -p->most));
			graph_leave(p->g);
			made = beside(p, x, p->half);
		}
		p->low[v.id] = made.id;
	}
	return (graph_value){ p->low[v.id] };
}

static graph_value raised(struct pass *p, graph_value v)
{
	if (v.id >= p->capacity || p->g->failed)
		return v;
	if (!p->high[v.id])
		p->high[v.id] = beside(p, v, DTYPE_F32).id;
	return (graph_value){ p->high[v.id] };
}

// ---- node after node ----------------------------------------------------------------------------------------------------

// A node as it is, after those of the new list.
static void keep(struct pass *p, const struct node *n)
{
	struct graph *g = p->g;

	if (g->node_count == g->node_capacity) {
		g->node_capacity = g->node_capacity ? g->node_capacity * 2 : 64;
		g->nodes = realloc(g->nodes, (size_t)g->node_capacity * sizeof *g->nodes);
		if (!g->nodes)
			abort();
	}
	for (int k = 0; k < n->output_count; k++)
		g->values[n->outputs[k]].node = g->node_count;
	g->nodes[g->node_count++] = *n;
}

static void mark_far(struct pass *p, const struct node *n)
{
	bool far = false;

	for (int k = 0; k < n->input_count; k++) {
		const struct value_info *v = VALUE(p->g, n->inputs[k]);

		if (n->inputs[k].id && n->inputs[k].id < p->capacity)
			far |= p->far[n->inputs[k].id];
		for (size_t i = 0; v->constant && v->dtype == DTYPE_F32 && i < v->constant->nbytes / sizeof(float) && !far; i++)
			far = fabsf(((const float *)v->constant->data)[i]) > p->most;
	}
	for (int k = 0; k < n->output_count; k++)
		p->far[n->outputs[k]] = far;
}

static int parameters(const struct node *n)
{
	// Resize's region and scales, statistics and the like are of float32 in any case; only the first is data.
	return text_is(n->op, "Resize") ? 1 : n->input_count;
}

static void convert(struct pass *p, const struct node *n)
{
	struct graph *g = p->g;
	bool has_float = false, casts = text_is(n->op, "Cast");

	for (int k = 0; k < n->input_count; k++)
		has_float |= is_float(p, n->inputs[k]) || is_low(p, n->inputs[k]);
	for (int k = 0; k < n->output_count; k++)
		has_float |= g->values[n->outputs[k]].dtype == DTYPE_F32;
	// What becomes float32 here: rows of a table of 16 bits are low at once; copies of weights are for those who read them.
	if (casts && g->values[n->inputs[0].id].kind != VALUE_EXTERNAL && g->values[n->outputs[0]].dtype == DTYPE_F32 &&
		(g->values[n->inputs[0].id].dtype == DTYPE_F16 || g->values[n->inputs[0].id].dtype == DTYPE_BF16)) {
		n->attributes[0].i = dtype_onnx(p->half);
		g->values[n->outputs[0]].dtype = p->half;
		keep(p, n);
		return;
	}
	if (!has_float || casts) {
		keep(p, n);
		return;
	}
	bool low = runs_low(p, n);
	for (int k = 0; k < parameters(n) && !g->failed; k++) {
		graph_value v = n->inputs[k];

		if (low && is_float(p, v))
			n->inputs[k] = lowered(p, v);
		else if (!low && is_low(p, v))
			n->inputs[k] = raised(p, v);
	}
	if (!low)
		mark_far(p, n);
	for (int k = 0; k < n->output_count && low; k++)
		if (g->values[n->outputs[k]].dtype == DTYPE_F32)
			g->values[n->outputs[k]].dtype = p->half;
	keep(p, n);
}

static bool is_cache(const char *name)
{
	return flow_input(name) == FLOW_CACHE || flow_output(name) == FLOW_CACHE;
}

// What leaves the graph has the type that it had, or as the cache has it the low one.
static void give(struct pass *p, int *output)
{
	struct graph *g = p->g;
	graph_value v = { *output };
	struct value_info i = *VALUE(g, v);
	bool wants_low = is_cache(i.name);

	if (g->failed || (i.dtype != DTYPE_F32 && i.dtype != p->half) || (i.dtype == p->half) == wants_low ||
		i.kind != VALUE_NODE)
		return;
	g->values[v.id].name = arena_printf(&g->arena, "%s/%s", i.name, dtype_word(i.dtype));
	graph_value given = wants_low ? lowered(p, v) : beside(p, v, DTYPE_F32);
	if (g->failed)
		return;
	g->values[given.id].name = i.name;
	*output = given.id;
}

void graph_halve(struct graph *g, enum dtype half)
{
	struct pass p = { .g = g,
		.half = half,
		.old = g->nodes,
		.old_count = g->node_count,
		.capacity = g->value_count,
		.most = half == DTYPE_F16 ? 65504.0f : 3.3895314e38f };
	struct arena a = { 0 };

	p.low = ARENA_ARRAY(&a, (size_t)p.capacity + 1, int);
	p.high = ARENA_ARRAY(&a, (size_t)p.capacity + 1, int);
	p.far = ARENA_ARRAY(&a, (size_t)p.capacity + 1, bool);
	p.squares = ARENA_ARRAY(&a, (size_t)p.capacity + 1, bool);
	g->nodes = NULL;
	g->node_count = g->node_capacity = 0;
	free(g->node_slots);
	g->node_slots = NULL;
	g->node_slot_count = 0;
	find_squares(&p);
	for (int i = 0; i < g->input_count; i++)
		if (is_cache(g->values[g->inputs[i]].name) && g->values[g->inputs[i]].dtype == DTYPE_F32)
			g->values[g->inputs[i]].dtype = half;
	for (int i = 0; i < p.old_count && !g->failed; i++)
		convert(&p, &p.old[i]);
	for (int i = 0; i < g->output_count; i++)
		give(&p, &g->outputs[i]);
	free(p.old);
	arena_done(&a);
}
