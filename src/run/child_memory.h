// SPDX-License-Identifier: Apache-2.0
// What a child and everything below it hold in memory that no file stands behind: private pages (RssAnon, VmSwap, HugetlbPages),
// page tables above what is usual, and shared pages (process_shared_kib). Read by the parent from /proc, as often as it likes;
// who is below and what is shared is looked up a few times a second. The guard at the top (cell/begin.c) is not counted: it is
// ours. Also: the limit of a child to which nobody gave one.
#ifndef ASSAY_RUN_CHILD_MEMORY_H
#define ASSAY_RUN_CHILD_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

// Members that are kept open, and all that are counted: with more, what they hold is not known.
enum { CHILD_OPEN = 128, CHILD_MEMBERS = 2048 };

struct child_memory {
	int64_t top;
	struct child_member {
		int64_t pid, thread;    // the thread under which its memory is told
		int status_fd;          // of /proc/THREAD/status; -1: not kept open
		double resident_shared; // bytes, of any kind, when `shared` was looked up
		double shared;          // bytes
		double looked_ms, searched_ms;
	} * members;    // [CHILD_MEMBERS], on the heap: a stack may be small
	int64_t *below; // [CHILD_MEMBERS]
	size_t count, open, room;
	char *status;     // [room], what was read last
	double looked_ms; // who is below; 0: never
};

void child_memory_begin(struct child_memory *m, int64_t top);
// Bytes at `now_ms` (clock_ms); NaN: there is no process to ask; infinite: there are too many.
double child_memory_read(struct child_memory *m, double now_ms);
void child_memory_end(struct child_memory *m);

// $ASSAY_MEMORY, in GiB; else what is available now, but for what stays free for others (predict_margin). 0: not known. *from:
// words that follow such a limit in a sentence, in `a`. BAD_INPUT where the variable is no number. `root` as for
// machine_detect_at.
enum status child_memory_default(int64_t *bytes, const char **from, struct arena *a, const char *root, struct error *err);
// Files that an engine may map privately: everything beside the model.
int64_t child_mapped_bytes(struct arena *a, const char *path);

#endif
