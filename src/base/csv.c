// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <string.h>

// What a program may take away before it looks at a cell: quotes and blanks, also those of Unicode that have no width.
static const char *after_blanks(const char *at)
{
	static const char *const blanks[] = { " ", "\v", "\f", "'", "\"", "\xc2\xa0", "\xe2\x80\x8b", "\xef\xbb\xbf",
		"\xe3\x80\x80" };

	for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++) {
		size_t n = strlen(blanks[i]);
		if (strncmp(at, blanks[i], n) == 0) {
			at += n;
			i = (size_t)-1;
		}
	}
	return at;
}

static bool is_formula(const char *cell)
{
	const char *first = after_blanks(cell);

	if (first[0] == '\xef' && first[1] == '\xbc')
		return first[2] != '\0' && strchr("\x9d\x8b\x8d\xa0", first[2]) != NULL;
	return *first != '\0' && strchr("=+@-", *first) != NULL;
}

void csv_add_safe(struct text *out, const char *text)
{
	const bool is_number = *text == '-' && text[1 + strspn(text + 1, "0123456789.")] == '\0';

	while (*text != '\0') {
		if (!is_number && is_formula(text))
			text_add(out, "'");
		size_t n = strcspn(text, ";\t\r\n");
		n += text[n] != '\0';
		text_add_bytes(out, text, n);
		text += n;
	}
}
