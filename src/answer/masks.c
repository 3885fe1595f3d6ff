// SPDX-License-Identifier: Apache-2.0
#include "answer/masks.h"

#include <math.h>
#include <string.h>

#include "answer/boxes.h"
#include "answer/scores.h"
#include "base/text.h"

static const struct segmenter segmenters[] = {
	{ "Segformer", "logits", NULL, 0 },
	{ "Beit", "logits", NULL, 0 },
	{ "DPT", "logits", NULL, 0 },
	{ "MobileNetV2", "logits", NULL, 0 },
	{ "MobileViT", "logits", NULL, 0 },
	{ "Mask2Former", "class_queries_logits", "masks_queries_logits", 384 },
	{ "MaskFormer", "class_queries_logits", "masks_queries_logits", 0 },
};

const struct segmenter *segmenter_of(const char *processor)
{
	for (size_t i = 0; i < sizeof segmenters / sizeof *segmenters; i++)
		if (text_is(segmenters[i].processor, processor))
			return &segmenters[i];
	return NULL;
}

static size_t pixels_of(const struct planes *p)
{
	return (size_t)p->height * (size_t)p->width;
}

static struct planes plane(const struct planes *of, size_t i)
{
	return (struct planes){ 1, of->height, of->width, of->data + i * pixels_of(of) };
}

// For each pixel of a picture the best score so far, and whose it is.
struct contest {
	int height, width;
	size_t pixels;
	float *best;
	int32_t *winner;
};

static enum status contest_new(struct contest *c, struct arena *a, int height, int width, struct error *err)
{
	enum status st = picture_check(width, height, err);

	if (st)
		return st;
	*c = (struct contest){ .height = height, .width = width, .pixels = (size_t)height * (size_t)width };
	c->best = arena_try(a, c->pixels * sizeof *c->best);
	c->winner = arena_try(a, c->pixels * sizeof *c->winner);
	if (!c->best || !c->winner)
		return error_set(err, STATUS_NO_MEMORY, "no memory for the segments of a picture of %d x %d", width, height);
	for (size_t i = 0; i < c->pixels; i++) {
		c->best[i] = -INFINITY;
		c->winner[i] = -1;
	}
	return STATUS_OK;
}

// The first of equal ones wins.
static void contest_enter(struct contest *c, int32_t who, const float *scores)
{
	for (size_t i = 0; i < c->pixels; i++)
		if (scores[i] > c->best[i]) {
			c->best[i] = scores[i];
			c->winner[i] = who;
		}
}

static size_t contest_won(const struct contest *c, int32_t who)
{
	size_t won = 0;

	for (size_t i = 0; i < c->pixels; i++)
		won += c->winner[i] == who;
	return won;
}

// Where `who` has won, as one more segment.
static enum status contest_segment(struct segments *out, struct arena *a, const struct contest *c, int32_t who, int64_t label,
	double score, struct error *err)
{
	struct segment *s = &out->items[out->count];
	enum status st = picture_new(&s->mask, a, c->width, c->height, 1, err);

	if (st)
		return st;
	for (size_t i = 0; i < c->pixels; i++)
		s->mask.pixels[i] = c->winner[i] == who ? 255 : 0;
	s->label = label;
	s->score = score;
	out->count++;
	return STATUS_OK;
}

// Every label takes part with its resized map.
static enum status contest_of_labels(
	struct contest *c, struct arena *a, const struct planes *logits, int height, int width, struct error *err)
{
	enum status st = contest_new(c, a, height, width, err);

	for (int label = 0; !st && label < logits->channels; label++) {
		struct planes one = plane(logits, (size_t)label), resized;
		struct arena brief = { 0 };

		if (!(st = planes_between(&resized, &brief, &one, height, width, false, err)))
			contest_enter(c, label, resized.data);
		arena_done(&brief);
	}
	return st;
}

enum status labels_of_pixels(
	int32_t **out, struct arena *a, const struct planes *logits, int height, int width, struct error *err)
{
	struct contest c;
	enum status st = contest_of_labels(&c, a, logits, height, width, err);

	if (!st)
		*out = c.winner;
	return st;
}

enum status segments_of_labels(
	struct segments *out, struct arena *a, const struct planes *logits, int height, int width, struct error *err)
{
	struct arena own = { 0 };
	struct contest c;
	enum status st = contest_of_labels(&c, &own, logits, height, width, err);

	*out = (struct segments){ ARENA_ARRAY(a, (size_t)logits->channels + 1, struct segment), 0 };
	for (int label = 0; !st && label < logits->channels; label++)
		if (contest_won(&c, label))
			st = contest_segment(out, a, &c, label, label, (double)NAN, err);
	arena_done(&own);
	return st;
}

// A query's mask at the size in which the library works on it: logits.
static enum status working_mask(
	struct planes *out, struct arena *a, const struct mask_queries *q, size_t query, struct error *err)
{
	struct planes one = plane(&q->masks, query);

	if (q->side)
		return planes_between(out, a, &one, q->side, q->side, false, err);
	enum status st = planes_new(out, a, 1, one.height, one.width, err);
	if (!st)
		memcpy(out->data, one.data, pixels_of(&one) * sizeof(float));
	return st;
}

static void to_probability(struct planes *p)
{
	for (size_t i = 0; i < (size_t)p->channels * pixels_of(p); i++)
		p->data[i] = (float)scores_sigmoid((double)p->data[i]);
}

// [queries, labels + 1]
static double *class_probabilities(struct arena *a, const struct mask_queries *q)
{
	size_t queries = (size_t)q->masks.channels, classes = q->labels + 1;
	double *out = ARENA_ARRAY(a, queries * classes + 1, double);

	for (size_t i = 0; i < queries; i++)
		scores_softmax(q->classes + i * classes, classes, out + i * classes);
	return out;
}

enum status planes_of_queries(struct planes *out, struct arena *a, const struct mask_queries *q, struct error *err)
{
	const double *classes = class_probabilities(a, q);
	enum status st =
		planes_new(out, a, (int)q->labels, q->side ? q->side : q->masks.height, q->side ? q->side : q->masks.width, err);

	for (size_t query = 0; !st && query < (size_t)q->masks.channels; query++) {
		struct arena brief = { 0 };
		struct planes mask;

		if (!(st = working_mask(&mask, &brief, q, query, err))) {
			to_probability(&mask);
			for (size_t label = 0; label < q->labels; label++) {
				float weight = (float)classes[query * (q->labels + 1) + label];
				float *sum = out->data + label * pixels_of(out);
				for (size_t i = 0; i < pixels_of(out); i++)
					sum[i] += weight * mask.data[i];
			}
		}
		arena_done(&brief);
	}
	return st;
}

enum status segments_of_queries(
	struct segments *out, struct arena *a, const struct mask_queries *q, int height, int width, struct error *err)
{
	struct arena own = { 0 };
	struct planes sums;
	enum status st = planes_of_queries(&sums, &own, q, err);

	if (!st)
		st = segments_of_labels(out, a, &sums, height, width, err);
	arena_done(&own);
	return st;
}

static double six_digits(double x)
{
	return round(x * 1e6) / 1e6;
}

// A query that takes part in the panoptic contest.
struct entrant {
	size_t query, label, area; // area: pixels where its own weighted probability reaches the mask's threshold
	float score;
};

static enum status enter_contest(struct contest *c, struct entrant *p, int32_t who, const struct mask_queries *q,
	const struct mask_thresholds *thresholds, struct error *err)
{
	struct arena brief = { 0 };
	struct planes mask, resized;
	enum status st = working_mask(&mask, &brief, q, p->query, err);

	if (!st) {
		to_probability(&mask);
		st = planes_between(&resized, &brief, &mask, c->height, c->width, false, err);
	}
	for (size_t i = 0; !st && i < c->pixels; i++) {
		resized.data[i] *= p->score;
		p->area += (double)resized.data[i] >= thresholds->mask;
	}
	if (!st)
		contest_enter(c, who, resized.data);
	arena_done(&brief);
	return st;
}

enum status segments_panoptic(struct segments *out, struct arena *a, const struct mask_queries *q,
	const struct mask_thresholds *thresholds, int height, int width, struct error *err)
{
	struct arena own = { 0 };
	size_t queries = (size_t)q->masks.channels, count = 0;
	const double *classes = class_probabilities(&own, q);
	struct entrant *parts = ARENA_ARRAY(&own, queries + 1, struct entrant);
	struct contest c;
	enum status st = contest_new(&c, &own, height, width, err);

	*out = (struct segments){ ARENA_ARRAY(a, queries + 1, struct segment), 0 };
	for (size_t query = 0; !st && query < queries; query++) {
		const double *scores = classes + query * (q->labels + 1);
		size_t label = scores_best(scores, q->labels + 1);

		if (label == q->labels || !(scores[label] > thresholds->score))
			continue;
		parts[count] = (struct entrant){ .query = query, .label = label, .score = (float)scores[label] };
		st = enter_contest(&c, &parts[count], (int32_t)count, q, thresholds, err);
		count++;
	}
	for (size_t i = 0; !st && i < count; i++) {
		size_t won = contest_won(&c, (int32_t)i);

		if (won && parts[i].area && (double)((float)won / (float)parts[i].area) > thresholds->overlap)
			st = contest_segment(
				out, a, &c, (int32_t)i, (int64_t)parts[i].label, six_digits((double)parts[i].score), err);
	}
	arena_done(&own);
	return st;
}

// The mean probability where the mask is above one half.
static float mean_within(const struct planes *logits)
{
	double sum = 0, count = 0;

	for (size_t i = 0; i < pixels_of(logits); i++)
		if (logits->data[i] > 0) {
			sum += scores_sigmoid((double)logits->data[i]);
			count++;
		}
	return (float)(sum / (count + 1e-6));
}

// The pixels of the picture that lie in the mask (the nearest one to the left and above) become `who`; false: there are none.
static bool take_pixels(struct contest *c, int32_t who, const struct planes *logits)
{
	float down = (float)logits->height / (float)c->height, across = (float)logits->width / (float)c->width;
	bool any = false;

	for (int y = 0; y < c->height; y++)
		for (int x = 0; x < c->width; x++) {
			int from_y = (int)((float)y * down), from_x = (int)((float)x * across);

			from_y = from_y < logits->height ? from_y : logits->height - 1;
			from_x = from_x < logits->width ? from_x : logits->width - 1;
			if (logits->data[(size_t)from_y * (size_t)logits->width + (size_t)from_x] > 0) {
				c->winner[(size_t)y * (size_t)c->width + (size_t)x] = who;
				any = true;
			}
		}
	return any;
}

enum status segments_of_instances(struct segments *out, struct arena *a, const struct mask_queries *q,
	const struct mask_thresholds *thresholds, int height, int width, struct error *err)
{
	struct arena own = { 0 };
	size_t queries = (size_t)q->masks.channels, count = 0;
	const double *classes = class_probabilities(&own, q);
	double *scores = ARENA_ARRAY(&own, queries * q->labels + 1, double);
	struct entrant *parts = ARENA_ARRAY(&own, queries + 1, struct entrant);
	struct contest c;
	enum status st = contest_new(&c, &own, height, width, err);

	*out = (struct segments){ ARENA_ARRAY(a, queries + 1, struct segment), 0 };
	for (size_t i = 0; i < queries * q->labels; i++)
		scores[i] = classes[i / q->labels * (q->labels + 1) + i % q->labels];
	const size_t *top = scores_order(&own, scores, queries * q->labels);
	for (size_t i = 0; !st && i < queries && i < queries * q->labels; i++) {
		struct arena brief = { 0 };
		struct planes mask;

		if (!(st = working_mask(&mask, &brief, q, top[i] / q->labels, err))) {
			float score = (float)scores[top[i]] * mean_within(&mask);

			if ((double)score >= thresholds->score && take_pixels(&c, (int32_t)count, &mask))
				parts[count++] = (struct entrant){ .label = top[i] % q->labels, .score = score };
		}
		arena_done(&brief);
	}
	for (size_t i = 0; !st && i < count; i++)
		st = contest_segment(out, a, &c, (int32_t)i, (int64_t)parts[i].label, six_digits((double)parts[i].score), err);
	arena_done(&own);
	return st;
}

enum status mask_unpadded(struct picture *out, struct arena *a, const struct planes *logits, const int padded[2],
	const int taken[2], int height, int width, struct error *err)
{
	struct arena own = { 0 };
	struct planes whole, part, resized;
	int rows = taken[0] < padded[0] ? taken[0] : padded[0], columns = taken[1] < padded[1] ? taken[1] : padded[1];
	enum status st;

	if ((st = planes_between(&whole, &own, logits, padded[0], padded[1], false, err)) ||
		(st = planes_new(&part, &own, 1, rows, columns, err)))
		goto done;
	for (int y = 0; y < rows; y++)
		memcpy(part.data + (size_t)y * (size_t)columns, whole.data + (size_t)y * (size_t)padded[1],
			(size_t)columns * sizeof(float));
	if ((st = planes_between(&resized, &own, &part, height, width, false, err)) ||
		(st = picture_new(out, a, width, height, 1, err)))
		goto done;
	for (size_t i = 0; i < pixels_of(&resized); i++)
		out->pixels[i] = resized.data[i] > 0 ? 255 : 0;
done:
	arena_done(&own);
	return st;
}
