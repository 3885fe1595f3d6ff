// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_MEASURE_STATS_H
#define ASSAY_MEASURE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Percentile p in (0, 100) by linear interpolation between order statistics; NaN when there are fewer samples than its
// floor at 99 % confidence: p50 11, p90 64, p95 130, p99 662 (binomial order-statistic bound, as MLPerf's LoadGen counts).
double stats_percentile(const double *samples, size_t count, double p);
double stats_median(const double *samples, size_t count);       // without a floor; NaN when empty
double stats_min(const double *samples, size_t count);
double stats_max(const double *samples, size_t count);
// Orders x; NaN when empty. Faster than the sorting that the others do on a copy.
double stats_median_of(double *x, size_t count);
// Standard deviation (n - 1) over mean; NaN below 2 samples.
double stats_cv(const double *samples, size_t count);
// 95 % interval of the median: percentiles of a bootstrap that draws blocks of neighbours, going round at the end, because runs that
// follow each other are alike. Seeded: the same samples give the same interval. false and NaN below the floor of p50.
bool stats_median_interval(const double *samples, size_t count, uint64_t seed, double *low, double *high);

// Do the medians of the last three equal windows agree within 5 %?
#define STATS_STABLE_LEAST 9                             // samples below which nobody can say
#define STATS_STABLE_WITHIN 1.05
struct stats_windows {
	size_t size;                                     // samples in a window; 0: too few samples
	double median[3];
	double apart;                                    // largest over smallest median
	bool is_stable, is_drift;                        // drift: each window beyond the one before, in one direction
};
struct stats_windows stats_windows(const double *samples, size_t count);

// Slope of y over 0, 1, 2...: the median of the slopes of all pairs (Theil and Sen), and its 95 % interval from the distribution of
// Kendall's tau (Sen 1968). One jump at the beginning, as of a pool that is filled once, does not move it. false below 5 values.
bool stats_slope(const double *y, size_t count, double *slope, double *low, double *high);

#endif
