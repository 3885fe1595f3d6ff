// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Engines' names brought back to built nodes, two builds of one graph, and what a profile adds up to.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cell/profile.h"
#include "onnx/op.h"
#include "report/html/html.h"
#include "report/profile/profile.h"

static const char *const built_names[] = { "embed/Gather", "layers.0/attn/Gemm", "layers.0/attn/MatMul", "layers.0/attn/Mul",
	"layers.0/attn/Add", "layers.0/attn/LayerNormalization", "layers.0/ffn/Gemm", "layers.0/ffn/Div", "layers.0/ffn/Erf",
	"layers.0/ffn/Mul", "layers.0/ffn/Gemm_1", "layers.0/ffn/Gemm_10" };
enum { DRAWN = sizeof built_names / sizeof *built_names };

static struct mapped_node *map(
	struct arena *a, const char *const *names, size_t count, const struct graph_cost *cost, const size_t *cost_of)
{
	struct outline o = { .nodes = ARENA_ARRAY(a, DRAWN, struct outline_node), .node_count = DRAWN };
	struct profile p = { .arena = a, .nodes = ARENA_ARRAY(a, count, struct profiled_node), .count = count };

	for (size_t i = 0; i < DRAWN; i++)
		o.nodes[i] = (struct outline_node){ .name = built_names[i], .op = strrchr(built_names[i], '/') + 1 };
	for (size_t i = 0; i < count; i++)
		p.nodes[i] = (struct profiled_node){ .name = names[i], .op = "x", .ms = 1 };
	struct outline *kept = ARENA_NEW(a, struct outline);
	struct profile *ran = ARENA_NEW(a, struct profile);
	*kept = o;
	*ran = p;
	return profile_map(a, kept, cost, cost_of, ran);
}

static void names_and_parts(void **state)
{
	static const char *const ran[] = { "embed/Gather", "layers.0/attn/MatMul/MatMulScaleFusion/",
		"[layers.0/ffn/Gemm + layers.0/ffn/Div]", "layers.0/ffn/Gemm_1_nchwc", "layers.0/ffn/Gemm_10",
		"Xlayers.0/attn/Gemm" };
	struct arena a = { 0 };
	struct mapped_node *m = map(&a, ran, 6, NULL, NULL);

	(void)state;
	assert_int_equal(m[0].how, MAPPED_NAME);
	assert_string_equal(m[0].scope, "embed");
	assert_int_equal(m[1].how, MAPPED_PART);
	assert_string_equal(m[1].scope, "layers.0/attn");
	assert_int_equal(m[2].how, MAPPED_PART);
	assert_int_equal(m[2].members[0], 6);
	assert_int_equal(m[2].members[1], 7);
	assert_int_equal(m[3].members[0], 10); // Gemm_1 and not Gemm, which begins alike
	assert_int_equal(m[4].how, MAPPED_NAME);
	assert_int_equal(m[4].members[0], 11);
	assert_int_not_equal(m[5].how, MAPPED_PART); // no edge of a word before it
	arena_done(&a);
}

// "Gelu" ran between the two products of ffn: it is what was built there. A norm in two nodes, behind the last node that is named
// of attn.
static void places(void **state)
{
	static const char *const ran[] = { "embed/Gather", "layers.0/attn/Gemm", "layers.0/attn/MatMul", "layers.0/attn/Add",
		"MVN_17", "Multiply_24", "layers.0/ffn/Gemm", "Gelu", "layers.0/ffn/Gemm_1", "layers.0/ffn/Gemm_10" };
	struct arena a = { 0 };
	struct mapped_node *m = map(&a, ran, 10, NULL, NULL);

	(void)state;
	assert_int_equal(m[4].how, MAPPED_PLACE);
	assert_string_equal(m[4].scope, "layers.0/attn");
	assert_int_equal(m[4].members[0], 5);
	assert_int_equal(m[5].how, MAPPED_PLACE);
	assert_string_equal(m[5].scope, "layers.0/attn");
	assert_int_equal(m[5].member_count, 0);
	assert_int_equal(m[7].how, MAPPED_PLACE);
	assert_string_equal(m[7].scope, "layers.0/ffn");
	assert_int_equal(m[7].member_count, 3);
	// Mul of attn ran under no name at all: it is with the node before it.
	assert_int_equal(m[2].member_count, 2);
	assert_int_equal(m[2].members[1], 3);
	arena_done(&a);
}

// OpenVINO calls what it made of a chain after its last node, here a Transpose: the products belong to it, not to what ran
// before.
static void a_chain(void **state)
{
	static const struct {
		const char *name, *op;
	} built[] = { { "l/Gemm", "Gemm" }, { "l/Reshape", "Reshape" }, { "l/MatMul", "MatMul" }, { "l/Softmax", "Softmax" },
		{ "l/MatMul_1", "MatMul" }, { "l/Transpose", "Transpose" }, { "l/Gemm_1", "Gemm" }, { "l/Erf", "Erf" } },
	  ran[] = { { "l/Gemm", "FullyConnected" }, { "l/Reshape", "Reshape" }, { "l/Transpose", "Subgraph" },
		  { "l/Gemm_1", "FullyConnected" } };
	struct outline_node nodes[8];
	struct profiled_node engine[4];
	struct outline o = { .nodes = nodes, .node_count = 8 };
	struct profile p = { .nodes = engine, .count = 4 };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < 8; i++)
		nodes[i] = (struct outline_node){ .name = built[i].name, .op = built[i].op };
	for (size_t i = 0; i < 4; i++)
		engine[i] = (struct profiled_node){ .name = ran[i].name, .op = ran[i].op, .ms = 1 };
	struct mapped_node *m = profile_map(&a, &o, NULL, NULL, &p);
	assert_int_equal(m[0].member_count, 1);
	assert_int_equal(m[1].member_count, 1);
	assert_int_equal(m[2].member_count, 4);
	assert_int_equal(m[3].member_count, 2);
	arena_done(&a);
}

static void what_cannot_be_named(void **state)
{
	static const char *const ran[] = { "reorder_1", "layers.0/attn/Gemm", "copy", "layers.0/ffn/Gemm" };
	static const char *const all[] = { "embed/Gather", "layers.0/attn/Gemm", "layers.0/attn/MatMul", "layers.0/attn/Mul",
		"layers.0/attn/Add", "layers.0/attn/LayerNormalization", "copy", "layers.0/ffn/Gemm" };
	struct arena a = { 0 };
	struct mapped_node *m = map(&a, ran, 4, NULL, NULL);

	(void)state;
	assert_int_equal(m[0].how, MAPPED_NOT); // before it nothing is built that works
	assert_null(m[0].scope);
	m = map(&a, all, 8, NULL, NULL);
	assert_int_equal(m[6].how, MAPPED_NOT); // between two scopes, and all that was built there ran
	assert_null(m[6].scope);
	arena_done(&a);
}

// Every operation and every byte of a weight stands in exactly one node, whatever the engine fused.
static void costs_are_kept(void **state)
{
	static const char *const ran[] = { "layers.0/attn/Gemm", "Gelu", "layers.0/ffn/Gemm_1", "unknown" };
	struct arena a = { 0 };
	struct graph_cost cost = {
		.nodes = ARENA_ARRAY(&a, DRAWN, struct node_cost), .node_count = DRAWN, .uses = ARENA_ARRAY(&a, 1, int)
	};
	size_t of[DRAWN];
	uint64_t flops = 0, weights = 0;

	(void)state;
	for (size_t i = 0; i < DRAWN; i++) {
		of[i] = i;
		cost.nodes[i] =
			(struct node_cost){ .name = built_names[i], .op = "x", .flops = 1ull << i, .weight_nbytes = 1ull << i };
	}
	struct mapped_node *m = map(&a, ran, 4, &cost, of);
	for (size_t i = 0; i < 4; i++) {
		flops += m[i].flops;
		weights += m[i].weight_nbytes;
	}
	assert_int_equal(flops, (1u << DRAWN) - 1);
	assert_int_equal(weights, flops);
	arena_done(&a);
}

// A layer built with open dimensions computes shapes; its floats are those of the one with numbers, in the same order.
static void two_builds(void **state)
{
	struct graph_cost cost[2];
	struct graph *g[2];
	struct arena a = { 0 };
	struct error err = { 0 };

	(void)state;
	for (int bound = 0; bound < 2; bound++) {
		g[bound] = graph_new(&(struct graph_form){ .linear = LINEAR_GEMM, .is_static = bound });
		if (bound) {
			graph_bind(g[bound], "batch", 2);
			graph_bind(g[bound], "sequence", 5);
		}
		graph_value x = graph_input(g[bound], "x", DTYPE_F32, 3,
			(int64_t[]){ graph_symbol(g[bound], "batch"), graph_symbol(g[bound], "sequence"), 8 });
		for (int layer = 0; layer < 2; layer++) {
			char name[16];

			snprintf(name, sizeof name, "w%d", layer);
			graph_enter(g[bound], "layers.%d", layer);
			graph_value w = graph_external(
				g[bound], name, DTYPE_F32, 2, (int64_t[]){ 8, 8 }, "w", 256 * (unsigned)layer, 256);
			graph_value shape = op_shape(g[bound], x);
			x = op_linear(g[bound], op_mul(g[bound], x, x), w, NO_VALUE);
			x = op_reshape_to(g[bound], op_tanh(g[bound], x), shape);
			graph_leave(g[bound]);
		}
		graph_output(g[bound], "y", x);
		if (graph_finish(g[bound], &err))
			fail_msg("%s", err.text);
		graph_cost(g[bound], &a, &cost[bound]);
	}
	assert_true(cost[0].unknown && !cost[1].unknown);
	assert_true(cost[0].node_count > cost[1].node_count);
	size_t *pair = profile_pair(&a, &cost[0], &cost[1]), products = 0;
	for (size_t i = 0; i < cost[0].node_count; i++) {
		if (!strcmp(cost[0].nodes[i].op, "Gemm")) {
			products++;
			assert_true(pair[i] != COST_NONE);
			assert_string_equal(cost[1].nodes[pair[i]].name, cost[0].nodes[i].name);
			assert_int_equal(cost[1].nodes[pair[i]].flops, 2 * 10 * 8 * 8);
		} else if (!cost[0].nodes[i].of_floats) {
			assert_true(pair[i] == COST_NONE);
		}
	}
	assert_int_equal(products, 2);
	for (int bound = 0; bound < 2; bound++)
		graph_free(g[bound]);
	arena_done(&a);
}

// Of eight runs the two shortest and the two longest are left out, of nodes too: what is left adds up.
static void the_middle_half(void **state)
{
	struct arena a = { 0 };
	struct profile p = { .arena = &a, .nodes = ARENA_ARRAY(&a, 2, struct profiled_node), .count = 2 };
	const double whole[] = { 10, 100, 12, 2, 11, 13, 1, 200 },
		     ms[] = { 4, 5, 90, 9, 4, 7, 1, 1, 8, 2, 5, 6, 0.5, 0.5, 1, 199 };

	(void)state;
	profile_gather(&p, ms, whole, 8);
	assert_int_equal(p.runs, 8);
	assert_int_equal(p.taken, 4);
	assert_float_equal(p.whole_ms, (10 + 12 + 11 + 13) / 4.0, 1e-9);
	assert_float_equal(p.nodes[0].ms, (4 + 4 + 8 + 5) / 4.0, 1e-9);
	assert_float_equal(p.nodes[1].ms, (5 + 7 + 2 + 6) / 4.0, 1e-9);
	assert_float_equal(p.least_ms, 1, 1e-9);
	assert_float_equal(p.most_ms, 200, 1e-9);
	arena_done(&a);
}

static const struct profile_scope *scope(const struct profile_view *v, const char *path)
{
	for (size_t i = 0; i < v->scope_count; i++)
		if (!strcmp(v->scopes[i].path, path))
			return &v->scopes[i];
	fail_msg("no scope %s", path);
	return NULL;
}

static void the_view(void **state)
{
	json_t *nodes = json_pack("[{s:s,s:s,s:s,s:f,s:i,s:i,s:f,s:s},{s:s,s:s,s:s,s:f,s:i,s:i,s:f,s:s},{s:s,s:s,s:n,s:f},{s:s,s:"
				  "s,s:s,s:f},{s:s,s:s,s:s,s:f}]",
		"name", "layers.0/a/Gemm", "op", "Gemm", "scope", "layers.0/a", "ms", 6.0, "flops", 600000, "bytes", 1000,
		"roof_ms", 3.0, "roof", "compute", "name", "layers.10/a/Gemm", "op", "Gemm", "scope", "layers.10/a", "ms", 2.0,
		"flops", 600000, "bytes", 1000, "roof_ms", 1.0, "roof", "memory", "name", "reorder", "op", "Reorder", "scope",
		"ms", 0.5, "name", "/head/Add", "op", "Add", "scope", "/head", "ms", 1.0, "name", "Cast", "op", "Cast", "scope",
		"", "ms", 0.25);
	struct row r;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct profile_view *v;
	struct text text = { 0 };

	(void)state;
	assert_non_null(nodes);
	row_init(&r);
	r.row = 7;
	r.model = "<b>";
	r.requested = "cpu";
	assert_int_equal(profile_view(&v, &a, &r, nodes, &err), STATUS_BAD_INPUT);
	r.profile = "{\"whole_ms\": 10.0, \"runs\": 15, \"runs_taken\": 9, \"peak_by\": \"x\"}";
	r.latency_ms = 5;
	assert_int_equal(profile_view(&v, &a, &r, nodes, &err), STATUS_OK);
	assert_float_equal(v->nodes_ms, 9.75, 1e-9);
	assert_float_equal(v->between_ms, 0.25, 1e-9);
	assert_float_equal(v->not_named_ms, 0.5, 1e-9);
	assert_float_equal(v->overhead, 2, 1e-9);
	const struct profile_scope *layers = scope(v, "layers.*"), *part = scope(v, "layers.*/a");
	assert_int_equal(layers->instances, 2);
	assert_float_equal(layers->least_ms, 2, 1e-9);
	assert_float_equal(layers->most_ms, 6, 1e-9);
	assert_string_equal(layers->last, "layers.10");
	assert_float_equal(profile_share(&layers->sum), 0.5, 1e-9);
	assert_true(part == layers + 1 && part->depth == 1 && part->sum.nodes == 2);
	assert_float_equal(scope(v, "head")->sum.ms, 1, 1e-9);
	assert_float_equal(scope(v, "(top)")->sum.ms, 0.25, 1e-9);
	assert_string_equal(v->ops[0].op, "Gemm");
	assert_true(isnan(profile_share(&scope(v, "head")->sum)));
	assert_non_null(strstr(v->sentences[0],
		"80 % of the time is in 2 Gemm of layers.*/a, at 50 % of what this machine can do (compute-bound)"));
	profile_view_html(v, &text);
	const char *page = text_get(&text), *folded = strstr(page, "<div class=flame role=tree");
	const char *each = strstr(folded + 1, "<div class=flame role=tree");
	assert_null(strstr(page, "<b>"));
	// The conclusion stands before the graph; layers are one box, or each by itself, hidden until it is asked for.
	assert_true(strstr(page, "<p class=lede>80 % of the time is in 2 Gemm of layers.*/a") < folded);
	assert_true(strstr(folded, ">layers.* × 2</button>") < each);
	assert_null(strstr(each, "layers.* × 2</button>"));
	assert_true(strstr(folded, ">layers.10</button>") > each && strstr(each, " hidden>") != NULL);
	assert_non_null(strstr(folded, "role=treeitem aria-level=2 tabindex=-1"));
	assert_non_null(strstr(page, "<input id=find type=search"));
	const char *script = strstr(page, "<script>") + 8;
	assert_non_null(strstr(page, html_policy(&a, script, (size_t)(strstr(script, "</script>") - script))));
	text_done(&text);
	json_decref(nodes);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_parts),
		cmocka_unit_test(places),
		cmocka_unit_test(a_chain),
		cmocka_unit_test(what_cannot_be_named),
		cmocka_unit_test(costs_are_kept),
		cmocka_unit_test(two_builds),
		cmocka_unit_test(the_middle_half),
		cmocka_unit_test(the_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
