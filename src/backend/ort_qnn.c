// SPDX-License-Identifier: Apache-2.0
// Qualcomm's NPU (HTP) through the plugin provider of ONNX Runtime. On x86-64 its library is an emulator: it computes as a named
// chip would, far slower, so each chip is a device. On a machine that has the NPU the driver knows the chip; that branch follows
// Qualcomm's documentation and has not run on one yet.
//
// What was seen of plugin 2.7.0 and decides the code below:
//   - it takes any value of any option and says nothing, so values are checked here;
//   - where the backend cannot be set up (the emulator for want of memory, or with htp_share_resource_optimization=on, which it
//     does not have) it logs an error, and the session opens with every node on the processor: ort.c takes that for a failure;
//   - an architecture without a chip (73-none) is float32 arithmetic, and larger graphs fail with QNN_COMMON_ERROR_MEM_ALLOC.
//   With
//     enable_htp_fp16_precision=on the provider refuses to be made; Python's wrapper then goes on with the processor alone, the C
//     interface does not;
//   - a compiled context made for one chip loads for another without a word: the chip is part of its name in the cache.
#include "backend/cause.h"
#include "backend/compiled.h"
#include "backend/ort_plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

#define REGISTERED "QNNExecutionProvider" // the provider then calls itself so

static const struct ort_plugin plugin = { "onnxruntime-qnn", "libonnxruntime_providers_qnn.so", REGISTERED, "qnn" };

// soc_model as Qualcomm numbers its chips, and the architecture of the HTP that each has. `half`: it computes in float16.
static const struct chip {
	const char *device, *soc, *arch, *description;
	bool half;
} chips[] = {
	{ "57", "57", "75", "Snapdragon 8 Gen 3 (SM8650), HTP architecture 75", true },
	{ "69", "69", "79", "Snapdragon 8 Elite (SM8750), HTP architecture 79", true },
	{ "43", "43", "73", "Snapdragon 8 Gen 2 (SM8550), HTP architecture 73", true },
	{ "60", "60", "73", "Snapdragon X Elite (SC8380XP), HTP architecture 73", true },
	{ "36", "36", "69", "Snapdragon 8 Gen 1 (SM8450), HTP architecture 69", true },
	{ "30", "30", "68", "Snapdragon 888 (SM8350), HTP architecture 68", false },
	{ "73-none", NULL, "73", "HTP architecture 73 without a chip", false },
};
enum { CHIPS = sizeof chips / sizeof *chips };

const struct option ort_qnn_options[] = {
	{ "htp_performance_mode", NULL,
		"burst, balanced, default, high_performance, high_power_saver, low_balanced, low_power_saver, power_saver, "
		"extreme_power_saver or "
		"sustained_high_performance",
		"burst balanced default high_performance high_power_saver low_balanced low_power_saver power_saver "
		"extreme_power_saver sustained_high_performance" },
	{ "htp_graph_finalization_optimization_mode", NULL, "0 to 3: how long the compiler tries", "0..3" },
	{ "qnn_context_priority", NULL, "low, normal, normal_high or high", "low normal normal_high high" },
	{ "enable_htp_fp16_precision", NULL,
		"on or off: float32 graphs in float16; every chip from architecture 69 on does so unasked", OPTION_SWITCH },
	{ "htp_share_resource_optimization", NULL,
		"on: several graphs share what the chip has; the emulator cannot, and then fails", OPTION_SWITCH },
	{ "context_cache", "off", "on: what is compiled is kept in assay's cache and used again", OPTION_SWITCH },
	{ "compile_only", "off", "on: the graph is compiled for the chip and not run", OPTION_SWITCH },
	{ .name = NULL },
};

// ---- devices ------------------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
static const bool emulator = true;
#else
static const bool emulator = false;
#endif

// The node of the kernel driver that reaches the DSP, by the names it has had.
static const char *dsp_node(void)
{
	static const char *const nodes[] = { "/dev/fastrpc-cdsp", "/dev/fastrpc-cdsp-secure", "/dev/adsprpc-smd",
		"/dev/adsprpc-smd-secure" };

	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
		if (file_exists(nodes[i]))
			return nodes[i];
	return NULL;
}

static enum status find_backend(struct arena *a, const char *plugin_path, const char **out, struct error *err)
{
	*out = arena_printf(a, "%.*slibQnnHtp.so", (int)(strrchr(plugin_path, '/') + 1 - plugin_path), plugin_path);
	return file_exists(*out) ? STATUS_OK
				 : error_set(err, STATUS_UNAVAILABLE, "%s is missing; `assay setup qnn` brings it", *out);
}

// With less the emulator gets no memory for its threads, and takes none of a graph. Of a model of some kilobytes 1,200,000 KiB of
// addresses and 300,000 of data were too few, 1,500,000 and 500,000 enough. cause.c knows the sentence.
static enum status check_emulator(struct error *err)
{
	static const struct process_limit needs[] = { { RLIMIT_AS, 1536ULL << 20, false }, { RLIMIT_DATA, 512ULL << 20, true } };

	return emulator ? process_check_limits(process_limited_by_user(), needs, sizeof needs / sizeof *needs, "QNN", err)
			: STATUS_OK;
}

static enum status open_plugin(struct arena *a, const struct ort_library *l, OrtEnv *env, const char **backend,
	const OrtEpDevice *const **devices, size_t *count, struct error *err)
{
	const char *path;
	enum status st;

	if ((st = check_emulator(err)) || (st = ort_plugin_load(a, l, env, &plugin, &path, err)) ||
		(st = find_backend(a, path, backend, err)))
		return st;
	return ort_plugin_devices(a, l, env, path, devices, count, err);
}

static enum status qnn_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	const OrtEpDevice *const *devices;
	const char *backend, *node = dsp_node();
	size_t count;
	enum status st = open_plugin(out->arena, l, env, &backend, &devices, &count, err);

	if (st)
		return st;
	if (!emulator) {
		if (!node)
			return error_set(err, STATUS_UNAVAILABLE,
				"no Qualcomm NPU: there is no /dev/fastrpc-cdsp and no /dev/adsprpc-smd");
		device_add(out,
			&(struct device){ .provider = p->name, .name = "HTP", .description = "Qualcomm NPU", .features = node });
		return STATUS_OK;
	}
	for (size_t i = 0; i < CHIPS; i++)
		device_add(out,
			&(struct device){
				.provider = p->name,
				.name = chips[i].device,
				.description = arena_printf(out->arena, "emulator of %s", chips[i].description),
				.emulated = true,
				.features = chips[i].half ? "static shapes, float16" : "static shapes",
			});
	return STATUS_OK;
}

// ---- sessions -----------------------------------------------------------------------------------------------------------

static enum status find_chip(const struct session *s, const struct chip **out, struct error *err)
{
	struct text known = { 0 };
	enum status st;

	*out = NULL;
	if (!emulator && !strcasecmp(s->device, "HTP"))
		return STATUS_OK;
	for (size_t i = 0; i < CHIPS && emulator; i++)
		if (!strcasecmp(s->device, chips[i].device)) {
			*out = &chips[i];
			return STATUS_OK;
		}
	for (size_t i = 0; i < CHIPS && emulator; i++)
		text_addf(&known, "%s%s", i ? ", " : "", chips[i].device);
	st = error_set(
		err, STATUS_UNAVAILABLE, "no device %s; QNN's devices here: %s", s->device, emulator ? text_get(&known) : "HTP");
	text_done(&known);
	return st;
}

static enum status read_options(struct session *s, struct ort_pairs *pairs, struct error *err)
{
	static const char *const modes[] = { "burst", "balanced", "default", "high_performance", "high_power_saver",
		"low_balanced", "low_power_saver", "power_saver", "extreme_power_saver", "sustained_high_performance" };
	static const char *const priorities[] = { "low", "normal", "normal_high", "high" };
	static const char *const finals[] = { "0", "1", "2", "3" };
	static const struct {
		const char *name;
		const char *const *words;
		size_t count;
	} takes[] = {
		{ "htp_performance_mode", modes, sizeof modes / sizeof *modes },
		{ "qnn_context_priority", priorities, 4 },
		{ "htp_graph_finalization_optimization_mode", finals, 4 },
	};
	static const char *const switches[] = { "enable_htp_fp16_precision", "htp_share_resource_optimization" };
	enum status st = session_option_bool(s, "compile_only", &s->compiles_only, err);

	for (size_t i = 0; i < sizeof switches / sizeof *switches && !st; i++) {
		bool on;

		if (session_option(s, switches[i]) && !(st = session_option_bool(s, switches[i], &on, err)))
			ort_pairs_add(pairs, switches[i], on ? "1" : "0");
	}

	for (size_t i = 0; i < sizeof takes / sizeof *takes && !st; i++) {
		size_t word;

		if (session_option(s, takes[i].name) &&
			!(st = session_option_word(s, takes[i].name, takes[i].words, takes[i].count, &word, err)))
			ort_pairs_add(pairs, takes[i].name, takes[i].words[word]);
	}
	return st;
}

// The binary that Qualcomm's compiler makes for the chip.
static enum status open_context(struct session *s, const struct ort_pairs *pairs, const char *version, struct error *err)
{
	struct ort *own = s->state;
	json_t *target;
	bool on;
	enum status st = session_option_bool(s, "context_cache", &on, err);

	if (st || own->purpose != ORT_MEASURE ||
		(!on && !s->compiles_only)) // what was compiled has to be somewhere to have a size
		return st;
	target = json_pack("{s:s, s:s?}", "device", s->device, "rewrites", session_option(s, "optimisation"));
	for (size_t i = 0; i < pairs->count; i++)
		json_object_set_new(target, pairs->keys[i], json_string(pairs->values[i]));
	own->compiled = ARENA_NEW(&s->arena, struct compiled);
	if ((st = compiled_open(own->compiled, &s->arena, "qnn", own->artifact->key ? own->artifact->key : "unknown", target,
		     json_pack("{s:s, s:s}", "onnxruntime", own->library.text, "plugin", version ? version : "unknown"), err)))
		return st;
	own->context = arena_printf(&s->arena, "%s/model.onnx", own->compiled->folder);
	return STATUS_OK;
}

// The plugin opens it again. Where that fails, for want of memory say, it leaves all nodes to the processor, as if the chip took
// none.
static enum status check_backend(struct session *s, const char *path, struct error *err)
{
	const char *why, *text;

	if (library_load(&s->arena, path, RTLD_LAZY, &why)) // stays: who closes it last is the plugin
		return STATUS_OK;
	text = arena_printf(&s->arena, "%s cannot be opened: %s", path, why);
	return error_set(err, cause_status("ort", "qnn", text, STATUS_UNAVAILABLE), "%s", text);
}

static enum status qnn_append(struct session *s, OrtSessionOptions *o, struct error *err)
{
	struct ort *own = s->state;
	struct ort_pairs pairs = { 0 };
	const OrtEpDevice *const *devices;
	const struct chip *chip;
	const char *backend;
	size_t count;
	enum status st;

	if (!s->device)
		s->device = emulator ? chips[0].device : "HTP";
	if ((st = find_chip(s, &chip, err)) || (st = read_options(s, &pairs, err)) ||
		(st = open_plugin(&s->arena, &own->library, own->env, &backend, &devices, &count, err)) ||
		(st = check_backend(s, backend, err)))
		return st;
	if (chip) {
		ort_pairs_add(&pairs, "soc_model", chip->soc);
		ort_pairs_add(&pairs, "htp_arch", chip->arch);
	}
	if (s->compiles_only)
		ort_pairs_add(&pairs, "enable_htp_prepare_only", "1");
	for (size_t i = 0; i < pairs.count; i++)
		if (!session_option(s, pairs.keys[i]))
			session_set_option(s, pairs.keys[i], pairs.values[i]);
	session_set_option(s, "plugin_version", ort_plugin_version(&own->library, devices[0]));
	session_set_option(s, "compute_dtype", !chip || chip->half ? "f16" : "f32");
	s->device = chip ? chip->device : "HTP";
	if ((st = open_context(s, &pairs, ort_plugin_version(&own->library, devices[0]), err)))
		return st;
	ort_pairs_add(&pairs, "backend_path", backend);
	return ort_plugin_append(s, o, devices, count, &pairs, err);
}

const struct ort_provider ort_qnn = { .ep = REGISTERED, .devices = qnn_devices, .append = qnn_append, .compiles = true };
