// SPDX-License-Identifier: Apache-2.0
// Mega (Ma et al. 2022, https://arxiv.org/abs/2209.10655): a damped exponential moving average, of each channel in `ema`
// dimensions, makes what one head of gated attention is computed from.
//
//   h_t = (1 - alpha delta) h_(t-1) + alpha beta x_t      y_t = gamma h_t / sqrt(ema),  alpha, delta = sigmoids of weights
//
//   x -+- norm -+- average(both ways) + omega x - silu - linear -+- sigmoid ---------------------------- share
//      |        |                                               +- silu - * w + b: query and key        |
//      |        |                                               +- silu: gate -(*)- linear -(+)- act -(mix with x)-
//      |        +- linear - act: value ----- attention -----------------------+              |
//      |                                                        +----------------------------+
//
// transformers multiplies by the average's kernel in the frequency domain; here it is the recurrence, a Scan over the sequence.
// Its alpha is called damping_factor and its delta decay_factor. A language model gives no states for the next token: the class
// would average over all tokens then, whatever truncation says.
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

enum norm_kind { NORM_SCALE, NORM_LAYER, NORM_WEIGHT, NORM_BATCH };
static const float EPSILON = 1e-5f;

struct mega {
	int64_t ema, shared, value; // dimensions of the average, width of query and key, of the value
	int64_t chunk;              // tokens that see each other; 0: all do
	int64_t truncation;         // how many tokens the average reaches; 0: all
	int64_t places;             // distances each way of the learned bias; 0: it is rotary
	enum norm_kind norm;
	enum activation weigh; // of scores where there is no softmax
	bool affine, norm_first, ffn_norm_first, ffn, both_ways, causal, typed, dense, softmax;
};

static void resolve_norm(struct config *c, struct mega *o)
{
	const char *word = config_text(c, "normalization_type");
	o->affine = config_bool(c, "norm_affine", true);
	o->norm_first = config_bool(c, "normalize_before_mega", true);
	o->ffn_norm_first = config_bool(c, "normalize_before_ffn", true);
	if (!word || text_is(word, "scalenorm"))
		o->norm = NORM_SCALE;
	else if (text_is(word, "layernorm"))
		o->norm = NORM_LAYER;
	else if (text_is(word, "rmsnorm"))
		o->norm = NORM_WEIGHT;
	else if (text_is(word, "batchnorm") || text_is(word, "syncbatchnorm"))
		o->norm = NORM_BATCH;
	else
		config_fail(c, STATUS_BAD_INPUT, "normalization_type %s is not known", word);
}

static void resolve_attention(struct config *c, struct spec *s, struct mega *o)
{
	const char *word = config_text(c, "attention_activation"), *bias = config_text(c, "relative_positional_bias");
	bool chunked = config_bool(c, "use_chunking", false), simple = bias && text_is(bias, "simple");
	double size = config_real(c, "chunk_size", -1);
	o->softmax = !word || text_is(word, "softmax");
	if (!o->softmax)
		o->weigh = config_activation_word(c, "attention_activation", word);
	if (bias && !simple && !text_is(bias, "rotary"))
		config_fail(c, STATUS_BAD_INPUT, "relative_positional_bias %s is not known", bias);
	if (size > INT32_MAX || (chunked && size < 1) || (simple && (size == 0 || s->max_positions < (size < 0 ? 1 : size)))) {
		config_fail(c, STATUS_BAD_INPUT, "chunks of %.0f tokens, max_positions %lld", size, (long long)s->max_positions);
		return;
	}
	o->chunk = chunked ? (int64_t)size : 0;
	if (simple)
		o->places = size < 0 ? s->max_positions : (int64_t)size;
}

static void resolve_average(struct config *c, struct mega *o)
{
	bool cut = config_get(c, "truncation");
	o->ema = config_size(c, "ema_projection_size", 16);
	o->truncation = config_size(c, "truncation", 0);
	o->both_ways = config_bool(c, "bidirectional", true);
	if (o->ema < 1 || (cut && o->truncation < 1))
		config_fail(c, STATUS_BAD_INPUT, "an average of %lld dimensions over %lld tokens", (long long)o->ema,
			(long long)o->truncation);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct mega *o = s->own = ARENA_NEW(a, struct mega);
	resolve_transformer(c, s, false);
	o->causal = config_bool(c, "is_decoder", false);
	resolve_norm(c, o);
	resolve_attention(c, s, o);
	resolve_average(c, o);
	s->act = config_activation(c, "hidden_act", ACT_SILU);
	o->value = s->ffn_size;
	s->ffn_size = config_size(c, "nffn_hidden_size", 256);
	o->shared = config_size(c, "shared_representation_size", 64);
	o->ffn = config_bool(c, "use_normalized_ffn", true);
	o->typed = config_bool(c, "add_token_type_embeddings", false);
	o->dense = config_bool(c, "add_lm_hidden_dense_layer", true);
	if (!c->error.status && (o->value < 1 || s->ffn_size < 1 || o->shared < 2 || o->shared % 2))
		config_fail(c, STATUS_BAD_INPUT, "queries of %lld, values of %lld, feed-forward %lld", (long long)o->shared,
			(long long)o->value, (long long)s->ffn_size);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct mega *o = s->own;
	if (o->places && !o->chunk)
		out->max_sequence = o->places;
	if (!o->typed)
		out->type_vocab_size = 0;
}

// What the class calls an RMS norm multiplies by its weight and divides by nothing.
static graph_value norm_of(struct build *b, const char *stem, graph_value x)
{
	struct graph *g = b->g;
	const struct mega *o = b->s->own;
	int64_t h = b->s->hidden_size;
	graph_value one = ones_of(b, h), zero = op_scale(g, one, 0);
	switch (o->norm) {
	case NORM_SCALE:
		x = op_rms_norm(g, x, one, EPSILON);
		return o->affine ? op_mul(g, x, WEIGHT(b, stem, "scalar", 1)) : x;
	case NORM_LAYER:
		return o->affine ? op_layer_norm(g, x, WEIGHT(b, stem, "weight", h), WEIGHT(b, stem, "bias", h), EPSILON)
				 : op_layer_norm(g, x, one, NO_VALUE, EPSILON);
	case NORM_WEIGHT:
		return o->affine ? op_mul(g, x, WEIGHT(b, stem, "weight", h)) : x;
	case NORM_BATCH:
		x = op_batch_norm(g, op_transpose(g, x, 3, (int[]){ 0, 2, 1 }), o->affine ? WEIGHT(b, stem, "weight", h) : one,
			o->affine ? WEIGHT(b, stem, "bias", h) : zero, WEIGHT(b, stem, "running_mean", h),
			WEIGHT(b, stem, "running_var", h), EPSILON);
		return op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	}
	return x;
}

// x [batch, seq, ..] from its end
static graph_value reversed(struct graph *g, graph_value x)
{
	graph_value last = op_sub(g, op_dim(g, x, 1), graph_i64(g, 1)), y = op_gather(g, x, op_sub(g, last, places_of(g, x)), 1);
	graph_assume(g, y, 1, value_dim(g, x, 1));
	return y;
}

// x [batch, seq, ..] so many tokens later, zeros before
static graph_value delayed(struct graph *g, graph_value x, int64_t tokens)
{
	graph_value y = op_slice_to(g, op_pad(g, x, 1, tokens, 0), 1, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, x, 1));
	graph_assume(g, y, 1, value_dim(g, x, 1));
	return y;
}

// Averages of x [batch, seq, channels]. The state is h without its factor alpha beta, which gamma has instead; what is farther
// than `truncation` leaves it by as much as is left of it by then.
static graph_value averages(struct build *b, graph_value x, int64_t channels)
{
	struct graph *g = b->g;
	const struct mega *o = b->s->own;
	const int64_t state[] = { channels, o->ema };
	graph_value shape[] = { op_dim(g, x, 0), graph_i64s(g, 2, state) };
	struct scan s = { .state_count = 1,
		.first = { op_expand(g, graph_f32(g, 0), op_concat(g, 2, shape, 0)) },
		.over_count = o->truncation ? 2 : 1,
		.over = { op_unsqueeze(g, x, 3) },
		.axis = 1 };
	if (o->truncation)
		s.over[1] = op_unsqueeze(g, delayed(g, x, o->truncation), 3);
	graph_assume(g, s.first[0], 0, value_dim(g, x, 0));

	op_scan_begin(g, &s);
	graph_value alpha = op_sigmoid(g, op_squeeze(g, WEIGHT(b, "layers.ema.alpha", "", channels, o->ema, 1), 2));
	graph_value delta = op_sigmoid(g, op_squeeze(g, WEIGHT(b, "layers.ema.delta", "", channels, o->ema, 1), 2));
	graph_value left = op_sub(g, graph_f32(g, 1), op_mul(g, alpha, delta)), new = s.item[0];
	graph_value beta = op_squeeze(g, WEIGHT(b, "layers.ema.beta", "", channels, o->ema, 1), 2);
	graph_value gamma = op_scale(g, WEIGHT(b, "layers.ema.gamma", "", channels, o->ema), (float)sqrt(1 / (double)o->ema));
	if (o->truncation)
		new = op_sub(g, new, op_mul(g, s.item[1], op_pow(g, left, graph_f32(g, (float)o->truncation))));
	graph_value h = op_add(g, op_mul(g, left, s.state[0]), new);
	graph_value y = op_reduce_sum(g, op_mul(g, h, op_mul(g, gamma, op_mul(g, alpha, beta))), 2, false);
	op_scan_end(g, &s, &h, 1, &y);
	return s.all[0];
}

// x [batch, seq, hidden], mask f32 [batch, seq] -> the same as x
static graph_value moving_average(struct build *b, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value own = op_mul(g, x, WEIGHT(b, "layers.ema.omega", "", h)), y;
	x = op_mul(g, x, op_unsqueeze(g, mask, 2));
	if (((const struct mega *)b->s->own)->both_ways) {
		y = averages(b, op_concat(g, 2, (graph_value[]){ x, reversed(g, x) }, 2), 2 * h);
		y = op_add(g, op_slice(g, y, 2, 0, h), reversed(g, op_slice(g, y, 2, h, 2 * h)));
	} else {
		y = averages(b, x, h);
	}
	return op_silu(g, op_add(g, y, own));
}

// [batch, seq, width] or, for width 0, [batch, seq] -> [batch, chunks, tokens, width]
static graph_value by_chunk(struct build *b, graph_value x, int64_t width)
{
	struct graph *g = b->g;
	const struct mega *o = b->s->own;
	if (!o->chunk)
		return op_unsqueeze(g, x, 1);
	graph_value tokens = op_min(g, op_dim(g, x, 1), graph_i64s(g, 1, &o->chunk));
	graph_value shape[] = { op_dim(g, x, 0), graph_i64s(g, 1, (int64_t[]){ -1 }), tokens, graph_i64s(g, 1, &width) };
	return op_reshape_to(g, x, op_concat(g, width ? 4 : 3, shape, 0));
}

// What is added to scores, by places at [tokens]: [tokens, tokens]
static graph_value position_bias(struct build *b, graph_value at)
{
	struct graph *g = b->g;
	const struct mega *o = b->s->own;
	graph_value query = op_unsqueeze(g, at, 1), key = op_unsqueeze(g, at, 0);
	if (o->places) {
		graph_value table = WEIGHT(b, "layers.attn.bias", "", 2 * b->s->max_positions - 1);
		return op_gather(g, table, op_add(g, op_sub(g, key, query), graph_i64(g, o->places - 1)), 0);
	}
	const struct rope usual = { .theta = 10000 };
	graph_value zero = op_scale(g, op_cast(g, op_unsqueeze(g, query, 0), DTYPE_F32), 0), cos, sin, side[2]; // [1, tokens, 1]
	static const char *const words[] = { "alpha", "b_param" };
	rope_tables_of(b, &usual, o->shared, zero, NO_VALUE, &cos, &sin);
	for (int i = 0; i < 2; i++) {
		graph_value x = op_add(g, zero, WEIGHT(b, "layers.attn.rotary", words[i], 1, o->shared));
		side[i] = op_squeeze(g, rope_turn_by(b, x, cos, sin, 1, false), 0);
	}
	return op_matmul(g, side[0], op_transpose(g, side[1], 2, (int[]){ 1, 0 }));
}

// q, k [batch, chunks, tokens, shared], mask f32 [batch, chunks, tokens] -> [batch, chunks, query, key]
static graph_value weights_of(struct build *b, graph_value q, graph_value k, graph_value mask)
{
	struct graph *g = b->g;
	const struct mega *o = b->s->own;
	graph_value tokens = op_squeeze(g, op_dim(g, q, 2), 0), at = op_range(g, graph_i64(g, 0), tokens, graph_i64(g, 1));
	graph_value before = op_less_or_equal(g, op_unsqueeze(g, at, 0), op_unsqueeze(g, at, 1)), one = graph_f32(g, 1);
	graph_value bias = position_bias(b, at), there = op_unsqueeze(g, mask, 2);
	graph_value scores = op_matmul(g, q, op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }));
	if (o->softmax) {
		// Where a chunk is all padding, none of it is masked.
		graph_value any = op_reduce_max(g, there, 3, true);
		graph_value seen = op_equal(g, there, any);
		seen = o->causal ? op_and(g, seen, before) : seen;
		scores = op_add(g, op_scale(g, scores, (float)(1 / sqrt((double)o->shared))), bias);
		return op_softmax(g, op_where(g, seen, scores, graph_f32(g, -FLT_MAX)), 3);
	}
	graph_value count = o->causal ? op_cast(g, op_add(g, op_unsqueeze(g, at, 1), graph_i64(g, 1)), DTYPE_F32)
				      : op_max(g, op_reduce_sum(g, there, 3, true), one);
	graph_value p = op_mul(g, activate(b, o->weigh, op_add(g, op_div(g, scores, count), bias)), there);
	return o->causal ? op_mul(g, p, op_cast(g, before, DTYPE_F32)) : p;
}

static graph_value gated_attention(struct build *b, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct mega *o = s->own;
	int64_t h = s->hidden_size, d = o->shared, v = o->value;
	graph_value in = o->norm_first ? norm_of(b, "layers.attn.norm", x) : x, side[2];
	graph_value value = activate(b, s->act, linear(b, "layers.attn.v", in, h, v, true));
	graph_value all = linear(b, "layers.attn.in", moving_average(b, in, mask), h, 2 * h + d + v, true);
	graph_value share = op_sigmoid(g, op_slice(g, all, 2, 0, h)), both = op_silu(g, op_slice(g, all, 2, h, h + d));
	graph_value gate = op_silu(g, op_slice(g, all, 2, h + d, h + d + v)),
		    more = op_slice(g, all, 2, h + d + v, 2 * h + d + v);
	graph_value scale = WEIGHT(b, "layers.attn.scale", "", 2, d), offset = WEIGHT(b, "layers.attn.offset", "", 2, d);
	for (int64_t i = 0; i < 2; i++)
		side[i] = by_chunk(
			b, op_add(g, op_mul(g, both, op_slice(g, scale, 0, i, i + 1)), op_slice(g, offset, 0, i, i + 1)), d);
	graph_value y = op_matmul(g, weights_of(b, side[0], side[1], by_chunk(b, mask, 0)), by_chunk(b, value, v));
	y = o->chunk ? op_reshape(g, y, 3, (int64_t[]){ 0, -1, v }) : op_squeeze(g, y, 1);
	graph_assume(g, y, 1, value_dim(g, x, 1));
	y = activate(b, s->act, op_add(g, more, linear(b, "layers.attn.o", op_mul(g, y, gate), v, h, true)));
	y = op_add(g, x, op_mul(g, share, op_sub(g, y, x)));
	return o->norm_first ? y : norm_of(b, "layers.attn.norm", y);
}

static graph_value feed_forward(struct build *b, graph_value x)
{
	const struct mega *o = b->s->own;
	graph_value in = o->ffn_norm_first ? norm_of(b, "layers.ffn.norm", x) : x;
	graph_value y = op_add(b->g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", in));
	return o->ffn_norm_first ? y : norm_of(b, "layers.ffn.norm", y);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct mega *o = s->own;
	const int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct body io = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape) };
	b->ids = io.ids;
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	graph_value mask = op_cast(g, io.mask, DTYPE_F32), x = embedding(b, "embed.word", io.ids, s->vocab_size, s->hidden_size);
	if (o->typed) {
		io.types = graph_input(g, "token_type_ids", DTYPE_I64, 2, shape);
		x = op_add(g, x, embedding(b, "embed.type", io.types, s->type_vocab_size, s->hidden_size));
	}
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = gated_attention(b, x, mask);
		x = o->ffn ? feed_forward(b, x) : x;
		graph_leave(g);
	}
	io.last = x;
	head_build(b, &io);
}

static void give_words(struct build *b, const struct body *io, const char *stem)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value x = io->last;
	if (((const struct mega *)s->own)->dense)
		x = op_tanh(g, linear(b, "head.lm.dense", x, h, h, true));
	graph_value w = WEIGHT(b, s->tied ? "embed.word" : stem, "weight", s->vocab_size, h);
	graph_output(g, "logits", op_linear_output(g, x, w, WEIGHT(b, stem, "bias", s->vocab_size)));
}

static void give_gaps(struct build *b, const struct body *io)
{
	give_words(b, io, "head.mlm.out");
}

static void give_next(struct build *b, const struct body *io)
{
	give_words(b, io, "head.lm.out");
}

static const struct family_head heads[] = {
	{ &head_model, head_give_pooled },
	{ &head_masked_lm, give_gaps },
	{ &head_causal_lm, give_next },
	{ &head_sequence },
	{ &head_token },
	{ &head_span },
	{ 0 },
};

const struct family mega = {
	.name = "mega",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
	.may_decode = true,
};
