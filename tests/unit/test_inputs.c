// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Synthetic inputs, inputs from a file, and their hash.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "cell/inputs.h"

static const struct tensor_type text_types[] = {
	{ "input_ids", DTYPE_I64, 2, { -1, -1 } },
	{ "attention_mask", DTYPE_I64, 2, { -1, -1 } },
	{ "token_type_ids", DTYPE_I64, 2, { -1, -1 } },
	{ "position_ids", DTYPE_I32, 2, { -1, -1 } },
	{ "inputs_embeds", DTYPE_F32, 3, { -1, -1, 4 } },
};
static const struct input_hints hints = { .vocab_size = 7, .pad_token_id = 3, .type_vocab_size = 2 };

static void roles(void **state)
{
	struct input_shape shape = { 3, 50 };
	struct arena a = { 0 };
	struct tensor in[5];
	bool seen[7] = { false };

	(void)state;
	assert_int_equal(inputs_synthetic(&a, text_types, 5, &hints, &shape, 1, in, NULL), STATUS_OK);
	for (int i = 0; i < 4; i++)
		assert_true(in[i].rank == 2 && in[i].dim[0] == 3 && in[i].dim[1] == 50);
	assert_int_equal(in[4].nbytes, 3 * 50 * 4 * 4);
	for (size_t i = 0; i < 150; i++) {
		int64_t id = ((int64_t *)in[0].data)[i];
		float x = ((float *)in[4].data)[i];

		assert_true(id >= 0 && id < 7 && id != 3);
		seen[id] = true;
		assert_int_equal(((int64_t *)in[1].data)[i], 1);
		assert_int_equal(((int64_t *)in[2].data)[i], 0);
		assert_int_equal(((int32_t *)in[3].data)[i], i % 50);
		assert_true(x >= -1 && x < 1);
	}
	for (int i = 0; i < 7; i++)
		assert_true(seen[i] == (i != 3));
	arena_done(&a);
}

static void the_same_whatever_the_order(void **state)
{
	const struct tensor_type turned[] = { text_types[4], text_types[0] }, straight[] = { text_types[0], text_types[4] };
	struct input_shape shape = { 1, 8 };
	struct arena a = { 0 };
	struct tensor x[2], y[2], z[2];
	char hx[65], hy[65], hz[65];

	(void)state;
	assert_int_equal(inputs_synthetic(&a, straight, 2, &hints, &shape, 5, x, NULL), STATUS_OK);
	assert_int_equal(inputs_synthetic(&a, turned, 2, &hints, &shape, 5, y, NULL), STATUS_OK);
	assert_int_equal(inputs_synthetic(&a, straight, 2, &hints, &shape, 6, z, NULL), STATUS_OK);
	assert_memory_equal(x[0].data, y[1].data, x[0].nbytes);
	assert_memory_equal(x[1].data, y[0].data, x[1].nbytes);
	inputs_hash(x, 2, hx);
	inputs_hash(y, 2, hy);
	inputs_hash(z, 2, hz);
	assert_string_equal(hx, hy);
	assert_string_not_equal(hx, hz);
	arena_done(&a);
}

static void undecided_shapes_are_named(void **state)
{
	const struct tensor_type image = { "pixel_values", DTYPE_F32, 4, { -1, 3, -1, -1 } };
	struct input_shape shape = { 1, 8 };
	struct arena a = { 0 };
	struct error err = { 0 };
	struct tensor in;

	(void)state;
	assert_int_equal(inputs_synthetic(&a, &image, 1, &hints, &shape, 0, &in, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.text, "pixel_values"));
	shape.batch = INT64_MAX;
	assert_int_equal(inputs_synthetic(&a, text_types, 1, &hints, &shape, 0, &in, &err), STATUS_BAD_INPUT);
	arena_done(&a);
}

static bool has(const int64_t *ids, size_t count, int64_t id)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

// Shapes by the names of symbols, contents by the names of inputs.
static void other_kinds(void **state)
{
	const struct tensor_type types[] = {
		{ .name = "past_key_values.0.key",
			.dtype = DTYPE_F32,
			.rank = 4,
			.dim = { -1, 2, -1, 4 },
			.symbol = { "batch", NULL, "past_sequence_length" } },
		{ .name = "attention_mask",
			.dtype = DTYPE_I64,
			.rank = 2,
			.dim = { -1, -1 },
			.symbol = { "batch", "total_sequence_length" } },
		{ .name = "position_ids", .dtype = DTYPE_I64, .rank = 2, .dim = { -1, -1 }, .symbol = { "batch", "sequence" } },
		{ .name = "decoder_input_ids",
			.dtype = DTYPE_I64,
			.rank = 2,
			.dim = { -1, -1 },
			.symbol = { "batch", "decoder_sequence" } },
		{ .name = "input_values", .dtype = DTYPE_F32, .rank = 2, .dim = { -1, -1 }, .symbol = { "batch", "samples" } },
		{ .name = "pixel_values",
			.dtype = DTYPE_F32,
			.rank = 5,
			.dim = { -1, -1, 3, 8, 8 },
			.symbol = { "batch", "frames" } },
		{ .name = "pixel_mask", .dtype = DTYPE_BOOL, .rank = 3, .dim = { -1, 8, 8 } },
		{ .name = "image_sizes", .dtype = DTYPE_I64, .rank = 2, .dim = { -1, 2 } },
		{ .name = "is_longer", .dtype = DTYPE_BOOL, .rank = 2, .dim = { -1, 1 } },
		{ .name = "bbox", .dtype = DTYPE_I64, .rank = 3, .dim = { -1, -1, 4 } },
	};
	const struct input_hints h = {
		.vocab_size = 7, .pad_token_id = 3, .image_size = { 30, 40 }, .symbols = { { "frames", 6 } }
	};
	struct input_shape shape = { .batch = 2, .sequence = 5, .past = 9 };
	struct arena a = { 0 };
	struct tensor in[10];

	(void)state;
	assert_int_equal(inputs_synthetic(&a, types, 10, &h, &shape, 1, in, NULL), STATUS_OK);
	assert_int_equal(in[0].dim[2], 9);
	assert_int_equal(in[1].dim[1], 14);
	assert_int_equal(((int64_t *)in[2].data)[5], 9);
	assert_int_equal(((int64_t *)in[2].data)[9], 13);
	assert_int_equal(in[3].dim[1], 5);
	assert_int_equal(in[4].dim[1], 16000);
	assert_int_equal(in[5].dim[1], 6);
	for (size_t i = 0; i < in[6].nbytes; i++)
		assert_int_equal(((int8_t *)in[6].data)[i], 1);
	assert_int_equal(((int64_t *)in[7].data)[2], 30);
	assert_int_equal(((int64_t *)in[7].data)[3], 40);
	assert_int_equal(((int8_t *)in[8].data)[1], 1);
	for (size_t i = 0; i < 10; i++) {
		const int64_t *box = (int64_t *)in[9].data + 4 * i;

		assert_true(box[0] >= 0 && box[0] < box[2] && box[1] < box[3] && box[3] < 1000);
	}
	arena_done(&a);
}

static void tokens_that_mean_something(void **state)
{
	const struct input_hints h = { .vocab_size = 5,
		.pad_token_id = 3,
		.image_token_id = 4,
		.image_tokens = 6,
		.ends_with_eos = true,
		.eos_token_id = 2 };
	struct input_shape shape;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct tensor in;

	(void)state;
	assert_int_equal(inputs_shape(&shape, &h, 3, 0, &err), STATUS_OK);
	assert_int_equal(shape.sequence, 134);
	shape.sequence = 12;
	assert_int_equal(inputs_synthetic(&a, text_types, 1, &h, &shape, 1, &in, &err), STATUS_OK);
	for (size_t row = 0; row < 3; row++) {
		const int64_t *ids = (int64_t *)in.data + row * 12;

		for (size_t i = 0; i < 12; i++)
			assert_int_equal(ids[i] == 4, i >= 1 && i <= 6);
		assert_int_equal(ids[11], 2);
		assert_false(has(ids, 11, 2) || has(ids, 12, 3));
	}
	shape.sequence = 6;
	assert_int_equal(inputs_synthetic(&a, text_types, 1, &h, &shape, 1, &in, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.text, "6 that stand for an image"));
	arena_done(&a);
}

static void shapes_asked_for(void **state)
{
	const struct input_hints h = { .vocab_size = 7, .max_sequence = 50 };
	struct input_shape shape;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(inputs_shape(&shape, &h, 0, 0, &err), STATUS_OK);
	assert_true(shape.batch == 1 && shape.sequence == 50 && shape.past == 0);
	assert_int_equal(inputs_shape(&shape, &h, 4, 51, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.text, "at most 50"));
	assert_int_equal(inputs_symbol("height", &h, &shape), -1);
}

static void files(void **state)
{
	char path[] = "/tmp/assay-inputs-XXXXXX";
	int32_t ids[6] = { 5, 4, 3, 2, 1, 0 };
	int64_t mask[6] = { 1, 1, 1, 1, 0, 0 };
	struct tensor stored[2] = {
		{ .name = "in.input_ids", .dtype = DTYPE_I32, .rank = 2, .dim = { 2, 3 }, .data = ids, .nbytes = sizeof ids },
		{ .name = "in.attention_mask",
			.dtype = DTYPE_I64,
			.rank = 2,
			.dim = { 2, 3 },
			.data = mask,
			.nbytes = sizeof mask },
	};
	struct arena a = { 0 };
	struct error err = { 0 };
	struct tensor in[5];

	(void)state;
	close(mkstemp(path));
	assert_int_equal(safetensors_write(path, stored, 2, &err), STATUS_OK);
	assert_int_equal(inputs_file(&a, text_types, 4, path, in, NULL, &err), STATUS_OK);
	assert_int_equal(((int64_t *)in[0].data)[1], 4); // int32 in the file, int64 in the graph
	assert_int_equal(((int64_t *)in[1].data)[5], 0);
	assert_int_equal(((int64_t *)in[2].data)[5], 0); // not in the file: neutral
	assert_int_equal(((int32_t *)in[3].data)[5], 2);
	assert_true(in[3].dim[0] == 2 && in[3].dim[1] == 3);
	assert_int_equal(inputs_file(&a, text_types, 5, path, in, NULL, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "in.inputs_embeds"));
	// Numbers that mean nothing: engines made different outputs of them, and a platform was called wrong.
	mask[4] = (int64_t)1 << 62;
	assert_int_equal(safetensors_write(path, stored, 2, &err), STATUS_OK);
	assert_int_equal(inputs_file(&a, text_types, 4, path, in, NULL, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "in.attention_mask holds 4.61168601842739e+18, and a mask means something by 0 and"));
	mask[4] = 1;
	ids[1] = -1;
	assert_int_equal(safetensors_write(path, stored, 2, &err), STATUS_OK);
	assert_int_equal(inputs_file(&a, text_types, 4, path, in, NULL, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "in.input_ids holds -1, and no token has a number below 0"));
	ids[1] = 4;
	assert_int_equal(safetensors_write(path, stored, 2, &err), STATUS_OK);
	const struct tensor_type past = {
		.name = "past_key_values.0.key", .dtype = DTYPE_F32, .rank = 4, .dim = { -1, 2, -1, 4 }
	};
	assert_int_equal(inputs_file(&a, &past, 1, path, in, NULL, &err), STATUS_OK);
	assert_true(in[0].dim[0] == 2 && in[0].dim[2] == 0 && in[0].nbytes == 0);
	const struct tensor_type narrow = { "input_ids", DTYPE_I64, 2, { -1, 4 } };
	assert_int_equal(inputs_file(&a, &narrow, 1, path, in, NULL, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "[2,3]"));
	const struct tensor_type steps = { "input_ids", DTYPE_F32, 2, { -1, -1 } }; // integers in the file, floats in the graph
	assert_int_equal(inputs_file(&a, &steps, 1, path, in, NULL, &err), STATUS_OK);
	assert_true(((float *)in[0].data)[1] == 4 && in[0].nbytes == 6 * sizeof(float));
	float half = 0.5F;
	const struct tensor number = {
		.name = "in.input_ids", .dtype = DTYPE_F32, .rank = 1, .dim = { 1 }, .data = &half, .nbytes = sizeof half
	};
	const struct tensor_type whole = { "input_ids", DTYPE_I64, 1, { -1 } };
	assert_int_equal(safetensors_write(path, &number, 1, &err), STATUS_OK);
	assert_int_equal(inputs_file(&a, &whole, 1, path, in, NULL, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "in.input_ids is f32, the graph takes i64"));
	unlink(path);
	arena_done(&a);
}

// Of a graph that assay did not build: ids of the whole table, and what was fed in words where none was found.
static void tables_of_a_users_graph(void **state)
{
	const struct tensor_type types[] = { { "input_ids", DTYPE_I64, 2, { -1, -1 } }, { "tokens", DTYPE_I32, 2, { -1, -1 } },
		{ "position_ids", DTYPE_I64, 2, { -1, -1 } }, { "lost_ids", DTYPE_I64, 2, { -1, -1 } },
		{ "attention_mask", DTYPE_I64, 2, { -1, -1 } } };
	const struct input_table tables[] = { { "input_ids", 5 }, { "tokens", 3 }, { "position_ids", 64 }, { "lost_ids", 0 },
		{ "attention_mask", 0 } };
	const struct input_hints known = { .pad_token_id = -1, .tables = tables, .table_count = 5 };
	struct input_shape shape = { 2, 40 };
	struct arena a = { 0 };
	struct tensor in[5];
	bool seen[2][5] = { { false } };

	(void)state;
	assert_int_equal(inputs_synthetic(&a, types, 5, &known, &shape, 1, in, NULL), STATUS_OK);
	for (size_t i = 0; i < 80; i++) {
		int64_t id = ((int64_t *)in[0].data)[i], token = ((int32_t *)in[1].data)[i], lost = ((int64_t *)in[3].data)[i];

		assert_true(id >= 0 && id < 5 && token >= 0 && token < 3 && lost >= 0 && lost < 2);
		seen[0][id] = seen[1][token] = true;
	}
	assert_true(seen[0][0] && seen[0][1] && seen[0][2] && seen[0][3] && seen[0][4] && seen[1][0] && seen[1][1] && seen[1][2]);
	assert_string_equal(inputs_note(&a, types, 5, &known),
		"input_ids: below 5, the rows of the table that it indexes; tokens: below 3, the rows of the table that it "
		"indexes; lost_ids: 0 and 1, vocabulary not found");
	assert_null(inputs_note(&a, types, 5, &hints));
	assert_int_equal(inputs_positions(&known), 64);
	assert_int_equal(inputs_positions(&hints), 0);
	arena_done(&a);
}

// A batch is a dimension with that name, or one that was asked for and that all inputs took; no other first dimension.
static void a_batch_is_named_or_asked_for(void **state)
{
	const struct tensor_type lstm[] = { { "x", DTYPE_F32, 3, { -1, 4, 8 }, { "seq" } },
		{ "state", DTYPE_F32, 3, { 2, 1, 128 }, { 0 } } };
	const struct tensor_type named[] = { { "state", DTYPE_F32, 3, { 2, -1, 128 }, { NULL, "batch_size" } },
		{ "x", DTYPE_F32, 2, { -1, 8 }, { "N" } } };
	const struct tensor_type open[] = { { "x", DTYPE_F32, 2, { -1, 8 }, { 0 } }, { "y", DTYPE_F32, 2, { -1, 3 }, { 0 } } };
	struct input_shape shape = { .batch = 4, .sequence = 7 };
	struct arena a = { 0 };
	struct tensor in[2];

	(void)state;
	assert_int_equal(inputs_synthetic(&a, lstm, 2, NULL, &shape, 1, in, NULL), STATUS_OK);
	assert_int_equal(inputs_batch(lstm, in, 2, 1), -1);
	assert_int_equal(inputs_batch(lstm, in, 2, 4), -1); // asked for, and the state did not take it
	assert_int_equal(inputs_synthetic(&a, named, 2, NULL, &shape, 1, in, NULL), STATUS_OK);
	assert_int_equal(inputs_batch(named, in, 2, 1), 4); // as asked: the name counts, not the place
	const struct tensor_type recurrent = { "x", DTYPE_F32, 3, { -1, -1, 8 }, { NULL, "batch" } };
	assert_int_equal(inputs_synthetic(&a, &recurrent, 1, NULL, &shape, 1, in, NULL), STATUS_OK);
	assert_true(in[0].dim[0] == 7 && in[0].dim[1] == 4 && inputs_batch(&recurrent, in, 1, 4) == 4);
	assert_int_equal(inputs_synthetic(&a, open, 2, NULL, &shape, 1, in, NULL), STATUS_OK);
	assert_int_equal(inputs_batch(open, in, 2, 4), 4);
	assert_int_equal(inputs_batch(open, in, 2, 1), -1);
	assert_true(inputs_names_batch("Batch", 1) && !inputs_names_batch("seq", 0) && !inputs_names_batch(NULL, 0));
	assert_true(inputs_names_batch("N", 0) && !inputs_names_batch("N", 1));
	arena_done(&a);
}

// What exporters write where nobody named a dimension says nothing; a name that says something else is no batch, whatever was
// asked for.
static void names_of_first_dimensions(void **state)
{
	static const struct {
		const char *symbol;
		int64_t size, batch;
	} names[] = {
		{ NULL, 8, 8 },
		{ "unk__7", 8, 8 },
		{ "s0", 8, 8 },
		{ "input_dynamic_axes_1", 8, 8 },
		{ "x_dim_0", 8, 8 },
		{ "batch_size", 8, 8 },
		{ "B", 8, 8 },
		{ "time", 20, -1 },
		{ "seq_len", 20, -1 },
		{ "num_boxes", 20, -1 },
		{ "frames", 20, -1 },
		{ "rows", 8, -1 },
	};
	const struct tensor_type cloud = { "points", DTYPE_F32, 3, { 1, -1, 3 }, { NULL, "N" } };
	const struct tensor_type outputs[] = { { "y", DTYPE_F32, 2, { 1, 1 }, { 0 } }, { "z", DTYPE_F32, 2, { -1, 1 }, { 0 } } };
	const struct input_shape shape = { .batch = 8, .sequence = 20 };
	struct arena a = { 0 };
	struct tensor in;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct tensor_type x = { "x", DTYPE_F32, 2, { -1, 4 }, { names[i].symbol } };

		assert_int_equal(inputs_synthetic(&a, &x, 1, NULL, &shape, 1, &in, NULL), STATUS_OK);
		assert_int_equal(in.dim[0], names[i].size);
		assert_int_equal(inputs_batch(&x, &in, 1, 8), names[i].batch);
	}
	assert_int_equal(inputs_synthetic(&a, &cloud, 1, NULL, &shape, 1, &in, NULL), STATUS_OK);
	assert_int_equal(inputs_batch(&cloud, &in, 1, 8), -1);
	assert_true(
		!inputs_batch_leaves(outputs, 1, 8) && !inputs_batch_leaves(outputs, 1, 1) && inputs_batch_leaves(outputs, 2, 8));
	arena_done(&a);
}

static void what_fixed_shapes_cannot_take(void **state)
{
	const struct tensor_type fixed[] = { { "input_ids", DTYPE_I64, 2, { 4, 16 }, { 0 } },
		{ "x", DTYPE_F32, 2, { 4, 8 }, { 0 } } };
	const struct tensor_type open[] = { { "input_ids", DTYPE_I64, 2, { -1, -1 }, { 0 } },
		{ "x", DTYPE_F32, 2, { 4, 8 }, { 0 } } };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(inputs_check_asked(fixed, 2, 1, 0, &err), STATUS_OK);
	assert_int_equal(inputs_check_asked(fixed, 2, 4, 16, &err), STATUS_OK);
	assert_int_equal(inputs_check_asked(open, 2, 2, 5, &err), STATUS_OK);
	assert_int_equal(inputs_check_asked(&fixed[1], 1, 4, 5, &err), STATUS_OK); // no tokens: a length says nothing to it
	assert_int_equal(inputs_check_asked(fixed, 2, 8, 16, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.text, "fixed batch of 4 (input_ids is [4,16])"));
	assert_int_equal(inputs_check_asked(fixed, 2, 4, 32, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.text, "fixed length of 16"));
}

static void a_state_is_no_batch(void **state)
{
	const struct tensor stored[] = {
		{ .name = "in.input_ids",
			.dtype = DTYPE_I64,
			.rank = 2,
			.dim = { 3, 2 },
			.data = (uint8_t[48]){ 0 },
			.nbytes = 48 },
		{ .name = "in.state",
			.dtype = DTYPE_F32,
			.rank = 3,
			.dim = { 2, 1, 2 },
			.data = (uint8_t[16]){ 0 },
			.nbytes = 16 },
	};
	struct input_shape shape = { .batch = 1 };
	struct error err = { 0 };
	char path[] = "/tmp/assay-batch-XXXXXX";

	(void)state;
	close(mkstemp(path));
	assert_int_equal(safetensors_write(path, stored, 2, &err), STATUS_OK);
	assert_int_equal(inputs_file_shape(&shape, path, &err), STATUS_OK);
	assert_int_equal(shape.batch, 3);
	assert_int_equal(shape.sequence, 2);
	unlink(path);
}

// Real tokens of a row, which come first; fails where the mask has another form.
static size_t length_of(const struct tensor *mask, size_t row)
{
	const int64_t *at = (int64_t *)mask->data + row * (size_t)mask->dim[1];
	size_t length = 0;

	while (length < (size_t)mask->dim[1] && at[length] == 1)
		length++;
	for (size_t i = length; i < (size_t)mask->dim[1]; i++)
		assert_int_equal(at[i], 0);
	return length;
}

static void built_padded(
	struct arena *a, const struct input_hints *h, struct input_shape shape, uint64_t seed, struct tensor in[5])
{
	assert_int_equal(inputs_synthetic(a, text_types, 5, h, &shape, seed, in, NULL), STATUS_OK);
	inputs_pad(in, 5, h, seed);
}

// The last row, also the only one, has a quarter of padding; the first of several is whole; what is no mask or token stays as it
// was.
static void padding_at_the_ends_of_rows(void **state)
{
	struct arena a = { 0 };
	struct tensor in[5], again[5], full[5];
	bool unlike = false;

	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		built_padded(&a, &hints, (struct input_shape){ 3, 64 }, seed, in);
		built_padded(&a, &hints, (struct input_shape){ 3, 64 }, seed, again);
		assert_int_equal(
			inputs_synthetic(&a, text_types, 5, &hints, &(struct input_shape){ 3, 64 }, seed, full, NULL), STATUS_OK);
		size_t length[] = { length_of(&in[1], 0), length_of(&in[1], 1), length_of(&in[1], 2) };
		assert_true(length[0] == 64 && length[1] < 64 && length[2] < length[1] && length[2] >= 46 && length[2] <= 48);
		unlike |= length[2] != 48;
		for (size_t i = 0; i < 3 * 64; i++)
			assert_int_equal(((int64_t *)in[0].data)[i],
				i % 64 < length[i / 64] ? ((int64_t *)full[0].data)[i] : hints.pad_token_id);
		for (int i = 0; i < 5; i++)
			assert_memory_equal(in[i].data, again[i].data, in[i].nbytes);
		for (int i = 2; i < 5; i++)
			assert_memory_equal(in[i].data, full[i].data, in[i].nbytes);
		assert_true(inputs_padding(full, 5) == 0 &&
			inputs_padding(in, 5) * 192 == (double)(192 - length[0] - length[1] - length[2]));
	}
	assert_true(unlike); // the seed decides too
	built_padded(&a, &hints, (struct input_shape){ 1, 8 }, 0, in);
	assert_true(length_of(&in[1], 0) >= 4 && length_of(&in[1], 0) <= 6);
	built_padded(&a, &hints, (struct input_shape){ 1, 7 }, 0, in);
	assert_int_equal(length_of(&in[1], 0), 7);
	arena_done(&a);
}

static void padding_keeps_what_means_something(void **state)
{
	const struct input_hints h = { .vocab_size = 5,
		.pad_token_id = 3,
		.image_token_id = 4,
		.image_tokens = 6,
		.ends_with_eos = true,
		.eos_token_id = 2 };
	const struct input_hints no_pad = {
		.vocab_size = 7, .pad_token_id = 7, .ends_with_eos = true, .eos_token_id = 2
	}; // outside the table
	struct arena a = { 0 };
	struct tensor in[5];

	(void)state;
	built_padded(&a, &h, (struct input_shape){ 2, 15 }, 1, in);
	for (size_t row = 0; row < 2; row++) {
		const int64_t *ids = (int64_t *)in[0].data + row * 15;
		size_t length = length_of(&in[1], row);

		assert_true(row ? length >= 11 && length <= 13 : length == 15);
		for (size_t i = 0; i < 15; i++)
			assert_int_equal(ids[i] == 4, i >= 1 && i <= 6);
		assert_true(ids[length - 1] == 2 && !has(ids, length - 1, 2) && !has(ids + length, 15 - length, 2));
	}
	built_padded(&a, &h, (struct input_shape){ 1, 14 }, 1, in); // 7 tokens beside those of the image
	assert_int_equal(length_of(&in[1], 0), 14);
	built_padded(&a, &no_pad, (struct input_shape){ 1, 16 }, 1, in);
	for (size_t i = 0; i < 16; i++) {
		int64_t id = ((int64_t *)in[0].data)[i];

		assert_true(id >= 0 && id < 7 && (id == 2) == (i + 1 == length_of(&in[1], 0)));
	}
	arena_done(&a);
}

// Sound's mask, images' masks and a cache's are about other places than tokens.
static void other_masks_stay_full(void **state)
{
	const struct tensor_type types[] = { { "input_values", DTYPE_F32, 2, { -1, 64 } },
		{ "attention_mask", DTYPE_I64, 2, { -1, 64 } }, { "pixel_mask", DTYPE_I64, 3, { -1, 8, 8 } },
		{ "input_ids", DTYPE_I64, 2, { -1, -1 } } };
	const struct input_shape shape = { 2, 32 };
	struct arena a = { 0 };
	struct tensor in[4];

	(void)state;
	assert_int_equal(inputs_synthetic(&a, types, 4, &hints, &shape, 1, in, NULL), STATUS_OK);
	for (size_t count = 3; count <= 4; count++) { // without tokens, and with fewer than the mask has places
		inputs_pad(in, count, &hints, 1);
		assert_true(length_of(&in[1], 0) == 64 && length_of(&in[1], 1) == 64 && isnan(inputs_padding(in, count)));
	}
	assert_false(has(in[2].data, 128, 0));
	arena_done(&a);
}

// A decoder with a past, as optimum exports it: what holds the encoder's states has one length, and is never empty, whether the
// engine tells names of dimensions or only that they are open.
static void states_of_an_encoder(void **state)
{
	enum { IDS, MASK, DECODER, ENCODER, STATES, COUNT };
	const struct tensor_type open[COUNT] = {
		[IDS] = { "input_ids", DTYPE_I64, 2, { -1, -1 } },
		[MASK] = { "encoder_attention_mask", DTYPE_I64, 2, { -1, -1 } },
		[DECODER] = { "past_key_values.0.decoder.key", DTYPE_F32, 4, { -1, 2, -1, 4 } },
		[ENCODER] = { "past_key_values.0.encoder.key", DTYPE_F32, 4, { -1, 2, -1, 4 } },
		[STATES] = { "encoder_hidden_states", DTYPE_F32, 3, { -1, -1, 8 } },
	};
	static const char *const symbols[][4] = { [IDS] = { "batch_size", "decoder_sequence_length" },
		[MASK] = { "batch_size", "encoder_sequence_length" },
		[DECODER] = { "batch_size", NULL, "past_decoder_sequence_length" },
		[ENCODER] = { "batch_size", NULL, "encoder_sequence_length_out" },
		[STATES] = { "batch_size", "encoder_sequence_length" } };
	const struct input_shape shape = { .batch = 2, .sequence = 7 };
	struct tensor_type named[COUNT], fixed[COUNT];
	struct arena a = { 0 };
	struct error err = { 0 };
	struct tensor in[COUNT];

	(void)state;
	memcpy(named, open, sizeof named);
	for (int i = 0; i < COUNT; i++)
		memcpy(named[i].symbol, symbols[i], sizeof symbols[i]);
	memcpy(fixed, named, sizeof fixed);
	fixed[STATES].dim[1] = 15; // sound, of one length
	const struct {
		const struct tensor_type *types;
		int64_t states;
	} cases[] = { { open, 7 }, { named, 7 }, { fixed, 15 } };
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(inputs_synthetic(&a, cases[i].types, COUNT, &hints, &shape, 1, in, &err), STATUS_OK);
		assert_true(in[IDS].dim[1] == 7 && in[DECODER].dim[2] == 0 && in[DECODER].dim[0] == 2);
		assert_true(in[MASK].dim[1] == cases[i].states && in[ENCODER].dim[2] == cases[i].states &&
			in[STATES].dim[1] == cases[i].states);
	}
	named[ENCODER].symbol[2] = "past_encoder_sequence_length";
	assert_int_equal(inputs_synthetic(&a, named, COUNT, &hints, &shape, 1, in, &err), STATUS_OK);
	assert_int_equal(in[ENCODER].dim[2], 7);
	fixed[ENCODER].dim[2] = 16;
	assert_int_equal(inputs_synthetic(&a, fixed, COUNT, &hints, &shape, 1, in, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.text, "past_key_values.0.encoder.key"));
	assert_non_null(strstr(err.text, "--golden"));
	arena_done(&a);
}

// From a file: an encoder's cache that is not there is empty only where the file says that it is not used.
static void states_of_a_file(void **state)
{
	const struct tensor_type types[] = { { "past_key_values.0.encoder.key", DTYPE_F32, 4, { -1, 2, -1, 4 } },
		{ "use_cache_branch", DTYPE_BOOL, 1, { 1 } } };
	char path[] = "/tmp/assay-inputs-XXXXXX";
	int64_t ids[2] = { 5, 4 };
	uint8_t uses = 0;
	const struct tensor stored[] = {
		{ .name = "in.input_ids", .dtype = DTYPE_I64, .rank = 2, .dim = { 1, 2 }, .data = ids, .nbytes = sizeof ids },
		{ .name = "in.use_cache_branch", .dtype = DTYPE_BOOL, .rank = 1, .dim = { 1 }, .data = &uses, .nbytes = 1 }
	};
	struct arena a = { 0 };
	struct error err = { 0 };
	struct tensor in[2];

	(void)state;
	close(mkstemp(path));
	assert_int_equal(safetensors_write(path, stored, 2, &err), STATUS_OK);
	assert_int_equal(inputs_file(&a, types, 2, path, in, NULL, &err), STATUS_OK);
	assert_true(in[0].dim[0] == 1 && in[0].dim[2] == 0);
	uses = 1;
	assert_int_equal(safetensors_write(path, stored, 2, &err), STATUS_OK);
	assert_int_equal(inputs_file(&a, types, 2, path, in, NULL, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "in.past_key_values.0.encoder.key"));
	assert_int_equal(safetensors_write(path, stored, 1, &err), STATUS_OK);
	assert_int_equal(inputs_file(&a, types, 1, path, in, NULL, &err), STATUS_BAD_INPUT);
	unlink(path);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles),
		cmocka_unit_test(the_same_whatever_the_order),
		cmocka_unit_test(undecided_shapes_are_named),
		cmocka_unit_test(files),
		cmocka_unit_test(other_kinds),
		cmocka_unit_test(tokens_that_mean_something),
		cmocka_unit_test(shapes_asked_for),
		cmocka_unit_test(tables_of_a_users_graph),
		cmocka_unit_test(padding_at_the_ends_of_rows),
		cmocka_unit_test(padding_keeps_what_means_something),
		cmocka_unit_test(other_masks_stay_full),
		cmocka_unit_test(states_of_an_encoder),
		cmocka_unit_test(states_of_a_file),
		cmocka_unit_test(a_batch_is_named_or_asked_for),
		cmocka_unit_test(names_of_first_dimensions),
		cmocka_unit_test(what_fixed_shapes_cannot_take),
		cmocka_unit_test(a_state_is_no_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
