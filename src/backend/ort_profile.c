// SPDX-License-Identifier: Apache-2.0
// How long each node of ONNX Runtime's own graph takes: a second session over the same options writes its profile, a JSON array with one
// event a line, which is read line by line and removed. Events come in the order in which they end, so a node that holds a graph of its
// own comes behind the nodes in there: those lie within its time and are left out, or they would count twice.
//
//   {"cat":"Node","dur":98,"ts":1369080,"name":"embed/Shape_kernel_time","args":{"op_name":"Shape","provider":"CPUExecutionProvider",...}}
//   {"cat":"Session","dur":439672,"ts":3857738,"name":"model_run","args":{}}
//
// For the processor alone: of others it writes down how long it took to hand the node over, not how long the device worked.
#include "backend/ort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

enum { WARM_RUNS = 2, RUNS_LEAST = 5 };
#define RUNS_NS ((int64_t)10000000000)       // after so long the least will do

enum status ort_can_profile(const struct provider *p, struct error *err)
{
	const char *ep = ((const struct ort_provider *)p->detail)->ep;

	if (!text_is(ep, "CPUExecutionProvider"))
		return error_set(err, STATUS_UNSUPPORTED,
			"ONNX Runtime's profile tells how long it takes to hand a node to %s, not how long the device works on it; profile cpu or openvino", ep);
	return STATUS_OK;
}

struct event {
	char *name, *op, *where;
	double begin, us;
};
struct runs {
	struct arena *arena;
	struct event *events;                // of the run that is being read
	size_t count, capacity;
	size_t seen;                         // whole runs
	double *ms;                          // [runs][nodes]
	struct profile *out;
};

static int by_begin(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->us < y->us) - (x->us > y->us);                // what holds the other goes first
}

// Without nodes that ran inside another one.
static size_t flatten(struct event *e, size_t count)
{
	size_t kept = 0;

	qsort(e, count, sizeof *e, by_begin);
	for (size_t i = 0; i < count; i++)
		if (!kept || e[i].begin >= e[kept - 1].begin + e[kept - 1].us || e[i].us == 0)
			e[kept++] = e[i];
	return kept;
}

static enum status end_run(struct runs *r, struct error *err)
{
	struct profile *out = r->out;
	size_t count = flatten(r->events, r->count), number = r->seen++;

	r->count = 0;
	if (number < WARM_RUNS || (int64_t)(number - WARM_RUNS) >= out->runs)
		return STATUS_OK;
	if (number == WARM_RUNS) {
		out->count = count;
		out->nodes = ARENA_ARRAY(out->arena, count + 1, struct profiled_node);
		r->ms = ARENA_ARRAY(out->arena, count * (size_t)out->runs + 1, double);
		for (size_t i = 0; i < count; i++)
			out->nodes[i] = (struct profiled_node){ .name = arena_strdup(out->arena, r->events[i].name), .op = arena_strdup(out->arena, r->events[i].op),
				.where = arena_strdup(out->arena, r->events[i].where) };
	}
	if (count != out->count)
		return error_set(err, STATUS_FAILED, "its profile has %zu nodes in one run and %zu in another", out->count, count);
	for (size_t i = 0; i < count; i++)
		r->ms[(number - WARM_RUNS) * count + i] = r->events[i].us / 1e3;
	return STATUS_OK;
}

static enum status add_event(struct runs *r, const json_t *event, struct error *err)
{
	const char *cat = json_string_value(json_object_get(event, "cat")), *name = json_string_value(json_object_get(event, "name"));
	const json_t *args = json_object_get(event, "args");
	const char *op = json_string_value(json_object_get(args, "op_name")), *where = json_string_value(json_object_get(args, "provider"));
	static const char ending[] = "_kernel_time";

	if (name && text_is(cat, "Session") && text_is(name, "model_run"))
		return end_run(r, err);
	if (!name || !text_is(cat, "Node") || !text_ends(name, ending))
		return STATUS_OK;
	if (r->count == r->capacity) {
		size_t capacity = r->capacity ? 2 * r->capacity : 1024;
		struct event *more = ARENA_ARRAY(r->arena, capacity, struct event);

		if (r->count)
			memcpy(more, r->events, r->count * sizeof *more);
		r->events = more;
		r->capacity = capacity;
	}
	r->events[r->count++] = (struct event){ .name = arena_strndup(r->arena, name, strlen(name) - strlen(ending)), .op = arena_strdup(r->arena, op ? op : ""),
		.where = arena_strdup(r->arena, where ? where : ""), .begin = json_number_value(json_object_get(event, "ts")),
		.us = json_number_value(json_object_get(event, "dur")) };
	return STATUS_OK;
}

static enum status read_file(const char *path, struct runs *r, struct error *err)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	enum status st = STATUS_OK;

	if (!f)
		return error_errno(err, "%s", path);
	while (!st && (length = getline(&line, &capacity, f)) > 0) {
		while (length > 0 && strchr(",\r\n ", line[length - 1]))
			length--;
		json_t *event = length > 2 && *line == '{' ? json_loadb(line, (size_t)length, 0, NULL) : NULL;

		if (event)
			st = add_event(r, event, err);
		json_decref(event);
	}
	free(line);
	fclose(f);
	return st;
}

// With the session in *s replaced by the profiled one for the length of the runs; the caller puts it back.
static enum status run_all(struct session *s, const struct tensor *in, struct profile *out, double *whole_ms, struct error *err)
{
	struct tensor *made = ARENA_ARRAY(&s->arena, s->output_count + 1, struct tensor);
	int64_t begin = clock_ns(), done = 0;
	enum status st = STATUS_OK;

	for (int64_t i = 0; i < WARM_RUNS + out->runs && !st; i++) {
		int64_t before = clock_ns();

		st = session_run(s, in, s->input_count, made, s->output_count, err);
		if (i < WARM_RUNS)
			continue;
		whole_ms[i - WARM_RUNS] = (double)(clock_ns() - before) / 1e6;
		done++;
		if (done >= RUNS_LEAST && clock_ns() - begin > RUNS_NS)
			break;
	}
	out->runs = done;
	return st;
}

enum status ort_profile(struct session *s, const struct artifact *a, const struct tensor *in, struct profile *out, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	OrtSession *measured = o->session, *profiled = NULL;
	double *whole_ms = ARENA_ARRAY(out->arena, (size_t)out->runs + 1, double);
	struct arena scratch = { 0 };
	struct runs r = { .arena = &scratch, .out = out };
	char *path = NULL;
	enum status st;

	o->profile_prefix = arena_printf(&s->arena, "%s/%d-profile", out->folder, (int)getpid());
	if ((st = ort_create_session(s, a, ORT_PROFILE, &profiled, err)))
		return st;
	o->session = profiled;
	st = run_all(s, in, out, whole_ms, err);
	o->session = measured;
	struct error ignored, *why = st ? &ignored : err;
	enum status ended = ort_check(api, api->SessionEndProfiling(profiled, o->allocator, &path), "ending the profile", why);

	st = st ? st : ended;
	if (path && !st)
		st = read_file(path, &r, err);
	if (path) {
		unlink(path);
		o->allocator->Free(o->allocator, path);
	}
	api->ReleaseSession(profiled);
	if (!st && (r.seen < WARM_RUNS + (size_t)out->runs || !out->count))
		st = error_set(err, STATUS_FAILED, "its profile holds %zu of %lld runs", r.seen, (long long)out->runs + WARM_RUNS);
	if (!st)
		profile_gather(out, r.ms, whole_ms, (size_t)out->runs);
	arena_done(&scratch);
	return st;
}
