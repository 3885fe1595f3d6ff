// SPDX-License-Identifier: Apache-2.0
// Windowed attention; see window.h.
//
//   layer:  x -+- norm - (pad) - (roll) - windows - attention - grid - (roll back) - (cut) -(+)-+- norm - up - act - down -(+)-
//              +---------------------------------------------------------------------------+   +-------------------------+
//   merge:  four neighbours side by side [.., 4*dim] - norm - linear -> [.., 2*dim]
#include "arch/block/window.h"
#include "arch/block/image.h"

#include <math.h>

struct windows *resolve_windows(struct config *c, struct arena *a, const char *heads_key, const char *embed_key)
{
	struct windows *w = ARENA_NEW(a, struct windows);
	int64_t heads = 0;
	w->depths = config_sizes(c, "depths", a, 0, &w->stages);
	w->heads = config_sizes(c, heads_key, a, 0, &heads);
	w->embed = config_size(c, embed_key, -1);
	w->window = config_size(c, "window_size", -1);
	w->mlp_ratio = config_real(c, "mlp_ratio", 4);
	w->qkv_bias = config_bool(c, "qkv_bias", true);
	if (c->error.status)
		return w;
	bool bad = w->stages < 1 || w->stages > 16 || heads < w->stages || w->embed < 1 || w->embed > 1 << 16 || w->window < 1 ||
		w->window > 1024 || !(w->mlp_ratio > 0 && w->mlp_ratio < 1024);
	for (int64_t i = 0; !bad && i < w->stages; i++)
		bad = w->depths[i] > CONFIG_COUNT_MOST || w->heads[i] < 1 || (w->embed << i) % w->heads[i];
	if (bad)
		config_fail(c, STATUS_BAD_INPUT, "%s of %lld in windows of %lld: depths and %s do not go with them", embed_key,
			(long long)w->embed, (long long)w->window, heads_key);
	return w;
}

int64_t windows_width(const struct windows *w)
{
	return w->embed << (w->stages - 1);
}

// Along one axis: what stood at `by` comes first.
static graph_value rolled(struct graph *g, graph_value x, int axis, int64_t by)
{
	return op_concat(g, 2, (graph_value[]){ op_slice(g, x, axis, by, INT64_MAX), op_slice(g, x, axis, 0, by) }, axis);
}

// [batch, h, w, dim] -> [batch * windows, n*n, dim] and back
static graph_value partitioned(struct graph *g, graph_value x, int64_t h, int64_t w, int64_t n, int64_t dim)
{
	x = op_reshape(g, x, 6, (int64_t[]){ 0, h / n, n, w / n, n, dim });
	return op_reshape(g, op_transpose(g, x, 6, (int[]){ 0, 1, 3, 2, 4, 5 }), 3, (int64_t[]){ -1, n * n, dim });
}

static graph_value joined(struct graph *g, graph_value x, int64_t h, int64_t w, int64_t n, int64_t dim)
{
	x = op_reshape(g, x, 6, (int64_t[]){ -1, h / n, w / n, n, n, dim });
	return op_reshape(g, op_transpose(g, x, 6, (int[]){ 0, 1, 3, 2, 4, 5 }), 4, (int64_t[]){ -1, h, w, dim });
}

// For two places of a window, which row of the table of (2n-1)^2 distances: [n^4]
static graph_value distance_index(struct graph *g, int64_t n)
{
	struct arena passing = { 0 }; // every layer asks for it again
	int64_t area = n * n, *index = GRAPH_TABLE(g, &passing, area, area, int64_t);
	for (int64_t q = 0; index && q < area; q++)
		for (int64_t k = 0; k < area; k++)
			index[q * area + k] = (q / n - k / n + n - 1) * (2 * n - 1) + q % n - k % n + n - 1;
	graph_value all = graph_i64s(g, (int)(area * area), index);
	arena_done(&passing);
	return all;
}

// Version 2's table of distances, logarithmic in them: [(2n-1)^2, 2], up to what a window of `of` has at its ends.
static graph_value distances(struct graph *g, int64_t n, int64_t of)
{
	int64_t side = 2 * n - 1, dim[] = { side * side, 2 };
	struct arena passing = { 0 };
	float *at = GRAPH_TABLE(g, &passing, side * side, 2, float);
	for (int64_t i = 0; at && i < side * side * 2; i++) {
		float d = (float)((i % 2 ? i / 2 % side : i / 2 / side) - (n - 1));
		if (of > 0 || n > 1)
			d /= (float)((of > 0 ? of : n) - 1);
		d *= 8;
		at[i] = copysignf(log2f(fabsf(d) + 1) / 3, d) * (d != 0);
	}
	graph_value all = graph_constant(g, DTYPE_F32, 2, dim, at);
	arena_done(&passing);
	return all;
}

// Bias by distance within a window: [1, heads, n^2, n^2]
static graph_value bias_of(struct build *b, const struct windows *w, int64_t n, int64_t heads)
{
	struct graph *g = b->g;
	int64_t rows = (2 * n - 1) * (2 * n - 1);
	graph_value table;
	if (w->second) {
		enum { MLP = 512 };
		graph_value x = op_relu(g,
			linear(b, "windows.attn.mlp.0", distances(g, n, w->pretrained ? w->pretrained[b->stage] : 0), 2, MLP,
				true));
		table = linear(b, "windows.attn.mlp.2", x, MLP, heads, false);
	} else
		table = WEIGHT(b, "windows.attn.table", "", rows, heads);
	graph_value bias = op_reshape(g, op_gather(g, table, distance_index(g, n), 0), 3, (int64_t[]){ n * n, n * n, heads });
	bias = op_unsqueeze(g, op_transpose(g, bias, 3, (int[]){ 2, 0, 1 }), 0);
	return w->second ? op_scale(g, op_sigmoid(g, bias), 16) : bias;
}

// Rolling brings together what is far apart: such places do not attend to each other. [windows, 1, n^2, n^2]
static graph_value region_mask(struct graph *g, int64_t h, int64_t w, int64_t n, int64_t shift, float apart)
{
	int64_t area = n * n, count = h / n * (w / n), dim[] = { count, 1, area };
	struct arena passing = { 0 };
	float *region = GRAPH_TABLE(g, &passing, count, area, float);
	for (int64_t i = 0; region && i < count * area; i++) {
		int64_t y = i / area / (w / n) * n + i % area / n, x = i / area % (w / n) * n + i % n;
		region[i] = (float)(((y >= h - n) + (y >= h - shift)) * 3 + (x >= w - n) + (x >= w - shift));
	}
	graph_value r = graph_constant(g, DTYPE_F32, 3, dim, region);
	arena_done(&passing);
	graph_value same = op_equal(g, op_unsqueeze(g, r, 2), op_unsqueeze(g, r, 3));
	return op_where(g, same, graph_f32(g, 0), graph_f32(g, apart));
}

// x / max(|x|, 1e-12) over each head
static graph_value unit_heads(struct build *b, graph_value x, int64_t heads, int64_t width)
{
	struct graph *g = b->g;
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width });
	graph_value length = op_sqrt(g, op_reduce_sum(g, op_mul(g, x, x), -1, true));
	return op_div(g, x, op_max(g, length, graph_f32(g, 1e-12f)));
}

// x [batch * windows, n^2, dim]
static graph_value attention(
	struct build *b, const struct windows *w, graph_value x, graph_value bias, int64_t dim, int64_t heads)
{
	struct graph *g = b->g;
	int64_t width = dim / heads;
	graph_value q = linear(b, "windows.attn.q", x, dim, dim, w->qkv_bias),
		    k = linear(b, "windows.attn.k", x, dim, dim, w->qkv_bias && !w->second);
	graph_value v = linear(b, "windows.attn.v", x, dim, dim, w->qkv_bias);
	float scale = (float)(1 / sqrt((double)width));
	if (w->second) {
		graph_value by =
			op_exp(g, op_min(g, WEIGHT(b, "windows.attn.scale", "", heads, 1, 1), graph_f32(g, (float)log(100))));
		q = op_mul(g, unit_heads(b, q, heads, width), op_reshape(g, by, 2, (int64_t[]){ heads, 1 }));
		q = op_reshape(g, q, 3, (int64_t[]){ 0, 0, dim });
		k = op_reshape(g, unit_heads(b, k, heads, width), 3, (int64_t[]){ 0, 0, dim });
		scale = 1;
	}
	return linear(b, "windows.attn.o",
		op_attention(g, &(struct attention){ q, k, v, .bias = bias, .heads = heads, .scale = scale }), dim, dim, true);
}

// How large the window of this layer is, and how far it is shifted.
static void window_of(struct build *b, const struct windows *w, int64_t h, int64_t wide, int64_t *n, int64_t *shift)
{
	int64_t least = h < wide ? h : wide;
	*n = w->window;
	*shift = b->layer % 2 ? w->window / 2 : 0;
	if (w->second) {
		int64_t rows = w->level ? w->grid[0] : w->grid[0] >> b->stage;
		*n = rows < *n ? rows : *n;
		*shift = rows <= *n ? 0 : *shift;
	} else if (!w->always && least <= *n) {
		*n = least;
		*shift = 0;
	}
	if (*n < 1 || (!w->second && *n != w->window))
		graph_fail(b->g, STATUS_BAD_INPUT, "windows of %lld on a grid of %lld by %lld", (long long)w->window,
			(long long)h, (long long)wide);
}

// After attention gave y: x [batch, tokens, dim] with both branches added
static graph_value branches(struct build *b, const struct windows *w, graph_value x, graph_value y, int64_t dim)
{
	struct graph *g = b->g;
	int64_t inner = (int64_t)(w->mlp_ratio * (double)dim);
	x = op_add(g, x, w->second ? layer_norm(b, "windows.attn.norm", y, dim) : y);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = w->second ? x : layer_norm(b, "windows.ffn.norm", x, dim);
	y = linear(b, "windows.ffn.down", activate(b, b->s->act, linear(b, "windows.ffn.up", y, dim, inner, true)), inner, dim,
		true);
	x = op_add(g, x, w->second ? layer_norm(b, "windows.ffn.norm", y, dim) : y);
	graph_leave(g);
	return x;
}

graph_value window_layer(
	struct build *b, const struct windows *w, graph_value x, int64_t h, int64_t wide, int64_t dim, int64_t heads)
{
	struct graph *g = b->g;
	int64_t n, shift;
	window_of(b, w, h, wide, &n, &shift);
	if (graph_failed(g))
		return NO_VALUE;
	int64_t rows = (h + n - 1) / n * n, cols = (wide + n - 1) / n * n;
	graph_enter(g, "attn");
	graph_value y = w->second ? x : layer_norm(b, "windows.attn.norm", x, dim);
	y = op_reshape(g, y, 4, (int64_t[]){ 0, h, wide, dim });
	y = op_pad(g, op_pad(g, y, 1, 0, rows - h), 2, 0, cols - wide);
	if (shift)
		y = rolled(g, rolled(g, y, 1, shift), 2, shift);
	y = partitioned(g, y, rows, cols, n, dim);
	graph_value bias = bias_of(b, w, n, heads);
	if (shift) { // the windows of each image follow each other
		bias = op_add(g, bias, region_mask(g, rows, cols, n, shift, w->second ? -200 : -100));
		graph_value shape =
			op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 4, (int64_t[]){ 1, 1, 1, 1 }) }, 0);
		bias = op_reshape(g, op_expand(g, op_unsqueeze(g, bias, 0), shape), 4, (int64_t[]){ -1, heads, n * n, n * n });
		graph_assume(g, bias, 0, value_dim(g, y, 0));
	}
	y = joined(g, attention(b, w, y, bias, dim, heads), rows, cols, n, dim);
	if (shift)
		y = rolled(g, rolled(g, y, 1, rows - shift), 2, cols - shift);
	y = op_reshape(g, op_slice(g, op_slice(g, y, 1, 0, h), 2, 0, wide), 3, (int64_t[]){ -1, h * wide, dim });
	graph_assume(g, y, 0, value_dim(g, x, 0));
	return branches(b, w, x, y, dim);
}

struct window_grid window_grid(struct graph *g, graph_value x, int64_t n)
{
	graph_value side = graph_i64s(g, 1, &n), more = graph_i64s(g, 1, (int64_t[]){ n - 1 });
	struct window_grid e = { .n = n, .batch = op_dim(g, x, 0), .rows = op_dim(g, x, 1), .cols = op_dim(g, x, 2) };
	e.down = op_div(g, op_add(g, e.rows, more), side);
	e.right = op_div(g, op_add(g, e.cols, more), side);
	return e;
}

// An axis of x, `size` long, with zeros at its end up to `count` windows of n.
static graph_value filled(struct graph *g, graph_value x, int axis, graph_value size, graph_value count, int64_t n)
{
	int64_t known = value_dim(g, x, axis);
	if (known >= 0)
		return op_pad(g, x, axis, 0, (known + n - 1) / n * n - known);
	graph_value all = op_squeeze(g, op_mul(g, count, graph_i64s(g, 1, &n)), 0), one = graph_i64(g, 1);
	graph_value at = op_range(g, graph_i64(g, 0), all, one), last = op_sub(g, op_squeeze(g, size, 0), one);
	graph_value there = op_cast(g, op_less_or_equal(g, at, last), DTYPE_F32);
	for (int i = axis; i < 3; i++)
		there = op_unsqueeze(g, there, -1);
	return op_mul(g, op_gather(g, x, op_min(g, at, last), axis), there);
}

// Of a map that windows divide.
static graph_value cut(struct graph *g, graph_value x, const struct window_grid *e, int64_t dim)
{
	graph_value side = graph_i64s(g, 1, &e->n), last = graph_i64s(g, 1, &dim);
	x = op_reshape_to(g, x, op_concat(g, 6, (graph_value[]){ e->batch, e->down, side, e->right, side, last }, 0));
	return op_reshape(g, op_transpose(g, x, 6, (int[]){ 0, 1, 3, 2, 4, 5 }), 3, (int64_t[]){ -1, e->n * e->n, dim });
}

static graph_value uncut(struct graph *g, graph_value x, const struct window_grid *e, int64_t dim)
{
	graph_value side = graph_i64s(g, 1, &e->n), last = graph_i64s(g, 1, &dim);
	graph_value high = op_mul(g, e->down, side), wide = op_mul(g, e->right, side);
	x = op_reshape_to(g, x, op_concat(g, 6, (graph_value[]){ e->batch, e->down, e->right, side, side, last }, 0));
	x = op_transpose(g, x, 6, (int[]){ 0, 1, 3, 2, 4, 5 });
	return op_reshape_to(g, x, op_concat(g, 4, (graph_value[]){ e->batch, high, wide, last }, 0));
}

graph_value window_cut(struct graph *g, graph_value x, const struct window_grid *e, int64_t dim)
{
	x = filled(g, filled(g, x, 1, e->rows, e->down, e->n), 2, e->cols, e->right, e->n);
	return cut(g, x, e, dim);
}

graph_value window_join(struct graph *g, graph_value x, const struct window_grid *e, int64_t dim)
{
	graph_value zero = graph_i64s(g, 1, (int64_t[]){ 0 });
	x = uncut(g, x, e, dim);
	return op_slice_to(g, op_slice_to(g, x, 1, zero, e->rows), 2, zero, e->cols);
}

// 0, 1 or 2 for each place along a side: before the last window, in it, or rolled in from the beginning. f32 [size]
static graph_value region_along(struct graph *g, graph_value size, int64_t n, int64_t shift)
{
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, size, 0), graph_i64(g, 1));
	graph_value last = op_less_or_equal(g, op_sub(g, size, graph_i64(g, n)), at),
		    rolled_in = op_less_or_equal(g, op_sub(g, size, graph_i64(g, shift)), at);
	return op_add(g, op_cast(g, last, DTYPE_F32), op_cast(g, rolled_in, DTYPE_F32));
}

// region_mask of a map whose size is not known: [batch * windows, heads, n^2, n^2] with bias [1, heads, n^2, n^2] added
static graph_value masked_bias_any(
	struct graph *g, graph_value bias, const struct window_grid *e, int64_t shift, int64_t heads, float apart)
{
	struct window_grid one = *e;
	int64_t n = e->n;
	one.batch = graph_i64s(g, 1, (int64_t[]){ 1 });
	graph_value down = op_scale(g, region_along(g, e->rows, n, shift), 3), right = region_along(g, e->cols, n, shift);
	graph_value r = op_add(g, op_unsqueeze(g, down, 1), op_unsqueeze(g, right, 0)); // [rows, cols]
	r = cut(g, r, &one, 1);                                                         // [windows, n*n, 1]
	graph_value same = op_unsqueeze(g, op_equal(g, r, op_transpose(g, r, 3, (int[]){ 0, 2, 1 })), 1);
	bias = op_add(g, bias, op_where(g, same, graph_f32(g, 0), graph_f32(g, apart)));
	graph_value shape = op_concat(g, 2, (graph_value[]){ e->batch, graph_i64s(g, 4, (int64_t[]){ 1, 1, 1, 1 }) }, 0);
	return op_reshape(g, op_expand(g, op_unsqueeze(g, bias, 0), shape), 4, (int64_t[]){ -1, heads, n * n, n * n });
}

graph_value window_layer_any(
	struct build *b, const struct windows *w, graph_value x, graph_value rows, graph_value cols, int64_t dim, int64_t heads)
{
	struct graph *g = b->g;
	int64_t n, shift;
	window_of(b, w, 0, 0, &n, &shift);
	if (graph_failed(g))
		return NO_VALUE;
	graph_value side = graph_i64s(g, 1, &n), last = graph_i64s(g, 1, &dim);
	struct window_grid e = { n, op_dim(g, x, 0), rows, cols, op_div(g, rows, side), op_div(g, cols, side) };
	graph_enter(g, "attn");
	graph_value y = w->second ? x : layer_norm(b, "windows.attn.norm", x, dim), bias = bias_of(b, w, n, heads);
	y = op_reshape_to(g, y, op_concat(g, 4, (graph_value[]){ e.batch, rows, cols, last }, 0));
	if (shift)
		y = rolled(g, rolled(g, y, 1, shift), 2, shift);
	y = cut(g, y, &e, dim);
	if (shift) {
		bias = masked_bias_any(g, bias, &e, shift, heads, w->second ? -200 : -100);
		graph_assume(g, bias, 0, value_dim(g, y, 0));
	}
	y = uncut(g, attention(b, w, y, bias, dim, heads), &e, dim);
	if (shift)
		y = rolled(g, rolled(g, y, 1, -shift), 2, -shift);
	y = op_reshape_to(g, y, op_shape(g, x));
	return branches(b, w, x, y, dim);
}

static graph_value merged(struct build *b, const struct windows *w, graph_value x, int64_t h, int64_t wide, int64_t dim)
{
	struct graph *g = b->g;
	int64_t rows = (h + 1) / 2, cols = (wide + 1) / 2;
	x = op_reshape(g, x, 4, (int64_t[]){ 0, h, wide, dim });
	x = op_pad(g, op_pad(g, x, 1, 0, h % 2), 2, 0, wide % 2);
	x = op_transpose(g, op_reshape(g, x, 6, (int64_t[]){ 0, rows, 2, cols, 2, dim }), 6, (int[]){ 0, 1, 3, 4, 2, 5 });
	x = op_reshape(g, x, 3, (int64_t[]){ 0, rows * cols, 4 * dim });
	if (!w->second)
		x = layer_norm_eps(b, "windows.merge.norm", x, 1e-5);
	x = linear(b, "windows.merge", x, 4 * dim, 2 * dim, false);
	return w->second ? layer_norm_eps(b, "windows.merge.norm", x, 1e-5) : x;
}

graph_value window_stages(
	struct build *b, const struct windows *w, struct body *io, graph_value x, int64_t *height, int64_t *width, bool before)
{
	struct graph *g = b->g;
	io->states = ARENA_ARRAY(graph_arena(g), (size_t)w->stages + 1, graph_value);
	io->state_count = 0;
	states_add(io, map_of_size(b, x, *height, *width));
	for (b->stage = 0; b->stage < w->stages && !graph_failed(b->g); b->stage++) {
		int64_t dim = w->embed << b->stage;
		graph_enter(g, "stages.%lld", (long long)b->stage);
		for (b->layer = 0; b->layer < w->depths[b->stage] && !graph_failed(b->g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			x = window_layer(b, w, x, *height, *width, dim, w->heads[b->stage]);
			graph_leave(g);
		}
		if (before)
			states_add(io, map_of_size(b, x, *height, *width));
		if (b->stage < w->stages - 1) {
			graph_enter(g, "merge");
			b->layer = b->stage; // a stem with one number
			x = merged(b, w, x, *height, *width, dim);
			*height = (*height + 1) / 2, *width = (*width + 1) / 2;
			graph_leave(g);
		}
		if (!before)
			states_add(io, map_of_size(b, x, *height, *width));
		graph_leave(g);
	}
	return x;
}
