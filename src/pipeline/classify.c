// SPDX-License-Identifier: Apache-2.0
// Tasks of a text's classes: text-classification (TextClassificationPipeline), zero-shot-classification
// (ZeroShotClassificationPipeline), text-ranking (CrossEncoder.rank of sentence-transformers).
#include <string.h>
#include <strings.h>

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
		return logits ? error_set(err, STATUS_UNSUPPORTED, "the model gives no scores of classes") : err->status;
	*count = (size_t)logits->dim[1];
	*out = elements_of(c->a, logits, 0, *count);
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

// ---- zero-shot-classification -----------------------------------------------------------------------------------------------

// label2id's first label that begins with "entail"; -1: the last class.
static int64_t entailment_of(const struct part *m)
{
	const char *label;
	const json_t *id;

	json_object_foreach((json_t *)(uintptr_t)json_object_get(m->config, "label2id"), label,
		id) if (!strncasecmp(label, "entail", 6) && json_is_integer(id)) return json_integer_value(id);
	return -1;
}

// The label in the template's first "{}".
static const char *hypothesis(struct arena *a, const char *template, const char *label)
{
	const char *at = strstr(template, "{}");

	return at ? arena_printf(a, "%.*s%s%s", (int)(at - template), template, label, at + 2) : NULL;
}

// Logits of entailment and contradiction of each label.
static enum status entail(struct call *c, struct part *m, const char *const *labels, size_t count, double *entails,
	double *contradicts, struct error *err)
{
	const char *sequence, *template;
	struct truncation cut;
	bool cuts = text_cut(m, ONLY_FIRST, &cut);
	int64_t entailment = entailment_of(m);
	enum status st = call_text(c, "sequence", &sequence, err);

	if (st || (st = option_text(c, "hypothesis_template", "This example is {}.", &template, err)))
		return st;
	for (size_t i = 0; i < count; i++) {
		const char *pair = hypothesis(c->a, template, labels[i]);
		double *logits;
		size_t classes;

		if (!pair)
			return error_set(err, STATUS_BAD_INPUT, "hypothesis_template has no {} for the label");
		if ((st = class_logits(c, m, sequence, pair, cuts ? &cut : NULL, &logits, &classes, err)))
			return st;
		if (entailment >= (int64_t)classes || classes < 2)
			return error_set(
				err, STATUS_BAD_INPUT, "the model has %zu classes, and entailment is none of them", classes);
		entails[i] = logits[entailment < 0 ? (int64_t)classes - 1 : entailment];
		contradicts[i] = logits[entailment == 0 ? classes - 1 : 0];
	}
	return STATUS_OK;
}

TASK(zero_shot_classification)
{
	const char *const *labels;
	bool multi;
	size_t count;
	struct part *m;
	enum status st = part_open(c->p, ".", &m, err);

	if (st || (st = call_labels(c, &labels, &count, err)) || (st = option_bool(c, "multi_label", false, &multi, err)))
		return st;
	double *scores = ARENA_ARRAY(c->a, count, double), *against = ARENA_ARRAY(c->a, count, double);
	if ((st = entail(c, m, labels, count, scores, against, err)))
		return st;
	if (multi || count == 1)
		for (size_t i = 0; i < count; i++) {
			double both[2] = { against[i], scores[i] };
			scores_softmax(both, 2, both);
			scores[i] = both[1];
		}
	else
		scores_softmax(scores, count, scores);
	const size_t *order = scores_order(c->a, scores, count);
	json_t *names = json_array(), *numbers = json_array();
	for (size_t i = 0; i < count; i++) {
		json_array_append_new(names, json_string(labels[order[i]]));
		json_array_append_new(numbers, json_real(scores[order[i]]));
	}
	out->json = json_pack(
		"{s:O, s:o, s:o}", "sequence", json_object_get(c->input, "sequence"), "labels", names, "scores", numbers);
	return STATUS_OK;
}

// ---- text-ranking -----------------------------------------------------------------------------------------------------------

// Of one label the sigmoid of its logit, as a cross-encoder's usual activation has it.
TASK(text_ranking)
{
	const char *query, *const *documents;
	struct truncation cut;
	size_t count, labels;
	int64_t top;
	struct part *m;
	enum status st = part_open(c->p, ".", &m, err);

	if (st || (st = call_text(c, "query", &query, err)) || (st = call_texts(c, "documents", &documents, &count, err)) ||
		(st = option_integer(c, "top_k", 1, PIPELINE_LIST_MOST, PIPELINE_LIST_MOST, &top, err)))
		return st;
	double *scores = ARENA_ARRAY(c->a, count, double), *logits;
	bool cuts = text_cut(m, LONGEST_FIRST, &cut);
	for (size_t i = 0; i < count; i++) {
		if ((st = class_logits(c, m, query, documents[i], cuts ? &cut : NULL, &logits, &labels, err)))
			return st;
		if (labels != 1)
			return error_set(err, STATUS_BAD_INPUT, "a model that ranks has one label, and this one has %zu", labels);
		scores[i] = scores_sigmoid(logits[0]);
	}
	const size_t *order = scores_order(c->a, scores, count);
	out->json = json_array();
	for (size_t i = 0; i < count && i < (size_t)top; i++)
		json_array_append_new(out->json,
			json_pack("{s:I, s:o}", "corpus_id", (json_int_t)order[i], "score", json_real(scores[order[i]])));
	return STATUS_OK;
}
