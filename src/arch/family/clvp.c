// SPDX-License-Identifier: Apache-2.0
// CLVP (Betker 2023, https://arxiv.org/abs/2305.07243): which of several spoken versions fits a text. A decoder writes the words
// of a sound behind a voice and the text; an encoder of these words and one of the text say how well they go together.
//
//   mel frames [batch, bins, frames] - conv - [norm - attention -(+)-].. -> the first frame: the voice
//   voice, <bos> text <eos> + positions -> GPT-2 -> the likeliest word at each place -> the end mended -> speech encoder -+
//                                                                                     text -> text encoder -+- products
//   encoder layer:  x -+- RMS norm - attention, all three rotated -(+)-+- RMS norm - a * act(gate) - linear -(+)-
#include <math.h>

#include "arch/block/seq2seq.h"

struct clvp {
	int64_t bins, blocks, groups; // of mel frames
	int64_t text_tokens, words;   // words: of speech
	int64_t bos, eos, stop;       // of the text; stop: of speech
	const int64_t *mended;        // what replaces the stop, then the last words of a speech that stopped
	int64_t mended_count;
	bool decoder_bias;
};

struct clvp_encoder {
	int64_t rotated, out;
	enum { SUMMARY_MEAN, SUMMARY_FIRST, SUMMARY_LAST } summary;
	bool bias, rotary;
};

static void resolve_sizes(struct config *c, struct spec *d, const char *epsilon)
{
	d->hidden_size = d->embedding_size = config_size(c, "hidden_size", -1);
	d->layers = d->layers_in_config = config_count(c, "num_hidden_layers", -1);
	d->heads = d->kv_heads = config_size(c, "num_attention_heads", -1);
	d->vocab_size = config_size(c, "vocab_size", -1);
	d->norm_eps = config_real(c, epsilon, 1e-5);
	if (!c->error.status && (d->hidden_size < 1 || d->heads < 1 || d->hidden_size % d->heads || d->vocab_size < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld heads over %lld", (long long)d->heads, (long long)d->hidden_size);
	if (c->error.status)
		return;
	d->head_width = d->hidden_size / d->heads;
	d->attention_scale = 1 / sqrt((double)d->head_width);
}

// key: "text_config"
static struct spec *resolve_encoder(
	struct config *c, struct spec *s, struct arena *a, const char *part, const char *key, const char *within)
{
	struct clvp *whole = s->own;
	struct config sub;
	config_open_within(&sub, c, key, a);
	struct spec *d = resolve_half(s, a, part, within);
	struct clvp_encoder *o = d->own = ARENA_NEW(a, struct clvp_encoder);
	resolve_sizes(&sub, d, "layer_norm_eps");
	d->traits.up_first = true;
	d->ffn_size = config_size(&sub, "intermediate_size", -1);
	d->act = config_activation(&sub, "hidden_act", ACT_GELU);
	o->out = config_size(&sub, "projection_dim", -1);
	o->bias = config_bool(&sub, "use_attention_bias", false);
	o->rotary = config_bool(&sub, "use_rotary_embedding", true);
	whole->bos = config_size(&sub, "bos_token_id", 255);
	whole->eos = config_size(&sub, "eos_token_id", 0);
	const char *word = config_text(&sub, "summary_type");
	bool last = word && (text_is(word, "last") || text_is(word, "cls_index"));
	o->summary = last ? SUMMARY_LAST : word && text_is(word, "first") ? SUMMARY_FIRST : SUMMARY_MEAN;
	if (word && o->summary == SUMMARY_MEAN && !text_is(word, "mean"))
		config_fail(&sub, STATUS_UNSUPPORTED, "summary_type %s is not supported yet", word);
	if (config_bool(&sub, "summary_use_proj", false) || config_text(&sub, "summary_activation"))
		config_fail(&sub, STATUS_UNSUPPORTED, "summary_use_proj and summary_activation are not supported yet");
	if (!sub.error.status) {
		o->rotated = o->out / (2 * d->heads);
		o->rotated = o->rotated > 32 ? o->rotated + o->rotated % 2 : 32;
		if (d->ffn_size < 1 || o->out < 1 || (o->rotary && o->rotated > d->head_width))
			config_fail(&sub, STATUS_BAD_INPUT, "heads of %lld, of which %lld are rotated", (long long)d->head_width,
				(long long)o->rotated);
	}
	config_close_within(&sub, c);
	return d;
}

static int64_t groups_of(int64_t channels)
{
	int64_t groups = channels <= 16 ? 8 : channels <= 64 ? 16 : 32;
	while (groups > 1 && channels % groups)
		groups /= 2;
	return groups;
}

static void resolve_decoder(struct config *c, struct spec *s, struct arena *a)
{
	struct clvp *o = s->own;
	struct config sub;
	config_open_within(&sub, c, "decoder_config", a);
	struct spec *d = resolve_half(s, a, "decoder", "speech_decoder_model.");
	resolve_sizes(&sub, d, "layer_norm_epsilon");
	int64_t inner = config_size(&sub, "n_inner", 0);
	d->ffn_size = inner ? inner : 4 * d->hidden_size;
	d->act = config_activation(&sub, "activation_function", ACT_GELU_TANH);
	d->max_positions = config_size(&sub, "max_position_embeddings", -1);
	o->text_tokens = config_size(&sub, "max_text_tokens", -1);
	o->bins = config_size(&sub, "feature_size", -1);
	o->blocks = config_count(&sub, "num_mel_attn_blocks", -1);
	o->decoder_bias = config_bool(&sub, "use_attention_bias", true);
	o->stop = config_size(&sub, "eos_token_id", -1);
	o->mended = config_sizes(&sub, "decoder_fixing_codes", a, 0, &o->mended_count);
	o->words = d->vocab_size;
	o->groups = groups_of(d->hidden_size);
	bool bad = d->max_positions < 4 || o->text_tokens < 3 || o->bins < 1 || o->mended_count < 1 || o->mended_count > 64 ||
		o->groups <= 2;
	if (!sub.error.status && bad)
		config_fail(&sub, STATUS_BAD_INPUT, "%lld positions, %lld of the text, %lld groups of %lld",
			(long long)d->max_positions, (long long)o->text_tokens, (long long)o->groups, (long long)d->hidden_size);
	config_close_within(&sub, c);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct clvp *o = s->own = ARENA_NEW(a, struct clvp);
	const struct spec *speech = resolve_encoder(c, s, a, "speech", "speech_config", "speech_encoder_model.");
	struct spec *text = resolve_encoder(c, s, a, "text", "text_config", "text_encoder_model."); // whose bos and eos count
	resolve_decoder(c, s, a);
	if (c->error.status)
		return;
	const struct spec *decoder = part_of(s, "decoder");
	struct spec *mel = resolve_half(s, a, "mel", "conditioning_encoder.");
	if (((const struct clvp_encoder *)speech->own)->out != ((const struct clvp_encoder *)text->own)->out)
		config_fail(c, STATUS_BAD_INPUT, "text and speech have different values of projection_dim");
	text->max_positions = o->text_tokens - 2 < decoder->max_positions - 3 ? o->text_tokens - 2 : decoder->max_positions - 3;
	s->vocab_size = text->vocab_size;
	s->hidden_size = decoder->hidden_size;
	mel->hidden_size = decoder->hidden_size;
	mel->heads = mel->kv_heads = decoder->heads;
	mel->head_width = decoder->head_width;
	mel->attention_scale = decoder->attention_scale;
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	out->symbols[0] = (struct input_symbol){ "frames", 16, false };
}

// ---- what the decoder reads -----------------------------------------------------------------------------------------------

// A constant column before x i64 [batch, n]
static graph_value behind(struct build *b, graph_value x, int64_t first)
{
	struct graph *g = b->g;
	graph_value one = op_add(g, op_mul(g, op_slice(g, x, 1, 0, 1), graph_i64(g, 0)), graph_i64(g, first));
	return op_concat(g, 2, (graph_value[]){ one, x }, 1);
}

// <bos>, the text, <eos> before its first 0, or at its end: ids, mask [batch, n] become [batch, n + 2]
static void framed(struct build *b, const struct clvp *o, graph_value *ids, graph_value *mask)
{
	struct graph *g = b->g;
	graph_value x = behind(b, *ids, o->bos), zero = graph_i64(g, 0);
	graph_value is_pad = op_cast(g, op_equal(g, x, zero), DTYPE_I64);
	graph_value any = op_greater(g, op_reduce_max(g, is_pad, 1, true), zero);
	graph_value first = op_where(g, any, op_argmax(g, is_pad, 1, true), op_dim(g, x, 1)); // [batch, 1]
	graph_value longer = op_concat(g, 2, (graph_value[]){ x, op_slice(g, x, 1, -1, INT64_MAX) }, 1);
	graph_value at = op_unsqueeze(g, places_of(g, longer), 0); // [1, n + 2]
	graph_value before = op_less(g, at, first), moved = behind(b, x, 0);
	longer = op_where(g, before, longer, moved);
	*ids = op_where(g, op_equal(g, at, first), graph_i64(g, o->eos), longer);
	*mask = behind(b, behind(b, *mask, 1), 1);
}

// [batch, bins, frames] -> [batch, 1, hidden]
static graph_value voice(struct build *b, const struct clvp *o, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, one = 1;
	const int turn[] = { 0, 2, 1 };
	graph_value w = WEIGHT(b, "mel.conv", "weight", h, o->bins, 1), bias = WEIGHT(b, "mel.conv", "bias", h);
	x = op_conv(g, x, w, bias, &one, (int64_t[]){ 0, 0 }, &one, 1);
	for (b->layer = 0; b->layer < o->blocks && !graph_failed(g); b->layer++) {
		graph_enter(g, "blocks.%lld", (long long)b->layer);
		w = WEIGHT(b, "mel.norm", "weight", h);
		graph_value y = op_group_norm(g, x, o->groups, w, WEIGHT(b, "mel.norm", "bias", h), 1e-5f);
		y = op_transpose(g, y, 3, turn);
		y = attend(b, "mel.attn", y, y, NO_VALUE, NULL, o->decoder_bias ? BIAS_ALL : BIAS_O);
		x = op_add(g, x, op_transpose(g, y, 3, turn));
		graph_leave(g);
	}
	return op_transpose(g, op_slice(g, x, 2, 0, 1), 3, turn);
}

// The voice and the text: [batch, n + 3, hidden]
static graph_value condition(struct build *b, const struct clvp *o, graph_value ids, graph_value mask, int64_t vocabulary)
{
	struct graph *g = b->g;
	int64_t dim[] = { graph_symbol(g, "batch"), o->bins, graph_symbol(g, "frames") };
	graph_value x = voice(b, o, graph_input(g, "input_features", DTYPE_F32, 3, dim));
	framed(b, o, &ids, &mask);
	graph_value at = op_sub(g, op_cumsum(g, mask, 1), graph_i64(g, 1));
	graph_value text = embedding(b, "text.word", ids, vocabulary, b->s->hidden_size);
	text = op_add(g, text, embedding(b, "text.position", at, o->text_tokens, b->s->hidden_size));
	return op_concat(g, 2, (graph_value[]){ x, text }, 1);
}

// ---- the decoder ------------------------------------------------------------------------------------------------------------

// By weights that lie as [in, out]
static graph_value linear_in_out(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out)
{
	return op_linear_in_out(b->g, x, WEIGHT(b, stem, "weight", in, out), WEIGHT(b, stem, "bias", out));
}

// -> i64 [batch, seq], the likeliest words
static graph_value speak(struct build *b, const struct clvp *o, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	struct body io = { .embeds = x };
	graph_value query, key;
	decoder_places(b, &io, &query, &key);
	graph_value bias = causal_bias(b, query, key);
	x = op_add(g, x, embedding(b, "embed.position", op_squeeze(g, query, 1), s->max_positions, h));
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = layer_norm(b, "decoder.attn.norm", x, h);
		x = op_add(g, x, attend(b, "decoder.attn", y, y, bias, NULL, o->decoder_bias ? BIAS_ALL : BIAS_O));
		y = layer_norm(b, "decoder.ffn.norm", x, h);
		y = activate(b, s->act, linear_in_out(b, "decoder.ffn.up", y, h, s->ffn_size));
		x = op_add(g, x, linear_in_out(b, "decoder.ffn.down", y, s->ffn_size, h));
		graph_leave(g);
	}
	x = layer_norm(b, "decoder.norm", x, h);
	x = op_layer_norm(g, x, WEIGHT(b, "decoder.last", "weight", h), WEIGHT(b, "decoder.last", "bias", h), 1e-5f);
	return op_argmax(g, linear(b, "decoder.out", x, h, o->words, true), 2, false);
}

// The first word goes; where speech stops the rest is filled, and ends as trained speech does. ids [batch, n] -> [batch, n - 1]
static graph_value mended(struct build *b, const struct clvp *o, graph_value ids)
{
	struct graph *g = b->g;
	graph_value first = graph_i64(g, o->mended[0]), zero = graph_i64(g, 0);
	ids = op_slice(g, ids, 1, 1, INT64_MAX);
	graph_value stops = op_equal(g, ids, graph_i64(g, o->stop)), is = op_cast(g, stops, DTYPE_I64);
	ids = op_where(g, stops, first, ids);
	graph_value n = op_dim(g, ids, 1), at = places_of(g, ids), filler = op_expand(g, first, n);
	if (o->mended_count > 1) {
		graph_value tail = graph_i64s(g, (int)o->mended_count - 1, o->mended + 1);
		filler = op_concat(g, 2, (graph_value[]){ filler, tail }, 0);
		filler = op_slice(g, filler, 0, o->mended_count - 1, INT64_MAX);
	}
	graph_value from = op_min(g, op_argmax(g, is, 1, true), op_sub(g, n, graph_i64(g, 3))); // there are 3 at least
	graph_value stopped = op_greater(g, op_reduce_max(g, is, 1, true), zero);
	graph_value fills = op_and(g, stopped, op_less_or_equal(g, from, op_unsqueeze(g, at, 0)));
	return op_where(g, fills, op_unsqueeze(g, filler, 0), ids);
}

// ---- the encoders -------------------------------------------------------------------------------------------------------------

static void rotary(struct build *b, graph_value x, struct attention_extras *e)
{
	struct graph *g = b->g;
	const struct clvp_encoder *o = b->s->own;
	if (!o->rotary)
		return;
	graph_value at = op_unsqueeze(g, op_unsqueeze(g, op_cast(g, places_of(g, x), DTYPE_F32), 1), 0); // [1, seq, 1]
	graph_value angle = op_mul(g, at, WEIGHT(b, "rope.frequencies", "", o->rotated / 2));
	angle = op_unsqueeze(g, angle, 2); // [1, seq, 1, rotated / 2]
	e->cos = op_cos(g, angle);
	e->sin = op_sin(g, angle);
	e->turn_value = true;
}

// ids [batch, seq] -> [batch, out]; *pooled [batch, hidden]; bias NO_VALUE: all of them count
static graph_value encode(struct build *b, graph_value ids, graph_value bias, graph_value *pooled)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct clvp_encoder *o = s->own;
	int64_t h = s->hidden_size;
	struct attention_extras e = { .bias = bias };
	graph_value x = embedding(b, "embed.word", ids, s->vocab_size, h);
	rotary(b, x, &e);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = rms_norm(b, "layers.attn.norm", x, h);
		x = op_add(g, x, self_attention_with(b, y, &e, o->bias, true, NULL));
		y = rms_norm(b, "layers.ffn.norm", x, h);
		x = op_add(g, x, ffn_of(b, "layers.ffn", y, s->ffn_size, true));
		graph_leave(g);
	}
	x = layer_norm(b, "norm", x, h);
	*pooled = o->summary == SUMMARY_MEAN ? op_reduce_mean(g, x, 1, false)
		: o->summary == SUMMARY_LAST ? op_squeeze(g, op_slice(g, x, 1, -1, INT64_MAX), 1)
					     : first_token(b, x);
	return unit_length(b, linear(b, "project", *pooled, h, o->out, false));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *whole = b->s, *text_part = part_of(whole, "text");
	const struct clvp *o = whole->own;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	graph_value ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	graph_value mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape), pooled[2];
	graph_enter(g, "conditioning");
	part_enter(b, "mel");
	graph_value x = condition(b, o, ids, mask, text_part->vocab_size);
	part_leave(b, whole);
	graph_leave(g);
	graph_enter(g, "decoder");
	part_enter(b, "decoder");
	graph_value spoken = mended(b, o, speak(b, o, x));
	part_leave(b, whole);
	graph_leave(g);
	graph_enter(g, "speech");
	part_enter(b, "speech");
	graph_value speech = encode(b, spoken, NO_VALUE, &pooled[0]);
	part_leave(b, whole);
	graph_leave(g);
	graph_enter(g, "text");
	part_enter(b, "text");
	graph_value text = encode(b, ids, mask_bidirectional(b, mask), &pooled[1]);
	part_leave(b, whole);
	graph_leave(g);
	graph_value likeness = op_matmul(g, text, op_transpose(g, speech, 2, (int[]){ 1, 0 }));
	likeness = op_mul(g, likeness, op_exp(g, weight(b, "logit_scale", "", 0, NULL)));
	graph_output(g, "logits_per_text", likeness);
	graph_output(g, "logits_per_speech", op_transpose(g, likeness, 2, (int[]){ 1, 0 }));
	graph_output(g, "text_embeds", text);
	graph_output(g, "speech_embeds", speech);
	graph_output(g, "text_model_output", pooled[1]);
	graph_output(g, "speech_model_output", pooled[0]);
}

static const struct family_head heads[] = { { &head_conditional }, { 0 } };

const struct family clvp = {
	.name = "clvp",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.heads = heads,
	.hints = hints,
};
