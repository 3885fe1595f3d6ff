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
	};

	return cmocka_run_group_tests(tests, open_known, close_known);
}
