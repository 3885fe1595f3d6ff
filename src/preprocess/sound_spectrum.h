// SPDX-License-Identifier: Apache-2.0
// Mel spectra of a sound: frames, window, Fourier transform, power, mel filters, logarithm. The formulas are those of
// transformers/audio_utils.py (window_function, mel_filter_bank, spectrogram), which has them from numpy, librosa and Kaldi:
//   window       numpy's hanning 0.5 - 0.5 cos(2 pi i / N) and hamming 0.54 - 0.46 cos(2 pi i / N); Kaldi's povey, hanning^0.85
//   HTK mel      2595 log10(1 + f / 700); Kaldi's 1127 ln(1 + f / 700)
//   Slaney's mel 3 f / 200 below 1000 Hz, 15 + 27 ln(f / 1000) / ln 6.4 above; his norm divides a filter by half its width in Hz
#ifndef ASSAY_PREPROCESS_SOUND_SPECTRUM_H
#define ASSAY_PREPROCESS_SOUND_SPECTRUM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum window_kind { WINDOW_BOXCAR, WINDOW_HANN, WINDOW_HAMMING, WINDOW_POVEY };
enum mel_scale { MEL_HTK, MEL_KALDI, MEL_SLANEY };
enum logarithm { LOG_NATURAL, LOG_TEN, LOG_DECIBEL }; // decibel: 10 log10 of a power

// Limits of what a configuration may say.
enum { SPECTRUM_FFT_MOST = 8192, SPECTRUM_BINS_MOST = 1024 };

struct spectrum {
	enum window_kind window;
	bool periodic;     // the window is the first N of N + 1 values
	int window_length; // centred in a frame
	int frame, hop, fft;
	bool center; // half a frame is put before and behind the sound, ...
	bool zeros;  // ... zeros; else its mirror image
	bool remove_mean;
	double preemphasis; // x[i] - preemphasis x[i - 1] within each frame; 0: none
	double gain;        // of samples
	int power;          // 1 or 2: of the absolute value
	bool single;        // the transform is rounded to float, as numpy's spectrogram has it
	enum mel_scale scale;
	bool slaney_norm, mel_triangles; // triangles are so in mel, not in Hz
	int bins;
	double low, high;    // Hz; high 0: half the rate, rounded down
	double floor, added; // log(max(floor, mel) + added)
	enum logarithm log;
};

struct spectrum_maker;

// In `a`. BAD_INPUT: numbers that do not go together or are beyond the limits above.
enum status spectrum_make(struct arena *a, const struct spectrum *s, int rate, struct spectrum_maker **out, struct error *err);
// Frames of a sound of this length; 0: it is shorter than one.
size_t spectrum_frames(const struct spectrum_maker *m, size_t length);
// Writes [spectrum_frames(m, length), bins].
void spectrum_run(const struct spectrum_maker *m, const float *samples, size_t length, float *out);
// What one frame costs, for limits: the length of its transform.
size_t spectrum_cost(const struct spectrum_maker *m);

#endif
