// SPDX-License-Identifier: Apache-2.0
// Reads /proc and random bits; starts and signals nothing.
#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"

static bool read_small(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	out[n] = '\0';
	return true;
}

// State letter, parent and start time; the command in field 2 may hold anything, so fields are counted after its last ')'.
static bool read_stat(int64_t pid, char *state, int64_t *parent, int64_t *start_ticks)
{
	char path[64], stat[1024], *p;

	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
	if (!read_small(path, stat, sizeof stat) || (p = strrchr(stat, ')')) == NULL || p[1] != ' ')
		return false;
	p += 2;
	*state = *p;
	for (int field = 3; field < 22; field++) {
		p = strchr(p, ' ');
		if (p == NULL)
			return false;
		p++;
		if (field == 3)
			*parent = strtoll(p, NULL, 10);
	}
	*start_ticks = strtoll(p, NULL, 10);
	return true;
}

static bool is_dead(char state)
{
	return state == 'Z' || state == 'X';
}

bool process_is_stopped(int64_t pid)
{
	int64_t parent, start_ticks;
	char state;

	return read_stat(pid, &state, &parent, &start_ticks) && state == 'T';
}

void process_self(struct process *out)
{
	struct stat ns;
	int64_t parent;
	char state;

	*out = (struct process){ .pid = getpid() };
	if (!read_stat(out->pid, &state, &parent, &out->start_ticks))
		out->start_ticks = 0;
	if (read_small("/proc/sys/kernel/random/boot_id", out->boot_id, sizeof out->boot_id))
		out->boot_id[strcspn(out->boot_id, "\n")] = '\0';
	if (stat("/proc/self/ns/pid", &ns) == 0)
		out->pid_namespace = (int64_t)ns.st_ino;
}

bool process_may_live(const struct process *p)
{
	struct process self;
	int64_t start_ticks, parent;
	char state;

	process_self(&self);
	if (!text_is(self.boot_id, p->boot_id))
		return false;
	if (p->pid_namespace != self.pid_namespace)
		return true;
	if (!read_stat(p->pid, &state, &parent, &start_ticks))
		return false;
	return start_ticks == p->start_ticks && !is_dead(state);
}

uint64_t process_nonce(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static uint64_t nonce;
	static pid_t owner;

	pthread_mutex_lock(&mutex);
	if (owner != getpid()) {
		owner = getpid();
		if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
			nonce = splitmix64((uint64_t)clock_ns(), (uint64_t)owner);
	}
	const uint64_t result = nonce;
	pthread_mutex_unlock(&mutex);
	return result;
}

bool process_lives(int64_t pid)
{
	int64_t start_ticks, parent;
	char state, path[64];
	size_t threads = 0;
	DIR *d;

	if (!read_stat(pid, &state, &parent, &start_ticks))
		return false;
	if (!is_dead(state))
		return true;
	snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
	d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		threads += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return threads > 1;
}

int64_t process_parent(int64_t pid)
{
	int64_t start_ticks, parent;
	char state;

	return read_stat(pid, &state, &parent, &start_ticks) ? parent : 0;
}
