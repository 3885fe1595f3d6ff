// SPDX-License-Identifier: Apache-2.0
// Swin transformers (Liu et al. 2021, https://arxiv.org/abs/2103.14030; version 2, https://arxiv.org/abs/2111.09883): patches
// become tokens on a grid, block/window.c does the rest. An image that does not divide into patches gets zeros at its end.
//
//   pixels -> patches - norm (+ positions) -> stages of windows -> norm -> mean -> head
//   as a backbone: maps of the stages, before the grid is halved, each with a norm of its own
#include "arch/block/image.h"
#include "arch/family/swin.h"
#include "arch/block/window.h"

#include <math.h>

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct windows *w = resolve_windows(c, a, "num_heads", "embed_dim");
	s->own = w;
	if (c->error.status)
		return;
	resolve_refusals(c, s);
	s->hidden_size = windows_width(w);
	s->heads = s->kv_heads = w->heads[0];
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	resolve_image(c, s);
	resolve_outputs(c, s, a, w->stages);
	w->encoder_stride = config_size(c, "encoder_stride", 32);
	w->positions = config_bool(c, "use_absolute_embeddings", false);
	w->second = TRAITS_OF(s, swin)->cosine_windows;
	if (w->second) {
		int64_t count = 0;
		w->pretrained = config_sizes(c, "pretrained_window_sizes", a, w->stages, &count);
		if (w->pretrained && count < w->stages)
			config_fail(c, STATUS_BAD_INPUT, "pretrained_window_sizes should have a number for each of %lld stages",
				(long long)w->stages);
	}
	w->always = TRAITS_OF(s, swin)->windows_always || (s->head && s->head->gives_states);
	if (c->error.status)
		return;
	w->grid[0] = s->image_size / s->patch_size;
	w->grid[1] = s->image_width / s->patch_width;
}

static graph_value embed(struct build *b, graph_value pixels, int64_t *height, int64_t *width)
{
	const struct spec *s = b->s;
	const struct windows *w = s->own;
	struct graph *g = b->g;
	int64_t stride[] = { s->patch_size, s->patch_width }, none[] = { 0, 0, 0, 0 }, one[] = { 1, 1 };
	if (*height < 0 || *width < 0) {
		graph_fail(g, STATUS_UNSUPPORTED, "windows are cut for images of a known size");
		return NO_VALUE;
	}
	graph_enter(g, "embed");
	int64_t rows = (*height + stride[0] - 1) / stride[0], cols = (*width + stride[1] - 1) / stride[1];
	pixels = op_pad(g, op_pad(g, pixels, 2, 0, rows * stride[0] - *height), 3, 0, cols * stride[1] - *width);
	graph_value kernel = WEIGHT(b, "embed.patch", "weight", w->embed, s->channels, stride[0], stride[1]);
	graph_value x =
		tokens_of(b, op_conv(g, pixels, kernel, WEIGHT(b, "embed.patch", "bias", w->embed), stride, none, one, 1));
	x = layer_norm_eps(b, "embed.norm", x, 1e-5);
	if (w->positions)
		x = op_add(g, x, WEIGHT(b, "embed.position", "", 1, w->grid[0] * w->grid[1], w->embed));
	graph_leave(g);
	*height = rows, *width = cols;
	return x;
}

// One norm a stage that is given out, or one for every stage, counted from 0.
static void norm_maps(struct build *b, struct body *io)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	bool all = TRAITS_OF(s, swin)->windows_always;
	for (int64_t i = 0; i < s->out_count; i++) {
		int64_t at = s->out_indices[i];
		b->layer = all ? at - 1 : at;
		const char *stem = at || all ? "windows.out" : "windows.out_stem";
		if (all && !at) {
			graph_fail(g, STATUS_UNSUPPORTED, "this backbone does not give its stem");
			return;
		}
		graph_value map = io->states[at];
		io->states[at] = op_transpose(g, layer_norm_eps(b, stem, op_transpose(g, map, 4, (int[]){ 0, 2, 3, 1 }), 1e-5), 4,
			(int[]){ 0, 3, 1, 2 });
	}
}

static void swin_body(struct build *b, struct body *io)
{
	const struct spec *s = b->s;
	const struct windows *w = s->own;
	struct graph *g = b->g;
	if (graph_failed(g))
		return;
	int64_t height = value_dim(g, io->pixels, 2), width = value_dim(g, io->pixels, 3);
	bool backbone = s->head && s->head->gives_states;
	graph_value x = embed(b, io->pixels, &height, &width);
	if (graph_failed(g))
		return;
	x = window_stages(b, w, io, x, &height, &width, backbone);
	if (backbone && !w->second)
		norm_maps(b, io);
	io->last = TRAITS_OF(s, swin)->no_final_norm || backbone ? x : layer_norm(b, "norm", x, s->hidden_size);
	io->pooled = op_reduce_mean(g, io->last, 1, false); // [batch, hidden]
}

// A 1x1 convolution to stride^2 times the channels, whose groups of stride^2 then lie side by side as pixels. Nothing is masked.
static void build_masked(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	int64_t r = ((const struct windows *)s->own)->encoder_stride, c = s->channels;
	if (!weight_named(b, "head.pixels")) {
		head_unsupported(b);
		return;
	}
	if (graph_failed(g) || r < 1) {
		graph_fail(g, STATUS_BAD_INPUT, "encoder_stride should be above 0");
		return;
	}
	int64_t side = (int64_t)sqrt((double)value_dim(g, io->last, 1));
	graph_value map = conv(b, "head.pixels", map_of_size(b, io->last, side, side),
		(struct conv){ .out = r * r * c, .kernel = 1, .bias = true });
	map = op_transpose(g, op_reshape(g, map, 6, (int64_t[]){ 0, c, r, r, side, side }), 6, (int[]){ 0, 1, 4, 2, 5, 3 });
	graph_output(g, "reconstruction", op_reshape(g, map, 4, (int64_t[]){ 0, c, side * r, side * r }));
}

// Not layers: a model of fewer stages would be another model.
static void sizes(const struct spec *s, json_t *out)
{
	const struct windows *w = s->own;
	json_object_set_new(out, "stages", json_integer(w->stages));
	json_object_set_new(out, "window", json_integer(w->window));
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_backbone, map_features },
	{ &head_image, head_classify_pooled },
	{ &head_masked_image, build_masked },
	{ 0 },
};

const struct family swin = {
	.name = "swin",
	.architecture = "vision",
	.resolve = resolve,
	.build = picture_build,
	.body = swin_body,
	.sizes = sizes,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(swin, SWIN_TRAITS),
};
