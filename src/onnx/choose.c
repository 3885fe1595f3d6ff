// SPDX-License-Identifier: Apache-2.0
// Which numbers of a row are the greatest, and of equal ones which torch.topk takes on a processor.
//
// An indexer of sparse attention scores a key by a sum over heads of what a ReLU gave. With few heads several scores are exactly
// 0, and where the last place falls among these, torch has what a partition leaves in front: std::nth_element of C++ as libstdc++
// writes it, introselect (Musser 1997) by Hoare's partition with the median of three. Numbers that are not 0 are equal by
// accident of rounding: of those the first.
//
//   while more than 3 are left   the median of the second, the middle and the last changes places with the first: the pivot. Of
//                                the others, the nth from the left that is not greater than the pivot changes places with the
//                                nth from the right that is not less, while the one stands before the other; where they meet is
//                                the cut. On goes the side that has the last place
//   of the rest                  the first of equals
//
// All rows go side by side, each exchange of a partition at once. What follows on 2 log2(n) partitions there, and in torch on
// 64 * top numbers and more, goes by a heap, and is not here: the first of equals then, too.
#include <float.h>

#include "onnx/inside.h"
#include "onnx/op.h"

enum { SORTED = 3, HEAP = 64 };

struct search {
	graph_value x;      // [a, b, c, n]
	graph_value place;  // i64, of that shape: 0, 1, .. in each row
	graph_value length; // i64 [1]: n
	int64_t top;
};

// Where more than are sorted are left between first and end, i64 [a, b, c, 1]: bool
static graph_value is_open(struct graph *g, graph_value first, graph_value end)
{
	return op_less(g, graph_i64(g, SORTED), op_sub(g, end, first));
}

static graph_value any_open(struct graph *g, graph_value first, graph_value end)
{
	graph_value open = op_reshape(g, op_cast(g, is_open(g, first, end), DTYPE_I64), 1, (int64_t[]){ -1 });
	return op_cast(g, op_reduce_max(g, open, 0, false), DTYPE_BOOL);
}

// Where the pivot stands in open rows of x, 0 in others: i64 [a, b, c, 1]
static graph_value median_of_three(struct graph *g, graph_value x, graph_value first, graph_value end)
{
	graph_value one = graph_i64(g, 1), half = op_div(g, op_sub(g, end, first), graph_i64(g, 2));
	graph_value at[] = { op_add(g, first, one), op_add(g, first, half), op_sub(g, end, one) }, v[3];
	graph_value open = op_cast(g, is_open(g, first, end), DTYPE_I64);
	for (int i = 0; i < 3; i++) {
		at[i] = op_mul(g, at[i], open);
		v[i] = op_gather_elements(g, x, at[i], 3);
	}
	graph_value by_last = op_greater(g, v[0], v[2]), middle_last = op_greater(g, v[1], v[2]);
	graph_value falling = op_where(g, middle_last, at[1], op_where(g, by_last, at[2], at[0]));
	graph_value rising = op_where(g, by_last, at[0], op_where(g, middle_last, at[2], at[1]));
	return op_where(g, op_greater(g, v[0], v[1]), falling, rising);
}

// One partition. state: the places in x in their order, i64 [a, b, c, n], first and end of what is left.
static void partition(struct graph *g, const struct search *s, const graph_value *state, graph_value *next)
{
	graph_value place = s->place, first = state[1], end = state[2], zero = graph_i64(g, 0);
	graph_value open = is_open(g, first, end), x = op_gather_elements(g, s->x, state[0], 3);
	graph_value at = median_of_three(g, x, first, end), pivot = op_gather_elements(g, x, at, 3);
	graph_value head = op_gather_elements(g, x, op_mul(g, first, op_cast(g, open, DTYPE_I64)), 3);
	x = op_where(g, op_equal(g, place, at), head, x);

	graph_value inside = op_and(g, op_less(g, first, place), op_less(g, place, end));
	graph_value left = op_and(g, inside, op_not(g, op_greater(g, x, pivot)));
	graph_value right = op_and(g, inside, op_not(g, op_greater(g, pivot, x)));
	graph_value is_left = op_cast(g, left, DTYPE_I64), is_right = op_cast(g, right, DTYPE_I64);
	graph_value nth_left = op_cumsum(g, is_left, 3), nth_right = op_cumsum_from(g, is_right, 3, false, true);
	graph_value goes_right = op_and(g, left, op_less_or_equal(g, nth_left, op_sub(g, nth_right, is_right)));
	graph_value goes_left = op_and(g, right, op_less_or_equal(g, nth_right, op_sub(g, nth_left, is_left)));

	// Who changes places: the nth to go right in slot n, the nth to go left n before the end; slot 0 is of all the others.
	graph_value slot = op_where(g, goes_right, nth_left, op_where(g, goes_left, op_sub(g, s->length, nth_right), zero));
	graph_value slots = op_scatter_elements(g, place, slot, place, 3, SCATTER_REPLACE);
	graph_value other = op_where(g, goes_right, op_sub(g, s->length, nth_left), op_where(g, goes_left, nth_right, zero));
	graph_value goes = op_or(g, goes_right, goes_left);
	graph_value from = op_where(g, goes, op_gather_elements(g, slots, other, 3), place);
	from = op_where(g, op_equal(g, from, first), at, op_where(g, op_equal(g, from, at), first, from)); // the pivot's exchange
	next[0] = op_gather_elements(g, state[0], op_where(g, open, from, place), 3);

	graph_value stops = op_or(g, goes_left, op_and(g, left, op_not(g, goes_right)));
	graph_value cut = op_reduce_min(g, op_where(g, stops, place, s->length), 3, true);
	graph_value after = op_less(g, cut, graph_i64(g, s->top)); // the last place is behind the cut
	next[1] = op_where(g, op_and(g, open, after), cut, first);
	next[2] = op_where(g, op_and(g, open, op_not(g, after)), cut, end);
}

// Places in x, i64 [a, b, c, n]: in `tied` rows, whose first `count` are compared, an order with the chosen ones in front.
static graph_value searched(struct graph *g, const struct search *s, graph_value tied, graph_value count)
{
	graph_value end = op_where(g, tied, count, graph_i64(g, 0)), first = op_sub(g, end, end), next[3];
	struct loop l = { .begins = any_open(g, first, end), .state_count = 3, .first = { s->place, first, end } };
	op_loop_begin(g, &l);
	partition(g, s, l.state, next);
	op_loop_end(g, &l, any_open(g, next[1], next[2]), next, 0, NULL);
	return l.last[0];
}

// Of x, which has `above` greater than the least that is chosen, and `equal` ones: `left` of these, the first.
static graph_value with_first_equals(struct graph *g, graph_value above, graph_value equal, graph_value left)
{
	graph_value nth = op_cumsum(g, op_cast(g, equal, DTYPE_I64), 3);
	return op_or(g, above, op_and(g, equal, op_less_or_equal(g, nth, left)));
}

graph_value op_choose(struct graph *g, graph_value x, graph_value count, int64_t top)
{
	if (!graph_alive(g, x))
		return NO_VALUE;
	graph_value rows[] = { op_dim(g, x, 0), op_dim(g, x, 1), op_dim(g, x, 2), graph_i64s(g, 1, &top) };
	graph_value rest = op_expand(g, graph_f32(g, -FLT_MAX), op_concat(g, 4, rows, 0)); // n may be less
	graph_value greatest = op_topk(g, op_concat(g, 2, (graph_value[]){ x, rest }, 3), top);
	graph_value least = op_slice(g, greatest, 3, top - 1, top); // [a, b, c, 1]
	graph_value above = op_greater(g, x, least), equal = op_equal(g, x, least);
	graph_value left = op_sub(g, graph_i64(g, top), op_reduce_sum(g, op_cast(g, above, DTYPE_I64), 3, true));
	if (!graph_get_form(g)->torch_ties)
		return with_first_equals(g, above, equal, left);

	struct search s = { .x = x, .length = op_dim(g, x, 3), .top = top };
	graph_value zero = graph_i64(g, 0), columns = op_range(g, zero, op_squeeze(g, s.length, 0), graph_i64(g, 1));
	s.place = op_expand(g, columns, op_shape(g, x));
	for (int i = 0; i < 4; i++)
		graph_assume(g, s.place, i, value_dim(g, x, i));
	count = count.id ? count : s.length;
	graph_value tied = op_less(g, left, op_reduce_sum(g, op_cast(g, equal, DTYPE_I64), 3, true));
	tied = op_and(g, tied, op_equal(g, least, graph_f32(g, 0)));
	tied = op_and(g, tied, op_less(g, count, graph_i64(g, HEAP * top)));
	graph_value order = searched(g, &s, tied, count);
	x = op_gather_elements(g, x, order, 3);
	graph_value chosen = with_first_equals(g, op_greater(g, x, least), op_equal(g, x, least), left);
	chosen = op_scatter_elements(g, s.place, order, op_cast(g, chosen, DTYPE_I64), 3, SCATTER_REPLACE);
	return op_cast(g, chosen, DTYPE_BOOL);
}
