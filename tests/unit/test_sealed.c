// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Files of the cache that are believed only where they are what their name says and hold what was written into them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "base/file.h"
#include "base/json.h"
#include "base/sealed.h"
#include "base/text.h"
#include "cell/output_file.h"

static int setup(void **state)
{
	return scratch_make(state) || setenv("ASSAY_CACHE", path("cache"), 1) ? -1 : 0;
}

static const char *key_of(const char *graph, const char **made_from)
{
	const char *key;
	struct error e = { 0 };

	if (sealed_key(&key, made_from, &arena, json_pack("{s:s, s:i, s:s?}", "graph", graph, "inputs", 8, "options", NULL), &e))
		fail_msg("%s", e.text);
	return key;
}

static char *content(const char *file, size_t *nbytes)
{
	char *out;

	assert_int_equal(file_read(&arena, file, 1 << 20, &out, nbytes, NULL), STATUS_OK);
	return out;
}

static void put_at(const char *file, const void *data, size_t nbytes)
{
	assert_int_equal(file_put(file, data, nbytes, NULL), STATUS_OK);
}

// "": it is believed; else why not.
static const char *json_doubt(const char *file)
{
	struct error e = { 0 };
	json_t *object = NULL;

	if (sealed_json_read(file, 1 << 20, &object, &e))
		return arena_strdup(&arena, e.text);
	json_decref(object);
	return "";
}

static const char *outputs_doubt(const char *file)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct answer answer;
	const char *why = outputs_read_sealed(&a, file, &answer, &e) ? arena_strdup(&arena, e.text) : "";

	arena_done(&a);
	return why;
}

static void keys(void **state)
{
	const char *a, *b, *c;
	struct error e = { 0 };
	const char *key = key_of("one", &a);

	(void)state;
	assert_int_equal(strlen(key), 64);
	assert_string_equal(key, key_of("one", &b));
	assert_string_equal(a, b);
	assert_string_not_equal(key, key_of("two", &c));
	assert_non_null(strstr(a, "\"inputs\":8"));
	assert_int_equal(sealed_key(&key, &a, &arena, NULL, &e), STATUS_FAILED);
}

// Every byte of the file counts, its name too.
static void attack(const char *file, const char *(*doubt)(const char *), const char *other)
{
	const char *folder = path("copies"), *name = strrchr(file, '/') + 1, *suffix = strchr(name, '.');
	size_t n, other_n;
	char *good = content(file, &n), *bad = arena_alloc(&arena, n + 1);

	assert_string_equal(doubt(file), "");
	for (size_t i = 0; i < n; i++) {
		memcpy(bad, good, n);
		bad[i] ^= 1;
		put_at(file, bad, n);
		if (!*doubt(file))
			fail_msg("%s is believed with another byte at %zu", name, i);
	}
	put_at(file, good, n - 1);
	assert_string_not_equal(doubt(file), "");
	memcpy(bad, good, n);
	bad[n] = ' ';
	put_at(file, bad, n + 1);
	assert_string_not_equal(doubt(file), "");
	put_at(file, good, n);
	assert_string_equal(doubt(file), "");
	// Copied from another key, and under a name that is no key.
	const char *theirs = content(other, &other_n);
	put_at(file, theirs, other_n);
	assert_non_null(strstr(doubt(file), "was made from something else"));
	assert_int_equal(file_mkdirs(folder, NULL), STATUS_OK);
	put_at(arena_printf(&arena, "%s/x%s", folder, suffix), good, n);
	assert_non_null(strstr(doubt(arena_printf(&arena, "%s/x%s", folder, suffix)), "was made from something else"));
	put_at(arena_printf(&arena, "%s/%s", folder, name), good, n);
	assert_string_equal(doubt(arena_printf(&arena, "%s/%s", folder, name)), "");
	put_at(file, good, n);
}

static const char *write_json(const char *graph)
{
	const char *made_from, *file = path(arena_printf(&arena, "%s.json", key_of(graph, &made_from)));
	// A string that looks like the digest's place is none.
	json_t *object = json_pack("{s:s, s:[f, f]}", "note", "\"sha256\":\"0\" \"sha256\":\"", "ranges", 0.5, -1e-30);

	assert_int_equal(sealed_json_write(file, object, made_from, NULL), STATUS_OK);
	json_decref(object);
	return file;
}

static void json_files(void **state)
{
	const char *one = write_json("one"), *two = write_json("two"), *plain = "{\"ranges\": []}";
	struct error e = { 0 };
	json_t *object;

	(void)state;
	assert_int_equal(sealed_json_read(one, 1 << 20, &object, &e), STATUS_OK);
	assert_int_equal(json_array_size(json_object_get(object, "ranges")), 2);
	json_decref(object);
	attack(one, json_doubt, two);
	// A file of before, or of another program.
	put_at(one, plain, strlen(plain));
	assert_non_null(strstr(json_doubt(one), "does not say what it was made from"));
	assert_string_not_equal(json_doubt(path("absent.json")), "");
}

static const char *write_outputs(const char *graph)
{
	float data[6] = { 1, 2, 3, 4, 5, 6 };
	struct tensor out = {
		.name = "logits", .dtype = DTYPE_F32, .rank = 2, .dim = { 2, 3 }, .data = data, .nbytes = sizeof data
	};
	const char *made_from, *file = path(arena_printf(&arena, "%s.safetensors", key_of(graph, &made_from)));
	struct error e = { 0 };

	if (outputs_write(&arena, file, made_from, &(struct answer){ .tensors = &out, .count = 1 }, &e))
		fail_msg("%s", e.text);
	return file;
}

static void outputs(void **state)
{
	const char *one = write_outputs("one"), *two = write_outputs("two");
	float data[1] = { 1 };
	struct tensor out = {
		.name = "logits", .dtype = DTYPE_F32, .rank = 1, .dim = { 1 }, .data = data, .nbytes = sizeof data
	};

	(void)state;
	attack(one, outputs_doubt, two);
	// What a measured cell hands over says nothing of itself.
	assert_int_equal(outputs_write(&arena, one, NULL, &(struct answer){ .tensors = &out, .count = 1 }, NULL), STATUS_OK);
	assert_non_null(strstr(outputs_doubt(one), "does not say what it was made from"));
}

// What lies where outputs are written to: a link is not followed, and nobody waits for the reader of a FIFO.
static void in_the_way(void **state)
{
	const char *one = write_outputs("one"), *other = path("other");
	struct stat st;
	size_t nbytes;

	(void)state;
	put_at(other, "kept", 4);
	assert_true(!unlink(one) && !symlink(other, one));
	write_outputs("one");
	assert_string_equal(outputs_doubt(one), "");
	assert_true(!lstat(one, &st) && S_ISREG(st.st_mode));
	assert_string_equal(content(other, &nbytes), "kept");
	assert_true(!unlink(one) && !mkfifo(one, 0600));
	write_outputs("one");
	assert_true(!lstat(one, &st) && S_ISREG(st.st_mode));
}

static void folders(void **state)
{
	const char *made_from, *key = key_of("one", &made_from), *other = key_of("two", &made_from), *folder = path("folder");
	const char *file = arena_printf(&arena, "%s/w", folder), *note = arena_printf(&arena, "%s/made.json", folder);

	(void)state;
	assert_int_equal(file_mkdirs(folder, NULL), STATUS_OK);
	put_at(file, "weights", 7);
	assert_false(sealed_folder_check(folder, "w", key));
	assert_int_equal(sealed_folder_write(folder, "w", key, NULL), STATUS_OK);
	assert_true(sealed_folder_check(folder, "w", key));
	assert_false(sealed_folder_check(folder, "w", other));
	assert_false(sealed_folder_check(folder, "v", key));
	put_at(file, "weighty", 7);
	assert_false(sealed_folder_check(folder, "w", key));
	put_at(file, "weights", 7);
	assert_true(sealed_folder_check(folder, "w", key));
	put_at(note, "{}", 2);
	assert_false(sealed_folder_check(folder, "w", key));
	assert_true(sealed_folder_write(folder, "absent", key, NULL) != STATUS_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys),
		cmocka_unit_test(json_files),
		cmocka_unit_test(outputs),
		cmocka_unit_test(in_the_way),
		cmocka_unit_test(folders),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
