// SPDX-License-Identifier: Apache-2.0
// The child's side of a conformance run: the engine is loaded once, each case is built, opened, run and judged by itself, and
// answered with one line. A case that kills the process is known by the "start" line before it.
#include "measure/conform_case.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "measure/child.h"
#include "measure/reference.h"
#include "measure/request.h"
#include "pipeline/inputs.h"

struct case_work {
	struct arena arena;
	struct checkpoint checkpoint;
	struct artifact artifact;
	struct session session;
	struct graph *graph;
	struct row row;
};

static enum status run_case(struct case_work *w, const struct target *t, const struct backend *b, const char *folder, int64_t rows, struct error *err)
{
	const char *made, *io = arena_printf(&w->arena, "%s/io.safetensors", folder);
	struct tensor *in, *out;
	struct reference ref;
	struct spec *spec;
	enum status st;

	if ((st = conform_materialise(&made, &w->arena, folder, err)) || (st = checkpoint_open(&w->checkpoint, made, err)) ||
	    (st = arch_resolve(&spec, &w->arena, &w->checkpoint, err)))
		return st;
	w->graph = graph_new(&t->platform->forms[0]);
	if ((st = artifact_build(&w->artifact, &w->arena, &w->checkpoint, spec, ARCH_WHOLE, w->graph, err)))
		return st;
	if (((b->caps & BACKEND_NEEDS_PATH) || artifact_needs_path(&w->artifact)) && (st = artifact_place(&w->artifact, &w->arena, &w->checkpoint, err)))
		return st;
	if ((st = session_open(&w->session, b, route_provider(t->route), t->device, t->options, &w->artifact, err)))
		return st;
	in = ARENA_ARRAY(&w->arena, w->session.input_count + 1, struct tensor);
	out = ARENA_ARRAY(&w->arena, w->session.output_count + 1, struct tensor);
	if ((st = inputs_file(&w->arena, w->session.inputs, w->session.input_count, io, in, err)))
		return st;
	if (rows > 0)
		return conform_batch(&w->session, in, rows, &w->arena, &w->row.max_abs_error, &w->row.nmse, err);
	if ((st = session_run(&w->session, in, w->session.input_count, out, w->session.output_count, err)) ||
	    (st = reference_read_golden(&ref, io, &w->arena, err)))
		return st;
	for (size_t i = 0; i < w->session.output_count; i++)
		out[i].name = w->session.outputs[i].name;
	if (reference_judge(&ref, out, w->session.output_count, DTYPE_F32, &w->arena, &w->row, NULL) != VERDICT_RIGHT)
		return error_set(err, STATUS_FAILED, "%s", w->row.cause);
	if (file_exists(arena_printf(&w->arena, "%s/gen.json", folder)))
		return conform_generate(folder, spec, &w->checkpoint, t, b, &w->session, &w->arena, err);
	return STATUS_OK;
}

static json_t *real_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static void answer(const struct target *t, const struct backend *b, size_t index, const char *folder, int64_t rows)
{
	struct case_work w = { 0 };
	struct error err = { 0 };
	struct text clean = { 0 };
	bool passed;

	row_init(&w.row);
	say(json_pack("{s:s, s:I}", "event", "start", "index", (json_int_t)index));
	passed = run_case(&w, t, b, folder, rows, &err) == STATUS_OK;
	child_clean(&clean, err.text, strlen(err.text));
	say(json_pack("{s:s, s:I, s:b, s:s?, s:o, s:o}", "event", "case", "index", (json_int_t)index, "passed", (int)passed, "reason",
		passed ? NULL : text_get(&clean), "max_abs_error", real_or_null(w.row.max_abs_error), "nmse", real_or_null(w.row.nmse)));
	text_done(&clean);
	session_close(&w.session);
	graph_free(w.graph);
	checkpoint_close(&w.checkpoint);
	arena_done(&w.arena);
}

// {"platform","device","options","rows","cases":["FOLDER",...]}; rows 0: as the case has them, against its outputs
int conform_child(void)
{
	static struct arena arena;
	struct device_list devices = { .arena = &arena };
	struct text line = { 0 };
	struct error err = { 0 };
	struct target t = { 0 };
	const struct backend *b = NULL;
	json_t *request = NULL;
	const json_t *cases;
	enum status st = child_begin(&line, &err);

	if (!st)
		st = json_bytes("the request", text_get(&line), line.length, &request, &err);
	if (!st) {
		const char *platform = json_string_value(json_object_get(request, "platform"));

		t.platform = platform ? platform_find(platform) : NULL;
		t.device = json_string_value(json_object_get(request, "device"));
		t.options = json_string_value(json_object_get(request, "options"));
		t.route = t.platform ? platform_route(t.platform, t.device) : NULL;
		b = t.route ? route_backend(t.route) : NULL;
		if (!b)
			st = error_set(&err, STATUS_BAD_INPUT, "the request names no platform or no device of it");
	}
	say_phase("engine");
	if (!st)
		st = backend_devices(b, route_provider(t.route)->build, &devices, &err);
	if (!st) {
		if (!t.device || !*t.device)
			t.device = t.route->device;
		say(json_pack("{s:s, s:s?, s:s?}", "event", "engine", "version", devices.version, "library", devices.library));
		cases = json_object_get(request, "cases");
		for (size_t i = 0; i < json_array_size(cases); i++)
			answer(&t, b, i, json_string_value(json_array_get(cases, i)), json_integer_value(json_object_get(request, "rows")));
	}
	if (st)
		say_error(err.status, err.text);
	say_done();
	_exit(0);                                                // cell_child.c says why
}
