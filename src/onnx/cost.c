// SPDX-License-Identifier: Apache-2.0
// cost.h. The formulas follow the definitions of the operators (github.com/onnx/onnx, docs/Operators.md; com.microsoft:
// github.com/microsoft/onnxruntime, docs/ContribOperators.md), counted as they stand there:
//   product of [m, k] and [k, n]     2 m n k                        (Golub, Van Loan: Matrix Computations, 1.1.11)
//   convolution                      2 x results x weights of one result channel
//   attention of q on k and v        2 x queries x keys x (width of q and k + width of v) a head, and the softmax
//   softmax                          5 an element: greatest, difference, exp, sum, division
//   layer, instance, group norm      7 an element: mean, difference, square, variance, division, scale, shift
//   RMS norm                         4 an element: square, mean, product, scale
//   stored batch norm                2 an element: engines fold mean, variance, weight and bias into one scale and one shift
//   Gelu                             5 by erf, 8 by tanh
//   resizing, grid sampling          2 for each place that goes into a result: 4 linear, 16 cubic in two dimensions
//   region of interest               9 a sample: 4 places that go into it, and the mean
//   LSTM                             2 a weight for each token; 21 an element of the state: 3 sums and an activation in each of 4
//                                    gates, then 5; without biases 13
//   GRU                              the same with 17 and 11
//   Fourier transform                5 n log2 n of n numbers (as benchFFT counts: fftw.org/speed/method.html)
//   scatter                          1 an update that is added or the like, 0 where it replaces
#include "onnx/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/inside.h"
#include "onnx/operator.h"

struct count {
	const struct graph *g;
	const bool *constant; // of each value: an initializer, or made of initializers alone
	const int *root;      // of each value: the value whose memory it is
	int *uses;
	struct node_cost *node;
};

// ---- sizes --------------------------------------------------------------------------------------------------------------

static uint64_t dim_of(struct count *c, int64_t dim)
{
	dim = graph_counted(c->g, dim);
	c->node->unknown |= dim < 0;
	return dim < 0 ? 1 : (uint64_t)dim;
}

static uint64_t elements(struct count *c, int id)
{
	const struct value_info *v = &c->g->values[id];
	uint64_t n = 1;

	for (int k = 0; id && k < v->rank; k++)
		n *= dim_of(c, v->dim[k]);
	return id ? n : 0;
}

static uint64_t bytes(struct count *c, int id)
{
	return id ? elements(c, id) * dtype_size(c->g->values[id].dtype) : 0;
}

static int input_of(const struct node *n, int i)
{
	return i < n->input_count ? n->inputs[i].id : 0;
}

// The axis counts from the end where it is negative.
static uint64_t axis_of(struct count *c, int id, int axis)
{
	const struct value_info *v = &c->g->values[id];
	int at = axis < 0 ? v->rank + axis : axis;

	return id && at >= 0 && at < v->rank ? dim_of(c, v->dim[at]) : 1;
}

static int64_t attribute_of(const struct node *n, const char *name, int64_t otherwise)
{
	for (int i = 0; i < n->attribute_count; i++)
		if (text_is(n->attributes[i].name, name) && n->attributes[i].kind == ATTRIBUTE_INT)
			return n->attributes[i].i;
	return otherwise;
}

static const char *text_of(const struct node *n, const char *name)
{
	for (int i = 0; i < n->attribute_count; i++)
		if (text_is(n->attributes[i].name, name) && n->attributes[i].kind == ATTRIBUTE_TEXT)
			return n->attributes[i].text;
	return "";
}

static uint64_t window_of(const struct node *n)
{
	uint64_t size = 1;

	for (int i = 0; i < n->attribute_count; i++)
		for (int k = 0; text_is(n->attributes[i].name, "kernel_shape") && k < n->attributes[i].count; k++)
			size *= (uint64_t)n->attributes[i].ints[k];
	return size;
}

static bool is_float(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16 || t == DTYPE_F64;
}

static bool stands_for_float(const char *op)
{
	return text_ends(op, "Integer") || text_ends(op, "QuantizeLinear");
}

// ---- operations ---------------------------------------------------------------------------------------------------------

static uint64_t product(struct count *c, const struct node *n)
{
	bool transposed = attribute_of(n, "transA", 0) != 0;
	uint64_t made = elements(c, n->outputs[0]), flops = 2 * made * axis_of(c, input_of(n, 0), transposed ? -2 : -1);

	return flops + (text_is(n->op, "Gemm") && input_of(n, 2) ? made : 0);
}

// K is the length of a row of the weight, which is stored in blocks of 2, 4 or 8 bits.
static uint64_t blocks(struct count *c, const struct node *n)
{
	return 2 * elements(c, n->outputs[0]) * (uint64_t)attribute_of(n, "K", (int64_t)axis_of(c, input_of(n, 0), -1));
}

static uint64_t convolution(struct count *c, const struct node *n)
{
	bool back = text_is(n->op, "ConvTranspose");
	int x = input_of(n, 0), w = input_of(n, 1);
	uint64_t each = elements(c, w) / (axis_of(c, w, 0) ? axis_of(c, w, 0) : 1), made = elements(c, n->outputs[0]);

	return 2 * each * (back ? elements(c, x) : made) + (input_of(n, 2) ? made : 0);
}

// query, key and value are [batch, length, heads*width]; the length of a cache goes before that of the keys.
static uint64_t attention(struct count *c, const struct node *n)
{
	int q = input_of(n, 0), k = input_of(n, 1), v = input_of(n, 2);
	bool shared = text_is(n->op, "GroupQueryAttention");
	uint64_t heads = (uint64_t)attribute_of(n, "num_heads", 1), batch = axis_of(c, q, 0), queries = axis_of(c, q, 1),
		 width = axis_of(c, q, 2),
		 keys = shared ? axis_of(c, input_of(n, 3), 2) : axis_of(c, k, c->g->values[k].rank == 4 ? 2 : 1),
		 value_width = shared       ? width
		: c->g->values[v].rank == 4 ? heads * axis_of(c, v, 3)
					    : axis_of(c, v, 2);

	return 2 * batch * queries * keys * (width + value_width) + 5 * batch * heads * queries * keys;
}

static uint64_t resize(struct count *c, const struct node *n)
{
	const char *mode = text_of(n, "mode");
	uint64_t made = elements(c, n->outputs[0]), taps = 1;
	int each = text_is(mode, "cubic") ? 4 : text_is(mode, "linear") ? 2 : 0;

	for (int k = 2; each && k < c->g->values[n->outputs[0]].rank; k++)
		taps *= (uint64_t)each;
	return each ? 2 * taps * made : 0;
}

static uint64_t grid(struct count *c, const struct node *n)
{
	const char *mode = text_of(n, "mode");
	uint64_t taps = text_ends(mode, "cubic") ? 16 : text_ends(mode, "linear") ? 4 : 0;

	return 2 * taps * elements(c, n->outputs[0]);
}

// How many places a cell has that takes as many samples as places is only known from the regions.
static uint64_t regions(struct count *c, const struct node *n)
{
	uint64_t samples = (uint64_t)attribute_of(n, "sampling_ratio", 0);

	c->node->unknown |= !samples;
	return 9 * samples * samples * elements(c, n->outputs[0]);
}

// x [length, batch, in], weights [directions, gates*hidden, in] and [directions, gates*hidden, hidden].
static uint64_t recurrence(struct count *c, const struct node *n)
{
	int x = input_of(n, 0);
	bool lstm = text_is(n->op, "LSTM"), biased = input_of(n, 3) != 0;
	uint64_t steps = axis_of(c, x, 0) * axis_of(c, x, 1);

	return steps * 2 * (elements(c, input_of(n, 1)) + elements(c, input_of(n, 2))) +
		elements(c, n->outputs[0]) *
		(lstm                    ? (biased ? 21 : 13)
				: biased ? 17
					 : 11);
}

// Of n numbers on the axis, which is an attribute, or the third input.
static uint64_t fourier(struct count *c, const struct node *n)
{
	int64_t axis = input_of(n, 2) ? graph_scalar_dim(c->g, n->inputs[2]) : attribute_of(n, "axis", 1);
	uint64_t length = axis_of(c, input_of(n, 0), (int)axis);

	return length ? elements(c, n->outputs[0]) / 2 / length * (uint64_t)llround(5 * (double)length * log2((double)length))
		      : 0;
}

static uint64_t flops_of(struct count *c, const struct node *n);

static uint64_t flops_of_body(struct count *c, int64_t body)
{
	const struct node *all = c->g->nodes;
	uint64_t sum = 0;

	for (int i = 0; i < c->g->node_count; i++)
		sum += all[i].live && all[i].body == body ? flops_of(c, &all[i]) : 0;
	return sum;
}

// Scan: a run of the body for each slice of the first value that it goes over. Loop: as many as it may have, none where a
// condition begins it. If: the branch that takes more.
static uint64_t bodies(struct count *c, const struct node *n)
{
	int64_t axis = 0, over = n->input_count - attribute_of(n, "num_scan_inputs", 1);
	uint64_t most = 0;

	for (int i = 0; i < n->attribute_count; i++) {
		uint64_t each = n->attributes[i].kind == ATTRIBUTE_BODY ? flops_of_body(c, n->attributes[i].i) : 0;

		most = each > most ? each : most;
		if (text_is(n->attributes[i].name, "scan_input_axes"))
			axis = n->attributes[i].ints[0];
	}
	return text_is(n->op, "If")                        ? most
		: text_is(n->op, "Loop") && input_of(n, 1) ? 0
		: text_is(n->op, "Loop")                   ? most * dim_of(c, graph_scalar_dim(c->g, n->inputs[0]))
							   : most * axis_of(c, input_of(n, (int)over), (int)axis);
}

// The formula of the operator's row. One that has no row is not known.
static uint64_t flops_of(struct count *c, const struct node *n)
{
	const struct operator* o = n->row;
	int first = input_of(n, 0), made = n->outputs[0];
	bool floats = is_float(c->g->values[first].dtype) || is_float(c->g->values[made].dtype) || stands_for_float(n->op);

	switch (o ? o->cost : COST_UNSTATED) {
	case COST_UNSTATED:
		c->node->unknown = true;
		return 0;
	case COST_NONE:
		return 0;
	case COST_PRODUCT:
		return floats ? product(c, n) : 0;
	case COST_BLOCKS:
		return blocks(c, n);
	case COST_CONVOLUTION:
		return convolution(c, n);
	case COST_ATTENTION:
		return attention(c, n);
	case COST_RESIZE:
		return resize(c, n);
	case COST_POOL:
		return window_of(n) * elements(c, made);
	case COST_GELU:
		return (text_is(text_of(n, "approximate"), "tanh") ? 8 : 5) * elements(c, made);
	case COST_SCATTER:
		return *text_of(n, "reduction") ? elements(c, input_of(n, 2)) : 0;
	case COST_GRID:
		return grid(c, n);
	case COST_ROI:
		return regions(c, n);
	case COST_RECURRENT:
		return recurrence(c, n);
	case COST_FOURIER:
		return fourier(c, n);
	case COST_BODY:
		return bodies(c, n);
	case COST_EACH:
		return floats ? (uint64_t)o->of_result * elements(c, made) + (uint64_t)o->of_input * elements(c, first) : 0;
	}
	return 0;
}

// ---- bytes --------------------------------------------------------------------------------------------------------------

// A stored weight that the graph takes from 8 bits is read as it is stored: engines multiply with it so.
static uint64_t weight_bytes(struct count *c, int id)
{
	const struct value_info *v = &c->g->values[id];
	const struct node *n = v->kind == VALUE_NODE ? &c->g->nodes[v->node] : NULL;
	uint64_t sum = 0;

	if (!n || !text_is(n->op, "DequantizeLinear"))
		return bytes(c, id);
	for (int k = 0; k < n->input_count; k++)
		sum += bytes(c, n->inputs[k].id);
	return sum;
}

static void read_input(struct count *c, struct cost_value *reads, int id, uint64_t nbytes)
{
	if (c->constant[id]) {
		c->node->weight_nbytes += nbytes;
		return;
	}
	c->node->read_nbytes += nbytes;
	c->uses[c->root[id]]++;
	reads[c->node->read_count++] = (struct cost_value){ c->root[id], nbytes };
}

// Of no elements an engine makes nothing: an expert that no token chose.
static bool is_empty(struct count *c, const struct node *n)
{
	return n->output_count == 1 && !elements(c, n->outputs[0]);
}

// Of what is gathered or cut out, only that is read; of a shape, nothing. What bodies read of the graph is read once.
static void bytes_of(struct count *c, struct arena *a, const struct node *n)
{
	struct cost_value *reads, *writes;
	int *around, around_count;
	bool part = text_starts(n->op, "Gather") || text_is(n->op, "Slice") || text_is(n->op, "Trilu");

	if (graph_is_view(n->op) || text_is(n->op, "Shape") || is_empty(c, n))
		return;
	around_count = graph_body_reads(c->g, n, a, &around);
	c->node->reads = reads = ARENA_ARRAY(a, (size_t)(n->input_count + around_count) + 1, struct cost_value);
	c->node->writes = writes = ARENA_ARRAY(a, (size_t)n->output_count + 1, struct cost_value);
	for (int k = 0; k < n->output_count; k++) {
		uint64_t nbytes = bytes(c, n->outputs[k]);

		c->node->written_nbytes += nbytes;
		writes[c->node->write_count++] = (struct cost_value){ n->outputs[k], nbytes };
	}
	for (int k = 0; k < n->input_count; k++) {
		int id = n->inputs[k].id;

		if (id)
			read_input(c, reads, id,
				part && k == 0            ? bytes(c, n->outputs[0])
					: c->constant[id] ? weight_bytes(c, id)
							  : bytes(c, id));
	}
	for (int k = 0; k < around_count; k++)
		read_input(c, reads, around[k], bytes(c, around[k]));
}

// ---- the graph ----------------------------------------------------------------------------------------------------------

static int most_first(const void *a, const void *b)
{
	const struct op_cost *x = a, *y = b;

	if (x->flops != y->flops)
		return x->flops < y->flops ? 1 : -1;
	return x->nbytes != y->nbytes ? (x->nbytes < y->nbytes ? 1 : -1) : strcmp(x->op, y->op);
}

static void add_op(struct graph_cost *out, const struct node_cost *n)
{
	size_t i = 0;

	while (i < out->op_count && !text_is(out->ops[i].op, n->op))
		i++;
	if (i == out->op_count)
		out->ops[out->op_count++] = (struct op_cost){ .op = n->op };
	out->ops[i].nodes++;
	out->ops[i].flops += n->flops;
	out->ops[i].nbytes += n->read_nbytes + n->written_nbytes + n->weight_nbytes;
}

// Each weight that a node reads, once; in the type in which it is read, so a cast one has its node's. Rows of a table count as
// read.
static uint64_t boundary(struct count *c, const bool *live)
{
	const struct graph *g = c->g;
	bool *whole = calloc((size_t)g->value_count, sizeof *whole);
	uint64_t sum = 0;

	for (int i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];

		if (!live[i] || graph_is_view(n->op) || text_is(n->op, "Shape") || is_empty(c, n))
			continue;
		for (int k = 0; k < n->input_count; k++) {
			int id = n->inputs[k].id;

			if (!id || !c->constant[id] || !whole || whole[id])
				continue;
			if (text_starts(n->op, "Gather") && k == 0) {
				sum += bytes(c, n->outputs[0]);
				continue;
			}
			whole[id] = true;
			sum += weight_bytes(c, id);
		}
	}
	free(whole);
	for (int i = 0; i < g->input_count; i++)
		sum += bytes(c, g->inputs[i]);
	for (int i = 0; i < g->output_count; i++)
		sum += bytes(c, g->outputs[i]);
	return sum;
}

void graph_cost(const struct graph *g, struct arena *a, struct graph_cost *out)
{
	bool *constant = ARENA_ARRAY(a, (size_t)g->value_count, bool), *live = ARENA_ARRAY(a, (size_t)g->node_count + 1, bool);
	int *root = ARENA_ARRAY(a, (size_t)g->value_count, int), *uses = ARENA_ARRAY(a, (size_t)g->value_count, int);
	struct count c = { .g = g, .constant = constant, .root = root, .uses = uses };
	struct node_cost sink = { 0 };

	*out = (struct graph_cost){ .uses = uses,
		.nodes = ARENA_ARRAY(a, (size_t)g->node_count + 1, struct node_cost),
		.ops = ARENA_ARRAY(a, (size_t)g->node_count + 1, struct op_cost) };
	for (int i = 1; i < g->value_count; i++)
		root[i] = i;
	for (int i = 1; i < g->value_count; i++)
		constant[i] = g->values[i].kind == VALUE_EXTERNAL || g->values[i].kind == VALUE_CONSTANT;
	for (int i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];
		bool all = n->input_count > 0 && !graph_has_bodies(n);

		for (int k = 0; k < n->input_count; k++)
			all &= !n->inputs[k].id || constant[n->inputs[k].id];
		for (int k = 0; k < n->output_count; k++)
			constant[n->outputs[k]] = all;
		if (graph_is_view(n->op))
			root[n->outputs[0]] = root[n->inputs[0].id];
		if (!n->live || n->body) // a body counts with the node that has it
			continue;
		c.node = &out->nodes[out->node_count++];
		*c.node = (struct node_cost){ .name = n->name,
			.op = n->op,
			.of_floats = is_float(g->values[n->outputs[0]].dtype) || stands_for_float(n->op) };
		live[i] = !all;
		if (all)
			continue;
		c.node->flops = flops_of(&c, n);
		bytes_of(&c, a, n);
		out->flops += c.node->flops;
		out->weight_nbytes += c.node->weight_nbytes;
		out->nbytes += c.node->read_nbytes + c.node->written_nbytes + c.node->weight_nbytes;
		out->unknown |= c.node->unknown;
		add_op(out, c.node);
	}
	for (int i = 0; i < g->output_count; i++)
		uses[root[g->outputs[i]]]++;
	c.node = &sink;
	out->boundary_nbytes = boundary(&c, live);
	qsort(out->ops, out->op_count, sizeof *out->ops, most_first);
}

static int reads_among(const struct graph_cost *c, const size_t *members, size_t count, int id)
{
	int n = 0;

	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < c->nodes[members[i]].read_count; k++)
			n += c->nodes[members[i]].reads[k].value == id;
	return n;
}

static bool written_among(const struct graph_cost *c, const size_t *members, size_t count, int id)
{
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < c->nodes[members[i]].write_count; k++)
			if (c->nodes[members[i]].writes[k].value == id)
				return true;
	return false;
}

uint64_t graph_cost_fused(const struct graph_cost *c, const size_t *members, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		const struct node_cost *n = &c->nodes[members[i]];

		sum += n->weight_nbytes;
		for (int k = 0; k < n->read_count; k++) // read by several of them: once
			if (!written_among(c, members, count, n->reads[k].value) &&
				!reads_among(c, members, i, n->reads[k].value))
				sum += n->reads[k].nbytes;
		for (int k = 0; k < n->write_count; k++)
			if (reads_among(c, members, count, n->writes[k].value) < c->uses[n->writes[k].value] ||
				!c->uses[n->writes[k].value])
				sum += n->writes[k].nbytes;
	}
	return sum;
}
