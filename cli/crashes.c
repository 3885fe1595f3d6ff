// SPDX-License-Identifier: Apache-2.0
// DuckDB works in this process and trusts the blocks of a file once their checksums are right: a damaged file, or one that was
// made to, ends it with a signal. That becomes a sentence that names the file. In the handler nothing but system calls, on a
// stack of its own, since the other may be what is used up. While no database is open a signal does what it always does; a child
// that runs an engine does not ask for this. It also aborts where a limit of the process gives it no descriptor or no memory, and
// that is not the file's fault.
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/backend.h"
#include "command.h"
#include "emit.h"
#include "reading.h"
#include "store/opened.h"

// A limit below what the database library may need; NULL: none is.
static const char *tight_limit(void)
{
	static const struct {
		int resource;
		rlim_t enough;
		const char *name;
	} known[] = {
		{ RLIMIT_NOFILE, 32, "ulimit -n" },
		{ RLIMIT_STACK, 256 << 10, "ulimit -s" },
		{ RLIMIT_DATA, 1 << 30, "ulimit -d" },
		{ RLIMIT_AS, (rlim_t)2 << 30, "ulimit -v" },
	};
	struct rlimit limit;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (getrlimit(known[i].resource, &limit) == 0 && limit.rlim_cur < known[i].enough)
			return known[i].name;
	}
	return NULL;
}

static void on_crash(int number)
{
	bool write = false;
	const char *path = store_opened(&write);

	if (path) {
		const char *limit = store_holds_memory() ? NULL : tight_limit();

		emit_in_handler((const char *const[]){ "assay: the database library crashed on ", path,
			limit ? ": a limit of this process is too low for it (" : ": the file is damaged, or made to do this",
			limit                          ? limit
				: store_holds_memory() ? ", or it wants more memory than it gets"
						       : "",
			// It ends this program where a write fails and taking it back fails, too.
			number == SIGABRT && write ? ", or its disk fails" : "", limit ? "), or the file is damaged" : "",
			write ? "" : "; nothing was changed", NULL });
		_exit(EXIT_USE);
	}
	signal(number, SIG_DFL);
	raise(number);
}

// Nothing but system calls: the other thread holds the loader's lock, and may hold others.
static void give_up_loading(const char *file)
{
	emit_in_handler((const char *const[]){ "assay: ", file,
		" was still being loaded when the limit of time was over: what it runs by itself then waits, or does not end",
		NULL });
	_exit(EXIT_USE);
}

void cli_limit_loading(double timeout_s)
{
	enum { MOST_S = 60 };

	library_limit(timeout_s > 0 && timeout_s < MOST_S ? timeout_s : MOST_S, give_up_loading);
}

void cli_watch_database(void)
{
	static const int signals[] = { SIGSEGV, SIGABRT, SIGFPE, SIGILL };
	static _Alignas(16) char stack[64 << 10];
	struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK };

	stack_t before;

	// A sanitizer has a stack and handlers of its own, which stay: its report says more.
	if (sigaltstack(NULL, &before) != 0 ||
		((before.ss_flags & SS_DISABLE) && sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL) != 0))
		return;
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct sigaction old;
		if (sigaction(signals[i], NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	}
	store_owns_process(cli_give_up);
}
