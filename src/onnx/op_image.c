// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools, resizing, and the norms that work on channels. Lengths that are symbols stay symbols: what a window
// makes of "height" is called by its formula, so that two ways to the same length meet as the same dimension.
#include "onnx/op.h"
#include "onnx/inside.h"
#include "onnx/reduced.h"

#include <stdio.h>
#include <string.h>

int64_t graph_windows(struct graph *g, int64_t n, int64_t extra, int64_t stride, bool up)
{
	if (n >= 0)
		return n + extra < 0 ? -1 : (n + extra + (up ? stride - 1 : 0)) / stride + 1;
	if (stride == 1 && extra == -1)
		return n;
	const char *name = graph_symbol_name(g, n);
	if (!name || strlen(name) > 200)
		return graph_unknown(g);
	if (up)
		extra += stride - 1;
	char formula[320];
	if (stride == 1)
		snprintf(formula, sizeof formula, "(%s%+lld)", name, (long long)extra + 1);
	else
		snprintf(formula, sizeof formula, "((%s%+lld)/%lld+1)", name, (long long)extra, (long long)stride);
	return graph_symbol(g, formula);
}

// Is this bias absent, or one number for each of `channels`?
static bool bias_fits(const struct graph *g, graph_value b, int64_t channels)
{
	return !b.id || (value_rank(g, b) == 1 && (value_dim(g, b, 0) == channels || value_dim(g, b, 0) < 0 || channels < 0));
}

// How a window goes over the spatial dimensions of [batch, channels, spatial..]. pad and dilation may be NULL: SAME, and ones.
struct sliding {
	int spatial;
	const int64_t *kernel, *stride, *pad, *dilation;
	bool up; // a last window that is not full counts
};

// Dimensions of x after a window: conv and pools. `at` gets strides, kernel_shape, and pads or auto_pad: 3 attributes.
static bool slide(
	struct graph *g, const char *op, graph_value x, const struct sliding *window, int64_t *dim, struct attribute *at)
{
	const struct value_info info = *VALUE(g, x), *v = &info;
	const int64_t *kernel = window->kernel, *stride = window->stride, *pad = window->pad, *dilation = window->dilation;
	const int spatial = window->spatial;
	const bool up = window->up;

	for (int i = 0; i < spatial; i++) {
		int64_t wide = dilation ? dilation[i] : 1, reach = wide * (kernel[i] - 1) + 1;
		if (stride[i] < 1 || kernel[i] < 1 || wide < 1 || (pad && (pad[i] < 0 || pad[i + spatial] < 0))) {
			graph_fail(g, STATUS_BAD_INPUT, "%s of %s: a kernel %s in steps %s%s%s", op, graph_value_text(g, x),
				graph_numbers_text(g, spatial, kernel), graph_numbers_text(g, spatial, stride),
				pad ? ", padding " : "", pad ? graph_numbers_text(g, 2 * spatial, pad) : "");
			return false;
		}
		dim[i + 2] = graph_windows(g, v->dim[i + 2], pad ? pad[i] + pad[i + spatial] - reach : -1, stride[i], up && pad);
		if (dim[i + 2] == -1 && v->dim[i + 2] >= 0) {
			graph_fail(g, STATUS_BAD_INPUT, "%s of %s: a kernel of %lld is longer than dimension %d with its padding",
				op, graph_value_text(g, x), (long long)reach, i + 2);
			return false;
		}
		// torch drops a last window that would begin in the padding at the end.
		if (up && pad && v->dim[i + 2] >= 0 && (dim[i + 2] - 1) * stride[i] >= v->dim[i + 2] + pad[i])
			dim[i + 2]--;
	}
	at[0] = ATTR_IS("strides", spatial, stride);
	at[1] = ATTR_IS("kernel_shape", spatial, kernel);
	at[2] = pad ? ATTR_IS("pads", 2 * spatial, pad) : ATTR_S("auto_pad", "SAME_UPPER");
	return true;
}

struct conv {
	const int64_t *stride, *pad, *dilation;
	int64_t group;
};

static graph_value convolve(struct graph *g, graph_value x, graph_value w, graph_value b, const struct conv *c)
{
	const int64_t *stride = c->stride, *pad = c->pad, *dilation = c->dilation, group = c->group;

	if (!graph_alive(g, x) || !graph_alive(g, w))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x), k = *VALUE(g, w);
	const int spatial = k.rank - 2;
	bool fits = spatial > 0 && v.rank == spatial + 2 && k.rank == spatial + 2 && group > 0 && k.dim[0] % group == 0;
	if (!fits || (v.dim[1] >= 0 && v.dim[1] != k.dim[1] * group) || !bias_fits(g, b, k.dim[0])) {
		graph_fail(g, STATUS_FAILED, "Conv of %s in %lld groups over %d dimensions: the shapes do not fit",
			graph_values_text(g, (graph_value[]){ x, w, b }, 3), (long long)group, spatial);
		return NO_VALUE;
	}
	int64_t dim[TENSOR_MAX_RANK] = { v.dim[0], k.dim[0] };
	struct attribute at[5] = { [3] = ATTR_IS("dilations", spatial, dilation), [4] = ATTR_I("group", group) };
	if (!slide(g, "Conv", x, &(struct sliding){ spatial, k.dim + 2, stride, pad, dilation }, dim, at))
		return NO_VALUE;
	convolution_left_out(g, w);
	return graph_node(g, "Conv", "", (graph_value[]){ x, w, b }, b.id ? 3 : 2, at, 5, NODE_OUTPUT(v.dtype, v.rank, dim));
}

// graph_form.around_webgpu. ONNX Runtime's WebGPU (1.27) computes four channels of output at a time, and is wrong
//   with groups of more than four of them, not a multiple of four: where four lie in two groups. Each group is its own Conv;
//   with a multiple of four of them, and of input channels a multiple of three but not of four, above three, and a kernel longer
//   than 1, of which it takes three at a time: all of it. Channels of zeros make them a multiple of four.
static bool crosses_groups(const struct value_info *w, int64_t group)
{
	int64_t each = group > 1 ? w->dim[0] / group : 0;

	return each > 4 && each % 4 != 0;
}

static bool takes_threes(const struct value_info *w, int64_t group)
{
	int64_t reach = 1, in = w->dim[1];

	for (int i = 2; i < w->rank; i++)
		reach *= w->dim[i];
	return group == 1 && reach > 1 && in > 3 && in % 3 == 0 && in % 4 != 0 && w->dim[0] % 4 == 0;
}

static graph_value convolve_around(struct graph *g, graph_value x, graph_value w, graph_value b, const struct conv *c)
{
	const struct value_info k = *VALUE(g, w);

	if (takes_threes(&k, c->group)) {
		int64_t more = 4 - k.dim[1] % 4;
		x = op_pad(g, x, 1, 0, more), w = op_pad(g, w, 1, 0, more);
	}
	if (!crosses_groups(&k, c->group))
		return convolve(g, x, w, b, c);
	struct conv one = *c;
	int64_t in = k.dim[1], out = k.dim[0] / c->group;
	graph_value *parts = ARENA_ARRAY(&g->arena, (size_t)c->group, graph_value);

	one.group = 1;
	for (int64_t i = 0; i < c->group; i++)
		parts[i] = convolve_around(g, op_slice(g, x, 1, i * in, (i + 1) * in), op_slice(g, w, 0, i * out, (i + 1) * out),
			b.id ? op_slice(g, b, 0, i * out, (i + 1) * out) : b, &one);
	return op_concat(g, (int)c->group, parts, 1);
}

graph_value op_conv(struct graph *g, graph_value x, graph_value w, graph_value b, const int64_t *stride, const int64_t *pad,
	const int64_t *dilation, int64_t group)
{
	const struct conv c = { stride, pad, dilation, group };
	bool around = g->form.around_webgpu && graph_alive(g, x) && graph_alive(g, w) && value_rank(g, w) > 2 && group > 0 &&
		value_dim(g, w, 0) % group == 0;

	return around ? convolve_around(g, x, w, b, &c) : convolve(g, x, w, b, &c);
}

// n * factor + extra; for a symbol, the symbol of that formula.
static int64_t stretched(struct graph *g, int64_t n, int64_t factor, int64_t extra)
{
	const char *name = n < 0 ? graph_symbol_name(g, n) : NULL;
	char formula[320];

	if (n >= 0 || (factor == 1 && !extra))
		return n >= 0 ? n * factor + extra : n;
	if (!name || strlen(name) >= 200)
		return graph_unknown(g);
	snprintf(formula, sizeof formula, extra ? "(%s*%lld%+lld)" : "(%s*%lld)", name, (long long)factor, (long long)extra);
	return graph_symbol(g, formula);
}

graph_value op_conv_transpose_of(
	struct graph *g, graph_value x, graph_value w, graph_value b, int spatial, const struct conv_transpose *how)
{
	if (!graph_alive(g, x) || !graph_alive(g, w))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x), k = *VALUE(g, w);
	const int64_t *stride = how->stride, *pad = how->pad, *dilation = how->dilation, *more = how->more;
	bool fits = spatial > 0 && v.rank == spatial + 2 && k.rank == spatial + 2 && how->group > 0 && k.dim[0] % how->group == 0;
	for (int i = 0; fits && i < spatial; i++) {
		int64_t wide = dilation ? dilation[i] : 1;
		fits = stride[i] > 0 && pad[i] >= 0 && pad[i + spatial] >= 0 && k.dim[i + 2] > 0 && wide > 0 &&
			(!more || (more[i] >= 0 && (more[i] < stride[i] || more[i] < wide)));
	}
	if (!fits || (v.dim[1] >= 0 && v.dim[1] != k.dim[0]) || !bias_fits(g, b, k.dim[1] * how->group)) {
		graph_fail(g, STATUS_FAILED, "ConvTranspose of %s in %lld groups over %d dimensions: the shapes do not fit",
			graph_values_text(g, (graph_value[]){ x, w, b }, 3), (long long)how->group, spatial);
		return NO_VALUE;
	}
	int64_t dim[TENSOR_MAX_RANK] = { v.dim[0], k.dim[1] * how->group };
	for (int i = 0; i < spatial; i++) {
		int64_t reach = (dilation ? dilation[i] : 1) * (k.dim[i + 2] - 1) + 1 + (more ? more[i] : 0);
		dim[i + 2] = stretched(g, v.dim[i + 2], stride[i], reach - stride[i] - pad[i] - pad[i + spatial]);
		if (v.dim[i + 2] >= 0 && dim[i + 2] < 1)
			graph_fail(g, STATUS_BAD_INPUT, "ConvTranspose of %s: nothing is left of dimension %d",
				graph_values_text(g, (graph_value[]){ x, w }, 2), i + 2);
	}
	struct attribute at[6] = { ATTR_IS("strides", spatial, stride), ATTR_IS("kernel_shape", spatial, k.dim + 2),
		ATTR_IS("pads", 2 * spatial, pad), ATTR_I("group", how->group) };
	int count = 4;
	if (dilation)
		at[count++] = ATTR_IS("dilations", spatial, dilation);
	if (more)
		at[count++] = ATTR_IS("output_padding", spatial, more);
	return graph_node(
		g, "ConvTranspose", "", (graph_value[]){ x, w, b }, b.id ? 3 : 2, at, count, NODE_OUTPUT(v.dtype, v.rank, dim));
}

graph_value op_conv_transpose(struct graph *g, graph_value x, graph_value w, graph_value b, int spatial, const int64_t *stride,
	const int64_t *pad, int64_t group)
{
	return op_conv_transpose_of(
		g, x, w, b, spatial, &(struct conv_transpose){ .stride = stride, .pad = pad, .group = group });
}

// count_pad -1: the operator has no such attribute.
static graph_value pool(struct graph *g, const char *op, graph_value x, const struct sliding *window, int count_pad)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t dim[TENSOR_MAX_RANK] = { v.dim[0], v.dim[1] };
	struct attribute at[5] = { [3] = ATTR_I("ceil_mode", window->up), [4] = ATTR_I("count_include_pad", count_pad) };
	if (window->spatial < 1 || v.rank != window->spatial + 2) {
		graph_fail(g, STATUS_FAILED, "%s of %s over %d dimensions", op, graph_value_text(g, x), window->spatial);
		return NO_VALUE;
	}
	if (!slide(g, op, x, window, dim, at))
		return NO_VALUE;
	return graph_node(g, op, "", &x, 1, at, count_pad >= 0 ? 5 : 4, NODE_OUTPUT(v.dtype, v.rank, dim));
}

graph_value op_max_pool(struct graph *g, graph_value x, int spatial, const int64_t *kernel, const int64_t *stride,
	const int64_t *pad, bool ceil_mode)
{
	return pool(g, "MaxPool", x, &(struct sliding){ spatial, kernel, stride, pad, .up = ceil_mode }, -1);
}

graph_value op_average_pool(struct graph *g, graph_value x, int spatial, const int64_t *kernel, const int64_t *stride,
	const int64_t *pad, bool ceil_mode, bool count_pad)
{
	return pool(g, "AveragePool", x, &(struct sliding){ spatial, kernel, stride, pad, .up = ceil_mode }, count_pad);
}

graph_value op_global_average_pool(struct graph *g, graph_value x)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t dim[TENSOR_MAX_RANK];
	if (v.rank < 3) {
		graph_fail(g, STATUS_FAILED, "GlobalAveragePool of %s: it takes [batch, channels, ..]", graph_value_text(g, x));
		return NO_VALUE;
	}
	for (int i = 0; i < v.rank; i++)
		dim[i] = i < 2 ? v.dim[i] : 1;
	return graph_node(g, "GlobalAveragePool", "", &x, 1, NULL, 0, NODE_OUTPUT(v.dtype, v.rank, dim));
}

// (x - mean) / sqrt(variance + epsilon) * weight + bias, a number of each for each channel (Ioffe and Szegedy 2015,
// https://arxiv.org/abs/1502.03167)
graph_value op_batch_norm(struct graph *g, graph_value x, graph_value weight, graph_value bias, graph_value mean,
	graph_value variance, float epsilon)
{
	const graph_value in[] = { x, weight, bias, mean, variance };
	for (int i = 0; i < 5; i++)
		if (!graph_alive(g, in[i]))
			return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	for (int i = 1; i < 5; i++)
		if (v.rank < 2 || value_rank(g, in[i]) != 1 || (v.dim[1] >= 0 && value_dim(g, in[i], 0) != v.dim[1])) {
			graph_fail(g, STATUS_FAILED, "BatchNormalization of %s: one number for each channel is needed",
				graph_values_text(g, in, 5));
			return NO_VALUE;
		}
	return graph_node(g, "BatchNormalization", "", in, 5, (struct attribute[]){ ATTR_F("epsilon", epsilon) }, 1,
		NODE_OUTPUT(v.dtype, v.rank, v.dim));
}

graph_value op_instance_norm(struct graph *g, graph_value x, graph_value weight, graph_value bias, float epsilon)
{
	if (!graph_alive(g, x) || !graph_alive(g, weight) || !graph_alive(g, bias))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	if (v.rank < 3 || value_rank(g, weight) != 1 || !bias_fits(g, weight, v.dim[1]) || !bias_fits(g, bias, v.dim[1])) {
		graph_fail(g, STATUS_FAILED, "InstanceNormalization of %s: one number for each channel is needed",
			graph_values_text(g, (graph_value[]){ x, weight, bias }, 3));
		return NO_VALUE;
	}
	return graph_node(g, "InstanceNormalization", "", (graph_value[]){ x, weight, bias }, 3,
		(struct attribute[]){ ATTR_F("epsilon", epsilon) }, 1, NODE_OUTPUT(v.dtype, v.rank, v.dim));
}

// Over a group of channels and all places at once (Wu and He 2018, https://arxiv.org/abs/1803.08494). GroupNormalization needs
// opset 21 and engines know it less well: it is an InstanceNormalization of the groups.
//   x [b, c, ..] -Reshape-> [b, groups, rest] -InstanceNormalization-> -Reshape-> [b, c, ..] * weight + bias
graph_value op_group_norm(struct graph *g, graph_value x, int64_t groups, graph_value weight, graph_value bias, float epsilon)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t channels = v.rank > 2 ? v.dim[1] : 0;
	if (groups < 1 || channels < 1 || channels % groups) {
		graph_fail(g, STATUS_BAD_INPUT, "group norm of %s in %lld groups of channels", graph_value_text(g, x),
			(long long)groups);
		return NO_VALUE;
	}
	float *one = GRAPH_TABLE(g, NULL, groups, 1, float), *zero = GRAPH_TABLE(g, NULL, groups, 1, float);
	if (!one || !zero)
		return NO_VALUE;
	for (int64_t i = 0; i < groups; i++)
		one[i] = 1;
	graph_value shape = op_shape(g, x);
	graph_value y = op_reshape(g, x, 3, (int64_t[]){ 0, groups, -1 });
	if (!graph_alive(g, y))
		return NO_VALUE;
	y = op_instance_norm(
		g, y, graph_constant(g, DTYPE_F32, 1, &groups, one), graph_constant(g, DTYPE_F32, 1, &groups, zero), epsilon);
	y = op_reshape_to(g, y, shape);
	int64_t each[TENSOR_MAX_RANK] = { channels };
	for (int i = 1; i < v.rank - 1; i++)
		each[i] = 1;
	if (weight.id)
		y = op_mul(g, y, op_reshape(g, weight, v.rank - 1, each));
	return bias.id ? op_add(g, y, op_reshape(g, bias, v.rank - 1, each)) : y;
}

graph_value op_pad(struct graph *g, graph_value x, int axis, int64_t before, int64_t after)
{
	if (!graph_alive(g, x) || (before == 0 && after == 0))
		return x;
	const struct value_info v = *VALUE(g, x);
	int at = graph_axis(g, x, axis);
	int64_t pads[2 * TENSOR_MAX_RANK] = { 0 }, dim[TENSOR_MAX_RANK];
	memcpy(dim, v.dim, sizeof dim);
	pads[at] = before, pads[at + v.rank] = after;
	dim[at] = graph_windows(g, v.dim[at], before + after - 1, 1, false);
	if (dim[at] == -1 && v.dim[at] >= 0) {
		graph_fail(g, STATUS_BAD_INPUT, "Pad of %s at axis %d by %lld and %lld: nothing is left", graph_value_text(g, x),
			axis, (long long)before, (long long)after);
		return NO_VALUE;
	}
	return graph_node(g, "Pad", "", (graph_value[]){ x, graph_i64s(g, 2 * v.rank, pads) }, 2, NULL, 0,
		NODE_OUTPUT(v.dtype, v.rank, dim));
}

static graph_value resize(struct graph *g, graph_value x, graph_value sizes, const char *mode, const char *places)
{
	if (!graph_alive(g, x) || !graph_alive(g, sizes))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t dim[TENSOR_MAX_RANK];
	bool known_mode = text_is(mode, "nearest") || text_is(mode, "linear") || text_is(mode, "cubic");
	if (!known_mode || value_rank(g, sizes) != 1 || value_dim(g, sizes, 0) != v.rank) {
		graph_fail(g, STATUS_FAILED,
			"Resize of %s by %s, %s: one size for each dimension is needed, and nearest, linear or cubic",
			graph_value_text(g, x), graph_value_text(g, sizes), mode);
		return NO_VALUE;
	}
	graph_shape_parts(g, sizes, v.rank, dim);
	bool same = true;
	for (int i = 0; i < v.rank; i++)
		same &= dim[i] == v.dim[i];
	if (same)
		return x;
	struct attribute at[] = { ATTR_S("mode", mode), ATTR_S("coordinate_transformation_mode", places),
		ATTR_F("cubic_coeff_a", -0.75f), ATTR_S("nearest_mode", "floor") };
	return graph_node(
		g, "Resize", "", (graph_value[]){ x, NO_VALUE, NO_VALUE, sizes }, 4, at, 4, NODE_OUTPUT(v.dtype, v.rank, dim));
}

graph_value op_resize(struct graph *g, graph_value x, graph_value sizes, const char *mode)
{
	return resize(g, x, sizes, mode, text_is(mode, "nearest") ? "asymmetric" : "half_pixel");
}

// [to, from], or turned: the share that each of `from` places has in each of `to`, linear between the two that it lies between,
// the first and the last on each other.
static graph_value corner_shares(struct graph *g, int64_t from, int64_t to, bool turned)
{
	float *share = GRAPH_TABLE(g, NULL, to, from, float);

	for (int64_t i = 0; share && i < to; i++) {
		double place = to > 1 ? (double)(i * (from - 1)) / (double)(to - 1) : 0;
		int64_t low = (int64_t)place, high = low + 1 < from ? low + 1 : low;

		share[turned ? low * to + i : i * from + low] += (float)(1 - (place - (double)low));
		share[turned ? high * to + i : i * from + high] += (float)(place - (double)low);
	}
	return graph_constant(g, DTYPE_F32, 2, (int64_t[]){ turned ? from : to, turned ? to : from }, share);
}

// Linear, of the last two axes: rows x [.., from, from] x columns.
static graph_value corners_by_matmul(struct graph *g, graph_value x, const int64_t *to)
{
	int64_t rows = value_dim(g, x, 2), cols = value_dim(g, x, 3);

	x = op_matmul(g, x, corner_shares(g, cols, to[1], true));
	return op_matmul(g, corner_shares(g, rows, to[0], false), x);
}

graph_value op_resize_corners(struct graph *g, graph_value x, graph_value sizes, const char *mode)
{
	int64_t dim[TENSOR_MAX_RANK] = { 0 };
	bool by_matmul = g->form.corners_by_matmul && graph_alive(g, x) && graph_alive(g, sizes) && value_rank(g, x) == 4 &&
		value_rank(g, sizes) == 1 && value_dim(g, sizes, 0) == 4 && value_dtype(g, x) == DTYPE_F32 &&
		text_is(mode, "linear");

	if (by_matmul)
		graph_shape_parts(g, sizes, 4, dim);
	if (by_matmul && dim[0] == value_dim(g, x, 0) && dim[1] == value_dim(g, x, 1) && value_dim(g, x, 2) > 0 &&
		value_dim(g, x, 3) > 0 && dim[2] > 0 && dim[3] > 0)
		return corners_by_matmul(g, x, dim + 2);
	return resize(g, x, sizes, mode, "align_corners");
}

graph_value op_grid_sample(
	struct graph *g, graph_value x, graph_value grid, const char *mode, const char *padding, bool align_corners)
{
	if (!graph_alive(g, x) || !graph_alive(g, grid))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x), p = *VALUE(g, grid);
	bool words = (text_is(mode, "bilinear") || text_is(mode, "nearest") || text_is(mode, "bicubic")) &&
		(text_is(padding, "zeros") || text_is(padding, "border") || text_is(padding, "reflection"));
	if (!words || v.rank != 4 || p.rank != 4 || p.dim[3] != 2 || (v.dim[0] != p.dim[0] && v.dim[0] >= 0 && p.dim[0] >= 0)) {
		graph_fail(g, STATUS_FAILED, "GridSample of %s, %s, padded by %s: [n,c,h,w] by [n,a,b,2]",
			graph_values_text(g, (graph_value[]){ x, grid }, 2), mode, padding);
		return NO_VALUE;
	}
	struct attribute at[] = { ATTR_S("mode", mode), ATTR_S("padding_mode", padding), ATTR_I("align_corners", align_corners) };
	return graph_node(g, "GridSample", "", (graph_value[]){ x, grid }, 2, at, 3,
		NODE_OUTPUT(v.dtype, 4, (int64_t[]){ v.dim[0] < 0 ? p.dim[0] : v.dim[0], v.dim[1], p.dim[1], p.dim[2] }));
}

graph_value op_depth_to_space(struct graph *g, graph_value x, int64_t block, bool column_row_depth)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	if (v.rank != 4 || block < 1 || block > 1 << 15 || v.dim[1] < 0 || v.dim[1] % (block * block)) {
		graph_fail(g, STATUS_FAILED, "DepthToSpace of %s in blocks of %lld: the channels do not make such blocks",
			graph_value_text(g, x), (long long)block);
		return NO_VALUE;
	}
	return graph_node(g, "DepthToSpace", "", &x, 1,
		(struct attribute[]){ ATTR_I("blocksize", block), ATTR_S("mode", column_row_depth ? "CRD" : "DCR") }, 2,
		NODE_OUTPUT(v.dtype, 4,
			(int64_t[]){ v.dim[0], v.dim[1] / (block * block), stretched(g, v.dim[2], block, 0),
				stretched(g, v.dim[3], block, 0) }));
}

graph_value op_space_to_depth(struct graph *g, graph_value x, int64_t block)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	bool fits = v.rank == 4 && block >= 1 && block <= 1 << 15 && v.dim[1] >= 0;
	for (int i = 2; fits && i < 4; i++)
		fits = v.dim[i] < 0 || v.dim[i] % block == 0;
	if (!fits) {
		graph_fail(g, STATUS_FAILED, "SpaceToDepth of %s in blocks of %lld: they do not fill it", graph_value_text(g, x),
			(long long)block);
		return NO_VALUE;
	}
	int64_t dim[] = { v.dim[0], v.dim[1] * block * block, v.dim[2], v.dim[3] };
	for (int i = 2; i < 4; i++) // n/block is a whole number: as many windows as fit side by side
		dim[i] = block == 1 ? dim[i] : graph_windows(g, dim[i], -block, block, false);
	return graph_node(g, "SpaceToDepth", "", &x, 1, (struct attribute[]){ ATTR_I("blocksize", block) }, 1,
		NODE_OUTPUT(v.dtype, 4, dim));
}

graph_value op_roi_align(struct graph *g, graph_value x, graph_value rois, graph_value batch, const struct roi_align *how)
{
	const graph_value in[] = { x, rois, batch };
	for (int i = 0; i < 3; i++)
		if (!graph_alive(g, in[i]))
			return NO_VALUE;
	const struct value_info v = *VALUE(g, x), r = *VALUE(g, rois), b = *VALUE(g, batch);
	if (v.rank != 4 || r.rank != 2 || r.dim[1] != 4 || b.rank != 1 ||
		(b.dim[0] != r.dim[0] && b.dim[0] >= 0 && r.dim[0] >= 0) || how->high < 1 || how->wide < 1 || how->samples < 0 ||
		!(how->scale > 0)) {
		graph_fail(g, STATUS_FAILED, "RoiAlign of %s to %lldx%lld: [n,c,h,w] by [count,4] and [count]",
			graph_values_text(g, in, 3), (long long)how->high, (long long)how->wide);
		return NO_VALUE;
	}
	struct attribute at[] = { ATTR_I("output_height", how->high), ATTR_I("output_width", how->wide),
		ATTR_I("sampling_ratio", how->samples), ATTR_F("spatial_scale", how->scale),
		ATTR_S("coordinate_transformation_mode", how->aligned ? "half_pixel" : "output_half_pixel") };
	return graph_node(g, "RoiAlign", "", in, 3, at, 5,
		NODE_OUTPUT(v.dtype, 4, (int64_t[]){ r.dim[0] < 0 ? b.dim[0] : r.dim[0], v.dim[1], how->high, how->wide }));
}

graph_value op_nms(struct graph *g, graph_value boxes, graph_value scores, int64_t most, float overlap, float least)
{
	if (!graph_alive(g, boxes) || !graph_alive(g, scores))
		return NO_VALUE;
	const struct value_info b = *VALUE(g, boxes), s = *VALUE(g, scores);
	bool fits = b.rank == 3 && s.rank == 3 && b.dim[2] == 4 && most > 0 && overlap >= 0 && overlap <= 1;
	for (int i = 0; fits && i < 2; i++) // n and count
		fits = b.dim[i] == s.dim[2 * i] || b.dim[i] < 0 || s.dim[2 * i] < 0;
	if (!fits) {
		graph_fail(g, STATUS_FAILED, "NonMaxSuppression of %s: [n,count,4] and [n,c,count]",
			graph_values_text(g, (graph_value[]){ boxes, scores }, 2));
		return NO_VALUE;
	}
	const graph_value in[] = { boxes, scores, graph_i64s(g, 1, &most),
		graph_constant(g, DTYPE_F32, 1, (int64_t[]){ 1 }, &overlap),
		graph_constant(g, DTYPE_F32, 1, (int64_t[]){ 1 }, &least) };
	return graph_node(
		g, "NonMaxSuppression", "", in, 5, NULL, 0, NODE_OUTPUT(DTYPE_I64, 2, (int64_t[]){ graph_unknown(g), 3 }));
}
