// SPDX-License-Identifier: Apache-2.0
#include "stats/detection.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

// A detection in the order in which a class's are looked at; `match` has a bit for each threshold.
struct hit {
	double score;
	size_t order; // pictures in their order, detections of one in theirs
	uint32_t right, ignored;
};

struct hits { // of one class
	struct hit *items;
	size_t count;
	size_t truths; // that are no crowds
};

static double overlap(const double *found, const double *truth, bool is_crowd)
{
	const double width = fmin(found[0] + found[2], truth[0] + truth[2]) - fmax(found[0], truth[0]),
		     height = fmin(found[1] + found[3], truth[1] + truth[3]) - fmax(found[1], truth[1]);
	const double area = found[2] * found[3];

	if (!(width > 0) || !(height > 0))
		return 0;
	return width * height / (is_crowd ? area : area + truth[2] * truth[3] - width * height);
}

static int by_falling_score(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

// Rows of one picture and class: truths that are no crowds first, then crowds.
struct picture_of_class {
	const struct detection **truths;
	size_t truth_count, plain_count;
	const struct detection *const *found; // by falling score
	size_t found_count;
	uint32_t *taken; // of each truth, a bit for each threshold
};

// The truth that detection `box` takes at a threshold; truth_count: none.
static size_t match(const struct picture_of_class *p, const double *box, int at)
{
	double best = at == DETECTION_THRESHOLDS - 1 ? 0.95 : 0.5 + at * ((0.95 - 0.5) / (DETECTION_THRESHOLDS - 1));
	size_t taken = p->truth_count;

	for (size_t k = 0; k < p->truth_count; k++) {
		const bool is_crowd = k >= p->plain_count;

		if (p->taken[k] >> at & 1 && !is_crowd)
			continue;
		if (taken < p->plain_count && is_crowd)
			break;
		const double iou = overlap(box, p->truths[k]->box, is_crowd);
		if (iou < best)
			continue;
		best = iou;
		taken = k;
	}
	return taken;
}

static void match_all(struct picture_of_class *p, struct hits *out)
{
	for (size_t i = 0; i < p->found_count && i < DETECTION_MOST; i++) {
		struct hit *h = &out->items[out->count];

		*h = (struct hit){ .score = p->found[i]->score, .order = out->count };
		out->count++;
		for (int at = 0; at < DETECTION_THRESHOLDS; at++) {
			const size_t k = match(p, p->found[i]->box, at);

			if (k == p->truth_count)
				continue;
			p->taken[k] |= 1u << at;
			if (k < p->plain_count)
				h->right |= 1u << at;
			else
				h->ignored |= 1u << at;
		}
	}
}

static int by_row_score(const void *a, const void *b)
{
	const struct detection *x = *(const struct detection *const *)a, *y = *(const struct detection *const *)b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x < y ? -1 : x > y;
}

// What picture `rows` has of the class, matched, into *out.
static void take_picture(struct hits *out, const struct detection *rows, size_t count, double label)
{
	struct arena a = { 0 };
	const struct detection **truths = ARENA_ARRAY(&a, count + 1, const struct detection *),
			       **found = ARENA_ARRAY(&a, count + 1, const struct detection *);
	struct picture_of_class p = { .truths = truths, .found = found, .taken = ARENA_ARRAY(&a, count + 1, uint32_t) };

	for (int crowds = 0; crowds < 2; crowds++) {
		for (size_t i = 0; i < count; i++)
			if (rows[i].label == label && rows[i].kind == (crowds ? DETECTION_CROWD : DETECTION_TRUTH))
				truths[p.truth_count++] = &rows[i];
		p.plain_count = crowds ? p.plain_count : p.truth_count;
	}
	for (size_t i = 0; i < count; i++)
		if (rows[i].label == label && rows[i].kind == DETECTION_FOUND)
			found[p.found_count++] = &rows[i];
	if (p.found_count)
		qsort(found, p.found_count, sizeof *found, by_row_score);
	out->truths += p.plain_count;
	match_all(&p, out);
	arena_done(&a);
}

// Average over the recalls at threshold `at`; hits by falling score. `precision` and `recall` are scratch [count].
static double at_threshold(const struct hits *h, int at, double *precision, double *recall)
{
	double right = 0, wrong = 0, sum = 0;
	size_t k = 0;

	for (size_t i = 0; i < h->count; i++) {
		const bool is_right = h->items[i].right >> at & 1, counts = !(h->items[i].ignored >> at & 1);

		right += is_right;
		wrong += !is_right && counts;
		recall[i] = right / (double)h->truths;
		precision[i] = right / (right + wrong + 0x1p-52); // COCOeval adds numpy.spacing(1)
	}
	for (size_t i = h->count; i-- > 1;)
		precision[i - 1] = fmax(precision[i - 1], precision[i]);
	for (int r = 0; r < DETECTION_RECALLS; r++) {
		const double wanted = r == DETECTION_RECALLS - 1 ? 1 : r * (1.0 / (DETECTION_RECALLS - 1)); // numpy.linspace

		while (k < h->count && recall[k] < wanted)
			k++;
		sum += k < h->count ? precision[k] : 0;
	}
	return sum / DETECTION_RECALLS;
}

static int by_number(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

// The classes that have a truth, each once.
static size_t classes_of(double *out, const struct detection *rows, size_t count)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].kind == DETECTION_TRUTH)
			out[n++] = rows[i].label;
	if (n)
		qsort(out, n, sizeof *out, by_number);
	for (size_t i = 0; i < n; i++)
		if (!i || out[i] != out[i - 1])
			out[kept++] = out[i];
	return kept;
}

struct average_precision average_precision(const struct detection *rows, const int64_t *first, size_t count)
{
	struct arena a = { 0 };
	const size_t all = (size_t)first[count];
	double *classes = ARENA_ARRAY(&a, all + 1, double), *precision = ARENA_ARRAY(&a, all + 1, double),
	       *recall = ARENA_ARRAY(&a, all + 1, double), sum = 0, of_50 = 0;
	struct hit *items = ARENA_ARRAY(&a, all + 1, struct hit);
	const size_t class_count = classes_of(classes, rows, all);

	for (size_t c = 0; c < class_count; c++) {
		struct hits h = { .items = items };

		for (size_t i = 0; i < count; i++)
			take_picture(&h, rows + first[i], (size_t)(first[i + 1] - first[i]), classes[c]);
		if (h.count)
			qsort(h.items, h.count, sizeof *h.items, by_falling_score);
		for (int at = 0; at < DETECTION_THRESHOLDS; at++) {
			const double x = at_threshold(&h, at, precision, recall);

			sum += x;
			of_50 += at ? 0 : x;
		}
	}
	arena_done(&a);
	return (struct average_precision){ sum / (double)(class_count * DETECTION_THRESHOLDS), of_50 / (double)class_count };
}
