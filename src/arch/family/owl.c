// SPDX-License-Identifier: Apache-2.0
// A detector of what texts say, on the towers that compare pictures with texts (OWL-ViT, Minderer et al. 2022,
// https://arxiv.org/abs/2205.06230; OWLv2, https://arxiv.org/abs/2306.09683): each patch is an object.
//
//   patches' states after the norm * class token -> norm -+- MLP + where the patch is -> sigmoid -> box
//                                                         +- linear -> / length -+
//                                                         +- shift, scale ------ (x + shift) * scale -> logits
//   texts -> pooled -> projection -> / length ----------------------------------+
#include <float.h>
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/dual.h"

// x / (|x| + 1e-6)
static graph_value nearly_unit(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	graph_value length = op_sqrt(g, op_reduce_sum(g, op_mul(g, x, x), -1, true));
	return op_div(g, x, op_add(g, length, graph_f32(g, 1e-6f)));
}

// STEM.0, STEM.1, STEM.2
static graph_value mlp(struct build *b, const char *stem, graph_value x, int64_t h, int64_t out)
{
	struct arena *a = graph_arena(b->g);
	x = op_gelu(b->g, linear(b, arena_printf(a, "%s.0", stem), x, h, h, true));
	x = op_gelu(b->g, linear(b, arena_printf(a, "%s.1", stem), x, h, h, true));
	return linear(b, arena_printf(a, "%s.2", stem), x, h, out, true);
}

static double logit(double x)
{
	return log(x + 1e-4) - log1p(-x + 1e-4);
}

// Where each patch ends and how large it is, before the sigmoid: [side*side, 4]
static graph_value box_bias(struct build *b, int64_t side)
{
	float *at = GRAPH_TABLE(b->g, NULL, side * side, 4, float);
	for (int64_t i = 0; at && i < side * side; i++) {
		at[4 * i] = (float)logit((double)(i % side + 1) / (double)side);
		at[4 * i + 1] = (float)logit((double)(i / side + 1) / (double)side);
		at[4 * i + 2] = at[4 * i + 3] = (float)logit(1 / (double)side);
	}
	return graph_constant(b->g, DTYPE_F32, 2, (int64_t[]){ side * side, 4 }, at);
}

void owl_objects(struct build *b, graph_value texts, const struct body *text, const struct body *vision)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	int64_t h = tower->hidden_size, d = part_of(s, "text")->hidden_size, side = tower->image_size / tower->patch_size;
	part_enter(b, "vision");
	graph_value x = layer_norm(b, "norm", vision->last, h);
	part_leave(b, s);
	graph_enter(g, "objects");
	x = op_mul(g, op_slice(g, x, 1, 1, INT64_MAX), op_slice(g, x, 1, 0, 1));
	x = layer_norm_eps(b, "objects.norm", x, tower->norm_eps); // [batch, patches, hidden]
	graph_value rest = graph_i64s(g, 2, (int64_t[]){ -1, d }), images = op_dim(g, vision->pixels, 0);
	texts = op_reshape_to(g, texts, op_concat(g, 2, (graph_value[]){ images, rest }, 0)); // [batch, texts, text]
	graph_value first = op_slice(g, text->ids, 1, 0, 1);                                  // 0: there is no text
	first = op_reshape_to(g, first, op_concat(g, 2, (graph_value[]){ images, graph_i64s(g, 2, (int64_t[]){ 1, -1 }) }, 0));
	graph_value class = nearly_unit(b, linear(b, "objects.class", x, h, d, true));
	graph_value y = op_matmul(g, class, op_transpose(g, nearly_unit(b, texts), 3, (int[]){ 0, 2, 1 }));
	graph_value scale = linear(b, "objects.scale", x, h, 1, true); // elu + 1
	scale = op_add(g, op_relu(g, scale), op_exp(g, op_min(g, scale, graph_f32(g, 0))));
	y = op_mul(g, op_add(g, y, linear(b, "objects.shift", x, h, 1, true)), scale);
	y = op_where(g, op_greater(g, first, graph_i64(g, 0)), y, graph_f32(g, -FLT_MAX));
	graph_value boxes = op_sigmoid(g, op_add(g, mlp(b, "objects.box", x, h, 4), box_bias(b, side)));
	graph_value there = weight_named(b, "objects.there.0") ? op_squeeze(g, mlp(b, "objects.there", x, h, 1), 2) : NO_VALUE;
	graph_leave(g);
	graph_output(g, "logits", y); // [batch, patches, texts]
	if (there.id)
		graph_output(g, "objectness_logits", there);
	graph_output(g, "pred_boxes", boxes);
	graph_output(g, "text_embeds", texts);
	graph_output(g, "image_embeds", op_reshape(g, x, 4, (int64_t[]){ 0, side, side, h }));
	graph_output(g, "class_embeds", class);
}
