// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// Writers killed in the middle of a write: what the kernel has taken of it is in the file, the rest is not. test_store_kill.c
// kills at any time, here it is known where.
#include "base/file.h"
#include "base/hash.h"
#include "store_roles.h"

enum { PAGE = 4096, BLOCKS_AT = 3 * PAGE, BLOCK = 16384, LIMIT = 1 << 26 };

// So many calls happened just before the writer was killed, who held the file then.
static int too_early;
enum status __real_journal_roll_back(const char *database, bool *stays, struct error *err);
enum status __wrap_journal_roll_back(const char *database, bool *stays, struct error *err);
enum status __wrap_journal_roll_back(const char *database, bool *stays, struct error *err)
{
	*stays = false;
	return too_early-- > 0 ? STATUS_OK : __real_journal_roll_back(database, stays, err);
}

// A writer of one row, killed as SHIM_STOP says; false: it was not.
static bool write_row(const char *path, const char *stop)
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
	int code = finish(writer);
	assert_true(code == 0 || code == -1);
	return code == -1;
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

// A row by a writer that is not killed, which leaves nothing beside the database.
static void begin(const char *path)
{
	char journal[4300];

	assert_int_equal(finish(start("write", path, "1", NULL)), 0);
	snprintf(journal, sizeof journal, "%s.journal", path);
	assert_false(file_exists(journal));
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
		{ "a.duckdb:4096:2:16", 1 },         // its first words
		{ "a.duckdb:4096:2:4096", 1 },       // the journal is of another state now
	};
	struct fixture *f = *state;
	int rows = 1;

	begin(f->path);
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
		assert_true(write_row(f->path, at[i].stop));
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

// What a writer leaves that is killed with all blocks written and no header.
struct left {
	char path[4200], wal[4300], journal[4300];
	const char *before, *file, *log, *blocks;
	size_t before_nbytes, nbytes, log_nbytes, blocks_nbytes;
};

static void leave(struct arena *a, const char *path, struct left *l)
{
	snprintf(l->path, sizeof l->path, "%s", path);
	snprintf(l->wal, sizeof l->wal, "%s.wal", path);
	snprintf(l->journal, sizeof l->journal, "%s.journal", path);
	begin(path);
	l->before = load(a, path, &l->before_nbytes);
	assert_true(write_row(path, "a.duckdb:4096:1:0")); // of the run: no row yet
	l->file = load(a, path, &l->nbytes);
	l->log = load(a, l->wal, &l->log_nbytes);
	l->blocks = load(a, l->journal, &l->blocks_nbytes);
}

// The same, cut.
static void put_cut(struct arena *a, const struct left *l, int pages)
{
	char *cut = arena_alloc(a, l->nbytes);

	memcpy(cut, l->file, l->nbytes);
	assert_true(cut_blocks(cut, l->nbytes, l->before, l->before_nbytes, pages) > 10);
	save(l->path, cut, l->nbytes);
	save(l->wal, l->log, l->log_nbytes);
	save(l->journal, l->blocks, l->blocks_nbytes);
}

static void expect_corrupt(const struct left *l)
{
	struct store s = { 0 };
	struct error err = { 0 };

	assert_int_not_equal(store_open(&s, l->path, false, &err), STATUS_OK);
	if (strstr(err.text, "Corrupt database file") == NULL)
		fail_msg("%s", err.text);
	store_close(&s);
}

static void test_living(struct arena *a, const struct left *l)
{
	struct store s = { .lock_wait_s = 0.02 };
	struct error err = { 0 };
	size_t nbytes;

	put_cut(a, l, 1);
	const char *cut = load(a, l->path, &nbytes);
	int held = open(l->path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(held, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET }), 0);
	assert_int_equal(store_open(&s, l->path, false, &err), STATUS_TIMEOUT);
	store_close(&s);
	close(held);
	assert_true(file_exists(l->journal));
	assert_memory_equal(load(a, l->path, &nbytes), cut, l->nbytes);
}

// Another program has it open for reading, and no writer lives: it is read as it is, or the sentence says what to do.
static void test_others_read(struct arena *a, const struct left *l)
{
	struct store s = { .lock_wait_s = 0.02 };
	struct error err = { 0 };
	size_t nbytes;

	for (int cut = 0; cut < 2; cut++) {
		put_cut(a, l, 1);
		if (!cut)
			save(l->path, l->file, l->nbytes);
		int held = open(l->path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(fcntl(held, F_OFD_SETLK, &(struct flock){ .l_type = F_RDLCK, .l_whence = SEEK_SET }), 0);
		assert_int_equal(store_open(&s, l->path, true, &err), cut ? STATUS_BAD_INPUT : STATUS_OK);
		store_close(&s);
		close(held);
		assert_true(file_exists(l->journal));
		assert_memory_equal(load(a, l->journal, &nbytes), l->blocks, l->blocks_nbytes);
	}
	assert_non_null(strstr(err.text, "before it can be read: end the programs that have it open and open it again"));
}

// Both headers say that the database has so many blocks.
static void say_blocks(char *pages, uint64_t count)
{
	for (char *page = pages + PAGE; page < pages + 3 * PAGE; page += PAGE) {
		uint64_t sum = 5381, word;
		memcpy(page + 32, &count, sizeof count);
		for (size_t at = sizeof word; at < PAGE; at += sizeof word) {
			memcpy(&word, page + at, sizeof word);
			sum ^= word * 0xbf58476d1ce4e5b9u;
		}
		memcpy(page, &sum, sizeof sum);
	}
}

// Blocks behind the end of the database; also where its header says that it is larger than it is.
static void test_far(struct arena *a, const struct left *l, uint64_t count)
{
	struct store s = { 0 };
	struct error err = { 0 };
	size_t nbytes, file_nbytes;

	put_cut(a, l, 1);
	char *far = load(a, l->journal, &nbytes), *file = load(a, l->path, &file_nbytes);
	const uint64_t number = 1 << 20, hash_at = 8, head = 16;
	if (count > 0) {
		say_blocks(file, count);
		say_blocks(far + head, count);
		save(l->path, file, file_nbytes);
	}
	memcpy(far + head + BLOCKS_AT, &number, sizeof number);
	const uint64_t hash = fnv1a64(far + head, nbytes - head);
	memcpy(far + hash_at, &hash, sizeof hash);
	save(l->journal, far, nbytes);
	(void)store_open(&s, l->path, false, &err);
	store_close(&s);
	assert_true(load(a, l->path, &nbytes) != NULL && nbytes < 2 * l->nbytes);
}

// An earlier state of a database that is damaged now.
static void test_earlier(struct arena *a, const struct left *l)
{
	size_t nbytes, same;

	unlink(l->wal);
	unlink(l->journal);
	save(l->path, l->before, l->before_nbytes);
	begin(l->path);
	char *damaged = load(a, l->path, &nbytes);
	for (size_t at = BLOCKS_AT; at < nbytes; at += BLOCK)
		damaged[at + PAGE] ^= 1;
	save(l->path, damaged, nbytes);
	save(l->journal, l->blocks, l->blocks_nbytes);
	expect_corrupt(l);
	assert_memory_equal(load(a, l->path, &same), damaged, nbytes);
}

static void test_cut_blocks(void **state)
{
	struct fixture *f = *state;
	struct arena a = { 0 };
	struct left l;

	leave(&a, f->path, &l);
	for (int pages = 1; pages < BLOCK / PAGE; pages++) {
		put_cut(&a, &l, pages);
		expect_rows(f->path, 1, "cut");
	}
	// A writer killed after the journal was looked for, and before DuckDB locks the file.
	for (int open_nth = 1; open_nth <= 2; open_nth++) {
		put_cut(&a, &l, 1);
		too_early = open_nth;
		expect_rows(f->path, 1, "killed while another opens");
	}
	// Without the journal it is lost: else this test proves nothing, and journals can go.
	put_cut(&a, &l, 1);
	unlink(l.journal);
	expect_corrupt(&l);
	// One that is not whole is of a checkpoint that had not begun.
	put_cut(&a, &l, 1);
	save(l.journal, l.blocks, l.blocks_nbytes - 1);
	expect_corrupt(&l);
	assert_false(file_exists(l.journal));
	test_living(&a, &l);
	test_others_read(&a, &l);
	test_far(&a, &l, 0);
	test_far(&a, &l, (uint64_t)1 << 50);
	// A file of that name that is somebody's stays.
	put_cut(&a, &l, 1);
	save(l.journal, "my notes", 8);
	expect_corrupt(&l);
	assert_true(file_exists(l.journal));
	test_earlier(&a, &l);
	arena_done(&a);
}

// Every write of a row's transactions, cut behind its first page; minutes. Called by tests/store/crash_points.sh.
static void test_every_write(void **state)
{
	static const char *const ends[] = { "a.duckdb", "a.duckdb.wal", "a.duckdb.journal" };
	struct fixture *f = *state;
	int rows = 1, count = 0;
	char stop[64];

	begin(f->path);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		for (int nth = 1;; nth++, count++) {
			struct store s;
			struct table t;
			snprintf(stop, sizeof stop, "%s:0:%d:%d", ends[i], nth, i == 1 ? 16 : PAGE);
			if (!write_row(f->path, stop))
				break; // it had not so many
			query(f->path, "SELECT count(*) FROM result", &s, &t);
			const int now = atoi(t.cells[0]);
			store_close(&s);
			assert_in_range(now, rows, rows + 1);
			expect_rows(f->path, now, stop);
			rows = now;
		}
		rows++;
	}
	print_message("%d writes cut, %d rows\n", count, rows);
	assert_true(count > 100);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(test_stopped_writes), TEST(test_cut_blocks) };
	const struct CMUnitTest all[] = { TEST(test_every_write) };

	if (argc == 4)
		return role_write(argv[2], argv[3]);
	if (argc == 2 && text_is(argv[1], "all"))
		return cmocka_run_group_tests(all, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
