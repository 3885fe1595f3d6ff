// SPDX-License-Identifier: Apache-2.0
// Granite Docling's tower (ibm-granite/granite-docling-258M) with its connector, which is a part of it:
// squares of patches become one token, as wide as the text. States of some layers come out as features of their own (DeepStack,
// Meng et al. 2024, https://arxiv.org/abs/2406.04334).
//
//   pixels -> patches + positions -> layers -> norm -> norm - squares joined - linear + sines of column and row - norm - GELU -
//   linear - norm
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/vlm.h"

struct connected {
	int64_t scale, out;  // squares of scale * scale patches; width of a token
	const int64_t *deep; // [deep_count] layers whose states are features, from 0
	int64_t deep_count;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const int64_t usual[] = { 3, 7, 10 };
	struct connected *v = ARENA_NEW(a, struct connected);
	s->own = v;
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	v->scale = config_size(c, "scale_factor", 4);
	v->out = config_size(c, "out_hidden_size", 1024);
	v->deep = usual, v->deep_count = 3;
	const json_t *list = config_get(c, "deepstack_visual_indexes");
	if (json_is_array(list) && !json_array_size(list))
		v->deep_count = 0;
	else if (list)
		v->deep = config_sizes(c, "deepstack_visual_indexes", a, 1, &v->deep_count);
	if (c->error.status)
		return;
	if (s->image_size != s->image_width || s->patch_size != s->patch_width || v->scale < 1 || v->scale > 64 || v->out < 4 ||
		v->out % 4 || s->image_size / s->patch_size % v->scale || v->deep_count > CONFIG_COUNT_MOST)
		config_fail(c, STATUS_UNSUPPORTED,
			"pictures should be squares of scale_factor * scale_factor square patches, out_hidden_size divide by 4");
}

// What is added to the tokens of a grid of side * side: sines, cosines of the column, then of the row, a quarter of width each.
static graph_value sines(struct build *b, int64_t side, int64_t width)
{
	struct graph *g = b->g;
	int64_t few = width / 4;
	float *table = GRAPH_TABLE(g, NULL, side * side, width, float);
	for (int64_t i = 0; table && i < side * side; i++)
		for (int64_t k = 0; k < few; k++) {
			double wave = pow(10000, -(double)k / (double)few);
			float *at = table + i * width + k;
			at[0] = (float)sin((double)(i % side) * wave);
			at[few] = (float)cos((double)(i % side) * wave);
			at[2 * few] = (float)sin((double)(i / side) * wave);
			at[3 * few] = (float)cos((double)(i / side) * wave);
		}
	return graph_constant(g, DTYPE_F32, 2, (int64_t[]){ side * side, width }, table);
}

// x [tiles, patches, hidden] -> [tiles, tokens, out]
static graph_value connect(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct connected *v = s->own;
	int64_t side = s->image_size / s->patch_size, wide = s->hidden_size * v->scale * v->scale;
	x = vlm_shuffle(b, layer_norm_eps(b, "connector.norm", x, 1e-5), side, v->scale, s->hidden_size);
	x = linear(b, "connector.1", x, wide, v->out, false);
	x = op_add(g, x, sines(b, side / v->scale, v->out));
	x = op_gelu(g, layer_norm_eps(b, "connector.middle.norm", x, 1e-5));
	return layer_norm_eps(b, "connector.last.norm", linear(b, "connector.2", x, v->out, v->out, false), 1e-5);
}

// The same of a layer's state, with weights of number b->layer: [tiles * tokens, out]
static graph_value feature(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct connected *v = s->own;
	int64_t wide = s->hidden_size * v->scale * v->scale;
	x = vlm_shuffle(b, x, s->image_size / s->patch_size, v->scale, s->hidden_size);
	x = op_gelu(g, linear(b, "deep.1", layer_norm_eps(b, "deep.norm", x, 1e-5), wide, v->out, true));
	return op_reshape(g, linear(b, "deep.2", x, v->out, v->out, true), 2, (int64_t[]){ -1, v->out });
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct connected *v = s->own;
	int64_t h = s->hidden_size, p = s->patch_size, side = s->image_size / p, stride[] = { p, p }, one[] = { 1, 1 };
	graph_enter(g, "embed");
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, p, p), bias = WEIGHT(b, "embed.patch", "bias", h);
	graph_value x = tokens_of(b, op_conv(g, io->pixels, w, bias, stride, (int64_t[4]){ 0 }, one, 1));
	x = op_add(g, x, WEIGHT(b, "embed.position", "weight", side * side, h));
	graph_leave(g);
	prenorm_layers(b, io, x, NO_VALUE);
	io->last = layer_norm(b, "norm", io->last, h);
	graph_enter(g, "connector");
	io->pooled = connect(b, io->last);
	io->deep = ARENA_ARRAY(graph_arena(g), (size_t)v->deep_count + 1, graph_value);
	for (int64_t at = 0; at < s->layers && !graph_failed(g); at++) {
		int64_t k = 0;
		while (k < v->deep_count && v->deep[k] != at)
			k++;
		if (k == v->deep_count)
			continue;
		b->layer = io->deep_count; // weights go in the order of layers
		io->deep[io->deep_count++] = feature(b, io->states[at + 1]);
	}
	graph_leave(g);
}

static void give(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct connected *v = b->s->own;
	graph_output(g, "last_hidden_state", io->last);
	graph_output(g, "pooler_output", op_reshape(g, io->pooled, 2, (int64_t[]){ -1, v->out }));
	for (int64_t i = 0; i < io->deep_count; i++)
		graph_output(g, arena_printf(graph_arena(g), "deepstack_features.%lld", (long long)i), io->deep[i]);
}

static const struct family_head heads[] = { { &head_model, give }, { 0 } };

const struct family connected_vision = {
	.name = "connected-vision",
	.architecture = "vision",
	.resolve = resolve,
	.build = picture_build,
	.body = body,
	.heads = heads,
};
