// SPDX-License-Identifier: Apache-2.0
// db_watch.h: a thread that wakes every few milliseconds. DuckDB looks at an interrupt between chunks of rows and forgets it when
// the next statement begins, so it is said again at every wake; one long function call (a list of 2^30 values) does not look at
// all, and then `give_up` is asked.
#include "store/db_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/watcher.h"
#include "store/opened.h"

enum { WAKE_MS = 10, GRACE_MS = 5000, DEFAULT_S = 600, OPENING_S = 3 };

enum passed { WITHIN, TOO_LONG, TOO_MUCH, STOPPED };

struct db_watch {
	struct watcher watcher; // is held for the following
	struct store_limits limits;
	void (*interrupt)(duckdb_connection);
	duckdb_connection connection; // NULL: none yet
	double begin_ms, passed_ms, looked_ms;
	int64_t begin_bytes, begin_private_kib;
	int64_t own_limit; // of this process on its memory (RLIMIT_DATA, RLIMIT_AS), bytes; INT64_MAX: none
	int holds;         // of this thread's calls that are under way
	int statm;         // descriptor, below 0: memory cannot be read
	enum passed passed;
	const char *opening; // which file is being opened; NULL: none
	double opening_s;    // that it may take of a processor
	double opening_ms;   // processor time of this process when it is given up
};

// Memory of this process that no file stands behind.
static int64_t anonymous_bytes(const struct db_watch *w)
{
	char text[128];
	long long resident, shared;
	ssize_t n = w->statm >= 0 ? pread(w->statm, text, sizeof text - 1, 0) : -1;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%*d %lld %lld", &resident, &shared) == 2 ? (int64_t)(resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

bool db_watch_is_cramped(const struct db_watch *w)
{
	return w != NULL && w->own_limit < w->limits.memory_bytes;
}

static enum status say(const struct db_watch *w, struct error *err)
{
	const char *option = w->limits.option;

	if (w->passed == STOPPED)
		return error_set(err, STATUS_INTERRUPTED, "stopped before it was done");
	if (w->passed == TOO_LONG)
		return error_set(err, STATUS_TIMEOUT, "the database is not done within %g s%s%s%s", w->limits.seconds,
			option != NULL ? "; " : "", option != NULL ? option : "", option != NULL ? " allows more" : "");
	option = w->limits.memory_option;
	if (db_watch_is_cramped(w))
		return error_set(err, STATUS_NO_MEMORY,
			"the database gets no more memory: a limit of this process (ulimit -d, ulimit -v) is %lld MiB",
			(long long)(w->own_limit >> 20));
	return error_set(err, STATUS_NO_MEMORY,
		"the database takes more than %lld MiB of memory for it: ask for less at once%s%s%s",
		(long long)(w->limits.memory_bytes >> 20), option != NULL ? "; " : "", option != NULL ? option : "",
		option != NULL ? " allows more" : "");
}

static void look_at_opening(const struct db_watch *w)
{
	struct error why = { 0 };

	if (w->opening == NULL || w->limits.give_up == NULL || clock_process_ms() <= w->opening_ms)
		return;
	error_set(&why, STATUS_BAD_INPUT,
		"%s: opening it takes more than %.0f s of a processor: it is damaged, or no database that assay makes",
		w->opening, w->opening_s);
	w->limits.give_up(why.text);
}

static void look_at_stop(struct db_watch *w)
{
	if (w->passed == WITHIN && w->limits.stop != NULL && *w->limits.stop)
		w->passed = STOPPED;
}

static void look(void *context)
{
	enum { STOOD_STILL_MS = 5000 };
	struct db_watch *w = context;
	double now = clock_ms();

	// A process that was paused (Ctrl-Z, a container) has not asked meanwhile.
	if (w->looked_ms > 0 && now - w->looked_ms > STOOD_STILL_MS) {
		w->begin_ms += now - w->looked_ms;
		w->passed_ms += w->passed_ms > 0 ? now - w->looked_ms : 0;
	}
	w->looked_ms = now;
	look_at_opening(w);
	look_at_stop(w);
	int64_t grown = w->limits.memory_bytes > 0 ? anonymous_bytes(w) - w->begin_bytes : 0;

	if (w->passed == WITHIN && now - w->begin_ms > 1e3 * w->limits.seconds)
		w->passed = TOO_LONG;
	else if (w->passed == WITHIN && w->limits.memory_bytes > 0 && grown > w->limits.memory_bytes)
		w->passed = TOO_MUCH;
	else if (w->passed == WITHIN)
		return;
	if (w->passed_ms <= 0)
		w->passed_ms = now;
	if (w->connection != NULL)
		w->interrupt(w->connection);
	bool stuck = now - w->passed_ms > GRACE_MS ||
		(w->limits.memory_bytes > 0 && grown > w->limits.memory_bytes + w->limits.memory_bytes / 2);
	if (stuck && w->limits.give_up != NULL) {
		struct error why = { 0 };
		say(w, &why);
		w->limits.give_up(why.text);
	}
}

static void release(struct db_watch *w)
{
	if (w->statm >= 0)
		close(w->statm);
	free(w);
}

static int64_t limit_of_process(void)
{
	static const int kinds[] = { RLIMIT_DATA, RLIMIT_AS };
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct rlimit l;
		if (getrlimit(kinds[i], &l) == 0 && l.rlim_cur < (rlim_t)least)
			least = (int64_t)l.rlim_cur;
	}
	return least;
}

struct db_watch *db_watch_begin(const struct store_limits *limits, void (*interrupt)(duckdb_connection), struct error *err)
{
	struct db_watch *w = calloc(1, sizeof *w);

	if (w == NULL)
		abort(); // as an arena does
	w->limits = *limits;
	if (!(w->limits.seconds > 0))
		w->limits.seconds = DEFAULT_S;
	w->interrupt = interrupt;
	w->begin_ms = clock_ms();
	w->own_limit = limit_of_process();
	w->statm = w->limits.memory_bytes > 0 ? open("/proc/self/statm", O_RDONLY | O_CLOEXEC) : -1;
	w->begin_bytes = anonymous_bytes(w);
	w->begin_private_kib = limits->holds_memory ? process_private_kib() : -1;
	int failed = watcher_begin(&w->watcher, WAKE_MS, look, w);
	if (failed == 0)
		return w;
	errno = failed;
	error_errno(err, "no thread for the limits of the database");
	release(w);
	return NULL;
}

void db_watch_connection(struct db_watch *w, duckdb_connection connection)
{
	watcher_hold(&w->watcher);
	w->connection = connection;
	watcher_release(&w->watcher);
}

void db_watch_opening(struct db_watch *w, const char *file, int64_t log_nbytes)
{
	if (w == NULL)
		return;
	watcher_hold(&w->watcher);
	w->opening = file;
	w->opening_s = OPENING_S + (double)(log_nbytes >> 20);
	w->opening_ms = clock_process_ms() + 1e3 * w->opening_s;
	watcher_release(&w->watcher);
}

enum status db_watch_look(struct db_watch *w, struct error *err)
{
	enum status status = STATUS_OK;

	if (w == NULL)
		return status;
	watcher_hold(&w->watcher);
	look_at_stop(w);
	if (w->passed != WITHIN)
		status = say(w, err);
	watcher_release(&w->watcher);
	return status;
}

void db_watch_end(struct db_watch *w)
{
	if (w == NULL)
		return;
	watcher_end(&w->watcher);
	release(w);
}

// ---- the kernel holds it -------------------------------------------------------------------------------------------------

static volatile sig_atomic_t holding;

bool store_holds_memory(void)
{
	return holding;
}

static bool must_hold(struct db_watch *w)
{
	return w != NULL && w->limits.holds_memory && w->limits.memory_bytes > 0 && w->holds++ == 0;
}

void db_watch_hold(struct db_watch *w)
{
	if (must_hold(w))
		holding = process_hold_memory(w->begin_private_kib, w->limits.memory_bytes);
}

void db_watch_hold_most(struct db_watch *w, int64_t most)
{
	if (w != NULL && w->limits.memory_bytes < most)
		most = w->limits.memory_bytes;
	if (must_hold(w)) // from now on: a thread's stack, of the size that `ulimit -s` says, is there already
		holding = process_hold_memory(process_private_kib(), most);
}

void db_watch_release(struct db_watch *w)
{
	if (w == NULL || w->holds == 0 || --w->holds > 0)
		return;
	process_free_memory();
	holding = false;
}

void db_watch_no_memory(struct db_watch *w)
{
	if (w == NULL || w->limits.memory_bytes <= 0)
		return;
	watcher_hold(&w->watcher);
	if (w->passed == WITHIN)
		w->passed = TOO_MUCH;
	watcher_release(&w->watcher);
}

enum status db_watch_room(struct db_watch *w, size_t nbytes, struct error *err)
{
	if (w != NULL && w->limits.memory_bytes > 0 &&
		(nbytes > (size_t)w->limits.memory_bytes ||
			anonymous_bytes(w) - w->begin_bytes > w->limits.memory_bytes - (int64_t)nbytes))
		db_watch_no_memory(w);
	return db_watch_look(w, err);
}
