// SPDX-License-Identifier: Apache-2.0
// What a run of a cell's graph computes and moves, for its row. The graph is built once more with every dimension a number
// (milliseconds); a generation is one pass over the prompt and one pass a further token, of which all cost as much as the middle
// one, because what attention does grows by the same amount with each. A user's .onnx and encoder-decoders that generate: not
// known, null.
#include "cell/work.h"
#include "onnx/cost.h"

static enum status build_bound(struct work *w, struct graph *g, const struct input_shape *shape, struct error *err)
{
	inputs_bind(g, &w->hints, shape);
	return arch_build(w->spec, &w->checkpoint, &arch_whole, g, err);
}

enum status work_cost(struct work *w, const struct input_shape *shape, struct arena *a, struct graph_cost *out,
	struct graph **graph, struct error *err)
{
	struct graph_form form = w->built_form;
	struct graph *g;
	enum status st;

	form.is_static = true;
	form.cache = CACHE_PLAIN;
	g = graph_new(&form);
	if ((st = build_bound(w, g, shape, err))) {
		graph_free(g);
		return st;
	}
	graph_cost(g, a, out);
	*graph = g;
	return STATUS_OK;
}

static json_t *op_mix(const struct graph_cost *c)
{
	json_t *mix = json_object();

	for (size_t i = 0; i < c->op_count; i++)
		json_object_set_new(mix, c->ops[i].op,
			json_pack("{s:I, s:f, s:f}", "nodes", (json_int_t)c->ops[i].nodes, "flops",
				c->flops ? (double)c->ops[i].flops / (double)c->flops : 0.0, "bytes",
				c->nbytes ? (double)c->ops[i].nbytes / (double)c->nbytes : 0.0));
	return mix;
}

void work_say_cost(struct work *w)
{
	struct input_shape shape = w->shape, step = w->shape;
	struct graph_cost first, next = { 0 };
	struct error ignored = { 0 };
	struct graph *g, *further = NULL;
	uint64_t steps = w->ask.new_tokens > 1 ? (uint64_t)w->ask.new_tokens - 1 : 0;

	if (!w->spec || w->part_count > 1)
		return;
	if (w->ask.new_tokens > 0) {
		shape.sequence = w->ask.prompt_tokens;
		shape.past = 0;
		step.sequence = 1;
		step.past = w->ask.prompt_tokens + (w->ask.new_tokens - 1) / 2;
	}
	if (work_cost(w, &shape, &w->arena, &first, &g, &ignored))
		return;
	if (steps && work_cost(w, &step, &w->arena, &next, &further, &ignored))
		next.unknown = true;
	// Where a dimension is only known to the run (of what is chosen by content), no number is better than a wrong one.
	if (!first.unknown && !next.unknown)
		say_row(json_pack("{s:I, s:I, s:o}", "flops", (json_int_t)(first.flops + steps * next.flops), "moved_bytes",
			(json_int_t)(first.nbytes + steps * next.nbytes), "op_mix", op_mix(steps > 1 ? &next : &first)));
	graph_free(g);
	graph_free(further);
}
