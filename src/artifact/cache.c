// SPDX-License-Identifier: Apache-2.0
// What lies in the cache: how much of the disk it really takes, what may go, what is no longer what its name says.
//   CACHE/artifact/KEY/{model.onnx, weights, made.json, used}      tmp-*: being made, or left by a maker that died
//   CACHE/synthetic/KEY/{config.json, model.safetensors, used}     KEY.lock: held shared by users; KEY.make: by who makes KEY.tmp
//   CACHE/converted/KEY/{converted-*.safetensors, made.json, used} weights in another precision; locks as of synthetic ones
//   CACHE/copied/SHA256/{copy or reflink, used}                    weights that cannot be linked to (copied.c); locks likewise
//   CACHE/reference/KEY.*                                          outputs to compare with, ranges of activations; own locks
//   CACHE/compiled/KEY/{..., made.json}                            what a vendor's compiler made (backend/compiled.h); KEY.lock
//   CACHE/conform/KEY/{config.json, model.safetensors, used}       conformance cases; locks as of synthetic ones
//   CACHE/digest/DEVICE-INODE                                      SHA-256 of large files (base/digest.h)
//   CACHE/claim/TOKEN                                              programs that live (base/claim.h); not trimmed but swept
#include "artifact/artifact.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "artifact/inside.h"
#include "base/cache.h"
#include "base/claim.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/sealed.h"
#include "base/text.h"
#include "base/visible.h"
#include "hub/hub.h"

enum { STALE_S = 60, DEAD_S = 3600, FRESH_S = 60, READ_NBYTES = 1 << 20 };

static const char hex_digits[] = "0123456789abcdef";

// The folder that ASSAY_CACHE names may have a user's own files, too: only what has a name that assay gives is taken away. `n`
// digits.
static bool begins_in_hex(const char *name, size_t n)
{
	return strspn(name, hex_digits) == n;
}

bool is_key(const char *name)
{
	return begins_in_hex(name, 64) && !name[64];
}

static bool is_digest(const char *name) // DEVICE-INODE
{
	const size_t n = strspn(name, hex_digits);

	return n > 0 && name[n] == '-' && name[n + 1] && !name[n + 1 + strspn(name + n + 1, hex_digits)];
}

// O_NONBLOCK here and below: opening a FIFO would wait for somebody at its other end.
void stamp_used(const char *folder)
{
	struct text path = { 0 };
	text_addf(&path, "%s/used", folder);
	int fd = open(text_get(&path), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (fd >= 0) {
		futimens(fd, NULL);
		close(fd);
	}
	text_done(&path);
}

enum status lock_open(int *fd, const char *path, int mode, struct error *err)
{
	for (;;) {
		*fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
		if (*fd < 0)
			return error_errno(err, "%s: cannot be written", path);
		if (flock(*fd, mode | LOCK_NB)) {
			int code = errno;
			close(*fd);
			*fd = -1;
			errno = code;
			return code == EWOULDBLOCK ? STATUS_OK : error_errno(err, "%s: cannot be locked", path);
		}
		// The file may have been removed between our open and our lock; then the lock is worth nothing.
		if (file_lies_at(*fd, path))
			return STATUS_OK;
		const int code = errno;
		close(*fd);
		*fd = -1;
		errno = code;
		if (code)
			return error_errno(err, "%s", path);
	}
}

// ---- a walk over all of it ----------------------------------------------------------------------------------------------

enum part {
	PART_ARTIFACT,
	PART_SYNTHETIC,
	PART_CONVERTED,
	PART_COPIED,
	PART_REFERENCE,
	PART_COMPILED,
	PART_CONFORM,
	PART_DIGEST,
	PART_CLAIM,
	PART_OTHER
};

static const char *const part_name[PART_OTHER] = { "artifact", "synthetic", "converted", "copied", "reference", "compiled",
	"conform", "digest", "claim" };

struct entry {
	enum part part;
	const char *folder, *name; // the folder that holds it, its name there
	const char *unit;          // CACHE/PART/NAME, which it is or is in: what is trimmed as a whole; NULL outside of parts
	dev_t device;
	ino_t inode;
	uint64_t disk_bytes;
	size_t links, links_here; // all of them, and those inside the cache
	bool made_here;           // one of those is a weight that assay made
};

struct walk {
	struct arena *arena;
	struct entry *entries;
	size_t count, capacity;
};

static void walk_add(
	struct walk *w, enum part part, const char *folder, const char *name, const char *unit, const struct stat *st)
{
	if (w->count == w->capacity) {
		w->capacity = w->capacity ? w->capacity * 2 : 256;
		struct entry *more = ARENA_ARRAY(w->arena, w->capacity, struct entry);
		if (w->count)
			memcpy(more, w->entries, w->count * sizeof *more);
		w->entries = more;
	}
	w->entries[w->count++] = (struct entry){ part, folder, arena_strdup(w->arena, name), unit, st->st_dev, st->st_ino,
		(uint64_t)st->st_blocks * 512, st->st_nlink, 0, false };
}

static enum part find_part(const char *name)
{
	enum part p = 0;
	while (p < PART_OTHER && strcmp(part_name[p], name))
		p++;
	return p;
}

static void walk_folder(struct walk *w, enum part part, const char *folder, const char *unit, int depth)
{
	DIR *dir = depth < 16 ? opendir(folder) : NULL;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		struct stat st;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
			fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		enum part inner = depth ? part : S_ISDIR(st.st_mode) ? find_part(e->d_name) : PART_OTHER;
		const char *path = depth < 2 || S_ISDIR(st.st_mode) ? arena_printf(w->arena, "%s/%s", folder, e->d_name) : NULL;
		if (S_ISDIR(st.st_mode))
			walk_folder(w, inner, path, depth == 1 ? path : unit, depth + 1);
		else
			walk_add(w, inner, folder, e->d_name, depth == 1 ? path : unit, &st);
	}
	if (dir)
		closedir(dir);
}

// Weights that assay made itself; an artifact may be a link to them.
static bool is_made(enum part p)
{
	return p == PART_SYNTHETIC || p == PART_CONVERTED || p == PART_COPIED || p == PART_CONFORM;
}

static bool is_copy(const char *name)
{
	return text_is(name, "copy") || text_is(name, "reflink");
}

// Same file together; among its names the one that it was made under first, so that its bytes are counted there.
static int by_inode(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return is_made(y->part) - is_made(x->part);
}

static void walk_cache(struct walk *w, struct arena *a)
{
	*w = (struct walk){ .arena = a };
	if (cache_check(NULL))
		return;
	walk_folder(w, PART_OTHER, cache_dir(a), NULL, 0);
	if (w->count)
		qsort(w->entries, w->count, sizeof *w->entries, by_inode);
	for (size_t i = 0, n; i < w->count; i += n) {
		for (n = 1; i + n < w->count && w->entries[i + n].inode == w->entries[i].inode &&
			w->entries[i + n].device == w->entries[i].device;)
			n++;
		for (size_t j = i; j < i + n; j++) {
			w->entries[j].links_here = n;
			w->entries[j].made_here = is_made(w->entries[i].part);
		}
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

// The entry of made.json for this file of an artifact; NULL for the graph and the rest. Owned by *made.
static const json_t *made_entry(json_t **made, const struct entry *e)
{
	struct text path = { 0 };
	json_t *file;
	size_t i;
	*made = NULL;
	if (e->part != PART_ARTIFACT || !is_key(base_name(e->folder)))
		return NULL;
	text_addf(&path, "%s/made.json", e->folder);
	enum status s = json_file(text_get(&path), 1 << 20, made, NULL);
	text_done(&path);
	if (s)
		return NULL;
	json_array_foreach(json_object_get(*made, "files"), i,
		file) if (text_is(json_string_value(json_object_get(file, "name")), e->name)) return file;
	return NULL;
}

// A hard link that is the last of its file: what it was linked to is gone. *of_hub: it was a blob of the Hub's cache. And a copy
// of what could not be linked to, not even in the cache.
static bool is_dead_link(const struct entry *e, bool *of_hub)
{
	json_t *made;
	if (e->links != e->links_here || e->made_here)
		return false;
	const json_t *file = made_entry(&made, e);
	const bool is_link = text_is(json_string_value(json_object_get(file, "placed_by")), "hardlink");
	const char *identity = json_string_value(json_object_get(file, "identity"));
	*of_hub = is_link && identity && !strchr(identity, ':');
	json_decref(made);
	return file != NULL;
}

enum status cache_usage(struct cache_usage *out, struct error *err)
{
	(void)err; // a cache that is not there is an empty one
	struct arena a = { 0 };
	struct cache_usage u = { 0 };
	struct walk w;
	walk_cache(&w, &a);
	for (size_t i = 0; i < w.count; i++) {
		const struct entry *e = &w.entries[i];
		bool first = !i || w.entries[i - 1].inode != e->inode || w.entries[i - 1].device != e->device;
		// A file with a name outside belongs to the owner of that name.
		uint64_t bytes = first && e->links == e->links_here ? e->disk_bytes : 0;
		uint64_t *const sums[] = { [PART_ARTIFACT] = &u.artifact_bytes,
			[PART_SYNTHETIC] = &u.synthetic_bytes,
			[PART_CONVERTED] = &u.converted_bytes,
			[PART_COPIED] = &u.copied_bytes,
			[PART_REFERENCE] = &u.reference_bytes,
			[PART_COMPILED] = &u.compiled_bytes,
			[PART_CONFORM] = &u.conform_bytes,
			[PART_DIGEST] = &u.digest_bytes,
			[PART_CLAIM] = &u.claim_bytes,
			[PART_OTHER] = &u.other_bytes };
		*sums[e->part] += bytes;
		bool of_hub, keyed = is_key(base_name(e->folder));
		u.artifacts += e->part == PART_ARTIFACT && keyed && text_is(e->name, "model.onnx");
		u.synthetics += e->part == PART_SYNTHETIC && keyed && text_is(e->name, "model.safetensors");
		u.converted += e->part == PART_CONVERTED && keyed && text_ends(e->name, ".safetensors");
		u.copied += e->part == PART_COPIED && keyed && is_copy(e->name);
		u.references +=
			e->part == PART_REFERENCE && (text_ends(e->name, ".safetensors") || text_ends(e->name, ".ranges.json"));
		u.compiled += e->part == PART_COMPILED && keyed && text_is(e->name, "made.json");
		u.cases += e->part == PART_CONFORM && keyed && text_is(e->name, "model.safetensors");
		u.digests += e->part == PART_DIGEST && is_digest(e->name);
		u.claims += e->part == PART_CLAIM;
		u.dead_links += is_dead_link(e, &of_hub) && of_hub;
	}
	arena_done(&a);
	*out = u;
	return STATUS_OK;
}

// ---- what may go --------------------------------------------------------------------------------------------------------

static int64_t seconds_since_used(const char *folder)
{
	struct text path = { 0 };
	struct stat st;
	text_addf(&path, "%s/used", folder);
	bool known = !stat(text_get(&path), &st) || !stat(folder, &st);
	text_done(&path);
	return known ? time(NULL) - st.st_mtim.tv_sec : 0;
}

// Folders under construction whose maker died: their lock can be had, and they are not just being made.
static void remove_stale(const char *parent)
{
	struct arena a = { 0 };
	DIR *dir = opendir(parent);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		struct stat st;
		if (!text_starts(e->d_name, "tmp-") || !begins_in_hex(e->d_name + 4, 16) || e->d_name[20] != '.' ||
			fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode) ||
			time(NULL) - st.st_mtim.tv_sec < STALE_S)
			continue;
		int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
			file_remove_tree(arena_printf(&a, "%s/%s", parent, e->d_name), NULL);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
	arena_done(&a);
}

// Weights whose maker died: KEY.tmp, and KEY.make is not locked.
static void remove_unfinished(const char *parent)
{
	struct arena a = { 0 };
	DIR *dir = opendir(parent);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t n = strlen(e->d_name);
		const char *made =
			n == 68 && !strcmp(e->d_name + 64, ".tmp") ? arena_printf(&a, "%s/%.64s.make", parent, e->d_name) : NULL;
		int fd;
		if (!made || lock_open(&fd, made, LOCK_EX, NULL) || fd < 0)
			continue;
		file_remove_tree(arena_printf(&a, "%s/%s", parent, e->d_name), NULL);
		unlink(made);
		close(fd);
	}
	if (dir)
		closedir(dir);
	arena_done(&a);
}

// Artifacts that hold the last link of a file that is gone elsewhere, or a copy of their own, unless they were used within the
// hour.
static uint64_t remove_dead(const struct walk *w)
{
	uint64_t removed = 0;
	bool of_hub;
	for (size_t i = 0; i < w->count; i++)
		if (is_dead_link(&w->entries[i], &of_hub) && seconds_since_used(w->entries[i].folder) > DEAD_S &&
			!file_remove_tree(w->entries[i].folder, NULL))
			removed += w->entries[i].disk_bytes;
	return removed;
}

// What goes as a whole: weights, a file of references, what was compiled of one graph, a digest.
struct unit {
	const struct entry *entry; // one of its files; of weights the weights
	uint64_t nbytes;
	struct timespec used;
};

static int by_use(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;
	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	if (x->used.tv_nsec != y->used.tv_nsec)
		return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
	return strcmp(x->entry->unit, y->entry->unit);
}

static int by_unit(const void *a, const void *b)
{
	return strcmp((*(const struct entry *const *)a)->unit, (*(const struct entry *const *)b)->unit);
}

// Does its size count? What is being made is not there yet.
static bool counts(const struct entry *e)
{
	if (is_made(e->part))
		return is_key(base_name(e->folder)) &&
			(e->part == PART_COPIED ? is_copy(e->name) : text_ends(e->name, ".safetensors"));
	if (e->part == PART_COMPILED)
		return e->unit && is_key(base_name(e->unit));
	if (e->part == PART_DIGEST)
		return e->unit && is_digest(e->name);
	return e->part == PART_REFERENCE && e->unit && begins_in_hex(base_name(e->unit), 64) &&
		(text_ends(e->name, ".safetensors") || text_ends(e->name, ".json"));
}

static struct timespec last_use(struct arena *a, const struct entry *e)
{
	const char *noted = is_made(e->part) ? "/used" : e->part == PART_COMPILED ? "/made.json" : "";
	struct stat st;
	if (!lstat(arena_printf(a, "%s%s", e->unit, noted), &st) || !lstat(e->unit, &st))
		return st.st_mtim;
	return (struct timespec){ 0 };
}

static struct unit *find_units(const struct walk *w, struct arena *a, size_t *count)
{
	const struct entry **all = ARENA_ARRAY(a, w->count + 1, const struct entry *);
	struct unit *units = ARENA_ARRAY(a, w->count + 1, struct unit);
	size_t n = 0, k = 0;
	for (size_t i = 0; i < w->count; i++)
		if (counts(&w->entries[i]))
			all[n++] = &w->entries[i];
	if (n)
		qsort(all, n, sizeof *all, by_unit);
	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(all[i]->unit, all[i - 1]->unit))
			units[k++] = (struct unit){ .entry = all[i], .used = last_use(a, all[i]) };
		units[k - 1].nbytes += all[i]->disk_bytes;
	}
	if (k)
		qsort(units, k, sizeof *units, by_use);
	*count = k;
	return units;
}

// Removes a folder that has a lock beside it, weights with the artifacts that link to them. *gone is false when somebody uses it.
static enum status remove_folder(bool *gone, struct arena *a, const struct walk *w, const struct entry *e, struct error *err)
{
	int fd;
	const char *lock = arena_printf(a, "%s.lock", e->unit);
	enum status s = lock_open(&fd, lock, LOCK_EX, err);
	if (s || fd < 0)
		return s;
	for (size_t i = 0; i < w->count && !s; i++)
		if (w->entries[i].part == PART_ARTIFACT && w->entries[i].inode == e->inode && w->entries[i].device == e->device &&
			is_key(base_name(w->entries[i].folder)))
			s = file_remove_tree(w->entries[i].folder, err);
	if (!s)
		s = file_remove_tree(e->unit, err);
	unlink(lock);
	close(fd);
	*gone = !s;
	return s;
}

// A file is its own lock.
static enum status remove_file(bool *gone, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	enum status s = STATUS_OK;
	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) {
		// None of assay's is a folder, which would keep all others from being trimmed.
		if (unlink(path) && errno != ENOENT)
			s = errno == EISDIR ? file_remove_tree(path, err) : error_errno(err, "%s: cannot be removed", path);
		*gone = !s;
	}
	if (fd >= 0)
		close(fd);
	return s;
}

enum status cache_trim(uint64_t limit, uint64_t *removed, struct error *err)
{
	struct arena a = { 0 };
	struct walk w;
	uint64_t total = 0;
	size_t count;
	enum status s = cache_check(err);
	*removed = 0;
	if (s)
		return s;
	static const struct {
		const char *part;
		void (*remove)(const char *);
	} unfinished[] = { { "artifact", remove_stale }, { "synthetic", remove_unfinished }, { "converted", remove_unfinished },
		{ "copied", remove_unfinished }, { "conform", remove_unfinished } };
	for (size_t i = 0; i < sizeof unfinished / sizeof unfinished[0]; i++) {
		const char *part = cache_find(&a, unfinished[i].part);
		if (part)
			unfinished[i].remove(part);
	}
	walk_cache(&w, &a);
	*removed = remove_dead(&w);
	struct unit *units = find_units(&w, &a, &count);
	for (size_t i = 0; i < count; i++)
		total += units[i].nbytes;
	const bool others = total > limit && claim_others_live();
	for (size_t i = 0; i < count && total > limit && !s; i++) {
		const struct entry *e = units[i].entry;
		const bool has_lock = is_made(e->part) || e->part == PART_COMPILED;
		bool gone = false;
		if (!has_lock && others && time(NULL) - units[i].used.tv_sec < FRESH_S)
			continue;
		s = has_lock ? remove_folder(&gone, &a, &w, e, err) : remove_file(&gone, e->unit, err);
		if (!s && gone) {
			total -= units[i].nbytes;
			*removed += units[i].nbytes;
		}
	}
	arena_done(&a);
	return s;
}

enum status cache_clear(uint64_t *removed, struct error *err)
{
	struct arena a = { 0 };
	struct walk w;
	enum status s = cache_check(err);

	*removed = 0;
	if (!s && claim_others_live())
		s = error_set(err, STATUS_FAILED,
			"%s: another assay uses it now, and may be about to open what would be removed: end it first, or --trim",
			cache_dir(&a));
	if (!s)
		s = cache_trim(0, removed, err);
	walk_cache(&w, &a);
	for (size_t i = 0; i < w.count && !s; i++)
		if (w.entries[i].part == PART_ARTIFACT && is_key(base_name(w.entries[i].folder))) {
			s = file_remove_tree(w.entries[i].folder, err);
			*removed += s ? 0 : w.entries[i].disk_bytes;
		}
	arena_done(&a);
	return s;
}

// ---- is it still what its name says -------------------------------------------------------------------------------------

struct verify {
	struct arena arena;
	struct text *report;
	unsigned char *buffer;
	size_t checked, bad;
	struct {
		dev_t device;
		ino_t inode;
	} * seen;
	size_t seen_count, seen_capacity;
};

static bool seen_before(struct verify *v, const struct stat *st)
{
	for (size_t i = 0; i < v->seen_count; i++)
		if (v->seen[i].inode == st->st_ino && v->seen[i].device == st->st_dev)
			return true;
	if (v->seen_count == v->seen_capacity) {
		size_t capacity = v->seen_capacity ? v->seen_capacity * 2 : 64;
		void *more = arena_array(&v->arena, capacity, sizeof *v->seen);
		if (v->seen_count)
			memcpy(more, v->seen, v->seen_count * sizeof *v->seen);
		v->seen = more;
		v->seen_capacity = capacity;
	}
	v->seen[v->seen_count].inode = st->st_ino;
	v->seen[v->seen_count++].device = st->st_dev;
	return false;
}

static const char download_again[] = "remove it and download it again", make_again[] = "remove its folder, and it is made again";

static enum status verify_file(struct verify *v, const char *path, const char *wanted, const char *advice, struct error *err)
{
	struct stat st;
	struct hash h;
	char hex[65];
	if (stat(path, &st))
		return STATUS_OK; // gone since it was listed
	if (seen_before(v, &st))
		return STATUS_OK;
	if (!S_ISREG(st.st_mode)) {
		v->checked++;
		v->bad++;
		visible_addf(v->report, "%s: is no file: %s\n", path, advice);
		return STATUS_OK;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_errno(err, "%s", path);
	// Read, not mapped: a file on a failing disk is an error here, not a signal.
	ssize_t n;
	hash_init(&h);
	while ((n = read(fd, v->buffer, READ_NBYTES)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			hash_add(&h, v->buffer, (size_t)n);
	enum status s = n < 0 ? error_errno(err, "%s", path) : STATUS_OK;
	close(fd);
	if (s)
		return s;
	hash_hex(&h, hex);
	v->checked++;
	if (strcmp(hex, wanted)) {
		v->bad++;
		visible_addf(v->report, "%s: its SHA-256 is %s, it should be %s: %s\n", path, hex, wanted, advice);
	}
	return STATUS_OK;
}

// The blobs of weights and ONNX files in one model's snapshots.
static enum status verify_snapshots(struct verify *v, const char *model, struct error *err)
{
	enum status s = STATUS_OK;
	const char *snapshots = arena_printf(&v->arena, "%s/snapshots", model);
	DIR *outer = opendir(snapshots);
	for (struct dirent *commit; outer && !s && (commit = readdir(outer));) {
		const char *folder = arena_printf(&v->arena, "%s/%s", snapshots, commit->d_name);
		DIR *inner = commit->d_name[0] != '.' ? opendir(folder) : NULL;
		for (struct dirent *e; inner && !s && (e = readdir(inner));) {
			if (!text_ends(e->d_name, ".safetensors") && !text_ends(e->d_name, ".onnx") &&
				!text_ends(e->d_name, ".bin"))
				continue;
			char *real = realpath(arena_printf(&v->arena, "%s/%s", folder, e->d_name), NULL);
			if (real && is_key(base_name(real)))
				s = verify_file(v, real, base_name(real), download_again, err);
			free(real);
		}
		if (inner)
			closedir(inner);
	}
	if (outer)
		closedir(outer);
	return s;
}

enum status cache_verify(struct text *report, size_t *bad, struct error *err)
{
	struct verify v = { .report = report };
	struct walk w;
	enum status s = STATUS_OK;
	v.buffer = arena_alloc(&v.arena, READ_NBYTES);
	walk_cache(&w, &v.arena);
	for (size_t i = 0; i < w.count && !s; i++) {
		const struct entry *e = &w.entries[i];
		const char *path = arena_printf(&v.arena, "%s/%s", e->folder, e->name), *key, *sha256;
		json_t *made;
		const char *etag = json_string_value(json_object_get(made_entry(&made, e), "identity"));
		if (etag && is_key(etag))
			s = verify_file(&v, path, etag, download_again, err);
		json_decref(made);
		if (text_ends(e->name, ".safetensors") && sealed_folder_note(e->folder, &v.arena, &key, &sha256))
			s = verify_file(&v, path, sha256, make_again, err);
	}
	const char *hub = hub_cache_dir(&v.arena);
	DIR *dir = s ? NULL : opendir(hub);
	for (struct dirent *e; dir && !s && (e = readdir(dir));)
		if (text_starts(e->d_name, "models--"))
			s = verify_snapshots(&v, arena_printf(&v.arena, "%s/%s", hub, e->d_name), err);
	if (dir)
		closedir(dir);
	if (!s) {
		text_addf(report, "%zu files whose SHA-256 is known were hashed\n", v.checked);
		*bad = v.bad;
	}
	arena_done(&v.arena);
	return s;
}
