// SPDX-License-Identifier: Apache-2.0
// Statements, their results and inserts on an open database. How one is opened: db_open.c.
#include "store/db.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/visible.h"
#include "store/db_watch.h"
#include "store/select.h"
#include "store/sql_name.h"

// Of a log of changes that was not taken over. Not all is its fault: to replay it DuckDB may have to write to the file, which
// is open for reading, or want memory or room.
static enum status log_error(struct error *err, enum status status, const char *what, const char *message, const char *because)
{
	const char *why = strstr(message, ".wal\": ");

	why = why != NULL ? why + strlen(".wal\": ") : message;
	if (status != STATUS_FAILED)
		return error_set(err, status, "%s: its log of changes %s.wal is not taken over: %s", what, what, because);
	if (strstr(why, "Could not write file") != NULL)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: its log of changes %s.wal has what DuckDB takes over in writing only: open the file once with "
			"DuckDB "
			"itself, or with what wrote it; nothing is lost",
			what, what);
	return error_set(err, STATUS_BAD_INPUT,
		"%s: its log of changes %s.wal is not taken over; it may be damaged, or another database's: %.*s", what, what,
		(int)strcspn(why, "\n"), why);
}

enum status db_error(struct error *err, const char *what, const char *message)
{
	static const struct {
		const char *words;
		enum status status;
	} known[] = {
		{ "No space left on device", STATUS_NO_SPACE },
		{ "Disk quota exceeded", STATUS_NO_SPACE },
		{ "File too large", STATUS_NO_SPACE },
		{ "Out of Memory Error", STATUS_NO_MEMORY },
		// An appender's says "Failed to append" in the place of these words.
		{ "Allocation error : not enough memory", STATUS_NO_MEMORY }, // of a codec
		{ "could not allocate block", STATUS_NO_MEMORY },
		{ "Failed to allocate block", STATUS_NO_MEMORY },
	};
	enum status status = STATUS_FAILED;
	const char *original = message;

	for (size_t i = 0; message != NULL && i < sizeof known / sizeof known[0]; i++) {
		if (strstr(message, known[i].words) != NULL)
			status = known[i].status;
	}
	if (status == STATUS_NO_MEMORY &&
		(strstr(message, "bad allocation") != NULL || strstr(message, "Allocation failure") != NULL))
		message = "the machine, or a limit of this process (ulimit -d, ulimit -v), gives no memory for it";
	else if (status == STATUS_NO_MEMORY) // DuckDB's words are a paragraph about settings, which are locked
		message = "the database takes more than " DB_MEMORY " of memory for it: ask for less at once";
	if (original != NULL && strstr(original, "Failure while replaying WAL file") != NULL)
		return log_error(err, status, what, original, message);
	if (message != NULL && strstr(message, "More than one row returned by a subquery") != NULL) // goes on with a setting
		return error_set(err, STATUS_BAD_INPUT,
			"%s%sa subquery has more than one row where one can be (in a question of assay's own: rows of the file "
			"stand twice)",
			what, *what != '\0' ? ": " : "");
	if (message != NULL && strstr(message, "INTERNAL Error") != NULL) // its words go on with a stack trace
		return error_set(
			err, STATUS_FAILED, "%s%s%.*s", what, *what != '\0' ? ": " : "", (int)strcspn(message, "\n"), message);
	return error_set(
		err, status, "%s%s%s", what, *what != '\0' ? ": " : "", message != NULL ? message : "DuckDB gave no reason");
}

// Of a statement: what was stopped at a limit says which.
static enum status statement_error(const struct db *d, struct error *err, const char *message)
{
	struct error own = { 0 };
	enum status status = db_error(&own, "", message);

	if (status == STATUS_NO_MEMORY)
		db_watch_no_memory(d->watch);
	enum status passed = db_watch_look(d->watch, err);
	return passed != STATUS_OK ? passed : error_set(err, status, "%s", own.text);
}

enum status db_exec(struct db *d, const char *sql, struct error *err)
{
	duckdb_result result = { 0 };
	enum status status = STATUS_OK;

	db_watch_hold(d->watch);
	if (d->api->query(d->connection, sql, &result) == DuckDBError)
		status = statement_error(d, err, d->api->result_error(&result));
	d->api->destroy_result(&result);
	db_watch_release(d->watch);
	return status;
}

// DuckDB refuses text that is not UTF-8, and a child may print anything: a bad byte becomes U+FFFD.
static void add_clean(struct text *out, const char *s)
{
	size_t left = strlen(s), n;

	for (; (n = visible_not_utf8(s, left)) < left; s += n + 1, left -= n + 1) {
		text_add_bytes(out, s, n);
		text_add(out, "\xef\xbf\xbd");
	}
	text_add_bytes(out, s, n);
}

// A text that is longer than any that is looked at: its beginning, and how long it was.
static void add_cut(struct text *out, const char *s)
{
	enum { KEPT = 1 << 16 };
	char *begin = strndup(s, KEPT);

	if (begin == NULL)
		abort(); // as an arena does
	add_clean(out, begin);
	text_addf(out, "... (cut: it had %zu bytes)", strlen(s));
	free(begin);
}

static const char *type_name(struct db *d, struct arena *a, duckdb_result *result, idx_t column)
{
	static const char *const names[] = {
		[DUCKDB_TYPE_BOOLEAN] = "BOOLEAN",
		[DUCKDB_TYPE_TINYINT] = "TINYINT",
		[DUCKDB_TYPE_SMALLINT] = "SMALLINT",
		[DUCKDB_TYPE_INTEGER] = "INTEGER",
		[DUCKDB_TYPE_BIGINT] = "BIGINT",
		[DUCKDB_TYPE_UTINYINT] = "UTINYINT",
		[DUCKDB_TYPE_USMALLINT] = "USMALLINT",
		[DUCKDB_TYPE_UINTEGER] = "UINTEGER",
		[DUCKDB_TYPE_UBIGINT] = "UBIGINT",
		[DUCKDB_TYPE_FLOAT] = "FLOAT",
		[DUCKDB_TYPE_DOUBLE] = "DOUBLE",
		[DUCKDB_TYPE_TIMESTAMP] = "TIMESTAMP",
		[DUCKDB_TYPE_DATE] = "DATE",
		[DUCKDB_TYPE_TIME] = "TIME",
		[DUCKDB_TYPE_INTERVAL] = "INTERVAL",
		[DUCKDB_TYPE_HUGEINT] = "HUGEINT",
		[DUCKDB_TYPE_UHUGEINT] = "UHUGEINT",
		[DUCKDB_TYPE_VARCHAR] = "VARCHAR",
		[DUCKDB_TYPE_BLOB] = "BLOB",
		[DUCKDB_TYPE_DECIMAL] = "DECIMAL",
		[DUCKDB_TYPE_TIMESTAMP_S] = "TIMESTAMP_S",
		[DUCKDB_TYPE_TIMESTAMP_MS] = "TIMESTAMP_MS",
		[DUCKDB_TYPE_TIMESTAMP_NS] = "TIMESTAMP_NS",
		[DUCKDB_TYPE_ENUM] = "ENUM",
		[DUCKDB_TYPE_LIST] = "LIST",
		[DUCKDB_TYPE_STRUCT] = "STRUCT",
		[DUCKDB_TYPE_MAP] = "MAP",
		[DUCKDB_TYPE_ARRAY] = "ARRAY",
		[DUCKDB_TYPE_UUID] = "UUID",
		[DUCKDB_TYPE_UNION] = "UNION",
		[DUCKDB_TYPE_BIT] = "BIT",
		[DUCKDB_TYPE_TIME_TZ] = "TIME WITH TIME ZONE",
		[DUCKDB_TYPE_TIMESTAMP_TZ] = "TIMESTAMP WITH TIME ZONE",
		[DUCKDB_TYPE_SQLNULL] = "\"NULL\"",
	};
	duckdb_type type = d->api->column_type(result, column);

	if (type == DUCKDB_TYPE_DECIMAL) {
		duckdb_logical_type logical = d->api->column_logical_type(result, column);
		const char *name =
			arena_printf(a, "DECIMAL(%d,%d)", d->api->decimal_width(logical), d->api->decimal_scale(logical));
		d->api->destroy_logical_type(&logical);
		return name;
	}
	if ((size_t)type < sizeof names / sizeof names[0] && names[type] != NULL)
		return names[type];
	return "OTHER";
}

static duckdb_data_chunk fetch(const struct db *d, duckdb_result *result)
{
	db_watch_hold(d->watch);
	duckdb_data_chunk chunk = d->api->fetch_chunk(*result);
	db_watch_release(d->watch);
	return chunk;
}

// Results of any other type become text by DuckDB's own casts: every chunk is sent through a query that casts all columns into a
// temporary table, which then holds nothing but VARCHAR. (The C API formats single values of simple types only, and a
// nested value shown as NULL would be a lie.)
static enum status cast_to_text(struct db *d, duckdb_result *result, idx_t columns, struct error *err)
{
	const struct db_api *api = d->api;
	struct arena a = { 0 };
	struct text sql = { 0 };
	duckdb_logical_type *types = ARENA_ARRAY(&a, columns, duckdb_logical_type);
	const char **names = ARENA_ARRAY(&a, columns, const char *);
	duckdb_appender appender = NULL;
	duckdb_data_chunk chunk;
	enum status status;

	text_add(&sql, "CREATE OR REPLACE TEMP TABLE assay_as_text(");
	for (idx_t i = 0; i < columns; i++) {
		types[i] = api->column_logical_type(result, i);
		names[i] = arena_printf(&a, "c%llu", (unsigned long long)i);
		text_addf(&sql, "%s%s VARCHAR", i > 0 ? ", " : "", names[i]);
	}
	text_add(&sql, ")");
	status = db_exec(d, text_get(&sql), err);
	if (status == STATUS_OK &&
		api->appender_create_query(d->connection,
			"INSERT INTO assay_as_text SELECT CAST(COLUMNS(*) AS VARCHAR) FROM appended_data", columns, types, NULL,
			names, &appender) == DuckDBError)
		status = db_error(err, "turning the result into text", api->appender_error(appender));
	while (status == STATUS_OK && (chunk = fetch(d, result)) != NULL) {
		if (api->append_data_chunk(appender, chunk) == DuckDBError)
			status = statement_error(d, err, api->appender_error(appender));
		api->destroy_data_chunk(&chunk);
	}
	if (status == STATUS_OK && api->appender_close(appender) == DuckDBError)
		status = statement_error(d, err, api->appender_error(appender));
	if (appender != NULL)
		api->appender_destroy(&appender);
	for (idx_t i = 0; i < columns; i++)
		api->destroy_logical_type(&types[i]);
	text_done(&sql);
	arena_done(&a);
	return status;
}

static uint32_t text_length(const duckdb_string_t *s)
{
	return s->value.inlined.length;
}

// What is turned into text here, exactly as DuckDB's own cast writes it. Everything else goes through cast_to_text, which takes
// longer than a short statement itself: 20 ms of a row with the columns of `result`.
static bool is_plain(duckdb_type type)
{
	return type == DUCKDB_TYPE_VARCHAR || type == DUCKDB_TYPE_BIGINT || type == DUCKDB_TYPE_INTEGER ||
		type == DUCKDB_TYPE_BOOLEAN || type == DUCKDB_TYPE_DOUBLE || type == DUCKDB_TYPE_TIMESTAMP;
}

static bool is_null(const uint64_t *valid, size_t row)
{
	return valid != NULL && (valid[row / 64] >> (row % 64) & 1) == 0;
}

// At least the bytes of all texts of a chunk of plain columns. Many of them may be the same ones.
static size_t text_bytes(const struct db_api *api, duckdb_data_chunk chunk, const duckdb_type *types, size_t columns, size_t rows)
{
	enum { NUMBER_MOST = 32 }; // a time with microseconds and years of six digits
	size_t sum = 0;

	for (size_t c = 0; c < columns; c++) {
		duckdb_vector vector = api->data_chunk_get_vector(chunk, (idx_t)c);
		const uint64_t *valid = api->vector_get_validity(vector);
		const duckdb_string_t *strings = api->vector_get_data(vector);
		if (types[c] != DUCKDB_TYPE_VARCHAR) {
			sum += rows * NUMBER_MOST;
			continue;
		}
		for (size_t r = 0; r < rows; r++)
			sum += is_null(valid, r) ? 0 : text_length(&strings[r]);
	}
	return sum;
}

// DuckDB's own text of a single value, which ends here.
static const char *value_text(const struct db_api *api, struct arena *a, duckdb_value value)
{
	char *text = api->get_varchar(value);
	const char *copy = text != NULL ? arena_strdup(a, text) : NULL;

	api->free(text);
	api->destroy_value(&value);
	if (copy == NULL)
		abort(); // as an arena does
	return copy;
}

// A text may have a NUL within it, which assay writes into none: cut there, it would be another text here than in SQL.
static const char *plain_text(const struct db_api *api, struct arena *a, duckdb_type type, const void *data, size_t row)
{
	enum { SUBSTITUTE = 0x1a }; // ASCII's own for a character that cannot be told
	if (type == DUCKDB_TYPE_DOUBLE)
		return value_text(api, a, api->create_double(((const double *)data)[row]));
	if (type == DUCKDB_TYPE_TIMESTAMP)
		return value_text(api, a, api->create_timestamp(((const duckdb_timestamp *)data)[row]));
	if (type == DUCKDB_TYPE_BIGINT)
		return arena_printf(a, "%lld", (long long)((const int64_t *)data)[row]);
	if (type == DUCKDB_TYPE_INTEGER)
		return arena_printf(a, "%d", (int)((const int32_t *)data)[row]);
	if (type == DUCKDB_TYPE_BOOLEAN)
		return ((const bool *)data)[row] ? "true" : "false";
	const duckdb_string_t *s = &((const duckdb_string_t *)data)[row];
	uint32_t length = text_length(s);
	char *copy = arena_alloc(a, length + 1u);

	memcpy(copy, length <= 12 ? s->value.inlined.inlined : s->value.pointer.ptr, length);
	copy[length] = '\0';
	for (char *nul = copy; (nul = memchr(nul, '\0', length - (size_t)(nul - copy))) != NULL;)
		*nul = SUBSTITUTE;
	return copy;
}

static void take_chunk(const struct db_api *api, duckdb_data_chunk chunk, struct arena *a, const duckdb_type *types,
	size_t columns, size_t rows, const char **cells)
{
	for (size_t c = 0; c < columns; c++) {
		duckdb_vector vector = api->data_chunk_get_vector(chunk, (idx_t)c);
		const uint64_t *valid = api->vector_get_validity(vector);
		const void *data = api->vector_get_data(vector);
		for (size_t r = 0; r < rows; r++)
			cells[r * columns + c] = is_null(valid, r) ? NULL : plain_text(api, a, types[c], data, r);
	}
}

// The chunks of a result of plain columns, row-major.
static enum status take_text(const struct db *d, duckdb_result *result, struct arena *a, struct table *t, struct error *err)
{
	const struct db_api *api = d->api;
	size_t capacity = 0, columns = t->column_count;
	duckdb_type *types = ARENA_ARRAY(a, columns + 1, duckdb_type);
	const char **cells = NULL; // grown by doubling; the final array goes to the arena
	enum status status = STATUS_OK;
	duckdb_data_chunk chunk;

	for (size_t i = 0; i < columns; i++)
		types[i] = api->column_type(result, (idx_t)i);
	while ((status = db_watch_look(d->watch, err)) == STATUS_OK && (chunk = fetch(d, result)) != NULL) {
		size_t rows = (size_t)api->data_chunk_get_size(chunk);
		size_t nbytes = text_bytes(api, chunk, types, columns, rows) + 4 * rows * columns * sizeof *cells;
		if ((status = db_watch_room(d->watch, nbytes, err)) != STATUS_OK) {
			api->destroy_data_chunk(&chunk);
			break;
		}
		if (t->row_count + rows > capacity) {
			capacity = 2 * (t->row_count + rows);
			cells = realloc(cells, capacity * columns * sizeof *cells);
			if (cells == NULL)
				abort(); // as an arena does
		}
		take_chunk(api, chunk, a, types, columns, rows, cells + t->row_count * columns);
		t->row_count += rows;
		api->destroy_data_chunk(&chunk);
	}
	if (t->row_count > 0 && status == STATUS_OK) {
		t->cells = ARENA_ARRAY(a, t->row_count * columns, const char *);
		memcpy(t->cells, cells, t->row_count * columns * sizeof *cells);
	}
	free(cells);
	return status;
}

static enum status bind(
	const struct db_api *api, duckdb_prepared_statement statement, const struct db_parameter *parameters, size_t count)
{
	duckdb_state state = DuckDBSuccess;

	for (size_t i = 0; i < count && state == DuckDBSuccess; i++) {
		struct text clean = { 0 };
		if (parameters[i].text == NULL) {
			state = api->bind_int64(statement, i + 1, parameters[i].integer);
			continue;
		}
		add_clean(&clean, parameters[i].text);
		state = api->bind_varchar_length(statement, i + 1, text_get(&clean), clean.length);
		text_done(&clean);
	}
	return state == DuckDBSuccess ? STATUS_OK : STATUS_BAD_INPUT;
}

// All statements of the text, one after the other; the result of the last one that has one. (duckdb_query would give the
// first's.)
static enum status execute(
	struct db *d, const char *sql, const struct db_parameter *parameters, size_t count, duckdb_result *out, struct error *err)
{
	const struct db_api *api = d->api;
	duckdb_extracted_statements statements = NULL;
	enum status status = STATUS_OK;
	const char *message;

	db_watch_hold(d->watch);
	idx_t statement_count = api->extract_statements(d->connection, sql, &statements);

	if (statement_count == 0 && (message = api->extract_statements_error(statements)) != NULL)
		status = statement_error(d, err, message);
	for (idx_t i = 0; i < statement_count && status == STATUS_OK; i++) {
		duckdb_prepared_statement statement = NULL;
		api->destroy_result(out);
		if (api->prepare_extracted_statement(d->connection, statements, i, &statement) == DuckDBError)
			status = statement_error(d, err, api->prepare_error(statement));
		else if (bind(api, statement, parameters, count) != STATUS_OK)
			status = error_set(err, STATUS_BAD_INPUT, "the database does not take the parameters of: %s", sql);
		else if (api->execute_prepared(statement, out) == DuckDBError)
			status = statement_error(d, err, api->result_error(out));
		api->destroy_prepare(&statement);
	}
	api->destroy_extracted(&statements);
	db_watch_release(d->watch);
	return status;
}

enum status db_query(struct db *d, struct arena *a, const char *sql, const struct db_parameter *parameters, size_t count,
	struct table *out, struct error *err)
{
	const struct db_api *api = d->api;
	duckdb_result result = { 0 }, text = { 0 }; // zeroed: destroying them is fine
	struct table t = { 0 };
	enum status status = execute(d, sql, parameters, count, &result, err);

	if (status == STATUS_OK && result.internal_data != NULL &&
		api->result_return_type(result) == DUCKDB_RESULT_TYPE_QUERY_RESULT) {
		t.column_count = (size_t)api->column_count(&result);
		t.columns = ARENA_ARRAY(a, t.column_count, const char *);
		t.types = ARENA_ARRAY(a, t.column_count, const char *);
		bool all_plain = true;
		for (size_t i = 0; i < t.column_count; i++) {
			t.columns[i] = arena_strdup(a, api->column_name(&result, i));
			t.types[i] = type_name(d, a, &result, i);
			all_plain = all_plain && is_plain(api->column_type(&result, i));
		}
		if (all_plain) {
			status = take_text(d, &result, a, &t, err);
		} else {
			db_watch_hold(d->watch);
			status = cast_to_text(d, &result, t.column_count, err);
			db_watch_release(d->watch);
			if (status == STATUS_OK)
				status = execute(d, "SELECT * FROM assay_as_text", NULL, 0, &text, err);
			if (status == STATUS_OK)
				status = take_text(d, &text, a, &t, err);
			api->destroy_result(&text);
		}
	}
	api->destroy_result(&result);
	if (status == STATUS_OK)
		*out = t;
	return status;
}

// The names of its columns, which the statement around it may have to change.
static enum status names_of_columns(
	struct db *d, struct arena *a, const char *sql, const char ***names, size_t *count, struct error *err)
{
	const struct db_api *api = d->api;
	duckdb_extracted_statements statements = NULL;
	duckdb_prepared_statement statement = NULL;
	idx_t n = api->extract_statements(d->connection, sql, &statements);
	const char *message = n == 0 ? api->extract_statements_error(statements) : NULL;
	enum status status = STATUS_OK;

	if (message != NULL)
		status = statement_error(d, err, message);
	else if (n != 1)
		status = error_set(err, STATUS_BAD_INPUT,
			"one read-only SELECT is taken at a time, and these are %llu statements", (unsigned long long)n);
	else if (api->prepare_extracted_statement(d->connection, statements, 0, &statement) == DuckDBError)
		status = statement_error(d, err, api->prepare_error(statement));
	else if (api->prepared_statement_type(statement) != DUCKDB_STATEMENT_TYPE_SELECT)
		status = error_set(
			err, STATUS_BAD_INPUT, "only a read-only SELECT is taken, and DuckDB finds another statement in it");
	if (status == STATUS_OK) {
		*count = (size_t)api->prepared_statement_column_count(statement);
		*names = ARENA_ARRAY(a, *count + 1, const char *);
		for (size_t i = 0; i < *count; i++) {
			const char *name = api->prepared_statement_column_name(statement, i);
			(*names)[i] = arena_strdup(a, name != NULL ? name : "");
			api->free((void *)name);
		}
	}
	api->destroy_prepare(&statement);
	api->destroy_extracted(&statements);
	return status;
}

// A result without a limit is not made whole first: it stands within a statement that takes only so many rows of it.
// DuckDB's function `query` takes a text that is one SELECT and nothing else, so no bracket in it can end that statement.
enum status db_select(struct db *d, struct arena *a, const char *sql, int64_t most, struct table *out, struct error *err)
{
	struct text bounded = { 0 };
	struct table t = { 0 };
	const char **names = NULL;
	size_t count = 0;
	enum status status = select_look(d, a, sql, err); // before anything binds it

	if (status == STATUS_OK) {
		db_watch_hold(d->watch); // binding computes what is constant
		status = names_of_columns(d, a, sql, &names, &count, err);
		db_watch_release(d->watch);
	}
	if (status != STATUS_OK)
		return status;
	text_add(&bounded, "SELECT * FROM system.main.query(");
	sql_add_text(&bounded, sql);
	text_addf(&bounded, ") LIMIT %lld", (long long)most + 1);
	status = db_query(d, a, text_get(&bounded), NULL, 0, &t, err);
	text_done(&bounded);
	if (status != STATUS_OK)
		return status;
	if (t.row_count > (size_t)most)
		return error_set(err, STATUS_BAD_INPUT,
			"the answer has more than %lld rows; a LIMIT takes fewer, --rows allows more", (long long)most);
	if (t.column_count == count)
		t.columns = names;
	*out = t;
	return STATUS_OK;
}

void insert_begin(struct insert *in, struct db *d, const char *table)
{
	*in = (struct insert){ .db = d, .table = table };
}

// With all columns at once: appender_add_column makes room for 2,048 rows of all that were named before, each time.
static void name_columns(struct insert *in, const struct db_value *values, size_t count)
{
	static const duckdb_type types[] = {
		[DB_TEXT] = DUCKDB_TYPE_VARCHAR,
		[DB_REAL] = DUCKDB_TYPE_DOUBLE,
		[DB_INTEGER] = DUCKDB_TYPE_BIGINT,
		[DB_BOOLEAN] = DUCKDB_TYPE_BOOLEAN,
		[DB_TIME] = DUCKDB_TYPE_TIMESTAMP,
	};
	const struct db_api *api = in->db->api;
	struct arena a = { 0 };
	struct text sql = { 0 };
	duckdb_logical_type *type = ARENA_ARRAY(&a, count, duckdb_logical_type);

	text_addf(&sql, "INSERT INTO %s(", in->table);
	for (size_t i = 0; i < count; i++) {
		type[i] = api->create_logical_type(types[values[i].kind]);
		text_add(&sql, i > 0 ? ", " : "");
		sql_add_name(&sql, values[i].column);
	}
	text_add(&sql, ") FROM appended_data");
	if (api->appender_create_query(in->db->connection, text_get(&sql), count, type, NULL, NULL, &in->appender) == DuckDBError)
		db_error(&in->err, in->table, api->appender_error(in->appender));
	for (size_t i = 0; i < count; i++)
		api->destroy_logical_type(&type[i]);
	text_done(&sql);
	arena_done(&a);
}

static duckdb_state append_text(const struct db_api *api, duckdb_appender appender, const char *s)
{
	struct text clean = { 0 };

	if (strlen(s) <= DB_TEXT_MOST)
		add_clean(&clean, s);
	else
		add_cut(&clean, s);
	duckdb_state state = api->append_varchar_length(appender, text_get(&clean), clean.length);
	text_done(&clean);
	return state;
}

static duckdb_state append_value(const struct db_api *api, duckdb_appender appender, const struct db_value *v)
{
	switch (v->kind) {
	case DB_TEXT:
		return v->text == NULL ? api->append_null(appender) : append_text(api, appender, v->text);
	case DB_REAL:
		return isnan(v->real) ? api->append_null(appender) : api->append_double(appender, v->real);
	case DB_INTEGER:
		return v->integer == ROW_NONE ? api->append_null(appender) : api->append_int64(appender, v->integer);
	case DB_BOOLEAN:
		return v->integer < 0 ? api->append_null(appender) : api->append_bool(appender, v->integer != 0);
	case DB_TIME:
		return api->append_timestamp(appender, (duckdb_timestamp){ .micros = v->integer });
	}
	return DuckDBError;
}

void insert_row(struct insert *in, const struct db_value *values, size_t count)
{
	const struct db_api *api = in->db->api;
	duckdb_state state;

	if (in->err.status == STATUS_OK && in->appender == NULL)
		name_columns(in, values, count);
	if (in->err.status != STATUS_OK)
		return;
	state = api->appender_begin_row(in->appender);
	for (size_t i = 0; i < count && state == DuckDBSuccess; i++)
		state = append_value(api, in->appender, &values[i]);
	if (state == DuckDBSuccess)
		state = api->appender_end_row(in->appender);
	if (state == DuckDBError)
		db_error(&in->err, in->table, api->appender_error(in->appender));
}

enum status insert_end(struct insert *in, struct error *err)
{
	const struct db_api *api = in->db->api;

	if (in->err.status == STATUS_OK && in->appender != NULL && api->appender_close(in->appender) == DuckDBError)
		db_error(&in->err, in->table, api->appender_error(in->appender));
	if (in->appender != NULL)
		api->appender_destroy(&in->appender);
	if (in->err.status != STATUS_OK)
		return error_set(err, in->err.status, "%s", in->err.text);
	return STATUS_OK;
}

enum status insert_one(struct db *d, const char *table, const struct db_value *values, size_t count, struct error *err)
{
	struct insert in;

	insert_begin(&in, d, table);
	insert_row(&in, values, count);
	return insert_end(&in, err);
}

enum status insert_columns(
	struct db *d, const char *table, const struct db_column *columns, size_t column_count, size_t rows, struct error *err)
{
	enum { MOST = 16 };
	const struct db_api *api = d->api;
	duckdb_logical_type types[MOST];
	duckdb_appender appender = NULL;
	duckdb_data_chunk chunk = NULL;
	duckdb_state state;
	size_t vector = (size_t)api->vector_size();
	enum status status = STATUS_OK;

	if (column_count > MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: more than %d columns at once", table, MOST);
	if (api->appender_create(d->connection, NULL, table, &appender) == DuckDBError) {
		status = db_error(err, table, api->appender_error(appender));
		api->appender_destroy(&appender);
		return status;
	}
	for (size_t c = 0; c < column_count; c++)
		types[c] = api->create_logical_type(columns[c].real != NULL ? DUCKDB_TYPE_DOUBLE : DUCKDB_TYPE_BIGINT);
	chunk = api->create_data_chunk(types, column_count);
	state = chunk != NULL ? DuckDBSuccess : DuckDBError;
	for (size_t c = 0; c < column_count && state == DuckDBSuccess; c++)
		state = api->appender_add_column(appender, columns[c].name);
	for (size_t at = 0; at < rows && state == DuckDBSuccess; at += vector) {
		size_t n = rows - at < vector ? rows - at : vector;
		api->data_chunk_reset(chunk);
		for (size_t c = 0; c < column_count; c++) {
			void *data = api->vector_get_data(api->data_chunk_get_vector(chunk, c));
			if (columns[c].real != NULL)
				memcpy(data, columns[c].real + at, n * sizeof(double));
			else if (columns[c].integer != NULL)
				memcpy(data, columns[c].integer + at, n * sizeof(int64_t));
			for (size_t i = 0; columns[c].real == NULL && columns[c].integer == NULL && i < n; i++)
				((int64_t *)data)[i] = columns[c].constant;
		}
		api->data_chunk_set_size(chunk, n);
		state = api->append_data_chunk(appender, chunk);
	}
	if (state == DuckDBSuccess)
		state = api->appender_close(appender);
	if (state == DuckDBError)
		status = db_error(err, table, api->appender_error(appender));
	api->appender_destroy(&appender);
	if (chunk != NULL)
		api->destroy_data_chunk(&chunk);
	for (size_t c = 0; c < column_count; c++)
		api->destroy_logical_type(&types[c]);
	return status;
}
