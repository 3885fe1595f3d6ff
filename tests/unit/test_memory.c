// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// What running a graph needs: graphs whose liveness can be counted by hand, what becomes of weights, and what fits a machine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "cell/predict.h"
#include "onnx/op.h"

enum { ROW = 1000, KIB4 = 4 * ROW }; // one float32 row

static graph_value row_input(struct graph *g, const char *name, int64_t rows)
{
	return graph_input(g, name, DTYPE_F32, 2, (int64_t[]){ rows, ROW });
}

static struct graph_memory finish(struct graph *g)
{
	struct graph_memory m;
	struct error err = { 0 };

	if (graph_finish(g, &err) != STATUS_OK)
		fail_msg("%s", err.text);
	graph_memory(g, &m);
	graph_free(g);
	return m;
}

// Of 8 heads over 64 tokens, with a bias: one operation holds q, k, v by heads and what comes out; scores are larger. With a cap
// nothing is one operation, nor where heads share keys.
static void fused_attention_holds_no_scores(void **state)
{
	enum { TOKENS = 64, WIDTH = 32, BYTES = TOKENS * WIDTH * 4, SCORES = 8 * TOKENS * TOKENS * 4 };
	struct graph_memory m[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct graph *g = graph_new(NULL);
		int64_t keys = i == 2 ? 2 : 8, dim[] = { 1, TOKENS, WIDTH }, shared[] = { 1, TOKENS, WIDTH / 8 * keys };
		struct attention a = { .q = graph_input(g, "q", DTYPE_F32, 3, dim),
			.k = graph_input(g, "k", DTYPE_F32, 3, shared),
			.v = graph_input(g, "v", DTYPE_F32, 3, shared),
			.bias = graph_input(g, "bias", DTYPE_F32, 4, (int64_t[]){ 1, 1, 1, TOKENS }),
			.heads = 8,
			.kv_heads = keys,
			.scale = 0.5f,
			.softcap = i == 1 ? 30 : 0 };
		graph_output(g, "y", op_attention(g, &a));
		m[i] = finish(g);
		assert_true(m[i].peak_nbytes >= 2 * SCORES);
	}
	assert_true(m[0].peak_fused_nbytes >= 2 * BYTES && m[0].peak_fused_nbytes < SCORES);
	assert_int_equal(m[1].peak_fused_nbytes >= 2 * SCORES, 1);
	assert_true(m[2].peak_fused_nbytes >= SCORES);
}

// x -> a -> b -> c: two beside each other at most; the input is the caller's.
static void a_chain_needs_two(void **state)
{
	struct graph *g = graph_new(NULL);
	graph_value x = row_input(g, "x", 1);

	(void)state;
	graph_output(g, "y", op_tanh(g, op_exp(g, op_neg(g, x))));
	struct graph_memory m = finish(g);
	assert_int_equal(m.peak_nbytes, 2 * KIB4);
	assert_int_equal(m.input_nbytes, KIB4);
	assert_int_equal(m.output_nbytes, KIB4);
	assert_int_equal(m.stored_nbytes, 0);
}

// a is read by a branch alone: it lives until the node that has the branch, beside b and what the node gives.
static void a_branch_is_a_reader(void **state)
{
	struct graph *g = graph_new(NULL);
	graph_value x = row_input(g, "x", 1), a = op_neg(g, x), b = op_tanh(g, x), y;
	struct branches is = { .condition = graph_input(g, "is", DTYPE_BOOL, 0, NULL) };

	(void)state;
	op_if_begin(g, &is);
	y = op_exp(g, a);
	op_if_else(g, &is, 1, &y);
	op_if_end(g, &is, &x);
	graph_output(g, "y", op_relu(g, op_relu(g, op_add(g, is.given[0], b))));
	assert_int_equal(finish(g).peak_nbytes, 3 * KIB4);
}

// a lives until the end of the side way: a, b and c, then a and c with d.
static void a_branch_keeps_its_fork(void **state)
{
	struct graph *g = graph_new(NULL);
	graph_value a = op_neg(g, row_input(g, "x", 1)), c = op_tanh(g, op_exp(g, a));

	(void)state;
	graph_output(g, "y", op_add(g, a, c));
	assert_int_equal(finish(g).peak_nbytes, 3 * KIB4);
}

// A value that only feeds an output early lives on; one that a node reads twice is freed once.
static void outputs_live_to_the_end(void **state)
{
	struct graph *g = graph_new(NULL);
	graph_value a = op_neg(g, row_input(g, "x", 1)), b = op_exp(g, a), c = op_mul(g, b, b), d = op_tanh(g, c);

	(void)state;
	graph_output(g, "first", a);
	graph_output(g, "last", d);
	assert_int_equal(finish(g).peak_nbytes, 3 * KIB4); // a and b and c; then a and c and d
}

// A Reshape is its input's memory, unless it is what the caller gets.
static void views_cost_nothing(void **state)
{
	for (int view_is_output = 0; view_is_output < 2; view_is_output++) {
		struct graph *g = graph_new(NULL);
		graph_value a = op_neg(g, row_input(g, "x", 1)), v = op_reshape(g, a, 1, (int64_t[]){ ROW });

		(void)state;
		graph_output(g, "y", view_is_output ? v : op_exp(g, v));
		assert_int_equal(finish(g).peak_nbytes, 2 * KIB4);
	}
}

// Symbols count with the numbers they are bound to, before or after building.
static void symbols_are_numbers(void **state)
{
	struct graph *g = graph_new(NULL);
	graph_value x = row_input(g, "x", graph_symbol(g, "batch"));

	(void)state;
	graph_output(g, "y", op_exp(g, op_neg(g, x)));
	graph_bind(g, "batch", 7);
	struct graph_memory m = finish(g);
	assert_int_equal(m.peak_nbytes, 2 * 7 * KIB4);
	assert_false(m.unknown);

	g = graph_new(NULL);
	graph_output(g, "y", op_exp(g, row_input(g, "x", graph_symbol(g, "batch"))));
	m = finish(g);
	assert_int_equal(m.peak_nbytes, KIB4);
	assert_true(m.unknown);
}

static graph_value stored(struct graph *g, const char *name, enum dtype t, int64_t rows, int64_t columns)
{
	return graph_external(g, name, t, 2, (int64_t[]){ rows, columns }, "w", 0, (uint64_t)(rows * columns) * dtype_size(t));
}

// What is multiplied, cast, looked up and added are four different things.
static void weights_by_use(void **state)
{
	struct graph *g = graph_new(NULL);
	graph_value ids = graph_input(g, "ids", DTYPE_I64, 1, (int64_t[]){ 3 });
	graph_value table = stored(g, "table", DTYPE_F32, 2000, 500), square = stored(g, "square", DTYPE_F32, 500, 500),
		    half = op_cast(g, stored(g, "half", DTYPE_BF16, 500, 500), DTYPE_F32),
		    bias = stored(g, "bias", DTYPE_F32, 1, 500);
	graph_value x = op_gather(g, table, ids, 0);

	(void)state;
	graph_output(g, "y", op_add(g, op_matmul(g, op_matmul(g, x, square), half), bias));
	struct graph_memory m = finish(g);
	assert_int_equal(m.multiplied_nbytes, 2 * 1000000);
	assert_int_equal(m.largest_multiplied_nbytes, 1000000);
	assert_int_equal(m.folded_nbytes, 1000000);
	assert_int_equal(m.folded_from_nbytes, 500000);
	assert_int_equal(m.in_place_nbytes, 2000);
	assert_int_equal(m.stored_nbytes, 4000000 + 1000000 + 500000 + 2000);
	assert_true(m.gathered_nbytes > 3000000 && m.gathered_nbytes <= 4000000); // 3 rows with 2 MiB around each
	assert_int_equal(m.peak_nbytes, 2 * 3 * 500 * 4);                         // the cast is no work of a run
}

// A scale behind a convolution makes another weight; one behind something else, or one that is computed, does not.
static void scales_behind_convolutions(void **state)
{
	for (int kind = 0; kind < 3; kind++) {
		struct graph *g = graph_new(NULL);
		graph_value x = graph_input(g, "x", DTYPE_F32, 4, (int64_t[]){ 1, 2, 8, 8 });
		graph_value w = graph_external(g, "w", DTYPE_F32, 4, (int64_t[]){ 2, 2, 3, 3 }, "w", 0, 144);
		graph_value y =
			op_conv(g, x, w, NO_VALUE, (int64_t[]){ 1, 1 }, (int64_t[]){ 1, 1, 1, 1 }, (int64_t[]){ 1, 1 }, 1);

		(void)state;
		graph_output(g, "y", kind == 0 ? op_scale(g, y, 3) : kind == 1 ? op_scale(g, op_tanh(g, y), 3) : op_mul(g, y, x));
		assert_int_equal(finish(g).rescaled_nbytes, kind == 0 ? 144 : 0);
	}
}

static void predict(struct prediction *out, const struct graph_memory *m, const char *on)
{
	struct arena a = { 0 };
	struct target t;

	assert_int_equal(platform_target(&t, &a, on, NULL), STATUS_OK);
	predict_engine(out, m, &t);
	arena_done(&a);
}

static void engines_differ(void **state)
{
	const struct graph_memory m = { .stored_nbytes = 1u << 30,
		.multiplied_nbytes = 1u << 30,
		.largest_multiplied_nbytes = 1 << 28,
		.peak_nbytes = 1 << 20 };
	const struct graph_memory half = { .stored_nbytes = 1u << 29,
		.multiplied_nbytes = 1u << 30,
		.largest_multiplied_nbytes = 1 << 28,
		.folded_nbytes = 1u << 30,
		.folded_from_nbytes = 1u << 29 };
	struct prediction p, q;

	(void)state;
	predict(&p, &m, "cpu");
	predict(&q, &m, "openvino");
	// The mapped original is let go of, but for the largest, which is there until its packed copy is.
	assert_true(p.resident_bytes > (1u << 30) + (1u << 28) && p.resident_bytes < (1u << 30) + (1u << 28) + (1u << 27));
	assert_true(p.anonymous_bytes < (1u << 30) + (1u << 27));
	assert_true(q.resident_bytes > 2ull << 30 && q.required_bytes < (1u << 30) + (1u << 27)); // it stays, but need not
	predict(&q, &m, "cpu:threads=2,prepacking=off");
	assert_true(q.anonymous_bytes < 1 << 26 && q.required_bytes > 1u << 30);
	predict(&q, &m, "cpu:prepacking=off,prepacking=on");
	assert_int_equal(q.resident_bytes, p.resident_bytes);
	predict(&p, &half, "cpu");
	assert_true(p.anonymous_bytes > (1u << 30) + (1u << 28)); // the largest twice, for a moment
	predict(&p, &half, "openvino");
	predict(&q, &half, "openvino:precision=bf16");
	assert_true(p.anonymous_bytes > 2ull << 30 && p.anonymous_bytes - q.anonymous_bytes == 1u << 29);
	predict(&p, &m, "null");
	assert_int_equal(p.resident_bytes, 0);
	const struct graph_memory scores = { .peak_nbytes = 1u << 30, .peak_fused_nbytes = 1u << 20 };
	predict(&p, &scores, "cpu");
	predict(&q, &scores, "openvino");
	assert_true(p.anonymous_bytes > 1u << 30 && q.anonymous_bytes < 1u << 27);
}

// ONNX Runtime packs the scales of blocks beside the integers, twice; judged, the same weights are multiplied out one by one.
static void blocks_are_packed_with_their_scales(void **state)
{
	struct graph_form form = { .precise = { .precision = PRECISION_INT4_WEIGHTS, .block = 32, .accuracy = 4 } };
	struct prediction p, q;

	(void)state;
	for (int dequantised = 0; dequantised < 2; dequantised++) {
		form.precise.dequantised = dequantised;
		struct graph *g = graph_new(&form);
		graph_value x = graph_input(g, "x", DTYPE_F32, 2, (int64_t[]){ 1, 4096 });
		graph_value w = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 4096, 4096 }, "w", 0, 64 << 20);
		graph_value v = graph_external(g, "v", DTYPE_F32, 2, (int64_t[]){ 4096, 4096 }, "w", 64 << 20, 64 << 20);

		graph_output(g, "y", op_linear(g, op_linear(g, x, w, NO_VALUE), v, NO_VALUE));
		struct graph_memory m = finish(g);
		assert_int_equal(m.block_nbytes, dequantised ? 0 : 2 * 4096 * 128 * 4);
		predict(dequantised ? &q : &p, &m, dequantised ? "cpu:optimisation=none" : "cpu");
	}
	// Integers 16 MiB, scales 4 MiB twice; 12 MiB beside them. Then the larger weight twice, however many there are.
	assert_in_range(p.anonymous_bytes, 36 << 20, 37 << 20);
	assert_in_range(p.run_bytes, 4096 * 4, 4096 * 4 * 8);
	assert_in_range(q.anonymous_bytes, 140 << 20, 141 << 20);
}

static void what_fits(void **state)
{
	const struct machine m = { .memory_bytes = 16ll << 30, .memory_available_bytes = 8ll << 30 };
	struct prediction p = { .resident_bytes = 20ull << 30, .anonymous_bytes = 4ull << 30, .required_bytes = 7ull << 30 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(predict_margin(&m), 1 << 29);
	assert_int_equal(predict_fits(&p, &m, 0, &err), STATUS_OK);
	assert_int_equal(predict_fits(&p, &m, (4ll << 30) - 1, &err), STATUS_NO_MEMORY);
	assert_non_null(strstr(err.text, "4.0 GiB of anonymous memory"));
	p.required_bytes = (8ull << 30) - (1 << 29) + 1;
	assert_int_equal(predict_fits(&p, &m, 0, &err), STATUS_NO_MEMORY);
	assert_non_null(strstr(err.text, "7.5 GiB (predicted), and of the 8.0 GiB that are available 512 MiB stay free"));
	p.required_bytes--;
	assert_int_equal(predict_fits(&p, &m, 0, &err), STATUS_OK);
}

// A published model, of which not a byte of weights exists: predicted, refused with an offer, forced.
static void a_published_model(void **state)
{
	struct question q = { .synthetic = true };
	struct arena a = { 0 };
	struct error err = { 0 };
	struct target *target;
	struct plan_memory whole, cut, memory;
	struct plan_model model;
	const char *on = "cpu";
	size_t count;

	(void)state;
	assert_int_equal(plan_targets(&target, &count, &a, &on, 1, NULL, &err), STATUS_OK);
	assert_int_equal(plan_model(&model, &a, "bert-base-uncased", &q, &err), STATUS_OK);
	plan_memory(&whole, &a, &model, target, &q, NULL);
	assert_true(whole.predicted_bytes > 500ull << 20 && whole.predicted_bytes < 700ull << 20);
	q.layers = 2;
	plan_memory(&cut, &a, &model, target, &q, NULL);
	// Ten of twelve layers are gone: 7,087,872 weights each.
	assert_in_range(whole.anonymous_bytes - cut.anonymous_bytes, 10 * 7087872ull * 4 * 9 / 10, 10 * 7087872ull * 4 * 11 / 10);
	q.layers = 0;
	q.memory_bytes = 350ll << 20;
	plan_memory(&memory, &a, &model, target, &q, NULL);
	assert_non_null(memory.refused);
	// The whole model in fewer bits stands before a part of it; not in bfloat16, which this engine has no kernels for.
	const char *offers =
		strstr(memory.refused, "350 MiB are allowed (--memory); predicted to fit: --precision int8-weights ");
	assert_non_null(offers);
	assert_non_null(strstr(offers, ", --layers "));
	assert_non_null(strstr(memory.refused, "--force"));
	assert_int_equal(memory.predicted_bytes, whole.predicted_bytes);
	assert_non_null(strstr(memory.refused, " in float32 "));
	assert_non_null(strstr(memory.refused, "; --fit takes the first of them, --force tries it all the same"));
	assert_true(memory.less_count == 3 && text_is(memory.less[0].precision, "int8-weights") && memory.less[2].layers > 0);
	// --fit: the first of them, which the row says; without it nothing changes.
	struct plan_model fitted = model;
	struct plan_memory taken = memory;
	assert_int_equal(plan_fit(&fitted, &q, &taken, &a, target, &err), STATUS_OK);
	assert_true(taken.refused && !taken.fitted && !q.precision && !fitted.unwritten);
	q.fit = true;
	assert_int_equal(plan_fit(&fitted, &q, &taken, &a, target, &err), STATUS_OK);
	assert_true(!taken.refused && text_is(q.precision, "int8-weights") && q.layers == 0 && fitted.unwritten);
	assert_true(taken.predicted_bytes > 0 && taken.predicted_bytes < whole.predicted_bytes);
	assert_non_null(strstr(taken.fitted, "asked as stored, which does not fit: it needs "));
	assert_non_null(strstr(taken.fitted, "; taken in its place (--fit): --precision int8-weights, "));
	// What was asked comes back from the columns, whatever the sentence says; without them it is not known.
	struct question again = { .precision = "int4-weights", .layers = 9 };
	struct row r;
	row_init(&r);
	assert_false(plan_fit_asked(&again, &r));
	r.fitted = "some other words";
	assert_false(plan_fit_asked(&again, &r));
	assert_true(text_is(again.precision, "int4-weights") && again.layers == 9);
	r.fit_asked_precision = taken.asked_precision;
	r.fit_asked_layers = taken.asked_layers;
	assert_true(plan_fit_asked(&again, &r) && !again.precision && again.layers == 0);
	r.fit_asked_precision = "float32";
	r.fit_asked_layers = 3;
	assert_true(plan_fit_asked(&again, &r) && text_is(again.precision, "float32") && again.layers == 3);
	// Only fewer layers: the model is another one.
	taken = memory;
	taken.less[0] = memory.less[2];
	q.precision = NULL;
	assert_int_equal(plan_fit(&fitted, &q, &taken, &a, target, &err), STATUS_OK);
	assert_true(q.layers == memory.less[2].layers && fitted.shortened && !fitted.unwritten);
	q.fit = false;
	q.layers = 0;
	q.memory_bytes = 24ll << 20;
	plan_memory(&memory, &a, &model, target, &q, NULL);
	assert_non_null(memory.refused);
	assert_non_null(strstr(memory.refused, "no number of layers is predicted to fit"));
	q.force = true;
	plan_memory(&memory, &a, &model, target, &q, NULL);
	assert_null(memory.refused);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fused_attention_holds_no_scores),
		cmocka_unit_test(a_chain_needs_two),
		cmocka_unit_test(a_branch_keeps_its_fork),
		cmocka_unit_test(a_branch_is_a_reader),
		cmocka_unit_test(outputs_live_to_the_end),
		cmocka_unit_test(views_cost_nothing),
		cmocka_unit_test(symbols_are_numbers),
		cmocka_unit_test(weights_by_use),
		cmocka_unit_test(scales_behind_convolutions),
		cmocka_unit_test(engines_differ),
		cmocka_unit_test(blocks_are_packed_with_their_scales),
		cmocka_unit_test(what_fits),
		cmocka_unit_test(a_published_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
