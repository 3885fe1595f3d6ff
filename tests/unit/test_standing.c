// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Which rows count, in C and in SQL alike, and what stands beside their numbers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text.h"
#include "question/standing.h"
#include "store_rows.h"

static struct row made(enum verdict v, const char *requested, const char *actual, const char *engine, const char *source)
{
	struct row r;

	row_init(&r);
	r.model = "m";
	r.verdict = verdict_word(v);
	r.requested = requested;
	r.actual = actual;
	r.engine = engine;
	r.reference = "engine:openvino-f32";
	r.source = source;
	return r;
}

static void test_what_counts(void **state)
{
	struct row ours = made(VERDICT_RIGHT, "cuda", "cuda", "ort", NULL),
		   elsewhere = made(VERDICT_RIGHT, "cuda", "cpu", "ort", NULL);
	struct row nowhere = made(VERDICT_RIGHT, "cuda", NULL, "ort", NULL),
		   nobody = made(VERDICT_RIGHT, "cuda", "cuda", NULL, NULL);
	struct row stands_in = made(VERDICT_RIGHT, "cuda", "cuda", "null", NULL),
		   null = made(VERDICT_RIGHT, "null", "null", "null", NULL);
	struct row foreign = made(VERDICT_RIGHT, "cpu", "cpu", "ort", "llama-bench 5163");

	(void)state;
	assert_true(row_counts(&ours) && row_runs_on(&ours, "cuda") && !row_runs_on(&ours, "cpu"));
	assert_false(row_counts(&elsewhere) || row_counts(&nowhere) || row_counts(&nobody));
	assert_true(row_runs_on(&elsewhere, "cpu")); // an open fallback, where it was tried
	assert_false(row_counts(&stands_in) || row_runs_on(&stands_in, "cuda"));
	assert_true(row_counts(&null) && !row_runs_on(&null, "null"));
	assert_false(row_counts(&foreign) || row_runs_on(&foreign, "cpu"));
	ours.reference = NULL; // right beside what?
	assert_false(row_counts(&ours) || row_runs_on(&ours, "cuda"));
	for (int v = 0; v < VERDICT_COUNT; v++) {
		struct row r = made((enum verdict)v, "cpu", "cpu", "ort", NULL);
		assert_int_equal(row_counts(&r), v == VERDICT_RIGHT);
	}
}

static void quoted(struct text *out, const char *word)
{
	text_addf(out, word != NULL ? "'%s'" : "CAST(NULL AS VARCHAR)", word);
}

// Every verdict, platform, engine and source: SQL says what C says.
static void test_sql_says_the_same(void **state)
{
	static const char *const requested[] = { "cpu", "null" }, *const actual[] = { "cpu", "null", NULL },
				 *const engine[] = { "ort", "null", NULL }, *const source[] = { NULL, "x" },
				 *const reference[] = { "golden", NULL };
	bool expected[VERDICT_COUNT * 72];
	char *folder = test_folder(), path[4200];
	struct text sql = { 0 };
	struct store s = { 0 };
	struct error err = { 0 };
	struct table t;
	size_t n = 0, counting = 0;

	(void)state;
	text_add(&sql, "SELECT " ROW_COUNTS_SQL("r.") " AS counts FROM (VALUES ");
	for (int v = 0; v < VERDICT_COUNT; v++) {
		for (size_t i = 0; i < 72; i++, n++) {
			struct row r =
				made((enum verdict)v, requested[i % 2], actual[i / 2 % 3], engine[i / 6 % 3], source[i / 18 % 2]);
			r.reference = reference[i / 36];
			const char *const columns[] = { r.verdict, r.requested, r.actual, r.engine, r.source, r.reference };
			text_addf(&sql, "%s(%zu", n > 0 ? ", " : "", n);
			for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
				text_add(&sql, ", ");
				quoted(&sql, columns[k]);
			}
			text_add(&sql, ")");
			counting += expected[n] = row_counts(&r);
		}
	}
	text_add(&sql, ") AS r(n, verdict, requested, actual, engine, source, reference) ORDER BY n");
	snprintf(path, sizeof path, "%s/a.duckdb", folder);
	if (store_open(&s, path, false, &err) || store_query(&s, text_get(&sql), &t, &err))
		fail_msg("%s", err.text);
	assert_int_equal(t.row_count, n);
	assert_int_equal(counting, 3); // on cpu by ort; on platform null by the null engine, and by another
	for (size_t i = 0; i < n; i++)
		assert_string_equal(table_get(&t, i, "counts"), expected[i] ? "true" : "false");
	text_done(&sql);
	store_close(&s);
	test_folder_done(folder);
}

// What a right row is besides: emulated, with fewer layers, of a shorter input. SQL says what C says, and only a plain one is a
// success.
static void test_success(void **state)
{
	static const int emulated[] = { -1, 0, 1 }, shortened[] = { -1, 0, 1 };
	static const int64_t layers[] = { ROW_NONE, 2 }, asked[] = { ROW_NONE, 16, 128 };
	static const char *const results[] = { NULL, "{\"valid\":true}", "{\"valid\":false,\"queries\":3}", "{\"valid\": false}",
		"{\"valid\":true,\"why\":\"\\\"valid\\\":false\"}" };
	char *folder = test_folder(), path[4200];
	bool expected[5 * 2 * 54];
	struct text sql = { 0 };
	struct store s = { 0 };
	struct error err = { 0 };
	struct table t;
	size_t n = 0, good = 0;

	(void)state;
	text_add(&sql, "SELECT " ROW_SUCCESS_SQL("r.") " AS good FROM (VALUES ");
	for (; n < 5 * 2 * 54; n++) {
		struct row r = made(n % 2 ? VERDICT_WRONG : VERDICT_RIGHT, "qnn", "qnn", "ort", NULL);
		const int flags[] = { r.emulated = emulated[n / 2 % 3], r.shortened = shortened[n / 6 % 3] };
		const int64_t numbers[] = { r.layers = layers[n / 18 % 2], r.asked_sequence = asked[n / 36 % 3],
			r.sequence = 16 };
		r.scenario_result = results[n / 108];
		text_addf(&sql, "%s(%zu, '%s', 'qnn', 'qnn', 'ort', CAST(NULL AS VARCHAR), 'golden'", n > 0 ? ", " : "", n,
			r.verdict);
		for (size_t k = 0; k < 2; k++)
			text_addf(&sql, ", CAST(%s AS BOOLEAN)", flags[k] < 0 ? "NULL" : flags[k] > 0 ? "TRUE" : "FALSE");
		for (size_t k = 0; k < 3; k++)
			text_addf(&sql, numbers[k] == ROW_NONE ? ", CAST(NULL AS BIGINT)" : ", CAST(%lld AS BIGINT)",
				(long long)numbers[k]);
		text_add(&sql, ", ");
		quoted(&sql, r.scenario_result);
		text_add(&sql, ")");
		good += expected[n] = row_is_success(&r);
	}
	text_add(&sql,
		") AS r(n, verdict, requested, actual, engine, source, reference, emulated, shortened, layers, asked_sequence, "
		"sequence, "
		"scenario_result) "
		"ORDER BY n");
	snprintf(path, sizeof path, "%s/a.duckdb", folder);
	if (store_open(&s, path, false, &err) || store_query(&s, text_get(&sql), &t, &err))
		fail_msg("%s", err.text);
	assert_int_equal(t.row_count, n);
	// Not emulated or unknown; all layers, or 2 that are all; the length that was asked for; no scenario, or a valid one.
	assert_int_equal(good, 2 * 3 * 2 * 3);
	struct row late = made(VERDICT_RIGHT, "cpu", "cpu", "ort", NULL), held = late;
	late.scenario_result = results[2], held.scenario_result = results[1];
	assert_int_equal(row_exit_code(&late, VERDICT_RIGHT), 2);
	assert_int_equal(row_exit_code(&held, VERDICT_RIGHT), 0);
	assert_int_equal(row_exit_code(&late, VERDICT_WRONG), 3);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(table_get(&t, i, "good"), expected[i] ? "true" : "false");
	text_done(&sql);
	store_close(&s);
	test_folder_done(folder);
}

static void test_qualifiers(void **state)
{
	struct arena a = { 0 };
	struct row r = made(VERDICT_RIGHT, "qnn", "qnn", "ort", NULL);

	(void)state;
	assert_null(row_qualifiers(&a, &r, QUALIFY_ALL));
	r.layers = 2;
	r.shortened = 0; // all that it has
	assert_null(row_qualifiers(&a, &r, QUALIFY_ALL));
	r.shortened = 1;
	r.weights = "synthetic";
	r.precision = "int4-weights:block=32";
	r.emulated = 1;
	assert_string_equal(row_qualifiers(&a, &r, QUALIFY_ALL), "2 layers, synthetic weights, int4-weights:block=32, emulated");
	assert_string_equal(row_qualifiers(&a, &r, QUALIFY_DEVICE | QUALIFY_LAYERS), "2 layers, emulated");
	r.precision = "stored";
	r.compute_dtype = "f16";
	r.weights_dtype = "f32";
	r.layers = 1;
	r.emulated = 0;
	assert_string_equal(row_qualifiers(&a, &r, QUALIFY_ALL), "1 layer, synthetic weights, computed in f16");
	r.weights_dtype = "f16"; // as published
	assert_null(row_qualifiers(&a, &r, QUALIFY_PRECISION));
	r.sequence = 16;
	assert_false(row_is_brief(&r));
	assert_int_equal(row_question_sequence(&r), 16);
	r.asked_sequence = 128;
	r.emulated = 1;
	assert_true(row_is_brief(&r));
	assert_int_equal(row_question_sequence(&r), 128);
	assert_string_equal(row_qualifiers(&a, &r, QUALIFY_SHAPE | QUALIFY_DEVICE), "16 tokens of the usual 128, emulated");
	assert_string_equal(row_qualifiers(&a, &r, QUALIFY_DEVICE), "emulated");
	r.engine = "null";
	r.source = "llama-bench 5163";
	assert_string_equal(row_qualifiers(&a, &r, QUALIFY_DEVICE | QUALIFY_SOURCE),
		"nothing computed, measured by llama-bench 5163, not by assay");
	arena_done(&a);
}

// The form that weights are published in, short: SQL says what C says.
static void test_published(void **state)
{
	static const char *const forms[][2] = {
		{ "gptq, 4 bits in groups of 128, 7 weights dequantised to bf16", "gptq, 4 bits" },
		{ "fp8, f8e4m3 in blocks of 16 x 16, 1 weight dequantised to f32", "fp8, f8e4m3" },
		{ "bitsandbytes, nf4, 7 weights dequantised to bf16", "bitsandbytes, nf4" },
		{ "compressed-tensors, pack-quantized (4 bits), 7 weights dequantised to bf16",
			"compressed-tensors, pack-quantized (4 bits)" },
		{ "LoRA adapter of rank 8 (alpha 16), 14 weights merged into its base model", "LoRA adapter of rank 8" },
		{ "mxfp4", "mxfp4" },
	};
	enum { COUNT = sizeof forms / sizeof *forms };
	char *folder = test_folder(), path[4200];
	struct arena a = { 0 };
	struct text sql = { 0 };
	struct store s = { 0 };
	struct error err = { 0 };
	struct table t;
	struct row r;

	(void)state;
	row_init(&r);
	assert_null(row_published_as(&a, &r));
	text_add(&sql, "SELECT " ROW_PUBLISHED_SQL("r.") " AS short FROM (VALUES ");
	for (size_t i = 0; i < COUNT; i++) {
		r.weights_from = forms[i][0];
		assert_string_equal(row_published_as(&a, &r), forms[i][1]);
		assert_string_equal(row_qualifiers(&a, &r, QUALIFY_ALL), arena_printf(&a, "published as %s", forms[i][1]));
		text_addf(&sql, "%s(%zu, '%s')", i ? ", " : "", i, forms[i][0]);
	}
	text_add(&sql, ") AS r(n, weights_from) ORDER BY n");
	snprintf(path, sizeof path, "%s/a.duckdb", folder);
	if (store_open(&s, path, false, &err) || store_query(&s, text_get(&sql), &t, &err))
		fail_msg("%s", err.text);
	for (size_t i = 0; i < COUNT; i++)
		assert_string_equal(table_get(&t, i, "short"), forms[i][1]);
	text_done(&sql);
	store_close(&s);
	test_folder_done(folder);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_what_counts), cmocka_unit_test(test_sql_says_the_same),
		cmocka_unit_test(test_success), cmocka_unit_test(test_qualifiers), cmocka_unit_test(test_published) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
