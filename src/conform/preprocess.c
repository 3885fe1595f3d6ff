// SPDX-License-Identifier: Apache-2.0
// Cases of processors: a folder with the processor's settings, meta.json (pictures by formula or as files, or sounds by formula,
// and what is stored) and expected.safetensors (every n-th element of what transformers gave, sums, and the first along an axis).
// A folder is one case; each of its pictures is run with both implementations.
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "conform.h"
#include "conform/stored.h"
#include "preprocess/decode.h"
#include "preprocess/preprocess.h"
#include "preprocess/sound.h"

enum { META_LIMIT = 4 << 20, HEAD = 16 };

// What a stranger's folder may ask for. Those that there are have 23 cases of 3 pictures or sounds, 1,604,583 samples of pictures
// that are made, each of them twice, 856,800 of sounds, 28,089,152 elements of which every 16381st is stored at least, outputs of
// 33 MB, and tolerances of 1e-4 and 1e-3.
enum { CASES_MOST = 64, INPUTS_MOST = 16, STRIDE_MOST = 1 << 14, ELEMENTS_MOST = 1 << 25, OUTPUT_MOST = 64 << 20 };
enum { PICTURE_SAMPLES_MOST = 1 << 24, SOUND_SAMPLES_MOST = 1 << 21 };
static const double TOLERANCE_MOST = 1e-3;

// Absolute, of values that are some units large. A level of 255, in which the two implementations of transformers differ here and
// there, is 200 times that and more: every rounding must be the library's own.
static const double ELEMENT_BOUND = 2e-5, MEAN_BOUND = 5e-6;

struct run {
	struct arena *a;
	const char *folder;
	const struct preprocessor *p;
	const json_t *sounds;       // a feature extractor's settings; NULL: the cases are of pictures
	double bound, bound_in_sum; // absolute, of an element, and of each element of a sum
	int64_t left;               // samples of pictures or of sounds that may still be made
	struct stored expected;
	double worst;      // largest difference so far
	struct text wrong; // the first difference; empty: none
};

bool conform_is_preprocessor(const char *folder, struct arena *a)
{
	return file_exists(arena_printf(a, "%s/meta.json", folder)) &&
		file_exists(arena_printf(a, "%s/expected.safetensors", folder)) &&
		!file_exists(arena_printf(a, "%s/case.json", folder));
}

// Before they are made.
static enum status take(struct run *r, int64_t samples, struct error *err)
{
	if (samples > r->left)
		return error_set(err, STATUS_BAD_INPUT, "meta.json: its %s have more than %d samples together",
			r->sounds ? "sounds" : "pictures", r->sounds ? SOUND_SAMPLES_MOST : PICTURE_SAMPLES_MOST);
	r->left -= samples;
	return STATUS_OK;
}

// ---- pictures -------------------------------------------------------------------------------------------------------------

// base = (x * 255 * (k + 1) / w + y * 255 * (4 - k) / h) / 5; noise = floor((u + 1) * 24), u in [-1, 1) from the seeded stream;
// the sample is min(255, base * 208 / 255 + noise).
static void draw(struct picture *p, const char *name)
{
	uint64_t seed = fnv1a64_text(name), i = 0;

	for (int64_t y = 0; y < p->height; y++)
		for (int64_t x = 0; x < p->width; x++)
			for (int k = 0; k < p->channels; k++, i++) {
				int64_t base = (x * 255 * (k + 1) / p->width + y * 255 * (4 - k) / p->height) / 5;
				double u = splitmix64_unit(splitmix64(seed, i));
				int64_t v = base * 208 / 255 + (int64_t)floor((u + 1) * 24);
				p->pixels[i] = (uint8_t)(v > 255 ? 255 : v);
			}
}

static enum status make_picture(struct run *r, struct picture *out, const json_t *o, struct error *err)
{
	const char *file = json_string_value(json_object_get(o, "file")), *name = json_string_value(json_object_get(o, "name")),
		   *mode = json_string_value(json_object_get(o, "mode"));
	int channels = text_is(mode, "L") ? 1 : text_is(mode, "RGB") ? 3 : text_is(mode, "RGBA") ? 4 : 0;
	const uint8_t *data;
	size_t nbytes;
	enum status s;

	if (file) { // of the tree that the folder stands in
		if ((s = file_inside(r->a, arena_printf(r->a, "%s/..", r->folder), file, &file, err)) ||
			(s = file_map(r->a, file, &data, &nbytes, err)) ||
			(s = picture_decode(out, r->a, file, data, nbytes, r->left / 3, err)))
			return s;
		return take(r, out->width * (int64_t)out->height * 3, err);
	}
	const json_int_t width = json_integer_value(json_object_get(o, "width")),
			 height = json_integer_value(json_object_get(o, "height"));
	if (!name || !channels)
		return error_set(err, STATUS_BAD_INPUT, "meta.json: a picture that is none");
	if ((s = picture_check(width, height, err)) || (s = take(r, width * height * channels, err)) ||
		(s = picture_new(out, r->a, width, height, channels, err)))
		return s;
	draw(out, name);
	return STATUS_OK;
}

// ---- comparing ------------------------------------------------------------------------------------------------------------

__attribute__((format(printf, 2, 3))) static void say_wrong(struct run *r, const char *format, ...)
{
	va_list ap;

	if (r->wrong.length)
		return;
	va_start(ap, format);
	text_addv(&r->wrong, format, ap);
	va_end(ap);
}

// Every n-th element.
static void compare_elements(struct run *r, const char *what, const struct tensor *got, const struct weight *w, size_t stride)
{
	size_t count = got->nbytes / dtype_size(got->dtype), n = stored_count(w);
	bool whole = got->dtype != DTYPE_F32;
	double most = 0, sum = 0, mean = r->sounds ? r->bound : MEAN_BOUND;

	if (n != (count + stride - 1) / stride) {
		say_wrong(r, "%s: %zu elements are stored, %zu expected", what, n, (count + stride - 1) / stride);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		double d = fabs(tensor_get(got, i * stride) - stored_at(w, i));
		if (!(d <= (whole ? 0 : r->bound)))
			say_wrong(r, "%s: element %zu: expected %.9g, got %.9g", what, i * stride, stored_at(w, i),
				tensor_get(got, i * stride));
		most = d > most ? d : most;
		sum += d;
	}
	r->worst = most > r->worst ? most : r->worst;
	if (n && sum / (double)n > mean)
		say_wrong(r, "%s: %.3g off on average", what, sum / (double)n);
}

// Sums over the last two axes, or over those that the file names: they see every element.
static void compare_sums(struct run *r, const char *what, const struct tensor *got, const struct weight *w, const json_t *axes)
{
	size_t count = got->nbytes / dtype_size(got->dtype), sums = stored_count(w), over = sums ? count / sums : 0;
	double *sum = ARENA_ARRAY(r->a, sums + 1, double), bound = got->dtype == DTYPE_F32 ? r->bound_in_sum : 0;
	bool summed[TENSOR_MAX_RANK] = { false };

	for (size_t i = 0; i < json_array_size(axes); i++) {
		json_int_t axis = json_integer_value(json_array_get(axes, i));
		if (axis >= 0 && axis < got->rank)
			summed[axis] = true;
	}
	for (size_t i = 0; i < count; i++) {
		size_t rest = i, at = 0, unit = 1;
		for (int k = got->rank - 1; k >= 0; k--) {
			size_t n = (size_t)got->dim[k];
			if (!summed[k]) {
				at += rest % n * unit;
				unit *= n;
			}
			rest /= n;
		}
		if (at < sums)
			sum[at] += tensor_get(got, i);
	}
	for (size_t i = 0; i < sums; i++)
		if (!(fabs(sum[i] - stored_at(w, i)) <= bound * (double)over))
			say_wrong(r, "%s: sum %zu: expected %.9g, got %.9g", what, i, stored_at(w, i), sum[i]);
}

// The first 16 along an axis, all of them.
static void compare_head(struct run *r, const char *what, const struct tensor *got, const struct weight *w, int axis)
{
	size_t count = got->nbytes / dtype_size(got->dtype), inner = 1, at = 0;
	double bound = got->dtype == DTYPE_F32 ? r->bound : 0;

	for (int k = axis + 1; k < got->rank; k++)
		inner *= (size_t)got->dim[k];
	for (size_t i = 0; i < count && axis >= 0 && axis < got->rank; i++) {
		if (i / inner % (size_t)got->dim[axis] >= HEAD)
			continue;
		if (at >= stored_count(w) || !(fabs(tensor_get(got, i) - stored_at(w, at)) <= bound))
			say_wrong(r, "%s: element %zu is not what is stored", what, i);
		at++;
	}
	if (at != stored_count(w))
		say_wrong(r, "%s: %zu first elements along axis %d", what, at, axis);
}

// One output against "CASE/NAME" (and "CASE/NAME.pil" where Pillow's differs).
static enum status compare_output(struct run *r, const char *name, const char *output, const json_t *o,
	enum preprocess_backend backend, const struct tensor *tensors, size_t count, struct error *err)
{
	const json_t *shape = json_object_get(o, "shape"), *stride = json_object_get(o, "stride"),
		     *pil = json_object_get(o, "pil");
	bool of_pil = backend == PREPROCESS_PIL && json_is_integer(pil);
	const char *key = arena_printf(r->a, "%s/%s%s", name, output, of_pil ? ".pil" : ""),
		   *what = r->sounds
		? arena_printf(r->a, "%s/%s", name, output)
		: arena_printf(r->a, "%s/%s (%s)", name, output, backend == PREPROCESS_PIL ? "pil" : "torchvision");
	const struct tensor *t = tensor_named(tensors, count, output);
	const struct weight *w = stored_find(&r->expected, key),
			    *sums = stored_find(&r->expected, arena_printf(r->a, "%s.sum", key)),
			    *head = stored_find(&r->expected, arena_printf(r->a, "%s.head", key));
	json_int_t every = json_integer_value(of_pil ? pil : stride);
	bool alike = t && json_array_size(shape) == (size_t)t->rank;

	if (!w || every < 1)
		return error_set(err, STATUS_BAD_INPUT, "expected.safetensors has no %s, or meta.json no stride of it", key);
	for (int i = 0; alike && i < t->rank; i++)
		alike = json_integer_value(json_array_get(shape, (size_t)i)) == t->dim[i];
	bool is_flag = t && r->sounds && t->dtype == DTYPE_BOOL; // stored as whole numbers
	if (!alike || (!is_flag && dtype_find(json_string_value(json_object_get(o, "dtype"))) != t->dtype)) {
		char *expected = json_dumps(shape, JSON_COMPACT), is[128];
		say_wrong(r, "%s: expected %s %s, got %s", what, json_string_value(json_object_get(o, "dtype")), expected,
			t ? tensor_shape_text(t->rank, t->dim, is, sizeof is) : "no such output");
		free(expected);
		return STATUS_OK;
	}
	compare_elements(r, what, t, w, (size_t)every);
	if (sums)
		compare_sums(r, what, t, sums, json_object_get(o, "sum_axes"));
	if (head)
		compare_head(r, what, t, head, (int)json_integer_value(json_object_get(o, "head_axis")));
	return STATUS_OK;
}

// ---- sounds ---------------------------------------------------------------------------------------------------------------

// 0.4 sin(2 pi (80 t + 350 t^2)) (0.6 + 0.4 cos(2 pi 1.5 t)) + 0.05 u, u as above; a channel a name.
static enum status make_sound(struct run *r, struct sound *out, const json_t *o, struct error *err)
{
	const json_t *names = json_object_get(o, "names"), *one = json_object_get(o, "name");
	json_int_t length = json_integer_value(json_object_get(o, "samples")),
		   rate = json_integer_value(json_object_get(o, "rate"));
	size_t channels = names ? json_array_size(names) : 1;

	if (length < 1 || rate < 1 || rate > 1000000 || channels < 1 || channels > 8 ||
		length > (json_int_t)(SOUND_MOST / channels))
		return error_set(err, STATUS_BAD_INPUT, "meta.json: a sound that is none");
	enum status s = take(r, (int64_t)length * (int64_t)channels, err);
	if (s)
		return s;
	float *samples = ARENA_ARRAY(r->a, channels * (size_t)length, float);
	for (size_t c = 0; c < channels; c++) {
		const char *name = json_string_value(names ? json_array_get(names, c) : one);
		if (!name)
			return error_set(err, STATUS_BAD_INPUT, "meta.json: a sound without a name");
		uint64_t seed = fnv1a64_text(name);
		for (size_t i = 0; i < (size_t)length; i++) {
			double t = (double)i / (double)rate, u = splitmix64_unit(splitmix64(seed, i));
			double tone = 0.4 * sin(2 * M_PI * (80 * t + 350 * t * t)) * (0.6 + 0.4 * cos(2 * M_PI * 1.5 * t));
			samples[c * (size_t)length + i] = (float)(tone + 0.05 * (double)(float)u);
		}
	}
	*out = (struct sound){ "made", samples, (size_t)length, (int)channels, (int)rate };
	return STATUS_OK;
}

static enum status hear(struct run *r, const json_t *o, const struct tensor **tensors, size_t *n, struct error *err)
{
	const json_t *list = json_object_get(o, "audio");
	size_t count = json_array_size(list);
	struct sound *sounds = ARENA_ARRAY(r->a, count + 1, struct sound);
	struct sound_features got;
	enum status s = count ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "meta.json: a case without sounds");

	for (size_t i = 0; i < count && s == STATUS_OK; i++)
		s = make_sound(r, &sounds[i], json_array_get(list, i), err);
	if (s == STATUS_OK &&
		!(s = sound_preprocess(r->a, r->sounds, NULL, sounds, count, json_object_get(o, "options"), &got, err))) {
		*tensors = got.tensors;
		*n = got.count;
	}
	return s;
}

static enum status look(struct run *r, const json_t *o, enum preprocess_backend backend, const struct tensor **tensors, size_t *n,
	struct error *err)
{
	const json_t *list = json_object_get(o, "images");
	struct preprocessed *got = ARENA_NEW(r->a, struct preprocessed);
	enum status s = STATUS_OK;

	if (!list)
		list = json_object_get(o, "frames");
	size_t count = json_array_size(list);
	if (!count)
		return error_set(err, STATUS_BAD_INPUT, "meta.json: a case without pictures");
	struct picture *in = ARENA_ARRAY(r->a, count, struct picture);
	for (size_t i = 0; i < count && s == STATUS_OK; i++)
		s = make_picture(r, &in[i], json_array_get(list, i), err);
	if (s == STATUS_OK && !(s = preprocessor_run(r->p, backend, in, count, r->a, got, err))) {
		*tensors = got->tensors;
		*n = got->count;
	}
	return s;
}

static enum status run_one(struct run *r, const json_t *o, enum preprocess_backend backend, struct error *err)
{
	const json_t *outputs = json_object_get(o, "outputs"), *value;
	const char *name = json_string_value(json_object_get(o, "case")), *output;
	struct arena own = { 0 };
	const struct tensor *got;
	size_t count = 0, outputs_seen = 0;

	if (!name || !json_object_size(outputs))
		return error_set(err, STATUS_BAD_INPUT, "meta.json: a case without a name or outputs");
	r->a = &own;
	enum status s = r->sounds ? hear(r, o, &got, &count, err) : look(r, o, backend, &got, &count, err);
	json_object_foreach((json_t *)(uintptr_t)outputs, output, value)
	{
		if (s == STATUS_OK)
			s = compare_output(r, name, output, value, backend, got, count, err);
		outputs_seen++;
	}
	if (s == STATUS_OK && count != outputs_seen)
		say_wrong(r, "%s: %zu outputs, %zu expected", name, count, outputs_seen);
	arena_done(&own);
	return s ? error_prefix(err, "%s", name) : s;
}

// Of one output, what is compared of it: *elements are added.
static enum status check_output(const char *name, const json_t *o, int64_t *elements, struct error *err)
{
	const json_t *shape = json_object_get(o, "shape"), *pil = json_object_get(o, "pil"), *n;
	const json_int_t stride = json_integer_value(json_object_get(o, "stride")),
			 of_pil = json_is_integer(pil) ? json_integer_value(pil) : 1;
	int64_t dim[TENSOR_MAX_RANK];
	size_t i, count;

	if (stride < 1 || of_pil < 1 || stride > STRIDE_MOST || of_pil > STRIDE_MOST)
		return error_set(err, STATUS_BAD_INPUT, "meta.json: %.100s: its stride is not 1 to %d", name, STRIDE_MOST);
	if (json_array_size(shape) > TENSOR_MAX_RANK)
		return error_set(err, STATUS_BAD_INPUT, "meta.json: %.100s: a shape of more than %d axes", name, TENSOR_MAX_RANK);
	json_array_foreach((json_t *)(uintptr_t)shape, i, n) dim[i] = json_integer_value(n);
	if (!json_is_array(shape) || !tensor_count((int)json_array_size(shape), dim, &count) || count > ELEMENTS_MOST ||
		(*elements += (int64_t)count) > ELEMENTS_MOST)
		return error_set(err, STATUS_BAD_INPUT,
			"meta.json: %.100s: no shape, or more than %d elements with those before it", name, ELEMENTS_MOST);
	return STATUS_OK;
}

// All that can be said of meta.json before anything is made.
static enum status check_meta(const json_t *meta, bool sounds, struct error *err)
{
	static const char *const lists[] = { "images", "frames", "audio" };
	const json_t *cases = json_object_get(meta, "cases"), *tolerance = json_object_get(meta, "tolerance"), *o, *output;
	const char *name;
	int64_t elements = 0;
	enum status s = STATUS_OK;
	size_t i;

	if (sounds &&
		!(json_is_number(tolerance) && json_number_value(tolerance) >= 0 &&
			json_number_value(tolerance) <= TOLERANCE_MOST))
		return error_set(err, STATUS_BAD_INPUT, "meta.json: tolerance is a number from 0 to %g", TOLERANCE_MOST);
	if (json_array_size(cases) < 1 || json_array_size(cases) > CASES_MOST)
		return error_set(err, STATUS_BAD_INPUT, "meta.json should have 1 to %d cases", CASES_MOST);
	json_array_foreach(cases, i, o)
	{
		for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
			if (json_array_size(json_object_get(o, lists[k])) > INPUTS_MOST)
				return error_set(
					err, STATUS_BAD_INPUT, "meta.json: a case of more than %d %s", INPUTS_MOST, lists[k]);
		json_object_foreach(json_object_get(o, "outputs"), name, output) if (!s) s =
			check_output(name, output, &elements, err);
	}
	if (!s && !elements)
		return error_set(err, STATUS_BAD_INPUT, "meta.json: no element is compared");
	return s;
}

static enum status run_all(struct run *r, const json_t *meta, size_t *done, struct error *err)
{
	const json_t *cases = json_object_get(meta, "cases"), *o;
	size_t i;

	json_array_foreach(cases, i, o)
	{
		enum status s = run_one(r, o, PREPROCESS_TORCHVISION, err);
		if (s || (!r->sounds && (s = run_one(r, o, PREPROCESS_PIL, err))))
			return s;
		if (r->wrong.length)
			return STATUS_OK;
		++*done;
	}
	return STATUS_OK;
}

void conform_preprocessor(struct conform_case *c, struct arena *a)
{
	struct arena own = { 0 };
	struct run r = { .folder = c->folder, .bound = ELEMENT_BOUND, .bound_in_sum = MEAN_BOUND };
	struct error err = { 0 };
	struct preprocessor *p = NULL;
	json_t *sounds = NULL;
	json_t *meta = NULL;
	size_t done = 0;
	enum status s = sound_settings(&sounds, &own, c->folder, &err);

	if (s == STATUS_OK && !sounds)
		s = preprocessor_open(&p, &own, c->folder, &err);
	if (s == STATUS_OK &&
		!(s = stored_open(&r.expected, &own, arena_printf(&own, "%s/expected.safetensors", c->folder), &err)) &&
		!(s = json_file(arena_printf(&own, "%s/meta.json", c->folder), META_LIMIT, &meta, &err)) &&
		!(s = check_meta(meta, sounds, &err))) {
		r.p = p;
		r.left = sounds ? SOUND_SAMPLES_MOST : PICTURE_SAMPLES_MOST;
		if (p)
			preprocessor_bound(p, OUTPUT_MOST);
		if ((r.sounds = sounds)) // each case says what its arithmetic may be off
			r.bound = r.bound_in_sum = json_number_value(json_object_get(meta, "tolerance"));
		s = run_all(&r, meta, &done, &err);
	}
	json_decref(meta);
	json_decref(sounds);
	c->verdict = s != STATUS_OK ? VERDICT_FAILED : r.wrong.length ? VERDICT_WRONG : VERDICT_RIGHT;
	c->passed = c->verdict == VERDICT_RIGHT;
	c->reason = s != STATUS_OK ? arena_strdup(a, err.text) : r.wrong.length ? arena_strdup(a, text_get(&r.wrong)) : NULL;
	c->max_abs_error = s == STATUS_OK ? r.worst : (double)NAN;
	c->lines = done;
	c->counted = "cases";
	c->elsewhere = -1;
	text_done(&r.wrong);
	arena_done(&own);
}
