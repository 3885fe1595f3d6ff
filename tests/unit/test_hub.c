// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// src/hub: which model a name means.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"
#include <jansson.h>

#include "base/file.h"
#include "base/text.h"
#include "hub/hub.h"

static int setup(void **state)
{
	if (scratch_make(state) || chdir(scratch))
		return -1;
	setenv("HF_HUB_CACHE", path("hub"), 1);
	put("hub/models--google-bert--bert-base-uncased/refs/main", "abc123\n");
	put("hub/models--google-bert--bert-base-uncased/snapshots/abc123/config.json", "{}");
	put("hub/models--google-bert--bert-base-uncased/snapshots/abc123/model.safetensors", "x");
	put("hub/models--google-bert--bert-base-uncased/refs/refs/pr/1", "def456");
	put("hub/models--google-bert--bert-base-uncased/snapshots/def456/config.json", "{}");
	put("hub/models--me--tiny--model/snapshots/0f0f/config.json", "{}");
	put("hub/models--a--twin/snapshots/1/config.json", "{}");
	put("hub/models--b--twin/snapshots/1/config.json", "{}");
	put("hub/models--old-name/refs/main", "77");
	put("hub/models--old-name/snapshots/77/config.json", "{}");
	put("hub/models--half--done/refs/main", "88");
	put("hub/models--half--done/snapshots/88/tokenizer.json", "{}");
	put("hub/models--evil--ref/refs/main", "../../../outside");
	put("outside/config.json", "{}");
	put("hub/datasets--x--y/refs/main", "1");
	put("local/config.json", "{}");
	put("empty/readme", "");
	put("graph.onnx", "x");
	put("graph.txt", "x");
	return 0;
}

static int teardown(void **state)
{
	return chdir("/") || scratch_remove(state) ? -1 : 0;
}

static struct hub_model found(const char *asked)
{
	struct hub_model m = { 0 };
	struct error e = { 0 };
	if (hub_find(&m, &arena, asked, &e))
		fail_msg("%s: %s", asked, e.text);
	assert_string_equal(m.asked, asked);
	return m;
}

static const char *refused(const char *asked)
{
	struct hub_model m = { .name = "untouched" };
	static struct error e;
	e = (struct error){ 0 };
	assert_int_equal(hub_find(&m, &arena, asked, &e), STATUS_BAD_INPUT);
	assert_string_equal(m.name, "untouched");
	print_message("%s\n", e.text);
	return e.text;
}

static void on_disk(void **state)
{
	(void)state;
	struct hub_model m = found("local");
	assert_int_equal(m.kind, HUB_FOLDER);
	assert_string_equal(m.path, "local");
	assert_false(m.has_weights);
	put("local/model.safetensors", "");
	assert_true(found(path("local")).has_weights);
	m = found("graph.onnx");
	assert_int_equal(m.kind, HUB_ONNX_FILE);
	assert_string_equal(m.path, "graph.onnx");
	assert_non_null(strstr(refused("graph.txt"), "neither .onnx nor .gguf"));
	assert_non_null(strstr(refused("./empty"), "no config.json"));
	put("empty/a.onnx", "x");
	assert_non_null(strstr(refused("./empty/"), "`./empty/a.onnx` names the graph in it"));
	assert_non_null(strstr(refused("empty"), "the folder of that name has no config.json"));
	assert_non_null(strstr(refused("/no/such/folder"), "no such file or folder"));
	assert_non_null(strstr(refused("absent.onnx"), "no such file or folder"));
	assert_non_null(strstr(refused(""), "no model"));
}

static void cached(void **state)
{
	(void)state;
	struct hub_model m = found("google-bert/bert-base-uncased");
	assert_int_equal(m.kind, HUB_CACHED);
	assert_string_equal(m.revision, "abc123");
	assert_true(m.has_weights);
	assert_true(text_ends(m.path, "/snapshots/abc123"));
	// A published short name means its full name, cached or not.
	m = found("bert-base-uncased");
	assert_int_equal(m.kind, HUB_CACHED);
	assert_string_equal(m.name, "google-bert/bert-base-uncased");
	assert_string_equal(found("bert-base-uncased@refs/pr/1").revision, "def456");
	assert_string_equal(found("google-bert/bert-base-uncased@def456").revision, "def456");
	assert_non_null(strstr(refused("google-bert/bert-base-uncased@v9"), "not its revision \"v9\""));
	refused("google-bert/bert-base-uncased@../../x");
	assert_string_equal(found("me/tiny--model").revision, "0f0f");
	assert_string_equal(found("tiny--model").name, "me/tiny--model");
	assert_string_equal(found("old-name").name, "old-name");
	assert_non_null(strstr(refused("twin"), "a/twin, b/twin"));
	assert_string_equal(found("a/twin").name, "a/twin");
	assert_non_null(strstr(refused("half/done"), "no config.json"));
	refused("evil/ref");
	refused("../hub/models--a--twin");
	refused("a/../b");
	refused("x/y");
}

static void published(void **state)
{
	(void)state;
	assert_int_equal(hub_key_count(), 14);
	assert_true(hub_published_count() >= 100);
	for (size_t i = 0; i < hub_published_count(); i++) {
		const struct hub_published *p = hub_published_get(i);
		json_t *config = json_loadb(p->config, p->config_size, JSON_REJECT_DUPLICATES, NULL);
		assert_true(json_is_string(json_object_get(config, "model_type")));
		json_decref(config);
		// Its short name finds it, unless the cache has it.
		struct hub_model m = found(strchr(p->name, '/') + 1);
		assert_string_equal(m.name, p->name);
		assert_int_equal(m.kind, i ? HUB_PUBLISHED : HUB_CACHED);
		assert_true(!i || (m.config == p->config && !m.path && !m.has_weights));
	}
	assert_non_null(strstr(refused("Qwen/Qwen2-0.5B-Instruct@main"), "revision"));
	assert_non_null(strstr(refused("bert-base-uncase"), "names are google-bert/bert-base-uncased"));
	assert_non_null(strstr(refused("qwen/qwen2-0.5b-instruct"), "names are Qwen/Qwen2-0.5B-Instruct"));
	// A folder that is no model does not hide a model of its name.
	put("whisper-tiny/readme", "");
	assert_int_equal(found("whisper-tiny").kind, HUB_PUBLISHED);
	setenv("HF_HUB_CACHE", path("nowhere"), 1);
	assert_int_equal(found("bert-base-uncased").kind, HUB_PUBLISHED);
}

static void cache_folder(void **state)
{
	(void)state;
	unsetenv("HF_HUB_CACHE");
	setenv("HF_HOME", "/hf", 1);
	assert_string_equal(hub_cache_dir(&arena), "/hf/hub");
	unsetenv("HF_HOME");
	setenv("XDG_CACHE_HOME", "/xdg", 1);
	assert_string_equal(hub_cache_dir(&arena), "/xdg/huggingface/hub");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "/home/x", 1);
	assert_string_equal(hub_cache_dir(&arena), "/home/x/.cache/huggingface/hub");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_disk),
		cmocka_unit_test(cached),
		cmocka_unit_test(published),
		cmocka_unit_test(cache_folder),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
