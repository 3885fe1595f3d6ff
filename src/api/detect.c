// SPDX-License-Identifier: Apache-2.0
// What can be asked for on this machine: the platforms, each with the devices of its routes or the reasons why there are none.
// Every build of an engine is loaded in a probe child of its own, all at the same time; never in this process.
#include <pthread.h>
#include <string.h>

#include "api/plan.h"

enum { PROBES_MOST = 32 };

struct probe {
	const struct backend *backend;
	const char *build;
	pthread_t thread;
	bool threaded;
	json_t *answer;
};

struct probes {
	struct probe of[PROBES_MOST];
	size_t count;
};

static void *probe_thread(void *context)
{
	struct probe *p = context;
	p->answer = cell_probe(p->backend, p->build);
	return NULL;
}

static struct probe *find_probe(struct probes *all, const struct route *r)
{
	for (size_t i = 0; i < all->count; i++)
		if (text_is(all->of[i].backend->name, r->engine) && text_is(all->of[i].build, route_provider(r)->build))
			return &all->of[i];
	return NULL;
}

static void probe_all(struct probes *all)
{
	for (size_t i = 0; i < platform_count(); i++) {
		for (const struct route *r = platform_get(i)->routes; r->engine && !platform_is_software(platform_get(i)); r++) {
			if (find_probe(all, r) || all->count == PROBES_MOST)
				continue;
			struct probe *p = &all->of[all->count++];
			p->backend = route_backend(r);
			p->build = route_provider(r)->build;
			p->threaded = pthread_create(&p->thread, NULL, probe_thread, p) == 0;
			if (!p->threaded)
				probe_thread(p);
		}
	}
	for (size_t i = 0; i < all->count; i++)
		if (all->of[i].threaded)
			pthread_join(all->of[i].thread, NULL);
}

// The devices that a route adds: those of its provider whose word it has.
static size_t add_devices(json_t *devices, const struct platform *p, const struct route *r, const json_t *probe)
{
	json_t *device;
	size_t i, added = 0;

	json_array_foreach(json_object_get(probe, "devices"), i, device)
	{
		const char *provider = json_string_value(json_object_get(device, "provider")), *name = json_string_value(json_object_get(device, "name"));
		if (!text_is(provider, r->provider) || !name || platform_route(p, name) != r)
			continue;
		json_t *own = json_copy(device);
		json_object_set_new(own, "engine", json_string(r->engine));
		json_object_set(own, "engine_version", json_object_get(probe, "version"));
		json_object_set(own, "library", json_object_get(probe, "library"));
		json_array_append_new(devices, own);
		added++;
	}
	return added;
}

// The provider is here, but not what this route wants of it: an NPU, say.
static const char *other_devices(struct arena *a, const struct route *r, const json_t *probe)
{
	struct text names = { 0 };
	const json_t *d;
	size_t i;

	json_array_foreach(json_object_get(probe, "devices"), i, d)
		if (text_is(json_string_value(json_object_get(d, "provider")), r->provider))
			text_addf(&names, "%s%s", names.length ? ", " : "", json_string_value(json_object_get(d, "name")));
	const char *out = names.length ? arena_printf(a, "no device %s; %s has %s here", r->device, r->provider, text_get(&names)) : NULL;
	text_done(&names);
	return out;
}

static const char *reason_of(struct arena *a, const struct route *r, const json_t *probe)
{
	const char *own = json_string_value(json_object_get(json_object_get(probe, "absent"), r->provider));
	const char *whole = json_string_value(json_object_get(probe, "reason"));
	const char *other = other_devices(a, r, probe);
	return own ? own : whole ? whole : other ? other : "the engine lists no device for it";
}

static json_t *platform_json(const struct platform *p, struct probes *probes)
{
	json_t *devices = json_array(), *features = json_object(), *absent = json_object();
	struct text reason = { 0 };
	struct arena a = { 0 };
	const struct route *first = NULL;                    // the first that has a device
	size_t routes = 0;

	for (const struct route *r = p->routes; r->engine; r++)
		routes++;
	for (const struct route *r = p->routes; r->engine; r++) {
		const struct probe *probe = find_probe(probes, r);
		if (add_devices(devices, p, r, probe ? probe->answer : NULL)) {
			first = first ? first : r;
			continue;
		}
		const char *why = reason_of(&a, r, probe ? probe->answer : NULL);
		json_object_set_new(absent, r->device, json_string(why));
		text_addf(&reason, "%s%s%s%s", reason.length ? "; " : "", routes > 1 ? r->device : "", routes > 1 ? ": " : "", why);
	}
	const struct probe *probe = find_probe(probes, first ? first : p->routes);
	if (first) {
		json_object_set(features, "engine_version", json_object_get(probe->answer, "version"));
		json_object_set(features, "library", json_object_get(probe->answer, "library"));
	}
	json_object_set_new(features, "default_options", (first ? first : p->routes)->options ? json_string((first ? first : p->routes)->options) : json_null());
	json_object_set_new(features, "absent_routes", absent);
	json_t *out = json_pack("{s:s, s:b, s:b, s:o, s:o, s:s, s:s, s:o}", "name", p->name, "extra", (p->flags & PLATFORM_EXTRA) != 0, "available",
		first != NULL, "reason",
		first ? json_null() : json_string(text_get(&reason)), "devices", devices, "engine", (first ? first : p->routes)->engine, "summary", p->summary,
		"features", features);
	text_done(&reason);
	arena_done(&a);
	return out;
}

json_t *detect_platforms(void)
{
	struct probes probes = { 0 };
	json_t *out = json_array();

	probe_all(&probes);
	for (int extra = 0; extra < 2; extra++)                  // the eight first, whatever the table's order
		for (size_t i = 0; i < platform_count(); i++)
			if (!platform_is_software(platform_get(i)) && extra == ((platform_get(i)->flags & PLATFORM_EXTRA) != 0))
				json_array_append_new(out, platform_json(platform_get(i), &probes));
	for (size_t i = 0; i < probes.count; i++)
		json_decref(probes.of[i].answer);
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
