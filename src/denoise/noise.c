// SPDX-License-Identifier: Apache-2.0
#include "denoise/noise.h"

#include <math.h>

#include "base/hash.h"

void noise_normal(uint64_t seed, uint64_t first, float *out, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		uint64_t i = first + k;
		double u = (double)((splitmix64(seed, i & ~(uint64_t)1) >> 11) + 1) * 0x1p-53; // (0, 1]
		double v = splitmix64_share(splitmix64(seed, i | 1));                          // [0, 1)
		double radius = sqrt(-2 * log(u)), angle = 2 * M_PI * v;

		out[k] = (float)(radius * (i & 1 ? sin(angle) : cos(angle)));
	}
}
