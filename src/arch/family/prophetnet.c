// SPDX-License-Identifier: Apache-2.0
// ProphetNet (Qi et al. 2020, https://arxiv.org/abs/2001.04063): a post-norm encoder-decoder whose decoder predicts several
// tokens at each place. Beside the stream of its tokens stands one for each token that is predicted; all of them attend to the
// tokens' stream, and a predicting one to itself at its own place.
//
//   tokens + positions ------------------------+
//   positions one further + embedding of 1..n -+- norm -> layers -> [tokens' states | states that predict 1..n] -> head
#include <float.h>
#include <math.h>

#include "arch/block/seq2seq.h"

struct prophetnet_own { // of the whole and of both halves
	int64_t ngram, buckets, farthest;
};

// What all layers of the decoder share; S streams.
struct streams {
	int64_t count;
	graph_value bucket;    // i64 [S, 1, seq, keys], of distances
	graph_value mask;      // [S, 1, seq, keys]
	graph_value mask_self; // [S, 1, 1, 1]
};

// Rows of positions: pad_token_id + 1, .. and no further than the last but `ahead`
static graph_value positions(struct build *b, graph_value at, int64_t ahead)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value row = op_add(g, at, graph_i64(g, s->pad_token_id + 1));
	row = op_add(g, op_min(g, row, graph_i64(g, s->max_positions - 1)), graph_i64(g, ahead));
	return embedding(b, "embed.position", row, s->max_positions, s->hidden_size); // [seq, hidden]
}

static void encode(struct build *b, struct body *io)
{
	graph_value x = op_add(b->g, io->embeds, positions(b, places_of(b->g, io->embeds), 0));
	seq2seq_layers(b, io, layer_norm(b, "embed.norm", x, b->s->hidden_size), false, BIAS_ALL);
}

// query i64 [seq, 1], key i64 [1, keys]: a predicting stream sees what its token's prophecy was made from, and the first token.
static void make_streams(struct build *b, graph_value query, graph_value key, struct streams *p)
{
	struct graph *g = b->g;
	const struct prophetnet_own *o = b->s->own;
	const int64_t shape[] = { p->count, 1, 1, 1 };
	int64_t *further = GRAPH_TABLE(g, NULL, p->count, 2, int64_t), *fewer = further ? further + p->count : NULL;
	float *masked = GRAPH_TABLE(g, NULL, p->count, 1, float);
	if (!further || !masked)
		return;
	for (int64_t i = 0; i < p->count; i++) {
		further[i] = i > 0;
		fewer[i] = i > 1 ? i - 1 : 0;
		masked[i] = i ? 0 : -FLT_MAX;
	}
	graph_value behind = op_sub(g, query, key);
	graph_value distance = op_add(g, behind, graph_constant(g, DTYPE_I64, 4, shape, further));
	p->bucket = distance_buckets(b, distance, o->buckets, o->farthest, false);
	graph_value seen = op_less_or_equal(g, graph_constant(g, DTYPE_I64, 4, shape, fewer), behind);
	seen = op_or(g, seen, op_equal(g, key, graph_i64(g, 0)));
	p->mask = op_where(g, seen, graph_f32(g, 0), graph_f32(g, -FLT_MAX));
	p->mask_self = graph_constant(g, DTYPE_F32, 4, shape, masked);
}

// [batch, S, seq, heads * width] -> [batch, S, heads, seq, width]
static graph_value by_head(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	x = op_reshape(g, x, 5, (int64_t[]){ 0, 0, 0, b->s->heads, b->s->head_width });
	return op_transpose(g, x, 5, (int[]){ 0, 1, 3, 2, 4 });
}

// The score of each bucket of distances: [batch, S, heads, seq, buckets]. The class takes those of predicting streams, which lie
// as [seq, stream, head], for [stream, head, seq]: of several tokens at once they are another place's. Of one token, which is
// all that it takes behind a past, they are its own.
static graph_value bucket_scores(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct prophetnet_own *o = s->own;
	x = linear(b, "layers.attn.relative", x, s->hidden_size, o->buckets * s->heads, true);
	x = op_reshape(g, x, 5, (int64_t[]){ 0, 0, 0, o->buckets, s->heads });
	graph_value own = op_transpose(g, op_slice(g, x, 1, 0, 1), 5, (int[]){ 0, 1, 4, 2, 3 });
	graph_value others = op_transpose(g, op_slice(g, x, 1, 1, INT64_MAX), 5, (int[]){ 0, 2, 1, 4, 3 });
	others = op_reshape(g, others, 5, (int64_t[]){ 0, o->ngram, s->heads, -1, o->buckets });
	graph_assume(g, others, 3, value_dim(g, own, 3));
	return op_concat(g, 2, (graph_value[]){ own, others }, 1);
}

// x [batch, S, seq, hidden], the first stream the tokens'
static graph_value self_attention_of_streams(struct build *b, const struct body *io, graph_value x, const struct streams *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, d = s->head_width;
	graph_value q = op_scale(g, by_head(b, linear(b, "layers.attn.q", x, h, h, true)), (float)s->attention_scale);
	graph_value own_k = linear(b, "layers.attn.k", x, h, h, true), own_v = linear(b, "layers.attn.v", x, h, h, true);
	graph_value k = op_squeeze(g, op_slice(g, own_k, 1, 0, 1), 1), v = op_squeeze(g, op_slice(g, own_v, 1, 0, 1), 1);
	if (io->cache)
		cache_extend(b, io->cache, &k, &v, s->heads, d, d); // [batch, heads, keys, width]
	else {
		k = op_transpose(g, op_reshape(g, k, 4, (int64_t[]){ 0, 0, s->heads, d }), 4, (int[]){ 0, 2, 1, 3 });
		v = op_transpose(g, op_reshape(g, v, 4, (int64_t[]){ 0, 0, s->heads, d }), 4, (int[]){ 0, 2, 1, 3 });
	}
	own_k = by_head(b, own_k), own_v = by_head(b, own_v);
	graph_value met = op_matmul(g, q, op_unsqueeze(g, op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }), 1));
	graph_value by_bucket = bucket_scores(b, x), bucket = op_expand(g, p->bucket, op_shape(g, met));
	met = op_add(g, op_add(g, met, op_gather_elements(g, by_bucket, bucket, 4)), p->mask); // [batch, S, heads, seq, keys]
	graph_value self = op_add(g, op_reduce_sum(g, op_mul(g, q, own_k), 4, true), op_slice(g, by_bucket, 4, 0, 1));
	self = op_add(g, self, p->mask_self);
	graph_value share = op_softmax(g, op_concat(g, 2, (graph_value[]){ met, self }, 4), 4);
	graph_value y = op_matmul(g, op_slice(g, share, 4, 0, -1), op_unsqueeze(g, v, 1));
	y = op_add(g, y, op_mul(g, op_slice(g, share, 4, -1, INT64_MAX), own_v));
	y = op_reshape(g, op_transpose(g, y, 5, (int[]){ 0, 1, 3, 2, 4 }), 4, (int64_t[]){ 0, 0, 0, h });
	return linear(b, "layers.attn.o", y, h, h, true);
}

// All streams look at the encoder's states as if they were one text.
static graph_value cross_attention(struct build *b, const struct body *io, graph_value x, graph_value bias)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, seq = value_dim(g, x, 2);
	graph_value y = op_reshape(g, x, 3, (int64_t[]){ 0, -1, h });
	y = attend(b, "layers.cross", y, io->memory, bias, io->cross, BIAS_ALL);
	y = op_reshape(g, y, 4, (int64_t[]){ 0, value_dim(g, x, 1), -1, h });
	graph_assume(g, y, 2, seq);
	return y;
}

static graph_value decoder_layer(struct build *b, const struct body *io, graph_value x, const struct streams *p, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_enter(g, "attn");
	x = layer_norm(b, "layers.attn.norm", op_add(g, x, self_attention_of_streams(b, io, x, p)), h);
	graph_leave(g);
	graph_enter(g, "cross");
	x = layer_norm(b, "layers.cross.norm", op_add(g, x, cross_attention(b, io, x, bias)), h);
	graph_leave(g);
	graph_enter(g, "ffn");
	x = layer_norm(b, "layers.ffn.norm", op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", x)), h);
	graph_leave(g);
	return x;
}

static void decode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct prophetnet_own *o = s->own;
	int64_t n = o->ngram, h = s->hidden_size;
	struct streams p = { .count = 1 + n };
	graph_value query, key, stream[CONFIG_COUNT_MOST + 1];
	decoder_places(b, io, &query, &key);
	make_streams(b, query, key, &p);
	graph_value at = op_squeeze(g, query, 1), table = WEIGHT(b, "embed.streams", "weight", o->ngram, h);
	graph_value x = op_add(g, io->embeds, positions(b, at, 0)), next = positions(b, at, 1);
	stream[0] = op_unsqueeze(g, x, 1);
	for (int64_t i = 0; i < n && !graph_failed(g); i++) { // the first has the last row
		int64_t row = (i + o->ngram - 1) % o->ngram;
		graph_value y = op_add(g, next, op_slice(g, table, 0, row, row + 1));
		stream[i + 1] = op_unsqueeze(g, op_expand(g, y, op_shape(g, x)), 1);
	}
	if (graph_failed(g))
		return;
	x = layer_norm(b, "embed.norm", op_concat(g, (int)n + 1, stream, 1), h); // [batch, S, seq, hidden]
	graph_value bias = mask_bidirectional(b, io->memory_mask);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = decoder_layer(b, io, x, &p, bias);
		graph_leave(g);
	}
	io->last = op_squeeze(g, op_slice(g, x, 1, 0, 1), 1);
	io->streams = op_slice(g, x, 1, 1, n + 1);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct prophetnet_own *o = s->own = ARENA_NEW(a, struct prophetnet_own);
	struct halves_sizes h = { .alone = false };
	resolve_halves_sizes(c, s, &h);
	s->max_positions = config_size(c, "max_position_embeddings", -1);
	*o = (struct prophetnet_own){ .ngram = config_count(c, "ngram", 2),
		.buckets = config_count(c, "num_buckets", 32),
		.farthest = config_size(c, "relative_max_distance", 128) };
	if (!config_bool(c, "add_cross_attention", true))
		config_fail(c, STATUS_UNSUPPORTED, "add_cross_attention: false is not supported yet");
	if (c->error.status)
		return;
	if (o->ngram < 1 || s->pad_token_id < 0 || s->max_positions < s->pad_token_id + 2)
		config_fail(c, STATUS_BAD_INPUT, "ngram %lld, and %lld positions that count from pad_token_id %lld",
			(long long)o->ngram, (long long)s->max_positions, (long long)s->pad_token_id);
	resolve_halves(s, a, &h);
}

static void build(struct build *b)
{
	struct seq2seq f = { .encode = encode, .decode = decode, .one_table = b->s->tied };
	seq2seq_build(b, &f);
}

static void give_logits(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	int64_t n = ((const struct prophetnet_own *)b->s->own)->ngram;
	graph_value y = seq2seq_scores(b, io->own, io->streams); // [batch, n, seq, vocab]
	graph_output(g, "logits", op_squeeze(g, op_slice(g, y, 1, 0, 1), 1));
	if (n > 1)
		graph_output(g, "logits_ngram", op_slice(g, y, 1, 1, n));
}

static void give_states(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	graph_output(g, "last_hidden_state", io->last);
	graph_output(g, "last_hidden_state_ngram", op_reshape(g, io->streams, 3, (int64_t[]){ 0, -1, b->s->hidden_size }));
}

static const struct family_head heads[] = {
	{ &head_conditional, give_logits },
	{ &head_model, give_states },
	{ 0 },
};

const struct family prophetnet = {
	.name = "prophetnet",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.graphs = seq2seq_graphs,
	.heads = heads,
};
