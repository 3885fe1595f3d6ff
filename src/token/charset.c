// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "token/charset.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "token/flow.h"
#include "token/grown.h"

void reader_refuse(struct reader *r, const char *why)
{
	if (!r->failed)
		error_set(r->err, STATUS_BAD_INPUT, "a regular expression: %s", why);
	r->failed = true;
	r->at = r->end;
}

void reader_weigh(struct reader *r, size_t nbytes)
{
	if (r->all->expanded + nbytes > EXPANDED_MOST || r->all->in_ranges > IN_RANGES_MOST)
		reader_refuse(r, "its sets, or those of the file's expressions together, are too large");
}

static void add_bits(uint32_t *bits, uint32_t first, uint32_t last)
{
	last = last < UNICODE_END ? last : UNICODE_END - 1;
	for (uint32_t c = first, n; c <= last; c += n) {
		n = 32 - c % 32 < last - c + 1 ? 32 - c % 32 : last - c + 1;
		bits[c / 32] |= (n == 32 ? UINT32_MAX : (1u << n) - 1) << c % 32;
	}
}

uint32_t *set_new_bits(struct reader *r)
{
	if (r->all->sets == SETS_MOST)
		reader_refuse(r, "too many sets that must be computed");
	else
		r->all->sets++;
	return ARENA_ARRAY(r->a, SET_WORDS, uint32_t);
}

void set_add_range(struct set *s, uint32_t first, uint32_t last)
{
	if (s->bits) {
		add_bits(s->bits, first, last);
		return;
	}
	s->r->all->in_ranges += last - first + 1;
	if (first == last)
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

// Characters in a row of the same category, over all of Unicode: found once for a file.
static void find_runs(struct pattern_list *all)
{
	size_t room = 0;

	for (uint32_t c = 0, first; c < UNICODE_END;) {
		uint8_t category = unicode_of(first = c)->category;
		while (c < UNICODE_END && unicode_of(c)->category == category)
			c++;
		if (all->run_count == room) {
			room = room * 2 + 4096;
			all->runs = grown(all->runs, room, sizeof *all->runs);
		}
		all->runs[all->run_count++] = (struct unicode_range){ first, c - 1, category };
	}
}

static void add_categories(struct set *s, uint32_t mask)
{
	struct pattern_list *all = s->r->all;
	uint32_t by_run = s->bits ? mask : mask & 1; // what is not assigned: PCRE2 may know of less or more

	if (by_run && !all->runs)
		find_runs(all);
	for (size_t i = 0; by_run && i < all->run_count; i++)
		if (by_run >> all->runs[i].category & 1)
			set_add_range(s, all->runs[i].first, all->runs[i].last);
	if (s->bits)
		return;
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
		set_add_range(s, first, last);
	}
}

void set_add_mask(struct set *s, const char *categories) // "LMNd"
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
						set_add_range(s, unicode_since14[i].first, unicode_since14[i].last);
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

static void add_spans(struct set *s, const struct span *spans, size_t n)
{
	for (size_t i = 0; i < n; i++)
		set_add_range(s, spans[i].begin, spans[i].end);
}
#define ADD_SPANS(s, spans) add_spans(s, spans, sizeof spans / sizeof *spans)

static void join(uint32_t *bits, const uint32_t *with)
{
	for (size_t i = 0; i < SET_WORDS; i++)
		bits[i] |= with[i];
}

// Every character asked, 1024 at a time.
static bool ask_property(uint32_t *bits, const char *name)
{
	enum { BLOCK = 1024 };
	char expression[88], text[4 * BLOCK];
	int code;
	size_t where, length;

	snprintf(expression, sizeof expression, "\\p{%s}+", name);
	pcre2_code *c = pcre2_compile((PCRE2_SPTR)expression, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &code, &where, NULL);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	bool known = c && data;
	for (uint32_t u = 0; known && u < UNICODE_END; u += BLOCK) {
		size_t n = 0;
		if (u >= 0xD800 && u < 0xE000)
			continue;
		for (uint32_t i = 0; i < BLOCK; i++)
			n += utf8_put(text + n, u + i);
		const PCRE2_SIZE *at = pcre2_get_ovector_pointer(data);
		for (size_t from = 0; from < n; from = at[1]) {
			if (pcre2_match(c, (PCRE2_SPTR)text, n, from, PCRE2_NO_UTF_CHECK, data, NULL) <= 0)
				break;
			add_bits(bits, utf8_next(text + at[0], &length), utf8_last(text, text + at[1], &length));
		}
	}
	pcre2_match_data_free(data);
	pcre2_code_free(c);
	return known;
}

struct property { // computed, of a file
	char name[80];
	uint32_t bits[SET_WORDS];
	struct property *next;
};

// Into s, which is computed; false: PCRE2 does not know it.
bool set_add_property(struct set *s, const char *name)
{
	struct pattern_list *all = s->r->all;
	struct property *p = all->properties;

	while (p && !text_is(p->name, name))
		p = p->next;
	if (!p && all->property_count == PROPERTIES_MOST) {
		reader_refuse(s->r, "too many properties in sets that must be computed");
		return true;
	}
	if (!p) {
		p = calloc(1, sizeof *p);
		if (!p)
			out_of_memory(sizeof *p);
		snprintf(p->name, sizeof p->name, "%s", name);
		p->next = all->properties;
		all->properties = p;
		all->property_count++;
		if (!ask_property(p->bits, name))
			return false;
	}
	join(s->bits, p->bits);
	return true;
}

bool set_add_named(struct set *s, const char *name, size_t length)
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
			set_add_property(s, names[i].property);
		else if (names[i].property)
			text_addf(&s->items, "\\p{%s}", names[i].property);
		set_add_mask(s, names[i].categories);
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
		set_add_range(s, 0, 0x7F);
		return true;
	}
	if (length == 3 && !strncmp(name, "any", 3)) {
		set_add_range(s, 0, UNICODE_END - 1);
		return true;
	}
	uint32_t mask = category_mask(name, length);
	if (length <= 2 && length && mask) {
		char one[3] = { (char)(name[0] & ~32), length == 2 ? name[1] : 0, 0 };
		set_add_mask(s, one);
	} else if (mask) {
		for (int i = 0; i < UNICODE_CATEGORY_COUNT; i++)
			if (mask >> i & 1) {
				char one[3] = { UNICODE_CATEGORIES[2 * i], UNICODE_CATEGORIES[2 * i + 1], 0 };
				if (length == 6 || __builtin_popcount(mask) > 1) {
					one[1] = 0;
					set_add_mask(s, one);
					break;
				}
				set_add_mask(s, one);
			}
	}
	return mask != 0;
}

void set_negate(uint32_t *bits)
{
	for (size_t i = 0; i < SET_WORDS; i++)
		bits[i] = ~bits[i];
}

// The first character from c on that the set has, or has not.
static uint32_t next_of(const uint32_t *bits, uint32_t c, bool has)
{
	uint32_t other = has ? 0 : UINT32_MAX;

	while (c < UNICODE_END && (bits[c / 32] >> c % 32 & 1) != has)
		c += !(c % 32) && bits[c / 32] == other ? 32 : 1;
	return c;
}

void set_merge(struct set *s, const uint32_t *bits)
{
	if (s->bits) {
		join(s->bits, bits);
		return;
	}
	for (uint32_t c = next_of(bits, 0, true), end; c < UNICODE_END; c = next_of(bits, end, true)) {
		end = next_of(bits, c, false);
		set_add_range(s, c, end - 1);
	}
}

// The set of a name, negated, into s: computed.
bool set_add_negated(struct set *s, struct reader *r, const char *name, size_t length)
{
	struct set one = { .r = r, .bits = set_new_bits(r) };

	if (!set_add_named(&one, name, length))
		return false;
	set_negate(one.bits);
	set_merge(s, one.bits);
	return true;
}

void pattern_list_done(struct pattern_list *all)
{
	for (struct property *p = all->properties, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	free(all->runs);
	all->properties = NULL;
	all->runs = NULL;
}
