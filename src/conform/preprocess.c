// SPDX-License-Identifier: Apache-2.0
// Cases of image processors: a folder with the processor's settings, meta.json (pictures by formula or as files, and what is
// stored) and expected.safetensors (every n-th element of what transformers gave, and sums). A folder is one case; each of its
// pictures is run with both implementations.
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "conform.h"
#include "preprocess/decode.h"
#include "preprocess/preprocess.h"

enum { META_LIMIT = 4 << 20 };

// Absolute, of values that are some units large. A level of 255, in which the two implementations of transformers differ here and
// there, is 200 times that and more: every rounding must be the library's own.
static const double ELEMENT_BOUND = 2e-5, MEAN_BOUND = 5e-6;

struct run {
	struct arena *a;
	const char *folder;
	const struct preprocessor *p;
	const struct weight *expected;
	size_t expected_count;
	double worst;      // largest difference so far
	struct text wrong; // the first difference; empty: none
};

bool conform_is_preprocessor(const char *folder, struct arena *a)
{
	return file_exists(arena_printf(a, "%s/meta.json", folder)) &&
		file_exists(arena_printf(a, "%s/expected.safetensors", folder)) &&
		!file_exists(arena_printf(a, "%s/case.json", folder));
}

// ---- pictures -------------------------------------------------------------------------------------------------------------

// base = (x * 255 * (k + 1) / w + y * 255 * (4 - k) / h) / 5; noise = floor((u + 1) * 24), u in [-1, 1) from the seeded stream;
// the sample is min(255, base * 208 / 255 + noise).
static void draw(struct picture *p, const char *name)
{
	uint64_t seed = fnv1a64(name, strlen(name)), i = 0;

	for (int64_t y = 0; y < p->height; y++)
		for (int64_t x = 0; x < p->width; x++)
			for (int k = 0; k < p->channels; k++, i++) {
				int64_t base = (x * 255 * (k + 1) / p->width + y * 255 * (4 - k) / p->height) / 5;
				double u = (double)(splitmix64(seed, i) >> 40) * 0x1p-23 - 1;
				int64_t v = base * 208 / 255 + (int64_t)floor((u + 1) * 24);
				p->pixels[i] = (uint8_t)(v > 255 ? 255 : v);
			}
}

static enum status make_picture(struct run *r, struct picture *out, const json_t *o, struct error *err)
{
	const char *file = json_string_value(json_object_get(o, "file")), *name = json_string_value(json_object_get(o, "name")),
		   *mode = json_string_value(json_object_get(o, "mode"));
	int channels = text_is(mode, "L") ? 1 : text_is(mode, "RGB") ? 3 : text_is(mode, "RGBA") ? 4 : 0;
	enum status s;

	if (file) // of the tree that the folder stands in
		return picture_open(out, r->a, arena_printf(r->a, "%s/../%s", r->folder, file), err);
	if (!name || !channels)
		return error_set(err, STATUS_BAD_INPUT, "meta.json: a picture that is none");
	s = picture_new(out, r->a, json_integer_value(json_object_get(o, "width")),
		json_integer_value(json_object_get(o, "height")), channels, err);
	if (s == STATUS_OK)
		draw(out, name);
	return s;
}

// ---- comparing ------------------------------------------------------------------------------------------------------------

static const struct weight *stored(const struct run *r, const char *name)
{
	for (size_t i = 0; i < r->expected_count; i++)
		if (text_is(r->expected[i].name, name))
			return &r->expected[i];
	return NULL;
}

static double stored_at(const struct weight *w, size_t i)
{
	struct tensor t = { .dtype = w->dtype, .data = (void *)(uintptr_t)w->data, .nbytes = w->nbytes };

	return tensor_get(&t, i);
}

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
	size_t count = got->nbytes / dtype_size(got->dtype), n = w->nbytes / dtype_size(w->dtype);
	bool whole = got->dtype != DTYPE_F32;
	double most = 0, sum = 0;

	if (n != (count + stride - 1) / stride) {
		say_wrong(r, "%s: %zu elements are stored, %zu expected", what, n, (count + stride - 1) / stride);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		double d = fabs(tensor_get(got, i * stride) - stored_at(w, i));
		if (!(d <= (whole ? 0 : ELEMENT_BOUND)))
			say_wrong(r, "%s: element %zu: expected %.9g, got %.9g", what, i * stride, stored_at(w, i),
				tensor_get(got, i * stride));
		most = d > most ? d : most;
		sum += d;
	}
	r->worst = most > r->worst ? most : r->worst;
	if (n && sum / (double)n > MEAN_BOUND)
		say_wrong(r, "%s: %.3g off on average", what, sum / (double)n);
}

// Sums over the last two axes, or over those that the file names: they see every element.
static void compare_sums(struct run *r, const char *what, const struct tensor *got, const struct weight *w, const json_t *axes)
{
	size_t count = got->nbytes / dtype_size(got->dtype), sums = w->nbytes / dtype_size(w->dtype),
	       over = sums ? count / sums : 0;
	double *sum = ARENA_ARRAY(r->a, sums + 1, double);
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
		if (!(fabs(sum[i] - stored_at(w, i)) <= MEAN_BOUND * (double)over))
			say_wrong(r, "%s: sum %zu: expected %.9g, got %.9g", what, i, stored_at(w, i), sum[i]);
}

// One output against "CASE/NAME" (and "CASE/NAME.pil" where Pillow's differs).
static enum status compare_output(struct run *r, const char *name, const char *output, const json_t *o,
	enum preprocess_backend backend, const struct preprocessed *got, struct error *err)
{
	const json_t *shape = json_object_get(o, "shape"), *stride = json_object_get(o, "stride"),
		     *pil = json_object_get(o, "pil");
	bool of_pil = backend == PREPROCESS_PIL && json_is_integer(pil);
	const char *key = arena_printf(r->a, "%s/%s%s", name, output, of_pil ? ".pil" : ""),
		   *what = arena_printf(r->a, "%s/%s (%s)", name, output, backend == PREPROCESS_PIL ? "pil" : "torchvision");
	const struct tensor *t = tensor_named(got->tensors, got->count, output);
	const struct weight *w = stored(r, key), *sums = stored(r, arena_printf(r->a, "%s.sum", key));
	json_int_t every = json_integer_value(of_pil ? pil : stride);
	bool alike = t && json_array_size(shape) == (size_t)t->rank;

	if (!w || every < 1)
		return error_set(err, STATUS_BAD_INPUT, "expected.safetensors has no %s, or meta.json no stride of it", key);
	for (int i = 0; alike && i < t->rank; i++)
		alike = json_integer_value(json_array_get(shape, (size_t)i)) == t->dim[i];
	if (!alike || dtype_find(json_string_value(json_object_get(o, "dtype"))) != t->dtype) {
		char *expected = json_dumps(shape, JSON_COMPACT), is[128];
		say_wrong(r, "%s: expected %s %s, got %s", what, json_string_value(json_object_get(o, "dtype")), expected,
			t ? tensor_shape_text(t->rank, t->dim, is, sizeof is) : "no such output");
		free(expected);
		return STATUS_OK;
	}
	compare_elements(r, what, t, w, (size_t)every);
	if (sums)
		compare_sums(r, what, t, sums, json_object_get(o, "sum_axes"));
	return STATUS_OK;
}

static enum status run_one(struct run *r, const json_t *o, enum preprocess_backend backend, struct error *err)
{
	const json_t *list = json_object_get(o, "images"), *outputs = json_object_get(o, "outputs"), *value;
	const char *name = json_string_value(json_object_get(o, "case")), *output;
	struct arena own = { 0 };
	struct preprocessed got;
	enum status s = STATUS_OK;

	if (!list)
		list = json_object_get(o, "frames");
	size_t count = json_array_size(list), outputs_seen = 0;
	if (!name || !count || !json_object_size(outputs))
		return error_set(err, STATUS_BAD_INPUT, "meta.json: a case without a name, pictures or outputs");
	r->a = &own;
	struct picture *in = ARENA_ARRAY(&own, count, struct picture);
	for (size_t i = 0; i < count && s == STATUS_OK; i++)
		s = make_picture(r, &in[i], json_array_get(list, i), err);
	if (s == STATUS_OK)
		s = preprocessor_run(r->p, backend, in, count, &own, &got, err);
	json_object_foreach((json_t *)(uintptr_t)outputs, output, value)
	{
		if (s == STATUS_OK)
			s = compare_output(r, name, output, value, backend, &got, err);
		outputs_seen++;
	}
	if (s == STATUS_OK && got.count != outputs_seen)
		say_wrong(r, "%s: %zu outputs, %zu expected", name, got.count, outputs_seen);
	arena_done(&own);
	return s ? error_prefix(err, "%s", name) : s;
}

static enum status run_all(struct run *r, const json_t *meta, size_t *done, struct error *err)
{
	const json_t *cases = json_object_get(meta, "cases"), *o;
	size_t i;

	json_array_foreach(cases, i, o)
	{
		enum status s = run_one(r, o, PREPROCESS_TORCHVISION, err);
		if (s || (s = run_one(r, o, PREPROCESS_PIL, err)))
			return s;
		if (r->wrong.length)
			return STATUS_OK;
		++*done;
	}
	return *done ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "meta.json has no cases");
}

void conform_preprocessor(struct conform_case *c, struct arena *a)
{
	struct arena own = { 0 };
	struct run r = { .folder = c->folder };
	struct error err = { 0 };
	struct preprocessor *p;
	struct shard file;
	struct weight *weights;
	json_t *meta = NULL;
	size_t done = 0;
	enum status s = preprocessor_open(&p, &own, c->folder, &err);

	if (s == STATUS_OK &&
		!(s = safetensors_open(&own, arena_printf(&own, "%s/expected.safetensors", c->folder), &file, &weights,
			  &r.expected_count, &err)) &&
		!(s = json_file(arena_printf(&own, "%s/meta.json", c->folder), META_LIMIT, &meta, &err))) {
		r.expected = weights;
		r.p = p;
		s = run_all(&r, meta, &done, &err);
	}
	json_decref(meta);
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
