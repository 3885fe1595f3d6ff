// SPDX-License-Identifier: Apache-2.0
// Finds an engine's shared library and opens it by full path, RTLD_NOW | RTLD_LOCAL. An engine lies in a folder of the search
// path or in one of them below it (engines/onnxruntime/libonnxruntime.so.1.31.1), with what it needs beside it.
// It never closes one: engines start threads and register exit handlers that would run unmapped code.
#include "backend/backend.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/cause.h"
#include "base/file.h"
#include "base/owned.h"
#include "base/watcher.h"

enum { PLACES = 64 };

struct places {
	struct arena *arena;
	const char *folder[PLACES];
	bool system[PLACES]; // a folder of the system loader: nothing of ours lies below it
	size_t count, named; // the first are those that ASSAY_ENGINE_PATH names
	const char *users;   // of the user's data, which nobody names; NULL: none
};

static void add(struct places *p, const char *folder, bool system)
{
	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->folder[i], folder))
			return;
	if (p->count == PLACES)
		return;
	p->system[p->count] = system;
	p->folder[p->count++] = folder;
}

static void add_list(struct places *p, const char *list, bool system)
{
	for (const char *at = list; at && *at;) {
		size_t n = strcspn(at, ":");

		if (n)
			add(p, arena_strndup(p->arena, at, n), system);
		at += n + (at[n] == ':');
	}
}

// PREFIX is where the program or the library lies now: an installation that was moved still finds its engines.
static void add_prefix_of(struct places *p, const char *file)
{
	char *real = file ? realpath(file, NULL) : NULL, *slash = real ? strrchr(real, '/') : NULL;

	for (int up = 0; up < 2 && slash && slash != real; up++) { // bin/assay, lib/libassay.so; lib/x86_64-linux-gnu/libassay.so
		const char *folder;

		*slash = 0;
		slash = strrchr(real, '/');
		folder = arena_printf(p->arena, "%.*s/lib/assay/engines", slash ? (int)(slash - real) : 0, real);
		if (up == 0 || file_is_dir(folder))
			add(p, folder, false);
	}
	free(real);
}

static void find_places(struct places *p)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	Dl_info here;

	add_list(p, getenv("ASSAY_ENGINE_PATH"), false);
	p->named = p->count;
	add_prefix_of(p, "/proc/self/exe");
	add_prefix_of(p, getenv("ASSAY_PROGRAM")); // of a program that libassay.a is linked into
	if (dladdr((void *)(uintptr_t)library_open, &here) && here.dli_fname)
		add_prefix_of(p, here.dli_fname);
#ifdef ASSAY_PREFIX
	add(p, ASSAY_PREFIX "/lib/assay/engines", false);
#endif
	if (data && *data == '/') // the XDG specification: a relative path is ignored, and so is a relative HOME
		p->users = arena_printf(p->arena, "%s/assay/engines", data);
	else if (home && *home == '/')
		p->users = arena_printf(p->arena, "%s/.local/share/assay/engines", home);
	if (p->users)
		add(p, p->users, false);
#ifdef ASSAY_BUILD_ENGINES
	add(p, ASSAY_BUILD_ENGINES, false);
#endif
	add_list(p, getenv("LD_LIBRARY_PATH"), true);
	add(p, "/usr/local/lib", true);
#if defined(__x86_64__)
	add(p, "/usr/lib/x86_64-linux-gnu", true);
#elif defined(__aarch64__)
	add(p, "/usr/lib/aarch64-linux-gnu", true);
#endif
	add(p, "/usr/lib64", true);
	add(p, "/usr/lib", true);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void escape(struct text *out, const char *folder)
{
	for (; *folder; folder++) {
		if (strchr("*?[]\\", *folder))
			text_add(out, "\\");
		text_add_bytes(out, folder, 1);
	}
}

// The first folder that could not be looked into, and why (no right to, no descriptor left, its disk fails): what lies there is
// not known. 0: none.
static _Thread_local struct {
	struct arena *arena;
	int failure;
	const char *folder;
} unread;

static int note_failure(const char *folder, int failure)
{
	if (failure == ENOENT || failure == ENOTDIR || unread.failure)
		return 0;
	unread.failure = failure;
	unread.folder = arena_strdup(unread.arena, folder);
	return 0;
}

// glob takes a folder that fails as it is read for one that ends there.
static struct {
	DIR *dir;
	char path[PATH_MAX];
} listed;

static void *list_open(const char *folder)
{
	snprintf(listed.path, sizeof listed.path, "%s", folder);
	return listed.dir = opendir(folder);
}

static struct dirent *list_next(void *dir)
{
	int code;
	struct dirent *e = file_next(dir, &code);

	if (code)
		note_failure(listed.dir == dir ? listed.path : "a folder", code);
	return e;
}

static void list_close(void *dir)
{
	closedir(dir);
}

static const char *newest_of(struct arena *a, const char *folder, const char *below, const char *pattern, const char *best)
{
	struct text name = { 0 };
	struct stat st;
	glob_t found = {
		.gl_opendir = list_open, .gl_readdir = list_next, .gl_closedir = list_close, .gl_stat = stat, .gl_lstat = lstat
	};

	unread.arena = a;
	folder = below ? arena_printf(a, "%s/%s", folder, below) : folder;
	escape(&name, folder);
	text_addf(&name, "/%s", pattern);
	if (!strpbrk(pattern, "*?[") && lstat(arena_printf(a, "%s/%s", folder, pattern), &st))
		note_failure(folder, errno); // glob tells of patterns only
	if (!glob(text_get(&name), GLOB_ALTDIRFUNC, note_failure, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (!best || strverscmp(base_name(found.gl_pathv[i]), base_name(best)) > 0)
				best = arena_strdup(a, found.gl_pathv[i]);
		globfree(&found);
	}
	text_done(&name);
	return best;
}

// The newest file of the pattern: 1.31.1 is newer than 1.9.0.
static const char *newest(struct places *p, size_t place, const char *build, const char *pattern)
{
	const char *folder = p->folder[place],
		   *best = p->system[place] ? NULL : newest_of(p->arena, folder, build, pattern, NULL);

	return best || (strchr(build, '-') && !text_is(base_name(folder), build))
		? best
		: newest_of(p->arena, folder, NULL, pattern, NULL);
}

// Looked at and not opened: to open a FIFO is to wait for somebody who writes. The loader opens it again: who exchanges it
// meanwhile may write into the folder of an engine. NULL: it is one, or it is not there, which the loader says best.
static const char *irregular(const char *path)
{
	struct stat st;

	if (stat(path, &st) || S_ISREG(st.st_mode))
		return NULL;
	return S_ISDIR(st.st_mode) ? "a folder" : S_ISFIFO(st.st_mode) ? "a named pipe" : "a special file";
}

// May no other user have put there what lies in the folder and in those below it? What is not there nobody has.
static enum status check_owner(const char *folder, struct error *err)
{
	static const struct owned_words words = { "no engine is taken from there", "ASSAY_ENGINE_PATH" };
	struct stat st;
	bool absent;
	enum status s = lstat(folder, &st) ? STATUS_OK : owned_look(folder, &words, &absent, err);
	DIR *dir = s ? NULL : opendir(folder);
	const struct dirent *e;
	int code; // of a listing that fails, which the search itself tells

	while (dir && !s && (e = file_next(dir, &code)))
		if (e->d_name[0] != '.' && !fstatat(dirfd(dir), e->d_name, &st, 0) &&
			(S_ISDIR(st.st_mode) || !owned_by_us(st.st_uid))) {
			char path[PATH_MAX];

			snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
			s = owned_folder(path, &st, &words, err);
		}
	if (dir)
		closedir(dir);
	return s;
}

enum status library_find(struct arena *a, const char *build, const char *pattern, const char **path, struct error *err)
{
	struct places p = { .arena = a };
	struct text looked = { 0 };
	struct error foreign = { 0 };
	enum status st;

	unread.failure = 0;
	find_places(&p);
	for (size_t i = 0; i < p.count; i++) {
		if (p.folder[i] == p.users && check_owner(p.users, &foreign))
			continue;
		*path = newest(&p, i, build, pattern);
		if (unread.failure && i < p.named) // no other folder's answers for the one that is named
			break;
		if (*path)
			return !irregular(*path) ? STATUS_OK
						 : error_set(err, STATUS_NOT_ASKED, "%s is %s and no file: it is not opened",
							   *path, irregular(*path));
	}
	*path = NULL;
	if (foreign.status)
		return error_set(err, STATUS_NOT_ASKED, "%s: %s", pattern, foreign.text);
	if (unread.failure)
		return error_set(err, STATUS_NOT_ASKED, "%s, in which %s may be, cannot be read: %s%s", unread.folder, pattern,
			strerror(unread.failure), unread.failure == EMFILE ? " (ulimit -n)" : "");
	for (size_t i = 0; i < p.count; i++)
		if (!p.system[i])
			text_addf(&looked, "%s%s", looked.length ? ", " : "", p.folder[i]);
	st = error_set(err, STATUS_UNAVAILABLE,
		"%s%s%s is not installed: looked in %s and the system's library folders; set ASSAY_ENGINE_PATH to its folder",
		strchr(build, '-') ? build : "", strchr(build, '-') ? "/" : "", pattern, text_get(&looked));
	text_done(&looked);
	return st;
}

const char *library_beside(struct arena *a, const char *file, const char *pattern)
{
	const char *slash = strrchr(file, '/');

	return slash ? newest_of(a, arena_strndup(a, file, (size_t)(slash - file)), NULL, pattern, NULL) : NULL;
}

static void (*loading)(const char *file);

void library_set_loading(void (*listener)(const char *file))
{
	loading = listener;
}

void library_loading(const char *file)
{
	if (loading)
		loading(file);
}

static struct {
	double seconds;
	void (*give_up)(const char *file);
} limit;

void library_limit(double seconds, void (*give_up)(const char *file))
{
	limit.seconds = seconds;
	limit.give_up = give_up;
}

static void give_up_loading(void *file)
{
	limit.give_up(file);
}

// Why a library that is there cannot be opened or read; 0: it can, or it is not there.
static int failure_of(const char *path)
{
	struct stat st;
	char byte;
	int code = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) // a link that leads nowhere is there
		return !error_is_of_name(errno) || (errno == ENOENT && !lstat(path, &st)) ? errno : 0;
	if (read(fd, &byte, 1) < 0 && !error_is_of_name(errno))
		code = errno;
	close(fd);
	return code;
}

// Words of why it cannot be read; NULL: it can, or is not there.
static const char *unread_words(struct arena *a, const char *path)
{
	const int code = failure_of(path);

	return !code             ? NULL
		: code == EACCES ? arena_printf(a, "this user may not read %s", path)
				 : arena_printf(a, "%s cannot be read: %s", path, strerror(code));
}

// Does something lie there, whatever it is?
static bool lies_there(const char *path)
{
	struct stat st;

	return !lstat(path, &st) || !error_is_of_name(errno);
}

// A library of that name beside `file`, in a folder of engines, or in a folder of one of these; NULL: none.
static const char *find_named(struct arena *a, const char *file, const char *name)
{
	struct places p = { .arena = a };
	const char *slash = strrchr(file, '/'),
		   *path = slash ? arena_printf(a, "%.*s/%s", (int)(slash - file), file, name) : NULL;
	int code;

	if (path && lies_there(path))
		return path;
	find_places(&p);
	for (size_t i = 0; i < p.count; i++) {
		if (p.system[i])
			continue;
		if (lies_there(path = arena_printf(a, "%s/%s", p.folder[i], name)))
			return path;
		DIR *dir = opendir(p.folder[i]);
		bool found = false;
		for (struct dirent *e; dir && !found && (e = file_next(dir, &code));) {
			path = arena_printf(a, "%s/%s/%s", p.folder[i], e->d_name, name);
			found = e->d_name[0] != '.' && lies_there(path);
		}
		if (dir)
			closedir(dir);
		if (found)
			return path;
	}
	return NULL;
}

// The loader's words for a file that is no library of this machine, or not a whole one. Of one of another machine it says that it
// is nowhere, as of one that it may not read.
static bool says_no_library(const char *said)
{
	static const char *const words[] = { "ELF", "e_ident", "object file has no", "only ET_DYN", "file too short",
		"cannot read file data", "cannot dynamically load", "cannot open shared object file: No such file" };
	bool says = false;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		says = says || strstr(said, words[i]);
	return says && !strstr(said, "Cannot allocate memory");
}

// Of the library that could not be loaded, `file` or one that it needs ("libtbb.so.12: cannot open shared object file: ..."):
// words of what is wrong with it; NULL: it lies nowhere, or is as it should be.
static const char *bad_library(struct arena *a, const char *file, const char *said)
{
	const char *end = strstr(said, ": "), *name = end ? arena_strndup(a, said, (size_t)(end - said)) : "";
	const char *path = !strchr(name, '/') ? *name ? find_named(a, file, name) : NULL : lies_there(name) ? name : NULL;
	const char *words = path ? unread_words(a, path) : NULL;

	return words || !path || !says_no_library(end)
		? words
		: arena_printf(a, "%s is here, and is damaged or of another machine%s", path, end);
}

void *library_load(struct arena *a, const char *file, int binding, const char **why)
{
	const char *odd = strchr(file, '/') ? irregular(file) : NULL, *words;
	struct watcher watcher;
	void *handle = NULL;
	int failure = 0;

	*why = odd ? arena_printf(a, "it is %s and no file", odd) : NULL;
	if (odd)
		return NULL;
	library_loading(file);
	// It might wait without an end, and is not given up before its time.
	if (limit.give_up)
		failure = watcher_begin(&watcher, 1e3 * (limit.seconds + 1), give_up_loading, arena_strdup(a, file));
	if (failure)
		*why = arena_printf(a, "no thread can be made to limit its time: %s", strerror(failure));
	else if (!(handle = dlopen(file, binding | RTLD_LOCAL))) {
		const char *said = arena_strdup(a, (words = dlerror()) ? words : "no reason given");
		*why = (words = bad_library(a, file, said)) ? words : said;
	}
	if (limit.give_up && !failure)
		watcher_end(&watcher);
	library_loading(NULL);
	return handle;
}

static enum status open_found(
	struct arena *a, const char *build, const char *pattern, int binding, void **handle, const char **path, struct error *err)
{
	const char *file, *why;
	enum status st = library_find(a, build, pattern, &file, err);

	if (st)
		return st;
	// Its words name the missing soname. The next folder is not tried: another version would answer for this one.
	if (!(*handle = library_load(a, file, binding, &why))) {
		const enum status as = cause_status(NULL, NULL, why, STATUS_UNAVAILABLE);
		return error_set(err, as == STATUS_NOT_ASKED ? as : STATUS_UNAVAILABLE, "%s cannot be opened: %s", file, why);
	}
	*path = file;
	return STATUS_OK;
}

enum status library_open(
	struct arena *a, const char *build, const char *pattern, void **handle, const char **path, struct error *err)
{
	return open_found(a, build, pattern, RTLD_NOW, handle, path, err);
}

enum status library_open_lazily(
	struct arena *a, const char *build, const char *pattern, void **handle, const char **path, struct error *err)
{
	return open_found(a, build, pattern, RTLD_LAZY, handle, path, err);
}

void library_search_path(struct text *out)
{
	struct arena a = { 0 };
	struct places p = { .arena = &a };

	find_places(&p);
	for (size_t i = 0; i < p.count; i++)
		text_addf(out, "%s %s\n", file_is_dir(p.folder[i]) ? "+" : "-", p.folder[i]);
	arena_done(&a);
}
