// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Program: plain
// The store between processes: two writers and a reader on one file, a held lock, runs that died, a full disk, a folder
// that cannot be written.
#include <sched.h>
#include <sys/mount.h>

#include "store/db.h"
#include "base/process.h"
#include "run/cell.h"
#include "store_roles.h"
#include "skips.h"

// ---- roles -------------------------------------------------------------------------------------------------------

// Reads until killed or `argument` times; every answer must be consistent: as many events "started" as cells.
static int role_read(const char *path, const char *argument)
{
	for (int i = 0; i < atoi(argument); i++) {
		struct store s = { 0 };
		struct error err = { 0 };
		struct table t;
		if (store_open(&s, path, true, &err) ||
			store_query(&s,
				"SELECT (SELECT count(*) FROM cell) = (SELECT count(*) FROM event WHERE kind = 'started')"
				" AND (SELECT count(*) FROM measurement) * 11 = (SELECT count(*) FROM sample) AS good",
				&t, &err))
			return complain(&err);
		if (!text_is(table_get(&t, 0, "good"), "true"))
			return 2;
		store_close(&s);
		sleep_ms(5);
	}
	return 0;
}

static int role_hold(const char *path, const char *argument)
{
	const struct db_api *api;
	struct error err = { 0 };
	struct db d = { 0 };
	bool locked;

	if (db_load(&api, &err) || db_open(&d, api, &(struct db_opening){ .path = path, .write = true }, &locked, &err))
		return complain(&err);
	dprintf(1, "held\n");
	sleep_ms(atof(argument));
	db_close(&d);
	return 0;
}

// In a mount namespace of its own: a file system of 3 MiB is filled to the brim while the store writes.
static int role_full_disk(const char *folder, const char *argument)
{
	struct store s = { 0 };
	struct error err = { 0 };
	struct machine m = test_machine();
	struct table t;
	char path[4200], filler[4200], block[4096] = { 0 };
	int64_t row = 0, kept = 0;
	enum status status = STATUS_OK;

	(void)argument;
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("tmpfs", folder, "tmpfs", 0, "size=3m") != 0) {
		fprintf(stderr, "skip: a small file system cannot be mounted here: %s\n", strerror(errno));
		return 77;
	}
	snprintf(path, sizeof path, "%s/a.duckdb", folder);
	snprintf(filler, sizeof filler, "%s/filler", folder);
	if (store_open(&s, path, false, &err) || store_begin_run(&s, &m, "full", &err))
		return complain(&err);
	for (; kept < 3; kept++) {
		struct cell c = test_cell("m", "cpu");
		if (store_started(&s, &c, "before", &row, &err))
			return complain(&err);
	}
	int fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, block, sizeof block) > 0)
		;
	close(fd);
	for (int i = 0; i < 200 && status == STATUS_OK; i++) {
		struct cell c = test_cell("m", "cpu");
		err = (struct error){ 0 };
		status = store_started(&s, &c, "meanwhile", &row, &err);
		kept += status == STATUS_OK;
	}
	if (status != STATUS_NO_SPACE || strstr(err.text, "is full") == NULL || strstr(err.text, "--db") == NULL) {
		fprintf(stderr, "status %s after %lld rows: %s\n", status_word(status), (long long)kept, err.text);
		return 2;
	}
	printf("%s\n", err.text);
	store_close(&s);
	// No new file either, and a sentence for it.
	snprintf(path, sizeof path, "%s/b.duckdb", folder);
	status = store_open(&s, path, false, &err);
	if (status != STATUS_NO_SPACE || file_exists(path)) {
		fprintf(stderr, "new file: status %s: %s\n", status_word(status), err.text);
		return 3;
	}
	// With room again everything that was acknowledged is there, and writing goes on.
	unlink(filler);
	snprintf(path, sizeof path, "%s/a.duckdb", folder);
	if (store_open(&s, path, false, &err) ||
		store_query(&s, "SELECT count(*) AS n, count(DISTINCT id) AS d FROM cell", &t, &err))
		return complain(&err);
	if (atoll(table_get(&t, 0, "n")) != kept || atoll(table_get(&t, 0, "d")) != kept) {
		fprintf(stderr, "%s rows, expected %lld\n", table_get(&t, 0, "n"), (long long)kept);
		return 4;
	}
	struct cell c = test_cell("m", "cpu");
	if (store_begin_run(&s, &m, "after", &err) || store_started(&s, &c, "after", &row, &err))
		return complain(&err);
	store_close(&s);
	return 0;
}

// A folder on a file system mounted read-only: root is refused there too.
static int role_read_only(const char *folder, const char *argument)
{
	struct store s = { 0 };
	struct error err = { 0 };
	struct table t;
	char path[4200], absent[4200];

	(void)argument;
	snprintf(path, sizeof path, "%s/a.duckdb", folder);
	snprintf(absent, sizeof absent, "%s/b.duckdb", folder);
	if (store_open(&s, path, false, &err))
		return complain(&err);
	store_close(&s);
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount(folder, folder, NULL, MS_BIND, NULL) != 0 ||
		mount(NULL, folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0) {
		fprintf(stderr, "skip: a folder cannot be mounted read-only here: %s\n", strerror(errno));
		return 77;
	}
	if (store_open(&s, absent, false, &err) == STATUS_OK || strstr(err.text, "cannot be written") == NULL ||
		strstr(err.text, "--db") == NULL) {
		fprintf(stderr, "absent file: %s\n", err.text);
		return 2;
	}
	printf("%s\n", err.text);
	// Who means to write is told before any work is done.
	if (store_open(&s, path, false, &err) == STATUS_OK || strstr(err.text, "cannot be written") == NULL) {
		fprintf(stderr, "file: %s\n", err.text);
		return 3;
	}
	if (store_open_settled(&s, path, &err)) // nothing to migrate, nothing to settle: opening writes nothing
		return complain(&err);
	if (store_query(&s, "SELECT count(*) AS n FROM result", &t, &err))
		return complain(&err);
	int code = text_is(table_get(&t, 0, "n"), "0") ? 0 : 4;
	store_close(&s);
	return code;
}

// ---- tests -------------------------------------------------------------------------------------------------------

// Both writers make the file, write at once, and a third process reads all the while.
static void test_two_writers_and_a_reader(void **state)
{
	struct fixture *f = *state;
	pid_t a = start("write", f->path, "50/5", NULL), b = start("write", f->path, "50/5", NULL);

	while (!file_exists(f->path))
		sleep_ms(1);
	pid_t reader = start("read", f->path, "30", NULL);
	assert_int_equal(finish(a), 0);
	assert_int_equal(finish(b), 0);
	assert_int_equal(finish(reader), 0);
	expect(f->path, "SELECT count(*) FROM result WHERE verdict = 'right'", "20");
	expect(f->path,
		"SELECT count(DISTINCT id) || ' ' || min(id) || ' ' || max(id) || ' ' || count(DISTINCT cell_key) FROM cell",
		"100 1 100 100");
	expect(f->path, "SELECT count(DISTINCT id) || ' ' || max(id) || ' ' || count(*) FROM event", "124 124 124");
	expect(f->path, "SELECT count(*) FROM run", "2");
	expect(f->path, "SELECT count(*) FROM sample", "220");
	expect(f->path, "SELECT count(*) - count(DISTINCT version) FROM schema_version", "0");
}

static int notices;
static char last_notice[512];
static pid_t lock_holder;
static void on_notice(void *context, const char *sentence)
{
	(void)context;
	notices++;
	kill(lock_holder, SIGKILL); // only now does the lock come free
	snprintf(last_notice, sizeof last_notice, "%s", sentence);
}

static void test_held_lock(void **state)
{
	struct fixture *f = *state;
	struct store s = { .notice = on_notice };
	struct error err = { 0 };
	char line[16] = "";
	int output = -1;

	assert_int_equal(store_open(&s, f->path, false, &err), STATUS_OK);
	store_close(&s);
	pid_t holder = start("hold", f->path, "60000", &output);

	lock_holder = holder;
	assert_true(read(output, line, sizeof line) > 0);
	s.lock_wait_s = 0.05;
	assert_int_equal(store_open(&s, f->path, true, &err), STATUS_TIMEOUT);
	assert_non_null(strstr(err.text, "is held by another program (process "));
	assert_int_equal(notices, 0);
	s.lock_wait_s = 0;
	assert_int_equal(store_open(&s, f->path, true, &err), STATUS_OK); // waits for the lock
	assert_int_equal(notices, 1);
	assert_non_null(strstr(last_notice, "waiting up to 60 s"));
	store_close(&s);
	assert_int_equal(finish(holder), -1);
	close(output);
}

// As another program does it: settles the cells of runs that are over.
static void open_and_close(const char *path)
{
	struct store s = { 0 };
	struct error err = { 0 };

	assert_int_equal(store_open(&s, path, false, &err), STATUS_OK);
	store_close(&s);
}

// A live run's cells are left alone; once it is over, the next program that opens the file settles them, once.
static void test_live_and_dead_runs(void **state)
{
	static const char states[] =
		"SELECT string_agg(model || ' ' || state || ' ' || coalesce(verdict, '-'), ', ' ORDER BY id) FROM result";
	struct fixture *f = *state;
	struct store s = { 0 };
	struct error err = { 0 };
	struct machine m = test_machine();
	struct cell c = test_cell("mine", "cpu");
	enum store_cell_state cell_state;
	int64_t row;
	int output = -1;
	char line[32] = "";

	pid_t writer = start("start-and-wait", f->path, "theirs", &output);
	assert_true(read(output, line, sizeof line) > 0);
	assert_int_equal(store_open(&s, f->path, false, &err), STATUS_OK);
	assert_int_equal(store_begin_run(&s, &m, "mine", &err), STATUS_OK);
	assert_int_equal(store_started(&s, &c, "mine", &row, &err), STATUS_OK);
	expect(f->path, "SELECT string_agg(state, ' ') FROM result", "running running");
	assert_int_equal(store_cell_state(&s, "theirs", 0, &cell_state, &row, &err), STATUS_OK);
	assert_int_equal(cell_state, STORE_TAKEN);
	kill(writer, SIGKILL);
	// A zombie is dead, before anybody waits for it.
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)writer, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(store_cell_state(&s, "theirs", 0, &cell_state, &row, &err), STATUS_OK);
	assert_int_equal(cell_state, STORE_NEVER);
	expect(f->path, "SELECT string_agg(state, ' ') FROM result", "running running"); // reading settles nothing
	for (int i = 0; i < 2; i++)
		open_and_close(f->path);
	expect(f->path, states, "theirs finished interrupted, mine running -");
	expect(f->path, "SELECT count(*) FROM event WHERE kind = 'interrupted'", "1");
	expect(f->path, "SELECT success::VARCHAR || ' ' || error FROM hardware_results",
		"false interrupted: its run ended before the cell did");
	// A run lives as long as its store is open, not as long as its process: a program that has assay as a library may run for
	// days.
	store_close(&s);
	open_and_close(f->path);
	expect(f->path, states, "theirs finished interrupted, mine finished interrupted");
	expect(f->path, "SELECT count(*) FROM event WHERE kind = 'interrupted'", "2");
	finish(writer);
	close(output);
}

static void test_who_lives(void **state)
{
	struct process self, other;

	(void)state;
	process_self(&self);
	assert_true(process_may_live(&self));
	other = self;
	other.start_ticks++;
	assert_false(process_may_live(&other)); // the pid was given out again
	other = self;
	snprintf(other.boot_id, sizeof other.boot_id, "another boot");
	assert_false(process_may_live(&other));
	other = self;
	other.pid_namespace++;
	other.pid = 1 << 30;
	assert_true(process_may_live(&other)); // another container: nobody can tell
	other = self;
	other.pid = 1 << 30;
	assert_false(process_may_live(&other));
}

static void role_or_skip(const char *role, const char *folder)
{
	int code = finish(start(role, folder, "", NULL));

	if (code == 77) {
		SKIP_PART("the reason stands above");
	}
	assert_int_equal(code, 0);
}

static void test_full_disk(void **state)
{
	role_or_skip("full-disk", ((struct fixture *)*state)->folder);
}

static void test_read_only_folder(void **state)
{
	role_or_skip("read-only", ((struct fixture *)*state)->folder);
}

static int role_start_and_wait(const char *path, const char *argument)
{
	struct store s = { 0 };
	struct error err = { 0 };
	struct machine m = test_machine();
	struct cell c = test_cell(argument, "cpu");
	int64_t row;

	if (store_open(&s, path, false, &err) || store_begin_run(&s, &m, "waits", &err) ||
		store_started(&s, &c, argument, &row, &err))
		return complain(&err);
	dprintf(1, "%lld\n", (long long)row);
	sleep_ms(60000);
	return 0;
}

// Claims the same `argument` cells as its like does at this moment, and finishes what it gets. The last one it never finishes.
static int role_claim(const char *path, const char *argument)
{
	struct store s = { 0 };
	struct error err = { 0 };
	struct machine m = test_machine();
	int count = atoi(argument);

	if (store_open(&s, path, false, &err) || store_begin_run(&s, &m, "claims", &err))
		return complain(&err);
	for (int i = 0; i < count; i++) {
		struct cell c = test_cell("m", "cpu");
		enum store_cell_state state;
		char key[16];
		int64_t row;

		snprintf(key, sizeof key, "%d", i);
		if (store_claim(&s, &c, key, &state, &row, &err))
			return complain(&err);
		if (state == STORE_NEVER)
			dprintf(1, "%s\n", key);
		struct cell_result r = test_result(row, "m", "cpu", VERDICT_RIGHT);
		if (state == STORE_NEVER && i + 1 < count && store_finished(&s, &r, &err))
			return complain(&err);
	}
	dprintf(1, ".");
	sleep_ms(60000);
	return 0;
}

static void until_done(int fd)
{
	char c = 0;

	while (c != '.')
		assert_int_equal(read(fd, &c, 1), 1);
}

// Of two programs that ask for the same cells at once each cell goes to one; what a killed one had is free again.
// Under two names a file has two logs, two journals and two files of locks: it is read.
static void test_hard_links(void **state)
{
	struct fixture *f = *state;
	struct store s = { 0 };
	struct error err = { 0 };
	char second[4300];

	assert_int_equal(store_open(&s, f->path, false, &err), STATUS_OK);
	store_close(&s);
	snprintf(second, sizeof second, "%s/second.duckdb", f->folder);
	assert_int_equal(link(f->path, second), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(store_open(&s, i ? second : f->path, false, &err), STATUS_BAD_INPUT);
		assert_non_null(strstr(err.text, "under 2 names (hard links)"));
		assert_int_equal(store_open_settled(&s, i ? second : f->path, &err), STATUS_OK);
		store_close(&s);
	}
	unlink(second);
	assert_int_equal(store_open(&s, f->path, false, &err), STATUS_OK);
	store_close(&s);
}

static void test_claims(void **state)
{
	struct fixture *f = *state;
	struct store s = { 0 };
	struct error err = { 0 };
	struct machine m = test_machine();
	struct cell c = test_cell("m", "cpu");
	enum store_cell_state found;
	int64_t row;
	int ends[2];
	pid_t pids[2];

	for (int i = 0; i < 2; i++)
		pids[i] = start("claim", f->path, "24", &ends[i]);
	for (int i = 0; i < 2; i++)
		until_done(ends[i]);
	expect(f->path, "SELECT count(*) FROM cell", "24");
	expect(f->path, "SELECT count(DISTINCT cell_key) FROM cell", "24");
	assert_int_equal(test_store_open(&s, f->path, &err), STATUS_OK);
	assert_int_equal(store_begin_run(&s, &m, "after", &err), STATUS_OK);
	assert_int_equal(store_claim(&s, &c, "23", &found, &row, &err), STATUS_OK);
	assert_int_equal(found, STORE_TAKEN);
	assert_int_equal(store_claim(&s, &c, "0", &found, &row, &err), STATUS_OK);
	assert_int_equal(found, STORE_FINISHED);
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		finish(pids[i]);
		close(ends[i]);
	}
	assert_int_equal(store_claim(&s, &c, "23", &found, &row, &err), STATUS_OK);
	assert_int_equal(found, STORE_NEVER);
	assert_int_equal(row, 25);
	store_close(&s);
	expect(f->path, "SELECT count(*) FROM cell", "25");
}

// Another database in the place of the one that a run began in, and with a run and rows of the same numbers.
static void test_exchanged(void **state)
{
	struct fixture *f = *state;
	struct store s = { 0 }, other = { 0 };
	struct error err = { 0 };
	struct machine m = test_machine();
	struct cell c = test_cell("mine", "cpu");
	struct cell_result r;
	char path[4300];
	int64_t row, theirs;

	snprintf(path, sizeof path, "%s.other", f->path);
	assert_int_equal(store_open(&other, path, false, &err), STATUS_OK);
	assert_int_equal(store_begin_run(&other, &m, "theirs", &err), STATUS_OK);
	assert_int_equal(store_started(&other, &c, "theirs", &theirs, &err), STATUS_OK);
	store_close(&other);
	assert_int_equal(store_open(&s, f->path, false, &err), STATUS_OK);
	assert_int_equal(store_begin_run(&s, &m, "mine", &err), STATUS_OK);
	assert_int_equal(store_started(&s, &c, "mine", &row, &err), STATUS_OK);
	assert_int_equal(row, theirs);
	assert_int_equal(rename(path, f->path), 0);
	r = test_result(row, "mine", "cpu", VERDICT_RIGHT);
	assert_int_equal(store_finished(&s, &r, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "was replaced by another file"));
	assert_int_equal(store_started(&s, &c, "more", &row, &err), STATUS_BAD_INPUT);
	assert_int_equal(rename(f->path, path), 0); // DuckDB made an empty one, and said that it has no table
	assert_int_equal(store_started(&s, &c, "gone", &row, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "was removed while this command used it"));
	assert_false(file_exists(f->path));
	assert_int_equal(rename(path, f->path), 0);
	store_close(&s);
	expect(f->path, "SELECT (SELECT count(*) FROM cell) || ' ' || (SELECT count(*) FROM measurement)", "1 0");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*play)(const char *path, const char *argument);
	} roles[] = {
		{ "write", role_write },
		{ "read", role_read },
		{ "hold", role_hold },
		{ "start-and-wait", role_start_and_wait },
		{ "claim", role_claim },
		{ "full-disk", role_full_disk },
		{ "read-only", role_read_only },
	};
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_two_writers_and_a_reader),
		TEST(test_held_lock),
		TEST(test_live_and_dead_runs),
		TEST(test_claims),
		TEST(test_hard_links),
		TEST(test_exchanged),
		TEST(test_full_disk),
		TEST(test_read_only_folder),
		cmocka_unit_test(test_who_lives),
	};

	for (size_t i = 0; argc == 4 && i < sizeof roles / sizeof roles[0]; i++) {
		if (text_is(argv[1], roles[i].name))
			return roles[i].play(argv[2], argv[3]);
	}
	return exit_code(cmocka_run_group_tests(tests, NULL, NULL));
}
