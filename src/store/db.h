// SPDX-License-Identifier: Apache-2.0
// DuckDB, as far as the store needs it: the library by dlopen, one open database, statements, typed inserts and results
// as text. Values go in through an appender with named columns, never as part of a statement's text. Knows no table.
// A file may be a stranger's. db_open is the only place that opens one: what runs in it reaches no file but those that are named,
// no network and no extension, cannot change a setting, and has a limit of time and memory. What the file itself brings is looked
// at in guard.h.
#ifndef ASSAY_STORE_DB_H
#define ASSAY_STORE_DB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <duckdb.h>

#include "store/store.h"

#define DB_MEMORY "1GiB" // of an opening without a limit: buffers, hash tables, sorted rows, as DuckDB itself counts them

enum { DB_TEXT_MOST = 1 << 20 }; // bytes of a text; what is longer is stored cut

// clang-format off
#define DB_FUNCTIONS(X) \
	X(library_version) X(create_config) X(set_config) X(destroy_config) X(open_ext) X(close) X(connect) \
	X(disconnect) X(query) X(destroy_result) X(result_error) X(column_count) X(column_name) X(column_type) \
	X(column_logical_type) X(destroy_logical_type) X(decimal_width) X(decimal_scale) X(fetch_chunk) \
	X(destroy_data_chunk) X(data_chunk_get_size) X(data_chunk_get_vector) X(vector_get_data) \
	X(vector_get_validity) X(free) X(result_return_type) X(extract_statements) X(extract_statements_error) \
	X(prepare_extracted_statement) X(destroy_extracted) X(destroy_prepare) X(prepare_error) X(bind_varchar_length) \
	X(bind_int64) X(prepared_statement_type) X(prepared_statement_column_count) X(prepared_statement_column_name) \
	X(interrupt) X(execute_prepared) X(appender_create) X(appender_create_query) X(appender_add_column) \
	X(appender_begin_row) X(appender_end_row) X(appender_close) X(appender_destroy) X(appender_error) \
	X(append_null) X(append_bool) X(append_int64) X(append_double) X(append_timestamp) X(append_varchar_length) \
	X(append_data_chunk) X(create_logical_type) X(create_data_chunk) X(data_chunk_set_size) X(data_chunk_reset) \
	X(vector_size) X(create_double) X(create_timestamp) X(get_varchar) X(destroy_value)
// clang-format on

// The functions, each with the type of duckdb.h's own prototype.
struct db_api {
#define X(name) __typeof__(&duckdb_##name) name;
	DB_FUNCTIONS(X)
#undef X
	const char *library; // path it came from
};

struct db { // all zero is closed
	const struct db_api *api;
	duckdb_database database;
	duckdb_connection connection;
	struct db_watch *watch; // db_watch.h
	bool counted;           // among those of opened.h
	bool shared;            // db_share: closing leaves the database open
	bool is_masked;         // umask is narrower than `mask`, which it was
	mode_t mask;
	char *written; // the path of a file that is open for writing: closing makes a checkpoint (journal.h); NULL: none
};

#define DB_SOURCE "/source" // a file's own is named as the file is, and the name of none has a slash

struct db_opening {
	const char *path; // NULL: a database in memory
	bool write;
	bool takes_log;             // before writing: a log of changes of any size is taken over
	const char *source;         // another DuckDB file, which is then attached as DB_SOURCE, for reading; NULL: none
	const char *const *files;   // files besides these that statements may read and write; ends with NULL; NULL: none
	struct store_limits limits; // of everything until db_close
	const char *memory;         // that DuckDB itself counts, as it writes it; NULL: as much as `limits` allow, else DB_MEMORY
	bool looks;                 // for statements that look a file over (guard.h), until db_settle
};

// Once a process: the library stays loaded, since its threads and exit handlers must not outlive its code.
enum status db_load(const struct db_api **out, struct error *err);

// BAD_INPUT with a sentence: the path names no file (an extension's word, memory, a folder, a pipe), or a file that is not
// DuckDB's. A file that is not there is fine.
enum status db_check_path(const char *path, struct error *err);
// Does a file that lies beside the database count as what assay or DuckDB made for it? All who may create files in the folder can
// make one: it must be of the database's owner, of this user or of root, or others may write the database, too.
bool db_believes(const struct stat *database, const struct stat *beside);
// Of a log or a journal: BAD_INPUT where it does not.
enum status db_check_beside(const char *path, const char *beside, struct error *err);
// What a link names, in `a`: DuckDB looks for the log beside the file, and is let near no other name.
const char *db_file_of(struct arena *a, const char *path);
// DuckDB reads the name of a file of results as a pattern, and what else it stands for may not be read: BAD_INPUT.
enum status db_check_not_pattern(const char *file, struct error *err);
// What the disk holds of a database, by stat alone: it may be open here, and DuckDB's lock on it (POSIX) is gone as soon as this
// process closes any descriptor of the file. 0: it is not there.
int64_t db_bytes(const char *path);
// One attempt. A lock held by another program is *locked = true with the error filled; every other failure leaves it false.
// The paths are checked as above first; a file with several hard links is not opened for writing.
enum status db_open(struct db *d, const struct db_api *api, const struct db_opening *how, bool *locked, struct error *err);
// Ends what `looks` began. A file holds the smallest and the largest value of each part of a column, and DuckDB leaves out the
// parts in which, by these, nothing is found: of one whose values are others they would not be looked at. Until this is called
// DuckDB reads all values, and settings can still be changed; then not the second, and with `trusts` not the first.
enum status db_settle(struct db *d, bool trusts, struct error *err);
enum status db_exec(struct db *d, const char *sql, struct error *err);
// The result of the last statement of `sql` as text in the arena; with parameters, one statement with a `?` for each.
struct db_parameter {
	const char *text;
	int64_t integer;
}; // text NULL: the integer
enum status db_query(struct db *d, struct arena *a, const char *sql, const struct db_parameter *parameters, size_t count,
	struct table *out, struct error *err);
// What a person typed: one SELECT, which changes nothing by itself and in what it calls. More than `most` rows is BAD_INPUT, as
// is any other statement; nothing of such a one is executed.
enum status db_select(struct db *d, struct arena *a, const char *sql, int64_t most, struct table *out, struct error *err);
// A connection of its own to the database that `open` has open, which outlives it.
enum status db_share(struct db *d, const struct db *open, struct error *err);
void db_close(struct db *d); // rolls back what was not committed; accepts a closed one

// DuckDB's message as an error: a full disk, a limit of file sizes and too much memory are told apart from everything else.
// Inside src/store.
enum status db_error(struct error *err, const char *what, const char *message);

// A value with its column: which member counts is `kind`. Absent: NULL text, NaN, ROW_NONE, flag -1.
enum db_kind { DB_TEXT, DB_REAL, DB_INTEGER, DB_BOOLEAN, DB_TIME };
struct db_value {
	const char *column;
	enum db_kind kind;
	const char *text;
	double real;
	int64_t integer; // DB_TIME: microseconds since 1970 UTC
};
#define V_TEXT(name, value) \
	{ \
		.column = name, .kind = DB_TEXT, .text = value \
	}
#define V_REAL(name, value) \
	{ \
		.column = name, .kind = DB_REAL, .real = value \
	}
#define V_INTEGER(name, value) \
	{ \
		.column = name, .kind = DB_INTEGER, .integer = value \
	}
#define V_BOOLEAN(name, value) \
	{ \
		.column = name, .kind = DB_BOOLEAN, .integer = value \
	}
#define V_TIME(name, value) \
	{ \
		.column = name, .kind = DB_TIME, .integer = value \
	}

// Rows into one table: the first row names the columns, the following ones have the same. The error is sticky and told
// by insert_end, which must be called.
struct insert {
	struct db *db;
	const char *table;
	duckdb_appender appender; // NULL: no row yet
	struct error err;
};
void insert_begin(struct insert *in, struct db *d, const char *table);
void insert_row(struct insert *in, const struct db_value *values, size_t count);
enum status insert_end(struct insert *in, struct error *err);
enum status insert_one(struct db *d, const char *table, const struct db_value *values, size_t count, struct error *err);

// Rows of numbers, a column an array, in chunks: what is appended by the million. Real columns are `real`, the others `integer`;
// an array of NULL is `constant` in every row. No value of a number is absent here.
struct db_column {
	const char *name;
	const int64_t *integer;
	const double *real;
	int64_t constant;
};
enum status insert_columns(
	struct db *d, const char *table, const struct db_column *columns, size_t column_count, size_t rows, struct error *err);
#define INSERT_ONE(d, table, values, err) insert_one((d), (table), (values), sizeof(values) / sizeof((values)[0]), (err))

#endif
