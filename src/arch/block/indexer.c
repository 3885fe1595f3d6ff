// SPDX-License-Identifier: Apache-2.0
// The indexer of sparse latent attention (DeepSeek-V3.2, https://arxiv.org/abs/2512.02556): narrow heads say which top_k tokens a
// token attends to.
//
//   score of token t for s = sum over heads of weight_s relu(q_s k_t / sqrt(width)), t not after s
//
// Blocks of tokens (Qwen4, GLM-5 next) are chosen whole. A block is of the tokens that a row has, padding left out; those behind
// a query's last whole block it sees in any case. A block's key is the mean of its tokens', normed and turned as the first of
// them, and weights are 1; or the sum of them by a softmax over the block, of each element by itself.
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

// The rotated part of each head, at its beginning or (rope_last) its end.
static graph_value turned(struct build *b, graph_value x, const struct attention_extras *e, int64_t heads)
{
	const struct indexer *i = b->s->indexer;
	if (!e->cos.id)
		return x;
	return (i->rope_last ? rope_turn_end : rope_turn_by)(b, x, e->cos, e->sin, heads, i->interleaved);
}

// [batch, heads, seq, width], of the query's latent or, where there is none, of x
static graph_value queries(struct build *b, graph_value x, graph_value query, const struct attention_extras *e)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->indexer->heads, d = s->indexer->width, in = query.id ? s->latent.query_rank : s->hidden_size;
	if (!query.id)
		query = op_layer_norm(g, x, WEIGHT(b, "layers.index.q_norm", "weight", in),
			WEIGHT(b, "layers.index.q_norm", "bias", in), 1e-6f);
	graph_value q = linear(b, "layers.index.q", query, in, n * d, false);
	if (e->log_place.id) {
		q = scale_by_log(b, "layers.index.log_scale", op_reshape(g, q, 4, (int64_t[]){ 0, 0, n, d }), e->log_place);
		q = op_reshape(g, q, 3, (int64_t[]){ 0, 0, n * d });
	}
	q = turned(b, q, e, n);
	return op_transpose(g, op_reshape(g, q, 4, (int64_t[]){ 0, 0, n, d }), 4, (int[]){ 0, 2, 1, 3 });
}

// The scores of keys k [batch, 1, keys, d] for queries q [batch, heads, seq, d], weighed by x: [batch, 1, seq, keys]
static graph_value weighed(struct build *b, graph_value x, graph_value q, graph_value k)
{
	struct graph *g = b->g;
	const struct indexer *i = b->s->indexer;
	graph_value scores =
		op_relu(g, op_matmul(g, q, op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }))); // [batch, heads, seq, keys]
	graph_value weights = linear(b, "layers.index.weights", x, b->s->hidden_size, i->heads, false);
	weights = op_transpose(g, op_scale(g, weights, (float)(1 / sqrt((double)(i->heads * i->width)))), 3, (int[]){ 0, 2, 1 });
	return op_reduce_sum(g, op_mul(g, scores, op_unsqueeze(g, weights, 3)), 1, true);
}

graph_value index_entries(struct build *b, graph_value x, graph_value query, graph_value keys, graph_value count,
	graph_value seen, const struct attention_extras *e)
{
	struct graph *g = b->g;
	graph_value scores = weighed(b, x, queries(b, x, query, e), op_unsqueeze(g, keys, 1));
	return op_choose(g, op_where(g, seen, scores, graph_f32(g, -FLT_MAX)), count, b->s->indexer->top_k);
}

// A row's tokens by blocks. Of padding `number` is 0: the bias masks it.
struct blocks {
	graph_value order;  // i64 [batch, blocks * tokens of a block]: the tokens' columns; 0 behind the last
	graph_value number; // i64 [batch, keys]: of the block that each is in
	graph_value most;   // i64: how many
	graph_value whole;  // i64 [batch, seq, 1]: how many whole ones a query sees
};

static struct blocks blocks_of(struct build *b, graph_value mask, graph_value x, int64_t each)
{
	struct graph *g = b->g;
	graph_value keys = op_dim(g, mask, 1), size = graph_i64(g, each), one = graph_i64(g, 1), zero = graph_i64(g, 0);
	graph_value count = op_cumsum(g, mask, 1), is = op_cast(g, mask, DTYPE_BOOL);
	struct blocks k = { .most = op_div(g, op_add(g, op_squeeze(g, keys, 0), graph_i64(g, each - 1)), size) };
	graph_value slots = op_unsqueeze(g, op_mul(g, k.most, size), 0), end = op_add(g, slots, one); // padding goes to the end
	graph_value place = op_where(g, is, op_sub(g, count, one), slots);
	graph_value none[] = { op_dim(g, mask, 0), end };
	graph_value empty = op_expand(g, zero, op_concat(g, 2, none, 0));
	graph_value column = op_expand(g, op_range(g, zero, op_squeeze(g, keys, 0), one), op_shape(g, mask));
	graph_assume(g, column, 1, value_dim(g, mask, 1));
	k.order = op_scatter_elements(g, empty, place, column, 1, SCATTER_REPLACE);
	k.order = op_slice_to(g, k.order, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), slots);
	k.number = op_where(g, is, op_div(g, op_sub(g, count, one), size), zero);
	count = op_slice_to(g, count, 1, op_sub(g, keys, op_dim(g, x, 1)), keys); // of the queries
	graph_assume(g, count, 1, value_dim(g, x, 1));
	k.whole = op_unsqueeze(g, op_div(g, count, size), 2);
	return k;
}

// What lies with tokens, [batch, keys, width], by blocks: [batch, blocks, tokens of a block, width]
static graph_value by_blocks(struct build *b, graph_value x, const struct blocks *k, int64_t each)
{
	struct graph *g = b->g;
	graph_value batch = op_range(g, graph_i64(g, 0), op_squeeze(g, op_dim(g, x, 0), 0), graph_i64(g, 1));
	graph_value begin = op_unsqueeze(g, op_mul(g, batch, op_squeeze(g, op_dim(g, x, 1), 0)), 1);
	int64_t width = value_dim(g, x, 2);
	x = op_gather(g, op_reshape(g, x, 2, (int64_t[]){ -1, width }), op_add(g, k->order, begin), 0);
	return op_reshape(g, x, 4, (int64_t[]){ 0, -1, each, width });
}

// A rotary table [batch or 1, seq, 1, half] as [batch, seq, half]
static graph_value table_of_rows(struct graph *g, graph_value table, graph_value x)
{
	int64_t half = value_dim(g, table, 3);
	graph_value shape[] = { op_dim(g, x, 0), op_dim(g, x, 1), graph_i64s(g, 1, &half) };
	return op_expand(g, op_squeeze(g, table, 2), op_concat(g, 3, shape, 0));
}

// What new tokens add, [batch, seq, width], and what earlier ones added before: by blocks.
static graph_value kept_by_blocks(struct build *b, graph_value k, const struct blocks *blocks, struct cache *cache)
{
	if (cache) {
		cache_extend_index(b, cache, &k, value_dim(b->g, k, 2));
		k = op_squeeze(b->g, k, 1); // [batch, keys, width]
	}
	return by_blocks(b, k, blocks, b->s->indexer->block);
}

// The keys of all blocks, [batch, blocks, width]. The cache has tokens' keys as they are, and the tables they would be turned by.
static graph_value mean_keys(
	struct build *b, graph_value k, const struct blocks *blocks, const struct attention_extras *e, struct cache *cache)
{
	struct graph *g = b->g;
	int64_t d = b->s->indexer->width, half = value_dim(g, e->cos, 3);
	k = op_concat(g, 3, (graph_value[]){ k, table_of_rows(g, e->cos, k), table_of_rows(g, e->sin, k) }, 2);
	k = kept_by_blocks(b, k, blocks, cache);
	graph_value mean = op_reduce_mean(g, op_slice(g, k, 3, 0, d), 2, false);
	graph_value first = op_slice(g, k, 2, 0, 1); // [batch, blocks, 1, d + 2 half]
	graph_value cos = op_slice(g, first, 3, d, d + half), sin = op_slice(g, first, 3, d + half, d + 2 * half);
	return rope_turn_by(b, norm(b, "layers.index.k_norm", mean, d), cos, sin, 1, false);
}

// Likewise; the cache has tokens' keys and the logits of the softmax.
static graph_value pooled_keys(struct build *b, graph_value x, const struct blocks *blocks, struct cache *cache)
{
	struct graph *g = b->g;
	const struct indexer *i = b->s->indexer;
	int64_t d = i->width, h = b->s->hidden_size;
	graph_value k = op_layer_norm(g, linear(b, "layers.index.k", x, h, d, false),
		WEIGHT(b, "layers.index.k_norm", "weight", d), WEIGHT(b, "layers.index.k_norm", "bias", d), (float)i->eps);
	graph_value logits = op_linear(g, x, WEIGHT(b, "layers.index.pool", "", d, h), NO_VALUE);
	k = kept_by_blocks(b, op_concat(g, 2, (graph_value[]){ k, logits }, 2), blocks, cache);
	logits = op_add(g, op_slice(g, k, 3, d, 2 * d), WEIGHT(b, "layers.index.place", "", i->block, d));
	return op_reduce_sum(g, op_mul(g, op_softmax(g, logits, 2), op_slice(g, k, 3, 0, d)), 2, false);
}

// bias [batch, 1, seq, keys] with what is not chosen masked, by scores [batch, 1, seq, blocks], of which the first `count` are
// compared
static graph_value blocks_seen(
	struct build *b, graph_value scores, graph_value count, const struct blocks *blocks, const struct attention_extras *e)
{
	struct graph *g = b->g;
	const struct indexer *i = b->s->indexer;
	graph_value lowest = graph_f32(g, -FLT_MAX), number = op_range(g, graph_i64(g, 0), blocks->most, graph_i64(g, 1));
	graph_value whole = op_unsqueeze(g, op_less(g, number, blocks->whole), 1);
	graph_value chosen = op_choose(g, op_where(g, whole, scores, lowest), count, i->top_k);
	chosen = i->no_tail ? op_and(g, chosen, whole) : op_or(g, chosen, op_not(g, whole));
	graph_value one = graph_i64s(g, 1, (int64_t[]){ 1 }), seq = op_dim(g, scores, 2);
	graph_value shape[] = { op_dim(g, scores, 0), one, seq, op_dim(g, blocks->number, 1) };
	graph_value at = op_expand(g, op_unsqueeze(g, op_unsqueeze(g, blocks->number, 1), 1), op_concat(g, 4, shape, 0));
	chosen = op_gather_elements(g, op_cast(g, chosen, DTYPE_I32), at, 3); // [batch, 1, seq, keys]
	return op_where(g, op_cast(g, chosen, DTYPE_BOOL), e->bias, lowest);
}

// As index_tokens. Padding sees nothing, which is everything equally.
static graph_value index_pools(
	struct build *b, graph_value x, graph_value query, const struct attention_extras *e, struct cache *cache)
{
	struct graph *g = b->g;
	struct blocks blocks = blocks_of(b, e->mask, x, b->s->indexer->block);
	graph_value q = queries(b, x, query, e), end = op_dim(g, e->mask, 1);
	graph_value scores = weighed(b, x, q, op_unsqueeze(g, pooled_keys(b, x, &blocks, cache), 1));
	graph_value longest = op_reduce_max(g, op_reduce_max(g, blocks.whole, 1, true), 0, true); // of all rows
	graph_value seen = blocks_seen(b, scores, op_unsqueeze(g, longest, 1), &blocks, e);
	graph_value is = op_slice_to(g, e->mask, 1, op_sub(g, end, op_dim(g, x, 1)), end); // are the queries tokens?
	graph_assume(g, is, 1, value_dim(g, x, 1));
	is = op_unsqueeze(g, op_unsqueeze(g, op_cast(g, is, DTYPE_BOOL), 1), 3);
	return op_where(g, is, seen, graph_f32(g, -FLT_MAX));
}

graph_value index_blocks(struct build *b, graph_value x, const struct attention_extras *e, struct cache *cache)
{
	struct graph *g = b->g;
	const struct indexer *i = b->s->indexer;
	int64_t n = i->heads, d = i->width;
	graph_value both = linear(b, "layers.index.qk", x, b->s->hidden_size, (n + 1) * d, false);
	graph_value q = op_reshape(g, op_slice(g, both, 2, 0, n * d), 4, (int64_t[]){ 0, 0, n, d });
	q = op_reshape(g, norm(b, "layers.index.q_norm", q, d), 3, (int64_t[]){ 0, 0, n * d });
	q = op_reshape(g, rope_turn_by(b, q, e->cos, e->sin, n, false), 4, (int64_t[]){ 0, 0, n, d });
	struct blocks blocks = blocks_of(b, e->mask, x, i->block);
	graph_value k = mean_keys(b, op_slice(g, both, 2, n * d, (n + 1) * d), &blocks, e, cache);
	k = op_unsqueeze(g, op_transpose(g, k, 3, (int[]){ 0, 2, 1 }), 1); // [batch, 1, d, blocks]
	graph_value scores = op_relu(g, op_matmul(g, op_transpose(g, q, 4, (int[]){ 0, 2, 1, 3 }), k));
	scores = op_scale(g, op_reduce_sum(g, scores, 1, true), (float)(1 / sqrt((double)d)));
	return blocks_seen(b, scores, op_unsqueeze(g, blocks.whole, 1), &blocks, e);
}

graph_value index_tokens(struct build *b, graph_value x, graph_value query, const struct attention_extras *e, struct cache *cache)
{
	struct graph *g = b->g;
	const struct indexer *i = b->s->indexer;
	int64_t d = i->width;
	if (i->block)
		return index_pools(b, x, query, e, cache);
	graph_value q = queries(b, x, query, e);
	graph_value k = linear(b, "layers.index.k", x, b->s->hidden_size, d, false);
	k = op_layer_norm(
		g, k, WEIGHT(b, "layers.index.k_norm", "weight", d), WEIGHT(b, "layers.index.k_norm", "bias", d), (float)i->eps);
	k = turned(b, k, e, 1);
	if (cache)
		cache_extend_index(b, cache, &k, d); // [batch, 1, keys, d]
	else
		k = op_unsqueeze(g, k, 1);
	graph_value scores = op_add(g, weighed(b, x, q, k), e->bias);
	return op_where(g, op_choose(g, scores, NO_VALUE, i->top_k), e->bias, graph_f32(g, -FLT_MAX));
}
