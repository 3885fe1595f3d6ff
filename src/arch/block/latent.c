// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention (DeepSeek-V2, https://arxiv.org/abs/2405.04434): keys and values come out of a narrow latent, and a
// part of each head, one for all keys, carries the rotary positions. The cache holds the keys and values of the heads, as in
// any other decoder, not the latent.
//
//   x -(q_a - norm -)- q -> heads of [nope | rope]                               nope: no positions
//   x - kv_a -> [latent | rope] ; latent - norm - kv_b -> heads of [nope | value]
#include "arch/block/block.h"

static graph_value latent_norm(struct build *b, const char *stem, graph_value x, int64_t width)
{
	return op_rms_norm(b->g, x, WEIGHT(b, stem, "weight", width), (float)b->s->latent.eps);
}

graph_value latent_attention(struct build *b, graph_value x, const struct attention_extras *e, struct cache *cache)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct latent *l = &s->latent;
	int64_t heads = s->heads, width = l->nope + l->rope, h = s->hidden_size;
	bool bias = s->traits.qkv_bias;
	graph_value q, query = NO_VALUE;
	if (l->query_rank) {
		query = latent_norm(
			b, "layers.attn.q_a_norm", linear(b, "layers.attn.q_a", x, h, l->query_rank, bias), l->query_rank);
		query = l->query_scale > 0 ? op_scale(g, query, (float)l->query_scale) : query;
		q = linear(b, "layers.attn.q_b", query, l->query_rank, heads * width, false);
	} else
		q = linear(b, "layers.attn.q", x, h, heads * width, false); // [batch, seq, heads*width]
	graph_value down = linear(b, "layers.attn.kv_a", x, h, l->key_rank + l->rope, bias);
	graph_value latent = latent_norm(b, "layers.attn.kv_a_norm", op_slice(g, down, 2, 0, l->key_rank), l->key_rank);
	latent = l->key_scale > 0 ? op_scale(g, latent, (float)l->key_scale) : latent;
	graph_value kv = linear(b, "layers.attn.kv_b", latent, l->key_rank, heads * (l->nope + l->value), false);
	kv = op_reshape(g, kv, 4, (int64_t[]){ 0, 0, heads, l->nope + l->value });
	q = op_reshape(g, q, 4, (int64_t[]){ 0, 0, heads, width });
	graph_value q_rope = op_reshape(g, op_slice(g, q, 3, l->nope, width), 3, (int64_t[]){ 0, 0, heads * l->rope });
	graph_value k_rope = op_slice(g, down, 2, l->key_rank, l->key_rank + l->rope);
	if (e->cos.id) {
		q_rope = rope_turn(b, q_rope, e->cos, e->sin, heads);
		k_rope = rope_turn(b, k_rope, e->cos, e->sin, 1);
	}
	q_rope = op_reshape(g, q_rope, 4, (int64_t[]){ 0, 0, heads, l->rope });
	k_rope = op_reshape(g, k_rope, 4, (int64_t[]){ 0, 0, 1, l->rope });
	k_rope = op_expand(g, k_rope, graph_i64s(g, 4, (int64_t[]){ 1, 1, heads, 1 })); // [batch, seq, heads, rope]
	q = op_concat(g, 2, (graph_value[]){ op_slice(g, q, 3, 0, l->nope), q_rope }, 3);
	graph_value k = op_concat(g, 2, (graph_value[]){ op_slice(g, kv, 3, 0, l->nope), k_rope }, 3);
	q = op_reshape(g, q, 3, (int64_t[]){ 0, 0, heads * width });
	k = op_reshape(g, k, 3, (int64_t[]){ 0, 0, heads * width });
	graph_value v = op_reshape(g, op_slice(g, kv, 3, l->nope, l->nope + l->value), 3, (int64_t[]){ 0, 0, heads * l->value });
	if (e->query_scale.id)
		q = op_mul(g, q, e->query_scale);
	if (cache)
		cache_extend(b, cache, &k, &v, heads, width, l->value);
	graph_value added = e->bias;
	if (s->indexer && !(s->indexer->shared && s->indexer->shared[b->layer]))
		*e->chosen = index_tokens(b, x, query, e, cache);
	if (s->indexer)
		added = *e->chosen;
	graph_value y = op_attention(
		g, &(struct attention){ q, k, v, .bias = added, .heads = heads, .scale = (float)s->attention_scale });
	if (s->traits.attention_gate == GATE_HEADS_SIGMOID) {
		graph_value gate = op_sigmoid(g, linear(b, "layers.attn.gate", x, h, heads, false)); // [batch, seq, heads]
		y = op_mul(g, op_reshape(g, y, 4, (int64_t[]){ 0, 0, heads, l->value }), op_unsqueeze(g, gate, 3));
		y = op_reshape(g, y, 3, (int64_t[]){ 0, 0, heads * l->value });
	}
	return linear(b, "layers.attn.o", y, heads * l->value, h, s->traits.out_bias);
}
