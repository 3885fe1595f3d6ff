// SPDX-License-Identifier: Apache-2.0
#include "token/unicode.h"

#include <string.h>

size_t utf8_put(char out[4], uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xC0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3F));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xE0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3F));
		out[2] = (char)(0x80 | (c & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3F));
	out[2] = (char)(0x80 | (c >> 6 & 0x3F));
	out[3] = (char)(0x80 | (c & 0x3F));
	return 4;
}

uint32_t utf8_last(const char *begin, const char *end, size_t *length)
{
	const char *p = end - 1;

	while (p > begin && (*p & 0xC0) == 0x80)
		p--;
	return utf8_next(p, length);
}

size_t utf8_count(const char *s, size_t nbytes)
{
	size_t n = 0;

	for (size_t i = 0; i < nbytes; i++)
		n += (s[i] & 0xC0) != 0x80;
	return n;
}

bool ascii_is_punct(uint32_t c)
{
	return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

static const struct unicode_mapping *find(const struct unicode_mapping *table, size_t count, uint32_t code)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (table[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && table[low].code == code ? &table[low] : NULL;
}

static size_t copy(const struct unicode_mapping *m, uint32_t code, uint32_t out[UNICODE_MOST])
{
	if (!m) {
		out[0] = code;
		return 1;
	}
	memcpy(out, unicode_pool + m->at, m->length * sizeof *out);
	return m->length;
}

// Hangul syllables by arithmetic: section 3.12 of the standard.
enum { S_BASE = 0xAC00, L_BASE = 0x1100, V_BASE = 0x1161, T_BASE = 0x11A7, L_COUNT = 19, V_COUNT = 21, T_COUNT = 28 };
enum { N_COUNT = V_COUNT * T_COUNT, S_COUNT = L_COUNT * N_COUNT };

size_t unicode_decompose(uint32_t code, bool compatible, uint32_t out[UNICODE_MOST])
{
	const struct unicode_mapping *m = NULL;

	if (code >= S_BASE && code < S_BASE + S_COUNT) {
		uint32_t s = code - S_BASE;
		out[0] = L_BASE + s / N_COUNT;
		out[1] = V_BASE + s % N_COUNT / T_COUNT;
		out[2] = T_BASE + s % T_COUNT;
		return s % T_COUNT ? 3 : 2;
	}
	if (unicode_is(code, UNICODE_DECOMPOSES)) {
		m = compatible ? find(unicode_compatible, unicode_compatible_count, code) : NULL;
		m = m ? m : find(unicode_canonical, unicode_canonical_count, code);
	}
	return copy(m, code, out);
}

size_t unicode_to_lower(uint32_t code, uint32_t out[UNICODE_MOST])
{
	return copy(unicode_is(code, UNICODE_HAS_LOWER) ? find(unicode_lower, unicode_lower_count, code) : NULL, code, out);
}

uint32_t unicode_compose(uint32_t a, uint32_t b)
{
	size_t low = 0, high = unicode_pair_count;

	if (a >= L_BASE && a < L_BASE + L_COUNT && b >= V_BASE && b < V_BASE + V_COUNT)
		return S_BASE + (a - L_BASE) * N_COUNT + (b - V_BASE) * T_COUNT;
	if (a >= S_BASE && a < S_BASE + S_COUNT && (a - S_BASE) % T_COUNT == 0 && b > T_BASE && b < T_BASE + T_COUNT)
		return a + b - T_BASE;
	if (b < 0x300) // no pair's second
		return 0;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct unicode_pair *p = &unicode_pairs[middle];
		if (p->first < a || (p->first == a && p->second < b))
			low = middle + 1;
		else
			high = middle;
	}
	return low < unicode_pair_count && unicode_pairs[low].first == a && unicode_pairs[low].second == b
		? unicode_pairs[low].composed
		: 0;
}

// ---- grapheme clusters: UAX 29, rules GB3 to GB999 ------------------------------------------------------------------------

// What was seen of the cluster so far.
struct cluster {
	enum grapheme before;
	bool pictograph;  // GB11: a pictograph, extended, and since then nothing else
	bool joined;      // .. and the last is ZWJ
	bool consonant;   // GB9c: a consonant, and since then extends and linkers only
	unsigned linkers; // .. how many of them
	unsigned regional;
};

static bool breaks(const struct cluster *c, enum grapheme after)
{
	enum grapheme b = c->before;

	if (b == GRAPHEME_CR && after == GRAPHEME_LF)
		return false;
	if (b == GRAPHEME_CONTROL || b == GRAPHEME_CR || b == GRAPHEME_LF || after == GRAPHEME_CONTROL || after == GRAPHEME_CR ||
		after == GRAPHEME_LF)
		return true;
	if (b == GRAPHEME_L && (after == GRAPHEME_L || after == GRAPHEME_V || after == GRAPHEME_LV || after == GRAPHEME_LVT))
		return false;
	if ((b == GRAPHEME_LV || b == GRAPHEME_V) && (after == GRAPHEME_V || after == GRAPHEME_T))
		return false;
	if ((b == GRAPHEME_LVT || b == GRAPHEME_T) && after == GRAPHEME_T)
		return false;
	if (after == GRAPHEME_EXTEND || after == GRAPHEME_ZWJ || after == GRAPHEME_SPACING || b == GRAPHEME_PREPEND)
		return false;
	if (after == GRAPHEME_CONSONANT)
		return !(c->consonant && c->linkers);
	if (b == GRAPHEME_ZWJ && after == GRAPHEME_PICTOGRAPH)
		return !c->joined;
	if (b == GRAPHEME_REGIONAL && after == GRAPHEME_REGIONAL)
		return c->regional % 2 == 0;
	return true;
}

static void take(struct cluster *c, const struct unicode_record *r)
{
	enum grapheme g = r->grapheme;

	c->joined = g == GRAPHEME_ZWJ && c->pictograph;
	c->pictograph = g == GRAPHEME_PICTOGRAPH || (g == GRAPHEME_EXTEND && c->pictograph);
	if (g == GRAPHEME_CONSONANT) {
		c->consonant = true;
		c->linkers = 0;
	} else if (r->flags & UNICODE_INCB_LINKER) {
		c->linkers++;
	} else if (!(r->flags & UNICODE_INCB_EXTEND)) {
		c->consonant = false;
	}
	c->regional = g == GRAPHEME_REGIONAL ? c->regional + 1 : 0;
	c->before = g;
}

size_t unicode_grapheme(const char *s, size_t nbytes)
{
	struct cluster c = { 0 };
	size_t at, length;

	take(&c, unicode_of(utf8_next(s, &at)));
	for (; at < nbytes; at += length) {
		const struct unicode_record *r = unicode_of(utf8_next(s + at, &length));
		if (breaks(&c, r->grapheme))
			break;
		take(&c, r);
	}
	return at;
}
