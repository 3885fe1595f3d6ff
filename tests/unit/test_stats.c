// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "measure/stats.h"

static void near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-12);
}

static void medians(void **state)
{
	const double odd[] = { 5, 1, 3 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 };

	(void)state;
	near(stats_median(odd, 3), 3);
	near(stats_median(even, 4), 2.5);
	near(stats_median(one, 1), 7);
	assert_true(isnan(stats_median(one, 0)));
	near(odd[0], 5);                         // the caller's order stays
}

static void extremes(void **state)
{
	const double x[] = { 2, 9, -1, 4 };

	(void)state;
	near(stats_min(x, 4), -1);
	near(stats_max(x, 4), 9);
	assert_true(isnan(stats_min(x, 0)) && isnan(stats_max(x, 0)));
}

static void percentiles_have_floors(void **state)
{
	static const struct { double p; size_t floor; } cases[] = { { 50, 11 }, { 90, 64 }, { 95, 130 }, { 99, 662 }, { 75, 64 }, { 10, 64 }, { 97, 662 } };
	double x[1000];

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		x[i] = (double)(999 - i);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t n = cases[i].floor;

		assert_true(isnan(stats_percentile(x, n - 1, cases[i].p)));
		// x[0..n) is 999, 998, ... 999 - (n - 1)
		near(stats_percentile(x, n, cases[i].p), 999 - (double)(n - 1) * (1 - cases[i].p / 100));
	}
	assert_true(isnan(stats_percentile(x, 1000, 0)) && isnan(stats_percentile(x, 1000, 100)) && isnan(stats_percentile(x, 1000, 99.9)));
}

static void stability(void **state)
{
	const double steady[] = { 90, 10, 10.5, 10, 10.2, 10, 10.1, 10.3, 10 };
	const double drifting[] = { 10, 10, 10, 11, 11, 11, 12, 12, 12 };
	const double scattered[] = { 10, 10, 10, 12, 12, 12, 11, 11, 11 };
	const double late[] = { 900, 800, 10, 10, 10, 10, 10, 10, 10, 10, 10 };       // windows count from the end
	const double within[] = { 100, 100, 100, 104.9, 104.9, 104.9, 100, 100, 100 }, beyond[] = { 100, 100, 100, 105.1, 105.1, 105.1, 100, 100, 100 };
	struct stats_windows w;

	(void)state;
	assert_true(stats_windows(steady, 9).is_stable);
	w = stats_windows(drifting, 9);
	assert_true(!w.is_stable && w.is_drift && w.size == 3);
	near(w.apart, 1.2);
	near(w.median[1], 11);
	w = stats_windows(scattered, 9);
	assert_true(!w.is_stable && !w.is_drift);
	w = stats_windows(steady, 8);
	assert_true(!w.is_stable && !w.size && isnan(w.apart));
	assert_true(stats_windows(late, 11).is_stable);
	assert_true(stats_windows(within, 9).is_stable);
	assert_false(stats_windows(beyond, 9).is_stable);
}

static void variation(void **state)
{
	const double x[] = { 2, 4, 4, 4, 5, 5, 7, 9 }, same[] = { 3, 3, 3 };

	(void)state;
	near(stats_cv(x, 8), sqrt(32.0 / 7) / 5);
	near(stats_cv(same, 3), 0);
	assert_true(isnan(stats_cv(x, 1)));
}

static double uniform(uint64_t seed, uint64_t i)
{
	return (double)(splitmix64(seed, i) >> 11) * 0x1p-53;
}

static void median_selects(void **state)
{
	double x[101], y[101];

	(void)state;
	for (size_t count = 1; count <= 101; count++) {
		for (size_t i = 0; i < count; i++)
			x[i] = y[i] = floor(20 * uniform(count, i));         // many are equal
		near(stats_median_of(y, count), stats_median(x, count));
	}
	assert_true(isnan(stats_median_of(x, 0)));
}

// Of 400 samples of uniform noise with a known median, nearly 95 % of the intervals hold it; and of noise that is its own neighbour.
static void median_interval(void **state)
{
	enum { SERIES = 400, RUNS = 64 };
	double x[RUNS], low, high, low2, high2;
	size_t held = 0, held_alike = 0;

	(void)state;
	for (uint64_t series = 0; series < SERIES; series++) {
		for (size_t i = 0; i < RUNS; i++)
			x[i] = 10 + uniform(series, i);
		assert_true(stats_median_interval(x, RUNS, 1, &low, &high));
		assert_true(low <= high && low >= stats_min(x, RUNS) && high <= stats_max(x, RUNS));
		held += low <= 10.5 && high >= 10.5;
		for (size_t i = 0; i < RUNS; i++)                            // pairs that are the same
			x[i] = 10 + uniform(series + 10000, i / 2);
		stats_median_interval(x, RUNS, 1, &low, &high);
		held_alike += low <= 10.5 && high >= 10.5;
	}
	printf("intervals that hold the median: %zu of %d, of pairs %zu\n", held, SERIES, held_alike);
	assert_in_range(held, SERIES * 90 / 100, SERIES * 99 / 100);
	assert_in_range(held_alike, SERIES * 85 / 100, SERIES * 99 / 100);
	stats_median_interval(x, RUNS, 7, &low, &high);
	stats_median_interval(x, RUNS, 7, &low2, &high2);
	assert_true(memcmp(&low, &low2, sizeof low) == 0 && memcmp(&high, &high2, sizeof high) == 0);
	assert_false(stats_median_interval(x, 10, 1, &low, &high));
	assert_true(isnan(low) && isnan(high));
}

static void slopes(void **state)
{
	const double line[] = { 5, 7, 9, 11, 13, 15 }, jump[] = { 0, 50, 50, 50, 50, 50, 50, 50 };
	double slope, low, high, x[40];
	size_t called = 0;

	(void)state;
	assert_true(stats_slope(line, 6, &slope, &low, &high));
	near(slope, 2);
	near(low, 2);
	near(high, 2);
	assert_true(stats_slope(jump, 8, &slope, &low, &high));
	near(slope, 0);
	assert_true(low <= 0);
	assert_false(stats_slope(line, 4, &slope, &low, &high));
	assert_true(isnan(slope) && isnan(low));
	for (uint64_t series = 0; series < 400; series++) {
		for (size_t i = 0; i < 20; i++)
			x[i] = uniform(series, i);
		assert_true(stats_slope(x, 20, &slope, &low, &high) && low <= slope && slope <= high);
		called += low > 0 || high < 0;
		for (size_t i = 0; i < 20; i++)
			x[i] += (double)i;
		stats_slope(x, 20, &slope, &low, &high);
		assert_true(low > 0 && fabs(slope - 1) < 0.1);
	}
	printf("slopes called in noise without one: %zu of 400\n", called);
	assert_in_range(called, 4, 36);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(medians), cmocka_unit_test(extremes), cmocka_unit_test(percentiles_have_floors), cmocka_unit_test(stability),
		cmocka_unit_test(variation), cmocka_unit_test(median_selects), cmocka_unit_test(median_interval), cmocka_unit_test(slopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
