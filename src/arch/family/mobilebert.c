// SPDX-License-Identifier: Apache-2.0
// MobileBERT (Sun et al. 2020, https://arxiv.org/abs/2004.02984): wide states, narrow layers, several feed-forward blocks each.
//
//   x [wide] -+- narrow ------------------------- layer input -(+)- norm - feed-forward blocks - widen -(+)- norm
//             +- narrow - q, k -+- attention -------------------+                                        |
//             +- v -------------+                                                                        |
//             +--------------------------------------------------------------------------------------------+
#include <math.h>

#include "arch/block/block.h"

struct mobilebert {
	int64_t narrow, width, blocks; // what bottlenecks make; what layers compute with; feed-forward blocks
	bool trigram, bottleneck, attention_narrow, shared_narrow, no_norm, pooler_dense;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct mobilebert *m = s->own = ARENA_NEW(a, struct mobilebert);
	resolve_transformer(c, s, false);
	if (c->error.status)
		return;
	m->narrow = config_size(c, "intra_bottleneck_size", 128);
	m->bottleneck = config_bool(c, "use_bottleneck", true);
	m->width = m->bottleneck ? m->narrow : s->hidden_size;
	static const char *const unused[] = { "*bottleneck.attention.*", NULL };
	s->unused = config_bool(c, "use_bottleneck_attention", false) ? unused : NULL;
	m->blocks = config_count(c, "num_feedforward_networks", 4);
	m->trigram = config_bool(c, "trigram_input", true);
	m->attention_narrow = config_bool(c, "use_bottleneck_attention", false);
	m->shared_narrow = config_bool(c, "key_query_shared_bottleneck", true);
	m->pooler_dense = config_bool(c, "classifier_activation", true);
	const char *norm = config_text(c, "normalization_type");
	m->no_norm = !norm || text_is(norm, "no_norm");
	if (norm && !m->no_norm && !text_is(norm, "layer_norm"))
		config_fail(c, STATUS_UNSUPPORTED, "normalization_type %s is not supported yet", norm);
	if (m->width < s->heads || m->width % s->heads || m->blocks < 1 || m->blocks > 1000 ||
		s->embedding_size > s->hidden_size) {
		config_fail(c, STATUS_BAD_INPUT, "%lld feed-forward blocks of %lld in %lld heads", (long long)m->blocks,
			(long long)m->width, (long long)s->heads);
		return;
	}
	if (m->bottleneck && !m->attention_narrow && !m->shared_narrow && m->width != s->hidden_size)
		config_fail(c, STATUS_UNSUPPORTED, "queries of another width than the layers are not supported yet");
	s->head_width = m->width / s->heads;
	s->attention_scale = 1 / sqrt((double)s->head_width);
}

// A norm, or only its weight and bias. Some norms have torch's own epsilon, whatever the configuration says.
static graph_value scaled_by(struct build *b, const char *stem, graph_value x, int64_t width, double epsilon)
{
	struct graph *g = b->g;
	graph_value w = WEIGHT(b, stem, "weight", width), bias = WEIGHT(b, stem, "bias", width);
	if (!((const struct mobilebert *)b->s->own)->no_norm)
		return op_layer_norm(g, x, w, bias, (float)epsilon);
	return op_add(g, op_mul(g, x, w), bias);
}

static graph_value scaled(struct build *b, const char *stem, graph_value x, int64_t width)
{
	return scaled_by(b, stem, x, width, b->s->norm_eps);
}

static graph_value feed_forward(
	struct build *b, const char *up, const char *down, const char *norm, double epsilon, graph_value x)
{
	const struct spec *s = b->s;
	int64_t n = ((const struct mobilebert *)s->own)->width;
	graph_value y = activate(b, s->act, linear(b, up, x, n, s->ffn_size, true));
	return scaled_by(b, norm, op_add(b->g, linear(b, down, y, s->ffn_size, n, true), x), n, epsilon);
}

static graph_value layer(struct build *b, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct mobilebert *m = s->own;
	int64_t n = m->width, wide = s->hidden_size;
	graph_value in = x, asked = x, seen = x;
	graph_enter(g, "attn");
	if (m->bottleneck) {
		in = scaled(b, "layers.narrow.norm", linear(b, "layers.narrow", x, wide, n, true), n);
		if (m->attention_narrow)
			asked = seen = in;
		else if (m->shared_narrow)
			asked = scaled(b, "layers.narrow_qk.norm", linear(b, "layers.narrow_qk", x, wide, n, true), n);
	}
	graph_value q = linear(b, "layers.attn.q", asked, n, n, true), k = linear(b, "layers.attn.k", asked, n, n, true);
	graph_value v = linear(b, "layers.attn.v", seen, m->attention_narrow ? n : wide, n, true);
	graph_value y = op_attention(
		g, &(struct attention){ q, k, v, .bias = mask, .heads = s->heads, .scale = (float)s->attention_scale });
	y = scaled(b, "layers.attn.norm", op_add(g, linear(b, "layers.attn.o", y, n, n, true), in), n);
	graph_leave(g);
	graph_enter(g, "ffn");
	for (b->item = 0; b->item < m->blocks - 1 && !graph_failed(b->g); b->item++)
		y = feed_forward(b, "layers.block.up", "layers.block.down", "layers.block.norm", s->norm_eps, y);
	y = feed_forward(b, "layers.ffn.up", "layers.ffn.down", "layers.ffn.norm", 1e-5, y);
	if (m->bottleneck)
		y = scaled(b, "layers.widen.norm", op_add(g, linear(b, "layers.widen", y, n, wide, true), x), wide);
	graph_leave(g);
	return y;
}

static graph_value embed(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct mobilebert *m = s->own;
	int64_t n = s->embedding_size;
	graph_enter(g, "embed");
	graph_value x = embedding(b, "embed.word", io->ids, s->vocab_size, n); // [batch, seq, embedding]
	if (m->trigram) {                                                      // the next one, this one, the one before
		graph_value padded = op_pad(g, x, 1, 1, 1), length = op_dim(g, io->ids, 1),
			    two = graph_i64s(g, 1, (int64_t[]){ 2 });
		graph_value next = op_slice_to(g, padded, 1, two, op_add(g, length, two));
		graph_value before = op_slice_to(g, padded, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), length);
		graph_assume(g, next, 1, value_dim(g, x, 1));
		graph_assume(g, before, 1, value_dim(g, x, 1));
		x = op_concat(g, 3, (graph_value[]){ next, x, before }, 2);
	}
	if (m->trigram || n != s->hidden_size)
		x = linear(b, "embed.project", x, m->trigram ? 3 * n : n, s->hidden_size, true);
	graph_value table = WEIGHT(b, "embed.position", "weight", s->max_positions, s->hidden_size);
	x = op_add(g, x, op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, io->ids, 1)));
	graph_value types = s->type_vocab_size > 1 ? io->types : graph_i64s(g, 1, (int64_t[]){ 0 });
	x = op_add(g, x, embedding(b, "embed.type", types, s->type_vocab_size, s->hidden_size));
	x = scaled_by(b, "embed.norm", x, s->hidden_size, 1e-5);
	graph_leave(g);
	return x;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	graph_value x = embed(b, io), mask = mask_bidirectional(b, io->mask);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, mask);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

// The word embedding, transposed, is narrower than the states: a matrix of its own reads the rest of them.
static graph_value language_head(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->embedding_size, wide = s->hidden_size;
	graph_enter(g, "head");
	x = layer_norm(b, "head.lm.norm", activate(b, s->act, linear(b, "head.lm.dense", x, wide, wide, true)), wide);
	graph_value w = WEIGHT(b, s->tied ? "embed.word" : "head.lm.out", "weight", s->vocab_size, n);
	graph_value logits = op_linear(g, op_slice(g, x, 2, 0, n), w, head_lm_bias(b));
	if (wide > n) {
		graph_value rest = WEIGHT(b, "head.lm.rest", "weight", wide - n, s->vocab_size);
		logits = op_add(g, logits, op_linear_in_out(g, op_slice(g, x, 2, n, wide), rest, NO_VALUE));
	}
	graph_leave(g);
	return logits;
}

static graph_value pooled(struct build *b, graph_value x)
{
	const struct mobilebert *m = b->s->own;
	int64_t n = b->s->hidden_size;
	x = first_token(b, x);
	return m->pooler_dense ? op_tanh(b->g, linear(b, "pooler", x, n, n, true)) : x;
}

static void build_bare(struct build *b, const struct body *io)
{
	const struct mobilebert *m = b->s->own;
	graph_output(b->g, "last_hidden_state", io->last);
	if (!m->pooler_dense || weight_exists(b, "pooler", "weight"))
		graph_output(b->g, "pooler_output", pooled(b, io->last));
}

static graph_value next_sentence(struct build *b, const struct body *io)
{
	return linear(b, "head.next", pooled(b, io->last), b->s->hidden_size, 2, true);
}

static void build_lm(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", language_head(b, io->last));
}

static void build_pretraining(struct build *b, const struct body *io)
{
	graph_output(b->g, "prediction_logits", language_head(b, io->last));
	graph_output(b->g, "seq_relationship_logits", next_sentence(b, io));
}

static void build_next(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", next_sentence(b, io));
}

static void build_sequence(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", linear(b, "head.token", pooled(b, io->last), b->s->hidden_size, b->s->labels, true));
}

static const struct family_head heads[] = {
	{ &head_model, build_bare },
	{ &head_masked_lm, build_lm },
	{ &head_pretraining, build_pretraining },
	{ &head_next_sentence, build_next },
	{ &head_sequence, build_sequence },
	{ &head_token },
	{ &head_span },
	{ 0 },
};

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct body io = { 0 };
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	io.ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	io.types = s->type_vocab_size > 1 ? graph_input(g, "token_type_ids", DTYPE_I64, 2, shape) : NO_VALUE;
	body(b, &io);
	head_build(b, &io);
}

const struct family mobilebert = {
	.name = "mobilebert",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
};
