// SPDX-License-Identifier: Apache-2.0
// assay profile: where the time of a model goes. The cell is run like any other (run, matrix) and becomes a row; its profile is
// printed from the row, so that --row prints the same one again.
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "cells.h"
#include "report/profile/profile.h"
#include "emit.h"
#include "show.h"

static int print(const struct row *r, const json_t *nodes, const char *html, bool as_json, size_t top)
{
	struct arena a = { 0 };
	struct text out = { 0 };
	struct error err = { 0 };
	struct profile_view *v;
	enum status s = profile_view(&v, &a, r, nodes, &err);

	if (s == STATUS_OK && as_json) {
		json_t *json = profile_view_json(v);
		show_json(json);
		json_decref(json);
	} else if (s == STATUS_OK) {
		profile_view_text(v, top, &out);
		emit_lines(text_get(&out));
	}
	if (s == STATUS_OK && html) {
		text_done(&out);
		out = (struct text){ 0 };
		profile_view_html(v, &out);
		s = file_write_user(html, text_get(&out), out.length, &err);
		if (s == STATUS_OK && !as_json)
			emit("\nflame graph: %s\n", html);
	}
	text_done(&out);
	arena_done(&a);
	return s == STATUS_OK ? EXIT_GOOD : cli_error(&err);
}

static int print_row(const char *db, int64_t number, const char *html, bool as_json, size_t top)
{
	struct store store = { 0 };
	struct arena a = { 0 };
	struct error err = { 0 };
	struct row row;
	json_t *nodes = NULL;
	int code;
	enum status s = store_open_settled(&store, db, &err);

	if (s == STATUS_OK)
		s = store_row(&store, &a, number, &row, &err);
	if (s == STATUS_OK)
		s = store_profile(&store, number, &nodes, &err);
	if (s == STATUS_OK && json_array_size(nodes) == 0)
		s = error_set(&err, STATUS_BAD_INPUT, "row %lld of %s holds no profile: only `assay profile` makes one",
			(long long)number, db);
	store_close(&store);
	code = s == STATUS_OK ? print(&row, nodes, html, as_json, top) : cli_error(&err);
	json_decref(nodes);
	arena_done(&a);
	return code;
}

static int run(int argc, char **argv)
{
	struct cells c = { CELLS_INIT, .db = cli_default_db() };
	int64_t row = 0, top = 12;
	const char *html = NULL;
	const struct cli_option none[] = { { .kind = CLI_END } },
				last[] = {
					{ "db", CLI_TEXT, &c.db, "FILE",
						"DuckDB file that gets the row; default $ASSAY_DB, else assay.duckdb" },
					{ "o", CLI_TEXT, &html, "FILE", "also a flame graph as one HTML file" },
					{ "top", CLI_INTEGER, &top, "N", "how many single nodes to list; default 12", 0, 100000 },
					{ "row", CLI_INTEGER, &row, "N",
						"print the profile of row N again; nothing runs, MODEL is left out", 1, 9e15 },
					{ .kind = CLI_END },
				};
	const struct cli_usage usage = {
		.synopsis = "assay profile MODEL [options]  |  assay profile --row N",
		.text = "Runs the cell, then runs it again with the engine's own profile (ONNX Runtime's, OpenVINO's\n"
			"performance counters) and prints the time of each layer, each kind of node and the slowest nodes,\n"
			"with their rate, and how near that is to the roofline of this machine: the bandwidth of memory and the\n"
			"best rate of this engine in products of matrices of 512, 1024 and 2048 rows, both measured in the same\n"
			"process. A share above 100 % says that a roof was measured too low, and is said so. A node that the "
			"engine\n"
			"made of several is found by the names it contains, or by its place; what cannot be found is its own\n"
			"line. Times are means over the middle half of at least 5 profiled runs, so they add up. Platforms:\n"
			"ONNX Runtime's CPU provider, OpenVINO, and webgpu:native by its adapter's clock; others say why not.\n\n"
			"  assay profile bert-base-uncased --synthetic --on openvino -o bert.html\n"
			"  assay profile --row 7 --json\n\n"
			"Exit codes: 0 the cell is right or unjudged; 1 bad use or an error of assay's own; 2 it has another\n"
			"verdict (a platform that has no profile: unsupported); 3 it is wrong.\n",
		.options = cells_options(&c, none, last),
		.min_words = 0,
		.max_words = 1,
	};
	int words, code;

	c.matrix.question.profile = true;
	c.matrix.command = cells_command(&c.matrix.arena, argc, argv);
	code = cli_parse(&usage, argc, argv, &words);
	if (code < 0 && (words == 0) == (row == 0))
		code = cli_bad_use(
			row ? "--row N prints a row that is there: MODEL is left out" : "MODEL is missing (or --row N)");
	if (code < 0 && c.on.count > 1)
		code = cli_bad_use("--on names %d platforms: a profile is of one", c.on.count);
	if (code < 0 && c.matrix.question.task && !text_is(c.matrix.question.task, "forward"))
		code = cli_bad_use("--task %s: what is profiled is one forward pass", c.matrix.question.task);
	if (code < 0 && html && file_is_same(html, c.db))
		code = cli_bad_use("-o %s is the database", html);
	if (code < 0 && row) {
		code = print_row(c.db, row, html, c.json, (size_t)top);
	} else if (code < 0) {
		c.quiet = c.json;
		code = cells_plan(&c, (const char *const *)argv + 1, (size_t)words);
		if (code < 0 && c.matrix.cell_count != 1)
			code = cli_bad_use("that is %zu cells: a profile is of one", c.matrix.cell_count);
		if (code < 0) {
			code = cells_run(&c);
			const json_t *first = json_array_get(c.matrix.results, 0);
			int64_t made = json_integer_value(json_object_get(first, "row"));
			bool whole = json_is_real(json_object_get(json_object_get(first, "profile"), "whole_ms"));
			if (whole) {
				if (!c.json)
					emit("\n");
				int printed = print_row(c.db, made, html, c.json, (size_t)top);
				code = printed == EXIT_GOOD ? code : printed;
			} else if (c.json) {
				show_json(c.matrix.results);
			}
		}
	}
	cells_done(&c);
	return code;
}

const struct command command_profile = { "profile",
	"where the time of a model goes: layers, kinds of node, roofline, a flame graph", run };
