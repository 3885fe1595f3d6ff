// SPDX-License-Identifier: Apache-2.0
// How much memory running a built graph takes: what its nodes make, alive at one time in the order they were built,
// and its weights by what is done with them. Symbols count with the numbers they are bound to (graph_bind).
//
//   make x      x |
//   y = f(x)    x y |        peak: the most bytes that are alive beside each other; a result lives from its node to the
//   z = g(y)      y z |      last node that reads it, an output to the end; a view (Reshape) is its input
//
// What it does not do: know any engine. How weights are copied and what is fused is a fact about engines (cell/predict.c).
#include <math.h>
#include <stdlib.h>

#include "onnx/inside.h"

struct walk {
	const struct graph *g;
	int *root;      // of each value: the value whose memory it is
	int *last;      // of each root: the last node that reads it; INT_MAX an output's
	bool *constant; // of each value: an initializer, or made of initializers alone
	bool *multiplied, *other,
		*folds; // of each constant value: nodes that run multiply with it, read it otherwise; a folded node reads it
	bool *scores;   // of each value: it lies between the two products of an attention
	uint64_t *rows; // of each constant value: how many of its rows are gathered
	struct graph_memory m;
	struct arena *a;
};

bool graph_is_view(const char *op)
{
	static const char *const views[] = { "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity" };

	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (text_is(op, views[i]))
			return true;
	return false;
}

// Up to which input an operation multiplies; 0: it does not. LSTM and GRU have two weights.
static int multiplies(const char *op)
{
	static const char *const kernels[] = { "MatMul", "Gemm", "FusedMatMul", "MatMulNBits", "MatMulInteger", "Conv",
		"ConvTranspose", "LSTM", "GRU" };

	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (text_is(op, kernels[i]))
			return text_is(op, "LSTM") || text_is(op, "GRU") ? 3 : 2;
	return 0;
}

static bool is_output(const struct graph *g, int id)
{
	for (int i = 0; i < g->output_count; i++)
		if (g->outputs[i] == id)
			return true;
	return false;
}

static uint64_t count_of(struct walk *w, int id)
{
	const struct value_info *v = &w->g->values[id];
	uint64_t n = 1;

	for (int k = 0; k < v->rank; k++) {
		int64_t dim = graph_counted(w->g, v->dim[k]);

		w->m.unknown |= dim < 0;
		n *= dim < 0 ? 1 : (uint64_t)dim;
	}
	return n;
}

static uint64_t nbytes_of(struct walk *w, int id)
{
	return count_of(w, id) * dtype_size(w->g->values[id].dtype);
}

// Of a mapped table, when that many rows are read here and there: the kernel maps what lies around each, up to 2 MiB of it.
static uint64_t touched(uint64_t nbytes, uint64_t rows)
{
	const double window = 2 << 20;

	return nbytes ? (uint64_t)((double)nbytes * (1 - exp(-(double)rows * window / (double)nbytes))) : 0;
}

// Engines fold these before the first run.
void graph_constants(const struct graph *g, bool *constant)
{
	for (int i = 0; i < g->value_count; i++)
		constant[i] = g->values[i].kind == VALUE_EXTERNAL || g->values[i].kind == VALUE_CONSTANT;
	for (int i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];
		bool all = n->live && n->input_count > 0 && !graph_has_bodies(n);

		for (int k = 0; k < n->input_count; k++)
			all &= !n->inputs[k].id || constant[n->inputs[k].id];
		for (int k = 0; k < n->output_count; k++)
			constant[n->outputs[k]] = all;
	}
}

static void find_roots(struct walk *w)
{
	const struct graph *g = w->g;

	for (int i = 0; i < g->value_count; i++) {
		w->root[i] = i;
		w->last[i] = -1;
	}
	for (int i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];
		// What a caller gets is a tensor of its own.
		if (n->live && !w->constant[n->outputs[0]] && graph_is_view(n->op) && !is_output(g, n->outputs[0]))
			w->root[n->outputs[0]] = w->root[n->inputs[0].id];
		// Keys and values are written where the past ones lie (op_group_query_attention).
		for (int k = 1; n->live && text_is(n->op, "GroupQueryAttention") && k < n->output_count; k++)
			w->root[n->outputs[k]] = w->root[n->inputs[k + 2].id];
	}
}

// x * constant, or a batch norm, after a convolution: the weight of that convolution.
static uint64_t rescaled(struct walk *w, const struct node *n)
{
	const struct graph *g = w->g;
	bool norm = text_is(n->op, "BatchNormalization");

	if (!norm && !text_is(n->op, "Mul"))
		return 0;
	for (int k = 0; k < (norm ? 1 : 2); k++) {
		const struct value_info *v = &g->values[n->inputs[k].id];

		if (v->kind == VALUE_NODE && text_is(g->nodes[v->node].op, "Conv") && (norm || w->constant[n->inputs[1 - k].id]))
			return nbytes_of(w, g->nodes[v->node].inputs[1].id);
	}
	return 0;
}

static void find_uses(struct walk *w)
{
	const struct graph *g = w->g;

	for (int i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];

		if (!n->live || n->body || w->constant[n->outputs[0]]) // a body's values are those of one of its runs: small
			continue;
		w->m.rescaled_nbytes += rescaled(w, n);
		for (int k = 0; k < n->input_count; k++) {
			int id = n->inputs[k].id;

			if (!id)
				continue;
			w->last[w->root[id]] = i;
			if (!w->constant[id])
				continue;
			if (k < multiplies(n->op)) {
				uint64_t nbytes = nbytes_of(w, id);

				w->multiplied[id] = true;
				w->m.multiplied_nbytes += nbytes;
				w->m.half_multiplied_nbytes += g->values[id].dtype == DTYPE_F16 ? nbytes : 0;
				w->m.largest_multiplied_nbytes =
					nbytes > w->m.largest_multiplied_nbytes ? nbytes : w->m.largest_multiplied_nbytes;
			} else if (text_is(n->op, "Gather") && k == 0) {
				w->rows[id] += count_of(w, n->inputs[1].id);
			} else {
				w->other[id] = true;
				w->m.block_nbytes += text_is(n->op, "MatMulNBits") ? nbytes_of(w, id) : 0;
			}
		}
		int *around, count = graph_body_reads(g, n, w->a, &around);
		for (int k = 0; k < count; k++) {
			w->last[w->root[around[k]]] = i;
			w->other[around[k]] |= w->constant[around[k]];
		}
	}
	for (int i = 0; i < g->output_count; i++)
		w->last[w->root[g->outputs[i]]] = INT32_MAX;
}

// From the nodes that run back through folded ones to the stored weights.
static void read_weights(struct walk *w)
{
	const struct graph *g = w->g;

	for (int i = g->node_count; i-- > 0;) {
		const struct node *n = &g->nodes[i];
		int id = n->outputs[0]; // no operation of several outputs reads constants alone

		if (!n->live || !w->constant[id])
			continue;
		if (w->multiplied[id] || w->rows[id] || w->other[id])
			w->m.folded_nbytes += nbytes_of(w, id);
		for (int k = 0; k < n->input_count; k++)
			w->folds[n->inputs[k].id] = true;
	}
	for (int i = 1; i < g->value_count; i++) {
		const struct value_info *v = &g->values[i];

		if (v->kind != VALUE_EXTERNAL || !v->live)
			continue;
		w->m.stored_nbytes += v->nbytes;
		w->m.folded_from_nbytes += w->folds[i] ? v->nbytes : 0;
		if (w->other[i] || (w->rows[i] && w->multiplied[i]))
			w->m.in_place_nbytes += v->nbytes;
		else if (w->rows[i])
			w->m.gathered_nbytes += touched(v->nbytes, w->rows[i]);
		if (w->rows[i] && v->dtype == DTYPE_F16)
			w->m.half_table_nbytes += v->nbytes;
	}
}

static const struct node *maker(const struct graph *g, int id)
{
	const struct value_info *v = &g->values[id];

	return v->kind == VALUE_NODE ? &g->nodes[v->node] : NULL;
}

// softmax(q k (+ bias)) v, as op_attention has it where no heads share keys: an engine that makes one operation of it holds
// nothing of what lies between the products. A cap, a sink and the Reshape of shared keys stand in the way of that.
static void find_scores(struct walk *w)
{
	const struct graph *g = w->g;

	for (int i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i],
				  *softmax = n->live && text_is(n->op, "MatMul") ? maker(g, n->inputs[0].id) : NULL;
		const struct node *before = softmax && text_is(softmax->op, "Softmax") ? maker(g, softmax->inputs[0].id) : NULL,
				  *biased = before && text_is(before->op, "Add") ? before : NULL;

		if (biased)
			before = maker(g, biased->inputs[0].id);
		if (!before || !text_is(before->op, "MatMul"))
			continue;
		w->scores[before->outputs[0]] = w->scores[softmax->outputs[0]] = true;
		if (biased)
			w->scores[biased->outputs[0]] = true;
	}
}

// Bytes alive: of everything; of everything but scores.
struct alive {
	uint64_t all, fused;
};

static void begin(struct walk *w, int id, struct alive *alive)
{
	if (w->root[id] != id)
		return;
	alive->all += nbytes_of(w, id);
	alive->fused += w->scores[id] ? 0 : nbytes_of(w, id);
}

static void end(struct walk *w, int id, struct alive *alive)
{
	alive->all -= nbytes_of(w, id);
	alive->fused -= w->scores[id] ? 0 : nbytes_of(w, id);
}

// After node number `i`: what it was the last to read is gone.
static void release(struct walk *w, int i, int id, struct alive *alive)
{
	int root = w->root[id];

	if (!root || w->last[root] != i || w->g->values[root].kind != VALUE_NODE || w->constant[root])
		return;
	end(w, root, alive);
	w->last[root] = -1; // a node may read it twice
}

static void run_nodes(struct walk *w)
{
	const struct graph *g = w->g;
	struct alive alive = { 0 };

	for (int i = 0; i < g->input_count; i++)
		w->m.input_nbytes += nbytes_of(w, g->inputs[i]);
	for (int i = 0; i < g->output_count; i++)
		if (g->values[w->root[g->outputs[i]]].kind != VALUE_INPUT)
			w->m.output_nbytes += nbytes_of(w, g->outputs[i]);
	for (int i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];

		if (!n->live || n->body || w->constant[n->outputs[0]])
			continue;
		for (int k = 0; k < n->output_count; k++)
			begin(w, n->outputs[k], &alive);
		if (alive.all > w->m.peak_nbytes)
			w->m.peak_nbytes = alive.all;
		if (alive.fused > w->m.peak_fused_nbytes)
			w->m.peak_fused_nbytes = alive.fused;
		for (int k = 1; k < n->output_count; k++) // that are not read
			if (w->root[n->outputs[k]] == n->outputs[k] && w->last[n->outputs[k]] < 0)
				end(w, n->outputs[k], &alive);
		int *around, count = graph_body_reads(g, n, w->a, &around);
		for (int k = 0; k < n->input_count; k++)
			release(w, i, n->inputs[k].id, &alive);
		for (int k = 0; k < count; k++)
			release(w, i, around[k], &alive);
	}
}

void graph_memory(const struct graph *g, struct graph_memory *out)
{
	size_t count = (size_t)g->value_count;
	struct arena a = { 0 };
	struct walk w = { .g = g,
		.root = ARENA_ARRAY(&a, count, int),
		.last = ARENA_ARRAY(&a, count, int),
		.constant = ARENA_ARRAY(&a, count, bool),
		.multiplied = ARENA_ARRAY(&a, count, bool),
		.other = ARENA_ARRAY(&a, count, bool),
		.folds = ARENA_ARRAY(&a, count, bool),
		.scores = ARENA_ARRAY(&a, count, bool),
		.rows = ARENA_ARRAY(&a, count, uint64_t),
		.a = &a };

	graph_constants(g, w.constant);
	find_roots(&w);
	find_uses(&w);
	read_weights(&w);
	find_scores(&w);
	run_nodes(&w);
	*out = w.m;
	arena_done(&a);
}
