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

#include "base/text.h"

#define CHOSEN_FORM { LINEAR_GEMM, ATTENTION_PLAIN, GELU_ERF, NORM_PLAIN_RMS, false, CACHE_PLAIN }

static const struct platform platforms[] = {
	{
		.name = "cpu",
		.engine = "ort",
		.device = "CPU",
		.summary = "the processor, by ONNX Runtime",
		.reference = "openvino",
		.form = CHOSEN_FORM,
		.cache = CACHE_SHARED,
	},
	{
		.name = "cuda",
		.summary = "NVIDIA GPUs",
		.absent = "no engine in this version serves cuda yet: ONNX Runtime's CUDA provider is not bundled",
		.reference = "cpu:optimisation=none",
		.form = CHOSEN_FORM,
	},
	{
		.name = "rocm",
		.summary = "AMD GPUs",
		.absent = "no engine in this version serves rocm yet: ONNX Runtime's MIGraphX provider is not bundled",
		.reference = "cpu:optimisation=none",
		.form = CHOSEN_FORM,
	},
	{
		.name = "mps",
		.summary = "Apple GPUs",
		.absent = "no engine in this version serves mps yet: it needs macOS and ONNX Runtime's CoreML provider",
		.reference = "cpu:optimisation=none",
		.form = CHOSEN_FORM,
	},
	{
		.name = "openvino",
		.engine = "openvino",
		.device = "CPU",
		.summary = "Intel's runtime for CPUs, GPUs and NPUs",
		.reference = "cpu:optimisation=none",
		.form = CHOSEN_FORM, // a plain cache: its GroupQueryAttention is right for one row only and leaves softcap out (2026.4)
	},
	{
		.name = "qnn",
		.summary = "Qualcomm NPUs",
		.absent = "no engine in this version serves qnn yet: ONNX Runtime's QNN provider is not bundled",
		.reference = "cpu:optimisation=none",
		.form = CHOSEN_FORM,
	},
	{
		.name = "webnn",
		.summary = "WebNN in a browser",
		.absent = "no engine in this version serves webnn yet: it cannot drive a browser",
		.reference = "cpu:optimisation=none",
		.form = CHOSEN_FORM,
	},
	{
		.name = "webgpu",
		.summary = "WebGPU in a browser or natively",
		.absent = "no engine in this version serves webgpu yet: ONNX Runtime's WebGPU provider is not bundled and it "
			  "cannot drive a browser",
		.reference = "cpu:optimisation=none",
		.form = CHOSEN_FORM,
	},
	{
		.name = "null",
		.engine = "null",
		.device = "NULL",
		.summary = "computes nothing; for tests of assay itself",
		.reference = "null", // without options: what a healthy one gives
		.form = CHOSEN_FORM,
	},
};

size_t platform_count(void)
{
	return sizeof platforms / sizeof *platforms;
}

const struct platform *platform_get(size_t i)
{
	return &platforms[i];
}

const struct platform *platform_find(const char *name)
{
	for (size_t i = 0; i < platform_count(); i++)
		if (text_is(platforms[i].name, name))
			return &platforms[i];
	return NULL;
}

static bool is_hardware(const struct platform *p)
{
	const struct backend *b = p->engine ? backend_find(p->engine) : NULL;

	return !b || !(b->caps & BACKEND_SOFTWARE);
}

static enum status unknown(const char *name, struct error *err)
{
	struct text known = { 0 };
	enum status st;

	for (size_t i = 0; i < platform_count(); i++)
		if (is_hardware(&platforms[i]))
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
	const struct platform *p = platform_find(name);
	struct target t = { .platform = p };

	if (!p)
		return unknown(name, err);
	split(a, text[n] ? text + n + 1 : "", &t.device, &t.options);
	if (!t.device)
		t.device = p->device;
	if (!t.options)
		t.options = p->options;
	else if (p->options)
		t.options = arena_printf(a, "%s,%s", p->options, t.options); // later ones win
	const struct backend *b = p->engine ? backend_find(p->engine) : NULL;
	enum status st = b ? backend_check_options(b, t.options, err) : STATUS_OK;
	if (st)
		return st;
	*out = t;
	return STATUS_OK;
}
