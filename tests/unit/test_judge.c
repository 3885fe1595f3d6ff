// SPDX-License-Identifier: Apache-2.0
// Verdicts on outputs, and the golden outputs that follow from others.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "measure/derive.h"
#include "measure/judge.h"

static struct tensor floats(float *data, int rank, const int64_t *dim)
{
	struct tensor t = { .name = "logits", .dtype = DTYPE_F32, .rank = rank, .data = data };
	size_t count;

	memcpy(t.dim, dim, (size_t)rank * sizeof *dim);
	tensor_count(rank, dim, &count);
	t.nbytes = count * sizeof *data;
	return t;
}

static struct check judge(struct arena *a, float *x, float *r, int rank, const int64_t *dim)
{
	struct tensor output = floats(x, rank, dim), reference = floats(r, rank, dim);
	struct check c;

	judge_tensor(&output, &reference, bound_for(DTYPE_F32), a, &c);
	return c;
}

static void equal_is_right(void **state)
{
	float x[6] = { 1, -2, 3, 0.5f, 0, 8 };
	struct arena a = { 0 };
	struct check c = judge(&a, x, x, 2, (int64_t[]){ 2, 3 });

	(void)state;
	assert_true(c.right);
	assert_null(c.cause);
	assert_true(c.max_abs_error <= 0 && c.nmse <= 0 && c.top1_agreement >= 1 && c.reference_absmax >= 8);
	assert_true(fabs(c.cosine - 1) < 1e-12);
	arena_done(&a);
}

static void perplexity_is_that_of_the_next_token(void **state)
{
	// Two rows of three places over two words; ln of the odds that a place gives to word 1. What the last place says is about nothing.
	const float ln3 = 1.0986123f;
	float logits[12] = { 0, ln3, 0, 0, 5, 5, 0, ln3, 0, -ln3, 7, 0 };
	int64_t ids[6] = { 0, 1, 0, 1, 1, 0 }, mask[6] = { 1, 1, 1, 1, 1, 0 };
	struct tensor x = floats(logits, 3, (int64_t[]){ 2, 3, 2 });
	struct tensor i = { .name = "ids", .dtype = DTYPE_I64, .rank = 2, .dim = { 2, 3 }, .data = ids, .nbytes = sizeof ids }, m = i;

	(void)state;
	m.data = mask;
	// Word 1 at 3/4, word 0 at 1/2; word 1 at 3/4, word 0 at 3/4.
	assert_true(fabs(judge_perplexity(&x, &i, NULL) - pow(0.75 * 0.5 * 0.75 * 0.75, -0.25)) < 1e-6);
	assert_true(fabs(judge_perplexity(&x, &i, &m) - pow(0.75 * 0.5 * 0.75, -1 / 3.0)) < 1e-6);
	ids[4] = 2;
	assert_true(isnan(judge_perplexity(&x, &i, NULL)) && isnan(judge_perplexity(NULL, &i, NULL)) && isnan(judge_perplexity(&x, NULL, NULL)));
	i.dim[1] = 2;
	assert_true(isnan(judge_perplexity(&x, &i, NULL)));
}

static void the_bound_grows_with_the_reference(void **state)
{
	float r[4] = { 40, 1, 2, 3 }, x[4] = { 40, 1, 2, 3.003f }, far[4] = { 40, 1, 2, 3.005f };
	struct arena a = { 0 };
	struct check c = judge(&a, x, r, 1, (int64_t[]){ 4 });

	(void)state;
	assert_true(c.right);                            // 0.003 of 0.004, NMSE 6e-9
	c = judge(&a, far, r, 1, (int64_t[]){ 4 });
	assert_false(c.right);
	assert_int_equal(c.worst, 3);
	assert_non_null(strstr(c.cause, "logits: 0.005 off at [3] (3.005, reference 3); allowed 0.004"));
	arena_done(&a);
}

static void small_errors_everywhere_are_wrong(void **state)
{
	float r[64], x[64];
	struct arena a = { 0 };
	struct check c;

	(void)state;
	for (int i = 0; i < 64; i++) {
		r[i] = 0.1f;
		x[i] = 0.10009f;                         // under the bound of 1e-4 each, NMSE 8e-7
	}
	c = judge(&a, x, r, 1, (int64_t[]){ 64 });
	assert_false(c.right);
	assert_non_null(strstr(c.cause, "normalised mean squared error"));
	arena_done(&a);
}

static void places_are_told(void **state)
{
	float r[8] = { 0 }, x[8] = { 0, 0, 0, 0, 0, 0, 1, 0 };
	struct arena a = { 0 };
	struct check c = judge(&a, x, r, 3, (int64_t[]){ 2, 2, 2 });

	(void)state;
	assert_false(c.right);
	assert_non_null(strstr(c.cause, "[1,1,0]"));
	assert_true(isinf(c.nmse));
	arena_done(&a);
}

static void not_finite_is_wrong(void **state)
{
	float r[3] = { 1, 2, 3 }, x[3] = { 1, NAN, INFINITY };
	struct arena a = { 0 };
	struct check c = judge(&a, x, r, 1, (int64_t[]){ 3 });

	(void)state;
	assert_false(c.right);
	assert_int_equal(c.non_finite, 2);
	assert_non_null(strstr(c.cause, "not finite"));
	c = judge(&a, x, x, 1, (int64_t[]){ 3 });        // the reference has them too
	assert_true(c.right);
	c = judge(&a, r, x, 1, (int64_t[]){ 3 });
	assert_false(c.right);
	assert_int_equal(c.non_finite, 0);
	arena_done(&a);
}

static void masked_places_are_left_out(void **state)
{
	float r[4] = { 1, -10000, 2, -INFINITY }, x[4] = { 1, -3.4e38f, 2, -10000 }, leaks[4] = { 1, -9999, 2, -10000 };
	struct arena a = { 0 };
	struct check c = judge(&a, x, r, 1, (int64_t[]){ 4 });

	(void)state;
	assert_true(c.right);
	assert_true(c.reference_absmax <= 2);
	c = judge(&a, leaks, r, 1, (int64_t[]){ 4 });
	assert_false(c.right);
	assert_non_null(strstr(c.cause, "[1]"));
	arena_done(&a);
}

static void shapes_must_agree(void **state)
{
	float x[6] = { 0 };
	struct tensor output = floats(x, 2, (int64_t[]){ 2, 3 }), reference = floats(x, 2, (int64_t[]){ 3, 2 });
	struct arena a = { 0 };
	struct check c;

	(void)state;
	judge_tensor(&output, &reference, bound_for(DTYPE_F32), &a, &c);
	assert_false(c.right);
	assert_string_equal(c.cause, "logits: shape [2,3], reference [3,2]");
	arena_done(&a);
}

static void a_short_tensor_is_not_read(void **state)
{
	float x[6] = { 0 };
	struct tensor output = floats(x, 2, (int64_t[]){ 2, 3 }), reference = output;
	struct arena a = { 0 };
	struct check c;

	(void)state;
	output.nbytes = 20;
	judge_tensor(&output, &reference, bound_for(DTYPE_F32), &a, &c);
	assert_false(c.right);
	arena_done(&a);
}

static void empty_tensors_are_equal(void **state)
{
	float x[1] = { 0 };
	struct arena a = { 0 };
	struct check c = judge(&a, x, x, 2, (int64_t[]){ 0, 3 });
	struct tensor t = floats(x, 2, (int64_t[]){ 0, 3 });
	json_t *json;

	(void)state;
	assert_true(c.right);
	json = check_json(&c, &t);
	assert_true(json_is_true(json_object_get(json, "right")));
	json_decref(json);
	arena_done(&a);
}

static void integers_must_be_equal(void **state)
{
	int64_t x[3] = { 1, 2, 30 }, r[3] = { 1, 2, 3 };
	struct tensor output = { .name = "ids", .dtype = DTYPE_I64, .rank = 1, .dim = { 3 }, .data = x, .nbytes = sizeof x }, reference = output;
	struct arena a = { 0 };
	struct check c;

	(void)state;
	judge_tensor(&output, &reference, bound_for(DTYPE_F32), &a, &c);
	assert_true(c.right);
	reference.data = r;
	judge_tensor(&output, &reference, bound_for(DTYPE_F32), &a, &c);
	assert_false(c.right);
	assert_non_null(strstr(c.cause, "1 of 3 integers differ"));
	arena_done(&a);
}

static void top1_counts_rows(void **state)
{
	float r[6] = { 1, 2, 3, 3, 2, 1 }, x[6] = { 1, 2, 3, 2, 3, 1 };
	struct arena a = { 0 };
	struct check c = judge(&a, x, r, 2, (int64_t[]){ 2, 3 });

	(void)state;
	assert_true(fabs(c.top1_agreement - 0.5) < 1e-12);
	c = judge(&a, x, r, 2, (int64_t[]){ 6, 1 });
	assert_true(isnan(c.top1_agreement));
	arena_done(&a);
}

static void precisions_have_their_bounds(void **state)
{
	(void)state;
	assert_true(bound_for(DTYPE_F32).max_abs < bound_for(DTYPE_F16).max_abs);
	assert_true(bound_for(DTYPE_F16).max_abs < bound_for(DTYPE_BF16).max_abs);
	assert_true(bound_for(DTYPE_I8).max_abs <= bound_for(DTYPE_F32).max_abs);      // nothing observed, nothing granted
}

static void reduced_precisions_have_wider_ones(void **state)
{
	struct bound f32 = bound_for(DTYPE_F32), four = bound_of(PRECISION_INT4_WEIGHTS, DTYPE_F32);

	(void)state;
	for (int p = 0; p < PRECISION_COUNT; p++) {
		struct bound b = bound_of((enum precision)p, DTYPE_F32);

		assert_true(b.max_abs >= f32.max_abs && b.nmse >= f32.nmse && b.derived >= f32.derived);
		assert_true(b.nmse < 0.5);                           // outputs that have nothing to do with the reference have 1 or more
		assert_int_equal(b.integers_may_differ, precision_is_reduced((enum precision)p));
		assert_int_equal(b.nmse > f32.nmse, precision_is_reduced((enum precision)p));
	}
	assert_true(four.nmse > bound_of(PRECISION_INT8_WEIGHTS, DTYPE_F32).nmse);
	assert_true(bound_of(PRECISION_STORED, DTYPE_BF16).max_abs >= bound_for(DTYPE_BF16).max_abs);
	assert_true(precision_is_reduced(precision_find("int4-weights:block=64:head=float32")));
	assert_int_equal(precision_find("int4"), PRECISION_COUNT);
	assert_int_equal(precision_find("int4-weights-more"), PRECISION_COUNT);
	assert_int_equal(precision_find(NULL), PRECISION_STORED);
}

static void choices_of_inexact_numbers_are_counted(void **state)
{
	int64_t r[4] = { 1, 2, 3, 4 }, x[4] = { 1, 2, 9, 4 };
	struct tensor output = { .name = "tokens", .dtype = DTYPE_I64, .rank = 1, .dim = { 4 }, .data = x, .nbytes = sizeof x }, reference = output;
	struct arena a = { 0 };
	struct check c;

	(void)state;
	reference.data = r;
	judge_tensor(&output, &reference, bound_of(PRECISION_INT8_DYNAMIC, DTYPE_F32), &a, &c);
	assert_true(c.right);
	assert_null(c.cause);
	assert_true(fabs(c.top1_agreement - 0.75) < 1e-12);
	judge_tensor(&output, &reference, bound_of(PRECISION_STORED, DTYPE_F32), &a, &c);
	assert_false(c.right);
	arena_done(&a);
}

static void embeddings_are_derived(void **state)
{
	// [1, 3, 2]: the third token is masked away; mean of the others is (2, 4).
	float hidden[6] = { 1, 3, 3, 5, 100, 100 }, plain[2] = { 2, 4 }, unit[2], one[1] = { 1 };
	int64_t keep[3] = { 1, 1, 0 };
	struct tensor outputs = floats(hidden, 3, (int64_t[]){ 1, 3, 2 }), like = floats(plain, 2, (int64_t[]){ 1, 2 }), made;
	struct tensor mask = { .name = "attention_mask", .dtype = DTYPE_I64, .rank = 2, .dim = { 1, 3 }, .data = keep, .nbytes = sizeof keep };
	struct arena a = { 0 };

	(void)state;
	outputs.name = "last_hidden_state";
	like.name = "embedding";
	assert_true(derive_output(&made, &a, &like, &outputs, 1, &mask));
	assert_true(fabs(tensor_get(&made, 0) - 2) < 1e-6 && fabs(tensor_get(&made, 1) - 4) < 1e-6);
	unit[0] = (float)(2 / sqrt(20));
	unit[1] = (float)(4 / sqrt(20));
	like.data = unit;                                // golden rows of length 1: ours are scaled too
	assert_true(derive_output(&made, &a, &like, &outputs, 1, &mask));
	assert_true(fabs(tensor_get(&made, 0) - 2 / sqrt(20)) < 1e-6);
	like = floats(one, 2, (int64_t[]){ 1, 1 });
	like.name = "cosine";
	assert_true(derive_output(&made, &a, &like, &outputs, 1, &mask));
	assert_true(made.dim[0] == 1 && made.dim[1] == 1 && fabs(tensor_get(&made, 0) - 1) < 1e-6);
	like.name = "last_hidden_state_first_token";
	assert_true(derive_output(&made, &a, &like, &outputs, 1, &mask));
	assert_true(fabs(tensor_get(&made, 1) - 3) < 1e-6);
	like.name = "pooled";
	assert_false(derive_output(&made, &a, &like, &outputs, 1, &mask));
	mask.dim[1] = 2;
	like.name = "embedding";
	assert_false(derive_output(&made, &a, &like, &outputs, 1, &mask));
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_is_right), cmocka_unit_test(perplexity_is_that_of_the_next_token), cmocka_unit_test(the_bound_grows_with_the_reference), cmocka_unit_test(small_errors_everywhere_are_wrong),
		cmocka_unit_test(places_are_told), cmocka_unit_test(not_finite_is_wrong), cmocka_unit_test(masked_places_are_left_out),
		cmocka_unit_test(shapes_must_agree), cmocka_unit_test(a_short_tensor_is_not_read), cmocka_unit_test(empty_tensors_are_equal),
		cmocka_unit_test(integers_must_be_equal), cmocka_unit_test(top1_counts_rows), cmocka_unit_test(precisions_have_their_bounds),
		cmocka_unit_test(reduced_precisions_have_wider_ones), cmocka_unit_test(choices_of_inexact_numbers_are_counted), cmocka_unit_test(embeddings_are_derived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
