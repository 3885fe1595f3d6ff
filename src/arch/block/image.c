// SPDX-License-Identifier: Apache-2.0
// Blocks of models that look at images (image.h). What a model is made of them is the families' business.
#include "arch/block/image.h"

graph_value picture_input(struct build *b, const char *name, int64_t channels, int64_t height, int64_t width)
{
	struct graph *g = b->g;
	int64_t h = graph_symbol(g, "height"), w = graph_symbol(g, "width");
	int64_t shape[] = { graph_symbol(g, "batch"), channels, h >= 0 || !height ? h : height, w >= 0 || !width ? w : width };
	return graph_input(g, name, DTYPE_F32, 4, shape);
}

graph_value pixel_input(struct build *b, int64_t channels, int64_t height, int64_t width)
{
	return picture_input(b, "pixel_values", channels, height, width);
}

void input_hint(struct input_hints *out, const char *name, int64_t number)
{
	size_t i = 0, most = sizeof out->symbols / sizeof out->symbols[0];
	while (i < most && out->symbols[i].name && !text_is(out->symbols[i].name, name))
		i++;
	if (i < most)
		out->symbols[i] = (struct input_symbol){ name, number };
}

void image_hints(struct input_hints *out, int64_t height, int64_t width)
{
	input_hint(out, "height", height);
	input_hint(out, "width", width);
}

graph_value conv(struct build *b, const char *stem, graph_value x, struct conv c)
{
	struct graph *g = b->g;
	int64_t stride = c.stride ? c.stride : 1, dilation = c.dilation ? c.dilation : 1, group = c.group ? c.group : 1;
	int64_t pad = c.pad == PAD_NONE ? 0 : c.pad ? c.pad : (c.kernel - 1) / 2 * dilation;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t in = value_dim(g, x, 1);
	if (in % group || c.out % group) {
		graph_fail(g, STATUS_BAD_INPUT, "a convolution from %lld channels to %lld in %lld groups", (long long)in,
			(long long)c.out, (long long)group);
		return NO_VALUE;
	}
	graph_value w = WEIGHT(b, stem, "weight", c.out, in / group, c.kernel, c.kernel);
	graph_value bias = c.bias ? WEIGHT(b, stem, "bias", c.out) : NO_VALUE;
	const int64_t strides[] = { stride, stride }, pads[] = { pad, pad, pad, pad }, dilations[] = { dilation, dilation };
	return op_conv(g, x, w, bias, strides, c.pad == PAD_SAME ? NULL : pads, dilations, group);
}

graph_value batch_norm(struct build *b, const char *stem, graph_value x, double epsilon)
{
	if (graph_failed(b->g))
		return NO_VALUE;
	int64_t n = value_dim(b->g, x, 1);
	graph_value w = WEIGHT(b, stem, "weight", n), bias = WEIGHT(b, stem, "bias", n);
	graph_value mean = WEIGHT(b, stem, "running_mean", n), variance = WEIGHT(b, stem, "running_var", n);
	return op_batch_norm(b->g, x, w, bias, mean, variance, (float)epsilon);
}

graph_value last_batch_norm(struct build *b, const char *stem, graph_value x, int64_t w)
{
	struct graph *g = b->g;
	graph_value deviation = op_sqrt(g, op_add(g, WEIGHT(b, stem, "running_var", w), graph_f32(g, 1e-5f)));
	graph_value scale = op_div(g, WEIGHT(b, stem, "weight", w), deviation);
	x = op_mul(g, op_sub(g, x, WEIGHT(b, stem, "running_mean", w)), scale);
	return op_add(g, x, WEIGHT(b, stem, "bias", w));
}

graph_value conv_norm(struct build *b, const char *conv_stem, const char *norm_stem, graph_value x, struct conv c, double epsilon,
	enum activation act)
{
	return activate(b, act, batch_norm(b, norm_stem, conv(b, conv_stem, x, c), epsilon));
}

graph_value layer_norm_eps(struct build *b, const char *stem, graph_value x, double epsilon)
{
	if (graph_failed(b->g))
		return NO_VALUE;
	int64_t n = value_dim(b->g, x, -1);
	graph_value w = WEIGHT(b, stem, "weight", n);
	return op_layer_norm(b->g, x, w, WEIGHT(b, stem, "bias", n), (float)epsilon);
}

graph_value map_norm(struct build *b, const char *stem, graph_value x, double epsilon)
{
	graph_value y = layer_norm_eps(b, stem, op_transpose(b->g, x, 4, (int[]){ 0, 2, 3, 1 }), epsilon);
	return op_transpose(b->g, y, 4, (int[]){ 0, 3, 1, 2 });
}

graph_value tokens_of(struct build *b, graph_value map)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	return op_transpose(g, op_reshape(g, map, 3, (int64_t[]){ 0, value_dim(g, map, 1), -1 }), 3, (int[]){ 0, 2, 1 });
}

graph_value map_of(struct build *b, graph_value tokens, graph_value like)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t width = value_dim(g, tokens, 2);
	graph_value shape[] = { op_dim(g, like, 0), graph_i64s(g, 1, &width), op_dim(g, like, 2), op_dim(g, like, 3) };
	return op_reshape_to(g, op_transpose(g, tokens, 3, (int[]){ 0, 2, 1 }), op_concat(g, 4, shape, 0));
}

graph_value map_of_grid(struct build *b, graph_value tokens, graph_value height, graph_value width)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	graph_value shape[] = { op_dim(g, tokens, 0), graph_i64s(g, 1, (int64_t[]){ value_dim(g, tokens, 2) }), height, width };
	return op_reshape_to(g, op_transpose(g, tokens, 3, (int[]){ 0, 2, 1 }), op_concat(g, 4, shape, 0));
}

graph_value map_of_size(struct build *b, graph_value tokens, int64_t height, int64_t width)
{
	return map_of_grid(b, tokens, graph_i64s(b->g, 1, &height), graph_i64s(b->g, 1, &width));
}

graph_value resized_like(struct build *b, graph_value x, graph_value like, const char *mode)
{
	struct graph *g = b->g;
	graph_value sizes[] = { op_dim(g, x, 0), op_dim(g, x, 1), op_dim(g, like, 2), op_dim(g, like, 3) };
	return op_resize(g, x, op_concat(g, 4, sizes, 0), mode);
}

graph_value resized_by_as(struct build *b, graph_value x, int64_t factor, const char *mode)
{
	struct graph *g = b->g;
	graph_value by = graph_i64s(g, 1, &factor), height = op_mul(g, op_dim(g, x, 2), by),
		    width = op_mul(g, op_dim(g, x, 3), by);
	return op_resize(g, x, op_concat(g, 4, (graph_value[]){ op_dim(g, x, 0), op_dim(g, x, 1), height, width }, 0), mode);
}

graph_value resized_by(struct build *b, graph_value x, int64_t factor)
{
	return resized_by_as(b, x, factor, "linear");
}

// How much each of `from` old places counts for each of `to` new ones, f32 [to, from]: cubic with a = -1/2, stretched where the
// result is smaller (torch's interpolate with antialias=True; Keys 1981).
static graph_value smooth_weights(struct build *b, int64_t from, graph_value to)
{
	struct graph *g = b->g;
	float *place = GRAPH_TABLE(g, NULL, from, 1, float);
	if (!place)
		return NO_VALUE;
	for (int64_t i = 0; i < from; i++)
		place[i] = (float)i + 0.5f;
	graph_value old = graph_constant(g, DTYPE_F32, 2, (int64_t[]){ 1, from }, place), half = graph_f32(g, 0.5f);
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, to, 0), graph_i64(g, 1));
	graph_value scale = op_div(g, graph_f32(g, (float)from), op_cast(g, op_squeeze(g, to, 0), DTYPE_F32));
	graph_value centre = op_unsqueeze(g, op_mul(g, op_add(g, op_cast(g, at, DTYPE_F32), half), scale), 1); // [to, 1]
	graph_value x = op_div(g, op_abs(g, op_sub(g, old, centre)), op_max(g, scale, graph_f32(g, 1)));       // [to, from]
	graph_value near = op_add(
		g, op_mul(g, op_mul(g, op_sub(g, op_mul(g, x, graph_f32(g, 1.5f)), graph_f32(g, 2.5f)), x), x), graph_f32(g, 1));
	graph_value far =
		op_mul(g, op_add(g, op_mul(g, op_sub(g, graph_f32(g, 2.5f), op_mul(g, x, half)), x), graph_f32(g, -4)), x);
	far = op_where(g, op_less(g, x, graph_f32(g, 2)), op_add(g, far, graph_f32(g, 2)), graph_f32(g, 0));
	graph_value w = op_where(g, op_less(g, x, graph_f32(g, 1)), near, far);
	return op_div(g, w, op_reduce_sum(g, w, 1, true));
}

static graph_value smooth(struct build *b, graph_value grid, int64_t rows, int64_t cols, graph_value to_rows, graph_value to_cols)
{
	struct graph *g = b->g;
	graph_value y = op_matmul(g, smooth_weights(b, rows, to_rows), grid); // [1, width, to_rows, cols]
	return op_matmul(g, y, op_transpose(g, smooth_weights(b, cols, to_cols), 2, (int[]){ 1, 0 }));
}

// How much each of the places along `axis` counts for each of `to` cells, f32 [to, places]: cell i begins at floor(i n / to) and
// ends before ceil((i + 1) n / to).
static graph_value cell_weights(struct build *b, graph_value x, int axis, int64_t to)
{
	struct graph *g = b->g;
	graph_value n = op_squeeze(g, op_dim(g, x, axis), 0), zero = graph_i64(g, 0), one = graph_i64(g, 1),
		    cells = graph_i64(g, to);
	graph_value cell = op_unsqueeze(g, op_range(g, zero, cells, one), 1); // [to, 1]
	graph_value place = op_unsqueeze(g, op_range(g, zero, n, one), 0);    // [1, places]
	graph_value begin = op_div(g, op_mul(g, cell, n), cells);
	graph_value end = op_div(g, op_add(g, op_mul(g, op_add(g, cell, one), n), graph_i64(g, to - 1)), cells);
	graph_value within = op_and(g, op_less_or_equal(g, begin, place), op_less(g, place, end)); // [to, places]
	return op_div(g, op_cast(g, within, DTYPE_F32), op_cast(g, op_sub(g, end, begin), DTYPE_F32));
}

graph_value adaptive_pool(struct build *b, graph_value x, int64_t rows, int64_t cols)
{
	struct graph *g = b->g;
	graph_value y = op_matmul(g, cell_weights(b, x, 2, rows), x); // [batch, channels, rows, width]
	return op_matmul(g, y, op_transpose(g, cell_weights(b, x, 3, cols), 2, (int[]){ 1, 0 }));
}

graph_value grid_positions(struct build *b, graph_value table, int64_t special, int64_t rows, int64_t cols, graph_value to_rows,
	graph_value to_cols, const char *mode)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return table;
	int64_t width = value_dim(g, table, -1);
	if (rows * cols + special != value_dim(g, table, 1)) {
		graph_fail(g, STATUS_BAD_INPUT, "%lld positions are no grid of %lld by %lld",
			(long long)(value_dim(g, table, 1) - special), (long long)rows, (long long)cols);
		return table;
	}
	graph_value grid = op_reshape(g, op_slice(g, table, 1, special, INT64_MAX), 4, (int64_t[]){ 1, rows, cols, width });
	grid = op_transpose(g, grid, 4, (int[]){ 0, 3, 1, 2 });
	bool is_smooth = text_is(mode, "smooth");
	graph_value other = op_resize(g, grid,
		op_concat(g, 3, (graph_value[]){ graph_i64s(g, 2, (int64_t[]){ 1, width }), to_rows, to_cols }, 0),
		is_smooth ? "cubic" : mode);
	if (other.id == grid.id)
		return table;
	if (is_smooth)
		other = smooth(b, grid, rows, cols, to_rows, to_cols);
	grid = op_reshape(g, op_transpose(g, other, 4, (int[]){ 0, 2, 3, 1 }), 3, (int64_t[]){ 1, -1, width });
	return special ? op_concat(g, 2, (graph_value[]){ op_slice(g, table, 1, 0, special), grid }, 1) : grid;
}

graph_value each_image(struct build *b, graph_value vector, graph_value pixels)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	graph_value rest = graph_i64s(g, 2, (int64_t[]){ value_dim(g, vector, 1), value_dim(g, vector, 2) });
	return op_expand(g, vector, op_concat(g, 2, (graph_value[]){ op_dim(g, pixels, 0), rest }, 0));
}

const graph_value *backbone_features(struct build *b, const char *part, graph_value pixels, int64_t *count)
{
	struct body io = { .pixels = pixels };
	*count = 0;
	if (graph_failed(b->g))
		return NULL;
	graph_enter(b->g, "%s", part);
	const struct spec *outer = part_enter(b, part), *s = b->s;
	const struct family *f = s->row->family;
	f->body(b, &io);
	graph_value *out = ARENA_ARRAY(graph_arena(b->g), (size_t)s->out_count + 1, graph_value);
	for (int64_t i = 0; i < s->out_count && !graph_failed(b->g); i++) {
		int64_t at = s->out_indices[i] < io.state_count ? s->out_indices[i] : io.state_count - 1;
		out[i] = f->feature ? f->feature(b, &io, at) : io.states[at];
	}
	part_leave(b, outer);
	graph_leave(b->g);
	*count = s->out_count;
	return out;
}

void map_build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, 0, 0) };
	b->s->row->family->body(b, &io);
	head_build(b, &io);
}

void picture_build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width) };
	b->s->row->family->body(b, &io);
	head_build(b, &io);
}

void map_hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 224, 224);
}

graph_value smooth_shares(struct build *b, graph_value index, graph_value size, int64_t side)
{
	struct graph *g = b->g;
	float *middle = GRAPH_TABLE(g, NULL, side, 1, float);
	for (int64_t i = 0; middle && i < side; i++)
		middle[i] = (float)i + 0.5f;
	graph_value step = op_div(g, graph_f32(g, (float)side), op_cast(g, size, DTYPE_F32));
	graph_value at = op_mul(g, op_add(g, op_cast(g, index, DTYPE_F32), graph_f32(g, 0.5f)), step);
	graph_value away = op_sub(g, graph_constant(g, DTYPE_F32, 1, &side, middle), op_unsqueeze(g, at, -1)); // [.., side]
	away = op_div(g, op_abs(g, away), op_unsqueeze(g, op_max(g, step, graph_f32(g, 1)), -1));
	graph_value share = op_relu(g, op_sub(g, graph_f32(g, 1), away));
	return op_div(g, share, op_reduce_sum(g, share, -1, true));
}
