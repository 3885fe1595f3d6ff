// SPDX-License-Identifier: Apache-2.0
// What execution providers of GPU vendors have in common: their libraries are opened in the order and the way that ONNX Runtime
// needs, and everything that is missing is named at once, where the loader would name one a try. Also their options and the
// choice of a GPU. A library that is open satisfies every later DT_NEEDED of its soname, RTLD_LOCAL or not.
#include "backend/ort_vendor.h"

#include <dlfcn.h>
#include <string.h>

#include "base/file.h"

// ---- libraries ----------------------------------------------------------------------------------------------------------

void *vendor_open(struct arena *a, const struct vendor *v, const char *soname, const char **why)
{
	const char *patterns[] = { arena_printf(a, "*/lib/%s", soname), soname }, *path;
	struct error unread[2];
	enum status st[2];
	void *handle;

	for (size_t i = 0; i < 2; i++) {
		st[i] = library_find(a, v->folder ? v->folder : "vendor", patterns[i], &path, &unread[i]);
		if (path) // also where it cannot be opened: another copy would answer for this one
			return library_load(a, path, RTLD_NOW, why);
	}
	if ((handle = library_load(a, soname, RTLD_NOW, why)))
		return handle;
	for (const char *const *place = v->places; place && *place; place++) {
		path = arena_printf(a, "%s/%s", *place, soname);
		if (file_exists(path))
			return library_load(a, path, RTLD_NOW, why);
	}
	for (size_t i = 0; i < 2; i++)
		if (st[i] == STATUS_NOT_ASKED) // it may lie there
			*why = arena_strdup(a, unread[i].text);
	return NULL;
}

bool vendor_find(void *handle, const char *name, void *function)
{
	void *address = handle ? dlsym(handle, name) : NULL;

	memcpy(function, &address, sizeof address);
	return address != NULL;
}

// "libcudart.so.12" where libcudart.so.13 is wanted; NULL: no version of it.
static const char *other_version(struct arena *a, const struct vendor *v, const char *soname)
{
	const char *so = strstr(soname, ".so."), *path;
	const char *stem = arena_strndup(a, soname, so ? (size_t)(so - soname) : strlen(soname));
	const char *patterns[] = { arena_printf(a, "*/lib/%s.so.[0-9]*", stem), arena_printf(a, "%s.so.[0-9]*", stem) };
	struct error ignored;

	for (size_t i = 0; i < 2; i++)
		if (!library_find(a, v->folder ? v->folder : "vendor", patterns[i], &path, &ignored))
			return strrchr(path, '/') + 1;
	return NULL;
}

static void add_missing(struct text *out, struct arena *a, const struct vendor *v, const char *soname, const char *why)
{
	const char *other = other_version(a, v, soname);

	text_addf(out, "%s%s", out->length ? ", " : "", soname);
	if (why && !strstr(why, "No such file"))
		text_addf(out, " (%s)", why);
	else if (other)
		text_addf(out, " (%s is here)", other);
}

static enum status load_provider(const struct ort_library *l, const struct vendor *v, const char *file, struct error *err)
{
	struct error why = { 0 };

	if (ort_check(l->api, v->load(l->api), "loading the provider", &why))
		return error_set(err, STATUS_UNAVAILABLE, "%s cannot be used by ONNX Runtime %s: %s; %s", file, l->text, why.text,
			v->remedy);
	return STATUS_OK;
}

enum status vendor_load(const struct ort_library *l, struct arena *a, const struct vendor *v, const char *driver,
	const char **without, struct error *err)
{
	const char *file = arena_printf(a, "%.*s/%s", (int)(strrchr(l->path, '/') - l->path), l->path, v->file);
	struct text missing = { 0 }, late = { 0 };
	enum status st = STATUS_OK;

	*without = NULL;
	if (!file_exists(file))
		return error_set(err, STATUS_UNAVAILABLE, "%s is not there; %s", file, v->setup);
	for (const struct vendor_library *n = v->needs; n->soname; n++) {
		const char *why;

		if (vendor_open(a, v, n->soname, &why))
			continue;
		if (!n->what_for)
			add_missing(&missing, a, v, n->soname, why);
		else
			text_addf(&late, "%s%s (%s)", late.length ? ", " : "", n->soname, n->what_for);
	}
	if (driver || missing.length)
		st = error_set(err, STATUS_UNAVAILABLE, "%s%s%s%s%s%s; %s", driver ? driver : "",
			driver && missing.length ? "; " : "", missing.length ? "missing: " : "", text_get(&missing),
			missing.length && late.length ? "; missing too: " : "",
			missing.length && late.length ? text_get(&late) : "", v->remedy);
	else
		st = load_provider(l, v, file, err);
	if (late.length)
		*without = arena_strdup(a, text_get(&late));
	text_done(&missing);
	text_done(&late);
	return st;
}

// ---- GPUs ---------------------------------------------------------------------------------------------------------------

enum status gpu_choose(struct session *s, const struct gpu_list *l, const char *what, int64_t *index, struct error *err)
{
	struct text known = { 0 };
	enum status st;

	if (!s->device)
		s->device = "0";
	if (text_to_int(s->device, 0, INT32_MAX, index) && *index < (int64_t)l->count)
		return STATUS_OK;
	for (size_t i = 0; i < l->count; i++)
		text_addf(&known, "%s%zu (%s)", i ? ", " : "", i, l->items[i].name);
	st = error_set(err, STATUS_UNAVAILABLE, "no device %s; %s devices here: %s", s->device, what,
		known.length ? text_get(&known) : "none");
	text_done(&known);
	return st;
}

enum status gpu_add_all(
	const struct gpu_list *l, const char *provider, const char *without, struct device_list *out, struct error *err)
{
	if (!l->count)
		return error_set(err, STATUS_UNAVAILABLE, "%s", l->missing ? l->missing : "the driver lists no GPU");
	for (size_t i = 0; i < l->count; i++) {
		const struct gpu *g = &l->items[i];

		device_add(out,
			&(struct device){
				.provider = provider,
				.name = arena_printf(out->arena, "%zu", i),
				.description = g->name,
				.features = arena_printf(out->arena, "%.0f MiB%s%s%s%s%s%s", (double)g->memory_bytes / 1048576.0,
					g->features ? ", " : "", g->features ? g->features : "", l->driver ? ", driver " : "",
					l->driver ? l->driver : "", without ? ", without " : "", without ? without : ""),
			});
	}
	return STATUS_OK;
}

enum status gpu_devices(const struct gpu_list *l, const struct vendor *v, const struct provider *p,
	const struct ort_library *library, struct device_list *out, struct error *err)
{
	const char *without;
	enum status st = vendor_load(library, out->arena, v, l->missing, &without, err);

	return st ? st : gpu_add_all(l, p->name, without, out, err);
}

// ---- options ------------------------------------------------------------------------------------------------------------

void ep_option(struct ep_options *o, const char *key, const char *text)
{
	if (o->count == sizeof o->keys / sizeof *o->keys)
		return;
	o->keys[o->count] = key;
	o->values[o->count++] = text;
}

enum status ep_option_bool(struct session *s, struct ep_options *o, const char *option, const char *key, struct error *err)
{
	bool on = false;
	enum status st = session_option_bool(s, option, &on, err);

	if (!st)
		ep_option(o, key, on ? "1" : "0");
	return st;
}

enum status ep_option_bytes(struct session *s, struct ep_options *o, const char *option, const char *key, struct error *err)
{
	static const char units[] = "kmgt";
	const char *text = session_option(s, option), *unit;
	size_t n = text ? strlen(text) : 0;
	int64_t bytes;
	int shift = 0;

	if (!text)
		return STATUS_OK;
	if (n && (unit = strchr(units, text[n - 1] | 0x20)) && *unit) {
		shift = 10 * (int)(unit - units + 1);
		n--;
	}
	if (!text_to_int(arena_strndup(&s->arena, text, n), 1, INT64_MAX >> shift, &bytes))
		return error_set(
			err, STATUS_BAD_INPUT, "option %s is \"%s\"; it takes bytes: 2147483648, 512m, 2g", option, text);
	ep_option(o, key, arena_printf(&s->arena, "%lld", (long long)bytes << shift));
	return STATUS_OK;
}

enum status ep_option_choice(struct session *s, struct ep_options *o, const char *option, const char *key,
	const char *const *words, const char *const *values, size_t count, struct error *err)
{
	size_t chosen = 0;
	enum status st = session_option_word(s, option, words, count, &chosen, err);

	if (!st) {
		session_set_option(s, option, words[chosen]);
		ep_option(o, key, values[chosen]);
	}
	return st;
}

enum status ep_append(struct session *s, OrtSessionOptions *so, const char *name, const struct ep_options *o, struct error *err)
{
	const OrtApi *api = ((struct ort *)s->state)->library.api;

	return ort_check(api, api->SessionOptionsAppendExecutionProvider(so, name, o->keys, o->values, o->count), name, err);
}
