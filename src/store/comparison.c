// SPDX-License-Identifier: Apache-2.0
// comparison.h: lines in and out. What they come to is computed in stats/compare.c, what is run in analysis/ab.c.
#include "store/comparison.h"

#include <math.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "question/standing.h"
#include "store/transaction.h"

void comparison_init(struct store_comparison *c)
{
#define NONE_TEXT NULL
#define NONE_JSON NULL
#define NONE_REAL (double)NAN
#define NONE_INTEGER ROW_NONE
#define NONE_BOOLEAN -1
#define X(kind, name, meaning) c->name = NONE_##kind;
	COMPARISON_LIST(X)
#undef X
}

static json_t *json_of_text(const char *s)
{
	return s ? json_string(s) : json_null();
}

static json_t *json_of_json(const char *s)
{
	json_t *v = json_parse(s);

	return v ? v : json_null();
}

static json_t *json_of_real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *json_of_integer(int64_t x)
{
	return x != ROW_NONE ? json_integer(x) : json_null();
}

static json_t *json_of_boolean(int x)
{
	return x < 0 ? json_null() : json_boolean(x);
}

const char *comparison_qualifiers(struct arena *a, const struct store_comparison *c, int side)
{
	const char *requested = side ? c->requested_b : c->requested_a;
	struct row r;

	row_init(&r);
	r.layers = c->layers;
	r.weights = c->synthetic == 1 ? "synthetic" : NULL;
	r.emulated = side ? c->emulated_b : c->emulated_a;
	r.engine = text_is(requested, "null") ? requested : NULL;
	return row_qualifiers(a, &r, QUALIFY_ALL);
}

json_t *comparison_json(const struct store_comparison *c)
{
	json_t *out = json_object();

#define JSON_OF_TEXT json_of_text
#define JSON_OF_JSON json_of_json
#define JSON_OF_REAL json_of_real
#define JSON_OF_INTEGER json_of_integer
#define JSON_OF_BOOLEAN json_of_boolean
#define X(kind, name, meaning) json_object_set_new(out, #name, JSON_OF_##kind(c->name));
	COMPARISON_LIST(X)
#undef X
	return out;
}

static void insert_comparison(struct insert *in, const struct store_comparison *c)
{
#define KIND_TEXT V_TEXT
#define KIND_JSON V_TEXT
#define KIND_REAL V_REAL
#define KIND_INTEGER V_INTEGER
#define KIND_BOOLEAN V_BOOLEAN
#define X(kind, name, meaning) KIND_##kind(#name, c->name),
	const struct db_value values[] = { COMPARISON_LIST(X) };
#undef X

	insert_row(in, values, sizeof values / sizeof *values);
}

enum status store_comparisons(struct store *s, struct store_comparison *items, size_t count, struct error *err)
{
	struct db d = { 0 };
	struct insert in;
	int64_t id;
	enum status st;

	if (s->run <= 0)
		return error_set(err, STATUS_BAD_INPUT, "the store has no run: store_begin_run comes first");
	if ((st = transaction_begin(s, true, &d, err)))
		return st;
	if (!(st = transaction_next_id(&d, "comparison", &id, err))) {
		insert_begin(&in, &d, "comparison");
		for (size_t i = 0; i < count; i++) {
			items[i].id = id + (int64_t)i;
			items[i].run = s->run;
			insert_comparison(&in, &items[i]);
		}
		st = insert_end(&in, err);
	}
	return transaction_end(s, &d, st, err);
}

static double real_of(const struct table *t, size_t row, const char *column)
{
	const char *text = table_get(t, row, column);
	double out;

	return text && text_to_double(text, -HUGE_VAL, HUGE_VAL, &out) ? out : (double)NAN;
}

static int boolean_of(const struct table *t, size_t row, const char *column)
{
	const char *text = table_get(t, row, column);

	return text ? text_is(text, "true") : -1;
}

enum status store_comparison_list(struct store *s, size_t most, struct store_comparison **out, size_t *count, struct error *err)
{
	struct table t;
	enum status st = store_query(
		s, "SELECT count(*) AS n FROM duckdb_tables() WHERE table_name = 'comparison' AND schema_name = 'main'", &t, err);

	*count = 0;
	*out = NULL;
	if (st || table_integer(&t, 0, "n") == 0)
		return st;
	if ((st = store_query(s,
		     arena_printf(&s->arena, "SELECT * FROM (FROM comparison ORDER BY id DESC LIMIT %zu) ORDER BY id", most), &t,
		     err)))
		return st;
	*out = ARENA_ARRAY(&s->arena, t.row_count + 1, struct store_comparison);
	*count = t.row_count;
	for (size_t i = 0; i < t.row_count; i++) {
#define OF_TEXT table_get
#define OF_JSON table_get
#define OF_REAL real_of
#define OF_INTEGER table_integer
#define OF_BOOLEAN boolean_of
#define X(kind, name, meaning) (*out)[i].name = OF_##kind(&t, i, #name);
		COMPARISON_LIST(X)
#undef X
	}
	return STATUS_OK;
}
