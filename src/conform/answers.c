// SPDX-License-Identifier: Apache-2.0
// Two answers to one question, of two platforms: are they the same within bounds (pipeline_compare.c), and how much alike in the
// measures of their tasks.
#include "conform/answers.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "conform/case.h"
#include "preprocess/decode.h"
#include "run/judge.h"
#include "stats/word_error.h"

// Both sides prepare the same inputs with the same code, so that engines alone differ: the bounds are those that cases of
// pipelines need for engines, without what transformers' own preparation adds.
static json_t *bounds_of(const char *task, enum dtype computes)
{
	json_t *out = json_pack(
		"{s:f, s:f, s:f, s:f, s:f}", "score", 0.001, "tensor", 0.002, "box", 1.0, "levels", 2.0, "seconds", 0.02);

	if (task && strstr(task, "segmentation"))
		json_object_set_new(out, "mask", json_real(0.005));
	conform_tolerance_reduce(out, computes);
	if (computes == DTYPE_F16 || computes == DTYPE_BF16) // a picture is a tensor from 0 to 1 in levels
		json_object_set_new(out, "levels", json_real(ceil(255 * bound_for(computes).max_abs)));
	return out;
}

// That of one model's outputs, as much wider as a pipeline's tensors may be further apart.
static struct bound bound_of_tensors(const json_t *bounds, enum dtype computes)
{
	struct bound out = bound_for(computes);
	const double wider = json_number_value(json_object_get(bounds, "tensor")) / out.max_abs;

	out.max_abs *= wider;
	out.nmse *= wider * wider;
	return out;
}

const char *answers_bound(struct arena *a, const char *task, enum dtype computes)
{
	json_t *bounds = bounds_of(task, computes);
	const char *out = arena_printf(a,
		"labels, texts and tokens the same, scores within %g of themselves, boxes %g pixel, masks %g of their pixels, "
		"other "
		"pictures %g of 255 levels, tensors %g of max(1, largest value), times %g s",
		json_real_value(json_object_get(bounds, "score")), json_real_value(json_object_get(bounds, "box")),
		json_real_value(json_object_get(bounds, "mask")), json_real_value(json_object_get(bounds, "levels")),
		json_real_value(json_object_get(bounds, "tensor")), json_real_value(json_object_get(bounds, "seconds")));

	json_decref(bounds);
	return out;
}

// ---- what was kept --------------------------------------------------------------------------------------------------------

static enum status open_tensors(const struct answer_kept *x, struct stored *out, struct arena *a, struct error *err)
{
	const char *path = arena_printf(a, "%s/answer.safetensors", x->folder);

	*out = (struct stored){ 0 };
	return file_exists(path) ? stored_open(out, a, path, err) : STATUS_OK;
}

static void count_pictures(const json_t *x, size_t *count)
{
	const char *key;
	const json_t *value;
	size_t i;

	*count += json_is_string(json_object_get(x, "png"));
	json_object_foreach((json_t *)(uintptr_t)x, key, value) count_pictures(value, count);
	json_array_foreach(x, i, value) count_pictures(value, count);
}

static enum status open_pictures(
	const struct answer_kept *x, const json_t *at, struct pipeline_answer *out, struct arena *a, struct error *err)
{
	const char *key, *path, *png = json_string_value(json_object_get(at, "png"));
	const json_t *value;
	enum status st = STATUS_OK;
	size_t i;

	if (png) {
		struct pipeline_picture *p = &out->pictures[out->picture_count++];

		p->name = png;
		return (st = file_inside(a, x->folder, png, &path, err)) ? st : picture_open(&p->picture, a, path, err);
	}
	json_object_foreach((json_t *)(uintptr_t)at, key, value) if (!st) st = open_pictures(x, value, out, a, err);
	json_array_foreach(at, i, value) if (!st) st = open_pictures(x, value, out, a, err);
	return st;
}

// As the child had it.
static enum status open_answer(const struct answer_kept *x, const struct stored *tensors, struct pipeline_answer *out,
	struct arena *a, struct error *err)
{
	size_t pictures = 0;

	count_pictures(x->answer, &pictures);
	*out = (struct pipeline_answer){ .json = (json_t *)(uintptr_t)x->answer,
		.tensors = ARENA_ARRAY(a, tensors->count + 1, struct tensor),
		.tensor_count = tensors->count,
		.pictures = ARENA_ARRAY(a, pictures + 1, struct pipeline_picture) };
	for (size_t i = 0; i < tensors->count; i++) {
		out->tensors[i] = weight_tensor(&tensors->tensors[i]);
		out->tensors[i].name = tensors->tensors[i].name;
	}
	return open_pictures(x, x->answer, out, a, err);
}

// ---- measures -------------------------------------------------------------------------------------------------------------

struct measuring {
	struct answer_likeness *sum;
	const struct pipeline_answer *got, *want;
	size_t prompt_tokens;
	enum dtype computes;
	bool masks;             // its pictures are masks
	struct bound bound;     // of its tensors
	const char *wrong;      // what is of a tensor; NULL: nothing
	const char *not_judged; // why being the same says nothing; NULL: it does
	struct arena *a;
};

static void least(double *x, double value)
{
	*x = isnan(*x) ? value : fmin(*x, value);
}

static void most(double *x, double value)
{
	*x = isnan(*x) ? value : fmax(*x, value);
}

static const struct picture *picture_named(const struct pipeline_answer *x, const char *name)
{
	for (size_t i = 0; name && i < x->picture_count; i++)
		if (text_is(x->pictures[i].name, name))
			return &x->pictures[i].picture;
	return NULL;
}

static bool is_of_one_value(const struct picture *p)
{
	const size_t samples = (size_t)p->width * (size_t)p->height * (size_t)p->channels;

	for (size_t i = 1; i < samples; i++)
		if (p->pixels[i] != p->pixels[0])
			return false;
	return true;
}

// Of two masks the intersection over the union of what is set, 1 where nothing is; of others 10 log10(255^2 / mean squared
// difference) decibels, infinite where they are the same.
static void measure_pictures(struct measuring *m, const json_t *want, const json_t *got)
{
	const struct picture *x = picture_named(m->want, json_string_value(json_object_get(want, "png"))),
			     *y = picture_named(m->got, json_string_value(json_object_get(got, "png")));
	double squares = 0, both = 0, either = 0;

	if (!x || !y || x->width != y->width || x->height != y->height || x->channels != y->channels)
		return;
	if (!m->masks && is_of_one_value(x))
		m->not_judged = "a picture that is one value everywhere, which engines that overflow agree on";
	const size_t samples = (size_t)x->width * (size_t)x->height * (size_t)x->channels;
	for (size_t i = 0; i < samples; i++) {
		double d = (double)x->pixels[i] - (double)y->pixels[i];

		squares += d * d;
		both += x->pixels[i] && y->pixels[i];
		either += x->pixels[i] || y->pixels[i];
	}
	if (m->masks)
		least(&m->sum->mask_iou, either > 0 ? both / either : 1);
	else
		least(&m->sum->psnr_db, squares > 0 ? 10 * log10(255.0 * 255.0 * (double)samples / squares) : (double)INFINITY);
}

static void measure_tensors(struct measuring *m, const json_t *want, const json_t *got)
{
	const char *of_want = json_string_value(json_object_get(want, "tensor")),
		   *of_got = json_string_value(json_object_get(got, "tensor"));
	const struct tensor *x = of_want ? tensor_named(m->want->tensors, m->want->tensor_count, of_want) : NULL,
			    *y = of_got ? tensor_named(m->got->tensors, m->got->tensor_count, of_got) : NULL;
	struct check check;

	if (!x || !y)
		return;
	judge_tensor(y, x, NULL, m->bound, BY_ENGINE, m->a, &check);
	// One large value widens the bound of all: what is small beside it is looked at by itself, as a cell's outputs are.
	if (!check.right)
		m->wrong = check.cause;
	else if (check.not_judged)
		m->not_judged = strstr(check.not_judged, "beside values of")
			? arena_printf(m->a,
				  "what is small beside the largest value, %.3g, is unlike, and a bound of %g of that says "
				  "nothing "
				  "of it",
				  check.reference_absmax, m->bound.max_abs)
			: check.not_judged;
	most(&m->sum->max_abs_error, check.max_abs_error);
	most(&m->sum->nmse, check.nmse);
	least(&m->sum->cosine, check.cosine);
}

static double side(const json_t *box, const char *name)
{
	return json_number_value(json_object_get(box, name));
}

static double area(const json_t *box)
{
	return fmax(0, side(box, "xmax") - side(box, "xmin")) * fmax(0, side(box, "ymax") - side(box, "ymin"));
}

static void measure_boxes(struct measuring *m, const json_t *x, const json_t *y)
{
	double w = fmin(side(x, "xmax"), side(y, "xmax")) - fmax(side(x, "xmin"), side(y, "xmin")),
	       h = fmin(side(x, "ymax"), side(y, "ymax")) - fmax(side(x, "ymin"), side(y, "ymin")),
	       both = fmax(0, w) * fmax(0, h), either = area(x) + area(y) - both;

	least(&m->sum->box_iou, either > 0 ? both / either : 1);
}

static bool is_label(const char *key)
{
	return text_is(key, "label") || text_is(key, "labels") || text_is(key, "entity") || text_is(key, "entity_group") ||
		text_is(key, "token_str") || text_is(key, "aggregator");
}

static void measure_texts(struct measuring *m, const char *key, const char *want, const char *got)
{
	struct answer_likeness *s = m->sum;
	size_t errors, words;

	if (is_label(key)) {
		s->labels++;
		s->labels_same += text_is(want, got);
		return;
	}
	if (got && !text_is(key, "role") && word_error(got, want, &errors, &words)) {
		s->word_errors += (int64_t)errors;
		s->words += (int64_t)words;
	}
}

static void measure_tokens(struct measuring *m, const json_t *want, const json_t *got)
{
	const size_t count = json_array_size(want) > json_array_size(got) ? json_array_size(want) : json_array_size(got);

	for (size_t i = m->prompt_tokens; i < count; i++) {
		const json_t *x = json_array_get(want, i), *y = json_array_get(got, i);

		m->sum->tokens++;
		m->sum->tokens_same += x && y && json_equal(x, y);
	}
}

static void measure(struct measuring *m, const char *key, const json_t *want, const json_t *got)
{
	const char *name;
	const json_t *value;
	size_t i;

	const bool is_picture = json_is_string(json_object_get(want, "png")),
		   is_tensor = json_is_string(json_object_get(want, "tensor"));

	if (is_picture)
		measure_pictures(m, want, got);
	else if (is_tensor)
		measure_tensors(m, want, got);
	else if (json_object_get(want, "xmin"))
		measure_boxes(m, want, got);
	else if (text_is(key, "token_ids"))
		measure_tokens(m, want, got);
	else if (json_is_string(want))
		measure_texts(m, key, json_string_value(want), json_string_value(got));
	else if (json_is_number(want) && json_is_number(got) && (text_is(key, "score") || text_is(key, "scores")))
		most(&m->sum->score_difference, fabs(json_number_value(want) - json_number_value(got)));
	json_array_foreach(want, i, value) if (!text_is(key, "token_ids")) measure(m, key, value, json_array_get(got, i));
	if (is_picture || is_tensor || json_object_get(want, "xmin"))
		return;
	json_object_foreach((json_t *)(uintptr_t)want, name, value) measure(m, name, value, json_object_get(got, name));
}

// Passages of a retrieval whose scores are nearer to each other than rounding takes them may change places, and the prompt with
// them.
static bool passages_changed_places(const json_t *want, const json_t *got, enum dtype computes, double *apart)
{
	const json_t *scores = json_object_get(want, "scores"), *places = json_object_get(want, "passages");
	const size_t count = json_array_size(scores);
	const double near = computes == DTYPE_F32 ? 1e-6 : 1e-3; // of scores that are cosines

	*apart = INFINITY;
	for (size_t i = 0; i < count; i++) {
		const json_t *next = i + 1 < count ? json_array_get(scores, i + 1) : json_object_get(want, "next_score");

		if (json_is_number(next))
			*apart = fmin(*apart, fabs(json_number_value(json_array_get(scores, i)) - json_number_value(next)));
	}
	return places && *apart <= near && !json_equal(places, json_object_get(got, "passages"));
}

void answers_begin(struct answer_likeness *sum)
{
	*sum = (struct answer_likeness){ .score_difference = (double)NAN,
		.box_iou = (double)NAN,
		.mask_iou = (double)NAN,
		.psnr_db = (double)NAN,
		.max_abs_error = (double)NAN,
		.nmse = (double)NAN,
		.cosine = (double)NAN };
}

enum status answers_compare(const struct answer_kept *got, const struct answer_kept *want, const char *task, enum dtype computes,
	struct answer_likeness *sum, struct arena *a, struct error *err)
{
	struct stored tensors[2];
	struct pipeline_answer x, y;
	enum status st;

	if ((st = open_tensors(got, &tensors[0], a, err)) || (st = open_tensors(want, &tensors[1], a, err)) ||
		(st = open_answer(got, &tensors[0], &x, a, err)) || (st = open_answer(want, &tensors[1], &y, a, err)))
		return st == STATUS_FAILED ? STATUS_BAD_INPUT : st;
	sum->empty += json_is_array(want->answer) && !json_array_size(want->answer) && !json_array_size(got->answer);
	struct measuring m = { .sum = sum,
		.got = &x,
		.want = &y,
		.prompt_tokens = want->prompt_tokens,
		.computes = computes,
		.masks = task && (strstr(task, "segmentation") || strstr(task, "mask")),
		.a = a };
	json_t *bounds = bounds_of(task, computes);
	m.bound = bound_of_tensors(bounds, computes);
	measure(&m, "", want->answer, got->answer);
	st = conform_answer_compare(&(struct answer_bounds){ want->folder, tensors[1].count ? &tensors[1] : NULL, bounds },
		"answer", want->answer, &x, a, err);
	json_decref(bounds);
	if (!st && m.wrong)
		st = error_set(err, STATUS_FAILED, "answer: %s", m.wrong);
	else if (!st && m.not_judged)
		st = error_set(err, STATUS_UNSUPPORTED, "answer: %s", m.not_judged);
	double apart;
	if (st == STATUS_FAILED && passages_changed_places(want->answer, got->answer, computes, &apart))
		st = error_set(err, STATUS_UNSUPPORTED,
			"answer: not judged: the scores of two passages are %.2g apart, and which comes first is rounding's "
			"affair",
			apart);
	if (st == STATUS_FAILED && computes != DTYPE_F32) // what lies close may change places then
		error_set(err, st, "%s; computed in %s", arena_strdup(a, err->text), dtype_word(computes));
	return st;
}

// ---- in a row -------------------------------------------------------------------------------------------------------------

static json_t *real_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

json_t *answers_json(const struct answer_likeness *s)
{
	json_t *out = json_object();

	if (s->labels)
		json_object_update_new(
			out, json_pack("{s:I, s:I}", "labels", (json_int_t)s->labels, "labels_same", (json_int_t)s->labels_same));
	if (s->tokens)
		json_object_update_new(
			out, json_pack("{s:I, s:I}", "tokens", (json_int_t)s->tokens, "tokens_same", (json_int_t)s->tokens_same));
	if (s->words)
		json_object_update_new(out,
			json_pack("{s:I, s:I, s:f}", "words", (json_int_t)s->words, "word_errors", (json_int_t)s->word_errors,
				"wer", (double)s->word_errors / (double)s->words));
	if (s->empty)
		json_object_set_new(out, "empty", json_integer((json_int_t)s->empty));
	if (isfinite(s->max_abs_error))
		json_object_set_new(out, "tensor_difference", json_real(s->max_abs_error));
	if (!isnan(s->score_difference))
		json_object_set_new(out, "score_difference", json_real(s->score_difference));
	if (!isnan(s->box_iou))
		json_object_set_new(out, "box_iou", json_real(s->box_iou));
	if (!isnan(s->mask_iou))
		json_object_set_new(out, "mask_iou", json_real(s->mask_iou));
	if (!isnan(s->psnr_db)) { // JSON has no infinity
		json_object_set_new(out, "pictures_same", json_boolean(isinf(s->psnr_db)));
		json_object_set_new(out, "psnr_db", real_or_null(s->psnr_db));
	}
	return out;
}

// "2 of 3 labels the same", where the object has both.
static const char *share(
	struct arena *a, const char *before, const json_t *m, const char *same, const char *all, const char *what)
{
	const json_t *x = json_object_get(m, same), *y = json_object_get(m, all);

	return json_is_integer(x) && json_is_integer(y)
		? arena_join(a, before, ", ",
			  arena_printf(a, "%lld of %lld %s the same", (long long)json_integer_value(x),
				  (long long)json_integer_value(y), what))
		: before;
}

static const char *numbers(struct arena *a, const char *before, const json_t *m)
{
	const json_t *wer = json_object_get(m, "wer"), *score = json_object_get(m, "score_difference"),
		     *box = json_object_get(m, "box_iou"), *mask = json_object_get(m, "mask_iou"),
		     *psnr = json_object_get(m, "psnr_db"), *tensor = json_object_get(m, "tensor_difference");

	if (json_is_number(wer))
		before = arena_join(a, before, ", ", arena_printf(a, "word error rate %.3g", json_number_value(wer)));
	if (json_is_number(score))
		before = arena_join(a, before, ", ", arena_printf(a, "scores at most %.2g apart", json_number_value(score)));
	if (json_is_number(box))
		before = arena_join(a, before, ", ", arena_printf(a, "least IoU of boxes %.4f", json_number_value(box)));
	if (json_is_number(mask))
		before = arena_join(a, before, ", ", arena_printf(a, "least IoU of masks %.4f", json_number_value(mask)));
	if (json_is_number(tensor))
		before = arena_join(a, before, ", ", arena_printf(a, "tensors at most %.2g apart", json_number_value(tensor)));
	if (json_is_number(psnr))
		before = arena_join(a, before, ", ", arena_printf(a, "PSNR %.1f dB", json_number_value(psnr)));
	return before;
}

const char *answers_words(struct arena *a, const char *measures)
{
	json_t *m = json_parse(measures);
	const char *out = share(a, NULL, m, "labels_same", "labels", "labels");

	out = share(a, out, m, "tokens_same", "tokens", "tokens");
	out = numbers(a, out, m);
	if (json_is_integer(json_object_get(m, "empty")))
		out = arena_join(a, out, ", ", "nothing found by either");
	if (json_is_true(json_object_get(m, "pictures_same")))
		out = arena_join(a, out, ", ", "pictures the same");
	json_decref(m);
	return out;
}
