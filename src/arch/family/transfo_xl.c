// SPDX-License-Identifier: Apache-2.0
// Transformer-XL (Dai et al. 2019, https://arxiv.org/abs/1901.02860): causal layers over a memory of earlier states, which here
// is what a text begins with: mem_len rows of zeros. Scores go by content and by distance. Rare words have narrower embeddings,
// and the language model's head, which gives log probabilities, finds a word's cluster first (Grave et al. 2016,
// https://arxiv.org/abs/1609.04309).
//
//   layer:  [memory, x] -+- attention -(+)- norm -+- relu - linear -(+)- norm -
//   score = ((q + w) k + (q + r) R sines(distance)) / sqrt(width)
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

enum { CLUSTERS_MOST = 16 };

struct transfo_xl {
	int64_t ends[CLUSTERS_MOST + 1]; // of the clusters, the last the vocabulary's size
	bool own_table[CLUSTERS_MOST];   // the head's projection of this cluster is not the embedding's
	int64_t clusters, memory, farthest, narrower;
	bool norm_first, windowed; // windowed: every token sees as many as the others
};

// Of each cluster's embedding; with one table for all of them the same.
static int64_t width_of(const struct spec *s, int64_t cluster)
{
	const struct transfo_xl *o = s->own;
	int64_t width = s->embedding_size;
	for (int64_t i = 0; i < cluster; i++)
		width /= o->narrower;
	return width;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct transfo_xl *o = s->own = ARENA_NEW(a, struct transfo_xl);
	resolve_transformer(c, s, false);
	s->head_width = config_size(c, "head_dim", -1);
	s->act = ACT_RELU;
	o->memory = config_size(c, "mem_len", 1600);
	o->farthest = config_size(c, "clamp_len", 0);
	o->narrower = config_count(c, "div_val", 4);
	o->norm_first = config_bool(c, "pre_lnorm", false);
	o->windowed = config_bool(c, "same_length", true);
	const json_t *cuts = config_get(c, "cutoffs"), *ties = config_get(c, "tie_projs");
	o->clusters = (int64_t)json_array_size(cuts) + 1;
	if (config_size(c, "attn_type", 0) || !config_bool(c, "untie_r", true))
		config_fail(c, STATUS_UNSUPPORTED, "attn_type other than 0, or untie_r: false, is not supported yet");
	if (o->clusters > CLUSTERS_MOST)
		config_fail(c, STATUS_UNSUPPORTED, "%lld cutoffs", (long long)o->clusters - 1);
	for (int64_t i = 0; i < o->clusters && !c->error.status; i++) {
		const json_t *cut = json_array_get(cuts, (size_t)i), *tie = json_array_get(ties, (size_t)i);
		o->ends[i] = i == o->clusters - 1 ? s->vocab_size : json_is_integer(cut) ? json_integer_value(cut) : 0;
		o->own_table[i] = !json_is_true(tie);
		if (o->ends[i] <= (i ? o->ends[i - 1] : 0) || o->ends[i] > s->vocab_size)
			config_fail(c, STATUS_BAD_INPUT, "cutoffs should grow, up to vocab_size");
	}
	if (!c->error.status &&
		(s->hidden_size % 2 || s->head_width < 1 || s->ffn_size < 1 || o->narrower < 1 || o->memory > 1 << 20 ||
			width_of(s, o->narrower > 1 ? o->clusters - 1 : 0) < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld heads of %lld over %lld, %lld tokens of memory, div_val %lld",
			(long long)s->heads, (long long)s->head_width, (long long)s->hidden_size, (long long)o->memory,
			(long long)o->narrower);
	s->attention_scale = 1 / sqrt((double)s->head_width);
}

// x [.., width] through a projection that lies as [hidden, width]
static graph_value projected(struct build *b, const char *stem, graph_value x, int64_t width)
{
	return op_linear(b->g, x, WEIGHT(b, stem, "", b->s->hidden_size, width), NO_VALUE);
}

static graph_value embed(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct transfo_xl *o = s->own;
	graph_value sum = NO_VALUE;
	b->item = 0;
	if (o->narrower == 1) {
		sum = embedding(b, "embed.word", ids, s->vocab_size, s->embedding_size);
		if (s->embedding_size != s->hidden_size)
			sum = projected(b, "embed.project", sum, s->embedding_size);
	}
	for (; o->narrower > 1 && b->item < o->clusters && !graph_failed(g); b->item++) {
		int64_t begin = b->item ? o->ends[b->item - 1] : 0, width = width_of(s, b->item);
		graph_value from = graph_i64(g, begin), zero = graph_i64(g, 0);
		graph_value in = op_and(g, op_less_or_equal(g, from, ids), op_less(g, ids, graph_i64(g, o->ends[b->item])));
		graph_value row = op_where(g, in, begin ? op_sub(g, ids, from) : ids, zero);
		graph_value x =
			projected(b, "embed.project", embedding(b, "embed.word", row, o->ends[b->item] - begin, width), width);
		sum = op_where(g, op_unsqueeze(g, in, 2), x, sum.id ? sum : graph_f32(g, 0));
	}
	return op_scale(g, sum, (float)sqrt((double)s->hidden_size));
}

// What all layers share.
struct places {
	graph_value waves;    // [keys, hidden], of distances from 0
	graph_value distance; // i64 [seq, keys]: how far a key is behind, 0 where it is ahead
	graph_value seen;     // bool [seq, keys]
};

static struct places places(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct transfo_xl *o = b->s->own;
	int64_t half = b->s->hidden_size / 2;
	graph_value zero = graph_i64(g, 0), at = places_of(g, x), memory = graph_i64(g, o->memory);
	graph_value keys = op_add(g, op_squeeze(g, op_dim(g, x, 1), 0), memory);
	graph_value key = op_range(g, zero, keys, graph_i64(g, 1)), query = op_unsqueeze(g, at, 1), row = op_unsqueeze(g, key, 0);
	graph_value behind = op_sub(g, op_add(g, query, memory), row);
	struct places p = { .distance = op_max(g, behind, zero), .seen = op_less_or_equal(g, zero, behind) };
	if (o->windowed)
		p.seen = op_and(g, p.seen, op_less(g, query, row));
	graph_value far = o->farthest ? op_min(g, key, graph_i64(g, o->farthest)) : key;
	graph_value angle = op_mul(g, op_unsqueeze(g, op_cast(g, far, DTYPE_F32), 1),
		WEIGHT(b, "embed.frequencies", "inv_freq", half)); // as the file has them
	p.waves = op_concat(g, 2, (graph_value[]){ op_sin(g, angle), op_cos(g, angle) }, 1);
	return p;
}

// [batch, n, heads * width] -> [batch, heads, n, width]
static graph_value by_head(struct build *b, graph_value x)
{
	return op_transpose(
		b->g, op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, b->s->heads, b->s->head_width }), 4, (int[]){ 0, 2, 1, 3 });
}

static graph_value plus(struct build *b, graph_value q, const char *stem)
{
	return op_add(b->g, q, op_unsqueeze(b->g, WEIGHT(b, stem, "", b->s->heads, b->s->head_width), 1));
}

// memory and x [batch, keys, hidden], the last of which ask
static graph_value attention(struct build *b, graph_value both, graph_value x, const struct places *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, n = s->heads * s->head_width, memory = ((const struct transfo_xl *)s->own)->memory;
	graph_value all = linear(b, "layers.attn.qkv", both, h, 3 * n, false);
	graph_value q = op_slice(g, op_slice(g, all, 2, 0, n), 1, memory, INT64_MAX);
	graph_assume(g, q, 1, value_dim(g, x, 1));
	q = by_head(b, q);
	graph_value k = by_head(b, op_slice(g, all, 2, n, 2 * n)), v = by_head(b, op_slice(g, all, 2, 2 * n, 3 * n));
	graph_value r = by_head(b, op_unsqueeze(g, linear(b, "layers.attn.distance", p->waves, h, n, false), 0));
	graph_value met = op_matmul(g, plus(b, q, "layers.attn.content_bias"), op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }));
	graph_value far = op_matmul(g, plus(b, q, "layers.attn.distance_bias"), op_transpose(g, r, 4, (int[]){ 0, 1, 3, 2 }));
	far = op_gather_elements(g, far, op_expand(g, p->distance, op_shape(g, met)), 3); // [batch, heads, seq, keys]
	graph_value scores = op_scale(g, op_add(g, met, far), (float)s->attention_scale);
	scores = op_where(g, p->seen, scores, graph_f32(g, -FLT_MAX));
	graph_value y = op_transpose(g, op_matmul(g, op_softmax(g, scores, 3), v), 4, (int[]){ 0, 2, 1, 3 });
	return linear(b, "layers.attn.o", op_reshape(g, y, 3, (int64_t[]){ 0, 0, n }), n, h, false);
}

static graph_value layer(struct build *b, graph_value x, const struct places *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct transfo_xl *o = s->own;
	int64_t h = s->hidden_size;
	graph_value both = x;
	graph_enter(g, "attn");
	if (o->memory) {
		graph_value shape[] = { op_dim(g, x, 0), graph_i64s(g, 2, (int64_t[]){ o->memory, h }) };
		graph_value zeros = op_expand(g, graph_f32(g, 0), op_concat(g, 2, shape, 0));
		both = op_concat(g, 2, (graph_value[]){ zeros, x }, 1);
	}
	if (o->norm_first)
		both = layer_norm(b, "layers.attn.norm", both, h);
	x = op_add(g, x, attention(b, both, x, p));
	x = o->norm_first ? x : layer_norm(b, "layers.attn.norm", x, h);
	graph_leave(g);
	graph_enter(g, "ffn");
	graph_value y = o->norm_first ? layer_norm(b, "layers.ffn.norm", x, h) : x;
	y = activate(b, s->act, linear(b, "layers.ffn.up", y, h, s->ffn_size, true));
	x = op_add(g, x, linear(b, "layers.ffn.down", y, s->ffn_size, h, true));
	x = o->norm_first ? x : layer_norm(b, "layers.ffn.norm", x, h);
	graph_leave(g);
	return x;
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct body io = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape) };
	b->ids = io.ids;
	graph_value x = embed(b, io.ids);
	struct places p = places(b, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, &p);
		graph_leave(g);
	}
	io.last = x;
	head_build(b, &io);
}

static graph_value log_softmax(struct graph *g, graph_value x)
{
	graph_value most = op_reduce_max(g, x, -1, true), sum = op_reduce_sum(g, op_exp(g, op_sub(g, x, most)), -1, true);
	return op_sub(g, x, op_add(g, most, op_log(g, sum)));
}

// Scores of a cluster's words, and of clusters after those of the first: [batch, seq, words]
static graph_value scores_of(struct build *b, graph_value x, int64_t cluster)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct transfo_xl *o = s->own;
	int64_t begin = cluster ? o->ends[cluster - 1] : 0, words = o->ends[cluster] - begin, h = s->hidden_size;
	bool one = o->narrower == 1;
	int64_t width = one ? s->embedding_size : width_of(s, cluster), rows = one ? s->vocab_size : words;
	b->item = one && !o->own_table[cluster] ? 0 : cluster;
	if (!one || s->embedding_size != h) {
		graph_value w = WEIGHT(b, o->own_table[cluster] ? "head.project" : "embed.project", "", h, width);
		x = op_linear_in_out(g, x, w, NO_VALUE);
	}
	b->item = one ? 0 : cluster;
	graph_value w = WEIGHT(b, s->tied ? "embed.word" : "head.words", "weight", rows, width),
		    bias = WEIGHT(b, "head.words", "bias", rows);
	if (one && o->clusters > 1) {
		w = op_slice(g, w, 0, begin, begin + words);
		bias = op_slice(g, bias, 0, begin, begin + words);
	}
	graph_value y = op_linear(g, x, w, bias);
	int64_t others = o->clusters - 1;
	if (cluster || !others)
		return y;
	graph_value more = op_linear(g, x, WEIGHT(b, "head.clusters", "cluster_weight", others, width),
		WEIGHT(b, "head.clusters", "cluster_bias", others));
	return op_concat(g, 2, (graph_value[]){ y, more }, 2);
}

static void give_log_probabilities(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct transfo_xl *o = b->s->own;
	graph_value part[CLUSTERS_MOST], first = log_softmax(g, scores_of(b, io->last, 0));
	part[0] = op_slice(g, first, 2, 0, o->ends[0]);
	for (int64_t i = 1; i < o->clusters; i++) {
		graph_value own = op_slice(g, first, 2, o->ends[0] + i - 1, o->ends[0] + i); // the cluster's
		part[i] = op_add(g, log_softmax(g, scores_of(b, io->last, i)), own);
	}
	graph_output(g, "prediction_scores", o->clusters > 1 ? op_concat(g, (int)o->clusters, part, 2) : part[0]);
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_causal_lm, give_log_probabilities },
	{ 0 },
};

const struct family transfo_xl = {
	.name = "transfo-xl",
	.architecture = "decoder-only",
	.resolve = resolve,
	.build = build,
	.heads = heads,
	.any_heads = true,
};
