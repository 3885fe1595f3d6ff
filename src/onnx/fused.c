// SPDX-License-Identifier: Apache-2.0
// Operations with more than one form. Which one an engine runs best was measured (the table in platform/platform.c); a platform's
// row says it, graph_form carries it here. Every form computes the same numbers.
#include "onnx/op.h"
#include "onnx/inside.h"
#include "onnx/reduced.h"

#include <math.h>
#include <string.h>

bool graph_has_rows(const struct graph *g, graph_value x)
{
	return x.id && g->values[x.id].rows.id;
}

graph_value graph_rows(struct graph *g, graph_value x)
{
	if (!graph_alive(g, x) || value_rank(g, x) == 2)
		return x;
	if (graph_has_rows(g, x))
		return VALUE(g, x)->rows;
	graph_value rows = op_reshape(g, x, 2, (int64_t[]){ -1, value_dim(g, x, -1) });
	if (g->failed)
		return NO_VALUE;
	if (VALUE(g, x)->body == g->in_body) // rows made in a body are no rows around it
		VALUE(g, x)->rows = rows;
	return rows;
}

// With one unknown dimension Reshape finds it; more are read off where they came from (op_dim).
graph_value graph_from_rows(struct graph *g, graph_value rows, int rank, const int64_t *dim)
{
	if (!graph_alive(g, rows) || rank == 2)
		return rows;
	int unknown = 0;
	int64_t shape[TENSOR_MAX_RANK];
	graph_value parts[TENSOR_MAX_RANK], x;
	for (int i = 0; i < rank; i++)
		unknown += dim[i] < 0, shape[i] = dim[i] < 0 ? -1 : dim[i];
	if (unknown <= 1) {
		x = op_reshape(g, rows, rank, shape);
		if (!g->failed)
			memcpy(VALUE(g, x)->dim, dim,
				(size_t)rank * sizeof *dim); // the product of rows has forgotten which symbol it was
	} else {
		// Of a cut whose length has no name nothing may be left: then 0 means 0 and not "as before".
		bool may_be_empty = false;
		for (int i = 0; i < rank; i++)
			may_be_empty |= dim[i] < 0 && !graph_symbol_name(g, dim[i]);
		for (int i = 0; i < rank; i++)
			parts[i] = dim[i] < 0 ? g->symbol_values[-1 - dim[i]] : graph_i64s(g, 1, &dim[i]);
		graph_value to = op_concat(g, rank, parts, 0);
		x = graph_node(g, "Reshape", "", (graph_value[]){ rows, to }, 2, (struct attribute[]){ ATTR_I("allowzero", 1) },
			may_be_empty, NODE_OUTPUT(value_dtype(g, rows), rank, dim));
	}
	if (!g->failed)
		VALUE(g, x)->rows = rows;
	return x;
}

// Is this absent, or one number for each of `length`?
static bool vector_fits(const struct graph *g, graph_value v, int64_t length)
{
	return !v.id || (value_rank(g, v) == 1 && (value_dim(g, v, 0) == length || value_dim(g, v, 0) < 0 || length < 0));
}

// x [.., in], w with `in` at dimension in_at, b [out] or NO_VALUE; false after a refusal.
static bool linear_fits(struct graph *g, graph_value x, graph_value w, graph_value b, int in_at)
{
	const struct value_info v = *VALUE(g, x), k = *VALUE(g, w);
	bool fits = k.rank == 2 && v.rank >= 2 && (v.dim[v.rank - 1] < 0 || v.dim[v.rank - 1] == k.dim[in_at]) &&
		vector_fits(g, b, k.dim[1 - in_at]);

	if (!fits)
		graph_fail(g, STATUS_FAILED, "a linear layer of weight %s, %s, meets %s%s%s", graph_value_text(g, w),
			in_at ? "[out, in]" : "[in, out]", graph_value_text(g, x), b.id ? " with bias " : "",
			b.id ? graph_value_text(g, b) : "");
	return fits;
}

// A weight is stored [out, in] and an activation is [.., in]:
//
//     LINEAR_GEMM                 x --Reshape [-1, in]--> Gemm(transB) --Reshape [.., out]-->       bias inside the Gemm
//     LINEAR_FUSED_MATMUL         x --com.microsoft.FusedMatMul(transB)--> Add(bias)
//     LINEAR_MATMUL_TRANSPOSED    x --MatMul(Transpose(w))--> Add(bias)
//
// The last makes ONNX Runtime fold a copy of every weight at load: it is for engines that map it onto one kernel anyway.
graph_value op_linear(struct graph *g, graph_value x, graph_value w, graph_value b)
{
	if (!graph_alive(g, x) || !graph_alive(g, w))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x), k = *VALUE(g, w);
	if (!linear_fits(g, x, w, b, 1))
		return NO_VALUE;
	graph_value y;
	if (linear_reduced(g, x, w, b, false, &y))
		return y;
	int64_t dim[TENSOR_MAX_RANK];
	memcpy(dim, v.dim, sizeof dim);
	dim[v.rank - 1] = k.dim[0];
	if (g->form.linear == LINEAR_GEMM || (v.rank == 2 && g->form.linear == LINEAR_FUSED_MATMUL)) {
		for (int i = 0; i < v.rank - 1; i++)
			op_dim(g, x, i); // so that the way back is known
		graph_value rows = graph_rows(g, x);
		if (g->failed)
			return NO_VALUE;
		int64_t shape[2] = { value_dim(g, rows, 0), k.dim[0] };
		y = graph_node(g, "Gemm", "", (graph_value[]){ rows, w, b }, b.id ? 3 : 2,
			(struct attribute[]){ ATTR_I("transB", 1) }, 1, NODE_OUTPUT(v.dtype, 2, shape));
		return graph_from_rows(g, y, v.rank, dim);
	}
	if (g->form.linear == LINEAR_FUSED_MATMUL)
		y = graph_node(g, "FusedMatMul", DOMAIN_MICROSOFT, (graph_value[]){ x, w }, 2,
			(struct attribute[]){ ATTR_I("transB", 1) }, 1, NODE_OUTPUT(v.dtype, v.rank, dim));
	else
		y = op_matmul(g, x, op_transpose(g, w, 2, (int[]){ 1, 0 }));
	return b.id ? op_add(g, y, b) : y;
}

// The same for a weight that lies as [in, out]: Gemm without transB, or MatMul.
graph_value op_linear_in_out(struct graph *g, graph_value x, graph_value w, graph_value b)
{
	if (!graph_alive(g, x) || !graph_alive(g, w))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x), k = *VALUE(g, w);
	if (!linear_fits(g, x, w, b, 0))
		return NO_VALUE;
	graph_value y;
	if (linear_reduced(g, x, w, b, true, &y))
		return y;
	if (g->form.linear != LINEAR_GEMM) {
		y = op_matmul(g, x, w);
		return b.id ? op_add(g, y, b) : y;
	}
	int64_t dim[TENSOR_MAX_RANK];
	memcpy(dim, v.dim, sizeof dim);
	dim[v.rank - 1] = k.dim[1];
	for (int i = 0; i < v.rank - 1; i++)
		op_dim(g, x, i); // so that the way back is known
	graph_value rows = graph_rows(g, x);
	if (g->failed)
		return NO_VALUE;
	int64_t shape[2] = { value_dim(g, rows, 0), k.dim[1] };
	y = graph_node(g, "Gemm", "", (graph_value[]){ rows, w, b }, b.id ? 3 : 2, NULL, 0, NODE_OUTPUT(v.dtype, 2, shape));
	return graph_from_rows(g, y, v.rank, dim);
}

graph_value op_linear_last(struct graph *g, graph_value x, graph_value w, graph_value b)
{
	g->is_head = true;
	graph_value y = op_linear(g, x, w, b);
	g->is_head = false;
	return y;
}

// The last layer of a graph. Engines let a Reshape share its input's memory, but not where the result leaves the graph: there
// ONNX Runtime copies (bert-base 1x128: 15 MB of logits on one thread, 1.3 of 117 ms). So the bias comes after the way back,
// as the operation that writes the output; op_add would build it on the rows.
graph_value op_linear_output(struct graph *g, graph_value x, graph_value w, graph_value b)
{
	graph_value y = op_linear_last(g, x, w, g->form.linear == LINEAR_GEMM ? NO_VALUE : b);
	if (!b.id || g->form.linear != LINEAR_GEMM || !graph_alive(g, y))
		return y;
	const struct value_info v = *VALUE(g, y);
	return graph_node(g, "Add", "", (graph_value[]){ y, b }, 2, NULL, 0, NODE_OUTPUT(v.dtype, v.rank, v.dim));
}

graph_value op_layer_norm(struct graph *g, graph_value x, graph_value weight, graph_value bias, float epsilon)
{
	if (!graph_alive(g, x) || !graph_alive(g, weight))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t last = value_dim(g, x, -1);
	if (v.rank < 1 || !vector_fits(g, weight, last) || !vector_fits(g, bias, last)) {
		graph_fail(g, STATUS_FAILED, "LayerNormalization of %s: one number for each place of the last axis is needed",
			graph_values_text(g, (graph_value[]){ x, weight, bias }, 3));
		return NO_VALUE;
	}
	if (graph_has_rows(g, x))
		return graph_from_rows(g, op_layer_norm(g, v.rows, weight, bias, epsilon), v.rank, v.dim);
	struct attribute at[] = { ATTR_I("axis", -1), ATTR_F("epsilon", epsilon) };
	return graph_node(g, "LayerNormalization", "", (graph_value[]){ x, weight, bias }, bias.id ? 3 : 2, at, 2,
		NODE_OUTPUT(v.dtype, v.rank, v.dim));
}

// x * rsqrt(mean(x^2) + epsilon) * weight (Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467)
graph_value op_rms_norm(struct graph *g, graph_value x, graph_value weight, float epsilon)
{
	if (!graph_alive(g, x) || !graph_alive(g, weight))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	if (v.rank < 1 || !vector_fits(g, weight, value_dim(g, x, -1))) {
		graph_fail(g, STATUS_FAILED, "an RMS norm of %s: one number for each place of the last axis is needed",
			graph_values_text(g, (graph_value[]){ x, weight }, 2));
		return NO_VALUE;
	}
	if (graph_has_rows(g, x))
		return graph_from_rows(g, op_rms_norm(g, v.rows, weight, epsilon), v.rank, v.dim);
	if (g->form.norm == NORM_FUSED_RMS) {
		struct attribute at[] = { ATTR_I("axis", -1), ATTR_F("epsilon", epsilon), ATTR_I("stash_type", 1) };
		return graph_node(g, "SimplifiedLayerNormalization", "", (graph_value[]){ x, weight }, 2, at, 3,
			NODE_OUTPUT(v.dtype, v.rank, v.dim));
	}
	// QNN (2.7, its emulator) knows it too: of [a, b, c, d] rows are then wrong where b is 11, and none of [a, b * c, d].
	if (g->form.around_qnn && v.rank == 4 && v.dim[1] >= 0 && v.dim[2] >= 0) {
		x = op_rms_norm(g, op_reshape(g, x, 3, (int64_t[]){ 0, -1, v.dim[3] }), weight, epsilon);
		return op_reshape(g, x, 4, v.dim);
	}
	// ONNX Runtime knows Pow .. Sqrt, 1/x, Mul as one operation; it does not know x / Sqrt.
	graph_value mean = op_reduce_mean(g, op_pow(g, x, graph_f32(g, 2)), -1, true);
	graph_value root = op_sqrt(g, op_add(g, mean, graph_f32(g, epsilon)));
	return op_mul(g, op_mul(g, x, op_div(g, graph_f32(g, 1), root)), weight);
}

// x * (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415)
graph_value op_gelu(struct graph *g, graph_value x)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	if (graph_has_rows(g, x))
		return graph_from_rows(g, op_gelu(g, v.rows), v.rank, v.dim);
	if (g->form.gelu == GELU_OP)
		return graph_node(g, "Gelu", "", &x, 1, NULL, 0, NODE_OUTPUT(v.dtype, v.rank, v.dim));
	if (g->form.gelu == GELU_MICROSOFT)
		return graph_node(g, "Gelu", DOMAIN_MICROSOFT, &x, 1, NULL, 0, NODE_OUTPUT(v.dtype, v.rank, v.dim));
	graph_value erf = op_erf(g, op_div(g, x, graph_f32(g, (float)M_SQRT2)));
	return op_mul(g, op_mul(g, x, op_add(g, erf, graph_f32(g, 1))), graph_f32(g, 0.5f));
}

// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2 (the same paper)
graph_value op_gelu_tanh(struct graph *g, graph_value x)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	if (graph_has_rows(g, x))
		return graph_from_rows(g, op_gelu_tanh(g, v.rows), v.rank, v.dim);
	if (g->form.gelu == GELU_OP)
		return graph_node(g, "Gelu", "", &x, 1, (struct attribute[]){ ATTR_S("approximate", "tanh") }, 1,
			NODE_OUTPUT(v.dtype, v.rank, v.dim));
	graph_value cube = op_mul(g, op_mul(g, op_mul(g, x, x), x), graph_f32(g, 0.044715f));
	graph_value inner = op_mul(g, op_add(g, x, cube), graph_f32(g, (float)sqrt(2 / M_PI)));
	return op_mul(g, op_mul(g, x, graph_f32(g, 0.5f)), op_add(g, op_tanh(g, inner), graph_f32(g, 1)));
}

graph_value op_silu(struct graph *g, graph_value x)
{
	return op_mul(g, x, op_sigmoid(g, x));
}

// cap * tanh(x / cap) (Gemma 2 technical report, https://arxiv.org/abs/2408.00118)
graph_value op_softcap(struct graph *g, graph_value x, float cap)
{
	return cap > 0 ? op_mul(g, op_tanh(g, op_div(g, x, graph_f32(g, cap))), graph_f32(g, cap)) : x;
}

// softmax(q k^T * scale + bias) v, by heads. The scale stands right before the product, where ONNX Runtime takes it into
// FusedMatMul; OpenVINO takes it into a linear layer before, wherever it stands. Query heads share keys in groups of
// heads / kv_heads: head h reads key head h / group, so a group's queries are stacked on the row axis and the keys are never
// repeated.
//
//   q [b, s, h*d] -Reshape-> [b, s, h, d] -Transpose-> [b, h, s, d] (-Reshape-> [b, kv, group*s, d]) * scale -+
//   k [b, t, kv*d] -> [b, t, kv, d] -> [b, kv, d, t] ---------------------------------------------------MatMul-+-> scores
//   scores + bias -> Softmax ------------------------+
//   v [b, t, kv*e] -> [b, t, kv, e] -> [b, kv, t, e] -+-MatMul-> [b, s, h*e]
//
// A sink is one more score a head, which takes its share of the softmax and attends to nothing.
graph_value op_attention(struct graph *g, const struct attention *a)
{
	const graph_value q = a->q, k = a->k, v = a->v, bias = a->bias, sink = a->sink;
	const int64_t heads = a->heads, kv_heads = a->kv_heads ? a->kv_heads : heads;

	if (!graph_alive(g, q) || !graph_alive(g, k) || !graph_alive(g, v))
		return NO_VALUE;
	bool split = value_rank(g, k) == 4;
	if (value_rank(g, q) != 3 || (!split && value_rank(g, k) != 3) || value_rank(g, v) != value_rank(g, k) ||
		(split && (value_dim(g, k, 1) != kv_heads || value_dim(g, v, 1) != kv_heads)) || !vector_fits(g, sink, heads)) {
		graph_fail(g, STATUS_BAD_INPUT, "attention of %s, %lld heads and %lld key heads: ranks or heads do not fit",
			graph_values_text(g, (graph_value[]){ q, k, v, sink }, 4), (long long)heads, (long long)kv_heads);
		return NO_VALUE;
	}
	int64_t width = value_dim(g, q, -1), keys = value_dim(g, k, -1) * (split ? kv_heads : 1),
		values = value_dim(g, v, -1) * (split ? kv_heads : 1);
	bool known = heads > 0 && kv_heads > 0 && width > 0 && keys > 0 && values > 0;
	if (!known || heads % kv_heads || width % heads || keys % kv_heads || values % kv_heads ||
		width / heads != keys / kv_heads) {
		graph_fail(g, STATUS_BAD_INPUT, "attention of %lld heads over %lld and %lld key heads over %lld: %s",
			(long long)heads, (long long)width, (long long)kv_heads, (long long)keys,
			graph_values_text(g, (graph_value[]){ q, k, v }, 3));
		return NO_VALUE;
	}
	int64_t d = width / heads, e = values / kv_heads, group = heads / kv_heads;
	if (g->form.attention == ATTENTION_MHA && group == 1 && a->softcap == 0 && !split && !sink.id) {
		const struct value_info i = *VALUE(g, q);
		int64_t dim[3] = { i.dim[0], i.dim[1], values };
		graph_value in[] = { q, k, v, NO_VALUE, NO_VALUE, bias };
		struct attribute at[] = { ATTR_I("num_heads", heads), ATTR_F("scale", a->scale) };
		return graph_node(
			g, "MultiHeadAttention", DOMAIN_MICROSOFT, in, bias.id ? 6 : 3, at, 2, NODE_OUTPUT(i.dtype, 3, dim));
	}
	graph_value qh = op_transpose(g, op_reshape(g, q, 4, (int64_t[]){ 0, 0, heads, d }), 4, (int[]){ 0, 2, 1, 3 });
	graph_value kh = split ? op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 })
			       : op_transpose(g, op_reshape(g, k, 4, (int64_t[]){ 0, 0, kv_heads, d }), 4, (int[]){ 0, 2, 3, 1 });
	graph_value vh =
		split ? v : op_transpose(g, op_reshape(g, v, 4, (int64_t[]){ 0, 0, kv_heads, e }), 4, (int[]){ 0, 2, 1, 3 });
	if (group > 1)
		qh = op_reshape(g, qh, 4, (int64_t[]){ 0, kv_heads, -1, d });
	graph_value scores = op_softcap(g, op_matmul(g, op_scale(g, qh, a->scale), kh), a->softcap);
	if (group > 1)
		scores = op_reshape(g, scores, 4, (int64_t[]){ 0, heads, -1, 0 });
	if (bias.id)
		scores = op_add(g, scores, bias);
	graph_value weights;
	if (sink.id) {
		graph_value shape[] = { op_dim(g, scores, 0), graph_i64s(g, 1, &heads), op_dim(g, scores, 2),
			graph_i64s(g, 1, (int64_t[]){ 1 }) };
		graph_value column = op_expand(
			g, op_reshape(g, sink, 4, (int64_t[]){ 1, heads, 1, 1 }), op_concat(g, 4, shape, 0)); // [b, h, s, 1]
		weights = op_softmax(g, op_concat(g, 2, (graph_value[]){ column, scores }, 3), -1);
		weights = op_slice(g, weights, 3, 1, INT64_MAX);
	} else
		weights = op_softmax(g, scores, -1);
	if (group > 1)
		weights = op_reshape(g, weights, 4, (int64_t[]){ 0, kv_heads, -1, 0 });
	graph_value y = op_matmul(g, weights, vh);
	if (group > 1)
		y = op_reshape(g, y, 4, (int64_t[]){ 0, heads, -1, e });
	y = op_reshape(g, op_transpose(g, y, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, 0, heads * e });
	if (!g->failed)
		memcpy(VALUE(g, y)->dim, VALUE(g, q)->dim,
			2 * sizeof(int64_t)); // stacked queries have forgotten how many there are
	return y;
}

graph_value op_rotary(struct graph *g, graph_value x, const struct rotation *r)
{
	if (!graph_alive(g, x) || !graph_alive(g, r->cos) || !graph_alive(g, r->sin) || !graph_alive(g, r->places))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t width = r->heads > 0 ? value_dim(g, x, -1) / r->heads : 0, turned = 2 * value_dim(g, r->cos, -1);

	if (v.rank != 3 || value_rank(g, r->cos) != 2 || value_rank(g, r->sin) != 2 || width * r->heads != value_dim(g, x, -1) ||
		turned <= 0 || turned > width || turned != 2 * value_dim(g, r->sin, -1)) {
		graph_fail(g, STATUS_BAD_INPUT, "rotary positions of %lld heads: %s", (long long)r->heads,
			graph_values_text(g, (graph_value[]){ x, r->cos, r->sin }, 3));
		return NO_VALUE;
	}
	struct attribute at[] = { ATTR_I("num_heads", r->heads), ATTR_I("interleaved", r->interleaved),
		ATTR_I("rotary_embedding_dim", turned) };
	return graph_node(g, "RotaryEmbedding", DOMAIN_MICROSOFT, (graph_value[]){ x, r->places, r->cos, r->sin }, 4, at,
		turned < width ? 3 : 2, NODE_OUTPUT(v.dtype, 3, v.dim));
}

graph_value op_group_query_attention(
	struct graph *g, const struct shared_attention *a, graph_value *present_key, graph_value *present_value)
{
	*present_key = *present_value = NO_VALUE;
	const graph_value needed[] = { a->q, a->k, a->v, a->past_key, a->past_value, a->last, a->total };
	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
		if (!graph_alive(g, needed[i]))
			return NO_VALUE;
	const struct value_info q = *VALUE(g, a->q), key = *VALUE(g, a->past_key), val = *VALUE(g, a->past_value);
	int64_t width = value_dim(g, a->past_key, -1);
	bool fits = a->heads > 0 && a->kv_heads > 0 && a->heads % a->kv_heads == 0 && q.rank == 3 && q.dim[2] == a->heads * width;
	fits &= value_dim(g, a->k, -1) == a->kv_heads * width && value_dim(g, a->v, -1) == a->kv_heads * width;
	fits &= value_rank(g, a->k) == 3 && value_rank(g, a->v) == 3 && value_rank(g, a->last) == 1 &&
		value_rank(g, a->total) == 0 && vector_fits(g, a->sink, a->heads);
	fits &= key.rank == 4 && val.rank == 4 && key.dim[1] == a->kv_heads && !memcmp(key.dim, val.dim, 4 * sizeof key.dim[0]);
	if (!fits || width % 8) {
		graph_fail(g, fits ? STATUS_UNSUPPORTED : STATUS_BAD_INPUT,
			"grouped attention of %lld heads and %lld key heads, %lld wide%s: %s", (long long)a->heads,
			(long long)a->kv_heads, (long long)width, fits ? "; the operator takes multiples of 8" : "",
			graph_values_text(g, needed, 7));
		return NO_VALUE;
	}
	graph_value in[] = { a->q, a->k, a->v, a->past_key, a->past_value, a->last, a->total, NO_VALUE, NO_VALUE, NO_VALUE,
		NO_VALUE, a->sink },
		    out[3];
	struct attribute at[5] = { ATTR_I("num_heads", a->heads), ATTR_I("kv_num_heads", a->kv_heads),
		ATTR_F("scale", a->scale) };
	int count = 3;
	if (a->window > 0)
		at[count++] = ATTR_I("local_window_size", a->window);
	if (a->softcap > 0)
		at[count++] = ATTR_F("softcap", a->softcap);
	struct node_output outputs[] = { { NULL, q.dtype, 3, q.dim }, { "present_key", key.dtype, 4, key.dim },
		{ "present_value", val.dtype, 4, val.dim } };
	graph_node_of(g, "GroupQueryAttention", DOMAIN_MICROSOFT, in, a->sink.id ? 12 : 7, at, count,
		&(struct node_outputs){ 3, outputs, out });
	*present_key = out[1];
	*present_value = out[2];
	return out[0];
}
