// SPDX-License-Identifier: Apache-2.0
// Folders of compiled graphs: when one may be used again. It knows no compiler and never looks into their files.
#include "backend/compiled.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "base/cache.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

enum { NOTE_MOST = 1 << 20 };

static void unlock(struct compiled *c)
{
	if (c->lock >= 0)
		close(c->lock);
	c->lock = -1;
}

static void release(void *context)
{
	struct compiled *c = context;

	json_decref(c->target);
	json_decref(c->makers);
	free(c->note);
	unlock(c);
}

static void hash_json(struct hash *h, const json_t *j)
{
	char *text = json_dumps(j, JSON_SORT_KEYS | JSON_COMPACT);

	hash_add_text(h, text ? text : "");
	free(text);
}

static const char *note_path(const struct compiled *c, struct arena *a)
{
	return arena_printf(a, "%s/made.json", c->folder);
}

// Only one thread opens and closes sessions that keep what they compiled.
static double aside_ms;

double compiled_aside_ms(void)
{
	return aside_ms;
}

static json_t *describe(struct arena *a, const char *path, const struct stat *st)
{
	double begin = clock_ms();
	json_t *out = json_pack("{s:I, s:s}", "bytes", (json_int_t)st->st_size, "sha256", file_digest_key(a, path));

	aside_ms += clock_ms() - begin;
	return out;
}

// Every file but the note, below any folder: {"a/b.engine": {"bytes": 12, "sha256": "..."}}; null: it is no file. `files` NULL:
// their sizes alone are wanted.
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
		if (S_ISDIR(st.st_mode)) {
			list_files(a, folder, name, files, nbytes);
			continue;
		}
		*nbytes += S_ISREG(st.st_mode) ? st.st_size : 0;
		if (files)
			json_object_set_new(files, name,
				S_ISREG(st.st_mode) ? describe(a, arena_printf(a, "%s/%s", folder, name), &st) : json_null());
	}
	if (dir)
		closedir(dir);
	return files;
}

// What differs between `made` and what is asked for now: who makes it, or what it is made from. NULL: nothing.
static const char *why_of_another(const struct compiled *c, const json_t *made, struct arena *a)
{
	const json_t *makers = json_object_get(made, "makers");
	const char *key;
	json_t *value;

	if (!text_is(json_string_value(json_object_get(made, "what")), c->what) ||
		!text_is(json_string_value(json_object_get(made, "graph")), c->graph) ||
		!json_equal(json_object_get(made, "target"), c->target))
		return "it was made from something else";
	json_object_foreach(c->makers, key, value)
	{
		const char *then = json_string_value(json_object_get(makers, key));

		if (!json_equal(value, json_object_get(makers, key)))
			return arena_printf(a, "%s was %s, is %s", key, then ? then : "unknown", json_string_value(value));
	}
	return NULL;
}

static const char *why_changed(const json_t *made, json_t *files, struct arena *a)
{
	const json_t *then = json_object_get(made, "files");
	const char *name;
	json_t *value;

	json_object_foreach(files, name, value)
	{
		if (json_is_null(value))
			return arena_printf(a, "%s is no file", name);
		if (!json_equal(value, json_object_get(then, name)))
			return arena_printf(a, "%s is not as it was left", name);
	}
	if (json_object_size(files) != json_object_size(then))
		return "a file is gone";
	return json_object_size(files) ? NULL : "";
}

static bool is_empty(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *e = NULL;

	while (dir && (e = readdir(dir)) && (text_is(e->d_name, ".") || text_is(e->d_name, "..")))
		;
	if (dir)
		closedir(dir);
	return !e;
}

// Why what lies there may not be used; NULL: it may. "" when there is nothing.
static const char *why_stale(const struct compiled *c, struct arena *a)
{
	const char *path = note_path(c, a), *reason;
	json_t *made = NULL, *files = json_object();
	int64_t nbytes = 0;
	struct stat st;

	if (lstat(c->folder, &st)) {
		reason = "";
	} else if (!S_ISDIR(st.st_mode)) {
		reason = "its folder is a link or a file";
	} else if (!file_exists(path) || json_file(path, NOTE_MOST, &made, NULL)) {
		reason = is_empty(c->folder) ? "" : "it was not finished";
	} else if (!(reason = why_of_another(c, made, a))) {
		list_files(a, c->folder, "", files, &nbytes);
		reason = why_changed(made, files, a);
	}
	if (!reason && !cache_is_own(c->folder))
		reason = "not all of it is this user's alone";
	json_decref(files);
	json_decref(made);
	return reason;
}

// flock that says for whom it waits: another process compiles the same, or stands still with the lock.
static bool lock_file(int fd, const char *path, bool wait)
{
	static const struct timespec pause = { .tv_nsec = 20000000 };
	double begin = clock_ms();
	bool told = false, locked;

	while (!(locked = !flock(fd, LOCK_EX | LOCK_NB)) && (errno == EINTR || (wait && errno == EWOULDBLOCK))) {
		if (!told)
			cache_waits(path);
		told = true;
		nanosleep(&pause, NULL);
	}
	if (!told)
		return locked;
	int code = errno;
	cache_waits(NULL);
	aside_ms += clock_ms() - begin;
	errno = code;
	return locked;
}

// Beside the folder, which may be removed. A program that trims the cache removes the lock too, between our open and our lock.
static enum status lock(struct compiled *c, bool wait, struct error *err)
{
	struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s.lock", c->folder);
	enum status st = STATUS_OK;

	for (;;) {
		c->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (c->lock < 0 || !lock_file(c->lock, path, wait))
			st = error_errno(err, "%s: cannot be locked", path);
		else if (file_lies_at(c->lock, path))
			break;
		else if (errno)
			st = error_errno(err, "%s", path);
		if (st)
			break;
		close(c->lock);
	}
	arena_done(&a);
	if (st != STATUS_FAILED)
		return st;
	if (err) // what lies there is nothing of the model's
		err->status = STATUS_NOT_ASKED;
	return STATUS_NOT_ASKED;
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
	if ((st = lock(out, true, err)))
		return st;
	why = why_stale(out, a);
	out->state = !why ? "found" : *why ? arena_printf(a, "stale, made again: %s", why) : "new";
	if (!why) {
		utimensat(AT_FDCWD, note_path(out, a), NULL, 0); // used now: the oldest is trimmed first
		return STATUS_OK;
	}
	return (st = file_remove_tree(out->folder, err)) ? st : file_mkdirs_private(out->folder, err);
}

int64_t compiled_bytes(const struct compiled *c)
{
	struct arena a = { 0 };
	int64_t nbytes = 0;

	list_files(&a, c->folder, "", NULL, &nbytes);
	arena_done(&a);
	return nbytes;
}

static enum status write_note(struct compiled *c, int64_t *nbytes, struct error *err)
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
	st = text ? file_put(note_path(c, &a), text, strlen(text), err)
		  : error_set(err, STATUS_FAILED, "%s: what made it is not text", c->folder);
	free(c->note);
	c->note = text;
	json_decref(made);
	arena_done(&a);
	return st;
}

enum status compiled_keep(struct compiled *c, int64_t *nbytes, struct error *err)
{
	enum status st = write_note(c, nbytes, err);

	unlock(c);
	return st;
}

void compiled_again(const struct compiled *c, double lost_ms)
{
	aside_ms += lost_ms;
	cache_waits(c ? c->folder : NULL);
}

void compiled_drop(struct compiled *c)
{
	file_remove_tree(c->folder, NULL);
	unlock(c);
}

void compiled_keep_more(struct compiled *c)
{
	struct arena a = { 0 };
	int64_t ignored;
	size_t nbytes;
	char *now;

	if (c->note && !lock(c, false, NULL) && !file_read(&a, note_path(c, &a), NOTE_MOST, &now, &nbytes, NULL) &&
		text_is(now, c->note))
		write_note(c, &ignored, NULL);
	unlock(c);
	arena_done(&a);
}
