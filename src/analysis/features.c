// SPDX-License-Identifier: Apache-2.0
// features.h. The graph is built twice: as it would be run, for its nodes, and with every dimension a number, for what it costs.
#include "analysis/features.h"

#include "artifact/artifact.h"
#include "cell/predict.h"
#include "onnx/cost.h"

static enum status build(struct graph **out, const struct spec *s, const struct checkpoint *c, const struct graph_form *form,
	const struct input_shape *shape, struct error *err)
{
	struct graph *g = graph_new(form);
	struct input_hints hints;
	enum status st;

	arch_input_hints(s, &hints);
	if (form->is_static)
		inputs_bind(g, &hints, shape);
	st = arch_build(s, c, &arch_whole, g, err);
	*out = g;
	return st;
}

static enum status features(struct forecast_point *out, struct arena *a, const struct spec *s, const struct checkpoint *c,
	const struct target *t, const struct question *q, struct error *err)
{
	struct graph_form form = t->platform->forms[0];
	struct graph *built = NULL, *bound = NULL;
	struct graph_summary summary;
	struct graph_cost cost;
	struct input_hints hints;
	struct input_shape shape;
	enum status st = precision_parse(&form.precise, q->precision, err);

	if (!st && platform_precision(t->route, form.precise.precision)->by != PRECISION_BY_GRAPH)
		form.precise = (struct precise){ 0 };
	arch_input_hints(s, &hints);
	if (!st)
		st = inputs_shape(&shape, &hints, q->batch, q->sequence, err);
	if (!st)
		st = build(&built, s, c, &form, &shape, err);
	form.is_static = true;
	if (!st)
		st = build(&bound, s, c, &form, &shape, err);
	if (!st) {
		graph_summarise(built, &summary);
		graph_cost(bound, a, &cost);
		*out = (struct forecast_point){
			.flops = (double)cost.flops, .nbytes = (double)cost.nbytes, .nodes = (double)summary.node_count
		};
		for (size_t i = 0; i < cost.op_count; i++)
			out->mix[forecast_mix_of(cost.ops[i].op)] +=
				cost.flops ? (double)cost.ops[i].flops / (double)cost.flops : 0;
		if (cost.unknown)
			st = error_set(err, STATUS_UNSUPPORTED, "a dimension of its graph is known to a run only");
	}
	graph_free(built);
	graph_free(bound);
	return st;
}

enum status plan_features(struct forecast_point *out, const struct plan_model *m, const struct target *t,
	const struct question *q, struct error *err)
{
	struct arena a = { 0 };
	struct checkpoint c, plan;
	struct spec *spec;
	enum status st;

	if (m->refused)
		return error_set(err, m->refused, "%s", m->cause);
	if (m->hub.kind == HUB_ONNX_FILE)
		return error_set(err, STATUS_UNSUPPORTED, "%s: what an .onnx file computes is not counted", m->model);
	if ((st = plan_checkpoint(&c, &m->hub, err)))
		return st;
	if (!(st = arch_resolve(&spec, &a, &c, err)) && q->layers > 0 && !arch_shorten(spec, q->layers))
		st = error_set(err, STATUS_UNSUPPORTED, "the model has %lld layer%s, which cannot be cut to %lld",
			(long long)arch_layers(spec), arch_layers(spec) == 1 ? "" : "s", (long long)q->layers);
	if (!st && c.weight_count == 0)
		st = predict_plan(&plan, &a, &c, spec, synth_dtype(spec, DTYPE_NONE), err);
	if (!st && c.weight_count == 0)
		st = predict_place(&plan, err);
	if (!st)
		st = features(out, &a, spec, c.weight_count ? &c : &plan, t, q, err);
	checkpoint_close(&c);
	arena_done(&a);
	return st;
}
