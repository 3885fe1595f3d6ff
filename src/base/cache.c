// SPDX-License-Identifier: Apache-2.0
#include "base/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/owned.h"
#include "base/visible.h"

static const struct owned_words words = { "the cache is not used", "ASSAY_CACHE" };
static const char elsewhere[] = "the cache (ASSAY_CACHE names another)";

// Everything that assay keeps there lies in one of these.
static const char *const parts[] = { "artifact", "synthetic", "converted", "copied", "reference", "compiled", "digest", "claim",
	"run", "browser", "conform", "conform-results", "doctor" };

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
	if (!home || *home != '/') { // a relative one is ignored, too
		found = owned_find_user(geteuid(), &user, buffer, sizeof buffer);
		home = found ? found->pw_dir : NULL;
	}
	// Everybody may make a name in /var/tmp: one's own, which is looked at like any other.
	return home && *home ? arena_printf(a, "%s/.cache/assay", home)
			     : arena_printf(a, "/var/tmp/assay-%ju", (uintmax_t)geteuid());
}

// Processes tell each other paths in JSON, which is UTF-8.
static enum status look(const char *cache, bool *absent, struct error *err)
{
	*absent = false;
	return visible_not_utf8(cache, strlen(cache)) != strlen(cache)
		? error_set(err, STATUS_FAILED, "%s: its path, %s, is no UTF-8; name another folder in %s", words.unused, cache,
			  words.variable)
		: owned_look(cache, &words, absent, err);
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
			s = owned_folder(path, &st, &words, err);
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
	if (!s && !(s = owned_folder(path, &st, &words, err)))
		*out = path;
	return cache_unusable(s, err);
}

const char *cache_find(struct arena *a, const char *part)
{
	const char *cache = cache_dir(a), *path = arena_printf(a, "%s/%s", cache, part);
	struct stat st;
	bool absent;

	return is_part(part) && !look(cache, &absent, NULL) && !absent && !lstat(path, &st) &&
			!owned_folder(path, &st, &words, NULL)
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

// `writers`: the bits of those who get into the folder, and may write nothing here.
static bool owns_at(int folder, const char *name, mode_t writers, int depth)
{
	int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), inside;
	struct stat st;
	bool owns;

	if (fd < 0)
		return lacks_means();
	owns = !fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && owned_by_us(st.st_uid) &&
		!(st.st_mode & writers);
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
