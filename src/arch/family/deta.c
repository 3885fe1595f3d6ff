// SPDX-License-Identifier: Apache-2.0
// How DETA chooses which places become queries (deformable_detr.h).
#include <float.h>

#include "arch/family/deformable_detr.h"

enum { BEST_OF_LEVEL = 1000 };

int64_t deta_places_most(int64_t levels)
{
	return BEST_OF_LEVEL * levels;
}

// The level of each place: i64 [places]
static graph_value level_numbers(struct graph *g, const struct deform_levels *l)
{
	graph_value all[DEFORM_LEVELS_MOST];
	for (int64_t i = 0; i < l->count; i++)
		all[i] = op_expand(g, graph_i64(g, i), op_mul(g, l->height[i], l->width[i]));
	return op_concat(g, (int)l->count, all, 0);
}

// The best places of each level, one level after the other: i64 [batch, candidates]. Where a level has fewer places, places of
// others follow, as they do in the class; they count for their own level.
static graph_value candidates(struct graph *g, const struct deform_levels *l, graph_value level, graph_value score)
{
	graph_value all[DEFORM_LEVELS_MOST], share = op_sigmoid(g, score);
	for (int64_t i = 0; i < l->count && !graph_failed(g); i++) {
		graph_value is = op_cast(g, op_equal(g, level, graph_i64(g, i)), DTYPE_F32);
		op_topk_indices(g, op_mul(g, share, is), BEST_OF_LEVEL, 1, false, &all[i]);
	}
	return graph_failed(g) ? NO_VALUE : op_concat(g, (int)l->count, all, 1);
}

// Centre and size to two corners within the picture: [.., 4]
static graph_value corners(struct graph *g, graph_value box)
{
	graph_value centre = op_slice(g, box, 2, 0, 2), half = op_scale(g, op_slice(g, box, 2, 2, 4), 0.5f);
	graph_value both[] = { op_sub(g, centre, half), op_add(g, centre, half) };
	return op_min(g, op_max(g, op_concat(g, 2, both, 2), graph_f32(g, 0)), graph_f32(g, 1));
}

// Which of the candidates no better one of their level covers: bool [batch, candidates]. level i64 [batch, candidates], score
// [batch, candidates], box [batch, candidates, 4]: corners
static graph_value uncovered(
	struct graph *g, int64_t levels, int64_t count, graph_value level, graph_value score, graph_value box)
{
	graph_value each = op_unsqueeze(g, op_range(g, graph_i64(g, 0), graph_i64(g, levels), graph_i64(g, 1)), 1);
	graph_value is = op_equal(g, op_unsqueeze(g, level, 1), each); // [batch, levels, candidates]
	graph_value scores = op_where(g, is, op_unsqueeze(g, score, 1), graph_f32(g, -FLT_MAX));
	graph_value taken = op_nms(g, box, scores, count, 0.9f, -FLT_MAX / 2);
	graph_value at = op_concat(g, 2, (graph_value[]){ op_slice(g, taken, 1, 0, 1), op_slice(g, taken, 1, 2, 3) }, 1);
	graph_value ones = op_expand(g, graph_i64(g, 1), op_dim(g, taken, 0));
	graph_value none = op_expand(g, graph_i64(g, 0), op_shape(g, level));
	return op_cast(g, op_scatter_nd(g, none, at, ones, SCATTER_REPLACE), DTYPE_BOOL);
}

// The first `most` of each row that are so, bool [batch, count]; most: i64, broadcast to [batch, count]
static graph_value first_of(struct graph *g, graph_value is, graph_value most)
{
	return op_and(g, is, op_less_or_equal(g, op_cumsum(g, op_cast(g, is, DTYPE_I64), 1), most));
}

// n of the listed places, in the order of the list: of each level n / levels, then the first of the rest. level i64 and listed
// bool [batch, count], at least n of each row. i64 [batch, n]: where in the list.
static graph_value balanced(struct graph *g, int64_t levels, int64_t count, graph_value level, graph_value listed, int64_t n)
{
	graph_value chosen = NO_VALUE, most = graph_i64(g, n / levels), best;
	for (int64_t i = 0; i < levels; i++) {
		graph_value of_level = op_and(g, listed, op_equal(g, level, graph_i64(g, i)));
		graph_value first = first_of(g, of_level, most);
		chosen = i ? op_or(g, chosen, first) : first;
	}
	graph_value missing = op_reduce_sum(g, op_cast(g, chosen, DTYPE_I64), 1, true);
	missing = op_sub(g, graph_i64(g, n), missing);
	chosen = op_or(g, chosen, first_of(g, op_and(g, listed, op_not(g, chosen)), missing));
	graph_value from_end = op_range(g, graph_i64(g, count), graph_i64(g, 0), graph_i64(g, -1));
	graph_value key = op_where(g, chosen, op_cast(g, from_end, DTYPE_F32), graph_f32(g, 0));
	op_topk_indices(g, key, n, 1, false, &best);
	return best;
}

graph_value deta_places(struct build *b, const struct deform_levels *l, graph_value score, graph_value box, int64_t n)
{
	struct graph *g = b->g;
	int64_t count = deta_places_most(l->count);
	graph_value level = level_numbers(g, l), at = candidates(g, l, level, score), order, best;
	graph_value logit = op_gather_elements(g, score, at, 1);
	graph_value frame = corners(g, op_sigmoid(g, rows_at(g, box, at)));
	graph_value left = uncovered(g, l->count, count, op_gather(g, level, at, 0), logit, frame);
	op_topk_indices(g, op_where(g, left, logit, graph_f32(g, -FLT_MAX)), count, 1, false, &order);
	graph_value listed = op_gather_elements(g, at, order, 1);
	op_topk_indices(g, score, n, 1, false, &best);
	best = op_pad(g, best, 1, 0, count - n);
	graph_value there = op_reduce_sum(g, op_cast(g, left, DTYPE_I64), 1, true), all = graph_i64(g, n); // [batch, 1]
	graph_value few = op_less(g, there, all);
	listed = op_where(g, few, best, listed);
	graph_value number = op_range(g, graph_i64(g, 0), graph_i64(g, count), graph_i64(g, 1));
	graph_value valid = op_less(g, op_unsqueeze(g, number, 0), op_where(g, few, all, there));
	graph_value chosen = balanced(g, l->count, count, op_gather(g, level, listed, 0), valid, n);
	return op_gather_elements(g, listed, chosen, 1);
}
