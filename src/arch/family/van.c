// SPDX-License-Identifier: Apache-2.0
// The visual attention network: convolutions over a large neighbourhood say how much of each place counts (Guo et al. 2022,
// https://arxiv.org/abs/2202.09741).
//
//   pixels -> stages: overlapping patch conv - norm -> layers -> layer norm -> mean over places -> classes
//   layer:  x -+- norm -+- 1x1 - act -+-------------------------------------(*)- 1x1 -(+)- * scale -(+)-
//              |        |             +- 5x5 - 7x7 by 3 places - 1x1, a map -+         |             |
//              |        +---------------------------------------------------------------+             |
//              +----------------------------------------------------------------------------------------+
//           x -+- norm - 1x1 - 3x3 by channel - act - 1x1 - * scale -(+)-
//              +-------------------------------------------------------+
#include "arch/block/image.h"

// spec.own of the family. Lists have a number for each stage.
struct van {
	const int64_t *depths, *widths, *patches, *strides, *ratios;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct van *n = ARENA_NEW(a, struct van);
	int64_t stages = 0;
	if (!config_sizes(c, "depths", a, 0, &stages))
		config_fail(c, STATUS_BAD_INPUT, "depths should have a number for each stage");
	if (!c->error.status && stages > CONFIG_COUNT_MOST)
		config_fail(c, STATUS_UNSUPPORTED, "%lld stages", (long long)stages);
	*n = (struct van){ .depths = resolve_stages(c, "depths", a, stages, 0),
		.widths = resolve_stages(c, "hidden_sizes", a, stages, 1),
		.patches = resolve_stages(c, "patch_sizes", a, stages, 1),
		.strides = resolve_stages(c, "strides", a, stages, 1),
		.ratios = resolve_stages(c, "mlp_ratios", a, stages, 1) };
	s->channels = config_size(c, "num_channels", 3);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-6);
	if (c->error.status)
		return;
	s->layers = s->layers_in_config = stages;
	s->hidden_size = n->widths[stages - 1];
	s->own = n;
}

static graph_value attention(struct build *b, graph_value x, int64_t w)
{
	struct graph *g = b->g;
	const struct conv point = { .out = w, .kernel = 1, .bias = true };
	graph_value seen = activate(b, b->s->act, conv(b, "layers.attn.in", x, point)); // [batch, w, height, width]
	graph_value near = conv(b, "layers.attn.near", seen, (struct conv){ .out = w, .kernel = 5, .group = w, .bias = true });
	graph_value far =
		conv(b, "layers.attn.far", near, (struct conv){ .out = w, .kernel = 7, .dilation = 3, .group = w, .bias = true });
	seen = op_mul(g, seen, conv(b, "layers.attn.map", far, point));
	return op_add(g, conv(b, "layers.attn.out", seen, point), x);
}

static graph_value ffn(struct build *b, graph_value x, int64_t w, int64_t inner)
{
	graph_value y = conv(b, "layers.ffn.up", x, (struct conv){ .out = inner, .kernel = 1, .bias = true });
	y = conv(b, "layers.ffn.conv", y, (struct conv){ .out = inner, .kernel = 3, .group = inner, .bias = true });
	return conv(b, "layers.ffn.down", activate(b, b->s->act, y), (struct conv){ .out = w, .kernel = 1, .bias = true });
}

static graph_value scaled(struct build *b, const char *stem, graph_value y, int64_t w)
{
	return op_mul(b->g, op_reshape(b->g, WEIGHT(b, stem, "weight", w), 3, (int64_t[]){ w, 1, 1 }), y);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct van *n = b->s->own;
	graph_value x = io->pixels;
	states_begin(b, io, x);
	for (b->stage = 0; b->stage < b->s->layers && !graph_failed(g); b->stage++) {
		int64_t i = b->stage, w = n->widths[i], p = n->patches[i];
		graph_enter(g, "stages.%lld", (long long)i);
		b->layer = i;
		x = conv_norm(b, "patch", "patch.norm", x,
			(struct conv){
				.out = w, .kernel = p, .stride = n->strides[i], .pad = p / 2 ? p / 2 : PAD_NONE, .bias = true },
			1e-5, ACT_NONE);
		for (b->layer = 0; b->layer < n->depths[i] && !graph_failed(g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			graph_value y = attention(b, batch_norm(b, "layers.attn.norm", x, 1e-5), w);
			x = op_add(g, x, scaled(b, "layers.attn.scale", y, w));
			y = ffn(b, batch_norm(b, "layers.ffn.norm", x, 1e-5), w, w * n->ratios[i]);
			x = op_add(g, x, scaled(b, "layers.ffn.scale", y, w));
			graph_leave(g);
		}
		b->layer = i;
		x = map_norm(b, "norm", x, b->s->norm_eps);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

static void build_bare(struct build *b, const struct body *io)
{
	graph_value mean = op_reduce_mean(b->g, op_reduce_mean(b->g, io->last, 3, false), 2, false);
	graph_output(b->g, "last_hidden_state", io->last);
	graph_output(b->g, "pooler_output", mean); // [batch, hidden]
}

static const struct family_head heads[] = {
	{ &head_model, build_bare },
	{ &head_image, map_classify },
	{ 0 },
};

const struct family van = {
	.name = "van",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = map_hints,
	.heads = heads,
};
