// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's MIGraphX provider: AMD's GPUs (the ROCm provider is gone since 1.23). The GPUs are asked of HIP, so they have
// the numbers that device_id takes, and HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES have already hidden what they hide.
// MIGraphX compiles for minutes, so what it made is kept; the row says whether it was found ("model_cache").
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/compiled.h"
#include "backend/ort_vendor.h"

const struct option ort_migraphx_options[] = {
	{ "fp16", "off", "the graph is computed in float16 (migraphx_fp16_enable)", OPTION_SWITCH },
	{ "bf16", "off", "the graph is computed in bfloat16 (migraphx_bf16_enable)", OPTION_SWITCH },
	{ "fp8", "off", "the graph is computed in float8 (migraphx_fp8_enable)", OPTION_SWITCH },
	{ "exhaustive_tune", "off", "every kernel is tuned on the device: much longer to open (migraphx_exhaustive_tune)",
		OPTION_SWITCH },
	{ "gpu_mem_limit", NULL,
		"the most that the arena may take: bytes, 512m, 2g; default: all there is (migraphx_mem_limit)" },
	{ "arena_extend_strategy", "same_as_requested", "how the arena grows: same_as_requested or next_power_of_two",
		"same_as_requested next_power_of_two" },
	{ "model_cache", "on", "compiled programs are kept in assay's cache and used again until driver, library or graph change",
		OPTION_SWITCH },
	IO_BINDING_OPTION,
	{ .name = NULL },
};

static const struct vendor_library libraries[] = { { "libamdhip64.so.7", NULL }, { "libmigraphx_c.so.3", NULL }, { NULL, NULL } };
static const char *const places[] = { "/opt/rocm/lib", "/opt/rocm/lib/migraphx/lib", NULL };
// It has no function that makes its options: what is given it here is thrown away.
static OrtStatus *load(const OrtApi *api)
{
	OrtSessionOptions *so = NULL;
	OrtStatus *st = api->CreateSessionOptions(&so);

	if (!st)
		st = api->SessionOptionsAppendExecutionProvider(so, "MIGraphX", NULL, NULL, 0);
	if (so)
		api->ReleaseSessionOptions(so);
	return st;
}

static const struct vendor vendor = {
	.file = "libonnxruntime_providers_migraphx.so",
	.folder = "rocm",
	.places = places,
	.needs = libraries,
	.setup = "`assay setup rocm` brings it",
	.remedy = "they come with AMD's ROCm 7 (packages hip-runtime-amd and migraphx); `assay setup rocm` brings only ONNX "
		  "Runtime's part",
	.load = load,
};

struct hip {
	int (*init)(unsigned flags);
	int (*count)(int *count);
	int (*name)(char *name, int length, int device);
	int (*memory)(size_t *bytes, int device);
	int (*runtime_version)(int *version);
	const char *(*error_text)(int code);
};

static const char *hidden_by(struct arena *a)
{
	static const char *const names[] = { "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (getenv(names[i]))
			return arena_printf(a, "%s=%s", names[i], getenv(names[i]));
	return NULL;
}

// Without /dev/kfd HIP has nothing to talk to, whatever libraries there are.
static const char *why_none(struct arena *a, const char *hip_says)
{
	const char *hidden = hidden_by(a);

	if (access("/dev/kfd", F_OK))
		return "no AMD GPU driver: /dev/kfd is missing (kernel module amdgpu)";
	if (access("/dev/kfd", R_OK | W_OK))
		return "no permission to use /dev/kfd: join the groups render and video";
	return arena_printf(a, "HIP finds no GPU%s%s%s%s", hip_says ? ": " : "", hip_says ? hip_says : "",
		hidden ? "; hidden by " : "", hidden ? hidden : "");
}

static void hip_list(struct gpu_list *out, struct arena *a)
{
	struct hip h;
	const char *why;
	int count = 0, code, version = 0;
	void *lib = vendor_open(a, &vendor, "libamdhip64.so.7", &why);

	*out = (struct gpu_list){ 0 };
	if (!lib || !vendor_find(lib, "hipInit", &h.init) || !vendor_find(lib, "hipGetDeviceCount", &h.count) ||
		!vendor_find(lib, "hipDeviceGetName", &h.name) || !vendor_find(lib, "hipDeviceTotalMem", &h.memory) ||
		!vendor_find(lib, "hipRuntimeGetVersion", &h.runtime_version) ||
		!vendor_find(lib, "hipGetErrorString", &h.error_text)) {
		if (access("/dev/kfd", R_OK | W_OK)) // else the library alone is missing, and vendor_load names it
			out->missing = why_none(a, NULL);
		return;
	}
	if (!(code = h.init(0)))
		code = h.count(&count);
	for (int i = 0; i < count && out->count < sizeof out->items / sizeof *out->items; i++) {
		char name[256] = "";
		size_t bytes = 0;

		if (h.name(name, sizeof name, i) || h.memory(&bytes, i))
			continue;
		out->items[out->count++] = (struct gpu){ arena_strdup(a, *name ? name : "AMD GPU"), bytes, NULL };
	}
	if (!h.runtime_version(&version))
		out->driver = arena_printf(a, "HIP %d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000);
	if (!out->count)
		out->missing = why_none(a, code ? h.error_text(code) : NULL);
}

static enum status migraphx_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	struct gpu_list gpus;

	(void)env;
	hip_list(&gpus, out->arena);
	return gpu_devices(&gpus, &vendor, p, l, out, err);
}

static enum status read_options(struct session *s, struct ep_options *o, int64_t device, struct error *err)
{
	static const char *const growth[] = { "same_as_requested", "next_power_of_two" },
				 *const growths[] = { "kSameAsRequested", "kNextPowerOfTwo" };
	enum status st;

	ep_option(o, "device_id", arena_printf(&s->arena, "%lld", (long long)device));
	if ((st = ep_option_bool(s, o, "fp16", "migraphx_fp16_enable", err)) ||
		(st = ep_option_bool(s, o, "bf16", "migraphx_bf16_enable", err)) ||
		(st = ep_option_bool(s, o, "fp8", "migraphx_fp8_enable", err)) ||
		(st = ep_option_bool(s, o, "exhaustive_tune", "migraphx_exhaustive_tune", err)) ||
		(st = ep_option_bytes(s, o, "gpu_mem_limit", "migraphx_mem_limit", err)))
		return st;
	return ep_option_choice(s, o, "arena_extend_strategy", "migraphx_arena_extend_strategy", growth, growths, 2, err);
}

static enum status open_cache(
	struct session *s, const struct gpu_list *gpus, int64_t device, const struct ep_options *o, struct error *err)
{
	struct ort *ort = s->state;
	struct compiled *c = ARENA_NEW(&s->arena, struct compiled);
	json_t *target = json_pack("{s:s}", "gpu", gpus->items[device].name), *makers;
	enum status st;

	for (size_t i = 0; i < o->count; i++)
		json_object_set_new(target, o->keys[i], json_string(o->values[i]));
	makers = json_pack("{s:s, s:s}", "driver", gpus->driver ? gpus->driver : "unknown", "onnxruntime", ort->library.text);
	if ((st = compiled_open(
		     c, &s->arena, "migraphx", ort->artifact->key ? ort->artifact->key : "unknown", target, makers, err)))
		return st;
	ort->compiled = c;
	session_set_option(s, "model_cache", c->state);
	return STATUS_OK;
}

static enum status open_memory(struct session *s, int64_t device, struct error *err)
{
	struct ort *ort = s->state;
	struct ort_device_memory *memory = ARENA_NEW(&s->arena, struct ort_device_memory);
	const char *why;
	enum status st =
		device_memory_of(memory, vendor_open(&s->arena, &vendor, "libamdhip64.so.7", &why), "hip", (int)device, err);

	memory->names[0] = "Hip";
	memory->names[1] = "Cuda"; // what MIGraphX's allocator is called depends on the version
	ort->device_memory = memory;
	return st;
}

static enum status migraphx_append(struct session *s, OrtSessionOptions *so, struct error *err)
{
	static const char *const halves[] = { "fp8", "fp16", "bf16" }, *const dtypes[] = { "f8", "f16", "bf16" };
	struct ort *ort = s->state;
	struct ep_options o = { 0 };
	struct gpu_list gpus;
	const char *without;
	bool cached = true, bound;
	int64_t device;
	enum status st;

	hip_list(&gpus, &s->arena);
	if ((st = vendor_load(&ort->library, &s->arena, &vendor, gpus.missing, &without, err)) ||
		(st = gpu_choose(s, &gpus, "HIP's", &device, err)) || (st = read_options(s, &o, device, err)) ||
		(!ort->compiled && (st = session_option_bool(s, "model_cache", &cached, err))) ||
		(cached && !ort->compiled && (st = open_cache(s, &gpus, device, &o, err))) ||
		(st = session_option_bool(s, "io_binding", &bound, err)) || (bound && (st = open_memory(s, device, err))))
		return st;
	if (ort->compiled)
		ep_option(&o, "migraphx_model_cache_dir", ort->compiled->folder);
	for (size_t i = 0; i < 3; i++)
		if (text_is(session_option(s, halves[i]), "on"))
			session_set_option(s, "compute_dtype", dtypes[i]);
	session_set_option(s, "gpu", gpus.items[device].name);
	if (gpus.driver)
		session_set_option(s, "driver", gpus.driver);
	return ep_append(s, so, "MIGraphX", &o, err);
}

const struct ort_provider ort_migraphx = {
	.ep = "MIGraphXExecutionProvider", .devices = migraphx_devices, .append = migraphx_append, .compiles = true
};
