// SPDX-License-Identifier: Apache-2.0
// A cell of a CSV file that begins with one of these is a formula to a spreadsheet, and may start programs there. It gets a '
// before it, which spreadsheets take as "this is text". So does a cell that has such quotes before such a character, so that
// taking one away gives back what was. A minus with nothing but digits and points after it computes nothing: a negative number,
// and the lone "-" for "none", stay as they are.
#ifndef ASSAY_BASE_CSV_H
#define ASSAY_BASE_CSV_H

#include <stdbool.h>
#include <string.h>

#define CSV_FORMULA "=+@\t\r-"
#define CSV_WIDE "＝＋－＠" // full-width forms, which spreadsheets of East Asia take for these

static inline bool csv_is_formula(const char *cell)
{
	const char *first = cell + strspn(cell, "'");
	const bool is_wide = first[0] == '\xef' && first[1] == '\xbc' && first[2] != '\0' && strchr("\x9d\x8b\x8d\xa0", first[2]);

	if (*cell == '-' && cell[1 + strspn(cell + 1, "0123456789.")] == '\0')
		return false;
	return is_wide || (*first != '\0' && strchr(CSV_FORMULA, *first) != NULL);
}

// The same as an expression of DuckDB over a text, and the way back.
#define CSV_SAFE_SQL(text) "regexp_replace(" text ", '^(''*[=+@\\t\\r" CSV_WIDE "]|''+-|-[0-9.]*[^0-9.])', '''\\1')"
#define CSV_PLAIN_SQL(text) "regexp_replace(" text ", '^''(''*[=+@\\t\\r" CSV_WIDE "-])', '\\1')"
// How DuckDB reads the CSV that DuckDB wrote: every column as text, an empty field as NULL and "" as the empty text.
#define CSV_READ_SQL ", header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"', allow_quoted_nulls = false"

#endif
