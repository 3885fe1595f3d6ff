// SPDX-License-Identifier: Apache-2.0
// assay reproduce: a row's question again, and whether its answer holds. What holding means is decided in analysis/reproduce.c.
#include <stdio.h>

#include "analysis/reproduce.h"
#include "base/text.h"
#include "cells.h"
#include "emit.h"
#include "progress.h"
#include "reading.h"
#include "show.h"

static void print_answer(
	const struct reproduce *r, const struct cell_result *now, const struct reproduce_answer *answer, const char *command)
{
	emit("row %lld, again as row %lld\n  %s\n", (long long)r->old.row.row, (long long)now->row.row, command);
	for (size_t i = 0; i < answer->count; i++)
		emit("  %-14s %s: %s\n", answer->check[i].what,
			answer->check[i].holds > 0       ? "holds"
				: answer->check[i].holds ? "not told"
							 : "does not hold",
			answer->check[i].words);
	if (answer->differs)
		emit("  %-14s %s\n", "another now", answer->differs);
	emit("%s\n",
		!answer->unasked                    ? answer->holds ? "holds" : "does not hold"
			: verdict_ran(now->verdict) ? "not told: the answer could not be judged here"
						    : "not told: the question could not be asked here");
}

// What the matrix is asked, and what becomes of its answer.
struct again {
	struct reproduce r;
	struct machine machine;
	struct matrix matrix;
	bool json, has_answer, holds;
};

// The result lasts for the event: the answer is held against the old one, and shown, here.
static void answer(struct again *x, const struct cell_result *now)
{
	struct arena a = { 0 };
	struct reproduce_answer answer;

	reproduce_judge(&x->r, now, &x->machine, &a, &answer);
	x->has_answer = true;
	x->holds = answer.holds && !answer.unasked;
	if (x->json) {
		json_t *out = reproduce_json(&x->r, now, &answer);

		show_json(out);
		json_decref(out);
	} else {
		print_answer(&x->r, now, &answer, reproduce_command(&a, &x->r));
	}
	arena_done(&a);
}

static void show(void *context, const struct matrix_event *e)
{
	struct again *x = context;

	if (e->kind == MATRIX_PROGRESS) {
		progress_line("row %lld again: %s", (long long)x->r.old.row.row, e->text);
	} else if (e->kind == MATRIX_READING) {
		progress_bytes((void *)(uintptr_t) "reading the model's files, to know what it is", e->done, e->total);
	} else if (e->kind == MATRIX_NOTICE) {
		progress_notice(e->text);
	} else if (e->kind == MATRIX_RESULT) {
		progress_clear();
		answer(x, e->result);
	}
}

// The row is read first and the file closed: asking opens it for writing.
static int ask(struct again *x, const char *db)
{
	struct matrix *m = &x->matrix;
	struct error err = { 0 };
	enum status s;

	machine_detect(&x->machine, &m->arena);
	cli_catch_stop();
	m->question = x->r.question;
	m->options = x->r.options;
	m->on = &x->r.on;
	m->on_count = 1;
	m->db = db;
	m->stop = &cli_stop;
	m->event = show;
	m->context = x;
	s = matrix_check(m, 1, &err);
	if (!s)
		s = matrix_plan(m, &x->r.model, 1, &err);
	progress_clear();
	if (!s)
		s = matrix_run(m, &err);
	progress_clear();
	if (s)
		return cli_error(&err);
	if (!x->has_answer)
		emit_error("assay: interrupted (%s) before it was asked\n", cli_stop_name());
	return x->has_answer && x->holds ? EXIT_GOOD : EXIT_VERDICT;
}

static int run(int argc, char **argv)
{
	struct again x = { .matrix = MATRIX_INIT };
	const char *db = cli_default_db();
	bool command_only = false;
	const struct cli_option options[] = {
		{ "command", CLI_FLAG, &command_only, NULL, "only print the line that asks the row's question" },
		{ "json", CLI_FLAG, &x.json, NULL, "an object on standard output" },
		{ "db", CLI_TEXT, &db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay reproduce ROW [--command] [--json] [--db FILE]",
		.text = "Asks the question of a row again, all of it (model, weights, shapes, platform, device, options, "
			"precision,\n"
			"seeds, limits), as a new row, and holds the new answer against the old one. The verdict must be the "
			"same; the\n"
			"largest error of the outputs at most twice as large, if the reference is the same; of the latency the "
			"95 %\n"
			"intervals must overlap or the ratio be within 10 %, which two processes may differ (`assay ab` and\n"
			"`assay compare` with 6 rows a side tell smaller differences). An unstable row, fewer than 6 runs or an\n"
			"interval wider than 25 % of the median cannot tell. On another machine latency is not held against\n"
			"it. A model whose files are others does not hold; engine, version, graph or inputs that are others\n"
			"are named. Of a whole pipeline there is --command alone: the line that asks it again.\n\n"
			"  assay reproduce 12\n"
			"  assay reproduce 12 --command\n\n"
			"Exit codes: 0 it holds; 1 bad use, no such row, or an error of assay's own; 2 it does not hold, could "
			"not be\n"
			"asked here, or was stopped.\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	struct store store = cli_reading();
	struct arena *a = &x.matrix.arena;
	struct error err = { 0 };
	int64_t row;
	int words, code;

	x.matrix.command = cells_command(a, argc, argv);
	code = cli_parse(&usage, argc, argv, &words);
	if (code < 0 && !text_to_int(argv[1], 1, INT64_MAX - 1, &row))
		code = cli_bad_use("'%s' is no number of a row", argv[1]);
	if (code < 0) {
		enum status s = store_open_settled(&store, db, &err);

		if (!s)
			s = reproduce_read(&store, a, row, &x.r, &err);
		store_close(&store);
		if (!s && command_only)
			emit("%s\n", reproduce_command(a, &x.r));
		else if (!s)
			s = reproduce_check(&x.r, &err);
		if (s)
			code = cli_error(&err);
		else if (command_only)
			code = EXIT_GOOD;
		else if ((code = cli_cache_ready()) < 0)
			code = ask(&x, db);
	}
	matrix_done(&x.matrix);
	return code;
}

const struct command command_reproduce = { "reproduce", "a row's question again: does its answer hold?", run };
