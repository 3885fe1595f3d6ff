// SPDX-License-Identifier: Apache-2.0
// What a set of examples says of a metric: intervals, and whether one side is worse than the other on the same examples.
#ifndef ASSAY_STATS_PROPORTION_H
#define ASSAY_STATS_PROPORTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// 95 % interval of a share of independent examples: Wilson's score interval (1927). NaN where count is 0.
void stats_wilson(size_t right, size_t count, double *low, double *high);

// 95 % interval of sum(x) / sum(weight) over examples: percentiles of 2000 bootstrap samples of the examples (Efron and
// Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3), drawn from a seed. What is within an example stays together.
// false and NaN below STATS_INTERVAL_LEAST examples (stats.h), or where the weights sum to 0.
bool stats_ratio_interval(const double *x, const double *weight, size_t count, uint64_t seed, double *low, double *high);

// Exact two-sided sign test: the chance that a fair coin splits `worse + better` pairs at least so unevenly. 1 for none. Below 6
// pairs it cannot be under 0.05.
double stats_sign_test(size_t worse, size_t better);

#endif
