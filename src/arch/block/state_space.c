// SPDX-License-Identifier: Apache-2.0
// Selective state spaces: Mamba (Gu, Dao 2023, https://arxiv.org/abs/2312.00752) and Mamba-2 (Dao, Gu 2024,
// https://arxiv.org/abs/2405.21060).
//
//   Mamba     x -- in -+- convolution - act -+- dt, B, C -> recurrence -(*)- out
//                      +- gate - silu ----------------------------------+
//
//   h_t = exp(dt_t A) h_(t-1) + dt_t B_t x_t        [channels, state]        algorithm 2 of the paper; B as its code has it
//   y_t = C_t h_t + D x_t                           [channels]
//
//   Mamba-2   x -- in -+- gate ---------------------------------------+
//                      +- convolution - act -+- x ------- recurrence -(gated norm)- out
//                      |                     +- B, C --------+
//                      +- dt --------------------------------+
//
//   h_t = exp(dt_t A) h_(t-1) + dt_t x_t B_t        a head: [width, state]; B and C are shared by the heads of a group
//   y_t = h_t C_t + D x_t                           [width]
//
// The recurrence is a Scan over the sequence, for a prompt and for one token alike: what it multiplies with is made for all
// tokens at once before it. Mamba-2's chunks, of chunk_size tokens, are a way to compute the same. A language model has two
// states a layer: the convolution's last kernel - 1 inputs, and h.
#include <math.h>

#include "arch/block/recurrent.h"

// A part of the selection, with an RMS norm where the class has one: its weight, where the dialect has a word for it.
static graph_value selected(struct build *b, const char *stem, graph_value x, int64_t from, int64_t width)
{
	const struct recurrence *r = b->s->recurrence;
	graph_value part = op_slice(b->g, x, 2, from, from + width);

	if (weight_named(b, stem))
		return op_rms_norm(b->g, part, WEIGHT(b, stem, "weight", width), (float)r->eps);
	return r->normed_selection ? op_rms_norm(b->g, part, ones_of(b, width), (float)r->eps) : part;
}

// Zamba's: each head of channels selects for itself. x [batch, seq, channels] -> the same
static graph_value selective_heads(struct build *b, struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t heads = r->heads, width = r->channels / heads, n = r->state, rank = r->rank;
	const int64_t column[] = { 0, 0, heads, width, 1 };
	graph_value xh = op_reshape(g, x, 5, column);
	graph_value by =
		op_matmul(g, WEIGHT(b, "layers.select", "", heads, rank + 2 * n, width), xh); // [.., heads, rank + 2 n, 1]
	graph_value dt = op_matmul(g, WEIGHT(b, "layers.time.weight", "", heads, width, rank), op_slice(g, by, 3, 0, rank));
	graph_value bias = op_reshape(g, WEIGHT(b, "layers.time.bias", "", heads, width), 3, (int64_t[]){ heads, width, 1 });
	dt = op_softplus(g, op_add(g, dt, bias)); // [batch, seq, heads, width, 1]
	graph_value in = op_reshape(g, op_slice(g, by, 3, rank, rank + n), 5, (int64_t[]){ 0, 0, heads, 1, n });
	graph_value out = op_slice(g, by, 3, rank + n, rank + 2 * n); // [batch, seq, heads, n, 1]
	graph_value a = op_neg(g, op_exp(g, WEIGHT(b, "layers.decay", "", heads, width, n)));
	graph_value before = state_before(b, io, "ssm", x, 2, (int64_t[]){ r->channels, n });
	struct scan s = { .state_count = 1,
		.first = { op_reshape(g, before, 4, (int64_t[]){ 0, heads, width, n }) },
		.over_count = 3,
		.over = { op_exp(g, op_mul(g, dt, a)), op_mul(g, op_mul(g, dt, xh), in), out },
		.axis = 1 };

	op_scan_begin(g, &s);
	graph_value h = op_add(g, op_mul(g, s.item[0], s.state[0]), s.item[1]);
	graph_value y = op_matmul(g, h, s.item[2]); // [batch, heads, width, 1]
	op_scan_end(g, &s, &h, 1, &y);
	state_after(b, io, "ssm", op_reshape(g, s.last[0], 3, (int64_t[]){ 0, r->channels, n }));
	graph_value skip = op_reshape(g, WEIGHT(b, "layers.skip", "", heads, width), 3, (int64_t[]){ heads, width, 1 });
	return op_reshape(g, op_add(g, s.all[0], op_mul(g, xh, skip)), 3, (int64_t[]){ 0, 0, r->channels });
}

// x [batch, seq, channels] -> y of the same shape
static graph_value selective_scan(struct build *b, struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t channels = r->channels, n = r->state;
	graph_value by = linear(b, "layers.select", x, channels, r->rank + 2 * n, false);
	graph_value dt = op_softplus(
		g, linear(b, "layers.time", selected(b, "layers.time_norm", by, 0, r->rank), r->rank, channels, true));
	graph_value in = op_unsqueeze(g, selected(b, "layers.b_norm", by, r->rank, n), 2);      // B: [batch, seq, 1, state]
	graph_value out = op_unsqueeze(g, selected(b, "layers.c_norm", by, r->rank + n, n), 3); // C: [batch, seq, state, 1]
	graph_value a = op_neg(g, op_exp(g, WEIGHT(b, "layers.decay", "", channels, n)));
	graph_value decay = op_exp(g, op_mul(g, op_unsqueeze(g, dt, 3), a));     // [batch, seq, channels, state]
	graph_value drive = op_mul(g, op_unsqueeze(g, op_mul(g, dt, x), 3), in); // likewise
	struct scan s = { .state_count = 1,
		.first = { state_before(b, io, "ssm", x, 2, (int64_t[]){ channels, n }) }, // [batch, channels, state]
		.over_count = 3,
		.over = { decay, drive, out },
		.axis = 1 };

	op_scan_begin(g, &s);
	graph_value h = op_add(g, op_mul(g, s.item[0], s.state[0]), s.item[1]);
	graph_value y = op_matmul(g, h, s.item[2]); // [batch, channels, 1]
	op_scan_end(g, &s, &h, 1, &y);
	state_after(b, io, "ssm", s.last[0]);
	return op_add(g, op_squeeze(g, s.all[0], 3), op_mul(g, x, WEIGHT(b, "layers.skip", "", channels)));
}

graph_value mamba_mixer(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t hidden = b->s->hidden_size, channels = r->channels;
	graph_value both = linear(b, "layers.in", op_mul(g, x, mask), hidden, 2 * channels, r->in_bias);
	graph_value gate = op_slice(g, both, 2, channels, 2 * channels);

	x = op_slice(g, both, 2, 0, channels);
	if (r->apart) { // x and its gate lie side by side
		both = op_reshape(g, both, 4, (int64_t[]){ 0, 0, channels, 2 });
		x = op_squeeze(g, op_slice(g, both, 3, 0, 1), 3);
		gate = op_squeeze(g, op_slice(g, both, 3, 1, 2), 3);
	}
	x = op_mul(g, causal_convolution(b, io, "layers.conv", x, channels, r->kernel, r->conv_bias, r->act), mask);
	x = op_mul(g, r->apart ? selective_heads(b, io, x) : selective_scan(b, io, x), op_silu(g, gate));
	return linear(b, "layers.out", x, channels, hidden, r->out_bias);
}

// [batch, seq, groups * n] -> [batch, seq, groups, 1, rows, columns]
static graph_value by_group(struct graph *g, graph_value x, int64_t groups, int64_t rows, int64_t columns)
{
	return op_reshape(g, x, 6, (int64_t[]){ 0, 0, groups, 1, rows, columns });
}

// x [batch, seq, channels], in and out [batch, seq, groups * state], dt [batch, seq, heads] -> [batch, seq, channels]
static graph_value headed_scan(struct build *b, struct body *io, graph_value x, graph_value in, graph_value out, graph_value dt)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t groups = r->groups, heads = r->heads / groups, width = r->channels / r->heads, n = r->state;
	const int64_t split[] = { 0, 0, groups, heads, 1, 1 }, by_head[] = { 0, 0, groups, heads, width, 1 };
	graph_value a = op_neg(g, op_exp(g, WEIGHT(b, "layers.decay", "", r->heads)));

	dt = op_softplus(g, op_add(g, dt, WEIGHT(b, "layers.time", "", r->heads)));
	if (r->least_step > 0)
		dt = op_max(g, dt, graph_f32(g, (float)r->least_step));
	if (isfinite(r->most_step))
		dt = op_min(g, dt, graph_f32(g, (float)r->most_step));
	graph_value decay = op_reshape(g, op_exp(g, op_mul(g, dt, a)), 6, split);
	graph_value drive = op_mul(g, op_reshape(g, x, 6, by_head), op_reshape(g, dt, 6, split)); // [.., width, 1]
	graph_value before = state_before(b, io, "ssm", x, 3, (int64_t[]){ r->heads, width, n });
	struct scan scan = { .state_count = 1,
		.first = { op_reshape(g, before, 5, (int64_t[]){ 0, groups, heads, width, n }) },
		.over_count = 4,
		.over = { decay, drive, by_group(g, in, groups, 1, n), by_group(g, out, groups, n, 1) },
		.axis = 1 };

	op_scan_begin(g, &scan);
	graph_value driven = op_mul(g, scan.item[1], scan.item[2]); // [batch, groups, heads, width, state]
	graph_value h = op_add(g, op_mul(g, scan.item[0], scan.state[0]), driven);
	graph_value y = op_matmul(g, h, scan.item[3]); // [batch, groups, heads, width, 1]
	op_scan_end(g, &scan, &h, 1, &y);
	state_after(b, io, "ssm", op_reshape(g, scan.last[0], 4, (int64_t[]){ 0, r->heads, width, n }));
	graph_value skip = op_reshape(g, WEIGHT(b, "layers.skip", "", r->heads), 4, (int64_t[]){ groups, heads, 1, 1 });
	y = op_add(g, scan.all[0], op_mul(g, op_reshape(g, x, 6, by_head), skip));
	return op_reshape(g, y, 3, (int64_t[]){ 0, 0, r->channels });
}

// An RMS norm over the channels of each group of x * silu(gate); or of x, and then times silu(gate); or no norm.
static graph_value gated_norm(struct build *b, graph_value x, graph_value gate)
{
	struct graph *g = b->g;
	const struct recurrence *r = b->s->recurrence;
	int64_t channels = r->channels, each = channels / r->groups;

	if (r->no_gated_norm)
		return op_mul(g, x, op_silu(g, gate));
	if (!r->gate_last)
		x = op_mul(g, x, op_silu(g, gate));
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, r->groups, each });
	x = op_rms_norm(g, x, ones_of(b, each), (float)r->eps);
	x = op_mul(g, op_reshape(g, x, 3, (int64_t[]){ 0, 0, channels }), WEIGHT(b, "layers.gated_norm", "weight", channels));
	return r->gate_last ? op_mul(g, x, op_silu(g, gate)) : x;
}

// Factors of the five parts of what the first linear layer gives: [2 * channels + 2 * shared + heads].
static graph_value part_factors(struct build *b, int64_t shared)
{
	const struct recurrence *r = b->s->recurrence;
	int64_t n[] = { r->channels, r->channels, shared, shared, r->heads }, width = 2 * (r->channels + shared) + r->heads;
	struct arena passing = { 0 };
	float *f = GRAPH_TABLE(b->g, &passing, width, 1, float);

	for (int64_t i = 0, at = 0; f && i < 5; i++)
		for (int64_t k = 0; k < n[i]; k++)
			f[at++] = (float)r->part_scale[i];
	graph_value all = graph_constant(b->g, DTYPE_F32, 1, &width, f);
	arena_done(&passing);
	return all;
}

graph_value mamba2_mixer(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct recurrence *r = s->recurrence;
	int64_t channels = r->channels, shared = r->groups * r->state, mixed = channels + 2 * shared;
	graph_value all = linear(b, "layers.in", op_mul(g, x, mask), s->hidden_size, channels + mixed + r->heads, r->in_bias);
	if (r->part_scale)
		all = op_mul(g, all, part_factors(b, shared));
	graph_value gate = op_slice(g, all, 2, 0, channels), dt = op_slice(g, all, 2, channels + mixed, INT64_MAX);

	graph_assume(g, dt, 2, r->heads);
	all = op_slice(g, all, 2, channels, channels + mixed);
	all = op_mul(g, causal_convolution(b, io, "layers.conv", all, mixed, r->kernel, r->conv_bias, r->act), mask);
	x = op_slice(g, all, 2, 0, channels);
	graph_value in = op_slice(g, all, 2, channels, channels + shared), out = op_slice(g, all, 2, channels + shared, mixed);
	x = gated_norm(b, headed_scan(b, io, x, in, out, dt), gate);
	return linear(b, "layers.out", x, channels, s->hidden_size, r->out_bias);
}
