// SPDX-License-Identifier: Apache-2.0
// Llama 4's eyes (https://ai.meta.com/blog/llama-4-multimodal-intelligence): a vision transformer whose class token is the last,
// rotated by column and row; squares of its states become one feature.
//
//   pixels -> patches, class token + positions -> norm -> layers -> norm -> squares joined - linear - GELU - linear - GELU
//   - linear -> the text
#include <math.h>

#include "arch/family/vlm.h"

// spec.own of the tower.
struct adapter {
	int64_t squares, wide; // of so many states each way; width of the features
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct adapter *v = ARENA_NEW(a, struct adapter);
	s->own = v;
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	const json_t *o = config_get(c, "rope_parameters"), *theta = json_object_get(o, "rope_theta");
	const char *kind = json_string_value(json_object_get(o, "rope_type"));
	double ratio = config_real(c, "pixel_shuffle_ratio", 0.5);
	s->rope.theta = json_is_number(theta) ? json_number_value(theta) : config_real(c, "rope_theta", 10000);
	s->norm_eps = 1e-5;
	s->act = ACT_GELU; // whatever hidden_act says
	v->squares = ratio > 0 && ratio <= 1 ? (int64_t)(1 / ratio) : 0;
	v->wide = config_size(c, "projector_output_dim", -1);
	if (kind && !text_is(kind, "default"))
		config_fail(c, STATUS_UNSUPPORTED, "the rotary scaling %s is not supported yet", kind);
	if (c->error.status)
		return;
	int64_t side = s->image_size / s->patch_size;
	bool sizes = s->image_size == s->image_width && s->patch_size == s->patch_width && v->squares > 0 &&
		(double)v->squares * ratio == 1 && side % v->squares == 0 && s->head_width % 4 == 0 && s->rope.theta > 1;
	bool widths = v->wide > 0 && config_size(c, "projector_input_dim", v->wide) == v->wide &&
		config_size(c, "vision_output_dim", v->wide) == v->wide &&
		s->ffn_size == s->hidden_size * v->squares * v->squares;
	if (!sizes || !widths)
		config_fail(c, STATUS_BAD_INPUT,
			"pixel_shuffle_ratio %g and the sizes of pictures, patches and features do not go together", ratio);
}

// Of the patches by column, then by row, from 1; the class token is not rotated: [1, tokens, 1, head / 2]
static void tables(struct build *b, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t side = s->image_size / s->patch_size, half = s->head_width / 2, few = half / 2, all = side * side + 1;
	float *angle = GRAPH_TABLE(g, NULL, all, half, float);
	for (int64_t i = 0; angle && i < all * half; i++) {
		int64_t at = i / half, k = i % half;
		float place = (float)((k < few ? at % side : at / side) + 1);
		angle[i] = at == side * side ? 0 : place * (float)(1 / pow(s->rope.theta, (double)(k % few) / (double)few));
	}
	graph_value table = graph_constant(g, DTYPE_F32, 4, (int64_t[]){ 1, all, 1, half }, angle);
	*cos = op_cos(g, table), *sin = op_sin(g, table);
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t p = s->patch_size, side = s->image_size / p, h = s->hidden_size, wide = s->channels * p * p;
	graph_enter(g, "embed");
	graph_value x = op_reshape(g, pixels, 6, (int64_t[]){ -1, s->channels, side, p, side, p });
	x = op_reshape(g, op_transpose(g, x, 6, (int[]){ 0, 2, 4, 1, 3, 5 }), 3, (int64_t[]){ -1, side * side, wide });
	x = linear(b, "embed.patch", x, wide, h, false);
	graph_value shape = op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 2, (int64_t[]){ 1, h }) }, 0);
	x = op_concat(g, 2, (graph_value[]){ x, op_expand(g, WEIGHT(b, "embed.class", "", h), shape) }, 1);
	x = layer_norm(b, "embed.norm", op_add(g, x, WEIGHT(b, "embed.position", "", side * side + 1, h)), h);
	graph_leave(g);
	return x;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct adapter *v = s->own;
	graph_value cos, sin, x = embed(b, io->pixels);
	tables(b, &cos, &sin);
	prenorm_layers_rotary(b, io, x, NO_VALUE, cos, sin);
	x = op_slice(g, layer_norm(b, "norm", io->last, s->hidden_size), 1, 0, -1);
	graph_enter(g, "adapter");
	x = vlm_shuffle(b, x, s->image_size / s->patch_size, v->squares, s->hidden_size);
	x = op_gelu(g, linear(b, "adapter.1", x, s->ffn_size, v->wide, false));
	io->last = op_gelu(g, linear(b, "adapter.2", x, v->wide, v->wide, false)); // [pictures, features, wide]
	graph_leave(g);
}

static void build(struct build *b)
{
	struct body io = { 0 };
	vision_tower_inputs(b, &io, "batch");
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = { { &head_model, head_give_last }, { 0 } };

const struct family llama4_vision = {
	.name = "adapted-vision",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
};

// ---- in a text --------------------------------------------------------------------------------------------------------------

static void resolve_adapted(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve(c, s, a, false) || !part_is_usual(c, s, "vision"))
		return;
	struct vlm *v = s->own;
	v->looks_last = true;
	v->downsample = ((const struct adapter *)part_of(s, "vision")->own)->squares;
}

static graph_value join(struct build *b, graph_value x)
{
	int64_t wide = ((const struct adapter *)part_of(b->s, "vision")->own)->wide;
	return linear(b, "projector", x, wide, part_of(b->s, "text")->hidden_size, false);
}

static graph_value see(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_see(b, ids, join);
}

static void build_adapted(struct build *b)
{
	vlm_build(b, see);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	int64_t side = vlm_side(s) / vlm_of(s)->downsample;
	out->image_token_id = vlm_of(s)->image_token_id;
	out->image_tokens = side * side;
}

const struct family vlm_adapted = {
	.name = "vision-language-adapted",
	.architecture = "multimodal",
	.resolve = resolve_adapted,
	.build = build_adapted,
	.graphs = vlm_graphs,
	.hints = hints,
	.heads = vlm_heads,
};
