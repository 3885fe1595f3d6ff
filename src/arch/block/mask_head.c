// SPDX-License-Identifier: Apache-2.0
// DETR's head for panoptic segmentation: where each query looks, refined step by step with the backbone's finer maps (Carion
// et al. 2020, https://arxiv.org/abs/2005.12872, section 4.4).
//
//   query states, encoder map -> attention [batch, queries, heads, height, width] -+
//   projected map, once a query --------------------------------------------------(concat)- block - block
//   -> three times: nearest resize to the next finer map, (+) its 1x1 conv, block -> 3x3 conv -> masks
//   block: 3x3 conv - group norm - act
#include <float.h>
#include <math.h>

#include "arch/block/detect.h"

// Scores of all heads and places of a query together make one softmax.
static graph_value attention(struct build *b, graph_value states, graph_value memory, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct detect *d = s->own;
	int64_t h = s->hidden_size, heads = d->encoder_heads, width = h / heads;
	graph_value q = linear(b, "masks.q", states, h, h, true),
		    k = linear(b, "masks.k", memory, h, h, true); // [batch, places, hidden]
	q = op_transpose(g, op_reshape(g, q, 4, (int64_t[]){ 0, 0, heads, width }), 4, (int[]){ 0, 2, 1, 3 });
	k = op_transpose(g, op_reshape(g, k, 4, (int64_t[]){ 0, 0, heads, width }), 4, (int[]){ 0, 2, 3, 1 });
	graph_value scores = op_matmul(g, op_scale(g, q, (float)(1 / sqrt((double)width))), k); // [batch, heads, queries, places]
	scores = op_add(g, op_transpose(g, scores, 4, (int[]){ 0, 2, 1, 3 }), detect_mask_bias(b, mask));
	graph_value whole = op_softmax(g, op_reshape(g, scores, 3, (int64_t[]){ 0, d->queries, -1 }), -1);
	graph_value shape[] = { op_dim(g, states, 0), graph_i64s(g, 2, (int64_t[]){ d->queries, heads }), op_dim(g, mask, 1),
		op_dim(g, mask, 2) };
	return op_reshape_to(g, whole, op_concat(g, 4, shape, 0));
}

// [batch, channels, height, width] -> [batch*queries, channels, height, width]
static graph_value each_query(struct build *b, graph_value map)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t queries = ((const struct detect *)b->s->own)->queries, channels = value_dim(g, map, 1);
	graph_value shape[] = { op_dim(g, map, 0), graph_i64s(g, 2, (int64_t[]){ queries, channels }), op_dim(g, map, 2),
		op_dim(g, map, 3) };
	graph_value all = op_expand(g, op_unsqueeze(g, map, 1), op_concat(g, 4, shape, 0));
	graph_value flat[] = { graph_i64s(g, 2, (int64_t[]){ -1, channels }), op_dim(g, map, 2), op_dim(g, map, 3) };
	return op_reshape_to(g, all, op_concat(g, 3, flat, 0));
}

static graph_value block(struct build *b, int64_t number, graph_value x, int64_t out)
{
	b->layer = number;
	graph_value y = conv(b, "masks.conv", x, (struct conv){ .out = out, .kernel = 3, .bias = true });
	graph_value w = WEIGHT(b, "masks.norm", "weight", out), bias = WEIGHT(b, "masks.norm", "bias", out);
	return activate(b, b->s->act, op_group_norm(b->g, y, out < 8 ? out : 8, w, bias, 1e-5f));
}

graph_value detect_segments(struct build *b, graph_value states, graph_value memory, graph_value mask, graph_value projected,
	const graph_value *maps, int64_t map_count)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, layer = b->layer, heads = ((const struct detect *)s->own)->encoder_heads;
	if (graph_failed(g))
		return NO_VALUE;
	if (map_count < 4) {
		graph_fail(g, STATUS_UNSUPPORTED, "%s: segmentation needs four feature maps, the backbone gives %lld", b->c->path,
			(long long)map_count);
		return NO_VALUE;
	}
	graph_enter(g, "masks");
	graph_value look = attention(b, states, memory, mask);
	graph_value flat[] = { graph_i64s(g, 2, (int64_t[]){ -1, heads }), op_dim(g, mask, 1), op_dim(g, mask, 2) };
	look = op_reshape_to(g, look, op_concat(g, 3, flat, 0)); // [batch*queries, heads, height, width]
	graph_value both = op_concat(g, 2, (graph_value[]){ each_query(b, projected), look }, 1);
	graph_value x = block(b, 1, both, h + heads);
	x = block(b, 2, x, h / 2);
	for (int64_t i = 0; i < 3; i++) {
		b->layer = i + 1;
		graph_value finer =
			conv(b, "masks.adapter", maps[2 - i], (struct conv){ .out = h >> (i + 1), .kernel = 1, .bias = true });
		x = op_add(g, each_query(b, finer), resized_like(b, x, finer, "nearest"));
		x = block(b, i + 3, x, h >> (i + 2));
	}
	x = conv(b, "masks.out", x, (struct conv){ .out = 1, .kernel = 3, .bias = true }); // [batch*queries, 1, height, width]
	b->layer = layer;
	graph_value shape[] = { graph_i64s(g, 2, (int64_t[]){ -1, ((const struct detect *)s->own)->queries }),
		op_dim(g, maps[0], 2), op_dim(g, maps[0], 3) };
	graph_leave(g);
	return op_reshape_to(g, x, op_concat(g, 3, shape, 0));
}
