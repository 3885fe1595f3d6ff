// SPDX-License-Identifier: Apache-2.0
// Facts of a platform as lines for people: names as they stand in the JSON, sizes and frequencies with units.
#include "show_facts.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "emit.h"
#include "show.h"

static bool is_plain(const json_t *v)
{
	return !json_is_object(v) && !json_is_array(v);
}

static bool holds_plain(const json_t *v)
{
	const char *key;
	json_t *one;
	size_t i;

	if (json_is_object(v)) {
		json_object_foreach((json_t *)v, key, one) if (!is_plain(one)) return false;
	} else {
		json_array_foreach(v, i, one) if (!is_plain(one)) return false;
	}
	return true;
}

static void add_value(struct text *t, struct arena *a, const char *key, const json_t *v)
{
	const json_int_t n = json_integer_value(v);

	if (json_is_string(v))
		text_add(t, json_string_value(v));
	else if (json_is_integer(v) && (text_ends(key, "_bytes") || text_is(key, "bytes")))
		text_add(t, n > 0 && n < 1024 ? arena_printf(a, "%lld bytes", (long long)n) : show_size(a, (uint64_t)n));
	else if (json_is_integer(v) && text_ends(key, "_khz"))
		text_addf(t, "%.2f GHz", (double)n / 1e6);
	else if (json_is_integer(v))
		text_addf(t, "%lld", (long long)n);
	else if (json_is_real(v))
		text_addf(t, "%.2f", json_real_value(v));
	else
		text_add(t, json_is_true(v) ? "yes" : json_is_false(v) ? "no" : "none");
}

// "shared_by_threads" -> "shared by threads"; the unit is in the value.
static const char *words(struct arena *a, const char *key)
{
	char *out = arena_strdup(a, key);
	const size_t n = strlen(out);

	for (char *c = out; *c; c++)
		if (*c == '_')
			*c = ' ';
	if (text_ends(key, "_bytes"))
		out[n - 6] = 0;
	else if (text_ends(key, "_khz"))
		out[n - 4] = 0;
	return out;
}

static void add_plain(struct text *t, struct arena *a, const char *key, const json_t *v)
{
	const char *name;
	json_t *one;
	size_t i;

	if (json_is_object(v)) {
		json_object_foreach((json_t *)v, name, one)
		{
			text_addf(t, "%s%s ", t->length ? ", " : "", words(a, name));
			add_value(t, a, name, one);
		}
	} else if (json_is_array(v)) {
		json_array_foreach(v, i, one)
		{
			text_add(t, t->length ? ", " : "");
			add_value(t, a, key, one);
		}
	} else {
		add_value(t, a, key, v);
	}
}

static void print_one(struct arena *a, const char *indent, const char *key, const json_t *v)
{
	struct text t = { 0 };
	const char *name;
	json_t *one;
	size_t i;

	if (is_plain(v) || holds_plain(v)) {
		add_plain(&t, a, key, v);
		emit("%s%s: %s\n", indent, words(a, key), text_get(&t));
		text_done(&t);
	} else if (json_is_array(v)) {
		json_array_foreach(v, i, one) print_one(a, indent, arena_printf(a, "%s %zu", key, i), one);
	} else {
		emit("%s%s:\n", indent, words(a, key));
		json_object_foreach((json_t *)v, name, one) print_one(a, arena_printf(a, "%s  ", indent), name, one);
	}
}

void show_facts(struct arena *a, const char *indent, const json_t *facts)
{
	const char *key;
	json_t *one;

	json_object_foreach((json_t *)facts, key, one) if (!text_is(key, "findings") && !text_is(key, "cause"))
		print_one(a, indent, key, one);
}
