// SPDX-License-Identifier: Apache-2.0
#include "emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/visible.h"

static int failure;

// The first: what is called between a write and the program's end changes errno.
static void note_failure(void)
{
	if (ferror(stdout) && !failure)
		failure = errno ? errno : EIO;
}

int emit_flush(void)
{
	fflush(stdout);
	note_failure();
	return failure;
}

static int write_formatted(FILE *f, const char *format, va_list ap)
{
	struct text t = { 0 };

	visible_addv(&t, format, ap);
	int width = (int)visible_width(text_get(&t));
	fwrite(text_get(&t), 1, t.length, f);
	if (f == stdout)
		note_failure();
	text_done(&t);
	return width;
}

int emit(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	int width = write_formatted(stdout, format, ap);
	va_end(ap);
	return width;
}

void emit_errorv(const char *format, va_list ap)
{
	emit_flush();
	write_formatted(stderr, format, ap);
}

void emit_error(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	emit_errorv(format, ap);
	va_end(ap);
}

int emit_to(FILE *f, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	int width = write_formatted(f, format, ap);
	va_end(ap);
	return width;
}

void emit_lines(const char *text)
{
	struct text t = { 0 };

	visible_add_lines(&t, text);
	emit_bytes(text_get(&t), t.length);
	text_done(&t);
}

void emit_bytes(const char *data, size_t nbytes)
{
	fwrite(data, 1, nbytes, stdout);
	note_failure();
}

void emit_json(const json_t *json, size_t flags)
{
	char *dumped = visible_json(json, flags);

	if (dumped)
		emit_bytes(dumped, strlen(dumped));
	emit_bytes("\n", 1);
	free(dumped);
}

void emit_progress(const char *text, int width)
{
	struct text t = { 0 };

	visible_add(&t, text, strlen(text));
	emit_to(stderr, "\r\033[K%.*s", width,
		text_get(&t)); // visible already, so this changes nothing and cuts no character in two
	fflush(stderr);
	text_done(&t);
}

void emit_in_handler(const char *const *parts)
{
	char line[8192];
	size_t n = 0;

	for (; *parts; parts++)
		for (const char *p = *parts; *p && n < sizeof line - 1; p++)
			line[n++] = (unsigned char)*p < 32 || *p == 127 ? '?' : *p;
	line[n++] = '\n';
	if (write(2, line, n) < 0)
		return; // there is no way to report it
}
