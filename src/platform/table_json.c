// SPDX-License-Identifier: Apache-2.0
// The platform table as data: what `assay platforms` prints and docs/PLATFORMS.md is made from. What the program knows before it
// looks at a machine; what is here on one is detect's.
#include <string.h>

#include "platform/platform.h"

#include "base/text.h"

// "CPU GPU" as an array; NULL gives null.
static json_t *words_json(const char *words)
{
	json_t *out = words ? json_array() : json_null();

	for (const char *at = words; at && *at;) {
		size_t n = strcspn(at, " ");

		json_array_append_new(out, json_stringn(at, n));
		at += n + (at[n] == ' ');
	}
	return out;
}

static void add_options(json_t *out, const struct option *options, const char *of)
{
	for (const struct option *o = options; o && o->name; o++)
		json_array_append_new(
			out, json_pack("{s:s, s:s?, s:s, s:s}", "name", o->name, "default", o->value, "help", o->help, "of", of));
}

static json_t *route_json(const struct route *r)
{
	const struct backend *b = route_backend(r);
	const struct provider *p = route_provider(r);
	json_t *options = json_array();

	add_options(options, b->options, b->name);
	if (p->options != b->options)
		add_options(options, p->options, p->name);
	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:s?, s:o}", "engine", r->engine, "provider", p->name, "build", p->build,
		"devices", words_json(r->devices), "device", r->device, "defaults", r->options, "options", options);
}

static json_t *one_json(const struct platform *p)
{
	json_t *routes = json_array(), *fallback = json_array(), *forms = json_array();
	struct arena a = { 0 };
	bool is_static = p->form_count > 0;

	for (const struct route *r = p->routes; r->engine; r++)
		json_array_append_new(routes, route_json(r));
	for (size_t i = 0; i < sizeof p->fallback / sizeof *p->fallback && p->fallback[i]; i++)
		json_array_append_new(fallback, json_string(p->fallback[i]));
	for (size_t i = 0; i < p->form_count; i++) {
		json_array_append_new(forms, json_string(graph_form_text(&a, &p->forms[i])));
		is_static &= p->forms[i].is_static;
	}
	arena_done(&a);
	return json_pack("{s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:b, s:b, s:s?, s:o}", "name", p->name, "summary", p->summary,
		"extra", (p->flags & PLATFORM_EXTRA) != 0, "stand_in", (int)platform_is_stand_in(p), "routes", routes, "fallback",
		fallback, "forms", forms, "fixed_shapes", (int)is_static, "shares_cache", p->cache == CACHE_SHARED, "judged_by",
		p->reference, "environment", words_json(p->environment));
}

json_t *platform_table_json(void)
{
	json_t *out = json_array();

	for (size_t i = 0; i < platform_count(); i++)
		json_array_append_new(out, one_json(platform_get(i)));
	return out;
}
