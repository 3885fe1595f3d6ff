// SPDX-License-Identifier: Apache-2.0
// The sections below the matrix: what does not run, what to know, the platforms, how it was measured.
#include "report/html/html.h"

void html_failures(const struct summary *s, struct arena *a, struct text *out)
{
	if (s->failure_count == 0)
		return;
	text_add(out,
		"<h2 id=\"failures\">What does not run or is not right, and why</h2>\n<div class=\"scroll stack\" "
		"style=\"margin-top:14px\"><table><thead><tr><th scope=\"col\" style=\"width:29%\">Model</th><th scope=\"col\" "
		"style=\"width:14%\">On</th><th scope=\"col\" style=\"width:13%\">Verdict</th><th "
		"scope=\"col\">Cause</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < s->failure_count; i++) {
		const struct report_failure *f = &s->failures[i];
		text_addf(out,
			"<tr><td data-label=\"Model\"><span><span class=\"strong\" "
			"style=\"overflow-wrap:anywhere\">%s</span>%s</span></td><td data-label=\"On\"><span>%s</span></td><td "
			"data-label=\"Verdict\"><span><span class=\"chip %s\">%s</span></span></td><td "
			"data-label=\"Cause\"><span style=\"overflow-wrap:anywhere\">%s</span></td></tr>\n",
			html_names(a, f->models, f->model_count, f->model_count, ""),
			f->qualifiers != NULL ? arena_printf(a, "<span class=\"q\">%s</span>", html_esc(a, f->qualifiers)) : "",
			html_names(a, f->platforms, f->platform_count, f->platform_count, ""),
			html_verdict_class(f->verdict, f->is_elsewhere || f->is_stand_in), report_failure_word(f),
			html_prose(a, f->cause));
	}
	text_add(out, "</tbody></table></div>\n");
}

void html_notes(const struct summary *s, struct arena *a, struct text *out)
{
	if (s->note_count == 0)
		return;
	text_add(out, "<h2 id=\"notes\">Before quoting a number</h2>\n<ul class=\"notes\">");
	for (size_t i = 0; i < s->note_count; i++)
		text_addf(out, "<li>%s</li>", html_prose(a, s->notes[i]));
	text_add(out, "</ul>\n");
}

void html_platforms(const struct summary *s, struct arena *a, struct text *out)
{
	if (s->platform_count == 0)
		return;
	text_add(out,
		"<h2 id=\"platforms\">Platforms on this machine</h2>\n<div class=\"scroll stack\" "
		"style=\"margin-top:14px\"><table><thead><tr><th scope=\"col\" style=\"width:15%\">Platform</th><th "
		"scope=\"col\" style=\"width:12%\">Here</th><th scope=\"col\">Engine and device, or why "
		"not</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < s->platform_count; i++) {
		const struct report_platform *p = &s->platforms[i];
		text_addf(out,
			"<tr><td data-label=\"Platform\"><span class=\"strong\">%s</span></td><td "
			"data-label=\"Here\"><span><span class=\"chip %s\">%s</span></span></td><td data-label=\"%s\"><span>",
			html_esc(a, p->name),
			!p->is_available         ? "v-off"
				: p->is_emulated ? "v-bad"
						 : "v-right",
			!p->is_available         ? "– no"
				: p->is_emulated ? "≈ emulated"
						 : "✓ yes",
			p->is_available ? "With" : "Why not");
		if (p->is_available)
			text_addf(out, "%s<span class=\"sub\">%s</span>",
				html_esc(a,
					arena_join(a, arena_join(a, report_engine_name(p->engine), " ", p->engine_version), ", ",
						p->device)),
				html_esc(a, p->capabilities));
		else
			text_add(out, html_prose(a, p->reason));
		text_add(out, "</span></td></tr>\n");
	}
	text_add(out, "</tbody></table></div>\n");
}

void html_page_end(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out,
		"<footer><h2 id=\"method\">How it was measured</h2><p>Every cell ran in a process of its own. Building, loading, "
		"the first run "
		"and the warm runs are timed apart, with nothing else of assay running meanwhile. "
		"Latency is the median of the warm runs; a percentile is given only with enough samples for 99\u00a0% confidence "
		"(the 90th: 64), else it says that n is too small. "
		"The fastest has the lowest median in its line; where another's fastest run is not slower than that median they "
		"count as near each other; where one of the two is unstable and they do not overlap nothing is claimed; a "
		"comparison of several processes decides before either. Peak memory counts mapped weights; with a "
		"browser it is the largest proportional set size at the end of a phase, of all its processes.</p>");
	for (size_t i = 0; i < s->method_count; i++)
		text_addf(out, "<p>Memory: %s.</p>", html_esc(a, s->methods[i]));
	text_add(out, "<h2>Machine</h2><dl>");
	for (size_t i = 0; i < s->machine_count; i++) {
		const struct report_machine *m = &s->machines[i];
		if (m->is_foreign) {
			html_fact(out, a, "Of imported rows", m->cpu_model != NULL ? m->cpu_model : "no machine is named");
			continue;
		}
		html_fact(out, a, "Processor", report_machine_line(a, m));
		html_fact(out, a, "Caches",
			arena_join(a, arena_join(a, "L2 ", "", report_bytes(a, m->l2_bytes)), ", L3 ",
				report_bytes(a, m->l3_bytes)));
		html_fact(out, a, "Instruction sets", m->features);
		html_fact(out, a, "Kernel", m->kernel);
		html_fact(out, a, "Hypervisor", m->hypervisor);
		html_fact(out, a, "Machine id", m->id);
	}
	text_add(out, "</dl><h2>The commands that made the rows</h2><pre>");
	for (size_t i = 0; i < s->run_count && i < 20; i++)
		text_addf(out, "%s\n", html_esc(a, report_run_command(a, &s->runs[i])));
	if (s->run_count > 20)
		text_addf(out, "(and %zu older ones)\n", s->run_count - 20);
	text_addf(out,
		"</pre><p>assay %s. %lld row%s in the database, %zu shown: the latest answer to every question. <code>assay "
		"query 'SELECT * FROM result'</code> has them all.</p></footer>\n",
		html_esc(a, s->version), (long long)s->rows, s->rows == 1 ? "" : "s", s->cell_count);
}
