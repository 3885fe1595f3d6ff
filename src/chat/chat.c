// SPDX-License-Identifier: Apache-2.0
// A run of a template within its bounds, and the template of a folder.
#include "chat/inside.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "token/unicode.h"

// ---- bounds ---------------------------------------------------------------------------------------------------------------

struct value run_fail(struct run *r, enum status s, const char *format, ...)
{
	struct text t = { 0 };
	struct value v = { .kind = V_UNDEFINED, .s = "", .n = 0 };
	char text[1024];
	va_list ap;

	if (r->failed)
		return v;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	visible_add(&t, text, visible_fit(text, strlen(text), sizeof text - 1));
	r->failed = s;
	error_set(r->err, s, "%s: line %u: %s", r->name, r->line, text_get(&t));
	text_done(&t);
	return v;
}

void *run_take(struct run *r, size_t count, size_t size)
{
	size_t n = size && count > CHAT_MEMORY_MOST / size ? CHAT_MEMORY_MOST : count * size;

	if (n + 64 > CHAT_MEMORY_MOST - r->memory) { // 64: what a piece costs beside itself
		run_fail(r, STATUS_NO_MEMORY, "the template takes more than %d MiB", CHAT_MEMORY_MOST >> 20);
		return n <= 1024 ? arena_alloc(r->a, n) : NULL;
	}
	r->memory += n + 64;
	return arena_alloc(r->a, n);
}

bool run_step(struct run *r, size_t nbytes)
{
	r->steps += 1 + nbytes / 64;
	if (r->steps > CHAT_STEPS_MOST)
		run_fail(r, STATUS_NO_MEMORY, "the template takes more than %d million steps", CHAT_STEPS_MOST >> 20);
	return !r->failed;
}

bool run_characters(struct run *r, struct value v)
{
	return run_step(r, v.kind == V_STRING ? v.n * 8 : 0);
}

bool run_deeper(struct run *r)
{
	if (r->depth >= CHAT_DEPTH_MOST)
		run_bad(r, "more than %d levels deep", CHAT_DEPTH_MOST);
	if (r->failed)
		return false;
	r->depth++;
	return true;
}

// ---- texts that grow ------------------------------------------------------------------------------------------------------

void build_add(struct build *b, const char *s, size_t n)
{
	if (!n || b->r->failed)
		return;
	if (n > b->room - b->length) {
		size_t room = b->room * 2 > b->length + n ? b->room * 2 : b->length + n + 16;
		char *more = run_take(b->r, room, 1);
		if (!more || b->r->failed)
			return;
		if (b->length)
			memcpy(more, b->data, b->length);
		b->data = more;
		b->room = room;
	}
	memcpy(b->data + b->length, s, n);
	b->length += n;
}

void build_text(struct build *b, const char *s)
{
	build_add(b, s, strlen(s));
}

void build_code(struct build *b, uint32_t code)
{
	char out[4];

	build_add(b, out, utf8_put(out, code));
}

void build_format(struct build *b, const char *format, ...)
{
	char text[128];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	build_text(b, text);
}

struct value build_value(const struct build *b)
{
	return value_string(b->data, b->length);
}

// ---- a run ----------------------------------------------------------------------------------------------------------------

enum status chat_render(struct arena *a, const char *name, const char *source, size_t source_nbytes, const json_t *variables,
	time_t now, char **out, size_t *nbytes, struct error *err)
{
	struct run r = { .a = a, .name = name, .err = err, .line = 1, .now = now };
	struct build text = BUILD(&r);
	struct nodes body = { 0 };
	size_t count;

	if (source_nbytes > CHAT_TEMPLATE_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: a template of more than %d KiB", name, CHAT_TEMPLATE_MOST >> 10);
	if (visible_not_utf8(source, source_nbytes) != source_nbytes)
		return error_set(err, STATUS_BAD_INPUT, "%s: not UTF-8", name);
	r.variables = value_json(&r, variables).dict;
	const struct lexeme *lexemes = chat_lex(&r, source, source_nbytes, &count);
	chat_parse(&r, lexemes, count, &body);
	r.out = &text;
	if (!r.failed)
		chat_execute(&r, &body);
	build_add(&text, "", 1);
	if (r.failed)
		return r.failed;
	size_t said = json_dumpb(json_object_get(variables, "messages"), NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) +
		json_dumpb(json_object_get(variables, "tools"), NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
	if (text.length - 1 > CHAT_TEXT_MOST + CHAT_TEXT_TIMES * said)
		return error_set(err, STATUS_NO_MEMORY,
			"%s: the template makes a text of %zu bytes of a conversation of %zu: no template in use does", name,
			text.length - 1, said);
	*out = text.data;
	*nbytes = text.length - 1;
	return STATUS_OK;
}

// ---- a model's folder -----------------------------------------------------------------------------------------------------

enum { CONFIG_MOST = 16 << 20 };

static void release(void *json)
{
	json_decref(json);
}

// A special token is a text, or an object with its text as content.
static void take_tokens(json_t *into, const json_t *from)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)from, key, v)
	{
		json_t *text = json_is_object(v) ? json_object_get(v, "content") : v;
		if (text_ends(key, "_token") && json_is_string(text))
			json_object_set(into, key, text);
	}
}

static const char *named_template(const json_t *list, const char *which, int tools)
{
	const char *wanted[] = { which, which || !tools ? NULL : "tool_use", which ? NULL : "default" };
	size_t i;
	json_t *one;

	for (size_t k = 0; k < 3; k++) {
		json_array_foreach(list, i, one) if (wanted[k] &&
			text_is(json_string_value(json_object_get(one, "name")),
				wanted[k])) return json_string_value(json_object_get(one, "template"));
	}
	return NULL;
}

enum status chat_find(
	struct arena *a, const char *folder, const char *which, int tools, struct chat_source *out, struct error *err)
{
	const char *config = arena_printf(a, "%s/tokenizer_config.json", folder),
		   *own = arena_printf(a, "%s/chat_template.jinja", folder);
	const char *map = arena_printf(a, "%s/special_tokens_map.json", folder);
	json_t *json = NULL;
	enum status s;

	*out = (struct chat_source){ .tokens = json_object() };
	arena_defer(a, release, out->tokens);
	if (file_exists(map)) {
		if ((s = json_file(map, CONFIG_MOST, &json, err)))
			return s;
		take_tokens(out->tokens, json);
		json_decref(json);
		json = NULL;
	}
	if (file_exists(config)) {
		if ((s = json_file(config, CONFIG_MOST, &json, err)))
			return s;
		arena_defer(a, release, json);
		take_tokens(out->tokens, json);
	}
	if (file_exists(own) && (!which || text_is(which, "default"))) {
		char *text;
		out->name = own;
		s = file_read(a, own, CHAT_TEMPLATE_MOST, &text, &out->nbytes, err);
		out->text = text;
		return s;
	}
	const json_t *v = json_object_get(json, "chat_template");
	out->text = json_is_array(v) ? named_template(v, which, tools) : which ? NULL : json_string_value(v);
	out->nbytes = out->text ? strlen(out->text) : 0;
	out->name = config;
	if (out->text)
		return STATUS_OK;
	return which ? error_set(err, STATUS_BAD_INPUT, "%s: there is no chat template '%s'", folder, which)
		     : error_set(err, STATUS_BAD_INPUT, "%s: there is no chat template", folder);
}

// A message's reasoning under the names that templates read, as transformers gives it to them: from the first of these that is
// not null, "thinking" before all others where the message has none, and "reasoning_content".
static json_t *with_reasoning(const json_t *messages)
{
	static const char *const names[] = { "reasoning_content", "thinking", "reasoning" };
	json_t *out = json_array(), *one;
	size_t i;

	json_array_foreach(messages, i, one)
	{
		json_t *found = NULL;
		for (size_t k = 0; k < 3 && (!found || json_is_null(found)); k++)
			found = json_object_get(one, names[k]);
		if (!found || json_is_null(found)) {
			json_array_append(out, one);
			continue;
		}
		json_t *more = json_pack("{s:O}", "thinking", found);
		json_object_update(more, one);
		json_object_set(more, "reasoning_content", found);
		json_array_append_new(out, more);
	}
	return out;
}

enum status chat_apply(struct arena *a, const struct chat_source *from, json_t *messages, json_t *tools, int generate, time_t now,
	char **out, size_t *nbytes, struct error *err)
{
	json_t *all = json_copy(from->tokens);
	enum status s;

	json_object_set_new(all, "messages", with_reasoning(messages));
	json_object_set_new(all, "tools", tools ? json_incref(tools) : json_null());
	json_object_set_new(all, "documents", json_null());
	json_object_set_new(all, "add_generation_prompt", json_boolean(generate));
	s = chat_render(a, from->name, from->text, from->nbytes, all, now, out, nbytes, err);
	// The values are texts of the variables': copied before those go.
	json_decref(all);
	return s;
}

enum status chat_typed(char **words, size_t count, json_t *out, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *colon = strchr(words[i], ':'), *text = colon;

		if (!colon || colon == words[i] || visible_not_utf8(words[i], strlen(words[i])) != strlen(words[i]))
			return error_set(err, STATUS_BAD_INPUT, "a message is ROLE: TEXT in UTF-8, such as 'user: hello'");
		do
			text++;
		while (*text == ' ');
		json_array_append_new(out,
			json_pack("{s:o, s:s}", "role", json_stringn(words[i], (size_t)(colon - words[i])), "content", text));
	}
	return STATUS_OK;
}
