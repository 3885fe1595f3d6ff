// SPDX-License-Identifier: Apache-2.0
// Double precision: a right float32 implementation is far inside what is asked of scores.
#include "answer/scores.h"

#include <math.h>
#include <stdlib.h>

void scores_softmax(const double *in, size_t count, double *out)
{
	double most = -INFINITY, sum = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, in[i]);
	for (size_t i = 0; i < count; i++)
		sum += out[i] = exp(in[i] - most);
	for (size_t i = 0; i < count; i++)
		out[i] /= sum;
}

double scores_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

struct ranked {
	double score;
	size_t at;
};

static int by_falling_score(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

size_t *scores_order(struct arena *a, const double *scores, size_t count)
{
	struct ranked *all = ARENA_ARRAY(a, count + 1, struct ranked);
	size_t *order = ARENA_ARRAY(a, count + 1, size_t);

	for (size_t i = 0; i < count; i++)
		all[i] = (struct ranked){ scores[i], i };
	qsort(all, count, sizeof *all, by_falling_score);
	for (size_t i = 0; i < count; i++)
		order[i] = all[i].at;
	return order;
}
