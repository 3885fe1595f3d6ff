// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// The named questions on a small database: each answer word for word. The figures are made up here and were never measured.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text.h"
#include "run/cell.h"
#include "store/questions.h"
#include "store_rows.h"

static char *folder, path[4200];

static void ok(struct error *err, enum status status)
{
	if (status != STATUS_OK)
		fail_msg("%s", err->text);
}

// One row: NULL for whatever is not said stays as test_result has it.
struct made {
	const char *model, *platform;
	double ms, low, high;
	enum verdict verdict;
	const char *engine, *actual, *cause, *stability, *source, *version;
	int emulated;
	int64_t nodes_elsewhere;
	const char *key; // of the cell: how long was timed is in it, too
	const char *files, *not_judged;
};

static int64_t put(struct store *s, const struct made *m)
{
	struct error err = { 0 };
	struct cell c = test_cell(m->model, m->platform);
	struct cell_result r = test_result(0, m->model, m->platform, m->verdict);
	char key[200];
	int64_t row = 0;

	snprintf(key, sizeof key, "%s on %s%s", m->model, m->platform, m->key ? m->key : "");
	ok(&err, store_started(s, &c, key, &row, &err));
	r.row.row = row;
	r.row.cell_key = key;
	r.row.latency_ms = r.row.latency_min_ms = r.row.latency_max_ms = m->ms;
	if (m->high > 0) {
		r.row.latency_low_ms = m->low;
		r.row.latency_high_ms = m->high;
	}
	if (m->engine)
		r.row.engine = m->engine;
	if (m->actual)
		r.row.actual = m->actual;
	if (m->version)
		r.row.engine_version = m->version;
	if (m->emulated)
		r.row.emulated = 1;
	if (m->nodes_elsewhere) {
		r.row.nodes_elsewhere = m->nodes_elsewhere;
		r.row.nodes = 100;
		r.row.placement_note = "as the engine says";
	}
	r.row.cause = m->cause;
	r.row.source = m->source;
	r.row.model_sha256 = m->files;
	r.row.not_judged = m->not_judged;
	r.row.stability = m->stability ? m->stability : "stable";
	r.row.stability_why = m->stability ? "windows 1 and 2 differ by 30 %" : NULL;
	if (m->verdict == VERDICT_WRONG) {
		r.row.max_abs_error = 0.5;
		r.row.worst = "logits[3]";
	}
	ok(&err, store_finished(s, &r, &err));
	return row;
}

static int make(void **state)
{
	static const struct made rows[] = {
		{ "org/bert", "cpu", 20, 19, 21, VERDICT_RIGHT },                 // 1
		{ "org/bert", "openvino", 10, 9.5, 10.5, VERDICT_RIGHT },         // 2
		{ "org/bert", "webgpu", 30, 29, 31, VERDICT_UNJUDGED },           // 3: nobody knows whether it is right
		{ "org/bert", "qnn", 5, 4, 6, VERDICT_RIGHT, .emulated = 1 },     // 4: no hardware's time
		{ "org/bert", "cuda", 1, 1, 1, VERDICT_RIGHT, .engine = "null" }, // 5: nothing was computed
		{ "org/bert", "llama-bench", 2, 0, 0, VERDICT_UNJUDGED, .source = "llama-bench 5163" }, // 6: not ours
		{ "vit", "cpu", 8, 0, 0, VERDICT_RIGHT },                                               // 7
		{ "vit", "openvino", 4, 3.9, 4.1, VERDICT_WRONG, .cause = "differs" },                  // 8: fast and wrong
		{ "vit", "webgpu", 9, 8, 10, VERDICT_RIGHT, .actual = "cpu" },                          // 9: ran elsewhere
		{ "vit", "cuda", 0, 0, 0, VERDICT_CRASHED, .cause = "signal 11" },                      // 10
		{ "org/bert", "cpu", 25, 24, 26, VERDICT_RIGHT },                                       // 11: worse than row 1
		{ "vit", "cpu", 8.2, 0, 0, VERDICT_RIGHT, .stability = "unstable" }, // 12: 2.5 % more and no interval
		{ "vit", "qnn", 7, 6.9, 7.1, VERDICT_RIGHT, .nodes_elsewhere = 7 },  // 13
		{ "vit", "mps", 30, 29, 31, VERDICT_RIGHT },                         // 14
	};
	struct store s = { 0 };
	struct error err = { 0 };
	struct machine m = test_machine();
	json_t *found = json_pack("[{s:s, s:b}, {s:s, s:b, s:s}]", "name", "cpu", "available", 1, "name", "rocm", "available", 0,
		"reason", "no device");

	(void)state;
	folder = test_folder();
	snprintf(path, sizeof path, "%s/a.duckdb", folder);
	ok(&err, test_store_open(&s, path, &err));
	ok(&err, store_begin_run(&s, &m, "test", &err));
	ok(&err, store_detection(&s, found, &err));
	json_decref(found);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_int_equal(put(&s, &rows[i]), i + 1);
	ok(&err, store_end_run(&s, &err));
	store_close(&s);
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	test_folder_done(folder);
	return 0;
}

// The named columns of the answer, "a|b" a line, NULL as "-".
static void answers(const char *name, struct store_asking with, const char *columns, const char *expected, const char *left_out)
{
	struct store s = { 0 };
	struct error err = { 0 };
	struct table t = { 0 };
	struct text got = { 0 };
	const char *said = NULL;
	const struct store_question *q = store_question_find(name);

	assert_non_null(q);
	ok(&err, store_open(&s, path, true, &err));
	ok(&err, store_ask(&s, q, &with, &t, &said, &err));
	for (size_t i = 0; i < t.row_count; i++) {
		char list[300], *rest = NULL;
		snprintf(list, sizeof list, "%s", columns);
		for (char *c = strtok_r(list, " ", &rest); c; c = strtok_r(NULL, " ", &rest)) {
			size_t k = 0;
			while (k < t.column_count && !text_is(t.columns[k], c))
				k++;
			if (k == t.column_count)
				fail_msg("%s has no column %s", name, c);
			text_addf(&got, "%s%s", c == list ? "" : "|",
				t.cells[i * t.column_count + k] ? t.cells[i * t.column_count + k] : "-");
		}
		text_add(&got, "\n");
	}
	if (!text_is(text_get(&got), expected))
		fail_msg("%s:\n%snot\n%s", name, text_get(&got), expected);
	if (!text_is(said, left_out))
		fail_msg("%s leaves out: %s, not: %s", name, said ? said : "-", left_out ? left_out : "-");
	text_done(&got);
	store_close(&s);
}

#define ALL \
	(struct store_asking) \
	{ \
		0 \
	}
#define LEFT_WITH(elsewhere) \
	"times left out: 1 row of an emulated device, " elsewhere \
	"1 row that nothing judged, 1 row of the null engine, which computes nothing," \
	" 1 row imported from another tool"
#define LEFT LEFT_WITH("1 row that ran elsewhere, ")

static void test_fastest(void **state)
{
	(void)state;
	answers("fastest", ALL, "model platform ms low_ms of_cpu against row",
		"org/bert|openvino|10.0|9.5|2.5|1|2\nvit|qnn|7.0|6.9|1.17|2|13\n", LEFT);
	answers("fastest", (struct store_asking){ .model = "bert" }, "model platform row", "org/bert|openvino|2\n",
		LEFT_WITH(""));
	answers("fastest", (struct store_asking){ .platform = "cpu" }, "model platform ms row",
		"org/bert|cpu|25.0|11\nvit|cpu|8.2|12\n", NULL);
	answers("fastest", (struct store_asking){ .limit = 1 }, "model", "org/bert\n", LEFT);
	answers("fastest", (struct store_asking){ .model = "x' OR 1=1 --" }, "model", "", NULL);
}

static void test_counts(void **state)
{
	(void)state;
	answers("by-hardware", ALL, "platform n models right unjudged wrong others timed avg_ms min_ms",
		"cpu|2|2|2|0|0|0|2|16.6|8.2\ncuda|2|2|0|0|0|2|0|-|-\nmps|1|1|1|0|0|0|1|30.0|30.0\n"
		"openvino|2|2|1|0|1|0|1|10.0|10.0\nqnn|2|2|2|0|0|0|1|7.0|7.0\nwebgpu|2|2|0|1|0|1|0|-|-\n",
		LEFT);
	answers("by-hardware", ALL, "platform right emulated synthetic shortened reduced",
		"cpu|2|0|2|0|0\ncuda|0|0|2|0|0\nmps|1|0|1|0|0\nopenvino|1|0|2|0|0\nqnn|2|1|2|0|0\nwebgpu|0|0|2|0|0\n", LEFT);
	answers("by-architecture", (struct store_asking){ .platform = "cpu" }, "architecture platform n timed avg_ms",
		"encoder-only|cpu|2|2|16.6\n", NULL);
	answers("coverage", ALL, "platform rows models right elsewhere wrong broken emulated nothing_computed synthetic imported",
		"cpu|4|2|4|0|0|0|0|0|4|0\ncuda|2|2|0|0|0|1|0|1|2|0\nllama-bench|1|1|0|0|0|0|0|0|1|1\nmps|1|1|1|0|0|0|0|0|1|0\n"
		"openvino|2|2|1|0|1|0|0|0|2|0\nqnn|2|2|2|0|0|0|1|0|2|0\nwebgpu|2|2|0|1|0|0|0|0|2|0\n",
		NULL);
}

static void test_what_went_wrong(void **state)
{
	(void)state;
	answers("failures", ALL, "verdict cause n models platforms last_row",
		"wrong|differs|1|vit|openvino|8\ncrashed|signal 11|1|vit|cuda|10\n", NULL);
	answers("wrong", ALL, "model platform max_abs_error worst row", "vit|openvino|0.5|logits[3]|8\n", NULL);
	answers("unstable", ALL, "model platform ms why row", "vit|cpu|8.2|windows 1 and 2 differ by 30 %|12\n", NULL);
	answers("fallbacks", ALL, "model asked_for ran_on how nodes_elsewhere reason row",
		"vit|webgpu|cpu|without a word|-|-|9\nvit|qnn|qnn|some of its nodes|7|as the engine says|13\n", NULL);
	answers("memory", (struct store_asking){ .platform = "openvino" },
		"model resident_mib predicted_mib predicted_of_peak row", "org/bert|520.0|546.0|1.05|2\nvit|520.0|546.0|1.05|8\n",
		NULL);
}

static void test_comparisons(void **state)
{
	(void)state;
	answers("slower-than-cpu", ALL, "model platform ms cpu_ms times sure row cpu_row",
		"vit|mps|30.0|8.2|3.66|cannot tell: 1 and 2 rows, 6 a side are needed|14|12\n", LEFT);
	answers("slower-than-cpu", (struct store_asking){ .platform = "mps" }, "model row", "vit|14\n", NULL);
	answers("regressions", ALL, "model platform before_ms ms times sure before_row row",
		"org/bert|cpu|20.0|25.0|1.25|cannot tell: 1 and 1 rows, 6 a side are needed|1|11\n", LEFT);
}

static void begin(struct store *s, const char *name)
{
	struct error err = { 0 };
	struct machine m = test_machine();

	snprintf(path, sizeof path, "%s/%s.duckdb", folder, name);
	ok(&err, test_store_open(s, path, &err));
	ok(&err, store_begin_run(s, &m, "test", &err));
}

// Six rows of one version of the engine, then rows of the next. A claim needs six of each, and all of them apart.
static void test_claims(void **state)
{
	struct store s = { 0 };
	char whole[sizeof path];

	(void)state;
	memcpy(whole, path, sizeof path);
	begin(&s, "claims");
	for (size_t i = 0; i < 6; i++) {
		put(&s, &(struct made){ "sized", "cpu", 10, .verdict = VERDICT_RIGHT });
		put(&s, &(struct made){ "sized", "webgpu", 12 + 0.1 * (double)i, .verdict = VERDICT_RIGHT, .version = "1" });
	}
	for (size_t i = 0; i < 5; i++)
		put(&s, &(struct made){ "sized", "webgpu", 15 + 0.1 * (double)i, .verdict = VERDICT_RIGHT, .version = "2" });
	store_close(&s);
	answers("regressions", ALL, "model platform before_ms ms sure rows_before rows_now",
		"sized|webgpu|12.25|15.2|cannot tell: 5 and 6 rows, 6 a side are needed|6|5\n", NULL);
	s = (struct store){ 0 };
	begin(&s, "claims");
	put(&s, &(struct made){ "sized", "webgpu", 15.5, .verdict = VERDICT_RIGHT, .version = "2" });
	store_close(&s);
	answers("regressions", ALL, "model platform before_ms ms sure rows_before rows_now",
		"sized|webgpu|12.25|15.25|slower|6|6\n", NULL);
	answers("slower-than-cpu", ALL, "ms cpu_ms sure", "15.5|10.0|slower\n", NULL);
	s = (struct store){ 0 };
	begin(&s, "claims");
	put(&s, &(struct made){ "sized", "webgpu", 12.3, .verdict = VERDICT_RIGHT, .version = "2" });
	store_close(&s);
	answers("regressions", ALL, "model platform before_ms ms sure", "sized|webgpu|12.25|15.2|cannot tell: the rows overlap\n",
		NULL);
	memcpy(path, whole, sizeof path);
}

// The warm-up cell of a comparison is of another key and of the same question: the report shows the last row, and so does this.
static void test_one_row_a_question(void **state)
{
	struct store s = { 0 };
	char whole[sizeof path];

	(void)state;
	memcpy(whole, path, sizeof path);
	begin(&s, "question");
	put(&s, &(struct made){ "twice", "cpu", 5, .verdict = VERDICT_RIGHT, .key = ", warm-up" });
	put(&s, &(struct made){ "twice", "cpu", 12, .verdict = VERDICT_RIGHT });
	put(&s, &(struct made){ "twice", "openvino", 8, .verdict = VERDICT_RIGHT });
	store_close(&s);
	answers("fastest", ALL, "model platform ms of_cpu against row", "twice|openvino|8.0|1.5|1|3\n", NULL);
	memcpy(path, whole, sizeof path);
}

// What lies under a name may change: rows of unlike files are neither ranked nor held against each other, and one that does not
// know its files is of those that its name has now.
static void test_files(void **state)
{
	struct store s = { 0 };
	char whole[sizeof path];

	(void)state;
	memcpy(whole, path, sizeof path);
	begin(&s, "files");
	put(&s, &(struct made){ "m.onnx", "cpu", 100, .verdict = VERDICT_RIGHT, .files = "0123456789ab" });
	put(&s, &(struct made){ "m.onnx", "openvino", 10, .verdict = VERDICT_RIGHT, .files = "fedcba987654" });
	put(&s, &(struct made){ "m.onnx", "webgpu", 5, .verdict = VERDICT_RIGHT, .not_judged = "y" });
	put(&s, &(struct made){ "m.onnx", "mps", 300, .verdict = VERDICT_RIGHT, .files = "fedcba987654" });
	store_close(&s);
	answers("fastest", ALL, "model files platform of_cpu against not_judged row",
		"m.onnx|01234567|cpu|1.0|0|-|1\nm.onnx|fedcba98|webgpu|-|2|y|3\n", NULL);
	answers("slower-than-cpu", ALL, "model platform row", "", NULL);
	memcpy(path, whole, sizeof path);
}

// A right answer of other files of that name takes nothing back; one of the same files does, and so does one of a row that knows
// none.
static void test_wrong_files(void **state)
{
	struct store s = { 0 };
	char whole[sizeof path];

	(void)state;
	memcpy(whole, path, sizeof path);
	begin(&s, "wrong");
	put(&s, &(struct made){ "m.onnx", "cpu", 9, .verdict = VERDICT_WRONG, .files = "0123456789ab", .cause = "differs" });
	put(&s, &(struct made){ "m.onnx", "cpu", 9, .verdict = VERDICT_RIGHT, .files = "fedcba987654" });
	put(&s, &(struct made){ "n.onnx", "cpu", 9, .verdict = VERDICT_WRONG, .files = "0123456789ab", .cause = "differs" });
	put(&s, &(struct made){ "n.onnx", "cpu", 9, .verdict = VERDICT_RIGHT, .files = "0123456789ab" });
	put(&s, &(struct made){ "o.onnx", "cpu", 9, .verdict = VERDICT_WRONG, .files = "0123456789ab", .cause = "differs" });
	put(&s, &(struct made){ "o.onnx", "cpu", 9, .verdict = VERDICT_RIGHT });
	store_close(&s);
	answers("wrong", ALL, "model files row", "m.onnx|01234567|1\n", NULL);
	answers("failures", ALL, "verdict cause n models", "wrong|differs|1|m.onnx\n", NULL);
	memcpy(path, whole, sizeof path);
}

// rocm was looked for and is nowhere; a row of the null engine and an imported one leave their pairs untested.
static void test_untested(void **state)
{
	(void)state;
	answers("untested", (struct store_asking){ .model = "bert" }, "model platform here reason",
		"org/bert|rocm|false|no device\norg/bert|cuda|-|-\norg/bert|llama-bench|-|-\norg/bert|mps|-|-\n", NULL);
	answers("untested", (struct store_asking){ .platform = "rocm" }, "model platform", "org/bert|rocm\nvit|rocm\n", NULL);
}

// Every question of the table answers on an empty file too.
static void test_every_question(void **state)
{
	struct store s = { 0 };
	struct error err = { 0 };
	struct table t = { 0 };
	struct store_asking with = { .limit = 5 };
	char empty[4300];
	const char *left_out = NULL;
	size_t n = 0;

	(void)state;
	snprintf(empty, sizeof empty, "%s/empty.duckdb", folder);
	ok(&err, store_open(&s, empty, false, &err));
	for (const struct store_question *q = store_questions; q->name != NULL; q++, n++) {
		ok(&err, store_ask(&s, q, &with, &t, &left_out, &err));
		assert_int_equal(t.row_count, 0);
		assert_null(left_out);
		assert_true(strlen(q->answers) > 10);
	}
	assert_int_equal(n, 17);
	assert_null(store_question_find("fastets"));
	store_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fastest),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_what_went_wrong),
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_wrong_files),
		cmocka_unit_test(test_one_row_a_question),
		cmocka_unit_test(test_untested),
		cmocka_unit_test(test_every_question),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
