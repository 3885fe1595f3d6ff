// SPDX-License-Identifier: Apache-2.0
// Masks and self-attention.
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

static value where_allowed(struct build *b, value allowed)
{
	struct graph *g = b->g;
	return op_where(g, allowed, graph_f32(g, 0), graph_f32(g, -FLT_MAX));
}

// [batch, 1, 1, seq] as a condition
static value key_mask(struct build *b, value attention_mask)
{
	struct graph *g = b->g;
	return op_unsqueeze(g, op_unsqueeze(g, op_cast(g, attention_mask, DTYPE_BOOL), 1), 1);
}

value mask_bidirectional(struct build *b, value attention_mask)
{
	struct graph *g = b->g;
	value allowed = key_mask(b, attention_mask);
	if (graph_get_form(g)->attention == ATTENTION_MHA) {         // its bias has a row for each query
		value shape[] = { op_dim(g, attention_mask, 0), graph_i64s(g, 1, (int64_t[]){ 1 }), op_dim(g, attention_mask, 1), op_dim(g, attention_mask, 1) };
		allowed = op_expand(g, allowed, op_concat(g, 4, shape, 0));
	}
	return where_allowed(b, allowed);
}

// 0, 1, .. seq-1 as [seq, 1] and [1, seq]
static void counted(struct build *b, value ids, value *query, value *key)
{
	struct graph *g = b->g;
	value n = op_squeeze(g, op_dim(g, ids, 1), 0);
	value at = op_range(g, graph_i64(g, 0), n, graph_i64(g, 1));
	*query = op_unsqueeze(g, at, 1);
	*key = op_unsqueeze(g, at, 0);
}

value mask_causal(struct build *b, value attention_mask, value x, int64_t window)
{
	struct graph *g = b->g;
	value seq = op_squeeze(g, op_dim(g, x, 1), 0), keys = op_squeeze(g, op_dim(g, attention_mask, 1), 0), zero = graph_i64(g, 0), one = graph_i64(g, 1);
	value key = op_unsqueeze(g, op_range(g, zero, keys, one), 0);                // [1, keys]
	value query = op_unsqueeze(g, op_range(g, op_sub(g, keys, seq), keys, one), 1);      // [seq, 1]: the last columns
	graph_assume(g, query, 0, value_dim(g, x, 1));
	value allowed = op_less_or_equal(g, key, query);                             // [seq, keys]
	if (window > 0)
		allowed = op_and(g, allowed, op_greater(g, key, op_sub(g, query, graph_i64(g, window))));
	allowed = op_and(g, key_mask(b, attention_mask), allowed);                   // [batch, 1, seq, keys]
	return where_allowed(b, allowed);
}

// T5's bucket of a distance, without direction: exact below a quarter of the buckets, then by logarithm up to 128 tokens
// (Raffel et al. 2020, section 2.1, https://arxiv.org/abs/1910.10683).
static int64_t bucket_of(int64_t distance, int64_t buckets)
{
	int64_t half = buckets / 2, exact = half / 2;
	if (distance < exact)
		return distance;
	float by_log = logf((float)distance / (float)exact) / logf(128.0f / (float)exact) * (float)(half - exact);
	int64_t bucket = exact + (int64_t)by_log;
	return bucket < half ? bucket : half - 1;
}

value mask_relative(struct build *b, value mask, value ids)
{
	enum { FAR = 128 };                          // every greater distance has the last bucket
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t table[FAR + 1];
	if (s->relative_buckets < 4) {
		graph_fail(g, STATUS_BAD_INPUT, "relative positions in %lld buckets", (long long)s->relative_buckets);
		return mask;
	}
	for (int i = 0; i <= FAR; i++)
		table[i] = bucket_of(i, s->relative_buckets);
	graph_enter(g, "relative");
	value query, key;
	counted(b, ids, &query, &key);
	value behind = op_sub(g, query, key);                                        // [seq, seq]; negative: the key is ahead
	value bucket = op_gather(g, graph_i64s(g, FAR + 1, table), op_min(g, op_abs(g, behind), graph_i64(g, FAR)), 0);
	bucket = op_add(g, bucket, op_where(g, op_less(g, behind, graph_i64(g, 0)), graph_i64(g, s->relative_buckets / 2), graph_i64(g, 0)));
	value bias = op_gather(g, WEIGHT(b, "attn.relative", "weight", s->relative_buckets, s->heads), bucket, 0);   // [seq, seq, heads]
	bias = op_unsqueeze(g, op_transpose(g, bias, 3, (int[]){ 2, 0, 1 }), 0);     // [1, heads, seq, seq]
	graph_leave(g);
	return op_add(g, bias, mask);
}

//   x -+- q -(norm)-(rope)-+
//      +- k -(norm)-(rope)-+- softmax(q k^T * scale + bias) v - o
//      +- v ---------------+
value self_attention(struct build *b, value x, value bias, value cos, value sin, bool qkv_bias, bool out_bias, struct cache *cache)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t width = s->heads * s->head_width, kv_width = s->kv_heads * s->head_width;
	value q = linear(b, "layers.attn.q", x, s->hidden_size, width, qkv_bias);            // [batch, seq, heads*head_width]
	value k = linear(b, "layers.attn.k", x, s->hidden_size, kv_width, qkv_bias);         // [batch, seq, kv_heads*head_width]
	value v = linear(b, "layers.attn.v", x, s->hidden_size, kv_width, qkv_bias);
	if (s->traits.qk_norm) {
		q = op_reshape(g, q, 4, (int64_t[]){ 0, 0, s->heads, s->head_width });
		k = op_reshape(g, k, 4, (int64_t[]){ 0, 0, s->kv_heads, s->head_width });
		q = op_reshape(g, rms_norm(b, "layers.attn.q_norm", q, s->head_width), 3, (int64_t[]){ 0, 0, width });
		k = op_reshape(g, rms_norm(b, "layers.attn.k_norm", k, s->head_width), 3, (int64_t[]){ 0, 0, kv_width });
	}
	if (cos.id) {
		q = rope_turn(b, q, cos, sin, s->heads);
		k = rope_turn(b, k, cos, sin, s->kv_heads);
	}
	if (cache)
		cache_extend(b, cache, &k, &v, s->kv_heads, s->head_width, s->head_width);
	value y = op_attention(g, q, k, v, bias, s->heads, s->kv_heads, (float)s->attention_scale, (float)s->attention_softcap);
	return linear(b, "layers.attn.o", y, width, s->hidden_size, out_bias);
}
