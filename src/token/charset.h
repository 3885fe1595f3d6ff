// SPDX-License-Identifier: Apache-2.0
// Sets of characters of a regular expression while it is written for PCRE2: classes, properties, and what is computed of them.
// Private to pattern.c and charset.c.
#ifndef ASSAY_TOKEN_CHARSET_H
#define ASSAY_TOKEN_CHARSET_H

#include "base/text.h"
#include "token/pattern.h"
#include "token/unicode.h"

// What the expressions of one file may come to. Those of DeepSeek V3: 4 of 240 bytes, 6 KiB as PCRE2 is given them, 2 computed
// sets; one of 332 bytes with intersections, as Kimi K2 cuts words: 65 KiB, 17 sets, 31 KiB of code.
enum {
	EXPRESSIONS_MOST = 256,
	SOURCE_MOST = 1 << 16,              // bytes, as they are written
	EXPANDED_MOST = 1 << 20,            // bytes, as PCRE2 is given them
	SETS_MOST = 128,                    // computed; each is 136 KiB while an expression is read
	PROPERTIES_MOST = 16,               // of those of PCRE2, computed: each is asked for all characters
	IN_RANGES_MOST = 128 * UNICODE_END, // characters in the ranges of sets: PCRE2 goes through them where case is ignored
	JIT_MOST = 1 << 17                  // bytes of PCRE2's code that are compiled further; what is behind is interpreted
};

// What a class or an escape stands for, as far as PCRE2 can be told it: `items` is what stands between [ and ]. `bits` is the
// same computed, where it had to be.
enum { SET_WORDS = UNICODE_END / 32 };
struct set {
	struct reader *r;
	struct text items;
	uint32_t *bits; // SET_WORDS; NULL: not computed
	bool negated;
};

struct reader {
	const char *at, *end;
	struct text out;
	struct arena *a; // while it is read
	struct pattern_list *all;
	bool extended; // (?x)
	int depth;
	struct error *err;
	bool failed;
};

// The first reason stays, and nothing is read behind it.
void reader_refuse(struct reader *r, const char *why);
// Refuses what is too large; nbytes: of what is being written for PCRE2.
void reader_weigh(struct reader *r, size_t nbytes);

// All zero, one bit a character, until the expression is read. Beyond the file's limit the expression is refused.
uint32_t *set_new_bits(struct reader *r);
void set_negate(uint32_t *bits);
void set_merge(struct set *s, const uint32_t *bits);
void set_add_range(struct set *s, uint32_t first, uint32_t last);
void set_add_mask(struct set *s, const char *categories); // "LMNd"
// Properties in lower case, without blanks and lines. False: none of that name.
bool set_add_named(struct set *s, const char *name, size_t length);
bool set_add_negated(struct set *s, struct reader *r, const char *name, size_t length); // computed
bool set_add_property(struct set *s, const char *name);                                 // of PCRE2's, into a set that is computed

#endif
