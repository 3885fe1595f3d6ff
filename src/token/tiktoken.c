// SPDX-License-Identifier: Apache-2.0
// A tiktoken vocabulary: a line a token, its bytes in base64, a blank, its rank, which is its id. It has no merges; they are
// those that transformers' TikTokenConverter makes: each way in which a token is two others, by its rank, then by theirs.
#include <stdlib.h>

#include "token/grown.h"
#include "token/inside.h"
#include "token/unicode.h"

// Published vocabularies have 2 to 4 MB, and tokens of up to 128 bytes.
enum { FILE_MOST = 16 << 20, TOKEN_MOST = 256 };

static bool next_token(struct slice *rest, struct slice *base64, int64_t *rank)
{
	const char *end = memchr(rest->s, '\n', rest->n), *blank;
	struct slice line = { rest->s, end ? (size_t)(end - rest->s) : rest->n };
	char digits[16];

	rest->s += line.n + (end != NULL);
	rest->n -= line.n + (end != NULL);
	line.n -= line.n && line.s[line.n - 1] == '\r';
	blank = memchr(line.s, ' ', line.n);
	size_t left = blank ? (size_t)(blank - line.s) : line.n, right = blank ? line.n - left - 1 : 0;
	if (!left || !right || right >= sizeof digits)
		return false;
	*base64 = (struct slice){ line.s, left };
	memcpy(digits, blank + 1, right);
	digits[right] = 0;
	return text_to_int(digits, 0, 4 * (int64_t)VOCAB_MOST - 1, rank);
}

// A sentencepiece model, which has the same names of files, begins with a newline: its first field's tag.
bool tiktoken_is(struct slice file)
{
	struct slice base64;
	int64_t rank;

	return file.n && next_token(&file, &base64, &rank);
}

// The characters that ByteLevel has for the bytes; `out` has room for 2 * TOKEN_MOST.
static size_t to_characters(struct slice bytes, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes.n; i++)
		n += utf8_put(out + n, byte_to_character((unsigned char)bytes.s[i]));
	return n;
}

// Ranks that a token has: each is the id of one.
struct taken {
	bool *rank;
	size_t room;
};

// False: it was taken before.
static bool take_rank(struct taken *t, size_t rank)
{
	if (rank >= t->room) {
		size_t room = 2 * rank + 1024;

		t->rank = grown(t->rank, room, sizeof *t->rank);
		memset(t->rank + t->room, 0, (room - t->room) * sizeof *t->rank);
		t->room = room;
	}
	bool was = t->rank[rank];
	t->rank[rank] = true;
	return !was;
}

static enum status read_tokens(struct model *m, struct arena *a, struct slice file, struct error *err)
{
	char text[2 * TOKEN_MOST + 4];
	struct slice base64, bytes;
	int64_t rank;
	enum status st = STATUS_OK;
	struct taken taken = { 0 };

	for (size_t line = 1; file.n && !st; line++) {
		if (*file.s == '\n') {
			file.s++, file.n--;
			continue;
		}
		if (!next_token(&file, &base64, &rank))
			st = error_set(err, STATUS_BAD_INPUT, "line %zu is no token in base64 and its rank", line);
		else if (base64.n > TOKEN_MOST / 3 * 4)
			st = error_set(err, STATUS_BAD_INPUT, "line %zu: a token of more than %d bytes", line, TOKEN_MOST);
		else if (!base64_read(a, base64, &bytes) || !bytes.n)
			st = error_set(err, STATUS_BAD_INPUT, "line %zu: no base64", line);
		else if (!take_rank(&taken, (size_t)rank))
			st = error_set(err, STATUS_BAD_INPUT, "line %zu: another token has the rank %lld", line, (long long)rank);
		else
			st = vocab_add(&m->vocab, text, to_characters(bytes, text), (uint32_t)rank, err);
	}
	free(taken.rank);
	return st ? st : vocab_index(&m->vocab, err);
}

struct ranked_cut {                        // of a token in two
	uint32_t whole, left, right, made; // ranks; made: of a text that comes twice the last one
};

static int by_ranks(const void *a, const void *b)
{
	const struct ranked_cut *x = a, *y = b;

	if (x->whole != y->whole)
		return x->whole < y->whole ? -1 : 1;
	if (x->left != y->left)
		return x->left < y->left ? -1 : 1;
	return x->right < y->right ? -1 : x->right > y->right;
}

static enum status make_merges(struct model *m, struct error *err)
{
	const struct vocab *v = &m->vocab;
	struct ranked_cut *all = NULL;
	struct vocab_cut *cuts = NULL;
	size_t count = 0, room = 0, cut_room = 0;
	enum status st = STATUS_OK;

	for (uint32_t i = 0; i < v->count && count <= VOCAB_MOST; i++) {
		size_t n = vocab_cuts(v, i, &cuts, &cut_room);
		uint32_t made = n && v->has_repeated ? vocab_find(v, vocab_text(v, i), v->entries[i].nbytes) : i;
		for (size_t k = 0; k < n; k++) {
			if (count == room)
				all = grown(all, room = room ? 2 * room : 1024, sizeof *all);
			all[count++] = (struct ranked_cut){ v->entries[i].id, v->entries[cuts[k].left].id,
				v->entries[cuts[k].right].id, v->entries[made].id };
		}
	}
	if (count)
		qsort(all, count, sizeof *all, by_ranks);
	st = bpe_prepare(m, count, err);
	for (size_t i = 0; !st && i < count; i++)
		bpe_join(m, all[i].left, all[i].right, all[i].made, (uint32_t)i);
	free(cuts);
	free(all);
	return st;
}

enum status tiktoken_read(struct model *m, struct arena *a, struct slice file, struct error *err)
{
	enum status st;

	if (file.n > FILE_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%zu bytes; at most %d are read", file.n, FILE_MOST);
	if ((st = read_tokens(m, a, file, err)) || (st = make_merges(m, err)))
		return st;
	m->kind = MODEL_BPE;
	m->ignore_merges = true;
	model_bytes(m);
	bpe_ready(m);
	return STATUS_OK;
}
