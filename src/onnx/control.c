// SPDX-License-Identifier: Apache-2.0
// If and Loop of ONNX. Their bodies read what stands around them; a body of scan.c does not.
#include "onnx/inside.h"
#include "onnx/op.h"

#include <string.h>

static bool is_scalar(struct graph *g, graph_value v, enum dtype t)
{
	return value_rank(g, v) == 0 && value_dtype(g, v) == t;
}

static bool all_alive(struct graph *g, int count, const graph_value *v)
{
	for (int i = 0; i < count; i++)
		if (!graph_alive(g, v[i]))
			return false;
	return true;
}

// ---------------------------------------------------------------------------------------------------- If

void op_if_begin(struct graph *g, struct branches *b)
{
	if (!graph_alive(g, b->condition))
		return;
	if (!is_scalar(g, b->condition, DTYPE_BOOL)) {
		graph_fail(g, STATUS_FAILED, "If of %s: one bool is needed", graph_value_text(g, b->condition));
		return;
	}
	graph_enter(g, "then");
	b->body[0] = graph_body_begin(g, true);
}

void op_if_else(struct graph *g, struct branches *b, int count, const graph_value *then)
{
	if (g->failed || !all_alive(g, count, then))
		return;
	if (count < 1 || count > NODE_OUTPUTS) {
		graph_fail(g, STATUS_FAILED, "If gives %d values; 1 to %d", count, NODE_OUTPUTS);
		return;
	}
	b->count = count;
	graph_body_end(g, then, count);
	graph_leave(g);
	graph_enter(g, "else");
	b->body[1] = graph_body_begin(g, true);
}

void op_if_end(struct graph *g, struct branches *b, const graph_value *otherwise)
{
	struct node_output outputs[NODE_OUTPUTS];
	int64_t dims[NODE_OUTPUTS][TENSOR_MAX_RANK];

	if (g->failed || !all_alive(g, b->count, otherwise))
		return;
	for (int i = 0; i < b->count; i++) {
		const graph_value both[] = { { g->bodies[b->body[0]].outputs[i] }, otherwise[i] };
		const struct value_info x = *VALUE(g, both[0]), y = *VALUE(g, both[1]);

		if (x.dtype != y.dtype || x.rank != y.rank) {
			graph_fail(g, STATUS_FAILED, "If gives %s: of one type and rank in both branches",
				graph_values_text(g, both, 2));
			return;
		}
		for (int k = 0; k < x.rank; k++) // a length that differs is decided by the run
			dims[i][k] = x.dim[k] == y.dim[k] ? x.dim[k] : graph_unknown(g);
		outputs[i] = (struct node_output){ "given", x.dtype, x.rank, dims[i] };
	}
	graph_body_end(g, otherwise, b->count);
	graph_leave(g);
	graph_node_of(g, "If", "", &b->condition, 1,
		(struct attribute[]){ ATTR_BODY("then_branch", b->body[0]), ATTR_BODY("else_branch", b->body[1]) }, 2,
		&(struct node_outputs){ b->count, outputs, b->given });
}

// ---------------------------------------------------------------------------------------------------- Loop

void op_loop_begin(struct graph *g, struct loop *l)
{
	if (l->state_count < 1 || l->state_count > LOOP_MOST) {
		graph_fail(g, STATUS_FAILED, "Loop of %d states; 1 to %d", l->state_count, LOOP_MOST);
		return;
	}
	if (!all_alive(g, l->state_count, l->first) || g->failed)
		return;
	if ((l->runs.id && !is_scalar(g, l->runs, DTYPE_I64)) || (l->begins.id && !is_scalar(g, l->begins, DTYPE_BOOL))) {
		graph_fail(g, STATUS_FAILED, "Loop by %s: one i64 says how often, one bool whether",
			graph_values_text(g, (graph_value[]){ l->runs, l->begins }, 2));
		return;
	}
	graph_enter(g, "loop");
	l->body = graph_body_begin(g, true);
	l->number = graph_body_input(g, "number", DTYPE_I64, 0, NULL);
	l->again = graph_body_input(g, "again", DTYPE_BOOL, 0, NULL);
	for (int i = 0; i < l->state_count && !g->failed; i++) {
		const struct value_info v = *VALUE(g, l->first[i]);

		l->state[i] = graph_body_input(g, "state", v.dtype, v.rank, v.dim);
	}
}

// Outputs of the node: states as they were, what is given on a new first axis. False after a refusal.
static bool loop_outputs(struct graph *g, const struct loop *l, bool all_run, int count, const graph_value *results,
	struct node_output *outputs, int64_t (*dims)[TENSOR_MAX_RANK])
{
	int64_t runs = all_run ? graph_scalar_dim(g, l->runs) : INT64_MIN;

	for (int i = 0; i < count; i++) {
		const struct value_info r = *VALUE(g, results[i]);

		outputs[i] = (struct node_output){ i < l->state_count ? "last" : "all", r.dtype, r.rank, dims[i] };
		memcpy(dims[i], r.dim, sizeof r.dim);
		if (i < l->state_count) {
			const struct value_info s = *VALUE(g, l->state[i]);

			if (r.dtype == s.dtype && r.rank == s.rank && !memcmp(r.dim, s.dim, (size_t)r.rank * sizeof *r.dim))
				continue;
			graph_fail(g, STATUS_FAILED, "Loop: the next state %s is not like the state %s",
				graph_value_text(g, results[i]), graph_value_text(g, l->state[i]));
			return false;
		}
		if (r.rank == TENSOR_MAX_RANK) {
			graph_fail(g, STATUS_FAILED, "Loop: %s has no room for an axis of runs", graph_value_text(g, results[i]));
			return false;
		}
		memcpy(&dims[i][1], r.dim, (size_t)r.rank * sizeof *r.dim);
		dims[i][0] = runs == INT64_MIN ? graph_unknown(g) : runs;
		outputs[i].rank++;
	}
	return true;
}

void op_loop_end(
	struct graph *g, struct loop *l, graph_value again, const graph_value *next, int given_count, const graph_value *given)
{
	graph_value inputs[2 + LOOP_MOST] = { l->runs, l->begins }, results[1 + NODE_OUTPUTS], out[NODE_OUTPUTS];
	struct node_output outputs[NODE_OUTPUTS];
	int64_t dims[NODE_OUTPUTS][TENSOR_MAX_RANK];
	int count = l->state_count + given_count;

	if (g->failed)
		return;
	if (given_count < 0 || count > NODE_OUTPUTS) {
		graph_fail(g, STATUS_FAILED, "Loop gives %d values; at most %d", count, NODE_OUTPUTS);
		return;
	}
	if (!all_alive(g, l->state_count, next) || !all_alive(g, given_count, given))
		return;
	if (again.id ? !is_scalar(g, again, DTYPE_BOOL) : !l->runs.id) {
		graph_fail(g, STATUS_FAILED, "Loop without an end: %s",
			again.id ? graph_value_text(g, again) : "neither a number of runs nor a condition");
		return;
	}
	results[0] = again.id ? again : l->again;
	memcpy(results + 1, next, (size_t)l->state_count * sizeof *next);
	if (given_count)
		memcpy(results + 1 + l->state_count, given, (size_t)given_count * sizeof *given);
	if (!loop_outputs(g, l, !again.id && !l->begins.id, count, results + 1, outputs, dims))
		return;
	graph_body_end(g, results, 1 + count);
	graph_leave(g);
	memcpy(inputs + 2, l->first, (size_t)l->state_count * sizeof *inputs);
	if (!graph_node_of(g, "Loop", "", inputs, 2 + l->state_count, (struct attribute[]){ ATTR_BODY("body", l->body) }, 1,
		    &(struct node_outputs){ count, outputs, out }))
		return;
	memcpy(l->last, out, (size_t)l->state_count * sizeof *out);
	memcpy(l->all, out + l->state_count, (size_t)given_count * sizeof *out);
}
