// SPDX-License-Identifier: Apache-2.0
// sentencepiece's model, a protocol buffer (sentencepiece_model.proto), as that library itself runs it: its own normalizer,
// scores in single precision; of BPE the piece with the best score is made first. No special tokens are added.
#include "token/grown.h"
#include "token/inside.h"

#include <math.h>
#include <stdlib.h>

#include "base/visible.h"
#include "token/unicode.h"

enum piece_type { PIECE_NORMAL = 1, PIECE_UNKNOWN, PIECE_CONTROL, PIECE_USER, PIECE_UNUSED, PIECE_BYTE };

// ---- protocol buffers -----------------------------------------------------------------------------------------------------

struct field {
	uint64_t number, value; // value: of a varint, or the bits of a fixed one
	struct slice bytes;     // of a length-delimited one
};

static bool varint(struct slice *at, uint64_t *out)
{
	*out = 0;
	for (int shift = 0; at->n && shift < 64; shift += 7) {
		unsigned char c = (unsigned char)*at->s;
		at->s++;
		at->n--;
		*out |= (uint64_t)(c & 0x7F) << shift;
		if (c < 0x80)
			return true;
	}
	return false;
}

// False at the end; *bad where what is there is none.
static bool next_field(struct slice *at, struct field *f, bool *bad)
{
	uint64_t key, n = 0;

	if (!at->n)
		return false;
	*f = (struct field){ 0 };
	*bad = !varint(at, &key);
	f->number = key >> 3;
	unsigned kind = key & 7;
	if (!*bad && kind == 0) {
		*bad = !varint(at, &f->value);
	} else if (!*bad && (kind == 1 || kind == 5)) {
		n = kind == 1 ? 8 : 4;
		if (!(*bad = at->n < n))
			memcpy(&f->value, at->s, n);
	} else if (!*bad && kind == 2) {
		*bad = !varint(at, &n) || n > at->n;
		f->bytes = (struct slice){ at->s, n };
	} else {
		*bad = true;
	}
	if (*bad)
		return false;
	at->s += n;
	at->n -= n;
	return true;
}

// ---- the normalizer -------------------------------------------------------------------------------------------------------

struct spm {
	struct charsmap *map; // NULL: none
	bool dummy, trims, escapes;
	struct slice unknown; // what an unknown piece is decoded to
	const struct vocab *vocab;
	const uint8_t *types;
	uint32_t unk_id;
};

static const char mark[] = "\xE2\x96\x81"; // U+2581

// What the longest beginning of s becomes that the table has, else its first character; how many bytes it was.
static struct slice spm_next(const struct spm *m, const char *s, size_t n, size_t *taken)
{
	struct slice with;

	if (m->map && charsmap_longest(m->map, s, n, &with, taken))
		return with;
	*taken = utf8_length(s[0]);
	return (struct slice){ s, *taken };
}

static bool is_blank(struct slice s)
{
	return s.n == 1 && s.s[0] == ' ';
}

static void normalize_piece(struct change *c, void *own)
{
	const struct spm *m = own;
	struct flow *f = c->f;
	size_t at = 0, taken, begin;
	bool blank = m->trims;

	flow_whole(c);
	begin = f->used;
	while (m->trims && at < c->nbytes && is_blank(spm_next(m, c->text + at, c->nbytes - at, &taken)))
		at += taken;
	if (at == c->nbytes)
		return;
	struct slice space = m->escapes ? (struct slice){ mark, 3 } : slice_text(" ");
	if (m->dummy)
		flow_put_at(c, space.s, space.n, c->align[at]);
	for (; at < c->nbytes; at += taken) {
		struct slice s = spm_next(m, c->text + at, c->nbytes - at, &taken);
		while (blank && s.n && s.s[0] == ' ') {
			s.s++;
			s.n--;
		}
		for (size_t i = 0; i < s.n; i++)
			if (s.s[i] == ' ')
				flow_put_at(c, space.s, space.n, c->align[at]);
			else
				flow_put_at(c, s.s + i, 1, c->align[at]);
		if (s.n)
			blank = m->trims && s.s[s.n - 1] == ' ';
	}
	while (m->trims && f->used - begin >= space.n && !memcmp(f->text + f->used - space.n, space.s, space.n))
		f->used -= space.n;
}

static void normalize(struct flow *f, const void *own)
{
	flow_each(f, normalize_piece, (void *)(uintptr_t)own);
}

// ---- the decoder ----------------------------------------------------------------------------------------------------------

static void decode(struct strings *t, const void *own)
{
	const struct spm *m = own;
	struct slice *out = ARENA_ARRAY(t->a, t->count + 1, struct slice);
	size_t n = 0;
	bool first = true;

	for (size_t i = 0; i < t->count; i++) {
		struct slice s = t->items[i];
		uint32_t entry = vocab_find(m->vocab, s.s, s.n);
		unsigned type = entry == VOCAB_NONE ? PIECE_NORMAL : m->types[entry];
		if (type == PIECE_CONTROL)
			continue;
		if (type == PIECE_BYTE) {
			size_t end = i + 1, count = 0;
			for (; end < t->count; end++) {
				uint32_t e = vocab_find(m->vocab, t->items[end].s, t->items[end].n);
				if (e == VOCAB_NONE || m->types[e] != PIECE_BYTE)
					break;
			}
			char *bytes = arena_alloc(t->a, end - i + 1);
			for (size_t k = i; k < end; k++)
				bytes[count++] = (char)strtol(t->items[k].s + 3, NULL, 16);
			struct text all = { 0 };
			for (size_t k = 0, length; k < count; k += length) { // a U+FFFD for each byte that is of no character
				length = visible_utf8(bytes + k, count - k, NULL);
				if (length)
					text_add_bytes(&all, bytes + k, length);
				else
					text_add(&all, "\xEF\xBF\xBD");
				length += !length;
			}
			out[n++] = slice_copy(t->a, (struct slice){ text_get(&all), all.length });
			text_done(&all);
			i = end - 1;
			first = false;
			continue;
		}
		if (type == PIECE_UNKNOWN) {
			out[n++] = m->unknown;
			first = false;
			continue;
		}
		if (first && m->dummy && s.n >= 3 && !memcmp(s.s, mark, 3))
			s = (struct slice){ s.s + 3, s.n - 3 };
		first = false;
		struct text all = { 0 };
		for (size_t k = 0; k < s.n;)
			if (s.n - k >= 3 && !memcmp(s.s + k, mark, 3)) {
				text_add(&all, " ");
				k += 3;
			} else {
				text_add_bytes(&all, s.s + k++, 1);
			}
		out[n++] = slice_copy(t->a, (struct slice){ text_get(&all), all.length });
		text_done(&all);
	}
	t->items = out;
	t->count = n;
}

static const struct step_kind spm_kind = { "sentencepiece", .flow = normalize, .decode = decode };

// ---- the model ------------------------------------------------------------------------------------------------------------

// Of characters alone: what unigram makes of pieces that are a character each.
enum { SPM_UNIGRAM = 1, SPM_BPE = 2, SPM_CHARACTERS = 4 };

struct model_proto {
	struct tokenizer *t;
	struct spm *spm;
	uint8_t *types;
	size_t type_room;
	uint64_t kind; // trainer_spec.model_type
};

static enum status read_piece(struct model_proto *p, struct slice bytes, struct error *err)
{
	struct vocab *v = &p->t->model.vocab;
	struct slice text = { "", 0 };
	struct field f;
	uint64_t type = PIECE_NORMAL;
	float score = 0;
	bool bad = false;
	enum status s;

	while (next_field(&bytes, &f, &bad)) {
		if (f.number == 1)
			text = f.bytes;
		else if (f.number == 2)
			memcpy(&score, &f.value, sizeof score);
		else if (f.number == 3)
			type = f.value;
	}
	if (bad || !text.n || visible_not_utf8(text.s, text.n) != text.n || type < PIECE_NORMAL || type > PIECE_BYTE ||
		!isfinite(score))
		return error_set(err, STATUS_BAD_INPUT, "piece %zu is none", v->count);
	if ((s = vocab_add(v, text.s, text.n, (uint32_t)v->count, err)))
		return s;
	// What cannot be found in a text has no score.
	vocab_score(v, type == PIECE_NORMAL || type == PIECE_USER ? (double)score : (double)NAN);
	if (v->count > p->type_room) {
		p->type_room = v->count * 2;
		p->types = grown(p->types, p->type_room, 1);
	}
	p->types[v->count - 1] = (uint8_t)type;
	return STATUS_OK;
}

static enum status read_proto(struct model_proto *p, struct slice bytes, struct error *err)
{
	struct field f, inner;
	bool bad = false;
	enum status s = STATUS_OK;

	p->spm->dummy = p->spm->trims = p->spm->escapes = true;
	p->spm->unknown = slice_text(" \xE2\x81\x87 ");
	p->kind = SPM_UNIGRAM;
	while (s == STATUS_OK && next_field(&bytes, &f, &bad)) {
		struct slice at = f.bytes;
		if (f.number == 1)
			s = read_piece(p, at, err);
		while (f.number == 2 && next_field(&at, &inner, &bad)) {
			if (inner.number == 3)
				p->kind = inner.value;
			else if (inner.number == 35)
				p->t->model.byte_fallback = inner.value;
			else if (inner.number == 44)
				p->spm->unknown = slice_copy(p->t->a, inner.bytes);
		}
		while (f.number == 3 && next_field(&at, &inner, &bad)) {
			if (inner.number == 2 && inner.bytes.n && !p->spm->map)
				s = charsmap_read(&p->spm->map, p->t->a, slice_copy(p->t->a, inner.bytes), err);
			else if (inner.number == 3)
				p->spm->dummy = inner.value;
			else if (inner.number == 4)
				p->spm->trims = inner.value;
			else if (inner.number == 5)
				p->spm->escapes = inner.value;
			if (s != STATUS_OK)
				return s;
		}
	}
	return s == STATUS_OK && (bad || !p->t->model.vocab.count) ? error_set(err, STATUS_BAD_INPUT, "no model of sentencepiece")
								   : s;
}

struct ranked {
	double score;
	uint32_t entry;
};

static int by_score(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->score != y->score ? (x->score > y->score ? -1 : 1) : x->entry < y->entry ? -1 : x->entry > y->entry;
}

// A merge for every way in which a piece is two others; pieces of one score have one rank.
static enum status make_merges(struct model *m, struct error *err)
{
	struct vocab *v = &m->vocab;
	struct ranked *order = calloc(v->count + 1, sizeof *order);
	struct vocab_cut *cuts = NULL;
	size_t n = 0, most = 0, room = 0;
	uint32_t rank = 0;
	enum status s;

	if (!order)
		out_of_memory(v->count * sizeof *order);
	for (size_t i = 0; i < v->count; i++)
		if (!isnan(v->scores[i])) {
			order[n++] = (struct ranked){ v->scores[i], (uint32_t)i };
			most += utf8_count(vocab_text(v, (uint32_t)i), v->entries[i].nbytes);
		}
	qsort(order, n, sizeof *order, by_score);
	s = bpe_prepare(m, most, err);
	for (size_t i = 0; s == STATUS_OK && i < n; i++) {
		uint32_t entry = order[i].entry;
		size_t count = vocab_cuts(v, entry, &cuts, &room);
		rank += i && order[i].score != order[i - 1].score;
		if (count && v->has_repeated)
			entry = vocab_find(v, vocab_text(v, entry), v->entries[entry].nbytes);
		for (size_t k = 0; k < count; k++)
			if (!isnan(v->scores[cuts[k].left]) && !isnan(v->scores[cuts[k].right]))
				bpe_join(
					m, v->entries[cuts[k].left].id, v->entries[cuts[k].right].id, v->entries[entry].id, rank);
	}
	free(cuts);
	free(order);
	return s;
}

static enum status add_pieces(struct model_proto *p, struct error *err)
{
	struct vocab *v = &p->t->model.vocab;
	enum status s = STATUS_OK;

	for (uint32_t i = 0; i < v->count && s == STATUS_OK; i++) {
		struct slice text = { vocab_text(v, i), v->entries[i].nbytes };
		if (p->types[i] == PIECE_USER && p->kind == SPM_BPE)
			s = added_add(p->t, &(struct added){ .content = text, .normal = text, .normalized = true }, err);
	}
	return s;
}

static enum status ready(struct model_proto *p, struct error *err)
{
	struct tokenizer *t = p->t;
	struct model *m = &t->model;
	enum status s;

	if (p->kind != SPM_UNIGRAM && p->kind != SPM_BPE && p->kind != SPM_CHARACTERS)
		return error_set(err, STATUS_UNSUPPORTED, "a model of type %llu: none of unigram, BPE and characters",
			(unsigned long long)p->kind);
	if ((s = vocab_index(&m->vocab, err)))
		return s;
	for (uint32_t i = 0; i < m->vocab.count; i++)
		if (p->types[i] == PIECE_UNKNOWN) {
			m->unk_entry = p->spm->unk_id = i;
			m->unk = (struct slice){ vocab_text(&m->vocab, i), m->vocab.entries[i].nbytes };
			m->has_unk = true;
		}
	m->fuse_unk = true;
	m->as_sentencepiece = true;
	model_bytes(m);
	uint8_t *types = arena_alloc(t->a, m->vocab.count);
	memcpy(types, p->types, m->vocab.count);
	p->spm->types = types;
	p->spm->vocab = &m->vocab;
	t->normalizers.steps = ARENA_NEW(t->a, struct step);
	t->normalizers.steps[0] = (struct step){ &spm_kind, p->spm };
	t->decoders.steps = t->normalizers.steps;
	t->decoders.count = 1;
	t->next_added = (uint32_t)m->vocab.count;
	m->kind = p->kind == SPM_BPE ? MODEL_BPE : MODEL_UNIGRAM;
	if (m->kind == MODEL_UNIGRAM) {
		s = unigram_ready(m, err);
	} else if ((s = make_merges(m, err)) == STATUS_OK) {
		bpe_ready(m);
		s = add_pieces(p, err);
	}
	t->normalizers.count = 1;
	return s;
}

enum status spm_read(struct tokenizer *t, struct slice bytes, struct error *err)
{
	struct model_proto p = { .t = t, .spm = ARENA_NEW(t->a, struct spm) };
	enum status s = read_proto(&p, bytes, err);

	if (s == STATUS_OK)
		s = ready(&p, err);
	free(p.types);
	return s;
}
