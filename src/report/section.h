// SPDX-License-Identifier: Apache-2.0
// A table of the report: columns with a key for programs and a title for people, rows of values that are a text for people and a
// number for programs. Who gathers facts adds sections; md.c, html/section.c and json.c write all of them alike.
#ifndef ASSAY_REPORT_SECTION_H
#define ASSAY_REPORT_SECTION_H

#include <stdbool.h>

#include "base/arena.h"
#include "question/row.h"

enum { REPORT_SECTIONS = 40 }; // most in one report

enum report_kind { REPORT_ABSENT, REPORT_TEXT, REPORT_REAL, REPORT_INTEGER };

struct report_value {
	const char *text;      // as shown, with its unit; NULL: nothing
	enum report_kind kind; // how a program gets it; ABSENT: null
	double real;
	int64_t integer;
	const char *note;          // small, below: n, spread; NULL: nothing. A program has it in a column of its own
	bool is_warning;           // marked in HTML; everywhere its words or its note say of what it warns
	const char *picture;       // a PNG file in base64, which HTML shows beside the text; NULL: none
	const char *picture_words; // what it shows, for whom it is not seen
};

struct report_column {
	const char *key;   // "average_ms"; NULL: for people only
	const char *title; // "average"; NULL: for programs only
	bool is_number;    // to the right
};

struct report_section {
	const char *id, *title, *hint; // hint: how to read it; NULL: nothing
	const struct report_column *columns;
	size_t column_count, row_count, room;
	struct report_value *values; // [row][column]
};

struct summary;

// `room`: most rows. An empty section is not shown.
struct report_section *section_add(struct summary *out, struct arena *a, const char *id, const char *title, const char *hint,
	const struct report_column *columns, size_t column_count, size_t room);
// The next row, every value absent.
struct report_value *section_row(struct report_section *s);

struct report_value value_text(const char *text); // NULL: absent, as is what is NaN or ROW_NONE below
struct report_value value_ms(struct arena *a, double ms);
struct report_value value_mib(struct arena *a, double mib);
struct report_value value_count(struct arena *a, int64_t n);
struct report_value value_times(struct arena *a, double times);
struct report_value value_real(const char *text, double x); // with this text
struct report_value value_per_s(struct arena *a, double per_s);
struct report_value value_noted(struct report_value v, const char *note);
struct report_value value_flagged(struct report_value v);

#endif
