// SPDX-License-Identifier: Apache-2.0
// The types of numbers of GGUF files that are read, each from its layout (ggml's block_*) and its formula (its
// dequantize_row_*).
#include "checkpoint/gguf.h"

#include <string.h>

#include "base/tensor.h"

static float half_at(const uint8_t *p)
{
	return f32_of_f16((uint16_t)(p[0] | p[1] << 8));
}

// ---- 32 numbers a block -------------------------------------------------------------------------------------------------

// d f16 | ..
static void scale_d(const uint8_t *b, int group, float *scale, float *less)
{
	(void)group;
	*scale = half_at(b);
	*less = 0;
}

// d f16 | m f16 | ..
static void scale_dm(const uint8_t *b, int group, float *scale, float *less)
{
	(void)group;
	*scale = half_at(b);
	*less = -half_at(b + 2);
}

// Four bits of 16 bytes: the low halves are the first 16 numbers.
static int nibble(const uint8_t *codes, int i)
{
	return i < 16 ? codes[i] & 15 : codes[i - 16] >> 4;
}

static int code_q4_0(const uint8_t *b, int i)
{
	return nibble(b + 2, i) - 8;
}

static int code_q4_1(const uint8_t *b, int i)
{
	return nibble(b + 4, i);
}

// The fifth bits: 4 bytes, bit i of number i.
static int fifth(const uint8_t *bits, int i)
{
	return (bits[i / 8] >> i % 8 & 1) << 4;
}

static int code_q5_0(const uint8_t *b, int i)
{
	return (nibble(b + 6, i) | fifth(b + 2, i)) - 16;
}

static int code_q5_1(const uint8_t *b, int i)
{
	return nibble(b + 8, i) | fifth(b + 4, i);
}

static int code_q8_0(const uint8_t *b, int i)
{
	return (int8_t)b[2 + i];
}

static int iq4(int code)
{
	static const int8_t values[] = { -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 };

	return values[code];
}

static int code_iq4_nl(const uint8_t *b, int i)
{
	return iq4(nibble(b + 2, i));
}

// ---- 256 numbers a block ------------------------------------------------------------------------------------------------

// scales u8 [16]: scale and minimum of 16 numbers, four bits each | codes [64] | d f16 | dmin f16
static void scale_q2_k(const uint8_t *b, int group, float *scale, float *less)
{
	*scale = half_at(b + 80) * (float)(b[group] & 15);
	*less = half_at(b + 82) * (float)(b[group] >> 4);
}

// Two bits of 64 bytes: each 32 bytes are 128 numbers, the lowest bits the first 32.
static int two_bits(const uint8_t *codes, int i)
{
	return codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

static int code_q2_k(const uint8_t *b, int i)
{
	return two_bits(b + 16, i);
}

// high bits [32] | codes [64] | scales of 16 numbers, six bits each [12] | d f16
static void scale_q3_k(const uint8_t *b, int group, float *scale, float *less)
{
	const uint8_t *s = b + 96;
	int low = group < 8 ? s[group] & 15 : s[group - 8] >> 4, high = s[8 + group % 4] >> (group / 4 * 2) & 3;

	*scale = half_at(b + 108) * (float)((low | high << 4) - 32);
	*less = 0;
}

static int code_q3_k(const uint8_t *b, int i)
{
	return two_bits(b + 32, i) - (b[i % 32] >> (i / 32) & 1 ? 0 : 4);
}

// d f16 | dmin f16 | scales and minima of 32 numbers, six bits each [12] | ..
static void scale_k(const uint8_t *b, int group, float *scale, float *less)
{
	const uint8_t *s = b + 4;
	const int at = group % 4;
	int d = s[at] & 63, m = s[4 + at] & 63;

	if (group > 3) {
		d = (s[8 + at] & 15) | (s[at] >> 6 << 4);
		m = s[8 + at] >> 4 | (s[4 + at] >> 6 << 4);
	}
	*scale = half_at(b) * (float)d;
	*less = half_at(b + 2) * (float)m;
}

// Four bits: each 32 bytes are 64 numbers, the low halves the first 32.
static int code_q4_k(const uint8_t *b, int i)
{
	const uint8_t codes = b[16 + i / 64 * 32 + i % 32];

	return i % 64 < 32 ? codes & 15 : codes >> 4;
}

// .. | fifth bits [32]: bit g of byte j of number 32 g + j | codes [128]
static int code_q5_k(const uint8_t *b, int i)
{
	return code_q4_k(b + 32, i) | (b[16 + i % 32] >> (i / 32) & 1) << 4;
}

// low bits [128] | high bits [64] | scales i8 of 16 numbers [16] | d f16
static void scale_q6_k(const uint8_t *b, int group, float *scale, float *less)
{
	*scale = half_at(b + 208) * (float)(int8_t)b[192 + group];
	*less = 0;
}

static int code_q6_k(const uint8_t *b, int i)
{
	const uint8_t low = b[i / 128 * 64 + i % 64];

	return ((i % 128 < 64 ? low & 15 : low >> 4) | two_bits(b + 128, i) << 4) - 32;
}

// d f16 | high bits of scales u16 | low bits of scales [4] | codes [128], as IQ4_NL for each 32 numbers
static void scale_iq4_xs(const uint8_t *b, int group, float *scale, float *less)
{
	const int low = b[4 + group / 2] >> (group % 2 * 4) & 15, high = (b[2] | b[3] << 8) >> (group * 2) & 3;

	*scale = half_at(b) * (float)((low | high << 4) - 32);
	*less = 0;
}

static int code_iq4_xs(const uint8_t *b, int i)
{
	return iq4(nibble(b + 8 + i / 32 * 16, i % 32));
}

// ---- all of them --------------------------------------------------------------------------------------------------------

static const struct ggml_type types[] = {
	{ 0, "F32", 1, 4, 1, .plain = DTYPE_F32 },
	{ 1, "F16", 1, 2, 1, .plain = DTYPE_F16 },
	{ 30, "BF16", 1, 2, 1, .plain = DTYPE_BF16 },
	{ 2, "Q4_0", 32, 18, 32, scale_d, code_q4_0, 0 },
	{ 3, "Q4_1", 32, 20, 32, scale_dm, code_q4_1, 0 },
	{ 6, "Q5_0", 32, 22, 32, scale_d, code_q5_0, 0 },
	{ 7, "Q5_1", 32, 24, 32, scale_dm, code_q5_1, 0 },
	{ 8, "Q8_0", 32, 34, 32, scale_d, code_q8_0, 0 },
	{ 10, "Q2_K", 256, 84, 16, scale_q2_k, code_q2_k, 0 },
	{ 11, "Q3_K", 256, 110, 16, scale_q3_k, code_q3_k, 0 },
	{ 12, "Q4_K", 256, 144, 32, scale_k, code_q4_k, 0 },
	{ 13, "Q5_K", 256, 176, 32, scale_k, code_q5_k, 0 },
	{ 14, "Q6_K", 256, 210, 16, scale_q6_k, code_q6_k, 0 },
	{ 20, "IQ4_NL", 32, 18, 32, scale_d, code_iq4_nl, 0 },
	{ 23, "IQ4_XS", 256, 136, 32, scale_iq4_xs, code_iq4_xs, 0 },
};

const struct ggml_type *ggml_type_find(uint32_t id)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].id == id)
			return &types[i];
	return NULL;
}

const char *ggml_type_name(uint32_t id)
{
	static const char *const names[] = { [9] = "Q8_1",
		[15] = "Q8_K",
		"IQ2_XXS",
		"IQ2_XS",
		"IQ3_XXS",
		"IQ1_S",
		[21] = "IQ3_S",
		"IQ2_S",
		[24] = "I8",
		"I16",
		"I32",
		"I64",
		"F64",
		"IQ1_M",
		[34] = "TQ1_0",
		"TQ2_0",
		[39] = "MXFP4",
		"NVFP4" };
	const struct ggml_type *t = ggml_type_find(id);

	return t ? t->name : id < sizeof names / sizeof *names ? names[id] : NULL;
}

void ggml_numbers(const struct ggml_type *t, const uint8_t *row, int64_t first, size_t count, float *out)
{
	const uint8_t *known = NULL;
	float scale = 0, less = 0;
	int group = -1;

	if (t->plain) {
		numbers_widen(row + first * t->nbytes, t->plain, count, out);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const int64_t at = first + (int64_t)i;
		const uint8_t *block = row + at / t->block * t->nbytes;
		const int within = (int)(at % t->block);

		if (block != known || within / t->group != group)
			t->scale(known = block, group = within / t->group, &scale, &less);
		out[i] = scale * (float)t->code(block, within) - less;
	}
}
