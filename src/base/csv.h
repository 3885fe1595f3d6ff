// SPDX-License-Identifier: Apache-2.0
// A cell of a CSV file that begins with = + - @ is a formula to a spreadsheet, and may start programs there. It gets a ' before
// it, which spreadsheets take as "this is text". So does a cell that has such quotes, or blanks, before such a character, so
// that taking one away gives back what was. Spreadsheets that part cells at a semicolon or a tab, whatever stands in quotes,
// begin one after each of these. A text that is a minus with nothing but digits and points after it computes nothing: a negative
// number, and the lone "-" for "none", stay as they are.
#ifndef ASSAY_BASE_CSV_H
#define ASSAY_BASE_CSV_H

#include "base/text.h"

void csv_add_safe(struct text *out, const char *text);

#define CSV_WIDE "＝＋－＠" // the full-width forms, which spreadsheets of East Asia take for these
// Quotes, and blanks that a program may take away before it looks at a cell; a class of DuckDB's expressions.
#define CSV_PASSED "['' \\x22\\v\\f\\x{a0}\\x{200b}\\x{feff}\\x{3000}]"
// The same as an expression of DuckDB over a text, and the way back.
#define CSV_SAFE_SQL(text) \
	"regexp_replace(regexp_replace(" text ", '([;\\t\\r\\n])(" CSV_PASSED "*[=+@" CSV_WIDE \
	"-])', '\\1''\\2', 'g'), '^(" CSV_PASSED "*[=+@" CSV_WIDE "]|" CSV_PASSED "+-|-[0-9.]*[^0-9.])', '''\\1')"
#define CSV_PLAIN_SQL(text) "regexp_replace(" text ", '(^|[;\\t\\r\\n])''(" CSV_PASSED "*[=+@" CSV_WIDE "-])', '\\1\\2', 'g')"
// How DuckDB reads a file as it lies there: without it a folder that is called NAME=VALUE is a column of each file in it, and
// a name that ends in .gz or .zst makes more of a file than was counted. The second is for text, which is not compressed.
#define PLAIN_FILE_SQL ", hive_partitioning = false"
#define PLAIN_TEXT_SQL PLAIN_FILE_SQL ", compression = 'uncompressed'"
// How DuckDB reads the CSV that DuckDB wrote: every column as text, an empty field as NULL and "" as the empty text.
#define CSV_READ_SQL \
	PLAIN_TEXT_SQL ", header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"', allow_quoted_nulls = " \
		       "false"

#endif
