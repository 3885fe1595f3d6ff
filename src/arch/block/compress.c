// SPDX-License-Identifier: Apache-2.0
// Attention to a window and to compressed entries (DeepSeek-V4, https://huggingface.co/deepseek-ai/DeepSeek-V4-Pro, its report's
// section 2.3): one head of keys, which are the values too, for all heads of queries. So many columns, padding too, become one
// entry: the sum of their values by a softmax over them, of each element by itself, normed and turned as the first of them.
//
//   x - q_a - norm -+- q_b - norm a head - rope -+- softmax(q k^T, sink) k - rope back - o_a by groups - o_b
//                   +- indexer: which entries ---+
//   x - kv - norm - rope - [k | entries] --------+
//
// Where entries overlap, a column has two values: one for its own entry, one for the next. The cache holds what columns add, and
// entries are made of it again at each step.
#include <float.h>

#include "arch/block/block.h"

static graph_value normed(struct build *b, const char *stem, graph_value x, int64_t width)
{
	return op_rms_norm(b->g, x, WEIGHT(b, stem, "weight", width), (float)b->s->norm_eps);
}

static const char *word(struct build *b, const char *stem, const char *part)
{
	return arena_printf(graph_arena(b->g), "%s.%s", stem, part);
}

// What columns add to entries, values and the logits of the softmax: [batch, seq, 2 * width]
static graph_value added_by(struct build *b, const char *stem, graph_value x, int64_t width)
{
	int64_t h = b->s->hidden_size;
	graph_value both[] = { linear(b, word(b, stem, "kv"), x, h, width, false),
		linear(b, word(b, stem, "gate"), x, h, width, false) };
	return op_concat(b->g, 2, both, 2);
}

// How many entries all columns make, the last of them perhaps of too few; i64 scalar.
static graph_value count_of(struct build *b, graph_value columns, int64_t each)
{
	struct graph *g = b->g;
	return op_div(g, op_add(g, op_squeeze(g, op_dim(g, columns, 1), 0), graph_i64(g, each - 1)), graph_i64(g, each));
}

// [batch, keys, width] -> [batch, entries, each, width]; behind the last column it stands again.
static graph_value by_entries(struct build *b, graph_value x, graph_value count, int64_t each)
{
	struct graph *g = b->g;
	graph_value one = graph_i64(g, 1), last = op_sub(g, op_squeeze(g, op_dim(g, x, 1), 0), one);
	graph_value at = op_range(g, graph_i64(g, 0), op_mul(g, count, graph_i64(g, each)), one);
	return op_reshape(g, op_gather(g, x, op_min(g, at, last), 1), 4, (int64_t[]){ 0, -1, each, value_dim(g, x, 2) });
}

// x [batch, entries, each, 2 * width]: the first half goes to the next entry. The first entry has `first` there.
static graph_value overlapping(struct build *b, graph_value x, graph_value number, int64_t width, float first)
{
	struct graph *g = b->g;
	graph_value own = op_slice(g, x, 3, width, 2 * width), zero = graph_i64(g, 0);
	graph_value before = op_gather(g, op_slice(g, x, 3, 0, width), op_max(g, op_sub(g, number, graph_i64(g, 1)), zero), 1);
	graph_value begins = op_unsqueeze(g, op_unsqueeze(g, op_equal(g, number, zero), 1), 2); // [entries, 1, 1]
	return op_concat(g, 2, (graph_value[]){ op_where(g, begins, graph_f32(g, first), before), own }, 2);
}

// The end of each head turned.
static graph_value turn_end(struct build *b, graph_value x, graph_value cos, graph_value sin, int64_t heads)
{
	return rope_turn_end(b, x, cos, sin, heads, b->s->traits.interleaved_rope);
}

// columns [batch, keys, 2 * width] of added_by -> entries [batch, entries, d]
static graph_value entries_of(struct build *b, const char *stem, graph_value columns, graph_value count, int64_t d)
{
	struct graph *g = b->g;
	const struct compressed *c = b->s->compressed;
	int64_t each = c->rates[b->layer], width = c->overlaps[b->layer] ? 2 * d : d;
	graph_value both = by_entries(b, columns, count, each), values = op_slice(g, both, 3, 0, width);
	graph_value logits = op_slice(g, both, 3, width, 2 * width);
	graph_value number = op_range(g, graph_i64(g, 0), count, graph_i64(g, 1));
	logits = op_add(g, logits, WEIGHT(b, word(b, stem, "place"), "", each, width));
	if (c->overlaps[b->layer]) {
		values = overlapping(b, values, number, d, 0);
		logits = overlapping(b, logits, number, d, -FLT_MAX);
	}
	graph_value sum = op_reduce_sum(g, op_mul(g, values, op_softmax(g, logits, 2)), 2, false), cos, sin;
	sum = normed(b, word(b, stem, "norm"), sum, d);
	graph_value at = op_unsqueeze(g, op_mul(g, number, graph_i64(g, each)), 0); // [1, entries]
	const struct rope *r = &b->s->rope;
	rope_tables_of(b, r, r->dim ? r->dim : b->s->head_width, sum, at, &cos, &sin);
	return turn_end(b, sum, cos, sin, 1);
}

// How many entries a query sees, those of columns up to its own: i64 [batch or 1, seq, 1]. A single query sees all whole ones,
// wherever its text begins, unless an indexer chooses.
static graph_value whole_before(struct build *b, graph_value columns, const struct attention_extras *e, int64_t each)
{
	struct graph *g = b->g;
	graph_value size = graph_i64(g, each), one = graph_i64(g, 1);
	graph_value whole = op_unsqueeze(g, op_div(g, op_add(g, e->positions, one), size), 2);
	if (b->s->compressed->overlaps[b->layer])
		return whole;
	graph_value alone = op_equal(g, op_squeeze(g, op_dim(g, e->positions, 1), 0), one);
	return op_where(g, alone, op_div(g, op_squeeze(g, op_dim(g, columns, 1), 0), size), whole);
}

// The entries of this layer [batch, entries, d], and what is added to their scores [batch, 1, seq, entries].
static graph_value entries(struct build *b, graph_value x, graph_value query, const struct attention_extras *e,
	struct cache *cache, graph_value *bias)
{
	struct graph *g = b->g;
	const struct compressed *c = b->s->compressed;
	bool chooses = c->overlaps[b->layer];
	int64_t d = b->s->head_width, wide = chooses ? 4 * d : 2 * d, each = c->rates[b->layer];
	graph_value columns = added_by(b, "layers.compress", x, wide / 2);
	if (chooses) {
		graph_value own = added_by(b, "layers.index.compress", x, 2 * b->s->indexer->width);
		columns = op_concat(g, 2, (graph_value[]){ columns, own }, 2);
	}
	if (cache) {
		cache_extend_index(b, cache, &columns, value_dim(g, columns, 2));
		columns = op_squeeze(g, columns, 1); // [batch, keys, ..]
	}
	graph_value count = count_of(b, columns, each), number = op_range(g, graph_i64(g, 0), count, graph_i64(g, 1));
	graph_value seen = op_unsqueeze(g, op_less(g, number, whole_before(b, columns, e, each)), 1); // [batch, 1, seq, entries]
	if (chooses) {
		graph_value own = op_slice(g, columns, 2, wide, INT64_MAX);
		graph_assume(g, own, 2, 4 * b->s->indexer->width);
		own = entries_of(b, "layers.index.compress", own, count, b->s->indexer->width);
		graph_value whole = op_div(g, op_squeeze(g, op_dim(g, columns, 1), 0), graph_i64(g, each));
		seen = op_and(g, seen, index_entries(b, x, query, own, whole, seen, e));
	}
	*bias = op_where(g, seen, graph_f32(g, 0), graph_f32(g, -FLT_MAX));
	return entries_of(b, "layers.compress", op_slice(g, columns, 2, 0, wide), count, d);
}

// [batch, seq, heads * d] -> [batch, seq, hidden]: groups of heads become narrow each by itself
static graph_value grouped_out(struct build *b, graph_value y, int64_t width)
{
	struct graph *g = b->g;
	const struct compressed *c = b->s->compressed;
	int64_t in = width / c->groups, r = c->out_rank;
	graph_value w =
		op_reshape(g, WEIGHT(b, "layers.attn.o_a", "weight", c->groups * r, in), 3, (int64_t[]){ c->groups, r, in });
	y = op_transpose(g, op_reshape(g, y, 4, (int64_t[]){ 0, 0, c->groups, in }), 4, (int[]){ 0, 2, 1, 3 });
	y = op_matmul(g, y, op_transpose(g, w, 3, (int[]){ 0, 2, 1 })); // [batch, groups, seq, r]
	y = op_reshape(g, op_transpose(g, y, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, 0, c->groups * r });
	return linear(b, "layers.attn.o_b", y, c->groups * r, b->s->hidden_size, false);
}

graph_value compressed_attention(struct build *b, graph_value x, const struct attention_extras *e, struct cache *cache)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->heads, d = s->head_width, rank = s->latent.query_rank;
	graph_value query = normed(b, "layers.attn.q_a_norm", linear(b, "layers.attn.q_a", x, s->hidden_size, rank, false), rank);
	graph_value q = op_reshape(g, linear(b, "layers.attn.q_b", query, rank, n * d, false), 4, (int64_t[]){ 0, 0, n, d });
	q = op_reshape(g, op_rms_norm(g, q, ones_of(b, d), (float)s->norm_eps), 3, (int64_t[]){ 0, 0, n * d });
	q = turn_end(b, q, e->cos, e->sin, n);
	graph_value k = normed(b, "layers.attn.kv_norm", linear(b, "layers.attn.kv", x, s->hidden_size, d, false), d),
		    bias = e->bias;
	k = turn_end(b, k, e->cos, e->sin, 1);
	graph_value v = k;
	if (cache)
		cache_extend(b, cache, &k, &v, 1, d, d);
	if (s->compressed->rates[b->layer]) {
		graph_value more, own = entries(b, x, query, e, cache, &more);
		own = cache ? op_unsqueeze(g, own, 1) : own;
		k = op_concat(g, 2, (graph_value[]){ k, own }, cache ? 2 : 1);
		bias = op_concat(g, 2, (graph_value[]){ bias, more }, 3);
		v = k;
	}
	graph_value y = op_attention(g,
		&(struct attention){ q, k, v, .bias = bias, .sink = WEIGHT(b, "layers.attn.sinks", "", n), .heads = n,
			.kv_heads = 1, .scale = (float)s->attention_scale });
	return grouped_out(b, turn_end(b, y, e->cos, op_neg(g, e->sin), n), n * d);
}
