// SPDX-License-Identifier: Apache-2.0
// The report as one HTML file that needs nothing else: style, script and chart library are inside. The sections lie in html_*.c.
#include "report/html/html.h"
#include "report/web_asset.h"

// Where to find what, below the first screen.
static void contents(const struct summary *s, struct arena *a, struct text *out)
{
	static const struct {
		const char *id, *title;
	} fixed[] = { { "matrix", "Models and platforms" }, { "failures", "What does not run or is not right" },
		{ "fallbacks", "Fallbacks" }, { "comparisons", "Comparisons" }, { "notes", "Before quoting a number" },
		{ "cells", "Everything" }, { "platforms", "Platforms" } };
	const bool there[] = { s->cell_count > 0, s->failure_count > 0, s->fallback_count > 0, s->comparison_count > 0,
		s->note_count > 0, s->cell_count > 0, s->platform_count > 0 };

	text_add(out, "<nav class=\"contents\" aria-label=\"Contents\">");
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
		for (size_t k = 0; i == 3 && s->cell_count > 0 && k < s->section_count; k++)
			if (s->sections[k]->row_count > 0)
				text_addf(out, "<a href=\"#%s\">%s</a>", s->sections[k]->id, html_esc(a, s->sections[k]->title));
		if (there[i])
			text_addf(out, "<a href=\"#%s\">%s</a>", fixed[i].id, fixed[i].title);
	}
	text_add(out, "</nav>\n");
}

static enum status add_asset(struct text *out, const char *name, struct error *err)
{
	for (size_t i = 0; i < web_assets_count; i++) {
		if (!text_is(web_assets[i].name, name))
			continue;
		text_add_bytes(out, web_assets[i].data, web_assets[i].size);
		text_add(out, "\n");
		return STATUS_OK;
	}
	return error_set(err, STATUS_UNAVAILABLE, "this assay was built without %s, which its HTML report needs", name);
}

enum status report_html(const struct summary *s, struct arena *a, struct text *out, struct error *err)
{
	struct text page = { 0 };
	enum status status;
	bool has_chart = false;

	text_addf(&page,
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
		"content=\"width=device-width, initial-scale=1\">"
		"<meta name=\"generator\" content=\"assay %s\"><title>assay: %s</title>\n<style>\n",
		html_esc(a, s->version), report_headline(s, a));
	status = add_asset(&page, "uPlot.min.css", err);
	if (status == STATUS_OK)
		status = add_asset(&page, "report.css", err);
	text_add(&page, "</style></head>\n<body><main>\n");
	html_first_screen(s, a, &page);
	contents(s, a, &page);
	if (s->cell_count > 0) {
		html_matrix(s, a, &page);
		has_chart = html_chart(s, a, &page);
		html_failures(s, a, &page);
		html_fallbacks(s, a, &page);
		html_partials(s, a, &page);
		for (size_t i = 0; i < s->section_count; i++)
			html_section(s->sections[i], a, &page);
	}
	report_comparisons_html(s, html_esc, a, &page);
	if (s->cell_count > 0) {
		html_notes(s, a, &page);
		text_add(&page,
			"<h2 id=\"cells\">Everything that was measured</h2><p class=\"hint\">One entry for each cell.</p>\n");
		for (size_t i = 0; i < s->cell_count; i++)
			html_cell_details(s, &s->cells[i], a, &page);
	}
	html_platforms(s, a, &page);
	html_page_end(s, a, &page);
	text_add(&page, "</main>\n<script>\n");
	if (status == STATUS_OK && has_chart)
		status = add_asset(&page, "uPlot.iife.min.js", err);
	if (status == STATUS_OK)
		status = add_asset(&page, "report.js", err);
	text_add(&page, "</script>\n</body></html>\n");
	if (status == STATUS_OK)
		text_add_bytes(out, page.data, page.length);
	text_done(&page);
	return status;
}
