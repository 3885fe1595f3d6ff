// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Noise of a seed: a number depends on the seed and its place alone; the numbers are spread as a normal distribution says.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "denoise/noise.h"

enum { COUNT = 100000 };
static float x[COUNT], y[COUNT];

static void places(void **unused)
{
	(void)unused;
	noise_normal(7, 0, x, 100);
	noise_normal(7, 0, y, 33);
	noise_normal(7, 33, y + 33, 67);
	assert_memory_equal(x, y, 100 * sizeof *x);
	noise_normal(8, 0, y, 100);
	for (size_t i = 0; i < 100; i++)
		assert_true(x[i] != y[i]);
}

// Computed from the formulas in Python.
static void golden(void **unused)
{
	static const double want[] = { -0.028249746, -1.065617648, -0.227919523, 0.083094168 };

	(void)unused;
	noise_normal(1, 0, x, 4);
	for (size_t i = 0; i < 4; i++)
		assert_true(fabs(x[i] - want[i]) < 1e-6);
}

static void spread(void **unused)
{
	double sum[4] = { 0 }, beside = 0;
	size_t within = 0;

	(void)unused;
	noise_normal(42, 0, x, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		assert_true(isfinite(x[i]));
		for (int k = 0; k < 4; k++)
			sum[k] += pow(x[i], k + 1) / COUNT;
		within += fabsf(x[i]) < 1;
		beside += i ? (double)x[i] * x[i - 1] / COUNT : 0;
	}
	// Five standard errors of each.
	assert_true(fabs(sum[0]) < 5 * sqrt(1.0 / COUNT));
	assert_true(fabs(sum[1] - 1) < 5 * sqrt(2.0 / COUNT));
	assert_true(fabs(sum[2]) < 5 * sqrt(15.0 / COUNT));
	assert_true(fabs(sum[3] - 3) < 5 * sqrt(96.0 / COUNT));
	assert_true(fabs((double)within / COUNT - 0.682689) < 5 * sqrt(0.2166 / COUNT));
	assert_true(fabs(beside) < 5 * sqrt(1.0 / COUNT));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(places), cmocka_unit_test(golden), cmocka_unit_test(spread) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
