// SPDX-License-Identifier: Apache-2.0
// Oniguruma (Ruby syntax) as PCRE2. What differs, and is written otherwise:
//   \s \d \w \h and [[:posix:]]   sets of their own: PCRE2's \s has U+180E, its \w no marks; \h is a hexadecimal digit
//   \p{..}                        PCRE2's Unicode may be older: what came since is added (unicode_since14); long names are
// shortened;
//                                 of a script, Script and not Script_Extensions
//   [a[b]&&[^c]]                  sets within sets: joined, or computed and written as ranges
//   \b \B                         ends of words by that \w
//   x{1,3}+                       is (x{1,3})+ and not possessive; {,n} is {0,n}
//   (?i)                          of one character only: PCRE2 does not take ss for \xDF, or i with a dot for U+0130
//   (?m) ^ $                      "." takes line feeds; lines begin and end at line feeds, always
#define PCRE2_CODE_UNIT_WIDTH 8
#include "token/pattern.h"

#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "token/charset.h"
#include "token/unicode.h"

struct pattern {
	const char *literal; // NULL: an expression
	size_t nbytes;
	const char *source; // the expression as it was written, nbytes of it
	struct pattern *next;
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits;
};

static bool is_script(const char *name)
{
	char text[80];
	int code;
	size_t where;

	snprintf(text, sizeof text, "\\p{sc:%s}", name);
	pcre2_code *c = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &code, &where, NULL);
	pcre2_code_free(c);
	return c != NULL;
}

static void add_han(struct set *s) // since Unicode 14
{
	static const struct span han[] = { { 0x2B739, 0x2B739 }, { 0x2EBF0, 0x2EE5D }, { 0x31350, 0x323AF } };

	for (size_t i = 0; i < sizeof han / sizeof *han; i++)
		set_add_range(s, han[i].begin, han[i].end);
}

// \p{..} with r->at behind the p. Into s, else, of a script, as PCRE2 has it.
static void read_property(struct reader *r, struct set *s, bool negated)
{
	char name[64];
	size_t n = 0;

	if (r->at < r->end && *r->at == '{') {
		const char *p = r->at + 1;
		if (p < r->end && *p == '^') {
			negated = !negated;
			p++;
		}
		for (; p < r->end && *p != '}' && n + 1 < sizeof name; p++)
			if (*p != ' ' && *p != '_' && *p != '-')
				name[n++] = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
		if (p == r->end || *p != '}') {
			reader_refuse(r, "a property without its end");
			return;
		}
		r->at = p + 1;
	} else {
		reader_refuse(r, "\\p without a name in braces");
		return;
	}
	name[n] = 0;
	if (negated ? set_add_negated(s, r, name, n) : set_add_named(s, name, n))
		return;
	for (size_t i = 0; i < n; i++)
		if (name[i] < 'a' || name[i] > 'z') {
			reader_refuse(r, "a property that is not known");
			return;
		}
	char full[80];
	snprintf(full, sizeof full, "%s%s", is_script(name) ? "sc:" : "", name);
	bool is_han = text_is(name, "han");
	if (!s->bits && !(is_han && negated)) {
		text_addf(&s->items, "\\%c{%s}", negated ? 'P' : 'p', full);
		if (is_han)
			add_han(s);
		return;
	}
	struct set one = { .r = r, .bits = set_new_bits(r) };
	if (!set_add_property(&one, full))
		reader_refuse(r, "a property that is not known");
	if (is_han)
		add_han(&one);
	if (negated)
		set_negate(one.bits);
	set_merge(s, one.bits);
}

static uint32_t read_hex(struct reader *r, int most)
{
	uint32_t v = 0;

	for (int n = 0; n < most && r->at < r->end; n++, r->at++) {
		char c = (char)(*r->at | 32);
		if (*r->at >= '0' && *r->at <= '9')
			v = v * 16 + (uint32_t)(*r->at - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (uint32_t)(c - 'a' + 10);
		else
			break;
	}
	if (v >= UNICODE_END || (v >= 0xD800 && v < 0xE000))
		reader_refuse(r, "a character that is none");
	return v;
}

// The escape behind a backslash that stands for one character, in a class and outside; false: it is something else, r->at as it
// was.
static bool read_character(struct reader *r, uint32_t *code)
{
	static const char names[] = "tnrfvae", codes[] = "\t\n\r\f\v\a\33";
	const char *known = memchr(names, *r->at, sizeof names - 1);
	size_t length;

	if (known) {
		*code = (unsigned char)codes[known - names];
		r->at++;
	} else if (*r->at == 'x' || *r->at == 'u') {
		bool wide = *r->at == 'u';
		r->at++;
		if (!wide && r->at < r->end && *r->at == '{') {
			r->at++;
			*code = read_hex(r, 8);
			if (r->at == r->end || *r->at != '}')
				reader_refuse(r, "\\x{ without its end");
			else
				r->at++;
		} else {
			*code = read_hex(r, wide ? 4 : 2);
		}
	} else if (*r->at == '0') {
		for (*code = 0; r->at < r->end && *r->at >= '0' && *r->at <= '7' && *code < 32; r->at++)
			*code = *code * 8 + (uint32_t)(*r->at - '0');
	} else if ((*r->at >= 'a' && *r->at <= 'z') || (*r->at >= 'A' && *r->at <= 'Z') || (*r->at >= '1' && *r->at <= '9')) {
		return false;
	} else {
		*code = utf8_next(r->at, &length);
		r->at += length;
	}
	return true;
}

// \s \S \d \D \w \W \h \H \p \P with r->at on the letter; false: none of them.
static bool read_shorthand(struct reader *r, struct set *s)
{
	static const char letters[] = "sdwh";
	static const char *const names[] = { "space", "digit", "word", "xdigit" };
	char c = *r->at;
	const char *known = memchr(letters, c | 32, sizeof letters - 1);

	if (known && (c | 32) == *known) {
		const char *name = names[known - letters];
		r->at++;
		if (c & 32)
			set_add_named(s, name, strlen(name));
		else
			set_add_negated(s, r, name, strlen(name));
		return true;
	}
	if (c != 'p' && c != 'P')
		return false;
	r->at++;
	read_property(r, s, c == 'P');
	return true;
}

static void read_class(struct reader *r, struct set *s);

// What a class within a class stands for, into s.
static void read_inner(struct reader *r, struct set *s)
{
	const char *at = r->at;
	struct set plain = { .r = r };

	if (!s->bits && !(at < r->end && *at == '^')) {
		const char *before = r->at;
		read_class(r, &plain);
		if (!plain.negated && !r->failed) {
			if (plain.bits)
				set_merge(s, plain.bits);
			text_add(&s->items, text_get(&plain.items));
			text_done(&plain.items);
			return;
		}
		text_done(&plain.items);
		r->at = before;
	}
	struct set one = { .r = r, .bits = set_new_bits(r) };
	read_class(r, &one);
	if (one.negated)
		set_negate(one.bits);
	set_merge(s, one.bits);
}

static void intersect(uint32_t *bits, const uint32_t *with)
{
	for (size_t i = 0; i < SET_WORDS; i++)
		bits[i] &= with[i];
}

static bool has_intersection(const struct reader *r)
{
	int depth = 1;

	for (const char *p = r->at; p + 1 < r->end && depth; p++) {
		if (*p == '\\')
			p++;
		else if (*p == '[')
			depth++;
		else if (*p == ']')
			depth--;
		else if (depth == 1 && p[0] == '&' && p[1] == '&')
			return true;
	}
	return false;
}

// [:alpha:], r->at at its [; false: what stands there is not one.
static bool read_posix(struct reader *r, struct set *s)
{
	const char *close = r->end - r->at > 4 && r->at[1] == ':' ? memmem(r->at, (size_t)(r->end - r->at), ":]", 2) : NULL;

	if (!close)
		return false;
	const char *name = r->at + 2;
	bool negated = *name == '^';
	name += negated;
	size_t n = (size_t)(close - name);
	r->at = close + 2;
	if (close >= name && n == 5 && !memcmp(name, "punct", 5) && !negated) {
		set_add_mask(s, "P");
		for (const char *p = "$+<=>^`|~"; *p; p++)
			set_add_range(s, (unsigned char)*p, (unsigned char)*p);
		set_add_mask(s, "S");
	} else if (close < name || !(negated ? set_add_negated(s, r, name, n) : set_add_named(s, name, n))) {
		reader_refuse(r, "a POSIX class that is not known");
	}
	return true;
}

// One character of a class; of an escaped one r->at is after its backslash.
static uint32_t read_member(struct reader *r, bool escaped)
{
	uint32_t c;
	size_t length;

	if (!escaped) {
		c = utf8_next(r->at, &length);
		r->at += length;
	} else if (*r->at == 'b') {
		c = 8;
		r->at++;
	} else if (!read_character(r, &c)) {
		c = (unsigned char)*r->at++;
	}
	return c;
}

static bool is_escaped(const struct reader *r)
{
	return *r->at == '\\' && r->at + 1 < r->end;
}

// A character, a range of them, or a shorthand such as \d.
static void read_members(struct reader *r, struct set *s)
{
	bool escaped = is_escaped(r);

	r->at += escaped;
	if (escaped && read_shorthand(r, s))
		return;
	uint32_t low = read_member(r, escaped), high = low;
	if (r->end - r->at > 1 && *r->at == '-' && r->at[1] != ']' && r->at[1] != '[') {
		const char *after = ++r->at;

		escaped = is_escaped(r);
		r->at += escaped;
		if (escaped && strchr("sSdDwWhHpP", *r->at)) { // no range: the - stands for itself
			set_add_range(s, low, low);
			set_add_range(s, '-', '-');
			r->at = after;
			return;
		}
		high = read_member(r, escaped);
	}
	if (high < low)
		reader_refuse(r, "a range that ends before it begins");
	else
		set_add_range(s, low, high);
}

// Of a class, r->at behind its [; behind its ] afterwards. With && it is computed.
static void read_class(struct reader *r, struct set *s)
{
	bool meets;
	uint32_t *left = NULL;

	if (++r->depth > 50) {
		reader_refuse(r, "classes are too deep");
		return;
	}
	if (r->at < r->end && *r->at == '^') {
		s->negated = true;
		r->at++;
	}
	meets = has_intersection(r);
	if (meets && !s->bits)
		s->bits = set_new_bits(r);
	for (bool first = true; !r->failed; first = false) {
		if (r->at >= r->end) {
			reader_refuse(r, "a class without its end");
		} else if (*r->at == ']' && !first) {
			r->at++;
			break;
		} else if (*r->at == '[') {
			if (!read_posix(r, s)) {
				r->at++;
				read_inner(r, s);
			}
		} else if (meets && r->end - r->at > 1 && r->at[0] == '&' && r->at[1] == '&') {
			r->at += 2;
			if (left)
				intersect(left, s->bits);
			else
				left = s->bits;
			s->bits = set_new_bits(r);
		} else {
			read_members(r, s);
		}
		reader_weigh(r, s->items.length);
	}
	if (left)
		intersect(s->bits, left);
	r->depth--;
}

static void write_set(struct reader *r, struct set *s)
{
	struct set plain = { .r = r };

	if (s->bits) { // computed: as ranges
		set_merge(&plain, s->bits);
		text_done(&s->items);
		s->items = plain.items;
		if (!s->items.length) {
			text_add(&r->out, s->negated ? "[\\x{0}-\\x{10ffff}]" : "(?!)");
			return;
		}
	}
	text_add(&r->out, s->negated ? "[^" : "[");
	text_add(&r->out, text_get(&s->items));
	text_add(&r->out, "]");
	text_done(&s->items);
}

// ---- the rest of an expression --------------------------------------------------------------------------------------------

// A group's opening, r->at behind its "(".
static void read_group(struct reader *r)
{
	text_add(&r->out, "(");
	if (r->at >= r->end || *r->at != '?')
		return;
	const char *p = r->at + 1;
	bool off = false;
	if (p < r->end && (*p == '~' || *p == '{')) {
		reader_refuse(r, "an absent operator or a call, which PCRE2 has not");
		return;
	}
	text_add(&r->out, "?");
	r->at = p;
	// Options: i x, and m, which PCRE2 calls s.
	while (p < r->end && (*p == 'i' || *p == 'm' || *p == 'x' || *p == '-'))
		p++;
	if (p == r->end || p == r->at || (*p != ':' && *p != ')'))
		return;
	for (; r->at < p; r->at++) {
		char c = *r->at == 'm' ? 's' : *r->at;
		off |= c == '-';
		if (c == 'x')
			r->extended = !off;
		text_add_bytes(&r->out, &c, 1);
	}
}

static void read_escape(struct reader *r)
{
	struct set s = { .r = r };
	uint32_t code;

	if (++r->at == r->end) {
		reader_refuse(r, "a backslash at the end");
		return;
	}
	if (read_shorthand(r, &s)) {
		write_set(r, &s);
		return;
	}
	if (*r->at == 'b' || *r->at == 'B') {
		bool within = *r->at++ == 'B';
		set_add_named(&s, "word", 4);
		const char *word = text_get(&s.items);
		text_addf(&r->out, within ? "(?:(?<=[%s])(?=[%s])|(?<![%s])(?![%s]))" : "(?:(?<=[%s])(?![%s])|(?<![%s])(?=[%s]))",
			word, word, word, word);
		text_done(&s.items);
		return;
	}
	if (read_character(r, &code)) {
		text_addf(&r->out, "\\x{%x}", code);
	} else if (strchr("AzZGRXkK123456789", *r->at)) {
		char two[2] = { '\\', *r->at++ };
		text_add_bytes(&r->out, two, 2);
	} else if (*r->at >= 'a' && *r->at <= 'z') {
		text_addf(&r->out, "\\x{%x}", (unsigned)*r->at++);
	} else {
		reader_refuse(r, "an escape that has no equivalent");
	}
}

// {n}, {n,}, {,m}, {n,m} at r->at: its end, else NULL.
static const char *interval_end(const struct reader *r)
{
	const char *p = r->at + 1;
	int commas = 0, digits = 0;

	for (; p < r->end && ((*p >= '0' && *p <= '9') || *p == ','); p++) {
		commas += *p == ',';
		digits += *p != ',';
	}
	return p < r->end && *p == '}' && digits && commas <= 1 ? p : NULL;
}

static void insert(struct text *t, size_t at, const char *s)
{
	size_t n = strlen(s), length = t->length;

	text_add(t, s);
	memmove(t->data + at + n, t->data + at, length - at);
	memcpy(t->data + at, s, n);
}

static void translate(struct reader *r)
{
	enum { DEEP = 200 };
	size_t open[DEEP], atom = 0, length;
	int depth = 0;

	while (r->at < r->end && !r->failed) {
		char c = *r->at;
		size_t here = r->out.length;

		reader_weigh(r, here);
		if (c == '\\') {
			read_escape(r);
			atom = here;
		} else if (c == '[') {
			struct set s = { .r = r };
			r->at++;
			read_class(r, &s);
			write_set(r, &s);
			atom = here;
		} else if (c == '(') {
			if (depth == DEEP) {
				reader_refuse(r, "groups are too deep");
				return;
			}
			open[depth++] = here;
			r->at++;
			read_group(r);
		} else if (c == ')') {
			atom = depth ? open[--depth] : here;
			text_add(&r->out, ")");
			r->at++;
		} else if (c == '{' && interval_end(r)) {
			const char *end = interval_end(r);
			text_add(&r->out, r->at[1] == ',' ? "{0" : "{");
			text_add_bytes(&r->out, r->at + 1, (size_t)(end - r->at));
			r->at = end + 1;
			if (r->at < r->end && *r->at == '+') {
				insert(&r->out, atom, "(?:");
				text_add(&r->out, ")");
			}
		} else if (c == '{') {
			text_add(&r->out, "\\{");
			r->at++;
			atom = here;
		} else if (r->extended && c == '#') {
			while (r->at < r->end && *r->at != '\n')
				r->at++;
		} else {
			length = utf8_length(c);
			text_add_bytes(&r->out, r->at, length);
			r->at += length;
			if (!strchr("*+?|^$", c) || !c)
				atom = here;
		}
	}
}

static void release(void *pattern)
{
	struct pattern *p = pattern;

	pcre2_match_data_free(p->data);
	pcre2_match_context_free(p->limits);
	pcre2_code_free(p->code);
}

static const char *copy_of(struct arena *a, const char *text, size_t nbytes) // may hold NUL
{
	char *copy = arena_alloc(a, nbytes + 1);

	if (nbytes)
		memcpy(copy, text, nbytes);
	return copy;
}

struct pattern *pattern_literal(struct arena *a, const char *text, size_t nbytes)
{
	struct pattern *p = ARENA_NEW(a, struct pattern);

	p->literal = copy_of(a, text, nbytes);
	p->nbytes = nbytes;
	return p;
}

static struct pattern *find_source(const struct pattern_list *all, const char *text, size_t nbytes)
{
	struct pattern *p = all->first;

	while (p && (p->nbytes != nbytes || memcmp(p->source, text, nbytes) != 0))
		p = p->next;
	return p;
}

// What is interpreted is as right, and slower.
static void compile_further(struct pattern_list *all, struct pattern *p)
{
	size_t nbytes = 0;

	pcre2_pattern_info(p->code, PCRE2_INFO_SIZE, &nbytes);
	if (all->jit_nbytes + nbytes > JIT_MOST)
		return;
	all->jit_nbytes += nbytes;
	pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); // where it cannot, it is interpreted
}

static enum status compile(struct pattern *p, struct reader *r, struct error *err)
{
	enum { MATCH_LIMIT = 1000000, HEAP_KIB = 64 << 10 }; // PCRE2's, from each place where a match may begin
	int code;
	size_t where;

	// The text was looked at before: tokenizer_encode takes UTF-8 only.
	p->code = pcre2_compile((PCRE2_SPTR)text_get(&r->out), r->out.length,
		PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_ALLOW_EMPTY_CLASS |
			PCRE2_USE_OFFSET_LIMIT,
		&code, &where, NULL);
	if (!p->code) {
		PCRE2_UCHAR why[256] = "";
		pcre2_get_error_message(code, why, sizeof why);
		return error_set(err, STATUS_BAD_INPUT, "a regular expression: %s", (char *)why);
	}
	arena_defer(r->all->a, release, p);
	compile_further(r->all, p);
	p->data = pcre2_match_data_create(1, NULL);
	p->limits = pcre2_match_context_create(NULL);
	if (!p->data || !p->limits)
		out_of_memory(sizeof *p);
	pcre2_set_match_limit(p->limits, MATCH_LIMIT);
	pcre2_set_heap_limit(p->limits, HEAP_KIB);
	return STATUS_OK;
}

enum status pattern_regex(struct pattern **out, struct pattern_list *all, const char *text, size_t nbytes, struct error *err)
{
	struct arena sets = { 0 };
	struct reader r = { .at = text, .end = text + nbytes, .a = &sets, .all = all, .err = err };

	if ((*out = find_source(all, text, nbytes)))
		return STATUS_OK;
	if (++all->count > EXPRESSIONS_MOST || (all->nbytes += nbytes) > SOURCE_MOST)
		return error_set(err, STATUS_BAD_INPUT,
			"a regular expression of %zu bytes, of the file's the number %zu: at most %d of %d bytes together are "
			"taken",
			nbytes, all->count, EXPRESSIONS_MOST, SOURCE_MOST);
	translate(&r);
	if (!r.failed)
		reader_weigh(&r, r.out.length);
	all->expanded += r.out.length;
	arena_done(&sets);
	enum status s = STATUS_BAD_INPUT;
	if (!r.failed) {
		struct pattern *p = ARENA_NEW(all->a, struct pattern);
		if ((s = compile(p, &r, err)) == STATUS_OK) {
			p->source = copy_of(all->a, text, nbytes);
			p->nbytes = nbytes;
			p->next = all->first;
			*out = all->first = p;
		}
	}
	text_done(&r.out);
	return s;
}

// The expressions of a text have half a second of processor time, and 4 us for each of its bytes: a hundred times what they take.
// Limits of PCRE2 alone are none: they begin anew at each place of the text, and compiled code does not count everything.
static bool is_in_time(struct flow *f, size_t nbytes)
{
	enum { LOOK_MS = 50, PATIENCE_MS = 500 };
	double now = clock_ms();

	if (now < f->look_ms)
		return true;
	f->look_ms = now + LOOK_MS;
	if (f->begun_ms == 0)
		f->begun_ms = clock_thread_ms();
	return clock_thread_ms() - f->begun_ms < PATIENCE_MS + 4e-3 * (double)(nbytes > f->used ? nbytes : f->used);
}

// pcre2_match, so many places at a time: the clock can be looked at in between. One at first, for a place may take a tenth of a
// second, and more only while they are quick.
static int match(struct flow *f, const struct pattern *p, const char *text, size_t nbytes, size_t from)
{
	enum { PLACES = 64, SLOW_MS = 1 };
	size_t places = 1;

	while (is_in_time(f, nbytes)) {
		const double begun = clock_ms();
		size_t until = nbytes - from > places ? from + places : nbytes;
		pcre2_set_offset_limit(p->limits, until);
		int n = pcre2_match(p->code, (PCRE2_SPTR)text, nbytes, from, PCRE2_NO_UTF_CHECK, p->data, p->limits);
		if (n != PCRE2_ERROR_NOMATCH || until == nbytes)
			return n;
		places = clock_ms() - begun > SLOW_MS ? 1 : places < PLACES ? 2 * places : PLACES;
		for (from = until + 1; from < nbytes && (text[from] & 0xC0) == 0x80;)
			from++;
	}
	return PCRE2_ERROR_MATCHLIMIT;
}

// The next match at or behind `from`; false: none.
static bool next_match(
	struct flow *f, const struct pattern *p, const char *text, size_t nbytes, size_t from, size_t *begin, size_t *end)
{
	if (p->literal) {
		const char *at = p->nbytes ? memmem(text + from, nbytes - from, p->literal, p->nbytes) : text + from;
		if (!at)
			return false;
		*begin = (size_t)(at - text);
		*end = *begin + p->nbytes;
		return true;
	}
	int n = match(f, p, text, nbytes, from);
	if (n == PCRE2_ERROR_NOMATCH)
		return false;
	if (n < 0) {
		flow_fail(f, "a regular expression takes too long on this text (PCRE2: %d)", n);
		return false;
	}
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(p->data);
	*begin = at[0];
	*end = at[1];
	return at[0] <= at[1];
}

bool pattern_walk(
	struct flow *f, const char *text, size_t nbytes, const struct pattern *p, struct pattern_walk *w, struct match *out)
{
	size_t begin, end, done = w->done;

	if (w->has_next) {
		w->has_next = false;
		*out = w->next;
		return true;
	}
	while (w->from <= nbytes && next_match(f, p, text, nbytes, w->from, &begin, &end)) {
		// An empty match right behind the last match is none.
		if (begin == end && w->has_last && done == end) {
			w->from = end < nbytes ? end + utf8_length(text[end]) : nbytes + 1;
			continue;
		}
		w->from = w->done = end;
		w->has_last = true;
		w->next = (struct match){ (uint32_t)begin, (uint32_t)end, true };
		w->has_next = done < begin;
		*out = w->has_next ? (struct match){ (uint32_t)done, (uint32_t)begin, false } : w->next;
		return true;
	}
	w->from = nbytes + 1;
	w->done = nbytes;
	*out = (struct match){ (uint32_t)done, (uint32_t)nbytes, false };
	return done < nbytes;
}

void pattern_find(struct flow *f, const char *text, size_t nbytes, const void *pattern)
{
	struct pattern_walk w = { 0 };
	struct match m;

	if (!nbytes)
		flow_match(f, 0, 0, false);
	while (nbytes && pattern_walk(f, text, nbytes, pattern, &w, &m))
		flow_match(f, m.begin, m.end, m.matched);
}
