// SPDX-License-Identifier: Apache-2.0
// Does a process still live? The one that wrote a run is named by pid, start time and boot, so that a pid used again
// is not taken for the old one. From another pid namespace (a container) nobody can tell: then it is left alone.
#ifndef ASSAY_BASE_PROCESS_H
#define ASSAY_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct process {
	int64_t pid;
	int64_t start_ticks;                 // field 22 of /proc/PID/stat
	char boot_id[64];
	int64_t pid_namespace;               // inode of /proc/self/ns/pid; 0 unknown
};

void process_self(struct process *out);
// False only when it is certain: another boot, or in our own namespace no such process, another start time, a zombie.
bool process_may_live(const struct process *p);
// 64 random bits, the same for the life of this process and others in a forked one: for names of files that no other process makes, in
// whatever PID namespace.
uint64_t process_nonce(void);
int64_t process_parent(int64_t pid);         // 0 when it is gone

#endif
