// SPDX-License-Identifier: Apache-2.0
// Numbers in fewer bits: pure arithmetic on rows of float32, no files.
//
// In blocks, as com.microsoft.MatMulNBits reads them: x = (q - zero) * scale, q of `bits` bits, unsigned. Without zero points
// zero is 2^(bits-1) and scale = m / -2^(bits-1), where m is the number of the largest magnitude with its sign: it becomes
// exactly the lowest integer, and the other side has one step less (the way of ggml's Q4_0 and of ONNX Runtime's
// MlasQuantizeBlockwise). With zero points scale = (max - min) / (2^bits - 1) over numbers and 0, zero = round(-min / scale).
// Nearest, halves up. 4 bits: the first number of a pair lies in the low half of the byte.
//
// The caller refuses numbers that are not finite (convert.c); here 0 and the largest finite number stand for them.
//
// By rows, as DequantizeLinear with an axis reads them: x = q * scale, q i8, scale = max |x| / 127.
#ifndef ASSAY_ARTIFACT_QUANTIZE_H
#define ASSAY_ARTIFACT_QUANTIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_scale {
	float scale;
	int zero;
};

// Of one block of n numbers.
struct block_scale quantize_block_scale(const float *x, size_t n, int bits, bool asymmetric);
// The block's integers into block * bits / 8 bytes; what lies after n is 0, that is `zero`.
void quantize_block(const float *x, size_t n, int bits, int block, struct block_scale s, uint8_t *out);

float quantize_row_scale(const float *x, size_t n);
void quantize_row(const float *x, size_t n, float scale, int8_t *out);

#endif
