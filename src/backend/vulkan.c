// SPDX-License-Identifier: Apache-2.0
// Asks the Vulkan loader for adapters, by eight functions of its C interface (Vulkan 1.0 to 1.2, which later versions keep). The
// few structures that they need are written down here as the specification lays them out, so that no header of Vulkan is wanted
// to build.
#include "backend/vulkan.h"

#include <dlfcn.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

// ---- manifests ----------------------------------------------------------------------------------------------------------

struct manifests {
	struct arena *arena;
	struct vulkan_manifest *items;
	size_t count, capacity;
};

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct vulkan_manifest *)x)->path, ((const struct vulkan_manifest *)y)->path);
}

static void add_manifest(struct manifests *m, const char *path)
{
	struct vulkan_manifest one = { .path = arena_strdup(m->arena, path) };
	json_t *json = NULL;

	for (size_t i = 0; i < m->count; i++)
		if (text_is(m->items[i].path, path))
			return;
	if (m->count == m->capacity) {
		struct vulkan_manifest *more = ARENA_ARRAY(m->arena, m->capacity ? 2 * m->capacity : 8, struct vulkan_manifest);

		if (m->count)
			memcpy(more, m->items, m->count * sizeof *more);
		m->items = more;
		m->capacity = m->capacity ? 2 * m->capacity : 8;
	}
	if (!json_file(path, 1 << 16, &json, NULL)) {
		const json_t *icd = json_object_get(json, "ICD");

		one.library = arena_strdup(m->arena, json_string_value(json_object_get(icd, "library_path")));
		one.api_version = arena_strdup(m->arena, json_string_value(json_object_get(icd, "api_version")));
	}
	json_decref(json);
	m->items[m->count++] = one;
}

static void add_folder(struct manifests *m, const char *folder)
{
	size_t first = m->count;
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (text_ends(entry->d_name, ".json"))
			add_manifest(m, arena_printf(m->arena, "%s/%s", folder, entry->d_name));
	if (dir)
		closedir(dir);
	if (m->count > first)
		qsort(m->items + first, m->count - first, sizeof *m->items, by_path);
}

// Files or folders behind a variable.
static void add_named(struct manifests *m, const char *list)
{
	for (const char *at = list; at && *at;) {
		size_t n = strcspn(at, ":");
		const char *path = arena_strndup(m->arena, at, n);

		if (n && file_is_dir(path))
			add_folder(m, path);
		else if (n)
			add_manifest(m, path);
		at += n + (at[n] == ':');
	}
}

static void add_below(struct manifests *m, const char *root, const char *list)
{
	for (const char *at = list; at && *at;) {
		size_t n = strcspn(at, ":");

		if (n)
			add_folder(m, arena_printf(m->arena, "%s%.*s/vulkan/icd.d", root, (int)n, at));
		at += n + (at[n] == ':');
	}
}

static const char *variable(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

size_t vulkan_manifests(struct arena *a, const char *root, struct vulkan_manifest **out)
{
	struct manifests m = { .arena = a };
	const char *only = variable("VK_DRIVER_FILES", variable("VK_ICD_FILENAMES", NULL)), *home = variable("HOME", NULL);

	if (only) {
		add_named(&m, only);
	} else {
		add_named(&m, variable("VK_ADD_DRIVER_FILES", NULL));
		add_below(&m, root, variable("XDG_CONFIG_HOME", home ? arena_printf(a, "%s/.config", home) : NULL));
		add_below(&m, root, variable("XDG_CONFIG_DIRS", "/etc/xdg"));
		add_below(&m, root, "/etc");
		add_below(&m, root, variable("XDG_DATA_HOME", home ? arena_printf(a, "%s/.local/share", home) : NULL));
		add_below(&m, root, variable("XDG_DATA_DIRS", "/usr/local/share:/usr/share"));
	}
	*out = m.items;
	return m.count;
}

// ---- the loader's interface ---------------------------------------------------------------------------------------------

typedef void *handle;
typedef void (*function)(void);

enum { SUCCESS = 0, INCOMPLETE = 5, INITIALIZATION_FAILED = -3, INCOMPATIBLE_DRIVER = -9 };
enum { // VkStructureType
	INSTANCE_CREATE_INFO = 1,
	APPLICATION_INFO = 0,
	PROPERTIES_2 = 1000059001,
	FEATURES_2 = 1000059000,
	DRIVER_PROPERTIES = 1000196000,
	FLOAT16_INT8_FEATURES = 1000082000,
};
enum { HEAP_DEVICE_LOCAL = 1 };

struct application_info {
	int type;
	const void *next;
	const char *name;
	uint32_t version;
	const char *engine;
	uint32_t engine_version, api_version;
};
struct instance_info {
	int type;
	const void *next;
	uint32_t flags;
	const struct application_info *application;
	uint32_t layer_count;
	const char *const *layers;
	uint32_t extension_count;
	const char *const *extensions;
};
struct properties { // limits and more come after; room is left for them
	uint32_t api_version, driver_version, vendor_id, device_id, type;
	char name[256];
	uint64_t rest[512];
};
struct properties_2 {
	int type;
	void *next;
	struct properties properties;
};
struct driver_properties {
	int type;
	void *next;
	uint32_t id;
	char name[256], info[256];
	uint8_t conformance[4];
	uint32_t rest[8];
};
struct features_2 {
	int type;
	void *next;
	uint32_t features[128];
};
struct float16_int8 {
	int type;
	void *next;
	uint32_t float16, int8;
};
struct memory_properties {
	uint32_t type_count;
	struct {
		uint32_t flags, heap;
	} types[32];
	uint32_t heap_count;
	struct {
		uint64_t nbytes;
		uint32_t flags;
	} heaps[16];
};

struct vulkan {
	function (*get)(handle instance, const char *name);
	int (*enumerate_version)(uint32_t *version);
	int (*create)(const struct instance_info *info, const void *allocator, handle *instance);
	void (*destroy)(handle instance, const void *allocator);
	int (*devices)(handle instance, uint32_t *count, handle *devices);
	void (*properties)(handle device, struct properties *out);
	void (*properties_2)(handle device, struct properties_2 *out);
	void (*features_2)(handle device, struct features_2 *out);
	void (*memory)(handle device, struct memory_properties *out);
};

#define VERSION(major, minor) ((uint32_t)(major) << 22 | (uint32_t)(minor) << 12)

static const char *version_text(struct arena *a, uint32_t v)
{
	return arena_printf(a, "%u.%u.%u", v >> 22 & 0x7f, v >> 12 & 0x3ff, v & 0xfff);
}

static const char *type_word(uint32_t type)
{
	static const char *const words[] = { "other", "integrated", "discrete", "virtual", "cpu" };

	return type < sizeof words / sizeof *words ? words[type] : "other";
}

static void read_adapter(struct vulkan_adapter *out, struct arena *a, const struct vulkan *v, handle device)
{
	struct properties p = { 0 };
	struct memory_properties memory = { 0 };

	v->properties(device, &p);
	p.name[sizeof p.name - 1] = 0;
	*out = (struct vulkan_adapter){ .name = arena_strdup(a, p.name),
		.type = type_word(p.type),
		.api_version = version_text(a, p.api_version),
		.vendor_id = p.vendor_id,
		.device_id = p.device_id,
		.float16 = -1,
		.int8 = -1,
		.software = text_is(type_word(p.type), "cpu") };
	if (v->memory) {
		v->memory(device, &memory);
		for (uint32_t i = 0; i < memory.heap_count && i < 16; i++)
			if (memory.heaps[i].flags & HEAP_DEVICE_LOCAL && memory.heaps[i].nbytes > out->local_bytes)
				out->local_bytes = memory.heaps[i].nbytes;
	}
	// Structures of 1.2 are for adapters of 1.2.
	if (p.api_version >= VERSION(1, 2) && v->properties_2 && v->features_2) {
		struct driver_properties driver = { .type = DRIVER_PROPERTIES };
		struct properties_2 *all = ARENA_NEW(a, struct properties_2);
		struct float16_int8 half = { .type = FLOAT16_INT8_FEATURES };
		struct features_2 features = { .type = FEATURES_2, .next = &half };

		*all = (struct properties_2){ .type = PROPERTIES_2, .next = &driver };
		v->properties_2(device, all);
		driver.name[sizeof driver.name - 1] = driver.info[sizeof driver.info - 1] = 0;
		if (*driver.name)
			out->driver = arena_printf(a, "%s%s%s", driver.name, *driver.info ? " " : "", driver.info);
		v->features_2(device, &features);
		out->float16 = half.float16 != 0;
		out->int8 = half.int8 != 0;
	}
}

static const char *driver_list(struct arena *a)
{
	struct vulkan_manifest *manifests;
	size_t count = vulkan_manifests(a, "", &manifests);
	struct text list = { 0 };
	const char *out;

	for (size_t i = 0; i < count; i++)
		text_addf(&list, "%s%s", i ? ", " : "", manifests[i].path);
	out = arena_strdup(a, text_get(&list));
	text_done(&list);
	return out;
}

static enum status no_driver(struct arena *a, struct error *err)
{
	const char *drivers = driver_list(a);

	if (!*drivers)
		return error_set(err, STATUS_UNAVAILABLE,
			"no Vulkan driver is installed: the loader libvulkan.so.1 is here, but no manifest vulkan/icd.d/*.json; "
			"install the graphics driver (mesa-vulkan-drivers, or the vendor's), or set VK_DRIVER_FILES");
	return error_set(err, STATUS_UNAVAILABLE, "no Vulkan driver works here; the loader tried %s", drivers);
}

enum status vulkan_adapters(struct arena *a, struct vulkan_adapter **out, size_t *count, struct error *err)
{
	void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
	struct vulkan v = { 0 };
	struct application_info application = { .type = APPLICATION_INFO, .name = "assay", .api_version = VERSION(1, 0) };
	struct instance_info info = { .type = INSTANCE_CREATE_INFO, .application = &application };
	uint32_t version = VERSION(1, 0), n = 0;
	handle instance = NULL, *devices;
	int result;

	if (!library) {
		const char *why = dlerror();

		return error_set(err, STATUS_UNAVAILABLE, "the Vulkan loader cannot be opened: %s; install libvulkan1",
			why ? why : "libvulkan.so.1");
	}
	*(void **)&v.get = dlsym(library, "vkGetInstanceProcAddr");
	if (!v.get)
		return error_set(err, STATUS_UNAVAILABLE, "libvulkan.so.1 has no vkGetInstanceProcAddr: it is no Vulkan loader");
	v.create = (__typeof__(v.create))v.get(NULL, "vkCreateInstance");
	v.enumerate_version = (__typeof__(v.enumerate_version))v.get(NULL, "vkEnumerateInstanceVersion");
	if (v.enumerate_version && !v.enumerate_version(&version) && version >= VERSION(1, 2))
		application.api_version = VERSION(1, 2);
	if (!v.create)
		return error_set(err, STATUS_UNAVAILABLE, "libvulkan.so.1 has no vkCreateInstance");
	result = v.create(&info, NULL, &instance);
	if (result == INCOMPATIBLE_DRIVER)
		return no_driver(a, err);
	if (result != SUCCESS)
		return error_set(err, STATUS_UNAVAILABLE, "Vulkan cannot be started: vkCreateInstance gives %d", result);
	v.destroy = (__typeof__(v.destroy))v.get(instance, "vkDestroyInstance");
	v.devices = (__typeof__(v.devices))v.get(instance, "vkEnumeratePhysicalDevices");
	v.properties = (__typeof__(v.properties))v.get(instance, "vkGetPhysicalDeviceProperties");
	v.memory = (__typeof__(v.memory))v.get(instance, "vkGetPhysicalDeviceMemoryProperties");
	if (application.api_version >= VERSION(1, 2)) {
		v.properties_2 = (__typeof__(v.properties_2))v.get(instance, "vkGetPhysicalDeviceProperties2");
		v.features_2 = (__typeof__(v.features_2))v.get(instance, "vkGetPhysicalDeviceFeatures2");
	}
	if (!v.devices || !v.properties)
		return error_set(err, STATUS_UNAVAILABLE, "libvulkan.so.1 cannot list adapters");
	result = v.devices(instance, &n, NULL);
	if (result == SUCCESS && n) {
		devices = ARENA_ARRAY(a, n, handle);
		result = v.devices(instance, &n, devices);
		*out = ARENA_ARRAY(a, n, struct vulkan_adapter);
		*count = n;
		for (uint32_t i = 0; i < n; i++)
			read_adapter(&(*out)[i], a, &v, devices[i]);
	}
	if (v.destroy)
		v.destroy(instance, NULL);
	if ((result == SUCCESS || result == INCOMPLETE) && n)
		return STATUS_OK;
	if (result == SUCCESS || result == INITIALIZATION_FAILED)
		return error_set(
			err, STATUS_UNAVAILABLE, "the Vulkan drivers that are installed (%s) give no adapter", driver_list(a));
	return error_set(
		err, STATUS_UNAVAILABLE, "Vulkan adapters cannot be listed: vkEnumeratePhysicalDevices gives %d", result);
}
