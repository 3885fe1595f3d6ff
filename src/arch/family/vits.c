// SPDX-License-Identifier: Apache-2.0
// VITS (Kim et al. 2021, https://arxiv.org/abs/2106.06103), from characters to samples: an encoder of text whose queries meet
// vectors of near distances, a duration for each token, and for each frame a mean and a deviation, whose sample goes backwards
// through coupling layers into HiFi-GAN. What is drawn at random are inputs, where the configuration has a scale for it.
//
//   ids -> layers -> means, deviations; durations -> each repeated for its frames -> + noise -> flow backwards -> vocoder
//   flow:  channels reversed; [a, b] -> [a, b - conv(wavenet(conv(a)))]
//   wavenet:  x - conv - tanh(first half) * sigmoid(second) - conv to 2h: one half is added to x, the sum of the others is given
#include <math.h>

#include "arch/family/vits.h"

static void resolve_durations(struct config *c, struct vits *v)
{
	v->stochastic = config_bool(c, "use_stochastic_duration_prediction", true);
	v->separable_layers = config_count(c, "depth_separable_num_layers", 3);
	v->bins = config_size(c, "duration_predictor_flow_bins", 10);
	v->kernel = config_size(c, "duration_predictor_kernel_size", 3);
	v->channels = config_size(c, "duration_predictor_filter_channels", 256);
	v->duration_flows = config_count(c, "duration_predictor_num_flows", 4);
	v->bound = config_real(c, "duration_predictor_tail_bound", 5);
	int64_t halves = config_size(c, "depth_separable_channels", 2);
	if (c->error.status)
		return;
	if (v->kernel % 2 != 1 || v->kernel > 1 << 10 || v->bins < 2 || v->bins > 1000 || v->channels < 1 || !(v->bound > 0) ||
		pow((double)v->kernel, (double)v->separable_layers) > 1 << 20)
		config_fail(c, STATUS_BAD_INPUT, "durations by kernels of %lld in %lld layers, splines of %lld bins",
			(long long)v->kernel, (long long)v->separable_layers, (long long)v->bins);
	if (v->stochastic && halves != 2)
		config_fail(c, STATUS_BAD_INPUT, "depth_separable_channels should be 2, not %lld", (long long)halves);
}

static void resolve_speakers(struct config *c, struct vits *v)
{
	int64_t speakers = config_size(c, "num_speakers", 1);
	v->speaker_size = config_size(c, "speaker_embedding_size", 0);
	v->speakers = speakers > 1 ? speakers : 0;
	if (v->speakers && !v->speaker_size)
		config_fail(c, STATUS_BAD_INPUT, "num_speakers is %lld, and speaker_embedding_size 0", (long long)speakers);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct vits *v = s->own = ARENA_NEW(a, struct vits);
	resolve_transformer(c, s, false);
	v->window = config_size(c, "window_size", 0);
	v->bias = config_bool(c, "use_bias", true);
	v->ffn_kernel = config_size(c, "ffn_kernel_size", 3);
	v->vocoder.bins = v->flow_size = config_size(c, "flow_size", 192);
	v->vocoder.plain_last = true;
	v->flows = config_count(c, "prior_encoder_num_flows", 4);
	v->wave_layers = config_count(c, "prior_encoder_num_wavenet_layers", 4);
	v->wave_kernel = config_size(c, "wavenet_kernel_size", 5);
	v->wave_rate = config_size(c, "wavenet_dilation_rate", 1);
	v->pace = config_real(c, "speaking_rate", 1);
	v->noise = config_real(c, "noise_scale", 0.667);
	v->duration_noise = config_real(c, "noise_scale_duration", 0.8);
	resolve_durations(c, v);
	resolve_speakers(c, v);
	vocoder_resolve(c, &v->vocoder, a);
	if (c->error.status)
		return;
	if (s->ffn_size < 1 || v->ffn_kernel < 1 || v->flow_size < 2 || v->flow_size % 2 || v->wave_kernel % 2 != 1 ||
		v->wave_layers < 1 || v->wave_rate < 1 || !(v->pace > 0) || !(v->noise >= 0) || !(v->duration_noise >= 0) ||
		pow((double)v->wave_rate, (double)v->wave_layers) > 1 << 20 || v->wave_kernel > 1 << 10 || v->window > 1 << 12)
		config_fail(c, STATUS_BAD_INPUT,
			"a flow of %lld numbers by %lld layers, kernels of %lld; or scales that are none",
			(long long)v->flow_size, (long long)v->wave_layers, (long long)v->wave_kernel);
}

graph_value vits_conv(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out)
{
	return sound_conv(b, stem, x, &(struct sound_kernel){ in, out, 1 });
}

graph_value vits_told(struct build *b, const char *stem, const struct vits_voice *voice, int64_t width, bool normed)
{
	const struct sound_kernel k = { vits_of(b)->speaker_size, width, 1 };
	if (!voice->vector.id)
		return NO_VALUE;
	graph_value w = normed ? sound_normed_kernel(b, stem, width, k.in, 1) : WEIGHT(b, stem, "weight", width, k.in, 1);
	return op_mul(b->g, sound_conv_by(b, stem, w, voice->vector, &k), voice->there);
}

// The input speaker_id, of which -1 is nobody.
static struct vits_voice voice_of(struct build *b)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	if (!v->speakers)
		return (struct vits_voice){ NO_VALUE, NO_VALUE };
	graph_value id = graph_input(g, "speaker_id", DTYPE_I64, 1, (int64_t[]){ 1 }), zero = graph_i64(g, 0);
	graph_value row = op_gather(g, WEIGHT(b, "embed.voice", "weight", v->speakers, v->speaker_size), op_max(g, id, zero), 0);
	return (struct vits_voice){ op_unsqueeze(g, row, 2), op_cast(g, op_less_or_equal(g, zero, id), DTYPE_F32) };
}

// ---- text ---------------------------------------------------------------------------------------------------------------

static graph_value by_head(struct build *b, graph_value x, int a, int c, int d, int e)
{
	x = op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, b->s->heads, b->s->head_width });
	return op_transpose(b->g, x, 4, (int[]){ a, c, d, e });
}

// The row of STEM [1, 2 * window + 1, width] by how far a key is ahead of its query, zeros beyond: [query, key, width]
static graph_value near(struct build *b, const char *stem, graph_value x)
{
	struct graph *g = b->g;
	int64_t w = vits_of(b)->window, most = w + 1;
	graph_value rows = op_squeeze(g, WEIGHT(b, stem, "", 1, 2 * w + 1, b->s->head_width), 0);
	graph_value at = places_of(g, x), ahead = op_sub(g, op_unsqueeze(g, at, 0), op_unsqueeze(g, at, 1));
	ahead = op_max(g, op_min(g, ahead, graph_i64(g, most)), graph_i64(g, -most));
	return op_gather(g, op_pad(g, rows, 0, 1, 1), op_add(g, ahead, graph_i64(g, most)), 0);
}

// For each query by itself: x [query, batch, heads, n] times e [query, n, m] -> [query, batch, heads, m]
static graph_value times_near(struct build *b, graph_value x, graph_value e)
{
	struct graph *g = b->g;
	graph_value head = op_slice(g, op_shape(g, x), 0, 0, 3),
		    shape = op_concat(g, 2, (graph_value[]){ head, op_dim(g, e, 2) }, 0);
	graph_value rows =
		op_concat(g, 3, (graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 1, (int64_t[]){ -1 }), op_dim(g, x, 3) }, 0);
	return op_reshape_to(g, op_matmul(g, op_reshape_to(g, x, rows), e), shape);
}

static graph_value attend(struct build *b, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct vits *v = vits_of(b);
	int64_t h = s->hidden_size;
	graph_value q = linear(b, "layers.attn.q", x, h, h, v->bias), k = linear(b, "layers.attn.k", x, h, h, v->bias),
		    value = linear(b, "layers.attn.v", x, h, h, v->bias);
	q = op_scale(g, q, (float)s->attention_scale);
	graph_value scores = op_add(g, op_matmul(g, by_head(b, q, 0, 2, 1, 3), by_head(b, k, 0, 2, 3, 1)), mask);
	if (v->window) {
		graph_value e = op_transpose(g, near(b, "layers.attn.near_key", x), 3, (int[]){ 0, 2, 1 });
		e = times_near(b, by_head(b, q, 1, 0, 2, 3), e); // [query, batch, heads, key]
		scores = op_add(g, scores, op_transpose(g, e, 4, (int[]){ 1, 2, 0, 3 }));
	}
	graph_value p = op_softmax(g, scores, 3);
	graph_value y = op_transpose(g, op_matmul(g, p, by_head(b, value, 0, 2, 1, 3)), 4, (int[]){ 0, 2, 1, 3 });
	if (v->window) {
		graph_value e = times_near(b, op_transpose(g, p, 4, (int[]){ 2, 0, 1, 3 }), near(b, "layers.attn.near_value", x));
		y = op_add(g, y, op_transpose(g, e, 4, (int[]){ 1, 0, 2, 3 }));
	}
	return linear(b, "layers.attn.o", op_reshape(g, y, 3, (int64_t[]){ 0, 0, h }), h, h, v->bias);
}

static graph_value feed_forward(struct build *b, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, wide = b->s->ffn_size, kernel = vits_of(b)->ffn_kernel;
	x = op_mul(g, sound_transposed(g, x), mask);
	x = activate(b, b->s->act, sound_conv(b, "layers.ffn.up", x, &(struct sound_kernel){ h, wide, kernel }));
	x = sound_conv(b, "layers.ffn.down", op_mul(g, x, mask), &(struct sound_kernel){ wide, h, kernel });
	return sound_transposed(g, op_mul(g, x, mask));
}

// [batch, hidden, seq]
static graph_value encode(struct build *b, graph_value ids, graph_value mask, graph_value real)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value bias = mask_bidirectional(b, mask), x = embedding(b, "embed.word", ids, s->vocab_size, h);
	x = op_mul(g, op_scale(g, x, (float)sqrt((double)h)), sound_transposed(g, real));
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer_norm(b, "layers.attn.norm", op_add(g, x, attend(b, x, bias)), h);
		x = layer_norm(b, "layers.ffn.norm", op_add(g, x, feed_forward(b, x, real)), h);
		graph_leave(g);
	}
	return op_mul(g, sound_transposed(g, x), real);
}

// ---- frames -------------------------------------------------------------------------------------------------------------

// Which of x [batch, .., frames] are frames of a row that has so many: f32 [batch, 1, frames]
static graph_value mask_of(struct build *b, graph_value x, graph_value lengths)
{
	struct graph *g = b->g;
	graph_value frames = op_squeeze(g, op_dim(g, x, 2), 0), at = op_range(g, graph_i64(g, 0), frames, graph_i64(g, 1));
	graph_value there = op_less(g, op_cast(g, at, DTYPE_F32), op_unsqueeze(g, lengths, 1));
	graph_assume(g, there, 1, value_dim(g, x, 2));
	return op_unsqueeze(g, op_cast(g, there, DTYPE_F32), 1);
}

static graph_value wavenet(struct build *b, graph_value x, graph_value mask, const struct vits_voice *voice)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, dilation = 1;
	graph_value sum = NO_VALUE, told = vits_told(b, "flow.voice", voice, 2 * h * v->wave_layers, true);
	for (b->layer = 0; b->layer < v->wave_layers && !graph_failed(g); b->layer++, dilation *= v->wave_rate) {
		bool last = b->layer == v->wave_layers - 1;
		struct sound_kernel wide = { h, 2 * h, v->wave_kernel, dilation }, out = { h, last ? h : 2 * h, 1 };
		graph_value w = sound_normed_kernel(b, "flow.wide", 2 * h, h, v->wave_kernel);
		graph_value y = sound_conv_by(b, "flow.wide", w, x, &wide);
		if (told.id)
			y = op_add(g, y, op_slice(g, told, 1, 2 * h * b->layer, 2 * h * (b->layer + 1)));
		y = op_mul(g, op_tanh(g, op_slice(g, y, 1, 0, h)), op_sigmoid(g, op_slice(g, y, 1, h, 2 * h)));
		y = sound_conv_by(b, "flow.out", sound_normed_kernel(b, "flow.out", out.out, h, 1), y, &out);
		if (!last) {
			x = op_mul(g, op_add(g, x, op_slice(g, y, 1, 0, h)), mask);
			y = op_slice(g, y, 1, h, 2 * h);
		}
		sum = sum.id ? op_add(g, sum, y) : y;
	}
	return op_mul(g, sum, mask);
}

static graph_value reversed(struct graph *g, graph_value x, int64_t width)
{
	int64_t *at = GRAPH_TABLE(g, NULL, width, 1, int64_t);
	for (int64_t i = 0; at && i < width; i++)
		at[i] = width - 1 - i;
	return at ? op_gather(g, x, graph_i64s(g, (int)width, at), 1) : NO_VALUE;
}

static graph_value flow_back(struct build *b, graph_value x, graph_value mask, const struct vits_voice *voice)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, half = v->flow_size / 2;
	for (b->stage = v->flows - 1; b->stage >= 0 && !graph_failed(g); b->stage--) {
		graph_enter(g, "flow.%lld", (long long)b->stage);
		b->layer = b->item = b->stage;
		x = reversed(g, x, v->flow_size);
		graph_value first = op_slice(g, x, 1, 0, half), second = op_slice(g, x, 1, half, v->flow_size);
		graph_value y = wavenet(b, op_mul(g, vits_conv(b, "flow.pre", first, half, h), mask), mask, voice);
		b->layer = b->stage;
		second = op_sub(g, second, op_mul(g, vits_conv(b, "flow.post", y, h, half), mask));
		x = op_concat(g, 2, (graph_value[]){ first, op_mul(g, second, mask) }, 1);
		graph_leave(g);
	}
	return x;
}

// The input noise [batch, n, flow_size]: a frame's is that of its number, from the beginning again after n.
static graph_value sampled(struct build *b, graph_value x, graph_value deviation)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	if (!(v->noise > 0))
		return x;
	graph_value noise = graph_input(
		g, "noise", DTYPE_F32, 3, (int64_t[]){ value_dim(g, x, 0), graph_symbol(g, "noise_length"), v->flow_size });
	graph_value frames = op_squeeze(g, op_dim(g, x, 2), 0), at = op_range(g, graph_i64(g, 0), frames, graph_i64(g, 1));
	noise = sound_transposed(g, op_gather(g, noise, op_mod(g, at, op_dim(g, noise, 1)), 1));
	graph_assume(g, noise, 2, value_dim(g, x, 2));
	return op_add(g, x, op_scale(g, op_mul(g, noise, op_exp(g, deviation)), (float)v->noise));
}

static void build(struct build *b)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") }, size = v->flow_size;
	graph_value ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	graph_value mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape), lengths;
	graph_value real = op_unsqueeze(g, op_cast(g, mask, DTYPE_F32), 1);
	const struct vits_voice voice = voice_of(b);
	graph_value x = encode(b, ids, mask, real),
		    prior = op_mul(g, vits_conv(b, "prior", x, b->s->hidden_size, 2 * size), real);
	graph_value pace = op_exp(g, vits_durations(b, x, real, &voice));
	pace = op_scale(g, op_mul(g, pace, real), (float)(1 / v->pace));
	graph_value whole = op_neg(g, op_floor(g, op_neg(g, pace))); // rounded up
	graph_value of_token = sound_repeats(b, op_squeeze(g, whole, 1), &lengths);
	prior = op_matmul(g, prior, of_token); // [batch, 2 * size, frames]
	graph_value frames = mask_of(b, prior, lengths);
	x = sampled(b, op_slice(g, prior, 1, 0, size), op_slice(g, prior, 1, size, 2 * size));
	x = op_mul(g, flow_back(b, x, frames, &voice), frames);
	graph_enter(g, "vocoder");
	graph_value samples = vocoder_sing(b, &v->vocoder, x, vits_told(b, "voice", &voice, v->vocoder.width, false));
	graph_leave(g);
	graph_output(g, "waveform", samples); // [batch, samples]
	graph_output(g, "sequence_lengths", op_mul(g, op_cast(g, lengths, DTYPE_I64), graph_i64(g, vocoder_rate(&v->vocoder))));
	graph_output(g, "spectrogram", x); // [batch, flow_size, frames]
}

static void hints(const struct spec *s, struct input_hints *out)
{
	enum { FRAMES_OF_TOKEN = 4 };
	(void)s;
	out->symbols[0] = (struct input_symbol){ "noise_length", 128 * FRAMES_OF_TOKEN };
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family vits = {
	.name = "vits",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.heads = heads,
	.hints = hints,
};
