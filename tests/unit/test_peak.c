// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// A peak is one: windows that still rise are not the end, and what a limit cut off says so.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cell/peak.h"

struct record {
	const double *rate;
	size_t count, at;
	int64_t ns;
};

static enum status window(void *context, double *rate, struct error *err)
{
	struct record *r = context;

	if (r->rate[r->at] < 0)
		return error_set(err, STATUS_FAILED, "window %zu", r->at);
	*rate = r->rate[r->at];
	r->at += r->at + 1 < r->count;
	r->ns += 50;
	return STATUS_OK;
}

static int64_t now(void *context)
{
	return ((struct record *)context)->ns;
}

static struct peak find(const double *rate, size_t count, int64_t limit)
{
	struct record r = { rate, count, 0, 0 };
	struct peak p;

	assert_int_equal(peak_find(&(struct peak_source){ &r, window, now }, limit, &p, NULL), STATUS_OK);
	return p;
}

static void settles(void **state)
{
	// A clock that goes up slowly, with a pause on the way; then a neighbour takes a CPU, which lowers no peak.
	const double rising[] = { 120, 206, 206, 207, 206, 250, 290, 310, 325, 329, 200, 328, 180, 329, 329 };
	const double flat[] = { 100 }, ever[] = { 1, 2, 4, 8, 16, 32, 64, 128 }, broken[] = { 5, -1 };
	struct record r = { broken, 2, 0, 0 };
	struct error err = { 0 };
	struct peak p = find(rising, sizeof rising / sizeof *rising, 0);

	(void)state;
	assert_true(p.settled && p.best > 328.9 && p.best < 329.1 && p.windows == 15);
	assert_true(p.lowest > 179.9 && p.lowest < 180.1);
	p = find(flat, 1, 0);
	assert_true(p.settled && p.windows == 1 + PEAK_QUIET && p.lowest == p.best);
	p = find(ever, 8, 200);
	assert_true(!p.settled && p.windows == 4 && p.best > 7.9 && p.best < 8.1);
	p = find(ever, 8, 1);
	assert_true(!p.settled && p.windows == 2);
	assert_int_equal(peak_find(&(struct peak_source){ &r, window, now }, 0, &p, &err), STATUS_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(settles) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
