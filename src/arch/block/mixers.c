// SPDX-License-Identifier: Apache-2.0
// Mixers that are neither attention nor state spaces.
#include <math.h>

#include "arch/block/recurrent.h"

// A gated short convolution (LFM2, https://arxiv.org/abs/2511.23404):
//
//   x - in -+- B ---(*)- convolution -(*)- out
//           +- C ----|-----------------+
//           +- x ----+
graph_value convolution_mixer(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t h = b->s->hidden_size;
	graph_value all = linear(b, "layers.in", op_mul(g, x, mask), h, 3 * h, r->in_bias);
	graph_value in = op_slice(g, all, 2, 0, h), out = op_slice(g, all, 2, h, 2 * h);

	x = op_mul(g, in, op_slice(g, all, 2, 2 * h, 3 * h));
	x = causal_convolution(b, io, "layers.conv", x, h, r->kernel, r->conv_bias, ACT_NONE);
	return linear(b, "layers.out", op_mul(g, out, x), h, h, r->out_bias);
}

// x / |x| over the last axis
static graph_value unit(struct graph *g, graph_value x)
{
	graph_value square = op_reduce_sum(g, op_mul(g, x, x), -1, true);

	return op_div(g, x, op_sqrt(g, op_add(g, square, graph_f32(g, 1e-6f))));
}

// [batch, seq, groups * (heads * width)] -> [batch, seq, groups, heads, rows, columns], rows * columns = width
static graph_value by_head(struct graph *g, graph_value x, int64_t groups, int64_t heads, int64_t rows, int64_t columns)
{
	return op_reshape(g, x, 6, (int64_t[]){ 0, 0, groups, heads, rows, columns });
}

// The gated delta rule (Yang, Kautz, Hatamizadeh 2024, https://arxiv.org/abs/2412.06464), a head: S [state, width]
//
//   S_t = exp(g_t) S_(t-1) + k_t beta_t (v_t - k_t exp(g_t) S_(t-1))       y_t = q_t S_t
//
// q, k [batch, seq, groups * state] are shared by the heads of a group; v [batch, seq, channels];
// decay exp(g) and beta [batch, seq, heads]
static graph_value delta_scan(
	struct build *b, struct body *io, graph_value q, graph_value k, graph_value v, graph_value decay, graph_value beta)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t groups = r->groups, heads = r->heads / groups, width = r->channels / r->heads, n = r->state;
	const int64_t keys[] = { 0, 0, groups, n };
	graph_value before = state_before(b, io, "recurrent", v, 3, (int64_t[]){ r->heads, n, width });

	q = op_scale(g, unit(g, op_reshape(g, q, 4, keys)), (float)(1 / sqrt((double)n)));
	k = unit(g, op_reshape(g, k, 4, keys));
	struct scan s = { .state_count = 1,
		.first = { op_reshape(g, before, 5, (int64_t[]){ 0, groups, heads, n, width }) },
		.over_count = 5,
		.over = { by_head(g, q, groups, 1, 1, n), by_head(g, k, groups, 1, n, 1), by_head(g, v, groups, heads, 1, width),
			by_head(g, decay, groups, heads, 1, 1), by_head(g, beta, groups, heads, 1, 1) },
		.axis = 1 };

	op_scan_begin(g, &s);
	graph_value kept = op_mul(g, s.state[0], s.item[3]), column = s.item[1]; // [batch, groups, heads, state, width]
	graph_value known = op_reduce_sum(g, op_mul(g, kept, column), 3, true);  // [batch, groups, heads, 1, width]
	graph_value news = op_mul(g, op_sub(g, s.item[2], known), s.item[4]);
	graph_value next = op_add(g, kept, op_mul(g, column, news));
	graph_value y = op_matmul(g, s.item[0], next); // [batch, groups, heads, 1, width]
	op_scan_end(g, &s, &next, 1, &y);
	state_after(b, io, "recurrent", op_reshape(g, s.last[0], 4, (int64_t[]){ 0, r->heads, n, width }));
	return op_reshape(g, s.all[0], 3, (int64_t[]){ 0, 0, r->channels });
}

// Query, key, value, gate, beta and the decay's step out of two tensors, by group of heads, each with its own of them.
static void delta_by_group(
	struct build *b, graph_value x, graph_value *mixed, graph_value *gate, graph_value *beta, graph_value *step)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t h = b->s->hidden_size, groups = r->groups, heads = r->heads / groups, n = r->state, values = r->channels / groups;
	graph_value all = linear(b, "layers.in", x, h, 2 * groups * n + 2 * r->channels, false);
	graph_value both = linear(b, "layers.beta_step", x, h, 2 * r->heads, false);
	int64_t at[] = { 0, n, 2 * n, 2 * n + values, 2 * n + 2 * values };
	graph_value part[4];

	all = op_reshape(g, all, 4, (int64_t[]){ 0, 0, groups, 2 * n + 2 * values });
	for (int i = 0; i < 4; i++)
		part[i] = op_reshape(
			g, op_slice(g, all, 3, at[i], at[i + 1]), 3, (int64_t[]){ 0, 0, groups * (at[i + 1] - at[i]) });
	*mixed = op_concat(g, 3, part, 2);
	*gate = part[3];
	both = op_reshape(g, both, 4, (int64_t[]){ 0, 0, groups, 2 * heads });
	*beta = op_reshape(g, op_slice(g, both, 3, 0, heads), 3, (int64_t[]){ 0, 0, r->heads });
	*step = op_reshape(g, op_slice(g, both, 3, heads, 2 * heads), 3, (int64_t[]){ 0, 0, r->heads });
}

//   x - in -+- q, k, v - convolution - act - delta rule -(norm a head)-(* silu(gate))- out
//           +- gate, beta, step of the decay
graph_value delta_mixer(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct recurrence *r = s->recurrence;
	int64_t h = s->hidden_size, keys = r->groups * r->state, width = r->channels / r->heads, mixed = 2 * keys + r->channels;
	graph_value all, gate, beta, step;

	x = op_mul(g, x, mask);
	delta_by_group(b, x, &all, &gate, &beta, &step);
	all = causal_convolution(b, io, "layers.conv", all, mixed, r->kernel, r->conv_bias, r->act);
	graph_value q = op_slice(g, all, 2, 0, keys), k = op_slice(g, all, 2, keys, 2 * keys);
	graph_value a = op_neg(g, op_exp(g, WEIGHT(b, "layers.decay", "", r->heads)));
	graph_value decay =
		op_exp(g, op_mul(g, op_softplus(g, op_add(g, step, WEIGHT(b, "layers.time", "", r->heads))), a)); // [.., heads]
	graph_value y = delta_scan(b, io, q, k, op_slice(g, all, 2, 2 * keys, mixed), decay, op_sigmoid(g, beta));
	y = op_reshape(g, y, 4, (int64_t[]){ 0, 0, r->heads, width });
	y = op_rms_norm(g, y, WEIGHT(b, "layers.gated_norm", "weight", width), (float)r->eps);
	y = op_mul(g, op_reshape(g, y, 3, (int64_t[]){ 0, 0, r->channels }), op_silu(g, gate));
	return linear(b, "layers.out", y, r->channels, h, false);
}
