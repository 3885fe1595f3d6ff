// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// src/checkpoint: reading and writing safetensors, config.json as Python writes it, shards, weights by formula.
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"

// A safetensors file of this header text and `data_nbytes` zero bytes.
static const char *file_of(const char *name, const char *header, size_t data_nbytes)
{
	struct text t = { 0 };
	size_t n = strlen(header);
	for (int i = 0; i < 8; i++)
		text_add_bytes(&t, &(char){ (char)(uint8_t)(n >> 8 * i) }, 1);
	text_add(&t, header);
	for (size_t i = 0; i < data_nbytes; i++)
		text_add_bytes(&t, "", 1);
	const char *file = path(name);
	assert_int_equal(file_write(file, t.data, t.length, NULL), STATUS_OK);
	text_done(&t);
	return file;
}

static void reads(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error e = { 0 };
	struct shard shard;
	struct weight *w;
	size_t count;
	const char *file = file_of("good.safetensors",
		"{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
		"\"a\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[24,26]},\"empty\":{\"dtype\":\"I64\",\"shape\":[0,4],"
		"\"data_offsets\":[26,26]},"
		"\"f8\":{\"dtype\":\"F8_E4M3\",\"shape\":[3],\"data_offsets\":[26,29]}}   ",
		29);
	assert_int_equal(safetensors_open(&a, file, &shard, &w, &count, &e), STATUS_OK);
	assert_int_equal(count, 4);
	assert_string_equal(w[0].name, "a");
	assert_int_equal(w[0].rank, 0);
	assert_int_equal(w[0].dtype, DTYPE_BF16);
	assert_string_equal(w[1].name, "b");
	assert_int_equal(w[1].dim[1], 3);
	assert_ptr_equal(w[1].shard, &shard);
	assert_ptr_equal(w[1].data, shard.map + shard.header_nbytes);
	assert_int_equal(w[1].offset, shard.header_nbytes);
	assert_int_equal(w[2].nbytes, 0);
	assert_int_equal(w[3].nbytes, 3);
	assert_string_equal(shard.location, "good.safetensors");
	assert_non_null(strstr(shard.identity, ":"));
	arena_done(&a);
}

static void metadata(void **state)
{
	(void)state;
	struct error e = { 0 };
	json_t *said = NULL;

	// Whatever the tensors are: a program that reads these wants no weights.
	assert_int_equal(
		safetensors_metadata(
			file_of("said", "{\"t\":{},\"__metadata__\":{\"made_by\":\"x\",\"format\":\"pt\"}}", 0), &said, &e),
		STATUS_OK);
	assert_string_equal(json_string_value(json_object_get(said, "made_by")), "x");
	assert_int_equal(json_object_size(said), 2);
	json_decref(said);
	assert_int_equal(safetensors_metadata(file_of("silent", "{}", 0), &said, &e), STATUS_OK);
	assert_null(said);
	const char *bad[] = { file_of("number", "{\"__metadata__\":{\"a\":1}}", 0), file_of("array", "[]", 0), path("absent") };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(safetensors_metadata(bad[i], &said, &e), STATUS_BAD_INPUT);
		assert_null(said);
		assert_true(text_starts(e.text, bad[i]));
	}
}

#define T(dtype, shape, begin, end) "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static void refuses(void **state)
{
	(void)state;
	static const struct {
		const char *header;
		size_t data;
		const char *says;
		bool names_tensor;
		enum status status;
	} cases[] = {
		{ "{\"t\":" T("F32", "[2]", 0, 8) "}", 4, "cut off", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[2]", 0, 8) "}", 12, "4 bytes behind the last tensor", false, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[2]", 4, 12) "}", 12, "4 bytes before it", true, STATUS_BAD_INPUT },
		{ "{\"s\":" T("F32", "[2]", 0, 8) ",\"t\":" T("F32", "[2]", 4, 12) "}", 12, "overlaps", true, STATUS_BAD_INPUT },
		{ "{\"s\":" T("F32", "[2]", 0, 8) ",\"t\":" T("F32", "[2]", 0, 8) "}", 8, "overlaps", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[3]", 0, 8) "}", 8, "takes 12 bytes, its offsets span 8", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[2]", 8, 0) "}", 8, "not in order", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[2]", -8, 0) "}", 8, "not in order", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[-2]", 0, 8) "}", 8, "not a size", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[2.0]", 0, 8) "}", 8, "not a size", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "2", 0, 8) "}", 8, "shape", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[9223372036854775807,9223372036854775807]", 0, 8) "}", 8, "larger than any file", true,
			STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[4611686018427387904,4]", 0, 0) "}", 0, "larger than any file", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[4611686018427387905]", 0, 4) "}", 4, "larger than any file", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "9 dimensions", true, STATUS_UNSUPPORTED },
		{ "{\"t\":" T("f32", "[1]", 0, 4) "}", 4, "unknown element type", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("C64", "[1]", 0, 8) "}", 8, "C64", true, STATUS_UNSUPPORTED },
		{ "{\"t\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets", true, STATUS_BAD_INPUT },
		{ "{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, "data_offsets", true,
			STATUS_BAD_INPUT },
		{ "{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,\"4\"]}}", 4, "data_offsets", true,
			STATUS_BAD_INPUT },
		{ "{\"t\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype", true, STATUS_BAD_INPUT },
		{ "{\"t\":7}", 0, "not an object", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[1]", 0, 4) ",\"t\":" T("F32", "[1]", 4, 8) "}", 8, "duplicate", true, STATUS_BAD_INPUT },
		{ "{\"t\":" T("F32", "[1]", 0, 99999999999999999999) "}", 8, "not valid JSON", false, STATUS_BAD_INPUT },
		{ "{\"__metadata__\":{\"a\":1}}", 0, "__metadata__", false, STATUS_BAD_INPUT },
		{ "{\"__metadata__\":[]}", 0, "__metadata__", false, STATUS_BAD_INPUT },
		{ "{\"t\":", 0, "not valid JSON", false, STATUS_BAD_INPUT },
		{ "[]", 0, "does not begin with '{'", false, STATUS_BAD_INPUT },
		{ " {}", 0, "does not begin with '{'", false, STATUS_BAD_INPUT },
		{ "", 0, "does not begin with '{'", false, STATUS_BAD_INPUT },
		{ "{\"a\\u0000b\":" T("F32", "[1]", 0, 4) "}", 4, "not valid JSON", false, STATUS_BAD_INPUT },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena a = { 0 };
		struct error e = { 0 };
		struct shard shard = { 0 };
		struct weight *w = NULL;
		size_t count = 77;
		const char *file = file_of("bad.safetensors", cases[i].header, cases[i].data);
		print_message("%zu: %s\n", i, cases[i].header);
		assert_int_equal(safetensors_open(&a, file, &shard, &w, &count, &e), cases[i].status);
		assert_int_equal(e.status, cases[i].status);
		assert_null(w);
		assert_int_equal(count, 77);
		print_message("   %s\n", e.text + strlen(scratch) + 1);
		assert_true(text_starts(e.text, file));
		assert_non_null(strstr(e.text, cases[i].says));
		assert_true(!cases[i].names_tensor || strstr(e.text, "\"t\""));
		arena_done(&a);
	}
}

static void refuses_lengths(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error e = { 0 };
	struct shard shard;
	struct weight *w;
	size_t count;
	const char *file = path("length.safetensors");
	static const struct {
		const char *bytes;
		size_t n;
		const char *says;
	} cases[] = {
		{ "", 0, "too few" },
		{ "\2\0\0\0\0\0\0", 7, "too few" },
		{ "\2\0\0\0\0\0\0\0{", 9, "cut off" },
		{ "\377\377\377\377\377\377\377\377{}", 10, "cut off" },
		{ "\0\0\0\0\0\0\0\0", 8, "does not begin" },
		{ "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", 55, "git lfs pull" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(file_write(file, cases[i].bytes, cases[i].n, &e), STATUS_OK);
		assert_int_equal(safetensors_open(&a, file, &shard, &w, &count, &e), STATUS_BAD_INPUT);
		assert_non_null(strstr(e.text, cases[i].says));
		assert_true(text_starts(e.text, file));
	}
	// A header within its file, but beyond the format's limit.
	assert_int_equal(file_write(file, "\1\341\365\5\0\0\0\0{", 9, &e), STATUS_OK);
	assert_int_equal(truncate(file, 100000009), 0);
	assert_int_equal(safetensors_open(&a, file, &shard, &w, &count, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "longer than the"));
	assert_int_equal(safetensors_open(&a, scratch, &shard, &w, &count, &e), STATUS_BAD_INPUT);
	assert_int_equal(safetensors_open(&a, path("absent"), &shard, &w, &count, &e), STATUS_BAD_INPUT);
	arena_done(&a);
}

static void writes(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error e = { 0 };
	struct shard shard;
	struct weight *w;
	size_t count;
	const char *file = path("written.safetensors");
	float x[6] = { 1, 2, 3, 4, 5, 6 };
	int64_t n[1] = { -7 };
	struct tensor tensors[] = {
		{ .name = "z \"quoted\" \xC3\xA9\n",
			.dtype = DTYPE_F32,
			.rank = 2,
			.dim = { 2, 3 },
			.data = x,
			.nbytes = sizeof x },
		{ .name = "a", .dtype = DTYPE_I64, .rank = 0, .data = n, .nbytes = sizeof n },
		{ .name = "none", .dtype = DTYPE_F16, .rank = 1, .dim = { 0 } },
	};
	assert_int_equal(safetensors_write(file, tensors, 3, &e), STATUS_OK);
	assert_int_equal(safetensors_open(&a, file, &shard, &w, &count, &e), STATUS_OK);
	assert_int_equal(count, 3);
	assert_int_equal(shard.header_nbytes % 64, 0);
	assert_string_equal(w[2].name, tensors[0].name);
	assert_memory_equal(w[2].data, x, sizeof x);
	assert_memory_equal(w[0].data, n, sizeof n);

	tensors[1].name = tensors[0].name;
	assert_int_equal(safetensors_write(file, tensors, 3, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "twice"));
	assert_true(text_starts(e.text, file));
	tensors[1].name = "\xFF";
	assert_int_equal(safetensors_write(file, tensors, 3, &e), STATUS_BAD_INPUT);
	tensors[1].name = "__metadata__";
	assert_int_equal(safetensors_write(file, tensors, 3, &e), STATUS_BAD_INPUT);
	tensors[1].name = "a";
	tensors[1].nbytes = 4;
	assert_int_equal(safetensors_write(file, tensors, 3, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "\"a\": 4 bytes given"));
	struct weight wish = { .name = "w", .dtype = DTYPE_F32, .rank = 2, .dim = { INT64_MAX, 3 } };
	char *header;
	size_t header_nbytes;
	uint64_t nbytes;
	assert_int_equal(safetensors_header(&a, &wish, 1, &header, &header_nbytes, &nbytes, &e), STATUS_BAD_INPUT);
	arena_done(&a);
}

static double number(const struct checkpoint *c, const char *key)
{
	return json_number_value(json_object_get(c->config, key));
}

static void configs(void **state)
{
	(void)state;
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	static const char text[] =
		"{\"limit\": [0.0, Infinity], \"low\":-Infinity, \"none\": NaN, \"text\": \"NaN \\\" Infinity -Infinity \\\\\","
		"\"big\": 1000000000000000019884624838656, \"max\": 9223372036854775807, \"over\": -9223372036854775809, "
		"\"real\": 0.1234567890123456789012345,"
		"\"power\": 1e20, \"-Infinity\": 1}";
	assert_int_equal(checkpoint_open_config(&c, "config.json", text, strlen(text), &e), STATUS_OK);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(json_object_get(c.config, "limit"), 1), "__float__")),
		"Infinity");
	assert_string_equal(json_string_value(json_object_get(json_object_get(c.config, "low"), "__float__")), "-Infinity");
	assert_string_equal(json_string_value(json_object_get(json_object_get(c.config, "none"), "__float__")), "NaN");
	assert_string_equal(json_string_value(json_object_get(c.config, "text")), "NaN \" Infinity -Infinity \\");
	assert_true(number(&c, "big") == 1000000000000000019884624838656.0);
	assert_true(json_integer_value(json_object_get(c.config, "max")) == INT64_MAX);
	assert_true(number(&c, "over") == -9223372036854775809.0);
	assert_true(number(&c, "real") == 0.1234567890123456789012345);
	assert_true(number(&c, "power") == 1e20);
	assert_true(number(&c, "-Infinity") == 1);
	assert_int_equal(c.weight_count, 0);
	checkpoint_close(&c);
	checkpoint_close(&c);

	static const char *const bad[] = { "", "[]", "7", "NaN", "{\"a\":1,\"a\":2}", "{NaN:1}", "{\"a\":NaNNaN}",
		"{\"a\":Infinit}", "{\"a\":\"\\", "{\"a\":--Infinity}", "{\"a\":1}x" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(checkpoint_open_config(&c, "x/config.json", bad[i], strlen(bad[i]), &e), STATUS_BAD_INPUT);
		assert_true(text_starts(e.text, "x/config.json: not "));
	}
}

static void write_shard(const char *name, const char *tensor, float x)
{
	struct tensor t = { .name = tensor, .dtype = DTYPE_F32, .rank = 1, .dim = { 1 }, .data = &x, .nbytes = sizeof x };
	assert_int_equal(safetensors_write(path(name), &t, 1, NULL), STATUS_OK);
}

static void shards(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	const char *folder = path("sharded");
	assert_int_equal(checkpoint_open(&c, folder, &e), STATUS_BAD_INPUT);
	assert_int_equal(file_mkdirs(folder, &e), STATUS_OK);
	assert_int_equal(checkpoint_open(&c, folder, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "no config.json"));
	put("sharded/config.json", "{\"model_type\": \"bert\"}");
	assert_int_equal(checkpoint_open(&c, folder, &e), STATUS_OK);
	assert_int_equal(c.weight_count, 0);
	checkpoint_close(&c);

	write_shard("sharded/two.safetensors", "a", 2);
	write_shard("sharded/one.safetensors", "b", 1);
	put("sharded/model.safetensors.index.json",
		"{\"metadata\":{}, \"weight_map\": {\"a\": \"two.safetensors\", \"b\": \"one.safetensors\"}}");
	assert_int_equal(checkpoint_open(&c, folder, &e), STATUS_OK);
	assert_int_equal(c.shard_count, 2);
	assert_int_equal(c.weight_count, 2);
	assert_true(*(const float *)checkpoint_find(&c, "a")->data == 2);
	assert_true(text_ends(checkpoint_find(&c, "b")->shard->path, "one.safetensors"));
	assert_null(checkpoint_find(&c, "c"));
	checkpoint_close(&c);

	static const struct {
		const char *index, *says;
	} bad[] = {
		{ "{\"weight_map\": {\"a\": \"../two.safetensors\"}}", "not the name of a file in the folder" },
		{ "{\"weight_map\": {\"a\": \"/etc/passwd\"}}", "not the name of a file in the folder" },
		{ "{\"weight_map\": {\"a\": \"..\"}}", "not the name of a file in the folder" },
		{ "{\"weight_map\": {\"a\": \"\"}}", "not the name of a file in the folder" },
		{ "{\"weight_map\": {\"a\": 7}}", "not the name of a file in the folder" },
		{ "{\"weight_map\": {\"a\": \"absent.safetensors\"}}", "absent.safetensors" },
		{ "{\"weight_map\": {\"a\": \"one.safetensors\"}}", "tensor \"a\" is not in one.safetensors" },
		{ "{\"weight_map\": {\"c\": \"two.safetensors\"}}", "tensor \"c\" is not in two.safetensors" },
		{ "{\"weight_map\": {\"a\": \"two.safetensors\", \"b\": \"two.safetensors\"}}",
			"tensor \"b\" is not in two.safetensors" },
		{ "{\"weight_map\": {\"a\": \"two.safetensors\", \"b\": \"three.safetensors\"}}", "is in" },
		{ "{\"weight_map\": {}}", "weight_map" },
		{ "{}", "weight_map" },
		{ "[]", "weight_map" },
		{ "{\"weight_map\": {\"a\": \"x\", \"a\": \"y\"}}", "duplicate" },
	};
	write_shard("sharded/three.safetensors", "a", 3);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put("sharded/model.safetensors.index.json", bad[i].index);
		assert_int_equal(checkpoint_open(&c, folder, &e), STATUS_BAD_INPUT);
		print_message("%s\n", e.text + strlen(scratch) + 1);
		assert_non_null(strstr(e.text, bad[i].says));
		assert_true(text_starts(e.text, folder));
	}
	// As in transformers, one file goes before an index.
	write_shard("sharded/model.safetensors", "only", 5);
	assert_int_equal(checkpoint_open(&c, folder, &e), STATUS_OK);
	assert_int_equal(c.weight_count, 1);
	checkpoint_close(&c);
	arena_done(&a);
}

static void hub_links(void **state)
{
	(void)state;
	static const char etag[] = "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3";
	struct arena a = { 0 };
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	const char *snapshot = path("models--x--y/snapshots/0123");
	assert_int_equal(file_mkdirs(snapshot, &e), STATUS_OK);
	assert_int_equal(file_mkdirs(path("models--x--y/blobs"), &e), STATUS_OK);
	put("models--x--y/snapshots/0123/config.json", "{}");
	write_shard(arena_printf(&a, "models--x--y/blobs/%s", etag), "w", 1);
	assert_int_equal(
		symlink(arena_printf(&a, "../../blobs/%s", etag), arena_printf(&a, "%s/model.safetensors", snapshot)), 0);
	assert_int_equal(checkpoint_open(&c, snapshot, &e), STATUS_OK);
	assert_string_equal(c.shards[0].identity, etag);
	assert_string_equal(c.shards[0].location, etag);
	assert_true(text_ends(c.shards[0].path, "/model.safetensors"));
	checkpoint_plain_locations(&c);
	assert_string_equal(c.shards[0].location, "model.safetensors");
	checkpoint_close(&c);

	// Two real files of one name in two folders: the names in the checkpoint's folder tell them apart.
	const char *folder = path("linked");
	static const char *const parts[] = { "linked", "p", "q" };
	for (int i = 0; i < 3; i++)
		assert_int_equal(file_mkdirs(path(parts[i]), &e), STATUS_OK);
	put("linked/config.json", "{}");
	write_shard("p/same", "a", 1);
	write_shard("q/same", "b", 1);
	assert_int_equal(symlink("../p/same", path("linked/1.safetensors")), 0);
	assert_int_equal(symlink("../q/same", path("linked/2.safetensors")), 0);
	put("linked/model.safetensors.index.json", "{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"2.safetensors\"}}");
	assert_int_equal(checkpoint_open(&c, folder, &e), STATUS_OK);
	assert_string_equal(c.shards[0].location, "1.safetensors");
	assert_string_equal(c.shards[1].location, "2.safetensors");
	checkpoint_close(&c);
	arena_done(&a);
}

// Values that NumPy computed from the formula, bit for bit.
static void formula(void **state)
{
	(void)state;
	struct error e = { 0 };
	json_t *check, *entry;
	const char *name;
	size_t tensors = 0;
	if (json_file(TEST_SOURCE "/tests/conform/check.json", 1 << 20, &check, &e))
		fail_msg("%s", e.text);
	json_object_foreach(check, name, entry)
	{
		json_t *shape = json_object_get(entry, "shape"), *values = json_object_get(entry, "values");
		struct weight w = { .name = name, .dtype = DTYPE_F32, .rank = (int)json_array_size(shape) };
		for (int i = 0; i < w.rank; i++)
			w.dim[i] = json_integer_value(json_array_get(shape, (size_t)i));
		size_t count = json_array_size(values);
		float out[64];
		assert_in_range(count, 1, 64);
		weights_fill(&w, 0, 0, count, out);
		for (size_t i = 0; i < count; i++)
			assert_true(out[i] == (float)json_real_value(json_array_get(values, i)));
		tensors++;
	}
	assert_int_equal(tensors, json_object_size(check));
	assert_true(tensors >= 5);
	json_decref(check);
}

static void fills(void **state)
{
	(void)state;
	enum { N = 5000 };
	struct weight w = { .name = "layer.weight", .dtype = DTYPE_F32, .rank = 2, .dim = { 50, 100 } };
	float *whole = malloc(N * sizeof *whole), *parts = malloc(N * sizeof *parts);
	char *odd = malloc(N * sizeof(float) + 1);
	weights_fill(&w, 0, 0, N, whole);
	// In any pieces, and at any address, the same numbers.
	for (size_t at = 0, n = 1; at < N; at += n, n = n * 3 % 701 + 1)
		weights_fill(&w, 0, at, at + n > N ? N - at : n, parts + at);
	assert_memory_equal(whole, parts, N * sizeof *whole);
	weights_fill(&w, 0, 0, N, odd + 1);
	assert_memory_equal(whole, odd + 1, N * sizeof *whole);
	double sum = 0, squares = 0;
	for (int i = 0; i < N; i++) {
		sum += (double)whole[i];
		squares += (double)whole[i] * (double)whole[i];
		assert_true(fabs((double)whole[i]) <= sqrt(3.0 / 100));
	}
	assert_true(fabs(sum / N) < 0.01 && fabs(squares / N - 0.01) < 0.001);

	weights_fill(&w, 1, 0, N, parts);
	assert_memory_not_equal(whole, parts, 64);
	uint16_t *half = malloc(N * sizeof *half);
	w.dtype = DTYPE_F16;
	weights_fill(&w, 0, 0, N, half);
	for (int i = 0; i < N; i++)
		assert_int_equal(half[i], f16_of_f32(whole[i]));
	w.dtype = DTYPE_BF16;
	weights_fill(&w, 0, 7, N - 7, half);
	for (int i = 7; i < N; i++)
		assert_int_equal(half[i - 7], bf16_of_f32(whole[i]));
	w.dtype = DTYPE_F64;
	double wide[16];
	weights_fill(&w, 0, 16, 16, wide);
	for (int i = 0; i < 16; i++)
		assert_true(wide[i] == (double)whole[16 + i]);
	w.dtype = DTYPE_I64;
	weights_fill(&w, 0, 0, 16, wide);
	for (int i = 0; i < 16; i++)
		assert_true(wide[i] == 0);
	free(whole);
	free(parts);
	free(odd);
	free(half);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(metadata),
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_lengths),
		cmocka_unit_test(writes),
		cmocka_unit_test(configs),
		cmocka_unit_test(shards),
		cmocka_unit_test(hub_links),
		cmocka_unit_test(formula),
		cmocka_unit_test(fills),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
