// SPDX-License-Identifier: Apache-2.0
// Offline and server fill the machine: how many queries an engine answers at a time, and with which options, is looked for in
// short trials before the scenario, and stated. Candidates:
//   as it is open, one query after the other
//   the engine's own way (struct provider.fill): OpenVINO's hint THROUGHPUT, with as many requests as it calls optimal, and twice
//   as many
//   its threads split into runs side by side (provider.splits): 2, 4, .. up to one thread a run
//   of an engine with neither, 2 and 4 queries at a time, so that a device has work while another query is on its way
// One session is open at a time. The batch is --batch. Of all requests that one's outputs are judged which is farthest from the
// outputs of the session before.
#include "cell/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell/scenario.h"
#include "cell/say.h"
#include "base/clock.h"

struct fill {
	const char *options; // over all others; NULL: none
	size_t requests;
	double per_s;    // runs
	const char *why; // it gave nothing; NULL: it did
};
// Queries of a trial, and of offline where no --runs is given: its time ends it, not their number.
enum { FILLS_MOST = 16, QUERIES_MOST = 20000 };

struct filled {
	struct work *w;
	struct tensor **out; // [lane]
};

static enum status run_lane(void *context, size_t lane, struct error *err)
{
	struct filled *f = context;
	struct session *s = &f->w->part->session;

	return session_run_lane(s, lane, f->w->in, s->input_count, f->out[lane], err);
}

// Names of the session's inputs may live on in what was made of them: its memory stays until the process ends.
static void close_session(struct session *s)
{
	s->arena = (struct arena){ 0 };
	session_close(s);
}

static enum status open_as(struct work *w, const char *options, const char *more, struct error *err)
{
	struct part *p = w->part;

	if (p->session.backend)
		close_session(&p->session);
	if (more)
		options = options && *options ? arena_printf(&w->arena, "%s,%s", options, more) : more;
	return session_open(&p->session, w->backend, w->provider, w->target.device, options, &p->artifact, err);
}

static struct beside beside_of(struct filled *f, size_t lanes)
{
	struct work *w = f->w;

	f->out = ARENA_ARRAY(&w->arena, lanes + 1, struct tensor *);
	for (size_t i = 0; i < lanes; i++)
		f->out[i] = ARENA_ARRAY(&w->arena, w->part->session.output_count + 1, struct tensor);
	return (struct beside){ .context = f, .run = run_lane, .lanes = lanes };
}

// Each lane once, then for as long as the effort's warm-up.
static enum status try_fill(struct work *w, const char *options, struct fill *fill, double seconds, struct error *err)
{
	struct filled f = { .w = w };
	struct beside_sample sample;
	struct beside b;
	enum status st = open_as(w, options, fill->options, err);

	if (!st)
		st = session_lanes(&w->part->session, fill->requests, err);
	if (st)
		return st;
	b = beside_of(&f, fill->requests);
	st = beside_run(&b, &(struct beside_limits){ .least = fill->requests, .most = fill->requests }, &w->arena, &sample, err);
	if (!st)
		st = beside_run(&b,
			&(struct beside_limits){
				.least = 2 * fill->requests, .most = QUERIES_MOST, .limit_ns = (int64_t)(seconds * 1e9) },
			&w->arena, &sample, err);
	if (!st && sample.elapsed_ns > 0)
		fill->per_s = (double)sample.count * 1e9 / (double)sample.elapsed_ns;
	return st;
}

static bool is_named(const char *options, const char *option)
{
	const size_t n = strcspn(option, "=") + 1;

	for (const char *at = options; at && *at; at += at[strcspn(at, ",")] ? strcspn(at, ",") + 1 : strcspn(at, ","))
		if (!strncmp(at, option, n))
			return true;
	return false;
}

static int64_t told(const struct session *s, const char *name)
{
	const char *text = name ? session_option(s, name) : NULL;
	int64_t n;

	return text && text_to_int(text, 1, BESIDE_MOST, &n) ? n : 0;
}

// What the engine's own way comes to is known when it is open in it.
static size_t add_own(struct work *w, const char *options, struct fill *fills)
{
	const struct provider *p = w->provider;
	struct error ignored;
	int64_t n;

	if (!p->fill || is_named(w->target.options, p->fill) || open_as(w, options, p->fill, &ignored))
		return 0;
	n = told(&w->part->session, p->fill_told);
	if (n < 1)
		return 0;
	fills[0] = (struct fill){ .options = p->fill, .requests = (size_t)n };
	fills[1] = (struct fill){ .options = p->fill, .requests = 2 * (size_t)n };
	return n > 1 && 2 * n <= BESIDE_MOST ? 2 : 1;
}

static size_t add_split(struct work *w, int64_t threads, struct fill *fills)
{
	size_t count = 0;

	if (!w->provider->splits || !w->provider->threads)
		return 0;
	for (int64_t runs = 2; runs / 2 < threads && count + 4 < FILLS_MOST; runs *= 2) {
		const int64_t n = runs < threads ? runs : threads;

		fills[count++] = (struct fill){ .options = arena_printf(
							&w->arena, "%s=%lld", w->provider->threads, (long long)(threads / n)),
			.requests = (size_t)n };
	}
	return count;
}

// Outputs of the session before, which nobody has judged, as a copy.
static enum status keep_outputs(struct work *w, struct tensor **kept, struct error *err)
{
	const size_t count = w->part->session.output_count;

	*kept = ARENA_ARRAY(&w->arena, count + 1, struct tensor);
	for (size_t i = 0; i < count; i++) {
		(*kept)[i] = w->out[i];
		(*kept)[i].name = arena_strdup(&w->arena, w->out[i].name);
		if (!((*kept)[i].data = arena_try(&w->arena, w->out[i].nbytes + 1)))
			return error_set(
				err, STATUS_NO_MEMORY, "not enough memory to keep the outputs of a run beside those of the next");
		memcpy((*kept)[i].data, w->out[i].data, w->out[i].nbytes);
	}
	return STATUS_OK;
}

// Largest difference; infinite where shape or type differ, or a value is not finite.
static double distance(const struct tensor *x, const struct tensor *y, size_t outputs)
{
	double most = 0;

	for (size_t i = 0; i < outputs; i++) {
		size_t n;

		if (x[i].dtype != y[i].dtype || x[i].nbytes != y[i].nbytes || !tensor_count(x[i].rank, x[i].dim, &n))
			return INFINITY;
		if (!x[i].nbytes || !memcmp(x[i].data, y[i].data, x[i].nbytes))
			continue;
		for (size_t k = 0; k < n; k++) {
			const double d = fabs(tensor_get(&x[i], k) - tensor_get(&y[i], k));

			most = d > most || !isfinite(d) ? (isfinite(d) ? d : (double)INFINITY) : most;
		}
	}
	return most;
}

// w->out is then that of the request which is farthest from `kept`; how far, in words.
static const char *choose_outputs(struct work *w, const struct filled *f, size_t lanes, const struct tensor *kept)
{
	const size_t outputs = w->part->session.output_count;
	double most = -1;
	bool alike = true;

	for (size_t i = 0; i < lanes; i++) {
		const double d = distance(f->out[i], kept, outputs);

		alike = alike && !(distance(f->out[i], f->out[0], outputs) > 0);
		if (d > most) {
			most = d;
			w->out = f->out[i];
		}
	}
	return arena_printf(&w->arena, "%s; %s judged, %.3g from a run by itself",
		alike ? "all requests gave the same" : "requests differ", lanes > 1 ? "the farthest is" : "it is", most);
}

static json_t *tried(const struct fill *fills, size_t count, int64_t batch)
{
	json_t *all = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(all,
			json_pack("{s:s?, s:I, s:o, s:s?}", "options", fills[i].options, "requests",
				(json_int_t)fills[i].requests, "samples_per_s",
				fills[i].why ? json_null() : json_real(fills[i].per_s * (double)batch), "why", fills[i].why));
	return all;
}

static void say_filled(struct work *w, const struct fill *best, const char *outputs, json_t *result)
{
	const struct session *s = &w->part->session;
	const char *streams = session_option(s, "NUM_STREAMS"), *hint = session_option(s, "PERFORMANCE_HINT"),
		   *threads = w->provider->threads_told ? w->provider->threads_told : w->provider->threads;

	threads = threads ? session_option(s, threads) : NULL;
	json_object_set_new(result, "requests", json_integer((json_int_t)best->requests));
	json_object_set_new(result, "batch", json_integer(w->batch > 0 ? w->batch : 1));
	json_object_set_new(result, "engine_threads", threads ? json_string(threads) : json_null());
	json_object_set_new(result, "engine_streams", streams ? json_string(streams) : json_null());
	json_object_set_new(result, "hint", hint ? json_string(hint) : json_null());
	json_object_set_new(result, "outputs", json_string(outputs));
	say_row(json_pack("{s:O}", "options", s->options));
}

bool work_fills(const struct work *w, enum scenario kind)
{
	return (kind == SCENARIO_OFFLINE || kind == SCENARIO_SERVER) && w->backend->lanes && !w->tells_only &&
		w->part_count == 1 && !w->ask.as_shipped; // which leaves the engine alone
}

enum status work_fill(
	struct work *w, const struct scenario_ask *ask, struct scenario_result *result, json_t **json, struct error *err)
{
	const char *options = w->ask.options;
	const double seconds = effort_find(w->ask.effort)->warm_s;
	const struct session *s = &w->part->session;
	const char *threads_told = w->provider->threads_told ? w->provider->threads_told : w->provider->threads;
	const int64_t threads = told(s, threads_told), batch = w->batch > 0 ? w->batch : 1;
	struct scenario_ask as = *ask;
	struct fill fills[FILLS_MOST] = { { .requests = 1 } }, *best = NULL;
	struct filled f = { .w = w };
	struct error first = { 0 };
	struct tensor *kept;
	size_t count = 1;
	enum status st = keep_outputs(w, &kept, err);

	if (st)
		return st;
	say_phase("search");
	count += add_own(w, options, fills + count);
	count += add_split(w, threads, fills + count);
	for (size_t n = 2; !w->provider->fill && !w->provider->splits && n <= 4 && !(w->device && w->device->emulated); n *= 2)
		fills[count++] = (struct fill){ .requests = n };
	for (size_t i = 0; i < count; i++) {
		struct error why = { 0 };

		if (try_fill(w, options, &fills[i], seconds, &why)) {
			fills[i].why = arena_strdup(&w->arena, why.text);
			first = i ? first : why;
		} else if (!best || fills[i].per_s > best->per_s)
			best = &fills[i];
	}
	if (!best) {
		error_copy(err, first.status, &first);
		return error_prefix(err, "no way of asking it gave an answer");
	}
	if ((st = open_as(w, options, best->options, err)) || (st = session_lanes(&w->part->session, best->requests, err)))
		return st;
	if (best->options)
		w->ask.options = options && *options ? arena_printf(&w->arena, "%s,%s", options, best->options) : best->options;
	struct beside b = beside_of(&f, best->requests);
	struct beside_sample warm;
	if ((st = beside_run(&b, &(struct beside_limits){ .least = 2 * best->requests, .most = 2 * best->requests }, &w->arena,
		     &warm, err)))
		return st;
	work_memory(w, "memory");
	if (as.kind == SCENARIO_OFFLINE && w->ask.runs <= 0) {
		as.least = as.least > 4 * best->requests ? as.least : 4 * best->requests;
		as.queries = QUERIES_MOST;
	}
	say_phase("warm");
	work_energy_begin(w);
	if ((st = scenario_run_beside(&b, &as, &w->arena, result, err)))
		return st;
	work_energy_end(w, w->batch > 0 ? (double)result->count * (double)batch : (double)NAN, (double)NAN);
	say_phase("outputs");
	// A lane that had no query has no outputs: one more for each.
	for (size_t i = 0; i < best->requests; i++)
		if ((st = run_lane(&f, i, err)))
			return st;
	const char *outputs = choose_outputs(w, &f, best->requests, kept);
	*json = scenario_json(&as, result);
	say_filled(w, best, outputs, *json);
	json_object_set_new(*json, "tried", tried(fills, count, batch));
	return STATUS_OK;
}
