// SPDX-License-Identifier: Apache-2.0
// A child process with limits: started by posix_spawn in its own process group with everything close-on-exec, fd 0 a pipe
// from us, fd 3 a pipe to us, standard output and error kept (the last 16 KiB). It is killed with its whole group at the
// time limit, at the memory limit, or when told to stop; it dies with its parent (PR_SET_PDEATHSIG, and end of file on fd 0).
#ifndef ASSAY_MEASURE_CHILD_H
#define ASSAY_MEASURE_CHILD_H

#include <signal.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

enum child_end { CHILD_EXITED, CHILD_SIGNALLED, CHILD_TIMEOUT, CHILD_MEMORY, CHILD_STOPPED };

struct child_limits {
	double timeout_s;                    // 0: none
	int64_t memory_bytes;                // anonymous memory; cgroup where one can be made, else RLIMIT_DATA and the sampler; 0: none
	volatile sig_atomic_t *stop;
};

struct child_report {
	enum child_end end;
	int code;                            // exit code or signal
	struct text output;                  // end of standard output and error together
	double peak_anonymous_mib;           // over the sampled phases
	double peak_pss_mib;
	double wall_ms;
	const char *memory_limit_by;         // "cgroup", "rlimit_data+sampler", NULL
};

// Runs argv with `request` on its fd 0 (kept open until the end). on_line gets each line of fd 3 without its newline and
// returns true while memory may be sampled (an untimed phase); the sampler then reads /proc/PID/smaps_rollup at phase ends
// and /proc/PID/status (RssAnon) at 100 Hz, and sleeps in poll() without a timeout but for the limits otherwise.
enum status child_run(char *const argv[], const char *request, const struct child_limits *limits,
	bool (*on_line)(void *context, const char *line, size_t length), void *context, struct child_report *out, struct error *err);
void child_report_done(struct child_report *r);

// In the child: asks to die with the parent and checks that it still lives; starts a thread that ends the process when fd
// 0 ends. `request` is everything up to the first newline.
enum status child_begin(struct text *request, struct error *err);

#endif
