// SPDX-License-Identifier: Apache-2.0
// ab.h: the order of the cells, what of their rows is compared, and the lines. Statistics are in stats/compare.c.
#include "analysis/ab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

static const struct {
	const char *word, *what;
} metrics[] = {
#define X(code, word, what) { word, what },
	AB_METRIC_LIST(X)
#undef X
};

const char *ab_metric_word(enum ab_metric m)
{
	return metrics[m].word;
}

const char *ab_metric_what(enum ab_metric m)
{
	return metrics[m].what;
}

enum ab_metric ab_metric_find(const char *word)
{
	for (size_t i = 0; i < AB_METRIC_COUNT; i++)
		if (text_is(metrics[i].word, word))
			return (enum ab_metric)i;
	return AB_METRIC_COUNT;
}

const char *ab_side_name(struct arena *a, const struct target *t, const struct question *q)
{
	const char *own = t->options ? t->options : "";
	const char *out = arena_printf(a, "%s%s%s%s%s%s%s%s", t->platform->name, t->device && *t->device ? ":" : "",
		t->device ? t->device : "", *own ? " " : "", own,
		q->is_static            ? " static"
			: q->is_dynamic ? " dynamic"
					: "",
		q->precision ? " " : "", q->precision ? q->precision : "");

	if (q->threads > 0)
		out = arena_printf(a, "%s %lld thread%s", out, (long long)q->threads, q->threads == 1 ? "" : "s");
	return q->image_size > 0 ? arena_printf(a, "%s images of %lld", out, (long long)q->image_size) : out;
}

// ---- the cells -----------------------------------------------------------------------------------------------------------

struct run_side {
	struct compare_process *process[AB_METRIC_COUNT]; // [pairs]; count 0: this cell did not tell
	int64_t *rows;                                    // of the cells that count
	size_t count;
	struct row first; // of the first cell, for what both sides were
	enum verdict worst;
	bool has_run, is_emulated;
	bool took_none;    // the first cell did
	int64_t elsewhere; // nodes that the first cell left to another provider; ROW_NONE
	const char *cause; // why it cannot go on
};

struct run {
	const struct ab *ab;
	struct arena *arena;
	size_t pairs;
	struct plan_memory memory[2];
	struct run_side side[2];
	bool is_stopped;
};

static enum verdict worse(enum verdict x, enum verdict y)
{
	int a = verdict_exit_code(x), b = verdict_exit_code(y);

	return a == b ? x : a > b ? x : y;
}

static struct compare_process one_time(struct arena *a, double ms)
{
	double *copy = ARENA_NEW(a, double);

	*copy = ms;
	return (struct compare_process){ copy, ms > 0 };
}

static void take(struct run *r, int side, size_t pair, const struct cell_result *c)
{
	struct run_side *s = &r->side[side];
	double *samples = ARENA_ARRAY(r->arena, c->sample_count + 1, double);
	const struct row *row = &c->row;

	for (size_t i = 0; i < c->sample_count; i++)
		samples[i] = c->sample_ms[i];
	s->process[AB_LOAD][pair - 1] = one_time(r->arena, row->load_ms);
	s->process[AB_FIRST][pair - 1] = one_time(r->arena, row->first_ms);
	s->process[AB_READY][pair - 1] = one_time(r->arena, row->load_ms + row->first_ms);
	s->process[AB_LATENCY][pair - 1] = (struct compare_process){ samples, c->sample_count };
	s->rows[s->count++] = row->row;
}

// An emulated device gets a short input where no length was asked for: its time against that of the usual length says nothing.
static const char *unlike_shapes(const struct run *r)
{
	const struct row *a = &r->side[0].first, *b = &r->side[1].first;

	if (!r->side[0].has_run || !r->side[1].has_run || a->sequence == ROW_NONE || b->sequence == ROW_NONE ||
		a->sequence == b->sequence)
		return NULL;
	return arena_printf(r->arena,
		"A ran %lld tokens and B %lld: times of different shapes are not compared; --seq gives both the same length",
		(long long)a->sequence, (long long)b->sequence);
}

// Pair 0 does not count.
static enum status run_cell(struct run *r, int side, size_t pair, struct error *err)
{
	const struct ab *ab = r->ab;
	struct run_side *s = &r->side[side];
	struct arena a = { 0 };
	struct cell_result result;
	struct question q = ab->side[side].question;

	q.no_explain = pair > 0 && !s->took_none; // a second compilation, untimed; once is enough
	enum status st = plan_run(
		&(struct plan_asked){
			.model = ab->model, .target = &ab->side[side].target, .question = &q, .memory = &r->memory[side] },
		ab->store, ab->watch, &a, &result, err);

	if (st) {
		arena_done(&a);
		return st;
	}
	s->worst = s->has_run ? worse(s->worst, result.verdict) : result.verdict;
	if (!s->has_run) {
		row_init(&s->first);
		s->first.batch = result.row.batch;
		s->first.sequence = result.row.sequence;
		s->first.device = arena_strdup(r->arena, result.row.device);
		s->elsewhere = result.row.nodes_elsewhere;
		s->took_none = row_took_none(&result.row);
	}
	s->has_run = true;
	s->is_emulated = s->is_emulated || result.row.emulated == 1;
	if (result.verdict == VERDICT_INTERRUPTED) {
		r->is_stopped = true;
	} else if (result.verdict == VERDICT_FELL_BACK) {
		s->cause = arena_printf(r->arena, "%c was asked for on %s and ran on %s", "AB"[side], result.row.requested,
			result.row.actual ? result.row.actual : "another");
	} else if (!verdict_ran(result.verdict)) {
		s->cause = arena_printf(r->arena, "%c did not run: %s%s%s", "AB"[side], verdict_word(result.verdict),
			result.row.cause ? ": " : "", result.row.cause ? result.row.cause : "");
	} else if ((s->cause = unlike_shapes(r))) {
		;
	} else if (pair > 0) {
		take(r, side, pair, &result);
	}
	if (ab->progress)
		ab->progress(ab->context, pair, r->pairs, side, &result);
	arena_done(&a);
	return STATUS_OK;
}

static bool goes_on(const struct run *r)
{
	return !r->is_stopped && !r->side[0].cause && !r->side[1].cause &&
		!(r->ab->watch && r->ab->watch->stop && *r->ab->watch->stop);
}

static enum status run_all(struct run *r, size_t *whole, struct error *err)
{
	enum status st = STATUS_OK;

	for (size_t pair = 0; pair <= r->pairs && !st && goes_on(r); pair++) {
		int first = pair % 2 == 0; // A B, B A, A B: what drifts is the same for both

		st = run_cell(r, first, pair, err);
		if (!st && goes_on(r))
			st = run_cell(r, !first, pair, err);
		if (!st && pair > 0 && r->side[0].count == pair && r->side[1].count == pair)
			*whole = pair;
	}
	if (!st && *whole < r->pairs && !r->side[0].cause && !r->side[1].cause)
		r->is_stopped = true;
	return st;
}

// ---- the lines -----------------------------------------------------------------------------------------------------------

static const char *rows_text(struct arena *a, const int64_t *rows, size_t count)
{
	struct text t = { 0 };

	text_add(&t, "[");
	for (size_t i = 0; i < count; i++)
		if (rows[i] != ROW_NONE)
			text_addf(&t, "%s%lld", t.length > 1 ? "," : "", (long long)rows[i]);
	text_add(&t, "]");
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

static double load_average(void)
{
	double load;

	return getloadavg(&load, 1) == 1 ? load : (double)NAN;
}

static void describe(const struct run *r, double load_before, struct store_comparison *out)
{
	const struct ab *ab = r->ab;
	const struct target *ta = &ab->side[0].target, *tb = &ab->side[1].target;
	const struct run_side *a = &r->side[0], *b = &r->side[1];

	comparison_init(out);
	out->preset = ab->preset;
	out->what = ab->what;
	out->claim = ab->claim;
	out->model = ab->model->model;
	out->side_a = ab->side[0].name;
	out->side_b = ab->side[1].name;
	out->requested_a = ta->platform ? ta->platform->name : NULL;
	out->device_a = a->has_run && a->first.device ? a->first.device : ta->device;
	out->options_a = ta->options;
	out->requested_b = tb->platform ? tb->platform->name : NULL;
	out->device_b = b->has_run && b->first.device ? b->first.device : tb->device;
	out->options_b = tb->options;
	out->static_a = ab->side[0].question.is_static;
	out->static_b = ab->side[1].question.is_static;
	out->verdict_a = a->has_run ? verdict_word(a->worst) : NULL;
	out->verdict_b = b->has_run ? verdict_word(b->worst) : NULL;
	out->emulated_a = a->has_run ? a->is_emulated : -1;
	out->emulated_b = b->has_run ? b->is_emulated : -1;
	out->synthetic = ab->model->synthetic;
	out->layers = ab->model->layers > 0 ? ab->model->layers : ROW_NONE;
	out->batch = a->has_run ? a->first.batch : ROW_NONE;
	out->sequence = a->has_run ? a->first.sequence : ROW_NONE;
	out->rows_a = rows_text(r->arena, a->rows, a->count);
	out->rows_b = rows_text(r->arena, b->rows, b->count);
	out->load_before = load_before;
	out->load_after = load_average();
	out->compared_at = arena_strdup(r->arena, clock_utc((char[32]){ 0 }));
}

static const char *count_text(struct arena *a, int64_t n)
{
	return n == ROW_NONE ? "an unknown number" : arena_printf(a, "%lld", (long long)n);
}

// What to know before believing the figure.
static const char *warning(const struct run *r)
{
	for (int k = 0; k < 2; k++)
		if (r->side[k].has_run && r->side[k].worst == VERDICT_WRONG)
			return arena_printf(r->arena, "the outputs of %c are wrong", "AB"[k]);
	for (int k = 0; k < 2; k++)
		if (r->side[k].took_none)
			return arena_printf(r->arena, "no node of %c ran on the platform that was asked for", "AB"[k]);
	if (r->side[0].elsewhere > 0 || r->side[1].elsewhere > 0)
		return arena_printf(r->arena, "nodes that ran on another provider: %s of A, %s of B",
			count_text(r->arena, r->side[0].elsewhere), count_text(r->arena, r->side[1].elsewhere));
	return text_is(r->ab->side[0].name, r->ab->side[1].name) ? "A and B are the same question: what differs is noise" : NULL;
}

static void compare_metric(const struct run *r, enum ab_metric m, size_t pairs, struct store_comparison *out)
{
	struct comparison c;
	struct error err = { 0 };

	out->metric = ab_metric_word(m);
	out->pairs = (int64_t)pairs;
	out->verdict = compare_word(COMPARE_CANNOT_TELL);
	for (int k = 0; k < 2 && !out->cause; k++)
		out->cause = r->side[k].cause;
	if (out->cause || pairs == 0)
		return;
	if (compare_paired(r->side[0].process[m], r->side[1].process[m], pairs, r->ab->seed, &c, &err)) {
		out->cause = arena_strdup(r->arena, err.text);
		return;
	}
	out->samples_a = (int64_t)c.a_samples;
	out->samples_b = (int64_t)c.b_samples;
	out->a_ms = c.a_ms;
	out->b_ms = c.b_ms;
	out->ratio = c.ratio;
	out->low = c.low;
	out->high = c.high;
	out->low95 = c.low95;
	out->high95 = c.high95;
	out->verdict = compare_word(c.verdict);
	out->cause = warning(r);
	if (!out->cause && pairs < COMPARE_LEAST)
		out->cause = arena_printf(r->arena, "n too small: %zu of %d pairs", pairs, COMPARE_LEAST);
}

static void write_lines(const struct run *r, double load_before, const char *cause, struct ab_result *out)
{
	unsigned wanted = r->ab->metrics ? r->ab->metrics : (1u << AB_METRIC_COUNT) - 1;

	out->lines = ARENA_ARRAY(r->arena, AB_METRIC_COUNT, struct store_comparison);
	for (unsigned m = 0; m < AB_METRIC_COUNT; m++) {
		struct store_comparison *line = &out->lines[out->line_count];

		if (!(wanted & 1u << m))
			continue;
		describe(r, load_before, line);
		line->cause = cause;
		compare_metric(r, (enum ab_metric)m, out->pairs, line);
		out->line_count++;
	}
}

enum status ab_run(const struct ab *ab, struct arena *a, struct ab_result *out, struct error *err)
{
	struct run r = { .ab = ab, .arena = a, .pairs = ab->pairs ? ab->pairs : AB_PAIRS };
	double load_before = load_average();
	enum status st;

	*out = (struct ab_result){ .worst = VERDICT_INTERRUPTED };
	for (int k = 0; k < 2; k++) {
		plan_memory_apart(&r.memory[k], a, ab->model, &ab->side[k].target, &ab->side[k].question,
			ab->watch ? ab->watch->stop : NULL);
		r.side[k].rows = ARENA_ARRAY(a, r.pairs, int64_t);
		for (size_t m = 0; m < AB_METRIC_COUNT; m++)
			r.side[k].process[m] = ARENA_ARRAY(a, r.pairs, struct compare_process);
	}
	if ((st = run_all(&r, &out->pairs, err)))
		return st;
	write_lines(&r, load_before, NULL, out);
	out->is_stopped = r.is_stopped;
	out->is_whole = out->pairs == r.pairs;
	for (int k = 0; k < 2; k++)
		if (r.side[k].has_run)
			out->worst = k && r.side[0].has_run ? worse(out->worst, r.side[k].worst) : r.side[k].worst;
	return ab->store && !out->is_stopped ? store_comparisons(ab->store, out->lines, out->line_count, err) : STATUS_OK;
}

enum status ab_refuse(const struct ab *ab, const char *cause, struct arena *a, struct ab_result *out, struct error *err)
{
	struct run r = { .ab = ab, .arena = a };

	*out = (struct ab_result){ .worst = VERDICT_UNSUPPORTED };
	write_lines(&r, load_average(), cause, out);
	return ab->store ? store_comparisons(ab->store, out->lines, out->line_count, err) : STATUS_OK;
}
