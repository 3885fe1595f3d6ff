// SPDX-License-Identifier: Apache-2.0
// Plain vision transformers for large pictures: most layers attend within windows, scores have a learned bias by the distance of
// rows and of columns (ViTDet: Li et al. 2022, https://arxiv.org/abs/2203.16527; with a neck, Segment Anything's encoder:
// Kirillov et al. 2023, https://arxiv.org/abs/2304.02643). States are maps [batch, rows, cols, hidden].
//
//   pixels -> patches + positions -> layers (-> 1x1 - norm - 3x3 - norm)
//   layer:  x -+- norm - (windows -) attention (- back) -(+)-+- norm - up - act - down -(+)- (residual block)
//              +-----------------------------------------+  +--------------------------+
//   residual block:  x + norm(1x1(act(norm(3x3(act(norm(1x1(x))))))))
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/vitdet.h"

// spec.own of the family.
struct vitdet {
	int64_t window, rows, cols;     // of patches
	int64_t trained;                // rows, and columns, of the learned positions; 0: there are none
	const bool *windowed, *blocked; // [layers]: has it windows, does a residual block follow
	bool relative;
	int64_t neck; // channels; 0: none
};

// Which layers the list names; `others`: which it does not.
static const bool *layers_of(struct config *c, const struct spec *s, struct arena *a, const char *key, bool others)
{
	int64_t count = 0;
	bool some = json_array_size(config_get(c, key)) > 0;
	const int64_t *at = some ? config_sizes(c, key, a, 0, &count) : NULL;
	bool *out = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	for (int64_t i = 0; i < s->layers; i++)
		out[i] = others;
	for (int64_t i = 0; i < count; i++)
		if (at[i] < s->layers)
			out[at[i]] = !others;
	return out;
}

int64_t vitdet_first_global(const struct spec *s)
{
	const struct vitdet *v = s->own;
	for (int64_t i = 0; i < s->layers; i++)
		if (!v->windowed[i] || !v->window)
			return i;
	return -1;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct vitdet *v = ARENA_NEW(a, struct vitdet);
	bool neck = TRAITS_OF(s, vitdet)->neck;
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	if (c->error.status)
		return;
	*v = (struct vitdet){ .window = config_size(c, "window_size", 0),
		.rows = s->image_size / s->patch_size,
		.cols = s->image_width / s->patch_width,
		.relative = config_bool(c, "relative_positions", false) };
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	s->own = v;
	v->windowed = layers_of(c, s, a, neck ? "global_attn_indexes" : "window_block_indices", neck);
	bool learned = config_bool(c, "learned_positions", true);
	if (neck) {
		v->neck = config_size(c, "output_channels", 256);
		v->trained = learned ? v->rows : 0;
		if (v->rows != v->cols || v->neck < 1)
			config_fail(c, STATUS_BAD_INPUT, "%lld by %lld patches, output_channels %lld", (long long)v->rows,
				(long long)v->cols, (long long)v->neck);
		return;
	}
	v->blocked = layers_of(c, s, a, "residual_block_indices", false);
	resolve_outputs(c, s, a, s->layers);
	int64_t trained = config_size(c, "pretrain_image_size", 224);
	if (s->patch_size != s->patch_width || trained < s->patch_size)
		config_fail(c, STATUS_UNSUPPORTED, "patches of %lld by %lld, pretrain_image_size %lld", (long long)s->patch_size,
			(long long)s->patch_width, (long long)trained);
	v->trained = learned && !c->error.status ? trained / s->patch_size : 0;
}

// rows q - k + n - 1 of a table [2n - 1, head]: [n queries, head, n keys]
static graph_value along(struct build *b, const char *stem, int64_t n)
{
	struct graph *g = b->g;
	int64_t *at = GRAPH_TABLE(g, NULL, n, n, int64_t);
	for (int64_t i = 0; at && i < n * n; i++)
		at[i] = i / n - i % n + n - 1;
	graph_value table = WEIGHT(b, stem, "", 2 * n - 1, b->s->head_width);
	table = op_gather(g, table, graph_constant(g, DTYPE_I64, 2, (int64_t[]){ n, n }, at), 0); // [n, n, head]
	return op_transpose(g, table, 3, (int[]){ 0, 2, 1 });
}

// What a query says of a key's row and of its column: [batch, heads, rows*cols, rows*cols]
static graph_value relative(struct build *b, graph_value q, int64_t rows, int64_t cols)
{
	struct graph *g = b->g;
	int64_t heads = b->s->heads, d = b->s->head_width, n = rows * cols;
	q = op_reshape(g, q, 5, (int64_t[]){ 0, rows, cols, heads, d });
	graph_value down = op_matmul(g, op_transpose(g, q, 5, (int[]){ 0, 3, 1, 2, 4 }), along(b, "layers.rows", rows)),
		    right = op_matmul(g, op_transpose(g, q, 5, (int[]){ 0, 3, 2, 1, 4 }), along(b, "layers.cols", cols));
	right = op_transpose(g, right, 5, (int[]){ 0, 1, 3, 2, 4 }); // [batch, heads, rows, cols, cols]
	graph_value both = op_add(g, op_unsqueeze(g, down, 5), op_unsqueeze(g, right, 4));
	return op_reshape(g, both, 4, (int64_t[]){ 0, heads, n, n });
}

graph_value vitdet_attention(struct build *b, graph_value x, int64_t rows, int64_t cols, bool by_distance)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value qkv = linear(b, "layers.attn.qkv", x, h, 3 * h, s->traits.qkv_bias), q = op_slice(g, qkv, 2, 0, h);
	graph_value bias = by_distance ? relative(b, q, rows, cols) : NO_VALUE;
	graph_value y = op_attention(g,
		&(struct attention){ q, op_slice(g, qkv, 2, h, 2 * h), op_slice(g, qkv, 2, 2 * h, 3 * h), .bias = bias,
			.heads = s->heads, .scale = (float)s->attention_scale });
	return linear(b, "layers.attn.o", y, h, h, true);
}

// x [batch, rows, cols, hidden]; zeros fill the last windows.
static graph_value in_windows(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct vitdet *v = b->s->own;
	int64_t w = v->window, h = b->s->hidden_size, down = (v->rows + w - 1) / w, right = (v->cols + w - 1) / w;
	graph_value y = op_pad(g, op_pad(g, x, 1, 0, down * w - v->rows), 2, 0, right * w - v->cols);
	y = op_transpose(g, op_reshape(g, y, 6, (int64_t[]){ 0, down, w, right, w, h }), 6, (int[]){ 0, 1, 3, 2, 4, 5 });
	y = vitdet_attention(b, op_reshape(g, y, 3, (int64_t[]){ -1, w * w, h }), w, w, v->relative);
	graph_value sizes = graph_i64s(g, 5, (int64_t[]){ down, right, w, w, h });
	y = op_reshape_to(g, y, op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), sizes }, 0));
	y = op_reshape(g, op_transpose(g, y, 6, (int[]){ 0, 1, 3, 2, 4, 5 }), 4, (int64_t[]){ 0, down * w, right * w, h });
	return op_slice(g, op_slice(g, y, 1, 0, v->rows), 2, 0, v->cols);
}

static graph_value to_map(struct build *b, graph_value x)
{
	return op_transpose(b->g, x, 4, (int[]){ 0, 3, 1, 2 });
}

static graph_value residual(struct build *b, graph_value x)
{
	int64_t h = b->s->hidden_size, inner = h / 2;
	enum activation act = b->s->act;
	graph_value map = to_map(b, x), y = conv(b, "layers.block.1", map, (struct conv){ .out = inner, .kernel = 1 });
	y = activate(b, act, map_norm(b, "layers.block.1.norm", y, 1e-6));
	y = conv(b, "layers.block.2", y, (struct conv){ .out = inner, .kernel = 3 });
	y = activate(b, act, map_norm(b, "layers.block.2.norm", y, 1e-6));
	y = map_norm(b, "layers.block.3.norm", conv(b, "layers.block.3", y, (struct conv){ .out = h, .kernel = 1 }), 1e-6);
	return op_transpose(b->g, op_add(b->g, map, y), 4, (int[]){ 0, 2, 3, 1 });
}

static graph_value layer(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct vitdet *v = s->own;
	int64_t h = s->hidden_size;
	graph_value y = layer_norm(b, "layers.attn.norm", x, h);
	if (v->windowed[b->layer] && v->window)
		y = in_windows(b, y);
	else {
		y = vitdet_attention(
			b, op_reshape(g, y, 3, (int64_t[]){ 0, v->rows * v->cols, h }), v->rows, v->cols, v->relative);
		y = op_reshape(g, y, 4, (int64_t[]){ 0, v->rows, v->cols, h });
	}
	x = op_add(g, x, y);
	y = linear(b, "layers.ffn.up", layer_norm(b, "layers.ffn.norm", x, h), h, s->ffn_size, true);
	x = op_add(g, x, linear(b, "layers.ffn.down", activate(b, s->act, y), s->ffn_size, h, true));
	return v->blocked && v->blocked[b->layer] ? residual(b, x) : x;
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct vitdet *v = s->own;
	int64_t h = s->hidden_size, n = v->trained;
	const int64_t stride[] = { s->patch_size, s->patch_width }, none[4] = { 0 }, one[] = { 1, 1 };
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, s->patch_size, s->patch_width);
	graph_value x = op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), stride, none, one, 1);
	x = op_transpose(g, x, 4, (int[]){ 0, 2, 3, 1 });
	if (!n)
		return x;
	if (v->neck)
		return op_add(g, x, WEIGHT(b, "embed.position", "", 1, n, n, h));
	graph_value table = WEIGHT(b, "embed.position", "", 1, 1 + n * n, h); // the first is a class token's, which is not here
	table = grid_positions(b, table, 1, n, n, graph_i64s(g, 1, &v->rows), graph_i64s(g, 1, &v->cols), "cubic");
	table = op_slice(g, table, 1, 1, INT64_MAX);
	return op_add(g, x, op_reshape(g, table, 4, (int64_t[]){ 1, v->rows, v->cols, h }));
}

static void body(struct build *b, struct body *io)
{
	const struct vitdet *v = b->s->own;
	if (graph_failed(b->g))
		return;
	if (value_dim(b->g, io->pixels, 2) != b->s->image_size || value_dim(b->g, io->pixels, 3) != b->s->image_width) {
		graph_fail(b->g, STATUS_UNSUPPORTED, "%s: images other than %lld by %lld are not supported yet", b->c->path,
			(long long)b->s->image_size, (long long)b->s->image_width);
		return;
	}
	graph_value x = embed(b, io->pixels);
	states_begin(b, io, to_map(b, x));
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "layers.%lld", (long long)b->layer);
		x = layer(b, x);
		graph_leave(b->g);
		states_add(io, to_map(b, x));
	}
	x = to_map(b, x); // [batch, hidden, rows, cols]
	if (v->neck) {
		x = map_norm(b, "neck.1.norm", conv(b, "neck.1", x, (struct conv){ .out = v->neck, .kernel = 1 }), 1e-6);
		x = map_norm(b, "neck.2.norm", conv(b, "neck.2", x, (struct conv){ .out = v->neck, .kernel = 3 }), 1e-6);
	}
	io->last = x;
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_backbone, map_features },
	{ 0 },
};

const struct family vitdet = {
	.name = "vitdet",
	.architecture = "vision",
	.resolve = resolve,
	.build = picture_build,
	.body = body,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(vitdet, VITDET_TRAITS),
};
