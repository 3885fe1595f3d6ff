// SPDX-License-Identifier: Apache-2.0
// Any bytes as settings and options of a feature extractor, and as lengths of up to three sounds: refused with a sentence, or
// tensors whose sizes are those of their shapes, of finite numbers, masks of 0 and 1.
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "fuzz.h"
#include "preprocess/sound.h"

struct source {
	const uint8_t *data;
	size_t left;
};

static unsigned take(struct source *in, unsigned below)
{
	unsigned value = 0;

	for (int i = 0; i < 2 && in->left; i++, in->left--)
		value = value << 8 | *in->data++;
	return value % below;
}

// Names that every class knows, and values among which are those that cannot be; nothing that takes long.
static void settings(struct source *in, struct text *out)
{
	static const char *const names[] = { "feature_size", "num_mel_bins", "n_fft", "fft_window_size", "hop_length",
		"win_length", "stride", "max_length", "chunk_length", "chunk_length_s", "overlap", "max_length_s", "fmin", "fmax",
		"frequency_max", "padding_value", "preemphasis", "mean", "std", "do_normalize", "return_attention_mask",
		"normalize_vars", "do_ceptral_normalize", "padding_side", "truncation", "padding", "win_function" };
	static const char *const words[] = { "\"left\"", "\"fusion\"", "\"rand_trunc\"", "\"repeat\"", "\"hamming\"",
		"\"longest\"", "true", "false", "null", "-1", "0", "0.25", "1e300", "[]" };
	unsigned count = take(in, 8);

	text_addf(out, "{\"sampling_rate\": 1000");
	for (unsigned i = 0; i < count; i++) {
		size_t name = take(in, sizeof names / sizeof *names);
		unsigned kind = take(in, 3);

		text_addf(out, ", \"%s\": ", names[name]);
		if (kind)
			text_addf(out, "%u", take(in, kind == 1 ? 8 : 700));
		else
			text_add(out, words[take(in, sizeof words / sizeof *words)]);
	}
	text_add(out, "}");
}

static void options(struct source *in, struct text *out)
{
	static const char *const all[] = { "\"padding\": true", "\"padding\": \"max_length\"", "\"truncation\": true",
		"\"return_attention_mask\": true", "\"return_attention_mask\": false", "\"do_normalize\": true",
		"\"audio_target\": true", "\"padding\": \"repeat\"", "\"truncation\": \"fusion\"" };
	unsigned chosen = take(in, 1 << 9);

	text_addf(out, "{\"pad_to_multiple_of\": %s", take(in, 2) ? "7" : "null");
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (chosen >> i & 1)
			text_addf(out, ", %s", all[i]);
	if (take(in, 2))
		text_addf(out, ", \"max_length\": %u", 1 + take(in, 3000));
	text_add(out, "}");
}

static void check(const struct sound_features *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct tensor *t = &f->tensors[i];
		size_t count;

		if (!t->name || !tensor_count(t->rank, t->dim, &count) || t->nbytes != count * dtype_size(t->dtype) ||
			count > SOUND_MOST)
			abort();
		for (size_t k = 0; k < count; k++) {
			double value = tensor_get(t, k);

			if (!isfinite(value) || (t->dtype != DTYPE_F32 && value != 0 && value != 1))
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static float samples[3][6000];
	struct source in = { data, size };
	struct arena a = { 0 };
	struct error e = { 0 };
	struct text config = { 0 }, call = { 0 };
	struct sound_features out = { 0 };
	struct sound sounds[3];
	size_t count = 1 + take(&in, 3), class_count = 0;
	int channels = 1 + (int)take(&in, 8) / 7;

	for (size_t i = 0; i < count; i++) {
		sounds[i] = (struct sound){ "a.wav", samples[i], take(&in, 3000), channels, 1000 };
		for (size_t k = 0; k < 6000 && !samples[i][k]; k++)
			samples[i][k] = sinf((float)(k * (i + 1)));
	}
	while (sound_class_name(class_count, NULL))
		class_count++;
	const char *class_name = sound_class_name(take(&in, (unsigned)class_count), NULL);
	settings(&in, &config);
	options(&in, &call);
	json_t *settings_tree = json_parse(text_get(&config)), *call_tree = json_parse(text_get(&call));
	enum status s =
		settings_tree ? sound_preprocess(&a, settings_tree, class_name, sounds, count, call_tree, &out, &e) : STATUS_OK;
	if (s)
		fuzz_refused(s, &e, NULL);
	else
		check(&out);
	json_decref(settings_tree);
	json_decref(call_tree);
	text_done(&config);
	text_done(&call);
	arena_done(&a);
	return 0;
}
