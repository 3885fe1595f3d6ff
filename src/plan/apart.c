// SPDX-License-Identifier: Apache-2.0
// plan_model and plan_memory in a process of their own: what reads a stranger's files and builds a graph from them may die,
// grow or never end, and the rows of the models behind it must not be lost with it. What comes back are their answers, so
// that nothing is done twice. A process started anew, and no fork: the caller has threads, and under the sanitizers RLIMIT_AS
// limits nothing.
#include "plan/plan.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "cell/say.h"
#include "run/hear.h"
#include "run/reference.h"

// The largest graph that is built takes 350 MB, and the sanitizers twice as much as that.
#define MEMORY_MOST ((int64_t)2 << 30)
#define MODEL_TIMEOUT_S 60.0

// kind, member: what an answer holds.
#define MODEL_ANSWER(X) \
	X(TEXT, path) \
	X(TEXT, config_hash) \
	X(TEXT, model_type) \
	X(TEXT, architecture) \
	X(TEXT, head) \
	X(TEXT, cause) \
	X(TEXT, given) \
	X(TEXT, given_files) \
	X(NUMBER, given_tokens) \
	X(NUMBER, synthetic_bytes) \
	X(NUMBER, weight_bytes) \
	X(NUMBER, refused) \
	X(FLAG, synthetic) \
	X(FLAG, makes_weights) \
	X(FLAG, unwritten) \
	X(FLAG, shortened) \
	X(FLAG, takes_images) \
	X(FLAG, takes_tokens)
#define MEMORY_ANSWER(X) \
	X(NUMBER, predicted_bytes) \
	X(NUMBER, anonymous_bytes) \
	X(TEXT, refused) \
	X(NUMBER, refused_as)
#define LESS_ANSWER(X) \
	X(TEXT, precision) \
	X(NUMBER, layers) \
	X(NUMBER, needed_bytes) \
	X(NUMBER, resident_bytes) \
	X(NUMBER, anonymous_bytes) \
	X(NUMBER, stored_bytes)

#define PUT_TEXT(x) question_text_put(x)
#define PUT_NUMBER(x) json_integer((json_int_t)(x))
#define PUT_FLAG(x) json_boolean(x)
#define TAKE_TEXT(a, json) question_text_take(a, json)
#define TAKE_NUMBER(a, json) json_integer_value(json)
#define TAKE_FLAG(a, json) json_is_true(json)
#define PUT(kind, name) json_object_set_new(answer, #name, PUT_##kind(from->name));
#define TAKE(kind, name) to->name = TAKE_##kind(a, json_object_get(answer, #name));

static json_t *put_model(const struct plan_model *from)
{
	json_t *answer = json_object();

	MODEL_ANSWER(PUT)
	return answer;
}

static void take_model(struct plan_model *to, struct arena *a, const json_t *answer)
{
	MODEL_ANSWER(TAKE)
}

static json_t *put_less(const struct plan_less *from)
{
	json_t *answer = json_object();

	LESS_ANSWER(PUT)
	return answer;
}

static void take_less(struct plan_less *to, struct arena *a, const json_t *answer)
{
	LESS_ANSWER(TAKE)
}

static json_t *put_memory(const struct plan_memory *from)
{
	json_t *answer = json_object(), *less = json_array();

	MEMORY_ANSWER(PUT)
	for (size_t i = 0; i < from->less_count; i++)
		json_array_append_new(less, put_less(&from->less[i]));
	json_object_set_new(answer, "less", less);
	return answer;
}

static void take_memory(struct plan_memory *to, struct arena *a, const json_t *answer)
{
	const json_t *less = json_object_get(answer, "less");

	MEMORY_ANSWER(TAKE)
	for (size_t i = 0; i < json_array_size(less) && i < PLAN_LESS_MOST; i++)
		take_less(&to->less[to->less_count++], a, json_array_get(less, i));
}

// ---- the parent's side --------------------------------------------------------------------------------------------------

// Asks a child `what` about the question of `request`, which this takes. OK with *answer, which lives in `a`, or with what
// became of the child in *bad. An error is what it was asked wrongly, or that there is no program for it.
static enum status ask(const json_t **answer, struct arena *a, const char *what, json_t *request, const struct question *q,
	double timeout_s, volatile sig_atomic_t *stop, struct error *bad, struct error *err)
{
	const char *arguments[] = { "--plan", what, NULL }, *cause, *note;
	struct child_limits limits = { .timeout_s = timeout_s, .memory_bytes = MEMORY_MOST, .stop = stop };
	struct child_report report;
	struct heard heard;

	question_put(request, q);
	char *text = json_dumps(request, JSON_COMPACT);
	json_decref(request);
	heard_init(&heard, a, NULL);
	enum status st = hear_child(&heard, arguments, text ? text : "", &limits, &report, bad);
	free(text);
	if (st)
		return st == STATUS_NOT_ASKED ? STATUS_OK : error_set(err, st, "%s", bad->text);
	enum verdict v = heard_verdict(&heard, &report, &limits, &cause, &note);
	child_report_done(&report);
	if (heard.error && heard.done)
		return error_set(err, heard.status, "%s", heard.error);
	*answer = json_object_get(heard.probe, "plan");
	if (v == VERDICT_CRASHED)
		error_set(bad, STATUS_FAILED, "reading the model or building its graph crashed: %s", cause);
	else if (v == VERDICT_NO_MEMORY)
		error_set(bad, STATUS_NO_MEMORY, "%s: reading a model and building its graph gets no more", cause);
	else if (v != VERDICT_RIGHT)
		error_set(bad,
			v == VERDICT_TIMEOUT               ? STATUS_TIMEOUT
				: v == VERDICT_INTERRUPTED ? STATUS_INTERRUPTED
				: v == VERDICT_NOT_ASKED   ? STATUS_NOT_ASKED
							   : STATUS_FAILED,
			"%s", cause);
	else if (!*answer)
		error_set(bad, STATUS_FAILED, "plan: the process that was asked gave no answer");
	return STATUS_OK;
}

enum status plan_model_apart(struct plan_model *out, struct arena *a, const char *model, const struct question *q,
	volatile sig_atomic_t *stop, struct error *err)
{
	struct plan_model m = { .model = plan_model_name(a, model), .layers = q->layers };
	struct arena passing = { 0 };
	struct error bad = { 0 };
	const json_t *answer = NULL;
	json_t *request = json_object();

	json_object_set_new(request, "model", question_text_put(model));
	const double timeout_s = plan_timeout_s(q) < MODEL_TIMEOUT_S ? plan_timeout_s(q) : MODEL_TIMEOUT_S;
	enum status st = ask(&answer, &passing, "model", request, q, timeout_s, stop, &bad, err);
	if (!st)
		st = hub_find(&m.hub, a, model, err);
	if (!st && bad.status) {
		plan_say_gone(&bad, m.hub.path);
		m.refused = bad.status;
		m.cause = arena_strdup(a, bad.text);
		m.takes_images = m.takes_tokens = true;
	} else if (!st) {
		take_model(&m, a, answer);
		if (m.given && !reference_hold(a, m.given))
			st = error_set(err, STATUS_FAILED, "%s: its inputs were removed from the cache", model);
	}
	arena_done(&passing);
	if (!st)
		*out = m;
	return st;
}

void plan_memory_apart(struct plan_memory *out, struct arena *a, const struct plan_model *m, const struct target *t,
	const struct question *q, volatile sig_atomic_t *stop)
{
	const double begin = clock_ms();
	struct arena passing = { 0 };
	struct error bad = { 0 }, err = { 0 };
	struct machine host = { 0 };
	const json_t *answer = NULL;

	*out = (struct plan_memory){ 0 };
	if (m->refused || t->absent)
		return;
	json_t *request = put_model(m);
	machine_memory_at(&host, &passing, ""); // the child has a limit, which is not the cell's
	json_object_set_new(request, "memory_available_bytes", json_integer(host.memory_available_bytes));
	json_object_set_new(request, "memory_limit_bytes", json_integer(host.memory_limit_bytes));
	json_object_set_new(request, "model", question_text_put(m->model));
	json_object_set_new(request, "platform", json_string(t->platform->name));
	json_object_set_new(request, "device", question_text_put(t->device));
	json_object_set_new(request, "options", question_text_put(t->options));
	if (ask(&answer, &passing, "memory", request, q, plan_timeout_s(q), stop, &bad, &err) || bad.status) {
		struct error *why = bad.status ? &bad : &err;

		plan_say_gone(why, m->hub.path);
		out->refused = arena_strdup(a, why->text);
		out->refused_as = verdict_of_status(why->status);
	} else {
		take_memory(out, a, answer);
	}
	out->took_ms = clock_ms() - begin;
	arena_done(&passing);
}

// ---- the child's side ---------------------------------------------------------------------------------------------------

static json_t *answer_model(struct arena *a, const json_t *request, const struct question *q, struct error *err)
{
	struct plan_model m;
	const char *model = question_text_take(a, json_object_get(request, "model"));

	if (!model)
		error_set(err, STATUS_BAD_INPUT, "the request names no model");
	return model && plan_model(&m, a, model, q, err) == STATUS_OK ? put_model(&m) : NULL;
}

static json_t *answer_memory(struct arena *a, const json_t *request, const struct question *q, struct error *err)
{
	const char *platform = json_string_value(json_object_get(request, "platform")),
		   *model = question_text_take(a, json_object_get(request, "model"));
	struct target t = { .platform = platform ? platform_find(platform) : NULL };
	struct plan_memory memory;
	struct plan_model m = { .model = model, .layers = q->layers };
	struct machine host = { 0 };

	t.device = question_text_take(a, json_object_get(request, "device"));
	t.options = question_text_take(a, json_object_get(request, "options"));
	t.route = t.platform ? platform_route(t.platform, t.device) : NULL;
	if (!t.route || !model) {
		error_set(err, STATUS_BAD_INPUT, "the request names no model, no platform or no device of it");
		return NULL;
	}
	take_model(&m, a, request);
	if (hub_find(&m.hub, a, model, err))
		return NULL;
	host.memory_available_bytes = json_integer_value(json_object_get(request, "memory_available_bytes"));
	host.memory_limit_bytes = json_integer_value(json_object_get(request, "memory_limit_bytes"));
	plan_memory(&memory, a, &m, &t, q, &host);
	return put_memory(&memory);
}

int plan_child(const char *what)
{
	static struct arena arena;
	struct text line = { 0 };
	struct error err = { 0 };
	struct question q = { 0 };
	json_t *request = NULL, *answer = NULL;
	enum status st = child_begin(&line, &err);

	if (!st)
		st = json_bytes("the request", text_get(&line), line.length, &request, &err);
	say_phase("plan");
	if (!st) {
		question_take(&q, &arena, request);
		answer = text_is(what, "memory") ? answer_memory(&arena, request, &q, &err)
						 : answer_model(&arena, request, &q, &err);
	}
	if (answer)
		say(json_pack("{s:s, s:o}", "event", "probe", "plan", answer));
	else
		say_error(&err);
	say_done();
	_exit(0); // cell/work.c says why
}
