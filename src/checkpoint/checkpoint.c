// SPDX-License-Identifier: Apache-2.0
// A checkpoint's folder: config.json, and which files hold which weights. File names come from an index file and
// must be plain names inside the folder.
#include "checkpoint/checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/adapter.h"
#include "checkpoint/computing.h"
#include "checkpoint/gguf.h"
#include "checkpoint/inside.h"
#include "hub/hub.h"

enum { CONFIG_LIMIT = 8 << 20 };

static void release_json(void *v)
{
	json_decref(v);
}

// How many of text's bytes spell `word`; 0 when it is another.
static size_t spells(const char *text, const char *end, const char *word)
{
	size_t n = strlen(word);
	return (size_t)(end - text) >= n && !memcmp(text, word, n) ? n : 0;
}

// JSON as Python writes it made JSON: NaN and the infinities become objects, integers beyond 64 bits become reals. Only what
// stands outside strings is looked at. Anything else wrong is left for the parser to refuse.
static void python_json(struct text *out, const char *p, size_t nbytes)
{
	static const char *const words[] = { "NaN", "Infinity", "-Infinity" };
	const char *end = p + nbytes, *kept = p;
	bool in_string = false;
	while (p < end) {
		if (in_string) {
			in_string = *p != '"';
			p += *p == '\\' && p + 1 < end ? 2 : 1;
			continue;
		}
		size_t n = 0;
		for (int i = 0; i < 3 && !n && (*p == 'N' || *p == 'I' || *p == '-'); i++)
			if ((n = spells(p, end, words[i]))) {
				text_add_bytes(out, kept, (size_t)(p - kept));
				text_addf(out, "{\"__float__\":\"%s\"}", words[i]);
				kept = p += n;
			}
		if (n)
			continue;
		if (*p == '-' || (*p >= '0' && *p <= '9')) {
			const char *number = p++;
			bool whole = true;
			for (; p < end && *p && strchr("0123456789.eE+-", *p); p++)
				whole &= *p >= '0' && *p <= '9';
			char digits[24];
			size_t length = (size_t)(p - number);
			bool beyond = length >= sizeof digits;
			if (!beyond && length > 18) {
				memcpy(digits, number, length);
				digits[length] = 0;
				errno = 0;
				(void)strtoll(digits, NULL, 10);
				beyond = errno == ERANGE;
			}
			if (whole && beyond) {
				text_add_bytes(out, kept, (size_t)(p - kept));
				text_add(out, ".0");
				kept = p;
			}
			continue;
		}
		in_string = *p++ == '"';
	}
	text_add_bytes(out, kept, (size_t)(p - kept));
}

enum status checkpoint_json(const char *name, const char *data, size_t nbytes, json_t **out, struct error *err)
{
	struct text fixed = { 0 };
	// Before the copy: each NaN makes it longer.
	if (json_weight(data, nbytes, JSON_MOST) > JSON_MOST)
		return json_bytes(name, data, nbytes, out, err);
	python_json(&fixed, data, nbytes);
	enum status s = json_bytes(name, text_get(&fixed), fixed.length, out, err);
	text_done(&fixed);
	return s;
}

// diffusers names a model by its class alone: that is its type, and its only architecture.
static void name_by_class(json_t *config)
{
	const char *name = json_string_value(json_object_get(config, "_class_name"));

	if (!name || json_object_get(config, "model_type"))
		return;
	// Two classes had one name once.
	const char *norm = json_string_value(json_object_get(config, "norm_type"));
	if (text_is(name, "Transformer2DModel") && text_is(norm, "ada_norm_single"))
		name = "PixArtTransformer2DModel";
	else if (text_is(name, "Transformer2DModel") && text_is(norm, "ada_norm_zero"))
		name = "DiTTransformer2DModel";
	json_object_set_new(config, "model_type", json_sprintf("diffusers:%s", name));
	json_object_set_new(config, "architectures", json_pack("[s]", name));
}

static enum status read_config(struct checkpoint *c, const char *name, const char *data, size_t nbytes, struct error *err)
{
	enum status s = checkpoint_json(name, data, nbytes, &c->config, err);
	if (s)
		return s;
	arena_defer(&c->arena, release_json, c->config);
	size_t blank = 0;
	while (blank < nbytes && strchr(" \t\r\n", data[blank]))
		blank++;
	if (!json_is_object(c->config) || data[blank] != '{') // a file that says NaN has become an object
		return error_set(err, STATUS_BAD_INPUT, "%s: not a JSON object, so not a model's configuration", name);
	name_by_class(c->config);
	return STATUS_OK;
}

// A name that stays inside the folder it is used in.
static bool is_plain_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && !strchr(name, '\\') && strlen(name) < 256;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_weight(const void *a, const void *b)
{
	return strcmp(((const struct weight *)a)->name, ((const struct weight *)b)->name);
}

// The distinct file names of an index, sorted.
static enum status shard_names(
	const struct json_pair *map, size_t map_count, const char ***out, size_t *ret_count, struct arena *a, struct error *err)
{
	const char **names = ARENA_ARRAY(a, map_count, const char *);
	size_t kept = 0;
	for (size_t i = 0; i < map_count; i++) {
		const char *file = map[i].text;
		if (!file || !is_plain_name(file))
			return error_set(err, STATUS_BAD_INPUT,
				"tensor \"%.200s\": \"%.200s\" is not the name of a file in the folder", map[i].name,
				file ? file : "(no string)");
		names[i] = file;
	}
	qsort(names, map_count, sizeof *names, by_text);
	for (size_t i = 0; i < map_count; i++)
		if (!kept || strcmp(names[kept - 1], names[i]))
			names[kept++] = names[i];
	if (kept > HUB_SHARDS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%zu files; at most %d are opened", kept, HUB_SHARDS_MOST);
	*out = names;
	*ret_count = kept;
	return STATUS_OK;
}

// What an index says: which tensor is in which file, sorted by tensor; the files, sorted, each once. In `a`.
static enum status read_index(const char *path, struct json_pair **map, size_t *map_count, const char ***names, size_t *count,
	struct arena *a, struct error *err)
{
	char *text;
	size_t nbytes;
	enum status s = file_read(a, path, HUB_INDEX_LIMIT, &text, &nbytes, err);
	if (s || (s = json_strings(path, text, nbytes, "weight_map", a, map, map_count, err)))
		return s;
	if ((s = shard_names(*map, *map_count, names, count, a, err)))
		error_prefix(err, "%s", path);
	return s;
}

static const struct shard *find_shard(const struct checkpoint *c, const char *file)
{
	for (size_t low = 0, high = c->shard_count; low < high;) {
		size_t middle = (low + high) / 2;
		int order = strcmp(file, strrchr(c->shards[middle].path, '/') + 1);
		if (!order)
			return &c->shards[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

// In different folders two files may have one name. Then it cannot be the name of both beside a graph.
static void unique_locations(struct checkpoint *c)
{
	for (size_t i = 0; i < c->shard_count; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcmp(c->shards[i].location, c->shards[j].location) &&
				strcmp(c->shards[i].real_path, c->shards[j].real_path)) {
				checkpoint_plain_locations(c);
				return;
			}
}

// Opens the named files of the folder and merges their weights.
static enum status open_shards(struct checkpoint *c, const char *const *names, size_t count, struct error *err)
{
	struct weight **parts = ARENA_ARRAY(&c->arena, count, struct weight *);
	size_t *counts = ARENA_ARRAY(&c->arena, count, size_t), total = 0, headers = 0;
	c->shards = ARENA_ARRAY(&c->arena, count + SHARDS_MORE, struct shard);
	for (size_t i = 0; i < count; i++) {
		enum status s = (text_ends(names[i], ".safetensors") ? safetensors_open : torch_open)(&c->arena,
			arena_printf(&c->arena, "%s/%s", c->path, names[i]), &c->shards[i], &parts[i], &counts[i], err);
		if (s)
			return s;
		total += counts[i];
		headers += c->shards[i].header_nbytes;
		if (total > TENSORS_MOST || headers > HEADERS_MOST)
			return error_set(err, STATUS_BAD_INPUT,
				"%s: with it the checkpoint has %zu tensors and %zu bytes of headers; at most %d and %d are read",
				c->shards[i].path, total, headers, TENSORS_MOST, HEADERS_MOST);
	}
	c->shard_count = count;
	c->weight_count = total;
	unique_locations(c);
	if (count == 1) {
		c->weights = parts[0];
		return STATUS_OK;
	}
	c->weights = ARENA_ARRAY(&c->arena, total, struct weight);
	size_t at = 0;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < counts[i]; j++)
			c->weights[at++] = parts[i][j];
		pages_forget(parts[i], counts[i] * sizeof *parts[i]);
	}
	qsort(c->weights, total, sizeof *c->weights, by_weight);
	for (size_t i = 1; i < total; i++)
		if (!strcmp(c->weights[i - 1].name, c->weights[i].name))
			return error_set(err, STATUS_BAD_INPUT, "%s: tensor \"%.200s\" is in %s too", c->weights[i].shard->path,
				c->weights[i].name, c->weights[i - 1].shard->path);
	return STATUS_OK;
}

static enum status open_index(struct checkpoint *c, const char *path, struct error *err)
{
	struct arena passing = { 0 };
	struct json_pair *map = NULL;
	const char **names = NULL;
	size_t count = 0, map_count = 0;
	enum status s = read_index(path, &map, &map_count, &names, &count, &passing, err);
	if (!s)
		s = open_shards(c, names, count, err);
	for (size_t i = 0; i < map_count && !s; i++) {
		const struct weight *w = checkpoint_find(c, map[i].name);
		if (!w || w->shard != find_shard(c, map[i].text))
			s = error_set(
				err, STATUS_BAD_INPUT, "%s: tensor \"%.200s\" is not in %s", path, map[i].name, map[i].text);
	}
	arena_done(&passing);
	return s;
}

// In the order of transformers: the first that is there, alone or as an index of shards.
static const char *const weight_names[] = { "model.safetensors", "pytorch_model.bin", "diffusion_pytorch_model.safetensors" };
enum { WEIGHT_NAMES = sizeof weight_names / sizeof *weight_names };

// Other weights than those of `file` that transformers takes by the folder: those of a file that the configuration names, or an
// adapter beside them, which it merges where peft is installed.
static enum status check_only_weights(struct checkpoint *c, const char *folder, const char *file, struct error *err)
{
	const char *named = json_string_value(json_object_get(c->config, "transformers_weights"));

	if (named && !text_is(named, file))
		return error_set(err, STATUS_UNSUPPORTED,
			"%s/config.json: \"transformers_weights\" names %.200s, which is not read yet in the place of %s", folder,
			named, file);
	if (file_exists(arena_printf(&c->arena, "%s/adapter_config.json", folder)) &&
		file_exists(arena_printf(&c->arena, "%s/%s", folder, adapter_file(folder))))
		return error_set(err, STATUS_UNSUPPORTED,
			"%s: has an adapter beside the weights of its model, which transformers merges into them where peft is "
			"installed: that is not read yet; let each have a folder of its own",
			folder);
	return STATUS_OK;
}

// `adapter`: the folder of one that is merged into this model; or NULL.
static enum status open_folder(struct checkpoint *c, const char *folder, const char *adapter, struct error *err)
{
	char *text;
	size_t nbytes;
	enum status s;
	c->path = arena_strdup(&c->arena, folder);
	if ((s = file_reach(folder, err)))
		return s;
	if (!file_is_dir(folder))
		return error_set(err, STATUS_BAD_INPUT, "%s: %s", folder,
			file_exists(folder) ? "not a folder" : "there is no such folder");
	const char *config = arena_printf(&c->arena, "%s/config.json", folder);
	if (!file_exists(config))
		return error_set(err, STATUS_BAD_INPUT, "%s: has no config.json, so it is not the folder of a model", folder);
	struct arena passing = { 0 };
	if (!(s = file_read(&passing, config, CONFIG_LIMIT, &text, &nbytes, err)))
		s = read_config(c, config, text, nbytes, err);
	arena_done(&passing);
	if (s)
		return s;
	for (int i = 0; i < WEIGHT_NAMES; i++) {
		const char *index = arena_printf(&c->arena, "%s/%s.index.json", folder, weight_names[i]);
		bool single = file_exists(arena_printf(&c->arena, "%s/%s", folder, weight_names[i]));
		if (!single && !file_exists(index))
			continue;
		s = check_only_weights(c, folder, weight_names[i], err);
		s = s ? s : single ? open_shards(c, &weight_names[i], 1, err) : open_index(c, index, err);
		return s || (s = views_copy(c, err)) ? s : computed_find(c, adapter, err);
	}
	return computed_find(c, adapter, err);
}

// Beside a graph a location stands for one file, and assay puts some of its own there: what is computed, copied views, an
// adapter's, which come after unique_locations.
static enum status check_locations(const struct checkpoint *c, struct error *err)
{
	static const char *const own[] = { "made.json", "used" };

	for (size_t i = 0; i < c->shard_count; i++) {
		const struct shard *s = &c->shards[i];
		bool taken = text_starts(s->location, "converted-") || text_ends(s->location, ".onnx");

		for (size_t k = 0; k < sizeof own / sizeof *own; k++)
			taken = taken || text_is(s->location, own[k]);
		for (size_t k = 0; k < i && !taken; k++)
			taken = text_is(s->location, c->shards[k].location) &&
				(s->computed || s->copied || !text_is(s->real_path, c->shards[k].real_path));
		if (taken)
			return error_set(err, STATUS_BAD_INPUT,
				"%s: one of its files of weights is called %.200s, as another one beside its graph is: give it "
				"another name",
				c->path, s->location);
	}
	return STATUS_OK;
}

// As file_check_holes, of all files together: twenty of 1 GiB each that hold nothing take 300 KB, and minutes to be hashed.
static enum status check_holes(const struct checkpoint *c, struct error *err)
{
	uint64_t all = 0, stored = 0;

	for (int by_map = 0; by_map < 2; by_map++) { // the count of blocks may be late, as there
		all = stored = 0;
		for (size_t i = 0; i < c->shard_count; i++) {
			const struct shard *x = &c->shards[i];

			if (!x->map || x->copied || x->computed)
				continue;
			all += x->nbytes;
			stored += by_map ? (uint64_t)file_bytes(x->path) : x->stored_nbytes;
		}
		if (all <= FILE_LARGE || stored >= all / FILE_SHARE)
			return STATUS_OK;
	}
	return error_set(err, STATUS_BAD_INPUT,
		"%s: files of %llu bytes, of which their disk holds %llu: the rest was never written; download them again",
		c->path, (unsigned long long)all, (unsigned long long)stored);
}

enum status checkpoint_open(struct checkpoint *out, const char *folder, struct error *err)
{
	struct checkpoint c = { 0 };
	const char *base = folder, *adapter = adapter_is(folder) ? folder : NULL;
	enum status s = adapter ? adapter_base(&base, &c.arena, adapter, err) : STATUS_OK;
	if (!s && text_ends(base, ".gguf") && !file_is_dir(base))
		s = (s = gguf_open(&c, base, err)) ? s : computed_find(&c, adapter, err);
	else if (!s)
		s = open_folder(&c, base, adapter, err);
	s = s ? s : check_locations(&c, err);
	s = s ? s : check_holes(&c, err);
	if (s)
		arena_done(&c.arena);
	else
		*out = c;
	return s;
}

enum status checkpoint_open_config(struct checkpoint *out, const char *name, const char *text, size_t nbytes, struct error *err)
{
	struct checkpoint c = { 0 };
	c.path = arena_strdup(&c.arena, name);
	enum status s = nbytes > CONFIG_LIMIT
		? error_set(err, STATUS_BAD_INPUT, "%s: %zu bytes; at most %d are read", name, nbytes, CONFIG_LIMIT)
		: read_config(&c, c.path, text, nbytes, err);
	if (s)
		arena_done(&c.arena);
	else
		*out = c;
	return s;
}

void checkpoint_close(struct checkpoint *c)
{
	arena_done(&c->arena);
	*c = (struct checkpoint){ 0 };
}

void checkpoint_plain_locations(struct checkpoint *c)
{
	for (size_t i = 0; i < c->shard_count; i++) {
		const char *slash = strrchr(c->shards[i].path, '/'); // none: a GGUF file of the current folder

		c->shards[i].location = slash ? slash + 1 : c->shards[i].path;
	}
}

const struct weight *checkpoint_find(const struct checkpoint *c, const char *name)
{
	for (size_t low = 0, high = c->weight_count; low < high;) {
		size_t middle = (low + high) / 2;
		int order = strcmp(name, c->weights[middle].name);
		if (!order)
			return &c->weights[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

void checkpoint_files(const char *folder, struct arena *a, const char *const **out, size_t *count)
{
	struct arena passing = { 0 };
	const char **names = ARENA_ARRAY(a, HUB_SHARDS_MOST + 1, const char *), **shards = NULL;
	struct json_pair *map;
	size_t n = 0, shard_count = 0, map_count;
	for (int i = 0; i < WEIGHT_NAMES && !n; i++) {
		const char *index = arena_printf(a, "%s.index.json", weight_names[i]),
			   *path = arena_printf(&passing, "%s/%s", folder, index);
		if (file_exists(arena_printf(&passing, "%s/%s", folder, weight_names[i]))) {
			names[n++] = weight_names[i];
			continue;
		}
		if (!file_exists(path))
			continue;
		names[n++] = index;
		if (!read_index(path, &map, &map_count, &shards, &shard_count, &passing, NULL))
			for (size_t k = 0; k < shard_count; k++)
				names[n++] = arena_strdup(a, shards[k]);
	}
	arena_done(&passing);
	*out = names;
	*count = n;
}

struct tensor weight_tensor(const struct weight *w)
{
	struct tensor t = { .name = w->name,
		.dtype = w->dtype,
		.rank = w->rank,
		.data = (void *)(uintptr_t)w->data,
		.nbytes = (size_t)w->nbytes };

	memcpy(t.dim, w->dim, sizeof t.dim);
	return t;
}
