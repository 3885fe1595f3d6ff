// SPDX-License-Identifier: Apache-2.0
// Reads /proc/stat, /proc/loadavg, /proc/pressure/cpu and small files of sysfs. It judges nothing but "disturbed".
#include "platform/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "backend/host.h"
#include "platform/sysfs.h"

#define CPU "/sys/devices/system/cpu"
#define WINDOW_S 0.5

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double used_s(int who)
{
	struct rusage u;

	if (getrusage(who, &u))
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

// "cpu  user nice system idle iowait irq softirq steal ...": guests' time is in user.
static void read_times(struct state_sample *out, const struct sysfs *s)
{
	const char *at = sysfs_text(s, "/proc/stat");
	const double tick = (double)sysconf(_SC_CLK_TCK);
	double n[8] = { 0 };
	char *end;

	if (!at || !text_starts(at, "cpu "))
		return;
	at += 4;
	for (size_t i = 0; i < 8; i++, at = end) {
		n[i] = strtod(at, &end);
		if (end == at && i < 7)
			return; // steal came last, with Linux 2.6.11
	}
	out->busy_s = (n[0] + n[1] + n[2] + n[5] + n[6]) / tick;
	out->steal_s = n[7] / tick;
	for (at = strstr(at, "\ncpu"); at; at = strstr(at + 1, "\ncpu"))
		out->cpus++;
}

// Sensors that are the processor's, by the names that the kernel's drivers have; else zones that say so.
static double hottest(const struct sysfs *s)
{
	static const char *const drivers = " coretemp k10temp k8temp zenpower cpu_thermal cpu-thermal soc_thermal ";
	double most = NAN;
	const char **monitors, **inputs, **zones;
	const size_t monitor_count = sysfs_list(s, "/sys/class/hwmon", "hwmon", true, &monitors);

	for (size_t i = 0; i < monitor_count; i++) {
		const char *folder = arena_printf(s->arena, "/sys/class/hwmon/%s", monitors[i]),
			   *name = sysfs_line(s, "%s/name", folder);

		if (!name || !*name || !strstr(drivers, arena_printf(s->arena, " %s ", name)))
			continue;
		const size_t input_count = sysfs_list(s, folder, "temp", false, &inputs);
		for (size_t k = 0; k < input_count; k++) {
			const int64_t milli = text_ends(inputs[k], "_input")
				? sysfs_number(s, INT64_MIN, "%s/%s", folder, inputs[k])
				: INT64_MIN;

			if (milli > -100000 && !((double)milli / 1000 <= most))
				most = (double)milli / 1000;
		}
	}
	if (!isnan(most))
		return most;
	const size_t zone_count = sysfs_list(s, "/sys/class/thermal", "thermal_zone", true, &zones);
	for (size_t i = 0; i < zone_count; i++) {
		const char *type = sysfs_line(s, "/sys/class/thermal/%s/type", zones[i]);
		const int64_t milli = sysfs_number(s, INT64_MIN, "/sys/class/thermal/%s/temp", zones[i]);

		if (type && (strstr(type, "cpu") || strstr(type, "CPU") || strstr(type, "pkg") || strstr(type, "soc")) &&
			milli > -100000 && !((double)milli / 1000 <= most))
			most = (double)milli / 1000;
	}
	return most;
}

static void read_clocks(struct state_sample *out, const struct sysfs *s)
{
	const char **cpus;
	const size_t count = sysfs_list(s, CPU, "cpu", true, &cpus);
	int64_t sum = 0, known = 0;

	for (size_t i = 0; i < count; i++) {
		const int64_t khz = sysfs_number(s, -1, CPU "/%s/cpufreq/scaling_cur_freq", cpus[i]);
		const int64_t core = sysfs_number(s, -1, CPU "/%s/thermal_throttle/core_throttle_count", cpus[i]);
		const int64_t package = sysfs_number(s, -1, CPU "/%s/thermal_throttle/package_throttle_count", cpus[i]);
		const char *governor = sysfs_line(s, CPU "/%s/cpufreq/scaling_governor", cpus[i]);

		if (khz > 0) {
			sum += khz;
			known++;
		}
		if (core >= 0 || package >= 0)
			out->thermal_events = (out->thermal_events < 0 ? 0 : out->thermal_events) + (core > 0 ? core : 0) +
				(package > 0 ? package : 0);
		if (governor && *governor && !out->governor)
			out->governor = governor;
		else if (governor && *governor && !strstr(out->governor, governor))
			out->governor = arena_printf(s->arena, "%s %s", out->governor, governor);
	}
	out->frequency_khz = known ? sum / known : -1;
}

void state_read(struct state_sample *out, struct arena *a, const char *root)
{
	const struct sysfs s = { a, root };
	const char *load = sysfs_line(&s, "/proc/loadavg"), *pressure = sysfs_line(&s, "/proc/pressure/cpu"),
		   *memory = sysfs_text(&s, "/proc/meminfo");
	const char *recent = pressure ? strstr(pressure, "avg10=") : NULL, *available = sysfs_value(&s, memory, "MemAvailable");

	*out = (struct state_sample){ .at_s = now_s(),
		.own_s = used_s(RUSAGE_SELF) + used_s(RUSAGE_CHILDREN),
		.busy_s = NAN,
		.steal_s = NAN,
		.load = load && *load ? strtod(load, NULL) : NAN,
		.pressure = recent ? strtod(recent + strlen("avg10="), NULL) : NAN,
		.thermal_events = -1,
		.memory_available_bytes = available && *available ? strtoll(available, NULL, 10) * 1024 : -1 };
	read_times(out, &s);
	out->temperature_c = hottest(&s);
	out->throttled_us = host_throttled_us(root);
	read_clocks(out, &s);
}

double state_others(const struct state_sample *before, const struct state_sample *after)
{
	const double seconds = after->at_s - before->at_s,
		     others = after->busy_s - before->busy_s - (after->own_s - before->own_s);

	if (!(seconds > 0) || isnan(others))
		return NAN;
	return others > 0 ? others / seconds : 0;
}

// ---- waiting ------------------------------------------------------------------------------------------------------------

static double allowed(int cpus)
{
	return cpus > 2 ? cpus / 20.0 : 0.1;
}

void state_wait(struct calm *out, double limit_s, const volatile sig_atomic_t *stop)
{
	const double begin = now_s();
	int in_a_row = 0;

	*out = (struct calm){ .asked = true };
	while (!out->calm && !(stop && *stop) && (out->waited_s = now_s() - begin) < limit_s) {
		struct arena a = { 0 };
		struct state_sample before, after;
		const double left = limit_s - out->waited_s, wait = left < WINDOW_S ? left : WINDOW_S;
		const struct timespec window = { (time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9) };

		state_read(&before, &a, "");
		nanosleep(&window, NULL);
		state_read(&after, &a, "");
		out->others = state_others(&before, &after);
		// What cannot be known is not called calm.
		const bool good = out->others <= allowed(after.cpus) && after.thermal_events == before.thermal_events &&
			after.throttled_us == before.throttled_us;
		in_a_row = good ? in_a_row + 1 : 0;
		out->calm = in_a_row == 2;
		arena_done(&a);
	}
	out->waited_s = now_s() - begin;
}

// ---- telling ------------------------------------------------------------------------------------------------------------

static double rounded(double x, double step)
{
	return round(x / step) * step;
}

static void add_real(json_t *o, const char *key, double x, double step)
{
	if (!isnan(x))
		json_object_set_new(o, key, json_real(rounded(x, step)));
}

static void add_pair(json_t *o, const char *key, double x, double y, double step)
{
	if (!isnan(x) && !isnan(y))
		json_object_set_new(o, key, json_pack("[f, f]", rounded(x, step), rounded(y, step)));
}

json_t *state_json(const struct state_sample *before, const struct state_sample *after, const struct calm *calm)
{
	json_t *out = json_object(), *disturbed = json_array();
	const double seconds = after->at_s - before->at_s, others = state_others(before, after),
		     steal = seconds > 0 ? (after->steal_s - before->steal_s) / seconds : NAN;
	const double throttled_ms = (double)(after->throttled_us - before->throttled_us) / 1000;

	facts_text(out, "governor", after->governor);
	facts_number(out, "frequency_khz", after->frequency_khz);
	add_pair(out, "load", before->load, after->load, 0.01);
	add_real(out, "other_cpus", others, 0.001);
	add_real(out, "steal_cpus", steal, 0.001);
	add_real(out, "pressure_percent", after->pressure, 0.01);
	add_pair(out, "temperature_c", before->temperature_c, after->temperature_c, 0.1);
	if (before->thermal_events >= 0 && after->thermal_events >= before->thermal_events)
		facts_number(out, "thermal_events", after->thermal_events - before->thermal_events);
	add_real(out, "throttled_ms", throttled_ms, 0.1);
	facts_number(out, "memory_available_bytes", before->memory_available_bytes);
	if (calm && calm->asked) {
		add_real(out, "waited_s", calm->waited_s, 0.01);
		json_object_set_new(out, "calm", json_boolean(calm->calm));
	}
	if (others > allowed(after->cpus))
		json_array_append_new(disturbed, json_sprintf("other processes used %.2f CPUs", others));
	if (steal > 0.02)
		json_array_append_new(disturbed, json_sprintf("the hypervisor took %.2f CPUs away", steal));
	if (after->thermal_events > before->thermal_events)
		json_array_append_new(disturbed,
			json_sprintf("heat slowed cores down %lld times",
				(long long)(after->thermal_events - before->thermal_events)));
	if (throttled_ms > 0)
		json_array_append_new(disturbed, json_sprintf("a control group's quota stopped it for %.0f ms", throttled_ms));
	json_object_set_new(out, "disturbed", disturbed);
	return out;
}
