// SPDX-License-Identifier: Apache-2.0
// plan.h: does a cell fit this machine? Answered before synthetic weights are written, from the plan of them; and when it does
// not, what would.
#include "api/plan.h"

#include <string.h>

#include "artifact/artifact.h"
#include "measure/predict.h"

struct asking {
	struct arena arena;
	const struct checkpoint *c;
	const struct question *q;
	const struct target *target;
	struct machine machine;
};

// With `layers` of the model; 0: all. UNSUPPORTED when it has fewer.
static enum status predict(struct prediction *out, struct asking *x, int64_t layers, const char *options, struct error *err)
{
	struct arena a = { 0 };
	struct checkpoint plan;
	struct input_hints hints;
	struct input_shape shape = { 0 };
	struct spec *spec;
	struct target t = *x->target;
	struct precise precise = { 0 };
	enum status s = precision_parse(&precise, x->q->variant.precision, err);

	if (s == STATUS_OK)
		s = arch_resolve(&spec, &a, x->c, err);
	t.options = platform_precision_options(&a, t.route, precise.precision, options);
	precise.by_engine = platform_precision(t.route, precise.precision)->quantises;
	if (platform_precision(t.route, precise.precision)->by != PRECISION_BY_GRAPH)
		precise = (struct precise){ 0 };
	if (s == STATUS_OK && layers > 0 && !arch_shorten(spec, layers))
		s = error_set(err, STATUS_UNSUPPORTED, "the model has fewer than %lld layers", (long long)layers);
	if (s == STATUS_OK) {
		arch_input_hints(spec, &hints);
		bool generates = x->q->new_tokens > 0;
		s = inputs_shape(&shape, &hints, x->q->batch, generates ? x->q->prompt_tokens + x->q->new_tokens : x->q->golden ? 0 : x->q->sequence, err);
	}
	shape.image_size = x->q->variant.image_size;
	if (s == STATUS_OK && x->q->golden)
		s = inputs_file_shape(&shape, x->q->golden, err);
	if (s == STATUS_OK && x->c->weight_count == 0)
		s = predict_plan(&plan, &a, x->c, spec, synth_dtype(spec, DTYPE_NONE), err);
	if (s == STATUS_OK)
		s = predict_cell(out, spec, x->c->weight_count ? x->c : &plan, &t, &precise, &shape, x->q->new_tokens > 0, err);
	arena_done(&a);
	return s;
}

static bool fits(struct asking *x, int64_t layers, const char *options, struct prediction *p)
{
	return predict(p, x, layers, options, NULL) == STATUS_OK && predict_fits(p, &x->machine, x->q->memory_bytes, NULL) == STATUS_OK;
}

// The most layers that fit; 0 when not even one does.
static int64_t most_layers(struct asking *x, const char *options, struct prediction *p)
{
	int64_t low = 0, high = 1;

	for (; high <= 4096 && fits(x, high, options, p); high *= 2)
		low = high;
	while (high - low > 1) {
		int64_t middle = (low + high) / 2;

		if (fits(x, middle, options, p))
			low = middle;
		else
			high = middle;
	}
	if (low > 0)
		predict(p, x, low, options, NULL);
	return low;
}

static const char *needed(const struct asking *x, struct arena *a, const struct prediction *p)
{
	return predict_amount(a, x->q->memory_bytes > 0 ? p->anonymous_bytes : p->required_bytes);
}

// "; --layers 20 would need 20.9 GiB, --options precision=bf16 14.2 GiB; --force tries it all the same"
static const char *offer(struct asking *x, struct arena *a, const char *options)
{
	const struct route *r = x->target->route;
	const char *smaller = "precision=bf16", *out = "";
	struct prediction p;

	if (!x->q->golden) {
		int64_t layers = most_layers(x, options, &p);

		if (layers > 0)
			out = arena_printf(a, "; --layers %lld would need %s", (long long)layers, needed(x, a, &p));
	}
	const char *with = options && *options ? arena_printf(a, "%s,%s", options, smaller) : smaller;
	if (!(options && strstr(options, "precision=")) && backend_check_options(route_backend(r), route_provider(r), smaller, NULL) == STATUS_OK && fits(x, x->q->layers, with, &p))
		out = arena_printf(a, "%s%s --options %s %s%s", out, *out ? "," : ";", smaller, *out ? "" : "would need ",
			needed(x, a, &p));
	return arena_printf(a, "%s; --force tries it all the same", out);
}

void plan_memory(struct plan_memory *out, struct arena *a, const struct plan_model *m, const struct target *t, const struct question *q)
{
	struct asking x = { .q = q, .target = t };
	struct checkpoint c = { 0 };
	struct prediction p;
	struct error why = { 0 };

	*out = (struct plan_memory){ 0 };
	if (m->refused || t->absent || m->hub.kind == HUB_ONNX_FILE || plan_checkpoint(&c, &m->hub, NULL) != STATUS_OK)
		return;
	x.c = &c;
	machine_detect(&x.machine, &x.arena);
	// What cannot be drawn or shaped is told by the cell itself.
	if (predict(&p, &x, q->layers, t->options, NULL) == STATUS_OK) {
		out->predicted_bytes = p.resident_bytes;
		out->anonymous_bytes = p.anonymous_bytes;
		if (!q->force && predict_fits(&p, &x.machine, q->memory_bytes, &why) != STATUS_OK)
			out->refused = arena_printf(a, "%s%s", why.text, offer(&x, a, t->options));
	}
	checkpoint_close(&c);
	arena_done(&x.arena);
}
