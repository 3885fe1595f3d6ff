// SPDX-License-Identifier: Apache-2.0
// Requests to JSON and back.
#include "question/request.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"

// A path may be bytes that are no UTF-8, which JSON cannot say: an object with the bytes as code points.
static const char bytes[] = "bytes";

static json_t *put_TEXT(const char *text)
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
	variant_put(object, &r->variant);
	dumped = json_dumps(object, JSON_COMPACT);
	text = arena_strdup(a, dumped);
	free(dumped);
	json_decref(object);
	return text;
}

static const char *take_TEXT(struct arena *a, const json_t *given)
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
	variant_take(&out->variant, a, object);
	json_decref(object);
	return STATUS_OK;
}
