// SPDX-License-Identifier: Apache-2.0
// Mamba-2 (Dao, Gu 2024, https://arxiv.org/abs/2405.21060): a state space whose decay is one number a head.
//
//   x -- norm - in -+- gate -----------------------------------------+
//    |              +- convolution - silu -+- x ------- recurrence -(gated norm)- out -(+)-
//    |              |                      +- B, C --------+                            |
//    |              +- dt ---------------------------------+                            |
//    +----------------------------------------------------------------------------------+
//
//   h_t = exp(dt_t A) h_(t-1) + dt_t x_t B_t        a head: [width, state]; B and C are shared by the heads of a group
//   y_t = h_t C_t + D x_t                           [width]
//
// A Scan over the sequence, as in mamba.c. Its chunks, of chunk_size tokens, are a way to compute the same.
#include <math.h>

#include "arch/block/block.h"

struct mamba2 {
	int64_t state, kernel, groups;
	bool conv_bias, bias;
	double least_step, most_step; // of dt
};

// [least, most]; infinity is written {"__float__": "Infinity"}, or as the word
static double limit_of(const json_t *limits, size_t i, double otherwise)
{
	const json_t *x = json_array_get(limits, i);

	return json_is_number(x) ? json_number_value(x) : otherwise;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct mamba2 *m = s->own = ARENA_NEW(a, struct mamba2);
	const json_t *limits = config_get(c, "time_step_limit");

	resolve_transformer(c, s, false);
	*m = (struct mamba2){ .state = config_count(c, "state_size", 128),
		.kernel = config_count(c, "conv_kernel", 4),
		.groups = config_count(c, "n_groups", 8),
		.conv_bias = config_bool(c, "use_conv_bias", true),
		.bias = config_bool(c, "use_bias", false),
		.least_step = limit_of(limits, 0, 0),
		.most_step = limit_of(limits, 1, (double)INFINITY) };
	s->ffn_size = config_count(c, "expand", 2) * s->hidden_size;
	if (m->state < 1 || m->kernel < 1 || m->groups < 1 || s->heads % m->groups || s->heads * s->head_width != s->ffn_size)
		config_fail(c, STATUS_BAD_INPUT,
			"state_size %lld, conv_kernel %lld, %lld heads of %lld in %lld groups, %lld channels",
			(long long)m->state, (long long)m->kernel, (long long)s->heads, (long long)s->head_width,
			(long long)m->groups, (long long)s->ffn_size);
}

// [batch, seq, groups * n] -> [batch, seq, groups, 1, rows, columns]
static graph_value by_group(struct graph *g, graph_value x, int64_t groups, int64_t rows, int64_t columns)
{
	return op_reshape(g, x, 6, (int64_t[]){ 0, 0, groups, 1, rows, columns });
}

// x [batch, seq, channels], in and out [batch, seq, groups * state], dt [batch, seq, heads] -> [batch, seq, channels]
static graph_value recurrence(struct build *b, struct body *io, graph_value x, graph_value in, graph_value out, graph_value dt)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct mamba2 *m = s->own;
	int64_t groups = m->groups, heads = s->heads / groups, width = s->head_width, n = m->state;
	const int64_t split[] = { 0, 0, groups, heads, 1, 1 }, by_head[] = { 0, 0, groups, heads, width, 1 };
	graph_value a = op_neg(g, op_exp(g, WEIGHT(b, "layers.decay", "", s->heads)));

	dt = op_softplus(g, op_add(g, dt, WEIGHT(b, "layers.time", "", s->heads)));
	if (m->least_step > 0)
		dt = op_max(g, dt, graph_f32(g, (float)m->least_step));
	if (isfinite(m->most_step))
		dt = op_min(g, dt, graph_f32(g, (float)m->most_step));
	graph_value decay = op_reshape(g, op_exp(g, op_mul(g, dt, a)), 6, split);
	graph_value drive = op_mul(g, op_reshape(g, x, 6, by_head), op_reshape(g, dt, 6, split)); // [.., width, 1]
	graph_value before = state_before(b, io, "ssm", x, 3, (int64_t[]){ s->heads, width, n });
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
	state_after(b, io, "ssm", op_reshape(g, scan.last[0], 4, (int64_t[]){ 0, s->heads, width, n }));
	graph_value skip = op_reshape(g, WEIGHT(b, "layers.skip", "", s->heads), 4, (int64_t[]){ groups, heads, 1, 1 });
	y = op_add(g, scan.all[0], op_mul(g, op_reshape(g, x, 6, by_head), skip));
	return op_reshape(g, y, 3, (int64_t[]){ 0, 0, s->ffn_size });
}

// An RMS norm over the channels of each group of x * silu(gate).
static graph_value gated_norm(struct build *b, graph_value x, graph_value gate)
{
	struct graph *g = b->g;
	const struct mamba2 *m = b->s->own;
	int64_t channels = b->s->ffn_size, each = channels / m->groups;

	x = op_reshape(g, op_mul(g, x, op_silu(g, gate)), 4, (int64_t[]){ 0, 0, m->groups, each });
	x = op_rms_norm(g, x, ones_of(b, each), (float)b->s->norm_eps);
	return op_mul(g, op_reshape(g, x, 3, (int64_t[]){ 0, 0, channels }), WEIGHT(b, "layers.gated_norm", "weight", channels));
}

static graph_value mixer(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct mamba2 *m = s->own;
	int64_t channels = s->ffn_size, shared = m->groups * m->state, mixed = channels + 2 * shared;
	graph_value all = linear(b, "layers.in", op_mul(g, x, mask), s->hidden_size, channels + mixed + s->heads, m->bias);
	graph_value gate = op_slice(g, all, 2, 0, channels), dt = op_slice(g, all, 2, channels + mixed, INT64_MAX);

	graph_assume(g, dt, 2, s->heads);
	all = op_slice(g, all, 2, channels, channels + mixed);
	all = op_mul(g, causal_convolution(b, io, "layers.conv", all, mixed, m->kernel, m->conv_bias), mask);
	x = op_slice(g, all, 2, 0, channels);
	graph_value in = op_slice(g, all, 2, channels, channels + shared), out = op_slice(g, all, 2, channels + shared, mixed);
	x = gated_norm(b, recurrence(b, io, x, in, out, dt), gate);
	return linear(b, "layers.out", x, channels, s->hidden_size, m->bias);
}

static void body(struct build *b, struct body *io)
{
	recurrent_layers(b, io, mixer);
}

static void sizes(const struct spec *s, json_t *out)
{
	const struct mamba2 *m = s->own;

	json_object_set_new(out, "state_size", json_integer(m->state));
	json_object_set_new(out, "conv_kernel", json_integer(m->kernel));
	json_object_set_new(out, "groups", json_integer(m->groups));
}

const struct family mamba2 = {
	.name = "mamba2",
	.architecture = "state-space",
	.resolve = resolve,
	.build = recurrent_build,
	.body = body,
	.heads = recurrent_heads,
	.sizes = sizes,
};
