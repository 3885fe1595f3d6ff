// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_MEASURE_STATS_H
#define ASSAY_MEASURE_STATS_H

#include <stdbool.h>
#include <stddef.h>

// Percentile p in (0, 100) by linear interpolation between order statistics; NaN when there are fewer samples than its
// floor at 99 % confidence: p50 11, p90 64, p95 130, p99 662 (binomial order-statistic bound, as MLPerf's LoadGen counts).
double stats_percentile(const double *samples, size_t count, double p);
double stats_median(const double *samples, size_t count);       // without a floor; NaN when empty
double stats_min(const double *samples, size_t count);
double stats_max(const double *samples, size_t count);
// Do the medians of the last three equal windows agree within 10 %? false below STATS_STABLE_LEAST samples, which cannot say.
#define STATS_STABLE_LEAST 9
bool stats_stable(const double *samples, size_t count);

#endif
