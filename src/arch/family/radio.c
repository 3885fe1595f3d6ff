// SPDX-License-Identifier: Apache-2.0
// RADIO: a vision transformer that has learned from several others at once, one class token for each (Ranzinger et al. 2023,
// https://arxiv.org/abs/2312.06709). Images may have any size: positions are cut from a grid for the largest.
//
//   pixels - mean / deviation -> patches + positions -> [classes, registers, patches] -> layers of the vision transformer
//   -> summary: some class tokens, features: the patches
#include <string.h>

#include "arch/block/vit.h"

// spec.own of the family. It begins as vit's does, whose layers it has.
struct radio {
	struct vit vit;
	int64_t grid; // of the learned positions: rows and columns
	const int64_t *summary;
	int64_t summary_count;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct radio *r = ARENA_NEW(a, struct radio);
	static const int64_t first_two[] = { 0, 1 };
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	*r = (struct radio){ .vit = { .classes = config_size(c, "num_cls_tokens", 3),
				     .registers = config_size(c, "num_registers", 7) } };
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	r->summary = config_sizes(c, "summary_idxs", a, 1, &r->summary_count);
	if (!r->summary)
		r->summary = first_two, r->summary_count = 2;
	int64_t most = config_size(c, "max_img_size", 2048);
	s->own = r;
	for (int64_t i = 0; i < r->summary_count && !c->error.status; i++)
		if (r->summary[i] >= r->vit.classes)
			config_fail(c, STATUS_BAD_INPUT, "summary_idxs names a class token that is not there");
	if (!c->error.status && (s->patch_size != s->patch_width || most < s->patch_size || most > 1 << 16))
		config_fail(c, STATUS_BAD_INPUT, "images of at most %lld in patches of %lld by %lld", (long long)most,
			(long long)s->patch_size, (long long)s->patch_width);
	r->grid = c->error.status ? 1 : most / s->patch_size;
}

// The grid, resized to a square of the image's longer side, is cut to the image: [1, rows*cols, hidden]
static graph_value positions(struct build *b, graph_value map)
{
	struct graph *g = b->g;
	int64_t n = ((const struct radio *)b->s->own)->grid, h = b->s->hidden_size;
	graph_value rows = op_dim(g, map, 2), cols = op_dim(g, map, 3), side = op_max(g, rows, cols),
		    zero = graph_i64s(g, 1, (int64_t[]){ 0 });
	graph_value grid = op_reshape(g, WEIGHT(b, "embed.position", "", 1, n * n, h), 4, (int64_t[]){ 1, n, n, h });
	grid = op_transpose(g, grid, 4, (int[]){ 0, 3, 1, 2 }); // [1, hidden, n, n]
	graph_value sizes[] = { graph_i64s(g, 2, (int64_t[]){ 1, h }), side, side };
	grid = op_resize(g, grid, op_concat(g, 3, sizes, 0), "linear");
	return tokens_of(b, op_slice_to(g, op_slice_to(g, grid, 2, zero, rows), 3, zero, cols));
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct vit *v = vit_of(b);
	int64_t p = s->patch_size, c = s->channels, h = s->hidden_size, special = v->classes + v->registers;
	const int64_t stride[] = { p, p }, none[4] = { 0 }, one[] = { 1, 1 };
	graph_enter(g, "embed");
	graph_value x = op_sub(g, pixels, WEIGHT(b, "embed.mean", "", c, 1, 1));
	x = op_div(g, x, WEIGHT(b, "embed.deviation", "", c, 1, 1));
	graph_value w = op_reshape(g, WEIGHT(b, "embed.patch", "weight", h, c * p * p), 4, (int64_t[]){ h, c, p, p });
	graph_value map = op_conv(g, x, w, NO_VALUE, stride, none, one, 1); // [batch, hidden, rows, cols]
	x = op_add(g, tokens_of(b, map), positions(b, map));
	graph_value first = op_reshape(g, WEIGHT(b, "embed.special", "", special, h), 3, (int64_t[]){ 1, special, h });
	x = op_concat(g, 2, (graph_value[]){ each_image(b, first, pixels), x }, 1);
	graph_leave(g);
	return x; // [batch, special + patches, hidden]
}

static void body(struct build *b, struct body *io)
{
	graph_value x = embed(b, io->pixels);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "layers.%lld", (long long)b->layer);
		x = vit_layer(b, x, NO_VALUE, VIT_LAYER_SCALE);
		graph_leave(b->g);
		states_add(io, x);
	}
	io->last = x;
}

// The class takes the numbers of the class tokens from the file where that has them.
static void check_summary(struct build *b, const struct radio *r)
{
	const struct weight *w = checkpoint_find(b->c, "summary_idxs");

	if (w && w->data &&
		(w->dtype != DTYPE_I64 || w->nbytes != (size_t)r->summary_count * sizeof(int64_t) ||
			memcmp(w->data, r->summary, w->nbytes) != 0))
		graph_fail(b->g, STATUS_UNSUPPORTED, "the tensor summary_idxs has other numbers than config.json's summary_idxs");
}

static void build_bare(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct radio *r = b->s->own;
	check_summary(b, r);
	graph_value chosen =
		op_gather(g, io->last, graph_i64s(g, (int)r->summary_count, r->summary), 1); // [batch, count, hidden]
	graph_output(g, "summary", op_reshape(g, chosen, 2, (int64_t[]){ 0, r->summary_count * b->s->hidden_size }));
	graph_output(g, "features", vit_patches(b, io->last)); // [batch, patches, hidden]
	graph_output(g, "last_hidden_state", io->last);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	image_hints(out, s->image_size, s->image_width);
}

static const struct family_head heads[] = { { &head_model, build_bare }, { 0 } };

const struct family radio = {
	.name = "radio",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = hints,
	.heads = heads,
};
