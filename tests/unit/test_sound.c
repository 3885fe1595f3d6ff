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
#include "conform/conform.h"
#include "conform/stored.h"
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

static const struct weight *expected_find(const struct stored *e, const char *test, const char *name, const char *suffix)
{
	char full[256];

	snprintf(full, sizeof full, "%s/%s%s", test, name, suffix);
	return stored_find(e, full);
}

// The formula of the cases' sounds: a chirp and noise.
static void make_channel(const char *name, size_t length, int rate, float *out)
{
	uint64_t seed = fnv1a64(name, strlen(name));

	for (size_t i = 0; i < length; i++) {
		double t = (double)i / rate, u = (float)splitmix64_unit(splitmix64(seed, i));
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
	const struct stored *all;
	const char *folder, *test, *name;
	double tolerance;
	size_t compared;
};

static void compare(struct judge *j, const char *what, size_t i, double got, double wanted, double tolerance)
{
	double difference = fabs(got - wanted);

	if (!(difference <= tolerance))
		fail_msg("%s: %s/%s%s[%zu]: %.9g, not %.9g", j->folder, j->test, j->name, what, i, got, wanted);
	j->compared++;
}

static void compare_strided(struct judge *j, const json_t *said, const struct tensor *t, size_t count)
{
	const struct weight *w = expected_find(j->all, j->test, j->name, "");
	size_t stride = (size_t)json_integer_value(json_object_get(said, "stride"));

	assert_non_null(w);
	assert_int_equal(stored_count(w), (count + stride - 1) / stride);
	for (size_t i = 0; i * stride < count; i++)
		compare(j, "", i * stride, tensor_get(t, i * stride), stored_at(w, i), j->tolerance);
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
			compare(j, ".head", i, tensor_get(t, i), stored_at(w, at), j->tolerance);
			at++;
		}
	assert_int_equal(stored_count(w), at);
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
	assert_int_equal(stored_count(w), count / length);
	for (size_t i = 0; i < count / length; i++) {
		double sum = 0;

		for (size_t k = 0; k < length; k++)
			sum += tensor_get(t, (i / inner * length + k) * inner + i % inner);
		compare(j, ".sum", i, sum, stored_at(w, i), j->tolerance * (double)length);
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

static void open_expected(struct arena *a, const char *folder, struct stored *e)
{
	struct error err = { 0 };

	if (stored_open(e, a, arena_printf(a, "%s/expected.safetensors", folder), &err))
		fail_msg("%s", err.text);
}

// How many of its cases agree, which all must; 0: the folder is of no sounds' feature extractor.
static size_t run_folder(const char *folder)
{
	struct arena a = { 0 };
	struct conform_case c = { .name = folder, .folder = folder };
	json_t *meta = read_json(folder, "meta.json");
	const char *class_name = json_string_value(json_object_get(meta, "class"));
	size_t count = json_array_size(json_object_get(meta, "cases"));

	if (class_name && text_ends(class_name, "FeatureExtractor")) {
		conform_preprocessor(&c, &a);
		if (!c.passed)
			fail_msg("%s: %s", folder, c.reason);
		assert_int_equal(c.lines, count);
	} else {
		count = 0;
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
	assert_int_equal(folders, 21);
	assert_int_equal(cases, 80);
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

// ---- files and rates ------------------------------------------------------------------------------------------------------

static enum status try_read(const char *file, int channels, int rate, struct sound *out, struct error *err)
{
	memset(err, 0, sizeof *err);
	return sound_read(&arena, file, &(struct sound_wanted){ channels, rate }, out, err);
}

static bool no_library(enum status s)
{
	return s == STATUS_UNAVAILABLE;
}

// Bit for bit what Python's soundfile gives.
static void test_files(void **state)
{
	static const char *const files[] = { "float32.wav", "pcm16.wav", "pcm24.wav", "speech.flac", "stereo.wav" };
	struct shard shard;
	struct weight *decoded;
	size_t count;
	struct error err = { 0 };
	(void)state;

	if (safetensors_open(&arena, CASES "/files/decoded.safetensors", &shard, &decoded, &count, &err))
		fail_msg("%s", err.text);
	for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
		char *name = arena_printf(&arena, "audio/%s", files[f]);
		struct sound s;
		size_t i = 0;
		enum status status = try_read(arena_printf(&arena, CASES "/files/%s", files[f]), 2, 0, &s, &err);

		if (no_library(status))
			SKIP_PART("%s", err.text);
		if (status)
			fail_msg("%s", err.text);
		while (!text_is(decoded[i].name, name))
			assert_true(++i < count);
		assert_int_equal(decoded[i].dim[0], s.channels);
		assert_int_equal(decoded[i].dim[1], s.length);
		assert_int_equal(s.rate, f == 4 ? 22050 : 16000);
		assert_memory_equal(decoded[i].data, s.samples, decoded[i].nbytes);
	}
}

static void test_mean_and_rate(void **state)
{
	struct error err;
	struct sound stereo, mono, slow;
	enum status s = try_read(CASES "/files/stereo.wav", 2, 0, &stereo, &err);
	(void)state;

	if (no_library(s))
		SKIP_PART("%s", err.text);
	assert_int_equal(s, STATUS_OK);
	assert_int_equal(try_read(CASES "/files/stereo.wav", 1, 0, &mono, &err), STATUS_OK);
	assert_int_equal(mono.channels, 1);
	for (size_t i = 0; i < mono.length; i++)
		assert_true(mono.samples[i] == (stereo.samples[i] + stereo.samples[stereo.length + i]) / 2);
	s = try_read(CASES "/files/stereo.wav", 2, 16000, &slow, &err);
	if (no_library(s))
		SKIP_PART("%s", err.text);
	assert_int_equal(s, STATUS_OK);
	assert_int_equal(slow.rate, 16000);
	assert_int_equal(slow.channels, 2);
	assert_int_equal(slow.length, (stereo.length * 16000 + 22049) / 22050);
}

// Python's soxr, quality HQ.
static void test_rates(void **state)
{
	struct stored e;
	json_t *meta = read_json(CASES "/resample", "meta.json"), *test;
	size_t i;
	(void)state;

	open_expected(&arena, CASES "/resample", &e);
	json_array_foreach(json_object_get(meta, "cases"), i, test)
	{
		const char *name = json_string_value(json_object_get(test, "case"));
		const json_t *said = json_object_get(json_object_get(test, "outputs"), "soxr_hq");
		struct sound in = make_sound(&arena, json_object_get(test, "audio")), out;
		struct error err = { 0 };
		enum status s = sound_resample(&arena, &in, (int)json_integer_value(json_object_get(test, "to")), &out, &err);

		if (no_library(s)) {
			json_decref(meta);
			SKIP_PART("%s", err.text);
		}
		if (s)
			fail_msg("%s", err.text);
		struct tensor t = { .name = "soxr_hq",
			.dtype = DTYPE_F32,
			.rank = 1,
			.dim = { (int64_t)out.length },
			.data = (void *)out.samples,
			.nbytes = out.length * sizeof(float) };
		struct judge j = { &e, "resample", name, "soxr_hq", 1e-6, 0 };
		compare_output(&j, said, &(struct sound_features){ &t, 1 });
		assert_true(j.compared > 0);
	}
	assert_int_equal(i, 6);
	json_decref(meta);
}

// A header that names sizes; `there` bytes of samples follow.
static const char *put_wav(const char *name, uint32_t rate, uint16_t channels, uint32_t nbytes, size_t there)
{
	size_t size = 44 + there;
	uint8_t *file = arena_alloc(&arena, size);
	uint32_t riff = nbytes > UINT32_MAX - 36 ? UINT32_MAX : nbytes + 36, head = 16, bytes_rate = rate * channels * 2;
	uint16_t pcm = 1, align = (uint16_t)(channels * 2), bits = 16;

	memcpy(file, "RIFF", 4);
	memcpy(file + 4, &riff, 4);
	memcpy(file + 8, "WAVEfmt ", 8);
	memcpy(file + 16, &head, 4);
	memcpy(file + 20, &pcm, 2);
	memcpy(file + 22, &channels, 2);
	memcpy(file + 24, &rate, 4);
	memcpy(file + 28, &bytes_rate, 4);
	memcpy(file + 32, &align, 2);
	memcpy(file + 34, &bits, 2);
	memcpy(file + 36, "data", 4);
	memcpy(file + 40, &nbytes, 4);
	put_bytes(name, file, size);
	return path(name);
}

static void refuses(const char *file, const char *why)
{
	struct error err;
	struct sound s;
	enum status status = try_read(file, 1, 16000, &s, &err);

	if (no_library(status))
		SKIP_PART("%s", err.text);
	assert_int_equal(status, STATUS_BAD_INPUT);
	assert_int_equal(err.status, STATUS_BAD_INPUT);
	if (strncmp(err.text, file, strlen(file)) != 0 || !strstr(err.text, why))
		fail_msg("not \"%s\": %s", why, err.text);
}

static void test_refused_files(void **state)
{
	struct error err;
	struct sound s;
	(void)state;

	put("text.wav", "no sound");
	refuses(path("text.wav"), "no sound that libsndfile reads");
	refuses(path("absent.wav"), "No such file");
	refuses(scratch, "a folder, not a file");
	refuses(put_wav("4gb.wav", 16000, 1, 4000000000u, 3200), "says that it has 4000000000 bytes of samples, and has 3200");
	refuses(put_wav("cut.wav", 16000, 1, 3200, 3198), "says that it has 3200 bytes of samples, and has 3198");
	refuses(TEST_SOURCE "/tests/fuzz/corpus/sound/cut.mp3", "ends within a frame");
	refuses(TEST_SOURCE "/tests/fuzz/corpus/sound/cut.nist", "sounds are read from WAV, FLAC");
	refuses(put_wav("empty.wav", 16000, 1, 0, 0), "no samples");
	refuses(put_wav("slow.wav", 99, 1, 20000, 20000), "1 channels of 99 samples a second");
	refuses(put_wav("long.wav", 100, 1, 1000000, 1000000), "more than 67108864 samples"); // 5000 seconds
	static const uint32_t unknown[] = { UINT32_MAX, 0x7ffff000, 0x7fffffff - 36, 0x80000000 };

	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		assert_int_equal(try_read(put_wav("stream.wav", 16000, 1, unknown[i], 3200), 1, 16000, &s, &err), STATUS_OK);
	assert_int_equal(s.length, 1600); // written by what did not know the length
	// A real file of holes: what its header says is true, and too much.
	const char *large = put_wav("large.wav", 16000, 1, 400000000, 0);
	assert_int_equal(truncate(large, 44 + 400000000), 0);
	refuses(large, "more than 67108864 samples");
}

static size_t put_head(char *out, const char *words)
{
	size_t n = 0;
	unsigned byte;

	for (const char *at = words; *at;) {
		if (*at == ' ') {
			at++;
		} else if (*at == '\'') {
			memcpy(out + n, at + 1, 4);
			n += 4;
			at += 6;
		} else {
			sscanf(at, "%2x", &byte);
			out[n++] = (char)byte;
			at += 2;
		}
	}
	return n;
}

// Other forms whose header says 100,000 bytes of samples, of which 1,000 are there.
static void test_other_forms_that_say_more(void **state)
{
	// Numbers in hexadecimal; names of chunks are text between "'".
	static const struct {
		const char *name, *head, *words;
	} forms[] = {
		{ "said.au", "'.snd' 00000018 000186a0 00000003 00003e80 00000001", "100000 bytes of samples, and has 1000" },
		{ "said.turned.au", "'dns.' 18000000 a0860100 03000000 803e0000 01000000",
			"100000 bytes of samples, and has 1000" },
		{ "said.rifx", "'RIFX' 000186c4 'WAVE' 'fmt ' 00000010 0001 0001 00003e80 00007d00 0002 0010 'data' 000186a0",
			"100000 bytes of samples, and has 1000" },
		// A tag of ID3, of 4 bytes, in front.
		{ "said.tagged.wav",
			"494433 0300 00 00000004 00000000 'RIFF' c4860100 'WAVE' 'fmt ' 10000000 0100 0100 803e0000 007d0000 "
			"0200 1000 "
			"'data' a0860100",
			"100000 bytes of samples, and has 1000" },
		{ "said.aiff", "'FORM' 000186ce 'AIFF' 'COMM' 00000012 0001 0000c350 0010 400cfa00000000000000 'SSND' 000186a8",
			"100008 bytes of samples, and has 1008" },
		{ "said.rf64",
			"'RF64' ffffffff 'WAVE' 'ds64' 1c000000 e886010000000000 a086010000000000 50c3000000000000 00000000 "
			"'fmt ' 10000000 0100 0100 803e0000 007d0000 0200 1000 'data' ffffffff",
			"100000 bytes of samples, and has 1000" },
		{ "said.w64",
			"'riff' 2e91cf11a5d628db04c10000 2087010000000000 'wave' f3acd3118cd100c04f8edb8a "
			"'fmt ' f3acd3118cd100c04f8edb8a 2800000000000000 0100 0100 803e0000 007d0000 0200 1000 "
			"'data' f3acd3118cd100c04f8edb8a b886010000000000",
			"100000 bytes of samples, and has 1000" },
	};
	char bytes[2000];
	(void)state;

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		const bool is_aiff = text_ends(forms[i].name, ".aiff"); // 8 bytes before its samples are of their chunk

		memset(bytes, 0, sizeof bytes);
		put_bytes(forms[i].name, bytes, put_head(bytes, forms[i].head) + (is_aiff ? 1008 : 1000));
		refuses(path(forms[i].name), forms[i].words);
	}
	// Chunks without bytes, more of them than are passed over.
	static char many[44 + 1001 * 8 + 1000];
	size_t n = put_head(many, "'RIFF' ffffffff 'WAVE' 'fmt ' 10000000 0100 0100 803e0000 007d0000 0200 1000");
	for (int i = 0; i < 1001; i++)
		n += put_head(many + n, "'junk' 00000000");
	n += put_head(many + n, "'data' a0860100");
	put_bytes("many.wav", many, n + 1000);
	refuses(path("many.wav"), "has 1000 chunks before its samples");
}

// A FLAC file whose header says four thousand million samples, or no number, and has 2400.
static void test_flac_that_says_more(void **state)
{
	struct error err;
	struct sound s;
	char *bytes;
	size_t nbytes;
	(void)state;

	assert_int_equal(file_read(&arena, CASES "/files/speech.flac", 1 << 20, &bytes, &nbytes, NULL), STATUS_OK);
	memcpy(bytes + 22, "\xEE\x6B\x28\x00", 4); // the last 32 bits of the number of samples
	put_bytes("much.flac", bytes, nbytes);
	refuses(path("much.flac"), "more than 67108864 samples");
	memcpy(bytes + 22, "\x03\x00\x00\x00", 4);
	put_bytes("more.flac", bytes, nbytes);
	refuses(path("more.flac"), "says that it has 50331648 samples, and 2400 can be read");
	memset(bytes + 22, 0, 4);
	put_bytes("unknown.flac", bytes, nbytes);
	if (try_read(path("unknown.flac"), 1, 16000, &s, &err))
		fail_msg("%s", err.text);
	assert_int_equal(s.length, 2400);
}

// ---- refusals -------------------------------------------------------------------------------------------------------------

static enum status preprocess(
	const char *config, const char *options, const struct sound *sounds, size_t count, struct error *err)
{
	struct arena a = { 0 };
	struct sound_features out;
	json_t *settings = json_parse(config), *call = options ? json_parse(options) : NULL;

	assert_non_null(settings);
	assert_true(!options || call);
	memset(err, 0, sizeof *err);
	enum status s = sound_preprocess(&a, settings, NULL, sounds, count, call, &out, err);
	json_decref(settings);
	json_decref(call);
	arena_done(&a);
	return s;
}

static void refuses_settings(const char *config, const char *options, const struct sound *sounds, size_t count, const char *why)
{
	struct error err;

	if (!preprocess(config, options, sounds, count, &err))
		fail_msg("not refused: %s %s", config, options ? options : "");
	if (!strstr(err.text, why))
		fail_msg("%s %s: not \"%s\": %s", config, options ? options : "", why, err.text);
}

#define OF(class, more) "{\"feature_extractor_type\": \"" class "FeatureExtractor\"" more "}"

static void test_refused_sounds(void **state)
{
	static float samples[8000];
	static const struct sound sounds[] = { { "a.wav", samples, 4000, 1, 16000 }, { "b.wav", samples, 5000, 1, 16000 } };
	static const struct sound stereo = { "c.wav", samples, 4000, 2, 16000 }, other = { "d.wav", samples, 4000, 1, 8000 };
	static const struct sound brief = { "e.wav", samples, 100, 1, 16000 }, none = { "f.wav", samples, 0, 1, 16000 };
	static const struct sound frame = { "g.wav", samples, 400, 1, 16000 };
	struct sound unclean = sounds[0];
	(void)state;

	for (size_t i = 0; i < 8000; i++)
		samples[i] = sinf((float)i);
	refuses_settings(OF("Wav2Vec2", ""), NULL, sounds, 2, "lengths of 4000 and 5000");
	refuses_settings(OF("Wav2Vec2", ""), NULL, &stereo, 1, "c.wav: channels: 2");
	refuses_settings(OF("Encodec", ", \"sampling_rate\": 16000, \"feature_size\": 2"), NULL, sounds, 1, "a.wav: channels: 1");
	refuses_settings(OF("Dac", ", \"feature_size\": 2"), NULL, &stereo, 1, "two channels");
	refuses_settings(OF("Wav2Vec2", ""), NULL, &other, 1, "d.wav: has 8000 samples a second");
	refuses_settings(OF("Wav2Vec2", ""), NULL, &none, 1, "f.wav: has no samples");
	refuses_settings(OF("Wav2Vec2", ""), NULL, sounds, 0, "no sounds");
	refuses_settings(OF("AST", ""), NULL, &brief, 1, "e.wav: 100 samples are less than a frame");
	refuses_settings(OF("SeamlessM4T", ""), NULL, &frame, 1, "not a number");
	refuses_settings(OF("Whisper", ""), "{\"padding\": \"longest\"}", &brief, 1, "cannot be mirrored");
	refuses_settings(OF("Clap", ", \"truncation\": \"none\", \"sampling_rate\": 16000, \"max_length_s\": 0.2"), NULL, sounds,
		1, "max_length_s is not a number that can be");
	refuses_settings(OF("Clap", ", \"truncation\": \"none\", \"sampling_rate\": 16000"), "{\"max_length\": 3000}", sounds, 1,
		"longer than 3000 samples");
	samples[17] = NAN;
	unclean.samples = samples;
	refuses_settings(OF("AST", ""), NULL, &unclean, 1, "not a number");
	refuses_settings(OF("Dac", ""), NULL, &unclean, 1, "not a number");
	samples[17] = 0;
}

static void test_refused_settings(void **state)
{
	static float samples[4000];
	static const struct sound sound = { "a.wav", samples, 4000, 1, 16000 };
	static const struct {
		const char *config, *options, *why;
	} all[] = {
		{ "[]", NULL, "an object" },
		{ "{}", NULL, "no feature_extractor_type" },
		{ OF("Nobodys", ""), NULL, "\"NobodysFeatureExtractor\" is not known" },
		{ OF("Whisper", ", \"dither\": 1"), NULL, "dither" },
		{ OF("Whisper", ", \"hop_length\": 1"), NULL,
			"each sample would be in 400 of them, and at most in 64 it can be" },
		{ OF("Whisper", ", \"sampling_rate\": \"16000\""), NULL, "sampling_rate is not a number" },
		{ OF("Whisper", ", \"sampling_rate\": 16000.5"), NULL, "sampling_rate is not a whole number" },
		{ OF("Whisper", ", \"n_fft\": 100000000"), NULL, "n_fft" },
		{ OF("Whisper", ", \"hop_length\": 0"), NULL, "hop_length" },
		{ OF("Whisper", ", \"feature_size\": 100000"), NULL, "feature_size" },
		{ OF("Whisper", ", \"chunk_length\": 3600, \"hop_length\": 10"), NULL, "at most 67108864" },
		{ OF("Whisper", ", \"chunk_length\": 3600, \"hop_length\": 8, \"feature_size\": 5"), NULL, "more frames than" },
		{ OF("Whisper", ", \"return_attention_mask\": 1"), NULL, "return_attention_mask is not true or false" },
		{ OF("Whisper", ", \"padding_side\": \"up\""), NULL, "padding_side" },
		{ OF("SpeechT5", ", \"win_function\": \"kaiser\""), "{\"audio_target\": true}", "win_function \"kaiser\"" },
		{ OF("SpeechT5", ", \"fmin\": 8000, \"fmax\": 80"), "{\"audio_target\": true}", "from 8000 to 80 Hz" },
		{ OF("SpeechT5", ", \"win_length\": 5000"), "{\"audio_target\": true}", "a transform of 16384 values" },
		{ OF("Parakeet", ", \"win_length\": 600"), NULL, "does not fit" },
		{ OF("Clap", ", \"sampling_rate\": 16000, \"feature_size\": 32, \"max_length_s\": 1"), "{\"max_length\": 2000}",
			"fusion of 32 mel filters" },
		{ OF("Encodec", ", \"sampling_rate\": 16000, \"chunk_length_s\": 1, \"overlap\": 0"), "{\"truncation\": true}",
			"give no length" },
		{ OF("Encodec", ", \"sampling_rate\": 16000"), "{\"truncation\": true, \"padding\": true}",
			"do not go together" },
		{ OF("Wav2Vec2", ""), "{\"truncation\": true}", "truncation without a max_length" },
		{ OF("Wav2Vec2", ""), "{\"padding\": \"max_length\"}", "padding to max_length without" },
		{ OF("Wav2Vec2", ""), "{\"padding\": \"most\"}", "option padding is not" },
		{ OF("Wav2Vec2", ""), "{\"max_length\": -1}", "option max_length is not" },
		{ OF("Wav2Vec2", ""), "{\"max_length\": 1e9}", "option max_length is not" },
		{ OF("Wav2Vec2", ""), "{\"paddings\": true}", "option \"paddings\" is not known" },
		{ OF("Wav2Vec2", ""), "{\"truncation\": 3}", "option truncation is not" },
		{ OF("Speech2Text", ""), "{\"padding\": true, \"return_attention_mask\": false}", "without an attention mask" },
		{ OF("CohereAsr", ", \"max_audio_clip_s\": 0.001, \"overlap_chunk_second\": 0.001"), NULL, "a part of" },
		{ OF("AST", ", \"max_length\": 16777216"), NULL, "at most 67108864" },
	};
	(void)state;

	for (size_t i = 0; i < 4000; i++)
		samples[i] = sinf((float)i);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		refuses_settings(all[i].config, all[i].options, &sound, 1, all[i].why);
}

static void test_names(void **state)
{
	struct sound_wanted wanted;
	json_t *stereo = json_parse(OF("Encodec", ", \"feature_size\": 2, \"sampling_rate\": 48000")), *empty = json_parse("{}");
	size_t count = 0;
	(void)state;

	while (sound_class_name(count, NULL))
		assert_true(sound_class_known(sound_class_name(count++, NULL)));
	assert_int_equal(count, 12);
	assert_false(sound_class_known("ViTImageProcessor"));
	assert_false(sound_class_known(NULL));
	assert_int_equal(sound_wanted(stereo, NULL, &wanted, NULL), STATUS_OK);
	assert_true(wanted.channels == 2 && wanted.rate == 48000);
	assert_int_equal(sound_wanted(empty, "ClapFeatureExtractor", &wanted, NULL), STATUS_OK);
	assert_true(wanted.channels == 1 && wanted.rate == 48000);
	assert_int_equal(sound_wanted(empty, "Nobodys", &wanted, NULL), STATUS_UNSUPPORTED);
	json_decref(stereo);
	json_decref(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fft),
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_mean_and_rate),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_refused_files),
		cmocka_unit_test(test_other_forms_that_say_more),
		cmocka_unit_test(test_flac_that_says_more),
		cmocka_unit_test(test_refused_sounds),
		cmocka_unit_test(test_refused_settings),
		cmocka_unit_test(test_names),
	};
	return exit_code(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
