// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pictures.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "preprocess/decode.h"

static struct tensor rows_of(const char *name, int64_t *data, size_t rows, size_t columns)
{
	return (struct tensor){ .name = name,
		.dtype = DTYPE_I64,
		.rank = 2,
		.dim = { (int64_t)rows, (int64_t)columns },
		.data = data,
		.nbytes = rows * columns * sizeof *data };
}

void inputs_add(struct inputs *in, const struct tensor *more, size_t count)
{
	for (size_t i = 0; i < count && in->count < CALL_TENSORS_MOST; i++)
		in->items[in->count++] = more[i];
}

enum status pictures_inputs(struct call *c, struct part *m, const struct picture *pictures, size_t count, struct inputs *in,
	const char **class_name, struct error *err)
{
	struct preprocessor *p;
	struct preprocessed made;
	enum status st = preprocessor_open(&p, c->a, m->folder, err);

	if (st || (st = preprocessor_run(p, PREPROCESS_TORCHVISION, pictures, count, c->a, &made, err)))
		return st;
	inputs_add(in, made.tensors, made.count);
	in->tiles = made.tiles;
	if (class_name)
		*class_name = preprocessor_class(p);
	return STATUS_OK;
}

enum status image_inputs(
	struct call *c, struct part *m, struct picture *image, struct inputs *in, const char **class_name, struct error *err)
{
	enum status st = call_picture(c, "image", image, err);

	return st ? st : pictures_inputs(c, m, image, 1, in, class_name, err);
}

enum status open_picture(const struct call *c, const char *file, struct picture *out, struct error *err)
{
	enum status st = c->base ? file_inside(c->a, c->base, file, &file, err) : STATUS_OK;

	return st ? st : picture_open(out, c->a, file, err);
}

enum status call_pictures(const struct call *c, const char *key, struct picture **out, size_t *count, struct error *err)
{
	const char *const *names;
	enum status st = call_texts(c, key, &names, count, err);

	if (st)
		return st;
	*out = ARENA_ARRAY(c->a, *count, struct picture);
	for (size_t i = 0; i < *count && !st; i++)
		st = open_picture(c, names[i], &(*out)[i], err);
	return st;
}

static void release_json(void *json)
{
	json_decref(json);
}

enum status call_sound(struct call *c, struct part *m, struct sound *out, const json_t **settings, struct error *err)
{
	struct sound_wanted wanted;
	const char *path;
	json_t *own = NULL;
	enum status st = sound_settings(&own, c->a, m->folder, err);

	if (st)
		return st;
	if (!own)
		return error_set(err, STATUS_UNSUPPORTED, "%s: no feature extractor of sounds is there", m->folder);
	arena_defer(c->a, release_json, own);
	*settings = own;
	if ((st = sound_wanted(own, NULL, &wanted, err)) || (st = call_file(c, "audio", &path, err)))
		return st;
	return sound_read(c->a, path, &wanted, out, err);
}

enum status sound_inputs(struct call *c, const json_t *settings, const struct sound *sound, struct inputs *in, struct error *err)
{
	struct sound_features made;
	enum status st = sound_preprocess(c->a, settings, NULL, sound, 1, NULL, &made, err);

	if (st)
		return st;
	inputs_add(in, made.tensors, made.count);
	// An extractor that gives no mask leaves a model that takes one to all samples.
	const struct tensor *values = tensor_named(made.tensors, made.count, "input_values");
	if (values && values->rank == 2 && !tensor_named(made.tensors, made.count, "attention_mask")) {
		size_t samples = (size_t)(values->dim[0] * values->dim[1]);
		int64_t *ones = ARENA_ARRAY(c->a, samples + 1, int64_t);

		for (size_t i = 0; i < samples; i++)
			ones[i] = 1;
		inputs_add(in,
			(struct tensor[]){ rows_of("attention_mask", ones, (size_t)values->dim[0], (size_t)values->dim[1]) }, 1);
	}
	return STATUS_OK;
}

enum status whole_run(struct call *c, struct part *m, const struct inputs *in, struct outputs *out, struct error *err)
{
	return part_run(m, &arch_whole, in->items, in->count, c->a, &out->items, &out->count, err);
}

enum status output_of(const struct outputs *given, const char *name, int rank, const struct tensor **out, struct error *err)
{
	const struct tensor *t = tensor_named(given->items, given->count, name);
	size_t elements;

	if (!t || t->dtype != DTYPE_F32 || (rank && t->rank != rank) || t->rank < 1 || t->dim[0] != 1 ||
		!tensor_count(t->rank, t->dim, &elements) || !elements)
		return error_set(err, STATUS_UNSUPPORTED, "the model gives no %s that this task can read", name);
	if (!all_finite(t))
		return error_set(err, STATUS_FAILED, "%s holds what is no number", name);
	*out = t;
	return STATUS_OK;
}

static bool gives_mask(const struct part *m)
{
	const json_t *names = json_object_get(m->token_config, "model_input_names"), *name;
	size_t i;

	if (!names)
		return true;
	json_array_foreach(names, i, name) if (text_is(json_string_value(name), "attention_mask")) return true;
	return false;
}

enum status texts_inputs(struct call *c, struct part *m, const char *const *texts, size_t count, size_t length, struct inputs *in,
	struct error *err)
{
	struct token_text *all = ARENA_ARRAY(c->a, count + 1, struct token_text);
	struct encoding *e = ARENA_ARRAY(c->a, count + 1, struct encoding);
	int64_t pad_id = part_special_id(m, "pad_token");
	const struct padding pad = {
		.length = length, .id = pad_id < 0 ? 0 : (uint32_t)pad_id, .token = part_special(m, "pad_token")
	};
	const struct truncation cut = { .max_length = length };
	struct tokenizer *t;
	enum status st = part_tokenizer(m, &t, err);

	for (size_t i = 0; i < count; i++)
		all[i] = (struct token_text){ .text = texts[i], .nbytes = strlen(texts[i]) };
	if (st)
		return st;
	if (pad_id < 0 && (count > 1 || length))
		return error_set(err, STATUS_UNSUPPORTED, "%s: texts cannot be padded without a pad_token", m->folder);
	if ((st = tokenizer_encode_batch(t, c->a, all, count, true, length ? &cut : NULL, pad_id < 0 ? NULL : &pad, e, err)))
		return st;
	size_t columns = e[0].count;
	bool masked = gives_mask(m);
	int64_t *ids = ARENA_ARRAY(c->a, count * columns + 1, int64_t), *mask = ARENA_ARRAY(c->a, count * columns + 1, int64_t);
	for (size_t i = 0; i < count * columns; i++) {
		const struct token *token = &e[i / columns].tokens[i % columns];

		if (m->hints.vocab_size > 0 && token->id >= (uint64_t)m->hints.vocab_size)
			return error_set(err, STATUS_BAD_INPUT, "token %u of the tokenizer is none of the model's %lld",
				token->id, (long long)m->hints.vocab_size);
		ids[i] = token->id;
		mask[i] = !masked || !(token->flags & TOKEN_PADDING);
	}
	if (!columns || (m->hints.max_sequence > 0 && columns > (size_t)m->hints.max_sequence))
		return error_set(err, STATUS_BAD_INPUT, "a text of %zu tokens, and the model takes 1 to %lld", columns,
			(long long)m->hints.max_sequence);
	inputs_add(in,
		(struct tensor[]){ rows_of("input_ids", ids, count, columns), rows_of("attention_mask", mask, count, columns) },
		2);
	return STATUS_OK;
}

enum status labels_in_template(struct call *c, const char *const *labels, size_t count, const char *otherwise,
	const char *const **out, struct error *err)
{
	const char *pattern, **texts = ARENA_ARRAY(c->a, count + 1, const char *);
	enum status st = option_text(c, "hypothesis_template", otherwise, &pattern, err);
	const char *place = st ? NULL : strstr(pattern, "{}");

	if (st)
		return st;
	if (!place)
		return error_set(err, STATUS_BAD_INPUT, "hypothesis_template needs {} in the label's place");
	for (size_t i = 0; i < count; i++)
		texts[i] = arena_printf(c->a, "%.*s%s%s", (int)(place - pattern), pattern, labels[i], place + 2);
	*out = texts;
	return STATUS_OK;
}
