// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Chat templates against what jinja2 3.1.6 made of them (tests/chat/expected.json, by tools/chat_cases.py), and their bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "chat/chat.h"

static json_t *read_json(const char *name)
{
	char path[1024];
	struct error e = { 0 };
	json_t *out = NULL;

	snprintf(path, sizeof path, "%s/tests/chat/%s", TEST_SOURCE, name);
	if (json_file(path, 4 << 20, &out, &e))
		fail_msg("%s", e.text);
	return out;
}

static void test_templates(void **state)
{
	json_t *conversations = read_json("conversations.json"), *expected = read_json("expected.json"), *row, *want, *v;
	const char *name, *key;
	size_t i, equal = 0, refused = 0;

	(void)state;
	json_object_foreach(expected, name, row)
	{
		struct arena a = { 0 };
		struct error e = { 0 };
		char path[1024], *source, *got;
		size_t nbytes, n;
		snprintf(path, sizeof path, "%s/tests/chat/%s.jinja", TEST_SOURCE, name);
		if (file_read(&a, path, CHAT_TEMPLATE_MOST, &source, &nbytes, &e))
			fail_msg("%s", e.text);
		assert_int_equal(json_array_size(row), json_array_size(conversations));
		json_array_foreach(row, i, want)
		{
			json_t *variables = json_pack("{s:s, s:s, s:n}", "bos_token", "<s>", "eos_token", "</s>", "tools");
			json_object_foreach(json_array_get(conversations, i), key, v) json_object_set(variables, key, v);
			const char *text = json_string_value(json_object_get(want, "text"));
			enum status s = chat_render(&a, name, source, nbytes, variables, 0, &got, &n, &e);
			if (text && s)
				fail_msg("%s, conversation %zu: %s", name, i, e.text);
			if (!text && s != STATUS_BAD_INPUT)
				fail_msg("%s, conversation %zu: not refused; jinja2: %s", name, i,
					json_string_value(json_object_get(want, "error")));
			if (text && (n != strlen(text) || memcmp(got, text, n) != 0))
				fail_msg("%s, conversation %zu:\n%s\nnot\n%s", name, i, got, text);
			*(text ? &equal : &refused) += 1;
			json_decref(variables);
		}
		arena_done(&a);
	}
	assert_int_equal(equal + refused, 22 * 8);
	assert_true(equal > 120 && refused > 10);
	json_decref(conversations);
	json_decref(expected);
}

static const struct {
	const char *source, *text; // NULL: refused
	enum status s;
	const char *why;
} small[] = {
	{ "{{ strftime_now('%Y-%m-%d') }}", "2001-09-09", STATUS_OK, NULL },
	{ "{{ '\\xdf\\u01c6\\u03c2'.upper() }} {{ '\\xdf \\u01c6'.title() }}", "SS\u01c4\u03a3 Ss \u01c5", STATUS_OK, NULL },
	{ "{{ range(4)[-3:0] }} {{ none | map('string') | list }} {{ 1.5 is odd }}", "range(1, 0) [] False", STATUS_OK, NULL },
	{ "a\n", "a", STATUS_OK, NULL },
	{ "a\r\nb\r", "a\nb", STATUS_OK, NULL },
	{ "{{ n }}{{ x.y }}", NULL, STATUS_BAD_INPUT, "t: line 1: 'x' is undefined" },
	{ "\n\n{{ raise_exception('no\n\"way\"') }}", NULL, STATUS_BAD_INPUT, "t: line 3: no\\n\"way\"" },
	{ "{{ 1 + 'a' }}", NULL, STATUS_BAD_INPUT, "unsupported operand type(s) for +: 'int' and 'str'" },
	{ "{{ [].append(1) }}", NULL, STATUS_BAD_INPUT, "access to attribute 'append' of 'list' object is unsafe" },
	{ "{% if 1 %}", NULL, STATUS_BAD_INPUT, "expected elif, got the end of the template" },
	{ "{% do x %}", NULL, STATUS_BAD_INPUT, "a tag that Jinja has" },
	{ "{{ 1 | nonesuch }}", NULL, STATUS_UNSUPPORTED, "there is no filter nonesuch" },
	{ "{% include 'x' %}", NULL, STATUS_UNSUPPORTED, "the tag include is not supported" },
	{ "{{ 9223372036854775807 + 1 }}", NULL, STATUS_UNSUPPORTED, "more than 64 bits" },
	{ "{% break %}", NULL, STATUS_BAD_INPUT, "outside of a loop" },
	// Strangers' programs: they end.
	{ "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", NULL, STATUS_BAD_INPUT, "more than 200 levels deep" },
	{ "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", NULL, STATUS_NO_MEMORY,
		"the template takes" },
	{ "{{ 'abcdefgh' * 1000000000 }}", NULL, STATUS_NO_MEMORY, "the template takes more than 48 MiB" },
	{ "{% set n = namespace(x=[]) %}{% for i in range(1000) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x }}", NULL,
		STATUS_BAD_INPUT, "more than 200 levels deep" },
	{ "{% set n = namespace(s='ab') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}", NULL, STATUS_NO_MEMORY,
		"the template takes" },
	{ "{{ range(1000000) }}", NULL, STATUS_BAD_INPUT, "Range too big" },
	{ "{{ 'a' * 524289 }}", NULL, STATUS_NO_MEMORY, "t: the template makes a text of 524289 bytes of a conversation of 0" },
	{ "{{ 2 ** 4000000000 }}", NULL, STATUS_UNSUPPORTED, "more than 64 bits" },
	{ "{{ 'x' | indent(4000000000) }}", NULL, STATUS_NO_MEMORY, "the template takes" },
	{ "{{ range(-9223372036854775807 - 1, 9223372036854775807, 6917529027641081856) | list }}",
		"[-9223372036854775808, -2305843009213693952, 4611686018427387904]", STATUS_OK, NULL },
	{ "{{ range(9223372036854775800, 9223372036854775807, 5)[:] }}", NULL, STATUS_UNSUPPORTED, "more than 64 bits" },
	{ "{{ '%399d' % 1 }}{{ '%9999d' % 1 }}", NULL, STATUS_UNSUPPORTED, "a number of so many characters" },
	{ "{{ ('a' * 1000).replace('a', 'bb') | length }} {{ range(50000) | unique | list | length }}", "2000 50000", STATUS_OK,
		NULL },
};

static void test_small(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
		struct arena a = { 0 };
		struct error e = { 0 };
		json_t *variables = json_pack("{s:i}", "n", 5);
		char *got;
		size_t n;
		enum status s =
			chat_render(&a, "t", small[i].source, strlen(small[i].source), variables, 1000000000, &got, &n, &e);
		if (s != small[i].s)
			fail_msg("%s: %s", small[i].source, s ? e.text : got);
		if (small[i].text)
			assert_string_equal(got, small[i].text);
		else if (!strstr(e.text, small[i].why))
			fail_msg("%s: \"%s\" and not \"%s\"", small[i].source, e.text, small[i].why);
		json_decref(variables);
		arena_done(&a);
	}
}

// A block's filters are called in each other: 130,000 of them ended the program by its stack.
static void test_many_filters(void **state)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	char source[40000] = "{% filter d", *got;
	json_t *none = json_object();
	size_t n = strlen(source);

	(void)state;
	while (n < sizeof source - 50)
		n += (size_t)sprintf(source + n, "|d");
	strcpy(source + n, " %}a{% endfilter %}");
	assert_int_equal(chat_render(&a, "t", source, strlen(source), none, 0, &got, &n, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "more than 200 levels deep"));
	json_decref(none);
	arena_done(&a);
}

static void test_deep_brackets(void **state)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	char source[5000] = "{{ ", *got;
	json_t *none = json_object();
	size_t n;

	(void)state;
	memset(source + 3, '(', 4000);
	assert_int_equal(chat_render(&a, "t", source, 4003, none, 0, &got, &n, &e), STATUS_BAD_INPUT);
	memset(source + 3, '-', 4000);
	assert_int_equal(chat_render(&a, "t", source, 4003, none, 0, &got, &n, &e), STATUS_BAD_INPUT);
	json_decref(none);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_templates), cmocka_unit_test(test_small),
		cmocka_unit_test(test_deep_brackets), cmocka_unit_test(test_many_filters) };

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
