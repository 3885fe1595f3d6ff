// SPDX-License-Identifier: Apache-2.0
// process.h: System V shared memory, semaphores and message queues, which stay when their makers have ended. The kernel's lists
// (/proc/sysvipc) name the maker of a segment, and of the others who used them last: what is of a process that the caller waited
// for goes, and nothing else, since this user's other programs have some of their own. An IPC namespace for each child would need
// the super-user, or a user namespace, where files of the super-user look like somebody's.
#include <stdio.h>
#include <stdlib.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include "base/process.h"

// Of a set of up to 32,000, each of which is asked for by itself: who uses one uses the first.
enum { SEMAPHORES_LOOKED = 64 };
enum { COLUMNS = 10, ID = 1 }; // key, id, and at least so many
enum { ENDED_MOST = 1 << 16 }; // what forks more often leaves something

static bool has_ended(const struct process_ipc *p, long long pid)
{
	for (size_t i = 0; i < p->ended_count; i++)
		if (p->ended[i] == pid)
			return true;
	return false;
}

static bool segment_is_left(const struct process_ipc *p, const long long *c)
{
	const long long maker = c[4], attached = c[6];

	return has_ended(p, maker) && !attached;
}

static bool semaphores_are_left(const struct process_ipc *p, const long long *c)
{
	const int id = (int)c[ID], n = (int)(c[3] < SEMAPHORES_LOOKED ? c[3] : SEMAPHORES_LOOKED);
	bool used = false;

	for (int i = 0; i < n; i++) {
		const int pid = semctl(id, i, GETPID);

		if (pid < 0 || (pid > 0 && !has_ended(p, pid)) || semctl(id, i, GETNCNT) || semctl(id, i, GETZCNT))
			return false;
		used |= pid > 0;
	}
	return used;
}

static bool queue_is_left(const struct process_ipc *p, const long long *c)
{
	const long long sender = c[5], receiver = c[6];

	return (sender > 0 || receiver > 0) && (sender == 0 || has_ended(p, sender)) && (receiver == 0 || has_ended(p, receiver));
}

static void remove_segment(int id)
{
	shmctl(id, IPC_RMID, NULL);
}

static void remove_semaphores(int id)
{
	semctl(id, 0, IPC_RMID);
}

static void remove_queue(int id)
{
	msgctl(id, IPC_RMID, NULL);
}

static const struct kind {
	const char *path;
	int maker; // the column of its user
	bool (*is_left)(const struct process_ipc *p, const long long *columns);
	void (*remove)(int id);
} kinds[] = {
	{ "/proc/sysvipc/shm", 9, segment_is_left, remove_segment },
	{ "/proc/sysvipc/sem", 6, semaphores_are_left, remove_semaphores },
	{ "/proc/sysvipc/msg", 9, queue_is_left, remove_queue },
};

// Every object of this user's: as what it is known, and its columns.
static void each(void (*tell)(struct process_ipc *, const struct kind *, int64_t, const long long *), struct process_ipc *p)
{
	char line[512];
	long long c[COLUMNS];

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		FILE *f = fopen(kinds[i].path, "re");

		while (f && fgets(line, sizeof line, f))
			if (sscanf(line, "%lld %lld %lld %lld %lld %lld %lld %lld %lld %lld", c, c + 1, c + 2, c + 3, c + 4,
				    c + 5, c + 6, c + 7, c + 8, c + 9) == COLUMNS &&
				c[kinds[i].maker] == (long long)geteuid())
				tell(p, &kinds[i], (int64_t)i << 32 | (int64_t)c[ID], c);
		if (f)
			fclose(f);
	}
}

static void add(int64_t **list, size_t *count, int64_t one)
{
	int64_t *grown = realloc(*list, (*count + 1) * sizeof *grown);

	if (!grown)
		abort();
	*list = grown;
	grown[(*count)++] = one;
}

static void keep(struct process_ipc *p, const struct kind *kind, int64_t name, const long long *columns)
{
	(void)kind;
	(void)columns;
	add(&p->known, &p->count, name);
}

static void end(struct process_ipc *p, const struct kind *kind, int64_t name, const long long *columns)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->known[i] == name)
			return;
	if (kind->is_left(p, columns))
		kind->remove((int)columns[ID]);
}

void process_ipc_begin(struct process_ipc *p)
{
	*p = (struct process_ipc){ 0 };
	each(keep, p);
}

void process_ipc_ended(struct process_ipc *p, int64_t pid)
{
	if (p->ended_count < ENDED_MOST)
		add(&p->ended, &p->ended_count, pid);
}

void process_ipc_end(struct process_ipc *p)
{
	each(end, p);
	free(p->known);
	free(p->ended);
	*p = (struct process_ipc){ 0 };
}
