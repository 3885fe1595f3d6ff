// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_STATS_STATS_H
#define ASSAY_STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Percentile p in (0, 100) by linear interpolation between order statistics; NaN when there are fewer samples than its
// floor at 99 % confidence: p50 11, p90 64, p95 130, p99 662 (binomial order-statistic bound, as MLPerf's LoadGen counts).
double stats_percentile(const double *samples, size_t count, double p);
double stats_median(const double *samples, size_t count); // without a floor; NaN when empty
double stats_min(const double *samples, size_t count);
double stats_max(const double *samples, size_t count);
// Orders x; NaN when empty. Faster than the sorting that the others do on a copy.
double stats_median_of(double *x, size_t count);
// Standard deviation (n - 1) over mean; NaN below 2 samples.
double stats_cv(const double *samples, size_t count);
// 95 % interval of the median, exact for any distribution (sign test; Conover, Practical Nonparametric Statistics, 1999,
// section 3.2): the k-th smallest and the k-th largest sample, k as large as the binomial distribution allows. It holds the
// median of what the samples were drawn from in at least 95 % of cases (98.8 % at 11 samples, 95.1 % at 17). It takes the runs to
// be independent of each other; runs that drift, or come in bursts, say less than so many independent ones, and what another
// process would take is not in it at all.
enum { STATS_INTERVAL_LEAST = 6 };      // of 5 samples even the least and the largest hold it in 93.8 % only
size_t stats_median_rank(size_t count); // k, from 1; 0 below STATS_INTERVAL_LEAST
bool stats_median_interval(const double *samples, size_t count, double *low, double *high); // false and NaN where k is 0

// Were the runs of one kind? Stable is what keeps all three: the medians of the last three equal windows agree within 5 %, the
// middle half of the runs (interquartile range) spans at most 20 % of the median, and the coefficient of variation is at most 25
// %, which a single outlier breaks: of 11 equal runs one that takes twice as long, of 662 one that takes 7.6 times as long.
#define STATS_STABLE_LEAST 9 // samples below which it cannot be said
#define STATS_STABLE_WITHIN 1.05
#define STATS_STABLE_SPREAD 0.20
#define STATS_STABLE_CV 0.25
struct stats_stability {
	size_t size;      // samples in a window; 0: too few samples, and nothing below is known
	double median[3]; // of the windows
	double apart;     // largest over smallest of them
	double spread;    // interquartile range over median, of all samples
	double cv;        // standard deviation over mean, of all samples
	double slowest;   // over the median
	bool windows_agree, spread_is_small, tail_is_short;
	bool is_stable; // all three
	bool is_drift;  // each window beyond the one before, in one direction
};
struct stats_stability stats_stability(const double *samples, size_t count);

// Slope of y over 0, 1, 2...: the median of the slopes of all pairs (Theil and Sen), and its 95 % interval from the distribution
// of Kendall's tau (Sen 1968). One jump at the beginning, as of a pool that is filled once, does not move it. false below 5
// values.
bool stats_slope(const double *y, size_t count, double *slope, double *low, double *high);

#endif
