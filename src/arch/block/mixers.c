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
// g is a number, or one for each element of a key (Kimi Linear, https://arxiv.org/abs/2510.26692). q and k, which the heads of a
// group share, [batch, seq, groups * state]; v [batch, seq, channels]; beta and decay [batch, seq, heads], or decay * state.
struct delta {
	graph_value q, k, v, gate, beta, decay;
};

static graph_value delta_scan(struct build *b, struct body *io, const struct delta *d)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t groups = r->groups, heads = r->heads / groups, width = r->channels / r->heads, n = r->state;
	const int64_t keys[] = { 0, 0, groups, n };
	graph_value before = state_before(b, io, "recurrent", d->v, 3, (int64_t[]){ r->heads, n, width });
	graph_value q = op_scale(g, unit(g, op_reshape(g, d->q, 4, keys)), (float)(1 / sqrt((double)n)));
	graph_value k = unit(g, op_reshape(g, d->k, 4, keys));
	struct scan s = { .state_count = 1,
		.first = { op_reshape(g, before, 5, (int64_t[]){ 0, groups, heads, n, width }) },
		.over_count = 5,
		.over = { by_head(g, q, groups, 1, 1, n), by_head(g, k, groups, 1, n, 1),
			by_head(g, d->v, groups, heads, 1, width), by_head(g, d->decay, groups, heads, r->decay_each ? n : 1, 1),
			by_head(g, d->beta, groups, heads, 1, 1) },
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
static graph_value delta_by_group(struct build *b, graph_value x, struct delta *d)
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
	d->gate = part[3];
	both = op_reshape(g, both, 4, (int64_t[]){ 0, 0, groups, 2 * heads });
	d->beta = op_reshape(g, op_slice(g, both, 3, 0, heads), 3, (int64_t[]){ 0, 0, r->heads });
	d->decay = op_reshape(g, op_slice(g, both, 3, heads, 2 * heads), 3, (int64_t[]){ 0, 0, r->heads });
	return op_concat(g, 3, part, 2);
}

// One linear layer, or two with `rank` between them.
static graph_value through(struct build *b, const char *stem, graph_value x, int64_t rank, int64_t out)
{
	struct arena *a = graph_arena(b->g);
	int64_t h = b->s->hidden_size;
	const char *first = arena_printf(a, "%s_a", stem);

	if (!weight_named(b, first))
		return linear(b, stem, x, h, out, false);
	return linear(b, arena_printf(a, "%s_b", stem), linear(b, first, x, h, rank, false), rank, out, false);
}

static graph_value delta_apart(struct build *b, graph_value x, struct delta *d)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t h = b->s->hidden_size, keys = r->groups * r->state;

	d->gate = through(b, "layers.gate", x, r->channels / r->heads, r->channels);
	d->beta = linear(b, "layers.beta", x, h, r->heads, false);
	d->decay = through(b, "layers.step", x, r->state, r->heads * (r->decay_each ? r->state : 1));
	if (weight_named(b, "layers.in"))
		return linear(b, "layers.in", x, h, 2 * keys + r->channels, false);
	graph_value part[] = { linear(b, "layers.query", x, h, keys, false), linear(b, "layers.key", x, h, keys, false),
		linear(b, "layers.value", x, h, r->channels, false) };
	return op_concat(g, 3, part, 2);
}

// The convolution's weight, which may lie in three parts. Their borders say nothing: each channel is by itself.
static graph_value delta_convolution(struct build *b, int64_t keys, int64_t values, int64_t kernel)
{
	struct graph *g = b->g;

	if (weight_named(b, "layers.conv"))
		return WEIGHT(b, "layers.conv", "weight", 2 * keys + values, 1, kernel);
	int64_t q = weight_rows(b, "layers.conv_query", "weight", keys), k = weight_rows(b, "layers.conv_key", "weight", keys);
	int64_t v = weight_rows(b, "layers.conv_value", "weight", values);
	if (q < 0 || k < 0 || v < 0 || q > 2 * keys + values || k > 2 * keys + values || q + k + v != 2 * keys + values)
		q = k = keys, v = values;
	graph_value part[] = { WEIGHT(b, "layers.conv_query", "weight", q, 1, kernel),
		WEIGHT(b, "layers.conv_key", "weight", k, 1, kernel), WEIGHT(b, "layers.conv_value", "weight", v, 1, kernel) };
	return op_concat(g, 3, part, 0);
}

// exp(-exp(A) softplus(step + bias)): [batch, seq, heads], or [batch, seq, heads * state]
static graph_value delta_decay(struct build *b, graph_value step)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t heads = r->heads, n = r->decay_each ? r->state : 1;

	step = op_add(g, step, WEIGHT(b, "layers.time", "", heads * n));
	step = r->decay_floor < 0 ? step : op_softplus(g, step);
	if (!r->decay_each)
		return op_exp(g, op_mul(g, step, op_neg(g, op_exp(g, WEIGHT(b, "layers.decay", "", heads)))));
	bool flat = weight_rows(b, "layers.decay", "", heads) == heads && heads > 1; // or [1, 1, heads, 1]
	graph_value a = flat ? WEIGHT(b, "layers.decay", "", heads) : WEIGHT(b, "layers.decay", "", 1, 1, heads, 1);
	a = op_reshape(g, op_exp(g, a), 2, (int64_t[]){ heads, 1 });
	step = op_mul(g, op_reshape(g, step, 4, (int64_t[]){ 0, 0, heads, n }), r->decay_floor < 0 ? a : op_neg(g, a));
	if (r->decay_floor < 0)
		step = op_scale(g, op_sigmoid(g, step), (float)r->decay_floor);
	return op_reshape(g, op_exp(g, step), 3, (int64_t[]){ 0, 0, heads * n });
}

//   x - in -+- q, k, v - convolution - act - delta rule -(norm a head)-(* act(gate))- out
//           +- gate, beta, step of the decay
graph_value delta_mixer(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct recurrence *r = s->recurrence;
	int64_t keys = r->groups * r->state, width = r->channels / r->heads, mixed = 2 * keys + r->channels;
	struct delta d = { 0 };

	x = op_mul(g, x, mask);
	graph_value all = weight_named(b, "layers.beta_step") ? delta_by_group(b, x, &d) : delta_apart(b, x, &d);
	all = causal_convolution_of(b, io, delta_convolution(b, keys, r->channels, r->kernel), NO_VALUE, all, r->act);
	d.q = op_slice(g, all, 2, 0, keys);
	d.k = op_slice(g, all, 2, keys, 2 * keys);
	d.v = op_slice(g, all, 2, 2 * keys, mixed);
	d.decay = delta_decay(b, d.decay);
	d.beta = op_scale(g, op_sigmoid(g, d.beta), r->beta_doubled ? 2 : 1);
	graph_value y = op_reshape(g, delta_scan(b, io, &d), 4, (int64_t[]){ 0, 0, r->heads, width });
	y = op_rms_norm(g, y, WEIGHT(b, "layers.gated_norm", "weight", width), (float)r->eps);
	y = op_mul(g, op_reshape(g, y, 3, (int64_t[]){ 0, 0, r->channels }), activate(b, r->gate_act, d.gate));
	return linear(b, "layers.out", y, r->channels, s->hidden_size, false);
}

// STEM_weight [heads, width, width] and STEM_bias [heads, width] over each head of x: sigmoid, [batch, seq, channels]
static graph_value head_gate(struct build *b, const char *stem, graph_value x)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t heads = r->heads, width = r->channels / heads;
	graph_value w = WEIGHT(b, arena_printf(graph_arena(g), "%s.weight", stem), "", heads, width, width);
	graph_value bias = WEIGHT(b, arena_printf(graph_arena(g), "%s.bias", stem), "", heads, width);

	x = op_transpose(g, op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width }), 4, (int[]){ 0, 2, 1, 3 });
	x = op_transpose(g, op_matmul(g, x, w), 4, (int[]){ 0, 2, 1, 3 }); // [batch, seq, heads, width]
	return op_reshape(g, op_sigmoid(g, op_add(g, x, bias)), 3, (int64_t[]){ 0, 0, r->channels });
}

// A real-gated linear recurrent unit (Griffin, https://arxiv.org/abs/2402.19427):
//
//   x -+- y - act -------------------------------+
//      +- x - convolution -(* input gate)- h ---(*)- out
//
//   a = exp(-8 softplus(c) * recurrence gate)      h_t = a_t h_(t-1) + sqrt(1 - a_t^2) x_t
//
// Where the position is 0 a text begins: h_t = x_t.
graph_value rglru_mixer(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t h = b->s->hidden_size, width = r->channels;
	graph_value y = activate(b, b->s->act, linear(b, "layers.gate", x, h, width, true)), one = graph_f32(g, 1);

	(void)mask; // padding takes part
	x = causal_convolution(b, io, "layers.conv", linear(b, "layers.in", x, h, width, true), width, r->kernel, true, ACT_NONE);
	graph_value input = head_gate(b, "layers.input_gate", x), gate = head_gate(b, "layers.recurrent_gate", x);
	graph_value rate = op_scale(g, op_softplus(g, WEIGHT(b, "layers.decay", "", width)), -8);
	graph_value log = op_mul(g, gate, rate), decay = op_exp(g, log);
	graph_value share = op_sqrt(g, op_sub(g, one, op_exp(g, op_scale(g, log, 2))));
	graph_value at = io->positions;
	if (!at.id)
		at = op_unsqueeze(g, places_of(g, x), 0); // [1, seq]
	graph_assume(g, at, 1, value_dim(g, x, 1));
	graph_value begins = op_unsqueeze(g, op_equal(g, at, graph_i64(g, 0)), 2);
	decay = op_where(g, begins, graph_f32(g, 0), decay);
	x = op_mul(g, op_mul(g, x, input), op_where(g, begins, one, share));
	struct scan s = { .state_count = 1,
		.first = { state_before(b, io, "recurrent", x, 1, (int64_t[]){ width }) },
		.over_count = 2,
		.over = { decay, x },
		.axis = 1 };

	op_scan_begin(g, &s);
	graph_value next = op_add(g, op_mul(g, s.item[0], s.state[0]), s.item[1]);
	op_scan_end(g, &s, &next, 1, &next);
	state_after(b, io, "recurrent", s.last[0]);
	return linear(b, "layers.out", op_mul(g, s.all[0], y), width, h, true);
}
