// SPDX-License-Identifier: Apache-2.0
// The parent's side of a conformance run.
#include "conform/conform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "conform/case.h"
#include "run/cell.h"
#include "run/hear.h"
#include "cell/scratch.h"

#define CASE_LIMIT_S 60.0 // seconds without an answer: tiny models take milliseconds, a first compile a few seconds

struct listening {
	struct heard heard;
	struct conform_case *cases; // those given to this child
	size_t count, next;         // next: the first without an answer
	bool started;               // it is in the middle of `next`
	struct conform_engine *engine;
	void (*each)(void *, const struct conform_case *);
	void *context;
};

static double real_of(const json_t *x)
{
	return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static void release_json(void *json)
{
	json_decref(json);
}

// `event`: what the child says of it besides; NULL: it died.
static void set_answer(struct listening *l, enum verdict verdict, const char *reason, const json_t *event)
{
	struct conform_case *c = &l->cases[l->next++];

	c->verdict = verdict;
	c->passed = verdict == VERDICT_RIGHT;
	c->reason = c->passed ? NULL : reason ? reason : "no reason was given";
	c->max_abs_error = real_of(json_object_get(event, "max_abs_error"));
	c->nmse = real_of(json_object_get(event, "nmse"));
	c->elsewhere = event ? json_integer_value(json_object_get(event, "elsewhere")) : -1;
	c->placement = event ? arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "note"))) : NULL;
	c->form = event ? arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "form"))) : NULL;
	c->lines = (size_t)json_integer_value(json_object_get(event, "lines"));
	c->counted = event ? arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "counted"))) : NULL;
	c->graphs = json_incref(json_object_get(event, "graphs"));
	arena_defer(l->heard.arena, release_json, c->graphs);
	l->started = false;
	if (l->each)
		l->each(l->context, c);
}

static enum child_watch on_line(void *context, const char *line, size_t length)
{
	struct listening *l = context;
	json_t *event = json_line(line, length);
	const char *name = json_string_value(json_object_get(event, "event"));
	size_t index = (size_t)json_integer_value(json_object_get(event, "index"));
	enum child_watch result = CHILD_WATCH;

	if (text_is(name, "start") && index == l->next && l->next < l->count) {
		l->started = true;
	} else if (text_is(name, "case") && index == l->next && l->started) {
		enum verdict v = verdict_find(json_string_value(json_object_get(event, "verdict")));
		set_answer(l, v < VERDICT_COUNT ? v : VERDICT_FAILED,
			arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "reason"))), event);
	} else if (text_is(name, "engine")) {
		l->engine->version = arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "version")));
		l->engine->library = arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "library")));
	} else {
		result = heard_line(&l->heard, line, length);
	}
	json_decref(event);
	return result;
}

static char *request_for(struct arena *a, const struct target *t, const struct conform_case *cases, size_t count, int64_t rows)
{
	json_t *folders = json_array(), *request;
	char *dumped, *text;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(folders, json_string(cases[i].folder));
	request = json_pack(
		"{s:o*, s:I, s:o}", "on", t ? pipeline_target_json(t) : NULL, "rows", (json_int_t)rows, "cases", folders);
	dumped = request ? json_dumps(request, JSON_COMPACT) : NULL;
	text = arena_strdup(a, dumped ? dumped : "{}");
	free(dumped);
	json_decref(request);
	return text;
}

enum status conform_run_told(const struct conform_asked *which, struct arena *a, struct conform_engine *engine, struct error *err)
{
	const char *program = cell_program(a);
	char *argv[] = { (char *)(uintptr_t)program, "cell", "--conform", NULL };
	struct child_limits limits = { .silence_s = CASE_LIMIT_S, .memory_bytes = which->memory_bytes, .stop = which->stop };

	if (!program)
		return error_set(err, STATUS_FAILED,
			"the program assay, which children are started from, was not found; set ASSAY_PROGRAM to it");
	for (size_t done = 0; done < which->count;) {
		struct listening l = { .cases = which->cases + done,
			.count = which->count - done,
			.engine = engine,
			.each = which->each,
			.context = which->context };
		struct child_report report;
		const char *cause, *note;
		enum status st;

		heard_init(&l.heard, a, NULL);
		st = child_run(
			argv, request_for(a, which->target, l.cases, l.count, which->rows), &limits, on_line, &l, &report, err);
		if (st)
			return st;
		enum verdict v = heard_verdict(&l.heard, &report, &limits, &cause, &note);
		if (v == VERDICT_RIGHT && l.next < l.count) {
			v = VERDICT_FAILED;
			cause = "its process was done before this case had an answer";
		}
		child_report_done(&report);
		scratch_sweep();
		// It died in a case: that one has failed, the next starts anew. It died before the first: no case can run. It
		// died between two cases: the rest starts anew.
		if (l.started)
			set_answer(&l, v, cause, NULL);
		else if (l.next == 0)
			while (l.next < l.count)
				set_answer(&l, v, cause, NULL);
		done += l.next;
	}
	return STATUS_OK;
}

enum status conform_run(const struct conform_asked *which, struct arena *a, struct error *err)
{
	struct conform_engine engine = { 0 };

	for (size_t i = 0; i < which->count; i++)
		which->cases[i].max_abs_error = which->cases[i].nmse = (double)NAN;
	return conform_run_told(which, a, &engine, err);
}
