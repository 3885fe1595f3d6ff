// SPDX-License-Identifier: Apache-2.0
// What can be asked for on this machine: the platforms, each with the devices of its routes or the reasons why there are none.
// Every build of an engine is loaded in a probe child of its own, all at the same time; never in this process.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cause.h"
#include "plan/plan.h"
#include "platform/bandwidth.h"
#include "platform/facts.h"
#include "run/cell.h"

enum { PROBES_MOST = 32, DRIVERS_MOST = 8 };

struct probe {
	const struct backend *backend;
	const char *build;
	const struct probe_limits *limits;
	pthread_t thread;
	bool threaded;
	json_t *answer;
};

struct asked_driver {
	const char *name;
	const struct probe_limits *limits;
	pthread_t thread;
	bool threaded;
	json_t *answer;
};

struct probes {
	struct probe of[PROBES_MOST];
	size_t count;
	struct asked_driver drivers[DRIVERS_MOST];
	size_t driver_count;
};

// Which platforms are wanted: all, those named, or what some targets and their fallbacks need. For targets a route is asked only
// where it could serve: the chosen one, else the first that has a device. A question about the processor does not wait for
// browsers.
struct wanted {
	const char *const *names;
	size_t count;
	const struct target *targets;
	size_t target_count;
	bool fallback;
	const struct probe_limits *limits; // of each probe; may be NULL
};

static bool wants_for(const struct wanted *w, const struct target *t, const struct platform *p)
{
	if (t->platform == p)
		return true;
	for (size_t i = 0; w->fallback && t->platform->fallback[i]; i++)
		if (text_is(t->platform->fallback[i], p->name))
			return true;
	return false;
}

static bool wants(const struct wanted *w, const struct platform *p)
{
	bool named = false;

	for (size_t i = 0; i < w->count; i++)
		named = named || text_is(w->names[i], p->name);
	for (size_t i = 0; i < w->target_count; i++)
		named = named || (wants_for(w, &w->targets[i], p) && !platform_is_software(p));
	return w->count || w->target_count ? named : !platform_is_software(p);
}

// In the first wave the chosen and the first routes, in the second the others of platforms that have no device by then.
static bool wants_route(const struct wanted *w, const struct platform *p, const struct route *r, bool served)
{
	bool open = !w->target_count;

	for (size_t i = 0; i < w->target_count; i++) {
		if (w->targets[i].platform == p && w->targets[i].chosen && w->targets[i].route == r)
			return true;
		open = open || (wants_for(w, &w->targets[i], p) && !(w->targets[i].platform == p && w->targets[i].chosen));
	}
	return open && (!w->target_count || r == p->routes || !served);
}

static void *probe_thread(void *context)
{
	struct probe *p = context;
	p->answer = cell_probe(p->backend, p->build, p->limits);
	return NULL;
}

static void *driver_thread(void *context)
{
	struct asked_driver *d = context;
	d->answer = cell_driver(d->name, d->limits);
	return NULL;
}

static struct probe *find_probe(struct probes *all, const struct route *r)
{
	for (size_t i = 0; i < all->count; i++)
		if (text_is(all->of[i].backend->name, r->engine) && text_is(all->of[i].build, route_provider(r)->build))
			return &all->of[i];
	return NULL;
}

static size_t add_devices(json_t *devices, const struct platform *p, const struct route *r, const json_t *probe);

// Whether some route that was asked has a device. Before any was asked, that is not known: then only first routes are wanted.
static bool is_served(struct probes *all, const struct platform *p, bool first_wave)
{
	json_t *devices = json_array();

	for (const struct route *r = p->routes; r->engine; r++) {
		const struct probe *probe = find_probe(all, r);
		if (probe)
			add_devices(devices, p, r, probe->answer);
	}
	bool served = first_wave || json_array_size(devices) > 0;
	json_decref(devices);
	return served;
}

static void probe_routes(struct probes *all, const struct wanted *wanted, bool first_wave)
{
	size_t begin = all->count;

	for (size_t i = 0; i < platform_count(); i++) {
		const struct platform *p = platform_get(i);
		if (!wants(wanted, p))
			continue;
		bool served = is_served(all, p, first_wave);
		for (const struct route *r = p->routes; r->engine; r++) {
			if (!wants_route(wanted, p, r, served) || find_probe(all, r) || all->count == PROBES_MOST)
				continue;
			struct probe *probe = &all->of[all->count++];
			probe->backend = route_backend(r);
			probe->build = route_provider(r)->build;
			probe->limits = wanted->limits;
			probe->threaded = pthread_create(&probe->thread, NULL, probe_thread, probe) == 0;
			if (!probe->threaded)
				probe_thread(probe);
		}
	}
	for (size_t i = begin; i < all->count; i++)
		if (all->of[i].threaded)
			pthread_join(all->of[i].thread, NULL);
}

static void probe_all(struct probes *all, const struct wanted *wanted)
{
	for (size_t i = 0; driver_name(i) && all->driver_count < DRIVERS_MOST; i++) {
		if (!wants(wanted, platform_find(driver_platform(i))))
			continue;
		struct asked_driver *d = &all->drivers[all->driver_count++];
		d->name = driver_name(i);
		d->limits = wanted->limits;
		d->threaded = pthread_create(&d->thread, NULL, driver_thread, d) == 0;
		if (!d->threaded)
			driver_thread(d);
	}
	probe_routes(all, wanted, true);
	if (wanted->target_count)
		probe_routes(all, wanted, false);
	for (size_t i = 0; i < all->driver_count; i++)
		if (all->drivers[i].threaded)
			pthread_join(all->drivers[i].thread, NULL);
}

// The devices that a route adds: those of its provider whose word it has.
static size_t add_devices(json_t *devices, const struct platform *p, const struct route *r, const json_t *probe)
{
	json_t *device;
	size_t i, added = 0;

	json_array_foreach(json_object_get(probe, "devices"), i, device)
	{
		const char *provider = json_string_value(json_object_get(device, "provider")),
			   *name = json_string_value(json_object_get(device, "name"));
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

	json_array_foreach(json_object_get(probe, "devices"), i,
		d) if (text_is(json_string_value(json_object_get(d, "provider")), r->provider))
		text_addf(&names, "%s%s", names.length ? ", " : "", json_string_value(json_object_get(d, "name")));
	const char *out =
		names.length ? arena_printf(a, "no device %s; %s has %s here", r->device, r->provider, text_get(&names)) : NULL;
	text_done(&names);
	return out;
}

static const char *reason_of(struct arena *a, const struct route *r, const json_t *probe)
{
	const char *own = json_string_value(json_object_get(json_object_get(probe, "absent"), r->provider));
	const char *whole = json_string_value(json_object_get(probe, "reason"));
	// Of the very device ("openvino:NPU"), where the engine tells.
	const char *device = json_string_value(
		json_object_get(json_object_get(probe, "absent"), arena_printf(a, "%s:%s", r->provider, r->device)));
	const char *other = device ? device : other_devices(a, r, probe);
	return own ? own : whole ? whole : other ? other : "the engine lists no device for it";
}

// Why an engine has no device, in its own words, and before them what the hardware and the kernel say about it.
static void put_cause_first(struct text *reason, const json_t *facts)
{
	const char *cause = json_string_value(json_object_get(facts, "cause"));
	struct text whole = { 0 };

	if (!cause || strstr(text_get(reason), cause))
		return;
	text_addf(&whole, "%s; %s", cause, text_get(reason));
	text_done(reason);
	*reason = whole;
}

const char *detect_with_cause(struct arena *a, const struct platform *p, const char *why)
{
	struct machine machine;
	struct text reason = { 0 };
	json_t *facts;

	machine_detect(&machine, a);
	facts = facts_of(p->name, &(struct facts_source){ { a, "" }, NULL, &machine });
	text_add(&reason, why ? why : "");
	put_cause_first(&reason, facts);
	const char *out = arena_strdup(a, text_get(&reason));
	json_decref(facts);
	text_done(&reason);
	return out;
}

// Of a route that has devices: those of its words that the engine names as missing.
static void put_absent_words(json_t *absent, struct arena *a, const struct route *r, const json_t *probe)
{
	const char *provider, *word;
	json_t *why;

	json_object_foreach(json_object_get(probe, "absent"), provider, why)
	{
		word = strchr(provider, ':');
		if (word && (size_t)(word - provider) == strlen(r->provider) &&
			!strncmp(provider, r->provider, strlen(r->provider)))
			json_object_set(absent, arena_strdup(a, word + 1), why);
	}
}

// Of the routes of a platform without a device: the answer that says least wins, since it leaves open what the others deny.
static enum verdict weaker(enum verdict v, enum verdict w)
{
	static const enum verdict order[] = { VERDICT_NOT_ASKED, VERDICT_CRASHED, VERDICT_TIMEOUT, VERDICT_NO_MEMORY };

	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (v == order[i] || w == order[i])
			return order[i];
	return VERDICT_UNAVAILABLE;
}

// Of a route without a device. Its engine may have told of others, and of this one that something was in the way of looking.
static enum verdict absence_of(const struct route *r, const json_t *probe, const char *why)
{
	return cause_status(r->engine, r->provider, why, STATUS_UNAVAILABLE) == STATUS_NOT_ASKED
		? VERDICT_NOT_ASKED
		: verdict_find(json_string_value(json_object_get(probe, "verdict")));
}

static json_t *platform_json(const struct platform *p, struct probes *probes, const struct facts_source *source)
{
	json_t *devices = json_array(), *features = json_object(), *absent = json_object();
	struct text reason = { 0 };
	struct arena a = { 0 };
	const struct route *first = NULL; // the first that has a device; none after one that crashed, hung or was not asked
	enum verdict verdict = VERDICT_UNAVAILABLE;
	size_t routes = 0;

	for (const struct route *r = p->routes; r->engine; r++)
		routes++;
	for (const struct route *r = p->routes; r->engine; r++) {
		const struct probe *probe = find_probe(probes, r);
		if (!probe)
			continue; // not asked, or too many builds
		if (add_devices(devices, p, r, probe->answer)) {
			first = first || verdict != VERDICT_UNAVAILABLE ? first : r;
			if (!first)
				text_addf(&reason, "; %s is here and is asked for by its name, --on %s:%s", r->device, p->name,
					r->device);
			put_absent_words(absent, &a, r, probe->answer);
			continue;
		}
		const char *why = reason_of(&a, r, probe->answer);
		if (!first)
			verdict = weaker(verdict, absence_of(r, probe->answer, why));
		json_object_set_new(absent, r->device, json_string(why));
		text_addf(
			&reason, "%s%s%s%s", reason.length ? "; " : "", routes > 1 ? r->device : "", routes > 1 ? ": " : "", why);
	}
	const struct probe *probe = find_probe(probes, first ? first : p->routes);
	if (first) {
		json_object_set(features, "engine_version", json_object_get(probe->answer, "version"));
		json_object_set(features, "library", json_object_get(probe->answer, "library"));
	}
	json_object_set_new(features, "default_options",
		(first ? first : p->routes)->options ? json_string((first ? first : p->routes)->options) : json_null());
	json_object_set_new(features, "absent_routes", absent);
	json_t *facts = facts_of(p->name, source);
	if (!first && verdict == VERDICT_UNAVAILABLE)
		put_cause_first(&reason, facts);
	json_t *available = !first && verdict == VERDICT_NOT_ASKED ? json_null() : json_boolean(first != NULL);
	json_t *out = json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o}", "name", p->name, "extra",
		(p->flags & PLATFORM_EXTRA) != 0, "available", available, "verdict",
		first ? json_null() : json_string(verdict_word(verdict)), "reason",
		first ? json_null() : json_string(text_get(&reason)), "devices", devices, "engine",
		(first ? first : p->routes)->engine, "summary", p->summary, "features", features, "facts", facts);
	text_done(&reason);
	arena_done(&a);
	return out;
}

static json_t *detect_wanted(const struct wanted *wanted, const struct machine *machine, struct arena *a)
{
	struct probes probes = { 0 };
	json_t *out = json_array(), *drivers = json_object();
	struct facts_source source = { { a, "" }, drivers, machine };

	probe_all(&probes, wanted);
	for (size_t i = 0; i < probes.driver_count; i++)
		json_object_set_new(drivers, probes.drivers[i].name, probes.drivers[i].answer);
	for (int extra = 0; extra < 2; extra++) // the eight first, whatever the table's order
		for (size_t i = 0; i < platform_count(); i++)
			if (wants(wanted, platform_get(i)) && extra == ((platform_get(i)->flags & PLATFORM_EXTRA) != 0))
				json_array_append_new(out, platform_json(platform_get(i), &probes, &source));
	for (size_t i = 0; i < probes.count; i++)
		json_decref(probes.of[i].answer);
	json_decref(drivers);
	return out;
}

json_t *detect_platforms(const struct target *targets, size_t count, bool fallback, const struct probe_limits *l)
{
	struct arena a = { 0 };
	struct machine machine;
	const struct wanted some = { .targets = targets, .target_count = count, .fallback = fallback, .limits = l };
	machine_detect(&machine, &a);
	json_t *out = detect_wanted(&some, &machine, &a), *platform, *device;
	size_t i, k;
	// Each run keeps what was found; every operator that a browser's WebNN takes would be most of the database.
	json_array_foreach(out, i, platform) json_array_foreach(json_object_get(platform, "devices"), k, device)
		json_object_del(device, "facts");
	arena_done(&a);
	return out;
}

json_t *detect_some(const char *const *names, size_t count)
{
	struct arena a = { 0 };
	struct machine machine;
	const struct wanted wanted = { .names = names, .count = count };
	machine_detect(&machine, &a);
	json_t *out =
		json_pack("{s:o, s:o}", "machine", machine_json(&machine), "platforms", detect_wanted(&wanted, &machine, &a));
	arena_done(&a);
	return out;
}

// All caches of the highest level together: level 3 where there is one, each shared by some of the threads.
static int64_t last_level_bytes(const json_t *caches, int threads)
{
	const json_t *one;
	int64_t all = 0;
	size_t i;

	json_array_foreach(caches, i, one)
	{
		const int64_t each = json_integer_value(json_object_get(one, "bytes")),
			      shared = json_integer_value(json_object_get(one, "shared_by_threads"));
		const int64_t sum = each * (shared > 0 ? (threads + shared - 1) / shared : 1);

		all = sum > all ? sum : all;
	}
	return all;
}

static json_t *bandwidth_json(const struct bandwidth *b)
{
	json_t *samples = json_array();

	for (size_t i = 0; i < b->count; i++)
		json_array_append_new(samples, json_real(b->gb_per_s[i]));
	return json_pack("{s:f, s:f, s:f, s:o}", "gb_per_s", b->median, "min", b->min, "max", b->max, "samples", samples);
}

enum status detect_bandwidth(json_t **out, struct error *err)
{
	struct arena a = { 0 };
	struct machine m;
	struct bandwidth *b = calloc(1, sizeof *b);
	machine_detect(&m, &a);
	const struct facts_source source = { { &a, "" }, NULL, &m };
	json_t *facts = facts_cpu(&source);
	int64_t cache = last_level_bytes(json_object_get(facts, "caches"), m.threads);
	cache = cache > m.l3_bytes ? cache : m.l3_bytes;
	// An array four times as large as the caches, as STREAM asks; a quarter of the memory is the most that is taken.
	const uint64_t wanted = cache > 0 ? 4 * (uint64_t)cache : 64 << 20, most = (uint64_t)m.memory_available_bytes / 4 / 3;
	const uint64_t each = wanted < (16 << 20) ? 16 << 20 : wanted;
	const uint64_t array = most && each > most ? most : each;
	json_t *json = json_pack("{s:i, s:I, s:I, s:b}", "threads", m.usable_cpus, "array_bytes", (json_int_t)array,
		"cache_bytes", (json_int_t)cache, "cache_known", cache > 0);
	enum status st = b ? bandwidth_measure(b, BANDWIDTH_TRIAD, m.usable_cpus, 3 * array, 2, err)
			   : error_set(err, STATUS_NO_MEMORY, "no memory");
	if (!st)
		json_object_set_new(json, "triad", bandwidth_json(b));
	if (!st)
		st = bandwidth_measure(b, BANDWIDTH_READ, m.usable_cpus, array, 1, err);
	if (!st)
		json_object_set_new(json, "read", bandwidth_json(b));
	if (st)
		json_decref(json);
	else
		*out = json;
	json_decref(facts);
	free(b);
	arena_done(&a);
	return st;
}

json_t *detect_all(void)
{
	return detect_some(NULL, 0);
}
