// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's Core ML provider (Apple's GPU and neural engine), which is part of the library itself or is not in it. What
// stands here works on macOS only; elsewhere it says so. A device of Core ML is a choice of compute units; Core ML may use the
// CPU for any node whatever is chosen, and ONNX Runtime only tells that a node went to Core ML.
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "backend/compiled.h"
#include "backend/ort_vendor.h"

const struct option ort_coreml_options[] = {
	{ "model_format", "MLProgram", "MLProgram (more operators, float32 on the GPU) or NeuralNetwork",
		"MLProgram NeuralNetwork" },
	{ "static_shapes", "off", "only nodes with fixed shapes go to Core ML (RequireStaticInputShapes)", OPTION_SWITCH },
	{ "subgraphs", "off", "bodies of If and Loop too (EnableOnSubgraphs)", OPTION_SWITCH },
	{ "specialisation", "Default", "Default or FastPrediction: longer to load, faster to run (SpecializationStrategy)",
		"Default FastPrediction" },
	{ "low_precision_accumulation", "off", "sums in float16 on the GPU (AllowLowPrecisionAccumulationOnGPU)", OPTION_SWITCH },
	{ "profile_plan", "off", "Core ML logs which unit each node is planned for (ProfileComputePlan)", OPTION_SWITCH },
	{ "model_cache", "on", "compiled models are kept in assay's cache and used again until system, library or graph change",
		OPTION_SWITCH },
	{ .name = NULL },
};

static const struct {
	const char *name, *units, *description, *dtype;
} units[] = {
	{ "GPU", "CPUAndGPU", "Apple's GPU by Core ML, the CPU beside it", NULL },
	{ "ANE", "CPUAndNeuralEngine", "Apple's neural engine by Core ML, the CPU beside it", "f16 on the neural engine" },
	{ "ALL", "ALL", "GPU, neural engine and CPU by Core ML, as it chooses", "as Core ML chooses" },
	{ "CPU", "CPUOnly", "the CPU by Core ML", NULL },
};
enum { UNITS = sizeof units / sizeof *units };

// The code is the same everywhere; what decides is whether the library has the provider.
static enum status has_coreml(const struct ort_library *l, struct error *err)
{
	if (ort_has_provider(l, "CoreMLExecutionProvider"))
		return STATUS_OK;
#ifdef __APPLE__
	return error_set(err, STATUS_UNAVAILABLE,
		"%s is built without CoreMLExecutionProvider; the wheel `onnxruntime` for macOS has it", l->path);
#else
	return error_set(err, STATUS_UNAVAILABLE,
		"Core ML needs macOS on Apple's hardware, and this is Linux: %s has no CoreMLExecutionProvider", l->path);
#endif
}

static enum status coreml_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	enum status st = has_coreml(l, err);

	(void)env;
	for (size_t i = 0; i < UNITS && !st; i++)
		device_add(out,
			&(struct device){
				.provider = p->name,
				.name = units[i].name,
				.description = units[i].description,
				.features = units[i].units,
			});
	return st;
}

static enum status coreml_options(struct session *s, struct ep_options *o, struct error *err)
{
	static const char *const formats[] = { "MLProgram", "NeuralNetwork" },
				 *const strategies[] = { "Default", "FastPrediction" };
	enum status st;

	if ((st = ep_option_choice(s, o, "model_format", "ModelFormat", formats, formats, 2, err)) ||
		(st = ep_option_choice(s, o, "specialisation", "SpecializationStrategy", strategies, strategies, 2, err)) ||
		(st = ep_option_bool(s, o, "static_shapes", "RequireStaticInputShapes", err)) ||
		(st = ep_option_bool(s, o, "subgraphs", "EnableOnSubgraphs", err)) ||
		(st = ep_option_bool(s, o, "low_precision_accumulation", "AllowLowPrecisionAccumulationOnGPU", err)))
		return st;
	return ep_option_bool(s, o, "profile_plan", "ProfileComputePlan", err);
}

static enum status open_cache(struct session *s, const struct ep_options *o, struct error *err)
{
	struct ort *ort = s->state;
	struct compiled *c = ARENA_NEW(&s->arena, struct compiled);
	json_t *target = json_object(), *makers;
	struct utsname system;
	enum status st;

	for (size_t i = 0; i < o->count; i++)
		json_object_set_new(target, o->keys[i], json_string(o->values[i]));
	makers = json_pack("{s:s, s:s}", "system", uname(&system) ? "unknown" : system.release, "onnxruntime", ort->library.text);
	if ((st = compiled_open(
		     c, &s->arena, "coreml", ort->artifact->key ? ort->artifact->key : "unknown", target, makers, err)))
		return st;
	ort->compiled = c;
	session_set_option(s, "model_cache", c->state);
	return STATUS_OK;
}

static enum status coreml_append(struct session *s, OrtSessionOptions *so, struct error *err)
{
	struct ort *ort = s->state;
	struct ep_options o = { 0 };
	bool cached = true;
	size_t unit = 0;
	enum status st = has_coreml(&ort->library, err);

	if (st)
		return st;
	while (s->device && unit < UNITS && strcasecmp(units[unit].name, s->device))
		unit++;
	if (unit == UNITS)
		return error_set(err, STATUS_UNAVAILABLE, "no device %s; Core ML's are GPU, ANE, ALL and CPU", s->device);
	s->device = units[unit].name;
	ep_option(&o, "MLComputeUnits", units[unit].units);
	if ((st = coreml_options(s, &o, err)) || (!ort->compiled && (st = session_option_bool(s, "model_cache", &cached, err))) ||
		(cached && !ort->compiled && (st = open_cache(s, &o, err))))
		return st;
	session_set_option(s, "MLComputeUnits", units[unit].units);
	if (units[unit].dtype)
		session_set_option(s, "compute_dtype", units[unit].dtype);
	if (ort->compiled)
		ep_option(&o, "ModelCacheDirectory", ort->compiled->folder);
	return ep_append(s, so, "CoreML", &o, err);
}

const struct ort_provider ort_coreml = {
	.ep = "CoreMLExecutionProvider", .devices = coreml_devices, .append = coreml_append, .compiles = true
};
