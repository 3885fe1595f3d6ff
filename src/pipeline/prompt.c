// SPDX-License-Identifier: Apache-2.0
// What a text would begin with: a task is asked as ever, and where it would run the loop (generate_text) what the loop would be
// given is kept instead.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "pipeline/choose.h"
#include "pipeline/pictures.h"
#include "preprocess/medium.h"

enum { PROMPT_TENSORS_MOST = CALL_TENSORS_MOST + 3 };

static void add(struct pipeline_prompt *out, const struct tensor *t, const char *name)
{
	out->tensors[out->count] = *t;
	out->tensors[out->count++].name = name;
}

static struct tensor row_of(enum dtype dtype, const void *data, size_t count, bool is_batch)
{
	struct tensor t = {
		.dtype = dtype, .rank = 1 + is_batch, .data = (void *)(uintptr_t)data, .nbytes = count * dtype_size(dtype)
	};

	t.dim[0] = 1;
	t.dim[is_batch] = (int64_t)count;
	return t;
}

void prompt_languages(struct pipeline *p, const int64_t *ids, size_t count)
{
	const struct tensor t = row_of(DTYPE_I64, ids, count, false);

	add(p->prompt, &t, "languages");
}

enum status prompt_take(struct part *m, struct arena *a, const struct decoding *d, const int64_t *ids,
	const struct tensor *inputs, size_t input_count, struct error *err)
{
	struct pipeline_prompt *out = m->p->prompt;
	const struct arch_graph *loop[ARCH_STEPS_MOST];
	const bool parted = arch_graphs_of_loop(m->spec, loop) > 1;
	const size_t length = (size_t)d->prompt_length;
	int64_t *own = ARENA_ARRAY(a, length + 1, int64_t);
	json_t *how = decoding_json(d);
	char *text = json_dumps(how, JSON_COMPACT | JSON_REAL_PRECISION(17));
	const char *kept = arena_strdup(a, text);
	struct tensor t;

	json_decref(how);
	free(text);
	if (input_count > CALL_TENSORS_MOST)
		return error_set(err, STATUS_UNSUPPORTED, "a prompt of more than %d tensors", CALL_TENSORS_MOST);
	memcpy(own, ids, length * sizeof *own);
	t = row_of(DTYPE_I64, own, length, true);
	add(out, &t, parted ? "decoder_input_ids" : "input_ids");
	t = row_of(DTYPE_U8, kept, strlen(kept), false);
	add(out, &t, "generation_config");
	for (size_t i = 0; i < input_count; i++)
		add(out, &inputs[i], inputs[i].name);
	return error_set(err, STATUS_INTERRUPTED, "the prompt is made");
}

// What a model is for whose class is of several tasks: by the first file among the words that is a picture or a sound.
static const char *task_of_words(const json_t *words, struct arena *a)
{
	const json_t *word;
	size_t i, nbytes;
	const uint8_t *data;

	json_array_foreach(words, i, word)
	{
		const char *path = json_string_value(word);

		if (!path || !file_exists(path) || file_map(a, path, &data, &nbytes, NULL))
			continue;
		const enum medium medium = medium_of(data, nbytes);
		if (medium == MEDIUM_PICTURE || medium == MEDIUM_SOUND)
			return medium == MEDIUM_PICTURE ? "image-text-to-text" : "automatic-speech-recognition";
	}
	return "translation";
}

enum status pipeline_prompt(
	struct pipeline_prompt *out, struct arena *a, const char *folder, const json_t *words, struct error *err)
{
	struct pipeline_answer answer = { 0 };
	struct error why = { 0 };
	json_t *inputs = NULL;
	struct pipeline *p;
	enum status st;

	*out = (struct pipeline_prompt){ .tensors = ARENA_ARRAY(a, PROMPT_TENSORS_MOST, struct tensor) };
	if ((st = pipeline_open(&p, a, folder, NULL, NULL, &why)) == STATUS_BAD_INPUT)
		st = pipeline_open(&p, a, folder, task_of_words(words, a), NULL, &why);
	if (st)
		return error_copy(err, st, &why);
	p->prompt = out;
	if ((st = pipeline_words(p, words, a, &inputs, err)))
		return st;
	if (json_array_size(inputs) == 1)
		st = pipeline_answer(p, NULL, json_array_get(inputs, 0), NULL, a, &answer, &why);
	else
		st = error_set(&why, STATUS_BAD_INPUT, "%s takes one prompt, and these are %zu", pipeline_task(p),
			json_array_size(inputs));
	json_decref(inputs);
	json_decref(answer.json);
	if (st == STATUS_INTERRUPTED && tensor_named(out->tensors, out->count, "generation_config"))
		return STATUS_OK;
	return st ? error_copy(err, st, &why) : error_set(err, STATUS_UNSUPPORTED, "%s writes no text", pipeline_task(p));
}
