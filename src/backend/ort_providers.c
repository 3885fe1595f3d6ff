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

static const struct ort_provider cpu = { "CPUExecutionProvider", cpu_devices, cpu_append };

const struct provider ort_providers[] = {
	{ "cpu", "onnxruntime", NULL, &cpu, "threads", NULL },
	{ "cuda", "onnxruntime-gpu", ort_cuda_options, &ort_cuda, NULL, NULL },
	{ "tensorrt", "onnxruntime-gpu", ort_tensorrt_options, &ort_tensorrt, NULL, NULL },
	{ "tensorrt-rtx", "onnxruntime-gpu", ort_tensorrt_rtx_options, &ort_tensorrt_rtx, NULL, NULL },
	{ "migraphx", "onnxruntime-migraphx", ort_migraphx_options, &ort_migraphx, NULL, NULL },
	{ "coreml", "onnxruntime", ort_coreml_options, &ort_coreml, NULL, NULL },
	{ "xnnpack", "onnxruntime", ort_xnnpack_options, &ort_xnnpack, "xnnpack_threads", NULL },
	{ "mlx", "onnxruntime", NULL, &ort_mlx, NULL, NULL },
	{ "qnn", "onnxruntime", ort_qnn_options, &ort_qnn, NULL, NULL },
	{ "webgpu", "onnxruntime-webgpu", ort_webgpu_options, &ort_webgpu, NULL, NULL },
	{ "webgpu-virtual", "onnxruntime", ort_webgpu_virtual_options, &ort_webgpu_virtual, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
