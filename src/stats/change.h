// SPDX-License-Identifier: Apache-2.0
// Where a series changed: E-divisive (Matteson and James, A Nonparametric Approach for Multiple Change Point Analysis of
// Multivariate Data, JASA 109, 2014), which asks nothing of how the points are spread. Of the points only the order counts, not
// the time between them.
#ifndef ASSAY_STATS_CHANGE_H
#define ASSAY_STATS_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum {
	CHANGE_LEAST = 12,  // points below which nothing can be said: too few orders of them to be unlikely by chance
	CHANGE_SEGMENT = 3, // points between two changes, at least
	CHANGE_MOST = 400,  // points that are looked at; the time grows with their square
	CHANGE_DRAWS = 999, // permutations of a test
};
#define CHANGE_LEVEL 0.01 // a series that does not change is said to have changed in at most this share of cases

struct change {
	size_t at; // index of the first point after the change
	double p;  // share of permutations whose best change is as good
};

// Changes in the order of the points, in `a`. No changes and false where there are fewer than CHANGE_LEAST points. The first
// change is tested against the whole series, the next one against the parts that are left, until a test finds none. Only the last
// CHANGE_MOST points are looked at. The same series and seed give the same answer.
bool change_find(const double *x, size_t count, uint64_t seed, struct arena *a, struct change **out, size_t *out_count);

#endif
