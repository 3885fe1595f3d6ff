// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// The null engine goes wrong exactly as it is told. Whatever may end a process runs in a child.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/text.h"

static const struct tensor_type inputs[] = { { "input_ids", DTYPE_I64, 2, { -1, -1 } } };
static const struct tensor_type outputs[] = {
	{ "logits", DTYPE_F32, 3, { -1, -1, 5 } },
	{ "half", DTYPE_F16, 2, { -1, 3 } },
	{ "other", DTYPE_I64, 4, { 2, 1, -1, 1 } },
	{ "flag", DTYPE_BOOL, 1, { -1 } },
};
enum { OUTPUTS = sizeof outputs / sizeof *outputs };

static int64_t ids[2 * 7];
static const struct tensor in[] = { { "input_ids", DTYPE_I64, 2, { 2, 7 }, ids, sizeof ids } };

static struct artifact graph(void)
{
	return (struct artifact){ .inputs = inputs, .input_count = 1, .outputs = outputs, .output_count = OUTPUTS };
}

static enum status open_with(struct session *s, const char *options, struct error *err)
{
	struct artifact a = graph();

	return session_open(s, &backend_null, NULL, NULL, options, &a, err);
}

static void must_open(struct session *s, const char *options)
{
	struct error err = { 0 };

	if (open_with(s, options, &err))
		fail_msg("%s: %s", options ? options : "no options", err.text);
}

static void test_devices(void **state)
{
	struct arena a = { 0 };
	struct device_list list = { .arena = &a };
	struct session s;
	struct error err = { 0 };
	struct artifact art = graph();

	(void)state;
	assert_int_equal(backend_devices(&backend_null, "null", &list, &err), STATUS_OK);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.items[0].name, "NULL");
	assert_false(list.items[0].emulated);
	assert_string_equal(list.items[1].name, "EMULATED");
	assert_true(list.items[1].emulated);
	assert_string_equal(list.items[2].name, "VIRTUAL");
	assert_true(list.items[2].compiles_only);
	assert_int_equal(session_open(&s, &backend_null, NULL, "GPU", NULL, &art, &err), STATUS_UNAVAILABLE);
	session_close(&s);
	arena_done(&a);
}

static void test_outputs(void **state)
{
	struct tensor right[OUTPUTS], wrong[OUTPUTS];
	struct session s, w;
	bool differs = false;

	(void)state;
	must_open(&s, NULL);
	must_open(&w, "wrong=1");
	assert_int_equal(session_run(&s, in, 1, right, OUTPUTS, NULL), STATUS_OK);
	assert_int_equal(session_run(&w, in, 1, wrong, OUTPUTS, NULL), STATUS_OK);
	assert_int_equal(right[0].rank, 3);
	assert_int_equal(right[0].dim[0], 2);
	assert_int_equal(right[0].dim[1], 7);
	assert_int_equal(right[0].nbytes, 2 * 7 * 5 * 4);
	assert_int_equal(right[1].dim[0], 2);
	assert_int_equal(right[1].nbytes, 2 * 3 * 2);
	assert_int_equal(right[2].dim[2], 4); // neither batch nor sequence
	assert_int_equal(right[3].dim[0], 2);
	assert_true(tensor_get(&right[0], 0) == 0 && tensor_get(&right[0], 1) == 0.875);
	assert_true(tensor_get(&right[1], 1) == 0.875);
	for (size_t i = 0; i < 2 * 7 * 5; i++)
		differs |= tensor_get(&right[0], i) != tensor_get(&wrong[0], i);
	assert_true(differs);
	assert_true(((uint8_t *)right[3].data)[0] <= 1 && ((uint8_t *)right[3].data)[1] <= 1);
	assert_string_equal(session_option(&w, "wrong"), "on");
	session_close(&s);
	session_close(&w);
}

static void test_fail(void **state)
{
	struct tensor out[OUTPUTS];
	struct error err = { 0 };
	struct session s;

	(void)state;
	assert_int_equal(open_with(&s, "fail=open", &err), STATUS_FAILED);
	session_close(&s); // closed already: harmless
	must_open(&s, "fail=run@3");
	for (int run = 1; run <= 4; run++)
		assert_int_equal(session_run(&s, in, 1, out, OUTPUTS, &err), run == 3 ? STATUS_FAILED : STATUS_OK);
	assert_non_null(strstr(err.text, "run 3"));
	session_close(&s);
}

static void test_bad_options(void **state)
{
	static const char *const cases[] = { "fail=sometimes", "fail=run@0", "crash=run@", "hang=", "exit=256", "exit=x",
		"eat=-1", "eat=much", "wrong=maybe", "sleep_ms=x", "noise_ms=-1", "boom=1", "fail", "=1" };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct error err = { 0 };
		struct session s;

		if (open_with(&s, cases[i], &err) != STATUS_BAD_INPUT || !*err.text)
			fail_msg("%s was taken", cases[i]);
	}
}

static void test_sleep(void **state)
{
	struct tensor out[OUTPUTS];
	struct session s;
	double begin;

	(void)state;
	must_open(&s, "sleep_ms=20,noise_ms=1");
	begin = clock_ms();
	assert_int_equal(session_run(&s, in, 1, out, OUTPUTS, NULL), STATUS_OK);
	assert_true(clock_ms() - begin >= 20);
	session_close(&s);
}

static void test_unknown_outputs(void **state)
{
	struct artifact a = { 0 };
	struct error err = { 0 };
	struct session s;

	(void)state;
	assert_int_equal(session_open(&s, &backend_null, NULL, NULL, NULL, &a, &err), STATUS_UNSUPPORTED);
}

// Opens and runs twice in a child, with descriptors 1 and 3 into a pipe; how it ended, and what it wrote.
static int ending(const char *options, char *written, size_t size)
{
	int fds[2], status = 0;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct tensor out[OUTPUTS];
		struct error err = { 0 };
		struct session s;
		int to = fds[1];

		alarm(1); // what hangs dies of SIGALRM
		dup2(to, 1);
		dup2(to, 3);
		if (open_with(&s, options, &err))
			_exit(100 + (int)err.status);
		for (int i = 0; i < 2; i++)
			if (session_run(&s, in, 1, out, OUTPUTS, &err))
				_exit(100 + (int)err.status);
		_exit(99);
	}
	close(fds[1]);
	while (n + 1 < size && (got = read(fds[0], written + n, size - 1 - n)) > 0)
		n += (size_t)got;
	written[n] = 0;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_ends_of_a_process(void **state)
{
	static const struct {
		const char *options;
		int signal, code;
	} cases[] = {
		{ "", 0, 99 },
		{ "crash=open", SIGSEGV, 0 },
		{ "crash=run@2", SIGSEGV, 0 },
		{ "crash=run@3", 0, 99 },
		{ "hang=open", SIGALRM, 0 },
		{ "hang=run", SIGALRM, 0 },
		{ "exit=0", 0, 0 },
		{ "exit=7", 0, 7 },
	};
	char written[256];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int status = ending(cases[i].options, written, sizeof written);

		if (cases[i].signal ? !WIFSIGNALED(status) || WTERMSIG(status) != cases[i].signal
				    : !WIFEXITED(status) || WEXITSTATUS(status) != cases[i].code)
			fail_msg("%s: ended with status %#x", cases[i].options, (unsigned)status);
		assert_string_equal(written, "");
	}
}

static void test_rubbish(void **state)
{
	char written[256];

	(void)state;
	assert_int_equal(WEXITSTATUS(ending("rubbish=1", written, sizeof written)), 99);
	assert_non_null(strstr(written, "rubbish"));
	assert_non_null(strstr(strstr(written, "rubbish") + 1, "rubbish")); // both descriptors
}

static void test_eat(void **state)
{
	struct rusage before, after;
	struct session s;

	(void)state;
	getrusage(RUSAGE_SELF, &before);
	must_open(&s, "eat=0.125");
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss >= 120 * 1024); // KiB
	session_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_outputs),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_bad_options),
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_unknown_outputs),
		cmocka_unit_test(test_ends_of_a_process),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_eat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
