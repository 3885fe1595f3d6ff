// SPDX-License-Identifier: Apache-2.0
// Added tokens: texts that are tokens wherever they stand. Those that are not normalized are looked for in the text as it came,
// the others behind the normalizer, in their own normalized form. The leftmost and of these the longest counts.
#include <stdlib.h>

#include "base/clock.h"
#include "token/grown.h"
#include "token/inside.h"
#include "token/unicode.h"

// A file has some hundred, at most thousands of short ones. A tree is made of their bytes, of 16 bytes for each.
enum { ADDED_MOST = 1 << 20, CONTENT_MOST = 1 << 12, ALL_MOST = 2 << 20, NORMALIZING_MS_MOST = 300 };

struct added_node {
	uint32_t sibling, child; // 0: none
	uint32_t place;          // 1 + that of the token that ends here
	uint8_t label;
};

void added_done(struct added_tokens *d)
{
	free(d->items);
	free(d->slots);
	free(d->by_id);
	free(d->raw.nodes);
	free(d->normal.nodes);
	*d = (struct added_tokens){ 0 };
}

// ---- the list -------------------------------------------------------------------------------------------------------------

static uint32_t *slot_of(const struct added_tokens *d, const char *s, size_t n)
{
	size_t mask = d->slot_count - 1, k = vocab_mix(vocab_hash(VOCAB_HASH_START, s, n)) & mask;

	for (; d->slots[k]; k = (k + 1) & mask) {
		const struct slice *c = &d->items[d->slots[k] - 1].content;
		if (c->n == n && !memcmp(c->s, s, n))
			break;
	}
	return &d->slots[k];
}

static void grow(struct added_tokens *d)
{
	if (d->count == d->room) {
		d->room = d->room * 2 + 64;
		d->items = grown(d->items, d->room, sizeof *d->items);
	}
	if ((d->count + 1) * 2 <= d->slot_count)
		return;
	free(d->slots);
	d->slot_count = d->slot_count ? d->slot_count * 2 : 128;
	d->slots = calloc(d->slot_count, sizeof *d->slots);
	if (!d->slots)
		out_of_memory(d->slot_count * sizeof *d->slots);
	for (size_t i = 0; i < d->count; i++)
		*slot_of(d, d->items[i].content.s, d->items[i].content.n) = (uint32_t)i + 1;
}

const struct added *added_find(const struct added_tokens *d, const char *s, size_t nbytes)
{
	uint32_t place = d->slot_count ? *slot_of(d, s, nbytes) : 0;

	return place ? &d->items[place - 1] : NULL;
}

const struct added *added_at_id(const struct added_tokens *d, uint32_t id)
{
	return id < d->id_count && d->by_id[id] ? &d->items[d->by_id[id] - 1] : NULL;
}

bool added_is_special(const struct added_tokens *d, struct slice text)
{
	const struct added *one = d->count ? added_find(d, text.s, text.n) : NULL;

	return one && one->special;
}

// The text as the normalizers have it, in the tokenizer's arena.
static enum status normal_form(struct tokenizer *t, struct slice s, struct slice *out, struct error *err)
{
	struct flow *f = &t->flow;
	struct text all = { 0 };
	double begun = clock_thread_ms();

	flow_start(f, s.s, s.n);
	chain_flow(&t->normalizers, f);
	t->added.normalizing_ms += clock_thread_ms() - begun;
	if (t->added.normalizing_ms > NORMALIZING_MS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "the normalizer takes too long on the added tokens");
	if (f->failed.status != STATUS_OK)
		return error_set(err, f->failed.status, "the added token \"%.100s\": %s", s.s, f->failed.text);
	for (size_t i = 0; i < f->count; i++)
		text_add_bytes(&all, f->text + f->pieces[i].at, f->pieces[i].nbytes);
	*out = slice_copy(t->a, (struct slice){ text_get(&all), all.length });
	text_done(&all);
	return STATUS_OK;
}

enum status added_add(struct tokenizer *t, const struct added *one, struct error *err)
{
	struct added_tokens *d = &t->added;
	struct added token = *one;
	uint32_t entry;

	if (!token.content.n)
		return STATUS_OK;
	if (d->count == ADDED_MOST || token.content.n > CONTENT_MOST)
		return error_set(err, STATUS_BAD_INPUT, "more than %d added tokens, or one longer than %d bytes", ADDED_MOST,
			CONTENT_MOST);
	grow(d);
	uint32_t *slot = slot_of(d, token.content.s, token.content.n);
	struct added *old = *slot ? &d->items[*slot - 1] : NULL;
	if (old)
		token.id = old->id;
	else if ((entry = vocab_find(&t->model.vocab, token.content.s, token.content.n)) != VOCAB_NONE)
		token.id = t->model.vocab.entries[entry].id;
	else
		token.id = t->next_added++;
	if (token.id > 8u * VOCAB_MOST)
		return error_set(err, STATUS_BAD_INPUT, "an added token of id %u", token.id);
	token.normal = token.content;
	if (token.normalized && t->normalizers.count) {
		enum status s = normal_form(t, token.content, &token.normal, err);
		if (s != STATUS_OK)
			return s;
	}
	if ((d->nbytes += token.normal.n) > ALL_MOST)
		return error_set(err, STATUS_BAD_INPUT, "more than %d MiB of added tokens", ALL_MOST >> 20);
	if (token.id >= d->id_count) {
		size_t count = (size_t)token.id + 1 + d->id_count / 2;
		d->by_id = grown(d->by_id, count, sizeof *d->by_id);
		memset(d->by_id + d->id_count, 0, (count - d->id_count) * sizeof *d->by_id);
		d->id_count = count;
	}
	if (old) {
		token.special |= old->special; // what was special once stays so
		*old = token;
		return STATUS_OK;
	}
	if (d->by_id[token.id])
		d->items[d->by_id[token.id] - 1].replaced = true;
	d->items[d->count] = token;
	*slot = (uint32_t)++d->count;
	d->by_id[token.id] = (uint32_t)d->count;
	return STATUS_OK;
}

// ---- where they stand -----------------------------------------------------------------------------------------------------

static uint32_t new_node(struct added_set *s, uint8_t label)
{
	if (s->count == s->room) {
		s->room = s->room * 2 + 256;
		s->nodes = grown(s->nodes, s->room, sizeof *s->nodes);
	}
	s->nodes[s->count] = (struct added_node){ .label = label };
	return (uint32_t)s->count++;
}

static void set_add(struct added_set *s, struct slice text, uint32_t place)
{
	if (!s->count)
		new_node(s, 0);
	uint32_t at = s->first[(unsigned char)text.s[0]];
	if (!at)
		at = s->first[(unsigned char)text.s[0]] = new_node(s, (uint8_t)text.s[0]);
	for (size_t i = 1; i < text.n; i++) {
		uint32_t next = s->nodes[at].child;
		while (next && s->nodes[next].label != (uint8_t)text.s[i])
			next = s->nodes[next].sibling;
		if (!next) {
			next = new_node(s, (uint8_t)text.s[i]);
			s->nodes[next].sibling = s->nodes[at].child;
			s->nodes[at].child = next;
		}
		at = next;
	}
	s->nodes[at].place = place + 1;
}

void added_ready(struct tokenizer *t)
{
	struct added_tokens *d = &t->added;

	for (size_t i = 0; i < d->count; i++) {
		const struct added *one = &d->items[i];

		if (one->replaced || !one->normal.n)
			continue;
		set_add(one->normalized ? &d->normal : &d->raw, one->normal, (uint32_t)i);
	}
}

enum status tokenizer_add_special(struct tokenizer *t, const char *const *texts, size_t count, struct error *err)
{
	bool any = false;
	enum status s = STATUS_OK;

	for (size_t i = 0; i < count && !s; i++) {
		const struct added one = { .content = { texts[i], strlen(texts[i]) }, .special = true };

		if (t->added.count && added_find(&t->added, one.content.s, one.content.n))
			continue;
		any = true;
		s = added_add(t, &one, err);
	}
	if (!s && any)
		added_ready(t);
	return s;
}

// The longest token at the beginning of s; 0: none, else 1 + place.
static uint32_t longest(const struct added_set *set, const char *s, size_t nbytes, size_t *length)
{
	uint32_t at = set->first[(unsigned char)s[0]], best = 0;

	for (size_t i = 1; at; i++) {
		const struct added_node *node = &set->nodes[at];
		if (node->place) {
			best = node->place;
			*length = i;
		}
		if (i == nbytes)
			break;
		for (at = node->child; at && set->nodes[at].label != (uint8_t)s[i];)
			at = set->nodes[at].sibling;
	}
	return best;
}

static bool word_before(const char *s, size_t at)
{
	size_t length;

	return at && unicode_is(utf8_last(s, s + at, &length), UNICODE_WORD);
}

static bool word_behind(const char *s, size_t at, size_t nbytes)
{
	size_t length;

	return at < nbytes && unicode_is(utf8_next(s + at, &length), UNICODE_WORD);
}

struct cut {
	const struct added_tokens *d;
	const struct added_set *set;
};

static void cut_piece(struct flow *f, const struct piece *p, void *context)
{
	const struct cut *c = context;
	const char *s = f->text + p->at;
	size_t n = p->nbytes, done = 0, length = 0, step;

	for (size_t i = 0; c->set->count && i < n; i += length) {
		uint32_t place = longest(c->set, s + i, n - i, &length);
		size_t begin = i, end = i + length;

		if (!place) {
			length = 1;
			continue;
		}
		const struct added *one = &c->d->items[place - 1];
		if (one->single_word && (word_before(s, begin) || word_behind(s, end, n)))
			continue;
		if (one->lstrip) {
			while (begin > 0 && unicode_is(utf8_last(s, s + begin, &step), UNICODE_SPACE))
				begin -= step;
			begin = begin < done ? done : begin;
		}
		if (one->rstrip)
			while (end < n && unicode_is(utf8_next(s + end, &step), UNICODE_SPACE))
				end += step;
		flow_piece(f, p, done, begin);
		if (begin < end) { // else a token before it has taken its blanks
			flow_piece(f, p, begin, end);
			f->pieces[f->count - 1].is_token = true;
			f->pieces[f->count - 1].id = one->id;
		}
		done = end;
	}
	flow_piece(f, p, done, n);
}

void added_cut(struct tokenizer *t, struct flow *f, bool normalized)
{
	const struct added_set *set = normalized ? &t->added.normal : &t->added.raw;

	// Without any, too: what a piece is of the text as it came is looked at again, as the library does here.
	flow_cut(f, cut_piece, &(struct cut){ &t->added, set });
}
