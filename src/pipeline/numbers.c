// SPDX-License-Identifier: Apache-2.0
// numbers.h: spans of a text that are numbers, words for numbers, or dates.
#include "pipeline/numbers.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "token/unicode.h"

enum { DATE_WORDS = 5, QUANTITY_TEXT_MOST = 64, YEAR_LEAST = 1700, YEAR_MOST = 2016, YEAR_NONE = 1900 };

struct span {
	size_t begin, end; // code points
	struct quantities found;
};

struct reading {
	struct arena *a;
	uint32_t *code; // lower case, one blank between words
	size_t length;
	struct span *spans;
	size_t count;
};

static bool is_alnum(uint32_t code)
{
	const char *category = &UNICODE_CATEGORIES[2 * unicode_of(code)->category];

	return category[0] == 'L' || category[0] == 'N';
}

static bool is_digit(uint32_t code)
{
	return code >= '0' && code <= '9';
}

static void normalise(struct reading *r, const char *text)
{
	const size_t nbytes = strlen(text);
	bool blank = false;

	r->code = ARENA_ARRAY(r->a, nbytes * UNICODE_MOST + 1, uint32_t);
	for (size_t i = 0, n; i < nbytes; i += n) {
		uint32_t code = utf8_next(text + i, &n);

		if (unicode_is(code, UNICODE_SPACE)) {
			blank = r->length > 0;
			continue;
		}
		if (blank)
			r->code[r->length++] = ' ';
		blank = false;
		r->length += unicode_to_lower(code, r->code + r->length);
	}
}

static struct span *span_at(struct reading *r, size_t begin, size_t end)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->spans[i].begin == begin && r->spans[i].end == end)
			return &r->spans[i];
	return NULL;
}

static void add(struct reading *r, size_t begin, size_t end, struct quantity q)
{
	struct span *s = span_at(r, begin, end);

	if (!s) {
		s = &r->spans[r->count++];
		*s = (struct span){ begin, end, { ARENA_ARRAY(r->a, 3, struct quantity), 0 } };
	}
	s->found.items[s->found.count++] = q;
}

// A span as ASCII; false: it has other characters, or is longer than any number or date that is looked for.
static bool ascii_of(const struct reading *r, size_t begin, size_t end, char out[QUANTITY_TEXT_MOST])
{
	if (end - begin >= QUANTITY_TEXT_MOST)
		return false;
	for (size_t i = begin; i < end; i++) {
		if (r->code[i] >= 0x80)
			return false;
		out[i - begin] = (char)r->code[i];
	}
	out[end - begin] = 0;
	return true;
}

// ---- numbers ---------------------------------------------------------------------------------------------------------------

// What Python's float() makes of a text that has no letters but an exponent's and no commas.
static bool number_of(const char *text, double *out)
{
	char plain[QUANTITY_TEXT_MOST], *end;
	size_t n = 0;

	for (; *text; text++)
		if (*text != ',')
			plain[n++] = *text;
	plain[n] = 0;
	const char *at = plain + strspn(plain, " ");
	at += *at == '+' || *at == '-';
	if (!(isdigit((unsigned char)*at) || *at == '.') || strpbrk(plain, "xXpP"))
		return false;
	*out = strtod(plain, &end);
	return !*end && isfinite(*out);
}

// 5 of "5th", 12 of "1,2"
static bool number_or_ordinal(const char *text, double *out)
{
	static const char *const suffixes[] = { "st", "nd", "rd", "th" };
	char stem[QUANTITY_TEXT_MOST];
	size_t n = strlen(text);

	memcpy(stem, text, n + 1);
	for (size_t i = 0; i < 4; i++)
		if (n >= 2 && text_is(text + n - 2, suffixes[i])) {
			stem[n - 2] = 0;
			break;
		}
	return number_of(stem, out);
}

static bool word_of(const char *text, double *out)
{
	static const char *const words[2][13] = { { "zero", "one", "two", "three", "four", "five", "six", "seven", "eight",
							  "nine", "ten", "eleven", "twelve" },
		{ "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
			"eleventh", "twelfth" } };

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < 13; i++)
			if (text_is(words[k][i], text)) {
				*out = i;
				return true;
			}
	return false;
}

static size_t digits(const struct reading *r, size_t at)
{
	size_t n = 0;

	while (at + n < r->length && is_digit(r->code[at + n]))
		n++;
	return n;
}

// Where (\.\d+)|(\d+(,\d\d\d)*(\.\d*)?) ends that begins at `at`; `at`: it does not match.
static size_t unsigned_end(const struct reading *r, size_t at)
{
	size_t i = at + digits(r, at);

	if (i == at)
		return at < r->length && r->code[at] == '.' && digits(r, at + 1) ? at + 1 + digits(r, at + 1) : at;
	while (i < r->length && r->code[i] == ',' && digits(r, i + 1) >= 3)
		i += 4;
	return i < r->length && r->code[i] == '.' ? i + 1 + digits(r, i + 1) : i;
}

// The same with ((^|\s)[+-])? before it.
static size_t number_end(const struct reading *r, size_t at)
{
	size_t sign = at + (r->code[at] == ' ');

	if ((sign > at || !at) && sign < r->length && (r->code[sign] == '+' || r->code[sign] == '-') &&
		unsigned_end(r, sign + 1) > sign + 1)
		return unsigned_end(r, sign + 1);
	return unsigned_end(r, at);
}

static void find_numbers(struct reading *r)
{
	char text[QUANTITY_TEXT_MOST];
	double x;

	for (size_t i = 0, end; i<r->length; i = end> i ? end : i + 1) {
		end = number_end(r, i);
		if (end > i && ascii_of(r, i, end, text) && number_or_ordinal(text, &x))
			add(r, i, end, (struct quantity){ false, { x } });
	}
}

// ---- dates -----------------------------------------------------------------------------------------------------------------

static const char *const months[] = { "january", "february", "march", "april", "may", "june", "july", "august", "september",
	"october", "november", "december" };
static const char *const days[] = { "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday" };

// In the order in which they are tried; letters as strptime has them.
static const char *const patterns[] = { "%B", "%Y", "%Ys", "%b %Y", "%B %Y", "%B %d", "%b %d", "%d %b", "%d %B", "%B %d, %Y",
	"%d %B %Y", "%m-%d-%Y", "%Y-%m-%d", "%Y-%m", "%d %b %Y", "%b %d, %Y", "%d.%m.%Y", "%A, %b %d", "%A, %B %d" };

static size_t name_at(const char *text, const char *const *names, size_t count, size_t letters, double *number)
{
	for (size_t i = 0; i < count; i++) {
		size_t n = letters ? letters : strlen(names[i]);

		if (!strncmp(text, names[i], n) && !isalnum((unsigned char)text[n])) {
			*number = (double)i + 1;
			return n;
		}
	}
	return 0;
}

// At most `most` digits, `exact`: no fewer.
static size_t number_at(const char *text, size_t most, bool exact, double *number)
{
	size_t n = 0;

	for (*number = 0; n < most && isdigit((unsigned char)text[n]); n++)
		*number = 10 * *number + (text[n] - '0');
	return exact && n < most ? 0 : n;
}

// How much of the text a letter of a pattern takes; 0: nothing.
static size_t field_at(const char *text, char letter, double date[3])
{
	double weekday;

	switch (letter) {
	case 'A':
		return name_at(text, days, 7, 0, &weekday);
	case 'B':
		return name_at(text, months, 12, 0, &date[1]);
	case 'b':
		return name_at(text, months, 12, 3, &date[1]);
	case 'Y':
		return number_at(text, 4, true, &date[0]);
	case 'm':
		return number_at(text, 2, false, &date[1]);
	default:
		return number_at(text, 2, false, &date[2]);
	}
}

static bool is_date(const char *pattern, const double date[3])
{
	static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int year = strchr(pattern, 'Y') ? (int)date[0] : YEAR_NONE, month = (int)date[1];
	bool has_month = strpbrk(pattern, "Bbm") != NULL, has_day = strchr(pattern, 'd') != NULL;
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	if (year < YEAR_LEAST || year > YEAR_MOST || (has_month && (month < 1 || month > 12)))
		return false;
	return !has_day || (date[2] >= 1 && date[2] <= lengths[month - 1] + (month == 2 && leap));
}

static bool date_by(const char *pattern, const char *text, double date[3])
{
	size_t n = 1;

	date[0] = date[1] = date[2] = 0;
	for (const char *p = pattern; *p && n; p += *p == '%' ? 2 : 1) {
		n = *p == '%' ? field_at(text, p[1], date) : *text == *p;
		text += n;
	}
	return n && !*text && is_date(pattern, date);
}

static void find_date(struct reading *r, size_t begin, size_t end)
{
	char text[QUANTITY_TEXT_MOST];
	struct quantity q = { .is_date = true };

	if (!ascii_of(r, begin, end, text))
		return;
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		if (date_by(patterns[i], text, q.x)) {
			add(r, begin, end, q);
			return;
		}
}

// ---- both --------------------------------------------------------------------------------------------------------------------

static void find_word(struct reading *r, size_t begin, size_t end)
{
	char text[QUANTITY_TEXT_MOST];
	double x;

	if (!span_at(r, begin, end) && ascii_of(r, begin, end, text) && (number_or_ordinal(text, &x) || word_of(text, &x)))
		add(r, begin, end, (struct quantity){ false, { x } });
}

// Words, and with `most` the last so many of them together.
static void each_span(struct reading *r, size_t most, void (*visit)(struct reading *, size_t begin, size_t end))
{
	size_t starts[DATE_WORDS], count = 0;

	for (size_t i = 0; i < r->length; i++) {
		if (!is_alnum(r->code[i]))
			continue;
		if (!i || !is_alnum(r->code[i - 1])) {
			if (count == most)
				memmove(starts, starts + 1, (--count) * sizeof *starts);
			starts[count++] = i;
		}
		if (i + 1 == r->length || !is_alnum(r->code[i + 1]))
			for (size_t k = 0; k < count; k++)
				visit(r, starts[k], i + 1);
	}
}

static int longest_first(const void *x, const void *y)
{
	const struct span *a = x, *b = y;
	size_t n = a->end - a->begin, m = b->end - b->begin;

	return n != m ? (n > m ? -1 : 1) : (a->begin > b->begin) - (a->begin < b->begin);
}

static int in_order(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

// Those that lie in none that was taken before.
static void keep_longest(struct reading *r)
{
	size_t kept = 0;

	qsort(r->spans, r->count, sizeof *r->spans, longest_first);
	for (size_t i = 0; i < r->count; i++) {
		size_t k = 0;

		while (k < kept && !(r->spans[k].begin <= r->spans[i].begin && r->spans[i].end <= r->spans[k].end))
			k++;
		if (k == kept)
			r->spans[kept++] = r->spans[i];
	}
	r->count = kept;
	qsort(r->spans, r->count, sizeof *r->spans, in_order);
}

void quantities_of(struct quantities *out, struct arena *a, const char *text)
{
	struct reading r = { .a = a };
	size_t n = 0;

	normalise(&r, text);
	r.spans = ARENA_ARRAY(a, (DATE_WORDS + 2) * r.length + 1, struct span);
	find_numbers(&r);
	each_span(&r, 1, find_word);
	each_span(&r, DATE_WORDS, find_date);
	keep_longest(&r);
	for (size_t i = 0; i < r.count; i++)
		n += r.spans[i].found.count;
	*out = (struct quantities){ ARENA_ARRAY(a, n + 1, struct quantity), 0 };
	for (size_t i = 0; i < r.count; i++)
		for (size_t k = 0; k < r.spans[i].found.count; k++)
			out->items[out->count++] = r.spans[i].found.items[k];
}

bool quantities_compare(const struct quantity *const *items, size_t count, bool fields[3])
{
	for (int f = 0; f < 3; f++)
		fields[f] = count && (items[0]->is_date || f == 0);
	for (size_t i = 0; i < count; i++) {
		if (items[i]->is_date != items[0]->is_date)
			return false;
		for (int f = 0; f < 3 && items[i]->is_date; f++)
			fields[f] &= items[i]->x[f] > 0;
	}
	return fields[0] || fields[1] || fields[2];
}

int quantity_order(const struct quantity *x, const struct quantity *y, const bool fields[3])
{
	for (int f = 0; f < 3; f++)
		if (fields[f] && x->x[f] != y->x[f])
			return x->x[f] < y->x[f] ? -1 : 1;
	return 0;
}

bool quantity_text_empty(const char *text)
{
	struct arena a = { 0 };
	struct reading r = { .a = &a };
	bool empty = true;
	char word[QUANTITY_TEXT_MOST];

	normalise(&r, text);
	for (size_t i = 0; i < r.length; i++)
		empty &= !is_alnum(r.code[i]);
	if (!empty && ascii_of(&r, 0, r.length, word))
		empty = text_is(word, "n/a") || text_is(word, "nan");
	arena_done(&a);
	return empty;
}
