// SPDX-License-Identifier: Apache-2.0
// crossover.h: stretches and their sentence. Knows nothing of rows or stores.
#include "report/crossover.h"

#include <math.h>
#include <stdbool.h>

static double low(const struct crossover_point *p)
{
	return isnan(p->low_ms) ? p->latency_ms : p->low_ms;
}

static double high(const struct crossover_point *p)
{
	return isnan(p->high_ms) ? p->latency_ms : p->high_ms;
}

// 0 or 1; -1 where it cannot be told.
static int faster_at(const struct crossover_point *a, const struct crossover_point *b)
{
	return high(a) < low(b) ? 0 : high(b) < low(a) ? 1 : -1;
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
		const int faster = faster_at(p, &sides[1].points[k]);

		x.first = x.common ? x.first : p->batch;
		x.last = p->batch;
		x.common++;
		if (faster < 0)
			continue;
		if (!x.count || x.stretches[x.count - 1].faster != faster)
			x.stretches[x.count++] = (struct crossover_stretch){ .faster = faster, .first = p->batch };
		x.stretches[x.count - 1].last = p->batch;
	}
	*out = x;
}

const char *crossover_sentence(struct arena *a, const struct crossover_side sides[2], const struct crossover *x)
{
	const char *out = "";

	if (x->common < 2)
		return NULL;
	if (x->count == 0)
		return arena_printf(a, "%s against %s: which is faster cannot be told at any batch from %lld to %lld", sides[0].name, sides[1].name, (long long)x->first,
			(long long)x->last);
	if (x->count == 1) {
		const struct crossover_stretch *s = x->stretches;
		const bool whole = s->first == x->first && s->last == x->last;
		const char *faster = sides[s->faster].name, *slower = sides[!s->faster].name;

		return whole ? arena_printf(a, "%s is faster than %s from batch %lld to %lld; no crossover was measured", faster, slower, (long long)s->first,
				       (long long)s->last)
		     : s->first == s->last
			     ? arena_printf(a, "%s is faster than %s at batch %lld; at the others from %lld to %lld it cannot be told", faster, slower, (long long)s->first,
				       (long long)x->first, (long long)x->last)
			     : arena_printf(a, "%s is faster than %s from batch %lld to %lld; at the others from %lld to %lld it cannot be told", faster, slower,
				       (long long)s->first, (long long)s->last, (long long)x->first, (long long)x->last);
	}
	for (size_t i = 1; i < x->count; i++) {
		const struct crossover_stretch *before = &x->stretches[i - 1], *now = &x->stretches[i];

		out = arena_printf(a, "%s%s%s becomes faster than %s between batch %lld and %lld", out, i > 1 ? ", " : "", sides[now->faster].name,
			sides[before->faster].name, (long long)before->last, (long long)now->first);
	}
	return out;
}
