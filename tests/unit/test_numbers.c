// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Numbers and dates of texts: those that TapasTokenizer of transformers finds (data/table_numbers.py made
// data/table_numbers.json), and how they are compared.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/json.h"
#include "pipeline/numbers.h"

static bool same(const struct quantity *q, const json_t *want)
{
	if (!json_is_array(want))
		return !q->is_date && q->x[0] == json_number_value(want);
	for (size_t i = 0; i < 3; i++)
		if (q->x[i] != json_number_value(json_array_get(want, i)))
			return false;
	return q->is_date;
}

static void test_found(void **state)
{
	const char *path = getenv("ASSAY_TEST_NUMBERS"); // another file than the one here
	struct arena a = { 0 };
	struct error err;
	json_t *known, *one, *want;
	size_t i, k;

	(void)state;
	if (json_file(
		    path ? path : arena_printf(&a, "%s/tests/unit/data/table_numbers.json", TEST_SOURCE), 1 << 24, &known, &err))
		fail_msg("%s", err.text);
	assert_true(json_array_size(known) >= 150);
	json_array_foreach(known, i, one)
	{
		const char *text = json_string_value(json_object_get(one, "text"));
		const json_t *found = json_object_get(one, "found");
		struct quantities got;

		quantities_of(&got, &a, text);
		if (got.count != json_array_size(found))
			fail_msg("'%s': %zu found, %zu expected", text, got.count, json_array_size(found));
		json_array_foreach(found, k, want) if (!same(&got.items[k], want))
			fail_msg("'%s': %zu is %g (%g, %g), %s expected", text, k, got.items[k].x[0], got.items[k].x[1],
				got.items[k].x[2], json_dumps(want, JSON_ENCODE_ANY));
		if (quantity_text_empty(text) != json_is_true(json_object_get(one, "empty")))
			fail_msg("'%s': is it empty?", text);
	}
	json_decref(known);
	arena_done(&a);
}

// Dates by what all of them say; a number and a date by nothing.
static void test_compared(void **state)
{
	const struct quantity five = { false, { 5 } }, seven = { false, { 7 } }, day = { true, { 2010, 5, 5 } },
			      month = { true, { 2007, 8, 0 } }, year = { true, { 2006, 0, 0 } }, may = { true, { 0, 5, 0 } };
	bool fields[3];

	(void)state;
	assert_false(quantities_compare(NULL, 0, fields));
	assert_true(quantities_compare((const struct quantity *[]){ &five, &seven }, 2, fields));
	assert_true(quantity_order(&five, &seven, fields) < 0 && quantity_order(&seven, &five, fields) > 0);
	assert_int_equal(quantity_order(&five, &five, fields), 0);
	assert_false(quantities_compare((const struct quantity *[]){ &five, &day }, 2, fields));
	assert_true(quantities_compare((const struct quantity *[]){ &day, &month }, 2, fields));
	assert_true(fields[0] && fields[1] && !fields[2]);
	assert_true(quantity_order(&month, &day, fields) < 0);
	assert_true(quantities_compare((const struct quantity *[]){ &day, &month, &year }, 3, fields));
	assert_true(fields[0] && !fields[1] && !fields[2]);
	assert_false(quantities_compare((const struct quantity *[]){ &year, &may }, 2, fields));
	assert_true(quantities_compare((const struct quantity *[]){ &day, &may }, 2, fields));
	assert_int_equal(quantity_order(&day, &may, fields), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_found), cmocka_unit_test(test_compared) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
