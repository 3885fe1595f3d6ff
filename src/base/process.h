// SPDX-License-Identifier: Apache-2.0
// Does a process still live? The one that wrote a run is named by pid, start time and boot, so that a pid used again
// is not taken for the old one. From another pid namespace (a container) that cannot be told: then it is left alone.
// And the processes below one (process_tree.c): who they are, their end, what they share; a limit of memory (process_memory.c);
// what the kernel keeps of processes that have ended (process_ipc.c).
#ifndef ASSAY_BASE_PROCESS_H
#define ASSAY_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct process {
	int64_t pid;
	int64_t start_ticks; // field 22 of /proc/PID/stat
	char boot_id[64];
	int64_t pid_namespace; // inode of /proc/self/ns/pid; 0 unknown
};

void process_self(struct process *out);
// False only when it is certain: another boot, or in our own namespace no such process, another start time, a zombie.
bool process_may_live(const struct process *p);
// 64 random bits, the same for the life of this process and others in a forked one: for names of files that no other process
// makes, in whatever PID namespace.
uint64_t process_nonce(void);
// Of private memory (RLIMIT_DATA: heap, anonymous maps, stacks of threads) this process may have, besides what it had at
// process_private_kib, `more` bytes until process_free_memory: what asks for more gets none. One limit at a time. False: the
// address sanitizer, whose maps count, is in this program, or the kernel does not say what there is.
bool process_hold_memory(int64_t begin_kib, int64_t more);
void process_free_memory(void);
int64_t process_private_kib(void);   // as that limit counts; -1: it cannot be read
int64_t process_parent(int64_t pid); // 0 when it is gone
bool process_lives(int64_t pid);     // false: gone, or a zombie; one whose first thread alone has ended lives

// Every living process whose line of parents leads to `top`, without `top`, nearest first; how many, at most `most`. One that
// leaves its session stays below as long as its parent lives, or as `top` is a subreaper (PR_SET_CHILD_SUBREAPER).
size_t process_below(int64_t top, int64_t *out, size_t most);
bool process_is_stopped(int64_t pid);       // by SIGSTOP, SIGTSTP, ...; false too where that cannot be read
bool process_below_is_stopped(int64_t top); // any below it
// SIGKILL for every process below `top`, and for those that they start meanwhile, until there are none. False: some still live
// after `limit_ms`. Reaps nothing.
bool process_end_below(int64_t top, double limit_ms);
// The number after "KEY:" in a file of such lines of /proc, KiB; -1: there is none.
int64_t process_kib(const char *path, const char *key);
// The number of a thread under which /proc tells the process's memory: its own, or another one's where the first has ended. -1:
// none.
int64_t process_memory_thread(int64_t pid);
// KiB of the shared memory that a process maps and that no file keeps: anonymous, memfd, System V; of files in memory (tmpfs)
// only what is mapped for writing. Of what several processes map, its share; of a process whose maps are kept from us, all that
// it shares. -1: it cannot be read.
int64_t process_shared_kib(int64_t pid);

// The least of a limit (RLIMIT_STACK, NOFILE, FSIZE, AS, DATA, CPU); 0: any is too low. `hard`: what is started raises it itself,
// to the hard one.
struct process_limit {
	int resource;
	unsigned long long least;
	bool hard;
};
// Of a child that runs an engine: who started its guard, and has the limits that the user gave. Of its own, that of data is
// --memory's.
int64_t process_limited_by_user(void);
// NOT_ASKED, with both numbers, where one of the process `pid` (0: this one) is lower. `who`: needs it.
enum status process_check_limits(
	int64_t pid, const struct process_limit *limits, size_t count, const char *who, struct error *err);
// Likewise where one keeps an engine from memory that it is allowed otherwise, `allowed` bytes; 0: any does.
enum status process_check_memory(int64_t pid, unsigned long long allowed, const char *who, struct error *err);
// Likewise where memory that was written may not be made executable (systemd's MemoryDenyWriteExecute, SELinux's execmem), as
// what compiles while it runs needs.
enum status process_check_code(const char *who, struct error *err);
// Likewise of the limits that may have ended a process `who` which died of that signal; 0: it ended by itself, unasked.
enum status process_check_end(int64_t pid, int signal_number, const char *who, struct error *err);
// Whether somebody else, or the kernel for want of memory, ends a process by that signal; of itself it dies of others.
bool process_is_others_signal(int signal_number);

// Segments, semaphores and queues of System V that this user has. The end removes those that are new since the beginning and were
// made, or last used, by processes that have `ended`, while nobody has them attached or waits for them.
struct process_ipc {
	int64_t *known, *ended;
	size_t count, ended_count;
};
void process_ipc_begin(struct process_ipc *p);
void process_ipc_ended(struct process_ipc *p, int64_t pid);
void process_ipc_end(struct process_ipc *p);

#endif
