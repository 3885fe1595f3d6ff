// SPDX-License-Identifier: Apache-2.0
// When few queries are enough to claim a percentile, as MLPerf's LoadGen decides it (confidence 99 %, tolerance 0). Of n queries
// whose share p is fast, the late ones are binomial, and P(at most t late) = I_p(n - t, t + 1): the claim stands when that is at
// most 1 %.
#include "stats/early_stop.h"

#include <math.h>

// Continued fraction of I_x(a, b) by Lentz's method (Abramowitz and Stegun 26.5.8); good for x below (a + 1) / (a + b + 2).
static double fraction(double x, double a, double b)
{
	const double tiny = 1e-300, enough = 1e-15;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (int m = 1; m < 100000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
		       odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		f *= c * d;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = c * d;
		f *= step;
		if (fabs(step - 1) < enough)
			break;
	}
	return f;
}

double early_stop_beta(double x, double a, double b)
{
	if (!(x > 0))
		return 0;
	if (!(x < 1))
		return 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * fraction(x, a, b) / a : 1 - front * fraction(1 - x, b, a) / b;
}

int64_t early_stop_queries(int64_t late, double p)
{
	const double allowed = 1 - EARLY_STOP_CONFIDENCE;
	int64_t low = 1, high = 2; // fast ones: the smallest that pass lies in (low - 1, high]

	while (early_stop_beta(p, (double)high, (double)late + 1) > allowed)
		high *= 2;
	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (early_stop_beta(p, (double)middle, (double)late + 1) > allowed)
			low = middle + 1;
		else
			high = middle;
	}
	return low + late;
}

int64_t early_stop_late(int64_t queries, double p)
{
	int64_t low = -1, high = queries; // low is allowed, high is not

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (early_stop_queries(middle, p) <= queries)
			low = middle;
		else
			high = middle;
	}
	return low;
}
