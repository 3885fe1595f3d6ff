// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "base/visible.h"
#include "token/grown.h"
#include "token/inside.h"
#include "token/unicode.h"

struct model_token *model_add(struct model_tokens *out)
{
	if (out->count == out->room) {
		out->room = out->room * 2 + 256;
		out->items = grown(out->items, out->room, sizeof *out->items);
	}
	return &out->items[out->count++];
}

enum status model_too_many(size_t most, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "the text has more than %zu tokens, which is what the model takes", most);
}

enum status model_looked(const struct model_tokens *out, struct error *err)
{
	return out->looked <= LOOKED_ANYWAY + LOOKED_A_BYTE * out->read
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "the pieces of its vocabulary are too long for words as long as this text's");
}

enum status model_tokenize(struct model *m, const char *s, size_t nbytes, struct model_tokens *out, struct error *err)
{
	switch (m->kind) {
	case MODEL_BPE:
		return bpe_tokenize(m, s, nbytes, out, err);
	case MODEL_UNIGRAM:
		return unigram_tokenize(m, s, nbytes, out, err);
	case MODEL_WORDPIECE:
		return wordpiece_tokenize(m, s, nbytes, out, err);
	case MODEL_WORDLEVEL:
		return wordlevel_tokenize(m, s, nbytes, out, err);
	case MODEL_NONE:
		break;
	}
	return error_set(err, STATUS_BAD_INPUT, "there is no model");
}

// ---- offsets --------------------------------------------------------------------------------------------------------------

// Code points before each byte; NULL where they are the bytes.
static const uint32_t *count_characters(struct tokenizer *t, const char *s, size_t nbytes)
{
	uint32_t n = 0;

	if (piece_is_ascii(s, nbytes))
		return NULL;
	if (nbytes > t->character_room) {
		t->character_room = nbytes * 2;
		t->characters = grown(t->characters, t->character_room, sizeof *t->characters);
	}
	for (size_t i = 0; i < nbytes; i++) {
		n += (s[i] & 0xC0) != 0x80;
		t->characters[i] = n - 1;
	}
	return t->characters;
}

// Of a byte within a character that character; an end behind the last. What begins behind the text stays as it is, as in the
// library.
static void to_characters(const uint32_t *characters, size_t nbytes, uint32_t *begin, uint32_t *end)
{
	if (!characters || *begin >= nbytes)
		return;
	*end = *end < nbytes ? characters[*end] : *end ? characters[nbytes - 1] + 1 : 0;
	*begin = characters[*begin];
}

size_t tokenizer_bytes_most(size_t tokens)
{
	enum { EACH = 64, LEAST = 256 << 10, MOST = 4 << 20 };

	return !tokens || tokens > MOST / EACH ? MOST : tokens < LEAST / EACH ? LEAST : tokens * EACH;
}

enum status tokenizer_check_bytes(size_t nbytes, size_t tokens, struct error *err)
{
	size_t most = tokenizer_bytes_most(tokens);
	char takes[64] = "";

	if (tokens)
		snprintf(takes, sizeof takes, " to a model that takes %zu tokens", tokens);
	return nbytes <= most
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "a text of %zu bytes; at most %zu are given%s", nbytes, most, takes);
}

// ---- one text -------------------------------------------------------------------------------------------------------------

static enum status encode_text(struct tokenizer *t, struct arena *a, const char *text, size_t nbytes, uint32_t type, size_t most,
	struct encoding *out, struct error *err)
{
	struct flow *f = &t->flow;
	size_t room = (nbytes / 4 < most ? nbytes / 4 : most) + 16;
	enum status s = STATUS_OK;

	if (nbytes > FLOW_MOST)
		return error_set(err, STATUS_BAD_INPUT, "a text of %zu bytes; at most %d are taken", nbytes, FLOW_MOST);
	if (!piece_is_ascii(text, nbytes) && visible_not_utf8(text, nbytes) != nbytes)
		return error_set(err, STATUS_BAD_INPUT, "the text is no UTF-8 from byte %zu on", visible_not_utf8(text, nbytes));
	flow_start(f, text, nbytes);
	added_cut(t, f, false);
	chain_flow(&t->normalizers, f);
	if (f->failed.status == STATUS_OK) {
		added_cut(t, f, true);
		chain_flow(&t->pretokenizers, f);
	}
	if (f->failed.status != STATUS_OK)
		return error_set(err, f->failed.status, "%s", f->failed.text);
	const uint32_t *characters = count_characters(t, text, nbytes);
	const char *kept = NULL; // of f->text: tokens that take the blanks behind them may all have the same ones
	*out = (struct encoding){ ARENA_ARRAY(a, room, struct token), 0, NULL, 0 };
	t->tokens.read = nbytes;
	t->tokens.looked = 0;
	t->tokens.most = most;
	for (size_t i = 0; i < f->count; i++) {
		const struct piece *p = &f->pieces[i];
		const char *bytes = f->text + p->at;
		const struct span *align = f->align + p->at;

		t->tokens.count = 0;
		if (p->is_token)
			*model_add(&t->tokens) = (struct model_token){ p->id, 0, p->nbytes, { NULL, 0 } };
		else if ((s = p->nbytes ? model_tokenize(&t->model, bytes, p->nbytes, &t->tokens, err) : STATUS_OK))
			return s;
		if (t->tokens.count > most - out->count)
			return model_too_many(most, err);
		for (size_t k = 0; k < t->tokens.count; k++) {
			const struct model_token *m = &t->tokens.items[k];
			struct token one = { .id = m->id, .type = type, .begin = m->begin, .end = m->end };
			if (m->begin == m->end) {
				one.begin = one.end = p->begin + m->begin;
			} else if (m->begin < m->end && m->end <= p->nbytes) {
				one.begin = align[m->begin].begin;
				one.end = align[m->end - 1].end;
			}
			to_characters(characters, nbytes, &one.begin, &one.end);
			if (!m->text.s && !kept)
				kept = slice_copy(a, (struct slice){ f->text, f->used }).s;
			one.text = m->text.s ? m->text.s : kept + p->at + m->begin;
			one.nbytes = m->text.s ? (uint32_t)m->text.n : m->end - m->begin;
			encoding_push(out, a, &room, one);
		}
	}
	return s;
}

static enum status encode_one(struct tokenizer *t, struct arena *a, const struct token_text *in, bool add_special,
	const struct truncation *cut, struct encoding *out, struct error *err)
{
	struct encoding both[2] = { 0 };
	struct parts p = { a, both, in->pair ? 2 : 1, add_special };
	size_t most = in->most ? in->most : SIZE_MAX;
	enum status s = encode_text(t, a, in->text, in->nbytes, 0, most, &both[0], err);

	if (s == STATUS_OK && in->pair)
		s = encode_text(t, a, in->pair, in->pair_nbytes, 1, most, &both[1], err);
	if (s == STATUS_OK && cut) {
		size_t adds = add_special ? post_adds(&t->posts, in->pair) : 0;
		if (adds > cut->max_length)
			return error_set(
				err, STATUS_BAD_INPUT, "a length of %zu, and %zu tokens are added", cut->max_length, adds);
		s = truncate_pair(&both[0], in->pair ? &both[1] : NULL, a, cut->max_length - adds, cut, err);
	}
	return s ? s : post_process(&t->posts, &p, out, err);
}

enum status tokenizer_encode_batch(struct tokenizer *t, struct arena *a, const struct token_text *in, size_t count,
	bool add_special, const struct truncation *cut, const struct padding *pad, struct encoding *out, struct error *err)
{
	enum status s = STATUS_OK;

	for (size_t i = 0; i < count && s == STATUS_OK; i++)
		s = encode_one(t, a, &in[i], add_special, cut, &out[i], err);
	if (s == STATUS_OK && pad)
		s = pad_all(out, count, a, pad, err);
	return s;
}

enum status tokenizer_encode(struct tokenizer *t, struct arena *a, const struct token_text *in, bool add_special,
	struct encoding *out, struct error *err)
{
	return tokenizer_encode_batch(
		t, a, in, 1, add_special, t->cuts ? &t->truncation : NULL, t->pads ? &t->padding : NULL, out, err);
}

// ---- the vocabulary -------------------------------------------------------------------------------------------------------

size_t tokenizer_size(const struct tokenizer *t)
{
	size_t n = t->model.vocab.count;

	for (size_t i = 0; i < t->added.count; i++)
		n += vocab_find(&t->model.vocab, t->added.items[i].content.s, t->added.items[i].content.n) == VOCAB_NONE;
	return n;
}

const char *tokenizer_token(const struct tokenizer *t, uint32_t id, size_t *nbytes)
{
	const struct added *one = added_at_id(&t->added, id);

	if (one) {
		*nbytes = one->normal.n;
		return one->normal.s;
	}
	uint32_t entry = vocab_at_id(&t->model.vocab, id);
	if (entry == VOCAB_NONE)
		return NULL;
	*nbytes = t->model.vocab.entries[entry].nbytes;
	return *nbytes ? vocab_text(&t->model.vocab, entry) : "";
}

bool tokenizer_continues(const struct tokenizer *t)
{
	return t->model.prefix.n > 0;
}

bool tokenizer_merges(const struct tokenizer *t)
{
	return t->model.kind == MODEL_BPE;
}

bool tokenizer_id(const struct tokenizer *t, const char *token, size_t nbytes, uint32_t *id)
{
	const struct added *one = t->added.count ? added_find(&t->added, token, nbytes) : NULL;
	uint32_t entry = one ? VOCAB_NONE : vocab_find(&t->model.vocab, token, nbytes);

	if (!one && entry == VOCAB_NONE)
		return false;
	*id = one ? one->id : t->model.vocab.entries[entry].id;
	return true;
}
