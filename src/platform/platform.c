// SPDX-License-Identifier: Apache-2.0
// The platform table, and how a word of --on is read. Nothing here loads an engine.
//
// Forms were chosen by timing bert-base in each of them, interleaved, on a 2-CPU machine with AVX-512 (fastest run, ms, 1x128):
//                                             ONNX Runtime 1.31.1   OpenVINO 2026.4.1, f32
//   the usual exporter's ([in, out] MatMul)          114.9                110.9
//   Gemm with transB, bias inside                    113.5                109.8
//   FusedMatMul with transB + Add                    117.0                110.3
//   Transpose + MatMul                               115.4                109.1     +402 MiB on ONNX Runtime, prepacking off
//   Gemm, MultiHeadAttention with a bias             116.3                110.8     and 467 against 449 at 4x128
//   Gemm, Gelu of opset 20 / com.microsoft.Gelu      114.9 / 115.1        110.9 / 113.5, equal within the noise
//   Gemm, SkipLayerNormalization                     121.4                112.5
//   RMS norm fused / taken apart                     116.4 / 114.7        111.1 / 110.6, equal within the noise
// So: Gemm, attention taken apart; Gelu and RMS norm taken apart too, since both engines find them and fuse them: the graph is
// then standard ONNX of opset 17, which onnx.checker and other runtimes take.
#include "platform/platform.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

#define CHOSEN_FORM \
	{ \
		LINEAR_GEMM, ATTENTION_PLAIN, GELU_ERF, NORM_PLAIN_RMS, false, CACHE_PLAIN \
	}
#define PROCESSOR_FORM \
	{ \
		LINEAR_GEMM, ATTENTION_PLAIN, GELU_ERF, NORM_PLAIN_RMS, false, CACHE_PLAIN, EXPERTS_CHOSEN, .torch_ties = true \
	}
#define GELU_OP_FORM \
	{ \
		LINEAR_GEMM, ATTENTION_PLAIN, GELU_OP, NORM_PLAIN_RMS, false, CACHE_PLAIN \
	}
#define STATIC_FORM \
	{ \
		LINEAR_GEMM, ATTENTION_PLAIN, GELU_ERF, NORM_PLAIN_RMS, true, CACHE_PLAIN \
	}
#define STATIC_GELU_OP \
	{ \
		LINEAR_GEMM, ATTENTION_PLAIN, GELU_OP, NORM_PLAIN_RMS, true, CACHE_PLAIN \
	}
// WGSL allows sin and cos an absolute error of 2^-11 within +-pi and any beyond
// (https://www.w3.org/TR/WGSL/#floating-point-accuracy). What else goes around: op_cast, op_conv.
#define STATIC_SINE_TABLES \
	{ \
		LINEAR_GEMM, ATTENTION_PLAIN, GELU_ERF, NORM_PLAIN_RMS, true, CACHE_PLAIN, EXPERTS_ALL, false, true, true \
	}
#define SINE_TABLES \
	{ \
		LINEAR_GEMM, ATTENTION_PLAIN, GELU_ERF, NORM_PLAIN_RMS, false, CACHE_PLAIN, EXPERTS_ALL, false, true, true \
	}
#define STATIC_INDEX32 \
	{ \
		LINEAR_GEMM, ATTENTION_PLAIN, GELU_ERF, NORM_PLAIN_RMS, true, CACHE_PLAIN, EXPERTS_ALL, true \
	}
// WebNN's resample2d knows no align_corners, and ONNX Runtime gives it such a Resize all the same.
#define WEBNN_FORM(gelu_form, by_index32) \
	{ \
		LINEAR_GEMM, ATTENTION_PLAIN, gelu_form, NORM_PLAIN_RMS, true, CACHE_PLAIN, EXPERTS_ALL, by_index32, \
			.corners_by_matmul = true \
	}

// Of x + p, p of one row for all of a batch, and a LayerNormalization after it QNN makes one operation, which is right for the
// first row alone (2.7, its emulator); of x - -p it does not.
#define QNN_FORM(gelu_form) \
	{ \
		LINEAR_GEMM, ATTENTION_PLAIN, gelu_form, NORM_PLAIN_RMS, true, CACHE_PLAIN, EXPERTS_ALL, .around_qnn = true \
	}

static const struct platform platforms[] = {
	{
		.name = "cpu",
		.summary = "the processor, by ONNX Runtime; the processor of a browser, by WebAssembly",
		.routes = { { "ort", "cpu", "CPU", "CPU", NULL },
			{ "browser", "wasm", "chromium firefox remote", "chromium", NULL } },
		.reference = "openvino",
		.forms = { PROCESSOR_FORM },
		.form_count = 1,
		.cache = CACHE_SHARED,
	},
	{
		.name = "cuda",
		.summary = "NVIDIA GPUs, by ONNX Runtime",
		.routes = { { "ort", "cuda", NULL, "0", NULL } },
		.reference = "cpu:optimisation=none",
		.forms = { CHOSEN_FORM },
		.form_count = 1,
		.fallback = { "openvino", "cpu" },
		.environment = "CUDA_VISIBLE_DEVICES",
	},
	{
		.name = "rocm",
		.summary = "AMD GPUs, by ONNX Runtime with MIGraphX",
		.routes = { { "ort", "migraphx", NULL, "0", NULL } },
		.reference = "cpu:optimisation=none",
		.forms = { STATIC_FORM, CHOSEN_FORM },
		.form_count = 2,
		.fallback = { "openvino", "cpu" },
		.environment = "HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES",
	},
	{
		.name = "mps",
		.summary = "Apple GPUs, by ONNX Runtime with Core ML",
		.routes = { { "ort", "coreml", NULL, "GPU", NULL } },
		.reference = "cpu:optimisation=none",
		.forms = { STATIC_FORM, STATIC_INDEX32, CHOSEN_FORM },
		.form_count = 3,
		.fallback = { "openvino", "cpu" },
	},
	{
		.name = "openvino",
		.summary = "Intel's runtime for CPUs, GPUs and NPUs",
		.routes = { { "openvino", "openvino", NULL, "CPU", NULL } },
		.reference = "cpu:optimisation=none",
		// A plain cache: its GroupQueryAttention is right for one row only and leaves softcap out (2026.4).
		.forms = { PROCESSOR_FORM },
		.form_count = 1,
		.fallback = { "cpu" },
	},
	{
		.name = "qnn",
		.summary = "Qualcomm NPUs, by ONNX Runtime; their emulator on x86-64",
		.routes = { { "ort", "qnn", NULL, "57", NULL } },
		.reference = "cpu:optimisation=none",
		.forms = { QNN_FORM(GELU_ERF), QNN_FORM(GELU_OP) },
		.form_count = 2,
		.fallback = { "openvino", "cpu" },
	},
	{
		.name = "webnn",
		.summary = "WebNN in a browser",
		.routes = { { "browser", "webnn", NULL, "chromium", NULL } },
		.reference = "cpu:optimisation=none",
		.forms = { WEBNN_FORM(GELU_ERF, false), WEBNN_FORM(GELU_OP, false), WEBNN_FORM(GELU_ERF, true) },
		.form_count = 3,
		.fallback = { "cpu" },
	},
	{
		.name = "webgpu",
		.summary = "WebGPU, natively or in a browser",
		.routes = { { "ort", "webgpu", "native", "native", NULL },
			{ "ort", "webgpu-virtual", "virtual", "virtual", NULL },
			{ "browser", "webgpu", NULL, "chromium", NULL } },
		.reference = "cpu:optimisation=none",
		.forms = { STATIC_SINE_TABLES, SINE_TABLES },
		.form_count = 2,
		.fallback = { "webnn", "cpu" },
	},
	{
		.name = "tensorrt",
		.summary = "NVIDIA GPUs, by TensorRT with CUDA behind it",
		.flags = PLATFORM_EXTRA,
		.routes = { { "ort", "tensorrt", NULL, "0", NULL } },
		.reference = "cpu:optimisation=none",
		.forms = { STATIC_FORM, CHOSEN_FORM },
		.form_count = 2,
		.fallback = { "cuda", "openvino", "cpu" },
		.environment = "CUDA_VISIBLE_DEVICES",
	},
	{
		.name = "tensorrt-rtx",
		.summary = "NVIDIA RTX GPUs, by TensorRT for RTX",
		.flags = PLATFORM_EXTRA,
		.routes = { { "ort", "tensorrt-rtx", NULL, "0", NULL } },
		.reference = "cpu:optimisation=none",
		.forms = { STATIC_FORM, CHOSEN_FORM },
		.form_count = 2,
		.fallback = { "cuda", "openvino", "cpu" },
		.environment = "CUDA_VISIBLE_DEVICES",
	},
	{
		.name = "ane",
		.summary = "Apple's neural engine alone, by ONNX Runtime with Core ML",
		.flags = PLATFORM_EXTRA,
		.routes = { { "ort", "coreml", "ANE", "ANE", NULL } },
		.reference = "cpu:optimisation=none",
		.forms = { STATIC_FORM, CHOSEN_FORM },
		.form_count = 2,
		.fallback = { "mps", "cpu" },
	},
	{
		.name = "mlx",
		.summary = "Apple GPUs, by ONNX Runtime with MLX",
		.flags = PLATFORM_EXTRA,
		.routes = { { "ort", "mlx", NULL, "GPU", NULL } },
		.reference = "cpu:optimisation=none",
		.forms = { CHOSEN_FORM, STATIC_FORM },
		.form_count = 2,
		.fallback = { "mps", "cpu" },
	},
	{
		.name = "npu",
		.summary = "Intel NPUs, by OpenVINO",
		.flags = PLATFORM_EXTRA,
		.routes = { { "openvino", "openvino", "NPU", "NPU", "precision=f16" } },
		.reference = "cpu:optimisation=none",
		.forms = { STATIC_FORM },
		.form_count = 1,
		.fallback = { "openvino", "cpu" },
	},
	{
		.name = "xnnpack",
		.summary = "the processor, by ONNX Runtime with XNNPACK",
		.flags = PLATFORM_EXTRA,
		.routes = { { "ort", "xnnpack", NULL, "CPU", NULL } },
		.reference = "openvino",
		.forms = { STATIC_FORM, CHOSEN_FORM },
		.form_count = 2,
		.fallback = { "cpu" },
	},
	{
		.name = "null",
		.summary = "computes nothing; for tests of assay itself",
		.flags = PLATFORM_EXTRA,
		.routes = { { "null", "null", NULL, "NULL", NULL } },
		.reference = "null", // without options: what a healthy one gives
		.forms = { CHOSEN_FORM, GELU_OP_FORM, STATIC_GELU_OP },
		.form_count = 3,
	},
};

size_t platform_count(void)
{
	return sizeof platforms / sizeof *platforms;
}

const struct platform *platform_get(size_t i)
{
	return &platform_stand_ins(platforms, platform_count(), NULL)[i];
}

const struct platform *platform_find(const char *name)
{
	for (size_t i = 0; i < platform_count(); i++)
		if (text_is(platforms[i].name, name))
			return platform_get(i);
	return NULL;
}

// A device word, or the beginning of one up to a dot: "native.1" is of "native".
static bool has_device(const char *words, const char *device)
{
	size_t length = strcspn(device, ".");

	for (const char *at = words; *at;) {
		size_t n = strcspn(at, " ");

		if (n == length && !strncasecmp(at, device, n))
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

const struct route *platform_route(const struct platform *p, const char *device)
{
	for (const struct route *r = p->routes; device && *device && r->engine; r++)
		if (!r->devices || has_device(r->devices, device))
			return r;
	return device && *device ? NULL : p->routes;
}

const struct backend *route_backend(const struct route *r)
{
	return backend_find(r->engine);
}

const struct provider *route_provider(const struct route *r)
{
	return backend_provider(backend_find(r->engine), r->provider);
}

bool platform_is_software(const struct platform *p)
{
	return route_backend(p->routes)->caps & BACKEND_SOFTWARE;
}

static enum status unknown(const char *name, struct error *err)
{
	struct text known = { 0 };
	enum status st;

	if (platform_elsewhere(name))
		return error_set(err, STATUS_BAD_INPUT, "%s: %s", name, platform_elsewhere(name));
	for (size_t i = 0; i < platform_count(); i++)
		if (!text_is(platforms[i].routes[0].engine, "null"))
			text_addf(&known, "%s%s", known.length ? ", " : "", platforms[i].name);
	st = error_set(err, STATUS_BAD_INPUT, "no platform is called \"%s\"; there are %s", name, text_get(&known));
	text_done(&known);
	return st;
}

// Items with "=" are options; the others are the device, which may be a list itself: "openvino:HETERO:GPU,CPU,precision=f16".
static void split(struct arena *a, const char *rest, const char **device, const char **options)
{
	struct text d = { 0 }, o = { 0 };

	for (const char *at = rest; *at;) {
		size_t n = strcspn(at, ",");
		struct text *t = memchr(at, '=', n) ? &o : &d;

		if (n) {
			text_add(t, t->length ? "," : "");
			text_add_bytes(t, at, n);
		}
		at += n + (at[n] == ',');
	}
	*device = d.length ? arena_strdup(a, text_get(&d)) : NULL;
	*options = o.length ? arena_strdup(a, text_get(&o)) : NULL;
	text_done(&d);
	text_done(&o);
}

enum status platform_target(struct target *out, struct arena *a, const char *text, struct error *err)
{
	size_t n = strcspn(text, ":");
	const char *name = arena_strndup(a, text, n);
	const struct platform *p = platform_named(name);
	struct target t = { .platform = p };

	if (!p)
		return unknown(name, err);
	if (!platform_stand_ins(platforms, platform_count(), err))
		return STATUS_BAD_INPUT;
	split(a, text[n] ? text + n + 1 : "", &t.device, &t.options);
	t.chosen = t.device;
	t.route = platform_route(p, t.device);
	if (!t.route) {
		struct text words = { 0 };
		enum status st;

		for (const struct route *r = p->routes; r->engine; r++)
			text_addf(&words, "%s%s", words.length ? " " : "", r->devices);
		st = error_set(err, STATUS_BAD_INPUT, "%s has no device \"%s\"; it has %s", p->name, t.device, text_get(&words));
		text_done(&words);
		return st;
	}
	if (!t.device)
		t.device = t.route->device;
	if (!t.options)
		t.options = t.route->options;
	else if (t.route->options)
		t.options = arena_printf(a, "%s,%s", t.route->options, t.options); // later ones win
	enum status st = backend_check_options(route_backend(t.route), route_provider(t.route), t.options, err);
	if (st)
		return st;
	*out = t;
	return STATUS_OK;
}
