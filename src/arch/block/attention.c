// SPDX-License-Identifier: Apache-2.0
// Masks and self-attention.
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

static graph_value where_allowed(struct build *b, graph_value allowed)
{
	struct graph *g = b->g;
	return op_where(g, allowed, graph_f32(g, 0), graph_f32(g, -FLT_MAX));
}

// [batch, 1, 1, seq] as a condition
static graph_value key_mask(struct build *b, graph_value attention_mask)
{
	struct graph *g = b->g;
	return op_unsqueeze(g, op_unsqueeze(g, op_cast(g, attention_mask, DTYPE_BOOL), 1), 1);
}

graph_value mask_bidirectional(struct build *b, graph_value attention_mask)
{
	struct graph *g = b->g;
	graph_value allowed = key_mask(b, attention_mask);
	if (graph_get_form(g)->attention == ATTENTION_MHA) { // its bias has a row for each query
		graph_value shape[] = { op_dim(g, attention_mask, 0), graph_i64s(g, 1, (int64_t[]){ 1 }),
			op_dim(g, attention_mask, 1), op_dim(g, attention_mask, 1) };
		allowed = op_expand(g, allowed, op_concat(g, 4, shape, 0));
	}
	return where_allowed(b, allowed);
}

// 0, 1, .. seq-1 as [seq, 1] and [1, seq]
static void counted(struct build *b, graph_value ids, graph_value *query, graph_value *key)
{
	struct graph *g = b->g;
	graph_value n = op_squeeze(g, op_dim(g, ids, 1), 0);
	graph_value at = op_range(g, graph_i64(g, 0), n, graph_i64(g, 1));
	*query = op_unsqueeze(g, at, 1);
	*key = op_unsqueeze(g, at, 0);
}

// blocks i64 [batch, keys] -> bool [batch, 1, seq, keys]: are both in the same one? The queries are the last of the keys.
static graph_value same_block(struct build *b, graph_value blocks, graph_value x)
{
	struct graph *g = b->g;
	graph_value keys = op_dim(g, blocks, 1), own = op_slice_to(g, blocks, 1, op_sub(g, keys, op_dim(g, x, 1)), keys);
	graph_value same = op_equal(g, op_unsqueeze(g, own, 2), op_unsqueeze(g, blocks, 1)); // [batch, seq, keys]
	return op_unsqueeze(g, op_and(g, same, op_greater(g, op_unsqueeze(g, own, 2), graph_i64(g, 0))), 1);
}

graph_value mask_causal(struct build *b, graph_value attention_mask, graph_value x, int64_t window)
{
	return mask_causal_blocks(b, attention_mask, x, window, NO_VALUE);
}

graph_value mask_causal_blocks(struct build *b, graph_value attention_mask, graph_value x, int64_t window, graph_value blocks)
{
	struct graph *g = b->g;
	graph_value seq = op_squeeze(g, op_dim(g, x, 1), 0), keys = op_squeeze(g, op_dim(g, attention_mask, 1), 0),
		    zero = graph_i64(g, 0), one = graph_i64(g, 1);
	graph_value key = op_unsqueeze(g, op_range(g, zero, keys, one), 0);                   // [1, keys]
	graph_value query = op_unsqueeze(g, op_range(g, op_sub(g, keys, seq), keys, one), 1); // [seq, 1]: the last columns
	graph_assume(g, query, 0, value_dim(g, x, 1));
	graph_value allowed = op_less_or_equal(g, key, query); // [seq, keys]
	if (blocks.id)
		allowed = op_or(g, same_block(b, blocks, x), allowed); // [batch, 1, seq, keys]
	if (window > 0)
		allowed = op_and(g, allowed, op_greater(g, key, op_sub(g, query, graph_i64(g, window))));
	allowed = op_and(g, key_mask(b, attention_mask), allowed); // [batch, 1, seq, keys]
	return where_allowed(b, allowed);
}

graph_value mask_chunks(struct build *b, graph_value attention_mask, graph_value x, int64_t chunk)
{
	struct graph *g = b->g;
	graph_value keys = op_dim(g, attention_mask, 1), zero = graph_i64(g, 0);
	graph_value at = op_unsqueeze(g, op_range(g, zero, op_squeeze(g, keys, 0), graph_i64(g, 1)), 0); // [1, keys]
	graph_value before = op_cast(g, op_equal(g, op_cumsum(g, attention_mask, 1), zero), DTYPE_I64);
	at = op_max(g, op_sub(g, at, op_reduce_sum(g, before, 1, true)), zero); // padding is masked whatever its chunk
	graph_value number = op_div(g, at, graph_i64(g, chunk));                // [batch, keys]
	graph_value own = op_slice_to(g, number, 1, op_sub(g, keys, op_dim(g, x, 1)), keys);
	graph_assume(g, own, 1, value_dim(g, x, 1));
	graph_value same = op_unsqueeze(g, op_equal(g, op_unsqueeze(g, own, 2), op_unsqueeze(g, number, 1)), 1);
	return op_where(g, same, mask_causal(b, attention_mask, x, 0), graph_f32(g, -FLT_MAX));
}

graph_value mask_relative(struct build *b, graph_value mask, graph_value ids)
{
	graph_value query, key;
	counted(b, ids, &query, &key);
	// The class counts in 32 buckets, however many rows its table has.
	graph_value bias = distance_bias_of(b, "attn.relative", query, key, b->s->relative_buckets, 32, 128, true);
	return op_add(b->g, bias, mask);
}

graph_value mask_window_both(struct build *b, graph_value attention_mask, graph_value x, int64_t window)
{
	struct graph *g = b->g;
	graph_value n = op_squeeze(g, op_dim(g, x, 1), 0);
	graph_value at = op_range(g, graph_i64(g, 0), n, graph_i64(g, 1));
	graph_value near = op_less(g, op_abs(g, op_sub(g, op_unsqueeze(g, at, 1), op_unsqueeze(g, at, 0))), graph_i64(g, window));
	return where_allowed(b, op_and(g, key_mask(b, attention_mask), near));
}

static graph_value in_bfloat16(struct graph *g, graph_value x)
{
	return op_cast(g, op_cast(g, x, DTYPE_BF16), DTYPE_F32);
}

// Slopes 2^(-8/n), 2^(-16/n), .. for n heads, a power of two; for other numbers every second of 2n's follows those of the
// power below (Press et al. 2021, https://arxiv.org/abs/2108.12409, appendix) - or, MPT's way, n's are those of the power above,
// every second first. The bias grows with the key's position; a softmax does not see where it begins.
graph_value mask_alibi(struct build *b, graph_value attention_mask)
{
	bool of_tokens = b->s->traits.alibi != ALIBI_COLUMNS;
	struct graph *g = b->g;
	int64_t heads = b->s->heads, power = 1;
	float *slopes = GRAPH_TABLE(g, NULL, heads + 1, 1, float);
	if (!slopes)
		return NO_VALUE;
	while (power * 2 <= heads)
		power *= 2;
	for (int64_t h = 0; h < heads; h++)
		if (of_tokens)
			slopes[h] = (float)(h < power ? pow(2, -8.0 * (double)(h + 1) / (double)power)
						      : pow(2, -4.0 * (double)(2 * (h - power) + 1) / (double)power));
		else {
			int64_t above = power == heads ? power : power * 2, odd = above / 2;
			int64_t at = power == heads ? h : h < odd ? 2 * h + 1 : 2 * (h - odd);
			slopes[h] = (float)pow(2, -b->s->alibi_max * (double)(at + 1) / (double)above);
		}
	graph_value position;
	if (of_tokens) {
		graph_value count = op_cumsum(g, attention_mask, 1);
		position = op_mul(g, op_sub(g, count, graph_i64(g, 1)), attention_mask); // [batch, keys]
		position = op_unsqueeze(g, op_unsqueeze(g, position, 1), 1);
	} else
		position = places_of(g, attention_mask);
	if (b->s->traits.alibi != ALIBI_BFLOAT16) {
		graph_value slope = graph_constant(g, DTYPE_F32, 3, (int64_t[]){ heads, 1, 1 }, slopes);
		return op_mul(g, op_cast(g, position, DTYPE_F32), slope); // [batch or -, heads, 1, keys]
	}
	// Falcon's is computed in bfloat16, whatever the model's type, and then scaled as the scores are.
	graph_value slope = in_bfloat16(g, graph_constant(g, DTYPE_F32, 3, (int64_t[]){ heads, 1, 1 }, slopes));
	graph_value bias = in_bfloat16(g, op_mul(g, in_bfloat16(g, op_cast(g, position, DTYPE_F32)), slope));
	return op_scale(g, bias, (float)b->s->attention_scale);
}

// A linear layer, and a narrow one beside it where this layer has its own on top of shared weights (Zamba2).
static graph_value adapted(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, bool bias)
{
	graph_value y = linear(b, stem, x, in, out, bias);
	return b->s->attention_adapters ? op_add(b->g, y, adapter_of(b, stem, x, in, out)) : y;
}

// Query, key and value of x: three weights, or one where the dialect has a word for it, which is multiplied once:
//   rows [q, k, v]; by key head, each with its queries: [kv_heads, group + 2, head_width]; or codegen's four parts of [q, v, k].
// With GATE_BESIDE_QUERY each head has its query and then its gate: [heads, 2, head_width].
static void project(struct build *b, graph_value x, bool bias, bool own_keys, graph_value *q, graph_value *k, graph_value *v,
	graph_value *gate)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct heads n = heads_of(s, b->layer);
	int64_t width = n.heads * n.width, kv_width = n.kv_heads * n.width, group = n.heads / n.kv_heads, d = n.width;
	int64_t in = s->attention_in ? s->attention_in : s->hidden_size;
	bool same = s->keys_are_values && !s->sliding[b->layer];
	*gate = NO_VALUE;
	bool apart = !weight_named(b, "layers.attn.qkv"); // where the dialect has words for both ways the file says which
	if (apart || (weight_named(b, "layers.attn.q") && !weight_exists(b, "layers.attn.qkv", "weight"))) {
		if (s->traits.attention_gate == GATE_BESIDE_QUERY) {
			graph_value both = linear(b, "layers.attn.q", x, in, 2 * width, bias);
			both = op_reshape(g, both, 4, (int64_t[]){ 0, 0, n.heads, 2 * d });
			*q = op_reshape(g, op_slice(g, both, 3, 0, d), 3, (int64_t[]){ 0, 0, width });
			*gate = op_reshape(g, op_slice(g, both, 3, d, 2 * d), 3, (int64_t[]){ 0, 0, width });
		} else
			*q = adapted(b, "layers.attn.q", x, in, width, bias); // [batch, seq, heads*head_width]
		if (!own_keys)
			return;
		*k = adapted(b, "layers.attn.k", x, in, kv_width, bias); // [batch, seq, kv_heads*head_width]
		*v = same ? *k : adapted(b, "layers.attn.v", x, in, n.kv_heads * n.value_width, bias);
		return;
	}
	int64_t before = s->traits.qkv_layout == QKV_AFTER_GATE ? width : 0;
	graph_value all = linear(b, "layers.attn.qkv", x, s->hidden_size, before + width + 2 * kv_width, bias);
	if (before) {
		*gate = op_slice(g, all, 2, 0, before);
		all = op_slice(g, all, 2, before, before + width + 2 * kv_width);
	}
	switch (s->traits.qkv_layout) {
	case QKV_ROWS:
	case QKV_AFTER_GATE:
		*q = op_slice(g, all, 2, 0, width);
		*k = op_slice(g, all, 2, width, width + kv_width);
		*v = op_slice(g, all, 2, width + kv_width, width + 2 * kv_width);
		break;
	case QKV_BY_HEAD:
		all = op_reshape(g, all, 4, (int64_t[]){ 0, 0, n.kv_heads, (group + 2) * d });
		*q = op_reshape(g, op_slice(g, all, 3, 0, group * d), 3, (int64_t[]){ 0, 0, width });
		*k = op_reshape(g, op_slice(g, all, 3, group * d, (group + 1) * d), 3, (int64_t[]){ 0, 0, kv_width });
		*v = op_reshape(g, op_slice(g, all, 3, (group + 1) * d, (group + 2) * d), 3, (int64_t[]){ 0, 0, kv_width });
		break;
	case QKV_FOUR_PARTS:
		all = op_reshape(g, all, 4, (int64_t[]){ 0, 0, 4, 3 * width / 4 });
		*q = op_reshape(g, op_slice(g, all, 3, 0, width / 4), 3, (int64_t[]){ 0, 0, width });
		*v = op_reshape(g, op_slice(g, all, 3, width / 4, width / 2), 3, (int64_t[]){ 0, 0, width });
		*k = op_reshape(g, op_slice(g, all, 3, width / 2, 3 * width / 4), 3, (int64_t[]){ 0, 0, width });
		break;
	}
}

static graph_value clipped(struct build *b, graph_value x, double c)
{
	struct graph *g = b->g;
	return c > 0 ? op_max(g, op_min(g, x, graph_f32(g, (float)c)), graph_f32(g, (float)-c)) : x;
}

// Over each head, with one weight for all heads or (qk_norm_heads) one each; or over all heads together.
static graph_value query_key_norm(struct build *b, const char *stem, graph_value x, int64_t heads, int64_t d)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	if (s->traits.qk_norm_whole)
		return norm(b, stem, x, heads * d);
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, d });
	if (s->traits.qk_norm_apart) {
		x = op_layer_norm(g, x, ones_of(b, d), NO_VALUE, 1e-5f);
		x = op_add(g, op_mul(g, x, WEIGHT(b, stem, "weight", heads, d)), WEIGHT(b, stem, "bias", heads, d));
	} else if (s->qk_norm_heads) {
		x = op_layer_norm(g, x, ones_of(b, d), NO_VALUE, (float)s->norm_eps);
		graph_value w = weight_named(b, stem) ? WEIGHT(b, stem, "weight", heads, d)
						      : weights_of_heads(b, arena_printf(graph_arena(g), "%ss", stem), heads, d);
		x = op_mul(g, x, w);
	} else if (!weight_named(b, stem))
		x = op_rms_norm(g, x, ones_of(b, d), (float)s->norm_eps);
	else
		x = norm(b, stem, x, d);
	return op_reshape(g, x, 3, (int64_t[]){ 0, 0, heads * d });
}

struct heads heads_of(const struct spec *s, int64_t layer)
{
	struct heads all = { s->heads, s->kv_heads, s->head_width, s->value_width ? s->value_width : s->head_width };
	return s->window_heads.width && s->sliding[layer] ? s->window_heads : all;
}

static graph_value value_norm(struct build *b, graph_value v, int64_t heads, int64_t d)
{
	v = op_rms_norm(b->g, op_reshape(b->g, v, 4, (int64_t[]){ 0, 0, heads, d }), ones_of(b, d), (float)b->s->norm_eps);
	return op_reshape(b->g, v, 3, (int64_t[]){ 0, 0, heads * d });
}

// Differential attention (Ye et al. 2024, https://arxiv.org/abs/2410.05258). Heads of value are twice as wide: that of key head j
// is [v_(j mod half), v_(half + j mod half)].  v [batch, keys, kv_heads * d] or, as a cache has it, [batch, kv_heads, keys, d]
static graph_value wide_values(struct build *b, graph_value v, int64_t kv_heads, int64_t d)
{
	struct graph *g = b->g;
	bool split = value_rank(g, v) == 4;
	int axis = split ? 1 : 2;
	graph_value by_head = split ? v : op_reshape(g, v, 4, (int64_t[]){ 0, 0, kv_heads, d });
	graph_value first = op_slice(g, by_head, axis, 0, kv_heads / 2),
		    second = op_slice(g, by_head, axis, kv_heads / 2, kv_heads);
	graph_value all[] = { op_concat(g, 2, (graph_value[]){ first, first }, axis),
		op_concat(g, 2, (graph_value[]){ second, second }, axis) };
	by_head = op_concat(g, 2, all, 3);
	return split ? by_head : op_reshape(g, by_head, 3, (int64_t[]){ 0, 0, 2 * kv_heads * d });
}

// (1 - init) * norm(y1 - lambda * y2), of y's halves [batch, seq, heads / 2 * 2 d]
static graph_value differences(struct build *b, graph_value y, struct heads n)
{
	struct graph *g = b->g;
	int64_t d = n.width, half = n.heads * d;
	double init = 0.8 - 0.6 * exp(-0.3 * (double)b->layer);
	graph_value q1 = WEIGHT(b, "layers.attn.lambda_q1", "", d), k1 = WEIGHT(b, "layers.attn.lambda_k1", "", d);
	graph_value q2 = WEIGHT(b, "layers.attn.lambda_q2", "", d), k2 = WEIGHT(b, "layers.attn.lambda_k2", "", d);
	graph_value first = op_exp(g, op_reduce_sum(g, op_mul(g, q1, k1), 0, true));
	graph_value second = op_exp(g, op_reduce_sum(g, op_mul(g, q2, k2), 0, true));
	graph_value lambda = op_add(g, op_sub(g, first, second), graph_f32(g, (float)init)); // [1]
	y = op_sub(g, op_slice(g, y, 2, 0, half), op_mul(g, op_slice(g, y, 2, half, 2 * half), lambda));
	y = op_reshape(g, y, 4, (int64_t[]){ 0, 0, n.heads / 2, 2 * d });
	y = op_scale(g, op_rms_norm(g, y, ones_of(b, 2 * d), (float)b->s->norm_eps), (float)(1 - init));
	return op_reshape(g, y, 3, (int64_t[]){ 0, 0, half });
}

// Dynamic masks (Doge, https://arxiv.org/abs/2508.02124): exp(A softplus(linear layer of a key's values)), a number a key head,
// is added to the scores, and a query sees the most_keys keys with the greatest, or more where some are equal. v as in
// wide_values -> [batch, heads, seq, keys]
static graph_value bias_by_values(struct build *b, graph_value mask, graph_value v, struct heads n, bool has_bias)
{
	struct graph *g = b->g;
	int64_t most = b->s->most_keys, group = n.heads / n.kv_heads, width = n.kv_heads * n.width;
	graph_value lowest = graph_f32(g, -FLT_MAX);
	if (value_rank(g, v) == 4)
		v = op_reshape(g, op_transpose(g, v, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, 0, width });
	graph_value step =
		op_softplus(g, linear(b, "layers.attn.step", v, width, n.kv_heads, has_bias)); // [batch, keys, kv_heads]
	step = op_exp(g, op_mul(g, step, WEIGHT(b, "layers.attn.decay", "", n.kv_heads)));
	step = op_unsqueeze(g, op_transpose(g, step, 3, (int[]){ 0, 2, 1 }), 2); // [batch, kv_heads, 1, keys]
	step = op_where(g, op_less(g, mask, graph_f32(g, 0)), lowest, step);     // [batch, kv_heads, seq, keys]
	graph_value lead[] = { op_dim(g, step, 0), op_dim(g, step, 1), op_dim(g, step, 2), graph_i64s(g, 1, &most) };
	graph_value none = op_expand(g, lowest, op_concat(g, 4, lead, 0)); // where there are fewer keys
	graph_value least = op_slice(g, op_topk(g, op_concat(g, 2, (graph_value[]){ step, none }, 3), most), -1, most - 1, most);
	step = op_unsqueeze(g, op_where(g, op_less_or_equal(g, least, step), step, lowest), 2);
	graph_value *heads = GRAPH_TABLE(g, NULL, group + 1, 1, graph_value);
	for (int64_t i = 0; heads && i < group; i++)
		heads[i] = step;
	step = heads ? op_concat(g, (int)group, heads, 2) : NO_VALUE; // [batch, kv_heads, group, seq, keys]
	graph_value shape[] = { op_dim(g, step, 0), graph_i64s(g, 1, &n.heads), op_dim(g, step, 3), op_dim(g, step, 4) };
	return op_reshape_to(g, step, op_concat(g, 4, shape, 0));
}

//   x -+- q -(norm)-(rope)-+
//      +- k -(norm)-(rope)-+- softmax(q k^T * scale + bias) v - o
//      +- v ---------------+
graph_value self_attention(struct build *b, graph_value x, graph_value bias, graph_value cos, graph_value sin, bool qkv_bias,
	bool out_bias, struct cache *cache)
{
	return self_attention_with(
		b, x, &(struct attention_extras){ .bias = bias, .cos = cos, .sin = sin }, qkv_bias, out_bias, cache);
}

// y, [batch, seq, heads * value width], by a gate that x, [batch, seq, hidden], is projected to.
static graph_value gated(struct build *b, graph_value y, graph_value x, struct heads n)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct traits *t = &s->traits;
	int64_t width = n.heads * n.value_width;

	if (t->attention_gate == GATE_SIGMOID) {
		graph_value gate = linear(b, "layers.attn.gate", x, s->hidden_size, width, false);
		if (weight_named(b, "layers.attn.gate_bias")) { // one a head
			graph_value bias =
				op_reshape(g, WEIGHT(b, "layers.attn.gate_bias", "", n.heads), 2, (int64_t[]){ n.heads, 1 });
			gate = op_add(g, op_reshape(g, gate, 4, (int64_t[]){ 0, 0, n.heads, n.value_width }), bias);
			gate = op_reshape(g, gate, 3, (int64_t[]){ 0, 0, width });
		}
		y = op_mul(g, y, op_sigmoid(g, gate));
	}
	if (t->attention_gate == GATE_HEADS || t->attention_gate == GATE_HEADS_SIGMOID) {
		graph_value gate = linear(b, "layers.attn.gate", x, s->hidden_size, n.heads, false); // [batch, seq, heads]
		gate = t->attention_gate == GATE_HEADS ? op_softplus(g, gate) : op_sigmoid(g, gate);
		y = op_mul(g, op_reshape(g, y, 4, (int64_t[]){ 0, 0, n.heads, n.value_width }), op_unsqueeze(g, gate, 3));
		y = op_reshape(g, y, 3, (int64_t[]){ 0, 0, width });
	}
	return y;
}

static graph_value turned(struct build *b, graph_value x, const struct attention_extras *e, int64_t heads, struct cache *cache)
{
	return cache && cache->row_last.id ? rope_turn_fused(b, cache, x, e->cos, e->sin, heads)
					   : rope_turn(b, x, e->cos, e->sin, heads);
}

graph_value self_attention_with(
	struct build *b, graph_value x, const struct attention_extras *e, bool qkv_bias, bool out_bias, struct cache *cache)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct traits *t = &s->traits;
	struct heads n = heads_of(s, b->layer);
	int64_t width = n.heads * n.value_width, from = s->keys_of ? s->keys_of[b->layer] : b->layer;
	bool own = from == b->layer;
	bool normed =
		(t->qk_norm || t->qk_norm_whole || t->qk_norm_apart || s->qk_norm_heads) && (!t->qk_norm_rotary || e->cos.id);
	graph_value q, k = NO_VALUE, v = NO_VALUE, gate;
	project(b, x, qkv_bias, own, &q, &k, &v, &gate);
	if (normed && !t->qk_norm_late) {
		q = query_key_norm(b, "layers.attn.q_norm", q, n.heads, n.width);
		k = own ? query_key_norm(b, "layers.attn.k_norm", k, n.kv_heads, n.width) : k;
	}
	q = clipped(b, q, s->clip_qkv), k = clipped(b, k, s->clip_qkv), v = clipped(b, v, s->clip_qkv);
	if (e->cos.id) {
		q = turned(b, q, e, n.heads, cache);
		k = own ? turned(b, k, e, n.kv_heads, cache) : k;
		v = e->turn_value ? turned(b, v, e, n.kv_heads, cache) : v;
	}
	if (normed && t->qk_norm_late) {
		q = query_key_norm(b, "layers.attn.q_norm", q, n.heads, n.width);
		k = query_key_norm(b, "layers.attn.k_norm", k, n.kv_heads, n.width);
	}
	if (t->value_norm && own)
		v = value_norm(b, v, n.kv_heads, n.value_width);
	if (s->value_scale > 0)
		v = op_scale(g, v, (float)s->value_scale);
	if (e->query_scale.id)
		q = op_mul(g, q, e->query_scale);
	bool shared = cache && cache->row_last.id;
	if (cache && !shared && own)
		cache_extend(b, cache, &k, &v, n.kv_heads, n.width, n.value_width);
	if (e->kept && own)
		e->kept[b->layer] = (struct kept){ k, v };
	if (e->kept && !own)
		k = e->kept[from].key, v = e->kept[from].value;
	graph_value added = s->most_keys ? bias_by_values(b, e->bias, v, n, qkv_bias) : e->bias;
	if (s->indexer)
		added = index_blocks(b, x, e, cache);
	graph_value sink = t->attention_sinks && (!t->window_sinks || s->sliding[b->layer])
		? WEIGHT(b, "layers.attn.sinks", "", n.heads)
		: NO_VALUE;
	if (t->differential)
		v = wide_values(b, v, n.kv_heads, n.width);
	double scale = s->attention_scale / (s->scale_by_layer ? (double)(b->layer + 1) : 1);
	graph_value y = shared
		? cache_attend(b, cache, q, k, v, sink, (float)scale)
		: op_attention(g,
			  &(struct attention){ q, k, v, .bias = added, .sink = sink, .heads = n.heads, .kv_heads = n.kv_heads,
				  .scale = (float)scale, .softcap = (float)s->attention_softcap });
	if (t->differential)
		y = differences(b, y, n);
	if (t->inner_norm && weight_named(b, "layers.attn.inner"))
		y = norm(b, "layers.attn.inner", y, width);
	if (t->result_norm)
		y = value_norm(b, y, n.heads, n.value_width);
	if (gate.id)
		y = op_mul(g, y, op_sigmoid(g, gate));
	y = gated(b, y, x, n);
	y = linear(b, "layers.attn.o", y, width, s->hidden_size, out_bias);
	bool last = t->last_out_bias && b->layer == s->layers_in_config - 1;
	return last ? op_add(g, y, WEIGHT(b, "layers.attn.o_last", "", s->hidden_size)) : y;
}

graph_value heads_part(struct graph *g, graph_value x, int64_t heads, int64_t all, int64_t begin, int64_t end)
{
	x = op_slice(g, op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, all }), 3, begin, end);
	return op_reshape(g, x, 3, (int64_t[]){ 0, 0, heads * (end - begin) });
}
