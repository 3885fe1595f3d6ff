// SPDX-License-Identifier: Apache-2.0
// assay report: what the database holds, for people (Markdown, HTML), for programs (JSON, YAML), for continuous integration
// (JUnit).
#include <stdio.h>

#include "command.h"
#include "base/file.h"
#include "base/text.h"
#include "emit.h"
#include "progress.h"
#include "reading.h"
#include "report/report.h"
#include "show.h"

static int run(int argc, char **argv)
{
	const char *db = cli_default_db(), *format = NULL, *output = NULL;
	struct cli_list prices = { 0 };
	bool json = false;
	const struct cli_option options[] = {
		{ "db", CLI_TEXT, &db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
		{ "format", CLI_TEXT, &format, "FORMAT",
			"md, html (one file, needs no network), json, yaml, junit, matrix or matrix-yaml; default by the ending "
			"of -o (.md .html .json .yaml .xml), else md" },
		{ "price", CLI_LIST, &prices, "PLATFORM=PRICE,...",
			"what an hour costs, with a currency or without (cpu=0.20EUR): adds the cost of a million inferences" },
		{ "o", CLI_TEXT, &output, "FILE", "where to write it; default and -: standard output" },
		{ "output", CLI_TEXT, &output, "FILE", NULL },
		{ "json", CLI_FLAG, &json, NULL, "with -o: an object on standard output that says what was written" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay report [--db FILE] [--format FORMAT] [--price PLATFORM=PRICE,...] [-o FILE] [--json]",
		.text = "What runs on this machine, what does not and why, what is fastest, and how each number was got.\n"
			"Works while a matrix runs. A summary of hardware, times by hardware and architecture, what is\n"
			"slowest to load, the best hardware by model, memory, energy, precisions, accuracy on data,\n"
			"engines as shipped, sweeps, models together, switches, answers of pipelines, failures, fallbacks,\n"
			"comparisons. Of more than 5000 questions it has the newest, and says so.\n\n"
			"junit: a suite a platform, a case a cell. wrong, lossy, failed, NOT VALID, ran elsewhere without\n"
			"--allow-fallback (with it a right cell passes): failure; crashed, timeout, not_asked, interrupted: "
			"error;\n"
			"unavailable, unsupported, no_memory, compiles, unjudged, imported, the null engine in a platform's\n"
			"place: skipped, with the reason.\n"
			"matrix: {architecture: {hardware: {compatible, performance, notes, optimizations, examples, rows}}}\n"
			"of cells of models; answers of whole pipelines, which have no architecture, are in the others.\n"
			"performance is the speed against cpu on the same questions: excellent from 4, good from 1.5,\n"
			"moderate from 1.1, baseline from 0.9, poor below; varies where models disagree; n/a not measured.\n\n"
			"  assay report -o report.html\n"
			"  assay report --format junit -o results.xml\n"
			"  assay report --price cpu=0.08EUR,cuda=1.20EUR -o report.md\n\n"
			"exit codes: 0 written, 1 bad use, no database or nowhere to write\n",
		.options = options,
	};
	struct store s = cli_reading();
	struct report_options how = { 0 };
	struct arena a = { 0 };
	struct error err = { 0 };
	struct text out = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (text_is(output, "-"))
		output = NULL;
	if (json && !output)
		return cli_bad_use("--json says what was written and needs -o FILE; --format json is the report as JSON");
	enum report_format f = format != NULL ? report_format_find(format) : report_format_of_file(output);
	if (f == REPORT_FORMAT_COUNT && format == NULL)
		return cli_bad_use(
			"-o %s: the ending says no format: .md, .html, .json, .yaml and .xml do, and so does --format", output);
	if (f == REPORT_FORMAT_COUNT)
		return cli_bad_use("unknown format '%s': one of %s", format, report_format_words());
	enum status status = report_prices(&a, prices.items, (size_t)prices.count, &how, &err);
	if (status == STATUS_OK && output && file_is_same(output, db))
		status = error_set(&err, STATUS_BAD_INPUT, "-o %s is the database", output);
	if (status == STATUS_OK)
		status = store_open_settled(&s, db, &err);
	if (status == STATUS_OK)
		status = report_write_with(&s, f, &how, &out, &err);
	store_close(&s);
	if (status == STATUS_OK && output)
		status = file_write_user(output, text_get(&out), out.length, &err);
	else if (status == STATUS_OK)
		emit_bytes(text_get(&out), out.length);
	if (status == STATUS_OK && (f == REPORT_MATRIX || f == REPORT_MATRIX_YAML) && text_starts(text_get(&out), "{}"))
		progress_notice("the matrix is empty: no row has an architecture; answers of whole pipelines are in the other "
				"formats");
	if (status == STATUS_OK && json) {
		json_t *written = show_written(output);
		show_json(written);
		json_decref(written);
	}
	text_done(&out);
	arena_done(&a);
	return status == STATUS_OK ? EXIT_GOOD : cli_error(&err);
}

const struct command command_report = { "report",
	"what runs, what does not and why, what is fastest: md, html, json, yaml, junit", run };
