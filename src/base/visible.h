// SPDX-License-Identifier: Apache-2.0
// Text from outside (names, messages, rows, file contents) as a person may see it. A terminal obeys control characters, and a
// reader is misled by line ends, by characters that turn the direction of writing and by those that have no width: each of them
// is shown as an escape instead.
#ifndef ASSAY_BASE_VISIBLE_H
#define ASSAY_BASE_VISIBLE_H

#include <jansson.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

// The length in bytes of the UTF-8 sequence at s, of which `left` bytes may be read, and its code point; 0 when there is none
// (RFC 3629: shortest form, no surrogates, at most U+10FFFF). `code` may be NULL.
size_t visible_utf8(const char *s, size_t left, uint32_t *code);
// The offset of the first byte of nbytes that is not UTF-8; nbytes where there is none.
size_t visible_not_utf8(const void *text, size_t nbytes);
// Must this code point be shown as an escape? C0, DEL and C1 controls, line and paragraph separators (U+2028, U+2029), the marks,
// embeddings, overrides and isolates of bidirectional text (UAX 9), what has no width (soft hyphen, U+200B to U+200D, U+2060,
// U+FEFF), by which two names may look alike, and U+FFFE and U+FFFF, which XML and YAML do not allow.
bool visible_is_control(uint32_t code);
// How many of nbytes of UTF-8 fit into `most` bytes without a character being cut.
size_t visible_fit(const void *text, size_t nbytes, size_t most);
// Characters of a text, a byte that is not UTF-8 counted as one.
size_t visible_width(const char *s);

// Adds the bytes with every control character and every byte that is not UTF-8 as \n, \t, \r, \x1b (one byte) or \u202e (a code
// point).
void visible_add(struct text *t, const char *s, size_t nbytes);
// The same of text that has lines: line feed and tab stay as they are.
void visible_add_lines(struct text *t, const char *s);
// Foreign bytes as UTF-8 without control characters but tab and line feed; what is neither becomes '?'.
void visible_clean(struct text *t, const char *bytes, size_t nbytes);
// Of a name from outside at most 200 bytes, and then how many it had: for a line, which a name must not flood. Its control
// characters are as they were; NULL stays NULL.
const char *visible_short(struct arena *a, const char *s);
// A copy in the arena; NULL stays NULL.
const char *visible_copy(struct arena *a, const char *s);
// As printf, but every %s is added like visible_add, and its width counts characters; what stands in the format itself is not
// changed. Conversions: %s %c %d %i %u %x %X %f %e %g %% with flags, width, precision and the lengths hh h l ll z.
void visible_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void visible_addv(struct text *t, const char *format, va_list ap);

// A JSON string of a text that may be no UTF-8, as names of files may: then its bad bytes are \xff, as visible_add has them.
// NULL: null.
json_t *visible_json_string(const char *s);
// json_dumps with every control character, C1 and U+2028 too, as \uXXXX: the same value to a reader of JSON. To be freed; NULL
// where json_dumps gives NULL.
char *visible_json(const json_t *json, size_t flags);

#endif
