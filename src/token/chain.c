// SPDX-License-Identifier: Apache-2.0
// From the objects of tokenizer.json to lists of steps.
#include "token/inside.h"
#include "token/unicode.h"

enum { STEPS_MOST = 1000, DEPTH_MOST = 32 };

static const struct step_kind *find_kind(const struct step_kind *kinds, const char *name)
{
	for (; kinds->name; kinds++)
		if (text_is(kinds->name, name))
			return kinds;
	return NULL;
}

static size_t count_steps(const struct chain *c, const json_t *from, int depth)
{
	const json_t *list = json_object_get(from, c->list), *one;
	size_t i, n = 0;

	if (!json_is_array(list) || depth == DEPTH_MOST)
		return 1;
	json_array_foreach(list, i, one) n += count_steps(c, one, depth + 1);
	return n;
}

static enum status add_steps(struct chain *c, struct arena *a, const json_t *from, int depth, struct error *err)
{
	const char *type = json_string_value(json_object_get(from, "type"));
	const json_t *list = json_object_get(from, c->list), *one;
	size_t i;
	enum status s = STATUS_OK;

	if (!json_is_object(from))
		return error_set(err, STATUS_BAD_INPUT, "a step that is no object");
	if (text_is(type, "Sequence")) {
		if (!json_is_array(list) || depth == DEPTH_MOST)
			return error_set(err, STATUS_BAD_INPUT, "a Sequence without \"%s\", or too deep", c->list);
		json_array_foreach(list, i, one) if ((s = add_steps(c, a, one, depth + 1, err))) return s;
		return s;
	}
	const struct step_kind *kind = type ? find_kind(c->kinds, type) : NULL;
	if (!kind)
		return error_set(err, STATUS_BAD_INPUT, "a step of the type \"%s\" is not known", type ? type : "(none)");
	struct step *step = &c->steps[c->count];
	*step = (struct step){ .kind = kind, .patterns = c->patterns };
	if (kind->parse && (s = kind->parse(step, a, from, err)))
		return error_prefix(err, "%s", kind->name);
	c->count++;
	return s;
}

enum status chain_parse(struct chain *c, struct arena *a, const json_t *from, struct error *err)
{
	size_t n;

	if (!from || json_is_null(from))
		return STATUS_OK;
	if ((n = count_steps(c, from, 0)) > STEPS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "a chain of %zu steps", n);
	c->steps = ARENA_ARRAY(a, n + 1, struct step);
	return add_steps(c, a, from, 0, err);
}

void chain_flow(const struct chain *c, struct flow *f)
{
	for (size_t i = 0; i < c->count && f->failed.status == STATUS_OK; i++) {
		f->work += f->used;
		if (f->work > f->work_most)
			flow_fail(f, "its steps go over the text more than %d times: no tokenizer in use does", FLOW_PASSES_MOST);
		else
			c->steps[i].kind->flow(f, c->steps[i].own);
	}
}

// ---- members --------------------------------------------------------------------------------------------------------------

static enum status wrong(const char *key, const char *wanted, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "\"%s\" is no %s", key, wanted);
}

enum status member_needed(const json_t *o, const char *key, struct error *err)
{
	return json_object_get(o, key) ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "there is no \"%s\"", key);
}

enum status member_bool(const json_t *o, const char *key, bool *out, struct error *err)
{
	const json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return STATUS_OK;
	if (!json_is_boolean(v))
		return wrong(key, "boolean", err);
	*out = json_is_true(v);
	return STATUS_OK;
}

enum status member_size(const json_t *o, const char *key, size_t *out, struct error *err)
{
	const json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return STATUS_OK;
	if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > INT32_MAX)
		return wrong(key, "number from 0 to 2^31 - 1", err);
	*out = (size_t)json_integer_value(v);
	return STATUS_OK;
}

struct slice slice_copy(struct arena *a, struct slice s)
{
	char *copy = arena_alloc(a, s.n + 1);

	if (s.n)
		memcpy(copy, s.s, s.n);
	return (struct slice){ copy, s.n };
}

struct slice slice_text(const char *s)
{
	return (struct slice){ s, strlen(s) };
}

enum status member_text(const json_t *o, const char *key, struct arena *a, struct slice *out, struct error *err)
{
	const json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return STATUS_OK;
	if (!json_is_string(v))
		return wrong(key, "text", err);
	*out = slice_copy(a, (struct slice){ json_string_value(v), json_string_length(v) });
	return STATUS_OK;
}

enum status member_char(const json_t *o, const char *key, uint32_t *out, struct error *err)
{
	const json_t *v = json_object_get(o, key);
	const char *s = json_string_value(v);
	size_t length;

	if (!s || !json_string_length(v) || json_string_length(v) != utf8_length(s[0]))
		return wrong(key, "single character", err);
	*out = utf8_next(s, &length);
	return STATUS_OK;
}

enum status member_pattern(const json_t *o, struct pattern_list *all, struct pattern **out, struct error *err)
{
	const json_t *v = json_object_get(o, "pattern"), *text = json_object_get(v, "String");

	if (json_is_string(text)) {
		*out = pattern_literal(all->a, json_string_value(text), json_string_length(text));
		return STATUS_OK;
	}
	text = json_object_get(v, "Regex");
	if (!json_is_string(text))
		return wrong("pattern", "{\"String\": ..} or {\"Regex\": ..}", err);
	return pattern_regex(out, all, json_string_value(text), json_string_length(text), err);
}
