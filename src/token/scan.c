// SPDX-License-Identifier: Apache-2.0
#include "token/scan.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/visible.h"
#include "token/unicode.h"

bool scan_fail(struct scan *s, const char *why)
{
	if (!s->error)
		s->error = why;
	return false;
}

void scan_done(struct scan *s)
{
	text_done(&s->unescaped[0]);
	text_done(&s->unescaped[1]);
}

enum { KEPT_MOST = 1 << 20 };

static void blanks(struct scan *s)
{
	for (;; s->at++) {
		if (s->kept && s->at - s->kept > KEPT_MOST) {
			pages_forget(s->kept, (size_t)(s->at - s->kept));
			s->kept = s->at;
		}
		if (s->at == s->end || (*s->at != ' ' && *s->at != '\n' && *s->at != '\t' && *s->at != '\r'))
			return;
	}
}

char scan_peek(struct scan *s)
{
	blanks(s);
	if (s->at == s->end || s->error)
		return 0;
	return (*s->at >= '0' && *s->at <= '9') || *s->at == '-' ? '0' : *s->at;
}

static bool take(struct scan *s, char c, const char *why)
{
	if (s->error)
		return false;
	blanks(s);
	if (s->at == s->end || *s->at != c)
		return scan_fail(s, why);
	s->at++;
	return true;
}

bool scan_open(struct scan *s, char bracket)
{
	return take(s, bracket, bracket == '{' ? "'{' expected" : "'[' expected");
}

bool scan_more(struct scan *s, char bracket, bool *first)
{
	bool is_first = *first;

	if (s->error)
		return false;
	*first = false;
	blanks(s);
	if (s->at < s->end && *s->at == bracket) {
		s->at++;
		return false;
	}
	return is_first || take(s, ',', "',' expected");
}

static int hex4(const char *p, const char *end)
{
	int v = 0;

	for (int i = 0; i < 4; i++, p++) {
		char l;
		if (p >= end)
			return -1;
		l = (char)(*p | 32);
		if (*p >= '0' && *p <= '9')
			v = v * 16 + (*p - '0');
		else if (l >= 'a' && l <= 'f')
			v = v * 16 + (l - 'a' + 10);
		else
			return -1;
	}
	return v;
}

// s->at behind a backslash.
static bool unescape(struct scan *s, struct text *out)
{
	static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";
	char c = *s->at++, utf8[4];

	if (c == 'u') {
		int v = hex4(s->at, s->end), low;
		if (v < 0 || (v >= 0xDC00 && v < 0xE000))
			return scan_fail(s, "a \\u that is no character");
		s->at += 4;
		if (v >= 0xD800 && v < 0xDC00) {
			if (s->end - s->at < 6 || s->at[0] != '\\' || s->at[1] != 'u' ||
				(low = hex4(s->at + 2, s->end)) < 0xDC00 || low >= 0xE000)
				return scan_fail(s, "half of a surrogate pair");
			s->at += 6;
			v = 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
		}
		text_add_bytes(out, utf8, utf8_put(utf8, (uint32_t)v));
		return true;
	}
	const char *known = c ? strchr(names, c) : NULL;
	if (!known)
		return scan_fail(s, "an escape that is not known");
	text_add_bytes(out, &codes[known - names], 1);
	return true;
}

bool scan_string(struct scan *s, const char **out, size_t *nbytes)
{
	unsigned char all = 0;

	if (!take(s, '"', "a string expected"))
		return false;
	const char *begin = s->at, *p = begin;
	const char *end = s->end - begin > SCAN_STRING_MOST ? begin + SCAN_STRING_MOST : s->end;
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ')
		all |= (unsigned char)*p++;
	if (p < end && *p == '"') {
		s->at = p + 1;
		*out = begin;
		*nbytes = (size_t)(p - begin);
	} else {
		struct text *t = &s->unescaped[s->turn ^= 1];
		t->length = 0;
		text_add(t, "");
		text_add_bytes(t, begin, (size_t)(p - begin));
		for (s->at = p; s->at < end && *s->at != '"';) {
			if ((unsigned char)*s->at < ' ')
				return scan_fail(s, "a control character in a string");
			if (*s->at == '\\') {
				s->at++;
				if (s->at == s->end || !unescape(s, t))
					return scan_fail(s, "a string without its end");
				continue;
			}
			const char *from = s->at;
			while (s->at < end && *s->at != '"' && *s->at != '\\' && (unsigned char)*s->at >= ' ')
				s->at++;
			text_add_bytes(t, from, (size_t)(s->at - from));
		}
		if (s->at >= end)
			return scan_fail(s, end < s->end ? "a string that is too long" : "a string without its end");
		s->at++;
		*out = text_get(t);
		*nbytes = t->length;
		all = 0x80;
	}
	if (all >= 0x80 && visible_not_utf8(*out, *nbytes) != *nbytes)
		return scan_fail(s, "a string that is no UTF-8");
	return true;
}

bool scan_key(struct scan *s, const char **out, size_t *nbytes)
{
	return scan_string(s, out, nbytes) && take(s, ':', "':' expected");
}

bool scan_id(struct scan *s, uint32_t *out)
{
	uint64_t v = 0;
	const char *begin;

	if (scan_peek(s) != '0' || *s->at == '-')
		return scan_fail(s, "an id expected");
	for (begin = s->at; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
		if ((v = v * 10 + (uint64_t)(*s->at - '0')) > UINT32_MAX)
			return scan_fail(s, "an id that is too large");
	if (s->at < s->end && (*s->at == '.' || *s->at == 'e' || *s->at == 'E'))
		return scan_fail(s, "an id that is no whole number");
	*out = (uint32_t)v;
	return s->at > begin;
}

static double power_of_ten(long n) // 0 to 308
{
	static const double small[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
		1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

	return n <= 22 ? small[n] : pow(10, (double)n);
}

bool scan_number(struct scan *s, double *out)
{
	uint64_t significand = 0;
	long exponent = 0, e = 0;
	bool negative = false, dot = false, full = false, any = false;

	if (scan_peek(s) != '0')
		return scan_fail(s, "a number expected");
	if (*s->at == '-') {
		negative = true;
		s->at++;
	}
	for (; s->at < s->end; s->at++) {
		if (*s->at == '.' && !dot) {
			dot = true;
			continue;
		}
		if (*s->at < '0' || *s->at > '9')
			break;
		uint64_t digit = (uint64_t)(*s->at - '0');
		any = true;
		full |= significand > (UINT64_MAX - digit) / 10;
		if (full) { // further digits count by their place alone
			exponent += !dot;
			continue;
		}
		significand = significand * 10 + digit;
		exponent -= dot;
	}
	if (!any)
		return scan_fail(s, "a number expected");
	if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
		bool minus = false;
		s->at++;
		if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
			minus = *s->at++ == '-';
		for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
			e = e < 100000 ? e * 10 + (*s->at - '0') : e;
		exponent += minus ? -e : e;
	}
	double v = (double)significand;
	if (exponent < 0 && exponent >= -308)
		v /= power_of_ten(-exponent);
	else if (exponent < 0)
		v = exponent < -700 ? 0 : v / 1e308 / pow(10, (double)(-exponent - 308));
	else if (exponent > 0)
		v = exponent > 308 && significand ? (double)INFINITY : v * power_of_ten(exponent > 308 ? 0 : exponent);
	if (isinf(v))
		return scan_fail(s, "a number that is too large");
	*out = negative ? -v : v;
	return true;
}

static bool word(struct scan *s, const char *w)
{
	size_t n = strlen(w);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, w, n) != 0)
		return false;
	s->at += n;
	return true;
}

bool scan_bool(struct scan *s, bool *out)
{
	scan_peek(s);
	*out = word(s, "true");
	return *out || word(s, "false") || scan_fail(s, "true or false expected");
}

bool scan_null(struct scan *s)
{
	return scan_peek(s) == 'n' && word(s, "null");
}

bool scan_skip(struct scan *s)
{
	size_t depth = 0, nbytes;
	const char *text;
	double number;
	bool b;

	do {
		char c = scan_peek(s);
		if (c == '{' || c == '[') {
			depth++;
			s->at++;
		} else if (depth && (c == '}' || c == ']' || c == ',' || c == ':')) {
			depth -= c == '}' || c == ']';
			s->at++;
		} else if (c == '"') {
			scan_string(s, &text, &nbytes);
		} else if (c == '0') {
			scan_number(s, &number);
		} else if (!scan_null(s)) {
			scan_bool(s, &b);
		}
	} while (depth && !s->error);
	return !s->error;
}
