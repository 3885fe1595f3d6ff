// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
	const double short_run[] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	const double late[] = { 900, 800, 10, 10, 10, 10, 10, 10, 10, 10, 10 };       // windows count from the end

	(void)state;
	assert_true(stats_stable(steady, 9));
	assert_false(stats_stable(drifting, 9));
	assert_false(stats_stable(short_run, 8));
	assert_true(stats_stable(late, 11));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(medians), cmocka_unit_test(extremes), cmocka_unit_test(percentiles_have_floors), cmocka_unit_test(stability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
