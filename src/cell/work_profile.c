// SPDX-License-Identifier: Apache-2.0
// A cell that is profiled: after its timed runs the model is opened a second time with the engine's own profile, and in the same
// process the two roofs of the roofline (Williams, Waterman, Patterson 2009) are measured: the rate of products of square
// matrices of several sizes by the same engine with the same options (peak.h), and how fast memory is read. A third figure is the
// bandwidth of what fits into the caches of level 2: what one node writes and the next reads seldom leaves them, so it is not
// held against the memory.
//
//   time that the roofs allow a node = max(operations / peak, weights / memory bandwidth + values / bandwidth of where they fit)
//
// Roofs are of the processor: for another device memory is not measured, and there is no share.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/claim.h"
#include "base/clock.h"
#include "base/file.h"
#include "cell/say.h"
#include "cell/work.h"
#include "cell/peak.h"
#include "cell/profile.h"
#include "cell/scratch.h"
#include "onnx/op.h"
#include "platform/bandwidth.h"
#include "platform/state.h"

enum { RUNS_USUAL = 15, SHAPES = 3 };
static const int64_t sides[SHAPES] = { 1024, 512, 2048 };
static const int64_t window_ns = 50 * 1000000LL, shape_ns = 1500 * 1000000LL, slow_ns = 4000 * 1000000LL;
static const double least_node_ms = 0.2;
static const uint64_t level2_guess = 1 << 20, memory_least = 64 << 20, memory_most = 512 << 20;

struct roofs {
	double matmul_gflops;      // the best of a product, over all shapes
	struct peak shape[SHAPES]; // GFLOP/s of a product of sides[i]; windows 0: not measured
	size_t best_shape;
	double others, load;   // CPUs that other processes used meanwhile; load average. NaN: not known
	int64_t frequency_khz; // of the processor behind it; -1: not known
	double peak_gflops;    // it, or of a node that was faster
	const char *peak_by;
	double memory_gb_s, cache_gb_s;          // NaN: not measured
	uint64_t level2_bytes, last_level_bytes; // of all threads; of one instance
	int threads;
};

// ---- roofs --------------------------------------------------------------------------------------------------------------

static enum status build_product(struct artifact *art, struct arena *a, const char *folder, int64_t side, struct error *err)
{
	struct graph *g = graph_new(&(struct graph_form){ .is_static = true });
	const int64_t dim[] = { side, side };
	const size_t count = (size_t)(side * side);
	float *data = arena_alloc(a, count * sizeof *data);
	const struct tensor_type *types;
	const void *bytes;
	enum status st;

	for (size_t i = 0; i < count; i++)
		data[i] = (float)(i % 13) / 64;
	*art = (struct artifact){
		.placed_by = "file", .file = "product.onnx", .key = arena_printf(a, "roofline-product-%lld", (long long)side)
	};
	graph_output(g, "y", op_matmul(g, graph_input(g, "x", DTYPE_F32, 2, dim), graph_constant(g, DTYPE_F32, 2, dim, data)));
	if (!(st = graph_finish(g, err)) && !(st = graph_write(g, &bytes, &art->graph_nbytes, err))) {
		art->graph = memcpy(arena_alloc(a, art->graph_nbytes), bytes, art->graph_nbytes);
		art->graph_path = arena_printf(a, "%s/%s-product.onnx", folder, claim_token());
		art->inputs = memcpy(ARENA_ARRAY(a, 1, struct tensor_type), (graph_inputs(g, &types), types), sizeof *types);
		art->input_count = 1;
		graph_summarise(g, &art->summary);
		st = file_write(art->graph_path, art->graph, art->graph_nbytes, err);
	}
	graph_free(g);
	return st;
}

struct product {
	struct session *session;
	struct tensor in;
	int64_t side;
};

static int64_t product_now(void *context)
{
	(void)context;
	return clock_ns();
}

// The fastest run of a window: one at least, a software adapter takes seconds for it.
static enum status product_window(void *context, double *gflops, struct error *err)
{
	const struct product *p = context;
	int64_t best = INT64_MAX, begin = clock_ns(), end = begin;
	struct tensor out;

	while (end - begin < window_ns) {
		int64_t before = clock_ns();
		enum status st = session_run(p->session, &p->in, 1, &out, 1, err);

		if (st)
			return st;
		end = clock_ns();
		best = end - before < best ? end - before : best;
	}
	*gflops = 2.0 * (double)p->side * (double)p->side * (double)p->side / (double)best;
	return STATUS_OK;
}

static enum status measure_product(struct work *w, const char *folder, int64_t side, struct peak *out, struct error *err)
{
	struct arena a = { 0 };
	struct artifact art;
	struct session s = { 0 };
	const size_t count = (size_t)(side * side);
	struct product p = { &s,
		{ .name = "x", .dtype = DTYPE_F32, .rank = 2, .dim = { side, side }, .nbytes = count * sizeof(float) }, side };
	enum status st = build_product(&art, &a, folder, side, err);

	if (!st)
		st = session_open(&s, w->backend, w->provider, w->target.device, w->ask.options, &art, err);
	p.in.data = arena_alloc(&a, p.in.nbytes);
	for (size_t i = 0; i < count; i++)
		((float *)p.in.data)[i] = (float)(i % 7) / 64;
	if (!st)
		st = peak_find(&(struct peak_source){ &p, product_window, product_now }, shape_ns, out, err);
	session_close(&s);
	if (art.graph_path)
		unlink(art.graph_path);
	arena_done(&a);
	return st;
}

// An engine without such a product has a peak by its nodes alone; where one takes seconds, the further shapes are left out.
static void measure_products(struct work *w, const char *folder, struct roofs *r)
{
	struct state_sample before, after;
	int64_t begin = clock_ns();

	r->matmul_gflops = (double)NAN;
	state_read(&before, &w->arena, "");
	for (size_t i = 0; i < SHAPES && (!i || clock_ns() - begin < slow_ns); i++) {
		struct error ignored = { 0 };

		if (measure_product(w, folder, sides[i], &r->shape[i], &ignored)) {
			r->shape[i] = (struct peak){ 0 };
			continue;
		}
		if (!(r->shape[i].best <= r->matmul_gflops)) {
			r->matmul_gflops = r->shape[i].best;
			r->best_shape = i;
		}
	}
	state_read(&after, &w->arena, "");
	r->others = state_others(&before, &after);
	r->load = after.load;
	r->frequency_khz = after.frequency_khz;
}

// How far the figure can be trusted: "windows of 250 to 329 GFLOP/s; it still rose when the time was over; other processes
// used 1.2 CPUs meanwhile".
static const char *peak_words(const struct roofs *r, struct arena *a)
{
	const struct peak *p = &r->shape[r->best_shape];
	const char *out = arena_printf(a, "the best of %zu windows of a MatMul of %lld^3, the others down to %.0f GFLOP/s",
		p->windows, (long long)sides[r->best_shape], p->lowest);

	if (!p->settled)
		out = arena_printf(a, "%s; it still rose when the time was over", out);
	return r->others >= 0.1
		? arena_printf(a, "%s; other processes used %.1f CPUs meanwhile, the roof may be higher", out, r->others)
		: out;
}

static double bandwidth_of(enum bandwidth_kernel kernel, int threads, uint64_t nbytes, double seconds)
{
	struct bandwidth *b = calloc(1, sizeof *b);
	struct error ignored = { 0 };
	double best = b && !bandwidth_measure(b, kernel, threads, nbytes, seconds, &ignored) ? b->max : (double)NAN;

	free(b);
	return best;
}

static void measure_memory(struct work *w, struct roofs *r)
{
	struct machine m;
	uint64_t level2, nbytes;

	machine_detect(&m, &w->arena);
	r->threads = m.usable_cpus > 0 ? m.usable_cpus : 1;
	level2 = m.l2_bytes > 0 ? (uint64_t)m.l2_bytes : level2_guess;
	r->level2_bytes = level2 * (uint64_t)r->threads;
	r->last_level_bytes = m.l3_bytes > 0 ? (uint64_t)m.l3_bytes : r->level2_bytes;
	r->memory_gb_s = r->cache_gb_s = (double)NAN;
	if (strncasecmp(w->target.device, "cpu", 3))
		return;
	nbytes = 4 * r->last_level_bytes;
	nbytes = nbytes < memory_least ? memory_least : nbytes > memory_most ? memory_most : nbytes;
	if (nbytes < (uint64_t)m.memory_available_bytes / 4)
		r->memory_gb_s = bandwidth_of(BANDWIDTH_READ, r->threads, nbytes, 0.5);
	r->cache_gb_s = bandwidth_of(BANDWIDTH_TRIAD, r->threads, r->level2_bytes / 2, 0.1);
}

static void find_peak(struct roofs *r, const struct mapped_node *nodes, size_t count, struct arena *a)
{
	r->peak_gflops = r->matmul_gflops;
	r->peak_by = isnan(r->matmul_gflops) ? "no MatMul could be measured" : peak_words(r, a);
	for (size_t i = 0; i < count; i++) {
		double gflops = (double)nodes[i].flops / nodes[i].ran->ms / 1e6;

		// What was put together by place alone may be too much for one node.
		if (nodes[i].how != MAPPED_NAME && nodes[i].how != MAPPED_PART)
			continue;
		if (nodes[i].ran->ms >= least_node_ms && !mapped_moves(nodes[i].ran->op) &&
			(gflops > r->peak_gflops || isnan(r->peak_gflops))) {
			r->peak_gflops = gflops;
			r->peak_by = arena_printf(a, "the best of this model's nodes, %s; a MatMul reached %.0f GFLOP/s: %s",
				nodes[i].ran->name, r->matmul_gflops,
				isnan(r->matmul_gflops) ? "none could be measured" : peak_words(r, a));
		}
	}
}

// ms that the roofs allow; NaN where one is not known. *by_memory: which one it is.
static double allowed_ms(const struct roofs *r, const struct mapped_node *n, bool weights_fit, bool *by_memory)
{
	uint64_t values = n->nbytes - (n->weight_nbytes < n->nbytes ? n->weight_nbytes : n->nbytes);
	double compute = (double)n->flops / r->peak_gflops / 1e6,
	       memory = (double)n->weight_nbytes / (weights_fit ? r->cache_gb_s : r->memory_gb_s) / 1e6 +
		(double)values / (values <= r->level2_bytes ? r->cache_gb_s : r->memory_gb_s) / 1e6;

	*by_memory = memory > compute;
	return !n->is_costed || isnan(memory) || isnan(compute) ? (double)NAN : memory > compute ? memory : compute;
}

// ---- costs of the nodes as they were built ------------------------------------------------------------------------------

struct costs {
	struct graph *built, *bound;
	struct graph_cost of_built, of_bound;
	size_t *cost_of; // of each node of the outline; NULL: nothing is known
};

static enum status find_costs(struct work *w, const struct outline *outline, struct costs *c, struct error *err)
{
	struct arena *a = &w->arena;
	size_t *pair;
	enum status st;

	if (!w->spec)
		return STATUS_OK;
	if ((st = work_cost(w, &w->shape, a, &c->of_bound, &c->bound, err)))
		return st;
	c->built = graph_new(&w->built_form);
	if (w->built_form.is_static)
		inputs_bind(c->built, &w->hints, &w->shape);
	if ((st = arch_build(w->spec, &w->checkpoint, &arch_whole, c->built, err)))
		return st;
	graph_cost(c->built, a, &c->of_built);
	pair = profile_pair(a, &c->of_built, &c->of_bound);
	c->cost_of = ARENA_ARRAY(a, outline->node_count + 1, size_t);
	for (size_t i = 0; i < outline->node_count; i++) {
		size_t k = i < c->of_built.node_count ? i : 0;

		// The file has the order of building, unless somebody worked on it.
		for (size_t tries = 0;
			tries < c->of_built.node_count && !text_is(c->of_built.nodes[k].name, outline->nodes[i].name); tries++)
			k = (k + 1) % c->of_built.node_count;
		c->cost_of[i] = c->of_built.node_count && text_is(c->of_built.nodes[k].name, outline->nodes[i].name) ? pair[k]
														     : COST_NONE;
	}
	return STATUS_OK;
}

// ---- what is told -------------------------------------------------------------------------------------------------------

static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

// {"shapes": [{"side", "gflops", "lowest_gflops", "windows", "settled"}], "other_cpus", "load", "frequency_khz"}: the spread of
// the peak.
static json_t *peak_json(const struct roofs *r)
{
	json_t *shapes = json_array();

	for (size_t i = 0; i < SHAPES; i++)
		if (r->shape[i].windows)
			json_array_append_new(shapes,
				json_pack("{s:I, s:o, s:o, s:I, s:b}", "side", (json_int_t)sides[i], "gflops",
					number(r->shape[i].best), "lowest_gflops", number(r->shape[i].lowest), "windows",
					(json_int_t)r->shape[i].windows, "settled", (int)r->shape[i].settled));
	return json_pack("{s:o, s:o, s:o, s:o}", "shapes", shapes, "other_cpus", number(r->others), "load", number(r->load),
		"frequency_khz", r->frequency_khz > 0 ? json_integer(r->frequency_khz) : json_null());
}

static void say_profile(const struct profile *p, const struct mapped_node *nodes, const struct roofs *r, const struct costs *c)
{
	json_t *list = json_array();
	double sum = 0, allowed = 0, unnamed = 0, on_device = 0;
	bool weights_fit = c->cost_of && c->of_bound.weight_nbytes < r->last_level_bytes;

	for (size_t i = 0; i < p->count; i++) {
		const struct mapped_node *n = &nodes[i];
		bool by_memory, known = n->is_costed;
		double ms = allowed_ms(r, n, weights_fit, &by_memory);

		sum += n->ran->ms;
		on_device += n->ran->on_device ? n->ran->ms : 0;
		unnamed += n->scope ? 0 : n->ran->ms;
		allowed += isnan(ms) ? 0 : ms;
		json_array_append_new(list,
			json_pack("{s:s, s:s?, s:s?, s:s?, s:s?, s:s, s:i, s:f, s:o, s:o, s:o, s:o, s:s?}", "name", n->ran->name,
				"op", n->ran->op, "kernel", n->ran->kernel, "where", n->ran->where, "scope", n->scope, "named_by",
				mapped_word(n->how), "drawn_nodes", (int)n->member_count, "ms", n->ran->ms, "flops",
				known ? json_integer((json_int_t)n->flops) : json_null(), "bytes",
				known ? json_integer((json_int_t)n->nbytes) : json_null(), "weight_bytes",
				known ? json_integer((json_int_t)n->weight_nbytes) : json_null(), "roof_ms", number(ms), "roof",
				isnan(ms)           ? NULL
					: by_memory ? "memory"
						    : "compute"));
	}
	if (!say_nodes("profile", list))
		say_notice("the profile's list of nodes is too long to be kept");
	if (on_device > 0)
		say_row(json_pack("{s:f}", "device_ms", on_device));
	say_row(json_pack("{s:o, s:o, s:o, s:{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:s, s:o, s:o, s:I, s:I, s:i, s:b}}",
		"peak_gflops", number(r->peak_gflops), "bandwidth_gb_s", number(r->memory_gb_s), "roofline_share",
		c->cost_of && isfinite(r->memory_gb_s) ? number(allowed / p->whole_ms) : json_null(), "profile", "runs",
		(json_int_t)p->runs, "runs_taken", (json_int_t)p->taken, "whole_ms", p->whole_ms, "least_ms", p->least_ms,
		"most_ms", p->most_ms, "nodes_ms", sum, "not_named_ms", unnamed, "roof_ms", allowed, "matmul_gflops",
		number(r->matmul_gflops), "peak_by", r->peak_by, "peak", peak_json(r), "cache_gb_s", number(r->cache_gb_s),
		"cache_bytes", (json_int_t)r->level2_bytes, "last_level_bytes", (json_int_t)r->last_level_bytes, "threads",
		r->threads, "weights_in_cache", (int)weights_fit));
}

enum status work_profile(struct work *w, struct error *err)
{
	struct profile p = { .arena = &w->arena, .runs = RUNS_USUAL };
	struct outline outline = { 0 };
	struct roofs roofs = { 0 };
	struct costs costs = { 0 };
	struct mapped_node *nodes;
	enum status st;

	say_phase("profile");
	if ((st = cache_part(&p.folder, &w->arena, "run", err)) ||
		(st = outline_read(&outline, &w->arena, w->part->artifact.graph, w->part->artifact.graph_nbytes, err)) ||
		(st = session_profile(&w->part->session, &w->part->artifact, w->in, w->part->session.input_count, &p, err)) ||
		(st = find_costs(w, &outline, &costs, err)))
		return st;
	say_phase("roofline");
	nodes = profile_map(&w->arena, &outline, costs.cost_of ? &costs.of_bound : NULL, costs.cost_of, &p);
	measure_products(w, p.folder, &roofs);
	measure_memory(w, &roofs);
	find_peak(&roofs, nodes, p.count, &w->arena);
	say_profile(&p, nodes, &roofs, &costs);
	graph_free(costs.built);
	graph_free(costs.bound);
	return STATUS_OK;
}
