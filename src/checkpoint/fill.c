// SPDX-License-Identifier: Apache-2.0
// Seeded weights by the formula in checkpoint.h. A model of half a billion weights should take a second or two, so the loop
// is compiled for wider registers too and chosen by what this CPU has; all versions compute the same bits, because every
// step is exact in double precision or rounded once.
#include "checkpoint/checkpoint.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

enum kind { PLAIN, SCALED, NEAR_ONE };

static enum kind kind_of(const struct weight *w, double *scale)
{
	if (w->rank >= 2) {
		double fan_in = 1;
		for (int i = 1; i < w->rank; i++)
			fan_in *= (double)w->dim[i];
		*scale = fan_in > 0 ? sqrt(3.0 / fan_in) : 0;
		*scale *= w->gain > 0 ? w->gain : 1;
		return SCALED;
	}
	*scale = 0.1;
	if (text_ends(w->name, "running_var"))
		return NEAR_ONE;
	return w->rank == 1 && (text_ends(w->name, "weight") || text_ends(w->name, "gamma")) ? NEAR_ONE : PLAIN;
}

// One loop for all instruction sets: always inlined into the functions below. `add` is 0 or 1; adding 0 to a float keeps it,
// but for -0, which the formula cannot give: u is never a negative zero, and the scales are positive.
__attribute__((always_inline)) static inline void fill(
	uint64_t stream, uint64_t first, size_t count, double scale, float add, float *restrict out)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t k = splitmix64(stream, first + i) >> 40;
		double u = (double)((int32_t)k - (1 << 23)) * 0x1p-23;
		out[i] = (float)(u * scale) + add;
	}
}

static void fill_plain(uint64_t stream, uint64_t first, size_t count, double scale, float add, float *out)
{
	fill(stream, first, count, scale, add, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void fill_avx2(
	uint64_t stream, uint64_t first, size_t count, double scale, float add, float *out)
{
	fill(stream, first, count, scale, add, out);
}

#if defined(__clang__)
#define WIDEST "avx512f,avx512dq,avx512vl"
#else
#define WIDEST "avx512f,avx512dq,avx512vl,prefer-vector-width=512"
#endif

__attribute__((target(WIDEST))) static void fill_avx512(
	uint64_t stream, uint64_t first, size_t count, double scale, float add, float *out)
{
	fill(stream, first, count, scale, add, out);
}
#endif

static void fill_f32(uint64_t stream, uint64_t first, size_t count, double scale, float add, float *out)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
		fill_avx512(stream, first, count, scale, add, out);
		return;
	}
	if (__builtin_cpu_supports("avx2")) {
		fill_avx2(stream, first, count, scale, add, out);
		return;
	}
#endif
	fill_plain(stream, first, count, scale, add, out);
}

// bf16_of_f32 without its care for NaN, so that the compiler can make vectors of it.
static void fill_bf16(const float *restrict in, size_t count, uint16_t *restrict out)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t u;
		memcpy(&u, &in[i], sizeof u);
		out[i] = (uint16_t)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
	}
}

void weights_fill(const struct weight *w, uint64_t seed, size_t first, size_t count, void *out)
{
	size_t size = dtype_size(w->dtype);
	if (w->dtype != DTYPE_F32 && w->dtype != DTYPE_F64 && w->dtype != DTYPE_F16 && w->dtype != DTYPE_BF16) {
		memset(out, 0, count * size);
		return;
	}
	double scale;
	float add = kind_of(w, &scale) == NEAR_ONE ? 1 : 0;
	uint64_t stream = fnv1a64_text(w->name) ^ (seed ? splitmix64(seed, 0) : 0);
	if (w->dtype == DTYPE_F32 && (uintptr_t)out % sizeof(float) == 0) {
		fill_f32(stream, first, count, scale, add, out);
		return;
	}
	// In pieces that stay in the first-level cache.
	float piece[2048];
	union {
		uint16_t half[2048];
		double wide[2048];
	} as;
	for (size_t done = 0, n; done < count; done += n) {
		n = count - done < 2048 ? count - done : 2048;
		fill_f32(stream, first + done, n, scale, add, piece);
		if (w->dtype == DTYPE_BF16)
			fill_bf16(piece, n, as.half);
		for (size_t i = 0; i < n && w->dtype == DTYPE_F16; i++)
			as.half[i] = f16_of_f32(piece[i]);
		for (size_t i = 0; i < n && w->dtype == DTYPE_F64; i++)
			as.wide[i] = (double)piece[i];
		memcpy((char *)out + done * size, w->dtype == DTYPE_F32 ? (const void *)piece : &as, n * size);
	}
}
