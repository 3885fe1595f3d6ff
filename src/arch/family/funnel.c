// SPDX-License-Identifier: Apache-2.0
// Funnel Transformer (Dai et al. 2020, https://arxiv.org/abs/2006.03236): blocks of post-norm layers, each over half as many
// states as the one before; a decoder of a few layers over all tokens reads the last block's states, each repeated, and the
// first block's. Both of its ways to compute attention by distance, which are equal, are built as the factorized one: sines and
// cosines of queries' and keys' positions apart. All tokens are of type 0, and every block begins with more than two states.
//
//   ids -> tokens - norm -> block -+- pool - block .. -> repeat -(+)- layers -> head
//                                  +-----------------------------+
//   score = ((q + w) k + (q + r) W sines(distance) + (q + s) t) / sqrt(width), the last two not of the first state
#include <math.h>

#include "arch/block/block.h"

enum pooling { POOL_MEAN, POOL_MAX };

struct funnel {
	const int64_t *sizes, *repeats; // of each block: its layers, and how often each of them runs
	int64_t blocks, decoders;
	enum pooling pooling;
	bool apart;     // the first state stands for the whole text: it is not pooled and has no distance
	bool truncated; // the last state is cut off before states are pooled with the first apart
	bool pool_queries_only;
};

// A block's states: their number and, of distances, where they stand.
struct level {
	graph_value at;    // f32 [states]
	graph_value inner; // f32 [states]: 0 of the first where it stands apart
	graph_value mask;  // f32 [batch, states]
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct funnel *o = s->own = ARENA_NEW(a, struct funnel);
	int64_t blocks = 0, repeats = 0, most = 0;
	o->sizes = config_sizes(c, "block_sizes", a, 0, &blocks);
	o->repeats = config_sizes(c, "block_repeats", a, 0, &repeats);
	o->blocks = blocks;
	o->decoders = config_count(c, "num_decoder_layers", 2);
	s->hidden_size = s->embedding_size = config_size(c, "hidden_size", -1);
	s->heads = s->kv_heads = config_size(c, "num_attention_heads", -1);
	s->head_width = config_size(c, "head_dim", -1);
	s->ffn_size = config_size(c, "intermediate_size", -1);
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->act = config_activation(c, "hidden_act", ACT_GELU_TANH);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-9);
	o->apart = config_bool(c, "separate_cls", true);
	o->truncated = config_bool(c, "truncate_seq", true);
	o->pool_queries_only = config_bool(c, "pool_q_only", true);
	const char *pooling = config_text(c, "pooling_type"), *kind = config_text(c, "attention_type");
	o->pooling = text_is(pooling, "max") ? POOL_MAX : POOL_MEAN;
	if (!text_is(pooling, "mean") && !text_is(pooling, "max"))
		config_fail(c, STATUS_UNSUPPORTED, "pooling_type %s is not supported yet", pooling ? pooling : "?");
	if (!text_is(kind, "factorized") && !text_is(kind, "relative_shift"))
		config_fail(c, STATUS_UNSUPPORTED, "attention_type %s is not supported yet", kind ? kind : "?");
	for (int64_t i = 0; i < blocks && !c->error.status; i++) {
		int64_t times = o->repeats && i < repeats ? o->repeats[i] : 1;
		if (o->sizes[i] < 1 || times < 1 || o->sizes[i] > CONFIG_COUNT_MOST || times > CONFIG_COUNT_MOST)
			config_fail(c, STATUS_BAD_INPUT, "block %lld of %lld layers, %lld times", (long long)i,
				(long long)o->sizes[i], (long long)times);
		most += o->sizes[i] * times;
	}
	if (!c->error.status &&
		(blocks < 1 || blocks > 20 || most > CONFIG_COUNT_MOST || (o->repeats && repeats != blocks) ||
			s->hidden_size < 2 || s->hidden_size % 2 || s->heads < 1 || s->head_width < 1 || s->ffn_size < 1 ||
			s->vocab_size < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld blocks of %lld layers, %lld heads of %lld over %lld", (long long)blocks,
			(long long)most, (long long)s->heads, (long long)s->head_width, (long long)s->hidden_size);
	s->layers = s->layers_in_config = most;
	s->attention_scale = 1 / sqrt((double)s->head_width);
}

// Sines and cosines of positions [states]: [states, hidden / 2] each
static void waves(struct build *b, graph_value at, graph_value *sin, graph_value *cos)
{
	struct graph *g = b->g;
	int64_t half = b->s->hidden_size / 2;
	float *slow = GRAPH_TABLE(g, NULL, half, 1, float);
	for (int64_t i = 0; slow && i < half; i++)
		slow[i] = (float)pow(10000, -(double)i / (double)half);
	graph_value angle = op_mul(g, op_unsqueeze(g, at, 1), graph_constant(g, DTYPE_F32, 1, &half, slow));
	*sin = op_sin(g, angle), *cos = op_cos(g, angle);
}

// [batch, states, heads * width] -> [batch, heads, states, width]
static graph_value by_head(struct build *b, graph_value x)
{
	return op_transpose(
		b->g, op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, b->s->heads, b->s->head_width }), 4, (int[]){ 0, 2, 1, 3 });
}

// q plus a vector of each head, STEM [heads, width], times the scale: [batch, heads, states, width]
static graph_value biased(struct build *b, graph_value q, const char *stem)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value bias = op_unsqueeze(g, WEIGHT(b, stem, "", s->heads, s->head_width), 1);
	return op_scale(g, op_add(g, q, bias), (float)s->attention_scale);
}

// Each head of q through its part of a weight that lies as [hidden, heads, width]: [batch, heads, states, hidden]
static graph_value of_heads(struct build *b, graph_value q)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value w = WEIGHT(b, "attn.distance", "", s->hidden_size, s->heads, s->head_width), all = NO_VALUE;
	for (int64_t i = 0; i < s->heads && !graph_failed(g); i++) {
		graph_value own = op_squeeze(g, op_slice(g, w, 1, i, i + 1), 1); // [hidden, width]
		graph_value y = op_linear(g, op_squeeze(g, op_slice(g, q, 1, i, i + 1), 1), own, NO_VALUE);
		y = op_unsqueeze(g, y, 1);
		all = all.id ? op_concat(g, 2, (graph_value[]){ all, y }, 1) : y;
	}
	return all;
}

// By how far keys are from queries: [batch, heads, queries, keys]
static graph_value distance_scores(struct build *b, graph_value q, const struct level *to, const struct level *from)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, half = h / 2;
	graph_value met = of_heads(b, biased(b, q, "attn.distance_bias"));
	graph_value first = op_slice(g, met, 3, 0, half), second = op_slice(g, met, 3, half, h), sin[2], cos[2];
	waves(b, to->at, &sin[0], &cos[0]);
	waves(b, from->at, &sin[1], &cos[1]);
	graph_value by_cos = op_add(g, op_mul(g, first, sin[0]), op_mul(g, second, cos[0]));
	graph_value by_sin = op_sub(g, op_mul(g, second, sin[0]), op_mul(g, first, cos[0]));
	graph_value keys = op_transpose(g, op_concat(g, 2, (graph_value[]){ cos[1], sin[1] }, 1), 2, (int[]){ 1, 0 });
	return op_matmul(g, op_concat(g, 2, (graph_value[]){ by_cos, by_sin }, 3), keys);
}

static graph_value attention(
	struct build *b, graph_value query, graph_value key, const struct level *to, const struct level *from)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, width = s->heads * s->head_width;
	graph_value q = by_head(b, linear(b, "attn.q", query, h, width, false)),
		    k = by_head(b, linear(b, "attn.k", key, h, width, true)),
		    v = by_head(b, linear(b, "attn.v", key, h, width, true));
	graph_value scores = op_matmul(g, biased(b, q, "attn.content_bias"), op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }));
	graph_value types = op_slice(g, WEIGHT(b, "attn.types", "", 2, s->heads, s->head_width), 0, 1, 2); // of the same type
	types = op_mul(g, biased(b, q, "attn.type_bias"), op_reshape(g, types, 3, (int64_t[]){ s->heads, 1, s->head_width }));
	graph_value more = op_add(g, distance_scores(b, q, to, from), op_reduce_sum(g, types, 3, true));
	if (((const struct funnel *)s->own)->apart)
		more = op_mul(g, more, op_mul(g, op_unsqueeze(g, to->inner, 1), op_unsqueeze(g, from->inner, 0)));
	graph_value hidden = op_sub(g, graph_f32(g, 1), op_unsqueeze(g, op_unsqueeze(g, from->mask, 1), 1));
	scores = op_sub(g, op_add(g, scores, more), op_scale(g, hidden, 1e6f));
	graph_value y = op_transpose(g, op_matmul(g, op_softmax(g, scores, 3), v), 4, (int[]){ 0, 2, 1, 3 });
	y = linear(b, "attn.o", op_reshape(g, y, 3, (int64_t[]){ 0, 0, width }), width, h, true);
	return layer_norm(b, "attn.norm", op_add(g, query, y), h);
}

static graph_value layer(struct build *b, graph_value query, graph_value key, const struct level *to, const struct level *from)
{
	const struct spec *s = b->s;
	graph_value x = attention(b, query, key, to, from);
	return layer_norm(b, "ffn.norm", op_add(b->g, x, prenorm_ffn(b, "ffn.up", "ffn.down", x)), s->hidden_size);
}

// What is pooled: [batch, states, ..] with the first twice, and the last cut off, where the first stands apart
static graph_value before_pool(struct build *b, graph_value x, bool truncated)
{
	struct graph *g = b->g;
	const struct funnel *o = b->s->own;
	if (!o->apart)
		return x;
	graph_value rest = truncated ? op_slice(g, x, 1, 0, -1) : x;
	return op_concat(g, 2, (graph_value[]){ op_slice(g, x, 1, 0, 1), rest }, 1);
}

// Halves the axis of states; the last may be alone. least: of the two the smaller one.
static graph_value pool(struct build *b, graph_value x, bool least)
{
	struct graph *g = b->g;
	const struct funnel *o = b->s->own;
	const int64_t two = 2, none[] = { 0, 0 };
	x = op_transpose(g, before_pool(b, x, o->truncated), 3, (int[]){ 0, 2, 1 });
	if (least)
		x = op_neg(g, op_max_pool(g, op_neg(g, x), 1, &two, &two, none, true));
	else if (o->pooling == POOL_MAX)
		x = op_max_pool(g, x, 1, &two, &two, none, true);
	else
		x = op_average_pool(g, x, 1, &two, &two, none, true, false);
	return op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
}

static struct level level_of(struct build *b, graph_value x, graph_value mask, int64_t block)
{
	struct graph *g = b->g;
	graph_value place = op_cast(g, places_of(g, x), DTYPE_F32), one = graph_f32(g, 1);
	float far = (float)((int64_t)1 << block);
	bool apart = ((const struct funnel *)b->s->own)->apart;
	graph_value at = op_scale(g, place, far);
	return (struct level){ apart && block ? op_sub(g, at, graph_f32(g, far - 1)) : at, op_min(g, place, one), mask };
}

// All blocks; *kept: the states that the decoder reads besides, after as many runs as the first block has layers.
static graph_value encode(struct build *b, graph_value x, graph_value mask, graph_value *kept)
{
	struct graph *g = b->g;
	const struct funnel *o = b->s->own;
	struct level now = level_of(b, x, mask, 0);
	int64_t runs = 0;
	for (int64_t block = 0; block < o->blocks && !graph_failed(g); block++) {
		graph_value pooled = NO_VALUE;
		struct level to = now;
		if (block) {
			pooled = pool(b, x, false);
			graph_value fewer = op_squeeze(g, pool(b, op_unsqueeze(g, now.mask, 2), true), 2);
			to = level_of(b, pooled, fewer, block);
		}
		for (int64_t i = 0; i < o->sizes[block] && !graph_failed(g); i++) {
			b->item_name = arena_printf(graph_arena(g), "encoder.blocks.%lld.%lld", (long long)block, (long long)i);
			for (int64_t k = 0; k < (o->repeats ? o->repeats[block] : 1) && !graph_failed(g); k++) {
				graph_enter(g, "layers.%lld", (long long)runs);
				bool first = pooled.id && i == 0 && k == 0, whole = first && o->pool_queries_only;
				x = layer(b, first ? pooled : x, first && !whole ? pooled : x, &to, whole ? &now : &to);
				graph_leave(g);
				if (++runs == o->sizes[0])
					*kept = x;
			}
		}
		now = to;
	}
	return x;
}

// Each state so often as it stands for tokens: [batch, tokens, hidden], tokens those of `as`
static graph_value repeated(struct build *b, graph_value x, graph_value as)
{
	struct graph *g = b->g;
	const struct funnel *o = b->s->own;
	int64_t times = (int64_t)1 << (o->blocks - 1), h = b->s->hidden_size;
	if (times == 1)
		return x;
	graph_value rest = op_unsqueeze(g, o->apart ? op_slice(g, x, 1, 1, INT64_MAX) : x, 2), end = op_dim(g, as, 1);
	rest = op_expand(g, rest, graph_i64s(g, 4, (int64_t[]){ 1, 1, times, 1 }));
	rest = op_reshape(g, rest, 3, (int64_t[]){ 0, -1, h });
	if (o->apart && o->truncated)
		rest = op_pad(g, rest, 1, 0, times - 1);
	if (o->apart)
		rest = op_concat(g, 2, (graph_value[]){ op_slice(g, x, 1, 0, 1), rest }, 1);
	rest = op_slice_to(g, rest, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), end);
	graph_assume(g, rest, 1, value_dim(g, as, 1));
	return rest;
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct funnel *o = s->own;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct body io = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape) };
	b->ids = io.ids;
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	graph_value mask = op_cast(g, io.mask, DTYPE_F32), kept = NO_VALUE;
	graph_value x = embedding(b, "embed.word", io.ids, s->vocab_size, s->hidden_size);
	x = encode(b, layer_norm(b, "embed.norm", x, s->hidden_size), mask, &kept);
	if (!head_how(s) && kept.id) {
		x = op_add(g, repeated(b, x, kept), kept);
		struct level all = level_of(b, x, mask, 0);
		for (int64_t i = 0; i < o->decoders && !graph_failed(g); i++) {
			b->item_name = arena_printf(graph_arena(g), "decoder.layers.%lld", (long long)i);
			graph_enter(g, "decoder.%lld", (long long)i);
			x = layer(b, x, x, &all, &all);
			graph_leave(g);
		}
	}
	io.last = x;
	head_build(b, &io);
}

enum { BLOCKS_ONLY = 1 };

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_masked_lm },
	{ &head_pretraining },
	{ &head_sequence, NULL, BLOCKS_ONLY },
	{ &head_token },
	{ &head_span },
	{ 0 },
};

const struct family funnel = {
	.name = "funnel",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
