// SPDX-License-Identifier: Apache-2.0
// tensor_file.h. Elements lie in raw_data, or as numbers in the field for their type: 16 bits and fewer as int32, f16 and bf16 by
// their bits.
#include "onnx/tensor_file.h"

#include <string.h>

#include "base/file.h"
#include "onnx.pb-c.h"
#include "onnx/wire.h"

enum { NBYTES_MOST = 1 << 25 }; // numbers of a byte each take 8

// The elements as they lie, `width` bytes each, of which the low ones are the element: little-endian.
struct elements {
	const void *data;
	size_t count, width;
};

static struct elements elements_of(const Onnx__TensorProto *p, enum dtype type)
{
	const size_t size = dtype_size(type);

	if (p->has_raw_data) // a rest is no element
		return (struct elements){ p->raw_data.data, p->raw_data.len % size ? SIZE_MAX : p->raw_data.len / size, size };
	switch (type) {
	case DTYPE_F32:
		return (struct elements){ p->float_data, p->n_float_data, sizeof *p->float_data };
	case DTYPE_F64:
		return (struct elements){ p->double_data, p->n_double_data, sizeof *p->double_data };
	case DTYPE_I64:
		return (struct elements){ p->int64_data, p->n_int64_data, sizeof *p->int64_data };
	case DTYPE_U32:
	case DTYPE_U64:
		return (struct elements){ p->uint64_data, p->n_uint64_data, sizeof *p->uint64_data };
	default:
		return (struct elements){ p->int32_data, p->n_int32_data, sizeof *p->int32_data };
	}
}

static enum status fill(struct tensor *out, struct arena *a, const Onnx__TensorProto *p, struct error *err)
{
	struct tensor t = { .dtype = dtype_of_onnx(p->data_type) };
	size_t count;

	if (t.dtype == DTYPE_NONE)
		return error_set(err, STATUS_UNSUPPORTED, "element type %d of TensorProto is not taken here", p->data_type);
	if (p->n_dims > TENSOR_MAX_RANK)
		return error_set(err, STATUS_UNSUPPORTED, "%zu dimensions; at most %d are taken", p->n_dims, TENSOR_MAX_RANK);
	for (size_t i = 0; i < p->n_dims; i++)
		t.dim[t.rank++] = p->dims[i];
	const struct elements x = elements_of(p, t.dtype);
	const size_t size = dtype_size(t.dtype);
	if (!tensor_count(t.rank, t.dim, &count) || count != x.count)
		return error_set(err, STATUS_BAD_INPUT, "does not hold as many elements as its shape has");
	t.name = arena_strdup(a, p->name ? p->name : "");
	t.nbytes = count * size;
	t.data = arena_alloc(a, t.nbytes ? t.nbytes : 1);
	for (size_t i = 0; i < count; i++)
		memcpy((char *)t.data + i * size, (const char *)x.data + i * x.width, size);
	*out = t;
	return STATUS_OK;
}

// protobuf makes a structure of each field before anything can be looked at, some 32 bytes of two, and of those within an entry.
static enum status check_fields(const void *bytes, size_t nbytes, struct error *err)
{
	enum { SEGMENT = 3, FLOATS = 4, INT32S = 5, INT64S = 7, DOUBLES = 10, UINT64S = 11, EXTERNAL = 13, METADATA = 16 };
	enum { OTHERS_MOST = 1024, NUMBERS_MOST = 1 << 20 };
	struct wire w = { bytes, (const uint8_t *)bytes + nbytes };
	struct wire_field field;
	enum wire_got got;
	size_t numbers = 0, others = 0;

	while ((got = wire_next(&w, &field)) == WIRE_FIELD) {
		const unsigned n = field.number;

		if (n == SEGMENT || n == EXTERNAL || n == METADATA)
			return error_set(err, STATUS_UNSUPPORTED, "its field %u of TensorProto is not taken here", n);
		if (n == FLOATS || n == INT32S || n == INT64S || n == DOUBLES || n == UINT64S)
			numbers++; // a packed list is one
		else
			others++;
		if (others > OTHERS_MOST || numbers > NUMBERS_MOST)
			return error_set(err, STATUS_BAD_INPUT, "has more fields than a tensor's");
	}
	return got == WIRE_DAMAGED ? error_set(err, STATUS_BAD_INPUT, "is no TensorProto") : STATUS_OK;
}

enum status tensor_file_parse(struct tensor *out, struct arena *a, const void *bytes, size_t nbytes, struct error *err)
{
	enum status st = check_fields(bytes, nbytes, err);

	if (st)
		return st;
	Onnx__TensorProto *p = onnx__tensor_proto__unpack(NULL, nbytes, bytes);
	st = p ? fill(out, a, p, err) : error_set(err, STATUS_BAD_INPUT, "is no TensorProto");

	if (p)
		onnx__tensor_proto__free_unpacked(p, NULL);
	return st;
}

enum status tensor_file_read(struct tensor *out, struct arena *a, const char *path, struct error *err)
{
	struct arena passing = { 0 };
	size_t nbytes;
	char *bytes;
	enum status st = file_read(&passing, path, NBYTES_MOST, &bytes, &nbytes, err);

	if (!st)
		st = tensor_file_parse(out, a, bytes, nbytes, err);
	arena_done(&passing);
	return st;
}
