// SPDX-License-Identifier: Apache-2.0
// Runs a command under upper bounds and says what it took.
//     bounded SECONDS MIB COMMAND...     the command's exit code; 124: it took longer and was ended; 125: its resident memory
//                                        had a higher peak
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t child;
static volatile sig_atomic_t late;

static void end(int signal_number)
{
	(void)signal_number;
	late = 1;
	kill(-child, SIGKILL);
}

int main(int argc, char **argv)
{
	struct timespec begin, now;
	struct rusage used;
	int status = 0;

	if (argc < 4) {
		fprintf(stderr, "usage: bounded SECONDS MIB COMMAND...\n");
		return 126;
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		execvp(argv[3], argv + 3);
		fprintf(stderr, "bounded: %s: %s\n", argv[3], strerror(errno));
		_exit(127);
	}
	setpgid(child, child);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = end }, NULL);
	alarm((unsigned)strtoul(argv[1], NULL, 10));
	while (wait4(child, &status, 0, &used) < 0 && errno == EINTR)
		;
	alarm(0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	long mib = used.ru_maxrss / 1024;
	fprintf(stderr, "bounded: %.2f s, %ld MiB\n",
		(double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec), mib);
	if (late)
		return 124;
	if (mib > strtol(argv[2], NULL, 10))
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
