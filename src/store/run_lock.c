// SPDX-License-Identifier: Apache-2.0
// Open file description locks: of this descriptor and not of the process, so that closing another one of the same file drops
// nothing.
#include "store/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/db.h"

enum { RECORD_NBYTES = 8 };
static const char MAGIC[] = "assaylck";

// Who may read and write the database may hold its locks, and nobody else, whatever the mask: a group's members would take each
// other's runs for dead, and a stranger could hold up those who write to a private one.
static void keep_rights(int fd, const char *path, const struct stat *database, const struct stat *st)
{
	const uid_t owner = database->st_uid != st->st_uid && geteuid() == 0 ? database->st_uid : (uid_t)-1;
	mode_t mode = file_rights(path, database);

	if (st->st_uid != geteuid())
		return;
	if ((database->st_gid != st->st_gid || owner != (uid_t)-1) && fchown(fd, owner, database->st_gid))
		mode = file_rights_like(path, database, st->st_gid);
	file_drop_list(fd);
	if ((st->st_mode & 0777) != (mode | 0600))
		fchmod(fd, mode | 0600);
}

// Who may write in the folder can give any file of it this name: nothing is written to one that has several, or does not begin as
// one of locks does. One without bytes is waited for where a lock is wanted: who makes it writes these next.
static bool is_locks(int fd, bool waits, struct stat *st)
{
	enum { PAUSES = 20, PAUSE_US = 5000 };
	char first[RECORD_NBYTES];

	for (int i = 0; waits && i < PAUSES && !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_size == 0; i++)
		usleep(PAUSE_US);
	return !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_nlink == 1 && pread(fd, first, sizeof first, 0) == sizeof first &&
		!memcmp(first, MAGIC, sizeof first);
}

// A new file, which has its first bytes before it has its name, where the file system can do that. -1: there is one, or none can
// be made.
static int make_locks(const char *path, mode_t mode)
{
	struct arena a = { 0 };
	const char *slash = strrchr(path, '/'), *folder = slash ? arena_printf(&a, "%.*s/", (int)(slash - path), path) : ".";
	int fd = faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) ? open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, mode) : -1;
	bool made = false;

	if (fd >= 0)
		made = !file_write_at(fd, MAGIC, RECORD_NBYTES, 0) &&
			!linkat(AT_FDCWD, arena_printf(&a, "/proc/self/fd/%d", fd), AT_FDCWD, path, AT_SYMLINK_FOLLOW);
	if (fd >= 0 && !made) {
		close(fd);
		fd = -1;
	}
	if (!made && (fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)) >= 0 &&
		file_write_at(fd, MAGIC, RECORD_NBYTES, 0)) {
		unlink(path);
		close(fd);
		fd = -1;
	}
	arena_done(&a);
	return fd;
}

// -1 also for a number that no run has.
static int open_locks(const char *database, int64_t run, int flags)
{
	char path[PATH_MAX + 8], real[PATH_MAX];

	if (run < 0 || run > RUN_MOST)
		return -1;

	// One file, whatever links lead to it; a database that is not there yet has none.
	if (snprintf(path, sizeof path, "%s.lock", realpath(database, real) ? real : database) >= (int)sizeof path)
		return -1;
	struct stat of, st;
	const bool is_there = !stat(database, &of);
	int fd = flags & O_CREAT ? make_locks(path, is_there ? 0600 : 0666) : -1;

	if (fd < 0) // a FIFO there is not waited for, and has no locks
		fd = open(path, (flags & ~O_CREAT) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (!is_locks(fd, flags & O_CREAT, &st) || (is_there && !db_believes(&of, &st)))) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0 && is_there && (flags & O_CREAT))
		keep_rights(fd, database, &of, &st);
	return fd;
}

static struct flock range(short type, int64_t run)
{
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)run * RECORD_NBYTES, .l_len = RECORD_NBYTES
	};
}

static bool set_lock(int fd, int how, short type, int64_t run)
{
	struct flock lock = range(type, run);
	int rc;

	while ((rc = fcntl(fd, how, &lock)) < 0 && errno == EINTR)
		;
	return rc == 0;
}

static uint64_t record_of(const struct process *p)
{
	char text[256];
	int n = snprintf(text, sizeof text, "run %lld %lld %lld %s", (long long)p->pid, (long long)p->start_ticks,
		(long long)p->pid_namespace, p->boot_id);

	return fnv1a64(text, (size_t)n) | 1; // 0 is what a file without it has there
}

int run_lock_take(const char *database, int64_t run, const struct process *p)
{
	const uint64_t record = record_of(p);
	int fd = run ? open_locks(database, run, O_RDWR | O_CREAT) : -1;

	if (fd >= 0 &&
		(!set_lock(fd, F_OFD_SETLK, F_WRLCK, run) ||
			file_write_at(fd, &record, sizeof record, (uint64_t)run * RECORD_NBYTES))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

enum run_life run_lock_ask(const char *database, int64_t run, const struct process *p)
{
	int fd = open_locks(database, run, O_RDONLY);
	struct flock lock = range(F_WRLCK, run);
	enum run_life life = RUN_UNKNOWN;
	uint64_t record;

	if (fd < 0)
		return RUN_UNKNOWN;
	if (pread(fd, &record, sizeof record, (off_t)run * RECORD_NBYTES) == sizeof record && record == record_of(p) &&
		fcntl(fd, F_OFD_GETLK, &lock) == 0)
		life = lock.l_type == F_UNLCK ? RUN_OVER : RUN_LIVES;
	close(fd);
	return life;
}

int run_lock_make(const char *database, bool *alone)
{
	enum { SWEEP_MS = 2000, PAUSE_US = 5000 }; // a sweeper holds it while it removes some files; another user may, for good
	int fd = open_locks(database, 0, O_RDWR | O_CREAT);
	const double until = clock_ms() + SWEEP_MS;
	bool has = *alone = fd >= 0 && set_lock(fd, F_OFD_SETLK, F_WRLCK, 0);

	while (fd >= 0 && !has && !(has = set_lock(fd, F_OFD_SETLK, F_RDLCK, 0)) && clock_ms() < until)
		usleep(PAUSE_US);
	if (fd >= 0 && !has) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void run_lock_share(int fd)
{
	if (fd >= 0)
		set_lock(fd, F_OFD_SETLK, F_RDLCK, 0);
}
