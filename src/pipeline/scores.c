// SPDX-License-Identifier: Apache-2.0
// Scores and their labels.

#include "base/text.h"
#include "pipeline/inside.h"

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
