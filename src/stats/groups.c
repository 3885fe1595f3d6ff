// SPDX-License-Identifier: Apache-2.0
#include "stats/groups.h"

#include <math.h>
#include <stdlib.h>

#define WIDTH_MOST 0.25 // of the distance from the other values

static int by_value(const void *x, const void *y)
{
	const double a = ((const struct groups_value *)x)->value, b = ((const struct groups_value *)y)->value;

	return (a > b) - (a < b);
}

void groups_order(struct groups_value *v, size_t count)
{
	qsort(v, count, sizeof *v, by_value);
}

static void take_group(const struct groups_value *v, size_t count, struct groups_figures *out)
{
	const double n = (double)count, base = v[0].value;
	double above = 0, above2 = 0, error = 0, error2 = 0;

	for (size_t i = 0; i < count; i++) {
		above += v[i].value - base;
		above2 += (v[i].value - base) * (v[i].value - base);
		error += v[i].error;
		error2 += v[i].error * v[i].error;
	}
	out->groups++;
	out->values += count;
	out->spread2 += fmax(0, above2 - above * above / n);
	out->error2 += fmax(0, error2 - error * error / n);
	out->largest += n * fmax(fabs(base), fabs(v[count - 1].value));
}

struct groups_figures groups_at(const struct groups_value *v, size_t count, double distance, size_t least)
{
	struct groups_figures out = { 0 };

	for (size_t first = 0, i = 1; first < count; i++) {
		if (i < count && v[i].value - v[i - 1].value <= distance)
			continue;
		if (i - first >= least && v[i - 1].value - v[first].value <= WIDTH_MOST * distance)
			take_group(v + first, i - first, &out);
		first = i;
	}
	return out;
}
