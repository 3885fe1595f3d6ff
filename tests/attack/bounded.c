// SPDX-License-Identifier: Apache-2.0
// Runs a command under upper bounds:
//     bounded CODES SECONDS MIB COMMAND...
// CODES: the exit codes that are right, with commas between them; 128 and a signal's number when one ended it. SECONDS: of
// processor time, of it and of what it waited for, which others on the machine do not lengthen; after ten times these it is
// killed. MIB: of resident memory, of the largest process. Exit code 0: all hold; 1: not, and a line for each that does not is
// written to descriptor 3.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static void end(int signal_number)
{
	(void)signal_number;
	kill(-child, SIGKILL);
}

static int is_listed(const char *codes, int code)
{
	for (char *next = (char *)codes; *next; next += *next == ',')
		if (strtol(next, &next, 10) == code)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	struct rusage used;
	int status = 0, bad = 0;

	if (argc < 5) {
		fprintf(stderr, "usage: bounded CODES SECONDS MIB COMMAND...\n");
		return 2;
	}
	double seconds = strtod(argv[2], NULL), mib = strtod(argv[3], NULL);
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		close(3);
		execvp(argv[4], argv + 4);
		fprintf(stderr, "bounded: %s: %s\n", argv[4], strerror(errno));
		_exit(127);
	}
	setpgid(child, child);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = end }, NULL);
	double last = 10 * seconds + 0.001;
	struct timeval until = { (time_t)last, (suseconds_t)((last - (double)(time_t)last) * 1e6) };
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = until }, NULL);
	while (wait4(child, &status, 0, &used) < 0 && errno == EINTR)
		;
	double took = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (!is_listed(argv[1], code))
		bad += dprintf(3, "    exit code %d, not %s\n", code, argv[1]) > 0;
	if (took > seconds)
		bad += dprintf(3, "    %.2f s of processor time, not %s at most\n", took, argv[2]) > 0;
	if ((double)used.ru_maxrss > mib * 1024)
		bad += dprintf(3, "    %ld MiB resident, not %s at most\n", used.ru_maxrss / 1024, argv[3]) > 0;
	return bad > 0;
}
