// SPDX-License-Identifier: Apache-2.0
// PoolFormer: a transformer's frame around a mean over neighbours (Yu et al. 2021, https://arxiv.org/abs/2111.11418).
//
//   pixels -> stages, each after a patch conv -> norm -> mean over places -> classes
//   layer:  x -+- norm - (mean of neighbours - itself) (* scale) -(+)-+- norm - 1x1 - act - 1x1 (* scale) -(+)-
//              +--------------------------------------------------+  +--------------------------------------+
//   norm: over all channels and places of an image
#include "arch/block/image.h"

// spec.own of the family. Lists have a number for each stage.
struct poolformer {
	int64_t stages, pool;
	const int64_t *depths, *widths, *patches, *strides, *pads;
	double ratio;
	bool scaled;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct poolformer *n = ARENA_NEW(a, struct poolformer);
	*n = (struct poolformer){ .stages = config_count(c, "num_encoder_blocks", 4),
		.pool = config_size(c, "pool_size", 3),
		.ratio = config_real(c, "mlp_ratio", 4),
		.scaled = config_bool(c, "use_layer_scale", true) };
	n->depths = resolve_stages(c, "depths", a, n->stages, 1);
	n->widths = resolve_stages(c, "hidden_sizes", a, n->stages, 1);
	n->patches = resolve_stages(c, "patch_sizes", a, n->stages, 1);
	n->strides = resolve_stages(c, "strides", a, n->stages, 1);
	n->pads = resolve_stages(c, "padding", a, n->stages, 0);
	s->channels = config_size(c, "num_channels", 3);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	if (!c->error.status &&
		(n->stages < 1 || n->stages > 64 || n->pool < 1 || n->pool % 2 == 0 || !(n->ratio > 0 && n->ratio < 1e4)))
		config_fail(c, STATUS_BAD_INPUT, "%lld stages, pool_size %lld, mlp_ratio %g", (long long)n->stages,
			(long long)n->pool, n->ratio);
	if (c->error.status)
		return;
	s->layers = s->layers_in_config = n->stages;
	s->hidden_size = n->widths[n->stages - 1];
	s->own = n;
}

static graph_value whole_norm(struct build *b, const char *stem, graph_value x, int64_t width)
{
	graph_value w = WEIGHT(b, stem, "weight", width);
	return op_group_norm(b->g, x, 1, w, WEIGHT(b, stem, "bias", width), 1e-5f);
}

static graph_value scaled(struct build *b, const char *stem, graph_value y, int64_t width)
{
	const struct poolformer *n = b->s->own;
	return n->scaled ? op_mul(b->g, y, op_reshape(b->g, WEIGHT(b, stem, "", width), 3, (int64_t[]){ width, 1, 1 })) : y;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct poolformer *n = b->s->own;
	int64_t k = n->pool, edge = k / 2;
	const int64_t kernel[] = { k, k }, one[] = { 1, 1 }, pad[] = { edge, edge, edge, edge };
	graph_value x = io->pixels;
	states_begin(b, io, x);
	for (b->stage = 0; b->stage < b->s->layers && !graph_failed(b->g); b->stage++) {
		int64_t i = b->stage, w = n->widths[i], inner = (int64_t)((double)w * n->ratio);
		graph_enter(g, "stages.%lld", (long long)i);
		b->layer = i;
		x = conv(b, "patch", x,
			(struct conv){ .out = w,
				.kernel = n->patches[i],
				.stride = n->strides[i],
				.pad = n->pads[i] ? n->pads[i] : PAD_NONE,
				.bias = true });
		for (b->layer = 0; b->layer < n->depths[i] && !graph_failed(b->g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			graph_value y = whole_norm(b, "layers.pool.norm", x, w);
			y = op_sub(g, op_average_pool(g, y, 2, kernel, one, pad, false, false), y);
			x = op_add(g, x, scaled(b, "layers.pool.scale", y, w));
			y = conv(b, "layers.ffn.up", whole_norm(b, "layers.ffn.norm", x, w),
				(struct conv){ .out = inner, .kernel = 1, .bias = true });
			y = conv(b, "layers.ffn.down", activate(b, b->s->act, y),
				(struct conv){ .out = w, .kernel = 1, .bias = true });
			x = op_add(g, x, scaled(b, "layers.ffn.scale", y, w));
			graph_leave(g);
		}
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

static void build_classes(struct build *b, const struct body *io)
{
	struct body normed = *io;
	normed.last = whole_norm(b, "head.norm", io->last, b->s->hidden_size);
	map_classify(b, &normed);
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_image, build_classes },
	{ &head_backbone, map_features },
	{ 0 },
};

const struct family poolformer = {
	.name = "poolformer",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = map_hints,
	.heads = heads,
};
