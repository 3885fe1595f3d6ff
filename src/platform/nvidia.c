// SPDX-License-Identifier: Apache-2.0
// NVIDIA cards: on the PCI bus, in the kernel's driver (/proc/driver/nvidia), as device files, through NVML; the CUDA libraries
// that lie here; and what hides a card. NVML needs no CUDA context, so asking it disturbs no other program; it is loaded in a
// probe child all the same.
#include "platform/facts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- NVML, in a child ---------------------------------------------------------------------------------------------------

typedef void *nvml_device;
struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml {
	int (*start)(void);
	const char *(*error)(int code);
	int (*driver)(char *out, unsigned size);
	int (*version)(char *out, unsigned size);
	int (*cuda)(int *version);
	int (*count)(unsigned *out);
	int (*device)(unsigned i, nvml_device *out);
	int (*name)(nvml_device d, char *out, unsigned size);
	int (*uuid)(nvml_device d, char *out, unsigned size);
	int (*memory)(nvml_device d, struct nvml_memory *out);
	int (*capability)(nvml_device d, int *major, int *minor);
	int (*power_limit)(nvml_device d, unsigned *milliwatts);
	int (*temperature)(nvml_device d, int sensor, unsigned *celsius);
	int (*clock)(nvml_device d, int kind, unsigned *mhz);
	int (*persistence)(nvml_device d, unsigned *on);
	int (*ecc)(nvml_device d, unsigned *now, unsigned *pending);
	int (*mig)(nvml_device d, unsigned *now, unsigned *pending);
	int (*compute_mode)(nvml_device d, unsigned *mode);
	int (*slowdown)(nvml_device d, unsigned long long *reasons);
	int (*stop)(void);
};

static json_t *nvml_error(const struct nvml *n, const char *call, int code)
{
	const char *words = n->error ? n->error(code) : NULL;
	json_t *out = json_object();

	json_object_set_new(out, "error", json_sprintf("%s: %s (%d)", call, words ? words : "error", code));
	return out;
}

static json_t *nvml_gpu(const struct nvml *n, unsigned i)
{
	json_t *out = json_pack("{s:i}", "index", (int)i);
	nvml_device d;
	char text[256] = "";
	struct nvml_memory memory;
	int major, minor, code = n->device(i, &d);
	unsigned number, pending;
	unsigned long long reasons;

	if (code) {
		json_object_set_new(out, "error", json_string(n->error ? n->error(code) : "no access"));
		return out;
	}
	if (n->name && !n->name(d, text, sizeof text))
		facts_text(out, "name", text);
	if (n->uuid && !n->uuid(d, text, sizeof text))
		facts_text(out, "uuid", text);
	if (n->memory && !n->memory(d, &memory)) {
		facts_number(out, "memory_bytes", (int64_t)memory.total);
		facts_number(out, "memory_free_bytes", (int64_t)memory.free);
	}
	if (n->capability && !n->capability(d, &major, &minor))
		json_object_set_new(out, "compute_capability", json_sprintf("%d.%d", major, minor));
	if (n->power_limit && !n->power_limit(d, &number))
		json_object_set_new(out, "power_limit_w", json_real(number / 1000.0));
	if (n->temperature && !n->temperature(d, 0, &number))
		facts_number(out, "temperature_c", number);
	if (n->clock && !n->clock(d, 1, &number))
		facts_number(out, "max_sm_clock_mhz", number);
	if (n->persistence && !n->persistence(d, &number))
		json_object_set_new(out, "persistence", json_boolean(number));
	if (n->ecc && !n->ecc(d, &number, &pending))
		json_object_set_new(out, "ecc", json_boolean(number));
	if (n->mig && !n->mig(d, &number, &pending))
		json_object_set_new(out, "mig", json_boolean(number));
	if (n->compute_mode && !n->compute_mode(d, &number))
		facts_text(out, "compute_mode",
			number == 0           ? "default"
				: number == 2 ? "prohibited"
				: number == 3 ? "exclusive process"
					      : "exclusive");
	if (n->slowdown && !n->slowdown(d, &reasons) && reasons & ~1ULL) // bit 0: idle
		json_object_set_new(out, "slowdown_reasons", json_sprintf("0x%llx", reasons));
	return out;
}

json_t *ask_nvml(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	struct nvml n = { 0 };
	char text[128] = "";
	unsigned count = 0;
	int code, cuda;

	if (!library) {
		const char *why = dlerror();

		return json_pack("{s:s}", "error", why ? why : "libnvidia-ml.so.1 cannot be opened");
	}
#define FIND(member, symbol) *(void **)&n.member = dlsym(library, symbol)
	FIND(start, "nvmlInit_v2");
	FIND(error, "nvmlErrorString");
	FIND(driver, "nvmlSystemGetDriverVersion");
	FIND(version, "nvmlSystemGetNVMLVersion");
	FIND(cuda, "nvmlSystemGetCudaDriverVersion_v2");
	FIND(count, "nvmlDeviceGetCount_v2");
	FIND(device, "nvmlDeviceGetHandleByIndex_v2");
	FIND(name, "nvmlDeviceGetName");
	FIND(uuid, "nvmlDeviceGetUUID");
	FIND(memory, "nvmlDeviceGetMemoryInfo");
	FIND(capability, "nvmlDeviceGetCudaComputeCapability");
	FIND(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
	FIND(temperature, "nvmlDeviceGetTemperature");
	FIND(clock, "nvmlDeviceGetMaxClockInfo");
	FIND(persistence, "nvmlDeviceGetPersistenceMode");
	FIND(ecc, "nvmlDeviceGetEccMode");
	FIND(mig, "nvmlDeviceGetMigMode");
	FIND(compute_mode, "nvmlDeviceGetComputeMode");
	FIND(slowdown, "nvmlDeviceGetCurrentClocksThrottleReasons");
	FIND(stop, "nvmlShutdown");
#undef FIND
	if (!n.start || !n.count || !n.device)
		return json_pack("{s:s}", "error",
			"libnvidia-ml.so.1 lacks nvmlInit_v2, nvmlDeviceGetCount_v2 or nvmlDeviceGetHandleByIndex_v2");
	code = n.start();
	if (code)
		return nvml_error(&n, "nvmlInit", code);
	json_t *out = json_object(), *gpus = json_array();
	if (n.driver && !n.driver(text, sizeof text))
		facts_text(out, "driver", text);
	if (n.version && !n.version(text, sizeof text))
		facts_text(out, "nvml", text);
	if (n.cuda && !n.cuda(&cuda))
		json_object_set_new(out, "cuda", json_sprintf("%d.%d", cuda / 1000, cuda % 1000 / 10));
	code = n.count(&count);
	for (unsigned i = 0; !code && i < count && i < 64; i++)
		json_array_append_new(gpus, nvml_gpu(&n, i));
	json_object_set_new(out, "gpus", gpus);
	if (n.stop)
		n.stop();
	return out;
}

// ---- what CUDA_VISIBLE_DEVICES leaves ------------------------------------------------------------------------------------

// "1,0", "GPU-8932f937" (the beginning of a UUID), "-1" or "" for none. CUDA stops at the first word that names no device.
static bool is_visible(const char *list, size_t index, size_t count, const char *uuid)
{
	for (const char *at = list; *at;) {
		const size_t n = strcspn(at, ",");
		char *end;
		const long number = strtol(at, &end, 10);

		if (end == at + n && n) {
			if (number < 0 || (size_t)number >= count)
				return false;
			if ((size_t)number == index)
				return true;
		} else if (!text_starts(at, "GPU-") && !text_starts(at, "MIG-")) {
			return false;
		} else if (uuid && strlen(uuid) >= n && !strncmp(uuid, at, n)) {
			return true;
		}
		at += n + (at[n] == ',');
	}
	return false;
}

static size_t mark_hidden(json_t *gpus)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	size_t i, hidden = 0;
	json_t *gpu;

	json_array_foreach(gpus, i, gpu)
	{
		const bool visible =
			!list || is_visible(list, i, json_array_size(gpus), json_string_value(json_object_get(gpu, "uuid")));

		json_object_set_new(gpu, "visible", json_boolean(visible));
		hidden += !visible;
	}
	return hidden;
}

// ---- files --------------------------------------------------------------------------------------------------------------

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 ...": the word made of digits and dots.
static const char *kernel_driver(const struct sysfs *s)
{
	const char *line = sysfs_line(s, "/proc/driver/nvidia/version");

	for (const char *at = line; at && *at;) {
		const size_t n = strcspn(at, " \t"), digits = strspn(at, "0123456789.");

		if (n > 3 && digits == n && memchr(at, '.', n))
			return arena_strndup(s->arena, at, n);
		at += n + strspn(at + n, " \t");
	}
	return sysfs_line(s, "/sys/module/nvidia/version");
}

static json_t *kernel_gpus(const struct sysfs *s)
{
	json_t *out = json_array();
	const char **names;
	const size_t count = sysfs_list(s, "/proc/driver/nvidia/gpus", "", false, &names);

	for (size_t i = 0; i < count; i++) {
		const char *text = sysfs_text(s, "/proc/driver/nvidia/gpus/%s/information", names[i]),
			   *uuid = sysfs_value(s, text, "GPU UUID");
		json_t *one = json_pack("{s:s}", "address", names[i]);

		facts_text(one, "name", sysfs_value(s, text, "Model"));
		facts_text(one, "uuid", uuid && !strchr(uuid, '?') ? uuid : NULL);
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *device_files(const struct sysfs *s)
{
	json_t *out = json_array(), *one;
	const char **names;
	const size_t count = sysfs_list(s, "/dev", "nvidia", true, &names);
	static const char *const others[] = { "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dxg" };

	for (size_t i = 0; i < count; i++)
		if ((one = sysfs_device(s, arena_printf(s->arena, "/dev/%s", names[i]))))
			json_array_append_new(out, one);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if ((one = sysfs_device(s, others[i])))
			json_array_append_new(out, one);
	return out;
}

static bool has_device(const json_t *files, const char *path)
{
	const json_t *one;
	size_t i;

	json_array_foreach(files, i, one) if (text_is(json_string_value(json_object_get(one, "path")), path)) return true;
	return false;
}

static void find_causes(json_t *out, const json_t *cards, const json_t *files)
{
	const json_t *nvml = json_object_get(out, "nvml"), *one;
	const char *failed = json_string_value(json_object_get(nvml, "error")),
		   *driver = json_string_value(json_object_get(out, "kernel_driver"));
	const json_t *card = json_array_get(cards, 0);
	const char *bound = json_string_value(json_object_get(card, "driver"));
	size_t i;

	if (card && !driver)
		facts_cause(out,
			"an NVIDIA card (%s) is on the PCI bus at %s, but NVIDIA's kernel driver is not loaded (%s%s): install "
			"the driver",
			json_string_value(json_object_get(card, json_object_get(card, "name") ? "name" : "id")),
			json_string_value(json_object_get(card, "address")), bound ? "it is bound to " : "it is bound to none",
			bound ? bound : "");
	else if (driver && !has_device(files, "/dev/nvidiactl"))
		facts_cause(out,
			"NVIDIA's kernel driver %s is loaded, but /dev/nvidiactl is not here: in a container, pass the card in "
			"(--gpus all); else run nvidia-modprobe",
			driver);
	else if (driver && failed)
		facts_cause(out, "NVIDIA's kernel driver %s is loaded, but NVML does not answer: %s", driver, failed);
	json_array_foreach(files, i, one) if (!json_is_true(json_object_get(one, "usable"))) facts_cause(out, "%s: %s",
		json_string_value(json_object_get(one, "path")), json_string_value(json_object_get(one, "reason")));
	// A library of CUDA 13 needs a driver that speaks it.
	const char *speaks = json_string_value(json_object_get(nvml, "cuda"));
	const char *runtime =
		json_string_value(json_object_get(json_object_get(json_object_get(out, "libraries"), "libcudart.so"), "version"));
	if (speaks && runtime && strtol(speaks, NULL, 10) < strtol(runtime, NULL, 10))
		facts_cause(out, "the driver supports CUDA %s, but the CUDA runtime here is %s: a newer driver is wanted", speaks,
			runtime);
}

json_t *facts_nvidia(const struct facts_source *source)
{
	static const char *const variables[] = { "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES",
		"NVIDIA_DRIVER_CAPABILITIES", NULL };
	const struct sysfs *s = &source->files;
	json_t *out = json_object(), *cards = facts_pci(s, PCI_NVIDIA), *files = device_files(s), *gpus = kernel_gpus(s);
	json_t *nvml = json_deep_copy(json_object_get(source->drivers, "nvml")), *asked = json_object_get(nvml, "gpus");
	size_t count, hidden;

	// NVML's list has everything that the kernel's has.
	if (json_array_size(asked)) {
		json_decref(gpus);
		gpus = json_incref(asked);
		json_object_del(nvml, "gpus");
	}
	count = json_array_size(gpus);
	hidden = mark_hidden(gpus);
	facts_environment(out, variables);
	facts_text(out, "kernel_driver", kernel_driver(s));
	facts_add(out, "libraries",
		facts_libraries(s,
			"libcuda.so libnvidia-ml.so libcudart.so libcublas.so libcublasLt.so libcufft.so libcurand.so "
			"libcudnn.so libnvinfer.so libnvonnxparser.so",
			"/usr/local/cuda/lib64\n/usr/local/cuda/targets/*/lib\n/usr/lib/wsl/lib"));
	facts_add(out, "nvml", nvml);
	if (count && hidden == count)
		facts_cause(out, "CUDA_VISIBLE_DEVICES=%s hides %s", getenv("CUDA_VISIBLE_DEVICES"),
			count == 1 ? "the only card" : "every card");
	else if (hidden)
		facts_finding(
			out, "CUDA_VISIBLE_DEVICES=%s hides %zu of %zu cards", getenv("CUDA_VISIBLE_DEVICES"), hidden, count);
	find_causes(out, cards, files);
	if (!count && !json_array_size(cards) && !json_array_size(files)) {
		const char *unseen = facts_pci_unseen(s);

		if (unseen)
			facts_cause(out,
				"no kernel driver and no device file of NVIDIA's, and %s: whether there is a card is not "
				"known",
				unseen);
		else
			facts_cause(out, "no NVIDIA card: none on the PCI bus, no kernel driver, no device file");
	}
	facts_add(out, "gpus", gpus);
	facts_add(out, "pci", cards);
	facts_add(out, "device_files", files);
	return out;
}
