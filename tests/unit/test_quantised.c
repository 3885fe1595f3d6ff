// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Weights as people publish them quantised: every folder of data/quantised gives, bit by bit, the numbers that the format's own
// library made of the same tensors (tools/make_quantised_case.py); cut off and damaged files are refused or give numbers, and
// configurations that say something else than the tensors are refused in a sentence.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scratch.h"

#include "base/text.h"
#include "checkpoint/computed.h"

enum { FOLDERS_LEAST = 20, MUTATIONS = 100 };

static const char *data_path(const char *name, const char *file)
{
	return arena_printf(&arena, "%s/tests/unit/data/quantised/%s%s%s", TEST_SOURCE, name, *file ? "/" : "", file);
}

static size_t folders(const char **out, size_t most)
{
	DIR *dir = opendir(data_path("", ""));
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && n < most && file_exists(data_path(entry->d_name, "expected.safetensors")))
			out[n++] = arena_strdup(&arena, entry->d_name);
	closedir(dir);
	return n;
}

static void check_numbers(const char *name, const struct checkpoint *c)
{
	struct shard file;
	struct weight *wanted;
	struct error e = { 0 };
	size_t count;

	if (safetensors_open(&arena, data_path(name, "expected.safetensors"), &file, &wanted, &count, &e))
		fail_msg("%s", e.text);
	assert_int_equal(c->computed_count, count);
	for (size_t i = 0; i < count; i++) {
		const struct weight *w = checkpoint_find(c, wanted[i].name);
		size_t n = (size_t)wanted[i].nbytes / 4;

		if (!w || !w->computed || w->rank != wanted[i].rank ||
			memcmp(w->dim, wanted[i].dim, (size_t)w->rank * sizeof *w->dim))
			fail_msg("%s: %s is not there, or of another shape", name, wanted[i].name);
		float *x = ARENA_ARRAY(&arena, n, float);
		for (size_t at = 0, part; at < n; at += part) { // parts that end within rows
			part = n - at < 37 ? n - at : 37;
			weight_numbers(w, at, part, x + at);
		}
		for (size_t k = 0; k < n; k++) {
			float y;

			memcpy(&y, (const uint8_t *)wanted[i].data + 4 * k, sizeof y);
			if (memcmp(&x[k], &y, sizeof y) && !(x[k] == 0 && y == 0))
				fail_msg("%s: %s: number %zu is %.9g, not %.9g", name, w->name, k, (double)x[k], (double)y);
		}
	}
}

static void numbers(void **state)
{
	const char *names[100];
	size_t n = folders(names, 100);

	(void)state;
	assert_true(n >= FOLDERS_LEAST);
	for (size_t i = 0; i < n; i++) {
		struct checkpoint c;
		struct error e = { 0 };

		if (checkpoint_open(&c, data_path(names[i], ""), &e))
			fail_msg("%s", e.text);
		assert_non_null(c.weights_from);
		check_numbers(names[i], &c);
		checkpoint_close(&c);
	}
}

// Every number of every weight, where the folder is not refused.
static enum status read_all(struct error *e)
{
	struct checkpoint c;
	enum status s = checkpoint_open(&c, scratch, e);

	if (s)
		return s;
	for (size_t i = 0; i < c.weight_count; i++) {
		const struct weight *w = &c.weights[i];
		float x[64];

		for (uint64_t at = 0, n = w->nbytes / dtype_size(w->dtype), part; at < n; at += part) {
			part = n - at < 64 ? n - at : 64;
			weight_numbers(w, at, (size_t)part, x);
		}
	}
	checkpoint_close(&c);
	return s;
}

static void damaged(void **state)
{
	const char *names[100];
	size_t count = folders(names, 100), refused = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		char *model, *config;
		size_t n, config_n;

		assert_int_equal(
			file_read(&arena, data_path(names[i], "model.safetensors"), 1 << 20, &model, &n, NULL), STATUS_OK);
		assert_int_equal(
			file_read(&arena, data_path(names[i], "config.json"), 1 << 20, &config, &config_n, NULL), STATUS_OK);
		assert_int_equal(file_put(path("config.json"), config, config_n, NULL), STATUS_OK);
		for (unsigned m = 0; m < MUTATIONS; m++) {
			struct error e = { 0 };
			uint32_t random = m * 2654435761u;
			size_t at = m % 3 ? 8 + random % 4096 : random % n, length = m % 7 ? n : random % n;
			char kept = model[at];

			model[at] = (char)(m % 5 ? '0' + random % 10 : random >> 8);
			assert_int_equal(file_put(path("model.safetensors"), model, length, NULL), STATUS_OK);
			enum status s = read_all(&e);
			if (s && (!e.text[0] || !strstr(e.text, scratch)))
				fail_msg("%s: refused without a sentence that names the file: \"%s\"", names[i], e.text);
			refused += s != STATUS_OK;
			model[at] = kept;
		}
	}
	assert_true(refused > count * MUTATIONS / 10);
}

#define GROUP(name) "\"" name "\": {},"
#define GROUPS_4(name) GROUP(name "0") GROUP(name "1") GROUP(name "2") GROUP(name "3")
#define GROUPS_16(name) GROUPS_4(name "0") GROUPS_4(name "1") GROUPS_4(name "2") GROUPS_4(name "3")

// A configuration of one of the folders with something changed, and what the refusal says.
static void refused(void **state)
{
	static const struct {
		const char *folder, *from, *to, *says;
	} rows[] = {
		{ "fp8-blocks", "\"fp8\"", "\"hqq\"", "quantised by \"hqq\" are not read yet" },
		{ "fp8-blocks", "\"quant_method\": \"fp8\"", "\"bits\": 8", "(no quant_method)" },
		{ "fp8-blocks", "\"quantization_config\"", "\"quantisation_config\"", "has a scale, and config.json no" },
		{ "fp8-blocks", "   16,\n   16\n", "   16,\n   32\n", "are no scales of a weight" },
		{ "fp8-blocks", "   16,\n   16\n", "   16\n", "is not two numbers" },
		{ "fp8-blocks", "   16,\n   16\n", "   0,\n   16\n", "is not two numbers" },
		{ "ct-int4-group", "pack-quantized", "nvfp4-pack-quantized", "format \"nvfp4-pack-quantized\" is not read yet" },
		{ "ct-int4-group", "\"num_bits\": 4", "\"num_bits\": 8", "do not fill it" },
		{ "ct-int4-group", "\"num_bits\": 4", "\"num_bits\": 3", "packs 3 bits" },
		{ "ct-int4-group", "\"config_groups\": {",
			"\"config_groups\": {\"other\": {\"weights\": {\"num_bits\": 4, \"group_size\": 64}},",
			"more than one group" },
		{ "ct-int4-group", "\"config_groups\": {",
			"\"config_groups\": {" GROUPS_16("a") GROUPS_16("b") GROUPS_16("c") GROUPS_16("d"), // and its own
			"has 65 groups; at most 64 are read" },
		{ "ct-int4-group", "\"num_bits\": 4", "\"num_bits\": \"4\"", "\"num_bits\" is no number" },
		{ "gptq-4", "\"bits\": 4", "\"bits\": 3", "gptq of 3 bits is not read yet" },
		{ "gptq-4", "\"gptq\"\n", "\"marlin\"\n", "format \"marlin\" is not read yet" },
		{ "gptq-4", "\"bits\": 4", "\"bits\": 4, \"format\": \"gptq_v2\"", "say two things" },
		{ "gptq-4", "\"bits\": 4", "\"bits\": 4, \"format\": 2", "is no text" },
		{ "gptq-4", "\"bits\": 4", "\"bits\": 4, \"dynamic\": {\"x\": {}}", "with \"dynamic\"" },
		{ "gptq-4", "\"group_size\": 16", "\"group_size\": 32", "is what the weight beside it needs" },
		{ "gptq-4-order", "\"group_size\": 16", "\"group_size\": 0", "is what the weight beside it needs" },
		{ "awq", "\"gemm\"", "\"gemv\"", "format \"gemv\" is not read yet" },
		{ "awq", "\"zero_point\": true", "\"zero_point\": \"false\"", "\"zero_point\" is no boolean" },
		{ "awq", "\"bits\": 4", "\"bits\": 4, \"format\": \"gemv\"", "say two things" },
		{ "awq", "\"bits\": 4", "\"bits\": 8", "awq of 8 bits is not read yet" },
		{ "awq", "\"zero_point\": true", "\"zero_point\": false", "without zero points is not read yet" },
		{ "ct-float-channel", "\"type\": \"float\"", "\"type\": \"int\"", "weights of the type \"float\"" },
		{ "ct-int8-channel", "\"type\": \"int\"", "\"type\": \"float\"", "weights of the type \"int\"" },
		{ "ct-int4-group", "\"group_size\": 16", "\"group_size\": 8", "are no scales of a weight" },
		{ "gptq-4", "\"bits\": 4", "\"bits\": 4, \"modules_to_not_convert\": [\"q_proj\"]",
			"\"modules_to_not_convert\" names it" },
		{ "gptq-4", "\"bits\": 4", "\"bits\": 4, \"modules_in_block_to_quantize\": [[\"self_attn.q_proj\"]]",
			"does not name it" },
		{ "awq", "\"bits\": 4", "\"bits\": 4, \"modules_to_not_convert\": [\"model.layers.0.mlp\"]",
			"\"modules_to_not_convert\" names it" },
		{ "fp8-blocks", "\"lm_head\"", "\"model.layers.0.self_attn.q_proj\"", "\"modules_to_not_convert\" names it" },
		{ "fp8-blocks", "\"lm_head\"", "\"model.layers.*.q_proj\"", "\"modules_to_not_convert\" names it" },
		{ "fp8-blocks", "\"lm_head\"", "\"model.*.mlp.\"", "\"modules_to_not_convert\" names it" },
		{ "fp8-blocks", "\"lm_head\"", "\"model.*.0.*.q_pro.\"", "\"modules_to_not_convert\" names it" },
		{ "fp8-blocks", "\"lm_head\"", "\"model.layers.[0-9]\"", "the expression \"model.layers.[0-9]\", which" },
		{ "mxfp4", "\"lm_head\"", "\"model.layers.*.experts\"", "\"modules_to_not_convert\" names it" },
		{ "ct-int4-group", "\"lm_head\"", "\"model.layers.0.self_attn.q_proj\"", "\"ignore\" names it" },
		{ "ct-int4-group", "\"lm_head\"", "\"model.language_model.layers.0.self_attn.q_proj\"", "\"ignore\" names it" },
		{ "ct-float-channel", "\"lm_head\"", "\"Linear\"", "\"ignore\" names it" },
		{ "ct-float-channel", "\"Linear\"", "\"model.layers.0.self_attn.q_proj\"", "no group's targets name it" },
		{ "ct-float-channel", "\"weights\": {", "\"weights\": null, \"further\": {", "no group's targets name it" },
		{ "ct-float-channel", "\"weights\": {", "\"format\": \"dense\", \"weights\": {", "\"dense\" is not read yet" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *data;
		size_t n;
		struct text t = { 0 };
		struct error e = { 0 };

		assert_int_equal(
			file_read(&arena, data_path(rows[i].folder, "model.safetensors"), 1 << 20, &data, &n, NULL), STATUS_OK);
		assert_int_equal(file_put(path("model.safetensors"), data, n, NULL), STATUS_OK);
		assert_int_equal(
			file_read(&arena, data_path(rows[i].folder, "config.json"), 1 << 20, &data, &n, NULL), STATUS_OK);
		char *at = memmem(data, n, rows[i].from, strlen(rows[i].from));
		if (!at)
			fail_msg("%s has no %s", rows[i].folder, rows[i].from);
		text_add_bytes(&t, data, (size_t)(at - data));
		text_add(&t, rows[i].to);
		text_add_bytes(&t, at + strlen(rows[i].from), n - (size_t)(at - data) - strlen(rows[i].from));
		assert_int_equal(file_put(path("config.json"), text_get(&t), t.length, NULL), STATUS_OK);
		text_done(&t);
		enum status s = read_all(&e);
		if ((s != STATUS_BAD_INPUT && s != STATUS_UNSUPPORTED) || !strstr(e.text, rows[i].says))
			fail_msg("%s with %s: \"%s\"", rows[i].folder, rows[i].to, e.text);
	}
}

// Puts `to` where `from` is, each time.
static void exchange(char *data, size_t n, const char *from, const char *to, size_t nbytes)
{
	char *at = memmem(data, n, from, nbytes);

	if (!at)
		fail_msg("there is no %s", from);
	for (; at; at = memmem(at, n - (size_t)(at - data), from, nbytes))
		memcpy(at, to, nbytes);
}

// Bytes of one of the folders' weights with something changed, and what the refusal says; `unnamed`: of a configuration without
// that key, too.
static void refused_weights(void **state)
{
	static const struct {
		const char *folder, *from, *to;
		size_t nbytes;
		const char *says, *unnamed;
	} rows[] = {
		{ "bnb-nf4", "\"quant_type\": \"nf4\"", "\"quant_type\": \"fp4\"", 19, "of this kind", NULL },
		{ "bnb-nf4-nested", "\"nested_offset\": 0", "\"nested_offset\": ~", 18, "", NULL },
		{ "bnb-nf4-nested", "\"nested_offset\"", "\"nested_offfet\"", 15, "of this kind", NULL },
		{ "bnb-fp4", "\0\0\0\0\xab\xaa\xaa\x3b", "\0\0\0\0\xab\xaa\xaa\x3c", 8, "is not the numbers of fp4", NULL },
		{ "bnb-nf4", "\0\0\x80\xbf", "\0\0\x80\xc0", 4, "is not the numbers of nf4", NULL },
		// transformers scales no table, and no head unless a list of what is left out leaves it in.
		{ "fp8-blocks", "self_attn.q_proj", "self_attn.qq.wpe", 16, "none of the linear layers", NULL },
		{ "fp8-blocks", "self_attn.q_proj", "self_att.lm_head", 16, "none of the linear layers",
			"modules_to_not_convert" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *data;
		size_t n;
		struct error e = { 0 };

		assert_int_equal(
			file_read(&arena, data_path(rows[i].folder, "config.json"), 1 << 20, &data, &n, NULL), STATUS_OK);
		if (rows[i].unnamed)
			exchange(data, n, rows[i].unnamed, "other", strlen("other"));
		assert_int_equal(file_put(path("config.json"), data, n, NULL), STATUS_OK);
		assert_int_equal(
			file_read(&arena, data_path(rows[i].folder, "model.safetensors"), 1 << 20, &data, &n, NULL), STATUS_OK);
		exchange(data, n, rows[i].from, rows[i].to, rows[i].nbytes);
		assert_int_equal(file_put(path("model.safetensors"), data, n, NULL), STATUS_OK);
		enum status s = read_all(&e);
		if ((s != STATUS_BAD_INPUT && s != STATUS_UNSUPPORTED) || !strstr(e.text, rows[i].says))
			fail_msg("%s with %s: \"%s\"", rows[i].folder, rows[i].to, e.text);
	}
}

// Weights that are plain in a file whose configuration quantises them: transformers 5.24 with compressed-tensors makes them
// quantised, and their scales are what memory held (logits 10.7 off, 4.8e29, NaN).
static void plain(void **state)
{
#define CT(targets, ignore) \
	"{\"quant_method\": \"compressed-tensors\", \"format\": \"float-quantized\", \"ignore\": [" ignore \
	"], \"config_groups\": " \
	"{\"g\": {\"targets\": [" targets "], \"weights\": {\"num_bits\": 8, \"type\": \"float\"}}}}"
#define LINEAR "\"Linear\""
	static const struct {
		const char *config;
		bool one_is; // quantised
		const char *more, *says;
	} rows[] = {
		{ CT(LINEAR, ""), true, NULL, "m.layers.1.q_proj.weight\": is not quantised, and by the quantization_config" },
		{ CT(LINEAR, ""), false, NULL, "m.layers.1.q_proj.weight\": is not quantised" },
		{ CT(LINEAR, "\"m.layers.1.q_proj\""), true, "lm_head.weight", "lm_head.weight\": is not quantised" },
		{ CT(LINEAR, "\"m.layers.1.q_proj\", \"lm_head\""), true, "lm_head.weight", NULL },
		{ CT(LINEAR, "\"re:.*q_proj\""), true, NULL, NULL },
		{ CT(LINEAR, "\"model.m.layers.1.q_proj\""), true, NULL, NULL }, // as a newer class calls it
		{ CT(LINEAR, "\"q_proj\", \"layers.1.q_proj\", \"m\", \"model\", \"model.\", \".\""), true, NULL,
			"is not quantised" }, // parts of a name
		{ CT("\"re:.*layers.0.*\"", ""), true, NULL, NULL },
		{ CT(LINEAR, "\"m.layers.1.q_proj\""), true, "m.layers.1.gate.weight",
			NULL }, // of no class that is known to be Linear
		{ "{\"quant_method\": \"gptq\", \"bits\": 4}", false, NULL, "is not quantised" },
		{ "{\"quant_method\": \"gptq\", \"bits\": 4, \"modules_to_not_convert\": [\"m.layers.1\"]}", false,
			"lm_head.weight", NULL },
		{ "{\"quant_method\": \"gptq\", \"bits\": 4, \"modules_to_not_convert\": [\"layers\", \"ers.1.q\"]}", false, NULL,
			"is not quantised" },
		{ "{\"quant_method\": \"gptq\", \"bits\": 4, \"modules_to_not_convert\": [\"q_proj\"]}", false, NULL, NULL },
		{ "{\"quant_method\": \"gptq\", \"bits\": 4, \"modules_to_not_convert\": [\"model.m.layers\"]}", false, NULL,
			NULL },
		{ CT(LINEAR, "\"m.layers.1.q_proj\""), true, "m.layers.1.attention.self.query.weight",
			"query.weight\": is not quantised" },
		{ CT(LINEAR, "\"m.layers.1.q_proj\""), true, "score.weight", "score.weight\": is not quantised" },
		{ "{\"quant_method\": \"awq\", \"bits\": 4}", false, NULL, "is not quantised" },
		{ "{\"quant_method\": \"fp8\"}", false, NULL, NULL }, // transformers takes it
	};
	static float numbers[64];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *config =
			arena_printf(&arena, "{\"model_type\": \"llama\", \"quantization_config\": %s}", rows[i].config);
		struct tensor t[4] = { { .name = "m.layers.1.q_proj.weight",
			.dtype = DTYPE_F32,
			.rank = 2,
			.dim = { 8, 8 },
			.data = numbers,
			.nbytes = sizeof numbers } };
		size_t n = 1;
		struct error e = { 0 };

		if (rows[i].more) {
			t[n] = t[0];
			t[n++].name = rows[i].more;
		}
		if (rows[i].one_is) {
			t[n++] = (struct tensor){ .name = "m.layers.0.q_proj.weight",
				.dtype = DTYPE_F8_E4M3,
				.rank = 2,
				.dim = { 8, 8 },
				.data = numbers,
				.nbytes = 64 };
			t[n++] = (struct tensor){ .name = "m.layers.0.q_proj.weight_scale",
				.dtype = DTYPE_F32,
				.rank = 2,
				.dim = { 8, 1 },
				.data = numbers,
				.nbytes = 32 };
		}
		assert_int_equal(file_put(path("config.json"), config, strlen(config), NULL), STATUS_OK);
		assert_int_equal(safetensors_write(path("model.safetensors"), t, n, NULL), STATUS_OK);
		enum status s = read_all(&e);
		if (rows[i].says ? s != STATUS_UNSUPPORTED || !strstr(e.text, rows[i].says) : s)
			fail_msg("%s, %zu tensors: \"%s\"", config, n, e.text);
	}
}

// All of the 256, against the formula of the standard.
static void small_floats(void **state)
{
	(void)state;
	assert_true(f32_of_f8e4m3(0x7E) == 448 && f32_of_f8e4m3(0x08) == 0x1p-6f && f32_of_f8e4m3(0x01) == 0x1p-9f);
	assert_true(f32_of_f8e4m3(0xFE) == -448 && f32_of_f8e4m3(0x38) == 1 && f32_of_f8e4m3(0x39) == 1.125f);
	assert_true(f32_of_f8e4m3(0x7F) != f32_of_f8e4m3(0x7F) && f32_of_f8e4m3(0xFF) != f32_of_f8e4m3(0xFF));
	assert_true(f32_of_f8e5m2(0x7B) == 57344 && f32_of_f8e5m2(0x01) == 0x1p-16f && f32_of_f8e5m2(0xBC) == -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(damaged),
		cmocka_unit_test(refused),
		cmocka_unit_test(refused_weights),
		cmocka_unit_test(plain),
		cmocka_unit_test(small_floats),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
