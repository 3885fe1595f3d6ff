// SPDX-License-Identifier: Apache-2.0
// One file at another path by the cheapest way that works. Hard links fail across file systems (EXDEV), for files of other
// users (EPERM), past a file system's count (EMLINK) and where it has none (EOPNOTSUPP); block sharing works on a few file
// systems only. Whatever way, the path shows the old file or the whole new one.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#endif

#include "artifact/artifact.h"
#include "artifact/inside.h"
#include "base/file.h"
#include "base/process.h"

enum { COPY_NBYTES = 1 << 20 };

const char *size_text(uint64_t nbytes, char out[32])
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double x = (double)nbytes;
	int u = 0;
	while (x >= 1024 && u < 4) {
		x /= 1024;
		u++;
	}
	snprintf(out, 32, "%.*f %s", u ? 1 : 0, x, units[u]);
	return out;
}

enum status space_check(const char *path, uint64_t nbytes, struct error *err)
{
	char need[32], have[32];
	uint64_t available = file_free_bytes(path);
	if (nbytes <= available)
		return STATUS_OK;
	return error_set(err, STATUS_NO_SPACE, "%s: %s are needed and %s are free: make room, or name a folder on another disk",
		path, size_text(nbytes, need), size_text(available, have));
}

static enum status partial_path(char out[PATH_MAX], const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	int n = snprintf(out, PATH_MAX, "%.*s.%s.partial", (int)(base - path), path, base);
	return n > 0 && n < PATH_MAX ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", path);
}

// Not another user's, who could read and change what is written into it.
static bool is_own(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1;
}

// The name that a file under construction has: one that everybody knows, so that what a killed process left is written over, or,
// where another user put something there, one that nobody knows.
static enum status partial_hidden(char out[PATH_MAX], const char *path, struct error *err)
{
	char known[PATH_MAX];
	enum status s = partial_path(known, path, err);

	if (s)
		return s;
	int n = snprintf(out, PATH_MAX, "%s.%016llx", known, (unsigned long long)process_nonce());
	return n > 0 && n < PATH_MAX ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", path);
}

// What others may do with this user's file that one here takes the place of; 0777: there is none.
static mode_t rights_replaced(const char *path, gid_t group)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() ? file_rights_like(path, &st, group) : 0777;
}

int partial_open(const char *path, struct error *err)
{
	char partial[PATH_MAX];
	if (partial_path(partial, path, err))
		return -1;
	for (bool hidden = false;;) {
		int fd = file_new(partial, O_RDWR);
		const bool is_new = fd >= 0;
		if (!is_new && errno == EEXIST && (fd = open(partial, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) < 0 &&
			errno == ENOENT)
			continue; // it was removed between the two
		if (!is_new && !hidden && (fd < 0 || !is_own(fd))) {
			if (fd >= 0)
				close(fd);
			hidden = true;
			if (partial_hidden(partial, path, err))
				return -1;
			continue;
		}
		if (fd < 0) {
			error_errno(err, "%s: cannot be written", path);
			return -1;
		}
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			if (errno == EWOULDBLOCK)
				error_set(err, STATUS_FAILED, "%s: is being written by another process", path);
			else
				error_errno(err, "%s: cannot be locked", path);
			close(fd);
			return -1;
		}
		// Its last owner may have renamed or removed it between our open and our lock. What a killed process left may be
		// open to those who could read what that one wrote.
		if (file_lies_at(fd, partial)) {
			if (is_new)
				return fd;
			if (unlink(partial)) {
				error_errno(err, "%s: cannot be written", path);
				close(fd);
				return -1;
			}
		} else if (errno) {
			error_errno(err, "%s", partial);
			close(fd);
			return -1;
		}
		close(fd);
	}
}

// Which of the two names it has.
static enum status partial_of(char out[PATH_MAX], int fd, const char *path, struct error *err)
{
	enum status s = partial_path(out, path, err);

	return s || file_lies_at(fd, out) ? s : partial_hidden(out, path, err);
}

enum status partial_keep(int fd, const char *path, mode_t rights, struct error *err)
{
	char partial[PATH_MAX];
	enum status s = partial_of(partial, fd, path, err);

	fchmod(fd, (0666 & rights & rights_replaced(path, file_group(fd)) & ~file_mask()) | S_IRUSR | S_IWUSR);
	// A network's file system tells a full disk, or a quota, where a file is closed: of each of its descriptors.
	const int second = s ? -1 : dup(fd);
	if (second >= 0 && close(second)) {
		s = error_errno(err, "%s: cannot be written", path);
		unlink(partial);
	}
	if (!s && rename(partial, path)) {
		s = error_errno(err, "%s: cannot be replaced", path);
		unlink(partial);
	}
	close(fd);
	return s;
}

void partial_drop(int fd, const char *path)
{
	char partial[PATH_MAX];
	if (!partial_of(partial, fd, path, NULL))
		unlink(partial);
	close(fd);
}

// Over what is there already: a link under another name, renamed. rename() of two names of one file does nothing, hence the
// unlink.
static int link_over(const char *from, const char *to)
{
	static atomic_uint serial;
	char temporary[PATH_MAX];
	int n = snprintf(temporary, sizeof temporary, "%s.%016llx.%u.link", to, (unsigned long long)process_nonce(),
		atomic_fetch_add(&serial, 1));
	if (n < 0 || (size_t)n >= sizeof temporary) {
		errno = ENAMETOOLONG;
		return -1;
	}
	unlink(temporary);
	if (linkat(AT_FDCWD, from, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW))
		return -1;
	int rc = rename(temporary, to), code = errno;
	unlink(temporary);
	errno = code;
	return rc;
}

// Whether another way may do what linking could not.
static bool other_way_may_work(int code)
{
	return code == EXDEV || code == EPERM || code == EMLINK || code == EROFS || code == EOPNOTSUPP || code == ENOSYS ||
		code == EACCES;
}

static enum status place_link(const char *from, const char *to, struct error *err)
{
	int rc = linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
	if (rc && errno == EEXIST)
		rc = link_over(from, to);
	return rc ? error_errno(err, "%s: cannot be linked to %s", to, from) : STATUS_OK;
}

static bool write_all(int fd, const char *data, size_t nbytes)
{
	while (nbytes) {
		ssize_t n = write(fd, data, nbytes);
		if (n < 0 && errno != EINTR)
			return false;
		data += n > 0 ? n : 0;
		nbytes -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

// Where the kernel cannot copy between two file systems by itself.
static enum status copy_by_hand(int in, int out, const char *from, const char *to, uint64_t left, struct error *err)
{
	char *buffer = malloc(COPY_NBYTES);
	if (!buffer)
		return error_set(err, STATUS_NO_MEMORY, "%s: not enough memory to copy", to);
	enum status s = STATUS_OK;
	while (left && !s) {
		ssize_t n = read(in, buffer, left < COPY_NBYTES ? left : COPY_NBYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			s = error_errno(err, "%s", from);
		else if (!n)
			s = error_set(err, STATUS_FAILED, "%s: became shorter while it was copied", from);
		else if (!write_all(out, buffer, (size_t)n))
			s = error_errno(err, "%s", to);
		left -= n > 0 ? (uint64_t)n : 0;
	}
	free(buffer);
	return s;
}

static enum status copy_bytes(int in, int out, const char *from, const char *to, uint64_t nbytes, struct error *err)
{
	uint64_t left = nbytes;
	while (left) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, left < 1u << 30 ? left : 1u << 30, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (left != nbytes || errno == ENOSPC || errno == EDQUOT || errno == EIO))
			return error_errno(err, "%s", to);
		if (n <= 0)
			break; // not between these two; some file systems say so with 0
		left -= (uint64_t)n;
	}
	return left ? copy_by_hand(in, out, from, to, left, err) : STATUS_OK;
}

static enum status place_bytes(const char *from, const char *to, int ways, const char **how, struct error *err)
{
	struct stat st;
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (in < 0)
		return error_errno(err, "%s", from);
	if (fstat(in, &st) || !S_ISREG(st.st_mode)) {
		close(in);
		return error_set(err, STATUS_BAD_INPUT, "%s: not a file", from);
	}
	enum status s = STATUS_OK;
	int out = partial_open(to, err);
	if (out < 0) {
		close(in);
		return err ? err->status : STATUS_FAILED;
	}
#ifdef FICLONE
	bool cloned = (ways & PLACE_REFLINK) && !ioctl(out, FICLONE, in);
#else
	bool cloned = false;
#endif
	if (!cloned && !(ways & PLACE_COPY))
		s = error_errno(err, "%s: cannot share the blocks of %s", to, from);
	else if (!cloned && !(s = space_check(to, (uint64_t)st.st_size, err)))
		s = copy_bytes(in, out, from, to, (uint64_t)st.st_size, err);
	close(in);
	if (s) {
		partial_drop(out, to);
		return s;
	}
	if ((s = partial_keep(out, to, file_rights_like(from, &st, file_group(out)), err)))
		return s;
	*how = cloned ? "reflink" : "copy";
	return STATUS_OK;
}

enum status file_place(const char *from, const char *to, int ways, const char **how, struct error *err)
{
	char real_from[PATH_MAX], real_to[PATH_MAX];
	struct stat source, target;
	if (!realpath(from, real_from) || stat(real_from, &source))
		return error_errno(err, "%s", from);
	if (!lstat(to, &target) && S_ISREG(target.st_mode) && source.st_dev == target.st_dev && source.st_ino == target.st_ino) {
		if (realpath(to, real_to) && !strcmp(real_from, real_to)) {
			*how = "file"; // it is the file itself
			return STATUS_OK;
		}
		if (ways & PLACE_LINK) {
			*how = "hardlink";
			return STATUS_OK;
		}
	}
	if (ways & PLACE_LINK) {
		struct error why = { 0 };
		errno = 0;
		if (!place_link(real_from, to, &why)) {
			*how = "hardlink";
			return STATUS_OK;
		}
		if (!(ways & (PLACE_REFLINK | PLACE_COPY)) || !other_way_may_work(errno)) {
			if (err)
				*err = why;
			return why.status;
		}
	}
	return place_bytes(real_from, to, ways, how, err);
}
