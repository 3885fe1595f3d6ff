// SPDX-License-Identifier: Apache-2.0
// Files and folders of the system. Descriptors are close-on-exec. Placing one file at another path without
// copying it is artifact/file_place.c's matter.
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/process.h"
#include "base/text.h"

#define ACCESS_LIST "system.posix_acl_access"

// A file that is not there is the asker's mistake, not the machine's.
static enum status cannot_open(const char *path, struct error *err)
{
	if (error_is_of_name(errno))
		return error_set(err, STATUS_BAD_INPUT, "%s: %s", path, strerror(errno));
	return error_errno(err, "%s", path);
}

// O_NONBLOCK, because opening a FIFO would wait for a writer that never comes.
static int open_regular(const char *path, struct stat *st, enum status *s, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		*s = cannot_open(path, err);
		return -1;
	}
	if (fstat(fd, st)) {
		*s = error_errno(err, "%s", path);
		close(fd);
		return -1;
	}
	if (!S_ISREG(st->st_mode)) {
		*s = error_set(
			err, STATUS_BAD_INPUT, "%s: %s, not a file", path, S_ISDIR(st->st_mode) ? "a folder" : "a special file");
		close(fd);
		return -1;
	}
	return fd;
}

enum status file_read(struct arena *a, const char *path, size_t limit, char **out, size_t *nbytes, struct error *err)
{
	struct stat st;
	enum status s = STATUS_OK;
	int fd = open_regular(path, &st, &s, err);
	if (fd < 0)
		return s;
	if ((uint64_t)st.st_size > limit) {
		close(fd);
		return error_set(
			err, STATUS_BAD_INPUT, "%s: %lld bytes; at most %zu are read", path, (long long)st.st_size, limit);
	}
	// /proc files say 0 bytes and hold more, so read to the end, not to st_size.
	size_t capacity = st.st_size ? (size_t)st.st_size + 1 : limit < 65536 ? limit + 1 : 65536, length = 0;
	char *data = malloc(capacity);
	while (data) {
		ssize_t n = read(fd, data + length, capacity - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			s = error_errno(err, "%s", path);
		if (n <= 0)
			break;
		length += (size_t)n;
		if (length > limit) {
			s = error_set(err, STATUS_BAD_INPUT, "%s: more than %zu bytes", path, limit);
			break;
		}
		if (length == capacity) {
			capacity *= 2;
			char *more = realloc(data, capacity);
			if (!more)
				free(data);
			data = more;
		}
	}
	close(fd);
	if (!data)
		return error_set(err, STATUS_NO_MEMORY, "%s: not enough memory for %zu bytes", path, capacity);
	if (s == STATUS_OK) {
		data[length] = 0; // there is room: the last read had some, and gave nothing
		arena_defer(a, free, data);
		*out = data;
		*nbytes = length;
	} else {
		free(data);
	}
	return s;
}

// Its size, or what the disk holds of it where that is less than a part of FILE_SHARE.
static int64_t held_bytes(int fd, const struct stat *st)
{
	enum { PARTS_MOST = 10000 };
	off_t data = 0, hole, at = 0;

	if (st->st_blocks >= st->st_size / 512 / FILE_SHARE)
		return st->st_size;
	// The count of blocks may be late behind what was written; the file's own map is not.
	for (int i = 0; i < PARTS_MOST && data < st->st_size / FILE_SHARE; i++) {
		off_t from = lseek(fd, at, SEEK_DATA);

		if (from < 0 && errno == ENXIO)
			return data;
		if (from < 0 || (hole = lseek(fd, from, SEEK_HOLE)) < 0)
			break; // a file system without maps
		data += hole - from;
		at = hole;
	}
	return st->st_size;
}

enum status file_check_holes(int fd, const char *path, struct error *err)
{
	struct stat st;
	int64_t held;

	if (fstat(fd, &st) || st.st_size <= FILE_LARGE || (held = held_bytes(fd, &st)) == st.st_size)
		return STATUS_OK;
	return error_set(err, STATUS_BAD_INPUT,
		"%s: %lld bytes, of which its disk holds %lld: the rest was never written; download it again", path,
		(long long)st.st_size, (long long)held);
}

int64_t file_bytes(const char *path)
{
	struct stat st;
	int fd = path != NULL ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	int64_t nbytes = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? held_bytes(fd, &st) : 0;

	if (fd >= 0)
		close(fd);
	return nbytes;
}

struct mapping {
	void *at;
	size_t nbytes;
};

static void unmap(void *handle)
{
	struct mapping *m = handle;
	munmap(m->at, m->nbytes);
}

enum status file_map(struct arena *a, const char *path, const uint8_t **out, size_t *nbytes, struct error *err)
{
	struct stat st;
	enum status s = STATUS_OK;
	int fd = open_regular(path, &st, &s, err);
	if (fd < 0)
		return s;
	if (!st.st_size) {
		close(fd);
		*out = NULL;
		*nbytes = 0;
		return STATUS_OK;
	}
	s = file_check_holes(fd, path, err);
	void *at = s == STATUS_OK ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0) : NULL;
	if (at == MAP_FAILED)
		s = error_errno(err, "%s: cannot map %lld bytes", path, (long long)st.st_size);
	close(fd);
	if (s != STATUS_OK)
		return s;
	struct mapping *m = ARENA_NEW(a, struct mapping);
	*m = (struct mapping){ at, (size_t)st.st_size };
	arena_defer(a, unmap, m);
	*out = at;
	*nbytes = m->nbytes;
	return STATUS_OK;
}

static void close_deferred(void *handle)
{
	close((int)(intptr_t)handle);
}

void file_close_with(struct arena *a, int fd)
{
	arena_defer(a, close_deferred, (void *)(intptr_t)fd);
}

void pages_forget(const void *at, size_t nbytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = ((uintptr_t)at + page - 1) / page * page,
		  end = ((uintptr_t)at + nbytes) / page * page;
	if (begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

static enum status write_all(int fd, const char *path, const void *data, size_t nbytes, struct error *err)
{
	const char *p = data;
	while (nbytes) {
		ssize_t n = write(fd, p, nbytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, "%s", path);
		p += n;
		nbytes -= (size_t)n;
	}
	return STATUS_OK;
}

mode_t file_rights(const char *path, const struct stat *st)
{
	return st->st_mode & (getxattr(path, ACCESS_LIST, NULL, 0) > 0 ? S_IRWXU : 0777);
}

gid_t file_group(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? (gid_t)-1 : st.st_gid;
}

gid_t file_group_beside(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	struct stat st;

	if (slash && (size_t)(slash - path) + 1 >= sizeof folder)
		return (gid_t)-1;
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	if (stat(folder, &st))
		return (gid_t)-1;
	if (st.st_mode & S_ISGID || st.st_gid == getegid())
		return st.st_gid;
	// Some file systems give a file its folder's group all the same (mounted grpid): one without a name tells.
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	const gid_t group = fd < 0 ? (gid_t)-1 : file_group(fd);
	if (fd >= 0)
		close(fd);
	return group;
}

mode_t file_rights_like(const char *path, const struct stat *st, gid_t group)
{
	const mode_t rights = file_rights(path, st);

	// Members of the one group may be all others to the other.
	const mode_t others = rights & rights >> 3 & S_IRWXO;

	return st->st_gid == group ? rights : (rights & S_IRWXU) | others << 3 | others;
}

void file_drop_list(int fd)
{
	fremovexattr(fd, ACCESS_LIST);
}

int file_new(const char *path, int flags)
{
	// A list of the folder's gives further users no more than these bits give the group.
	int fd = open(path, flags | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0)
		file_drop_list(fd);
	return fd;
}

mode_t file_mask(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // one that read the other's mask would keep it

	pthread_mutex_lock(&lock);
	const mode_t mask = umask(0077); // between the two other threads make files that are private
	umask(mask);
	pthread_mutex_unlock(&lock);
	return mask;
}

static atomic_bool is_narrow;

mode_t file_narrow(mode_t rights)
{
	const mode_t before = file_mask();

	umask(before | (0066 & ~rights));
	is_narrow = true;
	return before;
}

void file_widen(mode_t before)
{
	umask(before);
	is_narrow = false;
}

// A new file beside `path`, whose name nobody knows before. It may be read by who might read what it takes the place of.
static enum status open_beside(const char *path, char temporary[PATH_MAX], int *fd, struct error *err)
{
	static atomic_uint serial;
	int n = snprintf(temporary, PATH_MAX, "%s.%016llx.%u.tmp", path, (unsigned long long)process_nonce(),
		atomic_fetch_add(&serial, 1));
	if (n < 0 || n >= PATH_MAX)
		return error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", path);
	struct stat st;
	const bool replaces = !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid();

	const bool is_private = replaces || is_narrow; // a folder's default list knows no mask
	*fd = is_private ? file_new(temporary, O_WRONLY)
			 : open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (*fd >= 0 && replaces)
		fchmod(*fd,
			!fchown(*fd, (uid_t)-1, st.st_gid) ? file_rights(path, &st)
							   : file_rights_like(path, &st, file_group(*fd)));
	else if (*fd >= 0 && is_private)
		fchmod(*fd, 0666 & ~file_mask());
	return *fd < 0 ? error_errno(err, "%s: cannot be written", path) : STATUS_OK;
}

static enum status replace(const char *path, const void *data, size_t nbytes, bool sync, struct error *err)
{
	char temporary[PATH_MAX];
	int fd;
	enum status s = open_beside(path, temporary, &fd, err);
	if (s != STATUS_OK)
		return s;
	s = write_all(fd, path, data, nbytes, err);
	if (s == STATUS_OK && sync && fsync(fd))
		s = error_errno(err, "%s", path);
	if (close(fd) && s == STATUS_OK)
		s = error_errno(err, "%s", path);
	if (s == STATUS_OK && rename(temporary, path))
		s = error_errno(err, "%s: cannot be replaced", path);
	if (s != STATUS_OK)
		unlink(temporary);
	return s;
}

enum status file_write(const char *path, const void *data, size_t nbytes, struct error *err)
{
	return replace(path, data, nbytes, true, err);
}

enum status file_put(const char *path, const void *data, size_t nbytes, struct error *err)
{
	return replace(path, data, nbytes, false, err);
}

// Where the links at `path` end, which need not be there. False for what is no path: links of /proc lead to open files. *foreign:
// one of the links is neither ours nor root's, and leads where its owner wants.
static bool link_end(const char *path, char out[PATH_MAX], bool *foreign)
{
	enum { LINKS_MOST = 40 };
	struct stat st;

	if (strlen(path) >= PATH_MAX)
		return false;
	memcpy(out, path, strlen(path) + 1);
	for (int i = 0; i <= LINKS_MOST; i++) {
		char to[PATH_MAX], *slash = strrchr(out, '/');
		ssize_t n = lstat(out, &st) || !S_ISLNK(st.st_mode) ? 0 : readlink(out, to, sizeof to - 1);

		if (n <= 0)
			return n == 0;
		to[n] = 0;
		*foreign |= st.st_uid && st.st_uid != geteuid();
		size_t folder = *to != '/' && slash ? (size_t)(slash - out) + 1 : 0;
		if (text_starts(out, "/proc/") || folder + (size_t)n >= PATH_MAX)
			return false;
		memcpy(out + folder, to, (size_t)n + 1);
	}
	return false;
}

// What another user put where all may write: the rule of Linux's protected_symlinks and protected_fifos, which not each machine
// has set, and in folders without the sticky bit, too.
static bool is_planted(const char *path, mode_t kind)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	struct stat st, in;

	if (lstat(path, &st) || (st.st_mode & S_IFMT) != kind || st.st_uid == 0 || st.st_uid == geteuid())
		return false;
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	return !stat(folder, &in) && in.st_mode & S_IWOTH;
}

// Steps over the first name of `rest`, behind `done`, which ends with a slash or is empty: through a link to what it says
// first. `at`: where that name lies. False at the end, and where no call would take the path.
static bool step_into(char done[PATH_MAX], char rest[PATH_MAX], char at[PATH_MAX], int *links)
{
	enum { LINKS_MOST = 40 };
	const size_t name = strcspn(rest, "/"), before = strlen(done);
	char to[PATH_MAX], more[PATH_MAX];

	if (!*rest || before + name + 2 > PATH_MAX)
		return false;
	memcpy(at, done, before);
	memcpy(at + before, rest, name);
	at[before + name] = 0;
	const ssize_t n = name ? readlink(at, to, sizeof to - 1) : -1;
	const size_t after = strlen(rest + name);
	if (n > 0 && ++*links <= LINKS_MOST && (size_t)n + after < sizeof more) {
		memcpy(more, to, (size_t)n);
		memcpy(more + n, rest + name, after + 1);
		memcpy(rest, more, (size_t)n + after + 1);
		if (*to == '/')
			*done = 0;
		return true;
	}
	memcpy(done, at, before + name);
	memcpy(done + before + name, "/", 2);
	memmove(rest, rest + name + (rest[name] == '/'), after + (rest[name] != '/'));
	return true;
}

enum status file_check_links(const char *path, struct error *err)
{
	char done[PATH_MAX] = "", rest[PATH_MAX], at[PATH_MAX];
	int links = 0;

	if (strlen(path) >= sizeof rest)
		return STATUS_OK; // no call takes it
	memcpy(rest, path, strlen(path) + 1);
	while (step_into(done, rest, at, &links))
		if (is_planted(at, S_IFLNK))
			return error_set(err, STATUS_BAD_INPUT, "%s: a link that another user made; name what it leads to", at);
	return STATUS_OK;
}

// A device, a pipe, or a file that is open and has no name. A FIFO that nobody reads would be waited for without end; a disk
// would be overwritten.
static enum status write_special(const char *path, const void *data, size_t nbytes, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_TRUNC);
	struct stat st;
	enum status s;

	if (fd < 0 && errno == ENXIO)
		return error_set(err, STATUS_BAD_INPUT, "%s: a pipe that nobody reads, or a socket; name a file", path);
	if (fd < 0)
		return error_errno(err, "%s: cannot be written", path);
	if (fstat(fd, &st) || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK))
		s = error_errno(err, "%s", path);
	else if (S_ISBLK(st.st_mode))
		s = error_set(err, STATUS_BAD_INPUT, "%s: a disk; it cannot be written as a file", path);
	else
		s = write_all(fd, path, data, nbytes, err);
	if (close(fd) && s == STATUS_OK)
		s = error_errno(err, "%s", path);
	return s;
}

// Where a path that a person typed is written to: the name of a file, which may be there, in `end`. *is_special: there is
// something else, which is written as it is.
static enum status find_end(const char *path, char end[PATH_MAX], bool *is_special, struct error *err)
{
	struct stat st;
	bool is_there = !stat(path, &st), foreign = false;

	*is_special = false;
	if (file_check_links(path, err))
		return STATUS_BAD_INPUT;
	char real[PATH_MAX]; // behind links
	if (is_planted(realpath(path, real) ? real : path, S_IFIFO))
		return error_set(err, STATUS_BAD_INPUT, "%s: a pipe that another user made; name a file", path);
	if (is_there && S_ISDIR(st.st_mode))
		return error_set(err, STATUS_BAD_INPUT, "%s: a folder; it cannot be written as a file", path);
	if (!is_there || S_ISREG(st.st_mode)) {
		const bool has_end = link_end(path, end, &foreign);

		if (foreign)
			return error_set(err, STATUS_BAD_INPUT, "%s: a link that another user made; name the file itself", path);
		if (has_end)
			return STATUS_OK;
		if (!is_there)
			return error_errno(err, "%s: cannot be written", path);
	}
	*is_special = true;
	return STATUS_OK;
}

enum status file_write_user(const char *path, const void *data, size_t nbytes, struct error *err)
{
	char end[PATH_MAX];
	bool is_special;
	enum status s = find_end(path, end, &is_special, err);

	if (s)
		return s;
	return is_special ? write_special(path, data, nbytes, err) : replace(end, data, nbytes, true, err);
}

enum status file_begin_user(struct arena *a, const char *path, struct file_begun *out, struct error *err)
{
	char end[PATH_MAX], temporary[PATH_MAX];
	bool is_special;
	int fd;
	enum status s = find_end(path, end, &is_special, err);

	*out = (struct file_begun){ .path = path };
	if (s || is_special || (s = open_beside(end, temporary, &fd, err)))
		return s;
	close(fd);
	*out = (struct file_begun){ arena_strdup(a, temporary), arena_strdup(a, end) };
	return STATUS_OK;
}

enum status file_end_user(const struct file_begun *f, enum status s, struct error *err)
{
	if (!f->becomes)
		return s;
	if (!s && rename(f->path, f->becomes))
		s = error_errno(err, "%s: cannot be replaced", f->becomes);
	if (s)
		unlink(f->path);
	return s;
}

int file_write_at(int fd, const void *data, size_t nbytes, uint64_t offset)
{
	const char *p = data;
	while (nbytes) {
		ssize_t n = pwrite(fd, p, nbytes, (off_t)offset);
		if (n < 0 && errno != EINTR)
			return errno;
		if (n > 0) {
			p += n;
			nbytes -= (size_t)n;
			offset += (uint64_t)n;
		}
	}
	return 0;
}

static enum status mkdirs(const char *path, mode_t mode, struct error *err)
{
	char part[4096];
	size_t length = strlen(path);
	if (!length || length >= sizeof part)
		return error_set(err, STATUS_BAD_INPUT, "%s: %s", length ? path : "(empty path)",
			length ? "the path is too long" : "not a folder");
	memcpy(part, path, length + 1);
	if (file_check_links(path, err))
		return STATUS_BAD_INPUT;
	for (size_t i = 1; i <= length; i++) {
		if (part[i] && part[i] != '/')
			continue;
		char kept = part[i];
		part[i] = 0;
		// EROFS and EACCES come before EEXIST on some file systems, so ask whether it is there.
		if (mkdir(part, mode) && errno != EEXIST) {
			int code = errno;
			if (!file_is_dir(part)) {
				errno = code;
				return error_errno(err, "%s: the folder cannot be made", part);
			}
		}
		part[i] = kept;
	}
	struct stat st;
	if (stat(path, &st))
		return error_errno(err, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, STATUS_BAD_INPUT, "%s: there is something that is not a folder", path);
	return STATUS_OK;
}

enum status file_mkdirs(const char *path, struct error *err)
{
	return mkdirs(path, 0777, err);
}

enum status file_mkdirs_private(const char *path, struct error *err)
{
	return mkdirs(path, 0700, err);
}

static bool has_parent_part(const char *name)
{
	for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
		if (text_is(part, "..") || text_starts(part, "../"))
			return true;
	return false;
}

enum status file_inside(struct arena *a, const char *folder, const char *name, const char **out, struct error *err)
{
	const char *path = arena_printf(a, "%s/%s", folder, name);

	if (!*name || *name == '/' || has_parent_part(name))
		return error_set(err, STATUS_BAD_INPUT, "\"%.200s\" is no file of the folder %s", name, folder);
	char *real_folder = realpath(folder, NULL), *real = real_folder ? realpath(path, NULL) : NULL;
	enum status s = real ? STATUS_OK : cannot_open(real_folder ? path : folder, err);

	if (!s) {
		const size_t n = text_is(real_folder, "/") ? 0 : strlen(real_folder);

		if (strncmp(real, real_folder, n) != 0 || real[n] != '/')
			s = error_set(err, STATUS_BAD_INPUT, "%s: a link that leads out of the folder", path);
	}
	free(real);
	free(real_folder);
	*out = path;
	return s;
}

bool file_exists(const char *path)
{
	struct stat st;

	return !stat(path, &st) || (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG);
}

bool file_lies_at(int fd, const char *path)
{
	struct stat opened, there;
	const bool is_opened = fstat(fd, &opened) == 0, is_there = is_opened && lstat(path, &there) == 0;
	const int code = is_there || (is_opened && errno == ENOENT) ? 0 : errno;

	errno = code;
	return is_there && opened.st_ino == there.st_ino && opened.st_dev == there.st_dev;
}

struct dirent *file_next(DIR *dir, int *code)
{
	errno = 0;
	struct dirent *e = readdir(dir);

	*code = e ? 0 : errno;
	return e;
}

bool file_is_dir(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

enum status file_reach(const char *path, struct error *err)
{
	struct stat st;

	return stat(path, &st) && !error_is_of_name(errno) ? error_errno(err, "%s", path) : STATUS_OK;
}

bool file_is_same(const char *x, const char *y)
{
	struct stat a, b;

	return stat(x, &a) == 0 && stat(y, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

enum status file_leave_folder(int *here, struct error *err)
{
	*here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	// From a folder that is not to be entered again no path led anywhere before.
	if (*here < 0 && errno != EACCES && errno != ENOENT)
		return error_set(err, STATUS_NOT_ASKED, "the current folder cannot be left: %s%s", strerror(errno),
			errno == EMFILE ? " (ulimit -n)" : "");
	if (chdir("/") == 0)
		return STATUS_OK;
	error_errno(err, "the current folder cannot be left");
	if (*here >= 0)
		close(*here);
	*here = -1;
	return STATUS_FAILED;
}

void file_return_folder(int here)
{
	if (here < 0)
		return;
	if (fchdir(here)) // a folder that was open for it
		abort();
	close(here);
}

uint64_t file_free_bytes(const char *path)
{
	struct statvfs v;
	char part[4096];
	size_t length = strlen(path);
	if (length >= sizeof part)
		return 0;
	memcpy(part, path, length + 1);
	for (;;) {
		if (!statvfs(*part ? part : ".", &v))
			return (uint64_t)v.f_bavail * v.f_frsize;
		if (errno == EINTR)
			continue;
		char *slash = strrchr(part, '/');
		if (slash && slash != part)
			*slash = 0;
		else if (slash && part[1])
			part[1] = 0;
		else if (!slash && *part)
			*part = 0;
		else
			return 0;
	}
}

// Removes what `name` is inside the folder `at`; links are removed, never followed. Returns an errno, 0 when gone.
static int remove_at(int at, const char *name)
{
	if (!unlinkat(at, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return errno;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	DIR *dir = fdopendir(fd);
	if (!dir) {
		int code = errno;
		close(fd);
		return code;
	}
	int code = 0;
	for (struct dirent *e; !code && (e = file_next(dir, &code));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			code = remove_at(dirfd(dir), e->d_name);
	closedir(dir);
	if (!code && unlinkat(at, name, AT_REMOVEDIR) && errno != ENOENT)
		code = errno;
	return code;
}

enum status file_remove_tree(const char *path, struct error *err)
{
	int code = remove_at(AT_FDCWD, path);
	if (!code)
		return STATUS_OK;
	errno = code;
	return error_errno(err, "%s: cannot be removed", path);
}

static bool gives(int fd, off_t from, off_t to)
{
	char block[1 << 16];
	ssize_t n = 1;

	for (; from < to && n > 0; from += n)
		n = pread(fd, block, to - from < (off_t)sizeof block ? (size_t)(to - from) : sizeof block, from);
	return n > 0;
}

enum status file_check_given(const char *path, const char *said, struct error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct stat st;
	errno = 0; // a file that became shorter gives no error
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_given = fd >= 0 && !fstat(fd, &st) &&
		(!S_ISREG(st.st_mode) || !st.st_size ||
			(gives(fd, 0, 1) && gives(fd, st.st_size - 1, st.st_size) &&
				(!said || !strstr(said, name) || gives(fd, 0, st.st_size))));
	enum status s = is_given || error_is_of_name(errno) ? STATUS_OK : error_errno(err, "%s", path);

	if (fd >= 0)
		close(fd);
	return s;
}
