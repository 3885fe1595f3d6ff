// SPDX-License-Identifier: Apache-2.0
// ViTPose: a heat map for each joint of a body, from a vision transformer's patches (Xu et al. 2022,
// https://arxiv.org/abs/2204.12484).
//
//   simple:   patches as a map - relu - resize - 3x3 -> joints
//   classic:  patches as a map - 4x4 transposed conv /2 - norm - relu, twice - 1x1 -> joints
#include "arch/block/image.h"

// spec.own of the family.
struct vitpose {
	bool simple;
	int64_t factor;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct vitpose *v = ARENA_NEW(a, struct vitpose);
	static const char *const roots[] = { "backbone.", NULL };
	*v = (struct vitpose){ config_bool(c, "use_simple_decoder", true), config_size(c, "scale_factor", 4) };
	s->own = v;
	if (config_text(c, "backbone") && !config_given(c, "backbone_config"))
		config_fail(c, STATUS_UNSUPPORTED, "a backbone whose configuration lies elsewhere is not supported");
	struct spec *p = resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone, roots);
	if (!p)
		return;
	s->channels = p->channels;
	s->image_size = p->image_size, s->image_width = p->image_width;
	s->patch_size = p->patch_size, s->patch_width = p->patch_width;
	s->hidden_size = p->hidden_size;
	s->layers = s->layers_in_config = p->layers;
	if (v->factor < 1 || v->factor > 64 || s->patch_size < 1)
		config_fail(c, STATUS_BAD_INPUT, "scale_factor %lld", (long long)v->factor);
}

static graph_value twice(struct build *b, const char *stem, const char *norm, graph_value x)
{
	if (graph_failed(b->g))
		return NO_VALUE;
	graph_value w = WEIGHT(b, stem, "weight", value_dim(b->g, x, 1), 256, 4, 4);
	x = op_conv_transpose(b->g, x, w, NO_VALUE, 2, (int64_t[]){ 2, 2 }, (int64_t[]){ 1, 1, 1, 1 }, 1);
	return op_relu(b->g, batch_norm(b, norm, x, 1e-5));
}

static void build_poses(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	const struct vitpose *v = s->own;
	int64_t count;
	const graph_value *features = backbone_features(b, "backbone", io->pixels, &count);
	if (graph_failed(b->g))
		return;
	graph_value x = map_of_size(b, features[count - 1], s->image_size / s->patch_size, s->image_width / s->patch_width);
	if (v->simple)
		x = resized_by(b, op_relu(b->g, x), v->factor);
	else
		x = twice(b, "head.up.2", "head.up.2.norm", twice(b, "head.up.1", "head.up.1.norm", x));
	x = conv(b, "head.joints", x, (struct conv){ .out = s->labels, .kernel = v->simple ? 3 : 1, .bias = true });
	graph_output(b->g, "heatmaps", x); // [batch, labels, height, width]
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width) };
	head_build(b, &io);
}

static const struct family_head heads[] = { { &head_pose, build_poses }, { 0 } };

const struct family vitpose = {
	.name = "vitpose",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
