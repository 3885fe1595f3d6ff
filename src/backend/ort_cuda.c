// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's CUDA provider: its options, the choice of a GPU, and the memory of it for option io_binding.
//
// Defaults that differ from ONNX Runtime's, and why:
//   cudnn_conv_algo_search  heuristic: "exhaustive" tries every algorithm for every new shape of a convolution, which others
//                           measured to cost 326 times as much (16 new shapes: 10141 ms against 31 ms) for no faster steady state
//   use_tf32                off: with it "float32" products have 10 bits of mantissa, and the row would say float32
//   arena_extend_strategy   same_as_requested: doubling makes the memory of a row a power of two that the model does not need
#include "backend/ort_nvidia.h"

const struct option ort_cuda_options[] = {
	{ "gpu_mem_limit", NULL, "the most that the arena may take: bytes, 512m, 2g; default: all there is" },
	{ "arena_extend_strategy", "same_as_requested", "how the arena grows: same_as_requested or next_power_of_two",
		"same_as_requested next_power_of_two" },
	{ "cudnn_conv_algo_search", "heuristic", "how the algorithm of a convolution is chosen: heuristic, exhaustive or default",
		"heuristic exhaustive default" },
	{ "cudnn_conv_use_max_workspace", "on", "a convolution's algorithm may take any workspace", OPTION_SWITCH },
	{ "cudnn_conv1d_pad_to_nc1d", "off", "one-dimensional convolutions are padded to [N, C, 1, D] and not to [N, C, D, 1]",
		OPTION_SWITCH },
	{ "use_tf32", "off", "products of float32 in TF32: faster and less exact", OPTION_SWITCH },
	{ "enable_cuda_graph", "off",
		"the run is captured once and replayed; needs io_binding=on, fixed shapes and no node on the CPU",
		OPTION_SWITCH },
	{ "prefer_nhwc", "off", "convolutions in channels-last order", OPTION_SWITCH },
	{ "fuse_conv_bias", "off", "a convolution's bias is added by cuDNN's run-time fusion", OPTION_SWITCH },
	{ "do_copy_in_default_stream", "on", "copies go in the stream of the kernels", OPTION_SWITCH },
	{ "use_ep_level_unified_stream", "off", "one stream for all of the provider's work", OPTION_SWITCH },
	{ "enable_skip_layer_norm_strict_mode", "off", "SkipLayerNormalization adds up in float32", OPTION_SWITCH },
	{ "tunable_op", "off", "operators try their kernels and keep the fastest (tunable_op_enable, tunable_op_tuning_enable)",
		OPTION_SWITCH },
	{ "sdpa_kernel", NULL, "attention kernels that may be used, a sum of bits; default: ONNX Runtime's choice", "0..4096" },
	IO_BINDING_OPTION,
	{ .name = NULL },
};

static OrtStatus *load(const OrtApi *api)
{
	OrtCUDAProviderOptionsV2 *o = NULL;
	OrtStatus *st = api->CreateCUDAProviderOptions(&o);

	if (o)
		api->ReleaseCUDAProviderOptions(o);
	return st;
}

static const struct vendor vendor = {
	.file = "libonnxruntime_providers_cuda.so",
	.folder = "nvidia",
	.places = nvidia_places,
	.needs = nvidia_cuda_libraries,
	.setup = "`assay setup cuda` brings it",
	.remedy = "`assay setup cuda` brings the libraries; the driver (580 or newer) comes from NVIDIA or the distribution",
	.load = load,
};

static enum status cuda_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	struct gpu_list gpus;

	(void)env;
	nvidia_list(&gpus, out->arena, &vendor);
	return gpu_devices(&gpus, &vendor, p, l, out, err);
}

static enum status read_options(struct session *s, struct ep_options *o, int64_t device, struct error *err)
{
	static const char *const growth[] = { "same_as_requested", "next_power_of_two" },
				 *const growths[] = { "kSameAsRequested", "kNextPowerOfTwo" };
	static const char *const search[] = { "heuristic", "exhaustive", "default" },
				 *const searches[] = { "HEURISTIC", "EXHAUSTIVE", "DEFAULT" };
	static const char *const switches[] = { "cudnn_conv_use_max_workspace", "cudnn_conv1d_pad_to_nc1d", "use_tf32",
		"enable_cuda_graph", "prefer_nhwc", "fuse_conv_bias", "do_copy_in_default_stream", "use_ep_level_unified_stream",
		"enable_skip_layer_norm_strict_mode" };
	int64_t kernels;
	enum status st;

	ep_option(o, "device_id", arena_printf(&s->arena, "%lld", (long long)device));
	if ((st = ep_option_bytes(s, o, "gpu_mem_limit", "gpu_mem_limit", err)) ||
		(st = ep_option_choice(s, o, "arena_extend_strategy", "arena_extend_strategy", growth, growths, 2, err)) ||
		(st = ep_option_choice(s, o, "cudnn_conv_algo_search", "cudnn_conv_algo_search", search, searches, 3, err)) ||
		(st = ep_option_bool(s, o, "tunable_op", "tunable_op_enable", err)) ||
		(st = ep_option_bool(s, o, "tunable_op", "tunable_op_tuning_enable", err)) ||
		(st = session_option_int(s, "sdpa_kernel", 0, 4096, -1, &kernels, err)))
		return st;
	for (size_t i = 0; i < sizeof switches / sizeof *switches && !st; i++)
		st = ep_option_bool(s, o, switches[i], switches[i], err);
	if (!st && kernels >= 0)
		ep_option(o, "sdpa_kernel", session_option(s, "sdpa_kernel"));
	return st;
}

// Creates, fills, appends and releases; also after TensorRT, for the nodes that it leaves.
enum status ort_cuda_put(struct session *s, OrtSessionOptions *so, const struct ep_options *o, struct error *err)
{
	struct ort *ort = s->state;
	const OrtApi *api = ort->library.api;
	OrtCUDAProviderOptionsV2 *cuda = NULL;
	char *text = NULL;
	struct error ignored;
	enum status st = ort_check(api, api->CreateCUDAProviderOptions(&cuda), "making CUDA's options", err);

	if (!st)
		st = ort_check(
			api, api->UpdateCUDAProviderOptions(cuda, o->keys, o->values, o->count), "setting CUDA's options", err);
	if (!st)
		st = ort_check(
			api, api->SessionOptionsAppendExecutionProvider_CUDA_V2(so, cuda), "adding the CUDA provider", err);
	// Its own word on all of them, defaults too: "device_id=0;arena_extend_strategy=..."
	if (!st &&
		!ort_check(api, api->GetCUDAProviderOptionsAsString(cuda, ort->allocator, &text), "reading CUDA's options",
			&ignored) &&
		text) {
		session_set_option(s, "cuda_options", text);
		ort->allocator->Free(ort->allocator, text);
	}
	if (cuda)
		api->ReleaseCUDAProviderOptions(cuda);
	return st;
}

enum status ort_cuda_binding(struct session *s, const struct vendor *v, int64_t device, bool *captured, struct error *err)
{
	struct ort *ort = s->state;
	struct ort_device_memory *memory;
	const char *why;
	bool bound;
	enum status st;

	if ((st = session_option_bool(s, "io_binding", &bound, err)) ||
		(st = session_option_bool(s, "enable_cuda_graph", captured, err)))
		return st;
	if (*captured && !bound)
		return error_set(err, STATUS_BAD_INPUT,
			"option enable_cuda_graph needs io_binding=on: a captured graph reads and writes fixed addresses");
	if (!bound)
		return STATUS_OK;
	memory = ARENA_NEW(&s->arena, struct ort_device_memory);
	st = device_memory_of(memory, vendor_open(&s->arena, v, "libcudart.so.13", &why), "cuda", (int)device, err);
	memory->names[0] = "Cuda";
	memory->captured = *captured;
	ort->device_memory = memory;
	return st;
}

static enum status cuda_append(struct session *s, OrtSessionOptions *so, struct error *err)
{
	struct ort *ort = s->state;
	struct ep_options o = { 0 };
	struct gpu_list gpus;
	const char *without;
	bool captured;
	int64_t device;
	enum status st;

	nvidia_list(&gpus, &s->arena, &vendor);
	if ((st = vendor_load(&ort->library, &s->arena, &vendor, gpus.missing, &without, err)) ||
		(st = gpu_choose(s, &gpus, "CUDA's", &device, err)) || (st = read_options(s, &o, device, err)) ||
		(st = ort_cuda_binding(s, &vendor, device, &captured, err)))
		return st;
	session_set_option(s, "gpu", gpus.items[device].name);
	if (gpus.driver)
		session_set_option(s, "driver", gpus.driver);
	if (without)
		session_set_option(s, "without", without);
	return ort_cuda_put(s, so, &o, err);
}

const struct ort_provider ort_cuda = { .ep = "CUDAExecutionProvider", .devices = cuda_devices, .append = cuda_append };
