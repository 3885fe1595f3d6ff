// SPDX-License-Identifier: Apache-2.0
// Names and texts where SQL takes no parameter (the file of COPY, a table's name): quoted, so that nothing in them is SQL.
#ifndef ASSAY_STORE_SQL_NAME_H
#define ASSAY_STORE_SQL_NAME_H

#include "base/text.h"

static inline void sql_add_quoted(struct text *sql, const char *s, char quote)
{
	text_add_bytes(sql, &quote, 1);
	for (; *s != '\0'; s++) {
		text_add_bytes(sql, s, 1);
		if (*s == quote)
			text_add_bytes(sql, s, 1);
	}
	text_add_bytes(sql, &quote, 1);
}

static inline void sql_add_name(struct text *sql, const char *s)
{
	sql_add_quoted(sql, s, '"');
}
static inline void sql_add_text(struct text *sql, const char *s)
{
	sql_add_quoted(sql, s, '\'');
}

#endif
