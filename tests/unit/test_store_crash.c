// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// Writers killed in the middle of a write: what the kernel has taken of it is in the file, the rest is not. test_store_kill.c
// kills at any time, here it is known where.
#include "base/file.h"
#include "store_roles.h"

enum { PAGE = 4096, BLOCKS_AT = 3 * PAGE, BLOCK = 16384, LIMIT = 1 << 26 };

// A writer of one row, killed as SHIM_STOP says.
static void write_row(const char *path, const char *stop)
{
	const char *options = getenv("ASAN_OPTIONS");
	char *before = options != NULL ? strdup(options) : NULL, with[4096];

	snprintf(with, sizeof with, "%s%sverify_asan_link_order=0", before != NULL ? before : "", before != NULL ? ":" : "");
	setenv("ASAN_OPTIONS", with, 1);
	setenv("LD_PRELOAD", SHIM, 1);
	setenv("SHIM_STOP", stop, 1);
	pid_t writer = start("write", path, "1", NULL);
	unsetenv("SHIM_STOP");
	unsetenv("LD_PRELOAD");
	if (before != NULL)
		setenv("ASAN_OPTIONS", before, 1);
	else
		unsetenv("ASAN_OPTIONS");
	free(before);
	if (finish(writer) != -1)
		fail_msg("%s: the writer was not killed", stop);
}

static void expect_rows(const char *path, int rows, const char *where)
{
	struct store s = { 0 };
	struct error err = { 0 };
	struct table t;
	char journal[4300];

	if (store_open(&s, path, false, &err))
		fail_msg("%s: %s", where, err.text);
	store_close(&s);
	query(path, "SELECT count(*) AS n, count(*) FILTER (WHERE state = 'finished') AS finished FROM result", &s, &t);
	if (table_integer(&t, 0, "n") != rows || table_integer(&t, 0, "finished") != rows)
		fail_msg("%s: %s rows, %s finished", where, t.cells[0], t.cells[1]);
	store_close(&s);
	snprintf(journal, sizeof journal, "%s.journal", path);
	assert_false(file_exists(journal));
}

static void begin(const char *path)
{
	int writer = start("write", path, "1", NULL);

	assert_int_equal(finish(writer), 0);
}

// In each state of a transaction of its own: the log, the journal, blocks, the header.
static void test_stopped_writes(void **state)
{
	static const struct {
		const char *stop;
		int rows; // beside those of before
	} at[] = {
		{ "a.duckdb.wal:0:2:16", 0 },        // what says that a checkpoint of the run begins
		{ "a.duckdb.journal:0:4:65536", 1 }, // half a journal; the row is in the log
		{ "a.duckdb:16384:12:8192", 0 },     // half a block, of the run again
		{ "a.duckdb:4096:2:0", 1 },          // all blocks, and no header
		{ "a.duckdb:4096:2:2048", 1 },       // half of it
		{ "a.duckdb:4096:2:4096", 1 },       // the journal is of another state now
	};
	struct fixture *f = *state;
	int rows = 1;

	begin(f->path);
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
		write_row(f->path, at[i].stop);
		rows += at[i].rows;
		expect_rows(f->path, rows, at[i].stop);
	}
}

static void save(const char *path, const char *data, size_t nbytes)
{
	struct error err = { 0 };

	if (file_write(path, data, nbytes, &err))
		fail_msg("%s", err.text);
}

static char *load(struct arena *a, const char *path, size_t *nbytes)
{
	struct error err = { 0 };
	char *out = NULL;

	if (file_read(a, path, LIMIT, &out, nbytes, &err))
		fail_msg("%s", err.text);
	return out;
}

// Every block that a checkpoint has written, cut at once: its first `pages` are new, the others are as before. How many.
static int cut_blocks(char *file, size_t nbytes, const char *before, size_t before_nbytes, int pages)
{
	int count = 0;

	for (size_t at = BLOCKS_AT; at + BLOCK <= nbytes && at + BLOCK <= before_nbytes; at += BLOCK) {
		const size_t part = (size_t)pages * PAGE;
		if (memcmp(file + at, before + at, BLOCK) == 0)
			continue;
		memcpy(file + at + part, before + at + part, BLOCK - part);
		count++;
	}
	return count;
}

static void test_cut_blocks(void **state)
{
	struct fixture *f = *state;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct store s = { 0 };
	char wal[4300], journal[4300];
	size_t before_nbytes, nbytes, wal_nbytes, journal_nbytes;

	snprintf(wal, sizeof wal, "%s.wal", f->path);
	snprintf(journal, sizeof journal, "%s.journal", f->path);
	begin(f->path);
	const char *before = load(&a, f->path, &before_nbytes);
	write_row(f->path, "a.duckdb:4096:1:0"); // of the run: no row yet
	const char *after = load(&a, f->path, &nbytes), *log = load(&a, wal, &wal_nbytes);
	const char *saved = load(&a, journal, &journal_nbytes);
	for (int pages = 1; pages < BLOCK / PAGE; pages++) {
		char *cut = arena_alloc(&a, nbytes);
		memcpy(cut, after, nbytes);
		assert_true(cut_blocks(cut, nbytes, before, before_nbytes, pages) > 10);
		save(f->path, cut, nbytes);
		save(wal, log, wal_nbytes);
		save(journal, saved, journal_nbytes);
		expect_rows(f->path, 1, "cut");
		// Without the journal it is lost: else this test proves nothing, and the journal can go.
		save(f->path, cut, nbytes);
		save(wal, log, wal_nbytes);
		assert_int_not_equal(store_open(&s, f->path, false, &err), STATUS_OK);
		assert_non_null(strstr(err.text, "Corrupt database file"));
		store_close(&s);
		// Nor is one believed that is not whole, or of another state.
		save(journal, saved, journal_nbytes - 1);
		assert_int_not_equal(store_open(&s, f->path, false, &err), STATUS_OK);
		store_close(&s);
		assert_false(file_exists(journal));
		unlink(wal);
	}
	// Nor is one believed of another state: with it, the damage would be another one.
	save(f->path, before, before_nbytes);
	begin(f->path);
	char *damaged = load(&a, f->path, &nbytes);
	for (size_t at = BLOCKS_AT; at < nbytes; at += BLOCK)
		damaged[at + PAGE] ^= 1;
	save(f->path, damaged, nbytes);
	save(journal, saved, journal_nbytes);
	assert_int_not_equal(store_open(&s, f->path, false, &err), STATUS_OK);
	store_close(&s);
	assert_memory_equal(load(&a, f->path, &before_nbytes), damaged, nbytes);
	arena_done(&a);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(test_stopped_writes), TEST(test_cut_blocks) };

	if (argc == 4)
		return role_write(argv[2], argv[3]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
