// SPDX-License-Identifier: Apache-2.0
// WebGPU without a browser: a build of ONNX Runtime that has Google's Dawn inside, which computes through Vulkan. And the same
// provider as a plugin for a GPU that is not here: a graph can be compiled for that one, never run.
// Which adapter Dawn takes it does not tell; it goes by kind, and so does the description here: a hardware adapter before a
// software one. Where Vulkan has no driver at all, SwiftShader of an installed Chromium serves: right answers, meaningless speed.
#include "backend/ort_plugin.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backend/vulkan.h"
#include "base/file.h"
#include "base/text.h"

#define EP "WebGpuExecutionProvider"

const struct option ort_webgpu_options[] = {
	{ "preferredLayout", NULL, "NHWC or NCHW", "NHWC NCHW" },
	{ "enableGraphCapture", NULL,
		"on: the commands of a run are recorded once and played again; every node must be on WebGPU", OPTION_SWITCH },
	{ "enableInt64", "on",
		"on: arithmetic with 64-bit integers, which shaders do with 32 bits; else those nodes go to the processor",
		OPTION_SWITCH },
	{ "storageBufferCacheMode", NULL, "bucket, disabled, lazyRelease or simple", "bucket disabled lazyRelease simple" },
	{ "validationMode", NULL, "disabled, wgpuOnly, basic or full", "disabled wgpuOnly basic full" },
	{ "forceCpuNodeNames", NULL, "names of nodes, with + between them, that are left to the processor" },
	{ .name = NULL },
};

const struct option ort_webgpu_virtual_options[] = { { .name = NULL } };

// ---- adapters -----------------------------------------------------------------------------------------------------------

static const char *first_match(struct arena *a, const char *pattern)
{
	const char *out = NULL;
	glob_t found;

	if (!glob(pattern, 0, NULL, &found)) {
		out = arena_strdup(a, found.gl_pathv[0]);
		globfree(&found);
	}
	return out;
}

// Beside the engines' folder, as browsers are installed, or where distributions have Chromium.
static const char *find_swiftshader(struct arena *a, const char *library)
{
	static const char *const places[] = { "/usr/lib/chromium", "/usr/lib/chromium-browser", "/usr/lib64/chromium-browser",
		"/opt/google/chrome", "/opt/chromium.org/chromium" };
	const char *own = library;
	size_t n = strlen(library);

	for (int up = 0; up < 3; up++) // engines/onnxruntime-webgpu/libonnxruntime.so
		while (n && library[--n] != '/')
			;
	own = first_match(a, arena_printf(a, "%.*s/browsers/*/vk_swiftshader_icd.json", (int)n, library));
	for (size_t i = 0; i < sizeof places / sizeof *places && !own; i++)
		own = first_match(a, arena_printf(a, "%s/vk_swiftshader_icd.json", places[i]));
	return own;
}

// This process is a child of our own, so its environment is ours to change.
static enum status find_adapter(struct arena *a, const struct ort_library *l, struct vulkan_adapter *out, struct error *err)
{
	struct vulkan_adapter *adapters = NULL;
	struct error why = { 0 };
	size_t count = 0, best = 0;
	enum status st = vulkan_adapters(a, &adapters, &count, &why);

	if (st && !getenv("VK_ICD_FILENAMES") && !getenv("VK_DRIVER_FILES")) {
		const char *icd = find_swiftshader(a, l->path);

		if (icd) {
			setenv("VK_ICD_FILENAMES", icd, 1);
			st = vulkan_adapters(a, &adapters, &count, &why);
		}
	}
	if (st)
		return error_set(err, st, "%s", why.text);
	while (best < count && adapters[best].software)
		best++;
	*out = adapters[best < count ? best : 0];
	return STATUS_OK;
}

static enum status native_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	struct vulkan_adapter v;
	enum status st;

	(void)env;
	if (!ort_has_provider(l, EP))
		return error_set(
			err, STATUS_UNAVAILABLE, "%s has no %s; `assay setup webgpu` brings a build that has it", l->path, EP);
	if ((st = find_adapter(out->arena, l, &v, err)))
		return st;
	device_add(out,
		&(struct device){
			.provider = p->name,
			.name = "native",
			.description = arena_printf(out->arena, "%s%s", v.name, v.software ? " (software)" : ""),
			.emulated = v.software,
			.features = arena_printf(
				out->arena, "Vulkan %s, %s%s", v.api_version, v.type, v.float16 == 1 ? ", float16" : ""),
		});
	return STATUS_OK;
}

// ---- sessions -----------------------------------------------------------------------------------------------------------

static enum status read_options(struct session *s, struct ort_pairs *pairs, struct error *err)
{
	static const char *const layouts[] = { "NHWC", "NCHW" };
	static const char *const caches[] = { "bucket", "disabled", "lazyRelease", "simple" };
	static const char *const validations[] = { "disabled", "wgpuOnly", "basic", "full" };
	static const struct {
		const char *name;
		const char *const *words;
		size_t count;
	} takes[] = {
		{ "preferredLayout", layouts, 2 },
		{ "storageBufferCacheMode", caches, 4 },
		{ "validationMode", validations, 4 },
	};
	static const char *const switches[] = { "enableGraphCapture", "enableInt64" };
	enum status st = STATUS_OK;

	for (size_t i = 0; i < sizeof takes / sizeof *takes && !st; i++) {
		size_t word;

		if (session_option(s, takes[i].name) &&
			!(st = session_option_word(s, takes[i].name, takes[i].words, takes[i].count, &word, err)))
			ort_pairs_add(pairs, takes[i].name, takes[i].words[word]);
	}
	for (size_t i = 0; i < sizeof switches / sizeof *switches && !st; i++) {
		bool on;

		if (session_option(s, switches[i]) && !(st = session_option_bool(s, switches[i], &on, err)))
			ort_pairs_add(pairs, switches[i], on ? "1" : "0");
	}
	if (!st && session_option(s, "forceCpuNodeNames")) {
		char *names = arena_strdup(&s->arena, session_option(s, "forceCpuNodeNames"));

		for (char *c = names; *c; c++)
			if (*c == '+')
				*c = '\n';
		ort_pairs_add(pairs, "forceCpuNodeNames", names);
	}
	return st;
}

static enum status native_append(struct session *s, OrtSessionOptions *o, struct error *err)
{
	struct ort *own = s->state;
	const OrtApi *api = own->library.api;
	struct ort_pairs pairs = { 0 };
	struct vulkan_adapter v;
	enum status st;

	if (s->device && strcasecmp(s->device, "native"))
		return error_set(err, STATUS_UNAVAILABLE, "no device %s; native WebGPU's devices here: native", s->device);
	s->device = "native";
	if (!ort_has_provider(&own->library, EP))
		return error_set(err, STATUS_UNAVAILABLE, "%s has no %s; `assay setup webgpu` brings a build that has it",
			own->library.path, EP);
	if ((st = find_adapter(&s->arena, &own->library, &v, err)) || (st = read_options(s, &pairs, err)))
		return st;
	session_set_option(s, "adapter", v.name);
	return ort_check(api, api->SessionOptionsAppendExecutionProvider(o, "WebGPU", pairs.keys, pairs.values, pairs.count),
		"giving the session its provider", err);
}

const struct ort_provider ort_webgpu = { .ep = EP, .devices = native_devices, .append = native_append, .unrecorded = true };

// ---- a GPU that is not here ---------------------------------------------------------------------------------------------

static const struct ort_plugin plugin = { "onnxruntime-ep-webgpu", "libonnxruntime_providers_webgpu.so", "webgpu.virtual",
	"webgpu" };

// The one device of the plugin that is no GPU. Where there is a GPU the plugin lists that too, and takes one device at a time.
static enum status find_virtual(
	struct arena *a, const struct ort_library *l, OrtEnv *env, const OrtEpDevice **out, struct error *err)
{
	const OrtEpDevice *const *devices;
	const char *path;
	size_t count;
	enum status st;

	if ((st = ort_plugin_load(a, l, env, &plugin, &path, err)) ||
		(st = ort_plugin_devices(a, l, env, path, &devices, &count, err)))
		return st;
	for (size_t i = 0; i < count; i++)
		if (ort_plugin_is_virtual(l, devices[i])) {
			*out = devices[i];
			return STATUS_OK;
		}
	return error_set(err, STATUS_UNAVAILABLE, "%s lists no device that is virtual", path);
}

static enum status virtual_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	const OrtEpDevice *device;
	enum status st = find_virtual(out->arena, l, env, &device, err);

	if (st)
		return st;
	device_add(out,
		&(struct device){
			.provider = p->name,
			.name = "virtual",
			.description = "a GPU that is not here: what compiles for it is not run",
			.emulated = true,
			.compiles_only = true,
			.features = arena_printf(out->arena, "plugin %s", ort_plugin_version(l, device)),
		});
	return STATUS_OK;
}

static enum status virtual_append(struct session *s, OrtSessionOptions *o, struct error *err)
{
	struct ort *own = s->state;
	const OrtApi *api = own->library.api;
	const OrtEpDevice *device;
	enum status st;

	if (s->device && strcasecmp(s->device, "virtual"))
		return error_set(err, STATUS_UNAVAILABLE, "no device %s; there is virtual", s->device);
	s->device = "virtual";
	s->compiles_only = true;
	if ((st = find_virtual(&s->arena, &own->library, own->env, &device, err)) ||
		(st = ort_check(api, api->AddSessionConfigEntry(o, "session.compile_only", "1"), "setting options", err)))
		return st;
	session_set_option(s, "plugin_version", ort_plugin_version(&own->library, device));
	return ort_plugin_append(s, o, &device, 1, &(struct ort_pairs){ 0 }, err);
}

const struct ort_provider ort_webgpu_virtual = { .ep = EP, .devices = virtual_devices, .append = virtual_append };
