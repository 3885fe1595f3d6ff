// SPDX-License-Identifier: Apache-2.0
// From a request to open sessions: the graphs are built and placed, the memory of a reference is predicted, the engine is loaded.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "backend/cause.h"
#include "backend/compiled.h"
#include "backend/outline.h"
#include "base/clock.h"
#include "cell/say.h"
#include "cell/work.h"
#include "cell/predict.h"

enum { SEQUENCE_EMULATED = 16 };

// ---- build --------------------------------------------------------------------------------------------------------------

// An emulator takes seconds for what the hardware does in milliseconds: where no length was asked for, a short one is enough.
static int64_t usual_sequence(const struct work *w)
{
	int64_t most = w->hints.max_sequence, n = SEQUENCE_EMULATED + w->hints.image_tokens;

	return !w->device || !w->device->emulated ? 0 : most > 0 && n > most ? most : n;
}

// The question is still that of the usual length: `asked_sequence` keeps it where the input is shorter.
static enum status decide_shape(struct work *w, struct error *err)
{
	int64_t sequence = w->ask.golden ? 0 : w->ask.sequence > 0 ? w->ask.sequence : usual_sequence(w);
	struct input_shape usual;
	enum status st = inputs_shape(&w->shape, &w->hints, w->ask.batch, sequence, err);

	if (!st && !w->ask.golden && w->ask.sequence <= 0 && !(st = inputs_shape(&usual, &w->hints, w->ask.batch, 0, err)) &&
		w->shape.sequence < usual.sequence)
		w->asked_sequence = usual.sequence;
	if (!st && w->ask.golden)
		st = inputs_file_shape(&w->shape, w->ask.golden, err);
	if (!st && w->ask.golden) // longer than the model has positions for: before memory is taken for it
		st = inputs_shape(&usual, &w->hints, 0, w->shape.sequence, err);
	w->shape.image_size = w->ask.image_size;
	if (!st)
		say(json_pack("{s:s, s:I}", "event", "shape", "sequence", (json_int_t)w->shape.sequence));
	return st;
}

static void free_graph(void *graph)
{
	graph_free(graph);
}

static void close_checkpoint(void *checkpoint)
{
	checkpoint_close(checkpoint);
}

static enum status choose_parts(struct work *w, const struct spec *spec, struct error *err)
{
	const struct arch_graph *loop[ARCH_STEPS_MOST];

	w->part[0].which = &arch_whole;
	if (w->ask.new_tokens <= 0)
		return STATUS_OK;
	w->part_count = arch_graphs_of_loop(spec, loop);
	for (size_t i = 0; i < w->part_count; i++)
		w->part[i].which = loop[i];
	if (w->part_count == 1 && !text_is(arch_head(spec), "causal-lm") && !text_is(arch_head(spec), "conditional-generation"))
		return error_set(err, STATUS_UNSUPPORTED, "--task generate: %s with the head %s does not generate",
			arch_model_type(spec), arch_head(spec));
	return STATUS_OK;
}

// References are plain: what is judged by one that was built alike is not judged.
static void choose_cache(struct work *w, const struct spec *spec, struct graph_form *form)
{
	const char *why;

	if (w->ask.new_tokens <= 0)
		return;
	if (w->target.platform->cache == CACHE_SHARED && (w->backend->caps & BACKEND_WRITES_IN_PLACE) && w->part_count == 1 &&
		!form->is_static && !w->ask.reference_name) {
		why = arch_unshared(spec);
		w->shares_cache = !why;
		if (why)
			say_row(json_pack("{s:s}", "cache_why", why));
	}
	form->cache = w->shares_cache ? CACHE_SHARED : CACHE_PLAIN;
	say_row(json_pack("{s:s}", "cache_form", w->shares_cache ? "shared" : "plain"));
}

// The graphs of all parts, their weights converted together where a precision asks for it.
static enum status build_parts(struct work *w, const struct graph_form *form, struct error *err)
{
	enum { MOST = sizeof w->part / sizeof w->part[0] };
	struct artifact artifacts[MOST] = { { 0 } };
	const struct arch_graph *which[MOST];
	struct graph *graphs[MOST];
	struct conversion made;
	enum status st;

	for (size_t i = 0; i < w->part_count; i++) {
		which[i] = w->part[i].which;
		graphs[i] = graph_new(form);
		arena_defer(&w->arena, free_graph, graphs[i]);
		if (form->is_static)
			inputs_bind(graphs[i], &w->hints, &w->shape);
		else
			inputs_bind_image(graphs[i], &w->shape);
	}
	const struct artifact_set set = { w->part_count, which, graphs, artifacts };
	if ((st = artifact_build_all(&set, &w->arena, &w->checkpoint, w->spec, &made, err)))
		return st;
	if ((st = work_say_precision(w, graphs, &made, err)))
		return st;
	for (size_t i = 0; i < w->part_count; i++) {
		w->part[i].artifact = artifacts[i];
		if (which[i] == &arch_whole &&
			(st = inputs_check_image(artifacts[i].inputs, artifacts[i].input_count, &w->hints, &w->shape, err)))
			return st;
		if ((st = backend_prepare(w->backend, &w->part[i].artifact, &w->arena, &w->checkpoint, err)))
			return w->part_count > 1 ? error_prefix(err, "%s", which[i]->file) : st;
	}
	return STATUS_OK;
}

// What does not depend on the form, once.
static enum status resolve(struct work *w, struct error *err)
{
	struct spec *spec;
	enum status st = checkpoint_open(&w->checkpoint, w->ask.path, err);

	if (st)
		return st;
	arena_defer(&w->arena, close_checkpoint, &w->checkpoint);
	double begin = clock_ms();
	st = checkpoint_digest(&w->checkpoint, NULL, err);
	w->identify_ms += clock_ms() - begin;
	if (st)
		return st;
	if ((st = arch_resolve(&spec, &w->arena, &w->checkpoint, err)))
		return st;
	say_row(json_pack("{s:s, s:s, s:s}", "model_type", arch_model_type(spec), "architecture", arch_architecture(spec), "head",
		arch_head(spec)));
	if (w->checkpoint.weights_from)
		say_row(json_pack("{s:s}", "weights_from", w->checkpoint.weights_from));
	if (w->ask.layers > 0) {
		if (!arch_shorten(spec, w->ask.layers))
			return error_set(err, STATUS_BAD_INPUT, "--layers %lld: the model has %lld", (long long)w->ask.layers,
				(long long)arch_layers(spec));
		say_row(json_pack("{s:I}", "layers", (json_int_t)w->ask.layers));
	}
	arch_input_hints(spec, &w->hints);
	if ((st = decide_shape(w, err)) || (st = choose_parts(w, spec, err)))
		return st;
	w->spec = spec;
	return STATUS_OK;
}

static struct graph_form form_now(const struct work *w)
{
	struct graph_form form = w->forms.item[w->forms.at];

	form.precise = w->precise;
	form.ranges = w->ranges;
	form.range_count = w->range_count;
	form.watches_ranges = w->ask.calibrate > 0;
	if (form.watches_ranges) // an expert that no token chose would have no range
		form.experts = EXPERTS_ALL;
	if (w->ask.new_tokens > 0) // torch's choice goes by the length, and is another one with a cache than without
		form.torch_ties = false;
	return form;
}

// What a user's file holds: assay did not build it.
static enum status weigh(struct work *w, struct error *err)
{
	struct artifact *art = &w->part->artifact;
	struct outline_weights weights;
	enum status st = outline_weights(&weights, art->graph, art->graph_nbytes, err);

	if (st)
		return st;
	art->weights_nbytes = weights.nbytes;
	art->weights_dtype = weights.dtype;
	if (weights.dtype)
		say_row(json_pack("{s:s}", "weights_dtype", dtype_word(weights.dtype)));
	if (weights.layers > 0)
		say_row(json_pack("{s:I}", "layers", (json_int_t)weights.layers));
	return STATUS_OK;
}

static enum status build_form(struct work *w, struct error *err)
{
	struct graph_form form = form_now(w);
	enum status st = w->spec ? STATUS_OK : resolve(w, err);
	json_int_t nodes = 0;

	if (st)
		return st;
	arch_settle_form(w->spec, &form);
	w->built_form = form;
	if (form.is_static && w->ask.new_tokens > 0)
		return error_set(err, STATUS_UNSUPPORTED,
			"--task generate: in this form of the graph every shape is a number, and a cache grows with each token");
	choose_cache(w, w->spec, &form);
	form.logits_chosen = w->ask.new_tokens > 0 && w->part_count == 1 && !w->ask.reference_name;
	w->built_form = form;
	if ((st = build_parts(w, &form, err)))
		return st;
	for (size_t i = 0; i < w->part_count; i++)
		nodes += (json_int_t)w->part[i].artifact.summary.node_count;
	say_row(json_pack("{s:s, s:I, s:s}", "form", graph_form_text(&w->arena, &form), "nodes", nodes, "weights_dtype",
		w->part->artifact.weights_dtype ? dtype_word(w->part->artifact.weights_dtype) : "f32"));
	return st;
}

// Which tables the inputs of a user's .onnx index: what integers it can be given. Of a file that is not readable the engine says
// so.
static void find_tables(struct work *w)
{
	const struct artifact *art = &w->part->artifact;
	struct outline *o = &w->outline;

	if (outline_read(o, &w->arena, art->graph, art->graph_nbytes, NULL))
		return;
	struct input_table *tables = ARENA_ARRAY(&w->arena, o->input_count + 1, struct input_table);
	int64_t *rows = ARENA_ARRAY(&w->arena, o->input_count + 1, int64_t);
	outline_tables(o, art->graph, art->graph_nbytes, rows);
	for (size_t i = 0; i < o->input_count; i++)
		tables[i] = (struct input_table){ o->inputs[i].name, rows[i] };
	w->hints.tables = tables;
	w->hints.table_count = o->input_count;
	w->hints.pad_token_id = -1;
	w->hints.max_sequence = inputs_positions(&w->hints);
	outline_arithmetic(&w->given, o, &w->arena, art->graph, art->graph_nbytes);
	say(json_pack("{s:s, s:I}", "event", "given", "arithmetic", (json_int_t)w->given.of));
}

static enum status open_onnx(struct work *w, struct error *err)
{
	enum status st = artifact_open_onnx(&w->part->artifact, &w->arena, w->ask.path, err);
	double begin = clock_ms();

	// By its whole path: engines are called from the root folder.
	cause_set_file(st ? w->ask.path : w->part->artifact.graph_path);
	if (!st)
		st = artifact_identify(&w->part->artifact, &w->arena, NULL, err);
	if (!st)
		find_tables(w);
	w->identify_ms += clock_ms() - begin;
	return st;
}

// Of a user's .onnx where the form has fixed shapes: the inputs are made before the load, and the graph gets their shapes.
static enum status fix_shapes(struct work *w, struct error *err)
{
	const struct graph_form form = w->forms.item[w->forms.at];
	enum status st;

	if (!form.is_static || w->ask.new_tokens > 0 || !w->outline.input_count)
		return STATUS_OK;
	if ((st = work_make_tensors(w, w->outline.inputs, w->outline.input_count, err)) ||
		(st = artifact_fix_shapes(&w->part->artifact, &w->arena, w->made, w->made_count, err)))
		return st;
	w->built_form.is_static = true;
	return STATUS_OK;
}

static enum status build(struct work *w, struct error *err)
{
	double begin = clock_ms(), apart = w->convert_ms + w->identify_ms;
	enum status st;

	say_phase("build");
	if ((st = work_choose_precision(w, err)))
		return st;
	if (text_ends(w->ask.path, ".onnx")) {
		st = open_onnx(w, err);
		if (!st && w->ask.image_size > 0)
			st = error_set(
				err, STATUS_UNSUPPORTED, "--image-size: assay did not build this graph and does not change it");
		if (!st)
			st = weigh(w, err);
		if (!st)
			st = decide_shape(w, err);
		if (!st)
			st = fix_shapes(w, err);
		if (!st)
			st = backend_prepare(w->backend, &w->part->artifact, &w->arena, NULL, err);
		say_row(json_pack("{s:s, s:s?}", "form", w->part->artifact.fixed ? "as given, static" : "as given", "cache_form",
			w->ask.new_tokens > 0 ? "plain" : NULL));
	} else {
		st = build_form(w, err);
	}
	if (st)
		return st;
	say_row(json_pack("{s:f, s:s?, s:s?, s:I}", "build_ms", clock_ms() - begin - (w->convert_ms + w->identify_ms - apart),
		"artifact_key", w->part->artifact.key, "placed_by", w->part->artifact.placed_by, "weights_bytes",
		(json_int_t)w->part->artifact.weights_nbytes));
	if (!w->ask.reference_name)
		work_say_cost(w);
	return STATUS_OK;
}

// What failed was a file or the machine: the verdict is the same as of an engine's error, so the cause says that it was none.
enum status work_build(struct work *w, struct error *err)
{
	enum status st = build(w, err);

	return st == STATUS_FAILED ? error_prefix(err, "before any engine was asked") : st;
}

// ---- engine and load ----------------------------------------------------------------------------------------------------

// Whether a reference fits is not known yet: it may need more than the cell that it judges.
enum status work_check_memory(struct work *w, struct error *err)
{
	struct prediction p;
	struct machine m;

	if (!w->spec || w->ask.force)
		return STATUS_OK;
	enum status st =
		predict_cell(&p, w->spec, &w->checkpoint, &w->target, &w->precise, &w->shape, w->ask.new_tokens > 0, err);
	if (st)
		return st;
	if (w->ask.limit_bytes > 0 && p.anonymous_bytes > (uint64_t)w->ask.limit_bytes)
		return error_set(err, STATUS_NO_MEMORY,
			"not tried: it needs %s of anonymous memory (predicted), and it would be ended at %s",
			predict_amount(&w->arena, p.anonymous_bytes), predict_amount(&w->arena, (uint64_t)w->ask.limit_bytes));
	machine_detect(&m, &w->arena);
	return predict_fits(&p, &m, w->ask.memory_bytes, err);
}

enum status work_open_engine(struct work *w, struct error *err)
{
	const struct device *d = NULL;
	const char *why = NULL;
	enum status st;

	say_phase("engine");
	w->devices.arena = &w->arena;
	if ((st = backend_devices(w->backend, w->provider->build, &w->devices, err)))
		return st;
	for (size_t i = 0; i < w->devices.absent_count; i++)
		if (text_is(w->devices.absent[i].provider, w->provider->name))
			why = w->devices.absent[i].reason;
	for (size_t i = 0; i < w->devices.count && !d; i++)
		if (text_is(w->devices.items[i].provider, w->provider->name) &&
			!strcasecmp(w->devices.items[i].name, w->target.device))
			d = &w->devices.items[i];
	if (d)
		w->target.device = d->name;
	w->device = d;
	say_row(json_pack("{s:s, s:s?, s:s, s:s?, s:o}", "engine", w->backend->name, "engine_version", w->devices.version,
		"device", w->target.device, "device_description", d ? d->description : NULL, "emulated",
		d ? json_boolean(d->emulated) : json_null()));
	return !d && why ? error_set(err, STATUS_UNAVAILABLE, "%s", why) : STATUS_OK;
}

bool work_compiles_only(const struct work *w)
{
	return w->part->session.compiles_only || (w->device && w->device->compiles_only);
}

static const char *asked_provider(const struct work *w)
{
	const char *provider = session_option(&w->part->session, "provider");

	return provider ? provider : w->provider->name;
}

// By the engine's own clock where it has one: to start a browser is not to load a model.
static double load_took(const struct work *w, double ms)
{
	int64_t ns = 0;

	for (size_t i = 0; i < w->part_count; i++) {
		if (w->part[i].session.open_ns <= 0)
			return ms;
		ns += w->part[i].session.open_ns;
	}
	return (double)ns / 1e6;
}

// --as-shipped: below all options that were asked for by name.
static enum status ask_shipped(struct work *w, struct error *err)
{
	const char *others = w->ask.options && *w->ask.options ? arena_printf(&w->arena, ",%s", w->ask.options) : "";

	if (!w->ask.as_shipped || w->shipped_asked)
		return STATUS_OK;
	if (!w->provider->shipped)
		return error_set(err, STATUS_UNSUPPORTED,
			"--as-shipped: what %s does when nothing is set is not known to assay on %s; it is on cpu and openvino",
			w->backend->name, w->target.platform->name);
	w->ask.options = arena_printf(&w->arena, "%s%s", w->provider->shipped, others);
	w->shipped_asked = true;
	return STATUS_OK;
}

// Is option `name` in "name=value,name=value"?
static bool names_option(const char *options, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = options; *at; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, name, n) && at[n] == '=')
			return true;
	return false;
}

// "threads=3 (asked), precision=bf16": of the options that --as-shipped leaves to the engine, what they came to. One that stands
// behind them in the options was asked for, and is none of its defaults.
static void say_shipped(struct work *w)
{
	struct text t = { 0 };

	for (const char *at = w->ask.as_shipped ? w->provider->shipped : ""; *at;) {
		const size_t length = strcspn(at, ","), n = strcspn(at, "=");
		const char *name = arena_strndup(&w->arena, at, n), *value = session_option(&w->part->session, name);

		text_addf(&t, "%s%s=%s%s", t.length ? ", " : "", name,
			!value || text_is(value, "default") ? "its own, which it does not tell" : value,
			names_option(w->ask.options + strlen(w->provider->shipped), name) ? " (asked)" : "");
		at += length + (at[length] == ',');
	}
	if (t.length)
		say_row(json_pack("{s:s}", "shipped_defaults", text_get(&t)));
	text_done(&t);
}

// --threads, as an option of the engine over all others.
static enum status ask_threads(struct work *w, struct error *err)
{
	const long long n = w->ask.threads;
	const char *others = w->ask.options && *w->ask.options ? arena_printf(&w->arena, "%s,", w->ask.options) : "";

	if (n <= 0 || w->threads_asked)
		return STATUS_OK;
	if (!w->provider->threads)
		return error_set(err, STATUS_UNSUPPORTED, "--threads %lld: %s has no number of threads that could be set", n,
			w->target.platform->name);
	w->ask.options = arena_printf(&w->arena, "%s%s=%lld", others, w->provider->threads, n);
	w->threads_asked = true;
	return STATUS_OK;
}

// What the engine says it runs on, in the row; another number than was asked for is no answer to the question.
static enum status check_threads(struct work *w, struct error *err)
{
	const long long n = w->ask.threads;
	const char *name = w->provider->threads_told ? w->provider->threads_told : w->provider->threads;
	const char *told = n > 0 ? session_option(&w->part->session, name) : NULL;
	int64_t confirmed;

	if (n <= 0)
		return STATUS_OK;
	if (!told || !text_to_int(told, 0, 1 << 20, &confirmed))
		return error_set(err, STATUS_UNSUPPORTED, "--threads %lld: %s on %s does not say that it took it", n,
			w->backend->name, w->target.device);
	say_row(json_pack("{s:I}", "threads", (json_int_t)confirmed));
	return confirmed == n ? STATUS_OK
			      : error_set(err, STATUS_UNSUPPORTED, "--threads %lld: %s on %s runs on %lld", n, w->backend->name,
					w->target.device, (long long)confirmed);
}

// Runs, a scenario, an effort, cycles, a delay or others beside it that are named are wanted, of an emulator too.
static bool asks_for_time(const struct request *r)
{
	return r->runs > 0 || r->scenario || r->effort || r->cycles > 0 || r->delay_s > 0 || r->together;
}

enum status work_load(struct work *w, struct error *err)
{
	const char *compute;
	double begin, aside;
	enum status st;

	if ((st = ask_shipped(w, err)) || (st = ask_threads(w, err)))
		return st;
	work_energy_idle(w);
	work_device_memory_begin(w);
	say_phase("load");
	begin = clock_ms();
	aside = compiled_aside_ms();
	for (size_t i = 0; i < w->part_count; i++)
		if ((st = session_open(&w->part[i].session, w->backend, w->provider, w->target.device, w->ask.options,
			     &w->part[i].artifact, err)))
			return w->part_count > 1 ? error_prefix(err, "%s", w->part[i].which->file) : st;
	w->is_open = true;
	w->is_quick = w->device && w->device->emulated && !asks_for_time(&w->ask);
	w->load_ms = load_took(w, clock_ms() - begin - (compiled_aside_ms() - aside));
	compute = work_confirmed_dtype(w);
	say_row(json_pack("{s:f, s:O?, s:s?, s:s?, s:s}", "load_ms", w->load_ms, "options", w->part->session.options,
		"compute_dtype", compute ? work_computes_in(w, &w->part->session, compute) : NULL, "actual",
		work_compiles_only(w) ? NULL : w->target.platform->name, "provider", asked_provider(w)));
	if (w->part->session.node_count >= 0 && !w->part->artifact.summary.node_count)
		say_row(json_pack("{s:I}", "nodes", (json_int_t)w->part->session.node_count));
	if (w->part->session.adapter)
		say_row(json_pack("{s:O}", "adapter", w->part->session.adapter));
	if (w->part->session.emulated)
		say_row(json_pack("{s:b}", "emulated", w->part->session.emulated > 0));
	say_shipped(w);
	work_memory(w, "load");
	st = check_threads(w, err);
	return st ? st : work_check_precision(w, err);
}

// ---- one form after the other -------------------------------------------------------------------------------------------

static enum status try_form(struct work *w, bool *of_form, struct error *err)
{
	enum status st = work_build(w, err);

	if (!st)
		st = work_load(w, err);
	if (!st)
		return w->ask.no_fallback ? work_check_fallback(w, of_form, err) : STATUS_OK;
	*of_form = forms_refused(&w->arena, &w->target, w->spec != NULL, err);
	return st;
}

enum status work_open(struct work *w, struct error *err)
{
	struct error first = { 0 };

	if (!w->forms.count)
		return error_set(err, STATUS_UNSUPPORTED, "%s takes fixed shapes only", w->target.platform->name);
	for (;;) {
		struct error why = { 0 };
		bool of_form = false;
		enum status st = try_form(w, &of_form, &why);

		if (!st) {
			say(json_pack("{s:s, s:I}", "event", "form", "index", (json_int_t)w->forms.index[w->forms.at]));
			return STATUS_OK;
		}
		// A user's .onnx has the form that it has; fixed shapes that were guessed may be none that it takes.
		if (!w->spec) {
			if (w->guess.number == 0)
				first = why;
			if (w->part->artifact.fixed)
				work_hint_shapes(w, true);
			if (!w->part->artifact.fixed || st != STATUS_FAILED || w->guess.number + 1 >= w->guess.count)
				return error_copy(err, w->guess.number ? first.status : st, &first);
			w->refused_guess = arena_strdup(&w->arena, first.text);
			w->guess.number++;
		} else if (!of_form ||
			!forms_next(&w->forms, &w->arena, &w->target, graph_form_text(&w->arena, &w->built_form), &why)) {
			return error_copy(err, st, &why);
		} else {
			say_row(json_pack("{s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "form_why", w->forms.why, "actual",
				"nodes_on_platform", "nodes_elsewhere", "partitions", "copies", "refused", "fallback_reason"));
		}
		for (size_t i = 0; i < w->part_count; i++) {
			session_close(&w->part[i].session);
			w->part[i] = (struct part){ .which = w->part[i].which };
		}
		w->is_open = false;
	}
}

enum status work_reopen_plain(struct work *w, struct error *err)
{
	struct part *p = w->part;
	struct graph_form form = form_now(w);
	const char *as_they_lie = "prepacking=off", *options = w->ask.options;
	struct error unknown;
	enum status st;

	if (!backend_check_options(w->backend, w->provider, as_they_lie, &unknown))
		options = options && *options ? arena_printf(&w->arena, "%s,%s", options, as_they_lie) : as_they_lie;
	session_close(&p->session);
	if ((st = build_parts(w, &form, err)))
		return st;
	return session_open(&p->session, w->backend, w->provider, w->target.device, options, &p->artifact, err);
}
