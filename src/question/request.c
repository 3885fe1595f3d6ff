// SPDX-License-Identifier: Apache-2.0
// Requests to JSON and back.
#include "question/request.h"

#include <stdlib.h>

#include "base/json.h"

static json_t *put_TEXT(const char *text)
{
	return question_text_put(text);
}

static json_t *put_INTEGER(int64_t n)
{
	return json_integer(n);
}

char *request_text(struct arena *a, const struct request *r)
{
	json_t *object = json_object();
	char *dumped, *text;

#define X(kind, name) json_object_set_new(object, #name, put_##kind(r->name));
	REQUEST_LIST(X)
#undef X
	question_put(object, &r->question);
	dumped = json_dumps(object, JSON_COMPACT);
	text = arena_strdup(a, dumped);
	free(dumped);
	json_decref(object);
	return text;
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

enum status request_parse(struct request *out, struct arena *a, const char *text, size_t length, struct error *err)
{
	json_t *object = json_line(text, length);

	if (!json_is_object(object)) {
		json_decref(object);
		return error_set(err, STATUS_BAD_INPUT, "the request is not a JSON object");
	}
#define X(kind, name) out->name = take_##kind(a, json_object_get(object, #name));
	REQUEST_LIST(X)
#undef X
	question_take(&out->question, a, object);
	json_decref(object);
	return STATUS_OK;
}
