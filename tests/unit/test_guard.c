// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// What a file holds that assay does not make, or says that nothing can have measured or that no judge has said: each is done to a
// file of assay's and undone. Names and words are those that `import` refuses. That reports, questions and imports look is in
// tests/attack/database.sh and false_rows.sh.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cell/score.h"
#include "run/cell.h"
#include "run/data_judge.h"
#include "store/db.h"
#include "store/guard.h"
#include "store_rows.h"

enum { MADE, NUMBERS, VALUES, WORDS };

// Of what is taken in, views stand for the tables.
static const char source[] = "source_";

static enum status ask(struct db *d, int look, const char *prefix, struct error *err)
{
	return look == MADE       ? guard_look(d, err)
		: look == NUMBERS ? guard_numbers(d, err)
		: look == VALUES  ? guard_values(d, prefix, err)
				  : guard_words(d, prefix, err);
}

static void name_sources(struct db *d)
{
	static const char *const tables[] = { "measurement", "sample", "machine", "run", "model", "artifact", "cell", "event",
		"platform_detection", "import" };
	struct error err = { 0 };
	char sql[128];

	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
		snprintf(sql, sizeof sql, "CREATE TEMP VIEW %s%s AS FROM main.%s", source, tables[i], tables[i]);
		if (db_exec(d, sql, &err))
			fail_msg("%s", err.text);
	}
}

static void refuse(struct db *d, int look, const char *prefix, const char *words)
{
	struct error err = { 0 };

	assert_int_equal(ask(d, look, prefix, &err), STATUS_BAD_INPUT);
	if (strstr(err.text, words) == NULL)
		fail_msg("'%s' does not say '%s'", err.text, words);
}

// A file of assay's with a row that is right.
static void one_row(struct db *d, const char *folder, char *path, size_t size)
{
	struct machine machine = test_machine();
	struct cell cell = test_cell("m", "cpu");
	struct cell_result right = test_result(1, "m", "cpu", VERDICT_RIGHT);
	const struct db_api *api;
	struct store store = { 0 };
	struct error err = { 0 };
	int64_t row;
	bool locked;

	snprintf(path, size, "%s/a.duckdb", folder);
	if (store_open(&store, path, false, &err) || store_begin_run(&store, &machine, "test", &err) ||
		store_started(&store, &cell, "key", &row, &err) || store_finished(&store, &right, &err))
		fail_msg("%s", err.text);
	store_close(&store);
	if (db_load(&api, &err) || db_open(d, api, &(struct db_opening){ .path = path, .write = true }, &locked, &err))
		fail_msg("%s", err.text);
}

#define BAND "UPDATE measurement SET data_metric = 'accuracy', data_value = 0.9, data_reference = 1, data_reference_by = 'x', "
#define NO_LOSS "UPDATE measurement SET data_reference = 1, data_reference_by = 'x', data_better = 0, "
static void test_forged_rows(void **state)
{
	static const struct {
		int look;
		const char *sql, *words;
	} forged[] = {
		{ MADE,
			"CREATE MACRO count(x) AS 0; CREATE MACRO \"=\"(a, b) AS false; CREATE MACRO duckdb_functions() AS TABLE "
			"SELECT 'x' AS function_name, 'x' AS function_type, true AS internal",
			"it holds the macro" },
		{ MADE, "CREATE TYPE \"JSON\" AS ENUM ('a')", "it holds the type" },
		{ MADE, "DROP VIEW hardware_results; DROP VIEW result; CREATE TABLE result AS SELECT 1 AS id",
			"its result is a table" },
		{ VALUES, "UPDATE measurement SET latency_ms = 'nan'::DOUBLE",
			"row 1: measurement.latency_ms is nan, which nothing can have measured" },
		{ VALUES, "UPDATE measurement SET latency_low_ms = -1e-3", "row 1: measurement.latency_low_ms is -0.001," },
		{ VALUES, "UPDATE measurement SET peak_resident_mib = 1e308", "row 1: measurement.peak_resident_mib is 1e" },
		{ VALUES, "UPDATE measurement SET samples = -1", "row 1: measurement.samples is -1," },
		{ VALUES, "UPDATE sample SET ms = '-inf'::DOUBLE WHERE number = 1", "row 1: sample.ms is -inf," },
		{ VALUES, "UPDATE run SET started_at = 'infinity'", "run:1: run.started_at is infinity," },
		{ VALUES, "UPDATE event SET happened_at = '-infinity' WHERE id = 1", "event 1: event.happened_at is -infinity," },
		{ VALUES, "UPDATE cell SET started_at = '100000-01-01'", "row 1: cell.started_at is 100000-01-01 00:00:00," },
		{ VALUES, "UPDATE measurement SET non_finite = 100000",
			"row 1 says right, and its non_finite is 100000: assay wrote no such row" },
		{ VALUES, "UPDATE measurement SET nmse = 3", "row 1 says right, and its nmse is 3.0:" },
		{ VALUES, "UPDATE measurement SET nmse = 'inf'", "row 1 says right, and its nmse is inf:" },
		{ VALUES, "UPDATE measurement SET graph_verdict = 'wrong'", "row 1 says right, and its graph_verdict is wrong:" },
		{ VALUES, "UPDATE measurement SET arithmetic_verdict = 'unjudged'", "and its arithmetic_verdict is unjudged:" },
		{ VALUES, "UPDATE measurement SET arithmetic_nmse = 'inf'", "row 1 says right, and its arithmetic_nmse is inf:" },
		{ VALUES, "UPDATE measurement SET latency_ms = latency_min_ms / 2",
			"row 1 says right, and its latency_ms is 5.5:" },
		{ VALUES, "UPDATE measurement SET samples = 0", "row 1 says right, and its samples is 0:" },
		{ VALUES, "UPDATE measurement SET nodes = 1, nodes_on_platform = 2", "and its nodes_on_platform is 2:" },
		{ VALUES, "UPDATE measurement SET max_abs_error = 'inf'", "row 1 says right, and its max_abs_error is inf:" },
		{ VALUES, "UPDATE measurement SET graph_verdict = 'right', graph_max_abs_error = 'inf'",
			"and its graph_max_abs_error is inf:" },
		{ VALUES, "UPDATE measurement SET latency_p90_ms = 1", "and its latency_p90_ms is 1.0:" },
		{ VALUES,
			"UPDATE measurement SET data_metric = 'accuracy', data_value = 0.5, data_reference = 1, data_worse = 9, "
			"data_better = 0",
			"row 1 says right, and its data_worse is 9:" },
		{ VALUES,
			"UPDATE measurement SET data_metric = 'perplexity', data_value = 'inf', data_reference = 'inf', "
			"data_worse = 190, "
			"data_better = 20",
			"and its data_worse is 190:" },
		{ VALUES, "UPDATE measurement SET data_metric = 'cosine', data_value = 0.1, data_worse = 1, data_better = 0",
			"and its data_worse is 1:" },
		{ VALUES, BAND "data_worse = 8, data_better = 1", "and its data_worse is 8:" },
		{ VALUES, BAND "data_worse = 61, data_better = 39", "and its data_worse is 61:" },
		{ VALUES, BAND "data_worse = 1090, data_better = 980", "and its data_worse is 1090:" },
		{ VALUES, BAND "data_worse = 9e18::BIGINT, data_better = 8e18::BIGINT", "and its data_worse is 9000" },
		{ VALUES, NO_LOSS "data_metric = 'cosine', data_value = NULL, data_worse = 9", "and its data_worse is 9" },
		{ VALUES, NO_LOSS "data_metric = 'accuracy', data_value = 'nan'", "and its data_value is nan:" },
		{ VALUES, NO_LOSS "data_metric = 'accuracy', data_value = -5", "and its data_value is -5" },
		{ VALUES, NO_LOSS "data_metric = 'accuracy', data_value = 0.5, data_worse = 0", "and its data_value is 0.5:" },
		{ VALUES,
			"UPDATE measurement SET data_metric = 'accuracy', data_value = 0.9, data_reference_by = 'x', data_worse "
			"= 9, data_better = 0",
			"and its data_reference is nothing:" },
		{ VALUES, BAND "data_worse = 1, data_better = 2, data_examples = 1", "and its data_examples is 1:" },
		{ VALUES, NO_LOSS "data_metric = 'accuracy', data_value = 1, data_worse = -5", "measurement.data_worse is -5," },
		{ VALUES, BAND "data_better = 0", "and its data_reference is 1.0:" },
		{ VALUES,
			"UPDATE measurement SET data_metric = 'perplexity', data_value = NULL, data_reference = 2, data_worse = "
			"9, "
			"data_better = 0, data_reference_by = 'x'",
			"and its data_worse is 9:" },
		{ VALUES,
			"UPDATE measurement SET data_value = 0.9, data_reference = 1, data_reference_by = 'x', data_worse = 0, "
			"data_better = 0",
			"and its data_worse is 0:" },
		{ VALUES, "UPDATE measurement SET data_metric = 'Accuracy'", "and its data_metric is Accuracy:" },
		{ VALUES, "UPDATE measurement SET cosine = -1", "row 1 says right, and its cosine is -1.0:" },
		{ VALUES, "UPDATE measurement SET nodes = 9, nodes_on_platform = 0, nodes_elsewhere = 9",
			"and its nodes_elsewhere is 9:" },
		{ VALUES, "UPDATE measurement SET verdict = 'wrong'", "row 1: its event says right, and its measurement wrong" },
		{ VALUES, "UPDATE measurement SET verdict = NULL", "row 1: its event says right, and its measurement nothing" },
		{ VALUES, "ALTER TABLE measurement DROP COLUMN verdict", "its table measurement has no column `verdict`" },
		{ VALUES, "ALTER TABLE measurement RENAME COLUMN verdict TO word",
			"its table measurement has no column `verdict`" },
		{ VALUES,
			"UPDATE measurement SET latency_ms = 'nan'; ALTER TABLE measurement RENAME COLUMN latency_ms TO "
			"Latency_MS",
			"row 1: measurement.latency_ms is nan," },
		{ VALUES, "UPDATE sample SET ms = -1; ALTER TABLE sample RENAME TO other; ALTER TABLE other RENAME TO Sample",
			"row 1: sample.ms is -1.0," },
		{ VALUES, "ALTER TABLE measurement ALTER COLUMN verdict TYPE BIGINT USING 1", "and its measurement 1" },
		{ VALUES, "UPDATE measurement SET nmse = 'inf'; ALTER TABLE measurement DROP COLUMN graph_max_abs_error",
			"row 1 says right, and its nmse is inf:" },
		{ VALUES,
			"UPDATE measurement SET nmse = 'inf'; ALTER TABLE measurement DROP COLUMN fallback_allowed; ALTER TABLE "
			"measurement DROP COLUMN graph_verdict; ALTER TABLE measurement DROP COLUMN source",
			"row 1 says right, and its nmse is inf:" },
		{ WORDS, "UPDATE event SET verdict = 'bogus' WHERE kind = 'verdict'",
			"has the verdict 'bogus', which this assay does not know" },
		{ WORDS, "UPDATE event SET verdict = 'right' || chr(0) || 'x' WHERE kind = 'verdict'",
			"has the verdict 'right x', which this assay does not know" },
		{ WORDS, "UPDATE measurement SET actual = repeat('E', 5000)",
			"row 1: measurement.actual is a name of more than 4096 characters" },
		{ WORDS, "UPDATE cell SET question = '['", "row 1: its column `question` is no JSON object" },
		{ NUMBERS, "INSERT INTO run FROM run", "1 of the rows of its table run stand twice, by id" },
		{ NUMBERS, "INSERT INTO run FROM run; ALTER TABLE run RENAME TO other; ALTER TABLE other RENAME TO RUN",
			"1 of the rows of its table run stand twice, by id" },
		{ NUMBERS, "INSERT INTO cell FROM cell", "1 of the rows of its table cell stand twice, by id" },
		{ NUMBERS, "INSERT INTO measurement FROM measurement", "of its table measurement stand twice, by event" },
	};
	char *folder = test_folder(), path[4200];
	struct error err = { 0 };
	struct db d = { 0 };

	(void)state;
	one_row(&d, folder, path, sizeof path);
	for (int look = MADE; look <= WORDS; look++)
		if (ask(&d, look, "", &err))
			fail_msg("%s", err.text);
	for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
		err = (struct error){ 0 };
		if (db_exec(&d, "BEGIN", &err) || db_exec(&d, forged[i].sql, &err))
			fail_msg("%s", err.text);
		refuse(&d, forged[i].look, "", forged[i].words);
		if (forged[i].look > NUMBERS) {
			name_sources(&d);
			refuse(&d, forged[i].look, source, forged[i].words);
		}
		assert_int_equal(db_exec(&d, "ROLLBACK", &err), STATUS_OK);
	}
	db_close(&d);
	test_folder_done(folder);
}

// Scores of `count` examples, of which few kinds are often alike: not finite, infinite when they are averaged, and numbers.
static void make_scores(struct scores *s, struct arena *a, enum data_metric metric, size_t count, uint32_t *random)
{
	static const double kinds[] = { 1, 1, 0, 0.5, (double)NAN, 1e4 };

	scores_begin(s, a, count);
	*random = *random * 1664525 + 1013904223;
	const uint32_t usual = *random >> 28;
	s->metric = metric;
	s->count = count;
	for (size_t i = 0; i < count; i++) {
		*random = *random * 1664525 + 1013904223;
		const uint32_t k = *random >> 30 ? usual : *random >> 24;
		s->sum[i] = kinds[k % (metric == DATA_PERPLEXITY ? 6 : 5)];
		s->weight[i] = metric == DATA_ACCURACY ? 1 + (double)(i % 3) : 1;
		s->sum[i] *= s->weight[i];
		s->broken += isnan(s->sum[i]);
	}
}

static void add_real(struct text *sql, const char *name, double x)
{
	if (isfinite(x))
		text_addf(sql, ", %.17g AS %s", x, name);
	else
		text_addf(sql, ", %s AS %s", isinf(x) ? "'inf'::DOUBLE" : "NULL", name);
}

// What a judge leaves right is taken, whatever its examples were: a row that is refused costs the file.
static void test_judged_rows(void **state)
{
	static const enum data_metric metrics[] = { DATA_COSINE, DATA_PERPLEXITY, DATA_ACCURACY };
	enum { RIGHT = 60 };
	char *folder = test_folder(), path[4200];
	struct text sql = { 0 };
	struct error err = { 0 };
	uint32_t random = 1;
	size_t right = 0;
	struct db d = { 0 };

	(void)state;
	one_row(&d, folder, path, sizeof path);
	for (size_t i = 0; right < RIGHT; i++) {
		struct cell_result out = { .verdict = VERDICT_RIGHT };
		struct arena a = { 0 };
		struct scores x, ref;

		row_init(&out.row);
		make_scores(&x, &a, metrics[i % 3], 1 + i % 20, &random);
		make_scores(&ref, &a, metrics[i % 3], 1 + i % 20, &random);
		data_judge(&x, &ref, "engine:test", NULL, false, &a, &out);
		if (out.verdict == VERDICT_RIGHT && out.row.data_worse > 0) {
			right++;
			text_done(&sql);
			sql = (struct text){ 0 };
			text_addf(&sql,
				"INSERT INTO measurement SELECT * REPLACE ('%s' AS data_metric, '%s' AS data_reference_by, %d AS "
				"data_worse, %d AS data_better",
				out.row.data_metric, out.row.data_reference_by, (int)out.row.data_worse,
				(int)out.row.data_better);
			add_real(&sql, "data_value", out.row.data_value);
			add_real(&sql, "data_reference", out.row.data_reference);
			text_add(&sql, ") FROM measurement LIMIT 1");
			if (db_exec(&d, text_get(&sql), &err))
				fail_msg("%s", err.text);
		}
		arena_done(&a);
	}
	if (ask(&d, VALUES, "", &err))
		fail_msg("%s", err.text);
	text_done(&sql);
	db_close(&d);
	test_folder_done(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_forged_rows), cmocka_unit_test(test_judged_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
