// SPDX-License-Identifier: Apache-2.0
// The child's side: it must not outlive its parent, however that ended. The kernel's parent-death signal covers a parent that
// was killed; it is set after exec, so a parent that died before is found by asking who the parent is, and end of file on fd 0
// covers what is left (another process adopted us, or a system without the signal) and takes our own children along.
#include "measure/child.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_LIMIT ((size_t)64 << 20)

// Sleeps in read() for the whole life of the child.
static void *wait_for_end(void *unused)
{
	char byte;
	ssize_t n;

	(void)unused;
	do
		n = read(STDIN_FILENO, &byte, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	kill(0, SIGKILL);
	_exit(125);
}

static enum status start_watch(struct error *err)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);             // signals are for the engine's threads
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 64 << 10);        // counts against RLIMIT_DATA
	failed = pthread_create(&thread, &attributes, wait_for_end, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		errno = failed;
		return error_errno(err, "cannot start the thread that watches the parent");
	}
	return STATUS_OK;
}

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

		// A pipe or a file instead of a socket: somebody tries the child by hand. Byte by byte then, to stop at the newline.
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
	return start_watch(err);
}

void child_say(const char *line, size_t length)
{
	const char *part[2] = { line, "\n" };
	size_t left[2] = { length, 1 };

	signal(SIGPIPE, SIG_IGN);                                // ours is a process of its own: nobody else's choice is touched
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
