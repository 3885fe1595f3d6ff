// SPDX-License-Identifier: Apache-2.0
// From which batch on one platform is faster than another, for the same question. Both answer the same number of inputs at a batch, so the
// one with the smaller latency is the faster one per item. Where the 95 % intervals of the two medians overlap it is not said; between two
// measured batches the answer is "between", and beyond the measured ones there is none.
#ifndef ASSAY_REPORT_CROSSOVER_H
#define ASSAY_REPORT_CROSSOVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct crossover_point { int64_t batch; double latency_ms, low_ms, high_ms; };       // low, high: NaN where there is no interval
struct crossover_side { const char *name; const struct crossover_point *points; size_t count; };     // by rising batch

// A stretch of common batches at which the same side is the faster one.
struct crossover_stretch { int faster; int64_t first, last; };                       // faster: 0 or 1
struct crossover {
	size_t common;                       // batches that both have
	int64_t first, last;                 // of these
	struct crossover_stretch *stretches; // one behind the other; batches at which it cannot be told lie between or within them
	size_t count;
};

void crossover_find(struct crossover *out, struct arena *a, const struct crossover_side sides[2]);
// "openvino becomes faster than cpu between batch 4 and 8", "cpu is faster than openvino at each batch from 1 to 16 at which it can be
// told", ...; NULL where fewer than two batches are common.
const char *crossover_sentence(struct arena *a, const struct crossover_side sides[2], const struct crossover *x);

#endif
