// SPDX-License-Identifier: Apache-2.0
// Tasks that write a text: text-generation (TextGenerationPipeline), translation and summarization (generate() of an encoder and
// decoder).
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "chat/chat.h"
#include "pipeline/choose.h"

enum { LENGTH_USUAL = 20 }; // max_length of generate()

json_t *generated_ids(const int64_t *ids, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer(ids[i]));
	return list;
}

enum status generated_decode(struct part *m, struct arena *a, const int64_t *ids, size_t count, char **out, struct error *err)
{
	uint32_t *as = ARENA_ARRAY(a, count + 1, uint32_t);

	for (size_t i = 0; i < count; i++)
		as[i] = (uint32_t)ids[i];
	return text_decode(m, a, as, count, true, out, err);
}

// ---- text-generation ----------------------------------------------------------------------------------------------------------

struct writing {
	struct call *c;
	struct part *m;
	const char *prompt; // text, or what the chat's template made
	bool is_chat;
};

static enum status read_prompt(struct writing *w, struct error *err)
{
	json_t *messages = json_object_get(w->c->input, "messages");
	struct chat_source from;
	char *text;
	size_t nbytes;
	enum status st;

	if (!(w->is_chat = messages != NULL))
		return call_text(w->c, "text", &w->prompt, err);
	const char *last = json_string_value(json_object_get(json_array_get(messages, json_array_size(messages) - 1), "role"));
	if (!json_array_size(messages) || !last)
		return error_set(err, STATUS_BAD_INPUT, "messages should be a list of messages with a role and a content");
	if (text_is(last, "assistant"))
		return error_set(err, STATUS_UNSUPPORTED, "to go on with a message of the assistant is not supported yet");
	if ((st = chat_find(w->c->a, w->m->folder, NULL, 0, &from, err)) ||
		(st = chat_apply(w->c->a, &from, messages, NULL, true, time(NULL), &text, &nbytes, err)))
		return st;
	w->prompt = text;
	return STATUS_OK;
}

// A template writes its special tokens itself.
static enum status prompt_ids(struct writing *w, int64_t **out, size_t *count, struct error *err)
{
	const struct token_text in = { .text = w->prompt, .nbytes = strlen(w->prompt), .most = text_most(w->m) };
	struct tokenizer *t;
	struct encoding e;
	struct tensor *tensors;
	size_t n;
	enum status st = part_tokenizer(w->m, &t, err);

	if (st || (st = tokenizer_check_bytes(in.nbytes, in.most, err)) ||
		(st = tokenizer_encode_batch(t, w->c->a, &in, 1, !w->is_chat, NULL, NULL, &e, err)) ||
		(st = text_tensors(w->m, w->c->a, &e, &tensors, &n, err)))
		return st;
	*out = tensors[0].data;
	*count = e.count;
	return STATUS_OK;
}

json_t *full_text(struct call *c, bool is_chat, const char *asked, const char *text)
{
	if (!is_chat)
		return json_string(arena_printf(c->a, "%s%s", asked, text));
	json_t *all = json_copy(json_object_get(c->input, "messages"));
	json_array_append_new(all, json_pack("{s:s, s:s}", "role", "assistant", "content", text));
	return all;
}

TASK(text_generation)
{
	struct writing w = { .c = c };
	struct decoding d;
	int64_t *prompt, *ids;
	size_t length, count;
	char *text;
	bool full;
	enum status st = part_open(c->p, ".", &w.m, err);

	if (st || (st = read_prompt(&w, err)) || (st = option_bool(c, "return_full_text", true, &full, err)) ||
		(st = prompt_ids(&w, &prompt, &length, err)) ||
		(st = decoding_read(w.m, c->a, c->options, (int64_t)length, NEW_TOKENS_USUAL, &d, err)) ||
		(st = generate_text(w.m, c->a, &d, prompt, NULL, 0, &ids, &count, err)) ||
		(st = generated_decode(w.m, c->a, ids + length, count - length, &text, err)))
		return st;
	out->json = json_pack("{s:o, s:o}", "generated_text", full ? full_text(c, w.is_chat, w.prompt, text) : json_string(text),
		"token_ids", generated_ids(ids, count));
	out->prompt_tokens = length;
	if (out->json && w.is_chat)
		json_object_set_new(out->json, "prompt", json_string(w.prompt));
	return STATUS_OK;
}

// ---- translation, summarization -----------------------------------------------------------------------------------------------

static enum status token_of(struct part *m, const char *token, int64_t *out, struct error *err)
{
	struct tokenizer *t;
	uint32_t id;
	enum status st = part_tokenizer(m, &t, err);

	if (st)
		return st;
	if (!tokenizer_id(t, token, strlen(token), &id))
		return error_set(err, STATUS_BAD_INPUT, "%s is no token of the model's", token);
	*out = id;
	return STATUS_OK;
}

// Tokenizers of many languages put the source's before the text and the end token behind it, as NllbTokenizer and
// MBart50Tokenizer do; tokenizer.json has one of the languages fixed.
static enum status encode_source(
	struct call *c, struct part *m, const char *text, const char *language, struct encoding *out, struct error *err)
{
	const struct token_text in = { .text = text, .nbytes = strlen(text) };
	struct truncation cut;
	struct tokenizer *t;
	int64_t before, after;
	struct encoding plain;
	bool cuts = text_cut(m, LONGEST_FIRST, &cut);
	enum status st;

	if (!language)
		return text_encode(m, c->a, text, NULL, cuts ? &cut : NULL, out, err);
	if ((after = part_special_id(m, "eos_token")) < 0)
		return error_set(err, STATUS_BAD_INPUT, "the tokenizer has no end token");
	if (cuts && cut.max_length < 3)
		return error_set(err, STATUS_BAD_INPUT, "model_max_length leaves no room for a text");
	cut.max_length -= cuts ? 2 : 0;
	if ((st = tokenizer_check_bytes(in.nbytes, text_most(m), err)) || (st = token_of(m, language, &before, err)) ||
		(st = part_tokenizer(m, &t, err)) ||
		(st = tokenizer_encode_batch(t, c->a, &in, 1, false, cuts ? &cut : NULL, NULL, &plain, err)))
		return st;
	*out = (struct encoding){ ARENA_ARRAY(c->a, plain.count + 2, struct token), plain.count + 2, NULL, 0 };
	memcpy(out->tokens + 1, plain.tokens, plain.count * sizeof *plain.tokens);
	out->tokens[0] = (struct token){ .id = (uint32_t)before, .flags = TOKEN_SPECIAL };
	out->tokens[plain.count + 1] = (struct token){ .id = (uint32_t)after, .flags = TOKEN_SPECIAL };
	return STATUS_OK;
}

static enum status source_of(struct call *c, struct part *m, struct encoding *out, struct error *err)
{
	const char *text, *prefix, *language;
	enum status st;

	if ((st = call_text(c, "text", &text, err)) || (st = option_text(c, "prefix", "", &prefix, err)) ||
		(st = option_text(c, "src_lang", NULL, &language, err)))
		return st;
	return encode_source(c, m, arena_printf(c->a, "%s%s", prefix, text), language, out, err);
}

static enum status rewrite(struct call *c, const char *key, struct pipeline_answer *out, struct error *err)
{
	const char *forced;
	struct encoding e;
	struct decoding d;
	struct tensor *in;
	int64_t *ids;
	size_t n, count;
	char *text;
	struct part *m;
	enum status st = part_open(c->p, ".", &m, err);

	if (st || (st = source_of(c, m, &e, err)) || (st = text_tensors(m, c->a, &e, &in, &n, err)) ||
		(st = decoding_read(m, c->a, c->options, 1, LENGTH_USUAL - 1, &d, err)) ||
		(st = option_text(c, "forced_bos_token", NULL, &forced, err)) ||
		(forced && (st = token_of(m, forced, &d.forced_bos, err))))
		return st;
	if (d.start < 0)
		return error_set(err, STATUS_BAD_INPUT, "nothing says which token the model's texts begin with");
	// The encoder's two; token types are no input of these models.
	if ((st = generate_text(m, c->a, &d, &d.start, in, 2, &ids, &count, err)) ||
		(st = generated_decode(m, c->a, ids, count, &text, err)))
		return st;
	out->json = json_pack("{s:s, s:o}", key, text, "token_ids", generated_ids(ids, count));
	out->prompt_tokens = 1;
	return STATUS_OK;
}

static void forget(void *json)
{
	json_decref(json);
}

// translation_xx_to_yy: what task_specific_params of config.json says of that name, and the two languages where the tokenizer has
// a token for each.
static enum status named_options(struct call *c, json_t *options, struct error *err)
{
	const char *from, *to;
	struct tokenizer *t;
	struct part *m;
	uint32_t id;
	enum status st;

	if (!pipeline_task_languages(c->a, c->p->named, &from, &to))
		return STATUS_OK;
	if ((st = part_open(c->p, ".", &m, err)) || (st = part_tokenizer(m, &t, err)))
		return st;
	json_object_update(options, json_object_get(json_object_get(m->config, "task_specific_params"), c->p->named));
	if (tokenizer_id(t, from, strlen(from), &id) && tokenizer_id(t, to, strlen(to), &id)) {
		json_object_set_new(options, "src_lang", json_string(from));
		json_object_set_new(options, "forced_bos_token", json_string(to));
	}
	return STATUS_OK;
}

TASK(translation)
{
	struct call named = *c;
	json_t *options = json_object();
	enum status st;

	arena_defer(c->a, forget, options);
	if ((st = named_options(c, options, err)))
		return st;
	json_object_update(options, (json_t *)(uintptr_t)c->options);
	named.options = options;
	return rewrite(&named, "translation_text", out, err);
}

TASK(summarization)
{
	return rewrite(c, "summary_text", out, err);
}
