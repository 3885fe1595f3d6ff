// SPDX-License-Identifier: Apache-2.0
// Attention within a window, but for a few tokens that see all and are seen by all, with queries, keys and values of their own
// (Longformer: Beltagy et al. 2020, https://arxiv.org/abs/2004.05150). Built over all pairs of tokens; the mask decides.
//
//   x -+- q, k, v - softmax over keys that are near or global -----+- by whether the token is global - o
//      +- q', k', v' (STEM.q_global, ..) - softmax over all keys --+
#include <float.h>

#include "arch/block/block.h"

static graph_value where_allowed(struct graph *g, graph_value allowed)
{
	return op_where(g, allowed, graph_f32(g, 0), graph_f32(g, -FLT_MAX));
}

graph_value global_attention(
	struct build *b, const char *stem, graph_value x, graph_value mask, graph_value global, int64_t window)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct arena *a = graph_arena(g);
	static const char *const which[] = { "", "_global" };
	int64_t n = s->hidden_size;
	graph_value at = places_of(g, x), seen = op_cast(g, mask, DTYPE_BOOL), y[2];
	global = op_and(g, op_cast(g, global, DTYPE_BOOL), seen); // [batch, seq]
	graph_value away = op_abs(g, op_sub(g, op_unsqueeze(g, at, 1), op_unsqueeze(g, at, 0)));
	graph_value near = op_less_or_equal(g, away, graph_i64(g, window / 2)); // [seq, seq]
	graph_value key = op_unsqueeze(g, op_unsqueeze(g, seen, 1), 1);         // [batch, 1, 1, seq]
	graph_value allowed = op_or(g, op_and(g, near, key), op_unsqueeze(g, op_unsqueeze(g, global, 1), 1));
	graph_value bias[] = { where_allowed(g, allowed), where_allowed(g, key) };
	for (int i = 0; i < 2; i++) {
		graph_value q = linear(b, arena_printf(a, "%s.q%s", stem, which[i]), x, n, n, true),
			    k = linear(b, arena_printf(a, "%s.k%s", stem, which[i]), x, n, n, true),
			    v = linear(b, arena_printf(a, "%s.v%s", stem, which[i]), x, n, n, true);
		y[i] = op_attention(g,
			&(struct attention){ q, k, v, .bias = bias[i], .heads = s->heads, .scale = (float)s->attention_scale });
	}
	y[0] = op_mul(g, y[0], op_unsqueeze(g, op_cast(g, mask, DTYPE_F32), 2)); // padding sees nothing
	y[0] = op_where(g, op_unsqueeze(g, global, 2), y[1], y[0]);
	return linear(b, arena_printf(a, "%s.o", stem), y[0], n, n, true);
}

const int64_t *resolve_attention_windows(struct config *c, struct spec *s, struct arena *a)
{
	int64_t count = 0;
	const int64_t *windows = config_sizes(c, "attention_window", a, s->layers, &count);
	if (windows && count != s->layers)
		config_fail(c, STATUS_BAD_INPUT, "attention_window should have a number for each of %lld layers",
			(long long)s->layers);
	for (int64_t i = 0; windows && i < count && i < s->layers; i++)
		if (windows[i] < 2 || windows[i] % 2)
			config_fail(c, STATUS_BAD_INPUT, "attention_window %lld should be even", (long long)windows[i]);
	return windows;
}
