// SPDX-License-Identifier: Apache-2.0
// The parent's side of a conformance run, and the cached answer to "how many cases of this type pass here".
#include "measure/conform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "measure/conform_case.h"
#include "measure/hear.h"

#define CASE_LIMIT_S 60.0        // seconds without an answer: tiny models take milliseconds, a first compile a few seconds

struct listening {
	struct heard heard;
	struct conform_case *cases;          // those given to this child
	size_t count, next;                  // next: the first without an answer
	bool started;                        // it is in the middle of `next`
	struct conform_engine *engine;
	void (*each)(void *, const struct conform_case *);
	void *context;
};

static double real_of(const json_t *x)
{
	return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static void set_answer(struct listening *l, bool passed, const char *reason, double max_abs_error, double nmse)
{
	struct conform_case *c = &l->cases[l->next++];

	c->passed = passed;
	c->reason = passed ? NULL : reason ? reason : "no reason was given";
	c->max_abs_error = max_abs_error;
	c->nmse = nmse;
	l->started = false;
	if (l->each)
		l->each(l->context, c);
}

static enum child_watch on_line(void *context, const char *line, size_t length)
{
	struct listening *l = context;
	json_t *event = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	const char *name = json_string_value(json_object_get(event, "event"));
	size_t index = (size_t)json_integer_value(json_object_get(event, "index"));
	enum child_watch result = CHILD_WATCH;

	if (text_is(name, "start") && index == l->next && l->next < l->count) {
		l->started = true;
	} else if (text_is(name, "case") && index == l->next && l->started) {
		set_answer(l, json_is_true(json_object_get(event, "passed")), arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "reason"))),
			real_of(json_object_get(event, "max_abs_error")), real_of(json_object_get(event, "nmse")));
	} else if (text_is(name, "engine")) {
		l->engine->version = arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "version")));
		l->engine->library = arena_strdup(l->heard.arena, json_string_value(json_object_get(event, "library")));
	} else {
		result = heard_line(&l->heard, line, length);
	}
	json_decref(event);
	return result;
}

static char *request_for(struct arena *a, const struct target *t, const struct conform_case *cases, size_t count)
{
	json_t *folders = json_array(), *request;
	char *dumped, *text;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(folders, json_string(cases[i].folder));
	request = json_pack("{s:s, s:s?, s:s?, s:o}", "platform", t->platform->name, "device", t->device, "options", t->options, "cases", folders);
	dumped = request ? json_dumps(request, JSON_COMPACT) : NULL;
	text = arena_strdup(a, dumped ? dumped : "{}");
	free(dumped);
	json_decref(request);
	return text;
}

enum status conform_run_told(const struct target *t, struct conform_case *cases, size_t count, void (*each)(void *, const struct conform_case *),
	void *context, struct arena *a, struct conform_engine *engine, struct error *err)
{
	const char *program = cell_program(a);
	char *argv[] = { (char *)(uintptr_t)program, "cell", "--conform", NULL };
	struct child_limits limits = { .silence_s = CASE_LIMIT_S };

	if (!program)
		return error_set(err, STATUS_FAILED, "the program assay, which children are started from, was not found; set ASSAY_PROGRAM to it");
	for (size_t done = 0; done < count;) {
		struct listening l = { .cases = cases + done, .count = count - done, .engine = engine, .each = each, .context = context };
		struct child_report report;
		const char *cause, *note;
		enum status st;

		heard_init(&l.heard, a, NULL);
		st = child_run(argv, request_for(a, t, l.cases, l.count), &limits, on_line, &l, &report, err);
		if (st)
			return st;
		if (heard_verdict(&l.heard, &report, &limits, &cause, &note) == VERDICT_RIGHT && l.next < l.count)
			cause = "its process was done before this case had an answer";
		child_report_done(&report);
		// It died in a case: that one has failed, the next starts anew. It died before the first: no case can run. It died
		// between two cases: the rest starts anew.
		if (l.started)
			set_answer(&l, false, cause, (double)NAN, (double)NAN);
		else if (l.next == 0)
			while (l.next < l.count)
				set_answer(&l, false, cause, (double)NAN, (double)NAN);
		done += l.next;
	}
	return STATUS_OK;
}

enum status conform_run(const struct target *t, struct conform_case *cases, size_t count, void (*each)(void *, const struct conform_case *), void *context,
	struct arena *a, struct error *err)
{
	struct conform_engine engine = { 0 };

	for (size_t i = 0; i < count; i++)
		cases[i].max_abs_error = cases[i].nmse = (double)NAN;
	return conform_run_told(t, cases, count, each, context, a, &engine, err);
}

// ---- the cached answer --------------------------------------------------------------------------------------------------

static const char *file_identity(struct arena *a, const char *path)
{
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return "absent";
	return arena_printf(a, "%llu %lld %lld.%09ld", (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static const char *result_path(struct arena *a, const char *model_type, const struct target *t, const struct conform_case *cases, size_t count)
{
	const char *engines = getenv("ASSAY_ENGINE_PATH");
	const char *facts[] = { file_identity(a, cell_program(a)), engines ? engines : "", t->platform->name,
		t->device ? t->device : "", t->options ? t->options : "", model_type };
	struct hash h;
	char hex[65];

	hash_init(&h);
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		hash_add_text(&h, facts[i]);
	for (size_t i = 0; i < count; i++)
		hash_add_text(&h, file_identity(a, arena_printf(a, "%s/io.safetensors", cases[i].folder)));
	hash_hex(&h, hex);
	return arena_printf(a, "%s/conform-results/%s.json", file_cache_dir(a), hex);
}

// NULL when there is none, or when the engine's library has changed since.
static const char *read_result(struct arena *a, const char *path)
{
	json_t *json;
	const char *library, *identity, *result = NULL;

	if (!file_exists(path) || json_file(path, 1 << 20, &json, NULL))
		return NULL;
	library = json_string_value(json_object_get(json, "library"));
	identity = json_string_value(json_object_get(json, "library_identity"));
	if (library && text_is(identity, file_identity(a, library)))
		result = arena_strdup(a, json_string_value(json_object_get(json, "result")));
	json_decref(json);
	return result;
}

const char *conform_of_type(const char *model_type, const struct target *t, struct arena *a)
{
	const struct backend *b = t->platform->engine ? backend_find(t->platform->engine) : NULL;
	struct target plain = *t;
	struct conform_engine engine = { 0 };
	struct conform_case *cases;
	const char *folder, *path, *result;
	size_t count, passed = 0;

	if (!b || (b->caps & BACKEND_SOFTWARE) || !(folder = conform_folder(a)))
		return NULL;
	// The cases are float32 and judged as such: the platform's own options, not those of one cell.
	plain.options = t->platform->options;
	cases = conform_cases(a, folder, model_type, &count);
	path = result_path(a, model_type, &plain, cases, count);
	if ((result = read_result(a, path)))
		return result;
	if (!count || conform_run_told(&plain, cases, count, NULL, NULL, a, &engine, NULL) || !engine.library)
		return NULL;
	for (size_t i = 0; i < count; i++)
		passed += cases[i].passed;
	result = arena_printf(a, "%zu/%zu", passed, count);
	// A cache that cannot be written only means that the next one runs them again.
	if (file_mkdirs(arena_printf(a, "%s/conform-results", file_cache_dir(a)), NULL) == STATUS_OK) {
		json_t *json = json_pack("{s:s, s:s, s:s?, s:s, s:s}", "result", result, "model_type", model_type, "engine_version", engine.version,
			"library", engine.library, "library_identity", file_identity(a, engine.library));
		char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;

		if (text)
			file_write(path, text, strlen(text), NULL);
		free(text);
		json_decref(json);
	}
	return result;
}
