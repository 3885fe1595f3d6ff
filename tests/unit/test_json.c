// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// What a text of JSON weighs is never less than what jansson takes for it; the walk over an object says of every text what
// jansson says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

static size_t taken, peak;

static void *count_up(size_t n)
{
	size_t *p = malloc(n + 16);

	taken += *p = n;
	peak = taken > peak ? taken : peak;
	return (char *)p + 16;
}

static void count_down(void *at)
{
	size_t *p = at ? (size_t *)(void *)((char *)at - 16) : NULL;

	taken -= p ? *p : 0;
	free(p);
}

static void text_times(struct text *t, const char *part, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_add(t, part);
}

// `begin`, `part` so many times, `end`: the tree with its text weighs at least what is allocated, and no more than 4 times that.
static void weighs(const char *begin, const char *part, size_t n, const char *end, bool numbered)
{
	struct text t = { 0 };
	json_t *v = NULL;

	text_add(&t, begin);
	for (size_t i = 0; numbered && i < n; i++)
		text_addf(&t, "%s\"%zx\":%s", i ? "," : "", i, part);
	if (!numbered)
		text_times(&t, part, n);
	text_add(&t, end);
	taken = peak = 0;
	json_set_alloc_funcs(count_up, count_down);
	v = json_loadb(t.data, t.length, JSON_DECODE_ANY, NULL);
	size_t most = peak + t.length, weight = json_weight(t.data, t.length, SIZE_MAX / 2);
	assert_non_null(v);
	json_decref(v);
	json_set_alloc_funcs(malloc, free);
	print_message("%.12s..: %zu bytes of text, %zu taken, %zu weighed\n", t.data, t.length, most, weight);
	assert_true(weight >= most && weight <= 4 * most);
	text_done(&t);
}

static void a_text_weighs_what_it_takes(void **state)
{
	(void)state;
	weighs("[", "{},", 50000, "{}]", false);
	weighs("[", "[],", 50000, "[]]", false);
	weighs("[", "1,", 50000, "1]", false);
	weighs("[", "1.5e3,", 50000, "1]", false);
	weighs("[", "\"\",", 50000, "1]", false);
	weighs("[", "\"abcdefghij\",", 50000, "1]", false);
	weighs("[", "{\"a\":1},", 50000, "1]", false);
	weighs("{", "{}", 50000, "}", true);
	weighs("{", "1", 50000, "}", true);
	weighs("\"", "abcdefgh", 200000, "\"", false);
	weighs("[", "[[[[1]]]],", 20000, "1]", false);
}

static void what_is_heavy_is_no_tree(void **state)
{
	(void)state;
	struct error e = { 0 };
	struct text t = { 0 };
	json_t *v = NULL;

	text_add(&t, "[");
	text_times(&t, "{},", 1 << 20);
	text_add(&t, "1]");
	taken = peak = 0;
	json_set_alloc_funcs(count_up, count_down);
	assert_int_equal(json_bytes("x.json", t.data, t.length, &v, &e), STATUS_BAD_INPUT);
	assert_null(json_line(t.data, t.length));
	assert_int_equal(peak, 0);
	json_set_alloc_funcs(malloc, free);
	assert_null(v);
	assert_true(text_starts(e.text, "x.json: ") && strstr(e.text, "MiB of memory"));
	assert_true(json_weight(t.data, t.length, 1000) <= 1400); // it stops
	text_done(&t);
	assert_null(json_parse(NULL));
	v = json_parse("[1]");
	assert_int_equal(json_array_size(v), 1);
	json_decref(v);
}

// What a walk makes of a text: its members as "key=value;", or the error.
static bool walked(struct text *out, const char *text, size_t n)
{
	struct json_walk w = json_members(text, n);
	struct json_member m;
	struct arena a = { 0 };
	bool good = true;

	while (json_next(&w, &m)) {
		json_t *v = NULL;
		const char *key = json_key(&a, &m);

		good = good && key && json_value("x", text, &m, n, &v, NULL) == STATUS_OK;
		text_addf(out, "%s=%.*s;", key ? key : "?", (int)m.value_nbytes, m.value);
		json_decref(v);
	}
	arena_done(&a);
	return good && !w.error;
}

static void walks(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} good[] = {
		{ "{}", "" },
		{ " { } ", "" },
		{ "{\"a\":1}", "a=1;" },
		{ "{ \"a\" : [1, {\"b\": \"}]\"}] ,\n\"c\":\"\\\"\" }", "a=[1, {\"b\": \"}]\"}];c=\"\\\"\";" },
		{ "{\"\\u0041\":null,\"\xC3\xA9\":true}", "A=null;\xC3\xA9=true;" },
	};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct text t = { 0 };

		assert_true(walked(&t, good[i].text, strlen(good[i].text)));
		assert_string_equal(text_get(&t), good[i].says);
		text_done(&t);
	}
	// As jansson, over all short texts of these letters that chance throws.
	static const char letters[] = "{{}}\"\"\"::,,[]a1 \\\xFF";
	size_t valid = 0;
	for (uint64_t i = 0; i < 200000; i++) {
		char s[10];
		size_t n = 1 + splitmix64(1, i) % sizeof s;
		struct text t = { 0 };

		for (size_t k = 0; k < n; k++)
			s[k] = letters[splitmix64(2, i * sizeof s + k) % (sizeof letters - 1)];
		s[0] = '{';
		json_t *v = json_loadb(s, n, 0, NULL);
		valid += v != NULL;
		if (walked(&t, s, n) != (v != NULL))
			fail_msg("'%.*s': %s", (int)n, s, v ? "is JSON" : "is no JSON");
		json_decref(v);
		text_done(&t);
	}
	assert_true(valid > 20);
}

static void strings(void **state)
{
	(void)state;
	static const char *const bad[] = { "", "[]", "{}", "{\"m\":{}}", "{\"m\":[]}", "{\"m\":{\"a\":\"b\"}",
		"{\"m\":{\"a\":\"b\"}}x", "{\"m\":{\"a\":\"b\",\"a\":\"c\"}}", "{\"m\":{\"a\":\"b\"},\"m\":{}}",
		"{\"x\":[},\"m\":{\"a\":\"b\"}}", "{\"m\":{\"a\":\"b\"]}", "{\"m\":{\"a\":01}}", "{\"m\":{\"\\u0000\":\"b\"}}" };
	static const char text[] = "{\"x\": {\"m\": 1}, \"m\": {\"b\": \"2\", \"a\": 1, \"c\\n\": \"\\u00e9\"}}";
	struct arena a = { 0 };
	struct error e = { 0 };
	struct json_pair *p;
	size_t n;

	assert_int_equal(json_strings("x", text, strlen(text), "m", &a, &p, &n, &e), STATUS_OK);
	assert_int_equal(n, 3);
	assert_string_equal(p[0].name, "a");
	assert_null(p[0].text);
	assert_string_equal(p[1].text, "2");
	assert_string_equal(p[2].name, "c\n");
	assert_string_equal(p[2].text, "\xC3\xA9");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		e = (struct error){ 0 };
		if (json_strings("x", bad[i], strlen(bad[i]), "m", &a, &p, &n, &e) != STATUS_BAD_INPUT ||
			!text_starts(e.text, "x: "))
			fail_msg("%s: %s", bad[i], e.text);
	}
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_weighs_what_it_takes),
		cmocka_unit_test(what_is_heavy_is_no_tree),
		cmocka_unit_test(walks),
		cmocka_unit_test(strings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
