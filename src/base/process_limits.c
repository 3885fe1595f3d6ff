// SPDX-License-Identifier: Apache-2.0
// process.h: limits of a process, which what it starts inherits.
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/process.h"

static const struct words {
	int resource, shift;
	const char *before, *unit, *option;
} words[] = {
	{ RLIMIT_STACK, 10, "a stack may have", " KiB", "-s" },
	{ RLIMIT_NOFILE, 0, "files that may be open:", "", "-n" },
	{ RLIMIT_FSIZE, 10, "a file may have", " KiB", "-f" },
	{ RLIMIT_AS, 20, "a process may have", " MiB of addresses", "-v" },
	{ RLIMIT_DATA, 20, "a process may have", " MiB of data", "-d" },
	{ RLIMIT_CPU, 0, "a process may compute for", " s", "-t" },
};

enum status process_check_limits(
	int64_t pid, const struct process_limit *limits, size_t count, const char *who, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct process_limit *l = &limits[i];
		const struct words *w = words;
		struct rlimit is;

		while (w->resource != l->resource)
			w++;
		if (prlimit((pid_t)pid, (__rlimit_resource_t)l->resource, NULL, &is))
			continue;
		const rlim_t now = l->hard ? is.rlim_max : is.rlim_cur;
		if (now == RLIM_INFINITY || (l->least && now >= l->least))
			continue;
		char needs[40] = "may need more";
		if (l->least)
			snprintf(needs, sizeof needs, "needs %llu", l->least >> w->shift);
		return error_set(err, STATUS_NOT_ASKED, "%s %llu%s here, and %s %s: raise the limit (ulimit %s)", w->before,
			(unsigned long long)now >> w->shift, w->unit, who, needs, w->option);
	}
	return STATUS_OK;
}
