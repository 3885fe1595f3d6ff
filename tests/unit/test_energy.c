// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Counters of energy on a made-up sysfs: which are added, what goes round, and what is no figure.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/energy.h"
#include "scratch.h"

#define RAPL "sys/class/powercap/"

static struct energy energy;
static struct energy_reading idle[2], begin, end;

static void put_number(const char *file, long long n)
{
	char text[32];

	snprintf(text, sizeof text, "%lld\n", n);
	put(file, text);
}

static void zone(const char *folder, const char *name, long long uj, long long range)
{
	put(arena_printf(&arena, RAPL "%s/name", folder), name);
	put_number(arena_printf(&arena, RAPL "%s/energy_uj", folder), uj);
	put_number(arena_printf(&arena, RAPL "%s/max_energy_range_uj", folder), range);
}

static void set(const char *folder, long long uj)
{
	put_number(arena_printf(&arena, RAPL "%s/energy_uj", folder), uj);
}

static void open_all(const char *driver, const char *gpu)
{
	energy_open(&energy, &arena, path(""), driver, gpu);
}

// At this second, whatever the clock is.
static struct energy_reading at(double second)
{
	struct energy_reading r;

	energy_read(&energy, &r);
	r.at_ns = (int64_t)(second * 1e9);
	return r;
}

static bool is(double x, double wanted)
{
	return fabs(x - wanted) < 1e-9 * fmax(1, fabs(wanted));
}

static struct energy_figures figures(void)
{
	struct energy_figures f;

	energy_figures(&energy, idle, &begin, &end, &f);
	return f;
}

// Two packages and the memory of one; a core, the board and the same package by another way count what is counted already.
static void packages_are_added_once(void **state)
{
	const long long range = 262143328850;

	(void)state;
	zone("intel-rapl:0", "package-0\n", 1000, range);
	zone("intel-rapl:0:0", "core\n", 900, range);
	zone("intel-rapl:0:1", "dram\n", 500, range);
	zone("intel-rapl:1", "package-1\n", range - 1000000, range);
	zone("intel-rapl:2", "psys\n", 5, range);
	zone("intel-rapl-mmio:0", "package-0\n", 1000, range);
	open_all(NULL, NULL);
	assert_int_equal(energy.count, 3);
	assert_null(energy.why);
	idle[0] = at(0);
	set("intel-rapl:0", 1000 + 10000000);          // 10 J in 2 s
	set("intel-rapl:1", range - 1000000 + 500000); // 0.5 J
	set("intel-rapl:0:1", 500 + 2000000);
	idle[1] = at(2);
	begin = at(10);
	set("intel-rapl:0", 1000 + 10000000 + 60000000); // 60 J in 4 s
	set("intel-rapl:1", 7500000);                    // round: 0.5 J to the end and 7.5 J behind it
	set("intel-rapl:0:1", 500 + 2000000 + 12000000);
	end = at(14);
	struct energy_figures f = figures();
	assert_null(f.why);
	assert_true(is(f.total_j, 68) && is(f.idle_w, 5.25) && is(f.seconds, 4) && is(f.joules, 68 - 21));
	assert_non_null(strstr(f.source, "package-0, package-1; everything"));
	assert_int_equal(json_array_size(f.parts), 3);
	const json_t *dram = json_array_get(f.parts, 1);
	assert_string_equal(json_string_value(json_object_get(dram, "counter")), "package-0 dram");
	assert_true(json_is_false(json_object_get(dram, "added")) && is(json_real_value(json_object_get(dram, "joules")), 12));
	json_decref(f.parts);

	// It stands still: nothing, and never 0 J.
	begin = end;
	begin.at_ns = (int64_t)14e9;
	end = at(18);
	f = figures();
	assert_true(isnan(f.joules));
	assert_non_null(strstr(f.why, "package-0 stood still for 4 s"));
	json_decref(f.parts);

	// Less than idle: somebody else was at work then.
	set("intel-rapl:0", 1000 + 10000000 + 60000000 + 1000000);
	set("intel-rapl:1", 7600000);
	end = at(18);
	f = figures();
	assert_true(isnan(f.joules) && is(f.total_j, 1.1));
	assert_non_null(strstr(f.why, "something else was at work"));
	json_decref(f.parts);

	// Backwards beyond its range, and so long that it may have gone round twice.
	set("intel-rapl:0", 5);
	set("intel-rapl:1", 8000000);
	end = at(14 + 300);
	f = figures();
	assert_true(isnan(f.joules));
	assert_non_null(strstr(f.why, "package-0 may have gone round more than once in 300 s"));
	json_decref(f.parts);
	energy.items[0].range_uj = 0;
	f = figures();
	assert_non_null(strstr(f.why, "package-0 went back"));
	json_decref(f.parts);

	// Gone meanwhile.
	unlink(path(RAPL "intel-rapl:1/energy_uj"));
	end = at(20);
	f = figures();
	assert_true(isnan(f.joules));
	assert_non_null(strstr(f.why, "package-1 could not be read"));
	json_decref(f.parts);
	energy_close(&energy);
}

static void what_cannot_be_read_is_named(void **state)
{
	(void)state;
	open_all(NULL, NULL); // package-1 has no counter since the test before
	assert_non_null(strstr(energy.why, "intel-rapl:1/energy_uj cannot be read: No such file"));
	struct energy_figures f = figures();
	assert_true(isnan(f.joules) && f.why == energy.why && isnan(f.idle_w));
	json_decref(f.parts);
	put(RAPL "intel-rapl:1/energy_uj", "broken\n");
	open_all(NULL, NULL);
	assert_non_null(strstr(energy.why, "energy_uj holds no number"));
	set("intel-rapl:1", 1);
	if (geteuid() != 0) {
		chmod(path(RAPL "intel-rapl:1/energy_uj"), 0);
		open_all(NULL, NULL);
		assert_non_null(strstr(energy.why, "Permission denied; root may"));
		// Of a GPU that is no reason: its own counter is.
		open_all(NULL, "i915 xe");
		assert_non_null(strstr(energy.without, "Permission denied; root may"));
		assert_string_equal(energy.why, "no counter of the GPU's energy in /sys/class/hwmon");
	}
}

static void other_counters(void **state)
{
	(void)state;
	scratch_remove(NULL);
	scratch_make(NULL);
	put("proc/cpuinfo", "flags\t: fpu hypervisor avx\n");
	open_all(NULL, NULL);
	assert_int_equal(energy.count, 0);
	assert_string_equal(energy.why, "a virtual machine is shown no counter of the processor's energy");
	put("proc/cpuinfo", "flags\t: fpu avx\n");
	open_all(NULL, NULL);
	assert_non_null(strstr(energy.why, "neither /sys/class/powercap nor /sys/class/hwmon"));
	put("sys/class/hwmon/hwmon2/name", "amd_energy\n");
	put("sys/class/hwmon/hwmon2/energy1_input", "10\n");
	put("sys/class/hwmon/hwmon2/energy1_label", "Ecore000\n");
	put("sys/class/hwmon/hwmon2/energy65_input", "1000\n");
	put("sys/class/hwmon/hwmon2/energy65_label", "Esocket0\n");
	put("sys/class/hwmon/hwmon3/name", "i915\n");
	put("sys/class/hwmon/hwmon3/energy1_input", "7000\n");
	open_all(NULL, NULL);
	assert_int_equal(energy.count, 1);
	assert_string_equal(energy.items[0].name, "amd_energy Esocket0");
	open_all(NULL, "i915 xe");
	assert_int_equal(energy.count, 2);
	assert_string_equal(energy.items[1].name, "i915 energy1");
	assert_null(energy.why);
	// Where powercap lists the package by the other way alone.
	zone("intel-rapl-mmio:0", "package-0\n", 77, 100);
	open_all(NULL, NULL);
	assert_int_equal(energy.count, 1);
	assert_string_equal(energy.items[0].name, "package-0");
	// A vendor's library that is not here.
	open_all("nvml", NULL);
	if (energy.why)
		assert_true(strstr(energy.why, "libnvidia-ml.so.1") || strstr(energy.why, "NVML") || strstr(energy.why, "GPU"));
	energy_close(&energy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packages_are_added_once),
		cmocka_unit_test(what_cannot_be_read_is_named),
		cmocka_unit_test(other_counters),
	};

	return cmocka_run_group_tests_name("energy", tests, scratch_make, scratch_remove);
}
