// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format: a message is a row of fields, a field is a key (number << 3 | kind) and a value. Nothing is copied.
#ifndef ASSAY_ONNX_WIRE_H
#define ASSAY_ONNX_WIRE_H

#include <stdbool.h>
#include <stdint.h>

// Messages, texts, blobs and packed numbers are WIRE_BYTES. Groups are older than messages within messages; no field of ONNX is
// one, and every reader skips those that it does not know.
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_GROUP = 3, WIRE_GROUP_END = 4, WIRE_32 = 5 };

// Of one pass over a file. Fields may be two bytes long, and a file gigabytes; a graph of 100,000 nodes has some million.
enum { WIRE_FIELDS_MOST = 1 << 23 };

struct wire {
	const uint8_t *at, *end;
};
struct wire_field {
	unsigned number, kind;
	uint64_t varint;   // of WIRE_VARINT
	struct wire bytes; // of WIRE_BYTES, WIRE_64 and WIRE_32; of others empty
	uint32_t skipped;  // fields in it, of WIRE_GROUP
};
enum wire_got { WIRE_END, WIRE_FIELD, WIRE_DAMAGED, WIRE_MANY };

bool wire_varint(struct wire *w, uint64_t *out);
// The next field, and after it. What protobuf's own readers refuse is damaged: a key of more than 32 bits or with the number 0,
// a value beyond the end, a group that does not end, or one in 100 others.
enum wire_got wire_next(struct wire *w, struct wire_field *out);
// The same in a pass over a file, whose `fields` begin at 0: WIRE_MANY is the one after WIRE_FIELDS_MOST, with those in groups.
enum wire_got wire_next_of(struct wire *w, struct wire_field *out, uint64_t *fields);

#endif
