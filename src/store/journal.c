// SPDX-License-Identifier: Apache-2.0
// journal.h. Of DuckDB's format (its documentation, "Storage format"): three pages, its own header and two that are written in
// turn, of which the one with the higher iteration counts; then blocks. Each begins with the checksum of its other words.
#include "store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#define JOURNAL ".journal"

enum {
	PAGE = 4096,
	PAGES_NBYTES = 3 * PAGE,
	ITERATION_AT = 8,
	BLOCK_COUNT_AT = 32,
	BLOCK_NBYTES_AT = 40,
	BLOCK_NBYTES_MOST = 1 << 18,
	JOURNAL_MOST = 64 << 20
};

// Words of the machine, as DuckDB's own are. After it are the pages, then each block with its number before it.
struct head {
	char magic[8];
	uint64_t hash; // of everything after it: a journal is whole, or its checkpoint had not begun
};

static const char magic[] = "assayjnl";

static uint64_t word_at(const uint8_t *at)
{
	uint64_t out;

	memcpy(&out, at, sizeof out);
	return out;
}

static bool is_whole(const uint8_t *block, size_t nbytes)
{
	uint64_t sum = 5381;

	for (size_t at = sizeof sum; at < nbytes; at += sizeof sum)
		sum ^= word_at(block + at) * 0xbf58476d1ce4e5b9u;
	return word_at(block) == sum;
}

// Where the header that counts is in the pages; 0: neither does.
static size_t active_at(const uint8_t *pages)
{
	const uint8_t *one = pages + PAGE, *two = one + PAGE;
	const bool has_one = is_whole(one, PAGE), has_two = is_whole(two, PAGE);

	if (has_one && has_two)
		return word_at(one + ITERATION_AT) > word_at(two + ITERATION_AT) ? PAGE : 2 * PAGE;
	return has_one ? PAGE : has_two ? 2 * PAGE : 0;
}

// A block of the database whose active header is there.
static uint64_t block_nbytes_of(const uint8_t *header)
{
	const uint64_t nbytes = word_at(header + BLOCK_NBYTES_AT);

	return nbytes > 0 ? nbytes : BLOCK_NBYTES_MOST; // of old files
}

static bool read_at(int fd, uint8_t *out, size_t nbytes, uint64_t at)
{
	ssize_t n = 0;

	for (size_t got = 0; got < nbytes; got += (size_t)n)
		if ((n = pread(fd, out + got, nbytes - got, (off_t)(at + got))) <= 0)
			return false;
	return true;
}

static uint64_t block_at(uint64_t block, uint64_t nbytes)
{
	return PAGES_NBYTES + block * nbytes;
}

// A file of somebody's that has the name of a journal: it stays. One that was cut while it was written is none of these.
static bool is_others(const char *path)
{
	char begin[sizeof magic - 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd >= 0 ? read(fd, begin, sizeof begin) : 0;

	if (fd >= 0)
		close(fd);
	return n > 0 && memcmp(begin, magic, (size_t)n) != 0;
}

// ---- before a checkpoint ---------------------------------------------------------------------------------------------------

// The blocks with room for more metadata: those that the checkpoint writes to, and the present state reads.
static bool add_blocks(struct text *out, const struct table *t, int file, uint64_t nbytes)
{
	struct arena a = { 0 };
	uint8_t *block = arena_alloc(&a, nbytes);
	bool can_read = true;

	for (size_t i = 0; i < t->row_count && can_read && out->length < JOURNAL_MOST; i++) {
		const uint64_t number = (uint64_t)table_integer(t, i, "block_id");
		if (table_integer(t, i, "free_blocks") == 0)
			continue;
		can_read = read_at(file, block, nbytes, block_at(number, nbytes));
		text_add_bytes(out, &number, sizeof number);
		text_add_bytes(out, block, nbytes);
	}
	arena_done(&a);
	return can_read && out->length < JOURNAL_MOST;
}

// For nobody who may not read the database, parts of which it has.
static enum status write_journal(const char *database, const char *path, const struct text *contents, struct error *err)
{
	struct head h = { .hash = fnv1a64(text_get(contents), contents->length) };
	struct stat st;

	if (is_others(path))
		return error_set(err, STATUS_FAILED, "%s is no journal", path);
	unlink(path);
	int fd = file_new(path, O_WRONLY);
	int failure = fd < 0 ? errno : 0;
	memcpy(h.magic, magic, sizeof h.magic);
	if (failure == 0)
		failure = file_write_at(fd, &h, sizeof h, 0);
	if (failure == 0)
		failure = file_write_at(fd, text_get(contents), contents->length, sizeof h);
	const bool is_there = stat(database, &st) == 0;
	if (failure == 0 &&
		(fchmod(fd, is_there ? file_rights_like(database, &st, file_group(fd)) : 0600) != 0 || fsync(fd) != 0))
		failure = errno;
	if (fd >= 0)
		close(fd);
	if (failure == 0)
		return STATUS_OK;
	if (fd >= 0)
		unlink(path);
	errno = failure;
	return error_errno(err, "%s", path);
}

enum status journal_begin(struct db *d, const char *database, int *file, struct error *err)
{
	struct arena a = { 0 };
	struct text contents = { 0 };
	struct table t = { 0 };
	uint8_t pages[PAGES_NBYTES];
	enum status status =
		db_query(d, &a, "SELECT block_id, free_blocks FROM system.main.pragma_metadata_info()", NULL, 0, &t, err);

	*file = -1;
	if (status == STATUS_OK && t.row_count > 0) { // a new file has no block that is in use
		*file = open(database, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		const bool can_read = *file >= 0 && read_at(*file, pages, sizeof pages, 0);
		const size_t active = can_read ? active_at(pages) : 0;
		text_add_bytes(&contents, pages, sizeof pages);
		if (active > 0 && add_blocks(&contents, &t, *file, block_nbytes_of(pages + active)))
			status = write_journal(database, arena_printf(&a, "%s" JOURNAL, database), &contents, err);
		else
			status = error_set(err, STATUS_FAILED, "%s cannot be read", database);
	}
	text_done(&contents);
	arena_done(&a);
	return status;
}

void journal_end(const char *database)
{
	struct text path = { 0 };

	text_addf(&path, "%s" JOURNAL, database);
	unlink(text_get(&path));
	text_done(&path);
}

// ---- before a database is opened -------------------------------------------------------------------------------------------

struct journal {
	const uint8_t *pages, *blocks;
	size_t block_nbytes, block_count;
};

// Without pages: what a kill left before it was whole, and the checkpoint had not begun, or another program's file.
static struct journal parse(const char *data, size_t nbytes)
{
	const uint8_t *pages = (const uint8_t *)data + sizeof(struct head);
	struct head h;

	if (nbytes < sizeof h + PAGES_NBYTES)
		return (struct journal){ 0 };
	memcpy(&h, data, sizeof h);
	const size_t active = active_at(pages);
	if (memcmp(h.magic, magic, sizeof h.magic) != 0 || h.hash != fnv1a64(pages, nbytes - sizeof h) || active == 0)
		return (struct journal){ 0 };
	const uint64_t block_nbytes = block_nbytes_of(pages + active);
	if (block_nbytes < PAGE || block_nbytes > BLOCK_NBYTES_MOST)
		return (struct journal){ 0 };
	return (struct journal){ .pages = pages,
		.blocks = pages + PAGES_NBYTES,
		.block_nbytes = block_nbytes,
		.block_count = (nbytes - sizeof h - PAGES_NBYTES) / (sizeof(uint64_t) + block_nbytes) };
}

// Does the database read what the journal's did? One that has taken over the checkpoint, or is another, does not.
static bool is_of(const struct journal *j, const uint8_t *pages)
{
	const size_t active = j->pages != NULL ? active_at(j->pages) : 0;

	return active > 0 && active_at(pages) == active && memcmp(pages, j->pages, PAGE) == 0 &&
		memcmp(pages + active, j->pages + active, PAGE) == 0;
}

// A block or page of the file that is not whole becomes what it was. *torn: one is not, and `file` is only read.
static int put_back(int file, bool may_write, uint64_t at, const uint8_t *was, size_t nbytes, bool *torn)
{
	struct arena a = { 0 };
	uint8_t *is = arena_alloc(&a, nbytes);
	const bool whole = read_at(file, is, nbytes, at) && is_whole(is, nbytes);
	int failure = 0;

	if (!whole && may_write)
		failure = file_write_at(file, was, nbytes, at);
	*torn = *torn || (!whole && !may_write);
	arena_done(&a);
	return failure;
}

static int put_all_back(const struct journal *j, int file, uint64_t file_nbytes, bool may_write, bool *torn)
{
	const uint64_t blocks = word_at(j->pages + active_at(j->pages) + BLOCK_COUNT_AT),
		       within = file_nbytes / j->block_nbytes; // at least as many as there are: a header may say anything
	const uint64_t file_blocks = blocks < within ? blocks : within;
	int failure = 0;

	for (size_t i = 0; i < j->block_count && failure == 0; i++) {
		const uint8_t *entry = j->blocks + i * (sizeof(uint64_t) + j->block_nbytes);
		if (word_at(entry) < file_blocks) // a stranger's may say anything
			failure = put_back(file, may_write, block_at(word_at(entry), j->block_nbytes), entry + sizeof(uint64_t),
				j->block_nbytes, torn);
	}
	for (size_t at = PAGE; at < PAGES_NBYTES && failure == 0; at += PAGE)
		failure = put_back(file, may_write, at, j->pages + at, PAGE, torn);
	return failure == 0 && may_write && fsync(file) != 0 ? errno : failure;
}

// `else_do`: what to do where it is not whole and `file` is only read.
static enum status roll_back(
	const char *path, const char *database, int file, bool may_write, const char *else_do, struct error *err)
{
	struct arena a = { 0 };
	uint8_t pages[PAGES_NBYTES];
	struct stat st;
	char *data = NULL;
	size_t nbytes = 0;
	bool torn = false;
	int failure = 0;

	if (fstat(file, &st) != 0 || !read_at(file, pages, sizeof pages, 0)) // and the journal stays
		return error_set(err, STATUS_FAILED, "%s, whose last writer was killed, cannot be read", database);
	enum status status = file_read(&a, path, JOURNAL_MOST + BLOCK_NBYTES_MOST, &data, &nbytes, err);
	if (status == STATUS_OK) {
		const struct journal j = parse(data, nbytes);
		if (is_of(&j, pages))
			failure = put_all_back(&j, file, (uint64_t)st.st_size, may_write, &torn);
	}
	errno = failure;
	if (failure != 0)
		status = error_errno(err, "%s, whose last writer was killed, cannot be mended from %s", database, path);
	else if (torn)
		status = error_set(err, STATUS_BAD_INPUT,
			"%s: its last writer was killed, and it must be mended from %s before it can be read: %s", database, path,
			else_do);
	arena_done(&a);
	return status;
}

// F_WRLCK: nobody has it open, F_RDLCK: nobody for writing; DuckDB's locks are of the whole file, too. Ends with the descriptor.
static bool lock(int file, short type)
{
	struct flock whole = { .l_type = type, .l_whence = SEEK_SET };

	return fcntl(file, F_OFD_SETLK, &whole) == 0;
}

// With a journal there. A program that has the database open removes it itself, or found that it can do without.
static enum status take_over(const char *journal, const char *database, bool *stays, struct error *err)
{
	int file = open(database, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const bool may_write = file >= 0;
	enum status status = STATUS_OK;

	if (!may_write)
		file = open(database, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	// Where others only read it, or it may only be read, it is read as it is if nothing of it is torn.
	const bool alone = may_write && lock(file, F_WRLCK), reads = !alone && file >= 0 && lock(file, F_RDLCK),
		   others = is_others(journal);
	if ((alone || reads) && file_exists(journal))
		status = roll_back(journal, database, file, alone,
			may_write ? "end the programs that have it open and open it again"
				  : "open it once as somebody who may write both",
			err);
	*stays = !may_write || reads || others || (alone && status == STATUS_OK && unlink(journal) != 0 && errno != ENOENT);
	if (file >= 0)
		close(file);
	return status;
}

enum status journal_roll_back(const char *database, bool *stays, struct error *err)
{
	struct text path = { 0 };
	struct stat st;
	enum status status = STATUS_OK;

	*stays = false;
	text_addf(&path, "%s" JOURNAL, database);
	const char *journal = text_get(&path);
	const bool is_there = lstat(journal, &st) == 0;
	if (is_there && S_ISREG(st.st_mode)) {
		status = db_check_beside(database, journal, err);
		if (status == STATUS_OK)
			status = take_over(journal, database, stays, err);
	} else if (is_there) {
		status = error_set(
			err, STATUS_BAD_INPUT, "%s is no regular file, and the journal of %s belongs there", journal, database);
	}
	text_done(&path);
	return status;
}

bool journal_is_there(const char *database)
{
	struct text path = { 0 };

	text_addf(&path, "%s" JOURNAL, database);
	bool is_there = file_exists(text_get(&path));
	text_done(&path);
	return is_there;
}
