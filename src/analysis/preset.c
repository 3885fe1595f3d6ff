// SPDX-License-Identifier: Apache-2.0
// The table of preset.h.
#include "analysis/preset.h"

#include <string.h>

#include "base/text.h"

#define METRIC(code) (1u << AB_##code)

static const struct preset presets[] = {
	{
		.name = "parallel-loading",
		.what = "weights fetched beside each other and beside the runtime against one after the other",
		.a = { "webgpu", "parallel=off", false },
		.b = { "webgpu", "parallel=on", false },
		.metrics = METRIC(LOAD) | METRIC(READY),
		.claim = "30-45 % less load time",
	},
	{
		.name = "shader-warm-up",
		.what = "a run with zeros while loading, which compiles the shaders, against none: the first run, and what it "
			"costs before",
		.a = { "webgpu", "warmup=off", true },
		.b = { "webgpu", "warmup=on", true },
		.metrics = METRIC(LOAD) | METRIC(FIRST) | METRIC(READY),
		.claim = "30-45 % faster first inference",
	},
	{
		.name = "graph-capture",
		.what = "commands recorded once and replayed against issued in every run; both with fixed shapes, which it needs",
		.a = { "webgpu", "graph_capture=off", true },
		.b = { "webgpu", "graph_capture=on", true },
		.metrics = METRIC(LATENCY),
	},
	{
		.name = "layout",
		.what = "convolutions with channels last against channels first",
		.a = { "webgpu", "layout=NCHW", false },
		.b = { "webgpu", "layout=NHWC", false },
		.metrics = METRIC(LATENCY),
		.models = "vision audio speech speech-to-text multimodal",
	},
	{
		.name = "workgroup",
		.what = "workgroup shape of convolutions, 128x2x1 against 256x1x1",
		.metrics = METRIC(LATENCY),
		.models = "audio speech speech-to-text",
		.claim = "20-35 % on audio models, Firefox 256x1x1 against Chrome 128x2x1",
		.why_not = "the API does not allow it: of all options of ONNX Runtime's WebGPU provider (1.27 and "
			   "onnxruntime-web 1.30; they lie in the library as "
			   "ep.webgpuexecutionprovider.*) none sets a workgroup size: its kernels choose it; WebNN and "
			   "WebAssembly have no workgroups",
	},
	{
		.name = "browser",
		.what = "Firefox against Chromium",
		.a = { "webgpu:chromium", NULL, false },
		.b = { "webgpu:firefox", NULL, false },
		.metrics = METRIC(LOAD) | METRIC(FIRST) | METRIC(LATENCY),
	},
	{
		.name = "float16",
		.what = "weights and arithmetic in float16 against float32",
		.a = { .on = "webgpu", .precision = "float32" },
		.b = { .on = "webgpu", .precision = "float16" },
		.metrics = METRIC(LOAD) | METRIC(LATENCY),
	},
	{
		.name = "static-shapes",
		.what = "fixed shapes in the graph against dynamic ones",
		.a = { "webgpu", NULL, false, true },
		.b = { "webgpu", NULL, true },
		.metrics = METRIC(LOAD) | METRIC(FIRST) | METRIC(LATENCY),
	},
	{
		.name = "cache",
		.what = "weights from the browser's Cache API, which an earlier load filled, against weights from the server",
		.a = { "webgpu", "cache=off", false },
		.b = { "webgpu", "cache=cache-api", false },
		.metrics = METRIC(LOAD),
	},
	{
		.name = "indexeddb",
		.what = "weights from the browser's IndexedDB, which an earlier load filled, against weights from the server",
		.a = { "webgpu", "cache=off", false },
		.b = { "webgpu", "cache=indexeddb", false },
		.metrics = METRIC(LOAD),
	},
};

size_t preset_count(void)
{
	return sizeof presets / sizeof *presets;
}

const struct preset *preset_get(size_t i)
{
	return &presets[i];
}

const struct preset *preset_find(const char *name)
{
	for (size_t i = 0; i < preset_count(); i++)
		if (text_is(presets[i].name, name))
			return &presets[i];
	return NULL;
}

bool preset_has_browser(const struct preset *p)
{
	return p->a.on && strchr(p->a.on, ':') && p->b.on && strchr(p->b.on, ':');
}

const char *preset_on(struct arena *a, const struct preset_side *s, const char *browser)
{
	if (!s->on || strchr(s->on, ':') || !browser)
		return s->on;
	return arena_printf(a, "%s:%s", s->on, browser);
}

bool preset_is_for(const struct preset *p, const char *architecture)
{
	size_t n = architecture ? strlen(architecture) : 0;

	if (!p->models || !architecture)
		return true;
	for (const char *at = p->models; *at;) {
		size_t length = strcspn(at, " ");

		if (length == n && strncmp(at, architecture, n) == 0)
			return true;
		at += length + (at[length] == ' ');
	}
	return false;
}
