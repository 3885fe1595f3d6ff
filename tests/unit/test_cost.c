// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Operations and bytes of graphs that can be counted by hand, and of models whose figures are published.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hub/hub.h"
#include "cell/predict.h"
#include "onnx/cost.h"
#include "onnx/inside.h"
#include "onnx/op.h"
#include "cell/inputs.h"

static struct graph_cost finish(struct graph *g, struct arena *a)
{
	struct graph_cost c;
	struct error err = { 0 };

	if (graph_finish(g, &err) != STATUS_OK)
		fail_msg("%s", err.text);
	graph_cost(g, a, &c);
	return c;
}

static const struct node_cost *node(const struct graph_cost *c, const char *op)
{
	for (size_t i = 0; i < c->node_count; i++)
		if (!strcmp(c->nodes[i].op, op))
			return &c->nodes[i];
	fail_msg("no node %s", op);
	return NULL;
}

// [2, 5, 3] x [3, 4]: 40 results of 3 multiply-adds. The weight is read, the rows are given, the results written.
static void a_product(void **state)
{
	struct graph *g = graph_new(NULL);
	struct arena a = { 0 };
	graph_value x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ 2, 5, 3 });
	graph_value w = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 3, 4 }, "w", 0, 48);

	(void)state;
	graph_output(g, "y", op_tanh(g, op_matmul(g, x, w)));
	struct graph_cost c = finish(g, &a);
	const struct node_cost *m = node(&c, "MatMul");
	assert_int_equal(m->flops, 2 * 40 * 3);
	assert_int_equal(m->weight_nbytes, 48);
	assert_int_equal(m->read_nbytes, 30 * 4);
	assert_int_equal(m->written_nbytes, 40 * 4);
	assert_true(m->of_floats && !m->unknown);
	assert_int_equal(c.flops, 240 + 40);
	assert_int_equal(c.nbytes, 48 + 120 + 160 + 320);
	assert_int_equal(c.boundary_nbytes, 48 + 120 + 160);
	assert_int_equal(c.op_count, 2);
	assert_string_equal(c.ops[0].op, "MatMul");
	graph_free(g);
	arena_done(&a);
}

// Gemm with its bias, in rows that only a Reshape makes; half the weight's bytes are cast before, which an engine does once.
static void a_linear_layer(void **state)
{
	struct graph *g = graph_new(&(struct graph_form){ .linear = LINEAR_GEMM, .is_static = true });
	struct arena a = { 0 };
	graph_value x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ 2, 5, 3 });
	graph_value w = op_cast(g, graph_external(g, "w", DTYPE_F16, 2, (int64_t[]){ 4, 3 }, "w", 0, 24), DTYPE_F32);
	graph_value b = graph_external(g, "b", DTYPE_F32, 1, (int64_t[]){ 4 }, "w", 24, 16);

	(void)state;
	graph_output(g, "y", op_linear(g, x, w, b));
	struct graph_cost c = finish(g, &a);
	assert_int_equal(node(&c, "Gemm")->flops, 2 * 40 * 3 + 40);
	assert_int_equal(node(&c, "Gemm")->weight_nbytes, 48 + 16);
	assert_int_equal(node(&c, "Cast")->flops, 0);
	assert_int_equal(node(&c, "Cast")->weight_nbytes + node(&c, "Cast")->written_nbytes, 0);
	assert_int_equal(node(&c, "Reshape")->read_nbytes + node(&c, "Reshape")->written_nbytes, 0);
	assert_int_equal(c.flops, 280);
	graph_free(g);
	arena_done(&a);
}

// 4 channels of 8x8 to 6 by 3x3 in 2 groups: 6*64 results of 2*9 multiply-adds, and a bias each. The way back: 6 to 4, stride 2.
static void convolutions(void **state)
{
	struct graph *g = graph_new(NULL);
	struct arena a = { 0 };
	graph_value x = graph_input(g, "x", DTYPE_F32, 4, (int64_t[]){ 1, 4, 8, 8 });
	graph_value w = graph_external(g, "w", DTYPE_F32, 4, (int64_t[]){ 6, 2, 3, 3 }, "w", 0, 432),
		    b = graph_external(g, "b", DTYPE_F32, 1, (int64_t[]){ 6 }, "w", 432, 24);
	graph_value t = graph_external(g, "t", DTYPE_F32, 4, (int64_t[]){ 6, 4, 2, 2 }, "w", 456, 384);
	graph_value y = op_conv(g, x, w, b, (int64_t[]){ 1, 1 }, (int64_t[]){ 1, 1, 1, 1 }, (int64_t[]){ 1, 1 }, 2);

	(void)state;
	graph_output(g, "y", op_conv_transpose(g, y, t, NO_VALUE, 2, (int64_t[]){ 2, 2 }, (int64_t[]){ 0, 0, 0, 0 }, 1));
	struct graph_cost c = finish(g, &a);
	assert_int_equal(node(&c, "Conv")->flops, 2 * 6 * 64 * 18 + 6 * 64);
	assert_int_equal(node(&c, "ConvTranspose")->flops, 2 * 6 * 64 * 4 * 4);
	graph_free(g);
	arena_done(&a);
}

// What is added at indices is an addition each; what replaces only moves.
static void scattering(void **state)
{
	struct graph *g = graph_new(NULL);
	struct arena a = { 0 };
	graph_value x = graph_input(g, "x", DTYPE_F32, 2, (int64_t[]){ 9, 4 }),
		    u = graph_input(g, "u", DTYPE_F32, 2, (int64_t[]){ 5, 4 });
	graph_value i = graph_input(g, "i", DTYPE_I64, 2, (int64_t[]){ 5, 1 });

	(void)state;
	graph_output(g, "y", op_scatter_nd(g, op_scatter_nd(g, x, i, u, SCATTER_REPLACE), i, u, SCATTER_ADD));
	struct graph_cost c = finish(g, &a);
	assert_int_equal(c.flops, 5 * 4);
	assert_false(c.unknown);
	graph_free(g);
	arena_done(&a);
}

// 4 places go into each of 5 x 6 results of 3 channels; 4 samples of 9 operations into each cell of 2 x 2.
static void sampling(void **state)
{
	struct graph *g = graph_new(NULL);
	struct arena a = { 0 };
	graph_value x = graph_input(g, "x", DTYPE_F32, 4, (int64_t[]){ 1, 3, 8, 8 });
	graph_value grid = graph_input(g, "grid", DTYPE_F32, 4, (int64_t[]){ 1, 5, 6, 2 });
	graph_value rois = graph_input(g, "rois", DTYPE_F32, 2, (int64_t[]){ 7, 4 }),
		    of = graph_input(g, "of", DTYPE_I64, 1, (int64_t[]){ 7 });

	(void)state;
	graph_output(g, "y", op_grid_sample(g, x, grid, "bilinear", "zeros", false));
	graph_output(g, "z", op_roi_align(g, x, rois, of, &(struct roi_align){ .high = 2, .wide = 2, .samples = 2, .scale = 1 }));
	struct graph_cost c = finish(g, &a);
	assert_int_equal(node(&c, "GridSample")->flops, 2 * 4 * 5 * 6 * 3);
	assert_int_equal(node(&c, "RoiAlign")->flops, 9 * 4 * 7 * 3 * 2 * 2);
	graph_free(g);
	arena_done(&a);
}

// 5 tokens of 2 rows, 3 wide, by 16 x 3 and 16 x 4 weights; the weights are brought into another order once, before.
static void recurrence(void **state)
{
	struct graph *g = graph_new(NULL);
	struct arena a = { 0 };
	graph_value x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ 5, 2, 3 }), last[2];
	struct rnn r = { .directions = 1 };

	(void)state;
	r.of[0].input = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 16, 3 }, "f", 0, 192);
	r.of[0].hidden = graph_external(g, "u", DTYPE_F32, 2, (int64_t[]){ 16, 4 }, "f", 192, 256);
	graph_output(g, "y", op_lstm(g, x, &r, last));
	struct graph_cost c = finish(g, &a);
	assert_int_equal(c.flops, 5 * 2 * 2 * (16 * 3 + 16 * 4) + 13 * 5 * 2 * 4);
	assert_int_equal(node(&c, "LSTM")->weight_nbytes, 192 + 256);
	graph_free(g);
	arena_done(&a);
}

// 7 runs of a body of 2 x 6 operations, which reads x and what was made of it; none of one that a condition begins; the longer of
// two branches.
static void loops_and_branches(void **state)
{
	struct graph *g = graph_new(NULL);
	struct arena a = { 0 };
	graph_value x = graph_input(g, "x", DTYPE_F32, 1, (int64_t[]){ 6 }), made = op_tanh(g, x), y;
	struct loop l = { .runs = graph_i64(g, 7), .state_count = 1, .first = { x } };
	struct branches b = { .condition = graph_input(g, "is", DTYPE_BOOL, 0, NULL) };
	struct loop seldom = { .begins = b.condition, .state_count = 1, .first = { made } };

	(void)state;
	op_loop_begin(g, &l);
	y = op_mul(g, op_add(g, l.state[0], made), graph_f32(g, 0.5f));
	op_loop_end(g, &l, NO_VALUE, &y, 0, NULL);
	op_loop_begin(g, &seldom);
	y = op_add(g, seldom.state[0], made);
	op_loop_end(g, &seldom, seldom.again, &y, 0, NULL);
	op_if_begin(g, &b);
	y = op_softmax(g, x, 0);
	op_if_else(g, &b, 1, &y);
	op_if_end(g, &b, &x);
	graph_output(g, "y", op_add(g, op_add(g, l.last[0], seldom.last[0]), b.given[0]));
	struct graph_cost c = finish(g, &a);
	assert_int_equal(node(&c, "Loop")->flops, 7 * 2 * 6);
	assert_int_equal(c.flops, 7 * 2 * 6 + 5 * 6 + 3 * 6); // Tanh and two sums beside them
	assert_int_equal(node(&c, "Loop")->read_nbytes, 2 * 6 * 4);
	assert_int_equal(node(&c, "If")->flops, 5 * 6);
	assert_int_equal(node(&c, "If")->read_nbytes, 6 * 4 + 1);
	assert_false(c.unknown);
	graph_free(g);
	arena_done(&a);
}

// 3 transforms of 16 numbers, of 5 * 16 * 4 operations, wherever the axis is told.
static void transforms(void **state)
{
	for (int later = 0; later < 2; later++) {
		struct graph *g = graph_new(NULL);
		struct arena a = { 0 };
		graph_value x = graph_input(g, "x", DTYPE_F32, 3, (int64_t[]){ 3, 16, 1 });

		(void)state;
		if (later)
			graph_need_opset(g, 20);
		graph_output(g, "y", op_dft(g, x, 1, false, true));
		struct graph_cost c = finish(g, &a);
		assert_int_equal(c.flops, 3 * 5 * 16 * 4);
		assert_false(c.unknown);
		graph_free(g);
		arena_done(&a);
	}
}

// 2 heads of width 4 over 5 tokens: q k^T 2*2*5*5*4, p v as much, the scale, and the softmax. One operator that does it all, too.
static void attention_in_both_forms(void **state)
{
	for (int fused = 0; fused < 2; fused++) {
		struct graph *g = graph_new(
			&(struct graph_form){ .attention = fused ? ATTENTION_MHA : ATTENTION_PLAIN, .is_static = true });
		struct arena a = { 0 };
		graph_value q = graph_input(g, "q", DTYPE_F32, 3, (int64_t[]){ 1, 5, 8 }),
			    k = graph_input(g, "k", DTYPE_F32, 3, (int64_t[]){ 1, 5, 8 }),
			    v = graph_input(g, "v", DTYPE_F32, 3, (int64_t[]){ 1, 5, 8 });

		(void)state;
		graph_output(g, "y", op_attention(g, &(struct attention){ q, k, v, .heads = 2, .scale = 0.5f }));
		struct graph_cost c = finish(g, &a);
		uint64_t products = 2 * (2 * 2 * 5 * 5 * 4), softmax = 5 * 2 * 5 * 5, mul = 0;

		if (!fused) {
			assert_int_equal(node(&c, "Softmax")->flops, softmax);
			assert_int_equal(node(&c, "MatMul")->flops, products / 2);
			mul = node(&c, "Mul")->flops;
			assert_true(mul == 5 * 8 || mul == 2 * 5 * 5); // the scale: of the queries or of the scores
		}
		assert_int_equal(c.flops, products + softmax + mul);
		graph_free(g);
		arena_done(&a);
	}
}

// Reading three rows of a table is not reading the table; indices and shapes are no floats.
static void what_only_moves(void **state)
{
	struct graph *g = graph_new(NULL);
	struct arena a = { 0 };
	graph_value ids = graph_input(g, "ids", DTYPE_I64, 1, (int64_t[]){ 3 });
	graph_value table = graph_external(g, "table", DTYPE_F32, 2, (int64_t[]){ 1000, 10 }, "w", 0, 40000);

	(void)state;
	graph_output(g, "y", op_gather(g, table, op_add(g, ids, graph_i64(g, 1)), 0));
	struct graph_cost c = finish(g, &a);
	assert_int_equal(c.flops, 0);
	assert_int_equal(node(&c, "Gather")->weight_nbytes, 3 * 10 * 4);
	assert_int_equal(node(&c, "Gather")->read_nbytes, 3 * 8);
	assert_int_equal(node(&c, "Gather")->written_nbytes, 3 * 10 * 4);
	assert_int_equal(c.boundary_nbytes, 8 + 120 + 24 + 120);
	graph_free(g);
	arena_done(&a);
}

static void a_symbol_without_a_number(void **state)
{
	struct graph *g = graph_new(NULL);
	struct arena a = { 0 };
	graph_value x = graph_input(g, "x", DTYPE_F32, 2, (int64_t[]){ graph_symbol(g, "batch"), 3 });

	(void)state;
	graph_output(g, "y", op_tanh(g, x));
	struct graph_cost c = finish(g, &a);
	assert_true(c.unknown && c.nodes[0].unknown);
	assert_int_equal(c.flops, 3);
	graph_free(g);
	arena_done(&a);
}

// y = exp(-x) * x: as three nodes 7 values of 4 bytes are moved, as one x and y; with the exp given to the caller, that too.
static void nodes_in_one(void **state)
{
	for (int given = 0; given < 2; given++) {
		struct graph *g = graph_new(NULL);
		struct arena a = { 0 };
		graph_value x = graph_input(g, "x", DTYPE_F32, 1, (int64_t[]){ 100 }), e = op_exp(g, op_neg(g, x));

		(void)state;
		graph_output(g, "y",
			op_mul(g, op_reshape(g, e, 2, (int64_t[]){ 10, 10 }), op_reshape(g, x, 2, (int64_t[]){ 10, 10 })));
		if (given)
			graph_output(g, "e", e);
		struct graph_cost c = finish(g, &a);
		size_t all[8];
		for (size_t i = 0; i < c.node_count; i++)
			all[i] = i;
		assert_int_equal(c.nbytes, 7 * 400);
		assert_int_equal(graph_cost_fused(&c, all, c.node_count), given ? 1200 : 800);
		assert_int_equal(graph_cost_fused(&c, all, 1), 800);
		graph_free(g);
		arena_done(&a);
	}
}

// ---- published figures --------------------------------------------------------------------------------------------------

// A configuration at its usual shape: without the nodes of one scope, and all of it.
static uint64_t published(const char *name, const char *text, size_t length, const char *without, uint64_t *whole)
{
	struct arena a = { 0 };
	struct checkpoint config, planned;
	struct spec *spec;
	struct input_hints hints = { 0 };
	struct input_shape shape;
	struct graph_cost c;
	struct error err = { 0 };
	struct graph *g = graph_new(&(struct graph_form){ .is_static = true });
	uint64_t sum = 0;

	if (checkpoint_open_config(&config, name, text, length, &err) || arch_resolve(&spec, &a, &config, &err) ||
		predict_plan(&planned, &a, &config, spec, DTYPE_F32, &err) || predict_place(&planned, &err))
		fail_msg("%s", err.text);
	arch_input_hints(spec, &hints);
	assert_int_equal(inputs_shape(&shape, &hints, 0, 0, &err), STATUS_OK);
	inputs_bind(g, &hints, &shape);
	if (arch_build(spec, &planned, &arch_whole, g, &err))
		fail_msg("%s", err.text);
	c = finish(g, &a);
	assert_false(c.unknown);
	for (size_t i = 0; i < c.node_count; i++)
		if (strncmp(c.nodes[i].name, without, strlen(without)))
			sum += c.nodes[i].flops;
	*whole = c.flops;
	checkpoint_close(&config);
	graph_free(g);
	arena_done(&a);
	return sum;
}

static uint64_t carried(const char *name, uint64_t *whole)
{
	for (size_t i = 0; i < hub_published_count(); i++) {
		const struct hub_published *p = hub_published_get(i);

		if (!strcmp(p->name, name))
			return published(p->name, p->config, p->config_size, "head/", whole);
	}
	fail_msg("no published %s", name);
	return 0;
}

static void within(uint64_t have, double want, double share)
{
	if ((double)have < want * (1 - share) || (double)have > want * (1 + share))
		fail_msg("%.3f GFLOP, published %.3f", (double)have / 1e9, want / 1e9);
}

static void published_models(void **state)
{
	uint64_t whole;

	(void)state;
	// BERT-base, 128 tokens, without its head: 22.5 G (Jiao et al. 2020: TinyBERT, table 1).
	within(carried("google-bert/bert-base-uncased", &whole), 22.5e9, 0.02);
	// The head: 768 x 768 and 768 x 30522 for each of 128 tokens.
	within(whole, 22.5e9 + 2.0 * 128 * (768 * 768 + 768 * 30522), 0.02);
	// ViT-B/16 at 224: 17.6 G multiply-adds (Touvron et al. 2021: DeiT; torchvision says 17.56).
	carried("google/vit-base-patch16-224", &whole);
	within(whole, 2 * 17.56e9, 0.02);
	// ResNet-50 at 224, the second version with the stride in the 3x3: 4.09 G multiply-adds (torchvision's table of weights).
	static const char resnet[] =
		"{\"model_type\": \"resnet\", \"architectures\": [\"ResNetForImageClassification\"], \"num_labels\": 1000}";
	published("resnet-50", resnet, sizeof resnet - 1, "head/", &whole);
	within(whole, 2 * 4.09e9, 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_product),
		cmocka_unit_test(a_linear_layer),
		cmocka_unit_test(convolutions),
		cmocka_unit_test(scattering),
		cmocka_unit_test(sampling),
		cmocka_unit_test(recurrence),
		cmocka_unit_test(transforms),
		cmocka_unit_test(loops_and_branches),
		cmocka_unit_test(attention_in_both_forms),
		cmocka_unit_test(what_only_moves),
		cmocka_unit_test(a_symbol_without_a_number),
		cmocka_unit_test(nodes_in_one),
		cmocka_unit_test(published_models),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
