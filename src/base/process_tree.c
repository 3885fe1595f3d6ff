// SPDX-License-Identifier: Apache-2.0
// process.h: the processes below one. Their numbers come from the kernel's lists of children (/proc/PID/task/TID/children), or
// from everybody's parent where it was built without those. A list is a look at something that moves: a caller that ends
// processes looks twice.
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"

enum { BELOW_MOST = 1024, LOOK_AGAIN_MS = 2 };

struct below {
	int64_t *out;
	size_t count, most;
};

static bool is_known(const struct below *b, int64_t pid)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->out[i] == pid)
			return true;
	return false;
}

static void add(struct below *b, int64_t pid)
{
	if (b->count < b->most && !is_known(b, pid) && process_lives(pid))
		b->out[b->count++] = pid;
}

static void add_children(struct below *b, int64_t pid)
{
	char path[320];
	long long child;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
	d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		FILE *f = NULL;

		if (e->d_name[0] != '.') {
			snprintf(path, sizeof path, "/proc/%lld/task/%s/children", (long long)pid, e->d_name);
			f = fopen(path, "re");
		}
		while (f && fscanf(f, "%lld", &child) == 1)
			add(b, child);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
}

// One generation more; false: there is none.
static bool add_generation(struct below *b, int64_t top)
{
	size_t before = b->count;
	DIR *d = opendir("/proc");

	for (struct dirent *e; d && (e = readdir(d));) {
		int64_t pid = strtoll(e->d_name, NULL, 10), parent = pid > 0 ? process_parent(pid) : 0;

		if (parent > 0 && (parent == top || is_known(b, parent)))
			add(b, pid);
	}
	if (d)
		closedir(d);
	return b->count > before;
}

size_t process_below(int64_t top, int64_t *out, size_t most)
{
	struct below b = { .out = out, .most = most };

	if (access("/proc/thread-self/children", R_OK) == 0) {
		add_children(&b, top);
		for (size_t i = 0; i < b.count; i++)
			add_children(&b, b.out[i]);
	} else {
		while (add_generation(&b, top))
			;
	}
	return b.count;
}

bool process_below_is_stopped(int64_t top)
{
	int64_t below[BELOW_MOST];
	size_t n = process_below(top, below, BELOW_MOST);

	while (n > 0 && !process_is_stopped(below[n - 1]))
		n--;
	return n > 0;
}

bool process_end_below(int64_t top, double limit_ms)
{
	int64_t below[BELOW_MOST];
	double until = clock_ms() + limit_ms;

	for (int empty = 0; empty < 2;) {
		size_t n = process_below(top, below, BELOW_MOST);

		for (size_t i = 0; i < n; i++)
			kill((pid_t)below[i], SIGKILL);
		empty = n ? 0 : empty + 1;
		if (n && clock_ms() >= until)
			return false;
		if (n)
			poll(NULL, 0, LOOK_AGAIN_MS);
	}
	return true;
}

// ---- memory -------------------------------------------------------------------------------------------------------------

int64_t process_kib(const char *path, const char *key)
{
	char line[256];
	int64_t kib = -1;
	size_t length = strlen(key);
	FILE *f = fopen(path, "re");

	while (f && kib < 0 && fgets(line, sizeof line, f))
		if (!strncmp(line, key, length) && line[length] == ':')
			kib = strtoll(line + length + 1, NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

int64_t process_memory_thread(int64_t pid)
{
	char path[320];
	int64_t found = -1, kib;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
	if (process_kib(path, "VmRSS") >= 0)
		return pid;
	snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
	d = opendir(path);
	for (struct dirent *e; found < 0 && d && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/proc/%s/status", e->d_name);
		if ((kib = process_kib(path, "VmRSS")) >= 0)
			found = strtoll(e->d_name, NULL, 10);
	}
	if (d)
		closedir(d);
	return found;
}

// The head of a mapping, "7f..-7f.. rw-s 00000000 00:01 1045 /dev/zero (deleted)", of memory that no file keeps? A memfd may be
// mapped privately, too.
static bool is_shared(const char *line, bool *is_head)
{
	unsigned long long begin, end;
	char access[5];

	*is_head = sscanf(line, "%llx-%llx %4s", &begin, &end, access) == 3;
	return *is_head && (strstr(line, " (deleted)") || (access[3] == 's' && access[1] == 'w'));
}

// The list alone costs little; what of a mapping is there is counted page by page, so it is asked only where there is such a
// mapping. A list that is kept from us (a process that is not dumpable) may have one.
static bool maps_shared(int64_t pid)
{
	char path[64], *line = NULL; // of any length: a name of newlines, which are escaped, is four times as long
	size_t room = 0;
	bool is_head, shared;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
	f = fopen(path, "re");
	shared = !f;
	while (f && !shared && getline(&line, &room, f) > 0)
		shared = is_shared(line, &is_head);
	if (f)
		fclose(f);
	free(line);
	return shared;
}

int64_t process_shared_kib(int64_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	bool shared = false;
	int64_t all = 0, most, thread = process_memory_thread(pid);
	FILE *f;

	if (thread < 0)
		return -1;
	snprintf(path, sizeof path, "/proc/%lld/status", (long long)thread);
	most = process_kib(path, "RssShmem"); // of any kind, files of tmpfs among it
	if (most <= 0 || !maps_shared(thread))
		return most < 0 ? -1 : 0;
	snprintf(path, sizeof path, "/proc/%lld/smaps", (long long)thread);
	if (!(f = fopen(path, "re")))
		return most;
	while (getline(&line, &room, f) > 0) {
		bool is_head, is = is_shared(line, &is_head);
		long long kib;

		if (is_head)
			shared = is;
		else if (shared && sscanf(line, "Pss: %lld kB", &kib) == 1)
			all += kib;
	}
	fclose(f);
	free(line);
	return all < most ? all : most; // a file on a disk may be mapped for writing too
}
