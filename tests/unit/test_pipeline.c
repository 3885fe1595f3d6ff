// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Parts of pipelines that need no model: what becomes of scores before a token is chosen, and which answers count as the same.
// Whole pipelines are in conform/pipelines.sh.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "base/json.h"
#include "base/text.h"
#include "conform/case.h"
#include "pipeline/choose.h"
#include "pipeline/pictures.h"

enum { VOCAB = 8 };

// Scores 1 .. 8 after this text, as generation_config.json and the options say.
static enum status process(const char *file, const char *options, const int64_t *text, int64_t length, double scores[VOCAB])
{
	struct arena a = { 0 };
	json_t *config = json_parse(file), *asked = json_parse(options);
	struct pipeline p = { .arena = &a };
	struct part m = { .p = &p, .folder = "/nonexistent", .config = config };
	struct decoding d;
	bool seen[VOCAB] = { 0 };
	struct error err;
	enum status s = decoding_read(&m, &a, asked, 1, 20, &d, &err);

	for (int i = 0; i < VOCAB; i++)
		scores[i] = i + 1;
	if (!s)
		decoding_process(&d, text, length, scores, seen, VOCAB);
	json_decref(config);
	json_decref(asked);
	arena_done(&a);
	return s;
}

// What settings make of scores is the same when they are read back from decoding_json.
static void test_settings_as_json(void **unused)
{
	static const char settings[] =
		"{\"repetition_penalty\": 1.3, \"no_repeat_ngram_size\": 2, \"bad_words_ids\": [[1], [5, 2]], "
		"\"suppress_tokens\": [0], \"begin_suppress_tokens\": [7], \"min_length\": 3, "
		"\"forced_eos_token_id\": 4, \"eos_token_id\": [4, 6], \"max_new_tokens\": 3}";
	const int64_t text[] = { 3, 5, 6, 5 };
	struct arena a = { 0 };
	struct decoding first, again, plain;
	json_t *file = json_parse(settings), *kept;
	struct decoding_source from = { .file = file };

	(void)unused;
	assert_int_equal(decoding_settle(&first, &a, &from, 1, 20, NULL), STATUS_OK);
	kept = decoding_json(&first);
	json_object_set_new(kept, "max_new_tokens", json_integer(3));
	from.file = kept;
	assert_int_equal(decoding_settle(&again, &a, &from, 1, 20, NULL), STATUS_OK);
	for (int64_t length = 1; length <= 4; length++) {
		double x[VOCAB], y[VOCAB];
		bool seen[VOCAB] = { 0 };

		for (int i = 0; i < VOCAB; i++)
			x[i] = y[i] = i + 1;
		decoding_process(&first, text, length, x, seen, VOCAB);
		decoding_process(&again, text, length, y, seen, VOCAB);
		assert_memory_equal(x, y, sizeof x);
		assert_true(length == 3 ? x[4] == 0 : isinf(x[0]));
	}
	assert_true(decoding_ends(&again, 4) && decoding_ends(&again, 6) && !decoding_ends(&again, 5));
	assert_false(decoding_is_plain(&again));
	from.file = NULL;
	assert_int_equal(decoding_settle(&plain, &a, &from, 1, 20, NULL), STATUS_OK);
	assert_true(decoding_is_plain(&plain));
	json_decref(file);
	json_decref(kept);
	arena_done(&a);
}

static void test_scores(void **unused)
{
	const int64_t text[] = { 3, 5, 6, 5 };
	double x[VOCAB];

	(void)unused;
	assert_int_equal(process("{}", "{}", text, 4, x), STATUS_OK);
	for (int i = 0; i < VOCAB; i++)
		assert_true(x[i] == i + 1);
	// Each token of the text once.
	assert_int_equal(process("{\"repetition_penalty\": 2.0}", "{}", text, 4, x), STATUS_OK);
	assert_true(x[3] == 2 && x[5] == 3 && x[6] == 3.5 && x[4] == 5);
	// After 5 came 6; after "6 5" nothing yet.
	assert_int_equal(process("{\"no_repeat_ngram_size\": 2}", "{}", text, 4, x), STATUS_OK);
	assert_true(isinf(x[6]) && !isinf(x[5]));
	assert_int_equal(process("{\"no_repeat_ngram_size\": 3}", "{}", text, 4, x), STATUS_OK);
	assert_true(x[6] == 7);
	assert_int_equal(process("{\"bad_words_ids\": [[1], [5, 2], [4, 0]]}", "{}", text, 4, x), STATUS_OK);
	assert_true(isinf(x[1]) && isinf(x[2]) && x[0] == 1);
	// No end before min_length; then as it is. An option goes over the file.
	assert_int_equal(process("{\"eos_token_id\": [7, 0], \"min_length\": 5}", "{}", text, 4, x), STATUS_OK);
	assert_true(isinf(x[7]) && isinf(x[0]) && x[1] == 2);
	assert_int_equal(process("{\"eos_token_id\": 7, \"min_length\": 5}", "{\"min_length\": 4}", text, 4, x), STATUS_OK);
	assert_true(x[7] == 8);
	assert_int_equal(process("{\"eos_token_id\": 7}", "{\"min_new_tokens\": 4}", text, 4, x), STATUS_OK);
	assert_true(isinf(x[7]));
	assert_int_equal(process("{\"eos_token_id\": 7, \"min_length\": 9}", "{\"min_new_tokens\": 3}", text, 4, x), STATUS_OK);
	assert_true(x[7] == 8); // new tokens go over the length of the file
	// The first and the last token.
	assert_int_equal(process("{\"forced_bos_token_id\": 2}", "{}", text, 1, x), STATUS_OK);
	assert_true(x[2] == 0 && isinf(x[3]));
	assert_int_equal(process("{\"forced_eos_token_id\": 7}", "{\"max_new_tokens\": 4}", text, 4, x), STATUS_OK);
	assert_true(x[7] == 0 && isinf(x[6]));
	assert_int_equal(process("{\"begin_suppress_tokens\": [4], \"suppress_tokens\": [1]}", "{}", text, 1, x), STATUS_OK);
	assert_true(isinf(x[4]) && isinf(x[1]));
	assert_int_equal(process("{\"begin_suppress_tokens\": [4]}", "{}", text, 2, x), STATUS_OK);
	assert_true(x[4] == 5);
}

static const double drawn_from[VOCAB] = { 1.5, -0.25, 3.0, 2.6, 0.0, 2.0, -4.0, 1.0 };

// Probabilities behind the logits processors of transformers 5.23 (TemperatureLogitsWarper, TopKLogitsWarper, .., in generate()'s
// order) and torch's softmax.
static void test_sampling(void **unused)
{
	static const struct {
		const char *options;
		double p[VOCAB];
	} rows[] = {
		{ "{\"do_sample\": true}",
			{ 0.0897497073, 0.0155961606, 0.402230282, 0.269622996, 0.0200258666, 0.147972252, 0.000366786541,
				0.0544359492 } },
		{ "{\"do_sample\": true, \"temperature\": 0.5}",
			{ 0.0300510467, 0.000907462979, 0.603591408, 0.27121105, 0.00149615352, 0.0816872142, 5.0190359e-07,
				0.0110551623 } },
		{ "{\"do_sample\": true, \"top_k\": 1}", { 0, 0, 1, 0, 0, 0, 0, 0 } },
		{ "{\"do_sample\": true, \"top_k\": 3}", { 0, 0, 0.490629125, 0.328878506, 0, 0.180492368, 0, 0 } },
		{ "{\"do_sample\": true, \"top_p\": 0.5}", { 0, 0, 0.598687683, 0.401312317, 0, 0, 0, 0 } },
		{ "{\"do_sample\": true, \"top_p\": 0.9, \"top_k\": 0}",
			{ 0.0986721094, 0, 0.442217714, 0.29642737, 0, 0.162682806, 0, 0 } },
		{ "{\"do_sample\": true, \"min_p\": 0.2}", { 0.0986721094, 0, 0.442217714, 0.29642737, 0, 0.162682806, 0, 0 } },
		{ "{\"do_sample\": true, \"typical_p\": 0.4}", { 0, 0, 0, 0.645656284, 0, 0.354343716, 0, 0 } },
		{ "{\"do_sample\": true, \"typical_p\": 0.8, \"temperature\": 2.0}",
			{ 0.144653342, 0, 0.306231127, 0.250720829, 0, 0.185738567, 0, 0.112656136 } },
		{ "{\"do_sample\": true, \"epsilon_cutoff\": 0.05}",
			{ 0.0931002758, 0, 0.417246489, 0.279688659, 0, 0.153496405, 0, 0.0564681717 } },
		{ "{\"do_sample\": true, \"eta_cutoff\": 0.1}",
			{ 0.0986721094, 0, 0.442217714, 0.29642737, 0, 0.162682806, 0, 0 } },
		{ "{\"do_sample\": true, \"temperature\": 1.5, \"top_k\": 7, \"top_p\": 0.95, \"min_p\": 0.1, \"typical_p\": "
		  "0.85, \"epsilon_cutoff\": 0.08, \"eta_cutoff\": 0.02}",
			{ 0.138967962, 0, 0.377754086, 0.28933253, 0, 0.193945422, 0, 0 } },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct arena a = { 0 };
		json_t *asked = json_parse(rows[i].options), *config = json_object();
		struct pipeline p = { .arena = &a };
		struct part m = { .p = &p, .folder = "/nonexistent", .config = config };
		struct decoding d;
		struct error err;
		double x[VOCAB];

		memcpy(x, drawn_from, sizeof x);
		assert_int_equal(decoding_read(&m, &a, asked, 1, 20, &d, &err), STATUS_OK);
		assert_true(d.samples);
		sampling_process(&d.sampling, x, VOCAB);
		scores_softmax(x, VOCAB, x);
		for (int k = 0; k < VOCAB; k++)
			assert_true(fabs(x[k] - rows[i].p[k]) <= 1e-6 * rows[i].p[k]); // float32 in torch
		json_decref(asked);
		json_decref(config);
		arena_done(&a);
	}
}

// Tokens of seeds, as splitmix64 and the sums of the probabilities say (computed in Python); and how often each comes.
static void test_draws(void **unused)
{
	enum { DRAWS = 20000 };
	static const struct {
		int64_t seed;
		int64_t ids[12];
	} rows[] = {
		{ 0, { 5, 2, 0, 7, 2, 2, 2, 3, 2, 7, 2, 3 } },
		{ 1, { 3, 3, 7, 2, 2, 3, 5, 3, 2, 4, 2, 3 } },
		{ 7, { 2, 0, 5, 3, 2, 2, 2, 2, 2, 2, 1, 7 } },
	};
	struct sampling s = { .temperature = 1 };
	double p[VOCAB];
	int seen[VOCAB] = { 0 };

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int k = 0; k < 12; k++) {
			s.seed = rows[i].seed;
			assert_int_equal(sampling_draw(&s, k, drawn_from, VOCAB), rows[i].ids[k]);
		}
	scores_softmax(drawn_from, VOCAB, p);
	for (int k = 0; k < DRAWS; k++)
		seen[sampling_draw(&s, k, drawn_from, VOCAB)]++;
	for (int k = 0; k < VOCAB; k++) // five standard deviations
		assert_true(fabs(seen[k] - DRAWS * p[k]) <= 5 * sqrt(DRAWS * p[k] * (1 - p[k])));
	// What is not to be chosen from never is.
	const double one[VOCAB] = { -INFINITY, -INFINITY, -INFINITY, 2, -INFINITY, -INFINITY, -INFINITY, -INFINITY };
	for (int k = 0; k < 100; k++)
		assert_int_equal(sampling_draw(&s, k, one, VOCAB), 3);
}

// What would make another text is refused; what changes nothing is not.
static void test_refused(void **unused)
{
	const int64_t text[] = { 3 };
	double x[VOCAB];

	(void)unused;
	assert_int_equal(process("{}", "{\"do_sample\": true}", text, 1, x), STATUS_OK);
	assert_int_equal(process("{}", "{\"do_sample\": 1}", text, 1, x), STATUS_BAD_INPUT);
	assert_int_equal(process("{}", "{\"temperature\": 0.6}", text, 1, x), STATUS_BAD_INPUT);
	assert_int_equal(process("{}", "{\"seed\": 1}", text, 1, x), STATUS_BAD_INPUT);
	assert_int_equal(process("{}", "{\"do_sample\": true, \"temperature\": 0}", text, 1, x), STATUS_BAD_INPUT);
	assert_int_equal(process("{}", "{\"do_sample\": true, \"top_p\": 1.5}", text, 1, x), STATUS_BAD_INPUT);
	assert_int_equal(process("{}", "{\"do_sample\": true, \"num_beams\": 2}", text, 1, x), STATUS_UNSUPPORTED);
	assert_int_equal(process("{\"top_h\": 0.5}", "{\"do_sample\": true}", text, 1, x), STATUS_UNSUPPORTED);
	assert_int_equal(process("{\"do_sample\": true, \"temperature\": 0.6}", "{}", text, 1, x), STATUS_OK);
	assert_int_equal(process("{\"guidance_scale\": 1.5}", "{}", text, 1, x), STATUS_UNSUPPORTED);
	assert_int_equal(process("{\"guidance_scale\": 1}", "{}", text, 1, x), STATUS_OK);
	assert_int_equal(process("{\"num_beam_groups\": 2}", "{}", text, 1, x), STATUS_UNSUPPORTED);
	assert_int_equal(process("{\"eos_token_id\": \"7\"}", "{}", text, 1, x), STATUS_BAD_INPUT);
	assert_int_equal(process("{\"num_beams\": 1000000}", "{}", text, 1, x), STATUS_BAD_INPUT);
	assert_int_equal(process("{\"repetition_penalty\": 0}", "{}", text, 1, x), STATUS_BAD_INPUT);
	assert_int_equal(process("{\"early_stopping\": \"soon\"}", "{}", text, 1, x), STATUS_BAD_INPUT);
	assert_int_equal(process("{\"bad_words_ids\": [[]]}", "{}", text, 1, x), STATUS_BAD_INPUT);
}

static bool same(const char *want, const char *got, const char *tolerance)
{
	struct arena a = { 0 };
	json_t *x = json_parse(want), *y = json_parse(got), *t = json_parse(tolerance);
	const struct answer_bounds b = { "/nonexistent", NULL, t };
	const struct pipeline_answer answer = { .json = y };
	struct error err = { 0 };
	enum status s = conform_answer_compare(&b, "a", x, &answer, &a, &err);

	assert_true(s == STATUS_OK || (s == STATUS_FAILED && text_starts(err.text, "a")));
	json_decref(x);
	json_decref(y);
	json_decref(t);
	arena_done(&a);
	return s == STATUS_OK;
}

static void test_same(void **unused)
{
	(void)unused;
	assert_true(
		same("[{\"label\": \"x\", \"score\": 0.5}]", "[{\"label\": \"x\", \"score\": 0.5004}]", "{\"score\": 0.001}"));
	assert_false(
		same("[{\"label\": \"x\", \"score\": 0.5}]", "[{\"label\": \"x\", \"score\": 0.5006}]", "{\"score\": 0.001}"));
	assert_false(same("[0.5]", "[0.5000001]", "{}"));
	assert_true(same("[0.001]", "[0.001009]", "{\"score\": 0.001}")); // 0.01 is the least that a bound is taken of
	assert_false(same("[0.001]", "[0.001011]", "{\"score\": 0.001}"));
	// What an engine that computes in less may be off: the bound of its outputs, and what errors of the logits do to a score.
	json_t *t = json_parse("{\"score\": 0.001, \"tensor\": 0.05, \"box\": 1}");
	conform_tolerance_reduce(t, DTYPE_F32);
	assert_true(json_number_value(json_object_get(t, "score")) == 0.001);
	conform_tolerance_reduce(t, DTYPE_F16);
	assert_true(fabs(json_number_value(json_object_get(t, "score")) - (exp(2 * 0.012) - 1)) < 1e-12);
	assert_true(
		json_number_value(json_object_get(t, "tensor")) == 0.05 && json_integer_value(json_object_get(t, "box")) == 1);
	json_decref(t);
	assert_false(same("[3]", "[3.0]", "{\"score\": 0.1}")); // whole numbers stay whole
	assert_false(same("[3]", "[4]", "{\"score\": 1}"));
	assert_false(same("[\"a\"]", "[\"b\"]", "{}"));
	assert_false(same("[1, 2]", "[1]", "{}"));
	assert_false(same("[1]", "[1, 2]", "{}"));
	assert_false(same("{\"a\": 1}", "{\"a\": 1, \"b\": null}", "{}"));
	assert_false(same("{\"a\": 1, \"b\": null}", "{\"a\": 1}", "{}"));
	assert_true(same("{\"a\": null}", "{\"a\": null}", "{}"));
	assert_true(same("{\"xmin\": 3}", "{\"xmin\": 4}", "{\"box\": 1}"));
	assert_false(same("{\"xmin\": 3}", "{\"xmin\": 5}", "{\"box\": 1}"));
	assert_false(same("{\"xmin\": 3}", "{\"xmin\": 4}", "{}"));
	assert_true(same("{\"timestamp\": [0.1, 0.5]}", "{\"timestamp\": [0.12, 0.5]}", "{\"seconds\": 0.03}"));
	assert_false(same("{\"timestamp\": [0.1, 0.5]}", "{\"timestamp\": [0.14, 0.5]}", "{\"seconds\": 0.03}"));
	assert_false(same("[0.5]", "[null]", "{\"score\": 1}"));
}

// Files that answers and inputs name lie in their folder; without a folder an input's is a path.
static void test_files(void **unused)
{
	static const char *const names[] = { "a/../../x", "../x", "/dev/null" };

	(void)unused;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct arena a = { 0 };
		json_t *x = json_pack("{s:s}", "png", names[i]), *t = json_object();
		const struct answer_bounds b = { TEST_SOURCE, NULL, t };
		const struct pipeline_answer answer = { .json = x };
		struct call c = { .a = &a, .base = TEST_SOURCE, .input = x };
		struct error err = { 0 };
		struct picture picture;
		const char *found;

		assert_int_equal(conform_answer_compare(&b, "a", x, &answer, &a, &err), STATUS_BAD_INPUT);
		assert_non_null(strstr(err.text, "is no file of the folder"));
		assert_int_equal(call_file(&c, "png", &found, &err), STATUS_BAD_INPUT);
		assert_int_equal(open_picture(&c, names[i], &picture, &err), STATUS_BAD_INPUT);
		assert_non_null(strstr(err.text, "is no file of the folder"));
		c.base = NULL;
		assert_int_equal(call_file(&c, "png", &found, &err), STATUS_OK);
		assert_string_equal(found, names[i]);
		json_decref(x);
		json_decref(t);
		arena_done(&a);
	}
}

// A case whose files are too many or too large is refused by their sizes, before any is read or copied.
static void test_size(void **unused)
{
	static const struct {
		size_t count;
		off_t nbytes;
		const char *says;
	} rows[] = {
		{ 17, 4 << 20, "its files have more than 64 MiB together" },
		{ 1, (4 << 20) + 1, "4194305 bytes; at most 4194304 are read" },
		{ 257, 0, "more than 256 files" },
	};
	static const char text[] = "{\"task\": \"fill-mask\", \"inputs\": [\"a\"], \"answers\": [[]]}";
	const struct target target = { 0 };

	(void)unused;
	setenv("ASSAY_CACHE", path("cache"), 1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct pipeline_placement placed = { 0 };
		struct error err = { 0 };
		bool differs = false;

		assert_int_equal(file_mkdirs(path("case/sub"), NULL), STATUS_OK);
		assert_int_equal(file_put(path("case/pipeline.json"), text, sizeof text - 1, NULL), STATUS_OK);
		for (size_t k = 0; k < rows[i].count; k++) {
			const char *file = arena_printf(&arena, "%s/%zu.bin", path(k % 2 ? "case" : "case/sub"), k);

			assert_int_equal(file_put(file, "", 0, NULL), STATUS_OK);
			assert_int_equal(truncate(file, rows[i].nbytes), 0);
		}
		assert_int_equal(conform_pipeline_run(&target, path("case"), &arena, &placed, &differs, &err), STATUS_BAD_INPUT);
		if (!strstr(err.text, rows[i].says))
			fail_msg("%s: \"%s\"", rows[i].says, err.text);
		assert_false(file_exists(path("cache")));
		assert_int_equal(file_remove_tree(path("case"), NULL), STATUS_OK);
	}
	unsetenv("ASSAY_CACHE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scores),
		cmocka_unit_test(test_settings_as_json),
		cmocka_unit_test(test_sampling),
		cmocka_unit_test(test_draws),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
