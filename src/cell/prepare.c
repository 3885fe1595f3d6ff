// SPDX-License-Identifier: Apache-2.0
#include "cell/prepare.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/visible.h"
#include "preprocess/decode.h"
#include "preprocess/preprocess.h"
#include "preprocess/sound.h"

static enum status add(struct prepared *out, struct arena *a, const struct tensor *tensors, size_t count, struct error *err)
{
	if (count > PREPARED_MOST - out->count)
		return error_set(err, STATUS_UNSUPPORTED, "more than %d tensors", PREPARED_MOST);
	for (size_t i = 0; i < count; i++) {
		struct weight *w = &out->items[out->count++];

		*w = (struct weight){ .name = arena_printf(a, "in.%s", tensors[i].name),
			.dtype = tensors[i].dtype,
			.rank = tensors[i].rank,
			.nbytes = tensors[i].nbytes,
			.data = tensors[i].data };
		memcpy(w->dim, tensors[i].dim, sizeof w->dim);
	}
	return STATUS_OK;
}

void prepared_ids(struct prepared *out, struct arena *a, const char *name, const int64_t *ids, size_t count)
{
	const struct tensor t = { .name = name,
		.dtype = DTYPE_I64,
		.rank = 2,
		.dim = { 1, (int64_t)count },
		.data = (void *)(uintptr_t)ids,
		.nbytes = count * sizeof *ids };

	add(out, a, &t, 1, NULL);
}

enum status prepare_tokenizer(struct preparing *p, struct error *err)
{
	enum status st = p->tokenizer ? STATUS_OK : tokenizer_open(&p->tokenizer, &p->arena, p->model, err);

	return st ? error_prefix(err, "the model's tokenizer") : STATUS_OK;
}

// As a tokenizer of transformers is called with truncation=True and, where the graph's length is fixed, padding="max_length".
enum status prepare_text(
	struct prepared *out, struct arena *a, const char *text, const char *pair, struct preparing *p, struct error *err)
{
	const struct token_text in = { text, strlen(text), pair, pair ? strlen(pair) : 0 };
	const int64_t most = p->text_length > 0 ? p->text_length : p->text_most;
	const struct truncation cut = { .max_length = (size_t)most, .strategy = LONGEST_FIRST };
	const struct padding pad = {
		.length = (size_t)p->text_length, .id = p->pad_token_id > 0 ? (uint32_t)p->pad_token_id : 0, .token = ""
	};
	struct encoding e;
	enum status st;

	if ((st = tokenizer_check_bytes(in.nbytes + in.pair_nbytes, most > 0 ? (size_t)most : 0, err)) ||
		(st = prepare_tokenizer(p, err)) ||
		(st = tokenizer_encode_batch(
			 p->tokenizer, a, &in, 1, true, most > 0 ? &cut : NULL, p->text_length > 0 ? &pad : NULL, &e, err)))
		return st;
	if (!e.count)
		return error_set(err, STATUS_BAD_INPUT, "its text has no token");
	int64_t *ids = ARENA_ARRAY(a, e.count, int64_t), *types = ARENA_ARRAY(a, e.count, int64_t),
		*mask = ARENA_ARRAY(a, e.count, int64_t);
	for (size_t i = 0; i < e.count; i++) {
		ids[i] = e.tokens[i].id;
		types[i] = e.tokens[i].type;
		mask[i] = !(e.tokens[i].flags & TOKEN_PADDING);
	}
	out->is_text = true;
	out->is_cut = e.overflow_count > 0;
	prepared_ids(out, a, "input_ids", ids, e.count);
	prepared_ids(out, a, "attention_mask", mask, e.count);
	prepared_ids(out, a, "token_type_ids", types, e.count);
	return STATUS_OK;
}

enum status prepare_read_text(char **text, struct arena *a, const char *path, struct error *err)
{
	size_t nbytes;
	enum status st = file_read(a, path, PREPARED_TEXT_MOST, text, &nbytes, err);

	if (st)
		return st;
	if (visible_not_utf8(*text, nbytes) != nbytes || memchr(*text, 0, nbytes))
		return error_set(err, STATUS_BAD_INPUT, "%s: no text in UTF-8", path);
	while (nbytes && ((*text)[nbytes - 1] == '\n' || (*text)[nbytes - 1] == '\r'))
		(*text)[--nbytes] = 0;
	return STATUS_OK;
}

enum status prepare_text_file(struct prepared *out, struct arena *a, const char *path, struct preparing *p, struct error *err)
{
	char *text;
	enum status st = prepare_read_text(&text, a, path, err);

	return st ? st : prepare_text(out, a, text, NULL, p, err);
}

enum status prepare_image(struct prepared *out, struct arena *a, const char *path, struct preparing *p, struct error *err)
{
	struct picture picture;
	struct preprocessed made;
	enum status st = STATUS_OK;

	if (!p->preprocessor && (st = preprocessor_open(&p->preprocessor, &p->arena, p->model, err)))
		return error_prefix(err, "the model's processor");
	if ((st = picture_open(&picture, a, path, err)) ||
		(st = preprocessor_run(p->preprocessor, PREPROCESS_TORCHVISION, &picture, 1, a, &made, err)))
		return st;
	out->width = picture.width;
	out->height = picture.height;
	return add(out, a, made.tensors, made.count, err);
}

enum status prepare_sound(struct prepared *out, struct arena *a, const char *path, struct preparing *p, struct error *err)
{
	struct sound_wanted wanted;
	struct sound_features made;
	struct sound sound;
	enum status st = STATUS_OK;

	if (!p->sound && !(st = sound_settings(&p->sound, &p->arena, p->model, err)) && !p->sound)
		st = error_set(err, STATUS_BAD_INPUT, "the model has no feature extractor of sounds");
	if (st || (st = sound_wanted(p->sound, NULL, &wanted, err)) || (st = sound_read(a, path, &wanted, &sound, err)) ||
		(st = sound_preprocess(a, p->sound, NULL, &sound, 1, NULL, &made, err)))
		return st;
	return add(out, a, made.tensors, made.count, err);
}

void preparing_done(struct preparing *p)
{
	json_decref(p->sound);
	arena_done(&p->arena);
}

const char *prepare_file(size_t i)
{
	static const char *const names[] = { "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
		"added_tokens.json", "vocab.txt", "vocab.json", "merges.txt", "spiece.model", "tokenizer.model",
		"preprocessor_config.json", "processor_config.json", "generation_config.json" };

	return i < sizeof names / sizeof *names ? names[i] : NULL;
}
