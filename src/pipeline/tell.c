// SPDX-License-Identifier: Apache-2.0
// Tasks that write a text about pictures: image-captioning and image-text-to-text.
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "chat/chat.h"
#include "pipeline/choose.h"
#include "pipeline/pictures.h"

enum { LENGTH_USUAL = 20, TOLD_PICTURES_MOST = 64 }; // max_length of generate(); of one question
enum { PLACES_MOST = 1 << 14 };                      // of a picture in a text; Idefics3 makes 2,873 of 17 tiles

// ---- image-captioning -----------------------------------------------------------------------------------------------------

static int64_t text_setting(const struct part *m, const char *key)
{
	const json_t *x = json_object_get(json_object_get(m->config, "text_config"), key);

	return json_is_integer(x) ? json_integer_value(x) : -1;
}

// BLIP begins with its first token, also in place of the prompt's own first one, and the prompt's last one is left out.
static enum status caption_prompt(struct call *c, struct part *m, int64_t begin, int64_t **ids, size_t *count, struct error *err)
{
	const char *text;
	struct encoding e;
	struct tensor *tensors;
	size_t n;
	enum status st;

	*ids = ARENA_NEW(c->a, int64_t);
	*count = 1;
	if (call_has(c, "text")) {
		if ((st = call_text(c, "text", &text, err)) || (st = text_encode(m, c->a, text, NULL, NULL, &e, err)) ||
			(st = text_tensors(m, c->a, &e, &tensors, &n, err)))
			return st;
		*ids = tensors[0].data;
		*count = e.count > 1 ? e.count - 1 : 1;
	}
	(*ids)[0] = begin;
	return STATUS_OK;
}

static const char *stripped(struct arena *a, const char *text)
{
	size_t n;

	text += strspn(text, " \t\r\n");
	for (n = strlen(text); n && strchr(" \t\r\n", text[n - 1]); n--)
		;
	return arena_strndup(a, text, n);
}

TASK(image_captioning)
{
	struct inputs in = { 0 };
	struct picture image;
	struct decoding d;
	struct part *m;
	int64_t *prompt, *ids, end;
	size_t length, count;
	char *text;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = image_inputs(c, m, &image, &in, NULL, err)))
		return st;
	int64_t begin = text_setting(m, "bos_token_id");
	end = text_setting(m, "sep_token_id");
	if (!text_is(arch_model_type(m->spec), "blip") || begin < 0 || end < 0)
		return error_set(err, STATUS_UNSUPPORTED, "captions by a model of the type %s are not supported yet",
			arch_model_type(m->spec));
	if ((st = caption_prompt(c, m, begin, &prompt, &length, err)) ||
		(st = decoding_read(m, c->a, c->options, (int64_t)length, LENGTH_USUAL - 1, &d, err)))
		return st;
	d.eos = (struct token_list){ &end, 1 };
	if ((st = generate_text(m, c->a, &d, prompt, in.items, in.count, &ids, &count, err)) ||
		(st = generated_decode(m, c->a, ids, count, &text, err)))
		return st;
	out->json = json_pack("{s:s, s:o}", "generated_text", stripped(c->a, text), "token_ids", generated_ids(ids, count));
	out->prompt_tokens = length;
	return STATUS_OK;
}

// ---- image-text-to-text: what is asked ------------------------------------------------------------------------------------

struct telling {
	struct call *c;
	struct part *m;
	const char *text; // of the input, or what the chat's template made
	bool is_chat;
	struct picture *pictures;
	size_t picture_count;
	struct inputs in;
};

static enum status add_picture(struct telling *t, const char *file, struct error *err)
{
	if (t->picture_count == TOLD_PICTURES_MOST)
		return error_set(err, STATUS_UNSUPPORTED, "more than %d pictures in one question", TOLD_PICTURES_MOST);
	return open_picture(t->c, file, &t->pictures[t->picture_count++], err);
}

// The parts of messages that are pictures: {"type": "image", "path": FILE}, or the file under "image".
static enum status message_pictures(struct telling *t, const json_t *messages, struct error *err)
{
	const json_t *message, *part;
	size_t i, k;
	enum status st;

	json_array_foreach(messages, i, message)
	{
		const json_t *content = json_object_get(message, "content");

		json_array_foreach(content, k, part)
		{
			const json_t *path = json_object_get(part, "path"), *file = path ? path : json_object_get(part, "image");

			if (!text_is(json_string_value(json_object_get(part, "type")), "image"))
				continue;
			if (!json_is_string(file))
				return error_set(err, STATUS_BAD_INPUT, "messages: a picture needs a path");
			if ((st = add_picture(t, json_string_value(file), err)))
				return st;
		}
	}
	return STATUS_OK;
}

static enum status read_chat(struct telling *t, json_t *messages, struct error *err)
{
	const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
	struct chat_source from;
	char *text;
	size_t nbytes;
	enum status st;

	if (!json_array_size(messages) || !json_is_string(json_object_get(last, "role")))
		return error_set(err, STATUS_BAD_INPUT, "messages should be a list of messages with a role and a content");
	if (text_is(json_string_value(json_object_get(last, "role")), "assistant"))
		return error_set(err, STATUS_UNSUPPORTED, "to go on with a message of the assistant is not supported yet");
	if ((st = chat_find(t->c->a, t->m->folder, NULL, 0, &from, err)) ||
		(st = chat_apply(t->c->a, &from, messages, NULL, true, time(NULL), &text, &nbytes, err)))
		return st;
	t->text = text;
	return message_pictures(t, messages, err);
}

static enum status read_question(struct telling *t, struct error *err)
{
	json_t *messages = json_object_get(t->c->input, "messages"), *image = json_object_get(t->c->input, "image");
	const char *const *names;
	size_t count;
	enum status st;

	t->pictures = ARENA_ARRAY(t->c->a, TOLD_PICTURES_MOST, struct picture);
	if ((t->is_chat = messages != NULL))
		return read_chat(t, messages, err);
	if ((st = call_text(t->c, "text", &t->text, err)))
		return st;
	if (json_is_string(image))
		return add_picture(t, json_string_value(image), err);
	if ((st = call_texts(t->c, "image", &names, &count, err)))
		return st;
	for (size_t i = 0; i < count && !st; i++)
		st = add_picture(t, names[i], err);
	return st;
}

// ---- places for pictures in the text --------------------------------------------------------------------------------------

static void put_times(struct text *out, const char *word, int64_t times)
{
	for (int64_t i = 0; i < times; i++)
		text_add(out, word);
}

// A processor's setting, a whole number; *out is `otherwise` where there is none. BAD_INPUT: out of bounds.
static enum status processor_number(const json_t *config, const char *key, int64_t otherwise, int64_t *out, struct error *err)
{
	enum { MOST = 1 << 16 };
	const json_t *x = json_object_get(config, key);

	*out = json_is_integer(x) ? json_integer_value(x) : otherwise;
	return *out >= 0 && *out <= MOST ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "%s is missing or out of bounds", key);
}

static enum status check_places(int64_t places, struct error *err)
{
	return places <= PLACES_MOST
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "a picture has %lld places in the text; at most %d are made",
			  (long long)places, PLACES_MOST);
}

// LLaVA: as many places as the tower gives features, the class's left out by the usual strategy.
static enum status places_llava(
	const struct telling *t, const json_t *config, size_t picture, struct text *out, struct error *err)
{
	const struct tensor *pixels = tensor_named(t->in.items, t->in.count, "pixel_values");
	const char *strategy = json_string_value(json_object_get(config, "vision_feature_select_strategy"));
	int64_t patch, more;
	enum status st;

	(void)picture; // all have the same size
	if ((st = processor_number(config, "patch_size", -1, &patch, err)) ||
		(st = processor_number(config, "num_additional_image_tokens", 0, &more, err)))
		return st;
	if (!patch || !pixels || pixels->rank != 4)
		return error_set(err, STATUS_UNSUPPORTED, "a model whose pictures have no patches");
	const int64_t places = pixels->dim[2] / patch * (pixels->dim[3] / patch) + more - text_is(strategy, "default");
	if (!(st = check_places(places, err)))
		put_times(out, "<image>", places);
	return st;
}

// Idefics3: a row of tiles a line, each with its place, then the whole picture.
static enum status places_tiled(
	const struct telling *t, const json_t *config, size_t picture, struct text *out, struct error *err)
{
	static const char fake[] = "<fake_token_around_image>";
	const struct picture_tiles none = { 0 }, *tiles = t->in.tiles ? &t->in.tiles[picture] : &none;
	int64_t each;
	enum status st = processor_number(config, "image_seq_len", 169, &each, err);

	if (st)
		return st;
	if ((st = check_places((tiles->rows * (int64_t)tiles->columns + 1) * each, err)))
		return st;
	for (int row = 0; row < tiles->rows; row++) {
		for (int column = 0; column < tiles->columns; column++) {
			text_addf(out, "%s<row_%d_col_%d>", fake, row + 1, column + 1);
			put_times(out, "<image>", each);
		}
		text_add(out, "\n");
	}
	text_addf(out, "%s%s<global-img>", tiles->rows ? "\n" : "", fake);
	put_times(out, "<image>", each);
	text_add(out, fake);
	return STATUS_OK;
}

static const struct placing {
	const char *model_type;
	enum status (*places)(const struct telling *t, const json_t *config, size_t picture, struct text *out, struct error *err);
} placings[] = { { "llava", places_llava }, { "idefics3", places_tiled }, { "smolvlm", places_tiled } };

static const struct placing *placing_of(const struct part *m)
{
	for (size_t i = 0; i < sizeof placings / sizeof *placings; i++)
		if (text_is(placings[i].model_type, arch_model_type(m->spec)))
			return &placings[i];
	return NULL;
}

// The text with each "<image>" as long as the picture's features.
static enum status with_places(const struct telling *t, const struct placing *by, struct text *out, struct error *err)
{
	static const char word[] = "<image>";
	const char *at = t->text, *next;
	const json_t *config;
	size_t picture = 0;
	enum status st = part_json(t->m, "processor_config.json", &config, err);

	for (; !st && (next = strstr(at, word)); at = next + strlen(word)) {
		text_add_bytes(out, at, (size_t)(next - at));
		st = picture < t->picture_count ? by->places(t, config, picture, out, err) : STATUS_OK;
		picture++;
	}
	text_add(out, at);
	if (!st && picture != t->picture_count)
		st = error_set(err, STATUS_BAD_INPUT, "the text has %zu times %s, and %zu picture%s given", picture, word,
			t->picture_count, t->picture_count == 1 ? " is" : "s are");
	return st;
}

// A chat's template may have written the first token itself.
static enum status told_ids(struct telling *t, int64_t **ids, size_t *count, struct error *err)
{
	const struct placing *by = placing_of(t->m);
	const char *first = part_special(t->m, "bos_token");
	struct text text = { 0 };
	struct tokenizer *tokenizer;
	struct encoding e;
	struct tensor *tensors;
	size_t n;
	enum status st;

	if (!by)
		return error_set(err, STATUS_UNSUPPORTED, "texts about pictures by a model of the type %s are not supported yet",
			arch_model_type(t->m->spec));
	if (!(st = part_tokenizer(t->m, &tokenizer, err)) && !(st = with_places(t, by, &text, err))) {
		const struct token_text in = { .text = text_get(&text), .nbytes = text.length, .most = text_most(t->m) };
		bool special = !(t->is_chat && first && text_starts(in.text, first));

		if (!(st = tokenizer_check_bytes(in.nbytes, in.most, err)))
			st = tokenizer_encode_batch(tokenizer, t->c->a, &in, 1, special, NULL, NULL, &e, err);
	}
	text_done(&text);
	if (st || (st = text_tensors(t->m, t->c->a, &e, &tensors, &n, err)))
		return st;
	*ids = tensors[0].data;
	*count = e.count;
	return STATUS_OK;
}

// ---- image-text-to-text: what is answered ---------------------------------------------------------------------------------

// The new text: what the whole decodes to, behind what the prompt does; the prompt may begin up to two characters later.
static enum status new_text(
	const struct telling *t, const int64_t *ids, size_t length, size_t count, const char **out, struct error *err)
{
	char *all, *prompt, *at;
	enum status st;

	if ((st = generated_decode(t->m, t->c->a, ids, count, &all, err)) ||
		(st = generated_decode(t->m, t->c->a, ids, length, &prompt, err)))
		return st;
	at = strstr(all, prompt);
	*out = at && at - all <= 2 ? at + strlen(prompt) : all;
	return STATUS_OK;
}

TASK(image_text_to_text)
{
	struct telling t = { .c = c };
	const json_t *asked;
	struct decoding d;
	int64_t *prompt, *ids;
	size_t length, count;
	const char *text;
	bool full;
	enum status st;

	if ((st = part_open(c->p, ".", &t.m, err)) || (st = option_bool(c, "return_full_text", true, &full, err)) ||
		(st = decoding_asked(c, GENERATE_OPTIONS, &asked, err)) || (st = read_question(&t, err)))
		return st;
	if (!t.picture_count)
		return error_set(err, STATUS_UNSUPPORTED, "a question without a picture is not supported yet");
	if ((st = pictures_inputs(c, t.m, t.pictures, t.picture_count, &t.in, NULL, err)) ||
		(st = told_ids(&t, &prompt, &length, err)) ||
		(st = decoding_read(t.m, c->a, asked, (int64_t)length, NEW_TOKENS_USUAL, &d, err)) ||
		(st = generate_text(t.m, c->a, &d, prompt, t.in.items, t.in.count, &ids, &count, err)) ||
		(st = new_text(&t, ids, length, count, &text, err)))
		return st;
	out->json = json_pack("{s:o, s:o}", "generated_text", full ? full_text(c, t.is_chat, t.text, text) : json_string(text),
		"token_ids", generated_ids(ids, count));
	out->prompt_tokens = length;
	return STATUS_OK;
}
