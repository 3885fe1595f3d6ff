// SPDX-License-Identifier: Apache-2.0
// assay ab: two sides of one question, run in alternation, and whether they differ. What is run and compared is decided in
// analysis/ab.c; here is which sides there are, and what a person sees.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/preset.h"
#include "base/text.h"
#include "cells.h"
#include "onnx/precision.h"
#include "emit.h"
#include "progress.h"
#include "report/summary.h"
#include "run/cell.h"
#include "show.h"

struct command_line {
	struct cells cells;
	struct cli_list against, metric_words, preset_words, browsers;
	const char *a, *b;
	int64_t pairs;
	bool web, list;
	unsigned metrics;
	struct store store;
	json_t *results;
	int exit_code;
};

// One comparison to make of each model.
struct job {
	const struct preset *preset; // NULL: sides typed by hand
	const char *browser;         // of a preset
	const char *what;            // what progress and messages call it
	struct ab ab;
	const char *refused; // why no engine can be asked
};

// ---- sides ---------------------------------------------------------------------------------------------------------------

// "static,layout=NHWC": options of the engine, words about the shapes, a precision, and a platform, which *on then is.
static int take_words(
	struct command_line *l, const char *flag, const char *text, struct question *q, const char **options, const char **on)
{
	struct text t = { 0 };
	int code = -1;

	for (const char *at = text ? text : ""; *at && code < 0;) {
		size_t n = strcspn(at, ",");

		if (memchr(at, '=', n)) {
			text_add(&t, t.length ? "," : "");
			text_add_bytes(&t, at, n);
		} else if (n == 6 && strncmp(at, "static", n) == 0) {
			q->is_static = true, q->is_dynamic = false;
		} else if (n == 7 && strncmp(at, "dynamic", n) == 0) {
			q->is_static = false, q->is_dynamic = true;
		} else if (n) {
			const char *typed = arena_strndup(&l->cells.matrix.arena, at, n);
			const char *word =
				precision_typed(&l->cells.matrix.arena, arena_printf(&l->cells.matrix.arena, "%.*s", (int)n, at));
			struct precise precise;
			struct error ignored = { 0 };
			if (precision_parse(&precise, word, &ignored) == STATUS_OK)
				q->precision = word;
			else if (!*on && platform_named(arena_strndup(&l->cells.matrix.arena, at, strcspn(typed, ":"))))
				*on = typed;
			else
				code = cli_bad_use(
					"%s: '%s' is no option: NAME=VALUE, static, dynamic, a precision or a platform", flag,
					typed);
		}
		at += n + (at[n] == ',');
	}
	*options = t.length ? arena_strdup(&l->cells.matrix.arena, text_get(&t)) : NULL;
	text_done(&t);
	return code;
}

static const char *both(struct arena *a, const char *x, const char *y)
{
	return x && y ? arena_printf(a, "%s,%s", x, y) : x ? x : y;
}

static enum status make_side(struct command_line *l, struct ab_side *side, const char *const *words, size_t count,
	const char *options, struct error *err)
{
	struct arena *a = &l->cells.matrix.arena;
	struct target *targets;
	size_t n;
	enum status st = plan_targets(&targets, &n, a, words, count, both(a, l->cells.matrix.options, options), err);

	if (st)
		return st;
	if (n != 1)
		return error_set(err, STATUS_BAD_INPUT, "a side is one platform, not %zu; the other one is --against", n);
	side->target = targets[0];
	return STATUS_OK;
}

static struct question common_question(const struct command_line *l)
{
	struct question q = l->cells.matrix.question;

	q.no_conform = true; // the cases of the type say nothing about time
	return q;
}

static int typed_job(struct command_line *l, struct job *j)
{
	struct ab_side *a = &j->ab.side[0], *b = &j->ab.side[1];
	const struct cli_list *against = l->against.count ? &l->against : &l->cells.on;
	const char *options_a, *options_b, *on_a = NULL, *on_b = NULL;
	struct error err = { 0 };

	j->what = "A/B";
	a->question = b->question = common_question(l);
	int code = take_words(l, "--a", l->a, &a->question, &options_a, &on_a);
	if (code < 0)
		code = take_words(l, "--b", l->b, &b->question, &options_b, &on_b);
	if (code >= 0)
		return code;
	if ((on_a && l->cells.on.count) || (on_b && l->against.count))
		return cli_bad_use("--%s names a platform, and so does --%s: one of them must go",
			on_a && l->cells.on.count ? "a" : "b", on_a && l->cells.on.count ? "on" : "against");
	if (make_side(l, a, on_a ? &on_a : l->cells.on.items, on_a ? 1 : (size_t)l->cells.on.count, options_a, &err) ||
		make_side(l, b, on_b ? &on_b : against->items, on_b ? 1 : (size_t)against->count, options_b, &err))
		return cli_error(&err);
	return -1;
}

static void preset_side(struct command_line *l, struct job *j, int k, const struct preset_side *s)
{
	struct ab_side *side = &j->ab.side[k];
	const char *on = preset_on(&l->cells.matrix.arena, s, j->browser);
	struct error err = { 0 };

	side->question = common_question(l);
	side->question.is_static = s->is_static || side->question.is_static;
	side->question.is_dynamic = s->is_dynamic || side->question.is_dynamic;
	if (s->precision)
		side->question.precision = s->precision;
	if (!j->refused && make_side(l, side, &on, 1, s->options, &err))
		j->refused = arena_strdup(&l->cells.matrix.arena, err.text);
	if (!side->target.platform)
		side->name = both(&l->cells.matrix.arena, on, s->options);
}

static void preset_job(struct command_line *l, struct job *j, const struct preset *p, const char *browser)
{
	j->preset = p;
	j->browser = browser;
	j->refused = p->why_not;
	j->what = browser ? arena_printf(&l->cells.matrix.arena, "%s in %s", p->name, browser) : p->name;
	j->ab.preset = p->name;
	j->ab.what = p->what;
	j->ab.claim = p->claim;
	j->ab.metrics = p->metrics;
	preset_side(l, j, 0, &p->a);
	preset_side(l, j, 1, &p->b);
}

// All jobs, one array. -1, or an exit code.
static int make_jobs(struct command_line *l, struct job **out, size_t *count)
{
	static const char *const known[] = { "chromium", "firefox" };
	const char *const *browsers = l->browsers.count ? l->browsers.items : known;
	size_t browser_count = l->browsers.count ? (size_t)l->browsers.count : 2, most = preset_count() * browser_count + 1;
	size_t n = l->web ? preset_count() : (size_t)l->preset_words.count;

	*out = ARENA_ARRAY(&l->cells.matrix.arena, most * (n + 1), struct job);
	*count = 0;
	if (n == 0) {
		*count = 1;
		return typed_job(l, *out);
	}
	for (size_t i = 0; i < n; i++) {
		const struct preset *p = l->web ? preset_get(i) : preset_find(l->preset_words.items[i]);

		if (!p)
			return cli_bad_use("there is no preset '%s'; `assay ab --list` has them", l->preset_words.items[i]);
		if (preset_has_browser(p) || p->why_not)
			preset_job(l, &(*out)[(*count)++], p, NULL);
		for (size_t k = 0; k < browser_count && !preset_has_browser(p) && !p->why_not; k++)
			preset_job(l, &(*out)[(*count)++], p, browsers[k]);
	}
	return -1;
}

// ---- what is seen --------------------------------------------------------------------------------------------------------

static const char *ms_text(struct arena *a, double ms)
{
	return isnan(ms)    ? "?"
		: ms < 1    ? arena_printf(a, "%.3f ms", ms)
		: ms < 1000 ? arena_printf(a, "%.1f ms", ms)
			    : arena_printf(a, "%.2f s", ms / 1e3);
}

static const char *interval(struct arena *a, const char *name, double low, double high)
{
	return isnan(low) || isnan(high) ? arena_printf(a, "no %s interval", name)
					 : arena_printf(a, "%s interval %.3f to %.3f", name, low, high);
}

static void print_line(struct arena *a, const struct store_comparison *c)
{
	if (isnan(c->ratio)) {
		emit("  %-10s  nothing to compare\n", c->metric);
		return;
	}
	emit("  %-10s  A %-9s  B %-9s  B/A %.3f by pairs, %s: %s\n", c->metric, ms_text(a, c->a_ms), ms_text(a, c->b_ms),
		c->ratio, interval(a, "99 %", c->low, c->high), c->verdict);
}

static void print_result(const struct job *j, const struct ab_result *r)
{
	const struct store_comparison *c = &r->lines[0];
	struct arena a = { 0 };

	emit("%s%s%s%s\n", c->model, c->preset ? ": " : "", c->preset ? c->preset : "",
		j->browser ? arena_printf(&a, " (%s)", j->browser) : "");
	if (c->what)
		emit("  %s\n", c->what);
	emit("  A  %s\n", report_qualified(&a, c->side_a ? c->side_a : "not run", comparison_qualifiers(&a, c, 0)));
	emit("  B  %s\n", report_qualified(&a, c->side_b ? c->side_b : "not run", comparison_qualifiers(&a, c, 1)));
	if (!isnan(c->ratio))
		for (size_t i = 0; i < r->line_count; i++)
			print_line(&a, &r->lines[i]);
	if (c->cause)
		emit("  %s  %s\n", isnan(c->ratio) ? "no answer:" : "note:", c->cause);
	if (c->claim)
		emit("  claimed     %s\n", c->claim);
	if (c->rows_a && c->pairs > 0)
		emit("  rows        A %s, B %s; %lld pairs, load average %.2f before and %.2f after\n", c->rows_a, c->rows_b,
			(long long)c->pairs, c->load_before, c->load_after);
	if (r->is_stopped)
		emit("  stopped     %lld pairs are whole: the rows are stored, the comparison is not\n", (long long)c->pairs);
	else if (c->id != ROW_NONE)
		emit("  comparison  %lld%s\n", (long long)c->id,
			r->line_count > 1 ? arena_printf(&a, " to %lld", (long long)r->lines[r->line_count - 1].id) : "");
	emit("\n");
	emit_flush();
	arena_done(&a);
}

static json_t *side_json(const struct preset_side *s)
{
	return json_pack(
		"{s:s?, s:s?, s:b, s:s?}", "on", s->on, "options", s->options, "static", s->is_static, "precision", s->precision);
}

static void print_side(const char *letter, const struct preset_side *s)
{
	const char *const words[] = { s->on, s->options,
		s->is_static            ? "static"
			: s->is_dynamic ? "dynamic"
					: NULL,
		s->precision };

	emit("%s", letter);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (words[i])
			emit(" %s", words[i]);
}

static json_t *preset_json(const struct preset *p)
{
	json_t *metrics = json_array(), *out = json_object();

	for (unsigned m = 0; m < AB_METRIC_COUNT; m++)
		if (p->metrics & 1u << m)
			json_array_append_new(metrics, json_string(ab_metric_word((enum ab_metric)m)));
	json_object_set_new(out, "name", json_string(p->name));
	json_object_set_new(out, "what", json_string(p->what));
	json_object_set_new(out, "a", side_json(&p->a));
	json_object_set_new(out, "b", side_json(&p->b));
	json_object_set_new(out, "metrics", metrics);
	json_object_set_new(out, "models", p->models ? json_string(p->models) : json_null());
	json_object_set_new(out, "claim", p->claim ? json_string(p->claim) : json_null());
	json_object_set_new(out, "why_not", p->why_not ? json_string(p->why_not) : json_null());
	return out;
}

static int list_presets(bool as_json)
{
	json_t *all = json_array();

	for (size_t i = 0; i < preset_count(); i++) {
		const struct preset *p = preset_get(i);

		json_array_append_new(all, preset_json(p));
		if (as_json)
			continue;
		emit("%-17s %s\n", p->name, p->what);
		if (p->why_not) {
			emit("%-17s not measured: %s\n", "", p->why_not);
		} else {
			emit("%-17s ", "");
			print_side("A", &p->a);
			print_side("; B", &p->b);
			emit("\n");
		}
		if (p->claim)
			emit("%-17s claimed: %s\n", "", p->claim);
	}
	if (as_json)
		show_json(all);
	json_decref(all);
	return EXIT_GOOD;
}

// ---- the run -------------------------------------------------------------------------------------------------------------

static struct {
	const char *what, *model;
	size_t pair, pairs;
	int side;
} now; // for the progress line

static void show_phase(void *context, const char *phase)
{
	(void)context;
	progress_line("%s: %s, pair %zu of %zu: %s", now.model, now.what, now.pair, now.pairs, phase);
}

static void show_notice(void *context, const char *sentence)
{
	(void)context;
	progress_notice(sentence);
}

static void show_cell(void *context, size_t pair, size_t pairs, int side, const struct cell_result *r)
{
	(void)context;
	(void)r;
	now.pair = pair;
	now.pairs = pairs;
	now.side = side;
}

static void worse_code(struct command_line *l, int code)
{
	l->exit_code = code > l->exit_code ? code : l->exit_code;
}

static enum status run_job(struct command_line *l, struct job *j, const struct plan_model *m, struct error *err)
{
	struct cell_watch watch = { .phase = show_phase, .stop = &cli_stop };
	struct arena a = { 0 };
	struct ab_result result;
	struct ab ab = j->ab;
	enum status st;

	ab.model = m;
	ab.pairs = (size_t)l->pairs;
	ab.metrics = l->metrics ? l->metrics : j->ab.metrics;
	for (int k = 0; k < 2; k++) // an emulated device runs once when nothing is asked for; load and first run need no more
		if (ab.side[k].question.runs == 0)
			ab.side[k].question.runs = ab.metrics && !(ab.metrics & 1u << AB_LATENCY) ? 1 : 11;
	ab.store = &l->store;
	ab.watch = &watch;
	ab.progress = show_cell;
	for (int k = 0; k < 2; k++)
		if (ab.side[k].target.platform)
			ab.side[k].name = ab_side_name(&a, &ab.side[k].target, &ab.side[k].question);
	now.what = j->what;
	now.model = m->model;
	now.pair = 0;
	now.pairs = ab.pairs ? ab.pairs : AB_PAIRS;
	st = j->refused ? ab_refuse(&ab, j->refused, &a, &result, err) : ab_run(&ab, &a, &result, err);
	progress_clear();
	if (!st) {
		if (!l->cells.json)
			print_result(j, &result);
		for (size_t i = 0; i < result.line_count && !result.is_stopped; i++)
			json_array_append_new(l->results, comparison_json(&result.lines[i]));
		// That a preset cannot be measured anywhere is an answer; that a side did not run is not what was asked for.
		if (!(j->preset && j->preset->why_not))
			worse_code(l, result.is_whole ? verdict_exit_code(result.worst) : EXIT_VERDICT);
	}
	arena_done(&a);
	return st;
}

static enum status run_model(struct command_line *l, struct job *jobs, size_t count, struct plan_model *m, struct error *err)
{
	struct arena weights = { 0 }; // while it lives the model's synthetic weights stay in the cache
	const char *what = arena_printf(&l->cells.matrix.arena, "%s: writing synthetic weights", m->model);
	const char *reading = arena_printf(&l->cells.matrix.arena, "%s: reading its files, to know what it is", m->model);
	uint64_t limit = matrix_cache_limit(&l->cells.matrix);
	enum status st = plan_identify_or_refuse(m, &l->cells.matrix.arena, progress_bytes, (void *)(uintptr_t)reading, err);

	if (!st)
		st = plan_weights(m, &weights, l->cells.matrix.targets, &l->cells.matrix.question, limit, progress_bytes,
			(void *)what, err);

	for (size_t i = 0; i < count && !st && !cli_stop; i++) {
		if (l->web && !preset_is_for(jobs[i].preset, m->architecture))
			continue;
		st = run_job(l, &jobs[i], m, err);
	}
	arena_done(&weights);
	return st;
}

static enum status begin(struct command_line *l, struct job *jobs, size_t count, struct error *err)
{
	struct machine machine;
	enum status st;

	machine_detect(&machine, &l->cells.matrix.arena);
	if ((st = store_open(&l->store, l->cells.db, false, err)) ||
		(st = store_begin_run(&l->store, &machine, l->cells.matrix.command, err)))
		return st;
	progress_line("looking at the engines");
	struct target *targets = ARENA_ARRAY(&l->cells.matrix.arena, 2 * count + 1, struct target);
	size_t target_count = 0;
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < 2; k++)
			if (jobs[i].ab.side[k].target.platform)
				targets[target_count++] = jobs[i].ab.side[k].target;
	const struct probe_limits limits = { .timeout_s = l->cells.matrix.question.timeout_s, .stop = &cli_stop };
	json_t *platforms = detect_platforms(targets, target_count, false, &limits);
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < 2; k++)
			if (jobs[i].ab.side[k].target.platform)
				plan_choose(&jobs[i].ab.side[k].target, 1, platforms, &l->cells.matrix.arena);
	st = store_detection(&l->store, platforms, err);
	json_decref(platforms);
	progress_clear();
	return st;
}

static int run_all(struct command_line *l, struct job *jobs, size_t count)
{
	struct error err = { 0 };
	enum status st;

	l->store.notice = show_notice;
	l->results = json_array();
	cli_catch_stop();
	st = begin(l, jobs, count, &err);
	for (size_t i = 0; i < l->cells.matrix.model_count && !st && !cli_stop; i++)
		st = run_model(l, jobs, count, &l->cells.matrix.models[i], &err);
	progress_clear();
	if (!st)
		st = store_end_run(&l->store, &err);
	store_close(&l->store);
	if (st)
		return cli_error(&err);
	if (l->cells.json)
		show_json(l->results);
	if (cli_stop) {
		emit_error("assay: interrupted (%s)\n", cli_stop_name());
		worse_code(l, EXIT_VERDICT);
	}
	return l->exit_code;
}

static int take_metrics(struct command_line *l)
{
	for (int i = 0; i < l->metric_words.count; i++) {
		enum ab_metric m = ab_metric_find(l->metric_words.items[i]);

		if (m == AB_METRIC_COUNT)
			return cli_bad_use(
				"there is no metric '%s': load_ms, first_ms, ready_ms, latency_ms", l->metric_words.items[i]);
		l->metrics |= 1u << m;
	}
	return -1;
}

static int check_use(struct command_line *l, int words)
{
	bool named = l->web || l->preset_words.count;

	if (l->list)
		return list_presets(l->cells.json);
	if (words == 0)
		return cli_bad_use("no model was named; usage: assay ab MODEL... [options]");
	if (l->web && l->preset_words.count)
		return cli_bad_use("--web is all presets, --preset some of them");
	for (size_t i = 0; i < QUESTION_COUNT; i++)
		if (l->cells.axes[i].count > 1 || (l->cells.axes[i].count && strchr(l->cells.axes[i].items[0], ',')))
			return cli_bad_use(
				"two sides answer one question: --%s takes one value here", question_members[i].option);
	if (named && (l->a || l->b || l->against.count || l->cells.on.count))
		return cli_bad_use("a preset names its sides: --on, --against, --a and --b are for sides of your own");
	if (l->cells.matrix.question.fit)
		return cli_bad_use("--fit: a side that was asked for less would be compared under the wrong name");
	if (l->cells.matrix.fallback)
		return cli_bad_use("--fallback: a side that ran on another platform would be compared under the wrong name");
	return take_metrics(l);
}

static int run(int argc, char **argv)
{
	struct command_line l = { .cells = { CELLS_INIT, .db = cli_default_db() } };
	const struct cli_option first[] = {
		{ "a", CLI_TEXT, &l.a, "K=V,...",
			"options of side A; static or dynamic: shapes of its graph; a precision; a platform, as --on has it" },
		{ "b", CLI_TEXT, &l.b, "K=V,...", "the same of side B" },
		{ "against", CLI_LIST, &l.against, "PLATFORM", "side B's platform; default the one of --on" },
		{ "pairs", CLI_INTEGER, &l.pairs, "N", "processes a side; default 6, below which nothing is called a difference",
			1, 1000 },
		{ "metric", CLI_LIST, &l.metric_words, "NAME,...",
			"load_ms, first_ms, ready_ms (both together), latency_ms; default all, or the preset's" },
		{ "preset", CLI_LIST, &l.preset_words, "NAME,...", "a comparison with a name, in each browser" },
		{ "web", CLI_FLAG, &l.web, NULL, "all presets that fit the model" },
		{ "browser", CLI_LIST, &l.browsers, "NAME,...", "of presets; default chromium,firefox" },
		{ "list", CLI_FLAG, &l.list, NULL, "the presets" },
		{ .kind = CLI_END },
	};
	const struct cli_option last[] = {
		{ "db", CLI_TEXT, &l.cells.db, "FILE", "DuckDB file that gets the rows; default $ASSAY_DB, else assay.duckdb" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay ab MODEL... [options]",
		.text = "Runs two sides of one question in alternation (A B, B A, ...), each time in a process of its own, never "
			"two\n"
			"at once, after one cell of each that does not count, and says how many times A's time B's is. Each\n"
			"process is a row like those of `assay run`; conformance cases are left out. The interval is a "
			"bootstrap\n"
			"over pairs of processes. Verdicts: faster or slower, the 99 % interval leaves\n"
			"out 1 and the ratio is off by more than 2 %; same, the whole interval lies within 2 %; else cannot "
			"tell.\n\n"
			"  assay ab bert-base-uncased --synthetic --on cpu --a prepacking=on --b prepacking=off\n"
			"  assay ab bert-base-uncased --synthetic --a cpu --b openvino\n"
			"  assay ab bert-base-uncased --synthetic --on cpu --b int8-dynamic\n"
			"  assay ab bert-base-uncased --synthetic --layers 2 --preset browser,static-shapes\n\n"
			"Exit codes: 0 every comparison was made and outputs are not wrong; 1 bad use or an error of assay's "
			"own;\n"
			"2 a side did not run, or it was stopped; 3 a side's outputs are wrong.\n",
		.options = cells_options(&l.cells, first, last),
		.max_words = -1,
	};
	struct job *jobs = NULL;
	size_t count = 0;
	int words, code;

	l.cells.matrix.command = cells_command(&l.cells.matrix.arena, argc, argv);
	code = cli_parse(&usage, argc, argv, &words);
	if (code < 0 && (code = check_use(&l, words)) < 0 &&
		(code = cells_plan(&l.cells, (const char *const *)argv + 1, (size_t)words)) < 0 &&
		(code = make_jobs(&l, &jobs, &count)) < 0)
		code = run_all(&l, jobs, count);
	json_decref(l.results);
	cells_done(&l.cells);
	return code;
}

const struct command command_ab = { "ab", "two sides in alternation, and whether they differ: options, platforms, browsers",
	run };
