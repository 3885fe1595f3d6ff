// SPDX-License-Identifier: Apache-2.0
// EfficientNet: MobileNetV2's blocks with gates, all widths and depths grown together (Tan, Le 2019,
// https://arxiv.org/abs/1905.11946).
//
//   pixels -> 3x3 conv /2 - norm - act -> blocks -> 1x1 - norm - act -> mean over places -> classes
//   block:  x -+- 1x1 - norm - act - k x k by channel - norm - act - * gate - 1x1 - norm -(+)-
//              +-- from the second block of a size on ------------------------------------+
#include <math.h>

#include "arch/block/image.h"

struct efficientnet_block {
	int64_t in, out, wide, kernel, stride, gate;
	bool even; // one less before than after, where the step is two
	bool repeated;
};

// spec.own of the family.
struct efficientnet {
	int64_t stem, count;
	struct efficientnet_block *blocks; // [count]
	bool greatest;                     // pooled is the greatest of all places, not their mean
};

// As many of `divisor` as are nearest, but not less than nine tenths of it.
static int64_t rounded(double x, int64_t divisor)
{
	int64_t n = (int64_t)(x + (double)divisor / 2) / divisor * divisor;
	n = n < divisor ? divisor : n;
	return (double)n < 0.9 * x ? n + divisor : n;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct efficientnet *n = ARENA_NEW(a, struct efficientnet);
	int64_t sizes = 0, unpadded = 0, divisor = config_size(c, "depth_divisor", 8);
	if (!config_sizes(c, "in_channels", a, 0, &sizes) || sizes > CONFIG_COUNT_MOST)
		config_fail(c, STATUS_BAD_INPUT, "in_channels should have a number for each size");
	const int64_t *in = resolve_stages(c, "in_channels", a, sizes, 1), *out = resolve_stages(c, "out_channels", a, sizes, 1),
		      *kernels = resolve_stages(c, "kernel_sizes", a, sizes, 1),
		      *strides = resolve_stages(c, "strides", a, sizes, 1),
		      *repeats = resolve_stages(c, "num_block_repeats", a, sizes, 1),
		      *ratios = resolve_stages(c, "expand_ratios", a, sizes, 1), *even = NULL;
	if (json_array_size(config_get(c, "depthwise_padding")))
		even = config_sizes(c, "depthwise_padding", a, 0, &unpadded);
	double width = config_real(c, "width_coefficient", 2), depth = config_real(c, "depth_coefficient", 3.1),
	       squeeze = config_real(c, "squeeze_expansion_ratio", 0.25);
	const char *pool = config_text(c, "pooling_type");
	s->channels = config_size(c, "num_channels", 3);
	s->act = config_activation(c, "hidden_act", ACT_SILU);
	s->norm_eps = config_real(c, "batch_norm_eps", 1e-3);
	s->hidden_size = config_size(c, "hidden_dim", 2560);
	n->greatest = text_is(pool, "max");
	if (pool && !n->greatest && !text_is(pool, "mean"))
		config_fail(c, STATUS_BAD_INPUT, "pooling_type %s is neither mean nor max", pool);
	if (!c->error.status &&
		(divisor < 1 || !(width > 0 && width < 1e3) || !(depth > 0 && depth < 1e3) || !(squeeze > 0 && squeeze < 1e3)))
		config_fail(c, STATUS_BAD_INPUT, "depth_divisor %lld, coefficients %g and %g, squeeze_expansion_ratio %g",
			(long long)divisor, width, depth, squeeze);
	for (int64_t i = 0; i < sizes && !c->error.status; i++) {
		n->count += (int64_t)ceil(depth * (double)repeats[i]);
		if (n->count > CONFIG_COUNT_MOST || kernels[i] % 2 == 0 || strides[i] > 2)
			config_fail(c, STATUS_BAD_INPUT, "a size with kernels of %lld by steps of %lld, %lld times",
				(long long)kernels[i], (long long)strides[i], (long long)repeats[i]);
	}
	if (c->error.status)
		return;
	n->stem = rounded(32 * width, divisor);
	n->blocks = ARENA_ARRAY(a, (size_t)n->count, struct efficientnet_block);
	for (int64_t i = 0, at = 0; i < sizes; i++)
		for (int64_t j = 0; j < (int64_t)ceil(depth * (double)repeats[i]); j++, at++) {
			int64_t to = rounded((double)out[i] * width, divisor),
				from = j ? to : rounded((double)in[i] * width, divisor);
			int64_t gate = (int64_t)((double)from * squeeze);
			n->blocks[at] = (struct efficientnet_block){ from, to, from * ratios[i], kernels[i], j ? 1 : strides[i],
				gate > 1 ? gate : 1, true, j > 0 };
			for (int64_t k = 0; k < unpadded; k++)
				n->blocks[at].even &= even[k] != at;
		}
	s->layers = s->layers_in_config = sizes;
	s->own = n;
}

static graph_value by_channel(struct build *b, graph_value x, const struct efficientnet_block *e)
{
	int64_t k = e->kernel, after = k / 2, before = e->stride == 2 && e->even ? after - 1 : after;
	const int64_t stride[] = { e->stride, e->stride }, pad[] = { before, before, after, after }, one[] = { 1, 1 };
	graph_value w = WEIGHT(b, "layers.middle", "weight", e->wide, 1, k, k);
	graph_value y = op_conv(b->g, x, w, NO_VALUE, stride, pad, one, e->wide);
	return activate(b, b->s->act, batch_norm(b, "layers.middle.norm", y, b->s->norm_eps));
}

static graph_value block(struct build *b, graph_value x, const struct efficientnet_block *e)
{
	struct graph *g = b->g;
	enum activation act = b->s->act;
	double eps = b->s->norm_eps;
	graph_value y = x;
	if (e->wide != e->in)
		y = conv_norm(b, "layers.wide", "layers.wide.norm", y, (struct conv){ .out = e->wide, .kernel = 1 }, eps, act);
	y = by_channel(b, y, e);
	graph_value gate = conv(
		b, "layers.gate.down", op_global_average_pool(g, y), (struct conv){ .out = e->gate, .kernel = 1, .bias = true });
	gate = conv(b, "layers.gate.up", activate(b, act, gate), (struct conv){ .out = e->wide, .kernel = 1, .bias = true });
	y = op_mul(g, y, op_sigmoid(g, gate));
	y = conv_norm(b, "layers.narrow", "layers.narrow.norm", y, (struct conv){ .out = e->out, .kernel = 1 }, eps, ACT_NONE);
	return e->repeated ? op_add(g, y, x) : y;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct efficientnet *n = s->own;
	const int64_t two[] = { 2, 2 }, end[] = { 0, 0, 1, 1 }, one[] = { 1, 1 };
	graph_value w = WEIGHT(b, "stem.conv", "weight", n->stem, s->channels, 3, 3);
	graph_value x = op_conv(g, io->pixels, w, NO_VALUE, two, end, one, 1);
	x = activate(b, s->act, batch_norm(b, "stem.norm", x, s->norm_eps));
	for (b->layer = 0; b->layer < n->count && !graph_failed(g); b->layer++) {
		graph_enter(g, "blocks.%lld", (long long)b->layer);
		x = block(b, x, &n->blocks[b->layer]);
		graph_leave(g);
	}
	if (weight_named(b, "last"))
		x = conv_norm(
			b, "last", "last.norm", x, (struct conv){ .out = s->hidden_size, .kernel = 1 }, s->norm_eps, s->act);
	io->last = x;
	io->pooled = n->greatest ? op_reduce_max(g, op_reduce_max(g, x, 3, false), 2, false)
				 : op_reshape(g, op_global_average_pool(g, x), 2, (int64_t[]){ 0, value_dim(g, x, 1) });
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, 0, 0) };
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_image, head_classify_pooled },
	{ 0 },
};

const struct family efficientnet = {
	.name = "efficientnet",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.body = body,
	.hints = map_hints,
	.heads = heads,
};
