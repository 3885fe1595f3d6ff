// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// --data: what an example's answer is worth, intervals and the sign test, and what becomes wrong or lossy.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cell/score.h"
#include "run/data_judge.h"
#include "scratch.h"
#include "stats/proportion.h"

static void near(double is, double wanted)
{
	if (!(fabs(is - wanted) <= 1e-9 * fmax(1, fabs(wanted))))
		fail_msg("%.15g, not %.15g", is, wanted);
}

// Wilson's interval by its formula in Python's decimal; sums of binomial coefficients over 2^n.
static void test_proportion(void **state)
{
	double low, high, x[8] = { 1, 0, 1, 1, 0, 1, 1, 1 }, one[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, none[8] = { 0 };

	(void)state;
	stats_wilson(40, 50, &low, &high);
	near(low, 0.669628940677745877);
	near(high, 0.887562499842238895);
	stats_wilson(10, 10, &low, &high);
	near(low, 0.72246720013711079);
	near(high, 1);
	stats_wilson(0, 0, &low, &high);
	assert_true(isnan(low) && isnan(high));

	near(stats_sign_test(6, 0), 2.0 / 64);
	near(stats_sign_test(0, 6), 2.0 / 64);
	near(stats_sign_test(5, 0), 2.0 / 32);
	near(stats_sign_test(8, 2), 2 * (1 + 10 + 45) / 1024.0);
	near(stats_sign_test(3, 3), 1);
	near(stats_sign_test(0, 0), 1);

	assert_true(stats_ratio_interval(x, one, 8, 0, &low, &high));
	assert_true(low < 0.75 && high > 0.75 && low >= 0.25 && high <= 1);
	assert_false(stats_ratio_interval(x, one, 5, 0, &low, &high));
	assert_true(isnan(low) && isnan(high));
	assert_false(stats_ratio_interval(x, none, 8, 0, &low, &high));
	assert_true(stats_ratio_interval(one, one, 8, 0, &low, &high) && low == 1 && high == 1);
	// A weight that is twice as large counts twice.
	for (size_t i = 0; i < 8; i++)
		one[i] = 2;
	assert_true(stats_ratio_interval(x, one, 8, 0, &low, &high) && high <= 0.5);
}

// ---- scores --------------------------------------------------------------------------------------------------------------

static struct weight integers(const char *name, int rank, int64_t first, int64_t second, const int64_t *data)
{
	return (struct weight){ .name = name,
		.dtype = DTYPE_I64,
		.rank = rank,
		.dim = { first, second },
		.nbytes = (uint64_t)(first * (rank > 1 ? second : 1)) * 8,
		.data = data };
}

static struct tensor floats(const char *name, int rank, int64_t x, int64_t y, int64_t z, float *data)
{
	return (struct tensor){ .name = name,
		.dtype = DTYPE_F32,
		.rank = rank,
		.dim = { x, y, z },
		.data = data,
		.nbytes = (size_t)(x * y * (rank > 2 ? z : 1)) * 4 };
}

static const struct score_rules plain = { 0 }, generates = { .predicts_next = true };

static void refused(struct arena *a, const struct data_example *e, const struct tensor *out, bool next, const char *words)
{
	struct error err = { 0 };
	struct scores s;

	scores_begin(&s, a, 1);
	assert_int_equal(scores_add(&s, a, e, out, 1, next ? &generates : &plain, &err), STATUS_BAD_INPUT);
	if (!strstr(err.text, words))
		fail_msg("'%s' does not say '%s'", err.text, words);
}

static void test_labels(void **state)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct scores s;
	const int64_t two[] = { 1, 0 }, four[] = { -100, 2, 0, 1 }, far[] = { 7 };
	float logits[] = { 0, 3, 2, 5 }, places[] = { 0, 1, 5, 9, 2, 1, 0, 4, 0, 1, 2, 3 };
	const struct weight label = integers("label", 1, 2, 0, two), labels = integers("labels", 2, 1, 4, four),
			    beyond = integers("label", 1, 1, 0, far);
	const struct tensor rows = floats("logits", 2, 2, 2, 0, logits), tokens = floats("logits", 3, 1, 4, 3, places),
			    other = floats("pooled", 2, 2, 2, 0, logits), one = floats("logits", 2, 1, 2, 0, logits);
	const struct data_example classes = { .labels = &label }, text = { .labels = &labels }, bad = { .labels = &beyond };

	(void)state;
	scores_begin(&s, &a, 2);
	assert_int_equal(scores_add(&s, &a, &classes, &rows, 1, &plain, &err), STATUS_OK);
	assert_true(s.metric == DATA_ACCURACY && s.count == 1 && s.places == 2 && s.sum[0] == 1 && s.weight[0] == 2);
	assert_true(s.chosen[0] == 1 && s.chosen[1] == 1 && s.label[1] == 0 && s.first[1] == 2);
	assert_int_equal(scores_add(&s, &a, &text, &tokens, 1, &plain, &err), STATUS_BAD_INPUT); // another metric
	// Its own place: the first is not judged, 2 is not 0, 0 is not 1, 1 is not 2.
	scores_begin(&s, &a, 1);
	assert_int_equal(scores_add(&s, &a, &text, &tokens, 1, &plain, &err), STATUS_OK);
	assert_true(s.metric == DATA_TOKEN_ACCURACY && s.weight[0] == 3 && s.sum[0] == 0 && s.chosen[0] == 0);
	// The place before: 2 by (0 1 5), 0 by (9 2 1), 1 by (0 4 0).
	scores_begin(&s, &a, 1);
	assert_int_equal(scores_add(&s, &a, &text, &tokens, 1, &generates, &err), STATUS_OK);
	assert_true(s.metric == DATA_PERPLEXITY && s.weight[0] == 3 && s.chosen[0] == 2 && s.chosen[1] == 0 && s.chosen[2] == 1);
	near(s.sum[0], log(1 + exp(-5) + exp(-4)) + log(1 + exp(-7) + exp(-8)) + log(1 + 2 * exp(-4)));
	places[2] = NAN;
	scores_begin(&s, &a, 1);
	assert_int_equal(scores_add(&s, &a, &text, &tokens, 1, &generates, &err), STATUS_OK);
	assert_true(s.broken == 1 && s.chosen[0] == -1 && isnan(s.sum[0]));

	refused(&a, &bad, &one, false, "the label 7 is none of 2 classes");
	refused(&a, &classes, &one, false, "2 labels do not go with logits of 1 rows");
	refused(&a, &(struct data_example){ 0 }, &one, false, "neither label nor labels");
	assert_int_equal(scores_add(&s, &a, &classes, &other, 1, &generates, &err), STATUS_BAD_INPUT);
	arena_done(&a);
}

static void test_golden_outputs(void **state)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct scores s;
	float is[] = { 3, 4 }, was[] = { 4, 3 };
	struct weight golden = { .name = "pooled", .dtype = DTYPE_F32, .rank = 2, .dim = { 1, 2 }, .nbytes = 8, .data = was };
	struct tensor out = floats("pooled", 2, 1, 2, 0, is);
	const struct data_example e = { .golden = &golden, .golden_count = 1 };

	(void)state;
	scores_begin(&s, &a, 2);
	assert_int_equal(scores_add(&s, &a, &e, &out, 1, &plain, &err), STATUS_OK);
	near(s.sum[0], 24.0 / 25);
	near(s.relative[0], 1.0 / 3);
	is[0] = INFINITY;
	assert_int_equal(scores_add(&s, &a, &e, &out, 1, &plain, &err), STATUS_OK);
	assert_int_equal(s.broken, 1);
	is[0] = NAN; // was cosine 0, and a few of them no loss
	scores_begin(&s, &a, 1);
	assert_int_equal(scores_add(&s, &a, &e, &out, 1, &plain, &err), STATUS_OK);
	assert_int_equal(s.broken, 1);
	out.dim[1] = 1;
	refused(&a, &e, &out, false, "the output pooled is [1,1], the example has [1,2]");
	golden.dim[1] = out.dim[1] = golden.dim[0] = out.dim[0] = 0; // cosine 1, of nothing
	refused(&a, &e, &out, false, "have no element: nothing is compared");
	golden.name = "poled";
	refused(&a, &e, &out, false, "poled is neither an input nor an output");
	arena_done(&a);
}

// ---- rules of tasks ------------------------------------------------------------------------------------------------------

static struct tensor map(const char *name, int64_t x, int64_t y, int64_t z, float *data)
{
	return (struct tensor){ .name = name,
		.dtype = DTYPE_F32,
		.rank = 4,
		.dim = { 1, x, y, z },
		.data = data,
		.nbytes = (size_t)(x * y * z) * 4 };
}

static void refused_task(struct arena *a, const struct data_example *e, const struct tensor *out, const struct score_rules *rules,
	const char *words)
{
	struct error err = { 0 };
	struct scores s;

	scores_begin(&s, a, 1);
	assert_true(scores_add(&s, a, e, out, 1, rules, &err) != STATUS_OK);
	if (!strstr(err.text, words))
		fail_msg("'%s' does not say '%s'", err.text, words);
}

// A detector of three queries that sees class 1 twice, better where it is wrong, and class 0 where there is a crowd.
static void test_boxes(void **state)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct scores s;
	float logits[] = { 0, 2, 0, 0, 1, 0, 1, 0, 0 }, boxes[] = { .75f, .75f, .5f, .5f, .25f, .25f, .5f, .5f, .5f, .5f, 1, 1 };
	struct detection truths[] = { { DETECTION_TRUTH, 1, 0, { 0, 0, 50, 20 } }, { DETECTION_CROWD, 0, 0, { 0, 0, 100, 40 } } };
	const struct data_example e = { .boxes = truths, .box_count = 2, .width = 100, .height = 40 };
	struct tensor out[] = { floats("logits", 3, 1, 3, 3, logits), floats("pred_boxes", 3, 1, 3, 4, boxes) };
	const struct score_rules detr = { .processor = "Detr" }, other = { .processor = "ViT" };

	(void)state;
	scores_begin(&s, &a, 2);
	assert_int_equal(scores_add(&s, &a, &e, out, 2, &detr, &err), STATUS_OK);
	assert_true(s.metric == DATA_PRECISION && s.row_count == 5 && s.row_first[1] == 5 && s.weight[0] == 1);
	near(s.sum[0], 0.5); // the second of two, at all thresholds
	near(s.rows[3], 50); // left edge of the first
	logits[0] = NAN;
	assert_int_equal(scores_add(&s, &a, &e, out, 2, &detr, &err), STATUS_OK);
	assert_true(s.broken == 1 && isnan(s.sum[1]));
	refused_task(&a, &e, out, &other, "boxes of a model whose processor is ViT");
	refused_task(&a, &e, out, &detr, "it wants an output pred_boxes");
	arena_done(&a);
}

// Classes 0 0 1 over 0 1 1; the mask leaves the last one out and has 0 0 1, 0 0.
static void test_mask(void **state)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct scores s;
	float logits[] = { 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1 };
	uint8_t pixels[18];
	const struct data_example e = { .mask = { .width = 3, .height = 2, .channels = 3, .pixels = pixels } };
	const struct tensor out = map("logits", 2, 2, 3, logits);
	const struct score_rules segformer = { .processor = "Segformer" }, other = { 0 };

	(void)state;
	memcpy(pixels, (const uint8_t[]){ 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 255, 255, 255 }, sizeof pixels);
	scores_begin(&s, &a, 1);
	assert_int_equal(scores_add(&s, &a, &e, &out, 1, &segformer, &err), STATUS_OK);
	assert_true(s.metric == DATA_OVERLAP && s.row_count == 2 && s.rows[0] == 0 && s.rows[1] == 3 && s.rows[2] == 4);
	assert_true(s.rows[3] == 1 && s.rows[4] == 1 && s.rows[5] == 2);
	near(s.sum[0], (0.75 + 0.5) / 2);
	memset(pixels, 2, 3);
	refused_task(&a, &e, &out, &segformer, "the mask has the class 2, and the model 2 classes");
	refused_task(&a, &e, &out, &other, "masks of a model whose processor is not known");
	memset(pixels, 255, sizeof pixels);
	refused_task(&a, &e, &out, &segformer, "none of the mask's pixels is judged");
	arena_done(&a);
}

static void test_words(void **state)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct scores s;
	const struct data_example e = { .transcript = "a b c d" };
	const struct score_rules rules = { .said = "a x c" };
	const struct tensor other = { .name = "pooled", .dtype = DTYPE_F32 };

	(void)state;
	scores_begin(&s, &a, 1);
	assert_int_equal(scores_add(&s, &a, &e, &other, 1, &rules, &err), STATUS_OK);
	assert_true(s.metric == DATA_WORD_ERROR && s.sum[0] == 2 && s.weight[0] == 4 && s.places == 1);
	refused_task(&a, &e, &other, &plain, "it wants an output logits");
	arena_done(&a);
}

// ---- verdicts ------------------------------------------------------------------------------------------------------------

enum { N = 10 };

// Of N examples with label i % 2 those below `right` are answered rightly.
static void classified(struct scores *s, struct arena *a, size_t right)
{
	scores_begin(s, a, N);
	s->metric = DATA_ACCURACY;
	s->chosen = ARENA_ARRAY(a, N, int64_t);
	s->label = ARENA_ARRAY(a, N, int64_t);
	s->rank = ARENA_ARRAY(a, N, int64_t);
	s->classes = 6;
	for (size_t i = 0; i < N; i++) {
		s->label[i] = (int64_t)(i % 2);
		s->chosen[i] = i < right ? s->label[i] : 1 - s->label[i];
		s->sum[i] = i < right;
		s->rank[i] = i < right ? 0 : i < 8 ? 4 : 5;
		s->weight[i] = 1;
		s->first[i + 1] = (int64_t)i + 1;
	}
	s->count = s->places = N;
}

static struct row judged(struct arena *a, const struct scores *x, const struct scores *ref, bool reduced, enum verdict wanted)
{
	struct cell_result out = { .verdict = VERDICT_RIGHT };

	row_init(&out.row);
	data_judge(x, ref, "engine:test", "none is here", reduced, a, &out);
	assert_int_equal(out.verdict, wanted);
	assert_true((out.row.cause != NULL) == (wanted != VERDICT_RIGHT));
	return out.row;
}

static void test_verdicts(void **state)
{
	struct arena a = { 0 };
	struct scores good, five, six;
	struct row r;

	(void)state;
	classified(&good, &a, 10);
	classified(&five, &a, 5);
	classified(&six, &a, 4);
	judged(&a, &good, &good, false, VERDICT_RIGHT);
	r = judged(&a, &five, &good, false, VERDICT_RIGHT); // 5 of 5 by chance: 0.0625
	assert_true(
		r.data_worse == 5 && r.data_better == 0 && r.data_unlike == 5 && r.data_value == 0.5 && r.data_reference == 1);
	r = judged(&a, &six, &good, false, VERDICT_WRONG);
	near(r.data_p, 2.0 / 64);
	// Of labels 0 0 0 0 0 answered 0 0 1 1 1, of 1 1 1 1 1 likewise: 2 right of 5 + 5 each.
	near(r.data_macro_f1, 0.4);
	near(r.data_macro_f1_reference, 1);
	near(r.data_top5, 0.8);
	near(r.data_top5_reference, 1);
	six.classes = 5; // all of them are among the 5 largest
	assert_true(isnan(judged(&a, &six, &good, false, VERDICT_WRONG).data_top5));
	judged(&a, &six, &good, true, VERDICT_LOSSY);
	judged(&a, &good, &six, false, VERDICT_RIGHT); // better
	r = judged(&a, &six, NULL, false, VERDICT_UNJUDGED);
	assert_true(isnan(r.data_reference) && strstr(r.data_note, "none is here"));
	good.count = 9; // another set
	r = judged(&a, &six, &good, false, VERDICT_UNJUDGED);
	assert_true(isnan(r.data_reference) && r.data_unlike == ROW_NONE);
	arena_done(&a);
}

// Rounding is no loss, not finite is wrong, and what has another verdict keeps it.
static void test_rounding(void **state)
{
	struct arena a = { 0 };
	struct cell_result out = { .verdict = VERDICT_WRONG };
	struct scores x, ref;
	struct row r;

	(void)state;
	scores_begin(&x, &a, N);
	scores_begin(&ref, &a, N);
	x.metric = ref.metric = DATA_COSINE;
	x.count = ref.count = N;
	for (size_t i = 0; i < N; i++) {
		x.weight[i] = ref.weight[i] = ref.sum[i] = 1;
		x.sum[i] = 1 - 1e-7;
	}
	r = judged(&a, &x, &ref, false, VERDICT_RIGHT);
	assert_true(r.data_worse == 0 && r.data_unlike == 0 && r.data_low <= r.data_high);
	for (size_t i = 0; i < N; i++)
		x.sum[i] = 1 - 1e-5;
	judged(&a, &x, &ref, false, VERDICT_WRONG);
	row_init(&out.row);
	out.row.cause = "as it was";
	data_judge(&x, &ref, "engine:test", NULL, true, &a, &out);
	assert_true(out.verdict == VERDICT_WRONG && !strcmp(out.row.cause, "as it was"));
	x.metric = ref.metric = DATA_PERPLEXITY;
	for (size_t i = 0; i < N; i++) {
		ref.sum[i] = 2;
		x.sum[i] = 2 + 5e-5;
	}
	r = judged(&a, &x, &ref, false, VERDICT_RIGHT);
	near(r.data_reference, exp(2));
	for (size_t i = 0; i < N; i++)
		x.sum[i] = 2.1;
	r = judged(&a, &x, &ref, false, VERDICT_WRONG);
	assert_true(r.data_value > r.data_reference);
	x.sum[5] = ref.sum[5] = 1e4; // what makes both infinite excuses no other
	r = judged(&a, &x, &ref, false, VERDICT_WRONG);
	assert_true(isinf(r.data_value) && isinf(r.data_reference));
	x.sum[5] = 2.1;
	ref.sum[5] = 2;
	x.broken = 1;
	x.sum[3] = NAN;
	r = judged(&a, &x, &ref, true, VERDICT_WRONG);
	assert_non_null(strstr(r.cause, "1 of 10 examples are not finite"));
	// Where float32's are not finite, too, nothing is said; where they are not known, that is; what examples hold is finite.
	ref.broken = 1;
	ref.sum[3] = NAN;
	judged(&a, &x, &ref, true, VERDICT_LOSSY);
	ref.sum[3] = 2; // one that is not excuses no other
	ref.sum[4] = NAN;
	r = judged(&a, &x, &ref, true, VERDICT_WRONG);
	assert_non_null(strstr(r.cause, "1 of 10 examples are not finite"));
	r = judged(&a, &x, NULL, true, VERDICT_UNJUDGED);
	assert_non_null(strstr(r.cause, "are not finite, and float32's are not known"));
	x.metric = ref.metric = DATA_COSINE;
	judged(&a, &x, &ref, true, VERDICT_WRONG);
	arena_done(&a);
}

// An example of which float32 gives no number, or the same infinite one, says nothing: neither against the others nor for them.
static void test_no_number_of_float32(void **state)
{
	static const enum data_metric metrics[] = { DATA_COSINE, DATA_PERPLEXITY, DATA_OVERLAP };
	struct arena a = { 0 };
	struct scores x, ref;
	struct row r;

	(void)state;
	for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
		const bool is_loss = metrics[m] == DATA_PERPLEXITY;

		scores_begin(&x, &a, N);
		scores_begin(&ref, &a, N);
		x.metric = ref.metric = metrics[m];
		x.count = ref.count = N;
		for (size_t i = 0; i < N; i++)
			x.weight[i] = ref.weight[i] = ref.sum[i] = x.sum[i] = 1;
		ref.sum[0] = NAN;
		ref.broken = 1;
		r = judged(&a, &x, &ref, false, VERDICT_UNJUDGED);
		assert_true(
			strstr(r.cause, "float32's outputs or loss for 1 of 10 examples are not finite") && r.data_worse == 0);
		for (size_t i = 1; i < N; i++)
			x.sum[i] = is_loss ? 2 : 0.25;
		r = judged(&a, &x, &ref, false, VERDICT_WRONG);
		assert_true(r.data_worse == 9 && r.data_better == 0);
		assert_non_null(strstr(r.cause, is_loss ? "7.389, float32's 2.718" : "0.25, float32's 1"));
		// Neither has a number there.
		x.sum[0] = NAN;
		x.broken = 1;
		judged(&a, &x, &ref, false, VERDICT_WRONG);
		for (size_t i = 1; i < N; i++)
			x.sum[i] = 1;
		r = judged(&a, &x, &ref, false, metrics[m] == DATA_COSINE ? VERDICT_WRONG : VERDICT_UNJUDGED);
		assert_non_null(
			strstr(r.cause, metrics[m] == DATA_COSINE ? "for 1 of 10" : "float32's neither, and so there is no "));
	}
	x.metric = ref.metric = DATA_PERPLEXITY;
	x.broken = ref.broken = 0;
	for (size_t i = 0; i < N; i++)
		x.sum[i] = ref.sum[i] = (double)INFINITY;
	r = judged(&a, &x, &ref, false, VERDICT_UNJUDGED);
	assert_true(strstr(r.cause, "10 of 10 examples") && r.data_worse == 0 && r.data_better == 0);
	x.sum[9] = 2; // finite here alone: no better for that
	ref.sum[0] = ref.sum[1] = 1;
	r = judged(&a, &x, &ref, false, VERDICT_UNJUDGED);
	assert_true(strstr(r.cause, "8 of 10 examples") && r.data_worse == 2);
	for (size_t i = 2; i < N; i++)
		ref.sum[i] = 1;
	judged(&a, &x, &ref, false, VERDICT_WRONG);
	arena_done(&a);
}

// From the child to its parent.
static void test_file(void **state)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct scores six, back;
	struct answer answer;
	const char *file = path("scores.safetensors");

	(void)state;
	classified(&six, &a, 4);
	six.cut = 3;
	assert_int_equal(scores_write(&six, &a, file, NULL, &err), STATUS_OK);
	assert_int_equal(outputs_read(&a, file, &answer, &err), STATUS_OK);
	assert_int_equal(scores_of(&back, &answer, &err), STATUS_OK);
	assert_true(back.metric == DATA_ACCURACY && back.count == N && back.places == N && back.cut == 3);
	assert_memory_equal(back.chosen, six.chosen, N * sizeof *six.chosen);
	assert_memory_equal(back.sum, six.sum, N * sizeof *six.sum);
	answer.tensors[0].name = "none"; // whichever that is
	assert_int_equal(scores_of(&back, &answer, &err), STATUS_BAD_INPUT);
	six.first[2] = 20;
	assert_int_equal(scores_write(&six, &a, file, NULL, &err), STATUS_OK);
	assert_int_equal(outputs_read(&a, file, &answer, &err), STATUS_OK);
	assert_int_equal(scores_of(&back, &answer, &err), STATUS_BAD_INPUT);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proportion),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_golden_outputs),
		cmocka_unit_test(test_boxes),
		cmocka_unit_test(test_mask),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_no_number_of_float32),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
