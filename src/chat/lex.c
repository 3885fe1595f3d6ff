// SPDX-License-Identifier: Apache-2.0
// A template's text as lexemes, with the white space taken away that its tags ask for: trim_blocks (a line feed after a block's
// tag), lstrip_blocks (what stands before one in its line), and the signs - and + of a tag.
#include "chat/inside.h"

#include "token/unicode.h"

enum state { IN_DATA, IN_BLOCK, IN_VARIABLE };
struct lexer {
	struct run *r;
	const char *s;
	size_t n, at;
	unsigned line;
	bool line_starts; // what was read last ended with a line feed
	enum state state;
	char open[CHAT_DEPTH_MOST]; // brackets
	size_t open_count;
	struct lexeme *out;
	size_t count, room;
};

bool is_space(uint32_t code)
{
	return (code >= 0x1C && code <= 0x1F) || unicode_is(code, UNICODE_SPACE);
}

static void add(struct lexer *l, enum token_kind kind, size_t begin, size_t n)
{
	if (l->count == l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		struct lexeme *more = run_take(l->r, room, sizeof *more);
		if (!more || l->r->failed)
			return;
		if (l->count)
			memcpy(more, l->out, l->count * sizeof *more);
		l->out = more;
		l->room = room;
	}
	l->out[l->count++] = (struct lexeme){ kind, l->line, value_string(l->s + begin, n) };
}

static void fail_at(struct lexer *l, const char *what)
{
	l->r->line = l->line;
	run_bad(l->r, "%s", what);
}

static void count_lines(struct lexer *l, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		l->line += l->s[i] == '\n';
}

static bool here(const struct lexer *l, size_t at, const char *word)
{
	size_t n = strlen(word);

	return at <= l->n && l->n - at >= n && !memcmp(l->s + at, word, n);
}

static size_t skip_space(const struct lexer *l, size_t at)
{
	while (at < l->n) {
		size_t n;
		if (!is_space(utf8_next(l->s + at, &n)))
			break;
		at += n;
	}
	return at;
}

static size_t strip_right(const struct lexer *l, size_t begin, size_t end)
{
	while (end > begin) {
		size_t n;
		if (!is_space(utf8_last(l->s + begin, l->s + end, &n)))
			break;
		end -= n;
	}
	return end;
}

// The data before a tag with this sign, without what the sign or lstrip_blocks takes away.
static void add_data(struct lexer *l, size_t begin, size_t end, char sign, bool block)
{
	size_t stop = end;

	if (sign == '-') {
		stop = strip_right(l, begin, end);
	} else if (sign != '+' && block) {
		size_t line = end;
		while (line > begin && l->s[line - 1] != '\n')
			line--;
		if ((line > begin || l->line_starts) && strip_right(l, line, end) == line)
			stop = line;
	}
	if (stop > begin)
		add(l, T_DATA, begin, stop - begin);
	count_lines(l, begin, end);
}

static char sign_at(const struct lexer *l, size_t at)
{
	return at < l->n && (l->s[at] == '-' || l->s[at] == '+') ? l->s[at] : 0;
}

// Behind the end of a tag that begins at `at`, with its sign and the white space that it takes; 0: none is here.
static size_t tag_end(const struct lexer *l, size_t at, const char *end, bool block)
{
	if (here(l, at, "-") && here(l, at + 1, end))
		return skip_space(l, at + 3);
	if (block && here(l, at, "+") && here(l, at + 1, end))
		return at + 3;
	if (!here(l, at, end))
		return 0;
	return at + 2 + (block && here(l, at + 2, "\n"));
}

// Behind "{% raw %}" at `at`; 0: it is another tag.
static size_t raw_begin(const struct lexer *l, size_t at)
{
	size_t p = skip_space(l, at + 2 + (sign_at(l, at + 2) != 0));

	if (!here(l, p, "raw"))
		return 0;
	p = skip_space(l, p + 3);
	if (here(l, p, "-%}"))
		return skip_space(l, p + 3);
	return here(l, p, "%}") ? p + 2 : 0;
}

static void lex_raw(struct lexer *l)
{
	size_t begin = l->at;

	for (size_t p = begin; p + 1 < l->n; p++) {
		if (!here(l, p, "{%"))
			continue;
		char sign = sign_at(l, p + 2);
		size_t word = skip_space(l, p + 2 + (sign != 0));
		if (!here(l, word, "endraw"))
			continue;
		size_t end = tag_end(l, skip_space(l, word + 6), "%}", true);
		if (!end)
			continue;
		add_data(l, begin, p, sign, true);
		count_lines(l, p, end);
		l->line_starts = l->s[end - 1] == '\n';
		l->at = end;
		return;
	}
	fail_at(l, "Missing end of raw directive");
}

static void lex_comment(struct lexer *l, size_t begin)
{
	for (size_t p = begin; p + 1 < l->n; p++) {
		if (!here(l, p, "#}"))
			continue;
		char sign = p > begin ? l->s[p - 1] : 0;
		size_t end = sign == '-' ? skip_space(l, p + 2) : p + 2;
		if (sign != '-' && sign != '+' && here(l, end, "\n"))
			end++;
		count_lines(l, begin, end);
		l->line_starts = l->s[end - 1] == '\n';
		l->at = end;
		return;
	}
	fail_at(l, "Missing end of comment tag");
}

static void lex_data(struct lexer *l)
{
	size_t begin = l->at, p = begin;

	while (p + 1 < l->n && !(l->s[p] == '{' && strchr("%#{", l->s[p + 1]) && l->s[p + 1]))
		p++;
	if (p + 1 >= l->n) {
		add(l, T_DATA, begin, l->n - begin);
		l->at = l->n;
		return;
	}
	char kind = l->s[p + 1], sign = sign_at(l, p + 2);
	size_t raw = kind == '%' ? raw_begin(l, p) : 0;
	add_data(l, begin, p, sign, kind != '{');
	l->line_starts = false;
	l->at = p + 2 + (sign != 0);
	if (raw) {
		count_lines(l, p, raw);
		l->line_starts = l->s[raw - 1] == '\n';
		l->at = raw;
		lex_raw(l);
	} else if (kind == '#') {
		lex_comment(l, l->at);
	} else {
		add(l, kind == '%' ? T_BLOCK_BEGIN : T_VAR_BEGIN, p, 2);
		l->state = kind == '%' ? IN_BLOCK : IN_VARIABLE;
		l->open_count = 0;
	}
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

// Digits with single _ between them, from `at`; at itself where there are none.
static size_t digits(const struct lexer *l, size_t at)
{
	size_t p = at;

	while (p < l->n && (is_digit(l->s[p]) || (p > at && l->s[p] == '_' && p + 1 < l->n && is_digit(l->s[p + 1]))))
		p++;
	return p;
}

static void lex_number(struct lexer *l)
{
	size_t begin = l->at, p = begin;

	if (l->s[p] == '0' && p + 1 < l->n && strchr("xXoObB", l->s[p + 1]) && l->s[p + 1]) {
		p += 2;
		while (p < l->n && (strchr("0123456789abcdefABCDEF_", l->s[p]) && l->s[p]))
			p++;
	} else {
		p = digits(l, p);
		size_t point = p < l->n && l->s[p] == '.' ? digits(l, p + 1) : p;
		bool after_point = begin > 0 && l->s[begin - 1] == '.';
		if (!after_point && point > p + 1)
			p = point;
		if (!after_point && p < l->n && (l->s[p] == 'e' || l->s[p] == 'E')) {
			size_t e = p + 1 + (p + 1 < l->n && (l->s[p + 1] == '+' || l->s[p + 1] == '-'));
			size_t end = digits(l, e);
			if (end > e)
				p = end;
		}
	}
	add(l, T_NUMBER, begin, p - begin);
	l->at = p;
}

static void lex_string(struct lexer *l)
{
	size_t p = l->at + 1;

	while (p < l->n && l->s[p] != l->s[l->at])
		p += l->s[p] == '\\' ? 2 : 1;
	if (p >= l->n) {
		fail_at(l, "a text in quotes does not end");
		return;
	}
	add(l, T_STRING, l->at + 1, p - l->at - 1);
	count_lines(l, l->at, p);
	l->at = p + 1;
}

static void lex_operator(struct lexer *l)
{
	static const char *const operators[] = { "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(",
		")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";" };
	char c = l->s[l->at];
	size_t i = 0;

	while (i < sizeof operators / sizeof *operators && !here(l, l->at, operators[i]))
		i++;
	if (i == sizeof operators / sizeof *operators) {
		fail_at(l, "a character that is no part of an expression");
		return;
	}
	if (strchr("([{", c)) {
		if (l->open_count == sizeof l->open) {
			fail_at(l, "brackets that are nested too deeply");
			return;
		}
		l->open[l->open_count++] = c == '(' ? ')' : c == '[' ? ']' : '}';
	} else if (strchr(")]}", c) && (!l->open_count || l->open[--l->open_count] != c)) {
		fail_at(l, "a bracket that closes none");
		return;
	}
	add(l, T_OPERATOR, l->at, strlen(operators[i]));
	l->at += strlen(operators[i]);
}

static bool in_name(const struct lexer *l, size_t at, size_t *n)
{
	uint32_t code = utf8_next(l->s + at, n);

	return code == '_' || (code < 0x80 ? is_digit((char)code) || (code | 32u) - 'a' < 26u : unicode_is(code, UNICODE_WORD));
}

static void lex_expression(struct lexer *l)
{
	bool block = l->state == IN_BLOCK;
	size_t end = l->open_count ? 0 : tag_end(l, l->at, block ? "%}" : "}}", block), n;

	if (end) {
		add(l, block ? T_BLOCK_END : T_VAR_END, l->at, 2);
		count_lines(l, l->at, end);
		l->line_starts = l->s[end - 1] == '\n';
		l->at = end;
		l->state = IN_DATA;
	} else if ((end = skip_space(l, l->at)) > l->at) {
		count_lines(l, l->at, end);
		l->at = end;
	} else if (is_digit(l->s[l->at])) {
		lex_number(l);
	} else if (in_name(l, l->at, &n)) {
		for (end = l->at; end < l->n && in_name(l, end, &n);)
			end += n;
		add(l, T_NAME, l->at, end - l->at);
		l->at = end;
	} else if (l->s[l->at] == '\'' || l->s[l->at] == '"') {
		lex_string(l);
	} else {
		lex_operator(l);
	}
}

// Line feeds in the place of \r\n and \r, and without one at the end.
static struct value one_kind_of_line(struct run *r, const char *source, size_t nbytes)
{
	struct build b = BUILD(r);
	size_t begin = 0;

	for (size_t i = 0; i < nbytes; i++) {
		if (source[i] != '\r')
			continue;
		build_add(&b, source + begin, i - begin);
		build_add(&b, "\n", 1);
		i += i + 1 < nbytes && source[i + 1] == '\n';
		begin = i + 1;
	}
	if (begin < nbytes)
		build_add(&b, source + begin, nbytes - begin);
	if (b.length && b.data[b.length - 1] == '\n')
		b.length--;
	return build_value(&b);
}

struct lexeme *chat_lex(struct run *r, const char *source, size_t nbytes, size_t *count)
{
	struct value text = one_kind_of_line(r, source, nbytes);
	struct lexer l = { .r = r, .s = text.s, .n = text.n, .line = 1, .line_starts = true };

	while (l.at < l.n && !r->failed) {
		if (l.state == IN_DATA)
			lex_data(&l);
		else
			lex_expression(&l);
	}
	add(&l, T_END, l.n, 0);
	*count = r->failed ? 0 : l.count;
	return l.out;
}
