// SPDX-License-Identifier: Apache-2.0
// AMD's GPUs, by two paths that check each other: the kernel's topology of KFD under sysfs, which needs no library, and HIP with
// amdsmi, in a probe child. ROCR_VISIBLE_DEVICES picks of KFD's GPUs; HIP_VISIBLE_DEVICES, else CUDA_VISIBLE_DEVICES, picks of
// those.
//
//   /sys/class/kfd/kfd/topology/nodes/N/{gpu_id,name,properties,mem_banks/M/properties}
//       "gfx_target_version 90402" is gfx942; a node without SIMDs is a CPU
#include "platform/facts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES "/sys/class/kfd/kfd/topology/nodes"

// ---- HIP and amdsmi, in a child -----------------------------------------------------------------------------------------

static void *open_one(const char *const *names, json_t *out)
{
	for (size_t i = 0; names[i]; i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

		if (library) {
			json_object_set_new(out, "library", json_string(names[i]));
			json_object_del(out, "error");
			return library;
		}
		const char *why = dlerror(); // gone with the next call
		if (!json_object_get(out, "error"))
			json_object_set_new(out, "error", json_string(why ? why : names[i]));
	}
	return NULL;
}

json_t *ask_hip(void)
{
	static const char *const names[] = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", NULL };
	json_t *out = json_object(), *gpus = json_array();
	void *library = open_one(names, out);
	int (*count_of)(int *count), (*name_of)(char *out, int size, int device), (*memory_of)(size_t * nbytes, int device);
	int (*runtime_of)(int *version), (*driver_of)(int *version);
	const char *(*words)(int code);
	int count = 0, version, code;

	json_object_set_new(out, "gpus", gpus);
	if (!library)
		return out;
	*(void **)&count_of = dlsym(library, "hipGetDeviceCount");
	*(void **)&name_of = dlsym(library, "hipDeviceGetName");
	*(void **)&memory_of = dlsym(library, "hipDeviceTotalMem");
	*(void **)&runtime_of = dlsym(library, "hipRuntimeGetVersion");
	*(void **)&driver_of = dlsym(library, "hipDriverGetVersion");
	*(void **)&words = dlsym(library, "hipGetErrorString");
	if (!count_of) {
		json_object_set_new(out, "error", json_string("it lacks hipGetDeviceCount"));
		return out;
	}
	if (runtime_of && !runtime_of(&version)) // 60342134: 6.3.42134
		json_object_set_new(
			out, "runtime", json_sprintf("%d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000));
	if (driver_of && !driver_of(&version))
		json_object_set_new(
			out, "driver", json_sprintf("%d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000));
	if ((code = count_of(&count))) {
		json_object_set_new(
			out, "error", json_sprintf("hipGetDeviceCount: %s (%d)", words ? words(code) : "error", code));
		return out;
	}
	for (int i = 0; i < count && i < 64; i++) {
		json_t *one = json_pack("{s:i}", "index", i);
		char name[256] = "";
		size_t nbytes;

		if (name_of && !name_of(name, sizeof name, i))
			facts_text(one, "name", name);
		if (memory_of && !memory_of(&nbytes, i))
			facts_number(one, "memory_bytes", (int64_t)nbytes);
		json_array_append_new(gpus, one);
	}
	return out;
}

// Only calls whose parameters are plain numbers: its structures change between versions.
json_t *ask_amdsmi(void)
{
	static const char *const names[] = { "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "libamd_smi.so", NULL };
	enum { GPUS = 1 << 1, VRAM = 0, TEMPERATURE_HOTSPOT = 1, TEMPERATURE_CURRENT = 0 };
	typedef void *handle;
	json_t *out = json_object(), *gpus = json_array();
	void *library = open_one(names, out);
	int (*start)(uint64_t flags), (*stop)(void), (*sockets_of)(uint32_t * count, handle * out);
	int (*processors_of)(handle socket, uint32_t * count, handle * out), (*total_of)(handle p, int type, uint64_t *nbytes);
	int (*used_of)(handle p, int type, uint64_t *nbytes),
		(*temperature_of)(handle p, int sensor, int metric, int64_t *celsius);
	handle sockets[64], processors[64];
	uint32_t socket_count = 64;
	int code;

	json_object_set_new(out, "gpus", gpus);
	if (!library)
		return out;
	*(void **)&start = dlsym(library, "amdsmi_init");
	*(void **)&stop = dlsym(library, "amdsmi_shut_down");
	*(void **)&sockets_of = dlsym(library, "amdsmi_get_socket_handles");
	*(void **)&processors_of = dlsym(library, "amdsmi_get_processor_handles");
	*(void **)&total_of = dlsym(library, "amdsmi_get_gpu_memory_total");
	*(void **)&used_of = dlsym(library, "amdsmi_get_gpu_memory_usage");
	*(void **)&temperature_of = dlsym(library, "amdsmi_get_temp_metric");
	if (!start || !sockets_of || !processors_of) {
		json_object_set_new(out, "error",
			json_string("it lacks amdsmi_init, amdsmi_get_socket_handles or amdsmi_get_processor_handles"));
		return out;
	}
	if ((code = start(GPUS)) || (code = sockets_of(&socket_count, sockets))) {
		json_object_set_new(out, "error", json_sprintf("amdsmi answers with error %d", code));
		return out;
	}
	for (uint32_t i = 0; i < socket_count && i < 64; i++) {
		uint32_t count = 64;

		if (processors_of(sockets[i], &count, processors))
			continue;
		for (uint32_t k = 0; k < count && k < 64; k++) {
			json_t *one = json_object();
			uint64_t nbytes;
			int64_t celsius;

			if (total_of && !total_of(processors[k], VRAM, &nbytes))
				facts_number(one, "memory_bytes", (int64_t)nbytes);
			if (used_of && !used_of(processors[k], VRAM, &nbytes))
				facts_number(one, "memory_used_bytes", (int64_t)nbytes);
			if (temperature_of && !temperature_of(processors[k], TEMPERATURE_HOTSPOT, TEMPERATURE_CURRENT, &celsius))
				facts_number(one, "temperature_c", celsius);
			json_array_append_new(gpus, one);
		}
	}
	if (stop)
		stop();
	return out;
}

// ---- the topology -------------------------------------------------------------------------------------------------------

static int64_t property(const struct sysfs *s, const char *text, const char *key)
{
	const char *word = sysfs_value(s, text, key);

	return word && *word ? (int64_t)strtoull(word, NULL, 0) : -1;
}

// Heaps 1 and 2 are the card's own memory, seen by the host or not.
static int64_t local_memory(const struct sysfs *s, const char *node)
{
	const char **banks;
	const size_t count = sysfs_list(s, arena_printf(s->arena, NODES "/%s/mem_banks", node), "", true, &banks);
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		const char *text = sysfs_text(s, NODES "/%s/mem_banks/%s/properties", node, banks[i]);
		const int64_t heap = property(s, text, "heap_type"), nbytes = property(s, text, "size_in_bytes");

		sum += (heap == 1 || heap == 2) && nbytes > 0 ? nbytes : 0;
	}
	return sum ? sum : -1;
}

static json_t *topology(const struct sysfs *s)
{
	json_t *out = json_array();
	const char **nodes;
	const size_t count = sysfs_list(s, NODES, "", true, &nodes);

	for (size_t i = 0; i < count; i++) {
		const char *text = sysfs_text(s, NODES "/%s/properties", nodes[i]), *unique = sysfs_value(s, text, "unique_id");
		const int64_t simds = property(s, text, "simd_count"), each = property(s, text, "simd_per_cu"),
			      version = property(s, text, "gfx_target_version");
		const int64_t render = property(s, text, "drm_render_minor"),
			      id = sysfs_number(s, 0, NODES "/%s/gpu_id", nodes[i]);

		if (simds <= 0)
			continue;
		json_t *one = json_pack(
			"{s:I, s:I}", "index", (json_int_t)json_array_size(out), "node", (json_int_t)strtoll(nodes[i], NULL, 10));
		if (version > 0)
			json_object_set_new(one, "architecture",
				json_sprintf("gfx%d%d%x", (int)(version / 10000), (int)(version / 100 % 100),
					(unsigned)(version % 100)));
		facts_text(one, "name", sysfs_line(s, NODES "/%s/name", nodes[i]));
		if (unique && strtoull(unique, NULL, 0))
			json_object_set_new(one, "uuid", json_sprintf("GPU-%016llx", strtoull(unique, NULL, 0)));
		facts_number(one, "gpu_id", id > 0 ? id : -1);
		facts_number(one, "compute_units", each > 0 ? simds / each : -1);
		facts_number(one, "wavefront", property(s, text, "wave_front_size"));
		facts_number(one, "max_clock_mhz", property(s, text, "max_engine_clk_fcompute"));
		facts_number(one, "memory_bytes", local_memory(s, nodes[i]));
		if (render > 0)
			json_object_set_new(one, "device_file", json_sprintf("/dev/dri/renderD%d", (int)render));
		json_array_append_new(out, one);
	}
	return out;
}

// ---- what the variables leave ---------------------------------------------------------------------------------------------

// Keeps those of `from` that the list names, in its order; a word that names none ends it, as in the runtime.
static json_t *pick(const json_t *from, const char *list, bool by_uuid)
{
	json_t *out = json_array();

	for (const char *at = list; *at;) {
		const size_t n = strcspn(at, ",");
		char *end;
		const long number = strtol(at, &end, 10);
		json_t *one, *found = NULL;
		size_t i;

		if (end == at + n && n) {
			found = number >= 0 ? json_array_get(from, (size_t)number) : NULL;
		} else if (by_uuid) {
			json_array_foreach(from, i, one)
			{
				const char *uuid = json_string_value(json_object_get(one, "uuid"));
				found = uuid && strlen(uuid) == n && !strncmp(uuid, at, n) ? one : found;
			}
		}
		if (!found)
			break;
		json_array_append(out, found);
		at += n + (at[n] == ',');
	}
	return out;
}

static size_t mark_hidden(json_t *gpus, const char **by)
{
	const char *rocr = getenv("ROCR_VISIBLE_DEVICES"), *hip = getenv("HIP_VISIBLE_DEVICES"),
		   *cuda = getenv("CUDA_VISIBLE_DEVICES");
	json_t *left = rocr ? pick(gpus, rocr, true) : json_incref(gpus),
	       *seen = hip ? pick(left, hip, true)
		: cuda     ? pick(left, cuda, false)
			   : json_incref(left);
	const size_t hidden = json_array_size(gpus) - json_array_size(seen);
	json_t *gpu, *one;
	size_t i, k;

	json_array_foreach(gpus, i, gpu)
	{
		bool visible = false, by_rocr = true;

		json_array_foreach(seen, k, one) visible = visible || one == gpu;
		json_array_foreach(left, k, one) by_rocr = by_rocr && one != gpu;
		json_object_set_new(gpu, "visible", json_boolean(visible));
		if (!visible) {
			*by = by_rocr ? "ROCR_VISIBLE_DEVICES" : hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
			json_object_set_new(gpu, "hidden_by", json_string(*by));
		}
	}
	json_decref(left);
	json_decref(seen);
	return hidden;
}

// ---- everything ---------------------------------------------------------------------------------------------------------

static json_t *drm_cards(const struct sysfs *s)
{
	json_t *out = json_array();
	const char **cards;
	const size_t count = sysfs_list(s, "/sys/class/drm", "card", true, &cards);

	for (size_t i = 0; i < count; i++) {
		const char *folder = arena_printf(s->arena, "/sys/class/drm/%s/device", cards[i]);

		if (sysfs_number(s, 0, "%s/vendor", folder) != PCI_AMD)
			continue;
		json_t *one = json_pack("{s:s}", "card", cards[i]);
		facts_text(one, "name", sysfs_line(s, "%s/product_name", folder));
		facts_number(one, "memory_bytes", sysfs_number(s, -1, "%s/mem_info_vram_total", folder));
		facts_number(one, "memory_used_bytes", sysfs_number(s, -1, "%s/mem_info_vram_used", folder));
		facts_number(one, "busy_percent", sysfs_number(s, -1, "%s/gpu_busy_percent", folder));
		facts_text(one, "performance_level", sysfs_line(s, "%s/power_dpm_force_performance_level", folder));
		json_array_append_new(out, one);
	}
	return out;
}

static void find_causes(json_t *out, const struct sysfs *s, const json_t *cards, const json_t *gpus)
{
	const json_t *card = json_array_get(cards, 0), *hip = json_object_get(out, "hip"), *one;
	const char *bound = json_string_value(json_object_get(card, "driver")),
		   *failed = json_string_value(json_object_get(hip, "error")), *unseen = facts_pci_unseen(s);
	const size_t asked = json_array_size(json_object_get(hip, "gpus"));
	size_t i, visible = 0;

	if (card && !json_array_size(gpus))
		facts_cause(out,
			"an AMD card (%s) is on the PCI bus at %s, but the kernel offers it for no computing (%s%s; "
			"/sys/class/kfd lists no GPU)",
			json_string_value(json_object_get(card, json_object_get(card, "name") ? "name" : "id")),
			json_string_value(json_object_get(card, "address")), bound ? "bound to " : "no driver is bound",
			bound ? bound : "");
	json_array_foreach(gpus, i, one) visible += json_is_true(json_object_get(one, "visible"));
	json_array_foreach(json_object_get(out, "device_files"), i, one) if (!json_is_true(json_object_get(one, "usable")))
		facts_cause(out, "%s: %s", json_string_value(json_object_get(one, "path")),
			json_string_value(json_object_get(one, "reason")));
	if (json_array_size(gpus) && !sysfs_exists(s, "/dev/kfd"))
		facts_cause(out,
			"the kernel knows %zu GPU%s, but /dev/kfd is not here: in a container, pass it in (--device /dev/kfd "
			"--device /dev/dri)",
			json_array_size(gpus), json_array_size(gpus) == 1 ? "" : "s");
	if (json_array_size(gpus) && failed)
		facts_cause(out, "HIP does not answer: %s", failed);
	else if (hip && !failed && asked != visible)
		facts_finding(out, "HIP sees %zu GPUs, the kernel and the environment's variables leave %zu", asked, visible);
	if (json_array_size(gpus))
		facts_finding(
			out, "half precision is not proven: that needs a run on the GPU; no topology and no driver says it");
	else if (!card && unseen)
		facts_cause(out, "/sys/class/kfd lists no GPU, and %s: whether there is an AMD card is not known", unseen);
	else if (!card)
		facts_cause(out, "no AMD card: none on the PCI bus, and /sys/class/kfd lists no GPU");
}

json_t *facts_amd(const struct facts_source *source)
{
	static const char *const variables[] = { "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
		"GPU_DEVICE_ORDINAL", "HSA_OVERRIDE_GFX_VERSION", NULL };
	const struct sysfs *s = &source->files;
	json_t *out = json_object(), *cards = facts_pci(s, PCI_AMD), *gpus = topology(s), *files = json_array(), *one;
	const char *by = NULL;
	const size_t hidden = mark_hidden(gpus, &by);
	size_t i;

	facts_environment(out, variables);
	if (getenv("HSA_OVERRIDE_GFX_VERSION"))
		facts_finding(out, "HSA_OVERRIDE_GFX_VERSION=%s makes the runtime take the GPU for another one",
			getenv("HSA_OVERRIDE_GFX_VERSION"));
	facts_text(out, "kernel_driver", sysfs_line(s, "/sys/module/amdgpu/version"));
	facts_text(out, "rocm", sysfs_line(s, "/opt/rocm/.info/version"));
	facts_add(out, "hip", json_deep_copy(json_object_get(source->drivers, "hip")));
	facts_add(out, "amdsmi", json_deep_copy(json_object_get(source->drivers, "amdsmi")));
	facts_add(out, "libraries",
		facts_libraries(s, "libamdhip64.so libmigraphx_c.so libMIOpen.so librocblas.so libamd_smi.so",
			"/opt/rocm/lib\n/opt/rocm/lib64"));
	if (hidden && hidden == json_array_size(gpus))
		facts_cause(out, "%s=%s hides every GPU (%zu)", by, getenv(by), hidden);
	else if (hidden)
		facts_finding(out, "%s=%s hides %zu of %zu GPUs", by, getenv(by), hidden, json_array_size(gpus));
	if ((one = sysfs_device(s, "/dev/kfd")))
		json_array_append_new(files, one);
	json_array_foreach(gpus, i, one)
	{
		const char *path = json_string_value(json_object_get(one, "device_file"));
		json_t *file = path ? sysfs_device(s, path) : NULL;

		if (file)
			json_array_append_new(files, file);
	}
	facts_add(out, "device_files", files);
	find_causes(out, s, cards, gpus);
	facts_add(out, "gpus", gpus);
	facts_add(out, "pci", cards);
	facts_add(out, "cards", drm_cards(s));
	return out;
}
