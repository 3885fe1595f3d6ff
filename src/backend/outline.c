// SPDX-License-Identifier: Apache-2.0
// A reader of protobuf's wire format that visits only the fields it wants. Not protobuf-c's unpacking, because a user's file
// may hold gigabytes of weights and this runs in the process whose memory is being measured.
//
//   ModelProto.graph = 7
//   GraphProto.node = 1 (NodeProto: name = 3, op_type = 4)   .initializer = 5 (TensorProto: name = 8)   .input = 11   .output =
//   12 ValueInfoProto: name = 1, type = 2 (TypeProto: tensor_type = 1 (elem_type = 1, shape = 2 (dim = 1 (dim_value = 1))))
#include "backend/outline.h"

#include <string.h>

#include "base/text.h"

struct wire {
	const uint8_t *at, *end;
};
struct field {
	unsigned number, kind;
	uint64_t varint;
	struct wire bytes;
};

static bool varint(struct wire *w, uint64_t *out)
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

// The next field; false at the end. A broken one sets *bad.
static bool next(struct wire *w, struct field *f, bool *bad)
{
	uint64_t key, length = 0;

	if (w->at >= w->end || *bad)
		return false;
	*bad = true;
	if (!varint(w, &key))
		return false;
	f->number = (unsigned)(key >> 3);
	f->kind = (unsigned)(key & 7);
	f->varint = 0;
	f->bytes = (struct wire){ w->at, w->at };
	if (f->kind == 0) {
		*bad = !varint(w, &f->varint);
		return !*bad;
	}
	if (f->kind == 2 ? !varint(w, &length) : f->kind != 1 && f->kind != 5)
		return false;
	if (f->kind != 2)
		length = f->kind == 1 ? 8 : 4;
	if (length > (uint64_t)(w->end - w->at))
		return false;
	f->bytes = (struct wire){ w->at, w->at + length };
	w->at += length;
	*bad = false;
	return true;
}

static const char *string(struct arena *a, struct wire w)
{
	return arena_strndup(a, (const char *)w.at, (size_t)(w.end - w.at));
}

static void read_shape(struct tensor_type *t, struct wire w, bool *bad)
{
	struct field f, g;

	while (next(&w, &f, bad)) {
		int64_t dim = -1;

		if (f.number != 1 || f.kind != 2)
			continue;
		while (next(&f.bytes, &g, bad))
			if (g.number == 1 && g.kind == 0)
				dim = (int64_t)g.varint;
		if (t->rank == TENSOR_MAX_RANK)
			*bad = true;
		else
			t->dim[t->rank++] = dim < 0 ? -1 : dim;
	}
}

static void read_value(struct tensor_type *t, struct arena *a, struct wire w, bool *bad)
{
	struct field f, g, h;

	t->name = "";
	while (next(&w, &f, bad)) {
		if (f.number == 1 && f.kind == 2)
			t->name = string(a, f.bytes);
		if (f.number != 2 || f.kind != 2)
			continue;
		while (next(&f.bytes, &g, bad)) {
			if (g.number != 1 || g.kind != 2)
				continue;
			while (next(&g.bytes, &h, bad)) {
				if (h.number == 1 && h.kind == 0)
					t->dtype = dtype_of_onnx((int)h.varint);
				if (h.number == 2 && h.kind == 2)
					read_shape(t, h.bytes, bad);
			}
		}
	}
}

static const char *text_field(struct arena *a, struct wire w, unsigned number, bool *bad)
{
	struct field f;

	while (next(&w, &f, bad))
		if (f.number == number && f.kind == 2)
			return string(a, f.bytes);
	return "";
}

static void read_graph(struct outline *o, struct arena *a, struct wire graph, bool *bad)
{
	size_t count[16] = { 0 }, inputs = 0, initializers = 0;
	const char **filled;
	struct wire w = graph;
	struct field f;

	while (next(&w, &f, bad))
		if (f.number < 16 && f.kind == 2)
			count[f.number]++;
	o->nodes = ARENA_ARRAY(a, count[1] + 1, struct outline_node);
	o->inputs = ARENA_ARRAY(a, count[11] + 1, struct tensor_type);
	o->outputs = ARENA_ARRAY(a, count[12] + 1, struct tensor_type);
	filled = ARENA_ARRAY(a, count[5] + 1, const char *);
	w = graph;
	while (next(&w, &f, bad)) {
		if (f.kind != 2)
			continue;
		if (f.number == 1)
			o->nodes[o->node_count++] =
				(struct outline_node){ text_field(a, f.bytes, 3, bad), text_field(a, f.bytes, 4, bad) };
		else if (f.number == 5 && count[11])
			filled[initializers++] = text_field(a, f.bytes, 8, bad);
		else if (f.number == 11)
			read_value(&o->inputs[inputs++], a, f.bytes, bad);
		else if (f.number == 12)
			read_value(&o->outputs[o->output_count++], a, f.bytes, bad);
	}
	for (size_t i = 0; i < inputs; i++) { // before IR 4 every initializer was an input too
		size_t k = 0;

		while (k < initializers && !text_is(filled[k], o->inputs[i].name))
			k++;
		if (k == initializers)
			o->inputs[o->input_count++] = o->inputs[i];
	}
}

enum status outline_read(struct outline *out, struct arena *a, const void *onnx, size_t nbytes, struct error *err)
{
	struct wire w = { onnx, (const uint8_t *)onnx + nbytes };
	struct outline o = { 0 };
	bool bad = nbytes == 0, found = false;
	struct field f;

	while (next(&w, &f, &bad)) {
		if (f.number != 7 || f.kind != 2 || found)
			continue;
		found = true;
		read_graph(&o, a, f.bytes, &bad);
	}
	if (bad || !found)
		return error_set(err, STATUS_BAD_INPUT, "not a readable ONNX file");
	*out = o;
	return STATUS_OK;
}
