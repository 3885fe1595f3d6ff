// SPDX-License-Identifier: Apache-2.0
// An answer against the one that transformers gave. Strings, whole numbers, lengths and orders of lists are equal; every other
// number is within score x max(0.01, |stored|), and what is said of tensors, boxes, masks, pictures and times of tolerance's own.
// A bound that tolerance does not have is that of 9 digits, as numbers are stored.
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "conform/case.h"
#include "preprocess/decode.h"
#include "run/judge.h"

struct compared {
	const struct answer_bounds *b;
	const struct pipeline_answer *got;
	struct arena *a;
	struct error *err;
};

// The most that each bound may allow: above it nothing would be wrong that a person could call so.
static const struct {
	const char *name;
	double most;
	const char *unit;
} bounds[] = {
	{ "score", 0.1, "of the number" },
	{ "tensor", 0.1, "of its largest value" },
	{ "box", 16, "pixels" },
	{ "mask", 0.1, "of its pixels" },
	{ "levels", 32, "of 255" },
	{ "seconds", 1, "s" },
};
enum { BOUND_COUNT = sizeof bounds / sizeof *bounds };

enum status conform_tolerance_check(const json_t *tolerance, struct error *err)
{
	const char *key;
	const json_t *value;

	if (tolerance && !json_is_object(tolerance))
		return error_set(err, STATUS_BAD_INPUT, "pipeline.json: tolerance is no object");
	json_object_foreach((json_t *)(uintptr_t)tolerance, key, value)
	{
		size_t i = 0;

		if (text_is(key, "of_input"))
			continue;
		while (i < BOUND_COUNT && !text_is(bounds[i].name, key))
			i++;
		if (i == BOUND_COUNT)
			return error_set(err, STATUS_BAD_INPUT, "pipeline.json: tolerance.%.100s: no bound is called so", key);
		const double x = json_number_value(value);
		if (!json_is_number(value) || !(x >= 0 && x <= bounds[i].most))
			return error_set(err, STATUS_BAD_INPUT, "pipeline.json: tolerance.%s is a number from 0 to %g %s", key,
				bounds[i].most, bounds[i].unit);
	}
	return STATUS_OK;
}

static void widen(json_t *tolerance, const char *name, double least)
{
	double is = json_number_value(json_object_get(tolerance, name));

	if (is < least)
		json_object_set_new(tolerance, name, json_real(least));
}

// Logits that are each r off make of a score p one between p exp(-2 r) and p exp(2 r): softmax divides two sums of which every
// term is off by exp(r) at most. r is the bound of outputs whose largest value is 1.
void conform_tolerance_reduce(json_t *tolerance, enum dtype computes)
{
	const double r = bound_for(computes).max_abs;

	if (computes != DTYPE_F16 && computes != DTYPE_BF16)
		return;
	widen(tolerance, "tensor", r);
	widen(tolerance, "score", expm1(2 * r));
}

static double allowed(const struct compared *c, const char *name)
{
	const json_t *x = json_object_get(c->b->tolerance, name);

	return json_is_number(x) ? json_number_value(x) : 2e-9;
}

// ---- tensors and pictures -------------------------------------------------------------------------------------------------

// The shape that an answer says beside its tensor's name; it may leave it out.
static bool is_shape(const json_t *shape, const struct weight *w)
{
	bool same = !shape || (json_is_array(shape) && json_array_size(shape) == (size_t)w->rank);

	for (int i = 0; shape && same && i < w->rank; i++) {
		const json_t *n = json_array_get(shape, (size_t)i);

		same = json_is_integer(n) && json_integer_value(n) == w->dim[i];
	}
	return same;
}

static enum status compare_tensor(const struct compared *c, const char *where, const json_t *want, const json_t *got)
{
	const char *name = json_string_value(json_object_get(want, "tensor")),
		   *mine = json_string_value(json_object_get(got, "tensor"));
	const struct weight *w = c->b->tensors ? stored_find(c->b->tensors, name) : NULL;
	const struct tensor *t = mine ? tensor_named(c->got->tensors, c->got->tensor_count, mine) : NULL;
	double most = 1, bound = allowed(c, "tensor"), worst = 0;

	if (!w)
		return error_set(c->err, STATUS_BAD_INPUT, "answers.safetensors has no %s", name);
	if (!t)
		return error_set(c->err, STATUS_FAILED, "%s: no tensor", where);
	bool same = t->rank == w->rank;
	for (int i = 0; same && i < w->rank; i++)
		same = t->dim[i] == w->dim[i];
	if (!same) {
		char shapes[2][128];
		return error_set(c->err, STATUS_FAILED, "%s: shape %s, expected %s", where,
			tensor_shape_text(t->rank, t->dim, shapes[0], sizeof shapes[0]),
			tensor_shape_text(w->rank, w->dim, shapes[1], sizeof shapes[1]));
	}
	if (!is_shape(json_object_get(want, "shape"), w))
		return error_set(c->err, STATUS_BAD_INPUT, "pipeline.json: %s.shape is not that of %s in answers.safetensors",
			where, name);
	for (size_t i = 0; i < stored_count(w); i++) {
		if (!isfinite(stored_at(w, i)))
			return error_set(c->err, STATUS_BAD_INPUT, "%s: what is expected is not finite", where);
		double d = fabs(tensor_get(t, i) - stored_at(w, i));

		most = fmax(most, fabs(stored_at(w, i)));
		worst = d > worst || !(d >= 0) ? d : worst;
	}
	return worst <= bound * most ? STATUS_OK
				     : error_set(c->err, STATUS_FAILED, "%s: %.3g off, %.3g allowed", where, worst, bound * most);
}

// `mask`: the share of its pixels that may differ; else `levels`, of each 8-bit value.
static enum status judge_pixels(
	const struct compared *c, const char *where, const struct picture *want, const struct picture *got)
{
	size_t pixels = (size_t)want->width * (size_t)want->height, differing = 0;
	int worst = 0;
	bool is_mask = json_object_get(c->b->tolerance, "mask") != NULL;
	double share = allowed(c, is_mask ? "mask" : "levels");

	for (size_t i = 0; i < pixels; i++) {
		bool differs = false;
		for (int k = 0; k < 3; k++) {
			int d = abs(want->pixels[3 * i + (size_t)k] - got->pixels[3 * i + (size_t)k]);
			worst = d > worst ? d : worst;
			differs |= d != 0;
		}
		differing += differs;
	}
	if (is_mask ? (double)differing <= share * (double)pixels : worst <= share)
		return STATUS_OK;
	return error_set(
		c->err, STATUS_FAILED, "%s: %zu of %zu pixels differ, by up to %d levels", where, differing, pixels, worst);
}

static enum status compare_picture(const struct compared *c, const char *where, const json_t *want, const json_t *got)
{
	const char *file = json_string_value(json_object_get(want, "png")),
		   *mine = json_string_value(json_object_get(got, "png")), *path;
	struct picture stored, given;
	const struct picture *found = NULL;
	enum status st;

	for (size_t i = 0; mine && i < c->got->picture_count; i++)
		if (text_is(c->got->pictures[i].name, mine))
			found = &c->got->pictures[i].picture;
	if ((st = file_inside(c->a, c->b->folder, file, &path, c->err)))
		return error_prefix(c->err, "%s", where);
	if ((st = picture_open(&stored, c->a, path, c->err)))
		return st;
	if (!found)
		return error_set(c->err, STATUS_FAILED, "%s: no picture", where);
	if ((st = picture_rgb(&given, c->a, found, c->err)))
		return st;
	if (given.width != stored.width || given.height != stored.height)
		return error_set(c->err, STATUS_FAILED, "%s: %d x %d pixels, expected %d x %d", where, given.width, given.height,
			stored.width, stored.height);
	return judge_pixels(c, where, &stored, &given);
}

// ---- JSON -----------------------------------------------------------------------------------------------------------------

static enum status compare(const struct compared *c, const char *where, const char *key, const json_t *want, const json_t *got);

static bool is_side(const char *key)
{
	return text_is(key, "xmin") || text_is(key, "ymin") || text_is(key, "xmax") || text_is(key, "ymax");
}

static enum status compare_numbers(
	const struct compared *c, const char *where, const char *key, const json_t *want, const json_t *got)
{
	double x = json_number_value(want), bound = allowed(c, "score") * fmax(0.01, fabs(x));

	if (is_side(key) && json_object_get(c->b->tolerance, "box"))
		bound = allowed(c, "box");
	else if (text_is(key, "timestamp") && json_object_get(c->b->tolerance, "seconds"))
		bound = allowed(c, "seconds");
	else if (json_is_integer(want))
		bound = json_is_integer(got) ? 0 : -1;
	return json_is_number(got) && fabs(json_number_value(got) - x) <= bound
		? STATUS_OK
		: error_set(c->err, STATUS_FAILED, "%s: %.9g, expected %.9g", where, json_number_value(got), x);
}

static enum status compare_objects(const struct compared *c, const char *where, const json_t *want, const json_t *got)
{
	const char *key;
	const json_t *value;
	enum status st = STATUS_OK;

	if (json_is_string(json_object_get(want, "tensor")))
		return compare_tensor(c, where, want, got);
	if (json_is_string(json_object_get(want, "png")))
		return compare_picture(c, where, want, got);
	json_object_foreach((json_t *)(uintptr_t)got, key, value) if (!json_object_get(want, key)) return error_set(
		c->err, STATUS_FAILED, "%s: has %s, which is not expected", where, key);
	json_object_foreach((json_t *)(uintptr_t)want, key, value) if (!st) st =
		compare(c, arena_printf(c->a, "%.300s.%.100s", where, key), key, value, json_object_get(got, key));
	return st;
}

static const char *words(struct arena *a, const json_t *x)
{
	char *text = x ? json_dumps(x, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	const char *out = text ? arena_printf(a, "%.200s", text) : "nothing";

	free(text);
	return out;
}

static enum status compare(const struct compared *c, const char *where, const char *key, const json_t *want, const json_t *got)
{
	enum status st = STATUS_OK;
	const json_t *value;
	size_t i;

	if (json_is_object(want) && json_is_object(got))
		return compare_objects(c, where, want, got);
	if (json_is_number(want) && json_is_number(got))
		return compare_numbers(c, where, key, want, got);
	if (json_is_array(want) && json_is_array(got)) {
		if (json_array_size(want) != json_array_size(got))
			return error_set(c->err, STATUS_FAILED, "%s: a list of %zu, expected %zu", where, json_array_size(got),
				json_array_size(want));
		json_array_foreach(want, i, value) if (!st) st =
			compare(c, arena_printf(c->a, "%.300s[%zu]", where, i), key, value, json_array_get(got, i));
		return st;
	}
	return got && json_equal(want, got)
		? STATUS_OK
		: error_set(c->err, STATUS_FAILED, "%s: %s, expected %s", where, words(c->a, got), words(c->a, want));
}

enum status conform_answer_compare(const struct answer_bounds *b, const char *where, const json_t *want,
	const struct pipeline_answer *got, struct arena *a, struct error *err)
{
	const struct compared c = { b, got, a, err };

	return compare(&c, where, "", want, got->json);
}
