// SPDX-License-Identifier: Apache-2.0
// Order statistics of doubles.
#ifndef ASSAY_STATS_ORDER_H
#define ASSAY_STATS_ORDER_H

#include <stddef.h>

void order_ascending(double *x, size_t count);
// The quantile `p`, 0 to 1, of ascending values: interpolated between the two order statistics around it (type 7 of Hyndman and
// Fan, "Sample Quantiles in Statistical Packages", 1996). NaN of none.
double order_quantile(const double *sorted, size_t count, double p);

#endif
