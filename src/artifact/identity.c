// SPDX-License-Identifier: Apache-2.0
#include "artifact/identity.h"

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/pages.h"
#include "base/text.h"
#include "checkpoint/adapter.h"
#include "checkpoint/checkpoint.h"
#include "onnx/external.h"

enum { LOCATIONS_MOST = 10000 }; // one file a tensor, as some exporters write them, is some thousand

// The files of a model, or of a set of examples, lie in its folder. A snapshot of the Hub's cache is links into the blobs beside
// it: there the folder is CACHE/models--ORG--NAME, CACHE/datasets--ORG--NAME.
static bool root_of(char out[PATH_MAX], const char *folder)
{
	static const char *const marks[] = { "/models--", "/datasets--" };

	if (!realpath(*folder ? folder : ".", out))
		return false;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		for (char *at = strstr(out, marks[i]); at; at = strstr(at + 1, marks[i])) {
			char *end = at + 1 + strcspn(at + 1, "/");

			if (text_starts(end, "/snapshots/")) {
				*end = 0;
				return true;
			}
		}
	return true;
}

// Of a path below the folder: does it end within it, links followed? What is absent is nowhere else.
static bool is_within(const char *root, const char *path)
{
	char real[PATH_MAX];
	size_t n = strlen(root);

	if (!realpath(path, real))
		return true;
	return !strncmp(real, root, n) && (!real[n] || real[n] == '/' || (n && root[n - 1] == '/'));
}

bool model_has_inside(const char *folder, const char *path)
{
	char root[PATH_MAX];

	return root_of(root, folder) && is_within(root, path);
}

const char *model_plain_location(struct arena *a, const char *location)
{
	char *out = arena_strdup(a, location), *to = out;

	if (*location == '/' || strstr(location, "_ORT_MEM_ADDR_"))
		return NULL;
	for (const char *from = location; *from;) {
		size_t n = strcspn(from, "/");

		if (n == 2 && !memcmp(from, "..", 2))
			return NULL;
		if (n && !(n == 1 && *from == '.')) {
			if (to > out)
				*to++ = '/';
			memmove(to, from, n);
			to += n;
		}
		from += n + strspn(from + n, "/");
	}
	*to = 0;
	return out;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct model_file *)a)->name, ((const struct model_file *)b)->name);
}

static void folder_files(const char *folder, struct arena *a, struct model_file **out, size_t *count)
{
	static const char *const beside[] = { "config.json", "adapter_config.json", "adapter_model.safetensors",
		"adapter_model.bin" };
	enum { BESIDE = sizeof beside / sizeof *beside };
	const char *const *weights;
	size_t weight_count, n = 0;
	char root[PATH_MAX];
	bool known = root_of(root, folder);

	const char *base = NULL, *model = folder;
	if (adapter_is(folder) && !adapter_base(&base, a, folder, NULL)) // its base is the model, wherever that lies
		model = base;
	checkpoint_files(model, a, &weights, &weight_count);
	struct model_file *files = ARENA_ARRAY(a, weight_count + BESIDE, struct model_file);
	for (size_t i = 0; i < BESIDE; i++) {
		const char *path = arena_printf(a, "%s/%s", i ? folder : model, beside[i]);
		// Of a model that is none an adapter is not measured: one that lies elsewhere is not looked at.
		if (!i || file_exists(path))
			files[n++] =
				(struct model_file){ beside[i], !i || base || (known && is_within(root, path)) ? path : NULL };
	}
	for (size_t i = 0; i < weight_count; i++)
		files[n++] = (struct model_file){ weights[i], arena_printf(a, "%s/%s", model, weights[i]) };
	*out = files;
	*count = n;
}

static bool ends_in(const char *name, const char *const *ends)
{
	while (*ends && !text_ends(name, *ends))
		ends++;
	return *ends;
}

bool model_is_weights(const char *name)
{
	return ends_in(name, (const char *const[]){ ".safetensors", ".bin", ".onnx", ".onnx_data", ".data", ".gguf", NULL });
}

// Of a model's files: a picture or a database that the user lets lie among them is none.
static bool is_read(const char *name)
{
	return model_is_weights(name) ||
		ends_in(name, (const char *const[]){ ".json", ".jinja", ".txt", ".model", ".tiktoken", NULL });
}

enum { TREE_MOST = 4096 }; // files; more than a model has

static bool add_tree(struct arena *a, const char *folder, const char *within, int depth, struct model_file *out, size_t *count)
{
	DIR *d = opendir(folder);
	bool all = d != NULL;
	int code = 0;

	for (struct dirent *e; all && (e = file_next(d, &code));) {
		struct stat st;
		const char *path = arena_printf(a, "%s/%s", folder, e->d_name),
			   *name = arena_printf(a, "%s%s", within, e->d_name);

		if (e->d_name[0] == '.' || stat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode))
			all = depth + 1 >= MODEL_TREE_DEEP ||
				add_tree(a, path, arena_printf(a, "%s/", name), depth + 1, out, count);
		else if (S_ISREG(st.st_mode) && is_read(e->d_name) && (all = *count < TREE_MOST))
			out[(*count)++] = (struct model_file){ name, path };
	}
	if (d)
		closedir(d);
	return all && !code;
}

bool model_tree(const char *folder, struct arena *a, struct model_file **out, size_t *count)
{
	*out = ARENA_ARRAY(a, TREE_MOST, struct model_file);
	*count = 0;
	bool all = add_tree(a, folder, "", 0, *out, count);
	qsort(*out, *count, sizeof **out, by_name);
	return all;
}

// Why nothing can be said of the whole model, or NULL. *external: what the graph says.
static const char *onnx_files(
	const char *path, struct arena *a, struct model_file **out, size_t *count, struct onnx_external *external)
{
	struct arena passing = { 0 };
	const char *slash = strrchr(path, '/'), *why = NULL;
	const char *folder = slash ? arena_strndup(a, path, (size_t)(slash - path) + 1) : "";
	const uint8_t *map;
	size_t nbytes, n = 0, kept = 1;
	char root[PATH_MAX];
	bool known = root_of(root, folder);
	const unsigned lost = pages_lost();

	*external = (struct onnx_external){ 0 };
	if (!file_map(&passing, path, &map, &nbytes, NULL))
		why = onnx_external_read(map, nbytes, a, external);
	if (pages_lost() != lost)
		why = "a part of it cannot be read";
	arena_done(&passing);
	struct model_file *files = ARENA_ARRAY(a, external->count + 1, struct model_file);
	files[n++] = (struct model_file){ ".onnx", path }; // whatever it is called
	for (size_t i = 0; i < external->count; i++) {
		const char *plain = model_plain_location(a, external->locations[i]);

		files[n++] = (struct model_file){ plain ? plain : external->locations[i],
			plain ? arena_printf(a, "%s%s", folder, plain) : NULL };
	}
	if (external->count)
		qsort(files + 1, external->count, sizeof *files, by_name);
	for (size_t i = 1; i < n; i++)
		if (kept == 1 || strcmp(files[kept - 1].name, files[i].name))
			files[kept++] = files[i];
	if (kept > LOCATIONS_MOST + 1) {
		why = why ? why : arena_printf(a, "names %zu files of weights; at most %d are read", kept - 1, LOCATIONS_MOST);
		kept = 1;
	}
	for (size_t i = 1; i < kept; i++)
		if (files[i].path && !(known && is_within(root, files[i].path)))
			files[i].path = NULL;
	*out = files;
	*count = kept;
	return why;
}

enum { TRUTHS_MOST = 1 << 28, PIECE = 1 << 24 }; // bytes, which may be the same ones for several tensors

// Truth values in other files, all of which lie within the model's folder.
static const char *check_truths(const char *path, struct arena *a, const struct onnx_external *external)
{
	const char *slash = strrchr(path, '/'), *folder = slash ? arena_strndup(a, path, (size_t)(slash - path) + 1) : "",
		   *why = NULL;
	const uint8_t *map;
	size_t nbytes;
	uint64_t looked_at = 0;

	for (size_t i = 0; i < external->truths_count && !why; i++) {
		struct arena passing = { 0 };
		const struct onnx_truths *t = &external->truths[i];
		if (!file_map(&passing, arena_printf(a, "%s%s", folder, t->location), &map, &nbytes, NULL) &&
			t->offset < nbytes) {
			const size_t left = nbytes - (size_t)t->offset, n = t->nbytes < left ? (size_t)t->nbytes : left;
			looked_at += n;
			why = looked_at > TRUTHS_MOST ? "has more than 256 MiB of truth values in other files" : NULL;
			for (size_t at = 0; at < n && !why; at += PIECE) {
				const uint8_t *piece = map + t->offset + at;
				const size_t length = n - at < PIECE ? n - at : PIECE;
				why = onnx_check_truths(piece, length);
				pages_forget(piece, length);
			}
		}
		arena_done(&passing);
	}
	return why;
}

enum status model_check_places(const char *path, struct error *err)
{
	struct arena a = { 0 };
	struct onnx_external external;
	struct model_file *files;
	size_t count;
	enum status s = STATUS_OK;

	if (file_is_dir(path) || text_ends(path, ".gguf"))
		return STATUS_OK;
	const char *why = onnx_files(path, &a, &files, &count, &external);
	if (why)
		s = error_set(err, STATUS_BAD_INPUT, "%s: %s", path, why);
	for (size_t i = 0; i < count && !s; i++)
		if (!files[i].path)
			s = error_set(err, STATUS_BAD_INPUT,
				"%s: says that weights lie in \"%.200s\", which is outside of the model's folder, or a link that "
				"leads there: that is not opened",
				path, files[i].name);
	if (!s && (why = check_truths(path, &a, &external)))
		s = error_set(err, STATUS_BAD_INPUT, "%s: %s", path, why);
	arena_done(&a);
	return s;
}

void model_files(const char *path, struct arena *a, struct model_file **out, size_t *count)
{
	if (file_is_dir(path)) {
		folder_files(path, a, out, count);
	} else if (text_ends(path, ".gguf")) {
		*out = ARENA_NEW(a, struct model_file);
		**out = (struct model_file){ ".gguf", path }; // whatever it is called
		*count = 1;
	} else {
		struct onnx_external external;
		onnx_files(path, a, out, count, &external);
	}
}

static uint64_t size_of_all(const struct model_file *files, size_t count)
{
	uint64_t total = 0;
	struct stat st;

	for (size_t i = 0; i < count; i++)
		total += files[i].path && !stat(files[i].path, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	return total;
}

// A file that could be read but was not to its end.
static bool stops(enum status s, const char *path)
{
	struct stat st;

	return s == STATUS_INTERRUPTED || (!stat(path, &st) && S_ISREG(st.st_mode) && !access(path, R_OK));
}

struct seen {
	dev_t device;
	ino_t inode;
	char digest[65];
};

// Many names of one file are one file: it is hashed once.
static enum status digest_once(
	char out[65], const char *path, struct seen *seen, size_t *count, struct digest_watch *watch, struct error *err)
{
	struct stat st;
	bool known = !stat(path, &st);

	for (size_t i = 0; known && i < *count; i++)
		if (seen[i].inode == st.st_ino && seen[i].device == st.st_dev) {
			memcpy(out, seen[i].digest, sizeof seen[i].digest);
			return STATUS_OK;
		}
	enum status s = file_digest(out, path, watch, err);
	if (!s && known) {
		seen[*count] = (struct seen){ .device = st.st_dev, .inode = st.st_ino };
		memcpy(seen[(*count)++].digest, out, sizeof seen->digest);
	}
	return s;
}

enum status model_identity(char out[65], const char *path, struct digest_watch *watch, struct error *err)
{
	struct arena a = { 0 };
	struct model_file *files;
	struct hash h;
	size_t count, seen_count = 0;
	enum status s = STATUS_OK;

	model_files(path, &a, &files, &count);
	struct seen *seen = ARENA_ARRAY(&a, count, struct seen);
	if (watch) {
		watch->done = 0;
		watch->total = size_of_all(files, count);
	}
	hash_init(&h);
	hash_add_text(&h, "model 1");
	for (size_t i = 0; i < count && !s; i++) {
		char digest[65];
		struct error why = { 0 };

		hash_add_text(&h, files[i].name);
		if (!files[i].path) {
			hash_add_text(&h, "outside");
			continue;
		}
		s = digest_once(digest, files[i].path, seen, &seen_count, watch, &why);
		bool is_there = !s;
		if (s && !stops(s, files[i].path))
			s = STATUS_OK;
		if (s)
			error_set(err, s, "%s", why.text);
		hash_add_text(&h, is_there ? digest : file_exists(files[i].path) ? "unreadable" : "absent");
	}
	hash_hex(&h, out);
	arena_done(&a);
	return s;
}

void model_fingerprint(char out[65], const char *path)
{
	struct arena a = { 0 };
	struct model_file *files;
	struct hash h;
	size_t count;

	model_files(path, &a, &files, &count);
	hash_init(&h);
	hash_add_text(&h, "fingerprint 1");
	for (size_t i = 0; i < count; i++) {
		struct stat st;

		hash_add_text(&h, files[i].name);
		hash_add_text(&h,
			!files[i].path ? "outside"
				: stat(files[i].path, &st)
				? "absent"
				: arena_printf(&a, "%jx %jx %jd %jd.%09ld %jd.%09ld", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
					  (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
					  (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec));
	}
	hash_hex(&h, out);
	arena_done(&a);
}

enum status model_check_given(const char *path, const char *said, struct error *err)
{
	struct arena a = { 0 };
	struct model_file *files;
	size_t count;
	enum status s = STATUS_OK;

	model_files(path, &a, &files, &count);
	for (size_t i = 0; i < count && !s; i++)
		if (files[i].path)
			s = file_check_given(files[i].path, said, err);
	arena_done(&a);
	return s;
}
