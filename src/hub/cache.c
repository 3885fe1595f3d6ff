// SPDX-License-Identifier: Apache-2.0
// The layout of the Hub's cache, read only:
//     models--ORG--NAME/refs/REVISION            a file that holds a commit
//     models--ORG--NAME/snapshots/COMMIT/FILE    a link to ../../blobs/ETAG
#include "hub/inside.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

char *hub_cache_dir(struct arena *a)
{
	const char *cache = getenv("HF_HUB_CACHE"), *old = getenv("HUGGINGFACE_HUB_CACHE"), *hf = getenv("HF_HOME");
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (cache && *cache)
		return arena_strdup(a, cache);
	if (old && *old)
		return arena_strdup(a, old);
	if (hf && *hf)
		return arena_printf(a, "%s/hub", hf);
	if (xdg && *xdg)
		return arena_printf(a, "%s/huggingface/hub", xdg);
	return arena_printf(a, "%s/.cache/huggingface/hub", home ? home : "");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// "models--ORG--NAME" -> "ORG/NAME"; NULL for anything else. Organisations have no "--" in their names, models may.
static const char *name_of_folder(struct arena *a, const char *folder)
{
	if (!text_starts(folder, "models--") || !folder[8])
		return NULL;
	char *name = arena_strdup(a, folder + 8), *gap = strstr(name, "--");
	if (gap) {
		*gap = '/';
		memmove(gap + 1, gap + 2, strlen(gap + 2) + 1);
	}
	return name;
}

const char *hub_cache_folder(struct arena *a, const char *name)
{
	const char *slash = strchr(name, '/');
	return slash ? arena_printf(a, "%s/models--%.*s--%s", hub_cache_dir(a), (int)(slash - name), name, slash + 1)
		     : arena_printf(a, "%s/models--%s", hub_cache_dir(a), name);
}

void hub_cache_names(struct hub_names *out, struct arena *a)
{
	*out = (struct hub_names){ 0 };
	DIR *dir = opendir(hub_cache_dir(a));
	size_t capacity = 0;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		const char *name = name_of_folder(a, e->d_name);
		if (!name)
			continue;
		if (out->count == capacity) {
			capacity = capacity ? capacity * 2 : 32;
			const char **more = ARENA_ARRAY(a, capacity, const char *);
			if (out->count)
				memcpy(more, out->at, out->count * sizeof *more);
			out->at = more;
		}
		out->at[out->count++] = name;
	}
	if (dir)
		closedir(dir);
	if (out->count)
		qsort(out->at, out->count, sizeof *out->at, by_text);
}

// A revision may hold slashes ("refs/pr/1"), but stays below the folder it is looked for in.
static bool is_inside(const char *path)
{
	if (!*path || *path == '/')
		return false;
	for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
		if (!strcmp(p, "..") || text_starts(p, "../"))
			return false;
	return true;
}

// The only snapshot there is: a cache copied without its refs is common.
static const char *only_snapshot(struct arena *a, const char *model)
{
	DIR *dir = opendir(arena_printf(a, "%s/snapshots", model));
	const char *found = NULL;
	size_t count = 0;
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (e->d_name[0] != '.') {
			found = arena_strdup(a, e->d_name);
			count++;
		}
	if (dir)
		closedir(dir);
	return count == 1 ? found : NULL;
}

static const char *commit_of(struct arena *a, const char *model, const char *revision)
{
	char *text;
	size_t nbytes;
	const char *asked = revision ? revision : "main";
	if (!is_inside(asked))
		return NULL;
	if (!file_read(a, arena_printf(a, "%s/refs/%s", model, asked), 256, &text, &nbytes, NULL)) {
		text[strcspn(text, " \t\r\n")] = 0;
		return *text && *text != '.' && !strchr(text, '/') ? text : NULL;
	}
	if (revision)
		return !strchr(revision, '/') && file_is_dir(arena_printf(a, "%s/snapshots/%s", model, revision))
			? arena_strdup(a, revision)
			: NULL;
	return only_snapshot(a, model);
}

static bool has_any(struct arena *a, const char *folder)
{
	return hub_is_model(folder) || file_exists(arena_printf(a, "%s/model_index.json", folder));
}

enum status hub_cache_snapshot(
	const char **folder, const char **commit, struct arena *a, const char *name, const char *revision, struct error *err)
{
	*folder = NULL;
	const char *slash = strchr(name, '/');
	if (!is_inside(name) || *name == '.' || (slash && (strchr(slash + 1, '/') || !slash[1])))
		return STATUS_OK;
	const char *model = hub_cache_folder(a, name);
	if (!file_is_dir(model))
		return STATUS_OK;
	const char *found = commit_of(a, model, revision);
	if (!found)
		return error_set(err, STATUS_UNAVAILABLE, "%s is in the cache (%s), but not its revision \"%s\"", name, model,
			revision ? revision : "main");
	const char *snapshot = arena_printf(a, "%s/snapshots/%s", model, found);
	if (!has_any(a, snapshot))
		return error_set(err, STATUS_UNAVAILABLE, "%s is in the cache, but %s has no config.json: download it again",
			name, snapshot);
	*folder = snapshot;
	*commit = found;
	return STATUS_OK;
}

bool hub_has_weights(const char *folder)
{
	DIR *dir = opendir(folder);
	bool found = false;
	for (struct dirent *e; dir && !found && (e = readdir(dir));) {
		struct stat st;
		found = (text_ends(e->d_name, ".safetensors") || text_ends(e->d_name, ".safetensors.index.json") ||
				text_is(e->d_name, "pytorch_model.bin") || text_is(e->d_name, "pytorch_model.bin.index.json")) &&
			!fstatat(dirfd(dir), e->d_name, &st, 0);
	}
	if (dir)
		closedir(dir);
	return found;
}

// Are all files that an index names there?
static bool has_shards(const char *folder, const char *index)
{
	struct arena a = { 0 };
	struct json_pair *map;
	const char *path = arena_printf(&a, "%s/%s", folder, index);
	char *text;
	size_t nbytes, count = 0;
	bool whole = !file_read(&a, path, HUB_INDEX_LIMIT, &text, &nbytes, NULL) &&
		!json_strings(path, text, nbytes, "weight_map", &a, &map, &count, NULL);
	for (size_t i = 0; whole && i < count; i++)
		whole = map[i].text &&
			((i && text_is(map[i].text, map[i - 1].text)) ||
				file_exists(arena_printf(&a, "%s/%s", folder, map[i].text)));
	arena_done(&a);
	return whole;
}

bool hub_is_download(const char *folder)
{
	// What huggingface_hub leaves beside the files of `download --local-dir`, git beside those of a clone and ModelScope
	// beside its own; the model may be in a folder below. A home has the first of it, too, without what is in it.
	static const char *const marks[] = { ".cache/huggingface/download", ".git", ".msc", ".mv" };
	struct arena a = { 0 };
	char *real = realpath(folder, NULL), *models = real ? strstr(real, "/models--") : NULL;
	bool is = models && strstr(models, "/snapshots/");
	is = is || file_exists(arena_printf(&a, "%s/.cache/huggingface", folder));
	for (char *end = real ? real + strlen(real) : NULL; end && !is; end = strrchr(real, '/')) {
		*end = '\0';
		for (size_t i = 0; i < sizeof marks / sizeof *marks && !is; i++)
			is = file_exists(arena_printf(&a, "%s/%s", real, marks[i]));
	}
	free(real);
	arena_done(&a);
	return is;
}

bool hub_weights_are_whole(const char *folder)
{
	static const char *const forms[] = { "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
		"pytorch_model.bin.index.json", "diffusion_pytorch_model.safetensors",
		"diffusion_pytorch_model.safetensors.index.json" };
	struct arena a = { 0 };
	bool whole = false;
	for (size_t i = 0; i < sizeof forms / sizeof *forms && !whole; i++)
		whole = text_ends(forms[i], ".json") ? has_shards(folder, forms[i])
						     : file_exists(arena_printf(&a, "%s/%s", folder, forms[i]));
	arena_done(&a);
	return whole;
}
