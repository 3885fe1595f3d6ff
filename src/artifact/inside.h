// SPDX-License-Identifier: Apache-2.0
// Between the files of this folder: locks on what lies in the cache, and files that appear whole.
#ifndef ASSAY_ARTIFACT_INSIDE_H
#define ASSAY_ARTIFACT_INSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"

// file_place.c. A file under a temporary name beside `path`, empty, locked against other writers, to be finished with
// partial_keep or partial_drop; until then only its owner may open it. What a killed process left under that name is written
// over. The descriptor, or -1.
int partial_open(const char *path, struct error *err);
// Renames it to `path` and closes it. It has the rights of a new file, but none beyond `rights`, nor beyond those of what it
// replaces.
enum status partial_keep(int fd, const char *path, mode_t rights, struct error *err);
void partial_drop(int fd, const char *path);
// "1.8 GiB" into `out`.
const char *size_text(uint64_t nbytes, char out[32]);
// NO_SPACE, with both numbers, when the file system of `path` has less than this free.
enum status space_check(const char *path, uint64_t nbytes, struct error *err);

// unwritten.c. Tensors of synthetic files that lie nowhere, with their gains.
struct checkpoint;
struct graph;
struct unwritten {
	struct weight *weights;
	size_t count;
	uint64_t seed;
};
// The metadata of a file that leaves out weights[i] where left[i] is set; owned by the caller.
json_t *unwritten_metadata(const struct weight *weights, const bool *left, size_t count, uint64_t seed);
enum status unwritten_of(struct unwritten *out, struct arena *a, const struct checkpoint *c, struct error *err);
// The one that holds these bytes of its file; NULL: none.
const struct weight *unwritten_at(const struct unwritten *u, const char *location, uint64_t offset, uint64_t nbytes);
// UNSUPPORTED: the graph reads such a tensor as it lies.
enum status unwritten_check(const struct checkpoint *c, const struct graph *g, struct error *err);

// cache.c. An advisory lock (flock) on a file that is made for it: `mode` is LOCK_SH or LOCK_EX, with LOCK_NB. Closing the
// descriptor ends it. *fd is -1, with OK, when another process holds it.
enum status lock_open(int *fd, const char *path, int mode, struct error *err);
// cached.c. A folder CACHE/KIND/KEY that one process makes and everybody who asks for the same key shares; it is kept from being
// trimmed for the life of `a`.
struct cached {
	// err, which has no status before: why it could not be looked at; a folder that could not is not made anew.
	bool (*is_whole)(void *context, const char *folder, struct error *err);
	enum status (*make)(void *context, const char *folder, struct error *err); // into a folder under another name
	int (*wait)(void *context); // another process makes it; non-zero: stop. May be NULL.
	void *context;
	bool was_there; // told by cached_folder: it was whole when it was asked for
};
enum status cached_folder(
	const char **folder, struct arena *a, const char *kind, const char *key, struct cached *how, struct error *err);
// Away with one, unless somebody uses it; the arena that it was got with has ended.
void cached_folder_remove(const char *folder);

// copied.c. To `path`, in a folder of a graph in the cache, a shard that cannot be linked there: a link to its copy in the cache,
// which is made if absent and kept from being trimmed for the life of `a`. *how: "copy" or "reflink".
struct shard;
enum status copied_place(const struct shard *shard, const char *path, struct arena *a, const char **how, struct error *err);
void copied_hold(const struct shard *shard, struct arena *a); // keeps the copy likewise, where there is one

// Whether `name` is a key: 64 hex digits.
bool is_key(const char *name);
// Notes that the folder was used now; what cannot be written is left alone.
void stamp_used(const char *folder);

#endif
