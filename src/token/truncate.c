// SPDX-License-Identifier: Apache-2.0
// Encodings joined, cut and filled up, as the library does it.
#include "token/inside.h"

enum { OVERFLOW_MOST = 1 << 16, TOKENS_MOST = 1 << 18, BATCH_MOST = 1 << 24 };

void encoding_push(struct encoding *e, struct arena *a, size_t *room, struct token t)
{
	if (e->count == *room) {
		size_t more = *room * 2 + 16;
		struct token *tokens = ARENA_ARRAY(a, more, struct token);
		if (e->count)
			memcpy(tokens, e->tokens, e->count * sizeof *tokens);
		e->tokens = tokens;
		*room = more;
	}
	e->tokens[e->count++] = t;
}

static struct encoding joined(struct arena *a, const struct encoding *x, const struct encoding *y)
{
	struct encoding e = { ARENA_ARRAY(a, x->count + y->count + 1, struct token), x->count + y->count, NULL, 0 };

	if (x->count)
		memcpy(e.tokens, x->tokens, x->count * sizeof *e.tokens);
	if (y->count)
		memcpy(e.tokens + x->count, y->tokens, y->count * sizeof *e.tokens);
	return e;
}

size_t encoding_tokens(const struct encoding *all, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += all[i].count + encoding_tokens(all[i].overflow, all[i].overflow_count);
	return n;
}

static enum status within(size_t made, size_t of, size_t most, struct error *err)
{
	return made <= most ? STATUS_OK
			    : error_set(err, STATUS_BAD_INPUT,
				      "truncation, padding or a template makes %zu tokens of a text of %zu; at most %zu are made",
				      made, of, most);
}

enum status tokens_within(size_t made, size_t of, struct error *err)
{
	return within(made, of, TOKENS_MOST + 4 * of, err);
}

// What was cut off of both is joined, too: each part of the one with the other and with each of its parts. Joined parts have
// none.
enum status encoding_merge(struct encoding *e, struct arena *a, const struct encoding *with, struct error *err)
{
	size_t n = 0, most = e->overflow_count * (with->overflow_count + 1) + with->overflow_count;
	size_t tokens = (e->count + with->count) * (most + 1);

	if (e->overflow_count > OVERFLOW_MOST || with->overflow_count > OVERFLOW_MOST || most > OVERFLOW_MOST)
		return error_set(err, STATUS_BAD_INPUT, "truncation leaves %zu parts of a pair", most);
	enum status s = tokens_within(tokens, encoding_tokens(e, 1) + encoding_tokens(with, 1), err);
	if (s)
		return s;
	struct encoding *overflow = most ? ARENA_ARRAY(a, most, struct encoding) : NULL;
	for (size_t i = 0; i < e->overflow_count; i++) {
		overflow[n++] = joined(a, &e->overflow[i], with);
		for (size_t k = 0; k < with->overflow_count; k++)
			overflow[n++] = joined(a, &e->overflow[i], &with->overflow[k]);
	}
	for (size_t k = 0; k < with->overflow_count; k++)
		overflow[n++] = joined(a, e, &with->overflow[k]);
	*e = joined(a, e, with);
	e->overflow = overflow;
	e->overflow_count = n;
	return STATUS_OK;
}

enum status encoding_cut(struct encoding *e, struct arena *a, size_t most, const struct truncation *how, struct error *err)
{
	size_t length = e->count, n = 0;

	if (most >= length)
		return STATUS_OK;
	if (!most) {
		struct encoding *all = ARENA_NEW(a, struct encoding);
		*all = *e;
		*e = (struct encoding){ NULL, 0, all, 1 };
		return STATUS_OK;
	}
	if (how->stride >= most)
		return error_set(err, STATUS_BAD_INPUT, "a stride of %zu is not less than the length of %zu that is left",
			how->stride, most);
	size_t step = most - how->stride, count = (length - most + step - 1) / step + 1;
	enum status s = tokens_within(count > TOKENS_MOST + 4 * length ? count : count * most, length, err);
	if (s)
		return s;
	struct encoding *part = ARENA_ARRAY(a, count, struct encoding);
	for (size_t i = 0; i < count; i++) {
		size_t begin = i * step, end = begin + most < length ? begin + most : length;
		if (how->left) {
			end = length - i * step;
			begin = end > most ? end - most : 0;
		}
		part[n++] = (struct encoding){ e->tokens + begin, end - begin, NULL, 0 };
		if (how->left ? begin == 0 : end == length)
			break;
	}
	*e = part[0];
	// The parts are changed one by one later on: none shares tokens with another.
	for (size_t i = 0; i < n; i++)
		part[i] = joined(a, &part[i], &(struct encoding){ 0 });
	*e = part[0];
	e->overflow = part + 1;
	e->overflow_count = n - 1;
	return STATUS_OK;
}

// `two` may be NULL. `most`: of both, without what the post-processor adds.
enum status truncate_pair(
	struct encoding *one, struct encoding *two, struct arena *a, size_t most, const struct truncation *how, struct error *err)
{
	size_t n1 = one->count, n2 = two ? two->count : 0, remove;
	enum status s;

	if (!most) {
		s = encoding_cut(one, a, 0, how, err);
		return s == STATUS_OK && two ? encoding_cut(two, a, 0, how, err) : s;
	}
	if (n1 + n2 <= most)
		return STATUS_OK;
	remove = n1 + n2 - most;
	if (how->strategy == LONGEST_FIRST && !two)
		return encoding_cut(one, a, most, how, err);
	if (how->strategy == LONGEST_FIRST) {
		size_t small = n1 < n2 ? n1 : n2, large;
		large = small > most ? small : small > most - small ? small : most - small;
		if (small + large > most) {
			small = most / 2;
			large = small + most % 2;
		}
		s = encoding_cut(one, a, n1 > n2 ? large : small, how, err);
		return s ? s : encoding_cut(two, a, n1 > n2 ? small : large, how, err);
	}
	if (how->strategy == ONLY_SECOND && !two)
		return error_set(err, STATUS_BAD_INPUT, "truncation of the second text, and there is one only");
	struct encoding *target = how->strategy == ONLY_FIRST ? one : two;
	if (target->count <= remove)
		return error_set(err, STATUS_BAD_INPUT, "the text that may be cut is too short for the length that is asked for");
	return encoding_cut(target, a, target->count - remove, how, err);
}

static void pad_one(struct encoding *e, struct arena *a, size_t length, const struct padding *how)
{
	for (size_t i = 0; i < e->overflow_count; i++)
		pad_one(&e->overflow[i], a, length, how);
	if (e->count >= length)
		return;
	size_t n = length - e->count, first = how->left ? 0 : e->count;
	struct token *tokens = ARENA_ARRAY(a, length, struct token);
	if (e->count)
		memcpy(tokens + (how->left ? n : 0), e->tokens, e->count * sizeof *tokens);
	for (size_t i = 0; i < n; i++)
		tokens[first + i] = (struct token){ .id = how->id,
			.type = how->type,
			.nbytes = (uint32_t)strlen(how->token),
			.flags = TOKEN_SPECIAL | TOKEN_PADDING,
			.text = how->token };
	e->tokens = tokens;
	e->count = length;
}

enum status pad_all(struct encoding *all, size_t count, struct arena *a, const struct padding *how, struct error *err)
{
	size_t length = how->length, parts = count;

	for (size_t i = 0; !how->length && i < count; i++)
		length = all[i].count > length ? all[i].count : length;
	if (how->multiple && length % how->multiple)
		length += how->multiple - length % how->multiple;
	for (size_t i = 0; i < count; i++)
		parts += all[i].overflow_count;
	// Of a batch, so much for each of its texts.
	size_t of = encoding_tokens(all, count);
	size_t most = (count < BATCH_MOST / TOKENS_MOST ? count * TOKENS_MOST : BATCH_MOST) + 4 * of;
	enum status s = within(length > most ? length : length * parts, of, most, err);
	for (size_t i = 0; !s && i < count; i++)
		pad_one(&all[i], a, length, how);
	return s;
}
