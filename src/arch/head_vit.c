// SPDX-License-Identifier: Apache-2.0
// Heads of the vision transformer: the bare model and its poolers, classes, features as a backbone, masked images.
#include "arch/block/vit.h"
#include "arch/family/vit.h"

graph_value vit_state(struct build *b, const struct body *io, int64_t index)
{
	graph_value x = index < io->state_count ? io->states[index] : io->last;
	return vit_of(b)->norm_outputs ? layer_norm(b, "norm", x, b->s->hidden_size) : x;
}

graph_value vit_map(struct build *b, const struct body *io, graph_value patches)
{
	struct graph *g = b->g;
	graph_value rows = op_div(g, op_dim(g, io->pixels, 2), graph_i64s(g, 1, &b->s->patch_size));
	return map_of_grid(b, patches, rows, op_div(g, op_dim(g, io->pixels, 3), graph_i64s(g, 1, &b->s->patch_width)));
}

graph_value vit_feature(struct build *b, const struct body *io, int64_t index)
{
	graph_value x = vit_state(b, io, index);
	return vit_of(b)->map_outputs ? vit_map(b, io, vit_patches(b, x)) : x;
}

void vit_bare(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value hidden = io->last;
	int64_t classes = vit_of(b)->classes, h = s->hidden_size;
	graph_output(b->g, "last_hidden_state", hidden);
	if (TRAITS_OF(s, vit)->pool_is_norm)
		graph_output(b->g, "pooler_output",
			classes == 1 ? first_token(b, hidden)
				     : op_reduce_mean(b->g, op_slice(b->g, hidden, 1, 0, classes), 1, false));
	else if (weight_named(b, "pooler") && weight_exists(b, "pooler", "weight"))
		graph_output(b->g, "pooler_output",
			activate(b, s->pooler_act, linear(b, "pooler", first_token(b, hidden), h, s->pooler_size, true)));
}

void vit_classes(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value hidden = io->last;
	struct graph *g = b->g;
	int64_t width = s->hidden_size;
	graph_value x = vit_of(b)->classes ? first_token(b, hidden) : op_reduce_mean(g, hidden, 1, false);
	if (TRAITS_OF(s, vit)->mean_patches) {
		x = op_concat(
			g, 2, (graph_value[]){ x, op_reduce_mean(g, vit_patches(b, hidden), 1, false) }, 1); // [batch, 2*hidden]
		width *= 2;
	}
	graph_output(g, "logits", linear(b, "head.image", x, width, s->labels, true));
}

static void build_teacher(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value hidden = io->last;
	struct graph *g = b->g;
	graph_value c = linear(b, "head.image.class", first_token(b, hidden), s->hidden_size, s->labels, true);
	graph_value d = linear(
		b, "head.image.distillation", op_squeeze(g, op_slice(g, hidden, 1, 1, 2), 1), s->hidden_size, s->labels, true);
	head_give_taught(b, c, d);
}

// A 1x1 convolution to stride^2 times the channels, whose groups of stride^2 then lie side by side as pixels.
static void build_masked(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t r = vit_of(b)->encoder_stride, c = s->channels;
	graph_value map = conv(b, "head.pixels", vit_map(b, io, vit_patches(b, io->last)),
		(struct conv){ .out = r * r * c, .kernel = 1, .bias = true });
	if (graph_failed(g))
		return;
	int64_t height = value_dim(g, map, 2), width = value_dim(g, map, 3);
	map = op_transpose(g, op_reshape(g, map, 6, (int64_t[]){ 0, c, r, r, height, width }), 6, (int[]){ 0, 1, 4, 2, 5, 3 });
	graph_output(g, "reconstruction", op_reshape(g, map, 4, (int64_t[]){ 0, c, height * r, width * r }));
}

const struct family_head vit_heads[] = {
	{ &head_backbone, map_features },
	{ &head_model, vit_bare },
	{ &head_image, vit_classes },
	{ &head_image_teacher, build_teacher },
	{ &head_masked_image, build_masked },
	{ 0 },
};
