// SPDX-License-Identifier: Apache-2.0
// JSON as YAML in block style. Every text and key stands in double quotes with JSON's escapes, so that no text is taken for a
// number, a date or a "no"; a real number always has a point, because YAML 1.1 readers take 1e-06 for a text. It has no other
// forms: no anchors, no tags, no folded texts.
#include <stdio.h>
#include <string.h>

#include "base/visible.h"
#include "report/summary.h"

// What YAML calls printable stays, but for line ends, which a reader would fold, and what would mislead a person.
static bool is_plain(uint32_t c)
{
	return !visible_is_control(c) && c != 0xa0 && c != 0xfeff;
}

static void quoted(const char *s, size_t length, struct text *out)
{
	text_add(out, "\"");
	for (size_t i = 0; i < length;) {
		uint32_t c;
		size_t n = visible_utf8(s + i, length - i, &c); // never 0: jansson has checked the text
		if (c == '"' || c == '\\')
			text_addf(out, "\\%c", (int)c);
		else if (is_plain(c))
			text_add_bytes(out, s + i, n);
		else
			text_addf(out, c < 0x100 ? "\\x%02X" : "\\u%04X", c);
		i += n;
	}
	text_add(out, "\"");
}

static void real(double x, struct text *out)
{
	char number[40];

	snprintf(number, sizeof number, "%.17g", x);
	char *exponent = strchr(number, 'e');
	if (strchr(number, '.') != NULL)
		text_add(out, number);
	else if (exponent == NULL)
		text_addf(out, "%s.0", number);
	else
		text_addf(out, "%.*s.0%s", (int)(exponent - number), number, exponent);
}

static void write_value(const json_t *v, int depth, struct text *out);

static void begin_line(int depth, struct text *out)
{
	for (int i = 0; i < depth; i++)
		text_add(out, "  ");
}

// What stands after "key:" or "-": on the same line where it is one word, else below, one step in.
static void nested(const json_t *v, int depth, struct text *out)
{
	bool is_block = (json_is_object(v) && json_object_size(v) > 0) || (json_is_array(v) && json_array_size(v) > 0);

	text_add(out, is_block ? "\n" : " ");
	write_value(v, depth + 1, out);
}

static void write_value(const json_t *v, int depth, struct text *out)
{
	const char *key;
	json_t *item;
	size_t i;

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		if (json_object_size(v) == 0)
			text_add(out, "{}\n");
		json_object_foreach((json_t *)v, key, item)
		{
			begin_line(depth, out);
			quoted(key, strlen(key), out);
			text_add(out, ":");
			nested(item, depth, out);
		}
		return;
	case JSON_ARRAY:
		if (json_array_size(v) == 0)
			text_add(out, "[]\n");
		json_array_foreach(v, i, item)
		{
			begin_line(depth, out);
			text_add(out, "-");
			nested(item, depth, out);
		}
		return;
	case JSON_STRING:
		quoted(json_string_value(v), json_string_length(v), out);
		break;
	case JSON_INTEGER:
		text_addf(out, "%lld", (long long)json_integer_value(v));
		break;
	case JSON_REAL:
		real(json_real_value(v), out);
		break;
	case JSON_TRUE:
		text_add(out, "true");
		break;
	case JSON_FALSE:
		text_add(out, "false");
		break;
	case JSON_NULL:
		text_add(out, "null");
		break;
	}
	text_add(out, "\n");
}

void report_yaml(const json_t *json, struct text *out)
{
	write_value(json, 0, out);
}
