// SPDX-License-Identifier: Apache-2.0
// MobileNet: convolutions by channel and 1x1 convolutions by turns (Howard et al. 2017, https://arxiv.org/abs/1704.04861; V2
// with narrow residuals: Sandler et al. 2018, https://arxiv.org/abs/1801.04381).
//
//   V1:  pixels -> 3x3 /2 -> 13 times: 3x3 by channel - 1x1 -> mean over places
//   V2:  pixels -> stem -> 16 times: x -+- 1x1 wide - 3x3 by channel - 1x1 narrow, no act -(+)- -> 1x1 -> mean over places
//   each convolution followed by batch norm and activation            +-------------------+ where the size stays
#include <math.h>

#include "arch/block/image.h"

enum { V1_LAYERS = 13, V2_LAYERS = 16 };

// spec.own of these families.
struct mobilenet {
	int64_t stem, inner; // V2: inner: what the stem has before it gets narrow
	int64_t width[V2_LAYERS + 1], stride[V2_LAYERS], dilation[V2_LAYERS];
	int64_t expanded[V2_LAYERS]; // V2
	int64_t last;                // V2: of the last 1x1 convolution
	bool same, plain_stem;       // same: pads as TensorFlow does
};

static void resolve_common(struct config *c, struct spec *s, struct mobilenet *m)
{
	s->channels = config_size(c, "num_channels", 3);
	s->act = config_activation(c, "hidden_act", ACT_RELU6);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-3);
	m->same = config_bool(c, "tf_padding", true);
	s->layers = s->layers_in_config = 1; // it has no layers that could be left out
	s->own = m;
}

static void resolve_v1(struct config *c, struct spec *s, struct arena *a)
{
	struct mobilenet *m = ARENA_NEW(a, struct mobilenet);
	*m = (struct mobilenet){ 0 };
	resolve_common(c, s, m);
	static const int64_t strides[V1_LAYERS] = { 1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1 };
	double factor = config_real(c, "depth_multiplier", 1);
	int64_t least = config_size(c, "min_depth", 8), depth = 32;
	for (int i = -1; i < V1_LAYERS; i++) {
		if (i == 0 || (i > 0 && strides[i] == 2))
			depth *= 2;
		int64_t width = (int64_t)fmin((double)depth * fmax(factor, 0), 1e6);
		*(i < 0 ? &m->stem : &m->width[i]) = width > least ? width : least;
		if (i >= 0)
			m->stride[i] = strides[i];
	}
	s->hidden_size = m->width[V1_LAYERS - 1];
	if (!c->error.status && (m->stem < 1 || factor <= 0))
		config_fail(c, STATUS_BAD_INPUT, "depth_multiplier %g with min_depth %lld", factor, (long long)least);
}

static int64_t divisible(double x, int64_t divisor, int64_t least)
{
	double n = floor(floor(x + (double)divisor / 2) / (double)divisor) * (double)divisor;
	n = fmax(n, (double)least);
	return (int64_t)fmin(n < 0.9 * x ? n + (double)divisor : n, 1e6);
}

static void resolve_v2(struct config *c, struct spec *s, struct arena *a)
{
	struct mobilenet *m = ARENA_NEW(a, struct mobilenet);
	*m = (struct mobilenet){ 0 };
	resolve_common(c, s, m);
	static const int64_t widths[V2_LAYERS + 1] = { 16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320 };
	static const int64_t strides[V2_LAYERS] = { 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1 };
	double factor = config_real(c, "depth_multiplier", 1), expand = config_real(c, "expand_ratio", 6);
	int64_t divisor = config_size(c, "depth_divisible_by", 8), least = config_size(c, "min_depth", 8),
		limit = config_size(c, "output_stride", 32);
	if (!c->error.status && (divisor < 1 || !(factor > 0) || !(expand > 0)))
		config_fail(c, STATUS_BAD_INPUT, "depth_multiplier %g, expand_ratio %g, depth_divisible_by %lld", factor, expand,
			(long long)divisor);
	if (c->error.status)
		return;
	for (int i = 0; i <= V2_LAYERS; i++)
		m->width[i] = divisible(rint((double)widths[i] * factor), divisor, least);
	m->inner = divisible(rint(32 * factor), divisor, least);
	int64_t reached = 2, dilation = 1;
	for (int i = 0; i < V2_LAYERS; i++) {
		bool stop = reached == limit;
		m->stride[i] = stop ? 1 : strides[i];
		m->dilation[i] = stop ? dilation : 1;
		m->expanded[i] = divisible(rint((double)m->width[i] * expand), divisor, least);
		*(stop ? &dilation : &reached) *= strides[i];
	}
	m->last =
		config_bool(c, "finegrained_output", true) && factor < 1 ? 1280 : divisible(rint(1280 * factor), divisor, least);
	m->plain_stem = config_bool(c, "first_layer_is_expansion", true);
	s->hidden_size = m->last;
}

// STEM.conv - STEM.norm (- act)
static graph_value step(struct build *b, const char *stem, graph_value x, struct conv c, bool act)
{
	struct arena *a = graph_arena(b->g);
	c.pad = ((const struct mobilenet *)b->s->own)->same ? PAD_SAME : c.pad;
	return conv_norm(b, arena_printf(a, "%s.conv", stem), arena_printf(a, "%s.norm", stem), x, c, b->s->norm_eps,
		act ? b->s->act : ACT_NONE);
}

static void finish(struct build *b, struct body *io, graph_value x)
{
	if (graph_failed(b->g))
		return;
	io->last = x;
	io->pooled = op_reshape(b->g, op_global_average_pool(b->g, x), 2, (int64_t[]){ 0, value_dim(b->g, x, 1) });
}

static void body_v1(struct build *b, struct body *io)
{
	const struct mobilenet *m = b->s->own;
	graph_value x = step(b, "stem", io->pixels, (struct conv){ .out = m->stem, .kernel = 3, .stride = 2 }, true);
	for (int64_t i = 0; i < V1_LAYERS; i++) {
		int64_t in = i ? m->width[i - 1] : m->stem;
		graph_enter(b->g, "layers.%lld", (long long)i);
		b->layer = 2 * i;
		x = step(b, "layers", x, (struct conv){ .out = in, .kernel = 3, .stride = m->stride[i], .group = in }, true);
		b->layer = 2 * i + 1;
		x = step(b, "layers", x, (struct conv){ .out = m->width[i], .kernel = 1 }, true);
		graph_leave(b->g);
	}
	finish(b, io, x);
}

static void body_v2(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct mobilenet *m = b->s->own;
	graph_enter(g, "stem");
	graph_value x = step(b, "stem.first", io->pixels, (struct conv){ .out = m->inner, .kernel = 3, .stride = 2 }, true);
	if (!m->plain_stem)
		x = step(b, "stem.wide", x, (struct conv){ .out = m->inner, .kernel = 1 }, true);
	x = step(b, "stem.middle", x, (struct conv){ .out = m->inner, .kernel = 3, .group = m->inner }, true);
	x = step(b, "stem.narrow", x, (struct conv){ .out = m->width[0], .kernel = 1 }, false);
	graph_leave(g);
	for (b->layer = 0; b->layer < V2_LAYERS && !graph_failed(b->g); b->layer++) {
		int64_t i = b->layer, wide = m->expanded[i];
		graph_enter(g, "layers.%lld", (long long)i);
		graph_value y = step(b, "layers.wide", x, (struct conv){ .out = wide, .kernel = 1 }, true);
		y = step(b, "layers.middle", y,
			(struct conv){
				.out = wide, .kernel = 3, .stride = m->stride[i], .group = wide, .dilation = m->dilation[i] },
			true);
		y = step(b, "layers.narrow", y, (struct conv){ .out = m->width[i + 1], .kernel = 1 }, false);
		x = m->stride[i] == 1 && m->width[i] == m->width[i + 1] ? op_add(g, x, y) : y;
		graph_leave(g);
	}
	finish(b, io, step(b, "last", x, (struct conv){ .out = m->last, .kernel = 1 }, true));
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, 0, 0) };
	b->s->row->family->body(b, &io);
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 224, 224);
}

const struct family mobilenet_v1 = {
	.name = "mobilenet",
	.architecture = "vision",
	.resolve = resolve_v1,
	.build = build,
	.body = body_v1,
	.hints = hints,
	.heads = map_heads,
};
const struct family mobilenet_v2 = {
	.name = "mobilenet",
	.architecture = "vision",
	.resolve = resolve_v2,
	.build = build,
	.body = body_v2,
	.hints = hints,
	.heads = map_heads,
};
