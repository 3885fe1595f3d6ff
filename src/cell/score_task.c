// SPDX-License-Identifier: Apache-2.0
// Scores by the rules of a task: words that were said, boxes, masks. The same functions make the answers of pipelines.
#include <math.h>
#include <string.h>

#include "answer/boxes.h"
#include "answer/ctc.h"
#include "answer/masks.h"
#include "base/hash.h"
#include "base/text.h"
#include "cell/score.h"
#include "stats/word_error.h"

// An output of float32 of this rank whose first dimension is 1, without an empty one.
static enum status output_of(
	const struct tensor **found, const struct tensor *out, size_t count, const char *name, int rank, struct error *err)
{
	const struct tensor *t = tensor_named(out, count, name);
	bool good = t && t->dtype == DTYPE_F32 && t->rank == rank && t->dim[0] == 1;

	for (int i = 0; good && i < rank; i++)
		good = t->dim[i] > 0;
	*found = t;
	return good
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "it wants an output %s of %d dimensions, and this model has none", name, rank);
}

static bool is_finite(const struct tensor *t)
{
	const float *x = t->data;
	bool good = true;

	for (size_t i = 0; i < t->nbytes / sizeof *x; i++)
		good = good && isfinite(x[i]);
	return good;
}

// Room for `count` rows more; NULL and *err: there are too many in all.
static double *more_rows(struct scores *s, struct arena *a, size_t count, struct error *err)
{
	const size_t size = scores_row_size(s->metric), wanted = s->row_count + count;

	if (wanted > DATA_ROWS_MOST) {
		error_set(err, STATUS_BAD_INPUT, "--data: more than %d boxes, or classes of masks, in all", DATA_ROWS_MOST);
		return NULL;
	}
	if (wanted > s->row_room) {
		double *old = s->rows;

		s->row_room = 2 * wanted + 1024;
		s->rows = ARENA_ARRAY(a, s->row_room * size, double);
		if (s->row_count)
			memcpy(s->rows, old, s->row_count * size * sizeof *old);
	}
	return s->rows + s->row_count * size;
}

// ---- words ---------------------------------------------------------------------------------------------------------------

static int64_t hash_of(const char *text)
{
	return (int64_t)(fnv1a64_text(text) >> 1); // -1 is no hash
}

static enum status spell(const char **text, struct arena *a, const struct tensor *logits, struct tokenizer *t, struct error *err)
{
	const size_t frames = (size_t)logits->dim[1];
	uint32_t *ids = ARENA_ARRAY(a, frames + 1, uint32_t);
	size_t nbytes;
	char *made;

	ctc_best(logits->data, frames, (size_t)logits->dim[2], ids);
	enum status st = tokenizer_decode_frames(t, a, ids, frames, false, &made, &nbytes, err);
	*text = made;
	return st;
}

enum status scores_add_words(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out,
	size_t count, const struct score_rules *rules, struct error *err)
{
	struct arena own = { 0 };
	const char *text = rules->said;
	const struct tensor *logits;
	size_t errors = 0, words = 0;
	bool broken = false;
	enum status st = STATUS_OK;

	if (!text && !(st = output_of(&logits, out, count, "logits", 3, err)) && !(broken = !is_finite(logits)))
		st = spell(&text, &own, logits, rules->tokenizer, err);
	if (!st && !word_error(text ? text : "", e->transcript, &errors, &words))
		st = error_set(err, STATUS_BAD_INPUT, "the model says more than %d words", WORD_ERROR_WORDS_MOST);
	if (!st) {
		s->sum[s->count] = broken ? (double)NAN : (double)errors;
		s->weight[s->count] = (double)words;
		s->broken += broken;
		st = scores_place(s, a, broken ? -1 : hash_of(text), hash_of(e->transcript), 0, err);
	}
	arena_done(&own);
	return st;
}

// ---- boxes ---------------------------------------------------------------------------------------------------------------

static enum status detections_of(struct boxes *found, struct arena *a, const struct data_example *e, const struct tensor *out,
	size_t count, const struct detector *by, bool *broken, struct error *err)
{
	const struct tensor *logits, *boxes;
	enum status st;

	if ((st = output_of(&logits, out, count, "logits", 3, err)) || (st = output_of(&boxes, out, count, "pred_boxes", 3, err)))
		return st;
	const size_t queries = (size_t)logits->dim[1], classes = (size_t)logits->dim[2];
	if (boxes->dim[1] != logits->dim[1] || boxes->dim[2] != 4)
		return error_set(
			err, STATUS_BAD_INPUT, "the model gives %lld boxes for %zu queries", (long long)boxes->dim[1], queries);
	for (size_t i = 0; i < e->box_count; i++)
		if (!(e->boxes[i].label >= 0 && e->boxes[i].label < (double)classes))
			return error_set(
				err, STATUS_BAD_INPUT, "boxes: the label %g is none of %zu classes", e->boxes[i].label, classes);
	*broken = !is_finite(logits) || !is_finite(boxes);
	if (*broken)
		return STATUS_OK;
	double *numbers = ARENA_ARRAY(a, queries * classes + 1, double);
	for (size_t i = 0; i < queries * classes; i++)
		numbers[i] = tensor_get(logits, i);
	const struct detections d = { numbers, boxes->data, queries, classes, e->width, e->height };
	*found = boxes_found(a, &d, by->rule, by->most ? by->most : queries, 0);
	return STATUS_OK;
}

static struct detection row_of(const struct box *b)
{
	const double left = (double)b->edge[0], top = (double)b->edge[1];

	return (struct detection){ DETECTION_FOUND, (double)b->label, b->score,
		{ left, top, (double)b->edge[2] - left, (double)b->edge[3] - top } };
}

enum status scores_add_boxes(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out,
	size_t count, const struct score_rules *rules, struct error *err)
{
	struct arena own = { 0 };
	const struct detector *by = detector_of(rules->processor);
	struct boxes found = { 0 };
	bool broken = false;
	enum status st = by ? detections_of(&found, &own, e, out, count, by, &broken, err)
			    : error_set(err, STATUS_UNSUPPORTED, "boxes of a model whose processor is %s",
				      rules->processor ? rules->processor : "not known");
	struct detection *rows = st ? NULL : (struct detection *)more_rows(s, a, found.count + e->box_count, err);

	if (rows) {
		const size_t all = found.count + e->box_count;

		for (size_t i = 0; i < all; i++)
			rows[i] = i < found.count ? row_of(&found.items[i]) : e->boxes[i - found.count];
		s->row_count += all;
		// A picture without a thing has no figure of its own; what is found there counts in that of all.
		const double mean = average_precision(rows, (const int64_t[]){ 0, (int64_t)all }, 1).mean;
		s->sum[s->count] = broken ? (double)NAN : isnan(mean) ? 0 : mean;
		s->weight[s->count] = 1;
		s->broken += broken;
	}
	arena_done(&own);
	return st ? st : rows ? STATUS_OK : STATUS_BAD_INPUT;
}

// ---- masks ---------------------------------------------------------------------------------------------------------------

static struct planes planes_of(const struct tensor *t) // the last three dimensions
{
	return (struct planes){ (int)t->dim[t->rank - 3], (int)t->dim[t->rank - 2], (int)t->dim[t->rank - 1], t->data };
}

// The class of each pixel of the mask's size; *classes: how many there are.
static enum status classes_of_pixels(int32_t **labels, int *classes, struct arena *a, const struct segmenter *by,
	const struct tensor *out, size_t count, const struct picture *mask, bool *broken, struct error *err)
{
	const struct tensor *maps, *masks;
	enum status st = output_of(&maps, out, count, by->classes, by->masks ? 3 : 4, err);

	if (st)
		return st;
	*broken = !is_finite(maps);
	if (!by->masks) {
		const struct planes p = planes_of(maps);

		*classes = p.channels;
		return *broken ? STATUS_OK : labels_of_pixels(labels, a, &p, mask->height, mask->width, err);
	}
	if ((st = output_of(&masks, out, count, by->masks, 4, err)))
		return st;
	if (masks->dim[1] != maps->dim[1] || maps->dim[2] < 2)
		return error_set(err, STATUS_BAD_INPUT, "the model gives %lld masks for %lld queries", (long long)masks->dim[1],
			(long long)maps->dim[1]);
	const size_t numbers = (size_t)(maps->dim[1] * maps->dim[2]);
	double *scores = ARENA_ARRAY(a, numbers + 1, double);
	for (size_t i = 0; i < numbers; i++)
		scores[i] = tensor_get(maps, i);
	const struct mask_queries q = { scores, planes_of(masks), (size_t)maps->dim[2] - 1, by->side };
	struct planes sums;
	*classes = (int)q.labels;
	*broken = *broken || !is_finite(masks);
	if (*broken)
		return STATUS_OK;
	return (st = planes_of_queries(&sums, a, &q, err)) ? st
							   : labels_of_pixels(labels, a, &sums, mask->height, mask->width, err);
}

// Pixels of each class that occurs, as rows; all of the mask's that are judged are below `classes`.
static enum status count_pixels(
	struct scores *s, struct arena *a, const struct picture *mask, const int32_t *labels, int classes, struct error *err)
{
	struct arena own = { 0 };
	struct overlap *all = ARENA_ARRAY(&own, (size_t)classes, struct overlap), *rows;
	size_t used = 0;
	enum status st = STATUS_OK;

	for (size_t i = 0; i < (size_t)mask->width * (size_t)mask->height && !st; i++) {
		const int wanted = mask->pixels[3 * i];

		if (wanted == OVERLAP_IGNORED)
			continue;
		if (wanted >= classes) {
			st = error_set(
				err, STATUS_BAD_INPUT, "the mask has the class %d, and the model %d classes", wanted, classes);
			break;
		}
		all[wanted].both += labels[i] == wanted;
		all[wanted].either++;
		all[labels[i]].either += labels[i] != wanted;
	}
	for (int k = 0; k < classes && !st; k++) {
		all[k].label = k;
		if (all[k].either > 0)
			all[used++] = all[k];
	}
	if (!st && !used)
		st = error_set(err, STATUS_BAD_INPUT, "none of the mask's pixels is judged: all are %d", OVERLAP_IGNORED);
	if (!st && !(rows = (struct overlap *)more_rows(s, a, used, err)))
		st = STATUS_BAD_INPUT;
	if (!st) {
		memcpy(rows, all, used * sizeof *rows);
		s->row_count += used;
		s->sum[s->count] = overlap_mean(rows, used);
	}
	arena_done(&own);
	return st;
}

enum status scores_add_mask(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out,
	size_t count, const struct score_rules *rules, struct error *err)
{
	struct arena own = { 0 };
	const struct segmenter *by = segmenter_of(rules->processor);
	int32_t *labels = NULL;
	int classes = 0;
	bool broken = false;
	enum status st = by ? classes_of_pixels(&labels, &classes, &own, by, out, count, &e->mask, &broken, err)
			    : error_set(err, STATUS_UNSUPPORTED, "masks of a model whose processor is %s",
				      rules->processor ? rules->processor : "not known");

	s->sum[s->count] = (double)NAN;
	s->weight[s->count] = 1;
	s->broken += !st && broken;
	if (!st && !broken)
		st = count_pixels(s, a, &e->mask, labels, classes, err);
	arena_done(&own);
	return st;
}
