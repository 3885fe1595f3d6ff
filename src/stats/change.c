// SPDX-License-Identifier: Apache-2.0
// change.h. For a part X before and a part Y after it, of m and n points:
//   E(X, Y) = 2/(mn) sum |x - y| - 1/C(m,2) sum |x - x'| - 1/C(n,2) sum |y - y'|,   Q = mn/(m+n) E
// (equations 5 and 6 of the paper, exponent 1). A change in a segment is where Q is largest over the ends of X and of Y (equation
// 7). The test permutes the points within the segments that were found so far and asks how often the best change of those is as
// good (section 3.2).
#include "stats/change.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct cut {
	double q;
	size_t at;
}; // at 0: there is no room for one

struct search {
	size_t count;
	double *permuted;
	double *before;   // before[k * count + j]: distances of point k from those below j, of the segment at work
	size_t *end;      // of the segments, ascending; segment i begins at end[i - 1]
	struct cut *best; // of each
	size_t segments;
	uint64_t seed, drawn;
};

static double distance(double x, double y)
{
	return x < y ? y - x : x - y;
}

static struct cut best_cut(struct search *s, const double *x, size_t count)
{
	struct cut best = { 0, 0 };
	double left = 0; // distances within X

	if (count < 2 * CHANGE_SEGMENT)
		return best;
	for (size_t k = 0; k < count; k++) {
		double *row = s->before + k * s->count;

		row[0] = 0;
		for (size_t i = 0; i < k; i++)
			row[i + 1] = row[i] + distance(x[i], x[k]);
	}
	for (size_t k = 0; k + 1 < CHANGE_SEGMENT; k++)
		left += s->before[k * s->count + k];
	for (size_t m = CHANGE_SEGMENT; m + CHANGE_SEGMENT <= count; m++) {
		double between = 0, right = 0, a = (double)m;

		left += s->before[(m - 1) * s->count + m - 1];
		for (size_t k = m; k < count; k++) {
			const double *row = s->before + k * s->count;
			double b = (double)(k - m + 1);

			between += row[m];
			right += row[k] - row[m];
			if (b < CHANGE_SEGMENT)
				continue;
			double q =
				a * b / (a + b) * (2 / (a * b) * between - 2 / (a * (a - 1)) * left - 2 / (b * (b - 1)) * right);
			if (q > best.q)
				best = (struct cut){ q, m };
		}
	}
	return best;
}

static size_t segment_begin(const struct search *s, size_t i)
{
	return i ? s->end[i - 1] : 0;
}

static void permute(struct search *s, const double *x)
{
	memcpy(s->permuted, x, s->count * sizeof *x);
	for (size_t i = 0; i < s->segments; i++)
		for (size_t begin = segment_begin(s, i), k = s->end[i] - 1; k > begin; k--) { // Fisher and Yates
			size_t other = begin + (size_t)(splitmix64(s->seed, s->drawn++) % (k - begin + 1));
			double t = s->permuted[k];

			s->permuted[k] = s->permuted[other];
			s->permuted[other] = t;
		}
}

// How often chance does as well; it stops where that is known to be too often.
static double test(struct search *s, const double *x, double q)
{
	size_t as_good = 0, draws = 0;

	while (draws < CHANGE_DRAWS && (double)(as_good + 1) <= CHANGE_LEVEL * (CHANGE_DRAWS + 1)) {
		double best = 0;

		permute(s, x);
		draws++;
		for (size_t i = 0; i < s->segments; i++) {
			size_t begin = segment_begin(s, i);
			struct cut c = best_cut(s, s->permuted + begin, s->end[i] - begin);

			best = c.q > best ? c.q : best;
		}
		as_good += best >= q * (1 - 1e-12);
	}
	return (double)(as_good + 1) / (double)(draws + 1);
}

static void split(struct search *s, const double *x, size_t segment)
{
	size_t begin = segment_begin(s, segment), at = begin + s->best[segment].at;

	memmove(s->end + segment + 1, s->end + segment, (s->segments - segment) * sizeof *s->end);
	memmove(s->best + segment + 1, s->best + segment, (s->segments - segment) * sizeof *s->best);
	s->segments++;
	s->end[segment] = at;
	s->best[segment] = best_cut(s, x + begin, at - begin);
	s->best[segment + 1] = best_cut(s, x + at, s->end[segment + 1] - at);
}

static int by_place(const void *a, const void *b)
{
	size_t x = ((const struct change *)a)->at, y = ((const struct change *)b)->at;

	return (x > y) - (x < y);
}

bool change_find(const double *all, size_t count, uint64_t seed, struct arena *a, struct change **out, size_t *out_count)
{
	size_t skipped = count > CHANGE_MOST ? count - CHANGE_MOST : 0;
	const double *x = all + skipped;
	struct arena work = { 0 };
	struct search s = { .count = count - skipped, .segments = 1, .seed = seed };

	*out_count = 0;
	*out = ARENA_ARRAY(a, s.count / CHANGE_SEGMENT + 1, struct change);
	if (count < CHANGE_LEAST)
		return false;
	s.permuted = ARENA_ARRAY(&work, s.count, double);
	s.before = ARENA_ARRAY(&work, s.count * (s.count + 1), double);
	s.end = ARENA_ARRAY(&work, s.count + 1, size_t);
	s.best = ARENA_ARRAY(&work, s.count + 1, struct cut);
	s.end[0] = s.count;
	s.best[0] = best_cut(&s, x, s.count);
	for (;;) {
		size_t k = 0;
		double p;

		for (size_t i = 1; i < s.segments; i++)
			k = s.best[i].q > s.best[k].q ? i : k;
		if (s.best[k].at == 0 || (p = test(&s, x, s.best[k].q)) > CHANGE_LEVEL)
			break;
		(*out)[(*out_count)++] = (struct change){ skipped + segment_begin(&s, k) + s.best[k].at, p };
		split(&s, x, k);
	}
	qsort(*out, *out_count, sizeof **out, by_place);
	arena_done(&work);
	return true;
}
