// SPDX-License-Identifier: Apache-2.0
// assay export and assay import: tables out of a database, results of other tools into one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "base/file.h"
#include "base/text.h"
#include "emit.h"
#include "reading.h"
#include "store/transfer.h"

static const struct {
	const char *ending, *format;
} endings[] = {
	{ ".parquet", "parquet" },
	{ ".csv", "csv" },
	{ ".json", "json" },
	{ ".jsonl", "json" },
	{ ".ndjson", "json" },
};

// What the ending of a file for one table means; NULL: nothing.
static const char *format_of_file(const char *path)
{
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (text_ends(path, endings[i].ending))
			return endings[i].format;
	return NULL;
}

static bool has_ending(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strchr(slash ? slash + 1 : path, '.') != NULL;
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
	if (!st)
		emit_bytes((const char *)map, nbytes);
	arena_done(&passing);
	file_remove_tree(folder, NULL);
	return st;
}

static int run_export(int argc, char **argv)
{
	const char *db = cli_default_db(), *format = NULL, *to = NULL, *by_ending = NULL;
	bool raw = false;
	const struct cli_option options[] = {
		{ "format", CLI_TEXT, &format, "FORMAT",
			"parquet, csv, or json (an object a line); default by the ending of -o, of -o - csv, else parquet" },
		{ "raw", CLI_FLAG, &raw, NULL,
			"of csv: no ' before texts that begin with = + - or @, which spreadsheets compute" },
		{ "o", CLI_TEXT, &to, "PATH",
			"the file for one table, - for standard output; a folder for several, made where it is not there" },
		{ "db", CLI_TEXT, &db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay export -o PATH [TABLE...] [options]",
		.text = "Tables and views (`result` is the one to give to others); without a name every table of\n"
			"assay's, each as PATH/TABLE.parquet. The database is only read.\n\n"
			"  assay export -o result.csv result\n"
			"  assay export --format csv -o tables\n\n"
			"Exit codes: 0 written; 1 bad use, no such table, or a file cannot be written.\n",
		.options = options,
		.min_words = 0,
		.max_words = -1,
	};
	struct store s = cli_reading();
	struct error err = { 0 };
	struct table t = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (!to)
		return cli_bad_use("-o PATH says where to");
	if (text_is(to, "-") && words != 1)
		return cli_bad_use("-o -: standard output takes one table; name it");
	if (text_is(to, "-") && !format)
		format = "csv";
	if (words == 1) {
		by_ending = format_of_file(to);
		if (!format && !by_ending && has_ending(to))
			return cli_bad_use("-o %s: the ending says no format: .parquet, .csv, .json, .jsonl and .ndjson do, and "
					   "so does --format",
				to);
		if (format && by_ending && !text_is(format, by_ending))
			return cli_bad_use("-o %s is the name of a %s file, and --format %s was asked for: one of them must go",
				to, by_ending, format);
	}
	format = format ? format : by_ending ? by_ending : "parquet";
	if (!text_is(format, "parquet") && !text_is(format, "csv") && !text_is(format, "json"))
		return cli_bad_use("unknown format '%s': parquet, csv or json", format);
	if (raw && !text_is(format, "csv"))
		return cli_bad_use("--raw goes with CSV");
	if (store_open_settled(&s, db, &err) || (words == 0 && store_tables(&s, &t, &err)) ||
		(words != 1 && file_mkdirs(to, &err)))
		goto failed;
	if (text_is(to, "-")) {
		if (to_output(&s, argv[1], format, raw, &err))
			goto failed;
		store_close(&s);
		return EXIT_GOOD;
	}
	for (size_t i = 0; i < (words > 0 ? (size_t)words : t.row_count); i++) {
		const char *table = words > 0 ? argv[1 + i] : t.cells[i];
		const char *path = words == 1 ? to : arena_printf(&s.arena, "%s/%s.%s", to, table, format);
		int64_t rows = 0;
		if (store_export(&s, table, format, raw, path, &rows, &err))
			goto failed;
		emit("%s: %lld row%s\n", path, (long long)rows, rows == 1 ? "" : "s");
	}
	store_close(&s);
	return EXIT_GOOD;
failed:
	store_close(&s);
	return cli_error(&err);
}

// A database of assay, by its ending or because it is a folder; anything else is a result of another tool.
static bool is_ours(const char *path)
{
	return file_is_dir(path) || text_ends(path, ".duckdb") || text_ends(path, ".db");
}

// A table of ours alone: rows are spread over several.
static bool is_one_table(const char *path)
{
	return !file_is_dir(path) && text_ends(path, ".parquet");
}

static enum status absorb(struct store *s, const char *db, const char *path, int64_t most, struct error *err)
{
	struct store_absorbed got;
	enum status status = !file_exists(path) && !file_is_dir(path)
		? error_set(err, STATUS_BAD_INPUT, "%s: no such file or folder", path)
		: STATUS_OK;

	if (status == STATUS_OK && !s->duckdb)
		status = store_open(s, db, false, err);
	if (status == STATUS_OK)
		status = store_absorb(s, path, most, &got, err);
	if (status == STATUS_OK)
		emit("%s: %lld row%s, %lld of them new, of %lld new run%s\n", path, (long long)got.cells,
			got.cells == 1 ? "" : "s", (long long)got.new_cells, (long long)got.new_runs,
			got.new_runs == 1 ? "" : "s");
	return status;
}

static int run_import(int argc, char **argv)
{
	const char *db = cli_default_db();
	int64_t most = 5000000;
	const struct cli_option options[] = {
		{ "rows", CLI_INTEGER, &most, "N",
			"of a database of assay: one whose tables hold more rows, or 100 bytes of texts for each, is refused; "
			"default 5000000",
			1, 1e12 },
		{ "db", CLI_TEXT, &db, "FILE", "the database, made where it is not there; default $ASSAY_DB, else assay.duckdb" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay import FILE... [--db FILE]",
		.text = "Rows of other databases of assay: the .duckdb file, or the folder that `assay export -o FOLDER` wrote.\n"
			"They get new numbers, and what is here already is not added again.\n\n"
			"Results of other tools as rows: llama-bench (-o json, jsonl, csv), optimum-benchmark\n"
			"(benchmark.json), OpenVINO's benchmark_app (benchmark_report.json, .csv), onnxruntime_perf_test (its\n"
			"result file, or what it printed). Such a row is unjudged, its `source` names the tool, and it counts\n"
			"as no success and no platform's best: assay neither measured nor checked it. A file that was imported\n"
			"before adds nothing; one that cannot be read adds nothing and the next one is tried.\n\n"
			"  assay import other-machine.duckdb\n"
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
	for (int i = 1; i <= words; i++) {
		struct foreign_result r;
		struct store_import added = { 0 };
		err = (struct error){ 0 };
		if (is_ours(argv[i])) {
			if (absorb(&s, db, argv[i], most, &err) != STATUS_OK)
				code = cli_error(&err);
			continue;
		}
		if (is_one_table(argv[i])) {
			code = cli_bad_use(
				"%s: one table, and rows are made of several: `assay export -o FOLDER` writes them all, and "
				"`assay import FOLDER` reads them",
				argv[i]);
			continue;
		}
		if (foreign_read(&r, argv[i], &err)) {
			code = cli_error(&err);
			continue;
		}
		if ((!s.duckdb && store_open(&s, db, false, &err)) || store_import_foreign(&s, argv[i], &r, &added, &err))
			code = cli_error(&err);
		else if (added.known)
			emit("%s: imported before, nothing added\n", argv[i]);
		else
			emit("%s: %lld row%s of %s%s%s\n", argv[i], (long long)added.cells, added.cells == 1 ? "" : "s", r.tool,
				r.version ? " " : "", r.version ? r.version : "");
		foreign_done(&r);
	}
	store_close(&s);
	return code;
}

const struct command command_export = { "export", "tables of the database as Parquet, CSV or JSON", run_export };
const struct command command_import = { "import", "rows of other databases; results of other tools, marked as theirs",
	run_import };
