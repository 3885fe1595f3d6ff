// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Sounds as feature extractors prepare them, held against what the extractors of transformers gave: the cases of
// tests/conform/preprocess, and all others where the shared conformance data stands beside the source.
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "preprocess/sound.h"
#include "preprocess/sound_fft.h"
#include "scratch.h"
#include "skips.h"

#define CASES TEST_SOURCE "/tests/conform/preprocess"
#define SHARED TEST_SOURCE "/../shared/conform/preprocess"

// ---- the transform --------------------------------------------------------------------------------------------------------

// Against the sum that it is.
static void test_fft(void **state)
{
	static const size_t more[] = { 64, 97, 101, 127, 128, 202, 400, 509, 512, 1000, 1009, 1024 };
	(void)state;

	for (size_t i = 1; i < 40 + sizeof more / sizeof *more; i++) {
		struct arena a = { 0 };
		size_t n = i < 40 ? i : more[i - 40];
		struct fft *f = fft_make(&a, n);
		double *x = ARENA_ARRAY(&a, n, double);
		struct complex_value *got = ARENA_ARRAY(&a, n / 2 + 1, struct complex_value);

		for (size_t j = 0; j < n; j++)
			x[j] = (double)(splitmix64(n, j) >> 11) * 0x1p-52 - 1;
		fft_real(f, x, got);
		fft_real(f, x, got); // nothing is left of the first
		for (size_t k = 0; k <= n / 2; k++) {
			double re = 0, im = 0;

			for (size_t j = 0; j < n; j++) {
				double angle = -2 * M_PI * (double)(j * k % n) / (double)n;
				re += x[j] * cos(angle);
				im += x[j] * sin(angle);
			}
			if (!(hypot(got[k].re - re, got[k].im - im) < 1e-11))
				fail_msg("length %zu, frequency %zu: %g %g, not %g %g", n, k, got[k].re, got[k].im, re, im);
		}
		arena_done(&a);
	}
}

// ---- cases ----------------------------------------------------------------------------------------------------------------

struct expected {
	struct shard shard;
	struct weight *tensors;
	size_t count;
};

static double element(const struct weight *w, size_t i)
{
	const uint8_t *at = (const uint8_t *)w->data + i * dtype_size(w->dtype);
	float f;
	double d;
	int64_t n;

	switch (w->dtype) {
	case DTYPE_F32:
		memcpy(&f, at, sizeof f);
		return f;
	case DTYPE_F64:
		memcpy(&d, at, sizeof d);
		return d;
	case DTYPE_I64:
		memcpy(&n, at, sizeof n);
		return (double)n;
	default:
		fail_msg("a tensor of type %s", dtype_word(w->dtype));
		return 0;
	}
}

static const struct weight *expected_find(const struct expected *e, const char *test, const char *name, const char *suffix)
{
	char full[256];

	snprintf(full, sizeof full, "%s/%s%s", test, name, suffix);
	for (size_t i = 0; i < e->count; i++)
		if (text_is(e->tensors[i].name, full))
			return &e->tensors[i];
	return NULL;
}

// The formula of the cases' sounds: a chirp and noise.
static void make_channel(const char *name, size_t length, int rate, float *out)
{
	uint64_t seed = fnv1a64(name, strlen(name));

	for (size_t i = 0; i < length; i++) {
		double t = (double)i / rate, u = (float)((double)(splitmix64(seed, i) >> 40) * 0x1p-23 - 1);
		double s = 0.4 * sin(2 * M_PI * (80 * t + 350 * t * t)) * (0.6 + 0.4 * cos(2 * M_PI * 1.5 * t));
		out[i] = (float)(s + 0.05 * u);
	}
}

static struct sound make_sound(struct arena *a, const json_t *said)
{
	size_t length = (size_t)json_integer_value(json_object_get(said, "samples"));
	int rate = (int)json_integer_value(json_object_get(said, "rate"));
	const json_t *names = json_object_get(said, "names"), *name = json_object_get(said, "name");
	size_t channels = names ? json_array_size(names) : 1;
	float *samples = ARENA_ARRAY(a, channels * length, float);

	for (size_t c = 0; c < channels; c++)
		make_channel(json_string_value(names ? json_array_get(names, c) : name), length, rate, samples + c * length);
	return (struct sound){ "made", samples, length, (int)channels, rate };
}

struct judge {
	const struct expected *all;
	const char *folder, *test, *name;
	double tolerance, worst;
	size_t compared;
};

static void compare(struct judge *j, const char *what, size_t i, double got, double wanted, double tolerance)
{
	double difference = fabs(got - wanted);

	if (!(difference <= tolerance))
		fail_msg("%s: %s/%s%s[%zu]: %.9g, not %.9g", j->folder, j->test, j->name, what, i, got, wanted);
	if (tolerance == j->tolerance && difference > j->worst)
		j->worst = difference;
	j->compared++;
}

static void compare_strided(struct judge *j, const json_t *said, const struct tensor *t, size_t count)
{
	const struct weight *w = expected_find(j->all, j->test, j->name, "");
	size_t stride = (size_t)json_integer_value(json_object_get(said, "stride"));

	assert_non_null(w);
	assert_int_equal(w->nbytes / dtype_size(w->dtype), (count + stride - 1) / stride);
	for (size_t i = 0; i * stride < count; i++)
		compare(j, "", i * stride, tensor_get(t, i * stride), element(w, i), j->tolerance);
}

// The first 16 along an axis.
static void compare_head(struct judge *j, const json_t *said, const struct tensor *t, size_t count)
{
	const struct weight *w = expected_find(j->all, j->test, j->name, ".head");
	int axis = (int)json_integer_value(json_object_get(said, "head_axis"));
	size_t inner = 1, length = (size_t)t->dim[axis], at = 0;

	if (!w)
		return;
	for (int d = axis + 1; d < t->rank; d++)
		inner *= (size_t)t->dim[d];
	for (size_t i = 0; i < count; i++)
		if (i / inner % length < 16) {
			compare(j, ".head", i, tensor_get(t, i), element(w, at), j->tolerance);
			at++;
		}
	assert_int_equal(w->nbytes / dtype_size(w->dtype), at);
}

// Sums along an axis: what each element may be off, it may be off as often as it has elements.
static void compare_sums(struct judge *j, const json_t *said, const struct tensor *t, size_t count)
{
	const struct weight *w = expected_find(j->all, j->test, j->name, ".sum");
	int axis = (int)json_integer_value(json_array_get(json_object_get(said, "sum_axes"), 0));
	size_t inner = 1, length = (size_t)t->dim[axis];

	if (!w)
		return;
	for (int d = axis + 1; d < t->rank; d++)
		inner *= (size_t)t->dim[d];
	assert_int_equal(w->nbytes / dtype_size(w->dtype), count / length);
	for (size_t i = 0; i < count / length; i++) {
		double sum = 0;

		for (size_t k = 0; k < length; k++)
			sum += tensor_get(t, (i / inner * length + k) * inner + i % inner);
		compare(j, ".sum", i, sum, element(w, i), j->tolerance * (double)length);
	}
}

static void compare_output(struct judge *j, const json_t *said, const struct sound_features *got)
{
	const struct tensor *t = tensor_named(got->tensors, got->count, j->name);
	const json_t *shape = json_object_get(said, "shape");
	size_t count = 1;

	if (!t)
		fail_msg("%s: %s has no %s", j->folder, j->test, j->name);
	assert_int_equal(t->rank, json_array_size(shape));
	for (int d = 0; d < t->rank; d++) {
		if (t->dim[d] != json_integer_value(json_array_get(shape, (size_t)d)))
			fail_msg("%s: %s/%s: dimension %d is %lld", j->folder, j->test, j->name, d, (long long)t->dim[d]);
		count *= (size_t)t->dim[d];
	}
	assert_int_equal(t->nbytes, count * dtype_size(t->dtype));
	if (t->dtype != DTYPE_F32)
		j->tolerance = 0;
	compare_strided(j, said, t, count);
	compare_head(j, said, t, count);
	compare_sums(j, said, t, count);
}

static void run_case(const char *folder, const json_t *meta, const json_t *test, const json_t *config, const struct expected *e)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	const json_t *audio = json_object_get(test, "audio"), *outputs = json_object_get(test, "outputs"), *said;
	size_t count = json_array_size(audio);
	struct sound *sounds = ARENA_ARRAY(&a, count, struct sound);
	struct sound_features got;
	double worst = 0;
	const char *name;

	for (size_t i = 0; i < count; i++)
		sounds[i] = make_sound(&a, json_array_get(audio, i));
	if (sound_preprocess(&a, config, NULL, sounds, count, json_object_get(test, "options"), &got, &err))
		fail_msg("%s: %s: %s", folder, json_string_value(json_object_get(test, "case")), err.text);
	assert_int_equal(got.count, json_object_size(outputs));
	json_object_foreach((json_t *)outputs, name, said)
	{
		struct judge j = { e, folder, json_string_value(json_object_get(test, "case")), name,
			json_number_value(json_object_get(meta, "tolerance")), 0, 0 };

		compare_output(&j, said, &got);
		worst = j.worst > worst ? j.worst : worst;
		assert_true(j.compared > 0);
	}
	if (getenv("SHOW_DIFFERENCES"))
		print_message("%s %s: %g\n", folder, json_string_value(json_object_get(test, "case")), worst);
	arena_done(&a);
}

static json_t *read_json(const char *folder, const char *name)
{
	char path[4096];
	json_t *json = NULL;
	struct error err = { 0 };

	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (json_file(path, 1 << 20, &json, &err))
		fail_msg("%s", err.text);
	return json;
}

static void open_expected(struct arena *a, const char *folder, struct expected *e)
{
	struct error err = { 0 };

	*e = (struct expected){ 0 };
	if (safetensors_open(a, arena_printf(a, "%s/expected.safetensors", folder), &e->shard, &e->tensors, &e->count, &err))
		fail_msg("%s", err.text);
}

// 0: the folder is of no sounds' feature extractor.
static size_t run_folder(const char *folder)
{
	struct arena a = { 0 };
	struct expected e;
	json_t *meta = read_json(folder, "meta.json");
	const json_t *tests = json_object_get(meta, "cases");
	const char *class_name = json_string_value(json_object_get(meta, "class"));
	size_t count = 0;

	if (class_name && text_ends(class_name, "FeatureExtractor")) {
		json_t *config = read_json(folder, "preprocessor_config.json");

		open_expected(&a, folder, &e);
		for (; count < json_array_size(tests); count++)
			run_case(folder, meta, json_array_get(tests, count), config, &e);
		json_decref(config);
	}
	json_decref(meta);
	arena_done(&a);
	return count;
}

static void run_folders(const char *root, size_t *folders, size_t *cases)
{
	struct dirent *entry;
	DIR *dir = opendir(root);

	*folders = *cases = 0;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char folder[4096], meta[4200];

		snprintf(folder, sizeof folder, "%s/%s", root, entry->d_name);
		snprintf(meta, sizeof meta, "%s/meta.json", folder);
		if (*entry->d_name == '.' || !file_exists(meta))
			continue;
		size_t count = run_folder(folder);
		*cases += count;
		*folders += count > 0;
	}
	closedir(dir);
}

static void test_cases(void **state)
{
	size_t folders, cases;
	(void)state;

	run_folders(CASES, &folders, &cases);
	assert_int_equal(folders, 10);
	assert_true(cases >= 40);
}

static void test_shared(void **state)
{
	size_t folders, cases;
	(void)state;

	if (!file_is_dir(SHARED)) {
		print_message("the shared conformance data is not beside the source; tests/conform/preprocess is part of it\n");
		return;
	}
	run_folders(SHARED, &folders, &cases);
	print_message("%zu folders, %zu cases\n", folders, cases);
	assert_true(folders >= 13 && cases >= 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fft),
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_shared),
	};
	return exit_code(cmocka_run_group_tests(tests, NULL, NULL));
}
