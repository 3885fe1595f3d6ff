// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's TensorRT provider, and the one of TensorRT for RTX. TensorRT stands before CUDA, which takes the nodes that it
// leaves. Its engines take minutes to build, so they are kept; the row says whether one was found or built ("engine_cache").
//
// Defaults that differ from TensorRT's: use_tf32 off, by the variable that NVIDIA's libraries read, so that float32 is float32.
#include <stdlib.h>

#include "backend/compiled.h"
#include "backend/ort_nvidia.h"

const struct option ort_tensorrt_options[] = {
	{ "fp16", "off", "kernels in float16 where TensorRT likes them better (trt_fp16_enable)", OPTION_SWITCH },
	{ "bf16", "off", "kernels in bfloat16 (trt_bf16_enable)", OPTION_SWITCH },
	{ "use_tf32", "off", "products of float32 in TF32 (NVIDIA_TF32_OVERRIDE)", OPTION_SWITCH },
	{ "workspace", NULL, "the most that a kernel may use beside its tensors: bytes, 512m, 2g (trt_max_workspace_size)" },
	{ "builder_level", NULL, "0 to 5: how long TensorRT looks for kernels (trt_builder_optimization_level)", "0..5" },
	{ "min_subgraph", NULL, "smaller stretches of the graph are left to CUDA (trt_min_subgraph_size)", "1..100000" },
	{ "layer_norm_fp32", "on", "with fp16: LayerNorm taken apart stays float32 (trt_layer_norm_fp32_fallback)",
		OPTION_SWITCH },
	{ "engine_cache", "on", "built engines are kept in assay's cache and used again until driver, library or graph change",
		OPTION_SWITCH },
	{ "timing_cache", "on", "so are timings of kernels, which make the next build shorter", OPTION_SWITCH },
	{ "enable_cuda_graph", "off",
		"the run is captured once and replayed (trt_cuda_graph_enable); needs io_binding=on and fixed shapes",
		OPTION_SWITCH },
	IO_BINDING_OPTION,
	{ .name = NULL },
};

const struct option ort_tensorrt_rtx_options[] = {
	{ "workspace", NULL, "the most that a kernel may use beside its tensors: bytes, 512m, 2g (nv_max_workspace_size)" },
	{ "engine_cache", "on", "kernels compiled at run time are kept in assay's cache (nv_runtime_cache_path)", OPTION_SWITCH },
	{ "enable_cuda_graph", "off", "the run is captured once and replayed; needs io_binding=on and fixed shapes",
		OPTION_SWITCH },
	IO_BINDING_OPTION,
	{ .name = NULL },
};

static const struct vendor_library libraries[] = {
	{ "libcudart.so.13", NULL },
	{ "libcublasLt.so.13", NULL },
	{ "libcublas.so.13", NULL },
	{ "libcudnn.so.9", NULL },
	{ "libnvinfer.so.10", NULL },
	{ "libnvinfer_plugin.so.10", "TensorRT's plugins" },
	{ "libnvonnxparser.so.10", NULL },
	{ NULL, NULL },
};

static OrtStatus *load(const OrtApi *api)
{
	OrtTensorRTProviderOptionsV2 *o = NULL;
	OrtStatus *st = api->CreateTensorRTProviderOptions(&o);

	if (o)
		api->ReleaseTensorRTProviderOptions(o);
	return st;
}

static const struct vendor vendor = {
	.file = "libonnxruntime_providers_tensorrt.so",
	.folder = "nvidia",
	.places = nvidia_places,
	.needs = libraries,
	.setup = "`assay setup cuda` brings it",
	.remedy = "`assay setup cuda` brings CUDA's libraries; TensorRT 10 and the driver (580 or newer) come from NVIDIA",
	.load = load,
};

static enum status tensorrt_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	struct gpu_list gpus;

	(void)env;
	nvidia_list(&gpus, out->arena, &vendor);
	return gpu_devices(&gpus, &vendor, p, l, out, err);
}

// An engine is good for one GPU, the driver and the libraries that it was built with, and the options that shape it.
static enum status open_cache(struct session *s, const char *what, const struct gpu *gpu, const char *driver,
	const struct ep_options *o, struct error *err)
{
	struct ort *ort = s->state;
	struct compiled *c = ARENA_NEW(&s->arena, struct compiled);
	json_t *target = json_pack("{s:s, s:s?}", "gpu", gpu->name, "features", gpu->features), *makers;
	const char *version = nvidia_tensorrt_version(&s->arena, &vendor);
	enum status st;

	for (size_t i = 0; i < o->count; i++)
		json_object_set_new(target, o->keys[i], json_string(o->values[i]));
	makers = json_pack("{s:s, s:s, s:s}", "driver", driver ? driver : "unknown", "onnxruntime", ort->library.text, "tensorrt",
		version ? version : "unknown");
	if ((st = compiled_open(c, &s->arena, what, ort->artifact->key ? ort->artifact->key : "unknown", target, makers, err)))
		return st;
	ort->compiled = c;
	session_set_option(s, "engine_cache", c->state);
	return STATUS_OK;
}

static enum status binding_options(
	struct session *s, const struct vendor *v, int64_t device, struct ep_options *o, const char *graph_key, struct error *err)
{
	bool captured;
	enum status st = ort_cuda_binding(s, v, device, &captured, err);

	if (!st)
		ep_option(o, graph_key, captured ? "1" : "0");
	return st;
}

static enum status tensorrt_put(struct session *s, OrtSessionOptions *so, const struct ep_options *o, struct error *err)
{
	struct ort *ort = s->state;
	const OrtApi *api = ort->library.api;
	OrtTensorRTProviderOptionsV2 *trt = NULL;
	char *text = NULL;
	struct error ignored;
	enum status st = ort_check(api, api->CreateTensorRTProviderOptions(&trt), "making TensorRT's options", err);

	if (!st)
		st = ort_check(api, api->UpdateTensorRTProviderOptions(trt, o->keys, o->values, o->count),
			"setting TensorRT's options", err);
	if (!st)
		st = ort_check(api, api->SessionOptionsAppendExecutionProvider_TensorRT_V2(so, trt),
			"adding the TensorRT provider", err);
	if (!st &&
		!ort_check(api, api->GetTensorRTProviderOptionsAsString(trt, ort->allocator, &text), "reading TensorRT's options",
			&ignored) &&
		text) {
		session_set_option(s, "tensorrt_options", text);
		ort->allocator->Free(ort->allocator, text);
	}
	if (trt)
		api->ReleaseTensorRTProviderOptions(trt);
	return st;
}

static enum status read_options(struct session *s, struct ep_options *o, struct error *err)
{
	int64_t n;
	enum status st;

	if ((st = ep_option_bool(s, o, "fp16", "trt_fp16_enable", err)) ||
		(st = ep_option_bool(s, o, "bf16", "trt_bf16_enable", err)) ||
		(st = ep_option_bool(s, o, "layer_norm_fp32", "trt_layer_norm_fp32_fallback", err)) ||
		(st = ep_option_bytes(s, o, "workspace", "trt_max_workspace_size", err)) ||
		(st = session_option_int(s, "builder_level", 0, 5, -1, &n, err)))
		return st;
	if (n >= 0)
		ep_option(o, "trt_builder_optimization_level", session_option(s, "builder_level"));
	if ((st = session_option_int(s, "min_subgraph", 1, 100000, -1, &n, err)))
		return st;
	if (n >= 0)
		ep_option(o, "trt_min_subgraph_size", session_option(s, "min_subgraph"));
	return STATUS_OK;
}

static enum status cache_options(
	struct session *s, const struct gpu_list *gpus, int64_t device, struct ep_options *o, struct error *err)
{
	struct ort *ort = s->state;
	bool engines, timings;
	enum status st;

	if ((st = session_option_bool(s, "timing_cache", &timings, err)))
		return st;
	// A second session over the same graph: the option says by now how the cache was found.
	if (ort->compiled)
		engines = !text_is(session_option(s, "engine_cache"), "off");
	else if ((st = session_option_bool(s, "engine_cache", &engines, err)))
		return st;
	if ((engines || timings) && !ort->compiled &&
		(st = open_cache(s, "tensorrt", &gpus->items[device], gpus->driver, o, err)))
		return st;
	if (!engines && ort->compiled)
		session_set_option(s, "engine_cache", "off"); // only the timings are kept there
	ep_option(o, "trt_engine_cache_enable", engines ? "1" : "0");
	ep_option(o, "trt_timing_cache_enable", timings ? "1" : "0");
	if (engines)
		ep_option(o, "trt_engine_cache_path", ort->compiled->folder);
	if (timings)
		ep_option(o, "trt_timing_cache_path", ort->compiled->folder);
	return STATUS_OK;
}

static enum status tensorrt_append(struct session *s, OrtSessionOptions *so, struct error *err)
{
	struct ort *ort = s->state;
	struct ep_options o = { 0 }, cuda = { 0 };
	struct gpu_list gpus;
	const char *without, *number;
	bool tf32, fp16, bf16;
	int64_t device;
	enum status st;

	nvidia_list(&gpus, &s->arena, &vendor);
	if ((st = vendor_load(&ort->library, &s->arena, &vendor, gpus.missing, &without, err)) ||
		(st = gpu_choose(s, &gpus, "CUDA's", &device, err)) || (st = session_option_bool(s, "use_tf32", &tf32, err)) ||
		(st = session_option_bool(s, "fp16", &fp16, err)) || (st = session_option_bool(s, "bf16", &bf16, err)))
		return st;
	setenv("NVIDIA_TF32_OVERRIDE", tf32 ? "1" : "0", 1); // of this child; read when the libraries start
	number = arena_printf(&s->arena, "%lld", (long long)device);
	ep_option(&o, "device_id", number);
	if ((st = read_options(s, &o, err)) || (st = cache_options(s, &gpus, device, &o, err)) ||
		(st = binding_options(s, &vendor, device, &o, "trt_cuda_graph_enable", err)))
		return st;
	session_set_option(s, "gpu", gpus.items[device].name);
	if (gpus.driver)
		session_set_option(s, "driver", gpus.driver);
	if (fp16 || bf16) // TensorRT chooses for each layer
		session_set_option(s, "compute_dtype",
			fp16 && bf16   ? "f32, f16 and bf16 mixed"
				: fp16 ? "f32 and f16 mixed"
				       : "f32 and bf16 mixed");
	ep_option(&cuda, "device_id", number);
	ep_option(&cuda, "use_tf32", tf32 ? "1" : "0");
	ep_option(&cuda, "cudnn_conv_algo_search", "HEURISTIC");
	ep_option(&cuda, "arena_extend_strategy", "kSameAsRequested");
	if ((st = tensorrt_put(s, so, &o, err)))
		return st;
	return ort_cuda_put(s, so, &cuda, err);
}

const struct ort_provider ort_tensorrt = {
	.ep = "TensorrtExecutionProvider", .devices = tensorrt_devices, .append = tensorrt_append, .compiles = true
};

// ---- TensorRT for RTX -----------------------------------------------------------------------------------------------------

#define RTX "NvTensorRTRTXExecutionProvider"

static enum status rtx_built(const struct ort_library *l, struct error *err)
{
	if (ort_has_provider(l, RTX))
		return STATUS_OK;
	return error_set(err, STATUS_UNAVAILABLE,
		"%s is built without " RTX "; a build of ONNX Runtime with it (--use_nv_tensorrt_rtx) in a folder of "
		"ASSAY_ENGINE_PATH is needed",
		l->path);
}

static enum status rtx_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	struct gpu_list gpus;
	enum status st = rtx_built(l, err);

	(void)env;
	if (st)
		return st;
	nvidia_list(&gpus, out->arena, &vendor);
	return gpu_add_all(&gpus, p->name, NULL, out, err);
}

static enum status rtx_append(struct session *s, OrtSessionOptions *so, struct error *err)
{
	struct ort *ort = s->state;
	struct ep_options o = { 0 };
	struct gpu_list gpus;
	int64_t device;
	bool cached = true;
	enum status st = rtx_built(&ort->library, err);

	if (st)
		return st;
	nvidia_list(&gpus, &s->arena, &vendor);
	if (gpus.missing)
		return error_set(err, STATUS_UNAVAILABLE, "%s", gpus.missing);
	if ((st = gpu_choose(s, &gpus, "CUDA's", &device, err)))
		return st;
	ep_option(&o, "device_id", arena_printf(&s->arena, "%lld", (long long)device));
	if ((st = ep_option_bytes(s, &o, "workspace", "nv_max_workspace_size", err)) ||
		(!ort->compiled && (st = session_option_bool(s, "engine_cache", &cached, err))) ||
		(cached && !ort->compiled && (st = open_cache(s, "tensorrt-rtx", &gpus.items[device], gpus.driver, &o, err))) ||
		(st = binding_options(s, &vendor, device, &o, "enable_cuda_graph", err)))
		return st;
	if (ort->compiled)
		ep_option(&o, "nv_runtime_cache_path", ort->compiled->folder);
	session_set_option(s, "gpu", gpus.items[device].name);
	return ep_append(s, so, "NvTensorRtRtx", &o, err);
}

const struct ort_provider ort_tensorrt_rtx = { .ep = RTX, .devices = rtx_devices, .append = rtx_append, .compiles = true };
