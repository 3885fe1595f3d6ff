// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Text from outside: what UTF-8 is, what is escaped, printf with it, JSON with it.
#include "base/visible.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void utf8_takes_the_shortest_form_alone(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		uint32_t code;
	} cases[] = {
		{ "a", 1, 'a' },
		{ "\x7f", 1, 0x7F },
		{ "\xc2\x80", 2, 0x80 },
		{ "\xdf\xbf", 2, 0x7FF },
		{ "\xe0\xa0\x80", 3, 0x800 },
		{ "\xed\x9f\xbf", 3, 0xD7FF },
		{ "\xee\x80\x80", 3, 0xE000 },
		{ "\xef\xbf\xbf", 3, 0xFFFF },
		{ "\xf0\x90\x80\x80", 4, 0x10000 },
		{ "\xf4\x8f\xbf\xbf", 4, 0x10FFFF },
		{ "\x80", 0, 0 },
		{ "\xc1\xbf", 0, 0 },
		{ "\xe0\x9f\xbf", 0, 0 },
		{ "\xed\xa0\x80", 0, 0 },
		{ "\xf0\x8f\xbf\xbf", 0, 0 },
		{ "\xf4\x90\x80\x80", 0, 0 },
		{ "\xf5\x80\x80\x80", 0, 0 },
		{ "\xff", 0, 0 },
		{ "\xe2\x82", 0, 0 },
		{ "\xc3(", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t code = 0;

		assert_int_equal(visible_utf8(cases[i].bytes, strlen(cases[i].bytes), &code), cases[i].length);
		assert_int_equal(code, cases[i].code);
	}
	assert_int_equal(visible_utf8("a", 0, NULL), 0);
}

static void check(const char *input, size_t n, const char *wanted)
{
	struct text t = { 0 };

	visible_add(&t, input, n);
	assert_string_equal(text_get(&t), wanted);
	text_done(&t);
}

static void control_characters_are_escapes(void **state)
{
	(void)state;
#define CHECK(input, wanted) check(input, sizeof input - 1, wanted)
	CHECK("plain, \xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80 \\ stays", "plain, \xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80 \\ stays");
	CHECK("\x1b[2J\x07\n\r\t", "\\x1b[2J\\x07\\n\\r\\t");
	CHECK("a\0b", "a\\x00b");
	CHECK("\x7f\xc2\x9b"
	      "31m",
		"\\x7f\\u009b31m");
	CHECK("\xe2\x80\xa8|\xe2\x80\xae|\xe2\x81\xa6|\xe2\x80\x8f|\xd8\x9c", "\\u2028|\\u202e|\\u2066|\\u200f|\\u061c");
	CHECK("a\xc2\xad|\xe2\x80\x8b|\xe2\x80\x8c|\xe2\x80\x8d|\xe2\x81\xa0|\xef\xbb\xbf",
		"a\\u00ad|\\u200b|\\u200c|\\u200d|\\u2060|\\ufeff");
	CHECK("\xc2\xac\xc2\xae\xe2\x80\x8a\xe2\x80\x90\xe2\x81\x9f\xe2\x81\xa5",
		"\xc2\xac\xc2\xae\xe2\x80\x8a\xe2\x80\x90\xe2\x81\x9f\xe2\x81\xa5");
	CHECK("\xff\xc3", "\\xff\\xc3");
	CHECK("\xc2\xa0\xe2\x80\xa7\xe2\x80\xaf\xef\xbf\xbd",
		"\xc2\xa0\xe2\x80\xa7\xe2\x80\xaf\xef\xbf\xbd"); // neighbours of what is escaped
#undef CHECK
	struct text t = { 0 };
	visible_add_lines(&t, "a\tb\r\n\x1b");
	assert_string_equal(text_get(&t), "a\tb\\r\n\\x1b");
	text_done(&t);
}

// Every conversion that is used, against what printf makes of it.
static void a_cut_leaves_characters_whole(void **state)
{
	const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"; // of 1, 2, 3 and 4 bytes
	static const size_t fits[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10 };

	(void)state;
	for (size_t most = 0; most < sizeof fits / sizeof *fits; most++)
		assert_int_equal(visible_fit(text, sizeof text - 1, most), fits[most]);
	assert_int_equal(visible_fit("\x80\x80\x80", 3, 2), 0);
}

static void formats_as_printf_does(void **state)
{
	char wanted[512];
	struct text t = { 0 };

	(void)state;
#define ALL \
	"%d|%5d|%-5d|%05d|%+d|%*d|%-*d|%*d|%u|%x|%X|%lld|%llu|%ld|%zu|%hhd|%c|%%|%f|%.2f|%8.3f|%e|%g|%.*g|%s|%6s|%-6s|%.2s|%.*" \
	"s|%*s|%-*s|%i", \
		-1, 42, 42, 42, 42, 6, 7, 6, 7, -6, 7, 3000000000u, 255u, 255u, LLONG_MIN, ULLONG_MAX, LONG_MIN, SIZE_MAX, 'x', \
		'y', 1.5, 1.005, 3.14159, 12345.678, 0.1, 3, 2.0 / 3, "str", "ab", "cd", "abcdef", 3, "abcdef", 5, "r", 5, "l", \
		INT_MIN
	snprintf(wanted, sizeof wanted, ALL);
	visible_addf(&t, ALL);
#undef ALL
	assert_string_equal(text_get(&t), wanted);
	text_done(&t);
}

static void strings_of_a_format_are_visible(void **state)
{
	struct text t = { 0 };

	(void)state;
	visible_addf(&t, "\r\033[K%s\n%-4s|%4s|%.3s|%c", "a\x1b\nb", "\xc3\xa4", "\n", "\xc3\xa4\xc3\xa4", 7);
	assert_string_equal(text_get(&t), "\r\033[Ka\\x1b\\nb\n\xc3\xa4   |  \\n|\xc3\xa4|\\x07");
	text_done(&t);
	const char *volatile nothing = NULL; // the compiler would refuse it, a caller may have it
	visible_addf(&t, "%s", nothing);
	assert_string_equal(text_get(&t), "(null)");
	text_done(&t);
}

static void json_has_the_same_value(void **state)
{
	json_t *json = json_pack("{s:s, s:[s]}", "a\xe2\x80\xa8", "\x1b\x7f\xc2\x9b\xe2\x80\xae", "b", "\xc3\xa4\"\\"), *again;
	char *text = visible_json(json, JSON_COMPACT | JSON_SORT_KEYS);

	(void)state;
	assert_string_equal(text, "{\"a\\u2028\":\"\\u001B\\u007F\\u009B\\u202E\",\"b\":[\"\xc3\xa4\\\"\\\\\"]}");
	again = json_loads(text, 0, NULL);
	assert_true(json_equal(json, again));
	json_decref(again);
	json_decref(json);
	free(text);
	assert_null(visible_json(NULL, 0));
	json = json_pack(
		"[o, o, o]", visible_json_string("b\xff\xc3x\xc3\xa4"), visible_json_string("\x1b"), visible_json_string(NULL));
	assert_string_equal(json_string_value(json_array_get(json, 0)), "b\\xff\\xc3x\xc3\xa4");
	assert_string_equal(json_string_value(json_array_get(json, 1)), "\x1b");
	assert_true(json_is_null(json_array_get(json, 2)));
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8_takes_the_shortest_form_alone),
		cmocka_unit_test(control_characters_are_escapes),
		cmocka_unit_test(a_cut_leaves_characters_whole),
		cmocka_unit_test(formats_as_printf_does),
		cmocka_unit_test(strings_of_a_format_are_visible),
		cmocka_unit_test(json_has_the_same_value),
	};
	return cmocka_run_group_tests_name("visible", tests, NULL, NULL);
}
