// SPDX-License-Identifier: Apache-2.0
// Order statistics of timed runs, how sure they are, and whether the runs were of one kind. No mean stands for a latency:
// latencies are skewed, and one page fault moves it. That is what the coefficient of variation is good for: it sees the outliers
// that medians and quartiles are made not to see, so a row whose runs have them is not called stable.
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/order.h"

enum { SLOPE_LEAST = 5 };

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
	static const struct {
		double p;
		size_t floor;
	} floors[] = { { 50, 11 }, { 90, 64 }, { 95, 130 }, { 99, 662 } };
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

// The largest k with P(fewer than k of n fair coins are heads) <= 2.5 %. Probabilities by their logarithms: 2^-n is no double for
// large n.
size_t stats_median_rank(size_t count)
{
	const double n = (double)count, each_side = 0.025;
	double log_p = -n * log(2), below = 0;
	size_t k = 0;

	while (k < count && below + exp(log_p) <= each_side) {
		below += exp(log_p);
		log_p += log((n - (double)k) / ((double)k + 1));
		k++;
	}
	return k;
}

bool stats_median_interval(const double *samples, size_t count, double *low, double *high)
{
	size_t k = stats_median_rank(count);
	double *sorted = k ? malloc(count * sizeof *sorted) : NULL;

	*low = *high = (double)NAN;
	if (!sorted)
		return false;
	memcpy(sorted, samples, count * sizeof *sorted);
	order_ascending(sorted, count);
	*low = sorted[k - 1];
	*high = sorted[count - k];
	free(sorted);
	return true;
}

static void take_windows(struct stats_stability *s, const double *samples, size_t count)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < 3; i++) {
		s->median[i] = stats_median(samples + count - (3 - i) * s->size, s->size);
		least = s->median[i] < least ? s->median[i] : least;
		most = s->median[i] > most ? s->median[i] : most;
	}
	s->apart = least > 0 ? most / least : (double)NAN;
	s->windows_agree = most <= least * STATS_STABLE_WITHIN;
	s->is_drift = (s->median[0] < s->median[1] && s->median[1] < s->median[2]) ||
		(s->median[0] > s->median[1] && s->median[1] > s->median[2]);
}

struct stats_stability stats_stability(const double *samples, size_t count)
{
	struct stats_stability s = {
		.size = count < STATS_STABLE_LEAST ? 0 : count / 3, .apart = (double)NAN, .spread = (double)NAN, .cv = (double)NAN
	};
	double middle = stats_median(samples, count);

	if (!s.size)
		return s;
	take_windows(&s, samples, count);
	s.cv = stats_cv(samples, count);
	s.slowest = stats_max(samples, count) / middle;
	s.spread = (at(samples, count, 75) - at(samples, count, 25)) / middle;
	s.spread_is_small = s.spread <= STATS_STABLE_SPREAD;
	s.tail_is_short = s.cv <= STATS_STABLE_CV;
	s.is_stable = s.windows_agree && s.spread_is_small && s.tail_is_short;
	return s;
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
