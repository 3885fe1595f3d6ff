// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// What the builder refuses: types, ranks, axes and bounds that the operator specification does not have, each by a sentence with
// the operator and the shapes; and the opset, which any operation may raise at any time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "onnx/cost.h"
#include "onnx/inside.h"
#include "onnx/op.h"
#include "onnx/operator.h"

static void each_operator_has_a_row(void **state)
{
	(void)state;
	for (int i = 0; i < operator_count; i++) {
		const struct operator* o = & operators[i];
		struct operator_input in = { 0 };

		assert_ptr_equal(operator_find(o->name, o->domain), o);
		assert_int_not_equal(o->cost, COST_UNSTATED);
		assert_int_equal(o->cost == COST_EACH, o->of_result + o->of_input > 0);
		assert_in_range(o->opset, 1, OPSET_MOST);
		for (int k = 0; k < operator_inputs(o); k++) {
			assert_true(operator_input(o, k, &in));
			if (!in.types || !in.words)
				fail_msg("%s: input %d has a letter without a set", o->name, k + 1);
		}
		assert_int_equal(operator_input(o, operator_inputs(o), &in), text_ends(o->inputs, "*"));
	}
}

// What has no row, and with it neither types nor a cost, cannot be emitted.
static void an_operator_without_a_row_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < operator_count; i++) // random numbers are inputs
		assert_false(text_starts(operators[i].name, "Random") || text_starts(operators[i].name, "Bernoulli"));
	struct graph *g = graph_new(NULL);
	struct error err = { 0 };
	graph_value x = graph_input(g, "x", DTYPE_F32, 1, (int64_t[]){ 4 });

	assert_int_equal(graph_node(g, "HardSwish", "", &x, 1, NULL, 0, NODE_OUTPUT(DTYPE_F32, 1, (int64_t[]){ 4 })).id, 0);
	assert_int_equal(graph_finish(g, &err), STATUS_FAILED);
	assert_non_null(strstr(err.text, "HardSwish"));
	graph_free(g);
}

static size_t read_varint(const unsigned char *at, uint64_t *out)
{
	size_t i = 0;

	for (*out = 0;; i++) {
		*out |= (uint64_t)(at[i] & 127) << 7 * i;
		if (at[i] < 128)
			return i + 1;
	}
}

// ir_version is field 1 and comes first (onnx.proto).
static int written_ir_version(struct graph *g)
{
	const void *bytes;
	size_t nbytes;
	uint64_t tag, version;
	struct error err = { 0 };

	assert_int_equal(graph_write(g, &bytes, &nbytes, &err), STATUS_OK);
	size_t at = read_varint(bytes, &tag);
	assert_int_equal(tag, 1 << 3);
	read_varint((const unsigned char *)bytes + at, &version);
	return (int)version;
}

// The axes of a mean are an attribute in opset 17 and an input from 18 on, whether Gelu, of opset 20, comes before or after it.
static void the_opset_may_be_raised_at_any_time(void **state)
{
	(void)state;
	static const struct graph_form forms[] = { { .gelu = GELU_ERF }, { .gelu = GELU_OP } };
	for (int order = 0; order < 4; order++) {
		bool raised = order & 1, first = order & 2;
		struct graph *g = graph_new(&forms[raised]);
		graph_value x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ 2, 3, 8 });
		struct graph_summary s;
		struct graph_cost c;
		struct arena a = { 0 };
		struct error err = { 0 };
		struct text t = { 0 };

		if (first)
			graph_output(g, "gelu", op_gelu(g, x));
		graph_output(g, "mean", op_reduce_mean(g, x, 1, true));
		graph_output(g, "max", op_reduce_max(g, x, -1, false));
		graph_output(g, "sum", op_reduce_sum(g, x, 0, false));
		graph_output(g, "l2", op_reduce_l2(g, x, 0, false));
		graph_value image = graph_input(g, "image", DTYPE_F32, 4, (int64_t[]){ 1, 4, 9, 9 });
		graph_value grid = graph_input(g, "grid", DTYPE_F32, 4, (int64_t[]){ 1, 5, 6, 2 });
		graph_output(g, "linear", op_grid_sample(g, image, grid, "bilinear", "zeros", false));
		graph_output(g, "cubic", op_grid_sample(g, image, grid, "bicubic", "zeros", false));
		if (!first)
			graph_output(g, "gelu", op_gelu(g, x));
		if (graph_finish(g, &err))
			fail_msg("%s", err.text);
		graph_summarise(g, &s);
		assert_int_equal(s.opset, raised ? 20 : 17);
		assert_int_equal(written_ir_version(g), raised ? 9 : 8);
		graph_text(g, &t);
		assert_int_equal(strstr(text_get(&t), "ReduceMean(x) axes=1 keepdims=1") != NULL, !raised);
		assert_int_equal(strstr(text_get(&t), "ReduceMax(x) axes=2 keepdims=0") != NULL, !raised);
		assert_int_equal(strstr(text_get(&t), "ReduceMean(x, constant.") != NULL, raised);
		assert_int_equal(strstr(text_get(&t), "ReduceMax(x, constant.") != NULL, raised);
		assert_int_equal(strstr(text_get(&t), "ReduceL2(x, constant.") != NULL, raised);
		assert_int_equal(strstr(text_get(&t), " axes=") != NULL, !raised);
		assert_non_null(strstr(text_get(&t), raised ? "(image, grid) mode=linear " : "(image, grid) mode=bilinear "));
		assert_non_null(strstr(text_get(&t), raised ? "(image, grid) mode=cubic " : "(image, grid) mode=bicubic "));
		assert_non_null(strstr(text_get(&t), "ReduceSum(x, constant."));
		graph_cost(g, &a, &c);
		assert_false(c.unknown);
		text_done(&t);
		arena_done(&a);
		graph_free(g);
	}
	struct graph *g = graph_new(NULL);
	graph_need_opset(g, OPSET_MOST + 1);
	assert_true(graph_failed(g));
	graph_free(g);
}

// Values to be refused with.
struct given {
	struct graph *g;
	graph_value x, row, i, b, h, ids, one, mark, w, w2, image, kernel, dynamic, made[2];
};

#define REFUSALS(X) \
	X("Not of i i64[2,3]: it takes bool", op_not(v->g, v->i)) \
	X("Sqrt of i i64[2,3]: it takes f16, f32, f64 or bf16", op_sqrt(v->g, v->i)) \
	X("Sin of h bf16[2,3]: it takes f16, f32 or f64", op_sin(v->g, v->h)) \
	X("Acos of i i64[2,3]: it takes f16, f32 or f64", op_acos(v->g, v->i)) \
	X("Neg of b bool[2,3]", op_neg(v->g, v->b)) \
	X("And of x f32[2,3] and x f32[2,3]: it takes bool", op_and(v->g, v->x, v->x)) \
	X("Add of b bool[2,3] and b bool[2,3]: it takes numbers", op_add(v->g, v->b, v->b)) \
	X("Mod of x f32[2,3] and x f32[2,3]: it takes integers", op_mod(v->g, v->x, v->x)) \
	X("Mod of i i64[2,3] and i i64[2,3]: it takes floats", op_fmod(v->g, v->i, v->i)) \
	X("Mod of x f32[2,3] and row f32[4]: the shapes do not broadcast", op_fmod(v->g, v->x, v->row)) \
	X("NonMaxSuppression of x f32[2,3] and x f32[2,3]", op_nms(v->g, v->x, v->x, 1, 0.5f, 0)) \
	X("Add of x f32[2,3] and i i64[2,3]: types differ", op_add(v->g, v->x, v->i)) \
	X("Mul of x f32[2,3] and row f32[4]: the shapes do not broadcast", op_mul(v->g, v->x, v->row)) \
	X("Where of x f32[2,3], x f32[2,3] and x f32[2,3]: it takes bool", op_where(v->g, v->x, v->x, v->x)) \
	X("Where of mark bool[4], x f32[2,3] and x f32[2,3]: the shapes do not broadcast", op_where(v->g, v->mark, v->x, v->x)) \
	X("MatMul of x f32[2,3] and x f32[2,3]: the shapes do not fit", op_matmul(v->g, v->x, v->x)) \
	X("MatMul of x f32[2,3] and w2 f16[3,5]: types differ", op_matmul(v->g, v->x, v->w2)) \
	X("Softmax of i i64[2,3]", op_softmax(v->g, v->i, 1)) \
	X("x f32[2,3] has rank 2: there is no axis 2", op_softmax(v->g, v->x, 2)) \
	X("ReduceMean of b bool[2,3]", op_reduce_mean(v->g, v->b, 0, true)) \
	X("TopK of x f32[2,3]: the 4 greatest", op_topk(v->g, v->x, 4)) \
	X("TopK of h bf16[2,3]", op_topk(v->g, v->h, 2)) \
	X("TopK of x f32[2,3]: the 3 least along axis 0", op_topk_indices(v->g, v->x, 3, 0, true, v->made)) \
	X("CumSum of b bool[2,3]", op_cumsum(v->g, v->b, 0)) \
	X("x f32[2,3] has rank 2: there is no axis -3", op_cumsum_from(v->g, v->x, -3, true, true)) \
	X("ReduceProd of b bool[2,3]", op_reduce_prod(v->g, v->b, 0, true)) \
	X("ReduceL2 of b bool[2,3]", op_reduce_l2(v->g, v->b, 0, true)) \
	X("Cast of x f32[2,3] to f8e4m3", op_cast(v->g, v->x, DTYPE_F8_E4M3)) \
	X("Reshape of x f32[2,3] to [4,-1]: it does not fit", op_reshape(v->g, v->x, 2, (int64_t[]){ 4, -1 })) \
	X("Reshape of x f32[2,3] to [7]: it does not fit", op_reshape(v->g, v->x, 1, (int64_t[]){ 7 })) \
	X("Reshape of x f32[2,3] to [-1,-1]: it does not fit", op_reshape(v->g, v->x, 2, (int64_t[]){ -1, -1 })) \
	X("Reshape of dynamic f32[batch,4] to [-1,-1,2]: it does not fit", \
		op_reshape(v->g, v->dynamic, 3, (int64_t[]){ -1, -1, 2 })) \
	X("Transpose of x f32[2,3]: an axis is named twice", op_transpose(v->g, v->x, 2, (int[]){ 1, 1 })) \
	X("Squeeze of x f32[2,3] at axis 1, which is not of length 1", op_squeeze(v->g, v->x, 1)) \
	X("Unsqueeze of x f32[2,3] at axis 4", op_unsqueeze(v->g, v->x, 4)) \
	X("Concat of x f32[2,3] and row f32[4] at axis 0: ranks or types differ", \
		op_concat(v->g, 2, (graph_value[]){ v->x, v->row }, 0)) \
	X("Concat of x f32[2,3] and w f32[5,4] at axis 0: dimension 1 differs", \
		op_concat(v->g, 2, (graph_value[]){ v->x, v->w }, 0)) \
	X("Slice of x f32[2,3] at axis 1 from 1 to 4", op_slice(v->g, v->x, 1, 1, 4)) \
	X("Slice of x f32[2,3] at axis 1 from 4 to", op_slice(v->g, v->x, 1, 4, INT64_MAX)) \
	X("Slice of x f32[2,3] at axis 1 from -4 to", op_slice(v->g, v->x, 1, -4, INT64_MAX)) \
	X("Slice of x f32[2,3] at axis 1 from 2 to 1", op_slice(v->g, v->x, 1, 2, 1)) \
	X("Slice of x f32[2,3] by one i64[1] and x f32[2,3]", op_slice_to(v->g, v->x, 0, v->one, v->x)) \
	X("Slice of x f32[2,3], layers.0/Slice f32[1], one i64[1] and constant.1 i64[1]: it takes i32 or i64", \
		op_slice_to(v->g, v->x, 0, op_slice(v->g, v->row, 0, 0, 1), v->one)) \
	X("Gather of x f32[2,3] and x f32[2,3]: it takes i32 or i64 as input 2", op_gather(v->g, v->x, v->x, 0)) \
	X("Gather from x f32[2,3] by constant.", op_gather(v->g, v->x, graph_i64(v->g, 2), 0)) \
	X("GatherND from x f32[2,3] by i i64[2,3], 0 dimensions of a batch", op_gather_nd(v->g, v->x, v->i, 0)) \
	X("GatherElements from x f32[2,3] by one i64[1] at axis 0", op_gather_elements(v->g, v->x, v->one, 0)) \
	X("ScatterND into x f32[2,3] by i i64[2,3] of row f32[4]: the shapes do not fit", \
		op_scatter_nd(v->g, v->x, v->i, v->row, SCATTER_REPLACE)) \
	X("ScatterND into row f32[4] by lines i64[5,1] of row f32[4]: the shapes do not fit", \
		op_scatter_nd(v->g, v->row, lines_of(v), v->row, SCATTER_REPLACE)) \
	X("ScatterND of row f32[4], i32s i32[4,1] and row f32[4]: it takes i64 as input 2", \
		op_scatter_nd(v->g, v->row, graph_input(v->g, "i32s", DTYPE_I32, 2, (int64_t[]){ 4, 1 }), v->row, SCATTER_ADD)) \
	X("ScatterElements into x f32[2,3] by i i64[2,3] of row f32[4]: the shapes do not fit", \
		op_scatter_elements(v->g, v->x, v->i, v->row, 0, SCATTER_ADD)) \
	X("ScatterElements of x f32[2,3], i i64[2,3] and h bf16[2,3]: types differ", \
		op_scatter_elements(v->g, v->x, v->i, v->h, 0, SCATTER_ADD)) \
	X("x f32[2,3] has rank 2: there is no axis 2", op_scatter_elements(v->g, v->x, v->i, v->x, 2, SCATTER_MAX)) \
	X("Split of x f32[2,3] and constant.0 i64[2] into 3 pieces", split_of(v, 0, 3)) \
	X("x f32[2,3] has rank 2: there is no axis 2", split_of(v, 2, 2)) \
	X("NonZero of constant.0 i64[]: a scalar has no indices", op_nonzero(v->g, graph_i64(v->g, 1))) \
	X("Expand of x f32[2,3] to [2,5]: dimension 1 differs", op_expand(v->g, v->x, graph_i64s(v->g, 2, (int64_t[]){ 2, 5 }))) \
	X("Range of one i64[1]", op_range(v->g, v->one, graph_i64(v->g, 3), graph_i64(v->g, 1))) \
	X("Trilu of row f32[4]: it takes matrices", op_trilu(v->g, v->row, true, 0)) \
	X("Conv of image f32[1,4,9,9] and kernel f32[6,3,3,3] in 1 groups", \
		op_conv(v->g, v->image, v->kernel, NO_VALUE, ones, none, ones, 1)) \
	X("Conv of image f32[1,4,9,9], good_kernel f32[6,4,3,3] and row f32[4]", \
		op_conv(v->g, v->image, kernel_of(v, 4), v->row, ones, none, ones, 1)) \
	X("Conv of image f32[1,4,9,9]: a kernel [3,3] in steps [1,1], padding [-1,0,0,0]", \
		op_conv(v->g, v->image, kernel_of(v, 4), NO_VALUE, ones, less, ones, 1)) \
	X("Conv of x f32[2,3] and kernel", op_conv(v->g, v->x, v->kernel, NO_VALUE, ones, none, ones, 1)) \
	X("ConvTranspose of image f32[1,4,9,9] and kernel f32[6,3,3,3]", \
		op_conv_transpose(v->g, v->image, v->kernel, NO_VALUE, 2, ones, none, 1)) \
	X("ConvTranspose of image f32[1,4,9,9] and up f32[4,3,2,2] in 1 groups over 2 dimensions: the shapes do not fit", \
		op_conv_transpose_of(v->g, v->image, up_of(v), NO_VALUE, 2, \
			&(struct conv_transpose){ .stride = ones, .pad = none, .more = ones, .group = 1 })) \
	X("GridSample of image f32[1,4,9,9] and x f32[2,3], bilinear, padded by zeros", \
		op_grid_sample(v->g, v->image, v->x, "bilinear", "zeros", false)) \
	X("GridSample of image f32[1,4,9,9] and grid f32[1,5,6,2], linear", \
		op_grid_sample(v->g, v->image, grid_of(v, 1), "linear", "zeros", false)) \
	X("GridSample of image f32[1,4,9,9] and grid f32[2,5,6,2]", \
		op_grid_sample(v->g, v->image, grid_of(v, 2), "nearest", "border", false)) \
	X("DepthToSpace of image f32[1,4,9,9] in blocks of 3", op_depth_to_space(v->g, v->image, 3, true)) \
	X("SpaceToDepth of image f32[1,4,9,9] in blocks of 2", op_space_to_depth(v->g, v->image, 2)) \
	X("RoiAlign of image f32[1,4,9,9], x f32[2,3] and one i64[1] to 2x2", \
		op_roi_align(v->g, v->image, v->x, v->one, &(struct roi_align){ .high = 2, .wide = 2, .scale = 1 })) \
	X("LSTM of x f32[2,3], gates f32[16,3] and state f32[16,4]: the shapes do not fit", rnn_of(v, v->x, 16, false)) \
	X("LSTM of steps f32[length,2,3], gates f32[12,3] and state f32[12,4]: the shapes do not fit", \
		rnn_of(v, steps_of(v), 12, false)) \
	X("GRU of steps f32[length,2,3], gates f32[16,3] and state f32[16,4]: the shapes do not fit", \
		rnn_of(v, steps_of(v), 16, true)) \
	X("LSTM in 3 directions", op_lstm(v->g, v->x, &(struct rnn){ .directions = 3 }, v->made)) \
	X("whole DFT of x f32[2,3] along axis 1: it takes [batch, .., parts]", op_dft(v->g, v->x, 1, false, false)) \
	X("whole DFT of steps f32[length,2,3] along axis 1", op_dft(v->g, steps_of(v), 1, false, false)) \
	X("whole, inverse DFT of waves f32[2,7,1] along axis 2", op_dft(v->g, waves_of(v, 1), 2, true, false)) \
	X("one-sided DFT of waves f32[2,7,2] along axis 1", op_dft(v->g, waves_of(v, 2), 1, false, true)) \
	X("STFT of dynamic f32[batch,4] and x f32[2,3] in steps of 2", op_stft(v->g, v->dynamic, v->x, 2, true)) \
	X("STFT of x f32[2,3] and row f32[4] in steps of 1: [batch, length] by [frame], which is not longer", \
		op_stft(v->g, v->x, v->row, 1, true)) \
	X("einsum ij,jk->ik of x f32[2,3] and row f32[4]: a letter for each dimension", einsum_of(v, "ij,jk->ik", v->row)) \
	X("einsum ij,kj->ik of x f32[2,3] and w f32[5,4]", einsum_of(v, "ij,kj->ik", v->w)) \
	X("einsum ii,kj->k of x f32[2,3]", einsum_of(v, "ii,kj->k", v->w)) \
	X("einsum ij,kl->im of x f32[2,3]", einsum_of(v, "ij,kl->im", v->w)) \
	X("einsum ij,kl of x f32[2,3]", einsum_of(v, "ij,kl", v->w)) \
	X("einsum ...j,kl->k of x f32[2,3]", einsum_of(v, "...j,kl->k", v->w)) \
	X("einsum ij,ij->i of 3 values", op_einsum(v->g, "ij,ij->i", 3, NULL)) \
	X("MatMul of layers.0/Reshape f32[1,6] and layers.0/Reshape_1 i64[6,1]: types differ", einsum_of(v, "ij,ij->", v->i)) \
	X("MaxPool of x f32[2,3] over 2 dimensions", op_max_pool(v->g, v->x, 2, ones, ones, none, false)) \
	X("GlobalAveragePool of x f32[2,3]", op_global_average_pool(v->g, v->x)) \
	X("BatchNormalization of image f32[1,4,9,9], one i64[1]", \
		op_batch_norm(v->g, v->image, v->one, v->one, v->one, v->one, 0)) \
	X("InstanceNormalization of image f32[1,4,9,9], row f32[4] and one i64[1]", \
		op_instance_norm(v->g, v->image, v->row, v->one, 0)) \
	X("group norm of image f32[1,4,9,9] in 3 groups", op_group_norm(v->g, v->image, 3, v->row, v->row, 0)) \
	X("Pad of x f32[2,3] at axis 1 by -2 and -2: nothing is left", op_pad(v->g, v->x, 1, -2, -2)) \
	X("Resize of x f32[2,3] by i i64[2,3], linear", op_resize(v->g, v->x, v->i, "linear")) \
	X("a linear layer of weight w f32[5,4], [out, in], meets x f32[2,3]", op_linear(v->g, v->x, v->w, NO_VALUE)) \
	X("a linear layer of weight w f32[5,4], [out, in], meets dynamic f32[batch,4] with bias row f32[4]", \
		op_linear(v->g, v->dynamic, v->w, v->row)) \
	X("Gemm of i64rows i64[2,4] and w f32[5,4]: types differ", op_linear(v->g, rows_of(v), v->w, NO_VALUE)) \
	X("LayerNormalization of x f32[2,3] and row f32[4]", op_layer_norm(v->g, v->x, v->row, NO_VALUE, 0)) \
	X("LayerNormalization of dynamic f32[batch,4], row f32[4] and one i64[1]", \
		op_layer_norm(v->g, v->dynamic, v->row, v->one, 0)) \
	X("an RMS norm of x f32[2,3] and row f32[4]", op_rms_norm(v->g, v->x, v->row, 0)) \
	X("attention of x f32[2,3], x f32[2,3] and x f32[2,3], 1 heads", \
		op_attention(v->g, &(struct attention){ v->x, v->x, v->x, .heads = 1, .scale = 1 })) \
	X("wrong: dimension 0 is -99", graph_input(v->g, "wrong", DTYPE_F32, 1, (int64_t[]){ -99 })) \
	X("w f32[5,4] is taken for f32[4,5]", graph_external(v->g, "w", DTYPE_F32, 2, (int64_t[]){ 4, 5 }, "f", 0, 80))

static const int64_t ones[] = { 1, 1 }, none[4] = { 0 }, less[] = { -1, 0, 0, 0 };

static graph_value split_of(struct given *v, int axis, int count)
{
	graph_value out[3];

	op_split(v->g, v->x, axis, graph_i64s(v->g, 2, (int64_t[]){ 1, 1 }), count, out);
	return out[0];
}

static graph_value kernel_of(struct given *v, int64_t channels)
{
	return graph_external(
		v->g, "good_kernel", DTYPE_F32, 4, (int64_t[]){ 6, channels, 3, 3 }, "f", 0, (uint64_t)(6 * channels * 9 * 4));
}

static graph_value rows_of(struct given *v)
{
	return graph_input(v->g, "i64rows", DTYPE_I64, 2, (int64_t[]){ 2, 4 });
}

// By weights of `rows` gates of 4 states.
static graph_value rnn_of(struct given *v, graph_value x, int64_t rows, bool is_gru)
{
	struct rnn r = { .directions = 1 };
	graph_value last[2];

	r.of[0].input = graph_external(v->g, "gates", DTYPE_F32, 2, (int64_t[]){ rows, 3 }, "f", 0, (uint64_t)rows * 12);
	r.of[0].hidden = graph_external(v->g, "state", DTYPE_F32, 2, (int64_t[]){ rows, 4 }, "f", 0, (uint64_t)rows * 16);
	return is_gru ? op_gru(v->g, x, &r, last) : op_lstm(v->g, x, &r, last);
}

static graph_value steps_of(struct given *v)
{
	return graph_input(v->g, "steps", DTYPE_F32, 3, (int64_t[]){ graph_symbol(v->g, "length"), 2, 3 });
}

static graph_value waves_of(struct given *v, int64_t parts)
{
	return graph_input(v->g, "waves", DTYPE_F32, 3, (int64_t[]){ 2, 7, parts });
}

static graph_value einsum_of(struct given *v, const char *equation, graph_value y)
{
	return op_einsum(v->g, equation, 2, (graph_value[]){ v->x, y });
}

static graph_value up_of(struct given *v)
{
	return graph_external(v->g, "up", DTYPE_F32, 4, (int64_t[]){ 4, 3, 2, 2 }, "f", 0, 192);
}

static graph_value grid_of(struct given *v, int64_t batch)
{
	return graph_input(v->g, "grid", DTYPE_F32, 4, (int64_t[]){ batch, 5, 6, 2 });
}

static graph_value lines_of(struct given *v)
{
	return graph_input(v->g, "lines", DTYPE_I64, 2, (int64_t[]){ 5, 1 });
}

static struct given given_new(void)
{
	struct graph *g = graph_new(NULL);
	const int64_t two_three[] = { 2, 3 };

	return (struct given){ .g = g,
		.x = graph_input(g, "x", DTYPE_F32, 2, two_three),
		.row = graph_input(g, "row", DTYPE_F32, 1, (int64_t[]){ 4 }),
		.i = graph_input(g, "i", DTYPE_I64, 2, two_three),
		.b = graph_input(g, "b", DTYPE_BOOL, 2, two_three),
		.h = graph_input(g, "h", DTYPE_BF16, 2, two_three),
		.one = graph_input(g, "one", DTYPE_I64, 1, (int64_t[]){ 1 }),
		.mark = graph_input(g, "mark", DTYPE_BOOL, 1, (int64_t[]){ 4 }),
		.w = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 5, 4 }, "f", 0, 80),
		.w2 = graph_external(g, "w2", DTYPE_F16, 2, (int64_t[]){ 3, 5 }, "f", 80, 30),
		.image = graph_input(g, "image", DTYPE_F32, 4, (int64_t[]){ 1, 4, 9, 9 }),
		.kernel = graph_external(g, "kernel", DTYPE_F32, 4, (int64_t[]){ 6, 3, 3, 3 }, "f", 0, 648),
		.dynamic = graph_input(g, "dynamic", DTYPE_F32, 2, (int64_t[]){ graph_symbol(g, "batch"), 4 }) };
}

#define X(sentence, call) +1
enum { REFUSAL_COUNT = 0 REFUSALS(X) };
#undef X

// The refusal number `which`; the sentence it shall begin with.
static const char *refuse(int which, struct given *v)
{
	int at = 0;
#define X(sentence, call) \
	if (which == at++) { \
		graph_value y = call; \
		assert_int_equal(y.id, 0); \
		return sentence; \
	}
	REFUSALS(X)
#undef X
	return NULL;
}

static void what_does_not_fit_is_refused_by_a_sentence(void **state)
{
	(void)state;
	for (int i = 0; i < REFUSAL_COUNT; i++) {
		struct given v = given_new();
		struct error err = { 0 };

		graph_enter(v.g, "layers.0");
		const char *sentence = refuse(i, &v);
		graph_leave(v.g);
		assert_int_not_equal(graph_finish(v.g, &err), STATUS_OK);
		if (strncmp(err.text, "layers.0: ", 10) || strncmp(err.text + 10, sentence, strlen(sentence)))
			fail_msg("\"%s\" where \"%s\" was expected", err.text, sentence);
		graph_free(v.g);
	}
}

// What is at the edge of the bounds passes.
static void what_fits_passes(void **state)
{
	(void)state;
	struct given v = given_new();

	assert_int_equal(value_dim(v.g, op_slice(v.g, v.x, 1, -3, -1), 1), 2);
	assert_int_equal(value_dim(v.g, op_slice(v.g, v.x, 1, 3, 3), 1), 0);
	assert_int_equal(value_rank(v.g, op_gather(v.g, v.x, graph_i64(v.g, -2), 0)), 1);
	assert_int_equal(value_dim(v.g, op_gather_elements(v.g, v.x, v.i, -1), 1), 3);
	assert_int_equal(value_dtype(v.g, op_relu(v.g, v.i)), DTYPE_I64);
	assert_int_equal(value_dtype(v.g, op_equal(v.g, v.b, v.b)), DTYPE_BOOL);
	assert_int_equal(
		value_rank(v.g, op_where(v.g, graph_input(v.g, "deep", DTYPE_BOOL, 3, (int64_t[]){ 7, 1, 3 }), v.x, v.x)), 3);
	assert_false(graph_failed(v.g));
	graph_free(v.g);
}

// What is written at indices has the shape of what it is written into, and only the greater of two updates needs opset 18.
static void scattering_keeps_the_shape(void **state)
{
	(void)state;
	for (int later = 0; later < 2; later++) {
		struct given v = given_new();
		int64_t batch = graph_symbol(v.g, "batch");
		graph_value at = graph_input(v.g, "at", DTYPE_I64, 2, (int64_t[]){ graph_symbol(v.g, "count"), 1 });
		graph_value by = graph_input(v.g, "by", DTYPE_F32, 2, (int64_t[]){ graph_symbol(v.g, "count"), 4 });
		graph_value y = op_scatter_nd(v.g, v.dynamic, at, by, later ? SCATTER_MAX : SCATTER_ADD);
		graph_value found = op_nonzero(v.g, y);
		struct graph_summary s;
		struct error err = { 0 };

		assert_int_equal(value_dim(v.g, y, 0), batch);
		assert_int_equal(value_dim(v.g, y, 1), 4);
		assert_int_equal(value_dtype(v.g, found), DTYPE_I64);
		assert_int_equal(value_dim(v.g, found, 0), 2);
		assert_true(value_dim(v.g, found, 1) < 0 && value_dim(v.g, found, 1) != batch);
		graph_value piece[2], lengths = graph_input(v.g, "lengths", DTYPE_I64, 1, (int64_t[]){ 2 });
		op_split(v.g, y, 0, lengths, 2, piece);
		assert_true(value_dim(v.g, piece[0], 0) < 0 && value_dim(v.g, piece[0], 0) != value_dim(v.g, piece[1], 0));
		assert_int_equal(value_dim(v.g, piece[1], 1), 4);
		graph_output(v.g, "y", op_scatter_elements(v.g, v.x, v.i, v.x, -1, SCATTER_REPLACE));
		graph_output(v.g, "found", found);
		if (graph_finish(v.g, &err))
			fail_msg("%s", err.text);
		graph_summarise(v.g, &s);
		assert_int_equal(s.opset, later ? 18 : 17);
		graph_free(v.g);
	}
}

// Open lengths keep their names, or get that of their formula, which is the same from both sides.
static void pictures_have_open_sizes(void **state)
{
	(void)state;
	struct graph *g = graph_new(NULL);
	int64_t batch = graph_symbol(g, "batch"), high = graph_symbol(g, "height"), wide = graph_symbol(g, "width");
	graph_value x = graph_input(g, "x", DTYPE_F32, 4, (int64_t[]){ batch, 8, high, wide });
	graph_value grid = graph_input(g, "grid", DTYPE_F32, 4, (int64_t[]){ batch, high, 5, 2 });
	graph_value rois = graph_input(g, "rois", DTYPE_F32, 2, (int64_t[]){ graph_symbol(g, "count"), 4 });
	graph_value of = graph_input(g, "of", DTYPE_I64, 1, (int64_t[]){ graph_symbol(g, "count") }), at;
	graph_value up = op_depth_to_space(g, x, 2, true), down = op_space_to_depth(g, x, 2);
	graph_value w = graph_external(g, "w", DTYPE_F32, 4, (int64_t[]){ 8, 3, 2, 2 }, "f", 0, 384);
	static const int64_t two[] = { 2, 2 };
	struct conv_transpose how = { .stride = two, .pad = none, .group = 1 };

	assert_int_equal(value_dim(g, up, 1), 2);
	assert_string_equal(graph_symbol_name(g, value_dim(g, up, 2)), "(height*2)");
	assert_int_equal(value_dim(g, op_conv_transpose_of(g, x, w, NO_VALUE, 2, &how), 3), value_dim(g, up, 3));
	how.more = ones;
	assert_string_equal(
		graph_symbol_name(g, value_dim(g, op_conv_transpose_of(g, x, w, NO_VALUE, 2, &how), 3)), "(width*2+1)");
	assert_int_equal(value_dim(g, down, 1), 32);
	assert_int_equal(value_dim(g, down, 2), value_dim(g, op_max_pool(g, x, 2, two, two, none, false), 2));
	graph_value sampled = op_grid_sample(g, x, grid, "bilinear", "zeros", false);
	assert_int_equal(value_dim(g, sampled, 0), batch);
	assert_int_equal(value_dim(g, sampled, 1), 8);
	assert_int_equal(value_dim(g, sampled, 2), high);
	assert_int_equal(value_dim(g, sampled, 3), 5);
	graph_value cells = op_roi_align(g, x, rois, of, &(struct roi_align){ .high = 2, .wide = 3, .scale = 1 });
	assert_int_equal(value_dim(g, cells, 0), graph_symbol(g, "count"));
	assert_int_equal(value_dim(g, cells, 3), 3);
	graph_value most = op_topk_indices(g, x, 9, 2, false, &at);
	assert_int_equal(value_dtype(g, at), DTYPE_I64);
	assert_int_equal(value_dim(g, most, 2), 9);
	assert_int_equal(value_dim(g, at, 3), wide);
	assert_false(graph_failed(g));
	graph_free(g);
}

static struct rnn_weights biased(struct graph *g, const char *name, int64_t rows)
{
	const uint64_t n = (uint64_t)rows * 4;

	return (struct rnn_weights){
		graph_external(
			g, arena_printf(graph_arena(g), "%s.ih", name), DTYPE_F32, 2, (int64_t[]){ rows, 3 }, "f", 0, 3 * n),
		graph_external(
			g, arena_printf(graph_arena(g), "%s.hh", name), DTYPE_F32, 2, (int64_t[]){ rows, 4 }, "f", 0, 4 * n),
		graph_external(g, arena_printf(graph_arena(g), "%s.bi", name), DTYPE_F32, 1, &rows, "f", 0, n),
		graph_external(g, arena_printf(graph_arena(g), "%s.bh", name), DTYPE_F32, 1, &rows, "f", 0, n),
	};
}

// Both directions side by side, a state for each; arithmetic in 16 bits leaves the recurrence in float32.
static void recurrences_keep_their_lengths(void **state)
{
	(void)state;
	for (int half = 0; half < 2; half++) {
		struct graph *g =
			graph_new(&(struct graph_form){ .precise.precision = half ? PRECISION_FLOAT16 : PRECISION_FLOAT32 });
		int64_t length = graph_symbol(g, "length"), batch = graph_symbol(g, "batch");
		graph_value x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ length, batch, 3 }), last[2];
		struct rnn r = { .directions = 2, .of = { biased(g, "f", 16), biased(g, "b", 16) } };
		graph_value y = op_lstm(g, x, &r, last);
		struct rnn next = { .directions = 1, .of = { biased(g, "g", 12) }, .h = op_slice(g, last[0], 0, 0, 1) };
		struct error err = { 0 };
		struct text t = { 0 };

		assert_int_equal(value_rank(g, y), 3);
		assert_int_equal(value_dim(g, y, 0), length);
		assert_int_equal(value_dim(g, y, 1), batch);
		assert_int_equal(value_dim(g, y, 2), 8);
		assert_int_equal(value_dim(g, last[1], 0), 2);
		assert_int_equal(value_dim(g, last[1], 1), batch);
		assert_int_equal(value_dim(g, last[1], 2), 4);
		graph_output(g, "y", y);
		graph_output(g, "z", op_gru(g, x, &next, last));
		assert_int_equal(value_dim(g, last[0], 0), 1);
		if (graph_finish(g, &err))
			fail_msg("%s", err.text);
		graph_text(g, &t);
		assert_non_null(
			strstr(text_get(&t), " hidden_size=4 direction=bidirectional : f32[length,2,batch,4], f32[2,batch,4]"));
		assert_non_null(
			strstr(text_get(&t), " hidden_size=4 direction=forward linear_before_reset=1 : f32[length,1,batch,4]"));
		text_done(&t);
		graph_free(g);
	}
}

// Lengths of frequencies and frames are formulas of what is open, numbers where it is not. The axis of a DFT is an attribute, and
// in opset 20 an input.
static void transforms_know_their_lengths(void **state)
{
	(void)state;
	for (int later = 0; later < 2; later++) {
		struct graph *g = graph_new(NULL);
		int64_t batch = graph_symbol(g, "batch"), samples = graph_symbol(g, "samples");
		graph_value x = graph_input(g, "x", DTYPE_F32, 2, (int64_t[]){ batch, samples });
		graph_value z = graph_input(g, "z", DTYPE_F32, 4, (int64_t[]){ batch, 7, samples, 1 });
		graph_value window = graph_input(g, "window", DTYPE_F32, 1, (int64_t[]){ 10 });
		graph_value y = op_stft(g, x, window, 4, true), half = op_dft(g, z, 2, false, true),
			    whole = op_dft(g, z, 1, true, false);
		struct error err = { 0 };
		struct text t = { 0 };

		assert_int_equal(value_dim(g, y, 0), batch);
		assert_int_equal(value_dim(g, y, 1), 6);
		assert_string_equal(graph_symbol_name(g, value_dim(g, y, 2)), "((samples-10)/4+1)");
		assert_int_equal(value_dim(g, y, 3), 2);
		assert_int_equal(value_dim(g, half, 1), 7);
		assert_string_equal(graph_symbol_name(g, value_dim(g, half, 2)), "((samples+0)/2+1)");
		assert_int_equal(value_dim(g, whole, 2), samples);
		assert_int_equal(value_dim(g, whole, 3), 2);
		if (later)
			graph_need_opset(g, 20);
		graph_output(g, "y", y);
		graph_output(g, "half", half);
		graph_output(g, "whole", whole);
		if (graph_finish(g, &err))
			fail_msg("%s", err.text);
		graph_text(g, &t);
		assert_int_equal(strstr(text_get(&t), "DFT(z) axis=1 inverse=1 : ") != NULL, !later);
		assert_int_equal(strstr(text_get(&t), "DFT(z, -, constant.") != NULL, later);
		text_done(&t);
		graph_free(g);
	}
}

// A sum over one letter between matrices is a MatMul alone; what is open keeps its name.
static void sums_are_products(void **state)
{
	(void)state;
	struct graph *g = graph_new(NULL);
	int64_t batch = graph_symbol(g, "batch"), length = graph_symbol(g, "length"), keys = graph_symbol(g, "keys");
	graph_value q = graph_input(g, "q", DTYPE_F32, 4, (int64_t[]){ batch, 2, length, 8 });
	graph_value k = graph_input(g, "k", DTYPE_F32, 4, (int64_t[]){ batch, 2, keys, 8 });
	graph_value w = graph_external(g, "w", DTYPE_F32, 3, (int64_t[]){ 2, 8, 5 }, "f", 0, 320);
	graph_value scores = op_einsum(g, "bhid,bhjd->bhij", 2, (graph_value[]){ q, k });
	graph_value joined = op_einsum(g, "bhid,hdm->mbi", 2, (graph_value[]){ q, w });
	graph_value alone = op_einsum(g, "bhid->ib", 1, &q), all = op_einsum(g, "bhid,bhid->", 2, (graph_value[]){ q, q });
	struct error err = { 0 };
	struct text t = { 0 };

	assert_int_equal(value_rank(g, scores), 4);
	assert_int_equal(value_dim(g, scores, 0), batch);
	assert_int_equal(value_dim(g, scores, 2), length);
	assert_int_equal(value_dim(g, scores, 3), keys);
	assert_int_equal(value_dim(g, joined, 0), 5);
	assert_int_equal(value_dim(g, joined, 1), batch);
	assert_int_equal(value_dim(g, joined, 2), length);
	assert_int_equal(value_dim(g, alone, 0), length);
	assert_int_equal(value_dim(g, alone, 1), batch);
	assert_int_equal(value_rank(g, all), 0);
	graph_output(g, "scores", scores);
	if (graph_finish(g, &err))
		fail_msg("%s", err.text);
	graph_text(g, &t);
	assert_non_null(strstr(text_get(&t), "= MatMul(q, Transpose"));
	assert_null(strstr(text_get(&t), "Reshape"));
	text_done(&t);
	graph_free(g);
}

// Convolutions of opset 17 take no bfloat16: brought to it, a graph has them in float32.
static void halves_keep_to_what_operators_take(void **state)
{
	(void)state;
	for (int b = 0; b < 2; b++) {
		struct graph_form form = { .precise.precision = b ? PRECISION_BFLOAT16 : PRECISION_FLOAT16 };
		struct graph *g = graph_new(&form);
		graph_value x = graph_input(g, "x", DTYPE_F32, 4, (int64_t[]){ 1, 4, 9, 9 });
		graph_value w = graph_external(g, "w", DTYPE_F32, 4, (int64_t[]){ 6, 4, 3, 3 }, "f", 0, 864);
		graph_value y = op_conv(g, x, w, NO_VALUE, ones, none, ones, 1);
		graph_value k = graph_external(g, "k", DTYPE_F32, 2, (int64_t[]){ 5, 7 }, "f", 864, 140);
		struct error err = { 0 };
		struct text t = { 0 };

		graph_output(g, "y", op_linear(g, op_max_pool(g, y, 2, ones, ones, none, false), k, NO_VALUE));
		if (graph_finish(g, &err))
			fail_msg("%s", err.text);
		graph_text(g, &t);
		assert_int_equal(strstr(text_get(&t), "group=1 : f32[1,6,7,7]") != NULL, b);
		assert_int_equal(strstr(text_get(&t), "group=1 : f16[1,6,7,7]") != NULL, !b);
		assert_int_equal(strstr(text_get(&t), "ceil_mode=0 : f32[") != NULL, b);
		text_done(&t);
		graph_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operator_has_a_row),
		cmocka_unit_test(an_operator_without_a_row_is_refused),
		cmocka_unit_test(the_opset_may_be_raised_at_any_time),
		cmocka_unit_test(what_does_not_fit_is_refused_by_a_sentence),
		cmocka_unit_test(what_fits_passes),
		cmocka_unit_test(scattering_keeps_the_shape),
		cmocka_unit_test(pictures_have_open_sizes),
		cmocka_unit_test(recurrences_keep_their_lengths),
		cmocka_unit_test(transforms_know_their_lengths),
		cmocka_unit_test(sums_are_products),
		cmocka_unit_test(halves_keep_to_what_operators_take),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
