// SPDX-License-Identifier: Apache-2.0
// scenario.h. A query is `streams` samples of multi-stream and else one run. A percentile is claimed by LoadGen's rule of early
// stopping: of few queries the estimate is a higher order statistic, so that chance cannot make a machine look good. It does not
// know models, and nothing of it is a submission to MLPerf: that wants its models, data and durations.
#include "cell/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "stats/early_stop.h"

static const struct {
	const char *word;
	double percentile;
} kinds[] = {
#define X(code, word, percentile, meaning) { word, percentile },
	SCENARIO_LIST(X)
#undef X
};

enum scenario scenario_find(const char *word)
{
	size_t i = 0;

	while (word && i < SCENARIO_COUNT && !text_is(kinds[i].word, word))
		i++;
	return (enum scenario)i;
}

struct scenario_ask scenario_plan(const struct question *q, const struct effort *e, int64_t batch)
{
	struct scenario_ask ask = { .kind = scenario_find(q->scenario),
		.batch = batch,
		.rate_per_s = q->rate_per_s,
		.bound_ms = q->latency_bound_ms,
		.seed = (uint64_t)q->seed,
		.least = 1,
		.limit_ns = (int64_t)(e->scenario_s * 1e9) };
	double p = kinds[ask.kind].percentile;

	ask.streams = ask.kind != SCENARIO_MULTI_STREAM ? batch : q->streams > 0 ? q->streams : SCENARIO_STREAMS;
	if (ask.kind == SCENARIO_OFFLINE) {
		ask.least = e->least;
		ask.queries = e->most;
		ask.limit_ns = (int64_t)(e->sample_s * 1e9);
	} else {
		ask.queries = (size_t)early_stop_queries(1, p) * e->scenario_times;
	}
	if (q->runs > 0) {
		ask.queries = (size_t)q->runs;
		ask.limit_ns = ask.kind == SCENARIO_SERVER
			? (int64_t)fmin(9e18, 2e9 * (double)q->runs / ask.rate_per_s) + ask.limit_ns
			: 0;
	}
	return ask;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

// Runs until the samples of a query are through; what each took, added.
static enum status answer(const struct protocol_run *r, const struct scenario_ask *ask, int64_t *ns, struct error *err)
{
	*ns = 0;
	for (int64_t sent = 0; sent < ask->streams; sent += ask->batch) {
		int64_t took;
		enum status st = protocol_once(r, &took, err);

		if (st)
			return st;
		*ns += took;
	}
	return STATUS_OK;
}

// The gap to the next arrival: exponential, by its inverse distribution function.
static int64_t gap_ns(const struct scenario_ask *ask, size_t i)
{
	double u = (double)(splitmix64(ask->seed, i) >> 11) * 0x1p-53;

	return (int64_t)(-log1p(-u) / ask->rate_per_s * 1e9);
}

static void claim_bound(const struct scenario_ask *ask, struct scenario_result *out, struct arena *a)
{
	size_t all = out->count + out->unanswered;
	double p = kinds[ask->kind].percentile, share;
	const char *kept = "";

	for (size_t i = 0; i < out->count; i++)
		out->late += (double)out->latency_ns[i] > ask->bound_ms * 1e6;
	share = all ? (double)out->late / (double)all : 0;
	out->needed = early_stop_queries((int64_t)out->late, p);
	out->is_valid = (int64_t)all >= out->needed;
	if (out->unanswered || out->throughput_per_s < 0.9 * ask->rate_per_s * (double)ask->batch)
		kept = arena_printf(a, "; it answered %.4g a second of the %.4g that arrived%s", out->throughput_per_s,
			ask->rate_per_s * (double)ask->batch,
			out->unanswered ? arena_printf(a, ", and %zu were waiting when the time was over", out->unanswered) : "");
	if (out->is_valid)
		out->why = arena_printf(a,
			"%zu of %zu queries took longer than %g ms: %gth percentile within the bound, with 99 %% confidence if "
			"queries are "
			"independent",
			out->late, all, ask->bound_ms, 100 * p);
	else if (share > 1 - p)
		out->why = arena_printf(a, "%zu of %zu queries took longer than %g ms, %.3g %%%s", out->late, all, ask->bound_ms,
			100 * share, kept);
	else
		out->why = arena_printf(a,
			"%zu of %zu queries took longer than %g ms: %lld more, none of them late, would be needed to claim %g "
			"%%%s",
			out->late, all, ask->bound_ms, (long long)(out->needed - (int64_t)all), 100 * p, kept);
}

static void claim_percentile(const struct scenario_ask *ask, struct scenario_result *out, struct arena *a)
{
	double p = kinds[ask->kind].percentile;
	int64_t late = early_stop_late((int64_t)out->count, p), *sorted = ARENA_ARRAY(a, out->count ? out->count : 1, int64_t);

	out->needed = early_stop_queries(1, p);
	if (late < 1) {
		out->why = arena_printf(a, "n too small: %zu queries, and %lld are needed for %g %%", out->count,
			(long long)out->needed, 100 * p);
		return;
	}
	memcpy(sorted, out->latency_ns, out->count * sizeof *sorted);
	qsort(sorted, out->count, sizeof *sorted, ascending);
	out->estimate_ms = (double)sorted[out->count - (size_t)late] / 1e6;
	out->is_valid = !(ask->bound_ms > 0) || out->estimate_ms <= ask->bound_ms;
	out->why =
		arena_printf(a, "%g %% of the queries take at most %.4g ms, with 99 %% confidence if queries are independent%s",
			100 * p, out->estimate_ms,
			ask->bound_ms <= 0
				? ""
				: arena_printf(a, out->is_valid ? ", within the bound of %g ms" : ", beyond the bound of %g ms",
					  ask->bound_ms));
}

// From what was counted to what may be claimed.
static void conclude(const struct scenario_ask *ask, struct scenario_result *out, struct arena *a)
{
	const bool is_server = ask->kind == SCENARIO_SERVER;

	out->late = out->unanswered;
	out->throughput_per_s =
		out->elapsed_ns > 0 ? (double)out->count * (double)ask->streams * 1e9 / (double)out->elapsed_ns : (double)NAN;
	if (is_server) {
		claim_bound(ask, out, a);
	} else if (kinds[ask->kind].percentile > 0) {
		claim_percentile(ask, out, a);
	} else {
		out->is_valid = true;
		out->why = arena_printf(a, "%lld samples in %.3g s", (long long)out->count * (long long)ask->streams,
			(double)out->elapsed_ns / 1e9);
	}
}

enum status scenario_run(const struct protocol_run *r, const struct scenario_ask *ask, struct arena *a,
	struct scenario_result *out, struct error *err)
{
	bool is_server = ask->kind == SCENARIO_SERVER;
	int64_t begin, now, arrival;
	size_t i;
	enum status st;

	*out = (struct scenario_result){ .latency_ns = ARENA_ARRAY(a, ask->queries + 1, int64_t), .estimate_ms = (double)NAN };
	memset(out->latency_ns, 1, (ask->queries + 1) * sizeof *out->latency_ns); // its pages are there before the clock runs
	begin = arrival = now = r->now(r->context);
	for (i = 0; i < ask->queries; i++) {
		int64_t took, waited = 0;

		if (ask->limit_ns > 0 && i >= ask->least && now - begin >= ask->limit_ns)
			break;
		if (is_server) {
			arrival += gap_ns(ask, i);
			if (ask->limit_ns > 0 && arrival - begin >= ask->limit_ns)
				break;
			if (arrival > now)
				r->wait(r->context, arrival);
			waited = r->now(r->context) - arrival;
			waited = waited > 0 ? waited : 0;
		}
		if ((st = answer(r, ask, &took, err)))
			return error_prefix(err, "query %zu", i + 1);
		out->latency_ns[out->count++] = waited + took;
		now = r->now(r->context);
	}
	// Those that came before the end and were not answered in time; `arrival` is of the last one looked at, answered or not.
	for (arrival = begin, i = 0; is_server && i < ask->queries; i++) {
		arrival += gap_ns(ask, i);
		out->unanswered += i >= out->count && arrival <= now;
	}
	out->elapsed_ns = now - begin;
	conclude(ask, out, a);
	return STATUS_OK;
}

enum status scenario_run_beside(
	const struct beside *b, const struct scenario_ask *ask, struct arena *a, struct scenario_result *out, struct error *err)
{
	struct beside_limits limits = { .least = ask->least, .most = ask->queries, .limit_ns = ask->limit_ns };
	struct beside_sample sample;
	enum status st;

	if (ask->kind == SCENARIO_SERVER) {
		int64_t *arrive = ARENA_ARRAY(a, ask->queries + 1, int64_t), ns = 0;

		for (size_t i = 0; i < ask->queries; i++)
			arrive[i] = ns += gap_ns(ask, i);
		limits.arrive_ns = arrive;
	}
	if ((st = beside_run(b, &limits, a, &sample, err)))
		return st;
	*out = (struct scenario_result){ .latency_ns = sample.latency_ns,
		.count = sample.count,
		.unanswered = sample.unanswered,
		.elapsed_ns = sample.elapsed_ns,
		.estimate_ms = (double)NAN };
	conclude(ask, out, a);
	return STATUS_OK;
}

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

json_t *scenario_json(const struct scenario_ask *ask, const struct scenario_result *r)
{
	double p = kinds[ask->kind].percentile;

	return json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:b, s:s}", "scenario",
		kinds[ask->kind].word, "queries", (json_int_t)r->count, "unanswered", (json_int_t)r->unanswered,
		"samples_per_query", (json_int_t)ask->streams, "percentile", p > 0 ? json_real(100 * p) : json_null(),
		"confidence", p > 0 ? json_real(EARLY_STOP_CONFIDENCE) : json_null(), "bound_ms",
		ask->bound_ms > 0 ? json_real(ask->bound_ms) : json_null(), "late", (json_int_t)r->late, "queries_needed",
		r->needed > 0 ? json_integer(r->needed) : json_null(), "estimate_ms", real(r->estimate_ms), "elapsed_s",
		real((double)r->elapsed_ns / 1e9), "throughput_per_s", real(r->throughput_per_s), "valid", (int)r->is_valid,
		"why", r->why);
}
