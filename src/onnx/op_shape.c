// SPDX-License-Identifier: Apache-2.0
// Operations that move data or speak of shapes. What is known while building is folded: op_dim of a numbered dimension is a
// constant, Concat, Slice and Unsqueeze of small integer constants are constants, so a static graph has no Shape nodes.
#include "onnx/op.h"
#include "onnx/inside.h"

#include <string.h>

// i64[1] constant or an equal-ranked one: what a shape calculation is made of.
static graph_value ints_value(struct graph *g, int rank, int count, const int64_t *x)
{
	return graph_constant(g, DTYPE_I64, rank, (int64_t[]){ count }, x);
}

// What Reshape makes of v's dimensions where `dim` says 0, v's own, or -1, the rest; sets *rest to where that stands, -1:
// nowhere. False: it says something else that is no length.
static bool reshape_wanted(const struct value_info *v, int count, const int64_t *dim, int64_t *out, int *rest)
{
	*rest = -1;
	for (int i = 0; i < count; i++) {
		out[i] = dim[i] == 0 && i < v->rank ? v->dim[i] : dim[i];
		if (dim[i] > 0 || (dim[i] == 0 && i < v->rank))
			continue;
		if (dim[i] != -1 || *rest >= 0)
			return false;
		*rest = i;
	}
	return true;
}

// Products of the numbers before and after, and symbols that stand on one side only: numbers cancel against numbers and symbols
// against the same symbols.
struct reshape_sides {
	int64_t in, out, symbol_in;
	int symbols_in, symbols_out;
	bool overflow;
};

static struct reshape_sides reshape_compare(const struct value_info *v, int count, const int64_t *out, int rest)
{
	struct reshape_sides s = { .in = 1, .out = 1 };
	bool used[TENSOR_MAX_RANK] = { false };

	for (int i = 0; i < count; i++) {
		if (i == rest)
			continue;
		if (out[i] >= 0) {
			s.overflow |= __builtin_mul_overflow(s.out, out[i], &s.out);
			continue;
		}
		int k = 0;
		while (k < v->rank && (used[k] || v->dim[k] != out[i]))
			k++;
		if (k < v->rank)
			used[k] = true;
		else
			s.symbols_out++;
	}
	for (int k = 0; k < v->rank; k++) {
		if (v->dim[k] >= 0)
			s.overflow |= __builtin_mul_overflow(s.in, v->dim[k], &s.in);
		else if (!used[k])
			s.symbols_in++, s.symbol_in = v->dim[k];
	}
	return s;
}

static graph_value reshape_refused(struct graph *g, graph_value x, int count, const int64_t *dim)
{
	graph_fail(g, STATUS_FAILED, "Reshape of %s to %s: it does not fit", graph_value_text(g, x),
		graph_numbers_text(g, count, dim));
	return NO_VALUE;
}

graph_value op_reshape(struct graph *g, graph_value x, int count, const int64_t *dim)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t out[TENSOR_MAX_RANK], given[TENSOR_MAX_RANK];
	int rest, symbols = 0;
	if (count < 0 || count > TENSOR_MAX_RANK) {
		graph_fail(g, STATUS_FAILED, "Reshape of %s to rank %d", graph_value_text(g, x), count);
		return NO_VALUE;
	}
	if (!reshape_wanted(&v, count, dim, out, &rest))
		return reshape_refused(g, x, count, dim);
	struct reshape_sides s = reshape_compare(&v, count, out, rest);
	bool known = !s.symbols_in && !s.symbols_out;
	if (s.overflow || (known && (rest < 0 ? s.in != s.out : s.out <= 0 || s.in % s.out != 0)))
		return reshape_refused(g, x, count, dim);
	if (rest >= 0)
		out[rest] = known                                              ? s.in / s.out
			: s.symbols_in == 1 && !s.symbols_out && s.in == s.out ? s.symbol_in
									       : graph_unknown(g);
	if (!count && v.rank) // OpenVINO reads beyond a shape of no numbers
		return graph_node(g, "Squeeze", "", &x, 1, NULL, 0, NODE_OUTPUT(v.dtype, 0, NULL));
	bool same = count == v.rank && !memcmp(out, v.dim, (size_t)count * sizeof *out);
	for (int i = 0; i < count; i++)
		symbols += out[i] < 0;
	for (int i = 0; i < count; i++) // all that is known goes in as numbers
		given[i] = symbols == 0 || (i == rest && out[i] >= 0 && symbols) ? out[i] : dim[i];
	return same ? x
		    : graph_node(g, "Reshape", "", (graph_value[]){ x, graph_i64s(g, count, given) }, 2, NULL, 0,
			      NODE_OUTPUT(v.dtype, count, out));
}

graph_value op_reshape_to(struct graph *g, graph_value x, graph_value shape)
{
	if (!graph_alive(g, x) || !graph_alive(g, shape))
		return NO_VALUE;
	int64_t known[TENSOR_MAX_RANK], rank = value_dim(g, shape, 0);
	int count;
	if (graph_ints(g, shape, known, TENSOR_MAX_RANK, &count))
		return op_reshape(g, x, count, known);
	if (value_rank(g, shape) != 1 || rank < 0 || rank > TENSOR_MAX_RANK) {
		graph_fail(g, STATUS_FAILED, "Reshape of %s by %s: the rank of the new shape is not known",
			graph_value_text(g, x), graph_value_text(g, shape));
		return NO_VALUE;
	}
	graph_shape_parts(g, shape, (int)rank, known);
	return graph_node(
		g, "Reshape", "", (graph_value[]){ x, shape }, 2, NULL, 0, NODE_OUTPUT(value_dtype(g, x), (int)rank, known));
}

graph_value op_transpose(struct graph *g, graph_value x, int rank, const int *perm)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t dim[TENSOR_MAX_RANK], ints[TENSOR_MAX_RANK];
	unsigned seen = 0;
	if (rank != v.rank) {
		graph_fail(g, STATUS_FAILED, "Transpose of %s as rank %d", graph_value_text(g, x), rank);
		return NO_VALUE;
	}
	for (int i = 0; i < rank; i++) {
		ints[i] = graph_axis(g, x, perm[i]);
		dim[i] = v.dim[ints[i]];
		seen |= 1u << ints[i];
	}
	if (seen != (1u << rank) - 1)
		graph_fail(g, STATUS_FAILED, "Transpose of %s: an axis is named twice", graph_value_text(g, x));
	return graph_node(g, "Transpose", "", &x, 1, (struct attribute[]){ ATTR_IS("perm", rank, ints) }, 1,
		NODE_OUTPUT(v.dtype, rank, dim));
}

graph_value op_unsqueeze(struct graph *g, graph_value x, int axis)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t dim[TENSOR_MAX_RANK], at = axis < 0 ? axis + v.rank + 1 : axis;
	if (at < 0 || at > v.rank || v.rank == TENSOR_MAX_RANK) {
		graph_fail(g, STATUS_FAILED, "Unsqueeze of %s at axis %d", graph_value_text(g, x), axis);
		return NO_VALUE;
	}
	if (v.constant && v.rank == 0)
		return graph_constant(g, v.dtype, 1, (int64_t[]){ 1 }, v.constant->data);
	for (int i = 0; i <= v.rank; i++)
		dim[i] = i < at ? v.dim[i] : i == at ? 1 : v.dim[i - 1];
	return graph_node(g, "Unsqueeze", "", (graph_value[]){ x, graph_i64s(g, 1, &at) }, 2, NULL, 0,
		NODE_OUTPUT(v.dtype, v.rank + 1, dim));
}

graph_value op_squeeze(struct graph *g, graph_value x, int axis)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	int64_t at = graph_axis(g, x, axis), dim[TENSOR_MAX_RANK];
	const struct value_info v = *VALUE(g, x);
	if (g->failed || v.dim[at] > 1 || v.dim[at] == 0) {
		graph_fail(g, STATUS_FAILED, "Squeeze of %s at axis %d, which is not of length 1", graph_value_text(g, x), axis);
		return NO_VALUE;
	}
	if (v.constant && v.rank == 1 && v.dim[0] == 1)
		return graph_constant(g, v.dtype, 0, dim, v.constant->data);
	for (int i = 0, k = 0; i < v.rank; i++)
		if (i != at)
			dim[k++] = v.dim[i];
	return graph_node(
		g, "Squeeze", "", (graph_value[]){ x, graph_i64s(g, 1, &at) }, 2, NULL, 0, NODE_OUTPUT(v.dtype, v.rank - 1, dim));
}

static int64_t dim_sum(struct graph *g, int64_t a, int64_t b)
{
	int64_t x = graph_counted(g, a), y = graph_counted(g, b);

	if (a >= 0 && b >= 0)
		return a + b;
	return graph_expected(g, x >= 0 && y >= 0 ? x + y : -1);
}

graph_value op_concat(struct graph *g, int count, const graph_value *x, int axis)
{
	if (count < 1)
		graph_fail(g, STATUS_FAILED, "Concat of nothing");
	for (int i = 0; i < count; i++)
		if (!graph_alive(g, x[i]))
			return NO_VALUE;
	if (g->failed || count == 1)
		return g->failed ? NO_VALUE : x[0];
	int at = graph_axis(g, x[0], axis), n = 0;
	const struct value_info first = *VALUE(g, x[0]);
	int64_t dim[TENSOR_MAX_RANK], all[TENSOR_MAX_RANK], some[TENSOR_MAX_RANK];
	memcpy(dim, first.dim, sizeof dim);
	bool constant = first.rank == 1;
	for (int i = 0; i < count; i++) {
		int some_count;
		constant = constant && graph_ints(g, x[i], some, TENSOR_MAX_RANK - n, &some_count);
		if (constant)
			memcpy(all + n, some, (size_t)some_count * sizeof *all), n += some_count;
		if (value_rank(g, x[i]) != first.rank || value_dtype(g, x[i]) != first.dtype) {
			graph_fail(g, STATUS_FAILED, "Concat of %s at axis %d: ranks or types differ",
				graph_values_text(g, x, count), axis);
			return NO_VALUE;
		}
		for (int k = 0; i && k < first.rank; k++) {
			int64_t d = value_dim(g, x[i], k);
			if (k == at)
				dim[k] = dim_sum(g, dim[k], d);
			else if (dim[k] < 0)
				dim[k] = d >= 0 ? d : dim[k];
			else if (d >= 0 && d != dim[k])
				graph_fail(g, STATUS_FAILED, "Concat of %s at axis %d: dimension %d differs",
					graph_values_text(g, x, count), axis, k);
		}
	}
	if (constant)
		return ints_value(g, 1, n, all);
	return graph_node(g, "Concat", "", x, count, (struct attribute[]){ ATTR_I("axis", at) }, 1,
		NODE_OUTPUT(first.dtype, first.rank, dim));
}

static graph_value slice(struct graph *g, graph_value x, int at, graph_value begin, graph_value end, int64_t dim_at)
{
	const struct value_info v = *VALUE(g, x);
	int64_t dim[TENSOR_MAX_RANK], axis = at;
	memcpy(dim, v.dim, sizeof dim);
	dim[at] = dim_at;
	return graph_node(g, "Slice", "", (graph_value[]){ x, begin, end, graph_i64s(g, 1, &axis) }, 4, NULL, 0,
		NODE_OUTPUT(v.dtype, v.rank, dim));
}

graph_value op_slice(struct graph *g, graph_value x, int axis, int64_t begin, int64_t end)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	int at = graph_axis(g, x, axis), count;
	int64_t n = value_dim(g, x, at), dim, ints[TENSOR_MAX_RANK];
	if (begin == 0 && end == INT64_MAX)
		return x;
	if (n >= 0) {
		int64_t b = begin < 0 ? begin + n : begin, e = end == INT64_MAX ? n : end < 0 ? end + n : end;
		// ONNX cuts what lies outside to the length. Here both are known, and a place that is not there is a wrong
		// calculation.
		if (b < 0 || b > e || e > n) {
			graph_fail(g, STATUS_FAILED, "Slice of %s at axis %d from %lld to %lld", graph_value_text(g, x), axis,
				(long long)begin, (long long)end);
			return NO_VALUE;
		}
		if (b == 0 && e == n)
			return x;
		dim = e - b;
		if (graph_ints(g, x, ints, TENSOR_MAX_RANK, &count) && value_rank(g, x) == 1)
			return ints_value(g, 1, (int)dim, ints + b);
	} else {
		bool single = (begin == 0 && end == 1) || (begin == -1 && end == INT64_MAX);
		dim = single ? 1 : graph_unknown(g);
	}
	return slice(g, x, at, graph_i64s(g, 1, &begin), graph_i64s(g, 1, &end), dim);
}

graph_value op_slice_to(struct graph *g, graph_value x, int axis, graph_value begin, graph_value end)
{
	if (!graph_alive(g, x) || !graph_alive(g, begin) || !graph_alive(g, end))
		return NO_VALUE;
	int64_t b, e;
	int nb, ne;
	if (graph_ints(g, begin, &b, 1, &nb) && graph_ints(g, end, &e, 1, &ne) && nb == 1 && ne == 1)
		return op_slice(g, x, axis, b, e);
	if (value_rank(g, begin) != 1 || value_rank(g, end) != 1 || value_dim(g, begin, 0) > 1 || value_dim(g, end, 0) > 1) {
		graph_fail(g, STATUS_FAILED, "Slice of %s by %s and %s: one begin and one end are needed", graph_value_text(g, x),
			graph_value_text(g, begin), graph_value_text(g, end));
		return NO_VALUE;
	}
	// [0, length of some dimension): the result has that dimension.
	int at = graph_axis(g, x, axis);
	int64_t dim = 0;
	if (graph_ints(g, begin, &b, 1, &nb) && nb == 1 && b == 0)
		for (int i = 0; i < g->symbol_count && !dim; i++)
			if (g->symbol_values[i].id == end.id)
				dim = -1 - i;
	return slice(g, x, at, begin, end, dim ? dim : graph_unknown(g));
}

// What is known of the n numbers in a shape: constants, and the parts of a Concat that are numbers or read-off dimensions.
void graph_shape_parts(struct graph *g, graph_value shape, int n, int64_t *out)
{
	const struct value_info s = *VALUE(g, shape);
	const struct node *concat = s.kind == VALUE_NODE && text_is(g->nodes[s.node].op, "Concat") ? &g->nodes[s.node] : NULL;
	int at = 0, count;
	if (graph_ints(g, shape, out, n, &count))
		return;
	for (int i = 0; concat && i < concat->input_count && at < n; i++) {
		graph_value part = concat->inputs[i];
		if (graph_ints(g, part, out + at, n - at, &count)) {
			for (int end = at + count; at < end; at++) // -1: the rest, which is no symbol's number
				out[at] = out[at] < 0 ? graph_unknown(g) : out[at];
			continue;
		}
		if (value_dim(g, part, 0) != 1)
			break;
		out[at] = 0;
		for (int k = 0; k < g->symbol_count; k++)
			if (g->symbol_values[k].id == part.id)
				out[at] = -1 - k;
		if (!out[at])
			out[at] = graph_unknown(g);
		at++;
	}
	for (; at < n; at++)
		out[at] = graph_unknown(g);
}

graph_value op_expand(struct graph *g, graph_value x, graph_value shape)
{
	if (!graph_alive(g, x) || !graph_alive(g, shape))
		return NO_VALUE;
	const struct value_info v = *VALUE(g, x);
	int64_t n = value_dim(g, shape, 0), ints[TENSOR_MAX_RANK], dim[TENSOR_MAX_RANK];
	int count;
	bool known = graph_ints(g, shape, ints, TENSOR_MAX_RANK, &count);
	if (value_rank(g, shape) != 1 || n < 0 || n > TENSOR_MAX_RANK) {
		graph_fail(g, STATUS_FAILED, "Expand of %s by %s: the rank of the new shape is not known", graph_value_text(g, x),
			graph_value_text(g, shape));
		return NO_VALUE;
	}
	int rank = v.rank > (int)n ? v.rank : (int)n;
	int64_t to[TENSOR_MAX_RANK];
	graph_shape_parts(g, shape, (int)n, to);
	for (int i = 0; i < rank; i++) {
		int64_t x_dim = i < rank - v.rank ? 1 : v.dim[i - (rank - v.rank)];
		int64_t to_dim = i < rank - (int)n ? 1 : to[i - (rank - (int)n)];
		dim[i] = x_dim != 1 ? x_dim : to_dim;
		if (x_dim >= 0 && x_dim != 1 && to_dim >= 0 && to_dim != 1 && to_dim != x_dim) {
			graph_fail(g, STATUS_FAILED, "Expand of %s to %s: dimension %d differs", graph_value_text(g, x),
				graph_shape_text(g, (int)n, to), i);
			return NO_VALUE;
		}
	}
	if (rank == v.rank && !memcmp(dim, v.dim, (size_t)rank * sizeof *dim) && known)
		return x;
	return graph_node(g, "Expand", "", (graph_value[]){ x, shape }, 2, NULL, 0, NODE_OUTPUT(v.dtype, rank, dim));
}

// The same symbol is the same number wherever it stands: it is read once, from the first value that has it.
graph_value op_dim(struct graph *g, graph_value x, int axis)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	int at = graph_axis(g, x, axis);
	int64_t n = value_dim(g, x, at), index = at;
	if (n >= 0)
		return graph_i64s(g, 1, &n);
	graph_value *known = &g->symbol_values[-1 - n];
	if (!known->id) {
		int64_t rank = value_rank(g, x);
		graph_value shape = graph_node(g, "Shape", "", &x, 1, NULL, 0, NODE_OUTPUT(DTYPE_I64, 1, &rank));
		graph_value dim = op_gather(g, shape, graph_i64s(g, 1, &index), 0);
		known = &g->symbol_values[-1 - n];
		*known = dim;
	}
	return *known;
}

graph_value op_shape(struct graph *g, graph_value x)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	graph_value dim[TENSOR_MAX_RANK];
	int rank = value_rank(g, x);
	if (!rank)
		return graph_constant(g, DTYPE_I64, 1, (int64_t[]){ 0 }, "");
	for (int i = 0; i < rank; i++)
		dim[i] = op_dim(g, x, i);
	return op_concat(g, rank, dim, 0);
}

int64_t graph_scalar_dim(const struct graph *g, graph_value v)
{
	const struct value_info *i = &g->values[v.id];
	const struct node *n = i->kind == VALUE_NODE ? &g->nodes[i->node] : NULL;
	int64_t number;
	int count;

	if (graph_ints(g, v, &number, 1, &count))
		return number >= 0 ? number : INT64_MIN;
	for (int k = 0; n && text_is(n->op, "Squeeze") && k < g->symbol_count; k++)
		if (g->symbol_values[k].id == n->inputs[0].id)
			return -1 - k;
	return INT64_MIN;
}

graph_value op_range(struct graph *g, graph_value begin, graph_value end, graph_value step)
{
	if (!graph_alive(g, begin) || !graph_alive(g, end) || !graph_alive(g, step))
		return NO_VALUE;
	const graph_value parts[] = { begin, end, step };
	int64_t b, e, s, n, *ints;
	int count;
	for (int i = 0; i < 3; i++)
		if (value_rank(g, parts[i]) != 0 || (i == 2 && graph_ints(g, step, &s, 1, &count) && !s)) {
			graph_fail(g, STATUS_FAILED, "Range of %s: scalars are needed, and a step that is not 0",
				graph_values_text(g, parts, 3));
			return NO_VALUE;
		}
	if (graph_ints(g, begin, &b, 1, &count) && graph_ints(g, end, &e, 1, &count) && graph_ints(g, step, &s, 1, &count) &&
		s > 0 && e >= b && (e - b) / s < 1 << 16) {
		n = (e - b + s - 1) / s;
		ints = ARENA_ARRAY(&g->arena, (size_t)n + 1, int64_t);
		for (int64_t i = 0; i < n; i++)
			ints[i] = b + i * s;
		return graph_i64s(g, (int)n, ints);
	}
	// From 0 in steps of 1 to a dimension: as long as that dimension.
	n = graph_ints(g, begin, &b, 1, &count) && !b && graph_ints(g, step, &s, 1, &count) && s == 1 ? graph_scalar_dim(g, end)
												      : INT64_MIN;
	n = n == INT64_MIN ? graph_unknown(g) : n;
	return graph_node(g, "Range", "", parts, 3, NULL, 0, NODE_OUTPUT(value_dtype(g, begin), 1, &n));
}

graph_value op_trilu(struct graph *g, graph_value x, bool upper, int64_t k)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	graph_value by = graph_i64(g, k);
	const struct value_info v = *VALUE(g, x);
	if (v.rank < 2) {
		graph_fail(g, STATUS_FAILED, "Trilu of %s: it takes matrices", graph_value_text(g, x));
		return NO_VALUE;
	}
	return graph_node(g, "Trilu", "", (graph_value[]){ x, by }, 2, (struct attribute[]){ ATTR_I("upper", upper) }, 1,
		NODE_OUTPUT(v.dtype, v.rank, v.dim));
}
