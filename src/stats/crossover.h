// SPDX-License-Identifier: Apache-2.0
// From which batch on the median of one platform is below another's, for the same question. Both answer the same number of inputs
// at a batch. Where the 95 % intervals of the two medians overlap, or one has none, nothing is said; between two measured batches
// the answer is "between", and beyond the measured ones there is none. A median is one process's: which platform is faster is for
// stats/compare.h, and no sentence here claims it.
#ifndef ASSAY_STATS_CROSSOVER_H
#define ASSAY_STATS_CROSSOVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct crossover_point {
	int64_t batch;
	double latency_ms, low_ms, high_ms;
}; // low, high: NaN where there is no interval
struct crossover_side {
	const char *name;
	const struct crossover_point *points;
	size_t count;
}; // by rising batch

// A stretch of common batches at which the same side has the lower median.
struct crossover_stretch {
	int lower;
	int64_t first, last;
}; // lower: 0 or 1
struct crossover {
	size_t common;                       // batches that both have
	int64_t first, last;                 // of these
	struct crossover_stretch *stretches; // one after the other; batches at which it cannot be told lie between or within them
	size_t count;
};

void crossover_find(struct crossover *out, struct arena *a, const struct crossover_side sides[2]);
// "the median of openvino falls below that of cpu between batch 4 and 8 (one process a batch: no claim)", ...; NULL where fewer
// than two batches are common.
const char *crossover_sentence(struct arena *a, const struct crossover_side sides[2], const struct crossover *x);

#endif
