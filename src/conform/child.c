// SPDX-License-Identifier: Apache-2.0
// The child's side of a conformance run: the engine is loaded once, each case is built, opened, run and judged by itself, and
// answered with one line. A case that kills the process is known by the "start" line before it.
#include "conform/case.h"
#include "conform/stored.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/inside.h"
#include "backend/cause.h"
#include "base/file.h"
#include "base/json.h"
#include "base/visible.h"
#include "cell/say.h"
#include "run/child.h"
#include "cell/form.h"
#include "cell/placed.h"
#include "run/reference.h"
#include "question/request.h"
#include "cell/inputs.h"

struct case_work {
	const char *folder; // the case's
	struct arena arena;
	struct checkpoint checkpoint;
	struct artifact artifact;
	struct session session;
	struct graph *graph;
	struct row row;
	int64_t elsewhere; // nodes that were not on the platform; -1: not known
	const char *note;
	struct spec *spec; // NULL: the model was not understood
	bool is_open;      // the engine took the form
	const char *form;  // in words
	bool differs;      // it ran, and what it gave is wrong
	bool took_none;    // it ran, and no node of it on the platform
	bool untaken;      // nothing could be said of it
	const char *made;  // the folder of the cache that was made of the case; NULL: none yet
	json_t *graphs;    // of a whole pipeline: where they ran (struct pipeline_placement); NULL
};

// A graph with fixed shapes: those that the case's inputs have, which a dynamic one declares by name.
static enum status bind(struct case_work *w, const struct arch_graph *which, const struct graph_form *form, struct error *err)
{
	struct graph_form open = *form;
	struct artifact dynamic;
	struct graph *shaped;
	struct tensor *in;
	enum status st;

	open.is_static = false;
	shaped = graph_new(&open);
	if (!(st = artifact_build(&dynamic, &w->arena, &w->checkpoint, w->spec, which, shaped, err))) {
		in = ARENA_ARRAY(&w->arena, dynamic.input_count + 1, struct tensor);
		st = conform_inputs(w->folder, w->spec, dynamic.inputs, dynamic.input_count, &w->arena, in, err);
		for (size_t i = 0; i < dynamic.input_count && !st; i++)
			for (int axis = 0; axis < in[i].rank; axis++) {
				const char *symbol = graph_input_symbol(shaped, i, axis);

				if (symbol)
					graph_bind(w->graph, symbol, in[i].dim[axis]);
			}
	}
	graph_free(shaped);
	return st;
}

static enum status build_graph(
	struct case_work *w, const struct arch_graph *which, const struct graph_form *form, const char *io, struct error *err)
{
	enum status st;

	graph_free(w->graph);
	w->graph = graph_new(form);
	if (form->is_static && (st = bind(w, which, form, err)))
		return st;
	const struct conform_model m = { .spec = w->spec, .checkpoint = &w->checkpoint, .form = form };
	return conform_build(&w->artifact, &m, which, &w->graph, io, &w->arena, err);
}

static bool has_input(const struct artifact *a, const char *name)
{
	for (size_t i = 0; i < a->input_count; i++)
		if (text_is(a->inputs[i].name, name))
			return true;
	return false;
}

static bool has_output(const struct artifact *a, const char *name)
{
	for (size_t i = 0; i < a->output_count; i++)
		if (reference_same_output(a->outputs[i].name, name))
			return true;
	return false;
}

// Does the graph take every input that the case has, and give every output?
static bool fits(const struct artifact *graph, const char *io)
{
	struct arena a = { 0 };
	struct stored s;
	bool all = !stored_open(&s, &a, io, NULL);

	for (size_t i = 0; all && i < s.count; i++) {
		const char *name = s.tensors[i].name;

		if (text_starts(name, "in."))
			all = has_input(graph, name + 3);
		else if (text_starts(name, "out."))
			all = has_output(graph, name + 4);
	}
	arena_done(&a);
	return all;
}

// A case is of the whole model, or of that other graph of its own which alone takes all of the case's inputs and gives all of its
// outputs (the decoder of an autoencoder).
static enum status build_case(struct case_work *w, const struct graph_form *form, const char *io, struct error *err)
{
	const struct arch_graph *which;
	enum status st = build_graph(w, &arch_whole, form, io, err);
	struct error why;
	bool is_whole = true;

	if (!st && fits(&w->artifact, io))
		return STATUS_OK;
	for (size_t i = 1; (!st || form->is_static) && (which = arch_graph_at(w->spec, i)); i++) {
		if (which->step != STEP_NONE)
			continue;
		is_whole = false;
		if (!build_graph(w, which, form, io, &why) && fits(&w->artifact, io))
			return STATUS_OK;
	}
	return is_whole ? st : build_graph(w, &arch_whole, form, io, err);
}

// Cases are float32; an engine that says it computes in less is judged by that.
static enum dtype compute_of(const struct session *s)
{
	const char *word = session_option(s, "compute_dtype");

	return word ? dtype_find(word) : DTYPE_F32;
}

// *form: less what is no choice of this model.
static enum status open_form(struct case_work *w, const struct target *t, struct graph_form *form, const char *folder,
	const char *io, struct error *err)
{
	const struct backend *b = route_backend(t->route);
	const char *made;
	enum status st;

	if ((st = conform_materialise(&made, &w->arena, folder, err)))
		return st;
	w->made = made;
	if ((st = checkpoint_open(&w->checkpoint, made, err)) || (st = arch_resolve(&w->spec, &w->arena, &w->checkpoint, err)))
		return conform_named(st, made, folder, err);
	arch_settle_form(w->spec, form);
	if ((st = build_case(w, form, io, err)))
		return conform_named(st, made, folder, err);
	if ((st = backend_prepare(b, &w->artifact, &w->arena, &w->checkpoint, err)) ||
		(st = session_open_untimed(&w->session, b, route_provider(t->route), t->device, t->options, &w->artifact, err)))
		return st;
	w->is_open = true;
	return STATUS_OK;
}

// Right on another platform is no answer of this one. What is not told is not held against it.
static enum status check_placement(struct case_work *w, const struct target *t, struct error *err)
{
	struct placement p = { .arena = &w->arena };
	struct error why;

	if (session_explain(&w->session, &w->artifact, NULL, 0, &p, &why))
		return STATUS_OK;
	w->elsewhere = p.elsewhere;
	w->note = p.note;
	w->row.nodes = (int64_t)w->artifact.summary.node_count;
	json_t *columns = placed_columns(&p);
	row_from_json(&w->row, &w->arena, columns, NULL);
	json_decref(columns);
	w->took_none = row_took_none(&w->row);
	if (!w->took_none)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED, "%s took none of the %lld nodes", t->platform->name, (long long)w->row.nodes);
}

static enum status judge_form(struct case_work *w, const struct target *t, const struct graph_form *form, const char *folder,
	const char *io, int64_t rows, struct error *err)
{
	struct tensor *in = ARENA_ARRAY(&w->arena, w->session.input_count + 1, struct tensor),
		      *out = ARENA_ARRAY(&w->arena, w->session.output_count + 1, struct tensor);
	struct reference ref;
	enum status st = conform_inputs(folder, w->spec, w->session.inputs, w->session.input_count, &w->arena, in, err);

	if (st)
		return st;
	if (rows > 0)
		return form->is_static
			? error_set(err, STATUS_UNSUPPORTED,
				  "--batch: the graphs of this platform have fixed shapes, those of the case")
			: conform_batch(&w->session, in, rows, &w->arena, &w->row.max_abs_error, &w->row.nmse, &w->differs, err);
	if ((st = session_run(&w->session, in, w->session.input_count, out, w->session.output_count, err)) ||
		(st = reference_read_golden(&ref, io, &w->arena, err)))
		return st;
	for (size_t i = 0; i < w->session.output_count; i++)
		out[i].name = w->session.outputs[i].name;
	enum verdict v = reference_judge(&ref, &(struct answer){ .tensors = out, .count = w->session.output_count },
		bound_for(compute_of(&w->session)), &w->arena, &w->row, NULL);
	w->differs = v == VERDICT_WRONG;
	if (v != VERDICT_RIGHT)
		return error_set(err, STATUS_FAILED, "%s", w->row.cause);
	const struct conform_model m = { folder, w->spec, &w->checkpoint, t, form, &w->session };
	// A session with fixed shapes cannot generate: its cache does not grow.
	if (!form->is_static && arch_graph_of(w->spec, STEP_TRANSDUCE) &&
		(st = conform_steps(&m, in, out, &w->arena, &w->differs, err)))
		return st;
	if (!form->is_static && file_exists(arena_printf(&w->arena, "%s/gen.json", folder)))
		return conform_generate(&m, &w->arena, &w->differs, err);
	return STATUS_OK;
}

static void close_form(struct case_work *w)
{
	session_close(&w->session);
	graph_free(w->graph);
	checkpoint_close(&w->checkpoint);
	w->graph = NULL;
	w->spec = NULL;
	memset(&w->checkpoint, 0, sizeof w->checkpoint);
}

// Of ONNX's tests: the graph as it is.
static enum status run_node(struct case_work *w, const struct target *t, const char *folder, struct error *err)
{
	struct conform_node n;
	enum status st;

	row_init(&w->row);
	w->elsewhere = -1;
	st = conform_node_run(&n, t, folder, &w->artifact, &w->session, &w->arena, err);
	w->row.max_abs_error = n.max_abs_error;
	w->row.nmse = n.nmse;
	w->differs = n.differs;
	w->untaken = n.untaken;
	if (!st) {
		w->artifact.summary.node_count = (size_t)n.nodes;
		st = check_placement(w, t, err);
	}
	session_close(&w->session);
	return st;
}

// Of a whole pipeline: each graph in the first form that opens.
static enum status run_pipeline(struct case_work *w, const struct target *t, const char *folder, int64_t rows, struct error *err)
{
	struct pipeline_placement placed = { .elsewhere = -1 };
	enum status st = rows > 0 ? error_set(err, STATUS_UNSUPPORTED, "--batch: a pipeline's questions are asked one by one")
				  : conform_pipeline_run(t, folder, &w->arena, &placed, &w->differs, err);

	row_init(&w->row);
	w->elsewhere = placed.elsewhere;
	w->note = placed.note;
	w->graphs = placed.graphs;
	w->took_none = !st && placed.took_none;
	return w->took_none
		? error_set(err, STATUS_UNSUPPORTED, "%s took none of the nodes of one of the graphs", placed.took_none)
		: st;
}

// In the form that `run` would take: the first that opens. Where its outputs are wrong, the case is wrong.
static enum status run_case(struct case_work *w, const struct target *t, const char *folder, int64_t rows, struct error *err)
{
	const char *io = arena_printf(&w->arena, "%s/io.safetensors", folder);
	struct forms forms;

	forms_begin(&forms, t->platform, false, false);
	for (;;) {
		struct graph_form *form = &forms.item[forms.at];
		struct error why = { 0 };
		enum status st;

		row_init(&w->row);
		w->elsewhere = -1;
		form->torch_ties &= rows == 0; // torch's choice among equal scores goes by the longest row beside it
		st = open_form(w, t, form, folder, io, &why);
		w->form = graph_form_text(&w->arena, form);
		if (!st && !(st = judge_form(w, t, form, folder, io, rows, &why)))
			st = check_placement(w, t, &why);
		bool refused = st && !w->is_open && forms_refused(&w->arena, t, w->spec != NULL, &why);

		close_form(w);
		if (!refused || !forms_next(&forms, &w->arena, t, w->form, &why))
			return st ? error_copy(err, st, &why) : STATUS_OK;
	}
}

static json_t *real_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static void answer(const struct target *t, size_t index, const char *folder, int64_t rows)
{
	struct case_work w = { .folder = folder };
	struct error err = { 0 };
	struct text clean = { 0 };
	enum status st;

	say(json_pack("{s:s, s:I}", "event", "start", "index", (json_int_t)index));
	cause_set_file(NULL); // of the case before
	st = conform_is_node(folder, &w.arena)          ? run_node(&w, t, folder, &err)
		: conform_is_pipeline(folder, &w.arena) ? run_pipeline(&w, t, folder, rows, &err)
							: run_case(&w, t, folder, rows, &err);
	if (st && !w.differs && !w.untaken && !w.took_none)
		st = cause_in_the_way(t->route->engine, t->route->provider, st, &err);
	enum verdict v = !st  ? VERDICT_RIGHT
		: w.untaken   ? VERDICT_UNJUDGED
		: w.differs   ? VERDICT_WRONG
		: w.took_none ? VERDICT_FELL_BACK
			      : verdict_of_status(st);
	visible_clean(&clean, err.text, strlen(err.text));
	say(json_pack("{s:s, s:I, s:s, s:s?, s:o, s:o, s:I, s:s?, s:s?, s:O?}", "event", "case", "index", (json_int_t)index,
		"verdict", verdict_word(v), "reason", st ? text_get(&clean) : NULL, "max_abs_error",
		real_or_null(w.row.max_abs_error), "nmse", real_or_null(w.row.nmse), "elsewhere", (json_int_t)w.elsewhere, "note",
		w.note, "form", w.form, "graphs", w.graphs));
	text_done(&clean);
	char *refused = st == STATUS_BAD_INPUT && w.made ? strdup(w.made) : NULL;
	arena_done(&w.arena);
	if (refused) // nobody asks it again as it is
		cached_folder_remove(refused);
	free(refused);
}

// Of a tokenizer, a scheduler or a processor.
static void answer_here(size_t index, const char *folder)
{
	struct conform_case c = { .folder = folder, .max_abs_error = (double)NAN, .nmse = (double)NAN };
	struct arena a = { 0 };
	struct text clean = { 0 };

	say(json_pack("{s:s, s:I}", "event", "start", "index", (json_int_t)index));
	conform_here(&c, &a);
	if (c.reason)
		visible_clean(&clean, c.reason, strlen(c.reason));
	say(json_pack("{s:s, s:I, s:s, s:s?, s:o, s:o, s:I, s:I, s:s?}", "event", "case", "index", (json_int_t)index, "verdict",
		verdict_word(c.verdict), "reason", c.reason ? text_get(&clean) : NULL, "max_abs_error",
		real_or_null(c.max_abs_error), "nmse", real_or_null(c.nmse), "elsewhere", (json_int_t)c.elsewhere, "lines",
		(json_int_t)c.lines, "counted", c.counted));
	text_done(&clean);
	arena_done(&a);
}

static enum status answer_all(const json_t *request, struct target *t, struct device_list *devices, struct error *err)
{
	const json_t *cases = json_object_get(request, "cases"), *on = json_object_get(request, "on");
	const json_int_t rows = json_integer_value(json_object_get(request, "rows"));
	enum status st = on ? pipeline_target_read(t, devices->arena, on, devices, err) : STATUS_OK;

	if (st)
		return st;
	if (on)
		say(json_pack("{s:s, s:s?, s:s?}", "event", "engine", "version", devices->version, "library", devices->library));
	for (size_t i = 0; i < json_array_size(cases); i++) {
		const char *folder = json_string_value(json_array_get(cases, i));

		if (on)
			answer(t, i, folder, rows);
		else
			answer_here(i, folder);
	}
	return STATUS_OK;
}

// {"on": pipeline_target_json, "rows", "cases": ["FOLDER",...]}; rows 0: as the case has them, against its outputs. Without "on":
// cases of conform_here.
int conform_child(void)
{
	static struct arena arena;
	struct device_list devices = { .arena = &arena };
	struct text line = { 0 };
	struct error err = { 0 };
	struct target t = { 0 };
	json_t *request = NULL;
	enum status st = child_begin(&line, &err);

	if (!st)
		st = json_bytes("the request", text_get(&line), line.length, &request, &err);
	say_phase(json_object_get(request, "on") ? "engine" : "case");
	if (!st)
		st = answer_all(request, &t, &devices, &err);
	if (st)
		say_error(&err);
	say_done();
	backend_end();
	_exit(0); // cell/work.c says why
}
