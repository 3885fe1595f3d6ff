// SPDX-License-Identifier: Apache-2.0
// What protobuf-c will allocate is counted along its own descriptors. A field is first a ScannedMember (48 bytes) and then an
// element of an array or a text with the allocator's own bytes; a packed field of varints has 8 bytes for each of its own.
#include "onnx/unpack.h"

#include <stdbool.h>
#include <stdint.h>

#include "onnx/wire.h"

enum { DEPTH_MOST = 64, FIELD_NBYTES = 80, VARINT_GROWTH = 8 };
#define WEIGHT_MOST ((uint64_t)96 << 20)

struct count {
	uint64_t weight;
	const char *failed; // a sentence's end; NULL: all is well
	enum status status; // of `failed`
};

static void refuse(struct count *c, enum status status, const char *why)
{
	c->failed = why;
	c->status = status;
}

static void count_message(struct count *c, const ProtobufCMessageDescriptor *d, struct wire w, int depth)
{
	struct wire_field field;

	c->weight += d->sizeof_message;
	if (depth > DEPTH_MOST)
		refuse(c, STATUS_BAD_INPUT, "is nested deeper than 64 messages");
	while (!c->failed && w.at < w.end) {
		if (wire_next(&w, &field) == WIRE_DAMAGED)
			refuse(c, STATUS_BAD_INPUT, "is not a readable ONNX file");
		else if (field.kind == WIRE_GROUP) // protobuf-c knows none
			refuse(c, STATUS_UNSUPPORTED,
				"holds a group of protobuf, an old kind of field that engines skip; assay cannot take such a "
				"graph apart");
		if (c->failed)
			return;
		const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(d, field.number);
		const struct wire value = field.kind == WIRE_BYTES ? field.bytes : (struct wire){ 0 };

		c->weight += FIELD_NBYTES;
		if (f && f->type == PROTOBUF_C_TYPE_MESSAGE)
			count_message(c, f->descriptor, value, depth + 1);
		else if (f && f->label == PROTOBUF_C_LABEL_REPEATED && f->type != PROTOBUF_C_TYPE_STRING &&
			f->type != PROTOBUF_C_TYPE_BYTES && f->type != PROTOBUF_C_TYPE_FLOAT && f->type != PROTOBUF_C_TYPE_DOUBLE)
			c->weight += (uint64_t)(value.end - value.at) * VARINT_GROWTH;
		if (!c->failed && c->weight > WEIGHT_MOST)
			refuse(c, STATUS_BAD_INPUT,
				"holds more nodes and attributes than can be taken apart here (96 MiB of them)");
	}
}

enum status onnx_unpack(Onnx__ModelProto **out, const void *onnx, size_t nbytes, struct error *err)
{
	struct count c = { 0 };
	Onnx__ModelProto *model = NULL;

	count_message(&c, &onnx__model_proto__descriptor, (struct wire){ onnx, (const uint8_t *)onnx + nbytes }, 0);
	if (!c.failed && !(model = onnx__model_proto__unpack(NULL, nbytes, onnx)))
		refuse(&c, STATUS_BAD_INPUT, "is not a readable ONNX file");
	if (c.failed)
		return error_set(err, c.status, "the graph %s", c.failed);
	*out = model;
	return STATUS_OK;
}
