// SPDX-License-Identifier: Apache-2.0
// tensor_file.h. Elements lie in raw_data, or as numbers in the field for their type: 16 bits and fewer as int32, f16 and bf16 by
// their bits.
#include "onnx/tensor_file.h"

#include <string.h>

#include "base/file.h"
#include "onnx.pb-c.h"

enum { NBYTES_MOST = 1 << 28 };

// Element i of a field of numbers that are wider than the type, or as wide: little-endian, the low bytes are the element.
static enum status take(struct tensor *t, const void *numbers, size_t count, size_t width, struct error *err)
{
	const size_t size = dtype_size(t->dtype), wanted = t->nbytes / size;

	if (count != wanted || size > width)
		return error_set(err, STATUS_BAD_INPUT, "holds %zu elements, and its shape has %zu", count, wanted);
	for (size_t i = 0; i < wanted; i++)
		memcpy((char *)t->data + i * size, (const char *)numbers + i * width, size);
	return STATUS_OK;
}

static enum status take_data(struct tensor *t, const Onnx__TensorProto *p, struct error *err)
{
	switch (t->dtype) {
	case DTYPE_F32:
		return take(t, p->float_data, p->n_float_data, sizeof *p->float_data, err);
	case DTYPE_F64:
		return take(t, p->double_data, p->n_double_data, sizeof *p->double_data, err);
	case DTYPE_I64:
		return take(t, p->int64_data, p->n_int64_data, sizeof *p->int64_data, err);
	case DTYPE_U32:
	case DTYPE_U64:
		return take(t, p->uint64_data, p->n_uint64_data, sizeof *p->uint64_data, err);
	default:
		return take(t, p->int32_data, p->n_int32_data, sizeof *p->int32_data, err);
	}
}

static enum status fill(struct tensor *t, struct arena *a, const Onnx__TensorProto *p, struct error *err)
{
	size_t count;

	*t = (struct tensor){ .name = arena_strdup(a, p->name ? p->name : ""), .dtype = dtype_of_onnx(p->data_type) };
	if (t->dtype == DTYPE_NONE)
		return error_set(err, STATUS_UNSUPPORTED, "element type %d of TensorProto is not taken here", p->data_type);
	if (p->n_dims > TENSOR_MAX_RANK)
		return error_set(err, STATUS_UNSUPPORTED, "%zu dimensions; at most %d are taken", p->n_dims, TENSOR_MAX_RANK);
	for (size_t i = 0; i < p->n_dims; i++)
		t->dim[t->rank++] = p->dims[i];
	if (!tensor_count(t->rank, t->dim, &count) || count > NBYTES_MOST / dtype_size(t->dtype))
		return error_set(err, STATUS_BAD_INPUT, "its shape is none, or takes more than %d MiB", NBYTES_MOST >> 20);
	t->nbytes = count * dtype_size(t->dtype);
	t->data = arena_alloc(a, t->nbytes ? t->nbytes : 1);
	if (!p->has_raw_data)
		return take_data(t, p, err);
	if (p->raw_data.len != t->nbytes)
		return error_set(err, STATUS_BAD_INPUT, "holds %zu bytes, and its shape takes %zu", p->raw_data.len, t->nbytes);
	if (t->nbytes)
		memcpy(t->data, p->raw_data.data, t->nbytes);
	return STATUS_OK;
}

enum status tensor_file_read(struct tensor *out, struct arena *a, const char *path, struct error *err)
{
	struct arena passing = { 0 };
	Onnx__TensorProto *p = NULL;
	size_t nbytes;
	char *bytes;
	enum status st = file_read(&passing, path, NBYTES_MOST, &bytes, &nbytes, err);

	if (!st && !(p = onnx__tensor_proto__unpack(NULL, nbytes, (const uint8_t *)bytes)))
		st = error_set(err, STATUS_BAD_INPUT, "is no TensorProto");
	if (!st)
		st = fill(out, a, p, err);
	if (p)
		onnx__tensor_proto__free_unpacked(p, NULL);
	arena_done(&passing);
	return st;
}
