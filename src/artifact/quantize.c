// SPDX-License-Identifier: Apache-2.0
// quantize.h. Sums of nothing, no state: what is not a number becomes what the nearest finite one would.
#include "artifact/quantize.h"

#include <float.h>
#include <math.h>
#include <string.h>

// Weights that are not finite would spoil a whole block; the largest finite number stands for them.
static float within(float x)
{
	return x > FLT_MAX ? FLT_MAX : x < -FLT_MAX ? -FLT_MAX : x == x ? x : 0;
}

struct block_scale quantize_block_scale(const float *x, size_t n, int bits, bool asymmetric)
{
	int half = 1 << (bits - 1), most = (1 << bits) - 1;
	float low = 0, high = 0;

	for (size_t i = 0; i < n; i++) {
		float v = within(x[i]);

		low = v < low ? v : low;
		high = v > high ? v : high;
	}
	if (!asymmetric) {
		float largest = high > -low ? high : low;

		return (struct block_scale){ largest / (float)-half, half };
	}
	float scale = high / (float)most - low / (float)most;
	int zero = scale > 0 ? (int)(-low / scale + 0.5f) : 0;

	return (struct block_scale){ scale, zero > most ? most : zero };
}

static inline int integer_of(float x, float inverse, int zero, int most)
{
	// In this order, so that the conversion meets only what an int can hold.
	float at = within(x) * inverse + (float)zero + 0.5f;
	int q = at < 0 ? 0 : at > (float)most ? most : (int)at;

	return q;
}

void quantize_block(const float *x, size_t n, int bits, int block, struct block_scale s, uint8_t *out)
{
	float inverse = s.scale < 0 || s.scale > 0 ? 1 / s.scale : 0;
	int most = (1 << bits) - 1;

	inverse = isfinite(inverse) ? inverse : 0;
	if (bits == 8) {
		memset(out, s.zero, (size_t)block);
		for (size_t i = 0; i < n; i++)
			out[i] = (uint8_t)integer_of(x[i], inverse, s.zero, most);
		return;
	}
	memset(out, s.zero | s.zero << 4, (size_t)block / 2);
	for (size_t i = 0; i + 1 < n; i += 2)
		out[i / 2] =
			(uint8_t)(integer_of(x[i], inverse, s.zero, most) | integer_of(x[i + 1], inverse, s.zero, most) << 4);
	if (n % 2)
		out[n / 2] = (uint8_t)(integer_of(x[n - 1], inverse, s.zero, most) | s.zero << 4);
}

float quantize_row_scale(const float *x, size_t n)
{
	float largest = 0;

	for (size_t i = 0; i < n; i++) {
		float v = fabsf(within(x[i]));

		largest = v > largest ? v : largest;
	}
	return largest > 0 ? largest / 127 : 1;
}

void quantize_row(const float *x, size_t n, float scale, int8_t *out)
{
	float inverse = 1 / scale;

	inverse = isfinite(inverse) ? inverse : 0;
	for (size_t i = 0; i < n; i++) {
		float v = within(x[i]) * inverse;

		out[i] = (int8_t)(v > 127 ? 127 : v < -127 ? -127 : lrintf(v));
	}
}
