// SPDX-License-Identifier: Apache-2.0
// Vendors' libraries as files: where they lie and which version their names say. Nothing is opened here; whether a library loads
// is doctor's question.
#include "platform/facts.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

// ASSAY_ENGINE_PATH and the other folders, as library.c tells them, "+ FOLDER" a line.
static const char *engine_folders(struct arena *a)
{
	struct text t = { 0 }, list = { 0 };
	const char *out;

	library_search_path(&t);
	for (const char *at = text_get(&t); *at;) {
		const size_t n = strcspn(at, "\n");

		if (n > 2 && *at == '+') {
			text_add_bytes(&list, at + 2, n - 2);
			text_add(&list, "\n");
			text_add_bytes(&list, at + 2, n - 2);
			text_add(&list, "/*\n");
		}
		at += n + (at[n] == '\n');
	}
	out = arena_strdup(a, text_get(&list));
	text_done(&t);
	text_done(&list);
	return out;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

// The file that a link leads to says more: libcudart.so.13 -> libcudart.so.13.0.96.
static const char *full_version(struct arena *a, const char *path, const char *name)
{
	char *real = realpath(path, NULL);
	const char *full = real && text_starts(file_name(real), name) ? file_name(real) : file_name(path),
		   *version = full + strlen(name);
	const char *out = *version == '.' && version[1] ? arena_strdup(a, version + 1) : NULL;

	free(real);
	return out;
}

static void look(struct arena *a, const char *root, const char *folder, size_t folder_length, const char *name, json_t *out)
{
	const json_t *known = json_object_get(out, name);
	const char *best = known ? json_string_value(json_object_get(known, "path")) : NULL;
	glob_t found;

	if (glob(arena_printf(a, "%s%.*s/%s*", root, (int)folder_length, folder, name), 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i] + strlen(root), *rest = file_name(path) + strlen(name);

		if (*rest && *rest != '.')
			continue; // libcublasLt.so is not libcublas.so
		if (!best || strverscmp(file_name(path), file_name(best)) > 0)
			best = arena_strdup(a, path);
	}
	globfree(&found);
	if (!best)
		return;
	json_t *one = json_pack("{s:s}", "path", best);
	facts_text(one, "version", full_version(a, arena_printf(a, "%s%s", root, best), name));
	json_object_set_new(out, name, one);
}

json_t *facts_libraries(const struct sysfs *s, const char *names, const char *more)
{
	const char *folders = *s->root
		? "/usr/local/lib\n/usr/lib/x86_64-linux-gnu\n/usr/lib/aarch64-linux-gnu\n/usr/lib64\n/usr/lib\n"
		: engine_folders(s->arena);
	json_t *out = json_object();

	folders = arena_printf(s->arena, "%s%s%s", folders, more ? more : "", more ? "\n" : "");
	for (const char *at = names; *at;) {
		const size_t n = strcspn(at, " ");
		const char *name = arena_strndup(s->arena, at, n);

		for (const char *folder = folders; *folder;) {
			const size_t length = strcspn(folder, "\n");

			if (length)
				look(s->arena, s->root, folder, length, name, out);
			folder += length + (folder[length] == '\n');
		}
		at += n + (at[n] == ' ');
	}
	return out;
}
