// SPDX-License-Identifier: Apache-2.0
// FastSpeech 2 (Ren et al. 2020, https://arxiv.org/abs/2006.04558) whose two halves are conformers with relative positions, as
// ESPnet has it (Guo et al. 2021, https://arxiv.org/abs/2010.13956): phonemes become a mel spectrogram at once.
//
//   ids -> conformer (+ speaker, language) -+- convolutions -> pitch, energy - conv -(+)- each token repeated -> conformer -> mel
//                                           +- convolutions -> durations ------------------------+      mel + convolutions of it
#include <math.h>

#include "arch/block/seq2seq.h"
#include "arch/block/sound.h"

struct half { // own of the parts
	int64_t kernel;
	bool norm_first, concat;
};

struct predictor {
	int64_t layers, width, kernel, embed_kernel; // embed_kernel: of the convolution that reads what it predicts
};

struct fastspeech {
	int64_t bins, frames; // frames: of the spectrogram that one state makes
	int64_t ffn_kernel, post_layers, post_width, post_kernel;
	bool half_ffns, conv_bias;
	struct predictor duration, pitch, energy;
	int64_t speakers, languages, speaker_size; // 0: none
	double pace;
};

static const struct fastspeech *fastspeech_of(const struct build *b)
{
	return b->s->own;
}

// ---- config.json --------------------------------------------------------------------------------------------------------

static bool is_odd(int64_t kernel)
{
	return kernel % 2 == 1 && kernel < 1 << 12;
}

static void resolve_predictor(struct config *c, struct arena *a, struct predictor *p, const char *name, bool embedded)
{
	p->layers = config_count(c, arena_printf(a, "%s_predictor_layers", name), -1);
	p->width = config_size(c, arena_printf(a, "%s_predictor_channels", name), -1);
	p->kernel = config_size(c, arena_printf(a, "%s_predictor_kernel_size", name), -1);
	p->embed_kernel = embedded ? config_size(c, arena_printf(a, "%s_embed_kernel_size", name), -1) : 1;
	if (!c->error.status && (p->layers < 1 || p->width < 1 || !is_odd(p->kernel) || !is_odd(p->embed_kernel)))
		config_fail(c, STATUS_BAD_INPUT, "%s_predictor: %lld layers of %lld channels, kernels of %lld", name,
			(long long)p->layers, (long long)p->width, (long long)p->kernel);
}

// The sizes of a half, under keys that begin with `start`.
static void resolve_half_sizes(struct config *c, struct spec *part, struct arena *a, const char *start)
{
	struct half *h = part->own;
	part->layers = part->layers_in_config = config_count(c, arena_printf(a, "%slayers", start), -1);
	part->heads = part->kv_heads = config_size(c, arena_printf(a, "%snum_attention_heads", start), -1);
	part->ffn_size = config_size(c, arena_printf(a, "%slinear_units", start), -1);
	h->kernel = config_size(c, arena_printf(a, "%skernel_size", start), -1);
	h->norm_first = config_bool(c, arena_printf(a, "%snormalize_before", start), false);
	h->concat = config_bool(c, arena_printf(a, "%sconcat_after", start), false);
}

// encoder_config and decoder_config, which the class writes itself, hold over encoder_layers and so on.
static void resolve_conformer(struct config *c, struct spec *s, struct arena *a, const char *name)
{
	const char *key = arena_printf(a, "%s_config", name);
	struct half *h = ARENA_NEW(a, struct half);
	struct spec *part = resolve_half(s, a, name, "");
	part->own = h;
	part->act = ACT_SILU;
	resolve_half_sizes(c, part, a, arena_printf(a, "%s_", name));
	if (config_given(c, key)) {
		struct config sub;
		config_open_within(&sub, c, key, a);
		resolve_half_sizes(&sub, part, a, "");
		part->act = config_activation(&sub, "activation", ACT_SILU);
		config_close_within(&sub, c);
	}
	if (c->error.status)
		return;
	if (part->heads < 1 || part->hidden_size % part->heads || part->ffn_size < 1 || !is_odd(h->kernel)) {
		config_fail(c, STATUS_BAD_INPUT, "%s: %lld heads over %lld, a kernel of %lld", name, (long long)part->heads,
			(long long)part->hidden_size, (long long)h->kernel);
		return;
	}
	part->head_width = part->hidden_size / part->heads;
	part->attention_scale = 1 / sqrt((double)part->head_width);
}

static void resolve_voices(struct config *c, struct fastspeech *f)
{
	int64_t speakers = config_size(c, "num_speakers", 0), languages = config_size(c, "num_languages", 0);
	f->speakers = speakers > 1 ? speakers : 0;
	f->languages = languages > 1 ? languages : 0;
	f->speaker_size = config_size(c, "speaker_embed_dim", 0);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct fastspeech *f = s->own = ARENA_NEW(a, struct fastspeech);
	s->hidden_size = s->embedding_size = config_size(c, "hidden_size", -1);
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->norm_eps = 1e-5;
	f->bins = config_size(c, "num_mel_bins", -1);
	f->frames = config_size(c, "reduction_factor", 1);
	f->ffn_kernel = config_size(c, "positionwise_conv_kernel_size", -1);
	f->post_layers = config_count(c, "speech_decoder_postnet_layers", -1);
	f->post_width = config_size(c, "speech_decoder_postnet_units", -1);
	f->post_kernel = config_size(c, "speech_decoder_postnet_kernel", -1);
	f->half_ffns = config_bool(c, "use_macaron_style_in_conformer", true);
	f->conv_bias = config_bool(c, "convolution_bias", true);
	f->pace = config_real(c, "speaking_speed", 1);
	resolve_predictor(c, a, &f->duration, "duration", false);
	resolve_predictor(c, a, &f->pitch, "pitch", true);
	resolve_predictor(c, a, &f->energy, "energy", true);
	resolve_voices(c, f);
	if (!config_bool(c, "use_cnn_in_conformer", true))
		config_fail(
			c, STATUS_UNSUPPORTED, "use_cnn_in_conformer: false is not supported: the class does not run with it");
	if (!c->error.status &&
		(s->hidden_size < 2 || s->hidden_size % 2 || s->vocab_size < 1 || f->bins < 1 || f->frames < 1 ||
			!is_odd(f->ffn_kernel) || !is_odd(f->post_kernel) || f->post_width < 1 || !(f->pace > 0)))
		config_fail(c, STATUS_BAD_INPUT, "%lld bins from states of %lld, kernels of %lld and %lld", (long long)f->bins,
			(long long)s->hidden_size, (long long)f->ffn_kernel, (long long)f->post_kernel);
	resolve_conformer(c, s, a, "encoder");
	resolve_conformer(c, s, a, "decoder");
	s->layers = s->layers_in_config = part_of(s, "encoder")->layers;
}

// ---- conformers ---------------------------------------------------------------------------------------------------------

static graph_value ffn(struct build *b, const char *up, const char *down, graph_value x, int64_t kernel)
{
	int64_t h = b->s->hidden_size, wide = b->s->ffn_size;
	x = op_relu(b->g, sound_conv(b, up, sound_transposed(b->g, x), &(struct sound_kernel){ h, wide, kernel }));
	return sound_transposed(b->g, sound_conv(b, down, x, &(struct sound_kernel){ wide, h, kernel }));
}

static graph_value conv_module(struct build *b, graph_value x, bool bias)
{
	struct graph *g = b->g;
	const struct half *o = b->s->own;
	int64_t h = b->s->hidden_size;
	x = sound_transposed(g, x);
	x = sound_conv(b, "layers.conv.in", x, &(struct sound_kernel){ h, 2 * h, 1, .no_bias = !bias });
	x = sound_glu(g, x, 1, h);
	x = sound_conv(b, "layers.conv.depth", x, &(struct sound_kernel){ h, h, o->kernel, .groups = h, .no_bias = !bias });
	x = sound_batch_norm(b, "layers.conv.batch_norm", x, h);
	x = activate(b, b->s->act, x);
	return sound_transposed(g, sound_conv(b, "layers.conv.out", x, &(struct sound_kernel){ h, h, 1, .no_bias = !bias }));
}

static graph_value attend_all(struct build *b, graph_value x, graph_value mask, graph_value positions)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value q = linear(b, "layers.attn.q", x, h, h, true), k = linear(b, "layers.attn.k", x, h, h, true),
		    v = linear(b, "layers.attn.v", x, h, h, true);
	graph_value bias = op_scale(g, conformer_relative(b, q, positions, x), (float)s->attention_scale);
	bias = mask.id ? op_add(g, bias, mask) : bias;
	q = op_add(g, q, op_reshape(g, WEIGHT(b, "layers.attn.u_bias", "", s->heads, s->head_width), 1, &h));
	graph_value y = op_attention(
		g, &(struct attention){ q, k, v, .bias = bias, .heads = s->heads, .scale = (float)s->attention_scale });
	y = linear(b, "layers.attn.o", y, h, h, true);
	if (!((const struct half *)s->own)->concat)
		return y;
	return linear(b, "layers.attn.concat", op_concat(g, 2, (graph_value[]){ x, y }, 2), 2 * h, h, true);
}

static graph_value entered(struct build *b, const char *norm, graph_value x) // what a branch reads
{
	return ((const struct half *)b->s->own)->norm_first ? layer_norm(b, norm, x, b->s->hidden_size) : x;
}

static graph_value left(struct build *b, const char *norm, graph_value x, graph_value y) // the sum after it
{
	x = op_add(b->g, x, y);
	return ((const struct half *)b->s->own)->norm_first ? x : layer_norm(b, norm, x, b->s->hidden_size);
}

static graph_value layer(struct build *b, const struct fastspeech *f, graph_value x, graph_value mask, graph_value positions)
{
	struct graph *g = b->g;
	float share = f->half_ffns ? 0.5f : 1;
	graph_value y;
	if (f->half_ffns) {
		y = entered(b, "layers.ffn1.norm", x);
		y = op_scale(g, ffn(b, "layers.ffn1.up", "layers.ffn1.down", y, f->ffn_kernel), share);
		x = left(b, "layers.ffn1.norm", x, y);
	}
	x = left(b, "layers.attn.norm", x, attend_all(b, entered(b, "layers.attn.norm", x), mask, positions));
	x = left(b, "layers.conv.norm", x, conv_module(b, entered(b, "layers.conv.norm", x), f->conv_bias));
	y = ffn(b, "layers.ffn2.up", "layers.ffn2.down", entered(b, "layers.ffn2.norm", x), f->ffn_kernel);
	x = left(b, "layers.ffn2.norm", x, op_scale(g, y, share));
	return layer_norm(b, "layers.norm", x, b->s->hidden_size);
}

static graph_value through(struct build *b, const char *part, graph_value x, graph_value mask)
{
	const struct fastspeech *f = fastspeech_of(b);
	const struct spec *outer = part_enter(b, part);
	struct graph *g = b->g;
	b->item_name = part;
	x = op_scale(g, x, (float)sqrt((double)b->s->hidden_size));
	graph_value positions = conformer_positions(b, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, f, x, mask, positions);
		graph_leave(g);
	}
	part_leave(b, outer);
	return x;
}

// ---- between them -------------------------------------------------------------------------------------------------------

// A row of STEM by the input NAME, i64 [batch, 1], of which -1 is nothing.
static graph_value told(struct build *b, const char *name, const char *stem, graph_value x, int64_t rows)
{
	struct graph *g = b->g;
	graph_value id = graph_input(g, name, DTYPE_I64, 2, (int64_t[]){ value_dim(g, x, 0), 1 }), zero = graph_i64(g, 0);
	graph_value row = op_gather(g, WEIGHT(b, stem, "weight", rows, b->s->hidden_size), op_max(g, id, zero), 0);
	return op_add(g, x, op_where(g, op_unsqueeze(g, op_less(g, id, zero), 2), graph_f32(g, 0), row));
}

// The input speaker_embedding, f32 [batch, size], of which zeros are nobody's.
static graph_value told_voice(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, n = fastspeech_of(b)->speaker_size;
	graph_value voice = graph_input(g, "speaker_embedding", DTYPE_F32, 2, (int64_t[]){ value_dim(g, x, 0), n });
	graph_value length = op_reduce_l2(g, voice, 1, true), some = op_unsqueeze(g, op_greater(g, length, graph_f32(g, 0)), 2);
	voice = op_unsqueeze(g, op_div(g, voice, op_max(g, length, graph_f32(g, 1e-12f))), 1); // [batch, 1, n]
	graph_value places = op_scale(g, op_slice(g, x, 2, 0, 1), 0);                          // [batch, seq, 1]
	graph_value both = op_concat(g, 2, (graph_value[]){ x, op_add(g, voice, places) }, 2);
	return op_where(g, some, linear(b, "told.voice", both, h + n, h, true), x);
}

// [batch, seq, 1]
static graph_value predicted(struct build *b, const char *name, graph_value x, const struct predictor *p)
{
	struct graph *g = b->g;
	int64_t in = b->s->hidden_size;
	graph_enter(g, "%s", name);
	b->item_name = name;
	for (b->layer = 0; b->layer < p->layers && !graph_failed(g); b->layer++, in = p->width) {
		x = sound_conv(b, "predictor.conv", sound_transposed(g, x), &(struct sound_kernel){ in, p->width, p->kernel });
		x = sound_norm(b, "predictor.norm", sound_transposed(g, op_relu(g, x)), p->width, 1e-5);
	}
	x = linear(b, "predictor.out", x, p->width, 1, true);
	graph_leave(g);
	return x;
}

static graph_value embedded(struct build *b, const char *name, graph_value x, const struct predictor *p)
{
	b->item_name = name;
	x = sound_conv(
		b, "predictor.embed", sound_transposed(b->g, x), &(struct sound_kernel){ 1, b->s->hidden_size, p->embed_kernel });
	return sound_transposed(b->g, x);
}

// Of x, 0 or more, the nearest whole numbers; of two the even one.
static graph_value rounded(struct graph *g, graph_value x)
{
	graph_value up = op_floor(g, op_add(g, x, graph_f32(g, 0.5f))), half = op_equal(g, op_sub(g, up, x), graph_f32(g, 0.5f));
	graph_value odd = op_equal(g, op_fmod(g, up, graph_f32(g, 2)), graph_f32(g, 1));
	return op_sub(g, up, op_cast(g, op_and(g, half, odd), DTYPE_F32));
}

// Frames of each token [batch, seq]; where there would be none in the batch, each token gets one, and so *given says.
static graph_value durations(struct build *b, graph_value x, graph_value mask, graph_value *given)
{
	struct graph *g = b->g;
	const struct fastspeech *f = fastspeech_of(b);
	graph_value zero = graph_f32(g, 0), one = graph_f32(g, 1);
	graph_value d = op_sub(g, op_exp(g, op_squeeze(g, predicted(b, "duration", x, &f->duration), 2)), one);
	d = op_mul(g, rounded(g, op_max(g, d, zero)), op_cast(g, mask, DTYPE_F32));
	*given = d;
	bool usual = !(f->pace < 1 || f->pace > 1);
	if (!usual)
		d = rounded(g, op_scale(g, d, (float)f->pace));
	graph_value all = op_reduce_sum(g, op_reduce_sum(g, d, 1, false), 0, false);
	d = op_where(g, op_equal(g, all, zero), one, d);
	*given = op_cast(g, usual ? d : *given, DTYPE_I64);
	return d;
}

static graph_value mel_of(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct fastspeech *f = fastspeech_of(b);
	graph_value mel = linear(b, "mel", x, b->s->hidden_size, f->bins * f->frames, true);
	mel = op_reshape(g, mel, 3, (int64_t[]){ 0, -1, f->bins });
	return sound_after(b, mel, &(struct sound_postnet){ f->bins, f->post_layers, f->post_width, f->post_kernel });
}

static void build(struct build *b)
{
	const struct fastspeech *f = fastspeech_of(b);
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	graph_value ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	graph_value mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape), duration, lengths;
	graph_value x = embedding(b, "embed.word", ids, b->s->vocab_size, b->s->hidden_size);
	graph_value states = x = through(b, "encoder", x, mask_bidirectional(b, mask));
	if (f->speakers)
		x = told(b, "speaker_ids", "told.speaker", x, f->speakers);
	if (f->languages)
		x = told(b, "lang_ids", "told.language", x, f->languages);
	if (f->speaker_size)
		x = told_voice(b, x);
	graph_value frames = durations(b, x, mask, &duration);
	graph_value pitch = sound_zeroed(b, predicted(b, "pitch", x, &f->pitch), op_cast(g, mask, DTYPE_BOOL)),
		    energy = sound_zeroed(b, predicted(b, "energy", x, &f->energy), op_cast(g, mask, DTYPE_BOOL));
	x = op_add(g, op_add(g, x, embedded(b, "energy", energy, &f->energy)), embedded(b, "pitch", pitch, &f->pitch));
	graph_value of_token = sound_repeats(b, frames, &lengths);
	x = sound_transposed(g, op_matmul(g, sound_transposed(g, x), of_token)); // [batch, frames, hidden]
	x = through(b, "decoder", x, NO_VALUE);
	graph_output(g, "spectrogram", mel_of(b, x)); // [batch, frames, bins]
	graph_output(g, "encoder_last_hidden_state", states);
	graph_output(g, "duration_outputs", duration); // [batch, seq]
	graph_output(g, "pitch_outputs", pitch);       // [batch, seq, 1]
	graph_output(g, "energy_outputs", energy);
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family fastspeech = {
	.name = "fastspeech",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
