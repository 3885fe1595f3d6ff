// SPDX-License-Identifier: Apache-2.0
// Rows read back: a result's text as the values it stood for, one row by its number, and the row that a fallback's cost is held
// against. Writes nothing.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "question/standing.h"
#include "store/transaction.h"

double table_real(const struct table *t, size_t row, const char *column)
{
	const char *text = table_get(t, row, column);
	double out;

	return text != NULL && text_to_double(text, -HUGE_VAL, HUGE_VAL, &out) ? out : (double)NAN;
}

int table_boolean(const struct table *t, size_t row, const char *column)
{
	const char *text = table_get(t, row, column);

	return text == NULL ? -1 : text_is(text, "true");
}

void table_row(const struct table *t, size_t i, struct row *out)
{
	row_init(out);
#define OF_TEXT table_get
#define OF_JSON table_get
#define OF_REAL table_real
#define OF_INTEGER table_integer
#define OF_BOOLEAN table_boolean
#define X(kind, name, meaning) out->name = OF_##kind(t, i, #name);
	ROW_LIST(X)
#undef X
}

enum status store_row(struct store *s, struct arena *a, int64_t row, struct row *out, struct error *err)
{
	struct table t;
	struct db d = { 0 };
	enum status status = transaction_begin(s, false, &d, err);

	if (status != STATUS_OK)
		return status;
	status = db_query(&d, a, "SELECT * FROM result WHERE id = ?", &(struct db_parameter){ .integer = row }, 1, &t, err);
	db_close(&d);
	if (status != STATUS_OK)
		return status;
	if (t.row_count == 0)
		return error_set(err, STATUS_BAD_INPUT, "%s has no row %lld", s->path, (long long)row);
	table_row(&t, 0, out);
	return STATUS_OK;
}

// What must be equal for two times to be compared. "Asked for and run": a fallback's time is another platform's. An emulator's
// time is no hardware's, and the null engine's none at all: those are held against their like only. What a foreign tool measured
// answers no question of assay's, and a time of outputs that nothing judged is no reference.
static const char same_question[] =
	"SELECT o.id AS id, o.latency_ms AS latency_ms, strftime(o.finished_at, '%Y-%m-%d') AS day FROM result o JOIN result r "
	"ON r.id = ?"
	" JOIN cell oc ON oc.id = o.id JOIN cell rc ON rc.id = r.id"
	" WHERE o.id < r.id AND o.state = 'finished' AND " ROW_RIGHT_SQL(
		"o.") " AND o.latency_ms > 0 AND o.fallback_of IS NULL AND NOT o.imported"
		      " AND o.requested = ? AND o.machine = r.machine AND o.model = ? AND o.batch IS NOT DISTINCT FROM r.batch"
		      " AND (COALESCE(o.engine, '') = 'null') = (? = 'null') AND (COALESCE(o.engine, '') = 'null' OR NOT "
		      "COALESCE(o.emulated, FALSE))"
		      " AND COALESCE(o.weights, '') = ? AND COALESCE(o.layers, 0) = ? AND COALESCE(o.sequence, 0) = ? AND "
		      "COALESCE(o.prompt_tokens, 0) = ?"
		      " AND COALESCE(o.new_tokens, 0) = ?"
		      " AND (COALESCE(o.model_sha256, '') IN ('', ?) OR ? = '')";
enum { SAME_FIXED = 11, PARAMETERS_MOST = SAME_FIXED + QUESTION_COUNT + 4 };

// And of the question every column that tells questions apart, but the precision, which each caller holds against its own: as
// conditions with a parameter each, their values in `p`.
static const char *asked_sql(struct arena *a, const struct row *like, struct db_parameter *p, size_t *count)
{
	struct question q;
	struct text t = { 0 };

	row_asked(&q, like);
	for (size_t i = 0; i < QUESTION_COUNT; i++) {
		const struct member *m = &question_members[i];
		const char *word = member_word(m, a, &q);

		if (!question_tells((enum question_at)i) || question_place((enum question_at)i) == QUESTION_JUDGED ||
			i == QUESTION_AT_precision)
			continue;
		text_addf(&t,
			m->kind == MEMBER_TEXT           ? " AND COALESCE(nullif(o.%s, '%s'), '') = ?"
				: m->kind == MEMBER_FLAG ? " AND COALESCE(o.%s, FALSE) = CAST(? AS BOOLEAN)"
							 : " AND COALESCE(o.%s, 0) = CAST(? AS DOUBLE)",
			m->name, m->standard);
		if (m->kind == MEMBER_FLAG)
			word = word ? "true" : "false";
		p[(*count)++] = (struct db_parameter){ .text = word ? word : m->kind == MEMBER_TEXT ? "" : "0" };
	}
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

static const char *given(const char *text)
{
	return text != NULL ? text : "";
}

static int64_t counted(int64_t n)
{
	return n != ROW_NONE ? n : 0;
}

// The conditions; their values, and how many, in `p`.
static const char *ask_same(struct db_parameter *p, size_t *count, struct arena *a, const struct row *like)
{
	const struct db_parameter fixed[SAME_FIXED] = {
		{ .integer = like->row },
		{ .text = given(like->requested) },
		{ .text = given(like->model) },
		{ .text = given(like->engine) },
		{ .text = given(like->weights) },
		{ .integer = counted(like->layers) },
		{ .integer = counted(like->sequence) },
		{ .integer = counted(like->prompt_tokens) },
		{ .integer = counted(like->new_tokens) },
		{ .text = given(like->model_sha256) },
		{ .text = given(like->model_sha256) },
	};

	memcpy(p, fixed, sizeof fixed);
	*count = SAME_FIXED;
	return arena_printf(a, "%s%s", same_question, asked_sql(a, like, p, count));
}

static enum status last_of(struct store *s, struct arena *a, const char *sql, const struct db_parameter *p, size_t count,
	struct store_measured *out, struct error *err)
{
	struct table t = { 0 };
	struct db d = { 0 };
	enum status status = transaction_begin(s, false, &d, err);

	*out = (struct store_measured){ .row = ROW_NONE, .latency_ms = (double)NAN };
	if (status != STATUS_OK)
		return status;
	status = db_query(&d, a, arena_printf(a, "%s ORDER BY o.id DESC LIMIT 1", sql), p, count, &t, err);
	db_close(&d);
	if (status == STATUS_OK && t.row_count > 0)
		*out = (struct store_measured){ table_integer(&t, 0, "id"), table_real(&t, 0, "latency_ms"),
			table_get(&t, 0, "day") };
	return status;
}

enum status store_last_measured(
	struct store *s, struct arena *a, const struct row *like, struct store_measured *out, struct error *err)
{
	static const char as_computed[] =
		" AND COALESCE(o.weights_dtype, '') = ? AND COALESCE(o.compute_dtype, '') = ? AND COALESCE(o.precision, '') = ?";
	struct db_parameter what[PARAMETERS_MOST];
	size_t n;
	const char *sql = ask_same(what, &n, a, like);

	what[n++] = (struct db_parameter){ .text = given(like->weights_dtype) };
	what[n++] = (struct db_parameter){ .text = given(like->compute_dtype) };
	what[n++] = (struct db_parameter){ .text = given(like->precision) };
	return last_of(s, a, arena_printf(a, "%s%s", sql, as_computed), what, n, out, err);
}

static const char float32_alike[] =
	" AND COALESCE(o.precision, 'stored') IN ('stored', 'float32') AND COALESCE(o.compute_dtype, '') IN ('f32', 'none')"
	" AND COALESCE(oc.device, '') = COALESCE(rc.device, '') AND COALESCE(oc.asked_options, '') = COALESCE(rc.asked_options, "
	"'')"
	" AND oc.static_shapes IS NOT DISTINCT FROM rc.static_shapes";

enum status store_last_float32(
	struct store *s, struct arena *a, const struct row *like, struct store_measured *out, struct error *err)
{
	struct db_parameter what[PARAMETERS_MOST];
	size_t n;
	const char *sql = ask_same(what, &n, a, like);

	return last_of(s, a, arena_printf(a, "%s%s", sql, float32_alike), what, n, out, err);
}

// One process a row: the times of its last event.
static struct compare_process *take_processes(const struct table *t, struct arena *a, size_t *count)
{
	struct compare_process *out = ARENA_ARRAY(a, t->row_count + 1, struct compare_process);
	double *ms = ARENA_ARRAY(a, t->row_count + 1, double);

	*count = 0;
	for (size_t i = 0; i < t->row_count; i++) {
		ms[i] = table_real(t, i, "ms");
		if (i == 0 || table_integer(t, i, "cell") != table_integer(t, i - 1, "cell"))
			out[(*count)++] = (struct compare_process){ ms + i, 0 };
		out[*count - 1].count++;
	}
	return out;
}

enum status store_processes(struct store *s, struct arena *a, const struct row *like, bool in_float32,
	struct compare_process **out, size_t *count, struct error *err)
{
	static const char same_precision[] =
		" AND COALESCE(o.precision, '') = ? AND COALESCE(oc.device, '') = COALESCE(rc.device, '')"
		" AND COALESCE(oc.asked_options, '') = COALESCE(rc.asked_options, '') AND oc.static_shapes IS NOT DISTINCT FROM "
		"rc.static_shapes";
	struct db_parameter what[PARAMETERS_MOST];
	size_t n;
	const char *sql = ask_same(what, &n, a, like);
	struct table t = { 0 };
	struct db d = { 0 };
	enum status status = transaction_begin(s, false, &d, err);

	*count = 0;
	if (status != STATUS_OK)
		return status;
	if (!in_float32)
		what[n++] = (struct db_parameter){ .text = given(like->precision) };
	what[n++] = (struct db_parameter){ .text = given(like->engine_version) };
	status = db_query(&d, a,
		arena_printf(a,
			"SELECT s.cell, s.ms FROM sample s JOIN (%s%s AND COALESCE(o.engine_version, '') = ? ORDER BY o.id DESC "
			"LIMIT %d) q ON q.id = s.cell"
			" WHERE s.ms > 0 QUALIFY s.event = max(s.event) OVER (PARTITION BY s.cell) ORDER BY s.cell, s.number",
			sql, in_float32 ? float32_alike : same_precision, STORE_PROCESSES_MOST),
		what, n, &t, err);
	db_close(&d);
	if (status == STATUS_OK)
		*out = take_processes(&t, a, count);
	return status;
}
