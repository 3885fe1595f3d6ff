// SPDX-License-Identifier: Apache-2.0
// The execution providers of ONNX Runtime, one row each: which build of the library has it, what it can run on, how it is put
// into a session.
#include "backend/ort.h"

#include <strings.h>

#include "backend/host.h"

// ---- the processor ------------------------------------------------------------------------------------------------------

static enum status cpu_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	char model[256];

	(void)env;
	(void)err;
	device_add(out,
		&(struct device){
			.provider = p->name,
			.name = "CPU",
			.description = host_cpuinfo("", "model name", model, sizeof model),
			.features = arena_printf(out->arena, "API %u%s", l->version, l->version < 24 ? ", no placement" : ""),
		});
	return STATUS_OK;
}

static enum status cpu_append(struct session *s, OrtSessionOptions *o, struct error *err)
{
	(void)o;
	if (s->device && strcasecmp(s->device, "CPU"))
		return error_set(err, STATUS_UNAVAILABLE, "no device %s; ONNX Runtime's devices here: CPU", s->device);
	s->device = "CPU";
	return STATUS_OK;
}

static const struct ort_provider cpu = { .ep = "CPUExecutionProvider", .devices = cpu_devices, .append = cpu_append };

const struct provider ort_providers[] = {
	// Its own spin, rewrites, packing and executor are named by their words; it does not tell them afterwards.
	{ .name = "cpu",
		.build = "onnxruntime",
		.detail = &cpu,
		.threads = "threads",
		.splits = true,
		.shipped = "threads=default,spinning=on,inter_threads=1,prepacking=on,optimisation=all" },
	{ .name = "cuda", .build = "onnxruntime-gpu", .options = ort_cuda_options, .detail = &ort_cuda },
	{ .name = "tensorrt", .build = "onnxruntime-gpu", .options = ort_tensorrt_options, .detail = &ort_tensorrt },
	{ .name = "tensorrt-rtx", .build = "onnxruntime-gpu", .options = ort_tensorrt_rtx_options, .detail = &ort_tensorrt_rtx },
	{ .name = "migraphx", .build = "onnxruntime-migraphx", .options = ort_migraphx_options, .detail = &ort_migraphx },
	{ .name = "coreml", .build = "onnxruntime", .options = ort_coreml_options, .detail = &ort_coreml },
	{ .name = "xnnpack",
		.build = "onnxruntime",
		.options = ort_xnnpack_options,
		.detail = &ort_xnnpack,
		.threads = "xnnpack_threads" },
	{ .name = "mlx", .build = "onnxruntime", .detail = &ort_mlx },
	{ .name = "qnn", .build = "onnxruntime", .options = ort_qnn_options, .detail = &ort_qnn },
	{ .name = "webgpu", .build = "onnxruntime-webgpu", .options = ort_webgpu_options, .detail = &ort_webgpu },
	{ .name = "webgpu-virtual",
		.build = "onnxruntime",
		.options = ort_webgpu_virtual_options,
		.detail = &ort_webgpu_virtual },
	{ .name = NULL },
};
