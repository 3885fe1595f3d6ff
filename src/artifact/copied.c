// SPDX-License-Identifier: Apache-2.0
// Weights that no link leads to: on another file system, another user's, or in no file at all. The cache has them once, under
// their SHA-256, and the folders of graphs link to that.
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "artifact/artifact.h"
#include "artifact/identity.h"
#include "artifact/inside.h"
#include "base/cache.h"
#include "base/file.h"
#include "checkpoint/checkpoint.h"

struct copied {
	const struct shard *shard;
	const char *digest;
};

// CACHE/copied/DIGEST/{copy, reflink}: named after how it was made. NULL: neither is there, or it has another size.
static const char *find(struct arena *a, const char *folder, const struct shard *shard, const char **how)
{
	static const char *const ways[] = { "copy", "reflink" };
	struct stat st;

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		const char *path = arena_printf(a, "%s/%s", folder, ways[i]);
		if (!lstat(path, &st) && S_ISREG(st.st_mode) && (size_t)st.st_size == shard->nbytes) {
			*how = ways[i];
			return path;
		}
	}
	return NULL;
}

static bool is_whole(void *context, const char *folder, struct error *err)
{
	const struct copied *c = context;
	struct arena a = { 0 };
	const char *how, *path = find(&a, folder, c->shard, &how);
	char digest[65];
	const bool whole = path != NULL && !file_digest(digest, path, NULL, err) && !strcmp(digest, c->digest);

	arena_done(&a);
	return whole;
}

static enum status make(void *context, const char *folder, struct error *err)
{
	const struct copied *c = context;
	struct arena a = { 0 };
	const char *how, *copy = arena_printf(&a, "%s/copy", folder), *reflink = arena_printf(&a, "%s/reflink", folder);
	enum status s = c->shard->copied ? file_put(copy, c->shard->map, c->shard->nbytes, err)
		: file_place(c->shard->real_path, reflink, PLACE_REFLINK, &how, NULL)
		? file_place(c->shard->real_path, copy, PLACE_COPY, &how, err)
		: STATUS_OK;

	arena_done(&a);
	return s;
}

enum status copied_place(const struct shard *shard, const char *path, struct arena *a, const char **how, struct error *err)
{
	char digest[65];
	const char *folder, *linked;
	uint64_t removed;
	enum status s = shard_digest(digest, shard, NULL, err);

	if (s)
		return s;
	struct copied copied = { shard, digest };
	struct cached cached = { .is_whole = is_whole, .make = make, .context = &copied };
	s = cached_folder(&folder, a, "copied", digest, &cached, err);
	if (s == STATUS_NO_SPACE && cache_trim(0, &removed, NULL) == STATUS_OK && removed > 0)
		s = cached_folder(&folder, a, "copied", digest, &cached, err);
	if (s)
		return s;
	const char *from = find(a, folder, shard, how);
	if (!from)
		return error_set(err, STATUS_FAILED, "%s: is gone while it was used", folder);
	return file_place(from, path, PLACE_LINK | PLACE_REFLINK | PLACE_COPY, &linked, err);
}

void copied_hold(const struct shard *shard, struct arena *a)
{
	const char *parent = cache_find(a, "copied"); // looking makes none
	char digest[65];
	int fd;

	if (!parent || shard_digest(digest, shard, NULL, NULL))
		return;
	const char *folder = arena_printf(a, "%s/%s", parent, digest);
	if (!file_exists(folder) || lock_open(&fd, arena_printf(a, "%s.lock", folder), LOCK_SH, NULL) || fd < 0)
		return;
	file_close_with(a, fd);
	stamp_used(folder);
}
