// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Adapters as peft saved them: what merge_and_unload made of the base model is what the checkpoint's numbers are
// (tools/make_quantised_case.py --adapters); what cannot be merged is refused by its key, and damaged files give sentences.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scratch.h"

#include "base/text.h"
#include "checkpoint/adapter.h"
#include "checkpoint/computed.h"

enum { MUTATIONS = 200 };

static const char *data_path(const char *name, const char *file)
{
	return arena_printf(&arena, "%s/tests/unit/data/adapters/%s/%s", TEST_SOURCE, name, file);
}

static char *content(const char *file, size_t *n)
{
	char *data;

	assert_int_equal(file_read(&arena, file, 1 << 20, &data, n, NULL), STATUS_OK);
	return data;
}

// The adapter in the scratch folder, its base where it lies, and `from` in its configuration made `to` (NULL: nothing).
static void put_adapter(const char *name, const char *from, const char *to)
{
	size_t n;
	char *data = content(data_path(name, "adapter_model.safetensors"), &n);

	assert_int_equal(file_put(path("adapter_model.safetensors"), data, n, NULL), STATUS_OK);
	data = content(data_path(name, "adapter_config.json"), &n);
	const char *base = data_path(text_is(name, "fan-in-fan-out") ? "base-gpt2"
			: text_is(name, "lora-tied")                 ? "base-tied"
								     : "base-llama",
		"");
	const char *pairs[][2] = { { from, to }, { "\"BASE\"", arena_printf(&arena, "\"%s\"", base) } };
	const char *now = arena_strndup(&arena, data, n);
	for (size_t i = 0; i < 2; i++) {
		const char *at = pairs[i][0] ? strstr(now, pairs[i][0]) : NULL;

		if (!pairs[i][0] || (i && !at))
			continue;
		if (!at)
			fail_msg("%s has no %s", name, from);
		now = arena_printf(&arena, "%.*s%s%s", (int)(at - now), now, pairs[i][1], at + strlen(pairs[i][0]));
	}
	assert_int_equal(file_put(path("adapter_config.json"), now, strlen(now), NULL), STATUS_OK);
}

static void check_numbers(const char *name)
{
	struct checkpoint c;
	struct shard file;
	struct weight *wanted;
	struct error e = { 0 };
	size_t count;

	put_adapter(name, NULL, NULL);
	assert_true(adapter_is(scratch));
	if (checkpoint_open(&c, scratch, &e) ||
		safetensors_open(&arena, data_path(name, "expected.safetensors"), &file, &wanted, &count, &e))
		fail_msg("%s", e.text);
	assert_true(c.weights_from && text_starts(c.weights_from, "LoRA adapter of rank "));
	for (size_t i = 0; i < count; i++) {
		const struct weight *w = checkpoint_find(&c, wanted[i].name);
		size_t n = (size_t)wanted[i].nbytes / 4;
		float *x = ARENA_ARRAY(&arena, n, float), *y = ARENA_ARRAY(&arena, n, float);

		if (!w || w->nbytes != wanted[i].nbytes ||
			(!w->computed && !text_ends(w->shard->path, "adapter_model.safetensors")))
			fail_msg("%s: %s is not there, or is the base model's", name, wanted[i].name);
		weight_numbers(w, 0, n, x);
		weight_numbers(&wanted[i], 0, n, y);
		for (size_t k = 0; k < n; k++)
			if (!(fabsf(x[k] - y[k]) <= 1e-6f))
				fail_msg("%s: %s: number %zu is %.9g, not %.9g", name, w->name, k, (double)x[k], (double)y[k]);
	}
	checkpoint_close(&c);
}

static void numbers(void **state)
{
	(void)state;
	check_numbers("lora");
	check_numbers("rslora-patterns");
	check_numbers("fan-in-fan-out");
	check_numbers("lora-tied");
}

static void refused(void **state)
{
	static const struct {
		const char *folder, *from, *to, *says;
	} rows[] = {
		{ "lora", "\"use_dora\": false", "\"use_dora\": true", "\"use_dora\" are not read yet" },
		{ "lora", "\"LORA\"", "\"IA3\"", "peft_type \"IA3\" are not read yet" },
		{ "lora", "\"r\": 4", "\"r\": 5", "rank 4, and the configuration says 5" },
		{ "lora", "\"r\": 4", "\"r\": \"4\"", "\"r\" is no number" },
		{ "lora", "\"lora_alpha\": 8", "\"lora_alpha\": \"8\"", "\"lora_alpha\" is no number" },
		{ "lora", "\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa\"", "init_lora_weights \"pissa\"" },
		{ "rslora-patterns", "\"q_proj\": 2", "\"q_.*\": 2", "expression \"q_.*\" is not read yet" },
		{ "rslora-patterns", "\"q_proj\": 2", "\"q.proj\": 3", "rank 2, and the configuration says 3" },
		{ "lora", "\"kasa_config\": null", "\"kasa_config\": {\"a\": 1}", "\"kasa_config\" are not read yet" },
		{ "lora", "\"use_dora\": false", "\"use_newer\": true", "does not know \"use_newer\"" },
		{ "lora", "\"BASE\"", "\"/nowhere\"", "whose base model is not here: /nowhere: there is no such" },
		{ "lora", "\"BASE\"", "null", "names no base_model_name_or_path" },
		{ "lora", "\"BASE\"", "\"bert-base-uncased\"", "not here" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct checkpoint c;
		struct error e = { 0 };

		put_adapter(rows[i].folder, rows[i].from, rows[i].to);
		enum status s = checkpoint_open(&c, scratch, &e);
		if ((s != STATUS_BAD_INPUT && s != STATUS_UNSUPPORTED) || !strstr(e.text, rows[i].says))
			fail_msg("%s with %s: \"%s\"", rows[i].folder, rows[i].to, e.text);
	}
	// An adapter of itself, and one of another model.
	struct checkpoint c;
	struct error e = { 0 };
	put_adapter("lora", "\"BASE\"", arena_printf(&arena, "\"%s\"", scratch));
	assert_int_equal(checkpoint_open(&c, scratch, &e), STATUS_UNSUPPORTED);
	assert_non_null(strstr(e.text, "is an adapter itself"));
	put_adapter("lora", "\"BASE\"", arena_printf(&arena, "\"%s\"", data_path("base-gpt2", "")));
	assert_int_equal(checkpoint_open(&c, scratch, &e), STATUS_UNSUPPORTED);
	assert_non_null(strstr(e.text, "the base model has no "));
}

// An adapter of one or two tensors of zeros, over a base.
static void put_tensors(const char *base, const char *const *names, size_t count)
{
	static float zeros[64 * 32];
	struct tensor tensors[2];
	const char *config = arena_printf(&arena,
		"{\"peft_type\": \"LORA\", \"r\": 8, \"base_model_name_or_path\": \"%s\", \"target_modules\": [\"q_proj\"]}",
		data_path(base, ""));

	for (size_t i = 0; i < count; i++)
		tensors[i] = (struct tensor){
			.name = names[i], .dtype = DTYPE_F32, .rank = 2, .dim = { 64, 32 }, .data = zeros, .nbytes = sizeof zeros
		};
	assert_int_equal(file_put(path("adapter_config.json"), config, strlen(config), NULL), STATUS_OK);
	assert_int_equal(safetensors_write(path("adapter_model.safetensors"), tensors, count, NULL), STATUS_OK);
}

// What peft 0.21 says of each (check_target_module_exists), of an adapter for q_proj, v_proj and down_proj of every layer of
// "model.layers".
static void modules(void **state)
{
	static const struct {
		const char *targets, *more, *says; // NULL: it is read
	} rows[] = {
		{ "\".*\\\\.(q_proj|v_proj|down_proj)\"", "", NULL },
		{ "\"model\\\\.layers\\\\.\\\\d+\\\\..*_proj\"", "", NULL },
		{ "\"All-Linear\"", "", NULL },
		{ "\".*q_proj\"", "", "which the configuration leaves out" },
		{ "\"q_proj|v_proj|down_proj\"", "", "which the configuration leaves out" }, // the whole name
		{ "\"lm_head\"", "", "which the configuration leaves out" },
		{ "\"(a+)+$\"", "", "which the configuration leaves out" },
		{ "\"(.*.*.*.*.*.*)*[XYZ]\"", "", "takes too long" },
		{ "\"[[:alpha:].]+_proj\"", "", "expression \"[[:alpha:].]+_proj\" is not read yet" },
		{ "\".{,80}_proj\"", "", "is not read yet" },
		{ "\"(?i).*_PROJ\"", "", "is not read yet" },
		{ "\".*\\\\K_proj\"", "", "is not read yet" },
		{ "\"(\"", "", "\"target_modules\": the expression \"(\" is not valid" },
		{ "5", "", "\"target_modules\" is neither a list of names nor an expression" },
		{ "[\"q_proj\", 5]", "", "\"target_modules\" names something that is no text" },
		{ "null", "", "adapters without \"target_modules\" are not read yet" },
		{ "[\"q_proj\", \"v_proj\", \"down_proj\"]", ", \"layers_to_transform\": 77",
			"which the configuration leaves out" },
		{ "[\"q_proj\", \"v_proj\", \"down_proj\"]", ", \"layers_to_transform\": [0, 1, 2, 3]", NULL },
		{ "[\"q_proj\", \"v_proj\", \"down_proj\"]", ", \"layers_to_transform\": [0, 1, 2, 3], \"layers_pattern\": \"h\"",
			"which the configuration leaves out" },
		{ "[\"q_proj\", \"v_proj\", \"down_proj\"]",
			", \"layers_to_transform\": [0, 1, 2, 3], \"layers_pattern\": [\"h\", \"layers\"]", NULL },
		{ "[\"q_proj\", \"v_proj\", \"down_proj\"]", ", \"layers_to_transform\": \"0\"", "is no number of a layer" },
		{ "[\"q_proj\", \"v_proj\", \"down_proj\"]", ", \"exclude_modules\": \".*v_proj\"",
			"which the configuration leaves out" },
		{ "[\"q_proj\", \"v_proj\", \"down_proj\"]", ", \"exclude_modules\": \"v_proj\"", NULL },
		{ "[\"q_proj\", \"v_proj\", \"down_proj\"]", ", \"exclude_modules\": true", "\"exclude_modules\" is neither" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct checkpoint c;
		struct error e = { 0 };
		const char *config = arena_printf(&arena,
			"{\"peft_type\": \"LORA\", \"r\": 4, \"base_model_name_or_path\": \"%s\", \"target_modules\": %s%s}",
			data_path("base-llama", ""), rows[i].targets, rows[i].more);

		put_adapter("lora", NULL, NULL);
		assert_int_equal(file_put(path("adapter_config.json"), config, strlen(config), NULL), STATUS_OK);
		enum status s = checkpoint_open(&c, scratch, &e);
		if (rows[i].says ? !s || !strstr(e.text, rows[i].says) : s)
			fail_msg("%s%s: \"%s\"", rows[i].targets, rows[i].more, e.text);
		if (!s)
			checkpoint_close(&c);
	}
}

// A module whose name has two numbers, in an adapter of its own: which is its layer's is what peft's releases have answered
// differently (check_target_module_exists of 0.19: the last; of 0.21: the first). And one with a row for each token, whatever
// its name: peft has two answers where it is the head, too.
static void module_names(void **state)
{
	static const struct {
		const char *module, *more, *says; // NULL: it is read
		const char *config;               // of the base, behind its model_type
	} rows[] = {
		{ "decoder.block.0.layer.1.k", "\"layers_to_transform\": [1]", "depends on peft's release" },
		{ "decoder.block.1.layer.0.k", "\"layers_to_transform\": 1", "depends on peft's release" },
		{ "decoder.block.1.layer.1.k", "\"layers_to_transform\": [1]", NULL },
		{ "decoder.block.0.layer.1.k", "\"layers_to_transform\": [0, 1]", NULL },
		{ "decoder.block.0.layer.1.k", "\"layers_to_transform\": [2]", "which the configuration leaves out" },
		{ "decoder.block.0.layer.1.k", "\"layers_to_transform\": 0, \"layers_pattern\": \"block\"", NULL },
		{ "decoder.block.0.layer.1.k", "\"layers_to_transform\": 1, \"layers_pattern\": \"layer\"", NULL },
		{ "decoder.block.0.block.1.k", "\"layers_to_transform\": 1, \"layers_pattern\": \"block\"",
			"depends on peft's release" },
		{ "block.0.layer.k", "\"layers_to_transform\": 0, \"layers_pattern\": \"block\"", "depends on peft's release" },
		{ "cls.k", "\"lora_alpha\": 4", "an embedding that is the head, too", ", \"vocab_size\": 4" },
		{ "cls.k", "\"lora_alpha\": 4", "an embedding that is the head, too", ", \"text_config\": {\"vocab_size\": 4}" },
		{ "cls.k", "\"lora_alpha\": 4", NULL, ", \"vocab_size\": 4, \"tie_word_embeddings\": false" },
		{ "cls.k", "\"lora_alpha\": 4", NULL, ", \"vocab_size\": 5" },
	};
	static const float zeros[4 * 4];

	(void)state;
	assert_int_equal(file_mkdirs(path("base"), NULL), STATUS_OK);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *m = rows[i].module,
			   *config = arena_printf(&arena,
				   "{\"peft_type\": \"LORA\", \"r\": 4, \"base_model_name_or_path\": \"%s\", \"target_modules\": "
				   "[\"k\"], %s}",
				   path("base"), rows[i].more);
		struct tensor t[] = {
			{ .name = arena_printf(&arena, "base_model.model.%s.lora_A.weight", m) },
			{ .name = arena_printf(&arena, "base_model.model.%s.lora_B.weight", m) },
			{ .name = arena_printf(&arena, "%s.weight", m) },
		};
		struct checkpoint c;
		struct error e = { 0 };
		const char *base = arena_printf(&arena, "{\"model_type\": \"t5\"%s}", rows[i].config ? rows[i].config : "");

		assert_int_equal(file_put(path("base/config.json"), base, strlen(base), NULL), STATUS_OK);
		for (size_t k = 0; k < 3; k++) {
			const char *name = t[k].name;

			t[k] = (struct tensor){ .name = name,
				.dtype = DTYPE_F32,
				.rank = 2,
				.dim = { 4, 4 },
				.data = (void *)(uintptr_t)zeros,
				.nbytes = sizeof zeros };
		}
		assert_int_equal(file_put(path("adapter_config.json"), config, strlen(config), NULL), STATUS_OK);
		assert_int_equal(safetensors_write(path("adapter_model.safetensors"), t, 2, NULL), STATUS_OK);
		assert_int_equal(safetensors_write(path("base/model.safetensors"), t + 2, 1, NULL), STATUS_OK);
		enum status s = checkpoint_open(&c, scratch, &e);
		if (rows[i].says ? !s || !strstr(e.text, rows[i].says) : s)
			fail_msg("%s, %s: \"%s\"", m, rows[i].more, e.text);
		if (!s)
			checkpoint_close(&c);
	}
}

static void names(void **state)
{
	static const struct {
		const char *base, *tensors[2], *says; // NULL: it is read
	} rows[] = {
		{ "base-llama", { "base_model.model.lm_head.weight", NULL }, NULL },
		{ "base-llama", { "base_model.model.lm_head.base_layer.weight", NULL }, "there is no A of its module" },
		{ "base-llama", { "base_model.model.model.lm_head.weight", NULL }, NULL },
		{ "base-llama", { "base_model.model.llama.lm_head.weight", NULL }, NULL },
		{ "base-llama", { "base_model.model.other.lm_head.weight", NULL }, "no such tensor" },
		{ "base-llama", { "other.model.lm_head.weight", NULL }, "is not called base_model.model.." },
		{ "base-tied", { "base_model.model.model.embed_tokens.weight", NULL }, "an embedding that is the head, too" },
		// peft gives two answers, 3.2 apart for one such adapter: merged into the base, and beside it.
		{ "base-tied",
			{ "base_model.model.model.embed_tokens.lora_embedding_A",
				"base_model.model.model.embed_tokens.lora_embedding_B" },
			"changes an embedding that is the head, too" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct checkpoint c;
		struct error e = { 0 };

		put_tensors(rows[i].base, rows[i].tensors, rows[i].tensors[1] ? 2 : 1);
		enum status s = checkpoint_open(&c, scratch, &e);
		if (rows[i].says ? !s || !strstr(e.text, rows[i].says) : s)
			fail_msg("%s: \"%s\"", rows[i].tensors[0], e.text);
		if (!s)
			checkpoint_close(&c);
	}
}

static void damaged(void **state)
{
	size_t n, refusals = 0;
	char *data = content(data_path("rslora-patterns", "adapter_model.safetensors"), &n);

	(void)state;
	put_adapter("rslora-patterns", NULL, NULL);
	for (unsigned m = 0; m < MUTATIONS; m++) {
		struct checkpoint c;
		struct error e = { 0 };
		uint32_t random = m * 2654435761u;
		size_t at = 8 + random % 1024;
		char kept = data[at];

		data[at] = (char)('0' + random % 10);
		assert_int_equal(file_put(path("adapter_model.safetensors"), data, m % 5 ? n : random % n, NULL), STATUS_OK);
		data[at] = kept;
		if (checkpoint_open(&c, scratch, &e)) {
			refusals++;
			if (!strstr(e.text, scratch))
				fail_msg("refused without a sentence that names the file: \"%s\"", e.text);
			continue;
		}
		for (size_t i = 0; i < c.weight_count; i++) {
			float x[64];

			weight_numbers(&c.weights[i], 0, c.weights[i].nbytes / 4 < 64 ? (size_t)c.weights[i].nbytes / 4 : 64, x);
		}
		checkpoint_close(&c);
	}
	assert_true(refusals > MUTATIONS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(refused),
		cmocka_unit_test(modules),
		cmocka_unit_test(module_names),
		cmocka_unit_test(names),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
