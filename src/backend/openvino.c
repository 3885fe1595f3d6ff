// SPDX-License-Identifier: Apache-2.0
// OpenVINO by its C API, loaded at run time: every device that its core lists. It reads graphs from files only (the weights
// lie beside the file and are mapped); inputs point at the caller's memory, outputs at OpenVINO's own.
#include "backend/openvino.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cause.h"
#include "backend/outline.h"
#include "base/text.h"

// ---- library ------------------------------------------------------------------------------------------------------------

enum dtype ov_dtype(ov_element_type_e t)
{
	static const struct {
		ov_element_type_e theirs;
		enum dtype ours;
	} pairs[] = {
		{ BOOLEAN, DTYPE_BOOL },
		{ BF16, DTYPE_BF16 },
		{ F16, DTYPE_F16 },
		{ F32, DTYPE_F32 },
		{ F64, DTYPE_F64 },
		{ I8, DTYPE_I8 },
		{ I16, DTYPE_I16 },
		{ I32, DTYPE_I32 },
		{ I64, DTYPE_I64 },
		{ U8, DTYPE_U8 },
		{ U16, DTYPE_U16 },
		{ U32, DTYPE_U32 },
		{ U64, DTYPE_U64 },
		{ F8E4M3, DTYPE_F8_E4M3 },
		{ F8E5M3, DTYPE_F8_E5M2 },
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (pairs[i].theirs == t)
			return pairs[i].ours;
	return DTYPE_NONE;
}

static ov_element_type_e element_type(enum dtype t)
{
	for (int i = BOOLEAN; i <= F8E8M0; i++)
		if (ov_dtype((ov_element_type_e)i) == t)
			return (ov_element_type_e)i;
	return DYNAMIC;
}

enum status ov_check(const struct ov_library *l, ov_status_e code, const char *doing, struct error *err)
{
	static const char *const unsupported[] = { "not supported", "unsupported", "Unsupported", "OpConversionFailure",
		"No conversion rule", "was not converted", "has no conversion", "not implemented", "cannot be converted" };
	static const char *const memory[] = { "bad_alloc", "Failed to allocate", "could not allocate", "Cannot allocate memory",
		"out of memory" };
	enum status st = code == NOT_IMPLEMENTED ? STATUS_UNSUPPORTED : STATUS_FAILED;
	const char *last;
	char text[1600];

	if (code == OK)
		return STATUS_OK;
	last = l->ov_get_last_err_msg();
	text_fit(text, sizeof text, last && *last ? last : l->ov_get_error_info(code));
	for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
		if (strstr(text, unsupported[i]))
			st = STATUS_UNSUPPORTED;
	for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
		if (strstr(text, memory[i]) && !cause_is_own(memory[i]))
			st = STATUS_NO_MEMORY;
	for (char *c = text; *c; c++)
		if (*c == '\n' || *c == '\r' || *c == '\t')
			*c = ' ';
	for (size_t n = strlen(text); n && text[n - 1] == ' '; n--)
		text[n - 1] = 0;
	return error_set(err, st, "%s: %s", doing, text);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_SANITIZER
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define UNDER_SANITIZER
#endif

static enum status load_library(struct ov_library *l, struct arena *a, struct error *err)
{
	ov_version_t version = { 0 };
	void *handle;
	enum status st;

#ifdef UNDER_SANITIZER
	// TBB opens a helper with RTLD_DEEPBIND, at which the address sanitizer ends the process; this is TBB's own switch for
	// it.
	setenv("TBB_ENABLE_SANITIZERS", "1", 1);
#endif
	if ((st = library_open(a, "openvino", "libopenvino_c.so*", &handle, &l->path, err)))
		return st;
#define X(f) \
	*(void **)&l->f = dlsym(handle, #f); \
	if (!l->f) \
		return error_set(err, STATUS_UNAVAILABLE, "%s has no function " #f ": too old, or not OpenVINO", l->path);
	OV_FUNCTIONS(X)
#undef X
	if (!(st = ov_check(l, l->ov_get_openvino_version(&version), "asking its version", err))) {
		l->version = arena_strdup(a, version.buildNumber);
		l->ov_version_free(&version);
	}
	return st;
}

static const struct provider providers[] = {
	{ .name = "openvino",
		.build = "openvino",
		.threads = "threads",
		.threads_told = "INFERENCE_NUM_THREADS",
		.fill = "hint=THROUGHPUT",
		.fill_told = "OPTIMAL_NUMBER_OF_INFER_REQUESTS",
		.shipped = "precision=default,kv_cache_precision=default,dynamic_quantization=default,threads=default,"
			   "streams=default,hint=default" },
	{ .name = NULL },
};

static enum status ov_devices(const char *build, struct device_list *out, struct error *err)
{
	struct ov_library l = { 0 };
	ov_available_devices_t found = { 0 };
	ov_core_t *core = NULL;
	enum status st = load_library(&l, out->arena, err);

	(void)build;
	if (!st)
		st = ov_check(&l, l.ov_core_create(&core), "starting", err);
	if (st)
		return st;
	if (!(st = ov_check(&l, l.ov_core_get_available_devices(core, &found), "listing its devices", err))) {
		out->version = l.version;
		out->library = l.path;
		for (size_t i = 0; i < found.size; i++) {
			struct device d = { .provider = "openvino", .name = found.devices[i] };
			char *description = NULL, *features = NULL;

			if (!l.ov_core_get_property(core, d.name, "FULL_DEVICE_NAME", &description))
				d.description = description;
			if (!l.ov_core_get_property(core, d.name, "OPTIMIZATION_CAPABILITIES", &features))
				d.features = features;
			device_add(out, &d);
			l.ov_free(description);
			l.ov_free(features);
		}
		ov_list_absent(out, &l, &found);
		l.ov_available_devices_free(&found);
	}
	l.ov_core_free(core);
	return st;
}

// ---- opening ------------------------------------------------------------------------------------------------------------

static enum status configure(struct session *s, struct error *err)
{
	struct openvino *o = s->state;
	ov_available_devices_t found = { 0 };
	enum status st =
		ov_check(&o->library, o->library.ov_core_get_available_devices(o->core, &found), "listing its devices", err);

	if (st)
		return st;
	if (!(st = ov_choose_device(s, &found, err)))
		st = ov_set_options(s, &found, err);
	o->library.ov_available_devices_free(&found);
	return st;
}

// A file is read where it lies, so its shapes are fixed in the model.
static enum status fix_shapes(struct session *s, const struct artifact *a, ov_model_t *model, struct error *err)
{
	const struct ov_library *l = &((struct openvino *)s->state)->library;
	const char **names = ARENA_ARRAY(&s->arena, a->fixed_count + 1, const char *);
	ov_partial_shape_t *shapes = ARENA_ARRAY(&s->arena, a->fixed_count + 1, ov_partial_shape_t);
	enum status st = STATUS_OK;
	size_t n = 0;

	for (; n < a->fixed_count && !st; n++) {
		names[n] = a->fixed[n].name;
		st = ov_check(l, l->ov_partial_shape_create_static(a->fixed[n].rank, a->fixed[n].dim, &shapes[n]),
			"making a shape", err);
	}
	if (!st && n)
		st = ov_check(l, l->ov_model_reshape(model, names, shapes, n), "fixing its shapes", err);
	for (size_t i = 0; i < n; i++)
		l->ov_partial_shape_free(&shapes[i]);
	return st;
}

enum status ov_compile(struct session *s, const struct artifact *a, ov_compiled_model_t **out, struct error *err)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;
	ov_model_t *model = NULL;
	enum status st = ov_check(l, l->ov_core_read_model(o->core, a->graph_path, NULL, &model), "reading", err);

	st = st ? ov_check_reader(s, st, err) : fix_shapes(s, a, model, err);
	if (!st)
		st = ov_check(l, l->ov_core_compile_model(o->core, model, s->device, 0, out), "compiling", err);
	if (model)
		l->ov_model_free(model);
	return st;
}

static enum status describe(struct session *s, const ov_output_const_port_t *port, struct tensor_type *t, struct error *err)
{
	const struct ov_library *l = &((struct openvino *)s->state)->library;
	ov_partial_shape_t shape = { 0 };
	ov_element_type_e element = DYNAMIC;
	char *name = NULL;
	enum status st;

	if (!t->name) {
		if ((st = ov_check(l, l->ov_port_get_any_name(port, &name), "reading a name", err)))
			return st;
		t->name = arena_strdup(&s->arena, name);
		l->ov_free(name);
	}
	if ((st = ov_check(l, l->ov_port_get_element_type(port, &element), "reading a type", err)) ||
		(st = ov_check(l, l->ov_port_get_partial_shape(port, &shape), "reading a shape", err)))
		return st;
	t->dtype = ov_dtype(element);
	if (!t->dtype)
		st = error_set(err, STATUS_UNSUPPORTED, "%s has OpenVINO's element type %d, which is not supported", t->name,
			(int)element);
	else if (shape.rank.min != shape.rank.max || shape.rank.min > TENSOR_MAX_RANK)
		st = error_set(err, STATUS_UNSUPPORTED, "%s has no fixed rank of at most %d", t->name, TENSOR_MAX_RANK);
	for (int i = 0; !st && i < (int)shape.rank.min; i++)
		t->dim[t->rank++] = shape.dims[i].min == shape.dims[i].max ? shape.dims[i].min : -1;
	l->ov_partial_shape_free(&shape);
	return st;
}

// OpenVINO gives a value that has several names any one of them. The file's own name for output i is asked for where it has it.
static enum status list_outputs(struct session *s, const struct outline *file, struct tensor_type **types, struct error *err)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;
	enum status st = ov_check(l, l->ov_compiled_model_outputs_size(o->model, &s->output_count), "counting outputs", err);

	if (st)
		return st;
	*types = ARENA_ARRAY(&s->arena, s->output_count + 1, struct tensor_type);
	o->ports = ARENA_ARRAY(&s->arena, s->output_count + 1, ov_output_const_port_t *);
	o->now.out = ARENA_ARRAY(&s->arena, s->output_count + 1, ov_tensor_t *);
	for (size_t i = 0; i < s->output_count && !st; i++) {
		if (file->output_count == s->output_count &&
			!l->ov_compiled_model_output_by_name(o->model, file->outputs[i].name, &o->ports[i]))
			(*types)[i].name = file->outputs[i].name;
		else
			st = ov_check(l, l->ov_compiled_model_output_by_index(o->model, i, &o->ports[i]), "reading outputs", err);
		if (!st)
			st = describe(s, o->ports[i], &(*types)[i], err);
	}
	return st;
}

// The file's own name of an input of which OpenVINO gave `any` name: another value's, where the node between them does nothing.
static const char *declared_name(struct session *s, const struct outline *file, const char *any)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;

	for (size_t i = 0; i < file->input_count; i++)
		if (text_is(file->inputs[i].name, any))
			return any;
	for (size_t i = 0; i < file->input_count; i++) {
		ov_output_const_port_t *port = NULL;
		char *name = NULL;
		bool same = !l->ov_compiled_model_input_by_name(o->model, file->inputs[i].name, &port) &&
			!l->ov_port_get_any_name(port, &name) && text_is(name, any);

		if (name)
			l->ov_free(name);
		if (port)
			l->ov_output_const_port_free(port);
		if (same)
			return file->inputs[i].name;
	}
	return any;
}

static enum status list_inputs(struct session *s, const struct outline *file, struct tensor_type **types, struct error *err)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;
	enum status st = ov_check(l, l->ov_compiled_model_inputs_size(o->model, &s->input_count), "counting inputs", err);

	if (st)
		return st;
	*types = ARENA_ARRAY(&s->arena, s->input_count + 1, struct tensor_type);
	o->now.in = ARENA_ARRAY(&s->arena, s->input_count + 1, ov_tensor_t *);
	o->now.given = ARENA_ARRAY(&s->arena, s->input_count + 1, struct ov_given);
	for (size_t i = 0; i < s->input_count && !st; i++) {
		ov_output_const_port_t *port = NULL;

		st = ov_check(l, l->ov_compiled_model_input_by_index(o->model, i, &port), "reading inputs", err);
		if (!st)
			st = describe(s, port, &(*types)[i], err);
		if (!st)
			(*types)[i].name = declared_name(s, file, (*types)[i].name);
		if (port)
			l->ov_output_const_port_free(port);
	}
	return st;
}

static enum status ov_open(struct session *s, const struct artifact *a, struct error *err)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;
	struct tensor_type *inputs = NULL, *outputs = NULL;
	struct outline file = { 0 };
	enum status st;

	if ((st = load_library(&o->library, &s->arena, err)) ||
		(st = ov_check(l, l->ov_core_create(&o->core), "starting", err)) || (st = configure(s, err)) ||
		(st = ov_open_cache(s, a, err)) || (st = ov_compile(s, a, &o->model, err)) || (st = ov_keep_cache(s, err)) ||
		(st = ov_check(
			 l, l->ov_compiled_model_create_infer_request(o->model, &o->now.request), "making a request", err)) ||
		(st = outline_read(&file, &s->arena, a->graph, a->graph_nbytes, err)) ||
		(st = list_inputs(s, &file, &inputs, err)) || (st = list_outputs(s, &file, &outputs, err)))
		return st;
	s->inputs = inputs;
	s->outputs = outputs;
	ov_read_back(s);
	return STATUS_OK;
}

// ---- running ------------------------------------------------------------------------------------------------------------

enum status ov_give_inputs(struct session *s, ov_infer_request_t *request, const struct tensor *in, ov_tensor_t **held,
	struct ov_given *given, struct error *err)
{
	const struct ov_library *l = &((struct openvino *)s->state)->library;
	static char nothing[64]; // a tensor without elements still needs an address
	enum status st = STATUS_OK;

	for (size_t i = 0; i < s->input_count && !st; i++) {
		ov_shape_t shape = { .rank = in[i].rank, .dims = (int64_t *)in[i].dim };

		if (held[i] && given && given[i].data == in[i].data && given[i].rank == in[i].rank &&
			!memcmp(given[i].dim, in[i].dim, (size_t)in[i].rank * sizeof *in[i].dim))
			continue;
		if (held[i])
			l->ov_tensor_free(held[i]);
		held[i] = NULL;
		st = ov_check(l,
			l->ov_tensor_create_from_host_ptr(
				element_type(in[i].dtype), shape, in[i].data ? in[i].data : nothing, &held[i]),
			"giving an input", err);
		if (!st)
			st = ov_check(
				l, l->ov_infer_request_set_input_tensor_by_index(request, i, held[i]), "giving an input", err);
		if (st || !given)
			continue;
		given[i].data = in[i].data;
		given[i].rank = in[i].rank;
		memcpy(given[i].dim, in[i].dim, sizeof given[i].dim);
	}
	return st;
}

static enum status show_output(struct session *s, struct ov_turn *t, size_t i, struct tensor *out, struct error *err)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;
	ov_element_type_e element = DYNAMIC;
	ov_shape_t shape = { 0 };
	size_t count;
	enum status st;

	*out = (struct tensor){ .name = s->outputs[i].name };
	if ((st = ov_check(l, l->ov_infer_request_get_tensor_by_const_port(t->request, o->ports[i], &t->out[i]),
		     "reading an output", err)) ||
		(st = ov_check(l, l->ov_tensor_get_element_type(t->out[i], &element), "reading an output", err)))
		return st;
	// The C interface has no shape for a scalar: it refuses to make one of rank 0 (seen in 2026.4).
	ov_status_e shaped = l->ov_tensor_get_shape(t->out[i], &shape);
	if (shaped != OK && (l->ov_tensor_get_size(t->out[i], &count) != OK || count != 1))
		return ov_check(l, shaped, "reading an output", err);
	if (shaped != OK)
		shape = (ov_shape_t){ 0 };
	out->dtype = ov_dtype(element);
	if (shape.rank > 0 && shape.rank <= TENSOR_MAX_RANK) {
		out->rank = (int)shape.rank;
		memcpy(out->dim, shape.dims, (size_t)out->rank * sizeof *out->dim);
	}
	l->ov_shape_free(&shape);
	if (!out->dtype || shape.rank > TENSOR_MAX_RANK || !tensor_count(out->rank, out->dim, &count))
		return error_set(
			err, STATUS_UNSUPPORTED, "output %s has an element type or a shape that is not supported", out->name);
	out->nbytes = count * dtype_size(out->dtype);
	return count ? ov_check(l, l->ov_tensor_data(t->out[i], &out->data), "reading an output", err) : STATUS_OK;
}

static void release_outputs(const struct session *s, struct ov_turn *t)
{
	struct openvino *o = s->state;

	for (size_t i = 0; t->out && i < s->output_count; i++) {
		if (t->out[i])
			o->library.ov_tensor_free(t->out[i]);
		t->out[i] = NULL;
	}
}

static enum status make_turn(struct session *s, struct ov_turn *t, struct error *err)
{
	struct openvino *o = s->state;

	t->in = ARENA_ARRAY(&s->arena, s->input_count + 1, ov_tensor_t *);
	t->out = ARENA_ARRAY(&s->arena, s->output_count + 1, ov_tensor_t *);
	t->given = ARENA_ARRAY(&s->arena, s->input_count + 1, struct ov_given);
	return ov_check(&o->library, o->library.ov_compiled_model_create_infer_request(o->model, &t->request),
		"making another request", err);
}

// The other request's turn; it is made when it is needed first.
static enum status take_turns(struct session *s, struct error *err)
{
	struct openvino *o = s->state;
	struct ov_turn now = o->other;
	enum status st = now.request ? STATUS_OK : make_turn(s, &now, err);

	if (st)
		return st;
	o->other = o->now;
	o->now = now;
	return STATUS_OK;
}

static enum status ov_run(struct session *s, const struct tensor *in, struct tensor *out, struct error *err)
{
	struct openvino *o = s->state;
	enum status st = s->keeps_outputs ? take_turns(s, err) : STATUS_OK;

	if (!st)
		st = ov_give_inputs(s, o->now.request, in, o->now.in, o->now.given, err);
	release_outputs(s, &o->now);
	if (!st)
		st = ov_check(&o->library, o->library.ov_infer_request_infer(o->now.request), "running", err);
	for (size_t i = 0; i < s->output_count && !st; i++)
		st = show_output(s, &o->now, i, &out[i], err);
	return st;
}

// A request for each lane; the compiled model gives each a stream while it runs.
static enum status ov_lanes(struct session *s, size_t count, struct error *err)
{
	struct openvino *o = s->state;
	enum status st = STATUS_OK;

	if (o->lanes)
		return error_set(err, STATUS_UNSUPPORTED, "it has requests already");
	o->lanes = ARENA_ARRAY(&s->arena, count, struct ov_turn);
	o->lane_count = count;
	for (size_t i = 0; i < count && !st; i++)
		st = make_turn(s, &o->lanes[i], err);
	return st;
}

static enum status ov_run_lane(struct session *s, size_t lane, const struct tensor *in, struct tensor *out, struct error *err)
{
	struct openvino *o = s->state;
	struct ov_turn *t = &o->lanes[lane];
	enum status st = ov_give_inputs(s, t->request, in, t->in, t->given, err);

	release_outputs(s, t);
	if (!st)
		st = ov_check(&o->library, o->library.ov_infer_request_infer(t->request), "running", err);
	for (size_t i = 0; i < s->output_count && !st; i++)
		st = show_output(s, t, i, &out[i], err);
	return st;
}

static void end_turn(const struct session *s, struct ov_turn *t)
{
	const struct ov_library *l = &((struct openvino *)s->state)->library;

	release_outputs(s, t);
	for (size_t i = 0; t->in && i < s->input_count; i++)
		if (t->in[i])
			l->ov_tensor_free(t->in[i]);
	if (t->request)
		l->ov_infer_request_free(t->request);
}

static void ov_close(struct session *s)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;

	end_turn(s, &o->now);
	end_turn(s, &o->other);
	for (size_t i = 0; i < o->lane_count; i++)
		end_turn(s, &o->lanes[i]);
	for (size_t i = 0; o->ports && i < s->output_count; i++)
		if (o->ports[i])
			l->ov_output_const_port_free(o->ports[i]);
	if (o->model)
		l->ov_compiled_model_free(o->model);
	if (o->core)
		l->ov_core_free(o->core);
	memset(o, 0, sizeof *o);
}

const struct backend backend_openvino = {
	.name = "openvino",
	.summary = "OpenVINO",
	.caps = BACKEND_NEEDS_PATH,
	.session_size = sizeof(struct openvino),
	.options = ov_options,
	.providers = providers,
	.devices = ov_devices,
	.open = ov_open,
	.run = ov_run,
	.lanes = ov_lanes,
	.run_lane = ov_run_lane,
	.close = ov_close,
	.explain = ov_explain,
	.profile = ov_profile,
};
