// SPDX-License-Identifier: Apache-2.0
#include "base/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static const char prefix[] = "the cache is not used", elsewhere[] = "the cache (ASSAY_CACHE names another)";

// Everything that assay keeps there lies in one of these.
static const char *const parts[] = { "artifact", "synthetic", "converted", "reference", "compiled", "digest", "claim", "run",
	"browser", "conform", "conform-results", "doctor" };

// In `buffer` and *user; NULL: no such user is known.
static const struct passwd *find_user(uid_t uid, struct passwd *user, char *buffer, size_t size)
{
	struct passwd *found = NULL;

	return getpwuid_r(uid, user, buffer, size, &found) ? NULL : found;
}

char *cache_dir(struct arena *a)
{
	const char *own = getenv("ASSAY_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const struct passwd *found;
	struct passwd user;
	char buffer[4096];

	if (own && *own) {
		size_t n = strlen(own);

		while (n > 1 && own[n - 1] == '/') // after a slash lstat follows a link
			n--;
		return arena_strndup(a, own, n);
	}
	if (xdg && *xdg == '/') // the XDG specification: a relative path is ignored
		return arena_printf(a, "%s/assay", xdg);
	if (!home || !*home) {
		found = find_user(geteuid(), &user, buffer, sizeof buffer);
		home = found ? found->pw_dir : NULL;
	}
	// Everybody may make a name in /var/tmp: one's own, which is looked at like any other.
	return home && *home ? arena_printf(a, "%s/.cache/assay", home)
			     : arena_printf(a, "/var/tmp/assay-%ju", (uintmax_t)geteuid());
}

static bool is_ours(uid_t owner)
{
	return owner == geteuid() || owner == 0;
}

static enum status refuse_owner(const char *path, uid_t owner, struct error *err)
{
	char buffer[4096], number[32];
	struct passwd user;
	const struct passwd *found = find_user(owner, &user, buffer, sizeof buffer);

	snprintf(number, sizeof number, "%ju", (uintmax_t)owner);
	return error_set(err, STATUS_FAILED,
		"%s: %s belongs to user %s, who could put anything there; name a folder of your own in ASSAY_CACHE", prefix, path,
		found ? found->pw_name : number);
}

// What is there is a folder that no other user may write into.
static enum status check_folder(const char *path, const struct stat *st, struct error *err)
{
	if (S_ISLNK(st->st_mode))
		return error_set(err, STATUS_FAILED,
			"%s: %s is a link, and none is followed in it; remove the link, or set ASSAY_CACHE to move all of it",
			prefix, path);
	if (!S_ISDIR(st->st_mode))
		return error_set(err, STATUS_FAILED, "%s: %s is not a folder", prefix, path);
	if (!is_ours(st->st_uid))
		return refuse_owner(path, st->st_uid, err);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, STATUS_FAILED,
			"%s: others may write into %s (mode %04o) and could put anything there; name another folder in "
			"ASSAY_CACHE, or empty it and `chmod go-w` it",
			prefix, path, (unsigned)(st->st_mode & 07777));
	return STATUS_OK;
}

// A user who may rename in a folder above may put another one in this one's place, between a look at it and its use.
static enum status check_above(const char *path, struct error *err)
{
	const char *last = strrchr(path, '/');
	char above[PATH_MAX], real[PATH_MAX];
	struct stat st;

	if (last && snprintf(above, sizeof above, "%.*s", last == path ? 1 : (int)(last - path), path) >= (int)sizeof above)
		return error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", path);
	if (!realpath(last ? above : ".", real))
		return error_errno(err, "%s", path);
	for (;;) {
		char *slash = strrchr(real, '/');

		if (!stat(real, &st) && (st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
			return error_set(err, STATUS_FAILED,
				"%s: everybody may write into %s (mode %04o), above %s, and could exchange it; name another "
				"folder in ASSAY_CACHE, or `chmod o-w` that one",
				prefix, real, (unsigned)(st.st_mode & 07777), path);
		if (!real[1])
			return STATUS_OK;
		slash[slash == real] = 0; // the root keeps its slash
	}
}

// *absent: there is nothing yet.
static enum status look(const char *cache, bool *absent, struct error *err)
{
	char real[PATH_MAX];
	struct stat st;
	enum status s;

	*absent = false;
	if (lstat(cache, &st)) {
		*absent = errno == ENOENT;
		return *absent ? STATUS_OK : error_errno(err, "%s", cache);
	}
	if ((s = check_above(cache, err)) || !S_ISLNK(st.st_mode))
		return s ? s : check_folder(cache, &st, err);
	if (!is_ours(st.st_uid))
		return refuse_owner(cache, st.st_uid, err);
	if (!realpath(cache, real) || lstat(real, &st))
		return error_errno(err, "%s", cache);
	return (s = check_folder(real, &st, err)) ? s : check_above(real, err);
}

enum status cache_check(struct error *err)
{
	struct arena a = { 0 };
	const char *cache = cache_dir(&a);
	struct stat st;
	bool absent;
	enum status s = look(cache, &absent, err);

	for (size_t i = 0; i < sizeof parts / sizeof *parts && !s && !absent; i++) {
		const char *path = arena_printf(&a, "%s/%s", cache, parts[i]);

		if (!lstat(path, &st))
			s = check_folder(path, &st, err);
	}
	arena_done(&a);
	return s;
}

static bool is_part(const char *name)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!strcmp(parts[i], name))
			return true;
	return false;
}

enum status cache_unusable(enum status s, struct error *err)
{
	if (s != STATUS_FAILED)
		return s;
	if (err)
		err->status = STATUS_NOT_ASKED;
	return STATUS_NOT_ASKED;
}

enum status cache_part(const char **out, struct arena *a, const char *part, struct error *err)
{
	const char *cache = cache_dir(a), *path = arena_printf(a, "%s/%s", cache, part);
	struct stat st;
	bool absent;
	enum status s = look(cache, &absent, err);

	if (!s && !is_part(part))
		s = error_set(err, STATUS_FAILED, "no part of the cache is called %s", part);
	if (!s && absent)
		s = file_mkdirs_private(cache, err) ? error_prefix(err, elsewhere) : look(cache, &absent, err);
	// A file system that is only readable says so before it says that the folder is there.
	if (!s && lstat(path, &st) && mkdir(path, 0700) && errno != EEXIST)
		s = error_errno(err, "%s: %s: the folder cannot be made", elsewhere, path);
	if (!s && lstat(path, &st))
		s = error_errno(err, "%s", path);
	if (!s && !(s = check_folder(path, &st, err)))
		*out = path;
	return cache_unusable(s, err);
}

const char *cache_find(struct arena *a, const char *part)
{
	const char *cache = cache_dir(a), *path = arena_printf(a, "%s/%s", cache, part);
	struct stat st;
	bool absent;

	return is_part(part) && !look(cache, &absent, NULL) && !absent && !lstat(path, &st) && !check_folder(path, &st, NULL)
		? path
		: NULL;
}

// What this process lacks for looking it lacks for reading, too, and that says so.
static bool lacks_means(void)
{
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

static bool owns_at(int folder, const char *name, mode_t writers, int depth);

// `folder` is open, and is closed.
static bool owns_all(int folder, mode_t writers, int depth)
{
	enum { DEPTH_MOST = 8 };
	DIR *dir = depth < DEPTH_MOST ? fdopendir(folder) : NULL;
	const struct dirent *e;
	bool owns = dir;

	if (!dir)
		close(folder);
	while (owns && (e = readdir(dir)))
		owns = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || owns_at(dirfd(dir), e->d_name, writers, depth + 1);
	if (dir)
		closedir(dir);
	return owns;
}

// `writers`: the bits of those who get into the folder, and may write nothing here. A group of this user alone is what a umask of
// 002 is for.
static bool owns_at(int folder, const char *name, mode_t writers, int depth)
{
	int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), inside;
	struct stat st;
	bool owns;

	if (fd < 0)
		return lacks_means();
	owns = !fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && is_ours(st.st_uid) &&
		!(st.st_mode & writers & S_IWOTH) && (!(st.st_mode & writers & S_IWGRP) || st.st_gid == getegid());
	if (owns && S_ISDIR(st.st_mode)) {
		inside = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		owns = inside < 0 ? lacks_means() : owns_all(inside, writers, depth);
	}
	close(fd);
	return owns;
}

bool cache_is_own(const char *path)
{
	const char *slash = strrchr(path, '/');
	mode_t writers = S_IWGRP | S_IWOTH;
	char folder[PATH_MAX];
	struct stat st;

	// As assay makes it, it is closed to all others, whatever a umask lets them do with what is in it.
	if (slash && snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path) < (int)sizeof folder &&
		!stat(folder, &st))
		writers = (st.st_mode & S_IXGRP ? S_IWGRP : 0) | (st.st_mode & S_IXOTH ? S_IWOTH : 0);
	return owns_at(AT_FDCWD, path, writers, 0);
}
