// SPDX-License-Identifier: Apache-2.0
// Execution providers that are libraries of their own: registered with ONNX Runtime's environment, asked for the devices they
// serve, and put into a session by those devices. ONNX Runtime has this since 1.22.
// A plugin stays registered, and its environment stays, until the process ends: not all of them survive being unloaded.
#include "backend/ort_plugin.h"

#include <string.h>

#include "base/text.h"

enum { PLUGINS = 8, PLUGIN_API = 22 };

static struct {
	const OrtEnv *env;
	const char *registered, *path;
} plugins[PLUGINS];
static size_t plugin_count;

bool ort_plugin_any(void)
{
	return plugin_count > 0;
}

static const char *pair(const OrtApi *api, const OrtKeyValuePairs *pairs, const char *key)
{
	return pairs ? api->GetKeyValue(pairs, key) : NULL;
}

enum status ort_plugin_load(struct arena *a, const struct ort_library *l, OrtEnv *env, const struct ort_plugin *p,
	const char **path, struct error *err)
{
	struct error why = { 0 };
	enum status st;

	if (l->version < PLUGIN_API)
		return error_set(err, STATUS_UNAVAILABLE,
			"ONNX Runtime %s takes no provider from a library of its own; 1.%d and later do", l->text, PLUGIN_API);
	if ((st = library_find(a, p->build, p->pattern, path, &why)))
		return error_set(
			err, st, *path || st == STATUS_NOT_ASKED ? "%s" : "%s; `assay setup %s` brings it", why.text, p->setup);
	for (size_t i = 0; i < plugin_count; i++)
		if (plugins[i].env == env && text_is(plugins[i].registered, p->registered)) {
			*path = plugins[i].path;
			return STATUS_OK;
		}
	if (plugin_count == PLUGINS)
		return error_set(err, STATUS_UNAVAILABLE, "more than %d libraries of providers in one process", PLUGINS);
	library_loading(*path);
	st = ort_check(
		l->api, l->api->RegisterExecutionProviderLibrary(env, p->registered, *path), "registering the provider", &why);
	library_loading(NULL);
	if (st)
		return error_set(err, STATUS_UNAVAILABLE, "%s cannot be used by ONNX Runtime %s: %s", *path, l->text, why.text);
	plugins[plugin_count].env = env;
	plugins[plugin_count].registered = p->registered;
	plugins[plugin_count++].path = *path = strdup(*path); // the process's
	return STATUS_OK;
}

enum status ort_plugin_devices(struct arena *a, const struct ort_library *l, OrtEnv *env, const char *path,
	const OrtEpDevice *const **out, size_t *count, struct error *err)
{
	const OrtEpDevice *const *all = NULL, **own;
	size_t n = 0;
	enum status st = ort_check(l->api, l->api->GetEpDevices(env, &all, &n), "asking for its devices", err);

	if (st)
		return st;
	own = ARENA_ARRAY(a, n + 1, const OrtEpDevice *);
	*count = 0;
	for (size_t i = 0; i < n; i++)
		if (text_is(pair(l->api, l->api->EpDevice_EpMetadata(all[i]), "library_path"), path))
			own[(*count)++] = all[i];
	*out = own;
	return *count ? STATUS_OK : error_set(err, STATUS_UNAVAILABLE, "%s finds no device here that it could serve", path);
}

const char *ort_plugin_version(const struct ort_library *l, const OrtEpDevice *device)
{
	return pair(l->api, l->api->EpDevice_EpMetadata(device), "version");
}

bool ort_plugin_is_virtual(const struct ort_library *l, const OrtEpDevice *device)
{
	const OrtHardwareDevice *hardware = l->api->EpDevice_Device(device);

	return text_is(pair(l->api, l->api->HardwareDevice_Metadata(hardware), "is_virtual"), "1");
}

void ort_pairs_add(struct ort_pairs *p, const char *key, const char *text)
{
	if (p->count == ORT_PAIRS || !text)
		return;
	p->keys[p->count] = key;
	p->values[p->count++] = text;
}

enum status ort_plugin_append(struct session *s, OrtSessionOptions *o, const OrtEpDevice *const *devices, size_t count,
	const struct ort_pairs *p, struct error *err)
{
	struct ort *own = s->state;
	const OrtApi *api = own->library.api;

	return ort_check(api,
		api->SessionOptionsAppendExecutionProvider_V2(o, own->env, devices, count, p->keys, p->values, p->count),
		"giving the session its provider", err);
}
