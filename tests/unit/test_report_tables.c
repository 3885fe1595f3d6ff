// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// The tables of a report and its other formats, from made-up rows: speed-ups and what may be claimed of them, precision, sweeps,
// memory, prices, YAML, JUnit XML, the compatibility matrix, the first screen.
#include "report_fixture.h"

// A speed-up has an interval, and a claim, only where each side has six processes; else it is the quotient of the two times.
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
	const json_t *many = json_object_get(cell(f, 0, "openvino"), "against_cpu"),
		     *few = json_object_get(cell(f, 1, "openvino"), "against_cpu"),
		     *one = json_object_get(cell(f, 2, "openvino"), "against_cpu");
	assert_string_equal(text_in(many, "claim"), "faster");
	assert_true(number_in(many, "low") > 1.9 && number_in(many, "low") <= number_in(many, "times") &&
		number_in(many, "high") < 2.1);
	assert_int_equal(json_integer_value(json_object_get(many, "processes")), 6);
	assert_string_equal(text_in(few, "claim"), "2 and 3 processes: too few for a claim (6)");
	assert_true(json_is_null(json_object_get(few, "low")));
	assert_true(fabs(number_in(few, "times") -
			    number_in(cell(f, 1, "cpu"), "latency_ms") / number_in(cell(f, 1, "openvino"), "latency_ms")) < 0.1);
	assert_string_equal(text_in(one, "claim"), "one process each: no claim");
	assert_true(json_is_null(json_object_get(one, "low")));
	assert_true(json_object_get(cell(f, 0, "cpu"), "against_cpu") == NULL);
	assert_string_equal(text_in(section(f, "best_latency", 0), "best"), "openvino");
	assert_non_null(strstr(text_in(section(f, "best_latency", 0), "interval"), "6 and 6 processes: faster"));
	assert_string_equal(text_in(section(f, "best_latency", 2), "interval"), "one process each: no claim");
	says(&f->html, "1 differs from cpu with 99\u00a0% confidence.");
	assert_true(fabs(number_in(section(f, "best_by_architecture", 0), "times_cpu") - 2) < 0.05);
	assert_int_equal(json_integer_value(json_object_get(section(f, "best_by_architecture", 0), "lines")), 3);
}

// The newest of a question's processes may be the odd one: all of them say which is the best.
static void test_odd_newest(void **state)
{
	struct fixture *f = *state;

	add_processes(f, "m", "cpu", 100, 4);
	add_processes(f, "m", "openvino", 50, 4);
	add_processes(f, "m", "cpu", 10, 1);
	write_all(f);
	const json_t *best = section(f, "best_latency", 0);
	assert_string_equal(text_in(best, "best"), "openvino");
	assert_true(fabs(number_in(best, "latency_ms") - 50) < 2);
	says(&f->md, "median of 4 processes");
}

// Another device of the platform that others are held against gives its column a longer name, and takes nothing from it.
static void test_cpu_has_devices(void **state)
{
	struct fixture *f = *state;
	struct cell browser = test_cell("m", "cpu");
	struct cell_result r = process_of("m", "cpu", 200, 0);

	add_processes(f, "m", "cpu", 100, 1);
	add_processes(f, "m", "openvino", 50, 1);
	browser.device = r.row.device = "chromium";
	add_asked(f, browser, r);
	write_all(f);
	says(&f->md, "cpu:chromium");
	assert_true(fabs(number_in(section(f, "best_latency", 0), "times_cpu") - 2) < 0.01);
}

// A comparison that was taken in alternation counts more than rows as they came.
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
	c.side_a = "cpu:CPU";
	c.side_b = "openvino:CPU";
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
	c.side_b = "openvino:CPU int8-dynamic"; // newer, and of another question
	c.ratio = 0.1;
	if (store_comparisons(&f->store, &c, 1, &f->err))
		fail_msg("%s", f->err.text);
	write_all(f);
	const json_t *speed = json_object_get(cell(f, 0, "openvino"), "against_cpu");
	assert_true(fabs(number_in(speed, "times") - 2) < 1e-9 && fabs(number_in(speed, "low") - 1.6) < 1e-9 &&
		fabs(number_in(speed, "high") - 2.5) < 1e-9);
	assert_string_equal(text_in(speed, "claim"), "faster");
	assert_true(json_is_true(json_object_get(speed, "paired")));
	says(&f->md, "1.60 to 2.50 (99 %), 8 and 8 processes in alternation: faster");
}

// Several processes in alternation say that the lowest median is the slower one: then it is not the best of its line, and nothing
// else of the line says so.
static void test_alternation_decides(void **state)
{
	struct fixture *f = *state;
	struct store_comparison c;

	add_processes(f, "m", "cpu", 100, 1);
	add_processes(f, "m", "openvino", 99.9, 1);
	comparison_init(&c);
	c.model = "m";
	c.requested_a = c.side_a = "cpu";
	c.requested_b = c.side_b = "openvino";
	c.synthetic = 1;
	c.batch = 1;
	c.sequence = 128;
	c.metric = "latency_ms";
	c.pairs = 6;
	c.ratio = 1.5;
	c.low = 1.4;
	c.high = 1.6;
	c.verdict = "slower";
	if (store_comparisons(&f->store, &c, 1, &f->err))
		fail_msg("%s", f->err.text);
	write_all(f);
	assert_string_equal(text_in(section(f, "best_latency", 0), "best"), "cpu");
	assert_string_equal(text_in(section(f, "best_latency", 0), "best_note"), "(none)");
	assert_true(is_true(cell(f, 0, "cpu"), "fastest"));
	assert_false(is_true(cell(f, 0, "openvino"), "near_fastest"));
	assert_string_equal(text_in(json_object_get(cell(f, 0, "openvino"), "against_cpu"), "claim"), "slower");
	says(&f->md, "fastest by several processes)");
}

// What differs in precision, threads, image size or scenario is another question: other lines, no speed-up.
static void test_what_keeps_lines_apart(void **state)
{
	struct fixture *f = *state;
	struct cell_result r;

	add_timed(f, "m", "cpu", 100, 95, 120);
#define ADD(member, value) \
	r = process_of("m", "openvino", 50, 0); \
	r.row.member = value; \
	add(f, "m", "openvino", r)
	ADD(precision, "float16");
	ADD(threads, 2);
	ADD(image_size, 384);
	ADD(scenario, "offline");
	ADD(streams, 4);
	ADD(delay_s, 2.5);
	ADD(as_shipped, 1);
	ADD(together, "n on cpu");
	ADD(switched_from, "cpu");
	ADD(pipeline, "text-to-image");
	ADD(pipeline_parts, "unet=cpu");
	ADD(pipeline_asked, "{}");
	ADD(source, "llama-bench");
#undef ADD
	write_all(f);
	assert_int_equal(line_count(f), 14);
	for (size_t i = 1; i < 14; i++)
		assert_true(json_is_null(json_object_get(cell(f, i, "openvino"), "times_cpu")));
	says(&f->md, "batch 1, 128 tokens, float16");
	says(&f->md, "f32, 2 threads");
	says(&f->md, "image size 384");
	says(&f->md, "f32, offline");
	says(&f->md, "f32, after 2.5 s of rest");
	says(&f->md, "measured by llama-bench, not by assay");
	says(&f->md, "f32, as shipped");
	says(&f->md, "together with n on cpu");
	says(&f->md, "switched from cpu");
	says(&f->md, "f32, pipeline text-to-image");
	says(&f->md, "with unet=cpu");
	says(&f->md, "1 of 14 cells were measured by another tool");
	assert_int_equal(json_array_size(json_object_get(f->root, "best_latency")), 13); // the foreign one is in no ranking
	says(&f->html, "--on openvino --seq 128 --threads 2 --synthetic");
}

// What did not run and was asked for no length stands beside those that ran with the default, and not beside one that was asked
// for another.
static void test_lengths_nobody_asked_for(void **state)
{
	struct fixture *f = *state;
	struct cell_result failed = { .verdict = VERDICT_UNAVAILABLE };
	struct cell unasked = test_cell("m", "cuda"), longer = test_cell("m", "cpu"), usual = test_cell("m", "cpu");

	row_init(&failed.row);
	failed.row.model = "m";
	failed.row.requested = "cuda";
	failed.row.weights = "synthetic";
	failed.row.batch = 1;
	failed.row.cause = "no card";
	unasked.sequence = usual.sequence = 0;
	longer.sequence = 100000;
	add_asked(f, unasked, failed);
	failed.row.requested = "cpu";
	add_asked(f, longer, failed);
	add_asked(f, usual, test_result(0, "m", "cpu", VERDICT_RIGHT));
	write_all(f);
	assert_int_equal(line_count(f), 2);
	for (size_t i = 0; i < 2; i++) {
		const json_t *line = json_array_get(json_object_get(json_object_get(f->root, "matrix"), "lines"), i);
		bool is_longer = strstr(text_in(line, "variant"), "100000 tokens") != NULL;
		assert_int_equal(json_object_size(json_object_get(line, "cells")), is_longer ? 1 : 2);
		assert_string_equal(text_in(cell(f, i, "cpu"), "verdict"), is_longer ? "unavailable" : "right");
	}
}

// Files that changed under one name: two lines, told apart, without a ratio, whatever was asked; processes and comparisons of the
// one say nothing of the other. A row that failed before anybody knew stays with the name.
static void test_files_keep_lines_apart(void **state)
{
	static const char *const files[] = { "0123456789abcdef", "fedcba9876543210" };
	struct fixture *f = *state;

	for (size_t i = 0; i < 6; i++) {
		struct cell_result r = process_of("m", "cpu", 100, i), q = process_of("m", "openvino", 5, i);
		r.row.model_sha256 = files[0];
		q.row.model_sha256 = files[1];
		add(f, "m", "cpu", r);
		add(f, "m", "openvino", q);
	}
	add_failed(f, "m", "webgpu", VERDICT_CRASHED, "signal 11");
	write_all(f);
	assert_int_equal(line_count(f), 2);
	assert_true(json_is_null(json_object_get(cell(f, 1, "openvino"), "times_cpu")));
	assert_true(json_object_get(cell(f, 0, "webgpu"), "verdict") != NULL);
	says(&f->md, "model files 01234567");
	says(&f->md, "model files fedcba98");
	never_says(&f->md, "processes: faster");
	// The same question again, of the files that are there now: in their line, and of no process of the old. What was found
	// of the old files stands.
	for (size_t i = 0; i < 6; i++) {
		struct cell_result r = process_of("m", "cpu", 10, i);
		r.row.model_sha256 = files[1];
		add(f, "m", "cpu", r);
	}
	report_again(f);
	assert_int_equal(line_count(f), 2);
	says(&f->md, "All 2 models run here");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(cell(f, 1, "openvino"), "against_cpu"), "claim")), "faster");
	assert_true(json_number_value(json_object_get(cell(f, 1, "openvino"), "times_cpu")) < 3);
}

static void junit_says(struct fixture *f, const char *words)
{
	struct text junit = { 0 };

	written(f, REPORT_JUNIT, NULL, &junit);
	says(&junit, words);
	text_done(&junit);
}

// Two models typed by one name, on one platform: that the one is right takes nothing back of the other's being wrong.
static void test_wrong_files_stay_wrong(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = test_result(0, "m.onnx", "cpu", VERDICT_WRONG);

	r.row.model_sha256 = "0123456789abcdef";
	r.row.cause = "it differs";
	add(f, "m.onnx", "cpu", r);
	r = test_result(0, "m.onnx", "cpu", VERDICT_RIGHT);
	r.row.model_sha256 = "fedcba9876543210";
	add(f, "m.onnx", "cpu", r);
	write_all(f);
	assert_int_equal(line_count(f), 2);
	says(&f->md, "1 of 2 models run here");
	says(&f->md, "it differs");
	junit_says(f, "tests=\"2\" failures=\"1\"");
}

// What no reference judged stands beside the agreement, in every format that has words for it.
static void test_not_judged(void **state)
{
	struct fixture *f = *state;
	struct text junit = { 0 };
	struct cell_result r = test_result(0, "m", "cpu", VERDICT_RIGHT);

	r.row.not_judged = "y<1";
	r.row.output_shape = "[1,128,8]";
	r.row.left_out = 600;
	add(f, "m", "cpu", r);
	r.row.model = "half";
	r.row.not_judged = NULL;
	r.row.left_out = 500;
	add(f, "half", "cpu", r);
	write_all(f);
	says(&f->md, "engines agree, not judged: y&lt;1, and 600 values, masked or about padding");
	says(&f->html, "engines agree, not judged: y&lt;1, and 600 values, masked or about padding");
	written(f, REPORT_JUNIT, NULL, &junit);
	says(&junit, "engines agree, not judged: y&lt;1, and 600 values, masked or about padding");
	never_says(&f->md, "500 values");
	text_done(&junit);
}

// What a platform computes in is its answer: one question is one line, and a cell that computed in another type than the line
// says which, beside its time and beside every ratio of it.
static void test_one_line_in_every_arithmetic(void **state)
{
	struct fixture *f = *state;
	struct cell_result half = process_of("m", "qnn", 25, 0), bf16 = process_of("b", "cpu", 80, 0);

	half.row.compute_dtype = "f16";
	add(f, "m", "qnn", half); // before any that computes in f32
	add_processes(f, "m", "cpu", 100, 1);
	add_failed(f, "m", "cuda", VERDICT_UNAVAILABLE, "no card");
	add_processes(f, "b", "openvino", 50, 1); // a file in bfloat16: both are as published, but not the same
	bf16.row.weights_dtype = bf16.row.compute_dtype = "bf16";
	add(f, "b", "cpu", bf16);
	write_all(f);
	assert_int_equal(line_count(f), 2);
	assert_true(json_is_object(cell(f, 0, "cpu")) && json_is_object(cell(f, 0, "qnn")) && json_is_object(cell(f, 0, "cuda")));
	assert_true(json_is_object(cell(f, 1, "cpu")) && json_is_object(cell(f, 1, "openvino")));
	const json_t *lines = json_object_get(json_object_get(f->root, "matrix"), "lines");
	assert_string_equal(text_in(json_array_get(lines, 0), "compute_dtype"), "f32");
	assert_string_equal(text_in(json_array_get(lines, 0), "variant"), "batch 1, 128 tokens, f32");
	assert_string_equal(text_in(cell(f, 0, "qnn"), "compute_dtype"), "f16");
	says(&f->html, "<span class=\"tag warn\">computed in f16</span>");
	says(&f->html, "<span class=\"tag warn\">computed in bf16</span>");
	says(&f->html, "f16 against f32; one process each: no claim");
	assert_string_equal(text_in(section(f, "best_latency", 0), "best"), "qnn (computed in f16)");
	assert_string_equal(text_in(section(f, "best_latency", 0), "interval"), "f16 against f32; one process each: no claim");
	junit_says(f, "computed in f16");
}

// An emulator is given fewer tokens than the others where no length was asked for: one question, one line, no comparison.
static void test_one_line_a_question(void **state)
{
	struct fixture *f = *state;
	struct cell_result brief = process_of("m", "webgpu", 5, 0), faster = process_of("m", "cuda", 4, 0),
			   asked = process_of("m", "webgpu", 6, 0);
	struct text junit = { 0 }, matrix = { 0 };

	add_processes(f, "m", "cpu", 100, 1);
	add_processes(f, "m", "openvino", 50, 1);
	brief.row.sequence = faster.row.sequence = 16;
	brief.row.asked_sequence = faster.row.asked_sequence = 128;
	brief.row.emulated = 1;
	brief.row.peak_resident_mib = faster.row.peak_resident_mib = 10;
	brief.row.peak_pss_mib = faster.row.peak_pss_mib = 9;
	brief.row.peak_anonymous_mib = faster.row.peak_anonymous_mib = 8;
	add(f, "m", "webgpu", brief);
	add(f, "m", "cuda", faster); // not even where it is no emulator's
	write_all(f);
	assert_int_equal(line_count(f), 1);
	const json_t *line = json_array_get(json_object_get(json_object_get(f->root, "matrix"), "lines"), 0);
	assert_int_equal(json_integer_value(json_object_get(line, "sequence")), 128);
	assert_int_equal(json_integer_value(json_object_get(cell(f, 0, "webgpu"), "sequence")), 16);
	assert_int_equal(json_integer_value(json_object_get(cell(f, 0, "webgpu"), "asked_sequence")), 128);
	never_says(&f->html, "not asked");
	never_says(&f->md, "not asked");
	for (const char *const *p = (const char *const[]){ "webgpu", "cuda", NULL }; *p != NULL; p++) {
		assert_true(json_is_null(json_object_get(cell(f, 0, *p), "times_cpu")) &&
			json_object_get(cell(f, 0, *p), "against_cpu") == NULL);
		assert_false(is_true(cell(f, 0, *p), "fastest") || is_true(cell(f, 0, *p), "near_fastest"));
	}
	assert_true(is_true(cell(f, 0, "openvino"), "fastest"));
	says(&f->html, "16 tokens of the usual 128, emulated</span>");
	says(&f->md, "16 tokens of the usual 128");
	assert_int_equal(json_array_size(json_object_get(f->root, "best_latency")), 1);
	assert_string_equal(text_in(section(f, "best_latency", 0), "best"), "openvino");
	assert_string_equal(text_in(section(f, "best_throughput", 0), "best"), "openvino");
	assert_true(number_in(section(f, "best_memory", 0), "peak_mib") > 100);
	assert_int_equal(json_array_size(json_object_get(f->root, "performance_by_platform")), 2);
	says(&f->html, "assay run m --on webgpu --synthetic"); // its question named no length
	written(f, REPORT_MATRIX, NULL, &matrix);
	written(f, REPORT_JUNIT, NULL, &junit);
	json_t *m = json_loads(text_get(&matrix), 0, NULL);
	assert_string_equal(text_in(json_object_get(json_object_get(m, "encoder-only"), "cuda"), "performance"), "n/a");
	says(&junit, "16 tokens of the usual 128");
	json_decref(m);
	text_done(&junit);
	text_done(&matrix);
	asked.row.sequence = 16; // who asks for 16 asks another question
	add(f, "other", "webgpu", asked);
	add_processes(f, "other", "cpu", 100, 1);
	report_again(f);
	assert_int_equal(line_count(f), 3);
}

// The engine's own defaults beside the same question as assay asks it, and of no other question.
// The metric over examples beside float32's; what nobody asked about examples has no row there.
static void test_accuracy(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = process_of("m", "openvino", 59, 0);

	add_timed(f, "m", "cpu", 118, 110, 120);
	r.row.data = "set";
	r.row.data_metric = "accuracy";
	r.row.data_value = 0.75;
	r.row.data_low = 0.6;
	r.row.data_reference = 0.8;
	r.row.data_examples = 40;
	r.row.data_unlike = 3;
	r.row.data_worse = 2;
	r.row.data_better = 0;
	add(f, "m", "openvino", r);
	write_all(f);
	assert_int_equal(json_array_size(json_object_get(f->root, "accuracy")), 1);
	const json_t *row = section(f, "accuracy", 0);
	assert_string_equal(text_in(row, "metric"), "accuracy");
	assert_true(number_in(row, "value") == 0.75 && number_in(row, "reference") == 0.8 && number_in(row, "worse") == 2);
	assert_true(json_is_null(json_object_get(row, "high")));
	says(&f->md, "Accuracy on data");
}

static void add_examples(struct fixture *f, const char *platform, const char *path, const char *contents, enum verdict verdict)
{
	struct cell_result r = process_of("m", platform, 60, 0);
	struct cell c = test_cell("m", platform);

	c.data = r.row.data = path;
	r.row.data_sha256 = contents;
	r.verdict = verdict;
	r.row.verdict = verdict_word(verdict);
	add_asked(f, c, r);
}

// Examples are a question's by their contents: one set under two names is one line, and a line of another set is called so,
// also where its rows failed.
static void test_sets_of_examples(void **state)
{
	struct fixture *f = *state;

	add_examples(f, "cpu", "here/set", "aaaaaaaaaa", VERDICT_RIGHT);
	add_examples(f, "openvino", "there/copy", "aaaaaaaaaa", VERDICT_RIGHT);
	write_all(f);
	assert_int_equal(line_count(f), 1);
	says(&f->md, ", examples of ");
	add_examples(f, "cpu", "here/other", "bbbbbbbbbb", VERDICT_FAILED);
	report_again(f);
	assert_int_equal(line_count(f), 2);
	says(&f->md, "; examples of other: ");
	never_says(&f->md, "asked otherwise");
	never_says(&f->md, "whose contents");
	add_examples(f, "cpu", "later/other", "cccccccccc", VERDICT_RIGHT);
	report_again(f);
	assert_int_equal(line_count(f), 3);
	says(&f->md, "whose contents are bbbbbbbb");
	says(&f->md, "whose contents are cccccccc");
}

static void test_as_shipped(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = process_of("m", "openvino", 59, 0);

	r.row.as_shipped = 1;
	r.row.shipped_defaults = "precision=bf16, threads=2";
	r.row.compute_dtype = "bf16";
	r.row.max_abs_error = 0.021;
	add(f, "m", "openvino", r);
	r.row.batch = 4;
	add(f, "m", "openvino", r);
	add_timed(f, "m", "openvino", 118, 110, 120);
	write_all(f);
	assert_int_equal(json_array_size(json_object_get(f->root, "as_shipped")), 2);
	const json_t *row = section(f, "as_shipped", 0);
	assert_string_equal(text_in(row, "defaults"), "precision=bf16, threads=2");
	assert_true(fabs(number_in(row, "latency_ms") - 59) < 1e-9 && fabs(number_in(row, "asked_latency_ms") - 118) < 1e-9);
	assert_true(fabs(number_in(row, "times") - 2) < 1e-9 && fabs(number_in(row, "max_abs_error") - 0.021) < 1e-9);
	row = section(f, "as_shipped", 1);
	assert_string_equal(text_in(row, "interval"), "not asked without --as-shipped");
	assert_true(json_is_null(json_object_get(row, "times")) && json_is_null(json_object_get(row, "asked_latency_ms")));
	says(&f->md, "batch 1, 128 tokens, bf16, as shipped");
}

// Beside others and after a switch: tables of their own, and no time for those of a model alone.
static void test_beside(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = process_of("m", "openvino", 59, 0), moved = process_of("m", "openvino", 20, 0);

	add(f, "m", "openvino", process_of("m", "openvino", 40, 0));
	r.row.together = "n on cpu";
	r.row.alone_ms = 40;
	r.row.together_factor = 59.0 / 40;
	r.row.together_throughput = 0.4;
	r.row.together_share = 0.975;
	add(f, "m", "openvino", r);
	moved.row.switched_from = "cpu";
	moved.row.switch_ms = 300;
	moved.row.switch_release_ms = 20;
	moved.row.load_ms = 250;
	moved.row.first_ms = 30;
	moved.row.switch_max_difference = 1e-6;
	add(f, "m", "openvino", moved);
	write_all(f);
	assert_int_equal(json_array_size(json_object_get(f->root, "together")), 1);
	const json_t *row = section(f, "together", 0);
	assert_string_equal(text_in(row, "together"), "n on cpu");
	assert_true(fabs(number_in(row, "alone_ms") - 40) < 1e-9 && fabs(number_in(row, "times") - 1.475) < 1e-9 &&
		fabs(number_in(row, "throughput") - 0.4) < 1e-9 && fabs(number_in(row, "share") - 0.975) < 1e-9);
	assert_int_equal(json_array_size(json_object_get(f->root, "switches")), 1);
	row = section(f, "switches", 0);
	assert_string_equal(text_in(row, "from"), "cpu");
	assert_true(fabs(number_in(row, "switch_ms") - 300) < 1e-9 && fabs(number_in(row, "release_ms") - 20) < 1e-9);
	row = section(f, "performance_by_platform", 0);
	assert_true(fabs(number_in(row, "average_ms") - 40) < 1e-9);
}

// Whole pipelines: a table of their own, with the picture in the page, and no time among those of models.
#define PNG_3X2 "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR42mNocFCAIAY4CwA21AVBiVG2uwAAAABJRU5ErkJggg=="
#define PNG_60000X2 "iVBORw0KGgoAAAANSUhEUgAA6mAAAAACCAIAAADtXLUdAAAAEElEQVR42mNocFCAIAY4CwA21AVBiVG2uwAAAABJRU5ErkJggg=="

static void test_answers(void **state)
{
	static const char asked[] = "{\"files\":[],\"options\":{\"seed\":1},\"words\":[\"a <fox>\",\"b\"]}", png[] = PNG_3X2;
	struct fixture *f = *state;
	struct cell c = test_cell("m", "cpu");
	struct cell_result r = test_result(0, "m", "cpu", VERDICT_RIGHT);

	c.pipeline = r.row.pipeline = "text-to-image";
	c.pipeline_parts = r.row.pipeline_parts = "unet=openvino";
	c.pipeline_asked = r.row.pipeline_asked = asked;
	r.sample_count = 0;
	r.row.latency_ms = r.row.latency_min_ms = r.row.latency_max_ms = (double)NAN;
	r.row.answer = "[{\"answer\":{\"png\":{\"png\":\"image.png\"}},\"pictures\":{\"image.png\":{\"width\":3,\"height\":2,"
		       "\"sha256\":\"0123456789abcdef\"}}}]";
	r.row.answer_picture = png;
	r.row.answer_parts =
		"{\"preprocess_ms\":1.5,\"graphs\":[{\"graph\":\"unet/model.onnx\",\"platform\":\"openvino\",\"runs\":3,"
		"\"run_ms\":30,\"open_ms\":20,\"anonymous_mib\":12.5}],\"between_ms\":0,\"postprocess_ms\":0}";
	r.row.answer_measures = "{\"psnr_db\":51.25,\"pictures_same\":false}";
	r.row.answer_steps_per_s = 7.5;
	r.row.answer_token_ms = 20;
	add_asked(f, c, r);
	c.model = r.row.model = "hostile";
	r.row.answer_picture = "iVBORw0KGgo\"><script>alert(1)</script>";
	r.row.answer = "no JSON";
	add_asked(f, c, r);
	c.model = r.row.model = "huge";
	r.row.answer_picture = PNG_60000X2;
	r.row.reference = NULL; // right beside nothing
	add_asked(f, c, r);
	r = (struct cell_result){ .verdict = VERDICT_UNAVAILABLE };
	row_init(&r.row);
	c.model = r.row.model = "gone";
	c.pipeline = NULL; // it never came so far
	c.platform = r.row.requested = "cuda";
	r.row.pipeline_asked = asked;
	r.row.cause = "no card";
	add_asked(f, c, r);
	write_all(f);
	assert_int_equal(json_array_size(json_object_get(f->root, "answers")), 4);
	const json_t *row = section(f, "answers", 0);
	assert_string_equal(text_in(row, "platform"), "cpu, unet=openvino");
	assert_string_equal(text_in(row, "input"), "a <fox> | b");
	assert_string_equal(text_in(row, "answer"), "image.png: 3 x 2, SHA-256 01234567");
	assert_string_equal(text_in(row, "measures"), "PSNR 51.2 dB");
	assert_true(fabs(number_in(row, "steps_per_s") - 7.5) < 1e-9 && fabs(number_in(row, "tokens_per_s") - 50) < 1e-9);
	assert_string_equal(text_in(section(f, "answers", 3), "verdict"), "unavailable");
	assert_string_equal(text_in(section(f, "answers", 2), "verdict"), "unjudged");
	assert_int_equal(json_array_size(json_object_get(f->root, "best_latency")), 0);
	row = section(f, "answer_parts", 1);
	assert_string_equal(text_in(row, "part"), "unet/model.onnx");
	assert_string_equal(text_in(row, "platform"), "openvino");
	assert_true(json_integer_value(json_object_get(row, "runs")) == 3 && fabs(number_in(row, "run_ms") - 30) < 1e-9 &&
		fabs(number_in(row, "open_ms") - 20) < 1e-9 && fabs(number_in(row, "anonymous_mib") - 12.5) < 1e-9);
	assert_true(fabs(number_in(section(f, "answer_parts", 0), "run_ms") - 1.5) < 1e-9);
	says(&f->html,
		"<img class=\"answer\" alt=\"first picture of the answer to: a &lt;fox&gt; | b\" "
		"src=\"data:image/png;base64," PNG_3X2 "\">");
	says(&f->html, "img-src data:");
	says(&f->html, "a &lt;fox&gt; | b");
	assert_null(strstr(text_get(&f->html), "<script>alert(1)"));
	assert_null(strstr(text_get(&f->html), PNG_60000X2));
	says(&f->html, "right, and no reference is named");
	says(&f->md, "no card");
	says(&f->md, "| m (row 1, text-to-image, seed=1, synthetic weights) | cpu, unet=openvino | right (PSNR 51.2 dB; ");
	says(&f->md, "| 50.0 tokens/s |");
	says(&f->md, "| gone (a whole pipeline) |"); // no comma before the first word
}

static void test_energy(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = process_of("m", "openvino", 59, 0);

	add(f, "m", "cpu", process_of("m", "cpu", 59, 0)); // without a counter it is not there
	r.row.energy_j_per_sample = 0.72;
	r.row.idle_w = 41;
	r.row.energy_source = "package-0";
	add(f, "m", "openvino", r);
	write_all(f);
	assert_int_equal(json_array_size(json_object_get(f->root, "energy")), 1);
	const json_t *row = section(f, "energy", 0);
	assert_true(fabs(number_in(row, "energy_j_per_sample") - 0.72) < 1e-9 &&
		fabs(number_in(row, "samples_per_wh") - 5000) < 1e-6);
	assert_true(json_is_null(json_object_get(row, "energy_j_per_token")));
	says(&f->md, "0.72\u00a0J");
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
	add_processes(f, "m", "cpu", 10, 6);
	for (size_t i = 0; i < 6; i++)
		add(f, "m", "cpu", slow);
	add(f, "m", "cpu", fast);
	slow = process_of("alone", "cpu", 20, 0);
	slow.row.precision = "float16";
	add(f, "alone", "cpu", slow);
	slow = process_of("once", "cpu", 20, 0); // twice the time, of one process each: no claim
	slow.row.precision = "float16";
	add_processes(f, "once", "cpu", 10, 1);
	add(f, "once", "cpu", slow);
	write_all(f);
	assert_int_equal(json_array_size(json_object_get(f->root, "precision")), 4);
	assert_string_equal(text_in(section(f, "precision", 0), "flag"), "SLOWER THAN FLOAT32");
	assert_string_equal(text_in(section(f, "precision", 1), "flag"), "(none)");
	assert_true(fabs(number_in(section(f, "precision", 1), "times_float32") - 2) < 1e-9);
	assert_true(fabs(number_in(section(f, "precision", 1), "peak_of_float32") - 0.5) < 1e-9);
	assert_true(fabs(number_in(section(f, "precision", 1), "top1_agreement") - 0.975) < 1e-9);
	assert_string_equal(text_in(section(f, "precision", 2), "interval"), "no float32 row of this question");
	assert_string_equal(text_in(section(f, "precision", 3), "flag"), "(none)");
	assert_string_equal(text_in(section(f, "precision", 3), "interval"), "one process each: no claim");
	says(&f->md, "SLOWER THAN FLOAT32");
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
	assert_string_equal(text_in(cpu, "max_ms_note"), "b (synthetic weights)");
	assert_string_equal(text_in(cpu, "marks"), "mixes models; synthetic weights");
	assert_string_equal(text_in(openvino, "marks"), "1 unstable; synthetic weights");
	assert_true(number_in(openvino, "times_cpu") == 2);
	assert_string_equal(text_in(openvino, "times_cpu_note"), "over 1 question");
	says(&f->md, "Averages are of medians");
	says(&f->md, "11 runs, 4.00 ms to 6.00 ms, unstable");
	assert_string_equal(text_in(section(f, "performance_extremes", 0), "which"), "fastest");
	assert_string_equal(report_ms(&f->store.arena, 0.4645), "465 µs"); // as `assay run` has it: 0.465 ms
	assert_string_equal(report_ms(&f->store.arena, 0.0464), "46.4 µs");
}

// Of each model the slowest to load first; what nobody measured on hardware is not in it.
static void test_load(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *model, *platform;
		double load, first;
	} rows[] = { { "a", "cpu", 100, 30 }, { "b", "cpu", 50, (double)NAN }, { "a", "openvino", 1500, 20 },
		{ "a", "cuda", 700, 10 } };
	struct cell_result foreign = process_of("a", "rocm", 10, 0), emulated = process_of("a", "webgpu", 10, 0),
			   unknown = process_of("a", "mps", 10, 0), writes = process_of("a", "cpu", 10, 0);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct cell_result r = process_of(rows[i].model, rows[i].platform, 10, 0);
		r.row.load_ms = rows[i].load;
		r.row.first_ms = rows[i].first;
		add(f, rows[i].model, rows[i].platform, r);
	}
	foreign.row.source = "llama-bench";
	emulated.row.emulated = 1;
	unknown.row.load_ms = (double)NAN;
	writes.row.new_tokens = 16;
	add(f, "a", "rocm", foreign);
	add(f, "a", "webgpu", emulated);
	add(f, "a", "mps", unknown);
	add(f, "a", "cpu", writes);
	write_all(f);
	static const size_t order[] = { 2, 3, 0, 1 };
	assert_int_equal(json_array_size(json_object_get(f->root, "slowest_load")), 4);
	for (size_t i = 0; i < 4; i++) {
		const json_t *row = section(f, "slowest_load", i);
		assert_string_equal(text_in(row, "model"), rows[order[i]].model);
		assert_string_equal(text_in(row, "platform"), rows[order[i]].platform);
		assert_true(number_in(row, "load_ms") == rows[order[i]].load);
	}
	assert_true(number_in(section(f, "slowest_load", 0), "first_ms") == 20);
	assert_true(json_is_null(json_object_get(section(f, "slowest_load", 3), "first_ms")));
	says(&f->md, "## Slowest to load");
	says(&f->md, "| openvino | 1.50 s | 20.0 ms |");
	says(&f->html, "<a href=\"#slowest_load\">Slowest to load</a>");
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
			r.row.latency_low_ms = r.row.latency_ms * 0.99;
			r.row.latency_high_ms = r.row.latency_ms * 1.01;
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
	assert_int_equal(json_integer_value(json_object_get(section(f, "crossover", 0), "after")), 2);
	// The most throughput is openvino's at batch 4; cpu's at its own best batch stands beside it.
	assert_string_equal(text_in(section(f, "best_throughput", 0), "best"), "openvino");
	assert_true(fabs(number_in(section(f, "best_throughput", 0), "per_s") - 4000.0 / 30) < 1e-6);
	assert_true(fabs(number_in(section(f, "best_throughput", 0), "cpu_per_s") - 4000 / 35.5) < 1e-6);
}

// Questions of a graph whose batch is not known: lines that say what was asked, and none for throughput beside the one that is
// known.
// A length that was asked for and the lengths of examples are no sweep.
static void test_no_sweep_of_examples(void **state)
{
	struct fixture *f = *state;
	static const int64_t lengths[] = { 16, 32, 200 };

	for (size_t i = 0; i < 3; i++) {
		struct cell_result r = process_of("m", "cpu", 10 + (double)i, 0);
		struct cell c = test_cell("m", "cpu");

		c.sequence = r.row.sequence = lengths[i];
		if (i == 2) {
			c.data = r.row.data = "set";
			r.row.data_sha256 = "aaaaaaaaaa";
		}
		add_asked(f, c, r);
	}
	write_all(f);
	assert_int_equal(json_array_size(json_object_get(f->root, "sweeps")), 2);
	assert_int_equal(json_integer_value(json_object_get(section(f, "sweeps", 1), "value")), 32);
}

// Two folders of one name, in rows and in what heads them.
static void test_one_name_in_two_folders(void **state)
{
	struct fixture *f = *state;

	add_timed(f, "/first/bert", "cpu", 10, 9, 11);
	write_all(f);
	assert_null(strstr(text_get(&f->md), "in /first"));
	add_timed(f, "/second/bert", "cpu", 20, 19, 21);
	add(f, "/first/bert", "openvino", test_result(0, "/first/bert", "openvino", VERDICT_FAILED));
	add(f, "/second/bert", "openvino", test_result(0, "/second/bert", "openvino", VERDICT_FAILED));
	report_again(f);
	assert_int_equal(line_count(f), 2);
	assert_non_null(strstr(text_in(section(f, "best_latency", 0), "variant"), "in /first"));
	assert_non_null(strstr(text_in(section(f, "best_latency", 1), "variant"), "in /second"));
	says(&f->md, "bert in /first");
	says(&f->md, "bert in /second");
	says(&f->html, "bert in /second");
}

static void test_unknown_batches(void **state)
{
	struct fixture *f = *state;

	for (int64_t batch = 1; batch <= 3; batch++) {
		struct cell_result r = process_of("m", "cpu", 10, 0);
		struct cell c = test_cell("m", "cpu");

		c.synthetic = true;
		c.batch = batch;
		r.row.batch = batch == 3 ? batch : ROW_NONE;
		r.row.throughput_per_s = batch == 3 ? 300 : (double)NAN;
		if (store_started(&f->store, &c, "k", &r.row.row, &f->err) || store_finished(&f->store, &r, &f->err))
			fail_msg("%s", f->err.text);
	}
	write_all(f);
	assert_int_equal(line_count(f), 3);
	says(&f->md, "batch 2 asked, not known");
	assert_int_equal(json_array_size(json_object_get(f->root, "best_throughput")), 1);
	assert_true(fabs(number_in(section(f, "best_throughput", 0), "per_s") - 300) < 1e-9);
}

static void test_memory_scenarios_and_text(void **state)
{
	struct fixture *f = *state;
	struct cell_result leaks = process_of("leaks", "cpu", 10, 0), server = process_of("serves", "cpu", 10, 0),
			   writes = process_of("writes", "cpu", 10, 0);

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
	assert_string_equal(text_in(section(f, "memory", 0), "leak_mib_per_cycle_note"),
		"0.400 to 0.600 MiB (95\u00a0%), 20 cycles: it grows");
	assert_string_equal(text_in(section(f, "scenarios", 0), "result"), "queries 270336, allowed yes, why p99 holds");
	assert_string_equal(text_in(section(f, "scenarios", 0), "latency_p90_ms"), "n too small (8 of 64 samples)");
	assert_string_equal(text_in(section(f, "scenarios", 0), "latency_p99_ms"), "n too small (8 of 662)");
	assert_string_equal(text_in(section(f, "generation", 0), "tokens"), "32 + 16");
	assert_int_equal(json_integer_value(json_object_get(section(f, "performance_by_platform", 0), "cells")),
		1);                                                            // neither scenario nor tokens
	says(&f->html, "<span class=\"q\">a generated token</span></a></td>"); // beside forward passes of other models
	says(&f->md, "server at 20 queries/s");
}

// A scenario whose rule did not hold: right, NOT VALID wherever it stands, and ranked nowhere.
static void test_not_valid(void **state)
{
	struct fixture *f = *state;
	struct cell_result late = process_of("serves", "cpu", 10, 0), held = process_of("holds", "cpu", 10, 0);

	late.row.scenario = held.row.scenario = "server";
	late.row.rate_per_s = held.row.rate_per_s = 20;
	late.row.scenario_result = "{\"queries\": 300, \"valid\": false, \"why\": \"the 99th percentile is late\"}";
	held.row.scenario_result = "{\"queries\": 300, \"valid\": true, \"why\": \"p99 holds\"}";
	add(f, "serves", "cpu", late);
	write_all(f);
	says(&f->html, "<h1>The model ran here in a scenario that is NOT VALID, and in nothing else");
	says(&f->md, "! right, NOT VALID, 10.0 ms");
	add(f, "holds", "cpu", held);
	report_again(f);
	assert_string_equal(text_in(f->root, "headline"),
		"1 of 2 models run here (synthetic weights), 1 only in a scenario that is NOT VALID");
	assert_string_equal(text_in(section(f, "scenarios", 0), "verdict"), "right, NOT VALID");
	assert_string_equal(text_in(section(f, "scenarios", 1), "verdict"), "right");
	assert_int_equal(json_array_size(json_object_get(f->root, "best_latency")), 1);
	assert_int_equal(json_array_size(json_object_get(f->root, "best_throughput")), 1);
	assert_string_equal(text_in(section(f, "best_latency", 0), "model"), "holds");
	assert_true(is_true(cell(f, 0, "cpu"), "not_valid") && !is_true(cell(f, 1, "cpu"), "not_valid"));
	assert_string_equal(text_in(cell(f, 0, "cpu"), "why_not"), "NOT VALID as server: the 99th percentile is late");
	const char *chart = strstr(text_get(&f->html), "id=\"latency-data\"");
	assert_non_null(chart);
	assert_non_null(strstr(chart, "\"name\":\"holds\""));
	assert_null(strstr(chart, "\"name\":\"serves\""));
	says(&f->html, "<span class=\"w\">right, NOT VALID</span>");
	says(&f->html, "1 of 2 cells are scenarios that are NOT VALID");
}

static void test_prices(void **state)
{
	struct fixture *f = *state;
	const char *good[] = { "cpu=0.36EUR", "openvino=3.6" }, *two[] = { "cpu=1EUR", "openvino=1USD" }, *none[] = { "cpu" },
		   *negative[] = { "cpu=-1" }, *unknown[] = { "abacus=1" };
	struct report_options options = { 0 };
	struct text md = { 0 };

	add_timed(f, "m", "cpu", 100, 95, 105);
	add_timed(f, "m", "openvino", 50, 45, 55);
	add_unstable(f, "unsteady", "cpu", 100, 95, 120);
	assert_int_equal(report_prices(&f->store.arena, two, 2, &options, &f->err), STATUS_BAD_INPUT);
	assert_int_equal(report_prices(&f->store.arena, none, 1, &options, &f->err), STATUS_BAD_INPUT);
	assert_int_equal(report_prices(&f->store.arena, negative, 1, &options, &f->err), STATUS_BAD_INPUT);
	assert_int_equal(report_prices(&f->store.arena, unknown, 1, &options, &f->err), STATUS_BAD_INPUT);
	assert_int_equal(report_prices(&f->store.arena, good, 2, &options, &f->err), STATUS_OK);
	written(f, REPORT_MD, &options, &md);
	says(&md, "| cpu | 10 EUR |  | cheapest |"); // 0.36 an hour is 1e-4 a second, ten inferences a second
	says(&md, "| openvino | 50 EUR | 5.00× |  |");
	says(&md, "cheapest, by an unstable time");
	text_done(&md);
	write_all(f);
	assert_string_equal(text_in(section(f, "best_throughput", 1), "per_s_note"), "unstable");
	never_says(&f->md, "## Cost");
}

static void test_yaml(void **state)
{
	struct text out = { 0 };
	json_t *json = json_pack("{s:s, s:f, s:f, s:f, s:[], s:{}, s:[i, [i], {s:b}], s:n, s:s}", "no", "yes", "small", 1e-6,
		"whole", 3.0, "large", 1e20, "none", "nothing", "list", 1, 2, "deep", 1, "null", "odd\"key\\",
		"a\nb\t\"\\\x7f\xc2\x85\xe2\x80\xa8"
		"é#: -");

	(void)state;
	report_yaml(json, &out);
	assert_string_equal(text_get(&out),
		"\"no\": \"yes\"\n\"small\": 9.9999999999999995e-07\n\"whole\": 3.0\n\"large\": 1.0e+20\n\"none\": "
		"[]\n\"nothing\": {}\n"
		"\"list\":\n  - 1\n  -\n    - 2\n  -\n    \"deep\": true\n\"null\": null\n\"odd\\\"key\\\\\": "
		"\"a\\x0Ab\\x09\\\"\\\\\\x7F\\x85\\u2028é#: -\"\n");
	json_decref(json);
	text_done(&out);
}

static void test_junit(void **state)
{
	struct fixture *f = *state;
	static const enum verdict verdicts[] = { VERDICT_WRONG, VERDICT_FAILED, VERDICT_CRASHED, VERDICT_TIMEOUT,
		VERDICT_INTERRUPTED, VERDICT_UNAVAILABLE, VERDICT_UNSUPPORTED, VERDICT_NO_MEMORY, VERDICT_FELL_BACK };
	static const char *const models[] = { "wrong", "failed", "crashed", "timeout", "interrupted", "unavailable",
		"unsupported", "no_memory", "fell_back" };
	struct cell_result allowed = test_result(0, "allowed", "cpu", VERDICT_RIGHT),
			   silent = test_result(0, "silent", "cpu", VERDICT_RIGHT);
	struct text xml = { 0 };

	add_timed(f, "fine", "cpu", 10, 9, 11);
	for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
		add_failed(f, models[i], "cpu", verdicts[i], i == 0 ? HOSTILE "\x01" : models[i]);
	allowed.row.actual = silent.row.actual = "openvino";
	allowed.row.fallback_allowed = 1;
	allowed.row.fallback_reason = "cpu took none of the graph";
	allowed.row.peak_resident_mib = (double)NAN; // as a browser's
	add(f, "allowed", "cpu", allowed);
	add(f, "silent", "cpu", silent); // as older programs wrote it
	written(f, REPORT_JUNIT, NULL, &xml);
	says(&xml, "<testsuites name=\"assay\" tests=\"12\" failures=\"4\" errors=\"3\" skipped=\"3\"");
	says(&xml, "<testsuite name=\"cpu\" tests=\"12\" failures=\"4\" errors=\"3\" skipped=\"3\"");
	says(&xml, "<failure type=\"ran elsewhere\" message=\"ran elsewhere: fell_back\">");
	says(&xml, "&#10;ran on openvino instead of cpu, allowed by --allow-fallback&#10;cpu took none of the graph");
	report_again(f);
	says(&f->html, "openvino ran, allowed by --allow-fallback");
	says(&f->md, "openvino ran, silently: nobody asked for it");
	says(&xml, "<failure type=\"wrong\" message=\"wrong: &lt;script&gt;alert('x')&lt;/script&gt;&quot;&amp;|`*\\x01\">");
	says(&xml, "<failure type=\"failed\" message=\"failed: failed\">");
	says(&xml, "<error type=\"crashed\"");
	says(&xml, "<error type=\"timed out\"");
	says(&xml, "<error type=\"interrupted\"");
	says(&xml, "<skipped message=\"unavailable: unavailable\"/>");
	says(&xml, "<skipped message=\"unsupported: unsupported\"/>");
	says(&xml, "<skipped message=\"not enough memory: no_memory\"/>");
	says(&xml, "median 10.0 ms (fastest 9.00 ms, slowest 11.0 ms)");
	says(&xml, "&#10;peak memory 520 MiB");
	says(&xml, "&#10;proportional memory 500 MiB");
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
	assert_non_null(
		strstr(text_in(pair(m, "qnn"), "notes"), "0 of 1 rows good (synthetic weights); failed: no such operator"));
	assert_string_equal(json_string_value(json_array_get(json_object_get(pair(m, "webgpu"), "optimizations"), 0)),
		"layout: webgpu layout=NHWC takes 20 % less latency_ms than webgpu layout=NCHW (a, ratio 0.800 (0.700 to "
		"0.900))");
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

	r.row.precision = "float16";
	add(f, "google/bert", "cpu", r);
	add_timed(f, "google/bert", "cpu", 77.5, 70, 80);
	add_failed(f, "org/large", "cpu", VERDICT_NO_MEMORY, "it needs 27.2 GiB");
	add_failed(f, "org/larger", "cpu", VERDICT_NO_MEMORY, "it needs 52 GiB");
	write_all(f);
	const char *end = strstr(text_get(&f->html), "<nav"), *row = strstr(text_get(&f->html), ">bert<span");
	assert_non_null(row);
	assert_true(row < end && strstr(row + 1, ">bert<span") == NULL);
	says(&f->html, "</span> <span class=\"t\">77.5 ms</span>");
	says(&f->html, "<span class=\"strong\">large and larger</span> on cpu");
	says(&f->html, "2 causes, alike but for numbers");
	text_done(&f->html);
	f->html = (struct text){ 0 };
	struct report_line lines[20];
	struct report_cell one = { .is_running = true };
	struct summary s = { .lines = lines, .line_count = 20, .cells = &one, .cell_count = 1, .made_at = "" };
	row_init(&one.row);
	for (int i = 0; i < 20; i++)
		lines[i] = (struct report_line){
			.model = arena_printf(&f->store.arena, "m%d", i), .name = "m", .variant = "", .new_tokens = ROW_NONE
		};
	html_first_screen(&s, &f->store.arena, &f->html);
	says(&f->html, "4 more models below");
}

// What else was asked of a model stands beneath it, the fastest first, against the same platform; what stands above is not said
// twice, and a platform that was asked otherwise is not called not asked.
static void test_variants(void **state)
{
	struct fixture *f = *state;
	struct cell_result int8 = process_of("m", "cpu", 10, 0), shipped = process_of("m", "cpu", 50, 0),
			   f16 = process_of("m", "openvino", 20, 0), shaky = process_of("m", "cpu", 5, 0);
	const char *path = "/data/exported/a-very-long-name-of-a-folder-that-nobody-shortened-before/model_quantized.onnx";

	int8.row.precision = "int8-dynamic";
	int8.row.arithmetic_max_abs_error = 3e-6;
	int8.row.max_abs_error = 0.25;
	shipped.row.as_shipped = 1;
	f16.row.precision = "float16";
	f16.row.emulated = 1;
	add(f, "m", "cpu", shipped);
	add(f, "m", "cpu", process_of("m", "cpu", 22, 0));
	add(f, "m", "cpu", int8);
	shaky.row.precision = "int4-weights";
	shaky.row.stability = "unstable";
	add(f, "m", "cpu", shaky);
	add(f, "m", "openvino", f16);
	add(f, path, "cpu", process_of(path, "cpu", 30, 0));
	write_all(f);
	const char *card = strstr(text_get(&f->html), "<table class=\"ov"), *end = strstr(card, "</table>");
	const char *first = strstr(card, "<b>int8-dynamic</b> 10.0 ms on cpu 2.2×, no claim</a>"),
		   *second = strstr(card, "<b>as shipped</b> 50.0 ms");
	assert_true(first != NULL && second != NULL && first < second && second < end);
	assert_true(strstr(card, "<span class=\"q\">float16, emulated</span>") < end);
	says(&f->md, " | 3e-06; loss 0.25 | "); // the error is the arithmetic's
	says(&f->html, "<dt>Errors of its arithmetic</dt><dd>max abs 3e-06</dd>");
	assert_non_null(strstr(card, "<b>int4-weights</b> 5.00 ms<sup>~</sup> on cpu</a>")); // no ratio of what is unstable
	const char *chip = strstr(card, "<b>float16</b>");
	assert_true(chip == NULL || chip > end);
	assert_true(strstr(card, "not asked") > strstr(card, "model_quantized.onnx"));
	assert_true(strstr(card, ">a-very-long-name-of-a-…") < end &&
		strstr(card, "-shortened-before/model_quantized.onnx</th>") < end);
	// Markdown: one line a model.
	says(&f->md, "22.0 ms, peak");
	says(&f->md, "; int8-dynamic: ✓ right, 10.0 ms");
	says(&f->md, "; as shipped: ✓ right, 50.0 ms");
	says(&f->md, "| float16: ✓ right, 20.0 ms");
	assert_true(strstr(text_get(&f->md), "| m (batch 1, 128 tokens, int8") > strstr(text_get(&f->md), "## Times and errors"));
}

// The time is that of all processes, and a ratio stands out only where they say so: the newest row of each is not typical.
static void test_variants_of_processes(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 7; i++) {
		struct cell_result plain = process_of("m", "cpu", i == 6 ? 21 : 20, i),
				   int8 = process_of("m", "cpu", i == 6 ? 11 : 10, i);

		int8.row.precision = "int8-dynamic";
		add(f, "m", "cpu", plain);
		add(f, "m", "cpu", int8);
	}
	write_all(f);
	const char *card = strstr(text_get(&f->html), "<table class=\"ov"), *end = strstr(card, "</table>");
	const char *chip = strstr(card, "<b>int8-dynamic</b> 10.0 ms on cpu <b>2.0×</b></a>"),
		   *answer = strstr(card, "<span class=\"t\">20.0 ms</span>");
	assert_true(chip != NULL && chip < end && answer != NULL && answer < end);
	assert_true(strstr(card, "median of 7 processes, 20.0 ms to 21.0 ms") < end);
}

// Bars of what is not hardware are marked for the switch, and the legend has none of them before it is pressed.
static void test_chart_of_hardware(void **state)
{
	struct fixture *f = *state;
	struct cell_result soft = process_of("m", "qnn", 500, 0);

	soft.row.emulated = 1;
	add(f, "m", "cpu", process_of("m", "cpu", 22, 0));
	write_all(f);
	never_says(&f->html, "<button type=\"button\" id=\"latency-soft\"");
	add(f, "m", "qnn", soft);
	report_again(f);
	says(&f->html, "<button type=\"button\" id=\"latency-soft\" aria-pressed=\"false\"");
	says(&f->html, "data-column=\"0\"><span class=\"swatch\" style=\"background:var(--p0)\"></span>cpu");
	says(&f->html, "data-column=\"1\" hidden><span class=\"swatch\" style=\"background:var(--p1)\"></span>qnn");
	const char *bars = strstr(text_get(&f->html), "id=\"latency-data\"");
	assert_non_null(strstr(bars, "\"text\":\"500 ms, emulated\""));
	assert_non_null(strstr(strstr(bars, "\"platform\":\"qnn\""), "\"soft\":true"));
	assert_true(strstr(bars, "\"soft\":true") > strstr(bars, "\"platform\":\"qnn\""));
}

// What --fit took, and synthetic weights of fewer layers, lie in files of their own: they are the model that was asked for.
static void test_files_that_assay_makes(void **state)
{
	struct fixture *f = *state;
	struct cell_result fitted = process_of("m", "cpu", 10, 0), cut = process_of("m", "cpu", 4, 0),
			   whole = process_of("m", "cpu", 20, 0);

	fitted.row.precision = "int8-weights";
	fitted.row.fitted = "asked as stored, which does not fit";
	fitted.row.model_sha256 = "aaaa";
	cut.row.layers = 2;
	cut.row.shortened = 1;
	cut.row.model_sha256 = "bbbb";
	whole.row.model_sha256 = "cccc";
	add(f, "m", "cpu", fitted);
	add(f, "m", "cpu", cut);
	add(f, "m", "cpu", whole);
	write_all(f);
	assert_string_equal(text_in(f->root, "headline"), "The model runs here (synthetic weights)");
	assert_int_equal(json_integer_value(json_object_get(f->root, "models")), 1);
	never_says(&f->md, "model files");
	whole.row.model_sha256 = "dddd"; // asked alike, of other files: another model
	add(f, "m", "openvino", whole);
	report_again(f);
	assert_int_equal(json_integer_value(json_object_get(f->root, "models")), 2);
	says(&f->md, "model files dddd");
}

// The policy in the page lets run the script in it, and no other.
static void test_policy(void **state)
{
	struct fixture *f = *state;

	add_timed(f, "m", "cpu", 12, 11, 13);
	write_all(f);
	const char *page = text_get(&f->html),
		   *policy = strstr(page,
			   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; script-src "
			   "'sha256-");
	const char *script = strstr(page, "<script>"), *end = script != NULL ? strstr(script, "</script>") : NULL;
	assert_true(policy != NULL && end != NULL && policy < strstr(page, "<style") && strstr(end + 1, "<script>") == NULL);
	says(&f->html, html_policy(&f->store.arena, script + 8, (size_t)(end - script - 8)));
	// Of the empty text SHA-256 is known: e3b0c442..., in base64 47DEQpj8...
	assert_non_null(strstr(html_policy(&f->store.arena, "", 0), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"));
	never_says(&f->html, " onclick=");
	never_says(&f->html, "javascript:");
}

// Sections stand in groups; a group without any is left out.
static void test_contents(void **state)
{
	struct fixture *f = *state;

	add_timed(f, "m", "cpu", 12, 11, 13);
	write_all(f);
	says(&f->html, "<summary>Times</summary><div><a href=\"#latency\">Latency</a><a href=\"#performance_by_platform\">");
	says(&f->html, "<summary>Best hardware</summary><div><a href=\"#best_latency\">");
	never_says(&f->html, "<summary>Precision and engines</summary>");
	const char *nav = strstr(text_get(&f->html), "<nav"), *end = strstr(nav, "</nav>");
	for (const char *link = strstr(nav, "href=\"#"); link != NULL && link < end; link = strstr(link + 1, "href=\"#")) {
		char *id = strndup(link + 7, strcspn(link + 7, "\""));
		says(&f->html, arena_printf(&f->store.arena, "id=\"%s\"", id));
		free(id);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_speed_up),
		TEST(test_odd_newest),
		TEST(test_cpu_has_devices),
		TEST(test_speed_up_paired),
		TEST(test_alternation_decides),
		TEST(test_what_keeps_lines_apart),
		TEST(test_lengths_nobody_asked_for),
		TEST(test_files_keep_lines_apart),
		TEST(test_wrong_files_stay_wrong),
		TEST(test_not_judged),
		TEST(test_one_line_a_question),
		TEST(test_one_line_in_every_arithmetic),
		TEST(test_accuracy),
		TEST(test_sets_of_examples),
		TEST(test_as_shipped),
		TEST(test_beside),
		TEST(test_answers),
		TEST(test_energy),
		TEST(test_precision),
		TEST(test_times),
		TEST(test_load),
		TEST(test_sweeps),
		TEST(test_no_sweep_of_examples),
		TEST(test_one_name_in_two_folders),
		TEST(test_unknown_batches),
		TEST(test_memory_scenarios_and_text),
		TEST(test_not_valid),
		TEST(test_prices),
		cmocka_unit_test(test_yaml),
		TEST(test_junit),
		TEST(test_compatibility),
		TEST(test_first_screen),
		TEST(test_variants),
		TEST(test_variants_of_processes),
		TEST(test_chart_of_hardware),
		TEST(test_files_that_assay_makes),
		TEST(test_policy),
		TEST(test_contents),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
