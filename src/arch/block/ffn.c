// SPDX-License-Identifier: Apache-2.0
// The feed-forward half of a decoder's layer. Its weights are called STEM.gate, STEM.up and STEM.down; a dialect with a word for
// STEM.gate_up has both in one tensor, gate first, which is multiplied once.
//
//   gated:  x -+- gate - act -(*)- down        plain:  x - up - act - down
//              +- up ---------+
#include "arch/block/block.h"

// A learned curve (Huang and Schlag 2024, https://arxiv.org/abs/2411.13010): above 0: ap x^2 + beta x; below:
// an (expm1(min(x, eps)) - x) + beta x, with ap = softplus(alpha_p), an = beta + softplus(alpha_n).
static graph_value xielu(struct build *b, const char *stem, graph_value x)
{
	struct graph *g = b->g;
	graph_value beta = weight(b, stem, "beta", 0, NULL), eps = weight(b, stem, "eps", 0, NULL);
	graph_value ap = op_softplus(g, WEIGHT(b, stem, "alpha_p", 1)),
		    an = op_add(g, beta, op_softplus(g, WEIGHT(b, stem, "alpha_n", 1)));
	graph_value straight = op_mul(g, x, beta);
	graph_value above = op_add(g, op_mul(g, op_mul(g, x, x), ap), straight);
	graph_value curve = op_sub(g, op_sub(g, op_exp(g, op_min(g, x, eps)), graph_f32(g, 1)), x);
	graph_value below = op_add(g, op_mul(g, curve, an), straight);
	return op_where(g, op_greater(g, x, graph_f32(g, 0)), above, below);
}

// Only what is above mean + deviations * standard deviation passes, and what is above it alone.
static graph_value sparse(struct build *b, graph_value x, double deviations)
{
	struct graph *g = b->g;
	graph_value mean = op_reduce_mean(g, x, -1, true), away = op_sub(g, x, mean);
	graph_value deviation = op_sqrt(g, op_reduce_mean(g, op_mul(g, away, away), -1, true));
	return op_relu(g, op_sub(g, away, op_scale(g, deviation, (float)deviations)));
}

graph_value clamped_glu(struct build *b, graph_value gate, graph_value up, double alpha, double limit)
{
	struct graph *g = b->g;
	graph_value most = graph_f32(g, (float)limit);
	gate = op_min(g, gate, most);
	up = op_max(g, op_min(g, up, most), op_neg(g, most));
	graph_value glu = op_mul(g, gate, op_sigmoid(g, op_scale(g, gate, (float)alpha)));
	return op_mul(g, op_add(g, up, graph_f32(g, 1)), glu);
}

// The gate at most limit, up within it.
static void clamp_gate(struct build *b, graph_value *gate, graph_value *up, double limit)
{
	struct graph *g = b->g;
	graph_value most = graph_f32(g, (float)limit);
	*up = op_max(g, op_min(g, *up, most), op_neg(g, most));
	*gate = op_min(g, *gate, most);
}

graph_value clamped_silu_glu(struct build *b, graph_value gate, graph_value up, double limit)
{
	clamp_gate(b, &gate, &up, limit);
	return op_mul(b->g, op_silu(b->g, gate), up);
}

// Where the dialect has words for both ways the file says which.
static bool in_one(const struct build *b, const char *stem, const char *gate_up)
{
	bool apart = weight_named(b, arena_printf(graph_arena(b->g), "%s.gate", stem));
	return weight_named(b, gate_up) && (!apart || weight_exists(b, gate_up, "weight"));
}

graph_value ffn_of(struct build *b, const char *stem, graph_value x, int64_t width, bool bias)
{
	return ffn_between(b, stem, x, b->s->hidden_size, width, bias);
}

graph_value ffn_between(struct build *b, const char *stem, graph_value x, int64_t outer, int64_t width, bool bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct arena *a = graph_arena(g);
	const char *gate_up = arena_printf(a, "%s.gate_up", stem), *down = arena_printf(a, "%s.down", stem);
	graph_value gate, up;
	if (s->traits.plain_ffn) {
		gate = linear(b, arena_printf(a, "%s.up", stem), x, outer, width, bias);
		up = NO_VALUE;
	} else if (in_one(b, stem, gate_up)) {
		graph_value both = linear(b, gate_up, x, outer, 2 * width, bias);
		if (s->adapter_rank)
			both = op_add(g, both, adapter_of(b, gate_up, x, outer, 2 * width));
		graph_value first = op_slice(g, both, -1, 0, width), second = op_slice(g, both, -1, width, 2 * width);
		gate = s->traits.up_first ? second : first;
		up = s->traits.up_first ? first : second;
	} else {
		gate = linear(b, arena_printf(a, "%s.gate", stem), x, outer, width, bias);
		up = linear(b, arena_printf(a, "%s.up", stem), x, outer, width, bias);
	}
	if (s->sparsity && s->sparsity[b->layer] != 0)
		gate = sparse(b, gate, s->sparsity[b->layer]);
	if (s->multipliers)
		gate = op_scale(g, gate, (float)s->multipliers->ffn_gate);
	if (s->glu_limit > 0 && up.id)
		return linear(b, down, clamped_glu(b, gate, up, s->glu_alpha, s->glu_limit), width, outer, bias);
	if (s->gate_limit > 0 && up.id)
		clamp_gate(b, &gate, &up, s->gate_limit);
	graph_value y = s->act == ACT_XIELU ? xielu(b, arena_printf(a, "%s.act", stem), gate)
					    : activate(b, s->act, gate); // [batch, seq, width]
	if (up.id)
		y = op_mul(g, y, up);
	if (s->traits.inner_norm)
		y = norm(b, arena_printf(a, "%s.inner", stem), y, width);
	y = linear(b, down, y, width, outer, bias);
	return s->multipliers ? op_scale(g, y, (float)s->multipliers->ffn_down) : y;
}
