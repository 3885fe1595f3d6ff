// SPDX-License-Identifier: Apache-2.0
// Added tokens: texts that are tokens wherever they stand. Those that are not normalized are looked for in the text as it came,
// the others behind the normalizer, in their own normalized form. The leftmost and of these the longest counts.
#include <stdlib.h>

#include "base/clock.h"
#include "token/grown.h"
#include "token/inside.h"
#include "token/unicode.h"

// A file has some hundred, at most thousands of short ones. A tree is made of their bytes, of 17 bytes for each.
enum { ADDED_MOST = 1 << 20, CONTENT_MOST = 1 << 12, ALL_MOST = 2 << 20, NORMALIZING_MS_MOST = 300 };

// Tokens are looked for from a text's end (Aho, Corasick 1975, with text and tokens turned round): so it is known of each place
// which is the longest one that begins there, in time that is linear however much of a token stands in a text again and again.
// A node's children lie side by side, their labels in order.
struct added_node {
	uint32_t first, count; // children; while it is built: tokens of the order
	uint32_t back;         // the node where reading goes on that has no child for the next byte: that of as much as can be
	uint32_t place;        // 1 + that of the longest token that begins where this was read to; 0: none
};

static void set_done(struct added_set *s)
{
	free(s->nodes);
	free(s->labels);
	*s = (struct added_set){ 0 };
}

void added_done(struct added_tokens *d)
{
	free(d->items);
	free(d->slots);
	free(d->by_id);
	free(d->hits);
	set_done(&d->raw);
	set_done(&d->normal);
	*d = (struct added_tokens){ 0 };
}

// ---- the list -------------------------------------------------------------------------------------------------------------

static uint32_t *slot_of(const struct added_tokens *d, const char *s, size_t n)
{
	size_t mask = d->slot_count - 1, k = table_place_of(table_hash(TABLE_HASH_START, s, n)) & mask;

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

struct turned { // a token, by its text from the end
	const char *s;
	uint32_t n, place;
};

static int by_turned(const void *a, const void *b)
{
	const struct turned *x = a, *y = b;

	for (uint32_t i = 1; i <= x->n && i <= y->n; i++)
		if (x->s[x->n - i] != y->s[y->n - i])
			return (unsigned char)x->s[x->n - i] < (unsigned char)y->s[y->n - i] ? -1 : 1;
	return x->n != y->n ? (x->n < y->n ? -1 : 1) : x->place < y->place ? -1 : x->place > y->place;
}

static uint32_t child(const struct added_set *s, uint32_t node, unsigned char label)
{
	if (!node)
		return s->from[label];
	const struct added_node *p = &s->nodes[node];
	const uint8_t *at = p->count ? memchr(s->labels + p->first, label, p->count) : NULL;
	return at ? (uint32_t)(at - s->labels) : 0;
}

// The node behind one more byte, towards the text's beginning.
static uint32_t go_on(const struct added_set *s, uint32_t node, unsigned char label)
{
	uint32_t next;

	while (!(next = child(s, node, label)) && node)
		node = s->nodes[node].back;
	return next;
}

static void set_build(struct added_set *s, const struct added_tokens *d, bool normalized)
{
	struct turned *order = grown(NULL, d->count + 1, sizeof *order);
	size_t n = 0, nbytes = 0, depth = 0, level = 1; // level: where the nodes of the next depth begin

	for (size_t i = 0; i < d->count; i++) {
		const struct added *one = &d->items[i];
		if (one->replaced || !one->normal.n || one->normalized != normalized)
			continue;
		order[n++] = (struct turned){ one->normal.s, (uint32_t)one->normal.n, (uint32_t)i };
		nbytes += one->normal.n;
	}
	set_done(s);
	qsort(order, n, sizeof *order, by_turned);
	s->nodes = n ? grown(NULL, nbytes + 1, sizeof *s->nodes) : NULL;
	s->labels = n ? grown(NULL, nbytes + 1, 1) : NULL;
	if (n)
		s->nodes[s->count++] = (struct added_node){ 0, (uint32_t)n, 0, 0 };
	for (size_t i = 0; i < s->count; i++) {
		struct added_node *node = &s->nodes[i];
		size_t at = node->first, end = node->first + node->count;

		if (i == level) {
			depth++;
			level = s->count;
		}
		*node = (struct added_node){ (uint32_t)s->count, 0, node->back, i ? s->nodes[node->back].place : 0 };
		for (; at < end && order[at].n == depth; at++) // of those of one text the last one counts
			node->place = order[at].place + 1;
		while (at < end) {
			unsigned char label = (unsigned char)order[at].s[order[at].n - 1 - depth];
			size_t next = at + 1;
			while (next < end && (unsigned char)order[next].s[order[next].n - 1 - depth] == label)
				next++;
			s->labels[s->count] = label;
			s->nodes[s->count] = (struct added_node){ (uint32_t)at, (uint32_t)(next - at),
				i ? go_on(s, node->back, label) : 0, 0 };
			if (!i)
				s->from[label] = (uint32_t)s->count;
			s->count++;
			node->count++;
			at = next;
		}
	}
	if (n) {
		s->nodes = grown(s->nodes, s->count, sizeof *s->nodes);
		s->labels = grown(s->labels, s->count, 1);
	}
	free(order);
}

void added_ready(struct tokenizer *t)
{
	set_build(&t->added.raw, &t->added, false);
	set_build(&t->added.normal, &t->added, true);
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

// Where tokens begin in s: how many places, in d->hits from the last to the first.
static size_t find_hits(struct added_tokens *d, const struct added_set *set, const char *s, size_t nbytes)
{
	size_t count = 0;
	uint32_t node = 0;

	for (size_t i = nbytes; set->count && i-- > 0;) {
		node = go_on(set, node, (unsigned char)s[i]);
		if (!node || !set->nodes[node].place)
			continue;
		if (count == d->hit_room) {
			d->hit_room = d->hit_room * 2 + 64;
			d->hits = grown(d->hits, d->hit_room, sizeof *d->hits);
		}
		d->hits[count++] = (struct added_hit){ (uint32_t)i, set->nodes[node].place - 1 };
	}
	return count;
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
	struct added_tokens *d;
	const struct added_set *set;
};

static void cut_piece(struct flow *f, const struct piece *p, void *context)
{
	const struct cut *c = context;
	const char *s = f->text + p->at;
	size_t n = p->nbytes, done = 0, behind = 0, step;
	size_t blanks = SIZE_MAX, blanks_end = 0; // the last ones that rstrip went over: a token within them takes the same

	for (size_t k = find_hits(c->d, c->set, s, n); k-- > 0;) {
		const struct added *one = &c->d->items[c->d->hits[k].place];
		size_t begin = c->d->hits[k].at, end = begin + one->normal.n;

		if (begin < behind) // within the token before
			continue;
		behind = end;
		if (one->single_word && (word_before(s, begin) || word_behind(s, end, n)))
			continue;
		if (one->lstrip) {
			while (begin > done && unicode_is(utf8_last(s, s + begin, &step), UNICODE_SPACE))
				begin -= step;
			begin = begin < done ? done : begin;
		}
		if (one->rstrip && end >= blanks && end <= blanks_end) {
			end = blanks_end;
		} else if (one->rstrip) {
			blanks = end;
			while (end < n && unicode_is(utf8_next(s + end, &step), UNICODE_SPACE))
				end += step;
			blanks_end = end;
		}
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
