// SPDX-License-Identifier: Apache-2.0
// Growing strings and the few questions about strings that are asked everywhere. Numbers are read whole or not at all.
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/base64.h>

#include "base/arena.h"

static void reserve(struct text *t, size_t more)
{
	size_t need;
	if (__builtin_add_overflow(t->length, more, &need) || need > SIZE_MAX / 2 - 1)
		abort();
	need++;
	if (need <= t->capacity)
		return;
	size_t capacity = t->capacity ? t->capacity * 2 : 64;
	if (capacity < need)
		capacity = need;
	char *data = realloc(t->data, capacity);
	if (!data)
		out_of_memory(capacity);
	t->data = data;
	t->capacity = capacity;
}

void text_add_bytes(struct text *t, const void *data, size_t nbytes)
{
	reserve(t, nbytes);
	if (nbytes)
		memcpy(t->data + t->length, data, nbytes);
	t->length += nbytes;
	t->data[t->length] = 0;
}

void text_add(struct text *t, const char *s)
{
	text_add_bytes(t, s, strlen(s));
}

void text_add_word(struct text *t, const char *word)
{
	if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@+")]) {
		text_add(t, word);
		return;
	}
	text_add(t, "'");
	for (const char *p = word; *p; p++)
		text_add_bytes(t, *p == '\'' ? "'\\''" : p, *p == '\'' ? 4 : 1);
	text_add(t, "'");
}

void text_add_url(struct text *t, const char *s, bool keep_slashes)
{
	for (const unsigned char *p = (const unsigned char *)s; *p; p++)
		if ((*p < 128 && isalnum(*p)) || strchr("-._~", *p) || (keep_slashes && *p == '/'))
			text_add_bytes(t, p, 1);
		else
			text_addf(t, "%%%02X", *p);
}

void text_add_base64(struct text *t, const void *data, size_t nbytes)
{
	reserve(t, BASE64_ENCODE_RAW_LENGTH(nbytes));
	base64_encode_raw(t->data + t->length, nbytes, data);
	t->length += BASE64_ENCODE_RAW_LENGTH(nbytes);
	t->data[t->length] = 0;
}

void text_addv(struct text *t, const char *format, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, format, ap);
	if (n >= 0) {
		reserve(t, (size_t)n);
		vsnprintf(t->data + t->length, (size_t)n + 1, format, again);
		t->length += (size_t)n;
	}
	va_end(again);
}

void text_addf(struct text *t, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	text_addv(t, format, ap);
	va_end(ap);
}

const char *text_get(const struct text *t)
{
	return t->data ? t->data : "";
}

void text_done(struct text *t)
{
	free(t->data);
	*t = (struct text){ 0 };
}

bool text_is(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool text_agree(const char *a, const char *b)
{
	return !a || !b || text_is(a, b);
}

void text_fit(char *out, size_t size, const char *from)
{
	static const char between[] = " ... ";
	const size_t length = strlen(from), begin = (size - sizeof between) / 3, end = size - sizeof between - begin;

	if (length < size)
		memcpy(out, from, length + 1);
	else
		snprintf(out, size, "%.*s%s%s", (int)begin, from, between, from + length - end);
}

bool text_starts(const char *s, const char *prefix)
{
	return s && prefix && !strncmp(s, prefix, strlen(prefix));
}

bool text_ends(const char *s, const char *suffix)
{
	if (!s || !suffix)
		return false;
	size_t n = strlen(s), m = strlen(suffix);
	return n >= m && !memcmp(s + n - m, suffix, m);
}

bool text_to_int(const char *s, int64_t min, int64_t max, int64_t *out)
{
	if (!s || !((*s >= '0' && *s <= '9') || (*s == '-' && s[1] >= '0' && s[1] <= '9')))
		return false;
	char *end;
	errno = 0;
	long long x = strtoll(s, &end, 10);
	if (errno || *end || x < min || x > max)
		return false;
	*out = x;
	return true;
}

bool text_to_double(const char *s, double min, double max, double *out)
{
	// strtod also takes blanks, "nan", "inf" and hexadecimal, and follows the locale; none of those is a number here.
	if (!s || !*s || s[strspn(s, "0123456789+-.eE")] || *s == '+')
		return false;
	char *end;
	errno = 0;
	double x = strtod(s, &end);
	if (errno == ERANGE || end == s || *end || !(x >= min && x <= max))
		return false;
	*out = x;
	return true;
}

// Number of single-letter edits (insert, delete, replace, swap of neighbours) between two words, at most 63 letters each.
static int edit_distance(const char *a, const char *b)
{
	int rows[3][64];
	int n = (int)strnlen(b, 64), m = (int)strnlen(a, 64);
	if (n > 63 || m > 63)
		return 64;
	for (int j = 0; j <= n; j++)
		rows[0][j] = j;
	for (int i = 1; i <= m; i++) {
		int *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
		now[0] = i;
		for (int j = 1; j <= n; j++) {
			int best = last[j - 1] + (a[i - 1] != b[j - 1]);
			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
	}
	return rows[m % 3][n];
}

const char *text_nearest(const char *word, const char *(*name)(size_t i, const void *table), const void *table)
{
	const char *best = NULL, *n;
	int distance = (int)strlen(word) / 3 + 2; // farther away than this is another word
	for (size_t i = 0; (n = name(i, table)) != NULL; i++) {
		int d = edit_distance(word, n);
		if (d < distance) {
			distance = d;
			best = n;
		}
	}
	return best;
}
