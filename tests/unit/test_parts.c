// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// A graph's weights as parts: cut at the borders of tensors, no byte twice, the same bytes for every tensor wherever it lies;
// files that name what is not there are refused; nodes that a log could not tell
// apart get names. And Range headers and paths as anybody may send them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "artifact/artifact.h"
#include "artifact/parts.h"
#include "base/file.h"
#include "onnx.pb-c.h"
#include "serve/range.h"

enum { TENSORS = 6, FILE_NBYTES = 1000, OTHER_NBYTES = 900 };

// name, offset, length in the file: the second lies inside of the first, the third overlaps it, the fourth is tied to the first,
// the fifth has no offset and no length, that is, as many bytes of another file as its shape takes.
static const struct {
	const char *name, *file;
	int offset, length;
} tensors[TENSORS] = {
	{ "whole", "a.bin", 100, 200 },
	{ "slice", "a.bin", 150, 50 },
	{ "overlap", "a.bin", 250, 100 },
	{ "tied", "a.bin", 100, 200 },
	{ "other", "b.bin", -1, -1 },
	{ "far", "a.bin", 903, 97 },
};

struct fixture {
	char folder[64];
	struct arena arena;
	struct artifact art;
	uint8_t bytes[2][FILE_NBYTES];
};

static Onnx__StringStringEntryProto *entry(struct arena *a, const char *key, const char *text)
{
	Onnx__StringStringEntryProto *e = ARENA_NEW(a, Onnx__StringStringEntryProto);
	onnx__string_string_entry_proto__init(e);
	e->key = arena_strdup(a, key);
	e->value = arena_strdup(a, text);
	return e;
}

static void write_model(struct fixture *f, const char *location, const char *offset, const char *length)
{
	struct arena *a = &f->arena;
	Onnx__ModelProto model;
	Onnx__GraphProto graph, inner;
	Onnx__NodeProto node;
	Onnx__AttributeProto attribute;
	Onnx__TensorProto *t[TENSORS];
	onnx__model_proto__init(&model);
	onnx__graph_proto__init(&graph);
	onnx__graph_proto__init(&inner);
	onnx__node_proto__init(&node);
	onnx__attribute_proto__init(&attribute);
	for (int i = 0; i < TENSORS; i++) {
		t[i] = ARENA_NEW(a, Onnx__TensorProto);
		onnx__tensor_proto__init(t[i]);
		t[i]->name = (char *)(uintptr_t)tensors[i].name;
		t[i]->has_data_location = 1;
		t[i]->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
		t[i]->has_data_type = 1;
		t[i]->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
		t[i]->n_dims = 1;
		t[i]->dims = ARENA_NEW(a, int64_t);
		t[i]->dims[0] = tensors[i].length < 0 ? OTHER_NBYTES : tensors[i].length;
		t[i]->external_data = ARENA_ARRAY(a, 3, Onnx__StringStringEntryProto *);
		t[i]->external_data[t[i]->n_external_data++] = entry(a, "location", !i && location ? location : tensors[i].file);
		if (tensors[i].offset >= 0)
			t[i]->external_data[t[i]->n_external_data++] =
				entry(a, "offset", !i && offset ? offset : arena_printf(a, "%d", tensors[i].offset));
		if (tensors[i].length >= 0)
			t[i]->external_data[t[i]->n_external_data++] =
				entry(a, "length", !i && length ? length : arena_printf(a, "%d", tensors[i].length));
	}
	// The last one lies in a branch's own graph.
	Onnx__TensorProto *last[] = { t[TENSORS - 1] };
	Onnx__AttributeProto *attributes[] = { &attribute };
	Onnx__NodeProto *nodes[] = { &node };
	inner.initializer = last;
	inner.n_initializer = 1;
	attribute.name = (char *)(uintptr_t) "then_branch";
	attribute.g = &inner;
	node.attribute = attributes;
	node.n_attribute = 1;
	graph.initializer = t;
	graph.n_initializer = TENSORS - 1;
	graph.node = nodes;
	graph.n_node = 1;
	model.graph = &graph;
	size_t n = onnx__model_proto__get_packed_size(&model);
	uint8_t *bytes = arena_alloc(a, n);
	onnx__model_proto__pack(&model, bytes);
	f->art = (struct artifact){ .graph = bytes, .graph_nbytes = n, .weights_dir = f->folder };
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	char real[4096];
	snprintf(f->folder, sizeof f->folder, "/tmp/parts-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	assert_non_null(realpath(f->folder, real));
	assert_true(strlen(real) < sizeof f->folder);
	memcpy(f->folder, real, strlen(real) + 1);
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < FILE_NBYTES; i++)
			f->bytes[k][i] = (uint8_t)(i * 7 + k * 31 + i / 256);
		assert_int_equal(file_put(arena_printf(&f->arena, "%s/%s", f->folder, k ? "b.bin" : "a.bin"), f->bytes[k],
					 FILE_NBYTES, NULL),
			STATUS_OK);
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	file_remove_tree(f->folder, NULL);
	arena_done(&f->arena);
	free(f);
	return 0;
}

static const char *text_of(const Onnx__TensorProto *t, const char *key)
{
	for (size_t i = 0; i < t->n_external_data; i++)
		if (!strcmp(t->external_data[i]->key, key))
			return t->external_data[i]->value;
	return NULL;
}

// Every tensor's bytes, read through the part that the new graph names, are those of its file.
static void check(struct fixture *f, uint64_t limit, size_t most_parts)
{
	struct artifact_parts p;
	struct error err = { 0 };
	assert_int_equal(artifact_cut(&p, &f->arena, &f->art, NULL, limit, &err), STATUS_OK);
	assert_true(p.count >= 1 && p.count <= most_parts);
	assert_int_equal(p.largest_nbytes, OTHER_NBYTES);
	assert_string_equal(p.largest, "other");
	uint64_t sum = 0;
	for (size_t i = 0; i < p.count; i++) {
		sum += p.items[i].nbytes;
		assert_true(p.items[i].nbytes <= limit || p.items[i].segment_count == 1);
	}
	assert_int_equal(sum, p.nbytes);
	assert_true(p.nbytes <= 250 + OTHER_NBYTES + 97 + 32); // no byte twice, but for the zeros between
	Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, p.graph_nbytes, p.graph);
	assert_non_null(m);
	for (int i = 0; i < TENSORS; i++) {
		const Onnx__TensorProto *t =
			i < TENSORS - 1 ? m->graph->initializer[i] : m->graph->node[0]->attribute[0]->g->initializer[0];
		size_t k = 0, at = (size_t)atoll(text_of(t, "offset")), n = (size_t)atoll(text_of(t, "length"));
		size_t from = tensors[i].offset < 0 ? 0 : (size_t)tensors[i].offset,
		       want = tensors[i].length < 0 ? OTHER_NBYTES : (size_t)tensors[i].length;
		uint8_t read[FILE_NBYTES + 1];
		assert_string_equal(t->name, tensors[i].name);
		while (k < p.count && strcmp(p.items[k].name, text_of(t, "location")))
			k++;
		assert_true(k < p.count);
		assert_int_equal(n, want);
		assert_true(at + n <= p.items[k].nbytes);
		assert_int_equal(artifact_part_read(&p.items[k], at, read, n), n);
		assert_memory_equal(read, f->bytes[tensors[i].file[0] == 'b'] + from, n);
		for (size_t b = 0; b < n; b += 13) { // byte by byte too, across segments
			assert_int_equal(artifact_part_read(&p.items[k], at + b, read, 1), 1);
			assert_int_equal(read[0], f->bytes[tensors[i].file[0] == 'b'][from + b]);
		}
	}
	onnx__model_proto__free_unpacked(m, NULL);
	uint8_t byte;
	assert_int_equal(artifact_part_read(&p.items[0], p.items[0].nbytes, &byte, 1), 0);
	assert_int_equal(artifact_part_read(&p.items[0], UINT64_MAX, &byte, 1), 0);
}

static void cutting(void **state)
{
	struct fixture *f = *state;
	write_model(f, NULL, NULL, NULL);
	check(f, PART_NBYTES, 1);
	check(f, 1024, 3);
	check(f, 256, 3);
	check(f, 1, 3);                           // nothing fits: each stretch is a part by itself
	write_model(f, ".//./a.bin", NULL, NULL); // another spelling is no other file, of which no byte is sent twice
	check(f, 1, 3);
}

// protobuf-c refuses what engines skip: assay's own gap, and said so.
static void groups(void **state)
{
	struct fixture *f = *state;
	struct artifact_parts p;
	struct error err = { 0 };
	char *graph;
	size_t n;

	assert_int_equal(file_read(&f->arena, TEST_SOURCE "/tests/fuzz/corpus/parts/groups", 4096, &graph, &n, NULL), STATUS_OK);
	struct artifact art = { .graph = graph, .graph_nbytes = n, .weights_dir = f->folder };
	assert_int_equal(artifact_cut(&p, &f->arena, &art, NULL, PART_NBYTES, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.text, "assay cannot take such a graph apart"));
}

// Nodes of the graph that a browser gets have names by which its log tells them apart; all else is as it was.
static void names(void **state)
{
	static const char *const rows[][4] = {
		// of two nodes, one in a branch of the second, one in a function
		{ "a", "b", "c", "d" },
		{ "a b", "b[0]:1/x", "~", " " },
		{ NULL, "b", "c", "d" },
		{ "a", "", "c", "d" },
		{ "a", "b", NULL, "d" },
		{ "a", "b", "c", NULL },
		{ "a", "b", "x  (y", "d" },
		{ "a", "b", "c", "x)" },
		{ "a", "b", "x\n", "d" },
		{ "a", "b", "\xc3\xa9", "d" },
		{ "a", "a", "c", "d" },
		{ "a", "b", "a", "d" },
		{ "a", "b", "c", "b" },
		{ "_inlfunc_f_d", "b", "c", "d" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
		Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT, branch = ONNX__GRAPH_PROTO__INIT;
		Onnx__FunctionProto function = ONNX__FUNCTION_PROTO__INIT, *functions[] = { &function };
		Onnx__AttributeProto attribute = ONNX__ATTRIBUTE_PROTO__INIT, *attributes[] = { &attribute };
		Onnx__NodeProto node[4], *nodes[4];
		struct artifact_parts p, again;
		struct error err = { 0 };
		char *outputs[] = { (char *)(uintptr_t) "a\tvalue" };

		for (int k = 0; k < 4; k++) {
			onnx__node_proto__init(nodes[k] = &node[k]);
			node[k].name = (char *)(uintptr_t)rows[i][k];
			node[k].op_type = (char *)(uintptr_t) "Det";
			node[k].output = outputs;
			node[k].n_output = 1;
		}
		graph.node = nodes;
		graph.n_node = 2;
		graph.doc_string = (char *)(uintptr_t) "kept";
		branch.node = nodes + 2;
		branch.n_node = 1;
		attribute.g = &branch;
		node[1].attribute = attributes;
		node[1].n_attribute = 1;
		function.node = nodes + 3;
		function.n_node = 1;
		model.graph = &graph;
		model.functions = functions;
		model.n_functions = 1;

		struct artifact art = { .graph_nbytes = onnx__model_proto__get_packed_size(&model), .weights_dir = f->folder };
		uint8_t *bytes = arena_alloc(&f->arena, art.graph_nbytes);

		onnx__model_proto__pack(&model, bytes);
		art.graph = bytes;
		assert_int_equal(artifact_cut(&p, &f->arena, &art, NULL, PART_NBYTES, &err), STATUS_OK);
		assert_int_equal(p.graph == art.graph, i < 2);

		// With these names the model is the one that was made.
		char name[4][32];
		for (int k = 0; k < 4 && i >= 2; k++) {
			snprintf(name[k], sizeof name[k], "node_%08d", k);
			node[k].name = name[k];
		}
		assert_int_equal(onnx__model_proto__get_packed_size(&model), p.graph_nbytes);
		bytes = arena_alloc(&f->arena, p.graph_nbytes);
		onnx__model_proto__pack(&model, bytes);
		Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, p.graph_nbytes, p.graph);
		assert_non_null(m);
		uint8_t *packed = arena_alloc(&f->arena, p.graph_nbytes);
		assert_int_equal(onnx__model_proto__pack(m, packed), p.graph_nbytes);
		assert_memory_equal(bytes, packed, p.graph_nbytes);
		onnx__model_proto__free_unpacked(m, NULL);

		// And they need no others.
		art = (struct artifact){ .graph = p.graph, .graph_nbytes = p.graph_nbytes, .weights_dir = f->folder };
		assert_int_equal(artifact_cut(&again, &f->arena, &art, NULL, PART_NBYTES, &err), STATUS_OK);
		assert_ptr_equal(again.graph, p.graph);
	}
}

static void refused(void **state)
{
	static const char *const bad[][3] = {
		{ "../a.bin", NULL, NULL },
		{ "/etc/passwd", NULL, NULL },
		{ "none.bin", NULL, NULL },
		{ "", NULL, NULL },
		{ "link.bin", NULL, NULL },
		{ NULL, "1001", NULL },
		{ NULL, "-1", NULL },
		{ NULL, "x", NULL },
		{ NULL, "100", "901" },
		{ NULL, "18446744073709551615", NULL },
		{ NULL, NULL, "9223372036854775807" },
		{ NULL, NULL, "-5" },
		{ NULL, NULL, "201" },
	};
	struct fixture *f = *state;
	assert_int_equal(symlink("/etc/hostname", arena_printf(&f->arena, "%s/link.bin", f->folder)), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct artifact_parts p;
		struct error err = { 0 };
		write_model(f, bad[i][0], bad[i][1], bad[i][2]);
		assert_int_equal(artifact_cut(&p, &f->arena, &f->art, NULL, PART_NBYTES, &err), STATUS_BAD_INPUT);
		assert_non_null(strstr(err.text, "whole"));
	}
	struct artifact rubbish = { .graph = "\x3a\xff\xff\xff\xff\x0f rubbish", .graph_nbytes = 12, .weights_dir = f->folder };
	struct artifact_parts p;
	assert_int_equal(artifact_cut(&p, &f->arena, &rubbish, NULL, PART_NBYTES, NULL), STATUS_BAD_INPUT);
}

// `depth` branches one within the other, each a field of a field of a field: written from the innermost to the front of the
// buffer.
static size_t nested(uint8_t *buffer, size_t size, int depth)
{
	static const uint8_t keys[] = { 0x32, 0x2a, 0x0a }; // AttributeProto.g, NodeProto.attribute, GraphProto.node
	size_t at = size, length;
	for (int i = 0; i < 3 * depth + 1; i++) {
		uint8_t head[12];
		size_t n = 0;
		length = size - at;
		head[n++] = i < 3 * depth ? keys[i % 3] : 0x3a; // ModelProto.graph
		for (; length > 127; length >>= 7)
			head[n++] = (uint8_t)(length | 128);
		head[n++] = (uint8_t)length;
		at -= n;
		memcpy(buffer + at, head, n);
	}
	memmove(buffer, buffer + at, size - at);
	return size - at;
}

// Few bytes that protobuf-c would make much of: a recursion as deep as the file is long, and 250 bytes of structure for 2 of
// file.
static void small_and_large(void **state)
{
	enum { SIZE = 1 << 20, HEAD = 5 };
	uint8_t *bytes = malloc(SIZE);
	struct artifact_parts p;
	struct arena a = { 0 };
	(void)state;
	assert_non_null(bytes);
	for (int depth = 10; depth <= 40000; depth *= 4000) {
		struct artifact art = { .graph = bytes, .graph_nbytes = nested(bytes, SIZE, depth) };
		struct error err = { 0 };
		assert_int_equal(artifact_cut(&p, &a, &art, NULL, PART_NBYTES, &err), depth > 10 ? STATUS_BAD_INPUT : STATUS_OK);
		assert_true(depth == 10 || strstr(err.text, "nested"));
	}
	for (int nodes = 1000; nodes <= 500000; nodes *= 500) {
		struct artifact art = { .graph = bytes, .graph_nbytes = HEAD + 2 * (size_t)nodes };
		struct error err = { 0 };
		bytes[0] = 0x3a; // a graph of so many bytes, nodes without any
		for (int i = 0; i < 4; i++)
			bytes[1 + i] = (uint8_t)(2 * nodes >> 7 * i & 127) | (i < 3 ? 128 : 0);
		for (int i = 0; i < nodes; i++)
			memcpy(bytes + HEAD + 2 * i, "\x0a", 2);
		assert_int_equal(
			artifact_cut(&p, &a, &art, NULL, PART_NBYTES, &err), nodes > 1000 ? STATUS_BAD_INPUT : STATUS_OK);
	}
	arena_done(&a);
	free(bytes);
}

static void ranges(void **state)
{
	static const struct {
		const char *header;
		uint64_t nbytes;
		enum range range;
		uint64_t begin, count;
	} rows[] = {
		{ NULL, 10, RANGE_ALL, 0, 0 },
		{ "", 10, RANGE_ALL, 0, 0 },
		{ "bytes=0-9", 10, RANGE_PART, 0, 10 },
		{ "bytes=0-0", 10, RANGE_PART, 0, 1 },
		{ "bytes=9-9", 10, RANGE_PART, 9, 1 },
		{ "bytes=10-10", 10, RANGE_NONE, 0, 0 },
		{ "bytes=5-", 10, RANGE_PART, 5, 5 },
		{ "bytes=5-99", 10, RANGE_PART, 5, 5 },
		{ "bytes=-3", 10, RANGE_PART, 7, 3 },
		{ "bytes=-30", 10, RANGE_PART, 0, 10 },
		{ "bytes=-0", 10, RANGE_NONE, 0, 0 },
		{ "bytes=-1", 0, RANGE_NONE, 0, 0 },
		{ "bytes=0-", 0, RANGE_NONE, 0, 0 },
		{ "bytes=6-5", 10, RANGE_ALL, 0, 0 },
		{ "bytes=0-1,3-4", 10, RANGE_ALL, 0, 0 },
		{ "bytes=", 10, RANGE_ALL, 0, 0 },
		{ "bytes=-", 10, RANGE_ALL, 0, 0 },
		{ "bytes=a-b", 10, RANGE_ALL, 0, 0 },
		{ "items=0-1", 10, RANGE_ALL, 0, 0 },
		{ "BYTES=0-1", 10, RANGE_PART, 0, 2 },
		{ "bytes=99999999999999999999999-", 10, RANGE_NONE, 0, 0 },
		{ "bytes=0-99999999999999999999999", 10, RANGE_PART, 0, 10 },
		{ "bytes=18446744073709551615-18446744073709551615", 10, RANGE_NONE, 0, 0 },
		{ "bytes=0-18446744073709551615", 10, RANGE_PART, 0, 10 },
		{ "bytes=-18446744073709551615", 10, RANGE_PART, 0, 10 },
		{ "bytes=0x1-2", 10, RANGE_ALL, 0, 0 },
		{ "bytes=--1", 10, RANGE_ALL, 0, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t begin = 77, count = 77;
		enum range r = range_parse(rows[i].header, rows[i].nbytes, &begin, &count);
		if (r != rows[i].range || (r == RANGE_PART && (begin != rows[i].begin || count != rows[i].count)))
			fail_msg("%s of %llu: %d, %llu + %llu", rows[i].header, (unsigned long long)rows[i].nbytes, (int)r,
				(unsigned long long)begin, (unsigned long long)count);
	}
}

static void paths(void **state)
{
	static const struct {
		const char *path, *kind, *rest;
	} rows[] = {
		{ "/secret/page/0/", "page", "0/" },
		{ "/secret/file/a/b.bin", "file", "a/b.bin" },
		{ "/secret/file/", "file", "" },
		{ "/secre/file/a", NULL, NULL },
		{ "/secrets/file/a", NULL, NULL },
		{ "/secreT/file/a", NULL, NULL },
		{ "", NULL, NULL },
		{ "/", NULL, NULL },
		{ "secret/file/a", NULL, NULL },
		{ "/secret", NULL, NULL },
		{ "/secret/", NULL, NULL },
		{ "/secret/file", NULL, NULL },
		{ "/secret/file/../x", NULL, NULL },
		{ "/secret/file/a/..", NULL, NULL },
		{ "/secret/file/./a", NULL, NULL },
		{ "/secret/file//a", NULL, NULL },
		{ "/secret/file/a//b", NULL, NULL },
		{ "/secret/file/a\\b", NULL, NULL },
		{ "/secret/toolongkind/a", NULL, NULL },
		{ "/secret/file/..a", "file", "..a" },
		{ "//secret/file/a", NULL, NULL },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char kind[8];
		const char *rest;
		bool good = path_parse(rows[i].path, "secret", kind, sizeof kind, &rest);
		if (good != (rows[i].kind != NULL) || (good && (strcmp(kind, rows[i].kind) || strcmp(rest, rows[i].rest))))
			fail_msg("%s: %s", rows[i].path, good ? kind : "refused");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cutting, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(groups, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names, set_up, tear_down),
		cmocka_unit_test(small_and_large),
		cmocka_unit_test(ranges),
		cmocka_unit_test(paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
