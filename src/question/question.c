// SPDX-License-Identifier: Apache-2.0
// Questions into keys and JSON, made from QUESTION_LIST: a new member needs nothing here.
#include "question/question.h"

#include <string.h>

#include "base/text.h"
#include "base/visible.h"

const struct member question_members[QUESTION_COUNT] = {
#define X(kind, name, use, place, where, words, standard, option, argument, least, most, help) \
	{ #name, option, argument, help, standard, MEMBER_##kind, offsetof(struct question, name), least, most },
	QUESTION_LIST(X)
#undef X
};

static const struct {
	enum question_use use;
	enum question_place place;
	const char *words;
} ways[QUESTION_COUNT] = {
#define X(kind, name, use, place, where, words, ...) { QUESTION_##use, QUESTION_##place, words },
	QUESTION_LIST(X)
#undef X
};

enum question_use question_use(enum question_at at)
{
	return ways[at].use;
}

enum question_place question_place(enum question_at at)
{
	return ways[at].place;
}

bool question_agrees(const struct question *x, const struct question *y, enum question_place place)
{
	for (size_t i = 0; i < QUESTION_COUNT; i++)
		if (ways[i].place == place && !member_is_same(&question_members[i], x, y))
			return false;
	return true;
}

uint64_t question_digest(const struct question *q, enum question_place place)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < QUESTION_COUNT; i++) {
		if (ways[i].place != place)
			continue;
		const uint64_t next[] = { hash, member_hash(&question_members[i], q) };
		hash = fnv1a64(next, sizeof next);
	}
	return hash;
}

bool question_tells(enum question_at at)
{
	const enum question_place p = ways[at].place;
	return p == QUESTION_ROW || p == QUESTION_TUNED || p == QUESTION_JUDGED;
}

bool question_same(const struct question *x, const struct question *y)
{
	return question_agrees(x, y, QUESTION_ROW) && question_agrees(x, y, QUESTION_TUNED) &&
		question_agrees(x, y, QUESTION_JUDGED);
}

bool question_is_usual(const struct question *q, enum question_place place)
{
	return question_agrees(q, &(struct question){ 0 }, place);
}

// The formats are the list's own, each for its kind: unit.side has them all said.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
const char *question_words(struct arena *a, const struct question *q)
{
	const char *out = "";

	for (size_t i = 0; i < QUESTION_COUNT; i++) {
		const struct member *m = &question_members[i];
		const char *at = (const char *)q + m->offset, *format = ways[i].words, *said;

		if (!*format || member_is_default(m, q))
			continue;
		switch (m->kind) {
		case MEMBER_INTEGER:
			said = arena_printf(a, format, (long long)*(const int64_t *)(const void *)at);
			break;
		case MEMBER_REAL:
			said = arena_printf(a, format, *(const double *)(const void *)at);
			break;
		case MEMBER_FLAG:
			said = format;
			break;
		default:
			said = arena_printf(a, format, *(const char *const *)(const void *)at);
		}
		out = arena_printf(a, "%s%s%s", out, *out && *format != ' ' ? ", " : "", said);
	}
	return out;
}
#pragma GCC diagnostic pop

void question_hash(struct hash *h, const struct question *q)
{
	for (size_t i = 0; i < QUESTION_COUNT; i++) {
		const struct member *m = &question_members[i];
		struct arena a = { 0 };

		if (ways[i].use != QUESTION_NO_KEY && !member_is_default(m, q)) {
			hash_add_text(h, m->name);
			hash_add_text(h, member_word(m, &a, q));
		}
		arena_done(&a);
	}
}

static const char bytes[] = "bytes";

json_t *question_text_put(const char *text)
{
	json_t *given = text ? json_string(text) : json_null();
	struct text codes = { 0 };

	if (given)
		return given;
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		text_addf(&codes, *p < 0x80 ? "%c" : "%c%c", *p < 0x80 ? *p : 0xC0 | *p >> 6, 0x80 | (*p & 0x3F));
	given = json_pack("{s:s}", bytes, text_get(&codes));
	text_done(&codes);
	return given ? given : json_null();
}

const char *question_text_take(struct arena *a, const json_t *given)
{
	const char *codes = json_string_value(json_object_get(given, bytes));
	struct text t = { 0 };
	uint32_t code;

	if (!codes)
		return arena_strdup(a, json_string_value(given));
	for (size_t n, left = strlen(codes); left && (n = visible_utf8(codes, left, &code)) != 0; codes += n, left -= n)
		text_add_bytes(&t, &(char){ (char)code }, 1);
	const char *copy = arena_strdup(a, text_get(&t));
	text_done(&t);
	return copy;
}

static json_t *put_TEXT(const char *text)
{
	return question_text_put(text);
}

static json_t *put_INTEGER(int64_t n)
{
	return json_integer(n);
}
#define put_GIB put_INTEGER

static json_t *put_REAL(double x)
{
	json_t *given = json_real(x);

	return given ? given : json_null();
}

static json_t *put_FLAG(bool b)
{
	return json_boolean(b);
}

void question_put(json_t *object, const struct question *q)
{
#define X(kind, name, ...) json_object_set_new(object, #name, put_##kind(q->name));
	QUESTION_LIST(X)
#undef X
}

static const char *take_TEXT(struct arena *a, const json_t *given)
{
	return question_text_take(a, given);
}

static int64_t take_INTEGER(struct arena *a, const json_t *given)
{
	(void)a;
	return json_integer_value(given);
}
#define take_GIB take_INTEGER

static double take_REAL(struct arena *a, const json_t *given)
{
	(void)a;
	return json_number_value(given);
}

static bool take_FLAG(struct arena *a, const json_t *given)
{
	(void)a;
	return json_is_true(given);
}

void question_take(struct question *q, struct arena *a, const json_t *object)
{
#define X(kind, name, ...) q->name = take_##kind(a, json_object_get(object, #name));
	QUESTION_LIST(X)
#undef X
}
