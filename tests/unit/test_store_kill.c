// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// Writers killed at any moment: no row that was told is lost or doubled, and the file opens.
#include <dirent.h>

#include "base/hash.h"
#include "store/run_lock.h"
#include "store_roles.h"

// Reads what a writer told, at most `limit` lines: rows told as started and as finished.
static void told(int fd, bool started[], bool finished[], size_t size, size_t limit)
{
	char line[64];

	for (size_t lines = 0; lines < limit; lines++) {
		size_t n = 0;
		while (n + 1 < sizeof line && read(fd, line + n, 1) == 1 && line[n] != '\n')
			n++;
		line[n] = '\0';
		if (n < 3)
			return; // the end
		long long row = atoll(line + 2);
		assert_true(row > 0 && (size_t)row < size);
		(line[0] == 'S' ? started : finished)[row] = true;
	}
}

// kill -9 at any moment: the file opens, every row that was told is there once, and what was running reads as interrupted.
static void test_killed_writers(void **state)
{
	enum { ROUNDS = 32, SIZE = 4096 };
	static bool started[SIZE], finished[SIZE];
	struct fixture *f = *state;
	struct store s = { 0 };
	struct error err = { 0 };
	struct table t;
	uint64_t seed = (uint64_t)time(NULL);

	print_message("seed %llu\n", (unsigned long long)seed);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		int output = -1;
		pid_t writer = start("write", f->path, "1000", &output);
		uint64_t dice = splitmix64(seed, round);
		if (round % 2 == 0) { // at some moment of its beginning
			sleep_ms((double)(dice % 600));
		} else { // somewhere behind its first words, on a slow machine too
			told(output, started, finished, SIZE, 1 + dice % 7);
			sleep_ms((double)(dice / 7 % 40));
		}
		kill(writer, SIGKILL);
		assert_int_equal(finish(writer), -1);
		told(output, started, finished, SIZE, SIZE);
		close(output);
		if (store_open(&s, f->path, false, &err))
			fail_msg("round %d: %s", (int)round, err.text);
		store_close(&s);
	}
	query(f->path,
		"SELECT c.id AS id, r.state AS state, r.verdict AS verdict,"
		" (SELECT count(*) FROM event e WHERE e.cell = c.id AND e.kind = 'started') AS starts,"
		" (SELECT count(*) FROM event e WHERE e.cell = c.id AND e.kind IN ('verdict', 'interrupted')) AS ends,"
		" (SELECT count(*) FROM sample m WHERE m.cell = c.id) AS samples FROM cell c JOIN result r ON r.id = c.id ORDER "
		"BY c.id",
		&s, &t);
	size_t interrupted = 0, told_count = 0;
	for (size_t i = 0; i < t.row_count; i++) {
		int64_t id = atoll(table_get(&t, i, "id"));
		bool is_interrupted = text_is(table_get(&t, i, "verdict"), "interrupted");
		assert_int_equal(id, i + 1); // each once, none missing
		assert_string_equal(table_get(&t, i, "state"), "finished");
		assert_string_equal(table_get(&t, i, "starts"), "1");
		assert_string_equal(table_get(&t, i, "ends"), "1");
		assert_string_equal(table_get(&t, i, "samples"), is_interrupted ? "0" : "11");
		assert_true(id < SIZE && !(finished[id] && is_interrupted));
		interrupted += is_interrupted;
	}
	for (size_t id = 1; id < SIZE; id++) {
		told_count += started[id];
		assert_true(!started[id] || id <= t.row_count);
	}
	print_message("%d kills, %zu rows, %zu told as started, %zu interrupted\n", ROUNDS, t.row_count, told_count, interrupted);
	assert_true(told_count > 0);
	assert_true(interrupted <= ROUNDS);
	store_close(&s);
	// Nothing is left beside the database and its locks (a log after a kill is part of it, and gone after the next write).
	DIR *dir = opendir(f->folder);
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		assert_true(entry->d_name[0] == '.' || text_is(entry->d_name, "a.duckdb") ||
			text_is(entry->d_name, "a.duckdb.wal") || text_is(entry->d_name, "a.duckdb.lock"));
	closedir(dir);
}

// What a program leaves that was killed while it made the file is cleared away by the next one that makes it; not while another
// makes one too, which may be its owner, and not what an older program named by its process number.
static void test_leftovers(void **state)
{
	struct fixture *f = *state;
	struct store s = { 0 };
	struct error err = { 0 };
	char gone[4300], gone_wal[4300], old[4300];
	bool alone;

	snprintf(gone, sizeof gone, "%s.new.0123456789abcdef", f->path);
	snprintf(gone_wal, sizeof gone_wal, "%s.new.0123456789abcdef.wal", f->path);
	snprintf(old, sizeof old, "%s.new.%d", f->path, (int)getppid());
	assert_int_equal(
		file_write(gone, "x", 1, &err) || file_write(gone_wal, "x", 1, &err) || file_write(old, "x", 1, &err), 0);
	int maker = run_lock_make(f->path, &alone);
	assert_true(maker >= 0 && alone);
	run_lock_share(maker);
	assert_int_equal(store_open(&s, f->path, false, &err), STATUS_OK);
	store_close(&s);
	assert_true(file_exists(gone) && file_exists(gone_wal));
	close(maker);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(store_open(&s, f->path, false, &err), STATUS_OK);
	store_close(&s);
	assert_false(file_exists(gone) || file_exists(gone_wal));
	assert_true(file_exists(old));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(test_killed_writers), TEST(test_leftovers) };

	if (argc == 4)
		return role_write(argv[2], argv[3]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
