// SPDX-License-Identifier: Apache-2.0
#include "token/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "token/grown.h"

void vocab_done(struct vocab *v)
{
	free(v->bytes);
	free(v->entries);
	free(v->scores);
	free(v->slots);
	free(v->by_id);
	*v = (struct vocab){ 0 };
}

enum status vocab_add(struct vocab *v, const char *s, size_t nbytes, uint32_t id, struct error *err)
{
	if (v->count == VOCAB_MOST || nbytes > VOCAB_BYTES_MOST - v->used)
		return error_set(err, STATUS_BAD_INPUT, "a vocabulary of more than %d entries or %d MiB of text", VOCAB_MOST,
			VOCAB_BYTES_MOST >> 20);
	if (v->used + nbytes > v->room) {
		v->room = (v->used + nbytes) * 2 + 4096;
		v->bytes = grown(v->bytes, v->room, 1);
	}
	if (v->count == v->entry_room) {
		v->entry_room = v->entry_room * 2 + 512;
		v->entries = grown(v->entries, v->entry_room, sizeof *v->entries);
	}
	if (nbytes)
		memcpy(v->bytes + v->used, s, nbytes);
	v->entries[v->count++] = (struct vocab_entry){ (uint32_t)v->used, (uint32_t)nbytes, id };
	v->used += nbytes;
	if (nbytes > v->longest)
		v->longest = nbytes;
	return STATUS_OK;
}

void vocab_score(struct vocab *v, double score)
{
	if (v->score_room < v->entry_room) {
		v->score_room = v->entry_room;
		v->scores = grown(v->scores, v->score_room, sizeof *v->scores);
	}
	v->scores[v->count - 1] = score;
}

enum status vocab_index(struct vocab *v, struct error *err)
{
	size_t slots = 16;

	v->id_count = 0;
	for (size_t i = 0; i < v->count; i++)
		if (v->entries[i].id >= v->id_count)
			v->id_count = (size_t)v->entries[i].id + 1;
	if (v->id_count > 4 * (size_t)VOCAB_MOST || v->id_count > 64 * v->count + (1 << 20))
		return error_set(err, STATUS_BAD_INPUT, "an id of %zu in a vocabulary of %zu entries", v->id_count - 1, v->count);
	while (slots < v->count * 2)
		slots *= 2;
	free(v->slots);
	free(v->by_id);
	v->slots = calloc(slots, sizeof *v->slots);
	v->by_id = calloc(v->id_count + 1, sizeof *v->by_id);
	if (!v->slots || !v->by_id)
		out_of_memory(slots * sizeof *v->slots);
	v->slot_mask = slots - 1;
	for (size_t i = 0; i < v->count; i++) {
		const struct vocab_entry *e = &v->entries[i];
		const char *s = v->bytes + e->at;
		uint64_t hash = table_place_of(table_hash(TABLE_HASH_START, s, e->nbytes));
		size_t k = hash & v->slot_mask;

		for (; v->slots[k]; k = (k + 1) & v->slot_mask) {
			if (v->slots[k] >> 32 != hash >> 32)
				continue;
			const struct vocab_entry *o = &v->entries[(uint32_t)v->slots[k] - 1];
			if (o->nbytes == e->nbytes && !memcmp(v->bytes + o->at, s, e->nbytes))
				break;
		}
		v->has_repeated |= v->slots[k] != 0;
		v->slots[k] = (hash >> 32 << 32) | (i + 1);
		v->by_id[e->id] = (uint32_t)i + 1;
	}
	return STATUS_OK;
}

uint32_t vocab_find_hashed(
	const struct vocab *v, uint64_t hash, const char *prefix, size_t prefix_nbytes, const char *s, size_t nbytes)
{
	if (!v->slots)
		return VOCAB_NONE;
	hash = table_place_of(hash);
	for (size_t k = hash & v->slot_mask; v->slots[k]; k = (k + 1) & v->slot_mask) {
		if (v->slots[k] >> 32 != hash >> 32)
			continue;
		const struct vocab_entry *e = &v->entries[(uint32_t)v->slots[k] - 1];
		const char *text = v->bytes + e->at;
		if (e->nbytes == prefix_nbytes + nbytes && (!prefix_nbytes || !memcmp(text, prefix, prefix_nbytes)) &&
			(!nbytes || !memcmp(text + prefix_nbytes, s, nbytes)))
			return (uint32_t)v->slots[k] - 1;
	}
	return VOCAB_NONE;
}

uint32_t vocab_find(const struct vocab *v, const char *s, size_t nbytes)
{
	return vocab_find_hashed(v, table_hash(TABLE_HASH_START, s, nbytes), NULL, 0, s, nbytes);
}

size_t vocab_cuts(const struct vocab *v, uint32_t entry, struct vocab_cut **cuts, size_t *room)
{
	const char *s = vocab_text(v, entry);
	size_t nbytes = v->entries[entry].nbytes, ends = 0, count = 0, done = 0;
	struct table_tail tail = TABLE_HASH_TAIL;
	uint64_t hash = TABLE_HASH_START;

	for (size_t k = nbytes; k-- > 1;) {
		table_hash_before(&tail, s[k]);
		if (((unsigned char)s[k] & 0xC0) == 0x80) // within a character
			continue;
		uint32_t right = vocab_find_hashed(v, tail.sum + tail.power, NULL, 0, s + k, nbytes - k);
		if (right == VOCAB_NONE)
			continue;
		if (ends == *room) {
			*room = *room * 2 + 64;
			*cuts = grown(*cuts, *room, sizeof **cuts);
		}
		(*cuts)[ends++] = (struct vocab_cut){ (uint32_t)k, VOCAB_NONE, right };
	}
	for (size_t i = 0; i < ends / 2; i++) {
		struct vocab_cut other = (*cuts)[i];
		(*cuts)[i] = (*cuts)[ends - 1 - i];
		(*cuts)[ends - 1 - i] = other;
	}
	for (size_t i = 0; i < ends; i++) {
		struct vocab_cut cut = (*cuts)[i];
		hash = table_hash(hash, s + done, cut.nbytes - done);
		done = cut.nbytes;
		cut.left = vocab_find_hashed(v, hash, NULL, 0, s, cut.nbytes);
		if (cut.left != VOCAB_NONE)
			(*cuts)[count++] = cut;
	}
	return count;
}

uint32_t vocab_at_id(const struct vocab *v, uint32_t id)
{
	return id < v->id_count ? v->by_id[id] - 1 : VOCAB_NONE;
}
