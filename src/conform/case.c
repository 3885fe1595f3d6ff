// SPDX-License-Identifier: Apache-2.0
// Cases on disk: found, and made into checkpoint folders with weights by formula (tests/conform/README.md).
#include "conform/case.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
enum { WEIGHTS_MOST = 1 << 16 };
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

static enum status parse_weights(struct arena *a, char *text, struct weight **out, size_t *count, struct error *err)
{
	size_t lines = 1, n = 0;
	uint64_t sum = 0;
	enum status st;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	if (lines > WEIGHTS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "more than %d weights", WEIGHTS_MOST);
	*out = ARENA_ARRAY(a, lines, struct weight);
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if ((st = parse_line(&(*out)[n], a, line, err)))
			return st;
		sum += (*out)[n++].nbytes;
		if (sum > WEIGHTS_LIMIT)
			return error_set(err, STATUS_BAD_INPUT, "the weights are larger than %llu MiB",
				(unsigned long long)(WEIGHTS_LIMIT >> 20));
	}
	*count = n;
	return STATUS_OK;
}

static void fill_integers(const struct weight *w, const json_t *values, void *data)
{
	size_t count = (size_t)(w->nbytes / dtype_size(w->dtype));

	for (size_t i = 0; i < count && i < json_array_size(values); i++) {
		const json_t *x = json_array_get(values, i);
		int64_t n = json_is_boolean(x) ? json_is_true(x) : json_integer_value(x);

		// Little-endian, as the file is.
		memcpy((char *)data + i * dtype_size(w->dtype), &n, dtype_size(w->dtype));
	}
}

static enum status write_weights(
	struct arena *a, const char *path, struct weight *weights, size_t count, const json_t *integers, struct error *err)
{
	struct tensor *tensors = ARENA_ARRAY(a, count + 1, struct tensor);

	for (size_t i = 0; i < count; i++) {
		struct weight *w = &weights[i];
		const json_t *values = json_object_get(integers, w->name);
		size_t elements = (size_t)(w->nbytes / dtype_size(w->dtype));

		tensors[i] = (struct tensor){ .name = w->name,
			.dtype = w->dtype,
			.rank = w->rank,
			.nbytes = w->nbytes,
			.data = arena_alloc(a, w->nbytes ? w->nbytes : 1) };
		memcpy(tensors[i].dim, w->dim, sizeof w->dim);
		weights_fill(w, 0, 0, elements, tensors[i].data);
		if (values)
			fill_integers(w, values, tensors[i].data);
	}
	return safetensors_write(path, tensors, count, err);
}

enum status conform_weights(struct arena *a, const char *lines, const json_t *integers, const char *to, struct error *err)
{
	struct weight *weights;
	size_t nbytes, count;
	char *text;
	enum status st = file_read(a, lines, FILE_LIMIT, &text, &nbytes, err);

	if (!st && (st = parse_weights(a, text, &weights, &count, err)))
		error_prefix(err, "%s", lines);
	return st ? st : write_weights(a, to, weights, count, integers, err);
}

// A case that is made into a folder: its files as they were read, and the key that is their SHA-256.
struct making {
	const char *case_folder;
	char *config, *weights, *json;
	size_t config_nbytes, weights_nbytes, json_nbytes;
	char key[65];
};

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

static enum status make(void *context, const char *folder, struct error *err)
{
	const struct making *m = context;
	struct arena a = { 0 };
	struct weight *weights = NULL;
	size_t count = 0;
	json_t *json = NULL;

	scratch_sweep();
	enum status st = json_bytes(arena_printf(&a, "%s/case.json", m->case_folder), m->json, m->json_nbytes, &json, err);
	if (!st && (st = parse_weights(&a, arena_strndup(&a, m->weights, m->weights_nbytes), &weights, &count, err)))
		error_prefix(err, "%s/weights.tsv", m->case_folder);
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
		st = file_read(&scratch, arena_printf(&scratch, "%s/%s", case_folder, files[i].name), FILE_LIMIT, files[i].text,
			files[i].nbytes, err);
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
