// SPDX-License-Identifier: Apache-2.0
// The element types' words, and the two 16-bit float formats in plain integer arithmetic: the same on every machine,
// whatever its instructions and rounding mode; the 8-bit ones are read only.
#include "base/dtype.h"

#include <string.h>
#include <strings.h>

static const struct {
	const char *safetensors, *word;
	int onnx;
	size_t size;
} types[DTYPE_COUNT] = { { "NONE", "none", 0, 0 },
#define X(code, st, word, onnx, size) { st, word, onnx, size },
	DTYPE_LIST(X)
#undef X
};

// Other spellings: PyTorch's and numpy's, with or without "torch.".
static const struct {
	const char *word;
	enum dtype dtype;
} spellings[] = {
	{ "float32", DTYPE_F32 },
	{ "float", DTYPE_F32 },
	{ "float16", DTYPE_F16 },
	{ "half", DTYPE_F16 },
	{ "fp16", DTYPE_F16 },
	{ "fp32", DTYPE_F32 },
	{ "bfloat16", DTYPE_BF16 },
	{ "float64", DTYPE_F64 },
	{ "double", DTYPE_F64 },
	{ "int64", DTYPE_I64 },
	{ "long", DTYPE_I64 },
	{ "int32", DTYPE_I32 },
	{ "int", DTYPE_I32 },
	{ "int16", DTYPE_I16 },
	{ "int8", DTYPE_I8 },
	{ "uint64", DTYPE_U64 },
	{ "uint32", DTYPE_U32 },
	{ "uint16", DTYPE_U16 },
	{ "uint8", DTYPE_U8 },
	{ "boolean", DTYPE_BOOL },
	{ "float8_e4m3fn", DTYPE_F8_E4M3 },
	{ "float8_e5m2", DTYPE_F8_E5M2 },
};

static enum dtype checked(enum dtype t)
{
	return (size_t)t < DTYPE_COUNT ? t : DTYPE_NONE;
}

size_t dtype_size(enum dtype t)
{
	return types[checked(t)].size;
}
const char *dtype_word(enum dtype t)
{
	return types[checked(t)].word;
}
const char *dtype_safetensors(enum dtype t)
{
	return types[checked(t)].safetensors;
}
int dtype_onnx(enum dtype t)
{
	return types[checked(t)].onnx;
}

enum dtype dtype_find(const char *word)
{
	if (!word)
		return DTYPE_NONE;
	if (!strncmp(word, "torch.", 6))
		word += 6;
	for (int i = 1; i < DTYPE_COUNT; i++)
		if (!strcasecmp(word, types[i].word) || !strcasecmp(word, types[i].safetensors))
			return (enum dtype)i;
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
		if (!strcasecmp(word, spellings[i].word))
			return spellings[i].dtype;
	return DTYPE_NONE;
}

enum dtype dtype_of_onnx(int onnx)
{
	for (int i = 1; i < DTYPE_COUNT; i++)
		if (types[i].onnx == onnx)
			return (enum dtype)i;
	return DTYPE_NONE;
}

static uint32_t bits_of(float x)
{
	uint32_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}

static float float_of(uint32_t u)
{
	float x;
	memcpy(&x, &u, sizeof x);
	return x;
}

uint16_t f16_of_f32(float x)
{
	uint32_t u = bits_of(x), sign = u >> 16 & 0x8000, a = u & 0x7FFFFFFF;
	if (a > 0x7F800000) // NaN: quiet, upper payload bits kept
		return (uint16_t)(sign | 0x7E00 | (a >> 13 & 0x3FF));
	if (a >= 0x477FF000) // 65520 and more round to infinity
		return (uint16_t)(sign | 0x7C00);
	if (a >= 0x38800000) { // a normal half: rebias by 127 - 15, drop 13 bits
		uint32_t r = a - 0x38000000;
		return (uint16_t)(sign | ((r + 0xFFF + (r >> 13 & 1)) >> 13));
	}
	if (a < 0x33000000) // below half of the smallest subnormal
		return (uint16_t)sign;
	// Subnormal: the mantissa with its hidden bit in units of 2^-24, rounded to nearest even.
	uint32_t shift = 126 - (a >> 23), m = (a & 0x7FFFFF) | 0x800000;
	uint32_t q = m >> shift, rest = m & ((1u << shift) - 1), half = 1u << (shift - 1);
	return (uint16_t)(sign | (q + (rest > half || (rest == half && (q & 1)))));
}

float f32_of_f16(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3FF;
	if (e == 31)
		return float_of(sign | 0x7F800000 | m << 13);
	if (e)
		return float_of(sign | (e + 112) << 23 | m << 13);
	float x = (float)m * 0x1p-24f;
	return sign ? -x : x;
}

uint16_t bf16_of_f32(float x)
{
	uint32_t u = bits_of(x);
	if ((u & 0x7FFFFFFF) > 0x7F800000) // NaN: rounding could carry it into infinity
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
}

float f32_of_bf16(uint16_t h)
{
	return float_of((uint32_t)h << 16);
}

float f32_of_f8e4m3(uint8_t x)
{
	uint32_t sign = (uint32_t)(x & 0x80) << 24, e = x >> 3 & 15, m = x & 7;
	if ((x & 0x7F) == 0x7F)
		return float_of(sign | 0x7FC00000);
	if (e)
		return float_of(sign | (e + 120) << 23 | m << 20);
	float y = (float)m * 0x1p-9f;
	return sign ? -y : y;
}

float f32_of_f8e5m2(uint8_t x)
{
	return f32_of_f16((uint16_t)(x << 8));
}
