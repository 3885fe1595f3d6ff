// SPDX-License-Identifier: Apache-2.0
// Residual networks (He et al. 2015, https://arxiv.org/abs/1512.03385), as transformers has them and as timm's ResNet, which
// detection models carry as their backbone; RegNet (Radosavovic et al. 2020, https://arxiv.org/abs/2003.13678). Maps are
// [batch, channels, height, width]; most stages halve height and width.
//
//   pixels -> 7x7 conv /2 - norm - act -> max pool /2 -> stages -> mean over places -> head       RegNet: 3x3 conv /2, no pool
//   basic:       x -+- 3x3 - norm - act - 3x3 - norm -----------------------(+)- act -
//   bottleneck:  x -+- 1x1 - norm - act - 3x3 - norm - act - 1x1 - norm ----(+)- act -         the shortcut is a 1x1 conv and
//   RegNet Y:    x -+- 1x1 - norm - act - 3x3 - norm - act - (* gate) - 1x1 - norm -(+)- act -       a norm where width or
//                   +--------------------------------------------------------+                         size change
//   with a deep stem (He et al. 2018, https://arxiv.org/abs/1812.01187): three 3x3 convs, and shortcuts see means of 2x2
#include <string.h>

#include "arch/block/image.h"
#include "arch/family/resnet.h"

enum { EXPANSION = 4 };
enum kind { BOTTLENECK, BASIC, REGNET_X, REGNET_Y };

// spec.own: what both spellings of the configuration come to.
struct resnet {
	int64_t stem;
	int64_t stages;
	const int64_t *depths, *widths; // of each stage; widths: what it gives
	enum kind kind;
	int64_t group_width;   // RegNet: channels that a group of the 3x3 convolution has
	bool stride_first;     // of a bottleneck: the 1x1 convolution takes the step, not the 3x3
	int64_t first_stride;  // of the first stage
	int64_t output_stride; // 0: 32; from there on convolutions are dilated instead of taking steps
	bool stem_is_state;    // the first feature map is what comes before the pool
	bool pools;            // a timm model by itself: its last map's mean over places is given, too
	int64_t first;         // stages and convolutions are numbered from here in names
};

static void check(struct config *c, struct spec *s, struct resnet *r, int64_t sizes)
{
	if (c->error.status)
		return;
	if (!r->stages || sizes != r->stages) {
		config_fail(c, STATUS_BAD_INPUT, "depths and hidden_sizes should be lists of the same length");
		return;
	}
	for (int64_t i = 0; i < r->stages; i++)
		if (r->depths[i] < 1 || r->depths[i] > 10000 || r->widths[i] < EXPANSION)
			config_fail(c, STATUS_BAD_INPUT, "a stage of %lld layers of %lld channels", (long long)r->depths[i],
				(long long)r->widths[i]);
	s->layers = s->layers_in_config = r->stages;
	s->hidden_size = r->widths[r->stages - 1];
	s->own = r;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct resnet *r = ARENA_NEW(a, struct resnet);
	int64_t sizes = 0;
	*r = (struct resnet){ .stem = config_size(c, "embedding_size", 64) };
	r->depths = config_sizes(c, "depths", a, 0, &r->stages);
	r->widths = config_sizes(c, "hidden_sizes", a, 0, &sizes);
	s->channels = config_size(c, "num_channels", 3);
	s->act = config_activation(c, "hidden_act", ACT_RELU);
	const char *kind = config_text(c, "layer_type");
	static const char *const kinds[] = { "bottleneck", "basic", "x", "y" };
	r->group_width = config_size(c, "groups_width", 0);
	r->kind = r->group_width ? REGNET_X : BOTTLENECK;
	while (kind && r->kind <= (r->group_width ? REGNET_Y : BASIC) && !text_is(kind, kinds[r->kind]))
		r->kind++;
	if (r->kind > (r->group_width ? REGNET_Y : BASIC))
		config_fail(c, STATUS_BAD_INPUT, "layer_type %s is not known", kind);
	r->first_stride = config_bool(c, "downsample_in_first_stage", false) ? 2 : 1;
	r->stride_first = config_bool(c, "downsample_in_bottleneck", false);
	resolve_outputs(c, s, a, r->stages);
	check(c, s, r, sizes);
}

// timm has no numbers in its configuration: the name says them all. Those of its ResNets that differ in depth only.
static void resolve_timm(struct config *c, struct spec *s, struct arena *a)
{
	static const struct {
		const char *name;
		int64_t depths[4];
		bool bottleneck;
	} known[] = {
		{ "resnet18", { 2, 2, 2, 2 }, false },
		{ "resnet34", { 3, 4, 6, 3 }, false },
		{ "resnet26", { 2, 2, 2, 2 }, true },
		{ "resnet50", { 3, 4, 6, 3 }, true },
		{ "resnet101", { 3, 4, 23, 3 }, true },
		{ "resnet152", { 3, 8, 36, 3 }, true },
	};
	static const int64_t narrow[] = { 64, 128, 256, 512 }, wide[] = { 256, 512, 1024, 2048 };
	const char *name = config_text(c, "backbone");
	size_t length = name ? strcspn(name, ".") : 0, i = 0; // "resnet50.a1_in1k": after the dot, how it was trained
	while (i < sizeof known / sizeof known[0] &&
		(!name || strlen(known[i].name) != length || memcmp(known[i].name, name, length)))
		i++;
	if (i == sizeof known / sizeof known[0]) {
		config_fail(c, STATUS_UNSUPPORTED, "the timm backbone %s is not supported yet", name ? name : "(without a name)");
		return;
	}
	struct resnet *r = ARENA_NEW(a, struct resnet);
	*r = (struct resnet){ .stem = 64,
		.stages = 4,
		.depths = known[i].depths,
		.widths = known[i].bottleneck ? wide : narrow,
		.kind = known[i].bottleneck ? BOTTLENECK : BASIC,
		.first_stride = 1,
		.output_stride = config_size(c, "output_stride", 0),
		.stem_is_state = true,
		.first = 1 };
	if (r->output_stride && r->output_stride != 8 && r->output_stride != 16 && r->output_stride != 32)
		config_fail(c, STATUS_BAD_INPUT, "output_stride %lld is not 8, 16 or 32", (long long)r->output_stride);
	s->channels = config_size(c, "num_channels", 3);
	s->act = ACT_RELU;
	if (!config_bool(c, "features_only", true))
		config_fail(c, STATUS_UNSUPPORTED, "a timm backbone with its classifier is not supported yet");
	if (json_object_size(config_get(c, "model_args")))
		config_fail(c, STATUS_UNSUPPORTED, "model_args, which change what timm builds, are not supported yet");
	r->pools = config_bool(c, "do_pooling", true);
	resolve_outputs(c, s, a, r->stages);
	check(c, s, r, r->stages);
}

static graph_value part(struct build *b, int64_t item, graph_value x, struct conv c, enum activation act)
{
	b->item = item + ((const struct resnet *)b->s->own)->first;
	return conv_norm(b, "layers.conv", "layers.norm", x, c, 1e-5, act);
}

// Which channels matter here: x * sigmoid(1x1(relu(1x1(mean of x over places)))) (Hu et al. 2017,
// https://arxiv.org/abs/1709.01507)
static graph_value gated(struct build *b, graph_value x, int64_t inner)
{
	struct graph *g = b->g;
	int64_t width = value_dim(g, x, 1);
	graph_value y = conv(
		b, "layers.gate.down", op_global_average_pool(g, x), (struct conv){ .out = inner, .kernel = 1, .bias = true });
	y = conv(b, "layers.gate.up", op_relu(g, y), (struct conv){ .out = width, .kernel = 1, .bias = true });
	return op_mul(g, x, op_sigmoid(g, y));
}

// `before`: the dilation of the layer before; the first layer of a stage still has it in its first wide convolution. Only
// RegNet has the configuration's activation inside a layer.
static graph_value layer(struct build *b, graph_value x, int64_t out, int64_t stride, int64_t before, int64_t dilation)
{
	struct graph *g = b->g;
	const struct resnet *r = b->s->own;
	enum activation act = b->s->act;
	graph_value y, shortcut = x;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t in = value_dim(g, x, 1);
	if (r->kind == BOTTLENECK) {
		int64_t inner = out / EXPANSION;
		y = part(b, 0, x, (struct conv){ .out = inner, .kernel = 1, .stride = r->stride_first ? stride : 1 }, ACT_RELU);
		y = part(b, 1, y,
			(struct conv){ .out = inner, .kernel = 3, .stride = r->stride_first ? 1 : stride, .dilation = before },
			ACT_RELU);
		y = part(b, 2, y, (struct conv){ .out = out, .kernel = 1 }, ACT_NONE);
	} else if (r->kind == BASIC) {
		y = part(b, 0, x, (struct conv){ .out = out, .kernel = 3, .stride = stride, .dilation = before }, ACT_RELU);
		y = part(b, 1, y, (struct conv){ .out = out, .kernel = 3, .dilation = dilation }, ACT_NONE);
	} else {
		int64_t groups = out / r->group_width > 1 ? out / r->group_width : 1;
		y = part(b, 0, x, (struct conv){ .out = out, .kernel = 1 }, act);
		y = part(b, 1, y, (struct conv){ .out = out, .kernel = 3, .stride = stride, .group = groups }, act);
		if (r->kind == REGNET_Y)
			y = gated(b, y, (in + 1 + (in % 8 == 6)) / 4); // in / 4, halves to the even number
		y = part(b, r->kind == REGNET_Y ? 3 : 2, y, (struct conv){ .out = out, .kernel = 1 }, ACT_NONE);
	}
	bool deep = TRAITS_OF(b->s, resnet)->deep_stem, mean = deep && (r->kind == BASIC ? in != out : stride == 2);
	if (mean) {
		const int64_t two[] = { 2, 2 }, none[4] = { 0 };
		x = op_average_pool(g, x, 2, two, two, none, true, false);
		shortcut = conv_norm(b, "layers.shortcut.mean", "layers.shortcut.mean.norm", x,
			(struct conv){ .out = out, .kernel = 1 }, 1e-5, ACT_NONE);
	} else if (stride != 1 || in != out || (deep && r->kind == BASIC && !b->layer))
		shortcut = conv_norm(b, "layers.shortcut", "layers.shortcut.norm", x,
			(struct conv){ .out = out, .kernel = 1, .stride = stride }, 1e-5, ACT_NONE);
	return activate(b, act, op_add(g, y, shortcut));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct resnet *r = s->own;
	graph_enter(g, "stem");
	bool pool = r->kind < REGNET_X;
	graph_value stem = io->pixels;
	if (!TRAITS_OF(s, resnet)->deep_stem)
		stem = conv_norm(b, "stem.conv", "stem.norm", stem,
			(struct conv){ .out = r->stem, .kernel = pool ? 7 : 3, .stride = 2 }, 1e-5, s->act);
	for (b->layer = 0; TRAITS_OF(s, resnet)->deep_stem && b->layer < 3; b->layer++) {
		struct conv c = { .out = b->layer < 2 ? r->stem / 2 : r->stem, .kernel = 3, .stride = b->layer ? 1 : 2 };
		stem = conv_norm(b, "stem.conv", "stem.norm", stem, c, 1e-5, s->act);
	}
	graph_value x = !pool
		? stem
		: op_max_pool(g, stem, 2, (int64_t[]){ 3, 3 }, (int64_t[]){ 2, 2 }, (int64_t[]){ 1, 1, 1, 1 }, false);
	graph_leave(g);
	states_begin(b, io, r->stem_is_state ? stem : x);
	int64_t reached = 4, dilation = 1, before = 1;
	for (int64_t i = 0; i < s->layers && !graph_failed(g); i++) {
		int64_t stride = i ? 2 : r->first_stride;
		b->stage = i + r->first;
		if (r->output_stride && reached >= r->output_stride) {
			dilation *= stride;
			stride = 1;
		} else
			reached *= stride;
		for (b->layer = 0; b->layer < r->depths[i] && !graph_failed(b->g); b->layer++) {
			graph_enter(g, "stages.%lld.%lld", (long long)i, (long long)b->layer);
			x = layer(b, x, r->widths[i], b->layer ? 1 : stride, before, dilation);
			before = dilation;
			graph_leave(g);
		}
		states_add(io, x);
	}
	io->last = x;
}

// A timm model gives its last map, and the mean of it as a row: [batch, channels].
static void timm_states(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	graph_output(g, "last_hidden_state", io->last);
	if (((const struct resnet *)b->s->own)->pools)
		graph_output(g, "pooler_output",
			op_reshape(g, op_global_average_pool(g, io->last), 2, (int64_t[]){ 0, b->s->hidden_size }));
}

static const struct family_head timm_heads[] = {
	{ &head_backbone, map_features },
	{ &head_model, timm_states },
	{ &head_image, map_classify },
	{ 0 },
};

const struct family resnet = {
	.name = "resnet",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = map_hints,
	.heads = map_heads,
	.traits = FAMILY_TRAIT_LIST(resnet, RESNET_TRAITS),
};
const struct family resnet_timm = {
	.name = "resnet",
	.architecture = "vision",
	.resolve = resolve_timm,
	.build = map_build,
	.body = body,
	.hints = map_hints,
	.heads = timm_heads,
};
