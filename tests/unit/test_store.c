// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// The store in one process: rows come back as they went in, the views of the original system, migrations, queries.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text.h"
#include "run/cell.h"
#include "store/db.h"
#include "store/comparison.h"
#include "store/opened.h"
#include "store/schema.h"
#include "store/transfer.h"
#include "store_rows.h"

struct fixture {
	char *folder, path[4200];
	struct store store;
	struct error err;
};

#define NEWEST (schema_migrations[schema_migration_count - 1].version)
static char newest_text[16];

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	f->folder = test_folder();
	snprintf(f->path, sizeof f->path, "%s/a.duckdb", f->folder);
	snprintf(newest_text, sizeof newest_text, "%d", NEWEST);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_close(&f->store);
	test_folder_done(f->folder);
	free(f);
	return 0;
}

// Every assertion about a status shows the sentence when it fails.
#define OK(f, call) \
	do { \
		if ((call) != STATUS_OK) \
			fail_msg("%s: %s", #call, (f)->err.text); \
	} while (0)
#define REFUSED(f, call, words) \
	do { \
		(f)->err = (struct error){ 0 }; \
		assert_int_not_equal(call, STATUS_OK); \
		if (strstr((f)->err.text, words) == NULL) \
			fail_msg("'%s' does not say '%s'", (f)->err.text, words); \
	} while (0)

static void open_with_run(struct fixture *f)
{
	struct machine m = test_machine();

	OK(f, store_open(&f->store, f->path, false, &f->err));
	OK(f, store_begin_run(&f->store, &m, "test", &f->err));
}

static int64_t add(struct fixture *f, const char *model, const char *platform, struct cell_result r)
{
	struct cell c = test_cell(model, platform);
	int64_t row = 0;

	OK(f, store_started(&f->store, &c, "key", &row, &f->err));
	r.row.row = row;
	OK(f, store_finished(&f->store, &r, &f->err));
	return row;
}

static const char *newest_version(void)
{
	static char text[16];

	snprintf(text, sizeof text, "%d", schema_migrations[schema_migration_count - 1].version);
	return text;
}

static const char *one(struct fixture *f, const char *sql)
{
	static struct table t;

	OK(f, store_query(&f->store, sql, &t, &f->err));
	assert_int_equal(t.row_count, 1);
	assert_int_equal(t.column_count, 1);
	return t.cells[0];
}

static void expect(struct fixture *f, const char *sql, const char *expected)
{
	const char *got = one(f, sql);

	if (!text_is(got, expected))
		fail_msg("%s: got '%s', expected '%s'", sql, got ? got : "NULL", expected ? expected : "NULL");
}

// Every field of ROW_LIST, set and absent, through the database and back; texts that try to be SQL; bytes that are no text.
static void test_every_field(void **state)
{
	struct fixture *f = *state;
	struct cell_result full = { .verdict = VERDICT_WRONG }, empty = { .verdict = VERDICT_CRASHED };
	struct table t;
	int number = 0;

	row_init(&full.row);
	row_init(&empty.row);
#define SET_TEXT(name, n) "it's \"" #name "\"; DROP TABLE cell; -- \xc3\xa9 \n {[]}"
#define SET_JSON(name, n) "{\"" #name "\":1}"
#define SET_REAL(name, n) (n + 0.1)
#define SET_INTEGER(name, n) (INT64_C(9007199254740993) + n)
#define SET_BOOLEAN(name, n) (n % 2)
#define X(kind, name, meaning) \
	full.row.name = SET_##kind(name, number); \
	number++;
	ROW_LIST(X)
#undef X
	full.row.samples = INT64_C(999999999999999); // bounds.h
	open_with_run(f);
	int64_t a = add(f, "asked", "cpu", full), b = add(f, "asked", "openvino", empty);
	OK(f, store_query(&f->store, "SELECT * FROM result ORDER BY id", &t, &f->err));
	assert_int_equal(t.row_count, 2);
	assert_int_equal(
		table_get(&t, 0, "id") != NULL && atoll(table_get(&t, 0, "id")) == a && atoll(table_get(&t, 1, "row")) == b, 1);
	number = 0;
#define SAME_TEXT(name, got, n) assert_string_equal(got, full.row.name)
#define SAME_JSON SAME_TEXT
#define SAME_REAL(name, got, n) assert_true(strtod(got, NULL) == full.row.name)
#define SAME_INTEGER(name, got, n) assert_true(strtoll(got, NULL, 10) == full.row.name)
#define SAME_BOOLEAN(name, got, n) assert_string_equal(got, full.row.name ? "true" : "false")
#define X(kind, name, meaning) \
	if (!text_is(#name, "row") && !text_is(#name, "verdict") && !text_is(#name, "cell_key")) { \
		assert_non_null(table_get(&t, 0, #name)); \
		SAME_##kind(name, table_get(&t, 0, #name), number); \
		/* these two as they were asked for */ \
		assert_true((table_get(&t, 1, #name) != NULL) == (text_is(#name, "model") || text_is(#name, "requested"))); \
	} \
	number++;
	ROW_LIST(X)
#undef X
	assert_string_equal(table_get(&t, 0, "verdict"), "wrong");
	assert_string_equal(table_get(&t, 1, "verdict"), "crashed");
#define NAME_TEXT "VARCHAR"
#define NAME_JSON "VARCHAR"
#define NAME_REAL "DOUBLE"
#define NAME_INTEGER "BIGINT"
#define NAME_BOOLEAN "BOOLEAN"
	for (size_t i = 0; i < t.column_count; i++) {
#define X(kind, name, meaning) \
	if (text_is(t.columns[i], #name)) \
		assert_string_equal(t.types[i], NAME_##kind);
		ROW_LIST(X)
#undef X
	}
	expect(f,
		"SELECT count(*) FROM duckdb_columns() WHERE table_name = 'measurement' AND comment = 'median of the warm runs'",
		"1");
	expect(f, "SELECT row FROM result WHERE verdict = 'wrong'", table_get(&t, 0, "row"));
}

static void test_broken_text(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = test_result(0, "bad \xff\xc0\xaf name", "cpu", VERDICT_FAILED);

	r.row.stderr_tail = "\xed\xa0\x80 \xf8 cut \xe2\x82";
	open_with_run(f);
	add(f, r.row.model, "cpu", r);
	expect(f, "SELECT model FROM result", "bad \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd name");
	expect(f, "SELECT length(stderr_tail) FROM result", "12");
}

// What no database is read with is not stored: neither numbers that nothing can have measured nor names without end.
static void test_what_is_beyond(void **state)
{
	struct fixture *f = *state;
	char name[6000] = { 0 };
	memset(name, 'n', sizeof name - 1);
	struct cell_result r = test_result(0, name, "cpu", VERDICT_FAILED);

	r.row.first_ms = 1e11;
	r.row.load_ms = -1;
	r.row.peak_pss_mib = HUGE_VAL;
	r.row.samples = -3;
	r.row.actual = name;
	open_with_run(f);
	add(f, name, "cpu", r);
	add(f, name, "cpu", r);
	store_close(&f->store);
	OK(f, store_open(&f->store, f->path, true, &f->err));
	expect(f, "SELECT count(COALESCE(first_ms, load_ms, peak_pss_mib, samples)) FROM result", "0");
	expect(f, "SELECT max(strlen(model || actual)) < 8192 FROM result", "true");
	expect(f, "SELECT count(*) FROM model", "1");
}

static void test_details(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = test_result(0, "m", "cpu", VERDICT_RIGHT);
	json_t *platforms = json_pack("[{s:s, s:b, s:n, s:s, s:[{s:s, s:s}], s:{s:s, s:s}}, {s:s, s:b, s:s, s:[], s:{}}, {s:s, "
				      "s:b, s:[{s:s}], s:{s:s}, s:{s:[]}}]",
		"name", "cpu", "available", 1, "reason", "engine", "ort", "devices", "name", "CPU", "description", "Test CPU",
		"features", "engine_version", "1.2.3", "library", "/lib/x.so", "name", "cuda", "available", 0, "reason",
		"libcudart.so.13 is missing", "devices", "features", "name", "openvino", "available", 1, "devices", "name", "CPU",
		"features", "engine_version", "3", "facts", "pci");

	r.placement = json_pack("[{s:s, s:s, s:s, s:s, s:b}, {s:s, s:s, s:n, s:n, s:b}]", "name", "a/MatMul", "op", "MatMul",
		"where", "cpu", "kernel", "jit", "fused", 0, "name", "a/Add", "op", "Add", "where", "kernel", "fused", 1);
	r.checks = json_pack("[{s:s, s:b, s:f, s:f, s:i, s:n}]", "name", "logits", "right", 1, "max_abs_error", 1e-6, "cosine",
		0.5, "non_finite", 0, "cause");
	r.row.artifact_key = "abc";
	open_with_run(f);
	OK(f, store_detection(&f->store, platforms, &f->err));
	add(f, "m", "cpu", r);
	add(f, "m", "cpu", r);
	expect(f, "SELECT string_agg(ms::VARCHAR, ' ' ORDER BY number) FROM sample WHERE cell = 1",
		"11.0 12.0 13.0 12.0 11.0 12.0 13.0 12.0 11.0 12.0 13.0");
	expect(f,
		"SELECT string_agg(node || ' ' || coalesce(place, '-') || ' ' || fused, ', ' ORDER BY number) FROM placement "
		"WHERE cell = 2",
		"a/MatMul cpu false, a/Add - true");
	expect(f, "SELECT output || ' ' || agrees || ' ' || max_abs_error || ' ' || non_finite FROM output_check WHERE cell = 1",
		"logits true 1e-06 0");
	expect(f, "SELECT count(*) FROM model", "1");
	expect(f, "SELECT count(*) FROM artifact", "1");
	expect(f, "SELECT count(*) FROM machine", "1");
	expect(f, "SELECT name || '|' || features FROM hardware_detection WHERE hardware_type = 'cpu'",
		"Test CPU|{\"engine_version\":\"1.2.3\",\"library\":\"/lib/x.so\"}");
	expect(f, "SELECT engine_version FROM platform_detection WHERE platform = 'cpu'", "1.2.3");
	expect(f,
		"SELECT coalesce(name, 'none') || ' ' || available || ' ' || features FROM hardware_detection WHERE "
		"hardware_type = 'cuda'",
		"none false libcudart.so.13 is missing");
	expect(f, "SELECT features FROM hardware_detection WHERE hardware_type = 'openvino'",
		"{\"engine_version\":\"3\",\"facts\":{\"pci\":[]}}");
	json_decref(platforms);
	json_decref(r.placement);
	json_decref(r.checks);
}

// The two tables of the original system: names, types and units as they were, and its three published queries.
static void test_original_tables(void **state)
{
	static const char *const results[][2] = {
		{ "id", "INTEGER" },
		{ "model_id", "VARCHAR" },
		{ "model_type", "VARCHAR" },
		{ "hardware", "VARCHAR" },
		{ "success", "BOOLEAN" },
		{ "load_time", "DOUBLE" },
		{ "inference_time", "DOUBLE" },
		{ "memory_usage", "DOUBLE" },
		{ "error", "VARCHAR" },
		{ "timestamp", "TIMESTAMP" },
		{ "output_shape", "VARCHAR" },
	};
	static const char *const detection[][2] = {
		{ "id", "INTEGER" },
		{ "hardware_type", "VARCHAR" },
		{ "available", "BOOLEAN" },
		{ "name", "VARCHAR" },
		{ "features", "VARCHAR" },
		{ "timestamp", "TIMESTAMP" },
	};
	struct fixture *f = *state;
	struct cell_result fallback = test_result(0, "m", "cuda", VERDICT_RIGHT),
			   wrong = test_result(0, "m", "openvino", VERDICT_WRONG);
	struct cell_result soft = test_result(0, "m", "qnn", VERDICT_RIGHT), part = test_result(0, "m", "cpu", VERDICT_RIGHT);
	struct cell c = test_cell("running", "cpu");
	struct table t;
	int64_t row;

	open_with_run(f);
	add(f, "m", "cpu", test_result(0, "m", "cpu", VERDICT_RIGHT));
	add(f, "n", "cpu", test_result(0, "n", "cpu", VERDICT_UNJUDGED));
	fallback.row.actual = "cpu";
	add(f, "m", "cuda", fallback);
	wrong.row.cause = "logits differ";
	add(f, "m", "openvino", wrong);
	soft.row.emulated = 1;
	soft.row.sequence = 16;
	soft.row.asked_sequence = 128;
	add(f, "m", "qnn", soft);
	part.row.layers = part.row.shortened = 1;
	add(f, "m", "cpu", part);
	OK(f, store_started(&f->store, &c, "k", &row, &f->err)); // still running: no result yet
	OK(f, store_query(&f->store, "SELECT * FROM hardware_results ORDER BY id", &t, &f->err));
	assert_int_equal(t.row_count, 6);
	assert_int_equal(t.column_count, sizeof results / sizeof results[0]);
	for (size_t i = 0; i < t.column_count; i++) {
		assert_string_equal(t.columns[i], results[i][0]);
		assert_string_equal(t.types[i], results[i][1]);
	}
	static const char *const success[] = { "true", "false", "false", "false", "false", "false" }; // unjudged is no success
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(table_get(&t, i, "success"), success[i]);
	assert_string_equal(table_get(&t, 0, "model_type"), "encoder-only");
	assert_true(fabs(strtod(table_get(&t, 0, "inference_time"), NULL) - 0.012) < 1e-12);
	assert_true(fabs(strtod(table_get(&t, 0, "load_time"), NULL) - 0.25) < 1e-12);
	assert_true(fabs(strtod(table_get(&t, 0, "memory_usage"), NULL) - 520 * 1.048576) < 1e-9);
	assert_null(table_get(&t, 0, "error"));
	assert_string_equal(table_get(&t, 1, "error"), "unjudged: nothing was there to compare the outputs with");
	assert_string_equal(table_get(&t, 2, "error"), "asked for cuda, ran on cpu");
	assert_string_equal(table_get(&t, 3, "error"), "wrong: logits differ");
	assert_string_equal(table_get(&t, 4, "error"),
		"emulated: software ran it in place of qnn; shorter input: 16 tokens of the usual 128");
	assert_string_equal(table_get(&t, 5, "error"), "shortened: 1 of the model's layers");
	OK(f, store_query(&f->store, "SELECT * FROM hardware_detection", &t, &f->err));
	assert_int_equal(t.column_count, sizeof detection / sizeof detection[0]);
	for (size_t i = 0; i < t.column_count; i++) {
		assert_string_equal(t.columns[i], detection[i][0]);
		assert_string_equal(t.types[i], detection[i][1]);
	}
	OK(f,
		store_query(&f->store,
			"SELECT hardware, AVG(inference_time) as avg_time FROM hardware_results WHERE success = TRUE GROUP BY "
			"hardware ORDER BY avg_time ASC;",
			&t, &f->err));
	assert_int_equal(t.row_count, 1);
	assert_string_equal(table_get(&t, 0, "hardware"), "cpu");
	OK(f,
		store_query(&f->store,
			"SELECT model_type, hardware, AVG(inference_time) as avg_time FROM hardware_results WHERE success = TRUE "
			"GROUP BY model_type, hardware ORDER BY model_type, avg_time ASC;",
			&t, &f->err));
	assert_int_equal(t.row_count, 1);
	OK(f,
		store_query(&f->store,
			"SELECT model_id, hardware, memory_usage FROM hardware_results WHERE success = TRUE ORDER BY "
			"memory_usage DESC LIMIT 20;",
			&t, &f->err));
	assert_int_equal(t.row_count, 1);
}

// Writes SQL into a DuckDB file as another program would.
static void other_program(struct fixture *f, const char *sql)
{
	const struct db_api *api;
	struct db d = { 0 };
	bool locked;

	OK(f, db_load(&api, &f->err));
	OK(f, db_open(&d, api, &(struct db_opening){ .path = f->path, .write = true }, &locked, &f->err));
	OK(f, db_exec(&d, sql, &f->err));
	db_close(&d);
}

// A file of the original system: its tables stay beside, untouched, under another name.
static void test_file_of_the_original(void **state)
{
	struct fixture *f = *state;

	other_program(f,
		"CREATE TABLE hardware_results(id INTEGER PRIMARY KEY, model_id VARCHAR, model_type VARCHAR, hardware VARCHAR, "
		"success BOOLEAN,"
		" load_time DOUBLE, inference_time DOUBLE, memory_usage DOUBLE, error VARCHAR, timestamp TIMESTAMP, output_shape "
		"VARCHAR);"
		"CREATE TABLE hardware_detection(id INTEGER PRIMARY KEY, hardware_type VARCHAR, available BOOLEAN, name VARCHAR, "
		"features VARCHAR, timestamp TIMESTAMP);"
		"INSERT INTO hardware_results VALUES (1, 'x', 'vision', 'cpu', true, 1, 2, 3, NULL, TIMESTAMP '2024-01-01', "
		"'[1]')");
	REFUSED(f, store_open(&f->store, f->path, true, &f->err), "stored nothing");
	OK(f, store_open(&f->store, f->path, false, &f->err));
	expect(f, "SELECT count(*) FROM hardware_results", "0");
	expect(f, "SELECT model_id FROM old_hardware_results", "x");
	expect(f, "SELECT count(*) FROM old_hardware_detection", "0");
	expect(f, "SELECT max(version)::VARCHAR FROM schema_version", newest_version());
}

// A file whose `measurement` was made before some fields of ROW_LIST existed.
// DuckDB's words name a limit of its own in both cases, and go on with advice or a stack trace.
static void test_words_of_the_library(void **state)
{
	static const struct {
		const char *said, *wanted;
		enum status status;
	} cases[] = {
		{ "Out of Memory Error: Allocation failure", "a: the machine, or a limit of this process (ulimit -d",
			STATUS_NO_MEMORY },
		{ "Out of Memory Error: Failed to allocate block of 262144 bytes (bad allocation)\n\nPossible solutions:",
			"a: the machine, or a limit of this process (ulimit -d", STATUS_NO_MEMORY },
		{ "Out of Memory Error: could not allocate block of size 256.0 KiB (9.3 MiB/9.5 MiB used)\n\nPossible",
			"a: the database takes more than 1GiB", STATUS_NO_MEMORY },
		{ "Failed to append: could not allocate block of size 256.0 KiB (1023.8 MiB/1.0 GiB used)\n\nSET memory_limit",
			"a: the database takes more than 1GiB", STATUS_NO_MEMORY },
		{ "Invalid Input Error: More than one row returned by a subquery used as an expression - Use \"SET x\"",
			"a: a subquery has more than one row where one can be (", STATUS_BAD_INPUT },
		{ "INTERNAL Error: Failure while replaying WAL file \"a.wal\": Calling\nThis error signals an assertion failure",
			"a: its log of changes a.wal is not taken over; it may be damaged, or another database's: Calling",
			STATUS_BAD_INPUT },
		{ "IO Error: Failure while replaying WAL file \"a.wal\": Could not write file \"a\": Bad file descriptor",
			"a: its log of changes a.wal has what DuckDB takes over in writing only", STATUS_BAD_INPUT },
		{ "IO Error: Failure while replaying WAL file \"a.wal\": could not allocate block of size 256.0 KiB",
			"a: its log of changes a.wal is not taken over: the database takes more than 1GiB", STATUS_NO_MEMORY },
		{ "IO Error: Failure while replaying WAL file \"a.wal\": Could not write file \"a\": No space left on device",
			"a: its log of changes a.wal is not taken over: IO Error", STATUS_NO_SPACE },
		{ "INTERNAL Error: Attempted to access index 1\nThis error signals\n\nStack Trace:\n0x1",
			"a: INTERNAL Error: Attempted to access index 1", STATUS_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct error err = { 0 };
		assert_int_equal(db_error(&err, "a", cases[i].said), cases[i].status);
		assert_ptr_equal(strstr(err.text, cases[i].wanted), err.text);
		assert_null(strstr(err.text, "signals"));
		assert_null(strstr(err.text, "SET "));
	}
}

static void test_columns_are_added(void **state)
{
	struct fixture *f = *state;

	open_with_run(f);
	add(f, "m", "cpu", test_result(0, "m", "cpu", VERDICT_RIGHT));
	store_close(&f->store);
	other_program(f,
		"DROP VIEW hardware_results; DROP VIEW result; ALTER TABLE measurement DROP COLUMN latency_p90_ms; ALTER TABLE "
		"measurement DROP COLUMN model_type;");
	open_with_run(f);
	add(f, "n", "cpu", test_result(0, "n", "cpu", VERDICT_RIGHT));
	expect(f, "SELECT string_agg(coalesce(model_type, 'none'), ' ' ORDER BY id) FROM result", "none bert");
	expect(f, "SELECT count(*) FROM hardware_results WHERE success", "2");
}

// Views of another program's version are made anew.
static void test_views_are_renewed(void **state)
{
	struct fixture *f = *state;

	open_with_run(f);
	add(f, "m", "cpu", test_result(0, "m", "cpu", VERDICT_RIGHT));
	store_close(&f->store);
	other_program(f,
		"CREATE OR REPLACE VIEW hardware_results AS SELECT 1 AS old; CREATE OR REPLACE VIEW result AS SELECT * FROM "
		"measurement");
	OK(f, store_open(&f->store, f->path, false, &f->err));
	expect(f, "SELECT model_id FROM hardware_results", "m");
	expect(f, "SELECT id FROM result", "1");
	expect(f, "SELECT max(version) FROM schema_version", newest_version());
}

// A view that bears the comment of assay's and is another: where the file is only read, and then for good.
static void test_views_are_ours(void **state)
{
	struct fixture *f = *state;
	char sql[512];

	open_with_run(f);
	add(f, "m", "cpu", test_result(0, "m", "cpu", VERDICT_RIGHT));
	snprintf(sql, sizeof sql,
		"CREATE OR REPLACE VIEW result AS SELECT *, 'forged' AS model FROM cell; COMMENT ON VIEW result IS '%s';"
		"CREATE OR REPLACE VIEW hardware_detection AS SELECT 'forged' AS name",
		one(f, "SELECT comment FROM duckdb_views() WHERE view_name = 'result'"));
	store_close(&f->store);
	other_program(f, sql);
	OK(f, store_open(&f->store, f->path, true, &f->err));
	expect(f, "SELECT model_id FROM hardware_results", "m");
	expect(f, "SELECT verdict FROM result", "right");
	expect(f, "SELECT count(*) FROM hardware_detection", "0");
	store_close(&f->store);
	OK(f, store_open(&f->store, f->path, false, &f->err));
	expect(f, "SELECT count(*) FROM duckdb_views() WHERE contains(sql, 'forged')", "0");
	expect(f, "SELECT verdict FROM result", "right");
	store_close(&f->store);
	OK(f, store_open(&f->store, f->path, true, &f->err));
	assert_null(f->store.views); // the file's own are assay's again
}

static void test_one_select(void **state)
{
	static const char *const refused[] = { "DELETE FROM cell", "CREATE TEMP TABLE t AS SELECT 1", "SELECT 1; SELECT 2", "",
		"PRAGMA database_list; SELECT 1", "EXPLAIN SELECT 1", "SET threads = 4", "ATTACH 'x'", "CALL pragma_version()",
		"CHECKPOINT", "INSTALL httpfs", "COPY result TO 'copied.csv'" };
	struct fixture *f = *state;
	struct table t;

	open_with_run(f);
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		REFUSED(f, store_select(&f->store, refused[i], 10, &t, &f->err), "read-only SELECT");
	OK(f,
		store_select(&f->store,
			"WITH a AS (SELECT i FROM range(10) r(i)) SELECT i, i AS i, 'it''s' AS t FROM a ORDER BY i DESC; -- the "
			"end",
			10, &t, &f->err));
	assert_true(t.row_count == 10 && t.column_count == 3 && text_is(t.columns[0], "i") && text_is(t.columns[1], "i") &&
		text_is(t.cells[0], "9") && text_is(t.cells[2], "it's"));
	REFUSED(f, store_select(&f->store, "FROM range(11)", 10, &t, &f->err), "more than 10 rows");
	OK(f, store_select(&f->store, "DESCRIBE result", 1000, &t, &f->err));
	OK(f, store_select(&f->store, "SHOW TABLES", 1000, &t, &f->err));
	assert_true(t.row_count > 10);
	REFUSED(f, store_select(&f->store, "SELECT 1) UNION (SELECT 2", 10, &t, &f->err), "syntax error");
	REFUSED(f, store_select(&f->store, "COPY (SELECT 1) TO 'x'", 10, &t, &f->err), "read-only SELECT");
	f->store.limits.seconds = 0.2;
	REFUSED(f,
		store_select(&f->store, "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", 10, &t, &f->err),
		"not done within 0.2 s");
	f->store.limits.seconds = 60;
	OK(f, store_select(&f->store, "SELECT 1", 10, &t, &f->err));
}

// A query calls what computes with values, and reads tables and assay's views; what it names is looked at before DuckDB binds it.
static void test_what_a_select_names(void **state)
{
#define NO_ROWS_FROM "functions that a query may take rows from"
#define NO_CALL "functions that a query may call"
#define NO_TYPE "types that a query may cast to"
#define OF_FILE "is a view of the file"
	static const struct {
		const char *sql, *words;
	} refused[] = {
		{ "FROM json_execute_serialized_sql(json_serialize_sql('FROM theirs'))", NO_ROWS_FROM },
		{ "FROM enable_profiling(save_location = 'x')", NO_ROWS_FROM },
		{ "FROM enable_logging(storage = 'stdout')", NO_ROWS_FROM },
		{ "FROM system.main.arrow_scan(1, 2, 3)", NO_ROWS_FROM },
		{ "FROM read_text('/etc/hostname')", NO_ROWS_FROM },
		{ "FROM query('FROM theirs')", NO_ROWS_FROM },
		{ "FROM query_table('theirs')", NO_ROWS_FROM },
		{ "FROM sql_auto_complete('S')", NO_ROWS_FROM },
		{ "FROM cell c, LATERAL (SELECT * FROM check_peg_parser(c.model))", NO_ROWS_FROM },
		{ "FROM check_peg_parser(repeat('(', 50000))", NO_ROWS_FROM },
		{ "SELECT json_structure('[1]')", NO_CALL },
		{ "SELECT json_merge_patch('{}', '{}')", NO_CALL },
		{ "SELECT main.json_contains('[]', '[]')", NO_CALL },
		{ "SELECT 1 ORDER BY current_setting('threads')", NO_CALL },
		{ "SELECT 1 LIMIT (SELECT count(write_log('x')))", NO_CALL },
		{ "SELECT * REPLACE (json_pretty(model) AS model) FROM result", NO_CALL },
		{ "SELECT sum(finalize(id)) OVER (ORDER BY getvariable('x')) FROM cell", NO_CALL },
		{ "SELECT list_transform(['x'], lambda x: json_serialize_sql(x))", NO_CALL },
		{ "SELECT '1'::JSON::VARIANT", NO_TYPE },
		{ "SELECT CAST(NULL AS STRUCT(a VARIANT[]))", NO_TYPE },
		{ "SELECT 'POINT(1 1)'::GEOMETRY", NO_TYPE },
		{ "SELECT 42::POINTER", NO_TYPE },
		{ "SELECT 'a'::kind", NO_TYPE },
		{ "FROM theirs", OF_FILE },
		{ "DESCRIBE Theirs", OF_FILE },
		{ "SUMMARIZE theirs", OF_FILE },
		{ "SELECT (SELECT count(*) FROM main.theirs)", OF_FILE },
		{ "WITH theirs AS (SELECT 1) SELECT 1 FROM theirs", OF_FILE },
		{ "SELECT (WITH theirs AS (SELECT 1) FROM theirs), x FROM theirs t(x)", OF_FILE },
		{ "FROM computed, (WITH computed AS (SELECT 1 AS a) FROM computed) z", "column that is computed" },
		{ "FROM main.result", "the file's own view" },
		{ "FROM a.main.cell", "without its name" },
		{ "FROM 'x.csv'", "no table or view" },
		{ "WITH \"x.csv\" AS (SELECT 1) FROM \"x.csv\"", "no table or view" },
		{ "FROM duckdb_settings", "no table or view" },
		{ "FROM duckdb_columns()", NO_ROWS_FROM },
		{ "FROM information_schema.tables", "no table or view" },
		{ "SHOW ALL TABLES", "of SHOW and DESCRIBE" },
		{ "SELECT sum(id) EXPORT_STATE FROM cell", "EXPORT_STATE" },
		{ "SELECT '\xff'", "no UTF-8" },
	};
	static const char *const answered[] = {
		"SELECT x::JSON ->> 'a', 1::DECIMAL(3, 1), NULL::INT[3], MAP {'a': 1}, if(TRUE, 1, 2), coalesce(1, 2), nullif(1, "
		"2), 3!, 'a' ^@ 'b' FROM (SELECT '{}' AS x)",
		"SELECT extract(year FROM DATE '2020-01-01'), now() AT TIME ZONE 'UTC', INTERVAL 3 DAYS, [x + 1 FOR x IN [1, "
		"2]], 'ab'[1], CURRENT_DATE",
		"WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n), quantile_cont(n, "
		"0.5) FROM t, unnest([1]) u",
		"SELECT model, rank() OVER (PARTITION BY model ORDER BY latency_ms) FROM result QUALIFY row_number() OVER () = 1",
		"FROM (SELECT 1 AS a, 2 AS b) PIVOT (sum(b) FOR a IN (1, 2))",
		"SELECT COLUMNS('mod.*') FROM main.cell",
		"SUMMARIZE mine",
		"FROM mine",
		"SELECT string_agg(model_id, ',' ORDER BY id) FILTER (success) FROM hardware_results GROUP BY ROLLUP (hardware)",
	};
	static char sums[20000], length[70000];
	char path[5000];
	int64_t rows;
	struct fixture *f = *state;
	struct table t;

	open_with_run(f);
	store_close(&f->store);
	other_program(f,
		"CREATE VIEW theirs AS SELECT 1 AS x; CREATE TYPE kind AS ENUM ('a'); CREATE TABLE computed(a INTEGER, b INTEGER "
		"AS (a + 1));"
		" CREATE TABLE mine(x INTEGER PRIMARY KEY DEFAULT 7, y DATE)");
	OK(f, store_open(&f->store, f->path, true, &f->err));
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		REFUSED(f, store_select(&f->store, refused[i].sql, 10, &t, &f->err), refused[i].words);
	for (size_t i = 0; i < sizeof answered / sizeof answered[0]; i++)
		OK(f, store_select(&f->store, answered[i], 1000, &t, &f->err));
	memset(length, ' ', sizeof length - 1);
	REFUSED(f, store_select(&f->store, length, 10, &t, &f->err), "64 KiB");
	for (size_t i = 0; i < 9000; i++)
		memcpy(sums + 2 * i, "1+", 2);
	memcpy(sums + 18000, "1", 2);
	char *deep = arena_printf(&f->store.arena, "SELECT %s", sums);
	assert_int_not_equal(store_select(&f->store, deep, 10, &t, &f->err), STATUS_OK);
	snprintf(path, sizeof path, "%s.csv", f->path);
	REFUSED(f, store_export(&f->store, "theirs", "csv", false, path, &rows, &f->err), OF_FILE);
	REFUSED(f, store_export(&f->store, "computed", "csv", false, path, &rows, &f->err), "column that is computed");
	OK(f, store_export(&f->store, "mine", "csv", false, path, &rows, &f->err));
}

// A table of assay's that is anything but plain columns is not looked into; tests/attack/database.sh does the same to the
// program.
static void test_altered_tables(void **state)
{
#define SAMPLE \
	"DROP TABLE IF EXISTS sample; CREATE TABLE sample(cell BIGINT NOT NULL, event BIGINT NOT NULL, number BIGINT NOT NULL, "
	static const struct {
		const char *sql, *words;
	} altered[] = {
		{ SAMPLE "ms DOUBLE DEFAULT (random()))", "ms DOUBLE DEFAULT" },
		{ SAMPLE "ms DOUBLE AS (pi()))", "ms DOUBLE GENERATED" },
		{ SAMPLE "ms DOUBLE CHECK (ms < 1))", "CHECK" },
		{ SAMPLE "ms DOUBLE PRIMARY KEY)", "ms DOUBLE PRIMARY KEY" },
		{ SAMPLE "ms DOUBLE UNIQUE)", "ms DOUBLE UNIQUE" },
		{ SAMPLE "ms DOUBLE, UNIQUE (cell, event))", "UNIQUE" },
		{ SAMPLE "ms VARCHAR COLLATE nocase)", "ms VARCHAR COLLATE" },
		{ SAMPLE "ms DOUBLE[])", "ms DOUBLE[]" },
		{ SAMPLE "ms STRUCT(a DOUBLE))", "ms STRUCT" },
		{ "CREATE TYPE kind AS ENUM ('a');" SAMPLE "ms kind)", "ms " },
		{ SAMPLE "\"a \"\" b\" DOUBLE, \"c, ms DOUBLE)\" DOUBLE DEFAULT 1)", "DEFAULT" },
		{ SAMPLE "ms DOUBLE); CREATE INDEX i ON sample ((ms + 1))", "has an index" },
		{ "DROP INDEX i;" SAMPLE
		  "ms DOUBLE); ALTER TABLE sample RENAME TO \"SAMPLE\"; ALTER TABLE sample ALTER ms SET DEFAULT 7",
			"DEFAULT" },
		{ "DROP TABLE sample; CREATE VIEW sample AS SELECT 1 AS cell", "its sample is a view" },
		{ "DROP VIEW sample;" SAMPLE "ms DOUBLE); CREATE MACRO f(x) AS x", "the macro f" },
		{ "DROP MACRO f; CREATE MACRO duckdb_tables() AS TABLE SELECT 1", "the macro duckdb_tables" },
	};
	struct fixture *f = *state;

	OK(f, store_open(&f->store, f->path, false, &f->err));
	store_close(&f->store);
	for (size_t i = 0; i < sizeof altered / sizeof altered[0]; i++) {
		other_program(f, altered[i].sql);
		REFUSED(f, store_open(&f->store, f->path, true, &f->err), altered[i].words);
		REFUSED(f, store_open(&f->store, f->path, false, &f->err), altered[i].words);
	}
	other_program(f,
		"DROP MACRO TABLE duckdb_tables;" SAMPLE
		"\"a \"\" b\" DOUBLE, ms DOUBLE); CREATE SCHEMA other; CREATE TABLE other.cell(x INTEGER PRIMARY KEY DEFAULT 7)");
	OK(f, store_open(&f->store, f->path, false, &f->err)); // further columns and schemas are nobody's harm
#undef SAMPLE
}

static void test_migration_steps(void **state)
{
	struct fixture *f = *state;
	struct migration steps[16], broken[16];
	const size_t n = schema_migration_count;
	const int newest = schema_migrations[n - 1].version;
	char refusal[32];
	const struct db_api *api;
	struct db d = { 0 };
	enum schema_state s;
	int version;
	bool locked;

	assert_true(n + 2 <= sizeof steps / sizeof steps[0]);
	memcpy(steps, schema_migrations, n * sizeof *steps);
	memcpy(broken, schema_migrations, n * sizeof *broken);
	steps[n] = (struct migration){ newest + 1, "one more",
		"ALTER TABLE cell ADD COLUMN extra VARCHAR; UPDATE cell SET extra = 'moved'" };
	steps[n + 1] = (struct migration){ newest + 2, "and another", "CREATE TABLE more(x INTEGER)" };
	broken[n] = (struct migration){ newest + 1, "half", "CREATE TABLE half(x INTEGER); SELECT * FROM nowhere" };
	snprintf(refusal, sizeof refusal, "version %d", newest + 1);
	open_with_run(f);
	add(f, "m", "cpu", test_result(0, "m", "cpu", VERDICT_RIGHT));
	store_close(&f->store);
	OK(f, db_load(&api, &f->err));
	OK(f, db_open(&d, api, &(struct db_opening){ .path = f->path, .write = true }, &locked, &f->err));
	OK(f, schema_look(&d, steps, n + 2, &s, &version, &f->err));
	assert_int_equal(s, SCHEMA_OLD);
	REFUSED(f, schema_migrate(&d, broken, n + 1, &f->err), refusal);
	db_close(&d);
	// A step that fails leaves nothing behind.
	OK(f, db_open(&d, api, &(struct db_opening){ .path = f->path, .write = true }, &locked, &f->err));
	OK(f, schema_look(&d, schema_migrations, n, &s, &version, &f->err));
	assert_int_equal(s, SCHEMA_CURRENT);
	assert_int_equal(version, newest);
	OK(f, schema_migrate(&d, steps, n + 2, &f->err));
	OK(f, schema_look(&d, steps, n + 2, &s, &version, &f->err));
	assert_int_equal(s, SCHEMA_CURRENT);
	assert_int_equal(version, newest + 2);
	db_close(&d);
	REFUSED(f, store_open(&f->store, f->path, false, &f->err), "newer assay");
	OK(f, store_open(&f->store, f->path, true, &f->err)); // reading still works
	expect(f, "SELECT extra FROM cell", "moved");
	expect(f, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'half'", "0");
	expect(f, "SELECT count(*) FROM result", "1");
}

static struct store_comparison a_comparison(const char *model)
{
	struct store_comparison c;

	comparison_init(&c);
	c.model = model;
	c.metric = "latency_ms";
	c.verdict = "slower";
	c.ratio = 1.25;
	c.pairs = 6;
	c.emulated_a = 1;
	c.rows_a = "[1,4]";
	return c;
}

// What a file of the version before had: no table of comparisons. Reading it finds none; opening it for writing makes the table,
// and what was in the file stays.
static void test_comparisons_come_to_an_old_file(void **state)
{
	struct fixture *f = *state;
	const struct db_api *api;
	struct db d = { 0 };
	struct store_comparison *found, two[] = { a_comparison("it's \"m\"; DROP TABLE cell"), a_comparison("n") };
	size_t count = 7;
	bool locked;

	OK(f, db_load(&api, &f->err));
	OK(f, db_open(&d, api, &(struct db_opening){ .path = f->path, .write = true }, &locked, &f->err));
	OK(f, schema_migrate(&d, schema_migrations, 2, &f->err)); // comparisons are version 3
	OK(f, db_exec(&d, "INSERT INTO model VALUES (1, 'kept', NULL, NULL, NULL, NULL, TIMESTAMP '2026-01-01')", &f->err));
	db_close(&d);
	OK(f, store_open(&f->store, f->path, true, &f->err));
	OK(f, store_comparison_list(&f->store, 1000, &found, &count, &f->err));
	assert_int_equal(count, 0);
	expect(f, "SELECT count(*) FROM result WHERE attempt IS NULL", "0"); // a view over the columns that it has
	store_close(&f->store);
	open_with_run(f);
	expect(f, "SELECT max(version)::VARCHAR FROM schema_version", newest_text);
	expect(f, "SELECT name FROM model", "kept");
	OK(f, store_comparisons(&f->store, two, 2, &f->err));
	OK(f, store_comparisons(&f->store, two, 2, &f->err));
	OK(f, store_comparison_list(&f->store, 1000, &found, &count, &f->err));
	assert_int_equal(count, 4);
	assert_int_equal(found[3].id, 4);
	assert_int_equal(found[0].run, 1);
	assert_string_equal(found[0].model, two[0].model);
	assert_true(found[0].ratio == 1.25 && isnan(found[0].low) && found[0].pairs == 6 && found[0].layers == ROW_NONE &&
		found[0].emulated_a == 1 && found[0].emulated_b == -1 && found[0].preset == NULL);
	json_t *json = comparison_json(&found[0]);
	assert_true(json_array_size(json_object_get(json, "rows_a")) == 2 && json_is_null(json_object_get(json, "low")) &&
		json_is_true(json_object_get(json, "emulated_a")));
	json_decref(json);
	expect(f, "SELECT count(*) FROM comparison WHERE ratio > 1.2 AND verdict = 'slower'", "4");
}

static void test_queries(void **state)
{
	struct fixture *f = *state;
	struct table t;

	REFUSED(f, store_open(&f->store, f->path, true, &f->err), "there is no database");
	OK(f, store_open(&f->store, f->path, false, &f->err));
	OK(f,
		store_query(&f->store,
			"SELECT 1 AS a; SELECT [1, NULL] AS l, {'x': 'y'} AS s, 1.50::DECIMAL(9,2) AS d, TIMESTAMP '2020-01-02 "
			"03:04:05' AS t,"
			" NULL AS n, 0.1::DOUBLE AS f, 'a' AS a, 'b' AS a, 170141183460469231731687303715884105727::HUGEINT AS h",
			&t, &f->err));
	static const char *const cells[] = { "[1, NULL]", "{'x': y}", "1.50", "2020-01-02 03:04:05", NULL, "0.1", "a", "b",
		"170141183460469231731687303715884105727" };
	assert_int_equal(t.column_count, 9);
	for (size_t i = 0; i < t.column_count; i++)
		assert_true(text_is(t.cells[i], cells[i]));
	assert_string_equal(t.types[2], "DECIMAL(9,2)");
	OK(f, store_query(&f->store, "SELECT 'a' || i AS x FROM range(5000) r(i) ORDER BY i", &t, &f->err));
	assert_int_equal(t.row_count, 5000);
	assert_string_equal(table_get(&t, 4999, "x"), "a4999");
	assert_null(table_get(&t, 5000, "x"));
	assert_null(table_get(&t, 0, "y"));
	OK(f, store_query(&f->store, "SELECT * FROM result WHERE false", &t, &f->err));
	assert_int_equal(t.row_count, 0);
	assert_true(t.column_count > 40);
	REFUSED(f, store_query(&f->store, "SELEKT 1", &t, &f->err), "syntax error");
	REFUSED(f, store_query(&f->store, "SELECT nothing FROM result", &t, &f->err), "nothing");
	REFUSED(f, store_query(&f->store, "DELETE FROM cell", &t, &f->err), "read-only");
	OK(f, store_query(&f->store, "DESCRIBE result", &t, &f->err));
	OK(f, store_query(&f->store, "", &t, &f->err));
	assert_int_equal(t.row_count, 0);
}

static void test_use_and_files(void **state)
{
	static const struct {
		const char *name, *words;
	} no_files[] = {
		{ "", "is empty" },
		{ ":memory:", "gone when the program ends" },
		{ "md:x", "names no file" },
		{ "s3://a/b.duckdb", "names no file" },
		{ "a:b.duckdb", "names no file" },
		{ "/dev/null", "is a device" },
	};
	struct fixture *f = *state;
	struct cell c = test_cell("m", "cpu");
	struct cell_result r = test_result(99, "m", "cpu", VERDICT_RIGHT);
	int64_t row;

	store_close(&f->store); // a zeroed store is fine
	REFUSED(f, store_open(&f->store, f->folder, false, &f->err), "is a folder");
	for (size_t i = 0; i < sizeof no_files / sizeof no_files[0]; i++)
		REFUSED(f, store_open(&f->store, no_files[i].name, false, &f->err), no_files[i].words);
	OK(f, file_write(f->path, "SQLite format 3\0 and more of it", 32, &f->err));
	REFUSED(f, store_open(&f->store, f->path, true, &f->err), "not a valid DuckDB database file");
	OK(f, file_write(f->path, "junk that is no database", 24, &f->err));
	REFUSED(f, store_open(&f->store, f->path, false, &f->err), "not a valid DuckDB database file");
	unlink(f->path);
	char log[4300];
	snprintf(log, sizeof log, "%s.wal", f->path);
	OK(f, file_write(log, "x", 1, &f->err)); // a log without its database is nothing to write a new one beside
	REFUSED(f, store_open(&f->store, f->path, false, &f->err), "its log");
	unlink(log);
	OK(f, store_open(&f->store, f->path, false, &f->err));
	REFUSED(f, store_started(&f->store, &c, "k", &row, &f->err), "store_begin_run");
	REFUSED(f, store_end_run(&f->store, &f->err), "store_begin_run");
	store_close(&f->store);
	open_with_run(f);
	REFUSED(f, store_finished(&f->store, &r, &f->err), "row 99 was never started");
	OK(f, store_started(&f->store, &c, "k", &row, &f->err));
	OK(f, store_end_run(&f->store, &f->err));
	store_close(&f->store);
	OK(f, store_open(&f->store, f->path, true, &f->err));
	struct machine m = test_machine();
	REFUSED(f, store_begin_run(&f->store, &m, "x", &f->err), "for reading only");
}

static void test_cell_state(void **state)
{
	struct fixture *f = *state;
	struct cell c = test_cell("m", "cpu");
	struct cell_result r = test_result(0, "m", "cpu", VERDICT_INTERRUPTED);
	enum store_cell_state s;
	int64_t row = 0, found = 0;

	open_with_run(f);
	OK(f, store_cell_state(&f->store, "k'", 0, &s, &found, &f->err));
	assert_int_equal(s, STORE_NEVER);
	OK(f, store_started(&f->store, &c, "k'", &row, &f->err));
	OK(f, store_cell_state(&f->store, "k'", 0, &s, &found, &f->err));
	assert_int_equal(s, STORE_TAKEN); // this very process lives
	assert_int_equal(found, row);
	r.row.row = row;
	OK(f, store_finished(&f->store, &r, &f->err));
	OK(f, store_cell_state(&f->store, "k'", 0, &s, &found, &f->err));
	assert_int_equal(s, STORE_NEVER); // interrupted: to be run again
	OK(f, store_started(&f->store, &c, "k'", &row, &f->err));
	r = test_result(row, "m", "cpu", VERDICT_CRASHED);
	OK(f, store_finished(&f->store, &r, &f->err));
	OK(f, store_cell_state(&f->store, "k'", 0, &s, &found, &f->err));
	assert_int_equal(s, STORE_FINISHED);
	assert_int_equal(found, row);
	OK(f, store_cell_state(&f->store, "other", 0, &s, &found, &f->err));
	assert_int_equal(s, STORE_NEVER);
	// A row that ran into 600 s says nothing to who has more, and hides no answer that was there before.
	OK(f, store_claim(&f->store, &c, "slow", &s, &row, &f->err));
	assert_int_equal(s, STORE_NEVER);
	r = test_result(row, "m", "cpu", VERDICT_TIMEOUT);
	OK(f, store_finished(&f->store, &r, &f->err));
	OK(f, store_cell_state(&f->store, "slow", 600, &s, &found, &f->err));
	assert_int_equal(s, STORE_FINISHED);
	OK(f, store_cell_state(&f->store, "slow", 601, &s, &found, &f->err));
	assert_int_equal(s, STORE_NEVER);
}

// A finished row with this latency; `changed` may alter it first.
static int64_t add_row(struct fixture *f, const struct cell *c, const char *precision, double ms, void (*changed)(struct row *r))
{
	struct cell_result r = test_result(0, c->model, c->platform, VERDICT_RIGHT);
	int64_t row = 0;

	r.row.precision = precision;
	r.row.latency_ms = ms;
	if (changed)
		changed(&r.row);
	OK(f, store_started(&f->store, c, "key", &row, &f->err));
	r.row.row = row;
	OK(f, store_finished(&f->store, &r, &f->err));
	return row;
}

static void with_threads(struct row *r)
{
	r->threads = 2;
}

static void in_bfloat16(struct row *r)
{
	r->compute_dtype = "bf16";
}

static void of_fewer_tokens(struct row *r)
{
	r->sequence = 16;
	r->asked_sequence = 128;
}

static void of_another_tool(struct row *r)
{
	r->source = "another";
}

static void test_what_float32_took(void **state)
{
	struct fixture *f = *state;
	struct cell c = test_cell("m", "cpu"), other = test_cell("n", "cpu"), with_options = test_cell("m", "cpu");
	struct cell_result r = test_result(0, "m", "cpu", VERDICT_RIGHT);
	struct arena a = { 0 };
	struct store_measured last;
	int64_t wanted;

	open_with_run(f);
	with_options.options = "optimisation=none";
	OK(f, store_started(&f->store, &c, "key", &r.row.row, &f->err));
	OK(f, store_last_float32(&f->store, &a, &r.row, &last, &f->err));
	assert_true(last.row == ROW_NONE && isnan(last.latency_ms)); // nothing was measured yet
	add_row(f, &c, NULL, 30, NULL);
	wanted = add_row(f, &c, "float32", 20, NULL);
	add_row(f, &c, "int8-dynamic", 10, NULL);
	add_row(f, &c, NULL, 11, with_threads);
	add_row(f, &c, NULL, 12, in_bfloat16);
	add_row(f, &c, NULL, 13, of_another_tool);
	add_row(f, &c, NULL, 3, of_fewer_tokens);
	add_row(f, &c, "int8-dynamic", 2, of_fewer_tokens);
	add_row(f, &other, NULL, 14, NULL);
	add_row(f, &with_options, NULL, 15, NULL);
	r.row.precision = "int8-dynamic";
	OK(f, store_started(&f->store, &c, "key", &r.row.row, &f->err));
	OK(f, store_last_float32(&f->store, &a, &r.row, &last, &f->err));
	assert_int_equal(last.row, wanted); // the last of the same question, and no other
	assert_true(fabs(last.latency_ms - 20) < 1e-9);
	r.row.threads = 2;
	OK(f, store_last_float32(&f->store, &a, &r.row, &last, &f->err));
	assert_true(fabs(last.latency_ms - 11) < 1e-9);
	r.row.threads = ROW_NONE;
	OK(f, store_last_measured(&f->store, &a, &r.row, &last, &f->err)); // of a fallback: the same precision
	assert_true(fabs(last.latency_ms - 10) < 1e-9);
	arena_done(&a);
}

// What a handler of a signal was given is not written over by another thread's opening.
static void test_the_opened_one(void **state)
{
	struct fixture *f = *state;
	const struct db_api *api = NULL;
	struct db outer, inner;
	bool locked, write = true;
	char second[4200];

	snprintf(second, sizeof second, "%s/b.duckdb", f->folder);
	assert_null(store_opened(&write));
	OK(f, db_load(&api, &f->err));
	OK(f, db_open(&outer, api, &(struct db_opening){ .path = f->path, .write = true }, &locked, &f->err));
	const char *then = store_opened(&write);
	assert_true(write);
	OK(f, db_open(&inner, api, &(struct db_opening){ .path = second, .write = true }, &locked, &f->err));
	assert_string_equal(then, f->path);
	assert_string_equal(store_opened(&write), second);
	db_close(&inner);
	db_close(&outer);
	assert_null(store_opened(&write));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_the_library),
		TEST(test_every_field),
		TEST(test_broken_text),
		TEST(test_what_is_beyond),
		TEST(test_details),
		TEST(test_original_tables),
		TEST(test_file_of_the_original),
		TEST(test_columns_are_added),
		TEST(test_views_are_renewed),
		TEST(test_views_are_ours),
		TEST(test_one_select),
		TEST(test_what_a_select_names),
		TEST(test_altered_tables),
		TEST(test_migration_steps),
		TEST(test_comparisons_come_to_an_old_file),
		TEST(test_queries),
		TEST(test_use_and_files),
		TEST(test_cell_state),
		TEST(test_what_float32_took),
		TEST(test_the_opened_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
