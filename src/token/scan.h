// SPDX-License-Identifier: Apache-2.0
// JSON from left to right, without a tree: of a model with 250,000 tokens a tree would take 75 times its text (base/json.h). The
// first error stays; everything returns false from then on. Private to token/.
#ifndef ASSAY_TOKEN_SCAN_H
#define ASSAY_TOKEN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct scan {
	const char *begin, *at, *end;
	const char *error; // a sentence's end; NULL: none
	struct text unescaped[2];
	int turn;
	const char *kept; // of a mapped file: what is before goes back to the system as the scan goes on. NULL: of other memory
};

enum { SCAN_STRING_MOST = 8 << 20 }; // bytes: the longest in use is a Precompiled normalizer's table, 320,012 of T5's

// What is next, without blanks: one of { [ " 0 (a number) t f n (words), or 0 at the end.
char scan_peek(struct scan *s);
// scan_open(s, '{'), then while (scan_more(s, '}', &first)) ... with `first` true at the beginning.
bool scan_open(struct scan *s, char bracket);
bool scan_more(struct scan *s, char bracket, bool *first);
// A string; it lies in the text, or, where it has escapes, in the scan, until the string after the next. Valid UTF-8.
bool scan_string(struct scan *s, const char **out, size_t *nbytes);
bool scan_key(struct scan *s, const char **out, size_t *nbytes); // and its colon
bool scan_id(struct scan *s, uint32_t *out);
// As serde_json reads it: up to 19 digits of the significand times a power of ten, which may be off by a rounding.
bool scan_number(struct scan *s, double *out);
bool scan_bool(struct scan *s, bool *out);
bool scan_null(struct scan *s); // takes it, if it is one; no error else
bool scan_skip(struct scan *s); // any value
bool scan_fail(struct scan *s, const char *why);
void scan_done(struct scan *s);

#endif
