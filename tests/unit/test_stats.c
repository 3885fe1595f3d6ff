// SPDX-License-Identifier: Apache-2.0
// Tier: fast
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "stats/stats.h"

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
	near(odd[0], 5); // the caller's order stays
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
	static const struct {
		double p;
		size_t floor;
	} cases[] = { { 50, 11 }, { 90, 64 }, { 95, 130 }, { 99, 662 }, { 75, 64 }, { 10, 64 }, { 97, 662 } };
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
	assert_true(isnan(stats_percentile(x, 1000, 0)) && isnan(stats_percentile(x, 1000, 100)) &&
		isnan(stats_percentile(x, 1000, 99.9)));
}

static void stability(void **state)
{
	const double steady[] = { 11, 10, 10.5, 10, 10.2, 10, 10.1, 10.3, 10 };
	const double drifting[] = { 10, 10, 10, 11, 11, 11, 12, 12, 12 };
	const double scattered[] = { 10, 10, 10, 12, 12, 12, 11, 11, 11 };
	const double late[] = { 900, 800, 10, 10, 10, 10, 10, 10, 10, 10, 10 }; // windows count from the end
	const double within[] = { 100, 100, 100, 104.9, 104.9, 104.9, 100, 100, 100 },
		     beyond[] = { 100, 100, 100, 105.1, 105.1, 105.1, 100, 100, 100 };
	struct stats_stability s;

	(void)state;
	s = stats_stability(drifting, 9);
	assert_true(!s.is_stable && !s.windows_agree && s.is_drift && s.size == 3);
	near(s.apart, 1.2);
	near(s.median[1], 11);
	s = stats_stability(scattered, 9);
	assert_true(!s.is_stable && !s.windows_agree && !s.is_drift);
	s = stats_stability(steady, 8);
	assert_true(!s.is_stable && !s.size && isnan(s.apart) && isnan(s.cv));
	assert_true(stats_stability(late, 11).windows_agree);
	assert_true(stats_stability(within, 9).is_stable);
	assert_false(stats_stability(beyond, 9).is_stable);
}

// Windows whose medians agree are not enough: two kinds of runs, and a single outlier, are no stable row.
static void stability_sees_outliers(void **state)
{
	double x[662];
	struct stats_stability s;

	(void)state;
	for (size_t i = 0; i < 662; i++)
		x[i] = 10 + 0.1 * (double)(i % 3);
	assert_true(stats_stability(x, 662).is_stable);
	x[300] = 10000;
	s = stats_stability(x, 662);
	assert_true(s.windows_agree && s.spread_is_small && !s.tail_is_short && !s.is_stable);
	assert_true(s.cv > 5 && s.slowest > 900);
	for (size_t i = 0; i < 20; i++)
		x[i] = i % 2 ? 10 : 14;
	x[19] = x[17] = x[11] = x[5] = 12; // the medians of windows are alike
	s = stats_stability(x, 20);
	assert_true(!s.spread_is_small && s.tail_is_short && !s.is_stable);
	for (size_t i = 0; i < 11; i++)
		x[i] = 10;
	x[4] = 18;
	assert_true(stats_stability(x, 11).is_stable);
	x[4] = 25;
	assert_false(stats_stability(x, 11).is_stable);
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
			x[i] = y[i] = floor(20 * uniform(count, i)); // many are equal
		near(stats_median_of(y, count), stats_median(x, count));
	}
	assert_true(isnan(stats_median_of(x, 0)));
}

// Ranks from tables of the binomial distribution, and that each is the narrowest pair that keeps 95 %.
static void median_ranks(void **state)
{
	static const struct {
		size_t count, rank;
	} known[] = { { 0, 0 }, { 5, 0 }, { 6, 1 }, { 8, 1 }, { 9, 2 }, { 11, 2 }, { 12, 3 }, { 17, 5 }, { 30, 10 }, { 64, 24 },
		{ 100, 40 }, { 662, 306 } };
	double x[30], low, high;

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		assert_int_equal(stats_median_rank(known[i].count), known[i].rank);
	for (size_t n = STATS_INTERVAL_LEAST; n <= 100; n++) {
		double choose = pow(0.5, (double)n), outside = 0;
		size_t k = stats_median_rank(n);

		for (size_t i = 0; i < k; i++) {
			outside += 2 * choose;
			choose *= (double)(n - i) / (double)(i + 1);
		}
		assert_true(outside <= 0.05 && outside + 2 * choose > 0.05);
	}
	assert_in_range(stats_median_rank(1000000), 499019, 499021); // n / 2 - 0.98 sqrt(n)
	for (size_t i = 0; i < 30; i++)
		x[i] = (double)((i * 7) % 30); // 0 to 29, mixed
	assert_true(stats_median_interval(x, 30, &low, &high));
	near(low, 9);
	near(high, 20);
	assert_false(stats_median_interval(x, 5, &low, &high));
	assert_true(isnan(low) && isnan(high));
}

static double normal(uint64_t seed, uint64_t i)
{
	return sqrt(-2 * log(1 - uniform(seed, 2 * i))) * cos(2 * M_PI * uniform(seed, 2 * i + 1));
}

enum distribution { NORMAL, LOGNORMAL, BIMODAL, HEAVY, DISTRIBUTIONS };
static const struct {
	const char *name;
	double median;
} distributions[] = {
	[NORMAL] = { "normal", 10 },
	[LOGNORMAL] = { "lognormal", 1 },
	[BIMODAL] = { "bimodal", 10 + 0.1 * 0.96742156610170103 }, // 60 % around 10, 40 % around 20
	[HEAVY] = { "heavy tail", 2 },                             // Pareto's with exponent 1: it has no mean
};

static double draw(enum distribution d, uint64_t seed, uint64_t i)
{
	double z = normal(seed, i), u = uniform(seed + 7919, i);

	return d == NORMAL ? 10 + z : d == LOGNORMAL ? exp(z) : d == BIMODAL ? (u < 0.6 ? 10 : 20) + 0.1 * z : 1 / (1 - u);
}

static double share_held(enum distribution d, size_t runs)
{
	enum { SERIES = 4000 };
	double x[64], low, high;
	size_t held = 0;

	for (uint64_t series = 0; series < SERIES; series++) {
		for (size_t i = 0; i < runs; i++)
			x[i] = draw(d, 100003 * series + runs, i);
		assert_true(stats_median_interval(x, runs, &low, &high));
		held += low <= distributions[d].median && distributions[d].median <= high;
	}
	return (double)held / SERIES;
}

// A 95 % interval that holds the median in 81 % of cases is none: by simulation, and against what the binomial distribution
// promises.
static void median_interval_covers(void **state)
{
	static const struct {
		size_t runs;
		double promised;
	} sizes[] = { { 6, 0.96875 }, { 11, 0.98828125 }, { 17, 0.950958251953125 }, { 30, 0.95722605474293232 },
		{ 64, 0.96723424093 } };

	(void)state;
	for (enum distribution d = 0; d < DISTRIBUTIONS; d++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			double held = share_held(d, sizes[i].runs);

			printf("%s, %zu runs: %.2f %% hold the median\n", distributions[d].name, sizes[i].runs, 100 * held);
			assert_true(held >= 0.93 && fabs(held - sizes[i].promised) < 0.015);
		}
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
		cmocka_unit_test(medians),
		cmocka_unit_test(extremes),
		cmocka_unit_test(percentiles_have_floors),
		cmocka_unit_test(stability),
		cmocka_unit_test(stability_sees_outliers),
		cmocka_unit_test(variation),
		cmocka_unit_test(median_selects),
		cmocka_unit_test(median_ranks),
		cmocka_unit_test(median_interval_covers),
		cmocka_unit_test(slopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
