// SPDX-License-Identifier: Apache-2.0
// assay report: what the database holds, for people (Markdown, HTML) and for programs (JSON).
#include <stdio.h>

#include "command.h"
#include "base/file.h"
#include "report/report.h"

static void notice(const char *sentence)
{
	fprintf(stderr, "assay: %s\n", sentence);
}

// Without --format the name of the output file decides.
static const char *format_of(const char *path)
{
	return text_ends(path, ".html") || text_ends(path, ".htm") ? "html" : text_ends(path, ".json") ? "json" : "md";
}

static int run(int argc, char **argv)
{
	static const char *const formats[] = { [REPORT_MD] = "md", [REPORT_HTML] = "html", [REPORT_JSON] = "json" };
	const char *db = cli_default_db(), *format = NULL, *output = NULL;
	const struct cli_option options[] = {
		{ "db", CLI_TEXT, &db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
		{ "format", CLI_TEXT, &format, "FORMAT", "md, html (one file, needs no network) or json; default by the ending of -o, else md" },
		{ "o", CLI_TEXT, &output, "FILE", "where to write it; default standard output" },
		{ "output", CLI_TEXT, &output, "FILE", NULL },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay report [--db FILE] [--format md|html|json] [-o FILE]",
		.text = "What runs on this machine, what does not and why, what is fastest, and how each number was got.\n"
			"Works while a matrix runs.\n\n"
			"  assay report -o report.html\n",
		.options = options,
	};
	struct store s = { .notice = notice };
	struct error err = { 0 };
	struct text out = { 0 };
	size_t f = 0, count = sizeof formats / sizeof *formats;
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (!format)
		format = output ? format_of(output) : "md";
	while (f < count && !text_is(formats[f], format))
		f++;
	if (f == count)
		return cli_bad_use("unknown format '%s': md, html or json", format);
	enum status status = store_open_settled(&s, db, &err);
	if (status == STATUS_OK)
		status = report_write(&s, (enum report_format)f, &out, &err);
	store_close(&s);
	if (status == STATUS_OK && output)
		status = file_write(output, text_get(&out), out.length, &err);
	else if (status == STATUS_OK)
		fwrite(text_get(&out), 1, out.length, stdout);
	text_done(&out);
	return status == STATUS_OK ? EXIT_GOOD : cli_error(&err);
}

const struct command command_report = { "report", "what runs, what does not and why, what is fastest: md, html, json", run };
