// SPDX-License-Identifier: Apache-2.0
#include "artifact/identity.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "onnx/external.h"

static void folder_files(const char *folder, struct arena *a, struct model_file **out, size_t *count)
{
	static const char *const beside[] = { "config.json", "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin" };
	enum { BESIDE = sizeof beside / sizeof *beside };
	const char *const *weights;
	size_t weight_count, n = 0;

	checkpoint_files(folder, a, &weights, &weight_count);
	struct model_file *files = ARENA_ARRAY(a, weight_count + BESIDE, struct model_file);
	for (size_t i = 0; i < BESIDE; i++) {
		const char *path = arena_printf(a, "%s/%s", folder, beside[i]);
		if (!i || file_exists(path))
			files[n++] = (struct model_file){ beside[i], path };
	}
	for (size_t i = 0; i < weight_count; i++)
		files[n++] = (struct model_file){ weights[i], arena_printf(a, "%s/%s", folder, weights[i]) };
	*out = files;
	*count = n;
}

static void onnx_files(const char *path, struct arena *a, struct model_file **out, size_t *count)
{
	struct arena passing = { 0 };
	const char *const *names = NULL, *slash = strrchr(path, '/');
	const char *folder = slash ? arena_strndup(a, path, (size_t)(slash - path) + 1) : "";
	const uint8_t *map;
	size_t nbytes, n = 0, name_count = 0;

	if (!file_map(&passing, path, &map, &nbytes, NULL))
		onnx_external_locations(map, nbytes, a, &names, &name_count);
	arena_done(&passing);
	struct model_file *files = ARENA_ARRAY(a, name_count + 1, struct model_file);
	files[n++] = (struct model_file){ ".onnx", path };         // whatever it is called
	for (size_t i = 0; i < name_count; i++)
		files[n++] = (struct model_file){ names[i], names[i][0] == '/' ? names[i] : arena_printf(a, "%s%s", folder, names[i]) };
	*out = files;
	*count = n;
}

void model_files(const char *path, struct arena *a, struct model_file **out, size_t *count)
{
	if (file_is_dir(path))
		folder_files(path, a, out, count);
	else
		onnx_files(path, a, out, count);
}

static uint64_t size_of_all(const struct model_file *files, size_t count)
{
	uint64_t total = 0;
	struct stat st;

	for (size_t i = 0; i < count; i++)
		total += !stat(files[i].path, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	return total;
}

// A file that could be read but was not to its end.
static bool stops(enum status s, const char *path)
{
	struct stat st;

	return s == STATUS_INTERRUPTED || (!stat(path, &st) && S_ISREG(st.st_mode) && !access(path, R_OK));
}

enum status model_identity(char out[65], const char *path, struct digest_watch *watch, struct error *err)
{
	struct arena a = { 0 };
	struct model_file *files;
	struct hash h;
	size_t count;
	enum status s = STATUS_OK;

	model_files(path, &a, &files, &count);
	if (watch) {
		watch->done = 0;
		watch->total = size_of_all(files, count);
	}
	hash_init(&h);
	hash_add_text(&h, "model 1");
	for (size_t i = 0; i < count && !s; i++) {
		char digest[65];
		struct error why = { 0 };

		s = file_digest(digest, files[i].path, watch, &why);
		bool is_there = !s;
		if (s && !stops(s, files[i].path))
			s = STATUS_OK;
		if (s)
			error_set(err, s, "%s", why.text);
		hash_add_text(&h, files[i].name);
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
		hash_add_text(&h, stat(files[i].path, &st) ? "absent" :
			arena_printf(&a, "%jx %jx %jd %jd.%09ld %jd.%09ld", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, (intmax_t)st.st_size,
				(intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec));
	}
	hash_hex(&h, out);
	arena_done(&a);
}
