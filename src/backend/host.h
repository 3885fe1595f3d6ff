// SPDX-License-Identifier: Apache-2.0
// What this process may use: CPUs (affinity and cgroup quotas) and memory (cgroup limits), cgroup v1 and v2.
// `root` goes before every path under /proc and /sys, so that a test can bring its own machine; "" is this one.
#ifndef ASSAY_BACKEND_HOST_H
#define ASSAY_BACKEND_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

int host_cpus(const char *root);             // at least 1; a quota of 1.5 CPUs counts as 2
double host_cpu_quota(const char *root);     // CPUs' worth of time that a control group allows; 0: no limit
int64_t host_throttled_us(const char *root); // for how long quotas have held this process' groups back, since they were made
const char *host_cgroup(const char *root);   // "v1", "v2"; "v1 and v2" where controllers of both are mounted; NULL: none is
int64_t host_memory_limit(const char *root); // the smallest limit on the way to the root of the hierarchy; 0: none
int64_t host_memory_left(const char *root);  // the smallest rest of such a limit, what the groups use taken off; 0: no limit
int64_t host_tasks_left(const char *root);   // how many more processes and threads the groups allow, at least 1; 0: no limit
// NOT_ASKED with that limit where it is less than `who` may need.
enum status host_check_tasks(int64_t least, const char *who, struct error *err);
int host_own_threads(void); // of this process, now; -1: unknown
// A value of /proc/cpuinfo's first processor, by its key ("model name"); "" where there is none. Returns out.
const char *host_cpuinfo(const char *root, const char *key, char *out, size_t size);

#endif
