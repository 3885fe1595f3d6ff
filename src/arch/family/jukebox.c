// SPDX-License-Identifier: Apache-2.0
// The codec of Jukebox (Dhariwal et al. 2020, https://arxiv.org/abs/2005.00341): at each of several levels convolutions shorten
// the samples, each frame becomes the number of the nearest codeword, and convolutions lengthen what that stands for again.
// Level n has an encoder of n + 1 blocks, a codebook, and a decoder of as many blocks. The class's encode() takes the codebook of
// the level, its forward() that of the level counted from the other end: music_tokens_N is what the first gives, dequantised_N
// what the second does. The priors, which write music, have no graph.
//
//   raw_audio [batch, samples, channels] -> blocks: [conv / stride - residual units].. - conv -> frame -> music_tokens_N
//   codeword -> blocks: conv - [residual units - transposed conv * stride].. - conv -> dequantised_N [batch, samples, channels]
//   unit:  x -+- relu - conv, dilated - relu - conv -(+)-
#include <math.h>

#include "arch/block/block.h"

struct jukebox {
	int64_t levels, channels, width, codes;               // width: of a codeword
	int64_t units, unit_width, unit_times, growth, cycle; // cycle 0: the dilation grows with every unit
	const int64_t *downs, *strides, *times;               // [levels]; times: how many times as wide and deep a level is
	bool scaled;
};

enum { LEVELS_MOST = 8, UNITS_MOST = 64, STRIDE_MOST = 1 << 10 };

static int64_t dilation_of(const struct jukebox *o, int64_t unit)
{
	double n = pow((double)o->growth, (double)(o->cycle ? unit % o->cycle : unit));
	return n <= 1 << 20 ? (int64_t)n : 0;
}

static bool are_right(const struct jukebox *o)
{
	bool right = o->levels >= 1 && o->levels <= LEVELS_MOST && o->channels >= 1 && o->width >= 1 && o->codes >= 1 &&
		o->units >= 1 && o->unit_width >= 1 && o->unit_times >= 1 && o->growth >= 1;
	for (int64_t i = 0; right && i < o->levels; i++) {
		right = o->downs[i] >= 1 && o->downs[i] <= 16 && o->strides[i] >= 1 && o->strides[i] <= STRIDE_MOST &&
			o->times[i] >= 1 && o->units * o->times[i] <= UNITS_MOST;
		for (int64_t k = 0; right && k < o->units * o->times[i]; k++)
			right = dilation_of(o, k) > 0;
	}
	return right;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct jukebox *o = s->own = ARENA_NEW(a, struct jukebox);
	static const int64_t once[LEVELS_MOST] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	int64_t downs, strides, times;
	s->layers = s->layers_in_config = 1;
	o->levels = config_count(c, "levels", 3);
	o->channels = config_size(c, "conv_input_shape", 1);
	o->width = s->hidden_size = config_size(c, "embed_dim", -1);
	o->codes = config_size(c, "nb_discrete_codes", -1);
	o->units = config_count(c, "res_conv_depth", -1);
	o->unit_width = config_size(c, "res_conv_width", -1);
	o->unit_times = config_size(c, "res_convolution_multiplier", 1);
	o->growth = config_size(c, "res_dilation_growth_rate", 3);
	o->cycle = config_size(c, "res_dilation_cycle", 0);
	o->scaled = config_bool(c, "conv_res_scale", false);
	o->downs = config_sizes(c, "res_downs_t", a, 0, &downs);
	o->strides = config_sizes(c, "res_strides_t", a, 0, &strides);
	o->times = config_sizes(c, "multipliers", a, 0, &times);
	if (!o->times) {
		o->times = once;
		times = LEVELS_MOST;
	}
	if (!c->error.status && (downs < o->levels || strides < o->levels || times < o->levels || !are_right(o)))
		config_fail(c, STATUS_BAD_INPUT,
			"levels, res_downs_t, res_strides_t, multipliers and the sizes of convolutions do not go together");
}

// The names of what stands in a block: "NUMBER", "NUMBER.resnet_block.UNIT.conv1d_1"
static graph_value convolve(struct build *b, const char *stem, graph_value x, int64_t out, int64_t kernel, int64_t stride,
	int64_t pad, int64_t dilation)
{
	struct graph *g = b->g;
	graph_value w = WEIGHT(b, stem, "weight", out, value_dim(g, x, 1), kernel), bias = WEIGHT(b, stem, "bias", out);
	return op_conv(g, x, w, bias, &stride, (int64_t[]){ pad, pad }, &dilation, 1);
}

static graph_value units(struct build *b, const char *stem, graph_value x, int64_t place, bool reversed)
{
	struct graph *g = b->g;
	const struct jukebox *o = b->s->own;
	int64_t count = o->units * o->times[b->stage], width = o->unit_width * o->times[b->stage];
	for (int64_t i = 0; i < count && !graph_failed(g); i++) {
		const char *name = arena_printf(graph_arena(g), "%lld.resnet_block.%lld", (long long)place, (long long)i);
		int64_t dilation = dilation_of(o, reversed ? count - 1 - i : i);
		b->item_name = arena_printf(graph_arena(g), "%s.conv1d_1", name);
		graph_value y = convolve(b, stem, op_relu(g, x), o->unit_times * width, 3, 1, dilation, dilation);
		b->item_name = arena_printf(graph_arena(g), "%s.conv1d_2", name);
		y = convolve(b, stem, op_relu(g, y), width, 1, 1, 0, 1);
		x = op_add(g, x, op_scale(g, y, o->scaled ? (float)(1 / sqrt((double)count)) : 1));
	}
	return x;
}

static void name_place(struct build *b, int64_t place)
{
	b->item_name = arena_printf(graph_arena(b->g), "%lld", (long long)place);
}

// x [batch, channels, samples] -> [batch, width, frames] of level b->stage
static graph_value encode(struct build *b, graph_value x)
{
	const struct jukebox *o = b->s->own;
	for (b->layer = 0; b->layer <= b->stage && !graph_failed(b->g); b->layer++) {
		int64_t stride = o->strides[b->layer];
		graph_enter(b->g, "encoders.%lld.%lld", (long long)b->stage, (long long)b->layer);
		for (int64_t i = 0; i < o->downs[b->layer] && !graph_failed(b->g); i++) {
			name_place(b, 2 * i);
			x = convolve(
				b, "encoder.block", x, o->unit_width * o->times[b->stage], 2 * stride, stride, stride / 2, 1);
			x = units(b, "encoder.block", x, 2 * i + 1, false);
		}
		x = convolve(b, "encoder.out", x, o->width, 3, 1, 1, 1);
		graph_leave(b->g);
	}
	return x;
}

static graph_value decode(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct jukebox *o = b->s->own;
	int64_t inner = o->unit_width * o->times[b->stage];
	for (b->layer = b->stage; b->layer >= 0 && !graph_failed(g); b->layer--) {
		int64_t stride = o->strides[b->layer], downs = o->downs[b->layer], pad[] = { stride / 2, stride / 2 };
		graph_enter(g, "decoders.%lld.%lld", (long long)b->stage, (long long)b->layer);
		x = convolve(b, "decoder.in", x, inner, 3, 1, 1, 1);
		for (int64_t i = 0; i < downs && !graph_failed(g); i++) {
			x = units(b, "decoder.block", x, 2 * i, true);
			name_place(b, 2 * i + 1);
			int64_t out = i < downs - 1 ? inner : o->width;
			graph_value w = WEIGHT(b, "decoder.block", "weight", inner, out, 2 * stride);
			x = op_conv_transpose(g, x, w, WEIGHT(b, "decoder.block", "bias", out), 1, &stride, pad, 1);
		}
		graph_leave(g);
	}
	b->layer = b->stage;
	return convolve(b, "decoder.out", x, o->channels, 3, 1, 1, 1);
}

// The codeword of this level that is nearest to each frame: x [batch, frames, width] -> i64 [batch, frames]; *words: all of them
static graph_value nearest(struct build *b, graph_value x, int64_t level, graph_value *words)
{
	struct graph *g = b->g;
	const struct jukebox *o = b->s->own;
	b->layer = level;
	*words = WEIGHT(b, "codebook", "", o->codes, o->width);
	// the least |x - w|^2 = |x|^2 - 2 x w + |w|^2
	graph_value size = op_reduce_sum(g, op_mul(g, *words, *words), 1, false);
	return op_argmax(g, op_sub(g, op_scale(g, op_linear(g, x, *words, NO_VALUE), 2), size), 2, false);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct jukebox *o = b->s->own;
	int64_t dim[] = { graph_symbol(g, "batch"), graph_symbol(g, "samples"), o->channels };
	const int turn[] = { 0, 2, 1 };
	graph_value sound = op_transpose(g, graph_input(g, "raw_audio", DTYPE_F32, 3, dim), 3, turn), words;
	for (b->stage = 0; b->stage < o->levels && !graph_failed(g); b->stage++) {
		long long level = b->stage;
		graph_value x = op_transpose(g, encode(b, sound), 3, turn); // [batch, frames, width]
		graph_output(g, arena_printf(graph_arena(g), "music_tokens_%lld", level), nearest(b, x, level, &words));
		graph_value other = nearest(b, x, o->levels - 1 - level, &words);
		x = op_gather(g, words, other, 0);
		x = decode(b, op_transpose(g, x, 3, turn));
		graph_output(g, arena_printf(graph_arena(g), "dequantised_%lld", level), op_transpose(g, x, 3, turn));
	}
}

static const struct family_head heads[] = { { &head_model, head_give_last }, { 0 } };

const struct family jukebox = {
	.name = "jukebox",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
