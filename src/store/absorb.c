// SPDX-License-Identifier: Apache-2.0
// Rows of another database of assay into this one: a folder or a file that `assay export` wrote, or the file itself. A run is
// known again by who ran it, when and where; a cell by its number in the file that it was first written to. What is known is not
// added again, what it gained since is: but nothing to a run that assay wrote into this file, and no further verdict to a cell
// that has one, since anybody can write that a run of his is one of these. Numbers are given anew, references follow them. One
// transaction; what does not fit adds nothing.
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "store/guard.h"
#include "store/lines.h"
#include "store/one_file.h"
#include "store/parquet.h"
#include "store/schema.h"
#include "store/sql_name.h"
#include "store/transaction.h"
#include "store/transfer.h"

// How a row comes over: what is selected from source table s (numbers replaced), and which rows. `number`: the column with the
// number of a cell (of table cell) or an event, by which large tables come over in parts; NULL: at once.
struct absorbed {
	const char *table, *select, *where, *number;
};

#define OWN_RUNS "(SELECT id FROM main.run WHERE origin_id IS NULL)"
#define CELL_OF(column) "(SELECT m.new FROM cell_map m WHERE m.old = s." column ")"
// What a row says of others it says of those that came with it, and of no row that assay wrote here.
#define IS_OTHER "m.new NOT IN (SELECT id FROM main.cell WHERE run IN " OWN_RUNS ")"
#define OTHER_CELL_OF(column) "(SELECT m.new FROM cell_map m WHERE m.old = s." column " AND " IS_OTHER ") AS " column
// Lists of cells' numbers, for each row that has one. A map of its own, since a list in a row's place is looked for row by row.
#define LIST_MAP(column) \
	"CREATE TEMP TABLE " column \
	"_map AS SELECT l.old, '[' || string_agg(CAST(m.new AS VARCHAR), ',' ORDER BY m.new) || ']' AS new " \
	"FROM (SELECT DISTINCT id AS old, unnest(CAST(" column \
	" AS BIGINT[])) AS cell FROM source_comparison) l JOIN cell_map m ON " \
	"m.old = l.cell WHERE " IS_OTHER " GROUP BY l.old;"
#define CELLS_OF(column) "(SELECT m.new FROM " column "_map m WHERE m.old = s.id) AS " column
// Of a table that comes over in parts: the numbers of this one.
#define PART_OF(column) "(SELECT m.new FROM part m WHERE m.old = s." column ") AS " column
#define IN_PART(column) "s." column " IN (SELECT old FROM part)"
#define EVENT_NEW PART_OF("event") ", " CELL_OF("cell") " AS cell"
#define NEXT(table) "(SELECT COALESCE(max(id), 0) FROM main." table ") + row_number() OVER (ORDER BY s.id) AS id"
#define RUN_NEW "(SELECT m.new FROM run_map m WHERE m.old = s.run) AS run"

// Before the rows: which number becomes which. 0 stands for the program that settled dead ones. One row of a map for each number
// of the source, also where rows stand twice here, as they do where a program of before took in a file that had them twice.
#define MAP(table, joins) \
	"CREATE TEMP TABLE " table \
	"_map AS SELECT old, known, min(new) AS new FROM (SELECT s.id AS old, k.id IS NOT NULL AS known, COALESCE(k.id," \
	" (SELECT COALESCE(max(id), 0) FROM main." table \
	") + row_number() OVER (PARTITION BY k.id IS NULL ORDER BY s.id)) AS new" \
	" FROM source_" table " s " joins ") GROUP BY old, known;"
#define SETTLED_CELLS \
	"(SELECT id FROM main.cell WHERE run IN " OWN_RUNS \
	" UNION ALL SELECT cell FROM main.event WHERE kind = 'verdict' AND cell IS NOT NULL)"
static const char maps[] = MAP("import", "LEFT JOIN main.import k ON k.sha256 = s.sha256") MAP("model",
	"LEFT JOIN main.model k ON k.name IS NOT DISTINCT FROM s.name AND k.revision IS NOT DISTINCT FROM s.revision"
	" AND k.head IS NOT DISTINCT FROM s.head AND k.model_type IS NOT DISTINCT FROM s.model_type") MAP("run",
	"LEFT JOIN main.run k ON k.machine IS NOT DISTINCT FROM s.machine AND k.hostname IS NOT DISTINCT FROM s.hostname"
	" AND k.pid IS NOT DISTINCT FROM s.pid AND k.start_ticks IS NOT DISTINCT FROM s.start_ticks"
	" AND k.boot_id IS NOT DISTINCT FROM s.boot_id AND k.started_at = s.started_at AND k.command IS NOT DISTINCT FROM "
	"s.command") "INSERT INTO run_map SELECT 0, true, 0;" MAP("cell",
	"JOIN run_map r ON r.old = s.run"
	" LEFT JOIN main.cell k ON k.run = r.new AND COALESCE(k.origin_id, k.id) = COALESCE(s.origin_id, s.id)"
	" WHERE k.id IS NOT NULL OR r.new NOT IN " OWN_RUNS) MAP("event",
	"JOIN run_map r ON r.old = s.run LEFT JOIN cell_map c ON c.old = s.cell LEFT JOIN main.event k ON k.run = r.new"
	" AND k.cell IS NOT DISTINCT FROM c.new AND k.kind = s.kind AND k.happened_at = s.happened_at"
	" WHERE k.id IS NOT NULL OR (r.new NOT IN " OWN_RUNS " AND (s.cell IS NULL OR c.new NOT IN " SETTLED_CELLS "))")
	LIST_MAP("rows_a") LIST_MAP("rows_b");

// What there is once in a file of assay: its numbers, and by what the maps and `tables` know a row again. Two such rows would
// both be taken, and from then on stand twice here.
static const struct {
	const char *table, *columns, *words;
} keys[] = {
	{ "machine", "id", "id" },
	{ "import", "id", "id" },
	{ "run", "id", "id" },
	{ "run", "machine, hostname, pid, start_ticks, boot_id, started_at, command", "machine, process, time and command" },
	{ "model", "id", "id" },
	{ "model", "name, revision, head, model_type", "name, revision, head and model_type" },
	{ "artifact", "key", "key" },
	{ "cell", "id", "id" },
	{ "cell", "run, COALESCE(origin_id, id)", "run and origin_id" },
	{ "event", "id", "id" },
	{ "event", "run, cell, kind, happened_at", "run, cell, kind and time" },
	{ "measurement", "event", "event" },
	{ "comparison", "id", "id" },
};

static const struct absorbed tables[] = {
	{ "machine", "s.*", "s.id NOT IN (SELECT id FROM main.machine)", NULL },
	{ "import",
		"s.* REPLACE ((SELECT m.new FROM import_map m WHERE m.old = s.id) AS id, (SELECT m.new FROM run_map m WHERE "
		"m.old = s.run) AS run)",
		"s.id IN (SELECT old FROM import_map WHERE NOT known)", NULL },
	{ "run",
		"s.* REPLACE ((SELECT m.new FROM run_map m WHERE m.old = s.id) AS id, COALESCE(s.origin_id, s.id) AS origin_id,"
		" (SELECT m.new FROM import_map m WHERE m.old = s.import) AS import)",
		"s.id IN (SELECT old FROM run_map WHERE NOT known)", NULL },
	{ "model", "s.* REPLACE ((SELECT m.new FROM model_map m WHERE m.old = s.id) AS id)",
		"s.id IN (SELECT old FROM model_map WHERE NOT known)", NULL },
	{ "artifact", "s.* REPLACE ((SELECT m.new FROM model_map m WHERE m.old = s.model) AS model)",
		"s.key NOT IN (SELECT key FROM main.artifact)", NULL },
	{ "cell",
		"s.* REPLACE (" PART_OF("id") ", " RUN_NEW ", " OTHER_CELL_OF("fallback_of") ", COALESCE(s.origin_id, s.id) AS "
											     "origin_id)",
		IN_PART("id"), "id" },
	{ "event", "s.* REPLACE (" PART_OF("id") ", " RUN_NEW ", " CELL_OF("cell") " AS cell)", IN_PART("id"), "id" },
	{ "measurement",
		"s.* REPLACE (" EVENT_NEW ", " CELL_OF("row") " AS \"row\", " OTHER_CELL_OF("fallback_of") ", " OTHER_CELL_OF(
			"fallback_against") ", " OTHER_CELL_OF("against_float32_row") ", " OTHER_CELL_OF("alone_row") ")",
		IN_PART("event"), "event" },
	{ "sample", "s.* REPLACE (" EVENT_NEW ")", IN_PART("event"), "event" },
	{ "placement", "s.* REPLACE (" EVENT_NEW ")", IN_PART("event"), "event" },
	{ "profile_node", "s.* REPLACE (" EVENT_NEW ")", IN_PART("event"), "event" },
	{ "output_check", "s.* REPLACE (" EVENT_NEW ")", IN_PART("event"), "event" },
	{ "platform_detection", "s.* REPLACE (" NEXT("platform_detection") ", " RUN_NEW ")",
		"s.run IN (SELECT old FROM run_map WHERE NOT known)", NULL },
	{ "comparison", "s.* REPLACE (" NEXT("comparison") ", " RUN_NEW ", " CELLS_OF("rows_a") ", " CELLS_OF("rows_b") ")",
		"s.run NOT IN (SELECT old FROM run_map WHERE new IN " OWN_RUNS
		") AND NOT EXISTS (SELECT 1 FROM main.comparison k JOIN run_map m ON m.new = k.run WHERE m.old = s.run AND "
		"k.compared_at = s.compared_at AND k.metric = s.metric)",
		NULL },
};
enum { TABLE_COUNT = sizeof tables / sizeof tables[0] };

static enum status exec(struct db *d, struct text *sql, struct error *err)
{
	enum status status = db_exec(d, text_get(sql), err);

	text_done(sql);
	return status;
}

// ---- what is there -----------------------------------------------------------------------------------------------

// A table of the other database: where its rows are read from. NULL: it has none of that name.
struct source {
	const char *file, *from;
};

// What is counted: rows of a relation, and what it is called.
struct counted {
	const char *name, *from; // from NULL: there is none
};

// What may be counted, by the user's word (--rows) and by the bytes of what is read: a row that is not like the one before takes
// some bytes, Parquet's shortest 8, and the texts of assay's rows 12 for each byte of the file. 4.9 million equal rows, or 300
// equal texts of 1 MB, are files of some KB.
struct room {
	int64_t rows, nbytes;
};
enum { ROWS_A_FILE = 16384, TEXT_A_FILE = 16 << 20, TEXT_A_BYTE = 64 };

// ", columns = {'id': 'VARCHAR', ...}": a reader of JSON that looks for itself makes times of texts.
static enum status as_texts(struct db *d, struct arena *a, const char *table, struct text *out, struct error *err)
{
	struct table t;
	enum status status = db_query(d, a, "SELECT name FROM pragma_table_info(?)",
		&(struct db_parameter){ .text = arena_printf(a, "main.%s", table) }, 1, &t, err);

	text_add(out, ", format = 'newline_delimited', columns = {");
	for (size_t i = 0; status == STATUS_OK && i < t.row_count; i++) {
		text_add(out, i > 0 ? ", " : "");
		sql_add_text(out, t.cells[i]);
		text_add(out, ": 'VARCHAR'");
	}
	text_add(out, "}");
	return status;
}

// The files of a folder that `assay export` wrote, one a table. A link could lead to any file of this machine, and a pipe
// nowhere.
static enum status find_exported(struct arena *a, const char *folder, struct source *sources, int64_t most, struct error *err)
{
	static const char *const endings[] = { "parquet", "csv", "json" };
	struct stat st;

	for (size_t i = 0; i < TABLE_COUNT; i++) {
		for (size_t f = 0; f < 3 && sources[i].file == NULL; f++) {
			const char *file = arena_printf(a, "%s/%s.%s", folder, tables[i].table, endings[f]);
			sources[i].file = lstat(file, &st) == 0 ? file : NULL;
		}
		if (sources[i].file == NULL)
			return error_set(err, STATUS_BAD_INPUT,
				"it has no %s.parquet, .csv or .json; `assay export -o FOLDER` writes all tables",
				tables[i].table);
		if (!S_ISREG(st.st_mode))
			return error_set(
				err, STATUS_BAD_INPUT, "its %s is no regular file", sources[i].file + strlen(folder) + 1);
		if (!text_ends(sources[i].file, ".parquet") && lines_look(sources[i].file, most, err) != STATUS_OK)
			return STATUS_BAD_INPUT;
		if (st.st_size == 0 && !text_ends(sources[i].file, ".json"))
			return error_set(err, STATUS_BAD_INPUT, "its %s has 0 bytes: it was not written whole",
				sources[i].file + strlen(folder) + 1);
		struct error own = { 0 };
		if (db_check_not_pattern(sources[i].file, err) != STATUS_OK)
			return STATUS_BAD_INPUT;
		if (text_ends(sources[i].file, ".parquet") && parquet_look(sources[i].file, &own) != STATUS_OK)
			return error_set(err, own.status, "its %s: %s", sources[i].file + strlen(folder) + 1, own.text);
		if (st.st_size == 0)
			sources[i].file = ""; // no lines of JSON are a table without rows
	}
	return STATUS_OK;
}

static enum status exported_rows(struct db *d, struct arena *a, const char *table, struct source *s, struct error *err)
{
	struct text from = { 0 };
	enum status status = STATUS_OK;

	if (*s->file == '\0')
		return status;
	text_add(&from,
		text_ends(s->file, ".parquet")       ? "read_parquet("
			: text_ends(s->file, ".csv") ? "read_csv("
						     : "read_json(");
	sql_add_file(&from, s->file);
	text_add(&from,
		text_ends(s->file, ".parquet")       ? PLAIN_FILE_SQL
			: text_ends(s->file, ".csv") ? CSV_READ_SQL
						     : PLAIN_TEXT_SQL);
	if (text_ends(s->file, ".json"))
		status = as_texts(d, a, table, &from, err);
	text_add(&from, ")");
	s->from = arena_strdup(a, text_get(&from));
	text_done(&from);
	return status;
}

static enum status attached_rows(struct db *d, struct arena *a, struct source *sources, struct error *err)
{
	struct table have;
	enum status status = db_query(d, a,
		"SELECT table_name FROM duckdb_tables() WHERE database_name = '" DB_SOURCE "' AND schema_name = 'main'", NULL, 0,
		&have, err);

	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK; i++) {
		for (size_t k = 0; k < have.row_count; k++) { // an older file has fewer
			if (text_is(have.cells[k], tables[i].table))
				sources[i].from = arena_printf(a, "\"" DB_SOURCE "\".main.%s", tables[i].table);
		}
	}
	if (status == STATUS_OK)
		status = db_query(
			d, a, "SELECT max(version) AS version FROM \"" DB_SOURCE "\".main.schema_version", NULL, 0, &have, err);
	if (status == STATUS_OK && table_integer(&have, 0, "version") < 1) // ROW_NONE is less, too
		status = error_set(err, STATUS_BAD_INPUT, SCHEMA_NO_VERSION);
	return status;
}

// A file of 3 MB may hold 150 million rows that are all the same: they are counted before they are copied.
static enum status count_rows(
	struct db *d, struct arena *a, const struct counted *of, size_t count, const struct room *room, struct error *err)
{
	int64_t rows = 0;

	for (size_t i = 0; i < count; i++) {
		struct table t;
		if (of[i].from == NULL)
			continue;
		enum status status =
			db_query(d, a, arena_printf(a, "SELECT count(*) AS n FROM %s", of[i].from), NULL, 0, &t, err);
		if (status != STATUS_OK)
			return status;
		int64_t n = table_integer(&t, 0, "n");
		if (n == ROW_NONE || n > room->rows - rows)
			return error_set(err, STATUS_BAD_INPUT,
				"its tables hold more than %lld rows (%s alone %lld); --rows allows more", (long long)room->rows,
				of[i].name, (long long)n);
		rows += n;
	}
	if (rows > ROWS_A_FILE + room->nbytes)
		return error_set(err, STATUS_BAD_INPUT,
			"its tables hold %lld rows in %lld bytes: they are alike, as no rows of assay are", (long long)rows,
			(long long)room->nbytes);
	return STATUS_OK;
}

// A text of 150 MB is one row. Bytes are counted before anything is made of them: BYTES_A_ROW for each row that is allowed, and
// no text is longer than those that assay writes.
enum { BYTES_A_ROW = 100 };

// What Parquet may hold besides numbers, texts and times: lists, structures and bytes, which assay does not write.
static bool is_plain(const char *type)
{
	static const char *const odd[] = { "BLOB", "ENUM", "LIST", "STRUCT", "MAP", "ARRAY", "UNION", "BIT", "OTHER" };

	for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
		if (text_is(type, odd[i]))
			return false;
	}
	return true;
}

static enum status count_texts_of(struct db *d, struct arena *a, const char *table, const char *from, const struct room *room,
	int64_t *sum, struct error *err)
{
	const int64_t most = room->rows * BYTES_A_ROW, by_size = TEXT_A_FILE + TEXT_A_BYTE * room->nbytes;

	struct table columns;
	int64_t bytes = 0, one = 0;
	enum status status = db_query(d, a, arena_printf(a, "SELECT * FROM %s LIMIT 0", from), NULL, 0, &columns, err);

	for (size_t i = 0; status == STATUS_OK && i < columns.column_count; i++) {
		if (!is_plain(columns.types[i]))
			status = error_set(err, STATUS_BAD_INPUT,
				"the column %.100s of its table %s is of type %s: assay writes numbers, texts and times",
				columns.columns[i], table, columns.types[i]);
	}
	if (status == STATUS_OK)
		status = guard_texts(d, a, from, &columns, &bytes, &one, err);
	if (status != STATUS_OK)
		return status;
	if (one > DB_TEXT_MOST)
		return error_set(err, STATUS_BAD_INPUT, "its table %s holds a text of %lld bytes; assay writes none above %d",
			table, (long long)one, DB_TEXT_MOST);
	if (bytes > by_size - *sum)
		return error_set(err, STATUS_BAD_INPUT,
			"its texts take %lld bytes, and the file %lld: they are alike, as no texts of assay are",
			(long long)(*sum + bytes), (long long)room->nbytes);
	if (bytes > most - *sum)
		return error_set(err, STATUS_BAD_INPUT,
			"its texts take more than %lld bytes (those of %s %lld); --rows allows more, %d for each row",
			(long long)most, table, (long long)bytes, BYTES_A_ROW);
	*sum += bytes;
	return status;
}

static enum status count_texts(
	struct db *d, struct arena *a, const struct counted *of, size_t count, const struct room *room, struct error *err)
{
	int64_t sum = 0;
	enum status status = STATUS_OK;

	for (size_t i = 0; i < count && status == STATUS_OK; i++) {
		if (of[i].from != NULL)
			status = count_texts_of(d, a, of[i].name, of[i].from, room, &sum, err);
	}
	return status;
}

// Before anything is copied: rows, then the bytes of their texts.
static enum status count_all(
	struct db *d, struct arena *a, const struct counted *of, size_t count, const struct room *room, struct error *err)
{
	enum status status = count_rows(d, a, of, count, room, err);

	return status == STATUS_OK ? count_texts(d, a, of, count, room, err) : status;
}

static enum status count_sources(
	struct db *d, struct arena *a, const struct source *sources, const struct room *room, struct error *err)
{
	struct counted of[TABLE_COUNT];

	for (size_t i = 0; i < TABLE_COUNT; i++)
		of[i] = (struct counted){ tables[i].table, sources[i].from };
	return count_all(d, a, of, TABLE_COUNT, room, err);
}

// Of a DuckDB file 2048 texts lie in memory at once when their lengths are asked, 1.8 GB of those that are allowed one by one.
// They are counted in a database of their own, whose memory is what they may have side by side.
#define COUNTING_MEMORY "128MiB"

static enum status count_apart(
	const struct store *s, struct arena *a, const char *path, const struct room *room, struct error *err)
{
	struct db_opening how = { .source = path, .limits = s->limits, .memory = COUNTING_MEMORY };
	struct source sources[TABLE_COUNT] = { 0 };
	const struct db_api *api;
	struct db d = { 0 };
	bool locked;
	enum status status = db_load(&api, err);

	if (status == STATUS_OK)
		status = db_open(&d, api, &how, &locked, err);
	if (status == STATUS_OK)
		status = guard_look(&d, err);
	if (status == STATUS_OK)
		status = attached_rows(&d, a, sources, err);
	if (status == STATUS_OK && (status = count_sources(&d, a, sources, room, err)) == STATUS_NO_MEMORY)
		status = error_set(err, STATUS_BAD_INPUT,
			"its texts take more than " COUNTING_MEMORY " in rows that stand side by side; assay's are far shorter");
	db_close(&d);
	return status;
}

// source_TABLE, with the columns and types that the table has here. What has types is read where it lies, texts are made tables
// once.
static enum status name_source(struct db *d, const char *table, const struct source *s, struct error *err)
{
	struct text sql = { 0 };

	if (s->file == NULL || text_ends(s->file, ".parquet")) {
		text_addf(&sql, "CREATE TEMP VIEW source_%s AS (FROM main.%s LIMIT 0)", table, table);
		if (s->from != NULL)
			text_addf(&sql, " UNION ALL BY NAME (FROM %s)", s->from);
	} else {
		text_addf(&sql, "CREATE TEMP TABLE source_%s AS FROM main.%s LIMIT 0;", table, table);
		if (s->from != NULL && text_ends(s->file, ".csv"))
			text_addf(&sql,
				"INSERT INTO source_%s BY NAME SELECT " CSV_PLAIN_SQL("COLUMNS('(.*)')") " AS '\\1' FROM %s",
				table, s->from);
		else if (s->from != NULL)
			text_addf(&sql, "INSERT INTO source_%s BY NAME FROM %s", table, s->from);
	}
	return exec(d, &sql, err);
}

static enum status name_sources(struct db *d, struct arena *a, struct source *sources, const struct room *room, struct error *err)
{
	enum status status = sources[0].file != NULL ? STATUS_OK : attached_rows(d, a, sources, err);

	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK && sources[i].file != NULL; i++)
		status = exported_rows(d, a, tables[i].table, &sources[i], err);
	if (status == STATUS_OK && sources[0].file != NULL) // else count_apart has
		status = count_sources(d, a, sources, room, err);
	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK; i++)
		status = name_source(d, tables[i].table, &sources[i], err);
	return status;
}

// The same of one file that holds the rows of all tables.
static enum status name_parts_of(struct db *d, struct arena *a, const char *file, const struct room *room, struct error *err)
{
	struct counted whole = { "the file", NULL };
	struct text sql = { 0 };
	enum status status = one_file_rows(d, a, file, &whole.from, err);

	// What the first line tells is looked at before the others are counted.
	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK && text_is(store_format_of(file), "csv"); i++) {
		status = one_file_part(d, a, file, whole.from, tables[i].table, &sql, err);
		text_done(&sql);
	}
	if (status == STATUS_OK)
		status = count_all(d, a, &whole, 1, room, err);
	if (status == STATUS_OK)
		status = one_file_look_at_tables(d, a, whole.from, err);
	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK; i++) {
		text_addf(&sql, "CREATE TEMP TABLE source_%s AS FROM main.%s LIMIT 0;", tables[i].table, tables[i].table);
		status = one_file_part(d, a, file, whole.from, tables[i].table, &sql, err);
		if (status == STATUS_OK)
			status = exec(d, &sql, err);
	}
	text_done(&sql);
	return status;
}

// ---- into this one -----------------------------------------------------------------------------------------------

// Rows come over so many numbers at a time: a row of `measurement` has 150 columns, and whole rows are kept while the numbers
// that are put in the place of theirs are looked up. `map`: of these numbers.
static enum status find_parts(struct db *d, struct arena *a, const char *map, struct table *out, struct error *err)
{
	enum { PART = 4000, PARTS_MOST = 64 }; // each part is a look over the whole source

	return db_query(d, a,
		arena_printf(a,
			"SELECT CAST(min(old) AS VARCHAR) AS first, CAST(max(old) AS VARCHAR) AS last FROM"
			" (SELECT old, row_number() OVER (ORDER BY old) // (SELECT greatest(%d, count(*) // %d + 1) FROM %s "
			"WHERE NOT "
			"known) AS part FROM %s WHERE NOT known) GROUP BY part ORDER BY part",
			PART, PARTS_MOST, map, map),
		NULL, 0, out, err);
}

static enum status take_part(struct db *d, const struct absorbed *t, const struct table *parts, size_t i, struct error *err)
{
	struct text sql = { 0 };

	if (t->number != NULL)
		text_addf(&sql,
			"CREATE OR REPLACE TEMP TABLE part AS SELECT old, new FROM %s_map WHERE NOT known AND old BETWEEN %s AND "
			"%s;",
			text_is(t->table, "cell") ? "cell" : "event", table_get(parts, i, "first"), table_get(parts, i, "last"));
	text_addf(
		&sql, "INSERT INTO main.%s BY NAME SELECT %s FROM source_%s s WHERE %s", t->table, t->select, t->table, t->where);
	if (t->number != NULL)
		text_addf(&sql, " AND s.%s BETWEEN %s AND %s", t->number, table_get(parts, i, "first"),
			table_get(parts, i, "last"));
	return exec(d, &sql, err);
}

static enum status take_tables(struct db *d, struct error *err)
{
	struct arena a = { 0 };
	struct table cells, events;
	enum status status = find_parts(d, &a, "cell_map", &cells, err);

	if (status == STATUS_OK)
		status = find_parts(d, &a, "event_map", &events, err);
	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK; i++) {
		const struct absorbed *t = &tables[i];
		const struct table *parts = text_is(t->table, "cell") ? &cells : &events;
		for (size_t k = 0; k < (t->number != NULL ? parts->row_count : 1) && status == STATUS_OK; k++)
			status = take_part(d, t, parts, k, err);
	}
	arena_done(&a);
	return status;
}

// A database that has more than is read is refused from then on.
static enum status check_rooms(struct db *d, struct error *err)
{
	enum status status = STATUS_OK;

	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK; i++)
		status = guard_room(d, tables[i].table, 0, err);
	return status == STATUS_OK ? transaction_check_open_cells(d, err) : status;
}

// Of what is known already, what would be told first: a row that was forged and imported before the true one stays, and is told;
// so is one that came without its measurement.
#define OTHERWISE(column) "s." column " IS DISTINCT FROM k." column
#define OTHERWISE_OR(column) " OR " OTHERWISE(column)

static enum status count_new(struct db *d, struct store_absorbed *out, struct error *err)
{
	struct arena a = { 0 };
	struct table t;
	enum status status = db_query(d, &a,
		"SELECT (SELECT count(*) FROM cell_map) AS cells, (SELECT count(*) FROM cell_map WHERE NOT known) AS new_cells,"
		" (SELECT count(*) FROM run_map WHERE NOT known) AS new_runs,"
		" (SELECT count(DISTINCT cell) FROM source_measurement WHERE samples > 0 AND source IS NULL"
		"  AND event IN (SELECT old FROM event_map WHERE NOT known)"
		"  AND event NOT IN (SELECT event FROM source_sample)) AS without_samples,"
		" (SELECT count(DISTINCT cell) FROM (SELECT cell FROM source_event WHERE kind = 'verdict' AND id NOT IN (SELECT "
		"old FROM event_map)"
		"  UNION ALL SELECT s.cell FROM source_measurement s JOIN event_map m ON m.old = s.event AND m.known LEFT JOIN "
		"main.measurement k ON k.event = m.new WHERE " OTHERWISE("verdict") OTHERWISE_OR("requested") OTHERWISE_OR(
			"actual") OTHERWISE_OR("device") OTHERWISE_OR("engine") OTHERWISE_OR("engine_version")
			OTHERWISE_OR("weights") OTHERWISE_OR("precision") OTHERWISE_OR("latency_ms") OTHERWISE_OR("max_abs_error")
				OTHERWISE_OR("nmse") ")) AS left_out,"
						     " (SELECT count(*) FROM source_machine s JOIN main.machine k ON k.id = s.id "
						     "WHERE " OTHERWISE("os") OTHERWISE_OR("cpu_model") OTHERWISE_OR("threads")
							     OTHERWISE_OR("memory_bytes") ") AS machines",
		NULL, 0, &t, err);

	if (status == STATUS_OK)
		*out = (struct store_absorbed){ table_integer(&t, 0, "cells"), table_integer(&t, 0, "new_cells"),
			table_integer(&t, 0, "new_runs"), table_integer(&t, 0, "without_samples"),
			table_integer(&t, 0, "left_out"), table_integer(&t, 0, "machines") };
	arena_done(&a);
	return status;
}

static enum status check_keys(struct db *d, struct arena *a, struct error *err)
{
	enum status status = STATUS_OK;

	for (size_t i = 0; i < sizeof keys / sizeof keys[0] && status == STATUS_OK; i++)
		status = guard_once(
			d, a, arena_printf(a, "source_%s", keys[i].table), keys[i].columns, keys[i].table, keys[i].words, err);
	return status;
}

// Rows that name another cell than their event does would be of a cell that is here, and tell what that never was.
#define OF_ITS_EVENT(table) \
	"(SELECT count(*) FROM source_" table " s LEFT JOIN source_event e ON e.id = s.event WHERE e.id IS NULL OR s.cell IS " \
	"DISTINCT FROM e.cell)"

// The numbers that comparisons list are taken apart all at once.
static enum status check_lists(struct db *d, struct arena *a, struct error *err)
{
	enum { LISTS_MOST = 32 << 20 }; // bytes; of 4 million numbers with 6 digits, which take 400 MB and 2 s
	struct table t;
	enum status status = db_query(d, a,
		"SELECT CAST(COALESCE(sum(COALESCE(strlen(rows_a), 0) + COALESCE(strlen(rows_b), 0)), 0) AS BIGINT) AS nbytes"
		" FROM source_comparison",
		NULL, 0, &t, err);

	if (status == STATUS_OK && table_integer(&t, 0, "nbytes") > LISTS_MOST)
		status = error_set(err, STATUS_BAD_INPUT, "its comparisons name more rows than it may have");
	return status;
}

// A file that is not one of assay's has none of its numbers, or names rows that it does not have.
static enum status check(struct db *d, struct arena *a, struct error *err)
{
	static const char sql[] =
		"SELECT (SELECT count(*) FROM source_run WHERE id IS NULL OR id < 1) + (SELECT count(*) FROM source_cell WHERE "
		"id IS NULL) + (SELECT count(*) FROM source_event WHERE id IS NULL)"
		" + (SELECT count(*) FROM source_cell WHERE run NOT IN (SELECT id FROM source_run)) + (SELECT count(*) FROM "
		"source_event WHERE cell IS NOT NULL AND cell NOT IN (SELECT id FROM source_cell))"
		" + " OF_ITS_EVENT("measurement") " + " OF_ITS_EVENT("sample") " + " OF_ITS_EVENT("placement") " + " OF_ITS_EVENT(
			"profile_node") " + " OF_ITS_EVENT("output_check") " + (SELECT count(*) FROM source_cell s JOIN "
									   "source_cell "
									   "f ON f.id = s.fallback_of WHERE f.run <> "
									   "s.run) AS bad";
	struct table t;
	enum status status = check_keys(d, a, err);

	if (status == STATUS_OK)
		status = db_query(d, a, sql, NULL, 0, &t, err);
	if (status == STATUS_OK && table_integer(&t, 0, "bad") != 0)
		status = error_set(err, STATUS_BAD_INPUT,
			"its rows do not belong together: they have no numbers, or name rows that are not there");
	return status == STATUS_OK ? check_lists(d, a, err) : status;
}

static enum status add_texts(struct db *d, struct arena *a, const char *from, int64_t *nbytes, struct error *err)
{
	struct table columns;
	int64_t all = 0, longest;
	enum status status = db_query(d, a, arena_printf(a, "SELECT * FROM %s LIMIT 0", from), NULL, 0, &columns, err);

	if (status == STATUS_OK)
		status = guard_texts(d, a, from, &columns, &all, &longest, err);
	*nbytes += all;
	return status;
}

// What is taken in must not make the database one that is refused for texts that are alike: how little they take there is known
// when it is too late. Parquet, which packs as DuckDB's own file does, tells before; it is asked where there are many.
static enum status check_packed(const struct store *s, struct db *d, struct arena *a, const char *packed, struct error *err)
{
	int64_t nbytes = 0, size = db_bytes(s->path);
	enum status status = STATUS_OK;

	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK; i++) {
		status = add_texts(d, a, arena_printf(a, "main.%s", tables[i].table), &nbytes, err);
		if (status == STATUS_OK)
			status = add_texts(d, a, arena_printf(a, "source_%s", tables[i].table), &nbytes, err);
	}
	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK && nbytes > GUARD_TEXT_A_FILE + size * GUARD_TEXT_A_BYTE; i++) {
		struct text sql = { 0 };

		text_addf(&sql, "COPY source_%s TO ", tables[i].table);
		sql_add_file(&sql, packed);
		text_add(&sql, " (FORMAT parquet)");
		status = exec(d, &sql, err);
		size += file_bytes(packed);
		unlink(packed);
	}
	if (status == STATUS_OK && nbytes > GUARD_TEXT_A_FILE + size * GUARD_TEXT_A_BYTE)
		return error_set(err, STATUS_BAD_INPUT,
			"with it the texts of %s would take %lld bytes, and the file %lld: they are alike, as no texts of assay "
			"are",
			s->path, (long long)nbytes, (long long)size);
	return status;
}

bool absorb_has_table(const char *name, size_t length)
{
	for (size_t i = 0; i < TABLE_COUNT; i++)
		if (strlen(tables[i].table) == length && memcmp(tables[i].table, name, length) == 0)
			return true;
	return length == strlen("schema_version") && memcmp("schema_version", name, length) == 0; // is read, and not taken in
}

// A table of the file has a column more than that of assay, into which its rows go by name.
static void explain_column(struct error *err)
{
	static const char words[] = "does not have a column with name \"";
	const char *at = err != NULL ? strstr(err->text, words) : NULL;
	char name[100];

	if (at == NULL)
		return;
	at += strlen(words);
	snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
	error_set(err, STATUS_BAD_INPUT, ABSORB_COLUMN, name);
}

enum status store_absorb(struct store *s, const char *path, int64_t most, struct store_absorbed *out, struct error *err)
{
	struct source sources[TABLE_COUNT] = { 0 };
	const char *files[TABLE_COUNT + 2] = { 0 }, *packed;
	size_t file_count = 0;
	const bool is_one_file = store_is_one_file(path);
	struct room room = { .rows = most };
	struct db_opening how = { 0 };
	struct arena a = { 0 };
	struct db d = { 0 };
	const char *file = db_file_of(&a, path);
	enum status status = STATUS_OK;

	if (file_is_same(path, s->path)) {
		status = error_set(err, STATUS_BAD_INPUT, "it is the database that its rows would go into; --db names another");
	} else if (file_is_dir(path)) {
		status = find_exported(&a, path, sources, most, err);
		for (size_t i = 0; i < TABLE_COUNT; i++)
			room.nbytes += file_bytes(files[i] = sources[i].file);
	} else if (is_one_file) {
		files[0] = path;
		room.nbytes = file_bytes(path);
		status = one_file_look(path, most, err);
		if (status == STATUS_OK)
			status = db_check_not_pattern(files[0], err);
	} else if (file_exists(arena_printf(&a, "%s.wal", file))) {
		// DuckDB replays it, and computes what its expressions say, before anything can be looked at or limited.
		status = error_set(err, STATUS_BAD_INPUT,
			"it has a log of changes beside it (.wal), which is not imported: "
			"who wrote the file opens it once, so that they are taken over");
	} else {
		room.nbytes = file_bytes(file);
		how.source = file;
		status = count_apart(s, &a, file, &room, err);
	}
	packed = arena_printf(&a, "%s.new.%016llx", s->path, (unsigned long long)process_nonce());
	while (files[file_count] != NULL)
		file_count++;
	files[file_count] = packed;
	how.files = files;
	how.looks = true;
	if (status == STATUS_OK)
		status = transaction_begin_with(s, true, how, &d, err);
	if (status == STATUS_OK) {
		status = guard_look(&d, err);
		if (status == STATUS_OK)
			status = is_one_file ? name_parts_of(&d, &a, files[0], &room, err)
					     : name_sources(&d, &a, sources, &room, err);
		if (status == STATUS_OK)
			status = check(&d, &a, err);
		if (status == STATUS_OK)
			status = guard_values(&d, "source_", err);
		if (status == STATUS_OK)
			status = guard_words(&d, "source_", err);
		if (status == STATUS_OK)
			status = db_settle(&d, false, err);
		if (status == STATUS_OK)
			status = check_packed(s, &d, &a, packed, err);
		if (status == STATUS_OK)
			status = db_exec(&d, maps, err);
		if (status == STATUS_OK)
			status = take_tables(&d, err);
		if (status == STATUS_OK)
			status = check_rooms(&d, err);
		if (status == STATUS_OK) // what was read as one type is another here: 0.4 of a count
			status = guard_values(&d, "", err);
		if (status == STATUS_OK)
			status = count_new(&d, out, err);
		status = transaction_end(s, &d, status, err);
	}
	arena_done(&a);
	if (status == STATUS_OK)
		return status;
	explain_column(err);
	return error_prefix(err, "%s", path);
}
