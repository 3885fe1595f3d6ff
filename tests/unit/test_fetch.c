// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// src/hub/fetch*: what the Hub lists, as it comes from outside: whole, cut, damaged and hostile; names and paths; the
// environment. The rest is tests/cli/fetch.sh, against a server.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "hub/fetch_inside.h"
#include "hub/hub.h"

static struct arena arena;

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define SHA "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static const char good[] = "{\"id\": \"org/m\", \"sha\": \"" COMMIT "\", \"gated\": false, \"siblings\": ["
			   "{\"rfilename\": \"model.safetensors\", \"size\": 5000000000, \"blobId\": \"" COMMIT
			   "\", \"lfs\": {\"sha256\": \"" SHA "\", \"size\": 5000000000, \"pointerSize\": 135}},"
			   "{\"rfilename\": \"config.json\", \"size\": 2, \"blobId\": \"" COMMIT "\"},"
			   "{\"rfilename\": \"onnx/deep/er/x.onnx\"},"
			   "{\"rfilename\": \"a b/\\u00e9.txt\", \"size\": null, \"blobId\": \"short\", \"lfs\": null}]}";

static void list(void **state)
{
	(void)state;
	struct fetch_listing l = { 0 };
	struct error e = { 0 };
	assert_int_equal(fetch_list_parse(&l, &arena, good, sizeof good - 1, &e), STATUS_OK);
	assert_string_equal(l.commit, COMMIT);
	assert_int_equal(l.count, 4);
	const struct fetch_file *f = fetch_list_find(&l, "model.safetensors");
	assert_int_equal(f->size, 5000000000);
	assert_string_equal(f->sha256, SHA);
	assert_null(f->git); // git's hash is that of the pointer
	f = fetch_list_find(&l, "config.json");
	assert_string_equal(f->git, COMMIT);
	assert_null(f->sha256);
	assert_int_equal(fetch_list_find(&l, "onnx/deep/er/x.onnx")->size, -1);
	f = fetch_list_find(&l, "a b/\xc3\xa9.txt");
	assert_int_equal(f->size, -1);
	assert_null(f->git);
	assert_null(fetch_list_find(&l, "nothing"));
	// An empty repository is one.
	static const char empty[] = "{\"sha\": \"" COMMIT "\", \"siblings\": []}";
	assert_int_equal(fetch_list_parse(&l, &arena, empty, sizeof empty - 1, &e), STATUS_OK);
	assert_int_equal(l.count, 0);
	assert_null(fetch_list_find(&l, "config.json"));
}

static void refused_list(const char *text, const char *because)
{
	struct fetch_listing l = { .count = 77 };
	struct error e = { 0 };
	if (fetch_list_parse(&l, &arena, text, strlen(text), &e) != STATUS_BAD_INPUT || l.count != 77)
		fail_msg("taken: %s", text);
	if (!strstr(e.text, because) || !text_starts(e.text, "the list of files: "))
		fail_msg("%s\n  is refused with: %s\n  and not because of: %s", text, e.text, because);
}

#define ENTRY(name) "{\"sha\": \"" COMMIT "\", \"siblings\": [{\"rfilename\": \"" name "\"}]}"

static void bad_lists(void **state)
{
	(void)state;
	static const struct {
		const char *text, *because;
	} cases[] = {
		{ "", "not valid JSON" },
		{ "null", "no commit" },
		{ "[]", "no commit" },
		{ "{}", "no commit" },
		{ "<html></html>", "not valid JSON" },
		{ "{\"sha\": \"main\", \"siblings\": []}", "no commit" },
		{ "{\"sha\": \"../../../../../../../../../../../../../etc\", \"siblings\": []}", "no commit" },
		{ "{\"sha\": \"0123456789ABCDEF0123456789abcdef01234567\", \"siblings\": []}", "no commit" },
		{ "{\"sha\": 12, \"siblings\": []}", "no commit" },
		{ "{\"sha\": \"" COMMIT "\"}", "no list" },
		{ "{\"sha\": \"" COMMIT "\", \"siblings\": {}}", "no list" },
		{ "{\"sha\": \"" COMMIT "\", \"siblings\": [1]}", "no name" },
		{ "{\"sha\": \"" COMMIT "\", \"siblings\": [{\"rfilename\": 1}]}", "no name" },
		{ "{\"sha\": \"" COMMIT "\", \"siblings\": [{\"rfilename\": \"a\", \"size\": -1}]}", "size of a" },
		{ "{\"sha\": \"" COMMIT "\", \"siblings\": [{\"rfilename\": \"a\", \"size\": 1.5}]}", "size of a" },
		{ "{\"sha\": \"" COMMIT "\", \"siblings\": [{\"rfilename\": \"a\", \"size\": 99999999999999999999}]}",
			"not valid JSON" },
		{ "{\"sha\": \"" COMMIT "\", \"siblings\": [{\"rfilename\": \"a\", \"lfs\": {\"size\": \"x\"}}]}", "size of a" },
		{ "{\"sha\": \"" COMMIT "\", \"siblings\": [{\"rfilename\": \"a\"}, {\"rfilename\": \"a\"}]}",
			"a is listed twice" },
		{ "{\"sha\": \"" COMMIT "\", \"sha\": \"" COMMIT "\", \"siblings\": []}", "not valid JSON" },
		{ ENTRY("../x"), "outside" },
		{ ENTRY("/etc/passwd"), "outside" },
		{ ENTRY("a/../../x"), "outside" },
		{ ENTRY(""), "outside" },
		{ ENTRY("a/"), "outside" },
		{ ENTRY("a//b"), "outside" },
		{ ENTRY("./a"), "outside" },
		{ ENTRY(".."), "outside" },
		{ ENTRY("a\\u000ab"), "outside" },
		{ ENTRY("a\\u0000b"), "not valid JSON" },
		{ ENTRY("a\\\\..\\\\b"), "outside" },
		{ ENTRY("\\u001b[2J"), "\"?[2J\"" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refused_list(cases[i].text, cases[i].because);
	struct text deep = { 0 };
	for (int i = 0; i < 100000; i++)
		text_add(&deep, "[");
	refused_list(text_get(&deep), "not valid JSON");
	text_done(&deep);
}

// Every cut of a good list is refused, and no changed byte does more than be refused or give paths that are safe.
static void damaged(void **state)
{
	(void)state;
	struct fetch_listing l;
	size_t taken = 0, refused = 0;
	for (size_t n = 0; n < sizeof good - 1; n++) {
		struct arena a = { 0 };
		char *copy = malloc(n ? n : 1); // exactly so long, for the sanitizer
		memcpy(copy, good, n);
		assert_int_equal(fetch_list_parse(&l, &a, copy, n, NULL), STATUS_BAD_INPUT);
		free(copy);
		arena_done(&a);
	}
	for (uint64_t i = 0; i < 4000; i++) {
		struct arena a = { 0 };
		char copy[sizeof good - 1];
		memcpy(copy, good, sizeof copy);
		for (uint64_t k = 0; k <= i % 3; k++)
			copy[splitmix64(i, 2 * k) % sizeof copy] = (char)splitmix64(i, 2 * k + 1);
		struct error e = { 0 };
		if (fetch_list_parse(&l, &a, copy, sizeof copy, &e)) {
			assert_true(e.text[0]);
			refused++;
		} else {
			for (size_t k = 0; k < l.count; k++)
				assert_true(fetch_path_is_safe(l.files[k].name) && l.files[k].size >= -1);
			taken++;
		}
		arena_done(&a);
	}
	print_message("%zu damaged lists refused, %zu taken\n", refused, taken);
	assert_true(taken > 100 && refused > 100); // the test reaches both ends
}

static void indices(void **state)
{
	(void)state;
	static const char files[] =
		"{\"sha\": \"" COMMIT "\", \"siblings\": [{\"rfilename\": \"m-1.bin\"}, {\"rfilename\": \"m-2.bin\"}]}";
	static const char map[] =
		"{\"metadata\": {}, \"weight_map\": {\"z\": \"m-2.bin\", \"a\": \"m-1.bin\", \"b\": \"m-2.bin\"}}";
	static const char *const bad[] = { "", "[]", "{}", "{\"weight_map\": {}}", "{\"weight_map\": []}",
		"{\"weight_map\": {\"a\": 1}}", "{\"weight_map\": {\"a\": \"../m-1.bin\"}}",
		"{\"weight_map\": {\"a\": \"m-3.bin\"}}" };
	struct fetch_listing l;
	const struct fetch_file **out = NULL;
	size_t count = 0;
	struct error e = { 0 };
	assert_int_equal(fetch_list_parse(&l, &arena, files, sizeof files - 1, NULL), STATUS_OK);
	assert_int_equal(fetch_index_parse(&out, &count, &arena, &l, "i.json", map, sizeof map - 1, &e), STATUS_OK);
	assert_int_equal(count, 2);
	assert_string_equal(out[0]->name, "m-1.bin");
	assert_string_equal(out[1]->name, "m-2.bin");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(
			fetch_index_parse(&out, &count, &arena, &l, "i.json", bad[i], strlen(bad[i]), &e), STATUS_BAD_INPUT);
		assert_true(text_starts(e.text, "i.json: "));
		assert_int_equal(count, 2);
	}
}

static void names(void **state)
{
	(void)state;
	static const char *const models[] = { "gpt2", "org/name", "a/b", "Qwen/Qwen2-0.5B-Instruct", "o_o/x.y_z", "1/2" };
	static const char *const no_models[] = { "", "/", "a/", "/a", "a/b/c", "a//b", ".a/b", "a/.b", "a/b.", "a/b-", "-a/b",
		"a--b/c", "a..b", "a b", "a/b\n", "a@b", "a/b?c", "a\\b", "\xc3\xa9/x", "../x", "https://x" };
	for (size_t i = 0; i < sizeof models / sizeof *models; i++)
		assert_true(fetch_name_is_good(models[i]));
	for (size_t i = 0; i < sizeof no_models / sizeof *no_models; i++)
		if (fetch_name_is_good(no_models[i]))
			fail_msg("\"%s\" passes for a model", no_models[i]);
	char part[300];
	memset(part, 'x', sizeof part);
	part[255] = 0;
	assert_true(fetch_path_is_safe(part));
	part[255] = 'x';
	part[256] = 0;
	assert_false(fetch_path_is_safe(part));
	assert_true(fetch_path_is_safe("...") && fetch_path_is_safe(".hidden/..x/y..") && fetch_path_is_safe("refs/pr/1"));
	assert_true(
		fetch_is_small_file("vocab.txt") && fetch_is_small_file("spiece.model") && fetch_is_small_file("config.json"));
	assert_false(fetch_is_small_file("model.safetensors") || fetch_is_small_file("x/vocab.txt") ||
		fetch_is_small_file("README.md"));
	assert_string_equal(http_quote(&arena, "a b/\xc3\xa9#?%", true), "a%20b/%C3%A9%23%3F%25");
	assert_string_equal(http_quote(&arena, "refs/pr/1", false), "refs%2Fpr%2F1");
}

static void environment(void **state)
{
	(void)state;
	char folder[] = "/tmp/assay-fetch-XXXXXX";
	const char *token = "untouched";
	struct error e = { 0 };
	static const char *const variables[] = { "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HOME",
		"XDG_CACHE_HOME", "HF_ENDPOINT", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_IMPLICIT_TOKEN" };
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
		unsetenv(variables[i]);
	assert_non_null(mkdtemp(folder));
	setenv("HOME", folder, 1);
	assert_int_equal(fetch_token(&token, &arena, &e), STATUS_OK);
	assert_null(token);
	const char *cache = arena_printf(&arena, "%s/.cache/huggingface", folder);
	assert_int_equal(file_mkdirs(cache, NULL), STATUS_OK);
	assert_int_equal(file_write(arena_printf(&arena, "%s/token", cache), " hf_file\r\n", 10, NULL), STATUS_OK);
	assert_int_equal(fetch_token(&token, &arena, &e), STATUS_OK);
	assert_string_equal(token, "hf_file");
	setenv("HF_TOKEN", "hf_env\n", 1);
	assert_int_equal(fetch_token(&token, &arena, &e), STATUS_OK);
	assert_string_equal(token, "hf_env");
	setenv("HF_TOKEN", "hf\r\nHost: evil", 1);
	assert_int_equal(fetch_token(&token, &arena, &e), STATUS_BAD_INPUT);
	setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1", 1);
	assert_int_equal(fetch_token(&token, &arena, &e), STATUS_OK);
	assert_null(token);
	assert_true(text_starts(fetch_endpoint(&arena), "https://"));
	setenv("HF_ENDPOINT", "http://h:1//", 1);
	assert_string_equal(fetch_endpoint(&arena), "http://h:1");
	assert_false(fetch_is_offline());
	setenv("TRANSFORMERS_OFFLINE", "yes", 1);
	assert_true(fetch_is_offline());
	setenv("HF_HUB_OFFLINE", "0", 1);
	assert_false(fetch_is_offline());
	setenv("HF_HUB_OFFLINE", "True", 1);
	assert_true(fetch_is_offline());

	// Offline nobody is asked, whatever is asked for.
	struct fetch *f = NULL;
	const struct fetch_options options = { .want = FETCH_MODEL };
	assert_int_equal(fetch_plan(&f, &arena, "org/m", NULL, &options, NULL, &e), STATUS_UNAVAILABLE);
	assert_int_equal(fetch_plan(&f, &arena, "../m", NULL, &options, NULL, &e), STATUS_BAD_INPUT);
	assert_int_equal(fetch_plan(&f, &arena, "org/m", "../../x", &options, NULL, &e), STATUS_BAD_INPUT);
	assert_null(f);
	assert_int_equal(file_remove_tree(folder, NULL), STATUS_OK);
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(damaged),
		cmocka_unit_test(indices),
		cmocka_unit_test(names),
		cmocka_unit_test(environment),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
