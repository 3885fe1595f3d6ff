// SPDX-License-Identifier: Apache-2.0
// DuckDB with nothing forbidden, for the scripts: what a stranger makes his files with, and what reads back what assay exported.
//     duckdb_shell FILE SQL     runs the statements in FILE (made where it is not there; :memory:), prints the last result,
//                               | between columns
#include <stdio.h>

#include "store/db.h"

static int fail(const char *what, const char *message)
{
	fprintf(stderr, "duckdb_shell: %s: %s\n", what, message != NULL ? message : "no reason");
	return 1;
}

int main(int argc, char **argv)
{
	const struct db_api *api;
	struct error err = { 0 };
	struct arena a = { 0 };
	struct table t = { 0 };
	struct db d = { 0 };
	duckdb_config config = NULL;
	char *message = NULL;
	int code = 0;

	if (argc != 3)
		return fail("usage", "duckdb_shell FILE SQL");
	if (db_load(&api, &err) != STATUS_OK)
		return fail("library", err.text);
	d.api = api;
	// Threads that wait for work take processor time.
	if (api->create_config(&config) == DuckDBError || api->set_config(config, "threads", "1") == DuckDBError)
		return fail(argv[1], "no setting");
	if (api->open_ext(argv[1], &d.database, config, &message) == DuckDBError)
		return fail(argv[1], message);
	api->destroy_config(&config);
	if (api->connect(d.database, &d.connection) == DuckDBError)
		return fail(argv[1], "no connection");
	if (db_query(&d, &a, argv[2], NULL, 0, &t, &err) != STATUS_OK)
		code = fail(argv[1], err.text);
	for (size_t i = 0; i < t.row_count * t.column_count; i++)
		printf("%s%s", t.cells[i] != NULL ? t.cells[i] : "NULL", (i + 1) % t.column_count == 0 ? "\n" : "|");
	db_close(&d);
	arena_done(&a);
	return code;
}
