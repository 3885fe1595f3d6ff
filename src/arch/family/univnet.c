// SPDX-License-Identifier: Apache-2.0
// UnivNet (Jang et al. 2021, https://arxiv.org/abs/2106.07889): noise, an input, becomes samples by convolutions whose kernels
// another network makes of the spectrogram, one for each frame (Zeng et al. 2021, https://arxiv.org/abs/2102.10815).
//
//   noise - conv - [leaky - lengthened - layers].. - leaky - conv - tanh -> samples
//   layer:   x -+- leaky - conv, dilated - leaky - conv by the frame's kernel - sigmoid(first half) * tanh(second) -(+)-
//   kernels: mel - conv - leaky -[-+- conv - leaky - conv - leaky -(+)-].. - conv -> kernels, conv -> biases
#include "arch/block/sound.h"

enum { EDGE = 3, EDGE_KERNEL = 2 * EDGE + 1, MEL_KERNEL = 5, KERNEL_MOST = 64 };

struct univnet {
	int64_t bins, width, noise, told, told_kernel, told_blocks; // told: of the network that makes kernels
	int64_t steps;
	const int64_t *rates, *kernels;             // [steps]
	const int64_t **dilations, *dilation_count; // [steps], each [dilation_count[i]]
	double slope;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct univnet *u = s->own = ARENA_NEW(a, struct univnet);
	int64_t kernels = 0;
	u->bins = config_size(c, "num_mel_bins", -1);
	u->width = config_size(c, "model_hidden_channels", -1);
	u->noise = config_size(c, "model_in_channels", -1);
	u->told = config_size(c, "kernel_predictor_hidden_channels", -1);
	u->told_kernel = config_size(c, "kernel_predictor_conv_size", -1);
	u->told_blocks = config_count(c, "kernel_predictor_num_blocks", -1);
	u->rates = config_sizes(c, "resblock_stride_sizes", a, 0, &u->steps);
	u->kernels = config_sizes(c, "resblock_kernel_sizes", a, 0, &kernels);
	u->slope = config_real(c, "leaky_relu_slope", 0.2);
	u->dilations = sound_dilations(c, a, u->steps, &u->dilation_count);
	if (c->error.status)
		return;
	bool bad = u->steps < 1 || u->steps > 16 || kernels != u->steps || u->bins < 1 || u->width < 1 || u->noise < 1 ||
		u->told < 1 || u->told_kernel % 2 != 1 || u->told_kernel > 1 << 10 || !(u->slope >= 0 && u->slope <= 1) ||
		(u->told_blocks && u->told != u->noise);
	for (int64_t i = 0; !bad && i < u->steps; i++)
		bad = u->rates[i] < 1 || u->rates[i] > 1 << 12 || u->kernels[i] % 2 != 1 || u->kernels[i] > KERNEL_MOST;
	if (bad)
		config_fail(c, STATUS_BAD_INPUT,
			"resblock_stride_sizes, resblock_kernel_sizes and the sizes of kernel_predictor do not go together");
}

// A convolution of 7 whose edges are mirrored: x [batch, in, n] -> [batch, out, n]
static graph_value mirrored(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out)
{
	struct graph *g = b->g;
	graph_value before[EDGE], after[EDGE];
	for (int i = 0; i < EDGE; i++) {
		before[i] = op_slice(g, x, 2, EDGE - i, EDGE - i + 1);
		after[i] = op_slice(g, x, 2, -2 - i, -1 - i);
	}
	graph_value padded[] = { op_concat(g, EDGE, before, 2), x, op_concat(g, EDGE, after, 2) };
	graph_value w = WEIGHT(b, stem, "weight", out, in, EDGE_KERNEL), bias = WEIGHT(b, stem, "bias", out);
	graph_value y =
		op_conv(g, op_concat(g, 3, padded, 2), w, bias, (int64_t[]){ 1 }, (int64_t[]){ 0, 0 }, (int64_t[]){ 1 }, 1);
	graph_assume(g, y, 2, value_dim(g, x, 2));
	return y;
}

static graph_value lengthened(struct build *b, graph_value x, int64_t rate)
{
	int64_t width = ((const struct univnet *)b->s->own)->width, pad = rate / 2 + rate % 2, more = rate % 2;
	graph_value w = WEIGHT(b, "longer", "weight", width, width, 2 * rate), bias = WEIGHT(b, "longer", "bias", width);
	return op_conv_transpose_of(b->g, x, w, bias, 1,
		&(struct conv_transpose){ .stride = &rate, .pad = (int64_t[]){ pad, pad }, .more = &more, .group = 1 });
}

// What the network of step b->stage makes of the spectrogram: kernels [batch, layers, width, 2 * width, kernel, frames] and
// biases [batch, layers, 2 * width, frames], flat over all but the first and the last.
static void kernels_of(struct build *b, graph_value mel, graph_value *kernels, graph_value *biases)
{
	const struct univnet *u = b->s->own;
	struct graph *g = b->g;
	int64_t layers = u->dilation_count[b->stage], outs = 2 * u->width * layers, n = u->told_kernel;
	b->layer = b->stage;
	graph_enter(g, "kernels");
	graph_value x = sound_conv(b, "told.first", mel, &(struct sound_kernel){ u->bins, u->told, MEL_KERNEL });
	x = leaky_relu(g, x, u->slope);
	for (b->layer = 0; b->layer < u->told_blocks && !graph_failed(g); b->layer++) {
		const struct sound_kernel same = { u->told, u->told, n };
		graph_value y = leaky_relu(g, sound_conv(b, "told.block_first", x, &same), u->slope);
		x = op_add(g, leaky_relu(g, sound_conv(b, "told.block_second", y, &same), u->slope), x);
	}
	b->layer = b->stage;
	*kernels = sound_conv(b, "told.kernels", x, &(struct sound_kernel){ u->told, outs * u->width * u->kernels[b->stage], n });
	*biases = sound_conv(b, "told.biases", x, &(struct sound_kernel){ u->told, outs, n });
	graph_leave(g);
}

// x [batch, width, frames * hop] by the kernel of each frame's own, which sees its neighbours' samples, too: a product for each
// frame, of its hop windows [hop, width * kernel] and what is its [width * kernel, 2 * width].
static graph_value by_frames(struct build *b, graph_value x, graph_value kernels, graph_value biases, int64_t hop, int64_t layer)
{
	const struct univnet *u = b->s->own;
	struct graph *g = b->g;
	int64_t w = u->width, n = u->kernels[b->stage], part = 2 * w * w * n;
	graph_value window[KERNEL_MOST], padded = op_pad(g, x, 2, n / 2, n / 2), samples = op_dim(g, x, 2);
	for (int64_t i = 0; i < n; i++) {
		graph_value from = graph_i64s(g, 1, &i);
		window[i] = op_unsqueeze(g, op_slice_to(g, padded, 2, from, op_add(g, samples, from)), 2);
	}
	graph_value rows = op_concat(g, (int)n, window, 2); // [batch, width, kernel, samples]
	rows = op_reshape(g, rows, 5, (int64_t[]){ 0, w, n, -1, hop });
	rows = op_reshape(g, op_transpose(g, rows, 5, (int[]){ 0, 3, 4, 1, 2 }), 4, (int64_t[]){ 0, -1, hop, w * n });
	graph_value k = op_slice(g, kernels, 1, part * layer, part * (layer + 1));
	k = op_reshape(g, k, 5, (int64_t[]){ 0, w, 2 * w, n, -1 });
	k = op_reshape(g, op_transpose(g, k, 5, (int[]){ 0, 4, 1, 3, 2 }), 4, (int64_t[]){ 0, -1, w * n, 2 * w });
	graph_value bias = sound_transposed(g, op_slice(g, biases, 1, 2 * w * layer, 2 * w * (layer + 1)));
	graph_value y = op_add(g, op_matmul(g, rows, k), op_unsqueeze(g, bias, 2)); // [batch, frames, hop, 2 * width]
	y = sound_transposed(g, op_reshape(g, y, 3, (int64_t[]){ 0, -1, 2 * w }));
	graph_assume(g, y, 2, value_dim(g, x, 2));
	return y;
}

static graph_value layers_of(struct build *b, graph_value x, graph_value mel, int64_t hop)
{
	const struct univnet *u = b->s->own;
	struct graph *g = b->g;
	int64_t w = u->width;
	graph_value kernels, biases;
	kernels_of(b, mel, &kernels, &biases);
	for (b->layer = 0; b->layer < u->dilation_count[b->stage] && !graph_failed(g); b->layer++) {
		struct sound_kernel wide = { w, w, u->kernels[b->stage], u->dilations[b->stage][b->layer] };
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = leaky_relu(g, sound_conv(b, "dilated", leaky_relu(g, x, u->slope), &wide), u->slope);
		y = by_frames(b, y, kernels, biases, hop, b->layer);
		y = op_mul(g, op_sigmoid(g, op_slice(g, y, 1, 0, w)), op_tanh(g, op_slice(g, y, 1, w, 2 * w)));
		x = op_add(g, x, y);
		graph_leave(g);
	}
	return x;
}

static void build(struct build *b)
{
	const struct univnet *u = b->s->own;
	struct graph *g = b->g;
	int64_t batch = graph_symbol(g, "batch"), frames = graph_symbol(g, "sequence"), hop = 1;
	graph_value mel = graph_input(g, "input_features", DTYPE_F32, 3, (int64_t[]){ batch, frames, u->bins });
	graph_value x = graph_input(g, "noise_sequence", DTYPE_F32, 3, (int64_t[]){ batch, frames, u->noise });
	graph_value mask = graph_input(g, "padding_mask", DTYPE_I64, 2, (int64_t[]){ batch, frames });
	mel = sound_transposed(g, mel);
	x = mirrored(b, "first", sound_transposed(g, x), u->noise, u->width);
	for (int64_t i = 0; i < u->steps && !graph_failed(g); i++) {
		graph_enter(g, "steps.%lld", (long long)i);
		b->layer = b->stage = i;
		hop *= u->rates[i];
		x = lengthened(b, leaky_relu(g, x, u->slope), u->rates[i]);
		x = layers_of(b, x, mel, hop);
		graph_leave(g);
	}
	x = mirrored(b, "last", leaky_relu(g, x, u->slope), u->width, 1);
	graph_output(g, "waveforms", op_squeeze(g, op_tanh(g, x), 1)); // [batch, samples]
	graph_output(g, "waveform_lengths", op_reduce_sum(g, mask, 1, false));
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family univnet = {
	.name = "univnet",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
