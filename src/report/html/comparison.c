// SPDX-License-Identifier: Apache-2.0
// The comparisons of two sides as a table, one answer a line, with its interval drawn: where the bar does not touch the middle
// the sides differ.
#include <math.h>

#include "report/summary.h"

// The 99 % interval on a scale from half to twice, logarithmic, as text for a screen reader and as a bar.
static void bar(const struct store_comparison *c, struct text *out)
{
	const double reach = 0.6931471805599453; // ln 2
	double low = fmax(-1, fmin(1, log(c->low) / reach)), high = fmax(-1, fmin(1, log(c->high) / reach)),
	       middle = fmax(-1, fmin(1, log(c->ratio) / reach));

	if (isnan(c->low) || isnan(c->high))
		return;
	text_addf(out,
		"<svg viewBox=\"-104 -6 208 12\" width=\"130\" height=\"10\" aria-hidden=\"true\" style=\"display:block\"><line "
		"x1=\"0\" x2=\"0\" y1=\"-6\" y2=\"6\" stroke=\"currentColor\""
		" stroke-opacity=\".4\"/><line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"0\" stroke=\"currentColor\" "
		"stroke-width=\"3\" stroke-opacity=\".6\"/>"
		"<circle cx=\"%.1f\" cy=\"0\" r=\"4\" fill=\"currentColor\"/></svg>",
		100 * low, 100 * high, 100 * middle);
}

static const char *answer_class(const struct store_comparison *c)
{
	return text_is(c->verdict, "faster") ? "v-right" : text_is(c->verdict, "slower") ? "v-bad" : "v-off";
}

// `before`: the line above, which has said already what is compared when it is of the same two sides; NULL.
static void line(const struct report_comparison *r, const struct report_comparison *before, report_escape *esc, struct arena *a,
	struct text *out)
{
	const struct store_comparison *c = &r->line;
	bool said = before && text_is(before->name, r->name) && text_is(before->model, r->model) &&
		text_is(before->line.side_a, c->side_a) && text_is(before->line.side_b, c->side_b);

	text_addf(out, "<tr><td data-label=\"Comparison\"><span><span class=\"strong\">%s</span>", esc(a, r->name));
	if (c->what && !said)
		text_addf(out, "<span class=\"sub\">%s</span>", esc(a, c->what));
	if (c->claim && !said)
		text_addf(out, "<span class=\"sub\">claimed before: %s</span>", esc(a, c->claim));
	text_addf(out,
		"</span></td><td data-label=\"Model\" style=\"overflow-wrap:anywhere\"><span>%s<span "
		"class=\"sub\">%s</span></span></td><td data-label=\"Time of\"><span>%s</span></td>",
		esc(a, r->model), esc(a, r->where), esc(a, c->metric));
	text_addf(out, "<td data-label=\"A\"><span>%s<span class=\"sub\">%s</span></span></td>", r->a_ms ? r->a_ms : "–",
		said ? "" : esc(a, c->side_a));
	text_addf(out, "<td data-label=\"B\"><span>%s<span class=\"sub\">%s</span></span></td>", r->b_ms ? r->b_ms : "–",
		said ? "" : esc(a, c->side_b));
	text_addf(out, "<td data-label=\"B/A (99 %%)\"><span>%s", r->interval ? r->interval : "–");
	bar(c, out);
	text_addf(out, "</span></td><td data-label=\"Answer\"><span><span class=\"chip %s\">%s</span>", answer_class(c),
		esc(a, r->answer));
	if (r->notes && !(said && text_is(before->notes, r->notes)))
		text_addf(out, "<span class=\"sub\">%s</span>", esc(a, r->notes));
	text_add(out, "</span></td></tr>\n");
}

void report_comparisons_html(const struct summary *s, report_escape *esc, struct arena *a, struct text *out)
{
	if (s->comparison_count == 0)
		return;
	text_add(out,
		"<h2 id=\"comparisons\">Comparisons</h2>\n<p class=\"hint\">Two sides of one question, in alternation, each time "
		"in a process of its own. B/A is the middle of the ratios of the pairs (Hodges and Lehmann's), not the quotient "
		"of the two medians, with its 99\u00a0% interval; "
		"faster and slower are said only when the interval leaves out 1, the ratio is off by more than 2\u00a0% and "
		"there are six processes a side.</p>\n"
		"<div class=\"scroll stack\"><table><thead><tr><th scope=\"col\" style=\"width:22%\">Comparison</th><th "
		"scope=\"col\" style=\"width:13%\">Model</th><th scope=\"col\">Time of</th><th scope=\"col\" "
		"style=\"width:13%\">A</th>"
		"<th scope=\"col\" style=\"width:13%\">B</th><th scope=\"col\" style=\"width:13%\">B/A (99\u00a0%)</th><th "
		"scope=\"col\" style=\"width:19%\">Answer</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < s->comparison_count; i++)
		line(&s->comparisons[i], i > 0 ? &s->comparisons[i - 1] : NULL, esc, a, out);
	text_add(out, "</tbody></table></div>\n");
}
