// SPDX-License-Identifier: Apache-2.0
// HGNetV2, PaddleDetection's backbone (PP-HGNet: https://arxiv.org/abs/2304.08069, section 4): in a block the results of all
// convolutions lie side by side and two 1x1 convolutions choose among them.
//
//   pixels -> 3x3 /2 -+- 2x2 - 2x2 -+- concat - 3x3 /2 - 1x1 -> stages (3x3 by channel /2, blocks) -> mean over places -> classes
//                     +- max pool --+
//   block:  x -+- k x k -+- k x k -+- .. -+- concat - 1x1 - 1x1 -(+)-        (+): from the second block of a stage on
//              +---------+---------+------+                       x
//   each convolution is followed by a norm, an activation and, where the model says so, a learned scale and shift
#include "arch/block/image.h"

// spec.own of the family. Lists have a number for each stage.
struct hgnet {
	int64_t stem, stem_out;
	const int64_t *stem_strides;
	const int64_t *middle, *out, *blocks, *strides, *kernels, *layers;
	const bool *smaller, *light; // does the stage begin with a step; are its convolutions 1x1 and by channel
	bool affine;
};

static const bool *flags(struct config *c, const char *key, struct arena *a, int64_t stages)
{
	const json_t *v = config_get(c, key);
	bool *out = ARENA_ARRAY(a, (size_t)stages + 1, bool);
	if (json_array_size(v) != (size_t)stages)
		config_fail(c, STATUS_BAD_INPUT, "%s should say true or false for each of %lld stages", key, (long long)stages);
	for (int64_t i = 0; i < stages; i++)
		out[i] = json_is_true(json_array_get(v, (size_t)i));
	return out;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct hgnet *n = ARENA_NEW(a, struct hgnet);
	int64_t stages = 0;
	const int64_t *in = config_sizes(c, "stage_in_channels", a, 0, &stages);
	const int64_t *stem = resolve_stages(c, "stem_channels", a, 3, 1);
	if (!c->error.status && (!in || stages > CONFIG_COUNT_MOST))
		config_fail(c, STATUS_BAD_INPUT, "stage_in_channels should have a number for each stage");
	*n = (struct hgnet){ .stem_strides = resolve_stages(c, "stem_strides", a, 5, 1),
		.middle = resolve_stages(c, "stage_mid_channels", a, stages, 1),
		.out = resolve_stages(c, "stage_out_channels", a, stages, 2),
		.blocks = resolve_stages(c, "stage_num_blocks", a, stages, 1),
		.strides = resolve_stages(c, "stage_downsample_strides", a, stages, 1),
		.kernels = resolve_stages(c, "stage_kernel_size", a, stages, 1),
		.layers = resolve_stages(c, "stage_numb_of_layers", a, stages, 1),
		.smaller = flags(c, "stage_downsample", a, stages),
		.light = flags(c, "stage_light_block", a, stages),
		.affine = config_bool(c, "use_learnable_affine_block", false) };
	s->act = config_activation(c, "hidden_act", ACT_RELU);
	int64_t names = 0; // of the stages, for out_features
	if (!config_sizes(c, "depths", a, 0, &names))
		names = stages;
	resolve_outputs(c, s, a, names);
	if (c->error.status)
		return;
	for (int64_t i = 0; i < s->out_count; i++)
		if (s->out_indices[i] > stages)
			config_fail(c, STATUS_BAD_INPUT, "out_features or out_indices name a stage that is not there");
	s->channels = stem[0];
	n->stem = stem[1], n->stem_out = stem[2];
	s->layers = s->layers_in_config = stages;
	s->hidden_size = n->out[stages - 1];
	s->own = n;
}

static graph_value step(struct build *b, const char *stem, graph_value x, struct conv c, enum activation act)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	graph_value y = conv_norm(b, arena_printf(a, "%s.conv", stem), arena_printf(a, "%s.norm", stem), x, c, 1e-5, act);
	if (!((const struct hgnet *)b->s->own)->affine || act == ACT_NONE)
		return y;
	const char *affine = arena_printf(a, "%s.affine", stem);
	return op_add(g, op_mul(g, WEIGHT(b, affine, "scale", 1), y), WEIGHT(b, affine, "bias", 1));
}

// One row and one column of zeros at the end
static graph_value wider(struct build *b, graph_value x)
{
	return op_pad(b->g, op_pad(b->g, x, 2, 0, 1), 3, 0, 1);
}

static graph_value stem(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct hgnet *n = b->s->own;
	enum activation act = b->s->act;
	int64_t w = n->stem;
	const int64_t *stride = n->stem_strides, two[] = { 2, 2 }, one[] = { 1, 1 }, none[4] = { 0 };
	graph_value x = wider(b, step(b, "stem.1", pixels, (struct conv){ .out = w, .kernel = 3, .stride = stride[0] }, act));
	graph_value y = step(b, "stem.2a", x, (struct conv){ .out = w / 2, .kernel = 2, .stride = stride[1] }, act);
	y = step(b, "stem.2b", wider(b, y), (struct conv){ .out = w, .kernel = 2, .stride = stride[2] }, act);
	x = op_concat(g, 2, (graph_value[]){ op_max_pool(g, x, 2, two, one, none, true), y }, 1);
	x = step(b, "stem.3", x, (struct conv){ .out = w, .kernel = 3, .stride = stride[3] }, act);
	return step(b, "stem.4", x, (struct conv){ .out = n->stem_out, .kernel = 1, .stride = stride[4] }, act);
}

static graph_value block(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct hgnet *n = b->s->own;
	int64_t i = b->stage, count = n->layers[i], w = n->middle[i], k = n->kernels[i];
	graph_value *all = GRAPH_TABLE(g, NULL, count + 1, 1, graph_value), y = x;
	if (!all)
		return NO_VALUE;
	all[0] = x;
	for (b->item = 0; b->item < count && !graph_failed(g); b->item++) {
		if (n->light[i]) {
			y = step(b, "layers.point", y, (struct conv){ .out = w, .kernel = 1 }, ACT_NONE);
			y = step(b, "layers.channel", y, (struct conv){ .out = w, .kernel = k, .group = w }, ACT_RELU);
		} else
			y = step(b, "layers.conv", y, (struct conv){ .out = w, .kernel = k }, ACT_RELU);
		all[b->item + 1] = y;
	}
	y = op_concat(g, (int)count + 1, all, 1);
	y = step(b, "layers.squeeze", y, (struct conv){ .out = n->out[i] / 2, .kernel = 1 }, ACT_RELU);
	y = step(b, "layers.excite", y, (struct conv){ .out = n->out[i], .kernel = 1 }, ACT_RELU);
	return b->layer ? op_add(g, y, x) : y;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct hgnet *n = b->s->own;
	graph_enter(g, "stem");
	graph_value x = stem(b, io->pixels);
	graph_leave(g);
	states_begin(b, io, x);
	for (b->stage = 0; b->stage < b->s->layers && !graph_failed(g); b->stage++) {
		graph_enter(g, "stages.%lld", (long long)b->stage);
		b->layer = b->stage;
		if (n->smaller[b->stage]) {
			int64_t in = value_dim(g, x, 1);
			x = step(b, "down", x,
				(struct conv){ .out = in, .kernel = 3, .stride = n->strides[b->stage], .group = in }, ACT_NONE);
		}
		for (b->layer = 0; b->layer < n->blocks[b->stage] && !graph_failed(g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			x = block(b, x);
			graph_leave(g);
		}
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

static const struct family_head heads[] = {
	{ &head_backbone, map_features },
	{ &head_image, map_classify },
	{ 0 },
};

const struct family hgnet = {
	.name = "hgnet",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = map_hints,
	.heads = heads,
};
