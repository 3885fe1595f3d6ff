// SPDX-License-Identifier: Apache-2.0
// Elementwise, reducing and multiplying operations: type and shape at once, small integer arithmetic folded.
#include "onnx/op.h"
#include "onnx/inside.h"
#include "onnx/operator.h"

#include <math.h>
#include <string.h>

// numpy's broadcast of one shape into another, `out` of *rank, which may become longer. False: they do not fit. Unequal symbols
// give an unknown dimension: only the run can tell.
static bool broadcast_into(struct graph *g, int *rank, int64_t *out, graph_value v)
{
	int rv = value_rank(g, v), all = *rank > rv ? *rank : rv;
	int64_t wide[TENSOR_MAX_RANK];

	for (int i = 0; i < all; i++) {
		int64_t x = i < all - *rank ? 1 : out[i - (all - *rank)], y = i < all - rv ? 1 : value_dim(g, v, i - (all - rv));
		if (x == y || y == 1)
			wide[i] = x;
		else if (x == 1)
			wide[i] = y;
		else if (x >= 0 && y >= 0)
			return false;
		else
			wide[i] = x > 1 ? x : y > 1 ? y : graph_unknown(g);
	}
	*rank = all;
	memcpy(out, wide, (size_t)all * sizeof *out);
	return true;
}

// The shape of all of them together; false after a refusal.
static bool broadcast(struct graph *g, const char *op, int count, const graph_value *v, int *rank, int64_t *out)
{
	*rank = 0;
	for (int i = 0; i < count; i++)
		if (!broadcast_into(g, rank, out, v[i])) {
			graph_fail(g, STATUS_FAILED, "%s of %s: the shapes do not broadcast", op, graph_values_text(g, v, count));
			return false;
		}
	return true;
}

static bool fold(const char *op, int64_t a, int64_t b, int64_t *out)
{
	switch (op[0] + op[1]) {
	case 'A' + 'd':
		return !__builtin_add_overflow(a, b, out);
	case 'S' + 'u':
		return !__builtin_sub_overflow(a, b, out);
	case 'M' + 'u':
		return !__builtin_mul_overflow(a, b, out);
	case 'D' + 'i':
		return b > 0 && a >= 0 ? (*out = a / b, true) : false;
	default:
		return false;
	}
}

// Can b be given to the rows of a: a number, one for each column, or something of the same shape, which then gets rows too?
static bool goes_with_rows(const struct graph *g, graph_value a, graph_value b)
{
	const struct value_info *x = VALUE(g, a), *y = VALUE(g, b);
	if (!x->rows.id)
		return false;
	if (y->rank < 2)
		return y->rank == 0 || (y->dim[0] == x->dim[x->rank - 1] && y->dim[0] > 0);
	return x->rank == y->rank && !memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim);
}

static graph_value arithmetic(struct graph *g, const char *op, graph_value a, graph_value b, enum dtype result)
{
	if (!graph_alive(g, a) || !graph_alive(g, b))
		return NO_VALUE;
	if (goes_with_rows(g, a, b) || goes_with_rows(g, b, a)) {
		const struct value_info x = *VALUE(g, graph_has_rows(g, a) ? a : b);
		graph_value ra = value_rank(g, a) < 2 ? a : graph_rows(g, a), rb = value_rank(g, b) < 2 ? b : graph_rows(g, b);
		return graph_from_rows(g, arithmetic(g, op, ra, rb, result), x.rank, x.dim);
	}
	const graph_value both[] = { a, b };
	if (value_dtype(g, a) != value_dtype(g, b)) {
		graph_fail(g, STATUS_FAILED, "%s of %s: types differ", op, graph_values_text(g, both, 2));
		return NO_VALUE;
	}
	int64_t dim[TENSOR_MAX_RANK], x[8], y[8], z[8];
	int rank, nx, ny;
	if (!broadcast(g, op, 2, both, &rank, dim))
		return NO_VALUE;
	if (result == DTYPE_NONE && graph_ints(g, a, x, 8, &nx) && graph_ints(g, b, y, 8, &ny) &&
		(nx == ny || nx == 1 || ny == 1)) {
		int n = nx > ny ? nx : ny;
		bool folded = true;
		for (int i = 0; i < n; i++)
			folded &= fold(op, x[nx == 1 ? 0 : i], y[ny == 1 ? 0 : i], &z[i]);
		if (folded)
			return graph_constant(g, DTYPE_I64, rank, dim, z);
	}
	return graph_node(g, op, "", both, 2, NULL, 0, NODE_OUTPUT(result ? result : value_dtype(g, a), rank, dim));
}

// Is y [n, width] or [1, n, width], for each of several rows of x [batch, n, width]?
static bool is_for_each_row(struct graph *g, graph_value x, graph_value y)
{
	int64_t n = graph_alive(g, x) && graph_alive(g, y) && value_rank(g, x) == 3 ? value_dim(g, x, 1) : 0;
	int rank = n > 1 ? value_rank(g, y) : 0;

	return (rank == 2 || (rank == 3 && value_dim(g, y, 0) == 1)) && value_dim(g, x, 0) != 1 && value_dim(g, y, -2) == n &&
		value_dim(g, y, -1) > 1 && value_dim(g, y, -1) == value_dim(g, x, -1) && value_dtype(g, y) == DTYPE_F32;
}

graph_value op_add(struct graph *g, graph_value a, graph_value b)
{
	if (g->form.around_qnn && is_for_each_row(g, b, a))
		return op_sub(g, b, op_neg(g, a));
	if (g->form.around_qnn && is_for_each_row(g, a, b))
		return op_sub(g, a, op_neg(g, b));
	return arithmetic(g, "Add", a, b, DTYPE_NONE);
}
graph_value op_sub(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "Sub", a, b, DTYPE_NONE);
}
graph_value op_mul(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "Mul", a, b, DTYPE_NONE);
}
graph_value op_div(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "Div", a, b, DTYPE_NONE);
}
graph_value op_pow(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "Pow", a, b, DTYPE_NONE);
}
graph_value op_max(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "Max", a, b, DTYPE_NONE);
}
graph_value op_min(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "Min", a, b, DTYPE_NONE);
}

// Mod of floats has another sign than that of integers, and an attribute that says so.
static bool is_mod(struct graph *g, graph_value a, graph_value b, bool floats)
{
	const graph_value both[] = { a, b };

	if (!graph_alive(g, a) || !graph_alive(g, b))
		return false;
	enum dtype t = value_dtype(g, a);
	if ((t == DTYPE_F16 || t == DTYPE_BF16 || t == DTYPE_F32 || t == DTYPE_F64) != floats)
		graph_fail(g, STATUS_FAILED, "Mod of %s: it takes %s", graph_values_text(g, both, 2),
			floats ? "floats" : "integers");
	return !g->failed;
}

graph_value op_mod(struct graph *g, graph_value a, graph_value b)
{
	return is_mod(g, a, b, false) ? arithmetic(g, "Mod", a, b, DTYPE_NONE) : NO_VALUE;
}

graph_value op_fmod(struct graph *g, graph_value a, graph_value b)
{
	const graph_value both[] = { a, b };
	int64_t dim[TENSOR_MAX_RANK];
	int rank;
	if (!is_mod(g, a, b, true) || !broadcast(g, "Mod", 2, both, &rank, dim))
		return NO_VALUE;
	return graph_node(
		g, "Mod", "", both, 2, (struct attribute[]){ ATTR_I("fmod", 1) }, 1, NODE_OUTPUT(value_dtype(g, a), rank, dim));
}

graph_value op_and(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "And", a, b, DTYPE_NONE);
}
graph_value op_or(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "Or", a, b, DTYPE_NONE);
}
graph_value op_equal(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "Equal", a, b, DTYPE_BOOL);
}
graph_value op_less(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "Less", a, b, DTYPE_BOOL);
}
graph_value op_less_or_equal(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "LessOrEqual", a, b, DTYPE_BOOL);
}
graph_value op_greater(struct graph *g, graph_value a, graph_value b)
{
	return arithmetic(g, "Greater", a, b, DTYPE_BOOL);
}

static graph_value unary(struct graph *g, const char *op, graph_value x)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	if (graph_has_rows(g, x))
		return graph_from_rows(g, unary(g, op, v.rows), v.rank, v.dim);
	return graph_node(g, op, "", &x, 1, NULL, 0, NODE_OUTPUT(v.dtype, v.rank, v.dim));
}

graph_value op_neg(struct graph *g, graph_value x)
{
	return unary(g, "Neg", x);
}
graph_value op_abs(struct graph *g, graph_value x)
{
	return unary(g, "Abs", x);
}
graph_value op_sqrt(struct graph *g, graph_value x)
{
	return unary(g, "Sqrt", x);
}
graph_value op_exp(struct graph *g, graph_value x)
{
	return unary(g, "Exp", x);
}
graph_value op_log(struct graph *g, graph_value x)
{
	return unary(g, "Log", x);
}
graph_value op_floor(struct graph *g, graph_value x)
{
	return unary(g, "Floor", x);
}
// For graph_form.sine_tables, in float32: x = n pi + r (a cosine: (n - 1/2) pi + r), |r| <= pi/2, and both are (-1)^n sin r,
// which is a polynomial in r. pi is three numbers, the first two of so few bits that their products with n are exact up to
// n = 2^13. Largest error up to 10^4: 1.3e-7, up to 10^5: 1e-6. Graphs of 16 bits have Sin and Cos: what those may be off is what
// 16 bits round.
static graph_value wave(struct graph *g, graph_value x, bool is_cosine)
{
	static const float pi[] = { 0x1.92p+1f, 0x1.fb4p-11f, 0x1.4442d2p-23f },
			   odd[] = { 2.59927819e-6f, -1.98062020e-4f, 8.33301033e-3f, -0.166666567f }; // of r^9, r^7, r^5, r^3
	graph_value n = op_floor(g, op_add(g, op_scale(g, x, (float)M_1_PI), graph_f32(g, is_cosine ? 1 : 0.5f)));
	graph_value place = is_cosine ? op_sub(g, n, graph_f32(g, 0.5f)) : n, r = x;

	for (int i = 0; i < 3; i++)
		r = op_sub(g, r, op_scale(g, place, pi[i]));
	graph_value square = op_mul(g, r, r), sum = op_scale(g, square, odd[0]);
	for (int i = 1; i < 4; i++)
		sum = op_mul(g, op_add(g, sum, graph_f32(g, odd[i])), square);
	graph_value is_odd = op_sub(g, n, op_scale(g, op_floor(g, op_scale(g, n, 0.5f)), 2));
	graph_value sign = op_sub(g, graph_f32(g, 1), op_scale(g, is_odd, 2));
	return op_mul(g, sign, op_add(g, r, op_mul(g, r, sum)));
}

static bool has_waves(const struct graph *g, graph_value x)
{
	enum precision p = g->form.precise.precision;

	return g->form.sine_tables && p != PRECISION_FLOAT16 && p != PRECISION_BFLOAT16 && value_dtype(g, x) == DTYPE_F32;
}

graph_value op_sin(struct graph *g, graph_value x)
{
	return has_waves(g, x) ? wave(g, x, false) : unary(g, "Sin", x);
}
graph_value op_cos(struct graph *g, graph_value x)
{
	return has_waves(g, x) ? wave(g, x, true) : unary(g, "Cos", x);
}
graph_value op_acos(struct graph *g, graph_value x)
{
	return unary(g, "Acos", x);
}
graph_value op_tanh(struct graph *g, graph_value x)
{
	return unary(g, "Tanh", x);
}
graph_value op_sigmoid(struct graph *g, graph_value x)
{
	return unary(g, "Sigmoid", x);
}
graph_value op_erf(struct graph *g, graph_value x)
{
	return unary(g, "Erf", x);
}
graph_value op_relu(struct graph *g, graph_value x)
{
	return unary(g, "Relu", x);
}
graph_value op_softplus(struct graph *g, graph_value x)
{
	return unary(g, "Softplus", x);
}
graph_value op_not(struct graph *g, graph_value x)
{
	return unary(g, "Not", x);
}

graph_value op_scale(struct graph *g, graph_value x, float factor)
{
	return factor == 1 ? x : op_mul(g, x, graph_f32(g, factor));
}

graph_value op_where(struct graph *g, graph_value condition, graph_value a, graph_value b)
{
	if (!graph_alive(g, condition) || !graph_alive(g, a) || !graph_alive(g, b))
		return NO_VALUE;
	const graph_value all[] = { condition, a, b };
	int64_t dim[TENSOR_MAX_RANK];
	int rank;
	if (!broadcast(g, "Where", 3, all, &rank, dim))
		return NO_VALUE;
	return graph_node(g, "Where", "", all, 3, NULL, 0, NODE_OUTPUT(value_dtype(g, a), rank, dim));
}

graph_value op_cast(struct graph *g, graph_value x, enum dtype t)
{
	if (!graph_alive(g, x) || value_dtype(g, x) == t)
		return x;
	const struct value_info v = *VALUE(g, x);
	if (!operator_takes(operator_find("Cast", ""), 0, t)) {
		graph_fail(g, STATUS_FAILED, "Cast of %s to %s: opset %d has no such cast", graph_value_text(g, x), dtype_word(t),
			g->opset);
		return NO_VALUE;
	}
	if (v.constant && v.dtype == DTYPE_I64 && t == DTYPE_F32 && v.constant->nbytes <= 8 * sizeof(int64_t)) {
		float f[8];
		for (size_t i = 0; i < v.constant->nbytes / sizeof(int64_t); i++)
			f[i] = (float)((int64_t *)v.constant->data)[i];
		return graph_constant(g, t, v.rank, v.dim, f);
	}
	// A weight of 16 bits that is to be one of 32: made once, before an engine sees it.
	if (v.kind == VALUE_EXTERNAL && !v.recipe && t == DTYPE_F32 && g->form.precise.precision == PRECISION_FLOAT32)
		return graph_derived(g, x, dtype_word(t), &(struct recipe){ .kind = RECIPE_CAST }, t, v.rank, v.dim);
	// ONNX Runtime's WebGPU (1.27) makes -2^32 of every negative float; of an int32 it makes what it should.
	if (g->form.around_webgpu && v.dtype == DTYPE_F32 && t == DTYPE_I64)
		x = op_cast(g, x, DTYPE_I32);
	return graph_node(
		g, "Cast", "", &x, 1, (struct attribute[]){ ATTR_I("to", dtype_onnx(t)) }, 1, NODE_OUTPUT(t, v.rank, v.dim));
}

graph_value op_matmul(struct graph *g, graph_value a, graph_value b)
{
	if (!graph_alive(g, a) || !graph_alive(g, b))
		return NO_VALUE;
	const graph_value both[] = { a, b };
	int ra = value_rank(g, a), rb = value_rank(g, b), rank = ra > rb ? ra : rb;
	int64_t ka = ra < 2 ? 0 : value_dim(g, a, -1), kb = rb < 2 ? 0 : value_dim(g, b, -2), dim[TENSOR_MAX_RANK];
	bool fits = ra >= 2 && rb >= 2 && (ka == kb || ka < 0 || kb < 0);
	for (int i = 0; fits && i < rank - 2; i++) {
		int64_t x = i < rank - ra ? 1 : value_dim(g, a, i - (rank - ra)),
			y = i < rank - rb ? 1 : value_dim(g, b, i - (rank - rb));
		dim[i] = x == 1 ? y : x == y || y == 1 || x > 1 ? x : y > 1 ? y : graph_unknown(g);
		fits = x == y || x == 1 || y == 1 || x < 0 || y < 0;
	}
	if (!fits) {
		graph_fail(g, STATUS_FAILED, "MatMul of %s: the shapes do not fit", graph_values_text(g, both, 2));
		return NO_VALUE;
	}
	dim[rank - 2] = value_dim(g, a, -2);
	dim[rank - 1] = value_dim(g, b, -1);
	return graph_node(g, "MatMul", "", both, 2, NULL, 0, NODE_OUTPUT(value_dtype(g, a), rank, dim));
}

graph_value op_softmax(struct graph *g, graph_value x, int axis)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	return graph_node(g, "Softmax", "", &x, 1, (struct attribute[]){ ATTR_I("axis", graph_axis(g, x, axis)) }, 1,
		NODE_OUTPUT(v.dtype, v.rank, v.dim));
}

// ReduceSum takes its axes as an input since opset 13; of the others graph_finish makes what the opset asks for.
// The dimensions without axis `at`, or with 1 there. How many there are.
static int dims_but(const struct value_info *v, int at, bool keep, int64_t *dim)
{
	int rank = 0;
	for (int i = 0; i < v->rank; i++)
		if (i != at || keep)
			dim[rank++] = i == at ? 1 : v->dim[i];
	return rank;
}

static graph_value reduce(struct graph *g, const char *op, graph_value x, int axis, bool keep)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int at = graph_axis(g, x, axis);
	int64_t dim[TENSOR_MAX_RANK], axes = at;
	int rank = dims_but(&v, at, keep, dim);
	if (text_is(op, "ReduceSum"))
		return graph_node(g, op, "", (graph_value[]){ x, graph_i64s(g, 1, &axes) }, 2,
			(struct attribute[]){ ATTR_I("keepdims", keep) }, 1, NODE_OUTPUT(v.dtype, rank, dim));
	return graph_node(g, op, "", &x, 1, (struct attribute[]){ ATTR_IS("axes", 1, &axes), ATTR_I("keepdims", keep) }, 2,
		NODE_OUTPUT(v.dtype, rank, dim));
}

graph_value op_reduce_mean(struct graph *g, graph_value x, int axis, bool keep)
{
	return reduce(g, "ReduceMean", x, axis, keep);
}
graph_value op_reduce_sum(struct graph *g, graph_value x, int axis, bool keep)
{
	return reduce(g, "ReduceSum", x, axis, keep);
}
graph_value op_reduce_max(struct graph *g, graph_value x, int axis, bool keep)
{
	return reduce(g, "ReduceMax", x, axis, keep);
}
graph_value op_reduce_min(struct graph *g, graph_value x, int axis, bool keep)
{
	return reduce(g, "ReduceMin", x, axis, keep);
}
graph_value op_reduce_prod(struct graph *g, graph_value x, int axis, bool keep)
{
	return reduce(g, "ReduceProd", x, axis, keep);
}
graph_value op_reduce_l2(struct graph *g, graph_value x, int axis, bool keep)
{
	return reduce(g, "ReduceL2", x, axis, keep);
}

graph_value op_argmax(struct graph *g, graph_value x, int axis, bool keep)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int at = graph_axis(g, x, axis);
	int64_t dim[TENSOR_MAX_RANK];
	int rank = dims_but(&v, at, keep, dim);
	return graph_node(g, "ArgMax", "", &x, 1, (struct attribute[]){ ATTR_I("axis", at), ATTR_I("keepdims", keep) }, 2,
		NODE_OUTPUT(DTYPE_I64, rank, dim));
}

static graph_value topk(struct graph *g, graph_value x, int64_t k, int at, bool least, graph_value *indices)
{
	const struct value_info v = *VALUE(g, x);
	int64_t dim[TENSOR_MAX_RANK];

	memcpy(dim, v.dim, sizeof dim);
	dim[at] = k;
	struct node_output outputs[] = { { NULL, v.dtype, v.rank, dim }, { "indices", DTYPE_I64, v.rank, dim } };
	struct attribute attributes[] = { ATTR_I("axis", at), ATTR_I("largest", 0) };
	graph_value out[2];
	graph_node_of(g, "TopK", "", (graph_value[]){ x, graph_i64s(g, 1, &k) }, 2, attributes, least ? 2 : 1,
		&(struct node_outputs){ 2, outputs, out });
	*indices = out[1];
	return out[0];
}

// The indices are left out: what is among the k greatest is what is not less than the last of them.
graph_value op_topk(struct graph *g, graph_value x, int64_t k)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t last = v.rank ? v.dim[v.rank - 1] : 0;
	graph_value indices;
	if (k < 1 || (last >= 0 && k > last)) {
		graph_fail(g, STATUS_FAILED, "TopK of %s: the %lld greatest along the last axis", graph_value_text(g, x),
			(long long)k);
		return NO_VALUE;
	}
	return topk(g, x, k, v.rank - 1, false, &indices);
}

graph_value op_topk_indices(struct graph *g, graph_value x, int64_t k, int axis, bool least, graph_value *indices)
{
	*indices = NO_VALUE;
	if (!graph_alive(g, x))
		return NO_VALUE;
	int at = graph_axis(g, x, axis);
	int64_t length = value_dim(g, x, at);
	if (g->failed || k < 1 || (length >= 0 && k > length)) {
		graph_fail(g, STATUS_FAILED, "TopK of %s: the %lld %s along axis %d", graph_value_text(g, x), (long long)k,
			least ? "least" : "greatest", axis);
		return NO_VALUE;
	}
	return topk(g, x, k, at, least, indices);
}

graph_value op_cumsum_from(struct graph *g, graph_value x, int axis, bool exclusive, bool reverse)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	graph_value at = graph_i64(g, graph_axis(g, x, axis));
	const struct value_info v = *VALUE(g, x);
	struct attribute attributes[2];
	int count = 0;
	if (exclusive)
		attributes[count++] = ATTR_I("exclusive", 1);
	if (reverse)
		attributes[count++] = ATTR_I("reverse", 1);
	return graph_node(g, "CumSum", "", (graph_value[]){ x, at }, 2, attributes, count, NODE_OUTPUT(v.dtype, v.rank, v.dim));
}

graph_value op_cumsum(struct graph *g, graph_value x, int axis)
{
	return op_cumsum_from(g, x, axis, false, false);
}
