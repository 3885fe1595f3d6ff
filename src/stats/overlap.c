// SPDX-License-Identifier: Apache-2.0
#include "stats/overlap.h"

#include <math.h>

#include "base/arena.h"

double overlap_mean(const struct overlap *rows, size_t count)
{
	struct arena a = { 0 };
	double *both = ARENA_ARRAY(&a, OVERLAP_CLASSES_MOST, double), *either = ARENA_ARRAY(&a, OVERLAP_CLASSES_MOST, double);
	double sum = 0, classes = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].label >= 0 && rows[i].label < OVERLAP_CLASSES_MOST) {
			both[(size_t)rows[i].label] += rows[i].both;
			either[(size_t)rows[i].label] += rows[i].either;
		}
	for (size_t i = 0; i < OVERLAP_CLASSES_MOST; i++)
		if (either[i] > 0) {
			sum += both[i] / either[i];
			classes++;
		}
	arena_done(&a);
	return classes > 0 ? sum / classes : (double)NAN;
}
