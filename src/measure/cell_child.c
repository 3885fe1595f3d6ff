// SPDX-License-Identifier: Apache-2.0
// The child's side of a cell. It tells each phase before it begins, so that whatever kills the process is told apart by
// where it happened; and it tells what it knows as soon as it is known, so that a cell that dies late keeps what it had.
//
//   build -> engine -> load -> inputs -> first -> memory -> warm -> outputs -> explain -> done
//
// "memory" is one more run with the parent sampling; in "warm" nobody samples, and between two runs there is nothing but
// two looks at the clock. "explain" comes last and may fail or die without harm: the answer is out by then.
#include "measure/cell.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "measure/child.h"
#include "measure/output_file.h"
#include "measure/request.h"
#include "measure/scratch.h"
#include "pipeline/inputs.h"

enum { RUNS_LEAST = 11, RUNS_MOST = 64 };
#define RUNS_NS ((int64_t)3000000000)

struct work {
	struct arena arena;
	struct request ask;
	const struct platform *platform;
	const struct backend *backend;
	struct checkpoint checkpoint;
	struct artifact artifact;
	struct input_hints hints;
	struct input_shape shape;
	struct device_list devices;
	const char *device;
	struct session session;
	bool is_open, shaped_by_sequence;
	struct tensor *drawn;                // as the graph declares them: order of artifact.inputs
	size_t drawn_count;
	struct tensor *in, *out;             // order of session.inputs and session.outputs
	char inputs_hash[65];
};

static void say_row(json_t *fields)
{
	if (!fields) {                       // json_pack refuses text that is not UTF-8: an engine's or a file's
		say_error(STATUS_FAILED, "a name or a message of the engine is not UTF-8");
		return;
	}
	json_object_set_new(fields, "event", json_string("row"));
	say(fields);
}

// ---- build --------------------------------------------------------------------------------------------------------------

static const char *form_text(struct arena *a, const struct graph_form *f)
{
	static const char *const linear[] = { "gemm", "fused-matmul", "matmul" };
	static const char *const attention[] = { "plain", "mha" };
	static const char *const gelu[] = { "gelu-erf", "gelu-op", "gelu-microsoft" };
	static const char *const norm[] = { "rms-plain", "rms-fused" };

	return arena_printf(a, "%s %s %s %s %s", f->is_static ? "static" : "dynamic", linear[f->linear], attention[f->attention], gelu[f->gelu],
		norm[f->norm]);
}

// Golden inputs decide the shapes.
static enum status golden_shape(struct work *w, struct error *err)
{
	struct arena a = { 0 };
	struct shard shard;
	struct weight *tensors;
	size_t count;
	enum status st = safetensors_open(&a, w->ask.golden, &shard, &tensors, &count, err);

	for (size_t i = 0; !st && i < count; i++) {
		if (!text_starts(tensors[i].name, "in.") || tensors[i].rank < 1)
			continue;
		w->shape.batch = tensors[i].dim[0];
		if (text_ends(tensors[i].name, "ids") && tensors[i].rank == 2)
			w->shape.sequence = tensors[i].dim[1];
	}
	arena_done(&a);
	return st;
}

static enum status decide_shape(struct work *w, struct error *err)
{
	enum status st = inputs_shape(&w->shape, &w->hints, w->ask.batch, w->ask.golden ? 0 : w->ask.sequence, err);

	return st || !w->ask.golden ? st : golden_shape(w, err);
}

static void free_graph(void *graph)
{
	graph_free(graph);
}

static void close_checkpoint(void *checkpoint)
{
	checkpoint_close(checkpoint);
}

static enum status draw(struct work *w, struct error *err)
{
	struct graph_form form = w->platform->form;
	struct graph *g;
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
	arch_input_hints(spec, &w->hints);
	if ((st = decide_shape(w, err)))
		return st;
	form.is_static = w->ask.is_static != 0;
	g = graph_new(&form);
	arena_defer(&w->arena, free_graph, g);
	if (form.is_static)
		inputs_bind(g, &w->hints, &w->shape);
	if ((st = artifact_build(&w->artifact, &w->arena, &w->checkpoint, spec, ARCH_WHOLE, g, err)))
		return st;
	if ((w->backend->caps & BACKEND_NEEDS_PATH) || artifact_needs_path(&w->artifact))
		st = artifact_place(&w->artifact, &w->arena, &w->checkpoint, err);
	say_row(json_pack("{s:s, s:I, s:s}", "form", form_text(&w->arena, &form), "nodes", (json_int_t)w->artifact.summary.node_count, "weights_dtype",
		w->artifact.weights_dtype ? dtype_word(w->artifact.weights_dtype) : "f32"));
	return st;
}

static enum status build(struct work *w, struct error *err)
{
	double begin = clock_ms();
	enum status st;

	say_phase("build");
	if (text_ends(w->ask.path, ".onnx")) {
		st = artifact_open_onnx(&w->artifact, &w->arena, w->ask.path, err);
		if (!st)
			st = decide_shape(w, err);
		say_row(json_pack("{s:s}", "form", "as given"));
	} else {
		st = draw(w, err);
	}
	if (st)
		return st;
	say_row(json_pack("{s:f, s:s?, s:s?, s:I}", "build_ms", clock_ms() - begin, "artifact_key", w->artifact.key, "placed_by", w->artifact.placed_by,
		"weights_bytes", (json_int_t)w->artifact.weights_nbytes));
	return STATUS_OK;
}

// ---- engine and load ----------------------------------------------------------------------------------------------------

// The value of "key=..." in "a=b,key=value,c=d"; later ones win, as in session_open. NULL when it is not there.
static const char *asked_option(struct arena *a, const char *options, const char *key)
{
	const char *found = NULL;
	size_t length = strlen(key);

	for (const char *at = options; at && *at;) {
		size_t n = strcspn(at, ",");

		if (n > length && !strncmp(at, key, length) && at[length] == '=')
			found = arena_strndup(a, at + length + 1, n - length - 1);
		at += n + (at[n] == ',');
	}
	return found;
}

static const char *amount(struct arena *a, double bytes)
{
	return bytes < 0x1p30 ? arena_printf(a, "%.0f MiB", bytes / 0x1p20) : arena_printf(a, "%.2f GiB", bytes / 0x1p30);
}

// The weights in the dtype that is computed in must fit, or trying would only push the machine into its swap.
static enum status predict_memory(struct work *w, struct error *err)
{
	const char *asked = asked_option(&w->arena, w->ask.options, "precision");
	enum dtype compute = asked && dtype_find(asked) ? dtype_find(asked) : DTYPE_F32;
	double weights = (double)w->artifact.weights_nbytes, allowed = (double)w->ask.memory_bytes, available;
	struct machine m;

	if ((w->backend->caps & BACKEND_SOFTWARE) || weights <= 0)
		return STATUS_OK;
	machine_detect(&m, &w->arena);
	available = (double)m.memory_available_bytes;
	if (dtype_size(w->artifact.weights_dtype) && dtype_size(compute) > dtype_size(w->artifact.weights_dtype))
		weights *= (double)dtype_size(compute) / (double)dtype_size(w->artifact.weights_dtype);
	if ((allowed > 0 && weights > allowed) || (available > 0 && weights > available))
		return error_set(err, STATUS_NO_MEMORY, "not tried: the weights need %s in %s, and %s", amount(&w->arena, weights), dtype_word(compute),
			allowed > 0 && weights > allowed ? arena_printf(&w->arena, "%s are allowed (--memory)", amount(&w->arena, allowed)) :
			arena_printf(&w->arena, "%s are available", amount(&w->arena, available)));
	return STATUS_OK;
}

static enum status open_engine(struct work *w, struct error *err)
{
	const struct device *d = NULL;
	enum status st;

	say_phase("engine");
	w->devices.arena = &w->arena;
	if ((st = backend_devices(w->backend, &w->devices, err)))
		return st;
	w->device = w->ask.device && *w->ask.device ? w->ask.device : w->platform->device;
	for (size_t i = 0; i < w->devices.count; i++)
		if (!w->device || !*w->device || !strcasecmp(w->devices.items[i].name, w->device)) {
			d = &w->devices.items[i];
			break;
		}
	say_row(json_pack("{s:s, s:s?, s:s?, s:s?, s:o}", "engine", w->backend->name, "engine_version", w->devices.version, "device", d ? d->name : w->device,
		"device_description", d ? d->description : NULL, "emulated", d ? json_boolean(d->emulated) : json_null()));
	if (d)
		w->device = d->name;
	return STATUS_OK;
}

static enum status load(struct work *w, struct error *err)
{
	const char *compute;
	double begin;
	enum status st;

	say_phase("load");
	begin = clock_ms();
	st = session_open(&w->session, w->backend, w->device, w->ask.options, &w->artifact, err);
	if (st)
		return st;
	w->is_open = true;
	compute = session_option(&w->session, "compute_dtype");
	say_row(json_pack("{s:f, s:O?, s:s, s:s}", "load_ms", clock_ms() - begin, "options", w->session.options, "compute_dtype", compute ? compute : "f32",
		"actual", w->platform->name));
	if (w->session.node_count >= 0 && !w->artifact.summary.node_count)
		say_row(json_pack("{s:I}", "nodes", (json_int_t)w->session.node_count));
	say_memory("load");
	return STATUS_OK;
}

// ---- inputs -------------------------------------------------------------------------------------------------------------

static enum status draw_inputs(struct work *w, struct error *err)
{
	const struct tensor_type *types = w->artifact.inputs ? w->artifact.inputs : w->session.inputs;
	size_t count = w->artifact.inputs ? w->artifact.input_count : w->session.input_count;
	enum status st;

	w->drawn = ARENA_ARRAY(&w->arena, count ? count : 1, struct tensor);
	w->drawn_count = count;
	if (w->ask.golden)
		st = inputs_file(&w->arena, types, count, w->ask.golden, w->drawn, err);
	else
		st = inputs_synthetic(&w->arena, types, count, &w->hints, &w->shape, (uint64_t)w->ask.seed, w->drawn, err);
	if (st)
		return st;
	for (size_t i = 0; i < count; i++)
		w->shaped_by_sequence |= w->drawn[i].rank == 2 && text_ends(w->drawn[i].name, "ids");
	inputs_hash(w->drawn, count, w->inputs_hash);
	say_row(json_pack("{s:s, s:I, s:o}", "inputs_hash", w->inputs_hash, "batch", (json_int_t)w->shape.batch, "sequence",
		w->shaped_by_sequence ? json_integer(w->shape.sequence) : json_null()));
	return STATUS_OK;
}

// As the engine counts them: another order, and inputs that nothing uses may be gone.
static enum status order_inputs(struct work *w, struct error *err)
{
	w->in = ARENA_ARRAY(&w->arena, w->session.input_count + 1, struct tensor);
	w->out = ARENA_ARRAY(&w->arena, w->session.output_count + 1, struct tensor);
	for (size_t i = 0; i < w->session.input_count; i++) {
		size_t k = 0;

		while (k < w->drawn_count && !text_is(w->drawn[k].name, w->session.inputs[i].name))
			k++;
		if (k == w->drawn_count)
			return error_set(err, STATUS_FAILED, "the engine asks for an input %s, which the graph does not declare", w->session.inputs[i].name);
		w->in[i] = w->drawn[k];
	}
	return STATUS_OK;
}

// ---- runs ---------------------------------------------------------------------------------------------------------------

static enum status run_once(struct work *w, struct error *err)
{
	return session_run(&w->session, w->in, w->session.input_count, w->out, w->session.output_count, err);
}

static enum status first_runs(struct work *w, struct error *err)
{
	double begin;
	enum status st;

	say_phase("first");
	begin = clock_ms();
	if ((st = run_once(w, err)))
		return st;
	say_row(json_pack("{s:f}", "first_ms", clock_ms() - begin));
	say_memory("first");
	say_phase("memory");
	if ((st = run_once(w, err)))
		return st;
	say_memory("memory");
	return STATUS_OK;
}

static enum status warm_runs(struct work *w, struct error *err)
{
	size_t most = w->ask.runs > 0 ? (size_t)w->ask.runs : RUNS_MOST, count = 0;
	int64_t *ns = ARENA_ARRAY(&w->arena, most, int64_t), begin;
	json_t *ms;
	enum status st;

	memset(ns, 1, most * sizeof *ns);                        // its pages are there before the clock runs
	say_phase("warm");
	if ((st = run_once(w, err)))                             // the parent is asleep again after this one
		return st;
	begin = clock_ns();
	while (count < most) {
		int64_t before = clock_ns(), after;

		if ((st = run_once(w, err)))
			return error_prefix(err, "timed run %zu", count + 1);
		after = clock_ns();
		ns[count++] = after - before;
		if (w->ask.runs <= 0 && count >= RUNS_LEAST && after - begin >= RUNS_NS)
			break;
	}
	say_phase("outputs");
	ms = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(ms, json_real((double)ns[i] / 1e6));
	say(json_pack("{s:s, s:o}", "event", "samples", "ms", ms));
	return STATUS_OK;
}

static enum status give_outputs(struct work *w, struct error *err)
{
	char shape[128];
	enum status st;

	if (w->ask.outputs_path && (st = outputs_write(&w->arena, w->ask.outputs_path, &w->session, w->out, err)))
		return st;
	if (w->session.output_count)
		say_row(json_pack("{s:s}", "output_shape", tensor_shape_text(w->out[0].rank, w->out[0].dim, shape, sizeof shape)));
	say(json_pack("{s:s}", "event", "outputs"));
	return STATUS_OK;
}

// ---- explain ------------------------------------------------------------------------------------------------------------

static void explain(struct work *w)
{
	struct placement p = { .arena = &w->arena, .on_platform = -1 };
	struct error err = { 0 };
	json_t *nodes;

	say_phase("explain");
	if (session_explain(&w->session, &w->artifact, w->in, w->session.input_count, &p, &err)) {
		struct text clean = { 0 };

		child_clean(&clean, err.text, strlen(err.text));
		say_row(json_pack("{s:s}", "placement_note", text_get(&clean)));
		text_done(&clean);
		return;
	}
	nodes = json_array();
	for (size_t i = 0; i < p.count; i++)
		json_array_append_new(nodes, json_pack("{s:s?, s:s?, s:s?, s:s?, s:b}", "name", p.nodes[i].name, "op", p.nodes[i].op, "where", p.nodes[i].where,
			"kernel", p.nodes[i].kernel, "fused", (int)p.nodes[i].fused_away));
	say(json_pack("{s:s, s:o}", "event", "placement", "nodes", nodes));
	if (!w->artifact.summary.node_count && p.count)          // a user's .onnx: the engine has counted them
		say_row(json_pack("{s:I}", "nodes", (json_int_t)p.count));
	say_row(json_pack("{s:o, s:o, s:s?}", "nodes_on_platform", p.on_platform < 0 ? json_null() : json_integer(p.on_platform), "nodes_fused",
		p.on_platform < 0 ? json_null() : json_integer(p.fused), "placement_note", p.note));
}

// ---- the two ways through -----------------------------------------------------------------------------------------------

static enum status measure(struct work *w, struct error *err)
{
	enum status st;

	if ((st = build(w, err)) || (st = predict_memory(w, err)) || (st = open_engine(w, err)) || (st = load(w, err)))
		return st;
	say_phase("inputs");
	if ((st = draw_inputs(w, err)) || (st = order_inputs(w, err)) || (st = first_runs(w, err)) || (st = warm_runs(w, err)) ||
	    (st = give_outputs(w, err)))
		return st;
	explain(w);
	return STATUS_OK;
}

static const char *reference_path(struct work *w)
{
	char hex[65];
	struct hash h;

	hash_init(&h);
	hash_add_text(&h, w->artifact.key ? w->artifact.key : w->ask.path);
	hash_add_text(&h, w->inputs_hash);
	hash_add_text(&h, w->ask.reference_name);
	hash_add_text(&h, w->devices.version ? w->devices.version : "");
	hash_hex(&h, hex);
	return arena_printf(&w->arena, "%s/%s.safetensors", w->ask.reference_folder, hex);
}

// One run, kept in the cache under everything that decides it. Another program may write the same file at the same time:
// each writes its own and renames.
static enum status make_reference(struct work *w, struct error *err)
{
	const char *path, *temporary;
	bool cached;
	enum status st;

	if ((st = build(w, err)) || (st = predict_memory(w, err)) || (st = open_engine(w, err)))
		return st;
	if (!w->artifact.inputs && (st = load(w, err)))          // a user's .onnx: only the engine knows the inputs
		return st;
	if ((st = draw_inputs(w, err)) || (st = file_mkdirs(w->ask.reference_folder, err)))
		return st;
	path = reference_path(w);
	cached = file_exists(path);
	if (!cached) {
		if ((!w->is_open && (st = load(w, err))) || (st = order_inputs(w, err)))
			return st;
		say_phase("first");
		if ((st = run_once(w, err)))
			return st;
		say_phase("outputs");
		scratch_sweep(w->ask.reference_folder);
		temporary = arena_printf(&w->arena, "%s.%d.part", path, (int)getpid());
		if ((st = outputs_write(&w->arena, temporary, &w->session, w->out, err)))
			return st;
		if (rename(temporary, path) < 0)
			return error_errno(err, "%s: cannot be renamed", temporary);
	}
	say(json_pack("{s:s, s:s, s:b}", "event", "reference", "path", path, "cached", (int)cached));
	return STATUS_OK;
}

// Engines say it in words.
static enum status told_status(const struct error *err)
{
	static const char *const words[] = { "bad_alloc", "Failed to allocate memory", "Cannot allocate memory", "out of memory", "Out of memory",
		"not enough memory" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (err->status == STATUS_FAILED && strstr(err->text, words[i]))
			return STATUS_NO_MEMORY;
	return err->status;
}

int cell_child(void)
{
	static struct work w;                                    // ends with the process
	struct error err = { 0 };
	struct text line = { 0 };
	enum status st = child_begin(&line, &err);

	if (!st)
		st = request_parse(&w.ask, &w.arena, text_get(&line), line.length, &err);
	text_done(&line);
	if (!st) {
		w.platform = w.ask.platform ? platform_find(w.ask.platform) : NULL;
		w.backend = w.platform && w.platform->engine ? backend_find(w.platform->engine) : NULL;
		if (!w.ask.path || !w.backend)
			st = error_set(&err, STATUS_BAD_INPUT, "the request names no model or no platform that an engine serves");
		else
			st = w.ask.reference_name ? make_reference(&w, &err) : measure(&w, &err);
	}
	if (st)
		say_error(told_status(&err), err.text);
	say_done();
	// Not exit(): engines' own threads and destructors have nothing left to say, and some of them crash here.
	_exit(0);
}
