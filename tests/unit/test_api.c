// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// The way from a question to a row: what plan.h decides before anything runs, and the public functions on top of it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "plan/plan.h"
#include "assay.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "conform/conform.h"

static const char case_folder[] = TEST_SOURCE "/tests/conform/cases/bert";

static void targets_from_words(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct target *t;
	size_t n;
	const char *const words[] = { "cpu", "openvino:GPU.1", "precision=f16", "null", "fail=run@3", "openvino:HETERO:GPU",
		"CPU" };

	assert_int_equal(plan_targets(&t, &n, &a, words, 7, NULL, &err), STATUS_OK);
	assert_int_equal(n, 4);
	assert_string_equal(t[0].platform->name, "cpu");
	assert_string_equal(t[1].platform->name, "openvino");
	assert_string_equal(t[1].device, "GPU.1");
	assert_non_null(strstr(t[1].options, "precision=f16"));
	assert_non_null(strstr(t[2].options, "fail=run@3"));
	assert_string_equal(t[3].device, "HETERO:GPU,CPU");
	// The user's options come last, so they win; none asked for means cpu.
	assert_int_equal(plan_targets(&t, &n, &a, words + 3, 2, "wrong=1", &err), STATUS_OK);
	assert_int_equal(n, 1);
	assert_non_null(strstr(t[0].options, "fail=run@3,wrong=1"));
	assert_int_equal(plan_targets(&t, &n, &a, NULL, 0, NULL, &err), STATUS_OK);
	assert_int_equal(n, 1);
	assert_string_equal(t[0].platform->name, "cpu");
	const char *const unknown[] = { "cpu", "cpuu" };
	assert_int_equal(plan_targets(&t, &n, &a, unknown, 2, NULL, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "cpuu"));
	arena_done(&a);
}

static void targets_of_parts(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct target t;
	const char *const two[] = { "cpu", "unet=cpu" };

	assert_int_equal(plan_pipeline_target(
				 &t, &a, "openvino:HETERO:GPU,CPU,precision=f16,unet=cpu:threads=2,spinning=on,vae=webgpu", &err),
		STATUS_OK);
	assert_string_equal(t.platform->name, "openvino");
	assert_string_equal(t.device, "HETERO:GPU,CPU");
	assert_non_null(strstr(t.options, "precision=f16"));
	assert_int_equal(t.part_count, 2);
	assert_string_equal(t.parts[0].name, "unet");
	assert_string_equal(t.parts[0].target->platform->name, "cpu");
	assert_non_null(strstr(t.parts[0].target->options, "threads=2,spinning=on"));
	assert_string_equal(t.parts[1].name, "vae");
	assert_string_equal(t.parts[1].target->platform->name, "webgpu");
	// An option stands for itself where the platform before it has it; a part alone is beside cpu.
	assert_int_equal(plan_pipeline_target(&t, &a, "unet=cpu:threads=2,spinning=on", &err), STATUS_OK);
	assert_string_equal(t.platform->name, "cpu");
	assert_int_equal(t.part_count, 1);
	assert_int_equal(plan_pipeline_target(&t, &a, NULL, &err), STATUS_OK);
	assert_string_equal(t.platform->name, "cpu");
	assert_int_equal(t.part_count, 0);
	assert_int_equal(plan_pipeline_target(&t, &a, "cpu,unet=cpu,openvino", &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "one platform"));
	// A single cell has no parts.
	struct target *list;
	size_t n;
	assert_int_equal(plan_targets(&list, &n, &a, two, 2, NULL, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "unet=cpu: only a whole pipeline has parts"));
	arena_done(&a);
}

static void models_and_refusals(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct question q = { 0 };
	struct plan_model m;

	// A configuration without weights: bad use, and the sentence offers --synthetic with the size (438 MB = 417.8 MiB).
	assert_int_equal(plan_model(&m, &a, "bert-base-uncased", &q, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "--synthetic"));
	assert_non_null(strstr(err.text, "417."));
	q.synthetic = true;
	assert_int_equal(plan_model(&m, &a, "bert-base-uncased", &q, &err), STATUS_OK);
	assert_true(m.synthetic && m.makes_weights && !m.path && !m.refused);
	assert_string_equal(m.model_type, "bert");
	assert_string_equal(m.architecture, "encoder-only");
	uint64_t whole = m.synthetic_bytes;
	q.layers = 1;
	assert_int_equal(plan_model(&m, &a, "bert-base-uncased", &q, &err), STATUS_OK);
	assert_true(m.synthetic_bytes > 0 && m.synthetic_bytes < whole);
	q.layers = 13;
	assert_int_equal(plan_model(&m, &a, "bert-base-uncased", &q, &err), STATUS_BAD_INPUT);
	// Unsupported is an answer, with and without --synthetic.
	q = (struct question){ 0 };
	const char *folder = path("no-such-type");
	static const char config[] = "{\"model_type\": \"no-such-type\", \"architectures\": [\"NoSuchModel\"]}";
	put("no-such-type/config.json", config);
	assert_int_equal(plan_model(&m, &a, folder, &q, &err), STATUS_OK);
	assert_int_equal(m.refused, STATUS_UNSUPPORTED);
	assert_non_null(strstr(m.cause, "no-such-type"));
	assert_string_equal(m.model_type, "no-such-type");
	arena_done(&a);
}

static void keys(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct question q = { .synthetic = true };
	struct plan_model m, same;
	struct target *t;
	struct cell c;
	size_t n;
	const char *const words[] = { "cpu", "openvino" };

	assert_int_equal(plan_targets(&t, &n, &a, words, 2, NULL, &err), STATUS_OK);
	assert_int_equal(plan_model(&m, &a, "bert-base-uncased", &q, &err), STATUS_OK);
	assert_int_equal(plan_model(&same, &a, "google-bert/bert-base-uncased", &q, &err), STATUS_OK);
	plan_cell(&c, &m, &t[0], &q);
	const char *key = plan_key(&m, &c, &a);
	assert_int_equal(strlen(key), 64);
	assert_string_equal(key, plan_key(&m, &c, &a));
	// Where the weights lie, or that they do, is not part of the question.
	m.path = "/somewhere";
	plan_cell(&c, &m, &t[0], &q);
	assert_string_equal(key, plan_key(&m, &c, &a));
	plan_cell(&c, &same, &t[0], &q);
	assert_string_equal(key, plan_key(&same, &c, &a));
	// Each part of the question is.
	plan_cell(&c, &m, &t[1], &q);
	assert_string_not_equal(key, plan_key(&m, &c, &a));
	const struct question others[] = {
		{ .synthetic = true, .batch = 2 },
		{ .synthetic = true, .sequence = 64 },
		{ .synthetic = true, .runs = 5 },
		{ .synthetic = true, .layers = 2 },
		{ .synthetic = true, .seed = 1 },
		{ .synthetic = true, .is_static = true },
		{ .synthetic = true, .memory_bytes = 1 << 30 },
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		assert_int_equal(plan_model(&m, &a, "bert-base-uncased", &others[i], &err), STATUS_OK);
		plan_cell(&c, &m, &t[0], &others[i]);
		assert_string_not_equal(key, plan_key(&m, &c, &a));
	}
	arena_done(&a);
}

// A model whose files can no longer be read is not what it was, and no row answers for it.
static void keys_of_the_unknown(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct question q = { 0 };
	struct plan_model m = { .model = "m",
		.path = "/proc/self/mem",
		.hub.path = "/proc/self/mem",
		.identity = "before",
		.fingerprint = "before" };
	struct target *t;
	struct cell c;
	size_t n;
	const char *const cpu = "cpu", *key[3];

	assert_int_equal(plan_targets(&t, &n, &a, &cpu, 1, NULL, &err), STATUS_OK);
	for (int i = 0; i < 3; i++) {
		if (i)
			assert_int_not_equal(plan_identify(&m, &a, NULL, NULL, &err), STATUS_OK);
		plan_cell(&c, &m, t, &q);
		key[i] = plan_key(&m, &c, &a);
	}
	for (int i = 0; i < 3; i++)
		assert_string_not_equal(key[i], key[(i + 1) % 3]);
	arena_done(&a);
}

// ---- one cell ----------------------------------------------------------------------------------------------------------

static struct assay_row *asked(const char *model, const char *platform, const char *const *options)
{
	struct assay_error error;
	struct assay_row *row = NULL;

	if (assay_run(model, platform, options, &row, &error) != ASSAY_OK)
		fail_msg("%s", error.text);
	return row;
}

static void expect(const char *model, const char *platform, const char *option, enum assay_verdict verdict, int exit_code)
{
	const char *const options[] = { "runs=3", option, NULL };
	struct assay_row *row = asked(model, platform, options);

	assert_int_equal(row->verdict, verdict);
	assert_string_equal(row->verdict_word, verdict_word((enum verdict)verdict));
	assert_int_equal(row->exit_code, exit_code);
	assert_true(row->cause || verdict == ASSAY_VERDICT_RIGHT);
	assay_row_free(row);
}

static void expect_bad(const char *model, const char *platform, const char *option, const char *in_words)
{
	const char *const options[] = { option, NULL };
	struct assay_error error;
	struct assay_row *row;

	assert_int_equal(assay_run(model, platform, options, &row, &error), ASSAY_BAD_INPUT);
	if (!strstr(error.text, in_words))
		fail_msg("'%s' is not in: %s", in_words, error.text);
}

static void single_cells(void **state)
{
	const char *const options[] = { "runs=3", "threads=2", "effort=rapid", NULL };
	struct arena a = { 0 };
	const char *folder;
	struct assay_row *row;

	(void)state;
	assert_int_equal(conform_materialise(&folder, &a, case_folder, NULL), STATUS_OK);
	row = asked(folder, "null", options);
	assert_int_equal(row->verdict, ASSAY_VERDICT_RIGHT);
	assert_string_equal(row->requested, "null");
	assert_string_equal(row->actual, "null");
	assert_string_equal(row->model, folder);
	assert_true(row->exit_code == 0 && row->number == 0 && row->latency_ms > 0 && row->load_ms >= 0);
	assert_null(row->cause);
	assert_non_null(strstr(row->json, "\"samples_ms\""));
	assert_non_null(strstr(row->json, "\"effort\": \"rapid\""));
	assert_non_null(strstr(row->json, "\"threads\": 2"));
	assay_row_free(row);
	assay_row_free(NULL);

	expect(folder, "null", "options=wrong=1", ASSAY_VERDICT_WRONG, 3);
	expect(folder, "null", "options=leave=all", ASSAY_VERDICT_FELL_BACK, 2);
	expect(folder, "null:leave=all", "allow-fallback", ASSAY_VERDICT_RIGHT, 0);
	expect(folder, "null", "options=crash=open", ASSAY_VERDICT_CRASHED, 2);
	// A platform that is not here is a row; a model that is not there, an unknown platform or option and no model are errors.
	expect(folder, "cuda", NULL, ASSAY_VERDICT_UNAVAILABLE, 2);
	expect_bad(folder, "cpuu", NULL, "cpuu");
	expect_bad(folder, "null", "precision=int3", "int3");
	expect_bad(folder, "null", "effort=long", "long");
	expect_bad(folder, "null", "batch=0", "--batch wants a whole number from 1 to 65536, not '0'");
	expect_bad(folder, "null", "batch", "--batch wants a value");
	expect_bad(folder, "null", "synthetic=1", "--synthetic takes no value");
	expect_bad(folder, "null", "no-such-option=1", "no-such-option");
	expect_bad(folder, "null", "batch=1,2", "2 cells");
	expect_bad("no-such-model", "null", NULL, "no-such-model");
	expect_bad(NULL, "null", NULL, "no model");
	arena_done(&a);
}

// ---- a matrix ----------------------------------------------------------------------------------------------------------

struct events {
	int of[ASSAY_EVENT_SWEEP_ENDED + 1], by_verdict[ASSAY_VERDICT_INTERRUPTED + 1];
	volatile sig_atomic_t *stop; // set at the first progress that says `at`
	const char *at;
	json_t *rows;
};

static void on_event(void *context, const struct assay_event *e)
{
	struct events *x = context;

	x->of[e->kind]++;
	if (e->kind == ASSAY_EVENT_ROW) {
		x->by_verdict[e->row->verdict]++;
		assert_non_null(strstr(e->cell, " on "));
		json_t *row = NULL;
		assert_int_equal(json_bytes("row", e->row->json, strlen(e->row->json), &row, NULL), STATUS_OK);
		json_array_append_new(x->rows, row);
	}
	if (x->stop && e->kind == ASSAY_EVENT_PROGRESS && strstr(e->text, x->at))
		*x->stop = 1;
}

static struct events run_matrix(struct assay_matrix m)
{
	struct events seen = { .rows = json_array() };
	struct assay_error error;

	m.size = sizeof m;
	m.event = on_event;
	m.context = &seen;
	if (assay_matrix_run(&m, &error) != ASSAY_OK)
		fail_msg("%s", error.text);
	json_decref(seen.rows);
	return seen;
}

static void matrices(void **state)
{
	const char *folder, *db = path("matrix.duckdb"), *const platforms[] = { "null", "null:crash=open", "cuda", NULL };
	const char *const options[] = { "runs=3", "batch=1,2", "no-sweep-stop", "workers=2", NULL };
	struct arena a = { 0 };
	struct assay_error error;
	struct events seen;
	char *text;

	(void)state;
	assert_int_equal(conform_materialise(&folder, &a, case_folder, NULL), STATUS_OK);
	const char *const models[] = { folder, NULL };
	struct assay_matrix m = { .models = models, .platforms = platforms, .options = options, .db = db, .resume = 1 };
	seen = run_matrix(m);
	assert_int_equal(seen.of[ASSAY_EVENT_ROW], 6);
	assert_int_equal(seen.by_verdict[ASSAY_VERDICT_RIGHT], 2);
	assert_int_equal(seen.by_verdict[ASSAY_VERDICT_CRASHED], 2);
	assert_int_equal(seen.by_verdict[ASSAY_VERDICT_UNAVAILABLE], 2);
	assert_int_equal(seen.of[ASSAY_EVENT_FOUND], 0);
	// All of it stands there; one more value of an option is one more cell on each platform.
	seen = run_matrix(m);
	assert_true(seen.of[ASSAY_EVENT_ROW] == 0 && seen.of[ASSAY_EVENT_FOUND] == 6);
	const char *const more[] = { "runs=3", "batch=1,2,4", "no-sweep-stop", NULL };
	m.options = more;
	seen = run_matrix(m);
	assert_true(seen.of[ASSAY_EVENT_ROW] == 3 && seen.of[ASSAY_EVENT_FOUND] == 6);
	// What was stored is what is reported.
	assert_int_equal(assay_report(db, "json", &text, &error), ASSAY_OK);
	assert_non_null(strstr(text, "crashed"));
	assert_non_null(strstr(text, "unavailable"));
	assay_free(text);
	assert_int_equal(assay_report(db, "pdf", &text, &error), ASSAY_BAD_INPUT);
	assert_non_null(strstr(error.text, "pdf"));
	assert_int_not_equal(assay_report(path("none.duckdb"), "md", &text, &error), ASSAY_OK);
	assert_non_null(strstr(error.text, "none.duckdb"));
	// A struct of another version.
	m.size = 4 * sizeof m;
	assert_int_equal(assay_matrix_run(&m, &error), ASSAY_BAD_INPUT);
	assert_non_null(strstr(error.text, "size"));
	arena_done(&a);
}

// Set while a cell hangs: it is interrupted, the others do not begin, and --resume runs them all.
static void a_stop(void **state)
{
	const char *folder, *const options[] = { "runs=3", "batch=1,2", NULL }, *const hangs[] = { "null:hang=run", NULL };
	volatile sig_atomic_t stop = 0;
	struct events seen = { .stop = &stop, .at = "first", .rows = json_array() };
	struct arena a = { 0 };
	struct assay_error error;

	(void)state;
	assert_int_equal(conform_materialise(&folder, &a, case_folder, NULL), STATUS_OK);
	const char *const models[] = { folder, NULL };
	struct assay_matrix m = { .size = sizeof m,
		.models = models,
		.platforms = hangs,
		.options = options,
		.stop = &stop,
		.db = path("stop.duckdb"),
		.event = on_event,
		.context = &seen };
	assert_int_equal(assay_matrix_run(&m, &error), ASSAY_OK);
	assert_true(seen.of[ASSAY_EVENT_ROW] == 1 && seen.by_verdict[ASSAY_VERDICT_INTERRUPTED] == 1);
	json_decref(seen.rows);
	arena_done(&a);
}

// ---- both ways ---------------------------------------------------------------------------------------------------------

// Measured, or of one process: everything else is the same whoever asked.
static bool is_of_the_moment(const char *key)
{
	static const char *const ends[] = { "_ms", "_us", "_per_s", "_mib", "_at", "_low", "_high", "_cv", "_per_cycle",
		"_j_per_sample", "_j_per_token", "idle_w" };
	static const char *const names[] = { "row", "machine_state", "stability", "stability_why", "warmup_runs", "warmup_end",
		"scenario_result", "energy", "fallback_of", "fallback_factor", "fallback_against", "stderr_tail",
		"memory_sampling", "against_float32", "against_float32_why" };

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (text_ends(key, ends[i]))
			return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (text_is(key, names[i]))
			return true;
	return false;
}

// Printed numbers may have fewer digits.
static bool is_same(const json_t *x, const json_t *y)
{
	const char *key;
	json_t *part;
	size_t i;

	if (json_is_real(x) && json_is_real(y))
		return fabs(json_real_value(x) - json_real_value(y)) <= 1e-6 * fabs(json_real_value(x));
	if (json_typeof(x) != json_typeof(y) || json_object_size(x) != json_object_size(y) ||
		json_array_size(x) != json_array_size(y))
		return false;
	json_object_foreach((json_t *)(uintptr_t)x, key, part)
	{
		const json_t *other = json_object_get(y, key);

		if (!other || (!is_of_the_moment(key) && !is_same(part, other)))
			return false;
	}
	json_array_foreach(x, i, part)
	{
		if (!is_same(part, json_array_get(y, i)))
			return false;
	}
	return json_is_object(x) || json_is_array(x) || json_equal(x, y);
}

static void same_rows(const json_t *ours, const json_t *theirs)
{
	const char *key;
	json_t *x;
	size_t i, compared = 0;

	assert_int_equal(json_array_size(ours), json_array_size(theirs));
	for (i = 0; i < json_array_size(ours); i++) {
		const json_t *row = json_array_get(theirs, i);

		assert_int_equal(json_object_size(json_array_get(ours, i)), json_object_size(row));
		json_object_foreach(json_array_get(ours, i), key, x)
		{
			json_t *y = json_object_get(row, key);

			if (is_of_the_moment(key))
				continue;
			compared++;
			if (!y || !is_same(x, y))
				fail_msg("row %zu: %s is %s from the library and %s from the program", i, key,
					json_dumps(x, JSON_ENCODE_ANY), json_dumps(y, JSON_ENCODE_ANY));
		}
	}
	assert_true(compared >= 60 * json_array_size(ours));
}

static json_t *from_library(const char *const *models, const char *const *platforms, const char *const *options)
{
	struct events seen = { .rows = json_array() };
	const struct assay_matrix m = { .size = sizeof m,
		.models = models,
		.platforms = platforms,
		.options = options,
		.db = path("library.duckdb"),
		.event = on_event,
		.context = &seen };
	struct assay_error error;

	if (assay_matrix_run(&m, &error) != ASSAY_OK)
		fail_msg("%s", error.text);
	return seen.rows;
}

// The same words on a command line.
static json_t *from_program(struct arena *a, const char *const *models, const char *const *platforms, const char *const *options)
{
	const char *line =
		arena_printf(a, "%s matrix --json --output-dir '%s' --db '%s'", PROGRAM, path("program"), path("program.duckdb"));
	struct text out = { 0 };
	json_t *rows = NULL;
	char part[4096];

	for (; *models; models++)
		line = arena_printf(a, "%s --models '%s'", line, *models);
	for (; *platforms; platforms++)
		line = arena_printf(a, "%s --on '%s'", line, *platforms);
	for (; *options; options++)
		line = arena_printf(a, "%s '--%s'", line, *options);
	FILE *f = popen(arena_printf(a, "%s 2>/dev/null", line), "r");
	assert_non_null(f);
	for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
		text_add_bytes(&out, part, n);
	assert_true(WEXITSTATUS(pclose(f)) != 1); // the cells' verdicts, and no error of assay's own
	assert_int_equal(json_bytes("rows", text_get(&out), out.length, &rows, NULL), STATUS_OK);
	text_done(&out);
	return rows;
}

static void both_ways(void **state)
{
	static const char *const questions[][8] = {
		{ "runs=3", NULL },
		{ "runs=3", "batch=1,2", "seq=8", "threads=1,2", "no-sweep-stop", NULL },
		{ "runs=3", "precision=float32,int8-dynamic", "seed=7", "dynamic", NULL },
		{ "runs=3", "as-shipped", NULL },
		{ "runs=3", "data=" TEST_SOURCE "/tests/conform/cases/bert", NULL }, // its io.safetensors is an example
		{ "runs=3", "delay=0.1", "static", "no-fallback", "no-conform", "memory=8", "timeout=100", NULL },
		{ "scenario=multi-stream", "streams=2", "latency-bound=1000", "runs=6", "layers=1", "cycles=5", NULL },
	};
	const char *const platforms[] = { "null", "cpu", "cuda", NULL };
	struct arena a = { 0 };
	const char *folder, *config;

	(void)state;
	assert_int_equal(conform_materialise(&folder, &a, case_folder, NULL), STATUS_OK);
	put("refused/config.json", "{\"model_type\": \"no-such-type\", \"architectures\": [\"NoSuchModel\"]}");
	config = path("refused");
	const char *const models[] = { folder, config, NULL };
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
		json_t *ours = from_library(models, platforms, questions[i]),
		       *theirs = from_program(&a, models, platforms, questions[i]);

		same_rows(ours, theirs);
		json_decref(ours);
		json_decref(theirs);
	}
	arena_done(&a);
}

// Of a whole pipeline with parts: the words of --on, and the object that the program prints.
static void pipelines(void **state)
{
	(void)state;
	struct arena a = { 0 };
	static const char from[] = TEST_SOURCE "/tests/conform/pipeline/text-classification-roberta-pair";
	static const char *const files[] = { "tokenizer.json", "tokenizer_config.json" }, *const none[] = { NULL },
				 *const inputs[] = { "Hello, world", "And another", NULL },
				 *const options[] = { "top_k=null", NULL };
	struct assay_pipeline p = { .size = sizeof p,
		.model = arena_printf(&a, "%s/pipeline", scratch),
		.inputs = inputs,
		.options = options,
		.on = "null,model=cpu:threads=1" };
	struct assay_error error;
	struct checkpoint c;
	char *text, *data;
	json_t *json;

	assert_int_equal(checkpoint_open(&c, from, NULL), STATUS_OK);
	assert_int_equal(synth_write(p.model, &c, &(struct synth_options){ 0 }, NULL), STATUS_OK);
	checkpoint_close(&c);
	for (size_t i = 0, nbytes; i < 2; i++) {
		assert_int_equal(
			file_read(&a, arena_printf(&a, "%s/%s", from, files[i]), 1 << 22, &data, &nbytes, NULL), STATUS_OK);
		assert_int_equal(file_put(arena_printf(&a, "%s/%s", p.model, files[i]), data, nbytes, NULL), STATUS_OK);
	}
	assert_int_equal(assay_pipeline_json(&p, &text, &error), ASSAY_OK);
	assert_int_equal(json_bytes("pipeline", text, strlen(text), &json, NULL), STATUS_OK);
	assay_free(text);
	assert_string_equal(json_string_value(json_object_get(json, "platform")), p.on);
	assert_string_equal(json_string_value(json_object_get(json, "weights")), "synthetic");
	assert_int_equal(json_array_size(json_object_get(json, "answers")), 2);
	assert_int_equal(json_array_size(json_object_get(json_array_get(json_object_get(json, "answers"), 0), "answer")), 3);
	const json_t *graph = json_array_get(json_object_get(json_object_get(json, "placement"), "graphs"), 0);
	assert_string_equal(json_string_value(json_object_get(graph, "platform")), "cpu");
	json_decref(json);
	p.on = "cpu,wings=null";
	assert_int_equal(assay_pipeline_json(&p, &text, &error), ASSAY_BAD_INPUT);
	assert_non_null(strstr(error.text, "has no part wings; it has model"));
	p.on = "cpu,cuda";
	assert_int_equal(assay_pipeline_json(&p, &text, &error), ASSAY_BAD_INPUT);
	p = (struct assay_pipeline){ .size = sizeof p, .model = p.model, .inputs = inputs, .task = "fill-musk" };
	assert_int_equal(assay_pipeline_json(&p, &text, &error), ASSAY_FAILED);
	assert_non_null(strstr(error.text, "fill-musk"));
	p.inputs = none;
	assert_int_equal(assay_pipeline_json(&p, &text, &error), ASSAY_BAD_INPUT);
	p.size = sizeof p + 1;
	assert_int_equal(assay_pipeline_json(&p, &text, &error), ASSAY_BAD_INPUT);
	arena_done(&a);
}

static void detection(void **state)
{
	(void)state;
	char *text;
	json_t *json;

	assert_int_equal(assay_detect_json(&text, NULL), ASSAY_OK);
	assert_int_equal(json_bytes("detect", text, strlen(text), &json, NULL), STATUS_OK);
	assay_free(text);
	const json_t *platforms = json_object_get(json, "platforms");
	static const char *const eight[] = { "cpu", "cuda", "rocm", "mps", "openvino", "qnn", "webnn", "webgpu" };
	assert_true(json_array_size(platforms) >= 8); // parts of them (tensorrt, npu, ...) stand behind
	for (size_t i = 0; i < json_array_size(platforms); i++) {
		const json_t *p = json_array_get(platforms, i);
		if (i < 8)
			assert_string_equal(json_string_value(json_object_get(p, "name")), eight[i]);
		bool available = json_is_true(json_object_get(p, "available"));
		assert_true(available == (json_array_size(json_object_get(p, "devices")) > 0));
		assert_true(available == json_is_null(json_object_get(p, "reason")));
	}
	json_decref(json);

	// The engines were in children: none of their libraries is mapped here.
	char *maps;
	size_t nbytes;
	struct arena a = { 0 };
	assert_int_equal(file_read(&a, "/proc/self/maps", 1 << 22, &maps, &nbytes, NULL), STATUS_OK);
	assert_non_null(strstr(maps, "libc.so"));
	assert_null(strstr(maps, "libonnxruntime"));
	assert_null(strstr(maps, "libopenvino"));
	arena_done(&a);
}

static int set_up(void **state)
{
	if (scratch_make(state))
		return -1;
	setenv("ASSAY_CACHE", scratch, 1);
	setenv("HF_HUB_CACHE", scratch, 1);
	setenv("ASSAY_PROGRAM", PROGRAM, 1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_from_words),
		cmocka_unit_test(targets_of_parts),
		cmocka_unit_test(models_and_refusals),
		cmocka_unit_test(keys),
		cmocka_unit_test(keys_of_the_unknown),
		cmocka_unit_test(single_cells),
		cmocka_unit_test(matrices),
		cmocka_unit_test(a_stop),
		cmocka_unit_test(both_ways),
		cmocka_unit_test(pipelines),
		cmocka_unit_test(detection),
	};
	return cmocka_run_group_tests_name("api", tests, set_up, scratch_remove);
}
