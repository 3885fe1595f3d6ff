// SPDX-License-Identifier: Apache-2.0
// A memory control group of our own below the one we are in, version 2 or 1, where the system lets us make one: the only
// limit that the kernel itself holds for a child and all of its children, and an end that none of them escapes. Nothing here
// fails: no group is a normal state.
#ifndef ASSAY_RUN_MEMORY_GROUP_H
#define ASSAY_RUN_MEMORY_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_group {
	char path[4096]; // "" when there is none
	int version;     // 1 or 2
	int lock;        // its folder, flock'ed: other programs that see the group know that it is in use
};

// Makes a group limited to `bytes` (and no swap beside it); 0: without a limit. Also removes the empty groups of dead programs.
bool memory_group_make(struct memory_group *g, int64_t bytes);
bool memory_group_add(const struct memory_group *g, pid_t pid);
// Kills everything in it: also those that left the process group.
void memory_group_kill(const struct memory_group *g);
// How many processes in it the kernel has killed for memory.
int64_t memory_group_oom_kills(const struct memory_group *g);
void memory_group_done(struct memory_group *g);

// The same count for the whole machine (/proc/vmstat); -1 where it is not told.
int64_t memory_oom_kills(void);

#endif
