// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// What may be recommended, from made-up rows: the mistakes that recommenders are known for are asked for here one by one.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analysis/recommend.h"
#include "store_rows.h"

struct fixture {
	char *folder, path[4200];
	struct store store;
	struct error err;
	struct summary summary;
	struct recommendation got;
	struct arena arena;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct machine m = test_machine();

	f->folder = test_folder();
	snprintf(f->path, sizeof f->path, "%s/a.duckdb", f->folder);
	if (test_store_open(&f->store, f->path, &f->err) || store_begin_run(&f->store, &m, "assay run", &f->err))
		fail_msg("%s", f->err.text);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_close(&f->store);
	arena_done(&f->arena);
	test_folder_done(f->folder);
	free(f);
	return 0;
}

static void add(struct fixture *f, struct cell_result r)
{
	struct cell c = test_cell(r.row.model, r.row.requested);

	c.batch = r.row.batch;
	c.sequence = r.row.sequence;
	c.layers = r.row.layers == ROW_NONE ? 0 : r.row.layers;
	c.precision = r.row.precision;
	if (store_started(&f->store, &c, "k", &r.row.row, &f->err) || store_finished(&f->store, &r, &f->err))
		fail_msg("%s", f->err.text);
}

static struct cell_result timed(const char *model, const char *platform, double ms, double peak_mib)
{
	struct cell_result r = test_result(0, model, platform, VERDICT_RIGHT);

	r.row.weights = "real";
	r.row.latency_ms = ms;
	r.row.latency_min_ms = ms * 0.9;
	r.row.latency_max_ms = ms * 1.1;
	r.row.peak_anonymous_mib = r.row.peak_pss_mib = r.row.peak_resident_mib = peak_mib;
	return r;
}

static void ask(struct fixture *f, struct recommend_ask q, const struct report_price *prices, size_t price_count)
{
	struct report_options how = { prices, price_count, "" };

	if (!q.model)
		q.model = "m";
	if (summary_make(&f->store, &how, &f->summary, &f->err) || recommend_rows(&f->summary, &q, &f->arena, &f->got, &f->err))
		fail_msg("%s", f->err.text);
}

static const char *why_left_out(const struct fixture *f, const char *use)
{
	for (size_t i = 0; i < f->got.left_out_count; i++)
		if (text_is(f->got.left_out[i].use, use))
			return f->got.left_out[i].why;
	return NULL;
}

static void first_is(const struct fixture *f, const char *use)
{
	assert_true(f->got.choice_count > 0);
	assert_string_equal(f->got.choices[0].use, use);
}

static void the_fastest_right_one(void **state)
{
	struct fixture *f = *state;
	struct cell_result wrong = timed("m", "openvino", 3, 300);

	add(f, timed("m", "cpu", 20, 500));
	add(f, timed("m", "openvino", 10, 900));
	wrong.verdict = VERDICT_WRONG;
	wrong.row.verdict = "wrong";
	wrong.row.precision = "int4-weights";
	wrong.row.cause = "logits: 0.9 off";
	add(f, wrong);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY }, NULL, 0);
	first_is(f, "openvino");
	assert_int_equal(f->got.choice_count, 2);
	assert_string_equal(why_left_out(f, "openvino, int4-weights"), "wrong: logits: 0.9 off");
	assert_non_null(strstr(f->got.choices[0].claim, "one process each: no claim"));
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_MEMORY }, NULL, 0);
	first_is(f, "cpu");
}

// A time that did not settle is advice where its slowest run is better than what did settle; of memory it says nothing. What a
// precision loses stands beside it.
static void the_unstable_count_by_the_slowest(void **state)
{
	struct fixture *f = *state;
	struct cell_result shaky = timed("m", "openvino", 10, 300);

	shaky.row.stability = "unstable";
	shaky.row.precision = "int4-weights";
	shaky.row.graph_verdict = "right";
	shaky.row.cosine = 0.9955;
	shaky.row.latency_max_ms = 21;
	add(f, timed("m", "cpu", 20, 500));
	add(f, shaky);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY }, NULL, 0);
	first_is(f, "cpu");
	assert_string_equal(f->got.choices[1].warning,
		"unstable (has its place by the slow end of its time), int4-weights, loss against its reference: cosine 0.9955");
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_MEMORY }, NULL, 0);
	first_is(f, "openvino, int4-weights");
	// Of many runs one odd one says little: the interval of the median, where it is known.
	shaky.row.latency_low_ms = 9.8;
	shaky.row.latency_high_ms = 10.2;
	add(f, shaky);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY }, NULL, 0);
	first_is(f, "openvino, int4-weights");
	shaky.row.latency_low_ms = shaky.row.latency_high_ms = (double)NAN;
	shaky.row.latency_max_ms = 19;
	add(f, shaky);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY }, NULL, 0);
	first_is(f, "openvino, int4-weights");
}

// The newest row alone may be the odd one.
static void the_processes_of_a_question_count_together(void **state)
{
	struct fixture *f = *state;
	static const double ms[] = { 10, 10.2, 9.9, 30 };

	add(f, timed("m", "openvino", 20, 900));
	for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
		struct cell_result r = timed("m", "cpu", ms[i], 500);
		double samples[] = { ms[i], ms[i], ms[i] };

		r.sample_ms = samples;
		r.sample_count = 3;
		add(f, r);
	}
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY }, NULL, 0);
	first_is(f, "cpu");
	assert_string_equal(f->got.choices[0].words, "10.1 ms (median of 4 processes, 9.90 ms to 30.0 ms)");
}

// Two models under one name are two models: the newer is spoken of, and what the other took says nothing of it.
static void other_files_are_another_model(void **state)
{
	struct fixture *f = *state;
	struct cell_result old = timed("m", "cpu", 100, 500), now = timed("m", "openvino", 5, 900);

	old.row.model_sha256 = "0123456789abcdef";
	now.row.model_sha256 = "fedcba9876543210";
	add(f, old);
	add(f, now);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY }, NULL, 0);
	first_is(f, "openvino");
	assert_int_equal(f->got.choice_count, 1);
	assert_null(f->got.choices[0].claim);
	assert_non_null(strstr(f->got.question, "model files fedcba98"));
	assert_null(strstr(f->got.question, "f32")); // the precision is part of the answer
	assert_string_equal(
		why_left_out(f, "cpu"), "is of other files of that name (01234567): not compared with those of fedcba98");
}

// GiB is not GB, and a peak is what the limit is held against: 900 MiB are less than 0.9 GiB, and more than 0.87.
static void the_limit_is_in_gib(void **state)
{
	struct fixture *f = *state;

	add(f, timed("m", "cpu", 20, 500));
	add(f, timed("m", "openvino", 10, 900));
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY, .most_mib = 0.9 * 1024 }, NULL, 0);
	first_is(f, "openvino");
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY, .most_mib = 0.87 * 1024 }, NULL, 0);
	first_is(f, "cpu");
	assert_string_equal(why_left_out(f, "openvino"), "took 900 MiB, more than 891 MiB");
}

// What ran on the cpu instead is no answer of cuda, and a fallback's row is not the platform's that was asked for.
static void a_fallback_is_no_success(void **state)
{
	struct fixture *f = *state;
	struct cell_result silent = timed("m", "cuda", 1, 500);

	add(f, timed("m", "cpu", 20, 500));
	silent.row.actual = "cpu";
	add(f, silent);
	silent = timed("m", "rocm", 1, 500);
	silent.verdict = VERDICT_FELL_BACK;
	silent.row.verdict = "fell_back";
	silent.row.actual = "cpu";
	add(f, silent);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY }, NULL, 0);
	first_is(f, "cpu");
	assert_int_equal(f->got.choice_count, 1);
	assert_non_null(strstr(why_left_out(f, "rocm"), "ran elsewhere"));
	assert_non_null(strstr(why_left_out(f, "cuda"), "ran elsewhere"));
}

// No Vulkan for a machine that has only a software one; nothing of another machine, of another tool, of the null engine's
// stand-in.
static void nothing_that_is_not_this_hardware(void **state)
{
	struct fixture *f = *state;
	struct cell_result emulated = timed("m", "webgpu", 1, 100), foreign = timed("m", "openvino", 2, 100),
			   stand_in = timed("m", "cuda", 1, 100), null = timed("m", "null", 1, 100);

	emulated.row.emulated = 1;
	foreign.row.source = "llama-bench";
	stand_in.row.engine = "null";
	null.row.engine = "null";
	add(f, emulated);
	add(f, foreign);
	add(f, stand_in);
	add(f, null);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY }, NULL, 0);
	assert_int_equal(f->got.choice_count, 0);
	assert_non_null(strstr(why_left_out(f, "webgpu"), "emulated"));
	assert_non_null(strstr(why_left_out(f, "openvino"), "llama-bench"));
	assert_non_null(strstr(why_left_out(f, "null"), "computes nothing"));
	assert_non_null(strstr(why_left_out(f, "cuda"), "nothing was computed"));
	add(f, timed("m", "cpu", 20, 500));
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY, .machine = "another" }, NULL, 0);
	assert_int_equal(f->got.choice_count, 0);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY, .machine = "0123456789abcdef" }, NULL, 0);
	first_is(f, "cpu");
}

// A short sequence is another question, and so is a shortened model: neither is faster.
static void one_question(void **state)
{
	struct fixture *f = *state;
	struct cell_result brief = timed("m", "openvino", 1, 100), thin = timed("m", "openvino", 2, 100);

	add(f, timed("m", "cpu", 20, 500));
	add(f, timed("m", "openvino", 25, 500));
	brief.row.sequence = 16;
	thin.row.layers = 2;
	thin.row.model_sha256 = "0501fb3d00000000"; // of its own files of random weights
	add(f, brief);
	add(f, thin);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY }, NULL, 0);
	first_is(f, "cpu");
	assert_int_equal(f->got.choice_count, 2);
	assert_string_equal(why_left_out(f, "openvino"), "has 2 layers: not compared with the whole model");
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_LATENCY, .sequence = 16 }, NULL, 0);
	first_is(f, "openvino");
	assert_int_equal(f->got.choice_count, 1);
}

// Fewer tokens than usual are no answer of the usual length, and no figure to choose by.
static void a_brief_run_is_not_chosen(void **state)
{
	struct fixture *f = *state;
	struct cell_result brief = timed("m", "webgpu", 1, 10);

	add(f, timed("m", "cpu", 20, 500));
	brief.row.sequence = 16;
	brief.row.asked_sequence = 128;
	add(f, brief);
	for (int g = 0; g < RECOMMEND_COST; g++) {
		ask(f, (struct recommend_ask){ .goal = (enum recommend_goal)g, .sequence = g ? 128 : 0 }, NULL, 0);
		assert_int_equal(f->got.choice_count, 1);
		assert_true(text_is(f->got.choices[0].cell->platform, "cpu"));
		assert_string_equal(f->got.left_out[0].why, "ran 16 tokens of the usual 128");
	}
}

static void throughput_takes_any_batch_and_cost_needs_prices(void **state)
{
	struct fixture *f = *state;
	const struct report_price prices[] = { { "cpu", 0.36 }, { "openvino", 3.6 } };
	struct cell_result batch = timed("m", "openvino", 40, 900);

	add(f, timed("m", "cpu", 20, 500));
	batch.row.batch = 8;
	add(f, batch);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_THROUGHPUT }, NULL, 0);
	first_is(f, "openvino, batch 8");
	assert_true(fabs(f->got.choices[0].figure - 200) < 1e-9);
	ask(f, (struct recommend_ask){ .goal = RECOMMEND_COST }, prices, 2);
	first_is(f, "cpu, batch 1"); // 50 a second at 0.36 an hour; 200 a second at ten times that
	assert_true(fabs(f->got.choices[0].figure - 2) < 1e-9);
	assert_true(fabs(f->got.choices[1].figure - 5) < 1e-9);
	struct recommend_ask cost = { .model = "m", .goal = RECOMMEND_COST };
	f->summary.options.price_count = 0;
	assert_int_equal(recommend_rows(&f->summary, &cost, &f->arena, &f->got, &f->err), STATUS_BAD_INPUT);
}

// ---- predictions ---------------------------------------------------------------------------------------------------------

static bool features(void *context, const char *platform, const char *precision, struct forecast_point *out)
{
	(void)context;
	(void)platform;
	*out = (struct forecast_point){ .flops = 5e9, .nbytes = 2.5e8, .nodes = 300, .mix = { 1 } };
	return precision == NULL;
}

static void add_known(struct fixture *f, int count, const char *platform, double slower)
{
	for (int i = 1; i <= count; i++) {
		struct cell_result r = timed(arena_printf(&f->arena, "known-%d", i), platform,
			slower * (double)i * (1 + 0.02 * (double)(i * 7 % 5)), 100);

		r.row.flops = i * (int64_t)1000000000;
		r.row.moved_bytes = i * (int64_t)50000000;
		r.row.nodes = 100 + 40 * i;
		r.row.op_mix = "{\"MatMul\":{\"nodes\":9,\"flops\":0.9,\"bytes\":0.5},\"Add\":{\"nodes\":90,\"flops\":0.1,"
			       "\"bytes\":0.5}}";
		add(f, r);
	}
}

static void what_nobody_ran_is_predicted(void **state)
{
	struct fixture *f = *state;
	struct recommend_ask q = { .model = "m", .goal = RECOMMEND_LATENCY };
	struct recommend_predictions p;

	add_known(f, 12, "cpu", 1);
	add_known(f, 11, "openvino", 2);
	add_known(f, 5, "cuda", 0.1);
	ask(f, q, NULL, 0);
	assert_int_equal(f->got.choice_count, 0);
	recommend_unmeasured(&f->summary, &q, features, NULL, &f->arena, &p);
	assert_int_equal(p.count, 2);
	assert_string_equal(p.items[0].use, "cpu");
	assert_string_equal(p.items[1].use, "openvino");
	assert_true(p.items[0].forecast.ms > 4.5 && p.items[0].forecast.ms < 5.8);
	assert_true(p.items[0].forecast.low < p.items[0].forecast.ms && p.items[0].forecast.ms < p.items[0].forecast.high);
	assert_int_equal(p.too_few_count, 1);
	assert_non_null(strstr(p.too_few[0], "cuda: too few models"));
	assert_int_equal(p.proof.count, 23);
	assert_non_null(strstr(p.proof_words, "of 23 measured times"));
	// Once it was measured there, nothing is predicted.
	struct cell_result r = timed("m", "cpu", 5, 100);
	r.row.flops = 5000000000, r.row.moved_bytes = 250000000, r.row.nodes = 300;
	add(f, r);
	ask(f, q, NULL, 0);
	recommend_unmeasured(&f->summary, &q, features, NULL, &f->arena, &p);
	assert_int_equal(p.count, 1);
	assert_string_equal(p.items[0].use, "openvino");
	first_is(f, "cpu");
	// Nor where it was tried and did not run: that stands among what is left out.
	r = timed("m", "openvino", (double)NAN, 100);
	r.verdict = VERDICT_NO_MEMORY;
	r.row.verdict = "no_memory";
	r.row.cause = "it needs 99 GiB";
	add(f, r);
	ask(f, q, NULL, 0);
	recommend_unmeasured(&f->summary, &q, features, NULL, &f->arena, &p);
	assert_int_equal(p.count, 0);
	assert_non_null(strstr(why_left_out(f, "openvino"), "99 GiB"));
}

static void a_short_name_is_the_same_model(void **state)
{
	struct fixture *f = *state;

	add(f, timed("google-bert/bert-base-uncased", "cpu", 20, 500));
	add(f, timed("bert-base-uncased", "openvino", 30, 500));
	add(f, timed("other/bert-base-uncased", "cpu", 1, 500));
	ask(f, (struct recommend_ask){ .model = "bert-base-uncased", .goal = RECOMMEND_LATENCY }, NULL, 0);
	assert_int_equal(f->got.choice_count, 2);
	first_is(f, "cpu");
	ask(f, (struct recommend_ask){ .model = "google-bert/bert-base-uncased", .goal = RECOMMEND_LATENCY }, NULL, 0);
	assert_int_equal(f->got.choice_count, 2);
}

static void the_report_shows_the_test(void **state)
{
	struct fixture *f = *state;
	struct text md = { 0 };

	add_known(f, 12, "cpu", 1);
	assert_int_equal(report_write(&f->store, REPORT_MD, &md, &f->err), STATUS_OK);
	assert_non_null(strstr(text_get(&md), "Predictions, tested on what was measured"));
	assert_non_null(strstr(text_get(&md), "of 12 measured times lay within"));
	assert_non_null(strstr(text_get(&md), "from 11 rows of 11 other models"));
	text_done(&md);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_fastest_right_one),
		TEST(the_unstable_count_by_the_slowest),
		TEST(the_processes_of_a_question_count_together),
		TEST(other_files_are_another_model),
		TEST(the_limit_is_in_gib),
		TEST(a_fallback_is_no_success),
		TEST(nothing_that_is_not_this_hardware),
		TEST(one_question),
		TEST(a_brief_run_is_not_chosen),
		TEST(throughput_takes_any_batch_and_cost_needs_prices),
		TEST(what_nobody_ran_is_predicted),
		TEST(a_short_name_is_the_same_model),
		TEST(the_report_shows_the_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
