// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Word error rate, average precision and mean intersection over union against what jiwer, pycocotools and scikit-learn make of
// the same (data/metrics.py made data/metrics.json).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "stats/detection.h"
#include "stats/overlap.h"
#include "stats/word_error.h"

static struct arena memory;
static json_t *known;

static int read_known(void **state)
{
	struct error err = { 0 };

	(void)state;
	if (json_file(arena_printf(&memory, "%s/tests/unit/data/metrics.json", TEST_SOURCE), 1 << 20, &known, &err))
		fail_msg("%s", err.text);
	return 0;
}

static int drop_known(void **state)
{
	(void)state;
	json_decref(known);
	arena_done(&memory);
	return 0;
}

static void near(double is, const json_t *wanted)
{
	if (!(fabs(is - json_number_value(wanted)) <= 1e-12))
		fail_msg("%.15g, not %.15g", is, json_number_value(wanted));
}

static void test_words(void **state)
{
	const json_t *of = json_object_get(known, "words"), *pairs = json_object_get(of, "pairs"), *pair;
	size_t i, errors, words, sum = 0, all = 0;

	(void)state;
	assert_true(json_array_size(pairs) > 50);
	json_array_foreach(pairs, i, pair)
	{
		const char *is = json_string_value(json_array_get(pair, 0)), *wanted = json_string_value(json_array_get(pair, 1));

		assert_true(word_error(is, wanted, &errors, &words));
		if (errors != (size_t)json_integer_value(json_array_get(pair, 2)) ||
			words != (size_t)json_integer_value(json_array_get(pair, 3)))
			fail_msg("pair %zu: %zu errors of %zu words", i, errors, words);
		assert_int_equal(word_error_words(wanted), words);
		sum += errors;
		all += words;
	}
	near((double)sum / (double)all, json_object_get(of, "rate"));
}

static void test_many_words(void **state)
{
	char *text = malloc(2 * (WORD_ERROR_WORDS_MOST + 1) + 1);
	size_t errors, words;

	(void)state;
	for (size_t i = 0; i <= WORD_ERROR_WORDS_MOST; i++)
		memcpy(text + 2 * i, "a ", 3);
	assert_int_equal(word_error_words(text), WORD_ERROR_WORDS_MOST + 1);
	assert_false(word_error(text, "a", &errors, &words));
	assert_false(word_error("a", text, &errors, &words));
	text[2 * WORD_ERROR_WORDS_MOST] = 0;
	assert_true(word_error("b", text, &errors, &words) && errors == words && words == WORD_ERROR_WORDS_MOST);
	free(text);
}

static void test_boxes(void **state)
{
	const json_t *sets = json_object_get(known, "boxes"), *set, *rows, *row;
	size_t i, k, n;

	(void)state;
	assert_true(json_array_size(sets) >= 5);
	json_array_foreach(sets, i, set)
	{
		const json_t *pictures = json_object_get(set, "pictures");
		struct detection *all = ARENA_ARRAY(&memory, 4096, struct detection);
		int64_t *first = ARENA_ARRAY(&memory, json_array_size(pictures) + 1, int64_t), count = 0;

		json_array_foreach(pictures, k, rows)
		{
			json_array_foreach(rows, n, row)
			{
				double x[7];

				for (size_t v = 0; v < 7; v++)
					x[v] = json_number_value(json_array_get(row, v));
				all[count++] = (struct detection){ x[0], x[1], x[2], { x[3], x[4], x[5], x[6] } };
			}
			first[k + 1] = count;
		}
		const struct average_precision is = average_precision(all, first, json_array_size(pictures));
		near(is.mean, json_object_get(set, "mean"));
		near(is.at_50, json_object_get(set, "at_50"));
	}
	assert_true(isnan(average_precision(NULL, (const int64_t[]){ 0 }, 0).mean));
	// A label that is no number, which only a file of scores can have, is of no class.
	const struct detection odd[] = { { DETECTION_TRUTH, 1, 0, { 0, 0, 9, 9 } },
		{ DETECTION_TRUTH, (double)NAN, 0, { 0, 0, 9, 9 } }, { DETECTION_FOUND, 1, 0.5, { 0, 0, 9, 9 } } };
	assert_true(average_precision(odd, (const int64_t[]){ 0, 3 }, 1).mean > 0.99);
}

static void test_masks(void **state)
{
	const json_t *sets = json_object_get(known, "masks"), *set, *picture;
	size_t i, k;

	(void)state;
	json_array_foreach(sets, i, set)
	{
		enum { CLASSES = 10 };
		struct overlap rows[64 * CLASSES];
		size_t count = 0;

		json_array_foreach(json_object_get(set, "pictures"), k, picture) for (int label = 0; label < CLASSES; label++)
		{
			const json_t *wanted = json_array_get(picture, 0), *is = json_array_get(picture, 1);
			struct overlap o = { label, 0, 0 };

			for (size_t n = 0; n < json_array_size(wanted); n++) {
				const json_int_t x = json_integer_value(json_array_get(wanted, n)),
						 y = json_integer_value(json_array_get(is, n));

				o.both += x == label && y == label;
				o.either += x != OVERLAP_IGNORED && (x == label || y == label);
			}
			rows[count++] = o;
		}
		near(overlap_mean(rows, count), json_object_get(set, "mean"));
	}
	assert_int_equal(i, 3);
	assert_true(isnan(overlap_mean(NULL, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_many_words),
		cmocka_unit_test(test_boxes),
		cmocka_unit_test(test_masks),
	};

	return cmocka_run_group_tests(tests, read_known, drop_known);
}
