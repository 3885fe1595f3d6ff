// SPDX-License-Identifier: Apache-2.0
// Logits to scores and labels. Double precision: a right float32 implementation is far inside what is asked of scores.
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "pipeline/inside.h"

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

double *elements_of(struct arena *a, const struct tensor *t, size_t first, size_t count)
{
	double *out = ARENA_ARRAY(a, count + 1, double);

	for (size_t i = 0; i < count; i++)
		out[i] = tensor_get(t, first + i);
	return out;
}

const char *label_of(const struct part *m, struct arena *a, size_t i)
{
	const json_t *names = json_object_get(m->config, "label_names"), *by_id = json_object_get(m->config, "id2label");
	const char *name =
		json_string_value(names ? json_array_get(names, i) : json_object_get(by_id, arena_printf(a, "%zu", i)));

	return name ? name : arena_printf(a, "LABEL_%zu", i);
}

json_t *labels_ranked(const struct part *m, struct arena *a, const double *scores, size_t count, size_t top)
{
	const size_t *order = scores_order(a, scores, count);
	json_t *list = json_array();

	for (size_t i = 0; i < count && i < top; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:o}", "label", label_of(m, a, order[i]), "score", json_real(scores[order[i]])));
	return list;
}
