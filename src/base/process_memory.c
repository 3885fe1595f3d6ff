// SPDX-License-Identifier: Apache-2.0
// process.h: a limit of this process's own memory.
#include <sys/resource.h>

#include "base/process.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER true // maps terabytes for itself
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER true
#endif
#endif
#ifndef HAS_ADDRESS_SANITIZER
#define HAS_ADDRESS_SANITIZER false
#endif

static struct rlimit unheld; // before process_hold_memory
static bool is_held;

int64_t process_private_kib(void)
{
	return process_kib("/proc/self/status", "VmData");
}

bool process_hold_memory(int64_t begin_kib, int64_t more)
{
	struct rlimit held;

	if (HAS_ADDRESS_SANITIZER || begin_kib < 0 || is_held || getrlimit(RLIMIT_DATA, &unheld) != 0)
		return false;
	held = unheld;
	if ((rlim_t)(begin_kib * 1024 + more) < held.rlim_cur)
		held.rlim_cur = (rlim_t)(begin_kib * 1024 + more);
	is_held = setrlimit(RLIMIT_DATA, &held) == 0;
	return is_held;
}

void process_free_memory(void)
{
	if (is_held)
		setrlimit(RLIMIT_DATA, &unheld);
	is_held = false;
}
