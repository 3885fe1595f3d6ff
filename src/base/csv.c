// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <string.h>

static bool is_formula(const char *cell)
{
	const char *first = cell + strspn(cell, "'");

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
