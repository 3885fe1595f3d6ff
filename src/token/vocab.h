// SPDX-License-Identifier: Apache-2.0
// The table from texts to ids and back. Private to token/.
#ifndef ASSAY_TOKEN_VOCAB_H
#define ASSAY_TOKEN_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"

// Entries, and bytes of their texts; ids are below 4 times as many. The largest published one has 901,629 entries (XLM-V).
enum { VOCAB_MOST = 1 << 20, VOCAB_BYTES_MOST = 24 << 20 };

struct vocab_entry {
	uint32_t at, nbytes; // in vocab.bytes
	uint32_t id;
};
struct vocab {
	char *bytes;
	size_t used, room;
	struct vocab_entry *entries;
	double *scores; // of Unigram; NULL else
	size_t count, entry_room, score_room;
	size_t longest;    // text, bytes
	bool has_repeated; // a text comes twice
	// Made by vocab_index.
	uint64_t *slots; // 1 + entry, above it 32 bits of the hash; a power of two of them
	size_t slot_mask;
	uint32_t *by_id; // 1 + entry
	size_t id_count;
};

enum { VOCAB_NONE = UINT32_MAX }; // no entry

void vocab_done(struct vocab *v); // frees; a vocab all zero is a valid empty one
// The text is copied. BAD_INPUT beyond VOCAB_MOST entries or VOCAB_BYTES_MOST.
enum status vocab_add(struct vocab *v, const char *s, size_t nbytes, uint32_t id, struct error *err);
void vocab_score(struct vocab *v, double score); // of the entry that was added last
// After the last vocab_add. Of an id or a text that comes twice the last one counts. BAD_INPUT: ids too far apart.
enum status vocab_index(struct vocab *v, struct error *err);
// The entry, or VOCAB_NONE; `hash` is table_hash of prefix and text, which are looked up as one.
uint32_t vocab_find_hashed(
	const struct vocab *v, uint64_t hash, const char *prefix, size_t prefix_nbytes, const char *s, size_t nbytes);
uint32_t vocab_find(const struct vocab *v, const char *s, size_t nbytes);
// The ways in which an entry's text is two others, cut between characters, from the shortest left one on: how many; in *cuts,
// which grows. Takes the text's length and those of the entries that it begins and ends with, no more.
struct vocab_cut {
	uint32_t nbytes, left, right; // bytes of the left one; entries
};
size_t vocab_cuts(const struct vocab *v, uint32_t entry, struct vocab_cut **cuts, size_t *room);
uint32_t vocab_at_id(const struct vocab *v, uint32_t id); // the entry, or VOCAB_NONE

static inline const char *vocab_text(const struct vocab *v, uint32_t entry)
{
	return v->bytes + v->entries[entry].at;
}

#endif
