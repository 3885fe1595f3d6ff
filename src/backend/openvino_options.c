// SPDX-License-Identifier: Apache-2.0
// Options of OpenVINO, set and read back. Its defaults are not float32: on a CPU with AMX or AVX512_BF16 it computes in bf16,
// keeps the attention cache in u8 and quantises activations in groups of 32 (bert-base: error 0.021 of 4.4 against 5e-6). So
// all three are set for every session, and what the compiled model says it does goes into the row. An option that is "default" is
// not set.
#include "backend/openvino.h"

#include <string.h>

#include "backend/compiled.h"
#include "backend/host.h"
#include "base/text.h"

const struct option ov_options[] = {
	{ "precision", "f32", "what it computes in: f32, bf16, f16, or default: OpenVINO's own (INFERENCE_PRECISION_HINT)",
		"f32 bf16 f16 default" },
	{ "kv_cache_precision", "f32", "what a decoder's cache is kept in (KV_CACHE_PRECISION)", "f32 bf16 f16 u8 default" },
	{ "dynamic_quantization", "0", "group size of quantised activations, 0 for none (DYNAMIC_QUANTIZATION_GROUP_SIZE)",
		"0..2147483647 default" },
	{ "threads", NULL, "threads; default: the CPUs this process may use (INFERENCE_NUM_THREADS)", "1..4096 default" },
	{ "streams", NULL, "inferences at the same time; default: by the hint (NUM_STREAMS)", "1..4096 default" },
	{ "hint", "LATENCY", "LATENCY, THROUGHPUT or CUMULATIVE_THROUGHPUT (PERFORMANCE_HINT)",
		"LATENCY THROUGHPUT CUMULATIVE_THROUGHPUT default" },
	{ "cache", "off",
		"compiled models are kept in assay's cache and used again until driver, library or graph change (CACHE_DIR)",
		OPTION_SWITCH },
	{ "mmap", "on", "weights are mapped while they are read (ENABLE_MMAP)", OPTION_SWITCH },
	{ .name = NULL },
};

static bool listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; at && *at;) {
		size_t length = strcspn(at, " ,");

		if (length == n && !strncmp(at, word, n))
			return true;
		at += length + (at[length] != 0);
	}
	return false;
}

static const struct {
	const char *option, *property;
} properties_of[] = {
	{ "precision", "INFERENCE_PRECISION_HINT" },
	{ "kv_cache_precision", "KV_CACHE_PRECISION" },
	{ "dynamic_quantization", "DYNAMIC_QUANTIZATION_GROUP_SIZE" },
	{ "threads", "INFERENCE_NUM_THREADS" },
	{ "streams", "NUM_STREAMS" },
	{ "hint", "PERFORMANCE_HINT" },
};

static enum status set_device(struct session *s, const char *device, struct text *missing, struct error *err)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;
	char *supported = NULL;
	enum status st = ov_check(l, l->ov_core_get_property(o->core, device, "SUPPORTED_PROPERTIES", &supported), device, err);

	for (size_t i = 0; i < sizeof properties_of / sizeof *properties_of && !st; i++) {
		const char *property = properties_of[i].property, *text = session_option(s, properties_of[i].option);

		if (session_option_is_own(s, properties_of[i].option))
			continue;
		if (text && listed(supported, property))
			st = ov_check(l, l->ov_core_set_property(o->core, device, property, text), property, err);
		else if (text)
			text_addf(missing, "%s%s %s", missing->length ? ", " : "", device, property);
	}
	l->ov_free(supported);
	return st;
}

static enum status number_or_own(
	const struct session *s, const char *name, int64_t min, int64_t max, int64_t otherwise, int64_t *out, struct error *err)
{
	*out = otherwise;
	return session_option_is_own(s, name) ? STATUS_OK : session_option_int(s, name, min, max, otherwise, out, err);
}

enum status ov_set_options(struct session *s, const ov_available_devices_t *devices, struct error *err)
{
	static const char *const precisions[] = { "f32", "bf16", "f16", "default" },
				 *const caches[] = { "f32", "bf16", "f16", "u8", "default" };
	static const char *const hints[] = { "LATENCY", "THROUGHPUT", "CUMULATIVE_THROUGHPUT", "default" };
	struct openvino *o = s->state;
	struct text missing = { 0 };
	char number[24];
	int64_t threads, n;
	size_t precision, cache, hint;
	bool mmap;
	enum status st;

	if ((st = session_option_word(s, "precision", precisions, 4, &precision, err)) ||
		(st = session_option_word(s, "kv_cache_precision", caches, 5, &cache, err)) ||
		(st = session_option_word(s, "hint", hints, 4, &hint, err)) ||
		(st = number_or_own(s, "threads", 1, 4096, host_cpus(""), &threads, err)) ||
		(st = number_or_own(s, "streams", 1, 4096, 1, &n, err)) ||
		(st = number_or_own(s, "dynamic_quantization", 0, INT32_MAX, 0, &n, err)) ||
		(st = session_option_bool(s, "mmap", &mmap, err)))
		return st;
	if (!session_option_is_own(s, "threads")) {
		snprintf(number, sizeof number, "%lld", (long long)threads);
		session_set_option(s, "threads", number);
	}
	session_set_option(s, "precision", precisions[precision]);
	session_set_option(s, "kv_cache_precision", caches[cache]);
	session_set_option(s, "hint", hints[hint]);
	if (ov_is_meta(s->device))
		for (size_t i = 0; i < devices->size && !st; i++)
			st = set_device(s, devices->devices[i], &missing, err);
	else
		st = set_device(s, s->device, &missing, err);
	if (!st) // a property of the core, not of a device
		st = ov_check(&o->library, o->library.ov_core_set_property(o->core, "", "ENABLE_MMAP", mmap ? "YES" : "NO"),
			"ENABLE_MMAP", err);
	if (missing.length)
		session_set_option(s, "not_supported", text_get(&missing));
	text_done(&missing);
	return st;
}

enum status ov_open_cache(struct session *s, const struct artifact *a, struct error *err)
{
	static const char *const shaping[] = { "precision", "kv_cache_precision", "dynamic_quantization", "threads", "streams",
		"hint" };
	struct openvino *o = s->state;
	struct compiled *c;
	json_t *target, *makers;
	char model[256];
	bool on;
	enum status st = session_option_bool(s, "cache", &on, err);

	if (st || !on)
		return st;
	// A blob of the CPU holds code for this processor; what a GPU's or NPU's driver is, its plugin compares itself.
	target = json_pack("{s:s, s:s}", "device", s->device, "processor", host_cpuinfo("", "model name", model, sizeof model));
	for (size_t i = 0; i < sizeof shaping / sizeof *shaping; i++)
		if (session_option(s, shaping[i]))
			json_object_set_new(target, shaping[i], json_string(session_option(s, shaping[i])));
	makers = json_pack("{s:s}", "openvino", o->library.version);
	c = ARENA_NEW(&s->arena, struct compiled);
	if ((st = compiled_open(c, &s->arena, "openvino", a->key ? a->key : "unknown", target, makers, err)))
		return st;
	o->compiled = c;
	session_set_option(s, "cache", c->state);
	return ov_check(&o->library, o->library.ov_core_set_property(o->core, "", "CACHE_DIR", c->folder), "CACHE_DIR", err);
}

enum status ov_keep_cache(struct session *s, struct error *err)
{
	struct openvino *o = s->state;

	return o->compiled ? compiled_keep(o->compiled, &s->compiled_bytes, err) : STATUS_OK;
}

// "{CPU:{...,INFERENCE_PRECISION_HINT:f32,...}}" -> "f32": the first device's. For devices that hand the work to others.
static const char *device_property(struct arena *a, const char *all, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = all; (at = strstr(at, name)); at += n)
		if (at[n] == ':')
			return arena_strndup(a, at + n + 1, strcspn(at + n + 1, ",}"));
	return NULL;
}

static void read_back_meta(struct session *s)
{
	static const char *const properties[] = { "INFERENCE_PRECISION_HINT", "KV_CACHE_PRECISION",
		"DYNAMIC_QUANTIZATION_GROUP_SIZE", "INFERENCE_NUM_THREADS", "NUM_STREAMS" };
	struct openvino *o = s->state;
	const char *devices = session_option(s, "EXECUTION_DEVICES");
	char *all = NULL;

	// With several devices there are several answers: the row has none then.
	if (!devices || strpbrk(devices, " ,") ||
		o->library.ov_compiled_model_get_property(o->model, "DEVICE_PROPERTIES", &all) || !all)
		return;
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
		const char *text = device_property(&s->arena, all, properties[i]);

		if (text && !session_option(s, properties[i]))
			session_set_option(s, properties[i], text);
	}
	o->library.ov_free(all);
}

void ov_read_back(struct session *s)
{
	static const char *const properties[] = { "INFERENCE_PRECISION_HINT", "KV_CACHE_PRECISION",
		"DYNAMIC_QUANTIZATION_GROUP_SIZE", "INFERENCE_NUM_THREADS", "NUM_STREAMS", "PERFORMANCE_HINT",
		"OPTIMAL_NUMBER_OF_INFER_REQUESTS", "EXECUTION_MODE_HINT", "EXECUTION_DEVICES", "LOADED_FROM_CACHE",
		"ENABLE_CPU_PINNING", "ENABLE_HYPER_THREADING", "SCHEDULING_CORE_TYPE" };
	struct openvino *o = s->state;
	const char *precision;

	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
		char *text = NULL;

		if (o->library.ov_compiled_model_get_property(o->model, properties[i], &text) || !text)
			continue;
		session_set_option(s, properties[i], text);
		o->library.ov_free(text);
	}
	if (ov_is_meta(s->device))
		read_back_meta(s);
	for (size_t i = 0; i < sizeof properties_of / sizeof *properties_of; i++)
		if (session_option_is_own(s, properties_of[i].option) && session_option(s, properties_of[i].property))
			session_set_option(s, properties_of[i].option, session_option(s, properties_of[i].property));
	precision = session_option(s, "INFERENCE_PRECISION_HINT");
	session_set_option(
		s, "compute_dtype", precision && dtype_find(precision) ? dtype_word(dtype_find(precision)) : "unknown");
}
