// SPDX-License-Identifier: Apache-2.0
// Operations. Each adds nodes under the current scope and returns the result; shapes beside each are what it expects.
// Broadcasting is numpy's. An axis may be negative.
#ifndef ASSAY_ONNX_OP_H
#define ASSAY_ONNX_OP_H

#include "onnx/graph.h"

graph_value op_add(struct graph *g, graph_value a, graph_value b);
graph_value op_sub(struct graph *g, graph_value a, graph_value b);
graph_value op_mul(struct graph *g, graph_value a, graph_value b);
graph_value op_div(struct graph *g, graph_value a, graph_value b);
graph_value op_pow(struct graph *g, graph_value a, graph_value b);
graph_value op_max(struct graph *g, graph_value a, graph_value b);
graph_value op_min(struct graph *g, graph_value a, graph_value b);
graph_value op_mod(struct graph *g, graph_value a, graph_value b);  // of integers; its sign is b's
graph_value op_fmod(struct graph *g, graph_value a, graph_value b); // its sign is a's, as C's
graph_value op_scale(struct graph *g, graph_value x, float factor); // x itself when factor is 1
graph_value op_neg(struct graph *g, graph_value x);
graph_value op_abs(struct graph *g, graph_value x);
graph_value op_sqrt(struct graph *g, graph_value x);
graph_value op_exp(struct graph *g, graph_value x);
graph_value op_log(struct graph *g, graph_value x);
graph_value op_floor(struct graph *g, graph_value x);
graph_value op_sin(struct graph *g, graph_value x);
graph_value op_cos(struct graph *g, graph_value x);
graph_value op_acos(struct graph *g, graph_value x); // of -1 to 1: 0 to pi
graph_value op_tanh(struct graph *g, graph_value x);
graph_value op_sigmoid(struct graph *g, graph_value x);
graph_value op_erf(struct graph *g, graph_value x);
graph_value op_relu(struct graph *g, graph_value x);
graph_value op_softplus(struct graph *g, graph_value x);
graph_value op_not(struct graph *g, graph_value x);
graph_value op_and(struct graph *g, graph_value a, graph_value b);
graph_value op_or(struct graph *g, graph_value a, graph_value b);
graph_value op_equal(struct graph *g, graph_value a, graph_value b);
graph_value op_less(struct graph *g, graph_value a, graph_value b);
graph_value op_less_or_equal(struct graph *g, graph_value a, graph_value b);
graph_value op_greater(struct graph *g, graph_value a, graph_value b);
graph_value op_where(struct graph *g, graph_value condition, graph_value a, graph_value b);
graph_value op_cast(struct graph *g, graph_value x, enum dtype t); // x itself when it has that type

graph_value op_matmul(struct graph *g, graph_value a, graph_value b); // [.., m, k] x [.., k, n]
graph_value op_softmax(struct graph *g, graph_value x, int axis);
graph_value op_reduce_mean(struct graph *g, graph_value x, int axis, bool keep);
graph_value op_reduce_sum(struct graph *g, graph_value x, int axis, bool keep);
graph_value op_reduce_max(struct graph *g, graph_value x, int axis, bool keep);
graph_value op_reduce_min(struct graph *g, graph_value x, int axis, bool keep);
graph_value op_reduce_prod(struct graph *g, graph_value x, int axis, bool keep);
graph_value op_reduce_l2(struct graph *g, graph_value x, int axis, bool keep); // the root of the sum of squares
graph_value op_cumsum(struct graph *g, graph_value x, int axis);
// exclusive: of what stands before each alone; reverse: from the end.
graph_value op_cumsum_from(struct graph *g, graph_value x, int axis, bool exclusive, bool reverse);
graph_value op_argmax(struct graph *g, graph_value x, int axis, bool keep);
graph_value op_topk(struct graph *g, graph_value x, int64_t k); // the k greatest of the last axis, falling: [.., k]
// The k greatest of an axis, falling, or the k least, rising; *indices: i64, where on the axis each stands. Of equals the first.
graph_value op_topk_indices(struct graph *g, graph_value x, int64_t k, int axis, bool least, graph_value *indices);

graph_value op_reshape(struct graph *g, graph_value x, int count, const int64_t *dim); // 0 keeps a dimension, -1 is the rest
graph_value op_reshape_to(struct graph *g, graph_value x, graph_value shape);          // shape: i64 [r], r known
graph_value op_transpose(struct graph *g, graph_value x, int rank, const int *perm);
graph_value op_unsqueeze(struct graph *g, graph_value x, int axis);
graph_value op_squeeze(struct graph *g, graph_value x, int axis);
graph_value op_concat(struct graph *g, int count, const graph_value *x, int axis);
// x cut along an axis into `count` pieces, in out; lengths i64 [count]: only the run knows them. Arithmetic and memory are
// counted as if they differed by 1 at most.
void op_split(struct graph *g, graph_value x, int axis, graph_value lengths, int count, graph_value *out);
graph_value op_slice(struct graph *g, graph_value x, int axis, int64_t begin, int64_t end);            // INT64_MAX: to the end
graph_value op_slice_to(struct graph *g, graph_value x, int axis, graph_value begin, graph_value end); // i64 [1] each
graph_value op_gather(struct graph *g, graph_value table, graph_value indices, int axis);
graph_value op_gather_nd(struct graph *g, graph_value x, graph_value indices, int batch_dims);
graph_value op_gather_elements(
	struct graph *g, graph_value x, graph_value indices, int axis); // of the same rank; the result has the shape of indices
// What `updates` adds to is what stands at its indices; which of several updates of one place replaces it is not said.
enum scatter_sum { SCATTER_REPLACE, SCATTER_ADD, SCATTER_MULTIPLY, SCATTER_MAX, SCATTER_MIN }; // the last two: opset 18
// x with updates [i.., x after the depth] in the places that indices i64 [i.., depth] name.
graph_value op_scatter_nd(struct graph *g, graph_value x, graph_value indices, graph_value updates, enum scatter_sum sum);
// indices and updates: of one shape, and of the rank of x; along `axis` an index says where, elsewhere the place itself.
graph_value op_scatter_elements(
	struct graph *g, graph_value x, graph_value indices, graph_value updates, int axis, enum scatter_sum sum);
graph_value op_nonzero(struct graph *g, graph_value x); // i64 [rank of x, count], in the order of the elements; rank 1 at least
graph_value op_expand(struct graph *g, graph_value x, graph_value shape);
graph_value op_shape(struct graph *g, graph_value x);                                        // i64 [rank]; folded when static
graph_value op_dim(struct graph *g, graph_value x, int axis);                                // i64 [1]; folded when static
graph_value op_range(struct graph *g, graph_value begin, graph_value end, graph_value step); // i64 scalars; [n]
graph_value op_trilu(struct graph *g, graph_value x, bool upper, int64_t k);

// op_image.c: convolutions, pools and norms over [batch, channels, spatial..]. pad: begin.., end..; NULL: as much as makes the
// result ceil(n / stride) long, half of it before (TensorFlow's SAME). A symbol's name becomes a formula: "(height-1)/2+1".
graph_value op_conv(struct graph *g, graph_value x, graph_value w, graph_value b, const int64_t *stride, const int64_t *pad,
	const int64_t *dilation, int64_t group); // w [out, in/group, kernel..]
graph_value op_conv_transpose(struct graph *g, graph_value x, graph_value w, graph_value b, int spatial, const int64_t *stride,
	const int64_t *pad,
	int64_t group); // w [in, out/group, ..]
// The same with what torch's ConvTranspose has besides: n becomes (n-1)*stride + dilation*(kernel-1) + 1 + more - padding.
struct conv_transpose {
	const int64_t *stride, *pad;
	const int64_t *dilation, *more; // NULL: ones; zeros. more: output_padding, less than the stride or the dilation
	int64_t group;
};
graph_value op_conv_transpose_of(
	struct graph *g, graph_value x, graph_value w, graph_value b, int spatial, const struct conv_transpose *how);
graph_value op_max_pool(struct graph *g, graph_value x, int spatial, const int64_t *kernel, const int64_t *stride,
	const int64_t *pad, bool ceil_mode);
graph_value op_average_pool(struct graph *g, graph_value x, int spatial, const int64_t *kernel, const int64_t *stride,
	const int64_t *pad, bool ceil_mode, bool count_pad);
graph_value op_global_average_pool(struct graph *g, graph_value x); // [batch, channels, 1..]
graph_value op_batch_norm(struct graph *g, graph_value x, graph_value weight, graph_value bias, graph_value mean,
	graph_value variance, float epsilon); // by stored statistics
graph_value op_group_norm(struct graph *g, graph_value x, int64_t groups, graph_value weight, graph_value bias, float epsilon);
graph_value op_instance_norm(struct graph *g, graph_value x, graph_value weight, graph_value bias,
	float epsilon); // [batch, channels, ..]: each channel of each
graph_value op_pad(struct graph *g, graph_value x, int axis, int64_t before, int64_t after); // zeros; less than 0 takes away
// mode: nearest, linear, cubic, as torch's interpolate(align_corners=False); sizes i64 [rank].
graph_value op_resize(struct graph *g, graph_value x, graph_value sizes, const char *mode);
graph_value op_resize_corners(struct graph *g, graph_value x, graph_value sizes, const char *mode); // align_corners=True

// [n, c, h, w] read at grid [n, a, b, 2], places (x, y) between -1 and 1: [n, c, a, b], as torch's grid_sample. mode: bilinear,
// nearest, bicubic, for which opset 20 has other words (graph_finish puts them); padding: zeros, border, reflection.
graph_value op_grid_sample(
	struct graph *g, graph_value x, graph_value grid, const char *mode, const char *padding, bool align_corners);
// [n, c*block*block, h, w] to [n, c, h*block, w*block] and back. Of the many channels, those of one place in the block stand
// together (DCR), or with column_row_depth those of one of c (CRD), as in torch's pixel_shuffle.
graph_value op_depth_to_space(struct graph *g, graph_value x, int64_t block, bool column_row_depth);
graph_value op_space_to_depth(struct graph *g, graph_value x, int64_t block); // DCR
// Means over regions: rois [count, 4] of x1, y1, x2, y2 in the picture, batch i64 [count] says of which: [count, c, high, wide].
// samples: of each cell of the result, along each side; 0: as many as it has places. As torchvision's roi_align.
struct roi_align {
	int64_t high, wide, samples;
	float scale;  // of a picture's place to one of x
	bool aligned; // half a place to the left and up: later versions
};
graph_value op_roi_align(struct graph *g, graph_value x, graph_value rois, graph_value batch, const struct roi_align *how);

// Boxes [n, count, 4] of two corners (y, x) or (x, y) each, scores [n, c, count]: i64 [taken, 3] of (n, c, box). For each n and c
// at most `most`, by falling score, of those above `least`; none that shares more than `overlap` (intersection over union) with
// one before.
graph_value op_nms(struct graph *g, graph_value boxes, graph_value scores, int64_t most, float overlap, float least);

// op_rnn.c: LSTM and GRU over x [length, batch, in], by weights as torch's checkpoints hold them, whose rows are the gates i, f,
// g, o of an LSTM and r, z, n of a GRU. A second direction goes from the end to the beginning.
struct rnn_weights {
	graph_value input, hidden;           // [gates*hidden, in], [gates*hidden, hidden]
	graph_value input_bias, hidden_bias; // [gates*hidden] each; NO_VALUE: all are without
};
struct rnn {
	int directions; // 1 or 2
	struct rnn_weights of[2];
	graph_value h, c; // states before the first step, [directions, batch, hidden]; NO_VALUE: zeros. c: of an LSTM
};
// [length, batch, directions*hidden]; last: the states after the last step, h and c, [directions, batch, hidden].
graph_value op_lstm(struct graph *g, graph_value x, const struct rnn *r, graph_value last[2]);
graph_value op_gru(struct graph *g, graph_value x, const struct rnn *r, graph_value *last);

// op_signal.c: Fourier transforms. Complex numbers are two on the last axis, real and imaginary; real ones may be one.
// x [batch, .., parts] along an axis between the first and the last: [batch, .., 2]. One-sided: of n real numbers the n/2 + 1
// results that differ. The inverse divides by n. As numpy's fft, ifft, rfft.
graph_value op_dft(struct graph *g, graph_value x, int axis, bool inverse, bool onesided);
// x [batch, length] cut into frames of the window's length, each `step` after the one before, none beyond the end, and
// multiplied with window [frame]: [batch, frequencies, frames, 2]. As torch's stft(center=False).
graph_value op_stft(struct graph *g, graph_value x, graph_value window, int64_t step, bool onesided);

// op_einsum.c: numpy's einsum of one or two values, "bhid,bhjd->bhij", by Transpose, Reshape, ReduceSum and MatMul, which every
// engine knows. A letter is a dimension and stands once in each value; the result follows "->". No "..." and no blanks.
graph_value op_einsum(struct graph *g, const char *equation, int count, const graph_value *x);

// scan.c: a loop over one axis, whose body is what is built between begin and end. It reads what it is given, its own values,
// weights and constants, and nothing else.
//
//	struct scan s = { .state_count = 1, .first = { h0 }, .over_count = 2, .over = { a, b }, .axis = 1 };
//	op_scan_begin(g, &s);
//	graph_value h = op_add(g, op_mul(g, s.item[0], s.state[0]), s.item[1]);
//	op_scan_end(g, &s, &h, 1, &h);                    s.last[0]: the last h; s.all[0]: every h, on axis 1
enum { SCAN_MOST = 6 };
struct scan {
	int state_count, over_count, axis;             // axis: of `over` and of `all`
	graph_value first[SCAN_MOST];                  // states before the first run
	graph_value over[SCAN_MOST];                   // all of one length on the axis
	graph_value state[SCAN_MOST], item[SCAN_MOST]; // in the body; an item is without the axis
	graph_value last[SCAN_MOST], all[SCAN_MOST];   // what comes out; NO_VALUE after an error
	int body;
};
void op_scan_begin(struct graph *g, struct scan *s);
// next: [state_count], of the states' types and shapes; `given` of each run become `all`. At most 3 values together.
void op_scan_end(struct graph *g, struct scan *s, const graph_value *next, int given_count, const graph_value *given);

// control.c: what is built after begin is a branch, or the body of a loop, as in scan.c; it may read what stands around it, too.
//
//	struct branches b = { .condition = is_long };
//	op_if_begin(g, &b);
//	graph_value y = op_mul(g, x, half);
//	op_if_else(g, &b, 1, &y);
//	op_if_end(g, &b, &x);                             b.given[0]: x * half where the condition holds, else x
struct branches {
	graph_value condition; // one bool
	graph_value given[3];  // a length that differs between the branches is not known; NO_VALUE after an error
	int body[2], count;
};
void op_if_begin(struct graph *g, struct branches *b);
void op_if_else(struct graph *g, struct branches *b, int count, const graph_value *then); // 1 to 3 values
void op_if_end(struct graph *g, struct branches *b, const graph_value *otherwise);        // as many, of the same types and ranks

//	struct loop l = { .runs = n, .state_count = 1, .first = { x } };
//	op_loop_begin(g, &l);
//	graph_value y = op_mul(g, l.state[0], half);
//	op_loop_end(g, &l, NO_VALUE, &y, 1, &y);          l.last[0]: the last y; l.all[0]: every y, on a new first axis
enum { LOOP_MOST = 3 };
struct loop {
	graph_value runs;   // i64 scalar, how often at most; NO_VALUE: until the condition ends it
	graph_value begins; // bool scalar, whether there is a first run, which arithmetic is counted without; NO_VALUE: yes
	int state_count;
	graph_value first[LOOP_MOST]; // states before the first run
	graph_value number, again;    // in the body: i64 scalar, of the run, from 0; bool scalar, what it goes on by
	graph_value state[LOOP_MOST];
	graph_value last[LOOP_MOST], all[LOOP_MOST]; // what comes out; NO_VALUE after an error
	int body;
};
void op_loop_begin(struct graph *g, struct loop *l);
// again: bool scalar, whether another run follows; NO_VALUE: as often as `runs` says. next: [state_count], of the states' types
// and shapes; `given` of each run become `all`. At most 3 values together.
void op_loop_end(
	struct graph *g, struct loop *l, graph_value again, const graph_value *next, int given_count, const graph_value *given);

// choose.c: which of x [a, b, c, n] are the `top` greatest of the last axis, or all where there are fewer: bool, of its shape.
// count i64, broadcastable to [a, b, c, 1]: so many of a row, the first, are compared, and -FLT_MAX stands behind them; NO_VALUE:
// all. Of equals the first; with graph_form.torch_ties, where they are 0, those that torch.topk has.
graph_value op_choose(struct graph *g, graph_value x, graph_value count, int64_t top);

// fused.c: operations with more than one form; graph_form decides.
// y[.., out] = x[.., in] w^T + b, w as checkpoints hold it: [out, in]. b may be NO_VALUE. Owns how a stored weight meets an
// activation: no other code writes Transpose next to a weight, because engines then fold a full copy (docs/DECISIONS.md).
graph_value op_linear(struct graph *g, graph_value x, graph_value w, graph_value b);
graph_value op_linear_in_out(struct graph *g, graph_value x, graph_value w, graph_value b); // for a weight that lies as [in, out]
graph_value op_linear_last(struct graph *g, graph_value x, graph_value w,
	graph_value b); // the model's last layer: precisions may leave it as it is stored
graph_value op_linear_output(struct graph *g, graph_value x, graph_value w,
	graph_value b); // the same, for what becomes an output of the graph at once
graph_value op_layer_norm(
	struct graph *g, graph_value x, graph_value weight, graph_value bias, float epsilon); // over the last axis
graph_value op_rms_norm(struct graph *g, graph_value x, graph_value weight, float epsilon);   // over the last axis
graph_value op_gelu(struct graph *g, graph_value x);                                          // exact, by erf
graph_value op_gelu_tanh(struct graph *g, graph_value x);                                     // the tanh approximation
graph_value op_silu(struct graph *g, graph_value x);
// Scaled dot-product attention, the result [batch, seq, heads*width].
struct attention {
	graph_value q, k, v; // [batch, seq, heads*width], k and v [batch, keys, kv_heads*width] or as a cache holds them, [batch,
			     // kv_heads, keys, width]
	graph_value bias;    // added to the scores, broadcastable to [batch, heads, seq, keys]; NO_VALUE: none
	graph_value sink;    // [heads]: one more score a head, that attends to nothing; NO_VALUE: none
	int64_t heads, kv_heads; // kv_heads 0: as many as heads
	float scale, softcap;    // of the scores; softcap c > 0 makes them c*tanh(scores/c)
};
graph_value op_attention(struct graph *g, const struct attention *a);
// com.microsoft.RotaryEmbedding: of x [batch, seq, heads*width] the first elements of each head, turned. block/rope.c builds the
// same of ten operators.
struct rotation {
	graph_value cos, sin; // [rows, dim / 2], dim elements of a head are turned
	graph_value places;   // i64: [batch, seq], the row of each token, or [1], that of the first one, in each row of the batch
	int64_t heads;
	bool interleaved; // pairs are neighbours; else halves
};
graph_value op_rotary(struct graph *g, graph_value x, const struct rotation *r);
// com.microsoft.GroupQueryAttention: causal attention over a buffer that holds keys and values of at most `room` tokens. Those of
// the new tokens are written into it after each row's past, in place where the engine is given the same memory for past and
// present. Rows may be of different lengths; their new tokens are the last ones, and nothing stands before the first.
struct shared_attention {
	graph_value q, k, v;              // [batch, seq, heads*width], [batch, seq, kv_heads*width] twice: of the new tokens
	graph_value past_key, past_value; // [batch, kv_heads, room, width]
	graph_value last, total; // i32 [batch]: the place of each row's last token; i32 scalar: how long the longest row is
	graph_value sink;        // [heads], as above; NO_VALUE: none
	int64_t heads, kv_heads, window; // window 0: none; else a query sees itself and the window - 1 before it
	float scale, softcap;
};
// Result [batch, seq, heads*width]; the widths are multiples of 8.
graph_value op_group_query_attention(
	struct graph *g, const struct shared_attention *a, graph_value *present_key, graph_value *present_value);
graph_value op_softcap(struct graph *g, graph_value x, float cap); // x itself when cap is 0

#endif
