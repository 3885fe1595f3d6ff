// SPDX-License-Identifier: Apache-2.0
// Reports from rows: one self-contained HTML file, Markdown, JSON, YAML, JUnit XML, and the compatibility matrix. Facts are
// gathered once (summary.c) and written by the writer that was asked for.
#ifndef ASSAY_REPORT_REPORT_H
#define ASSAY_REPORT_REPORT_H

#include "base/text.h"
#include "store/store.h"

// code, word, ending of a file name (of the first that has it), what it is
#define REPORT_FORMAT_LIST(X) \
	X(MD, "md", ".md", "Markdown") \
	X(HTML, "html", ".html", "one file that needs no network") \
	X(JSON, "json", ".json", "for programs") \
	X(YAML, "yaml", ".yaml", "the same as YAML") \
	X(JUNIT, "junit", ".xml", "JUnit XML: a suite a platform, a case a cell") \
	X(MATRIX, "matrix", NULL, "architecture x hardware as JSON, each word derived from rows") \
	X(MATRIX_YAML, "matrix-yaml", NULL, "the same as YAML")

enum report_format {
#define X(code, word, ending, what) REPORT_##code,
	REPORT_FORMAT_LIST(X)
#undef X
		REPORT_FORMAT_COUNT
};

const char *report_format_words(void);                      // "md, html, json, ..."
enum report_format report_format_find(const char *word);    // REPORT_FORMAT_COUNT: there is none
enum report_format report_format_of_file(const char *path); // by its ending; REPORT_MD without one, COUNT: unknown

// What an hour of a platform costs.
struct report_price {
	const char *platform;
	double per_hour;
};
struct report_options {
	const struct report_price *prices;
	size_t price_count;
	const char *currency; // "EUR"; "": none was named
};
// "cpu=0.20,openvino:GPU=0.5EUR" in items; the word after a number is the currency, one for all. BAD_INPUT says what is wrong.
enum status report_prices(struct arena *a, const char *const *items, size_t count, struct report_options *out, struct error *err);

// A text as part of a line or of a table's cell in Markdown (as GitHub shows it): what has a meaning there is escaped, control
// characters are visible (base/visible.h), NULL is "".
const char *report_md_esc(struct arena *a, const char *s);

enum status report_write(struct store *s, enum report_format format, struct text *out, struct error *err);
enum status report_write_with(
	struct store *s, enum report_format format, const struct report_options *options, struct text *out, struct error *err);
// Several formats of one moment of the file: wanted[i] into out[i]. The facts are gathered once, which is most of the time.
enum status report_write_each(struct store *s, const enum report_format *wanted, size_t count,
	const struct report_options *options, struct text *out, struct error *err);

#endif
