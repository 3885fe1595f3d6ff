// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention (DeepSeek-V2, https://arxiv.org/abs/2405.04434): keys and values come out of a narrow latent, and a
// part of each head, one for all keys, carries the rotary positions. The cache holds the keys and values of the heads, as in
// any other decoder, not the latent.
//
//   x -(q_a - norm -)- q -> heads of [nope | rope]                               nope: no positions
//   x - kv_a -> [latent | rope] ; latent - norm - kv_b -> heads of [nope | value]
#include "arch/block/block.h"

// The sizes of this layer's.
static struct latent latent_of(const struct spec *s, int64_t layer)
{
	struct latent l = s->window_latent.key_rank && s->sliding[layer] ? s->window_latent : s->latent;
	if (l.joined && s->nope && s->nope[layer]) {
		l.nope += l.rope;
		l.rope = 0;
	}
	return l;
}

static graph_value latent_norm(struct build *b, const char *stem, graph_value x, int64_t width)
{
	return op_rms_norm(b->g, x, WEIGHT(b, stem, "weight", width), (float)b->s->latent.eps);
}

graph_value scale_by_log(struct build *b, const char *stem, graph_value q, graph_value log_place)
{
	struct graph *g = b->g;
	int64_t heads = value_dim(g, q, 2);
	graph_value scale = op_mul(g, log_place, WEIGHT(b, stem, "s", heads)); // [batch or 1, seq, heads]
	return op_mul(g, q, op_unsqueeze(g, op_add(g, scale, WEIGHT(b, stem, "b", heads)), 3));
}

// Queries [batch, seq, heads, nope + rope]. *latent: what they come out of, normed; *gate [batch, seq, heads * value]: what lies
// beside them; NO_VALUE where there is none.
static graph_value queries(
	struct build *b, graph_value x, const struct latent *l, int64_t heads, graph_value *latent, graph_value *gate)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	bool gated = s->traits.attention_gate == GATE_BESIDE_QUERY;
	int64_t width = l->nope + l->rope, each = width + (gated ? l->value : 0), h = s->hidden_size;
	graph_value q;
	*latent = *gate = NO_VALUE;
	if (l->query_rank) {
		graph_value narrow = linear(b, "layers.attn.q_a", x, h, l->query_rank, s->traits.qkv_bias);
		graph_value normed = latent_norm(b, "layers.attn.q_a_norm", narrow, l->query_rank);
		*latent = l->query_scale > 0 ? op_scale(g, normed, (float)l->query_scale) : normed;
		graph_value in = l->doubled ? op_concat(g, 2, (graph_value[]){ *latent, narrow }, 2) : *latent;
		q = linear(b, "layers.attn.q_b", in, l->query_rank * (1 + l->doubled), heads * each, false);
	} else
		q = linear(b, "layers.attn.q", x, h, heads * each, false); // [batch, seq, heads*each]
	q = op_reshape(g, q, 4, (int64_t[]){ 0, 0, heads, each });
	if (!gated)
		return q;
	*gate = op_reshape(g, op_slice(g, q, 3, width, each), 3, (int64_t[]){ 0, 0, heads * l->value });
	return op_slice(g, q, 3, 0, width);
}

// The latent of keys and values, normed, and the part of the keys that is turned [batch, seq, rope]; or another layer's.
static struct kept latents(struct build *b, graph_value x, const struct latent *l, const struct attention_extras *e)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t source = s->keys_of ? s->keys_of[b->layer] : b->layer;
	if (source != b->layer && e->kept)
		return e->kept[source];
	graph_value down = linear(b, "layers.attn.kv_a", x, s->hidden_size, l->key_rank + l->rope, s->traits.qkv_bias);
	graph_value latent = latent_norm(b, "layers.attn.kv_a_norm", op_slice(g, down, 2, 0, l->key_rank), l->key_rank);
	struct kept k = { l->key_scale > 0 ? op_scale(g, latent, (float)l->key_scale) : latent, NO_VALUE };
	if (l->rope) {
		k.value = op_slice(g, down, 2, l->key_rank, l->key_rank + l->rope);
		if (weight_named(b, "layers.attn.k_rope_norm"))
			k.value = latent_norm(b, "layers.attn.k_rope_norm", k.value, l->rope);
		k.value = e->cos.id ? rope_turn(b, k.value, e->cos, e->sin, 1) : k.value;
	}
	if (e->kept)
		e->kept[b->layer] = k;
	return k;
}

// Keys [batch, seq, heads * (nope + rope)] and values [batch, seq, heads * value]
static void expand(struct build *b, struct kept from, const struct latent *l, int64_t heads, graph_value *k, graph_value *v)
{
	struct graph *g = b->g;
	graph_value kv = linear(b, "layers.attn.kv_b", from.key, l->key_rank, heads * (l->nope + l->value), false);
	kv = op_reshape(g, kv, 4, (int64_t[]){ 0, 0, heads, l->nope + l->value });
	*k = op_slice(g, kv, 3, 0, l->nope);
	if (l->rope) {
		graph_value rope = op_reshape(g, from.value, 4, (int64_t[]){ 0, 0, 1, l->rope });
		rope = op_expand(g, rope, graph_i64s(g, 4, (int64_t[]){ 1, 1, heads, 1 })); // [batch, seq, heads, rope]
		*k = op_concat(g, 2, (graph_value[]){ *k, rope }, 3);
	}
	*k = op_reshape(g, *k, 3, (int64_t[]){ 0, 0, heads * (l->nope + l->rope) });
	*v = op_reshape(g, op_slice(g, kv, 3, l->nope, l->nope + l->value), 3, (int64_t[]){ 0, 0, heads * l->value });
}

// y [batch, seq, heads * value], let through by a gate of x or the one that lies beside the queries
static graph_value gated(struct build *b, graph_value y, graph_value x, graph_value beside, int64_t heads, int64_t value)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	switch (b->s->traits.attention_gate) {
	case GATE_BESIDE_QUERY:
		return op_mul(g, y, op_sigmoid(g, beside));
	case GATE_SIGMOID:
		return op_mul(g, y, op_sigmoid(g, linear(b, "layers.attn.gate", x, h, heads * value, false)));
	case GATE_HEADS_SIGMOID: {
		graph_value gate = op_sigmoid(g, linear(b, "layers.attn.gate", x, h, heads, false)); // [batch, seq, heads]
		y = op_mul(g, op_reshape(g, y, 4, (int64_t[]){ 0, 0, heads, value }), op_unsqueeze(g, gate, 3));
		return op_reshape(g, y, 3, (int64_t[]){ 0, 0, heads * value });
	}
	default:
		return y;
	}
}

graph_value latent_attention(struct build *b, graph_value x, const struct attention_extras *e, struct cache *cache)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct latent l = latent_of(s, b->layer);
	int64_t heads = heads_of(s, b->layer).heads, width = l.nope + l.rope;
	graph_value query, beside, k, v, q = queries(b, x, &l, heads, &query, &beside);
	if (l.rope) {
		graph_value rope = op_reshape(g, op_slice(g, q, 3, l.nope, width), 3, (int64_t[]){ 0, 0, heads * l.rope });
		rope = e->cos.id ? rope_turn(b, rope, e->cos, e->sin, heads) : rope;
		rope = op_reshape(g, rope, 4, (int64_t[]){ 0, 0, heads, l.rope });
		q = op_concat(g, 2, (graph_value[]){ op_slice(g, q, 3, 0, l.nope), rope }, 3);
	}
	if (e->log_place.id)
		q = scale_by_log(b, "layers.attn.log_scale", q, e->log_place);
	q = op_reshape(g, q, 3, (int64_t[]){ 0, 0, heads * width });
	if (e->query_scale.id)
		q = op_mul(g, q, e->query_scale);
	expand(b, latents(b, x, &l, e), &l, heads, &k, &v);
	if (cache)
		cache_extend(b, cache, &k, &v, heads, width, l.value);
	graph_value added = e->bias;
	if (s->indexer && !s->sliding[b->layer]) {
		if (!s->indexer->shared || !s->indexer->shared[b->layer])
			*e->chosen = index_tokens(b, x, query, e, cache);
		added = *e->chosen;
	}
	double scale = s->window_latent.key_rank && s->sliding[b->layer] ? s->window_scale : s->attention_scale;
	graph_value y = op_attention(g,
		&(struct attention){ q, k, v, .bias = added, .heads = heads, .scale = (float)scale,
			.sink = weight_named(b, "layers.attn.sinks") ? WEIGHT(b, "layers.attn.sinks", "", heads) : NO_VALUE });
	y = gated(b, y, x, beside, heads, l.value);
	return linear(b, "layers.attn.o", y, heads * l.value, s->hidden_size, s->traits.out_bias);
}
