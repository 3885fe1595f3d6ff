// SPDX-License-Identifier: Apache-2.0
// DuckDB with nothing forbidden, for the scripts: what a stranger makes his files with, and what reads back what assay exported.
//     duckdb_shell FILE SQL     runs the statements in FILE (made where it is not there; :memory:), prints the last result,
//                               | between columns
//     duckdb_shell              the same for each FILE and SQL of its input, with a zero byte behind each of them and behind each
//                               answer, which begins with the exit code: loading the library takes longer than most of them
#include <stdio.h>
#include <stdlib.h>

#include "store/db.h"

static int fail(const char *what, const char *message)
{
	fprintf(stderr, "duckdb_shell: %s: %s\n", what, message != NULL ? message : "no reason");
	return 1;
}

static int run(const struct db_api *api, const char *file, const char *sql, struct table *out, struct arena *a, struct error *err)
{
	struct db d = { .api = api };
	duckdb_config config = NULL;
	char *message = NULL;
	int code = 0;

	// Threads that wait for work take processor time.
	if (api->create_config(&config) == DuckDBError || api->set_config(config, "threads", "1") == DuckDBError)
		code = fail(file, "no setting");
	else if (api->open_ext(file, &d.database, config, &message) == DuckDBError)
		code = fail(file, message);
	else if (api->connect(d.database, &d.connection) == DuckDBError)
		code = fail(file, "no connection");
	else if (db_query(&d, a, sql, NULL, 0, out, err) != STATUS_OK)
		code = fail(file, err->text);
	api->destroy_config(&config);
	db_close(&d);
	return code;
}

static void print(const struct table *t)
{
	for (size_t i = 0; i < t->row_count * t->column_count; i++)
		printf("%s%s", t->cells[i] != NULL ? t->cells[i] : "NULL", (i + 1) % t->column_count == 0 ? "\n" : "|");
}

int main(int argc, char **argv)
{
	const struct db_api *api;
	struct error err = { 0 };
	struct arena a = { 0 };
	char *file = NULL, *sql = NULL;
	size_t file_size = 0, sql_size = 0;
	int code = 0;

	if (argc != 1 && argc != 3)
		return fail("usage", "duckdb_shell [FILE SQL]");
	if (db_load(&api, &err) != STATUS_OK)
		return fail("library", err.text);
	if (argc == 3) {
		struct table t = { 0 };
		code = run(api, argv[1], argv[2], &t, &a, &err);
		print(&t);
	}
	while (argc == 1 && getdelim(&file, &file_size, 0, stdin) > 0 && getdelim(&sql, &sql_size, 0, stdin) > 0) {
		struct table t = { 0 };
		printf("%d", run(api, file, sql, &t, &a, &err));
		print(&t);
		putchar(0);
		fflush(stdout);
		arena_done(&a);
	}
	free(file);
	free(sql);
	arena_done(&a);
	return code;
}
