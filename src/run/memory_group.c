// SPDX-License-Identifier: Apache-2.0
// Where the group is made: version 2 below our own group when its children may have the memory controller (a root group or
// one that systemd delegated), else beside it; version 1 below our own. A container's mount may show only a part of the
// tree, so the mount's root is cut from our group's path.
#include "run/memory_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "base/text.h"

#define PATH_SIZE 4096
#define NAME_PREFIX "assay-"

static bool write_file(const char *folder, const char *name, const char *content)
{
	char path[PATH_SIZE + 64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = write(fd, content, strlen(content));
		close(fd);
	}
	return n == (ssize_t)strlen(content);
}

static bool exists(const char *folder, const char *name)
{
	char path[PATH_SIZE + 64];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

// The number after `key` in a file of "key number" lines; -1 when there is none.
static int64_t read_count(const char *path, const char *key)
{
	char line[256];
	long long n = -1;
	size_t length = strlen(key);
	FILE *f = fopen(path, "re");

	while (f && n < 0 && fgets(line, sizeof line, f))
		if (!strncmp(line, key, length) && line[length] == ' ')
			n = strtoll(line + length, NULL, 10);
	if (f)
		fclose(f);
	return n;
}

// Our own group in the hierarchy: "/user.slice/x.scope" of the line "0::/user.slice/x.scope" or "4:memory:/...".
static bool own_group(int version, char out[PATH_SIZE])
{
	char line[PATH_SIZE + 256];
	bool found = false;
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f && !found && fgets(line, sizeof line, f)) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = 0;
		path[strcspn(path, "\n")] = 0;
		if (version == 2 ? !strncmp(line, "0:", 2) : strstr(controllers + 1, "memory") != NULL)
			found = snprintf(out, PATH_SIZE, "%s", path) < PATH_SIZE;
	}
	if (f)
		fclose(f);
	return found;
}

// Mount point and root of the hierarchy, from "35 31 0:32 ROOT MOUNT options - cgroup cgroup rw,memory".
static bool mounted(int version, char root[PATH_SIZE], char mount[PATH_SIZE])
{
	char line[2 * PATH_SIZE + 512];
	bool found = false;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	while (f && !found && fgets(line, sizeof line, f)) {
		char *rest = strstr(line, " - ");

		if (!rest || sscanf(line, "%*d %*d %*s %4095s %4095s", root, mount) != 2)
			continue;
		if (version == 2)
			found = !strncmp(rest, " - cgroup2 ", 11);
		else
			found = !strncmp(rest, " - cgroup ", 10) && strstr(rest, "memory");
	}
	if (f)
		fclose(f);
	return found;
}

static bool own_folder(int version, char out[PATH_SIZE])
{
	char group[PATH_SIZE], root[PATH_SIZE], mount[PATH_SIZE];
	const char *below = group;
	size_t length;

	if (!own_group(version, group) || !mounted(version, root, mount))
		return false;
	length = strlen(root);
	if (length > 1 && !strncmp(group, root, length))
		below = group + length;
	if (text_is(below, "/"))
		below = "";
	return snprintf(out, PATH_SIZE, "%s%s", mount, below) < PATH_SIZE - 128 && access(out, F_OK) == 0;
}

// The group's folder, locked, and still there; -1.
static int lock_group(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) < 0 || stat(path, &st) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

// Groups of programs that were killed before they could remove them: their lock is free, and rmdir removes only empty ones.
static void sweep(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[PATH_SIZE + 512];
		int fd;

		if (strncmp(e->d_name, NAME_PREFIX, strlen(NAME_PREFIX)))
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		if ((fd = lock_group(path)) >= 0) {
			rmdir(path);
			close(fd);
		}
	}
	if (d)
		closedir(d);
}

static bool make_in(struct memory_group *g, int version, const char *folder, int64_t bytes)
{
	static atomic_uint counter;
	char number[32];

	sweep(folder);
	if (snprintf(g->path, sizeof g->path, "%s/" NAME_PREFIX "%d-%u-%016llx", folder, (int)getpid(),
		    atomic_fetch_add(&counter, 1), (unsigned long long)process_nonce()) >= (int)sizeof g->path)
		return false;
	g->version = version;
	// Where there are no locks, or where a sweeper was quicker, there is no group.
	if (mkdir(g->path, 0755) == 0 && (g->lock = lock_group(g->path)) >= 0) {
		snprintf(number, sizeof number, "%lld", (long long)bytes);
		if (bytes <= 0)
			return true;
		if (write_file(g->path, version == 2 ? "memory.max" : "memory.limit_in_bytes", number)) {
			// Swap would only turn the limit into a crawl. Kernels without swap accounting lack the file.
			write_file(g->path, version == 2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes",
				version == 2 ? "0" : number);
			return true;
		}
		rmdir(g->path);
		close(g->lock);
	}
	g->path[0] = 0;
	return false;
}

bool memory_group_make(struct memory_group *g, int64_t bytes)
{
	char folder[PATH_SIZE];

	g->path[0] = 0;
	if (text_is(getenv("ASSAY_CGROUP"), "off")) // somebody else manages the groups here; also how the other way is tested
		return false;
	if (own_folder(2, folder) && exists(folder, "cgroup.controllers")) {
		char *slash;

		if (bytes > 0)
			write_file(
				folder, "cgroup.subtree_control", "+memory"); // EBUSY where processes live in it, which is usual
		if (make_in(g, 2, folder, bytes))
			return true;
		slash = strrchr(folder, '/');
		if (slash && slash > folder) {
			*slash = 0;
			if (exists(folder, "cgroup.controllers") && make_in(g, 2, folder, bytes))
				return true;
		}
	}
	return own_folder(1, folder) && make_in(g, 1, folder, bytes);
}

bool memory_group_add(const struct memory_group *g, pid_t pid)
{
	char number[32];

	snprintf(number, sizeof number, "%d", (int)pid);
	return g->path[0] && write_file(g->path, "cgroup.procs", number);
}

void memory_group_kill(const struct memory_group *g)
{
	char path[PATH_SIZE + 64];
	long pid;
	FILE *f;

	if (!g->path[0] || (g->version == 2 && write_file(g->path, "cgroup.kill", "1")))
		return;
	snprintf(path, sizeof path, "%s/cgroup.procs", g->path);
	f = fopen(path, "re");
	while (f && fscanf(f, "%ld", &pid) == 1)
		if (pid > 1)
			kill((pid_t)pid, SIGKILL);
	if (f)
		fclose(f);
}

int64_t memory_group_oom_kills(const struct memory_group *g)
{
	char path[PATH_SIZE + 64];

	if (!g->path[0])
		return 0;
	snprintf(path, sizeof path, "%s/%s", g->path, g->version == 2 ? "memory.events" : "memory.oom_control");
	return read_count(path, "oom_kill");
}

void memory_group_done(struct memory_group *g)
{
	// A killed process leaves its group a little after it was reaped.
	for (int i = 0; g->path[0] && rmdir(g->path) < 0 && errno == EBUSY && i < 100; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	if (g->path[0])
		close(g->lock);
	g->path[0] = 0;
}

int64_t memory_oom_kills(void)
{
	return read_count("/proc/vmstat", "oom_kill");
}
