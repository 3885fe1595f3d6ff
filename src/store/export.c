// SPDX-License-Identifier: Apache-2.0
// One table or view into a file, by DuckDB's own writers (all three are linked into the library). Reads only.
#include "base/text.h"
#include "store/sql_name.h"
#include "store/transaction.h"
#include "store/transfer.h"

enum status store_tables(struct store *s, struct table *out, struct error *err)
{
	return store_query(s, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT temporary AND NOT internal ORDER BY table_oid", out, err);
}

enum status store_export(struct store *s, const char *table, const char *format, const char *path, int64_t *rows, struct error *err)
{
	static const struct { const char *name, *options; } formats[] = {
		{ "parquet", "FORMAT parquet, COMPRESSION zstd" }, { "csv", "FORMAT csv, HEADER" }, { "json", "FORMAT json" },
	};
	const char *options = NULL;
	struct text sql = { 0 };
	struct table t = { 0 };
	struct db d = { 0 };
	enum status status;

	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		if (text_is(formats[i].name, format))
			options = formats[i].options;
	}
	if (options == NULL)
		return error_set(err, STATUS_BAD_INPUT, "unknown format '%s': parquet, csv or json", format);
	status = transaction_begin(s, false, &d, err);
	if (status != STATUS_OK)
		return status;
	status = db_query(&d, &s->arena, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' AND table_name = ?",
		&(struct db_parameter){ .text = table }, 1, &t, err);
	if (status == STATUS_OK && t.row_count == 0)
		status = error_set(err, STATUS_BAD_INPUT, "there is no table or view '%s'; docs/SCHEMA.md lists them", table);
	if (status == STATUS_OK) {
		text_add(&sql, "COPY ");
		sql_add_name(&sql, table);
		text_add(&sql, " TO ");
		sql_add_text(&sql, path);
		text_addf(&sql, " (%s)", options);
		status = db_query(&d, &s->arena, text_get(&sql), NULL, 0, &t, err);
		text_done(&sql);
	}
	if (status == STATUS_OK) {
		text_add(&sql, "SELECT count(*) AS n FROM ");
		sql_add_name(&sql, table);
		status = db_query(&d, &s->arena, text_get(&sql), NULL, 0, &t, err);
		text_done(&sql);
		*rows = table_integer(&t, 0, "n");
	}
	db_close(&d);
	return status;
}
