// SPDX-License-Identifier: Apache-2.0
// libsndfile and libsoxr, opened when a sound is read and not before: linked, they and the ten codecs behind them would cost
// every start of the program, and every child that measures.
#ifndef ASSAY_PREPROCESS_SOUND_LIBRARY_H
#define ASSAY_PREPROCESS_SOUND_LIBRARY_H

#include <sndfile.h>
#include <soxr.h>

#include "base/error.h"

#define SNDFILE_FUNCTIONS(X) \
	X(sf_open_virtual) \
	X(sf_readf_float) \
	X(sf_writef_float) \
	X(sf_command) \
	X(sf_strerror) \
	X(sf_close)
#define SOXR_FUNCTIONS(X) \
	X(soxr_oneshot) \
	X(soxr_io_spec) \
	X(soxr_quality_spec)

struct sound_library {
#define X(function) __typeof__(&function) function;
	SNDFILE_FUNCTIONS(X)
	SOXR_FUNCTIONS(X)
#undef X
};

// Both stay loaded till exit. UNAVAILABLE when the one that is asked for is not on this machine.
enum status sndfile_load(const struct sound_library **out, struct error *err);
enum status soxr_load(const struct sound_library **out, struct error *err);

#endif
