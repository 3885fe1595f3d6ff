// SPDX-License-Identifier: Apache-2.0
// The container: header, pairs and the table of tensors. The rules are ggml's own (gguf.cpp): tensors lie one behind the other in
// the order of the table, each padded to the alignment.
#include "checkpoint/gguf.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/visible.h"
#include "checkpoint/inside.h"

enum {
	PAIRS_MOST = 1 << 16,
	GGUF_TENSORS_MOST = 1 << 16,
	VALUES_MOST = 1 << 24,
	KEY_MOST = 255,
	RANK_MOST = 4,
	ALIGNMENT_MOST = 1 << 20
};

#define TENSOR "tensor \"%.200s\""

// What is left of the header. `bad` stays once it is set; then everything read is 0.
struct reader {
	const uint8_t *begin, *at, *end;
	const char *bad; // a sentence's end
};

static bool have(struct reader *r, uint64_t nbytes)
{
	if (!r->bad && (uint64_t)(r->end - r->at) < nbytes)
		r->bad = r->end - r->begin == HEADERS_MOST
			? "its header is longer than the 48 MiB that are read; no model has such a one"
			: "its header goes on behind the end of the file: it is cut off; download it again";
	return !r->bad;
}

static uint64_t unsigned_at(const uint8_t *p, int nbytes)
{
	uint64_t v = 0;

	for (int i = 0; i < nbytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static uint64_t take(struct reader *r, int nbytes)
{
	if (!have(r, (uint64_t)nbytes))
		return 0;
	r->at += nbytes;
	return unsigned_at(r->at - nbytes, nbytes);
}

// A name in `a`; NULL, and bad, for one that is too long or no text.
static const char *take_name(struct reader *r, struct arena *a)
{
	const uint64_t n = take(r, 8);

	if (!have(r, n))
		return NULL;
	if (!n || n > KEY_MOST || visible_not_utf8(r->at, (size_t)n) != n || memchr(r->at, 0, (size_t)n)) {
		r->bad = "a name in its header is no text of 1 to 255 bytes";
		return NULL;
	}
	r->at += n;
	return arena_strndup(a, (const char *)r->at - n, (size_t)n);
}

static int kind_size(enum gguf_kind kind)
{
	static const int sizes[GGUF_KINDS] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

	return sizes[kind];
}

static void skip_values(struct reader *r, enum gguf_kind kind, uint64_t count)
{
	if (count > VALUES_MOST) {
		r->bad = "an array in its header has more than 16777216 values; no model's does";
		return;
	}
	if (kind != GGUF_STRING) {
		const uint64_t nbytes = count * (uint64_t)kind_size(kind);

		if (have(r, nbytes))
			r->at += nbytes;
		return;
	}
	for (uint64_t i = 0; i < count && !r->bad; i++) {
		const uint64_t n = take(r, 8);

		if (have(r, n))
			r->at += n;
	}
}

static void take_pair(struct reader *r, struct arena *a, struct gguf_pair *p)
{
	uint64_t kind;

	p->key = take_name(r, a);
	kind = take(r, 4);
	p->count = 1;
	if ((p->is_array = kind == GGUF_ARRAY)) {
		kind = take(r, 4);
		p->count = take(r, 8);
	}
	if (!r->bad && (kind >= GGUF_KINDS || kind == GGUF_ARRAY))
		r->bad = "a value in its header is of a type that GGUF does not have";
	if (r->bad)
		return;
	p->kind = (enum gguf_kind)kind;
	p->at = r->at;
	skip_values(r, p->kind, p->count);
	p->end = r->at;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct gguf_pair *)a)->key, ((const struct gguf_pair *)b)->key);
}

static enum status refuse(const struct shard *file, enum status s, struct error *err, const char *why)
{
	return error_set(err, s, "%s: %s", file->path, why);
}

static enum status read_pairs(struct gguf *g, struct arena *a, struct reader *r, uint64_t count, struct error *err)
{
	g->pairs = ARENA_ARRAY(a, (size_t)count, struct gguf_pair);
	for (uint64_t i = 0; i < count && !r->bad; i++)
		take_pair(r, a, &g->pairs[g->pair_count++]);
	if (r->bad)
		return refuse(g->file, STATUS_BAD_INPUT, err, r->bad);
	if (count)
		qsort(g->pairs, g->pair_count, sizeof *g->pairs, by_key);
	for (size_t i = 1; i < g->pair_count; i++)
		if (!strcmp(g->pairs[i - 1].key, g->pairs[i].key))
			return error_set(
				err, STATUS_BAD_INPUT, "%s: its header has \"%.200s\" twice", g->file->path, g->pairs[i].key);
	return STATUS_OK;
}

// ---- tensors ------------------------------------------------------------------------------------------------------------

// Shape and type, and from them how many bytes it takes.
static enum status take_tensor(const struct gguf *g, struct arena *a, struct reader *r, struct gguf_tensor *t, struct error *err)
{
	uint64_t rank, id, last;
	size_t count, nbytes;

	t->name = take_name(r, a);
	rank = take(r, 4);
	if (r->bad)
		return refuse(g->file, STATUS_BAD_INPUT, err, r->bad);
	if (rank < 1 || rank > RANK_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: " TENSOR ": %" PRIu64 " dimensions; 1 to %d are read", g->file->path,
			t->name, rank, RANK_MOST);
	t->rank = (int)rank;
	for (int i = t->rank - 1; i >= 0; i--) {
		const uint64_t d = take(r, 8);

		if (!r->bad && (d < 1 || d > (uint64_t)1 << 40))
			return error_set(err, STATUS_BAD_INPUT, "%s: " TENSOR ": a dimension of %" PRIu64 " is no size",
				g->file->path, t->name, d);
		t->dim[i] = (int64_t)d;
	}
	id = take(r, 4);
	t->offset = take(r, 8);
	if (r->bad)
		return refuse(g->file, STATUS_BAD_INPUT, err, r->bad);
	if (!(t->type = id <= UINT32_MAX ? ggml_type_find((uint32_t)id) : NULL)) {
		const char *name = ggml_type_name((uint32_t)id);

		if (name)
			return error_set(err, STATUS_UNSUPPORTED, "%s: " TENSOR ": type %s of ggml is not read yet",
				g->file->path, t->name, name);
		return error_set(err, STATUS_BAD_INPUT, "%s: " TENSOR ": type %" PRIu64 " is none that ggml has", g->file->path,
			t->name, id);
	}
	last = (uint64_t)t->dim[t->rank - 1];
	if (last % (uint64_t)t->type->block)
		return error_set(err, STATUS_BAD_INPUT, "%s: " TENSOR ": rows of %" PRIu64 " numbers are no blocks of %d (%s)",
			g->file->path, t->name, last, t->type->block, t->type->name);
	if (!tensor_count(t->rank, t->dim, &count) ||
		__builtin_mul_overflow(count / (size_t)t->type->block, (size_t)t->type->nbytes, &nbytes))
		return error_set(
			err, STATUS_BAD_INPUT, "%s: " TENSOR ": its shape is larger than any file", g->file->path, t->name);
	t->nbytes = nbytes;
	return STATUS_OK;
}

// Each begins where the one before it ends, padded, and ends within the file. `at` counts from the data.
static enum status place_tensors(struct gguf *g, uint64_t alignment, struct error *err)
{
	const uint64_t room = g->file->nbytes > g->header_nbytes ? g->file->nbytes - g->header_nbytes : 0;
	uint64_t at = 0;

	for (size_t i = 0; i < g->tensor_count; i++) {
		struct gguf_tensor *t = &g->tensors[i];

		if (t->offset != at)
			return error_set(err, STATUS_BAD_INPUT,
				"%s: " TENSOR ": lies at byte %" PRIu64 " of the data, where the one before it says %" PRIu64,
				g->file->path, t->name, t->offset, at);
		if (t->nbytes > room || at > room - t->nbytes)
			return error_set(err, STATUS_BAD_INPUT,
				"%s: " TENSOR ": ends behind the end of the file, which holds %" PRIu64
				" bytes of data: it is cut off; download it again",
				g->file->path, t->name, room);
		at += (t->nbytes + alignment - 1) / alignment * alignment;
		t->offset += g->header_nbytes;
	}
	return STATUS_OK;
}

static int by_tensor_name(const void *a, const void *b)
{
	return strcmp((*(const struct gguf_tensor *const *)a)->name, (*(const struct gguf_tensor *const *)b)->name);
}

static enum status check_names(const struct gguf *g, struct arena *a, struct error *err)
{
	const struct gguf_tensor **order = ARENA_ARRAY(a, g->tensor_count + 1, const struct gguf_tensor *);

	for (size_t i = 0; i < g->tensor_count; i++)
		order[i] = &g->tensors[i];
	qsort(order, g->tensor_count, sizeof *order, by_tensor_name);
	for (size_t i = 1; i < g->tensor_count; i++)
		if (!strcmp(order[i - 1]->name, order[i]->name))
			return error_set(err, STATUS_BAD_INPUT, "%s: " TENSOR " is there twice", g->file->path, order[i]->name);
	return STATUS_OK;
}

static enum status read_tensors(struct gguf *g, struct arena *a, struct reader *r, uint64_t count, struct error *err)
{
	double alignment = 32;
	enum status s = STATUS_OK;

	g->tensors = ARENA_ARRAY(a, (size_t)count, struct gguf_tensor);
	while (g->tensor_count < count && !s)
		s = take_tensor(g, a, r, &g->tensors[g->tensor_count++], err);
	if (s || (s = check_names(g, a, err)))
		return s;
	const struct gguf_pair *said = gguf_find(g, "general.alignment");
	if (said &&
		(!gguf_number(said, &alignment) || !(alignment >= 1) || alignment > ALIGNMENT_MOST ||
			((uint64_t)alignment & ((uint64_t)alignment - 1)) || alignment != floor(alignment)))
		return refuse(g->file, STATUS_BAD_INPUT, err, "its general.alignment is no power of two up to 1048576");
	const uint64_t step = (uint64_t)alignment, head = (uint64_t)(r->at - r->begin);
	g->header_nbytes = (size_t)((head + step - 1) / step * step);
	return place_tensors(g, step, err);
}

// ---- the file -----------------------------------------------------------------------------------------------------------

static enum status check_version(const struct gguf *g, struct reader *r, struct error *err)
{
	const bool magic = g->file->nbytes >= 4 && !memcmp(r->at, "GGUF", 4);
	uint64_t version;

	if (!magic)
		return refuse(g->file, STATUS_BAD_INPUT, err, "does not begin with \"GGUF\": not a GGUF file");
	r->at += 4;
	version = take(r, 4);
	if (r->bad)
		return refuse(g->file, STATUS_BAD_INPUT, err, r->bad);
	if (!(version & 0xFFFF) && version)
		return refuse(g->file, STATUS_UNSUPPORTED, err, "a GGUF file with the highest byte first is not read yet");
	return version == 2 || version == 3
		? STATUS_OK
		: error_set(err, STATUS_UNSUPPORTED, "%s: GGUF of version %" PRIu64 " is not read yet; 2 and 3 are",
			  g->file->path, version);
}

enum status gguf_parse(struct gguf *out, struct arena *a, const struct shard *file, struct error *err)
{
	// A header is held to the same as those of other formats.
	const size_t most = file->nbytes < HEADERS_MOST ? file->nbytes : HEADERS_MOST;
	const uint8_t *begin = file->map ? file->map : (const uint8_t *)""; // of an empty file nothing is mapped
	struct reader r = { .begin = begin, .at = begin, .end = begin + most };
	struct gguf g = { .file = file };
	enum status s = shard_check_pointer(file, err);

	if (s)
		return error_prefix(err, "%s", file->path);
	if ((s = check_version(&g, &r, err)))
		return s;
	const uint64_t tensors = take(&r, 8), pairs = take(&r, 8), left = (uint64_t)(r.end - r.at);
	// The shortest pair: a key of a byte, a type, a byte. The shortest tensor: a name of a byte, one dimension.
	if (!r.bad && (pairs > PAIRS_MOST || tensors > GGUF_TENSORS_MOST || pairs * 14 + tensors * 33 > left))
		return error_set(err, STATUS_BAD_INPUT,
			"%s: its header would have %" PRIu64 " values and %" PRIu64
			" tensors, which is more than the file holds, or than any model has",
			file->path, pairs, tensors);
	if (r.bad)
		return refuse(file, STATUS_BAD_INPUT, err, r.bad);
	if (!(s = read_pairs(&g, a, &r, pairs, err)))
		s = read_tensors(&g, a, &r, tensors, err);
	if (!s)
		*out = g;
	return s;
}

// ---- values -------------------------------------------------------------------------------------------------------------

const struct gguf_pair *gguf_find(const struct gguf *g, const char *key)
{
	const struct gguf_pair wanted = { .key = key };

	return g->pair_count ? bsearch(&wanted, g->pairs, g->pair_count, sizeof *g->pairs, by_key) : NULL;
}

double gguf_number_at(const struct gguf_pair *p, uint64_t i)
{
	const int size = kind_size(p->kind);
	const uint64_t bits = unsigned_at(p->at + i * (uint64_t)size, size);
	const uint32_t low = (uint32_t)bits;
	float single;
	double wide;

	switch (p->kind) {
	case GGUF_I8:
		return (int8_t)bits;
	case GGUF_I16:
		return (int16_t)bits;
	case GGUF_I32:
		return (int32_t)bits;
	case GGUF_I64:
		return (double)(int64_t)bits;
	case GGUF_F32:
		memcpy(&single, &low, sizeof single);
		return (double)single;
	case GGUF_F64:
		memcpy(&wide, &bits, sizeof wide);
		return wide;
	default:
		return (double)bits;
	}
}

bool gguf_number(const struct gguf_pair *p, double *out)
{
	if (!p || p->kind == GGUF_STRING || !p->count)
		return false;
	*out = gguf_number_at(p, 0);
	for (uint64_t i = 1; i < p->count; i++)
		if (gguf_number_at(p, i) != *out)
			return false;
	return isfinite(*out);
}

enum status gguf_check_numbers(const struct gguf *g, const char *const *keys, struct error *err)
{
	double v;

	for (; *keys; keys++) {
		const struct gguf_pair *p = gguf_find(g, *keys);

		if (p && (p->is_array || !gguf_number(p, &v)))
			return error_set(err, STATUS_BAD_INPUT, "%s: %s is no number", g->file->path, *keys);
	}
	return STATUS_OK;
}

enum status gguf_check_tokens(const struct gguf *g, struct error *err)
{
	static const char *const keys[] = { "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id" };
	const struct gguf_pair *tokens = gguf_find(g, "tokenizer.ggml.tokens");
	double v;

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct gguf_pair *p = gguf_find(g, keys[i]);

		if (p && (!gguf_number(p, &v) || v < 0 || v != floor(v)))
			return error_set(err, STATUS_BAD_INPUT, "%s: %s is no number of a token", g->file->path, keys[i]);
		if (p && tokens && v >= (double)tokens->count)
			return error_set(err, STATUS_BAD_INPUT, "%s: %s is %.0f, and its tokens are %" PRIu64, g->file->path,
				keys[i], v, tokens->count);
	}
	return STATUS_OK;
}

const char *gguf_string(const uint8_t **at, size_t *nbytes)
{
	const uint8_t *text = *at + 8;

	*nbytes = (size_t)unsigned_at(*at, 8);
	*at = text + *nbytes;
	return (const char *)text;
}

const char *gguf_text(const struct gguf *g, struct arena *a, const char *key, size_t most)
{
	const struct gguf_pair *p = gguf_find(g, key);
	const uint8_t *at = p ? p->at : NULL;
	size_t n;

	if (!p || p->kind != GGUF_STRING || p->is_array)
		return NULL;
	const char *text = gguf_string(&at, &n);
	return n > most || visible_not_utf8(text, n) != n || memchr(text, 0, n) ? NULL : arena_strndup(a, text, n);
}
