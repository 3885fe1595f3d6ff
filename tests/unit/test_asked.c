// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// --shape, --dim and --input: their texts, what they do to declared types and to inputs; and what is guessed where they say
// nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "cell/asked.h"
#include "cell/guess.h"
#include "cell/inputs.h"

// ---- texts --------------------------------------------------------------------------------------------------------------

static void texts(void **state)
{
	const struct question q = { .shapes = "serving_default_x:0:1,43844,1;sr:;y:2",
		.dims = "height=320,width=64;a=b=7",
		.inputs = "x=a.npy;y=random:-1.5,2;z=ones;w=zeros;v=d/e=f.safetensors" };
	struct asked_inputs out;
	struct arena a = { 0 };

	(void)state;
	assert_int_equal(asked_parse(&out, &a, &q, NULL), STATUS_OK);
	assert_int_equal(out.shape_count, 3);
	assert_string_equal(out.shapes[0].input, "serving_default_x:0");
	assert_int_equal(out.shapes[0].rank, 3);
	assert_int_equal(out.shapes[0].dim[1], 43844);
	assert_int_equal(out.shapes[1].rank, 0);
	assert_int_equal(out.dim_count, 3);
	assert_string_equal(out.dims[2].symbol, "a=b");
	assert_int_equal(out.dims[2].number, 7);
	assert_int_equal(out.input_count, 5);
	assert_string_equal(out.inputs[0].path, "a.npy");
	assert_int_equal(out.inputs[1].fill, ASKED_RANDOM);
	assert_true(out.inputs[1].low < -1.4 && out.inputs[1].high > 1.9);
	assert_int_equal(out.inputs[2].fill, ASKED_ONES);
	assert_int_equal(out.inputs[3].fill, ASKED_ZEROS);
	assert_string_equal(out.inputs[4].path, "d/e=f.safetensors");
	assert_int_equal(asked_parse(&out, &a, &(struct question){ 0 }, NULL), STATUS_OK);
	assert_int_equal(out.shape_count + out.dim_count + out.input_count, 0);
	arena_done(&a);
}

static void bad_texts(void **state)
{
	static const struct question bad[] = { { .shapes = "x" }, { .shapes = ":1" }, { .shapes = "x:1,-1" },
		{ .shapes = "x:1,,2" }, { .shapes = "x:1,2,3,4,5,6,7,8,9" }, { .shapes = "x:99999999999" },
		{ .shapes = "x:1;"
			    "y" },
		{ .dims = "height" }, { .dims = "=3" }, { .dims = "h=-1" }, { .dims = "h=1.5" }, { .inputs = "x" },
		{ .inputs = "x=" }, { .inputs = "=ones" }, { .inputs = "x=a.png" }, { .inputs = "x=random:" },
		{ .inputs = "x=random:1" }, { .inputs = "x=random:2,1" }, { .inputs = "x=random:nan,1" } };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct asked_inputs out;
		struct arena a = { 0 };
		struct error e = { 0 };

		assert_int_equal(asked_parse(&out, &a, &bad[i], &e), STATUS_BAD_INPUT);
		assert_true(text_starts(e.text, "--"));
		arena_done(&a);
	}
}

// ---- types --------------------------------------------------------------------------------------------------------------

static void apply(const struct question *q, struct tensor_type *types, size_t count, enum status wanted, const char *words)
{
	struct asked_inputs asked;
	struct arena a = { 0 };
	struct error e = { 0 };

	assert_int_equal(asked_parse(&asked, &a, q, NULL), STATUS_OK);
	assert_int_equal(asked_apply(&asked, types, count, &a, &e), wanted);
	if (words)
		assert_non_null(strstr(e.text, words));
	arena_done(&a);
}

static void shapes(void **state)
{
	const struct tensor_type as_declared[] = {
		{ "x", DTYPE_F32, 3, { -1, 3, -1 }, { "batch", NULL, "length" } },
		{ "y", DTYPE_I64, 2, { -1, -1 }, { "batch", "length" } },
		{ "sr", DTYPE_I64, 0 },
	};
	struct tensor_type t[3];

	(void)state;
	memcpy(t, as_declared, sizeof t);
	apply(&(struct question){ .shapes = "x:2,3,7" }, t, 3, STATUS_OK, NULL);
	assert_true(t[0].dim[0] == 2 && t[0].dim[2] == 7);
	assert_true(t[1].dim[0] == 2 && t[1].dim[1] == 7); // of the same names
	memcpy(t, as_declared, sizeof t);
	apply(&(struct question){ .dims = "length=9" }, t, 3, STATUS_OK, NULL);
	assert_true(t[0].dim[0] == -1 && t[0].dim[2] == 9 && t[1].dim[1] == 9);
	apply(&(struct question){ .shapes = "x:2,4,7" }, t, 3, STATUS_UNSUPPORTED, "asks for [2,4,7], and the file has [?,3,9]");
	apply(&(struct question){ .shapes = "x:2,3" }, t, 3, STATUS_UNSUPPORTED, "--shape x");
	apply(&(struct question){ .shapes = "sr:" }, t, 3, STATUS_OK, NULL);
	apply(&(struct question){ .shapes = "z:1" }, t, 3, STATUS_UNSUPPORTED, "it has x, y, sr");
	apply(&(struct question){ .dims = "width=1" }, t, 3, STATUS_UNSUPPORTED, "named are batch, length");
	apply(&(struct question){ .inputs = "z=ones" }, t, 3, STATUS_UNSUPPORTED, "--input z");
}

static void numbers(void **state)
{
	const struct tensor_type t[] = { { "x", DTYPE_F32, 1, { 4 } }, { "n", DTYPE_I32, 1, { 64 } },
		{ "b", DTYPE_BOOL, 1, { 2 } } };
	struct asked_inputs asked;
	struct arena a = { 0 };
	struct tensor in[3];
	bool seen[3] = { false };

	(void)state;
	assert_int_equal(inputs_synthetic(&a, t, 3, NULL, &(struct input_shape){ 1, 1 }, 0, in, NULL), STATUS_OK);
	assert_int_equal(asked_parse(&asked, &a, &(struct question){ .inputs = "x=ones;n=random:3,6;b=ones" }, NULL), STATUS_OK);
	assert_int_equal(asked_fill(&asked, &a, t, in, 3, 0, NULL), STATUS_OK);
	for (size_t i = 0; i < 4; i++)
		assert_true(tensor_get(&in[0], i) > 0.99 && tensor_get(&in[0], i) < 1.01);
	for (size_t i = 0; i < 64; i++) {
		const int n = ((const int32_t *)in[1].data)[i];

		assert_in_range(n, 3, 5);
		seen[n - 3] = true;
	}
	assert_true(seen[0] && seen[1] && seen[2]);
	assert_int_equal(((const uint8_t *)in[2].data)[0], 1);
	arena_done(&a);
}

// ---- guesses ------------------------------------------------------------------------------------------------------------

static void guess(struct tensor_type *t, size_t count, const struct tensor_type *outputs, size_t output_count, size_t number,
	size_t guesses, const char *words)
{
	struct guess g = { .number = number, .batch = 1 };
	struct arena a = { 0 };

	guess_dims(&g, &a, t, count, outputs, output_count, false);
	assert_int_equal(g.count, guesses);
	if (words)
		assert_non_null(strstr(g.words, words));
	else
		assert_null(g.words);
	arena_done(&a);
}

// Of a text the first guess is the usual length; the next ones are the caller's to give to all its inputs.
static void lengths(void **state)
{
	struct tensor_type t[] = { { "input_ids", DTYPE_I64, 2, { -1, -1 } }, { "attention_mask", DTYPE_I64, 2, { -1, -1 } } },
			   fixed = { "input_ids", DTYPE_I64, 2, { -1, 8 } };
	static const int64_t tokens[] = { 0, 64, 16, 512 };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct guess g = { .number = i, .batch = 1 };

		guess_dims(&g, &a, t, 2, NULL, 0, false);
		assert_int_equal(g.count, 4);
		assert_int_equal(g.sequence, tokens[i]);
		assert_int_equal(t[0].dim[1], -1);
		if (i == 1)
			assert_string_equal(g.words, "input_ids: guessed 64 tokens");
	}
	guess(&fixed, 1, NULL, 0, 0, 1, NULL);
	arena_done(&a);
}

static void images(void **state)
{
	const struct tensor_type boxes = { "boxes", DTYPE_F32, 3, { -1, 22, -1 } },
				 letters = { "y", DTYPE_F32, 3, { -1, -1, 6625 } };
	struct tensor_type first = { "images", DTYPE_F32, 4, { -1, 3, -1, -1 } }, last = { "x", DTYPE_U8, 4, { -1, -1, -1, 3 } },
			   line = first, strip = { "x", DTYPE_F32, 4, { 1, 1, 64, -1 } },
			   open = { "x", DTYPE_F32, 4, { -1, -1, -1, -1 } },
			   cache = { "past_key_values.0.key", DTYPE_F32, 4, { -1, 8, -1, 64 } },
			   fixed = { "x", DTYPE_F32, 4, { 1, 3, 8, 8 } }, again = first;

	(void)state;
	guess(&first, 1, &boxes, 1, 0, 8, "images: guessed [1,3,224,224], the usual size of images");
	assert_true(first.dim[0] == -1 && first.dim[2] == 224 && first.dim[3] == 224);
	guess(&last, 1, &boxes, 1, 0, 8, "[1,224,224,3]");
	guess(&line, 1, &letters, 1, 0, 4, "[1,3,48,320]");
	guess(&strip, 1, &boxes, 1, 0, 1, "[1,1,64,256], 4 times as wide as high");
	guess(&open, 1, &boxes, 1, 0, 8, "[1,3,224,224]");
	guess(&cache, 1, &boxes, 1, 0, 1, NULL);
	guess(&fixed, 1, &boxes, 1, 0, 1, NULL);
	guess(&again, 1, &boxes, 1, 2, 8, "[1,3,640,640]");
	again.dim[2] = again.dim[3] = -1;
	guess(&again, 1, &boxes, 1, 99, 8, "[1,3,384,384]"); // beyond the last one: the last one
}

static void sound(void **state)
{
	struct tensor_type stream[] = { { "input", DTYPE_F32, 2, { -1, -1 } }, { "state", DTYPE_F32, 3, { 2, -1, 128 } },
		{ "sr", DTYPE_I64, 0 } },
			   wave[] = { { "waveform", DTYPE_F32, 2, { -1, -1 } } },
			   length[] = { { "features", DTYPE_F32, 3, { -1, 80, -1 } } },
			   text[] = { { "input_ids", DTYPE_I64, 2, { -1, -1 } } };

	(void)state;
	guess(stream, 3, NULL, 0, 0, 5, "input: guessed [1,512]");
	assert_true(stream[0].dim[1] == 512 && stream[1].dim[1] == 1);
	guess(wave, 1, NULL, 0, 0, 4, "[1,16000]");
	guess(length, 1, NULL, 0, 0, 5, "[1,80,128]");
	guess(text, 1, NULL, 0, 0, 4, NULL); // inputs_synthetic knows the length of a text
	assert_true(guess_is_rate(&stream[2]) && !guess_is_rate(&stream[0]) && guess_is_state(&stream[1]));
	assert_false(guess_is_state(&(struct tensor_type){ "encoder_hidden_states", DTYPE_F32, 3, { -1, -1, 8 } }));
}

// A graph that assay did not build: states are zeros, a rate is one.
static void roles(void **state)
{
	const struct tensor_type t[] = { { "state", DTYPE_F32, 2, { 2, 4 } }, { "sr", DTYPE_I64, 0 },
		{ "scale_factor", DTYPE_F32, 2, { 1, 2 } } };
	const struct input_table tables[3] = { { "state", 0 }, { "sr", 0 }, { "scale_factor", 0 } };
	const struct input_hints hints = { .tables = tables, .table_count = 3, .pad_token_id = -1 };
	struct arena a = { 0 };
	struct tensor in[3];

	(void)state;
	assert_int_equal(inputs_synthetic(&a, t, 3, &hints, &(struct input_shape){ 1, 128 }, 0, in, NULL), STATUS_OK);
	for (size_t i = 0; i < 8; i++)
		assert_false(tensor_get(&in[0], i) > 0 || tensor_get(&in[0], i) < 0);
	assert_int_equal(((const int64_t *)in[1].data)[0], 16000);
	assert_true(tensor_get(&in[2], 1) > 0.99 && tensor_get(&in[2], 1) < 1.01);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(texts), cmocka_unit_test(bad_texts), cmocka_unit_test(shapes),
		cmocka_unit_test(numbers), cmocka_unit_test(lengths), cmocka_unit_test(images), cmocka_unit_test(sound),
		cmocka_unit_test(roles) };

	return cmocka_run_group_tests_name("asked", tests, NULL, NULL);
}
