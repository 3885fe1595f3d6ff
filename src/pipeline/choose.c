// SPDX-License-Identifier: Apache-2.0
// Settings of a generation, from the options of a task and the files of a model.
#include "pipeline/choose.h"

#include "base/file.h"

static void forget(void *json)
{
	json_decref(json);
}

enum status decoding_asked(const struct call *c, const char *words, const json_t **out, struct error *err)
{
	json_t *more = json_object_get(c->options, "generate_kwargs"), *all = json_object(), *value;
	const char *key;

	arena_defer(c->a, forget, all);
	*out = all;
	json_object_foreach((json_t *)(uintptr_t)c->options, key, value) if (words_have(words, key))
		json_object_set(all, key, value);
	if (more && !json_is_null(more) && !json_is_object(more))
		return error_set(err, STATUS_BAD_INPUT, "the option generate_kwargs is an object");
	json_object_update(all, more);
	return options_known(words, more, "generate_kwargs", err);
}

enum status decoding_read(struct part *m, struct arena *a, const json_t *options, int64_t prompt_length, int64_t usual,
	struct decoding *out, struct error *err)
{
	struct decoding_source from = { options, m->config, m->hints.max_sequence };
	enum status st;

	if (file_exists(arena_printf(a, "%s/generation_config.json", m->folder)) &&
		(st = part_json(m, "generation_config.json", &from.file, err)))
		return st;
	return decoding_settle(out, a, &from, prompt_length, usual, err);
}
