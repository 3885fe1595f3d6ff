// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Change points in series whose truth is known: found where they are, and not found where there are none. All seeded.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash.h"
#include "stats/change.h"

static struct {
	uint64_t seed, drawn;
} noise;

static double uniform(void)
{
	return ((double)(splitmix64(noise.seed, noise.drawn++) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

enum shape { NORMAL, HEAVY, LOPSIDED, SHAPES };

// Heavy: one point in ten is disturbed by up to 30 %. Lopsided: times are never much shorter than they can be.
static double draw(enum shape shape)
{
	double x = shape == LOPSIDED ? -0.02 * log(uniform()) : 0.02 * normal();

	return shape == HEAVY && uniform() < 0.1 ? x + 0.3 * uniform() : x;
}

static void nothing_is_found_in_noise(void **state)
{
	enum { SERIES = 200, MOST = 60 };
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < SERIES; i++) {
		double x[MOST];
		size_t n = CHANGE_LEAST + i % (MOST - CHANGE_LEAST + 1), count;
		struct arena a = { 0 };
		struct change *changes;

		noise.seed = 1000 + i;
		noise.drawn = 0;
		for (size_t k = 0; k < n; k++)
			x[k] = draw((enum shape)(i % SHAPES));
		assert_true(change_find(x, n, i, &a, &changes, &count));
		found += count > 0;
		arena_done(&a);
	}
	// One in a hundred is promised: 2 are expected, more than 6 would come in one of 220 such tests.
	printf("%zu of %d series of noise were said to have changed\n", found, SERIES);
	if (found > 6)
		fail_msg("%zu of %d series of noise were said to have changed", found, SERIES);
}

// 15 points before, 12 behind: five standard deviations of the noise apart.
static void a_known_change_is_found(void **state)
{
	enum { SERIES = 60, AT = 15, COUNT = 27 };
	size_t found = 0, near = 0;

	(void)state;
	for (size_t i = 0; i < SERIES; i++) {
		double x[COUNT];
		struct arena a = { 0 };
		struct change *changes;
		size_t count;

		noise.seed = 5000 + i;
		noise.drawn = 0;
		for (size_t k = 0; k < COUNT; k++)
			x[k] = draw((enum shape)(i % SHAPES)) + (k >= AT ? 0.1 : 0);
		assert_true(change_find(x, COUNT, i, &a, &changes, &count));
		found += count > 0;
		for (size_t k = 0; k < count; k++)
			near += changes[k].at + 1 >= AT && changes[k].at <= AT + 1;
		arena_done(&a);
	}
	printf("found in %zu, at most one point off in %zu of %d\n", found, near, SERIES);
	if (found < SERIES * 95 / 100 || near < SERIES * 90 / 100)
		fail_msg("found in %zu, at most one point off in %zu of %d", found, near, SERIES);
}

static void several_changes(void **state)
{
	double x[60];
	struct arena a = { 0 };
	struct change *changes, *again;
	size_t count, same;

	(void)state;
	noise.seed = 9;
	noise.drawn = 0;
	for (size_t k = 0; k < 60; k++)
		x[k] = 0.02 * normal() + (k < 20 ? 0 : k < 40 ? 0.2 : 0.1);
	assert_true(change_find(x, 60, 1, &a, &changes, &count));
	assert_int_equal(count, 2);
	assert_in_range(changes[0].at, 19, 21);
	assert_in_range(changes[1].at, 39, 41);
	assert_true(changes[0].p <= CHANGE_LEVEL && changes[1].p <= CHANGE_LEVEL);
	assert_true(change_find(x, 60, 1, &a, &again, &same));
	assert_int_equal(same, count);
	assert_memory_equal(changes, again, count * sizeof *changes); // the same seed, the same answer
	arena_done(&a);
}

static void short_and_flat(void **state)
{
	double x[CHANGE_MOST + 50];
	struct arena a = { 0 };
	struct change *changes;
	size_t count = 7;

	(void)state;
	for (size_t k = 0; k < CHANGE_MOST + 50; k++)
		x[k] = k < CHANGE_LEAST / 2 ? 0 : 100;
	assert_false(change_find(x, CHANGE_LEAST - 1, 1, &a, &changes, &count));
	assert_int_equal(count, 0);
	assert_true(change_find(x, CHANGE_LEAST, 1, &a, &changes, &count)); // the shortest of which anything can be said
	assert_int_equal(count, 1);
	assert_int_equal(changes[0].at, CHANGE_LEAST / 2);
	assert_true(change_find(x + CHANGE_LEAST, CHANGE_LEAST, 1, &a, &changes, &count));
	assert_int_equal(count, 0); // every point the same
	for (size_t k = 0; k < CHANGE_MOST + 50; k++)
		x[k] = k < CHANGE_MOST - 50 ? 0.001 * (double)(k % 7) : 1 + 0.001 * (double)(k % 5);
	assert_true(change_find(x, CHANGE_MOST + 50, 1, &a, &changes, &count));
	assert_true(
		count >= 1 && changes[0].at == CHANGE_MOST - 50); // counted from the first point, also of what was not looked at
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_found_in_noise),
		cmocka_unit_test(a_known_change_is_found),
		cmocka_unit_test(several_changes),
		cmocka_unit_test(short_and_flat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
