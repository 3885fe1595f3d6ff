// SPDX-License-Identifier: Apache-2.0
// What WebGPU and WebNN stand on: the Vulkan loader, its drivers and adapters, and the browsers that are installed. No browser is
// started: a version is read from the files that come with it. What a browser's own adapter can do is asked by the browser
// engine.
#include "platform/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/vulkan.h"

json_t *ask_vulkan(void)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct vulkan_adapter *adapters;
	json_t *out = json_object(), *list = json_array();
	size_t count = 0;

	if (vulkan_adapters(&a, &adapters, &count, &err))
		json_object_set_new(out, "error", json_string(err.text));
	for (size_t i = 0; i < count; i++) {
		const struct vulkan_adapter *v = &adapters[i];
		json_t *one = json_pack("{s:s, s:s, s:b, s:s}", "name", v->name, "type", v->type, "software", (int)v->software,
			"api_version", v->api_version);

		facts_text(one, "driver", v->driver);
		json_object_set_new(one, "id", json_sprintf("%04x:%04x", v->vendor_id, v->device_id));
		facts_number(one, "memory_bytes", (int64_t)v->local_bytes);
		if (v->float16 >= 0)
			json_object_set_new(one, "shader_float16", json_boolean(v->float16));
		if (v->int8 >= 0)
			json_object_set_new(one, "shader_int8", json_boolean(v->int8));
		json_array_append_new(list, one);
	}
	json_object_set_new(out, "adapters", list);
	arena_done(&a);
	return out;
}

// ---- browsers -----------------------------------------------------------------------------------------------------------

struct browser {
	const char *kind;           // "chromium", "firefox"
	const char *name, *package; // program; Debian's package
	const char *folder;         // where its files lie: NULL when that says nothing
};

static const struct browser browsers[] = {
	{ "chromium", "chromium", "chromium", "/usr/lib/chromium" },
	{ "chromium", "chromium-browser", "chromium-browser", "/usr/lib/chromium-browser" },
	{ "chromium", "google-chrome-stable", "google-chrome-stable", "/opt/google/chrome" },
	{ "chromium", "microsoft-edge-stable", "microsoft-edge-stable", "/opt/microsoft/msedge" },
	{ "chromium", "brave-browser", "brave-browser", "/opt/brave.com/brave" },
	{ "firefox", "firefox-esr", "firefox-esr", "/usr/lib/firefox-esr" },
	{ "firefox", "firefox", "firefox", "/usr/lib/firefox" },
};

// The version that dpkg has written down for an installed package, without its revision.
static const char *package_version(const struct sysfs *s, const char *package)
{
	FILE *f = fopen(arena_printf(s->arena, "%s/var/lib/dpkg/status", s->root), "re");
	char *line = NULL, *out = NULL;
	size_t size = 0;
	bool its = false, installed = false;

	while (f && !out && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (text_starts(line, "Package: ")) {
			its = text_is(line + 9, package);
			installed = false;
		} else if (text_starts(line, "Status: ")) {
			installed = text_ends(line, " installed");
		} else if (its && installed && text_starts(line, "Version: ")) {
			char *version = line + 9, *epoch = strchr(version, ':');

			version = epoch ? epoch + 1 : version;
			version[strcspn(version, "-~+")] = 0;
			out = arena_strdup(s->arena, version);
		}
	}
	free(line);
	if (f)
		fclose(f);
	return out;
}

static const char *find_program(const struct sysfs *s, const char *name)
{
	const char *path = *s->root ? "/usr/bin:/snap/bin" : getenv("PATH");

	for (const char *at = path; at && *at;) {
		const size_t n = strcspn(at, ":");
		const char *file = arena_printf(s->arena, "%.*s/%s", (int)n, at, name);

		if (n && sysfs_exists(s, file))
			return file;
		at += n + (at[n] == ':');
	}
	return NULL;
}

static bool has_file(const json_t *found, const char *file)
{
	const json_t *one;
	size_t i;

	json_array_foreach(found, i, one) if (text_is(json_string_value(json_object_get(one, "file")), file)) return true;
	return false;
}

static json_t *find_browsers(const struct sysfs *s)
{
	json_t *out = json_array();

	for (size_t i = 0; i < sizeof browsers / sizeof *browsers; i++) {
		const struct browser *b = &browsers[i];
		const char *path = find_program(s, b->name), *version = package_version(s, b->package);

		// "firefox" is often a link to "firefox-esr".
		char *real = path ? realpath(arena_printf(s->arena, "%s%s", s->root, path), NULL) : NULL;
		const char *file = real ? arena_strdup(s->arena, real) : path;
		free(real);
		if (!path || has_file(out, file))
			continue;
		// Firefox says it in a file beside its program.
		if (!version && text_is(b->kind, "firefox"))
			version = sysfs_value(s, sysfs_text(s, "%s/application.ini", b->folder), "Version");
		// A script of that name that starts the one already found.
		if (!version && json_array_size(out) && !sysfs_exists(s, b->folder))
			continue;
		json_t *one = json_pack("{s:s, s:s, s:s, s:s}", "kind", b->kind, "name", b->name, "path", path, "file", file);
		facts_text(one, "version", version);
		json_array_append_new(out, one);
	}
	return out;
}

static void add_browsers(json_t *out, const struct sysfs *s)
{
	json_t *found = find_browsers(s);

	if (!json_array_size(found))
		facts_finding(out, "no browser is installed: neither Chromium nor Firefox under one of their usual names");
	facts_add(out, "browsers", found);
}

// ---- the two platforms --------------------------------------------------------------------------------------------------

static json_t *manifests(const struct sysfs *s)
{
	struct vulkan_manifest *list;
	const size_t count = vulkan_manifests(s->arena, s->root, &list);
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *one = json_pack(
			"{s:s}", "path", text_starts(list[i].path, s->root) ? list[i].path + strlen(s->root) : list[i].path);

		facts_text(one, "library", list[i].library);
		facts_text(one, "api_version", list[i].api_version);
		if (!list[i].library)
			facts_text(one, "error", "it cannot be read, or names no library");
		json_array_append_new(out, one);
	}
	return out;
}

json_t *facts_webgpu(const struct facts_source *source)
{
	static const char *const variables[] = { "VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES",
		"VK_LOADER_DRIVERS_SELECT", NULL };
	const struct sysfs *s = &source->files;
	json_t *out = json_object(), *vulkan = json_deep_copy(json_object_get(source->drivers, "vulkan"));
	const json_t *adapters = json_object_get(vulkan, "adapters"), *one;
	const char *failed = json_string_value(json_object_get(vulkan, "error"));
	size_t i, hardware = 0;

	json_array_foreach(adapters, i, one) hardware += !json_is_true(json_object_get(one, "software"));
	if (failed)
		facts_finding(out, "Vulkan: %s", failed);
	else if (json_array_size(adapters) && !hardware)
		facts_finding(out, "every Vulkan adapter is software (%s): right answers, meaningless speed",
			json_string_value(json_object_get(json_array_get(adapters, 0), "name")));
	facts_environment(out, variables);
	facts_add(out, "vulkan_drivers", manifests(s));
	facts_add(out, "vulkan", vulkan);
	add_browsers(out, s);
	return out;
}

json_t *facts_webnn(const struct facts_source *source)
{
	json_t *out = json_object();

	add_browsers(out, &source->files);
	return out;
}
