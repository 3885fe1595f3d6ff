// SPDX-License-Identifier: Apache-2.0
// tokenizer.json: the model is read from left to right, everything else as small trees.
#include <sys/stat.h>

#include "base/file.h"
#include "base/visible.h"
#include "hub/hub.h"
#include "token/inside.h"
#include "token/scan.h"
#include "token/unicode.h"

// Gemma 3's has 33 MB. A text among a model's members is a token such as "<|endoftext|>".
enum { FILE_MOST = 128 << 20, TEXT_MOST = 1 << 10, PAD_TOKEN_MOST = 256 };
enum { KEPT_MOST = 16 << 20 }; // bytes of a file that are not given back while it is read: merges are read twice

static void release(void *tokenizer)
{
	struct tokenizer *t = tokenizer;

	model_done(&t->model);
	added_done(&t->added);
	flow_done(&t->flow);
	free(t->tokens.items);
	free(t->characters);
	pattern_list_done(&t->patterns);
}

struct tokenizer *tokenizer_new(struct arena *a)
{
	struct tokenizer *t = ARENA_NEW(a, struct tokenizer);

	t->a = t->patterns.a = a;
	t->normalizers = (struct chain){ .kinds = normalizer_kinds, .list = "normalizers", .patterns = &t->patterns };
	t->pretokenizers = (struct chain){ .kinds = pretokenizer_kinds, .list = "pretokenizers", .patterns = &t->patterns };
	t->posts = (struct chain){ .kinds = post_kinds, .list = "processors", .patterns = &t->patterns };
	t->decoders = (struct chain){ .kinds = decoder_kinds, .list = "decoders", .patterns = &t->patterns };
	t->model.unk_entry = VOCAB_NONE;
	t->model.prefix = t->model.suffix = t->model.unk = slice_text("");
	t->model.longest_word = 100;
	arena_defer(a, release, t);
	return t;
}

// ---- the model ------------------------------------------------------------------------------------------------------------

static bool key_is(const char *key, size_t n, const char *name)
{
	return strlen(name) == n && !memcmp(key, name, n);
}

static bool read_text(struct scan *s, struct tokenizer *t, struct slice *out, bool *has)
{
	struct slice text;

	if (scan_null(s))
		return true;
	if (!scan_string(s, &text.s, &text.n))
		return false;
	if (text.n > TEXT_MOST)
		return scan_fail(s, "a text that is too long");
	*out = slice_copy(t->a, text);
	if (has)
		*has = true;
	return true;
}

static bool read_flag(struct scan *s, bool *out)
{
	return scan_null(s) || scan_bool(s, out);
}

// {"token": id, ..}
static enum status read_ids(struct scan *s, struct vocab *v, struct error *err)
{
	struct slice text;
	uint32_t id;
	enum status status = STATUS_OK;

	scan_open(s, '{');
	for (bool first = true; status == STATUS_OK && scan_more(s, '}', &first);)
		if (scan_key(s, &text.s, &text.n) && scan_id(s, &id))
			status = vocab_add(v, text.s, text.n, id, err);
	return status;
}

// [["token", score], ..]
static enum status read_scores(struct scan *s, struct vocab *v, struct error *err)
{
	struct slice text;
	double score;
	bool second;
	enum status status = STATUS_OK;

	scan_open(s, '[');
	for (bool first = true; status == STATUS_OK && scan_more(s, ']', &first);) {
		bool inner = true;
		if (!scan_open(s, '[') || !scan_more(s, ']', &inner) || !scan_string(s, &text.s, &text.n) ||
			!scan_more(s, ']', &inner) || !scan_number(s, &score))
			break;
		second = scan_more(s, ']', &inner);
		if (second)
			scan_fail(s, "a token with more than a score");
		if (!s->error && !(status = vocab_add(v, text.s, text.n, (uint32_t)v->count, err)))
			vocab_score(v, score);
	}
	return status;
}

static size_t skip_items(struct scan *s) // of an array; how many there were
{
	size_t n = 0;

	scan_open(s, '[');
	for (bool first = true; scan_more(s, ']', &first) && scan_skip(s); n++)
		;
	return n;
}

// ["a b", ..] or [["a", "b"], ..]
static enum status read_merges(struct scan *s, struct model *m, size_t count, struct error *err)
{
	struct slice left, right;
	uint32_t rank = 0;
	enum status status;

	if ((status = bpe_prepare(m, count, err)))
		return status;
	scan_open(s, '[');
	for (bool first = true; status == STATUS_OK && scan_more(s, ']', &first);) {
		if (scan_peek(s) == '[') {
			bool inner = true;
			if (!scan_open(s, '[') || !scan_more(s, ']', &inner) || !scan_string(s, &left.s, &left.n) ||
				!scan_more(s, ']', &inner) || !scan_string(s, &right.s, &right.n))
				break;
			if (scan_more(s, ']', &inner))
				scan_fail(s, "a merge of more than two");
		} else {
			struct slice line;
			if (!scan_string(s, &line.s, &line.n))
				break;
			if (line.n >= 8 && !memcmp(line.s, "#version", 8))
				continue;
			const char *blank = line.n ? memchr(line.s, ' ', line.n) : NULL;
			if (!blank || memchr(blank + 1, ' ', (size_t)(line.s + line.n - blank - 1)))
				return error_set(err, STATUS_BAD_INPUT, "merge %u is no pair", rank);
			left = (struct slice){ line.s, (size_t)(blank - line.s) };
			right = (struct slice){ blank + 1, line.n - left.n - 1 };
		}
		if (!s->error)
			status = bpe_merge(m, left, right, rank++, err);
	}
	return status;
}

struct model_file {
	struct slice type;
	bool has_type, has_vocab, is_list, has_unk_id;
	bool has_prefix, has_longest; // members that WordPiece has and WordLevel has not
	uint32_t unk_id;
	double dropout;
	struct scan merges; // at NULL: there are none
	size_t merge_count;
};

static enum status read_members(struct scan *s, struct tokenizer *t, struct model_file *f, struct error *err)
{
	struct model *m = &t->model;
	struct slice key;
	uint32_t words;
	enum status status = STATUS_OK;

	scan_open(s, '{');
	for (bool first = true; status == STATUS_OK && scan_more(s, '}', &first);) {
		if (!scan_key(s, &key.s, &key.n))
			break;
		if (key_is(key.s, key.n, "type")) {
			read_text(s, t, &f->type, &f->has_type);
		} else if (key_is(key.s, key.n, "unk_token")) {
			read_text(s, t, &m->unk, &m->has_unk);
		} else if (key_is(key.s, key.n, "unk_id")) {
			if (!scan_null(s))
				f->has_unk_id = scan_id(s, &f->unk_id);
		} else if (key_is(key.s, key.n, "continuing_subword_prefix")) {
			f->has_prefix = true;
			read_text(s, t, &m->prefix, NULL);
		} else if (key_is(key.s, key.n, "end_of_word_suffix")) {
			read_text(s, t, &m->suffix, NULL);
		} else if (key_is(key.s, key.n, "fuse_unk")) {
			read_flag(s, &m->fuse_unk);
		} else if (key_is(key.s, key.n, "byte_fallback")) {
			read_flag(s, &m->byte_fallback);
		} else if (key_is(key.s, key.n, "ignore_merges")) {
			read_flag(s, &m->ignore_merges);
		} else if (key_is(key.s, key.n, "dropout")) {
			if (!scan_null(s))
				scan_number(s, &f->dropout);
		} else if (key_is(key.s, key.n, "max_input_chars_per_word")) {
			f->has_longest = true;
			if (scan_id(s, &words))
				m->longest_word = words;
		} else if (key_is(key.s, key.n, "vocab") && !f->has_vocab) {
			f->has_vocab = true;
			f->is_list = scan_peek(s) == '[';
			status = f->is_list ? read_scores(s, &m->vocab, err) : read_ids(s, &m->vocab, err);
		} else if (key_is(key.s, key.n, "merges") && scan_peek(s) == '[') {
			f->merges = *s;
			f->merges.unescaped[0] = f->merges.unescaped[1] = (struct text){ 0 };
			f->merge_count = skip_items(s);
		} else {
			scan_skip(s);
		}
	}
	return status;
}

static enum model_kind kind_of(const struct model_file *f)
{
	static const struct {
		const char *name;
		enum model_kind kind;
	} kinds[] = { { "BPE", MODEL_BPE }, { "Unigram", MODEL_UNIGRAM }, { "WordPiece", MODEL_WORDPIECE },
		{ "WordLevel", MODEL_WORDLEVEL } };

	for (size_t i = 0; f->has_type && i < sizeof kinds / sizeof *kinds; i++)
		if (key_is(f->type.s, f->type.n, kinds[i].name))
			return kinds[i].kind;
	if (f->has_type)
		return MODEL_NONE;
	// Old files have no type.
	return f->is_list ? MODEL_UNIGRAM : f->merges.at ? MODEL_BPE : MODEL_NONE;
}

void model_bytes(struct model *m)
{
	char text[8];

	for (unsigned b = 0; b < 256; b++) {
		snprintf(text, sizeof text, "<0x%02X>", b);
		m->byte_entry[b] = vocab_find(&m->vocab, text, 6);
	}
}

static enum status ready_model(struct tokenizer *t, struct model_file *f, struct error *err)
{
	struct model *m = &t->model;
	enum status s;

	m->kind = kind_of(f);
	if (m->kind == MODEL_NONE && !f->has_type && f->has_vocab)
		m->kind = f->has_prefix && f->has_longest ? MODEL_WORDPIECE : MODEL_WORDLEVEL;
	if (m->kind == MODEL_NONE || !f->has_vocab || f->is_list != (m->kind == MODEL_UNIGRAM))
		return error_set(err, STATUS_BAD_INPUT, "a model of a type that is not known, or without its vocabulary");
	if (f->dropout != 0)
		return error_set(err, STATUS_BAD_INPUT, "a dropout of %g: its ids are random", f->dropout);
	if (m->prefix.n > AFFIX_MOST || m->suffix.n > AFFIX_MOST)
		return error_set(err, STATUS_BAD_INPUT,
			"\"continuing_subword_prefix\" of %zu bytes and \"end_of_word_suffix\" of %zu; each has %d at most",
			m->prefix.n, m->suffix.n, AFFIX_MOST);
	if (m->kind == MODEL_BPE && !f->merges.at)
		return error_set(err, STATUS_BAD_INPUT, "a BPE model without \"merges\"");
	if ((m->kind == MODEL_WORDPIECE || m->kind == MODEL_WORDLEVEL) && !m->has_unk)
		return error_set(err, STATUS_BAD_INPUT, "a model without \"unk_token\"");
	if ((s = vocab_index(&m->vocab, err)))
		return s;
	if (m->kind == MODEL_UNIGRAM && f->has_unk_id) {
		if (f->unk_id >= m->vocab.count)
			return error_set(
				err, STATUS_BAD_INPUT, "\"unk_id\" %u in a vocabulary of %zu", f->unk_id, m->vocab.count);
		m->unk_entry = f->unk_id;
	} else if (m->kind != MODEL_UNIGRAM && m->has_unk) {
		m->unk_entry = vocab_find(&m->vocab, m->unk.s, m->unk.n);
	}
	model_bytes(m);
	if (m->kind == MODEL_UNIGRAM)
		return unigram_ready(m, err);
	if (m->kind != MODEL_BPE)
		return STATUS_OK;
	s = read_merges(&f->merges, m, f->merge_count, err);
	if (s == STATUS_OK && f->merges.error)
		s = error_set(
			err, STATUS_BAD_INPUT, "not valid JSON: %s (byte %td)", f->merges.error, f->merges.at - f->merges.begin);
	scan_done(&f->merges);
	if (s == STATUS_OK)
		bpe_ready(m);
	return s;
}

static enum status read_model(struct scan *s, struct tokenizer *t, struct error *err)
{
	struct model_file f = { 0 };

	if (scan_peek(s) != '{')
		return error_set(err, STATUS_BAD_INPUT, "\"model\" is no object");
	t->model.prefix = slice_text("");
	enum status status = read_members(s, t, &f, err);
	if (status != STATUS_OK || s->error)
		return status;
	status = ready_model(t, &f, err);
	return status ? error_prefix(err, "model") : status;
}

void model_done(struct model *m)
{
	vocab_done(&m->vocab);
	bpe_done(m);
	unigram_done(m);
}

// ---- the rest -------------------------------------------------------------------------------------------------------------

// Trees of everything but the model and the added tokens, of which there may be tens of thousands; a string may hold NUL.
struct rest {
	struct slice added; // the text of the list; n 0: none
	json_t *normalizer, *pretokenizer, *post, *decoder, *truncation, *padding, *version;
	size_t weight; // of all together
};

static enum status read_rest(struct scan *s, struct tokenizer *t, struct rest *r, const char *name, struct error *err)
{
	struct {
		const char *key;
		json_t **out;
	} members[] = { { "normalizer", &r->normalizer }, { "pre_tokenizer", &r->pretokenizer }, { "post_processor", &r->post },
		{ "decoder", &r->decoder }, { "truncation", &r->truncation }, { "padding", &r->padding },
		{ "version", &r->version } };
	struct slice key;
	bool has_model = false;

	scan_open(s, '{');
	for (bool first = true; scan_more(s, '}', &first);) {
		json_t **out = NULL;
		if (!scan_key(s, &key.s, &key.n))
			break;
		for (size_t i = 0; i < sizeof members / sizeof *members; i++)
			if (key_is(key.s, key.n, members[i].key))
				out = members[i].out;
		if (key_is(key.s, key.n, "model")) {
			enum status status =
				has_model ? error_set(err, STATUS_BAD_INPUT, "duplicate key \"model\"") : read_model(s, t, err);
			if (status != STATUS_OK)
				return status;
			has_model = true;
		} else {
			scan_peek(s);
			const char *begin = s->at;
			const bool added = key_is(key.s, key.n, "added_tokens");
			if (!scan_skip(s) || !(out || added))
				continue;
			if (added) {
				if (r->added.n)
					return error_set(err, STATUS_BAD_INPUT, "duplicate key \"added_tokens\"");
				r->added = (struct slice){ begin, (size_t)(s->at - begin) };
				continue;
			}
			if (*out)
				return error_set(err, STATUS_BAD_INPUT, "duplicate key \"%.*s\"", (int)key.n, key.s);
			size_t weight = json_weight(begin, (size_t)(s->at - begin), JSON_MOST);
			if (weight <= JSON_MOST && (r->weight += weight) > JSON_MOST)
				return error_set(err, STATUS_BAD_INPUT,
					"what stands beside the model would take more than %zu MiB of memory", JSON_MOST >> 20);
			enum status status = json_bytes_nul(name, begin, (size_t)(s->at - begin), out, err);
			if (status != STATUS_OK)
				return status;
		}
	}
	scan_peek(s);
	if (!s->error && s->at != s->end)
		scan_fail(s, "end of file expected");
	if (s->error)
		return error_set(err, STATUS_BAD_INPUT, "not valid JSON: %s (byte %td)", s->error, s->at - s->begin);
	return has_model ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "has no \"model\"");
}

static enum status added_one(struct tokenizer *t, const json_t *o, struct error *err)
{
	struct added one = { 0 };
	enum status s;

	if ((s = member_needed(o, "content", err)) || (s = member_text(o, "content", t->a, &one.content, err)) ||
		(s = member_bool(o, "single_word", &one.single_word, err)) || (s = member_bool(o, "lstrip", &one.lstrip, err)) ||
		(s = member_bool(o, "rstrip", &one.rstrip, err)) || (s = member_bool(o, "normalized", &one.normalized, err)) ||
		(s = member_bool(o, "special", &one.special, err)))
		return s;
	return added_add(t, &one, err);
}

// One tree at a time.
static enum status added_parse(struct tokenizer *t, const char *name, struct slice list, struct error *err)
{
	struct scan s = { .begin = list.s, .at = list.s, .end = list.n ? list.s + list.n : list.s };
	enum status status = STATUS_OK;
	size_t count = 0;

	t->next_added = (uint32_t)t->model.vocab.count;
	if (list.n && scan_peek(&s) != '[')
		return error_set(err, STATUS_BAD_INPUT, "\"added_tokens\" is no list");
	if (list.n)
		scan_open(&s, '[');
	for (bool first = true; list.n && !status && scan_more(&s, ']', &first); count++) {
		json_t *o = NULL;

		scan_peek(&s);
		const char *begin = s.at;
		scan_skip(&s);
		if ((status = json_bytes_nul(name, begin, (size_t)(s.at - begin), &o, err)) || (status = added_one(t, o, err)))
			status = error_prefix(err, "added token %zu", count);
		json_decref(o);
	}
	scan_done(&s);
	if (!status)
		added_ready(t);
	return status;
}

static enum status truncation_parse(struct tokenizer *t, const json_t *o, struct error *err)
{
	static const char *const names[] = { "LongestFirst", "OnlyFirst", "OnlySecond" };
	struct truncation *c = &t->truncation;
	const char *word = json_string_value(json_object_get(o, "strategy"));
	enum status s;

	if (!o || json_is_null(o))
		return STATUS_OK;
	if ((s = member_needed(o, "max_length", err)))
		return s;
	if (json_integer_value(json_object_get(o, "max_length")) > INT32_MAX) // no text has so many tokens
		c->max_length = INT32_MAX;
	else if ((s = member_size(o, "max_length", &c->max_length, err)))
		return s;
	if ((s = member_size(o, "stride", &c->stride, err)))
		return s;
	c->left = text_is(json_string_value(json_object_get(o, "direction")), "Left");
	for (int i = 0; i < 3; i++)
		if (text_is(word, names[i])) {
			c->strategy = (enum truncation_strategy)i;
			t->cuts = true;
		}
	return t->cuts ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "a truncation by \"%s\"", word ? word : "(none)");
}

static enum status padding_parse(struct tokenizer *t, const json_t *o, struct error *err)
{
	struct padding *p = &t->padding;
	const json_t *strategy = json_object_get(o, "strategy");
	size_t id = 0, type = 0;
	struct slice token = slice_text("[PAD]");
	enum status s;

	if (!o || json_is_null(o))
		return STATUS_OK;
	if ((s = member_size(strategy, "Fixed", &p->length, err)) ||
		(s = member_size(o, "pad_to_multiple_of", &p->multiple, err)) || (s = member_size(o, "pad_id", &id, err)) ||
		(s = member_size(o, "pad_type_id", &type, err)) || (s = member_text(o, "pad_token", t->a, &token, err)))
		return s;
	p->id = (uint32_t)id;
	p->type = (uint32_t)type;
	if (token.n > PAD_TOKEN_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "\"pad_token\" of %zu bytes; at most %d are taken", token.n, PAD_TOKEN_MOST);
	p->token = token.s;
	p->left = text_is(json_string_value(json_object_get(o, "direction")), "Left");
	t->pads = true;
	return STATUS_OK;
}

static enum status parse(struct tokenizer *t, const char *name, const char *json, size_t nbytes, bool is_large, struct error *err)
{
	struct scan s = { .begin = json, .at = json, .end = json + nbytes, .kept = is_large ? json : NULL };
	struct rest r = { 0 };
	const char *version;
	enum status status = read_rest(&s, t, &r, name, err);

	scan_done(&s);
	version = json_string_value(r.version);
	if (status == STATUS_OK && version && !text_is(version, "1.0"))
		status = error_set(err, STATUS_BAD_INPUT, "version %s of the format is not known", version);
	if (status == STATUS_OK && (status = chain_parse(&t->normalizers, t->a, r.normalizer, err)))
		error_prefix(err, "normalizer");
	if (status == STATUS_OK && (status = chain_parse(&t->pretokenizers, t->a, r.pretokenizer, err)))
		error_prefix(err, "pre_tokenizer");
	if (status == STATUS_OK && (status = chain_parse(&t->posts, t->a, r.post, err)))
		error_prefix(err, "post_processor");
	if (status == STATUS_OK && (status = chain_parse(&t->decoders, t->a, r.decoder, err)))
		error_prefix(err, "decoder");
	if (status == STATUS_OK)
		status = added_parse(t, name, r.added, err);
	if (status == STATUS_OK && (status = truncation_parse(t, r.truncation, err)))
		error_prefix(err, "truncation");
	if (status == STATUS_OK && (status = padding_parse(t, r.padding, err)))
		error_prefix(err, "padding");
	json_decref(r.normalizer);
	json_decref(r.pretokenizer);
	json_decref(r.post);
	json_decref(r.decoder);
	json_decref(r.truncation);
	json_decref(r.padding);
	json_decref(r.version);
	return status;
}

static enum status open_json(struct tokenizer **out, struct arena *a, const char *name, const char *json, size_t nbytes,
	bool is_mapped, struct error *err)
{
	struct tokenizer *t = tokenizer_new(a);
	enum status s = parse(t, name, json, nbytes, is_mapped && nbytes > KEPT_MOST, err);

	if (s != STATUS_OK)
		return error_prefix(err, "%s", name);
	*out = t;
	return STATUS_OK;
}

enum status tokenizer_parse(
	struct tokenizer **out, struct arena *a, const char *name, const char *json, size_t nbytes, struct error *err)
{
	return open_json(out, a, name, json, nbytes, false, err);
}

enum status tokenizer_open(struct tokenizer **out, struct arena *a, const char *folder, struct error *err)
{
	struct arena file = { 0 };
	const char *path = arena_printf(&file, "%s/tokenizer.json", folder);
	const uint8_t *data;
	size_t nbytes;
	enum status s;

	const char *gguf = file_is_dir(folder) ? hub_gguf(&file, folder) : text_ends(folder, ".gguf") ? folder : NULL;

	if (gguf && !file_exists(path)) {
		s = gguf_tokenizer(out, a, gguf, err);
	} else if (!file_exists(path)) {
		struct tokenizer *t = tokenizer_new(a);
		s = files_open(t, folder, err);
		*out = t;
	} else if ((s = file_map(&file, path, &data, &nbytes, err)) == STATUS_OK) {
		if (nbytes > FILE_MOST)
			s = error_set(err, STATUS_BAD_INPUT, "%s: %zu bytes; at most %d are read", path, nbytes, FILE_MOST);
		else
			s = open_json(out, a, path, nbytes ? (const char *)data : "", nbytes, nbytes > 0, err);
	}
	arena_done(&file);
	return s;
}
