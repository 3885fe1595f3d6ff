// SPDX-License-Identifier: Apache-2.0
// A tokenizer that is opened by the name of its class, as model_index.json has it. Most classes of transformers 5 take
// tokenizer.json as it stands; T5's takes the vocabulary and the table of characters from it, and makes the rest itself: words
// between blanks, and no fallback to bytes, so that a character that the vocabulary lacks is the unknown token.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "pipeline/inside.h"

// The step of a normalizer of this type; NULL: it has none.
static json_t *step_of(json_t *normalizer, const char *type)
{
	json_t *one;
	size_t i;

	if (text_is(json_string_value(json_object_get(normalizer, "type")), type))
		return normalizer;
	json_array_foreach(json_object_get(normalizer, "normalizers"), i,
		one) if (text_is(json_string_value(json_object_get(one, "type")), type)) return one;
	return NULL;
}

static json_t *metaspace(void)
{
	return json_pack(
		"{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", "\u2581", "prepend_scheme", "always", "split", 1);
}

static void make_t5(json_t *file)
{
	json_t *characters = step_of(json_object_get(file, "normalizer"), "Precompiled");

	json_object_set_new(json_object_get(file, "model"), "byte_fallback", json_false());
	json_object_set_new(file, "normalizer", characters ? json_incref(characters) : json_null());
	json_object_set_new(file, "pre_tokenizer",
		json_pack("{s:s, s:[{s:s}, o]}", "type", "Sequence", "pretokenizers", "type", "WhitespaceSplit", metaspace()));
	json_object_set_new(file, "decoder", metaspace());
}

enum status part_tokenizer_class(struct part *m, const char *class_name, struct error *err)
{
	const char *path = arena_printf(m->p->arena, "%s/tokenizer.json", m->words);
	struct tokenizer *t = NULL;
	json_t *file;
	char *text;
	enum status st;

	if (m->tokenizer || !text_starts(class_name, "T5Tokenizer") || !file_exists(path))
		return STATUS_OK;
	if ((st = json_file(path, TOKENIZER_JSON_MOST, &file, err)))
		return st;
	make_t5(file);
	if (!(text = json_dumps(file, JSON_COMPACT)))
		st = error_set(err, STATUS_NO_MEMORY, "%s: no memory", path);
	else
		st = tokenizer_parse(&t, m->p->arena, path, text, strlen(text), err);
	if (!st && !(st = part_add_specials(m, t, err)))
		m->tokenizer = t;
	free(text);
	json_decref(file);
	return st;
}
