// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Verdicts on outputs, and the golden outputs that follow from others.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cell/derive.h"
#include "run/judge.h"

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

	judge_tensor(&output, &reference, NULL, bound_for(DTYPE_F32), BY_ENGINE, a, &c);
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
	// Two rows of three places over two words; ln of the odds that a place gives to word 1. What the last place says is about
	// nothing.
	const float ln3 = 1.0986123f;
	float logits[12] = { 0, ln3, 0, 0, 5, 5, 0, ln3, 0, -ln3, 7, 0 };
	int64_t ids[6] = { 0, 1, 0, 1, 1, 0 }, mask[6] = { 1, 1, 1, 1, 1, 0 };
	struct tensor x = floats(logits, 3, (int64_t[]){ 2, 3, 2 });
	struct tensor i = { .name = "ids", .dtype = DTYPE_I64, .rank = 2, .dim = { 2, 3 }, .data = ids, .nbytes = sizeof ids },
		      m = i;

	(void)state;
	m.data = mask;
	// Word 1 at 3/4, word 0 at 1/2; word 1 at 3/4, word 0 at 3/4.
	assert_true(fabs(judge_perplexity(&x, &i, NULL) - pow(0.75 * 0.5 * 0.75 * 0.75, -0.25)) < 1e-6);
	assert_true(fabs(judge_perplexity(&x, &i, &m) - pow(0.75 * 0.5 * 0.75, -1 / 3.0)) < 1e-6);
	ids[4] = 2;
	assert_true(isnan(judge_perplexity(&x, &i, NULL)) && isnan(judge_perplexity(NULL, &i, NULL)) &&
		isnan(judge_perplexity(&x, NULL, NULL)));
	i.dim[1] = 2;
	assert_true(isnan(judge_perplexity(&x, &i, NULL)));
}

static void the_bound_grows_with_the_reference(void **state)
{
	float r[4] = { 40, 1, 2, 3 }, x[4] = { 40, 1, 2, 3.003f }, far[4] = { 40, 1, 2, 3.005f };
	struct arena a = { 0 };
	struct check c = judge(&a, x, r, 1, (int64_t[]){ 4 });

	(void)state;
	assert_true(c.right); // 0.003 of 0.004, NMSE 6e-9
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
		x[i] = 0.10009f; // under the bound of 1e-4 each, NMSE 8e-7
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

static struct check judge_by(struct arena *a, enum judged_by by, float *x, float *r, int rank, const int64_t *dim)
{
	struct tensor output = floats(x, rank, dim), reference = floats(r, rank, dim);
	struct check c;

	judge_tensor(&output, &reference, NULL, bound_for(DTYPE_F32), by, a, &c);
	return c;
}

static void not_finite_is_wrong(void **state)
{
	float r[3] = { 1, 2, 3 }, x[3] = { 1, NAN, INFINITY }, all[3] = { NAN, NAN, NAN };
	struct arena a = { 0 };
	struct check c = judge(&a, x, r, 1, (int64_t[]){ 3 });

	(void)state;
	assert_false(c.right);
	assert_int_equal(c.non_finite, 2);
	assert_non_null(strstr(c.cause, "not finite"));
	c = judge(&a, r, x, 1, (int64_t[]){ 3 });
	assert_false(c.right);
	assert_int_equal(c.non_finite, 0);
	// Another engine that has them too runs the same graph with the same weights: that is no excuse.
	c = judge(&a, x, x, 1, (int64_t[]){ 3 });
	assert_false(c.right);
	assert_int_equal(c.non_finite, 2);
	assert_non_null(strstr(c.cause, "damaged"));
	c = judge(&a, all, all, 1, (int64_t[]){ 3 });
	assert_false(c.right);
	assert_true(isnan(c.nmse) && isnan(c.cosine) && isnan(c.max_abs_error) && c.compared == 0);
	arena_done(&a);
}

static void golden_values_that_are_not_finite_are_matched(void **state)
{
	float r[4] = { 1, NAN, INFINITY, 3 }, x[4] = { 1, NAN, INFINITY, 3 }, other[4] = { 1, INFINITY, NAN, 3 };
	struct arena a = { 0 };
	struct check c = judge_by(&a, BY_GOLDEN, x, r, 1, (int64_t[]){ 4 });

	(void)state;
	assert_true(c.right);
	assert_int_equal(c.compared, 4);
	c = judge_by(&a, BY_GOLDEN, other, r, 1, (int64_t[]){ 4 });
	assert_false(c.right);
	assert_int_equal(c.non_finite, 2);
	arena_done(&a);
}

static void masked_places_are_left_out_and_counted(void **state)
{
	float r[4] = { 1, -10000, 2, -INFINITY }, x[4] = { 1, -3.4e38f, 2, -9984 }, leaks[4] = { 1, -8999, 2, -10000 };
	float low[4] = { 1, -10001, 2, -20000 }, other[4] = { 1, -20000, 2, -10000 };
	struct arena a = { 0 };
	struct check c = judge_by(&a, BY_GOLDEN, x, r, 1, (int64_t[]){ 4 });

	(void)state;
	assert_true(c.right);
	assert_true(c.reference_absmax <= 2);
	assert_int_equal(c.left_out, 2);
	assert_int_equal(c.compared, 2);
	c = judge_by(&a, BY_GOLDEN, leaks, r, 1, (int64_t[]){ 4 });
	assert_false(c.right);
	assert_non_null(strstr(c.cause, "[1]"));
	// A low value that stands for no mask is a value.
	c = judge_by(&a, BY_GOLDEN, other, low, 1, (int64_t[]){ 4 });
	assert_false(c.right);
	assert_int_equal(c.left_out, 0);
	arena_done(&a);
}

static void padding_is_left_out_and_counted(void **state)
{
	// [1, 3, 2]: the second token is padding, and holds what it likes, for both.
	float r[6] = { 1, 2, 50, 60, 3, 4 }, x[6] = { 1, 2, INFINITY, -60, 3, 4 }, wrong[6] = { 1, 2, 50, 60, 3, 4.1f },
	      nan[6] = { 1, 2, NAN, 60, 3, 4 };
	int64_t keep[3] = { 1, 0, 1 };
	struct tensor output = floats(x, 3, (int64_t[]){ 1, 3, 2 }), reference = floats(r, 3, (int64_t[]){ 1, 3, 2 });
	struct tensor mask = {
		.name = "attention_mask", .dtype = DTYPE_I64, .rank = 2, .dim = { 1, 3 }, .data = keep, .nbytes = sizeof keep
	};
	const struct padded padded = { &mask, 1 };
	struct arena a = { 0 };
	struct check c;

	(void)state;
	judge_tensor(&output, &reference, &padded, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
	assert_true(c.right);
	assert_int_equal(c.left_out, 2);
	assert_true(c.reference_absmax <= 4 && c.top1_agreement >= 1);
	output.data = wrong;
	judge_tensor(&output, &reference, &padded, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
	assert_false(c.right);
	output.data = nan; // no model means it, wherever it stands
	judge_tensor(&output, &reference, &padded, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
	assert_false(c.right);
	mask.dim[1] = 2; // not of this output: every place counts
	output.data = x;
	judge_tensor(&output, &reference, &padded, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
	assert_false(c.right);
	arena_done(&a);
}

// [2, 2 heads, 3, 2]: of each row its last token is padding, in every head.
static void padding_of_a_cache_lies_along_its_third_axis(void **state)
{
	float r[24], x[24];
	int64_t keep[6] = { 1, 1, 0, 1, 1, 0 };
	struct tensor output = floats(x, 4, (int64_t[]){ 2, 2, 3, 2 }), reference = floats(r, 4, (int64_t[]){ 2, 2, 3, 2 });
	struct tensor mask = { .dtype = DTYPE_I64, .rank = 2, .dim = { 2, 3 }, .data = keep, .nbytes = sizeof keep };
	const struct padded along_tokens = { &mask, 2 }, along_heads = { &mask, 1 };
	struct arena a = { 0 };
	struct check c;

	(void)state;
	for (size_t i = 0; i < 24; i++) {
		r[i] = (float)i;
		x[i] = i % 6 < 4 ? r[i] : -r[i] - 1;
	}
	judge_tensor(&output, &reference, &along_tokens, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
	assert_true(c.right);
	assert_int_equal(c.left_out, 8);
	assert_int_equal(c.compared, 16);
	judge_tensor(&output, &reference, &along_heads, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
	assert_false(c.right); // two heads are not three tokens
	assert_int_equal(c.left_out, 0);
	for (size_t i = 0; i < 24; i++) { // each unpadded place by itself
		float right = x[i];

		x[i] += 1;
		judge_tensor(&output, &reference, &along_tokens, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
		assert_int_equal(c.right, i % 6 >= 4);
		x[i] = right;
	}
	arena_done(&a);
}

static void outputs_near_zero_may_round(void **state)
{
	// A detector's map: 1.4e-7 off, which is one rounding of the values of 1 that it came from.
	float r[64], x[64], wrong[64];
	struct arena a = { 0 };
	struct check c;

	(void)state;
	for (int i = 0; i < 64; i++) {
		r[i] = 7e-6f * (float)(i % 3);
		x[i] = r[i] + 1.4e-7f;
		wrong[i] = r[i] + 1e-6f; // far below the bound of the largest error, and above what rounding does
	}
	c = judge(&a, x, r, 1, (int64_t[]){ 64 });
	assert_true(c.nmse > 1e-4);
	assert_true(c.right);
	assert_string_equal(c.decided_by, "rounding");
	assert_true(c.of_bound > 0.2 && c.of_bound < 0.4);
	c = judge(&a, wrong, r, 1, (int64_t[]){ 64 });
	assert_false(c.right);
	assert_true(c.of_bound > 1);
	arena_done(&a);
}

static void huge_values_hide_no_others(void **state)
{
	enum { COUNT = 64 };
	float r[COUNT], x[COUNT];
	struct arena a = { 0 };
	struct check c;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		r[i] = (float)(i % 5 - 2);
		x[i] = r[i] + (i % 2 ? 1e-6f : -1e-6f);
	}
	r[7] = x[7] = 5e4f;
	c = judge(&a, x, r, 1, (int64_t[]){ COUNT });
	assert_true(c.right && !c.not_judged);
	x[9] = -r[9]; // of 2, and 5 are allowed by the largest value
	c = judge(&a, x, r, 1, (int64_t[]){ COUNT });
	assert_false(c.right);
	assert_string_equal(c.decided_by, "NMSE of small values");
	assert_non_null(strstr(c.cause, "63 of 64 values are below 4, the largest is 5e+04"));
	for (int i = 0; i < COUNT; i++)
		x[i] = -r[i];
	r[7] = x[7] = 1e8f; // the units in its last place are 8
	c = judge(&a, x, r, 1, (int64_t[]){ COUNT });
	assert_true(c.right);
	assert_string_equal(c.not_judged, "beside values of 1e+08, 63 of its 64 values are below float32's rounding");
	arena_done(&a);
}

// Squares of float64 that are infinite or 0 hide nothing: huge values are right or wrong as others are, and tiny ones are not
// judged only where the output is as tiny.
static void squares_beyond_float64(void **state)
{
	enum { COUNT = 64 };
	static const struct {
		double scale, error; // of one of the small values, and of the large one: shares of themselves
		double large;
		bool right;
		const char *decided_by;
	} rows[] = { { 1, 0.01, 0, false, "NMSE of small values" }, { 1.4e152, 0.01, 0, false, "NMSE" },
		{ 1, 0, 1e160, false, "max abs" }, { 1e-170, 2, 0, true, "nothing" }, { 1e-160, 1e155, 0, false, "rounding" },
		{ 1e150, -2, 0, false, "NMSE of small values" }, { 1e300, 1e-7, 1e-7, true, NULL },
		{ 1.4e152, 0, 0, true, NULL } };
	double r[COUNT], x[COUNT];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct arena a = { 0 };
		struct check c = { .name = "y" };
		const struct tensor output = { .dtype = DTYPE_F64, .rank = 1, .dim = { COUNT }, .data = x, .nbytes = sizeof x };
		struct tensor reference = output;

		for (int k = 0; k < COUNT; k++) {
			r[k] = (k % 7 + 1) * (k ? 1 : 1500) * rows[i].scale;
			x[k] = r[k] * (1 + (k ? rows[i].error : rows[i].large));
		}
		reference.data = r;
		judge_tensor(&output, &reference, NULL, bound_for(DTYPE_F32), BY_GOLDEN, &a, &c);
		if (c.right != rows[i].right || (rows[i].decided_by && !!c.not_judged != rows[i].right))
			fail_msg("row %zu: %s, %s, %s", i, c.right ? "right" : "wrong", c.decided_by,
				c.cause ? c.cause : c.not_judged);
		arena_done(&a);
	}
}

// Golden values that a file claims beside one huge value, or on top of an offset, which the bounds of the whole allow.
static void what_says_nothing_is_not_right(void **state)
{
	enum { CLASSES = 32, COUNT = 4 * CLASSES };
	const int64_t dim[] = { 4, CLASSES };
	float r[COUNT], x[COUNT];
	struct arena a = { 0 };
	struct check c;

	(void)state;
	for (int i = 0; i < COUNT; i++) { // the small ones of the reference are all zero
		r[i] = i ? 0 : 1e30f;
		x[i] = i ? (float)(i % 5 - 2) : 1e30f;
	}
	c = judge(&a, x, r, 2, dim);
	assert_string_equal(c.not_judged, "beside values of 1e+30, 127 of its 128 values are below float32's rounding");
	r[0] = x[0] = 1e6f;
	c = judge(&a, x, r, 2, dim);
	assert_false(c.right);
	assert_string_equal(c.decided_by, "NMSE of small values");
	for (int i = 0; i < COUNT; i++) {
		r[i] = 1e6f + (float)(i * 37 % 50);
		x[i] = 1e6f + (float)(i % 7 - 3);
	}
	c = judge(&a, x, r, 2, dim);
	assert_false(c.right);
	assert_string_equal(c.decided_by, "NMSE in groups");
	c = judge(&a, r, r, 2, dim);
	assert_true(c.right && !c.not_judged);
	for (int i = 0; i < COUNT; i++) { // the values lie 1 apart there
		r[i] = 1e7f + (float)(i * 37 % 7);
		x[i] = 1e7f + (float)(i % 7);
	}
	c = judge(&a, x, r, 2, dim);
	assert_true(c.right);
	assert_non_null(strstr(c.not_judged, "100 % of its values differ by 2 (root mean square) beside values of 1e+07"));
	for (int i = 0; i < COUNT; i++) { // one row of scores that are a hundred times as large
		r[i] = i < CLASSES ? (float)(3 * i) : 0.2f + 0.01f * (float)(i * 37 % 29) + (float)(i % CLASSES == 3);
		x[i] = i < CLASSES ? r[i] : 0.2f + 0.01f * (float)(i * 37 % 29) + (float)(i % CLASSES == 5);
	}
	struct tensor output = floats(x, 2, dim), reference = floats(r, 2, dim);
	judge_tensor(&output, &reference, NULL, bound_for(DTYPE_BF16), BY_ENGINE, &a, &c);
	assert_true(c.right);
	assert_non_null(strstr(c.not_judged, "in 3 of 4 rows another class is the largest"));
	arena_done(&a);
}

// Of each two values one lies about +offset and one about -offset; of each hundred 24 are small.
static void groups_are_judged_by_themselves(void **state)
{
	enum { COUNT = 200 };
	float r[COUNT], x[COUNT], y[COUNT];
	struct arena a = { 0 };
	struct check c;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		const float offset = i % 2 ? 1e6f : -1e6f;

		r[i] = offset + (float)(i * 37 % 50);
		x[i] = offset + (float)(i % 7 - 3);
		y[i] = r[i] + (i % 3 ? 0.0625f : 0); // the unit in the last place
	}
	c = judge(&a, x, r, 1, (int64_t[]){ COUNT });
	assert_false(c.right);
	assert_string_equal(c.decided_by, "NMSE in groups");
	assert_non_null(strstr(c.cause, "100 % of its values differ by 14.4 (root mean square) beside values of 1e+06"));
	c = judge(&a, y, r, 1, (int64_t[]){ COUNT });
	assert_true(c.right && !c.not_judged);
	for (int i = 0; i < COUNT; i++) {
		const bool is_small = i * 29 % 100 < 24;

		r[i] = is_small ? (float)(i * 37 % 50) : 3e5f + 3e3f * (float)(i * 61 % 97);
		x[i] = is_small ? (float)(i % 7 - 3) : r[i];
	}
	c = judge(&a, x, r, 1, (int64_t[]){ COUNT });
	assert_false(c.right);
	assert_string_equal(c.decided_by, "NMSE of small values");
	for (int i = 0; i < COUNT; i++) { // a few values, each many times, and rounding
		r[i] = 640.0f / (float)(1 + i % 5);
		x[i] = r[i] * (1 + (i % 3 ? 0x1p-23f : 0));
	}
	c = judge(&a, x, r, 1, (int64_t[]){ COUNT });
	assert_true(c.right && !c.not_judged);
	for (int i = 0; i < 4; i++) {
		r[i] = (i % 2 ? 1e6f : -1e6f) + (float)(10 * i);
		x[i] = (i % 2 ? 1e6f : -1e6f) - (float)(10 * i);
	}
	c = judge(&a, x, r, 1, (int64_t[]){ 4 });
	assert_false(c.right);
	arena_done(&a);
}

// A few values of 1e7 and the others about 1, and values of each size between, so that nothing lies far from anything.
static void values_between_hide_nothing(void **state)
{
	enum { COUNT = 256, BETWEEN = 32 };
	float r[COUNT], sign[COUNT], zero[COUNT], y[COUNT];
	struct arena a = { 0 };
	struct check c;

	(void)state;
	for (int k = 0; k < 2; k++) { // beside 1e7 rounding may hide what is 1, beside 1e6 it hides nothing
		for (int i = 0; i < COUNT; i++) {
			const float size =
				i <= BETWEEN ? powf(10, (k ? 6 : 7) * (float)i / BETWEEN) : 0.5f + (float)(i * 37 % 97) / 97;

			r[i] = i % 3 ? size : -size;
			sign[i] = i <= BETWEEN ? r[i] : -r[i];
			zero[i] = i <= BETWEEN ? r[i] : 0;
			y[i] = r[i] * (1 + (i % 5 ? 0x1p-23f : 0));
		}
		c = judge(&a, sign, r, 1, (int64_t[]){ COUNT });
		assert_true(k ? !c.right : c.not_judged != NULL);
		c = judge(&a, zero, r, 1, (int64_t[]){ COUNT });
		assert_true(k ? !c.right : c.not_judged != NULL);
		c = judge(&a, r, zero, 1, (int64_t[]){ COUNT });
		assert_true(k ? !c.right : c.not_judged != NULL);
		c = judge(&a, y, r, 1, (int64_t[]){ COUNT });
		assert_true(c.right && !c.not_judged);
	}
	for (int i = 0; i < COUNT; i++) { // all of it between 1 and 1e7, and a quarter of it false
		r[i] = powf(10, 7 * (float)(i * 37 % COUNT) / COUNT);
		sign[i] = r[i] < 50 ? -r[i] : r[i];
	}
	c = judge(&a, sign, r, 1, (int64_t[]){ COUNT });
	assert_false(c.right);
	assert_string_equal(c.decided_by, "NMSE of small values");
	arena_done(&a);
}

static void the_nearest_bound_is_told(void **state)
{
	float r[4] = { 1, 2, 3, 4 }, x[4] = { 1, 2, 3, 4.0002f };
	struct arena a = { 0 };
	struct check c = judge(&a, x, r, 1, (int64_t[]){ 4 });

	(void)state;
	assert_true(c.right);
	assert_string_equal(c.decided_by, "max abs");
	assert_true(fabs(c.of_bound - 0.5) < 0.01); // 2e-4 of 4e-4
	arena_done(&a);
}

static void shapes_must_agree(void **state)
{
	float x[6] = { 0 };
	struct tensor output = floats(x, 2, (int64_t[]){ 2, 3 }), reference = floats(x, 2, (int64_t[]){ 3, 2 });
	struct arena a = { 0 };
	struct check c;

	(void)state;
	judge_tensor(&output, &reference, NULL, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
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
	judge_tensor(&output, &reference, NULL, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
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
	struct tensor output = { .name = "ids", .dtype = DTYPE_I64, .rank = 1, .dim = { 3 }, .data = x, .nbytes = sizeof x },
		      reference = output;
	struct arena a = { 0 };
	struct check c;

	(void)state;
	judge_tensor(&output, &reference, NULL, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
	assert_true(c.right);
	reference.data = r;
	judge_tensor(&output, &reference, NULL, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
	assert_false(c.right);
	assert_non_null(strstr(c.cause, "1 of 3 integers differ"));
	arena_done(&a);
}

static void large_integers_are_compared_as_integers(void **state)
{
	// Beyond 2^53 a double has no place for the last digits.
	int64_t x[2] = { -((int64_t)1 << 60), ((int64_t)1 << 60) + 100 }, r[2] = { -((int64_t)1 << 60), (int64_t)1 << 60 };
	uint64_t u[2] = { UINT64_MAX, UINT64_MAX - 1 };
	struct tensor output = { .name = "ids", .dtype = DTYPE_I64, .rank = 1, .dim = { 2 }, .data = x, .nbytes = sizeof x },
		      reference = output;
	struct arena a = { 0 };
	struct check c;

	(void)state;
	reference.data = r;
	judge_tensor(&output, &reference, NULL, bound_for(DTYPE_F32), BY_GOLDEN, &a, &c);
	assert_false(c.right);
	assert_true(c.max_abs_error >= 100 && c.max_abs_error <= 100);
	assert_non_null(
		strstr(c.cause, "1 of 2 integers differ, most at [1] (1152921504606847076, reference 1152921504606846976)"));
	output.dtype = reference.dtype = DTYPE_U64;
	output.data = reference.data = u;
	judge_tensor(&output, &reference, NULL, bound_for(DTYPE_F32), BY_GOLDEN, &a, &c);
	assert_true(c.right);
	output.dtype = DTYPE_I64; // -1 and -2 are not those
	judge_tensor(&output, &reference, NULL, bound_for(DTYPE_F32), BY_GOLDEN, &a, &c);
	assert_false(c.right);
	assert_non_null(strstr(c.cause, "2 of 2 integers differ"));
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
	// Only of classes: the largest element of a hidden state, a mask or a map means nothing.
	static const struct {
		const char *name;
		int rank;
		bool has_classes;
	} outputs[] = { { "logits", 2, true }, { "prediction_logits", 2, true }, { "last_hidden_state", 2, false },
		{ "pooler_output", 2, false }, { "masks_queries_logits", 2, false }, { "logits", 4, false } };
	for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
		struct tensor t = { .name = outputs[i].name,
			.dtype = DTYPE_F32,
			.rank = outputs[i].rank,
			.dim = { 2, 3, 1, 1 },
			.data = r,
			.nbytes = sizeof r };
		if (outputs[i].rank == 4)
			t.dim[1] = 1, t.dim[3] = 3;
		judge_tensor(&t, &t, NULL, bound_for(DTYPE_F32), BY_ENGINE, &a, &c);
		assert_true(c.right);
		assert_int_equal(!isnan(c.top1_agreement), outputs[i].has_classes);
	}
	arena_done(&a);
}

static void precisions_have_their_bounds(void **state)
{
	(void)state;
	assert_true(bound_for(DTYPE_F32).max_abs < bound_for(DTYPE_F16).max_abs);
	assert_true(bound_for(DTYPE_F16).max_abs < bound_for(DTYPE_BF16).max_abs);
	assert_true(bound_for(DTYPE_I8).max_abs <= bound_for(DTYPE_F32).max_abs); // nothing observed, nothing granted
}

static void reduced_precisions_have_wider_ones(void **state)
{
	struct bound f32 = bound_for(DTYPE_F32);

	(void)state;
	for (int p = 0; p < PRECISION_COUNT; p++) {
		struct bound b = bound_of((enum precision)p, DTYPE_F32, ACTIVATIONS_AS_BUILT);

		assert_true(
			b.max_abs >= f32.max_abs && b.nmse >= f32.nmse && b.derived >= f32.derived && b.rounding >= f32.rounding);
		assert_true(b.nmse <= 0.05); // outputs that have nothing to do with the reference have 1 or more
		assert_int_equal(b.agreement < 1, precision_is_reduced((enum precision)p));
		assert_int_equal(b.nmse > f32.nmse, precision_is_reduced((enum precision)p));
	}
	// Weights alone in integers: the product is float32's, and so is what it may be off by.
	struct bound exact = bound_of(PRECISION_INT4_WEIGHTS, DTYPE_F32, ACTIVATIONS_FLOAT);
	assert_true(exact.nmse <= 1e-7 && exact.max_abs <= 2e-4);
	assert_true(bound_of(PRECISION_STORED, DTYPE_BF16, ACTIVATIONS_AS_BUILT).max_abs >= bound_for(DTYPE_BF16).max_abs);
	assert_true(precision_is_reduced(precision_find("int4-weights:block=64:head=float32")));
	assert_int_equal(precision_find("int4"), PRECISION_COUNT);
	assert_int_equal(precision_find("int4-weights-more"), PRECISION_COUNT);
	assert_int_equal(precision_find(NULL), PRECISION_STORED);
}

static void choices_of_inexact_numbers_are_counted(void **state)
{
	int64_t r[4] = { 1, 2, 3, 4 }, x[4] = { 1, 2, 9, 4 }, other[4] = { 5, 2, 9, 4 };
	struct tensor output = { .name = "tokens", .dtype = DTYPE_I64, .rank = 1, .dim = { 4 }, .data = x, .nbytes = sizeof x },
		      reference = output;
	struct bound eight = bound_of(PRECISION_INT8_DYNAMIC, DTYPE_F32, ACTIVATIONS_AS_BUILT);
	struct arena a = { 0 };
	struct check c;

	(void)state;
	reference.data = r;
	judge_tensor(&output, &reference, NULL, eight, BY_ENGINE, &a, &c);
	assert_true(c.right);
	assert_null(c.cause);
	assert_true(fabs(c.top1_agreement - 0.75) < 1e-12);
	assert_true(isnan(c.max_abs_error)); // ids have no distance
	output.data = other;                 // half of them: no rounding does that
	judge_tensor(&output, &reference, NULL, eight, BY_ENGINE, &a, &c);
	assert_false(c.right);
	assert_non_null(strstr(c.cause, "2 of 4 integers differ"));
	output.data = x;
	judge_tensor(&output, &reference, NULL, bound_of(PRECISION_STORED, DTYPE_F32, ACTIVATIONS_AS_BUILT), BY_ENGINE, &a, &c);
	assert_false(c.right);
	arena_done(&a);
}

static void embeddings_are_derived(void **state)
{
	// [1, 3, 2]: the third token is masked away; mean of the others is (2, 4).
	float hidden[6] = { 1, 3, 3, 5, 100, 100 }, plain[2] = { 2, 4 }, unit[2], one[1] = { 1 };
	int64_t keep[3] = { 1, 1, 0 };
	struct tensor outputs = floats(hidden, 3, (int64_t[]){ 1, 3, 2 }), like = floats(plain, 2, (int64_t[]){ 1, 2 }), made;
	struct tensor mask = {
		.name = "attention_mask", .dtype = DTYPE_I64, .rank = 2, .dim = { 1, 3 }, .data = keep, .nbytes = sizeof keep
	};
	struct arena a = { 0 };

	(void)state;
	outputs.name = "last_hidden_state";
	like.name = "embedding";
	assert_true(derive_output(&made, &a, &like, &outputs, 1, &mask));
	assert_true(fabs(tensor_get(&made, 0) - 2) < 1e-6 && fabs(tensor_get(&made, 1) - 4) < 1e-6);
	unit[0] = (float)(2 / sqrt(20));
	unit[1] = (float)(4 / sqrt(20));
	like.data = unit; // golden rows of length 1: ours are scaled too
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
		cmocka_unit_test(equal_is_right),
		cmocka_unit_test(perplexity_is_that_of_the_next_token),
		cmocka_unit_test(the_bound_grows_with_the_reference),
		cmocka_unit_test(small_errors_everywhere_are_wrong),
		cmocka_unit_test(places_are_told),
		cmocka_unit_test(not_finite_is_wrong),
		cmocka_unit_test(golden_values_that_are_not_finite_are_matched),
		cmocka_unit_test(masked_places_are_left_out_and_counted),
		cmocka_unit_test(padding_is_left_out_and_counted),
		cmocka_unit_test(padding_of_a_cache_lies_along_its_third_axis),
		cmocka_unit_test(outputs_near_zero_may_round),
		cmocka_unit_test(huge_values_hide_no_others),
		cmocka_unit_test(squares_beyond_float64),
		cmocka_unit_test(what_says_nothing_is_not_right),
		cmocka_unit_test(groups_are_judged_by_themselves),
		cmocka_unit_test(values_between_hide_nothing),
		cmocka_unit_test(the_nearest_bound_is_told),
		cmocka_unit_test(shapes_must_agree),
		cmocka_unit_test(a_short_tensor_is_not_read),
		cmocka_unit_test(empty_tensors_are_equal),
		cmocka_unit_test(integers_must_be_equal),
		cmocka_unit_test(large_integers_are_compared_as_integers),
		cmocka_unit_test(top1_counts_rows),
		cmocka_unit_test(precisions_have_their_bounds),
		cmocka_unit_test(reduced_precisions_have_wider_ones),
		cmocka_unit_test(choices_of_inexact_numbers_are_counted),
		cmocka_unit_test(embeddings_are_derived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
