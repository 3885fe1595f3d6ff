// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Program: plain
// What a configuration of an unknown type is most like: the configurations of the conformance cases under a name that no row has
// are refused, and most find their own family again; keys, parts and tensors that the type has not are named.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>

#include "arch/arch.h"
#include "arch/spec.h"
#include "base/file.h"

// Opens text as a configuration of a type that has no row.
static void open_as(struct checkpoint *c, const char *text, const char *type)
{
	struct error err = { 0 };
	assert_int_equal(checkpoint_open_config(c, "test", text, strlen(text), &err), STATUS_OK);
	json_object_set_new(c->config, "model_type", json_string(type));
}

static void cases_find_their_family_again(void **state)
{
	(void)state;
	struct dirent **names;
	int n = scandir(TEST_SOURCE "/tests/conform/cases", &names, NULL, alphasort);
	size_t cases = 0, found = 0, number = 0;

	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		struct arena a = { 0 };
		struct checkpoint c;
		struct spec *spec;
		struct error err = { 0 };
		struct arch_likeness like;
		char *text;
		size_t nbytes;
		const char *path = arena_printf(&a, TEST_SOURCE "/tests/conform/cases/%s/config.json", names[i]->d_name);

		// One of sixteen, by name: each is held against the defaults of all types.
		if (names[i]->d_name[0] != '.' && file_exists(path) && (number++ % 16 == 0 || getenv("ASSAY_LONG"))) {
			assert_int_equal(file_read(&a, path, 1 << 20, &text, &nbytes, &err), STATUS_OK);
			assert_int_equal(checkpoint_open_config(&c, "test", text, nbytes, &err), STATUS_OK);
			const char *own = arena_strdup(&a, json_string_value(json_object_get(c.config, "model_type")));
			json_object_set_new(c.config, "model_type", json_string("invented"));
			assert_int_equal(arch_resolve(&spec, &a, &c, &err), STATUS_UNSUPPORTED);
			arch_resemble(&like, &a, &c);
			cases++;
			found += like.type && arch_find(own)->family == arch_find(like.type)->family;
			checkpoint_close(&c);
		}
		arena_done(&a);
		free(names[i]);
	}
	free(names);
	printf("%zu of %zu cases find their family\n", found, cases);
	assert_true(cases > 60);
	assert_true(found * 100 >= cases * 90);
}

static void what_it_has_not_is_named(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct checkpoint c;
	struct arch_likeness like;

	open_as(&c,
		"{\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
		" \"intermediate_size\": 96, \"vocab_size\": 99, \"rms_norm_eps\": 1e-6, \"rope_theta\": 10000.0,"
		" \"attention_bias\": false, \"mlp_bias\": false, \"hidden_act\": \"silu\", \"max_position_embeddings\": 64,"
		" \"wavelet_order\": 3, \"dropout\": 0.5, \"vision_config\": {\"model_type\": \"vit\"},"
		" \"memory_config\": {\"model_type\": \"invented_memory\"}}",
		"invented");
	arch_resemble(&like, &a, &c);
	assert_non_null(like.type);
	assert_string_equal(like.family, "decoder");
	assert_string_equal(like.type, "llama"); // arcee has the same keys, and hardly a model
	assert_int_equal(like.keys, 15);
	assert_int_equal(like.shared, 12);
	assert_string_equal(like.unknown, "wavelet_order, vision_config, memory_config");
	assert_string_equal(like.parts, "vision_config: vit, supported; memory_config: invented_memory, not supported");
	assert_int_equal(like.kinds, 0);
	checkpoint_close(&c);

	open_as(&c, "{\"zzz\": 1}", "invented"); // nothing in common with any type
	arch_resemble(&like, &a, &c);
	assert_null(like.type);
	checkpoint_close(&c);

	open_as(&c, "{}", "invented");
	arch_resemble(&like, &a, &c);
	assert_null(like.type);
	assert_null(like.parts);
	checkpoint_close(&c);
	arena_done(&a);
}

static void tensors_are_compared_by_kind(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct checkpoint c, known;
	struct spec *spec;
	struct weight *planned;
	size_t count;
	struct error err = { 0 };
	struct arch_likeness like;
	static const char bert[] = "{\"architectures\": [\"BertForMaskedLM\"], \"model_type\": \"bert\", \"hidden_size\": 8,"
				   " \"num_hidden_layers\": 12, \"num_attention_heads\": 2, \"intermediate_size\": 16,"
				   " \"vocab_size\": 99, \"max_position_embeddings\": 16, \"type_vocab_size\": 2,"
				   " \"layer_norm_eps\": 1e-12, \"hidden_act\": \"gelu\", \"is_decoder\": false,"
				   " \"add_cross_attention\": false, \"classifier_dropout\": null, \"use_cache\": true,"
				   " \"tie_word_embeddings\": true}";

	assert_int_equal(checkpoint_open_config(&known, "test", bert, strlen(bert), &err), STATUS_OK);
	assert_int_equal(arch_resolve(&spec, &a, &known, &err), STATUS_OK);
	assert_int_equal(arch_plan_weights(spec, &a, DTYPE_F32, &planned, &count, &err), STATUS_OK);
	open_as(&c, bert, "invented");
	struct weight *there = arena_alloc(&a, (count + 1) * sizeof *there);
	memcpy(there, planned, count * sizeof *there);
	there[0].name = "bert.encoder.layer.7.gate.3.weight"; // in the place of one that bert has once
	there[count] = there[1];
	there[count].name = "bert.encoder.layer.8.gate.0.weight";
	c.weights = there;
	c.weight_count = count + 1;
	arch_resemble(&like, &a, &c);
	assert_string_equal(like.family, "encoder");
	assert_string_equal(like.kinds_unknown, "encoder.layer.#.gate.#.weight");
	assert_int_equal(like.kinds_shared, like.kinds - 1);
	assert_non_null(like.kinds_missing);
	c.weights = NULL;
	c.weight_count = 0;
	checkpoint_close(&c);
	checkpoint_close(&known);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_find_their_family_again),
		cmocka_unit_test(what_it_has_not_is_named),
		cmocka_unit_test(tensors_are_compared_by_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
