// SPDX-License-Identifier: Apache-2.0
// Operations that read or write by indices: gathering, scattering, and where something is.
#include "onnx/op.h"
#include "onnx/inside.h"

#include <string.h>

// With graph_form.index32: what is gathered by int64 is gathered by the same numbers in int32. Sizes read off a shape stay as
// they are.
static graph_value narrow_indices(struct graph *g, graph_value table, graph_value indices)
{
	const struct value_info i = *VALUE(g, indices), t = *VALUE(g, table);
	int32_t *small;

	if (!g->form.index32 || i.dtype != DTYPE_I64 || t.dtype == DTYPE_I64)
		return indices;
	if (!i.constant)
		return op_cast(g, indices, DTYPE_I32);
	size_t count = i.constant->nbytes / sizeof(int64_t);
	small = ARENA_ARRAY(graph_arena(g), count + 1, int32_t);
	for (size_t k = 0; k < count; k++) {
		int64_t n = ((const int64_t *)i.constant->data)[k];
		if (n < INT32_MIN || n > INT32_MAX)
			return indices;
		small[k] = (int32_t)n;
	}
	return graph_constant(g, DTYPE_I32, i.rank, i.dim, small);
}

// Is an index that is known outside a length that is known?
static bool index_outside(struct graph *g, graph_value indices, int64_t length)
{
	const struct tensor *c = value_constant(g, indices);

	for (size_t k = 0; c && length >= 0 && k < c->nbytes / dtype_size(c->dtype); k++) {
		int64_t at = c->dtype == DTYPE_I64 ? ((const int64_t *)c->data)[k]
			: c->dtype == DTYPE_I32    ? ((const int32_t *)c->data)[k]
						   : 0;
		if (at >= length || at < -length)
			return true;
	}
	return false;
}

graph_value op_gather(struct graph *g, graph_value table, graph_value indices, int axis)
{
	if (!graph_alive(g, table) || !graph_alive(g, indices))
		return NO_VALUE;
	int at = graph_axis(g, table, axis), rank = 0, count, index_count;
	const struct value_info t = *VALUE(g, table), i = *VALUE(g, indices);
	int64_t dim[2 * TENSOR_MAX_RANK], ints[TENSOR_MAX_RANK], index;
	if (g->failed || t.rank + i.rank - 1 > TENSOR_MAX_RANK || index_outside(g, indices, t.dim[at])) {
		graph_fail(g, STATUS_FAILED, "Gather from %s by %s at axis %d: an index is outside, or the rank too large",
			graph_value_text(g, table), graph_value_text(g, indices), axis);
		return NO_VALUE;
	}
	if (t.rank == 1 && graph_ints(g, table, ints, TENSOR_MAX_RANK, &count) &&
		graph_ints(g, indices, &index, 1, &index_count)) {
		index = index < 0 ? index + count : index;
		if (index >= 0 && index < count)
			return graph_constant(g, DTYPE_I64, i.rank, (int64_t[]){ 1 }, &ints[index]);
	}
	for (int k = 0; k < at; k++)
		dim[rank++] = t.dim[k];
	for (int k = 0; k < i.rank; k++)
		dim[rank++] = i.dim[k];
	for (int k = at + 1; k < t.rank; k++)
		dim[rank++] = t.dim[k];
	indices = narrow_indices(g, table, indices);
	if (!graph_alive(g, indices))
		return NO_VALUE;
	return graph_node(g, "Gather", "", (graph_value[]){ table, indices }, 2, (struct attribute[]){ ATTR_I("axis", at) }, 1,
		NODE_OUTPUT(t.dtype, rank, dim));
}

graph_value op_gather_nd(struct graph *g, graph_value x, graph_value indices, int batch_dims)
{
	if (!graph_alive(g, x) || !graph_alive(g, indices))
		return NO_VALUE;
	const struct value_info t = *VALUE(g, x), i = *VALUE(g, indices);
	int64_t dim[2 * TENSOR_MAX_RANK], depth = i.rank ? i.dim[i.rank - 1] : 0;
	int rank = 0;
	bool fits = batch_dims >= 0 && depth >= 1 && depth <= t.rank - batch_dims && i.rank > batch_dims;
	for (int k = 0; fits && k < batch_dims; k++)
		fits = t.dim[k] == i.dim[k] || t.dim[k] < 0 || i.dim[k] < 0;
	if (!fits) {
		graph_fail(g, STATUS_FAILED, "GatherND from %s by %s, %d dimensions of a batch: the indices do not fit",
			graph_value_text(g, x), graph_value_text(g, indices), batch_dims);
		return NO_VALUE;
	}
	for (int k = 0; k < i.rank - 1; k++)
		dim[rank++] = i.dim[k];
	for (int k = batch_dims + (int)depth; k < t.rank; k++)
		dim[rank++] = t.dim[k];
	return graph_node(g, "GatherND", "", (graph_value[]){ x, indices }, 2,
		(struct attribute[]){ ATTR_I("batch_dims", batch_dims) }, 1, NODE_OUTPUT(t.dtype, rank, dim));
}

graph_value op_gather_elements(struct graph *g, graph_value x, graph_value indices, int axis)
{
	if (!graph_alive(g, x) || !graph_alive(g, indices))
		return NO_VALUE;
	const struct value_info t = *VALUE(g, x), i = *VALUE(g, indices);
	int at = graph_axis(g, x, axis);
	bool fits = i.rank == t.rank && !index_outside(g, indices, t.dim[at]);
	for (int k = 0; fits && k < t.rank; k++)
		fits = k == at || i.dim[k] <= t.dim[k] || t.dim[k] < 0;
	if (g->failed || !fits) {
		graph_fail(g, STATUS_FAILED, "GatherElements from %s by %s at axis %d: the indices do not fit",
			graph_value_text(g, x), graph_value_text(g, indices), axis);
		return NO_VALUE;
	}
	return graph_node(g, "GatherElements", "", (graph_value[]){ x, indices }, 2, (struct attribute[]){ ATTR_I("axis", at) },
		1, NODE_OUTPUT(t.dtype, i.rank, i.dim));
}

// Do the dimensions agree, as far as they are known?
static bool agree(int64_t a, int64_t b)
{
	return a == b || a < 0 || b < 0;
}

static graph_value scatter(
	struct graph *g, const char *op, const graph_value *in, enum scatter_sum sum, bool fits, struct attribute *at, int count)
{
	static const char *const words[] = { "none", "add", "mul", "max", "min" };
	const struct value_info x = *VALUE(g, in[0]);

	if (!fits) {
		graph_fail(g, STATUS_FAILED, "%s into %s by %s of %s: the shapes do not fit", op, graph_value_text(g, in[0]),
			graph_value_text(g, in[1]), graph_value_text(g, in[2]));
		return NO_VALUE;
	}
	if (sum == SCATTER_MAX || sum == SCATTER_MIN)
		graph_need_opset(g, 18);
	if (sum != SCATTER_REPLACE)
		at[count++] = ATTR_S("reduction", words[sum]);
	return graph_node(g, op, "", in, 3, at, count, NODE_OUTPUT(x.dtype, x.rank, x.dim));
}

graph_value op_scatter_nd(struct graph *g, graph_value x, graph_value indices, graph_value updates, enum scatter_sum sum)
{
	if (!graph_alive(g, x) || !graph_alive(g, indices) || !graph_alive(g, updates))
		return NO_VALUE;
	const struct value_info t = *VALUE(g, x), i = *VALUE(g, indices), u = *VALUE(g, updates);
	int64_t depth = i.rank ? i.dim[i.rank - 1] : 0;
	bool fits = depth >= 1 && depth <= t.rank && u.rank == i.rank - 1 + t.rank - (int)depth;
	for (int k = 0; fits && k < u.rank; k++)
		fits = agree(u.dim[k], k < i.rank - 1 ? i.dim[k] : t.dim[k - (i.rank - 1) + depth]);
	return scatter(g, "ScatterND", (graph_value[]){ x, indices, updates }, sum, fits, (struct attribute[1]){ { 0 } }, 0);
}

graph_value op_scatter_elements(
	struct graph *g, graph_value x, graph_value indices, graph_value updates, int axis, enum scatter_sum sum)
{
	if (!graph_alive(g, x) || !graph_alive(g, indices) || !graph_alive(g, updates))
		return NO_VALUE;
	int at = graph_axis(g, x, axis);
	if (g->failed)
		return NO_VALUE;
	const struct value_info t = *VALUE(g, x), i = *VALUE(g, indices), u = *VALUE(g, updates);
	bool fits = i.rank == t.rank && u.rank == t.rank && !index_outside(g, indices, t.dim[at]);
	for (int k = 0; fits && k < t.rank; k++)
		fits = agree(i.dim[k], u.dim[k]) && (k == at || i.dim[k] <= t.dim[k] || t.dim[k] < 0);
	return scatter(g, "ScatterElements", (graph_value[]){ x, indices, updates }, sum, fits,
		(struct attribute[2]){ ATTR_I("axis", at) }, 1);
}

graph_value op_nonzero(struct graph *g, graph_value x)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	int rank = value_rank(g, x);
	if (!rank) {
		graph_fail(g, STATUS_FAILED, "NonZero of %s: a scalar has no indices", graph_value_text(g, x));
		return NO_VALUE;
	}
	return graph_node(g, "NonZero", "", &x, 1, NULL, 0, NODE_OUTPUT(DTYPE_I64, 2, (int64_t[]){ rank, graph_unknown(g) }));
}

void op_split(struct graph *g, graph_value x, int axis, graph_value lengths, int count, graph_value *out)
{
	struct arena *a = graph_arena(g);

	for (int i = 0; i < count; i++)
		out[i] = NO_VALUE;
	if (!graph_alive(g, x) || !graph_alive(g, lengths))
		return;
	const struct value_info v = *VALUE(g, x);
	int at = graph_axis(g, x, axis);
	if (g->failed)
		return;
	if (count < 1 || value_rank(g, lengths) != 1 || value_dim(g, lengths, 0) != count) {
		graph_fail(g, STATUS_FAILED, "Split of %s into %d pieces", graph_values_text(g, (graph_value[]){ x, lengths }, 2),
			count);
		return;
	}
	struct node_output *outputs = ARENA_ARRAY(a, (size_t)count, struct node_output);
	int64_t whole = graph_counted(g, v.dim[at]);
	for (int i = 0; i < count; i++) {
		int64_t *dim = ARENA_ARRAY(a, TENSOR_MAX_RANK, int64_t);
		memcpy(dim, v.dim, sizeof v.dim);
		dim[at] = graph_expected(g, whole < 0 ? -1 : whole / count + (i < whole % count));
		outputs[i] = (struct node_output){ arena_printf(a, "%d", i), v.dtype, v.rank, dim };
	}
	graph_node_of(g, "Split", "", (graph_value[]){ x, lengths }, 2, (struct attribute[]){ ATTR_I("axis", at) }, 1,
		&(struct node_outputs){ count, outputs, out });
}
