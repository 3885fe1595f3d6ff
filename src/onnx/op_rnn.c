// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU of ONNX by weights as torch's checkpoints hold them.
//
//   gates     torch [gates*hidden, ..]   ONNX [directions, gates*hidden, ..]
//   LSTM      i f g o                    i o f c       input, output, forget, cell (g)
//   GRU       r z n                      z r h         update, reset, new
//
// torch's GRU multiplies with the reset gate after the product with the hidden state: linear_before_reset. What brings weights
// into ONNX's order reads nothing but weights: engines fold it when they load.
#include "onnx/op.h"
#include "onnx/inside.h"

struct kind {
	const char *op;
	int gates;
	int order[4]; // ONNX's gates by their places in torch's
};
static const struct kind lstm = { "LSTM", 4, { 0, 3, 1, 2 } }, gru = { "GRU", 3, { 1, 0, 2 } };

static graph_value in_order(struct graph *g, const struct kind *k, graph_value w, int64_t hidden)
{
	graph_value gates[4];

	for (int i = 0; i < k->gates; i++)
		gates[i] = op_slice(g, w, 0, k->order[i] * hidden, (k->order[i] + 1) * hidden);
	return op_concat(g, k->gates, gates, 0);
}

static bool is_matrix(const struct graph *g, graph_value w, int64_t rows, int64_t columns)
{
	return value_rank(g, w) == 2 && value_dim(g, w, 0) == rows && value_dim(g, w, 1) == columns;
}

static bool is_bias(const struct graph *g, graph_value b, int64_t length)
{
	return value_rank(g, b) == 1 && value_dim(g, b, 0) == length;
}

static bool is_state(const struct graph *g, graph_value s, const struct rnn *r, int64_t batch, int64_t hidden)
{
	int64_t n = value_dim(g, s, 1);

	return !s.id ||
		(value_rank(g, s) == 3 && value_dim(g, s, 0) == r->directions && value_dim(g, s, 2) == hidden &&
			(n == batch || n < 0 || batch < 0));
}

// The length of the hidden state; 0 after a refusal.
static int64_t hidden_of(struct graph *g, const struct kind *k, graph_value x, const struct rnn *r)
{
	if (!graph_alive(g, x) || r->directions < 1 || r->directions > 2) {
		graph_fail(g, STATUS_FAILED, "%s in %d directions", k->op, r->directions);
		return 0;
	}
	for (int d = 0; d < r->directions; d++)
		if (!graph_alive(g, r->of[d].input) || !graph_alive(g, r->of[d].hidden))
			return 0;
	int64_t hidden = value_rank(g, r->of[0].hidden) == 2 ? value_dim(g, r->of[0].hidden, 1) : 0, rows = k->gates * hidden;
	bool fits = value_rank(g, x) == 3 && hidden > 0 && is_state(g, r->h, r, value_dim(g, x, 1), hidden) &&
		is_state(g, r->c, r, value_dim(g, x, 1), hidden) && (!r->c.id || k == &lstm) &&
		(k == &gru || !r->h.id == !r->c.id);
	for (int d = 0; fits && d < r->directions; d++) {
		const struct rnn_weights *w = &r->of[d];
		bool biased = w->input_bias.id != 0;

		fits = is_matrix(g, w->input, rows, value_dim(g, x, 2)) && is_matrix(g, w->hidden, rows, hidden) &&
			biased == (r->of[0].input_bias.id != 0) && biased == (w->hidden_bias.id != 0) &&
			(!biased || (is_bias(g, w->input_bias, rows) && is_bias(g, w->hidden_bias, rows)));
	}
	if (fits)
		return hidden;
	const struct rnn_weights *w = &r->of[r->directions - 1];
	graph_fail(g, STATUS_FAILED, "%s of %s: the shapes do not fit", k->op,
		graph_values_text(g, (graph_value[]){ x, w->input, w->hidden, w->input_bias, w->hidden_bias, r->h, r->c }, 7));
	return 0;
}

// [length, directions, batch, hidden] as torch gives it: both directions of a place side by side.
static graph_value joined(struct graph *g, graph_value y, int directions)
{
	return directions == 1 ? op_squeeze(g, y, 1)
			       : op_reshape(g, op_transpose(g, y, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, 0, -1 });
}

static graph_value recurrent(
	struct graph *g, const struct kind *k, graph_value x, const struct rnn *r, int state_count, graph_value *last)
{
	int64_t hidden = hidden_of(g, k, x, r);
	graph_value w[2], u[2], b[2] = { NO_VALUE, NO_VALUE }, out[NODE_OUTPUTS];

	for (int i = 0; i < state_count; i++)
		last[i] = NO_VALUE;
	for (int d = 0; hidden && d < r->directions; d++) {
		const struct rnn_weights *of = &r->of[d];

		w[d] = op_unsqueeze(g, in_order(g, k, of->input, hidden), 0);
		u[d] = op_unsqueeze(g, in_order(g, k, of->hidden, hidden), 0);
		if (of->input_bias.id)
			b[d] = op_unsqueeze(g,
				op_concat(g, 2,
					(graph_value[]){
						in_order(g, k, of->input_bias, hidden), in_order(g, k, of->hidden_bias, hidden) },
					0),
				0);
	}
	if (!hidden || g->failed)
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t all[] = { v.dim[0], r->directions, v.dim[1], hidden };
	struct node_output outputs[] = { { NULL, v.dtype, 4, all }, { "h", v.dtype, 3, all + 1 }, { "c", v.dtype, 3, all + 1 } };
	struct attribute at[] = { ATTR_I("hidden_size", hidden),
		ATTR_S("direction", r->directions == 1 ? "forward" : "bidirectional"), ATTR_I("linear_before_reset", 1) };
	graph_value in[] = { x, op_concat(g, r->directions, w, 0), op_concat(g, r->directions, u, 0),
		b[0].id ? op_concat(g, r->directions, b, 0) : NO_VALUE, NO_VALUE, r->h, r->c };

	if (!graph_node_of(g, k->op, "", in, 5 + state_count, at, k == &gru ? 3 : 2,
		    &(struct node_outputs){ 1 + state_count, outputs, out }))
		return NO_VALUE;
	for (int i = 0; i < state_count; i++)
		last[i] = out[1 + i];
	return joined(g, out[0], r->directions);
}

graph_value op_lstm(struct graph *g, graph_value x, const struct rnn *r, graph_value last[2])
{
	return recurrent(g, &lstm, x, r, 2, last);
}

graph_value op_gru(struct graph *g, graph_value x, const struct rnn *r, graph_value *last)
{
	return recurrent(g, &gru, x, r, 1, last);
}
