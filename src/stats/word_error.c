// SPDX-License-Identifier: Apache-2.0
#include "stats/word_error.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/visible.h"

struct word {
	const char *text;
	size_t nbytes;
};
struct words {
	struct word *items; // [WORD_ERROR_WORDS_MOST + 1]; NULL: they are only counted
	size_t count;
};

// Python's str.isspace, Unicode 16.
static bool is_space(uint32_t c)
{
	return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
		(c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

// How many characters of white space stand at `at`, and in *nbytes how long they are.
static size_t spaces_at(const char *at, size_t left, size_t *nbytes)
{
	size_t count = 0;
	uint32_t code = 0;

	*nbytes = 0;
	while (*nbytes < left) {
		const size_t n = visible_utf8(at + *nbytes, left - *nbytes, &code);

		if (!n || !is_space(code))
			break;
		*nbytes += n;
		count++;
	}
	return count;
}

// One space parts words, and so do two characters of white space or more; another one by itself belongs to its word, but at an
// end.
static void take_words(struct words *out, const char *text)
{
	const size_t nbytes = strlen(text);
	size_t begin = 0, skipped;

	spaces_at(text, nbytes, &begin);
	for (size_t at = begin; at <= nbytes && out->count <= WORD_ERROR_WORDS_MOST;) {
		const size_t spaces = spaces_at(text + at, nbytes - at, &skipped);
		const bool is_end = at + skipped == nbytes, parts = spaces > 1 || (spaces == 1 && text[at] == ' ') || is_end;

		if (parts && at > begin) {
			if (out->items)
				out->items[out->count] = (struct word){ text + begin, at - begin };
			out->count++;
		}
		if (is_end)
			break;
		at += parts ? skipped : skipped + 1; // a further byte of a character is no white space
		if (parts)
			begin = at;
	}
}

size_t word_error_words(const char *text)
{
	struct words w = { 0 };

	take_words(&w, text);
	return w.count;
}

static bool is_same(const struct word *x, const struct word *y)
{
	return x->nbytes == y->nbytes && !memcmp(x->text, y->text, x->nbytes);
}

// Edits of words before words, one row of the table at a time.
static size_t distance(const struct words *is, const struct words *wanted, size_t *row)
{
	for (size_t k = 0; k <= wanted->count; k++)
		row[k] = k;
	for (size_t i = 1; i <= is->count; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t k = 1; k <= wanted->count; k++) {
			const size_t other = diagonal + !is_same(&is->items[i - 1], &wanted->items[k - 1]);

			diagonal = row[k];
			row[k] = row[k] < row[k - 1] ? row[k] + 1 : row[k - 1] + 1;
			row[k] = other < row[k] ? other : row[k];
		}
	}
	return row[wanted->count];
}

bool word_error(const char *is, const char *wanted, size_t *errors, size_t *words)
{
	struct arena a = { 0 };
	struct words x = { ARENA_ARRAY(&a, WORD_ERROR_WORDS_MOST + 2, struct word), 0 },
		     y = { ARENA_ARRAY(&a, WORD_ERROR_WORDS_MOST + 2, struct word), 0 };

	take_words(&x, is);
	take_words(&y, wanted);
	const bool fits = x.count <= WORD_ERROR_WORDS_MOST && y.count <= WORD_ERROR_WORDS_MOST;
	if (fits) {
		*errors = distance(&x, &y, ARENA_ARRAY(&a, y.count + 1, size_t));
		*words = y.count;
	}
	arena_done(&a);
	return fits;
}
