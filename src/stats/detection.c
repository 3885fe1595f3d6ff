// SPDX-License-Identifier: Apache-2.0
#include "stats/detection.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

// A row and its picture.
struct placed {
	const struct detection *row;
	size_t picture;
};

static int by_class_and_picture(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->row->label != y->row->label)
		return x->row->label < y->row->label ? -1 : 1;
	if (x->picture != y->picture)
		return x->picture < y->picture ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

// For the rows of a picture and class, each as long as all rows.
struct scratch {
	const struct detection **truths, **found;
	uint32_t *taken;
};

// What a picture has of the class, matched, into *out.
static void take_picture(struct hits *out, const struct placed *rows, size_t count, const struct scratch *scratch)
{
	struct picture_of_class p = { .truths = scratch->truths, .found = scratch->found, .taken = scratch->taken };

	for (int crowds = 0; crowds < 2; crowds++) {
		for (size_t i = 0; i < count; i++)
			if (rows[i].row->kind == (crowds ? DETECTION_CROWD : DETECTION_TRUTH))
				scratch->truths[p.truth_count++] = rows[i].row;
		p.plain_count = crowds ? p.plain_count : p.truth_count;
	}
	for (size_t i = 0; i < count; i++)
		if (rows[i].row->kind == DETECTION_FOUND)
			scratch->found[p.found_count++] = rows[i].row;
	if (p.found_count)
		qsort(scratch->found, p.found_count, sizeof *scratch->found, by_row_score);
	memset(scratch->taken, 0, p.truth_count * sizeof *scratch->taken);
	out->truths += p.plain_count;
	match_all(&p, out);
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

struct average_precision average_precision(const struct detection *rows, const int64_t *first, size_t count)
{
	struct arena a = { 0 };
	const size_t all = (size_t)first[count];
	const struct scratch scratch = { ARENA_ARRAY(&a, all + 1, const struct detection *),
		ARENA_ARRAY(&a, all + 1, const struct detection *), ARENA_ARRAY(&a, all + 1, uint32_t) };
	double *precision = ARENA_ARRAY(&a, all + 1, double), *recall = ARENA_ARRAY(&a, all + 1, double), sum = 0, of_50 = 0;
	struct hit *items = ARENA_ARRAY(&a, all + 1, struct hit);
	struct placed *placed = ARENA_ARRAY(&a, all + 1, struct placed);
	size_t class_count = 0, n = 0;

	for (size_t i = 0; i < count; i++)
		for (int64_t k = first[i]; k < first[i + 1]; k++)
			if (!isnan(rows[k].label))
				placed[n++] = (struct placed){ &rows[k], i };
	if (n)
		qsort(placed, n, sizeof *placed, by_class_and_picture);
	for (size_t begin = 0, end; begin < n;) { // of each class that has a truth
		struct hits h = { .items = items };
		const double label = placed[begin].row->label;

		while (begin < n && placed[begin].row->label == label) {
			for (end = begin + 1;
				end < n && placed[end].row->label == label && placed[end].picture == placed[begin].picture;)
				end++;
			take_picture(&h, placed + begin, end - begin, &scratch);
			begin = end;
		}
		if (!h.truths)
			continue;
		class_count++;
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
