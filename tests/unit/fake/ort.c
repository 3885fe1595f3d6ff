// SPDX-License-Identifier: Apache-2.0
// A stand-in for ONNX Runtime's library, for tests of the code around providers whose hardware is not there. It writes every
// call that matters into fake_log, counts what is created and not released, knows the keys that the real libraries know, and
// computes y = 2x for one input x [n,3]. Its "device" memory cannot be read by the host: addresses have a bit set that only the
// vendor's copy (vendor.c) takes off. A run on a device does its work when it is waited for, not before.
#include <onnxruntime/onnxruntime_c_api.h>

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define ON_DEVICE ((uintptr_t)1 << 62)

EXPORT char fake_log[1 << 16];
EXPORT int fake_live[16]; // by the kinds below

enum { ENV, OPTIONS, SESSION, MEMORY, ALLOCATOR, BINDING, VALUE, TYPE, SHAPE, CUDA_OPTIONS, TRT_OPTIONS, STATUS, TEXT, KINDS };

struct OrtStatus {
	OrtErrorCode code;
	char text[512];
};
struct OrtEnv {
	int unused;
};
struct OrtSessionOptions {
	char cache[512];
	char engine[64];
};
struct OrtSession {
	char cache[512];
};
struct OrtMemoryInfo {
	char name[32];
	int device;
};
struct OrtTypeInfo {
	int unused;
};
struct OrtTensorTypeAndShapeInfo {
	int64_t dim[8];
	size_t rank;
};
struct OrtValue {
	void *data;
	int64_t dim[8];
	size_t rank;
	void *own;
	int references;
};
struct OrtIoBinding {
	OrtValue *in, *out;
	int pending;
};
struct OrtCUDAProviderOptionsV2 {
	char text[4096];
};
struct OrtTensorRTProviderOptionsV2 {
	char text[4096];
	char cache[512];
};

static void note(const char *format, ...)
{
	size_t used = strlen(fake_log);
	va_list ap;

	va_start(ap, format);
	vsnprintf(fake_log + used, sizeof fake_log - used, format, ap);
	va_end(ap);
}

EXPORT void fake_note(const char *line)
{
	note("%s\n", line);
}

static void *make(int kind, size_t size)
{
	fake_live[kind]++;
	return calloc(1, size);
}

static void drop(int kind, void *p)
{
	if (!p)
		return;
	fake_live[kind]--;
	free(p);
}

#define FAIL(...) return failure(ORT_FAIL, __VA_ARGS__)
static OrtStatus *failure(OrtErrorCode code, const char *format, ...)
{
	OrtStatus *s = make(STATUS, sizeof *s);
	va_list ap;

	s->code = code;
	va_start(ap, format);
	vsnprintf(s->text, sizeof s->text, format, ap);
	va_end(ap);
	return s;
}

static OrtErrorCode get_error_code(const OrtStatus *s)
{
	return s->code;
}
static const char *get_error_message(const OrtStatus *s)
{
	return s->text;
}
static void release_status(OrtStatus *s)
{
	drop(STATUS, s);
}

// ---- keys that the real libraries know: read from the strings of onnxruntime-gpu 1.31.1 and onnxruntime-migraphx 1.27.1
// ----------

EXPORT const char *const fake_cuda_keys[] = { "device_id", "gpu_mem_limit", "arena_extend_strategy", "cudnn_conv_algo_search",
	"do_copy_in_default_stream", "cudnn_conv_use_max_workspace", "enable_cuda_graph", "cudnn_conv1d_pad_to_nc1d",
	"tunable_op_enable", "tunable_op_tuning_enable", "enable_skip_layer_norm_strict_mode", "prefer_nhwc",
	"use_ep_level_unified_stream", "use_tf32", "fuse_conv_bias", "sdpa_kernel", NULL };
EXPORT const char *const fake_tensorrt_keys[] = { "device_id", "trt_fp16_enable", "trt_bf16_enable",
	"trt_layer_norm_fp32_fallback", "trt_max_workspace_size", "trt_builder_optimization_level", "trt_min_subgraph_size",
	"trt_engine_cache_enable", "trt_engine_cache_path", "trt_timing_cache_enable", "trt_timing_cache_path",
	"trt_cuda_graph_enable", NULL };
EXPORT const char *const fake_migraphx_keys[] = { "device_id", "migraphx_fp16_enable", "migraphx_bf16_enable",
	"migraphx_fp8_enable", "migraphx_exhaustive_tune", "migraphx_mem_limit", "migraphx_arena_extend_strategy",
	"migraphx_model_cache_dir", NULL };
static const char *const coreml_keys[] = { "MLComputeUnits", "ModelFormat", "RequireStaticInputShapes", "EnableOnSubgraphs",
	"SpecializationStrategy", "ProfileComputePlan", "AllowLowPrecisionAccumulationOnGPU", "ModelCacheDirectory", NULL };
static const char *const xnnpack_keys[] = { "intra_op_num_threads", NULL };
static const char *const rtx_keys[] = { "device_id", "nv_max_workspace_size", "enable_cuda_graph", "nv_runtime_cache_path",
	NULL };

static OrtStatus *write_options(const char *what, const char *const *known, const char *const *keys, const char *const *values,
	size_t count, char *out, size_t room)
{
	for (size_t i = 0; i < count; i++) {
		const char *const *k = known;

		while (*k && strcmp(*k, keys[i]))
			k++;
		if (!*k)
			return failure(ORT_INVALID_ARGUMENT, "%s: unknown option %s", what, keys[i]);
		note("%s %s=%s\n", what, keys[i], values[i]);
		size_t used = strlen(out);
		snprintf(out + used, room - used, "%s=%s;", keys[i], values[i]);
	}
	return NULL;
}

// ---- environment and options ------------------------------------------------------------------------------------------------

static OrtStatus *create_env(OrtLoggingLevel level, const char *id, OrtEnv **out)
{
	(void)level;
	(void)id;
	note("CreateEnv telemetry=%s\n", getenv("ORT_DISABLE_TELEMETRY") ? "off" : "on");
	*out = make(ENV, sizeof **out);
	return NULL;
}
static OrtStatus *create_logged_env(OrtLoggingFunction log, void *parameter, OrtLoggingLevel level, const char *id, OrtEnv **out)
{
	if (!log)
		FAIL("a function is expected");
	(void)parameter;
	return create_env(level, id, out);
}
static void release_env(OrtEnv *e)
{
	drop(ENV, e);
}

static OrtStatus *get_available_providers(char ***out, int *count)
{
	const char *list = getenv("FAKE_ORT_PROVIDERS");
	char *copy = strdup(list ? list : "CPUExecutionProvider"), *rest = NULL;

	*out = make(TEXT, 16 * sizeof **out);
	*count = 0;
	for (char *one = strtok_r(copy, " ", &rest); one && *count < 15; one = strtok_r(NULL, " ", &rest))
		(*out)[(*count)++] = strdup(one);
	free(copy);
	return NULL;
}
static OrtStatus *release_available_providers(char **list, int count)
{
	for (int i = 0; i < count; i++)
		free(list[i]);
	drop(TEXT, list);
	return NULL;
}

static OrtStatus *create_session_options(OrtSessionOptions **out)
{
	*out = make(OPTIONS, sizeof **out);
	return NULL;
}
static void release_session_options(OrtSessionOptions *o)
{
	drop(OPTIONS, o);
}
static OrtStatus *set_log(OrtSessionOptions *o, int level)
{
	return (void)o, (void)level, NULL;
}
static OrtStatus *set_number(OrtSessionOptions *o, int n)
{
	return (void)o, (void)n, NULL;
}
static OrtStatus *set_mode(OrtSessionOptions *o, ExecutionMode m)
{
	return (void)o, (void)m, NULL;
}
static OrtStatus *set_level(OrtSessionOptions *o, GraphOptimizationLevel l)
{
	return (void)o, (void)l, NULL;
}
static OrtStatus *add_entry(OrtSessionOptions *o, const char *key, const char *value)
{
	(void)o;
	note("entry %s=%s\n", key, value);
	return NULL;
}

// Opens a provider's library (FAKE_PROVIDER) as the real one does: after handing over the interface that the library calls.
static OrtStatus *load_provider(void)
{
	void *library;

	setenv("FAKE_HOST", "1", 1);
	library = dlopen(getenv("FAKE_PROVIDER"), RTLD_NOW | RTLD_LOCAL);
	unsetenv("FAKE_HOST");
	if (!library)
		FAIL("%s", dlerror());
	return NULL;
}

static OrtStatus *create_cuda(OrtCUDAProviderOptionsV2 **out)
{
	OrtStatus *st = load_provider();

	if (st)
		return st;
	*out = make(CUDA_OPTIONS, sizeof **out);
	return NULL;
}
static OrtStatus *update_cuda(OrtCUDAProviderOptionsV2 *o, const char *const *keys, const char *const *values, size_t count)
{
	return write_options("cuda", fake_cuda_keys, keys, values, count, o->text, sizeof o->text);
}
static void release_cuda(OrtCUDAProviderOptionsV2 *o)
{
	drop(CUDA_OPTIONS, o);
}
static OrtStatus *append_cuda(OrtSessionOptions *so, const OrtCUDAProviderOptionsV2 *o)
{
	(void)so;
	(void)o;
	note("append CUDA\n");
	return NULL;
}
static OrtStatus *give_text(OrtAllocator *a, const char *text, char **out)
{
	*out = a->Alloc(a, strlen(text) + 1);
	memcpy(*out, text, strlen(text) + 1);
	return NULL;
}
static OrtStatus *cuda_text(const OrtCUDAProviderOptionsV2 *o, OrtAllocator *a, char **out)
{
	return give_text(a, o->text, out);
}

static OrtStatus *create_trt(OrtTensorRTProviderOptionsV2 **out)
{
	OrtStatus *st = load_provider();

	if (st)
		return st;
	*out = make(TRT_OPTIONS, sizeof **out);
	return NULL;
}
static OrtStatus *update_trt(OrtTensorRTProviderOptionsV2 *o, const char *const *keys, const char *const *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(keys[i], "trt_engine_cache_path"))
			snprintf(o->cache, sizeof o->cache, "%s", values[i]);
	return write_options("tensorrt", fake_tensorrt_keys, keys, values, count, o->text, sizeof o->text);
}
static void release_trt(OrtTensorRTProviderOptionsV2 *o)
{
	drop(TRT_OPTIONS, o);
}
static OrtStatus *append_trt(OrtSessionOptions *so, const OrtTensorRTProviderOptionsV2 *o)
{
	note("append TensorRT NVIDIA_TF32_OVERRIDE=%s\n", getenv("NVIDIA_TF32_OVERRIDE"));
	snprintf(so->cache, sizeof so->cache, "%s", o->cache);
	snprintf(so->engine, sizeof so->engine, "fake.engine");
	return NULL;
}
static OrtStatus *trt_text(const OrtTensorRTProviderOptionsV2 *o, OrtAllocator *a, char **out)
{
	return give_text(a, o->text, out);
}

static OrtStatus *append_by_name(
	OrtSessionOptions *so, const char *name, const char *const *keys, const char *const *values, size_t count)
{
	static const struct {
		const char *name, *cache, *file;
		const char *const *known;
	} all[] = {
		{ "MIGraphX", "migraphx_model_cache_dir", "fake.mxr", fake_migraphx_keys },
		{ "CoreML", "ModelCacheDirectory", "fake.mlmodelc", coreml_keys },
		{ "XNNPACK", "", "", xnnpack_keys },
		{ "NvTensorRtRtx", "nv_runtime_cache_path", "fake.rtx", rtx_keys },
	};
	char text[4096] = "";

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		OrtStatus *st;

		if (strcmp(all[i].name, name))
			continue;
		if (!strcmp(name, "MIGraphX") && (st = load_provider()))
			return st;
		if ((st = write_options(name, all[i].known, keys, values, count, text, sizeof text)))
			return st;
		for (size_t k = 0; k < count; k++)
			if (!strcmp(keys[k], all[i].cache)) {
				snprintf(so->cache, sizeof so->cache, "%s", values[k]);
				snprintf(so->engine, sizeof so->engine, "%s", all[i].file);
			}
		note("append %s\n", name);
		return NULL;
	}
	return failure(ORT_INVALID_ARGUMENT, "Unknown provider name '%s'", name);
}

// ---- sessions ---------------------------------------------------------------------------------------------------------------

// A compiler's file in the folder that the provider was given: used when it is there, made when not.
static OrtStatus *open_session(const OrtSessionOptions *o, OrtSession **out)
{
	char path[640];
	FILE *f;

	if (getenv("FAKE_ORT_FAIL"))
		FAIL("%s", getenv("FAKE_ORT_FAIL"));
	if (*o->cache) {
		snprintf(path, sizeof path, "%s/%s", o->cache, o->engine);
		if (access(path, F_OK) == 0) {
			note("compiled found\n");
		} else if ((f = fopen(path, "w"))) {
			note("compiled made\n");
			fputs("compiled", f);
			fclose(f);
		} else {
			FAIL("cannot write %s", path);
		}
	}
	*out = make(SESSION, sizeof **out);
	snprintf((*out)->cache, sizeof(*out)->cache, "%s", o->cache);
	note("CreateSession\n");
	return NULL;
}
static OrtStatus *create_session(const OrtEnv *e, const char *path, const OrtSessionOptions *o, OrtSession **out)
{
	return (void)e, (void)path, open_session(o, out);
}
static OrtStatus *create_session_array(const OrtEnv *e, const void *data, size_t n, const OrtSessionOptions *o, OrtSession **out)
{
	return (void)e, (void)data, (void)n, open_session(o, out);
}
static void release_session(OrtSession *s)
{
	note("ReleaseSession\n");
	drop(SESSION, s);
}

static void *alloc_host(OrtAllocator *a, size_t n)
{
	return (void)a, make(TEXT, n ? n : 1);
}
static void free_host(OrtAllocator *a, void *p)
{
	(void)a, drop(TEXT, p);
}
static OrtAllocator host = { .version = ORT_API_VERSION, .Alloc = alloc_host, .Free = free_host };
static OrtStatus *get_default_allocator(OrtAllocator **out)
{
	return *out = &host, NULL;
}

static OrtStatus *count_one(const OrtSession *s, size_t *n)
{
	return (void)s, *n = 1, NULL;
}
static OrtStatus *name_of_input(const OrtSession *s, size_t i, OrtAllocator *a, char **out)
{
	return (void)s, (void)i, give_text(a, "x", out);
}
static OrtStatus *name_of_output(const OrtSession *s, size_t i, OrtAllocator *a, char **out)
{
	return (void)s, (void)i, give_text(a, "y", out);
}
static OrtStatus *type_of(const OrtSession *s, size_t i, OrtTypeInfo **out)
{
	(void)s;
	(void)i;
	*out = make(TYPE, sizeof **out);
	return NULL;
}
static void release_type(OrtTypeInfo *t)
{
	drop(TYPE, t);
}
static OrtTensorTypeAndShapeInfo declared = { { -1, 3 }, 2 };
static OrtStatus *cast_type(const OrtTypeInfo *t, const OrtTensorTypeAndShapeInfo **out)
{
	return (void)t, *out = &declared, NULL;
}
static OrtStatus *element_type(const OrtTensorTypeAndShapeInfo *t, ONNXTensorElementDataType *out)
{
	return (void)t, *out = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, NULL;
}
static OrtStatus *rank_of(const OrtTensorTypeAndShapeInfo *t, size_t *out)
{
	return *out = t->rank, NULL;
}
static OrtStatus *dims_of(const OrtTensorTypeAndShapeInfo *t, int64_t *out, size_t n)
{
	return memcpy(out, t->dim, n * sizeof *out), NULL;
}

// ---- values -----------------------------------------------------------------------------------------------------------------

static size_t count_of(const int64_t *dim, size_t rank)
{
	size_t n = 1;

	for (size_t i = 0; i < rank; i++)
		n *= (size_t)dim[i];
	return n;
}

static OrtValue *new_value(void *data, void *own, const int64_t *dim, size_t rank)
{
	OrtValue *v = make(VALUE, sizeof *v);

	v->data = data;
	v->own = own;
	v->rank = rank;
	v->references = 1;
	memcpy(v->dim, dim, rank * sizeof *dim);
	return v;
}
static OrtValue *on_device(const int64_t *dim, size_t rank)
{
	float *own = calloc(count_of(dim, rank), sizeof *own);

	return new_value((void *)((uintptr_t)own | ON_DEVICE), own, dim, rank);
}
static void release_value(OrtValue *v)
{
	if (!v || --v->references)
		return;
	free(v->own);
	drop(VALUE, v);
}
static OrtStatus *value_over(const OrtMemoryInfo *m, void *data, size_t nbytes, const int64_t *dim, size_t rank,
	ONNXTensorElementDataType t, OrtValue **out)
{
	(void)m;
	(void)nbytes;
	(void)t;
	*out = new_value(data, NULL, dim, rank);
	return NULL;
}
static OrtStatus *value_in(OrtAllocator *a, const int64_t *dim, size_t rank, ONNXTensorElementDataType t, OrtValue **out)
{
	(void)t;
	if (a == &host)
		FAIL("a value was asked for in host memory");
	note("CreateTensorAsOrtValue [%d,%d]\n", (int)dim[0], (int)dim[1]);
	*out = on_device(dim, rank);
	return NULL;
}
static OrtStatus *data_of(OrtValue *v, void **out)
{
	return *out = v->data, NULL;
}
static OrtStatus *shape_of(const OrtValue *v, OrtTensorTypeAndShapeInfo **out)
{
	*out = make(SHAPE, sizeof **out);
	(*out)->rank = v->rank;
	memcpy((*out)->dim, v->dim, sizeof v->dim);
	return NULL;
}
static void release_shape(OrtTensorTypeAndShapeInfo *t)
{
	drop(SHAPE, t);
}

static float *host_address(const OrtValue *v)
{
	return (float *)((uintptr_t)v->data & ~ON_DEVICE);
}
static void compute(const OrtValue *x, const OrtValue *y)
{
	for (size_t i = 0; i < count_of(x->dim, x->rank); i++)
		host_address(y)[i] = 2 * host_address(x)[i];
}

static OrtStatus *run(OrtSession *s, const OrtRunOptions *o, const char *const *in_names, const OrtValue *const *in,
	size_t in_count, const char *const *out_names, size_t out_count, OrtValue **out)
{
	char path[640];
	FILE *f;

	(void)o;
	snprintf(path, sizeof path, "%s/fake.late", s->cache);
	if (*s->cache && access(path, F_OK) && (f = fopen(path, "w"))) // TensorRT compiles once more for the shapes of a run
		fclose(f);
	if (in_count != 1 || out_count != 1 || strcmp(*in_names, "x") || strcmp(*out_names, "y"))
		FAIL("x and y are expected");
	note("Run\n");
	if (!*out) {
		float *own = calloc(count_of((*in)->dim, (*in)->rank), sizeof *own);
		*out = new_value(own, own, (*in)->dim, (*in)->rank);
	}
	compute(*in, *out);
	return NULL;
}

// ---- binding ----------------------------------------------------------------------------------------------------------------

static OrtStatus *cpu_memory(enum OrtAllocatorType t, enum OrtMemType m, OrtMemoryInfo **out)
{
	(void)t;
	(void)m;
	*out = make(MEMORY, sizeof **out);
	return NULL;
}
static OrtStatus *create_memory(const char *name, enum OrtAllocatorType t, int device, enum OrtMemType m, OrtMemoryInfo **out)
{
	const char *known = getenv("FAKE_ORT_MEMORY");

	(void)t;
	(void)m;
	if (strcmp(name, known ? known : "Cuda"))
		return failure(ORT_INVALID_ARGUMENT, "Specified device is not supported: %s", name);
	note("CreateMemoryInfo %s %d\n", name, device);
	*out = make(MEMORY, sizeof **out);
	snprintf((*out)->name, sizeof(*out)->name, "%s", name);
	(*out)->device = device;
	return NULL;
}
static void release_memory(OrtMemoryInfo *m)
{
	drop(MEMORY, m);
}
static OrtStatus *create_allocator(const OrtSession *s, const OrtMemoryInfo *m, OrtAllocator **out)
{
	(void)s;
	note("CreateAllocator %s %d\n", m->name, m->device);
	*out = make(ALLOCATOR, sizeof **out);
	return NULL;
}
static void release_allocator(OrtAllocator *a)
{
	drop(ALLOCATOR, a);
}
static OrtStatus *create_binding(OrtSession *s, OrtIoBinding **out)
{
	(void)s;
	note("CreateIoBinding\n");
	*out = make(BINDING, sizeof **out);
	return NULL;
}
static void release_binding(OrtIoBinding *b)
{
	if (b && b->in)
		release_value(b->in);
	if (b && b->out)
		release_value(b->out);
	note("ReleaseIoBinding\n");
	drop(BINDING, b);
}
static OrtStatus *bind_input(OrtIoBinding *b, const char *name, const OrtValue *v)
{
	note("BindInput %s %s\n", name, (uintptr_t)v->data & ON_DEVICE ? "device" : "host");
	if (b->in)
		release_value(b->in);
	b->in = (OrtValue *)v;
	b->in->references++;
	return NULL;
}
static OrtStatus *bind_output(OrtIoBinding *b, const char *name, const OrtMemoryInfo *m)
{
	(void)b;
	note("BindOutputToDevice %s %s %d\n", name, m->name, m->device);
	return NULL;
}
static void clear_outputs(OrtIoBinding *b)
{
	note("ClearBoundOutputs\n");
	if (b->out)
		release_value(b->out);
	b->out = NULL;
}
static OrtStatus *synchronize_inputs(OrtIoBinding *b)
{
	return (void)b, note("SynchronizeBoundInputs\n"), NULL;
}
static OrtStatus *synchronize_outputs(OrtIoBinding *b)
{
	note("SynchronizeBoundOutputs\n");
	if (b->pending)
		compute(b->in, b->out);
	b->pending = 0;
	return NULL;
}
static OrtStatus *run_bound(OrtSession *s, const OrtRunOptions *o, const OrtIoBinding *binding)
{
	OrtIoBinding *b = (OrtIoBinding *)binding;

	(void)s;
	(void)o;
	note("RunWithBinding\n");
	if (!b->in)
		FAIL("no input is bound");
	if (!b->out)
		b->out = on_device(b->in->dim, b->in->rank);
	if (b->out->dim[0] != b->in->dim[0])
		FAIL("the bound output has another shape");
	b->pending = 1;
	return NULL;
}
static OrtStatus *bound_values(const OrtIoBinding *b, OrtAllocator *a, OrtValue ***out, size_t *count)
{
	note("GetBoundOutputValues%s\n", b->pending ? " unfinished" : "");
	*out = a->Alloc(a, sizeof **out);
	**out = b->out;
	b->out->references++;
	*count = 1;
	return NULL;
}

// ---- a provider in a library of its own
// -----------------------------------------------------------------------------------------

struct OrtEpDevice {
	int unused;
};
struct OrtKeyValuePairs {
	char library[512];
};
static struct OrtEpDevice plugin_device;
static struct OrtKeyValuePairs plugin_metadata;

static OrtStatus *register_library(OrtEnv *e, const char *name, const char *path)
{
	(void)e;
	if (strcmp(name, "MLXExecutionProvider"))
		FAIL("it takes no other provider from a library of its own than MLX");
	note("RegisterExecutionProviderLibrary %s\n", name);
	snprintf(plugin_metadata.library, sizeof plugin_metadata.library, "%s", path);
	return NULL;
}
static OrtStatus *get_devices(const OrtEnv *e, const OrtEpDevice *const **out, size_t *count)
{
	static const OrtEpDevice *const all[] = { &plugin_device };

	(void)e;
	*out = all;
	*count = *plugin_metadata.library ? 1 : 0;
	return NULL;
}
static const OrtKeyValuePairs *metadata_of(const OrtEpDevice *d)
{
	return (void)d, &plugin_metadata;
}
static const char *value_of(const OrtKeyValuePairs *p, const char *key)
{
	return !strcmp(key, "library_path") ? p->library : !strcmp(key, "version") ? "0.31.0" : NULL;
}
static OrtStatus *append_devices(OrtSessionOptions *so, OrtEnv *e, const OrtEpDevice *const *devices, size_t count,
	const char *const *keys, const char *const *values, size_t pairs)
{
	(void)so;
	(void)e;
	(void)devices;
	for (size_t i = 0; i < pairs; i++)
		note("plugin %s=%s\n", keys[i], values[i]);
	note("append plugin, %zu device\n", count);
	return NULL;
}

static const OrtApi api = {
	.RegisterExecutionProviderLibrary = register_library,
	.GetEpDevices = get_devices,
	.EpDevice_EpMetadata = metadata_of,
	.GetKeyValue = value_of,
	.SessionOptionsAppendExecutionProvider_V2 = append_devices,
	.GetErrorCode = get_error_code,
	.GetErrorMessage = get_error_message,
	.ReleaseStatus = release_status,
	.CreateEnv = create_env,
	.CreateEnvWithCustomLogger = create_logged_env,
	.ReleaseEnv = release_env,
	.GetAvailableProviders = get_available_providers,
	.ReleaseAvailableProviders = release_available_providers,
	.CreateSessionOptions = create_session_options,
	.ReleaseSessionOptions = release_session_options,
	.SetSessionLogSeverityLevel = set_log,
	.SetIntraOpNumThreads = set_number,
	.SetInterOpNumThreads = set_number,
	.SetSessionExecutionMode = set_mode,
	.SetSessionGraphOptimizationLevel = set_level,
	.AddSessionConfigEntry = add_entry,
	.CreateCUDAProviderOptions = create_cuda,
	.UpdateCUDAProviderOptions = update_cuda,
	.ReleaseCUDAProviderOptions = release_cuda,
	.SessionOptionsAppendExecutionProvider_CUDA_V2 = append_cuda,
	.GetCUDAProviderOptionsAsString = cuda_text,
	.CreateTensorRTProviderOptions = create_trt,
	.UpdateTensorRTProviderOptions = update_trt,
	.ReleaseTensorRTProviderOptions = release_trt,
	.SessionOptionsAppendExecutionProvider_TensorRT_V2 = append_trt,
	.GetTensorRTProviderOptionsAsString = trt_text,
	.SessionOptionsAppendExecutionProvider = append_by_name,
	.CreateSession = create_session,
	.CreateSessionFromArray = create_session_array,
	.ReleaseSession = release_session,
	.GetAllocatorWithDefaultOptions = get_default_allocator,
	.SessionGetInputCount = count_one,
	.SessionGetOutputCount = count_one,
	.SessionGetInputName = name_of_input,
	.SessionGetOutputName = name_of_output,
	.SessionGetInputTypeInfo = type_of,
	.SessionGetOutputTypeInfo = type_of,
	.ReleaseTypeInfo = release_type,
	.CastTypeInfoToTensorInfo = cast_type,
	.GetTensorElementType = element_type,
	.GetDimensionsCount = rank_of,
	.GetDimensions = dims_of,
	.CreateTensorWithDataAsOrtValue = value_over,
	.CreateTensorAsOrtValue = value_in,
	.ReleaseValue = release_value,
	.GetTensorMutableData = data_of,
	.GetTensorTypeAndShape = shape_of,
	.ReleaseTensorTypeAndShapeInfo = release_shape,
	.Run = run,
	.CreateCpuMemoryInfo = cpu_memory,
	.CreateMemoryInfo = create_memory,
	.ReleaseMemoryInfo = release_memory,
	.CreateAllocator = create_allocator,
	.ReleaseAllocator = release_allocator,
	.CreateIoBinding = create_binding,
	.ReleaseIoBinding = release_binding,
	.BindInput = bind_input,
	.BindOutputToDevice = bind_output,
	.ClearBoundOutputs = clear_outputs,
	.SynchronizeBoundInputs = synchronize_inputs,
	.SynchronizeBoundOutputs = synchronize_outputs,
	.RunWithBinding = run_bound,
	.GetBoundOutputValues = bound_values,
};

static const OrtApi *get_api(uint32_t version)
{
	return version <= ORT_API_VERSION ? &api : NULL;
}
static const char *get_version(void)
{
	const char *version = getenv("FAKE_ORT_VERSION");

	return version ? version : "1.31.1";
}
static const OrtApiBase base = { get_api, get_version };

EXPORT const OrtApiBase *OrtGetApiBase(void);
const OrtApiBase *OrtGetApiBase(void)
{
	return &base;
}
