// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// A child with limits. The children are this program itself: `test_child child WHAT`. No test waits for a time to pass but
// those whose subject is a time limit, and none of them asks how long it took.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/child.h"
#include "run/child_memory.h"
#include "base/visible.h"
#include "cell/say.h"

// ---- children -----------------------------------------------------------------------------------------------------------

static void say_text(const char *s)
{
	child_say(s, strlen(s));
}

static void say_pid(const char *who, pid_t pid)
{
	char line[64];

	snprintf(line, sizeof line, "%s %d", who, (int)pid);
	say_text(line);
}

static void eat_memory(void)
{
	for (;;) {
		char *p = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED) {
			fprintf(stderr, "std::bad_alloc\n");
			abort();
		}
		memset(p, 1, 16 << 20);
	}
}

// 64 MiB for a while.
static void *hold_memory(void *unused)
{
	char *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, 64 << 20);
	usleep(600000);
	_exit(unused ? 1 : 0);
}

// Ways of holding 64 MiB that a look at /proc/PID/status and writable maps alone does not see. False: there is no such way.
static bool hide_memory(const char *way)
{
	volatile const char *read_only;
	char byte[4096] = { 1 };
	pthread_t thread;

	if (!strcmp(way, "hidden-private-memfd")) {
		char name[250] = { 0 }; // the longest, of which each letter is written as four

		memset(name, '\n', sizeof name - 1);
		int fd = memfd_create(name, MFD_CLOEXEC);

		for (int i = 0; i < 64 << 8; i++)
			if (write(fd, byte, sizeof byte) < 0)
				return false;
		read_only = mmap(NULL, 64 << 20, PROT_READ, MAP_PRIVATE, fd, 0);
		for (size_t i = 0; i < 64 << 20; i += sizeof byte)
			byte[0] ^= read_only[i];
		usleep(600000);
	} else if (!strcmp(way, "hidden-not-dumpable")) {
		char *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		prctl(PR_SET_DUMPABLE, 0);
		memset(p, 1, 64 << 20);
		usleep(600000);
	} else if (!strcmp(way, "hidden-first-thread-ended")) {
		if (!fork()) {
			pthread_create(&thread, NULL, hold_memory, NULL);
			syscall(SYS_exit, 0);
		}
		wait(NULL);
	} else if (!strcmp(way, "hidden-huge-pages")) {
		char *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

		if (p == MAP_FAILED)
			_exit(77); // the machine has none
		memset(p, 1, 64 << 20);
		usleep(600000);
	} else if (!strcmp(way, "hidden-among-many")) {
		for (int i = 0; i < 300; i++) {
			if (!fork()) {
				if (i == 299)
					hold_memory(NULL);
				for (;;)
					pause();
			}
		}
		wait(NULL);
	} else {
		return false;
	}
	return true;
}

static int child(const char *what)
{
	static struct text request; // static: it lives as long as the process, and no leak is seen in it
	static char big[1 << 20];
	struct error err = { 0 };

	if (child_begin(&request, &err))
		return 90;
	if (!strcmp(what, "echo")) {
		child_say(text_get(&request), request.length);
	} else if (!strcmp(what, "exit")) {
		return 7;
	} else if (!strcmp(what, "crash")) {
		fprintf(stderr, "about to die\n");
		raise(SIGSEGV);
	} else if (!strcmp(what, "hang")) {
		say_text("hanging");
		for (;;)
			pause();
	} else if (!strcmp(what, "stop")) {
		say_text("stopping");
		raise(SIGSTOP);
	} else if (!strcmp(what, "grandchild")) {
		pid_t pid = fork();

		if (!pid)
			for (;;)
				pause();
		say_pid("grandchild", pid);
		return 0;
	} else if (text_starts(what, "daemon")) {
		// It leaves session, group and parent.
		int ends[2];
		char byte;

		if (pipe(ends) < 0)
			return 95;
		if (!fork()) {
			setsid();
			if (!fork()) {
				say_pid("daemon", getpid());
				if (write(ends[1], "\n", 1) < 0)
					_exit(96);
				for (;;)
					pause();
			}
			_exit(0);
		}
		if (read(ends[0], &byte, 1) != 1)
			return 97;
		while (!strcmp(what, "daemon-hang"))
			pause();
		if (!strcmp(what, "daemon-die"))
			raise(SIGKILL);
	} else if (!strcmp(what, "core")) {
		struct rlimit core;
		char line[64];

		getrlimit(RLIMIT_CORE, &core);
		snprintf(line, sizeof line, "%ju of %ju", (uintmax_t)core.rlim_cur, (uintmax_t)core.rlim_max);
		say_text(line);
	} else if (!strcmp(what, "memory")) {
		eat_memory();
	} else if (!strcmp(what, "say-and-eat")) {
		say_text("timed");
		for (int i = 0; i < 60; i++) { // a gigabyte is enough to be stopped, and little enough not to be
			char *p = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (p == MAP_FAILED) {
				fprintf(stderr, "std::bad_alloc\n");
				abort();
			}
			memset(p, 1, 16 << 20);
		}
	} else if (!strcmp(what, "some-memory") || !strcmp(what, "shared-memory") || !strcmp(what, "memory-below")) {
		int kind = !strcmp(what, "shared-memory") ? MAP_SHARED : MAP_PRIVATE;
		char *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

		say_text("sample");
		if (strcmp(what, "memory-below") || !fork()) {
			memset(p, 1, 64 << 20);
			usleep(600000);
			if (!strcmp(what, "memory-below"))
				_exit(0);
		} else {
			wait(NULL);
		}
	} else if (text_starts(what, "hidden")) {
		say_text("sample");
		return hide_memory(what) ? 0 : 98;
	} else if (!strcmp(what, "noise")) {
		for (int i = 0; i < 3000; i++)
			printf("line %d of much noise\n", i);
		printf("the very \xff\x01 end\n");
		fflush(stdout);
	} else if (!strcmp(what, "nul")) {
		child_say("a\0b", 3);
		child_say("", 0);
	} else if (!strcmp(what, "long-line")) {
		memset(big, 'x', sizeof big);
		for (int i = 0; i < 70; i++)
			if (write(3, big, sizeof big) < 0)
				break;
		pause();
	} else if (!strcmp(what, "half-line")) {
		return write(3, "{\"event\":", 9) == 9 ? 0 : 91;
	} else if (!strcmp(what, "fds")) {
		char line[64] = "open:";

		for (int fd = 0; fd < 200; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				snprintf(line + strlen(line), sizeof line - strlen(line), " %d", fd);
		say_text(line);
	} else if (!strcmp(what, "parent")) {
		// A parent of its own: starts a hanging child and tells its number; the test kills this one.
		pid_t pid = 0;
		int ends[2];

		if (pipe(ends) < 0)
			return 92;
		pid = fork();
		if (!pid) {
			char *argv[] = { "/proc/self/exe", "child", "report-and-hang", NULL };

			dup2(ends[0], 0);
			close(ends[1]);
			execv(argv[0], argv);
			_exit(93);
		}
		if (write(ends[1], "\n", 1) != 1)
			return 94;
		say_pid("child", pid);
		for (;;)
			pause();
	} else if (!strcmp(what, "report-and-hang")) {
		say_pid("hanging", getpid());
		for (;;)
			pause();
	} else {
		return 99;
	}
	return 0;
}

// ---- the parent's side --------------------------------------------------------------------------------------------------

struct lines {
	char last[256];
	size_t count, length;
	enum child_watch answer;
	volatile sig_atomic_t *stop_on_line;
	char *keep;
};

static enum child_watch on_line(void *context, const char *line, size_t length)
{
	struct lines *l = context;

	l->count++;
	l->length = length;
	snprintf(l->last, sizeof l->last, "%.*s", (int)(length < 250 ? length : 250), line);
	if (l->keep)
		memcpy(l->keep, line, length);
	if (l->stop_on_line)
		*l->stop_on_line = 1;
	return l->answer;
}

static struct child_report run(const char *what, const char *request, const struct child_limits *limits, struct lines *lines)
{
	char self[4096];
	char *argv[] = { self, "child", (char *)(uintptr_t)what, NULL };
	struct child_report report;
	struct error err = { 0 };
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	assert_true(n > 0);
	self[n] = 0;
	if (child_run(argv, request, limits, on_line, lines, &report, &err))
		fail_msg("%s", err.text);
	return report;
}

// Nothing of that number is left, or only a zombie whose parent has not looked yet.
static bool is_gone(pid_t pid)
{
	char path[64], line[256] = "";
	FILE *f;

	for (int i = 0; i < 500; i++) {
		if (kill(pid, 0) < 0 && errno == ESRCH)
			return true;
		snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
		f = fopen(path, "re");
		if (!f)
			return true;
		if (!fgets(line, sizeof line, f))
			line[0] = 0;
		fclose(f);
		if (strrchr(line, ')') && !strncmp(strrchr(line, ')'), ") Z", 3))
			return true;
		usleep(10000);
	}
	return false;
}

static void a_request_comes_back(void **state)
{
	struct child_limits none = { 0 };
	struct lines lines = { .answer = CHILD_WATCH };
	struct child_report r = run("echo", "{\"hello\":1}", &none, &lines);

	(void)state;
	assert_int_equal(r.end, CHILD_EXITED);
	assert_int_equal(r.code, 0);
	assert_string_equal(lines.last, "{\"hello\":1}");
	// A child to which nobody gave a limit of memory has one; one that shall have none has none.
	assert_non_null(r.memory_limit_by);
	assert_true(r.memory_bytes > 0);
	assert_non_null(strstr(r.memory_from, "available"));
	child_report_done(&r);
	r = run("echo", "{}", &(struct child_limits){ .memory_bytes = CHILD_UNLIMITED }, &lines);
	assert_null(r.memory_limit_by);
	assert_int_equal(r.memory_bytes, 0);
	child_report_done(&r);
}

// A hard limit that the parent lowers while a sanitizer of the child reads and sets it again would end the child.
static void no_core_file_and_the_hard_limit_stays(void **state)
{
	struct lines lines = { .answer = CHILD_WATCH };
	struct child_report r = run("core", "", &(struct child_limits){ 0 }, &lines);
	struct rlimit core;
	char wanted[64];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
	snprintf(wanted, sizeof wanted, "0 of %ju", (uintmax_t)core.rlim_max);
	assert_string_equal(lines.last, wanted);
	child_report_done(&r);
}

// Larger than the socket and the pipe hold: both directions at once.
static void a_large_request_comes_back(void **state)
{
	size_t size = 5 << 20;
	char *request = malloc(size + 1), *back = malloc(size);
	struct child_limits none = { 0 };
	struct lines lines = { .answer = CHILD_QUIET, .keep = back };
	struct child_report r;

	(void)state;
	memset(request, 'q', size);
	request[size] = 0;
	r = run("echo", request, &none, &lines);
	assert_int_equal(r.end, CHILD_EXITED);
	assert_int_equal(lines.length, size);
	assert_memory_equal(back, request, size);
	child_report_done(&r);
	free(request);
	free(back);
}

static void exit_codes_and_signals(void **state)
{
	struct child_limits none = { 0 };
	struct lines lines = { .answer = CHILD_WATCH };
	struct child_report r = run("exit", "", &none, &lines);

	(void)state;
	assert_int_equal(r.end, CHILD_EXITED);
	assert_int_equal(r.code, 7);
	child_report_done(&r);
	r = run("crash", "", &none, &lines);
	// A sanitizer turns the signal into an exit of its own.
	if (r.end == CHILD_SIGNALLED)
		assert_int_equal(r.code, SIGSEGV);
	else
		assert_true(r.end == CHILD_EXITED && r.code != 0);
	assert_non_null(strstr(text_get(&r.output), "about to die"));
	child_report_done(&r);
}

// A program that waits for all its children takes the end of one away.
static void an_end_that_is_taken_away_is_not_known(void **state)
{
	static const char *const what[] = { "exit", "crash" };
	struct child_limits none = { 0 };
	struct lines lines = { .answer = CHILD_WATCH };

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	for (size_t i = 0; i < 2; i++) {
		struct child_report r = run(what[i], "", &none, &lines);
		assert_true(r.end == CHILD_EXITED && r.is_lost);
		child_report_done(&r);
	}
	signal(SIGCHLD, SIG_DFL);
	struct child_report r = run("exit", "", &none, &lines);
	assert_false(r.is_lost);
	child_report_done(&r);
}

static void a_hanging_child_is_ended(void **state)
{
	struct child_limits time = { .timeout_s = 0.3 }, silence = { .silence_s = 0.3 };
	struct lines lines = { .answer = CHILD_QUIET };
	struct child_report r = run("hang", "", &time, &lines);

	(void)state;
	assert_int_equal(r.end, CHILD_TIMEOUT);
	child_report_done(&r);
	r = run("hang", "", &silence, &lines);
	assert_int_equal(r.end, CHILD_SILENT);
	assert_false(r.stopped);
	child_report_done(&r);
}

static void a_stopped_child_is_told_from_one_that_hangs(void **state)
{
	struct child_limits time = { .timeout_s = 0.3 };
	struct lines lines = { .answer = CHILD_QUIET };
	struct child_report r = run("stop", "", &time, &lines);

	(void)state;
	assert_int_equal(r.end, CHILD_TIMEOUT);
	assert_true(r.stopped);
	child_report_done(&r);
}

static void a_stop_ends_it(void **state)
{
	volatile sig_atomic_t stop = 0;
	struct child_limits limits = { .stop = &stop };
	struct lines lines = { .answer = CHILD_QUIET, .stop_on_line = &stop };
	struct child_report r = run("hang", "", &limits, &lines);

	(void)state;
	assert_int_equal(r.end, CHILD_STOPPED);
	child_report_done(&r);
}

static void a_refused_line_ends_it(void **state)
{
	struct child_limits none = { 0 };
	struct lines lines = { .answer = CHILD_REFUSE };
	struct child_report r = run("hang", "", &none, &lines);

	(void)state;
	assert_int_equal(r.end, CHILD_REFUSED);
	child_report_done(&r);
}

static void grandchildren_go_too(void **state)
{
	struct child_limits none = { 0 };
	struct lines lines = { .answer = CHILD_WATCH };
	struct child_report r = run("grandchild", "", &none, &lines);
	int pid = 0;

	(void)state;
	assert_int_equal(r.end, CHILD_EXITED);
	assert_int_equal(sscanf(lines.last, "grandchild %d", &pid), 1);
	assert_true(is_gone(pid));
	child_report_done(&r);
}

static void daemons_go_too(void **state)
{
	static const struct {
		const char *what;
		enum child_end end;
	} cases[] = { { "daemon", CHILD_EXITED }, { "daemon-die", CHILD_SIGNALLED }, { "daemon-hang", CHILD_TIMEOUT } };

	(void)state;
	setenv("ASSAY_CGROUP", "off", 1);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct child_limits limits = { .timeout_s = cases[i].end == CHILD_TIMEOUT ? 1 : 60 };
		struct lines lines = { .answer = CHILD_WATCH };
		struct child_report r = run(cases[i].what, "", &limits, &lines);
		int pid = 0;

		assert_int_equal(r.end, cases[i].end);
		assert_int_equal(sscanf(lines.last, "daemon %d", &pid), 1);
		assert_true(is_gone(pid));
		child_report_done(&r);
	}
	unsetenv("ASSAY_CGROUP");
}

static void memory_is_limited(void **state)
{
	struct child_limits limits = { .memory_bytes = 200 << 20, .timeout_s = 60 };
	struct lines lines = { .answer = CHILD_WATCH };
	struct child_report r = run("memory", "", &limits, &lines);

	(void)state;
	assert_non_null(r.memory_limit_by);
	// By the one that was first: the group, the sampler, or the child's own failed allocation under RLIMIT_DATA.
	assert_true(r.end == CHILD_OOM || r.end == CHILD_MEMORY ||
		(r.end == CHILD_SIGNALLED && strstr(text_get(&r.output), "bad_alloc")));
	child_report_done(&r);
}

// Without a control group: the sampler and RLIMIT_DATA.
// What is said of it is the same for the group's limit and for the sampler's.
static void memory_is_limited_where_nobody_said_so(void **state)
{
	struct child_limits limits = { .timeout_s = 60 };
	struct lines lines = { .answer = CHILD_WATCH };

	(void)state;
	setenv("ASSAY_MEMORY", "0.2", 1);
	struct child_report r = run("memory", "", &limits, &lines);
	unsetenv("ASSAY_MEMORY");
	assert_int_equal(r.memory_bytes, (int64_t)(0.2 * 0x1p30));
	assert_non_null(strstr(r.memory_from, "ASSAY_MEMORY"));
	assert_true(r.end == CHILD_MEMORY || r.end == CHILD_OOM || strstr(text_get(&r.output), "bad_alloc"));
	assert_int_not_equal(r.end, CHILD_TIMEOUT);
	assert_true(r.end != CHILD_OOM || r.limit_killed);
	child_report_done(&r);
}

// In a container the container's limit counts, what it uses and what of that can be had back; some stays free.
static void the_default_is_what_is_available(void **state)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	int64_t bytes;
	const char *from;

	(void)state;
	assert_int_equal(
		child_memory_default(&bytes, &from, &a, TEST_SOURCE "/tests/unit/data/machines/container-v2", &err), STATUS_OK);
	assert_int_equal(bytes, 2147483648 - 1000000000 + 50000000 - (256 << 20));
	assert_non_null(strstr(from, "1.1 GiB were available"));
	assert_int_equal(child_memory_default(&bytes, &from, &a, "/nonexistent", &err), STATUS_OK);
	assert_int_equal(bytes, 0);
	for (size_t i = 0; i < 4; i++) {
		setenv("ASSAY_MEMORY", (const char *[]){ "x", "-1", "nan", "1 GiB" }[i], 1);
		assert_int_equal(child_memory_default(&bytes, &from, &a, "", &err), STATUS_BAD_INPUT);
	}
	unsetenv("ASSAY_MEMORY");
	arena_done(&a);
}

static void memory_is_limited_without_a_group(void **state)
{
	setenv("ASSAY_CGROUP", "off", 1);
	struct child_limits limits = { .memory_bytes = 200 << 20, .timeout_s = 60 };
	struct lines lines = { .answer = CHILD_WATCH };
	struct child_report r = run("memory", "", &limits, &lines);

	(void)state;
	unsetenv("ASSAY_CGROUP");
	assert_non_null(strstr(r.memory_limit_by, "sampler"));
	assert_true(r.end == CHILD_MEMORY || (r.end == CHILD_SIGNALLED && strstr(text_get(&r.output), "bad_alloc")));
	child_report_done(&r);
}

// While it is timed nobody samples: then RLIMIT_DATA alone holds it.
static void memory_is_limited_while_timed(void **state)
{
	setenv("ASSAY_CGROUP", "off", 1);
	struct child_limits limits = { .memory_bytes = 200 << 20, .timeout_s = 60 };
	struct lines lines = { .answer = CHILD_QUIET };
	struct child_report r = run("say-and-eat", "", &limits, &lines);

	(void)state;
	unsetenv("ASSAY_CGROUP");
	if (text_is(r.memory_limit_by, "rlimit_data+sampler")) {
		assert_int_equal(r.end, CHILD_SIGNALLED);
		assert_non_null(strstr(text_get(&r.output), "bad_alloc"));
	} else {
		assert_string_equal(r.memory_limit_by, "sampler"); // a sanitizer's own maps leave no room for RLIMIT_DATA
	}
	child_report_done(&r);
}

static void memory_is_sampled(void **state)
{
	struct child_limits none = { 0 };
	struct lines lines = { .answer = CHILD_SAMPLE };
	struct child_report r = run("some-memory", "", &none, &lines);

	(void)state;
	assert_true(r.peak_anonymous_mib >= 32); // counters of pages lag a little behind
	child_report_done(&r);
	r = run("shared-memory", "", &none, &lines);
	assert_true(r.peak_anonymous_mib >= 32);
	child_report_done(&r);
	r = run("memory-below", "", &none, &lines);
	assert_true(r.peak_anonymous_mib >= 32);
	child_report_done(&r);
	static const char *const hidden[] = { "hidden-private-memfd", "hidden-not-dumpable", "hidden-first-thread-ended",
		"hidden-among-many", "hidden-huge-pages" };
	for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
		r = run(hidden[i], "", &none, &lines);
		if (r.code == 77)
			print_message("%s: not tried, the machine has none\n", hidden[i]);
		else
			assert_int_equal(r.code, 0);
		if (r.code == 0 && !(r.peak_anonymous_mib >= 32))
			fail_msg("%s: %g MiB", hidden[i], r.peak_anonymous_mib);
		child_report_done(&r);
	}
	lines.answer = CHILD_QUIET;
	r = run("some-memory", "", &none, &lines);
	assert_true(isnan(r.peak_anonymous_mib)); // nobody looked while it was timed
	child_report_done(&r);
}

static void the_end_of_the_noise_is_kept(void **state)
{
	struct child_limits none = { 0 };
	struct lines lines = { .answer = CHILD_WATCH };
	struct child_report r = run("noise", "", &none, &lines);

	(void)state;
	assert_int_equal(r.end, CHILD_EXITED);
	assert_true(r.output.length <= 16 << 10);
	assert_true(text_ends(text_get(&r.output), "line 2999 of much noise\nthe very ?? end\n"));
	assert_int_equal(lines.count, 0);
	child_report_done(&r);
}

static void odd_lines(void **state)
{
	struct child_limits none = { 0 };
	struct lines lines = { .answer = CHILD_WATCH };
	struct child_report r = run("nul", "", &none, &lines);

	(void)state;
	assert_int_equal(lines.count, 2);
	assert_int_equal(lines.length, 0);
	child_report_done(&r);
	lines.count = 0;
	r = run("half-line", "", &none, &lines);
	assert_int_equal(r.end, CHILD_EXITED);
	assert_int_equal(lines.count, 0);
	child_report_done(&r);
	r = run("long-line", "", &none, &lines);
	assert_int_equal(r.end, CHILD_REFUSED);
	assert_int_equal(lines.count, 0);
	child_report_done(&r);
}

static void nothing_else_is_open(void **state)
{
	struct child_limits none = { 0 };
	struct lines lines = { .answer = CHILD_WATCH };
	int leak = open("/dev/null", O_RDONLY); // on purpose without O_CLOEXEC
	struct child_report r = run("fds", "", &none, &lines);

	(void)state;
	assert_string_equal(lines.last, "open: 0 1 2 3");
	child_report_done(&r);
	close(leak);
}

static void a_missing_program_is_an_error(void **state)
{
	char *argv[] = { "/nonexistent/assay", "cell", NULL };
	struct child_limits none = { 0 };
	struct child_report r;
	struct lines lines = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_not_equal(child_run(argv, "", &none, on_line, &lines, &r, &err), STATUS_OK);
	assert_non_null(strstr(err.text, "/nonexistent/assay"));
}

// The parent is killed; its child must go. Which one it was is told through the pipe that it inherited as fd 3.
struct killer {
	int hanging;
};

static enum child_watch kill_the_parent(void *context, const char *line, size_t length)
{
	struct killer *k = context;
	char text[64];

	snprintf(text, sizeof text, "%.*s", (int)(length < 60 ? length : 60), line);
	sscanf(text, "hanging %d", &k->hanging);
	return k->hanging ? CHILD_REFUSE : CHILD_WATCH; // CHILD_REFUSE kills only the group of the middle process
}

static void it_dies_with_its_parent(void **state)
{
	char self[4096];
	char *argv[] = { self, "child", "parent", NULL };
	struct child_limits limits = { .timeout_s = 60 };
	struct child_report report;
	struct killer k = { 0 };
	struct error err = { 0 };
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	(void)state;
	assert_true(n > 0);
	self[n] = 0;
	assert_int_equal(child_run(argv, "", &limits, kill_the_parent, &k, &report, &err), STATUS_OK);
	assert_true(k.hanging > 0);
	assert_true(is_gone(k.hanging));
	child_report_done(&report);
}

static void foreign_bytes_become_text(void **state)
{
	static const struct {
		const char *bytes, *clean;
	} cases[] = {
		{ "plain\n\ttext", "plain\n\ttext" },
		{ "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80", "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xff\xc0\xaf\xed\xa0\x80", "??????" },
		{ "cut \xe2\x82", "cut ??" },
		{ "bell \x07\x1b[31m", "bell ??[31m" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct text out = { 0 };

		visible_clean(&out, cases[i].bytes, strlen(cases[i].bytes));
		assert_string_equal(text_get(&out), cases[i].clean);
		text_done(&out);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_comes_back),
		cmocka_unit_test(no_core_file_and_the_hard_limit_stays),
		cmocka_unit_test(a_large_request_comes_back),
		cmocka_unit_test(exit_codes_and_signals),
		cmocka_unit_test(an_end_that_is_taken_away_is_not_known),
		cmocka_unit_test(a_hanging_child_is_ended),
		cmocka_unit_test(a_stopped_child_is_told_from_one_that_hangs),
		cmocka_unit_test(a_stop_ends_it),
		cmocka_unit_test(a_refused_line_ends_it),
		cmocka_unit_test(grandchildren_go_too),
		cmocka_unit_test(daemons_go_too),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(memory_is_limited_where_nobody_said_so),
		cmocka_unit_test(the_default_is_what_is_available),
		cmocka_unit_test(memory_is_limited_without_a_group),
		cmocka_unit_test(memory_is_limited_while_timed),
		cmocka_unit_test(memory_is_sampled),
		cmocka_unit_test(the_end_of_the_noise_is_kept),
		cmocka_unit_test(odd_lines),
		cmocka_unit_test(nothing_else_is_open),
		cmocka_unit_test(a_missing_program_is_an_error),
		cmocka_unit_test(it_dies_with_its_parent),
		cmocka_unit_test(foreign_bytes_become_text),
	};

	if (argc == 3 && !strcmp(argv[1], "child"))
		return child(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
