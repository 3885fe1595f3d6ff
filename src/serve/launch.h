// SPDX-License-Identifier: Apache-2.0
// Finding, starting and ending a browser. It runs headless with a profile folder of its own in the cache's run folder, in the
// process group of its parent, and dies with its parent; launch_end ends every process that it has started and removes the
// folder. The URL is not among its arguments, which every user of the machine can read. A starter that is killed leaves the
// folder "*.PID.part", which the cache's next sweep removes.
#ifndef ASSAY_SERVE_LAUNCH_H
#define ASSAY_SERVE_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

enum browser_kind { BROWSER_CHROMIUM, BROWSER_FIREFOX, BROWSER_KINDS };

struct browser {
	enum browser_kind kind;
	const char *path;     // as it is started
	const char *name;     // of the file: "google-chrome"
	const char *identity; // of the file behind the path: it changes with an update
};

// ASSAY_BROWSER_PATH=none: browsers are not looked for, which takes seconds for each that is there.
bool browser_unwanted(void);
// Those of ASSAY_BROWSER_PATH (programs or folders, colon separated), of PATH, and `more`: programs found elsewhere (NULL ends;
// may be NULL). No file twice. `*out` in `a`. barred[]: of each kind one that this user cannot execute or whose disk fails, "PATH
// is there, and cannot be started: Permission denied", or a folder that may have one, "FOLDER, in which a browser may be, cannot
// be looked into: Permission denied"; NULL: there is none.
size_t browser_find(struct arena *a, const char *const *more, struct browser **out, const char *barred[BROWSER_KINDS]);

struct launch_how {
	const char *url;
	const char *software_vulkan; // a driver's JSON file for Firefox: WebGPU on the processor; NULL: the machine's own drivers
	bool software;               // Chromium: its own software adapter
};

struct launch {
	pid_t pid;     // 0: not running
	char *profile; // the folder; "output.log" in it is what the browser wrote
	const struct browser *browser;
};

// To be called from a thread that lives as long as the browser shall: the kernel ends it with that thread. NOT_ASKED where a
// limit of this process, the disk or a loopback interface that is down would end it: nothing is started then.
enum status launch_start(struct launch *l, const struct browser *b, const struct launch_how *how, struct error *err);
// NOT_ASKED where a limit of this user's on the size of a file is below what WebNN needs for weights of so many bytes.
enum status launch_check_webnn(const struct browser *b, uint64_t weights_nbytes, struct error *err);
// OK while it runs; else how it ended and what it said last.
enum status launch_alive(struct launch *l, struct error *err);
void launch_end(struct launch *l); // zeroed or ended is fine
// Proportional share of memory of the browser's processes in KiB, anonymous KiB beside it; false when nothing can be read.
bool launch_memory(const struct launch *l, long long *pss_kib, long long *anonymous_kib);

#endif
