// SPDX-License-Identifier: Apache-2.0
// Fourier transforms. A complex number is two numbers on the last axis: its real and its imaginary part.
#include "onnx/op.h"
#include "onnx/inside.h"

#include <string.h>

// Of the frequencies of n real numbers, n/2 + 1 differ: the others are cut off here, because engines do not agree on the shape
// that DFT has with `onesided`.
static graph_value half_of(struct graph *g, graph_value y, int at)
{
	int64_t n = value_dim(g, y, at), half = graph_windows(g, n, 0, 2, false);

	if (n >= 0)
		return op_slice(g, y, at, 0, half);
	graph_value count = op_add(g, op_div(g, op_dim(g, y, at), graph_i64(g, 2)), graph_i64(g, 1));
	y = op_slice_to(g, y, at, graph_i64s(g, 1, (int64_t[]){ 0 }), count);
	if (!g->failed)
		graph_assume(g, y, at, half);
	return y;
}

graph_value op_dft(struct graph *g, graph_value x, int axis, bool inverse, bool onesided)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	int at = graph_axis(g, x, axis);
	const struct value_info v = *VALUE(g, x);
	int64_t parts = v.rank ? v.dim[v.rank - 1] : 0, dim[TENSOR_MAX_RANK];
	if (g->failed || v.rank < 3 || at == 0 || at == v.rank - 1 || (parts != 1 && parts != 2) ||
		(onesided && (inverse || parts == 2))) {
		graph_fail(g, STATUS_FAILED, "%s%s DFT of %s along axis %d: it takes [batch, .., parts], one part or two%s",
			onesided ? "one-sided" : "whole", inverse ? ", inverse" : "", graph_value_text(g, x), axis,
			onesided ? "; one-sided is the way from real numbers" : "");
		return NO_VALUE;
	}
	// OpenVINO takes the axis of opset 20 for its default, 1: so it is brought there.
	int perm[TENSOR_MAX_RANK];
	for (int i = 0; i < v.rank; i++)
		perm[i] = i == 1 ? at : i == at ? 1 : i;
	graph_value y = at == 1 ? x : op_transpose(g, x, v.rank, perm);
	if (g->failed)
		return NO_VALUE;
	memcpy(dim, VALUE(g, y)->dim, sizeof dim);
	dim[v.rank - 1] = 2;
	y = graph_node(g, "DFT", "", &y, 1, (struct attribute[]){ ATTR_I("axis", 1), ATTR_I("inverse", 1) }, inverse ? 2 : 1,
		NODE_OUTPUT(v.dtype, v.rank, dim));
	if (onesided && !g->failed)
		y = half_of(g, y, 1);
	return at == 1 || g->failed ? y : op_transpose(g, y, v.rank, perm);
}

// By Gather and DFT: engines that have STFT have it for fixed lengths alone.
graph_value op_stft(struct graph *g, graph_value x, graph_value window, int64_t step, bool onesided)
{
	if (!graph_alive(g, x) || !graph_alive(g, window))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x), w = *VALUE(g, window);
	int64_t frame = w.rank == 1 ? w.dim[0] : -1;
	if (v.rank != 2 || frame < 1 || step < 1 || (v.dim[1] >= 0 && v.dim[1] < frame)) {
		graph_fail(g, STATUS_FAILED, "STFT of %s in steps of %lld: [batch, length] by [frame], which is not longer",
			graph_values_text(g, (graph_value[]){ x, window }, 2), (long long)step);
		return NO_VALUE;
	}
	graph_value zero = graph_i64(g, 0), length = op_squeeze(g, op_dim(g, x, 1), 0);
	graph_value begins = op_range(g, zero, op_sub(g, length, graph_i64(g, frame - 1)), graph_i64(g, step)),
		    within = op_range(g, zero, graph_i64(g, frame), graph_i64(g, 1));
	if (!g->failed)
		graph_assume(g, begins, 0, graph_windows(g, v.dim[1], -frame, step, false));
	graph_value frames = op_gather(g, x, op_add(g, op_unsqueeze(g, within, 1), begins), 1); // [batch, frame, frames]
	return op_dft(g, op_unsqueeze(g, op_mul(g, frames, op_unsqueeze(g, window, 1)), 3), 1, false, onesided);
}
