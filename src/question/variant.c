// SPDX-License-Identifier: Apache-2.0
// Variants to JSON and into keys, generated from VARIANT_LIST: a new member needs nothing here.
#include "question/variant.h"

#include <stdbool.h>

static bool is_set_TEXT(const char *text)
{
	return text && *text;
}

static bool is_set_INTEGER(int64_t n)
{
	return n != 0;
}

static bool is_set_REAL(double x)
{
	return x < 0 || x > 0;
}

static void hash_TEXT(struct hash *h, const char *text)
{
	hash_add_text(h, text);
}

static void hash_INTEGER(struct hash *h, int64_t n)
{
	hash_add(h, &n, sizeof n);
}

static void hash_REAL(struct hash *h, double x)
{
	hash_add(h, &x, sizeof x);
}

void variant_hash(struct hash *h, const struct variant *v)
{
#define X(kind, name, meaning) \
	if (is_set_##kind(v->name)) { \
		hash_add_text(h, #name); \
		hash_##kind(h, v->name); \
	}
	VARIANT_LIST(X)
#undef X
}

static json_t *json_TEXT(const char *text)
{
	json_t *given = text ? json_string(text) : NULL;

	return given ? given : json_null();
}

static json_t *json_INTEGER(int64_t n)
{
	return json_integer(n);
}

static json_t *json_REAL(double x)
{
	return json_real(x);
}

void variant_put(json_t *object, const struct variant *v)
{
#define X(kind, name, meaning) json_object_set_new(object, #name, json_##kind(v->name));
	VARIANT_LIST(X)
#undef X
}

static const char *value_TEXT(struct arena *a, const json_t *given)
{
	return arena_strdup(a, json_string_value(given));
}

static int64_t value_INTEGER(struct arena *a, const json_t *given)
{
	(void)a;
	return json_integer_value(given);
}

static double value_REAL(struct arena *a, const json_t *given)
{
	(void)a;
	return json_number_value(given);
}

void variant_take(struct variant *v, struct arena *a, const json_t *object)
{
#define X(kind, name, meaning) v->name = value_##kind(a, json_object_get(object, #name));
	VARIANT_LIST(X)
#undef X
}
