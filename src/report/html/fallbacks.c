// SPDX-License-Identifier: Apache-2.0
// Fallbacks: what was asked for against what ran, every try with its reason; and cells of which a part ran elsewhere.
#include "report/html/html.h"

void html_fallbacks(const struct summary *s, struct arena *a, struct text *out)
{
	if (s->fallback_count == 0)
		return;
	text_add(out,
		"<h2 id=\"fallbacks\">Fallbacks</h2><p class=\"hint\">What was asked for, and what ran instead. A time is held "
		"against the last one of the platform that was asked for, where it has answered the same question on this "
		"machine.</p>\n"
		"<div class=\"scroll stack\"><table><thead><tr><th scope=\"col\" style=\"width:20%\">Model</th><th scope=\"col\" "
		"style=\"width:18%\">Asked for, and the chain</th><th scope=\"col\" style=\"width:40%\">Tries</th><th "
		"scope=\"col\">Got</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < s->fallback_count; i++) {
		const struct report_fallback *f = &s->fallbacks[i];
		const struct report_cell *c = f->cell;
		text_addf(out,
			"<tr><td data-label=\"Model\"><span class=\"strong\" style=\"overflow-wrap:anywhere\">%s</span></td><td "
			"data-label=\"Asked for\"><span><span class=\"strong\">%s</span><span "
			"class=\"sub\">%s</span></span></td><td data-label=\"Tries\"><div>"
			"<span class=\"sub\">1. %s: %s%s%s</span>",
			html_esc(a, report_qualified(a, c->shown, c->qualifiers)), html_esc(a, c->platform),
			html_esc(a, f->chain), html_esc(a, c->platform), report_verdict_word(c), c->cause != NULL ? ": " : "",
			html_prose(a, c->cause));
		for (size_t k = 0; k < f->try_count; k++)
			text_addf(out, "<span class=\"sub\">%lld. %s</span>", (long long)f->tries[k].row.attempt,
				html_esc(a, report_try_words(a, &f->tries[k])));
		text_addf(out,
			"</div></td><td data-label=\"Got\"><span><span class=\"chip %s\">%s</span><span "
			"class=\"sub\">%s</span></span></td></tr>\n",
			f->answer != NULL ? html_verdict_class(f->answer->verdict, report_software(&f->answer->row) != NULL)
					  : "v-bad",
			f->answer != NULL                      ? arena_printf(a, "↪ %s", html_esc(a, f->answer->platform))
				: f->try_count > 0             ? "! nothing"
				: c->row.fallback_allowed == 1 ? "↪ allowed"
							       : "↪ silent",
			html_esc(a, f->got));
	}
	text_add(out, "</tbody></table></div>\n");
}

void html_partials(const struct summary *s, struct arena *a, struct text *out)
{
	if (s->partial_count == 0)
		return;
	text_add(out,
		"<h2 id=\"partials\">Ran only in part on the platform</h2>\n<div class=\"scroll stack\" "
		"style=\"margin-top:14px\"><table><thead><tr><th scope=\"col\" style=\"width:24%\">Model</th><th scope=\"col\" "
		"style=\"width:14%\">On</th><th scope=\"col\" style=\"width:14%\">Nodes elsewhere</th><th "
		"scope=\"col\">Which</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < s->partial_count; i++) {
		const struct report_partial *p = &s->partials[i];
		text_addf(out,
			"<tr><td data-label=\"Model\"><span class=\"strong\" style=\"overflow-wrap:anywhere\">%s</span></td><td "
			"data-label=\"On\"><span>%s</span></td><td data-label=\"Nodes elsewhere\"><span>%s</span></td><td "
			"data-label=\"Which\"><span class=\"clip\" style=\"overflow-wrap:anywhere\">%s</span></td></tr>\n",
			html_esc(a, report_qualified(a, p->cell->shown, p->cell->qualifiers)), html_esc(a, p->on), p->nodes,
			html_esc(a, p->ops));
	}
	text_add(out, "</tbody></table></div>\n");
}
