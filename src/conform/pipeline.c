// SPDX-License-Identifier: Apache-2.0
// Whole pipelines: a folder as on the Hub, whose weights are by formula or a checkpoint's, with pipeline.json: a task, inputs,
// options, and what transformers answered (tests/conform/README.md). The folder is made anew beside the cache's cases, with its
// weights, for one run; a checkpoint of safetensors is linked there.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/claim.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "conform/case.h"
#include "conform/stored.h"
#include "pipeline/pipeline.h"

enum { PIPELINE_FILE_MOST = 4 << 20, PIPELINE_FOLDER_MOST = 64 << 20, DEPTH_MOST = 3, FILES_MOST = 256, INPUTS_MOST = 256 };

bool conform_is_pipeline(const char *folder, struct arena *a)
{
	return file_exists(arena_printf(a, "%s/pipeline.json", folder));
}

// ---- the model's folder ---------------------------------------------------------------------------------------------------

// What is of the model, listed before anything of it is read: a folder of somebody else's costs little until its size is known.
struct model_file {
	const char *inside, *name; // the folder in the model's, "" of itself, and its name there
	bool is_folder;
};

struct made {
	struct arena *a;
	const char *from;
	const json_t *integers; // {folder: {tensor: contents}}
	struct model_file files[FILES_MOST];
	size_t count;
	uint64_t nbytes; // of the files that will be read
	uint64_t left;   // bytes of weights that may still be made
};

static const char *within(struct arena *a, const char *folder, const char *inside)
{
	return *inside ? arena_printf(a, "%s/%s", folder, inside) : folder;
}

static enum status make_weights(struct made *m, const char *from, const char *to, const char *inside, struct error *err)
{
	json_t *config = NULL;
	bool diffuses = !json_file(arena_printf(m->a, "%s/config.json", from), PIPELINE_FILE_MOST, &config, NULL) &&
		json_object_get(config, "_class_name");

	json_decref(config);
	return conform_weights(arena_printf(m->a, "%s/weights.tsv", from), json_object_get(m->integers, *inside ? inside : "."),
		arena_printf(m->a, "%s/%s", to, diffuses ? "diffusion_pytorch_model.safetensors" : "model.safetensors"), &m->left,
		err);
}

// What is of the model; questions and answers stay where they are.
static bool is_models(const char *name)
{
	return name[0] != '.' && !text_starts(name, "input") && !text_starts(name, "answer") && !text_is(name, "pipeline.json");
}

static bool is_checkpoint(const char *name)
{
	return text_ends(name, ".safetensors");
}

static enum status list_folder(struct made *m, const char *inside, int depth, struct error *err);

static enum status list_entry(struct made *m, const char *inside, const char *name, int depth, struct error *err)
{
	const char *path = arena_printf(m->a, "%s/%s", within(m->a, m->from, inside), name);
	struct stat st;

	if (m->count == FILES_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: more than %d files", m->from, FILES_MOST);
	if (stat(path, &st))
		return error_set(err, STATUS_BAD_INPUT, "%s: %s", path, strerror(errno));
	m->files[m->count++] = (struct model_file){ inside, arena_strdup(m->a, name), S_ISDIR(st.st_mode) };
	if (S_ISDIR(st.st_mode))
		return list_folder(
			m, *inside ? arena_printf(m->a, "%s/%s", inside, name) : arena_strdup(m->a, name), depth + 1, err);
	if (is_checkpoint(name))
		return STATUS_OK;
	m->nbytes += (uint64_t)st.st_size;
	if (st.st_size > PIPELINE_FILE_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: %lld bytes; at most %d are read", path, (long long)st.st_size,
			PIPELINE_FILE_MOST);
	return m->nbytes <= PIPELINE_FOLDER_MOST
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "%s: its files have more than %d MiB together, checkpoints left out", m->from,
			  PIPELINE_FOLDER_MOST >> 20);
}

static enum status list_folder(struct made *m, const char *inside, int depth, struct error *err)
{
	const char *from = within(m->a, m->from, inside);
	struct dirent *e;
	DIR *d;
	enum status st = STATUS_OK;
	int code = 0;

	if (depth > DEPTH_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: folders too deep in each other", from);
	if (!(d = opendir(from)))
		return error_errno(err, "%s: cannot be read", from);
	while (!st && (e = file_next(d, &code)))
		if (is_models(e->d_name))
			st = list_entry(m, inside, e->d_name, depth, err);
	closedir(d);
	errno = code;
	return st || !code ? st : error_errno(err, "%s: cannot be read", from);
}

static enum status link_checkpoint(struct made *m, const char *path, const char *link, struct error *err)
{
	char *whole = realpath(path, NULL);
	const char *target = whole ? arena_strdup(m->a, whole) : NULL;

	free(whole);
	if (!target || symlink(target, link) < 0)
		return error_errno(err, "%s: cannot be linked to %s", path, link);
	return STATUS_OK;
}

static enum status copy_file(const char *path, const char *copy, struct error *err)
{
	struct arena passing = { 0 };
	size_t nbytes;
	char *data;
	enum status st = file_read(&passing, path, PIPELINE_FILE_MOST, &data, &nbytes, err);

	if (!st)
		st = file_put(copy, data, nbytes, err);
	arena_done(&passing);
	return st;
}

static enum status make_file(struct made *m, const struct model_file *f, const char *out, struct error *err)
{
	const char *from = within(m->a, m->from, f->inside), *to = within(m->a, out, f->inside),
		   *path = arena_printf(m->a, "%s/%s", from, f->name), *copy = arena_printf(m->a, "%s/%s", to, f->name);

	if (f->is_folder)
		return file_mkdirs(copy, err);
	if (text_is(f->name, "weights.tsv"))
		return make_weights(m, from, to, f->inside, err);
	return is_checkpoint(f->name) ? link_checkpoint(m, path, copy, err) : copy_file(path, copy, err);
}

// A folder of this process's own, which the caller removes.
static enum status make_model(const char **out, struct arena *a, const char *folder, const json_t *integers, struct error *err)
{
	struct made m = { .a = a, .from = folder, .integers = integers, .left = CONFORM_PIPELINE_WEIGHTS_MOST };
	const char *conform;
	char hex[65];
	struct hash h;
	enum status st = list_folder(&m, "", 0, err);

	if (st || (st = cache_part(&conform, a, "conform", err)))
		return st;
	hash_init(&h);
	hash_add_text(&h, folder);
	hash_hex(&h, hex);
	*out = arena_printf(a, "%s/%s.%s.part", conform, hex, claim_token());
	st = file_mkdirs_private(*out, err);
	for (size_t i = 0; i < m.count && !st; i++)
		st = make_file(&m, &m.files[i], *out, err);
	return st;
}

// ---- questions and answers ------------------------------------------------------------------------------------------------

// The task's options, the input's own on top of them; beside them what stands in pipeline.json for the task alone ("retrieval").
static json_t *options_of(const json_t *file, const json_t *input)
{
	json_t *all = json_object(), *own = json_object_get(input, "options"), *retrieval = json_object_get(file, "retrieval");

	json_object_update(all, json_object_get(file, "options"));
	json_object_update(all, own);
	if (retrieval)
		json_object_set(all, "retrieval", retrieval);
	return all;
}

static json_t *tolerance_of(const json_t *file, const char *index)
{
	const json_t *all = json_object_get(file, "tolerance");
	json_t *own = json_copy((json_t *)(uintptr_t)all);

	json_object_update(own, json_object_get(json_object_get(all, "of_input"), index));
	return own;
}

// Bounds that make no sense would call any answer right, or none.
static enum status check_tolerance(const json_t *file, size_t count, struct arena *a, struct error *err)
{
	const json_t *of_input = json_object_get(json_object_get(file, "tolerance"), "of_input"), *one;
	const char *key;
	enum status st = conform_tolerance_check(json_object_get(file, "tolerance"), err);

	json_object_foreach((json_t *)(uintptr_t)of_input, key, one) if (!st && !json_is_object(one)) st =
		error_set(err, STATUS_BAD_INPUT, "pipeline.json: tolerance.of_input.%.100s is no object", key);
	for (size_t i = 0; i < count && !st; i++) {
		json_t *all = tolerance_of(file, arena_printf(a, "%zu", i));

		st = conform_tolerance_check(all, err);
		json_decref(all);
	}
	return st;
}

// All that can be said of pipeline.json before the model is made.
static enum status check_file(const json_t *file, struct arena *a, struct error *err)
{
	const json_t *inputs = json_object_get(file, "inputs"), *options = json_object_get(file, "options"), *own;
	const char *task = json_string_value(json_object_get(file, "task"));
	const size_t count = json_array_size(inputs);

	if (!task || !count || count > INPUTS_MOST || json_array_size(json_object_get(file, "answers")) != count)
		return error_set(
			err, STATUS_BAD_INPUT, "pipeline.json: no task, or not 1 to %d inputs with an answer each", INPUTS_MOST);
	if (!pipeline_task_known(task))
		return error_set(err, STATUS_UNSUPPORTED, "the task %s is not supported yet", task);
	if (options && !json_is_object(options))
		return error_set(err, STATUS_BAD_INPUT, "pipeline.json: options is no object");
	for (size_t i = 0; i < count; i++)
		if ((own = json_object_get(json_array_get(inputs, i), "options")) && !json_is_object(own))
			return error_set(err, STATUS_BAD_INPUT, "pipeline.json: options of inputs[%zu] is no object", i);
	return check_tolerance(file, count, a, err);
}

// What differs says so where the engine computes in less than float32: labels and tokens that lie close may change places then.
static enum status compare(struct pipeline *p, const struct answer_bounds *bounds, const char *where, const json_t *want,
	const struct pipeline_answer *got, struct arena *a, bool *differs, struct error *err)
{
	const enum dtype computes = pipeline_computes(p);
	enum status st;

	conform_tolerance_reduce(bounds->tolerance, computes);
	if (!(st = conform_answer_compare(bounds, where, want, got, a, err)))
		return STATUS_OK;
	*differs = st == STATUS_FAILED;
	if (*differs && computes != DTYPE_F32)
		error_set(err, st, "%s; computed in %s", arena_strdup(a, err->text), dtype_word(computes));
	return st;
}

static enum status ask(struct pipeline *p, const char *folder, const json_t *file, size_t i, const struct stored *tensors,
	struct arena *a, bool *differs, struct error *err)
{
	const json_t *input = json_array_get(json_object_get(file, "inputs"), i);
	json_t *options = options_of(file, input), *tolerance = tolerance_of(file, arena_printf(a, "%zu", i)),
	       *question = json_copy((json_t *)(uintptr_t)input);
	const struct answer_bounds bounds = { folder, tensors, tolerance };
	const char *where = arena_printf(a, "answers[%zu]", i);
	struct pipeline_answer got = { 0 };
	enum status st;

	json_object_del(question, "options");
	if ((st = pipeline_answer(p, folder, question, options, a, &got, err)))
		st = error_prefix(err, "inputs[%zu]", i);
	else
		st = compare(p, &bounds, where, json_array_get(json_object_get(file, "answers"), i), &got, a, differs, err);
	json_decref(got.json);
	json_decref(options);
	json_decref(tolerance);
	json_decref(question);
	return st;
}

static enum status ask_all(const struct target *t, const char *folder, const char *made, const json_t *file, struct arena *a,
	struct pipeline_placement *placed, bool *differs, struct error *err)
{
	const char *task = json_string_value(json_object_get(file, "task")),
		   *answers = arena_printf(a, "%s/answers.safetensors", folder);
	size_t count = json_array_size(json_object_get(file, "inputs"));
	struct stored tensors;
	struct arena models = { 0 };
	struct pipeline *p;
	bool has_tensors = file_exists(answers);
	enum status st = STATUS_OK;

	if (has_tensors && (st = stored_open(&tensors, a, answers, err)))
		return st;
	st = pipeline_open(&p, &models, made, task, t, err);
	if (!st)
		pipeline_untimed(p);
	for (size_t i = 0; i < count && !st; i++)
		st = ask(p, folder, file, i, has_tensors ? &tensors : NULL, a, differs, err);
	if (!st)
		pipeline_placed(p, a, placed);
	arena_done(&models);
	return st;
}

enum status conform_pipeline_run(const struct target *t, const char *folder, struct arena *a, struct pipeline_placement *placed,
	bool *differs, struct error *err)
{
	json_t *file = NULL;
	const char *made = NULL;
	enum status st = json_file(arena_printf(a, "%s/pipeline.json", folder), PIPELINE_FILE_MOST, &file, err);

	if (st)
		return st;
	st = check_file(file, a, err);
	if (!st && !(st = make_model(&made, a, folder, json_object_get(file, "integer_tensors"), err)))
		st = conform_named(ask_all(t, folder, made, file, a, placed, differs, err), made, folder, err);
	if (made)
		file_remove_tree(made, NULL);
	json_decref(file);
	return st;
}
