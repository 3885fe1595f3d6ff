// SPDX-License-Identifier: Apache-2.0
#include "stats/proportion.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "stats/early_stop.h"
#include "stats/stats.h"

void stats_wilson(size_t right, size_t count, double *low, double *high)
{
	const double z = 1.959963984540054, n = (double)count, p = (double)right / n, z2 = z * z;
	const double middle = (p + z2 / (2 * n)) / (1 + z2 / n),
		     half = z / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));

	*low = count ? fmax(0, middle - half) : (double)NAN;
	*high = count ? fmin(1, middle + half) : (double)NAN;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

bool stats_ratio_interval(const double *x, const double *weight, size_t count, uint64_t seed, double *low, double *high)
{
	enum { DRAWS = 2000 };
	double of[DRAWS];
	size_t good = 0;
	uint64_t at = 0;

	*low = *high = (double)NAN;
	if (count < STATS_INTERVAL_LEAST)
		return false;
	for (size_t k = 0; k < DRAWS; k++) {
		double sum = 0, total = 0;

		for (size_t i = 0; i < count; i++) {
			const size_t drawn = (size_t)(splitmix64(seed, at++) % count);

			sum += x[drawn];
			total += weight[drawn];
		}
		if (total > 0)
			of[good++] = sum / total;
	}
	if (good < DRAWS)
		return false;
	qsort(of, DRAWS, sizeof *of, by_size);
	*low = of[DRAWS * 25 / 1000 - 1];
	*high = of[DRAWS * 975 / 1000];
	return true;
}

// Of n flips at most k heads: I_{1/2}(n - k, k + 1).
double stats_sign_test(size_t worse, size_t better)
{
	const size_t n = worse + better, k = worse < better ? worse : better;

	return !n || 2 * k == n ? 1 : fmin(1, 2 * early_stop_beta(0.5, (double)(n - k), (double)(k + 1)));
}
