// SPDX-License-Identifier: Apache-2.0
// Which of OpenVINO's devices a word means, and why one is not here. It looks at the libraries and device files that a plugin
// needs, and does not repeat what the plugin does with them.
#include <dlfcn.h>
#include <glob.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "backend/openvino.h"
#include "base/text.h"

// What a plugin needs beside itself, in the order in which it is missed.
static const struct needed {
	const char *device, *soname, *package; // a library, and what brings it
	const char *files, *module;            // a device file (glob), and the kernel module that makes it
} needs[] = {
	{ "GPU", "libOpenCL.so.1", "ocl-icd-libopencl1 and intel-opencl-icd", "/dev/dri/renderD*", "i915 or xe" },
	{ "NPU", "libze_loader.so.1", "Intel's linux-npu-driver (intel-level-zero-npu, level-zero)", "/dev/accel/accel*",
		"intel_vpu" },
};

bool ov_is_meta(const char *device)
{
	return strchr(device, ':') || text_is(device, "AUTO") || text_is(device, "HETERO") || text_is(device, "MULTI");
}

static bool any_file(const char *pattern)
{
	glob_t found;
	bool here = glob(pattern, 0, NULL, &found) == 0;

	if (here)
		globfree(&found);
	return here;
}

// "; it needs libOpenCL.so.1 (packages ...)", or nothing that is known.
static void add_reason(struct text *out, const char *device)
{
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
		const struct needed *n = &needs[i];
		bool library, file = any_file(n->files);
		void *handle;

		if (strncasecmp(device, n->device, strlen(n->device)))
			continue;
		handle = dlopen(n->soname, RTLD_LAZY | RTLD_LOCAL);
		library = handle != NULL;
		if (!library)
			text_addf(out, "; it needs %s (%s)", n->soname, n->package);
		if (!file)
			text_addf(out, "%s %s (kernel module %s)", library ? "; it needs" : " and", n->files, n->module);
		if (library && file)
			text_addf(out, "; %s and %s are here, but no driver of Intel's that answers (%s)", n->soname, n->files,
				n->package);
	}
}

// Whether it is one of those found, in any case of letters; "GPU" is the first of "GPU.0". `full`: as it is found.
static bool is_here(const ov_available_devices_t *found, const char *device, const char **full)
{
	size_t n = strlen(device);
	bool here = false;

	for (size_t i = 0; i < found->size; i++) {
		if (!strcasecmp(found->devices[i], device)) {
			*full = found->devices[i];
			return true;
		}
		here |= !strncasecmp(found->devices[i], device, n) && found->devices[i][n] == '.';
	}
	*full = device;
	return here;
}

// A processor is there always: "; its plugin ... cannot be opened: ...". UNAVAILABLE where that is not installed, else NOT_ASKED.
static enum status add_plugin(struct text *out, struct arena *a, const struct ov_library *l)
{
	static const char pattern[] = "libopenvino_*cpu_plugin.so";
	const char *plugin = library_beside(a, l->path, pattern), *why;

	if (!plugin) // as distributions lay it
		plugin = library_beside(a, l->path, arena_printf(a, "openvino-*/%s", pattern));
	if (!plugin) {
		text_addf(out, "; its plugin %s is not beside %s", pattern, l->path);
		return STATUS_UNAVAILABLE;
	}
	if (!library_load(a, plugin, RTLD_NOW, &why))
		text_addf(out, "; its plugin %s cannot be opened: %s", plugin, why);
	else
		text_addf(out, "; its plugin %s is loaded, and lists none", plugin);
	return STATUS_NOT_ASKED;
}

static enum status absent(struct session *s, const char *device, const ov_available_devices_t *found, struct error *err)
{
	const char *asked = s->device;
	struct text names = { 0 }, why = { 0 };
	enum status st = STATUS_UNAVAILABLE;

	for (size_t i = 0; i < found->size; i++)
		text_addf(&names, "%s%s", i ? ", " : "", found->devices[i]);
	add_reason(&why, device);
	if (!strcasecmp(device, "CPU"))
		st = add_plugin(&why, &s->arena, &((struct openvino *)s->state)->library);
	st = error_set(err, st, "%s%sno device %s; OpenVINO's devices here: %s%s", text_is(asked, device) ? "" : asked,
		text_is(asked, device) ? "" : ": ", device, names.length ? text_get(&names) : "none", text_get(&why));
	text_done(&names);
	text_done(&why);
	return st;
}

// "HETERO:GPU,CPU", "AUTO:-GPU", "BATCH:GPU(4)": each of them must be here, but those that are ruled out.
static enum status check_members(struct session *s, const ov_available_devices_t *found, struct error *err)
{
	struct arena a = { 0 };
	const char *list = strchr(s->device, ':'), *full;
	enum status st = STATUS_OK;

	for (const char *at = list ? list + 1 : ""; *at && !st;) {
		size_t n = strcspn(at, ","), name = strcspn(at, ",(");
		const char *member = arena_strndup(&a, at, name);

		if (n && *member != '-' && !is_here(found, member, &full))
			st = absent(s, member, found, err);
		at += n + (at[n] == ',');
	}
	arena_done(&a);
	return st;
}

enum status ov_choose_device(struct session *s, const ov_available_devices_t *found, struct error *err)
{
	const char *full;

	if (!s->device)
		s->device = "CPU";
	if (text_is(s->device, "HETERO") || text_is(s->device, "MULTI"))
		return error_set(
			err, STATUS_BAD_INPUT, "%s needs the devices to share the work: %s:GPU,CPU", s->device, s->device);
	if (ov_is_meta(s->device))
		return found->size ? check_members(s, found, err) : absent(s, "CPU", found, err);
	if (!is_here(found, s->device, &full))
		return absent(s, s->device, found, err);
	s->device = arena_strdup(&s->arena, full);
	return STATUS_OK;
}

void ov_list_absent(struct device_list *out, const struct ov_library *l, const ov_available_devices_t *found)
{
	struct text plugin = { 0 };
	const char *cpu;

	if (!is_here(found, "CPU", &cpu)) {
		add_plugin(&plugin, out->arena, l);
		device_absent(out, "openvino:CPU", "OpenVINO finds no CPU%s", text_get(&plugin));
		text_done(&plugin);
	}
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
		struct text why = { 0 };
		const char *full;

		if (is_here(found, needs[i].device, &full))
			continue;
		add_reason(&why, needs[i].device);
		device_absent(out, arena_printf(out->arena, "openvino:%s", needs[i].device), "OpenVINO finds no %s%s",
			needs[i].device, text_get(&why));
		text_done(&why);
	}
}

enum status ov_check_reader(struct session *s, enum status st, struct error *err)
{
	const struct ov_library *l = &((struct openvino *)s->state)->library;
	const char *known = strstr(err->text, "Available frontends:"), *reader, *why;

	if (!known || strstr(known, "onnx"))
		return st;
	if (!(reader = library_beside(&s->arena, l->path, "libopenvino_onnx_frontend.so*")))
		return error_set(err, STATUS_UNAVAILABLE,
			"its reader of ONNX files, libopenvino_onnx_frontend.so*, is not beside %s", l->path);
	return library_load(&s->arena, reader, RTLD_NOW, &why)
		? st
		: error_set(err, STATUS_NOT_ASKED, "its reader of ONNX files %s cannot be opened: %s", reader, why);
}
