// SPDX-License-Identifier: Apache-2.0
// Chat templates: a conversation as the text that a model was trained on. A template is Jinja, and means what jinja2 3.1 makes of
// it in the environment of transformers 5: trim_blocks, lstrip_blocks, loop controls, `generation` blocks, nothing that changes a
// list or a mapping, no loader, tojson without HTML's escapes, raise_exception, strftime_now.
//
// A template is a stranger's program: what it may take is bounded, and beyond a bound it is refused with a sentence.
#ifndef ASSAY_CHAT_CHAT_H
#define ASSAY_CHAT_CHAT_H

#include <stddef.h>
#include <time.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"

enum {
	CHAT_TEMPLATE_MOST = 256 << 10, // bytes of a template
	CHAT_MEMORY_MOST = 48 << 20,    // bytes of its tree, its values and its text together
	CHAT_STEPS_MOST = 20 << 20,     // expressions and statements, and 64 bytes each of text that is looked through
	// Bytes of the text that it makes, which is tokenized, and more for each byte of messages and tools, as JSON: a template
	// says some KB of its own, and what it was given once or twice.
	CHAT_TEXT_MOST = 512 << 10,
	CHAT_TEXT_TIMES = 16,
	CHAT_DEPTH_MOST = 200, // of expressions, statements and calls in each other, and of values that are compared or written
};

// Renders `source`. `variables` is an object: messages, tools, add_generation_prompt, bos_token, ...; `name` is put before
// sentences; strftime_now tells `now`. *out is NUL-terminated UTF-8 in `a`. BAD_INPUT: what jinja2 refuses, and what
// raise_exception said; UNSUPPORTED: what of Jinja is not there; NO_MEMORY: a bound.
enum status chat_render(struct arena *a, const char *name, const char *source, size_t source_nbytes, const json_t *variables,
	time_t now, char **out, size_t *nbytes, struct error *err);

// The template of a model's folder: chat_template.jinja, else chat_template of tokenizer_config.json; of several the one called
// `which` (NULL: tool_use where there are tools and one has that name, else default). In `a`; name: the file.
struct chat_source {
	const char *name, *text;
	size_t nbytes;
	json_t *tokens; // bos_token, eos_token, ... of tokenizer_config.json and special_tokens_map.json; released with the arena
};
enum status chat_find(
	struct arena *a, const char *folder, const char *which, int tools, struct chat_source *out, struct error *err);
// Messages as a person types them, "user: text", each word one; added to the list `out`. BAD_INPUT: one without a role, or no
// UTF-8.
enum status chat_typed(char **words, size_t count, json_t *out, struct error *err);
// The same as transformers' apply_chat_template: `messages` and `tools` (NULL: none) with the folder's special tokens. `generate`
// is add_generation_prompt.
enum status chat_apply(struct arena *a, const struct chat_source *from, json_t *messages, json_t *tools, int generate, time_t now,
	char **out, size_t *nbytes, struct error *err);

#endif
