// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// A reduced precision against float32: a ratio of two rows claims nothing; six processes a side, each a row, may. The figures are
// made up.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/against.h"
#include "base/text.h"
#include "store_rows.h"

static char *folder;

static void ok(const struct error *err, enum status status)
{
	if (status != STATUS_OK)
		fail_msg("%s", err->text);
}

static int64_t start(struct store *s, struct cell_result *r)
{
	struct cell c = test_cell("m", "cpu");
	struct error err = { 0 };

	c.synthetic = true;
	ok(&err, store_started(s, &c, "k", &r->row.row, &err));
	return r->row.row;
}

// One process whose runs scatter by some percent around `ms`.
static struct cell_result process(double ms, const char *precision)
{
	static double times[64][5];
	static size_t next;
	double *t = times[next++ % 64];
	struct cell_result r = test_result(0, "m", "cpu", VERDICT_RIGHT);

	for (size_t i = 0; i < 5; i++)
		t[i] = ms * (1 + 0.01 * (double)((i * 3 + next) % 5));
	r.sample_ms = t;
	r.sample_count = 5;
	r.row.latency_ms = t[2];
	r.row.precision = precision;
	return r;
}

static void finish(struct store *s, struct cell_result r)
{
	struct error err = { 0 };

	start(s, &r);
	ok(&err, store_finished(s, &r, &err));
}

static struct cell_result against(struct store *s, double ms)
{
	struct cell_result r = process(ms, "float16");
	struct error err = { 0 };

	start(s, &r);
	ok(&err, against_float32(&r, s, &s->arena, &err));
	ok(&err, store_finished(s, &r, &err));
	return r;
}

static void claims(void **state)
{
	struct store s = { 0 };
	struct error err = { 0 };
	struct machine m = test_machine();
	char path[4200];

	(void)state;
	folder = test_folder();
	snprintf(path, sizeof path, "%s/a.duckdb", folder);
	ok(&err, test_store_open(&s, path, &err));
	ok(&err, store_begin_run(&s, &m, "test", &err));
	struct cell_result r = against(&s, 20);
	assert_true(isnan(r.row.against_float32) && !r.row.against_float32_claim); // nothing to be held against
	finish(&s, process(10, NULL));
	r = against(&s, 20);
	assert_true(r.row.against_float32 > 1.8 && r.row.against_float32_row == 2); // twice the time, of one process
	assert_string_equal(r.row.against_float32_claim, "cannot tell");
	assert_string_equal(r.row.against_float32_why, "1 process in float32 and 2 in float16; 6 of each are needed");
	struct cell_result other = process(1, NULL); // of another version: another question
	other.row.engine_version = "2.0";
	for (size_t i = 0; i < 6; i++)
		finish(&s, other);
	for (size_t i = 0; i < 4; i++)
		finish(&s, process(10 + 0.02 * (double)i, NULL));
	for (size_t i = 0; i < 3; i++)
		r = against(&s, 20);
	assert_string_equal(r.row.against_float32_why, "5 processes in float32 and 5 in float16; 6 of each are needed");
	finish(&s, process(10, NULL));
	r = against(&s, 20);
	assert_string_equal(r.row.against_float32_claim, "slower");
	assert_true(text_starts(r.row.against_float32_why, "6 processes in float32 and 6 in float16: ratio "));
	ok(&err, store_end_run(&s, &err));
	store_close(&s);
	test_folder_done(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(claims) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
