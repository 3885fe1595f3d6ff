// SPDX-License-Identifier: Apache-2.0
// What the kernel says about the processor beyond struct machine: every cache and who shares it, NUMA nodes, how frequencies are
// chosen, threads of a core, microcode; and what holds this process: its container and its control groups.
#include "platform/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/host.h"

#define CPU "/sys/devices/system/cpu"

// ---- ARM's names --------------------------------------------------------------------------------------------------------

const char *cpu_arm_name(long implementer, long part)
{
	static const struct {
		long implementer, part;
		const char *name;
	} names[] = {
		{ 0x41, 0xd03, "Cortex-A53" },
		{ 0x41, 0xd04, "Cortex-A35" },
		{ 0x41, 0xd05, "Cortex-A55" },
		{ 0x41, 0xd07, "Cortex-A57" },
		{ 0x41, 0xd08, "Cortex-A72" },
		{ 0x41, 0xd09, "Cortex-A73" },
		{ 0x41, 0xd0a, "Cortex-A75" },
		{ 0x41, 0xd0b, "Cortex-A76" },
		{ 0x41, 0xd0c, "Neoverse N1" },
		{ 0x41, 0xd0d, "Cortex-A77" },
		{ 0x41, 0xd40, "Neoverse V1" },
		{ 0x41, 0xd41, "Cortex-A78" },
		{ 0x41, 0xd42, "Cortex-A78AE" },
		{ 0x41, 0xd44, "Cortex-X1" },
		{ 0x41, 0xd46, "Cortex-A510" },
		{ 0x41, 0xd47, "Cortex-A710" },
		{ 0x41, 0xd48, "Cortex-X2" },
		{ 0x41, 0xd49, "Neoverse N2" },
		{ 0x41, 0xd4a, "Neoverse E1" },
		{ 0x41, 0xd4b, "Cortex-A78C" },
		{ 0x41, 0xd4d, "Cortex-A715" },
		{ 0x41, 0xd4e, "Cortex-X3" },
		{ 0x41, 0xd4f, "Neoverse V2" },
		{ 0x41, 0xd80, "Cortex-A520" },
		{ 0x41, 0xd81, "Cortex-A720" },
		{ 0x41, 0xd82, "Cortex-X4" },
		{ 0x41, 0xd84, "Neoverse V3" },
		{ 0x41, 0xd85, "Cortex-X925" },
		{ 0x41, 0xd87, "Cortex-A725" },
		{ 0x41, 0xd8e, "Neoverse N3" },
		{ 0x46, 0x001, "A64FX" },
		{ 0x48, 0xd01, "Kunpeng 920" },
		{ 0x51, 0x001, "Oryon" },
		{ 0xc0, 0xac3, "Ampere-1" },
		{ 0xc0, 0xac4, "Ampere-1a" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].implementer == implementer && names[i].part == part)
			return names[i].name;
	return NULL;
}

// ---- caches, nodes, frequency -------------------------------------------------------------------------------------------

// How many CPUs a list "0-3,8" has.
static int64_t count_list(const char *list)
{
	int64_t n = 0;

	while (list && *list) {
		char *end;
		const long long from = strtoll(list, &end, 10);
		long long to = from;

		if (end == list)
			break;
		if (*end == '-')
			to = strtoll(end + 1, &end, 10);
		n += to >= from ? to - from + 1 : 0;
		list = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			break;
	}
	return n;
}

static int64_t size_of(const char *text)
{
	char *unit;
	const long long n = strtoll(text, &unit, 10);

	return unit == text ? -1 : *unit == 'K' ? n << 10 : *unit == 'M' ? n << 20 : n;
}

static json_t *find_caches(const struct sysfs *s)
{
	json_t *out = json_array();
	const char **names;
	const size_t count = sysfs_list(s, CPU "/cpu0/cache", "index", true, &names);

	for (size_t i = 0; i < count; i++) {
		const char *folder = arena_printf(s->arena, CPU "/cpu0/cache/%s", names[i]),
			   *size = sysfs_line(s, "%s/size", folder);
		const char *type = sysfs_line(s, "%s/type", folder), *shared = sysfs_line(s, "%s/shared_cpu_list", folder);
		const int64_t level = sysfs_number(s, -1, "%s/level", folder);

		if (level < 0 || !type)
			continue;
		json_t *one = json_pack("{s:s}", "name",
			arena_printf(s->arena, "L%d%s", (int)level,
				type[0] == 'D'           ? "d"
					: type[0] == 'I' ? "i"
							 : ""));
		facts_number(one, "bytes", size ? size_of(size) : -1);
		facts_number(one, "line_bytes", sysfs_number(s, -1, "%s/coherency_line_size", folder));
		facts_number(one, "ways", sysfs_number(s, -1, "%s/ways_of_associativity", folder));
		facts_text(one, "cpus", shared);
		facts_number(one, "shared_by_threads", shared ? count_list(shared) : -1);
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *find_nodes(const struct sysfs *s)
{
	json_t *out = json_array();
	const char **names;
	const size_t count = sysfs_list(s, "/sys/devices/system/node", "node", true, &names);

	for (size_t i = 0; i < count; i++) {
		const char *memory = sysfs_text(s, "/sys/devices/system/node/%s/meminfo", names[i]);
		const char *total = memory ? strstr(memory, "MemTotal:") : NULL;
		json_t *one = json_pack("{s:I}", "node", (json_int_t)strtoll(names[i] + 4, NULL, 10));

		facts_text(one, "cpus", sysfs_line(s, "/sys/devices/system/node/%s/cpulist", names[i]));
		facts_number(one, "memory_bytes", total ? strtoll(total + strlen("MemTotal:"), NULL, 10) * 1024 : -1);
		facts_text(one, "distance", sysfs_line(s, "/sys/devices/system/node/%s/distance", names[i]));
		json_array_append_new(out, one);
	}
	return out;
}

// One word where all agree, else "performance powersave".
static void add_word(const struct sysfs *s, const char **words, const char *word)
{
	if (!word || !*word || (*words && strstr(*words, word)))
		return;
	*words = *words ? arena_printf(s->arena, "%s %s", *words, word) : word;
}

static json_t *find_frequency(const struct sysfs *s)
{
	json_t *out = json_object();
	const char **names, *governors = NULL, *drivers = NULL, *preferences = NULL;
	const size_t count = sysfs_list(s, CPU "/cpufreq", "policy", true, &names);
	int64_t least = -1, most = -1, allowed_least = -1, allowed_most = -1, base = -1;

	for (size_t i = 0; i < count; i++) {
		const char *folder = arena_printf(s->arena, CPU "/cpufreq/%s", names[i]);
		const int64_t low = sysfs_number(s, -1, "%s/cpuinfo_min_freq", folder),
			      high = sysfs_number(s, -1, "%s/cpuinfo_max_freq", folder);
		const int64_t from = sysfs_number(s, -1, "%s/scaling_min_freq", folder),
			      to = sysfs_number(s, -1, "%s/scaling_max_freq", folder);
		const int64_t sure = sysfs_number(s, -1, "%s/base_frequency", folder);

		least = low >= 0 && (least < 0 || low < least) ? low : least;
		most = high > most ? high : most;
		allowed_least = from >= 0 && (allowed_least < 0 || from < allowed_least) ? from : allowed_least;
		allowed_most = to > allowed_most ? to : allowed_most;
		base = sure > base ? sure : base;
		add_word(s, &governors, sysfs_line(s, "%s/scaling_governor", folder));
		add_word(s, &drivers, sysfs_line(s, "%s/scaling_driver", folder));
		add_word(s, &preferences, sysfs_line(s, "%s/energy_performance_preference", folder));
	}
	facts_text(out, "driver", drivers);
	facts_text(out, "governor", governors);
	facts_text(out, "energy_preference", preferences);
	facts_number(out, "min_khz", least);
	facts_number(out, "max_khz", most);
	facts_number(out, "base_khz", base);
	facts_number(out, "allowed_min_khz", allowed_least);
	facts_number(out, "allowed_max_khz", allowed_most);
	const int64_t no_turbo = sysfs_number(s, -1, CPU "/intel_pstate/no_turbo"),
		      boost = sysfs_number(s, -1, CPU "/cpufreq/boost");
	if (no_turbo >= 0 || boost >= 0)
		json_object_set_new(out, "turbo", json_boolean(no_turbo >= 0 ? !no_turbo : boost));
	const char *idle = sysfs_line(s, CPU "/cpuidle/current_driver"),
		   *idle_governor = sysfs_line(s, CPU "/cpuidle/current_governor");
	facts_text(out, "idle_driver", text_is(idle, "none") ? NULL : idle);
	facts_text(out, "idle_governor", idle_governor ? idle_governor : sysfs_line(s, CPU "/cpuidle/current_governor_ro"));
	return out;
}

// Cores of two kinds: Intel's lists, or ARM's capacities.
static json_t *find_kinds(const struct sysfs *s)
{
	json_t *out = json_object();
	int64_t capacity[8];
	size_t kinds = 0;
	const char **names;

	facts_text(out, "performance_cpus", sysfs_line(s, "/sys/devices/cpu_core/cpus"));
	facts_text(out, "efficiency_cpus", sysfs_line(s, "/sys/devices/cpu_atom/cpus"));
	facts_text(out, "low_power_cpus", sysfs_line(s, "/sys/devices/cpu_lowpower/cpus"));
	const size_t count = sysfs_list(s, CPU, "cpu", true, &names);
	for (size_t i = 0; i < count; i++) {
		const int64_t n = sysfs_number(s, -1, CPU "/%s/cpu_capacity", names[i]);
		size_t k = 0;

		while (k < kinds && capacity[k] != n)
			k++;
		if (n >= 0 && k == kinds && kinds < 8)
			capacity[kinds++] = n;
	}
	if (kinds > 1) {
		json_t *list = json_array();

		for (size_t k = 0; k < kinds; k++)
			json_array_append_new(list, json_integer(capacity[k]));
		json_object_set_new(out, "capacities", list);
	}
	return out;
}

// ---- what holds this process --------------------------------------------------------------------------------------------

static const char *word_of_path(const char *text)
{
	static const char *const marks[][2] = { { "kubepods", "kubernetes" }, { "/docker", "docker" }, { "libpod", "podman" },
		{ "/lxc", "lxc" }, { "/machine.slice/machine-", "systemd-nspawn" }, { "containerd", "containerd" },
		{ "garden", "garden" } };

	for (size_t i = 0; text && i < sizeof marks / sizeof *marks; i++)
		if (strstr(text, marks[i][0]))
			return marks[i][1];
	return NULL;
}

static json_t *find_container(const struct sysfs *s)
{
	const char *groups = sysfs_text(s, "/proc/self/cgroup"), *mounts = sysfs_text(s, "/proc/self/mountinfo");
	const char *said = sysfs_line(s, "/run/systemd/container"), *word, *file = sysfs_text(s, "/run/.containerenv");

	if (!*s->root && getenv("KUBERNETES_SERVICE_HOST"))
		return json_pack("{s:s, s:s}", "kind", "kubernetes", "why", "KUBERNETES_SERVICE_HOST is set");
	if ((word = word_of_path(groups)))
		return json_pack("{s:s, s:s}", "kind", word, "why", "the control group's name in /proc/self/cgroup");
	if (file || sysfs_exists(s, "/run/.containerenv"))
		return json_pack("{s:s, s:s}", "kind", "podman", "why", "/run/.containerenv is there");
	if (sysfs_exists(s, "/.dockerenv"))
		return json_pack("{s:s, s:s}", "kind", "docker", "why", "/.dockerenv is there");
	if (said && *said)
		return json_pack("{s:s, s:s}", "kind", said, "why", "/run/systemd/container says so");
	// The folder that a control group's mount shows is the host's name for it.
	const char *at = mounts ? strstr(mounts, " - cgroup") : NULL;
	while (at) {
		const char *line = at;

		while (line > mounts && line[-1] != '\n')
			line--;
		if ((word = word_of_path(arena_strndup(s->arena, line, (size_t)(at - line)))))
			return json_pack(
				"{s:s, s:s}", "kind", word, "why", "the mount of the control groups in /proc/self/mountinfo");
		at = strstr(at + 1, " - cgroup");
	}
	return NULL;
}

static json_t *find_limits(const struct sysfs *s)
{
	json_t *out = json_object();
	const double quota = host_cpu_quota(s->root);
	const int64_t memory = host_memory_limit(s->root), left = host_memory_left(s->root);
	const char *status = sysfs_text(s, "/proc/self/status");

	facts_text(out, "cgroup", host_cgroup(s->root));
	facts_text(out, "allowed_cpus", sysfs_value(s, status, "Cpus_allowed_list"));
	facts_text(out, "allowed_nodes", sysfs_value(s, status, "Mems_allowed_list"));
	if (quota > 0)
		json_object_set_new(out, "cpu_quota", json_real(quota));
	facts_number(out, "memory_bytes", memory > 0 ? memory : -1);
	facts_number(out, "memory_left_bytes", left > 0 ? left : -1);
	return out;
}

json_t *facts_cpu(const struct facts_source *source)
{
	const struct sysfs *s = &source->files;
	const struct machine *m = source->machine;
	json_t *out = json_object(), *frequency = find_frequency(s);
	char text[64];
	const char *active;

	facts_add(out, "caches", find_caches(s));
	facts_add(out, "numa_nodes", find_nodes(s));
	facts_add(out, "core_kinds", find_kinds(s));
	active = sysfs_line(s, CPU "/smt/active");
	if (active)
		json_object_set_new(out, "threads_share_cores", json_boolean(text_is(active, "1")));
	facts_text(out, "smt_control", sysfs_line(s, CPU "/smt/control"));
	const char *microcode = host_cpuinfo(s->root, "microcode", text, sizeof text);
	facts_text(
		out, "microcode", *microcode ? arena_strdup(s->arena, microcode) : sysfs_line(s, CPU "/cpu0/microcode/version"));
	facts_text(out, "isolated_cpus", sysfs_line(s, CPU "/isolated"));
	facts_text(out, "huge_pages", sysfs_line(s, "/sys/kernel/mm/transparent_hugepage/enabled"));
	facts_text(out, "firmware_vendor", sysfs_line(s, "/sys/class/dmi/id/sys_vendor"));
	facts_text(out, "product", sysfs_line(s, "/sys/class/dmi/id/product_name"));
	facts_text(out, "board", sysfs_line(s, "/proc/device-tree/model"));
	facts_text(out, "hypervisor", m ? m->hypervisor : NULL);
	if (!json_object_get(frequency, "governor") && m && m->hypervisor)
		facts_finding(out,
			"the hypervisor hides how the clock is governed: frequency, turbo and throttling cannot be known here");
	else if (json_object_get(frequency, "governor") &&
		!text_is(json_string_value(json_object_get(frequency, "governor")), "performance"))
		facts_finding(out, "the frequency governor is %s: times vary more than with performance",
			json_string_value(json_object_get(frequency, "governor")));
	facts_add(out, "frequency", frequency);
	facts_add(out, "container", find_container(s));
	facts_add(out, "limits", find_limits(s));
	const json_t *quota = json_object_get(json_object_get(out, "limits"), "cpu_quota");
	if (quota)
		facts_finding(out,
			"a control group allows %.2f CPUs: a process that uses more is stopped for the rest of each period",
			json_real_value(quota));
	return out;
}
