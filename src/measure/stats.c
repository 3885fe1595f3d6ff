// SPDX-License-Identifier: Apache-2.0
// Order statistics of timed runs. No mean and no standard deviation: latencies are skewed, and one page fault moves both.
#include "measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

// Interpolated between the two order statistics around p.
static double at(const double *samples, size_t count, double p)
{
	double *sorted, position, result;
	size_t low;

	if (!count)
		return (double)NAN;
	sorted = malloc(count * sizeof *sorted);
	if (!sorted)
		return (double)NAN;
	memcpy(sorted, samples, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, ascending);
	position = p / 100 * (double)(count - 1);
	low = (size_t)position;
	result = low + 1 < count ? sorted[low] + (position - (double)low) * (sorted[low + 1] - sorted[low]) : sorted[count - 1];
	free(sorted);
	return result;
}

double stats_percentile(const double *samples, size_t count, double p)
{
	// Distance of p from the nearer end decides how many samples its order statistic needs.
	static const struct { double p; size_t floor; } floors[] = { { 50, 11 }, { 90, 64 }, { 95, 130 }, { 99, 662 } };
	double far = p < 50 ? 100 - p : p;
	size_t needed = 662;

	if (!(p > 0 && p < 100) || far > 99)
		return (double)NAN;
	for (size_t i = sizeof floors / sizeof *floors; i-- > 0;)
		if (far <= floors[i].p)
			needed = floors[i].floor;
	return count < needed ? (double)NAN : at(samples, count, p);
}

double stats_median(const double *samples, size_t count)
{
	return at(samples, count, 50);
}

double stats_min(const double *samples, size_t count)
{
	double least = count ? samples[0] : (double)NAN;

	for (size_t i = 1; i < count; i++)
		least = samples[i] < least ? samples[i] : least;
	return least;
}

double stats_max(const double *samples, size_t count)
{
	double most = count ? samples[0] : (double)NAN;

	for (size_t i = 1; i < count; i++)
		most = samples[i] > most ? samples[i] : most;
	return most;
}

bool stats_stable(const double *samples, size_t count)
{
	size_t window = count / 3;
	double least = INFINITY, most = 0;

	if (count < STATS_STABLE_LEAST)
		return false;
	for (size_t i = 0; i < 3; i++) {
		double median = stats_median(samples + count - (3 - i) * window, window);

		least = median < least ? median : least;
		most = median > most ? median : most;
	}
	return most <= least * 1.10;
}
