// SPDX-License-Identifier: Apache-2.0
// EoMT: a vision transformer whose last layers have queries among the patches, which become masks with a class each (Kerssies et
// al. 2025, https://arxiv.org/abs/2503.19108).
//
//   pixels -> [class, registers, patches + positions] -> layers -> [queries, ..] -> last layers -> norm
//   query -> class; MLP(query) * patches, twice as large once or more -> mask
//
// In a last layer whose share of training with masks, a number of the checkpoint, is above 0, a query looks only at patches where
// its mask so far is on. transformers takes shares between 0 and 1 for chances; here such a layer always does.
#include <float.h>
#include <math.h>

#include "arch/family/dinov3.h"
#include "arch/family/eomt.h"

struct eomt {
	struct dino dino;
	int64_t queries, last, scales; // last: so many of the layers have queries
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct eomt *o = ARENA_NEW(a, struct eomt);
	if (TRAITS_OF(s, eomt)->rotary)
		dino_resolve(c, s, a, &o->dino);
	else {
		resolve_transformer(c, s, true);
		resolve_image(c, s);
		o->dino.vit = (struct vit){ .classes = 1, .registers = config_size(c, "num_register_tokens", 0) };
		s->traits.qkv_bias = true;
	}
	s->own = o;
	o->queries = config_size(c, "num_queries", 200);
	o->last = config_count(c, "num_blocks", 4);
	o->scales = config_count(c, "num_upscale_blocks", 2);
	if (!c->error.status &&
		(o->last > s->layers || o->queries < 1 || s->image_size != s->image_width || s->patch_size != s->patch_width ||
			o->scales > 8))
		config_fail(c, STATUS_BAD_INPUT, "%lld of %lld layers with %lld queries, over pictures that should be square",
			(long long)o->last, (long long)s->layers, (long long)o->queries);
}

static const struct eomt *own(const struct build *b)
{
	return b->s->own;
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, p = s->patch_size, side = s->image_size / p, registers = vit_of(b)->registers, count = 0;
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, p, p), tokens[3];
	graph_value x = op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), (int64_t[]){ p, p }, (int64_t[]){ 0, 0, 0, 0 },
		(int64_t[]){ 1, 1 }, 1);
	tokens[count++] = each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), pixels);
	if (registers)
		tokens[count++] = each_image(b, WEIGHT(b, "embed.registers", "", 1, registers, h), pixels);
	tokens[count++] = op_add(g, tokens_of(b, x), WEIGHT(b, "embed.position", "weight", side * side, h));
	return op_concat(g, (int)count, tokens, 1);
}

// Of normed states x [batch, queries + special + patches, hidden]: masks [batch, queries, height, width].
static graph_value masks(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct eomt *o = own(b);
	int64_t h = s->hidden_size, n = s->image_size / s->patch_size, layer = b->layer;
	graph_enter(g, "masks");
	graph_value q = op_slice(g, x, 1, 0, o->queries);
	q = activate(b, s->act, linear(b, "masks.1", q, h, h, true));
	q = activate(b, s->act, linear(b, "masks.2", q, h, h, true));
	q = linear(b, "masks.3", q, h, h, true);
	graph_value y = map_of_size(b, op_slice(g, x, 1, o->queries + vit_special(b), INT64_MAX), n, n);
	for (b->layer = 0; b->layer < o->scales && !graph_failed(g); b->layer++, n *= 2) {
		y = op_conv_transpose(g, y, WEIGHT(b, "scale", "weight", h, h, 2, 2), WEIGHT(b, "scale", "bias", h), 2,
			(int64_t[]){ 2, 2 }, (int64_t[]){ 0, 0, 0, 0 }, 1);
		y = conv(b, "scale.depth", activate(b, s->act, y), (struct conv){ .out = h, .kernel = 3, .group = h });
		y = map_norm(b, "scale.norm", y, 1e-6);
	}
	b->layer = layer;
	y = op_matmul(g, q, op_reshape(g, y, 3, (int64_t[]){ 0, h, n * n }));
	graph_leave(g);
	return op_reshape(g, y, 4, (int64_t[]){ 0, o->queries, n, n });
}

// What is added to the scores of the number-th of the last layers: [batch, 1, all, all]; before: of the one before it.
static graph_value looks(struct build *b, graph_value x, int64_t number, graph_value before)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct eomt *o = own(b);
	int64_t side = s->image_size / s->patch_size, all = o->queries + vit_special(b) + side * side;
	graph_value mask = masks(b, layer_norm(b, "norm", x, s->hidden_size));
	graph_value sizes = graph_i64s(g, 3, (int64_t[]){ o->queries, side, side });
	mask = op_resize(g, mask, op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), sizes }, 0), "linear");
	mask = op_reshape(g, mask, 4, (int64_t[]){ 0, 1, o->queries, side * side });
	float lowest = TRAITS_OF(s, eomt)->rotary ? -FLT_MAX : -1e9f;
	mask = op_where(g, op_greater(g, mask, graph_f32(g, 0)), graph_f32(g, 0), graph_f32(g, lowest));
	mask = op_pad(g, op_pad(g, mask, 3, all - side * side, 0), 2, 0, all - o->queries);
	graph_value share = op_slice(g, WEIGHT(b, "masks.share", "", o->last), 0, number, number + 1); // [1]
	return op_where(g, op_greater(g, share, graph_f32(g, 0)), mask, before.id ? before : graph_f32(g, 0));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct eomt *o = own(b);
	bool rotary = TRAITS_OF(s, eomt)->rotary;
	int64_t h = s->hidden_size, first = s->layers_in_config - o->last;
	graph_value pixels = pixel_input(b, s->channels, s->image_size, s->image_width), map = NO_VALUE;
	graph_value x = rotary ? dino_embed(b, pixels, &map) : embed(b, pixels), cos = NO_VALUE, sin = NO_VALUE, bias = NO_VALUE;
	if (rotary)
		dino_tables(b, map, 0, &cos, &sin);
	for (b->layer = 0; b->layer < s->layers_in_config && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		if (b->layer == first) {
			graph_value queries = op_unsqueeze(g, WEIGHT(b, "queries", "weight", o->queries, h), 0);
			x = op_concat(g, 2, (graph_value[]){ each_image(b, queries, pixels), x }, 1);
			if (rotary)
				dino_tables(b, map, o->queries, &cos, &sin);
		}
		if (b->layer >= first)
			bias = looks(b, x, b->layer - first, bias);
		x = rotary ? dino_layer(b, x, bias, cos, sin) : vit_layer(b, x, bias, VIT_LAYER_SCALE);
		graph_leave(g);
	}
	x = layer_norm(b, "norm", x, h);
	graph_output(g, "masks_queries_logits", masks(b, x));
	graph_output(
		g, "class_queries_logits", linear(b, "head.classes", op_slice(g, x, 1, 0, o->queries), h, s->labels + 1, true));
	graph_output(g, "last_hidden_state", x);
}

static const struct family_head heads[] = { { &head_segmentation }, { 0 } };

const struct family eomt = {
	.name = "eomt",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(eomt, EOMT_TRAITS),
};
