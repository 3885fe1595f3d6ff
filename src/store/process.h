// SPDX-License-Identifier: Apache-2.0
// Does the process that wrote a run still live? A process is named by pid, start time and boot, so that a pid used again
// is not taken for the old one. From another pid namespace (a container) nobody can tell: then it is left alone.
#ifndef ASSAY_STORE_PROCESS_H
#define ASSAY_STORE_PROCESS_H

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

#endif
