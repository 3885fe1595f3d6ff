// SPDX-License-Identifier: Apache-2.0
// Rows of another database of assay into this one: a folder that `assay export` wrote, or the file itself. A run is known again by
// who ran it, when and where; a cell by its number in the file that it was first written to. What is known is not added again, what it
// gained since is. Numbers are given anew, references follow them. One transaction; what does not fit adds nothing.
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "store/sql_name.h"
#include "store/transaction.h"
#include "store/transfer.h"

// How a row comes over: what is selected from source table s (numbers replaced), and which rows.
struct absorbed { const char *table, *select, *where; };

#define CELL_OF(column) "(SELECT m.new FROM cell_map m WHERE m.old = s." column ")"
#define CELLS_OF(column) "(SELECT '[' || string_agg(CAST(m.new AS VARCHAR), ',' ORDER BY m.new) || ']' FROM cell_map m WHERE list_contains(CAST(s." column " AS BIGINT[]), m.old))"
#define OF_NEW_EVENT "s.event IN (SELECT old FROM event_map WHERE NOT known)"
#define EVENT_NEW "(SELECT m.new FROM event_map m WHERE m.old = s.event) AS event, " CELL_OF("cell") " AS cell"
#define NEXT(table) "(SELECT COALESCE(max(id), 0) FROM main." table ") + row_number() OVER (ORDER BY s.id) AS id"
#define RUN_NEW "(SELECT m.new FROM run_map m WHERE m.old = s.run) AS run"

// Before the rows: which number becomes which. 0 is the run of whoever settled dead ones.
static const char maps[] =
	"CREATE TEMP TABLE import_map AS SELECT s.id AS old, k.id IS NOT NULL AS known, COALESCE(k.id, (SELECT COALESCE(max(id), 0) FROM main.import) +"
	"  row_number() OVER (PARTITION BY k.id IS NULL ORDER BY s.id)) AS new FROM source_import s LEFT JOIN main.import k ON k.sha256 = s.sha256;"
	"CREATE TEMP TABLE model_map AS SELECT s.id AS old, k.id IS NOT NULL AS known, COALESCE(k.id, (SELECT COALESCE(max(id), 0) FROM main.model) +"
	"  row_number() OVER (PARTITION BY k.id IS NULL ORDER BY s.id)) AS new FROM source_model s LEFT JOIN main.model k ON k.name IS NOT DISTINCT FROM s.name"
	"  AND k.revision IS NOT DISTINCT FROM s.revision AND k.head IS NOT DISTINCT FROM s.head AND k.model_type IS NOT DISTINCT FROM s.model_type;"
	"CREATE TEMP TABLE run_map AS SELECT s.id AS old, k.id IS NOT NULL AS known, COALESCE(k.id, (SELECT COALESCE(max(id), 0) FROM main.run) +"
	"  row_number() OVER (PARTITION BY k.id IS NULL ORDER BY s.id)) AS new FROM source_run s LEFT JOIN main.run k ON k.machine IS NOT DISTINCT FROM s.machine"
	"  AND k.hostname IS NOT DISTINCT FROM s.hostname AND k.pid IS NOT DISTINCT FROM s.pid AND k.start_ticks IS NOT DISTINCT FROM s.start_ticks"
	"  AND k.boot_id IS NOT DISTINCT FROM s.boot_id AND k.started_at = s.started_at AND k.command IS NOT DISTINCT FROM s.command;"
	"INSERT INTO run_map SELECT 0, true, 0;"
	"CREATE TEMP TABLE cell_map AS SELECT s.id AS old, k.id IS NOT NULL AS known, COALESCE(k.id, (SELECT COALESCE(max(id), 0) FROM main.cell) +"
	"  row_number() OVER (PARTITION BY k.id IS NULL ORDER BY s.id)) AS new, COALESCE(s.origin_id, s.id) AS origin FROM source_cell s JOIN run_map r ON r.old = s.run"
	"  LEFT JOIN main.cell k ON k.run = r.new AND COALESCE(k.origin_id, k.id) = COALESCE(s.origin_id, s.id);"
	"CREATE TEMP TABLE event_map AS SELECT s.id AS old, k.id IS NOT NULL AS known, COALESCE(k.id, (SELECT COALESCE(max(id), 0) FROM main.event) +"
	"  row_number() OVER (PARTITION BY k.id IS NULL ORDER BY s.id)) AS new FROM source_event s JOIN run_map r ON r.old = s.run LEFT JOIN cell_map c ON c.old = s.cell"
	"  LEFT JOIN main.event k ON k.run = r.new AND k.cell IS NOT DISTINCT FROM c.new AND k.kind = s.kind AND k.happened_at = s.happened_at;";

static const struct absorbed tables[] = {
	{ "machine", "s.*", "s.id NOT IN (SELECT id FROM main.machine)" },
	{ "import", "s.* REPLACE ((SELECT m.new FROM import_map m WHERE m.old = s.id) AS id, (SELECT m.new FROM run_map m WHERE m.old = s.run) AS run)",
	  "s.id IN (SELECT old FROM import_map WHERE NOT known)" },
	{ "run", "s.* REPLACE ((SELECT m.new FROM run_map m WHERE m.old = s.id) AS id, COALESCE(s.origin_id, s.id) AS origin_id,"
		 " (SELECT m.new FROM import_map m WHERE m.old = s.import) AS import)", "s.id IN (SELECT old FROM run_map WHERE NOT known)" },
	{ "model", "s.* REPLACE ((SELECT m.new FROM model_map m WHERE m.old = s.id) AS id)", "s.id IN (SELECT old FROM model_map WHERE NOT known)" },
	{ "artifact", "s.* REPLACE ((SELECT m.new FROM model_map m WHERE m.old = s.model) AS model)", "s.key NOT IN (SELECT key FROM main.artifact)" },
	{ "cell", "s.* REPLACE (" CELL_OF("id") " AS id, " RUN_NEW ", " CELL_OF("fallback_of") " AS fallback_of, COALESCE(s.origin_id, s.id) AS origin_id)",
	  "s.id IN (SELECT old FROM cell_map WHERE NOT known)" },
	{ "event", "s.* REPLACE ((SELECT m.new FROM event_map m WHERE m.old = s.id) AS id, " RUN_NEW ", " CELL_OF("cell") " AS cell)",
	  "s.id IN (SELECT old FROM event_map WHERE NOT known)" },
	{ "measurement", "s.* REPLACE (" EVENT_NEW ", " CELL_OF("row") " AS \"row\", " CELL_OF("fallback_of") " AS fallback_of, " CELL_OF("fallback_against") " AS fallback_against, "
			 CELL_OF("against_float32_row") " AS against_float32_row)", OF_NEW_EVENT },
	{ "sample", "s.* REPLACE (" EVENT_NEW ")", OF_NEW_EVENT },
	{ "placement", "s.* REPLACE (" EVENT_NEW ")", OF_NEW_EVENT },
	{ "profile_node", "s.* REPLACE (" EVENT_NEW ")", OF_NEW_EVENT },
	{ "output_check", "s.* REPLACE (" EVENT_NEW ")", OF_NEW_EVENT },
	{ "platform_detection", "s.* REPLACE (" NEXT("platform_detection") ", " RUN_NEW ")", "s.run IN (SELECT old FROM run_map WHERE NOT known)" },
	{ "comparison", "s.* REPLACE (" NEXT("comparison") ", " RUN_NEW ", " CELLS_OF("rows_a") " AS rows_a, " CELLS_OF("rows_b") " AS rows_b)",
	  "NOT EXISTS (SELECT 1 FROM main.comparison k JOIN run_map m ON m.new = k.run WHERE m.old = s.run AND k.compared_at = s.compared_at AND k.metric = s.metric)" },
};
enum { TABLE_COUNT = sizeof tables / sizeof tables[0] };

static enum status exec(struct db *d, struct text *sql, struct error *err)
{
	enum status status = db_exec(d, text_get(sql), err);

	text_done(sql);
	return status;
}

// ", columns = {'id': 'VARCHAR', ...}": a reader of JSON that looks for itself makes times of texts.
static enum status as_texts(struct db *d, struct arena *a, const char *table, struct text *out, struct error *err)
{
	struct table t;
	enum status status = db_query(d, a, "SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main' AND table_name = ? ORDER BY column_index",
		&(struct db_parameter){ .text = table }, 1, &t, err);

	text_add(out, ", format = 'newline_delimited', columns = {");
	for (size_t i = 0; status == STATUS_OK && i < t.row_count; i++) {
		text_add(out, i > 0 ? ", " : "");
		sql_add_text(out, t.cells[i]);
		text_add(out, ": 'VARCHAR'");
	}
	text_add(out, "}");
	return status;
}

// A table source_TABLE for each table, with the types that it has here: of a file that `assay export` wrote.
static enum status open_exported(struct db *d, struct arena *a, const char *folder, const char *table, struct error *err)
{
	static const struct { const char *ending, *reader; } formats[] = { { "parquet", "read_parquet" }, { "csv", "read_csv" }, { "json", "read_json" } };
	struct text sql = { 0 };
	struct stat st;
	size_t f = 0;
	enum status status = STATUS_OK;

	while (f < 3 && !file_exists(arena_printf(a, "%s/%s.%s", folder, table, formats[f].ending)))
		f++;
	if (f == 3)
		return error_set(err, STATUS_BAD_INPUT, "it has no %s.parquet, .csv or .json; `assay export -o FOLDER` writes all tables", table);
	const char *file = arena_printf(a, "%s/%s.%s", folder, table, formats[f].ending);
	text_addf(&sql, "CREATE TEMP TABLE source_%s AS FROM main.%s LIMIT 0;", table, table);
	if (stat(file, &st) != 0 || st.st_size > 0) {                        // no lines of JSON are a table without rows
		text_addf(&sql, "INSERT INTO source_%s BY NAME SELECT * FROM %s(", table, formats[f].reader);
		sql_add_text(&sql, file);
		if (f == 1)
			text_add(&sql, ", header = true, all_varchar = true");
		if (f == 2)
			status = as_texts(d, a, table, &sql, err);
		text_add(&sql, ")");
	}
	if (status == STATUS_OK)
		return exec(d, &sql, err);
	text_done(&sql);
	return status;
}

static enum status open_folder(struct db *d, const char *path, struct error *err)
{
	struct arena a = { 0 };
	enum status status = STATUS_OK;

	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK; i++)
		status = open_exported(d, &a, path, tables[i].table, err);
	arena_done(&a);
	return status;
}

static enum status open_file(struct db *d, const char *path, struct error *err)
{
	struct text sql = { 0 };
	struct arena a = { 0 };
	struct table have;
	enum status status;

	text_add(&sql, "ATTACH ");
	sql_add_text(&sql, path);
	text_add(&sql, " AS source (READ_ONLY)");
	status = exec(d, &sql, err);
	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK; i++) {
		status = db_query(d, &a, "SELECT 1 FROM duckdb_tables() WHERE database_name = 'source' AND schema_name = 'main' AND table_name = ?",
			&(struct db_parameter){ .text = tables[i].table }, 1, &have, err);
		text_addf(&sql, "CREATE TEMP TABLE source_%s AS FROM main.%s LIMIT 0;", tables[i].table, tables[i].table);
		if (status == STATUS_OK && have.row_count > 0)               // an older file has fewer
			text_addf(&sql, "INSERT INTO source_%s BY NAME SELECT * FROM source.main.%s", tables[i].table, tables[i].table);
		if (status == STATUS_OK)
			status = exec(d, &sql, err);
	}
	text_done(&sql);
	arena_done(&a);
	return status;
}

static enum status count_new(struct db *d, struct store_absorbed *out, struct error *err)
{
	struct arena a = { 0 };
	struct table t;
	enum status status = db_query(d, &a, "SELECT (SELECT count(*) FROM cell_map) AS cells, (SELECT count(*) FROM cell_map WHERE NOT known) AS new_cells,"
		" (SELECT count(*) FROM run_map WHERE NOT known) AS new_runs", NULL, 0, &t, err);

	if (status == STATUS_OK)
		*out = (struct store_absorbed){ table_integer(&t, 0, "cells"), table_integer(&t, 0, "new_cells"), table_integer(&t, 0, "new_runs") };
	arena_done(&a);
	return status;
}

// A file that is not one of assay's has none of its numbers, or has one of them twice.
static enum status check(struct db *d, struct error *err)
{
	static const char sql[] = "SELECT (SELECT count(*) - count(DISTINCT id) FROM source_cell) + (SELECT count(*) - count(DISTINCT id) FROM source_run) + (SELECT count(*) - count(DISTINCT id) FROM source_event)"
		" + (SELECT count(*) FROM source_cell WHERE run NOT IN (SELECT id FROM source_run)) + (SELECT count(*) FROM source_event WHERE cell IS NOT NULL AND cell NOT IN (SELECT id FROM source_cell))"
		" + (SELECT count(*) FROM source_measurement WHERE event NOT IN (SELECT id FROM source_event)) + (SELECT count(*) FROM source_sample WHERE event NOT IN (SELECT id FROM source_event)) AS bad";
	struct arena a = { 0 };
	struct table t;
	enum status status = db_query(d, &a, sql, NULL, 0, &t, err);

	if (status == STATUS_OK && table_integer(&t, 0, "bad") != 0)
		status = error_set(err, STATUS_BAD_INPUT, "its rows do not belong together: numbers stand twice, or name rows that are not there");
	arena_done(&a);
	return status;
}

enum status store_absorb(struct store *s, const char *path, struct store_absorbed *out, struct error *err)
{
	struct db d = { 0 };
	enum status status = transaction_begin(s, true, &d, err);

	if (status != STATUS_OK)
		return status;
	status = file_is_dir(path) ? open_folder(&d, path, err) : open_file(&d, path, err);
	if (status == STATUS_OK)
		status = check(&d, err);
	if (status == STATUS_OK)
		status = db_exec(&d, maps, err);
	for (size_t i = 0; i < TABLE_COUNT && status == STATUS_OK; i++) {
		struct text sql = { 0 };
		text_addf(&sql, "INSERT INTO main.%s BY NAME SELECT %s FROM source_%s s WHERE %s", tables[i].table, tables[i].select, tables[i].table, tables[i].where);
		status = exec(&d, &sql, err);
	}
	if (status == STATUS_OK)
		status = count_new(&d, out, err);
	status = transaction_end(s, &d, status, err);
	return status != STATUS_OK ? error_prefix(err, "%s", path) : status;
}
