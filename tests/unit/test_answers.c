// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// From a model's outputs to boxes, masks, depths and spoken labels: against what transformers' own processors make of the same
// numbers (data/answers.py made data/answers.json).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "answer/boxes.h"
#include "conform/answers.h"
#include "preprocess/encode.h"
#include "scratch.h"
#include "answer/ctc.h"
#include "pipeline/depth.h"
#include "answer/masks.h"

static struct arena memory;
static json_t *known;
static int height, width;

static int open_known(void **state)
{
	struct error err;

	(void)state;
	if (json_file(arena_printf(&memory, "%s/tests/unit/data/answers.json", TEST_SOURCE), 1 << 20, &known, &err))
		fail_msg("%s", err.text);
	height = (int)json_integer_value(json_object_get(known, "height"));
	width = (int)json_integer_value(json_object_get(known, "width"));
	return 0;
}

static int close_known(void **state)
{
	(void)state;
	json_decref(known);
	arena_done(&memory);
	return 0;
}

static float *stream(const char *name, double scale, double shift, size_t count)
{
	float *out = ARENA_ARRAY(&memory, count, float);

	for (size_t i = 0; i < count; i++)
		out[i] = (float)(splitmix64_unit(splitmix64(fnv1a64(name, strlen(name)), i)) * scale) + (float)shift;
	return out;
}

static const double *doubles(const float *x, size_t count)
{
	double *out = ARENA_ARRAY(&memory, count, double);

	for (size_t i = 0; i < count; i++)
		out[i] = (double)x[i];
	return out;
}

static void near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("%.9g, not %.9g", got, want);
}

static double number(const json_t *list, size_t i)
{
	return json_number_value(json_array_get(list, i));
}

static void boxes(void **state)
{
	static const struct {
		enum boxes_rule rule;
		double threshold;
	} asked[] = { { BOXES_NO_OBJECT, 0.6 }, { BOXES_PAIRS, 0.6 }, { BOXES_QUERIES, 0.8 } };
	const struct detections d = { doubles(stream("logits", 4, 0, 45), 45), stream("boxes", 0.5, 0.5, 36), 9, 5, width,
		height };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const json_t *want = json_array_get(json_object_get(known, "boxes"), i);
		struct boxes b = boxes_found(&memory, &d, asked[i].rule, 12, asked[i].threshold);

		assert_int_equal(b.count, json_array_size(json_object_get(want, "scores")));
		assert_true(b.count > 0);
		for (size_t k = 0; k < b.count; k++) {
			near(b.items[k].score, number(json_object_get(want, "scores"), k), 1e-6);
			assert_int_equal(
				b.items[k].label, json_integer_value(json_array_get(json_object_get(want, "labels"), k)));
			for (size_t e = 0; e < 4; e++)
				near((double)b.items[k].edge[e], number(json_array_get(json_object_get(want, "boxes"), k), e),
					1e-4);
		}
	}
}

static void boxes_in_words(void **state)
{
	struct box list[] = { { 0.25, 1, { -1.9f, 2.9f, 3e9f, NAN } }, { 0.75, 0, { 0 } }, { 0.25, 2, { 0 } } };
	struct boxes b = { list, 3 };
	json_t *answer = box_answer(&list[0], "a cat"), *box = json_object_get(answer, "box");

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(box, "xmin")), -1);
	assert_int_equal(json_integer_value(json_object_get(box, "ymin")), 2);
	assert_int_equal(json_integer_value(json_object_get(box, "xmax")), INT32_MAX);
	assert_string_equal(json_string_value(json_object_get(answer, "label")), "a cat");
	json_decref(answer);
	boxes_sort(&memory, &b);
	assert_int_equal(b.items[0].label, 0);
	assert_int_equal(b.items[1].label, 1);
	assert_int_equal(b.items[2].label, 2);
}

// Bits as hexadecimal digits; a pixel on the edge may go either way.
static void same_mask(const struct picture *got, const char *want)
{
	size_t pixels = (size_t)got->width * (size_t)got->height, differing = 0;

	assert_int_equal(got->width, width);
	assert_int_equal(got->height, height);
	assert_int_equal(got->channels, 1);
	assert_int_equal(strlen(want), (pixels + 7) / 8 * 2);
	for (size_t i = 0; i < pixels; i++) {
		char digit = want[i / 4];
		int value = digit <= '9' ? digit - '0' : digit - 'a' + 10, bit = value >> (3 - i % 4) & 1;

		assert_true(got->pixels[i] == 0 || got->pixels[i] == 255);
		differing += bit != (got->pixels[i] == 255);
	}
	if (differing > 1)
		fail_msg("%zu of %zu pixels differ", differing, pixels);
}

static void same_segments(const struct segments *got, const json_t *want)
{
	assert_int_equal(got->count, json_array_size(want));
	assert_true(got->count > 0);
	for (size_t i = 0; i < got->count; i++) {
		const json_t *one = json_array_get(want, i), *score = json_object_get(one, "score");

		assert_int_equal(got->items[i].label, json_integer_value(json_object_get(one, "label")));
		if (json_is_null(score))
			assert_true(isnan(got->items[i].score));
		else
			near(got->items[i].score, json_number_value(score), 1.1e-6);
		same_mask(&got->items[i].mask, json_string_value(json_object_get(one, "mask")));
	}
}

static void labels(void **state)
{
	const struct planes map = { 4, 6, 8, stream("map", 3, 0, 4 * 6 * 8) };
	struct segments s;

	(void)state;
	assert_int_equal(segments_of_labels(&s, &memory, &map, height, width, NULL), STATUS_OK);
	same_segments(&s, json_object_get(known, "labels"));
	assert_int_equal(segments_of_labels(&s, &memory, &map, 0, width, NULL), STATUS_BAD_INPUT);
}

static void queries_of(const char *class_name, int side)
{
	const struct mask_queries q = { doubles(stream("classes", 3, 0, 30), 30),
		{ 6, 7, 9, stream("masks", 5, 0, (size_t)6 * 7 * 9) }, 4, side };
	const struct mask_thresholds t = { 0.3, 0.4, 0.3 };
	const json_t *want = json_object_get(known, class_name);
	struct segments s;

	assert_int_equal(segments_of_queries(&s, &memory, &q, height, width, NULL), STATUS_OK);
	same_segments(&s, json_object_get(want, "semantic"));
	assert_int_equal(segments_panoptic(&s, &memory, &q, &t, height, width, NULL), STATUS_OK);
	same_segments(&s, json_object_get(want, "panoptic"));
	assert_int_equal(segments_of_instances(&s, &memory, &q, &t, height, width, NULL), STATUS_OK);
	same_segments(&s, json_object_get(want, "instance"));
}

static void queries(void **state)
{
	(void)state;
	queries_of("mask2former", 384);
	queries_of("maskformer", 0);
}

static void nothing_found(void **state)
{
	const struct mask_queries q = { doubles(stream("classes", 3, 0, 30), 30),
		{ 6, 7, 9, stream("masks", 5, 0, (size_t)6 * 7 * 9) }, 4, 0 };
	const struct mask_thresholds t = { 1, 0.5, 0.5 };
	struct segments s;

	(void)state;
	assert_int_equal(segments_panoptic(&s, &memory, &q, &t, height, width, NULL), STATUS_OK);
	assert_int_equal(s.count, 0);
	assert_int_equal(segments_of_instances(&s, &memory, &q, &t, height, width, NULL), STATUS_OK);
	assert_int_equal(s.count, 0);
}

static void unpadded(void **state)
{
	const json_t *want = json_object_get(known, "unpadded");
	float *logits = stream("sam", 3, 0, 2 * 16 * 16);
	const int padded[2] = { 64, 64 }, taken[2] = { 40, 64 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct planes map = { 1, 16, 16, logits + i * 256 };
		struct picture mask;

		assert_int_equal(mask_unpadded(&mask, &memory, &map, padded, taken, height, width, NULL), STATUS_OK);
		same_mask(&mask, json_string_value(json_array_get(want, i)));
	}
}

static void depths(void **state)
{
	const json_t *want = json_object_get(known, "depth"), *large = json_object_get(want, "enlarged"),
		     *grey = json_object_get(want, "grey"), *small = json_object_get(want, "shrunk");
	const struct planes map = { 1, 8, 11, stream("depth", 2, 0, 88) };
	struct planes depth;
	struct picture picture;
	size_t differing = 0;

	(void)state;
	assert_int_equal(depth_of_picture(&depth, &picture, &memory, &map, height, width, NULL), STATUS_OK);
	assert_int_equal(json_array_size(large), height * width);
	for (size_t i = 0; i < json_array_size(large); i++) {
		near((double)depth.data[i], number(large, i), 2e-6);
		differing += picture.pixels[i] != json_integer_value(json_array_get(grey, i));
		near(picture.pixels[i], number(grey, i), 1);
	}
	assert_true(differing <= 2);
	assert_int_equal(depth_of_picture(&depth, &picture, &memory, &map, 5, 4, NULL), STATUS_OK);
	for (size_t i = 0; i < 20; i++)
		near((double)depth.data[i], number(small, i), 2e-6);
}

// A map of one depth is black, and not a division by nothing.
static void one_depth(void **state)
{
	float same[4] = { 2, 2, 2, 2 };
	const struct planes map = { 1, 2, 2, same };
	struct planes depth;
	struct picture picture;

	(void)state;
	assert_int_equal(depth_of_picture(&depth, &picture, &memory, &map, 2, 2, NULL), STATUS_OK);
	for (int i = 0; i < 4; i++)
		assert_int_equal(picture.pixels[i], 0);
}

static struct tokenizer *labels_of(const char *words)
{
	const char *text = arena_printf(&memory,
		"{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {%s}}, \"added_tokens\": []}", words);
	struct tokenizer *t;
	struct error err;

	if (tokenizer_parse(&t, &memory, "labels", text, strlen(text), &err))
		fail_msg("%s", err.text);
	return t;
}

static void same_pieces(const struct ctc_pieces *got, const struct ctc_piece *want, size_t count)
{
	assert_int_equal(got->count, count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(got->items[i].text, want[i].text);
		assert_int_equal(got->items[i].first, want[i].first);
		assert_int_equal(got->items[i].end, want[i].end);
	}
}

// Wav2Vec2CTCTokenizer's char_offsets and _get_word_offsets of the same ids.
static void spoken(void **state)
{
	static const uint32_t ids[] = { 1, 0, 2, 2, 0, 3, 3, 0, 3, 1, 1, 4, 0, 2, 1, 1 };
	static const struct ctc_piece characters[] = { { " ", 0, 1 }, { "A", 2, 4 }, { "B", 5, 7 }, { "B", 8, 9 }, { " ", 9, 11 },
		{ "C", 11, 12 }, { "A", 13, 14 }, { " ", 14, 16 } };
	static const struct ctc_piece words[] = { { "ABB", 2, 9 }, { "CA", 11, 14 } };
	const struct ctc_labels l = { 0, 1 };
	struct tokenizer *t = labels_of("\"<pad>\": 0, \"|\": 1, \"A\": 2, \"B\": 3, \"C\": 4, \"?\": 5");
	struct ctc_pieces got = ctc_characters(&memory, t, &l, ids, 16);
	uint32_t best[2];

	(void)state;
	same_pieces(&got, characters, 8);
	got = ctc_words(&memory, t, &l, ids, 16);
	same_pieces(&got, words, 2);
	got = ctc_words(&memory, t, &l, ids, 0);
	assert_int_equal(got.count, 0);
	ctc_best((const float[]){ 1, 3, 3, -1, -5, -2 }, 2, 3, best);
	assert_int_equal(best[0], 1);
	assert_int_equal(best[1], 0);
}

// chunk_iter and rescale_stride of the library, for 17600 samples, windows of 8000 and 1600 of context: frames of 320.
static void windows(void **state)
{
	size_t count, first, end;
	const struct sound_window *w = sound_windows(&memory, 17600, 8000, 1600, 1600, &count);

	(void)state;
	assert_int_equal(count, 3);
	assert_int_equal(w[1].begin, 4800);
	assert_int_equal(w[1].length, 8000);
	assert_int_equal(w[0].left, 0);
	assert_int_equal(w[1].left, 1600);
	assert_int_equal(w[2].length, 8000);
	assert_int_equal(w[2].right, 0);
	sound_window_frames(&w[0], 320, 24, &first, &end);
	assert_int_equal(first, 0);
	assert_int_equal(end, 20);
	sound_window_frames(&w[1], 320, 24, &first, &end);
	assert_int_equal(first, 5);
	assert_int_equal(end, 20);
	sound_window_frames(&w[2], 320, 24, &first, &end);
	assert_int_equal(first, 5);
	assert_int_equal(end, 24);
	assert_null(sound_windows(&memory, 100, 10, 5, 5, &count));
	assert_int_equal(count, 0);
	w = sound_windows(&memory, 5, 10, 2, 2, &count);
	assert_int_equal(count, 1);
	assert_int_equal(w[0].length, 5);
}

// ---- two platforms' answers ------------------------------------------------------------------------------------------------

static struct answer_likeness alike;
static struct error differs;

static size_t prompt_tokens; // of both answers

// The folders "got" and "want" of the scratch folder hold what the answers point to.
static enum status beside(const char *got, const char *want, const char *task, enum dtype computes)
{
	struct answer_kept x = { json_parse(got), path("got"), prompt_tokens },
			   y = { json_parse(want), path("want"), prompt_tokens };
	enum status st;

	differs = (struct error){ 0 };
	answers_begin(&alike);
	st = answers_compare(&x, &y, task, computes, &alike, &arena, &differs);
	json_decref((json_t *)(uintptr_t)x.answer);
	json_decref((json_t *)(uintptr_t)y.answer);
	return st;
}

static const char *in_words(void)
{
	json_t *json = answers_json(&alike);
	char *text = json_dumps(json, 0);
	const char *out = answers_words(&arena, text);

	free(text);
	json_decref(json);
	return out;
}

static void platforms_texts(void **state)
{
	static const char list[] = "[{\"label\":\"cat\",\"score\":0.75},{\"label\":\"dog\",\"score\":0.25}]";

	(void)state;
	assert_int_equal(beside(list, list, "image-classification", DTYPE_F32), STATUS_OK);
	assert_string_equal(in_words(), "2 of 2 labels the same, scores at most 0 apart");
	assert_int_equal(beside("[{\"label\":\"cat\",\"score\":0.7503},{\"label\":\"dog\",\"score\":0.25}]", list,
				 "image-classification", DTYPE_F32),
		STATUS_OK);
	assert_int_equal(beside("[{\"label\":\"cat\",\"score\":0.76},{\"label\":\"dog\",\"score\":0.24}]", list,
				 "image-classification", DTYPE_F32),
		STATUS_FAILED);
	assert_string_equal(differs.text, "answer[0].score: 0.76, expected 0.75");
	assert_true(fabs(alike.score_difference - 0.01) < 1e-12);
	// What float16 makes of scores is no mistake of the engine's.
	assert_int_equal(beside("[{\"label\":\"cat\",\"score\":0.76},{\"label\":\"dog\",\"score\":0.247}]", list,
				 "image-classification", DTYPE_F16),
		STATUS_OK);
	assert_int_equal(beside("[{\"label\":\"dog\",\"score\":0.75},{\"label\":\"cat\",\"score\":0.25}]", list,
				 "image-classification", DTYPE_F32),
		STATUS_FAILED);
	assert_string_equal(in_words(), "0 of 2 labels the same, scores at most 0 apart");
	assert_int_equal(beside("{\"text\":\"the quick fox\",\"token_ids\":[1,2,3]}",
				 "{\"text\":\"the quick brown fox\",\"token_ids\":[1,2,4,3]}", "text-generation", DTYPE_F32),
		STATUS_FAILED);
	assert_string_equal(in_words(), "2 of 4 tokens the same, word error rate 0.25");
	// A prompt was not written, and who speaks in a chat is no label.
	prompt_tokens = 2;
	assert_int_equal(beside("[{\"role\":\"user\",\"token_ids\":[1,2,3,5]}]", "[{\"role\":\"user\",\"token_ids\":[1,2,4,5]}]",
				 "text-generation", DTYPE_F32),
		STATUS_FAILED);
	assert_string_equal(in_words(), "1 of 2 tokens the same");
	prompt_tokens = 0;
}

static void platforms_boxes(void **state)
{
	static const char want[] = "[{\"box\":{\"xmin\":0,\"ymin\":0,\"xmax\":10,\"ymax\":10}}]";

	(void)state;
	assert_int_equal(
		beside("[{\"box\":{\"xmin\":0,\"ymin\":0,\"xmax\":10,\"ymax\":9}}]", want, "object-detection", DTYPE_F32),
		STATUS_OK);
	assert_string_equal(in_words(), "least IoU of boxes 0.9000");
	assert_int_equal(
		beside("[{\"box\":{\"xmin\":5,\"ymin\":0,\"xmax\":15,\"ymax\":10}}]", want, "object-detection", DTYPE_F32),
		STATUS_FAILED);
	assert_true(fabs(alike.box_iou - 1.0 / 3) < 1e-12);
	assert_int_equal(beside("[]", want, "object-detection", DTYPE_F32), STATUS_FAILED);
	assert_string_equal(in_words(), "least IoU of boxes 0.0000");
	assert_int_equal(beside("[]", "[]", "object-detection", DTYPE_F32), STATUS_OK);
	assert_string_equal(in_words(), "nothing found by either");
}

static void save_picture(const char *folder, uint8_t first, uint8_t rest)
{
	struct picture p;

	assert_int_equal(picture_new(&p, &arena, 4, 4, 1, NULL), STATUS_OK);
	memset(p.pixels, rest, 16);
	p.pixels[0] = first;
	assert_int_equal(file_mkdirs(path(folder), NULL), STATUS_OK);
	assert_int_equal(picture_save(&p, arena_printf(&arena, "%s/a.png", path(folder)), NULL), STATUS_OK);
}

static void platforms_pictures(void **state)
{
	static const char picture[] = "{\"png\":\"a.png\"}";

	(void)state;
	save_picture("want", 100, 90);
	save_picture("got", 100, 90);
	assert_int_equal(beside(picture, picture, "depth-estimation", DTYPE_F32), STATUS_OK);
	assert_string_equal(in_words(), "pictures the same");
	save_picture("got", 102, 90); // 4 / 16 of a squared level
	assert_int_equal(beside(picture, picture, "depth-estimation", DTYPE_F32), STATUS_OK);
	assert_true(fabs(alike.psnr_db - 10 * log10(255.0 * 255.0 * 4)) < 1e-9);
	save_picture("got", 103, 90);
	assert_int_equal(beside(picture, picture, "depth-estimation", DTYPE_F32), STATUS_FAILED);
	save_picture("want", 255, 0);
	save_picture("got", 0, 255);
	assert_int_equal(beside(picture, picture, "image-segmentation", DTYPE_F32), STATUS_FAILED);
	assert_true(alike.mask_iou == 0 && isnan(alike.psnr_db));
	// Engines that overflow make the same picture, which is no mask though it has two values at most.
	save_picture("want", 255, 255);
	save_picture("got", 255, 255);
	assert_int_equal(beside(picture, picture, "text-to-image", DTYPE_F32), STATUS_UNSUPPORTED);
	assert_non_null(strstr(differs.text, "one value everywhere"));
	assert_true(isnan(alike.mask_iou));
	assert_int_equal(beside(picture, picture, "image-segmentation", DTYPE_F32), STATUS_OK);
	// What was not kept says nothing.
	assert_int_equal(beside(picture, "{\"png\":\"b.png\"}", "depth-estimation", DTYPE_F32), STATUS_BAD_INPUT);
}

static void platforms_tensors(void **state)
{
	float x[] = { 1, 2, 4 };
	struct tensor t = { .name = "t", .dtype = DTYPE_F32, .rank = 1, .dim = { 3 }, .data = x, .nbytes = sizeof x };
	static const char tensor[] = "{\"tensor\":\"t\"}";

	(void)state;
	assert_int_equal(file_mkdirs(path("got"), NULL), STATUS_OK);
	assert_int_equal(file_mkdirs(path("want"), NULL), STATUS_OK);
	assert_int_equal(safetensors_write_user(path("want/answer.safetensors"), &t, 1, NULL), STATUS_OK);
	x[2] = 4.004F;
	assert_int_equal(safetensors_write_user(path("got/answer.safetensors"), &t, 1, NULL), STATUS_OK);
	assert_int_equal(beside(tensor, tensor, "feature-extraction", DTYPE_F32), STATUS_OK);
	assert_true(fabs(alike.max_abs_error - 0.004) < 1e-6 && alike.nmse > 0);
	assert_string_equal(in_words(), "tensors at most 0.004 apart");
	x[2] = 4.1F;
	assert_int_equal(safetensors_write_user(path("got/answer.safetensors"), &t, 1, NULL), STATUS_OK);
	assert_int_equal(beside(tensor, tensor, "feature-extraction", DTYPE_F32), STATUS_FAILED);
	x[2] = (float)NAN;
	assert_int_equal(safetensors_write_user(path("got/answer.safetensors"), &t, 1, NULL), STATUS_OK);
	assert_int_equal(beside(tensor, tensor, "feature-extraction", DTYPE_F32), STATUS_FAILED);
}

// One large value widens the bound of all others: where what is small beside it is unlike, nothing is said.
static void platforms_small_beside_large(void **state)
{
	enum { COUNT = 256 };
	float x[COUNT];
	struct tensor t = { .name = "t", .dtype = DTYPE_F32, .rank = 1, .dim = { COUNT }, .data = x, .nbytes = sizeof x };
	static const char tensor[] = "{\"tensor\":\"t\"}";

	(void)state;
	for (int wrong = 0; wrong < 2; wrong++) {
		for (size_t i = 0; i < COUNT; i++)
			x[i] = i ? (float)sin((double)i) : 400;
		assert_int_equal(safetensors_write_user(path("want/answer.safetensors"), &t, 1, NULL), STATUS_OK);
		for (size_t i = 1; i < COUNT; i++)
			x[i] += wrong ? (float)(0.04 * cos(3.0 * (double)i)) : 1e-6F;
		assert_int_equal(safetensors_write_user(path("got/answer.safetensors"), &t, 1, NULL), STATUS_OK);
		assert_int_equal(beside(tensor, tensor, "feature-extraction", DTYPE_F32), wrong ? STATUS_UNSUPPORTED : STATUS_OK);
	}
	assert_string_equal(differs.text,
		"answer: what is small beside the largest value, 400, is unlike, and a bound of 0.002 of that says nothing of "
		"it");
}

static int begin(void **state)
{
	return open_known(state) || scratch_make(state);
}

static int end(void **state)
{
	return close_known(state) || scratch_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boxes),
		cmocka_unit_test(boxes_in_words),
		cmocka_unit_test(labels),
		cmocka_unit_test(queries),
		cmocka_unit_test(nothing_found),
		cmocka_unit_test(unpadded),
		cmocka_unit_test(depths),
		cmocka_unit_test(one_depth),
		cmocka_unit_test(spoken),
		cmocka_unit_test(windows),
		cmocka_unit_test(platforms_texts),
		cmocka_unit_test(platforms_boxes),
		cmocka_unit_test(platforms_pictures),
		cmocka_unit_test(platforms_tensors),
		cmocka_unit_test(platforms_small_beside_large),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
