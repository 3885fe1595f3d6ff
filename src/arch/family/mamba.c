// SPDX-License-Identifier: Apache-2.0
// Mamba (Gu, Dao 2023, https://arxiv.org/abs/2312.00752) and Falcon Mamba (https://arxiv.org/abs/2410.05355): a selective state
// space.
//
//   x -- norm - in -+- convolution - silu -+- dt, B, C -> recurrence -(*)- out -(+)-
//    |              +- gate - silu ----------------------------------+           |
//    +---------------------------------------------------------------------------+
//
//   h_t = exp(dt_t A) h_(t-1) + dt_t B_t x_t        [channels, state]        algorithm 2 of the paper; B as its code has it
//   y_t = C_t h_t + D x_t                           [channels]
//
// The recurrence is a Scan over the sequence, for a prompt and for one token alike: what it multiplies with is made for all
// tokens at once before it. A language model has two states a layer: the convolution's last kernel - 1 inputs, and h.
#include "arch/family/mamba.h"

#include <math.h>

#include "arch/block/block.h"

struct mamba {
	int64_t state, kernel, rank; // rank: of the time step
	bool conv_bias, bias;
	double selection_eps;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct mamba *m = s->own = ARENA_NEW(a, struct mamba);
	const json_t *rank = config_get(c, "time_step_rank");

	resolve_transformer(c, s, false);
	*m = (struct mamba){ .state = config_count(c, "state_size", 16),
		.kernel = config_count(c, "conv_kernel", 4),
		.rank = json_is_integer(rank) ? json_integer_value(rank) : (s->hidden_size + 15) / 16, // "auto"
		.conv_bias = config_bool(c, "use_conv_bias", true),
		.bias = config_bool(c, "use_bias", false),
		.selection_eps = config_real(c, "mixer_rms_eps", 1e-6) };
	int64_t expand = config_count(c, "expand", 2);
	s->ffn_size = config_given(c, "intermediate_size") ? config_size(c, "intermediate_size", -1) : expand * s->hidden_size;
	if (m->state < 1 || m->kernel < 1 || m->rank < 1 || m->rank > INT32_MAX || s->ffn_size < 1)
		config_fail(c, STATUS_BAD_INPUT, "state_size %lld, conv_kernel %lld, time_step_rank %lld, %lld channels",
			(long long)m->state, (long long)m->kernel, (long long)m->rank, (long long)s->ffn_size);
}

static graph_value selected(struct build *b, graph_value x, int64_t from, int64_t width)
{
	const struct mamba *m = b->s->own;
	graph_value part = op_slice(b->g, x, 2, from, from + width);

	return TRAITS_OF(b->s, mamba)->normed_selection ? op_rms_norm(b->g, part, ones_of(b, width), (float)m->selection_eps)
							: part;
}

// x [batch, seq, channels] -> y of the same shape
static graph_value recurrence(struct build *b, struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct mamba *m = b->s->own;
	int64_t channels = b->s->ffn_size, n = m->state;
	graph_value by = linear(b, "layers.select", x, channels, m->rank + 2 * n, false);
	graph_value dt = op_softplus(g, linear(b, "layers.time", selected(b, by, 0, m->rank), m->rank, channels, true));
	graph_value in = op_unsqueeze(g, selected(b, by, m->rank, n), 2);      // B: [batch, seq, 1, state]
	graph_value out = op_unsqueeze(g, selected(b, by, m->rank + n, n), 3); // C: [batch, seq, state, 1]
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

static graph_value mixer(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct mamba *m = b->s->own;
	int64_t hidden = b->s->hidden_size, channels = b->s->ffn_size;
	graph_value both = linear(b, "layers.in", op_mul(g, x, mask), hidden, 2 * channels, m->bias);
	graph_value gate = op_slice(g, both, 2, channels, 2 * channels);

	x = op_slice(g, both, 2, 0, channels);
	x = op_mul(g, causal_convolution(b, io, "layers.conv", x, channels, m->kernel, m->conv_bias), mask);
	x = op_mul(g, recurrence(b, io, x), op_silu(g, gate));
	return linear(b, "layers.out", x, channels, hidden, m->bias);
}

static void body(struct build *b, struct body *io)
{
	recurrent_layers(b, io, mixer);
}

static void sizes(const struct spec *s, json_t *out)
{
	const struct mamba *m = s->own;

	json_object_set_new(out, "state_size", json_integer(m->state));
	json_object_set_new(out, "conv_kernel", json_integer(m->kernel));
	json_object_set_new(out, "time_step_rank", json_integer(m->rank));
}

const struct family mamba = {
	.name = "mamba",
	.architecture = "state-space",
	.resolve = resolve,
	.build = recurrent_build,
	.body = body,
	.heads = recurrent_heads,
	.sizes = sizes,
	.traits = FAMILY_TRAIT_LIST(mamba, MAMBA_TRAITS),
};
