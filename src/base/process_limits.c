// SPDX-License-Identifier: Apache-2.0
// process.h: limits of a process, which what it starts inherits.
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

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

int64_t process_limited_by_user(void)
{
	return process_parent(getppid());
}

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

enum status process_check_memory(int64_t pid, unsigned long long allowed, const char *who, struct error *err)
{
	// Of a process that stays within its memory: maps of libraries, reserved addresses.
	static const unsigned long long addresses_beside = 2ULL << 30;
	const struct process_limit kinds[] = { { RLIMIT_DATA, allowed, true },
		{ RLIMIT_AS, allowed ? allowed + addresses_beside : 0, false } };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct process_limit told = { kinds[i].resource, 0, kinds[i].hard };

		if (process_check_limits(pid, &kinds[i], 1, who, NULL))
			return process_check_limits(pid, &told, 1, who, err);
	}
	return STATUS_OK;
}

enum status process_check_code(const char *who, struct error *err)
{
	const size_t nbytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return STATUS_OK; // which says nothing of this
	const bool may = mprotect(page, nbytes, PROT_READ | PROT_EXEC) == 0;
	munmap(page, nbytes);
	return may ? STATUS_OK
		   : error_set(err, STATUS_NOT_ASKED,
			     "memory that was written may not be made executable here, and %s may need that", who);
}

// A process that dies under such a limit says nothing of itself: which of the two it was nobody can tell. A model of some
// kilobytes was seen to need 256 KiB of stack, 900 MiB of addresses (with QNN more than 980) and 600 of data. That of data is,
// but for the hard one, assay's own while it reads a database.
enum status process_check_end(int64_t pid, int signal_number, const char *who, struct error *err)
{
	static const struct process_limit few[] = { { RLIMIT_STACK, 1ULL << 20, false }, { RLIMIT_AS, 2ULL << 30, false },
		{ RLIMIT_DATA, 2ULL << 30, true } };
	static const struct process_limit size = { RLIMIT_FSIZE, 0, false }, time = { RLIMIT_CPU, 0, false };

	if (signal_number == SIGXFSZ)
		return process_check_limits(pid, &size, 1, who, err);
	if (signal_number == SIGXCPU || signal_number == SIGKILL)
		return process_check_limits(pid, &time, 1, who, err);
	const enum status st = process_check_limits(pid, few, sizeof few / sizeof *few, who, err);
	return st ? st : process_check_code(who, err);
}

bool process_is_others_signal(int signal_number)
{
	return signal_number == SIGKILL || signal_number == SIGTERM || signal_number == SIGINT || signal_number == SIGHUP;
}
