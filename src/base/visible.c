// SPDX-License-Identifier: Apache-2.0
// Control characters and broken UTF-8 as escapes, and a printf that does it with every string it is given.
#include "base/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t visible_utf8(const char *s, size_t left, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	size_t n = !left                      ? 0
		: p[0] < 0x80                 ? 1
		: p[0] >= 0xC2 && p[0] < 0xE0 ? 2
		: p[0] >= 0xE0 && p[0] < 0xF0 ? 3
		: p[0] >= 0xF0 && p[0] < 0xF5 ? 4
					      : 0;
	uint32_t c = n < 2 ? p[0] : p[0] & (0xFFu >> (n + 1));

	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xC0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3F);
	}
	if (c < least[n] || (c >= 0xD800 && c < 0xE000) || c > 0x10FFFF)
		return 0;
	if (code)
		*code = c;
	return n;
}

bool visible_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x061C || (c >= 0x200B && c <= 0x200F) ||
		(c >= 0x2028 && c <= 0x202E) || c == 0x2060 || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF || c == 0xFFFE ||
		c == 0xFFFF;
}

size_t visible_not_utf8(const void *text, size_t nbytes)
{
	const char *s = text;
	size_t at = 0, n = 1;

	while (at < nbytes && (n = visible_utf8(s + at, nbytes - at, NULL)) != 0)
		at += n;
	return at;
}

size_t visible_fit(const void *text, size_t nbytes, size_t most)
{
	const unsigned char *s = text;

	if (nbytes <= most)
		return nbytes;
	while (most && (s[most] & 0xC0) == 0x80)
		most--;
	return most;
}

size_t visible_width(const char *s)
{
	size_t width = 0, left = strlen(s);

	for (size_t n; left; s += n, left -= n, width++) {
		n = visible_utf8(s, left, NULL);
		n = n ? n : 1;
	}
	return width;
}

static void add_escape(struct text *t, uint32_t c)
{
	switch (c) {
	case '\n':
		text_add(t, "\\n");
		break;
	case '\t':
		text_add(t, "\\t");
		break;
	case '\r':
		text_add(t, "\\r");
		break;
	default:
		text_addf(t, c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c);
	}
}

static void add(struct text *t, const char *s, size_t left, const char *kept)
{
	for (size_t n; left; s += n, left -= n) {
		uint32_t c;

		n = visible_utf8(s, left, &c);
		if (!n)
			text_addf(t, "\\x%02x", (unsigned)(unsigned char)*s);
		else if (visible_is_control(c) && !(c && c < 0x80 && strchr(kept, (int)c)))
			add_escape(t, c);
		else
			text_add_bytes(t, s, n);
		n = n ? n : 1;
	}
}

void visible_add(struct text *t, const char *s, size_t nbytes)
{
	add(t, s, nbytes, "");
}

void visible_add_lines(struct text *t, const char *s)
{
	add(t, s, strlen(s), "\n\t");
}

const char *visible_short(struct arena *a, const char *s)
{
	enum { SHOWN = 200 };
	size_t n = s ? strlen(s) : 0;

	if (n <= SHOWN)
		return s;
	return arena_printf(a, "%.*s... (%zu bytes)", (int)visible_fit(s, n, SHOWN), s, n);
}

const char *visible_copy(struct arena *a, const char *s)
{
	struct text t = { 0 };

	if (!s)
		return NULL;
	visible_add(&t, s, strlen(s));
	const char *copy = arena_strdup(a, text_get(&t));
	text_done(&t);
	return copy;
}

// ---- printf ------------------------------------------------------------------------------------------------------------

// One conversion of a format, with the numbers that stood as * put in.
struct conversion {
	char flags[8], length[3], kind;
	bool left;            // filled on the right
	int width, precision; // -1: not given
};

struct arguments {
	va_list list; // in a struct, so that it can be passed on and still moves
};

static int number(const char **p, struct arguments *args)
{
	int n = 0;

	if (**p == '*') {
		++*p;
		return va_arg(args->list, int);
	}
	for (; **p >= '0' && **p <= '9'; ++*p)
		n = n * 10 + (**p - '0');
	return n;
}

static const char *parse(const char *p, struct conversion *c, struct arguments *args)
{
	size_t n = strspn(p, "-+ #0");

	*c = (struct conversion){ .width = -1, .precision = -1 };
	memcpy(c->flags, p, n < sizeof c->flags - 1 ? n : sizeof c->flags - 1);
	c->left = strchr(c->flags, '-') != NULL;
	p += n;
	if (*p == '*' || (*p >= '0' && *p <= '9'))
		c->width = number(&p, args);
	if (c->width < -1) { // as printf has it: a negative width fills on the right
		c->width = -c->width;
		c->left = true;
	}
	if (*p == '.') {
		p++;
		c->precision = number(&p, args);
	}
	n = strspn(p, "hlz");
	memcpy(c->length, p, n < sizeof c->length - 1 ? n : sizeof c->length - 1);
	p += n;
	c->kind = *p;
	return *p ? p + 1 : p;
}

// A precision may have cut a character in two: its part is left out. Only s[0..n) may be read.
static size_t whole_characters(const char *s, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char byte = (unsigned char)s[n - back];

		if (byte >= 0xC0)
			return back < (byte >= 0xF0 ? 4u : byte >= 0xE0 ? 3u : 2u) ? n - back : n;
		if (byte < 0x80)
			break;
	}
	return n;
}

static void add_string(struct text *t, const struct conversion *c, const char *s)
{
	struct text shown = { 0 };
	size_t n = !s ? 0 : c->precision >= 0 ? strnlen(s, (size_t)c->precision) : strlen(s);

	if (s && c->precision >= 0 && n == (size_t)c->precision)
		n = whole_characters(s, n);

	visible_add(&shown, s ? s : "(null)", s ? n : strlen("(null)"));
	size_t width = visible_width(text_get(&shown)), wanted = c->width > 0 ? (size_t)c->width : 0;
	int fill = wanted > width ? (int)(wanted - width) : 0;

	text_addf(t, "%*s%s%*s", c->left ? 0 : fill, "", text_get(&shown), c->left ? fill : 0, "");
	text_done(&shown);
}

static void add_number(struct text *t, const struct conversion *c, struct arguments *args)
{
	char width[16] = "", precision[16] = "", format[64];

	if (c->width >= 0)
		snprintf(width, sizeof width, "%s%d", c->left ? "-" : "", c->width);
	if (c->precision >= 0)
		snprintf(precision, sizeof precision, ".%d", c->precision);
	snprintf(format, sizeof format, "%%%s%s%s%s%c", c->flags, width, precision, c->length, c->kind);
	if (strchr("feg", c->kind))
		text_addf(t, format, va_arg(args->list, double));
	else if (text_is(c->length, "ll"))
		text_addf(t, format, va_arg(args->list, long long));
	else if (text_is(c->length, "l"))
		text_addf(t, format, va_arg(args->list, long));
	else if (text_is(c->length, "z"))
		text_addf(t, format, va_arg(args->list, size_t));
	else
		text_addf(t, format, va_arg(args->list, int));
}

void visible_addv(struct text *t, const char *format, va_list ap)
{
	struct arguments args;
	struct conversion c;

	va_copy(args.list, ap);
	while (*format) {
		size_t n = strcspn(format, "%");

		text_add_bytes(t, format, n);
		format += n;
		if (!*format)
			break;
		format = parse(format + 1, &c, &args);
		if (c.kind == '%') {
			text_add(t, "%");
		} else if (c.kind == 's') {
			add_string(t, &c, va_arg(args.list, const char *));
		} else if (c.kind == 'c') {
			char one = (char)va_arg(args.list, int);
			visible_add(t, &one, 1);
		} else if (c.kind && strchr("diuxXfeg", c.kind)) {
			add_number(t, &c, &args);
		} else {
			fprintf(stderr, "assay: visible_addf has no conversion %%%c\n", c.kind);
			abort(); // of a type that is not known, so nothing after it can be read
		}
	}
	va_end(args.list);
}

void visible_addf(struct text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	visible_addv(t, format, ap);
	va_end(ap);
}

// ---- JSON --------------------------------------------------------------------------------------------------------------

json_t *visible_json_string(const char *s)
{
	json_t *json = s ? json_string(s) : json_null();
	struct text t = { 0 };

	if (json)
		return json;
	for (size_t n, left = strlen(s); left; s += n, left -= n) {
		n = visible_utf8(s, left, NULL);
		if (n)
			text_add_bytes(&t, s, n);
		else
			text_addf(&t, "\\x%02x", (unsigned)(unsigned char)*s);
		n = n ? n : 1;
	}
	json = json_string(text_get(&t));
	text_done(&t);
	return json;
}

// jansson escapes C0 alone. What else is a control character can only stand within a string, where \uXXXX is the same.
char *visible_json(const json_t *json, size_t flags)
{
	char *dumped = json_dumps(json, flags);
	struct text t = { 0 };

	if (!dumped)
		return NULL;
	const char *p = dumped;
	for (size_t n, left = strlen(dumped); left; p += n, left -= n) {
		uint32_t c = 0;

		n = visible_utf8(p, left, &c);
		if (n && c >= 0x7F && visible_is_control(c))
			text_addf(&t, "\\u%04X", (unsigned)c);
		else
			text_add_bytes(&t, p, n ? n : 1);
		n = n ? n : 1;
	}
	free(dumped);
	return t.data;
}

void visible_clean(struct text *out, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length;) {
		uint32_t code;
		size_t n = visible_utf8(bytes + i, length - i, &code);

		if (n && (!visible_is_control(code) || code == '\n' || code == '\t'))
			text_add_bytes(out, bytes + i, n);
		else
			text_add(out, "?");
		i += n ? n : 1;
	}
}
