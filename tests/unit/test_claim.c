// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Whose files and runs are these, and does he live: locks that end with their holder, whatever process numbers say.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "base/claim.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "cell/scratch.h"
#include "store/run_lock.h"

static int setup(void **state)
{
	return scratch_make(state) || setenv("ASSAY_CACHE", scratch, 1) ? -1 : 0;
}

struct holder {
	pid_t pid;
	char token[CLAIM_TOKEN_LENGTH + 1];
};

// Another process that does `work`, tells its token and waits to be killed.
static struct holder hold(void (*work)(void))
{
	struct holder h = { 0 };
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	h.pid = fork();
	if (h.pid == 0) {
		work();
		_exit(write(ends[1], claim_token(), sizeof h.token) == sizeof h.token ? pause() : 1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], h.token, sizeof h.token), sizeof h.token);
	close(ends[0]);
	return h;
}

static void end(const struct holder *h)
{
	kill(h->pid, SIGKILL);
	waitpid(h->pid, NULL, 0);
}

static void write_scratch(void)
{
	put(arena_printf(&arena, "run/%s-0.safetensors", claim_token()), "x");
	put(arena_printf(&arena, "reference/KEY.%s.part", claim_token()), "x");
}

static void claims(void **state)
{
	(void)state;
	const char *own = arena_printf(&arena, "run/%s-0.safetensors", claim_token());
	struct holder h = hold(write_scratch);
	const char *theirs = arena_printf(&arena, "run/%s-0.safetensors", h.token),
		   *part = arena_printf(&arena, "reference/KEY.%s.part", h.token);

	assert_string_not_equal(h.token, claim_token());
	assert_string_equal(claim_token(), claim_token());
	assert_null(claim_problem());
	put(own, "x");
	// An older program's, of a process number that nobody has here, as that of a living program in another container.
	put("run/999999999-0.safetensors", "x");
	// Its claim is gone, perhaps removed by hand: nobody can tell.
	put("run/0123456789abcdef-0.safetensors", "x");
	scratch_sweep();
	assert_true(file_exists(path(theirs)) && file_exists(path(part)) && file_exists(path(own)));
	end(&h);
	scratch_sweep();
	assert_false(file_exists(path(theirs)) || file_exists(path(part)));
	assert_false(file_exists(path(arena_printf(&arena, "claim/%s", h.token))));
	assert_true(file_exists(path(own)) && file_exists(path("run/999999999-0.safetensors")) &&
		file_exists(path("run/0123456789abcdef-0.safetensors")));
}

// The run of a process that the table names by a number that lives: the test's own.
static struct process named;

static void take_run(void)
{
	if (run_lock_take(path("a.duckdb"), 7, &named) < 0)
		_exit(2);
}

static void runs(void **state)
{
	(void)state;
	struct process other;

	process_self(&named);
	other = named;
	other.start_ticks++;
	assert_int_equal(run_lock_ask(path("a.duckdb"), 7, &named), RUN_UNKNOWN);
	struct holder h = hold(take_run);

	assert_int_equal(run_lock_ask(path("a.duckdb"), 7, &named), RUN_LIVES);
	assert_int_equal(run_lock_ask(path("a.duckdb"), 6, &named), RUN_UNKNOWN);
	assert_int_equal(run_lock_ask(path("a.duckdb"), 8, &named), RUN_UNKNOWN);
	assert_int_equal(run_lock_ask(path("a.duckdb"), 7, &other), RUN_UNKNOWN); // another database had this name
	// The process number lives, the holder does not.
	end(&h);
	assert_true(process_may_live(&named));
	assert_int_equal(run_lock_ask(path("a.duckdb"), 7, &named), RUN_OVER);
	// In our own process too: closing another descriptor of the file drops nothing.
	int fd = run_lock_take(path("a.duckdb"), 9, &named);
	assert_int_equal(run_lock_ask(path("a.duckdb"), 9, &named), RUN_LIVES);
	assert_int_equal(run_lock_ask(path("a.duckdb"), 9, &named), RUN_LIVES);
	close(fd);
	assert_int_equal(run_lock_ask(path("a.duckdb"), 9, &named), RUN_OVER);
	// A link to the database is the same one.
	put("a.duckdb", "x");
	assert_int_equal(symlink("a.duckdb", path("link.duckdb")), 0);
	assert_int_equal(run_lock_ask(path("link.duckdb"), 9, &named), RUN_OVER);
	// Another user's file at its place, who may not write the database, says nothing.
	if (geteuid() == 0) {
		assert_int_equal(chown(path("a.duckdb.lock"), 12345, (gid_t)-1), 0);
		assert_int_equal(run_lock_ask(path("a.duckdb"), 9, &named), RUN_UNKNOWN);
		assert_int_equal(run_lock_take(path("a.duckdb"), 10, &named), -1);
		assert_int_equal(chmod(path("a.duckdb"), 0660), 0);
		assert_int_equal(run_lock_ask(path("a.duckdb"), 9, &named), RUN_OVER);
	}
}

static void makers(void **state)
{
	(void)state;
	bool first, second;
	int a = run_lock_make(path("b.duckdb"), &first);

	assert_true(a >= 0 && first);
	run_lock_share(a);
	int b = run_lock_make(path("b.duckdb"), &second);
	assert_true(b >= 0 && !second);
	close(a);
	close(b);
	a = run_lock_make(path("b.duckdb"), &first);
	assert_true(a >= 0 && first);
	// Another user's program that holds it for good was waited for without an end.
	assert_int_equal(run_lock_make(path("b.duckdb"), &second), -1);
	assert_false(second);
	close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims),
		cmocka_unit_test(runs),
		cmocka_unit_test(makers),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
