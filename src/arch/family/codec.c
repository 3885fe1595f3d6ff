// SPDX-License-Identifier: Apache-2.0
// Neural codecs of sound: EnCodec (Defossez et al. 2022, https://arxiv.org/abs/2210.13438) and Mimi (Defossez et al. 2024,
// https://arxiv.org/abs/2410.00037). Convolutions shorten the samples, a residual quantizer replaces each frame by the numbers of
// codewords, and convolutions lengthen what those stand for to samples again.
//
//   samples [batch, channels, n] - conv - [residual blocks - elu - conv / ratio].. - middle - elu - conv -> [batch, hidden,
//   frames]
//   quantizer: codes [batch, quantizers, frames] and the sum of their codewords
//   - conv - middle - [elu - conv * ratio - residual blocks].. - elu - conv -> samples [batch, channels, n]
//
// The middle is an LSTM in EnCodec; Mimi has a transformer after its encoder and before its decoder, between a convolution that
// shortens once more and one that lengthens. Convolutions pad as much as gives ceil(n / stride) frames.
#include <math.h>

#include "arch/block/sound.h"
#include "arch/family/codec.h"

enum pad { PAD_ZEROS, PAD_REFLECT, PAD_REPLICATE };

struct codec {
	int64_t channels, filters, blocks, growth, compress, steps, lstm_layers;
	const int64_t *ratios; // [steps], of the decoder
	int64_t kernel, last_kernel, block_kernel;
	bool causal, weight_norm, group_norm, shortcut, normalised;
	enum pad pad;
	double trimmed;                              // of what a transposed convolution is too long: the share at the end
	int64_t codes, code_width, quantizers, used; // used: at the least bandwidth
	int64_t semantic, quantizer_width, stride, up_groups; // Mimi
};

// ---- config.json ------------------------------------------------------------------------------------------------

static void resolve_pad(struct config *c, struct codec *o)
{
	const char *mode = config_text(c, "pad_mode");
	if (mode && text_is(mode, "reflect"))
		o->pad = PAD_REFLECT;
	else if (mode && text_is(mode, "replicate"))
		o->pad = PAD_REPLICATE;
	else if (mode && !text_is(mode, "constant"))
		config_fail(c, STATUS_UNSUPPORTED, "pad_mode %s is not supported yet", mode);
	o->trimmed = config_real(c, "trim_right_ratio", 1);
	if (!(o->trimmed >= 0 && o->trimmed <= 1) || (o->trimmed != 1 && !o->causal))
		config_fail(
			c, STATUS_BAD_INPUT, "trim_right_ratio %g%s", o->trimmed, o->causal ? "" : " without use_causal_conv");
}

static void resolve_convolutions(struct config *c, struct codec *o, struct arena *a)
{
	o->channels = config_size(c, "audio_channels", 1);
	o->filters = config_size(c, "num_filters", -1);
	o->blocks = config_count(c, "num_residual_layers", 1);
	o->growth = config_size(c, "dilation_growth_rate", 2);
	o->compress = config_size(c, "compress", 2);
	o->ratios = config_sizes(c, "upsampling_ratios", a, 0, &o->steps);
	o->kernel = config_size(c, "kernel_size", 7);
	o->last_kernel = config_size(c, "last_kernel_size", 7);
	o->block_kernel = config_size(c, "residual_kernel_size", 3);
	o->causal = config_bool(c, "use_causal_conv", true);
	o->shortcut = config_bool(c, "use_conv_shortcut", false);
	resolve_pad(c, o);
	if (c->error.status)
		return;
	bool bad = o->channels < 1 || o->channels > 2 || o->filters < 1 || o->steps < 1 || o->steps > 16 || o->blocks > 8 ||
		o->growth < 1 || o->growth > 16 || o->compress < 1 || o->filters < o->compress || o->kernel < 1 ||
		o->last_kernel < 1 || o->block_kernel < 1 || o->filters > 1 << 12;
	for (int64_t i = 0; !bad && i < o->steps; i++)
		bad = o->ratios[i] < 1 || o->ratios[i] > 1 << 10;
	if (bad)
		config_fail(c, STATUS_BAD_INPUT,
			"num_filters, upsampling_ratios, compress and the sizes of kernels do not go together");
}

static int64_t hop(const struct codec *o)
{
	int64_t n = 1;
	for (int64_t i = 0; i < o->steps && n < 1 << 30; i++)
		n *= o->ratios[i];
	return n;
}

// How many quantizers a file has follows from the highest bandwidth, how many are used from the one asked for: the first.
static void resolve_bandwidths(struct config *c, struct codec *o, int64_t frames_per_s)
{
	const json_t *list = config_get(c, "target_bandwidths");
	size_t n = json_array_size(list);
	double first = json_number_value(json_array_get(list, 0)), last = json_number_value(json_array_get(list, n ? n - 1 : 0));
	double bits = log2((double)o->codes) * (double)frames_per_s;
	if (!(first > 0) || !(last > 0) || !(bits > 0) || last * 1000 / bits > CONFIG_COUNT_MOST) {
		config_fail(c, STATUS_BAD_INPUT, "target_bandwidths should be a list of numbers above 0");
		return;
	}
	o->quantizers = (int64_t)floor(1000 * last / bits);
	o->used = (int64_t)floor(first * 1000 / bits);
	o->used = o->used < 1 ? 1 : o->used;
	if (o->quantizers < o->used)
		o->used = o->quantizers;
}

static void resolve_encodec(struct config *c, struct spec *s, struct codec *o)
{
	const char *norm = config_text(c, "norm_type");
	int64_t rate = config_size(c, "sampling_rate", -1);
	const json_t *chunk = config_get(c, "chunk_length_s");
	s->hidden_size = config_size(c, "hidden_size", -1);
	o->code_width = config_size(c, "codebook_dim", s->hidden_size);
	o->lstm_layers = config_count(c, "num_lstm_layers", 2);
	o->normalised = config_bool(c, "normalize", false);
	o->group_norm = norm && text_is(norm, "time_group_norm");
	o->weight_norm = !o->group_norm;
	if (norm && !o->group_norm && !text_is(norm, "weight_norm"))
		config_fail(c, STATUS_UNSUPPORTED, "norm_type %s is not supported yet", norm);
	if (chunk)
		config_fail(c, STATUS_UNSUPPORTED, "chunk_length_s: sound in chunks is not supported yet");
	if (c->error.status)
		return;
	if (o->code_width != s->hidden_size || o->lstm_layers < 1 || o->lstm_layers > 16)
		config_fail(c, STATUS_BAD_INPUT, "codebook_dim %lld and hidden_size %lld differ, or %lld LSTM layers",
			(long long)o->code_width, (long long)s->hidden_size, (long long)o->lstm_layers);
	resolve_bandwidths(c, o, (rate + hop(o) - 1) / hop(o));
	s->layers = s->layers_in_config = 1;
}

static void resolve_mimi(struct config *c, struct spec *s, struct codec *o, struct arena *a)
{
	int64_t rate = config_size(c, "sampling_rate", -1);
	double frame_rate = config_real(c, "frame_rate", config_real(c, "_frame_rate", 0));
	resolve_transformer(c, s, true);
	resolve_rope(c, s, a);
	s->sliding_window = resolve_window_size(c);
	s->traits.qkv_bias = config_bool(c, "attention_bias", false);
	o->code_width = config_size(c, "codebook_dim", s->hidden_size);
	o->quantizer_width = config_size(c, "vector_quantization_hidden_dimension", s->hidden_size);
	o->quantizers = o->used = config_count(c, "num_quantizers", -1);
	o->semantic = config_count(c, "num_semantic_quantizers", 1);
	o->up_groups = config_size(c, "upsample_groups", 1);
	if (!o->causal)
		config_fail(c, STATUS_UNSUPPORTED, "use_causal_conv: false is not supported yet");
	if (c->error.status)
		return;
	double slow = frame_rate > 0 ? frame_rate : (double)rate / (2 * (double)hop(o)),
	       fast = ceil((double)rate / (double)hop(o));
	o->stride = fast == slow || !(fast / slow < 1 << 10) ? 0 : (int64_t)(fast / slow);
	if (o->stride < 1)
		config_fail(c, STATUS_UNSUPPORTED, "frame_rate %g, where convolutions give %g, is not supported yet", slow, fast);
	else if (o->semantic < 1 || o->semantic >= o->quantizers || o->code_width != o->quantizer_width || s->ffn_size < 1 ||
		o->up_groups < 1 || s->hidden_size % o->up_groups)
		config_fail(c, STATUS_BAD_INPUT,
			"num_quantizers, num_semantic_quantizers, codebook_dim, vector_quantization_hidden_dimension and "
			"upsample_groups do not go together");
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct codec *o = ARENA_NEW(a, struct codec);
	s->own = o;
	resolve_convolutions(c, o, a);
	o->codes = config_size(c, "codebook_size", -1);
	if (!c->error.status && (o->codes < 2 || o->codes & (o->codes - 1)))
		config_fail(c, STATUS_BAD_INPUT, "codebook_size %lld should be a power of 2", (long long)o->codes);
	if (c->error.status)
		return;
	if (TRAITS_OF(s, codec)->transformer)
		resolve_mimi(c, s, o, a);
	else
		resolve_encodec(c, s, o);
	static const char *const others[] = { "decoder*", "upsample.*", "quantizer.*", NULL };
	if (s->head == &head_encoder)
		s->unused = others;
}

// ---- convolutions ------------------------------------------------------------------------------------------------

// x [batch, channels, n] -> [.., before + n + after]. `after` is for the most that a stride asks for, spare more than the least;
// what is not asked for stands at the end, where the convolution leaves it out. Sound shorter than what is reflected is as if
// zeros stood after it, as in EnCodec.
static graph_value mirrored(struct build *b, graph_value x, int64_t before, int64_t after, int64_t spare, enum pad how)
{
	struct graph *g = b->g;
	graph_value n = op_squeeze(g, op_dim(g, x, 2), 0), one = graph_i64(g, 1), zero = graph_i64(g, 0);
	graph_value end = op_sub(g, n, one);
	graph_value at = op_range(g, graph_i64(g, -before), op_add(g, n, graph_i64(g, after)), one);
	if (how == PAD_REPLICATE)
		return op_gather(g, x, op_max(g, op_min(g, at, end), zero), 2);
	graph_value least = graph_i64(g, after - spare);
	if (spare) { // so many more than the least make n whole strides
		graph_value over = op_mod(g, op_add(g, n, graph_i64(g, spare)), graph_i64(g, spare + 1));
		least = op_add(g, least, op_sub(g, graph_i64(g, spare), over));
	}
	end = op_max(g, end, op_max(g, least, graph_i64(g, before)));
	at = op_sub(g, end, op_abs(g, op_sub(g, end, op_abs(g, at))));
	return op_gather(g, op_pad(g, x, 2, 0, after > before ? after : before), op_max(g, at, zero), 2);
}

struct convolution {
	const char *stem;
	int64_t in, out, kernel, stride, dilation;
};

static graph_value normed(struct build *b, const char *stem, graph_value x, int64_t width)
{
	const char *norm = arena_printf(graph_arena(b->g), "%s.norm", stem);
	graph_value w = WEIGHT(b, norm, "weight", width);
	return op_group_norm(b->g, x, 1, w, WEIGHT(b, norm, "bias", width), 1e-5f);
}

static graph_value kernel_of(struct build *b, const char *stem, int64_t first, int64_t second, int64_t kernel)
{
	const struct codec *o = b->s->own;
	return o->weight_norm ? sound_normed_kernel(b, stem, first, second, kernel)
			      : WEIGHT(b, stem, "weight", first, second, kernel);
}

static graph_value convolve_as(struct build *b, const struct convolution *v, graph_value x, bool bias, enum pad how)
{
	const struct codec *o = b->s->own;
	int64_t total = (v->kernel - 1) * v->dilation + 1 - v->stride, spare = v->stride - 1;
	int64_t after = (o->causal ? 0 : total / 2) + spare, before = o->causal ? total : total - total / 2;
	int64_t pad[] = { before, after };
	if (how != PAD_ZEROS && before + after) {
		x = mirrored(b, x, before, after, spare, how);
		pad[0] = pad[1] = 0;
	}
	graph_value w = kernel_of(b, v->stem, v->out, v->in, v->kernel);
	graph_value y =
		op_conv(b->g, x, w, bias ? WEIGHT(b, v->stem, "bias", v->out) : NO_VALUE, &v->stride, pad, &v->dilation, 1);
	return o->group_norm ? normed(b, v->stem, y, v->out) : y;
}

static graph_value convolve(struct build *b, const struct convolution *v, graph_value x)
{
	const struct codec *o = b->s->own;
	graph_value y = convolve_as(b, v, x, true, o->pad);
	if (v->stride == 1)
		graph_assume(b->g, y, 2, value_dim(b->g, x, 2));
	return y;
}

static graph_value lengthen(
	struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, int64_t ratio, int64_t groups, bool bias)
{
	const struct codec *o = b->s->own;
	struct graph *g = b->g;
	int64_t after = o->causal ? (int64_t)ceil((double)ratio * o->trimmed) : ratio / 2, pad[] = { ratio - after, after };
	int64_t none[] = { 0, 0 };
	graph_value w = kernel_of(b, stem, in, out / groups, 2 * ratio);
	x = op_conv_transpose(
		g, x, w, bias ? WEIGHT(b, stem, "bias", out) : NO_VALUE, 1, &ratio, o->group_norm ? none : pad, groups);
	if (!o->group_norm)
		return x;
	x = normed(b, stem, x, out);
	return op_slice(g, x, 2, pad[0], pad[1] ? -pad[1] : INT64_MAX);
}

// x -+- elu - conv, narrower - elu - conv -(+)-        shortcut: identity, or a convolution
static graph_value residual_block(struct build *b, graph_value x, int64_t width, int64_t which)
{
	const struct codec *o = b->s->own;
	struct graph *g = b->g;
	int64_t narrow = width / o->compress, dilation = 1;
	for (int64_t i = 0; i < which; i++)
		dilation *= o->growth;
	graph_enter(g, "layers.%lld", (long long)b->layer);
	b->item = 1;
	graph_value y = convolve(b, &(struct convolution){ "block", width, narrow, o->block_kernel, 1, dilation }, elu(g, x));
	b->item = 3;
	y = convolve(b, &(struct convolution){ "block", narrow, width, 1, 1, 1 }, elu(g, y));
	if (o->shortcut)
		x = convolve(b, &(struct convolution){ "shortcut", width, width, 1, 1, 1 }, x);
	graph_leave(g);
	b->layer++;
	return op_add(g, x, y);
}

static graph_value lstm(struct build *b, graph_value x, int64_t h)
{
	const struct codec *o = b->s->own;
	struct graph *g = b->g;
	x = op_transpose(g, x, 3, (int[]){ 2, 0, 1 }); // [frames, batch, h]
	graph_value y = x, last[2];
	graph_enter(g, "lstm");
	for (b->item = 0; b->item < o->lstm_layers && !graph_failed(g); b->item++) {
		struct rnn r = { .directions = 1,
			.of = { { WEIGHT(b, "lstm.input", "", 4 * h, h), WEIGHT(b, "lstm.hidden", "", 4 * h, h),
				WEIGHT(b, "lstm.input.bias", "", 4 * h), WEIGHT(b, "lstm.hidden.bias", "", 4 * h) } } };
		y = op_lstm(g, y, &r, last);
	}
	graph_leave(g);
	b->layer++;
	return op_transpose(g, op_add(g, y, x), 3, (int[]){ 1, 2, 0 });
}

// b->layer counts as the list of layers in the file does, in which an activation is a layer too.
static graph_value shorten(struct build *b, graph_value x)
{
	const struct codec *o = b->s->own;
	struct graph *g = b->g;
	int64_t width = o->filters;
	b->layer = 0;
	x = convolve(b, &(struct convolution){ "conv", o->channels, width, o->kernel, 1, 1 }, x);
	b->layer++;
	for (int64_t i = o->steps - 1; i >= 0 && !graph_failed(g); i--, width *= 2) {
		for (int64_t k = 0; k < o->blocks; k++)
			x = residual_block(b, x, width, k);
		b->layer++;
		x = convolve(b, &(struct convolution){ "conv", width, 2 * width, 2 * o->ratios[i], o->ratios[i], 1 }, elu(g, x));
		b->layer++;
	}
	if (!TRAITS_OF(b->s, codec)->transformer)
		x = lstm(b, x, width);
	b->layer++;
	return convolve(b, &(struct convolution){ "conv", width, b->s->hidden_size, o->last_kernel, 1, 1 }, elu(g, x));
}

static graph_value to_samples(struct build *b, graph_value x)
{
	const struct codec *o = b->s->own;
	struct graph *g = b->g;
	int64_t width = o->filters << o->steps;
	b->layer = 0;
	x = convolve(b, &(struct convolution){ "conv", b->s->hidden_size, width, o->kernel, 1, 1 }, x);
	b->layer++;
	if (!TRAITS_OF(b->s, codec)->transformer)
		x = lstm(b, x, width);
	for (int64_t i = 0; i < o->steps && !graph_failed(g); i++) {
		b->layer++;
		x = lengthen(b, "conv", elu(g, x), width, width / 2, o->ratios[i], 1, true);
		b->layer++;
		width /= 2;
		for (int64_t k = 0; k < o->blocks; k++)
			x = residual_block(b, x, width, k);
	}
	b->layer++;
	return convolve(b, &(struct convolution){ "conv", width, o->channels, o->last_kernel, 1, 1 }, elu(g, x));
}

// ---- quantizers ------------------------------------------------------------------------------------------------

// [codes, width]. Mimi's file has sums over the frames that each codeword stood for, and how many there were.
static graph_value codewords(struct build *b)
{
	const struct codec *o = b->s->own;
	struct graph *g = b->g;
	graph_value w = WEIGHT(b, "codes", "", o->codes, o->code_width);
	if (!TRAITS_OF(b->s, codec)->transformer)
		return w;
	graph_value count = op_max(g, WEIGHT(b, "codes.count", "", o->codes), graph_f32(g, 1e-5f));
	return op_div(g, w, op_unsqueeze(g, count, 1));
}

// x [batch, frames, width] -> the sum of codewords, likewise; codes [batch, 1, frames], one for each quantizer. The nearest
// codeword to x is that of the greatest x w - |w|^2 / 2.
static graph_value quantize(struct build *b, graph_value x, int64_t count, graph_value *codes)
{
	struct graph *g = b->g;
	graph_value sum = NO_VALUE, left = x;
	for (b->layer = 0; b->layer < count && !graph_failed(g); b->layer++) {
		graph_value w = codewords(b), half = op_scale(g, op_reduce_sum(g, op_mul(g, w, w), 1, false), 0.5f);
		graph_value code = op_argmax(g, op_sub(g, op_linear(g, left, w, NO_VALUE), half), -1, false);
		graph_value word = op_gather(g, w, code, 0);
		left = op_sub(g, left, word);
		sum = sum.id ? op_add(g, sum, word) : word;
		codes[b->layer] = op_unsqueeze(g, code, 1);
	}
	return sum;
}

static graph_value transposed(struct graph *g, graph_value x) // [batch, a, b] -> [batch, b, a]
{
	return op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
}

static graph_value project(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out)
{
	graph_value w = op_reshape(b->g, WEIGHT(b, stem, "weight", out, in, 1), 2, (int64_t[]){ out, in });
	return op_linear(b->g, x, w, NO_VALUE);
}

static graph_value quantize_part(struct build *b, const char *part, graph_value x, int64_t count, graph_value *codes)
{
	const struct codec *o = b->s->own;
	int64_t h = b->s->hidden_size, width = o->quantizer_width;
	b->item_name = part;
	if (h != width)
		x = project(b, "quantizer.in", x, h, width);
	x = quantize(b, x, count, codes);
	return h == width ? x : project(b, "quantizer.out", x, width, h);
}

// x [batch, hidden, frames] -> likewise; *codes [batch, quantizers, frames]
static graph_value replace(struct build *b, graph_value x, graph_value *codes)
{
	const struct codec *o = b->s->own;
	struct graph *g = b->g;
	graph_value *each = GRAPH_TABLE(g, NULL, o->used, 1, graph_value);
	if (!each)
		return NO_VALUE;
	graph_enter(g, "quantizer");
	x = transposed(g, x);
	if (TRAITS_OF(b->s, codec)->transformer) {
		graph_value y = quantize_part(b, "semantic", x, o->semantic, each);
		x = op_add(g, y, quantize_part(b, "acoustic", x, o->used - o->semantic, each + o->semantic));
	} else
		x = quantize(b, x, o->used, each);
	*codes = op_concat(g, (int)o->used, each, 1);
	graph_leave(g);
	return transposed(g, x);
}

// ---- Mimi's transformer ------------------------------------------------------------------------------------------------

// [frames, frames]: each sees itself and the window - 1 before it
static graph_value window_bias(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	graph_value at = places_of(g, x), query = op_unsqueeze(g, at, 1), key = op_unsqueeze(g, at, 0);
	graph_value sees = op_less_or_equal(g, key, query);
	if (b->s->sliding_window)
		sees = op_and(g, sees, op_less(g, op_sub(g, query, key), graph_i64(g, b->s->sliding_window)));
	return op_where(g, sees, graph_f32(g, 0), graph_f32(g, -3.40282347e38f));
}

static graph_value scaled(struct build *b, const char *stem, graph_value x)
{
	return op_mul(b->g, x, WEIGHT(b, stem, "", b->s->hidden_size));
}

static graph_value transform(struct build *b, graph_value x) // [batch, hidden, frames] -> likewise
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value cos, sin, y;
	x = transposed(g, x);
	graph_value bias = window_bias(b, x);
	rope_tables(b, x, NO_VALUE, &cos, &sin);
	graph_enter(g, "transformer");
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		y = layer_norm(b, "layers.attn.norm", x, h);
		y = self_attention(b, y, bias, cos, sin, s->traits.qkv_bias, s->traits.qkv_bias, NULL);
		x = op_add(g, x, scaled(b, "layers.attn.scale", y));
		y = linear(b, "layers.ffn.up", layer_norm(b, "layers.ffn.norm", x, h), h, s->ffn_size, false);
		y = linear(b, "layers.ffn.down", activate(b, s->act, y), s->ffn_size, h, false);
		x = op_add(g, x, scaled(b, "layers.ffn.scale", y));
		graph_leave(g);
	}
	graph_leave(g);
	return transposed(g, x);
}

// ---- the whole ------------------------------------------------------------------------------------------------

static graph_value encode(struct build *b, graph_value x)
{
	const struct codec *o = b->s->own;
	int64_t h = b->s->hidden_size;
	b->item_name = "encoder";
	graph_enter(b->g, "encoder");
	x = shorten(b, x);
	if (TRAITS_OF(b->s, codec)->transformer)
		x = convolve_as(b, &(struct convolution){ "shorter", h, h, 2 * o->stride, o->stride, 1 }, transform(b, x), false,
			PAD_REPLICATE);
	graph_leave(b->g);
	return x;
}

static graph_value decode(struct build *b, graph_value x)
{
	const struct codec *o = b->s->own;
	int64_t h = b->s->hidden_size;
	b->item_name = "decoder";
	graph_enter(b->g, "decoder");
	if (TRAITS_OF(b->s, codec)->transformer)
		x = transform(b, lengthen(b, "longer", x, h, h, o->stride, o->up_groups, false));
	x = to_samples(b, x);
	graph_leave(b->g);
	return x;
}

// The root of the mean square of the mean over channels: [batch, 1, 1]
static graph_value loudness(struct graph *g, graph_value samples)
{
	graph_value x = op_reduce_mean(g, samples, 1, true);
	return op_add(g, op_sqrt(g, op_reduce_mean(g, op_mul(g, x, x), 2, true)), graph_f32(g, 1e-8f));
}

static graph_value sound_input(struct build *b)
{
	const struct codec *o = b->s->own;
	struct graph *g = b->g;
	return graph_input(g, "input_values", DTYPE_F32, 3,
		(int64_t[]){ graph_symbol(g, "batch"), o->channels, graph_symbol(g, "samples") });
}

static void give_all(struct build *b, const struct body *io)
{
	const struct codec *o = b->s->own;
	struct graph *g = b->g;
	bool mimi = TRAITS_OF(b->s, codec)->transformer;
	graph_value x = io->features, scale = o->normalised ? loudness(g, x) : NO_VALUE, codes = NO_VALUE;
	x = decode(b, replace(b, encode(b, scale.id ? op_div(g, x, scale) : x), &codes));
	x = scale.id ? op_mul(g, x, scale) : x;
	x = op_slice_to(g, x, 2, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, io->features, 2));
	graph_assume(g, x, 2, graph_symbol(g, "samples"));
	graph_output(g, "audio_values", x);
	graph_output(g, "audio_codes", mimi ? codes : op_unsqueeze(g, codes, 0)); // EnCodec: of one chunk
}

static void give_latents(struct build *b, const struct body *io)
{
	graph_output(b->g, "latents", encode(b, io->features)); // [batch, hidden, frames]
}

static void build(struct build *b)
{
	struct body io = { .features = sound_input(b) };
	head_build(b, &io);
}

// The decoder as a part: codes io->ids i64 [batch, quantizers, frames] -> io->last [batch, channels, samples]
static void body(struct build *b, struct body *io)
{
	const struct codec *o = b->s->own;
	struct graph *g = b->g;
	int64_t count = value_dim(g, io->ids, 1);
	graph_value x = NO_VALUE;
	if (TRAITS_OF(b->s, codec)->transformer || count < 1 || count > o->quantizers)
		graph_fail(g, STATUS_UNSUPPORTED, "%lld codebooks of %lld, or of such a codec, are not supported here yet",
			(long long)count, (long long)o->quantizers);
	for (b->layer = 0; b->layer < count && !graph_failed(g); b->layer++) {
		graph_value code = op_squeeze(g, op_slice(g, io->ids, 1, b->layer, b->layer + 1), 1);
		graph_value word = op_gather(g, codewords(b), code, 0);
		x = x.id ? op_add(g, x, word) : word;
	}
	io->last = decode(b, transposed(g, x));
}

static const struct family_head heads[] = { { &head_model, give_all }, { &head_encoder, give_latents }, { 0 } };

const struct family codec = {
	.name = "codec",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(codec, CODEC_TRAITS),
};
