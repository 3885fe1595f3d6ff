// SPDX-License-Identifier: Apache-2.0
// Weights whose numbers lie in no file: what the files hold is quantised, or a change to the weights of another model. They
// stand in a checkpoint under their names, with the shapes and the type that the model itself has, and are computed where they
// are read: artifact/convert.c makes the ones that a graph needs, a few rows at a time.
//
//   quant_method         the files have, for the weight N             its numbers (whose formula)
//   fp8                  N f8, N_scale_inv of blocks or of all        N * N_scale_inv (transformers, finegrained_fp8)
//   compressed-tensors   N f8 or i8, N_scale, N_zero_point; or        (N - zero) * scale (compressed-tensors, forward.py)
//                        N_packed i32, N_shape, N_scale, ..
//   gptq, awq            S.qweight i32, S.qzeros i32, S.scales,       (q - zero) * scale, for N = S.weight (gptq.c)
//                        S.g_idx i32
//   bitsandbytes         N u8, N.absmax, N.quant_map, N.quant_state   quant_map[code] * absmax of its block (bitsandbytes,
//                        .. of nf4 and fp4; N i8, S.SCB of int8       functional.py); N * SCB / 127
//   mxfp4                N_blocks u8, N_scales u8                     e2m1 * 2^(scale - 127), transposed (transformers, mxfp4)
//   (none)               N f8                                         N
//
// They are rounded to the type that config.json names (dtype, torch_dtype: f16 or bf16; else f32), as those libraries give them.
// Activations that such a model quantises too are not quantised here.
#ifndef ASSAY_CHECKPOINT_COMPUTED_H
#define ASSAY_CHECKPOINT_COMPUTED_H

#include <stddef.h>
#include <stdint.h>

#include "checkpoint/checkpoint.h"

struct computed;
// Elements [column, column + count) of a row, before they are rounded. Pure, and called from several threads at a time.
typedef void computed_read(const struct computed *k, int64_t row, int64_t column, size_t count, float *out);

struct computed {
	computed_read *read;
	int64_t rows, length;       // the weight as a matrix: all dimensions but the last, the last
	const void *own;            // the format's
	const struct weight *codes; // the largest of the tensors that it is computed from
};

// Whether weights of this quantization_config are read: its quant_method is one of the above.
bool quantisation_is_read(const json_t *quantization_config);

// Elements [first, first + count) of the weight, row-major, wherever they are: a float weight of a file, or a computed one,
// rounded to its type.
void weight_numbers(const struct weight *w, uint64_t first, size_t count, float *out);
// n numbers of type F32, F16 or BF16 at an address that may be unaligned; other types give NaN.
void numbers_widen(const void *from, enum dtype t, size_t n, float *out);

#endif
