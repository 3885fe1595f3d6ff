// SPDX-License-Identifier: Apache-2.0
// doctor.h: device files and who may use them, variables that hide devices, Vulkan's drivers, browsers.
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/browser.h"
#include "backend/vulkan.h"
#include "base/file.h"
#include "base/text.h"
#include "platform/doctor.h"
#include "platform/elf.h"
#include "platform/facts.h"

static const struct node {
	const char *engine, *provider, *device; // device NULL, or a pattern
	const char *pattern, *what;
	const char *fix; // where there is none
	unsigned vendor; // on the PCI bus; 0: any
	const char *vendor_name;
} nodes[] = {
	{ "ort", "cuda", NULL, "/dev/nvidiactl", "NVIDIA's driver",
		"install NVIDIA's driver; in a container, start it with the GPUs handed in (--gpus all)", 0x10de, "NVIDIA" },
	{ "ort", "cuda", NULL, "/dev/nvidia[0-9]*", "NVIDIA GPUs",
		"install NVIDIA's driver; in a container, start it with the GPUs handed in (--gpus all)", 0x10de, "NVIDIA" },
	{ "ort", "tensorrt", NULL, "/dev/nvidia[0-9]*", "NVIDIA GPUs",
		"install NVIDIA's driver; in a container, start it with the GPUs handed in (--gpus all)", 0x10de, "NVIDIA" },
	{ "ort", "migraphx", NULL, "/dev/kfd", "AMD's compute driver",
		"load amdgpu's driver; in a container, start it with --device /dev/kfd --device /dev/dri", 0x1002, "AMD" },
	{ "ort", "migraphx", NULL, "/dev/dri/renderD*", "AMD GPUs",
		"load amdgpu's driver; in a container, start it with --device /dev/kfd --device /dev/dri", 0x1002, "AMD" },
	{ "openvino", "openvino", "GPU*", "/dev/dri/renderD*", "Intel GPUs",
		"load the driver i915 or xe; in a container, start it with --device /dev/dri", 0x8086, "Intel" },
	{ "openvino", "openvino", "NPU*", "/dev/accel/accel*", "Intel NPUs",
		"load the driver intel_vpu; in a container, start it with --device /dev/accel", 0x8086, "Intel" },
	{ "ort", "webgpu", NULL, "/dev/dri/renderD*", "GPUs", NULL, 0, NULL },
};

static const char *group_name(struct arena *a, gid_t gid)
{
	struct group g, *found = NULL;
	char buffer[4096];

	return !getgrgid_r(gid, &g, buffer, sizeof buffer, &found) && found ? arena_strdup(a, g.gr_name)
									    : arena_printf(a, "%u", (unsigned)gid);
}

// access() as root says yes to everything, so the mode is not looked at for it: root may.
static void check_node(struct checkup *c, const char *path)
{
	struct stat st;

	if (!access(path, R_OK | W_OK)) {
		checkup_add(c, CHECK_OK, "device", NULL, "%s: may be read and written", path);
		return;
	}
	int code = errno;
	if (stat(path, &st)) {
		checkup_add(c, CHECK_BAD, "device", NULL, "%s: %s", path, strerror(errno));
		return;
	}
	const char *group = group_name(c->arena, st.st_gid);
	bool by_group = (st.st_mode & 060) == 060 && st.st_gid != 0;
	checkup_add(c, CHECK_BAD, "device",
		by_group ? arena_printf(
				   c->arena, "add the user to group %s: usermod -aG %s $USER, then log in again", group, group)
			 : arena_printf(c->arena, "give access to it: chmod a+rw %s, or a udev rule that does", path),
		"%s: %s (mode %04o, owner %u, group %s; this process is user %u)", path,
		code == EACCES || code == EPERM ? "no permission" : strerror(code), (unsigned)st.st_mode & 07777,
		(unsigned)st.st_uid, group, (unsigned)geteuid());
}

// A driver is no help to a machine without the card. `unseen`: why that cannot be known.
static bool has_no_card(struct checkup *c, const struct node *n, const char *root, const char **unseen)
{
	const struct sysfs s = { c->arena, root };

	if (!n->vendor || (*unseen = facts_pci_unseen(&s)))
		return false;
	json_t *cards = facts_pci(&s, n->vendor);
	const bool none = json_array_size(cards) == 0;

	json_decref(cards);
	return none;
}

void doctor_devices(struct checkup *c, const struct target *t, const char *root)
{
	const char *device = t->device ? t->device : t->route->device;
	size_t looked = 0;

	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
		const struct node *n = &nodes[i];
		glob_t found;
		if (!text_is(n->engine, t->route->engine) || !text_is(n->provider, t->route->provider) ||
			(n->device && fnmatch(n->device, device, 0)))
			continue;
		looked++;
		if (glob(arena_printf(c->arena, "%s%s", root, n->pattern), 0, NULL, &found)) {
			const char *unseen = NULL;
			const bool none = has_no_card(c, n, root, &unseen);

			checkup_add(c, n->fix ? CHECK_BAD : CHECK_NONE, "device",
				none ? arena_printf(c->arena, "take a machine that has a card of %s, and there %s",
					       n->vendor_name, n->fix)
				     : n->fix,
				"%s is missing (%s)%s%s", n->pattern, n->what,
				none             ? arena_printf(c->arena, ", and no %s card is on the PCI bus", n->vendor_name)
					: unseen ? arena_printf(c->arena, ", and %s", unseen)
						 : "",
				n->fix ? "" : ": only a software adapter can serve");
			continue;
		}
		for (size_t k = 0; k < found.gl_pathc; k++)
			check_node(c, found.gl_pathv[k]);
		globfree(&found);
	}
	if (!looked)
		checkup_add(c, CHECK_NONE, "device", NULL, "it needs no device file");
}

void doctor_environment(struct checkup *c, const struct target *t)
{
	static const char *const hiding[] = { "", "-1", "none", "void", "NoDevFiles" };
	bool any = false;

	for (const char *at = t->platform->environment; at && *at;) {
		size_t n = strcspn(at, " ");
		const char *name = arena_strndup(c->arena, at, n), *set = getenv(name);
		bool hides = false;
		for (size_t i = 0; set && i < sizeof hiding / sizeof *hiding; i++)
			hides |= text_is(set, hiding[i]);
		if (hides)
			checkup_add(c, CHECK_BAD, "environment", arena_printf(c->arena, "unset %s", name),
				"%s=%s hides every device", name, *set ? set : "\"\"");
		else if (set)
			checkup_add(c, CHECK_OK, "environment", NULL, "%s=%s chooses among the devices", name, set);
		any |= set != NULL;
		at += n + (at[n] == ' ');
	}
	if (!any && t->platform->environment)
		checkup_add(c, CHECK_OK, "environment", NULL, "nothing hides a device (%s)", t->platform->environment);
}

// SwiftShader of a browser, where the engine takes it from when Vulkan has no driver: beside the engines' folders, or a
// distribution's.
static const char *find_swiftshader(struct arena *a, const char *root)
{
	static const char *const places[] = { "/usr/lib/chromium", "/usr/lib/chromium-browser", "/usr/lib64/chromium-browser",
		"/opt/google/chrome", "/opt/chromium.org/chromium" };
	const char *found = NULL;
	struct text path = { 0 };
	glob_t all;

	library_search_path(&path);
	for (const char *line = text_get(&path); *line && !found;) {
		size_t n = strcspn(line, "\n");
		if (n > 2 && line[0] == '+' &&
			!glob(arena_printf(a, "%.*s/../browsers/*/vk_swiftshader_icd.json", (int)n - 2, line + 2), 0, NULL,
				&all)) {
			found = arena_strdup(a, all.gl_pathv[0]);
			globfree(&all);
		}
		line += n + (line[n] == '\n');
	}
	text_done(&path);
	for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++) {
		const char *file = arena_printf(a, "%s%s/vk_swiftshader_icd.json", root, places[i]);
		found = file_exists(file) ? file : NULL;
	}
	return found;
}

// Where Vulkan's loader opens a driver: a path, one beside the file that names it, or by the system's folders. NULL: nowhere.
static const char *driver_path(struct arena *a, const struct vulkan_manifest *m, const char *root)
{
	const char *slash = strrchr(m->path, '/'), *path = m->library;

	if (!strchr(path, '/'))
		return elf_find(a, path, &(struct elf_search){ root, NULL });
	if (*path != '/' && slash)
		path = arena_printf(a, "%.*s/%s", (int)(slash - m->path), m->path, path);
	return file_exists(path) ? path : NULL;
}

// The loader leaves a driver out whose libraries are not all here, and does not say so.
static void check_driver(struct checkup *c, const struct vulkan_manifest *m, const char *root)
{
	const char *path = driver_path(c->arena, m, root);
	struct elf_chain chain = { 0 };
	struct error err = { 0 };

	if (!path)
		checkup_add(c, CHECK_BAD, "vulkan", soname_bringer(c->arena, m->library), "the driver %s of %s is missing",
			m->library, m->path);
	else if (elf_walk(&chain, c->arena, path, &(struct elf_search){ root, NULL }, &err))
		checkup_add(c, CHECK_BAD, "vulkan", NULL, "the driver of %s: %s", m->path, err.text);
	for (size_t i = 0; i < chain.gap_count; i++)
		checkup_add(c, CHECK_BAD, "vulkan", chain.gaps[i].bringer, "the driver %s cannot be used: %s", m->library,
			chain.gaps[i].sentence);
	if (chain.path_count && !chain.gap_count)
		checkup_add(c, CHECK_OK, "vulkan", NULL, "a driver: %s (%s), %zu libraries, all here", m->library, m->path,
			chain.path_count);
}

void doctor_vulkan(struct checkup *c, const char *root)
{
	struct vulkan_manifest *manifest;
	size_t count = vulkan_manifests(c->arena, root, &manifest), drivers = 0;

	for (size_t i = 0; i < count; i++) {
		if (!manifest[i].library) {
			checkup_add(c, CHECK_BAD, "vulkan", NULL, "%s cannot be read or names no library", manifest[i].path);
			continue;
		}
		drivers++;
		check_driver(c, &manifest[i], root);
	}
	if (drivers)
		return; // those that do not work are named above
	const char *named = getenv("VK_DRIVER_FILES") ? "VK_DRIVER_FILES"
		: getenv("VK_ICD_FILENAMES")          ? "VK_ICD_FILENAMES"
						      : NULL;
	const char *software = named ? NULL : find_swiftshader(c->arena, root);

	if (software) {
		checkup_add(c, CHECK_NONE, "vulkan", NULL,
			"no driver of a GPU is installed; SwiftShader of a browser can serve (%s)", software);
		return;
	}
	checkup_add(c, CHECK_BAD, "vulkan",
		named ? arena_printf(c->arena, "unset %s, or correct it", named)
		      : "install the GPU's Vulkan driver (mesa-vulkan-drivers, or NVIDIA's); for a software adapter: apt-get "
			"install chromium",
		"no Vulkan driver%s%s%s", named ? ": " : " is installed: no file in vulkan/icd.d", named ? named : "",
		named ? " names none that is here" : "");
}

// A program that is a script starts one that is not looked at here.
static bool check_browser(struct checkup *c, const struct browser *b)
{
	struct error err = { 0 };
	struct elf_chain chain;

	if (elf_walk(&chain, c->arena, b->path, NULL, &err)) {
		checkup_add(c, CHECK_OK, "browser", NULL, "%s", b->path);
		return true;
	}
	for (size_t i = 0; i < chain.gap_count; i++)
		checkup_add(
			c, CHECK_BAD, "browser", chain.gaps[i].bringer, "%s cannot start: %s", b->path, chain.gaps[i].sentence);
	if (!chain.gap_count)
		checkup_add(c, CHECK_OK, "browser", NULL, "%s: %zu libraries, all here", b->path, chain.path_count);
	return !chain.gap_count;
}

void doctor_browsers(struct checkup *c, const struct target *t)
{
	const char *device = t->device ? t->device : t->route->device;
	bool firefox = text_starts(device, "firefox"), webnn = text_is(t->route->provider, "webnn");
	struct browser *all;
	size_t count = browser_installed(c->arena, &all), usable = 0, seen = 0;

	if (text_starts(device, "remote")) {
		checkup_add(c, CHECK_NONE, "browser", NULL, "a browser somewhere else opens the address that is printed");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if ((all[i].kind == BROWSER_FIREFOX) != firefox)
			continue;
		seen++;
		usable += check_browser(c, &all[i]);
	}
	c->hopeless |= !usable;
	if (!seen && browser_unwanted())
		checkup_add(c, CHECK_BAD, "browser", "unset ASSAY_BROWSER_PATH",
			"ASSAY_BROWSER_PATH=none: browsers are not looked for");
	else if (!seen)
		checkup_add(c, CHECK_BAD, "browser",
			webnn             ? "run: assay setup webnn"
				: firefox ? "apt-get install firefox-esr"
					  : "apt-get install chromium",
			"no %s is in PATH, in ASSAY_BROWSER_PATH or beside the engines",
			firefox         ? "Firefox"
				: webnn ? "Chromium with WebNN"
					: "Chromium");
}
