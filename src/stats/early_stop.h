// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_STATS_EARLY_STOP_H
#define ASSAY_STATS_EARLY_STOP_H

#include <stdint.h>

#define EARLY_STOP_CONFIDENCE 0.99

// The regularised incomplete beta function I_x(a, b), a and b above 0.
double early_stop_beta(double x, double a, double b);
// How many queries, `late` of them beyond a bound, allow the claim that the share `p` of all stays below it: the smallest n of
// which the chance to see so few late ones is at most 1 - EARLY_STOP_CONFIDENCE when the share is only p. p90: 44, 64, 81...
int64_t early_stop_queries(int64_t late, double p);
// The most late queries that `queries` may have; -1: not even none is allowed.
int64_t early_stop_late(int64_t queries, double p);

#endif
