// SPDX-License-Identifier: Apache-2.0
// Element types: code, safetensors' word, our word (options, rows), ONNX TensorProto.DataType, bytes an element.
#ifndef ASSAY_BASE_DTYPE_H
#define ASSAY_BASE_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#define DTYPE_LIST(X) \
	X(F32, "F32", "f32", 1, 4) \
	X(F16, "F16", "f16", 10, 2) \
	X(BF16, "BF16", "bf16", 16, 2) \
	X(F64, "F64", "f64", 11, 8) \
	X(I64, "I64", "i64", 7, 8) \
	X(I32, "I32", "i32", 6, 4) \
	X(I16, "I16", "i16", 5, 2) \
	X(I8, "I8", "i8", 3, 1) \
	X(U64, "U64", "u64", 13, 8) \
	X(U32, "U32", "u32", 12, 4) \
	X(U16, "U16", "u16", 4, 2) \
	X(U8, "U8", "u8", 2, 1) \
	X(BOOL, "BOOL", "bool", 9, 1) \
	X(F8_E4M3, "F8_E4M3", "f8e4m3", 17, 1) \
	X(F8_E5M2, "F8_E5M2", "f8e5m2", 19, 1)

enum dtype {
	DTYPE_NONE,
#define X(code, st, word, onnx, size) DTYPE_##code,
	DTYPE_LIST(X)
#undef X
		DTYPE_COUNT
};

size_t dtype_size(enum dtype t);             // bytes; 0 for DTYPE_NONE
const char *dtype_word(enum dtype t);        // "f32"
const char *dtype_safetensors(enum dtype t); // "F32"
int dtype_onnx(enum dtype t);                // TensorProto.DataType
enum dtype dtype_find(const char *word);     // "f32", "F32", "float32", "torch.float32"...; DTYPE_NONE if unknown
enum dtype dtype_of_onnx(int onnx);

// IEEE half and bfloat16, round to nearest even; NaN stays NaN.
uint16_t f16_of_f32(float x);
float f32_of_f16(uint16_t h);
uint16_t bf16_of_f32(float x);
float f32_of_bf16(uint16_t h);
// 8-bit floats as the Open Compute Project's OFP8 has them: e4m3fn has no infinities, e5m2 is the upper half of IEEE half.
float f32_of_f8e4m3(uint8_t x);
float f32_of_f8e5m2(uint8_t x);

#endif
