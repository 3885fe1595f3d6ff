// SPDX-License-Identifier: Apache-2.0
// schedule.h: devices of targets, and who may begin. Starts nothing, waits for nothing.
#include "plan/schedule.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

// ---- devices ------------------------------------------------------------------------------------------------------------

static void set(struct schedule_device *d, enum schedule_kind kind, const char *family, const char *device)
{
	d->kind = kind;
	snprintf(d->name, sizeof d->name, "%s%s%s", family, *family && device ? ":" : "", *family && device ? device : "");
}

static const json_t *device_facts(const struct target *t, const json_t *platforms)
{
	const json_t *p, *d;
	size_t i, k;

	json_array_foreach(platforms, i, p) if (text_is(json_string_value(json_object_get(p, "name")), t->platform->name))
		json_array_foreach(json_object_get(p, "devices"), k,
			d) if (text_is(json_string_value(json_object_get(d, "name")), t->device)) return d;
	return NULL;
}

// Of a provider on a device that is hardware.
static void of_provider(struct schedule_device *out, const char *provider, const char *device, const char *options)
{
	static const struct {
		const char *provider;
		enum schedule_kind kind;
		const char *family;
	} rows[] = {
		{ "cpu", SCHEDULE_PROCESSOR, "" },
		{ "xnnpack", SCHEDULE_PROCESSOR, "" },
		{ "wasm", SCHEDULE_PROCESSOR, "" },
		{ "cuda", SCHEDULE_GPU, "nvidia" },
		{ "tensorrt", SCHEDULE_GPU, "nvidia" },
		{ "tensorrt-rtx", SCHEDULE_GPU, "nvidia" },
		{ "migraphx", SCHEDULE_GPU, "amd" },
		{ "mlx", SCHEDULE_GPU, "" },
		{ "webgpu", SCHEDULE_GPU, "" },
		{ "qnn", SCHEDULE_OTHER, "qnn" },
		{ "null", SCHEDULE_OTHER, "null" },
	};

	set(out, SCHEDULE_ANY, "", NULL);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (text_is(rows[i].provider, provider))
			set(out, rows[i].kind, rows[i].family, device);
	if (text_is(provider, "coreml")) // it may use the GPU beside the neural engine, and says nothing of it
		set(out, SCHEDULE_GPU, "", NULL);
	if (text_is(provider, "webnn") && !(options && (strstr(options, "=gpu") || strstr(options, "=npu"))))
		set(out, SCHEDULE_PROCESSOR, "", NULL);
	if (!text_is(provider, "openvino") || !device)
		return;
	if (text_is(device, "CPU"))
		set(out, SCHEDULE_PROCESSOR, "", NULL);
	else if (text_starts(device, "GPU"))
		set(out, SCHEDULE_GPU, "", NULL); // its numbers are not those of others
	else if (text_starts(device, "NPU"))
		set(out, SCHEDULE_OTHER, "npu", NULL);
}

void schedule_device_of(struct schedule_device *out, const struct target *t, const json_t *platforms)
{
	const json_t *facts = device_facts(t, platforms);

	*out = (struct schedule_device){ .kind = SCHEDULE_NOTHING };
	if (t->absent)
		return;
	// A stand-in has the device of what it stands in for.
	if (platform_is_stand_in(t->platform)) {
		const char *name = t->platform->name;

		of_provider(out,
			text_is(name, "rocm")          ? "migraphx"
				: text_is(name, "mps") ? "coreml"
						       : name,
			text_is(name, "openvino") ? "CPU" : "0", NULL);
		return;
	}
	if (json_is_true(json_object_get(facts, "emulated")) || json_is_true(json_object_get(facts, "compiles_only"))) {
		set(out, SCHEDULE_PROCESSOR, "", NULL);
		return;
	}
	if (text_is(t->route->engine, "browser") && t->device && text_starts(t->device, "remote")) {
		set(out, SCHEDULE_OTHER, "remote", NULL);
		return;
	}
	of_provider(out, t->route->provider, t->device, t->options);
	// A browser that was not asked may have an adapter in software.
	if (out->kind == SCHEDULE_GPU && text_is(t->route->provider, "webgpu") &&
		!json_is_boolean(json_object_get(facts, "emulated")))
		set(out, SCHEDULE_ANY, "", NULL);
}

bool schedule_is_emulated(const struct target *t, const json_t *platforms)
{
	return !t->absent && json_is_true(json_object_get(device_facts(t, platforms), "emulated"));
}

bool schedule_is_same(const struct schedule_device *x, const struct schedule_device *y)
{
	if (x->kind == SCHEDULE_NOTHING || y->kind == SCHEDULE_NOTHING)
		return false;
	if (x->kind == SCHEDULE_ANY || y->kind == SCHEDULE_ANY)
		return true;
	return x->kind == y->kind && (!*x->name || !*y->name || text_is(x->name, y->name));
}

// ---- who may begin --------------------------------------------------------------------------------------------------------

static const struct schedule_device processor = { .kind = SCHEDULE_PROCESSOR };

// Is `device` free of every running line but `own`?
static bool is_free(const struct schedule *s, const struct schedule_device *device, size_t own)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct schedule_line *l = &s->lines[i];

		if (i == own || l->state != SCHEDULE_RUNS)
			continue;
		if (schedule_is_same(device, &l->device) || (l->has_processor && schedule_is_same(device, &processor)))
			return false;
	}
	return true;
}

static bool fits(const struct schedule *s, uint64_t bytes)
{
	uint64_t taken = 0;

	for (size_t i = 0; i < s->count; i++)
		if (s->lines[i].state == SCHEDULE_RUNS)
			taken += s->lines[i].bytes;
	return taken == 0 || bytes == 0 || (taken <= s->room_bytes && bytes <= s->room_bytes - taken);
}

void schedule_ready(struct schedule *s, size_t line, const struct schedule_device *device, uint64_t bytes)
{
	s->lines[line] = (struct schedule_line){ .state = SCHEDULE_READY, .device = *device, .bytes = bytes };
}

size_t schedule_running(const struct schedule *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += s->lines[i].state == SCHEDULE_RUNS;
	return n;
}

static bool is_wanted(const struct schedule *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->lines[i].wants_processor)
			return true;
	return false;
}

size_t schedule_next(struct schedule *s)
{
	if (schedule_running(s) >= s->workers)
		return SIZE_MAX;
	for (size_t i = 0; i < s->count; i++) {
		struct schedule_line *l = &s->lines[i];

		if (l->state != SCHEDULE_READY || !is_free(s, &l->device, i) || !fits(s, l->bytes))
			continue;
		// Who waits with a device in hand goes first.
		if (is_wanted(s) && schedule_is_same(&l->device, &processor))
			continue;
		l->state = SCHEDULE_RUNS;
		return i;
	}
	return SIZE_MAX;
}

void schedule_end(struct schedule *s, size_t line)
{
	s->lines[line] = (struct schedule_line){ .state = SCHEDULE_IDLE };
}

void schedule_want(struct schedule *s, size_t line)
{
	s->lines[line].wants_processor = true;
}

size_t schedule_grant(struct schedule *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct schedule_line *l = &s->lines[i];

		if (!l->wants_processor || !is_free(s, &processor, i))
			continue;
		l->wants_processor = false;
		l->has_processor = true;
		return i;
	}
	return SIZE_MAX;
}
