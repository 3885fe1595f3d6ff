// SPDX-License-Identifier: Apache-2.0
// assay tokenize: the ids of a text as the model's own tokenizer makes them, and back.
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "chat/chat.h"
#include "command.h"
#include "emit.h"
#include "hub/hub.h"
#include "show.h"
#include "token/token.h"

enum { INPUT_MOST = 64 << 20, SHOWN_MOST = 64 << 20 };

struct asked {
	const char *pair, *messages;
	bool decode, offsets, plain, json, chat;
};

// "-" is standard input, all of it.
static enum status read_text(struct arena *a, const char *word, struct token_text *out, struct error *err)
{
	struct text all = { 0 };
	char part[1 << 14];
	size_t n;

	*out = (struct token_text){ .text = word, .nbytes = strlen(word) };
	if (!text_is(word, "-"))
		return STATUS_OK;
	while ((n = fread(part, 1, sizeof part, stdin)) > 0 && all.length < INPUT_MOST)
		text_add_bytes(&all, part, n);
	out->text = arena_strndup(a, "", 0);
	out->nbytes = all.length;
	if (all.length) {
		char *copy = arena_alloc(a, all.length);
		memcpy(copy, all.data, all.length);
		out->text = copy;
	}
	text_done(&all);
	return ferror(stdin) || n
		? error_set(err, STATUS_BAD_INPUT, "standard input cannot be read, or has more than %d bytes", INPUT_MOST)
		: STATUS_OK;
}

// ---- text to ids ----------------------------------------------------------------------------------------------------------

static json_t *text_json(const char *s, size_t nbytes)
{
	return json_stringn(s, nbytes);
}

static json_t *to_json(const struct token_text *in, const struct encoding *e)
{
	json_t *ids = json_array(), *tokens = json_array(), *offsets = json_array(), *types = json_array(),
	       *special = json_array();

	for (size_t i = 0; i < e->count; i++) {
		const struct token *t = &e->tokens[i];
		json_array_append_new(ids, json_integer(t->id));
		json_array_append_new(tokens, text_json(t->text, t->nbytes));
		json_array_append_new(offsets, json_pack("[I, I]", (json_int_t)t->begin, (json_int_t)t->end));
		json_array_append_new(types, json_integer(t->type));
		json_array_append_new(special, json_integer(t->flags & TOKEN_SPECIAL ? 1 : 0));
	}
	json_t *out = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "text", text_json(in->text, in->nbytes), "ids", ids, "tokens",
		tokens, "offsets", offsets, "type_ids", types, "special_tokens_mask", special);
	if (in->pair)
		json_object_set_new(out, "pair", text_json(in->pair, in->pair_nbytes));
	return out;
}

// A token's text is what its file says, and a short text may have many of one: BAD_INPUT where they are too long to be printed.
static enum status check_shown(const struct asked *q, const struct token_text *in, const struct encoding *e, struct error *err)
{
	size_t nbytes = 0, most = SHOWN_MOST + 8 * in->nbytes;

	for (size_t i = 0; i < e->count && (q->json || q->offsets); i++)
		nbytes += e->tokens[i].nbytes;
	return nbytes <= most ? STATUS_OK
			      : error_set(err, STATUS_BAD_INPUT,
					"the texts of the tokens have %zu bytes; at most %zu are printed", nbytes, most);
}

static void print_ids(const struct encoding *e)
{
	for (size_t i = 0; i < e->count; i++)
		emit("%s%u", i ? " " : "", e->tokens[i].id);
	emit("\n");
}

static void print_offsets(const struct encoding *e)
{
	for (size_t i = 0; i < e->count; i++) {
		const struct token *t = &e->tokens[i];
		struct text shown = { 0 };
		visible_add(&shown, t->text, t->nbytes);
		emit("%8u  %6u %6u  %s\n", t->id, t->begin, t->end, text_get(&shown));
		text_done(&shown);
	}
}

static enum status encode(
	struct tokenizer *t, const struct asked *q, char **words, size_t count, struct arena *a, struct error *err)
{
	json_t *all = q->json ? json_array() : NULL;
	enum status s = STATUS_OK;

	for (size_t i = 0; i < count && s == STATUS_OK; i++) {
		struct token_text in;
		struct encoding e;
		if ((s = read_text(a, words[i], &in, err)))
			break;
		in.pair = q->pair;
		in.pair_nbytes = q->pair ? strlen(q->pair) : 0;
		if ((s = tokenizer_encode(t, a, &in, !q->plain, &e, err)) || (s = check_shown(q, &in, &e, err)))
			break;
		if (q->json)
			json_array_append_new(all, to_json(&in, &e));
		else if (q->offsets)
			print_offsets(&e);
		else
			print_ids(&e);
	}
	if (s == STATUS_OK && q->json)
		show_json(all);
	json_decref(all);
	return s;
}

// ---- a conversation -------------------------------------------------------------------------------------------------------

enum { MESSAGES_MOST = 16 << 20 };

// A list of messages, or an object with messages and tools.
static enum status read_messages(const char *path, json_t **messages, json_t **tools, struct error *err)
{
	json_t *json = NULL;
	enum status s = json_file(path, MESSAGES_MOST, &json, err);

	if (s)
		return s;
	*messages = json_incref(json_is_object(json) ? json_object_get(json, "messages") : json);
	*tools = json_is_object(json) ? json_incref(json_object_get(json, "tools")) : NULL;
	json_decref(json);
	if (!json_is_array(*messages) || (*tools && !json_is_array(*tools) && !json_is_null(*tools)))
		return error_set(err, STATUS_BAD_INPUT, "%s: no list of messages, with or without a list of tools", path);
	return STATUS_OK;
}

static void print_chat(const struct asked *q, const struct token_text *prompt, const struct encoding *e)
{
	if (q->json) {
		json_t *o = to_json(prompt, e);
		show_json(o);
		json_decref(o);
		return;
	}
	struct text shown = { 0 };
	visible_add_lines(&shown, prompt->text);
	emit("%s\n", text_get(&shown));
	text_done(&shown);
	if (q->offsets)
		print_offsets(e);
	else
		print_ids(e);
}

// The prompt that the model's template makes, and its ids: a template writes its special tokens itself.
static enum status chat(struct tokenizer *t, const struct asked *q, const char *folder, char **words, size_t count,
	struct arena *a, struct error *err)
{
	json_t *messages = q->messages ? NULL : json_array(), *tools = NULL;
	struct token_text prompt = { 0 };
	struct chat_source from;
	struct encoding e;
	char *text;
	enum status s =
		q->messages ? read_messages(q->messages, &messages, &tools, err) : chat_typed(words, count, messages, err);

	if (s == STATUS_OK && !(s = chat_find(a, folder, NULL, json_array_size(tools) > 0, &from, err)))
		s = chat_apply(a, &from, messages, tools, true, time(NULL), &text, &prompt.nbytes, err);
	if (s == STATUS_OK) {
		prompt.text = text;
		s = tokenizer_encode(t, a, &prompt, false, &e, err);
		s = s ? s : check_shown(q, &prompt, &e, err);
	}
	if (s == STATUS_OK)
		print_chat(q, &prompt, &e);
	json_decref(messages);
	json_decref(tools);
	return s;
}

// ---- ids to text ----------------------------------------------------------------------------------------------------------

// "101 7592,102": numbers with anything but digits between them.
static enum status read_ids(struct arena *a, char **words, size_t count, uint32_t **out, size_t *n, struct error *err)
{
	size_t room = 0;

	for (size_t i = 0; i < count; i++)
		room += strlen(words[i]);
	*out = ARENA_ARRAY(a, room + 1, uint32_t);
	*n = 0;
	for (size_t i = 0; i < count; i++) {
		char *rest = NULL;
		for (char *one = strtok_r(words[i], ", []\n\t", &rest); one; one = strtok_r(NULL, ", []\n\t", &rest)) {
			int64_t id;
			if (!text_to_int(one, 0, UINT32_MAX, &id))
				return error_set(err, STATUS_BAD_INPUT, "'%s' is no id", one);
			(*out)[(*n)++] = (uint32_t)id;
		}
	}
	return STATUS_OK;
}

// Ids that stand for nothing are left out of the text: said, each once.
static void warn_unknown(const struct tokenizer *t, const uint32_t *ids, size_t n)
{
	struct text unknown = { 0 };
	size_t nbytes;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < i && ids[k] != ids[i])
			k++;
		if (k == i && !tokenizer_token(t, ids[i], &nbytes))
			text_addf(&unknown, "%s%u", unknown.length ? ", " : "", ids[i]);
	}
	if (unknown.length)
		emit_error("assay: no token of this tokenizer, left out: %s\n", text_get(&unknown));
	text_done(&unknown);
}

static enum status decode(
	struct tokenizer *t, const struct asked *q, char **words, size_t count, struct arena *a, struct error *err)
{
	uint32_t *ids;
	size_t n, nbytes;
	char *text;
	enum status s;

	if ((s = read_ids(a, words, count, &ids, &n, err)) ||
		(s = tokenizer_decode_frames(t, a, ids, n, q->plain, &text, &nbytes, err)))
		return s;
	warn_unknown(t, ids, n);
	if (q->json) {
		json_t *o = json_pack("{s:o}", "text", text_json(text, nbytes));
		show_json(o);
		json_decref(o);
	} else {
		struct text shown = { 0 };
		visible_add(&shown, text, nbytes);
		emit("%s\n", text_get(&shown));
		text_done(&shown);
	}
	return STATUS_OK;
}

static int run(int argc, char **argv)
{
	struct asked q = { 0 };
	const struct cli_option options[] = {
		{ "pair", CLI_TEXT, &q.pair, "TEXT", "the second text of a pair, for each TEXT" },
		{ "decode", CLI_FLAG, &q.decode, NULL, "TEXT is ids; the text that they stand for" },
		{ "offsets", CLI_FLAG, &q.offsets, NULL, "a line a token: id, first and last character of the text, token" },
		{ "no-special", CLI_FLAG, &q.plain, NULL, "add no special tokens; with --decode leave them out" },
		{ "chat", CLI_FLAG, &q.chat, NULL,
			"TEXT is a message, ROLE: TEXT; the prompt by the model's chat template, and its ids" },
		{ "messages", CLI_TEXT, &q.messages, "FILE",
			"the same of a JSON file: messages, or an object with messages and tools" },
		{ "json", CLI_FLAG, &q.json, NULL, "an array on standard output, one object a text" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay tokenize MODEL TEXT... [--pair TEXT | --decode | --chat | --messages FILE] [options]",
		.text = "MODEL is a folder, or a name that is in the Hub's cache. Its tokenizer.json is used; else\n"
			"spiece.model or tokenizer.model (of sentencepiece or tiktoken), vocab.json with merges.txt, vocab.txt,\n"
			"or vocab.json alone (labels or letters of a speech model); a .gguf file brings its own. A TEXT that is "
			"-\n"
			"is read from standard input. Ids are those of the Python library `tokenizers`; offsets count "
			"characters\n"
			"(code points). Padding and truncation that tokenizer.json asks for are done, as the library does: a "
			"text\n"
			"alone may come with pad tokens behind it.\n\n"
			"  assay tokenize bert-base-uncased 'Hello, world!'\n"
			"  assay tokenize gpt2 --decode 15496 11 995\n"
			"  assay tokenize Qwen/Qwen2-0.5B-Instruct --chat 'system: Be brief.' 'user: Hello'\n\n"
			"A chat template is chat_template.jinja, else chat_template of tokenizer_config.json.\n\n"
			"Exit codes: 0 done; 1 bad use, no tokenizer, or one that cannot be read.\n",
		.options = options,
		.min_words = 1,
		.max_words = -1,
	};
	struct arena a = { 0 };
	struct error err = { 0 };
	struct tokenizer *t;
	const char *folder;
	int words, code = cli_parse(&usage, argc, argv, &words);
	enum status s;

	if (code >= 0)
		return code;
	if (q.decode && (q.pair || q.offsets))
		return cli_bad_use("--decode goes with neither --pair nor --offsets");
	if (q.messages ? words != 1 : words < 2)
		return cli_bad_use(q.messages ? "--messages takes no TEXT" : "a TEXT is missing");
	if ((q.chat || q.messages) && (q.decode || q.pair || q.plain))
		return cli_bad_use("a chat goes with none of --decode, --pair and --no-special");
	s = hub_folder(&folder, &a, argv[1], "a tokenizer", &err);
	if (s == STATUS_OK)
		s = tokenizer_open(&t, &a, folder, &err);
	if (s == STATUS_OK && (q.chat || q.messages))
		s = chat(t, &q, folder, argv + 2, (size_t)words - 1, &a, &err);
	else if (s == STATUS_OK)
		s = q.decode ? decode(t, &q, argv + 2, (size_t)words - 1, &a, &err)
			     : encode(t, &q, argv + 2, (size_t)words - 1, &a, &err);
	arena_done(&a);
	return s == STATUS_OK ? EXIT_GOOD : cli_error(&err);
}

const struct command command_tokenize = { "tokenize", "text to ids and back, by the model's own tokenizer", run };
