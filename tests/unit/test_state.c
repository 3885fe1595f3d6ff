// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// The state of a machine before and after a cell: machines made of files, and this one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "base/file.h"
#include "base/text.h"
#include "platform/state.h"

// A machine that tells everything; `events`, `us` and `milli` change.
static void make_machine(int events, int us, int milli)
{
	char text[256];

	put("/proc/stat",
		"cpu  1000 20 300 90000 77 4 6 50 10 0\ncpu0 500 10 150 45000 30 2 3 25 5 0\ncpu1 500 10 150 45000 47 2 3 25 5 "
		"0\nintr 1 2\n");
	put("/proc/loadavg", "0.52 0.40 0.30 2/345 6789\n");
	put("/proc/pressure/cpu",
		"some avg10=1.25 avg60=0.50 avg300=0.10 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	put("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable:    600 kB\n");
	put("/proc/self/cgroup", "0::/a\n");
	put("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	snprintf(text, sizeof text, "usage_usec 5\nnr_throttled 3\nthrottled_usec %d\n", us);
	put("/sys/fs/cgroup/a/cpu.stat", text);
	for (int i = 0; i < 2; i++) {
		char path[128];

		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", i);
		snprintf(text, sizeof text, "%d\n", events);
		put(path, text);
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i);
		put(path, i ? "2000000\n" : "3000000\n");
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", i);
		put(path, "schedutil\n");
	}
	put("/sys/class/hwmon/hwmon0/name", "nvme\n");
	put("/sys/class/hwmon/hwmon0/temp1_input", "99000\n");
	put("/sys/class/hwmon/hwmon1/name", "coretemp\n");
	put("/sys/class/hwmon/hwmon1/temp1_input", "41000\n");
	put("/sys/class/hwmon/hwmon1/temp1_max", "100000\n");
	snprintf(text, sizeof text, "%d\n", milli);
	put("/sys/class/hwmon/hwmon1/temp2_input", text);
}

static void test_read(void **state)
{
	struct arena a = { 0 };
	struct state_sample s;
	const double tick = (double)sysconf(_SC_CLK_TCK);

	(void)state;
	make_machine(3, 7000, 55500);
	state_read(&s, &a, scratch);
	assert_int_equal(s.cpus, 2);
	assert_true(fabs(s.busy_s - (1000 + 20 + 300 + 4 + 6) / tick) < 1e-9);
	assert_true(fabs(s.steal_s - 50 / tick) < 1e-9);
	assert_true(s.load == 0.52);
	assert_true(s.pressure == 1.25);
	assert_true(s.temperature_c == 55.5); // not the disk's
	assert_int_equal(s.frequency_khz, 2500000);
	assert_int_equal(s.thermal_events, 6);
	assert_int_equal(s.throttled_us, 7000);
	assert_int_equal(s.memory_available_bytes, 600 << 10);
	assert_string_equal(s.governor, "schedutil");
	put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
	state_read(&s, &a, scratch);
	assert_string_equal(s.governor, "schedutil performance");
	// No sensor of a driver: the zone of the package.
	put("/sys/class/hwmon/hwmon1/name", "acpitz\n");
	put("/sys/class/thermal/thermal_zone0/type", "acpitz\n");
	put("/sys/class/thermal/thermal_zone0/temp", "90000\n");
	put("/sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
	put("/sys/class/thermal/thermal_zone1/temp", "47000\n");
	state_read(&s, &a, scratch);
	assert_true(s.temperature_c == 47);
	arena_done(&a);
}

static void test_unknown(void **state)
{
	struct arena a = { 0 };
	struct state_sample s, later;

	(void)state;
	state_read(&s, &a, "/no/such/root");
	assert_true(isnan(s.busy_s) && isnan(s.load) && isnan(s.pressure) && isnan(s.temperature_c));
	assert_int_equal(s.thermal_events, -1);
	assert_int_equal(s.frequency_khz, -1);
	assert_null(s.governor);
	later = s;
	later.at_s += 1;
	assert_true(isnan(state_others(&s, &later)));
	json_t *json = state_json(&s, &later, NULL);
	assert_null(json_object_get(json, "other_cpus"));
	assert_null(json_object_get(json, "temperature_c"));
	assert_null(json_object_get(json, "governor"));
	assert_null(json_object_get(json, "calm"));
	assert_int_equal(json_array_size(json_object_get(json, "disturbed")), 0);
	json_decref(json);
	arena_done(&a);
}

static void test_between(void **state)
{
	struct arena a = { 0 };
	struct state_sample before, after;
	const struct calm calm = { .asked = true, .calm = false, .waited_s = 5 };
	json_t *json;

	(void)state;
	make_machine(0, 1000, 50000);
	state_read(&before, &a, scratch);
	after = before;
	after.at_s = before.at_s + 10;
	after.busy_s += 14;
	after.own_s += 10;
	assert_true(fabs(state_others(&before, &after) - 0.4) < 1e-9);
	after.own_s += 10; // the clock ticks more coarsely than ours
	assert_true(state_others(&before, &after) == 0);
	json = state_json(&before, &after, NULL);
	assert_int_equal(json_array_size(json_object_get(json, "disturbed")), 0);
	json_decref(json);

	after.own_s = before.own_s + 10;
	after.thermal_events = 5;
	after.throttled_us = 41000;
	after.steal_s += 3;
	after.temperature_c = 70.26;
	json = state_json(&before, &after, &calm);
	assert_true(fabs(json_real_value(json_object_get(json, "other_cpus")) - 0.4) < 1e-9);
	assert_true(fabs(json_real_value(json_object_get(json, "steal_cpus")) - 0.3) < 1e-9);
	assert_true(fabs(json_real_value(json_array_get(json_object_get(json, "temperature_c"), 1)) - 70.3) < 1e-9);
	assert_int_equal(json_integer_value(json_object_get(json, "thermal_events")), 5);
	assert_true(fabs(json_real_value(json_object_get(json, "throttled_ms")) - 40) < 1e-9);
	assert_true(json_is_false(json_object_get(json, "calm")));
	assert_string_equal(json_string_value(json_object_get(json, "governor")), "schedutil");
	assert_int_equal(json_array_size(json_object_get(json, "disturbed")), 4);
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(json, "disturbed"), 0)), "other processes used 0.40 CPUs");
	json_decref(json);
	arena_done(&a);
}

// Limits, not times: it ends, it says that it was asked, and a stop ends it at once.
static void test_wait(void **state)
{
	struct calm calm;
	volatile sig_atomic_t stop = 1;

	(void)state;
	state_wait(&calm, 1e6, &stop);
	assert_true(calm.asked && !calm.calm);
	state_wait(&calm, 0.05, NULL); // too short for two looks of half a second
	assert_true(calm.asked && calm.waited_s >= 0.05);
}

static void test_this_machine(void **state)
{
	struct arena a = { 0 };
	struct state_sample before, after;
	volatile uint64_t sum = 0;
	double own;

	(void)state;
	state_read(&before, &a, "");
	assert_true(before.cpus >= 1);
	do { // our own work is not others'
		for (int i = 0; i < 1000000; i++)
			sum += (uint64_t)i;
		state_read(&after, &a, "");
		own = after.own_s - before.own_s;
	} while (own < 0.2);
	assert_true(after.busy_s >= before.busy_s);
	assert_true(state_others(&before, &after) <= (after.busy_s - before.busy_s) / (after.at_s - before.at_s));
	arena_done(&a);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)
	const struct CMUnitTest tests[] = { TEST(test_read), TEST(test_unknown), TEST(test_between), TEST(test_wait),
		TEST(test_this_machine) };

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
