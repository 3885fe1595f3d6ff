// SPDX-License-Identifier: Apache-2.0
// Weights in blocks, in float32, by standard operators: what com.microsoft.MatMulNBits is judged by. Written from the layout that
// its documentation gives and not from the code that packs, so that each finds the other's mistakes.
// (https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulNBits)
//
//     w[n, b * block + i] = (q[n, b, i] - zero[n, b]) * scale[n, b]
#include "onnx/reduced.h"

#include "onnx/inside.h"
#include "onnx/op.h"

// u8 [a, b, c] -> f32: of 8 bits the same shape; of 4 bits [a, b, 2c], the low half of each byte first.
static graph_value unpacked(struct graph *g, graph_value packed, int bits)
{
	graph_value x = op_cast(g, packed, DTYPE_F32);

	if (bits == 8 || g->failed)
		return x;
	graph_value high = op_floor(g, op_scale(g, x, 1 / 16.0f));
	graph_value low = op_sub(g, x, op_scale(g, high, 16));
	graph_value both[] = { op_unsqueeze(g, low, 3), op_unsqueeze(g, high, 3) }; // [a, b, c, 1] twice

	return op_reshape(g, op_concat(g, 2, both, 3), 3, (int64_t[]){ 0, 0, -1 });
}

// f32 [out, blocks, 1]
static graph_value zero_points(struct graph *g, const struct block_weight *w, int64_t blocks)
{
	if (!w->zeros.id)
		return graph_f32(g, w->bits == 4 ? 8 : 128);
	graph_value rows = op_reshape(g, w->zeros, 3, (int64_t[]){ w->out, 1, -1 });

	return op_reshape(g, op_slice(g, unpacked(g, rows, w->bits), 2, 0, blocks), 3, (int64_t[]){ w->out, blocks, 1 });
}

graph_value dequantised_blocks(struct graph *g, graph_value x, const struct block_weight *w)
{
	int64_t blocks = (w->in + w->block - 1) / w->block;
	graph_value scales = op_reshape(g, w->scales, 3, (int64_t[]){ w->out, blocks, 1 });
	graph_value blocked =
		op_mul(g, op_sub(g, unpacked(g, w->values, w->bits), zero_points(g, w, blocks)), scales); // [out, blocks, block]
	graph_value weight = op_slice(g, op_reshape(g, blocked, 2, (int64_t[]){ w->out, blocks * w->block }), 1, 0, w->in);

	return op_matmul(g, x, op_transpose(g, weight, 2, (int[]){ 1, 0 }));
}
