// SPDX-License-Identifier: Apache-2.0
// What the files of the HTML report share. Every text that is not ours goes through html_esc.
#ifndef ASSAY_REPORT_HTML_HTML_H
#define ASSAY_REPORT_HTML_HTML_H

#include "report/summary.h"

// words.c
const char *html_esc(struct arena *a, const char *s);
const char *html_prose(struct arena *a, const char *s); // as html_esc, and `what stands so` is code; not for attributes
// The names, or how many there are.
const char *html_names(struct arena *a, const char *const *items, size_t count, size_t limit, const char *noun);
const char *html_verdict_class(enum verdict v, bool elsewhere);
const char *html_cell_class(const struct report_cell *c);
void html_fact(struct text *out, struct arena *a, const char *name,
	const char *content); // <dt><dd>, or nothing where there is no content

// A file of src/report, or one of ASSETS, as it was built in, with a newline; false: only one of ASSETS may be absent.
bool html_asset(struct text *out, const char *name);
// The policy of a page that fetches nothing and runs this one script; it stands before all that it forbids. Styles are inline:
// widths and colours come from rows.
const char *html_policy(struct arena *a, const char *script, size_t size);

// The sections, each a file; nothing where there is nothing to say.
void html_first_screen(const struct summary *s, struct arena *a, struct text *out);
void html_matrix(const struct summary *s, struct arena *a, struct text *out);
void html_overview(const struct summary *s, struct arena *a, struct text *out); // overview.c
// The last part of a Hub's name, where no other model ends with the same; of an .onnx file its folder too.
const char *html_short_name(const struct summary *s, const struct report_line *l);
bool html_chart(const struct summary *s, struct arena *a, struct text *out);
void html_section(const struct report_section *t, struct arena *a, struct text *out);
void html_failures(const struct summary *s, struct arena *a, struct text *out);
void html_fallbacks(const struct summary *s, struct arena *a, struct text *out);
void html_partials(const struct summary *s, struct arena *a, struct text *out);
void html_notes(const struct summary *s, struct arena *a, struct text *out);
void html_cell_details(const struct summary *s, const struct report_cell *c, struct arena *a, struct text *out);
void html_platforms(const struct summary *s, struct arena *a, struct text *out);
void html_page_end(const struct summary *s, struct arena *a, struct text *out);

#endif
