// SPDX-License-Identifier: Apache-2.0
#include "store/one_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "store/line_numbers.h"
#include "store/lines.h"
#include "store/parquet.h"
#include "store/sql_name.h"
#include "store/transfer.h"

#define MARK "assay_table"

// ---- writing -----------------------------------------------------------------------------------------------------

// Others refer to these by number: in this order, behind all others.
static const char *const referred_to[] = { "event", "cell", "run" };
enum { REFERRED_COUNT = sizeof referred_to / sizeof referred_to[0] };

static bool is_referred_to(const char *table)
{
	for (size_t i = 0; i < REFERRED_COUNT; i++) {
		if (text_is(referred_to[i], table))
			return true;
	}
	return false;
}

static void add_table(struct text *sql, const char *table, bool lines)
{
	text_add(sql, sql->length > 1 ? lines ? " UNION ALL " : " UNION ALL BY NAME " : "");
	if (lines) // a merge leaves nulls out
		text_addf(sql, "SELECT json_merge_patch(json_object('" MARK "', '%s'), to_json(t)) AS line FROM main.%s t", table,
			table);
	else
		text_addf(sql, "SELECT '%s' AS " MARK ", * FROM main.%s", table, table);
}

void one_file_add(struct text *sql, const struct table *names, bool lines)
{
	text_add(sql, "(");
	for (size_t i = 0; i < names->row_count; i++) {
		if (!is_referred_to(names->cells[i]))
			add_table(sql, names->cells[i], lines);
	}
	for (size_t k = 0; k < REFERRED_COUNT; k++) {
		for (size_t i = 0; i < names->row_count; i++) {
			if (text_is(names->cells[i], referred_to[k]))
				add_table(sql, names->cells[i], lines);
		}
	}
	text_add(sql, ")");
}

// ---- reading -----------------------------------------------------------------------------------------------------

bool store_is_one_file(const char *path)
{
	const char *format = store_format_of(path);
	const char *begins = text_is(format, "csv") ? MARK "," : "{\"" MARK "\":";
	char first[32] = { 0 };
	struct stat st;

	if (text_is(format, "parquet"))
		return !file_is_dir(path);
	if (format == NULL || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) // a pipe is another tool's, and is read once
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, first, strlen(begins)) : -1;
	if (fd >= 0)
		close(fd);
	return n > 0 && text_is(first, begins);
}

enum status one_file_look(const char *path, int64_t most, struct error *err)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return error_errno(err, "it cannot be read");
	if (!S_ISREG(st.st_mode)) // a pipe leads nowhere
		return error_set(err, STATUS_BAD_INPUT, "it is no regular file");
	if (st.st_size == 0)
		return error_set(err, STATUS_BAD_INPUT, "it has 0 bytes: it was not written whole");
	if (text_is(store_format_of(path), "csv"))
		return lines_look(path, most, err);
	if (text_is(store_format_of(path), "json")) {
		enum status status = lines_look(path, most, err);
		return status == STATUS_OK ? line_numbers_look(path, err) : status;
	}
	return parquet_look(path, err);
}

// The names of all columns of assay's tables here, each once.
static enum status known_columns(struct db *d, struct arena *a, struct table *out, struct error *err)
{
	return db_query(d, a,
		"SELECT DISTINCT column_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = "
		"'main' AND NOT internal ORDER BY column_name",
		NULL, 0, out, err);
}

static bool is_known(const struct table *known, const char *column)
{
	for (size_t i = 0; i < known->row_count; i++) {
		if (text_is(known->cells[i], column))
			return true;
	}
	return text_is(column, MARK);
}

static void add_reader(struct text *sql, const char *path, const struct table *known)
{
	const char *format = store_format_of(path);

	text_addf(sql, "read_%s(", format);
	sql_add_file(sql, path);
	text_add(sql, text_is(format, "parquet") ? PLAIN_FILE_SQL : text_is(format, "csv") ? CSV_READ_SQL : PLAIN_TEXT_SQL);
	if (text_is(format, "json")) {
		text_add(sql, ", format = 'newline_delimited', columns = {'" MARK "': 'VARCHAR'");
		for (size_t i = 0; i < known->row_count; i++) {
			text_add(sql, ", ");
			sql_add_text(sql, known->cells[i]);
			text_add(sql, ": 'VARCHAR'");
		}
		text_add(sql, "}");
	}
	text_add(sql, ")");
}

enum status one_file_rows(struct db *d, struct arena *a, const char *path, const char **from, struct error *err)
{
	struct table known, columns;
	struct text sql = { 0 };
	bool marked = false;
	enum status status = known_columns(d, a, &known, err);

	if (status != STATUS_OK)
		return status;
	add_reader(&sql, path, &known);
	*from = arena_strdup(a, text_get(&sql));
	text_done(&sql);
	status = db_query(d, a, arena_printf(a, "SELECT * FROM %s LIMIT 0", *from), NULL, 0, &columns, err);
	for (size_t i = 0; status == STATUS_OK && i < columns.column_count; i++)
		marked |= text_is(columns.columns[i], MARK);
	if (status == STATUS_OK && !marked)
		return error_set(err, STATUS_BAD_INPUT,
			"it has no column " MARK
			": it is one table or another program's file, and rows are made of several tables; "
			"`assay export FILE` writes all of them into one file, which this reads");
	for (size_t i = 0; status == STATUS_OK && i < columns.column_count; i++) {
		if (!is_known(&known, columns.columns[i]))
			status = error_set(err, STATUS_BAD_INPUT, ABSORB_COLUMN, columns.columns[i]);
	}
	return status;
}

enum status one_file_look_at_tables(struct db *d, struct arena *a, const char *from, struct error *err)
{
	struct table t;
	enum status status = db_query(d, a,
		arena_printf(a,
			"SELECT COALESCE(left(CAST(" MARK " AS VARCHAR), 100), 'without a name') AS name FROM %s WHERE " MARK
			" IS NULL OR CAST(" MARK
			" AS VARCHAR) NOT IN (SELECT table_name FROM duckdb_tables() WHERE database_name = "
			"current_database() AND schema_name = 'main' AND NOT internal) LIMIT 1",
			from),
		NULL, 0, &t, err);

	if (status == STATUS_OK && t.row_count > 0)
		return error_set(err, STATUS_BAD_INPUT,
			"it has rows of a table %s, and this assay has none of that name: a newer one wrote it, or another "
			"program",
			t.cells[0]);
	return status;
}

enum status one_file_part(
	struct db *d, struct arena *a, const char *path, const char *from, const char *table, struct text *sql, struct error *err)
{
	struct table have, file;
	size_t taken = 0;
	enum status status = db_query(d, a, "SELECT name FROM pragma_table_info(?)",
		&(struct db_parameter){ .text = arena_printf(a, "main.%s", table) }, 1, &have, err);

	if (status == STATUS_OK)
		status = db_query(d, a, arena_printf(a, "SELECT * FROM %s LIMIT 0", from), NULL, 0, &file, err);
	if (status != STATUS_OK)
		return status;
	text_addf(sql, "INSERT INTO source_%s BY NAME SELECT ", table);
	for (size_t i = 0; i < have.row_count; i++) {
		bool there = false;
		struct text name = { 0 };
		for (size_t k = 0; k < file.column_count; k++)
			there |= text_is(file.columns[k], have.cells[i]);
		sql_add_name(&name, have.cells[i]);
		if (there)
			text_addf(sql, text_is(store_format_of(path), "csv") ? "%s" CSV_PLAIN_SQL("%s") " AS %s" : "%s%s AS %s",
				taken++ > 0 ? ", " : "", text_get(&name), text_get(&name));
		text_done(&name);
	}
	text_addf(sql, " FROM %s WHERE " MARK " = '%s';", from, table);
	return taken > 0 ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "it has no column of the table %s", table);
}
