// SPDX-License-Identifier: Apache-2.0
// Members of a question and its options, checked; members of its answer.
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "pipeline/inside.h"
#include "preprocess/decode.h"

enum status call_text(const struct call *c, const char *key, const char **out, struct error *err)
{
	const json_t *x = json_object_get(c->input, key);

	*out = json_string_value(x);
	if (!*out)
		return error_set(err, STATUS_BAD_INPUT, x ? "the input's %s is no text" : "the input has no %s", key);
	return STATUS_OK;
}

enum status call_texts(const struct call *c, const char *key, const char *const **out, size_t *count, struct error *err)
{
	const json_t *list = json_object_get(c->input, key), *x;
	const char **texts;
	size_t i;

	*count = json_array_size(list);
	if (!*count || *count > PIPELINE_LIST_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "the input's %s should be a list of 1 to %d texts", key, PIPELINE_LIST_MOST);
	*out = texts = ARENA_ARRAY(c->a, *count, const char *);
	json_array_foreach(list, i, x) if (!(texts[i] = json_string_value(x))) return error_set(
		err, STATUS_BAD_INPUT, "the input's %s has something that is no text", key);
	return STATUS_OK;
}

enum status call_labels(const struct call *c, const char *const **out, size_t *count, struct error *err)
{
	const char *at = json_string_value(json_object_get(c->input, "candidate_labels")), **labels;

	if (!at)
		return call_texts(c, "candidate_labels", out, count, err);
	*out = labels = ARENA_ARRAY(c->a, PIPELINE_LIST_MOST, const char *);
	*count = 0;
	for (at += strspn(at, ", \t"); *at && *count < PIPELINE_LIST_MOST; at += strspn(at, ", \t")) {
		size_t n = strcspn(at, ","), kept = n;

		while (kept && strchr(" \t", at[kept - 1]))
			kept--;
		labels[(*count)++] = arena_strndup(c->a, at, kept);
		at += n;
	}
	return *count && !*at
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "the input's candidate_labels should be 1 to %d texts", PIPELINE_LIST_MOST);
}

bool call_has(const struct call *c, const char *key)
{
	const json_t *x = json_object_get(c->input, key);

	return x && !json_is_null(x);
}

enum status call_file(const struct call *c, const char *key, const char **path, struct error *err)
{
	const char *name;
	enum status st = call_text(c, key, &name, err);

	if (st || !c->base) {
		*path = st ? NULL : name;
		return st;
	}
	return file_inside(c->a, c->base, name, path, err);
}

enum status call_picture(const struct call *c, const char *key, struct picture *out, struct error *err)
{
	const char *path;
	enum status st = call_file(c, key, &path, err);

	return st ? st : picture_open(out, c->a, path, err);
}

// NULL: it is not asked for.
static const json_t *asked(const struct call *c, const char *key)
{
	const json_t *x = json_object_get(c->options, key);

	return json_is_null(x) ? NULL : x;
}

bool call_asked(const struct call *c, const char *key)
{
	return asked(c, key) != NULL;
}

bool option_is_null(const struct call *c, const char *key)
{
	return json_is_null(json_object_get(c->options, key));
}

enum status option_integer(
	const struct call *c, const char *key, int64_t least, int64_t most, int64_t otherwise, int64_t *out, struct error *err)
{
	const json_t *x = asked(c, key);

	*out = x ? json_integer_value(x) : otherwise;
	if (x && (!json_is_integer(x) || *out < least || *out > most))
		return error_set(err, STATUS_BAD_INPUT, "the option %s is a whole number from %lld to %lld", key,
			(long long)least, (long long)most);
	return STATUS_OK;
}

enum status option_real(const struct call *c, const char *key, double otherwise, double *out, struct error *err)
{
	const json_t *x = asked(c, key);

	*out = x ? json_number_value(x) : otherwise;
	if (x && (!json_is_number(x) || !isfinite(*out)))
		return error_set(err, STATUS_BAD_INPUT, "the option %s is a number", key);
	return STATUS_OK;
}

enum status option_bool(const struct call *c, const char *key, bool otherwise, bool *out, struct error *err)
{
	const json_t *x = asked(c, key);

	*out = x ? json_is_true(x) : otherwise;
	return x && !json_is_boolean(x) ? error_set(err, STATUS_BAD_INPUT, "the option %s is true or false", key) : STATUS_OK;
}

enum status option_text(const struct call *c, const char *key, const char *otherwise, const char **out, struct error *err)
{
	const json_t *x = asked(c, key);

	*out = x ? json_string_value(x) : otherwise;
	return x && !*out ? error_set(err, STATUS_BAD_INPUT, "the option %s is a text", key) : STATUS_OK;
}

json_t *answer_tensor(struct call *c, struct pipeline_answer *out, const char *name, const struct tensor *t)
{
	struct tensor *more = ARENA_ARRAY(c->a, out->tensor_count + 1, struct tensor);
	json_t *shape = json_array();

	if (out->tensor_count)
		memcpy(more, out->tensors, out->tensor_count * sizeof *more);
	more[out->tensor_count] = *t;
	more[out->tensor_count++].name = arena_strdup(c->a, name);
	out->tensors = more;
	for (int i = 0; i < t->rank; i++)
		json_array_append_new(shape, json_integer(t->dim[i]));
	return json_pack("{s:s, s:o}", "tensor", name, "shape", shape);
}

json_t *answer_picture(struct call *c, struct pipeline_answer *out, const char *name, const struct picture *picture)
{
	struct pipeline_picture *more = ARENA_ARRAY(c->a, out->picture_count + 1, struct pipeline_picture);

	if (out->picture_count)
		memcpy(more, out->pictures, out->picture_count * sizeof *more);
	more[out->picture_count++] = (struct pipeline_picture){ arena_strdup(c->a, name), *picture };
	out->pictures = more;
	return json_pack("{s:s}", "png", name);
}
