// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// Questions through the database and back, rows chosen by words, which rows are held against each other, and series of them: what
// was asked in another precision, with other threads or as another scenario is another question.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analysis/asked.h"
#include "analysis/contrast.h"
#include "analysis/history.h"
#include "analysis/reproduce.h"
#include "assay.h"
#include "base/text.h"
#include "question/standing.h"
#include "store_rows.h"

static char *folder, path[4200];
static struct store store;
static struct arena arena;
static struct error err;

#define OK(call) \
	do { \
		if ((call) != STATUS_OK) \
			fail_msg("%s: %s", #call, err.text); \
	} while (0)

static int setup(void **state)
{
	struct machine m = test_machine();

	(void)state;
	folder = test_folder();
	snprintf(path, sizeof path, "%s/a.duckdb", folder);
	OK(test_store_open(&store, path, &err));
	OK(store_begin_run(&store, &m, "test", &err));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	store_close(&store);
	arena_done(&arena);
	test_folder_done(folder);
	return 0;
}

static int64_t add(const struct cell *c, double latency_ms, enum verdict v)
{
	static double ms[11];
	struct cell_result r = test_result(0, c->model, c->platform, v);
	int64_t row = 0;

	OK(store_started(&store, c, "key", &row, &err));
	r.row.row = row;
	r.row.batch = c->batch;
	for (size_t i = 0; i < 11; i++)
		ms[i] = latency_ms * (1 + 0.001 * (double)i);
	r.sample_ms = ms;
	r.row.latency_ms = latency_ms;
	row_set_asked(&r.row, &c->question);
	OK(store_finished(&store, &r, &err));
	return row;
}

static void questions_come_back(void **state)
{
	struct cell c = test_cell("m", "openvino");
	struct store_question q;

	(void)state;
#define FILL_TEXT(name) "it's \"" #name "\" \xc3\xa9"
#define FILL_INTEGER(name) (INT64_C(4611686018427387904) + (int64_t)sizeof #name)
#define FILL_REAL(name) (0.1 + (double)sizeof #name)
#define FILL_FLAG(name) true
#define FILL_GIB FILL_INTEGER
#define X(name) c.name = FILL_TEXT(name);
	QUESTION_WHERE_LIST(X)
#undef X
#define X(kind, name, ...) c.name = FILL_##kind(name);
	QUESTION_LIST(X)
#undef X
	c.platform = "openvino";
	c.device = "CPU";
	int64_t row = add(&c, 10, VERDICT_RIGHT);
	OK(store_question(&store, &arena, row, &q, &err));
	assert_false(q.is_rebuilt);
#define SAME_TEXT(name) assert_string_equal(q.cell.name, c.name)
#define SAME_INTEGER(name) assert_true(q.cell.name == c.name)
#define SAME_FLAG SAME_INTEGER
#define SAME_GIB SAME_INTEGER
#define SAME_REAL(name) assert_true(fabs(q.cell.name - c.name) < 1e-12)
#define X(name) SAME_TEXT(name);
	QUESTION_WHERE_LIST(X)
#undef X
#define X(kind, name, ...) SAME_##kind(name);
	QUESTION_LIST(X)
#undef X
	assert_int_equal(store_question(&store, &arena, 99, &q, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "no row 99"));
}

static void what_a_report_says_of_a_question(void **state)
{
	const struct question q = { .image_size = 64,
		.threads = 2,
		.precision = "int8-dynamic",
		.as_shipped = true,
		.delay_s = 1.5,
		.scenario = "server",
		.streams = 8,
		.rate_per_s = 20,
		.latency_bound_ms = 7,
		.shapes = "x:1,2" };

	(void)state;
	assert_string_equal(question_words(&arena, &q),
		"image size 64, as shipped, after 1.5 s of rest, server of 8 at 20 queries/s within 7 ms");
	assert_string_equal(question_words(&arena, &(struct question){ .timeout_s = 3 }), "");
}

// Limits that a stranger's row says it had are not taken as they are.
static void a_row_asks_for_so_much(void **state)
{
	static const int64_t memory[] = { 1 << 30, 0, 1 << 20 };
	static const double seconds[][3] = { { 1e18, 3600, 600 }, { -1, 0, 0 }, { 20, 20, 20 } };
	struct reproduce r;

	(void)state;
	setenv("ASSAY_MEMORY", "1", 1);
	for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
		struct cell c = test_cell("m", "cpu");
		c.timeout_s = c.quiet_wait_s = seconds[i][0];
		c.memory_bytes = i == 2 ? 1 << 20 : (int64_t)seconds[i][0];
		c.force = true;
		OK(reproduce_read(&store, &arena, add(&c, 10, VERDICT_RIGHT), &r, &err));
		assert_true(r.question.timeout_s == seconds[i][1]);
		assert_true(r.question.quiet_wait_s == seconds[i][2]);
		assert_int_equal(r.question.memory_bytes, memory[i]);
		assert_false(r.question.force);
	}
	unsetenv("ASSAY_MEMORY");
}

// Options that the platform's row brings are not what somebody asked for.
static void own_options(void **state)
{
	const struct platform *p = NULL;
	struct store_question q;

	(void)state;
	for (size_t i = 0; i < platform_count() && !p; i++)
		p = platform_get(i)->routes[0].options ? platform_get(i) : NULL;
	assert_non_null(p);
	const char *theirs = p->routes[0].options;
	struct cell c = test_cell("m", p->name);
	c.device = p->routes[0].device;
	c.options = theirs;
	OK(store_question(&store, &arena, add(&c, 10, VERDICT_RIGHT), &q, &err));
	assert_null(q.own_options);
	c.options = arena_printf(&arena, "%s,streams=2", theirs);
	OK(store_question(&store, &arena, add(&c, 10, VERDICT_RIGHT), &q, &err));
	assert_string_equal(q.own_options, "streams=2");
	c.options = "streams=2";
	OK(store_question(&store, &arena, add(&c, 10, VERDICT_RIGHT), &q, &err));
	assert_string_equal(q.own_options, "streams=2");
}

static void only_one_question_is_held_against(void **state)
{
	struct cell c = test_cell("m", "cpu");
	struct store_measured last;
	struct row like;

	(void)state;
	int64_t first = add(&c, 10, VERDICT_RIGHT);
#define CHANGE_TEXT "word"
#define CHANGE_INTEGER 3
#define CHANGE_REAL 2.5
#define CHANGE_FLAG true
#define CHANGE_GIB CHANGE_INTEGER
	// Each column of the row that tells questions apart does it alone. How long it was looked at does not, and neither does
	// the loss that is accepted.
#define X(kind, name, ...) \
	if (question_place(QUESTION_AT_##name) == QUESTION_ROW || question_place(QUESTION_AT_##name) == QUESTION_TUNED) { \
		struct cell other = c; \
		other.name = CHANGE_##kind; \
		OK(store_row(&store, &arena, add(&other, 20, VERDICT_RIGHT), &like, &err)); \
		OK(store_last_measured(&store, &arena, &like, &last, &err)); \
		assert_true(last.row == ROW_NONE); \
	}
	QUESTION_LIST(X)
#undef X
	OK(store_row(&store, &arena, add(&c, 11, VERDICT_RIGHT), &like, &err));
	OK(store_last_measured(&store, &arena, &like, &last, &err));
	assert_true(last.row == first);
}

static struct side take(const char *words)
{
	struct side s;

	OK(store_side(&store, &arena, words, true, &s, &err));
	return s;
}

static void words_choose_rows(void **state)
{
	static const char *const bad[] = { "x", "1..", "1,,2", "run:", "run:x", "on:", "1+", "+1", "name:x", "1..2..3", "-1" };
	struct cell cpu = test_cell("m", "cpu"), openvino = test_cell("other", "openvino");
	struct side s;

	(void)state;
	openvino.device = "GPU";
	for (int i = 0; i < 3; i++)
		add(&cpu, 10, VERDICT_RIGHT);
	add(&openvino, 5, VERDICT_RIGHT);
	add(&cpu, 10, VERDICT_INTERRUPTED);
	assert_int_equal(take(NULL).count, 4);
	assert_int_equal(take(NULL).unfinished, 1);
	assert_int_equal(take("1,3..4").count, 3);
	assert_true(take("2").by_number && take("2").rows[0].row.row == 2 && take("2").rows[0].ms_count == 11);
	assert_int_equal(take("on:cpu").count, 3);
	assert_int_equal(take("on:openvino:GPU").count, 1);
	assert_int_equal(take("run:1+model:m").count, 3);
	assert_int_equal(take("run:1..2+on:cpu+2").count, 1);
	assert_int_equal(take(arena_printf(&arena, "machine:0123+version:%s", assay_version())).count, 4);
	assert_int_equal(store_side(&store, &arena, "run:2", false, &s, &err), STATUS_BAD_INPUT);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (store_side(&store, &arena, bad[i], false, &s, &err) != STATUS_BAD_INPUT)
			fail_msg("'%s' was taken", bad[i]);
}

// Rows as store_side gives them, without a database: opening one costs more than the rest of a test.
struct made {
	struct side side;
	struct side_row row[40];
	double ms[40][3];
};

static struct side_row *make(struct made *m, const struct cell *c, int64_t run, double latency_ms)
{
	struct cell_result measured = test_result((int64_t)m->side.count + 1, c->model, c->platform, VERDICT_RIGHT);
	struct side_row *r = &m->row[m->side.count];

	*r = (struct side_row){ .row = measured.row,
		.verdict = VERDICT_RIGHT,
		.run = run,
		.machine = "0123456789abcdef",
		.version = "1",
		.measured_at = "2026-01-01 00:00:00",
		.question.cell = *c,
		.ms = m->ms[m->side.count],
		.ms_count = 3 };
	for (size_t i = 0; i < 3; i++)
		r->ms[i] = latency_ms * (1 + 0.001 * (double)i);
	r->row.latency_ms = r->ms[1];
	r->row.peak_resident_mib = 500 + latency_ms;
	r->row.throughput_per_s = 1e3 / latency_ms;
	m->side.rows = m->row;
	m->side.count++;
	return r;
}

static void metrics_and_directions(void **state)
{
	static struct made a, b, more;
	struct cell c = test_cell("m", "cpu"), wide = c;
	struct contrast_result r;

	(void)state;
	wide.batch = 2;
	for (int i = 0; i < 6; i++) {
		make(&a, &c, 1, 10 + 0.01 * i);
		make(&b, &c, 2, 20 + 0.01 * i);
		make(&more, &c, 3, 20 + 0.01 * i);
	}
	make(&more, &wide, 3, 20);
	OK(contrast_make(&a.side, &b.side, 0, 1, &arena, &r, &err));
	assert_true(r.count == 1 && r.items[0].line_count == CONTRAST_COUNT && !r.differs);
	const struct contrast_line *l = r.items[0].lines;
	assert_true(l[CONTRAST_LATENCY].is_worse && fabs(l[CONTRAST_LATENCY].c.ratio - 2) < 0.01 &&
		l[CONTRAST_LATENCY].c.a_samples == 18);
	assert_string_equal(l[CONTRAST_LATENCY].verdict, "slower");
	assert_string_equal(l[CONTRAST_LOAD].verdict, "same");
	assert_string_equal(l[CONTRAST_MEMORY].verdict, "same"); // 510 and 520 MiB: less than 2 %
	assert_true(l[CONTRAST_THROUGHPUT].is_worse && fabs(l[CONTRAST_THROUGHPUT].c.ratio - 0.5) < 0.01);
	assert_true(l[CONTRAST_THROUGHPUT].c.low <= l[CONTRAST_THROUGHPUT].c.ratio &&
		l[CONTRAST_THROUGHPUT].c.ratio <= l[CONTRAST_THROUGHPUT].c.high);
	assert_true(fabs(l[CONTRAST_THROUGHPUT].c.a_ms - 100) < 1);
	assert_true(r.slower == 2 && r.faster == 0 && r.compared == 5);
	OK(contrast_make(&b.side, &a.side, 1u << CONTRAST_LATENCY, 1, &arena, &r, &err));
	assert_true(r.items[0].line_count == 1 && r.items[0].lines[0].is_better);
	OK(contrast_make(&a.side, &more.side, 1u << CONTRAST_LATENCY, 1, &arena, &r, &err));
	assert_true(r.count == 1 && r.items[0].b_count == 6 && r.only_b_count == 1 && r.only_a_count == 0);
	assert_non_null(strstr(r.only_b[0].what, "batch 2"));
}

// Six rows a side of one name whose files changed are two questions, though the sides were named row by row; one that failed
// before it knew its files answers either.
static void other_files_are_another_question(void **state)
{
	static struct made a, b;
	struct cell c = test_cell("m", "cpu");
	struct contrast_result r;
	struct history *h;
	size_t count;

	(void)state;
	for (int i = 0; i < 6; i++) {
		make(&a, &c, 1, 10)->row.model_sha256 = i ? "0123456789abcdef" : NULL;
		make(&b, &c, 2, 20)->row.model_sha256 = "fedcba9876543210";
	}
	a.side.by_number = b.side.by_number = true;
	OK(contrast_make(&a.side, &b.side, 0, 1, &arena, &r, &err));
	assert_true(r.count == 0 && r.compared == 0 && r.only_a_count == 1 && r.only_b_count == 1 && r.only_a[0].count == 6 &&
		!r.differs);
	assert_non_null(strstr(r.only_a[0].what, "files 01234567"));
	assert_non_null(strstr(r.only_b[0].what, "files fedcba98"));
	for (size_t i = 0; i < 6; i++)
		b.row[i].row.model_sha256 = i ? "0123456789abcdef" : NULL;
	OK(contrast_make(&a.side, &b.side, 0, 1, &arena, &r, &err));
	assert_true(r.count == 1 && r.items[0].a_count == 6 && r.items[0].b_count == 6 && !strstr(r.items[0].what, "files"));
	b.row[5].row.model_sha256 = "fedcba9876543210";
	OK(history_make(&b.side, CONTRAST_LATENCY, 1, &arena, &h, &count, &err));
	assert_true(count == 2 && h[0].count == 1 && h[0].points[0].count == 5 && h[1].points[0].count == 1);
	assert_non_null(strstr(h[0].what, "files 01234567"));
	assert_non_null(strstr(h[1].what, "files fedcba98"));
	b.row[5].row.model_sha256 = NULL;
	OK(history_make(&b.side, CONTRAST_LATENCY, 1, &arena, &h, &count, &err));
	assert_true(count == 1 && !strstr(h[0].what, "files"));
}

// What qualifies rows is said of each side where the words of the question do not say it: an emulator's, a shortened model's, of
// some or of all.
static void figures_are_qualified(void **state)
{
	static struct made a, b;
	struct cell c = test_cell("m", "cpu");
	struct contrast_result r;
	struct history *h;
	size_t count;

	(void)state;
	c.synthetic = true;
	c.layers = 2;
	for (int i = 0; i < 4; i++) {
		struct row *x = &make(&a, &c, 1, 10)->row, *y = &make(&b, &c, 2, 10)->row;

		x->layers = y->layers = 2;
		y->emulated = 1;
		y->compute_dtype = i == 0 ? "f16" : "f32";
	}
	OK(contrast_make(&a.side, &b.side, 0, 1, &arena, &r, &err));
	assert_int_equal(r.count, 1);
	assert_non_null(strstr(r.items[0].what, "synthetic weights"));
	assert_null(r.items[0].qualifiers_a);
	assert_string_equal(r.items[0].qualifiers_b, "1 of 4: computed in f16, emulated; 3 of 4: emulated");
	a.side.path = b.side.path = "made here";
	json_t *json = contrast_json(&a.side, &b.side, &r), *question = json_array_get(json_object_get(json, "questions"), 0);
	assert_string_equal(json_string_value(json_object_get(question, "qualifiers_b")), r.items[0].qualifiers_b);
	json_decref(json);
	OK(history_make(&b.side, CONTRAST_LATENCY, 1, &arena, &h, &count, &err));
	assert_string_equal(h[0].qualifiers, r.items[0].qualifiers_b);
	// Two rows named by number: what they differ in is said of both sides together, and the words of the question leave it
	// out.
	b.row[0].question.cell.synthetic = false;
	b.row[0].question.cell.layers = 0;
	b.row[0].row.layers = ROW_NONE;
	b.row[0].row.weights = "real";
	a.side.count = b.side.count = 1;
	a.side.by_number = b.side.by_number = true;
	OK(contrast_make(&a.side, &b.side, 0, 1, &arena, &r, &err));
	assert_int_equal(r.count, 1);
	assert_string_equal(r.items[0].qualifiers_a, "2 layers, synthetic weights");
	assert_string_equal(r.items[0].qualifiers_b, "computed in f16, emulated");
	assert_string_equal(qualifiers_of_sides(&arena, "x", "y"), "A: x; B: y");
	assert_string_equal(qualifiers_of_sides(&arena, "x", NULL), "A: x");
	assert_string_equal(qualifiers_of_sides(&arena, "x", "x"), "x");
	assert_null(qualifiers_of_sides(&arena, NULL, NULL));
}

// What --fallback ran on another platform is compared by its own answer and called so; what was asked for is a question beside
// it. Not what ran on another platform without --fallback.
static void a_fallback_is_compared_by_its_answer(void **state)
{
	static struct made a, b;
	static struct made *const both[] = { &a, &b };
	struct cell c = test_cell("m", "openvino");
	struct contrast_result r;

	(void)state;
	c.requested = "cuda";
	c.device = "CPU";
	for (size_t i = 0; i < 2; i++) {
		struct cell asked = test_cell("m", "cuda");
		struct side_row *first = make(both[i], &asked, 1, 10), *instead = make(both[i], &c, 1, i ? 20 : 10);

		first->verdict = VERDICT_UNAVAILABLE;
		first->row.tried = "cuda";
		instead->row.requested = "cuda";
		instead->row.tried = "openvino";
		instead->row.fallback_of = 1;
	}
	OK(contrast_make(&a.side, &b.side, 1u << CONTRAST_LATENCY, 1, &arena, &r, &err));
	assert_true(r.count == 2 && r.compared == 1 && r.worse_verdicts == 0);
	assert_string_equal(r.items[0].what, "m on cuda, batch 1, 128 tokens");
	assert_false(r.items[0].lines[0].is_compared);
	assert_string_equal(r.items[1].what, "m on cuda, in its place openvino:CPU, batch 1, 128 tokens");
	assert_true(fabs(r.items[1].lines[0].c.ratio - 2) < 0.01);
	b.row[1].row.actual = "cpu";
	OK(contrast_make(&a.side, &b.side, 1u << CONTRAST_LATENCY, 1, &arena, &r, &err));
	assert_int_equal(r.compared, 0);
}

// Sixteen runs of one question, one of them with two rows; from the ninth on they take 10 % longer, in a newer engine. Another
// machine's rows and another question's are series of their own.
static void a_series_changes(void **state)
{
	static struct made m;
	struct cell c = test_cell("m", "cpu"), other = c;
	struct history *h;
	size_t count;

	(void)state;
	other.threads = 3;
	for (int i = 1; i <= 15; i++) {
		make(&m, &c, i, (i < 9 ? 10 : 11) + 0.01 * (i * 7 % 5))->row.engine_version = i < 9 ? "1.0" : "2.0";
		if (i == 3)
			make(&m, &c, i, 10.5);
		if (i == 4)
			make(&m, &other, i, 50);
	}
	make(&m, &c, 16, 10)->machine = "fedcba9876543210";
	OK(history_make(&m.side, CONTRAST_LATENCY, 1, &arena, &h, &count, &err));
	assert_int_equal(count, 3);
	assert_true(h[0].count == 15 && h[0].measured == 15 && !h[0].why_not && h[0].points[2].count == 2 &&
		fabs(h[0].points[2].figure - 10.265) < 0.001);
	assert_int_equal(h[0].change_count, 1);
	assert_int_equal(h[0].points[h[0].changes[0].at].run, 9);
	assert_true(h[0].changes[0].is_worse && fabs(h[0].changes[0].c.ratio - 1.1) < 0.005 && h[0].changes[0].p <= CHANGE_LEVEL);
	assert_true(h[0].changes[0].c.low > 1.02 && h[0].changes[0].c.high < 1.2);
	assert_string_equal(h[0].changes[0].verdict, "slower");
	assert_string_equal(h[0].changes[0].with, "engine version 1.0 to 2.0");
	assert_true(h[1].count == 1 && h[1].why_not && strstr(h[1].what, "threads 3"));
	assert_true(h[2].count == 1 && h[2].why_not && text_starts(h[2].machine, "fedc"));
	json_t *json = history_json(h, count);
	assert_true(json_array_size(json) == 3);
	json_decref(json);
}

static int forget(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(questions_come_back),
		TEST(own_options),
		TEST(what_a_report_says_of_a_question),
		TEST(a_row_asks_for_so_much),
		TEST(only_one_question_is_held_against),
		TEST(words_choose_rows),
		cmocka_unit_test(metrics_and_directions),
		cmocka_unit_test_teardown(other_files_are_another_question, forget),
		cmocka_unit_test_teardown(figures_are_qualified, forget),
		cmocka_unit_test_teardown(a_fallback_is_compared_by_its_answer, forget),
		cmocka_unit_test_teardown(a_series_changes, forget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
