// SPDX-License-Identifier: Apache-2.0
// Any bytes as a golden file: who made it, the inputs that a text, a picture and a sound model would take of it, and outputs
// judged by it. Then as the case.json beside one. Refused with sentences, or tensors of the declared types and a verdict with its
// reason.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "run/golden.h"
#include "run/reference.h"
#include "cell/inputs.h"

enum { FIXED = 64 << 10, EACH = 256 };

static const struct tensor_type text[] = {
	{ .name = "input_ids", .dtype = DTYPE_I64, .rank = 2, .dim = { -1, -1 }, .symbol = { "batch", "sequence" } },
	{ .name = "attention_mask", .dtype = DTYPE_I64, .rank = 2, .dim = { -1, -1 }, .symbol = { "batch", "sequence" } },
	{ .name = "token_type_ids", .dtype = DTYPE_I64, .rank = 2, .dim = { -1, -1 }, .symbol = { "batch", "sequence" } },
	{ .name = "position_ids", .dtype = DTYPE_I64, .rank = 2, .dim = { -1, -1 }, .symbol = { "batch", "sequence" } },
	{ .name = "past_key_values.0.key",
		.dtype = DTYPE_F32,
		.rank = 4,
		.dim = { -1, 2, -1, 4 },
		.symbol = { "batch", NULL, "past_sequence_length", NULL } },
};
static const struct tensor_type picture[] = {
	{ .name = "pixel_values",
		.dtype = DTYPE_F32,
		.rank = 4,
		.dim = { -1, 3, -1, -1 },
		.symbol = { "batch", NULL, "height", "width" } },
	{ .name = "pixel_mask", .dtype = DTYPE_I64, .rank = 3, .dim = { -1, -1, -1 }, .symbol = { "batch", "height", "width" } },
};
static const struct tensor_type sound[] = {
	{ .name = "input_features",
		.dtype = DTYPE_F16,
		.rank = 3,
		.dim = { -1, -1, -1 },
		.symbol = { "batch", "frames", "bins" } },
	{ .name = "attention_mask", .dtype = DTYPE_I32, .rank = 2, .dim = { -1, -1 }, .symbol = { "batch", "frames" } },
};

static void take_inputs(const char *path, size_t size, const struct tensor_type *types, size_t count)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct tensor in[8];
	size_t elements;

	fuzz_memory_begin();
	enum status s = inputs_file(&a, types, count, path, in, NULL, &e);
	fuzz_memory_end(size, FIXED, EACH);
	if (s)
		fuzz_refused(s, &e, NULL);
	for (size_t i = 0; !s && i < count; i++) {
		if (in[i].dtype != types[i].dtype || in[i].rank != types[i].rank ||
			!tensor_count(in[i].rank, in[i].dim, &elements) || in[i].nbytes != elements * dtype_size(in[i].dtype))
			abort();
		fuzz_touch(in[i].data, in[i].nbytes);
	}
	arena_done(&a);
}

static void judge(const char *path, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct reference ref;
	struct row row;
	json_t *checks = NULL;
	float logits[2 * 3 * 4] = { 1, 2, 3 };
	int64_t ids[2 * 3] = { 1, 2, 3 };
	struct tensor outputs[] = {
		{ "logits", DTYPE_F32, 3, { 2, 3, 4 }, logits, sizeof logits },
		{ "last_hidden_state", DTYPE_F32, 3, { 2, 3, 4 }, logits, sizeof logits },
		{ "tokens", DTYPE_I64, 2, { 2, 3 }, ids, sizeof ids },
	};

	row_init(&row);
	fuzz_memory_begin();
	enum status s = reference_read_golden(&ref, path, &a, &e);
	fuzz_memory_end(size, FIXED, EACH);
	if (s) {
		fuzz_refused(s, &e, NULL);
		arena_done(&a);
		return;
	}
	if (!ref.name) { // inputs alone
		if (ref.answer.count || !ref.absent)
			abort();
		arena_done(&a);
		return;
	}
	fuzz_memory_begin();
	enum verdict v = reference_judge(&ref, &(struct answer){ .tensors = outputs, .count = sizeof outputs / sizeof *outputs },
		bound_for(DTYPE_F32), &a, &row, &checks);
	const char *tokens = reference_tokens(&ref, &a);
	fuzz_memory_end(size, FIXED, EACH);
	if ((v != VERDICT_RIGHT && v != VERDICT_WRONG && v != VERDICT_UNJUDGED) || (v != VERDICT_RIGHT) != (row.cause != NULL) ||
		!json_is_array(checks) || json_array_size(checks) != ref.answer.count)
		abort();
	if (tokens)
		fuzz_touch(tokens, strlen(tokens));
	json_decref(checks);
	arena_done(&a);
}

static void describe(const char *path, size_t size)
{
	struct arena a = { 0 };
	struct row row;

	row_init(&row);
	fuzz_memory_begin();
	golden_describe(&row, path, &a);
	fuzz_memory_end(size, 2 << 20, EACH); // its hash is taken in pieces of 1 MiB
	if (!row.golden_file || !row.golden_sha256 || (row.golden_word && strlen(row.golden_word) > 1000))
		abort();
	const char *what = golden_what(&row, &a);
	fuzz_touch(what, strlen(what));
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error e = { 0 };
	struct input_shape shape = { 0 };
	const char *path = fuzz_put("io.safetensors", data, size);

	fuzz_memory_begin();
	enum status s = inputs_file_shape(&shape, path, &e);
	fuzz_memory_end(size, FIXED, EACH);
	if (s)
		fuzz_refused(s, &e, path);
	if (shape.batch < 0 || shape.sequence < 0)
		abort();
	take_inputs(path, size, text, sizeof text / sizeof *text);
	take_inputs(path, size, picture, sizeof picture / sizeof *picture);
	take_inputs(path, size, sound, sizeof sound / sizeof *sound);
	judge(path, size);
	fuzz_put("case.json", "{}", 2);
	describe(path, size);
	fuzz_put("case.json", data, size);
	describe(fuzz_put("other.safetensors", "", 0), size);
	return 0;
}
