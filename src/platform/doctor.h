// SPDX-License-Identifier: Apache-2.0
// What `assay doctor` looks at before anything is loaded: where engines are looked for, each library that a route needs with its
// whole chain, its version, device files, variables that hide devices, drivers of Vulkan. Files are read, no engine is opened.
// It is no proof: that is the run that analysis/prove.c makes afterwards.
#ifndef ASSAY_PLATFORM_DOCTOR_H
#define ASSAY_PLATFORM_DOCTOR_H

#include "platform/platform.h"

enum check_state { CHECK_OK, CHECK_BAD, CHECK_NONE }; // NONE: not applicable here, or not asked any more

struct check {
	enum check_state state;
	const char *name; // "library", "chain", "device"
	const char *text; // one line: the fact, or what is wrong
	const char *fix;  // what to do; NULL: nothing, or not known
};

enum { CHECKS_MOST = 96 };
struct checkup {
	struct arena *arena;
	struct check check[CHECKS_MOST];
	size_t count;
	bool hopeless; // a library is missing or cannot be opened: running would only say so again
	bool works;    // set by the proving run alone
	bool unasked;  // a limit of this process or of the machine was in the way: whether it works is not known
};

const char *check_word(enum check_state s); // "ok" "bad" "none"
void checkup_add(struct checkup *c, enum check_state state, const char *name, const char *fix, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
// What to do about what is bad, each remedy once, in the order of the checks; NULL: none is known.
const char *checkup_fix(const struct checkup *c);

// `root` goes before the folders of the system: "" is this machine. Texts are in `a`.
void doctor_route(struct checkup *out, struct arena *a, const struct target *t, const char *root);

// What `assay setup WORD` brings for a platform: names of groups in deps.lock, "base qnn"; NULL: nothing of ours.
const char *doctor_groups(const char *platform);

// doctor_host.c
void doctor_devices(struct checkup *c, const struct target *t, const char *root);
void doctor_environment(struct checkup *c, const struct target *t);
void doctor_vulkan(struct checkup *c, const char *root);
void doctor_browsers(struct checkup *c, const struct target *t);

#endif
