// SPDX-License-Identifier: Apache-2.0
// HiFi-GAN's generator (Kong et al. 2020, https://arxiv.org/abs/2010.05646): a spectrogram becomes samples, through transposed
// convolutions that lengthen and, after each, the mean of several stacks of dilated convolutions.
//
//   mel [batch, frames, bins] - (- mean) / scale - conv - [leaky - lengthened - mean of stacks] - leaky - conv - tanh -> [batch,
//   samples]
//   stack:  x -+- leaky - conv, dilated - leaky - conv -(+)-  ..
#include "arch/block/block.h"

struct vocoder {
	int64_t bins, width, steps, stacks;
	const int64_t *rates, *kernels;             // [steps]
	const int64_t *stack_kernels;               // [stacks]
	const int64_t **dilations, *dilation_count; // [stacks], each [dilation_count[i]]
	double slope;
	bool normalised;
};

static void resolve_dilations(struct config *c, struct vocoder *v, struct arena *a)
{
	const json_t *lists = config_get(c, "resblock_dilation_sizes");
	int64_t *count = ARENA_ARRAY(a, (size_t)v->stacks + 1, int64_t);
	v->dilations = ARENA_ARRAY(a, (size_t)v->stacks + 1, const int64_t *);
	v->dilation_count = count;
	for (int64_t i = 0; i < v->stacks; i++) {
		const json_t *list = json_array_get(lists, (size_t)i);
		size_t n = json_array_size(list);
		int64_t *d = ARENA_ARRAY(a, n + 1, int64_t);
		for (size_t k = 0; k < n; k++) {
			d[k] = json_integer_value(json_array_get(list, k));
			if (d[k] < 1 || d[k] > 1 << 16)
				config_fail(
					c, STATUS_BAD_INPUT, "resblock_dilation_sizes should be lists of whole numbers above 0");
		}
		if (!n)
			config_fail(c, STATUS_BAD_INPUT, "resblock_dilation_sizes should have a list for each of %lld kernels",
				(long long)v->stacks);
		v->dilations[i] = d;
		count[i] = (int64_t)n;
	}
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct vocoder *v = ARENA_NEW(a, struct vocoder);
	int64_t kernels = 0;
	s->own = v;
	v->bins = config_size(c, "model_in_dim", -1);
	v->width = config_size(c, "upsample_initial_channel", -1);
	v->rates = config_sizes(c, "upsample_rates", a, 0, &v->steps);
	v->kernels = config_sizes(c, "upsample_kernel_sizes", a, 0, &kernels);
	v->stack_kernels = config_sizes(c, "resblock_kernel_sizes", a, 0, &v->stacks);
	v->slope = config_real(c, "leaky_relu_slope", 0.1);
	v->normalised = config_bool(c, "normalize_before", true);
	resolve_dilations(c, v, a);
	if (c->error.status)
		return;
	bool bad = v->steps < 1 || v->steps > 16 || kernels < v->steps || v->stacks < 1 || v->bins < 1 ||
		v->width >> v->steps < 1 || !(v->slope >= 0 && v->slope <= 1);
	for (int64_t i = 0; !bad && i < v->steps; i++)
		bad = v->rates[i] < 1 || v->kernels[i] < v->rates[i];
	for (int64_t i = 0; !bad && i < v->stacks; i++)
		bad = v->stack_kernels[i] < 1 || v->stack_kernels[i] > 1 << 12;
	if (bad)
		config_fail(c, STATUS_BAD_INPUT,
			"upsample_rates, upsample_kernel_sizes and upsample_initial_channel do not go together");
}

static graph_value conv1(
	struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, int64_t kernel, int64_t dilation)
{
	int64_t one = 1, pad = (kernel * dilation - dilation) / 2;
	graph_value w = WEIGHT(b, stem, "weight", out, in, kernel);
	graph_value y = op_conv(b->g, x, w, WEIGHT(b, stem, "bias", out), &one, (int64_t[]){ pad, pad }, &dilation, 1);
	if (kernel % 2)
		graph_assume(b->g, y, 2, value_dim(b->g, x, 2));
	return y;
}

static graph_value stack(struct build *b, graph_value x, int64_t width, int64_t which)
{
	const struct vocoder *v = b->s->own;
	struct graph *g = b->g;
	int64_t kernel = v->stack_kernels[which];
	for (b->layer = 0; b->layer < v->dilation_count[which] && !graph_failed(b->g); b->layer++) {
		graph_value y = conv1(
			b, "stacks.dilated", leaky_relu(g, x, v->slope), width, width, kernel, v->dilations[which][b->layer]);
		x = op_add(g, conv1(b, "stacks.plain", leaky_relu(g, y, v->slope), width, width, kernel, 1), x);
	}
	return x;
}

static void build(struct build *b)
{
	const struct vocoder *v = b->s->own;
	struct graph *g = b->g;
	graph_value x = graph_input(
		g, "spectrogram", DTYPE_F32, 3, (int64_t[]){ graph_symbol(g, "batch"), graph_symbol(g, "sequence"), v->bins });
	if (v->normalised)
		x = op_div(g, op_sub(g, x, WEIGHT(b, "mean", "", v->bins)), WEIGHT(b, "scale", "", v->bins));
	x = conv1(b, "first", op_transpose(g, x, 3, (int[]){ 0, 2, 1 }), v->bins, v->width, 7, 1);
	int64_t width = v->width;
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
			graph_value y = stack(b, x, width / 2, k);
			sum = sum.id ? op_add(g, sum, y) : y;
		}
		x = op_scale(g, sum, (float)(1 / (double)v->stacks));
		graph_leave(g);
	}
	x = op_tanh(g, conv1(b, "last", leaky_relu(g, x, 0.01), width, 1, 7, 1));
	graph_output(g, "waveform", op_squeeze(g, x, 1)); // [batch, samples]
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
