// SPDX-License-Identifier: Apache-2.0
// MLX on Apple silicon, by the plugin provider onnxruntime-ep-mlx for the plain ONNX Runtime. It has one device, the GPU, whose
// memory is the processor's. Follows the plugin's own documentation (0.31): it has not run on one yet.
#include <strings.h>

#include "backend/ort_plugin.h"

static const struct ort_plugin plugin = { "onnxruntime-ep-mlx", "libonnxruntime_mlx_ep.*", "MLXExecutionProvider", "mlx" };

static enum status find(struct arena *a, const struct ort_library *l, OrtEnv *env, const OrtEpDevice *const **out, size_t *count,
	struct error *err)
{
	const char *path;
	enum status st;

#ifndef __APPLE__
	struct error none;

	if (library_find(a, plugin.build, plugin.pattern, &path, &none))
		return error_set(err, STATUS_UNAVAILABLE, "MLX needs macOS 14 or newer on Apple silicon, and this is Linux");
#endif
	if ((st = ort_plugin_load(a, l, env, &plugin, &path, err)))
		return st;
	return ort_plugin_devices(a, l, env, path, out, count, err);
}

static enum status mlx_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	const OrtEpDevice *const *found;
	const char *version;
	size_t count;
	enum status st = find(out->arena, l, env, &found, &count, err);

	if (st)
		return st;
	version = ort_plugin_version(l, found[0]);
	device_add(out,
		&(struct device){
			.provider = p->name,
			.name = "GPU",
			.description = "Apple's GPU by MLX",
			.features = version ? arena_printf(out->arena, "plugin %s", version) : NULL,
		});
	return STATUS_OK;
}

static enum status mlx_append(struct session *s, OrtSessionOptions *o, struct error *err)
{
	struct ort *own = s->state;
	const OrtEpDevice *const *found;
	struct ort_pairs none = { 0 };
	size_t count;
	enum status st = find(&s->arena, &own->library, own->env, &found, &count, err);

	if (st)
		return st;
	if (s->device && strcasecmp(s->device, "GPU"))
		return error_set(err, STATUS_UNAVAILABLE, "no device %s; MLX's is GPU", s->device);
	s->device = "GPU";
	return ort_plugin_append(s, o, found, 1, &none, err);
}

const struct ort_provider ort_mlx = { .ep = "MLXExecutionProvider", .devices = mlx_devices, .append = mlx_append };
