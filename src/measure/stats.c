// SPDX-License-Identifier: Apache-2.0
// Order statistics of timed runs, how sure they are, and whether the runs were of one kind. No mean stands for a latency: latencies are
// skewed, and one page fault moves it; the coefficient of variation is given because people ask for it, and decides nothing.
#include "measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/order.h"

enum { RESAMPLES = 1000, SLOPE_LEAST = 5 };

// The percentile of samples in any order.
static double at(const double *samples, size_t count, double p)
{
	double *sorted = count ? malloc(count * sizeof *sorted) : NULL, result;

	if (!sorted)
		return (double)NAN;
	memcpy(sorted, samples, count * sizeof *sorted);
	order_ascending(sorted, count);
	result = order_quantile(sorted, count, p / 100);
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

// Puts the k-th smallest in its place, none larger before it (Hoare's Find).
static double select_kth(double *x, size_t count, size_t k)
{
	ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, wanted = (ptrdiff_t)k;

	while (low < high) {
		double pivot = x[wanted];
		ptrdiff_t i = low, j = high;

		do {
			while (x[i] < pivot)
				i++;
			while (pivot < x[j])
				j--;
			if (i <= j) {
				double t = x[i];
				x[i++] = x[j];
				x[j--] = t;
			}
		} while (i <= j);
		if (j < wanted)
			low = i;
		if (wanted < i)
			high = j;
	}
	return x[k];
}

double stats_median_of(double *x, size_t count)
{
	double upper, lower;

	if (!count)
		return (double)NAN;
	upper = select_kth(x, count, count / 2);
	if (count % 2)
		return upper;
	lower = x[0];
	for (size_t i = 1; i < count / 2; i++)
		lower = x[i] > lower ? x[i] : lower;
	return (lower + upper) / 2;
}

double stats_cv(const double *samples, size_t count)
{
	double sum = 0, squares = 0, mean;

	for (size_t i = 0; i < count; i++)
		sum += samples[i];
	mean = sum / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (samples[i] - mean) * (samples[i] - mean);
	return count < 2 || !(mean > 0) ? (double)NAN : sqrt(squares / (double)(count - 1)) / mean;
}

bool stats_median_interval(const double *samples, size_t count, uint64_t seed, double *low, double *high)
{
	size_t length = (size_t)ceil(sqrt((double)count));
	double *medians, *drawn;
	uint64_t n = 0;

	*low = *high = (double)NAN;
	if (isnan(stats_percentile(samples, count, 50)))
		return false;
	medians = malloc(RESAMPLES * sizeof *medians);
	drawn = malloc(count * sizeof *drawn);
	for (size_t r = 0; r < RESAMPLES && medians && drawn; r++) {
		for (size_t filled = 0; filled < count;) {
			size_t at = (size_t)(((splitmix64(seed, n++) >> 32) * (uint64_t)count) >> 32);

			for (size_t k = 0; k < length && filled < count; k++)
				drawn[filled++] = samples[(at + k) % count];
		}
		medians[r] = stats_median_of(drawn, count);
	}
	if (medians && drawn) {
		*low = at(medians, RESAMPLES, 2.5);
		*high = at(medians, RESAMPLES, 97.5);
	}
	free(medians);
	free(drawn);
	return !isnan(*low);
}

struct stats_windows stats_windows(const double *samples, size_t count)
{
	struct stats_windows w = { .size = count < STATS_STABLE_LEAST ? 0 : count / 3 };
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < 3 && w.size; i++) {
		w.median[i] = stats_median(samples + count - (3 - i) * w.size, w.size);
		least = w.median[i] < least ? w.median[i] : least;
		most = w.median[i] > most ? w.median[i] : most;
	}
	w.apart = w.size && least > 0 ? most / least : (double)NAN;
	w.is_stable = w.size && most <= least * STATS_STABLE_WITHIN;
	w.is_drift = w.size && ((w.median[0] < w.median[1] && w.median[1] < w.median[2]) || (w.median[0] > w.median[1] && w.median[1] > w.median[2]));
	return w;
}

bool stats_slope(const double *y, size_t count, double *slope, double *low, double *high)
{
	const double n = (double)count, normal_95 = 1.9599639845400545;
	size_t pairs = count * (count ? count - 1 : 0) / 2, k = 0;
	double *slopes, half;

	*slope = *low = *high = (double)NAN;
	slopes = count < SLOPE_LEAST ? NULL : malloc(pairs * sizeof *slopes);
	if (!slopes)
		return false;
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			slopes[k++] = (y[j] - y[i]) / (double)(j - i);
	order_ascending(slopes, pairs);
	*slope = order_quantile(slopes, pairs, 0.5);
	half = normal_95 * sqrt(n * (n - 1) * (2 * n + 5) / 18);
	double first = floor(((double)pairs - half) / 2), last = ceil(((double)pairs + half) / 2);
	*low = slopes[first > 0 ? (size_t)first : 0];
	*high = slopes[last < (double)(pairs - 1) ? (size_t)last : pairs - 1];
	free(slopes);
	return true;
}
