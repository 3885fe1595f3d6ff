// SPDX-License-Identifier: Apache-2.0
// Sounds to WAV files: one channel, 32-bit floats, as they are.
#ifndef ASSAY_PREPROCESS_SOUND_WRITE_H
#define ASSAY_PREPROCESS_SOUND_WRITE_H

#include <stddef.h>

#include "base/error.h"

// Written beside the target and renamed (file_write); the same samples are the same bytes. BAD_INPUT: a rate below 1, or too
// many samples for such a file; UNAVAILABLE: libsndfile is not on this machine; FAILED: what it says.
enum status sound_save(const float *samples, size_t count, int rate, const char *path, struct error *err);

#endif
