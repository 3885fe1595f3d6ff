// SPDX-License-Identifier: Apache-2.0
// What the Hub lists, and which of it is wanted. The list comes from outside: names become paths on this disk, so that every one
// is checked, also those that will not be fetched.
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "hub/fetch_inside.h"
#include "hub/hub.h"

enum { PATH_LIMIT = 1024, PART_LIMIT = 255 };

bool fetch_path_is_safe(const char *path)
{
	if (!*path || strlen(path) > PATH_LIMIT)
		return false;
	for (const char *part = path;; part++) {
		size_t length = strcspn(part, "/");
		if (!length || length > PART_LIMIT || (part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.'))))
			return false;
		for (size_t i = 0; i < length; i++)
			if ((unsigned char)part[i] < 32 || part[i] == 127 || part[i] == '\\')
				return false;
		part += length;
		if (!*part)
			return true;
	}
}

bool fetch_name_is_good(const char *name)
{
	size_t slashes = 0, length = strlen(name);
	if (!length || length > 193 || strstr(name, "--") || strstr(name, ".."))
		return false;
	for (size_t i = 0; i < length; i++) {
		bool edge = !i || i + 1 == length || name[i - 1] == '/' || name[i + 1] == '/';
		if (name[i] == '/') {
			if (edge && (!i || i + 1 == length))
				return false;
			slashes++;
		} else if (name[i] == '.' || name[i] == '-') {
			if (edge)
				return false;
		} else if (name[i] != '_' && !(name[i] >= '0' && name[i] <= '9') && !(name[i] >= 'a' && name[i] <= 'z') &&
			!(name[i] >= 'A' && name[i] <= 'Z')) {
			return false;
		}
	}
	return slashes <= 1;
}

const char *const fetch_small_files[] = {
	"config.json",
	"generation_config.json",
	"preprocessor_config.json",
	"processor_config.json",
	"tokenizer.json",
	"tokenizer_config.json",
	"special_tokens_map.json",
	"added_tokens.json",
	"merges.txt",
	"chat_template.jinja",
	NULL,
};

bool fetch_is_small_file(const char *name)
{
	for (const char *const *p = fetch_small_files; *p; p++)
		if (!strcmp(*p, name))
			return true;
	return !strchr(name, '/') && (text_starts(name, "vocab.") || text_ends(name, ".model"));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct fetch_file *)a)->name, ((const struct fetch_file *)b)->name);
}

const struct fetch_file *fetch_list_find(const struct fetch_listing *l, const char *name)
{
	struct fetch_file key = { .name = name };
	return l->count ? bsearch(&key, l->files, l->count, sizeof key, by_name) : NULL;
}

static bool is_hex(const char *s, size_t digits)
{
	return s && strlen(s) == digits && strspn(s, "0123456789abcdef") == digits;
}

// A word of `o` that is so many hexadecimal digits, else NULL.
static const char *hex_of(struct arena *a, const json_t *o, const char *key, size_t digits)
{
	const char *s = json_string_value(json_object_get(o, key));
	return is_hex(s, digits) ? arena_strdup(a, s) : NULL;
}

static enum status size_of(int64_t *out, const json_t *value, const char *name, struct error *err)
{
	if (!value || json_is_null(value))
		return STATUS_OK;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return error_set(err, STATUS_BAD_INPUT, "the size of %s is not a number of bytes", name);
	*out = json_integer_value(value);
	return STATUS_OK;
}

static enum status entry(struct fetch_file *out, struct arena *a, const json_t *sibling, struct error *err)
{
	const char *name = json_string_value(json_object_get(sibling, "rfilename"));
	if (!name)
		return error_set(err, STATUS_BAD_INPUT, "a file has no name");
	if (!fetch_path_is_safe(name)) {
		char shown[65];
		size_t n = 0;
		for (; name[n] && n < sizeof shown - 1; n++)
			shown[n] = (unsigned char)name[n] < 32 || name[n] == 127 ? '?' : name[n];
		shown[n] = 0;
		return error_set(err, STATUS_BAD_INPUT,
			"a file is called \"%s\", which could lie outside of the model's folder: nothing is fetched", shown);
	}
	*out = (struct fetch_file){ .name = arena_strdup(a, name), .size = -1 };
	const json_t *lfs = json_object_get(sibling, "lfs");
	enum status s = size_of(&out->size, json_object_get(sibling, "size"), name, err);
	if (!s && json_is_object(lfs)) {
		s = size_of(&out->size, json_object_get(lfs, "size"), name, err);
		out->sha256 = hex_of(a, lfs, "sha256", 64);
	} else {
		out->git = hex_of(a, sibling, "blobId", 40);
	}
	return s;
}

static enum status parse(struct fetch_listing *out, struct arena *a, const json_t *root, struct error *err)
{
	const char *commit = json_string_value(json_object_get(root, "sha"));
	const json_t *siblings = json_object_get(root, "siblings");
	if (!is_hex(commit, 40) && !is_hex(commit, 64))
		return error_set(err, STATUS_BAD_INPUT, "no commit (\"sha\") in it; is this a Hub?");
	if (!json_is_array(siblings))
		return error_set(err, STATUS_BAD_INPUT, "no list of files (\"siblings\") in it; is this a Hub?");
	struct fetch_listing l = { .commit = arena_strdup(a, commit), .count = json_array_size(siblings) };
	l.files = ARENA_ARRAY(a, l.count + 1, struct fetch_file);
	for (size_t i = 0; i < l.count; i++) {
		enum status s = entry(&l.files[i], a, json_array_get(siblings, i), err);
		if (s)
			return s;
	}
	qsort(l.files, l.count, sizeof *l.files, by_name);
	for (size_t i = 1; i < l.count; i++)
		if (!strcmp(l.files[i - 1].name, l.files[i].name))
			return error_set(err, STATUS_BAD_INPUT, "%s is listed twice", l.files[i].name);
	*out = l;
	return STATUS_OK;
}

enum status fetch_list_parse(struct fetch_listing *out, struct arena *a, const char *data, size_t nbytes, struct error *err)
{
	json_t *root;
	enum status s = json_bytes("the list of files", data, nbytes, &root, err);
	if (s)
		return s;
	s = parse(out, a, root, err);
	if (s)
		error_prefix(err, "the list of files");
	json_decref(root);
	return s;
}

static int by_file(const void *a, const void *b)
{
	return strcmp((*(const struct fetch_file *const *)a)->name, (*(const struct fetch_file *const *)b)->name);
}

static enum status shards(const struct fetch_file ***out, size_t *count, struct arena *a, const struct fetch_listing *l,
	const struct json_pair *map, size_t map_count, struct error *err)
{
	const struct fetch_file **files = ARENA_ARRAY(a, map_count, const struct fetch_file *);
	size_t kept = 0;
	for (size_t i = 0; i < map_count; i++) {
		files[i] = map[i].text ? fetch_list_find(l, map[i].text) : NULL;
		if (!files[i])
			return error_set(err, STATUS_BAD_INPUT, "it names a file of weights that the repository does not have");
	}
	qsort(files, map_count, sizeof *files, by_file);
	for (size_t i = 0; i < map_count; i++)
		if (!kept || files[kept - 1] != files[i])
			files[kept++] = files[i];
	if (kept > HUB_SHARDS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "it names %zu files; at most %d are opened", kept, HUB_SHARDS_MOST);
	*out = files;
	*count = kept;
	return STATUS_OK;
}

enum status fetch_index_parse(const struct fetch_file ***out, size_t *count, struct arena *a, const struct fetch_listing *l,
	const char *index, const char *data, size_t nbytes, struct error *err)
{
	struct arena passing = { 0 };
	struct json_pair *map;
	size_t map_count;
	enum status s = json_strings(index, data, nbytes, "weight_map", &passing, &map, &map_count, err);
	if (!s && (s = shards(out, count, a, l, map, map_count, err)))
		error_prefix(err, "%s", index);
	arena_done(&passing);
	return s;
}
