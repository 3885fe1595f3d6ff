// SPDX-License-Identifier: Apache-2.0
// A graph and where its weights lie: built, keyed by content, given a folder. What lies in the cache under a key is used when it
// is what this run would write.
#include "artifact/artifact.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/identity.h"
#include "artifact/inside.h"
#include "base/cache.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/computed.h"
#include "onnx/external.h"
#include "onnx/fix.h"
#include "onnx/wire.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

// Whether the graph names this file. External data holds the name in plain bytes, so a search finds every use; a name that
// stands there by chance costs a link and nothing else.
static bool is_used(const struct artifact *art, const struct shard *s)
{
	return !s->computed && memmem(art->graph, art->graph_nbytes, s->location, strlen(s->location)) != NULL;
}

static enum status hash_built(struct hash *h, const struct artifact *art, const struct checkpoint *c, struct error *err)
{
	enum status s = STATUS_OK;
	hash_add_text(h, "artifact 2");
	hash_add(h, art->graph, art->graph_nbytes);
	for (size_t i = 0; i < c->shard_count && !s; i++) {
		char digest[65];
		if (!is_used(art, &c->shards[i]))
			continue;
		s = shard_digest(digest, &c->shards[i], NULL, err);
		hash_add_text(h, c->shards[i].location);
		hash_add_text(h, s ? "" : digest);
	}
	return s;
}

enum status artifact_identify(struct artifact *art, struct arena *a, const struct checkpoint *c, struct error *err)
{
	char *hex = arena_alloc(a, 65), identity[65];
	struct hash h;
	enum status s;
	if (art->key)
		return STATUS_OK;
	hash_init(&h);
	if (art->graph_path) {
		s = model_identity(identity, art->graph_path, NULL, err);
		hash_add_text(&h, "onnx file 2");
		hash_add_text(&h, s ? "" : identity);
	} else {
		s = hash_built(&h, art, c, err);
	}
	hash_hex(&h, hex);
	if (!s)
		art->key = hex;
	return s;
}

// The folder in which an engine finds every file under the name that the graph has for it.
static const char *weights_dir(struct arena *a, const struct artifact *art, const struct checkpoint *c)
{
	const char *dir = NULL;
	for (size_t i = 0; i < c->shard_count; i++) {
		const struct shard *s = &c->shards[i];
		if (!is_used(art, s))
			continue;
		const char *base = base_name(s->real_path);
		size_t n = (size_t)(base - s->real_path);
		if (s->copied || strcmp(base, s->location) || (dir && (strlen(dir) != n || memcmp(dir, s->real_path, n))))
			return NULL;
		dir = arena_strndup(a, s->real_path, n);
	}
	if (dir && dir[1])
		((char *)dir)[strlen(dir) - 1] = 0; // without the slash, unless it is the root
	return dir;
}

static enum dtype main_dtype(const struct checkpoint *c)
{
	uint64_t nbytes[DTYPE_COUNT] = { 0 };
	enum dtype most = DTYPE_NONE;
	for (size_t i = 0; i < c->weight_count; i++) {
		const struct weight *w = &c->weights[i], *stored = w->computed ? w->computed->codes : w;

		nbytes[stored->dtype] += stored->nbytes;
	}
	for (int t = 1; t < DTYPE_COUNT; t++)
		if (nbytes[t] > nbytes[most])
			most = (enum dtype)t;
	return most;
}

static const struct tensor_type *copy_types(struct arena *a, const struct tensor_type *types, size_t count)
{
	struct tensor_type *copy = ARENA_ARRAY(a, count, struct tensor_type);
	for (size_t i = 0; i < count; i++) {
		copy[i] = types[i];
		copy[i].name = arena_strdup(a, types[i].name);
		for (int k = 0; k < types[i].rank; k++)
			copy[i].symbol[k] = arena_strdup(a, types[i].symbol[k]);
	}
	return copy;
}

static enum status write_built(struct artifact *out, struct arena *a, const struct checkpoint *c, const struct arch_graph *which,
	struct graph *g, struct error *err)
{
	const void *bytes;
	struct artifact art = { .placed_by = "memory", .file = which->file };
	enum status status = unwritten_check(c, g, err);
	if (!status)
		status = graph_write(g, &bytes, &art.graph_nbytes, err);
	if (status)
		return status;
	// The graph may be freed before the artifact.
	art.graph = memcpy(arena_alloc(a, art.graph_nbytes), bytes, art.graph_nbytes);
	const struct tensor_type *types;
	art.input_count = graph_inputs(g, &types);
	art.inputs = copy_types(a, types, art.input_count);
	art.output_count = graph_outputs(g, &types);
	art.outputs = copy_types(a, types, art.output_count);
	graph_summarise(g, &art.summary);
	art.weights_nbytes = art.summary.external_nbytes;
	art.weights_dtype = main_dtype(c);
	art.weights_dir = weights_dir(a, &art, c);
	*out = art;
	return STATUS_OK;
}

// Weights that are computed are made for the graph, whatever form it has.
static enum status build(
	const struct checkpoint *c, const struct spec *s, const struct arch_graph *which, struct graph *g, struct error *err)
{
	enum status status = arch_build(s, c, which, g, err);

	for (size_t i = 0; i < c->shard_count && !status; i++)
		if (c->shards[i].computed)
			graph_make(g, c->shards[i].location);
	return status;
}

enum status artifact_build(struct artifact *out, struct arena *a, const struct checkpoint *c, const struct spec *s,
	const struct arch_graph *which, struct graph *g, struct error *err)
{
	const struct recipe *const *recipes;
	enum status status = build(c, s, which, g, err);
	if (!status && graph_recipes(g, &recipes))
		status = error_set(
			err, STATUS_UNSUPPORTED, "%s: assay does not convert weights where it builds this graph", which->file);
	return status ? status : write_built(out, a, c, which, g, err);
}

enum status artifact_build_all(const struct artifact_set *set, struct arena *a, struct checkpoint *c, const struct spec *s,
	struct conversion *conversion, struct error *err)
{
	enum status status = STATUS_OK;
	for (size_t i = 0; i < set->count && !status; i++)
		if ((status = build(c, s, set->which[i], set->graphs[i], err)) && set->count > 1)
			error_prefix(err, "%s", set->which[i]->file);
	if (!status)
		status = convert_weights(conversion, a, c, set->graphs, set->count, err);
	for (size_t i = 0; i < set->count && !status; i++)
		if ((status = write_built(&set->out[i], a, c, set->which[i], set->graphs[i], err)) && set->count > 1)
			error_prefix(err, "%s", set->which[i]->file);
	return status;
}

enum status artifact_open_onnx(struct artifact *out, struct arena *a, const char *path, struct error *err)
{
	struct artifact art = { .placed_by = "file" };
	const uint8_t *map;
	enum status s = file_map(a, path, &map, &art.graph_nbytes, err);
	if (s)
		return s;
	if (!art.graph_nbytes)
		return error_set(err, STATUS_BAD_INPUT, "%s: is empty", path);
	art.graph = map;
	// External data is looked for beside the path as given: in the Hub's cache the real one is a blob among blobs.
	const char *base = base_name(path);
	char *folder = base == path ? arena_strdup(a, ".") : arena_strndup(a, path, (size_t)(base - path));
	char *real_folder = realpath(folder, NULL);
	if (!real_folder)
		return error_errno(err, "%s", path);
	art.weights_dir = arena_strdup(a, real_folder);
	art.graph_path = arena_printf(a, "%s/%s", strcmp(real_folder, "/") ? real_folder : "", base);
	free(real_folder);
	*out = art;
	return STATUS_OK;
}

enum status artifact_fix_shapes(
	struct artifact *art, struct arena *a, const struct tensor *given, size_t count, struct error *err)
{
	char *key = arena_alloc(a, 65);
	void *graph;
	struct hash h;
	enum status s = onnx_fix_shapes(&graph, &art->graph_nbytes, a, art->graph, art->graph_nbytes, given, count, err);

	if (s)
		return s;
	art->graph = graph;
	art->fixed = given;
	art->fixed_count = count;
	hash_init(&h);
	hash_add_text(&h, "fixed shapes");
	hash_add_text(&h, art->key);
	for (size_t i = 0; i < count; i++) {
		hash_add_text(&h, given[i].name);
		hash_add(&h, given[i].dim, (size_t)given[i].rank * sizeof *given[i].dim);
	}
	hash_hex(&h, key);
	art->key = key;
	return STATUS_OK;
}

// The dearest way that was needed speaks for all.
static const char *dearer(const char *a, const char *b)
{
	static const char *const order[] = { "file", "hardlink", "reflink", "copy" };
	int x = -1, y = -1;
	for (int i = 0; i < 4; i++) {
		x = a && !strcmp(a, order[i]) ? i : x;
		y = b && !strcmp(b, order[i]) ? i : y;
	}
	return x >= y ? a : b;
}

// Of a folder outside of the cache.
static enum status place_shard(const struct shard *shard, const char *path, int ways, const char **how, struct error *err)
{
	*how = "copy";
	return shard->copied ? file_put(path, shard->map, shard->nbytes, err)
			     : file_place(shard->real_path, path, ways, how, err);
}

// In the cache, where no copy is made twice. For the life of `a` it is kept from being trimmed.
static enum status place_cached(const struct shard *shard, const char *path, struct arena *a, const char **how, struct error *err)
{
	return shard->copied || file_place(shard->real_path, path, PLACE_LINK, how, NULL) ? copied_place(shard, path, a, how, err)
											  : STATUS_OK;
}

// Where a folder's files come from and go to.
struct filling {
	int ways;        // of a folder outside of the cache
	json_t *made;    // in the cache: gets a line a file, and the one graph has the name that all have there; else NULL
	struct arena *a; // in the cache: copies that are linked to are held for its life
};

// The weights that the graphs name, then the graphs: a folder with a graph is whole.
static enum status fill_folder(const struct artifact *arts, size_t count, const struct checkpoint *c, const char *folder,
	const struct filling *f, const char **placed_by, struct error *err)
{
	json_t *made = f->made;
	char path[PATH_MAX];
	enum status s;
	const char *worst = NULL;
	for (size_t i = 0; i < c->shard_count; i++) {
		const struct shard *shard = &c->shards[i];
		const char *how = NULL;
		bool used = false;
		for (size_t k = 0; k < count; k++)
			used = used || is_used(&arts[k], shard);
		if (!used)
			continue;
		if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, shard->location) >= sizeof path)
			return error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", folder);
		if ((s = made ? place_cached(shard, path, f->a, &how, err) : place_shard(shard, path, f->ways, &how, err)))
			return s;
		worst = dearer(worst, how);
		if (made)
			json_array_append_new(made,
				json_pack("{s:s, s:s, s:I, s:s, s:s}", "name", shard->location, "placed_by", how, "bytes",
					(json_int_t)shard->nbytes, "identity", shard->identity, "source", shard->real_path));
	}
	for (size_t i = 0; i < count; i++) {
		if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, made ? "model.onnx" : arts[i].file) >= sizeof path)
			return error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", folder);
		if ((s = file_put(path, arts[i].graph, arts[i].graph_nbytes, err)))
			return s;
	}
	*placed_by = worst ? worst : "file";
	return STATUS_OK;
}

// Whether the file under this path has the content of this shard. A linked file is the source itself, and its digest is known.
static bool holds(const char *path, const struct shard *s)
{
	char digest[65], wanted[65];
	return !shard_digest(wanted, s, NULL, NULL) && !file_digest(digest, path, NULL, NULL) && !strcmp(digest, wanted);
}

// Is the folder what this artifact needs? Contents of the weights, bytes of the graph: a disk that lost power may hold zeros, and
// a file that is linked here may have been written to under its other name.
static bool is_whole(
	const struct artifact *art, const struct checkpoint *c, const char *folder, struct arena *a, const char **placed_by)
{
	char path[PATH_MAX], *graph;
	size_t nbytes;
	struct arena passing = { 0 };
	json_t *made = NULL;
	snprintf(path, sizeof path, "%s/model.onnx", folder);
	bool whole = !file_read(&passing, path, art->graph_nbytes, &graph, &nbytes, NULL) && nbytes == art->graph_nbytes &&
		!memcmp(graph, art->graph, nbytes);
	arena_done(&passing);
	for (size_t i = 0; i < c->shard_count && whole; i++) {
		const struct shard *s = &c->shards[i];
		struct stat st;
		if (!is_used(art, s))
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, s->location);
		whole = !lstat(path, &st) && S_ISREG(st.st_mode) && (size_t)st.st_size == s->nbytes && holds(path, s);
	}
	snprintf(path, sizeof path, "%s/made.json", folder);
	if (!whole || json_file(path, 1 << 20, &made, NULL))
		return false;
	const char *how = json_string_value(json_object_get(made, "placed_by"));
	*placed_by = arena_strdup(a, how);
	json_decref(made);
	return how != NULL;
}

static enum status make_folder(const struct artifact *art, const struct checkpoint *c, const char *folder, struct arena *a,
	const char **placed_by, struct error *err)
{
	json_t *files = json_array();
	enum status s = fill_folder(art, 1, c, folder, &(struct filling){ .made = files, .a = a }, placed_by, err);
	json_t *made = json_pack("{s:s, s:s, s:s, s:I, s:o}", "key", art->key, "model", c->path, "placed_by", s ? "" : *placed_by,
		"made_unix_us", (json_int_t)clock_unix_us(), "files", files);
	if (!made) // a path that is not UTF-8
		made = json_pack("{s:s, s:s, s:o}", "key", art->key, "placed_by", s ? "" : *placed_by, "files", json_array());
	char path[PATH_MAX], *text = json_dumps(made, JSON_INDENT(1));
	snprintf(path, sizeof path, "%s/made.json", folder);
	if (!s)
		s = text ? file_put(path, text, strlen(text), err)
			 : error_set(err, STATUS_NO_MEMORY, "%s: not enough memory", path);
	free(text);
	json_decref(made);
	return s;
}

bool artifact_needs_path(const struct artifact *art)
{
	return !art->graph_path && !art->weights_dir && art->weights_nbytes;
}

enum status artifact_place(struct artifact *art, struct arena *a, const struct checkpoint *c, struct error *err)
{
	if (art->graph_path)
		return STATUS_OK;
	const char *cache, *placed_by = NULL;
	enum status s = artifact_identify(art, a, c, err);
	if (s || (s = cache_part(&cache, a, "artifact", err)))
		return s;
	const char *folder = arena_printf(a, "%s/%s", cache, art->key);
	for (size_t i = 0; i < c->shard_count; i++) // those that it may link to are not trimmed from here on
		if (is_used(art, &c->shards[i]))
			copied_hold(&c->shards[i], a);
	if (!is_whole(art, c, folder, a, &placed_by)) {
		char *temporary = arena_printf(a, "%s/tmp-%.16s.XXXXXX", cache, art->key);
		if (!mkdtemp(temporary) || chmod(temporary, 0755))
			return cache_unusable(
				error_errno(err, "the cache: %s cannot be written; name another folder in ASSAY_CACHE", cache),
				err);
		// Cleaning up leaves a locked folder alone: its maker lives.
		int fd = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			flock(fd, LOCK_EX);
		s = cache_unusable(make_folder(art, c, temporary, a, &placed_by, err), err);
		if (!s && rename(temporary, folder)) {
			// Another builder was first: its folder is as good. One that is not whole changes places with ours in one
			// step, so that a third builder never finds nothing.
			const char *theirs = NULL;
			if (is_whole(art, c, folder, a, &theirs))
				placed_by = theirs;
			else if (renameat2(AT_FDCWD, temporary, AT_FDCWD, folder, RENAME_EXCHANGE))
				s = cache_unusable(
					error_errno(err, "the cache: %s is damaged and cannot be replaced: remove it", folder),
					err);
			file_remove_tree(temporary, NULL);
		}
		if (s)
			file_remove_tree(temporary, NULL);
		if (fd >= 0)
			close(fd);
		if (s)
			return s;
	}
	stamp_used(folder);
	art->graph_path = arena_printf(a, "%s/model.onnx", folder);
	art->placed_by = placed_by;
	return STATUS_OK;
}

// Whether both files are there with the same bytes.
static bool same_file(const char *a, const char *b)
{
	struct arena passing = { 0 };
	const uint8_t *x, *y;
	size_t nx, ny;
	bool same =
		!file_map(&passing, a, &x, &nx, NULL) && !file_map(&passing, b, &y, &ny, NULL) && nx == ny && !memcmp(x, y, nx);
	arena_done(&passing);
	return same;
}

// What programs that run a model of several graphs read beside them.
static enum status copy_small_files(const struct checkpoint *c, const char *folder, struct error *err)
{
	static const char *const names[] = { "config.json", "generation_config.json", "preprocessor_config.json",
		"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
		"merges.txt", "normalizer.json", "spiece.model", "source.spm", "target.spm", "sentencepiece.bpe.model" };
	char from[PATH_MAX], to[PATH_MAX];
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *how;
		enum status s;
		snprintf(from, sizeof from, "%s/%s", c->path, names[i]);
		if ((size_t)snprintf(to, sizeof to, "%s/%s", folder, names[i]) >= sizeof to)
			return error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", folder);
		if (file_exists(from) && !model_has_inside(c->path, from))
			return error_set(err, STATUS_BAD_INPUT,
				"%s is a link that leads outside of the model's folder: it is not copied", from);
		if (file_exists(from) && !same_file(from, to) &&
			(s = file_place(from, to, PLACE_REFLINK | PLACE_COPY, &how, err)))
			return s;
	}
	return STATUS_OK;
}

// Its producer_name is what onnx/write.c says.
static bool is_ours(const char *graph)
{
	struct arena passing = { 0 };
	struct wire w = { 0 };
	struct wire_field field = { 0 };
	size_t nbytes;
	if (!file_map(&passing, graph, &w.at, &nbytes, NULL))
		w.end = w.at + nbytes;
	while (field.number != 2 && w.at && wire_next(&w, &field) == WIRE_FIELD)
		;
	bool ours = field.number == 2 && field.bytes.end - field.bytes.at == 5 && !memcmp(field.bytes.at, "assay", 5);
	arena_done(&passing);
	return ours;
}

// What is in the folder and would be replaced must be these weights, or have been written by us: somebody's own are not.
static enum status check_replaced(
	const struct artifact *arts, size_t count, const struct checkpoint *c, const char *folder, struct error *err)
{
	char path[PATH_MAX];
	bool again = true;
	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, arts[i].file);
		if (file_exists(path) && !is_ours(path))
			return error_set(
				err, STATUS_BAD_INPUT, "%s: was not written by assay; name another folder for the graph", path);
		again = again && file_exists(path);
	}
	for (size_t i = 0; i < c->shard_count && !again; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, c->shards[i].location);
		if (file_exists(path) && !holds(path, &c->shards[i]))
			return error_set(
				err, STATUS_BAD_INPUT, "%s: holds other weights; name another folder for the graph", path);
	}
	return STATUS_OK;
}

// What of the model's files anybody may do: all that is made of them at `path` gives nobody more.
static mode_t rights_of(const struct checkpoint *c, const char *path)
{
	const gid_t group = file_group_beside(path);
	char config[PATH_MAX];
	struct stat st;

	snprintf(config, sizeof config, "%s/config.json", c->path);
	mode_t rights = stat(config, &st) ? 0777 : file_rights_like(config, &st, group);
	for (size_t i = 0; i < c->shard_count; i++)
		if (c->shards[i].path && !stat(c->shards[i].path, &st))
			rights &= file_rights_like(c->shards[i].path, &st, group);
	return rights;
}

enum status artifact_export(const struct artifact *arts, size_t count, const struct checkpoint *c, const char *folder, bool link,
	const char **placed_by, struct error *err)
{
	char real[PATH_MAX], own[PATH_MAX], config[PATH_MAX], graph[PATH_MAX];
	enum status s = file_mkdirs(folder, err);
	if (s)
		return s;
	// A folder with a config.json is a checkpoint: its weights are not ours to replace, unless they are these or we wrote
	// them.
	snprintf(config, sizeof config, "%s/config.json", folder);
	snprintf(own, sizeof own, "%s/config.json", c->path);
	snprintf(graph, sizeof graph, "%s/%s", folder, arts[0].file);
	bool ours = !file_exists(config) || (file_exists(graph) && same_file(config, own)) ||
		(realpath(folder, real) && realpath(c->path, own) && !strcmp(real, own));
	if (!ours)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: holds another model's config.json; name a folder of its own for the graph", folder);
	if ((s = check_replaced(arts, count, c, folder, err)))
		return s;
	const mode_t mask = file_narrow(rights_of(c, graph));
	s = fill_folder(arts, count, c, folder, &(struct filling){ .ways = PLACE_REFLINK | PLACE_COPY | (link ? PLACE_LINK : 0) },
		placed_by, err);
	if (!s && count > 1)
		s = copy_small_files(c, folder, err);
	file_widen(mask);
	return s;
}

enum status artifact_check_given(const struct artifact *art, const char *said, struct error *err)
{
	struct arena a = { 0 };
	struct onnx_external external;
	enum status s = art->graph_path ? model_check_given(art->graph_path, said, err) : STATUS_OK;

	if (!art->graph_path && art->weights_dir) {
		onnx_external_read(art->graph, art->graph_nbytes, &a, &external);
		for (size_t i = 0; i < external.count && !s; i++)
			s = file_check_given(arena_printf(&a, "%s/%s", art->weights_dir, external.locations[i]), said, err);
	}
	arena_done(&a);
	return s;
}
