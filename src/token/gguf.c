// SPDX-License-Identifier: Apache-2.0
// The tokenizer of a GGUF file (tokenizer.ggml.*), put into the form that is read elsewhere: of the kind "gpt2" the text of a
// tokenizer.json, of the kind "llama" the bytes of a sentencepiece model. Which expression cuts words is a name in the file; one
// that is not in the table is refused.
#include "token/inside.h"

#include "base/file.h"
#include "base/json.h"
#include "base/visible.h"
#include "checkpoint/gguf.h"

enum { TEXT_MOST = 64, TOKEN_MOST = 1 << 16, NORMAL = 1, CONTROL = 3, USER = 4 };
enum { LIST_MOST = 1 << 19 };                               // tokens, or merges: four times those of a model with many
enum { STRINGS_MOST = 8 << 20, JSON_TEXT_MOST = 32 << 20 }; // bytes: of a list, and of the tokenizer.json that is made of them

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define AROUND_DIGITS(digits) \
	CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

// As tokenizer.ggml.pre says, and what the tokenizer.json of those models has.
static const struct cut {
	const char *pre, *expression; // NULL: that of GPT-2
	const char *normalizer;
	bool whole_words, begins; // ignore_merges; a text begins with the first token where the file does not say
} cuts[] = {
	{ "gpt-2", NULL, NULL, false, false },
	{ "llama-bpe", AROUND_DIGITS("\\p{N}{1,3}"), NULL, true, true },
	{ "qwen2", AROUND_DIGITS("\\p{N}"), "NFC", false, false },
};

struct file {
	struct gguf g;
	const char *path;
	struct arena *a; // while it is read
	const struct gguf_pair *tokens, *scores, *types, *merges;
};

static enum status refuse(const struct file *f, enum status s, struct error *err, const char *why, const char *what)
{
	return error_set(err, s, "%s: %s%.200s", f->path, why, what);
}

static bool flag_of(const struct file *f, const char *key, bool usual)
{
	double v = usual;

	gguf_number(gguf_find(&f->g, key), &v);
	return v != 0;
}

static int type_of(const struct file *f, uint64_t i)
{
	return f->types ? (int)gguf_number_at(f->types, i) : NORMAL;
}

// Where the strings of a pair lie, in order; BAD_INPUT where one is no text.
static enum status strings_of(const struct file *f, const struct gguf_pair *p, struct slice **out, struct error *err)
{
	const uint8_t *at = p->at;
	size_t all = 0;

	*out = ARENA_ARRAY(f->a, (size_t)p->count, struct slice);
	for (uint64_t i = 0; i < p->count; i++) {
		struct slice *s = &(*out)[i];

		s->s = gguf_string(&at, &s->n);
		if (!s->n || s->n > TOKEN_MOST || visible_not_utf8(s->s, s->n) != s->n)
			return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\": string %llu is no text of a token", f->path, p->key,
				(unsigned long long)i);
		if ((all += s->n) > STRINGS_MOST)
			return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\": more than %d MiB of text", f->path, p->key,
				STRINGS_MOST >> 20);
	}
	return STATUS_OK;
}

// The token that a key names by its number; an empty slice: none.
static struct slice special_of(const struct file *f, const struct slice *tokens, const char *key, int64_t *id)
{
	double v;

	if (!gguf_number(gguf_find(&f->g, key), &v) || !(v >= 0 && v < (double)f->tokens->count))
		return (struct slice){ "", 0 };
	*id = (int64_t)v;
	return tokens[*id];
}

// What a text begins and ends with, as a post-processor; NULL: nothing.
static json_t *template_of(const struct file *f, const struct slice *tokens, bool begins)
{
	int64_t first = 0, last = 0;
	struct slice bos = special_of(f, tokens, "tokenizer.ggml.bos_token_id", &first),
		     eos = special_of(f, tokens, "tokenizer.ggml.eos_token_id", &last);
	const bool has_bos = bos.n && flag_of(f, "tokenizer.ggml.add_bos_token", begins),
		   has_eos = eos.n && flag_of(f, "tokenizer.ggml.add_eos_token", false);
	json_t *forms[2] = { json_array(), json_array() }, *specials = json_object();

	for (int i = 0; i < 3; i++) // A alone; A, then B
		for (int k = 0; k < 2; k++) {
			json_t *form = forms[i > 0];
			const char *which = i == 2 ? "B" : "A";

			if (k == 0 && has_bos)
				json_array_append_new(form,
					json_pack("{s:{s:s%, s:i}}", "SpecialToken", "id", bos.s, bos.n, "type_id", i == 2));
			if (k == 0)
				json_array_append_new(
					form, json_pack("{s:{s:s, s:i}}", "Sequence", "id", which, "type_id", i == 2));
			if (k == 1 && has_eos)
				json_array_append_new(form,
					json_pack("{s:{s:s%, s:i}}", "SpecialToken", "id", eos.s, eos.n, "type_id", i == 2));
		}
	if (has_bos)
		json_object_setn_new(specials, bos.s, bos.n,
			json_pack("{s:s%, s:[I], s:[s%]}", "id", bos.s, bos.n, "ids", (json_int_t)first, "tokens", bos.s, bos.n));
	if (has_eos)
		json_object_setn_new(specials, eos.s, eos.n,
			json_pack("{s:s%, s:[I], s:[s%]}", "id", eos.s, eos.n, "ids", (json_int_t)last, "tokens", eos.s, eos.n));
	json_t *out = json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", forms[0], "pair", forms[1],
		"special_tokens", specials);
	if (has_bos || has_eos)
		return out;
	json_decref(out);
	return NULL;
}

// ---- gpt2: a tokenizer.json -----------------------------------------------------------------------------------------------

static void add_json(struct text *t, json_t *v)
{
	char *text = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	text_add(t, text ? text : "null");
	free(text);
	json_decref(v);
}

static void add_string(struct text *t, struct slice s)
{
	add_json(t, json_stringn(s.s, s.n));
}

static json_t *pretokenizer_of(const struct cut *c)
{
	json_t *bytes = json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
		"use_regex", !c->expression);

	return !c->expression ? bytes
			      : json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence", "pretokenizers", "type",
					"Split", "pattern", "Regex", c->expression, "behavior", "Isolated", "invert", 0, bytes);
}

static enum status bpe_text(const struct file *f, const struct cut *c, struct text *t, struct error *err)
{
	struct slice *tokens, *merges;
	enum status s = strings_of(f, f->tokens, &tokens, err);

	if (s || (s = strings_of(f, f->merges, &merges, err)))
		return s;
	text_add(t, "{\"added_tokens\":[");
	for (uint64_t i = 0, n = 0; i < f->tokens->count; i++)
		if (type_of(f, i) == CONTROL || type_of(f, i) == USER) {
			text_add(t, n++ ? "," : "");
			add_json(t,
				json_pack("{s:I, s:s%, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)i, "content", tokens[i].s,
					tokens[i].n, "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special",
					type_of(f, i) == CONTROL));
		}
	text_add(t, "],\"normalizer\":");
	add_json(t, c->normalizer ? json_pack("{s:s}", "type", c->normalizer) : NULL);
	text_add(t, ",\"pre_tokenizer\":");
	add_json(t, pretokenizer_of(c));
	text_add(t, ",\"post_processor\":");
	add_json(t, template_of(f, tokens, c->begins));
	text_addf(t, ",\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"ignore_merges\":%s,\"vocab\":{",
		c->whole_words ? "true" : "false");
	for (uint64_t i = 0; i < f->tokens->count && t->length < JSON_TEXT_MOST; i++) {
		text_add(t, i ? "," : "");
		add_string(t, tokens[i]);
		text_addf(t, ":%llu", (unsigned long long)i);
	}
	text_add(t, "},\"merges\":[");
	for (uint64_t i = 0; i < f->merges->count && t->length < JSON_TEXT_MOST; i++) {
		text_add(t, i ? "," : "");
		add_string(t, merges[i]);
	}
	text_add(t, "]}}");
	return t->length < JSON_TEXT_MOST ? STATUS_OK
					  : refuse(f, STATUS_BAD_INPUT, err, "the texts of its tokens are too long", "");
}

static enum status open_bpe(struct tokenizer **out, struct arena *a, const struct file *f, struct error *err)
{
	const char *pre = gguf_text(&f->g, f->a, "tokenizer.ggml.pre", TEXT_MOST);
	const struct cut *c = NULL;
	struct text t = { 0 };

	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
		if (text_is(cuts[i].pre, pre ? pre : ""))
			c = &cuts[i];
	if (!c)
		return refuse(f, STATUS_UNSUPPORTED, err, "its tokenizer.ggml.pre is not read yet: ", pre ? pre : "(none)");
	if (!f->merges)
		return refuse(f, STATUS_BAD_INPUT, err, "has no tokenizer.ggml.merges", "");
	enum status s = bpe_text(f, c, &t, err);
	if (!s)
		s = tokenizer_parse(out, a, f->path, text_get(&t), t.length, err);
	text_done(&t);
	return s;
}

// ---- llama: a model of sentencepiece --------------------------------------------------------------------------------------

static void add_varint(struct text *t, uint64_t v)
{
	for (; v > 127; v >>= 7)
		text_add_bytes(t, &(char){ (char)(v | 128) }, 1);
	text_add_bytes(t, &(char){ (char)v }, 1);
}

static void add_number(struct text *t, unsigned field, uint64_t v)
{
	add_varint(t, field << 3);
	add_varint(t, v);
}

static void add_bytes(struct text *t, unsigned field, const char *bytes, size_t n)
{
	add_varint(t, field << 3 | 2);
	add_varint(t, n);
	text_add_bytes(t, bytes, n);
}

// ModelProto: pieces (1), TrainerSpec (2), NormalizerSpec (3).
static void spm_bytes(const struct file *f, const struct slice *tokens, struct text *t)
{
	struct text part = { 0 };

	for (uint64_t i = 0; i < f->tokens->count; i++) {
		const float score = (float)gguf_number_at(f->scores, i);

		add_bytes(&part, 1, tokens[i].s, tokens[i].n);
		add_varint(&part, 2 << 3 | 5);
		text_add_bytes(&part, (const char *)&score, sizeof score);
		add_number(&part, 3, (uint64_t)type_of(f, i));
		add_bytes(t, 1, text_get(&part), part.length);
		text_done(&part);
	}
	add_number(&part, 3, 2);  // BPE
	add_number(&part, 35, 1); // bytes of what is no piece
	add_bytes(t, 2, text_get(&part), part.length);
	text_done(&part);
	add_number(&part, 3, flag_of(f, "tokenizer.ggml.add_space_prefix", true));
	add_number(&part, 4, flag_of(f, "tokenizer.ggml.remove_extra_whitespaces", false));
	add_number(&part, 5, 1);
	add_bytes(t, 3, text_get(&part), part.length);
	text_done(&part);
}

static enum status open_spm(struct tokenizer **out, struct arena *a, const struct file *f, struct error *err)
{
	struct tokenizer *t = tokenizer_new(a);
	struct slice *tokens;
	struct text bytes = { 0 };
	enum status s = f->scores ? strings_of(f, f->tokens, &tokens, err)
				  : refuse(f, STATUS_BAD_INPUT, err, "has no tokenizer.ggml.scores", "");

	if (s)
		return s;
	spm_bytes(f, tokens, &bytes);
	// The tokenizer keeps some of it.
	s = spm_read(t, slice_copy(a, (struct slice){ text_get(&bytes), bytes.length }), err);
	text_done(&bytes);
	for (uint64_t i = 0; i < f->tokens->count && !s; i++)
		if (type_of(f, i) == CONTROL)
			s = added_add(t, &(struct added){ .content = slice_copy(a, tokens[i]), .special = true }, err);
	json_t *post = s ? NULL : template_of(f, tokens, true);
	if (!s && post)
		s = chain_parse(&t->posts, a, post, err);
	json_decref(post);
	*out = t;
	return s ? error_prefix(err, "%s", f->path) : s;
}

// ---- the file -------------------------------------------------------------------------------------------------------------

// An array of so many values, of strings or of numbers; NULL: the file has none.
static enum status array_of(
	const struct file *f, const char *key, bool strings, uint64_t count, const struct gguf_pair **out, struct error *err)
{
	const struct gguf_pair *p = gguf_find(&f->g, key);

	*out = p;
	return !p ||
			(p->is_array && (p->kind == GGUF_STRING) == strings && p->count >= 1 && (!count || p->count == count) &&
				p->count <= LIST_MOST)
		? STATUS_OK
		: refuse(f, STATUS_BAD_INPUT, err,
			  "is no list, has more than 524288 values, or not as many as there are tokens: ", key);
}

static const char *const numbers[] = { "tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token",
	"tokenizer.ggml.add_space_prefix", "tokenizer.ggml.remove_extra_whitespaces", "tokenizer.ggml.bos_token_id",
	"tokenizer.ggml.eos_token_id", NULL };

enum status gguf_tokenizer(struct tokenizer **out, struct arena *a, const char *path, struct error *err)
{
	struct arena own = { 0 };
	struct shard shard = { .path = path };
	struct file f = { .path = path, .a = &own };
	enum status s = file_map(&own, path, &shard.map, &shard.nbytes, err);

	if (!s)
		s = gguf_parse(&f.g, &own, &shard, err);
	if (!s)
		s = gguf_check_numbers(&f.g, numbers, err);
	if (!s)
		s = gguf_check_tokens(&f.g, err);
	if (!s && !(s = array_of(&f, "tokenizer.ggml.tokens", true, 0, &f.tokens, err)) && !f.tokens)
		s = refuse(&f, STATUS_BAD_INPUT, err, "has no tokenizer.ggml.tokens", "");
	if (!s && !(s = array_of(&f, "tokenizer.ggml.scores", false, f.tokens->count, &f.scores, err)) &&
		!(s = array_of(&f, "tokenizer.ggml.token_type", false, f.tokens->count, &f.types, err)))
		s = array_of(&f, "tokenizer.ggml.merges", true, 0, &f.merges, err);
	const char *kind = s ? NULL : gguf_text(&f.g, &own, "tokenizer.ggml.model", TEXT_MOST);
	if (!s && text_is(kind, "gpt2"))
		s = open_bpe(out, a, &f, err);
	else if (!s && text_is(kind, "llama"))
		s = open_spm(out, a, &f, err);
	else if (!s)
		s = refuse(&f, STATUS_UNSUPPORTED, err, "its tokenizer.ggml.model is not read yet: ", kind ? kind : "(none)");
	arena_done(&own);
	return s;
}
