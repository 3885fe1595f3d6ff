// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// Reports from made-up rows: what they conclude, how they escape, what they refuse to say. Their tables are in
// test_report_tables.c.
#include "report_fixture.h"

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
	add_timed(f, "near", "cpu", 100, 49, 120); // its fastest run is not slower than the other's median
	add_timed(f, "near", "openvino", 50, 45, 70);
	add_timed(f, "alone", "cpu", 100, 95, 120);
	add_unstable(f, "unsteady", "cpu", 100, 95, 120); // its median may be another tomorrow
	add_timed(f, "unsteady", "openvino", 50, 45, 70);
	write_all(f);
	assert_true(is_true(cell(f, 0, "openvino"), "fastest"));
	assert_false(is_true(cell(f, 0, "cpu"), "fastest"));
	assert_true(fabs(json_number_value(json_object_get(cell(f, 0, "openvino"), "times_cpu")) - 2) < 1e-9);
	assert_false(is_true(cell(f, 1, "openvino"), "fastest"));
	assert_true(is_true(cell(f, 1, "openvino"), "near_fastest") && is_true(cell(f, 1, "cpu"), "near_fastest"));
	assert_false(is_true(cell(f, 2, "cpu"), "fastest")); // nothing to compare with
	assert_false(is_true(cell(f, 3, "openvino"), "fastest"));
	// 50 and 100 ms are not near.
	assert_false(is_true(cell(f, 3, "openvino"), "near_fastest") || is_true(cell(f, 3, "cpu"), "near_fastest"));
	assert_true(is_true(cell(f, 3, "openvino"), "unstable_no_claim") && is_true(cell(f, 3, "cpu"), "unstable_no_claim"));
	says(&f->md, ", 100 ms (no claim, unstable)");
	says(&f->md, ", 50.0 ms (lowest median, others overlap)"); // "near"
	says(&f->md, ", 100 ms (overlaps the lowest)");
	says(&f->md, "openvino (no claim against cpu: one of the two is unstable)");
	never_says(&f->md, "cpu takes less");
	says(&f->html, "<span class=\"strong\">openvino</span><span>1 of 3 models</span>");
	says(&f->html, "2.00× the speed of cpu over 3 models (geometric mean)");
	says(&f->html, "<span>too near or too unstable to tell</span><span>2 of 3 models</span>");
	says(&f->html, "Fewer than 6 processes a side: no claim.");
	says(&f->html, "<td class=\"v-right top\" data-label=\"openvino\">");
	says(&f->html, "</span> <span class=\"t\">50.0 ms</span>");
	says(&f->html, "\"text\":\"100 ms, unstable\"");
	says(&f->html, "Medians; bold: best, where it can be told; <sup>~</sup> unstable.");
	says(&f->md, "cpu (the only one that was timed)");
}

// What was refused for its length has none of its own: it is no later answer to the usual one.
static void test_another_length(void **state)
{
	struct fixture *f = *state;
	struct cell long_one = test_cell("m", "cpu");
	struct cell_result refused = { .verdict = VERDICT_UNSUPPORTED };

	add_timed(f, "m", "cpu", 100, 95, 120);
	row_init(&refused.row);
	refused.row.model = "m";
	refused.row.requested = "cpu";
	refused.row.weights = "synthetic";
	refused.row.batch = 1;
	refused.row.cause = "too long";
	long_one.sequence = 100000;
	add_asked(f, long_one, refused);
	write_all(f);
	says(&f->md, "| m (batch 1, 128 tokens, f32; synthetic weights) | ✓ right");
	says(&f->md, "100000 tokens");
}

// A wrong or a fallen-back cell is never the fastest, and never counts as running.
static void test_only_good_cells_count(void **state)
{
	struct fixture *f = *state;
	struct cell_result wrong = test_result(0, "m", "openvino", VERDICT_WRONG),
			   elsewhere = test_result(0, "m", "cuda", VERDICT_RIGHT);

	wrong.row.latency_ms = 1;
	wrong.row.cause = "logits differ";
	elsewhere.row.latency_ms = 2;
	elsewhere.row.actual = "cpu";
	add_timed(f, "m", "cpu", 100, 95, 120);
	add(f, "m", "openvino", wrong);
	add(f, "m", "cuda", elsewhere);
	elsewhere.verdict = VERDICT_FELL_BACK;
	elsewhere.row.verdict = "fell_back";
	elsewhere.row.requested = "rocm";
	elsewhere.row.cause = "rocm took none of the graph";
	add(f, "m", "rocm", elsewhere);
	write_all(f);
	assert_false(is_true(cell(f, 0, "openvino"), "fastest") || is_true(cell(f, 0, "openvino"), "good"));
	assert_false(is_true(cell(f, 0, "cuda"), "fastest") || is_true(cell(f, 0, "cuda"), "good"));
	assert_false(is_true(cell(f, 0, "rocm"), "fastest") || is_true(cell(f, 0, "rocm"), "good"));
	says(&f->html, "The model runs here (synthetic weights), 2 cells ran elsewhere than asked, and 1 cell is wrong");
	says(&f->html, "rocm took none of the graph");
	says(&f->html, "cuda was asked for and cpu ran");
	says(&f->html, "cpu (synthetic weights), the only one that ran");
	json_t *failures = json_object_get(f->root, "failures");
	assert_int_equal(json_array_size(failures), 3);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(failures, 0), "verdict")), "wrong"); // the worst first
}

// A row that nobody judged, another tool's, the null engine's and one that ran elsewhere are listed and never good, in no form of
// the report.
static void test_what_does_not_count(void **state)
{
	struct fixture *f = *state;
	struct cell_result unjudged = test_result(0, "u", "openvino", VERDICT_UNJUDGED),
			   foreign = test_result(0, "f", "cpu", VERDICT_RIGHT);
	struct cell_result stands_in = test_result(0, "s", "cuda", VERDICT_RIGHT),
			   null = test_result(0, "n", "null", VERDICT_RIGHT);
	static const char *const ids[] = { "best_latency", "best_throughput", "best_memory", "performance_by_platform",
		"slowest_load", "predictions", "as_shipped", "accuracy", "energy", "together", "switches", "answers",
		"answer_parts" };
	struct text junit = { 0 }, matrix = { 0 };

	unjudged.row.reference = NULL;
	foreign.row.source = "llama-bench 5163";
	stands_in.row.engine = null.row.engine = "null";
	add(f, "f", "cpu", foreign);
	add(f, "s", "cuda", stands_in);
	write_all(f);
	assert_string_equal(
		json_string_value(json_object_get(f->root, "headline")), "Nothing here was computed and measured by assay");
	add(f, "u", "openvino", unjudged);
	report_again(f);
	assert_string_equal(json_string_value(json_object_get(f->root, "headline")), "The model ran here, unjudged");
	says(&f->html,
		"Not found right either: 1 unjudged (nothing was there to compare the outputs with), 1 imported from another "
		"tool.");
	for (size_t i = 0; i < 3; i++)
		for (const char *const *p = (const char *const[]){ "cpu", "cuda", "openvino", NULL }; *p != NULL; p++) {
			const json_t *line = json_array_get(json_object_get(json_object_get(f->root, "matrix"), "lines"), i);
			const json_t *c = json_object_get(json_object_get(line, "cells"), *p);
			assert_false(c != NULL && (is_true(c, "good") || is_true(c, "fastest") || is_true(c, "near_fastest")));
		}
	const json_t *counts = json_object_get(f->root, "counts");
	assert_int_equal(json_integer_value(json_object_get(counts, "good")), 0);
	assert_int_equal(json_integer_value(json_object_get(counts, "stood_in")), 1);
	assert_int_equal(json_integer_value(json_object_get(counts, "imported")), 1);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(counts, "verdicts"), "unjudged")), 1);
	assert_int_equal(json_integer_value(json_object_get(f->root, "models_that_run")), 0);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		assert_int_equal(json_array_size(json_object_get(f->root, ids[i])), 0);
	never_says(&f->html, "lowest median</span>");
	says(&f->md, "○ unjudged");
	says(&f->md, "○ imported");
	says(&f->md, "↪ stood in");
	written(f, REPORT_JUNIT, NULL, &junit);
	says(&junit, "tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"3\"");
	says(&junit, "<skipped message=\"unjudged: ");
	says(&junit, "<skipped message=\"imported: ");
	written(f, REPORT_MATRIX, NULL, &matrix);
	never_says(&matrix, "\"compatible\": true");
	text_done(&junit);
	text_done(&matrix);
	add(f, "n", "null", null); // by its own name: right, and yet no model runs
	report_again(f);
	assert_true(is_true(cell(f, 3, "null"), "good"));
	assert_int_equal(json_integer_value(json_object_get(f->root, "models_that_run")), 0);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		assert_int_equal(json_array_size(json_object_get(f->root, ids[i])), 0);
	assert_false(is_true(cell(f, 3, "null"), "fastest") || is_true(cell(f, 3, "null"), "near_fastest"));
	junit = matrix = (struct text){ 0 };
	written(f, REPORT_JUNIT, NULL, &junit);
	says(&junit, "tests=\"4\" failures=\"0\" errors=\"0\" skipped=\"4\"");
	says(&junit, "<skipped message=\"right: nothing was computed: the null engine");
	written(f, REPORT_MATRIX, NULL, &matrix);
	never_says(&matrix, "\"compatible\": true");
	text_done(&junit);
	text_done(&matrix);
}

// Every piece of `text` with `figure` has all of `words`; a piece begins at each of `opens`.
static void stands_beside(const char *text, const char *const *opens, const char *figure, const char *const *words)
{
	char *copy = strdup(text), *rest = NULL;
	size_t found = 0;

	for (char *p = copy; *p != '\0'; p++)
		for (const char *const *o = opens; *o != NULL; o++)
			if (*p == **o && strncmp(p, *o, strlen(*o)) == 0)
				*p = '\x01';
	for (char *piece = strtok_r(copy, "\x01", &rest); piece != NULL; piece = strtok_r(NULL, "\x01", &rest)) {
		if (strstr(piece, figure) == NULL)
			continue;
		found++;
		for (const char *const *w = words; *w != NULL; w++)
			if (strstr(piece, *w) == NULL)
				fail_msg("%s stands without '%s': %.600s", figure, *w, piece);
	}
	free(copy);
	if (found == 0)
		fail_msg("%s is nowhere", figure);
}

// Each of these rows has a latency of its own, which never stands without what qualifies the row: in a line of Markdown, in a
// row, chart or paragraph of HTML, in a test case of JUnit.
static void test_qualifiers_stand_beside(void **state)
{
	static const struct {
		const char *model, *platform, *figure;
		double ms;
		const char *words[5];
	} rows[] = {
		{ "short", "cpu", "71.3 ms", 71.3, { "2 layers", "synthetic weights" } },
		{ "short", "openvino", "92.4 ms", 92.4, { "2 layers", "synthetic weights" } },
		{ "made-up", "cpu", "73.9 ms", 73.9, { "synthetic weights" } },
		{ "soft", "qnn", "65.2 ms", 65.2, { "synthetic weights", "emulated" } },
		{ "small", "cpu", "75.7 ms", 75.7, { "synthetic weights", "int4-weights" } },
		{ "half", "openvino", "76.8 ms", 76.8, { "synthetic weights", "computed in f16" } },
		{ "other", "cpu", "77.9 ms", 77.9, { "measured by llama-bench", "not by assay" } },
		{ "none", "cuda", "78.1 ms", 78.1, { "synthetic weights", "nothing computed" } },
	};
	struct fixture *f = *state;
	struct text junit = { 0 };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct cell_result r = test_result(0, rows[i].model, rows[i].platform, VERDICT_RIGHT);
		r.row.latency_ms = rows[i].ms;
		r.row.layers = i < 2 ? 2 : ROW_NONE;
		r.row.shortened = i < 2;
		r.row.emulated = i == 3;
		r.row.precision = i == 4 ? "int4-weights" : NULL;
		r.row.compute_dtype = i == 5 ? "f16" : "f32";
		r.row.source = i == 6 ? "llama-bench" : NULL;
		r.row.engine = i == 7 ? "null" : "ort";
		add(f, rows[i].model, rows[i].platform, r);
	}
	write_all(f);
	written(f, REPORT_JUNIT, NULL, &junit);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		stands_beside(text_get(&f->md), (const char *const[]){ "\n", NULL }, rows[i].figure, rows[i].words);
		stands_beside(text_get(&junit), (const char *const[]){ "<testcase", NULL }, rows[i].figure, rows[i].words);
		stands_beside(text_get(&f->html),
			(const char *const[]){ "<tr", "<details", "<li", "<p ", "<section", "{\"name\":", NULL }, rows[i].figure,
			rows[i].words);
	}
	// Headline: what ran whole, and what only in part.
	const char *headline = json_string_value(json_object_get(f->root, "headline"));
	assert_non_null(strstr(headline, "4 of 5 models run here ("));
	assert_non_null(strstr(headline, "1 only in part (2 layers, synthetic weights)"));
	text_done(&junit);
}

static void headline_is(struct fixture *f, const char *words)
{
	report_again(f);
	assert_string_equal(json_string_value(json_object_get(f->root, "headline")), words);
}

// An emulated cell failed and the real processor answered in its place: what qualifies the answer stands in the headline, what
// qualifies the failure does not.
static void test_headline_of_a_fallback(void **state)
{
	struct fixture *f = *state;
	struct cell_result soft = test_result(0, "m", "qnn", VERDICT_FAILED), answer = test_result(0, "m", "qnn", VERDICT_RIGHT);
	struct cell c = test_cell("m", "qnn");

	soft.row.emulated = 1;
	soft.row.cause = "the engine refused it";
	add(f, "m", "qnn", soft);
	headline_is(f, "The model does not run here");
	c.synthetic = true;
	c.attempt = 2;
	c.fallback_of = 1;
	answer.row.tried = answer.row.actual = "openvino";
	answer.row.fallback_of = 1;
	answer.row.attempt = 2;
	if (store_started(&f->store, &c, "k", &answer.row.row, &f->err) || store_finished(&f->store, &answer, &f->err))
		fail_msg("%s", f->err.text);
	headline_is(f, "The model runs here (synthetic weights)");
	const json_t *runs = json_object_get(json_object_get(f->root, "model_standings"), "run");
	assert_string_equal(text_in(runs, "qualifiers"), "synthetic weights");
}

// Imported rows are no cells: they make no platform of their own, and the report is of the machine where assay measured.
static void test_imported_rows(void **state)
{
	struct fixture *f = *state;
	struct machine other = { .id = "of a file: X CPU", .cpu_model = "X CPU" };
	struct cell_result r = test_result(0, "f", "cpu", VERDICT_UNJUDGED);
	struct cell_result ours = test_result(0, "m", "cpu", VERDICT_RIGHT);
	struct cell c = test_cell("m", "cpu");

	c.synthetic = true;
	c.device = "CPU";
	if (store_started(&f->store, &c, "k", &ours.row.row, &f->err) || store_finished(&f->store, &ours, &f->err) ||
		store_end_run(&f->store, &f->err) || store_begin_run(&f->store, &other, "import llama.json", &f->err))
		fail_msg("%s", f->err.text);
	r.row.source = "llama-bench 5163";
	add(f, "f", "cpu", r);
	write_all(f);
	says(&f->md, "On Test CPU, 2 of 4 threads usable");
	says(&f->md, "\ncpu: 1 of 1 cells good.\n");
	says(&f->md, "- Of imported rows, not measured by assay: X CPU.\n");
	never_says(&f->md, "cpu:CPU");
	never_says(&f->md, "The rows come from");
	says(&f->html, "<p class=\"lede\">Test CPU, 2 of 4 threads usable");
	never_says(&f->html, "more machine");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(f->root, "counts"), "cells")), 1);
	const json_t *machines = json_object_get(f->root, "machines");
	assert_false(is_true(json_array_get(machines, 0), "imported"));
	assert_true(is_true(json_array_get(machines, 1), "imported"));
}

// What ran on software is called so wherever good cells are counted.
static void test_emulated_cells_are_called_so(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = test_result(0, "m", "qnn", VERDICT_RIGHT);

	r.row.emulated = 1;
	add(f, "m", "qnn", r);
	add_timed(f, "m", "cpu", 12, 11, 13);
	write_all(f);
	says(&f->md, "\ncpu: 1 of 1 cells good; qnn: 1 of 1 cells good (emulated).\n");
	says(&f->html, "1 of 2 cells ran on no hardware (emulated, or nothing computed); qnn: 1 of 1 cells good, emulated.");
}

// Lossy outputs ran: no row says that they did not.
static void test_lossy_ran(void **state)
{
	struct fixture *f = *state;
	struct cell_result r = test_result(0, "m", "cpu", VERDICT_LOSSY);

	r.row.cause = "cosine 0.8 where 0.99 was asked";
	add(f, "m", "cpu", r);
	write_all(f);
	says(&f->md, "## What does not run or is not right, and why\n");
	says(&f->md, "| cpu | ran, with a loss beyond what was allowed | cosine 0.8 where 0.99 was asked |");
	says(&f->html, ">ran, with a loss beyond what was allowed</span>");
	never_says(&f->md, "What does not run, and why");
	never_says(&f->html, "What does not run, and why");
	never_says(&f->html, "What does not, and why");
}

// Where nothing failed, what nobody judged, ran or measured here is named.
static void test_nothing_failed(void **state)
{
	struct fixture *f = *state;

	add_timed(f, "m", "cpu", 100, 95, 120);
	write_all(f);
	says(&f->html, "Everything that was asked for and has finished ran, and was found right.");
	says(&f->md, "Everything that was asked for and has finished ran, and was found right.");
	add(f, "m", "openvino", test_result(0, "m", "openvino", VERDICT_UNJUDGED));
	add_failed(f, "m", "cuda", VERDICT_COMPILES, NULL);
	report_again(f);
	assert_int_equal(json_array_size(json_object_get(f->root, "failures")), 0);
	const char *words = "Nothing failed and nothing was found wrong, but not everything was found right: 1 right, "
			    "1 unjudged (nothing was there to compare the outputs with), 1 compiled and not run.";
	says(&f->html, words);
	says(&f->md, words);
	never_says(&f->html, "Everything that was asked for");
}

// Two layers of every model are not the models, and a model that was asked only of what is not here is no failure.
static void test_a_part_is_no_model(void **state)
{
	struct fixture *f = *state;

	for (const char *const *m = (const char *const[]){ "a", "b", NULL }; *m != NULL; m++) {
		struct cell_result r = test_result(0, *m, "cpu", VERDICT_RIGHT);
		r.row.layers = 2;
		r.row.shortened = 1;
		add(f, *m, "cpu", r);
	}
	add_failed(f, "c", "cuda", VERDICT_UNAVAILABLE, "no card: `assay setup cuda` brings <it>");
	write_all(f);
	assert_string_equal(json_string_value(json_object_get(f->root, "headline")),
		"None of the 2 models was run whole and found right here, 2 only in part (2 layers, synthetic weights); 1 was "
		"asked "
		"only of platforms that are not here");
	assert_int_equal(json_integer_value(json_object_get(f->root, "models_that_run")), 0);
	says(&f->html, "no card: <code>assay setup cuda</code> brings &lt;it&gt;");
	says(&f->html, "2 of 3 cells have fewer layers than the model: their times are not the model's.");
	never_says(&f->html, "their times hold");
}

static void test_agreement(void **state)
{
	struct fixture *f = *state;
	struct cell_result golden = test_result(0, "m", "cpu", VERDICT_RIGHT),
			   unjudged = test_result(0, "m", "cuda", VERDICT_UNJUDGED);

	golden.row.reference = "golden";
	golden.row.golden_file = "io.safetensors";
	unjudged.row.reference = NULL;
	add(f, "m", "cpu", golden);
	add(f, "m", "openvino", test_result(0, "m", "openvino", VERDICT_RIGHT));
	add(f, "m", "cuda", unjudged);
	write_all(f);
	assert_string_equal(
		json_string_value(json_object_get(cell(f, 0, "cpu"), "agreement")), "agrees with the golden file io.safetensors");
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
	assert_string_equal(json_string_value(json_object_get(json_array_get(failures, 0), "cause")),
		"the engine's process died"); // no cause told: the verdict's sentence
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

// A limit that was reached proves less than an answer within a larger one; within the same limit, or a larger one, the newest
// counts.
static void test_smaller_limits(void **state)
{
	static const struct {
		const char *model, *word;
		struct {
			enum verdict verdict;
			double timeout_s;
			int64_t memory_bytes;
		} rows[3];
		size_t count;
	} asked[] = {
		{ "a", "right", { { VERDICT_RIGHT, 600 }, { VERDICT_TIMEOUT, 5 } }, 2 },
		{ "b", "timeout", { { VERDICT_RIGHT, 600 }, { VERDICT_TIMEOUT, 600 } }, 2 },
		{ "c", "timeout", { { VERDICT_RIGHT, 60 }, { VERDICT_TIMEOUT, 600 } }, 2 },
		{ "d", "wrong", { { VERDICT_WRONG, 600 }, { VERDICT_TIMEOUT, 5 }, { VERDICT_TIMEOUT, 9 } }, 3 },
		{ "e", "right", { { VERDICT_TIMEOUT, 600 }, { VERDICT_RIGHT, 5 } }, 2 },
		{ "f", "crashed", { { VERDICT_RIGHT, 600 }, { VERDICT_TIMEOUT, 5 }, { VERDICT_CRASHED, 5 } }, 3 },
		{ "g", "timeout", { { VERDICT_UNAVAILABLE, 600 }, { VERDICT_TIMEOUT, 5 } }, 2 },
		{ "h", "right", { { VERDICT_RIGHT, 600 }, { VERDICT_NO_MEMORY, 600, 1 << 20 } }, 2 },
		{ "i", "no_memory", { { VERDICT_RIGHT, 600 }, { VERDICT_NO_MEMORY, 600 } }, 2 },
		{ "j", "no_memory", { { VERDICT_RIGHT, 600, 1 << 20 }, { VERDICT_NO_MEMORY, 600, 1 << 30 } }, 2 },
	};
	enum { ASKED = sizeof asked / sizeof asked[0] };
	struct fixture *f = *state;

	for (size_t i = 0; i < ASKED; i++) {
		for (size_t k = 0; k < asked[i].count; k++) {
			struct cell c = test_cell(asked[i].model, "cpu");
			struct cell_result r = test_result(0, asked[i].model, "cpu", asked[i].rows[k].verdict);

			c.timeout_s = asked[i].rows[k].timeout_s;
			c.memory_bytes = asked[i].rows[k].memory_bytes;
			add_asked(f, c, r);
		}
	}
	write_all(f);
	assert_int_equal(line_count(f), ASKED);
	const json_t *lines = json_object_get(json_object_get(f->root, "matrix"), "lines");
	for (size_t i = 0; i < ASKED; i++) {
		json_t *c = cell(f, i, "cpu");

		assert_string_equal(json_string_value(json_object_get(json_array_get(lines, i), "model")), asked[i].model);
		assert_string_equal(json_string_value(json_object_get(c, "verdict")), asked[i].word);
	}
	// What proves less stands beside the answer, by the newest row that says so.
	assert_string_equal(text_in(cell(f, 0, "cpu"), "asked_again_later"), "timed out within 5 s (row 2)");
	assert_string_equal(text_in(cell(f, 1, "cpu"), "asked_again_later"), "(none)");
	assert_string_equal(text_in(cell(f, 7, "cpu"), "asked_again_later"), "not enough memory within 1.00 MiB (row 18)");
	says(&f->md, ", asked again later: not enough memory within 1.00 MiB (row 18)");
	says(&f->html, "<span class=\"q\">later: timed out within 5 s (row 2)</span>");
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
	says(&f->md, "2 layers");
	says(&f->md, ", emulated");
	says(&f->md, "emulated device");
	says(&f->md, "unstable");
	says(&f->md, "some nodes ran elsewhere");
	says(&f->md, "7 of 10 nodes on the platform, 2 more fused away");
	says(&f->html, "<span class=\"tag warn\">emulated</span>");
	says(&f->html, "assay run m --on qnn --seq 128 --synthetic --layers 2");
}

// Options, fixed shapes and a device that was named are a part of the question: of what is shown, of what stands together, of the
// command.
static void test_what_was_asked(void **state)
{
	struct fixture *f = *state;
	struct cell c = test_cell("m", "cpu"), chip = test_cell("m", "qnn"), usual = test_cell("m", "openvino");

	c.options = "prepacking=off";
	add_asked(f, c, test_result(0, "m", "cpu", VERDICT_RIGHT));
	c.options = "";
	c.is_static = true;
	add_asked(f, c, test_result(0, "m", "cpu", VERDICT_RIGHT));
	c.is_static = false;
	c.is_dynamic = true;
	add_asked(f, c, test_result(0, "m", "cpu", VERDICT_RIGHT));
	chip.device = "30";
	add_asked(f, chip, test_result(0, "m", "qnn", VERDICT_FAILED));
	usual.device = platform_find("openvino")->routes[0].device;
	add_asked(f, usual, test_result(0, "m", "openvino", VERDICT_RIGHT));
	write_all(f);
	assert_int_equal(line_count(f), 4);
	says(&f->md, "128 tokens, f32, prepacking=off");
	says(&f->md, "128 tokens, f32, fixed shapes");
	says(&f->md, "128 tokens, f32, open shapes");
	says(&f->html, "--options prepacking=off --seq 128");
	says(&f->html, "--synthetic --static");
	says(&f->html, "--synthetic --dynamic");
	says(&f->html, "assay run m --on qnn:30 ");
	says(&f->md, "| qnn:30 |");
	assert_true(json_is_null(json_object_get(cell(f, 3, "openvino"), "times_cpu"))); // nobody asked cpu just that
	assert_string_equal(text_in(cell(f, 3, "qnn:30"), "platform"), "qnn:30");
}

static void add_comparison(struct fixture *f, const char *preset, const char *model, double ratio, double low, double high,
	const char *verdict, const char *cause)
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

// Of each question the latest answer that has a figure; claims stand beside what was measured; what qualifies a side stands in
// its notes.
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
	says(&f->md, "2 layers, synthetic weights, emulated");
	says(&f->html, "2 layers, synthetic weights, emulated");
	says(&f->md, "2 layers");
	says(&f->html, "n too small: 2 of 6 pairs");
	says(&f->html, "the API does not allow it");
	never_says(&f->html, "2.000 (");
	never_says(&f->html, "<script>alert");
	never_says(&f->html, "nan");
	never_says(&f->md, "nan");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_what_was_asked),
		TEST(test_nothing_yet),
		TEST(test_hostile_names),
		TEST(test_self_contained),
		TEST(test_fastest),
		TEST(test_another_length),
		TEST(test_only_good_cells_count),
		TEST(test_what_does_not_count),
		TEST(test_qualifiers_stand_beside),
		TEST(test_a_part_is_no_model),
		TEST(test_nothing_failed),
		TEST(test_headline_of_a_fallback),
		TEST(test_imported_rows),
		TEST(test_emulated_cells_are_called_so),
		TEST(test_lossy_ran),
		TEST(test_agreement),
		TEST(test_percentiles),
		TEST(test_failures_are_grouped),
		TEST(test_latest_answer),
		TEST(test_smaller_limits),
		TEST(test_what_to_know),
		TEST(test_comparisons),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
