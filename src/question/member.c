// SPDX-License-Identifier: Apache-2.0
// member.h: values of a struct by a table of its members.
#include "question/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

static const double gib = 1073741824.0;

static const char *text_at(const struct member *m, const void *of)
{
	const char *text = *(const char *const *)((const char *)of + m->offset);

	return text && *text && !text_is(text, m->standard) ? text : NULL;
}

static int64_t integer_at(const struct member *m, const void *of)
{
	return *(const int64_t *)((const char *)of + m->offset);
}

static double real_at(const struct member *m, const void *of)
{
	double x = *(const double *)((const char *)of + m->offset);

	return x > 0 || x < 0 ? x : 0; // what is not a number was not asked
}

// The shortest of both that reads as the same number.
static const char *real_word(struct arena *a, double x)
{
	const char *word = arena_printf(a, "%.15g", x);
	double back;

	return text_to_double(word, -1e300, 1e300, &back) && !(back < x) && !(back > x) ? word : arena_printf(a, "%.17g", x);
}

// The shortest that is read as the same number of bytes: 0.3 of 322122547.
static const char *gib_word(struct arena *a, int64_t nbytes)
{
	char word[40];

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(word, sizeof word, "%.*g", digits, (double)nbytes / gib);
		if ((int64_t)(strtod(word, NULL) * gib) == nbytes)
			break;
	}
	return arena_strdup(a, word);
}

static bool flag_at(const struct member *m, const void *of)
{
	return *(const bool *)((const char *)of + m->offset);
}

bool member_is_default(const struct member *m, const void *of)
{
	switch (m->kind) {
	case MEMBER_TEXT:
		return !text_at(m, of);
	case MEMBER_INTEGER:
	case MEMBER_GIB:
		return integer_at(m, of) == 0;
	case MEMBER_REAL:
		return !(real_at(m, of) > 0 || real_at(m, of) < 0);
	case MEMBER_FLAG:
		break;
	}
	return !flag_at(m, of);
}

bool member_is_same(const struct member *m, const void *x, const void *y)
{
	switch (m->kind) {
	case MEMBER_TEXT:
		return text_is(text_at(m, x), text_at(m, y));
	case MEMBER_INTEGER:
	case MEMBER_GIB:
		return integer_at(m, x) == integer_at(m, y);
	case MEMBER_REAL:
		return !(real_at(m, x) < real_at(m, y)) && !(real_at(m, x) > real_at(m, y));
	case MEMBER_FLAG:
		break;
	}
	return flag_at(m, x) == flag_at(m, y);
}

uint64_t member_hash(const struct member *m, const void *of)
{
	const double real = m->kind == MEMBER_REAL ? real_at(m, of) + 0.0 : 0; // -0 is 0
	const int64_t integer = m->kind == MEMBER_INTEGER || m->kind == MEMBER_GIB ? integer_at(m, of) : 0;

	switch (m->kind) {
	case MEMBER_TEXT:
		return fnv1a64_text(text_at(m, of));
	case MEMBER_INTEGER:
	case MEMBER_GIB:
		return fnv1a64(&integer, sizeof integer);
	case MEMBER_REAL:
		return fnv1a64(&real, sizeof real);
	case MEMBER_FLAG:
		break;
	}
	return flag_at(m, of);
}

const char *member_word(const struct member *m, struct arena *a, const void *of)
{
	if (member_is_default(m, of))
		return NULL;
	switch (m->kind) {
	case MEMBER_TEXT:
		return text_at(m, of);
	case MEMBER_INTEGER:
		return arena_printf(a, "%lld", (long long)integer_at(m, of));
	case MEMBER_GIB:
		return gib_word(a, integer_at(m, of));
	case MEMBER_REAL:
		return real_word(a, real_at(m, of));
	case MEMBER_FLAG:
		break;
	}
	return "";
}

enum status member_set(const struct member *m, void *of, const char *word, struct error *err)
{
	void *at = (char *)of + m->offset;
	double real;

	switch (m->kind) {
	case MEMBER_TEXT:
		*(const char **)at = word;
		return STATUS_OK;
	case MEMBER_INTEGER:
		if (!word || !text_to_int(word, (int64_t)m->least, (int64_t)m->most, at))
			return error_set(err, STATUS_BAD_INPUT, "--%s wants a whole number from %.0f to %.0f, not '%s'",
				m->option, m->least, m->most, word ? word : "");
		return STATUS_OK;
	case MEMBER_REAL:
	case MEMBER_GIB:
		if (!word || !text_to_double(word, m->least, m->most, &real))
			return error_set(err, STATUS_BAD_INPUT, "--%s wants a number from %g to %g, not '%s'", m->option,
				m->least, m->most, word ? word : "");
		if (m->kind == MEMBER_GIB)
			*(int64_t *)at = (int64_t)(real * gib);
		else
			*(double *)at = real;
		return STATUS_OK;
	case MEMBER_FLAG:
		break;
	}
	if (word && *word)
		return error_set(err, STATUS_BAD_INPUT, "--%s takes no value", m->option);
	*(bool *)at = true;
	return STATUS_OK;
}

static size_t size_of(const struct member *m)
{
	switch (m->kind) {
	case MEMBER_TEXT:
		return sizeof(const char *);
	case MEMBER_INTEGER:
	case MEMBER_GIB:
		return sizeof(int64_t);
	case MEMBER_REAL:
		return sizeof(double);
	case MEMBER_FLAG:
		break;
	}
	return sizeof(bool);
}

void member_copy(const struct member *m, void *to, const void *from)
{
	memcpy((char *)to + m->offset, (const char *)from + m->offset, size_of(m));
}

void member_clear(const struct member *m, void *of)
{
	static const union {
		const char *text;
		int64_t integer;
		double real;
		bool flag;
	} none;

	memcpy((char *)of + m->offset, &none, size_of(m));
}
