// SPDX-License-Identifier: Apache-2.0
// A mixture of attention heads (JetMoE, https://arxiv.org/abs/2404.07413): each expert has queries and an output projection of
// its own, all look at the same keys and values.
//
//   x -+- kv -(rope)- k, v -----------------------+
//      +- expert e: query -(rope)- attention - out -(* weight of e)- sum + bias
#include "arch/block/block.h"

graph_value attention_of_experts(struct build *b, graph_value x, const struct attention_extras *e, struct cache *cache)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->moe->experts, keys = s->kv_heads, d = s->head_width, h = s->hidden_size, width = keys * d;
	graph_value kv = linear(b, "layers.attn.kv", x, h, 2 * width, false), weights = route(b, "layers.attn.experts", x);
	graph_value k = rope_turn(b, op_slice(g, kv, 2, 0, width), e->cos, e->sin, keys),
		    v = op_slice(g, kv, 2, width, 2 * width);
	graph_value *q = GRAPH_TABLE(g, NULL, n, 1, graph_value), sum = NO_VALUE;
	if (!q)
		return NO_VALUE;
	for (b->item = 0; b->item < n && !graph_failed(g); b->item++) {
		graph_value w = weight_item(b, "layers.attn.experts.in", 3, (int64_t[]){ n, width, h });
		q[b->item] = rope_turn(b, op_linear(g, x, w, NO_VALUE), e->cos, e->sin, keys);
		q[b->item] = op_reshape(g, q[b->item], 5, (int64_t[]){ 0, 0, keys, 1, d });
	}
	graph_value all =
		op_reshape(g, op_concat(g, (int)n, q, 3), 3, (int64_t[]){ 0, 0, n * width }); // by key head, then expert
	if (cache)
		cache_extend(b, cache, &k, &v, keys, d, d);
	all = op_attention(g,
		&(struct attention){
			all, k, v, .bias = e->bias, .heads = n * keys, .kv_heads = keys, .scale = (float)s->attention_scale });
	all = op_reshape(g, all, 5, (int64_t[]){ 0, 0, keys, n, d });
	for (b->item = 0; b->item < n && !graph_failed(g); b->item++) {
		graph_value w = weight_item(b, "layers.attn.experts.out", 3, (int64_t[]){ n, h, width });
		graph_value y = op_reshape(g, op_slice(g, all, 3, b->item, b->item + 1), 3, (int64_t[]){ 0, 0, width });
		y = op_mul(g, op_linear(g, y, w, NO_VALUE), op_slice(g, weights, 2, b->item, b->item + 1));
		sum = sum.id ? op_add(g, sum, y) : y;
	}
	return op_add(g, sum, WEIGHT(b, "layers.attn.experts.bias", "", h));
}
