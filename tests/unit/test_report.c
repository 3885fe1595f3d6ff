// SPDX-License-Identifier: Apache-2.0
// Reports from made-up rows: what they conclude, how they escape, what they refuse to say.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/summary.h"
#include "store/comparison.h"
#include "store_rows.h"

#define HOSTILE "<script>alert('x')</script>\"&|`*"

struct fixture {
	char *folder, path[4200];
	struct store store;
	struct error err;
	struct text html, md, json;
	json_t *root;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct machine m = test_machine();

	f->folder = test_folder();
	snprintf(f->path, sizeof f->path, "%s/a.duckdb", f->folder);
	if (store_open(&f->store, f->path, false, &f->err) || store_begin_run(&f->store, &m, "assay run " HOSTILE, &f->err))
		fail_msg("%s", f->err.text);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_close(&f->store);
	text_done(&f->html);
	text_done(&f->md);
	text_done(&f->json);
	json_decref(f->root);
	test_folder_done(f->folder);
	free(f);
	return 0;
}

static void add(struct fixture *f, const char *model, const char *platform, struct cell_result r)
{
	struct cell c = test_cell(model, platform);
	int64_t row;

	c.synthetic = true;
	if (store_started(&f->store, &c, "k", &row, &f->err))
		fail_msg("%s", f->err.text);
	r.row.row = row;
	if (store_finished(&f->store, &r, &f->err))
		fail_msg("%s", f->err.text);
}

static void add_timed(struct fixture *f, const char *model, const char *platform, double ms, double min, double max)
{
	struct cell_result r = test_result(0, model, platform, VERDICT_RIGHT);

	r.row.latency_ms = ms;
	r.row.latency_min_ms = min;
	r.row.latency_max_ms = max;
	add(f, model, platform, r);
}

static void add_unstable(struct fixture *f, const char *model, const char *platform, double ms, double min, double max)
{
	struct cell_result r = test_result(0, model, platform, VERDICT_RIGHT);

	r.row.latency_ms = ms;
	r.row.latency_min_ms = min;
	r.row.latency_max_ms = max;
	r.row.stability = "unstable";
	add(f, model, platform, r);
}

static void add_failed(struct fixture *f, const char *model, const char *platform, enum verdict verdict, const char *cause)
{
	struct cell_result r = { .verdict = verdict };

	row_init(&r.row);
	r.row.model = model;
	r.row.requested = platform;
	r.row.weights = "synthetic";
	r.row.batch = 1;
	r.row.cause = cause;
	add(f, model, platform, r);
}

// A row as one process that took these times; the platform's name chooses nothing else.
static struct cell_result process_of(const char *model, const char *platform, double ms, size_t number)
{
	static double times[64][8];
	static size_t next;
	struct cell_result r = test_result(0, model, platform, VERDICT_RIGHT);
	double *t = times[next++ % 64];

	for (size_t i = 0; i < 8; i++)
		t[i] = ms * (1 + 0.002 * (double)((i * 7 + number * 3) % 5));
	r.sample_ms = t;
	r.sample_count = 8;
	r.row.samples = 8;
	r.row.latency_ms = ms;
	r.row.latency_min_ms = t[0];
	r.row.latency_max_ms = ms * 1.008;
	return r;
}

static void add_processes(struct fixture *f, const char *model, const char *platform, double ms, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(f, model, platform, process_of(model, platform, ms, i));
}

static const char *written(struct fixture *f, enum report_format format, const struct report_options *options, struct text *out)
{
	if (report_write_with(&f->store, format, options, out, &f->err))
		fail_msg("%s", f->err.text);
	return text_get(out);
}

static const json_t *section(struct fixture *f, const char *id, size_t row)
{
	const json_t *r = json_array_get(json_object_get(f->root, id), row);

	if (r == NULL)
		fail_msg("the section %s has no row %zu", id, row);
	return r;
}

static const char *text_in(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s != NULL ? s : "(none)";
}

static double number_in(const json_t *row, const char *key)
{
	return json_is_number(json_object_get(row, key)) ? json_number_value(json_object_get(row, key)) : (double)NAN;
}

static void write_all(struct fixture *f)
{
	struct report_options none = { .currency = "" };
	struct summary s;

	if (summary_make(&f->store, &none, &s, &f->err) || report_html(&s, &f->store.arena, &f->html, &f->err))
		fail_msg("%s", f->err.text);
	report_md(&s, &f->store.arena, &f->md);
	json_t *json = report_json(&s);
	char *dumped = json_dumps(json, 0);
	text_add(&f->json, dumped);
	free(dumped);
	json_decref(json);
	f->root = json_loads(text_get(&f->json), 0, NULL);
	assert_non_null(f->root);
}

static void says(const struct text *t, const char *words)
{
	if (strstr(text_get(t), words) == NULL)
		fail_msg("the report does not say: %s", words);
}

static void never_says(const struct text *t, const char *words)
{
	const char *found = strstr(text_get(t), words);

	if (found != NULL)
		fail_msg("the report says '%s': %.200s", words, found);
}

static json_t *cell(struct fixture *f, size_t line, const char *platform)
{
	json_t *lines = json_object_get(json_object_get(f->root, "matrix"), "lines");
	json_t *c = json_object_get(json_object_get(json_array_get(lines, line), "cells"), platform);

	assert_non_null(c);
	return c;
}

static size_t line_count(struct fixture *f)
{
	return json_array_size(json_object_get(json_object_get(f->root, "matrix"), "lines"));
}

static bool is_true(const json_t *c, const char *key)
{
	return json_is_true(json_object_get(c, key));
}

static void test_nothing_yet(void **state)
{
	struct fixture *f = *state;

	write_all(f);
	says(&f->html, "Nothing has been measured yet");
	says(&f->md, "Nothing has been measured yet");
	assert_int_equal(json_integer_value(json_object_get(f->root, "rows")), 0);
}

static void test_hostile_names(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = test_result(0, HOSTILE, HOSTILE, VERDICT_WRONG);

	r.row.cause = HOSTILE;
	r.row.stderr_tail = HOSTILE;
	r.row.options = r.row.device = r.row.memory_sampling = r.row.worst = r.row.type_conformance = HOSTILE;
	add(f, HOSTILE, HOSTILE, r);
	add_timed(f, HOSTILE, "cpu", 12, 11, 13);
	write_all(f);
	never_says(&f->html, "<script>alert");
	// In Markdown it stands nowhere but in the indented block of commands, where nothing is markup.
	const char *command = strstr(text_get(&f->md), "\n    assay run <script>alert");
	assert_non_null(command);
	assert_true(strstr(text_get(&f->md), "<script>alert") == command + strlen("\n    assay run "));
	assert_null(strstr(command + 20, "<script>alert"));
	says(&f->html, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;|`*");
	// The chart's data is JSON that no HTML parser can leave: no '<' in it.
	const char *data = strstr(text_get(&f->html), "id=\"latency-data\">");
	assert_non_null(data);
	const char *end = strstr(data, "</script>");
	data = strchr(data, '>') + 1;
	assert_true(memchr(data, '<', (size_t)(end - data)) == NULL);
	json_t *groups = json_loadb(data, (size_t)(end - data), 0, NULL);
	assert_string_equal(json_string_value(json_object_get(json_array_get(groups, 0), "name")), HOSTILE);
	json_decref(groups);
	// A table row of Markdown keeps its number of columns.
	says(&f->md, "\\|\\`\\*");
	assert_string_equal(json_string_value(json_object_get(cell(f, 0, "cpu"), "model")), HOSTILE);
}

// One file: nothing is fetched from anywhere.
static void test_self_contained(void **state)
{
	struct fixture *f = *state;

	add_timed(f, "m", "cpu", 12, 11, 13);
	write_all(f);
	never_says(&f->html, " src=");
	never_says(&f->html, "<link");
	never_says(&f->html, "@import");
	never_says(&f->html, "url(http");
	says(&f->html, "uPlot");
	says(&f->html, "prefers-color-scheme: dark");
	says(&f->html, "width=device-width");
}

static void test_fastest(void **state)
{
	struct fixture *f = *state;

	add_timed(f, "clear", "cpu", 100, 95, 120);
	add_timed(f, "clear", "openvino", 50, 45, 70);
	add_timed(f, "near", "cpu", 100, 49, 120);           // its fastest run is not slower than the other's median
	add_timed(f, "near", "openvino", 50, 45, 70);
	add_timed(f, "alone", "cpu", 100, 95, 120);
	add_unstable(f, "unsteady", "cpu", 100, 95, 120);    // its median may be another tomorrow
	add_timed(f, "unsteady", "openvino", 50, 45, 70);
	write_all(f);
	assert_true(is_true(cell(f, 0, "openvino"), "fastest"));
	assert_false(is_true(cell(f, 0, "cpu"), "fastest"));
	assert_true(fabs(json_number_value(json_object_get(cell(f, 0, "openvino"), "times_cpu")) - 2) < 1e-9);
	assert_false(is_true(cell(f, 1, "openvino"), "fastest"));
	assert_true(is_true(cell(f, 1, "openvino"), "near_fastest") && is_true(cell(f, 1, "cpu"), "near_fastest"));
	assert_false(is_true(cell(f, 2, "cpu"), "fastest"));          // nothing to compare with
	assert_false(is_true(cell(f, 3, "openvino"), "fastest"));
	assert_true(is_true(cell(f, 3, "openvino"), "near_fastest") && is_true(cell(f, 3, "cpu"), "near_fastest"));
	says(&f->html, "<span class=\"strong\">openvino</span><span>1 of 3 models</span>");
	says(&f->html, "2.00× the speed of cpu over 3 models (geometric mean)");
	says(&f->html, "<span>too near or too unstable to tell</span><span>2 of 3 models</span>");
	says(&f->html, "Fewer than 6 processes a side: no claim.");
	says(&f->md, "cpu (the only one that was timed)");
}

// A wrong or a fallen-back cell is never the fastest, and never counts as running.
static void test_only_good_cells_count(void **state)
{
	struct fixture *f = *state;
	struct cell_result wrong = test_result(0, "m", "openvino", VERDICT_WRONG), elsewhere = test_result(0, "m", "cuda", VERDICT_RIGHT);

	wrong.row.latency_ms = 1;
	wrong.row.cause = "logits differ";
	elsewhere.row.latency_ms = 2;
	elsewhere.row.actual = "cpu";
	add_timed(f, "m", "cpu", 100, 95, 120);
	add(f, "m", "openvino", wrong);
	add(f, "m", "cuda", elsewhere);
	write_all(f);
	assert_false(is_true(cell(f, 0, "openvino"), "fastest") || is_true(cell(f, 0, "openvino"), "good"));
	assert_false(is_true(cell(f, 0, "cuda"), "fastest") || is_true(cell(f, 0, "cuda"), "good"));
	says(&f->html, "The model runs here, and 1 cell is wrong");
	says(&f->html, "cuda was asked for and cpu ran");
	says(&f->html, "cpu, the only one that ran");
	json_t *failures = json_object_get(f->root, "failures");
	assert_int_equal(json_array_size(failures), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(failures, 0), "verdict")), "wrong");   // the worst first
}

static void test_agreement(void **state)
{
	struct fixture *f = *state;
	struct cell_result golden = test_result(0, "m", "cpu", VERDICT_RIGHT), unjudged = test_result(0, "m", "cuda", VERDICT_UNJUDGED);

	golden.row.reference = "golden";
	unjudged.row.reference = NULL;
	add(f, "m", "cpu", golden);
	add(f, "m", "openvino", test_result(0, "m", "openvino", VERDICT_RIGHT));
	add(f, "m", "cuda", unjudged);
	write_all(f);
	assert_string_equal(json_string_value(json_object_get(cell(f, 0, "cpu"), "agreement")), "agrees with transformers");
	assert_string_equal(json_string_value(json_object_get(cell(f, 0, "openvino"), "agreement")), "engines agree");
	assert_true(json_is_null(json_object_get(cell(f, 0, "cuda"), "agreement")));
	says(&f->md, "1 of 3 cells that ran had nothing to be compared with");
}

static void test_percentiles(void **state)
{
	struct fixture *f = *state;
	struct cell_result many = test_result(0, "many", "cpu", VERDICT_RIGHT);

	many.row.samples = 64;
	many.row.latency_p90_ms = 12.75;
	add_timed(f, "few", "cpu", 12, 11, 13);
	add(f, "many", "cpu", many);
	write_all(f);
	says(&f->html, "n too small (11 of 64 samples)");
	says(&f->md, "n too small (11 of 64 samples)");
	says(&f->html, "<dt>90th percentile</dt><dd>12.8 ms</dd>");
}

static void test_failures_are_grouped(void **state)
{
	struct fixture *f = *state;
	static const char *const models[] = { "a", "b", "c" };

	for (size_t i = 0; i < 3; i++) {
		add_failed(f, models[i], "cuda", VERDICT_UNAVAILABLE, "libcudart.so.13 is missing");
		add_failed(f, models[i], "cpu", VERDICT_CRASHED, i == 0 ? "signal 11" : NULL);
	}
	write_all(f);
	json_t *failures = json_object_get(f->root, "failures");
	assert_int_equal(json_array_size(failures), 3);
	assert_string_equal(json_string_value(json_object_get(json_array_get(failures, 0), "cause")), "the engine's process died");   // no cause told: the verdict's sentence
	assert_int_equal(json_array_size(json_object_get(json_array_get(failures, 0), "models")), 2);
	assert_int_equal(json_array_size(json_object_get(json_array_get(failures, 2), "models")), 3);
	assert_int_equal(line_count(f), 3);
	says(&f->html, "None of the 3 models runs here");
	says(&f->md, "a, b and c");
	never_says(&f->html, " nan");
	never_says(&f->md, "nan");
}

// The latest answer counts, but an interrupted or a running one hides none that is finished.
static void test_latest_answer(void **state)
{
	struct fixture *f = *state;
	struct cell c = test_cell("m", "cpu");
	int64_t row;

	add_failed(f, "m", "cpu", VERDICT_CRASHED, "once");
	add_timed(f, "m", "cpu", 12, 11, 13);
	add_failed(f, "m", "cpu", VERDICT_INTERRUPTED, "ctrl-c");
	c.synthetic = true;
	assert_int_equal(store_started(&f->store, &c, "k", &row, &f->err), STATUS_OK);
	c.model = "new";
	assert_int_equal(store_started(&f->store, &c, "k", &row, &f->err), STATUS_OK);
	write_all(f);
	assert_int_equal(line_count(f), 2);
	assert_string_equal(json_string_value(json_object_get(cell(f, 0, "cpu"), "verdict")), "right");
	assert_string_equal(json_string_value(json_object_get(cell(f, 1, "cpu"), "state")), "running");
	assert_true(json_is_null(json_object_get(cell(f, 1, "cpu"), "verdict")));
	assert_int_equal(json_integer_value(json_object_get(f->root, "rows")), 5);
	says(&f->html, "… running");
}

static void test_what_to_know(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = test_result(0, "m", "qnn", VERDICT_RIGHT);

	r.row.emulated = 1;
	r.row.shortened = 1;
	r.row.layers = 2;
	r.row.stability = "unstable";
	r.row.nodes = 10;
	r.row.nodes_fused = 2;
	r.row.nodes_on_platform = 7;
	add(f, "m", "qnn", r);
	write_all(f);
	says(&f->md, "synthetic weights");
	says(&f->md, "only 2 layers");
	says(&f->md, "EMULATED");
	says(&f->md, "emulated device");
	says(&f->md, "unstable");
	says(&f->md, "some nodes ran elsewhere");
	says(&f->md, "7 of 10 nodes on the platform, 2 more fused away");
	says(&f->html, "<span class=\"tag warn\">emulated</span>");
	says(&f->html, "assay run m --on qnn --batch 1 --seq 128 --layers 2 --synthetic");
}

static void add_comparison(struct fixture *f, const char *preset, const char *model, double ratio, double low, double high, const char *verdict, const char *cause)
{
	struct store_comparison c;

	comparison_init(&c);
	c.preset = preset;
	c.what = "one thing against " HOSTILE;
	c.claim = text_is(preset, "parallel-loading") ? "30-45 % less load time" : NULL;
	c.model = model;
	c.side_a = "webgpu:chromium layout=NCHW";
	c.side_b = "webgpu:chromium layout=NHWC";
	c.requested_a = c.requested_b = "webgpu";
	c.device_a = c.device_b = "chromium";
	c.emulated_a = c.emulated_b = 1;
	c.synthetic = 1;
	c.layers = 2;
	c.metric = "latency_ms";
	c.pairs = 6;
	c.a_ms = 100;
	c.b_ms = 100 * ratio;
	c.ratio = ratio;
	c.low = low;
	c.high = high;
	c.verdict = verdict;
	c.cause = cause;
	c.load_before = 3.5;
	c.load_after = 4;
	if (store_comparisons(&f->store, &c, 1, &f->err))
		fail_msg("%s", f->err.text);
}

// Of each question the latest answer that has a figure; claims stand beside what was measured; software adapters are called so.
static void test_comparisons(void **state)
{
	struct fixture *f = *state;

	add_comparison(f, "layout", "m", 2, 1.9, 2.1, "slower", NULL);
	add_comparison(f, "layout", "m", 0.8, 0.75, 0.85, "faster", NULL);
	add_comparison(f, "layout", "m", (double)NAN, (double)NAN, (double)NAN, "cannot tell", "B did not run: crashed");
	add_comparison(f, "parallel-loading", HOSTILE, 1.01, 0.9, 1.13, "cannot tell", "n too small: 2 of 6 pairs");
	add_comparison(f, "workgroup", "m", (double)NAN, (double)NAN, (double)NAN, "cannot tell", "the API does not allow it");
	write_all(f);
	const json_t *all = json_object_get(f->root, "comparisons");
	assert_int_equal(json_array_size(all), 3);
	assert_true(json_real_value(json_object_get(json_array_get(all, 0), "ratio")) == 0.8);
	assert_string_equal(json_string_value(json_object_get(json_array_get(all, 0), "answer")), "faster: B takes 20 % less");
	assert_string_equal(json_string_value(json_object_get(json_array_get(all, 1), "answer")), "cannot tell");
	assert_string_equal(json_string_value(json_object_get(json_array_get(all, 2), "answer")), "not measured");
	says(&f->md, "0.800 (0.750 to 0.850)");
	says(&f->html, "0.800 (0.750 to 0.850)");
	says(&f->md, "30-45 % less load time");
	says(&f->html, "30-45 % less load time");
	says(&f->md, "a software adapter on both sides");
	says(&f->html, "a software adapter on both sides");
	says(&f->md, "only 2 layers");
	says(&f->html, "n too small: 2 of 6 pairs");
	says(&f->html, "the API does not allow it");
	never_says(&f->html, "2.000 (");
	never_says(&f->html, "<script>alert");
	never_says(&f->html, "nan");
	never_says(&f->md, "nan");
}

// A speed-up has an interval only where a side has several processes, and a claim only with six.
static void test_speed_up(void **state)
{
	struct fixture *f = *state;

	add_processes(f, "many", "cpu", 100, 6);
	add_processes(f, "many", "openvino", 50, 6);
	add_processes(f, "few", "cpu", 100, 3);
	add_processes(f, "few", "openvino", 50, 2);
	add_processes(f, "one", "cpu", 100, 1);
	add_processes(f, "one", "openvino", 50, 1);
	write_all(f);
	const json_t *many = json_object_get(cell(f, 0, "openvino"), "against_cpu"), *few = json_object_get(cell(f, 1, "openvino"), "against_cpu"),
		     *one = json_object_get(cell(f, 2, "openvino"), "against_cpu");
	assert_string_equal(text_in(many, "claim"), "faster");
	assert_true(number_in(many, "low") > 1.9 && number_in(many, "low") <= number_in(many, "times") && number_in(many, "high") < 2.1);
	assert_int_equal(json_integer_value(json_object_get(many, "processes")), 6);
	assert_string_equal(text_in(few, "claim"), "2 and 3 processes: too few for a claim (6)");
	assert_true(number_in(few, "low") > 1.8);
	assert_string_equal(text_in(one, "claim"), "one process each: no claim");
	assert_true(json_is_null(json_object_get(one, "low")));
	assert_true(json_object_get(cell(f, 0, "cpu"), "against_cpu") == NULL);
	assert_string_equal(text_in(section(f, "best_latency", 0), "best"), "openvino");
	assert_non_null(strstr(text_in(section(f, "best_latency", 0), "interval"), "6 and 6 processes: faster"));
	assert_string_equal(text_in(section(f, "best_latency", 2), "interval"), "one process each: no claim");
	says(&f->html, "1 differs from cpu for certain.");
	assert_true(fabs(number_in(section(f, "best_by_architecture", 0), "times_cpu") - 2) < 0.05);
	assert_int_equal(json_integer_value(json_object_get(section(f, "best_by_architecture", 0), "lines")), 3);
}

// A comparison that was taken turn about counts more than rows as they came.
static void test_speed_up_paired(void **state)
{
	struct fixture *f = *state;
	struct store_comparison c;

	add_processes(f, "m", "cpu", 100, 1);
	add_processes(f, "m", "openvino", 50, 1);
	comparison_init(&c);
	c.model = "m";
	c.requested_a = "cpu";
	c.requested_b = "openvino";
	c.synthetic = 1;
	c.batch = 1;
	c.sequence = 128;
	c.metric = "latency_ms";
	c.pairs = 8;
	c.ratio = 0.5;
	c.low = 0.4;
	c.high = 0.625;
	c.verdict = "faster";
	if (store_comparisons(&f->store, &c, 1, &f->err))
		fail_msg("%s", f->err.text);
	write_all(f);
	const json_t *speed = json_object_get(cell(f, 0, "openvino"), "against_cpu");
	assert_true(fabs(number_in(speed, "times") - 2) < 1e-9 && fabs(number_in(speed, "low") - 1.6) < 1e-9 && fabs(number_in(speed, "high") - 2.5) < 1e-9);
	assert_string_equal(text_in(speed, "claim"), "faster");
	assert_true(json_is_true(json_object_get(speed, "turn_about")));
	says(&f->md, "1.60 to 2.50 (99 %), 8 and 8 processes turn about: faster");
}

// What differs in precision, threads, image size or scenario is another question: other lines, no speed-up.
static void test_what_keeps_lines_apart(void **state)
{
	struct fixture *f = *state;
	struct cell_result r;

	add_timed(f, "m", "cpu", 100, 95, 120);
#define ADD(member, value) r = process_of("m", "openvino", 50, 0); r.row.member = value; add(f, "m", "openvino", r)
	ADD(precision, "float16");
	ADD(threads, 2);
	ADD(image_size, 384);
	ADD(scenario, "offline");
	ADD(streams, 4);
	ADD(source, "llama-bench");
#undef ADD
	write_all(f);
	assert_int_equal(line_count(f), 7);
	for (size_t i = 1; i < 7; i++)
		assert_true(json_is_null(json_object_get(cell(f, i, "openvino"), "times_cpu")));
	says(&f->md, "batch 1, 128 tokens, float16");
	says(&f->md, "f32, 2 threads");
	says(&f->md, "images of 384 pixels");
	says(&f->md, "f32, offline");
	says(&f->md, "measured by llama-bench, not by assay");
	says(&f->md, "1 of 7 cells were measured by another tool");
	assert_int_equal(json_array_size(json_object_get(f->root, "best_latency")), 6);       // the foreign one is in no ranking
	says(&f->html, "--on openvino --batch 1 --seq 128 --threads 2");
}

static void test_precision(void **state)
{
	struct fixture *f = *state;
	struct cell_result slow = process_of("m", "cpu", 20, 0), fast = process_of("m", "cpu", 5, 0);

	slow.row.precision = "float16";
	fast.row.precision = "int8-dynamic";
	fast.row.cosine = 0.998;
	fast.row.top1_agreement = 0.975;
	fast.row.peak_resident_mib = 260;
	fast.row.peak_pss_mib = 250;
	add_processes(f, "m", "cpu", 10, 1);
	add(f, "m", "cpu", slow);
	add(f, "m", "cpu", fast);
	slow = process_of("alone", "cpu", 20, 0);
	slow.row.precision = "float16";
	add(f, "alone", "cpu", slow);
	write_all(f);
	assert_int_equal(json_array_size(json_object_get(f->root, "precision")), 3);
	assert_string_equal(text_in(section(f, "precision", 0), "flag"), "SLOWER THAN FLOAT32");
	assert_string_equal(text_in(section(f, "precision", 1), "flag"), "(none)");
	assert_true(fabs(number_in(section(f, "precision", 1), "times_float32") - 2) < 1e-9);
	assert_true(fabs(number_in(section(f, "precision", 1), "peak_of_float32") - 0.5) < 1e-9);
	assert_true(fabs(number_in(section(f, "precision", 1), "top1_agreement") - 0.975) < 1e-9);
	assert_string_equal(text_in(section(f, "precision", 2), "interval"), "no float32 row of this question");
	says(&f->md, "**SLOWER THAN FLOAT32**");
	says(&f->md, "1 reduced precision is slower than float32 here.");
	says(&f->html, "<span class=\"tag warn\">SLOWER THAN FLOAT32</span>");
}

static void test_times(void **state)
{
	struct fixture *f = *state;

	add_timed(f, "a", "cpu", 10, 9, 11);
	add_timed(f, "b", "cpu", 30, 29, 31);
	add_unstable(f, "a", "openvino", 5, 4, 6);
	write_all(f);
	const json_t *cpu = section(f, "performance_by_platform", 0), *openvino = section(f, "performance_by_platform", 1);
	assert_true(number_in(cpu, "average_ms") == 20 && number_in(cpu, "min_ms") == 10 && number_in(cpu, "max_ms") == 30);
	assert_int_equal(json_integer_value(json_object_get(cpu, "samples")), 22);
	assert_string_equal(text_in(cpu, "max_ms_note"), "b");
	assert_string_equal(text_in(cpu, "marks"), "mixes models");
	assert_string_equal(text_in(openvino, "marks"), "1 unstable");
	assert_true(number_in(openvino, "times_cpu") == 2);
	assert_string_equal(text_in(openvino, "times_cpu_note"), "over 1 question");
	says(&f->md, "Averages are of medians");
	says(&f->md, "11 runs, 4.00 ms to 6.00 ms, unstable");
	assert_string_equal(text_in(section(f, "performance_extremes", 0), "which"), "fastest");
}

static void test_sweeps(void **state)
{
	struct fixture *f = *state;
	static const double cpu[] = { 10, 18, 35.5 }, other[] = { 12, 19, 30 };

	for (size_t i = 0; i < 3; i++) {
		struct cell_result r = process_of("m", "cpu", cpu[i], 0);
		struct cell c = test_cell("m", "cpu");
		for (size_t p = 0; p < 2; p++) {
			r = process_of("m", p ? "openvino" : "cpu", p ? other[i] : cpu[i], 0);
			c.platform = p ? "openvino" : "cpu";
			r.row.batch = c.batch = 1 << i;
			c.synthetic = true;
			if (store_started(&f->store, &c, "k", &r.row.row, &f->err) || store_finished(&f->store, &r, &f->err))
				fail_msg("%s", f->err.text);
		}
	}
	write_all(f);
	assert_int_equal(json_array_size(json_object_get(f->root, "sweeps")), 6);
	assert_true(fabs(number_in(section(f, "sweeps", 0), "per_s") - 100) < 1e-9);
	assert_true(json_is_null(json_object_get(section(f, "sweeps", 0), "gain")));
	assert_true(fabs(number_in(section(f, "sweeps", 1), "gain") - 1.0 / 9) < 1e-9);
	assert_string_equal(text_in(section(f, "sweeps", 2), "marks"), "gains less than 5\u00a0%");
	assert_int_equal(json_array_size(json_object_get(f->root, "crossover")), 1);
	assert_string_equal(text_in(section(f, "crossover", 0), "platform"), "openvino");
	assert_int_equal(json_integer_value(json_object_get(section(f, "crossover", 0), "batch")), 4);
	// The most throughput is openvino's at batch 4; cpu's at its own best batch stands beside it.
	assert_string_equal(text_in(section(f, "best_throughput", 0), "best"), "openvino");
	assert_true(fabs(number_in(section(f, "best_throughput", 0), "per_s") - 4000.0 / 30) < 1e-6);
	assert_true(fabs(number_in(section(f, "best_throughput", 0), "cpu_per_s") - 4000 / 35.5) < 1e-6);
}

static void test_memory_scenarios_and_text(void **state)
{
	struct fixture *f = *state;
	struct cell_result leaks = process_of("leaks", "cpu", 10, 0), server = process_of("serves", "cpu", 10, 0), writes = process_of("writes", "cpu", 10, 0);

	leaks.row.cycles = 20;
	leaks.row.leak_mib_per_cycle = 0.5;
	leaks.row.leak_low_mib = 0.4;
	leaks.row.leak_high_mib = 0.6;
	server.row.scenario = "server";
	server.row.rate_per_s = 20;
	server.row.scenario_result = "{\"queries\": 270336, \"allowed\": true, \"why\": \"p99 holds\", \"times\": [1]}";
	server.row.throughput_per_s = 19.5;
	writes.row.new_tokens = 16;
	writes.row.prompt_tokens = 32;
	writes.row.token_ms = 10;
	writes.row.tokens_per_s = 100;
	add(f, "leaks", "cpu", leaks);
	add(f, "serves", "cpu", server);
	add(f, "writes", "cpu", writes);
	write_all(f);
	assert_true(number_in(section(f, "memory", 0), "mapped_mib") == 420);
	assert_string_equal(text_in(section(f, "memory", 0), "leak_mib_per_cycle_note"), "0.400 to 0.600 MiB (95\u00a0%), 20 cycles: it grows");
	assert_string_equal(text_in(section(f, "scenarios", 0), "result"), "queries 270336, allowed yes, why p99 holds");
	assert_string_equal(text_in(section(f, "scenarios", 0), "latency_p90_ms"), "n too small (8 of 64 samples)");
	assert_string_equal(text_in(section(f, "scenarios", 0), "latency_p99_ms"), "n too small (8 of 662)");
	assert_string_equal(text_in(section(f, "generation", 0), "tokens"), "32 + 16");
	assert_int_equal(json_integer_value(json_object_get(section(f, "performance_by_platform", 0), "cells")), 1);       // neither scenario nor tokens
	says(&f->md, "server at 20 queries/s");
}

static void test_prices(void **state)
{
	struct fixture *f = *state;
	const char *good[] = { "cpu=0.36EUR", "openvino=3.6" }, *two[] = { "cpu=1EUR", "openvino=1USD" }, *none[] = { "cpu" }, *negative[] = { "cpu=-1" }, *unknown[] = { "abacus=1" };
	struct report_options options = { 0 };
	struct text md = { 0 };

	add_timed(f, "m", "cpu", 100, 95, 105);
	add_timed(f, "m", "openvino", 50, 45, 55);
	assert_int_equal(report_prices(&f->store.arena, two, 2, &options, &f->err), STATUS_BAD_INPUT);
	assert_int_equal(report_prices(&f->store.arena, none, 1, &options, &f->err), STATUS_BAD_INPUT);
	assert_int_equal(report_prices(&f->store.arena, negative, 1, &options, &f->err), STATUS_BAD_INPUT);
	assert_int_equal(report_prices(&f->store.arena, unknown, 1, &options, &f->err), STATUS_BAD_INPUT);
	assert_int_equal(report_prices(&f->store.arena, good, 2, &options, &f->err), STATUS_OK);
	written(f, REPORT_MD, &options, &md);
	says(&md, "| cpu | 10 EUR |  | cheapest |");                   // 0.36 an hour is 1e-4 a second, ten inferences a second
	says(&md, "| openvino | 50 EUR | 5.00× |  |");
	text_done(&md);
	write_all(f);
	never_says(&f->md, "## Cost");
}

static void test_yaml(void **state)
{
	struct text out = { 0 };
	json_t *json = json_pack("{s:s, s:f, s:f, s:f, s:[], s:{}, s:[i, [i], {s:b}], s:n, s:s}", "no", "yes", "small", 1e-6, "whole", 3.0, "large", 1e20, "none", "nothing",
		"list", 1, 2, "deep", 1, "null", "odd\"key\\", "a\nb\t\"\\\x7f\xc2\x85\xe2\x80\xa8" "é#: -");

	(void)state;
	report_yaml(json, &out);
	assert_string_equal(text_get(&out), "\"no\": \"yes\"\n\"small\": 9.9999999999999995e-07\n\"whole\": 3.0\n\"large\": 1.0e+20\n\"none\": []\n\"nothing\": {}\n"
		"\"list\":\n  - 1\n  -\n    - 2\n  -\n    \"deep\": true\n\"null\": null\n\"odd\\\"key\\\\\": \"a\\x0Ab\\x09\\\"\\\\\\x7F\\x85\\u2028é#: -\"\n");
	json_decref(json);
	text_done(&out);
}

static void test_junit(void **state)
{
	struct fixture *f = *state;
	static const enum verdict verdicts[] = { VERDICT_WRONG, VERDICT_FAILED, VERDICT_CRASHED, VERDICT_TIMEOUT, VERDICT_INTERRUPTED, VERDICT_UNAVAILABLE, VERDICT_UNSUPPORTED,
		VERDICT_NO_MEMORY };
	static const char *const models[] = { "wrong", "failed", "crashed", "timeout", "interrupted", "unavailable", "unsupported", "no_memory" };
	struct text xml = { 0 };

	add_timed(f, "fine", "cpu", 10, 9, 11);
	for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
		add_failed(f, models[i], "cpu", verdicts[i], i == 0 ? HOSTILE "\x01" : models[i]);
	written(f, REPORT_JUNIT, NULL, &xml);
	says(&xml, "<testsuites name=\"assay\" tests=\"9\" failures=\"2\" errors=\"3\" skipped=\"3\"");
	says(&xml, "<testsuite name=\"cpu\" tests=\"9\" failures=\"2\" errors=\"3\" skipped=\"3\"");
	says(&xml, "<failure type=\"wrong\" message=\"wrong: &lt;script&gt;alert('x')&lt;/script&gt;&quot;&amp;|`*?\">");
	says(&xml, "<failure type=\"failed\" message=\"failed: failed\">");
	says(&xml, "<error type=\"crashed\"");
	says(&xml, "<error type=\"timed out\"");
	says(&xml, "<error type=\"interrupted\"");
	says(&xml, "<skipped message=\"unavailable: unavailable\"/>");
	says(&xml, "<skipped message=\"unsupported: unsupported\"/>");
	says(&xml, "<skipped message=\"out of memory: no_memory\"/>");
	says(&xml, "median 10.0 ms (fastest 9.00 ms, slowest 11.0 ms)");
	never_says(&xml, "<script>");
	text_done(&xml);
}

static const json_t *pair(const json_t *matrix, const char *platform)
{
	return json_object_get(json_object_get(matrix, "encoder-only"), platform);
}

// Each word has rows behind it; what has none says that it was not measured.
static void test_compatibility(void **state)
{
	struct fixture *f = *state;
	struct text text = { 0 };
	struct store_comparison c;

	comparison_init(&c);
	c.preset = "layout";
	c.model = "a";
	c.side_a = "webgpu layout=NCHW";
	c.side_b = "webgpu layout=NHWC";
	c.requested_a = c.requested_b = "webgpu";
	c.metric = "latency_ms";
	c.ratio = 0.8;
	c.low = 0.7;
	c.high = 0.9;
	c.verdict = "faster";
	if (store_comparisons(&f->store, &c, 1, &f->err))
		fail_msg("%s", f->err.text);
	add_timed(f, "a", "cpu", 100, 95, 120);
	add_timed(f, "b", "cpu", 100, 95, 120);
	add_timed(f, "a", "cuda", 20, 19, 21);
	add_timed(f, "a", "rocm", 50, 49, 51);
	add_timed(f, "a", "openvino", 80, 79, 81);
	add_timed(f, "a", "mps", 120, 110, 130);
	add_timed(f, "a", "webgpu", 50, 49, 51);
	add_timed(f, "b", "webgpu", 200, 190, 210);
	add_failed(f, "a", "qnn", VERDICT_FAILED, "no such operator");
	struct cell_result emulated = process_of("a", "webnn", 1, 0);
	emulated.row.emulated = 1;
	add(f, "a", "webnn", emulated);
	json_t *m = json_loads(written(f, REPORT_MATRIX, NULL, &text), 0, NULL);
	assert_string_equal(text_in(pair(m, "cpu"), "performance"), "baseline");
	assert_int_equal(json_integer_value(json_object_get(pair(m, "cpu"), "rows")), 2);
	assert_string_equal(text_in(pair(m, "cuda"), "performance"), "excellent");
	assert_string_equal(text_in(pair(m, "rocm"), "performance"), "good");
	assert_string_equal(text_in(pair(m, "openvino"), "performance"), "moderate");
	assert_string_equal(text_in(pair(m, "mps"), "performance"), "poor");
	assert_string_equal(text_in(pair(m, "webgpu"), "performance"), "varies");
	assert_string_equal(text_in(pair(m, "webnn"), "performance"), "n/a");
	assert_true(json_is_true(json_object_get(pair(m, "webnn"), "compatible")));
	assert_non_null(strstr(text_in(pair(m, "webnn"), "notes"), "emulated"));
	assert_true(json_is_false(json_object_get(pair(m, "qnn"), "compatible")));
	assert_non_null(strstr(text_in(pair(m, "qnn"), "notes"), "0 of 1 rows good; failed: no such operator"));
	assert_string_equal(json_string_value(json_array_get(json_object_get(pair(m, "webgpu"), "optimizations"), 0)),
		"layout: webgpu layout=NHWC takes 20 % less latency_ms than webgpu layout=NCHW (a, ratio 0.800 (0.700 to 0.900))");
	assert_int_equal(json_array_size(json_object_get(pair(m, "cuda"), "optimizations")), 0);
	assert_int_equal(json_array_size(json_object_get(pair(m, "cpu"), "examples")), 2);
	json_decref(m);
	text_done(&text);
}

// One row a model, whatever was asked of it; causes that differ in numbers only are one entry; never more than fit.
static void test_first_screen(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = process_of("google/bert", "cpu", 10, 0);
	char name[32];

	r.row.precision = "float16";
	add(f, "google/bert", "cpu", r);
	add_timed(f, "google/bert", "cpu", 77.5, 70, 80);
	add_failed(f, "org/large", "cpu", VERDICT_NO_MEMORY, "it needs 27.2 GiB");
	add_failed(f, "org/larger", "cpu", VERDICT_NO_MEMORY, "it needs 52 GiB");
	write_all(f);
	const char *end = strstr(text_get(&f->html), "<nav"), *row = strstr(text_get(&f->html), ">bert</th>");
	assert_non_null(row);
	assert_true(row < end && strstr(row + 1, ">bert</th>") == NULL);
	says(&f->html, "</span> <span class=\"t\">77.5 ms</span>");
	says(&f->html, "<span class=\"strong\">large and larger</span> on cpu");
	says(&f->html, "2 causes, alike but for numbers");
	text_done(&f->html);
	f->html = (struct text){ 0 };
	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof name, "model-%d", i);
		add_failed(f, name, "cpu", VERDICT_UNAVAILABLE, "no");
	}
	written(f, REPORT_HTML, NULL, &f->html);
	says(&f->html, "3 more models below");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_yet), TEST(test_hostile_names), TEST(test_self_contained), TEST(test_fastest), TEST(test_only_good_cells_count),
		TEST(test_agreement), TEST(test_percentiles), TEST(test_failures_are_grouped), TEST(test_latest_answer), TEST(test_what_to_know), TEST(test_comparisons),
		TEST(test_speed_up), TEST(test_speed_up_paired), TEST(test_what_keeps_lines_apart), TEST(test_precision), TEST(test_times), TEST(test_sweeps),
		TEST(test_memory_scenarios_and_text), TEST(test_prices), TEST(test_yaml), TEST(test_junit), TEST(test_compatibility), TEST(test_first_screen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
