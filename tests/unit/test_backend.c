// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// The way into an engine: options, checks, the reader of graph outlines, the search for libraries, and one small graph on
// each real engine that is here. Engines run only in a child, as in the program: their threads and exit handlers stay there.
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"
#include "skips.h"

#include "backend/backend.h"
#include "backend/browser.h"
#include "backend/outline.h"
#include "base/file.h"
#include "base/text.h"
#include "onnx/graph.h"
#include "onnx/op.h"

// ---- the list and its options -------------------------------------------------------------------------------------------

static void test_list(void **state)
{
	(void)state;
	for (size_t i = 0; i < backend_count(); i++) {
		const struct backend *b = backend_get(i);

		assert_ptr_equal(backend_find(b->name), b);
		assert_true(b->summary && b->options && b->devices && b->open && b->run && b->close && b->session_size);
		for (const struct option *o = b->options; o->name; o++)
			assert_non_null(o->help);
	}
	assert_null(backend_find("onnx"));
	assert_null(backend_find(NULL));
}

static const struct tensor_type null_input[] = { { "x", DTYPE_F32, 2, { -1, 4 } } },
				null_output[] = { { "y", DTYPE_F32, 2, { -1, 3 } } };

static void test_options(void **state)
{
	struct artifact art = { .inputs = null_input, .input_count = 1, .outputs = null_output, .output_count = 1 };
	struct error err = { 0 };
	struct session s;

	(void)state;
	assert_int_equal(session_open(&s, &backend_null, NULL, NULL, "wrong=1,sleep_ms=3,,wrong=off,", &art, &err), STATUS_OK);
	assert_string_equal(session_option(&s, "wrong"), "off"); // the later one
	assert_string_equal(session_option(&s, "sleep_ms"), "3");
	assert_string_equal(session_option(&s, "noise_ms"), "0"); // a default
	assert_null(session_option(&s, "fail"));
	session_close(&s);
	session_close(&s);
	assert_int_equal(session_open(&s, &backend_null, NULL, NULL, "wrongs=1", &art, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "\"wrongs\""));
	assert_non_null(strstr(err.text, "sleep_ms"));                                                         // what there is
	assert_int_equal(session_open(&s, &backend_openvino, NULL, NULL, NULL, &art, &err), STATUS_BAD_INPUT); // wants a path
}

static void test_checks(void **state)
{
	struct artifact art = { .inputs = null_input, .input_count = 1, .outputs = null_output, .output_count = 1 };
	static float data[8];
	const struct tensor good = { "x", DTYPE_F32, 2, { 2, 4 }, data, sizeof data };
	struct tensor bad[7], out[2];
	struct error err = { 0 };
	struct session s;

	(void)state;
	for (size_t i = 0; i < 7; i++)
		bad[i] = good;
	bad[0].dtype = DTYPE_F64;
	bad[1].rank = 1;
	bad[2].dim[1] = 5;
	bad[3].nbytes--;
	bad[4].name = "z";
	bad[5].data = NULL;
	bad[6].dim[0] = -1;
	assert_int_equal(session_open(&s, &backend_null, NULL, "", NULL, &art, &err), STATUS_OK);
	assert_int_equal(session_run(&s, &good, 1, out, 1, &err), STATUS_OK);
	for (size_t i = 0; i < 7; i++) {
		err = (struct error){ 0 };
		if (session_run(&s, &bad[i], 1, out, 1, &err) != STATUS_BAD_INPUT || !strstr(err.text, " x"))
			fail_msg("bad[%zu]: %s", i, err.text);
	}
	assert_int_equal(session_run(&s, &good, 0, out, 1, &err), STATUS_BAD_INPUT);
	assert_int_equal(session_run(&s, &good, 1, out, 2, &err), STATUS_BAD_INPUT);
	assert_int_equal(s.run_count, 1); // refused runs do not count
	session_close(&s);
}

// ---- a small graph ------------------------------------------------------------------------------------------------------

// y = relu(x w^T + b), w [3, 4] and b [3] in a file; "scaled" = 2 y. Names: "net/..." by the builder.
static const float w[12] = { 1, 0, 0, 0, 0, 1, 0, 0, -1, -1, -1, -1 }, b[3] = { 0.5f, -100, 10 };

static struct graph *build(void)
{
	struct graph_form form = { .linear = LINEAR_GEMM };
	struct graph *g = graph_new(&form);
	graph_value x = graph_input(g, "x", DTYPE_F32, 2, (int64_t[]){ graph_symbol(g, "batch"), 4 }), y;

	graph_enter(g, "net");
	y = op_linear(g, x, graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 3, 4 }, "weights.bin", 8, sizeof w),
		graph_external(g, "b", DTYPE_F32, 1, (int64_t[]){ 3 }, "weights.bin", 8 + sizeof w, sizeof b));
	y = op_relu(g, y);
	graph_leave(g);
	graph_output(g, "y", y);
	graph_output(g, "scaled", op_scale(g, y, 2));
	assert_int_equal(graph_finish(g, NULL), STATUS_OK);
	return g;
}

static void make_artifact(struct artifact *art, struct graph *g)
{
	uint8_t bytes[8 + sizeof w + sizeof b] = { 0 };

	memcpy(bytes + 8, w, sizeof w);
	memcpy(bytes + 8 + sizeof w, b, sizeof b);
	assert_int_equal(file_write(path("weights.bin"), bytes, sizeof bytes, NULL), STATUS_OK);
	*art = (struct artifact){ .weights_dir = scratch };
	assert_int_equal(graph_write(g, &art->graph, &art->graph_nbytes, NULL), STATUS_OK);
	graph_summarise(g, &art->summary);
	art->input_count = graph_inputs(g, &art->inputs);
	art->output_count = graph_outputs(g, &art->outputs);
	art->graph_path = path("model.onnx");
	assert_int_equal(file_write(art->graph_path, art->graph, art->graph_nbytes, NULL), STATUS_OK);
}

static void test_outline(void **state)
{
	struct arena a = { 0 };
	struct graph *g = build();
	struct outline_weights weights;
	struct outline o;
	const void *bytes;
	uint8_t *copy;
	size_t n;

	(void)state;
	assert_int_equal(graph_write(g, &bytes, &n, NULL), STATUS_OK);
	assert_int_equal(outline_read(&o, &a, bytes, n, NULL), STATUS_OK);
	assert_int_equal(o.input_count, 1);
	assert_string_equal(o.inputs[0].name, "x");
	assert_int_equal(o.inputs[0].dtype, DTYPE_F32);
	assert_int_equal(o.inputs[0].rank, 2);
	assert_int_equal(o.inputs[0].dim[0], -1);
	assert_int_equal(o.inputs[0].dim[1], 4);
	assert_int_equal(o.output_count, 2);
	assert_string_equal(o.outputs[1].name, "scaled");
	assert_true(o.node_count >= 2);
	for (size_t i = 0; i < o.node_count; i++)
		assert_true(*o.nodes[i].name && *o.nodes[i].op);
	outline_types(&o, &a, bytes, n);
	for (size_t i = 0; i < o.node_count; i++)
		assert_int_equal(o.nodes[i].dtype, DTYPE_F32);
	// Cut anywhere, and with any byte changed: read or refused, never beyond its end (the copy is exactly as long).
	for (size_t cut = 0; cut < n; cut++) {
		copy = malloc(cut ? cut : 1);
		memcpy(copy, bytes, cut);
		outline_read(&o, &a, copy, cut, NULL);
		outline_weights(&weights, copy, cut, NULL);
		free(copy);
	}
	for (size_t i = 0; i < n; i++) {
		copy = malloc(n);
		memcpy(copy, bytes, n);
		copy[i] ^= 0xff;
		if (!outline_read(&o, &a, copy, n, NULL))
			outline_types(&o, &a, copy, n);
		outline_weights(&weights, copy, n, NULL);
		free(copy);
	}
	// Bytes by shapes: the two that lie outside, and the factor 2 inside.
	assert_int_equal(outline_weights(&weights, bytes, n, NULL), STATUS_OK);
	assert_int_equal(weights.nbytes, sizeof w + sizeof b + 4);
	assert_int_equal(weights.dtype, DTYPE_F32);
	// graph { initializer { dims: 3 (packed) dims: 2, data_type: DOUBLE } initializer { data_type: INT4, dims: 5 } node {
	// attribute { g { initializer { raw_data: 7 bytes, data_type: INT8 } } } } }
	static const uint8_t inside[] = { 0x3a, 34, 0x2a, 7, 0x0a, 1, 3, 0x08, 2, 0x10, 11, 0x2a, 4, 0x08, 5, 0x10, 22, 0x0a, 17,
		0x2a, 15, 0x32, 13, 0x2a, 11, 0x4a, 7, 1, 2, 3, 4, 5, 6, 7, 0x10, 3 };
	assert_int_equal(outline_weights(&weights, inside, sizeof inside, NULL), STATUS_OK);
	assert_int_equal(weights.nbytes, 3 * 2 * 8 + 3 + 7);
	assert_int_equal(weights.dtype, DTYPE_F64);
	// Two types of which there is more than any file holds: the sum does not begin anew.
	static const uint8_t huge[] = { 0x3a, 36, 0x2a, 16, 0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0x10, 1, 0x42,
		1, 'a', 0x2a, 16, 0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0x10, 7, 0x42, 1, 'b' };
	assert_int_equal(outline_weights(&weights, huge, sizeof huge, NULL), STATUS_OK);
	assert_true(weights.nbytes == UINT64_MAX);
	assert_int_equal(outline_weights(&weights, "not onnx", 8, NULL), STATUS_BAD_INPUT);
	assert_int_equal(outline_read(&o, &a, "not onnx", 8, NULL), STATUS_BAD_INPUT);
	assert_int_equal(outline_read(&o, &a, "", 0, NULL), STATUS_BAD_INPUT);
	graph_free(g);
	arena_done(&a);
}

// What a branch gives has no type that could be told from the node that has it, whose first input is a condition.
static void test_outline_of_branches(void **state)
{
	struct arena a = { 0 };
	struct graph *g = graph_new(NULL);
	graph_value x = graph_input(g, "x", DTYPE_F32, 1, (int64_t[]){ 4 }), y;
	struct branches is = { .condition = graph_input(g, "is", DTYPE_BOOL, 0, NULL) };
	struct outline o;
	const void *bytes;
	size_t n;

	(void)state;
	op_if_begin(g, &is);
	y = op_neg(g, x);
	op_if_else(g, &is, 1, &y);
	op_if_end(g, &is, &x);
	graph_output(g, "y", op_exp(g, is.given[0]));
	assert_int_equal(graph_finish(g, NULL), STATUS_OK);
	assert_int_equal(graph_write(g, &bytes, &n, NULL), STATUS_OK);
	assert_int_equal(outline_read(&o, &a, bytes, n, NULL), STATUS_OK);
	outline_types(&o, &a, bytes, n);
	assert_int_equal(o.node_count, 2);
	assert_string_equal(o.nodes[0].op, "If");
	assert_int_equal(o.nodes[0].dtype, DTYPE_BOOL);
	assert_int_equal(o.nodes[1].dtype, DTYPE_NONE);
	graph_free(g);
	arena_done(&a);
}

// Groups of protobuf before, within and behind everything: engines skip them.
static void test_outline_groups(void **state)
{
	struct arena a = { 0 };
	struct outline_weights weights;
	struct outline o;
	char *bytes;
	size_t n;

	(void)state;
	assert_int_equal(file_read(&a, TEST_SOURCE "/tests/fuzz/corpus/onnx/groups", 4096, &bytes, &n, NULL), STATUS_OK);
	assert_int_equal(outline_read(&o, &a, bytes, n, NULL), STATUS_OK);
	assert_true(o.node_count == 1 && o.input_count == 1 && o.output_count == 1);
	assert_string_equal(o.nodes[0].op, "MatMul");
	assert_int_equal(outline_weights(&weights, bytes, n, NULL), STATUS_OK);
	assert_int_equal(weights.nbytes, 4 * 4 * sizeof(float));
	arena_done(&a);
}

// A table of so many rows and 4 columns.
static graph_value table(struct graph *g, const char *name, int64_t rows)
{
	return graph_external(g, name, DTYPE_F32, 2, (int64_t[]){ rows, 4 }, "weights.bin", 0, (uint64_t)rows * 16);
}

// Inputs are followed to the tables that they index, through what casts and arranges; the smallest of several counts.
static void test_outline_tables(void **state)
{
	static const char *const names[] = { "straight", "around", "several", "summed", "float" };
	const int64_t expected[] = { 70, 50, 30, 0, 0 };
	int64_t shape[2], rows[8];
	struct graph *g = graph_new(NULL);
	struct arena a = { 0 };
	struct outline o;
	graph_value in[5], y;
	const void *bytes;
	size_t n;

	(void)state;
	shape[0] = graph_symbol(g, "batch"), shape[1] = graph_symbol(g, "sequence");
	for (int i = 0; i < 5; i++)
		in[i] = graph_input(g, names[i], i == 4 ? DTYPE_F32 : DTYPE_I64, 2, shape);
	graph_output(g, "a", op_gather(g, table(g, "w70", 70), in[0], 0));
	y = op_reshape(g, op_unsqueeze(g, op_cast(g, in[1], DTYPE_I32), 2), 2, (int64_t[]){ -1, 1 });
	graph_output(g, "b",
		op_gather(g,
			op_cast(g, graph_external(g, "w50", DTYPE_F16, 2, (int64_t[]){ 50, 4 }, "weights.bin", 0, 400),
				DTYPE_F32),
			y, 0));
	graph_output(g, "c", op_gather(g, table(g, "w90", 90), in[2], 0));
	graph_output(g, "d", op_gather(g, op_transpose(g, table(g, "w30", 30), 2, (int[]){ 1, 0 }), in[2], 1));
	graph_output(g, "e", op_gather(g, table(g, "w31", 30), in[2], 0));
	graph_output(g, "f", op_gather(g, table(g, "w60", 60), op_add(g, in[3], in[3]), 0));
	graph_output(g, "g", op_tanh(g, in[4]));
	assert_int_equal(graph_finish(g, NULL), STATUS_OK);
	assert_int_equal(graph_write(g, &bytes, &n, NULL), STATUS_OK);
	assert_int_equal(outline_read(&o, &a, bytes, n, NULL), STATUS_OK);
	assert_int_equal(o.input_count, 5);
	outline_tables(&o, bytes, n, rows);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(o.inputs[i].name, names[i]);
		assert_int_equal(rows[i], expected[i]);
	}
	// Weights of 16 bits that are widened before anything is computed are float32's arithmetic.
	struct outline_arithmetic arithmetic;
	outline_arithmetic(&arithmetic, &o, &a, bytes, n);
	assert_int_equal(arithmetic.of, 0);
	assert_true(arithmetic.f32 && !arithmetic.quantised);
	for (size_t i = 0; i < n; i++) { // any byte changed: never beyond the end
		uint8_t *copy = malloc(n);
		struct arena other = { 0 };

		memcpy(copy, bytes, n);
		copy[i] ^= 0xff;
		if (!outline_read(&o, &other, copy, n, NULL) && o.input_count <= 8)
			outline_tables(&o, copy, n, rows);
		if (!outline_read(&o, &other, copy, n, NULL))
			outline_arithmetic(&arithmetic, &o, &other, copy, n);
		arena_done(&other);
		free(copy);
	}
	graph_free(g);
	arena_done(&a);
}

// Field `number` of kind 2 around `length` bytes that are there already, at `at`; returns the new length. Lengths below 128.
static size_t wrap(uint8_t *at, unsigned number, size_t length)
{
	memmove(at + 2, at, length);
	at[0] = (uint8_t)(number << 3 | 2);
	at[1] = (uint8_t)length;
	return length + 2;
}

// Nodes in a circle, nodes that read themselves, and branches within branches without end: nothing is found, and it ends.
static void test_outline_of_circles(void **state)
{
	static const char circle[] = "\x0a\x06\x0a\x01"
				     "b"
				     "\x12\x01"
				     "a",
			  turned[] = "\x0a\x06\x0a\x01"
				     "a"
				     "\x12\x01"
				     "b",
			  input[] = "\x5a\x05\x0a\x03"
				    "ids";
	uint8_t bytes[1024] = { 0 };
	struct arena a = { 0 };
	struct outline o;
	int64_t rows[1] = { -1 };
	size_t n = 0;

	(void)state;
	// An attribute's graph (6) holds a node (1) that has an attribute (5) with a graph, twenty deep.
	for (int i = 0; i < 20 && n < 110; i++)
		n = wrap(bytes, 1, wrap(bytes, 5, wrap(bytes, 6, n)));
	memcpy(bytes + n, circle, sizeof circle - 1), n += sizeof circle - 1;
	memcpy(bytes + n, turned, sizeof turned - 1), n += sizeof turned - 1;
	memcpy(bytes + n, input, sizeof input - 1), n += sizeof input - 1;
	memmove(bytes + 3, bytes, n);
	bytes[0] = 7 << 3 | 2, bytes[1] = (uint8_t)(n & 127) | 128, bytes[2] = (uint8_t)(n >> 7);
	assert_int_equal(outline_read(&o, &a, bytes, n + 3, NULL), STATUS_OK);
	assert_int_equal(o.input_count, 1);
	assert_int_equal(o.node_count, 3);
	outline_tables(&o, bytes, n + 3, rows);
	assert_int_equal(rows[0], 0);
	arena_done(&a);
}

// What a file rounds to, at the top, in a branch and in a function of the model: such a file is not held to float32's bound, and
// a plain one is.
static void test_outline_arithmetic(void **state)
{
	// graph (7) { node (1) { op_type (4): DynamicQuantizeLinear } }, the same within an attribute's graph, and in a function
	// (25)
	static const char of_run[] = "\x22\x15"
				     "DynamicQuantizeLinear",
			  of_weights[] = "\x22\x0b"
					 "MatMulNBits",
			  of_scales[] = "\x22\x0e"
					"QuantizeLinear",
			  plain[] = "\x22\x06"
				    "MatMul",
			  to_half[] = "\x22\x04"
				      "Cast"
				      "\x2a\x06"
				      "\x0a\x02"
				      "to"
				      "\x18\x0a";
	static const struct {
		const char *node;
		size_t length;
		unsigned of;
	} files[] = {
		{ of_run, sizeof of_run - 1, OUTLINE_DYNAMIC },
		{ of_weights, sizeof of_weights - 1, OUTLINE_WEIGHTS },
		{ of_scales, sizeof of_scales - 1, OUTLINE_STATIC },
		{ plain, sizeof plain - 1, 0 },
		{ to_half, sizeof to_half - 1, OUTLINE_F16 },
	};
	struct outline_arithmetic found;
	struct arena a = { 0 };
	uint8_t bytes[256];
	struct outline o;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		for (int inside = 0; inside < 3; inside++) {
			memcpy(bytes, files[i].node, files[i].length);
			n = wrap(bytes, inside == 2 ? 7 : 1, files[i].length);
			if (inside == 1)
				n = wrap(bytes, 1, wrap(bytes, 5, wrap(bytes, 6, n)));
			if (inside == 2) { // functions = 25: a key of two bytes; and an empty graph
				memmove(bytes + 5, bytes, n);
				memcpy(bytes, "\x3a\x00\xca\x01", 4);
				bytes[4] = (uint8_t)n;
				n += 5;
			} else {
				n = wrap(bytes, 7, n);
			}
			assert_int_equal(outline_read(&o, &a, bytes, n, NULL), STATUS_OK);
			outline_arithmetic(&found, &o, &a, bytes, n);
			assert_int_equal(found.of, files[i].of);
			assert_int_equal(found.quantised != NULL, files[i].of != 0 && files[i].of != OUTLINE_F16);
		}
	}
	arena_done(&a);
}

static size_t put_text(uint8_t *at, unsigned number, const char *text)
{
	memcpy(at, text, strlen(text));
	return wrap(at, number, strlen(text));
}

// A node (1): input (1), output (2), op_type (4); with `branch` an attribute's (5) graph (6) that gives (12) the value of that
// name.
static size_t put_node(uint8_t *at, const char *op, const char *in, const char *out, const char *branch)
{
	size_t n = put_text(at, 1, in);

	n += put_text(at + n, 2, out);
	n += put_text(at + n, 4, op);
	if (branch)
		n += wrap(at + n, 5, wrap(at + n, 6, wrap(at + n, 12, put_text(at + n, 1, branch))));
	return wrap(at, 1, n);
}

// What leads to no output rounds nothing and draws nothing, in whatever order the nodes stand; what a branch reads, or a function
// that is called holds, does.
static void test_outline_of_what_leads_nowhere(void **state)
{
	static const struct {
		const char *op, *in, *out, *branch;
		unsigned of;
	} second[] = {
		{ "MatMul", "x", "y", NULL, 0 },
		{ "MatMul", "q", "y", NULL, OUTLINE_DYNAMIC },
		{ "If", "x", "y", "q", OUTLINE_DYNAMIC },
		{ "If", "x", "y", "x", 0 },
		{ "Own", "x", "y", NULL, OUTLINE_STATIC },
	};
	struct outline_arithmetic found;
	struct arena a = { 0 };
	uint8_t bytes[256];
	struct outline o;

	(void)state;
	for (size_t i = 0; i < sizeof second / sizeof *second; i++) {
		for (int turned = 0; turned < 2; turned++) {
			size_t n = turned ? put_node(bytes, second[i].op, second[i].in, second[i].out, second[i].branch) : 0;

			n += put_node(bytes + n, "DynamicQuantizeLinear", "r", "q", NULL);
			n += put_node(bytes + n, "RandomNormal", "x", "r", NULL);
			if (!turned)
				n += put_node(bytes + n, second[i].op, second[i].in, second[i].out, second[i].branch);
			n += wrap(bytes + n, 12, put_text(bytes + n, 1, "y"));
			n = wrap(bytes, 7, n);
			memcpy(bytes + n, "\xca\x01", 2); // functions (25): name (1), node (7)
			size_t function = put_text(bytes + n + 3, 1, "Own"),
			       node = put_text(bytes + n + 3 + function, 4, "QuantizeLinear");
			function += wrap(bytes + n + 3 + function, 7, node);
			bytes[n + 2] = (uint8_t)function;
			n += 3 + function;
			assert_int_equal(outline_read(&o, &a, bytes, n, NULL), STATUS_OK);
			assert_int_equal(o.node_count, 3);
			outline_arithmetic(&found, &o, &a, bytes, n);
			assert_int_equal(found.of, second[i].of);
			assert_int_equal(found.quantised != NULL, second[i].of != 0);
			assert_int_equal(found.draws != NULL, second[i].of == OUTLINE_DYNAMIC);
		}
	}
	arena_done(&a);
}

// ---- libraries ----------------------------------------------------------------------------------------------------------

static void test_library(void **state)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct text places = { 0 };
	const char *found = NULL;
	void *handle = NULL;
	Dl_info maths;

	(void)state;
	assert_true(dladdr((void *)(uintptr_t)cos, &maths) != 0);
	assert_int_equal(file_mkdirs(path("one/engine"), NULL), STATUS_OK);
	assert_int_equal(file_mkdirs(path("two/deep/deeper"), NULL), STATUS_OK);
	assert_int_equal(symlink(maths.dli_fname, path("one/engine/libassay-test.so.1.9.0")), 0);
	assert_int_equal(symlink(maths.dli_fname, path("one/engine/libassay-test.so.1.31.1")), 0);
	assert_int_equal(symlink(maths.dli_fname, path("two/libassay-test.so.7")), 0);
	assert_int_equal(symlink(maths.dli_fname, path("two/deep/deeper/libassay-deep.so")), 0);
	assert_int_equal(setenv("ASSAY_ENGINE_PATH", arena_printf(&a, "%s:%s", path("one"), path("two")), 1), 0);
	assert_int_equal(library_open(&a, "engine", "libassay-test.so.*", &handle, &found, &err), STATUS_OK);
	assert_string_equal(found, path("one/engine/libassay-test.so.1.31.1"));
	assert_non_null(dlsym(handle, "cos"));
	setenv("ASSAY_ENGINE_PATH", path("two"), 1);
	assert_int_equal(library_open(&a, "engine", "libassay-test.so.*", &handle, &found, &err), STATUS_OK);
	assert_string_equal(found, path("two/libassay-test.so.7"));
	// Two folders down is not looked at, and the message names the folders that were.
	assert_int_equal(library_open(&a, "deep", "libassay-deep.so*", &handle, &found, &err), STATUS_UNAVAILABLE);
	assert_non_null(strstr(err.text, path("two")));
	assert_non_null(strstr(err.text, "ASSAY_ENGINE_PATH"));
	// A file that is no library: the loader's own words, no other one in its place.
	assert_int_equal(file_write(path("two/libassay-test.so.8"), "text", 4, NULL), STATUS_OK);
	assert_int_equal(library_open(&a, "engine", "libassay-test.so.*", &handle, &found, &err), STATUS_NOT_ASKED);
	assert_non_null(strstr(err.text, "libassay-test.so.8 cannot be opened: "));
	// A build with a dash in its name lies in a folder of that name only: another build's library is not taken for it.
	assert_int_equal(library_find(&a, "engine-gpu", "libassay-test.so.*", &found, &err), STATUS_UNAVAILABLE);
	assert_non_null(strstr(err.text, "engine-gpu/libassay-test.so.*"));
	// Without a descriptor to look with it is not said to be absent.
	struct rlimit before, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	enum status unseen = library_open(&a, "engine", "libassay-test.so.*", &handle, &found, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(unseen, STATUS_NOT_ASKED);
	assert_non_null(
		strstr(err.text, "/two/engine, in which libassay-test.so.* may be, cannot be read: Too many open files (uli"));
	// Nor where a folder cannot be looked into: one that is named, or any where the file is nowhere else.
	const char *loop = path("loop"), *patterns[] = { "libassay-test.so.*", "literal.mjs", "*/lib/libassay-deep.so*" };
	assert_int_equal(symlink("loop", loop), 0);
	setenv("ASSAY_ENGINE_PATH", arena_printf(&a, "%s:%s", loop, path("two")), 1);
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		assert_int_equal(library_find(&a, "engine", patterns[i], &found, &err), STATUS_NOT_ASKED);
		assert_null(found);
		assert_true(text_starts(err.text, arena_printf(&a, "%s/engine, in which %s may be,", loop, patterns[i])));
	}
	setenv("ASSAY_ENGINE_PATH", path("two"), 1);
	setenv("XDG_DATA_HOME", loop, 1);
	assert_int_equal(library_find(&a, "engine", "libassay-test.so.7", &found, &err), STATUS_OK);
	assert_int_equal(library_find(&a, "engine", "libassay-none.so*", &found, &err), STATUS_NOT_ASKED);
	assert_non_null(strstr(err.text, "/loop/assay/engines/engine, in which libassay-none.so* may be, cannot be read: "));
	unsetenv("XDG_DATA_HOME");
	library_search_path(&places);
	assert_true(text_starts(text_get(&places), arena_printf(&a, "+ %s\n", path("two"))));
	text_done(&places);
	unsetenv("ASSAY_ENGINE_PATH");
	arena_done(&a);
}

// ---- real engines -------------------------------------------------------------------------------------------------------

static char said[4096];

// Runs `body` in a child; what it returns, NULL or a sentence, comes back.
static const char *in_child(const char *(*body)(const struct backend *), const struct backend *engine)
{
	int fds[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const char *sentence = body(engine);

		if (sentence && write(fds[1], sentence, strlen(sentence)) < 0)
			_exit(2);
		_exit(0);
	}
	close(fds[1]);
	while (n + 1 < sizeof said && (got = read(fds[0], said + n, sizeof said - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = 0;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("%s: the child ended with status %#x: %s", engine->name, (unsigned)status, said);
	return n ? said : NULL;
}

static const char *probe(const struct backend *engine)
{
	static struct error err;
	static struct arena a;
	struct device_list list = { .arena = &a };

	if (backend_devices(engine, engine->providers->build, &list, &err))
		return err.text;
	return list.count && list.version && list.library && !strcmp(list.items[0].name, "CPU") ? NULL : "no device CPU";
}

static char sentence[4096];
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			snprintf(sentence, sizeof sentence, "line %d: %.300s: %.2000s", __LINE__, #condition, err.text); \
			return sentence; \
		} \
	} while (0)

static const char *run_graph(const struct backend *engine)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct artifact art;
	struct graph *g = build();
	struct session s;
	struct tensor out[2];
	struct placement p = { .arena = &a };
	float data[12] = { 1, 2, 3, 4, -1, 200, 0, 0, 0, 0, 0, 5 };
	struct tensor x = { "x", DTYPE_F32, 2, { 2, 4 }, data, 2 * 4 * sizeof *data };
	const float expected[9] = { 1.5f, 0, 0, 0, 100, 0, 0.5f, 0, 5 };

	make_artifact(&art, g);
	CHECK(session_open(&s, engine, NULL, "cpu", "threads=1", &art, &err) == STATUS_OK);
	CHECK(!strcmp(s.device, "CPU"));
	CHECK(s.input_count == 1 && s.output_count == 2);
	CHECK(!strcmp(s.inputs[0].name, "x") && s.inputs[0].dim[0] == -1 && s.inputs[0].dim[1] == 4);
	CHECK(!strcmp(s.outputs[0].name, "y") && !strcmp(s.outputs[1].name, "scaled"));
	CHECK(text_is(session_option(&s, "compute_dtype"), "f32"));
	CHECK(text_is(session_option(&s, "threads"), "1"));
	// Two rows, then three in the same session, then two again: shapes are not kept.
	for (int run = 0; run < 3; run++) {
		x.dim[0] = run == 1 ? 3 : 2;
		x.nbytes = (size_t)x.dim[0] * 4 * sizeof *data;
		CHECK(session_run(&s, &x, 1, out, 2, &err) == STATUS_OK);
		CHECK(out[0].dtype == DTYPE_F32 && out[0].rank == 2 && out[0].dim[0] == x.dim[0] && out[0].dim[1] == 3);
		CHECK(out[0].nbytes == (size_t)x.dim[0] * 3 * sizeof *data);
		for (size_t i = 0; i < (size_t)x.dim[0] * 3; i++) {
			CHECK(fabs(tensor_get(&out[0], i) - (double)expected[i]) < 1e-5);
			CHECK(fabs(tensor_get(&out[1], i) - 2 * (double)expected[i]) < 1e-5);
		}
	}
	// The same memory with other numbers in it: inputs are looked at in every run.
	data[0] = 7;
	CHECK(session_run(&s, &x, 1, out, 2, &err) == STATUS_OK);
	CHECK(fabs(tensor_get(&out[0], 0) - 7.5) < 1e-5);
	CHECK(session_explain(&s, &art, &x, 1, &p, &err) == STATUS_OK);
	CHECK(p.count == art.summary.node_count && p.note);
	CHECK(p.on_platform > 0 && p.on_platform + p.fused == (int64_t)p.count);
	for (size_t i = 0; i < p.count; i++)
		CHECK(text_starts(p.nodes[i].name, "net/") || !strchr(p.nodes[i].name, '/'));
	CHECK(session_run(&s, &x, 1, out, 2, &err) == STATUS_OK); // explaining did not harm it
	session_close(&s);
	graph_free(g);
	arena_done(&a);
	return NULL;
}

static const char *run_bad(const struct backend *engine)
{
	static char garbage[] = "this is not a graph";
	struct arena a = { 0 };
	struct error err = { 0 };
	struct artifact art, broken;
	struct graph *g = build();
	struct session s;

	make_artifact(&art, g);
	CHECK(session_open(&s, engine, NULL, "TPU", NULL, &art, &err) == STATUS_UNAVAILABLE);
	CHECK(strstr(err.text, "TPU") && strstr(err.text, "CPU"));
	CHECK(session_open(&s, engine, NULL, NULL, "threads=0", &art, &err) == STATUS_BAD_INPUT);
	CHECK(session_open(&s, engine, NULL, NULL, "threads=many", &art, &err) == STATUS_BAD_INPUT);
	CHECK(session_open(&s, engine, NULL, NULL, engine == &backend_ort ? "spinning=long" : "precision=f8", &art, &err) ==
		STATUS_BAD_INPUT);
	broken = art;
	broken.graph = garbage;
	broken.graph_nbytes = sizeof garbage;
	broken.graph_path = path("garbage.onnx");
	CHECK(file_write(broken.graph_path, garbage, sizeof garbage, &err) == STATUS_OK);
	err.text[0] = 0;
	CHECK(session_open(&s, engine, NULL, NULL, NULL, &broken, &err) == STATUS_FAILED);
	CHECK(text_starts(err.text, engine->name) && !strchr(err.text, '\n'));
	CHECK(unlink(path("weights.bin")) == 0);
	err.text[0] = 0;
	CHECK(session_open(&s, engine, NULL, NULL, NULL, &art, &err) == STATUS_FAILED);
	CHECK(strstr(err.text, "weights.bin"));
	graph_free(g);
	arena_done(&a);
	return NULL;
}

static const char *run_effective(const struct backend *engine)
{
	static const char *const openvino[][2] = { { "INFERENCE_PRECISION_HINT", "f32" }, { "KV_CACHE_PRECISION", "f32" },
		{ "DYNAMIC_QUANTIZATION_GROUP_SIZE", "0" }, { "EXECUTION_DEVICES", "CPU" }, { "INFERENCE_NUM_THREADS", "1" } };
	static const char *const ort[][2] = { { "optimisation", "none" }, { "prepacking", "off" }, { "spinning", "20" },
		{ "inter_threads", "1" }, { "provider", "CPUExecutionProvider" } };
	const char *const(*expected)[2] = engine == &backend_ort ? ort : openvino;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct artifact art;
	struct graph *g = build();
	struct session s;

	make_artifact(&art, g);
	CHECK(session_open(&s, engine, NULL, NULL, engine == &backend_ort ? "optimisation=NONE,prepacking=0" : "threads=1", &art,
		      &err) == STATUS_OK);
	for (size_t i = 0; i < 5; i++)
		if (!text_is(session_option(&s, expected[i][0]), expected[i][1])) {
			snprintf(sentence, sizeof sentence, "%s is %s", expected[i][0], session_option(&s, expected[i][0]));
			return sentence;
		}
	session_close(&s);
	graph_free(g);
	arena_done(&a);
	return NULL;
}

// y, present.key, present.value = GroupQueryAttention: one head 8 wide over a buffer.
static struct graph *build_cached(void)
{
	struct graph *g = graph_new(NULL);
	int64_t token[3] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence"), 8 },
		past[4] = { graph_symbol(g, "batch"), 1, graph_symbol(g, "room"), 8 };
	struct shared_attention a = { .heads = 1, .kv_heads = 1, .scale = 0.3f };
	graph_value present[2];

	a.q = graph_input(g, "q", DTYPE_F32, 3, token);
	a.k = graph_input(g, "k", DTYPE_F32, 3, token);
	a.v = graph_input(g, "v", DTYPE_F32, 3, token);
	a.past_key = graph_input(g, "past_key_values.0.key", DTYPE_F32, 4, past);
	a.past_value = graph_input(g, "past_key_values.0.value", DTYPE_F32, 4, past);
	a.last = graph_input(g, "last", DTYPE_I32, 1, token);
	a.total = graph_input(g, "total", DTYPE_I32, 0, NULL);
	graph_output(g, "y", op_group_query_attention(g, &a, &present[0], &present[1]));
	graph_output(g, "present.0.key", present[0]);
	graph_output(g, "present.0.value", present[1]);
	assert_int_equal(graph_finish(g, NULL), STATUS_OK);
	return g;
}

// Three tokens at once, and two and then one: the same, and of the buffer nothing else is touched.
static const char *run_shared(const struct backend *engine)
{
	enum { ROOM = 6, WIDTH = 8, TOKENS = 3 };
	struct arena a = { 0 };
	struct error err = { 0 };
	struct artifact art, small;
	struct graph *g = build_cached(), *uncached = build();
	struct session s;
	struct tensor in[7], out[3];
	float q[TOKENS * WIDTH], k[TOKENS * WIDTH], v[TOKENS * WIDTH], keys[ROOM * WIDTH], values[ROOM * WIDTH], whole[WIDTH];
	int32_t last, total;

	make_artifact(&small, uncached);
	CHECK(session_open(&s, engine, NULL, NULL, NULL, &small, &err) == STATUS_OK);
	CHECK(session_share_cache(&s, &err) == (engine->caps & BACKEND_WRITES_IN_PLACE ? STATUS_BAD_INPUT : STATUS_UNSUPPORTED));
	session_close(&s);
	make_artifact(&art, g);
	for (int i = 0; i < TOKENS * WIDTH; i++) {
		q[i] = (float)((i * 7) % 11) / 4 - 1;
		k[i] = (float)((i * 5) % 13) / 4 - 1;
		v[i] = (float)((i * 3) % 17) / 4 - 1;
	}
	if (engine->caps & BACKEND_WRITES_IN_PLACE) {
		CHECK(session_open(&s, engine, NULL, NULL, NULL, &art, &err) == STATUS_OK);
		CHECK(session_share_cache(&s, &err) == STATUS_OK);
		for (int step = 0; step < 3; step++) { // 0: all; 1: the first two; 2: the third behind them
			int64_t from = step == 2 ? 2 : 0, count = step == 0 ? 3 : step == 1 ? 2 : 1;
			size_t nbytes = (size_t)count * WIDTH * sizeof *q;
			for (int i = 0; step < 2 && i < ROOM * WIDTH; i++)
				keys[i] = values[i] = 1234;
			last = (int32_t)(from + count - 1), total = (int32_t)(from + count);
			in[0] = (struct tensor){ "q", DTYPE_F32, 3, { 1, count, WIDTH }, q + from * WIDTH, nbytes };
			in[1] = (struct tensor){ "k", DTYPE_F32, 3, { 1, count, WIDTH }, k + from * WIDTH, nbytes };
			in[2] = (struct tensor){ "v", DTYPE_F32, 3, { 1, count, WIDTH }, v + from * WIDTH, nbytes };
			in[3] = (struct tensor){ "past_key_values.0.key", DTYPE_F32, 4, { 1, 1, ROOM, WIDTH }, keys,
				sizeof keys };
			in[4] = (struct tensor){ "past_key_values.0.value", DTYPE_F32, 4, { 1, 1, ROOM, WIDTH }, values,
				sizeof values };
			in[5] = (struct tensor){ "last", DTYPE_I32, 1, { 1 }, &last, sizeof last };
			in[6] = (struct tensor){ "total", DTYPE_I32, 0, { 0 }, &total, sizeof total };
			CHECK(session_run(&s, in, 7, out, 3, &err) == STATUS_OK);
			CHECK(out[1].data == keys && out[2].data == values && out[1].dim[2] == ROOM);
			CHECK(!memcmp(keys, k, (size_t)total * WIDTH * sizeof *k) &&
				!memcmp(values, v, (size_t)total * WIDTH * sizeof *v));
			for (int i = total * WIDTH; i < ROOM * WIDTH; i++)
				CHECK(keys[i] == 1234 && values[i] == 1234);
			if (step == 0)
				memcpy(whole, (float *)out[0].data + 2 * WIDTH, sizeof whole);
			for (int i = 0; step == 2 && i < WIDTH; i++)
				CHECK(fabs(tensor_get(&out[0], (size_t)i) - (double)whole[i]) < 1e-6);
		}
		session_close(&s);
	}
	graph_free(g);
	graph_free(uncached);
	arena_done(&a);
	return NULL;
}

static void on_engine(const struct backend *engine)
{
	static const char *(*const bodies[])(const struct backend *) = { run_graph, run_bad, run_effective, run_shared };
	const char *why = in_child(probe, engine);

	if (why) {
		if (!strstr(why, "is not installed"))
			fail_msg("%s", why);
		SKIP_PART("%s", why);
	}
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		if ((why = in_child(bodies[i], engine)))
			fail_msg("%s: %s", engine->name, why);
}

static void test_ort(void **state)
{
	(void)state;
	on_engine(&backend_ort);
}

// WebNN's partitions are nodes of its own; every node of ours is counted once: in them, elsewhere, or folded before.
static void test_browser_partitions(void **state)
{
	static const char *const lines[] = {
		"[W:x] WebNNExecutionProvider::GetCapability, number of partitions supported by WebNN: 2 number of nodes in the "
		"graph: 4 number of nodes supported by WebNN: 3",
		"[V:x]  Node(s) placed on [WebNNExecutionProvider]. Number of nodes: 3",
		"[V:x]   WEBNN_1_0 (WebNNExecutionProvider_WEBNN_1_0_0)",
		"[V:x]   WEBNN_1_1 (WebNNExecutionProvider_WEBNN_1_1_1)",
		"[V:x]   MemcpyToHost (Memcpy)",
		"[V:x]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1",
		"[V:x]   Concat (join)",
	};
	struct placed_node nodes[] = { { .name = "a", .op = "Add" }, { .name = "join", .op = "Concat" },
		{ .name = "b", .op = "Add" }, { .name = "c", .op = "Shape" }, { .name = "d", .op = "Mul" } };
	struct arena a = { 0 };
	struct placement p = { .arena = &a, .nodes = nodes, .count = 5 };

	(void)state;
	browser_assign(lines, sizeof lines / sizeof *lines, "WebNNExecutionProvider", NULL, &p);
	assert_int_equal(p.on_platform, 3);
	assert_int_equal(p.elsewhere, 1);
	assert_int_equal(p.fused, 1);
	assert_int_equal(p.partitions, 2);
	assert_int_equal(p.copies, 1);
	assert_string_equal(nodes[0].where, "in a partition, or folded");
	assert_string_equal(nodes[1].where, "CPUExecutionProvider");
	assert_false(nodes[0].fused_away || nodes[0].elsewhere || !nodes[1].elsewhere);
	arena_done(&a);
}

// Lines that a stranger's names made: all nodes are not in one place where some are said to be in another, and a name that stands
// twice is where it is worse.
static void test_browser_lies(void **state)
{
	static const char *const all[] = { "[V:x]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1",
		"[V:x]   Det (All nodes placed on [WebGpuExecutionProvider]. Number of nodes: 2)" };
	static const char *const twice[] = { "[V:x]  Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 2",
		"[V:x]   Relu (a)", "[V:x]   Det (b)", "[V:x]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1",
		"[V:x]   Det (b)" };
	struct placed_node nodes[] = { { .name = "a", .op = "Relu" }, { .name = "b", .op = "Det" } };
	struct arena a = { 0 };
	struct placement p = { .arena = &a, .nodes = nodes, .count = 2, .on_platform = -1, .elsewhere = -1 };

	(void)state;
	browser_assign(all, 2, "WebGpuExecutionProvider", NULL, &p);
	assert_int_equal(p.on_platform, -1);
	browser_assign(twice, 5, "WebGpuExecutionProvider", NULL, &p);
	assert_int_equal(p.on_platform, 1);
	assert_int_equal(p.elsewhere, 1);
	// What follows from constants alone was folded on the processor, though the log says that all nodes are on the platform;
	// where nothing else is there it says nothing.
	p = (struct placement){ .arena = &a, .nodes = nodes, .count = 2, .on_platform = -1, .elsewhere = -1 };
	browser_assign(all + 1, 1, "WebGpuExecutionProvider", (const bool[]){ true, false }, &p);
	assert_int_equal(p.on_platform, 1);
	assert_int_equal(p.fused, 1);
	p = (struct placement){ .arena = &a, .nodes = nodes, .count = 2, .on_platform = -1, .elsewhere = -1 };
	browser_assign(NULL, 0, "WebGpuExecutionProvider", (const bool[]){ true, true }, &p);
	assert_true(p.on_platform == 0 && p.elsewhere == 0 && p.fused == 2);
	arena_done(&a);
}

// y = Add(x, Mul(w, w)): the second node follows from the weight alone, unless it draws numbers.
static void test_constant_nodes(void **state)
{
	static const char graph[] = "\x3a\x24"
				    "\x0a\x0b\x0a\x01w\x0a\x01w\x12\x01m\"\x00"
				    "\x0a\x0b\x0a\x01x\x0a\x01m\x12\x01y\"\x00"
				    "\x2a\x03\x42\x01w"
				    "\x5a\x03\x0a\x01x";
	char given[sizeof graph + 4];
	struct arena a = { 0 };
	bool constant[2];

	(void)state;
	outline_constant(constant, 2, &a, graph, sizeof graph - 1);
	assert_true(constant[0] && !constant[1]);
	outline_constant(constant, 2, &a, graph, sizeof graph - 3);
	assert_true(!constant[0] && !constant[1]);
	// A weight that is an input, too, may be another one in each run.
	memcpy(given, graph, sizeof graph - 1);
	memcpy(given + sizeof graph - 1, "\x5a\x03\x0a\x01w", 5);
	given[1] += 5;
	outline_constant(constant, 2, &a, given, sizeof given);
	assert_true(!constant[0] && !constant[1]);
	arena_done(&a);
}

// What ran on the processor is never passed over: a node without a name, one of a branch with the name of another, one of which
// the log's line cannot be read.
static void test_browser_unnamed(void **state)
{
	static const struct {
		const char *lines[7];
		int64_t on, elsewhere, fused;
	} rows[] = {
		{ { "[V:x]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 2", "[V:x]   Det ()", "[V:x]   Det ()",
			  "[V:x]  Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 2", "[V:x]   Relu (a)",
			  "[V:x]   MemcpyToHost (Memcpy)" },
			1, 2, 2 },
		{ { "[V:x]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 2", "[V:x]   Det (a)", "[V:x]   Det (a)",
			  "[V:x]  Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 1", "[V:x]   Relu (a)" },
			0, 2, 2 },
		{ { "[V:x]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 2", "[V:x]   Det (x  (y)",
			  "[V:x]   Det (x] (y)", "[V:x]  Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 1",
			  "[V:x]   Relu (a)" },
			1, 2, 2 },
		{ { "[V:x]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1", "[V:x]   Det (x", ")",
			  "[V:x]  Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 1", "[V:x]   Relu (a)" },
			-1, -1, 0 },
		{ { "[V:x]  Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 1", "[V:x]   Relu (a)",
			  "[V:x]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1" },
			-1, -1, 0 },
		{ { "[V:x]  Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 1", "[V:x]   Relu (a)",
			  "[V:x]  Node(s) placed on [CPUExecutionProvider].", "[V:x]   Det (b)" },
			-1, -1, 0 },
		// A copy that the engine made is none of ours, whatever its name.
		{ { "[V:x]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1", "[V:x]   Det (a)",
			  "[V:x]  Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 1", "[V:x]   MemcpyToHost (b)" },
			0, 1, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct placed_node nodes[] = { { .name = "a", .op = "Relu" }, { .name = "", .op = "Det" },
			{ .name = "b", .op = "Det" } };
		struct arena a = { 0 };
		struct placement p = { .arena = &a, .nodes = nodes, .count = 3, .on_platform = -1, .elsewhere = -1 };
		size_t count = 0;

		while (count < 7 && rows[i].lines[count])
			count++;
		browser_assign(rows[i].lines, count, "WebGpuExecutionProvider", NULL, &p);
		assert_int_equal(p.on_platform, rows[i].on);
		assert_int_equal(p.elsewhere, rows[i].elsewhere);
		assert_int_equal(p.fused, rows[i].fused);
		assert_non_null(p.note);
		arena_done(&a);
	}
}

static void test_openvino(void **state)
{
	(void)state;
	on_engine(&backend_openvino);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_outline),
		cmocka_unit_test(test_outline_of_branches),
		cmocka_unit_test(test_outline_groups),
		cmocka_unit_test(test_outline_tables),
		cmocka_unit_test(test_outline_arithmetic),
		cmocka_unit_test(test_outline_of_what_leads_nowhere),
		cmocka_unit_test(test_outline_of_circles),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_browser_partitions),
		cmocka_unit_test(test_browser_lies),
		cmocka_unit_test(test_constant_nodes),
		cmocka_unit_test(test_browser_unnamed),
		cmocka_unit_test(test_ort),
		cmocka_unit_test(test_openvino),
	};

	return exit_code(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
