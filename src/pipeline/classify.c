// SPDX-License-Identifier: Apache-2.0
// Tasks of a text's classes: text-classification (TextClassificationPipeline).
#include "base/text.h"
#include "pipeline/inside.h"

enum applied { APPLY_NONE, APPLY_SIGMOID, APPLY_SOFTMAX };

static enum status function_of(const struct call *c, const struct part *m, bool is_sigmoid, enum applied *out, struct error *err)
{
	const char *word, *problem = json_string_value(json_object_get(m->config, "problem_type"));
	enum status st = option_text(c, "function_to_apply", NULL, &word, err);

	if (st)
		return st;
	if (word) {
		*out = text_is(word, "softmax") ? APPLY_SOFTMAX : text_is(word, "sigmoid") ? APPLY_SIGMOID : APPLY_NONE;
		return *out || text_is(word, "none")
			? STATUS_OK
			: error_set(err, STATUS_BAD_INPUT, "function_to_apply is softmax, sigmoid or none, not '%s'", word);
	}
	*out = text_is(problem, "regression")                                  ? APPLY_NONE
		: text_is(problem, "multi_label_classification") || is_sigmoid ? APPLY_SIGMOID
									       : APPLY_SOFTMAX;
	return STATUS_OK;
}

enum status scores_apply(
	const struct call *c, const struct part *m, bool one_is_sigmoid, double *x, size_t count, struct error *err)
{
	enum applied how;
	enum status st = function_of(c, m, one_is_sigmoid && count == 1, &how, err);

	if (st)
		return st;
	if (how == APPLY_SOFTMAX)
		scores_softmax(x, count, x);
	for (size_t i = 0; how == APPLY_SIGMOID && i < count; i++)
		x[i] = scores_sigmoid(x[i]);
	return STATUS_OK;
}

// logits [1, labels] of a text, or of a text and its pair; *count: labels.
static enum status class_logits(struct call *c, struct part *m, const char *text, const char *pair, const struct truncation *cut,
	double **out, size_t *count, struct error *err)
{
	const struct tensor *logits;
	struct encoding e;
	struct tensor *given;
	size_t n;
	enum status st = text_encode(m, c->a, text, pair, cut, &e, err);

	if (st || (st = text_run(m, c->a, &e, &given, &n, err)))
		return st;
	if (!(logits = part_output(given, n, "logits", 2, err)) || logits->dim[0] != 1 || logits->dim[1] < 1)
		return logits ? error_set(err, STATUS_UNSUPPORTED, "the model gives no scores of classes") : STATUS_UNSUPPORTED;
	*count = (size_t)logits->dim[1];
	*out = scores_of(c->a, logits, 0, *count);
	return STATUS_OK;
}

TASK(text_classification)
{
	const char *text, *pair = NULL;
	int64_t top;
	double *scores;
	size_t count;
	struct part *m;
	enum status st = part_open(c->p, ".", &m, err);

	if (st || (st = call_text(c, "text", &text, err)) ||
		(call_has(c, "text_pair") && (st = call_text(c, "text_pair", &pair, err))) ||
		(st = option_integer(c, "top_k", 1, PIPELINE_LIST_MOST, 1, &top, err)) ||
		(st = class_logits(c, m, text, pair, NULL, &scores, &count, err)) ||
		(st = scores_apply(c, m, true, scores, count, err)))
		return st;
	out->json = labels_ranked(m, c->a, scores, count, option_is_null(c, "top_k") ? count : (size_t)top);
	return STATUS_OK;
}
