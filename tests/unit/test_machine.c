// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// What a process may use and what the machine is: this one, and some made of files.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "backend/host.h"
#include "base/file.h"
#include "base/text.h"
#include "platform/platform.h"

static const char two_hierarchies[] = "30 23 0:27 / /proc rw - proc proc rw\n"
				      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
				      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
				      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
				      "49 48 0:29 / /elsewhere/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";

static int allowed(void)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
	return CPU_COUNT(&set);
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

static void test_no_limits(void **state)
{
	(void)state;
	assert_int_equal(host_cpus("/no/such/root"), allowed());
	assert_int_equal(host_memory_limit("/no/such/root"), 0);
}

static void test_v1(void **state)
{
	(void)state;
	put("/proc/self/mountinfo", two_hierarchies);
	put("/proc/self/cgroup", "4:memory:/jobs/7\n2:cpu,cpuacct:/jobs/7\n0::/\n");
	put("/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(host_cpus(scratch), allowed());
	assert_int_equal(host_memory_limit(scratch), 0);
	// A level above sets the limit.
	put("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "50000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "3221225472\n");
	assert_int_equal(host_cpus(scratch), 1);
	assert_int_equal(host_memory_limit(scratch), 3221225472);
	// A tighter one below it.
	put("/sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "1073741824\n");
	assert_int_equal(host_memory_limit(scratch), 1073741824);
	put("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "150000\n");
	assert_int_equal(host_cpus(scratch), least(allowed(), 2));
}

static void test_v2(void **state)
{
	(void)state;
	put("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
	put("/proc/self/cgroup", "0::/user.slice/a.scope\n");
	put("/sys/fs/cgroup/user.slice/a.scope/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/user.slice/a.scope/memory.max", "max\n");
	assert_int_equal(host_cpus(scratch), allowed());
	assert_int_equal(host_memory_limit(scratch), 0);
	put("/sys/fs/cgroup/user.slice/cpu.max", "20000 100000\n");
	put("/sys/fs/cgroup/user.slice/memory.max", "2147483648\n");
	assert_int_equal(host_cpus(scratch), 1);
	assert_int_equal(host_memory_limit(scratch), 2147483648);
	// What others in the group hold is not ours; file pages, which can be taken back, are. A tighter rest may lie below a
	// wider limit.
	assert_int_equal(host_memory_left(scratch), 2147483648);
	put("/sys/fs/cgroup/user.slice/memory.current", "2000000000\n");
	put("/sys/fs/cgroup/user.slice/memory.stat", "anon 5\ninactive_file 500000000\nactive_file 9\n");
	assert_int_equal(host_memory_left(scratch), 2147483648 - (2000000000 - 500000000 - 9));
	put("/sys/fs/cgroup/user.slice/a.scope/memory.max", "3000000000\n");
	put("/sys/fs/cgroup/user.slice/a.scope/memory.current", "2999000000\n");
	assert_int_equal(host_memory_limit(scratch), 2147483648);
	assert_int_equal(host_memory_left(scratch), 1000000);
	put("/sys/fs/cgroup/user.slice/a.scope/memory.current", "4000000000\n");
	assert_int_equal(host_memory_left(scratch), 1);
	put("/sys/fs/cgroup/user.slice/pids.max", "max\n");
	put("/sys/fs/cgroup/user.slice/pids.current", "30\n");
	assert_int_equal(host_tasks_left(scratch), 0);
	put("/sys/fs/cgroup/user.slice/pids.max", "100\n");
	assert_int_equal(host_tasks_left(scratch), 70);
	put("/sys/fs/cgroup/user.slice/pids.current", "100\n");
	assert_int_equal(host_tasks_left(scratch), 1);
	put("/sys/fs/cgroup/user.slice/a.scope/memory.max", "max\n");
	// A container: the path is the host's, the mount shows only the container's own group.
	put("/proc/self/mountinfo", "31 23 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	put("/proc/self/cgroup", "0::/docker/other\n");
	put("/sys/fs/cgroup/memory.max", "536870912\n");
	assert_int_equal(host_memory_limit(scratch), 536870912);
	put("/proc/self/cgroup", "0::/../../x\n");
	assert_int_equal(host_memory_limit(scratch), 536870912);
}

static const char two_sockets[] =
	"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU @ 2 GHz\nphysical id\t: 0\ncore id\t: 0\nflags\t: fpu "
	"avx2 sse4_1 amx_tile avx xyz\n\n"
	"processor\t: 1\nphysical id\t: 0\ncore id\t: 1\n\nprocessor\t: 2\nphysical id\t: 1\ncore id\t: 0\n\n"
	"processor\t: 3\nphysical id\t: 1\ncore id\t: 1\n\nprocessor\t: 4\nphysical id\t: 0\ncore id\t: 0\n\n"
	"processor\t: 5\nphysical id\t: 0\ncore id\t: 1\n\nprocessor\t: 6\nphysical id\t: 1\ncore id\t: 0\n\n"
	"processor\t: 7\nphysical id\t: 1\ncore id\t: 1\n";

static void test_made_machine(void **state)
{
	struct arena a = { 0 };
	struct machine m, again;

	(void)state;
	put("/proc/self/cgroup", "0::/\n");
	put("/proc/cpuinfo", two_sockets);
	put("/proc/meminfo", "MemTotal:       8388608 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n");
	put("/proc/sys/kernel/random/boot_id", "0123-4567\n");
	put("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Some Linux 7\"\n");
	put("/sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
	put("/sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n");
	put("/sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n");
	put("/sys/devices/system/cpu/cpu0/cache/index1/level", "1\n");
	put("/sys/devices/system/cpu/cpu0/cache/index1/type", "Instruction\n");
	put("/sys/devices/system/cpu/cpu0/cache/index1/size", "32K\n");
	put("/sys/devices/system/cpu/cpu0/cache/index2/level", "2\n");
	put("/sys/devices/system/cpu/cpu0/cache/index2/type", "Unified\n");
	put("/sys/devices/system/cpu/cpu0/cache/index2/size", "2M\n");
	machine_detect_at(&m, &a, scratch);
	assert_string_equal(m.cpu_vendor, "GenuineIntel");
	assert_string_equal(m.cpu_model, "Some CPU @ 2 GHz");
	assert_string_equal(m.features, "sse4_1 avx avx2 amx_tile");
	assert_null(m.hypervisor);
	assert_int_equal(m.threads, 8);
	assert_int_equal(m.cores, 4);
	assert_int_equal(m.sockets, 2);
	assert_int_equal(m.l1d_bytes, 48 << 10);
	assert_int_equal(m.l2_bytes, 2 << 20);
	assert_int_equal(m.l3_bytes, 0);
	assert_int_equal(m.memory_bytes, (int64_t)8 << 30);
	assert_int_equal(m.memory_limit_bytes, 512 << 20);
	assert_int_equal(m.memory_available_bytes, 512 << 20);
	assert_string_equal(m.boot_id, "0123-4567");
	assert_string_equal(m.os, "Some Linux 7");
	// Another boot and another limit are the same machine; another memory is not.
	put("/proc/sys/kernel/random/boot_id", "89ab-cdef\n");
	put("/sys/fs/cgroup/memory.max", "max\n");
	machine_detect_at(&again, &a, scratch);
	assert_int_equal(again.memory_limit_bytes, 0);
	assert_int_equal(again.memory_available_bytes, (int64_t)4 << 30);
	assert_string_equal(again.id, m.id);
	put("/proc/meminfo", "MemTotal:       16777216 kB\nMemAvailable:    4194304 kB\n");
	machine_detect_at(&again, &a, scratch);
	assert_string_not_equal(again.id, m.id);
	arena_done(&a);
}

static void test_arm(void **state)
{
	struct arena a = { 0 };
	struct machine m;

	(void)state;
	put("/proc/cpuinfo",
		"processor\t: 0\nBogoMIPS\t: 50\nFeatures\t: fp asimd asimddp sve\nCPU implementer\t: 0x41\nCPU "
		"part\t: 0xd40\n\nprocessor\t: 1\n");
	machine_detect_at(&m, &a, scratch);
	assert_string_equal(m.cpu_vendor, "0x41");
	assert_string_equal(m.cpu_model, "Neoverse V1");
	assert_string_equal(m.features, "asimd asimddp sve");
	assert_int_equal(m.threads, 2);
	assert_int_equal(m.cores, 2);
	arena_done(&a);
}

static void test_this_machine(void **state)
{
	struct arena a = { 0 };
	struct machine m, again;
	json_t *j;

	(void)state;
	machine_detect(&m, &a);
	machine_detect(&again, &a);
	assert_string_equal(m.id, again.id);
	assert_int_equal(strlen(m.id), 16);
	assert_true(m.usable_cpus >= 1 && m.usable_cpus <= allowed());
	assert_true(m.threads >= m.usable_cpus);
	assert_true(m.cores >= 1 && m.cores <= m.threads);
	assert_true(m.memory_bytes > 0 && m.memory_available_bytes > 0 && m.memory_available_bytes <= m.memory_bytes);
	assert_non_null(m.boot_id);
	j = machine_json(&m);
	assert_non_null(j);
	assert_int_equal(json_integer_value(json_object_get(j, "usable_cpus")), m.usable_cpus);
	assert_true(json_is_array(json_object_get(j, "features")));
	assert_string_equal(json_string_value(json_object_get(j, "id")), m.id);
	json_decref(j);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_limits),
		cmocka_unit_test(test_v1),
		cmocka_unit_test(test_v2),
		cmocka_unit_test(test_made_machine),
		cmocka_unit_test(test_arm),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
