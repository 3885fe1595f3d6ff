// SPDX-License-Identifier: Apache-2.0
// assay query: named questions and SQL over the rows. SQL is one SELECT, which changes nothing and reads nothing but the
// database; its rows and its time are bounded.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.h"
#include "base/csv.h"
#include "base/text.h"
#include "base/visible.h"
#include "emit.h"
#include "progress.h"
#include "reading.h"
#include "report/report.h"
#include "store/questions.h"

enum { ROWS_MOST = 100000 };

#define MEMORY_USUAL ((int64_t)512 << 20) // of SQL, --memory

static bool is_integer(const char *type)
{
	static const char *const types[] = { "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER" };
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (text_is(type, types[i]))
			return true;
	return false;
}

static bool is_number(const char *type)
{
	return is_integer(type) || text_is(type, "DOUBLE") || text_is(type, "FLOAT") || text_starts(type, "DECIMAL") ||
		text_ends(type, "HUGEINT") || text_is(type, "UBIGINT");
}

// ---- table -------------------------------------------------------------------------------------------------------

// A cell on one line, NULL as such.
static const char *shown(struct arena *a, const char *cell)
{
	return cell ? visible_copy(a, cell) : "NULL";
}

static void print_padded(const char *s, size_t width, bool right)
{
	int pad = (int)(width - visible_width(s));
	emit("%*s%s%*s", right ? pad : 0, "", s, right ? 0 : pad, "");
}

// One value a line, for what is too wide for the terminal.
static void print_records(struct arena *a, const struct table *t)
{
	size_t widest = 0;
	for (size_t c = 0; c < t->column_count; c++)
		widest = visible_width(shown(a, t->columns[c])) > widest ? visible_width(shown(a, t->columns[c])) : widest;
	for (size_t r = 0; r < t->row_count; r++) {
		emit("-- %zu of %zu\n", r + 1, t->row_count);
		for (size_t c = 0; c < t->column_count; c++) {
			print_padded(shown(a, t->columns[c]), widest, false);
			emit("  %s\n", shown(a, t->cells[r * t->column_count + c]));
		}
	}
}

// Of a wide table the columns that tell its rows apart. Those with one value in all of several rows are printed before it, once.
static struct table narrowed(struct arena *a, const struct table *t)
{
	enum { WIDE = 12 };
	struct table out = { .row_count = t->row_count };
	size_t *kept = ARENA_ARRAY(a, t->column_count, size_t);
	const char *same = "";

	if (t->column_count <= WIDE || t->row_count == 0)
		return *t;
	for (size_t c = 0; c < t->column_count; c++) {
		size_t alike = 1;

		while (alike < t->row_count && text_is(t->cells[c], t->cells[alike * t->column_count + c]))
			alike++;
		if (alike < t->row_count || (t->row_count == 1 && t->cells[c]))
			kept[out.column_count++] = c;
		else if (t->cells[c])
			same = arena_printf(a, "%s%s%s %s", same, *same ? ", " : "", t->columns[c], shown(a, t->cells[c]));
	}
	out.columns = ARENA_ARRAY(a, out.column_count, const char *);
	out.types = ARENA_ARRAY(a, out.column_count, const char *);
	out.cells = ARENA_ARRAY(a, out.column_count * t->row_count, const char *);
	for (size_t k = 0; k < out.column_count; k++) {
		out.columns[k] = t->columns[kept[k]];
		out.types[k] = t->types[kept[k]];
		for (size_t r = 0; r < t->row_count; r++)
			out.cells[r * out.column_count + k] = t->cells[r * t->column_count + kept[k]];
	}
	if (*same)
		emit("every row: %s\n\n", same);
	return out;
}

// Of a named question: a long cause is cut, so that rows stay lines. --format csv and json have all of it.
static bool cuts_texts;

static const char *cut(struct arena *a, const char *cell)
{
	enum { LONG = 72 };
	const char *s = shown(a, cell);
	size_t n = LONG - 3;

	if (!cuts_texts || strlen(s) <= LONG)
		return s;
	while (n && ((unsigned char)s[n] & 0xc0) == 0x80) // not within a character
		n--;
	return arena_printf(a, "%.*s...", (int)n, s);
}

static void print_table(struct arena *a, const struct table *t)
{
	size_t *widths = ARENA_ARRAY(a, t->column_count, size_t), total = 0;
	struct winsize terminal = { 0 };

	for (size_t c = 0; c < t->column_count; c++) {
		widths[c] = visible_width(shown(a, t->columns[c]));
		for (size_t r = 0; r < t->row_count; r++) {
			size_t w = visible_width(cut(a, t->cells[r * t->column_count + c]));
			widths[c] = w > widths[c] ? w : widths[c];
		}
		total += widths[c] + 2;
	}
	if (isatty(1) && ioctl(1, TIOCGWINSZ, &terminal) == 0 && terminal.ws_col > 0 && total > terminal.ws_col &&
		t->row_count > 0) {
		print_records(a, t);
		return;
	}
	for (size_t r = 0; r <= t->row_count + 1; r++) {
		for (size_t c = 0; c < t->column_count; c++) {
			bool last = c + 1 == t->column_count, right = is_number(t->types[c]);
			if (r == 1) {
				for (size_t i = 0; i < widths[c]; i++)
					emit("-");
			} else {
				const char *s =
					r == 0 ? shown(a, t->columns[c]) : cut(a, t->cells[(r - 2) * t->column_count + c]);
				print_padded(s, last && !right ? visible_width(s) : widths[c], right);
			}
			emit(last ? "\n" : "  ");
		}
	}
	emit("(%zu row%s)\n", t->row_count, t->row_count == 1 ? "" : "s");
}

// ---- csv, json, md -------------------------------------------------------------------------------------------------

static bool raw_csv; // --raw

// RFC 4180; NULL is an empty field and an empty text is "". Line ends and tabs stay within quotes, other control characters are
// escaped. A number may begin with a minus, a text may not: base/csv.h.
static void add_csv_field(struct text *t, const char *s, bool number)
{
	struct text field = { 0 }, safe = { 0 };

	if (!s)
		return;
	if (number || raw_csv)
		text_add(&safe, s);
	else
		csv_add_safe(&safe, s);
	visible_add_lines(&field, text_get(&safe));
	text_done(&safe);
	s = text_get(&field);
	if (*s && !s[strcspn(s, "\",\n")]) {
		text_add(t, s);
	} else {
		text_add(t, "\"");
		for (; *s; s++)
			text_addf(t, *s == '"' ? "\"%c" : "%c", *s);
		text_add(t, "\"");
	}
	text_done(&field);
}

static void print_csv(struct arena *a, const struct table *t)
{
	struct text line = { 0 };

	(void)a;
	for (size_t r = 0; r <= t->row_count; r++) {
		for (size_t c = 0; c < t->column_count; c++) {
			add_csv_field(&line, r == 0 ? t->columns[c] : t->cells[(r - 1) * t->column_count + c],
				r > 0 && is_number(t->types[c]));
			text_add(&line, c + 1 == t->column_count ? "\n" : ",");
		}
		emit_bytes(text_get(&line), line.length);
		line.length = 0;
	}
	text_done(&line);
}

// Numbers that JSON's readers keep exactly are numbers; wider ones, dates and nested values are texts as DuckDB shows them.
static json_t *json_of(const char *type, const char *cell)
{
	int64_t integer;
	double real;

	if (!cell)
		return json_null();
	if (text_is(type, "BOOLEAN"))
		return json_boolean(text_is(cell, "true"));
	if (is_integer(type) && text_to_int(cell, INT64_MIN, INT64_MAX, &integer))
		return json_integer(integer);
	if (is_number(type) && !is_integer(type) && !text_ends(type, "HUGEINT") && !text_is(type, "UBIGINT") &&
		text_to_double(cell, -1e308, 1e308, &real))
		return json_real(real);
	return json_string(cell);
}

// Two columns of one name: both are kept.
static void name_members(struct arena *a, const struct table *t, const char **names)
{
	json_t *seen = json_object();

	for (size_t c = 0; c < t->column_count; c++) {
		names[c] = t->columns[c];
		for (int n = 2; json_object_get(seen, names[c]); n++)
			names[c] = arena_printf(a, "%s_%d", t->columns[c], n);
		json_object_set_new(seen, names[c], json_true());
	}
	json_decref(seen);
}

// As it stands in JSON. A real number is written as DuckDB does it, by the shortest digits that are read as the same number of
// its type: a FLOAT is 0.212, and the double that it becomes 0.21199999749660492.
static char *json_text(const char *type, const char *cell)
{
	json_t *value = json_of(type, cell);
	char *text = json_is_real(value) && isdigit((unsigned char)cell[*cell == '-']) ? strdup(cell)
										       : visible_json(value, JSON_ENCODE_ANY);

	json_decref(value);
	return text;
}

// Row by row: a tree of all is many times their text.
static void print_json(struct arena *a, const struct table *t)
{
	const char **names = ARENA_ARRAY(a, t->column_count, const char *);

	name_members(a, t, names);
	emit(t->row_count > 0 ? "[\n" : "[]\n");
	for (size_t r = 0; r < t->row_count; r++) {
		emit("  {\n");
		for (size_t c = 0; c < t->column_count; c++) {
			json_t *name = visible_json_string(names[c]);
			char *key = visible_json(name, JSON_ENCODE_ANY),
			     *text = json_text(t->types[c], t->cells[r * t->column_count + c]);

			emit("    %s: ", key);
			emit_bytes(text, strlen(text)); // has no line ends
			emit(c + 1 < t->column_count ? ",\n" : "\n");
			free(text);
			free(key);
			json_decref(name);
		}
		emit(r + 1 < t->row_count ? "  },\n" : "  }\n]\n");
	}
}

static void print_md(struct arena *a, const struct table *t)
{
	for (size_t r = 0; r <= t->row_count + 1; r++) {
		for (size_t c = 0; c < t->column_count; c++) {
			if (r == 1) {
				emit(is_number(t->types[c]) ? "| ---: " : "| --- ");
				continue;
			}
			const char *s = r == 0 ? t->columns[c] : t->cells[(r - 2) * t->column_count + c];
			emit("| %s ", s ? report_md_esc(a, s) : "NULL");
		}
		emit("|\n");
	}
}

// ---- what is asked -------------------------------------------------------------------------------------------------

// Several words are SQL, and so is a statement's first word alone; one word is a name.
static bool is_sql(const char *text)
{
	static const char *const begins[] = { "select", "with", "from", "describe", "show", "summarize", "explain", "pragma",
		"values", "table" };
	size_t n = strcspn(text, " \t\r\n(;");

	if (text[n] != '\0')
		return true;
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (strlen(begins[i]) == n && strncasecmp(text, begins[i], n) == 0)
			return true;
	return false;
}

static const char *question_name(size_t i, const void *table)
{
	const struct store_question *questions = table;
	return questions[i].name;
}

static int list(const char *format, void (*print)(struct arena *a, const struct table *t))
{
	static const char *columns[] = { "name", "answers" }, *types[] = { "VARCHAR", "VARCHAR" };
	struct arena a = { 0 };
	struct table t = { .column_count = 2, .columns = columns, .types = types };

	while (store_questions[t.row_count].name)
		t.row_count++;
	t.cells = ARENA_ARRAY(&a, 2 * t.row_count, const char *);
	for (size_t i = 0; i < t.row_count; i++) {
		t.cells[2 * i] = store_questions[i].name;
		t.cells[2 * i + 1] = store_questions[i].answers;
		if (text_is(format, "table"))
			emit("  %-16s %s\n", store_questions[i].name, store_questions[i].answers);
	}
	if (!text_is(format, "table"))
		print(&a, &t);
	arena_done(&a);
	return EXIT_GOOD;
}

static int run(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(struct arena *a, const struct table *t);
	} formats[] = {
		{ "table", print_table },
		{ "csv", print_csv },
		{ "json", print_json },
		{ "md", print_md },
	};
	const char *db = cli_default_db(), *format = "table", *left_out = NULL;
	struct store_asking with = { 0 };
	int64_t most = 0, memory = 0;
	double timeout_s = 60;
	bool json = false, listed = false;
	const struct cli_option options[] = {
		{ "list", CLI_FLAG, &listed, NULL, "the names, with what each answers" },
		{ "on", CLI_TEXT, &with.platform, "PLATFORM", "of a named question: this platform only" },
		{ "model", CLI_TEXT, &with.model, "MODEL",
			"of a named question: this model only (its name, or what is behind the last '/')" },
		{ "limit", CLI_INTEGER, &with.limit, "N", "of a named question: N rows at most", 1, 1000000000 },
		{ "rows", CLI_INTEGER, &most, "N", "of SQL: an answer of more rows is an error; default 100000", 1, 1000000000 },
		{ "memory", CLI_GIB, &memory, "GIB", "of SQL: memory that the answer may take; default 0.5", 0.01, 1e6 },
		{ "timeout", CLI_REAL, &timeout_s, "S", "seconds for the answer; default 60", 0.01, 1e7 },
		{ "db", CLI_TEXT, &db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
		{ "format", CLI_TEXT, &format, "FORMAT", "table (the default), csv, json or md" },
		{ "raw", CLI_FLAG, &raw_csv, NULL,
			"of csv: no ' before texts that begin with = + - or @, which spreadsheets compute" },
		{ "json", CLI_FLAG, &json, NULL, "the same as --format json" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay query [NAME | 'SQL'] [options]",
		.text = "NAME is one of `assay query --list`: fastest, runs, by-hardware, by-architecture, memory, failures,\n"
			"fallbacks, together, switches, answers, slower-than-cpu, unstable, accuracy, wrong, untested,\n"
			"regressions, coverage.\n"
			"Times are of rows that ran on the hardware that was asked for; what was left out is counted on "
			"standard\n"
			"error. A wide table says once what is the same in every row, leaves out columns without a value, and\n"
			"cuts texts after 72 characters; the other formats have all.\n\n"
			"SQL: one SELECT. The view `result` has one row a cell with its latest verdict; docs/SCHEMA.md lists\n"
			"all tables, and `assay query 'DESCRIBE result'` the columns. Works while a matrix runs, changes "
			"nothing,\n"
			"and reads nothing but the tables of the database and assay's views: no file, no network, no extension,\n"
			"no view that came with the file, and no function but those that compute with values.\n\n"
			"  assay query fastest\n"
			"  assay query failures --on webgpu --format md\n"
			"  assay query 'SELECT model, requested, verdict, latency_ms FROM result ORDER BY latency_ms'\n"
			"  assay query --format csv 'SELECT * FROM hardware_results WHERE success'\n\n"
			"Exit codes: 0 answered, an empty answer too; 1 bad use, a limit, or the database cannot be read.\n",
		.options = options,
		.min_words = 0,
		.max_words = 1,
	};
	struct store s = cli_reading();
	struct error err = { 0 };
	struct table t = { 0 };
	const struct store_question *question = NULL;
	size_t f = 0, count = sizeof formats / sizeof *formats;
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (json)
		format = "json";
	while (f < count && strcmp(formats[f].name, format) != 0)
		f++;
	if (f == count)
		return cli_bad_use("unknown format '%s': table, csv, json or md", format);
	if (listed)
		return words > 0 ? cli_bad_use("--list takes no name") : list(format, formats[f].print);
	if (words == 0)
		return cli_bad_use("too few arguments: a name of `assay query --list`, or SQL");
	if (!is_sql(argv[1]) && !(question = store_question_find(argv[1]))) {
		const char *near = text_nearest(argv[1], question_name, store_questions);
		if (near)
			return cli_bad_use("unknown query '%s'; did you mean '%s'?", argv[1], near);
		return cli_bad_use("unknown query '%s'; `assay query --list` has the names, and SQL is taken too", argv[1]);
	}
	cuts_texts = question != NULL;
	if (!question && (with.model || with.platform || with.limit))
		return cli_bad_use("--on, --model and --limit go with a named query; in SQL they are WHERE and LIMIT");
	if (question && most)
		return cli_bad_use("--rows goes with SQL; a named query has --limit");
	if (question && memory)
		return cli_bad_use("--memory goes with SQL");
	if (raw_csv && !text_is(format, "csv"))
		return cli_bad_use("--raw goes with --format csv");
	s.limits.seconds = timeout_s;
	s.limits.option = "--timeout";
	if (!question) {
		s.limits.memory_bytes = memory ? memory : MEMORY_USUAL;
		s.limits.memory_option = "--memory";
	}
	if (store_open_settled(&s, db, &err) != STATUS_OK)
		return cli_error(&err);
	if (question ? store_ask(&s, question, &with, &t, &left_out, &err)
		     : store_select(&s, argv[1], most ? most : ROWS_MOST, &t, &err)) {
		store_close(&s);
		return cli_error(&err);
	}
	if (question && t.row_count == 0 && store_asking_check(&s, &with, &err)) {
		store_close(&s);
		return cli_error(&err);
	}
	if (question && text_is(format, "table"))
		t = narrowed(&s.arena, &t);
	if (t.column_count > 0)
		formats[f].print(&s.arena, &t);
	if (left_out)
		progress_notice(left_out);
	store_close(&s);
	return EXIT_GOOD;
}

const struct command command_query = { "query", "named questions and SQL over what was measured", run };
