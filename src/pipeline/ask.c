// SPDX-License-Identifier: Apache-2.0
// The parent's side: a child opens the model and answers.
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "pipeline/pipeline.h"
#include "question/row.h"
#include "run/cell.h"
#include "run/hear.h"

struct listening {
	struct heard heard;
	struct pipeline_told *told;
	const struct pipeline_asked *asked;
	size_t weight; // of all answers (json_weight)
};

// Those that were heard are kept.
static enum child_watch refuse_more(struct listening *l)
{
	l->heard.rubbish = arena_printf(l->heard.arena,
		"the answers to more than the first %zu inputs take more than the %zu MiB of memory that they are given: ask for "
		"the others in a second command",
		json_array_size(l->told->answers), HEARD_MOST >> 20);
	return CHILD_REFUSE;
}

static enum child_watch on_line(void *context, const char *line, size_t length)
{
	struct listening *l = context;
	json_t *event = json_line(line, length);
	const char *name = json_string_value(json_object_get(event, "event"));
	enum child_watch result = CHILD_WATCH;

	if (text_is(name, "answer")) {
		l->weight += json_weight(line, length, HEARD_MOST);
		if (l->weight <= HEARD_MOST)
			json_array_append(l->told->answers, event);
		else
			result = refuse_more(l);
	} else if (text_is(name, "step")) {
		json_int_t done = json_integer_value(json_object_get(event, "done")),
			   of = json_integer_value(json_object_get(event, "of"));
		if (l->asked->watch && done >= 0 && of > 0)
			l->asked->watch(l->asked->watch_context, (size_t)done, (size_t)of);
	} else if (text_is(name, "task")) {
		json_decref(l->told->task);
		l->told->task = json_incref(event);
	} else if (text_is(name, "file")) {
		if (!l->told->file_error)
			l->told->file_error = arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "error")));
	} else if (text_is(name, "pipeline")) {
		l->told->took_none = arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "took_none")));
		json_decref(l->told->facts);
		l->told->facts = json_incref(event);
	} else {
		result = heard_line(&l->heard, line, length);
	}
	json_decref(event);
	return result;
}

// The child's gate: the row begins.
static bool on_gate(void *context, enum cell_gate gate)
{
	struct listening *l = context;

	return gate == CELL_GATE_START &&
		l->asked->begin(l->asked->begin_context, json_string_value(json_object_get(l->told->task, "task")));
}

static char *request_of(const struct pipeline_asked *q, struct arena *a)
{
	json_t *request = json_pack("{s:s, s:s?, s:o, s:O, s:O?, s:s?, s:s?, s:s?, s:s?, s:b}", "folder", q->folder, "task",
		q->task, "on", pipeline_target_json(q->target), "words", q->words, "task_options", q->options, "save", q->save,
		"output", q->output, "precision", q->precision, "keep", q->keep, "waits", (int)(q->begin != NULL));
	char *dumped = request ? json_dumps(request, JSON_COMPACT) : NULL, *text = arena_strdup(a, dumped);

	free(dumped);
	json_decref(request);
	return text;
}

static void take_row(struct pipeline_told *told, const struct heard *h, const struct child_report *report, struct arena *a)
{
	told->row = h->row;
	told->row.peak_pss_mib = h->pss_mib;
	told->row.peak_resident_mib = h->resident_mib;
	if (text_get(&report->output)[0])
		told->row.stderr_tail = arena_strdup(a, text_get(&report->output));
}

enum status pipeline_ask(const struct pipeline_asked *q, struct pipeline_told *told, struct arena *a, struct error *err)
{
	const char *program = cell_program(a), *cause = NULL, *note = NULL, *request = request_of(q, a);
	char *argv[] = { (char *)(uintptr_t)program, "cell", "--pipeline", NULL };
	struct child_limits limits = { .timeout_s = q->timeout_s, .memory_bytes = q->memory_bytes, .stop = q->stop };
	struct listening l = { .told = told, .asked = q };
	const struct cell_watch watch = { .meet = on_gate, .context = &l };
	struct child_report report;
	enum status st;

	*told = (struct pipeline_told){ .answers = json_array() };
	row_init(&told->row);
	if (!program)
		return error_set(err, STATUS_FAILED,
			"the program assay, which children are started from, was not found; set ASSAY_PROGRAM to it");
	if (!request)
		return error_set(err, STATUS_BAD_INPUT, "a name or a text of the question is no UTF-8");
	heard_init(&l.heard, a, q->begin ? &watch : NULL);
	if ((st = child_run(argv, request, &limits, on_line, &l, &report, err)))
		return st;
	told->verdict = heard_verdict(&l.heard, &report, &limits, &cause, &note);
	take_row(told, &l.heard, &report, a);
	child_report_done(&report);
	if (told->verdict == VERDICT_RIGHT)
		return STATUS_OK;
	return error_set(err, l.heard.status ? l.heard.status : STATUS_FAILED, "%s", cause ? cause : "no reason was given");
}

void pipeline_told_done(struct pipeline_told *told)
{
	json_decref(told->answers);
	json_decref(told->facts);
	json_decref(told->task);
}

json_t *pipeline_told_json(const struct pipeline_told *told, const char *on, const char *precision)
{
	json_t *answers = json_array();
	const json_t *one, *facts = told->facts;
	json_t *task = json_object_get(facts ? facts : told->task, "task");
	size_t i;

	json_array_foreach(told->answers, i, one) json_array_append_new(answers,
		json_pack("{s:O, s:O, s:O, s:O, s:O}", "input", json_object_get(one, "input"), "answer",
			json_object_get(one, "answer"), "tensors", json_object_get(one, "tensors"), "pictures",
			json_object_get(one, "pictures"), "files", json_object_get(one, "files")));
	return json_pack("{s:O?, s:s, s:s?, s:O?, s:o, s:O?, s:O?}", "task", task, "platform", on, "precision", precision,
		"weights", json_object_get(facts, "weights"), "answers", answers, "times", json_object_get(facts, "times"),
		"placement", json_object_get(facts, "placement"));
}
