// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// --max-loss: how it is written, and what exceeds it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/loss.h"

static void limits_are_read(void **state)
{
	struct loss_limits l;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(loss_parse(&l, NULL, &err), STATUS_OK);
	assert_true(isnan(l.cosine) && isnan(l.top1) && isnan(l.perplexity) && isnan(l.nmse));
	assert_int_equal(loss_parse(&l, "cosine=0.001,top1=2%,perplexity=5%", &err), STATUS_OK);
	assert_true(fabs(l.cosine - 0.001) < 1e-12 && fabs(l.top1 - 0.02) < 1e-12 && fabs(l.perplexity - 0.05) < 1e-12 &&
		isnan(l.nmse));
	assert_int_equal(loss_parse(&l, "nmse=0", &err), STATUS_OK);
	assert_true(l.nmse <= 0);
}

static void other_words_are_refused(void **state)
{
	static const char *const bad[] = { "cosine", "cos=1", "cosine=", "cosine=x", "cosine=-1", "cosine=nan", "cosine=inf",
		"top1=2%%", "top1=2%,", ",top1=2%", "top1=2%,top1=100%", "cosine=0,cosine=1", "top1=1 ,nmse=2", "=1",
		"cosine=1;top1=1" };
	struct loss_limits l;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct error err = { 0 };

		assert_int_equal(loss_parse(&l, bad[i], &err), STATUS_BAD_INPUT);
		assert_non_null(strstr(err.text, "--max-loss"));
	}
}

static void more_than_a_limit_is_told(void **state)
{
	struct loss_limits l;
	struct arena a = { 0 };
	struct row r;
	bool known;

	(void)state;
	row_init(&r);
	r.cosine = 0.96;
	r.nmse = 0.08;
	assert_int_equal(loss_parse(&l, "cosine=0.05", NULL), STATUS_OK);
	assert_null(loss_beyond(&l, &r, &a, &known));
	assert_int_equal(loss_parse(&l, "cosine=0.03", NULL), STATUS_OK);
	assert_non_null(strstr(loss_beyond(&l, &r, &a, &known), "0.04 against float32, allowed 0.03"));
	assert_true(known);
	assert_int_equal(loss_parse(&l, "cosine=0.03,nmse=0.01,top1=1%", NULL), STATUS_OK);
	assert_string_equal(loss_beyond(&l, &r, &a, &known),
		"--max-loss: 1 - cosine similarity is 0.04 against float32, allowed 0.03; "
		"normalised mean squared error is 0.08 against float32, allowed 0.01; the limit top1=0.01 cannot be applied: the "
		"outputs of this model have no top-1 agreement");
	assert_true(known);
	// A limit on what is not there is not kept in silence.
	assert_int_equal(loss_parse(&l, "top1=1%", NULL), STATUS_OK);
	assert_non_null(loss_beyond(&l, &r, &a, &known));
	assert_false(known);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_read),
		cmocka_unit_test(other_words_are_refused),
		cmocka_unit_test(more_than_a_limit_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
