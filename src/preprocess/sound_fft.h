// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of real values, any length, in double: X[k] = sum over j of x[j] exp(-2 pi i j k / n).
// Lengths whose prime factors are at most FFT_RADIX_MOST go by mixed radices (Cooley and Tukey 1965), others by a convolution
// of a power of two (Bluestein 1970), so that every length takes O(n log n).
#ifndef ASSAY_PREPROCESS_SOUND_FFT_H
#define ASSAY_PREPROCESS_SOUND_FFT_H

#include <stddef.h>

#include "base/arena.h"

enum { FFT_RADIX_MOST = 31 };

struct complex_value {
	double re, im;
};

struct fft;

// n >= 1. In `a`; serves one thread, since it holds memory that it works in.
struct fft *fft_make(struct arena *a, size_t n);
// Reads n values, writes n / 2 + 1.
void fft_real(const struct fft *f, const double *in, struct complex_value *out);

#endif
