// SPDX-License-Identifier: Apache-2.0
// protocol.h. Between two timed runs there are two looks at the clock and a comparison; arrays are touched before.
#include "cell/protocol.h"

#include <string.h>

#include "base/text.h"
#include "stats/stats.h"

enum { WINDOW_LEAST = 3, WINDOW_MOST = 100, CLOCK_LOOKS = 101 };
static const int64_t window_ns = 10 * 1000 * 1000;

const char protocol_agree[] = "three windows agree within 5 %", protocol_time[] = "the limit of time",
	   protocol_count[] = "the limit of runs";

static const struct effort efforts[] = {
#define X(word, warm_s, warm_runs, least, sample_s, most, times, scenario_s, meaning) \
	{ word, warm_s, warm_runs, least, sample_s, most, times, scenario_s, meaning },
	EFFORT_LIST(X)
#undef X
};

const struct effort *effort_find(const char *word)
{
	for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++)
		if (text_is(efforts[i].word, word ? word : "normal"))
			return &efforts[i];
	return NULL;
}

struct protocol_limits protocol_limits(const struct effort *e, int64_t runs)
{
	struct protocol_limits l = { .warm_ns = (int64_t)(e->warm_s * 1e9),
		.warm_runs = e->warm_runs,
		.least = e->least,
		.most = e->most,
		.sample_ns = (int64_t)(e->sample_s * 1e9) };

	if (runs > 0) {
		l.least = l.most = (size_t)runs;
		l.warm_runs = l.warm_runs < l.most ? l.warm_runs : l.most;
	}
	return l;
}

enum status protocol_once(const struct protocol_run *r, int64_t *ns, struct error *err)
{
	int64_t told = -1, before = r->now(r->context);
	enum status st = r->run(r->context, &told, err);

	*ns = told >= 0 ? told : r->now(r->context) - before;
	return st;
}

static bool agree(const double m[3])
{
	double least = stats_min(m, 3);

	return stats_max(m, 3) <= least * STATS_STABLE_WITHIN;
}

enum status protocol_warm_up(const struct protocol_run *r, const struct protocol_limits *l, struct arena *a,
	struct protocol_warmup *out, struct error *err)
{
	double window[WINDOW_MOST], median[3] = { 0 };
	size_t filled = 0, windows = 0;
	int64_t begin = r->now(r->context), window_began = begin, now, ns;
	enum status st;

	*out = (struct protocol_warmup){ .each = ARENA_ARRAY(a, l->warm_runs + 1, int64_t) };
	while (!out->end) {
		if ((st = protocol_once(r, &ns, err)))
			return error_prefix(err, "warm-up run %zu", out->runs + 1);
		now = r->now(r->context);
		out->each[out->runs] = ns;
		if (out->runs++)
			window[filled++] = (double)ns;
		else
			window_began = now;
		if (filled == WINDOW_MOST || (filled >= WINDOW_LEAST && now - window_began >= window_ns)) {
			memmove(median, median + 1, 2 * sizeof *median);
			median[2] = stats_median_of(window, filled);
			filled = 0;
			window_began = now;
			out->end = ++windows >= 3 && agree(median) ? protocol_agree : NULL;
		}
		if (!out->end)
			out->end = now - begin >= l->warm_ns ? protocol_time : out->runs >= l->warm_runs ? protocol_count : NULL;
		out->ns = now - begin;
	}
	return STATUS_OK;
}

static double clock_us(const struct protocol_run *r)
{
	double us[CLOCK_LOOKS];

	for (size_t i = 0; i < CLOCK_LOOKS; i++) {
		int64_t before = r->now(r->context);

		us[i] = (double)(r->now(r->context) - before) / 1e3;
	}
	return stats_median_of(us, CLOCK_LOOKS);
}

enum status protocol_sample(const struct protocol_run *r, const struct protocol_limits *l, struct arena *a,
	struct protocol_sample *out, struct error *err)
{
	int64_t *took = ARENA_ARRAY(a, l->most, int64_t), *began = ARENA_ARRAY(a, l->most, int64_t),
		*ended = ARENA_ARRAY(a, l->most, int64_t);
	size_t count = 0;
	enum status st;

	memset(took, 1, l->most * sizeof *took); // their pages are there before the clock runs
	memset(began, 1, l->most * sizeof *began);
	memset(ended, 1, l->most * sizeof *ended);
	*out = (struct protocol_sample){ .ns = took, .clock_us = clock_us(r) };
	while (count < l->most && (count < l->least || ended[count - 1] - began[0] < l->sample_ns)) {
		int64_t told = -1;

		began[count] = r->now(r->context);
		if ((st = r->run(r->context, &told, err)))
			return error_prefix(err, "timed run %zu", count + 1);
		ended[count] = r->now(r->context);
		took[count] = told >= 0 ? told : ended[count] - began[count];
		count++;
	}
	out->count = count;
	double *gap = ARENA_ARRAY(a, count, double);
	for (size_t i = 0; i + 1 < count; i++)
		gap[i] = (double)(began[i + 1] - ended[i]) / 1e3;
	out->harness_us = count > 1 ? stats_median_of(gap, count - 1) - out->clock_us : 0;
	out->harness_us = out->harness_us > 0 ? out->harness_us : 0;
	return STATUS_OK;
}
