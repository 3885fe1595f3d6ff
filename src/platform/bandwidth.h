// SPDX-License-Identifier: Apache-2.0
// How fast memory can be read and written, measured: every thread streams through its own part of arrays that no cache holds.
// GB are 10^9 bytes. Beside other work it is a lower bound; the spread says so.
#ifndef ASSAY_PLATFORM_BANDWIDTH_H
#define ASSAY_PLATFORM_BANDWIDTH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum bandwidth_kernel {
	BANDWIDTH_TRIAD, // a[i] = b[i] + s * c[i]: 24 bytes counted, as STREAM does (a written line is read first, too)
	BANDWIDTH_READ,  // a sum: as a step of decoding reads every weight once
};
enum { BANDWIDTH_SAMPLES_MOST = 512 };

struct bandwidth {
	int threads;
	uint64_t bytes; // of all arrays
	size_t count;
	double gb_per_s[BANDWIDTH_SAMPLES_MOST]; // of each repetition, in order; the first one, which warms up, is left out
	double min, median, max;
};

// At least 5 repetitions, then until `seconds` have passed. NO_MEMORY when the arrays cannot be had.
enum status bandwidth_measure(
	struct bandwidth *out, enum bandwidth_kernel kernel, int threads, uint64_t nbytes, double seconds, struct error *err);

// Reads `nbytes` of words of 64 bits once and returns their sum, for nothing but reading. Eight rows lie side by side, as a
// product of a matrix and a vector reads them, and are asked for ahead: one sequential stream a core leaves a part of the
// bandwidth unused, and engines read faster than such a "roof" (bench/decode: 105 to 114 % of it).
double bandwidth_read(const void *data, size_t nbytes);

#endif
