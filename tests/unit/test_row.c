// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// A row to JSON and back: every field, absent and present.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "question/row.h"

static void absent_fields_are_null(void **state)
{
	struct row r;
	json_t *json;
	size_t fields = 0;

	(void)state;
	row_init(&r);
	json = row_to_json(&r);
#define X(kind, name, meaning) \
	assert_true(json_is_null(json_object_get(json, #name))); \
	fields++;
	ROW_LIST(X)
#undef X
	assert_int_equal(json_object_size(json), fields);
	json_decref(json);
}

#define FILL_TEXT(name) r.name = "text of " #name
#define FILL_JSON(name) r.name = "{\"key\":[1,2.5,null]}"
#define FILL_REAL(name) r.name = (double)sizeof #name + 0.25
#define FILL_INTEGER(name) r.name = (int64_t)sizeof #name << 40
#define FILL_BOOLEAN(name) r.name = sizeof #name & 1
#define SAME_TEXT(name) assert_string_equal(r.name, back.name)
#define SAME_JSON(name) assert_string_equal(r.name, back.name)
#define SAME_REAL(name) assert_true(r.name <= back.name && r.name >= back.name)
#define SAME_INTEGER(name) assert_true(r.name == back.name)
#define SAME_BOOLEAN(name) assert_int_equal(r.name, back.name)

static void every_field_survives(void **state)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct row r, back;
	json_t *json;
	char *text;

	(void)state;
	row_init(&r);
	row_init(&back);
#define X(kind, name, meaning) FILL_##kind(name);
	ROW_LIST(X)
#undef X
	json = row_to_json(&r);
	text = json_dumps(json, 0);
	json_decref(json);
	json = json_loads(text, 0, NULL);
	free(text);
	assert_int_equal(row_from_json(&back, &a, json, &err), STATUS_OK);
#define X(kind, name, meaning) SAME_##kind(name);
	ROW_LIST(X)
#undef X
	json_decref(json);
	arena_done(&a);
}

static void what_took_none(void **state)
{
	static const struct {
		int64_t on, elsewhere, fused, partitions;
		const char *requested;
		bool none, left;
	} rows[] = {
		{ 0, 0, 2, 0, "qnn", true, true },
		{ 0, 0, 2, 0, "cpu", false, false },
		{ 0, 0, 0, 0, "webgpu", true, true },
		{ 0, 0, 2, 1, "qnn", false, false }, // they became one that the platform took
		{ 0, 0, 2, ROW_NONE, "qnn", false, false },
		{ 0, 1, 1, 0, "qnn", true, false },
		{ 1, 1, 0, 1, "qnn", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct row r;

		row_init(&r);
		r.requested = rows[i].requested;
		r.nodes = 2;
		r.nodes_on_platform = rows[i].on;
		r.nodes_elsewhere = rows[i].elsewhere;
		r.nodes_fused = rows[i].fused;
		r.partitions = rows[i].partitions;
		assert_int_equal(row_took_none(&r), rows[i].none);
		assert_int_equal(row_left_none(&r), rows[i].left);
	}
}

static void wrong_kinds_are_refused(void **state)
{
	static const char *const bad[] = { "{\"model\":1}", "{\"batch\":\"1\"}", "{\"batch\":1.5}", "{\"load_ms\":\"x\"}",
		"{\"emulated\":1}", "[]", "3" };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		json_t *json = json_loads(bad[i], JSON_DECODE_ANY, NULL);
		struct error err = { 0 };
		struct row r;

		row_init(&r);
		assert_int_equal(row_from_json(&r, &a, json, &err), STATUS_BAD_INPUT);
		assert_true(strlen(err.text) > 0);
		json_decref(json);
	}
	arena_done(&a);
}

static void pieces_add_up(void **state)
{
	struct arena a = { 0 };
	struct row r;
	json_t *json;

	(void)state;
	row_init(&r);
	json = json_loads("{\"event\":\"row\",\"load_ms\":3,\"device\":\"CPU\"}", 0, NULL);
	assert_int_equal(row_from_json(&r, &a, json, NULL), STATUS_OK);
	json_decref(json);
	json = json_loads("{\"device\":null,\"batch\":7}", 0, NULL);
	assert_int_equal(row_from_json(&r, &a, json, NULL), STATUS_OK);
	json_decref(json);
	assert_true(r.load_ms > 2.9 && r.load_ms < 3.1);
	assert_null(r.device);
	assert_int_equal(r.batch, 7);
	assert_true(isnan(r.first_ms));
	arena_done(&a);
}

static void what_json_cannot_say_is_null(void **state)
{
	struct row r;
	json_t *json;

	(void)state;
	row_init(&r);
	r.load_ms = INFINITY;
	r.cause = "\xff\xfe";
	r.options = "{not json";
	json = row_to_json(&r);
	assert_true(json_is_null(json_object_get(json, "load_ms")));
	assert_string_equal(json_string_value(json_object_get(json, "cause")), "\\xff\\xfe"); // text can be said
	assert_true(json_is_null(json_object_get(json, "options")));
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_fields_are_null),
		cmocka_unit_test(every_field_survives),
		cmocka_unit_test(wrong_kinds_are_refused),
		cmocka_unit_test(what_took_none),
		cmocka_unit_test(pieces_add_up),
		cmocka_unit_test(what_json_cannot_say_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
