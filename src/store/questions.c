// SPDX-License-Identifier: Apache-2.0
// Asking a named question: the relations that the texts of query_table.c stand behind, and what was left out of them.
#include "store/questions.h"

#include "base/text.h"
#include "question/standing.h"
#include "store/same_question.h"
#include "store/transaction.h"

// $1 model, $2 platform ('' each: all).
#define OF_MODEL "($1 = '' OR model = $1 OR regexp_extract(model, '[^/]*$') = $1)"
// A time of outputs that were not found wrong, which no ranking has.
#define HAS_TIME "verdict IN ('right', 'unjudged') AND latency_ms > 0 AND NOT (" TIMED ")"
#define EMULATED ROW_EMULATED_SQL("")
// The null engine computes nothing: its times count only where it is asked for by name.
#define TIMED \
	ROW_COUNTS_SQL("") \
	" AND NOT profiled AND NOT " ROW_NOT_VALID_SQL( \
		"") " AND NOT " EMULATED " AND latency_ms > 0 AND (COALESCE(engine, '') <> 'null' OR $2 = 'null')"
// %s: question_profile_sql, and question_word_sql.
static const char relations[] =
	"WITH of_model AS (SELECT * REPLACE (machine || CASE WHEN imported THEN ' imported' ELSE '' END AS machine), "
	"" QUESTION_FILES_SQL ", count(DISTINCT model_sha256) OVER (PARTITION BY model) AS file_sets FROM result JOIN"
	"  (SELECT c.id AS id, %s AS profiled FROM cell c) USING (id) WHERE " OF_MODEL "),"
	" asked AS (SELECT * FROM of_model WHERE $2 = '' OR requested = $2),"
	" latest_anywhere AS (SELECT * FROM of_model WHERE id IN (SELECT id FROM (%s))),"
	" latest AS (SELECT * FROM latest_anywhere WHERE $2 = '' OR requested = $2),"
	" timed_anywhere AS (SELECT * FROM latest_anywhere WHERE " TIMED "),"
	" timed AS (SELECT * FROM latest WHERE " TIMED "),"
	" timed_ever AS (SELECT * FROM asked WHERE state = 'finished' AND " TIMED "),"
	" detected AS (%s),"
	" processes AS (SELECT machine, cell_key, engine_version, count(*) AS n, min(latency_ms) AS least, max(latency_ms) AS "
	"most FROM of_model"
	"  WHERE state = 'finished' AND " TIMED " GROUP BY ALL)";

static const char left_out_sql[] =
	", why AS (SELECT CASE WHEN source IS NOT NULL THEN 'imported' WHEN engine = 'null' AND $2 <> 'null' THEN 'nothing' WHEN "
	"actual IS "
	"DISTINCT FROM requested THEN 'elsewhere' WHEN profiled THEN 'profiled' WHEN " ROW_NOT_VALID_SQL(
		"") " THEN 'not_valid'"
		    "  WHEN " EMULATED " THEN 'emulated' ELSE 'unjudged' END AS word FROM latest WHERE " HAS_TIME ")"
		    " SELECT count(*) FILTER (word = 'imported') AS imported, count(*) FILTER (word = 'nothing') AS nothing, "
		    "count(*) FILTER "
		    "(word = 'elsewhere') AS elsewhere,"
		    " count(*) FILTER (word = 'profiled') AS profiled, count(*) FILTER (word = 'not_valid') AS not_valid, "
		    "count(*) FILTER (word = 'emulated') AS emulated, count(*) FILTER "
		    "(word = 'unjudged') AS unjudged FROM why";

// Text in JSON has its quotes behind backslashes: a member's name with its quotes stands nowhere but where it means it.
static const char *record_sql(const struct table *columns)
{
	return table_integer(columns, 0, "n") > 0 ? "COALESCE(c.question, '')" : "''";
}

const char *question_apart_sql(struct arena *a, const struct table *columns)
{
	return arena_printf(a,
		"r.machine, r.imported, r.model, r.files, r.requested, r.source, c.device, "
		"c.asked_options" QUESTION_TELLS_APART_SQL,
		record_sql(columns));
}

const char *question_detected_sql(const struct table *columns)
{
	return table_integer(columns, 0, "origins") > 0
		? "SELECT d.* FROM platform_detection d JOIN run r ON r.id = d.run WHERE r.origin_id IS NULL OR NOT EXISTS "
		  "(SELECT 1 FROM run o WHERE o.origin_id IS NULL)"
		: "SELECT * FROM platform_detection";
}

const char *question_profile_sql(const struct table *columns)
{
	return table_integer(columns, 0, "n") > 0 ? "COALESCE(contains(c.question, '\"profile\":true'), FALSE)" : "FALSE";
}

const char *question_word_sql(struct arena *a, const char *from, const char *also, const char *apart)
{
	static const char sql[] =
		"SELECT max({'answers': answers, 'proves': NOT (verdict = 'timeout' AND seconds < most_seconds)"
		" AND NOT (verdict = 'no_memory' AND bytes < most_bytes), 'id': id}).id AS id, max(id) FILTER (answers) AS "
		"newest FROM"
		" (SELECT id, question, verdict, answers, seconds, bytes,"
		"  COALESCE(max(seconds) FILTER (ran OR verdict = 'timeout') OVER q, 0) AS most_seconds,"
		"  COALESCE(max(bytes) FILTER (ran OR verdict = 'no_memory') OVER q, 0) AS most_bytes FROM"
		"   (SELECT r.id AS id, min(r.id) OVER (PARTITION BY %s%s) AS question, COALESCE(r.verdict, '') AS verdict,"
		"    NOT COALESCE(r.state = 'running' OR r.verdict IN " VERDICT_NO_ANSWER_SQL ", FALSE) AS answers,"
		"    COALESCE(r.verdict, '') IN ('right', 'wrong', 'lossy', 'unjudged', 'fell_back', 'compiles') AS ran,"
		"    COALESCE(NULLIF(CAST(c.timeout_s AS DOUBLE), 0), CAST('inf' AS DOUBLE)) AS seconds,"
		"    COALESCE(NULLIF(CAST(c.memory_limit_bytes AS DOUBLE), 0), CAST('inf' AS DOUBLE)) AS bytes%s)"
		"  WINDOW q AS (PARTITION BY question)) GROUP BY question";

	return arena_printf(a, sql, apart, also, from);
}

const struct store_question *store_question_find(const char *name)
{
	for (const struct store_question *q = store_questions; q->name != NULL; q++) {
		if (text_is(q->name, name))
			return q;
	}
	return NULL;
}

static void add_count(struct text *out, const struct table *t, const char *column, const char *one, const char *many)
{
	int64_t n = table_integer(t, 0, column);

	if (n > 0)
		text_addf(out, "%s%lld %s", out->length > 0 ? ", " : "", (long long)n, n == 1 ? one : many);
}

enum status store_ask(struct store *s, const struct store_question *q, const struct store_asking *with, struct table *out,
	const char **left_out, struct error *err)
{
	const struct db_parameter asked[] = {
		{ .text = with->model != NULL ? with->model : "" },
		{ .text = with->platform != NULL ? with->platform : "" },
		{ .integer = with->limit > 0 ? with->limit : INT32_MAX },
	};
	struct text words = { 0 };
	struct table t = { 0 };
	struct db d = { 0 };
	enum status status = transaction_begin(s, false, &d, err);

	*left_out = NULL;
	if (status != STATUS_OK)
		return status;
	status = db_query(&d, &s->arena, QUESTION_RECORD_ASK, NULL, 0, &t, err);
	const char *latest = question_word_sql(&s->arena,
		" FROM of_model r JOIN cell c ON c.id = r.id WHERE r.state = 'finished' AND r.verdict NOT "
		"IN " VERDICT_NO_ANSWER_SQL,
		", COALESCE(r.tried, r.requested)", question_apart_sql(&s->arena, &t));
	const char *with_relations =
		arena_printf(&s->arena, relations, question_profile_sql(&t), latest, question_detected_sql(&t));
	if (status == STATUS_OK)
		status = db_query(
			&d, &s->arena, arena_printf(&s->arena, "%s%s LIMIT $3", with_relations, q->sql), asked, 3, out, err);
	if (status == STATUS_OK && q->timed_only)
		status =
			db_query(&d, &s->arena, arena_printf(&s->arena, "%s%s", with_relations, left_out_sql), asked, 2, &t, err);
	db_close(&d);
	if (status == STATUS_OK && q->timed_only) {
		add_count(&words, &t, "emulated", "row of an emulated device", "rows of emulated devices");
		add_count(&words, &t, "elsewhere", "row that ran elsewhere", "rows that ran elsewhere");
		add_count(&words, &t, "not_valid", "row of a scenario that is NOT VALID", "rows of scenarios that are NOT VALID");
		add_count(&words, &t, "profiled", "row of a profile", "rows of profiles");
		add_count(&words, &t, "unjudged", "row that nothing judged", "rows that nothing judged");
		add_count(&words, &t, "nothing", "row of the null engine, which computes nothing",
			"rows of the null engine, which computes nothing");
		add_count(&words, &t, "imported", "row imported from another tool", "rows imported from other tools");
		if (words.length > 0)
			*left_out = arena_printf(&s->arena, "times left out: %s", text_get(&words));
	}
	text_done(&words);
	return status == STATUS_OK ? status : error_prefix(err, "query %s", q->name);
}

enum status store_asking_check(struct store *s, const struct store_asking *with, struct error *err)
{
	const struct db_parameter asked[] = { { .text = with->model != NULL ? with->model : "" },
		{ .text = with->platform != NULL ? with->platform : "" } };
	struct table t = { 0 };
	struct db d = { 0 };
	enum status status = transaction_begin(s, false, &d, err);

	if (status != STATUS_OK)
		return status;
	status = db_query(&d, &s->arena,
		"SELECT count(*) FILTER (" OF_MODEL
		") AS models, count(*) FILTER ($2 = '' OR requested = $2) AS platforms FROM result",
		asked, 2, &t, err);
	db_close(&d);
	if (status != STATUS_OK)
		return status;
	if (with->platform != NULL && table_integer(&t, 0, "platforms") == 0 && platform_find(with->platform) == NULL)
		return error_set(err, STATUS_BAD_INPUT,
			"no platform is called \"%s\", and %s has no row of it; `assay platforms` lists those that there are",
			with->platform, s->path);
	if (with->model != NULL && table_integer(&t, 0, "models") == 0)
		return error_set(err, STATUS_BAD_INPUT, "%s has no row of a model \"%s\"", s->path, with->model);
	return STATUS_OK;
}
