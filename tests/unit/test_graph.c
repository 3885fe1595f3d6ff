// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// The builder: inference, folding, one node for equal nodes, the sticky error with its place, and what graph_finish drops.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "onnx/op.h"

static struct graph_summary finish(struct graph *g)
{
	struct error err = { 0 };
	struct graph_summary s;
	if (graph_finish(g, &err))
		fail_msg("%s", err.text);
	graph_summarise(g, &s);
	return s;
}

static graph_value tokens(struct graph *g)
{
	return graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ graph_symbol(g, "batch"), graph_symbol(g, "sequence"), 8 });
}

static void shapes_are_inferred(void **state)
{
	(void)state;
	struct graph *g = graph_new(NULL);
	graph_value x = tokens(g);
	graph_value w = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 12, 8 }, "f", 0, 384);
	graph_value y = op_linear(g, x, w, NO_VALUE); // [batch, sequence, 12]
	assert_int_equal(value_rank(g, y), 3);
	assert_int_equal(value_dim(g, y, 0), graph_symbol(g, "batch"));
	assert_int_equal(value_dim(g, y, 1), graph_symbol(g, "sequence"));
	assert_int_equal(value_dim(g, y, -1), 12);
	graph_value h = op_reshape(g, y, 4, (int64_t[]){ 0, 0, 3, -1 });
	assert_int_equal(value_dim(g, h, 3), 4);
	graph_value t = op_transpose(g, h, 4, (int[]){ 0, 2, 1, 3 });
	assert_int_equal(value_dim(g, t, 2), graph_symbol(g, "sequence"));
	graph_value s = op_matmul(g, t, op_transpose(g, t, 4, (int[]){ 0, 1, 3, 2 })); // [batch, 3, sequence, sequence]
	assert_int_equal(value_dim(g, s, 3), graph_symbol(g, "sequence"));
	graph_value flat = op_reshape(g, s, 2, (int64_t[]){ -1, 3 });
	assert_true(value_dim(g, flat, 0) < 0);
	graph_value m = op_reduce_mean(g, x, 1, false);
	assert_int_equal(value_rank(g, m), 2);
	graph_value c = op_less(g, m, graph_f32(g, 0));
	assert_int_equal(value_dtype(g, c), DTYPE_BOOL);
	assert_int_equal(value_dim(g, op_where(g, c, m, graph_f32(g, 1)), 1), 8);
	graph_output(g, "y", flat);
	finish(g);
	graph_free(g);
}

static void what_convnets_need(void **state)
{
	(void)state;
	struct graph *g = graph_new(NULL);
	graph_value x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ graph_symbol(g, "batch"), 4, graph_symbol(g, "samples") });
	graph_value w = graph_external(g, "w", DTYPE_F32, 1, (int64_t[]){ 4 }, "f", 0, 16);
	graph_value y = op_instance_norm(g, op_batch_norm(g, x, w, w, w, w, 1e-5f), w, w, 1e-5f);
	assert_int_equal(value_dim(g, y, 2), graph_symbol(g, "samples"));
	assert_int_equal(value_dim(g, op_pad(g, y, 1, 2, 1), 1), 7);
	assert_int_not_equal(value_dim(g, op_pad(g, y, 2, 2, 1), 2), graph_symbol(g, "samples"));
	assert_int_equal(op_pad(g, y, 1, 0, 0).id, y.id);
	assert_false(graph_failed(g));
	graph_value wrong = graph_external(g, "wrong", DTYPE_F32, 1, (int64_t[]){ 5 }, "f", 16, 20);
	op_instance_norm(g, x, wrong, wrong, 1e-5f);
	assert_true(graph_failed(g));
	graph_free(g);
}

// For engines that gather by int32 only: indices are narrowed where they are read, sizes and inputs stay int64.
static void indices_may_be_int32(void **state)
{
	(void)state;
	for (int narrow = 0; narrow < 2; narrow++) {
		struct graph_form form = { .index32 = narrow };
		struct graph *g = graph_new(&form);
		struct text t = { 0 };
		graph_value table = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 12, 8 }, "f", 0, 384);
		graph_value ids =
			graph_input(g, "ids", DTYPE_I64, 2, (int64_t[]){ graph_symbol(g, "batch"), graph_symbol(g, "sequence") });
		int64_t fixed[] = { 3, 1 };
		graph_value a = op_gather(g, table, ids, 0);
		graph_value b = op_gather(g, table, graph_i64s(g, 2, fixed), 0);
		graph_value long_table = graph_input(g, "long", DTYPE_F32, 1, (int64_t[]){ graph_symbol(g, "length") });
		graph_value huge = op_gather(g, long_table, graph_i64s(g, 1, (int64_t[]){ (int64_t)1 << 40 }), 0);
		graph_value size = op_gather(g, op_shape(g, ids), graph_i64s(g, 1, (int64_t[]){ 0 }), 0);

		assert_int_equal(value_dim(g, a, 2), 8);
		assert_int_equal(value_dim(g, b, 0), 2);
		assert_int_equal(value_dtype(g, size), DTYPE_I64);
		graph_output(g, "a", a);
		graph_output(g, "b", b);
		graph_output(g, "huge", huge);
		finish(g);
		graph_text(g, &t);
		assert_non_null(strstr(text_get(&t), "ids : i64"));
		assert_int_equal(strstr(text_get(&t), "Cast(ids) to=6 : i32") != NULL, narrow);
		assert_int_equal(strstr(text_get(&t), ": i32[2] {3 1}") != NULL, narrow);
		assert_int_equal(strstr(text_get(&t), ": i64[2] {3 1}") != NULL, !narrow);
		assert_non_null(strstr(text_get(&t), ": i64[1]")); // what no int32 holds stays
		text_done(&t);
		graph_free(g);
	}
}

static void a_static_graph_has_no_shape_nodes(void **state)
{
	(void)state;
	for (int is_static = 0; is_static < 2; is_static++) {
		struct graph *g = graph_new(NULL);
		if (is_static) {
			graph_bind(g, "batch", 2);
			graph_bind(g, "sequence", 5);
		}
		graph_value x = tokens(g);
		graph_value shape = op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 2, (int64_t[]){ 1, 8 }) }, 0);
		graph_value row = graph_external(g, "row", DTYPE_F32, 3, (int64_t[]){ 1, 1, 8 }, "f", 0, 32);
		graph_value e = op_expand(g, row, shape); // [batch, 1, 8]
		assert_int_equal(value_dim(g, e, 0), graph_symbol(g, "batch"));
		assert_int_equal(value_dim(g, e, 2), 8);
		graph_output(g, "y", op_concat(g, 2, (graph_value[]){ e, x }, 1));
		finish(g);
		struct text t = { 0 };
		graph_text(g, &t);
		assert_int_equal(strstr(text_get(&t), "= Shape(") != NULL, !is_static);
		text_done(&t);
		graph_free(g);
	}
}

static void integers_are_folded(void **state)
{
	(void)state;
	struct graph *g = graph_new(NULL);
	graph_value a = graph_i64s(g, 2, (int64_t[]){ 6, 8 }), b = graph_i64s(g, 1, (int64_t[]){ 2 });
	const struct tensor *sum = value_constant(g, op_add(g, a, b)), *quotient = value_constant(g, op_div(g, a, b));
	assert_non_null(sum);
	assert_non_null(quotient);
	assert_memory_equal(sum->data, ((int64_t[]){ 8, 10 }), 16);
	assert_memory_equal(quotient->data, ((int64_t[]){ 3, 4 }), 16);
	assert_non_null(value_constant(g, op_range(g, graph_i64(g, 0), graph_i64(g, 4), graph_i64(g, 1))));
	assert_null(value_constant(g, op_add(g, graph_i64(g, INT64_MAX), graph_i64(g, 1)))); // would overflow: left to the run
	assert_int_equal(graph_f32(g, 2).id, graph_f32(g, 2).id);
	graph_free(g);
}

static void equal_nodes_are_one(void **state)
{
	(void)state;
	struct graph *g = graph_new(NULL);
	graph_value x = tokens(g), y = op_tanh(g, x);
	assert_int_equal(op_tanh(g, x).id, y.id);
	assert_int_not_equal(op_softmax(g, x, 1).id, op_softmax(g, x, 2).id);
	graph_output(g, "a", y);
	graph_output(g, "b", y);                   // one value, two outputs
	op_exp(g, y);                              // nobody reads it
	assert_int_equal(finish(g).node_count, 2); // Tanh, Identity
	graph_free(g);
}

static void the_first_error_is_kept_with_its_place(void **state)
{
	(void)state;
	struct graph *g = graph_new(NULL);
	graph_value x = tokens(g);
	graph_enter(g, "layers.%d", 3);
	graph_enter(g, "attn");
	graph_value y = op_linear(g, x, graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 4, 9 }, "f", 0, 144), NO_VALUE);
	assert_int_equal(y.id, 0);
	y = op_add(g, op_reshape(g, y, 2, (int64_t[]){ -1, 77 }), x);
	graph_leave(g);
	graph_leave(g);
	graph_output(g, "y", y);
	struct error err = { 0 };
	assert_int_equal(graph_finish(g, &err), STATUS_FAILED);
	assert_non_null(strstr(err.text, "layers.3/attn: "));
	assert_non_null(strstr(err.text, "[4,9]"));
	graph_free(g);
}

// Lengths by formula: a stride-2 convolution and the 1x1 shortcut beside it meet as the same dimension.
static void windows_know_their_lengths(void **state)
{
	(void)state;
	for (int is_static = 0; is_static < 2; is_static++) {
		struct graph *g = graph_new(NULL);
		if (is_static)
			graph_bind(g, "height", 9);
		graph_value x = graph_input(
			g, "x", DTYPE_F32, 4, (int64_t[]){ graph_symbol(g, "batch"), 6, graph_symbol(g, "height"), 11 });
		graph_value w3 = graph_external(g, "w3", DTYPE_F32, 4, (int64_t[]){ 4, 6, 3, 3 }, "f", 0, 864);
		graph_value w1 = graph_external(g, "w1", DTYPE_F32, 4, (int64_t[]){ 4, 6, 1, 1 }, "f", 864, 96);
		int64_t one[] = { 1, 1 }, two[] = { 2, 2 }, pad1[] = { 1, 1, 1, 1 }, pad0[4] = { 0 };
		graph_value a = op_conv(g, x, w3, NO_VALUE, two, pad1, one, 1),
			    b = op_conv(g, x, w1, NO_VALUE, two, pad0, one, 1);
		assert_int_equal(value_dim(g, a, 2), value_dim(g, b, 2));
		assert_int_equal(value_dim(g, op_add(g, a, b), 2), value_dim(g, a, 2));
		assert_int_equal(value_dim(g, op_conv(g, x, w3, NO_VALUE, one, pad1, one, 1), 2), value_dim(g, x, 2));
		if (is_static)
			assert_int_equal(value_dim(g, a, 2), 5);
		assert_int_equal(value_dim(g, a, 3), 6);
		graph_value same = op_conv(g, x, w3, NO_VALUE, two, NULL, one, 1); // ceil(n / 2)
		assert_int_equal(value_dim(g, same, 3), 6);
		graph_value pooled = op_max_pool(g, a, 2, (int64_t[]){ 3, 3 }, two, pad1, false);
		assert_int_equal(value_dim(g, pooled, 3), 3);
		assert_int_equal(value_dim(g, op_max_pool(g, a, 2, two, two, pad0, true), 3), 3);
		assert_int_equal(value_dim(g, op_average_pool(g, x, 2, two, two, pad0, false, true), 3), 5);
		assert_int_equal(value_dim(g, op_global_average_pool(g, a), 3), 1);
		graph_value n4 = graph_external(g, "n4", DTYPE_F32, 1, (int64_t[]){ 4 }, "f", 960, 16);
		graph_value norm = op_group_norm(g, op_batch_norm(g, a, n4, n4, n4, n4, 1e-5f), 2, n4, n4, 1e-5f);
		assert_int_equal(value_dim(g, norm, 2), value_dim(g, a, 2));
		graph_value up =
			op_conv_transpose(g, a, graph_external(g, "t", DTYPE_F32, 4, (int64_t[]){ 4, 3, 2, 2 }, "f", 976, 192),
				NO_VALUE, 2, two, pad0, 1);
		assert_int_equal(value_dim(g, up, 1), 3);
		assert_int_equal(value_dim(g, up, 3), 12);
		graph_value big = op_resize(g, a, op_shape(g, up), "linear"); // 3 channels of 4: only to see the shape
		assert_int_equal(value_dim(g, big, 2), value_dim(g, up, 2));
		graph_output(g, "y", norm);
		graph_output(g, "z", big);
		finish(g);
		assert_int_equal(op_conv(g, up, w3, NO_VALUE, one, pad1, one, 1).id, 0); // 3 channels meet a kernel for 6
		assert_true(graph_failed(g));
		graph_free(g);
	}
}

static void what_decoders_need(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct graph_form form = { .linear = i == 0 ? LINEAR_GEMM
				: i == 1                    ? LINEAR_FUSED_MATMUL
							    : LINEAR_MATMUL_TRANSPOSED };
		struct graph *g = graph_new(&form);
		graph_value x = graph_input(
			g, "x", DTYPE_F32, 3, (int64_t[]){ graph_symbol(g, "batch"), graph_symbol(g, "sequence"), 8 });
		graph_value w = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 8, 12 }, "f", 0, 384); // [in, out]
		graph_value b = graph_external(g, "b", DTYPE_F32, 1, (int64_t[]){ 12 }, "f", 384, 48);
		graph_value y = op_linear_in_out(g, x, w, b);
		assert_int_equal(value_rank(g, y), 3);
		assert_int_equal(value_dim(g, y, 1), value_dim(g, x, 1));
		assert_int_equal(value_dim(g, y, 2), 12);
		graph_value top = op_topk(g, y, 5);
		assert_int_equal(value_dim(g, top, 0), value_dim(g, x, 0));
		assert_int_equal(value_dim(g, top, 2), 5);
		graph_value sink = graph_external(g, "sink", DTYPE_F32, 1, (int64_t[]){ 4 }, "f", 432, 16);
		graph_value q = op_attention(g,
			&(struct attention){ y, op_slice(g, y, 2, 0, 6), op_slice(g, y, 2, 6, 12), .sink = sink, .heads = 4,
				.kv_heads = 2, .scale = 0.5f });
		assert_int_equal(value_dim(g, q, 1), value_dim(g, x, 1));
		assert_int_equal(value_dim(g, q, 2), 12);
		graph_output(g, "top", top);
		graph_output(g, "q", q);
		finish(g);
		assert_int_equal(op_topk(g, y, 13).id, 0); // 13 of 12
		assert_true(graph_failed(g));
		graph_free(g);
		g = graph_new(&form);
		x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ 2, 3, 12 });
		w = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 8, 12 }, "f", 0, 384);
		assert_int_equal(op_linear_in_out(g, x, w, NO_VALUE).id, 0); // [out, in] where [in, out] is meant
		assert_true(graph_failed(g));
		graph_free(g);
	}
}

// Two rows of four query and two key heads; a buffer of `room` tokens. Static: 2 rows of 3 tokens.
static graph_value cached(struct graph *g, int64_t width, enum dtype counts, graph_value present[2])
{
	int64_t batch = graph_symbol(g, "batch"), seq = graph_symbol(g, "sequence"), room = graph_symbol(g, "room");
	struct shared_attention a = { .heads = 4, .kv_heads = 2, .window = 5, .scale = 0.25f };
	a.q = graph_input(g, "q", DTYPE_F32, 3, (int64_t[]){ batch, seq, 4 * width });
	a.k = graph_input(g, "k", DTYPE_F32, 3, (int64_t[]){ batch, seq, 2 * width });
	a.v = graph_input(g, "v", DTYPE_F32, 3, (int64_t[]){ batch, seq, 2 * width });
	a.past_key = graph_input(g, "past.key", DTYPE_F32, 4, (int64_t[]){ batch, 2, room, width });
	a.past_value = graph_input(g, "past.value", DTYPE_F32, 4, (int64_t[]){ batch, 2, room, width });
	a.last = graph_input(g, "last", counts, 1, &batch);
	a.total = graph_input(g, "total", counts, 0, NULL);
	return op_group_query_attention(g, &a, &present[0], &present[1]);
}

// Heads may be turned in part; what does not fit is refused.
static void heads_are_turned_by_one_operator(void **state)
{
	(void)state;
	struct graph *g = graph_new(NULL);
	struct error err = { 0 };
	struct text t = { 0 };
	const int64_t whole[] = { 6, 4 }, part[] = { 6, 2 }, seq[] = { 2, 3 };
	graph_value x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ 2, 3, 16 });
	struct rotation r = { .heads = 2,
		.places = graph_input(g, "places", DTYPE_I64, 2, seq),
		.cos = graph_input(g, "cos", DTYPE_F32, 2, whole),
		.sin = graph_input(g, "sin", DTYPE_F32, 2, whole) };
	graph_output(g, "y", op_rotary(g, x, &r));
	r.cos = graph_input(g, "less_cos", DTYPE_F32, 2, part), r.sin = graph_input(g, "less_sin", DTYPE_F32, 2, part);
	r.interleaved = true;
	graph_output(g, "z", op_rotary(g, x, &r));
	finish(g);
	graph_text(g, &t);
	assert_non_null(strstr(text_get(&t),
		"RotaryEmbedding = com.microsoft.RotaryEmbedding(x, places, cos, sin) num_heads=2 interleaved=0 : "
		"f32[2,3,16]\n"));
	assert_non_null(strstr(text_get(&t),
		"RotaryEmbedding_1 = com.microsoft.RotaryEmbedding(x, places, less_cos, less_sin) num_heads=2 "
		"interleaved=1 rotary_embedding_dim=4 : f32[2,3,16]\n"));
	text_done(&t);
	graph_free(g);

	g = graph_new(NULL);
	x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ 2, 3, 16 });
	r.places = graph_input(g, "places", DTYPE_I64, 2, seq);
	r.cos = graph_input(g, "cos", DTYPE_F32, 2, whole), r.sin = graph_input(g, "sin", DTYPE_F32, 2, whole);
	r.heads = 8; // of two elements each
	assert_int_equal(op_rotary(g, x, &r).id, 0);
	assert_int_equal(graph_finish(g, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "rotary positions of 8 heads: x f32[2,3,16]"));
	graph_free(g);
}

// Where the first node of that operator lies in the file.
static size_t place_of(const char *file, size_t nbytes, const char *op)
{
	for (size_t i = 0; i + strlen(op) <= nbytes; i++)
		if (!memcmp(file + i, op, strlen(op)))
			return i;
	fail_msg("no %s", op);
	return 0;
}

// A weight's cast is computed where it is read, and not before all layers below it, when its node comes first (write.c).
static void constants_are_written_first(void **state)
{
	struct graph *g = graph_new(NULL);
	struct error err = { 0 };
	const void *bytes;
	size_t nbytes;
	graph_value x = op_relu(g, tokens(g));
	graph_value w = op_cast(g, graph_external(g, "w", DTYPE_F16, 2, (int64_t[]){ 8, 8 }, "f", 0, 128), DTYPE_F32);

	(void)state;
	graph_output(g, "y", op_matmul(g, x, w));
	finish(g);
	assert_int_equal(graph_write(g, &bytes, &nbytes, &err), STATUS_OK);
	assert_true(place_of(bytes, nbytes, "Cast") < place_of(bytes, nbytes, "Relu"));
	assert_true(place_of(bytes, nbytes, "Relu") < place_of(bytes, nbytes, "MatMul"));
	graph_free(g);
}

static void a_node_may_have_several_outputs(void **state)
{
	(void)state;
	graph_value present[2], y;
	struct text t = { 0 };
	struct graph *g = graph_new(NULL);
	struct error err = { 0 };
	struct graph_memory m;
	const void *bytes;
	size_t nbytes;
	graph_bind(g, "batch", 2);
	graph_bind(g, "sequence", 3);
	graph_bind(g, "room", 10);
	graph_enter(g, "layers.0");
	y = cached(g, 8, DTYPE_I32, present);
	graph_leave(g);
	assert_int_equal(value_dim(g, y, 2), 32);
	assert_int_equal(value_dim(g, present[1], 2), 10);
	graph_output(g, "y", op_relu(g, y));
	graph_output(g, "present.key", present[0]);
	graph_output(g, "present.value", present[1]);
	assert_int_equal(finish(g).node_count, 2);
	graph_text(g, &t);
	assert_non_null(strstr(text_get(&t),
		"node   layers.0/GroupQueryAttention, present.key, present.value = com.microsoft.GroupQueryAttention(q, k, v, "
		"past.key, past.value, last, total) "
		"num_heads=4 kv_num_heads=2 scale=0.25 local_window_size=5 : f32[2,3,32], f32[2,2,10,8], f32[2,2,10,8]\n"));
	text_done(&t);
	assert_int_equal(graph_write(g, &bytes, &nbytes, &err), STATUS_OK);
	// Keys and values lie where the past ones lie: what is made and given is y twice.
	graph_memory(g, &m);
	assert_int_equal(m.output_nbytes, 2 * 3 * 32 * 4);
	assert_int_equal(m.peak_nbytes, 2 * 2 * 3 * 32 * 4);
	graph_free(g);

	// An output that nobody reads has a name in the file and is not in the text.
	g = graph_new(NULL);
	y = op_topk(g, tokens(g), 3);
	graph_output(g, "y", y);
	finish(g);
	graph_text(g, &t);
	assert_non_null(strstr(text_get(&t), "node   TopK = TopK("));
	assert_null(strstr(text_get(&t), "indices"));
	text_done(&t);
	graph_free(g);

	static const struct {
		int64_t width;
		enum dtype counts;
		enum status status;
	} wrong[] = { { 12, DTYPE_I32, STATUS_UNSUPPORTED }, { 8, DTYPE_I64, STATUS_FAILED } };
	for (size_t i = 0; i < 2; i++) {
		g = graph_new(NULL);
		assert_int_equal(cached(g, wrong[i].width, wrong[i].counts, present).id, 0);
		assert_int_equal(graph_finish(g, &err), wrong[i].status);
		graph_free(g);
	}
}

static void impossible_shapes_are_errors(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct graph *g = graph_new(NULL);
		graph_value x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ 2, 3, 8 });
		graph_value y = i == 0 ? op_reshape(g, x, 2, (int64_t[]){ 5, -1 })
			: i == 1       ? op_matmul(g, x, x)
			: i == 2       ? op_add(g, x, graph_i64(g, 1))
			: i == 3       ? op_transpose(g, x, 2, (int[]){ 1, 0 })
			: i == 4       ? op_attention(g, &(struct attention){ x, x, x, .heads = 3, .scale = 1 })
				       : op_gather(g, x, x, 0);
		assert_int_equal(y.id, 0);
		assert_true(graph_failed(g));
		graph_free(g);
	}
}

// A scan over axis 1 of [batch, sequence, 3], with a state [batch, 3].
static struct scan begin_scan(struct graph *g)
{
	int64_t batch = graph_symbol(g, "batch"), sequence = graph_symbol(g, "sequence");
	struct scan s = { .state_count = 1,
		.first = { graph_input(g, "h", DTYPE_F32, 2, (int64_t[]){ batch, 3 }) },
		.over_count = 1,
		.over = { graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ batch, sequence, 3 }) },
		.axis = 1 };
	op_scan_begin(g, &s);
	return s;
}

static void refuses(struct graph *g, const char *words)
{
	struct error err = { 0 };

	assert_int_not_equal(graph_finish(g, &err), STATUS_OK);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
	graph_free(g);
}

static void a_scan_has_a_body(void **state)
{
	(void)state;
	struct graph *g = graph_new(NULL);
	struct scan s = begin_scan(g);
	assert_int_equal(value_rank(g, s.item[0]), 2); // without the axis
	graph_value h = op_add(g, op_mul(g, s.state[0], graph_f32(g, 0.5f)), s.item[0]);
	op_scan_end(g, &s, &h, 1, (graph_value[]){ op_unsqueeze(g, h, 2) });
	assert_int_equal(value_rank(g, s.last[0]), 2);
	assert_int_equal(value_rank(g, s.all[0]), 4); // [batch, sequence, 3, 1]
	assert_int_equal(value_dim(g, s.all[0], 1), graph_symbol(g, "sequence"));
	assert_int_equal(value_dim(g, s.all[0], 3), 1);
	// The same operation outside is another node: nothing outside reads a value of the body.
	graph_value again = op_mul(g, s.last[0], graph_f32(g, 0.5f));
	graph_output(g, "y", s.all[0]);
	graph_output(g, "z", again);
	assert_int_equal(finish(g).node_count, 2); // Scan and Mul; the body counts with its node
	graph_free(g);
}

static void what_a_body_may_not_do(void **state)
{
	(void)state;
	graph_value out;
	struct graph *g = graph_new(NULL);
	graph_value outside = op_neg(g, graph_input(g, "w", DTYPE_F32, 1, (int64_t[]){ 3 }));
	struct scan s = begin_scan(g);
	graph_value h = op_add(g, s.state[0], outside);
	op_scan_end(g, &s, &h, 0, NULL);
	graph_output(g, "y", s.last[0]);
	refuses(g, "outside of its body and not given to it");

	g = graph_new(NULL);
	s = begin_scan(g);
	h = op_neg(g, s.state[0]);
	op_scan_end(g, &s, &h, 0, NULL);
	graph_output(g, "y", op_abs(g, h));
	refuses(g, "which is in a body");

	g = graph_new(NULL);
	s = begin_scan(g);
	h = op_unsqueeze(g, s.item[0], 0);
	op_scan_end(g, &s, &h, 0, NULL);
	refuses(g, "is not like the state");

	g = graph_new(NULL);
	s = begin_scan(g);
	struct scan within = { .state_count = 1, .first = { s.state[0] }, .over_count = 1, .over = { s.item[0] }, .axis = 0 };
	op_scan_begin(g, &within);
	refuses(g, "a body within a body");

	g = graph_new(NULL);
	s = (struct scan){ .state_count = 1,
		.over_count = 2,
		.first = { graph_input(g, "h", DTYPE_F32, 1, (int64_t[]){ 3 }) },
		.over = { graph_input(g, "a", DTYPE_F32, 2, (int64_t[]){ 4, 3 }),
			graph_input(g, "b", DTYPE_F32, 2, (int64_t[]){ 5, 3 }) } };
	op_scan_begin(g, &s);
	op_scan_end(g, &s, s.state, 0, &out);
	refuses(g, "all of one length on that axis");
}

// A layer over rows of two open lengths, which are read off in the body although they are known around it, and again after it.
static void lengths_read_off_in_a_body_stay_there(void **state)
{
	(void)state;
	struct graph *g = graph_new(NULL);
	int64_t batch = graph_symbol(g, "batch"), sequence = graph_symbol(g, "sequence"), width = graph_symbol(g, "width");
	graph_value x = graph_input(g, "x", DTYPE_F32, 4, (int64_t[]){ batch, sequence, width, 3 });
	graph_value w = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 3, 3 }, "f", 0, 36);
	graph_value before = op_linear(g, x, w, NO_VALUE);
	struct scan s = { .state_count = 1,
		.first = { graph_input(g, "h", DTYPE_F32, 3, (int64_t[]){ batch, width, 3 }) },
		.over_count = 1,
		.over = { before },
		.axis = 1 };

	op_scan_begin(g, &s);
	graph_value h = op_linear(g, op_add(g, s.state[0], s.item[0]), w, NO_VALUE);
	op_scan_end(g, &s, &h, 1, &h);
	assert_int_equal(value_dim(g, s.all[0], 1), sequence);
	graph_output(g, "y", op_linear(g, op_add(g, s.all[0], before), w, NO_VALUE));
	finish(g);
	graph_free(g);
}

// x [batch, sequence, 3] where the condition holds, else what is made of it, from values around the branches.
static void branches_read_what_is_around_them(void **state)
{
	(void)state;
	for (int half = 0; half < 2; half++) {
		struct graph *g =
			graph_new(&(struct graph_form){ .precise.precision = half ? PRECISION_FLOAT16 : PRECISION_FLOAT32 });
		int64_t batch = graph_symbol(g, "batch"), sequence = graph_symbol(g, "sequence");
		graph_value x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ batch, sequence, 3 });
		graph_value w = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 3, 3 }, "f", 0, 36), made = op_matmul(g, x, w);
		struct branches b = { .condition = graph_input(g, "is", DTYPE_BOOL, 0, NULL) };
		struct text t = { 0 };
		graph_value values[2];

		op_if_begin(g, &b);
		values[0] = op_linear(g, made, w, NO_VALUE); // reads lengths off in the branch, and makes rows there
		values[1] = op_reshape_to(
			g, x, op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 1, (int64_t[]){ -1 }) }, 0));
		op_if_else(g, &b, 2, values);
		values[0] = made;
		values[1] = op_slice(g, op_reshape(g, x, 2, (int64_t[]){ 0, -1 }), 1, 0, 1);
		op_if_end(g, &b, values);
		assert_int_equal(value_dim(g, b.given[0], 1), sequence);
		assert_int_equal(value_dim(g, b.given[1], 0), batch);
		assert_true(value_dim(g, b.given[1], 1) < 0 && value_dim(g, b.given[1], 1) != sequence);
		// Outside, lengths and rows are made again.
		graph_output(g, "y", op_linear(g, op_add(g, made, b.given[0]), w, NO_VALUE));
		graph_output(g, "z", b.given[1]);
		finish(g);
		graph_text(g, &t);
		assert_non_null(strstr(text_get(&t), "body 1 then/"));
		assert_non_null(strstr(text_get(&t), "body 2 else/Identity = Identity(MatMul"));
		assert_non_null(strstr(text_get(&t), "= If(is) then_branch=1()->then/"));
		assert_non_null(strstr(text_get(&t), " : f32[batch,sequence,3], f32[batch,?]\n"));
		text_done(&t);
		graph_free(g);
	}
}

static void a_loop_runs_a_number_of_times(void **state)
{
	(void)state;
	for (int known = 0; known < 4; known++) { // a number; a length that was read off; any number; until it ends itself
		struct graph *g = graph_new(NULL);
		int64_t sequence = graph_symbol(g, "sequence");
		graph_value x = graph_input(g, "x", DTYPE_F32, 2, (int64_t[]){ sequence, 3 });
		graph_value n = graph_input(g, "n", DTYPE_I64, 0, NULL);
		struct loop l = { .state_count = 1, .first = { x } };

		l.runs = known == 0  ? graph_i64(g, 5)
			: known == 1 ? op_squeeze(g, op_dim(g, x, 0), 0)
			: known == 2 ? n
				     : NO_VALUE;
		op_loop_begin(g, &l);
		assert_int_equal(value_dtype(g, l.number), DTYPE_I64);
		graph_value y = op_add(g, l.state[0], x), given = op_reduce_sum(g, y, 0, false);
		graph_value again = known == 3 ? op_less(g, l.number, n) : NO_VALUE;
		op_loop_end(g, &l, again, &y, 1, &given);
		assert_int_equal(value_dim(g, l.last[0], 0), sequence);
		assert_int_equal(value_rank(g, l.all[0]), 2);
		assert_int_equal(value_dim(g, l.all[0], 1), 3);
		int64_t runs = value_dim(g, l.all[0], 0);
		assert_true(known == 0 ? runs == 5 : known == 1 ? runs == sequence : runs < 0 && runs != sequence);
		graph_output(g, "last", l.last[0]);
		graph_output(g, "all", l.all[0]);
		finish(g);
		graph_free(g);
	}
}

// Each is refused by a sentence that has these words.
static void what_branches_and_loops_may_not_do(void **state)
{
	(void)state;
	for (int i = 0; i < 9; i++) {
		struct graph *g = graph_new(NULL);
		graph_value x = graph_input(g, "x", DTYPE_F32, 1, (int64_t[]){ 3 }),
			    is = graph_input(g, "is", DTYPE_BOOL, 0, NULL), y = x;
		struct branches b = { .condition = i == 0 ? x : is };
		struct loop l = { .runs = i == 4 ? x
				: i == 5         ? NO_VALUE
						 : graph_i64(g, 2),
			.state_count = i == 8 ? 0 : 1,
			.first = { x } };
		static const char *const words[] = { "If of x f32[3]: one bool is needed",
			"of one type and rank in both branches", "If gives 0 values", "which is in a body",
			"Loop by x f32[3]: one i64 says how often", "Loop without an end", "is not like the state",
			"Loop without an end: x f32[3]", "Loop of 0 states" };

		if (i < 4) {
			op_if_begin(g, &b);
			y = op_neg(g, x);
			op_if_else(g, &b, i != 2, &y);
			op_if_end(g, &b, &(graph_value){ i == 1 ? is.id : x.id });
			graph_output(g, "y", i == 3 ? y : b.given[0]);
		} else {
			op_loop_begin(g, &l);
			y = i == 6 ? op_unsqueeze(g, x, 0) : op_neg(g, x);
			op_loop_end(g, &l, i == 7 ? x : NO_VALUE, &y, 0, NULL);
		}
		refuses(g, words[i]);
	}
	struct graph *g = graph_new(NULL);
	graph_value x = graph_input(g, "x", DTYPE_F32, 1, (int64_t[]){ 3 });
	struct loop l = { .runs = graph_i64(g, 2), .state_count = 1, .first = { x } }, within = l;
	op_loop_begin(g, &l);
	op_loop_begin(g, &within);
	refuses(g, "a body within a body");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_are_inferred),
		cmocka_unit_test(what_convnets_need),
		cmocka_unit_test(indices_may_be_int32),
		cmocka_unit_test(a_static_graph_has_no_shape_nodes),
		cmocka_unit_test(integers_are_folded),
		cmocka_unit_test(equal_nodes_are_one),
		cmocka_unit_test(the_first_error_is_kept_with_its_place),
		cmocka_unit_test(windows_know_their_lengths),
		cmocka_unit_test(what_decoders_need),
		cmocka_unit_test(constants_are_written_first),
		cmocka_unit_test(a_node_may_have_several_outputs),
		cmocka_unit_test(heads_are_turned_by_one_operator),
		cmocka_unit_test(impossible_shapes_are_errors),
		cmocka_unit_test(a_scan_has_a_body),
		cmocka_unit_test(what_a_body_may_not_do),
		cmocka_unit_test(lengths_read_off_in_a_body_stay_there),
		cmocka_unit_test(branches_read_what_is_around_them),
		cmocka_unit_test(a_loop_runs_a_number_of_times),
		cmocka_unit_test(what_branches_and_loops_may_not_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
