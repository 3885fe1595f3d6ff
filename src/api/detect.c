// SPDX-License-Identifier: Apache-2.0
// What can be asked for on this machine: the platforms, each with its engine's devices or the reason why there are none.
// Every engine is loaded in a probe child of its own, all at the same time; never in this process.
#include <pthread.h>
#include <string.h>

#include "api/plan.h"

struct probe {
	const struct backend *backend;
	pthread_t thread;
	bool threaded;
	json_t *answer;
};

static void *probe_thread(void *context)
{
	struct probe *p = context;
	p->answer = cell_probe(p->backend->name);
	return NULL;
}

// The null engine and its like are no hardware: they are not listed.
static bool is_listed(const struct platform *p)
{
	const struct backend *b = p->engine ? backend_find(p->engine) : NULL;
	return !b || !(b->caps & BACKEND_SOFTWARE);
}

static bool is_wanted(const char *engine)
{
	for (size_t i = 0; i < platform_count(); i++)
		if (text_is(platform_get(i)->engine, engine) && is_listed(platform_get(i)))
			return true;
	return false;
}

static size_t platforms_of(const char *engine)
{
	size_t count = 0;
	for (size_t i = 0; i < platform_count(); i++)
		count += text_is(platform_get(i)->engine, engine);
	return count;
}

// An engine that serves several platforms lists the devices of all of them: "CPU" is that of the row with device "CPU",
// "GPU.1" that of the row with "GPU".
static bool is_device_of(const struct platform *p, const char *device)
{
	size_t length = p->device ? strlen(p->device) : 0;
	if (platforms_of(p->engine) == 1 || length == 0)
		return true;
	return strncmp(device, p->device, length) == 0 && (device[length] == '\0' || device[length] == '.');
}

static json_t *platform_json(const struct platform *p, json_t *probe)
{
	json_t *devices = json_array(), *features = json_object(), *device;
	const char *reason = p->absent;
	size_t i;

	if (probe) {
		reason = json_string_value(json_object_get(probe, "reason"));
		json_array_foreach(json_object_get(probe, "devices"), i, device)
		{
			const char *name = json_string_value(json_object_get(device, "name"));
			if (name && is_device_of(p, name))
				json_array_append(devices, device);
		}
		json_object_set(features, "engine_version", json_object_get(probe, "version"));
		json_object_set(features, "library", json_object_get(probe, "library"));
	}
	bool available = json_array_size(devices) > 0;
	if (!available && !reason)
		reason = "the engine lists no device for it";
	if (p->engine)
		json_object_set_new(features, "default_options", p->options ? json_string(p->options) : json_null());
	return json_pack("{s:s, s:b, s:o, s:o?, s:s?, s:s?, s:o}", "name", p->name, "available", available, "reason",
		available ? json_null() : json_string(reason), "devices", devices, "engine", p->engine, "summary", p->summary,
		"features", features);
}

json_t *detect_platforms(void)
{
	struct probe probes[16] = { 0 };
	size_t count = 0;
	json_t *out = json_array();

	for (size_t i = 0; i < backend_count() && count < sizeof probes / sizeof *probes; i++) {
		if (!is_wanted(backend_get(i)->name))
			continue;
		struct probe *p = &probes[count++];
		p->backend = backend_get(i);
		p->threaded = pthread_create(&p->thread, NULL, probe_thread, p) == 0;
		if (!p->threaded)
			probe_thread(p);
	}
	for (size_t i = 0; i < count; i++)
		if (probes[i].threaded)
			pthread_join(probes[i].thread, NULL);
	for (size_t i = 0; i < platform_count(); i++) {
		const struct platform *p = platform_get(i);
		json_t *answer = NULL;
		for (size_t k = 0; k < count; k++)
			if (text_is(probes[k].backend->name, p->engine))
				answer = probes[k].answer;
		if (is_listed(p))
			json_array_append_new(out, platform_json(p, answer));
	}
	for (size_t i = 0; i < count; i++)
		json_decref(probes[i].answer);
	return out;
}

json_t *detect_all(void)
{
	struct arena a = { 0 };
	struct machine machine;
	machine_detect(&machine, &a);
	json_t *out = json_pack("{s:o, s:o}", "machine", machine_json(&machine), "platforms", detect_platforms());
	arena_done(&a);
	return out;
}
