// SPDX-License-Identifier: Apache-2.0
// The one way from the program to standard output and standard error (tools/check forbids every other under cli/). Text from
// outside goes in as %s and comes out with its control characters escaped (base/visible.h): no name, row or file can move the
// cursor, set the terminal's title or clipboard, or add a line that assay did not write.
#ifndef ASSAY_CLI_EMIT_H
#define ASSAY_CLI_EMIT_H

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

// On standard output; what was printed in characters.
int emit(const char *format, ...) __attribute__((format(printf, 1, 2)));
// What waits for standard output goes there; the errno of its first write that failed, ever, or 0.
int emit_flush(void);
// On standard error, after what waits for standard output.
void emit_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void emit_errorv(const char *format, va_list ap);
int emit_to(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Text of several lines on standard output: line feeds and tabs stay, every other control character is escaped. What is put
// together of strings from outside has them cleaned one by one before (visible_addf, visible_copy), or their line ends would be
// its own.
void emit_lines(const char *text);
// What has escaped itself (a report in the format of a file) on standard output, byte for byte.
void emit_bytes(const char *data, size_t nbytes);
// A JSON value (flags: jansson's for json_dumps) and a newline on standard output; no control character but the newlines between
// its lines.
void emit_json(const json_t *json, size_t flags);
// The line of progress: back to its beginning, rest of it erased, then `text` without a newline, cut to `width` characters. The
// only control sequence that assay writes, and only to a terminal.
void emit_progress(const char *text, int width);

// A line on standard error from a signal handler, of parts up to a NULL: one write, control characters as '?'.
void emit_in_handler(const char *const *parts);

#endif
