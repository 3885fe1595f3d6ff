// SPDX-License-Identifier: Apache-2.0
// How long each node of ONNX Runtime's own graph takes: a second session over the same options writes its profile, a JSON array
// with one event a line, which is read line by line and removed. Events come in the order in which they end, so a node that holds
// a graph of its own comes after the nodes in there: those lie within its time and are left out, or they would count twice.
//
//   {"cat":"Node","dur":98,"ts":1369080,"name":"embed/Shape_kernel_time",
//    "args":{"op_name":"Shape","provider":"CPUExecutionProvider",...}}
//   {"cat":"Session","dur":439672,"ts":3857738,"name":"model_run","args":{}}
//
// Of a device it writes down there how long it took to hand the node over, not how long the device worked. WebGPU's provider
// tells that too, by the adapter's own clock (timestamp-query), a line for each kernel, of all runs in their order, after the
// last run. So there a node's time is that of its kernels, what was only handed over has none, and nodes left to the processor
// have theirs as above. For other devices there is nothing.
//
//   {"cat":"Api","dur":92,"ts":0,"name":"embed/Gather_1&Gather&Gather","args":{"shapes":...}}       node & op & program
#include "backend/ort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/claim.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"

enum { WARM_RUNS = 2, RUNS_LEAST = 5 };
#define RUNS_NS ((int64_t)10000000000) // after so long the least will do
static const char processor[] = "CPUExecutionProvider", webgpu[] = "WebGpuExecutionProvider";

enum status ort_can_profile(const struct provider *p, struct error *err)
{
	const char *ep = ((const struct ort_provider *)p->detail)->ep;

	if (!text_is(ep, processor) && !text_is(ep, webgpu))
		return error_set(err, STATUS_UNSUPPORTED,
			"ONNX Runtime's profile tells how long it takes to hand a node to %s, not how long the device works on "
			"it; profile cpu, openvino or webgpu:native",
			ep);
	return STATUS_OK;
}

struct event {
	char *name, *op, *where, *kernel;
	double begin, us;
};
struct events {
	struct event *items;
	size_t count, capacity;
};
struct runs {
	struct arena *arena;
	struct events events;  // of the run that is being read
	struct events kernels; // of a device, of all runs
	bool of_device;
	size_t seen; // whole runs
	double *ms;  // [runs][nodes]
	struct profile *out;
};

static int by_begin(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->us < y->us) - (x->us > y->us); // what holds the other goes first
}

// Without nodes that ran inside another one.
static size_t flatten(struct event *e, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(e, count, sizeof *e, by_begin);
	for (size_t i = 0; i < count; i++)
		if (!kept || e[i].begin >= e[kept - 1].begin + e[kept - 1].us || e[i].us == 0)
			e[kept++] = e[i];
	return kept;
}

static enum status end_run(struct runs *r, struct error *err)
{
	struct profile *out = r->out;
	size_t count = flatten(r->events.items, r->events.count), number = r->seen++;

	r->events.count = 0;
	if (number < WARM_RUNS || (int64_t)(number - WARM_RUNS) >= out->runs)
		return STATUS_OK;
	if (number == WARM_RUNS) {
		out->count = count;
		out->nodes = ARENA_ARRAY(out->arena, count + 1, struct profiled_node);
		r->ms = ARENA_ARRAY(out->arena, count * (size_t)out->runs + 1, double);
		for (size_t i = 0; i < count; i++)
			out->nodes[i] = (struct profiled_node){ .name = arena_strdup(out->arena, r->events.items[i].name),
				.op = arena_strdup(out->arena, r->events.items[i].op),
				.where = arena_strdup(out->arena, r->events.items[i].where) };
	}
	if (count != out->count)
		return error_set(
			err, STATUS_FAILED, "its profile has %zu nodes in one run and %zu in another", out->count, count);
	for (size_t i = 0; i < count; i++)
		r->ms[(number - WARM_RUNS) * count + i] = r->events.items[i].us / 1e3;
	return STATUS_OK;
}

static void push(struct runs *r, struct events *to, struct event e)
{
	if (to->count == to->capacity) {
		size_t capacity = to->capacity ? 2 * to->capacity : 1024;
		struct event *more = ARENA_ARRAY(r->arena, capacity, struct event);

		if (to->count)
			memcpy(more, to->items, to->count * sizeof *more);
		to->items = more;
		to->capacity = capacity;
	}
	to->items[to->count++] = e;
}

// "node&op&program"
static void add_kernel(struct runs *r, const char *name, double us)
{
	const char *program = strrchr(name, '&'), *op = program;

	while (op && op > name && *--op != '&') {
	}
	if (op && op > name)
		push(r, &r->kernels,
			(struct event){ .name = arena_strndup(r->arena, name, (size_t)(op - name)),
				.op = arena_strndup(r->arena, op + 1, (size_t)(program - op - 1)),
				.kernel = arena_strdup(r->arena, program + 1),
				.us = us });
}

// A device's nodes before those of the processor that are there already; neighbours of one name are one node's kernels.
static enum status add_device(struct runs *r, const char *where, struct error *err)
{
	struct profile *out = r->out;
	size_t each = r->seen ? r->kernels.count / r->seen : 0, runs = (size_t)out->runs, before = out->count, count = 0;
	const struct event *first = r->kernels.items;

	if (!each)
		return error_set(err, STATUS_UNSUPPORTED, "this adapter tells no times: it has no timestamp-query");
	struct profiled_node *nodes = ARENA_ARRAY(out->arena, each + before, struct profiled_node);
	double *ms = ARENA_ARRAY(out->arena, (each + before) * runs + 1, double);
	size_t *node_of = ARENA_ARRAY(r->arena, each, size_t);
	for (size_t i = 0; i < each; i++) {
		if (!i || !text_is(first[i].name, first[i - 1].name))
			nodes[count++] = (struct profiled_node){ .name = arena_strdup(out->arena, first[i].name),
				.op = arena_strdup(out->arena, first[i].op),
				.kernel = arena_strdup(out->arena, first[i].kernel),
				.where = where,
				.on_device = true };
		node_of[i] = count - 1;
	}
	for (size_t i = 0; i < r->kernels.count; i++)
		if (r->kernels.count % r->seen || !text_is(first[i].name, first[i % each].name))
			return error_set(err, STATUS_FAILED, "its profile has other kernels in one run than in another");
	memcpy(nodes + count, out->nodes, before * sizeof *nodes);
	for (size_t run = 0; run < runs; run++) {
		double *row = ms + run * (count + before);

		memset(row, 0, count * sizeof *row);
		for (size_t i = 0; i < each; i++)
			row[node_of[i]] += first[(WARM_RUNS + run) * each + i].us / 1e3;
		memcpy(row + count, r->ms + run * before, before * sizeof *row);
	}
	out->nodes = nodes;
	out->count = count + before;
	r->ms = ms;
	return STATUS_OK;
}

static enum status add_event(struct runs *r, const json_t *event, struct error *err)
{
	const char *cat = json_string_value(json_object_get(event, "cat")),
		   *name = json_string_value(json_object_get(event, "name"));
	const json_t *args = json_object_get(event, "args");
	const char *op = json_string_value(json_object_get(args, "op_name")),
		   *where = json_string_value(json_object_get(args, "provider"));
	static const char ending[] = "_kernel_time";

	if (name && text_is(cat, "Session") && text_is(name, "model_run"))
		return end_run(r, err);
	if (name && r->of_device && text_is(cat, "Api"))
		add_kernel(r, name, json_number_value(json_object_get(event, "dur")));
	if (!name || !text_is(cat, "Node") || !text_ends(name, ending) || (r->of_device && !text_is(where, processor)))
		return STATUS_OK;
	push(r, &r->events,
		(struct event){ .name = arena_strndup(r->arena, name, strlen(name) - strlen(ending)),
			.op = arena_strdup(r->arena, op ? op : ""),
			.where = arena_strdup(r->arena, where ? where : ""),
			.begin = json_number_value(json_object_get(event, "ts")),
			.us = json_number_value(json_object_get(event, "dur")) });
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
		json_t *event = length > 2 && *line == '{' ? json_line(line, (size_t)length) : NULL;

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

// ONNX Runtime says nothing of lines that it could not write.
static enum status cut_off(size_t seen, const struct profile *out, struct error *err)
{
	static const struct process_limit size = { RLIMIT_FSIZE, 0, false };
	enum { ROOM = 1 << 20 };
	enum status st = process_check_limits(getpid(), &size, 1, "its profile", err);

	if (!st && file_free_bytes(out->folder) < ROOM)
		return error_set(err, STATUS_NO_SPACE, "%s: No space left on device for its profile", out->folder);
	return st ? st
		  : error_set(err, STATUS_FAILED, "its profile holds %zu of %lld runs", seen, (long long)out->runs + WARM_RUNS);
}

enum status ort_profile(
	struct session *s, const struct artifact *a, const struct tensor *in, struct profile *out, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	OrtSession *measured = o->session, *profiled = NULL;
	double *whole_ms = ARENA_ARRAY(out->arena, (size_t)out->runs + 1, double);
	struct arena scratch = { 0 };
	const char *ep = ((const struct ort_provider *)s->provider->detail)->ep;
	struct runs r = { .arena = &scratch, .out = out, .of_device = !text_is(ep, processor) };
	char *path = NULL;
	enum status st;

	o->profile_prefix = arena_printf(&s->arena, "%s/%s-profile", out->folder, claim_token());
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
	if (!st && r.of_device && r.seen >= WARM_RUNS + (size_t)out->runs)
		st = add_device(&r, ep, err);
	if (!st && (r.seen < WARM_RUNS + (size_t)out->runs || !out->count))
		st = cut_off(r.seen, out, err);
	if (!st)
		profile_gather(out, r.ms, whole_ms, (size_t)out->runs);
	arena_done(&scratch);
	return st;
}
