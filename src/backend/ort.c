// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime by its C API, loaded at run time. Execution providers are rows of ort_providers.c, not engines.
// The graph is given from memory; the weights stay where they are: session.model_external_initializers_file_folder_path
// names their real folder and ONNX Runtime maps them. Inputs and outputs are not copied.
#include "backend/ort.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "backend/cause.h"
#include "backend/compiled.h"
#include "backend/host.h"
#include "backend/ort_plugin.h"
#include "backend/ort_vendor.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

// Defaults by measurement (bert-base, 2 CPUs, interleaved runs, ms).
//   prepacking on   113.5 at 1x128 against 127.7 without; costs 335 against 61 of loading and 332 against 8 MiB of anonymous
//   memory spinning 20 us  at 1x8 on an idle machine 25.1 against 24.2 with ONNX Runtime's own "on" and 27.7 without; on a
//   machine
//                   that has other work 59 against 94 and 52: a thread that spins while its partner waits for a CPU costs both
static const struct option options[] = {
	{ "threads", NULL,
		"threads within an operation; the CPUs this process may use, where nothing is said; default: one a core, as "
		"ONNX Runtime has it",
		"1..4096 default" },
	{ "inter_threads", "1", "operations at the same time; above 1 the parallel executor is used", "1..4096" },
	{ "spinning", "20", "how many microseconds idle threads spin before they sleep; or on (ONNX Runtime's own length) or off",
		"on off 0..10000000" },
	{ "prepacking", "on", "weights are copied into the layout that kernels like best", OPTION_SWITCH },
	{ "optimisation", "all", "all, extended, basic or none: which rewrites of the graph are allowed",
		"all extended basic none" },
	{ .name = NULL },
};

#ifdef __APPLE__
#define LIBRARY "libonnxruntime.*dylib"
#else
#define LIBRARY "libonnxruntime.so*"
#endif

// ---- library ------------------------------------------------------------------------------------------------------------

enum status ort_check(const OrtApi *api, OrtStatus *status, const char *doing, struct error *err)
{
	enum status st = STATUS_FAILED;
	char text[1600];

	if (!status)
		return STATUS_OK;
	text_fit(text, sizeof text, api->GetErrorMessage(status));
	if (api->GetErrorCode(status) == ORT_NOT_IMPLEMENTED)
		st = STATUS_UNSUPPORTED;
	// A kernel or an operator that is missing is a fact about this engine, whatever code it comes under.
	st = cause_status("ort", NULL, api->GetErrorMessage(status), st);
	api->ReleaseStatus(status);
	for (char *c = text; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	for (size_t n = strlen(text); n && text[n - 1] == ' '; n--)
		text[n - 1] = 0;
	return error_set(err, st, "%s: %s", doing, text);
}

// The builds that `assay setup` brings, by the platform that they are for.
static enum status missing_build(const char *build, enum status st, struct error *err)
{
	static const struct {
		const char *build, *platform;
	} setups[] = { { "onnxruntime-gpu", "cuda" }, { "onnxruntime-migraphx", "rocm" }, { "onnxruntime-webgpu", "webgpu" } };

	for (size_t i = 0; i < sizeof setups / sizeof *setups; i++)
		if (text_is(build, setups[i].build) && strstr(err->text, "is not installed"))
			return error_set(err, st,
				"%s is not installed; `assay setup %s` brings it (or put its libraries in a folder %s of "
				"ASSAY_ENGINE_PATH)",
				build, setups[i].platform, build);
	return st;
}

enum status ort_load(struct ort_library *out, struct arena *a, const char *build, struct error *err)
{
	const OrtApiBase *(*get_base)(void);
	const OrtApiBase *base;
	void *handle;
	int64_t minor = ORT_NEWEST_API;
	const char *dot;
	// Builds since 1.31 keep a device id and a database of events under HOME, and know an address to send them to. Measuring
	// somebody's machine must not do that. This process is a child of our own, so its environment is ours to change.
	setenv("ORT_DISABLE_TELEMETRY", "1", 1);
	enum status st = library_open(a, build, LIBRARY, &handle, &out->path, err);

	if (st)
		return missing_build(build, st, err);
	*(void **)&get_base = dlsym(handle, "OrtGetApiBase");
	base = get_base ? get_base() : NULL;
	if (!base)
		return error_set(err, STATUS_UNAVAILABLE,
			get_base ? "%s: its OrtGetApiBase gives nothing" : "%s has no OrtGetApiBase: it is not ONNX Runtime",
			out->path);
	out->text = arena_strdup(a, base->GetVersionString());
	// Version 1.N answers up to API N; asking for more makes it write to standard error.
	dot = strchr(out->text, '.');
	if (dot)
		text_to_int(arena_strndup(a, dot + 1, strcspn(dot + 1, ".")), 0, 1000, &minor);
	out->minor = (unsigned)minor;
	for (out->version = ORT_NEWEST_API; out->version >= ORT_OLDEST_API; out->version--)
		if (out->version <= (unsigned)minor && (out->api = base->GetApi(out->version)))
			return STATUS_OK;
	return minor < ORT_OLDEST_API
		? error_set(err, STATUS_UNAVAILABLE, "%s is ONNX Runtime %s: too old, 1.%d is the oldest that is understood",
			  out->path, out->text, ORT_OLDEST_API)
		: error_set(err, STATUS_UNAVAILABLE,
			  "%s says that it is ONNX Runtime %s, and gives no API that 1.%d or a newer one has", out->path,
			  out->text, ORT_OLDEST_API);
}

// ---- devices ------------------------------------------------------------------------------------------------------------

static enum status ort_devices(const char *build, struct device_list *out, struct error *err)
{
	struct ort_library library = { 0 };
	OrtEnv *env = NULL;
	enum status st = ort_load(&library, out->arena, build, err);

	if (!st)
		st = ort_start(&library, &env, err);
	if (st)
		return st;
	out->version = library.text;
	out->library = library.path;
	for (const struct provider *p = ort_providers; p->name; p++) {
		const struct ort_provider *own = p->detail;
		struct error why = { 0 };

		if (text_is(p->build, build) && own->devices(p, &library, env, out, &why))
			device_absent(out, p->name, "%s", why.text);
	}
	// The environment stays: plugins that were registered with it do not all outlive its end.
	return STATUS_OK;
}

bool ort_has_provider(const struct ort_library *l, const char *ep)
{
	char **available = NULL;
	bool here = false;
	int count = 0;
	struct error ignored;

	if (ort_check(l->api, l->api->GetAvailableProviders(&available, &count), "listing its providers", &ignored))
		return false;
	for (int i = 0; i < count; i++)
		here |= text_is(available[i], ep);
	return !ort_check(l->api, l->api->ReleaseAvailableProviders(available, count), "listing its providers", &ignored) && here;
}

// ---- opening ------------------------------------------------------------------------------------------------------------

// "20" -> allowed, and for how long; "on" leaves the length to ONNX Runtime. Before 1.31 the length may not be settable.
static enum status parse_spinning(struct session *s, bool *allowed, const char **us, struct error *err)
{
	const char *text = session_option(s, "spinning");
	int64_t n;

	*us = NULL;
	if (!text_to_int(text, 0, 10000000, &n) || n <= 1) // 0 and 1 are off and on
		return session_option_bool(s, "spinning", allowed, err)
			? error_set(err, STATUS_BAD_INPUT, "option spinning is \"%s\"; it takes on, off or microseconds", text)
			: STATUS_OK;
	*allowed = true;
	if (((struct ort *)s->state)->library.minor >= 31)
		*us = text;
	else
		session_set_option(s, "spinning", "on");
	return STATUS_OK;
}

static bool is_cpu(const struct session *s)
{
	return text_is(((const struct ort_provider *)s->provider->detail)->ep, "CPUExecutionProvider");
}

// Where something is timed the processor's own session has nothing beside its work: a second one records, without prepacking, in
// milliseconds. What another provider compiles may take minutes, so there the one session does both.
static bool records_itself(const struct session *s)
{
	return s->is_untimed || !is_cpu(s);
}

static enum status set_options(
	struct session *s, const struct artifact *a, enum ort_purpose purpose, OrtSessionOptions *o, struct error *err)
{
	struct ort *own = s->state;
	const bool record =
		own->library.version >= 24 && ((purpose != ORT_MEASURE && purpose != ORT_PROFILE) || records_itself(s));
	const OrtLoggingLevel told = purpose == ORT_REASONS ? ORT_LOGGING_LEVEL_VERBOSE
		: is_cpu(s)                                 ? ORT_LOGGING_LEVEL_ERROR
							    : ORT_LOGGING_LEVEL_WARNING;
	static const char *const words[] = { "all", "extended", "basic", "none" };
	static const GraphOptimizationLevel levels[] = { ORT_ENABLE_ALL, ORT_ENABLE_EXTENDED, ORT_ENABLE_BASIC, ORT_DISABLE_ALL };
	const OrtApi *api = own->library.api;
	int64_t threads = 0, inter; // 0: its own
	const char *spin_us;
	const bool own_threads = session_option_is_own(s, "threads");
	bool spinning, prepacking;
	size_t level;
	char number[24];
	enum status st;

	if ((!own_threads && (st = session_option_int(s, "threads", 1, 4096, host_cpus(""), &threads, err))) ||
		(st = session_option_int(s, "inter_threads", 1, 4096, 1, &inter, err)) ||
		(st = parse_spinning(s, &spinning, &spin_us, err)) ||
		(st = session_option_bool(s, "prepacking", &prepacking, err)) ||
		(st = session_option_word(s, "optimisation", words, 4, &level, err)))
		return st;
	snprintf(number, sizeof number, "%lld", (long long)threads);
	if (!own_threads)
		session_set_option(s, "threads", number);
	session_set_option(s, "optimisation", words[level]);
#define SET(call) \
	if ((st = ort_check(api, api->call, "setting options", err))) \
	return st
	SET(SetSessionLogSeverityLevel(o, told));
	SET(SetIntraOpNumThreads(o, (int)threads));
	SET(SetInterOpNumThreads(o, (int)inter));
	SET(SetSessionExecutionMode(o, inter > 1 ? ORT_PARALLEL : ORT_SEQUENTIAL));
	SET(SetSessionGraphOptimizationLevel(o, levels[level]));
	// Else a file that has "ORTM" where its own format has it runs as that, and everybody else reads another graph there.
	SET(AddSessionConfigEntry(o, "session.load_model_format", "ONNX"));
	SET(AddSessionConfigEntry(o, "session.intra_op.allow_spinning", spinning ? "1" : "0"));
	SET(AddSessionConfigEntry(o, "session.inter_op.allow_spinning", spinning ? "1" : "0"));
	if (spin_us)
		SET(AddSessionConfigEntry(o, "session.intra_op.spin_duration_us", spin_us));
	if (spin_us)
		SET(AddSessionConfigEntry(o, "session.inter_op.spin_duration_us", spin_us));
	SET(AddSessionConfigEntry(
		o, "session.disable_prepacking", prepacking && (purpose == ORT_MEASURE || purpose == ORT_PROFILE) ? "0" : "1"));
	if (a->weights_dir)
		SET(AddSessionConfigEntry(o, "session.model_external_initializers_file_folder_path", a->weights_dir));
	if (record)
		SET(AddSessionConfigEntry(o, "session.record_ep_graph_assignment_info", "1"));
	if (purpose == ORT_PROFILE)
		SET(EnableProfiling(o, own->profile_prefix));
#undef SET
	return ((const struct ort_provider *)s->provider->detail)->append(s, o, err);
}

// A graph whose weights lie in several folders, or a user's file, is read where it lies.
static enum status load(struct ort *o, const struct artifact *a, const OrtSessionOptions *so, OrtSession **out, struct error *err)
{
	const OrtApi *api = o->library.api;

	if (a->graph && (a->weights_dir || !a->graph_path))
		return ort_check(api, api->CreateSessionFromArray(o->env, a->graph, a->graph_nbytes, so, out), "loading", err);
	if (a->graph_path)
		return ort_check(api, api->CreateSession(o->env, a->graph_path, so, out), "loading", err);
	return error_set(err, STATUS_BAD_INPUT, "the artifact has neither a graph in memory nor one in a file");
}

// The graph as the provider gave it back, with what it compiled in place of nodes, where that still loads; else the graph, and
// what is compiled of it is kept.
static enum status load_compiled(
	struct session *s, const struct artifact *a, OrtSessionOptions *so, OrtSession **out, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	struct error why = { 0 };
	const double begin = clock_ms();
	enum status st;

	session_set_option(s, "context", o->compiled->state);
	if (file_exists(o->context)) {
		if (!ort_check(api, api->CreateSession(o->env, o->context, so, out), "loading", &why)) {
			o->from_context = true;
			return STATUS_OK;
		}
		session_set_option(s, "context", arena_printf(&s->arena, "stale, made again: %s", why.text));
		unlink(o->context);
	}
	if ((st = ort_check(api, api->AddSessionConfigEntry(so, "ep.context_enable", "1"), "setting options", err)) ||
		(st = ort_check(
			 api, api->AddSessionConfigEntry(so, "ep.context_file_path", o->context), "setting options", err)) ||
		(st = ort_check(api, api->AddSessionConfigEntry(so, "ep.context_embed_mode", "1"), "setting options", err)))
		return st;
	if (!(st = load(o, a, so, out, err)))
		return STATUS_OK;
	unlink(o->context);
	if ((st != STATUS_FAILED && st != STATUS_NOT_ASKED) || s->compiles_only)
		return st;
	// On a full disk, or under a limit on files, it is compiled without being kept.
	compiled_again(o->compiled, clock_ms() - begin);
	const bool fails = ort_check(api, api->AddSessionConfigEntry(so, "ep.context_enable", "0"), "setting options", NULL) ||
		load(o, a, so, out, NULL);
	compiled_again(NULL, 0);
	if (fails)
		return st;
	session_set_option(s, "context", arena_printf(&s->arena, "not kept: %s", err ? err->text : ""));
	compiled_drop(o->compiled);
	o->compiled = NULL;
	o->context = NULL;
	return STATUS_OK;
}

// There is no way to ask a session for its threads. A pool of n for work within operations is the caller and n - 1 new ones, so
// they are counted; with a second pool, for operations side by side, the count says nothing.
static void confirm_threads(struct session *s, int before)
{
	const char *inter = session_option(s, "inter_threads");
	int now = host_own_threads();
	char number[24];

	if (before < 0 || now < 0 || !text_is(inter, "1"))
		return;
	snprintf(number, sizeof number, "%d", now - before + 1);
	session_set_option(s, "threads", number);
}

enum status ort_create_session(
	struct session *s, const struct artifact *a, enum ort_purpose purpose, OrtSession **out, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	OrtSessionOptions *so = NULL;
	enum status st = ort_check(api, api->CreateSessionOptions(&so), "making options", err);

	const int before = host_own_threads();

	o->artifact = a;
	o->purpose = purpose;
	if (!st)
		st = set_options(s, a, purpose, so, err);
	if (!st)
		st = o->context && purpose == ORT_MEASURE ? load_compiled(s, a, so, out, err) : load(o, a, so, out, err);
	api->ReleaseSessionOptions(so);
	if (!st && purpose == ORT_MEASURE && is_cpu(s))
		confirm_threads(s, before);
	if (!st && o->compiled && (!o->context || purpose == ORT_MEASURE))
		st = compiled_keep(o->compiled, &s->compiled_bytes, err);
	return st;
}

static enum status describe(struct session *s, const OrtTypeInfo *info, struct tensor_type *t, struct error *err)
{
	const OrtApi *api = ((struct ort *)s->state)->library.api;
	const OrtTensorTypeAndShapeInfo *tensor = NULL;
	ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
	size_t rank = 0;
	enum status st = ort_check(api, api->CastTypeInfoToTensorInfo(info, &tensor), "reading a type", err);

	if (st)
		return st;
	if (!tensor)
		return error_set(err, STATUS_UNSUPPORTED, "%s is not a tensor", t->name);
	if ((st = ort_check(api, api->GetTensorElementType(tensor, &type), "reading a type", err)) ||
		(st = ort_check(api, api->GetDimensionsCount(tensor, &rank), "reading a shape", err)))
		return st;
	t->dtype = dtype_of_onnx((int)type);
	if (!t->dtype)
		return error_set(err, STATUS_UNSUPPORTED, "%s has element type %d, which is not supported", t->name, (int)type);
	if (rank > TENSOR_MAX_RANK)
		return error_set(
			err, STATUS_UNSUPPORTED, "%s has %zu dimensions; %d are supported", t->name, rank, TENSOR_MAX_RANK);
	t->rank = (int)rank;
	if ((st = ort_check(api, api->GetDimensions(tensor, t->dim, rank), "reading a shape", err)))
		return st;
	for (size_t i = 0; i < rank; i++)
		if (t->dim[i] < 0)
			t->dim[i] = -1;
	return STATUS_OK;
}

static enum status list_values(struct session *s, bool inputs, struct tensor_type **out, const char ***names, OrtValue ***values,
	size_t *ret_count, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	size_t count = 0;
	enum status st = ort_check(api,
		inputs ? api->SessionGetInputCount(o->session, &count) : api->SessionGetOutputCount(o->session, &count),
		"counting inputs and outputs", err);

	if (st)
		return st;
	*out = ARENA_ARRAY(&s->arena, count + 1, struct tensor_type);
	*names = ARENA_ARRAY(&s->arena, count + 1, const char *);
	*values = ARENA_ARRAY(&s->arena, count + 1, OrtValue *);
	for (size_t i = 0; i < count && !st; i++) {
		OrtTypeInfo *info = NULL;
		char *name = NULL;

		st = ort_check(api,
			inputs ? api->SessionGetInputName(o->session, i, o->allocator, &name)
			       : api->SessionGetOutputName(o->session, i, o->allocator, &name),
			"reading a name", err);
		if (st)
			break;
		(*names)[i] = (*out)[i].name = arena_strdup(&s->arena, name);
		o->allocator->Free(o->allocator, name);
		st = ort_check(api,
			inputs ? api->SessionGetInputTypeInfo(o->session, i, &info)
			       : api->SessionGetOutputTypeInfo(o->session, i, &info),
			"reading a type", err);
		if (!st)
			st = describe(s, info, &(*out)[i], err);
		api->ReleaseTypeInfo(info);
	}
	*ret_count = count;
	return st;
}

static enum status ort_open(struct session *s, const struct artifact *a, struct error *err)
{
	struct ort *o = s->state;
	struct tensor_type *inputs = NULL, *outputs = NULL;
	const OrtApi *api;
	char version[24];
	enum status st;

	if ((st = ort_load(&o->library, &s->arena, s->provider->build, err)))
		return st;
	api = o->library.api;
	session_set_option(s, "provider", ((const struct ort_provider *)s->provider->detail)->ep);
	ort_log_begin(NULL);
	if ((st = ort_start(&o->library, &o->env, err)) ||
		(st = ort_check(api, api->GetAllocatorWithDefaultOptions(&o->allocator), "starting", err)) ||
		(st = ort_check(
			 api, api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &o->memory), "starting", err)) ||
		(st = ort_create_session(s, a, ORT_MEASURE, &o->session, err)) ||
		(st = list_values(s, true, &inputs, &o->input_names, &o->in, &s->input_count, err)) ||
		(st = list_values(s, false, &outputs, &o->output_names, &o->out, &s->output_count, err)) ||
		(o->device_memory && (st = ort_binding_open(s, o->device_memory, err))))
		return st;
	s->inputs = inputs;
	s->outputs = outputs;
	snprintf(version, sizeof version, "%u", o->library.version);
	session_set_option(s, "api", version);
	o->recorded = o->library.version >= 24 && records_itself(s);
	o->copies = is_cpu(s) ? 0 : ort_log_copies();
	o->trouble = ort_log_error() ? arena_strdup(&s->arena, ort_log_error()) : NULL;
	// That a plugin could not be asked what it takes is no word of what it takes.
	if (o->trouble && strstr(o->trouble, "OrtEp::GetCapability() for ") && strstr(o->trouble, " failed with error: "))
		return error_set(err, cause_status("ort", s->provider->name, o->trouble, STATUS_FAILED), "%s", o->trouble);
	// Unless its provider says otherwise it computes in the types of the graph: those of its floating-point outputs.
	for (size_t i = session_option(s, "compute_dtype") ? 0 : s->output_count; i-- > 0;)
		if (outputs[i].dtype == DTYPE_F32 || outputs[i].dtype == DTYPE_F16 || outputs[i].dtype == DTYPE_BF16 ||
			outputs[i].dtype == DTYPE_F64)
			session_set_option(s, "compute_dtype", dtype_word(outputs[i].dtype));
	return STATUS_OK;
}

// ---- running ------------------------------------------------------------------------------------------------------------

static void release_values(const OrtApi *api, OrtValue **v, size_t count)
{
	for (size_t i = 0; v && i < count; i++) {
		if (v[i])
			api->ReleaseValue(v[i]);
		v[i] = NULL;
	}
}

enum status ort_show_output(struct session *s, const struct tensor_type *type, OrtValue *v, struct tensor *out, struct error *err)
{
	const OrtApi *api = ((struct ort *)s->state)->library.api;
	OrtTensorTypeAndShapeInfo *info = NULL;
	ONNXTensorElementDataType element;
	size_t rank = 0, count = 0;
	enum status st = ort_check(api, api->GetTensorTypeAndShape(v, &info), "reading an output", err);

	*out = (struct tensor){ .name = type->name };
	if (!st)
		st = ort_check(api, api->GetTensorElementType(info, &element), "reading an output", err);
	if (!st)
		st = ort_check(api, api->GetDimensionsCount(info, &rank), "reading an output", err);
	if (!st && rank > TENSOR_MAX_RANK)
		st = error_set(err, STATUS_UNSUPPORTED, "output %s has %zu dimensions; %d are supported", type->name, rank,
			TENSOR_MAX_RANK);
	if (!st)
		st = ort_check(api, api->GetDimensions(info, out->dim, rank), "reading an output", err);
	if (!st)
		st = ort_check(api, api->GetTensorMutableData(v, &out->data), "reading an output", err);
	api->ReleaseTensorTypeAndShapeInfo(info);
	if (st)
		return st;
	out->rank = (int)rank;
	out->dtype = dtype_of_onnx((int)element);
	if (!out->dtype || !tensor_count(out->rank, out->dim, &count))
		return error_set(
			err, STATUS_UNSUPPORTED, "output %s has an element type or a shape that is not supported", type->name);
	out->nbytes = count * dtype_size(out->dtype);
	return STATUS_OK;
}

static enum status give_inputs(struct session *s, const struct tensor *in, OrtValue **values, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	enum status st = STATUS_OK;

	for (size_t i = 0; i < s->input_count && !st; i++)
		st = ort_check(api,
			api->CreateTensorWithDataAsOrtValue(o->memory, in[i].data, in[i].nbytes, in[i].dim, (size_t)in[i].rank,
				(ONNXTensorElementDataType)dtype_onnx(in[i].dtype), &values[i]),
			"giving an input", err);
	return st;
}

static enum status call(struct session *s, OrtValue **in, OrtValue **values, struct tensor *out, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	enum status st = ort_check(api,
		api->Run(o->session, NULL, o->input_names, (const OrtValue *const *)in, s->input_count, o->output_names,
			s->output_count, values),
		"running", err);

	for (size_t i = 0; i < s->output_count && !st; i++)
		st = ort_show_output(s, &s->outputs[i], values[i], &out[i], err);
	return st;
}

static enum status run_on_host(struct session *s, const struct tensor *in, struct tensor *out, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	enum status st = STATUS_OK;

	release_values(api, o->in, s->input_count);
	if (s->keeps_outputs) {
		OrtValue **spare = o->older ? o->older : ARENA_ARRAY(&s->arena, s->output_count + 1, OrtValue *);

		release_values(api, spare, s->output_count);
		o->older = o->out;
		o->out = spare;
	}
	release_values(api, o->out, s->output_count);
	st = give_inputs(s, in, o->in, err);
	for (size_t i = 0; s->past_of && i < s->output_count && !st; i++) {
		const struct tensor *past = s->past_of[i] >= 0 ? &in[s->past_of[i]] : NULL;

		if (past)
			st = ort_check(api,
				api->CreateTensorWithDataAsOrtValue(o->memory, past->data, past->nbytes, past->dim,
					(size_t)past->rank, (ONNXTensorElementDataType)dtype_onnx(past->dtype), &o->out[i]),
				"giving an output its place", err);
	}
	return st ? st : call(s, o->in, o->out, out, err);
}

static enum status ort_run(struct session *s, const struct tensor *in, struct tensor *out, struct error *err)
{
	struct ort *o = s->state;
	enum status st = o->binding ? ort_binding_run(s, in, out, err) : run_on_host(s, in, out, err);

	// A provider may compile once more, for the shapes of its first run, and keep that too: noted when the session is closed.
	if (!st && o->compiled && !o->context && s->run_count == 1)
		s->compiled_bytes = compiled_bytes(o->compiled);
	return st;
}

// ONNX Runtime's Run may be called from several threads; each lane has values of its own. A binding has one set of them.
static enum status ort_lanes(struct session *s, size_t count, struct error *err)
{
	struct ort *o = s->state;

	if (o->binding || s->keeps_outputs || s->past_of || o->lanes)
		return error_set(err, STATUS_UNSUPPORTED, "its outputs are bound to one place");
	o->lanes = ARENA_ARRAY(&s->arena, count, struct ort_lane);
	o->lane_count = count;
	for (size_t i = 0; i < count; i++) {
		o->lanes[i].in = ARENA_ARRAY(&s->arena, s->input_count + 1, OrtValue *);
		o->lanes[i].out = ARENA_ARRAY(&s->arena, s->output_count + 1, OrtValue *);
	}
	return STATUS_OK;
}

static enum status ort_run_lane(struct session *s, size_t lane, const struct tensor *in, struct tensor *out, struct error *err)
{
	struct ort *o = s->state;
	struct ort_lane *l = &o->lanes[lane];
	enum status st;

	release_values(o->library.api, l->in, s->input_count);
	release_values(o->library.api, l->out, s->output_count);
	st = give_inputs(s, in, l->in, err);
	return st ? st : call(s, l->in, l->out, out, err);
}

static void ort_close(struct session *s)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;

	if (!api)
		return;
	ort_binding_close(s);
	release_values(api, o->in, s->input_count);
	release_values(api, o->out, s->output_count);
	release_values(api, o->older, s->output_count);
	for (size_t i = 0; i < o->lane_count; i++) {
		release_values(api, o->lanes[i].in, s->input_count);
		release_values(api, o->lanes[i].out, s->output_count);
	}
	if (o->memory)
		api->ReleaseMemoryInfo(o->memory);
	if (o->session)
		api->ReleaseSession(o->session);
	if (o->env && !ort_plugin_any())
		api->ReleaseEnv(o->env);
	if (o->compiled && !o->context && s->run_count)
		compiled_keep_more(o->compiled);
	memset(o, 0, sizeof *o);
}

const struct backend backend_ort = {
	.name = "ort",
	.summary = "ONNX Runtime",
	.caps = BACKEND_WRITES_IN_PLACE,
	.session_size = sizeof(struct ort),
	.options = options,
	.providers = ort_providers,
	.devices = ort_devices,
	.open = ort_open,
	.run = ort_run,
	.lanes = ort_lanes,
	.run_lane = ort_run_lane,
	.close = ort_close,
	.explain = ort_explain,
	.profile = ort_profile,
	.can_profile = ort_can_profile,
};
