// SPDX-License-Identifier: Apache-2.0
#include "arch/block/dit.h"

#include <math.h>

void modulation_parts(struct build *b, graph_value all, int count, int64_t width, graph_value *part)
{
	struct graph *g = b->g;

	all = op_reshape(g, all, 3, (int64_t[]){ -1, count, width });
	for (int i = 0; i < count; i++)
		part[i] = op_slice(g, all, 1, i, i + 1);
}

graph_value query_normed(struct build *b, const struct dit_attention *how, const char *name, graph_value x)
{
	struct graph *g = b->g;
	const char *stem = arena_printf(graph_arena(g), "%s.%s", how->stem, name);
	int64_t whole = how->heads * how->width;

	if (how->norm == QUERIES_PLAIN)
		return x;
	if (how->norm == QUERIES_RMS_WHOLE)
		return op_rms_norm(g, x, WEIGHT(b, stem, "weight", whole), (float)how->eps);
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, how->heads, how->width });
	x = how->norm == QUERIES_NORM_HEADS ? layer_norm_eps(b, stem, x, how->eps) : norm_unlearned(b, x, how->eps);
	return op_reshape(g, x, 3, (int64_t[]){ 0, 0, whole });
}

graph_value dit_attention(struct build *b, const struct dit_attention *how, graph_value x, graph_value to)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);

	if (graph_failed(g))
		return NO_VALUE;
	to = to.id ? to : x;
	int64_t w = value_dim(g, x, -1), in = value_dim(g, to, -1), whole = how->heads * how->width;
	graph_value q = linear(b, arena_printf(a, "%s.q", how->stem), x, w, whole, how->bias);
	graph_value k = linear(b, arena_printf(a, "%s.k", how->stem), to, in, whole, how->bias);
	graph_value v = linear(b, arena_printf(a, "%s.v", how->stem), to, in, whole, how->bias);

	q = query_normed(b, how, "q_norm", q);
	k = query_normed(b, how, "k_norm", k);
	if (how->cos.id) {
		q = rope_turn_by(b, q, how->cos, how->sin, how->turns, true);
		k = rope_turn_by(b, k, how->cos, how->sin, how->turns, true);
	}
	struct attention all = { q, k, v, .bias = how->mask, .heads = how->heads,
		.scale = (float)(1 / sqrt((double)how->width)) };
	return linear(b, arena_printf(a, "%s.o", how->stem), op_attention(g, &all), whole, w, how->out_bias);
}

enum dit_ffn resolve_dit_ffn(struct config *c, const char *key)
{
	const char *word = config_text(c, key);

	if (!word || text_is(word, "gelu-approximate"))
		return FFN_GELU_TANH;
	if (!text_is(word, "gelu") && !text_is(word, "geglu"))
		config_fail(c, STATUS_UNSUPPORTED, "%s %.64s is not supported yet", key, word);
	return text_is(word, "geglu") ? FFN_GEGLU : FFN_GELU;
}

graph_value dit_ffn(struct build *b, enum dit_ffn kind, const char *stem, graph_value x, int64_t inner)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);

	if (graph_failed(g))
		return NO_VALUE;
	int64_t w = value_dim(g, x, -1);
	graph_value y = linear(b, arena_printf(a, "%s.up", stem), x, w, kind == FFN_GEGLU ? 2 * inner : inner, true);
	if (kind == FFN_GEGLU)
		y = op_mul(g, op_slice(g, y, 2, 0, inner), op_gelu(g, op_slice(g, y, 2, inner, 2 * inner)));
	else
		y = kind == FFN_GELU ? op_gelu(g, y) : op_gelu_tanh(g, y);
	return linear(b, arena_printf(a, "%s.down", stem), y, inner, w, true);
}

graph_value gated_convolution(struct build *b, graph_value map, int64_t inner)
{
	struct graph *g = b->g;

	if (graph_failed(g))
		return NO_VALUE;
	int64_t both = 2 * inner, w = value_dim(g, map, 1);
	graph_value x = op_silu(g, conv(b, "ffn.up", map, (struct conv){ .out = both, .kernel = 1, .bias = true }));
	x = conv(b, "ffn.depth", x, (struct conv){ .out = both, .kernel = 3, .group = both, .bias = true });
	x = op_mul(g, op_slice(g, x, 1, 0, inner), op_silu(g, op_slice(g, x, 1, inner, both)));
	return conv(b, "ffn.down", x, (struct conv){ .out = w, .kernel = 1 });
}

graph_value text_projection(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out)
{
	return timestep_layers(b, stem, x, in, out, ACT_GELU_TANH);
}

graph_value text_mask(struct build *b, graph_value mask, graph_value x)
{
	struct graph *g = b->g;
	graph_value away = op_scale(g, op_sub(g, graph_f32(g, 1), mask), -10000);

	away = op_unsqueeze(g, op_unsqueeze(g, away, 1), 1); // [batch, 1, 1, n]
	if (graph_get_form(g)->attention == ATTENTION_MHA) { // its bias has a row for each query
		graph_value shape[] = { op_dim(g, mask, 0), graph_i64s(g, 1, (int64_t[]){ 1 }), op_dim(g, x, 1),
			op_dim(g, mask, 1) };
		away = op_expand(g, away, op_concat(g, 4, shape, 0));
	}
	return away;
}

graph_value places_along(struct build *b, graph_value x, int axis)
{
	struct graph *g = b->g;
	graph_value n = op_squeeze(g, op_dim(g, x, axis), 0);
	return op_cast(g, op_range(g, graph_i64(g, 0), n, graph_i64(g, 1)), DTYPE_F32);
}

graph_value table_of_grid(struct build *b, graph_value by_row, graph_value by_column, bool column_first)
{
	struct graph *g = b->g;

	if (graph_failed(g))
		return NO_VALUE;
	graph_value rows = op_dim(g, by_row, 0), columns = op_dim(g, by_column, 0);
	graph_value r[] = { rows, columns, graph_i64s(g, 1, (int64_t[]){ value_dim(g, by_row, -1) }) };
	graph_value c[] = { rows, columns, graph_i64s(g, 1, (int64_t[]){ value_dim(g, by_column, -1) }) };
	by_row = op_expand(g, op_unsqueeze(g, by_row, 1), op_concat(g, 3, r, 0));
	by_column = op_expand(g, op_unsqueeze(g, by_column, 0), op_concat(g, 3, c, 0));
	return op_concat(g, 2, (graph_value[]){ column_first ? by_column : by_row, column_first ? by_row : by_column }, 2);
}

graph_value grid_sines(struct build *b, graph_value map, int64_t width, double base, double scale)
{
	struct graph *g = b->g;
	graph_value part[2];

	for (int i = 0; i < 2; i++) {
		graph_value at = op_scale(g, places_along(b, map, 2 + i), (float)(base > 0 ? base / scale : 1 / scale));
		if (base > 0)
			at = op_div(g, at, op_cast(g, op_dim(g, map, 2 + i), DTYPE_F32));
		part[i] = timestep_embedding(b, at, width / 2, false, 0);
	}
	return op_reshape(g, table_of_grid(b, part[0], part[1], true), 3, (int64_t[]){ 1, -1, width });
}

graph_value map_of_patches(struct build *b, graph_value tokens, graph_value grid, int64_t patch, int64_t channels)
{
	struct graph *g = b->g;
	graph_value by = graph_i64s(g, 1, &patch), out = graph_i64s(g, 1, &channels), batch = op_dim(g, tokens, 0);
	graph_value high = op_dim(g, grid, 2), wide = op_dim(g, grid, 3);
	graph_value cut[] = { batch, high, wide, by, by, out };
	graph_value whole[] = { batch, out, op_mul(g, high, by), op_mul(g, wide, by) };

	tokens = op_reshape_to(g, tokens, op_concat(g, 6, cut, 0));
	tokens = op_transpose(g, tokens, 6, (int[]){ 0, 5, 1, 3, 2, 4 });
	return op_reshape_to(g, tokens, op_concat(g, 4, whole, 0));
}
