// SPDX-License-Identifier: Apache-2.0
// assay export and assay import: tables out of a database, results of other tools into one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "base/file.h"
#include "base/text.h"
#include "emit.h"
#include "progress.h"
#include "base/visible.h"
#include "reading.h"
#include "show.h"
#include "store/transfer.h"

static bool has_ending(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strchr(slash ? slash + 1 : path, '.') != NULL;
}

// table NULL: all of them. Told to `written`, an array, or where that is NULL on standard output.
static enum status to_file(
	struct store *s, const char *table, const char *format, bool raw, const char *path, json_t *written, struct error *err)
{
	int64_t rows = 0;

	if (file_is_same(path, s->path))
		return error_set(err, STATUS_BAD_INPUT, "-o %s is the database", path);
	enum status st = table ? store_export(s, table, format, raw, path, &rows, err)
			       : store_export_all(s, format, raw, path, &rows, err);

	if (!st && written) {
		json_t *one = show_written(path);

		json_object_set_new(one, "table", table ? json_string(table) : json_null());
		json_object_set_new(one, "rows", json_integer(rows));
		json_array_append_new(written, one);
	} else if (!st)
		emit("%s: %lld row%s%s\n", path, (long long)rows, rows == 1 ? "" : "s", table ? "" : " of all tables");
	return st;
}

// By a file: DuckDB writes Parquet beside and puts it in place.
static enum status to_output(struct store *s, const char *table, const char *format, bool raw, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = arena_printf(&s->arena, "%s/assay-export.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	struct arena passing = { 0 };
	const uint8_t *map;
	size_t nbytes = 0;
	int64_t rows;

	if (!mkdtemp(folder))
		return error_errno(err, "%s", folder);
	const char *path = arena_printf(&s->arena, "%s/table.%s", folder, format);
	enum status st = store_export(s, table, format, raw, path, &rows, err);
	if (!st)
		st = file_map(&passing, path, &map, &nbytes, err);
	file_remove_tree(folder, NULL);
	cli_release_stop(); // nothing is left behind from here on, and who reads may wait
	if (!st && cli_stop)
		st = error_set(err, STATUS_INTERRUPTED, "stopped before it was done");
	if (!st)
		emit_bytes((const char *)map, nbytes);
	arena_done(&passing);
	return st;
}

struct export_how {
	const char *to, *format;
	const char *const *tables; // of the command line
	int count;                 // 0: all of assay's tables
	bool raw, is_one_file;     // is_one_file: `to` is a file and no folder
	json_t *written;           // --json: what to_file tells; else NULL
};

// Format and kind of `to`, by its ending and what else was asked. -1, or the exit code of bad use.
static int settle_export(struct export_how *x)
{
	const char *by_ending = x->count <= 1 ? store_format_of(x->to) : NULL;

	if (text_is(x->to, "-") && x->count != 1)
		return cli_bad_use("-o -: standard output takes one table; name it");
	if (text_is(x->to, "-") && !x->format)
		x->format = "csv";
	if (x->count == 1 && !x->format && !by_ending && has_ending(x->to))
		return cli_bad_use("-o %s: the ending says no format: .parquet, .csv, .json, .jsonl and .ndjson do, and so does "
				   "--format",
			x->to);
	if (x->format && by_ending && !text_is(x->format, by_ending))
		return cli_bad_use("-o %s is the name of a %s file, and --format %s was asked for: one of them must go", x->to,
			by_ending, x->format);
	x->format = x->format ? x->format : by_ending ? by_ending : "parquet";
	if (!text_is(x->format, "parquet") && !text_is(x->format, "csv") && !text_is(x->format, "json"))
		return cli_bad_use("unknown format '%s': parquet, csv or json", x->format);
	if (x->raw && !text_is(x->format, "csv"))
		return cli_bad_use("--raw goes with CSV");
	x->is_one_file = x->count == 1 || (x->count == 0 && by_ending && !file_is_dir(x->to));
	return -1;
}

static enum status export_as_asked(struct store *s, const struct export_how *x, struct error *err)
{
	struct table all = { 0 };
	enum status st = STATUS_OK;

	if (text_is(x->to, "-"))
		return to_output(s, x->tables[0], x->format, x->raw, err);
	if (x->is_one_file)
		return to_file(s, x->count ? x->tables[0] : NULL, x->format, x->raw, x->to, x->written, err);
	st = file_mkdirs(x->to, err);
	if (!st && !x->count)
		st = store_tables(s, &all, err);
	for (size_t i = 0; i < (x->count ? (size_t)x->count : all.row_count) && !st; i++) {
		const char *table = x->count ? x->tables[i] : all.cells[i];

		st = to_file(s, table, x->format, x->raw, arena_printf(&s->arena, "%s/%s.%s", x->to, table, x->format),
			x->written, err);
	}
	return st;
}

static int run_export(int argc, char **argv)
{
	struct export_how x = { 0 };
	const char *db = cli_default_db();
	bool json = false;
	const struct cli_option options[] = {
		{ "format", CLI_TEXT, &x.format, "FORMAT",
			"parquet, csv, or json (an object a line); default by the ending of FILE or PATH, of -o - csv, else "
			"parquet" },
		{ "raw", CLI_FLAG, &x.raw, NULL,
			"of csv: no ' before texts that begin with = + - or @, which spreadsheets compute" },
		{ "o", CLI_TEXT, &x.to, "PATH",
			"the file for one table, - for standard output; a folder for several, made where it is not there" },
		{ "db", CLI_TEXT, &db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
		{ "json", CLI_FLAG, &json, NULL, "an array on standard output: of each file its table, rows and bytes" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay export FILE | -o PATH [TABLE...] [options]",
		.text = "The whole database as one FILE (.parquet, .csv, .json, .jsonl or .ndjson) that `assay import` takes:\n"
			"the rows of all tables; the column assay_table says of which.\n\n"
			"With -o, tables and views for other programs (`result` is the one to look at); without a name every\n"
			"table of assay's, each as PATH/TABLE.parquet. The database is only read.\n\n"
			"  assay export all.parquet\n"
			"  assay export -o result.csv result\n"
			"  assay export --format csv -o tables\n\n"
			"Exit codes: 0 written; 1 bad use, no such table, or a file cannot be written.\n",
		.options = options,
		.min_words = 0,
		.max_words = -1,
	};
	struct store s = cli_reading();
	struct error err = { 0 };
	int code = cli_parse(&usage, argc, argv, &x.count);

	if (code >= 0)
		return code;
	x.tables = (const char *const *)argv + 1;
	if (!x.to && x.count == 1 && store_format_of(argv[1])) {
		x.to = argv[1];
		x.count = 0;
	}
	if (!x.to)
		return cli_bad_use("-o PATH says where to, or one FILE that ends in .parquet, .csv, .json, .jsonl or .ndjson");
	if (json && text_is(x.to, "-"))
		return cli_bad_use("-o -: standard output has the table; --json tells of files");
	code = settle_export(&x);
	if (code >= 0)
		return code;
	x.written = json ? json_array() : NULL;
	cli_catch_stop();
	s.limits.stop = &cli_stop; // what is half written goes
	enum status st = store_open_settled(&s, db, &err);
	if (!st)
		st = export_as_asked(&s, &x, &err);
	if (!st && json)
		show_json(x.written);
	json_decref(x.written);
	store_close(&s);
	return st ? cli_error(&err) : EXIT_GOOD;
}

// Rows of assay, by its ending, because it is a folder, or because it begins so; anything else is a result of another tool.
static bool is_ours(const char *path)
{
	return file_is_dir(path) || text_ends(path, ".duckdb") || text_ends(path, ".db") || store_is_one_file(path);
}

static enum status absorb(struct store *s, const char *db, const char *path, int64_t most, json_t *told, struct error *err)
{
	struct store_absorbed got;
	enum status status = !file_exists(path) && !file_is_dir(path)
		? error_set(err, STATUS_BAD_INPUT, "%s: no such file or folder", path)
		: STATUS_OK;

	if (status == STATUS_OK && !s->duckdb)
		status = store_open(s, db, false, err);
	if (status == STATUS_OK)
		status = store_absorb(s, path, most, &got, err);
	if (status == STATUS_OK && told)
		json_array_append_new(told,
			json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:I}", "file", visible_json_string(path), "from", "assay",
				"rows", (json_int_t)got.cells, "new_rows", (json_int_t)got.new_cells, "new_runs",
				(json_int_t)got.new_runs, "left_out", (json_int_t)got.left_out, "machines_left_out",
				(json_int_t)got.machines));
	else if (status == STATUS_OK)
		emit("%s: %lld row%s, %lld of them new, of %lld new run%s\n", path, (long long)got.cells,
			got.cells == 1 ? "" : "s", (long long)got.new_cells, (long long)got.new_runs,
			got.new_runs == 1 ? "" : "s");
	if (status == STATUS_OK && got.without_samples > 0)
		progress_notice(arena_printf(&s->arena,
			"%s: %lld of them came without the single times of their runs, which `assay compare` needs", path,
			(long long)got.without_samples));
	if (status == STATUS_OK && got.left_out > 0)
		progress_notice(arena_printf(&s->arena,
			"%s: it says otherwise of %lld row%s that %s here, and that is left out: no file changes what is here",
			path, (long long)got.left_out, got.left_out == 1 ? "" : "s", got.left_out == 1 ? "is" : "are"));
	if (status == STATUS_OK && got.machines > 0)
		progress_notice(
			arena_printf(&s->arena, "%s: it says otherwise of %lld machine%s that %s here, and that is left out",
				path, (long long)got.machines, got.machines == 1 ? "" : "s", got.machines == 1 ? "is" : "are"));
	return status;
}

// Of one file of another tool, to `told` or, where that is NULL, on standard output.
static void tell_foreign(const char *path, const struct foreign_result *r, const struct store_import *added, json_t *told)
{
	if (told)
		json_array_append_new(told,
			json_pack("{s:o, s:s, s:s?, s:I, s:I}", "file", visible_json_string(path), "from", r->tool, "version",
				r->version, "rows", (json_int_t)r->count, "new_rows",
				(json_int_t)(added->known ? 0 : added->cells)));
	else if (added->known)
		emit("%s: imported before, nothing added\n", path);
	else
		emit("%s: %lld row%s of %s%s%s\n", path, (long long)added->cells, added->cells == 1 ? "" : "s", r->tool,
			r->version ? " " : "", r->version ? r->version : "");
}

static int run_import(int argc, char **argv)
{
	const char *db = cli_default_db();
	int64_t most = 5000000;
	bool json = false;
	const struct cli_option options[] = {
		{ "rows", CLI_INTEGER, &most, "N",
			"of a database of assay: one whose tables hold more rows, or 100 bytes of texts for each, is refused; "
			"default 5000000",
			1, 1e12 },
		{ "db", CLI_TEXT, &db, "FILE", "the database, made where it is not there; default $ASSAY_DB, else assay.duckdb" },
		{ "json", CLI_FLAG, &json, NULL, "an array on standard output: of each file its rows, and how many were new" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay import FILE... [--db FILE] [--json]",
		.text = "Rows of other databases of assay: the .duckdb file, the one .parquet, .csv or .json file that\n"
			"`assay export FILE` wrote, or the folder that `assay export -o FOLDER` wrote. They get new numbers, "
			"and\n"
			"what is here already is not added again.\n\n"
			"Results of other tools as rows: llama-bench (-o json, jsonl, csv), optimum-benchmark\n"
			"(benchmark.json), OpenVINO's benchmark_app (benchmark_report.json, .csv), onnxruntime_perf_test (its\n"
			"result file, or what it printed). Such a row is unjudged, its `source` names the tool, and it counts\n"
			"as no success and no platform's best: assay neither measured nor checked it. A file that was imported\n"
			"before adds nothing; one that cannot be read adds nothing and the next one is tried.\n\n"
			"  assay import other-machine.duckdb\n"
			"  assay import all.parquet\n"
			"  llama-bench -m model.gguf -o json >llama.json && assay import llama.json\n\n"
			"Exit codes: 0 all are in the database; 1 bad use, or a file that was not understood.\n",
		.options = options,
		.min_words = 1,
		.max_words = -1,
	};
	struct store s = cli_reading();
	struct error err = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	code = EXIT_GOOD;
	json_t *told = json ? json_array() : NULL;
	for (int i = 1; i <= words; i++) {
		struct foreign_result r;
		struct store_import added = { 0 };
		err = (struct error){ 0 };
		if (is_ours(argv[i])) {
			if (absorb(&s, db, argv[i], most, told, &err) != STATUS_OK)
				code = cli_error(&err);
			continue;
		}
		if (foreign_read(&r, argv[i], &err)) {
			code = cli_error(&err);
			continue;
		}
		if ((!s.duckdb && store_open(&s, db, false, &err)) || store_import_foreign(&s, argv[i], &r, &added, &err))
			code = cli_error(&err);
		else
			tell_foreign(argv[i], &r, &added, told);
		foreign_done(&r);
	}
	if (json)
		show_json(told);
	json_decref(told);
	store_close(&s);
	return code;
}

const struct command command_export = { "export", "tables of the database as Parquet, CSV or JSON", run_export };
const struct command command_import = { "import", "rows of other databases; results of other tools, marked as theirs",
	run_import };
