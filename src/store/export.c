// SPDX-License-Identifier: Apache-2.0
// One table or view into a file, by DuckDB's own writers (all three are linked into the library). Reads only.
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "store/db_watch.h"
#include "store/one_file.h"
#include "store/schema.h"
#include "store/select.h"
#include "store/sql_name.h"
#include "store/transaction.h"
#include "store/transfer.h"

enum status store_tables(struct store *s, struct table *out, struct error *err)
{
	enum status status = store_query(s,
		"SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT temporary AND NOT internal ORDER BY "
		"table_oid",
		out, err);
	size_t ours = 0;

	for (size_t i = 0; status == STATUS_OK && i < out->row_count; i++) {
		if (schema_has_table(out->cells[i]))
			out->cells[ours++] = out->cells[i];
	}
	if (status == STATUS_OK)
		out->row_count = ours;
	return status;
}

// A type whose text has no letters of its own, so that a spreadsheet finds a number or a time in it.
static bool is_plain(const char *type)
{
	static const char *const types[] = { "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT",
		"UINTEGER", "UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "TIMESTAMP", "DATE", "TIME", "UUID" };

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		if (text_is(types[i], type))
			return true;
	}
	return text_starts(type, "DECIMAL");
}

// "SELECT "a", regexp_replace("b", ...) AS "b" FROM "table"", with no cell and no name of a column that is a formula.
static enum status without_formulas(struct db *d, struct arena *a, const char *quoted, struct text *sql, struct error *err)
{
	struct table t;
	enum status status = db_query(d, a, arena_printf(a, "SELECT * FROM %s LIMIT 0", quoted), NULL, 0, &t, err);

	text_add(sql, "(SELECT ");
	for (size_t i = 0; status == STATUS_OK && i < t.column_count; i++) {
		struct text name = { 0 }, safe = { 0 };
		sql_add_name(&name, t.columns[i]);
		csv_add_safe(&safe, t.columns[i]);
		if (is_plain(t.types[i]))
			text_addf(sql, "%s%s AS ", i > 0 ? ", " : "", text_get(&name));
		else
			text_addf(sql, "%s" CSV_SAFE_SQL("CAST(%s AS VARCHAR)") " AS ", i > 0 ? ", " : "", text_get(&name));
		sql_add_name(sql, text_get(&safe));
		text_done(&safe);
		text_done(&name);
	}
	text_addf(sql, " FROM %s)", quoted);
	return status;
}

static enum status copy(struct db *d, struct arena *a, const char *quoted, const char *options, bool as_it_is, const char *path,
	int64_t *rows, struct error *err)
{
	struct text sql = { 0 };
	struct table t;
	enum status status = STATUS_OK;

	text_add(&sql, "COPY ");
	if (as_it_is)
		text_add(&sql, quoted);
	else
		status = without_formulas(d, a, quoted, &sql, err);
	text_add(&sql, " TO ");
	sql_add_file(&sql, path);
	text_addf(&sql, " (%s, USE_TMP_FILE false)", options); // it is one
	if (status == STATUS_OK)
		status = db_query(d, a, text_get(&sql), NULL, 0, &t, err);
	text_done(&sql);
	if (status == STATUS_OK)
		status = db_query(d, a, arena_printf(a, "SELECT count(*) AS n FROM %s", quoted), NULL, 0, &t, err);
	if (status == STATUS_OK)
		*rows = table_integer(&t, 0, "n");
	return status == STATUS_OK ? db_watch_look(d->watch, err) : status; // what was stopped is not put in place
}

static const struct {
	const char *name, *options;
} formats[] = {
	{ "parquet", "FORMAT parquet, COMPRESSION zstd" },
	{ "csv", "FORMAT csv, HEADER, COMPRESSION uncompressed" },
	{ "json", "FORMAT json, COMPRESSION uncompressed" },
};

static const char *options_of(const char *format, struct error *err)
{
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		if (text_is(formats[i].name, format))
			return formats[i].options;
	}
	error_set(err, STATUS_BAD_INPUT, "unknown format '%s': parquet, csv or json", format);
	return NULL;
}

const char *store_format_of(const char *path)
{
	static const char *const endings[][2] = { { ".parquet", "parquet" }, { ".csv", "csv" }, { ".json", "json" },
		{ ".jsonl", "json" }, { ".ndjson", "json" } };

	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
		if (text_ends(path, endings[i][0]))
			return endings[i][1];
	}
	return NULL;
}

// Opens the database for reading, and a file for writing.
static enum status open_for(struct store *s, const char *path, struct file_begun *file, struct db *d, struct error *err)
{
	enum status status = file_begin_user(&s->arena, path, file, err);
	if (status == STATUS_OK) {
		status = transaction_begin_with(
			s, false, (struct db_opening){ .files = (const char *const[]){ file->path, NULL } }, d, err);
		if (status != STATUS_OK)
			file_end_user(file, status, err);
	}
	return status;
}

enum status store_export(
	struct store *s, const char *table, const char *format, bool raw, const char *path, int64_t *rows, struct error *err)
{
	const char *options = options_of(format, err);
	struct file_begun file;
	struct text quoted = { 0 };
	struct db d = { 0 };

	if (options == NULL)
		return STATUS_BAD_INPUT;
	enum status status = open_for(s, path, &file, &d, err);
	if (status != STATUS_OK)
		return status;
	status = select_look_at_relation(&d, &s->arena, table, err);
	sql_add_name(&quoted, table);
	if (status == STATUS_OK)
		status = copy(&d, &s->arena, text_get(&quoted), options, raw || !text_is(format, "csv"), file.path, rows, err);
	text_done(&quoted);
	db_close(&d);
	return file_end_user(&file, status, err);
}

enum status store_export_all(struct store *s, const char *format, bool raw, const char *path, int64_t *rows, struct error *err)
{
	const char *options = options_of(format, err);
	struct table names = { 0 };
	struct text all = { 0 };
	struct file_begun file;
	struct db d = { 0 };
	enum status status = options != NULL ? store_tables(s, &names, err) : STATUS_BAD_INPUT;

	if (status == STATUS_OK)
		status = open_for(s, path, &file, &d, err);
	if (status != STATUS_OK)
		return status;
	for (size_t i = 0; i < names.row_count && status == STATUS_OK; i++)
		status = select_look_at_relation(&d, &s->arena, names.cells[i], err);
	one_file_add(&all, &names, text_is(format, "json"));
	if (text_is(format, "json"))
		options = ONE_FILE_LINES;
	else if (text_is(format, "parquet"))
		options = "FORMAT parquet, COMPRESSION zstd, " ONE_FILE_PARQUET;
	if (status == STATUS_OK)
		status = copy(&d, &s->arena, text_get(&all), options, raw || !text_is(format, "csv"), file.path, rows, err);
	text_done(&all);
	db_close(&d);
	return file_end_user(&file, status, err);
}
