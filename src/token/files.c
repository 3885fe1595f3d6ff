// SPDX-License-Identifier: Apache-2.0
// Folders without tokenizer.json, read into the same structure: sentencepiece's model (spm.c), tiktoken's (tiktoken.c),
// vocab.json with merges.txt, vocab.txt, and vocab.json alone (labels of a CTC model). The chains are those that transformers 5
// builds for the class that tokenizer_config.json names; where it names none, the vocabulary tells.
#include "token/inside.h"

#include "base/file.h"
#include "base/visible.h"
#include "token/scan.h"
#include "token/unicode.h"

enum { TEXT_MOST = 24 << 20, CONFIG_MOST = 16 << 20 };

struct folder {
	struct tokenizer *t;
	const char *path;
	struct arena a; // while it is read
	json_t *config; // tokenizer_config.json; an empty object where there is none
};

static const char *file_of(struct folder *f, const char *name)
{
	const char *path = arena_printf(&f->a, "%s/%s", f->path, name);

	return file_exists(path) ? path : NULL;
}

static enum status read_text(struct folder *f, const char *path, struct slice *out, struct error *err)
{
	char *text;
	enum status s = file_read(&f->a, path, TEXT_MOST, &text, &out->n, err);

	if (s != STATUS_OK)
		return s;
	out->s = text;
	size_t bad = visible_not_utf8(text, out->n);
	return bad == out->n ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "%s: no UTF-8 from byte %zu on", path, bad);
}

// The next line without its end; false: there is none.
static bool next_line(struct slice *rest, struct slice *line)
{
	const char *end = rest->n ? memchr(rest->s, '\n', rest->n) : NULL;

	if (!rest->n)
		return false;
	*line = (struct slice){ rest->s, end ? (size_t)(end - rest->s) : rest->n };
	rest->s += line->n + (end != NULL);
	rest->n -= line->n + (end != NULL);
	line->n -= line->n && line->s[line->n - 1] == '\r';
	return true;
}

static const char *class_name_of(const struct folder *f) // NULL: not said
{
	return json_string_value(json_object_get(f->config, "tokenizer_class"));
}

// ---- what is said of tokens -----------------------------------------------------------------------------------------------

// A token of the configuration: "bos_token": "<s>", or an object with its content; else `usual`, which may be NULL.
static struct slice config_token(const struct folder *f, const char *key, const char *usual)
{
	const json_t *v = json_object_get(f->config, key);

	v = json_is_object(v) ? json_object_get(v, "content") : v;
	return json_is_string(v) ? (struct slice){ json_string_value(v), json_string_length(v) } : slice_text(usual ? usual : "");
}

static enum status add_special(struct folder *f, const char *key, const char *usual, struct error *err)
{
	const json_t *v = json_object_get(f->config, key);
	struct added one = { .content = slice_copy(f->t->a, config_token(f, key, usual)), .special = true };

	if (json_is_object(v)) {
		one.lstrip = json_is_true(json_object_get(v, "lstrip"));
		one.rstrip = json_is_true(json_object_get(v, "rstrip"));
		one.single_word = json_is_true(json_object_get(v, "single_word"));
		one.normalized = json_is_true(json_object_get(v, "normalized"));
	}
	return added_add(f->t, &one, err);
}

// "added_tokens_decoder": {"50257": {"content": .., ..}, ..}
static enum status add_listed(struct folder *f, struct error *err)
{
	json_t *list = json_object_get(f->config, "added_tokens_decoder"), *o;
	const char *id;
	enum status s = STATUS_OK;

	json_object_foreach(list, id, o)
	{
		struct added one = { 0 };
		int64_t number;
		if (text_to_int(id, 0, 4 * (int64_t)VOCAB_MOST, &number))
			f->t->next_added = (uint32_t)number;
		if ((s = member_text(o, "content", f->t->a, &one.content, err)) ||
			(s = member_bool(o, "lstrip", &one.lstrip, err)) || (s = member_bool(o, "rstrip", &one.rstrip, err)) ||
			(s = member_bool(o, "single_word", &one.single_word, err)) ||
			(s = member_bool(o, "normalized", &one.normalized, err)) ||
			(s = member_bool(o, "special", &one.special, err)) || (s = added_add(f->t, &one, err)))
			return s;
	}
	return s;
}

static enum status chain_text(struct chain *c, struct arena *a, json_t *from, struct error *err)
{
	enum status s = from ? chain_parse(c, a, from, err) : error_set(err, STATUS_FAILED, "no memory for a chain");

	json_decref(from);
	return s;
}

static json_t *chain_of(const char *text)
{
	return json_parse(text);
}

static uint32_t id_of(const struct folder *f, struct slice token)
{
	uint32_t id = 0;

	tokenizer_id(f->t, token.s, token.n, &id);
	return id;
}

static json_t *token_pair(const struct folder *f, struct slice token)
{
	return json_pack("[s%, I]", token.s, token.n, (json_int_t)id_of(f, token));
}

// ---- vocab.txt: BERT ------------------------------------------------------------------------------------------------------

static bool config_flag(const struct folder *f, const char *key, bool usual)
{
	const json_t *v = json_object_get(f->config, key);

	return json_is_boolean(v) ? json_is_true(v) : usual;
}

static json_t *special_of(const struct folder *f, struct slice token)
{
	return json_pack(
		"{s:s%, s:[I], s:[s%]}", "id", token.s, token.n, "ids", (json_int_t)id_of(f, token), "tokens", token.s, token.n);
}

static json_t *part(const char *kind, struct slice id, int type)
{
	return json_pack("{s:{s:s%, s:i}}", kind, "id", id.s, id.n, "type_id", type);
}

static enum status bert_chains(struct folder *f, struct error *err)
{
	struct tokenizer *t = f->t;
	const json_t *accents = json_object_get(f->config, "strip_accents");
	struct slice cls = config_token(f, "cls_token", "[CLS]"), sep = config_token(f, "sep_token", "[SEP]"),
		     first = slice_text("A"), second = slice_text("B");
	enum status s;

	if ((s = chain_text(&t->normalizers, t->a,
		     json_pack("{s:s, s:b, s:b, s:b, s:o}", "type", "BertNormalizer", "clean_text", 1, "handle_chinese_chars",
			     config_flag(f, "tokenize_chinese_chars", true), "lowercase", config_flag(f, "do_lower_case", true),
			     "strip_accents", json_is_boolean(accents) ? json_boolean(json_is_true(accents)) : json_null()),
		     err)) ||
		(s = chain_text(&t->pretokenizers, t->a, chain_of("{\"type\": \"BertPreTokenizer\"}"), err)) ||
		(s = chain_text(&t->decoders, t->a, chain_of("{\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": true}"),
			 err)) ||
		(s = add_special(f, "unk_token", "[UNK]", err)) || (s = add_special(f, "sep_token", "[SEP]", err)) ||
		(s = add_special(f, "pad_token", "[PAD]", err)) || (s = add_special(f, "cls_token", "[CLS]", err)) ||
		(s = add_special(f, "mask_token", "[MASK]", err)))
		return s;
	json_t *specials = json_object();
	json_object_setn_new(specials, cls.s, cls.n, special_of(f, cls));
	json_object_setn_new(specials, sep.s, sep.n, special_of(f, sep));
	return chain_text(&t->posts, t->a,
		json_pack("{s:s, s:[o, o, o], s:[o, o, o, o, o], s:o}", "type", "TemplateProcessing", "single",
			part("SpecialToken", cls, 0), part("Sequence", first, 0), part("SpecialToken", sep, 0), "pair",
			part("SpecialToken", cls, 0), part("Sequence", first, 0), part("SpecialToken", sep, 0),
			part("Sequence", second, 1), part("SpecialToken", sep, 1), "special_tokens", specials),
		err);
}

static enum status open_bert(struct folder *f, const char *path, struct error *err)
{
	struct model *m = &f->t->model;
	struct slice rest, line;
	enum status s = read_text(f, path, &rest, err);

	for (uint32_t id = 0; s == STATUS_OK && next_line(&rest, &line); id++)
		s = vocab_add(&m->vocab, line.s, line.n, id, err);
	if (s || (s = vocab_index(&m->vocab, err)))
		return s;
	m->kind = MODEL_WORDPIECE;
	m->unk = slice_copy(f->t->a, config_token(f, "unk_token", "[UNK]"));
	m->unk_entry = vocab_find(&m->vocab, m->unk.s, m->unk.n);
	m->prefix = slice_text("##");
	f->t->next_added = (uint32_t)m->vocab.count;
	return bert_chains(f, err);
}

// ---- sentencepiece's model --------------------------------------------------------------------------------------------------

// SpeechT5Tokenizer: special tokens are found in a text, and the end token stands behind it.
static enum status speecht5_chains(struct folder *f, struct error *err)
{
	struct slice end = config_token(f, "eos_token", "</s>"), first = slice_text("A"), second = slice_text("B");
	json_t *specials = json_object();
	enum status s;

	json_object_setn_new(specials, end.s, end.n, special_of(f, end));
	s = chain_text(&f->t->posts, f->t->a,
		json_pack("{s:s, s:[o, o], s:[o, o, o], s:o}", "type", "TemplateProcessing", "single", part("Sequence", first, 0),
			part("SpecialToken", end, 0), "pair", part("Sequence", first, 0), part("Sequence", second, 0),
			part("SpecialToken", end, 0), "special_tokens", specials),
		err);
	if (!s && config_flag(f, "normalize", false))
		s = error_set(
			err, STATUS_UNSUPPORTED, "SpeechT5Tokenizer: normalize, numbers to English words, is not supported yet");
	if (s || (s = add_special(f, "bos_token", "<s>", err)) || (s = add_special(f, "eos_token", "</s>", err)) ||
		(s = add_special(f, "unk_token", "<unk>", err)) || (s = add_special(f, "pad_token", "<pad>", err)))
		return s;
	return add_listed(f, err);
}

// ---- vocab.json -----------------------------------------------------------------------------------------------------------

static enum status read_vocab(struct folder *f, const char *path, struct error *err)
{
	struct vocab *v = &f->t->model.vocab;
	struct slice text, key;
	uint32_t id;
	enum status s = read_text(f, path, &text, err);

	if (s != STATUS_OK)
		return s;
	struct scan scan = { .begin = text.s, .at = text.s, .end = text.s + text.n };
	scan_open(&scan, '{');
	for (bool first = true; s == STATUS_OK && scan_more(&scan, '}', &first);)
		if (scan_key(&scan, &key.s, &key.n) && scan_id(&scan, &id))
			s = vocab_add(v, key.s, key.n, id, err);
	if (s == STATUS_OK && scan.error)
		s = error_set(err, STATUS_BAD_INPUT, "%s: not valid JSON: %s (byte %td)", path, scan.error, scan.at - scan.begin);
	scan_done(&scan);
	return s ? s : vocab_index(v, err);
}

static enum status read_merges(struct folder *f, const char *path, struct error *err)
{
	struct model *m = &f->t->model;
	struct slice rest, line;
	uint32_t rank = 0;
	size_t lines = 1;
	enum status s = read_text(f, path, &rest, err);

	if (s != STATUS_OK)
		return s;
	for (size_t i = 0; i < rest.n; i++)
		lines += rest.s[i] == '\n';
	if ((s = bpe_prepare(m, lines, err)))
		return s;
	while (s == STATUS_OK && next_line(&rest, &line)) {
		const char *blank = line.n ? memchr(line.s, ' ', line.n) : NULL;
		if (!line.n || (line.n >= 8 && !memcmp(line.s, "#version", 8)))
			continue;
		if (!blank)
			return error_set(err, STATUS_BAD_INPUT, "%s: a line that is no pair", path);
		struct slice left = { line.s, (size_t)(blank - line.s) }, right = { blank + 1, line.n - left.n - 1 };
		s = bpe_merge(m, left, right, rank++, err);
	}
	return s ? error_prefix(err, "%s", path) : s;
}

static bool has_token(const struct folder *f, const char *token)
{
	return vocab_find(&f->t->model.vocab, token, strlen(token)) != VOCAB_NONE;
}

// Which of the classes with these two files it is.
enum bpe_class { CLASS_GPT2, CLASS_ROBERTA, CLASS_CLIP };

static enum bpe_class class_of(const struct folder *f)
{
	static const struct {
		const char *begins;
		enum bpe_class class;
	} names[] = { { "CLIP", CLASS_CLIP }, { "Roberta", CLASS_ROBERTA }, { "Bart", CLASS_ROBERTA },
		{ "Longformer", CLASS_ROBERTA }, { "LED", CLASS_ROBERTA }, { "MVP", CLASS_ROBERTA }, { "GPT2", CLASS_GPT2 } };
	const char *name = class_name_of(f);

	for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
		if (text_starts(name, names[i].begins))
			return names[i].class;
	if (has_token(f, "<|startoftext|>"))
		return CLASS_CLIP;
	return has_token(f, "<s>") && has_token(f, "</s>") ? CLASS_ROBERTA : CLASS_GPT2;
}

static json_t *byte_level_of(const struct folder *f)
{
	return json_pack("{s:s, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", config_flag(f, "add_prefix_space", false),
		"trim_offsets", config_flag(f, "trim_offsets", true));
}

static json_t *ends_of(const struct folder *f, struct slice sep, struct slice cls, bool trim, bool prefix)
{
	return json_pack("{s:s, s:o, s:o, s:b, s:b}", "type", "RobertaProcessing", "sep", token_pair(f, sep), "cls",
		token_pair(f, cls), "trim_offsets", trim, "add_prefix_space", prefix);
}

static enum status gpt2_chains(struct folder *f, struct error *err)
{
	static const char usual[] = "<|endoftext|>";
	enum status s;

	if ((s = chain_text(&f->t->pretokenizers, f->t->a, byte_level_of(f), err)) ||
		(s = chain_text(&f->t->decoders, f->t->a, byte_level_of(f), err)) ||
		(s = add_special(f, "bos_token", usual, err)) || (s = add_special(f, "eos_token", usual, err)) ||
		(s = add_special(f, "unk_token", usual, err)))
		return s;
	return add_special(f, "pad_token", NULL, err);
}

static enum status roberta_chains(struct folder *f, struct error *err)
{
	static const struct {
		const char *key, *usual;
	} specials[] = { { "bos_token", "<s>" }, { "eos_token", "</s>" }, { "unk_token", "<unk>" }, { "sep_token", "</s>" },
		{ "pad_token", "<pad>" }, { "cls_token", "<s>" }, { "mask_token", "<mask>" } };
	enum status s;

	if ((s = chain_text(&f->t->pretokenizers, f->t->a, byte_level_of(f), err)) ||
		(s = chain_text(&f->t->decoders, f->t->a, byte_level_of(f), err)))
		return s;
	for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
		if ((s = add_special(f, specials[i].key, specials[i].usual, err)))
			return s;
	return chain_text(&f->t->posts, f->t->a,
		ends_of(f, config_token(f, "sep_token", "</s>"), config_token(f, "cls_token", "<s>"),
			config_flag(f, "trim_offsets", true), config_flag(f, "add_prefix_space", false)),
		err);
}

static enum status clip_chains(struct folder *f, struct error *err)
{
	static const char normal
		[] = "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}, {\"type\": \"Replace\", \"pattern\": "
		     "{\"Regex\": \"\\\\s+\"}, \"content\": \" \"}, {\"type\": \"Lowercase\"}]}",
	  words[] = "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"pattern\": {\"Regex\": "
		    "\"<\\\\|startoftext\\\\|>|<\\\\|endoftext\\\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\\\p{L}]+|[\\\\p{N}]|"
		    "[^\\\\s\\\\p{L}\\\\p{N}]+\"}, \"behavior\": \"Removed\", \"invert\": true}, {\"type\": \"ByteLevel\", "
		    "\"add_prefix_space\": false, \"trim_offsets\": true}]}",
	  decode[] = "{\"type\": \"Sequence\", \"decoders\": [{\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
		     "\"trim_offsets\": true}, {\"type\": \"Replace\", \"pattern\": {\"String\": \"</w>\"}, \"content\": \" \"}, "
		     "{\"type\": \"Strip\", \"content\": \" \", \"start\": 1000000000, \"stop\": 1000000000}]}";
	static const char begin[] = "<|startoftext|>", end[] = "<|endoftext|>";
	enum status s;

	if ((s = chain_text(&f->t->normalizers, f->t->a, chain_of(normal), err)) ||
		(s = chain_text(&f->t->pretokenizers, f->t->a, chain_of(words), err)) ||
		(s = chain_text(&f->t->decoders, f->t->a, chain_of(decode), err)) ||
		(s = add_special(f, "bos_token", begin, err)) || (s = add_special(f, "eos_token", end, err)) ||
		(s = add_special(f, "unk_token", end, err)) || (s = add_special(f, "pad_token", end, err)))
		return s;
	return chain_text(&f->t->posts, f->t->a,
		ends_of(f, config_token(f, "eos_token", end), config_token(f, "bos_token", begin), false, false), err);
}

static enum status open_bpe(struct folder *f, const char *vocab, const char *merges, struct error *err)
{
	struct model *m = &f->t->model;
	enum status s = read_vocab(f, vocab, err);

	if (s || (s = read_merges(f, merges, err)))
		return s;
	enum bpe_class class = class_of(f);
	m->kind = MODEL_BPE;
	if (class == CLASS_CLIP) {
		m->suffix = slice_text("</w>");
		m->unk = slice_copy(f->t->a, config_token(f, "unk_token", "<|endoftext|>"));
		m->has_unk = true;
		m->unk_entry = vocab_find(&m->vocab, m->unk.s, m->unk.n);
	}
	model_bytes(m);
	bpe_ready(m);
	f->t->next_added = (uint32_t)m->vocab.count;
	return class == CLASS_CLIP ? clip_chains(f, err) : class == CLASS_ROBERTA ? roberta_chains(f, err) : gpt2_chains(f, err);
}

// ---- vocab.json alone: the labels of a CTC model --------------------------------------------------------------------------

struct labels {
	struct slice pad, delimiter, blank;
	bool lower;
};

// Labels in a row were taken once before (tokenizer_decode_frames); padding falls out, the delimiter is a blank, the ends are
// stripped.
static void decode_labels(struct strings *t, const void *own)
{
	const struct labels *l = own;
	struct text all = { 0 };
	uint32_t out[UNICODE_MOST];
	size_t length;
	char utf8[4];

	for (size_t i = 0; i < t->count; i++) {
		struct slice s = t->items[i];
		if (s.n == l->pad.n && !memcmp(s.s, l->pad.s, s.n))
			continue;
		if (s.n == l->delimiter.n && !memcmp(s.s, l->delimiter.s, s.n))
			s = l->blank;
		for (size_t k = 0; k < s.n; k += length) {
			size_t n = unicode_to_lower(utf8_next(s.s + k, &length), out);
			if (!l->lower)
				text_add_bytes(&all, s.s + k, length);
			for (size_t j = 0; l->lower && j < n; j++)
				text_add_bytes(&all, utf8, utf8_put(utf8, out[j]));
		}
	}
	const char *begin = text_get(&all), *end = begin + all.length;
	while (begin < end && unicode_is(utf8_next(begin, &length), UNICODE_SPACE))
		begin += length;
	while (begin < end && unicode_is(utf8_last(begin, end, &length), UNICODE_SPACE))
		end -= length;
	t->items[0] = slice_copy(t->a, (struct slice){ begin, (size_t)(end - begin) });
	t->count = 1;
	text_done(&all);
}

static const struct step_kind label_kind = { "labels", .decode = decode_labels };

static enum status open_labels(struct folder *f, const char *path, struct error *err)
{
	struct tokenizer *t = f->t;
	struct model *m = &t->model;
	struct labels *l = ARENA_NEW(t->a, struct labels);
	enum status s = read_vocab(f, path, err);

	if (s != STATUS_OK)
		return s;
	m->kind = MODEL_WORDLEVEL;
	m->unk = slice_copy(t->a, config_token(f, "unk_token", "<unk>"));
	m->unk_entry = vocab_find(&m->vocab, m->unk.s, m->unk.n);
	l->pad = slice_copy(t->a, config_token(f, "pad_token", "<pad>"));
	l->delimiter = slice_copy(t->a, config_token(f, "word_delimiter_token", "|"));
	l->blank = slice_copy(t->a, config_token(f, "replace_word_delimiter_char", " "));
	l->lower = config_flag(f, "do_lower_case", false);
	if (l->lower)
		return error_set(err, STATUS_UNSUPPORTED, "labels in upper case (do_lower_case)");
	t->ctc = true;
	t->next_added = (uint32_t)m->vocab.count;
	if ((s = chain_text(&t->normalizers, t->a,
		     json_pack("{s:s, s:{s:s}, s:s%}", "type", "Replace", "pattern", "String", " ", "content", l->delimiter.s,
			     l->delimiter.n),
		     err)) ||
		(s = chain_text(&t->pretokenizers, t->a, chain_of("{\"type\": \"FixedLength\", \"length\": 1}"), err)))
		return s;
	t->decoders.steps = ARENA_NEW(t->a, struct step);
	t->decoders.steps[0] = (struct step){ &label_kind, l };
	t->decoders.count = 1;
	if ((s = add_special(f, "bos_token", "<s>", err)) || (s = add_special(f, "eos_token", "</s>", err)) ||
		(s = add_special(f, "unk_token", "<unk>", err)) || (s = add_special(f, "pad_token", "<pad>", err)))
		return s;
	for (size_t i = 0; i < m->vocab.count && s == STATUS_OK; i++) {
		struct slice text = { vocab_text(&m->vocab, (uint32_t)i), m->vocab.entries[i].nbytes };
		if (utf8_count(text.s, text.n) > 1)
			s = added_add(t, &(struct added){ .content = text, .lstrip = true, .rstrip = true }, err);
	}
	return s;
}

// ---- a vocabulary of tiktoken ---------------------------------------------------------------------------------------------

static json_t *byte_level(bool trim)
{
	return json_pack("{s:s, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 1, "trim_offsets", trim);
}

// As transformers' TikTokenConverter has it, whose expression is that of cl100k.
static enum status open_tiktoken(struct folder *f, struct slice file, struct error *err)
{
	static const char *const specials[] = { "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token",
		"mask_token" };
	static const char words[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
				    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
	struct tokenizer *t = f->t;
	json_t *extra = json_object_get(f->config, "extra_special_tokens"), *one;
	size_t i;
	enum status s;

	if ((s = tiktoken_read(&t->model, &f->a, file, err)))
		return s;
	t->next_added = (uint32_t)t->model.vocab.id_count;
	if ((s = chain_text(&t->pretokenizers, t->a,
		     json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, {s:s, s:b, s:b, s:b}]}", "type", "Sequence", "pretokenizers",
			     "type", "Split", "pattern", "Regex", words, "behavior", "Isolated", "invert", 0, "type", "ByteLevel",
			     "add_prefix_space", 0, "trim_offsets", 1, "use_regex", 0),
		     err)) ||
		(s = chain_text(&t->decoders, t->a, byte_level(true), err)) ||
		(s = chain_text(&t->posts, t->a, byte_level(false), err)) || (s = add_listed(f, err)))
		return s;
	json_array_foreach(extra, i, one)
	{
		struct added added = { .special = true };
		if (json_is_string(one)) {
			added.content = slice_copy(t->a, (struct slice){ json_string_value(one), json_string_length(one) });
			if ((s = added_add(t, &added, err)))
				return s;
		}
	}
	for (i = 0; i < sizeof specials / sizeof *specials; i++)
		if ((s = add_special(f, specials[i], NULL, err)))
			return s;
	return STATUS_OK;
}

// ---- vocab.json alone: the characters of VitsTokenizer --------------------------------------------------------------------

static enum status add_vits_special(
	struct folder *f, struct vits_rules *r, const json_t *token, const char *usual, struct error *err)
{
	static const char *const flags[] = { "lstrip", "rstrip", "single_word" };
	const char *text = json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);

	text = text ? text : usual;
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (json_is_true(json_object_get(token, flags[i])))
			return error_set(
				err, STATUS_UNSUPPORTED, "VitsTokenizer: a token with %s is not supported yet", flags[i]);
	if (!text || !*text || r->special_count == VITS_SPECIALS_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "VitsTokenizer: an empty special token, or more than %d", VITS_SPECIALS_MOST);
	r->specials[r->special_count++] = slice_copy(f->t->a, slice_text(text));
	return STATUS_OK;
}

static enum status open_vits(struct folder *f, const char *path, struct error *err)
{
	struct vits_rules r = { .normalizes = config_flag(f, "normalize", true),
		.blanks = config_flag(f, "add_blank", true),
		.romanizes = config_flag(f, "is_uroman", false),
		.romanian = text_is(json_string_value(json_object_get(f->config, "language")), "ron") };
	json_t *listed = json_object_get(f->config, "added_tokens_decoder"), *token;
	const char *id;
	enum status s;

	if (config_flag(f, "phonemize", true))
		return error_set(err, STATUS_UNSUPPORTED,
			"VitsTokenizer: phonemize, letters to phonemes by espeak, is not supported yet: only models that read "
			"letters are");
	if ((s = read_vocab(f, path, err)) ||
		(s = add_vits_special(f, &r, json_object_get(f->config, "unk_token"), "<unk>", err)) ||
		(s = add_vits_special(f, &r, json_object_get(f->config, "pad_token"), "<pad>", err)))
		return s;
	json_object_foreach(listed, id, token) if (!s) s = add_vits_special(f, &r, token, NULL, err);
	return s ? s : vits_ready(f->t, &r, err);
}

static enum status open_pieces(struct folder *f, const char *path, struct error *err)
{
	struct slice bytes;
	char *data;
	enum status s = file_read(&f->a, path, TEXT_MOST, &data, &bytes.n, err);

	if (s != STATUS_OK)
		return s;
	bytes.s = data;
	if ((s = tiktoken_is(bytes) ? open_tiktoken(f, bytes, err) : spm_read(f->t, bytes, err)))
		return error_prefix(err, "%s", path);
	return text_is(class_name_of(f), "SpeechT5Tokenizer") ? speecht5_chains(f, err) : s;
}

// ---- which ----------------------------------------------------------------------------------------------------------------

static enum status open_files(struct folder *f, struct error *err)
{
	static const char *const pieces[] = { "spiece.model", "tokenizer.model", "sentencepiece.bpe.model", "sentencepiece.model",
		"tiktoken.model", "spm_char.model" };
	const char *config = file_of(f, "tokenizer_config.json"), *vocab = file_of(f, "vocab.json"),
		   *merges = file_of(f, "merges.txt"), *words = file_of(f, "vocab.txt");
	enum status s;

	f->config = NULL;
	if (config && (s = json_file(config, CONFIG_MOST, &f->config, err)))
		return s;
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		const char *path = file_of(f, pieces[i]);
		if (path)
			return open_pieces(f, path, err);
	}
	if (vocab && merges)
		s = open_bpe(f, vocab, merges, err);
	else if (words)
		s = open_bert(f, words, err);
	else if (vocab && text_is(class_name_of(f), "VitsTokenizer"))
		return open_vits(f, vocab, err);
	else if (vocab)
		s = open_labels(f, vocab, err);
	else
		return error_set(err, STATUS_BAD_INPUT,
			"%s: there is no tokenizer.json, spiece.model, tokenizer.model, tiktoken.model, vocab.json or vocab.txt",
			f->path);
	return s ? s : add_listed(f, err);
}

enum status files_open(struct tokenizer *t, const char *folder, struct error *err)
{
	struct folder f = { .t = t, .path = folder };
	enum status s = open_files(&f, err);

	if (s == STATUS_OK)
		added_ready(t);
	json_decref(f.config);
	arena_done(&f.a);
	return s;
}
