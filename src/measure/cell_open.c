// SPDX-License-Identifier: Apache-2.0
// From a request to open sessions: the graphs are drawn and placed, the memory of a reference is predicted, the engine is loaded.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "measure/cell_work.h"
#include "measure/predict.h"

// ---- build --------------------------------------------------------------------------------------------------------------

static const char *form_text(struct arena *a, const struct graph_form *f)
{
	static const char *const linear[] = { "gemm", "fused-matmul", "matmul" };
	static const char *const attention[] = { "plain", "mha" };
	static const char *const gelu[] = { "gelu-erf", "gelu-op", "gelu-microsoft" };
	static const char *const norm[] = { "rms-plain", "rms-fused" };
	static const char *const cache[] = { "", " cache-shared" };

	return arena_printf(a, "%s %s %s %s %s%s", f->is_static ? "static" : "dynamic", linear[f->linear], attention[f->attention], gelu[f->gelu],
		norm[f->norm], cache[f->cache]);
}

static enum status decide_shape(struct work *w, struct error *err)
{
	enum status st = inputs_shape(&w->shape, &w->hints, w->ask.batch, w->ask.golden ? 0 : w->ask.sequence, err);

	return st || !w->ask.golden ? st : inputs_file_shape(&w->shape, w->ask.golden, err);
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
	static const enum arch_graph seq2seq[] = { ARCH_ENCODER, ARCH_DECODER, ARCH_DECODER_WITH_PAST };

	w->part[0].which = ARCH_WHOLE;
	if (w->ask.new_tokens > 0 && arch_has_graph(spec, ARCH_DECODER_WITH_PAST)) {
		w->part_count = 3;
		for (size_t i = 0; i < 3; i++)
			w->part[i].which = seq2seq[i];
	} else if (w->ask.new_tokens > 0 && !text_is(arch_head(spec), "causal-lm"))
		return error_set(err, STATUS_UNSUPPORTED, "--task generate: %s with the head %s does not generate", arch_model_type(spec), arch_head(spec));
	return STATUS_OK;
}

// References are plain: what is judged by one that was drawn alike is not judged.
static void choose_cache(struct work *w, const struct spec *spec, struct graph_form *form)
{
	const char *why;

	if (w->ask.new_tokens <= 0)
		return;
	if (w->target.platform->cache == CACHE_SHARED && w->part_count == 1 && !form->is_static && !w->ask.reference_name) {
		why = arch_unshared(spec);
		w->shares_cache = !why;
		if (why)
			say_row(json_pack("{s:s}", "cache_why", why));
	}
	form->cache = w->shares_cache ? CACHE_SHARED : CACHE_PLAIN;
	say_row(json_pack("{s:s}", "cache_form", w->shares_cache ? "shared" : "plain"));
}

static enum status draw_part(struct work *w, struct part *p, const struct spec *spec, const struct graph_form *form, struct error *err)
{
	struct graph *g = graph_new(form);
	enum status st;

	arena_defer(&w->arena, free_graph, g);
	if (form->is_static)
		inputs_bind(g, &w->hints, &w->shape);
	st = artifact_build(&p->artifact, &w->arena, &w->checkpoint, spec, p->which, g, err);
	if (!st && ((w->backend->caps & BACKEND_NEEDS_PATH) || artifact_needs_path(&p->artifact)))
		st = artifact_place(&p->artifact, &w->arena, &w->checkpoint, err);
	return st;
}

static enum status draw(struct work *w, struct error *err)
{
	struct graph_form form = w->target.platform->forms[w->form];
	struct spec *spec;
	enum status st = checkpoint_open(&w->checkpoint, w->ask.path, err);

	if (st)
		return st;
	arena_defer(&w->arena, close_checkpoint, &w->checkpoint);
	if ((st = arch_resolve(&spec, &w->arena, &w->checkpoint, err)))
		return st;
	say_row(json_pack("{s:s, s:s, s:s}", "model_type", arch_model_type(spec), "architecture", arch_architecture(spec), "head", arch_head(spec)));
	if (w->ask.layers > 0) {
		if (!arch_shorten(spec, w->ask.layers))
			return error_set(err, STATUS_BAD_INPUT, "--layers %lld: the model has fewer", (long long)w->ask.layers);
		say_row(json_pack("{s:I}", "layers", (json_int_t)w->ask.layers));
	}
	w->spec = spec;
	arch_input_hints(spec, &w->hints);
	if ((st = decide_shape(w, err)))
		return st;
	form.is_static |= w->ask.is_static != 0;
	if ((st = choose_parts(w, spec, err)))
		return st;
	choose_cache(w, spec, &form);
	for (size_t i = 0; i < w->part_count; i++)
		if ((st = draw_part(w, &w->part[i], spec, &form, err)))
			return w->part_count > 1 ? error_prefix(err, "%s", arch_graph_file(w->part[i].which)) : st;
	say_row(json_pack("{s:s, s:I, s:s}", "form", form_text(&w->arena, &form), "nodes", (json_int_t)w->part->artifact.summary.node_count, "weights_dtype",
		w->part->artifact.weights_dtype ? dtype_word(w->part->artifact.weights_dtype) : "f32"));
	return st;
}

enum status work_build(struct work *w, struct error *err)
{
	double begin = clock_ms();
	enum status st;

	say_phase("build");
	if (text_ends(w->ask.path, ".onnx")) {
		st = artifact_open_onnx(&w->part->artifact, &w->arena, w->ask.path, err);
		if (!st)
			st = decide_shape(w, err);
		say_row(json_pack("{s:s, s:s?}", "form", "as given", "cache_form", w->ask.new_tokens > 0 ? "plain" : NULL));
	} else {
		st = draw(w, err);
	}
	if (st)
		return st;
	say_row(json_pack("{s:f, s:s?, s:s?, s:I}", "build_ms", clock_ms() - begin, "artifact_key", w->part->artifact.key, "placed_by", w->part->artifact.placed_by,
		"weights_bytes", (json_int_t)w->part->artifact.weights_nbytes));
	return STATUS_OK;
}

// ---- engine and load ----------------------------------------------------------------------------------------------------

// Nobody has asked yet whether a reference fits: it may need more than the cell that it judges.
enum status work_check_memory(struct work *w, struct error *err)
{
	struct prediction p;
	struct machine m;

	if (!w->spec || w->ask.force)
		return STATUS_OK;
	enum status st = predict_cell(&p, w->spec, &w->checkpoint, &w->target, &w->shape, w->ask.new_tokens > 0, err);
	if (st)
		return st;
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
		if (text_is(w->devices.items[i].provider, w->provider->name) && !strcasecmp(w->devices.items[i].name, w->target.device))
			d = &w->devices.items[i];
	if (d)
		w->target.device = d->name;
	w->device = d;
	say_row(json_pack("{s:s, s:s?, s:s, s:s?, s:o}", "engine", w->backend->name, "engine_version", w->devices.version, "device", w->target.device,
		"device_description", d ? d->description : NULL, "emulated", d ? json_boolean(d->emulated) : json_null()));
	return !d && why ? error_set(err, STATUS_UNAVAILABLE, "%s", why) : STATUS_OK;
}

enum status work_load(struct work *w, struct error *err)
{
	const char *compute;
	double begin;
	enum status st;

	say_phase("load");
	begin = clock_ms();
	for (size_t i = 0; i < w->part_count; i++)
		if ((st = session_open(&w->part[i].session, w->backend, w->provider, w->target.device, w->ask.options, &w->part[i].artifact, err)))
			return w->part_count > 1 ? error_prefix(err, "%s", arch_graph_file(w->part[i].which)) : st;
	w->is_open = true;
	compute = session_option(&w->part->session, "compute_dtype");
	say_row(json_pack("{s:f, s:O?, s:s, s:s}", "load_ms", clock_ms() - begin, "options", w->part->session.options, "compute_dtype", compute ? compute : "f32",
		"actual", w->target.platform->name));
	if (w->part->session.node_count >= 0 && !w->part->artifact.summary.node_count)
		say_row(json_pack("{s:I}", "nodes", (json_int_t)w->part->session.node_count));
	say_memory("load");
	return STATUS_OK;
}

enum status work_reopen_plain(struct work *w, struct error *err)
{
	struct part *p = w->part;
	struct graph_form form = w->target.platform->forms[w->form];
	const char *as_they_lie = "prepacking=off", *options = w->ask.options;
	struct error unknown;
	enum status st;

	if (!backend_check_options(w->backend, w->provider, as_they_lie, &unknown))
		options = options && *options ? arena_printf(&w->arena, "%s,%s", options, as_they_lie) : as_they_lie;
	session_close(&p->session);
	if ((st = draw_part(w, p, w->spec, &form, err)))
		return st;
	return session_open(&p->session, w->backend, w->provider, w->target.device, options, &p->artifact, err);
}
