// SPDX-License-Identifier: Apache-2.0
// assay history: one question over the runs of a database, and where it changed. What a change is, is decided in
// analysis/history.c.
#include <math.h>
#include <stdio.h>

#include "analysis/history.h"
#include "base/text.h"
#include "command.h"
#include "emit.h"
#include "reading.h"
#include "report/summary.h"
#include "show.h"

enum { SPARK_MOST = 100 };

static const char *amount(struct arena *a, enum contrast_metric m, double x)
{
	const char *out = m == CONTRAST_MEMORY ? report_mib(a, x)
		: m == CONTRAST_THROUGHPUT     ? arena_printf(a, "%.4g/s", x)
					       : report_ms(a, x);

	return out ? out : "?";
}

// The last points, one character each, from the smallest figure to the largest; x where nothing was measured.
static void print_spark(struct arena *a, const struct history *h)
{
	static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t begin = h->count > SPARK_MOST ? h->count - SPARK_MOST : 0;
	double low = INFINITY, high = -INFINITY;

	for (size_t i = begin; i < h->count; i++) {
		low = fmin(low, h->points[i].figure);
		high = fmax(high, h->points[i].figure);
	}
	emit("  ");
	for (size_t i = begin; i < h->count; i++) {
		double x = h->points[i].figure;

		emit("%s", isnan(x) ? "x" : bars[high > low ? (size_t)((x - low) / (high - low) * 7.999) : 0]);
	}
	if (high >= low)
		emit("  %s to %s%s", amount(a, h->metric, low), amount(a, h->metric, high),
			begin ? arena_printf(a, ", the last %d of %zu runs", SPARK_MOST, h->count) : "");
	emit("\n");
}

// "run 12 (row 31, 2026-11-21 20:11:05)"
static const char *place(struct arena *a, const struct history_point *p)
{
	const struct side_row *r = p->rows[0];

	return arena_printf(
		a, "run %lld (row %lld, %s)", (long long)p->run, (long long)r->row.row, r->measured_at ? r->measured_at : "?");
}

static void print_change(struct arena *a, const struct history *h, const struct history_change *c)
{
	emit("  changed at  %s: %s to %s, %.3f times", place(a, &h->points[c->at]), amount(a, h->metric, c->c.a_ms),
		amount(a, h->metric, c->c.b_ms), c->c.ratio);
	if (!isnan(c->c.low))
		emit(", 99 %% interval %.3f to %.3f", c->c.low, c->c.high);
	emit(": %s\n", text_is(c->verdict, "same") ? "less than the 2 % that count" : c->verdict);
	emit("  with it     %s\n",
		c->with ? c->with
			: "nothing that the rows know of: not the engine's version, the program, the graph or the device");
}

static void print_history(const struct history *h)
{
	struct arena a = { 0 };

	emit("%s\n  %s of %zu run%s on machine %.8s%s\n", report_qualified(&a, h->what, h->qualifiers), contrast_word(h->metric),
		h->measured, h->measured == 1 ? "" : "s", h->machine ? h->machine : "?", h->is_imported ? ", imported" : "");
	print_spark(&a, h);
	for (size_t i = 0; i < h->change_count; i++)
		print_change(&a, h, &h->changes[i]);
	for (size_t i = 0; i < h->turn_count; i++) {
		const struct history_point *p = &h->points[h->turns[i].at];

		emit("  verdict     %s: %s, before %s%s%s\n", place(&a, p), verdict_word(p->verdict), verdict_word(p[-1].verdict),
			h->turns[i].cause ? ": " : "", h->turns[i].cause ? h->turns[i].cause : "");
	}
	if (h->why_not)
		emit("  no answer   %s\n", h->why_not);
	else if (!h->change_count)
		emit("  no change that chance would not bring\n");
	emit("\n");
	arena_done(&a);
}

static int run(int argc, char **argv)
{
	const char *db = cli_default_db(), *on = NULL, *rows = NULL, *metric = "latency";
	int64_t seed = 0;
	bool json = false;
	const struct cli_option options[] = {
		{ "on", CLI_TEXT, &on, "PLATFORM",
			"only rows on this platform, or on one of its devices; default all, each for itself" },
		{ "rows", CLI_TEXT, &rows, "WORDS",
			"only these rows, in the words of `assay compare`: run:3..20, machine:ID, ..." },
		{ "metric", CLI_TEXT, &metric, "NAME", "latency (the default), load, first, memory or throughput" },
		{ "seed", CLI_INTEGER, &seed, "N", "of permutations and bootstrap; default 0", 0, 9e15 },
		{ "json", CLI_FLAG, &json, NULL, "an array on standard output, one object a question and machine" },
		{ "db", CLI_TEXT, &db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay history MODEL [options]",
		.text = "MODEL as it was asked for. Of every question and machine a series: a run of the program is a point, "
			"the\n"
			"median of its rows. Changes are found by E-divisive (Matteson and James, 2014) on logarithms, tested "
			"by\n"
			"permutations: of series that do not change one in a hundred is said to have changed, if its points are "
			"in no\n"
			"order that time gave them (a machine that drifts is one that changes). Below 12 runs nothing is said. A "
			"change\n"
			"is named with its run, its row, and what else changed there; the interval is a bootstrap over the rows\n"
			"before and behind, given the place.\n\n"
			"  assay history bert-base-uncased --on cpu\n"
			"  assay history bert-base-uncased --metric memory --rows machine:3f2a --json\n\n"
			"Exit codes: 0 the series was shown, changed or not; 1 bad use, no such rows, or an error of assay's "
			"own.\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	struct store s = cli_reading();
	struct arena a = { 0 };
	struct side side;
	struct history *items;
	struct error err = { 0 };
	size_t count;
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	enum contrast_metric m = contrast_find(metric);
	if (m == CONTRAST_COUNT)
		return cli_bad_use("there is no metric '%s': latency, load, first, memory, throughput", metric);
	const char *which =
		arena_printf(&a, "model:%s%s%s%s%s", argv[1], on ? "+on:" : "", on ? on : "", rows ? "+" : "", rows ? rows : "");
	enum status st = store_open_settled(&s, db, &err);
	if (!st)
		st = store_side(&s, &a, which, true, &side, &err);
	store_close(&s);
	if (!st)
		st = history_make(&side, m, (uint64_t)seed, &a, &items, &count, &err);
	if (st) {
		arena_done(&a);
		return cli_error(&err);
	}
	if (json) {
		json_t *out = history_json(items, count);
		show_json(out);
		json_decref(out);
	}
	for (size_t i = 0; i < count && !json; i++)
		print_history(&items[i]);
	arena_done(&a);
	return EXIT_GOOD;
}

const struct command command_history = { "history", "one question over the runs, and where it changed", run };
