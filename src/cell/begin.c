// SPDX-License-Identifier: Apache-2.0
// The child's side: neither it nor anything that it starts may outlive its parent or the cell, however those ended. The process
// that the parent started stays as a guard, and the work is done in a child of it. The guard is the subreaper of everything below
// it, so that a daemon of an engine, which leaves session, group and parent, is still its child; it ends all of that when the
// work has ended, when the parent has died (the kernel's parent-death signal; end of file on fd 0, where another process adopted
// us), or when it is told to. Then it ends as the work did. Nothing but the death of the guard itself lets a daemon escape; a
// control group, where there is one, holds that too.
#include "cell/say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

#define REQUEST_LIMIT ((size_t)64 << 20)

enum { END_MS = 10000 };

// ---- the guard ----------------------------------------------------------------------------------------------------------

static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
	told_to_end |= number == SIGTERM; // SIGCHLD only wakes
}

// As the work ended, so that the parent sees what it would have seen of the work itself.
static _Noreturn void end_as(int how)
{
	sigset_t none;

	sigemptyset(&none);
	if (WIFSIGNALED(how)) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
		signal(WTERMSIG(how), SIG_DFL);
		sigprocmask(SIG_SETMASK, &none, NULL);
		kill(getpid(), WTERMSIG(how));
	}
	_exit(WIFEXITED(how) ? WEXITSTATUS(how) : 125);
}

// All signals are blocked here; `waiting` lets those two through that it waits for.
static _Noreturn void guard(pid_t work, const sigset_t *waiting, struct process_ipc *ipc)
{
	struct pollfd parent = { .fd = STDIN_FILENO, .events = POLLRDHUP };
	int how = SIGKILL, status; // a wait status: what it died of unless something else is known
	bool ended = false;
	pid_t pid;

	prctl(PR_SET_NAME, "assay-guard");
	while (!ended && !told_to_end) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			process_ipc_ended(ipc, pid);
			if (pid == work) {
				ended = true;
				how = status;
			}
		}
		if (!ended && ppoll(&parent, 1, NULL, waiting) > 0 &&
			(parent.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)))
			break;
	}
	process_end_below(getpid(), END_MS);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		process_ipc_ended(ipc, pid);
		if (pid == work)
			how = status;
	}
	process_ipc_end(ipc);
	end_as(how);
}

// Returns in a child of this process, which stays behind as its guard.
static enum status begin_guard(struct error *err)
{
	struct sigaction action = { .sa_handler = on_signal }, before_child, before_term;
	sigset_t all, before, waiting;
	struct process_ipc ipc;
	pid_t self = getpid(), work;

	process_ipc_begin(&ipc);
	sigfillset(&all);
	waiting = all;
	sigdelset(&waiting, SIGCHLD);
	sigdelset(&waiting, SIGTERM);
	sigprocmask(SIG_SETMASK, &all, &before);
	sigaction(SIGCHLD, &action, &before_child);
	sigaction(SIGTERM, &action, &before_term);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || (work = fork()) < 0)
		return error_set(err, STATUS_NOT_ASKED, "a process cannot be started: %s", strerror(errno));
	if (work > 0)
		guard(work, &waiting, &ipc);
	free(ipc.known);
	sigaction(SIGCHLD, &before_child, NULL);
	sigaction(SIGTERM, &before_term, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != self)
		_exit(125);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return STATUS_OK;
}

// ---- the request --------------------------------------------------------------------------------------------------------

enum status child_begin(struct text *request, struct error *err)
{
	pid_t parent = getppid();
	char buffer[65536];
	bool whole = false;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return error_errno(err, "cannot ask to die with the parent");
	if (getppid() != parent)
		return error_set(err, STATUS_INTERRUPTED, "the parent is gone");
	while (!whole) {
		ssize_t n = recv(STDIN_FILENO, buffer, sizeof buffer, MSG_PEEK), take;

		// A pipe or a file instead of a socket: somebody tries the child by hand. Byte by byte then, to stop at the
		// newline.
		if (n < 0 && errno == ENOTSOCK)
			n = read(STDIN_FILENO, buffer, 1);
		else if (n > 0) {
			for (take = 0; take < n && buffer[take] != '\n'; take++)
				;
			n = recv(STDIN_FILENO, buffer, (size_t)(take < n ? take + 1 : n), 0);
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, "cannot read the request");
		if (n == 0)
			return error_set(err, STATUS_INTERRUPTED, "the request ended before its newline");
		whole = buffer[n - 1] == '\n';
		text_add_bytes(request, buffer, (size_t)(whole ? n - 1 : n));
		if (request->length > REQUEST_LIMIT)
			return error_set(err, STATUS_BAD_INPUT, "the request is longer than 64 MiB");
	}
	// Behind the request, before which the parent sets limits that the work inherits.
	return begin_guard(err);
}

void child_say(const char *line, size_t length)
{
	const char *part[2] = { line, "\n" };
	size_t left[2] = { length, 1 };

	signal(SIGPIPE, SIG_IGN); // ours is a process of its own: no other program's choice is touched
	for (int i = 0; i < 2; i++) {
		while (left[i]) {
			ssize_t n = write(3, part[i], left[i]);

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				_exit(125);
			part[i] += n;
			left[i] -= (size_t)n;
		}
	}
}
