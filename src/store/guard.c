// SPDX-License-Identifier: Apache-2.0
// guard.h. The statements here call no function and no operator that is one (a macro may be called "+"), and name where the table
// functions are: those of the file come first otherwise. The columns are read from the text that DuckDB itself makes of a table:
//     CREATE TABLE cell(id BIGINT NOT NULL, cell_key VARCHAR NOT NULL, "row" BIGINT);
// Anything that is not a name, a plain type and NOT NULL is a default, a check, a key, a generated column, a collation.
#include "store/guard.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"
#include "question/bounds.h"
#include "stats/proportion.h"
#include "store/db_watch.h"
#include "store/schema.h"
#include "store/sql_name.h"

static bool eat(const char **at, const char *words)
{
	size_t n = strlen(words);

	if (strncmp(*at, words, n) != 0)
		return false;
	*at += n;
	return true;
}

// Behind a name as DuckDB writes it, quoted where it must be; NULL: there is none.
static const char *behind_name(const char *at)
{
	if (*at != '"') {
		size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		return n > 0 ? at + n : NULL;
	}
	for (at++; *at != '\0'; at++) {
		if (*at == '"' && *++at != '"')
			return at;
	}
	return NULL;
}

static bool eat_type(const char **at)
{
	static const char *const types[] = { "BIGINT", "INTEGER", "DOUBLE", "VARCHAR", "BOOLEAN", "TIMESTAMP" };

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		const char *end = *at;
		if (eat(&end, types[i]) && (*end == ' ' || *end == ',' || *end == ')')) {
			*at = end;
			return true;
		}
	}
	return false;
}

// NULL: nothing but plain columns; else where the first other thing begins.
static const char *first_odd(const char *sql)
{
	const char *column = strchr(sql, '(');

	while (column != NULL) {
		const char *at = behind_name(++column);
		if (at == NULL || !eat(&at, " ") || !eat_type(&at))
			return column;
		eat(&at, " NOT NULL");
		if (text_is(at, ");"))
			return NULL;
		if (!eat(&at, ", "))
			return column;
		column = at - 1;
	}
	return sql;
}

static enum status look_at_table(const struct table *t, size_t i, struct error *err)
{
	const char *name = table_get(t, i, "name"), *sql = table_get(t, i, "sql"), *odd = sql != NULL ? first_odd(sql) : "";

	if (odd != NULL) {
		const char *behind = behind_name(odd); // a quoted name may have commas
		int length = (int)((behind != NULL ? behind - odd : 0) + (ptrdiff_t)strcspn(behind != NULL ? behind : odd, ",;"));
		return error_set(err, STATUS_BAD_INPUT,
			"its table %s is not one that assay makes, which have plain columns only: %.*s", name, length, odd);
	}
	if (!text_is(table_get(t, i, "indexes"), "0"))
		return error_set(
			err, STATUS_BAD_INPUT, "its table %s has an index, and assay makes none: DROP INDEX takes it away", name);
	return STATUS_OK;
}

static enum status look_at_tables(struct db *d, struct arena *a, struct error *err)
{
	struct table t;
	bool is_assays = false;
	enum status status = db_query(d, a,
		"SELECT table_name AS name, sql, CAST(index_count AS VARCHAR) AS indexes FROM system.main.duckdb_tables()"
		" WHERE internal = FALSE AND schema_name = 'main'",
		NULL, 0, &t, err);

	for (size_t i = 0; status == STATUS_OK && i < t.row_count; i++)
		is_assays = is_assays || strcasecmp(table_get(&t, i, "name"), "schema_version") == 0;
	for (size_t i = 0; status == STATUS_OK && i < t.row_count; i++) {
		const char *name = table_get(&t, i, "name");
		if (schema_has_table(name))
			status = look_at_table(&t, i, err);
		else if (is_assays && schema_has_view(name)) // a file of the original system has tables of these names
			status = error_set(err, STATUS_BAD_INPUT, "its %s is a table, and assay makes a view of that name", name);
	}
	return status;
}

static enum status look_at_views(struct db *d, struct arena *a, struct error *err)
{
	struct table t;
	enum status status = db_query(d, a,
		"SELECT view_name AS name FROM system.main.duckdb_views() WHERE internal = FALSE AND schema_name = 'main'", NULL,
		0, &t, err);

	for (size_t i = 0; status == STATUS_OK && i < t.row_count; i++) {
		const char *name = table_get(&t, i, "name");
		if (schema_has_table(name))
			status = error_set(err, STATUS_BAD_INPUT, "its %s is a view, and assay makes a table of that name", name);
	}
	return status;
}

// What would stand in for something of DuckDB's: its name is what `sql` gives, a row or none.
static enum status refuse_stand_in(
	struct db *d, struct arena *a, const char *sql, const char *kind, const char *of, const char *drop, struct error *err)
{
	struct table t;
	enum status status = db_query(d, a, sql, NULL, 0, &t, err);

	if (status == STATUS_OK && t.row_count > 0)
		status = error_set(err, STATUS_BAD_INPUT,
			"it holds the %s %s, which would stand in for a %s of that name; assay makes none: DROP %s takes it away",
			kind, t.cells[0], of, drop);
	return status;
}

static enum status look_at_macros(struct db *d, struct arena *a, struct error *err)
{
	return refuse_stand_in(d, a,
		"SELECT function_name AS name FROM system.main.duckdb_functions()"
		" WHERE internal = FALSE AND (function_type = 'macro' OR function_type = 'table_macro') LIMIT 1",
		"macro", "function", "MACRO", err);
}

// JSON's name may be taken. After the macros, so that functions are DuckDB's.
static enum status look_at_types(struct db *d, struct arena *a, struct error *err)
{
	return refuse_stand_in(d, a,
		"SELECT type_name AS name FROM system.main.duckdb_types() WHERE internal = FALSE AND lower(type_name) IN (SELECT "
		"lower(type_name) FROM system.main.duckdb_types() WHERE internal) LIMIT 1",
		"type", "type", "TYPE", err);
}

// Rows that are there once in a file of assay, and that its views join by their number: if all of a table had the same, every
// question would make pairs of all rows, 10^10 of a file of 9 MB. And how many of them are read: 10^7 runs, alike but for their
// numbers, are a file of 90 MB, and took 1.2 GB. A cell has some four events.
enum { ROWS_MOST = 1 << 24, PART_BITS = 19 }; // of any table; of rows whose numbers are looked at together
static const struct {
	const char *table, *column;
	int64_t most;
} numbers[] = { { "run", "id", 1 << 20 }, { "cell", "id", 1 << 20 }, { "event", "id", 1 << 22 },
	{ "measurement", "event", 1 << 20 } };
enum { NUMBERED = sizeof numbers / sizeof numbers[0] };

static enum status say_twice(int64_t n, const char *table, const char *words, struct error *err)
{
	return n == 0
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "%lld of the rows of its table %s stand twice, by %s: assay writes each once",
			  (long long)n, table, words);
}

enum status guard_once(struct db *d, struct arena *a, const char *from, const char *columns, const char *table, const char *words,
	struct error *err)
{
	struct table t;
	enum status status = db_query(d, a,
		arena_printf(a, "SELECT (SELECT count(*) FROM %s) - (SELECT count(*) FROM (SELECT DISTINCT %s FROM %s)) AS n",
			from, columns, from),
		NULL, 0, &t, err);

	return status == STATUS_OK ? say_twice(table_integer(&t, 0, "n"), table, words, err) : status;
}

// The same of a table's numbers, a part of them at a time: those of four million rows at once are 100 MB.
static enum status look_at_once(
	struct db *d, struct arena *a, const char *table, const char *column, int64_t rows, struct error *err)
{
	const long long parts = rows == 0 ? 0 : 1 + (rows >> PART_BITS);
	int64_t all = 0;
	struct table t;
	enum status status = STATUS_OK;

	for (long long i = 0; i < parts && status == STATUS_OK; i++) {
		const char *of = parts > 1 ? arena_printf(a, " WHERE abs(%s %% %lld) = %lld", column, parts, i) : "";

		status = db_query(d, a,
			arena_printf(a, "SELECT count(*) - count(DISTINCT %s) AS n FROM main.%s%s", column, table, of), NULL, 0,
			&t, err);
		all += status == STATUS_OK ? table_integer(&t, 0, "n") : 0;
	}
	return status == STATUS_OK ? say_twice(all, table, column, err) : status;
}

// As DuckDB compares names of tables and columns: the letters' case of the file's is the file's.
static bool has_name(const struct table *names, const char *name)
{
	for (size_t i = 0; i < names->row_count; i++)
		if (strcasecmp(table_get(names, i, "name"), name) == 0)
			return true;
	return false;
}

static enum status say_many(const char *table, int64_t rows, int64_t most, struct error *err)
{
	return rows <= most
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "its table %s has %lld rows; at most %lld are read: begin another database",
			  table, (long long)rows, (long long)most);
}

static enum status look_at_count(struct db *d, struct arena *a, const char *table, int64_t most, int64_t *rows, struct error *err)
{
	struct table t;
	enum status status = db_query(d, a, arena_printf(a, "SELECT count(*) AS n FROM main.%s", table), NULL, 0, &t, err);

	*rows = status == STATUS_OK ? table_integer(&t, 0, "n") : 0;
	return status == STATUS_OK ? say_many(table, *rows, most, err) : status;
}

// Of a row of pragma_storage_info. Beside it are the first 8 bytes of two texts, which cannot be taken for it.
#define LONGEST_SQL "TRY_CAST(regexp_extract(stats, 'Max String Length: (\\d+)\\]', 1) AS BIGINT)"

enum status guard_texts(struct db *d, struct arena *a, const char *from, const struct table *columns, int64_t *all,
	int64_t *longest, struct error *err)
{
	struct text total = { 0 }, most = { 0 };
	struct table t = { 0 };
	enum status status = STATUS_OK;

	for (size_t i = 0; i < columns->column_count; i++) {
		struct text name = { 0 };
		if (!text_is(columns->types[i], "VARCHAR"))
			continue;
		sql_add_name(&name, columns->columns[i]);
		text_addf(&total, " + COALESCE(sum(strlen(%s)), 0)", text_get(&name));
		text_addf(&most, ", max(strlen(%s))", text_get(&name));
		text_done(&name);
	}
	if (total.length > 0)
		status = db_query(d, a,
			arena_printf(a, "SELECT CAST(least(0%s, %lld) AS BIGINT) AS total, greatest(0%s) AS longest FROM %s",
				text_get(&total), (long long)1 << 60, text_get(&most), from),
			NULL, 0, &t, err);
	*all = status == STATUS_OK && t.row_count > 0 ? table_integer(&t, 0, "total") : 0;
	*longest = status == STATUS_OK && t.row_count > 0 ? table_integer(&t, 0, "longest") : 0;
	text_done(&total);
	text_done(&most);
	return status;
}

// All texts of a table, which are in memory by 2048 of a column.
static enum status count_texts(struct db *d, struct arena *a, const char *table, int64_t *nbytes, struct error *err)
{
	enum { MEMORY_MIB = 128 };
	const char *from = arena_printf(a, "main.%s", table);
	struct table columns;
	int64_t longest;
	enum status status = db_query(d, a, arena_printf(a, "SELECT * FROM %s LIMIT 0", from), NULL, 0, &columns, err);

	*nbytes = 0;
	if (status != STATUS_OK)
		return status;
	db_watch_hold_most(d->watch, (int64_t)MEMORY_MIB << 20);
	status = guard_texts(d, a, from, &columns, nbytes, &longest, err);
	db_watch_release(d->watch);
	if (status == STATUS_NO_MEMORY && !db_watch_is_cramped(d->watch))
		return error_set(err, STATUS_BAD_INPUT,
			"the texts of its table %s take more than %d MiB in rows that stand side by side; assay's are far "
			"shorter",
			table, MEMORY_MIB);
	return status;
}

// A row takes at least a byte of the file, and a byte of it holds four of the texts of assay's rows. What is above that is alike.
static enum status look_at_share(
	struct db *d, struct arena *a, const struct table *texts, int64_t rows, double text_bytes, struct error *err)
{
	enum { ROWS_A_FILE = 1 << 20 };
	struct table t;
	int64_t sum = 0;

	if (rows <= ROWS_A_FILE && text_bytes <= GUARD_TEXT_A_FILE)
		return STATUS_OK;
	enum status status =
		db_query(d, a, "SELECT path FROM duckdb_databases() WHERE database_name = current_database()", NULL, 0, &t, err);
	const int64_t size = status == STATUS_OK && t.row_count > 0 ? db_bytes(t.cells[0]) : 0;
	if (status == STATUS_OK && rows > ROWS_A_FILE + size)
		return error_set(err, STATUS_BAD_INPUT,
			"its tables hold %lld rows in %lld bytes: they are alike, as no rows of assay are", (long long)rows,
			(long long)size);
	if (status != STATUS_OK || text_bytes <= GUARD_TEXT_A_FILE + (double)size * GUARD_TEXT_A_BYTE)
		return status;
	for (size_t i = 0; i < texts->row_count && status == STATUS_OK; i++) {
		int64_t nbytes = 0;

		status = count_texts(d, a, table_get(texts, i, "name"), &nbytes, err);
		sum += nbytes;
	}
	if (status == STATUS_OK && sum > GUARD_TEXT_A_FILE + size * GUARD_TEXT_A_BYTE)
		return error_set(err, STATUS_BAD_INPUT,
			"its texts take %lld bytes, and the file %lld: they are alike, as no texts of assay are", (long long)sum,
			(long long)size);
	return status;
}

// Of all tables of assay's that are there, by what the file says of them: how many rows, how long a text is, and how long all
// are at most. Equal rows and texts take next to nothing in a file: 3 MB were 30 million samples, or texts of 60 MB, and each
// question took 1 GB.
static enum status look_at_sizes(struct db *d, struct arena *a, const struct table *there, struct error *err)
{
	struct text texts = { 0 };
	struct table t = { 0 };
	int64_t rows = 0;
	double text_bytes = 0;
	enum status status = STATUS_OK;

	for (size_t i = 0; i < there->row_count && status == STATUS_OK; i++) {
		const char *name = table_get(there, i, "name"), *also = texts.length > 0 ? " UNION ALL " : "";
		if (!schema_has_table(name))
			continue;
		rows += table_integer(there, i, "rows");
		status = say_many(name, table_integer(there, i, "rows"), ROWS_MOST, err);
		text_addf(&texts, "%sSELECT '%s' AS name, segment_type, stats, \"count\" FROM pragma_storage_info('main.\"%s\"')",
			also, name, name);
	}
	if (status == STATUS_OK && texts.length > 0)
		status = db_query(d, a,
			arena_printf(a,
				"SELECT name, max(longest) AS longest, sum(rows * longest) AS together FROM (SELECT name, "
				"CAST(\"count\" AS DOUBLE) AS rows, " LONGEST_SQL
				" AS longest FROM (%s) WHERE segment_type = 'VARCHAR') GROUP BY name",
				text_get(&texts)),
			NULL, 0, &t, err);
	for (size_t i = 0; i < t.row_count && status == STATUS_OK; i++) {
		if (table_integer(&t, i, "longest") > DB_TEXT_MOST)
			status = error_set(err, STATUS_BAD_INPUT,
				"its table %s holds a text of %s bytes; assay writes none above %d", table_get(&t, i, "name"),
				table_get(&t, i, "longest"), DB_TEXT_MOST);
		else if (table_get(&t, i, "together") != NULL) // NULL: a table without texts
			text_bytes += table_real(&t, i, "together");
	}
	text_done(&texts);
	return status == STATUS_OK ? look_at_share(d, a, &t, rows, text_bytes, err) : status;
}

// All of them in one statement each, which is planned in a third of the time of one a table.
static enum status look_at_counts(struct db *d, struct arena *a, const struct table *there, int64_t *rows, struct error *err)
{
	struct text sql = { 0 };
	struct table t = { 0 };
	enum status status = STATUS_OK;

	for (size_t i = 0; i < NUMBERED; i++) {
		if (has_name(there, numbers[i].table))
			text_addf(&sql, "%sSELECT %zu AS number, count(*) AS n FROM main.%s", sql.length > 0 ? " UNION ALL " : "",
				i, numbers[i].table);
	}
	if (sql.length > 0)
		status = db_query(d, a, text_get(&sql), NULL, 0, &t, err);
	text_done(&sql);
	for (size_t i = 0; i < t.row_count && status == STATUS_OK; i++) {
		const int64_t number = table_integer(&t, i, "number");

		rows[number] = table_integer(&t, i, "n");
		status = say_many(numbers[number].table, rows[number], numbers[number].most, err);
	}
	return status;
}

static enum status look_at_few(struct db *d, struct arena *a, const int64_t *rows, struct error *err)
{
	struct text sql = { 0 };
	struct table t = { 0 };
	enum status status = STATUS_OK;

	for (size_t i = 0; i < NUMBERED; i++) {
		if (rows[i] > 0)
			text_addf(&sql, "%sSELECT %zu AS number, count(*) - count(DISTINCT %s) AS n FROM main.%s",
				sql.length > 0 ? " UNION ALL " : "", i, numbers[i].column, numbers[i].table);
	}
	if (sql.length > 0)
		status = db_query(d, a, text_get(&sql), NULL, 0, &t, err);
	text_done(&sql);
	for (size_t i = 0; i < t.row_count && status == STATUS_OK; i++) {
		const int64_t number = table_integer(&t, i, "number");

		status = say_twice(table_integer(&t, i, "n"), numbers[number].table, numbers[number].column, err);
	}
	return status;
}

enum status guard_numbers(struct db *d, struct error *err)
{
	struct arena a = { 0 };
	struct table there;
	int64_t rows[NUMBERED] = { 0 }, all = 0;
	enum status status = db_query(d, &a,
		"SELECT table_name AS name, estimated_size AS rows FROM duckdb_tables() WHERE database_name = current_database() "
		"AND schema_name = 'main'",
		NULL, 0, &there, err);

	if (status == STATUS_OK)
		status = look_at_sizes(d, &a, &there, err);
	if (status == STATUS_OK)
		status = look_at_counts(d, &a, &there, rows, err);
	for (size_t i = 0; i < NUMBERED; i++)
		all += rows[i];
	const bool are_few = all >> PART_BITS == 0;
	if (status == STATUS_OK && are_few)
		status = look_at_few(d, &a, rows, err);
	for (size_t i = 0; i < NUMBERED && status == STATUS_OK && !are_few; i++)
		status = look_at_once(d, &a, numbers[i].table, numbers[i].column, rows[i], err);
	arena_done(&a);
	return status;
}

// ---- numbers that nothing can have measured ---------------------------------------------------------------------------

// Beside those of a row (question/bounds.h), which are columns of `measurement`.
static const struct {
	const char *table, *column;
	double most; // 0: a time
} measured[] = {
	{ "sample", "ms", BOUND_MS },
	{ "machine", "first_seen_at", 0 },
	{ "run", "started_at", 0 },
	{ "model", "first_seen_at", 0 },
	{ "artifact", "first_seen_at", 0 },
	{ "cell", "started_at", 0 },
	{ "event", "happened_at", 0 },
	{ "platform_detection", "detected_at", 0 },
	{ "import", "imported_at", 0 },
};

// Their tables, and what a row of each is called.
static const struct looked_at {
	const char *table, *key, *words;
} looked_at[] = {
	{ "measurement", "cell", "row " },
	{ "sample", "cell", "row " },
	{ "machine", "id", "machine " },
	{ "run", "id", "run:" },
	{ "model", "id", "model " },
	{ "artifact", "key", "artifact " },
	{ "cell", "id", "row " },
	{ "event", "id", "event " },
	{ "platform_detection", "id", "detection " },
	{ "import", "id", "import " },
};
enum { LOOKED_AT = sizeof looked_at / sizeof looked_at[0], MEASURED = 0 };

// NaN and infinity are above everything in DuckDB, so they are in no range; NULL is neither in it nor outside.
static const char *outside(struct arena *a, const char *column, double most)
{
	if (most <= 0)
		return arena_printf(a, "NOT (\"%s\" BETWEEN TIMESTAMP '1970-01-01' AND TIMESTAMP '9999-12-31')", column);
	return arena_printf(a, "NOT (\"%s\" BETWEEN 0 AND %.0f)", column, most);
}

// Of a row of a table: what is wrong, and the value of which column it is.
struct wrong {
	struct text name, value, where;
};

static void add_wrong(struct wrong *w, const char *column, const char *is)
{
	text_addf(&w->name, " WHEN %s THEN '%s'", is, column);
	text_addf(&w->value, " WHEN %s THEN left(CAST(\"%s\" AS VARCHAR), 100)", is, column);
	text_addf(&w->where, "%s%s", w->where.length > 0 ? " OR " : "", is);
}

static void wrong_done(struct wrong *w)
{
	text_done(&w->name);
	text_done(&w->value);
	text_done(&w->where);
}

// The first row of which a condition holds; `out` without rows: none.
static enum status find_wrong(struct db *d, struct arena *a, const char *prefix, const struct looked_at *l, struct wrong *w,
	struct table *out, struct error *err)
{
	enum status status = STATUS_OK;

	*out = (struct table){ 0 };
	if (w->where.length > 0)
		status = db_query(d, a,
			arena_printf(a,
				"SELECT CAST(\"%s\" AS VARCHAR) AS key, CASE%s END AS name, CASE%s END AS value FROM %s%s WHERE "
				"%s LIMIT 1",
				l->key, text_get(&w->name), text_get(&w->value), prefix, l->table, text_get(&w->where)),
			NULL, 0, out, err);
	wrong_done(w);
	return status;
}

// Nearly always there is none, and one statement that asks for any row of any table is planned in a third of the time of those
// that name it. `sql`: what add_any added. *any: there is one, and each table is asked.
static enum status find_any(struct db *d, struct arena *a, struct text *sql, bool *any, struct error *err)
{
	struct table t = { 0 };
	enum status status = STATUS_OK;

	if (sql->length > 0)
		status = db_query(d, a, arena_printf(a, "%s LIMIT 1", text_get(sql)), NULL, 0, &t, err);
	text_done(sql);
	*any = t.row_count > 0;
	return status;
}

static void add_any(struct text *sql, const char *prefix, const char *table, struct wrong *w)
{
	if (w->where.length > 0)
		text_addf(sql, "%sSELECT 1 FROM %s%s WHERE %s", sql->length > 0 ? " UNION ALL " : "", prefix, table,
			text_get(&w->where));
	wrong_done(w);
}

// Of one table: `columns` of it that are there, of which an older file has fewer.
static struct wrong wrong_values(struct arena *a, const struct looked_at *l, const struct table *columns)
{
	struct wrong w = { 0 };

	for (const struct row_bound *b = row_bounds; text_is(l->table, "measurement") && b->name != NULL; b++) {
		if (has_name(columns, b->name))
			add_wrong(&w, b->name, outside(a, b->name, b->most));
	}
	for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
		if (text_is(measured[i].table, l->table) && has_name(columns, measured[i].column))
			add_wrong(&w, measured[i].column, outside(a, measured[i].column, measured[i].most));
	}
	return w;
}

static enum status look_at_values(struct db *d, struct arena *a, const char *prefix, const struct looked_at *l,
	const struct table *columns, struct error *err)
{
	struct wrong w = wrong_values(a, l, columns);
	struct table t;
	enum status status = find_wrong(d, a, prefix, l, &w, &t, err);
	if (status == STATUS_OK && t.row_count > 0)
		status = error_set(err, STATUS_BAD_INPUT, "%s%s: %s.%s is %s, which nothing can have measured", l->words,
			table_get(&t, 0, "key"), l->table, table_get(&t, 0, "name"), table_get(&t, 0, "value"));
	return status;
}

// What no row that was judged right has, since its judge would have said otherwise. Golden outputs may hold values that are not
// finite, and of a reduced precision these figures are its loss. A column that the file lacks is NULL, as in an older file.
static const struct {
	const char *column, *is;
} contradictions[] = {
	{ "graph_verdict", "graph_verdict <> 'right'" },
	{ "arithmetic_verdict", "arithmetic_verdict <> 'right'" },
	{ "nmse", "graph_verdict IS NULL AND NOT nmse < 1" },
	{ "cosine", "graph_verdict IS NULL AND cosine < -0.01" }, // an error below the outputs' own size leaves it above 0
	{ "arithmetic_nmse", "NOT arithmetic_nmse < 1" },
	{ "non_finite", "graph_verdict IS NULL AND not_judged IS NULL AND reference <> 'golden' AND non_finite > 0" },
	{ "max_abs_error", "graph_verdict IS NULL AND isinf(max_abs_error)" },
	{ "graph_max_abs_error", "isinf(graph_max_abs_error)" },
	{ "latency_p90_ms", "latency_p90_ms < latency_min_ms" },
	{ "latency_ms", "NOT latency_ms BETWEEN latency_min_ms AND latency_max_ms" },
	{ "samples", "samples = 0 AND latency_ms IS NOT NULL" },
	{ "nodes_on_platform", "NOT nodes_on_platform BETWEEN 0 AND nodes" },
	{ "data_value",
		"data_metric IN ('accuracy', 'token accuracy', 'cosine') AND data_worse = 0 AND data_value < data_reference - "
		"1e-5" },
	{ "data_worse", "data_worse > 0 AND data_reference_by IS NULL" }, // its figure may be NaN
	{ "data_value", "isnan(data_value) OR isnan(data_reference)" },   // that is NULL
	{ "data_value",
		"data_metric NOT IN ('perplexity', 'word error rate') AND NOT (abs(data_value) <= 1.001 AND "
		"coalesce(abs(data_reference), 0) <= 1.001)" },
	{ "data_reference", "data_reference IS NOT NULL AND (data_worse IS NULL OR data_better IS NULL)" },
	{ "data_reference", "data_metric IN ('accuracy', 'token accuracy') AND data_worse > 0 AND data_reference IS NULL" },
	{ "data_examples", "greatest(data_worse, data_better, data_unlike) > data_examples" },
	{ "data_worse", "data_worse IS NOT NULL AND (data_better IS NULL OR data_metric IS NULL)" },
	{ "data_metric",
		"data_metric NOT IN ('accuracy', 'token accuracy', 'perplexity', 'cosine', 'word error rate', 'mAP', 'mean "
		"IoU')" },
	{ "nodes_elsewhere", "nodes_elsewhere > 0 AND nodes_on_platform = 0 AND fallback_allowed IS DISTINCT FROM TRUE" },
};

// As data_judge has it: more examples are worse than better by a sign test below 0.05, and so is the metric itself, of which an
// infinite one may be NULL. Of so many examples the least that are worse are listed; of more their deviation tells, up to
// 1,500 of no pair that the test calls chance, and of all but 54 others.
static const char *worse_than_chance(struct arena *a)
{
	enum { LISTED = 64 };
	struct text least = { 0 };

	for (size_t n = 0, worse = 0; n < LISTED; n++) {
		while (worse <= n && (2 * worse <= n || stats_sign_test(worse, n - worse) >= 0.05))
			worse++;
		text_addf(&least, "%s%zu", n > 0 ? "," : "", worse);
	}
	const char *out = arena_printf(a,
		"data_worse > data_better AND CASE WHEN greatest(data_worse, data_better) >= %d "
		"THEN (0e0 + data_worse - data_better - 1) ** 2 > 3.85e0 * (0e0 + data_worse + data_better) "
		"ELSE data_worse >= [%s][TRY_CAST(data_worse + data_better AS BIGINT) + 1] END "
		"AND CASE WHEN data_metric = 'perplexity' THEN coalesce(data_value, 'inf') > data_reference "
		"OR (isinf(data_value) AND isinf(data_reference)) "
		"WHEN data_metric = 'word error rate' THEN data_value > data_reference "
		"WHEN data_metric IN ('accuracy', 'cosine', 'token accuracy') THEN coalesce(data_value, -2) < data_reference "
		"ELSE data_value < data_reference END",
		LISTED / 2, text_get(&least));
	text_done(&least);
	return out;
}

static void add_right(struct wrong *w, struct arena *a, const char *column, const char *is)
{
	add_wrong(w, column, arena_printf(a, "(CAST(verdict AS VARCHAR) = 'right' AND source IS NULL AND %s)", is));
}

static struct wrong wrong_right(struct arena *a)
{
	struct wrong w = { 0 };

	for (size_t i = 0; i < sizeof contradictions / sizeof contradictions[0]; i++)
		add_right(&w, a, contradictions[i].column, contradictions[i].is);
	add_right(&w, a, "data_worse", worse_than_chance(a));
	return w;
}

static enum status look_at_right(struct db *d, struct arena *a, const char *prefix, const struct looked_at *l,
	const struct table *columns, struct error *err)
{
	struct looked_at rows = *l;
	struct wrong w = wrong_right(a);
	struct table t;

	rows.table = schema_whole_rows(a, arena_printf(a, "%s%s", prefix, l->table), columns);
	enum status status = find_wrong(d, a, "", &rows, &w, &t, err);
	if (status == STATUS_OK && t.row_count > 0) {
		const char *value = table_get(&t, 0, "value");
		status = error_set(err, STATUS_BAD_INPUT, "%s%s says right, and its %s is %s: assay wrote no such row", l->words,
			table_get(&t, 0, "key"), table_get(&t, 0, "name"), value != NULL ? value : "nothing");
	}
	return status;
}

// A row has one verdict, which its measurement holds, too.
#define TWO_VERDICTS \
	"%smeasurement m JOIN %sevent e ON e.id = m.event WHERE CAST(m.verdict AS VARCHAR) IS DISTINCT FROM e.verdict"
static enum status look_at_both_verdicts(struct db *d, struct arena *a, const char *prefix, struct error *err)
{
	struct table t;

	enum status status = db_query(d, a,
		arena_printf(a, "SELECT m.cell AS cell, m.verdict AS measured, e.verdict AS said FROM " TWO_VERDICTS " LIMIT 1",
			prefix, prefix),
		NULL, 0, &t, err);
	if (status == STATUS_OK && t.row_count > 0) {
		const char *said = table_get(&t, 0, "said"), *it = table_get(&t, 0, "measured");
		status = error_set(err, STATUS_BAD_INPUT, "row %s: its event says %.100s, and its measurement %.100s",
			table_get(&t, 0, "cell"), said != NULL ? said : "nothing", it != NULL ? it : "nothing");
	}
	return status;
}

static enum status look_at_rows(struct db *d, struct arena *a, const char *prefix, const struct looked_at *l,
	const struct table *columns, struct error *err)
{
	enum status status = look_at_both_verdicts(d, a, prefix, err);

	return status == STATUS_OK ? look_at_right(d, a, prefix, l, columns, err) : status;
}

// The names of the columns of all tables that are looked at and that are there; `out` has one for each of looked_at.
// duckdb_columns() would make a row of each column of all tables first.
static enum status names_of_columns(struct db *d, struct arena *a, const char *prefix, struct table *out, struct error *err)
{
	struct text sql = { 0 };
	struct table there, all = { 0 };
	enum status status = db_query(d, a,
		"SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' AND database_name IN "
		"(current_database(), 'temp') UNION ALL SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND "
		"database_name IN (current_database(), 'temp')",
		NULL, 0, &there, err);

	if (status != STATUS_OK)
		return status;
	for (size_t i = 0; i < LOOKED_AT; i++) {
		const char *name = arena_printf(a, "%s%s", prefix, looked_at[i].table);

		if (has_name(&there, name))
			text_addf(&sql, "%sSELECT name, %zu AS at FROM pragma_table_info('%s')",
				sql.length > 0 ? " UNION ALL " : "", i, name);
	}
	if (sql.length > 0)
		status = db_query(d, a, text_get(&sql), NULL, 0, &all, err);
	text_done(&sql);
	for (size_t i = 0; i < LOOKED_AT; i++)
		out[i] = (struct table){ .columns = all.columns,
			.column_count = all.column_count,
			.cells = ARENA_ARRAY(a, all.row_count * all.column_count + 1, const char *) };
	for (size_t i = 0; i < all.row_count && status == STATUS_OK; i++) {
		struct table *of = &out[table_integer(&all, i, "at")];

		memcpy(of->cells + of->row_count++ * all.column_count, all.cells + i * all.column_count,
			all.column_count * sizeof *all.cells);
	}
	return status;
}

static enum status find_any_value(
	struct db *d, struct arena *a, const char *prefix, const struct table *columns, bool *any, struct error *err)
{
	struct text sql = { 0 };
	struct wrong w;

	for (size_t i = 0; i < LOOKED_AT; i++) {
		w = wrong_values(a, &looked_at[i], &columns[i]);
		add_any(&sql, prefix, looked_at[i].table, &w);
	}
	if (columns[MEASURED].row_count > 0) {
		w = wrong_right(a);
		add_any(&sql, "",
			schema_whole_rows(a, arena_printf(a, "%s%s", prefix, looked_at[MEASURED].table), &columns[MEASURED]), &w);
		text_addf(&sql, " UNION ALL SELECT 1 FROM " TWO_VERDICTS, prefix, prefix);
	}
	return find_any(d, a, &sql, any, err);
}

enum status guard_values(struct db *d, const char *prefix, struct error *err)
{
	struct arena a = { 0 };
	struct table columns[LOOKED_AT];
	enum status status = names_of_columns(d, &a, prefix, columns, err);
	bool any = false;

	if (status == STATUS_OK && columns[MEASURED].row_count > 0 && !has_name(&columns[MEASURED], "verdict"))
		status = error_set(err, STATUS_BAD_INPUT, "its table measurement has no column `verdict`");
	if (status == STATUS_OK)
		status = find_any_value(d, &a, prefix, columns, &any, err);
	for (size_t i = 0; i < LOOKED_AT && status == STATUS_OK && any; i++) {
		if (columns[i].row_count == 0)
			continue;
		status = look_at_values(d, &a, prefix, &looked_at[i], &columns[i], err);
		if (status == STATUS_OK && i == MEASURED)
			status = look_at_rows(d, &a, prefix, &looked_at[i], &columns[i], err);
	}
	arena_done(&a);
	return status;
}

// ---- words that no report takes ------------------------------------------------------------------------------------------

static const struct {
	struct looked_at at;
	const char *columns[4];
} named[] = {
	{ { "cell", "id", "row " }, { "model", "requested", "device" } },
	{ { "run", "id", "run:" }, { "machine" } },
	{ { "machine", "id", "machine " }, { "id" } },
	{ { "model", "id", "model " }, { "name" } },
};

static enum status look_at_names(struct db *d, struct arena *a, const char *prefix, const struct looked_at *l,
	const char *const *columns, struct error *err)
{
	struct wrong w = { 0 };
	struct table t;

	for (; *columns != NULL; columns++)
		add_wrong(&w, *columns, arena_printf(a, "strlen(\"%s\") > %d", *columns, NAME_MOST));
	enum status status = find_wrong(d, a, prefix, l, &w, &t, err);
	if (status == STATUS_OK && t.row_count > 0)
		status = error_set(err, STATUS_BAD_INPUT, "%s%.100s: %s.%s is a name of more than %d characters", l->words,
			table_get(&t, 0, "key"), l->table, table_get(&t, 0, "name"), NAME_MOST);
	return status;
}

static enum status look_at_verdicts(
	struct db *d, struct arena *a, const char *prefix, const struct looked_at *l, struct error *err)
{
	struct wrong w = { 0 };
	struct text is = { 0 };
	struct table t;

	for (enum verdict v = 0; v < VERDICT_COUNT; v++)
		text_addf(&is, "%s'%s'", v > 0 ? ", " : "verdict NOT IN (", verdict_word(v));
	text_add(&is, ")");
	add_wrong(&w, "verdict", text_get(&is));
	text_done(&is);
	enum status status = find_wrong(d, a, prefix, l, &w, &t, err);
	if (status == STATUS_OK && t.row_count > 0)
		status = error_set(
			err, STATUS_BAD_INPUT, GUARD_VERDICT, l->words, table_get(&t, 0, "key"), table_get(&t, 0, "value"));
	return status;
}

static enum status look_at_questions(struct db *d, struct arena *a, const char *prefix, struct error *err)
{
	static const struct looked_at cells = { "cell", "id", "row " };
	struct wrong w = { 0 };
	struct table t;

	add_wrong(&w, "question",
		"CASE WHEN json_valid(question) THEN json_type(question) <> 'OBJECT' ELSE question IS NOT NULL END");
	enum status status = find_wrong(d, a, prefix, &cells, &w, &t, err);
	if (status == STATUS_OK && t.row_count > 0)
		status = error_set(
			err, STATUS_BAD_INPUT, "row %s: its column `question` is no JSON object", table_get(&t, 0, "key"));
	return status;
}

enum status guard_words(struct db *d, const char *prefix, struct error *err)
{
	static const struct looked_at rows = { "measurement", "cell", "row " }, events = { "event", "id", "event " };
	struct arena a = { 0 };
	enum status status = look_at_names(d, &a, prefix, &rows, row_names, err);

	for (size_t i = 0; i < sizeof named / sizeof named[0] && status == STATUS_OK; i++)
		status = look_at_names(d, &a, prefix, &named[i].at, named[i].columns, err);
	if (status == STATUS_OK)
		status = look_at_verdicts(d, &a, prefix, &rows, err);
	if (status == STATUS_OK)
		status = look_at_verdicts(d, &a, prefix, &events, err);
	if (status == STATUS_OK)
		status = look_at_questions(d, &a, prefix, err);
	arena_done(&a);
	return status;
}

// ---- room ----------------------------------------------------------------------------------------------------------------

static int64_t most_of(const char *table)
{
	int64_t most = ROWS_MOST;

	for (size_t i = 0; i < NUMBERED; i++)
		most = text_is(numbers[i].table, table) ? numbers[i].most : most;
	return most;
}

enum status guard_many(const char *table, int64_t rows, struct error *err)
{
	return say_many(table, rows, most_of(table), err);
}

enum status guard_room(struct db *d, const char *table, int64_t more, struct error *err)
{
	struct arena a = { 0 };
	int64_t rows;
	enum status status = look_at_count(d, &a, table, most_of(table), &rows, err);

	arena_done(&a);
	return status == STATUS_OK ? guard_many(table, rows + more, err) : status;
}

enum status guard_look(struct db *d, struct error *err)
{
	struct arena a = { 0 };
	enum status status = look_at_macros(d, &a, err);

	if (status == STATUS_OK)
		status = look_at_types(d, &a, err);
	if (status == STATUS_OK)
		status = look_at_tables(d, &a, err);
	if (status == STATUS_OK)
		status = look_at_views(d, &a, err);
	arena_done(&a);
	return status;
}
