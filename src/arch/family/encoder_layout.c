// SPDX-License-Identifier: Apache-2.0
// A second, narrower stream of where tokens are on the page, whose scores are added to the text's and the other way round (LiLT:
// Wang et al. 2022, https://arxiv.org/abs/2202.13669).
//
//   text   x -+- q k -+-(+)- softmax - P v - o -(+)- norm - feed-forward -(+)- norm
//             |       |  |
//   layout l -+- q k -+--+   softmax - P v - o -(+)- norm - feed-forward -(+)- norm
#include <math.h>

#include "arch/family/encoder.h"

static int64_t narrow(const struct spec *s)
{
	return s->hidden_size / ((const struct encoder *)s->own)->shrink;
}

// Six parts side by side, mapped, with a position: [batch, seq, narrow]
graph_value encoder_layout_embed(struct build *b, const struct body *io, graph_value boxes)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	int64_t width = s->hidden_size / 6;
	graph_value side[4], part[6];
	for (int i = 0; i < 4; i++) {
		side[i] = op_squeeze(g, op_slice(g, boxes, 2, i, i + 1), 2);
		part[i] = embedding(b, i % 2 ? "embed.y" : "embed.x", side[i], e->boxes, width);
	}
	part[4] = embedding(b, "embed.height", op_sub(g, side[3], side[1]), e->boxes, width);
	part[5] = embedding(b, "embed.width", op_sub(g, side[2], side[0]), e->boxes, width);
	graph_value x = linear(b, "embed.box_project", op_concat(g, 6, part, 2), s->hidden_size, narrow(s), true);
	graph_value at = embedding(b, "embed.box_position", positions_from_pad(b, io->ids), s->max_positions, narrow(s));
	return layer_norm(b, "embed.box_norm", op_add(g, x, at), narrow(s));
}

// The query, key or value of one stream by heads: [batch, heads, seq, width / heads]
static graph_value side_of(struct build *b, const char *stem, graph_value x, int64_t n)
{
	int64_t heads = b->s->heads;
	x = op_reshape(b->g, linear(b, stem, x, n, n, true), 4, (int64_t[]){ 0, 0, heads, n / heads });
	return op_transpose(b->g, x, 4, (int[]){ 0, 2, 1, 3 });
}

static graph_value finish(struct build *b, const char *stem, graph_value x, graph_value y, int64_t n, int64_t wide)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	x = layer_norm(b, arena_printf(a, "%s.attn.norm", stem),
		op_add(g, linear(b, arena_printf(a, "%s.attn.o", stem), y, n, n, true), x), n);
	y = activate(b, b->s->act, linear(b, arena_printf(a, "%s.ffn.up", stem), x, n, wide, true));
	y = linear(b, arena_printf(a, "%s.ffn.down", stem), y, wide, n, true);
	return layer_norm(b, arena_printf(a, "%s.ffn.norm", stem), op_add(g, y, x), n);
}

graph_value encoder_layout_layer(struct build *b, graph_value x, graph_value *layout, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	int64_t n[] = { s->hidden_size, narrow(s) };
	graph_value stream[] = { x, *layout }, v[2], scores = bias;
	for (int i = 0; i < 2; i++) {
		const char *stem = i ? "layers.layout" : "layers";
		struct arena *a = graph_arena(g);
		graph_value q = side_of(b, arena_printf(a, "%s.attn.q", stem), stream[i], n[i]),
			    k = side_of(b, arena_printf(a, "%s.attn.k", stem), stream[i], n[i]);
		v[i] = side_of(b, arena_printf(a, "%s.attn.v", stem), stream[i], n[i]);
		graph_value met = op_matmul(g, q, op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }));
		scores = op_add(g, op_scale(g, met, (float)(1 / sqrt((double)(n[i] / s->heads)))), scores);
	}
	graph_value p = op_softmax(g, scores, 3);
	for (int i = 0; i < 2; i++) {
		graph_value y = op_transpose(g, op_matmul(g, p, v[i]), 4, (int[]){ 0, 2, 1, 3 });
		y = op_reshape(g, y, 3, (int64_t[]){ 0, 0, n[i] });
		stream[i] =
			finish(b, i ? "layers.layout" : "layers", stream[i], y, n[i], i ? s->ffn_size / e->shrink : s->ffn_size);
	}
	*layout = stream[1];
	return stream[0];
}
