// SPDX-License-Identifier: Apache-2.0
// For tests of the store between processes: other processes are the test program itself, started again with a role, since
// DuckDB in a forked half of a process would prove nothing. Includes cmocka and what it needs.
#ifndef ASSAY_TEST_STORE_ROLES_H
#define ASSAY_TEST_STORE_ROLES_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "base/text.h"
#include "store_rows.h"

static inline void sleep_ms(double ms)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(ms / 1e3), .tv_nsec = (long)(ms * 1e6) % 1000000000 }, NULL);
}

static inline pid_t start(const char *role, const char *path, const char *argument, int *output)
{
	int ends[2] = { -1, -1 };

	if (output != NULL && pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		if (output != NULL) {
			dup2(ends[1], 1);
			setenv("TELL", "1", 1);
		}
		execl("/proc/self/exe", "role", role, path, argument, (char *)NULL);
		_exit(127);
	}
	if (output != NULL) {
		close(ends[1]);
		*output = ends[0];
	}
	return pid;
}

// Exit code of a process; -1 when a signal ended it.
static inline int finish(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int complain(const struct error *err)
{
	fprintf(stderr, "%s\n", err->text);
	return 1;
}

static inline void tell(char what, int64_t row)
{
	if (getenv("TELL") != NULL)
		dprintf(1, "%c %lld\n", what, (long long)row);
}

// "COUNT/N": starts cells and finishes every Nth, and tells its caller "S ROW" once started, "F ROW" once finished.
static inline int role_write(const char *path, const char *argument)
{
	struct store s = { 0 };
	struct error err = { 0 };
	struct machine m = test_machine();
	int count = atoi(argument), every = strchr(argument, '/') != NULL ? atoi(strchr(argument, '/') + 1) : 1;

	if (store_open(&s, path, false, &err) || store_begin_run(&s, &m, "writer", &err))
		return complain(&err);
	for (int i = 0; i < count; i++) {
		struct cell c = test_cell("m", "cpu");
		char key[64];
		int64_t row;
		snprintf(key, sizeof key, "%d/%d", (int)getpid(), i);
		if (store_started(&s, &c, key, &row, &err))
			return complain(&err);
		tell('S', row);
		if (i % every != 0)
			continue;
		struct cell_result r = test_result(row, "m", "cpu", VERDICT_RIGHT);
		if (store_finished(&s, &r, &err))
			return complain(&err);
		tell('F', row);
	}
	if (store_end_run(&s, &err))
		return complain(&err);
	store_close(&s);
	return 0;
}

struct fixture {
	char *folder, path[4200];
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	f->folder = test_folder();
	snprintf(f->path, sizeof f->path, "%s/a.duckdb", f->folder);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	test_folder_done(f->folder);
	free(f);
	return 0;
}

static inline void query(const char *path, const char *sql, struct store *s, struct table *t)
{
	struct error err = { 0 };

	*s = (struct store){ 0 };
	if (store_open(s, path, true, &err) || store_query(s, sql, t, &err))
		fail_msg("%s: %s", sql, err.text);
}

static inline void expect(const char *path, const char *sql, const char *expected)
{
	struct store s;
	struct table t;

	query(path, sql, &s, &t);
	if (t.row_count != 1 || !text_is(t.cells[0], expected))
		fail_msg("%s: got '%s', expected '%s'", sql, t.row_count > 0 ? t.cells[0] : "no row", expected);
	store_close(&s);
}

#endif
