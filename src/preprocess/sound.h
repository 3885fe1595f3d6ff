// SPDX-License-Identifier: Apache-2.0
// Sounds as a model's own feature extractor prepares them. What is computed is what transformers 5 computes on a processor
// without torchaudio (audio_utils.py and the feature_extraction_*.py of each class): the row of a class in sound.c has its
// traits, preprocessor_config.json what differs from them. Where the library draws a number at random, which it does for
// sounds longer than CLAP's max_length_s, the first of the values it may draw is taken here; dither that is not 0 is refused,
// but for CohereAsr's, whose seed is the length of the sound.
#ifndef ASSAY_PREPROCESS_SOUND_H
#define ASSAY_PREPROCESS_SOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/tensor.h"

// Values that a sound, and any tensor made of sounds, may have: 70 minutes of one channel at 16000 Hz.
#define SOUND_MOST ((size_t)1 << 26)

struct sound {
	const char *name;     // what errors call it; a file's path
	const float *samples; // [channels, length], 1.0 is full scale
	size_t length;        // of one channel
	int channels, rate;   // rate in Hz
};

// What a model's sounds must be.
struct sound_wanted {
	int channels, rate;
};

struct sound_features {
	struct tensor *tensors; // data F32; masks I64, is_longer BOOL
	size_t count;
};

// Is this the name of a feature extractor that is known here, "WhisperFeatureExtractor"?
bool sound_class_known(const char *class_name);
// The names, one by one; NULL after the last. `table` is not used: the form that text_nearest asks for.
const char *sound_class_name(size_t i, const void *table);

// The settings of a model's folder where they are of such a class: preprocessor_config.json, or "feature_extractor" of
// processor_config.json, with a feature_extractor_type; an older file without one has that of the model's type. NULL: they are
// another processor's, or there are none. Owned by the caller.
enum status sound_settings(json_t **out, struct arena *a, const char *folder, struct error *err);

// `config` is preprocessor_config.json, or "feature_extractor" of processor_config.json; `class_name` is the extractor's
// class, NULL: the feature_extractor_type of `config`. UNSUPPORTED: a class that is not known here; BAD_INPUT: a setting that
// cannot be.
enum status sound_wanted(const json_t *config, const char *class_name, struct sound_wanted *out, struct error *err);

// Decodes a file by libsndfile (WAV, FLAC, Ogg, MP3, AIFF, ...). wanted->channels 1: the mean of the file's channels; else its
// channels as they are. Then sound_resample to wanted->rate; 0: the file's own. Samples in `a`, out->name is `path`.
// UNAVAILABLE: no libsndfile or libsoxr on this machine. BAD_INPUT: no file, no sound, one that is shorter than its header
// says, or one of more than SOUND_MOST values; a header's word for that is enough, and nothing is allocated for it.
enum status sound_read(
	struct arena *a, const char *path, const struct sound_wanted *wanted, struct sound *out, struct error *err);
// The same of a file in memory, 1 byte or more, which is not kept; `name` stands for the path.
enum status sound_parse(struct arena *a, const char *name, const void *data, size_t nbytes, const struct sound_wanted *wanted,
	struct sound *out, struct error *err);
// ceil(length * rate / in->rate) samples by libsoxr, quality HQ: what librosa.load and transformers.audio_utils.load_audio
// give. The same samples where the rate is the same, else in `a`. UNAVAILABLE, BAD_INPUT: as above.
enum status sound_resample(struct arena *a, const struct sound *in, int rate, struct sound *out, struct error *err);

// The tensors that the extractor's call gives for this batch, in `a`. `options` are keyword arguments of that call by their
// names in the library: padding, max_length, truncation, pad_to_multiple_of, return_attention_mask, do_normalize, audio_target
// (true: the sounds are SpeechT5's targets); NULL or an absent one: the call's default. One that a class's call does not have
// has no effect, as in the library; a name that is none of these is BAD_INPUT. Every sound must have the model's rate and
// channels. BAD_INPUT: what the library refuses too, sounds of several lengths without padding among it; a result that is no
// number (one frame has no variance); more than SOUND_MOST values. UNSUPPORTED: an unknown class, or dither.
enum status sound_preprocess(struct arena *a, const json_t *config, const char *class_name, const struct sound *sounds,
	size_t count, const json_t *options, struct sound_features *out, struct error *err);

#endif
