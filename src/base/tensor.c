// SPDX-License-Identifier: Apache-2.0
// Sizes, words and single elements of tensors. It owns no data and knows no arithmetic on tensors.
#include "base/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

bool tensor_count(int rank, const int64_t *dim, size_t *out)
{
	size_t count = 1;
	bool fits = true, empty = false;
	for (int i = 0; i < rank; i++) {
		if (dim[i] < 0)
			return false;
		empty |= dim[i] == 0;
		fits &= !__builtin_mul_overflow(count, (uint64_t)dim[i], &count);
	}
	if (empty) {
		*out = 0;
		return true;
	}
	if (fits)
		*out = count;
	return fits;
}

const char *tensor_shape_text(int rank, const int64_t *dim, char *out, size_t size)
{
	size_t used = 0;
	if (!size)
		return out;
	out[0] = 0;
	for (int i = 0; i <= rank; i++) {
		char piece[32];
		if (i == rank)
			snprintf(piece, sizeof piece, "%s", rank ? "]" : "[]");
		else if (dim[i] < 0)
			snprintf(piece, sizeof piece, "%c?", i ? ',' : '[');
		else
			snprintf(piece, sizeof piece, "%c%lld", i ? ',' : '[', (long long)dim[i]);
		int n = snprintf(out + used, size - used, "%s", piece);
		if (n < 0 || (size_t)n >= size - used)
			break;
		used += (size_t)n;
	}
	return out;
}

const struct tensor *tensor_named(const struct tensor *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (text_is(list[i].name, name))
			return &list[i];
	return NULL;
}

// The bytes may be unaligned: tensors lie anywhere in a file.
#define CASE(code, type, expression) \
	case code: { \
		type x; \
		memcpy(&x, (const char *)t->data + i * sizeof x, sizeof x); \
		return (double)(expression); \
	}

double tensor_get(const struct tensor *t, size_t i)
{
	switch (t->dtype) {
		CASE(DTYPE_F32, float, x)
		CASE(DTYPE_F64, double, x)
		CASE(DTYPE_F16, uint16_t, f32_of_f16(x))
		CASE(DTYPE_BF16, uint16_t, f32_of_bf16(x))
		CASE(DTYPE_I64, int64_t, x)
		CASE(DTYPE_I32, int32_t, x)
		CASE(DTYPE_I16, int16_t, x)
		CASE(DTYPE_I8, int8_t, x)
		CASE(DTYPE_U64, uint64_t, x)
		CASE(DTYPE_U32, uint32_t, x)
		CASE(DTYPE_U16, uint16_t, x)
		CASE(DTYPE_U8, uint8_t, x)
		CASE(DTYPE_BOOL, uint8_t, x != 0)
		CASE(DTYPE_F8_E4M3, uint8_t, f32_of_f8e4m3(x))
		CASE(DTYPE_F8_E5M2, uint8_t, f32_of_f8e5m2(x))
	case DTYPE_NONE:
	case DTYPE_COUNT:
		break;
	}
	return NAN;
}
