// SPDX-License-Identifier: Apache-2.0
// What a configuration without a row is most like. Keys are compared with those of each type's default configuration: a key that
// few types have tells more than one that all have (log(types / types that have it), the inverse document frequency of Sparck
// Jones 1972), and the likeness is the weight of what both have by the weight of what either has.
#include "arch/arch.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/dialect.h"
#include "base/json.h"
#include "base/visible.h"
#include "hub/hub.h"

enum { LISTED = 12, LAYERS = 8 };

// Names one after another, the first ones in words and the others counted.
struct listing {
	struct text text;
	size_t count;
};

static void list_add(struct listing *l, struct arena *a, const char *name)
{
	if (l->count++ < LISTED)
		text_addf(&l->text, "%s%.64s", l->count > 1 ? ", " : "", visible_short(a, name));
}

static const char *list_done(struct listing *l, struct arena *a)
{
	const char *out = NULL;

	if (l->count > LISTED)
		text_addf(&l->text, " and %zu more", l->count - LISTED);
	if (l->count)
		out = arena_strdup(a, text_get(&l->text));
	text_done(&l->text);
	return out;
}

// ---- keys ---------------------------------------------------------------------------------------------------------------

static double weight_by(json_int_t types_with, size_t types)
{
	return log((double)(types + 1) / (double)(types_with + 1));
}

// What each key of a default configuration tells, {"hidden_size": 0.12, ..}; the inert ones tell nothing and are left out.
static json_t *weigh_keys(json_t **defaults, size_t types)
{
	json_t *counts = json_object(), *weights = json_object(), *value;
	const char *key;

	for (size_t i = 0; i < types; i++)
		json_object_foreach(defaults[i], key, value)
		{
			json_int_t n = json_integer_value(json_object_get(counts, key));
			json_object_set_new(counts, key, json_integer(n + 1));
		}
	json_object_foreach(counts, key, value) if (!config_is_inert(key))
		json_object_set_new(weights, key, json_real(weight_by(json_integer_value(value), types)));
	json_decref(counts);
	return weights;
}

// 0..1; `given` without its inert keys.
static double likeness(const json_t *given, json_t *known, const json_t *weights, size_t types)
{
	double both = 0, either = 0;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)given, key, value)
	{
		const json_t *weight = json_object_get(weights, key);
		double w = weight ? json_real_value(weight) : weight_by(0, types);
		either += w;
		both += json_object_get(known, key) ? w : 0;
	}
	json_object_foreach(known, key, value) if (!json_object_get(given, key)) either +=
		json_real_value(json_object_get(weights, key));
	return either > 0 ? both / either : 0;
}

// A configuration by itself is rather that of a whole model than of what is a part of others, {"clip_text_model": true, ..}.
#define TOWER_LIKENESS 0.8

static json_t *list_towers(size_t types)
{
	json_t *towers = json_object();

	for (size_t i = 0; i < types; i++) {
		const struct arch *row = arch_find(arch_type_name(i));

		for (int k = 0; k < PARTS_MOST && row->part_types[k].type; k++)
			if (text_starts(row->part_types[k].type, row->model_type)) // and not bert, which others have too
				json_object_set_new(towers, row->part_types[k].type, json_true());
	}
	return towers;
}

// How many of the published models that the program knows are of the type: of two that are as like, the commoner one is meant.
static size_t published_of(const char *type)
{
	size_t n = 0;

	for (size_t i = 0; i < hub_published_count(); i++) {
		const struct hub_published *p = hub_published_get(i);
		json_t *config = NULL;

		if (json_bytes(p->name, p->config, p->config_size, &config, NULL) == STATUS_OK)
			n += text_is(json_string_value(json_object_get(config, "model_type")), type);
		json_decref(config);
	}
	return n;
}

// Sums in another order differ in their last digits.
static bool is_more_alike(double like, const char *type, double most, const char *best)
{
	const double same = 1e-9;

	if (!best || fabs(like - most) > same)
		return like > most;
	return published_of(type) > published_of(best);
}

static const struct arch *most_alike(const json_t *given)
{
	const size_t types = arch_type_count();
	json_t **defaults = calloc(types, sizeof *defaults);
	const char *best = NULL;
	double most = 0;

	if (!defaults)
		abort();
	for (size_t i = 0; i < types; i++)
		defaults[i] = config_defaults(arch_type_name(i));
	json_t *weights = weigh_keys(defaults, types), *towers = list_towers(types);
	for (size_t i = 0; i < types; i++) {
		double like = defaults[i] ? likeness(given, defaults[i], weights, types) : 0;

		if (json_object_get(towers, arch_type_name(i)))
			like *= TOWER_LIKENESS;
		if (like > 0 && is_more_alike(like, arch_type_name(i), most, best)) {
			most = like;
			best = arch_type_name(i);
		}
		json_decref(defaults[i]);
	}
	json_decref(towers);
	json_decref(weights);
	free(defaults);
	return arch_find(best);
}

static bool row_knows(const struct arch *row, json_t *defaults, const char *key)
{
	static const char *const older[] = { "rope_theta", "rope_scaling", "partial_rotary_factor" }; // in "rope_parameters" now

	if (json_object_get(defaults, key))
		return true;
	for (size_t i = 0; json_object_get(defaults, "rope_parameters") && i < sizeof older / sizeof *older; i++)
		if (text_is(older[i], key))
			return true;
	for (const struct key_name *k = row->dialect->keys; k->canonical; k++)
		if (text_is(k->config, key))
			return true;
	return false;
}

static const char *name_parts(const json_t *config, struct arena *a)
{
	const char *key, *out = NULL;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)config, key, value)
	{
		const char *type = json_string_value(json_object_get(value, "model_type"));

		if (type)
			out = arena_join(a, out, "; ",
				arena_printf(a, "%.64s: %.64s, %s", visible_short(a, key), visible_short(a, type),
					arch_find(type) ? "supported" : "not supported"));
	}
	return out;
}

// ---- tensors ------------------------------------------------------------------------------------------------------------

// "model.layers.12.mlp.experts.3.w1.weight" -> "layers.#.mlp.experts.#.w1.weight", where the prefix is "model."
static const char *kind_of(struct arena *a, const char *name, const char *prefix)
{
	char *out = arena_strdup(a, text_starts(name, prefix) ? name + strlen(prefix) : name), *to = out;

	for (const char *from = out; *from;)
		if (isdigit((unsigned char)*from) && (from == out || from[-1] == '.' || from[-1] == '#')) {
			from += strspn(from, "0123456789");
			*to++ = '#';
		} else {
			*to++ = *from++;
		}
	*to = 0;
	return out;
}

static json_t *kinds_of(const struct weight *weights, size_t count, const char *prefix)
{
	json_t *kinds = json_object();

	for (size_t i = 0; i < count; i++) {
		struct arena a = { 0 };

		json_object_set_new(kinds, kind_of(&a, weights[i].name, prefix), json_true());
		arena_done(&a);
	}
	return kinds;
}

// The weights that a model of the row would have with this configuration, but for keys that the row does not know.
static bool plan_like(
	const struct arch *row, const json_t *config, json_t *defaults, struct arena *a, struct weight **out, size_t *count)
{
	struct checkpoint like = { .path = "", .config = json_copy((json_t *)(uintptr_t)config) };
	struct spec *spec;
	struct error unused = { 0 };
	const char *key;
	void *next;
	json_t *value;

	json_object_foreach_safe(like.config, next, key, value) if (!config_is_inert(key) && !row_knows(row, defaults, key))
		json_object_del(like.config, key);
	json_object_set_new(like.config, "model_type", json_string(row->model_type));
	enum status st = arch_resolve(&spec, a, &like, &unused);
	if (st) { // a head that the row has not
		json_object_del(like.config, "architectures");
		st = arch_resolve(&spec, a, &like, &unused);
	}
	if (!st) {
		arch_shorten(spec, LAYERS);
		st = arch_plan_weights(spec, a, DTYPE_F32, out, count, &unused);
	}
	json_decref(like.config);
	return !st;
}

static void compare_tensors(struct arch_likeness *out, const struct arch *row, const struct weight *planned, size_t planned_count,
	const struct checkpoint *c, struct arena *a)
{
	const char *prefix = row->dialect->prefix, *kind;
	json_t *wanted = kinds_of(planned, planned_count, prefix), *there = kinds_of(c->weights, c->weight_count, prefix), *value;
	struct listing unknown = { 0 }, missing = { 0 };

	json_object_foreach(there, kind, value) if (json_object_get(wanted, kind)) out->kinds_shared++;
	else list_add(&unknown, a, kind);
	json_object_foreach(wanted, kind, value) if (!json_object_get(there, kind)) list_add(&missing, a, kind);
	out->kinds = json_object_size(there);
	out->kinds_unknown = list_done(&unknown, a);
	out->kinds_missing = list_done(&missing, a);
	json_decref(wanted);
	json_decref(there);
}

void arch_resemble(struct arch_likeness *out, struct arena *a, const struct checkpoint *c)
{
	json_t *given = json_object(), *value;
	struct listing unknown = { 0 };
	struct weight *planned;
	size_t planned_count;
	const char *key;

	*out = (struct arch_likeness){ .parts = name_parts(c->config, a) };
	json_object_foreach(c->config, key, value) if (!config_is_inert(key)) json_object_set(given, key, value);
	out->keys = json_object_size(given);
	const struct arch *row = most_alike(given);
	if (row) {
		json_t *defaults = config_defaults(row->model_type);

		out->type = row->model_type;
		out->family = row->family->name;
		json_object_foreach(given, key, value) if (row_knows(row, defaults, key)) out->shared++;
		else list_add(&unknown, a, key);
		out->unknown = list_done(&unknown, a);
		if (c->weight_count && plan_like(row, c->config, defaults, a, &planned, &planned_count))
			compare_tensors(out, row, planned, planned_count, c, a);
		json_decref(defaults);
	}
	json_decref(given);
}
