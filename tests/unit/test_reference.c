// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Which outputs an attention mask says something about, where another engine's are the reference.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "cell/output_file.h"
#include "run/reference.h"
#include "question/row.h"

enum { TOKENS = 4 };

static float zeros[2 * TOKENS * TOKENS], ones[2 * TOKENS * TOKENS];
static int64_t mask[] = { 1, 1, 1, 1, 1, 1, 1, 0 };

// [2, TOKENS] or [2, TOKENS, 2], ..., as `rank` says.
static struct tensor of(const char *name, int rank, float *data)
{
	size_t count = (size_t)(2 * TOKENS) << (rank - 2);

	return (struct tensor){ .name = name,
		.dtype = DTYPE_F32,
		.rank = rank,
		.dim = { 2, TOKENS, 2, 2 },
		.data = data,
		.nbytes = count * sizeof *data };
}

// An output that is wrong in the last token of the last row alone, which is padding. `beside`: another output, equal; NULL: none.
static enum verdict judged(const char *name, int rank, const char *beside, enum judged_by by, int64_t *left_out)
{
	struct tensor theirs[] = { of(name, rank, zeros), of(beside ? beside : "", 3, zeros) };
	struct tensor ours[] = { theirs[0], theirs[1] };
	const struct tensor words = { .dtype = DTYPE_I64, .rank = 2, .dim = { 2, TOKENS }, .data = mask, .nbytes = sizeof mask };
	const struct reference ref = {
		.name = "another engine", .by = by, .answer = { .tensors = theirs, .count = beside ? 2 : 1 }
	};
	size_t inner = (size_t)1 << (rank - 2);
	struct arena a = { 0 };
	struct row row;
	enum verdict v;

	row_init(&row);
	memset(ones, 0, sizeof ones);
	for (size_t i = (2 * TOKENS - 1) * inner; i < 2 * TOKENS * inner; i++)
		ones[i] = 1;
	ours[0].data = ones;
	v = reference_judge(
		&ref, &(struct answer){ .tensors = ours, .count = 2, .mask = &words }, bound_for(DTYPE_F32), &a, &row, NULL);
	*left_out = row.left_out;
	arena_done(&a);
	return v;
}

// A thousand outputs that the reference does not hold, with names of 4 KB: each made a copy of all before it, 2 GB.
static void names_that_are_too_many_are_counted(void **state)
{
	enum { OUTPUTS = 1000, NAME = 4000 };
	struct tensor held = of("held", 2, zeros);
	const struct reference ref = { .name = "another engine", .by = BY_ENGINE, .answer = { .tensors = &held, .count = 1 } };
	struct arena a = { 0 };
	struct tensor *ours = ARENA_ARRAY(&a, OUTPUTS + 1, struct tensor);
	struct row row;

	(void)state;
	row_init(&row);
	for (size_t i = 0; i < OUTPUTS; i++)
		ours[i] = of(arena_printf(&a, "%0*zu", NAME, i), 2, zeros);
	ours[OUTPUTS] = held;
	assert_int_equal(reference_judge(&ref, &(struct answer){ .tensors = ours, .count = OUTPUTS + 1 }, bound_for(DTYPE_F32),
				 &a, &row, NULL),
		VERDICT_RIGHT);
	assert_true(strlen(row.not_judged) < 20000);
	assert_non_null(strstr(row.not_judged, "3 and 996 more"));
	arena_done(&a);
}

// "logits" and "out_logits" are one output where one side has one of them, and two where a side has both.
static void spellings_of_one_name(void **state)
{
	struct tensor both[] = { of("logits", 2, zeros), of("out_logits", 2, ones) };
	static const struct {
		size_t first_ours, ours, first_theirs, theirs; // of `both`: from which on, and how many
		enum verdict verdict;
	} rows[] = { { 0, 2, 0, 2, VERDICT_RIGHT }, { 0, 1, 0, 2, VERDICT_WRONG }, { 1, 1, 1, 1, VERDICT_RIGHT },
		{ 0, 1, 1, 1, VERDICT_WRONG } };

	(void)state;
	for (size_t i = 0; i < TOKENS * 2; i++)
		ones[i] = 1;
	for (int swapped = 0; swapped < 2; swapped++) // what is called otherwise holds the other's numbers
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			struct tensor ours[2], swap[] = { of("logits", 2, ones), of("out_logits", 2, zeros) };
			const struct reference ref = { .name = "another engine",
				.by = BY_ENGINE,
				.answer = { .tensors = both + rows[i].first_theirs, .count = rows[i].theirs } };
			struct arena a = { 0 };
			struct row row;

			memcpy(ours, swapped ? swap : both, sizeof ours);
			row_init(&row);
			enum verdict v = reference_judge(&ref,
				&(struct answer){ .tensors = ours + rows[i].first_ours, .count = rows[i].ours },
				bound_for(DTYPE_F32), &a, &row, NULL);
			// Of one name alone on each side the other spelling will do: the numbers decide.
			const bool is_other = i == 3;
			if (v != (swapped && is_other ? VERDICT_RIGHT : swapped ? VERDICT_WRONG : rows[i].verdict))
				fail_msg("row %zu, swapped %d: %s", i, swapped, verdict_word(v));
			arena_done(&a);
		}
}

// One output that the reference holds under "out_y" is not two of the model's.
static void one_name_holds_one_output(void **state)
{
	static float none[2 * TOKENS] = { NAN };
	struct tensor held = of("out_y", 2, zeros), ours[] = { of("out_out_y", 2, zeros), of("y", 2, none) };
	const struct reference ref = { .name = "golden", .by = BY_GOLDEN, .answer = { .tensors = &held, .count = 1 } };
	struct arena a = { 0 };
	struct row row;

	(void)state;
	row_init(&row);
	assert_int_equal(
		reference_judge(&ref, &(struct answer){ .tensors = ours, .count = 2 }, bound_for(DTYPE_F32), &a, &row, NULL),
		VERDICT_WRONG);
	assert_string_equal(row.not_judged, "y");
	arena_done(&a);
}

// A mask of floats that is no mask leaves nothing out.
static void float_masks(void **state)
{
	static float numbers[2 * TOKENS] = { 1, 1, 1, 1, 1, 1, 1, 0 };
	static const struct {
		float last;
		enum verdict verdict;
	} rows[] = { { 0, VERDICT_RIGHT }, { -1, VERDICT_WRONG }, { NAN, VERDICT_WRONG } };
	struct tensor theirs = of("last_hidden_state", 3, zeros), ours = of("last_hidden_state", 3, ones);
	const struct reference ref = { .name = "another engine", .by = BY_ENGINE, .answer = { .tensors = &theirs, .count = 1 } };

	(void)state;
	memset(ones, 0, sizeof ones);
	ones[2 * (2 * TOKENS - 1)] = 1; // in the last token
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct tensor words = {
			.dtype = DTYPE_F32, .rank = 2, .dim = { 2, TOKENS }, .data = numbers, .nbytes = sizeof numbers
		};
		struct arena a = { 0 };
		struct row row;

		numbers[2 * TOKENS - 1] = rows[i].last;
		row_init(&row);
		assert_int_equal(reference_judge(&ref, &(struct answer){ .tensors = &ours, .count = 1, .mask = &words },
					 bound_for(DTYPE_F32), &a, &row, NULL),
			rows[i].verdict);
		arena_done(&a);
	}
}

static void what_lies_on_tokens_is_left_out_where_there_is_none(void **state)
{
	int64_t left_out;

	(void)state;
	assert_int_equal(judged("last_hidden_state", 3, NULL, BY_ENGINE, &left_out), VERDICT_RIGHT);
	assert_int_equal(left_out, 2);
	assert_int_equal(judged("end_logits", 2, NULL, BY_ENGINE, &left_out), VERDICT_RIGHT);
	assert_int_equal(left_out, 1);
	assert_int_equal(judged("last_hidden_state", 3, NULL, BY_GOLDEN, &left_out), VERDICT_WRONG);
}

// A pooled state as wide as the text is long, a cache with as many heads as tokens, a decoder with as many tokens as the encoder.
static void sizes_that_are_equal_by_chance_hide_nothing(void **state)
{
	int64_t left_out;

	(void)state;
	assert_int_equal(judged("pooler_output", 2, NULL, BY_ENGINE, &left_out), VERDICT_WRONG);
	assert_int_equal(left_out, 0);
	assert_int_equal(judged("logits", 2, NULL, BY_ENGINE, &left_out), VERDICT_WRONG);
	assert_int_equal(judged("present.0.key", 4, NULL, BY_ENGINE, &left_out), VERDICT_WRONG);
	assert_int_equal(judged("logits", 3, "encoder_last_hidden_state", BY_ENGINE, &left_out), VERDICT_WRONG);
	assert_int_equal(judged("encoder_last_hidden_state", 3, "logits", BY_ENGINE, &left_out), VERDICT_RIGHT);
}

// present.0.key [2, 1, TOKENS, 2] that is 1 off at one token of the last row.
static enum verdict judged_cache(const char *name, size_t token, enum judged_by by, bool has_encoder, int64_t *left_out)
{
	struct tensor theirs[] = { of(name, 4, zeros), of(has_encoder ? "encoder_last_hidden_state" : "logits", 3, zeros) };
	struct tensor ours[] = { theirs[0], theirs[1] };
	const struct tensor words = { .dtype = DTYPE_I64, .rank = 2, .dim = { 2, TOKENS }, .data = mask, .nbytes = sizeof mask };
	const struct reference ref = { .name = "another", .by = by, .answer = { .tensors = theirs, .count = 2 } };
	struct arena a = { 0 };
	struct row row;
	enum verdict v;

	row_init(&row);
	memset(ones, 0, sizeof ones);
	ones[(TOKENS + token) * 2] = 1;
	theirs[0].dim[1] = ours[0].dim[1] = 1;
	theirs[0].dim[2] = ours[0].dim[2] = TOKENS;
	ours[0].data = ones;
	v = reference_judge(
		&ref, &(struct answer){ .tensors = ours, .count = 2, .mask = &words }, bound_for(DTYPE_F32), &a, &row, NULL);
	*left_out = row.left_out;
	arena_done(&a);
	return v;
}

// In a window a padded query may have only masked keys: what follows of it in later layers' keys is no two engines' agreement.
static void a_cache_is_left_out_at_padding_alone(void **state)
{
	static const enum judged_by all[] = { BY_ENGINE, BY_FILE, BY_GOLDEN };
	int64_t left_out;

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		assert_int_equal(judged_cache("present.0.key", TOKENS - 1, all[i], false, &left_out), VERDICT_RIGHT);
		assert_int_equal(left_out, all[i] == BY_GOLDEN ? 2 : 4); // of the cache, and of logits where they are not golden
		for (size_t token = 0; token < TOKENS - 1; token++)
			assert_int_equal(judged_cache("present.0.key", token, all[i], false, &left_out), VERDICT_WRONG);
		assert_int_equal(judged_cache("present.1.value", TOKENS - 1, all[i], false, &left_out), VERDICT_RIGHT);
		assert_int_equal(judged_cache("present.1.value", 0, all[i], false, &left_out), VERDICT_WRONG);
	}
	// Of an encoder-decoder the mask is the encoder's; a state of another name is no cache.
	assert_int_equal(judged_cache("present.0.encoder.key", TOKENS - 1, BY_ENGINE, true, &left_out), VERDICT_RIGHT);
	assert_int_equal(judged_cache("present.0.decoder.key", TOKENS - 1, BY_ENGINE, true, &left_out), VERDICT_WRONG);
	assert_int_equal(judged_cache("present.0.decoder.key", TOKENS - 1, BY_ENGINE, false, &left_out), VERDICT_WRONG);
	assert_int_equal(judged_cache("present.0.key", TOKENS - 1, BY_ENGINE, true, &left_out), VERDICT_WRONG);
	assert_int_equal(judged_cache("present_ssm.0", TOKENS - 1, BY_ENGINE, false, &left_out), VERDICT_WRONG);
}

// A mask that equals itself is no answer of a model, and an output that is called as the mask is no mask.
static void inputs_are_no_outputs(void **state)
{
	float numbers[2 * TOKENS], others[2 * TOKENS];
	struct tensor theirs[] = { of("y", 2, numbers), of("in.attention_mask", 2, zeros) };
	struct tensor ours[] = { of("y", 2, others), of("in.attention_mask", 2, zeros) };
	const struct tensor words = { .dtype = DTYPE_I64, .rank = 2, .dim = { 2, TOKENS }, .data = mask, .nbytes = sizeof mask };
	struct reference ref = {
		.name = "another engine", .by = BY_FILE, .answer = { .tensors = theirs, .count = 2, .mask = &words }
	};
	struct answer x = { .tensors = ours, .count = 2, .mask = &words };
	struct arena a = { 0 };
	struct row row;

	(void)state;
	for (size_t i = 0; i < 2 * TOKENS; i++) {
		numbers[i] = 1e-9f;
		others[i] = -1e-9f;
	}
	theirs[1].dtype = ours[1].dtype = DTYPE_I32;
	row_init(&row);
	assert_int_equal(
		reference_judge(&ref, &x, bound_for(DTYPE_F32), &a, &row, NULL), VERDICT_RIGHT); // of integers that are equal
	ref.answer.count = x.count = 1;
	row_init(&row);
	assert_int_equal(reference_judge(&ref, &x, bound_for(DTYPE_F32), &a, &row, NULL), VERDICT_UNJUDGED);
	assert_true(isnan(row.cosine));
	ref.answer.count = x.count = 2;
	numbers[3] = 1; // a token, whatever that output says
	row_init(&row);
	assert_int_equal(reference_judge(&ref, &x, bound_for(DTYPE_F32), &a, &row, NULL), VERDICT_WRONG);
	arena_done(&a);
}

// Zeros against an average of no token decide nothing, whatever program made the file; one token is enough.
static void an_average_of_no_token_decides_nothing(void **state)
{
	int64_t words[2 * TOKENS] = { 0 };
	struct tensor golden = { .name = "sentence_embedding",
		.dtype = DTYPE_F32,
		.rank = 2,
		.dim = { 2, 2 },
		.data = zeros,
		.nbytes = 4 * sizeof *zeros };
	struct tensor ours = of("last_hidden_state", 3, ones),
		      no_token = { .name = "attention_mask",
			      .dtype = DTYPE_I64,
			      .rank = 2,
			      .dim = { 2, TOKENS },
			      .data = words,
			      .nbytes = sizeof words };
	const struct reference ref = { .name = "golden",
		.by = BY_GOLDEN,
		.derives = true,
		.answer = { .tensors = &golden, .count = 1, .mask = &no_token } };
	struct arena a = { 0 };
	struct row row;

	(void)state;
	row_init(&row);
	for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
		ones[i] = 1;
	assert_int_equal(
		reference_judge(&ref, &(struct answer){ .tensors = &ours, .count = 1 }, bound_for(DTYPE_F32), &a, &row, NULL),
		VERDICT_UNJUDGED);
	assert_non_null(strstr(row.cause, "no token is left"));
	assert_string_equal(row.not_judged, "last_hidden_state, sentence_embedding");
	words[0] = 1;
	row_init(&row);
	assert_int_equal(
		reference_judge(&ref, &(struct answer){ .tensors = &ours, .count = 1 }, bound_for(DTYPE_F32), &a, &row, NULL),
		VERDICT_WRONG);
	assert_string_equal(row.not_judged, "last_hidden_state (judged only through sentence_embedding)");
	arena_done(&a);
}

// A logarithm of made-up numbers is not a number, in every engine: of a user's file that is no fault; of a graph of ours it is.
static void what_no_engine_can_compute_of_a_users_file_is_not_judged(void **state)
{
	static const enum judged_by by[] = { BY_FILE, BY_FILE, BY_ENGINE };
	static const enum verdict expected[] = { VERDICT_UNJUDGED, VERDICT_WRONG, VERDICT_WRONG };
	float theirs[2 * TOKENS] = { NAN }, ours[2 * TOKENS] = { NAN };
	struct tensor t = of("y", 2, theirs), o = of("y", 2, ours);
	struct arena a = { 0 };
	struct row row;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct reference ref = { .name = "another engine", .by = by[i], .answer = { .tensors = &t, .count = 1 } };

		ours[1] = i == 1 ? NAN : 0; // here alone
		row_init(&row);
		assert_int_equal(reference_judge(&ref, &(struct answer){ .tensors = &o, .count = 1 }, bound_for(DTYPE_F32), &a,
					 &row, NULL),
			expected[i]);
		assert_int_equal(strstr(row.cause, "damaged") != NULL, i == 2);
		assert_int_equal(row.non_finite, i == 1 ? 2 : 1);
		assert_int_equal(row.left_out, 0); // which is what is masked, or padding
	}
	arena_done(&a);
}

// Golden outputs without one finite value: equal, and nothing was compared. Beside another output they are named, and no figure
// is theirs.
static void no_finite_value_proves_nothing(void **state)
{
	float nan[2 * TOKENS], one[2 * TOKENS];
	struct tensor t[] = { of("y", 2, nan), of("z", 2, one) };
	struct arena a = { 0 };
	struct row row;
	json_t *checks;

	(void)state;
	for (size_t i = 0; i < 2 * TOKENS; i++) {
		nan[i] = i % 2 ? NAN : INFINITY;
		one[i] = (float)i;
	}
	for (size_t count = 1; count <= 2; count++) {
		const struct reference ref = { .name = "golden", .by = BY_GOLDEN, .answer = { .tensors = t, .count = count } };

		row_init(&row);
		assert_int_equal(reference_judge(&ref, &(struct answer){ .tensors = t, .count = count }, bound_for(DTYPE_F32), &a,
					 &row, &checks),
			count == 1 ? VERDICT_UNJUDGED : VERDICT_RIGHT);
		assert_true(json_is_null(json_object_get(json_array_get(checks, 0), "right")));
		assert_string_equal(row.not_judged, "y (no finite value in it)");
		assert_int_equal(row.non_finite, 2 * TOKENS);
		assert_int_equal(isnan(row.cosine) && isnan(row.nmse) && isnan(row.max_abs_error) && isnan(row.top1_agreement),
			count == 1);
		if (count == 1)
			assert_string_equal(row.cause, "not judged: y (no finite value in it)");
		json_decref(checks);
	}
	arena_done(&a);
}

// As large as float32's rounding of values of 1, and the opposite of what was asked for: agrees with nothing, and is wrong by
// nothing.
static void values_as_small_as_rounding_prove_nothing(void **state)
{
	static const double off[] = { 2, 0.02, 2 }; // of the reference: NMSE 4, 4e-4, 4
	float theirs[2 * TOKENS], ours[2 * TOKENS], one[2 * TOKENS];
	struct tensor t[] = { of("y", 2, theirs), of("z", 2, one) }, o[] = { of("y", 2, ours), of("z", 2, one) };
	struct arena a = { 0 };
	struct row row;

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		const struct reference ref = {
			.name = "golden", .by = BY_GOLDEN, .answer = { .tensors = t, .count = k == 2 ? 2 : 1 }
		};

		for (size_t i = 0; i < 2 * TOKENS; i++) {
			theirs[i] = i % 2 ? 1e-7f : -2e-7f;
			ours[i] = (float)(theirs[i] * (1 - off[k]));
			one[i] = (float)i;
		}
		row_init(&row);
		assert_int_equal(reference_judge(&ref, &(struct answer){ .tensors = o, .count = ref.answer.count },
					 bound_for(DTYPE_F32), &a, &row, NULL),
			k == 0 ? VERDICT_UNJUDGED : VERDICT_RIGHT);
		assert_int_equal(row.not_judged != NULL, k != 1);
		if (k != 1)
			assert_non_null(strstr(row.not_judged, "y (its values are no larger than float32's rounding"));
		assert_int_equal(isnan(row.cosine), k == 0);
		assert_true(k == 0 || row.cosine > 0.999);
	}
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(float_masks),
		cmocka_unit_test(one_name_holds_one_output),
		cmocka_unit_test(spellings_of_one_name),
		cmocka_unit_test(names_that_are_too_many_are_counted),
		cmocka_unit_test(what_lies_on_tokens_is_left_out_where_there_is_none),
		cmocka_unit_test(sizes_that_are_equal_by_chance_hide_nothing),
		cmocka_unit_test(a_cache_is_left_out_at_padding_alone),
		cmocka_unit_test(inputs_are_no_outputs),
		cmocka_unit_test(an_average_of_no_token_decides_nothing),
		cmocka_unit_test(what_no_engine_can_compute_of_a_users_file_is_not_judged),
		cmocka_unit_test(no_finite_value_proves_nothing),
		cmocka_unit_test(values_as_small_as_rounding_prove_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
