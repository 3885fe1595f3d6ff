// SPDX-License-Identifier: Apache-2.0
// Scan of ONNX: a body that runs once for each slice of the values it goes over, and hands states from one run to the next.
//
//   state, item --> body --> next state, given          state of the first run: `first`; of the last: `last`
//                                                        `given` of all runs, one after the other on the same axis: `all`
#include "onnx/inside.h"
#include "onnx/op.h"

#include <string.h>

static graph_value body_value(struct graph *g, const char *word, graph_value v, int without)
{
	const struct value_info i = *VALUE(g, v);
	int64_t dim[TENSOR_MAX_RANK];
	int rank = 0;

	for (int k = 0; k < i.rank; k++)
		if (k != without)
			dim[rank++] = i.dim[k];
	return graph_body_input(g, word, i.dtype, rank, dim);
}

void op_scan_begin(struct graph *g, struct scan *s)
{
	bool fits = s->state_count >= 1 && s->state_count <= SCAN_MOST && s->over_count >= 1 && s->over_count <= SCAN_MOST;

	for (int i = 0; fits && i < s->state_count; i++)
		if (!graph_alive(g, s->first[i]))
			return;
	for (int i = 0; fits && i < s->over_count; i++) {
		if (!graph_alive(g, s->over[i]))
			return;
		fits = s->axis >= 0 && s->axis < value_rank(g, s->over[i]) &&
			value_dim(g, s->over[i], s->axis) == value_dim(g, s->over[0], s->axis);
	}
	if (!fits) {
		graph_fail(g, STATUS_FAILED, "Scan over axis %d of %s: 1 to %d states and values, all of one length on that axis",
			s->axis,
			s->over_count > 0 && s->over_count <= SCAN_MOST ? graph_values_text(g, s->over, s->over_count)
									: "nothing",
			SCAN_MOST);
		return;
	}
	graph_enter(g, "scan");
	s->body = graph_body_begin(g, false);
	for (int i = 0; i < s->state_count; i++)
		s->state[i] = body_value(g, "state", s->first[i], -1);
	for (int i = 0; i < s->over_count; i++)
		s->item[i] = body_value(g, "item", s->over[i], s->axis);
}

void op_scan_end(struct graph *g, struct scan *s, const graph_value *next, int given_count, const graph_value *given)
{
	graph_value inputs[2 * SCAN_MOST], results[2 * SCAN_MOST], out[NODE_OUTPUTS];
	struct node_output outputs[NODE_OUTPUTS];
	int64_t dims[NODE_OUTPUTS][TENSOR_MAX_RANK], axes[SCAN_MOST];
	int count = s->state_count + given_count;

	if (g->failed)
		return;
	if (given_count < 0 || count > NODE_OUTPUTS) {
		graph_fail(g, STATUS_FAILED, "Scan gives %d values; at most %d", count, NODE_OUTPUTS);
		return;
	}
	for (int i = 0; i < count; i++) {
		graph_value v = results[i] = i < s->state_count ? next[i] : given[i - s->state_count];

		if (!graph_alive(g, v))
			return;
		const struct value_info r = *VALUE(g, v), *state = i < s->state_count ? VALUE(g, s->state[i]) : &r;

		if (r.dtype != state->dtype || r.rank != state->rank ||
			memcmp(r.dim, state->dim, (size_t)r.rank * sizeof *r.dim)) {
			graph_fail(g, STATUS_FAILED, "Scan: the next state %s is not like the state %s", graph_value_text(g, v),
				graph_value_text(g, s->state[i]));
			return;
		}
		outputs[i] = (struct node_output){ i < s->state_count ? "last" : "all", r.dtype, r.rank, dims[i] };
		memcpy(dims[i], r.dim, sizeof r.dim);
		if (i < s->state_count)
			continue;
		if (r.rank < s->axis || r.rank == TENSOR_MAX_RANK) {
			graph_fail(g, STATUS_FAILED, "Scan: %s has no room for axis %d", graph_value_text(g, v), s->axis);
			return;
		}
		memmove(&dims[i][s->axis + 1], &dims[i][s->axis], (size_t)(r.rank - s->axis) * sizeof **dims);
		dims[i][s->axis] = value_dim(g, s->over[0], s->axis);
		outputs[i].rank++;
	}
	graph_body_end(g, results, count);
	graph_leave(g);
	memcpy(inputs, s->first, (size_t)s->state_count * sizeof *inputs);
	memcpy(inputs + s->state_count, s->over, (size_t)s->over_count * sizeof *inputs);
	for (int i = 0; i < SCAN_MOST; i++)
		axes[i] = s->axis;
	if (!graph_node_of(g, "Scan", "", inputs, s->state_count + s->over_count,
		    (struct attribute[]){ ATTR_BODY("body", s->body), ATTR_I("num_scan_inputs", s->over_count),
			    ATTR_IS("scan_input_axes", s->over_count, axes), ATTR_IS("scan_output_axes", given_count, axes) },
		    4, &(struct node_outputs){ count, outputs, out }))
		return;
	memcpy(s->last, out, (size_t)s->state_count * sizeof *out);
	memcpy(s->all, out + s->state_count, (size_t)given_count * sizeof *out);
}
