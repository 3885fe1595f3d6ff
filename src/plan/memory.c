// SPDX-License-Identifier: Apache-2.0
// plan.h: does a cell fit this machine? Answered before synthetic weights are written, from the plan of them; and when it does
// not, what would.
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "artifact/artifact.h"
#include "backend/outline.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/pages.h"
#include "cell/asked.h"
#include "cell/predict.h"
#include "run/reference.h"

// Of a whole cell. To make more up, and to hash it, takes minutes: then it was the wrong number that was asked for.
static const uint64_t inputs_most = (uint64_t)2 << 30;

struct asking {
	struct arena arena;
	const struct checkpoint *c;
	const struct question *q;
	const struct target *target;
	const char *golden; // where inputs come from: named, or of the folder itself; NULL: they are synthetic
	struct machine machine;
	double deadline_ms; // no more is looked for then
};

// What is asked of the cell's memory. UNSUPPORTED when the model has fewer layers; 0: all.
struct variant {
	int64_t layers;
	const char *precision;
};

static enum status predict(struct prediction *out, struct asking *x, struct variant v, struct error *err)
{
	struct arena a = { 0 };
	struct checkpoint plan;
	struct input_hints hints;
	struct input_shape shape = { 0 };
	struct spec *spec;
	struct target t = *x->target;
	struct precise precise = { 0 };
	const char *golden = v.layers > 0 && !x->q->golden && !x->q->inputs ? NULL : x->golden;
	const bool generates = x->q->new_tokens > 0;
	enum status s = precision_parse(&precise, v.precision, err);

	if (s == STATUS_OK)
		s = arch_resolve(&spec, &a, x->c, err);
	t.options = platform_precision_options(&a, t.route, &precise, x->target->options);
	precise.by_engine = platform_precision(t.route, precise.precision)->quantises;
	if (platform_precision(t.route, precise.precision)->by != PRECISION_BY_GRAPH)
		precise = (struct precise){ 0 };
	if (s == STATUS_OK && v.layers > 0 && !arch_shorten(spec, v.layers))
		s = error_set(err, STATUS_UNSUPPORTED, "--layers %lld: the model has %lld", (long long)v.layers,
			(long long)arch_layers(spec));
	if (s == STATUS_OK) {
		arch_input_hints(spec, &hints);
		s = inputs_shape(&shape, &hints, x->q->batch,
			golden              ? 0
				: generates ? x->q->prompt_tokens + x->q->new_tokens
					    : x->q->sequence,
			err);
	}
	shape.image_size = x->q->image_size;
	shape.file = generates ? NULL : golden; // a prompt: its loop runs other graphs than the file's tensors are of
	if (s == STATUS_OK && golden)
		s = inputs_file_shape(&shape, golden, err);
	if (generates && golden)
		shape.sequence += x->q->new_tokens;
	if (s == STATUS_OK && x->c->weight_count == 0)
		s = predict_plan(&plan, &a, x->c, spec, synth_dtype(spec, DTYPE_NONE), err);
	bool too_much = s == STATUS_OK && x->c->weight_count == 0 && predict_least(out, &plan, &t, &x->machine);
	if (s == STATUS_OK && !too_much && x->c->weight_count == 0)
		s = predict_place(&plan, err);
	if (s == STATUS_OK && !too_much)
		s = predict_cell(out, spec, x->c->weight_count ? x->c : &plan, &t, &precise, &shape, x->q->new_tokens > 0, err);
	arena_done(&a);
	return s;
}

// What is taken must not end at the limit: of reduced weights up to a fiftieth more was seen than is predicted.
static bool fits(struct asking *x, struct variant v, struct prediction *p)
{
	if (clock_ms() >= x->deadline_ms || predict(p, x, v, NULL) != STATUS_OK)
		return false;
	if (!text_is(v.precision, x->q->precision)) {
		p->anonymous_bytes += p->anonymous_bytes / 20;
		p->required_bytes += p->required_bytes / 20;
	}
	return predict_fits(p, &x->machine, x->q->memory_bytes, NULL) == STATUS_OK;
}

static struct variant with_layers(const struct asking *x, int64_t layers)
{
	return (struct variant){ layers, x->q->precision };
}

// The most layers that fit; 0 when not even one does.
static int64_t most_layers(struct asking *x, struct prediction *p)
{
	int64_t low = 0, high = 1;

	for (; high <= 4096 && fits(x, with_layers(x, high), p); high *= 2)
		low = high;
	while (high - low > 1) {
		int64_t middle = (low + high) / 2;

		if (fits(x, with_layers(x, middle), p))
			low = middle;
		else
			high = middle;
	}
	if (low > 0)
		predict(p, x, with_layers(x, low), NULL);
	return low;
}

static void add_less(struct plan_memory *out, const struct asking *x, struct variant v, const struct prediction *p)
{
	out->less[out->less_count++] =
		(struct plan_less){ .precision = text_is(v.precision, x->q->precision) ? NULL : v.precision,
			.layers = v.layers == x->q->layers ? 0 : v.layers,
			.needed_bytes = x->q->memory_bytes > 0 ? p->anonymous_bytes : p->required_bytes,
			.resident_bytes = p->resident_bytes,
			.anonymous_bytes = p->anonymous_bytes,
			.stored_bytes = p->graph.stored_nbytes };
}

// The whole model in fewer bits first, the fewest bits last, then fewer of its layers.
static void find_less(struct plan_memory *out, struct asking *x)
{
	static const char *const precisions[] = { "bfloat16", "int8-weights", "int4-weights" };
	const bool is_reduced = precision_is_reduced(precision_find(x->q->precision));
	struct prediction p;

	for (size_t i = 0; i < sizeof precisions / sizeof *precisions && !is_reduced; i++) {
		const struct precision_way *way = platform_precision(x->target->route, precision_find(precisions[i]));
		const struct variant v = { x->q->layers, precisions[i] };

		// 16 bits by the graph need a kernel for each operator, which not every engine has: the cell would tell.
		if (way->by != PRECISION_BY_NOBODY && (i || way->by != PRECISION_BY_GRAPH) && fits(x, v, &p))
			add_less(out, x, v, &p);
	}
	const int64_t layers = x->q->golden || x->q->inputs ? 0 : most_layers(x, &p);

	if (layers > 0)
		add_less(out, x, with_layers(x, layers), &p);
}

static const char *less_words(struct arena *a, const struct plan_less *l, const struct question *q)
{
	return l->precision ? arena_printf(a, "--precision %s%s", l->precision,
				      text_is(l->precision, "bfloat16") ? ", the weights kept as stored" : "")
			    : arena_printf(a, "--layers %lld in %s", (long long)l->layers,
				      precision_is_reduced(precision_find(q->precision)) ? q->precision : "float32");
}

static const char *less_amount(struct arena *a, const struct plan_less *l, const struct question *q)
{
	const char *words = less_words(a, l, q);

	return arena_printf(a, "%s%s %s", words, strchr(words, ',') ? "," : "", predict_amount(a, l->needed_bytes));
}

// "; predicted to fit: --precision int8-weights 8.1 GiB, --layers 24 in float32 20.9 GiB; --fit takes the first of them, --force
// tries it all the same".
static const char *offer(struct plan_memory *out, struct asking *x, struct arena *a)
{
	const char *words = NULL;

	find_less(out, x);
	for (size_t i = 0; i < out->less_count; i++)
		words = arena_join(a, words, ", ", less_amount(a, &out->less[i], x->q));
	if (!words)
		return "; no precision in fewer bits and no number of layers is predicted to fit; --force tries it all the same";
	return arena_printf(a, "; predicted to fit: %s; --fit takes the first%s, --force tries it all the same", words,
		out->less_count > 1 ? " of them" : "");
}

// The file that a cell's inputs come from; NULL: they are synthetic.
static const char *golden_of(struct arena *a, const struct plan_model *m, const struct target *t, const struct question *q)
{
	struct cell c;

	plan_cell(&c, m, t, q);
	return q->new_tokens > 0 ? c.given : reference_golden(&c, a);
}

// Names of open dimensions whose numbers inputs have, sorted; of one that several have, the first input's.
struct named_dim {
	const char *name;
	int64_t number;
	size_t order;
};
struct named_dims {
	struct named_dim *at;
	size_t count;
};

static int by_name(const void *a, const void *b)
{
	const struct named_dim *x = a, *y = b;
	int d = strcmp(x->name, y->name);

	return d ? d : (x->order > y->order) - (x->order < y->order);
}

static struct named_dims named_dims(struct arena *a, const struct tensor_type *inputs, size_t count)
{
	struct named_dims out = { 0 };
	size_t room = 1, kept = 0;

	for (size_t i = 0; i < count; i++)
		room += (size_t)inputs[i].rank;
	out.at = ARENA_ARRAY(a, room, struct named_dim);
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < inputs[i].rank; k++)
			if (inputs[i].dim[k] >= 0 && inputs[i].symbol[k] && *inputs[i].symbol[k]) {
				out.at[out.count] = (struct named_dim){ inputs[i].symbol[k], inputs[i].dim[k], out.count };
				out.count++;
			}
	qsort(out.at, out.count, sizeof *out.at, by_name);
	for (size_t i = 0; i < out.count; i++)
		if (!kept || strcmp(out.at[kept - 1].name, out.at[i].name) != 0)
			out.at[kept++] = (struct named_dim){ out.at[i].name, out.at[i].number, 0 };
	out.count = kept;
	return out;
}

// The number that an open dimension of an .onnx file will have at least: of a name, what an input of that name has.
static int64_t least_dim(const struct tensor_type *t, int axis, const struct named_dims *names, const struct question *q)
{
	if (t->dim[axis] >= 0)
		return t->dim[axis];
	const struct named_dim *found = t->symbol[axis] && names->count
		? bsearch(&(struct named_dim){ .name = t->symbol[axis] }, names->at, names->count, sizeof *names->at, by_name)
		: NULL;
	return found ? found->number : inputs_names_batch(t->symbol[axis], axis) && q->batch > 0 ? q->batch : 1;
}

static uint64_t least_nbytes(const struct tensor_type *types, size_t n, const struct named_dims *names, const struct question *q)
{
	const uint64_t most = (uint64_t)1 << 60;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t nbytes = dtype_size(types[i].dtype);

		for (int k = 0; k < types[i].rank; k++) {
			uint64_t dim = (uint64_t)least_dim(&types[i], k, names, q);

			nbytes = dim && nbytes > most / dim ? most : nbytes * dim;
		}
		sum = nbytes < most - sum ? sum + nbytes : most;
	}
	return sum;
}

// Of an .onnx file what its inputs and outputs take at least, by the shapes that it declares and those that were asked for: the
// outputs once in the engine and once to be judged. False: it cannot be read, or was asked what it has not, which the cell tells.
static bool predict_declared(struct prediction *p, const char *path, const struct question *q)
{
	struct arena a = { 0 };
	struct asked_inputs asked;
	struct outline o;
	const unsigned lost = pages_lost();
	const uint8_t *map;
	size_t nbytes;
	bool known = file_map(&a, path, &map, &nbytes, NULL) == STATUS_OK &&
		outline_read(&o, &a, map, nbytes, NULL) == STATUS_OK && asked_parse(&asked, &a, q, NULL) == STATUS_OK &&
		asked_apply(&asked, o.inputs, o.input_count, &a, NULL) == STATUS_OK && pages_lost() == lost;

	if (known) {
		struct named_dims names = named_dims(&a, o.inputs, o.input_count);

		p->graph.input_nbytes = least_nbytes(o.inputs, o.input_count, &names, q);
		p->anonymous_bytes = p->required_bytes =
			p->graph.input_nbytes + 2 * least_nbytes(o.outputs, o.output_count, &names, q);
	}
	arena_done(&a);
	return known;
}

static void refuse(struct plan_memory *out, enum verdict why, const char *words)
{
	out->refused_as = why;
	out->refused = words;
}

void plan_memory(struct plan_memory *out, struct arena *a, const struct plan_model *m, const struct target *t,
	const struct question *q, const struct machine *host)
{
	const double begin = clock_ms(), timeout_s = plan_timeout_s(q);
	struct asking x = { .q = q, .target = t, .deadline_ms = begin + timeout_s * 1000 };
	struct checkpoint c = { 0 };
	struct prediction p = { 0 };
	struct error why = { 0 };

	*out = (struct plan_memory){ 0 };
	if (m->refused || t->absent)
		return;
	x.golden = golden_of(&x.arena, m, t, q);
	bool built = m->hub.kind != HUB_ONNX_FILE && plan_checkpoint(&c, &m->hub, NULL) == STATUS_OK;
	x.c = &c;
	machine_detect(&x.machine, &x.arena);
	if (host) {
		x.machine.memory_available_bytes = host->memory_available_bytes;
		x.machine.memory_limit_bytes = host->memory_limit_bytes;
	}
	// What cannot be built or shaped is told by the cell itself; what its inputs take is known without that.
	if (built && predict(&p, &x, (struct variant){ q->layers, q->precision }, NULL) == STATUS_OK) {
		out->predicted_bytes = p.resident_bytes;
		out->anonymous_bytes = p.anonymous_bytes;
	} else if (x.golden) {
		p.anonymous_bytes = p.required_bytes = inputs_file_nbytes(x.golden);
	} else if (m->hub.kind == HUB_ONNX_FILE && !predict_declared(&p, m->hub.path, q) && q->inputs) {
		p.anonymous_bytes = p.required_bytes = asked_nbytes(q);
	}
	if (!q->force && p.graph.input_nbytes > inputs_most && !asked_has_files(q))
		refuse(out, VERDICT_NO_MEMORY,
			arena_printf(a,
				"not tried: its inputs take %s (predicted), and %s of inputs are made; --force tries it all the "
				"same",
				predict_amount(a, p.graph.input_nbytes), predict_amount(a, inputs_most)));
	else if (!q->force && predict_fits(&p, &x.machine, q->memory_bytes, &why) != STATUS_OK)
		refuse(out, VERDICT_NO_MEMORY,
			arena_printf(a, "%s%s", why.text,
				out->predicted_bytes || p.is_least ? offer(out, &x, a) : "; --force tries it all the same"));
	out->took_ms = clock_ms() - begin;
	if (clock_ms() >= x.deadline_ms)
		refuse(out, VERDICT_TIMEOUT, arena_printf(a, "plan: not finished when the limit of %g s was over", timeout_s));
	checkpoint_close(&c);
	arena_done(&x.arena);
}

bool plan_fit_asked(struct question *q, const struct row *r)
{
	if (!r->fitted || !r->fit_asked_precision)
		return false;
	q->precision = text_is(r->fit_asked_precision, "stored") ? NULL : r->fit_asked_precision;
	q->layers = r->fit_asked_layers == ROW_NONE ? 0 : r->fit_asked_layers;
	return true;
}

enum status plan_fit(struct plan_model *m, struct question *q, struct plan_memory *memory, struct arena *a,
	const struct target *t, struct error *err)
{
	const struct plan_less *l = memory->less;
	struct plan_model less;

	if (!q->fit || !memory->refused || memory->refused_as != VERDICT_NO_MEMORY || !memory->less_count)
		return STATUS_OK;
	const char *what = less_words(a, l, q), *why = memory->refused + strlen("not tried: ");
	const char *asked = q->precision ? arena_printf(a, "in %s", q->precision) : "as stored";

	if (q->layers > 0)
		asked = arena_printf(a, "%s with --layers %lld", asked, (long long)q->layers);
	memory->asked_precision = q->precision ? q->precision : "stored";
	memory->asked_layers = q->layers > 0 ? q->layers : ROW_NONE;
	q->precision = l->precision ? l->precision : q->precision;
	q->layers = l->layers > 0 ? l->layers : q->layers;
	enum status s = plan_model_apart(&less, a, m->model, q, NULL, err);
	if (s)
		return s;
	less.identity = m->identity; // of the same files
	less.fingerprint = m->fingerprint;
	less.unwritten = less.makes_weights && l->precision &&
		platform_precision(t->route, precision_find(l->precision))->by == PRECISION_BY_GRAPH;
	memory->predicted_bytes = l->resident_bytes;
	memory->anonymous_bytes = l->anonymous_bytes;
	memory->refused = NULL;
	memory->fitted = arena_printf(a, "asked %s, which does not fit: %.*s; taken in its place (--fit): %s, %s predicted%s",
		asked, (int)strcspn(why, ";"), why, what, predict_amount(a, l->needed_bytes),
		less.unwritten ? "; its weights were made in this precision alone, so what it loses against float32 is not known"
			       : "");
	*m = less;
	return STATUS_OK;
}
