// SPDX-License-Identifier: Apache-2.0
// assay reproduce: a row's question again, and whether its answer holds. What holding means is decided in analysis/reproduce.c.
#include <stdio.h>

#include "analysis/reproduce.h"
#include "base/text.h"
#include "run/cell.h"
#include "cells.h"
#include "emit.h"
#include "progress.h"
#include "reading.h"
#include "show.h"

static void show_phase(void *context, const char *phase)
{
	progress_line("row %lld again: %s", (long long)*(const int64_t *)context, phase);
}

static void show_notice(void *context, const char *text)
{
	(void)context;
	progress_notice(text);
}

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
	emit("%s\n", answer->holds ? "holds" : "does not hold");
}

// The row is read first and the file closed: asking opens it for writing.
static enum status ask(
	struct cells *c, struct reproduce *r, const struct machine *machine, struct cell_result *now, struct error *err)
{
	struct arena *a = &c->arena;
	struct store store = { .notice = progress_notice };
	struct cell_watch watch = { .phase = show_phase, .notice = show_notice, .context = &r->old.row.row, .stop = &cli_stop };
	struct plan_memory memory;
	struct plan_model *m = ARENA_NEW(a, struct plan_model);
	struct target *t;
	size_t count;
	enum status st;

	if ((st = plan_targets(&t, &count, a, &r->on, 1, r->options, err)) ||
		(st = plan_model(m, a, r->model, &r->question, err)))
		return st;
	progress_line("looking at the engines");
	json_t *platforms = detect_platforms(t, count, false);
	plan_choose(t, count, platforms, a);
	progress_clear();
	st = store_open(&store, c->db, false, err);
	if (!st)
		st = store_begin_run(&store, machine, c->command, err);
	if (!st)
		st = store_detection(&store, platforms, err);
	json_decref(platforms);
	if (!st)
		st = plan_identify_or_refuse(
			m, a, progress_bytes, (void *)(uintptr_t) "reading the model's files, to know what it is", err);
	plan_memory(&memory, a, m, t, &r->question);
	if (!st && !t->absent && !memory.refused)
		st = plan_weights(
			m, a, &r->question, plan_cache_limit(), progress_bytes, (void *)"writing synthetic weights", err);
	if (!st)
		st = plan_run(m, t, &r->question, &memory, NULL, &store, &watch, a, now, err);
	progress_clear();
	if (!st)
		st = store_end_run(&store, err);
	store_close(&store);
	return st;
}

static int run(int argc, char **argv)
{
	struct cells c = { .db = cli_default_db() };
	bool command_only = false;
	const struct cli_option options[] = {
		{ "command", CLI_FLAG, &command_only, NULL, "only print the line that asks the row's question" },
		{ "json", CLI_FLAG, &c.json, NULL, "an object on standard output" },
		{ "db", CLI_TEXT, &c.db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
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
			"it. Engine, version, weights, inputs or a place of the model that are others than then are named.\n\n"
			"  assay reproduce 12\n"
			"  assay reproduce 12 --command\n\n"
			"Exit codes: 0 it holds; 1 bad use, no such row, or an error of assay's own; 2 it does not hold, or it "
			"was\n"
			"stopped.\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	struct store store = cli_reading();
	struct machine machine;
	struct reproduce r;
	struct cell_result now;
	struct reproduce_answer answer;
	struct error err = { 0 };
	int64_t row;
	int words, code;

	c.command = cells_command(&c.arena, argc, argv);
	code = cli_parse(&usage, argc, argv, &words);
	if (code < 0 && !text_to_int(argv[1], 1, INT64_MAX - 1, &row))
		code = cli_bad_use("'%s' is no number of a row", argv[1]);
	if (code >= 0) {
		cells_done(&c);
		return code;
	}
	enum status st = store_open_settled(&store, c.db, &err);
	if (!st)
		st = reproduce_read(&store, &c.arena, row, &r, &err);
	store_close(&store);
	if (st) {
		code = cli_error(&err);
	} else if (command_only) {
		emit("%s\n", reproduce_command(&c.arena, &r));
		code = EXIT_GOOD;
	} else if (reproduce_check(&r, &err)) {
		code = cli_error(&err);
	} else if ((code = cli_cache_ready()) < 0) {
		machine_detect(&machine, &c.arena);
		cli_catch_stop();
		if (ask(&c, &r, &machine, &now, &err)) {
			code = cli_error(&err);
		} else {
			reproduce_judge(&r, &now, &machine, &c.arena, &answer);
			if (c.json) {
				json_t *out = reproduce_json(&r, &now, &answer);
				show_json(out);
				json_decref(out);
			} else {
				print_answer(&r, &now, &answer, reproduce_command(&c.arena, &r));
			}
			code = answer.holds ? EXIT_GOOD : EXIT_VERDICT;
		}
	}
	cells_done(&c);
	return code;
}

const struct command command_reproduce = { "reproduce", "a row's question again: does its answer hold?", run };
