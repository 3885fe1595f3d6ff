// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Configurations that say what no model is: of one case of each type every whole number in turn is 2^31 - 1, 100000, 1000, 0,
// -1, 10^18 or a list, and every value another kind of one. Whatever it says, it is built or refused with a sentence: nothing
// aborts, hangs or takes gigabytes. All of them take half an hour with sanitizers (ASSAY_LONG does it); a share of them,
// chosen by hash, and every number of layers are tried each time.
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/spec.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

enum { SHARE = 100, SECONDS_MOST = 120, MIB_MOST = 700 };

static size_t tried, built;
static bool all;

// The kernel's high-water mark of this process, begun anew.
static void begin_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "5", 1) == 1)
		close(fd);
}

static long peak_mib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "VmHWM:", 6))
			kib = strtol(line + 6, NULL, 10);
	if (f)
		fclose(f);
	return kib / 1024;
}

static void try(const char *what, const json_t *config, bool must_refuse)
{
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	struct weight *weights;
	struct spec *spec;
	size_t count = 0;
	char *text = json_dumps(config, JSON_COMPACT);

	begin_peak();
	long before = peak_mib();
	alarm(SECONDS_MOST); // a hang ends the program
	enum status s = checkpoint_open_config(&c, what, text, strlen(text), &e);
	if (!s && !(s = arch_resolve(&spec, &c.arena, &c, &e)))
		s = arch_plan_weights(spec, &c.arena, DTYPE_F32, &weights, &count, &e);
	checkpoint_close(&c);
	alarm(0);
	long took = peak_mib() - before;
	tried++;
	built += s == STATUS_OK;
	if (s ? e.status != s || !e.text[0] : !count)
		fail_msg("%s: %s '%s', %zu weights", what, status_word(s), e.text, count);
	if (took > MIB_MOST)
		fail_msg("%s: %ld MiB", what, took);
	if (must_refuse && !s)
		fail_msg("%s: built", what);
	free(text);
}

static bool is_chosen(const char *what)
{
	return all || splitmix64(fnv1a64(what, strlen(what)), 0) % SHARE == 0;
}

static void change(const char *path, const json_t *root, json_t *object, const char *key, int64_t was)
{
	static const int64_t numbers[] = { 2147483647, 100000, 1000, 0, -1, 1000000000000000000, 33 };
	bool layers = strstr(key, "layers") && was > 0 && was < 64;
	char what[512];

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		snprintf(what, sizeof what, "%s=%lld", path, (long long)numbers[i]);
		json_object_set_new(object, key, json_integer(numbers[i]));
		if (is_chosen(what) || (layers && i == 0))
			try(what, root, false);
	}
	json_t *list = json_array();
	for (int i = 0; i < 1000; i++)
		json_array_append_new(list, json_integer(was));
	json_object_set_new(object, key, list);
	snprintf(what, sizeof what, "%s=[1000 times]", path);
	if (is_chosen(what))
		try(what, root, false);
	json_object_set_new(object, key, json_integer(was));
}

static void change_list(const char *path, const json_t *root, json_t *object, const char *key, const json_t *was)
{
	static const int64_t numbers[] = { 2147483647, 1000, 0 };
	json_t *kept = json_deep_copy(was);
	char what[512];

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		json_t *list = json_deep_copy(kept);

		json_array_set_new(list, json_array_size(list) - 1, json_integer(numbers[i]));
		json_object_set_new(object, key, list);
		snprintf(what, sizeof what, "%s ends %lld", path, (long long)numbers[i]);
		if (is_chosen(what))
			try(what, root, false);
	}
	json_t *list = json_array();
	for (int i = 0; i < 4000; i++)
		json_array_append_new(list, json_integer(2));
	json_object_set_new(object, key, list);
	snprintf(what, sizeof what, "%s=[4000 times]", path);
	if (is_chosen(what))
		try(what, root, false);
	json_object_set_new(object, key, kept);
}

// A part of another type, by its name alone: a family may not read what another has made.
static void exchange(const char *path, const json_t *root, json_t *part)
{
	static const char *const types[] = { "llama", "resnet", "vit", "bert", "whisper", "pixtral", "clip_vision_model" };
	json_t *kept = json_deep_copy(part);
	char what[512];

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (int alone = 0; alone < 2; alone++) {
			if (alone)
				json_object_clear(part);
			json_object_set_new(part, "model_type", json_string(types[i]));
			snprintf(what, sizeof what, "%s is a %s%s", path, types[i], alone ? " and says no more" : "");
			try(what, root, false);
			json_object_clear(part);
			json_object_update(part, kept);
		}
	json_decref(kept);
}

static void walk(const char *path, const json_t *root, json_t *object)
{
	const char *key;
	json_t *v;
	void *next;

	json_object_foreach_safe(object, next, key, v)
	{
		char deeper[400];

		snprintf(deeper, sizeof deeper, "%s.%s", path, key);
		if (json_is_object(v))
			walk(deeper, root, v);
		if (json_object_get(v, "model_type"))
			exchange(deeper, root, v);
		if (json_is_array(v) && json_is_integer(json_array_get(v, 0)))
			change_list(deeper, root, object, key, v);
		else if (json_is_integer(v))
			change(deeper, root, object, key, json_integer_value(v));
	}
}

// Calls `each` with the configuration of one case of each type; with all of them, where everything is tried. How many types.
static size_t for_each_type(void (*each)(const char *name, json_t *config))
{
	struct dirent **names;
	int n = scandir(TEST_SOURCE "/tests/conform/cases", &names, NULL, alphasort);
	json_t *seen = json_object();

	assert_true(n > 2);
	all = getenv("ASSAY_LONG") != NULL;
	for (int i = 0; i < n; free(names[i]), i++) {
		char path[4096];
		json_t *config;

		snprintf(path, sizeof path, TEST_SOURCE "/tests/conform/cases/%s/config.json", names[i]->d_name);
		if (names[i]->d_name[0] == '.' || json_file(path, 1 << 20, &config, NULL))
			continue;
		const char *type = json_string_value(json_object_get(config, "model_type"));
		if (type && (all || !json_object_get(seen, type))) {
			json_object_set_new(seen, type, json_true());
			each(names[i]->d_name, config);
		}
		json_decref(config);
	}
	free(names);
	size_t types = json_object_size(seen);
	json_decref(seen);
	return types;
}

static void walk_all(const char *name, json_t *config)
{
	walk(name, config, config);
}

static void every_number_in_turn(void **state)
{
	(void)state;
	size_t types = for_each_type(walk_all);

	print_message("%zu configurations of %zu types, %zu built\n", tried, types, built);
	assert_true(tried > 500 && built > 50);
}

// Those of the attack, and what the sweep of all of them has found since.
static void known(void **state)
{
	(void)state;
	static const struct {
		const char *of, *key;
		int64_t number;
	} cases[] = {
		{ "bert", "num_hidden_layers", 100000 },
		{ "whisper", "encoder_layers", 2147483647 },
		{ "whisper", "decoder_layers", 2147483647 },
		{ "falcon-new-decoder", "num_kv_heads", 0 },
		{ "mobilebert", "num_attention_heads", 0 },
		{ "moonshine", "encoder_num_hidden_layers", 2000 },
		{ "albert", "num_hidden_layers", 2147483647 },
		{ "t5", "relative_attention_max_distance", 2147483647 },
		{ "swin", "window_size", 1000 },
		{ "mixtral", "num_local_experts", 100000 },
		{ "switch_transformers", "num_experts", 100000 },
		{ "vit", "image_size", 2147483647 },
		{ "longcat_flash", "n_routed_experts", 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[4096], what[256];
		json_t *config;

		snprintf(path, sizeof path, TEST_SOURCE "/tests/conform/cases/%s/config.json", cases[i].of);
		snprintf(what, sizeof what, "%s.%s=%lld", cases[i].of, cases[i].key, (long long)cases[i].number);
		if (json_file(path, 1 << 20, &config, NULL))
			fail_msg("%s", path);
		json_object_set_new(config, cases[i].key, json_integer(cases[i].number));
		try(what, config, true);
		json_decref(config);
	}
}

// ---- another kind of value -----------------------------------------------------------------------------------------------

static bool has_no_effect(const char *type, const char *key)
{
	const struct arch *row = arch_find(type);

	for (const struct key_name *k = row ? row->dialect->keys : NULL; k && k->canonical; k++)
		if (text_is(k->config, key))
			return false;
	for (const char *const *glob = row ? row->dialect->inert : NULL; glob && *glob; glob++)
		if (!fnmatch(*glob, key, 0))
			return true;
	json_t *defaults = row ? config_defaults(type) : NULL;
	const bool passed_over = defaults && !json_object_get(defaults, key) && !config_reads_unnamed(key);
	json_decref(defaults);
	return passed_over || config_is_inert(key) || text_is(key, "model_type");
}

// What is read inside of objects, but no class says of what kind it is: a word, or what this class leaves alone.
static bool may_be_text(const char *path)
{
	static const char *const rows[] = { "*.pos_att_type", "*.use_bidirectional_attention", "*.attn_config.rope_theta" };
	bool may = false;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		may |= !fnmatch(rows[i], path, 0);
	return may;
}

// MaskFormer's decoder has the words of a whole DETR, and is none: most of them are inert there.
static bool is_no_part(const char *path)
{
	return text_ends(path, ".decoder_config");
}

// Depth Pro's model of the field of view: its configuration is always there, and of use where the model is.
static bool is_unused(const json_t *root, const char *key)
{
	return text_is(key, "fov_model_config") && !json_is_true(json_object_get(root, "use_fov_model"));
}

static size_t kinds_tried;

static void must_refuse(const char *path, const json_t *root)
{
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	struct spec *spec;
	char *text = json_dumps(root, JSON_COMPACT);
	enum status s = checkpoint_open_config(&c, "model", text, strlen(text), &e);

	kinds_tried++;
	s = s ? s : arch_resolve(&spec, &c.arena, &c, &e);
	if (!s)
		fail_msg("%s: resolved", path);
	assert_true(e.status == s && e.text[0]);
	checkpoint_close(&c);
	free(text);
}

// Every value that has an effect is in turn a word, an object and a list of words, whatever it was.
static void change_kinds(const char *path, const char *type, const json_t *root, json_t *object)
{
	const char *key, *own = json_string_value(json_object_get(object, "model_type"));
	json_t *v;
	void *next;

	type = own && arch_find(own) && !is_no_part(path) ? own
							  : type; // what is no type of its own is read in the words of the whole
	json_object_foreach_safe(object, next, key, v)
	{
		char deeper[400], what[420];

		if (has_no_effect(type, key))
			continue;
		json_t *kept = json_deep_copy(v), *others[] = { json_string("many"), json_object(), json_pack("[[s]]", "many") };

		snprintf(deeper, sizeof deeper, "%s.%s", path, key);
		if (json_is_object(v) && !is_unused(root, key))
			change_kinds(deeper, type, root, v);
		for (size_t i = 0; i < 3; i++) {
			bool same = json_is_null(kept) || (i == 0 && json_is_string(kept)) || (i == 1 && json_is_object(kept)) ||
				(i == 2 && json_is_array(kept));

			json_object_set_new(object, key, others[i]);
			snprintf(what, sizeof what, "%s %zu", deeper, i);
			if (!same && !(i == 0 && may_be_text(deeper)) &&
				(all || splitmix64(fnv1a64(what, strlen(what)), 0) % 4 == 0))
				must_refuse(deeper, root);
		}
		json_object_set_new(object, key, kept);
	}
}

static void change_kinds_of(const char *name, json_t *config)
{
	change_kinds(name, "", config, config);
}

// One case of each type, and of what it has one in four by hash; all with ASSAY_LONG.
static void every_kind_in_turn(void **state)
{
	(void)state;
	static const char *const experts[] = { "\"2\"", "2.5", "-1", "[2]", "true", "{}" };

	for_each_type(change_kinds_of);
	for (size_t i = 0; i < sizeof experts / sizeof *experts; i++) {
		json_t *config;

		assert_int_equal(
			json_file(TEST_SOURCE "/tests/conform/cases/dbrx/config.json", 1 << 20, &config, NULL), STATUS_OK);
		json_object_set_new(
			json_object_get(config, "ffn_config"), "moe_top_k", json_loads(experts[i], JSON_DECODE_ANY, NULL));
		must_refuse("ffn_config.moe_top_k", config);
		json_decref(config);
	}
	assert_true(kinds_tried > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(known), cmocka_unit_test(every_number_in_turn),
		cmocka_unit_test(every_kind_in_turn) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
