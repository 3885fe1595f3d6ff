// SPDX-License-Identifier: Apache-2.0
// Folders of the cache that are dear to make (synthetic weights, converted weights): made by one process under another name,
// renamed when whole, made again when damaged. What is in them and whether it is whole is the caller's to say.
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "artifact/inside.h"
#include "base/cache.h"
#include "base/file.h"
#include "base/text.h"

enum { WAIT_MS = 50, MAKES_MOST = 4 };

static enum status make(const char *folder, const char *temporary, const struct cached *how, struct error *err)
{
	enum status s;
	if ((s = file_remove_tree(temporary, err)) || (s = file_mkdirs_private(temporary, err)) ||
		(s = how->make(how->context, temporary, err)) || (s = file_remove_tree(folder, err))) {
		file_remove_tree(temporary, NULL);
		return s;
	}
	return rename(temporary, folder) ? error_errno(err, "%s: cannot be made", folder) : STATUS_OK;
}

static bool is_good(const struct cached *how, const char *folder, struct error *look)
{
	return cache_is_own(folder) && how->is_whole(how->context, folder, look);
}

// Whatever this process lacks to look, others may find the folder whole.
static enum status not_looked_at(const struct error *look, struct error *err)
{
	if (look->status != STATUS_NO_MEMORY && look->status != STATUS_NOT_ASKED)
		return STATUS_OK;
	if (err)
		*err = *look;
	return look->status;
}

static void (*waiting)(const char *path);

void cache_set_waiting(void (*listener)(const char *path))
{
	waiting = listener;
}

void cache_waits(const char *path)
{
	if (waiting)
		waiting(path);
}

// Users hold KEY.lock shared, so that it is not trimmed away; who makes it holds KEY.make alone. They do not exclude each other:
// a damaged folder is made again while an older process still maps what was in it.
static enum status wait_or_make(struct arena *a, const char *folder, struct cached *how, bool *told, struct error *err)
{
	const char *used = arena_printf(a, "%s.lock", folder), *made = arena_printf(a, "%s.make", folder),
		   *temporary = arena_printf(a, "%s.tmp", folder);
	struct error why = { 0 }, look;
	int made_so_often = 0;
	how->was_there = true;
	for (;;) {
		int fd;
		look = (struct error){ 0 };
		enum status s = lock_open(&fd, used, LOCK_SH, &why);
		if (s && is_good(how, folder, &look)) // a cache that is only readable is good enough
			return STATUS_OK;
		if (s) {
			if (err)
				*err = why;
			error_prefix(err, "the cache");
			return cache_unusable(s, err);
		}
		if (fd >= 0 && is_good(how, folder, &look)) {
			file_close_with(a, fd);
			stamp_used(folder);
			return STATUS_OK;
		}
		how->was_there = false;
		if (fd >= 0)
			close(fd);
		if ((s = not_looked_at(&look, err)))
			return s;
		if (fd >= 0 && made_so_often == MAKES_MOST) // once more is for those that were trimmed away at once
			return error_set(err, STATUS_FAILED, "%s: what was written there does not read back", folder);
		if ((s = lock_open(&fd, made, LOCK_EX, err)))
			return cache_unusable(s, err);
		if (fd >= 0) {
			if (!is_good(how, folder, &look) && !(s = not_looked_at(&look, err)))
				s = make(folder, temporary, how, err);
			made_so_often++;
			unlink(made);
			close(fd);
			if (s)
				return s;
			continue;
		}
		// Somebody else is making it.
		if (!*told)
			cache_waits(made);
		*told = true;
		if (how->wait && how->wait(how->context))
			return error_set(err, STATUS_INTERRUPTED, "%s: stopped while another process was writing it", folder);
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_MS * 1000000 }, NULL);
	}
}

static enum status find_or_make(struct arena *a, const char *folder, struct cached *how, struct error *err)
{
	bool told = false;
	const enum status s = wait_or_make(a, folder, how, &told, err);

	if (told)
		cache_waits(NULL);
	return s;
}

enum status cached_folder(
	const char **folder, struct arena *a, const char *kind, const char *key, struct cached *how, struct error *err)
{
	const char *parent, *found;
	enum status s = cache_part(&parent, a, kind, err);
	if (s)
		return s;
	found = arena_printf(a, "%s/%s", parent, key);
	if (!(s = find_or_make(a, found, how, err)))
		*folder = found;
	return s;
}

void cached_folder_remove(const char *folder)
{
	struct arena a = { 0 };
	const char *used = arena_printf(&a, "%s.lock", folder);
	int fd;

	if (!lock_open(&fd, used, LOCK_EX, NULL) && fd >= 0) {
		file_remove_tree(folder, NULL);
		unlink(used);
		close(fd);
	}
	arena_done(&a);
}
