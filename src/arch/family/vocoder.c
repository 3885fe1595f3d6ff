// SPDX-License-Identifier: Apache-2.0
// HiFi-GAN's generator (Kong et al. 2020, https://arxiv.org/abs/2010.05646): a spectrogram becomes samples, through transposed
// convolutions that lengthen and, after each, the mean of several stacks of dilated convolutions.
//
//   mel [batch, frames, bins] - (- mean) / scale - conv - [leaky - lengthened - mean of stacks] - leaky - conv - tanh -> [batch,
//   samples]
//   stack:  x -+- leaky - conv, dilated - leaky - conv -(+)-  ..
#include "arch/family/vocoder.h"

void vocoder_resolve(struct config *c, struct vocoder *v, struct arena *a)
{
	int64_t kernels = 0;
	v->width = config_size(c, "upsample_initial_channel", -1);
	v->rates = config_sizes(c, "upsample_rates", a, 0, &v->steps);
	v->kernels = config_sizes(c, "upsample_kernel_sizes", a, 0, &kernels);
	v->stack_kernels = config_sizes(c, "resblock_kernel_sizes", a, 0, &v->stacks);
	v->slope = config_real(c, "leaky_relu_slope", 0.1);
	v->dilations = sound_dilations(c, a, v->stacks, &v->dilation_count);
	if (c->error.status)
		return;
	bool bad = v->steps < 1 || v->steps > 16 || kernels < v->steps || v->stacks < 1 || v->bins < 1 ||
		v->width >> v->steps < 1 || !(v->slope >= 0 && v->slope <= 1);
	for (int64_t i = 0; !bad && i < v->steps; i++)
		bad = v->rates[i] < 1 || v->rates[i] > 1 << 12 || v->kernels[i] < v->rates[i];
	for (int64_t i = 0; !bad && i < v->stacks; i++)
		bad = v->stack_kernels[i] < 1 || v->stack_kernels[i] > 1 << 12;
	if (bad)
		config_fail(c, STATUS_BAD_INPUT,
			"upsample_rates, upsample_kernel_sizes and upsample_initial_channel do not go together");
}

int64_t vocoder_rate(const struct vocoder *v)
{
	int64_t rate = 1;
	for (int64_t i = 0; i < v->steps && rate < 1 << 24; i++)
		rate *= v->rates[i];
	return rate;
}

static graph_value kept(
	struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, int64_t kernel, int64_t dilation)
{
	return sound_conv(b, stem, x, &(struct sound_kernel){ in, out, kernel, .dilation = dilation });
}

static graph_value stack(struct build *b, const struct vocoder *v, graph_value x, int64_t width, int64_t which)
{
	struct graph *g = b->g;
	int64_t kernel = v->stack_kernels[which];
	for (b->layer = 0; b->layer < v->dilation_count[which] && !graph_failed(b->g); b->layer++) {
		graph_value y = kept(
			b, "stacks.dilated", leaky_relu(g, x, v->slope), width, width, kernel, v->dilations[which][b->layer]);
		x = op_add(g, kept(b, "stacks.plain", leaky_relu(g, y, v->slope), width, width, kernel, 1), x);
	}
	return x;
}

graph_value vocoder_sing(struct build *b, const struct vocoder *v, graph_value x, graph_value told)
{
	struct graph *g = b->g;
	int64_t width = v->width;
	x = kept(b, "first", x, v->bins, width, 7, 1);
	if (told.id)
		x = op_add(g, x, told);
	for (int64_t i = 0; i < v->steps && !graph_failed(g); i++, width /= 2) {
		int64_t pad = (v->kernels[i] - v->rates[i]) / 2;
		graph_enter(g, "steps.%lld", (long long)i);
		b->layer = i;
		graph_value w = WEIGHT(b, "longer", "weight", width, width / 2, v->kernels[i]),
			    bias = WEIGHT(b, "longer", "bias", width / 2);
		x = op_conv_transpose(g, leaky_relu(g, x, v->slope), w, bias, 1, &v->rates[i], (int64_t[]){ pad, pad }, 1);
		graph_value sum = NO_VALUE;
		for (int64_t k = 0; k < v->stacks && !graph_failed(g); k++) {
			b->stage = i * v->stacks + k;
			graph_value y = stack(b, v, x, width / 2, k);
			sum = sum.id ? op_add(g, sum, y) : y;
		}
		x = op_scale(g, sum, (float)(1 / (double)v->stacks));
		graph_leave(g);
	}
	x = sound_conv(b, "last", leaky_relu(g, x, 0.01), &(struct sound_kernel){ width, 1, 7, .no_bias = v->plain_last });
	return op_squeeze(g, op_tanh(g, x), 1);
}

struct normed_vocoder {
	struct vocoder vocoder;
	bool normalised;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct normed_vocoder *v = s->own = ARENA_NEW(a, struct normed_vocoder);
	v->vocoder.bins = config_size(c, "model_in_dim", -1);
	v->normalised = config_bool(c, "normalize_before", true);
	vocoder_resolve(c, &v->vocoder, a);
}

static void build(struct build *b)
{
	const struct normed_vocoder *v = b->s->own;
	struct graph *g = b->g;
	int64_t bins = v->vocoder.bins;
	graph_value x = graph_input(
		g, "spectrogram", DTYPE_F32, 3, (int64_t[]){ graph_symbol(g, "batch"), graph_symbol(g, "sequence"), bins });
	if (v->normalised)
		x = op_div(g, op_sub(g, x, WEIGHT(b, "mean", "", bins)), WEIGHT(b, "scale", "", bins));
	x = vocoder_sing(b, &v->vocoder, op_transpose(g, x, 3, (int[]){ 0, 2, 1 }), NO_VALUE);
	graph_output(g, "waveform", x);
}

static const struct family_head heads[] = {
	{ &head_vocoder },
	{ &head_model },
	{ 0 },
};

const struct family vocoder = {
	.name = "vocoder",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
