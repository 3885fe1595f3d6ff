// SPDX-License-Identifier: Apache-2.0
// Folders of compiled graphs: when one may be used again. It knows no compiler and never looks into their files.
#include "backend/compiled.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

enum { NOTE_MOST = 1 << 20 };

static void release(void *context)
{
	struct compiled *c = context;

	json_decref(c->target);
	json_decref(c->makers);
	if (c->lock >= 0)
		close(c->lock);
	c->lock = -1;
}

static void hash_json(struct hash *h, const json_t *j)
{
	char *text = json_dumps(j, JSON_SORT_KEYS | JSON_COMPACT);

	hash_add_text(h, text ? text : "");
	free(text);
}

// Every file but the note, below any folder, with its size: {"a/b.engine": 12}.
static json_t *list_files(struct arena *a, const char *folder, const char *below, json_t *files, int64_t *nbytes)
{
	const char *here = *below ? arena_printf(a, "%s/%s", folder, below) : folder;
	DIR *dir = opendir(here);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		const char *name = *below ? arena_printf(a, "%s/%s", below, e->d_name) : arena_strdup(a, e->d_name);
		struct stat st;

		if (text_is(e->d_name, ".") || text_is(e->d_name, "..") || text_is(name, "made.json") ||
			lstat(arena_printf(a, "%s/%s", folder, name), &st))
			continue;
		if (S_ISDIR(st.st_mode))
			list_files(a, folder, name, files, nbytes);
		else if (S_ISREG(st.st_mode)) {
			json_object_set_new(files, name, json_integer(st.st_size));
			*nbytes += st.st_size;
		}
	}
	if (dir)
		closedir(dir);
	return files;
}

// Why what lies there may not be used; NULL: it may. "" when there is nothing.
static const char *why_stale(struct compiled *c, struct arena *a)
{
	const char *path = arena_printf(a, "%s/made.json", c->folder), *key, *reason = NULL;
	json_t *made = NULL, *files = json_object(), *value;
	struct error ignored;
	int64_t nbytes = 0;

	list_files(a, c->folder, "", files, &nbytes);
	if (!file_exists(path) || json_file(path, NOTE_MOST, &made, &ignored)) {
		reason = json_object_size(files) ? "it was not finished" : "";
		json_decref(files);
		return reason;
	}
	const json_t *makers = json_object_get(made, "makers"), *then = json_object_get(made, "files");
	json_object_foreach(c->makers, key, value) if (!reason &&
		!json_equal(value, json_object_get(makers, key))) reason = arena_printf(a, "%s was %s, is %s", key,
		json_is_string(json_object_get(makers, key)) ? json_string_value(json_object_get(makers, key)) : "unknown",
		json_string_value(value));
	json_object_foreach(files, key, value) if (!reason && !json_equal(value, json_object_get(then, key))) reason =
		arena_printf(a, "%s is not as it was left", key);
	if (!reason && json_object_size(files) != json_object_size(then))
		reason = "a file is gone";
	if (!reason && !json_object_size(files))
		reason = "";
	json_decref(files);
	json_decref(made);
	return reason;
}

// Beside the folder, which may be removed. A program that trims the cache removes the lock too, between our open and our lock.
static enum status lock(struct compiled *c, const char *path, struct error *err)
{
	for (;;) {
		c->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (c->lock < 0 || flock(c->lock, LOCK_EX))
			return error_errno(err, "%s: cannot be locked", path);
		if (file_lies_at(c->lock, path))
			return STATUS_OK;
		close(c->lock);
	}
}

enum status compiled_open(struct compiled *out, struct arena *a, const char *what, const char *graph, json_t *target,
	json_t *makers, struct error *err)
{
	struct hash h;
	char key[65];
	const char *why, *part;
	enum status st;

	*out = (struct compiled){ .what = what, .graph = arena_strdup(a, graph), .target = target, .makers = makers, .lock = -1 };
	arena_defer(a, release, out);
	hash_init(&h);
	hash_add_text(&h, what);
	hash_add_text(&h, graph);
	hash_json(&h, target);
	hash_hex(&h, key);
	if ((st = cache_part(&part, a, "compiled", err)))
		return st;
	out->folder = arena_printf(a, "%s/%s", part, key);
	if ((st = lock(out, arena_printf(a, "%s.lock", out->folder), err)) || (st = file_mkdirs(out->folder, err)))
		return st;
	why = why_stale(out, a);
	out->state = !why ? "found" : *why ? arena_printf(a, "stale, made again: %s", why) : "new";
	if (!why) {
		utimensat(
			AT_FDCWD, arena_printf(a, "%s/made.json", out->folder), NULL, 0); // used now: the oldest is trimmed first
		return STATUS_OK;
	}
	return (st = file_remove_tree(out->folder, err)) ? st : file_mkdirs(out->folder, err);
}

enum status compiled_keep(struct compiled *c, int64_t *nbytes, struct error *err)
{
	struct arena a = { 0 };
	json_t *made, *files = json_object();
	char *text;
	enum status st;

	*nbytes = 0;
	list_files(&a, c->folder, "", files, nbytes);
	made = json_pack("{s:s, s:s, s:O, s:O, s:o}", "what", c->what, "graph", c->graph, "target", c->target, "makers",
		c->makers, "files", files);
	text = json_dumps(made, JSON_SORT_KEYS | JSON_INDENT(1));
	st = text ? file_put(arena_printf(&a, "%s/made.json", c->folder), text, strlen(text), err)
		  : error_set(err, STATUS_FAILED, "%s: what made it is not text", c->folder);
	free(text);
	json_decref(made);
	arena_done(&a);
	if (c->lock >= 0)
		close(c->lock);
	c->lock = -1;
	return st;
}
