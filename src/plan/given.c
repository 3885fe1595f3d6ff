// SPDX-License-Identifier: Apache-2.0
// given.h: in the child that reads a stranger's files for the plan.
#include "plan/given.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/claim.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "cell/inputs.h"
#include "cell/prepare.h"
#include "cell/scratch.h"
#include "pipeline/pipeline.h"
#include "preprocess/medium.h"

static const char *folder_of(struct arena *a, const char *model)
{
	const char *slash = strrchr(model, '/'), *folder = slash ? arena_strndup(a, model, (size_t)(slash - model)) : ".";

	if (file_is_dir(model) || text_ends(model, ".gguf")) // which brings its own tokenizer
		return model;
	return text_ends(folder, "/onnx") || text_is(folder, "onnx") ? arena_printf(a, "%s/..", folder) : folder;
}

// What has been taken so far.
struct taking {
	struct arena *a;
	struct preparing how;
	struct prepared made;
	json_t *files;
	const char *texts[2];
	size_t text_count, pictures, sounds;
};

static enum status take_text(struct taking *t, const char *text, struct error *err)
{
	if (t->text_count == 2)
		return error_set(err, STATUS_BAD_INPUT, "--input: a text or a pair of them is taken, and this is the third");
	t->texts[t->text_count++] = text;
	return STATUS_OK;
}

static const char *const medium_words[] = { "text", "picture", "sound", "text" };

enum status given_add_file(json_t *files, struct arena *a, const char *path, enum medium *medium, struct error *err)
{
	const char *slash = strrchr(path, '/'), *digest = file_digest_key(a, path);
	const uint8_t *data;
	size_t nbytes;
	enum status st = file_map(a, path, &data, &nbytes, err);

	if (st)
		return st;
	*medium = medium_of(data, nbytes);
	json_array_append_new(files,
		json_pack("{s:o, s:s, s:s?}", "file", question_text_put(slash ? slash + 1 : path), "is", medium_words[*medium],
			"sha256", digest_is_known(digest) ? digest : NULL));
	return STATUS_OK;
}

static enum status take_file(struct taking *t, const char *path, struct error *err)
{
	enum medium medium;
	char *text;
	enum status st = given_add_file(t->files, t->a, path, &medium, err);

	if (st)
		return st;
	if ((medium == MEDIUM_PICTURE && t->pictures++) || (medium == MEDIUM_SOUND && t->sounds++))
		return error_set(
			err, STATUS_BAD_INPUT, "--input %s: one %s is taken, and this is the second", path, medium_words[medium]);
	st = medium == MEDIUM_PICTURE    ? prepare_image(&t->made, t->a, path, &t->how, err)
		: medium == MEDIUM_SOUND ? prepare_sound(&t->made, t->a, path, &t->how, err)
					 : prepare_read_text(&text, t->a, path, err);
	if (st)
		return error_prefix(err, "--input %s", path);
	return medium == MEDIUM_PICTURE || medium == MEDIUM_SOUND ? STATUS_OK : take_text(t, text, err);
}

// What a decoder begins with, where the model has one and says so.
static void add_decoder(struct taking *t, const json_t *config)
{
	const json_t *start = json_object_get(config, "decoder_start_token_id");
	int64_t *id = ARENA_NEW(t->a, int64_t);

	*id = json_integer_value(start);
	if (json_is_integer(start) && *id >= 0)
		prepared_ids(&t->made, t->a, "decoder_input_ids", id, 1);
}

// Under what it holds: two who write it write the same.
static enum status keep(struct given *out, struct arena *a, const struct tensor *tensors, size_t count, struct error *err)
{
	const struct tensor *ids = tensor_named(tensors, count, "in.input_ids");
	const char *folder, *temporary;
	char hash[65];
	enum status st;

	ids = ids ? ids : tensor_named(tensors, count, "in.decoder_input_ids");
	out->tokens = ids && ids->rank == 2 ? ids->dim[1] : 0;
	inputs_hash(tensors, count, hash);
	if ((st = cache_part(&folder, a, "reference", err)))
		return st;
	scratch_sweep();
	out->path = arena_printf(a, "%s/%s.inputs.safetensors", folder, hash);
	temporary = arena_printf(a, "%s.%s.part", out->path, claim_token());
	if ((st = safetensors_write(temporary, tensors, count, err)))
		return st;
	return rename(temporary, out->path) < 0 ? error_errno(err, "%s: cannot be renamed", temporary) : STATUS_OK;
}

static enum status keep_prepared(struct given *out, struct arena *a, const struct prepared *made, struct error *err)
{
	struct tensor tensors[PREPARED_MOST];

	for (size_t i = 0; i < made->count; i++) {
		tensors[i] = weight_tensor(&made->items[i]);
		tensors[i].name = made->items[i].name;
	}
	return keep(out, a, tensors, made->count, err);
}

static const char *files_text(struct arena *a, const json_t *files)
{
	char *text = json_array_size(files) ? json_dumps(files, JSON_COMPACT) : NULL;
	const char *out = arena_strdup(a, text);

	free(text);
	return out;
}

enum status given_make(struct given *out, struct arena *a, const char *model, const json_t *config,
	const struct asked_inputs *asked, struct error *err)
{
	struct taking t = { .a = a, .how = { .model = folder_of(a, model) }, .files = json_array() };
	enum status st = STATUS_OK;

	*out = (struct given){ 0 };
	for (size_t i = 0; i < asked->thing_count && !st; i++)
		st = asked->things[i].is_file ? take_file(&t, asked->things[i].value, err)
					      : take_text(&t, asked->things[i].value, err);
	if (!st && t.text_count && (st = prepare_text(&t.made, a, t.texts[0], t.text_count > 1 ? t.texts[1] : NULL, &t.how, err)))
		error_prefix(err, "--input");
	if (!st)
		add_decoder(&t, config);
	if (!st)
		st = keep_prepared(out, a, &t.made, err);
	if (!st)
		out->files = files_text(a, t.files);
	json_decref(t.files);
	preparing_done(&t.how);
	return st;
}

enum status given_prompt(
	struct given *out, struct arena *a, const char *model, const struct asked_inputs *asked, struct error *err)
{
	json_t *words = json_array(), *files = json_array();
	struct pipeline_prompt prompt;
	enum medium medium;
	enum status st = STATUS_OK;

	*out = (struct given){ 0 };
	for (size_t i = 0; i < asked->thing_count && !st; i++) {
		json_array_append_new(words, json_string(asked->things[i].value));
		if (asked->things[i].is_file)
			st = given_add_file(files, a, asked->things[i].value, &medium, err);
	}
	if (!st && (st = pipeline_prompt(&prompt, a, model, words, err)))
		error_prefix(err, "--input");
	for (size_t i = 0; !st && i < prompt.count; i++)
		prompt.tensors[i].name = arena_printf(a, "in.%s", prompt.tensors[i].name);
	if (!st && !(st = keep(out, a, prompt.tensors, prompt.count, err)))
		out->files = files_text(a, files);
	json_decref(words);
	json_decref(files);
	return st;
}
