// SPDX-License-Identifier: Apache-2.0
// Any bytes as an .onnx file, as it is looked over before an engine loads it: refused with a sentence, or nodes, inputs, types,
// tables, weights and places of weights that can be read. Nothing of it may be quadratic: names and places are looked up, not
// compared pair by pair.
#include <stdlib.h>
#include <string.h>

#include "backend/contents.h"
#include "backend/outline.h"
#include "fuzz.h"
#include "onnx/external.h"

enum { FIXED = 32 << 10, EACH = 256 };

static void check_type(const struct tensor_type *t)
{
	if (!t->name || t->rank < 0 || t->rank > TENSOR_MAX_RANK || t->dtype >= DTYPE_COUNT)
		abort();
	fuzz_touch(t->name, strlen(t->name));
	for (int i = 0; i < t->rank; i++) {
		if (t->dim[i] < -1)
			abort();
		if (t->symbol[i])
			fuzz_touch(t->symbol[i], strlen(t->symbol[i]));
	}
}

static void look(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct outline o = { 0 };
	int64_t *rows;

	fuzz_memory_begin();
	enum status s = outline_read(&o, &a, data, size, &e);
	fuzz_memory_end(size, FIXED, EACH);
	if (s) {
		fuzz_refused(s, &e, NULL);
		if (o.nodes || o.inputs || o.outputs)
			abort();
		arena_done(&a);
		return;
	}
	fuzz_memory_begin();
	struct contents c = { 0 };
	if (contents_read(&c, &a, data, size, &e)) {
		fuzz_refused(STATUS_BAD_INPUT, &e, NULL);
	} else {
		size_t nodes = 0;

		for (size_t i = 0; i < c.operator_count; i++) {
			nodes += c.operators[i].count;
			fuzz_touch(c.operators[i].op, strlen(c.operators[i].op));
			contents_since(c.operators[i].op);
		}
		if (nodes != c.node_count || nodes < o.node_count)
			abort();
	}
	fuzz_memory_end(size, FIXED, EACH);
	fuzz_memory_begin();
	outline_arithmetic(&(struct outline_arithmetic){ 0 }, &o, &a, data, size); // with outline_types
	fuzz_memory_end(size, FIXED, EACH);
	for (size_t i = 0; i < o.node_count; i++) {
		if (o.nodes[i].dtype >= DTYPE_COUNT)
			abort();
		fuzz_touch(o.nodes[i].name, strlen(o.nodes[i].name));
		fuzz_touch(o.nodes[i].op, strlen(o.nodes[i].op));
	}
	for (size_t i = 0; i < o.input_count; i++)
		check_type(&o.inputs[i]);
	for (size_t i = 0; i < o.output_count; i++)
		check_type(&o.outputs[i]);
	rows = ARENA_ARRAY(&a, o.input_count + 1, int64_t);
	fuzz_memory_begin();
	outline_constant(ARENA_ARRAY(&a, o.node_count + 1, bool), o.node_count, &a, data, size);
	fuzz_memory_end(size, FIXED, EACH);
	fuzz_memory_begin();
	outline_tables(&o, data, size, rows);
	fuzz_memory_end(size, FIXED, EACH);
	for (size_t i = 0; i < o.input_count; i++)
		if (rows[i] < 0)
			abort();
	arena_done(&a);
}

static void weigh(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct outline_weights w;
	struct onnx_external external;

	fuzz_memory_begin();
	enum status s = outline_weights(&w, data, size, &e);
	fuzz_memory_end(size, FIXED, EACH);
	if (s)
		fuzz_refused(s, &e, NULL);
	else if (w.dtype >= DTYPE_COUNT)
		abort();
	fuzz_memory_begin();
	onnx_external_read(data, size, &a, &external);
	fuzz_memory_end(size, FIXED, EACH);
	for (size_t i = 1; i < external.count; i++)
		if (strcmp(external.locations[i - 1], external.locations[i]) >= 0)
			abort();
	for (size_t i = 0; i < external.truths_count; i++)
		fuzz_touch(external.truths[i].location, strlen(external.truths[i].location));
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	look(data, size);
	weigh(data, size);
	return 0;
}
