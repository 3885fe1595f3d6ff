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

// What stands before a file's name so that DuckDB takes it for nothing else: a home ("~"), "file:" and the words of extensions
// are read at the beginning of a relative one. "" is no name and stays.
static inline const char *sql_file_prefix(const char *path)
{
	return *path == '/' || *path == '\0' ? "" : "./";
}

static inline void sql_add_file(struct text *sql, const char *path)
{
	struct text name = { 0 };

	text_addf(&name, "%s%s", sql_file_prefix(path), path);
	sql_add_text(sql, text_get(&name));
	text_done(&name);
}

#endif
