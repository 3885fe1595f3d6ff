// SPDX-License-Identifier: Apache-2.0
// What a person types, as inputs of a task. A word that names a file is known by the file's content: a picture, a sound, a JSON
// file with an input or a list of inputs, else a text. It goes to the first of the task's inputs that is of its kind and free.
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "pipeline/inside.h"

enum { TEXT_MOST = 4 << 20, HEAD = 16, ALL_FILES = 1 << 30 };

enum word_kind { WORD_TEXT, WORD_PICTURE, WORD_SOUND, WORD_JSON };

struct word {
	enum word_kind kind;
	const char *text; // a file's path, or the text
};

static const struct {
	const char *at_0;
	size_t nbytes;
	const char *at_8; // four bytes; NULL: any
	enum word_kind kind;
} magics[] = {
	{ "\x89PNG", 4, NULL, WORD_PICTURE },
	{ "\xff\xd8\xff", 3, NULL, WORD_PICTURE },
	{ "GIF8", 4, NULL, WORD_PICTURE },
	{ "RIFF", 4, "WEBP", WORD_PICTURE },
	{ "RIFF", 4, "WAVE", WORD_SOUND },
	{ "FORM", 4, "AIFF", WORD_SOUND },
	{ "fLaC", 4, NULL, WORD_SOUND },
	{ "OggS", 4, NULL, WORD_SOUND },
	{ "ID3", 3, NULL, WORD_SOUND },
	{ "\xff\xfb", 2, NULL, WORD_SOUND },
	{ "{", 1, NULL, WORD_JSON },
	{ "[", 1, NULL, WORD_JSON },
};

static enum word_kind kind_of(const uint8_t *data, size_t nbytes)
{
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (nbytes >= HEAD && !memcmp(data, magics[i].at_0, magics[i].nbytes) &&
			(!magics[i].at_8 || !memcmp(data + 8, magics[i].at_8, 4)))
			return magics[i].kind;
	return WORD_TEXT;
}

static enum status look(struct word *out, struct arena *a, const char *word, struct error *err)
{
	const uint8_t *data;
	size_t nbytes;
	enum status st;

	*out = (struct word){ WORD_TEXT, word };
	if (!file_exists(word) || file_is_dir(word))
		return STATUS_OK;
	if ((st = file_map(a, word, &data, &nbytes, err)))
		return st;
	out->kind = kind_of(data, nbytes);
	if (out->kind != WORD_TEXT)
		return STATUS_OK;
	if (nbytes > TEXT_MOST || visible_not_utf8(data, nbytes) != nbytes || (nbytes && memchr(data, 0, nbytes)))
		return error_set(
			err, STATUS_BAD_INPUT, "%s: no picture, no sound and no text of at most %d MiB", word, TEXT_MOST >> 20);
	while (nbytes && data[nbytes - 1] == '\n')
		nbytes--;
	out->text = arena_strndup(a, (const char *)data, nbytes);
	return STATUS_OK;
}

static bool is_list(enum pipeline_kind k)
{
	return k == PIPELINE_TEXTS || k == PIPELINE_PICTURES;
}

static bool fits(enum pipeline_kind k, enum word_kind w)
{
	switch (w) {
	case WORD_PICTURE:
		return k == PIPELINE_PICTURE || k == PIPELINE_PICTURES;
	case WORD_SOUND:
		return k == PIPELINE_SOUND;
	case WORD_JSON:
		return k == PIPELINE_JSON;
	default:
		return k == PIPELINE_TEXT || k == PIPELINE_TEXTS;
	}
}

// The place of the task's input that the word is for; PIPELINE_INPUTS: none.
static size_t place_of(const struct pipeline_task *t, const json_t *input, enum word_kind kind)
{
	for (size_t i = 0; i < PIPELINE_INPUTS && t->inputs[i].key; i++)
		if (fits(t->inputs[i].kind, kind) && (is_list(t->inputs[i].kind) || !json_object_get(input, t->inputs[i].key)))
			return i;
	return PIPELINE_INPUTS;
}

static size_t required(const struct pipeline_task *t)
{
	size_t n = 0;

	for (size_t i = 0; i < PIPELINE_INPUTS && t->inputs[i].key; i++)
		n += !t->inputs[i].optional;
	return n;
}

static const char *usage_of(const struct pipeline_task *t, struct arena *a)
{
	const char *out = "";

	for (size_t i = 0; i < PIPELINE_INPUTS && t->inputs[i].key; i++)
		out = arena_printf(a, "%s%s%s%s%s%s", out, *out ? " " : "", t->inputs[i].optional ? "[" : "", t->inputs[i].key,
			is_list(t->inputs[i].kind) ? "..." : "", t->inputs[i].optional ? "]" : "");
	return out;
}

static enum status put(json_t *input, const struct pipeline_task *t, const struct word *w, struct arena *a, struct error *err)
{
	size_t at = place_of(t, input, w->kind);
	json_t *value = NULL, *list;
	enum status st = STATUS_OK;

	if (at == PIPELINE_INPUTS)
		return error_set(err, STATUS_BAD_INPUT, "%.100s: %s takes %s", w->text, t->name, usage_of(t, a));
	if (w->kind == WORD_JSON)
		st = json_file(w->text, PIPELINE_JSON_MOST, &value, err);
	else if (!(value = json_string(w->text)))
		st = error_set(err, STATUS_BAD_INPUT, "%.100s: no UTF-8", w->text);
	if (st)
		return st;
	if (!is_list(t->inputs[at].kind)) {
		json_object_set_new(input, t->inputs[at].key, value);
		return STATUS_OK;
	}
	if (!(list = json_object_get(input, t->inputs[at].key)))
		json_object_set_new(input, t->inputs[at].key, list = json_array());
	json_array_append_new(list, value);
	return STATUS_OK;
}

static bool is_input(const struct pipeline_task *t, const json_t *o)
{
	for (size_t i = 0; i < PIPELINE_INPUTS && t->inputs[i].key; i++)
		if (json_object_get(o, t->inputs[i].key))
			return true;
	return false;
}

// A file with an input, or with a list of them; *taken: it was one.
static enum status take_json(json_t *inputs, const struct pipeline_task *t, const char *path, bool *taken, struct error *err)
{
	json_t *json, *one;
	size_t i;
	enum status st = json_file(path, PIPELINE_JSON_MOST, &json, err);

	if (st)
		return st;
	*taken = is_input(t, json) || is_input(t, json_array_get(json, 0));
	if (*taken && json_is_object(json))
		json_array_append(inputs, json);
	else if (*taken)
		json_array_foreach(json, i, one) json_array_append(inputs, one);
	json_decref(json);
	return STATUS_OK;
}

enum status pipeline_words(const struct pipeline *p, const json_t *words, struct arena *a, json_t **out, struct error *err)
{
	const struct pipeline_task *t = p->task;
	size_t count = json_array_size(words);
	struct word w;
	json_t *inputs = json_array(), *input = NULL;
	enum status st = STATUS_OK;

	for (size_t i = 0; i < count && !st; i++) {
		const char *word = json_string_value(json_array_get(words, i));

		if ((st = look(&w, a, word ? word : "", err)))
			break;
		bool taken = false;
		if (w.kind == WORD_JSON && ((st = take_json(inputs, t, w.text, &taken, err)) || taken))
			continue;
		// One that has all it needs is complete: the next word begins another.
		if (!input || (required(t) == 1 && !is_list(t->inputs[0].kind) && fits(t->inputs[0].kind, w.kind))) {
			json_array_append_new(inputs, json_object());
			input = json_array_get(inputs, json_array_size(inputs) - 1);
		}
		st = put(input, t, &w, a, err);
	}
	if (st) {
		json_decref(inputs);
		return st;
	}
	*out = inputs;
	return STATUS_OK;
}
