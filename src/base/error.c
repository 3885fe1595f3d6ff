// SPDX-License-Identifier: Apache-2.0
// Error texts. They end up in a terminal, in JSON and in a database, and parts of them come from files: so a text is always
// one line of valid UTF-8, whatever was formatted into it.
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Length of the UTF-8 sequence at s (s[0..left) is readable), 0 when it is not one.
static size_t utf8_length(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : (s[0] & 0xF0) == 0xE0 ? 3 : s[0] >= 0xF0 && s[0] < 0xF5 ? 4 : 0;
	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xC0) != 0x80)
			return 0;
	if (n == 3 && ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] >= 0xA0)))
		return 0;
	if (n == 4 && ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] >= 0x90)))
		return 0;
	return n;
}

// Control characters become blanks, broken UTF-8 becomes '?', line ends at the end go, a text that was cut ends in "...".
static void clean(char *text, size_t capacity, bool cut)
{
	size_t length = strlen(text);
	if (cut) {
		while (length > capacity - 4 || (length && ((unsigned char)text[length] & 0xC0) == 0x80))
			length--;
		memcpy(text + length, "...", 4);
		length += 3;
	}
	while (length && (text[length - 1] == '\n' || text[length - 1] == '\r' || text[length - 1] == ' '))
		text[--length] = 0;
	for (size_t i = 0; i < length;) {
		size_t n = utf8_length((const unsigned char *)text + i, length - i);
		if (!n) {
			text[i++] = '?';
			continue;
		}
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
			text[i] = ' ';
		i += n;
	}
}

enum status error_set(struct error *err, enum status status, const char *format, ...)
{
	if (!err)
		return status;
	// Arguments may point into err->text itself ("%s" of the old text), so format beside it.
	char text[sizeof err->text];
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (n < 0)
		text[0] = 0;
	clean(text, sizeof text, n >= (int)sizeof text);
	err->status = status;
	memcpy(err->text, text, strlen(text) + 1);
	return status;
}

enum status error_prefix(struct error *err, const char *format, ...)
{
	if (!err)
		return STATUS_FAILED;
	char text[sizeof err->text];
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	size_t used = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
	int more = snprintf(text + used, sizeof text - used, ": %s", err->text);
	clean(text, sizeof text, more < 0 || (size_t)more >= sizeof text - used);
	memcpy(err->text, text, strlen(text) + 1);
	return err->status;
}

enum status error_errno(struct error *err, const char *format, ...)
{
	int code = errno;
	enum status status = code == ENOSPC || code == EDQUOT ? STATUS_NO_SPACE : code == ENOMEM ? STATUS_NO_MEMORY : STATUS_FAILED;
	if (!err)
		return status;
	char text[sizeof err->text], reason[256];
	va_list ap;
	va_start(ap, format);
	if (vsnprintf(text, sizeof text, format, ap) < 0)
		text[0] = 0;
	va_end(ap);
	error_set(err, status, "%s: %s", text, strerror_r(code, reason, sizeof reason));
	errno = code;
	return status;
}
