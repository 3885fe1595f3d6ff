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
#include "token/unicode.h"

struct pattern {
	const char *literal; // NULL: an expression
	size_t nbytes;
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits;
};

// ---- sets -----------------------------------------------------------------------------------------------------------------

// What a class or an escape stands for, as far as PCRE2 can be told it: `items` is what stands between [ and ]. `bits` is the
// same computed, where it had to be.
enum { SET_WORDS = UNICODE_END / 32 };
struct set {
	struct text items;
	uint32_t *bits; // SET_WORDS; NULL: not computed
	bool negated;
};

struct reader {
	const char *at, *end;
	struct text out;
	struct arena *a;
	bool extended; // (?x)
	int depth, computed;
	struct error *err;
	bool failed;
};

static void refuse(struct reader *r, const char *why)
{
	if (!r->failed)
		error_set(r->err, STATUS_BAD_INPUT, "a regular expression: %s", why);
	r->failed = true;
	r->at = r->end;
}

static void add_bits(uint32_t *bits, uint32_t first, uint32_t last)
{
	for (uint32_t c = first; c <= last && c < UNICODE_END; c++)
		bits[c / 32] |= 1u << c % 32;
}

static uint32_t *new_bits(struct reader *r)
{
	if (++r->computed > 64) { // each is 136 KiB
		refuse(r, "too many sets within sets");
		r->computed = 0;
	}
	return ARENA_ARRAY(r->a, SET_WORDS, uint32_t);
}

static void add_range(struct set *s, uint32_t first, uint32_t last)
{
	if (s->bits)
		add_bits(s->bits, first, last);
	else if (first == last)
		text_addf(&s->items, "\\x{%x}", first);
	else
		text_addf(&s->items, "\\x{%x}-\\x{%x}", first, last);
}

// General categories: a bit each, in the order of UNICODE_CATEGORIES.
static uint32_t category_mask(const char *name, size_t length)
{
	static const struct {
		const char *name, *category;
	} words[] = { { "letter", "L" }, { "mark", "M" }, { "number", "N" }, { "punctuation", "P" }, { "punct", "P" },
		{ "symbol", "S" }, { "separator", "Z" }, { "other", "C" }, { "lowercaseletter", "Ll" },
		{ "uppercaseletter", "Lu" }, { "titlecaseletter", "Lt" }, { "modifierletter", "Lm" }, { "otherletter", "Lo" },
		{ "nonspacingmark", "Mn" }, { "spacingmark", "Mc" }, { "enclosingmark", "Me" }, { "decimalnumber", "Nd" },
		{ "letternumber", "Nl" }, { "othernumber", "No" }, { "connectorpunctuation", "Pc" }, { "dashpunctuation", "Pd" },
		{ "openpunctuation", "Ps" }, { "closepunctuation", "Pe" }, { "initialpunctuation", "Pi" },
		{ "finalpunctuation", "Pf" }, { "otherpunctuation", "Po" }, { "mathsymbol", "Sm" }, { "currencysymbol", "Sc" },
		{ "modifiersymbol", "Sk" }, { "othersymbol", "So" }, { "spaceseparator", "Zs" }, { "lineseparator", "Zl" },
		{ "paragraphseparator", "Zp" }, { "control", "Cc" }, { "format", "Cf" }, { "privateuse", "Co" },
		{ "unassigned", "Cn" }, { "surrogate", "Cs" } };
	uint32_t mask = 0;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i].name) == length && !strncmp(words[i].name, name, length)) {
			name = words[i].category;
			length = strlen(name);
			break;
		}
	if (length > 2 || !length)
		return 0;
	for (int i = 0; i < UNICODE_CATEGORY_COUNT; i++) {
		const char *c = &UNICODE_CATEGORIES[2 * i];
		if ((c[0] | 32) == (name[0] | 32) && (length == 1 || c[1] == (name[1] | 32)))
			mask |= 1u << i;
	}
	return mask;
}

static void add_categories(struct set *s, uint32_t mask)
{
	if (s->bits) {
		for (uint32_t c = 0; c < UNICODE_END; c++)
			if (mask >> unicode_of(c)->category & 1)
				s->bits[c / 32] |= 1u << c % 32;
		return;
	}
	if (mask & 1) // what is not assigned: PCRE2 may know of less or more
		for (uint32_t c = 0; c < UNICODE_END; c++) {
			uint32_t first = c;
			while (c < UNICODE_END && !unicode_of(c)->category)
				c++;
			if (c > first)
				add_range(s, first, c - 1);
		}
	for (int i = 1; i < UNICODE_CATEGORY_COUNT; i++)
		if (mask >> i & 1)
			text_addf(&s->items, "\\p{%.2s}", &UNICODE_CATEGORIES[2 * i]);
	for (size_t i = 0; i < unicode_since14_count;) {
		uint32_t first = unicode_since14[i].first, last = first;
		if (!(mask >> unicode_since14[i].category & 1)) {
			i++;
			continue;
		}
		for (last = unicode_since14[i].last, i++; i < unicode_since14_count && unicode_since14[i].first == last + 1 &&
			(mask >> unicode_since14[i].category & 1);
			i++)
			last = unicode_since14[i].last;
		add_range(s, first, last);
	}
}

static void add_mask(struct set *s, const char *categories) // "LMNd"
{
	uint32_t mask = 0;

	while (*categories) {
		size_t length = categories[1] >= 'a' && categories[1] <= 'z' ? 2 : 1;
		mask |= category_mask(categories, length);
		categories += length;
	}
	// One \p{L} is faster than five.
	if (!s->bits)
		for (const char *one = "LMNPSZ"; *one; one++) {
			uint32_t whole = category_mask(one, 1);
			if ((mask & whole) == whole) {
				text_addf(&s->items, "\\p{%c}", *one);
				for (size_t i = 0; i < unicode_since14_count; i++)
					if (whole >> unicode_since14[i].category & 1)
						add_range(s, unicode_since14[i].first, unicode_since14[i].last);
				mask &= ~whole;
			}
		}
	if (mask)
		add_categories(s, mask);
}

static const struct span spaces[] = { { 9, 13 }, { 32, 32 }, { 0x85, 0x85 }, { 0xA0, 0xA0 }, { 0x1680, 0x1680 },
	{ 0x2000, 0x200A }, { 0x2028, 0x2029 }, { 0x202F, 0x202F }, { 0x205F, 0x205F }, { 0x3000, 0x3000 } };
// Of \w besides letters, marks, digits and connectors: Other_Alphabetic, and what Oniguruma has below U+0100.
static const struct span alphabetic[] = { { 0x24B6, 0x24E9 }, { 0x1F130, 0x1F149 }, { 0x1F150, 0x1F169 }, { 0x1F170, 0x1F189 } };

static const struct span latin_numbers[] = { { 0xB2, 0xB3 }, { 0xB9, 0xB9 }, { 0xBC, 0xBE } };
// Han since Unicode 14.
static const struct span han[] = { { 0x2B739, 0x2B739 }, { 0x2EBF0, 0x2EE5D }, { 0x31350, 0x323AF } };

static void add_spans(struct set *s, const struct span *spans, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_range(s, spans[i].begin, spans[i].end);
}
#define ADD_SPANS(s, spans) add_spans(s, spans, sizeof spans / sizeof *spans)

// Every character asked, for sets that are computed.
static bool add_property(struct set *s, const char *name)
{
	char text[80], utf8[4];
	int code;
	size_t where;

	snprintf(text, sizeof text, "\\p{%s}", name);
	pcre2_code *c = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &code, &where, NULL);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	bool known = c && data;
	for (uint32_t u = 0; known && u < UNICODE_END; u++)
		if ((u < 0xD800 || u >= 0xE000) &&
			pcre2_match(c, (PCRE2_SPTR)utf8, utf8_put(utf8, u), 0, PCRE2_NO_UTF_CHECK, data, NULL) > 0)
			s->bits[u / 32] |= 1u << u % 32;
	pcre2_match_data_free(data);
	pcre2_code_free(c);
	return known;
}

static bool add_named(struct set *s, const char *name, size_t length)
{
	static const struct {
		const char *name, *categories;
		const char *property; // of PCRE2: more than the categories say
		char more;            // s: spaces, a: alphabetic symbols, w: .. and numbers of Latin-1, x: hexadecimal digits
	} names[] = { { "space", "", NULL, 's' }, { "whitespace", "", NULL, 's' }, { "digit", "Nd", NULL, 0 },
		{ "word", "LMNdNlPc", NULL, 'w' }, { "alpha", "LNl", "Alphabetic", 'a' },
		{ "alphabetic", "LNl", "Alphabetic", 'a' }, { "alnum", "LNdNl", "Alphabetic", 'a' },
		{ "upper", "Lu", "Uppercase", 0 }, { "uppercase", "Lu", "Uppercase", 0 }, { "lower", "Ll", "Lowercase", 0 },
		{ "lowercase", "Ll", "Lowercase", 0 }, { "xdigit", "", NULL, 'x' }, { "cntrl", "Cc", NULL, 0 } };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strlen(names[i].name) != length || strncmp(names[i].name, name, length) != 0)
			continue;
		if (names[i].property && s->bits)
			add_property(s, names[i].property);
		else if (names[i].property)
			text_addf(&s->items, "\\p{%s}", names[i].property);
		add_mask(s, names[i].categories);
		if (names[i].more == 's')
			ADD_SPANS(s, spaces);
		else if (names[i].more == 'a' || names[i].more == 'w')
			ADD_SPANS(s, alphabetic);
		else if (names[i].more == 'x')
			ADD_SPANS(s, ((struct span[]){ { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } }));
		if (names[i].more == 'w')
			ADD_SPANS(s, latin_numbers);
		return true;
	}
	if (length == 5 && !strncmp(name, "ascii", 5)) {
		add_range(s, 0, 0x7F);
		return true;
	}
	if (length == 3 && !strncmp(name, "any", 3)) {
		add_range(s, 0, UNICODE_END - 1);
		return true;
	}
	uint32_t mask = category_mask(name, length);
	if (length <= 2 && length && mask) {
		char one[3] = { (char)(name[0] & ~32), length == 2 ? name[1] : 0, 0 };
		add_mask(s, one);
	} else if (mask) {
		for (int i = 0; i < UNICODE_CATEGORY_COUNT; i++)
			if (mask >> i & 1) {
				char one[3] = { UNICODE_CATEGORIES[2 * i], UNICODE_CATEGORIES[2 * i + 1], 0 };
				if (length == 6 || __builtin_popcount(mask) > 1) {
					one[1] = 0;
					add_mask(s, one);
					break;
				}
				add_mask(s, one);
			}
	}
	return mask != 0;
}

static void negate(uint32_t *bits)
{
	for (size_t i = 0; i < SET_WORDS; i++)
		bits[i] = ~bits[i];
}

static void merge(struct set *s, struct reader *r, const uint32_t *bits)
{
	if (s->bits) {
		for (size_t i = 0; i < SET_WORDS; i++)
			s->bits[i] |= bits[i];
		return;
	}
	(void)r;
	for (uint32_t c = 0; c < UNICODE_END;) {
		uint32_t first = c;
		while (c < UNICODE_END && bits[c / 32] >> c % 32 & 1)
			c++;
		if (c > first)
			add_range(s, first, c - 1);
		else
			c++;
	}
}

// The set of a name, negated, into s: computed.
static bool add_negated(struct set *s, struct reader *r, const char *name, size_t length)
{
	struct set one = { .bits = new_bits(r) };

	if (!add_named(&one, name, length))
		return false;
	negate(one.bits);
	merge(s, r, one.bits);
	return true;
}

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
			refuse(r, "a property without its end");
			return;
		}
		r->at = p + 1;
	} else {
		refuse(r, "\\p without a name in braces");
		return;
	}
	name[n] = 0;
	if (negated ? add_negated(s, r, name, n) : add_named(s, name, n))
		return;
	for (size_t i = 0; i < n; i++)
		if (name[i] < 'a' || name[i] > 'z') {
			refuse(r, "a property that is not known");
			return;
		}
	char full[80];
	snprintf(full, sizeof full, "%s%s", is_script(name) ? "sc:" : "", name);
	bool is_han = text_is(name, "han");
	if (!s->bits && !(is_han && negated)) {
		text_addf(&s->items, "\\%c{%s}", negated ? 'P' : 'p', full);
		if (is_han)
			ADD_SPANS(s, han);
		return;
	}
	struct set one = { .bits = new_bits(r) };
	if (!add_property(&one, full))
		refuse(r, "a property that is not known");
	if (is_han)
		ADD_SPANS(&one, han);
	if (negated)
		negate(one.bits);
	merge(s, r, one.bits);
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
		refuse(r, "a character that is none");
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
				refuse(r, "\\x{ without its end");
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
			add_named(s, name, strlen(name));
		else
			add_negated(s, r, name, strlen(name));
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
	struct set plain = { 0 };

	if (!s->bits && !(at < r->end && *at == '^')) {
		const char *before = r->at;
		read_class(r, &plain);
		if (!plain.negated && !r->failed) {
			text_add(&s->items, text_get(&plain.items));
			text_done(&plain.items);
			return;
		}
		text_done(&plain.items);
		r->at = before;
	}
	struct set one = { .bits = new_bits(r) };
	read_class(r, &one);
	if (one.negated)
		negate(one.bits);
	merge(s, r, one.bits);
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
		add_mask(s, "P");
		for (const char *p = "$+<=>^`|~"; *p; p++)
			add_range(s, (unsigned char)*p, (unsigned char)*p);
		add_mask(s, "S");
	} else if (close < name || !(negated ? add_negated(s, r, name, n) : add_named(s, name, n))) {
		refuse(r, "a POSIX class that is not known");
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
			add_range(s, low, low);
			add_range(s, '-', '-');
			r->at = after;
			return;
		}
		high = read_member(r, escaped);
	}
	if (high < low)
		refuse(r, "a range that ends before it begins");
	else
		add_range(s, low, high);
}

// Of a class, r->at behind its [; behind its ] afterwards. With && it is computed.
static void read_class(struct reader *r, struct set *s)
{
	bool meets;
	uint32_t *left = NULL;

	if (++r->depth > 50) {
		refuse(r, "classes are too deep");
		return;
	}
	if (r->at < r->end && *r->at == '^') {
		s->negated = true;
		r->at++;
	}
	meets = has_intersection(r);
	if (meets && !s->bits)
		s->bits = new_bits(r);
	for (bool first = true; !r->failed; first = false) {
		if (r->at >= r->end) {
			refuse(r, "a class without its end");
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
			s->bits = new_bits(r);
		} else {
			read_members(r, s);
		}
	}
	if (left)
		intersect(s->bits, left);
	r->depth--;
}

static void write_set(struct reader *r, struct set *s)
{
	struct set plain = { 0 };

	if (s->bits) { // computed: as ranges
		merge(&plain, r, s->bits);
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
		refuse(r, "an absent operator or a call, which PCRE2 has not");
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
	struct set s = { 0 };
	uint32_t code;

	if (++r->at == r->end) {
		refuse(r, "a backslash at the end");
		return;
	}
	if (read_shorthand(r, &s)) {
		write_set(r, &s);
		return;
	}
	if (*r->at == 'b' || *r->at == 'B') {
		bool within = *r->at++ == 'B';
		add_named(&s, "word", 4);
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
		refuse(r, "an escape that has no equivalent");
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

		if (c == '\\') {
			read_escape(r);
			atom = here;
		} else if (c == '[') {
			struct set s = { 0 };
			r->at++;
			read_class(r, &s);
			write_set(r, &s);
			atom = here;
		} else if (c == '(') {
			if (depth == DEEP) {
				refuse(r, "groups are too deep");
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

enum status pattern_literal(struct pattern **out, struct arena *a, const char *text, size_t nbytes, struct error *err)
{
	struct pattern *p = ARENA_NEW(a, struct pattern);

	(void)err;
	p->literal = arena_strndup(a, text, 0);
	char *copy = arena_alloc(a, nbytes + 1);
	if (nbytes)
		memcpy(copy, text, nbytes);
	p->literal = copy;
	p->nbytes = nbytes;
	*out = p;
	return STATUS_OK;
}

enum status pattern_regex(struct pattern **out, struct arena *a, const char *text, size_t nbytes, struct error *err)
{
	enum {
		TEXT_MOST = 1 << 16,
		MATCH_LIMIT = 1000000,
		HEAP_KIB = 64 << 10
	}; // PCRE2's, from each place where a match may begin
	struct arena sets = { 0 };
	struct reader r = { .at = text, .end = text + nbytes, .a = &sets, .err = err };
	int code;
	size_t where;

	if (nbytes > TEXT_MOST)
		return error_set(err, STATUS_BAD_INPUT, "a regular expression of %zu bytes", nbytes);
	translate(&r);
	arena_done(&sets);
	if (r.failed) {
		text_done(&r.out);
		return STATUS_BAD_INPUT;
	}
	struct pattern *p = ARENA_NEW(a, struct pattern);
	// The text was looked at before: tokenizer_encode takes UTF-8 only.
	p->code = pcre2_compile((PCRE2_SPTR)text_get(&r.out), r.out.length,
		PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_ALLOW_EMPTY_CLASS |
			PCRE2_USE_OFFSET_LIMIT,
		&code, &where, NULL);
	if (!p->code) {
		PCRE2_UCHAR why[256] = "";
		pcre2_get_error_message(code, why, sizeof why);
		error_set(err, STATUS_BAD_INPUT, "a regular expression: %s", (char *)why);
		text_done(&r.out);
		return STATUS_BAD_INPUT;
	}
	text_done(&r.out);
	arena_defer(a, release, p);
	pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); // where it cannot, it is interpreted
	p->data = pcre2_match_data_create(1, NULL);
	p->limits = pcre2_match_context_create(NULL);
	if (!p->data || !p->limits)
		out_of_memory(sizeof *p);
	pcre2_set_match_limit(p->limits, MATCH_LIMIT);
	pcre2_set_heap_limit(p->limits, HEAP_KIB);
	*out = p;
	return STATUS_OK;
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

// pcre2_match, so many places at a time: the clock can be looked at in between.
static int match(struct flow *f, const struct pattern *p, const char *text, size_t nbytes, size_t from)
{
	enum { PLACES = 64 };

	while (is_in_time(f, nbytes)) {
		size_t until = nbytes - from > PLACES ? from + PLACES : nbytes;
		pcre2_set_offset_limit(p->limits, until);
		int n = pcre2_match(p->code, (PCRE2_SPTR)text, nbytes, from, PCRE2_NO_UTF_CHECK, p->data, p->limits);
		if (n != PCRE2_ERROR_NOMATCH || until == nbytes)
			return n;
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

void pattern_find(struct flow *f, const char *text, size_t nbytes, const void *pattern)
{
	size_t from = 0, done = 0, begin, end, last = SIZE_MAX;

	if (!nbytes) {
		flow_match(f, 0, 0, false);
		return;
	}
	while (from <= nbytes && next_match(f, pattern, text, nbytes, from, &begin, &end)) {
		// An empty match right behind the last match is none.
		if (begin == end && last == end) {
			from = end < nbytes ? end + utf8_length(text[end]) : nbytes + 1;
			continue;
		}
		from = last = end;
		if (done < begin)
			flow_match(f, done, begin, false);
		flow_match(f, begin, end, true);
		done = end;
	}
	if (done < nbytes)
		flow_match(f, done, nbytes, false);
}
