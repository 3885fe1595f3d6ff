// SPDX-License-Identifier: Apache-2.0
// One file of a repository into the cache: lock, take up what is there, fetch, check, rename, link. A blob is whole and checked
// when it has its name; what is not carries ".incomplete" and is never linked.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/sha1.h>
#include <nettle/version.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"
#include "hub/fetch_inside.h"

enum { BLOCK = 1 << 20 };

// Made, and no link from `base` to it.
static enum status make_below(const struct fetch *f, const char *base, const char *folder, struct error *err)
{
	struct stat st;

	for (const char *at = folder + strlen(base); *at; at += strcspn(at, "/")) {
		const char *part;
		at += *at == '/';
		part = arena_strndup(f->inside->arena, folder, (size_t)(at + strcspn(at, "/") - folder));
		if (!lstat(part, &st) && S_ISLNK(st.st_mode))
			return error_set(err, STATUS_BAD_INPUT,
				"%s is a link, and the Hub's cache has none there: nothing is written through it; remove it",
				part);
	}
	return file_mkdirs(folder, err);
}

enum status fetch_folder(const struct fetch *f, const char *folder, struct error *err)
{
	return make_below(f, f->inside->repository, folder, err);
}

static const char *blob_path(const struct fetch *f, const char *etag, const char *end)
{
	return arena_printf(f->inside->arena, "%s/blobs/%s%s", f->inside->repository, etag, end);
}

// Bytes of a regular file; -1 when there is none. Follows links.
static int64_t size_at(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

static bool is_checked(const struct fetch_file *file) // by a hash
{
	return file->sha256 || file->git;
}

static bool is_whole(const char *path, int64_t size)
{
	int64_t there = size_at(path);
	return there >= 0 && (size < 0 || there == size);
}

// The Hub calls a blob by its hash, so that the list alone mostly tells its name.
static const char *likely_etag(const struct fetch_file *file)
{
	return file->etag ? file->etag : file->sha256 ? file->sha256 : file->git;
}

static bool is_others(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && st.st_uid != geteuid();
}

// This user's part of a blob where another user's has the Hub's own name for it.
static const char *own_partial(const struct fetch *f, const char *etag)
{
	return blob_path(f, etag, arena_printf(f->inside->arena, ".%lu.incomplete", (unsigned long)geteuid()));
}

// Where a blob is written: what an earlier try left is gone on with, and not what another user put there, who could change it or
// go on with it.
static const char *partial_path(const struct fetch *f, const char *etag)
{
	struct arena *a = f->inside->arena;
	const char *path = blob_path(f, etag, ".incomplete"), *own;

	if (!is_others(path))
		return path;
	own = own_partial(f, etag);
	return !is_others(own) ? own
			       : blob_path(f, etag, arena_printf(a, ".%016llx.incomplete", (unsigned long long)process_nonce()));
}

// Nobody resumes a part of a blob that is complete, of whichever user it is. Under its lock, so that none is written now.
static void drop_partials(const struct fetch *f, const char *etag)
{
	unlink(blob_path(f, etag, ".incomplete"));
	unlink(own_partial(f, etag));
}

void fetch_file_look(const struct fetch *f, struct fetch_file *file)
{
	const char *etag = likely_etag(file);
	file->here = is_whole(arena_printf(f->inside->arena, "%s/%s", f->folder, file->name), file->size);
	if (file->here || !etag)
		return;
	int64_t there = is_checked(file) ? size_at(partial_path(f, etag)) : 0; // else it is begun anew
	file->partial = there > 0 && (file->size < 0 || there <= file->size) ? (uint64_t)there : 0;
	if (is_whole(blob_path(f, etag, ""), file->size) && file->size >= 0)
		file->partial = (uint64_t)file->size; // only its link is missing
}

// ---- what the Hub says of it -------------------------------------------------------------------------------------

static const char *resolve_url(const struct fetch *f, const struct fetch_file *file)
{
	struct arena *a = f->inside->arena;
	return arena_printf(a, "%s/%s/resolve/%s/%s", f->inside->url, f->model, f->commit, http_quote(a, file->name, true));
}

static bool is_hex(const char *s, size_t digits)
{
	return strlen(s) == digits && strspn(s, "0123456789abcdef") == digits;
}

// An etag becomes the name of a file, and not of one that is being written: "x.incomplete" is where "x" comes.
static bool is_file_name(const char *etag)
{
	size_t n = strlen(etag);
	if (!n || n > 240 || *etag == '.' || text_ends(etag, ".incomplete"))
		return false;
	for (; *etag; etag++)
		if (*etag <= 32 || *etag > 126 || *etag == '/' || *etag == '\\')
			return false;
	return true;
}

enum status fetch_file_head(struct fetch *f, struct fetch_file *file, struct error *err)
{
	struct arena *a = f->inside->arena;
	struct http_answer x;
	struct http_request request = { .url = resolve_url(f, file), .head = true };
	enum status s = http_do(f->inside->http, &request, &x, err);
	if (s)
		return s;
	bool elsewhere = x.status / 100 == 3;
	if (x.status / 100 != 2 && !elsewhere)
		return fetch_refused(f, file, &x, err);
	if (x.commit[0] && strcmp(x.commit, f->commit))
		return error_set(err, STATUS_FAILED, "%s of commit %s was asked for, and the Hub answers with commit %s",
			file->name, f->commit, x.commit);
	const char *etag = x.linked_etag[0] ? x.linked_etag : x.etag;
	int64_t size = x.linked_size >= 0 ? x.linked_size : elsewhere ? -1 : x.length;
	if (size >= 0 && file->size >= 0 && size != file->size)
		return error_set(err, STATUS_FAILED, "%s: the Hub lists %lld bytes, and its server says %lld", file->name,
			(long long)file->size, (long long)size);
	if (file->sha256 && is_hex(etag, 64) && strcmp(etag, file->sha256))
		return error_set(err, STATUS_FAILED, "%s: the Hub lists SHA-256 %s, and its server says %s", file->name,
			file->sha256, etag);
	if (!*etag && likely_etag(file))
		etag = likely_etag(file);
	if (!is_file_name(etag))
		return error_set(err, STATUS_FAILED, "%s: the server says %s, which cannot name it in the cache; is %s a Hub?",
			file->name, *etag ? "an odd ETag" : "no ETag", f->endpoint);
	if (file->size < 0)
		file->size = size;
	file->version = !elsewhere && !x.linked_etag[0] && x.etag[0] && !x.is_weak ? arena_strdup(a, x.etag) : NULL;
	// A listed hash is the name, whatever the server says: under another, a blob that has the size would be taken unchecked.
	file->etag = likely_etag(file) ? likely_etag(file) : arena_strdup(a, etag);
	if (!file->sha256 && is_hex(file->etag, 64))
		file->sha256 = file->etag;
	// Only a Hub's short etag is git's hash of the file; elsewhere 40 digits can be anything.
	if (!file->sha256 && !file->git && is_hex(file->etag, 40) && x.commit[0])
		file->git = file->etag;
	// What nothing can check has the name of no blob that was checked, nor of another commit's or file's: it would be written
	// over that, or be taken for it.
	if (!is_checked(file))
		file->etag = arena_printf(a, "%.150s.%016llx%016llx.%s", file->etag,
			(unsigned long long)fnv1a64(file->name, strlen(file->name)),
			(unsigned long long)fnv1a64(file->etag, strlen(file->etag)), f->commit);
	return STATUS_OK;
}

// ---- the lock ----------------------------------------------------------------------------------------------------

static bool is_stopped(const struct fetch *f)
{
	return f->inside->watch->stop && *f->inside->watch->stop;
}

// As filelock does it for huggingface_hub: flock on a file that stays. Some versions remove it, so that the name is looked at
// again.
static enum status lock(const struct fetch *f, const struct fetch_file *file, int *out, struct error *err)
{
	struct arena *a = f->inside->arena;
	const struct fetch_watch *w = f->inside->watch;
	const char *folder = arena_printf(a, "%s/.locks/%s", f->inside->cache, strrchr(f->inside->repository, '/') + 1);
	const char *path = arena_printf(a, "%s/%s.lock", folder, file->etag);
	enum status s = make_below(f, f->inside->cache, folder, err);
	if (s)
		return s;
	double begin = clock_ms();
	for (bool told = false;;) {
		struct stat st;
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664);
		if (fd < 0)
			return error_errno(err, "%s: cannot be opened", path);
		if (!flock(fd, LOCK_EX | LOCK_NB)) {
			if (!fstat(fd, &st) && st.st_nlink) {
				*out = fd;
				return STATUS_OK;
			}
		} else if (errno != EWOULDBLOCK && errno != EINTR) {
			s = error_errno(err, "%s: cannot be locked", path);
			close(fd);
			return s;
		}
		close(fd);
		if (is_stopped(f))
			return error_set(
				err, STATUS_INTERRUPTED, "stopped while another download of %s was waited for", file->name);
		if (clock_ms() - begin > 1e3 * fetch_time_s(0))
			return error_set(err, STATUS_UNAVAILABLE, "%s: another process has had %s locked for %g s", file->name,
				path, fetch_time_s(0));
		if (!told && clock_ms() - begin > 500 && w->note) {
			w->note(w->context, arena_printf(a, "%s: another download of it runs; waiting for that", file->name));
			told = true;
		}
		poll(NULL, 0, 50);
	}
}

// ---- the bytes ---------------------------------------------------------------------------------------------------

struct sink {
	struct fetch *f;
	size_t i;
	int fd;
	const char *path;
	uint64_t at; // where the next byte goes; what lies before it is in the hash
	struct hash sha;
	uint64_t most; // of a file whose size is not listed
	bool refused;
	bool moved; // the server has another version by now
};

static void tell(const struct sink *k)
{
	const struct fetch_watch *w = k->f->inside->watch;
	if (w->bytes)
		w->bytes(w->context, k->f, k->i, k->at);
}

static enum status restart(struct sink *k, struct error *err)
{
	if (ftruncate(k->fd, 0))
		return error_errno(err, "%s", k->path);
	k->at = 0;
	hash_init(&k->sha);
	return STATUS_OK;
}

static enum status too_large(struct sink *k, struct error *err)
{
	k->refused = true;
	return error_set(err, STATUS_NO_SPACE,
		"%s: its size is not listed, and it has more than the %llu bytes that are taken of such a file",
		k->f->files[k->i].name, (unsigned long long)k->most);
}

static enum status sink_begin(void *context, const struct http_answer *x, struct error *err)
{
	struct sink *k = context;
	struct fetch_file *file = &k->f->files[k->i];
	enum status s = STATUS_OK;
	if (x->status == 206 &&
		(x->range_from < 0 || (uint64_t)x->range_from != k->at ||
			(x->range_total >= 0 && x->range_last != x->range_total - 1)))
		return error_set(err, STATUS_FAILED, "%s: byte %llu was asked for, and the server answers with another part",
			file->name, (unsigned long long)k->at);
	// Of what no hash is known, two versions would be joined unseen.
	const char *version = x->is_weak || !x->etag[0] ? NULL : x->etag;
	if (x->status == 206 && !is_checked(file) && (!version || !text_is(file->version, version))) {
		k->moved = true;
		file->version = NULL;
		s = restart(k, err);
		return s ? s
			 : error_set(err, STATUS_UNAVAILABLE,
				   "%s: the server has another version of it than the one that began, or does not say which",
				   file->name);
	}
	if (x->status != 206) // what comes from here on is of this version, or of nobody knows which
		file->version = version ? arena_strdup(k->f->inside->arena, version) : NULL;
	if (x->status != 206 && k->at) // it does not know ranges
		s = restart(k, err);
	int64_t whole = x->status == 206 ? x->range_total : x->length;
	if (!s && !x->has_end && file->size < 0 && !is_checked(file)) // a connection that is cut ends it, too
		return error_set(err, STATUS_FAILED, "%s: its server says neither how long it is nor where it ends", file->name);
	if (!s && file->size < 0 && whole >= 0 && (uint64_t)whole > k->most)
		return too_large(k, err);
	if (file->size < 0)
		file->size = whole;
	if (!s && whole >= 0 && whole != file->size)
		return error_set(err, STATUS_FAILED, "%s: the server has %lld bytes of it, and the Hub lists %lld", file->name,
			(long long)whole, (long long)file->size);
	return s;
}

static enum status sink_take(void *context, const void *data, size_t nbytes, struct error *err)
{
	struct sink *k = context;
	struct fetch_file *file = &k->f->files[k->i];
	if (file->size >= 0 && nbytes > (uint64_t)file->size - k->at)
		return error_set(
			err, STATUS_FAILED, "%s: the server sends more than its %lld bytes", file->name, (long long)file->size);
	if (file->size < 0 && nbytes > k->most - k->at)
		return too_large(k, err);
	errno = file_write_at(k->fd, data, nbytes, k->at);
	if (errno)
		return error_errno(err, "%s", k->path);
	hash_add(&k->sha, data, nbytes);
	k->at += nbytes;
	k->f->fetched_bytes += nbytes;
	tell(k);
	return STATUS_OK;
}

// Of a file whose size is not listed: a text is small, and weights leave room on the disk.
static uint64_t most_of(const struct fetch_file *file, const char *path)
{
	static const uint64_t text = 64 << 20, room = 1 << 30;
	uint64_t left = file_free_bytes(path);

	left = left > room ? left - room : 0;
	return !fetch_is_weights(file->name) && text < left ? text : left;
}

// What an earlier try left goes into the hash; of which version that was is not known where there is none.
static enum status take_up(struct sink *k, struct error *err)
{
	struct stat st;
	const struct fetch_file *file = &k->f->files[k->i];
	if (fstat(k->fd, &st))
		return error_errno(err, "%s", k->path);
	if (!st.st_size || !is_checked(file) || (file->size >= 0 ? st.st_size > file->size : (uint64_t)st.st_size > k->most))
		return restart(k, err);
	char *block = malloc(BLOCK);
	enum status s = block ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "no memory to read %s", k->path);
	while (!s && k->at < (uint64_t)st.st_size) {
		ssize_t n = pread(k->fd, block, BLOCK, (off_t)k->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			s = error_errno(err, "%s", k->path);
		else if (is_stopped(k->f))
			s = error_set(err, STATUS_INTERRUPTED, "stopped while %s was read", k->path);
		if (n <= 0)
			break;
		hash_add(&k->sha, block, (size_t)n);
		k->at += (uint64_t)n;
	}
	free(block);
	return s;
}

static enum status transfer(struct sink *k, struct error *err)
{
	struct fetch_file *file = &k->f->files[k->i];
	struct http_request request = {
		.url = resolve_url(k->f, file), .from = &k->at, .begin = sink_begin, .take = sink_take, .context = k
	};
	struct http_answer x;
	enum status s = STATUS_OK;
	if (file->size >= 0 && k->at == (uint64_t)file->size && k->at)
		return STATUS_OK;
	for (int tries = 0; tries < 2; tries++) {
		k->moved = false;
		s = http_do(k->f->inside->http, &request, &x, err);
		if (s && k->moved && tries == 0)
			continue; // from its beginning
		if (s)
			return error_prefix(err, "%s", file->name);
		if (x.status != 416 || !k->at)
			break;
		if ((s = restart(k, err))) // more than there is: it is not the start of this file
			return s;
	}
	if (x.status / 100 != 2)
		return fetch_refused(k->f, file, &x, err);
	if (file->size >= 0 && k->at != (uint64_t)file->size)
		return error_set(err, STATUS_FAILED, "%s: %llu bytes came, and the Hub lists %lld", file->name,
			(unsigned long long)k->at, (long long)file->size);
	return STATUS_OK;
}

// ---- the check ---------------------------------------------------------------------------------------------------

// git's name for these bytes: SHA-1 of "blob SIZE\0" and the bytes.
static enum status git_hash(char out[41], const char *path, struct error *err)
{
	static const char digits[] = "0123456789abcdef";
	struct arena a = { 0 };
	const uint8_t *data;
	size_t nbytes;
	enum status s = file_map(&a, path, &data, &nbytes, err);
	if (!s) {
		struct sha1_ctx sha;
		uint8_t digest[SHA1_DIGEST_SIZE];
		const char *head = arena_printf(&a, "blob %zu", nbytes);
		sha1_init(&sha);
		sha1_update(&sha, strlen(head) + 1, (const uint8_t *)head);
		if (nbytes)
			sha1_update(&sha, nbytes, data);
#if NETTLE_VERSION_MAJOR >= 4
		sha1_digest(&sha, digest);
#else
		sha1_digest(&sha, sizeof digest, digest);
#endif
		for (size_t i = 0; i < sizeof digest; i++) {
			out[2 * i] = digits[digest[i] >> 4];
			out[2 * i + 1] = digits[digest[i] & 15];
		}
		out[40] = 0;
	}
	arena_done(&a);
	return s;
}

static enum status check(struct sink *k, bool *good, struct error *err)
{
	struct fetch_file *file = &k->f->files[k->i];
	char found[65];
	enum status s = STATUS_OK;
	*good = true;
	if (!file->sha256 && !file->git) {
		file->checked = file->size >= 0 ? "size" : "nothing";
		return STATUS_OK;
	}
	if (file->sha256)
		hash_hex(&k->sha, found);
	else
		s = git_hash(found, k->path, err);
	if (s)
		return s;
	const char *wanted = file->sha256 ? file->sha256 : file->git, *what = file->sha256 ? "SHA-256" : "git's SHA-1";
	*good = !strcmp(found, wanted);
	file->checked = file->sha256 ? "sha256" : "git-sha1";
	if (!*good)
		return error_set(err, STATUS_FAILED, "%s: %s of what came is %s, and the Hub says %s; what came is thrown away",
			file->name, what, found, wanted);
	return STATUS_OK;
}

static int stop_hashing(void *context, uint64_t done, uint64_t total)
{
	(void)done, (void)total;
	return is_stopped(context);
}

// A file of the cache, which others may have put there, in the place of one that was checked. Its SHA-256 is remembered
// (base/digest.h), so that weights are read once. Not good: it is taken away, of a link the link.
static enum status check_here(struct fetch *f, struct fetch_file *file, const char *path, bool *good, struct error *err)
{
	struct digest_watch watch = { .progress = stop_hashing, .context = f };
	const char *wanted = file->sha256 ? file->sha256 : file->git;
	char found[65];
	struct stat st;
	enum status s;

	*good = true;
	if (!wanted)
		return STATUS_OK;
	if ((s = file->sha256 ? file_digest(found, path, &watch, err) : git_hash(found, path, err)))
		return s;
	if ((*good = !strcmp(found, wanted)))
		return STATUS_OK;
	if (f->inside->watch->note && !lstat(path, &st) && S_ISREG(st.st_mode))
		f->inside->watch->note(f->inside->watch->context,
			arena_printf(f->inside->arena, "%s: what lies in the cache in its place has another hash; fetched again",
				file->name));
	return unlink(path) && errno != ENOENT ? error_errno(err, "%s", path) : STATUS_OK;
}

// ---- one file ----------------------------------------------------------------------------------------------------

// What was begun under this name is gone on with; a file that has another name too is somebody's, and only loses this one.
static int open_partial(const char *path)
{
	enum { HOW = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW };
	int fd = open(path, HOW, 0666);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == geteuid()))
		return fd;
	close(fd);
	return unlink(path) == 0 ? open(path, HOW | O_EXCL, 0666) : -1;
}

static enum status fill(struct fetch *f, size_t i, const char *path, struct error *err)
{
	struct sink k = { .f = f, .i = i, .path = path, .most = most_of(&f->files[i], path) };
	struct error why = { 0 };
	bool good = true;
	k.fd = open_partial(path);
	if (k.fd < 0)
		return error_errno(err, "%s", path);
	hash_init(&k.sha);
	enum status s = take_up(&k, err);
	bool old = k.at > 0;
	if (!s) {
		tell(&k);
		s = transfer(&k, err);
	}
	if (!s && (s = check(&k, &good, &why)) && !good && old) {
		// The part of an earlier try may be what is wrong.
		if (f->inside->watch->note)
			f->inside->watch->note(f->inside->watch->context,
				arena_printf(f->inside->arena,
					"%s: what an earlier try left is not the start of it; fetched again from its beginning",
					f->files[i].name));
		why = (struct error){ 0 };
		if (!(s = restart(&k, err)) && !(s = transfer(&k, err)))
			s = check(&k, &good, &why);
	}
	if (why.status)
		error_set(err, why.status, "%s", why.text);
	if (!good || k.refused)
		unlink(path);
	if (!s && fsync(k.fd))
		s = error_errno(err, "%s", path);
	close(k.fd);
	return s;
}

static enum status link_file(const struct fetch *f, const struct fetch_file *file, struct error *err)
{
	struct arena *a = f->inside->arena;
	const char *path = arena_printf(a, "%s/%s", f->folder, file->name);
	struct text to = { 0 };
	text_add(&to, "../../");
	for (const char *p = file->name; *p; p++)
		if (*p == '/')
			text_add(&to, "../");
	text_addf(&to, "blobs/%s", file->etag);
	const char *target = arena_strdup(a, text_get(&to));
	text_done(&to);
	enum status s = fetch_folder(f, arena_strndup(a, path, (size_t)(strrchr(path, '/') - path)), err);
	if (s)
		return s;
	struct stat old;
	if (!lstat(path, &old) && !S_ISDIR(old.st_mode))
		unlink(path); // dead, or to a blob of another size
	if (!symlink(target, path))
		return STATUS_OK;
	if (errno == EPERM || errno == EOPNOTSUPP)
		return error_set(err, STATUS_FAILED,
			"%s: this file system has no symbolic links, which the Hub's cache is made of; let HF_HUB_CACHE name a "
			"folder of another",
			path);
	return error_errno(err, "%s: the link cannot be made", path);
}

enum status fetch_file_bring(struct fetch *f, size_t i, struct error *err)
{
	struct fetch_file *file = &f->files[i];
	const char *path = arena_printf(f->inside->arena, "%s/%s", f->folder, file->name);
	int locked = -1;
	enum status s;
	if (file->here && ((s = check_here(f, file, path, &file->here, err)) || file->here))
		return s;
	if (!file->etag && (s = fetch_file_head(f, file, err)))
		return s;
	const char *blob = blob_path(f, file->etag, "");
	if ((s = fetch_folder(f, arena_printf(f->inside->arena, "%s/blobs", f->inside->repository), err)) ||
		(s = lock(f, file, &locked, err)))
		return s;
	// Somebody else may have brought it since, or put something else there.
	bool whole = is_whole(blob, file->size);
	if (whole)
		s = check_here(f, file, blob, &whole, err);
	if (!s && !whole) {
		const char *partial = partial_path(f, file->etag);

		s = fill(f, i, partial, err);
		if (!s && rename(partial, blob))
			s = error_errno(err, "%s", blob);
	}
	if (!s)
		drop_partials(f, file->etag);
	if (!s && !is_whole(path, file->size))
		s = link_file(f, file, err);
	close(locked);
	if (s)
		return s;
	file->here = true;
	if (f->inside->watch->bytes)
		f->inside->watch->bytes(f->inside->watch->context, f, i, file->size >= 0 ? (uint64_t)file->size : 0);
	return STATUS_OK;
}
