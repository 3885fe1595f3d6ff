// SPDX-License-Identifier: Apache-2.0
// A learned bias for each head by bucket of distance (T5: Raffel et al. 2020, section 2.1, https://arxiv.org/abs/1910.10683).
#include <math.h>

#include "arch/block/block.h"

// Exact for the first half of the buckets, then by logarithm up to `farthest`. In float32 with the operations in the original's
// order: distances that are powers of each other fall on the edge of two buckets.
static int64_t bucket_of(int64_t distance, int64_t buckets, int64_t farthest)
{
	int64_t exact = buckets / 2;
	if (distance < exact)
		return distance;
	float ratio = (float)log((double)((float)distance / (float)exact));
	float by_log = ratio / (float)log((double)farthest / (double)exact) * (float)(buckets - exact);
	int64_t bucket = exact + (int64_t)by_log;
	return bucket < buckets ? bucket : buckets - 1;
}

graph_value distance_buckets(struct build *b, graph_value behind, int64_t buckets, int64_t farthest, bool both_ways)
{
	struct graph *g = b->g;
	int64_t side = both_ways ? buckets / 2 : buckets; // keys ahead of the query have the other half
	if (side < 2 || farthest <= side / 2 || farthest > 1 << 20) {
		graph_fail(g, STATUS_BAD_INPUT, "relative positions in %lld buckets up to %lld", (long long)buckets,
			(long long)farthest);
		return NO_VALUE;
	}
	struct arena passing = { 0 }; // built anew by every layer
	int64_t *table = GRAPH_TABLE(g, &passing, farthest + 1, 1, int64_t);
	for (int64_t i = 0; table && i <= farthest; i++)
		table[i] = bucket_of(i, side, farthest);
	graph_value zero = graph_i64(g, 0), distance = both_ways ? op_abs(g, behind) : op_max(g, behind, zero);
	graph_value bucket =
		op_gather(g, graph_i64s(g, (int)farthest + 1, table), op_min(g, distance, graph_i64(g, farthest)), 0);
	arena_done(&passing);
	if (both_ways)
		bucket = op_add(g, bucket, op_where(g, op_less(g, behind, zero), graph_i64(g, side), zero));
	return bucket;
}

graph_value distance_bias_of(struct build *b, const char *stem, graph_value query, graph_value key, int64_t rows, int64_t buckets,
	int64_t farthest, bool both_ways)
{
	struct graph *g = b->g;
	graph_enter(g, "relative");
	graph_value bucket =
		distance_buckets(b, op_sub(g, query, key), buckets, farthest, both_ways);         // negative: the key is ahead
	graph_value bias = op_gather(g, WEIGHT(b, stem, "weight", rows, b->s->heads), bucket, 0); // [seq, keys, heads]
	bias = op_unsqueeze(g, op_transpose(g, bias, 3, (int[]){ 2, 0, 1 }), 0);
	graph_leave(g);
	return bias; // [1, heads, seq, keys]
}

graph_value distance_bias(
	struct build *b, const char *stem, graph_value query, graph_value key, int64_t buckets, int64_t farthest, bool both_ways)
{
	return distance_bias_of(b, stem, query, key, buckets, buckets, farthest, both_ways);
}

graph_value offset_bias(struct build *b, const char *stem, int64_t heads, int64_t from, int64_t to, int64_t step)
{
	struct graph *g = b->g;
	int64_t queries = to * to, keys = from * from, count = 0, reach = from > to ? from : to, side = step * reach + 1;
	int64_t *at = GRAPH_TABLE(g, NULL, queries, keys, int64_t), *number = GRAPH_TABLE(g, NULL, side, side, int64_t);
	if (!at || !number)
		return NO_VALUE;
	for (int64_t i = 0; i < side * side; i++)
		number[i] = -1;
	for (int64_t q = 0; q < queries; q++)
		for (int64_t k = 0; k < keys; k++) {
			int64_t down = q / to * step - k / from, right = q % to * step - k % from;
			int64_t *n = &number[(down < 0 ? -down : down) * side + (right < 0 ? -right : right)];
			*n = *n < 0 ? count++ : *n;
			at[q * keys + k] = *n;
		}
	graph_value table = WEIGHT(b, stem, "", heads, count);
	return op_unsqueeze(g, op_gather(g, table, graph_constant(g, DTYPE_I64, 2, (int64_t[]){ queries, keys }, at), 1), 0);
}
