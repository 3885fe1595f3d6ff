// SPDX-License-Identifier: Apache-2.0
// Tasks that give a picture's, a film's or a sound's classes, and its features.
#include "base/text.h"
#include "pipeline/pictures.h"

// logits [1, classes] to labels and scores. `one_is_sigmoid`: of a model with one label (pictures; a sound's is softmax).
static enum status classes_answer(struct call *c, struct part *m, const struct outputs *given, int64_t usual, bool one_is_sigmoid,
	struct pipeline_answer *out, struct error *err)
{
	const struct tensor *logits;
	int64_t top;
	enum status st;

	if ((st = output_of(given, "logits", 2, &logits, err)) ||
		(st = option_integer(c, "top_k", 1, PIPELINE_LIST_MOST, usual, &top, err)))
		return st;
	size_t count = (size_t)logits->dim[1];
	double *scores = elements_of(c->a, logits, 0, count);
	if ((st = scores_apply(c, m, one_is_sigmoid, scores, count, err)))
		return st;
	out->json = labels_ranked(m, c->a, scores, count, (size_t)top);
	return STATUS_OK;
}

TASK(image_classification)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct picture image;
	struct part *m;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = image_inputs(c, m, &image, &in, NULL, err)) ||
		(st = whole_run(c, m, &in, &given, err)))
		return st;
	return classes_answer(c, m, &given, 5, true, out, err);
}

TASK(video_classification)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct picture *frames;
	struct part *m;
	size_t count;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = call_pictures(c, "frames", &frames, &count, err)) ||
		(st = pictures_inputs(c, m, frames, count, &in, NULL, err)) || (st = whole_run(c, m, &in, &given, err)))
		return st;
	return classes_answer(c, m, &given, 5, true, out, err);
}

TASK(audio_classification)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct sound sound;
	const json_t *settings;
	struct part *m;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = call_sound(c, m, &sound, &settings, err)) ||
		(st = sound_inputs(c, settings, &sound, &in, err)) || (st = whole_run(c, m, &in, &given, err)))
		return st;
	return classes_answer(c, m, &given, 5, false, out, err);
}

// The pooled state, or what a base model gives first: the states of all positions.
TASK(image_feature_extraction)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct picture image;
	const struct tensor *features;
	struct part *m;
	bool pool;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = option_bool(c, "pool", false, &pool, err)) ||
		(st = image_inputs(c, m, &image, &in, NULL, err)) || (st = whole_run(c, m, &in, &given, err)) ||
		(st = output_of(&given, pool ? "pooler_output" : "last_hidden_state", 0, &features, err)))
		return st;
	out->json = answer_tensor(c, out, "features", features);
	return STATUS_OK;
}

// Each label's score is the sigmoid of its own logit, as many models of visual questions learn it.
TASK(visual_question_answering)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct picture image;
	struct encoding e;
	struct tensor *text;
	const struct tensor *logits;
	const char *question;
	struct part *m;
	int64_t top;
	size_t n;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = call_text(c, "question", &question, err)) ||
		(st = option_integer(c, "top_k", 1, PIPELINE_LIST_MOST, 1, &top, err)) ||
		(st = image_inputs(c, m, &image, &in, NULL, err)) || (st = text_encode(m, c->a, question, NULL, NULL, &e, err)) ||
		(st = text_tensors(m, c->a, &e, &text, &n, err)))
		return st;
	inputs_add(&in, text, n);
	if ((st = whole_run(c, m, &in, &given, err)) || (st = output_of(&given, "logits", 2, &logits, err)))
		return st;
	size_t count = (size_t)logits->dim[1];
	double *scores = elements_of(c->a, logits, 0, count);
	for (size_t i = 0; i < count; i++)
		scores[i] = scores_sigmoid(scores[i]);
	const size_t *order = scores_order(c->a, scores, count);
	out->json = json_array();
	for (size_t i = 0; i < count && i < (size_t)top; i++)
		json_array_append_new(
			out->json, json_pack("{s:f, s:s}", "score", scores[order[i]], "answer", label_of(m, c->a, order[i])));
	return STATUS_OK;
}

// ---- labels that are given ------------------------------------------------------------------------------------------------

static json_t *candidates_ranked(struct call *c, const char *const *labels, const double *scores, size_t count)
{
	const size_t *order = scores_order(c->a, scores, count);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:f, s:s}", "score", scores[order[i]], "label", labels[order[i]]));
	return list;
}

// `logits` [1, labels] of an output of this name.
static enum status candidates_answer(struct call *c, const struct outputs *given, const char *name, bool each_alone,
	const char *const *labels, size_t count, struct pipeline_answer *out, struct error *err)
{
	const struct tensor *logits;
	enum status st = output_of(given, name, 2, &logits, err);

	if (st)
		return st;
	if (logits->dim[1] != (int64_t)count)
		return error_set(err, STATUS_FAILED, "%lld scores of %zu labels", (long long)logits->dim[1], count);
	double *scores = elements_of(c->a, logits, 0, count);
	if (!each_alone)
		scores_softmax(scores, count, scores);
	for (size_t i = 0; each_alone && i < count; i++)
		scores[i] = scores_sigmoid(scores[i]);
	out->json = candidates_ranked(c, labels, scores, count);
	return STATUS_OK;
}

// SigLIP was trained with texts of 64 tokens, padding read as text, and says of each label by itself whether it fits.
enum { SIGLIP_TOKENS = 64 };

TASK(zero_shot_image_classification)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct picture image;
	const char *const *labels, *const *texts;
	struct part *m;
	size_t count;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = call_labels(c, &labels, &count, err)) ||
		(st = labels_in_template(c, labels, count, "This is a photo of {}.", &texts, err)) ||
		(st = image_inputs(c, m, &image, &in, NULL, err)))
		return st;
	bool siglip = text_starts(arch_model_type(m->spec), "siglip");
	if ((st = texts_inputs(c, m, texts, count, siglip ? SIGLIP_TOKENS : 0, &in, err)) ||
		(st = whole_run(c, m, &in, &given, err)))
		return st;
	return candidates_answer(c, &given, "logits_per_image", siglip, labels, count, out, err);
}

TASK(zero_shot_audio_classification)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct sound sound;
	const json_t *settings;
	const char *const *labels, *const *texts;
	struct part *m;
	size_t count;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = call_labels(c, &labels, &count, err)) ||
		(st = labels_in_template(c, labels, count, "This is a sound of {}.", &texts, err)) ||
		(st = call_sound(c, m, &sound, &settings, err)) || (st = sound_inputs(c, settings, &sound, &in, err)) ||
		(st = texts_inputs(c, m, texts, count, 0, &in, err)) || (st = whole_run(c, m, &in, &given, err)))
		return st;
	return candidates_answer(c, &given, "logits_per_audio", false, labels, count, out, err);
}
