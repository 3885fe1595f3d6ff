// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"

enum {
	READ_NBYTES = 1 << 20,
	TOLD_NBYTES = 16 << 20,
	REMEMBERED_NBYTES = 1 << 20,
	AWAITED_NBYTES = 256 << 20,
	NOTE_MOST = 256,
	MOST_TRIES = 3
};

static const int64_t settled_ns = 2000000000;

static int64_t since_epoch(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
		since_epoch(a->st_mtim) == since_epoch(b->st_mtim) && since_epoch(a->st_ctim) == since_epoch(b->st_ctim);
}

// How long ago the file was changed; negative where its clock is ahead of ours.
static int64_t age_ns(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return since_epoch(now) - since_epoch(st->st_ctim);
}

// ---- what was remembered ------------------------------------------------------------------------------------------------

// NULL: there is no cache for it.
static const char *note_path(struct arena *a, const struct stat *st)
{
	const char *folder;

	return cache_part(&folder, a, "digest", NULL)
		? NULL
		: arena_printf(a, "%s/%jx-%jx", folder, (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
}

static const char *note_facts(struct arena *a, const struct stat *st)
{
	return arena_printf(a, "%jd %jd.%09ld %jd.%09ld ", (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec,
		st->st_mtim.tv_nsec, (intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

static bool recall(char out[65], const struct stat *st)
{
	struct arena a = { 0 };
	const char *facts = note_facts(&a, st), *path = note_path(&a, st);
	size_t nbytes, n = strlen(facts);
	char *note;
	bool known = path && cache_is_own(path) && !file_read(&a, path, NOTE_MOST, &note, &nbytes, NULL) && nbytes == n + 65 &&
		!memcmp(note, facts, n) && strspn(note + n, "0123456789abcdef") == 64;

	if (known) {
		memcpy(out, note + n, 64);
		out[64] = 0;
		utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW); // used now: the oldest is trimmed first
	}
	arena_done(&a);
	return known;
}

// A cache that cannot be written only means that the file is hashed again.
static void remember(const char digest[65], const struct stat *st)
{
	struct arena a = { 0 };
	const char *path = note_path(&a, st), *note = arena_printf(&a, "%s%s\n", note_facts(&a, st), digest);

	if (path)
		file_put(path, note, strlen(note), NULL);
	arena_done(&a);
}

// ---- hashing ------------------------------------------------------------------------------------------------------------

static enum status tell(struct digest_watch *watch, uint64_t done, const char *path, struct error *err)
{
	if (watch && watch->progress &&
		watch->progress(watch->context, watch->done + done,
			watch->total > watch->done + done ? watch->total : watch->done + done))
		return error_set(err, STATUS_INTERRUPTED, "%s: stopped while it was hashed", path);
	return STATUS_OK;
}

// As many bytes as the file says it has. Files of the kernel say 0 and some never end; a file that grows meanwhile is the
// caller's to see.
static enum status hash_content(
	char out[65], int fd, uint64_t nbytes, const char *path, bool *more, struct digest_watch *watch, struct error *err)
{
	struct arena a = { 0 };
	unsigned char *buffer = arena_alloc(&a, READ_NBYTES);
	uint64_t done = 0, told = 0;
	enum status s = STATUS_OK;
	struct hash h;
	ssize_t n = 1;

	hash_init(&h);
	while (!s && n > 0) {
		// Read, not mapped: a file on a failing disk, or one that is cut meanwhile, is an error here, not a signal.
		// At the end one byte is asked for, to see that there is none.
		n = pread(fd, buffer,
			nbytes - done > READ_NBYTES ? READ_NBYTES
				: nbytes > done     ? (size_t)(nbytes - done)
						    : 1,
			(off_t)done);
		if (n < 0 && errno == EINTR) {
			n = 1;
			continue;
		}
		if (n < 0)
			s = error_errno(err, "%s", path);
		if (n > 0 && (*more = done == nbytes))
			break;
		if (n > 0)
			hash_add(&h, buffer, (size_t)n);
		done += n > 0 ? (uint64_t)n : 0;
		if (!s && done - told >= TOLD_NBYTES) {
			told = done;
			s = tell(watch, done, path, err);
		}
	}
	hash_hex(&h, out);
	arena_done(&a);
	return s;
}

// A large file that was just written would be hashed by every process that asks: waiting until its digest may be remembered costs
// less.
static enum status let_settle(int fd, const char *path, struct stat *st, struct error *err)
{
	int64_t age = age_ns(st);

	if (st->st_size < AWAITED_NBYTES || age < 0 || age >= settled_ns)
		return STATUS_OK;
	nanosleep(&(struct timespec){ .tv_sec = (settled_ns - age) / 1000000000, .tv_nsec = (settled_ns - age) % 1000000000 },
		NULL);
	return fstat(fd, st) ? error_errno(err, "%s", path) : STATUS_OK;
}

// On tmpfs a store through a shared mapping changes no time after the first one.
static bool tells_of_writes(int fd)
{
	enum { TMPFS = 0x01021994 };
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type != TMPFS;
}

static enum status digest_open(char out[65], int fd, const char *path, struct digest_watch *watch, struct error *err)
{
	struct stat before, after;
	enum status s = STATUS_OK;

	if (fstat(fd, &before))
		return error_errno(err, "%s", path);
	if (!S_ISREG(before.st_mode))
		return error_set(err, STATUS_BAD_INPUT, "%s: not a regular file", path);
	if ((s = file_check_holes(fd, path, err)))
		return s;
	bool may_remember = before.st_size >= REMEMBERED_NBYTES && tells_of_writes(fd);
	bool remembered = may_remember && recall(out, &before);
	if (may_remember && !remembered)
		s = let_settle(fd, path, &before, err);
	for (int tries = 0; !remembered && !s; tries++) {
		bool settled = age_ns(&before) >= settled_ns, more = false;

		if ((s = hash_content(out, fd, (uint64_t)before.st_size, path, &more, watch, err)))
			break;
		if (fstat(fd, &after))
			return error_errno(err, "%s", path);
		if (is_same(&before, &after) && more)
			return error_set(err, STATUS_BAD_INPUT, "%s: gives more than the %lld bytes that it says it has", path,
				(long long)before.st_size);
		if (is_same(&before, &after)) {
			if (settled && may_remember)
				remember(out, &before);
			break;
		}
		if (tries + 1 == MOST_TRIES)
			return error_set(err, STATUS_FAILED, "%s: changes while it is read", path);
		before = after;
	}
	if (!s && watch) {
		watch->done += (uint64_t)before.st_size;
		s = tell(watch, 0, path, err);
	}
	return s;
}

enum status file_digest(char out[65], const char *path, struct digest_watch *watch, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return error_errno(err, "%s", path);
	enum status s = digest_open(out, fd, path, watch, err);
	close(fd);
	return s;
}

const char *file_digest_key(struct arena *a, const char *path)
{
	char *hex = arena_alloc(a, 65);

	return file_digest(hex, path, NULL, NULL) ? digest_unknown(a) : hex;
}

static const char unknown[] = "unknown ";

const char *digest_unknown(struct arena *a)
{
	static atomic_uint serial;

	return arena_printf(a, "%s%016llx.%u", unknown, (unsigned long long)process_nonce(), atomic_fetch_add(&serial, 1));
}

bool digest_is_known(const char *digest)
{
	return digest != NULL && *digest != '\0' && !text_starts(digest, unknown);
}
