// SPDX-License-Identifier: Apache-2.0
#include "preprocess/sound.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "preprocess/sound_inside.h"

// Kaldi's fbank as the library computes it without torchaudio: frames of 25 ms of a rate of 16000 Hz, 10 ms apart.
#define KALDI(kind, filters, of_samples) \
	{ \
		.window = (kind), .window_length = 400, .frame = 400, .hop = 160, .fft = 512, .remove_mean = true, \
		.preemphasis = 0.97, .gain = (of_samples), .power = 2, .single = true, .scale = MEL_KALDI, \
		.mel_triangles = true, .bins = (filters), .low = 20, .floor = 0x1p-23, .log = LOG_NATURAL \
	}

#define PARAKEET(filters) \
	{ \
		.window = WINDOW_HANN, .center = true, .zeros = true, .gain = 1, .power = 2, .scale = MEL_SLANEY, \
		.slaney_norm = true, .bins = (filters), .added = 0x1p-24, .log = LOG_NATURAL \
	}

static const struct sound_class classes[] = {
	{ .name = "ASTFeatureExtractor",
		.features = features_ast,
		.output = "input_values",
		.rate = 16000,
		.normalize = true,
		.spectrum = KALDI(WINDOW_HANN, 128, 1) },
	{ .name = "ClapFeatureExtractor",
		.features = features_clap,
		.output = "input_features",
		.rate = 48000,
		.spectrum = { .window = WINDOW_HANN,
			.periodic = true,
			.center = true,
			.gain = 1,
			.power = 2,
			.single = true,
			.scale = MEL_HTK,
			.floor = 1e-10,
			.log = LOG_DECIBEL } },
	{ .name = "CohereAsrFeatureExtractor",
		.features = features_parakeet,
		.output = "input_features",
		.rate = 16000,
		.cohere = true,
		.call = { .padding = PAD_LONGEST },
		.spectrum = PARAKEET(128) },
	{ .name = "DacFeatureExtractor",
		.features = features_codec,
		.output = "input_values",
		.rate = 16000,
		.takes_channels = true,
		.call = { .padding = PAD_LONGEST } },
	{ .name = "EncodecFeatureExtractor",
		.features = features_codec,
		.output = "input_values",
		.rate = 24000,
		.takes_channels = true,
		.call = { .padding = PAD_LONGEST } },
	{ .name = "LasrFeatureExtractor",
		.features = features_lasr,
		.output = "input_features",
		.rate = 16000,
		.call = { .padding = PAD_LONGEST },
		.spectrum = { .window = WINDOW_HANN,
			.gain = 1,
			.power = 2,
			.scale = MEL_KALDI,
			.mel_triangles = true,
			.low = 125,
			.high = 7500,
			.floor = 1e-5,
			.log = LOG_NATURAL } },
	{ .name = "ParakeetFeatureExtractor",
		.features = features_parakeet,
		.output = "input_features",
		.rate = 16000,
		.call = { .padding = PAD_LONGEST },
		.spectrum = PARAKEET(80) },
	{ .name = "SeamlessM4TFeatureExtractor",
		.features = features_seamless,
		.output = "input_features",
		.rate = 16000,
		.mask = CHOICE_YES,
		.call = { .padding = PAD_LONGEST, .multiple = 2 },
		.spectrum = KALDI(WINDOW_POVEY, 80, 32768) },
	{ .name = "Speech2TextFeatureExtractor",
		.features = features_speech2text,
		.output = "input_features",
		.rate = 16000,
		.mask = CHOICE_YES,
		.spectrum = KALDI(WINDOW_POVEY, 80, 32768) },
	{ .name = "SpeechT5FeatureExtractor",
		.features = features_speecht5,
		.output = "input_values",
		.rate = 16000,
		.mask = CHOICE_YES,
		.spectrum = { .periodic = true,
			.center = true,
			.gain = 1,
			.power = 1,
			.single = true,
			.scale = MEL_SLANEY,
			.slaney_norm = true,
			.log = LOG_TEN } },
	{ .name = "Wav2Vec2FeatureExtractor",
		.features = features_wave,
		.output = "input_values",
		.rate = 16000,
		.normalize = true },
	{ .name = "WhisperFeatureExtractor",
		.features = features_whisper,
		.output = "input_features",
		.rate = 16000,
		.call = { .padding = PAD_MAX_LENGTH, .truncation = true },
		.spectrum = { .window = WINDOW_HANN,
			.periodic = true,
			.center = true,
			.gain = 1,
			.power = 2,
			.scale = MEL_SLANEY,
			.slaney_norm = true,
			.high = 8000,
			.floor = 1e-10,
			.log = LOG_TEN } },
};

const char *sound_class_name(size_t i, const void *table)
{
	(void)table;
	return i < sizeof classes / sizeof *classes ? classes[i].name : NULL;
}

static const struct sound_class *class_find(const char *name)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (text_is(name, classes[i].name))
			return &classes[i];
	return NULL;
}

bool sound_class_known(const char *class_name)
{
	return class_find(class_name) != NULL;
}

static enum status begin(struct work *w, const char *class_name)
{
	if (!json_is_object(w->config))
		return error_set(w->err, STATUS_BAD_INPUT, "a feature extractor's settings are an object");
	if (!class_name)
		class_name = json_string_value(json_object_get(w->config, "feature_extractor_type"));
	if (!class_name)
		return error_set(w->err, STATUS_BAD_INPUT, "no feature_extractor_type");
	w->class = class_find(class_name);
	if (!w->class)
		return error_set(w->err, STATUS_UNSUPPORTED, "feature extractor \"%s\" is not known", class_name);
	w->rate = setting_whole(w, "sampling_rate", w->class->rate, 100, 1000000);
	return w->status;
}

enum status sound_wanted(const json_t *config, const char *class_name, struct sound_wanted *out, struct error *err)
{
	struct work w = { .config = config, .err = err };
	enum status s = begin(&w, class_name);

	if (s)
		return s;
	*out = (struct sound_wanted){ w.class->takes_channels ? setting_whole(&w, "feature_size", 1, 1, 2) : 1, w.rate };
	return w.status;
}

static enum status check_sounds(struct work *w, int channels)
{
	size_t all = 0;

	if (!w->count)
		return error_set(w->err, STATUS_BAD_INPUT, "no sounds");
	for (size_t i = 0; i < w->count; i++) {
		const struct sound *s = &w->sounds[i];

		if (s->rate != w->rate)
			return error_set(w->err, STATUS_BAD_INPUT, "%s: has %d samples a second, and the model takes %d", s->name,
				s->rate, w->rate);
		if (s->channels != channels)
			return error_set(w->err, STATUS_BAD_INPUT, "%s: channels: %d, and the model takes %d", s->name,
				s->channels, channels);
		if (!s->length)
			return error_set(w->err, STATUS_BAD_INPUT, "%s: has no samples", s->name);
		if (s->length > SOUND_MOST || (all += s->length * (size_t)channels) > SOUND_MOST)
			return error_set(w->err, STATUS_BAD_INPUT, "%s: more than %zu samples", s->name, SOUND_MOST);
	}
	return STATUS_OK;
}

// What the library would give as NaN or infinity.
static enum status check_numbers(struct work *w)
{
	for (size_t t = 0; t < w->out->count; t++) {
		const struct tensor *tensor = &w->out->tensors[t];
		const float *values = tensor->data;

		for (size_t i = 0; tensor->dtype == DTYPE_F32 && i < tensor->nbytes / sizeof *values; i++)
			if (!isfinite(values[i]))
				return error_set(w->err, STATUS_BAD_INPUT,
					"%s: not a number: samples are none, or what has no variance (silence, a single frame) "
					"is divided by it",
					tensor->name);
	}
	return STATUS_OK;
}

enum status sound_preprocess(struct arena *a, const json_t *config, const char *class_name, const struct sound *sounds,
	size_t count, const json_t *options, struct sound_features *out, struct error *err)
{
	struct work w = {
		.a = a, .config = config, .options = options, .sounds = sounds, .count = count, .out = out, .err = err
	};
	struct sound_wanted wanted;
	enum status s = begin(&w, class_name);

	s = s ? s : sound_wanted(config, class_name, &wanted, err);
	if (s)
		return s;
	if (!w.class->cohere && setting_number(&w, "dither", 0, -1e9, 1e9) != 0)
		return error_set(err, STATUS_UNSUPPORTED, "dither adds random noise: no two results are the same");
	s = w.status ? w.status : call_read(&w);
	s = s ? s : check_sounds(&w, wanted.channels);
	if (s)
		return s;
	*out = (struct sound_features){ ARENA_ARRAY(a, 2, struct tensor), 0 };
	s = w.class->features(&w);
	return s ? s : check_numbers(&w);
}
