// SPDX-License-Identifier: Apache-2.0
// A table of the report as HTML; on a narrow page every row becomes a card of its own.
#include "report/html/html.h"

#include <string.h>

// A file may be a stranger's: nothing but base64 goes into the attribute.
static bool is_base64(const char *text)
{
	return text != NULL && text_starts(text, "iVBORw0KGgo") &&
		text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")] == '\0';
}

static void add_value(const struct report_section *t, size_t k, const struct report_value *v, struct arena *a, struct text *out)
{
	const struct report_column *c = &t->columns[k];

	text_addf(out, "<td data-label=\"%s\"%s><span%s>", html_esc(a, c->title), c->is_number ? " class=\"number\"" : "",
		v->text == NULL && v->note == NULL ? " class=\"none\""
			: k == 0                   ? " class=\"strong\""
						   : "");
	if (v->text != NULL)
		text_addf(out, v->is_warning ? "<span class=\"tag warn\">%s</span>" : "%s", html_esc(a, v->text));
	if (is_base64(v->picture))
		text_addf(out, "<img class=\"answer\" alt=\"%s\" src=\"data:image/png;base64,%s\">",
			v->picture_words != NULL ? html_esc(a, v->picture_words) : "", v->picture);
	if (v->note != NULL)
		text_addf(out, "<span class=\"sub\">%s</span>", html_esc(a, v->note));
	text_add(out, "</span></td>");
}

void html_section(const struct report_section *t, struct arena *a, struct text *out)
{
	if (t->row_count == 0)
		return;
	text_addf(out, "<h2 id=\"%s\">%s</h2>\n", t->id, html_esc(a, t->title));
	if (t->hint != NULL)
		text_addf(out, "<p class=\"hint\">%s</p>\n", html_prose(a, t->hint));
	text_addf(out, "<div class=\"scroll stack facts\"><table aria-labelledby=\"%s\"><thead><tr>", t->id);
	for (size_t k = 0; k < t->column_count; k++)
		if (t->columns[k].title != NULL)
			text_addf(out, "<th scope=\"col\"%s>%s</th>", t->columns[k].is_number ? " class=\"number\"" : "",
				html_esc(a, t->columns[k].title));
	text_add(out, "</tr></thead><tbody>\n");
	for (size_t i = 0; i < t->row_count; i++) {
		text_add(out, "<tr>");
		for (size_t k = 0; k < t->column_count; k++)
			if (t->columns[k].title != NULL)
				add_value(t, k, &t->values[i * t->column_count + k], a, out);
		text_add(out, "</tr>\n");
	}
	text_add(out, "</tbody></table></div>\n");
}
