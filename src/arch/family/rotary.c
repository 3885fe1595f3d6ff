// SPDX-License-Identifier: Apache-2.0
// Encoders with rotary positions, as decoders have them, that look both ways (ModernBERT: Warner et al. 2024,
// https://arxiv.org/abs/2412.13663; EuroBERT, https://arxiv.org/abs/2503.05500; Nomic Embed, https://arxiv.org/abs/2402.01613;
// GTE, https://arxiv.org/abs/2407.19669; Jina Embeddings v3, https://arxiv.org/abs/2409.10173).
//
//   ids -> word (+ type) (- norm) -> layers (- norm) -> head
//   layer:  x -+- norm - attention -(+)-+- norm - gated feed-forward -(+)-        or both norms after the sums
//              +---------------------+  +---------------------------+
#include <math.h>

#include "arch/block/block.h"
#include "arch/family/rotary.h"

enum pooling { POOL_FIRST, POOL_MEAN, POOL_LATE };

struct rotary {
	enum pooling pooling;     // of the sequence classifier; late: the mean of every token's logits
	enum activation head_act; // ModernBERT's head
	bool classifier_bias, decoder_bias;
	int64_t head_size; // UltraBERT's head
};

static graph_value branch_norm(struct build *b, const char *stem, graph_value x)
{
	return TRAITS_OF(b->s, rotary_encoder)->branch_norm_bias ? layer_norm(b, stem, x, b->s->hidden_size)
								 : norm(b, stem, x, b->s->hidden_size);
}

// down(act(gate) * up), gate and up in one tensor or in two, or down(act(up))
static graph_value feed_forward(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct traits *t = &s->traits;
	const struct rotary_encoder_traits *own = TRAITS_OF(s, rotary_encoder);
	int64_t n = s->ffn_size;
	graph_value gate, up = NO_VALUE;
	if (t->plain_ffn)
		gate = linear(b, "layers.ffn.up", x, s->hidden_size, n, t->ffn_bias);
	else if (weight_named(b, "layers.ffn.gate_up")) {
		graph_value both = linear(b, "layers.ffn.gate_up", x, s->hidden_size, 2 * n, t->ffn_bias);
		gate = op_slice(g, both, 2, t->up_first ? n : 0, t->up_first ? 2 * n : n);
		up = op_slice(g, both, 2, t->up_first ? 0 : n, t->up_first ? n : 2 * n);
	} else {
		gate = linear(b, "layers.ffn.gate", x, s->hidden_size, n, t->ffn_bias);
		up = linear(b, "layers.ffn.up", x, s->hidden_size, n, t->ffn_bias);
	}
	x = activate(b, s->act, gate);
	return linear(b, "layers.ffn.down", up.id ? op_mul(g, x, up) : x, n, s->hidden_size, t->ffn_bias || own->down_bias);
}

static graph_value layer(struct build *b, graph_value x, const struct attention_extras *e)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct traits *t = &s->traits;
	float scale = s->residual_scale > 0 ? (float)s->residual_scale : 1;
	graph_enter(g, "attn");
	graph_value y = t->post_norm || (TRAITS_OF(s, rotary_encoder)->first_unnormed && !b->layer)
		? x
		: branch_norm(b, "layers.attn.norm", x);
	x = op_add(g, op_scale(g, self_attention_with(b, y, e, t->qkv_bias, t->out_bias, NULL), scale), x);
	x = t->post_norm ? branch_norm(b, "layers.attn.norm", x) : x;
	graph_leave(g);
	graph_enter(g, "ffn");
	y = t->post_norm ? x : branch_norm(b, "layers.ffn.norm", x);
	x = op_add(g, op_scale(g, feed_forward(b, y), scale), x);
	x = t->post_norm ? branch_norm(b, "layers.ffn.norm", x) : x;
	graph_leave(g);
	return x;
}

static enum pooling pooling_of(struct config *c)
{
	const char *word = config_text(c, "classifier_pooling");
	if (!word || text_is(word, "cls") || text_is(word, "bos"))
		return POOL_FIRST;
	if (!text_is(word, "mean") && !text_is(word, "late"))
		config_fail(c, STATUS_UNSUPPORTED, "classifier_pooling %s is not supported yet", word);
	return text_is(word, "late") ? POOL_LATE : POOL_MEAN;
}

void rotary_pools_as(struct config *c, struct spec *part)
{
	((struct rotary *)part->own)->pooling = pooling_of(c);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct rotary *r = s->own = ARENA_NEW(a, struct rotary);
	struct traits *t = &s->traits;
	resolve_transformer(c, s, false);
	if (!config_knows(c, "layer_norm_eps") && !config_knows(c, "rms_norm_eps"))
		s->norm_eps = config_real(c, "norm_eps", 1e-5);
	if (config_knows(c, "attention_bias"))
		t->qkv_bias = t->out_bias = config_bool(c, "attention_bias", false);
	t->ffn_bias = config_bool(c, "mlp_bias", t->ffn_bias);
	if (config_knows(c, "norm_bias"))
		t->norm_no_bias = !config_bool(c, "norm_bias", false);
	resolve_rope(c, s, a);
	int64_t every = config_size(c, "global_attn_every_n_layers", 0);
	t->window_pattern = every ? (int)-every : t->window_pattern;
	resolve_window(c, s, a);
	if (config_knows(c, "local_attention")) // both sides together
		s->sliding_window /= 2;
	if (TRAITS_OF(s, rotary_encoder)->depth_scaled)
		s->residual_scale = 1 / sqrt((double)s->layers / 36);
	r->pooling = pooling_of(c);
	r->head_act = config_activation(c, "classifier_activation", ACT_GELU);
	r->classifier_bias = config_bool(c, "classifier_bias", false);
	r->decoder_bias = config_bool(c, "decoder_bias", true);
	r->head_size = config_size(c, "prediction_head_size", 0);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "embed");
	graph_value x = io->embeds.id ? io->embeds : embedding(b, "embed.word", io->ids, s->vocab_size, s->hidden_size);
	if (s->type_vocab_size > 1)
		x = op_add(g, x, embedding(b, "embed.type", io->types, s->type_vocab_size, s->hidden_size));
	else if (s->type_vocab_size == 1)
		x = op_add(g, x, embedding(b, "embed.type", graph_i64s(g, 1, (int64_t[]){ 0 }), 1, s->hidden_size));
	x = weight_named(b, "embed.norm") ? norm(b, "embed.norm", x, s->hidden_size) : x;
	graph_leave(g);
	struct attention_extras extras[2] = { 0 }; // of layers without and with a window
	for (int64_t i = 0; i < s->layers; i++) {
		struct attention_extras *e = &extras[s->sliding[i]];
		if (e->bias.id)
			continue;
		rope_tables_of(b, s->sliding[i] ? &s->window_rope : &s->rope, s->head_width, x, NO_VALUE, &e->cos, &e->sin);
		e->bias =
			s->sliding[i] ? mask_window_both(b, io->mask, x, s->sliding_window + 1) : mask_bidirectional(b, io->mask);
	}
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, &extras[s->sliding[b->layer]]);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = weight_named(b, "norm") ? norm(b, "norm", x, s->hidden_size) : x;
}

// dense, activation, norm (ModernBERT), or nothing
static graph_value head(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	const struct rotary *r = s->own;
	int64_t n = s->hidden_size;
	if (weight_named(b, "head.dense"))
		return norm(b, "head.norm", activate(b, r->head_act, linear(b, "head.dense", x, n, n, r->classifier_bias)), n);
	return x;
}

static graph_value mean_of(struct build *b, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	graph_value weights = op_cast(g, mask, DTYPE_F32);                                       // [batch, seq]
	graph_value sum = op_reduce_sum(g, op_mul(g, x, op_unsqueeze(g, weights, 2)), 1, false); // [batch, width]
	return op_div(g, sum, op_reduce_sum(g, weights, 1, true));
}

static graph_value classified(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	const struct rotary *r = s->own;
	int64_t n = s->hidden_size;
	graph_value x = r->pooling == POOL_MEAN ? mean_of(b, io->last, io->mask)
		: r->pooling == POOL_FIRST      ? first_token(b, io->last)
						: io->last;
	x = weight_named(b, "head.late") ? activate(b, ACT_GELU, linear(b, "head.late", x, n, n, true)) : head(b, x);
	x = linear(b, "head.token", x, n, s->labels, true);
	return r->pooling == POOL_LATE ? mean_of(b, x, io->mask) : x;
}

// Those with a dense layer of that name have BERT's and RoBERTa's heads, the others their own.
static bool has_own(const struct build *b)
{
	return !weight_named(b, "head.lm.dense");
}

// UltraBERT's language model has two linear layers, each with its activation.
static void build_lm(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	const struct rotary *r = s->own;
	int64_t n = s->hidden_size;
	if (!has_own(b)) {
		head_lm(b, io);
		return;
	}
	graph_value w = WEIGHT(b, s->tied ? "embed.word" : "head.lm.out", "weight", s->vocab_size, n);
	bool dense = weight_named(b, "head.dense"), bias = dense ? r->decoder_bias : s->traits.ffn_bias && !r->head_size;
	graph_value added = bias ? WEIGHT(b, "head.lm.out", "bias", s->vocab_size) : NO_VALUE, x = head(b, io->last);
	if (!dense && r->head_size) {
		x = op_gelu_tanh(b->g, linear(b, "head.up", x, n, r->head_size, false));
		x = op_gelu_tanh(b->g, linear(b, "head.down", x, r->head_size, n, false));
	}
	graph_output(b->g, "logits", op_linear_output(b->g, x, w, added));
}

static void build_sequence(struct build *b, const struct body *io)
{
	if (has_own(b))
		graph_output(b->g, "logits", classified(b, io));
	else
		b->s->head->build(b, io);
}

static void build_each(struct build *b, const struct body *io)
{
	struct body read = *io;
	if (has_own(b))
		read.last = head(b, io->last);
	b->s->head->build(b, &read);
}

static const struct family_head heads[] = {
	{ &head_model, head_give_pooled },
	{ &head_masked_lm, build_lm },
	{ &head_sequence, build_sequence },
	{ &head_token, build_each },
	{ &head_span, build_each },
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

const struct family rotary_encoder = {
	.name = "rotary-encoder",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(rotary_encoder, ROTARY_ENCODER_TRAITS),
};
