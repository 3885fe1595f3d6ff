// SPDX-License-Identifier: Apache-2.0
// Average, least and largest by hardware and by architecture; the fastest and the slowest. An average is one of medians; it mixes
// models, which the tables say: what compares hardware is the ratio to cpu over the same questions.
#include <math.h>
#include <stdlib.h>

#include "report/gather.h"

enum { EXTREMES = 5 };

struct group {
	size_t cells, models, timed_with_cpu, unstable, imported;
	int64_t samples;
	const char *qualifiers;
	double sum, logs;
	const struct report_cell *fastest, *slowest;
};

static bool counts(const struct report_cell *c)
{
	return report_is_ranked(c) && report_is_plain(c);
}

// NULL: any.
static struct group group_of(const struct summary *s, const char *platform, const char *architecture, struct arena *a)
{
	const struct report_cell **cells = ARENA_ARRAY(a, s->cell_count + 1, const struct report_cell *);
	struct group g = { 0 };

	for (size_t i = 0; i < s->cell_count; i++) {
		const struct report_cell *c = &s->cells[i];
		bool seen = false;
		if (!counts(c) || (platform != NULL && !text_is(c->platform, platform)) ||
			(architecture != NULL && !text_is(s->lines[c->line].architecture, architecture)))
			continue;
		for (size_t k = 0; k < i; k++)
			seen = seen ||
				(counts(&s->cells[k]) && text_is(s->cells[k].row.model, c->row.model) &&
					(platform == NULL || text_is(s->cells[k].platform, platform)));
		g.models += !seen;
		cells[g.cells++] = c;
		g.sum += c->typical.ms;
		g.samples += c->row.samples != ROW_NONE ? c->row.samples : 0;
		g.unstable += report_is_unstable(c);
		g.imported += c->is_imported;
		g.fastest = g.fastest == NULL || c->typical.ms < g.fastest->typical.ms ? c : g.fastest;
		g.slowest = g.slowest == NULL || c->typical.ms > g.slowest->typical.ms ? c : g.slowest;
		if (c->against_cpu.times > 0) {
			g.timed_with_cpu++;
			g.logs += log(c->against_cpu.times);
		}
	}
	g.qualifiers = report_qualifiers(a, cells, g.cells);
	return g;
}

static const struct report_column columns[] = {
	{ "platform", "on", false },
	{ "architecture", "architecture", false },
	{ "cells", "cells", true },
	{ "models", "models", true },
	{ "samples", "timed runs", true },
	{ "average_ms", "average", true },
	{ "min_ms", "least", true },
	{ "max_ms", "largest", true },
	{ "times_cpu", "against cpu", true },
	{ "marks", "", false },
};

static void row_of(
	struct report_section *s, const struct group *g, const char *platform, const char *architecture, struct arena *a)
{
	struct report_value *v = section_row(s);
	const char *marks = g->models > 1 ? "mixes models" : NULL;

	if (g->unstable > 0)
		marks = arena_join(a, marks, ", ", arena_printf(a, "%zu unstable", g->unstable));
	if (g->imported > 0)
		marks = arena_join(a, marks, ", ", arena_printf(a, "%zu imported", g->imported));
	marks = arena_join(a, marks, "; ", g->qualifiers);
	v[0] = value_text(platform);
	v[1] = value_text(architecture != NULL ? architecture : "all");
	v[2] = value_count(a, (int64_t)g->cells);
	v[3] = value_count(a, (int64_t)g->models);
	v[4] = value_count(a, g->samples);
	v[5] = value_ms(a, g->sum / (double)g->cells);
	v[6] = value_noted(value_ms(a, g->fastest->typical.ms), report_qualified(a, g->fastest->shown, g->fastest->qualifiers));
	v[7] = value_noted(value_ms(a, g->slowest->typical.ms), report_qualified(a, g->slowest->shown, g->slowest->qualifiers));
	if (g->timed_with_cpu > 0) {
		double mean = exp(g->logs / (double)g->timed_with_cpu);
		v[8] = value_noted(value_times(a, mean),
			arena_printf(a, "over %zu question%s", g->timed_with_cpu, g->timed_with_cpu == 1 ? "" : "s"));
	}
	v[9] = value_text(marks);
}

static int by_time(const void *x, const void *y)
{
	double p = (*(const struct report_cell *const *)x)->typical.ms, q = (*(const struct report_cell *const *)y)->typical.ms;

	return (p > q) - (p < q);
}

static const struct report_column extreme_columns[] = {
	{ "which", "", false },
	{ "model", "model", false },
	{ "variant", "asked", false },
	{ "platform", "on", false },
	{ "latency_ms", "median", true },
	{ "spread", "runs and spread", false },
};

static void extremes(struct summary *out, struct arena *a)
{
	const struct report_cell **all = ARENA_ARRAY(a, out->cell_count + 1, const struct report_cell *);
	size_t n = 0;

	for (size_t i = 0; i < out->cell_count; i++)
		if (counts(&out->cells[i]))
			all[n++] = &out->cells[i];
	if (n < 2)
		return;
	struct report_section *s = section_add(out, a, "performance_extremes", "Fastest and slowest", NULL, extreme_columns,
		sizeof extreme_columns / sizeof *extreme_columns, n);
	qsort(all, n, sizeof *all, by_time);
	for (size_t i = 0; i < n; i++) {
		size_t half = n / 2 < EXTREMES ? n / 2 : EXTREMES;
		if (i >= half && i < n - half)
			continue;
		struct report_value *v = section_row(s);
		v[0] = value_text(i < half ? "fastest" : "slowest");
		v[1] = value_text(report_model_name(all[i]->row.model));
		v[2] = value_noted(value_text(out->lines[all[i]->line].variant), out->lines[all[i]->line].warning);
		v[3] = value_text(report_qualified(a, all[i]->platform, all[i]->own_qualifiers));
		v[4] = report_is_unstable(all[i]) ? value_flagged(value_ms(a, all[i]->typical.ms))
						  : value_ms(a, all[i]->typical.ms);
		v[5] = value_text(report_typical_spread(a, all[i]));
	}
}

void summary_gather_performance(struct summary *out, struct arena *a)
{
	const char *hint =
		"Averages are of medians, over different models, batches and lengths: not what a platform is worth. Against cpu "
		"is a geometric mean over the questions that both answered. "
		"Left out: emulated devices, foreign rows, scenarios and generated tokens, which have tables of their own.";
	struct report_section *s = section_add(out, a, "performance_by_platform", "Times by hardware", hint, columns,
		sizeof columns / sizeof *columns, out->column_count);

	for (size_t k = 0; k < out->column_count; k++) {
		struct group g = group_of(out, out->columns[k], NULL, a);
		if (g.cells > 0)
			row_of(s, &g, out->columns[k], NULL, a);
	}
	s = section_add(out, a, "performance_by_architecture", "Times by architecture and hardware", NULL, columns,
		sizeof columns / sizeof *columns, out->column_count * out->line_count);
	for (size_t i = 0; i < out->line_count; i++) {
		const char *architecture = out->lines[i].architecture;
		bool seen = architecture == NULL;
		for (size_t k = 0; k < i; k++)
			seen = seen || text_is(out->lines[k].architecture, architecture);
		for (size_t k = 0; k < out->column_count && !seen; k++) {
			struct group g = group_of(out, out->columns[k], architecture, a);
			if (g.cells > 0)
				row_of(s, &g, out->columns[k], architecture, a);
		}
	}
	extremes(out, a);
}
