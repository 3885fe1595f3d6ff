// SPDX-License-Identifier: Apache-2.0
// assay run: some cells, now, each with its summary.
#include <stdio.h>

#include "cells.h"
#include "emit.h"
#include "show.h"

// What several cells come to, and where the rest is.
static void print_end(const struct cells *c)
{
	struct arena a = { 0 };

	if (c->table.first && c->table.first != c->table.last)
		show_table_print(&c->table);
	if (json_array_size(c->matrix.results) > 1)
		cells_print_counts(c);
	const char *more = c->verbose ? "" : "; -v prints every fact of a cell";
	if (c->table.first && !c->db)
		emit("no row was kept (--no-db)%s\n", more);
	else if (c->table.first)
		emit("%s in %s, run:%lld of it%s\n",
			c->table.first == c->table.last ? arena_printf(&a, "row %s", c->table.first->of[0]) : "rows", c->db,
			(long long)c->matrix.run, more);
	arena_done(&a);
}

static int run(int argc, char **argv)
{
	struct cells c = { CELLS_INIT, .db = cli_default_db() };
	struct cli_list switch_on = { 0 };
	bool no_db = false;
	const struct cli_option first[] = { { "together", CLI_FLAG, &c.matrix.together, NULL, MATRIX_TOGETHER_HELP },
		{ "switch", CLI_LIST, &switch_on, "PLATFORM,PLATFORM,...", MATRIX_SWITCH_HELP }, { .kind = CLI_END } },
				last[] = {
					{ "verbose", CLI_FLAG, &c.verbose, NULL, "every fact of a cell instead of four lines" },
					{ "v", CLI_FLAG, &c.verbose, NULL, "the same" },
					{ "db", CLI_TEXT, &c.db, "FILE",
						"DuckDB file that gets the rows; default $ASSAY_DB, else assay.duckdb" },
					{ "no-db", CLI_FLAG, &no_db, NULL, "keep no row" },
					{ .kind = CLI_END },
				};
	const struct cli_usage usage = {
		.synopsis = "assay run MODEL... [options]",
		.text = "MODEL is a folder with config.json and safetensors files, an .onnx or .gguf file, a name in the Hub's\n"
			"cache, or a model whose configuration the program carries (bert-base-uncased, vit-base-patch16-224,\n"
			"Qwen/Qwen2-0.5B-Instruct, ...). Each cell (one model on one platform) runs in a child process and is\n"
			"judged against golden outputs or another engine.\n\n"
			"  assay run bert-base-uncased --synthetic --on cpu,openvino\n"
			"  assay run ./my-checkpoint --on openvino --batch 8 --seq 256 --json\n\n"
			"Exit codes: 0 every cell is right, unjudged or compiles; 1 bad use or an error of assay's own; 2 a\n"
			"cell has another verdict, or its scenario is NOT VALID; 3 a cell is wrong (wins). With --fallback a\n"
			"cell's last try counts.\n",
		.options = cells_options(&c, first, last),
		.min_words = 1,
		.max_words = -1,
	};
	int words, code;

	c.matrix.command = cells_command(&c.matrix.arena, argc, argv);
	code = cli_parse(&usage, argc, argv, &words);
	c.quiet = c.json;
	if (no_db)
		c.db = NULL;
	if (code < 0 && switch_on.count && c.on.count)
		code = cli_bad_use("--switch names the platforms: --on does not go with it");
	if (switch_on.count) {
		c.on = switch_on;
		c.matrix.switches = true;
	}
	if (code < 0 && (code = cells_plan(&c, (const char *const *)argv + 1, (size_t)words)) < 0) {
		code = cells_run(&c);
		if (c.json)
			show_json(c.matrix.results);
		else
			print_end(&c);
		cells_print_crossovers(&c, c.json ? stderr : stdout);
	}
	cells_done(&c);
	return code;
}

const struct command command_run = { "run", "run models on platforms: where, how right, how fast, in how much memory", run };
