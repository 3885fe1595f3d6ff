// SPDX-License-Identifier: Apache-2.0
// Where counters lie:
//   /sys/class/powercap/intel-rapl:N          a processor package (AMD's too); name, energy_uj, max_energy_range_uj
//   /sys/class/powercap/intel-rapl:N:K        a part of it: core and uncore are in its energy, dram is listed there
//   /sys/class/powercap/intel-rapl-mmio:N     the same package by another way: only where the first is not there
//   /sys/class/hwmon/hwmonN/energyK_input     microjoules; energyK_label "Esocket0", "Ecore000" (amd_energy), of a GPU: i915, xe
//   nvmlDeviceGetTotalEnergyConsumption       millijoules since the driver was loaded (Volta and newer)
//   amdsmi_get_energy_count                   a number and how many microjoules one is
// A zone "psys" is the whole board, with the packages in it, and is left out.
#include "platform/energy.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define POWERCAP "/sys/class/powercap"
#define HWMON "/sys/class/hwmon"

// No package takes more: a counter that could have gone round in the time between two readings at this power tells nothing.
static const double most_w = 1000;

static void add_why(struct energy *e, const char *why)
{
	e->why = arena_join(e->files.arena, e->why, "; ", why);
}

static void add(struct energy *e, const struct energy_counter *c)
{
	if (e->count < ENERGY_MOST)
		e->items[e->count++] = *c;
}

// Adds a file of microjoules that can be read, or says why it cannot.
static void add_file(struct energy *e, const char *name, const char *path, int64_t range_uj, bool is_part)
{
	struct arena *a = e->files.arena;
	int64_t now;

	if (access(arena_printf(a, "%s%s", e->files.root, path), R_OK)) {
		if (!is_part)
			add_why(e,
				arena_printf(a, "%s cannot be read: %s%s", path, strerror(errno),
					errno == EACCES ? "; root may" : ""));
		return;
	}
	now = sysfs_number(&e->files, -1, "%s", path);
	if (now >= 0)
		add(e, &(struct energy_counter){ .name = name, .path = path, .range_uj = range_uj, .is_part = is_part });
	else if (!is_part)
		add_why(e, arena_printf(a, "%s holds no number", path));
}

// ---- powercap -----------------------------------------------------------------------------------------------------------

static void add_zone(struct energy *e, const char *zone, const char *name, bool is_part)
{
	struct arena *a = e->files.arena;

	add_file(e, name, arena_printf(a, POWERCAP "/%s/energy_uj", zone),
		sysfs_number(&e->files, 0, POWERCAP "/%s/max_energy_range_uj", zone), is_part);
}

// Zones of one way to the packages. True: it has packages, whether they can be read or not.
static bool add_packages(struct energy *e, const char *prefix)
{
	struct arena *a = e->files.arena;
	const char **zones, **parts;
	const size_t count = sysfs_list(&e->files, POWERCAP, prefix, true, &zones);
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const char *name = sysfs_line(&e->files, POWERCAP "/%s/name", zones[i]);

		if (!name || !text_starts(name, "package"))
			continue;
		any = true;
		add_zone(e, zones[i], name, false);
		const size_t n = sysfs_list(&e->files, POWERCAP, arena_printf(a, "%s:", zones[i]), true, &parts);
		for (size_t k = 0; k < n; k++)
			if (text_is(sysfs_line(&e->files, POWERCAP "/%s/name", parts[k]), "dram"))
				add_zone(e, parts[k], arena_printf(a, "%s dram", name), true);
	}
	return any;
}

// ---- hwmon --------------------------------------------------------------------------------------------------------------

static bool has_word(const char *words, const char *word)
{
	const size_t n = word ? strlen(word) : 0;

	for (const char *at = words; n && at && *at; at += at[strcspn(at, " ")] ? strcspn(at, " ") + 1 : strcspn(at, " "))
		if (strcspn(at, " ") == n && !strncmp(at, word, n))
			return true;
	return false;
}

// Of a processor its sockets, for cores are in them; of a GPU (`gpu`: words) its first counter, which is the card's.
static bool add_hwmon(struct energy *e, const char *gpu)
{
	struct arena *a = e->files.arena;
	const char **monitors, **inputs;
	const size_t count = sysfs_list(&e->files, HWMON, "hwmon", true, &monitors);
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const char *folder = arena_printf(a, HWMON "/%s", monitors[i]);
		const char *device = sysfs_line(&e->files, "%s/name", folder);
		const size_t n = sysfs_list(&e->files, folder, "energy", false, &inputs);

		if (gpu ? !has_word(gpu, device) : has_word("i915 xe amdgpu nouveau", device))
			continue;
		for (size_t k = 0; k < n; k++) {
			if (!text_ends(inputs[k], "_input"))
				continue;
			const char *stem = arena_strndup(a, inputs[k], strlen(inputs[k]) - strlen("_input"));
			const char *label = sysfs_line(&e->files, "%s/%s_label", folder, stem);

			if (!gpu && label && !text_starts(label, "Esocket"))
				continue;
			any = true;
			add_file(e, arena_printf(a, "%s %s", device ? device : monitors[i], label ? label : stem),
				arena_printf(a, "%s/%s", folder, inputs[k]), 0, false);
			if (gpu)
				break;
		}
	}
	return any;
}

// ---- vendors' libraries -------------------------------------------------------------------------------------------------

struct energy_driver {
	int (*nvml_energy)(void *gpu, unsigned long long *millijoules);
	int (*amd_energy)(void *gpu, uint64_t *count, float *microjoules_each, uint64_t *time);
	int (*stop)(void);
};

static void *symbol(void *library, const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

static int64_t gpu_uj(const struct energy_driver *d, const void *gpu)
{
	void *handle = (void *)(uintptr_t)gpu;
	unsigned long long millijoules = 0;
	uint64_t count = 0, time;
	float each = 0;

	if (d->nvml_energy)
		return d->nvml_energy(handle, &millijoules) || millijoules > INT64_MAX / 1000 ? -1 : (int64_t)millijoules * 1000;
	if (d->amd_energy(handle, &count, &each, &time))
		return -1;
	const double uj = (double)count * (double)each;
	return uj >= 0 && uj < 9e18 ? (int64_t)uj : -1;
}

static void add_gpu(struct energy *e, size_t number, const void *gpu)
{
	struct arena *a = e->files.arena;

	if (gpu_uj(e->driver, gpu) >= 0)
		add(e, &(struct energy_counter){ .name = arena_printf(a, "GPU %zu", number), .gpu = gpu });
	else
		add_why(e, arena_printf(a, "GPU %zu has no counter of energy", number));
}

static void open_nvml(struct energy *e)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *gpu;
	int (*start)(void), (*count_of)(unsigned *), (*gpu_at)(unsigned, void **);
	unsigned count = 0;

	*(void **)&start = symbol(library, "nvmlInit_v2");
	*(void **)&count_of = symbol(library, "nvmlDeviceGetCount_v2");
	*(void **)&gpu_at = symbol(library, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&e->driver->nvml_energy = symbol(library, "nvmlDeviceGetTotalEnergyConsumption");
	*(void **)&e->driver->stop = symbol(library, "nvmlShutdown");
	if (!start || !count_of || !gpu_at || !e->driver->nvml_energy || start() || count_of(&count)) {
		e->driver->stop = NULL;
		add_why(e, library ? "NVML counts no energy here" : "libnvidia-ml.so.1 cannot be opened");
		return;
	}
	for (unsigned i = 0; i < count; i++)
		if (!gpu_at(i, &gpu))
			add_gpu(e, i, gpu);
}

static void open_amdsmi(struct energy *e)
{
	static const char *const names[] = { "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "libamd_smi.so" };
	enum { GPUS = 1 << 1, HANDLES = 64 };
	int (*start)(uint64_t flags), (*sockets_of)(uint32_t * count, void **out);
	int (*processors_of)(void *socket, uint32_t *count, void **out);
	void *library = NULL, *sockets[HANDLES], *processors[HANDLES];
	uint32_t socket_count = HANDLES;
	size_t number = 0;

	for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	*(void **)&start = symbol(library, "amdsmi_init");
	*(void **)&sockets_of = symbol(library, "amdsmi_get_socket_handles");
	*(void **)&processors_of = symbol(library, "amdsmi_get_processor_handles");
	*(void **)&e->driver->amd_energy = symbol(library, "amdsmi_get_energy_count");
	*(void **)&e->driver->stop = symbol(library, "amdsmi_shut_down");
	if (!start || !sockets_of || !processors_of || !e->driver->amd_energy || start(GPUS) ||
		sockets_of(&socket_count, sockets)) {
		e->driver->stop = NULL;
		add_why(e, library ? "amdsmi counts no energy here" : "libamd_smi.so cannot be opened");
		return;
	}
	for (uint32_t i = 0; i < socket_count && i < HANDLES; i++) {
		uint32_t count = HANDLES;

		if (processors_of(sockets[i], &count, processors))
			continue;
		for (uint32_t k = 0; k < count && k < HANDLES; k++)
			add_gpu(e, number++, processors[k]);
	}
}

// ---- reading ------------------------------------------------------------------------------------------------------------

void energy_open(struct energy *e, struct arena *a, const char *root, const char *driver, const char *gpu)
{
	*e = (struct energy){ .files = { a, root } };
	if (!add_packages(e, "intel-rapl:") && !add_packages(e, "intel-rapl-mmio:") && !add_hwmon(e, NULL)) {
		const char *cpu = sysfs_text(&e->files, "/proc/cpuinfo");

		add_why(e,
			cpu && strstr(cpu, " hypervisor") ? "a virtual machine is shown no counter of the processor's energy"
							  : "neither " POWERCAP " nor " HWMON
							    " has a counter of the processor's energy");
	}
	if (!driver && !gpu)
		return;
	// Of a GPU its own counters are the answer; the processor's is often kept from all but root.
	e->without = e->why;
	e->why = NULL;
	if (gpu && !add_hwmon(e, gpu))
		add_why(e, "no counter of the GPU's energy in " HWMON);
	if (!driver)
		return;
	e->driver = ARENA_NEW(a, struct energy_driver);
	if (text_is(driver, "nvml"))
		open_nvml(e);
	else
		open_amdsmi(e);
}

void energy_read(const struct energy *e, struct energy_reading *out)
{
	struct arena a = { 0 };
	const struct sysfs files = { &a, e->files.root };

	for (size_t i = 0; i < e->count; i++) {
		const struct energy_counter *c = &e->items[i];

		out->uj[i] = c->path ? sysfs_number(&files, -1, "%s", c->path) : gpu_uj(e->driver, c->gpu);
	}
	out->at_ns = clock_ns();
	arena_done(&a);
}

void energy_close(struct energy *e)
{
	if (e->driver && e->driver->stop)
		e->driver->stop();
	e->driver = NULL;
	e->count = 0;
}

// ---- figures ------------------------------------------------------------------------------------------------------------

double energy_between(const struct energy *e, size_t i, const struct energy_reading *before, const struct energy_reading *after,
	const char **why)
{
	const struct energy_counter *c = &e->items[i];
	const int64_t from = before->uj[i], to = after->uj[i];
	struct arena *a = e->files.arena;
	const double seconds = (double)(after->at_ns - before->at_ns) / 1e9;

	*why = NULL;
	if (from < 0 || to < 0)
		*why = arena_printf(a, "%s could not be read", c->name);
	else if (to == from)
		*why = arena_printf(a, "%s stood still for %.3g s", c->name, seconds);
	else if (to < from && (c->range_uj < from || c->range_uj < to))
		*why = arena_printf(a, "%s went back", c->name);
	else if (c->range_uj > 0 && seconds * most_w * 1e6 > (double)c->range_uj)
		*why = arena_printf(a, "%s may have gone round more than once in %.3g s", c->name, seconds);
	if (*why)
		return (double)NAN;
	return (double)(to > from ? to - from : c->range_uj - from + to) / 1e6;
}

static double seconds_between(const struct energy_reading *x, const struct energy_reading *y)
{
	return (double)(y->at_ns - x->at_ns) / 1e9;
}

// All or none: a sum that lacks a package is the energy of nothing.
void energy_figures(const struct energy *e, const struct energy_reading idle[2], const struct energy_reading *begin,
	const struct energy_reading *end, struct energy_figures *out)
{
	struct arena *a = e->files.arena;
	const double idle_s = seconds_between(&idle[0], &idle[1]);
	const char *names = NULL;

	*out = (struct energy_figures){ .seconds = seconds_between(begin, end), .parts = json_array() };
	if (e->why || !e->count) {
		out->why = e->why ? e->why : "no counter of energy";
		out->joules = out->idle_w = out->total_j = (double)NAN;
		return;
	}
	for (size_t i = 0; i < e->count; i++) {
		const char *why[2];
		const double j = energy_between(e, i, begin, end, &why[0]),
			     rest = energy_between(e, i, &idle[0], &idle[1], &why[1]);
		json_t *part = json_pack("{s:s, s:o, s:o, s:b}", "counter", e->items[i].name, "joules",
			isnan(j) ? json_null() : json_real(j), "idle_w", isnan(rest) ? json_null() : json_real(rest / idle_s),
			"added", !e->items[i].is_part);

		json_array_append_new(out->parts, part);
		if (e->items[i].is_part)
			continue;
		names = arena_join(a, names, ", ", e->items[i].name);
		out->total_j += j;
		out->idle_w += rest / idle_s;
		for (size_t k = 0; k < 2; k++)
			out->why = why[k] ? arena_join(a, out->why, "; ", why[k]) : out->why;
	}
	if (names)
		out->source = arena_printf(a, "%s%s; everything that ran on the machine is in it", names,
			e->without ? arena_printf(a, " (without the processor: %s)", e->without) : "");
	out->joules = out->total_j - out->idle_w * out->seconds;
	if (!names)
		out->why = "no counter but of parts";
	else if (!out->why && !(out->joules > 0))
		out->why = arena_printf(a, "it took %.3g W, and %.3g W before anything was loaded: something else was at work",
			out->total_j / out->seconds, out->idle_w);
	if (out->why)
		out->joules = (double)NAN;
	if (!names)
		out->idle_w = out->total_j = (double)NAN;
}
