// SPDX-License-Identifier: Apache-2.0
// What a person types, as inputs of a task. A word that names a file is known by the file's content: a picture, a sound, a JSON
// file with an input or a list of inputs, else a text. One that looks like a file's name and names none is refused: no model
// should be asked about a mistyped name. A word goes to the first of the task's inputs that is of its kind and free.
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "pipeline/inside.h"
#include "preprocess/medium.h"

enum { TEXT_MOST = 4 << 20 };

struct word {
	enum medium kind;
	const char *text; // a file's path, or the text
	json_t *json;     // of MEDIUM_JSON; dies with the arena
};

static void forget_json(void *json)
{
	json_decref(json);
}

static void keep_json(struct word *out, struct arena *a, json_t *json)
{
	out->kind = MEDIUM_JSON;
	out->json = json;
	arena_defer(a, forget_json, json);
}

static enum status look_at_file(struct word *out, struct arena *a, const char *word, struct error *err)
{
	const uint8_t *data;
	size_t nbytes;
	json_t *json;
	enum status st = file_map(a, word, &data, &nbytes, err);

	if (st)
		return st;
	out->kind = medium_of(data, nbytes);
	if (out->kind == MEDIUM_JSON && !(st = json_file(word, PIPELINE_JSON_MOST, &json, err)))
		keep_json(out, a, json);
	if (out->kind != MEDIUM_TEXT)
		return st;
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
	return k == PIPELINE_TEXTS || k == PIPELINE_LABELS || k == PIPELINE_PICTURES;
}

static bool fits(enum pipeline_kind k, enum medium w)
{
	switch (w) {
	case MEDIUM_PICTURE:
		return k == PIPELINE_PICTURE || k == PIPELINE_PICTURES;
	case MEDIUM_SOUND:
		return k == PIPELINE_SOUND;
	case MEDIUM_JSON:
		return k == PIPELINE_JSON;
	default:
		return k == PIPELINE_TEXT || k == PIPELINE_TEXTS || k == PIPELINE_LABELS;
	}
}

// The place of the task's input that the word is for; PIPELINE_INPUTS: none.
static size_t place_of(const struct pipeline_task *t, const json_t *input, enum medium kind)
{
	for (size_t i = 0; i < PIPELINE_INPUTS && t->inputs[i].key; i++)
		if (fits(t->inputs[i].kind, kind) && (is_list(t->inputs[i].kind) || !json_object_get(input, t->inputs[i].key)))
			return i;
	return PIPELINE_INPUTS;
}

// Is an input complete with one word of this kind, so that the next word begins another? Of the only one that the task needs, and
// of a text in the place of a conversation.
static bool is_whole(const struct pipeline_task *t, enum medium kind)
{
	size_t needed = 0, texts = 0;

	for (size_t i = 0; i < PIPELINE_INPUTS && t->inputs[i].key; i++) {
		needed += !t->inputs[i].optional;
		texts += t->inputs[i].kind != PIPELINE_JSON;
	}
	return (needed == 1 || (!needed && texts == 1)) && !is_list(t->inputs[0].kind) && fits(t->inputs[0].kind, kind);
}

static const char *usage_of(const struct pipeline_task *t, struct arena *a)
{
	const char *out = "";

	for (size_t i = 0; i < PIPELINE_INPUTS && t->inputs[i].key; i++)
		out = arena_printf(a, "%s%s%s%s%s%s", out, *out ? " " : "", t->inputs[i].optional ? "[" : "", t->inputs[i].key,
			is_list(t->inputs[i].kind) ? "..." : "", t->inputs[i].optional ? "]" : "");
	return out;
}

// Labels are a text while there is one word of them: it may hold several (call_labels). A second word makes a list of them.
static void put_list(json_t *input, const struct pipeline_input *in, json_t *value)
{
	json_t *before = json_object_get(input, in->key);

	if (!before && in->kind == PIPELINE_LABELS) {
		json_object_set_new(input, in->key, value);
		return;
	}
	if (!json_is_array(before))
		json_object_set_new(input, in->key, before ? json_pack("[O]", before) : json_array());
	json_array_append_new(json_object_get(input, in->key), value);
}

static enum status put(json_t *input, const struct pipeline_task *t, const struct word *w, struct arena *a, struct error *err)
{
	size_t at = place_of(t, input, w->kind);
	json_t *value;

	if (at == PIPELINE_INPUTS)
		return error_set(err, STATUS_BAD_INPUT, "%.100s: %s takes %s",
			*w->text ? w->text : "an INPUT without text, or an empty file", t->name, usage_of(t, a));
	value = w->kind == MEDIUM_JSON ? json_incref(w->json) : json_string(w->text);
	if (!value)
		return error_set(err, STATUS_BAD_INPUT, "%.100s: no UTF-8", w->text);
	if (is_list(t->inputs[at].kind))
		put_list(input, &t->inputs[at], value);
	else
		json_object_set_new(input, t->inputs[at].key, value);
	return STATUS_OK;
}

static bool is_input(const struct pipeline_task *t, const char *key)
{
	for (size_t i = 0; i < PIPELINE_INPUTS && t->inputs[i].key; i++)
		if (text_is(t->inputs[i].key, key))
			return true;
	return false;
}

// Does an object have a member of the name of one of the task's inputs?
static bool names_input(const struct pipeline_task *t, const json_t *x)
{
	const char *key;
	const json_t *value;

	json_object_foreach((json_t *)(uintptr_t)x, key, value) if (is_input(t, key)) return true;
	return false;
}

// An input, or a list of them.
static bool holds_inputs(const struct pipeline_task *t, const json_t *json)
{
	return names_input(t, json) || names_input(t, json_array_get(json, 0));
}

// JSON that is typed as it is: inputs, or a conversation where the task takes one. Other JSON is refused, which may be a mistyped
// input; brackets that are no JSON begin a text.
static enum status look_at_text(
	struct word *out, struct arena *a, const struct pipeline_task *t, const char *word, struct error *err)
{
	json_t *json = *word == '{' || *word == '[' ? json_parse(word) : NULL;
	const json_t *role = json_object_get(json_array_get(json, 0), "role");

	if (!json)
		return STATUS_OK;
	if (holds_inputs(t, json) || (role && place_of(t, NULL, MEDIUM_JSON) < PIPELINE_INPUTS)) {
		keep_json(out, a, json);
		return STATUS_OK;
	}
	json_decref(json);
	return error_set(err, STATUS_BAD_INPUT,
		"%.100s: JSON without an input of %s, which takes %s; a text in brackets stands in a file", word, t->name,
		usage_of(t, a));
}

static enum status look(struct word *out, struct arena *a, const struct pipeline_task *t, const char *word, struct error *err)
{
	*out = (struct word){ MEDIUM_TEXT, word, NULL };
	if (file_exists(word) && !file_is_dir(word))
		return look_at_file(out, a, word, err);
	enum status st = look_at_text(out, a, t, word, err);
	if (st)
		return st;
	if (out->kind == MEDIUM_TEXT && medium_names_file(a, word))
		return error_set(err, STATUS_BAD_INPUT,
			file_exists(word) ? "%.200s: a folder; an INPUT is a text or a file" : "%.200s: no such file", word);
	return STATUS_OK;
}

static enum status take_input(
	json_t *inputs, const struct pipeline_task *t, json_t *one, const char *whose, struct arena *a, struct error *err)
{
	const char *key;
	const json_t *value;

	json_object_foreach(one, key, value) if (!is_input(t, key)) return error_set(
		err, STATUS_BAD_INPUT, "%.100s: %s has no input %.100s; it takes %s", whose, t->name, key, usage_of(t, a));
	for (size_t i = 0; i < PIPELINE_INPUTS && t->inputs[i].key; i++)
		if (t->inputs[i].beside && json_object_get(one, t->inputs[i].key) && !json_object_get(one, t->inputs[i].beside))
			return error_set(err, STATUS_BAD_INPUT, "%.100s: %s: %s needs the input %s beside it", whose, t->name,
				t->inputs[i].key, t->inputs[i].beside);
	json_array_append(inputs, one);
	return STATUS_OK;
}

// An input, or a list of them.
static enum status take_json(
	json_t *inputs, const struct pipeline_task *t, const struct word *w, struct arena *a, struct error *err)
{
	json_t *one;
	size_t i;
	enum status st = STATUS_OK;

	if (json_is_object(w->json))
		return take_input(inputs, t, w->json, w->text, a, err);
	json_array_foreach(w->json, i, one) if (!st) st = take_input(inputs, t, one, w->text, a, err);
	return st;
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

		if ((st = look(&w, a, t, word ? word : "", err)))
			break;
		if (w.kind == MEDIUM_JSON && holds_inputs(t, w.json)) {
			st = take_json(inputs, t, &w, a, err);
			continue;
		}
		if (!input || is_whole(t, w.kind)) {
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

enum status pipeline_option_typed(json_t *options, const char *word, struct error *err)
{
	const char *equals = strchr(word, '=');
	struct arena a = { 0 };
	json_t *wrapped, *value;

	if (!equals || equals == word)
		return error_set(err, STATUS_BAD_INPUT, "an option is KEY=VALUE, not '%s'", word);
	wrapped = json_parse(arena_printf(&a, "[%s]", equals + 1));
	value = json_array_size(wrapped) == 1 ? json_incref(json_array_get(wrapped, 0)) : json_string(equals + 1);
	json_decref(wrapped);
	int bad = json_object_set_new(options, arena_strndup(&a, word, (size_t)(equals - word)), value);
	arena_done(&a);
	return bad ? error_set(err, STATUS_BAD_INPUT, "a text that is no UTF-8") : STATUS_OK;
}
