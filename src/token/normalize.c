// SPDX-License-Identifier: Apache-2.0
// Normalizers: steps that change the text and keep what each byte of it stands for.
#include <stdlib.h>

#include "base/visible.h"
#include "token/grown.h"
#include "token/inside.h"
#include "token/unicode.h"

// ---- by a rule for a character --------------------------------------------------------------------------------------------

// What is not kept is dropped, what is kept goes through `map`. In the library's words a character that is kept takes those
// with it that are dropped behind it.
static void filter(struct change *c, bool (*keep)(uint32_t), uint32_t (*map)(uint32_t))
{
	uint32_t last = 0;
	long dropped = 0;
	bool any = false;
	size_t length;

	for (size_t i = 0; i < c->nbytes; i += length) {
		uint32_t code = utf8_next(c->text + i, &length);
		if (!keep(code)) {
			dropped++;
			continue;
		}
		if (any)
			flow_put(c, map ? map(last) : last, -dropped);
		else
			flow_skip(c, (size_t)dropped);
		last = code;
		any = true;
		dropped = 0;
	}
	if (any)
		flow_put(c, map ? map(last) : last, -dropped);
}

static bool nmt_keeps(uint32_t c)
{
	return !((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F);
}

static uint32_t nmt_map(uint32_t c)
{
	switch (c) {
	case 9:
	case 10:
	case 12:
	case 13:
	case 0x1680:
	case 0x200B:
	case 0x200C:
	case 0x200D:
	case 0x200E:
	case 0x200F:
	case 0x2028:
	case 0x2029:
	case 0x2581:
	case 0xFEFF:
	case 0xFFFD:
		return ' ';
	default:
		return c;
	}
}

static void nmt(struct change *c, void *own)
{
	(void)own;
	filter(c, nmt_keeps, nmt_map);
}

static bool is_no_mark(uint32_t c)
{
	return c < 0x300 || !unicode_is(c, UNICODE_COMBINING);
}

static bool is_no_nonspacing(uint32_t c)
{
	return c < 0x300 || !unicode_is(c, UNICODE_NONSPACING);
}

static void strip_accents(struct change *c, void *own)
{
	(void)own;
	if (piece_is_ascii(c->text, c->nbytes))
		flow_keep_all(c);
	else
		filter(c, is_no_mark, NULL);
}

static void drop_nonspacing(struct change *c, void *own)
{
	(void)own;
	if (piece_is_ascii(c->text, c->nbytes))
		flow_keep_all(c);
	else
		filter(c, is_no_nonspacing, NULL);
}

static void lowercase(struct change *c, void *own)
{
	uint32_t out[UNICODE_MOST];
	size_t length;

	(void)own;
	for (size_t i = 0; i < c->nbytes; i += length) {
		uint32_t code = utf8_next(c->text + i, &length);
		if (code < 0x80) {
			flow_put(c, code >= 'A' && code <= 'Z' ? code + 32 : code, 0);
			continue;
		}
		size_t n = unicode_to_lower(code, out);
		for (size_t k = 0; k < n; k++)
			flow_put(c, out[k], k > 0);
	}
}

// ---- normal forms ---------------------------------------------------------------------------------------------------------

struct decomposed {
	uint32_t code;
	long change; // 0: takes a character's place; 1: is new
	uint8_t combining;
};
struct form {
	bool compose, compatible;
};

struct decomposition {
	struct decomposed *items;
	size_t count, room;
};

static void add_decomposed(struct decomposition *d, uint32_t code, long change)
{
	if (d->count == d->room) {
		d->room = d->room * 2 + 256;
		d->items = grown(d->items, d->room, sizeof *d->items);
	}
	d->items[d->count++] = (struct decomposed){ code, change, unicode_of(code)->combining };
}

// Marks by their class, those of one class as they came: by insertion, long rows by counting.
static void order_marks(struct decomposed *m, size_t n)
{
	enum { SHORT = 32 };

	if (n > SHORT) {
		size_t place[257] = { 0 };
		struct decomposed *copy = malloc(n * sizeof *copy);
		if (!copy)
			out_of_memory(n * sizeof *copy);
		memcpy(copy, m, n * sizeof *copy);
		for (size_t i = 0; i < n; i++)
			place[copy[i].combining + 1]++;
		for (size_t k = 1; k < 257; k++)
			place[k] += place[k - 1];
		for (size_t i = 0; i < n; i++)
			m[place[copy[i].combining]++] = copy[i];
		free(copy);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct decomposed one = m[i];
		size_t at = i;
		for (; at > 0 && m[at - 1].combining > one.combining; at--)
			m[at] = m[at - 1];
		m[at] = one;
	}
}

static void decompose(struct decomposition *d, const struct change *c, bool compatible)
{
	uint32_t out[UNICODE_MOST];
	size_t length;

	for (size_t i = 0; i < c->nbytes; i += length) {
		size_t n = unicode_decompose(utf8_next(c->text + i, &length), compatible, out);
		for (size_t k = 0; k < n; k++)
			add_decomposed(d, out[k], k > 0);
	}
	for (size_t i = 0, end; i < d->count; i = end) {
		for (end = i; end < d->count && d->items[end].combining; end++)
			;
		if (end > i)
			order_marks(d->items + i, end - i);
		end += end == i;
	}
}

// In place; a character that two became counts as what both were, less one.
static void compose(struct decomposition *d)
{
	size_t starter = SIZE_MAX, kept = 0;
	int last = -1; // the class of the last mark behind the starter that stayed; -1: none

	for (size_t i = 0; i < d->count; i++) {
		struct decomposed one = d->items[i];
		uint32_t joined = starter != SIZE_MAX && (last < 0 || last < one.combining)
			? unicode_compose(d->items[starter].code, one.code)
			: 0;
		if (joined) {
			d->items[starter].code = joined;
			d->items[starter].change += one.change - 1;
			continue;
		}
		if (!one.combining) {
			starter = kept;
			last = -1;
		} else if (starter != SIZE_MAX) {
			last = one.combining;
		}
		d->items[kept++] = one;
	}
	d->count = kept;
}

static void normal_form(struct change *c, void *own)
{
	const struct form *form = own;
	struct decomposition d = { 0 };

	if (piece_is_ascii(c->text, c->nbytes)) {
		flow_keep_all(c);
		return;
	}
	decompose(&d, c, form->compatible);
	if (form->compose)
		compose(&d);
	for (size_t i = 0; i < d.count; i++)
		flow_put(c, d.items[i].code, d.items[i].change);
	free(d.items);
}

#define FORM(name, composes, compat) \
	static void name(struct flow *f, const void *own) \
	{ \
		struct form form = { composes, compat }; \
		(void)own; \
		flow_each(f, normal_form, &form); \
	}
FORM(nfc, true, false)
FORM(nfd, false, false)
FORM(nfkc, true, true)
FORM(nfkd, false, true)

// ---- BertNormalizer -------------------------------------------------------------------------------------------------------

struct bert {
	bool clean, chinese, accents, lower;
};

static enum status bert_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct bert *b = s->own = ARENA_NEW(a, struct bert);
	enum status status;

	if ((status = member_needed(from, "clean_text", err)) || (status = member_needed(from, "handle_chinese_chars", err)) ||
		(status = member_needed(from, "lowercase", err)) || (status = member_bool(from, "clean_text", &b->clean, err)) ||
		(status = member_bool(from, "handle_chinese_chars", &b->chinese, err)) ||
		(status = member_bool(from, "lowercase", &b->lower, err)))
		return status;
	b->accents = b->lower;
	return member_bool(from, "strip_accents", &b->accents, err);
}

static bool bert_keeps(uint32_t c)
{
	return c == '\t' || c == '\n' || c == '\r' || !(c == 0 || c == 0xFFFD || unicode_is(c, UNICODE_OTHER));
}

static uint32_t bert_space(uint32_t c)
{
	return unicode_is(c, UNICODE_SPACE) ? ' ' : c;
}

static void clean_text(struct change *c, void *own)
{
	(void)own;
	filter(c, bert_keeps, bert_space);
}

static bool is_chinese(uint32_t c)
{
	return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
		(c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
		(c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static void space_chinese(struct change *c, void *own)
{
	size_t length;

	(void)own;
	if (piece_is_ascii(c->text, c->nbytes)) {
		flow_keep_all(c);
		return;
	}
	for (size_t i = 0; i < c->nbytes; i += length) {
		uint32_t code = utf8_next(c->text + i, &length);
		if (is_chinese(code)) {
			flow_put(c, ' ', 0);
			flow_put(c, code, 1);
			flow_put(c, ' ', 1);
		} else {
			flow_put(c, code, 0);
		}
	}
}

static void bert(struct flow *f, const void *own)
{
	const struct bert *b = own;
	struct form form = { false, false };

	if (b->clean)
		flow_each(f, clean_text, NULL);
	if (b->chinese)
		flow_each(f, space_chinese, NULL);
	if (b->accents) {
		flow_each(f, normal_form, &form);
		flow_each(f, drop_nonspacing, NULL);
	}
	if (b->lower)
		flow_each(f, lowercase, NULL);
}

// ---- Strip, Prepend, Replace ----------------------------------------------------------------------------------------------

struct strip {
	bool left, right;
};

static enum status strip_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct strip *p = s->own = ARENA_NEW(a, struct strip);
	enum status status;

	if ((status = member_needed(from, "strip_left", err)) || (status = member_needed(from, "strip_right", err)) ||
		(status = member_bool(from, "strip_left", &p->left, err)))
		return status;
	return member_bool(from, "strip_right", &p->right, err);
}

static void strip_piece(struct change *c, void *own)
{
	const struct strip *p = own;
	size_t begin = 0, end = c->nbytes, length;

	flow_whole(c);
	while (p->left && begin < end && unicode_is(utf8_next(c->text + begin, &length), UNICODE_SPACE))
		begin += length;
	while (p->right && begin < end && unicode_is(utf8_last(c->text + begin, c->text + end, &length), UNICODE_SPACE))
		end -= length;
	flow_keep(c, begin, end);
}

static enum status prepend_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	s->own = ARENA_NEW(a, struct slice);
	enum status status = member_needed(from, "prepend", err);
	return status ? status : member_text(from, "prepend", a, s->own, err);
}

static void prepend_piece(struct change *c, void *own)
{
	const struct slice *s = own;

	size_t first = s->n ? 0 : utf8_length(c->text[0]);

	flow_whole(c);
	flow_put_at(c, s->s, s->n, c->align[0]);
	// Of nothing the library makes the first character one that stands for nothing.
	flow_put_at(c, c->text, first, (struct span){ c->piece->begin, c->piece->begin });
	flow_keep(c, first, c->nbytes);
}

struct replace {
	struct pattern *pattern;
	struct slice content;
};

enum status replace_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct replace *r = s->own = ARENA_NEW(a, struct replace);
	enum status status = member_pattern(from, s->patterns, &r->pattern, err);

	if (status != STATUS_OK || (status = member_needed(from, "content", err)))
		return status;
	return member_text(from, "content", a, &r->content, err);
}

// What is put in place of a match is aligned with the last byte before its end.
static void replace_matches(struct change *c, const struct slice *content)
{
	struct flow *f = c->f;

	flow_whole(c);
	for (size_t i = 0; i < f->match_count; i++) {
		struct match m = f->matches[i];
		if (m.matched)
			flow_put_at(c, content->s, content->n,
				m.end ? c->align[m.end - 1] : (struct span){ c->piece->begin, c->piece->begin });
		else
			flow_keep(c, m.begin, m.end);
	}
}

static void replace_piece(struct change *c, void *own)
{
	const struct replace *r = own;

	c->f->match_count = 0;
	pattern_find(c->f, c->text, c->nbytes, r->pattern);
	replace_matches(c, &r->content);
}

void replace_decode(struct strings *t, const void *own)
{
	const struct replace *r = own;
	struct flow f = { 0 };

	for (size_t i = 0; i < t->count && strings_pay(t, t->items[i].n); i++) {
		struct pattern_walk w = { 0 };
		struct match m;
		struct text all = { 0 };
		struct slice s = t->items[i];
		while (s.n && pattern_walk(&f, s.s, s.n, r->pattern, &w, &m) && strings_pay(t, r->content.n)) {
			if (m.matched)
				text_add_bytes(&all, r->content.s, r->content.n);
			else
				text_add_bytes(&all, s.s + m.begin, m.end - m.begin);
		}
		t->items[i] = slice_copy(t->a, (struct slice){ text_get(&all), all.length });
		text_done(&all);
		if (f.failed.status && !t->failed.status)
			t->failed = f.failed;
	}
	flow_done(&f);
}

// ---- Precompiled: sentencepiece's table -----------------------------------------------------------------------------------

// u32 length of the trie in bytes, the trie (a double array of Darts-clone), then the texts, each ended by a NUL.
struct charsmap {
	const uint32_t *units;
	size_t unit_count;
	const char *texts;
	size_t nbytes;
};

static int base64_digit(char c)
{
	return c >= 'A' && c <= 'Z'    ? c - 'A'
		: c >= 'a' && c <= 'z' ? c - 'a' + 26
		: c >= '0' && c <= '9' ? c - '0' + 52
		: c == '+'             ? 62
		: c == '/'             ? 63
				       : -1;
}

bool base64_read(struct arena *a, struct slice s, struct slice *out)
{
	char *bytes = arena_alloc(a, s.n / 4 * 3 + 4);
	size_t n = 0;
	uint32_t bits = 0;
	int have = 0;

	while (s.n && s.s[s.n - 1] == '=')
		s.n--;
	for (size_t i = 0; i < s.n; i++) {
		int digit = base64_digit(s.s[i]);
		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		if ((have += 6) >= 8) {
			have -= 8;
			bytes[n++] = (char)(bits >> have & 0xFF);
		}
	}
	*out = (struct slice){ bytes, n };
	return true;
}

enum status charsmap_read(struct charsmap **out, struct arena *a, struct slice bytes, struct error *err)
{
	struct charsmap *m = ARENA_NEW(a, struct charsmap);
	uint32_t size = 0;

	if (bytes.n >= 4)
		memcpy(&size, bytes.s, 4);
	if (bytes.n < 4 || size > bytes.n - 4)
		return error_set(err, STATUS_BAD_INPUT, "precompiled_charsmap: a trie of %u bytes in %zu", size, bytes.n);
	m->unit_count = size / 4;
	uint32_t *units = ARENA_ARRAY(a, m->unit_count + 1, uint32_t);
	memcpy(units, bytes.s + 4, m->unit_count * 4);
	m->units = units;
	m->texts = bytes.s + 4 + m->unit_count * 4;
	m->nbytes = bytes.n - 4 - m->unit_count * 4;
	if (visible_not_utf8(m->texts, m->nbytes) != m->nbytes)
		return error_set(err, STATUS_BAD_INPUT, "precompiled_charsmap: its texts are no UTF-8");
	*out = m;
	return STATUS_OK;
}

static enum status precompiled_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct slice text = { 0 }, bytes;
	struct charsmap *m;
	enum status status = member_needed(from, "precompiled_charsmap", err);

	if (status || (status = member_text(from, "precompiled_charsmap", a, &text, err)))
		return status;
	if (!base64_read(a, text, &bytes))
		return error_set(err, STATUS_BAD_INPUT, "precompiled_charsmap is no base64");
	status = charsmap_read(&m, a, bytes, err);
	s->own = m;
	return status;
}

// What a beginning of s that the trie has is replaced by: of the shortest, or of the longest; false: it has none.
static bool charsmap_find(const struct charsmap *m, const char *s, size_t n, bool longest, struct slice *out, size_t *taken)
{
	size_t at = 0;
	bool any = false;

	if (!m->unit_count)
		return false;
	uint32_t unit = m->units[0];
	at ^= (size_t)(unit >> 10) << ((unit & (1u << 9)) >> 6);
	for (size_t i = 0; i < n; i++) {
		unsigned char label = (unsigned char)s[i];
		at ^= label;
		if (!label || at >= m->unit_count)
			break;
		unit = m->units[at];
		if ((unit & (1u << 31 | 0xFF)) != label)
			break;
		at ^= (size_t)(unit >> 10) << ((unit & (1u << 9)) >> 6);
		if (!(unit >> 8 & 1))
			continue;
		if (at >= m->unit_count)
			break;
		size_t begin = m->units[at] & ((1u << 31) - 1), end = begin;
		if (begin > m->nbytes || (begin < m->nbytes && (m->texts[begin] & 0xC0) == 0x80))
			break;
		while (end < m->nbytes && m->texts[end])
			end++;
		*out = (struct slice){ m->texts + begin, end - begin };
		*taken = i + 1;
		any = true;
		if (!longest)
			break;
	}
	return any;
}

bool charsmap_longest(const struct charsmap *m, const char *s, size_t n, struct slice *out, size_t *taken)
{
	return charsmap_find(m, s, n, true, out, taken) && (*taken == n || (s[*taken] & 0xC0) != 0x80);
}

struct mapped {
	uint32_t code;
	long change;
};
struct mapping {
	struct mapped *items;
	size_t count, room;
	bool changed;
};

static void add_mapped(struct mapping *m, uint32_t code, long change)
{
	if (m->count == m->room) {
		m->room = m->room * 2 + 256;
		m->items = grown(m->items, m->room, sizeof *m->items);
	}
	m->items[m->count++] = (struct mapped){ code, change };
}

// In the library's words: as many more characters as there are are new, the last ones; as many fewer go with the last one (of
// what was put before, where nothing is put).
static void add_replacement(struct mapping *m, const char *old, size_t old_nbytes, struct slice with)
{
	long difference = (long)utf8_count(with.s, with.n) - (long)utf8_count(old, old_nbytes);
	size_t length;

	for (size_t i = 0; i < with.n; i += length)
		add_mapped(m, utf8_next(with.s + i, &length), 0);
	for (long i = 0; i < difference && (size_t)i < m->count; i++)
		m->items[m->count - 1 - (size_t)i].change = 1;
	if (difference < 0 && m->count)
		m->items[m->count - 1].change += difference;
	m->changed = true;
}

static void precompiled_piece(struct change *c, void *own)
{
	const struct charsmap *map = own;
	struct mapping m = { 0 };
	struct slice with;
	size_t grapheme, length, taken;

	for (size_t i = 0; i < c->nbytes; i += grapheme) {
		const char *s = c->text + i;
		// Between two printable ASCII characters there is always a boundary.
		grapheme = (unsigned char)(s[0] - 32) < 95 && (i + 1 == c->nbytes || (unsigned char)(s[1] - 32) < 95)
			? 1
			: unicode_grapheme(s, c->nbytes - i);
		if (grapheme < 6 && charsmap_find(map, s, grapheme, false, &with, &taken)) {
			add_replacement(&m, s, grapheme, with);
			continue;
		}
		for (size_t k = 0; k < grapheme; k += length) {
			uint32_t code = utf8_next(s + k, &length);
			if (charsmap_find(map, s + k, length, false, &with, &taken))
				add_replacement(&m, s + k, length, with);
			else
				add_mapped(&m, code, 0);
		}
	}
	if (m.changed)
		for (size_t i = 0; i < m.count; i++)
			flow_put(c, m.items[i].code, m.items[i].change);
	else
		flow_keep_all(c);
	free(m.items);
}

// ---- the table ------------------------------------------------------------------------------------------------------------

#define EACH(name, step) \
	static void name(struct flow *f, const void *own) \
	{ \
		flow_each(f, step, (void *)(uintptr_t)own); \
	}
EACH(each_lowercase, lowercase)
EACH(each_strip_accents, strip_accents)
EACH(each_strip, strip_piece)
EACH(each_replace, replace_piece)
EACH(each_prepend, prepend_piece)
EACH(each_precompiled, precompiled_piece)
EACH(each_nmt, nmt)
EACH(each_bytes, bytes_to_characters)

const struct step_kind normalizer_kinds[] = {
	{ "BertNormalizer", bert_parse, .flow = bert },
	{ "NFC", .flow = nfc },
	{ "NFD", .flow = nfd },
	{ "NFKC", .flow = nfkc },
	{ "NFKD", .flow = nfkd },
	{ "Lowercase", .flow = each_lowercase },
	{ "StripAccents", .flow = each_strip_accents },
	{ "Strip", strip_parse, .flow = each_strip },
	{ "Replace", replace_parse, .flow = each_replace },
	{ "Prepend", prepend_parse, .flow = each_prepend },
	{ "Precompiled", precompiled_parse, .flow = each_precompiled },
	{ "Nmt", .flow = each_nmt },
	{ "ByteLevel", .flow = each_bytes },
	{ .name = NULL },
};
