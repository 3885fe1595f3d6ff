// SPDX-License-Identifier: Apache-2.0
// What the classes of feature extractors share: settings, the call's options, batches and their padding, tensors.
#ifndef ASSAY_PREPROCESS_SOUND_INSIDE_H
#define ASSAY_PREPROCESS_SOUND_INSIDE_H

#include <stdint.h>

#include "preprocess/sound.h"
#include "preprocess/sound_spectrum.h"

enum padding_rule { PAD_NOT, PAD_LONGEST, PAD_MAX_LENGTH };
enum choice { CHOICE_NONE = -1, CHOICE_NO, CHOICE_YES };

// The call: its options, and where it has none the class's defaults; what the configuration says of padding.
struct call {
	enum padding_rule padding;
	bool truncation;
	size_t max_length, multiple; // 0: none
	enum choice mask, normalize;
	bool target;
	bool left;   // padding stands before the sound: padding_side of the configuration
	float value; // padding_value
};

struct work;

// How classes differ.
struct sound_class {
	const char *name;
	enum status (*features)(struct work *w);
	const char *output;  // the name of the features
	int rate;            // sampling_rate where the configuration has none
	bool takes_channels; // feature_size is the number of channels
	bool normalize;      // do_normalize where the configuration has none
	enum choice mask;    // return_attention_mask where neither call nor configuration says
	bool cohere;         // of Parakeet's kind: long sounds are split, and there is noise, the same each time
	struct call call;    // of a call without options
	struct spectrum spectrum;
};

struct work {
	struct arena *a;
	const struct sound_class *class;
	const json_t *config, *options;
	const struct sound *sounds;
	size_t count;
	int rate;
	struct call call;
	struct sound_features *out;
	struct error *err;
	enum status status; // of the first setting that cannot be; later ones give their defaults
};

// A setting of the configuration; `fallback` where it is absent or null. Out of range or of another type: w->status.
double setting_number(struct work *w, const char *key, double fallback, double min, double max);
int setting_whole(struct work *w, const char *key, int fallback, int min, int max);
bool setting_flag(struct work *w, const char *key, bool fallback);
const char *setting_word(struct work *w, const char *key, const char *fallback);

// The options over the class's defaults. BAD_INPUT: one of another type, an unknown word.
enum status call_read(struct work *w);
// return_attention_mask: the call's, else the configuration's, else the class's.
bool call_mask(struct work *w);

struct rows { // what is padded: `count` of [length[i], width]
	size_t count, width;
	const float **values;
	size_t *length;
};
struct batch { // [count, length, width]
	size_t count, length, width;
	float *values;
	size_t *valid; // of each row: how much of it is no padding
	bool left;     // padding stands before it
};

struct rows rows_make(struct work *w, size_t count, size_t width);
// Every channel of every sound.
struct rows rows_of_sounds(struct work *w);
// SequenceFeatureExtractor.pad: truncation, then padding.
enum status rows_pad(struct work *w, const struct rows *rows, const struct call *call, struct batch *out);

// Of n values `stride` apart: mean and variance are sums divided by `of` and `of - freedom`.
struct moments {
	double mean, variance;
};
struct moments moments_of(const float *v, size_t n, size_t stride, double of, double freedom);
// zero_mean_unit_var_norm of each row: of its valid values, what lies behind them is padding_value; where the call makes no
// mask, of all of the row, its padding among them.
void batch_normalize(struct work *w, struct batch *b, bool masked);

// In w->out. `data` is kept; BOOL's is a byte each.
void tensor_put(struct work *w, const char *name, enum dtype dtype, int rank, const int64_t *dim, void *data);
// Every step-th value of the mask of every `each`-th row, `length` of them.
void mask_put(struct work *w, const char *name, const struct batch *b, size_t each, size_t first, size_t step, size_t length);
enum status too_many(struct work *w, size_t count, size_t length, size_t width);

// [*frames, bins] of one sound, in w->a. BAD_INPUT: shorter than a frame, or a batch of w->count such is too much work or too
// large.
enum status spectrum_of(struct work *w, const struct spectrum_maker *m, size_t bins, const char *name, const float *samples,
	size_t length, float **out, size_t *frames);

// One function a kind of class.
enum status features_wave(struct work *w);
enum status features_codec(struct work *w);
enum status features_speecht5(struct work *w);
enum status features_whisper(struct work *w);
enum status features_clap(struct work *w);
enum status features_ast(struct work *w);
enum status features_speech2text(struct work *w);
enum status features_seamless(struct work *w);
enum status features_parakeet(struct work *w);
enum status features_lasr(struct work *w);

#endif
