// SPDX-License-Identifier: Apache-2.0
#include "artifact/writes.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif
#include <sys/stat.h>

#include "artifact/identity.h"
#include "base/file.h"
#include "base/text.h"

#ifdef __linux__
enum {
	WRITTEN = IN_MODIFY | IN_CLOSE_WRITE,
	MOVED = IN_MOVE_SELF | IN_DELETE_SELF,
	LINKS_DEEP = 16,
};

// The file at the end of the path, and whether a folder or a link on the way to it is exchanged for another. Other links to a
// file and its times are nobody's content.
static bool watch_path(int watch, struct arena *a, const char *path, int depth)
{
	char target[PATH_MAX];
	size_t n = strlen(path);
	bool all = depth < LINKS_DEEP;

	for (size_t i = 1; i <= n && all; i++) {
		if (i < n && path[i] != '/')
			continue;
		const char *part = arena_strndup(a, path, i);
		ssize_t length = readlink(part, target, sizeof target - 1);
		// A folder of others that may be passed through, and not read.
		all = inotify_add_watch(watch, part, MOVED | IN_DONT_FOLLOW | IN_MASK_ADD) >= 0 || (i < n && errno == EACCES);
		if (length <= 0 || !all)
			continue;
		target[length] = '\0';
		const char *slash = strrchr(part, '/');
		all = watch_path(watch, a,
			*target == '/' || !slash ? arena_strdup(a, target)
						 : arena_printf(a, "%.*s/%s", (int)(slash - part), part, target),
			depth + 1);
	}
	return all;
}

// What is written into a folder beside the files that are read, a database or an answer, changes none of them.
static bool watch_file(int watch, struct arena *a, const char *path)
{
	char folder[PATH_MAX];
	struct stat st;

	if (stat(path, &st) != 0) // none that is read
		return true;
	if (*path != '/' && getcwd(folder, sizeof folder))
		path = arena_printf(a, "%s/%s", folder, path);
	return watch_path(watch, a, path, 0) &&
		(!S_ISREG(st.st_mode) || inotify_add_watch(watch, path, WRITTEN | IN_MASK_ADD) >= 0);
}

int writes_watch(struct arena *a, const char *model)
{
	struct arena passing = { 0 };
	struct model_file *files;
	size_t count;
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	bool all = watch >= 0;

	if (all)
		file_close_with(a, watch);
	model_files(model, &passing, &files, &count);
	for (size_t i = 0; i < count && all; i++)
		all = files[i].path == NULL || watch_file(watch, &passing, files[i].path);
	arena_done(&passing);
	return all ? watch : -1;
}

bool writes_add(int watch, const char *path)
{
	struct arena a = { 0 };
	bool added = watch >= 0 && watch_file(watch, &a, path);

	arena_done(&a);
	return added;
}

bool writes_add_folder(int watch, const char *folder)
{
	struct arena a = { 0 };
	struct model_file *files;
	size_t count;
	bool added = watch >= 0 && model_tree(folder, &a, &files, &count);

	for (size_t i = 0; added && i < count; i++)
		added = watch_file(watch, &a, files[i].path);
	arena_done(&a);
	return added;
}

bool writes_seen(int watch)
{
	struct inotify_event event;

	// What is watched has no name in its events, so each is as long as the structure. One that is there is one too many.
	return watch >= 0 && read(watch, &event, sizeof event) > 0;
}
#else
int writes_watch(struct arena *a, const char *model)
{
	(void)a;
	(void)model;
	return -1;
}

bool writes_add(int watch, const char *path)
{
	(void)watch;
	(void)path;
	return false;
}

bool writes_add_folder(int watch, const char *folder)
{
	return writes_add(watch, folder);
}

bool writes_seen(int watch)
{
	(void)watch;
	return false;
}
#endif
