// SPDX-License-Identifier: Apache-2.0
// The hybrid vision transformer: its patches are places of a convolution network's map (Dosovitskiy et al. 2020, section 3.1,
// https://arxiv.org/abs/2010.11929).
//
//   pixels -> backbone -> patch conv of its last map -> [class, patches] + positions -> layers of the vision transformer -> norm
#include "arch/block/vit.h"

// spec.own of the family. It begins as vit's does, whose layers and heads it has.
struct hybrid {
	struct vit vit;
	int64_t rows, cols; // of patches
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct hybrid *h = ARENA_NEW(a, struct hybrid);
	static const char *const roots[] = { "vit.embeddings.patch_embeddings.backbone.", "embeddings.patch_embeddings.backbone.",
		NULL };
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	const json_t *shape = config_get(c, "backbone_featmap_shape"); // [1, channels, rows, cols]
	int64_t rows = json_integer_value(json_array_get(shape, 2)), cols = json_integer_value(json_array_get(shape, 3));
	*h = (struct hybrid){ .vit = { .classes = 1 } };
	s->own = h;
	if (config_text(c, "backbone") || config_bool(c, "use_timm_backbone", false))
		config_fail(c, STATUS_UNSUPPORTED, "a backbone whose configuration lies elsewhere is not supported");
	if (c->error.status)
		return;
	h->rows = rows / s->patch_size;
	h->cols = cols / s->patch_width;
	if (rows > 1 << 14 || cols > 1 << 14 || h->rows < 1 || h->cols < 1)
		config_fail(c, STATUS_BAD_INPUT, "backbone_featmap_shape of %lld by %lld in patches of %lld by %lld",
			(long long)rows, (long long)cols, (long long)s->patch_size, (long long)s->patch_width);
	s->image_tokens = h->rows * h->cols + 1;
	resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone, roots);
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct hybrid *p = s->own;
	int64_t count, h = s->hidden_size;
	const graph_value *maps = backbone_features(b, "backbone", pixels, &count);
	if (graph_failed(g))
		return NO_VALUE;
	const int64_t stride[] = { s->patch_size, s->patch_width }, none[4] = { 0 }, one[] = { 1, 1 };
	graph_value map = maps[count - 1];
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, value_dim(g, map, 1), s->patch_size, s->patch_width);
	graph_value x = tokens_of(b, op_conv(g, map, w, WEIGHT(b, "embed.patch", "bias", h), stride, none, one, 1));
	x = op_concat(g, 2, (graph_value[]){ each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), pixels), x }, 1);
	return op_add(g, x, WEIGHT(b, "embed.position", "", 1, 1 + p->rows * p->cols, h)); // [batch, 1 + patches, hidden]
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct body io = { .pixels = pixel_input(b, s->channels, s->image_size, s->image_width) };
	graph_value x = embed(b, io.pixels);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = vit_layer(b, x, NO_VALUE, 0);
		graph_leave(g);
	}
	io.last = layer_norm(b, "norm", x, s->hidden_size);
	head_build(b, &io);
}

static const struct family_head heads[] = { { &head_model, vit_bare }, { &head_image, vit_classes }, { 0 } };

const struct family vit_hybrid = {
	.name = "vit_hybrid",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
