// SPDX-License-Identifier: Apache-2.0
// The way from a question to a row: what plan.h decides before anything runs, and the public functions on top of it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "plan/plan.h"
#include "assay.h"
#include "base/file.h"
#include "base/json.h"
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

static void phase(void *context, const char *name)
{
	if (strcmp(name, "load") == 0)
		++*(int *)context;
}

static void run_cells(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct assay_error error;
	struct assay_row *row;
	const char *folder, *db = path("rows.duckdb");
	int loads = 0;
	volatile sig_atomic_t stop = 1;

	assert_int_equal(conform_materialise(&folder, &a, case_folder, &err), STATUS_OK);
	struct assay_cell cell = { .model = folder, .platform = "null", .runs = 3, .phase = phase, .context = &loads };
	assert_int_equal(assay_run(&cell, &row, &error), 0);
	assert_string_equal(row->verdict, "right");
	assert_string_equal(row->requested, "null");
	assert_string_equal(row->actual, "null");
	assert_string_equal(row->model, folder);
	assert_int_equal(row->exit_code, 0);
	assert_true(row->latency_ms > 0 && row->load_ms >= 0);
	assert_null(row->cause);
	assert_non_null(strstr(row->json, "\"samples_ms\""));
	assert_int_equal(loads, 1);
	assay_row_free(row);

	cell.options = "wrong=1";
	cell.db = db;
	assert_int_equal(assay_run(&cell, &row, &error), 0);
	assert_string_equal(row->verdict, "wrong");
	assert_int_equal(row->exit_code, 3);
	assert_true(row->max_abs_error > 0);
	assert_non_null(row->cause);
	assay_row_free(row);

	cell.options = "leave=all";
	assert_int_equal(assay_run(&cell, &row, &error), 0);
	assert_string_equal(row->verdict, "fell_back");
	assert_string_equal(row->actual, "cpu");
	assert_int_equal(row->exit_code, 2);
	assert_non_null(strstr(row->cause, "null took none of the graph"));
	assay_row_free(row);
	cell.allow_fallback = 1;
	assert_int_equal(assay_run(&cell, &row, &error), 0);
	assert_string_equal(row->verdict, "right");
	assert_string_equal(row->actual, "cpu");
	assert_int_equal(row->exit_code, 0);
	assay_row_free(row);
	cell.allow_fallback = 0;

	cell.options = "crash=open";
	assert_int_equal(assay_run(&cell, &row, &error), 0);
	assert_string_equal(row->verdict, "crashed");
	assert_int_equal(row->exit_code, 2);
	assert_true(isnan(row->latency_ms));
	assay_row_free(row);

	cell.options = "hang=run";
	cell.stop = &stop;
	assert_int_equal(assay_run(&cell, &row, &error), 0);
	assert_string_equal(row->verdict, "interrupted");
	assay_row_free(row);

	// A platform that is not here is a row; a model that is not there, an unknown platform and no model at all are errors.
	cell = (struct assay_cell){ .model = folder, .platform = "cuda", .db = db };
	assert_int_equal(assay_run(&cell, &row, &error), 0);
	assert_string_equal(row->verdict, "unavailable");
	assert_null(row->actual);
	assay_row_free(row);
	cell.platform = "cpuu";
	assert_int_equal(assay_run(&cell, &row, &error), 1);
	assert_non_null(strstr(error.text, "cpuu"));
	cell = (struct assay_cell){ .model = folder, .platform = "null", .precision = "int3" };
	assert_int_equal(assay_run(&cell, &row, &error), 1);
	assert_non_null(strstr(error.text, "int3"));
	cell = (struct assay_cell){ .model = folder, .platform = "null", .effort = "long" };
	assert_int_equal(assay_run(&cell, &row, &error), 1);
	assert_non_null(strstr(error.text, "long"));
	cell = (struct assay_cell){ .model = folder, .platform = "null", .effort = "rapid", .threads = 2 };
	assert_int_equal(assay_run(&cell, &row, &error), 0);
	assert_string_equal(row->verdict, "right");
	assert_non_null(strstr(row->json, "\"effort\": \"rapid\""));
	assert_non_null(strstr(row->json, "\"threads\": 2"));
	assay_row_free(row);
	cell = (struct assay_cell){ .model = "no-such-model" };
	assert_int_equal(assay_run(&cell, &row, &error), 1);
	assert_non_null(strstr(error.text, "no-such-model"));
	cell.model = NULL;
	assert_int_equal(assay_run(&cell, &row, &error), 1);
	assert_int_equal(assay_run(&cell, &row, NULL), 1);
	assay_row_free(NULL);

	// What was stored is what is reported.
	char *text;
	assert_int_equal(assay_report(db, "json", &text, &error), 0);
	assert_non_null(strstr(text, "crashed"));
	assert_non_null(strstr(text, "unavailable"));
	assay_free(text);
	assert_int_equal(assay_report(db, "pdf", &text, &error), 1);
	assert_non_null(strstr(error.text, "pdf"));
	assert_int_equal(assay_report(path("none.duckdb"), "md", &text, &error), 1);
	assert_non_null(strstr(error.text, "none.duckdb"));
	arena_done(&a);
}

static void detection(void **state)
{
	(void)state;
	char *text;
	json_t *json;

	assert_int_equal(assay_detect_json(&text, NULL), 0);
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
	setenv("ASSAY_PROGRAM", TEST_BUILD "/assay", 1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_from_words),
		cmocka_unit_test(models_and_refusals),
		cmocka_unit_test(keys),
		cmocka_unit_test(keys_of_the_unknown),
		cmocka_unit_test(run_cells),
		cmocka_unit_test(detection),
	};
	return cmocka_run_group_tests_name("api", tests, set_up, scratch_remove);
}
