// SPDX-License-Identifier: Apache-2.0
// What protobuf-c will allocate is counted along its own descriptors. A field is first a ScannedMember (48 bytes) and then an element of an array
// or a text with the allocator's own bytes; a packed field of varints has 8 bytes for each of its own.
#include "onnx/unpack.h"

#include <stdbool.h>
#include <stdint.h>

enum { DEPTH_MOST = 64, FIELD_NBYTES = 80, VARINT_GROWTH = 8 };
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
#define WEIGHT_MOST ((uint64_t)96 << 20)

struct span {
	const uint8_t *at, *end;
};

struct count {
	uint64_t weight;
	const char *failed;                          // a sentence's end; NULL: all is well
};

static bool take_varint(struct span *s, uint64_t *out)
{
	*out = 0;
	for (int shift = 0; shift < 64 && s->at < s->end; shift += 7) {
		uint8_t byte = *s->at++;
		*out |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128))
			return true;
	}
	return false;
}

// The value behind a key; of wire type 2 its bytes, else nothing.
static bool take_value(struct span *s, uint64_t wire, struct span *out)
{
	uint64_t n = wire == WIRE_64 ? 8 : 4, unused;

	*out = (struct span){ s->at, s->at };
	if (wire == WIRE_VARINT)
		return take_varint(s, &unused);
	if (wire != WIRE_64 && wire != WIRE_32 && (wire != WIRE_BYTES || !take_varint(s, &n)))
		return false;
	if (n > (uint64_t)(s->end - s->at))
		return false;
	if (wire == WIRE_BYTES)
		*out = (struct span){ s->at, s->at + n };
	s->at += n;
	return true;
}

static void count_message(struct count *c, const ProtobufCMessageDescriptor *d, struct span s, int depth)
{
	struct span value;
	uint64_t key;

	c->weight += d->sizeof_message;
	if (depth > DEPTH_MOST)
		c->failed = "is nested deeper than 64 messages";
	while (!c->failed && s.at < s.end) {
		if (!take_varint(&s, &key) || key >> 3 > UINT32_MAX || !take_value(&s, key & 7, &value)) {
			c->failed = "is not a readable ONNX file";
			return;
		}
		const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(d, (unsigned)(key >> 3));

		c->weight += FIELD_NBYTES;
		if (f && f->type == PROTOBUF_C_TYPE_MESSAGE)
			count_message(c, f->descriptor, value, depth + 1);
		else if (f && f->label == PROTOBUF_C_LABEL_REPEATED && f->type != PROTOBUF_C_TYPE_STRING && f->type != PROTOBUF_C_TYPE_BYTES &&
			f->type != PROTOBUF_C_TYPE_FLOAT && f->type != PROTOBUF_C_TYPE_DOUBLE)
			c->weight += (uint64_t)(value.end - value.at) * VARINT_GROWTH;
		if (!c->failed && c->weight > WEIGHT_MOST)
			c->failed = "holds more nodes and attributes than can be taken apart here (96 MiB of them)";
	}
}

enum status onnx_unpack(Onnx__ModelProto **out, const void *onnx, size_t nbytes, struct error *err)
{
	struct count c = { 0 };
	Onnx__ModelProto *model = NULL;

	count_message(&c, &onnx__model_proto__descriptor, (struct span){ onnx, (const uint8_t *)onnx + nbytes }, 0);
	if (!c.failed && !(model = onnx__model_proto__unpack(NULL, nbytes, onnx)))
		c.failed = "is not a readable ONNX file";
	if (c.failed)
		return error_set(err, STATUS_BAD_INPUT, "the graph %s", c.failed);
	*out = model;
	return STATUS_OK;
}
