// SPDX-License-Identifier: Apache-2.0
// A database for the tests of reports: made-up rows go in, HTML, Markdown and JSON come out. The figures belong to tests only.
#ifndef ASSAY_TEST_REPORT_FIXTURE_H
#define ASSAY_TEST_REPORT_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "question/standing.h"
#include "report/html/html.h"
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

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct machine m = test_machine();

	f->folder = test_folder();
	snprintf(f->path, sizeof f->path, "%s/a.duckdb", f->folder);
	if (test_store_open(&f->store, f->path, &f->err) || store_begin_run(&f->store, &m, "assay run " HOSTILE, &f->err))
		fail_msg("%s", f->err.text);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
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

// `c`: what was asked over what the row says.
static inline void add_asked(struct fixture *f, struct cell c, struct cell_result r)
{
	int64_t row;

	c.synthetic = true;
	c.layers = r.row.layers == ROW_NONE ? 0 : r.row.layers;
	c.batch = r.row.batch == ROW_NONE ? 0 : r.row.batch;
	c.precision = r.row.precision;
	c.threads = r.row.threads == ROW_NONE ? 0 : r.row.threads;
	c.sequence = row_is_brief(&r.row) ? 0 : c.sequence; // no length was asked for
	if (store_started(&f->store, &c, "k", &row, &f->err))
		fail_msg("%s", f->err.text);
	r.row.row = row;
	if (store_finished(&f->store, &r, &f->err))
		fail_msg("%s", f->err.text);
}

static inline void add(struct fixture *f, const char *model, const char *platform, struct cell_result r)
{
	add_asked(f, test_cell(model, platform), r);
}

static inline void add_timed(struct fixture *f, const char *model, const char *platform, double ms, double min, double max)
{
	struct cell_result r = test_result(0, model, platform, VERDICT_RIGHT);

	r.row.latency_ms = ms;
	r.row.latency_min_ms = min;
	r.row.latency_max_ms = max;
	add(f, model, platform, r);
}

static inline void add_unstable(struct fixture *f, const char *model, const char *platform, double ms, double min, double max)
{
	struct cell_result r = test_result(0, model, platform, VERDICT_RIGHT);

	r.row.latency_ms = ms;
	r.row.latency_min_ms = min;
	r.row.latency_max_ms = max;
	r.row.stability = "unstable";
	add(f, model, platform, r);
}

static inline void add_failed(struct fixture *f, const char *model, const char *platform, enum verdict verdict, const char *cause)
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
static inline struct cell_result process_of(const char *model, const char *platform, double ms, size_t number)
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

static inline void add_processes(struct fixture *f, const char *model, const char *platform, double ms, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(f, model, platform, process_of(model, platform, ms, i));
}

static inline const char *written(
	struct fixture *f, enum report_format format, const struct report_options *options, struct text *out)
{
	if (report_write_with(&f->store, format, options, out, &f->err))
		fail_msg("%s", f->err.text);
	return text_get(out);
}

static inline const json_t *section(struct fixture *f, const char *id, size_t row)
{
	const json_t *r = json_array_get(json_object_get(f->root, id), row);

	if (r == NULL)
		fail_msg("the section %s has no row %zu", id, row);
	return r;
}

static inline const char *text_in(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s != NULL ? s : "(none)";
}

static inline double number_in(const json_t *row, const char *key)
{
	return json_is_number(json_object_get(row, key)) ? json_number_value(json_object_get(row, key)) : (double)NAN;
}

// What no group of the contents names stands under Details.
static inline void stand_in_groups(const char *html)
{
	static const char *const details[] = { "notes\"", "cells\"", "platforms\"", "method\"" };
	const char *at = strstr(html, "<summary>Details</summary>");

	assert_non_null(at);
	for (const char *end = strstr(at, "</details>"); (at = strstr(at, "href=\"#")) != NULL && at < end; at++) {
		bool is_detail = false;
		for (size_t i = 0; i < sizeof details / sizeof *details; i++)
			is_detail |= text_starts(at + 7, details[i]);
		if (!is_detail)
			fail_msg("the table %.*s is in no group of the contents: `groups` in src/report/html/html.c",
				(int)strcspn(at + 7, "\""), at + 7);
	}
}

static inline void write_all(struct fixture *f)
{
	struct report_options none = { .currency = "" };
	struct summary s;

	if (summary_make(&f->store, &none, &s, &f->err) || report_html(&s, &f->store.arena, &f->html, &f->err))
		fail_msg("%s", f->err.text);
	stand_in_groups(text_get(&f->html));
	report_md(&s, &f->store.arena, &f->md);
	json_t *json = report_json(&s);
	char *dumped = json_dumps(json, 0);
	text_add(&f->json, dumped);
	free(dumped);
	json_decref(json);
	f->root = json_loads(text_get(&f->json), 0, NULL);
	assert_non_null(f->root);
}

// After more rows.
static inline void report_again(struct fixture *f)
{
	json_decref(f->root);
	text_done(&f->html);
	text_done(&f->md);
	text_done(&f->json);
	f->html = f->md = f->json = (struct text){ 0 };
	write_all(f);
}

static inline void says(const struct text *t, const char *words)
{
	if (strstr(text_get(t), words) == NULL)
		fail_msg("the report does not say: %s", words);
}

static inline void never_says(const struct text *t, const char *words)
{
	const char *found = strstr(text_get(t), words);

	if (found != NULL)
		fail_msg("the report says '%s': %.200s", words, found);
}

static inline json_t *cell(struct fixture *f, size_t line, const char *platform)
{
	json_t *lines = json_object_get(json_object_get(f->root, "matrix"), "lines");
	json_t *c = json_object_get(json_object_get(json_array_get(lines, line), "cells"), platform);

	assert_non_null(c);
	return c;
}

static inline size_t line_count(struct fixture *f)
{
	return json_array_size(json_object_get(json_object_get(f->root, "matrix"), "lines"));
}

static inline bool is_true(const json_t *c, const char *key)
{
	return json_is_true(json_object_get(c, key));
}

#endif
