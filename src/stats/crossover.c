// SPDX-License-Identifier: Apache-2.0
// crossover.h: stretches and their sentence. Knows nothing of rows or stores.
#include "stats/crossover.h"

#include <stdbool.h>

// 0 or 1; -1 where it cannot be told. Comparisons with NaN are false.
static int lower_at(const struct crossover_point *a, const struct crossover_point *b)
{
	return a->high_ms < b->low_ms ? 0 : b->high_ms < a->low_ms ? 1 : -1;
}

void crossover_find(struct crossover *out, struct arena *a, const struct crossover_side sides[2])
{
	struct crossover x = { .stretches = ARENA_ARRAY(a, sides[0].count + 1, struct crossover_stretch) };

	for (size_t i = 0, k = 0; i < sides[0].count; i++) {
		const struct crossover_point *p = &sides[0].points[i];

		while (k < sides[1].count && sides[1].points[k].batch < p->batch)
			k++;
		if (k == sides[1].count || sides[1].points[k].batch != p->batch)
			continue;
		const int lower = lower_at(p, &sides[1].points[k]);

		x.first = x.common ? x.first : p->batch;
		x.last = p->batch;
		x.common++;
		if (lower < 0)
			continue;
		if (!x.count || x.stretches[x.count - 1].lower != lower)
			x.stretches[x.count++] = (struct crossover_stretch){ .lower = lower, .first = p->batch };
		x.stretches[x.count - 1].last = p->batch;
	}
	*out = x;
}

static const char no_claim[] = " (one process a batch: no claim)";

// One side has the lower median wherever it can be told.
static const char *one_stretch(struct arena *a, const struct crossover_side sides[2], const struct crossover *x)
{
	const struct crossover_stretch *s = x->stretches;
	const char *out = arena_printf(a, "the median of %s is below that of %s", sides[s->lower].name, sides[!s->lower].name);

	out = s->first == s->last ? arena_printf(a, "%s at batch %lld", out, (long long)s->first)
				  : arena_printf(a, "%s from batch %lld to %lld", out, (long long)s->first, (long long)s->last);
	if (s->first != x->first || s->last != x->last)
		out = arena_printf(
			a, "%s; at the others from %lld to %lld it cannot be told", out, (long long)x->first, (long long)x->last);
	return arena_printf(a, "%s%s", out, no_claim);
}

const char *crossover_sentence(struct arena *a, const struct crossover_side sides[2], const struct crossover *x)
{
	const char *out = "";

	if (x->common < 2)
		return NULL;
	if (x->count == 0)
		return arena_printf(a, "%s against %s: which has the lower median cannot be told at any batch from %lld to %lld",
			sides[0].name, sides[1].name, (long long)x->first, (long long)x->last);
	if (x->count == 1)
		return one_stretch(a, sides, x);
	for (size_t i = 1; i < x->count; i++) {
		const struct crossover_stretch *before = &x->stretches[i - 1], *now = &x->stretches[i];

		out = arena_printf(a, "%s%sthe median of %s falls below that of %s between batch %lld and %lld", out,
			i > 1 ? ", " : "", sides[now->lower].name, sides[before->lower].name, (long long)before->last,
			(long long)now->first);
	}
	return arena_printf(a, "%s%s", out, no_claim);
}
