// SPDX-License-Identifier: Apache-2.0
// assay operators: ONNX's own tests of its operators on platforms, as a table operator x platform, and what was not right.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/visible.h"
#include "command.h"
#include "conform/conform.h"
#include "emit.h"
#include "plan/plan.h"
#include "progress.h"
#include "report/report.h"
#include "show.h"

enum { PLATFORMS_MOST = 16, NAMES_MOST = 4, WORDS_MOST = 300, COLUMN = 28 };

struct column {
	const char *word; // as asked: "webgpu:native"
	const struct target *target;
	struct conform_case *cases; // the same tests in the same order for every platform
};
struct operator_table {
	struct column columns[PLATFORMS_MOST];
	size_t column_count, case_count;
};
struct watch {
	const char *on;
	size_t done, count;
};

static void each(void *context, const struct conform_case *c)
{
	struct watch *w = context;

	progress_line("%s [%zu/%zu] %s", w->on, ++w->done, w->count, c->name);
}

// ---- which tests -----------------------------------------------------------------------------------------------------

static bool is_wanted(const struct cli_list *only, const char *op)
{
	for (int i = 0; i < only->count; i++)
		if (text_is(only->items[i], op))
			return true;
	return only->count == 0;
}

static enum status choose(struct operator_table *t, struct arena *a, const char *folder, const struct cli_list *only,
	struct conform_case **out, struct error *err)
{
	struct conform_case *all;
	size_t count;
	enum status st = conform_nodes(&all, &count, a, folder, err);

	if (st)
		return st;
	for (int i = 0; i < only->count; i++) {
		bool found = false;

		for (size_t k = 0; k < count && !found; k++)
			found = text_is(all[k].op, only->items[i]);
		if (!found)
			return error_set(err, STATUS_BAD_INPUT, "--only %s: no test in %s is about it", only->items[i], folder);
	}
	for (size_t k = 0; k < count; k++)
		if (is_wanted(only, all[k].op))
			all[t->case_count++] = all[k];
	*out = all;
	return STATUS_OK;
}

// ---- answers ---------------------------------------------------------------------------------------------------------

// Cases [first, the result) are about one operator.
static size_t end_of_op(const struct operator_table *t, size_t first)
{
	const struct conform_case *c = t->columns[0].cases;
	size_t end = first;

	while (end < t->case_count && text_is(c[end].op, c[first].op))
		end++;
	return end;
}

// "12 right, 1 wrong, 2 unsupported"
static const char *counts(struct arena *a, const struct conform_case *c, size_t count)
{
	const char *out = NULL;

	for (int v = 0; v < VERDICT_COUNT; v++) {
		size_t n = 0;

		for (size_t i = 0; i < count; i++)
			n += c[i].verdict == (enum verdict)v;
		if (n)
			out = arena_join(a, out, ", ", arena_printf(a, "%zu %s", n, verdict_word((enum verdict)v)));
	}
	return out;
}

static const char *reason_of(struct arena *a, const struct conform_case *c)
{
	return c->reason ? visible_copy(a, arena_printf(a, "%.*s", WORDS_MOST, c->reason)) : "";
}

// Calls `print` once for each group of an operator's cases that are not right and have one verdict: the names, and the words
// of the first.
static void groups(const struct column *k, size_t count, struct arena *a,
	void (*print)(struct arena *a, const char *op, enum verdict v, size_t n, const char *names, const char *words))
{
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && text_is(k->cases[end].op, k->cases[i].op); end++)
			;
		for (int v = 0; v < VERDICT_COUNT; v++) {
			const char *names = NULL, *words = NULL;
			size_t n = 0;

			for (size_t c = i; c < end; c++) {
				if (k->cases[c].verdict != (enum verdict)v || v == VERDICT_RIGHT)
					continue;
				words = words ? words : reason_of(a, &k->cases[c]);
				if (n++ < NAMES_MOST)
					names = arena_join(a, names, ", ", visible_copy(a, k->cases[c].name));
			}
			if (n)
				print(a, k->cases[i].op, (enum verdict)v, n,
					n > NAMES_MOST ? arena_printf(a, "%s, ...", names) : names, words);
		}
	}
}

// ---- for people ------------------------------------------------------------------------------------------------------

static void print_group(struct arena *a, const char *op, enum verdict v, size_t n, const char *names, const char *words)
{
	(void)a;
	emit("  %s: %zu %s: %s\n    %s\n", op, n, verdict_word(v), words, names);
}

static void print_text(const struct operator_table *t, struct arena *a)
{
	size_t wide = strlen("operator");

	for (size_t i = 0; i < t->case_count; i++)
		if (strlen(t->columns[0].cases[i].op) > wide)
			wide = strlen(t->columns[0].cases[i].op);
	emit("%-*s  tests", (int)wide, "operator");
	for (size_t k = 0; k < t->column_count; k++)
		emit("  %-*s", k + 1 < t->column_count ? COLUMN : 0, t->columns[k].word);
	emit("\n");
	for (size_t i = 0, end; i < t->case_count; i = end) {
		end = end_of_op(t, i);
		emit("%-*s  %5zu", (int)wide, t->columns[0].cases[i].op, end - i);
		for (size_t k = 0; k < t->column_count; k++)
			emit("  %-*s", k + 1 < t->column_count ? COLUMN : 0, counts(a, t->columns[k].cases + i, end - i));
		emit("\n");
	}
	for (size_t k = 0; k < t->column_count; k++) {
		emit("\n%s: %s of %zu\n", t->columns[k].word, counts(a, t->columns[k].cases, t->case_count), t->case_count);
		groups(&t->columns[k], t->case_count, a, print_group);
	}
}

// ---- Markdown --------------------------------------------------------------------------------------------------------

static void md_group(struct arena *a, const char *op, enum verdict v, size_t n, const char *names, const char *words)
{
	emit("| %s | %zu %s | %s | %s |\n", report_md_esc(a, op), n, verdict_word(v), report_md_esc(a, words),
		report_md_esc(a, names));
}

static void print_md(const struct operator_table *t, struct arena *a)
{
	emit("| operator | tests |");
	for (size_t k = 0; k < t->column_count; k++)
		emit(" %s |", report_md_esc(a, t->columns[k].word));
	emit("\n| --- | ---: |");
	for (size_t k = 0; k < t->column_count; k++)
		emit(" --- |");
	emit("\n| all | %zu |", t->case_count);
	for (size_t k = 0; k < t->column_count; k++)
		emit(" %s |", counts(a, t->columns[k].cases, t->case_count));
	emit("\n");
	for (size_t i = 0, end; i < t->case_count; i = end) {
		end = end_of_op(t, i);
		emit("| %s | %zu |", report_md_esc(a, t->columns[0].cases[i].op), end - i);
		for (size_t k = 0; k < t->column_count; k++)
			emit(" %s |", counts(a, t->columns[k].cases + i, end - i));
		emit("\n");
	}
	for (size_t k = 0; k < t->column_count; k++) {
		emit("\n## What is not right on %s\n\n| operator | verdict | the words of the first | tests |\n| --- | --- | --- "
		     "| --- "
		     "|\n",
			report_md_esc(a, t->columns[k].word));
		groups(&t->columns[k], t->case_count, a, md_group);
	}
}

// ---- for programs ----------------------------------------------------------------------------------------------------

static json_t *real_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static void print_json(const struct operator_table *t)
{
	json_t *all = json_array();

	for (size_t k = 0; k < t->column_count; k++)
		for (size_t i = 0; i < t->case_count; i++) {
			const struct conform_case *c = &t->columns[k].cases[i];

			json_array_append_new(all,
				json_pack("{s:o, s:o, s:s, s:s, s:s?, s:o, s:o, s:o}", "operator", visible_json_string(c->op),
					"test", visible_json_string(c->name), "platform", t->columns[k].word, "verdict",
					verdict_word(c->verdict), "reason", c->reason, "max_abs_error",
					real_or_null(c->max_abs_error), "nmse", real_or_null(c->nmse), "nodes_elsewhere",
					c->elsewhere < 0 ? json_null() : json_integer(c->elsewhere)));
		}
	show_json(all);
	json_decref(all);
}

// ---- the command -----------------------------------------------------------------------------------------------------

static enum status ask(struct operator_table *t, const struct conform_case *tests, const struct target *targets, size_t count,
	struct arena *a, struct error *err)
{
	enum status st = STATUS_OK;

	for (size_t k = 0; k < count && !st; k++) {
		struct column *c = &t->columns[t->column_count++];
		struct watch watch = { .count = t->case_count };

		*c = (struct column){ .target = &targets[k], .cases = ARENA_ARRAY(a, t->case_count, struct conform_case) };
		c->word = targets[k].chosen ? arena_printf(a, "%s:%s", targets[k].platform->name, targets[k].device)
					    : targets[k].platform->name;
		watch.on = c->word;
		memcpy(c->cases, tests, t->case_count * sizeof *tests);
		st = conform_run(
			&(struct conform_asked){
				.target = c->target, .cases = c->cases, .count = t->case_count, .each = each, .context = &watch },
			a, err);
	}
	progress_clear();
	return st;
}

static int operators(
	const char *folder, const struct cli_list *on, const struct cli_list *only, bool json, bool md, struct arena *a)
{
	struct conform_case *tests;
	struct operator_table t = { 0 };
	struct target *targets;
	struct error err = { 0 };
	size_t count;
	int code = cli_cache_ready();

	if (code >= 0)
		return code;
	if (plan_targets(&targets, &count, a, on->items, (size_t)on->count, NULL, &err))
		return cli_error(&err);
	if (count > PLATFORMS_MOST)
		return cli_bad_use("--on: at most %d platforms are asked at once", PLATFORMS_MOST);
	if (!folder && !cli_setup_folder(&folder, a, &err)) {
		folder = arena_printf(a, "%s/operators", folder);
		if (!file_is_dir(folder))
			return cli_bad_use(
				"ONNX's tests are not in %s: `assay setup operators` brings them, or name a folder of them",
				folder);
	}
	if (!folder || choose(&t, a, folder, only, &tests, &err) || ask(&t, tests, targets, count, a, &err))
		return cli_error(&err);
	json ? print_json(&t) : md ? print_md(&t, a) : print_text(&t, a);
	code = EXIT_GOOD;
	for (size_t k = 0; k < t.column_count; k++)
		for (size_t i = 0; i < t.case_count; i++) {
			const int one = verdict_exit_code(t.columns[k].cases[i].verdict);
			code = one > code ? one : code;
		}
	return code;
}

static int run(int argc, char **argv)
{
	struct cli_list on = { 0 }, only = { 0 };
	bool json = false, md = false;
	const struct cli_option options[] = {
		{ "on", CLI_LIST, &on, "PLATFORM,...", "cpu, openvino, webgpu:native, ...; default cpu" },
		{ "only", CLI_LIST, &only, "OP,...", "tests of these operators: Conv, LayerNormalization, ..." },
		{ "json", CLI_FLAG, &json, NULL, "an array on standard output, one object for each test on each platform" },
		{ "markdown", CLI_FLAG, &md, NULL, "the tables as Markdown; docs/OPERATORS.md is made so" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay operators [FOLDER] [--on PLATFORM,...] [--only OP,...] [--json | --markdown]",
		.text = "ONNX's own tests of its operators, about 1,650, on each platform: right, wrong, or refused in the\n"
			"engine's words. Many run in one process; a crash costs the test that crashed. Right is what ONNX's\n"
			"runner takes (every element within 1e-3 of its reference), or assay's bound for the type that the\n"
			"engine computes in. A test that the platform took no node of is fell_back; one that draws random\n"
			"numbers, or whose values assay cannot hold (texts, sequences, 4 bits), is unjudged.\n"
			"FOLDER holds the tests, a folder each with model.onnx and test_data_set_0; without it those that\n"
			"`assay setup operators` brings. A test NAME_expanded counts for the operator of NAME.\n\n"
			"  assay operators --on cpu,openvino\n"
			"  assay operators --on webgpu:native --only Conv,Resize --json\n\n"
			"Exit codes: 0 all are right or unjudged; 1 bad use or an error of assay's own; 2 a test has another\n"
			"verdict; 3 a test is wrong.\n",
		.options = options,
		.min_words = 0,
		.max_words = 1,
	};
	struct arena arena = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (json && md)
		return cli_bad_use("--json and --markdown: one of them");
	code = operators(words ? argv[1] : NULL, &on, &only, json, md, &arena);
	arena_done(&arena);
	return code;
}

const struct command command_operators = { "operators",
	"ONNX's own tests of its operators on each platform: right, wrong, refused", run };
