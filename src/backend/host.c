// SPDX-License-Identifier: Apache-2.0
// Reads /proc/self/cgroup for the groups this process is in and /proc/self/mountinfo for where they are mounted, then walks
// from the group up to the root of the mount: every level may set a limit, and the smallest holds.
//
//   /proc/self/cgroup      0::/user.slice/x          v2, or     4:memory:/jobs/7    v1
//   /proc/self/mountinfo   31 23 0:28 ROOT POINT rw - TYPE source rw,memory
//
// In a container the group's path is often that of the host and not below ROOT: then only the mount point itself is looked at.
#include "backend/host.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"

enum { PATH_SIZE = 4096 };

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; at && *at; at += *at == ',') {
		size_t length = strcspn(at, ",\n");

		if (length == n && !strncmp(at, word, n))
			return true;
		at += length;
		if (*at == '\n')
			break;
	}
	return false;
}

// The path of this process' group under a v1 controller, or under v2 when `controller` is NULL.
static bool group_path(const char *root, const char *controller, char out[PATH_SIZE])
{
	char name[PATH_SIZE], line[PATH_SIZE];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
	f = fopen(name, "re");
	while (f && !found && fgets(line, sizeof line, f)) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = 0;
		controllers++;
		path[strcspn(path, "\n")] = 0;
		if (controller ? has_word(controllers, controller) : !*controllers) {
			snprintf(out, PATH_SIZE, "%s", path);
			found = true;
		}
	}
	if (f)
		fclose(f);
	return found;
}

// Where that hierarchy is mounted, and which of its folders is the mount's root.
static bool group_mount(const char *root, const char *controller, char mount_root[PATH_SIZE], char point[PATH_SIZE])
{
	char name[1024], line[PATH_SIZE], type[64], options[1024]; // a program may have been given a stack of 64 KiB
	bool found = false;
	FILE *f;

	snprintf(name, sizeof name, "%s/proc/self/mountinfo", root);
	f = fopen(name, "re");
	while (f && !found && fgets(line, sizeof line, f)) {
		const char *rest = strstr(line, " - ");

		if (!rest || sscanf(rest, " - %63s %*s %1023s", type, options) != 2 ||
			sscanf(line, "%*s %*s %*s %4095s %4095s", mount_root, point) != 2)
			continue;
		found = controller ? !strcmp(type, "cgroup") && has_word(options, controller) : !strcmp(type, "cgroup2");
	}
	if (f)
		fclose(f);
	return found;
}

static bool read_line(const char *root, const char *folder, const char *file, char *out, size_t size)
{
	struct text name = { 0 }; // no array: a stack may be small (ulimit -s), and walk() has its own
	bool ok;
	FILE *f;

	text_addf(&name, "%s%s/%s", root, folder, file);
	f = fopen(text_get(&name), "re");
	text_done(&name);
	if (!f)
		return false;
	ok = fgets(out, (int)size, f) != NULL;
	fclose(f);
	return ok;
}

// CPUs that a group's quota allows: quota / period; 0 when it sets none.
static double quota_at(const char *root, const char *folder, bool v2)
{
	char line[128], period_line[64];
	long long quota = -1, period = 0;

	if (v2) {
		if (!read_line(root, folder, "cpu.max", line, sizeof line) || sscanf(line, "%lld %lld", &quota, &period) != 2)
			return 0;
	} else if (!read_line(root, folder, "cpu.cfs_quota_us", line, sizeof line) ||
		!read_line(root, folder, "cpu.cfs_period_us", period_line, sizeof period_line) ||
		sscanf(line, "%lld", &quota) != 1 || sscanf(period_line, "%lld", &period) != 1) {
		return 0;
	}
	return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

// v1 says "no limit" with a number near 2^63, v2 with the word "max".
static double memory_at(const char *root, const char *folder, bool v2)
{
	char line[128], *end;
	long long limit;

	if (!read_line(root, folder, v2 ? "memory.max" : "memory.limit_in_bytes", line, sizeof line))
		return 0;
	errno = 0;
	limit = strtoll(line, &end, 10);
	return end != line && !errno && limit > 0 && limit < INT64_MAX / 2 ? (double)limit : 0;
}

// A group's "KEY number" in its memory.stat; 0 when it has none.
static double memory_stat(const char *root, const char *folder, const char *key)
{
	char name[3 * PATH_SIZE], line[256];
	size_t length = strlen(key);
	long long n = 0;

	snprintf(name, sizeof name, "%s%s/memory.stat", root, folder);
	FILE *f = fopen(name, "re");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, key, length) && line[length] == ' ')
			n = strtoll(line + length, NULL, 10);
	if (f)
		fclose(f);
	return (double)n;
}

// What the limit still allows: file pages are taken back when they are needed.
static double left_at(const char *root, const char *folder, bool v2)
{
	double limit = memory_at(root, folder, v2), left;
	char line[128];

	if (limit <= 0 || !read_line(root, folder, v2 ? "memory.current" : "memory.usage_in_bytes", line, sizeof line))
		return limit;
	left = limit - strtod(line, NULL) + memory_stat(root, folder, v2 ? "inactive_file" : "total_inactive_file") +
		memory_stat(root, folder, v2 ? "active_file" : "total_active_file");
	return left < 1 ? 1 : left < limit ? left : limit;
}

// How many more processes and threads a group may have; it may be over its limit, of which one is left to say so.
static double tasks_at(const char *root, const char *folder, bool v2)
{
	char line[128], *end;

	(void)v2;
	if (!read_line(root, folder, "pids.max", line, sizeof line))
		return 0;
	double limit = strtod(line, &end);
	if (end == line || !read_line(root, folder, "pids.current", line, sizeof line)) // "max"
		return 0;
	double left = limit - strtod(line, NULL);
	return left < 1 ? 1 : left;
}

// Microseconds for which a group was held back by its quota.
static double throttled_at(const char *root, const char *folder, bool v2)
{
	char name[3 * PATH_SIZE], line[256];
	double us = 0;

	snprintf(name, sizeof name, "%s%s/cpu.stat", root, folder);
	FILE *f = fopen(name, "re");
	while (f && fgets(line, sizeof line, f)) {
		if (v2 && text_starts(line, "throttled_usec "))
			us = strtod(line + strlen("throttled_usec "), NULL);
		else if (!v2 && text_starts(line, "throttled_time "))
			us = strtod(line + strlen("throttled_time "), NULL) / 1000;
	}
	if (f)
		fclose(f);
	return us;
}

// The group of this process as a path, and how much of that is its mount. false: it is in none.
static bool own_group(const char *root, const char *controller, char *folder, size_t size, size_t *floor)
{
	char group[PATH_SIZE], mount_root[PATH_SIZE], point[PATH_SIZE];

	if (!group_path(root, controller, group) || !group_mount(root, controller, mount_root, point))
		return false;
	if (!strcmp(mount_root, "/"))
		mount_root[0] = 0;
	*floor = strlen(point);
	bool is_below = text_starts(group, mount_root) && !strstr(group, "/..");
	snprintf(folder, size, "%s%s", point, is_below ? group + strlen(mount_root) : "");
	return true;
}

// What `at` finds from the group up to the root of its mount: the smallest limit, or the sum; 0: none.
static double walk(const char *root, const char *controller, double (*at)(const char *, const char *, bool), bool sum)
{
	const size_t size = 2 * (size_t)PATH_SIZE;
	char *folder = malloc(size);
	double least = 0;
	size_t floor = 0;

	if (!folder || !own_group(root, controller, folder, size, &floor)) {
		free(folder);
		return 0;
	}
	for (;;) {
		double limit = at(root, folder, controller == NULL);
		char *slash;

		if (sum)
			least += limit;
		else if (limit > 0 && (least <= 0 || limit < least))
			least = limit;
		slash = strrchr(folder, '/');
		if (strlen(folder) <= floor || !slash)
			break;
		*slash = 0;
	}
	free(folder);
	return least;
}

static double smallest_of_both(const char *root, const char *controller, double (*at)(const char *, const char *, bool))
{
	double v1 = walk(root, controller, at, false), v2 = walk(root, NULL, at, false);

	return v1 > 0 && (v2 <= 0 || v1 < v2) ? v1 : v2;
}

// sched_getaffinity counts the CPUs of a cpuset too. Machines with more than CPU_SETSIZE CPUs need a larger set.
static int affinity(void)
{
	for (int n = 1024; n <= 1 << 20; n *= 2) {
		cpu_set_t *set = CPU_ALLOC(n);
		size_t size = CPU_ALLOC_SIZE(n);
		int count = -1;

		if (!set)
			break;
		if (!sched_getaffinity(0, size, set))
			count = CPU_COUNT_S(size, set);
		else if (errno != EINVAL)
			n = 1 << 20;
		CPU_FREE(set);
		if (count > 0)
			return count;
	}
	return 1;
}

int host_cpus(const char *root)
{
	int cpus = affinity();
	double quota = host_cpu_quota(root);

	if (quota > 0 && quota < cpus)
		cpus = (int)(quota + 0.999);
	return cpus > 0 ? cpus : 1;
}

double host_cpu_quota(const char *root)
{
	return smallest_of_both(root, "cpu", quota_at);
}

int64_t host_throttled_us(const char *root)
{
	return (int64_t)(walk(root, "cpu", throttled_at, true) + walk(root, NULL, throttled_at, true));
}

const char *host_cgroup(const char *root)
{
	char mount_root[PATH_SIZE], point[PATH_SIZE];
	bool old = group_mount(root, "memory", mount_root, point) || group_mount(root, "cpu", mount_root, point);
	bool unified = group_mount(root, NULL, mount_root, point);

	return old && unified ? "v1 and v2" : old ? "v1" : unified ? "v2" : NULL;
}

int64_t host_tasks_left(const char *root)
{
	return (int64_t)smallest_of_both(root, "pids", tasks_at);
}

// Processes and threads of this user, as the kernel counts them against RLIMIT_NPROC.
static int64_t own_tasks(void)
{
	const uid_t own = getuid();
	int64_t n = 0;
	DIR *processes = opendir("/proc");

	for (struct dirent *e; processes && (e = readdir(processes));) {
		char name[64], line[128];
		unsigned uid = 0;
		int threads = 0;

		if (e->d_name[0] < '1' || e->d_name[0] > '9' || strlen(e->d_name) > 20)
			continue;
		snprintf(name, sizeof name, "/proc/%.20s/status", e->d_name);
		FILE *f = fopen(name, "re");
		while (f && fgets(line, sizeof line, f) && !threads) {
			sscanf(line, "Uid: %u", &uid);
			sscanf(line, "Threads: %d", &threads);
		}
		if (f)
			fclose(f);
		n += uid == own ? threads : 0;
	}
	if (processes)
		closedir(processes);
	return n;
}

// All processes and threads of the machine, by /proc/loadavg's "running/all"; -1: not known.
static int64_t all_tasks(void)
{
	char line[128];
	long long all;

	return read_line("", "/proc", "loadavg", line, sizeof line) && sscanf(line, "%*f %*f %*f %*d/%lld", &all) == 1 ? all : -1;
}

// The super-user has no such limit. Of one that all of the machine are far below nobody is counted.
static int64_t user_tasks_left(int64_t least)
{
	const int64_t all = all_tasks();
	struct rlimit limit;

	if (geteuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) || limit.rlim_cur == RLIM_INFINITY ||
		(all >= 0 && (int64_t)limit.rlim_cur - all >= least))
		return 0;
	const int64_t left = (int64_t)limit.rlim_cur - own_tasks();
	return left < 1 ? 1 : left;
}

enum status host_check_tasks(int64_t least, const char *who, struct error *err)
{
	const int64_t of_group = host_tasks_left(""), of_user = user_tasks_left(least);
	const bool user = of_user > 0 && (of_group <= 0 || of_user < of_group);
	const int64_t left = user ? of_user : of_group;

	return left > 0 && left < least
		? error_set(err, STATUS_NOT_ASKED,
			  "%lld more processes and threads may be started here, and %s may need %lld: raise %s", (long long)left,
			  who, (long long)least,
			  user ? "the user's limit (ulimit -u)"
			       : "the control group's limit (pids.max; of a container --pids-limit)")
		: STATUS_OK;
}

int64_t host_memory_limit(const char *root)
{
	return (int64_t)smallest_of_both(root, "memory", memory_at);
}

int64_t host_memory_left(const char *root)
{
	return (int64_t)smallest_of_both(root, "memory", left_at);
}

const char *host_cpuinfo(const char *root, const char *key, char *out, size_t size)
{
	size_t n = strlen(key);
	char name[PATH_SIZE], *line = NULL;
	size_t capacity = 0;
	FILE *f;

	out[0] = 0;
	snprintf(name, sizeof name, "%s/proc/cpuinfo", root);
	f = fopen(name, "re");
	while (f && getline(&line, &capacity, f) > 0) {
		char *at = strchr(line, ':');

		if (!at || strncmp(line, key, n) || strspn(line + n, " \t") != (size_t)(at - line) - n)
			continue;
		at += 1 + strspn(at + 1, " \t");
		at[strcspn(at, "\n")] = 0;
		snprintf(out, size, "%s", at);
		break;
	}
	free(line);
	if (f)
		fclose(f);
	return out;
}

int host_own_threads(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	int n = -1;

	while (f && n < 0 && fgets(line, sizeof line, f))
		if (sscanf(line, "Threads: %d", &n) != 1)
			n = -1;
	if (f)
		fclose(f);
	return n;
}
