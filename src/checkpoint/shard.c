// SPDX-License-Identifier: Apache-2.0
// A file of weights as a file: mapped, where it really lies, what names its content. What is in it is another file's matter.
#include "checkpoint/inside.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/hash.h"

enum status shard_check_pointer(const struct shard *shard, struct error *err)
{
	static const char pointer[] = "version https://git-lfs";
	if (shard->nbytes >= sizeof pointer - 1 && !memcmp(shard->map, pointer, sizeof pointer - 1))
		return error_set(err, STATUS_BAD_INPUT, "a Git LFS pointer, not the weights: run `git lfs pull` in its folder");
	return STATUS_OK;
}

// The Hub names a blob by its etag: the SHA-256 of a large file, the git SHA-1 of a small one.
static const char *hub_etag(struct arena *a, const char *real_path)
{
	const char *base = strrchr(real_path, '/');
	if (!base || base - real_path < 6 || memcmp(base - 6, "/blobs", 6))
		return NULL;
	const char *parent = base - 6;
	while (parent > real_path && parent[-1] != '/')
		parent--;
	size_t digits = strspn(base + 1, "0123456789abcdef");
	if (strncmp(parent, "models--", 8) || base[1 + digits] || (digits != 64 && digits != 40))
		return NULL;
	return arena_strdup(a, base + 1);
}

enum status shard_open(struct shard *out, struct arena *a, const char *path, struct error *err)
{
	enum status s;
	struct stat st;
	char real[PATH_MAX];
	struct shard opened = { .path = arena_strdup(a, path) };
	if ((s = file_map(a, path, &opened.map, &opened.nbytes, err)))
		return s;
	if (!realpath(path, real) || stat(real, &st))
		return error_errno(err, "%s", path);
	if ((uint64_t)st.st_size != opened.nbytes)
		return error_set(err, STATUS_FAILED, "%s: changed while it was opened", path);
	opened.stored_nbytes = (uint64_t)st.st_blocks * 512 < opened.nbytes ? (uint64_t)st.st_blocks * 512 : opened.nbytes;
	opened.real_path = arena_strdup(a, real);
	const char *base = strrchr(opened.real_path, '/');
	opened.location = base ? base + 1 : opened.real_path;
	opened.identity = hub_etag(a, real);
	if (!opened.identity)
		opened.identity = arena_printf(a, "%ju:%ju:%jd:%jd", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
			(intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	*out = opened;
	return STATUS_OK;
}

enum status shard_digest(char out[65], const struct shard *s, struct digest_watch *watch, struct error *err)
{
	struct hash h;
	if (s->digest[0]) {
		memcpy(out, s->digest, sizeof s->digest);
		return STATUS_OK;
	}
	if (!s->copied && !s->computed)
		return file_digest(out, s->real_path, watch, err);
	hash_init(&h);
	if (s->computed) // of how they are computed; what from, their files' digests say (checkpoint_digest)
		hash_add_text(&h, s->identity);
	else
		hash_add(&h, s->map, s->nbytes);
	hash_hex(&h, out);
	return STATUS_OK;
}

enum status checkpoint_digest(struct checkpoint *c, struct digest_watch *watch, struct error *err)
{
	enum status s = STATUS_OK;
	for (size_t i = 0; i < c->shard_count && !s; i++) {
		struct shard *of = &c->shards[i];
		char digest[65];
		struct hash h;
		if (!of->computed) {
			if (!(s = shard_digest(digest, of, watch, err)))
				memcpy(of->digest, digest, sizeof digest);
			continue;
		}
		hash_init(&h);
		hash_add_text(&h, of->identity);
		for (size_t k = 0; k < i; k++)
			hash_add_text(&h, c->shards[k].digest);
		hash_hex(&h, of->digest);
	}
	return s;
}
