// SPDX-License-Identifier: Apache-2.0
// Error texts. They end up in a terminal, in JSON and in a database, and parts of them come from files: so a text is always
// one line of valid UTF-8, whatever was formatted into it.
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/visible.h"

// Control characters become blanks, broken UTF-8 becomes '?', line ends at the end go, a text that was cut ends in "...".
static void clean(char *text, size_t capacity, bool cut)
{
	size_t length = strlen(text);
	if (cut) {
		length = visible_fit(text, length, capacity - 4);
		memcpy(text + length, "...", 4);
		length += 3;
	}
	while (length && (text[length - 1] == '\n' || text[length - 1] == '\r' || text[length - 1] == ' '))
		text[--length] = 0;
	for (size_t i = 0; i < length;) {
		uint32_t code;
		size_t n = visible_utf8(text + i, length - i, &code);
		if (!n) {
			text[i++] = '?';
			continue;
		}
		if (visible_is_control(code))
			memset(text + i, ' ', n);
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
	err->of_engine = false;
	memcpy(err->text, text, strlen(text) + 1);
	return status;
}

enum status error_copy(struct error *err, enum status status, const struct error *from)
{
	if (err) {
		*err = *from;
		err->status = status;
	}
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

bool error_is_of_name(int code)
{
	switch (code) {
	case 0:
	case ENOENT:
	case ENOTDIR:
	case EISDIR:
	case EEXIST:
	case ENOTEMPTY:
	case ELOOP:
	case ENAMETOOLONG:
	case ENOEXEC:
		return true;
	default:
		return false;
	}
}

enum status error_errno(struct error *err, const char *format, ...)
{
	int code = errno;
	enum status status = code == ENOSPC || code == EDQUOT || code == EFBIG ? STATUS_NO_SPACE
		: code == ENOMEM                                               ? STATUS_NO_MEMORY
		: error_is_of_name(code)                                       ? STATUS_FAILED
									       : STATUS_NOT_ASKED;
	if (!err)
		return status;
	char text[sizeof err->text], reason[256];
	va_list ap;
	va_start(ap, format);
	if (vsnprintf(text, sizeof text, format, ap) < 0)
		text[0] = 0;
	va_end(ap);
	error_set(err, status, "%s: %s%s", text, strerror_r(code, reason, sizeof reason),
		code == EFBIG ? " (a limit of this process: ulimit -f)" : "");
	errno = code;
	return status;
}
