// SPDX-License-Identifier: Apache-2.0
// A growing byte string, and the few string questions that are asked everywhere.
#ifndef ASSAY_BASE_TEXT_H
#define ASSAY_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {       // all zero is a valid empty text
	char *data; // NUL-terminated once anything was added; NULL before
	size_t length, capacity;
};

void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const void *data, size_t nbytes);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
// As a shell reads it back: in quotes where it has to be; an empty word has to stand there, too.
void text_add_word(struct text *t, const char *word);
// Percent-encoded for a URL; '/' stays when keep_slashes.
void text_add_url(struct text *t, const char *s, bool keep_slashes);
void text_addv(struct text *t, const char *format, va_list ap);
void text_add_base64(struct text *t, const void *data, size_t nbytes); // RFC 4648, with padding, in one line
// The string, never NULL; owned by the text.
const char *text_get(const struct text *t);
void text_done(struct text *t);

bool text_is(const char *a, const char *b);    // equal; NULL equals only NULL
bool text_agree(const char *a, const char *b); // equal, or one of them is NULL: not known
// A copy of `from` that has room in `size` bytes: of a longer one its beginning, " ... " and, twice as much, its end.
void text_fit(char *out, size_t size, const char *from);
bool text_starts(const char *s, const char *prefix);
bool text_ends(const char *s, const char *suffix);
// The name nearest to `word` if it is near enough for "did you mean", else NULL; name() gives NULL after the last.
const char *text_nearest(const char *word, const char *(*name)(size_t i, const void *table), const void *table);
// A whole decimal number within [min, max]; false on anything else, *out untouched.
bool text_to_int(const char *s, int64_t min, int64_t max, int64_t *out);
bool text_to_double(const char *s, double min, double max, double *out);

#endif
