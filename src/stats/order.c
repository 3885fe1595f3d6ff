// SPDX-License-Identifier: Apache-2.0
#include "stats/order.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void order_ascending(double *x, size_t count)
{
	if (count > 0)
		qsort(x, count, sizeof *x, by_value);
}

double order_quantile(const double *sorted, size_t count, double p)
{
	double position = p * (double)(count - 1);
	size_t low = (size_t)position;

	if (count == 0)
		return (double)NAN;
	return low + 1 < count ? sorted[low] + (position - (double)low) * (sorted[low + 1] - sorted[low]) : sorted[count - 1];
}
