// SPDX-License-Identifier: Apache-2.0
// WordPiece: from the left the longest piece that the vocabulary has; a word that has none somewhere is unknown as a whole.
// WordLevel: the word itself.
#include <stdlib.h>

#include "token/inside.h"
#include "token/unicode.h"

static enum status unknown_word(struct model *m, size_t nbytes, struct model_tokens *out, struct error *err)
{
	if (m->unk_entry == VOCAB_NONE)
		return error_set(err, STATUS_BAD_INPUT, "the unknown token \"%.*s\" is not in the vocabulary",
			(int)(m->unk.n < 100 ? m->unk.n : 100), m->unk.s);
	*model_add(out) = (struct model_token){ m->vocab.entries[m->unk_entry].id, 0, (uint32_t)nbytes, m->unk };
	return STATUS_OK;
}

// The entry of the longest beginning of s, behind the prefix where it is not first; its length.
static uint32_t longest_piece(
	const struct model *m, const char *s, size_t nbytes, bool first, size_t *length, struct model_tokens *out)
{
	struct slice prefix = first ? (struct slice){ "", 0 } : m->prefix;
	uint64_t hash = table_hash(TABLE_HASH_START, prefix.s, prefix.n);
	uint32_t best = VOCAB_NONE;

	size_t i = 0;
	// Hashes go from left to right, so the pieces are looked up from the shortest on; none is longer than the vocabulary's.
	while (i < nbytes && prefix.n + i < m->vocab.longest) {
		size_t next = utf8_length(s[i]);
		hash = table_hash(hash, s + i, next);
		i += next;
		uint32_t entry = vocab_find_hashed(&m->vocab, hash, prefix.s, prefix.n, s, i);
		if (entry != VOCAB_NONE) {
			best = entry;
			*length = i;
		}
	}
	out->looked += i;
	return best;
}

enum status wordpiece_tokenize(struct model *m, const char *s, size_t nbytes, struct model_tokens *out, struct error *err)
{
	size_t before = out->count, length;

	if (nbytes > m->longest_word && utf8_count(s, nbytes) > m->longest_word)
		return unknown_word(m, nbytes, out, err);
	for (size_t at = 0; at < nbytes; at += length) {
		uint32_t entry = longest_piece(m, s + at, nbytes - at, at == 0, &length, out);
		enum status st = model_looked(out, err);
		if (st)
			return st;
		if (entry == VOCAB_NONE) {
			out->count = before;
			return unknown_word(m, nbytes, out, err);
		}
		*model_add(out) = (struct model_token){ m->vocab.entries[entry].id, (uint32_t)at, (uint32_t)(at + length),
			{ vocab_text(&m->vocab, entry), m->vocab.entries[entry].nbytes } };
	}
	return STATUS_OK;
}

enum status wordlevel_tokenize(struct model *m, const char *s, size_t nbytes, struct model_tokens *out, struct error *err)
{
	uint32_t entry = vocab_find(&m->vocab, s, nbytes);

	if (entry == VOCAB_NONE)
		return unknown_word(m, nbytes, out, err);
	*model_add(out) = (struct model_token){ m->vocab.entries[entry].id, 0, (uint32_t)nbytes,
		{ vocab_text(&m->vocab, entry), m->vocab.entries[entry].nbytes } };
	return STATUS_OK;
}
