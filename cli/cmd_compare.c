// SPDX-License-Identifier: Apache-2.0
// assay compare: rows that are there against rows that are there. What is compared and called is decided in analysis/contrast.c.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/contrast.h"
#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "emit.h"
#include "question/standing.h"
#include "reading.h"
#include "report/report.h"
#include "report/summary.h"
#include "show.h"

// "other.duckdb:run:3" is a file and words; "run:3" are words in the database of --db.
static void split_side(struct arena *a, const char *text, const char *db, const char **path, const char **words)
{
	*path = db;
	*words = text;
	if (file_exists(text) && !file_is_dir(text)) {
		*path = text;
		*words = NULL;
		return;
	}
	for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
		const char *before = arena_strndup(a, text, (size_t)(colon - text));

		if (colon > text && file_exists(before) && !file_is_dir(before)) {
			*path = before;
			*words = colon + 1;
			return;
		}
	}
}

static enum status take_side(struct side *out, struct arena *a, const char *text, const char *db, struct error *err)
{
	struct store s = cli_reading();
	const char *path, *words;

	split_side(a, text, db, &path, &words);
	if (path == db && text_ends(text, ".duckdb"))
		return error_set(err, STATUS_BAD_INPUT, "%s: no such file", text);
	enum status st = store_open_settled(&s, path, err);
	if (!st)
		st = store_side(&s, a, words && *words ? words : NULL, true, out, err);
	store_close(&s);
	return st;
}

// ---- what is seen ------------------------------------------------------------------------------------------------

static const char *amount(struct arena *a, enum contrast_metric m, double x)
{
	const char *out = m == CONTRAST_MEMORY ? report_mib(a, x)
		: m == CONTRAST_THROUGHPUT     ? arena_printf(a, "%.4g/s", x)
					       : report_ms(a, x);

	return out ? out : "?";
}

static const char *interval(struct arena *a, const char *name, double low, double high)
{
	return isnan(low) || isnan(high) ? arena_printf(a, "no %s interval", name)
					 : arena_printf(a, "%s interval %.3f to %.3f", name, low, high);
}

static const char *row_list(struct arena *a, const struct side_row *const *rows, size_t count)
{
	const char *out = "";

	for (size_t i = 0; i < count;) {
		size_t end = i;

		while (end + 1 < count && rows[end + 1]->row.row == rows[end]->row.row + 1)
			end++;
		out = arena_printf(a, "%s%s%lld", out, i ? "," : "", (long long)rows[i]->row.row);
		if (end > i)
			out = arena_printf(a, end == i + 1 ? "%s,%lld" : "%s..%lld", out, (long long)rows[end]->row.row);
		i = end + 1;
	}
	return out;
}

// With what qualifies its figures.
static const char *what_of(struct arena *a, const struct contrast *q)
{
	return report_qualified(a, *q->what ? q->what : "one question", qualifiers_of_sides(a, q->qualifiers_a, q->qualifiers_b));
}

static void print_verdicts(const struct contrast *q)
{
	if (q->verdict_a == q->verdict_b)
		return;
	emit("  verdict     A %s, B %s: %s\n", verdict_word(q->verdict_a), verdict_word(q->verdict_b),
		q->change < 0           ? "worse"
			: q->change > 0 ? "better"
					: "another");
	if (q->cause_a)
		emit("              A: %s\n", q->cause_a);
	if (q->cause_b)
		emit("              B: %s\n", q->cause_b);
}

static void print_line(struct arena *a, const struct contrast_line *l)
{
	const struct comparison *c = &l->c;

	if (!l->is_compared)
		return;
	emit("  %-10s  A %-9s  B %-9s  B/A %.3f", contrast_word(l->metric), amount(a, l->metric, c->a_ms),
		amount(a, l->metric, c->b_ms), c->ratio);
	if (!isnan(c->low))
		emit(", %s, %s", interval(a, "99 %", c->low, c->high), interval(a, "95 %", c->low95, c->high95));
	emit(": %s%s%s\n", l->verdict, l->cause ? ": " : "", l->cause ? l->cause : "");
}

static void print_side(const char *name, const struct side *s)
{
	emit("%s  %s in %s: %zu row%s", name, s->words ? s->words : "all rows", s->path, s->count, s->count == 1 ? "" : "s");
	if (s->imported)
		emit(", %zu of them imported", s->imported);
	if (s->unfinished)
		emit(", %zu more without a verdict or interrupted", s->unfinished);
	emit("\n");
}

static void print_lone(struct arena *a, const char *side, const char *other, const struct contrast_lone *items, size_t count)
{
	if (count)
		emit("only in %s (%s was not asked)\n", side, other);
	for (size_t i = 0; i < count; i++)
		emit("  %s  (row%s %s)\n", items[i].what, items[i].count == 1 ? "" : "s",
			row_list(a, items[i].rows, items[i].count));
}

static size_t untold(const struct contrast_result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		for (size_t k = 0; k < r->items[i].line_count; k++)
			n += r->items[i].lines[k].is_compared && text_is(r->items[i].lines[k].verdict, "cannot tell");
	return n;
}

static const char *summary(struct arena *a, const struct contrast_result *r)
{
	const size_t open = untold(r);
	const char *out = arena_printf(a,
		"%zu question%s in common, %zu comparison%s: %zu better, %zu worse%s; verdicts that became worse: %zu", r->count,
		r->count == 1 ? "" : "s", r->compared, r->compared == 1 ? "" : "s", r->faster, r->slower,
		open ? arena_printf(a, ", %zu cannot be told", open) : "", r->worse_verdicts);

	// Each is called at 99 %: many of them are not.
	return r->compared < 50
		? out
		: arena_printf(a, "%s. Of so many, %zu may be called different by chance", out, (r->compared + 99) / 100);
}

static bool has_something_called(const struct contrast *q)
{
	for (size_t k = 0; k < q->line_count; k++)
		if (q->lines[k].is_better || q->lines[k].is_worse)
			return true;
	return false;
}

// The ratios alone, those with the same verdict and cause together: "  B/A  latency 1.012, load 0.981: cannot tell: CAUSE".
static void print_ratios(struct arena *a, const struct contrast *q)
{
	const char *before = NULL;

	emit("%s\n", what_of(a, q));
	for (size_t k = 0; k < q->line_count; k++) {
		const struct contrast_line *l = &q->lines[k];

		if (!l->is_compared)
			continue;
		const char *said = l->cause ? arena_printf(a, "%s: %s", l->verdict, l->cause) : l->verdict;

		if (before && !text_is(said, before))
			emit(": %s", before);
		emit("%s%s %.3f",
			!before                         ? "  B/A  "
				: text_is(said, before) ? ", "
							: "; ",
			contrast_word(l->metric), l->c.ratio);
		before = said;
	}
	if (before)
		emit(": %s\n", before);
	else
		emit("  nothing to compare: at least one side measured nothing\n");
	if (q->note)
		emit("  note  %s\n", q->note);
}

static void print_question(struct arena *a, const struct contrast *q)
{
	bool any = false;

	emit("%s\n", what_of(a, q));
	print_verdicts(q);
	for (size_t k = 0; k < q->line_count; k++) {
		print_line(a, &q->lines[k]);
		any = any || q->lines[k].is_compared;
	}
	if (!any)
		emit("  nothing to compare: at least one side measured nothing\n");
	if (q->note)
		emit("  note        %s\n", q->note);
	emit("  rows        A %s, B %s\n\n", row_list(a, q->a, q->a_count), row_list(a, q->b, q->b_count));
}

static void print_text(struct arena *a, const struct side *x, const struct side *y, const struct contrast_result *r, bool verbose)
{
	enum { WHOLE = 3 }; // questions in common: so many are printed whole
	bool shortened = false;

	print_side("A", x);
	print_side("B", y);
	if (r->differs)
		emit("   they differ in %s\n", r->differs);
	emit("\n");
	for (size_t i = 0; i < r->count; i++) {
		const struct contrast *q = &r->items[i];
		const bool whole = verbose || r->count <= WHOLE || q->verdict_a != q->verdict_b || has_something_called(q);

		(whole ? print_question : print_ratios)(a, q);
		shortened = shortened || !whole;
	}
	if (shortened)
		emit("(-v prints the amounts, intervals and rows of these too)\n");
	print_lone(a, "A", "B", r->only_a, r->only_a_count);
	print_lone(a, "B", "A", r->only_b, r->only_b_count);
	emit("%s\n", summary(a, r));
}

static const char *side_md(struct arena *a, const struct side *s)
{
	const char *imported = s->imported ? arena_printf(a, " (%zu of %zu rows imported)", s->imported, s->count) : "";

	return arena_printf(
		a, "%s of %s%s", report_md_esc(a, s->words ? s->words : "all rows"), report_md_esc(a, s->path), imported);
}

static void print_md(struct arena *a, const struct side *x, const struct side *y, const struct contrast_result *r)
{
	emit("A: %s, B: %s%s%s\n\n", side_md(a, x), side_md(a, y), r->differs ? "; they differ in " : "",
		report_md_esc(a, r->differs));
	emit("| question | metric | A | B | B/A | 99 %% interval | verdict |\n| --- | --- | ---: | ---: | ---: | --- | --- |\n");
	for (size_t i = 0; i < r->count; i++) {
		const struct contrast *q = &r->items[i];
		const char *what = report_md_esc(a, what_of(a, q));

		if (q->verdict_a != q->verdict_b)
			emit("| %s | outputs | %s | %s | | | %s |\n", what, verdict_word(q->verdict_a),
				verdict_word(q->verdict_b),
				q->change < 0           ? "worse"
					: q->change > 0 ? "better"
							: "another");
		for (size_t k = 0; k < q->line_count; k++) {
			const struct contrast_line *l = &q->lines[k];

			if (l->is_compared)
				emit("| %s | %s | %s | %s | %.3f | %s | %s%s%s |\n", what, contrast_word(l->metric),
					amount(a, l->metric, l->c.a_ms), amount(a, l->metric, l->c.b_ms), l->c.ratio,
					isnan(l->c.low) ? "none" : arena_printf(a, "%.3f to %.3f", l->c.low, l->c.high),
					l->verdict, l->cause ? ": " : "", report_md_esc(a, l->cause));
		}
	}
	for (size_t i = 0; i < r->only_a_count; i++)
		emit("| %s | | | | | | only in A |\n", report_md_esc(a, r->only_a[i].what));
	for (size_t i = 0; i < r->only_b_count; i++)
		emit("| %s | | | | | | only in B |\n", report_md_esc(a, r->only_b[i].what));
	emit("\n%s.\n", summary(a, r));
}

// ---- the command -------------------------------------------------------------------------------------------------

static int take_metrics(const struct cli_list *words, unsigned *out)
{
	for (int i = 0; i < words->count; i++) {
		enum contrast_metric m = contrast_find(words->items[i]);

		if (m == CONTRAST_COUNT)
			return cli_bad_use("there is no metric '%s': latency, load, first, memory, throughput", words->items[i]);
		*out |= 1u << m;
	}
	return -1;
}

// Lines that are called slower (more memory, less throughput) by more than `limit`, a share.
static size_t beyond(const struct contrast_result *r, double limit)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		for (size_t k = 0; k < r->items[i].line_count; k++) {
			const struct contrast_line *l = &r->items[i].lines[k];

			n += l->is_compared && l->is_worse && fmax(l->c.ratio, 1 / l->c.ratio) > 1 + limit;
		}
	return n;
}

static bool is_any_wrong(const struct contrast_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->items[i].verdict_b == VERDICT_WRONG)
			return true;
	return false;
}

// "5%" or 0.05, a share; -1: nonsense.
static double share_of(const char *text)
{
	char number[32];
	const size_t n = strlen(text), percent = n && text[n - 1] == '%';
	double x;

	if (n - percent >= sizeof number)
		return -1;
	snprintf(number, sizeof number, "%.*s", (int)(n - percent), text);
	return text_to_double(number, 0, percent ? 1e4 : 100, &x) ? percent ? x / 100 : x : -1;
}

static int run(int argc, char **argv)
{
	const char *db = cli_default_db(), *format = "table", *slower = NULL;
	bool fail_wrong = false;
	double limit = 0;
	struct cli_list metrics = { 0 };
	int64_t seed = 0;
	bool json = false, verbose = false;
	const struct cli_option options[] = {
		{ "db", CLI_TEXT, &db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
		{ "metric", CLI_LIST, &metrics, "NAME,...", "latency, load, first, memory, throughput; default all" },
		{ "format", CLI_TEXT, &format, "FORMAT", "table (the default), json or md" },
		{ "json", CLI_FLAG, &json, NULL, "the same as --format json" },
		{ "fail-slower", CLI_TEXT, &slower, "P%",
			"exit code 2 for what is called slower only where it is by more than this: 5%; default any" },
		{ "fail-wrong", CLI_FLAG, &fail_wrong, NULL,
			"exit code 3 where B's newest row of a question is wrong, whatever A's is" },
		{ "seed", CLI_INTEGER, &seed, "N", "of the bootstrap; default 0", 0, 9e15 },
		{ "verbose", CLI_FLAG, &verbose, NULL,
			"amounts and intervals of every question; without it, of more than three questions, ratios alone where "
			"nothing is called" },
		{ "v", CLI_FLAG, &verbose, NULL, "the same" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay compare A B [options]",
		.text = "A and B are rows that were measured: their numbers (12, 12..20, 12,13), run:3 (`assay run` and\n"
			"`matrix` print it at their end, `assay query runs` lists all), run:last,\n"
			"version:0.1.0, commit:1f2e3d, machine:ID, on:PLATFORM[:DEVICE], model:NAME, several joined with +\n"
			"(run:3+on:cpu), or a database file with or without such words (other.duckdb:run:3).\n"
			"Questions that both sides answered are put together, those of\n"
			"one side only are listed; verdicts that changed come first. The figure is B over A with its intervals, "
			"a\n"
			"bootstrap over processes (a row is one). B is called faster or slower (of\n"
			"memory: less or more) only when there are 6 rows a side, the 99 % interval leaves out 1 and the ratio "
			"is\n"
			"off by more than 2 %; same, when the whole interval lies within 2 %; else it cannot tell. Sides were "
			"not\n"
			"taken in alternation: what the machine did meanwhile counts as a difference. `assay ab` takes them "
			"so.\n\n"
			"  assay compare run:3 run:7 --metric latency\n"
			"  assay compare on:cpu on:openvino --format md\n"
			"  assay compare yesterday.duckdb assay.duckdb\n"
			"  assay compare baseline.duckdb run:last --fail-slower 5% --fail-wrong\n\n"
			"Exit codes: 0 nothing of what was compared is worse; 1 bad use or an error of assay's own; 2 something "
			"is\n"
			"called slower (or more memory, less throughput), or a verdict became worse, or nothing could be "
			"compared\n"
			"(no question in common, or in none of them a figure of both sides, a verdict that became better, or\n"
			"\"compiles\"); 3 with --fail-wrong a row of B is wrong (wins).\n",
		.options = options,
		.min_words = 2,
		.max_words = 2,
	};
	struct arena a = { 0 };
	struct side sides[2] = { 0 };
	struct contrast_result r;
	struct error err = { 0 };
	unsigned wanted = 0;
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0 || (code = take_metrics(&metrics, &wanted)) >= 0)
		return code;
	json = json || text_is(format, "json");
	if (!json && !text_is(format, "table") && !text_is(format, "md"))
		return cli_bad_use("unknown format '%s': table, json or md", format);
	if (slower && (limit = share_of(slower)) < 0)
		return cli_bad_use("--fail-slower wants a share, as 5%%, not '%s'", slower);
	if (take_side(&sides[0], &a, argv[1], db, &err) || take_side(&sides[1], &a, argv[2], db, &err) ||
		contrast_make(&sides[0], &sides[1], wanted, (uint64_t)seed, &a, &r, &err)) {
		arena_done(&a);
		return cli_error(&err);
	}
	if (json) {
		json_t *out = contrast_json(&sides[0], &sides[1], &r);
		show_json(out);
		json_decref(out);
	} else if (text_is(format, "md")) {
		print_md(&a, &sides[0], &sides[1], &r);
	} else {
		print_text(&a, &sides[0], &sides[1], &r, verbose);
	}
	code = fail_wrong && is_any_wrong(&r)                                  ? EXIT_WRONG
		: beyond(&r, limit) || r.worse_verdicts || !contrast_tells(&r) ? EXIT_VERDICT
									       : EXIT_GOOD;
	arena_done(&a);
	return code;
}

const struct command command_compare = { "compare", "rows against rows: runs, versions, machines, platforms, databases", run };
