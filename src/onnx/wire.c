// SPDX-License-Identifier: Apache-2.0
#include "onnx/wire.h"

enum { GROUPS_DEEP = 100 };

bool wire_varint(struct wire *w, uint64_t *out)
{
	uint64_t x = 0;

	for (unsigned shift = 0; shift < 64 && w->at < w->end; shift += 7) {
		uint8_t byte = *w->at++;

		x |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*out = x;
			return true;
		}
	}
	return false;
}

// Key and value; of a group the key alone.
static bool take(struct wire *w, struct wire_field *f)
{
	uint64_t key, length = 0;

	if (!wire_varint(w, &key) || key > UINT32_MAX || key >> 3 == 0)
		return false;
	*f = (struct wire_field){ .number = (unsigned)(key >> 3), .kind = (unsigned)(key & 7), .bytes = { w->at, w->at } };
	switch (f->kind) {
	case WIRE_VARINT:
		return wire_varint(w, &f->varint);
	case WIRE_64:
		length = 8;
		break;
	case WIRE_32:
		length = 4;
		break;
	case WIRE_BYTES:
		if (!wire_varint(w, &length))
			return false;
		break;
	default:
		return f->kind == WIRE_GROUP || f->kind == WIRE_GROUP_END;
	}
	if (length > (uint64_t)(w->end - w->at))
		return false;
	f->bytes = (struct wire){ w->at, w->at + length };
	w->at += length;
	return true;
}

enum wire_got wire_next(struct wire *w, struct wire_field *out)
{
	unsigned open[GROUPS_DEEP];
	struct wire_field f;
	int depth = 0;

	if (w->at >= w->end)
		return WIRE_END;
	if (!take(w, out) || out->kind == WIRE_GROUP_END)
		return WIRE_DAMAGED;
	if (out->kind == WIRE_GROUP)
		open[depth++] = out->number;
	for (; depth > 0; out->skipped += out->skipped < UINT32_MAX) {
		if (!take(w, &f) || (f.kind == WIRE_GROUP && depth == GROUPS_DEEP))
			return WIRE_DAMAGED;
		if (f.kind == WIRE_GROUP)
			open[depth++] = f.number;
		else if (f.kind == WIRE_GROUP_END && open[--depth] != f.number)
			return WIRE_DAMAGED;
	}
	return WIRE_FIELD;
}

enum wire_got wire_next_of(struct wire *w, struct wire_field *out, uint64_t *fields)
{
	enum wire_got got = wire_next(w, out);

	if (got == WIRE_FIELD && (*fields += 1 + (uint64_t)out->skipped) > WIRE_FIELDS_MOST)
		return WIRE_MANY;
	return got;
}
