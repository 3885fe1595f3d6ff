// SPDX-License-Identifier: Apache-2.0
// Cases on disk: found, and made into checkpoint folders with weights by formula (tests/conform/README.md).
#include "conform/case.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/inside.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/sealed.h"
#include "question/cell.h"
#include "cell/scratch.h"
#include "run/cell.h"

// A case is tiny, but for a table that a class makes as large as it always is (Gemma 4's of tokens for each layer takes 1 GiB):
// a damaged weights.tsv must not fill memory and disk.
enum { WEIGHTS_MOST = 1 << 16, PIECE_NBYTES = 1 << 20 };
#define FILE_LIMIT ((size_t)4 << 20)
#define WEIGHTS_LIMIT ((uint64_t)2 << 30)

// One line of weights.tsv: "NAME\tF32\t2,11,99".
static enum status parse_line(struct weight *w, struct arena *a, char *line, struct error *err)
{
	char *save = NULL, *name = strtok_r(line, "\t", &save), *dtype = strtok_r(NULL, "\t", &save),
	     *shape = strtok_r(NULL, "\t", &save);
	size_t count;

	*w = (struct weight){ .name = arena_strdup(a, name), .dtype = dtype ? dtype_find(dtype) : DTYPE_NONE };
	if (!name || !w->dtype)
		return error_set(err, STATUS_BAD_INPUT, "%s: not a line of name, dtype and shape", name ? name : "an empty line");
	for (char *dim = shape ? strtok_r(shape, ",", &save) : NULL; dim; dim = strtok_r(NULL, ",", &save)) {
		if (w->rank == TENSOR_MAX_RANK || !text_to_int(dim, 0, (int64_t)WEIGHTS_LIMIT, &w->dim[w->rank]))
			return error_set(err, STATUS_BAD_INPUT, "%s: bad dimension %s", name, dim);
		w->rank++;
	}
	if (!tensor_count(w->rank, w->dim, &count) || count > WEIGHTS_LIMIT / dtype_size(w->dtype))
		return error_set(
			err, STATUS_BAD_INPUT, "%s: larger than %llu MiB", name, (unsigned long long)(WEIGHTS_LIMIT >> 20));
	w->nbytes = count * dtype_size(w->dtype);
	return STATUS_OK;
}

static enum status parse_weights(
	struct arena *a, char *text, struct weight **out, size_t *count, uint64_t *sum, struct error *err)
{
	size_t lines = 1, n = 0;
	enum status st;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	if (lines > WEIGHTS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "more than %d weights", WEIGHTS_MOST);
	*out = ARENA_ARRAY(a, lines, struct weight);
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if ((st = parse_line(&(*out)[n], a, line, err)))
			return st;
		*sum += (*out)[n++].nbytes;
		if (*sum > WEIGHTS_LIMIT)
			return error_set(err, STATUS_BAD_INPUT, "the weights are larger than %llu MiB",
				(unsigned long long)(WEIGHTS_LIMIT >> 20));
	}
	*count = n;
	return STATUS_OK;
}

// Elements [first, first + count).
static void fill_integers(const struct weight *w, const json_t *values, size_t first, size_t count, char *data)
{
	const size_t size = dtype_size(w->dtype);

	for (size_t i = 0; i < count && first + i < json_array_size(values); i++) {
		const json_t *x = json_array_get(values, first + i);
		int64_t n = json_is_boolean(x) ? json_is_true(x) : json_integer_value(x);

		memcpy(data + i * size, &n, size); // little-endian, as the file is
	}
}

static int write_weight(int fd, const struct weight *w, const json_t *values, char *piece)
{
	const size_t size = dtype_size(w->dtype), total = w->nbytes / size, most = PIECE_NBYTES / size;
	int code = 0;

	for (size_t first = 0, count; first < total && !code; first += count) {
		count = total - first < most ? total - first : most;
		weights_fill(w, 0, first, count, piece);
		if (values)
			fill_integers(w, values, first, count, piece);
		code = file_write_at(fd, piece, count * size, w->offset + first * size);
	}
	return code;
}

// In pieces: a file may be larger than the memory that a child has.
static enum status write_weights(
	struct arena *a, const char *path, struct weight *weights, size_t count, const json_t *integers, struct error *err)
{
	char *header, *piece = arena_alloc(a, PIECE_NBYTES);
	size_t header_nbytes;
	uint64_t nbytes;
	int code, fd;
	enum status st = safetensors_header(a, weights, count, &header, &header_nbytes, &nbytes, err);

	if (st)
		return error_prefix(err, "%s", path);
	if ((fd = partial_open(path, err)) < 0)
		return err ? err->status : STATUS_FAILED;
	code = file_write_at(fd, header, header_nbytes, 0);
	for (size_t i = 0; i < count && !code; i++)
		code = write_weight(fd, &weights[i], json_object_get(integers, weights[i].name), piece);
	if (!code)
		return partial_keep(fd, path, 0777, err);
	partial_drop(fd, path);
	errno = code;
	return error_errno(err, "%s: cannot be written", path);
}

enum status conform_weights(const char *lines, const json_t *integers, const char *to, uint64_t *left, struct error *err)
{
	struct arena a = { 0 };
	struct weight *weights;
	size_t nbytes, count;
	uint64_t sum = 0;
	char *text;
	enum status st = file_read(&a, lines, FILE_LIMIT, &text, &nbytes, err);

	if (!st && (st = parse_weights(&a, text, &weights, &count, &sum, err)))
		error_prefix(err, "%s", lines);
	if (!st && sum > *left)
		st = error_set(err, STATUS_BAD_INPUT, "%s: the weights of all folders have more than %llu MiB", lines,
			(unsigned long long)(CONFORM_PIPELINE_WEIGHTS_MOST >> 20));
	if (!st) {
		*left -= sum;
		st = write_weights(&a, to, weights, count, integers, err);
	}
	arena_done(&a);
	return st;
}

// A case that is made into a folder: its files as they were read, and the key that is their SHA-256.
struct making {
	const char *case_folder;
	char *config, *weights, *json;
	size_t config_nbytes, weights_nbytes, json_nbytes;
	char key[65];
};

struct zeros {
	void *map;
	size_t nbytes;
};

static void unmap(void *zeros)
{
	const struct zeros *z = zeros;

	munmap(z->map, z->nbytes);
}

// Is the folder what the case was made into? Otherwise it is made again.
static bool is_whole(void *context, const char *folder, struct error *err)
{
	const struct making *m = context;
	struct arena a = { 0 };
	size_t nbytes;
	char *text;
	bool good = !file_read(&a, arena_printf(&a, "%s/config.json", folder), FILE_LIMIT, &text, &nbytes, NULL) &&
		nbytes == m->config_nbytes && !memcmp(text, m->config, nbytes) &&
		sealed_folder_check(folder, "model.safetensors", m->key);

	(void)err; // whatever it is, it is made anew
	arena_done(&a);
	return good;
}

// A checkpoint of these weights that are not made: all but the integers of case.json are zeros, and the system has memory only
// for what is read of them.
static enum status open_zeros(
	struct checkpoint *c, struct weight *weights, size_t count, const json_t *integers, struct error *err)
{
	struct shard *shard = ARENA_NEW(&c->arena, struct shard);
	char *header;
	size_t header_nbytes;
	uint64_t nbytes;
	enum status st = safetensors_header(&c->arena, weights, count, &header, &header_nbytes, &nbytes, err);

	if (st)
		return st;
	uint8_t *map = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return error_errno(err, "%s: cannot map %llu bytes", c->path, (unsigned long long)nbytes);
	struct zeros *z = ARENA_NEW(&c->arena, struct zeros);
	*z = (struct zeros){ map, nbytes };
	arena_defer(&c->arena, unmap, z);
	memcpy(map, header, header_nbytes);
	for (size_t i = 0; i < count; i++)
		fill_integers(&weights[i], json_object_get(integers, weights[i].name), 0,
			weights[i].nbytes / dtype_size(weights[i].dtype), (char *)map + weights[i].offset);
	*shard = (struct shard){ .path = c->path,
		.real_path = c->path,
		.location = "model.safetensors",
		.map = map,
		.nbytes = nbytes,
		.header_nbytes = header_nbytes,
		.stored_nbytes = nbytes };
	c->shards = shard;
	c->shard_count = 1;
	return safetensors_parse(&c->arena, shard, &c->weights, &c->weight_count, err);
}

// Before any weight is made: is there a graph of such weights, which reads all of them?
static enum status look(const struct making *m, struct weight *weights, size_t count, const json_t *integers, struct error *err)
{
	struct arena a = { 0 };
	struct checkpoint c = { 0 };
	struct artifact built;
	struct spec *spec;
	struct graph_form form = { 0 };
	struct graph *g = graph_new(&form);
	enum status st =
		checkpoint_open_config(&c, arena_printf(&a, "%s/config.json", m->case_folder), m->config, m->config_nbytes, err);

	c.path = m->case_folder;
	if (!st && !(st = open_zeros(&c, weights, count, integers, err)) && !(st = arch_resolve(&spec, &a, &c, err)))
		st = artifact_build(&built, &a, &c, spec, &arch_whole, g, err);
	graph_free(g);
	checkpoint_close(&c);
	arena_done(&a);
	return st;
}

static enum status make(void *context, const char *folder, struct error *err)
{
	const struct making *m = context;
	struct arena a = { 0 };
	struct weight *weights = NULL;
	size_t count = 0;
	uint64_t sum = 0;
	json_t *json = NULL;

	scratch_sweep();
	enum status st = json_bytes(arena_printf(&a, "%s/case.json", m->case_folder), m->json, m->json_nbytes, &json, err);
	if (!st && (st = parse_weights(&a, arena_strndup(&a, m->weights, m->weights_nbytes), &weights, &count, &sum, err)))
		error_prefix(err, "%s/weights.tsv", m->case_folder);
	if (!st)
		st = look(m, weights, count, json_object_get(json, "integer_tensors"), err);
	if (!st)
		st = file_mkdirs(folder, err);
	if (!st)
		st = file_write(arena_printf(&a, "%s/config.json", folder), m->config, m->config_nbytes, err);
	if (!st)
		st = write_weights(&a, arena_printf(&a, "%s/model.safetensors", folder), weights, count,
			json_object_get(json, "integer_tensors"), err);
	if (!st)
		st = sealed_folder_write(folder, "model.safetensors", m->key, err);
	json_decref(json);
	arena_done(&a);
	return st;
}

enum status conform_materialise(const char **folder, struct arena *a, const char *case_folder, struct error *err)
{
	struct arena scratch = { 0 };
	struct making m = { .case_folder = case_folder };
	const struct {
		const char *name;
		char **text;
		size_t *nbytes;
	} files[] = { { "config.json", &m.config, &m.config_nbytes }, { "weights.tsv", &m.weights, &m.weights_nbytes },
		{ "case.json", &m.json, &m.json_nbytes } };
	struct hash h;
	enum status st = STATUS_OK;

	hash_init(&h);
	for (size_t i = 0; i < sizeof files / sizeof *files && !st; i++) {
		const char *path;

		// What a line of it says is told: through a link it would be another file's.
		if (!(st = file_inside(&scratch, case_folder, files[i].name, &path, err)))
			st = file_read(&scratch, path, FILE_LIMIT, files[i].text, files[i].nbytes, err);
		if (!st)
			hash_add_text(&h, *files[i].text);
	}
	hash_hex(&h, m.key);
	if (!st)
		st = cached_folder(
			folder, a, "conform", m.key, &(struct cached){ .is_whole = is_whole, .make = make, .context = &m }, err);
	arena_done(&scratch);
	return st;
}

enum status conform_named(enum status st, const char *made, const char *folder, struct error *err)
{
	char *at = st && err ? strstr(err->text, made) : NULL;
	struct error said;

	if (at) {
		said = *err;
		error_set(err, said.status, "%.*s%s%s", (int)(at - err->text), said.text, folder,
			said.text + (at - err->text) + strlen(made));
		err->of_engine = said.of_engine;
	}
	return st;
}

// A folder of those that the program carries: "cases", "pipeline".
static const char *carried(struct arena *a, const char *name)
{
	const char *share = getenv("ASSAY_SHARE"), *program = cell_program(a), *slash = program ? strrchr(program, '/') : NULL;
	const char *places[2] = { NULL, NULL };

	if (share && *share)
		return file_is_dir(arena_printf(a, "%s/conform/%s", share, name)) ? arena_printf(a, "%s/conform/%s", share, name)
										  : NULL;
	if (slash)
		places[0] = arena_printf(a, "%.*s/../share/assay/conform/%s", (int)(slash - program), program, name);
#ifdef ASSAY_BUILD_SHARE
	places[1] = arena_printf(a, "%s/%s", ASSAY_BUILD_SHARE, name);
#endif
	for (size_t i = 0; i < 2; i++)
		if (places[i] && file_is_dir(places[i]))
			return places[i];
	return NULL;
}

enum status conform_check_share(struct error *err)
{
	const char *share = getenv("ASSAY_SHARE");
	struct arena a = { 0 };
	const bool good = !share || !*share || file_is_dir(arena_printf(&a, "%s/conform", share));

	arena_done(&a);
	return good ? STATUS_OK
		    : error_set(err, STATUS_BAD_INPUT, "ASSAY_SHARE is %s, and %s/conform is no folder there", share, share);
}

const char *conform_folder(struct arena *a)
{
	return carried(a, "cases");
}

const char *conform_pipelines_folder(struct arena *a)
{
	return carried(a, "pipeline");
}

static int by_name(const void *a, const void *b)
{
	const struct conform_case *x = a, *y = b;

	return strcmp(x->name, y->name);
}

struct conform_case *conform_cases(struct arena *a, const char *folder, const char *type, size_t *count)
{
	struct conform_case *cases;
	size_t entries = 0, n = 0;
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && readdir(d))
		entries++;
	cases = ARENA_ARRAY(a, entries + 1, struct conform_case);
	if (d)
		rewinddir(d);
	while (d && n < entries && (e = readdir(d))) {
		const char *path = arena_printf(a, "%s/%s", folder, e->d_name);
		json_t *json;

		if (e->d_name[0] == '.' || json_file(arena_printf(a, "%s/case.json", path), FILE_LIMIT, &json, NULL))
			continue;
		const char *its = json_string_value(json_object_get(json, "model_type")),
			   *class_name = json_string_value(json_object_get(json, "class"));
		if (its && (!type || text_is(its, type)))
			cases[n++] = (struct conform_case){ .name = arena_strdup(a, e->d_name),
				.folder = path,
				.model_type = arena_strdup(a, its),
				.class_name = class_name ? arena_strdup(a, class_name) : NULL };
		json_decref(json);
	}
	if (d)
		closedir(d);
	qsort(cases, n, sizeof *cases, by_name);
	*count = n;
	return cases;
}
