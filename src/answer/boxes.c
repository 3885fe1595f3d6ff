// SPDX-License-Identifier: Apache-2.0
#include "answer/boxes.h"

#include <math.h>

#include "answer/scores.h"
#include "base/text.h"

enum { PAIRS_USUAL = 100 }; // top_k of post_process_object_detection

static const struct detector detectors[] = {
	{ "Detr", BOXES_NO_OBJECT, 0 },
	{ "Yolos", BOXES_NO_OBJECT, 0 },
	{ "ConditionalDetr", BOXES_PAIRS, PAIRS_USUAL },
	{ "DeformableDetr", BOXES_PAIRS, PAIRS_USUAL },
	{ "RTDetr", BOXES_PAIRS, 0 },
};

const struct detector *detector_of(const char *processor)
{
	for (size_t i = 0; i < sizeof detectors / sizeof *detectors; i++)
		if (text_is(detectors[i].processor, processor))
			return &detectors[i];
	return NULL;
}

size_t scores_best(const double *scores, size_t count)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++)
		if (scores[i] > scores[best])
			best = i;
	return best;
}

static struct box box_of(const struct detections *d, size_t query, size_t label, double score)
{
	const float *at = d->boxes + 4 * query, half = 0.5f;
	const float width = (float)d->width, height = (float)d->height;

	return (struct box){ score, (int64_t)label,
		{ (at[0] - half * at[2]) * width, (at[1] - half * at[3]) * height, (at[0] + half * at[2]) * width,
			(at[1] + half * at[3]) * height } };
}

static struct boxes of_pairs(struct arena *a, const struct detections *d, size_t most, double threshold)
{
	size_t pairs = d->queries * d->classes;
	double *scores = ARENA_ARRAY(a, pairs + 1, double);
	struct boxes out = { ARENA_ARRAY(a, pairs + 1, struct box), 0 };

	for (size_t i = 0; i < pairs; i++)
		scores[i] = scores_sigmoid(d->logits[i]);
	const size_t *top = scores_order(a, scores, pairs);
	for (size_t i = 0; i < pairs && i < most && scores[top[i]] > threshold; i++)
		out.items[out.count++] = box_of(d, top[i] / d->classes, top[i] % d->classes, scores[top[i]]);
	return out;
}

struct boxes boxes_found(struct arena *a, const struct detections *d, enum boxes_rule rule, size_t most, double threshold)
{
	double *scores = ARENA_ARRAY(a, d->classes + 1, double);
	struct boxes out = { ARENA_ARRAY(a, d->queries + 1, struct box), 0 };

	if (rule == BOXES_PAIRS)
		return of_pairs(a, d, most, threshold);
	for (size_t query = 0; query < d->queries; query++) {
		const double *logits = d->logits + query * d->classes;
		size_t label = scores_best(logits, d->classes - (rule == BOXES_NO_OBJECT));

		scores_softmax(logits, d->classes, scores);
		if (rule == BOXES_QUERIES)
			scores[label] = scores_sigmoid(logits[label]);
		if (scores[label] > threshold)
			out.items[out.count++] = box_of(d, query, label, scores[label]);
	}
	return out;
}

void boxes_sort(struct arena *a, struct boxes *b)
{
	double *scores = ARENA_ARRAY(a, b->count + 1, double);
	struct box *sorted = ARENA_ARRAY(a, b->count + 1, struct box);

	for (size_t i = 0; i < b->count; i++)
		scores[i] = b->items[i].score;
	const size_t *top = scores_order(a, scores, b->count);
	for (size_t i = 0; i < b->count; i++)
		sorted[i] = b->items[top[i]];
	b->items = sorted;
}

// Towards zero, as an int of 32 bits holds it.
static json_int_t whole(float x)
{
	return isnan(x) ? 0 : (json_int_t)fmax(INT32_MIN, fmin(INT32_MAX, (double)x));
}

json_t *box_answer(const struct box *b, const char *label)
{
	return json_pack("{s:f, s:s, s:{s:I, s:I, s:I, s:I}}", "score", b->score, "label", label, "box", "xmin",
		whole(b->edge[0]), "ymin", whole(b->edge[1]), "xmax", whole(b->edge[2]), "ymax", whole(b->edge[3]));
}
