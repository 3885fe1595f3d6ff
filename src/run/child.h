// SPDX-License-Identifier: Apache-2.0
// A child process with limits: started by posix_spawn in its own process group, and in a control group where one can be made,
// with everything close-on-exec, fd 0 a socket from us, fd 3 a pipe to us, standard output and error kept (the last 16 KiB). It
// is killed with everything below it at the time limit, at the memory limit, or when told to stop; what it started ends with it,
// and it dies with its parent. This is the parent's side; cell/say.h is the child's, child_memory.h what the limit counts.
#ifndef ASSAY_RUN_CHILD_H
#define ASSAY_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "cell/say.h"

// CHILD_MANY: it had so many processes that what they hold is not known, and a limit. CHILD_OOM: the kernel killed it for memory.
// CHILD_SILENT: no line for limits.silence_s. CHILD_REFUSED: on_line did not take a line, or one is above CHILD_LINE_LIMIT.
enum child_end {
	CHILD_EXITED,
	CHILD_SIGNALLED,
	CHILD_TIMEOUT,
	CHILD_MEMORY,
	CHILD_MANY,
	CHILD_OOM,
	CHILD_STOPPED,
	CHILD_SILENT,
	CHILD_REFUSED
};

enum { CHILD_UNLIMITED = -1 };

struct child_limits {
	double timeout_s; // 0: none
	double spent_s;   // of it, before the child was started
	double silence_s; // longest time without a line; 0: none
	// Of all its processes, private and shared; cgroup where one can be made, else RLIMIT_DATA (private memory alone) and
	// the sampler; 0: child_memory_default. A child may have read a stranger's graph, so that none is a choice.
	int64_t memory_bytes;
	int64_t usual_most;   // of child_memory_default so much at most, also where it is not known; 0: all of it
	int64_t threads;      // that the engine is told to start: the process may have to hold two loads' of them; 0: its own
	int64_t mapped_bytes; // files that the engine may map privately: RLIMIT_DATA counts them, so it is raised by them
	volatile sig_atomic_t *stop; // may be NULL
};

// What on_line answers: how the child is watched until its next line.
//   CHILD_QUIET    timed: the parent sleeps until a line, the child's end or the deadline
//   CHILD_WATCH    memory is sampled for the limit alone
//   CHILD_SAMPLE   memory is sampled for the limit and the peak
//   CHILD_REFUSE   the line is not one of ours: end the child
//   CHILD_YES, CHILD_NO   it is watched as before, and gets the byte 'y' or 'n' on its fd 0
enum child_watch { CHILD_QUIET, CHILD_WATCH, CHILD_SAMPLE, CHILD_REFUSE, CHILD_YES, CHILD_NO };

struct child_report {
	enum child_end end;
	int code;           // exit code or signal
	bool is_lost;       // how it ended is not known: the program around this one has waited for its end (SIGCHLD, waitpid)
	bool stopped;       // CHILD_TIMEOUT, CHILD_SILENT: a process of its own stood still then, by a signal
	struct text output; // end of standard output and error together, valid UTF-8
	// Of all its processes, private and shared, over the sampled phases; NaN when there was no sample.
	double peak_anonymous_mib;
	double wall_ms;
	double stood_ms; // of these this process itself stood still (Ctrl-Z, a paused container), and the child may have
	const char *memory_limit_by; // "cgroup", "rlimit_data+sampler", "sampler", NULL
	int64_t memory_bytes;        // the limit that it had; 0: none
	bool other_killed;           // CHILD_OOM of a process that it had started: it went on itself
	bool limit_killed;           // CHILD_OOM: at that limit, and not because the machine was out of memory
	char memory_from[128];       // what follows it in a sentence: where it is from; "": from limits.memory_bytes
};

// Runs argv (argv[0] the path of a program that calls child_begin first) with `request` on its fd 0, which stays open until the
// end. on_line gets each whole line of fd 3 without its newline; NUL bytes may be in it. An error here means that no child could
// be started; it is NOT_ASKED where a limit of this process or machine is why: descriptors, processes, memory, a stack too small
// for engines.
enum status child_run(char *const argv[], const char *request, const struct child_limits *limits,
	enum child_watch (*on_line)(void *context, const char *line, size_t length), void *context, struct child_report *out,
	struct error *err);
void child_report_done(struct child_report *r);

#endif
