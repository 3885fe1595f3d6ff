// SPDX-License-Identifier: Apache-2.0
// Parts of a pipeline that run on platforms of their own: as a request says it, and which graph is of which part.
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "pipeline/inside.h"

enum { NAMES_MOST = 2 * PIPELINE_PARTS_MOST + PIPELINE_GRAPHS_MOST };

// ---- a request ----------------------------------------------------------------------------------------------------------

static json_t *place_json(const struct target *t, const char *part)
{
	return json_pack("{s:s*, s:s, s:s?, s:s?}", "part", part, "platform", t->platform->name, "device", t->device, "options",
		t->options);
}

json_t *pipeline_target_json(const struct target *t)
{
	json_t *out = place_json(t, NULL), *parts = json_array();
	int bad = 0;

	for (size_t i = 0; i < t->part_count; i++)
		bad |= json_array_append_new(parts, place_json(t->parts[i].target, t->parts[i].name));
	bad |= json_object_set_new(out, "parts", parts);
	if (!bad)
		return out;
	json_decref(out);
	return NULL;
}

static bool is_emulated(const struct target *t, const struct device_list *devices)
{
	for (size_t i = 0; i < devices->count; i++)
		if (text_is(devices->items[i].provider, t->route->provider) && text_is(devices->items[i].name, t->device))
			return devices->items[i].emulated;
	return false;
}

static enum status read_place(struct target *t, const json_t *o, struct device_list *devices, struct error *err)
{
	const char *name = json_string_value(json_object_get(o, "platform"));
	enum status st;

	*t = (struct target){ .platform = name ? platform_find(name) : NULL,
		.device = json_string_value(json_object_get(o, "device")),
		.options = json_string_value(json_object_get(o, "options")) };
	t->route = t->platform ? platform_route(t->platform, t->device) : NULL;
	if (!t->route || !route_backend(t->route))
		return error_set(err, STATUS_BAD_INPUT, "the request names no platform or no device of it");
	if ((st = backend_devices(route_backend(t->route), route_provider(t->route)->build, devices, err)))
		return st;
	if (!t->device || !*t->device)
		t->device = t->route->device;
	t->emulated = is_emulated(t, devices);
	return STATUS_OK;
}

enum status pipeline_target_read(
	struct target *out, struct arena *a, const json_t *o, struct device_list *devices, struct error *err)
{
	const json_t *list = json_object_get(o, "parts"), *one;
	struct target_part *parts = ARENA_ARRAY(a, json_array_size(list) + 1, struct target_part);
	enum status st = read_place(out, o, devices, err);
	size_t i;

	json_array_foreach(list, i, one)
	{
		struct device_list own = { .arena = a };

		if (st)
			break;
		parts[i].name = json_string_value(json_object_get(one, "part"));
		parts[i].target = ARENA_NEW(a, struct target);
		if (!parts[i].name)
			st = error_set(err, STATUS_BAD_INPUT, "the request has a part without a name");
		else if ((st = read_place(parts[i].target, one, &own, err)))
			st = error_prefix(err, "the part %s on %s", parts[i].name,
				parts[i].target->platform ? parts[i].target->platform->name : "no platform");
	}
	out->parts = parts;
	out->part_count = st ? 0 : i;
	return st;
}

// ---- which part a graph is of -------------------------------------------------------------------------------------------

static const char *name_of_file(struct arena *a, const char *file)
{
	static const char *const begins[] = { "encoder", "decoder", "model" };

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (text_starts(file, begins[i]))
			return begins[i];
	return arena_strndup(a, file, strcspn(file, "."));
}

static const char *name_of(const struct part *m, const struct arch_graph *which)
{
	return text_is(m->name, ".") ? name_of_file(m->p->arena, which->file) : m->name;
}

const struct target *part_target(const struct part *m, const struct arch_graph *which)
{
	const struct target *t = m->p->target; // NULL: only a prompt is made

	for (size_t i = 0; t && i < t->part_count; i++)
		if (text_is(name_of(m, which), t->parts[i].name))
			return t->parts[i].target;
	return t;
}

// ---- which parts there are ----------------------------------------------------------------------------------------------

struct names {
	const char *items[NAMES_MOST];
	size_t count;
};

static void add_name(struct names *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++)
		if (text_is(n->items[i], name))
			return;
	if (n->count < NAMES_MOST)
		n->items[n->count++] = name;
}

// The graphs that the task runs of the model: those of a loop that writes a text, and the whole where that says the language of a
// speech first; those of a spectrogram, and the vocoder; else the whole.
static void add_model(struct names *n, const struct part *m)
{
	const struct pipeline_task *task = m->p->task;
	const struct arch_graph *loop[ARCH_STEPS_MOST] = { &arch_whole }, *g;
	size_t count = 1;

	if (!text_is(m->name, ".")) {
		add_name(n, m->name);
		return;
	}
	if (task->run == task_text_to_audio && part_graph_named(m, "decoder_postnet.onnx")) {
		for (size_t i = 1; (g = arch_graph_at(m->spec, i)); i++)
			add_name(n, name_of(m, g));
		add_name(n, "vocoder");
		return;
	}
	if (words_have(task->options, "max_new_tokens"))
		count = arch_graphs_of_loop(m->spec, loop);
	for (size_t i = 0; i < count; i++)
		add_name(n, name_of(m, loop[i]));
	if (task->run == task_automatic_speech_recognition)
		add_name(n, name_of(m, &arch_whole));
}

enum status parts_known(const struct pipeline *p, const char *const *names, size_t count, struct error *err)
{
	const struct target *t = p->target;
	const char *all = NULL;

	for (size_t i = 0; i < count; i++)
		all = arena_join(p->arena, all, ", ", names[i]);
	for (size_t i = 0; t && i < t->part_count; i++) {
		size_t k = 0;

		while (k < count && !text_is(names[k], t->parts[i].name))
			k++;
		if (k == count)
			return error_set(err, STATUS_BAD_INPUT, "--on: %s of this model has no part %s; it has %s", p->task->name,
				t->parts[i].name, all);
	}
	return STATUS_OK;
}

enum status parts_known_of(struct part *const *models, size_t count, struct error *err)
{
	struct names n = { .count = 0 };

	for (size_t i = 0; i < count; i++)
		add_model(&n, models[i]);
	return parts_known(models[0]->p, n.items, n.count, err);
}
