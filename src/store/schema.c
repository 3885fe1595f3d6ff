// SPDX-License-Identifier: Apache-2.0
// The schema as SQL. Tables are append-only; views give the latest word about a cell (`result`) and the two tables that
// users of the original system know (`hardware_results`, `hardware_detection`: seconds and MB, an `id`, a `success`).
// There are no primary keys: numbers are given out inside a transaction that holds the file alone, and an index would
// have to be written anew with every cell. docs/SCHEMA.md says what each column means.
#include "store/schema.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "question/standing.h"

// A file of the original system has its two tables as tables; they are kept beside under another name, and nothing in
// them counts as measured here.
static const char keep_original[] = "old_";
static const char *const original_tables[] = { "hardware_results", "hardware_detection" };

#define TYPE_TEXT "VARCHAR"
#define TYPE_JSON "VARCHAR"
#define TYPE_REAL "DOUBLE"
#define TYPE_INTEGER "BIGINT"
#define TYPE_BOOLEAN "BOOLEAN"
#define COLUMN_SQL(kind, name, meaning) ", \"" #name "\" " TYPE_##kind

const struct migration schema_migrations[] = {
	{ 1, "the first schema",
		"CREATE TABLE machine(id VARCHAR NOT NULL, os VARCHAR, kernel VARCHAR, architecture VARCHAR, cpu_vendor VARCHAR, "
		"cpu_model VARCHAR,"
		"  sockets BIGINT, cores BIGINT, threads BIGINT, usable_cpus BIGINT, l1d_bytes BIGINT, l2_bytes BIGINT, l3_bytes "
		"BIGINT,"
		"  features VARCHAR, hypervisor VARCHAR, memory_bytes BIGINT, memory_limit_bytes BIGINT, first_seen_at TIMESTAMP "
		"NOT NULL);"
		"CREATE TABLE run(id BIGINT NOT NULL, machine VARCHAR NOT NULL, hostname VARCHAR, program_version VARCHAR, "
		"command VARCHAR, pid BIGINT NOT NULL,"
		"  start_ticks BIGINT NOT NULL, boot_id VARCHAR, pid_namespace BIGINT, memory_available_bytes BIGINT, started_at "
		"TIMESTAMP NOT NULL);"
		"CREATE TABLE model(id BIGINT NOT NULL, name VARCHAR NOT NULL, revision VARCHAR, model_type VARCHAR, "
		"architecture VARCHAR, head VARCHAR,"
		"  first_seen_at TIMESTAMP NOT NULL);"
		"CREATE TABLE artifact(key VARCHAR NOT NULL, model BIGINT NOT NULL, form VARCHAR, weights_dtype VARCHAR, "
		"weights_bytes BIGINT, nodes BIGINT,"
		"  placed_by VARCHAR, first_seen_at TIMESTAMP NOT NULL);"
		"CREATE TABLE cell(id BIGINT NOT NULL, run BIGINT NOT NULL, cell_key VARCHAR NOT NULL, model VARCHAR NOT NULL, "
		"path VARCHAR, revision VARCHAR,"
		"  requested VARCHAR NOT NULL, device VARCHAR, asked_options VARCHAR, batch BIGINT, sequence BIGINT, runs "
		"BIGINT, layers BIGINT, seed BIGINT,"
		"  synthetic BOOLEAN, static_shapes BOOLEAN, timeout_s DOUBLE, memory_limit_bytes BIGINT, golden VARCHAR, "
		"started_at TIMESTAMP NOT NULL);"
		"CREATE TABLE event(id BIGINT NOT NULL, run BIGINT NOT NULL, cell BIGINT, kind VARCHAR NOT NULL, verdict "
		"VARCHAR, cause VARCHAR, happened_at TIMESTAMP NOT NULL);"
		"CREATE TABLE measurement(cell BIGINT NOT NULL, event BIGINT NOT NULL" ROW_LIST(
			COLUMN_SQL) ");"
				    "CREATE TABLE sample(cell BIGINT NOT NULL, event BIGINT NOT NULL, number BIGINT NOT NULL, ms "
				    "DOUBLE);"
				    "CREATE TABLE placement(cell BIGINT NOT NULL, event BIGINT NOT NULL, number BIGINT NOT NULL, "
				    "node VARCHAR, op VARCHAR, place VARCHAR, kernel VARCHAR, fused BOOLEAN);"
				    "CREATE TABLE output_check(cell BIGINT NOT NULL, event BIGINT NOT NULL, number BIGINT NOT "
				    "NULL, output VARCHAR, agrees BOOLEAN, max_abs_error DOUBLE,"
				    "  max_rel_error DOUBLE, nmse DOUBLE, cosine DOUBLE, top1_agreement DOUBLE, non_finite "
				    "BIGINT, reference_absmax DOUBLE, cause VARCHAR, facts VARCHAR);"
				    "CREATE TABLE platform_detection(id BIGINT NOT NULL, run BIGINT NOT NULL, platform VARCHAR "
				    "NOT NULL, available BOOLEAN, reason VARCHAR, engine VARCHAR,"
				    "  engine_version VARCHAR, library VARCHAR, device VARCHAR, devices VARCHAR, features "
				    "VARCHAR, facts VARCHAR, detected_at TIMESTAMP NOT NULL);" },
	{ 2, "a cell may be a further try of another",
		"ALTER TABLE cell ADD COLUMN attempt BIGINT; ALTER TABLE cell ADD COLUMN fallback_of BIGINT; ALTER TABLE cell "
		"ADD COLUMN fallback_reason VARCHAR;" },
	{ 3, "comparisons of two sides",
		"CREATE TABLE comparison(id BIGINT NOT NULL, run BIGINT NOT NULL, preset VARCHAR, what VARCHAR, claim VARCHAR, "
		"model VARCHAR NOT NULL, side_a VARCHAR, side_b VARCHAR,"
		"  requested_a VARCHAR, device_a VARCHAR, options_a VARCHAR, requested_b VARCHAR, device_b VARCHAR, options_b "
		"VARCHAR, static_a BOOLEAN, static_b BOOLEAN,"
		"  verdict_a VARCHAR, verdict_b VARCHAR, emulated_a BOOLEAN, emulated_b BOOLEAN, synthetic BOOLEAN, layers "
		"BIGINT, batch BIGINT, sequence BIGINT,"
		"  metric VARCHAR NOT NULL, pairs BIGINT, samples_a BIGINT, samples_b BIGINT, a_ms DOUBLE, b_ms DOUBLE, ratio "
		"DOUBLE, low DOUBLE, high DOUBLE,"
		"  low95 DOUBLE, high95 DOUBLE, verdict VARCHAR NOT NULL, cause VARCHAR, rows_a VARCHAR, rows_b VARCHAR, "
		"load_before DOUBLE, load_after DOUBLE,"
		"  compared_at VARCHAR);" },
	{ 4, "what a node works in, why it is elsewhere, its time",
		"ALTER TABLE placement ADD COLUMN dtype VARCHAR; ALTER TABLE placement ADD COLUMN reason VARCHAR; ALTER TABLE "
		"placement ADD COLUMN elsewhere BOOLEAN;"
		"ALTER TABLE placement ADD COLUMN ms DOUBLE;" },
	{ 5, "a cell's question whole, and the commit of the program",
		"ALTER TABLE cell ADD COLUMN question VARCHAR; ALTER TABLE run ADD COLUMN program_commit VARCHAR;" },
	{ 6, "the engine's own nodes with their times",
		"CREATE TABLE profile_node(cell BIGINT NOT NULL, event BIGINT NOT NULL, number BIGINT NOT NULL, name VARCHAR, op "
		"VARCHAR, kernel VARCHAR, place VARCHAR,"
		"  scope VARCHAR, named_by VARCHAR, drawn_nodes BIGINT, ms DOUBLE, flops BIGINT, bytes BIGINT, weight_bytes "
		"BIGINT, roof_ms DOUBLE, roof VARCHAR);" },
	{ 7, "rows of other files and other tools",
		"CREATE TABLE import(id BIGINT NOT NULL, path VARCHAR NOT NULL, sha256 VARCHAR NOT NULL, tool VARCHAR NOT NULL, "
		"tool_version VARCHAR, run BIGINT, cells BIGINT,"
		"  imported_at TIMESTAMP NOT NULL);"
		"ALTER TABLE run ADD COLUMN origin_id BIGINT; ALTER TABLE run ADD COLUMN import BIGINT; ALTER TABLE cell ADD "
		"COLUMN origin_id BIGINT;" },
};
const size_t schema_migration_count = sizeof schema_migrations / sizeof schema_migrations[0];

struct column {
	const char *name, *type, *meaning;
};
static const struct column columns[] = {
#define X(kind, name, meaning) { #name, TYPE_##kind, meaning },
	ROW_LIST(X)
#undef X
};

// What a cell without a measurement (running, interrupted) still knows: what was asked. Columns of `cell`.
// `later`: the column came in a later version of the schema and has the same name.
static const struct {
	const char *name, *asked;
	bool later;
} asked[] = {
	{ "model", "c.model" },
	{ "revision", "c.revision" },
	{ "requested", "c.requested" },
	{ "device", "NULLIF(c.device, '')" },
	{ "weights",
		// Without a batch it is a pipeline's, of which its child alone knows.
		"CASE WHEN c.synthetic THEN 'synthetic' WHEN ends_with(c.path, '.onnx') THEN 'as in the file' WHEN c.batch > 0 "
		"THEN "
		"'real' END" },
	{ "layers", "NULLIF(c.layers, 0)" },
	{ "batch", "NULLIF(c.batch, 0)" },
	{ "sequence", "NULLIF(c.sequence, 0)" },
	{ "attempt", "c.attempt", true },
	{ "fallback_of", "c.fallback_of", true },
	{ "fallback_reason", "c.fallback_reason", true },
	{ "started_at", "strftime(c.started_at, '%Y-%m-%dT%H:%M:%SZ')" },
};

// The columns of a file that may be of an older schema; all zero: of this one.
struct columns_there {
	struct table measurement, cell, run;
};

static bool has_column(const struct table *have, const char *name)
{
	for (size_t i = 0; i < have->row_count; i++) {
		if (text_is(have->cells[i], name))
			return true;
	}
	return have->row_count == 0;
}

static const char *asked_of(const char *name, const struct columns_there *have)
{
	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		if (text_is(asked[i].name, name))
			return asked[i].later && !has_column(&have->cell, name) ? "NULL" : asked[i].asked;
	}
	return "NULL";
}

static const char *const view_names[] = { "result", "hardware_results", "hardware_detection" };
enum { VIEW_COUNT = sizeof view_names / sizeof view_names[0] };
#define VIEW_NAMES "'result', 'hardware_results', 'hardware_detection'"

bool schema_has_view(const char *name)
{
	for (size_t i = 0; i < VIEW_COUNT; i++) {
		if (strcasecmp(view_names[i], name) == 0)
			return true;
	}
	return false;
}

// The SQL is laid out by hand.
// clang-format off
static const char hardware_results[] =
	" hardware_results AS SELECT CAST(id AS INTEGER) AS id, model AS model_id, architecture AS model_type,"
	" requested AS hardware,"
	"  " ROW_SUCCESS_SQL("") " AS success,"
	"  load_ms / 1000.0 AS load_time, latency_ms / 1000.0 AS inference_time,"
	"  greatest(peak_resident_mib, peak_pss_mib, peak_anonymous_mib) * 1.048576 AS memory_usage,"
	"  CASE WHEN source IS NOT NULL THEN 'imported from ' || source || ': not checked by assay'"
	"       WHEN engine = 'null' AND requested <> 'null' THEN"
	" 'the null engine stood in for ' || requested || ': nothing was computed'"
	"       WHEN " ROW_SUCCESS_SQL("") " THEN NULL"
	"       WHEN " ROW_COUNTS_SQL("") " THEN concat_ws('; ',"
	" CASE WHEN " ROW_EMULATED_SQL("") " THEN 'emulated: software ran it in place of ' || requested END,"
	"         CASE WHEN " ROW_NOT_VALID_SQL("") " THEN 'NOT VALID as ' || COALESCE(scenario, 'single-stream') END,"
	"         CASE WHEN " ROW_SHORTENED_SQL("") " THEN"
	" 'shortened: ' || COALESCE(layers || ' of the model''s layers', 'fewer layers than the model has') END,"
	"         CASE WHEN " ROW_BRIEF_SQL("") " THEN"
	" 'shorter input: ' || COALESCE(sequence || ' tokens', 'fewer tokens') || ' of the usual ' || asked_sequence END)"
	"       WHEN verdict = 'unjudged' AND actual = requested THEN"
	" 'unjudged: ' || COALESCE(cause, 'nothing was there to compare the outputs with')"
	"       WHEN verdict = 'right' AND reference IS NULL THEN 'right, and no reference is named'"
	"       WHEN cause IS NOT NULL THEN verdict || ': ' || cause"
	"       WHEN verdict IN ('right', 'unjudged') AND actual IS NOT NULL THEN"
	" 'asked for ' || requested || ', ran on ' || actual"
	"       ELSE verdict END AS error,"
	"  finished_at AS \"timestamp\", output_shape FROM result WHERE state = 'finished';";
static const char hardware_detection[] =
	" hardware_detection AS SELECT CAST(id AS INTEGER) AS id, platform AS hardware_type, available,"
	"  CASE WHEN available THEN device ELSE NULL END AS name, CASE WHEN available THEN features ELSE reason END AS features,"
	" detected_at AS \"timestamp\" FROM platform_detection;";
// clang-format on

// Every row of assay's has these; one that somebody else wrote, or changed, may not.
static bool is_named(const char *column)
{
	return text_is(column, "model") || text_is(column, "requested");
}

// One row a cell: its last word, and what was measured with that word. An event of a dead run counts until a verdict comes.
static void result_view(struct text *sql, const struct columns_there *have)
{
	text_add(sql, " result AS SELECT c.id AS id");
	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
		const char *name = columns[i].name;
		if (text_is(name, "row"))
			text_add(sql, ", c.id AS \"row\"");
		else if (text_is(name, "verdict"))
			text_add(sql, ", e.verdict AS \"verdict\"");
		else if (text_is(name, "cause"))
			text_add(sql, ", e.cause AS \"cause\"");
		else if (text_is(name, "cell_key"))
			text_add(sql, ", c.cell_key AS \"cell_key\""); // the question as it was asked, on any machine
		else if (is_named(name) && has_column(&have->measurement, name))
			text_addf(sql, ", COALESCE(m.\"%s\", %s, '?') AS \"%s\"", name, asked_of(name, have), name);
		else if (has_column(&have->measurement, name))
			text_addf(sql, ", CASE WHEN m.event IS NULL THEN CAST(%s AS %s) ELSE m.\"%s\" END AS \"%s\"",
				asked_of(name, have), columns[i].type, name, name);
		else
			text_addf(sql, ", CAST(%s AS %s) AS \"%s\"", asked_of(name, have), columns[i].type, name);
	}
	text_add(sql,
		", c.run AS run, r.machine AS machine, CASE WHEN e.id IS NULL THEN 'running' ELSE 'finished' END AS state, "
		"e.happened_at AS finished_at, ");
	text_add(sql, has_column(&have->run, "origin_id") ? "r.origin_id IS NOT NULL AS imported" : "FALSE AS imported");
	text_add(sql,
		" FROM cell c JOIN run r ON r.id = c.run"
		" LEFT JOIN (SELECT cell, max(id) AS id FROM event WHERE kind IN ('verdict', 'interrupted') GROUP BY cell) AS "
		"last ON last.cell = c.id"
		" LEFT JOIN event e ON e.id = last.id LEFT JOIN measurement m ON m.event = last.id AND m.cell = c.id;");
}

// `kind`: VIEW, or TEMP VIEW, which stands before a file's own of the same name.
static void views(struct text *sql, const char *kind, const struct columns_there *have)
{
	text_addf(sql, "CREATE OR REPLACE %s", kind);
	result_view(sql, have);
	text_addf(sql, "CREATE OR REPLACE %s%sCREATE OR REPLACE %s%s", kind, hardware_results, kind, hardware_detection);
}

// Comments are the program's, not the file's: a file where they were made by other text gets them anew, and its views too. The
// comment of `result` tells which text that was.
static void views_and_mark(struct text *sql, const struct columns_there *have, char mark[32])
{
	views(sql, "VIEW", have);
	struct text all = { 0 };
	text_add(&all, text_get(sql));
	schema_comments(&all);
	snprintf(mark, 32, "views %016llx", (unsigned long long)fnv1a64(text_get(&all), all.length));
	text_done(&all);
	text_addf(sql, "COMMENT ON VIEW result IS '%s';", mark);
}

static enum status look_at_mark(struct db *d, struct arena *a, bool *current, struct error *err)
{
	struct text sql = { 0 };
	struct table t;
	char mark[32];

	views_and_mark(&sql, &(struct columns_there){ 0 }, mark);
	text_done(&sql);
	enum status status = db_query(d, a,
		"SELECT comment FROM duckdb_views() WHERE view_name = 'result' AND schema_name = 'main' AND NOT internal", NULL,
		0, &t, err);
	*current = status == STATUS_OK && t.row_count == 1 && text_is(t.cells[0], mark);
	return status;
}

// Behind "CREATE TEMPORARY VIEW ", or wherever the name is.
static const char *behind_kind(const char *sql)
{
	const char *p = sql != NULL ? strstr(sql, "VIEW ") : NULL;

	return p != NULL ? p + strlen("VIEW ") : "";
}

static const char *behind_as(const char *sql)
{
	return strstr(sql, " AS ") + strlen(" AS ");
}

// A type that is a keyword is quoted in the text of a view that was made by this connection, and is not in that of one that was
// stored.
static const char *as_stored(struct arena *a, const char *sql)
{
	static const char made[] = " AS \"DOUBLE\")", stored[] = " AS DOUBLE)";
	struct text out = { 0 };

	for (const char *p; (p = strstr(sql, made)) != NULL; sql = p + strlen(made)) {
		text_add_bytes(&out, sql, (size_t)(p - sql));
		text_add(&out, stored);
	}
	text_add(&out, sql);
	const char *copy = arena_strdup(a, text_get(&out));
	text_done(&out);
	return copy;
}

static bool are_alike(struct arena *a, const struct table *t)
{
	size_t alike = 0;

	for (size_t i = 0; i < t->row_count; i++)
		alike += text_is(
			as_stored(a, behind_kind(table_get(t, i, "there"))), as_stored(a, behind_kind(table_get(t, i, "ours"))));
	return alike == VIEW_COUNT;
}

// What DuckDB says of our texts when it has parsed them, which takes half the time of making the views.
static enum status compare_parsed(struct db *d, struct arena *a, bool *ours, struct error *err)
{
	struct text result = { 0 };
	struct table t = { 0 };

	result_view(&result, &(struct columns_there){ 0 });
	const struct db_parameter texts[VIEW_COUNT] = { { .text = behind_as(text_get(&result)) },
		{ .text = behind_as(hardware_results) }, { .text = behind_as(hardware_detection) } };
	enum status status = db_query(d, a,
		"SELECT f.view_name AS name, f.sql AS there, 'VIEW ' || o.name || ' AS ' || "
		"json_deserialize_sql(json_serialize_sql(o.sql)) || ';' AS ours FROM duckdb_views() f JOIN (VALUES ('result', "
		"CAST(? AS VARCHAR)), ('hardware_results', CAST(? AS VARCHAR)), ('hardware_detection', CAST(? AS VARCHAR))) "
		"o(name, "
		"sql) ON o.name = f.view_name WHERE f.schema_name = 'main' AND NOT f.temporary",
		texts, VIEW_COUNT, &t, err);
	text_done(&result);
	*ours = status == STATUS_OK && are_alike(a, &t);
	return status;
}

// Anybody can write a comment: the views are ours if DuckDB says of them what it says of ours, made here and now.
static enum status compare_views(struct db *d, struct arena *a, bool *ours, struct error *err)
{
	struct text sql = { 0 };
	struct table t;
	enum status status = compare_parsed(d, a, ours, err);

	if (status != STATUS_OK || *ours)
		return status;
	views(&sql, "TEMP VIEW", &(struct columns_there){ 0 });
	status = db_exec(d, text_get(&sql), err);
	text_done(&sql);
	if (status == STATUS_OK)
		status = db_query(d, a,
			"SELECT f.view_name AS name, f.sql AS there, t.sql AS ours FROM duckdb_views() f JOIN duckdb_views() t "
			"ON t.view_name = f.view_name"
			" WHERE f.schema_name = 'main' AND t.temporary AND NOT f.temporary AND f.view_name IN (" VIEW_NAMES ")",
			NULL, 0, &t, err);
	if (status == STATUS_OK)
		status = db_exec(d, // a file may have a schema that is called temp
			"DROP VIEW temp.main.hardware_results; DROP VIEW temp.main.hardware_detection; DROP VIEW "
			"temp.main.result",
			err);
	*ours = status == STATUS_OK && are_alike(a, &t);
	return status;
}

static enum status columns_of(struct db *d, struct arena *a, const char *table, struct table *have, struct error *err)
{
	return db_query(d, a, "SELECT name FROM pragma_table_info(?)", &(struct db_parameter){ .text = table }, 1, have, err);
}

static size_t missing_columns(const struct table *have)
{
	size_t missing = 0;

	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
		missing += !has_column(have, columns[i].name);
	return missing;
}

const char *schema_whole_rows(struct arena *a, const char *table, const struct table *have)
{
	struct text sql = { 0 };
	const char *out = table;

	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
		bool has = false;
		for (size_t k = 0; k < have->row_count && !has; k++)
			has = strcasecmp(table_get(have, k, "name"), columns[i].name) == 0;
		if (!has)
			text_addf(&sql, ", CAST(NULL AS %s) AS \"%s\"", columns[i].type, columns[i].name);
	}
	if (sql.length > 0)
		out = arena_printf(a, "(SELECT *%s FROM %s)", text_get(&sql), table);
	text_done(&sql);
	return out;
}

static enum status look(struct db *d, struct arena *a, const struct migration *steps, size_t count, enum schema_state *out,
	int *version, struct error *err)
{
	struct table t, have;
	int64_t number;
	bool views_current = false;
	enum status status = db_query(d, a,
		"SELECT count(*) AS n FROM duckdb_tables() WHERE table_name = 'schema_version' AND schema_name = 'main'", NULL, 0,
		&t, err);

	if (status != STATUS_OK)
		return status;
	*version = 0;
	if (text_is(table_get(&t, 0, "n"), "0")) {
		*out = SCHEMA_EMPTY;
		return STATUS_OK;
	}
	status = db_query(d, a, "SELECT max(version) AS version FROM schema_version", NULL, 0, &t, err);
	if (status == STATUS_OK)
		status = columns_of(d, a, "main.measurement", &have, err);
	if (status == STATUS_OK)
		status = look_at_mark(d, a, &views_current, err);
	if (status != STATUS_OK)
		return status;
	const char *text = table_get(&t, 0, "version");
	if (text == NULL || !text_to_int(text, 0, INT32_MAX, &number))
		return error_set(err, STATUS_BAD_INPUT, SCHEMA_NO_VERSION);
	*version = (int)number;
	int newest = count > 0 ? steps[count - 1].version : 0;
	if (views_current && *version == newest && missing_columns(&have) == 0)
		status = compare_views(d, a, &views_current, err);
	if (status != STATUS_OK)
		return status;
	*out = *version > newest                                                    ? SCHEMA_NEWER
		: *version < newest || missing_columns(&have) > 0 || !views_current ? SCHEMA_OLD
										    : SCHEMA_CURRENT;
	return STATUS_OK;
}

enum status schema_look(
	struct db *d, const struct migration *steps, size_t count, enum schema_state *out, int *version, struct error *err)
{
	struct arena a = { 0 };
	enum status status = look(d, &a, steps, count, out, version, err);

	arena_done(&a);
	return status;
}

enum status schema_views(struct db *d, struct arena *a, enum schema_state state, const char **sql, struct error *err)
{
	struct columns_there have = { 0 };
	struct text made = { 0 };
	enum status status = STATUS_OK;

	*sql = NULL;
	if (state == SCHEMA_CURRENT || state == SCHEMA_EMPTY)
		return status;
	status = columns_of(d, a, "main.measurement", &have.measurement, err);
	if (status == STATUS_OK)
		status = columns_of(d, a, "main.cell", &have.cell, err);
	if (status == STATUS_OK)
		status = columns_of(d, a, "main.run", &have.run, err);
	if (status != STATUS_OK)
		return status;
	views(&made, "TEMP VIEW", &have);
	*sql = arena_strdup(a, text_get(&made));
	text_done(&made);
	return status;
}

static enum status keep_originals(struct db *d, struct arena *a, struct error *err)
{
	struct table t;

	for (size_t i = 0; i < sizeof original_tables / sizeof original_tables[0]; i++) {
		enum status status =
			db_query(d, a, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND table_name = ?",
				&(struct db_parameter){ .text = original_tables[i] }, 1, &t, err);
		if (status == STATUS_OK && t.row_count > 0)
			status = db_exec(d,
				arena_printf(a, "ALTER TABLE %s RENAME TO %s%s", original_tables[i], keep_original,
					original_tables[i]),
				err);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

static enum status migrate(struct db *d, struct arena *a, const struct migration *steps, size_t count, struct error *err)
{
	enum schema_state state;
	struct columns_there there = { 0 };
	struct table have;
	struct text sql = { 0 };
	int version;
	enum status status = look(d, a, steps, count, &state, &version, err);

	if (status != STATUS_OK)
		return status;
	if (state == SCHEMA_NEWER)
		return error_set(err, STATUS_UNSUPPORTED,
			"its schema is version %d and this assay knows versions up to %d: use a newer assay", version,
			steps[count - 1].version);
	if (state == SCHEMA_EMPTY) {
		status = keep_originals(d, a, err);
		if (status == STATUS_OK)
			status = db_exec(d,
				"CREATE TABLE schema_version(version INTEGER NOT NULL, what VARCHAR, applied_at TIMESTAMP NOT "
				"NULL)",
				err);
	}
	for (size_t i = 0; i < count && status == STATUS_OK; i++) {
		if (steps[i].version <= version)
			continue;
		status = db_exec(d, steps[i].sql, err);
		const struct db_value row[] = {
			V_INTEGER("version", steps[i].version),
			V_TEXT("what", steps[i].what),
			V_TIME("applied_at", clock_unix_us()),
		};
		if (status == STATUS_OK)
			status = INSERT_ONE(d, "schema_version", row, err);
		if (status != STATUS_OK)
			return error_prefix(err, "bringing the schema to version %d", steps[i].version);
	}
	if (status == STATUS_OK)
		status = columns_of(d, a, "main.measurement", &have, err);
	if (status == STATUS_OK) // of a step before the last
		status = columns_of(d, a, "main.run", &there.run, err);
	if (status != STATUS_OK)
		return status;
	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
		if (!has_column(&have, columns[i].name))
			text_addf(&sql, "ALTER TABLE measurement ADD COLUMN \"%s\" %s;", columns[i].name, columns[i].type);
	}
	struct text view_sql = { 0 };
	char mark[32];
	views_and_mark(&view_sql, &there, mark);
	text_add(&sql, text_get(&view_sql));
	text_done(&view_sql);
	if (steps == schema_migrations && count == schema_migration_count) // an unfinished schema has not all that they speak of
		schema_comments(&sql);
	status = db_exec(d, text_get(&sql), err);
	text_done(&sql);
	return status;
}

enum status schema_migrate(struct db *d, const struct migration *steps, size_t count, struct error *err)
{
	struct arena a = { 0 };
	enum status status = db_exec(d, "BEGIN", err);

	if (status == STATUS_OK)
		status = migrate(d, &a, steps, count, err);
	if (status == STATUS_OK)
		status = db_exec(d, "COMMIT", err);
	arena_done(&a);
	return status;
}
