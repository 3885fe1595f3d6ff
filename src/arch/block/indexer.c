// SPDX-License-Identifier: Apache-2.0
// The indexer of sparse latent attention (DeepSeek-V3.2, https://arxiv.org/abs/2512.02556): narrow heads say which top_k tokens a
// token attends to.
//
//   score of token t for s = sum over heads of weight_s relu(q_s k_t / sqrt(width)), t not after s
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

// The rotated part of each head, at its beginning or (rope_last) its end.
static graph_value turned(struct build *b, graph_value x, const struct attention_extras *e, int64_t heads)
{
	struct graph *g = b->g;
	const struct indexer *i = b->s->indexer;
	int64_t d = i->width, rope = b->s->latent.rope;
	if (!e->cos.id)
		return x;
	if (!i->rope_last)
		return rope_turn_by(b, x, e->cos, e->sin, heads, i->interleaved);
	graph_value last = heads_part(g, x, heads, d, d - rope, d);
	last = op_reshape(g, rope_turn_by(b, last, e->cos, e->sin, heads, i->interleaved), 4, (int64_t[]){ 0, 0, heads, rope });
	graph_value first = op_reshape(g, heads_part(g, x, heads, d, 0, d - rope), 4, (int64_t[]){ 0, 0, heads, d - rope });
	return op_reshape(g, op_concat(g, 2, (graph_value[]){ first, last }, 3), 3, (int64_t[]){ 0, 0, heads * d });
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

// Which of the scores [batch, 1, seq, keys] are the top greatest: bool, of the same shape; of equals the first. (torch takes what
// introselect has at the front, which goes by all the values.) With fewer keys the rest are of a padding, which is cut off again.
static graph_value are_chosen(struct build *b, graph_value scores, int64_t top)
{
	struct graph *g = b->g;
	graph_value rows[] = { op_dim(g, scores, 0), op_dim(g, scores, 1), op_dim(g, scores, 2), graph_i64s(g, 1, &top) };
	graph_value shape = op_concat(g, 4, rows, 0), at;
	graph_value padded = op_concat(g, 2, (graph_value[]){ scores, op_expand(g, graph_f32(g, -FLT_MAX), shape) }, 3);
	op_topk_indices(g, padded, top, 3, false, &at); // [batch, 1, seq, top]
	graph_value chosen = op_scatter_elements(g, op_expand(g, graph_f32(g, 0), op_shape(g, padded)), at,
		op_expand(g, graph_f32(g, 1), shape), 3, SCATTER_REPLACE);
	chosen = op_slice_to(g, chosen, 3, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, scores, 3));
	return op_greater(g, chosen, graph_f32(g, 0.5f));
}

// bias [batch, 1, seq, keys] with what is not chosen masked. x [batch, seq, hidden], query: the query's latent, normed.
graph_value index_tokens(struct build *b, graph_value x, graph_value query, const struct attention_extras *e, struct cache *cache)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct indexer *i = s->indexer;
	int64_t n = i->heads, d = i->width, h = s->hidden_size, top = i->top_k;
	graph_value q = queries(b, x, query, e);
	graph_value k = linear(b, "layers.index.k", x, h, d, false);
	k = op_layer_norm(
		g, k, WEIGHT(b, "layers.index.k_norm", "weight", d), WEIGHT(b, "layers.index.k_norm", "bias", d), (float)i->eps);
	k = turned(b, k, e, 1);
	if (cache)
		cache_extend_index(b, cache, &k, d); // [batch, 1, keys, d]
	else
		k = op_unsqueeze(g, k, 1);
	graph_value scores = op_relu(g, op_matmul(g, q, op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }))); // [batch, n, seq, keys]
	graph_value weights = op_transpose(g, linear(b, "layers.index.weights", x, h, n, false), 3, (int[]){ 0, 2, 1 });
	weights = op_scale(g, weights, (float)(1 / sqrt((double)(n * d))));
	scores = op_reduce_sum(g, op_mul(g, scores, op_unsqueeze(g, weights, 3)), 1, true); // [batch, 1, seq, keys]
	scores = op_add(g, scores, e->bias);
	return op_where(g, are_chosen(b, scores, top), e->bias, graph_f32(g, -FLT_MAX));
}
