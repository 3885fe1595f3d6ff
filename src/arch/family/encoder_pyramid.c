// SPDX-License-Identifier: Apache-2.0
// A page's picture as LayoutLMv2 reads it (Xu et al. 2020, https://arxiv.org/abs/2012.14740): detectron2's ResNeXt (Xie et al.
// 2016, https://arxiv.org/abs/1611.05431) below a feature pyramid (Lin et al. 2016, https://arxiv.org/abs/1612.03144), of which
// the finest map alone is read, cut into cells.
//
//   (image - mean) / deviation - 7x7 conv /2 - norm - relu - max pool /2 - res2 - res3 /2 - res4 /2 - res5 /2
//                                                                            |      |         |         |
//   the mean of each cell - project (+ position) (+ place) - norm    3x3 ---(+)----(+)-------(+)--------+
//                                      each from a 1x1 conv, the coarser map doubled is added to the finer one
#include "arch/block/image.h"
#include "arch/family/encoder.h"

enum { FIRST = 2, LAST = 5, STAGES = LAST - FIRST + 1 }; // res2 to res5

struct pyramid {
	const int64_t *depths;
	int64_t stem, first; // channels of the stem and of the first stage; each further one has twice as many
	int64_t groups, group_width;
	int64_t out; // channels of all its maps
	bool stride_first;
	float mean[3], deviation[3];
};

static int64_t number_of(const json_t *args, const char *key, int64_t usual)
{
	const json_t *v = json_object_get(args, key);
	return json_is_integer(v) ? json_integer_value(v) : v ? -1 : usual;
}

static void numbers_of(struct config *c, const json_t *args, const char *key, float *three)
{
	const json_t *list = json_object_get(args, key);
	if (!list)
		return;
	for (size_t i = 0; i < 3; i++)
		three[i] = (float)json_number_value(json_array_get(list, i));
	if (json_array_size(list) != 3)
		config_fail(c, STATUS_BAD_INPUT, "detectron2_config_args: %s is not a list of three numbers", key);
}

// res2 to res5, the stages that a pyramid stands on
static bool all_stages(const json_t *list)
{
	static const char *const stages[STAGES] = { "res2", "res3", "res4", "res5" };
	bool all = json_array_size(list) == STAGES;
	for (size_t i = 0; all && i < STAGES; i++)
		all = text_is(json_string_value(json_array_get(list, i)), stages[i]);
	return all;
}

// What changes the network is known or refused; detectron2 has more settings, of its detectors, which are not built.
static void check_args(struct config *c, json_t *args)
{
	static const char *const known[] = { "MODEL.RESNETS.DEPTH", "MODEL.RESNETS.STEM_OUT_CHANNELS",
		"MODEL.RESNETS.RES2_OUT_CHANNELS", "MODEL.RESNETS.NUM_GROUPS", "MODEL.RESNETS.WIDTH_PER_GROUP",
		"MODEL.RESNETS.STRIDE_IN_1X1", "MODEL.RESNETS.SIZES", "MODEL.RESNETS.ASPECT_RATIOS", "MODEL.FPN.OUT_CHANNELS",
		NULL };
	static const struct {
		const char *key, *text; // the only one
	} fixed[] = {
		{ "MODEL.RESNETS.NORM", "FrozenBN" },
		{ "MODEL.FPN.NORM", "" },
		{ "MODEL.FPN.FUSE_TYPE", "sum" },
		{ "MODEL.BACKBONE.NAME", "build_resnet_fpn_backbone" },
	};
	const char *key;
	json_t *value;
	json_object_foreach(args, key, value)
	{
		bool fits = !text_starts(key, "MODEL.RESNETS.") && !text_starts(key, "MODEL.FPN.") &&
			!text_is(key, "MODEL.BACKBONE.NAME");
		for (size_t i = 0; !fits && known[i]; i++)
			fits = text_is(key, known[i]);
		for (size_t i = 0; !fits && i < sizeof fixed / sizeof *fixed; i++)
			fits = text_is(key, fixed[i].key) && text_is(json_string_value(value), fixed[i].text);
		fits |= text_is(key, "MODEL.RESNETS.RES5_DILATION") && json_integer_value(value) == 1;
		fits |= (text_is(key, "MODEL.RESNETS.OUT_FEATURES") || text_is(key, "MODEL.FPN.IN_FEATURES")) &&
			all_stages(value);
		if (!fits)
			config_fail(c, STATUS_UNSUPPORTED, "detectron2_config_args: this %s is not supported yet", key);
	}
}

void encoder_resolve_pyramid(struct config *c, struct spec *s, struct encoder *e, struct arena *a)
{
	static const struct {
		int64_t layers, depths[STAGES];
	} networks[] = { { 50, { 3, 4, 6, 3 } }, { 101, { 3, 4, 23, 3 } }, { 152, { 3, 8, 36, 3 } } };
	int64_t count = 0;
	const int64_t *cells = config_sizes(c, "image_feature_pool_shape", a, 0, &count);
	const json_t *given = config_get(c, "detectron2_config_args");
	json_t *args = json_is_object(given) ? json_deep_copy(given) : json_object();
	struct pyramid *p = ARENA_NEW(a, struct pyramid);
	*p = (struct pyramid){ .stem = number_of(args, "MODEL.RESNETS.STEM_OUT_CHANNELS", 64),
		.first = number_of(args, "MODEL.RESNETS.RES2_OUT_CHANNELS", 256),
		.groups = number_of(args, "MODEL.RESNETS.NUM_GROUPS", 1),
		.group_width = number_of(args, "MODEL.RESNETS.WIDTH_PER_GROUP", 64),
		.out = number_of(args, "MODEL.FPN.OUT_CHANNELS", 256),
		.stride_first = !json_is_false(json_object_get(args, "MODEL.RESNETS.STRIDE_IN_1X1")),
		.mean = { 103.53f, 116.28f, 123.675f },
		.deviation = { 1, 1, 1 } };
	numbers_of(c, args, "MODEL.PIXEL_MEAN", p->mean);
	numbers_of(c, args, "MODEL.PIXEL_STD", p->deviation);
	check_args(c, args);
	int64_t depth = number_of(args, "MODEL.RESNETS.DEPTH", 50);
	for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
		p->depths = networks[i].layers == depth ? networks[i].depths : p->depths;
	json_decref(args);
	if (!p->depths)
		config_fail(c, STATUS_UNSUPPORTED, "detectron2_config_args: a ResNet of %lld layers is not supported yet",
			(long long)depth);
	const int64_t sizes[] = { p->stem, p->first, p->groups, p->group_width, p->out };
	bool fits = (count == 2 || count == 3) && cells[0] > 0 && cells[1] > 0 && cells[0] <= 256 && cells[1] <= 256;
	for (int i = 0; i < 5; i++)
		fits &= sizes[i] > 0 && sizes[i] <= 1 << 16;
	if (!fits || (count == 3 && cells[2] != p->out))
		config_fail(c, STATUS_BAD_INPUT,
			"image_feature_pool_shape is not rows, columns and the %lld channels of MODEL.FPN.OUT_CHANNELS",
			(long long)p->out);
	else if (cells[0] * cells[1] > s->max_positions)
		config_fail(c, STATUS_BAD_INPUT, "max_position_embeddings %lld: the picture has %lld by %lld cells",
			(long long)s->max_positions, (long long)cells[0], (long long)cells[1]);
	else
		e->rows = cells[0], e->cols = cells[1];
	e->pyramid = p;
	e->joint = config_bool(c, "fast_qkv", true);
	e->segment = config_bool(c, "has_visual_segment_embedding", false);
	s->channels = 3;
}

static graph_value part(struct build *b, int64_t item, graph_value x, struct conv c, enum activation act)
{
	b->item = item;
	return conv_norm(b, "picture.conv", "picture.norm", x, c, 1e-5, act);
}

// 1x1 - 3x3 in groups - 1x1, and x beside it
static graph_value layer(struct build *b, graph_value x, const struct pyramid *p, int64_t stride)
{
	int64_t twice = b->stage - FIRST, out = p->first << twice, inner = p->groups * p->group_width << twice;
	graph_value shortcut = x, y;
	if (graph_failed(b->g))
		return NO_VALUE;
	if (value_dim(b->g, x, 1) != out)
		shortcut = conv_norm(b, "picture.shortcut", "picture.shortcut_norm", x,
			(struct conv){ .out = out, .kernel = 1, .stride = stride }, 1e-5, ACT_NONE);
	y = part(b, 1, x, (struct conv){ .out = inner, .kernel = 1, .stride = p->stride_first ? stride : 1 }, ACT_RELU);
	y = part(b, 2, y, (struct conv){ .out = inner, .kernel = 3, .stride = p->stride_first ? 1 : stride, .group = p->groups },
		ACT_RELU);
	y = part(b, 3, y, (struct conv){ .out = out, .kernel = 1 }, ACT_NONE);
	return op_relu(b->g, op_add(b->g, y, shortcut));
}

// image [batch, 3, height, width] of 0 to 255, both divisible by 32 -> the finest map, [batch, out, height / 4, width / 4]
static graph_value finest(struct build *b, const struct pyramid *p, graph_value image)
{
	struct graph *g = b->g;
	const int64_t each[] = { 3, 1, 1 };
	graph_value map[STAGES], x = op_sub(g, image, graph_constant(g, DTYPE_F32, 3, each, p->mean));
	x = op_div(g, x, graph_constant(g, DTYPE_F32, 3, each, p->deviation));
	x = conv_norm(b, "picture.stem", "picture.stem_norm", x, (struct conv){ .out = p->stem, .kernel = 7, .stride = 2 }, 1e-5,
		ACT_RELU);
	x = op_max_pool(g, x, 2, (int64_t[]){ 3, 3 }, (int64_t[]){ 2, 2 }, (int64_t[]){ 1, 1, 1, 1 }, false);
	int64_t layer_before = b->layer, stage_before = b->stage;
	for (b->stage = FIRST; b->stage <= LAST && !graph_failed(g); b->stage++) {
		for (b->layer = 0; b->layer < p->depths[b->stage - FIRST] && !graph_failed(g); b->layer++)
			x = layer(b, x, p, b->stage > FIRST && !b->layer ? 2 : 1);
		map[b->stage - FIRST] = x;
	}
	x = NO_VALUE;
	for (b->layer = LAST; b->layer >= FIRST && !graph_failed(g); b->layer--) {
		graph_value side = conv(
			b, "picture.lateral", map[b->layer - FIRST], (struct conv){ .out = p->out, .kernel = 1, .bias = true });
		x = x.id ? op_add(g, side, resized_by_as(b, x, 2, "nearest")) : side;
	}
	b->layer = layer_before, b->stage = stage_before;
	return conv(b, "picture.finest", x, (struct conv){ .out = p->out, .kernel = 3, .bias = true });
}

graph_value encoder_pyramid_embed(struct build *b, graph_value image)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	int64_t count = e->rows * e->cols, h = s->hidden_size;
	graph_enter(g, "picture");
	graph_value x = tokens_of(b, adaptive_pool(b, finest(b, e->pyramid, image), e->rows, e->cols));
	x = linear(b, "picture.project", x, e->pyramid->out, h, true); // [batch, cells, hidden]
	x = op_add(g, x, op_slice(g, WEIGHT(b, "embed.position", "weight", s->max_positions, h), 0, 0, count));
	graph_value side[4];
	for (int i = 0; i < 4; i++)
		side[i] = op_unsqueeze(g, encoder_page_side(b, i), 2); // [1, cells, 1]
	x = op_add(g, x, encoder_page_places(b, op_concat(g, 4, side, 2)));
	if (e->segment)
		x = op_add(g, x, WEIGHT(b, "picture.segment", "", h));
	x = layer_norm(b, "picture.embed_norm", x, h);
	graph_leave(g);
	return x;
}

graph_value encoder_joint_attention(struct build *b, graph_value x, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->hidden_size;
	graph_value all = linear(b, "layers.attn.qkv", x, n, 3 * n, false);
	graph_value q = op_add(g, op_slice(g, all, 2, 0, n), WEIGHT(b, "layers.attn.q_bias", "", 1, 1, n)),
		    v = op_add(g, op_slice(g, all, 2, 2 * n, 3 * n), WEIGHT(b, "layers.attn.v_bias", "", 1, 1, n));
	graph_value y = op_attention(g,
		&(struct attention){ q, op_slice(g, all, 2, n, 2 * n), v, .bias = bias, .heads = s->heads,
			.scale = (float)s->attention_scale });
	return linear(b, "layers.attn.o", y, n, n, true);
}
