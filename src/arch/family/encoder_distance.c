// SPDX-License-Identifier: Apache-2.0
// Attention by content, by distance, whose sines and cosines are keys of their own, and by whether two tokens are of one segment
// (XLNet: Yang et al. 2019, https://arxiv.org/abs/1906.08237; Transformer-XL, https://arxiv.org/abs/1901.02860). No memory of
// earlier texts, and one stream: nothing is predicted in a permuted order.
//
//   score of i for j: (q_i + u) k_j + (q_i + v) r(i - j) + (q_i + w) s(same segment or not)
#include <math.h>

#include "arch/family/encoder.h"

void encoder_resolve_distance(struct config *c, struct spec *s, struct encoder *e)
{
	const char *type = config_text(c, "attn_type");
	if (!type)
		return;
	e->by_distance = true;
	e->causal = text_is(type, "uni");
	e->clamp = config_get(c, "clamp_len") && json_integer_value(config_get(c, "clamp_len")) > 0
		? config_size(c, "clamp_len", 0)
		: 0;
	if (!e->causal && !text_is(type, "bi"))
		config_fail(c, STATUS_UNSUPPORTED, "attn_type %s is not supported yet", type);
	if (config_bool(c, "bi_data", false) || config_bool(c, "same_length", false))
		config_fail(c, STATUS_UNSUPPORTED, "bi_data or same_length: true is not supported yet");
	if (s->hidden_size % 2)
		config_fail(c, STATUS_BAD_INPUT, "sines and cosines need an even width, not %lld", (long long)s->hidden_size);
}

// Padding is hidden, but not from itself: [batch, 1, seq, seq]
graph_value encoder_distance_mask(struct build *b, graph_value mask, graph_value ids)
{
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	graph_value at = places_of(g, ids), query = op_unsqueeze(g, at, 1), key = op_unsqueeze(g, at, 0);
	graph_value seen = op_unsqueeze(g, op_unsqueeze(g, op_cast(g, mask, DTYPE_BOOL), 1), 1); // [batch, 1, 1, seq]
	if (e->causal)
		seen = op_and(g, seen, op_less(g, key, query));
	seen = op_or(g, seen, op_equal(g, query, key));
	return op_where(g, seen, graph_f32(g, 0), graph_f32(g, -1e30f));
}

// x [.., hidden] times STEM [hidden, heads, width]: [.., heads * width]
static graph_value project(struct build *b, const char *stem, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value w = WEIGHT(b, stem, "", s->hidden_size, s->heads, s->head_width);
	return op_matmul(g, x, op_reshape(g, w, 2, (int64_t[]){ s->hidden_size, s->heads * s->head_width }));
}

// [batch, seq, heads * width] -> [batch, heads, seq, width]
static graph_value by_head(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	x = op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, s->heads, s->head_width });
	return op_transpose(b->g, x, 4, (int[]){ 0, 2, 1, 3 });
}

static graph_value shifted_by(struct build *b, graph_value q, const char *stem)
{
	const struct spec *s = b->s;
	graph_value bias = WEIGHT(b, stem, "", s->heads, s->head_width);
	return op_add(b->g, q, op_reshape(b->g, bias, 3, (int64_t[]){ s->heads, 1, s->head_width }));
}

// r(i - j) for every query i and key j: [heads, query, width, key]
static graph_value distances(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	int64_t half = s->hidden_size / 2;
	float *f = GRAPH_TABLE(g, NULL, half + 1, 1, float);
	for (int64_t i = 0; f && i < half; i++)
		f[i] = (float)pow(10000, -(double)i / (double)half);
	graph_value n = op_squeeze(g, op_dim(g, x, 1), 0), at = places_of(g, x);
	graph_value first = op_sub(g, graph_i64(g, 1), n); // of the distances 1 - n, 2 - n, .. n - 1
	graph_value all = op_range(g, first, n, graph_i64(g, 1));
	if (e->clamp > 0)
		all = op_max(g, op_min(g, all, graph_i64(g, e->clamp)), graph_i64(g, -e->clamp));
	graph_value angle = op_mul(g, op_unsqueeze(g, op_cast(g, all, DTYPE_F32), 1), graph_constant(g, DTYPE_F32, 1, &half, f));
	graph_value waves = op_concat(g, 2, (graph_value[]){ op_sin(g, angle), op_cos(g, angle) }, 1);
	graph_value keys = op_reshape(g, project(b, "layers.attn.r", waves), 3, (int64_t[]){ 0, s->heads, s->head_width });
	graph_value which = op_sub(g, op_sub(g, op_unsqueeze(g, at, 1), op_unsqueeze(g, at, 0)), first); // [query, key]
	return op_transpose(g, op_gather(g, keys, which, 0), 4, (int[]){ 2, 0, 3, 1 });
}

graph_value encoder_by_distance(struct build *b, graph_value x, graph_value bias, graph_value types)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t wide = s->heads * s->head_width;
	graph_value q = by_head(b, project(b, "layers.attn.q", x)), k = by_head(b, project(b, "layers.attn.k", x)),
		    v = by_head(b, project(b, "layers.attn.v", x));
	graph_value scores = op_matmul(g, shifted_by(b, q, "layers.attn.u"), op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }));
	graph_value far =
		op_transpose(g, shifted_by(b, q, "layers.attn.w"), 4, (int[]){ 1, 2, 0, 3 }); // [heads, seq, batch, width]
	scores = op_add(g, scores, op_transpose(g, op_matmul(g, far, distances(b, x)), 4, (int[]){ 2, 0, 1, 3 }));
	graph_value segments = WEIGHT(b, "layers.attn.segments", "", 2, s->heads, s->head_width), either[2];
	q = shifted_by(b, q, "layers.attn.s");
	for (int i = 0; i < 2; i++) {
		graph_value kind =
			op_reshape(g, op_slice(g, segments, 0, i, i + 1), 3, (int64_t[]){ s->heads, 1, s->head_width });
		either[i] = op_reduce_sum(g, op_mul(g, q, kind), 3, true); // [batch, heads, seq, 1]
	}
	graph_value same = op_unsqueeze(g, op_equal(g, op_unsqueeze(g, types, 2), op_unsqueeze(g, types, 1)), 1);
	scores = op_add(g, scores, op_where(g, same, either[0], either[1]));
	graph_value p = op_softmax(g, op_add(g, op_scale(g, scores, (float)s->attention_scale), bias), 3);
	graph_value y = op_transpose(g, op_matmul(g, p, v), 4, (int[]){ 0, 2, 1, 3 });
	y = op_reshape(g, y, 3, (int64_t[]){ 0, 0, wide });
	graph_value w = WEIGHT(b, "layers.attn.o", "", s->hidden_size, s->heads, s->head_width);
	return op_linear(g, y, op_reshape(g, w, 2, (int64_t[]){ s->hidden_size, wide }), NO_VALUE);
}
