// SPDX-License-Identifier: Apache-2.0
// Texts in quotes and numbers, as Python reads them.
#include "chat/inside.h"

#include <errno.h>
#include <stdlib.h>

#include "token/unicode.h"

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

// What stands behind a backslash at s[i], as Python's unicode-escape has it; the index behind it.
static size_t unescape(struct build *b, const char *s, size_t n, size_t i)
{
	static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
	char c = s[i];
	const char *known = c ? strchr(from, c) : NULL;

	if (c == '\n')
		return i + 1;
	if (known) {
		build_add(b, &to[known - from], 1);
		return i + 1;
	}
	if (c >= '0' && c <= '7') {
		uint32_t code = 0;
		size_t end = i + 3;
		for (; i < n && i < end && s[i] >= '0' && s[i] <= '7'; i++)
			code = code * 8 + (uint32_t)(s[i] - '0');
		build_code(b, code);
		return i;
	}
	size_t wanted = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	if (wanted) {
		uint32_t code = 0;
		for (size_t k = 1; k <= wanted; k++) {
			if (i + k >= n || hex(s[i + k]) < 0) {
				run_bad(b->r, "truncated \\%cXX escape", c);
				return n;
			}
			code = code << 4 | (uint32_t)hex(s[i + k]);
		}
		if (code >= UNICODE_END || (code >= 0xD800 && code < 0xE000)) {
			run_bad(b->r, "an escape that is no character");
			return n;
		}
		build_code(b, code);
		return i + 1 + wanted;
	}
	if (c == 'N') {
		run_fail(b->r, STATUS_UNSUPPORTED, "characters by their names (\\N) are not supported");
		return n;
	}
	build_add(b, "\\", 1);
	return i;
}

struct value chat_string(struct run *r, const struct lexeme **at)
{
	struct build b = BUILD(r);

	for (; (*at)->kind == T_STRING; (*at)++) {
		const char *s = (*at)->value.s;
		size_t n = (*at)->value.n;
		r->line = (*at)->line;
		for (size_t i = 0; i < n && !r->failed;) {
			const char *slash = memchr(s + i, '\\', n - i);
			size_t end = slash ? (size_t)(slash - s) : n;
			build_add(&b, s + i, end - i);
			i = slash && end + 1 < n ? unescape(&b, s, n, end + 1) : end + (slash != NULL);
		}
	}
	return build_value(&b);
}

struct value chat_number(struct run *r, const struct lexeme *at)
{
	struct build b = BUILD(r);
	const struct value v = at->value;
	bool real = false;
	int base = 10;

	r->line = at->line;
	for (size_t i = 0; i < v.n; i++)
		if (v.s[i] != '_')
			build_add(&b, &v.s[i], 1);
	build_add(&b, "", 1);
	if (r->failed)
		return v;
	const char *s = b.data;
	if (s[0] == '0' && s[1] && strchr("xXoObB", s[1])) {
		base = (s[1] | 32) == 'x' ? 16 : (s[1] | 32) == 'o' ? 8 : 2;
		s += 2;
	} else {
		real = strpbrk(s, ".eE") != NULL;
		if (!real && s[0] == '0' && strspn(s, "0") != strlen(s))
			return run_bad(r, "a number that begins with 0");
	}
	char *end;
	errno = 0;
	if (real)
		return value_float(strtod(s, &end));
	long long i = strtoll(s, &end, base);
	if (errno == ERANGE)
		return run_fail(r, STATUS_UNSUPPORTED, "a number of more than 64 bits");
	if (*end || end == s)
		return run_bad(r, "'%s' is no number", b.data);
	return value_int(i);
}
