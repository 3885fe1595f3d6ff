// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding: of all neighbours that a merge joins, the one of the lowest rank first, of these the leftmost. Short words
// look at every pair each time; long ones keep a heap.
#include <stdlib.h>

#include "token/grown.h"
#include "token/inside.h"
#include "token/unicode.h"

enum { CHARACTERS = 0x800, SHORT_WORD = 24 };

// ---- merges ---------------------------------------------------------------------------------------------------------------

static inline size_t merge_slot(const struct model *m, uint32_t left, uint32_t right)
{
	return table_place((uint64_t)left << 32 | right) & m->merge_mask;
}

static inline const struct merge *find_merge(const struct model *m, uint32_t left, uint32_t right)
{
	for (size_t k = merge_slot(m, left, right); m->merges[k].rank != UINT32_MAX; k = (k + 1) & m->merge_mask)
		if (m->merges[k].left == left && m->merges[k].right == right)
			return &m->merges[k];
	return NULL;
}

enum status bpe_prepare(struct model *m, size_t merges, struct error *err)
{
	size_t slots = 16;

	if (merges > VOCAB_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%zu merges", merges);
	while (slots < merges * 2)
		slots *= 2;
	m->merges = grown(NULL, slots, sizeof *m->merges);
	memset(m->merges, 0xFF, slots * sizeof *m->merges);
	m->merge_mask = slots - 1;
	return STATUS_OK;
}

static enum status not_in_vocabulary(struct slice s, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "a merge needs the token \"%.*s\", which the vocabulary has not",
		(int)(s.n < 100 ? s.n : 100), s.s);
}

// The entry of both texts as one. Most files have them in the order of the merges, so the one behind the last is looked at first.
static uint32_t find_joined(struct model *m, struct slice left, struct slice right)
{
	const struct vocab *v = &m->vocab;
	uint32_t next = m->last_made + 1;

	if (next < v->count && !v->has_repeated && v->entries[next].nbytes == left.n + right.n &&
		!memcmp(vocab_text(v, next), left.s, left.n) && !memcmp(vocab_text(v, next) + left.n, right.s, right.n))
		return m->last_made = next;
	uint64_t hash = table_hash(table_hash(TABLE_HASH_START, left.s, left.n), right.s, right.n);
	next = vocab_find_hashed(v, hash, left.s, left.n, right.s, right.n);
	if (next != VOCAB_NONE)
		m->last_made = next;
	return next;
}

void bpe_join(struct model *m, uint32_t left, uint32_t right, uint32_t made, uint32_t rank)
{
	size_t k = merge_slot(m, left, right);

	while (m->merges[k].rank != UINT32_MAX && (m->merges[k].left != left || m->merges[k].right != right))
		k = (k + 1) & m->merge_mask;
	m->merges[k] = (struct merge){ left, right, rank, made };
}

enum status bpe_merge(struct model *m, struct slice left, struct slice right, uint32_t rank, struct error *err)
{
	uint32_t a = vocab_find(&m->vocab, left.s, left.n), b = vocab_find(&m->vocab, right.s, right.n);

	if (a == VOCAB_NONE || b == VOCAB_NONE)
		return not_in_vocabulary(a == VOCAB_NONE ? left : right, err);
	if (right.n < m->prefix.n)
		return error_set(err, STATUS_BAD_INPUT, "a merge of a token that is shorter than the prefix of such tokens");
	struct slice rest = { right.s + m->prefix.n, right.n - m->prefix.n };
	uint32_t made = find_joined(m, left, rest);
	if (made == VOCAB_NONE)
		return not_in_vocabulary(left, err);
	bpe_join(m, m->vocab.entries[a].id, m->vocab.entries[b].id, m->vocab.entries[made].id, rank);
	return STATUS_OK;
}

// ---- words that were seen -------------------------------------------------------------------------------------------------

// Open addressing by the hash of the word; emptied when full.
enum {
	CACHE_SLOTS = 1 << 14,
	CACHE_WORDS = CACHE_SLOTS / 2,
	CACHE_LONGEST = 64,
	CACHE_BYTES = 1 << 20,
	CACHE_TOKENS = CACHE_BYTES / 4
};
struct cached {
	uint64_t hash;
	uint32_t text, nbytes; // in bytes; nbytes 0: empty
	uint32_t first, count; // in tokens
};
struct word_cache {
	struct cached slots[CACHE_SLOTS];
	char bytes[CACHE_BYTES];
	struct {
		uint32_t id, nbytes;
	} tokens[CACHE_TOKENS];
	size_t words, used, token_count;
};

static struct cached *cache_slot(struct word_cache *c, uint64_t hash, const char *s, size_t nbytes)
{
	size_t k = table_place_of(hash) & (CACHE_SLOTS - 1);

	for (; c->slots[k].nbytes; k = (k + 1) & (CACHE_SLOTS - 1))
		if (c->slots[k].hash == hash && c->slots[k].nbytes == nbytes && !memcmp(c->bytes + c->slots[k].text, s, nbytes))
			break;
	return &c->slots[k];
}

static void cache_put(
	struct word_cache *c, uint64_t hash, const char *s, size_t nbytes, const struct model_token *t, size_t count)
{
	if (count > CACHE_TOKENS)
		return;
	if (c->words == CACHE_WORDS || c->used + nbytes > CACHE_BYTES || c->token_count + count > CACHE_TOKENS) {
		memset(c->slots, 0, sizeof c->slots);
		c->words = c->used = c->token_count = 0;
	}
	struct cached *slot = cache_slot(c, hash, s, nbytes);
	*slot = (struct cached){ hash, (uint32_t)c->used, (uint32_t)nbytes, (uint32_t)c->token_count, (uint32_t)count };
	memcpy(c->bytes + c->used, s, nbytes);
	c->used += nbytes;
	c->words++;
	for (size_t i = 0; i < count; i++) {
		c->tokens[c->token_count].id = t[i].id;
		c->tokens[c->token_count++].nbytes = t[i].end - t[i].begin;
	}
}

void bpe_ready(struct model *m)
{
	char s[4];

	m->cache = calloc(1, sizeof *m->cache);
	m->character_entry = grown(NULL, CHARACTERS, sizeof *m->character_entry);
	if (!m->cache)
		out_of_memory(sizeof *m->cache);
	for (uint32_t c = 0; c < CHARACTERS; c++)
		m->character_entry[c] = vocab_find(&m->vocab, s, utf8_put(s, c));
}

void bpe_done(struct model *m)
{
	free(m->merges);
	free(m->cache);
	free(m->character_entry);
	free(m->symbols);
	free(m->queue);
}

// ---- a word ---------------------------------------------------------------------------------------------------------------

struct word {
	struct model *m;
	size_t count, most; // symbols; tokens that are of use
	bool has_unk;
	uint32_t unk_nbytes;
};

static void add_symbol(struct word *w, uint32_t id, uint32_t nbytes)
{
	struct model *m = w->m;

	if (w->count == m->symbol_room) {
		m->symbol_room = m->symbol_room * 2 + 256;
		m->symbols = grown(m->symbols, m->symbol_room, sizeof *m->symbols);
	}
	m->symbols[w->count] = (struct symbol){ id, nbytes, (int32_t)w->count - 1, (int32_t)w->count + 1 };
	w->count++;
}

static void flush_unknown(struct word *w)
{
	if (w->has_unk)
		add_symbol(w, w->m->vocab.entries[w->m->unk_entry].id, w->unk_nbytes);
	w->has_unk = false;
}

// The character's entry with the prefix of what is not first, and the suffix of what is last.
static uint32_t find_character(struct model *m, const char *s, size_t length, bool first, bool last)
{
	char text[4 + 2 * AFFIX_MOST];
	size_t prefix = first ? 0 : m->prefix.n, suffix = last ? m->suffix.n : 0, n = prefix + length + suffix;

	if (!prefix && !suffix) {
		if (length <= 2) {
			size_t l;
			return m->character_entry[utf8_next(s, &l)];
		}
		return vocab_find(&m->vocab, s, length);
	}
	if (prefix)
		memcpy(text, m->prefix.s, prefix);
	memcpy(text + prefix, s, length);
	if (suffix)
		memcpy(text + prefix + length, m->suffix.s, suffix);
	return vocab_find(&m->vocab, text, n);
}

// With byte_fallback: the bytes of what is not in the vocabulary, where it has them all; prefix and suffix are of these.
static bool add_bytes(struct word *w, const char *s, size_t length, bool first, bool last)
{
	struct model *m = w->m;
	struct slice part[3] = { { m->prefix.s, first ? 0 : m->prefix.n }, { s, length },
		{ m->suffix.s, last ? m->suffix.n : 0 } };

	for (int k = 0; k < 3; k++)
		for (size_t i = 0; i < part[k].n; i++)
			if (m->byte_entry[(unsigned char)part[k].s[i]] == VOCAB_NONE)
				return false;
	for (int k = 0; k < 3; k++)
		for (size_t i = 0; i < part[k].n; i++)
			add_symbol(w, m->vocab.entries[m->byte_entry[(unsigned char)part[k].s[i]]].id, 1);
	return true;
}

static enum status read_word(struct word *w, const char *s, size_t nbytes, struct error *err)
{
	struct model *m = w->m;
	// What the symbols become is at least so many times fewer tokens.
	size_t length, longest = m->vocab.longest ? m->vocab.longest : 1;

	for (size_t i = 0; i < nbytes; i += length) {
		length = utf8_length(s[i]);
		bool first = i == 0, last = i + length == nbytes;
		uint32_t entry = find_character(m, s + i, length, first, last);

		if (w->count / longest > w->most)
			return model_too_many(w->most, err);
		if (entry != VOCAB_NONE) {
			flush_unknown(w);
			add_symbol(w, m->vocab.entries[entry].id, (uint32_t)length);
			continue;
		}
		// The library does not write a pending unknown token before these.
		if (m->byte_fallback && add_bytes(w, s + i, length, first, last))
			continue;
		if (!m->has_unk)
			continue;
		if (m->unk_entry == VOCAB_NONE)
			return error_set(err, STATUS_BAD_INPUT, "the unknown token \"%.*s\" is not in the vocabulary",
				(int)(m->unk.n < 100 ? m->unk.n : 100), m->unk.s);
		if (w->has_unk && m->fuse_unk) {
			w->unk_nbytes += (uint32_t)length;
			continue;
		}
		flush_unknown(w);
		w->has_unk = true;
		w->unk_nbytes = (uint32_t)length;
	}
	flush_unknown(w);
	return STATUS_OK;
}

// Every pair again after each merge.
static size_t merge_short(struct model *m, size_t n)
{
	const struct merge *pair[SHORT_WORD];
	struct symbol *s = m->symbols;

	for (size_t i = 0; i + 1 < n; i++)
		pair[i] = find_merge(m, s[i].id, s[i + 1].id);
	while (n > 1) {
		size_t best = n;
		uint32_t rank = UINT32_MAX;
		for (size_t i = 0; i + 1 < n; i++)
			if (pair[i] && pair[i]->rank < rank) {
				rank = pair[i]->rank;
				best = i;
			}
		if (best == n)
			break;
		s[best].id = pair[best]->id;
		s[best].nbytes += s[best + 1].nbytes;
		memmove(s + best + 1, s + best + 2, (n - best - 2) * sizeof *s);
		if (best + 2 < n)
			memmove(pair + best + 1, pair + best + 2, (n - best - 3) * sizeof *pair);
		n--;
		if (best > 0)
			pair[best - 1] = find_merge(m, s[best - 1].id, s[best].id);
		if (best + 1 < n)
			pair[best] = find_merge(m, s[best].id, s[best + 1].id);
	}
	return n;
}

static bool before(const struct queued *a, const struct queued *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static size_t push(struct model *m, size_t n, struct queued q)
{
	size_t i = n;

	if (n == m->queue_room) {
		m->queue_room = m->queue_room * 2 + 256;
		m->queue = grown(m->queue, m->queue_room, sizeof *m->queue);
	}
	for (; i > 0 && before(&q, &m->queue[(i - 1) / 2]); i = (i - 1) / 2)
		m->queue[i] = m->queue[(i - 1) / 2];
	m->queue[i] = q;
	return n + 1;
}

static size_t pop(struct model *m, size_t n, struct queued *out)
{
	struct queued *h = m->queue, last = h[--n];
	size_t i = 0;

	*out = h[0];
	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		child += child + 1 < n && before(&h[child + 1], &h[child]);
		if (!before(&h[child], &last))
			break;
		h[i] = h[child];
	}
	h[i] = last;
	return n;
}

static size_t queue_pair(struct model *m, size_t n, int32_t at, int32_t next)
{
	const struct merge *merge = find_merge(m, m->symbols[at].id, m->symbols[next].id);

	return merge ? push(m, n, (struct queued){ merge->rank, (uint32_t)at, merge->id }) : n;
}

static size_t merge_long(struct model *m, size_t n)
{
	struct symbol *s = m->symbols;
	struct queued top;
	size_t queued = 0, kept = 0;

	s[n - 1].next = -1;
	for (size_t i = 0; i + 1 < n; i++)
		queued = queue_pair(m, queued, (int32_t)i, (int32_t)i + 1);
	while (queued) {
		queued = pop(m, queued, &top);
		struct symbol *left = &s[top.at];
		if (!left->nbytes || left->next < 0)
			continue;
		struct symbol *right = &s[left->next];
		const struct merge *now = find_merge(m, left->id, right->id);
		if (!now || now->id != top.id) // what was queued is gone
			continue;
		left->id = top.id;
		left->nbytes += right->nbytes;
		left->next = right->next;
		right->nbytes = 0;
		if (left->next >= 0)
			s[left->next].previous = (int32_t)top.at;
		if (left->previous >= 0)
			queued = queue_pair(m, queued, left->previous, (int32_t)top.at);
		if (left->next >= 0)
			queued = queue_pair(m, queued, (int32_t)top.at, left->next);
	}
	for (size_t i = 0; i < n; i++)
		if (s[i].nbytes)
			s[kept++] = s[i];
	return kept;
}

static void add_token(struct model *m, struct model_tokens *out, uint32_t id, uint32_t begin, uint32_t end)
{
	uint32_t entry = vocab_at_id(&m->vocab, id);

	*model_add(out) =
		(struct model_token){ id, begin, end, { vocab_text(&m->vocab, entry), m->vocab.entries[entry].nbytes } };
}

enum status bpe_tokenize(struct model *m, const char *s, size_t nbytes, struct model_tokens *out, struct error *err)
{
	uint64_t hash = table_hash(TABLE_HASH_START, s, nbytes);
	uint32_t at = 0;
	enum status status;

	if (m->ignore_merges) {
		uint32_t entry = vocab_find_hashed(&m->vocab, hash, NULL, 0, s, nbytes);
		if (entry != VOCAB_NONE) {
			add_token(m, out, m->vocab.entries[entry].id, 0, (uint32_t)nbytes);
			return STATUS_OK;
		}
	}
	if (nbytes <= CACHE_LONGEST) {
		const struct cached *seen = cache_slot(m->cache, hash, s, nbytes);
		if (seen->nbytes) {
			for (uint32_t i = 0; i < seen->count; i++) {
				uint32_t length = m->cache->tokens[seen->first + i].nbytes;
				add_token(m, out, m->cache->tokens[seen->first + i].id, at, at + length);
				at += length;
			}
			return STATUS_OK;
		}
	}
	struct word w = { .m = m, .most = out->most };
	size_t first = out->count;
	if ((status = read_word(&w, s, nbytes, err)))
		return status;
	size_t n = w.count <= SHORT_WORD ? merge_short(m, w.count) : merge_long(m, w.count);
	if (n > out->most)
		return model_too_many(out->most, err);
	for (size_t i = 0; i < n; i++) {
		add_token(m, out, m->symbols[i].id, at, at + m->symbols[i].nbytes);
		at += m->symbols[i].nbytes;
	}
	if (nbytes <= CACHE_LONGEST && out->count > first)
		cache_put(m->cache, hash, s, nbytes, out->items + first, out->count - first);
	return STATUS_OK;
}
