// SPDX-License-Identifier: Apache-2.0
// The parent's side of a child: start it, feed it, read its lines, hold it to its limits, end it with everything below it, and
// say how it ended. One loop around ppoll; while the child is timed nothing here wakes but a line, an end or a deadline.
// What it does not do: know what the lines mean.
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/host.h"
#include "base/clock.h"
#include "base/process.h"
#include "base/visible.h"
#include "run/child_memory.h"
#include "run/memory_group.h"

#define OUTPUT_KEPT ((size_t)16 << 10)
#define SAMPLE_MS 10.0
#define STOOD_STILL_MS 1000.0
#define END_MS 2000.0 // the most that a fork bomb may race with us; a control group ends it at once
// Below these engines fail in ways that look like their own. ONNX Runtime and OpenVINO were right with 96 KiB and 32 files and
// not with 64 KiB and 24. What a browser needs beyond: serve/launch.c.
static const struct process_limit engine_needs[] = { { RLIMIT_STACK, 128 << 10, false }, { RLIMIT_NOFILE, 64, false } };
// Of processes and threads, besides one for each CPU: OpenVINO was right with 45 on two and not with 20.
enum { TASKS_LEAST = 40 };
// RLIMIT_DATA also counts stacks, libraries' data and what the allocator holds; the sampler holds the limit itself.
#define RLIMIT_SLACK ((int64_t)256 << 20)

// The address sanitizer maps terabytes for itself, and RLIMIT_DATA counts them.
#if defined(__SANITIZE_ADDRESS__)
#define CHILD_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHILD_SANITIZED
#endif
#endif

extern char **environ;

struct runner {
	const struct child_limits *limits;
	enum child_watch (*on_line)(void *, const char *, size_t);
	void *context;
	struct child_report *report;
	pid_t pid;
	int pidfd, request_fd, events_fd, output_fd;
	const char *request;
	size_t request_left;
	char *line; // what came after the last newline
	size_t line_length, line_capacity;
	struct text output;
	enum child_watch watch;
	struct memory_group group;
	struct child_memory memory;
	double started, deadline, silence, next_sample; // ms; INFINITY: never
	bool killed, exited;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

// Above the numbers that the child gets, so that no dup2 in the child overwrites one that is still needed.
static bool lift(int *fd)
{
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, 10);

	close(*fd);
	*fd = high;
	return high >= 0;
}

static bool make_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) < 0) {
		ends[0] = ends[1] = -1;
		return false;
	}
	return lift(&ends[0]) && lift(&ends[1]) && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

static bool make_socket(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		ends[0] = ends[1] = -1;
		return false;
	}
	return lift(&ends[0]) && lift(&ends[1]);
}

static int spawn(pid_t *pid, char *const argv[], int in, int out, int events)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	int failed;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	failed = failed ? failed : posix_spawnattr_setpgroup(&attributes, 0);
	failed = failed ? failed : posix_spawnattr_setsigdefault(&attributes, &all);
	failed = failed ? failed : posix_spawnattr_setsigmask(&attributes, &none);
	failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, in, 0);
	failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, out, 1);
	failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, out, 2);
	failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, events, 3);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
	// Ours are close-on-exec; a host program's need not be.
	failed = failed ? failed : posix_spawn_file_actions_addclosefrom_np(&actions, 4);
#endif
	failed = failed ? failed : posix_spawn(pid, argv[0], &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return failed;
}

// The child has not read its request yet, so nothing of it runs outside of the group and the limit. A group without a limit is
// for its end.
static void limit_memory(struct runner *r)
{
	struct rlimit core;
	int64_t bytes = r->report->memory_bytes;
	bool grouped = memory_group_make(&r->group, bytes);

	// A crash is a row, not gigabytes of core file. The hard limit stays: a sanitizer of the child reads it and sets it again
	// as it starts, and may not where it was lowered in between.
	if (prlimit(r->pid, RLIMIT_CORE, NULL, &core) == 0) {
		core.rlim_cur = 0;
		prlimit(r->pid, RLIMIT_CORE, &core, NULL);
	}
	if (grouped && !memory_group_add(&r->group, r->pid)) {
		memory_group_done(&r->group);
		grouped = false;
	}
	if (bytes <= 0)
		return;
	r->report->memory_limit_by = grouped ? "cgroup" : "sampler";
	if (grouped)
		return;
#ifndef CHILD_SANITIZED
	int64_t mapped = r->limits->mapped_bytes;
	struct rlimit data, own;

	// What is made from weights lies in the cache and is mapped too. A limit that nobody asked for must not count that.
	if (r->report->memory_from[0])
		mapped *= 4;
	data.rlim_cur = data.rlim_max = (rlim_t)(bytes + RLIMIT_SLACK + mapped);
	// The user's own is lower: it stays, though the super-user might raise it.
	if (prlimit(r->pid, RLIMIT_DATA, NULL, &own) == 0 && own.rlim_max < data.rlim_max)
		return;
	if (prlimit(r->pid, RLIMIT_DATA, &data, NULL) == 0)
		r->report->memory_limit_by = "rlimit_data+sampler";
#endif
}

static enum status cannot_start(const char *program, int code, struct error *err)
{
	errno = code;
	if (code == EAGAIN || code == ENOMEM || code == EMFILE || code == ENFILE)
		return error_set(err, STATUS_NOT_ASKED, "no process can be started for it: %s", strerror(code));
	return error_errno(err, "cannot start %s", program);
}

static enum status start(struct runner *r, char *const argv[], struct error *err)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, events[2] = { -1, -1 }, failed;
	enum status st = process_check_limits(0, engine_needs, sizeof engine_needs / sizeof *engine_needs, "an engine", err);

	const int64_t cpus = host_cpus(""), threads = r->limits->threads > cpus ? 2 * r->limits->threads : cpus;

	st = st ? st
		: host_check_tasks(TASKS_LEAST + threads, "an engine", err); // some wait for ever for threads that do not start
	if (st)
		return st;
	if (!make_socket(in) || !make_pipe(out) || !make_pipe(events)) {
		failed = errno;
	} else {
		failed = spawn(&r->pid, argv, in[1], out[1], events[1]);
	}
	close_fd(&in[1]);
	close_fd(&out[1]);
	close_fd(&events[1]);
	r->request_fd = in[0];
	r->output_fd = out[0];
	r->events_fd = events[0];
	if (failed) {
		close_fd(&r->request_fd);
		close_fd(&r->output_fd);
		close_fd(&r->events_fd);
		return cannot_start(argv[0], failed, err);
	}
	limit_memory(r);
	r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	child_memory_begin(&r->memory, r->pid);
	return STATUS_OK;
}

// Has it ended? It stays a zombie, so that its number and its group stay ours until the group was killed.
static bool has_ended(struct runner *r)
{
	siginfo_t info = { 0 };
	int result = waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOWAIT | WNOHANG);
	bool gone = result < 0 && errno == ECHILD; // the program around us has waited for it

	r->exited = r->exited || gone || (result == 0 && info.si_pid == r->pid);
	return r->exited;
}

static void end_child(struct runner *r, enum child_end why)
{
	enum { PAUSE_US = 2000, PAUSES = 250 };

	if (r->killed || r->exited)
		return;
	r->killed = true;
	r->report->end = why;
	// The guard (cell/begin.c) last: while it lives, everything that was started is below it, daemons too.
	process_end_below(r->pid, END_MS);
	// It ends by itself then, when it has removed what they left in the kernel; one that an engine has stopped does not.
	for (int i = 0; i < PAUSES && !has_ended(r); i++)
		usleep(PAUSE_US);
	kill(-r->pid, SIGKILL);
	memory_group_kill(&r->group);
}

static void send_request(struct runner *r)
{
	ssize_t n = send(r->request_fd, r->request, r->request_left, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n >= 0) {
		r->request += n;
		r->request_left -= (size_t)n;
	} else if (errno != EINTR && errno != EAGAIN) {
		r->request_left = 0; // it is gone; its end will be told
	}
}

static void take_output(struct runner *r)
{
	char buffer[4096];
	ssize_t n = read(r->output_fd, buffer, sizeof buffer);

	if (n > 0) {
		text_add_bytes(&r->output, buffer, (size_t)n);
		if (r->output.length > 4 * OUTPUT_KEPT) {
			memmove(r->output.data, r->output.data + r->output.length - OUTPUT_KEPT, OUTPUT_KEPT);
			r->output.length = OUTPUT_KEPT;
			r->output.data[OUTPUT_KEPT] = 0;
		}
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		close_fd(&r->output_fd);
	}
}

static void take_line(struct runner *r, const char *line, size_t length)
{
	if (r->killed)
		return;
	const enum child_watch watch = r->on_line(r->context, line, length);
	if (watch == CHILD_YES || watch == CHILD_NO) {
		// A child that is gone gets nothing; its end will be told.
		(void)!send(r->request_fd, watch == CHILD_YES ? "y" : "n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	} else {
		r->watch = watch;
	}
	if (r->watch == CHILD_REFUSE)
		end_child(r, CHILD_REFUSED);
	if (r->limits->silence_s > 0)
		r->silence = clock_ms() + r->limits->silence_s * 1000;
}

static void take_events(struct runner *r)
{
	char *newline, *begin;
	size_t seen = r->line_length;
	ssize_t n;

	if (r->line_capacity - r->line_length < 65536) {
		size_t capacity = r->line_capacity ? 2 * r->line_capacity : 131072;
		char *grown = realloc(r->line, capacity);

		if (!grown)
			abort();
		r->line = grown;
		r->line_capacity = capacity;
	}
	n = read(r->events_fd, r->line + r->line_length, r->line_capacity - r->line_length);
	if (n <= 0) {
		if (n == 0 || (errno != EINTR && errno != EAGAIN))
			close_fd(&r->events_fd);
		return;
	}
	r->line_length += (size_t)n;
	begin = r->line;
	while ((newline = memchr(r->line + seen, '\n', r->line_length - seen))) {
		take_line(r, begin, (size_t)(newline - begin));
		begin = newline + 1;
		seen = (size_t)(begin - r->line);
	}
	r->line_length -= (size_t)(begin - r->line);
	memmove(r->line, begin, r->line_length);
	if (r->line_length > CHILD_LINE_LIMIT)
		end_child(r, CHILD_REFUSED);
}

static void sample(struct runner *r)
{
	double bytes = child_memory_read(&r->memory, clock_ms());

	if (isnan(bytes))
		return;
	if (isinf(bytes)) {
		if (r->report->memory_bytes > 0)
			end_child(r, CHILD_MANY);
		r->report->peak_anonymous_mib = (double)NAN;
		return;
	}
	if (r->watch == CHILD_SAMPLE && !(r->report->peak_anonymous_mib >= bytes / 1048576))
		r->report->peak_anonymous_mib = bytes / 1048576;
	if (r->report->memory_bytes > 0 && bytes > (double)r->report->memory_bytes)
		end_child(r, CHILD_MEMORY);
}

static double earlier(double a, double b)
{
	return a < b ? a : b;
}

// This process stood still (Ctrl-Z, a container that was paused), from when is not known: the child has once more what was left
// to it when this process last looked. Load alone keeps nobody waiting so long.
static void forgive(struct runner *r, double looked, double wake)
{
	const double now = clock_ms();

	if (now - wake < STOOD_STILL_MS)
		return;
	r->deadline += now - looked;
	r->silence += now - looked;
	r->report->stood_ms += now - looked;
}

static void loop(struct runner *r)
{
	sigset_t all, before;
	bool samples;

	sigfillset(&all);
	while (!has_ended(r)) {
		struct pollfd fds[4] = {
			{ .fd = r->request_left ? r->request_fd : -1, .events = POLLOUT },
			{ .fd = r->output_fd, .events = POLLIN },
			{ .fd = r->events_fd, .events = POLLIN },
			{ .fd = r->pidfd, .events = POLLIN },
		};
		double now = clock_ms(), wake = INFINITY, wait;
		struct timespec ts;

		if (!r->killed && now >= earlier(r->deadline, r->silence)) {
			r->report->stopped = process_below_is_stopped(r->pid);
			end_child(r, now >= r->deadline ? CHILD_TIMEOUT : CHILD_SILENT);
		}
		samples = r->watch == CHILD_SAMPLE || (r->watch == CHILD_WATCH && r->report->memory_bytes > 0);
		if (!r->killed) {
			wake = earlier(r->deadline, r->silence);
			if (samples && now >= r->next_sample) {
				sample(r);
				r->next_sample = now + SAMPLE_MS;
			}
			if (samples)
				wake = earlier(wake, r->next_sample);
		}
		if (r->pidfd < 0) // a kernel before 5.3
			wake = earlier(wake, now + 20);
		wait = wake - now;
		wait = wait < 0 ? 0 : wait;
		ts = (struct timespec){ .tv_sec = (time_t)(wait / 1000 < 1e9 ? wait / 1000 : 1e9) };
		if (wait < 1e12)
			ts.tv_nsec = (long)((wait - (double)ts.tv_sec * 1000) * 1e6);
		// With signals held between the look at the flag and the sleep, none is missed.
		pthread_sigmask(SIG_SETMASK, &all, &before);
		if (r->limits->stop && *r->limits->stop)
			end_child(r, CHILD_STOPPED);
		if (ppoll(fds, 4, isinf(wait) ? NULL : &ts, &before) > 0) {
			pthread_sigmask(SIG_SETMASK, &before, NULL);
			if (fds[0].revents)
				send_request(r);
			if (fds[1].revents)
				take_output(r);
			if (fds[2].revents)
				take_events(r);
		} else {
			pthread_sigmask(SIG_SETMASK, &before, NULL);
		}
		forgive(r, now, now + wait);
	}
}

static void finish(struct runner *r, int64_t oom_kills)
{
	siginfo_t info = { 0 };
	bool oom;

	// The child itself is a zombie by now; what its guard did not end goes too.
	kill(-r->pid, SIGKILL);
	memory_group_kill(&r->group);
	while (waitid(P_PID, (id_t)r->pid, &info, WEXITED) < 0 && errno == EINTR)
		;
	oom = memory_group_oom_kills(&r->group) > 0;
	memory_group_done(&r->group);
	while (r->events_fd >= 0 && poll(&(struct pollfd){ .fd = r->events_fd, .events = POLLIN }, 1, 0) > 0)
		take_events(r);
	while (r->output_fd >= 0 && poll(&(struct pollfd){ .fd = r->output_fd, .events = POLLIN }, 1, 0) > 0)
		take_output(r);
	r->report->code = info.si_status;
	if (!r->killed) {
		r->report->is_lost = info.si_pid != r->pid;
		r->report->end = info.si_code == CLD_EXITED || r->report->is_lost ? CHILD_EXITED : CHILD_SIGNALLED;
		// The kernel may take one that the child has started, a browser or an engine's, and the child goes on.
		if (oom || (r->report->end == CHILD_SIGNALLED && info.si_status == SIGKILL && memory_oom_kills() > oom_kills))
			r->report->end = CHILD_OOM;
		r->report->other_killed = oom && info.si_code == CLD_EXITED; // false where it is not known
		r->report->limit_killed = oom;
	}
	if (r->output.length > OUTPUT_KEPT)
		visible_clean(&r->report->output, r->output.data + r->output.length - OUTPUT_KEPT, OUTPUT_KEPT);
	else
		visible_clean(&r->report->output, r->output.data, r->output.length);
	r->report->wall_ms = clock_ms() - r->started;
	close_fd(&r->request_fd);
	close_fd(&r->events_fd);
	close_fd(&r->output_fd);
	child_memory_end(&r->memory);
	close_fd(&r->pidfd);
	text_done(&r->output);
	free(r->line);
}

static enum status choose_memory(struct child_report *out, const struct child_limits *limits, struct error *err)
{
	struct arena a = { 0 };
	const char *from = "";
	enum status st = STATUS_OK;

	out->memory_bytes = limits->memory_bytes > 0 ? limits->memory_bytes : 0;
	if (limits->memory_bytes == 0)
		st = child_memory_default(&out->memory_bytes, &from, &a, "", err);
	if (limits->memory_bytes == 0 && limits->usual_most > 0 &&
		(out->memory_bytes <= 0 || out->memory_bytes > limits->usual_most)) {
		out->memory_bytes = limits->usual_most;
		from = "";
	}
	snprintf(out->memory_from, sizeof out->memory_from, "%s", from);
	arena_done(&a);
	return st;
}

enum status child_run(char *const argv[], const char *request, const struct child_limits *limits,
	enum child_watch (*on_line)(void *context, const char *line, size_t length), void *context, struct child_report *out,
	struct error *err)
{
	struct runner r = { .limits = limits,
		.on_line = on_line,
		.context = context,
		.report = out,
		.pidfd = -1,
		.request_fd = -1,
		.events_fd = -1,
		.output_fd = -1,
		.watch = CHILD_WATCH,
		.deadline = INFINITY,
		.silence = INFINITY };
	int64_t oom_kills = memory_oom_kills();
	struct text whole = { 0 };
	enum status st;

	*out = (struct child_report){ .peak_anonymous_mib = (double)NAN };
	text_add(&whole, request);
	text_add(&whole, "\n");
	r.request = text_get(&whole);
	r.request_left = whole.length;
	r.started = clock_ms();
	if (limits->timeout_s > 0)
		r.deadline = r.started + (limits->timeout_s - limits->spent_s) * 1000;
	if (limits->silence_s > 0)
		r.silence = r.started + limits->silence_s * 1000;
	st = choose_memory(out, limits, err);
	st = st ? st : start(&r, argv, err);
	if (!st) {
		loop(&r);
		finish(&r, oom_kills);
	}
	text_done(&whole);
	return st;
}

void child_report_done(struct child_report *r)
{
	text_done(&r->output);
}
