// SPDX-License-Identifier: Apache-2.0
// Unigram: the way through a text whose pieces' scores have the largest sum (Viterbi); a character that no piece begins with
// alone is unknown, at the least score less 10. Unknown neighbours are one piece.
#include <math.h>
#include <stdlib.h>

#include "token/grown.h"
#include "token/inside.h"
#include "token/unicode.h"

// ---- the trie -------------------------------------------------------------------------------------------------------------

// A node's children lie side by side, their labels in order. A node with one entry alone is a leaf: the rest of its text is
// compared.
struct trie_node {
	uint32_t first, count; // children; while it is built: entries of the order
	uint32_t entry;        // that ends here, or of a leaf; VOCAB_NONE
	uint32_t depth;
};
struct trie {
	struct trie_node *nodes;
	uint8_t *labels;
	size_t count, room;
	uint32_t from[256]; // the root's child; 0: none
};
enum { TRIE_MOST = 1 << 24 };

struct sorted {
	uint64_t key; // the first 8 bytes
	uint32_t entry;
};

static const struct vocab *sorting; // qsort has no context

static int by_text(const void *a, const void *b)
{
	const struct vocab_entry *x = &sorting->entries[((const struct sorted *)a)->entry],
				 *y = &sorting->entries[((const struct sorted *)b)->entry];
	size_t n = x->nbytes < y->nbytes ? x->nbytes : y->nbytes;
	int order = memcmp(sorting->bytes + x->at, sorting->bytes + y->at, n);

	return order ? order : x->nbytes < y->nbytes ? -1 : x->nbytes > y->nbytes;
}

// By the first 8 bytes in four passes of a radix sort; what is equal there by comparison.
static struct sorted *sort_entries(const struct vocab *v, size_t *count)
{
	struct sorted *from = grown(NULL, v->count + 1, sizeof *from), *to = grown(NULL, v->count + 1, sizeof *to);
	size_t n = 0, *places = grown(NULL, 1 << 16, sizeof *places);

	for (size_t i = 0; i < v->count; i++) {
		const struct vocab_entry *e = &v->entries[i];
		uint64_t key = 0;
		if (isnan(v->scores[i])) // not to be found in a text
			continue;
		if (!e->nbytes ||
			(v->has_repeated &&
				vocab_find(v, v->bytes + e->at, e->nbytes) != i)) // of a text that comes twice the last counts
			continue;
		for (uint32_t k = 0; k < 8; k++)
			key = key << 8 | (k < e->nbytes ? (unsigned char)v->bytes[e->at + k] : 0);
		from[n++] = (struct sorted){ key, (uint32_t)i };
	}
	for (int shift = 0; shift < 64; shift += 16) {
		size_t sum = 0;
		memset(places, 0, (1 << 16) * sizeof *places);
		for (size_t i = 0; i < n; i++)
			places[from[i].key >> shift & 0xFFFF]++;
		for (size_t k = 0; k < 1 << 16; k++) {
			size_t here = places[k];
			places[k] = sum;
			sum += here;
		}
		for (size_t i = 0; i < n; i++)
			to[places[from[i].key >> shift & 0xFFFF]++] = from[i];
		struct sorted *other = from;
		from = to;
		to = other;
	}
	sorting = v;
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && from[end].key == from[i].key; end++)
			;
		if (end - i > 1)
			qsort(from + i, end - i, sizeof *from, by_text);
	}
	free(to);
	free(places);
	*count = n;
	return from;
}

static enum status build_trie(struct trie *t, const struct vocab *v, struct error *err)
{
	size_t n;
	struct sorted *order = sort_entries(v, &n);
	enum status status = STATUS_OK;

	t->room = 2 * n + 16;
	t->nodes = grown(NULL, t->room, sizeof *t->nodes);
	t->labels = grown(NULL, t->room, 1);
	t->nodes[t->count++] = (struct trie_node){ 0, (uint32_t)n, VOCAB_NONE, 0 };
	for (size_t i = 0; i < t->count && status == STATUS_OK; i++) {
		struct trie_node node = t->nodes[i];
		size_t at = node.first, end = node.first + node.count;

		t->nodes[i].first = (uint32_t)t->count;
		t->nodes[i].count = 0;
		if (i && end - at == 1) {
			t->nodes[i].entry = order[at].entry;
			continue;
		}
		if (at < end && v->entries[order[at].entry].nbytes == node.depth)
			t->nodes[i].entry = order[at++].entry;
		while (at < end) {
			unsigned char label = (unsigned char)v->bytes[v->entries[order[at].entry].at + node.depth];
			size_t next = at + 1;
			while (next < end && (unsigned char)v->bytes[v->entries[order[next].entry].at + node.depth] == label)
				next++;
			if (t->count == t->room) {
				t->room *= 2;
				t->nodes = grown(t->nodes, t->room, sizeof *t->nodes);
				t->labels = grown(t->labels, t->room, 1);
			}
			if (t->count == TRIE_MOST) {
				status = error_set(err, STATUS_BAD_INPUT, "a vocabulary whose tokens share too much text");
				break;
			}
			t->labels[t->count] = label;
			t->nodes[t->count++] =
				(struct trie_node){ (uint32_t)at, (uint32_t)(next - at), VOCAB_NONE, node.depth + 1 };
			t->nodes[i].count++;
			at = next;
		}
	}
	for (uint32_t k = 0; status == STATUS_OK && k < t->nodes[0].count; k++)
		t->from[t->labels[t->nodes[0].first + k]] = t->nodes[0].first + k;
	free(order);
	return status;
}

static uint32_t child(const struct trie *t, uint32_t node, unsigned char label)
{
	if (!node)
		return t->from[label];
	const struct trie_node *p = &t->nodes[node];
	const uint8_t *at = p->count ? memchr(t->labels + p->first, label, p->count) : NULL;
	return at ? (uint32_t)(at - t->labels) : 0;
}

enum status unigram_ready(struct model *m, struct error *err)
{
	m->least_score = __builtin_inf();
	for (size_t i = 0; i < m->vocab.count; i++)
		if (m->vocab.scores[i] < m->least_score)
			m->least_score = m->vocab.scores[i];
	m->trie = calloc(1, sizeof *m->trie);
	if (!m->trie)
		out_of_memory(sizeof *m->trie);
	return build_trie(m->trie, &m->vocab, err);
}

void unigram_done(struct model *m)
{
	if (m->trie) {
		free(m->trie->nodes);
		free(m->trie->labels);
	}
	free(m->trie);
	free(m->best);
}

// ---- the best way ---------------------------------------------------------------------------------------------------------

struct best { // of what ends here
	double score;
	uint32_t begin; // UINT32_MAX: nothing does
	uint32_t entry;
};

static void offer(const struct model *m, struct best *b, double score, uint32_t begin, uint32_t entry)
{
	if (m->as_sentencepiece)
		score = (float)score;
	if (b->begin == UINT32_MAX || score > b->score)
		*b = (struct best){ score, begin, entry };
}

static bool offer_pieces(struct model *m, const char *s, size_t nbytes, size_t at, size_t length, struct model_tokens *out)
{
	const struct vocab *v = &m->vocab;
	double here = m->best[at].score;
	bool single = false;
	uint32_t node = 0;

	for (size_t i = at; i < nbytes; out->looked++) {
		node = child(m->trie, node, (unsigned char)s[i++]);
		if (!node)
			break;
		const struct trie_node *p = &m->trie->nodes[node];
		if (p->entry == VOCAB_NONE)
			continue;
		size_t n = v->entries[p->entry].nbytes;
		if (!p->count) { // a leaf: its text goes on
			if (n > nbytes - at || memcmp(v->bytes + v->entries[p->entry].at + (i - at), s + i, n - (i - at)) != 0)
				break;
			i = at + n;
		}
		offer(m, &m->best[i], m->vocab.scores[p->entry] + here, (uint32_t)at, p->entry);
		single |= n == length;
		if (!p->count)
			break;
	}
	return single;
}

static void add_piece(struct model *m, const char *s, uint32_t begin, uint32_t end, struct model_tokens *out)
{
	const struct vocab *v = &m->vocab;
	uint32_t entry = vocab_find(v, s + begin, end - begin);

	if (entry != VOCAB_NONE && !isnan(v->scores[entry])) {
		*model_add(out) = (struct model_token){ v->entries[entry].id, begin, end,
			{ vocab_text(v, entry), v->entries[entry].nbytes } };
		return;
	}
	bool bytes = m->byte_fallback;
	for (uint32_t i = begin; bytes && i < end; i++)
		bytes = m->byte_entry[(unsigned char)s[i]] != VOCAB_NONE;
	for (uint32_t i = begin; bytes && i < end; i++) {
		entry = m->byte_entry[(unsigned char)s[i]];
		*model_add(out) = (struct model_token){ v->entries[entry].id, begin, end,
			{ vocab_text(v, entry), v->entries[entry].nbytes } };
	}
	if (!bytes)
		*model_add(out) = (struct model_token){ v->entries[m->unk_entry].id, begin, end,
			m->as_sentencepiece ? m->unk : (struct slice){ NULL, 0 } };
}

enum status unigram_tokenize(struct model *m, const char *s, size_t nbytes, struct model_tokens *out, struct error *err)
{
	size_t length, first = out->count;

	if (nbytes + 1 > m->best_room) {
		m->best_room = nbytes * 2 + 256;
		m->best = grown(m->best, m->best_room, sizeof *m->best);
	}
	for (size_t i = 0; i <= nbytes; i++)
		m->best[i] = (struct best){ 0, UINT32_MAX, 0 };
	for (size_t at = 0; at < nbytes; at += length) {
		length = utf8_length(s[at]);
		enum status st = model_looked(out, err);
		if (st)
			return st;
		if (offer_pieces(m, s, nbytes, at, length, out))
			continue;
		if (m->unk_entry == VOCAB_NONE)
			return error_set(
				err, STATUS_BAD_INPUT, "a character that is not known, and a model without an unknown token");
		offer(m, &m->best[at + length], m->least_score - 10 + m->best[at].score, (uint32_t)at, m->unk_entry);
	}
	// From the end to the beginning; unknown neighbours joined. Then the other way round.
	uint32_t end = (uint32_t)nbytes, joined = 0;
	bool joins = false;
	while (end > 0) {
		uint32_t begin = m->best[end].begin;
		if (m->best[end].entry == m->unk_entry) {
			joined = joins ? joined : end;
			joins = true;
		} else {
			if (joins)
				*model_add(out) = (struct model_token){ .begin = end, .end = joined };
			joins = false;
			*model_add(out) = (struct model_token){ .begin = begin, .end = end };
		}
		end = begin;
	}
	if (joins)
		*model_add(out) = (struct model_token){ .begin = 0, .end = joined };
	size_t last = out->count;
	for (size_t i = last; i-- > first;) {
		struct model_token piece = out->items[i];
		add_piece(m, s, piece.begin, piece.end, out);
	}
	memmove(out->items + first, out->items + last, (out->count - last) * sizeof *out->items);
	out->count -= last - first;
	return STATUS_OK;
}
