// SPDX-License-Identifier: Apache-2.0
// What the crate `tokenizers` knows of a character. It takes each property from another crate, each with its own version of
// Unicode; the tables say what those crates say (tools/unicode_tables).
#ifndef ASSAY_TOKEN_UNICODE_H
#define ASSAY_TOKEN_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {                            // bits of unicode_record.flags
	UNICODE_SPACE = 1 << 0,   // White_Space
	UNICODE_NUMERIC = 1 << 1, // Nd, Nl, No
	UNICODE_WORD = 1 << 2,    // \w of UTS 18
	UNICODE_PUNCT = 1 << 3,   // P*
	UNICODE_OTHER = 1 << 4,   // Cc, Cf, Co
	UNICODE_NONSPACING = 1 << 5,
	UNICODE_COMBINING = 1 << 6, // M*
	UNICODE_INCB_EXTEND = 1 << 7,
	UNICODE_INCB_LINKER = 1 << 8,
	UNICODE_HAS_LOWER = 1 << 9,
	UNICODE_DECOMPOSES = 1 << 10,
};

enum grapheme {
	GRAPHEME_ANY,
	GRAPHEME_CR,
	GRAPHEME_LF,
	GRAPHEME_CONTROL,
	GRAPHEME_EXTEND,
	GRAPHEME_ZWJ,
	GRAPHEME_REGIONAL,
	GRAPHEME_PREPEND,
	GRAPHEME_SPACING,
	GRAPHEME_L,
	GRAPHEME_V,
	GRAPHEME_T,
	GRAPHEME_LV,
	GRAPHEME_LVT,
	GRAPHEME_CONSONANT, // Indic_Conjunct_Break = Consonant
	GRAPHEME_PICTOGRAPH
};

// General categories, in the order of unicode_record.category: "Cn", "Cc", ...; two letters each.
#define UNICODE_CATEGORIES "CnCcCfCoCsLlLmLoLtLuMcMeMnNdNlNoPcPdPePfPiPoPsScSkSmSoZlZpZs"
enum { UNICODE_CATEGORY_COUNT = 30, UNICODE_END = 0x110000 };

struct unicode_record {
	uint16_t flags;
	uint8_t grapheme, script, combining, category; // script 0: any
};
struct unicode_mapping { // of one character: `length` characters of unicode_pool from `at`
	uint32_t code;
	uint16_t at, length;
};
struct unicode_pair {
	uint32_t first, second, composed;
};
struct unicode_range {
	uint32_t first, last;
	uint8_t category;
};

extern const struct unicode_record unicode_records[];
extern const uint16_t unicode_stage1[], unicode_stage2[];
extern const struct unicode_mapping unicode_lower[], unicode_canonical[], unicode_compatible[];
extern const uint32_t unicode_pool[];
extern const struct unicode_pair unicode_pairs[];
// Characters whose category in Unicode 16 is not that of Unicode 14, the oldest that a supported PCRE2 has.
extern const struct unicode_range unicode_since14[];
extern const size_t unicode_lower_count, unicode_canonical_count, unicode_compatible_count, unicode_pair_count,
	unicode_since14_count;

static inline const struct unicode_record *unicode_of(uint32_t code) // below UNICODE_END
{
	return &unicode_records[unicode_stage2[unicode_stage1[code >> 6] * 64 + (code & 63)]];
}

static inline bool unicode_is(uint32_t code, unsigned flags)
{
	return unicode_of(code)->flags & flags;
}

// The character at s of valid UTF-8, and its length.
static inline uint32_t utf8_next(const char *s, size_t *length)
{
	const unsigned char *p = (const unsigned char *)s;

	if (p[0] < 0x80) {
		*length = 1;
		return p[0];
	}
	if (p[0] < 0xE0) {
		*length = 2;
		return (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
	}
	if (p[0] < 0xF0) {
		*length = 3;
		return (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
	}
	*length = 4;
	return (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}

static inline size_t utf8_length(char first) // of the character that begins with this byte
{
	unsigned char c = (unsigned char)first;

	return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

size_t utf8_put(char out[4], uint32_t code);
// The character that ends before `end`, and where it begins; begin < end.
uint32_t utf8_last(const char *begin, const char *end, size_t *length);
size_t utf8_count(const char *s, size_t nbytes);
bool ascii_is_punct(uint32_t code);

// To at most 18 characters (U+FDFA); the character itself where it does not change.
enum { UNICODE_MOST = 18 };
size_t unicode_decompose(uint32_t code, bool compatible, uint32_t out[UNICODE_MOST]);
size_t unicode_to_lower(uint32_t code, uint32_t out[UNICODE_MOST]);
uint32_t unicode_compose(uint32_t first, uint32_t second); // 0: they do not
// The length in bytes of the extended grapheme cluster at s; nbytes > 0.
size_t unicode_grapheme(const char *s, size_t nbytes);

#endif
