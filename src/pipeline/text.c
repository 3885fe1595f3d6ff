// SPDX-License-Identifier: Apache-2.0
// Texts to a model's inputs and back, by its own tokenizer. One text at a time: no row is padded, and none depends on another.
#include <string.h>

#include "base/text.h"
#include "pipeline/inside.h"

size_t text_most(const struct part *m)
{
	return m->hints.max_sequence > 0 ? (size_t)m->hints.max_sequence : 0;
}

enum status text_encode(struct part *m, struct arena *a, const char *text, const char *pair, const struct truncation *cut,
	struct encoding *out, struct error *err)
{
	const struct token_text in = { text, strlen(text), pair, pair ? strlen(pair) : 0, cut ? 0 : text_most(m) };
	struct tokenizer *t;
	enum status st = part_tokenizer(m, &t, err);

	if (!st)
		st = tokenizer_check_bytes(in.nbytes + in.pair_nbytes, text_most(m), err);
	return st ? st : tokenizer_encode_batch(t, a, &in, 1, true, cut, NULL, out, err);
}

static struct tensor row_of(const char *name, int64_t *data, size_t count)
{
	return (struct tensor){ .name = name,
		.dtype = DTYPE_I64,
		.rank = 2,
		.dim = { 1, (int64_t)count },
		.data = data,
		.nbytes = count * sizeof *data };
}

struct tensor text_ids(const char *name, struct arena *a, const uint32_t *ids, size_t count)
{
	int64_t *data = ARENA_ARRAY(a, count + 1, int64_t);

	for (size_t i = 0; i < count; i++)
		data[i] = ids[i];
	return row_of(name, data, count);
}

enum status text_tensors(
	const struct part *m, struct arena *a, const struct encoding *e, struct tensor **out, size_t *count, struct error *err)
{
	int64_t *ids = ARENA_ARRAY(a, e->count + 1, int64_t), *mask = ARENA_ARRAY(a, e->count + 1, int64_t),
		*types = ARENA_ARRAY(a, e->count + 1, int64_t);

	if (!e->count)
		return error_set(err, STATUS_BAD_INPUT, "the text has no tokens");
	if (m->hints.max_sequence > 0 && e->count > (size_t)m->hints.max_sequence)
		return error_set(err, STATUS_BAD_INPUT, "the text has %zu tokens, and the model takes %lld", e->count,
			(long long)m->hints.max_sequence);
	for (size_t i = 0; i < e->count; i++) {
		if (m->hints.vocab_size > 0 && e->tokens[i].id >= (uint64_t)m->hints.vocab_size)
			return error_set(err, STATUS_BAD_INPUT, "token %u of the tokenizer is none of the model's %lld",
				e->tokens[i].id, (long long)m->hints.vocab_size);
		ids[i] = e->tokens[i].id;
		mask[i] = !(e->tokens[i].flags & TOKEN_PADDING);
		types[i] = e->tokens[i].type < m->hints.type_vocab_size ? e->tokens[i].type
									: 0; // a model with one has no use for two
	}
	*out = ARENA_ARRAY(a, 4, struct tensor);
	(*out)[0] = row_of("input_ids", ids, e->count);
	(*out)[1] = row_of("attention_mask", mask, e->count);
	(*out)[2] = row_of("token_type_ids", types, e->count);
	*count = 3;
	return STATUS_OK;
}

enum status text_run(
	struct part *m, struct arena *a, const struct encoding *e, struct tensor **out, size_t *count, struct error *err)
{
	struct tensor *in;
	size_t n;
	enum status st = text_tensors(m, a, e, &in, &n, err);

	return st ? st : part_run(m, &arch_whole, in, n, a, out, count, err);
}

// " ." to "." and the like, as clean_up_tokenization of transformers: of files that say clean_up_tokenization_spaces, and whose
// model is not BPE.
static char *cleaned(struct arena *a, const char *text)
{
	static const char *const pairs[][2] = { { " .", "." }, { " ?", "?" }, { " !", "!" }, { " ,", "," }, { " ' ", "'" },
		{ " n't", "n't" }, { " 'm", "'m" }, { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" } };
	char *out = arena_strdup(a, text);

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		size_t from = strlen(pairs[i][0]), to = strlen(pairs[i][1]);
		char *read = out, *write = out;

		while (*read)
			if (!strncmp(read, pairs[i][0], from)) {
				memmove(write, pairs[i][1], to);
				read += from;
				write += to;
			} else {
				*write++ = *read++;
			}
		*write = 0;
	}
	return out;
}

enum status text_decode(
	struct part *m, struct arena *a, const uint32_t *ids, size_t count, bool skip_special, char **out, struct error *err)
{
	struct tokenizer *t;
	size_t nbytes;
	enum status st = part_tokenizer(m, &t, err);

	if (!st && !(st = tokenizer_decode(t, a, ids, count, skip_special, out, &nbytes, err)) && part_cleans_up(m) &&
		!tokenizer_merges(t))
		*out = cleaned(a, *out);
	return st;
}

enum status text_of_tokens(
	struct part *m, struct arena *a, const char *const *tokens, size_t count, char **out, struct error *err)
{
	struct tokenizer *t;
	size_t nbytes;
	enum status st = part_tokenizer(m, &t, err);

	return st ? st : tokenizer_join(t, a, tokens, count, out, &nbytes, err);
}

// Where code point n begins; the text's end where it has fewer.
static const char *point_at(const char *text, size_t n)
{
	for (; *text && n; n--)
		do
			text++;
		while ((*text & 0xc0) == 0x80);
	return text;
}

char *text_slice(struct arena *a, const char *text, size_t begin, size_t end)
{
	const char *from = point_at(text, begin), *to = end > begin ? point_at(from, end - begin) : from;

	return arena_strndup(a, from, (size_t)(to - from));
}

size_t text_length(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

bool text_cut(struct part *m, enum truncation_strategy strategy, struct truncation *out)
{
	*out = (struct truncation){ .max_length = part_max_length(m), .strategy = strategy };
	return out->max_length > 0;
}

// The texts of a pair are tokenized each by itself, and the first one is whole: so many tokens that are not special are its own.
enum status text_second(
	struct part *m, struct arena *a, const char *first, const struct encoding *e, bool **out, struct error *err)
{
	const struct token_text in = { .text = first, .nbytes = strlen(first) };
	struct tokenizer *t;
	struct encoding alone;
	size_t seen = 0;
	enum status st = part_tokenizer(m, &t, err);

	if (st || (st = tokenizer_encode_batch(t, a, &in, 1, false, NULL, NULL, &alone, err)))
		return st;
	*out = ARENA_ARRAY(a, e->count + 1, bool);
	for (size_t i = 0; i < e->count; i++)
		if (!(e->tokens[i].flags & (TOKEN_SPECIAL | TOKEN_PADDING)))
			(*out)[i] = seen++ >= alone.count;
	return STATUS_OK;
}
