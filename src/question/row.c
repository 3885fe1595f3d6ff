// SPDX-License-Identifier: Apache-2.0
// A row to JSON and back, generated from ROW_LIST: a new field needs nothing here. JSON knows no NaN and no infinity, so a
// real that is not finite is null. In text that is not UTF-8, which the name of a folder may be, the bad bytes are escapes
// (base/visible.h).
#include "question/row.h"

#include <math.h>
#include <string.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"

#define ABSENT_TEXT NULL
#define ABSENT_JSON NULL
#define ABSENT_REAL ((double)NAN)
#define ABSENT_INTEGER ROW_NONE
#define ABSENT_BOOLEAN (-1)

void row_init(struct row *r)
{
#define X(kind, name, meaning) r->name = ABSENT_##kind;
	ROW_LIST(X)
#undef X
}

static const char *asked_TEXT(const char *text)
{
	return text;
}

static int64_t asked_INTEGER(int64_t n)
{
	return n != 0 ? n : ROW_NONE;
}

static double asked_REAL(double x)
{
	return x > 0 ? x : (double)NAN;
}

static int asked_BOOLEAN(bool b)
{
	return b ? 1 : -1;
}

void row_set_asked(struct row *r, const struct question *q)
{
#define X(kind, name, meaning) r->name = asked_##kind(q->name);
	QUESTION_COLUMN_LIST(X)
#undef X
}

static const char *given_TEXT(const char *text)
{
	return text;
}

static int64_t given_INTEGER(int64_t n)
{
	return n != ROW_NONE ? n : 0;
}

static double given_REAL(double x)
{
	return x > 0 ? x : 0;
}

static bool given_BOOLEAN(int b)
{
	return b == 1;
}

void row_asked(struct question *q, const struct row *r)
{
	*q = (struct question){ 0 };
#define X(kind, name, meaning) q->name = given_##kind(r->name);
	QUESTION_COLUMN_LIST(X)
#undef X
	for (size_t i = 0; i < QUESTION_COUNT; i++) // "stored" is what nobody asked for
		if (member_is_default(&question_members[i], q))
			member_clear(&question_members[i], q);
}

bool row_left_none(const struct row *r)
{
	return r->nodes_on_platform == 0 && r->nodes_elsewhere == 0 && r->partitions == 0 && r->requested &&
		!text_is(r->requested, "cpu");
}

bool row_took_none(const struct row *r)
{
	if (r->nodes_on_platform != 0)
		return false;
	if (row_left_none(r))
		return true;
	// What was folded into other nodes before ran nowhere.
	return r->nodes_elsewhere != ROW_NONE ? r->nodes_elsewhere > 0
					      : r->nodes > 0 && (r->nodes_fused == ROW_NONE || r->nodes_fused < r->nodes);
}

double row_peak_mib(const struct row *r)
{
	// fmax takes the other one when one is NaN
	return fmax(fmax(r->peak_pss_mib, r->peak_resident_mib), r->peak_anonymous_mib);
}

double row_median_per_s(const struct row *r)
{
	const bool is_plain = r->new_tokens == ROW_NONE && (r->scenario == NULL || text_is(r->scenario, "single-stream"));

	return is_plain && r->latency_ms > 0 && r->batch > 0 ? 1000 * (double)r->batch / r->latency_ms : row_per_s(r);
}

double row_per_s(const struct row *r)
{
	if (isfinite(r->throughput_per_s))
		return r->throughput_per_s;
	if (isfinite(r->tokens_per_s))
		return r->tokens_per_s;
	return r->latency_ms > 0 && r->batch > 0 ? 1000 * (double)r->batch / r->latency_ms : (double)NAN;
}

static json_t *or_null(json_t *value)
{
	return value ? value : json_null();
}

static json_t *put_TEXT(const char *text)
{
	return visible_json_string(text);
}

static json_t *put_JSON(const char *text)
{
	return text ? or_null(json_parse(text)) : json_null();
}

static json_t *put_REAL(double x)
{
	return isfinite(x) ? or_null(json_real(x)) : json_null();
}

static json_t *put_INTEGER(int64_t n)
{
	return n == ROW_NONE ? json_null() : json_integer(n);
}

static json_t *put_BOOLEAN(int b)
{
	return b < 0 ? json_null() : json_boolean(b);
}

static size_t weigh(const char *text)
{
	return text ? json_weight(text, strlen(text), JSON_MOST) : 0;
}

size_t row_json_weight(const struct row *r)
{
	size_t n = 0;

#define OF_TEXT(member)
#define OF_JSON(member) n += weigh(r->member);
#define OF_REAL(member)
#define OF_INTEGER(member)
#define OF_BOOLEAN(member)
#define X(kind, name, meaning) OF_##kind(name)
	ROW_LIST(X)
#undef X
#undef OF_TEXT
#undef OF_JSON
#undef OF_REAL
#undef OF_INTEGER
#undef OF_BOOLEAN
	return n;
}

json_t *row_to_json(const struct row *r)
{
	json_t *object = json_object();

#define X(kind, name, meaning) json_object_set_new(object, #name, put_##kind(r->name));
	ROW_LIST(X)
#undef X
	return object;
}

static bool take_TEXT(const char **out, struct arena *a, const json_t *value)
{
	if (json_is_null(value))
		*out = NULL;
	else if (json_is_string(value))
		*out = arena_strdup(a, json_string_value(value));
	else
		return false;
	return true;
}

static bool take_JSON(const char **out, struct arena *a, const json_t *value)
{
	char *text;

	if (json_is_null(value)) {
		*out = NULL;
		return true;
	}
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
	if (!text)
		return false;
	*out = arena_strdup(a, text);
	free(text);
	return true;
}

static bool take_REAL(double *out, struct arena *a, const json_t *value)
{
	(void)a;
	if (json_is_null(value))
		*out = (double)NAN;
	else if (json_is_number(value))
		*out = json_number_value(value);
	else
		return false;
	return true;
}

static bool take_INTEGER(int64_t *out, struct arena *a, const json_t *value)
{
	(void)a;
	if (json_is_null(value))
		*out = ROW_NONE;
	else if (json_is_integer(value))
		*out = json_integer_value(value);
	else
		return false;
	return true;
}

static bool take_BOOLEAN(int *out, struct arena *a, const json_t *value)
{
	(void)a;
	if (json_is_null(value))
		*out = -1;
	else if (json_is_boolean(value))
		*out = json_is_true(value);
	else
		return false;
	return true;
}

enum status row_from_json(struct row *r, struct arena *a, const json_t *object, struct error *err)
{
	const json_t *value;

	if (!json_is_object(object))
		return error_set(err, STATUS_BAD_INPUT, "a row is not a JSON object");
#define X(kind, name, meaning) \
	value = json_object_get(object, #name); \
	if (value && !take_##kind(&r->name, a, value)) \
		return error_set(err, STATUS_BAD_INPUT, "row: \"%s\" is not of the kind %s", #name, #kind);
	ROW_LIST(X)
#undef X
	return STATUS_OK;
}
