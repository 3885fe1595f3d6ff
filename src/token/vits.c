// SPDX-License-Identifier: Apache-2.0
// VitsTokenizer: a text to characters with a blank around each. What transformers 5 does (tokenization_vits.py, and the cuts at
// special tokens of tokenization_python.py), in its order: letters that no token of the vocabulary has are made small, what is no
// token is left out, special tokens are cut out, and each run of characters between them gets the token of id 0 before, between
// and behind its characters.
#include "token/inside.h"
#include "token/unicode.h"

static bool at_text(const char *s, size_t n, const char *text, size_t nbytes)
{
	return nbytes && nbytes <= n && !memcmp(s, text, nbytes);
}

// How many bytes at the beginning of s are a token, the first one that there is in the vocabulary's order; 0: none.
static size_t token_at(const struct vocab *v, const char *s, size_t n)
{
	for (size_t i = 0; i < v->count; i++)
		if (at_text(s, n, vocab_text(v, (uint32_t)i), v->entries[i].nbytes))
			return v->entries[i].nbytes;
	return 0;
}

// As str.strip() of Python.
static bool is_blank(uint32_t code)
{
	return unicode_is(code, UNICODE_SPACE) || (code >= 0x1C && code <= 0x1F);
}

// Is the character by itself a token of vocab.json?
static bool is_character(const struct vits_rules *r, uint32_t code)
{
	char utf8[4];

	return vocab_find(r->vocab, utf8, utf8_put(utf8, code)) < r->characters;
}

struct writing {
	struct change *c;
	const struct vits_rules *r;
	size_t begin, end; // in flow.text: what was written, without blanks at its end
};

static void put_letter(struct writing *w, uint32_t code, size_t at)
{
	const struct vits_rules *r = w->r;
	struct flow *f = w->c->f;
	char utf8[4];

	if (r->romanian && code == 0x21B) // t with a comma is written with a cedilla
		code = 0x163;
	if (r->romanizes && code > 0x7F)
		flow_fail(
			f, "the tokenizer reads other letters than ASCII's as uroman writes them (is_uroman): not supported yet");
	if (r->normalizes && (!is_character(r, code) || (is_blank(code) && f->used == w->begin)))
		return;
	flow_put_at(w->c, utf8, utf8_put(utf8, code), w->c->align[at]);
	if (!is_blank(code))
		w->end = f->used;
}

static void normalize_piece(struct change *c, void *own)
{
	const struct vits_rules *r = own;
	uint32_t lower[UNICODE_MOST];
	size_t length, kept = 0; // bytes before `kept` are a token's

	flow_whole(c);
	struct writing w = { c, r, c->f->used, c->f->used };
	for (size_t at = 0; at < c->nbytes; at += length) {
		lower[0] = utf8_next(c->text + at, &length);
		size_t n = 1;

		if (r->normalizes && kept <= at)
			kept = at + token_at(r->vocab, c->text + at, c->nbytes - at);
		if (r->normalizes && kept <= at)
			n = unicode_to_lower(lower[0], lower);
		for (size_t i = 0; i < n; i++)
			put_letter(&w, lower[i], at);
	}
	if (r->normalizes)
		c->f->used = w.end;
}

static void normalize(struct flow *f, const void *own)
{
	flow_each(f, normalize_piece, (void *)(uintptr_t)own);
}

// ---- taking apart -----------------------------------------------------------------------------------------------------------

// The token of id 0, of no character.
static void add_blank(struct flow *f, const struct piece *p, size_t at)
{
	flow_piece(f, p, at, at + 1);
	struct piece *blank = &f->pieces[f->count - 1];
	blank->nbytes = 0;
	blank->end = blank->begin;
	blank->id = 0;
	blank->is_token = true;
}

// The longest special token at the beginning of s; 0: none.
static size_t special_at(const struct vits_rules *r, const char *s, size_t n)
{
	size_t best = 0;

	for (size_t i = 0; i < r->special_count; i++)
		if (r->specials[i].n > best && at_text(s, n, r->specials[i].s, r->specials[i].n))
			best = r->specials[i].n;
	return best;
}

static void cut(struct flow *f, const struct piece *p, void *own)
{
	const struct vits_rules *r = own;
	const char *s = f->text + p->at;
	bool in_run = false;
	size_t length;

	for (size_t at = 0; at < p->nbytes; at += length) {
		size_t special = special_at(r, s + at, p->nbytes - at);

		length = special ? special : utf8_length(s[at]);
		if (!special && !in_run && r->blanks)
			add_blank(f, p, at);
		flow_piece(f, p, at, at + length);
		in_run = !special;
		if (in_run && r->blanks)
			add_blank(f, p, at);
	}
}

static void take_apart(struct flow *f, const void *own)
{
	flow_cut(f, cut, (void *)(uintptr_t)own);
}

// Of several tokens each second one; of one, itself.
static void decode(struct strings *t, const void *own)
{
	const struct vits_rules *r = own;
	size_t step = r->blanks && t->count > 1 ? 2 : 1, count = 0;

	for (size_t i = step - 1; i < t->count; i += step)
		t->items[count++] = t->items[i];
	t->count = count;
}

static const struct step_kind normalizer = { "vits", .flow = normalize }, pretokenizer = { "vits", .flow = take_apart },
			      decoder = { "vits", .decode = decode };

static void one_step(struct chain *c, struct arena *a, const struct step_kind *kind, struct vits_rules *r)
{
	c->steps = ARENA_NEW(a, struct step);
	c->steps[0] = (struct step){ kind, r };
	c->count = 1;
}

enum status vits_ready(struct tokenizer *t, const struct vits_rules *rules, struct error *err)
{
	struct vits_rules *r = ARENA_NEW(t->a, struct vits_rules);
	struct vocab *v = &t->model.vocab;
	enum status s = STATUS_OK;

	*r = *rules;
	r->vocab = v;
	r->characters = (uint32_t)v->count;
	if (v->count > VITS_TOKENS_MOST)
		return error_set(err, STATUS_UNSUPPORTED, "VitsTokenizer: a vocabulary of %zu characters, and %d are supported",
			v->count, VITS_TOKENS_MOST);
	if (r->blanks && vocab_at_id(v, 0) == VOCAB_NONE)
		return error_set(err, STATUS_BAD_INPUT, "VitsTokenizer: add_blank, and no token has the id 0");
	for (size_t i = 0; i < r->special_count && !s; i++)
		if (vocab_find(v, r->specials[i].s, r->specials[i].n) == VOCAB_NONE &&
			!(s = vocab_add(v, r->specials[i].s, r->specials[i].n, (uint32_t)v->count, err)))
			s = vocab_index(v, err);
	if (s)
		return s;
	t->model.kind = MODEL_WORDLEVEL;
	t->model.unk = r->specials[0];
	t->model.unk_entry = vocab_find(v, t->model.unk.s, t->model.unk.n);
	t->next_added = (uint32_t)v->count;
	one_step(&t->normalizers, t->a, &normalizer, r);
	one_step(&t->pretokenizers, t->a, &pretokenizer, r);
	one_step(&t->decoders, t->a, &decoder, r);
	return STATUS_OK;
}
