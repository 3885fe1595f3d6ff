// SPDX-License-Identifier: Apache-2.0
// The report as one HTML file that needs nothing else: style, script and chart library are inside. The sections lie in html_*.c.
#include <string.h>

#include <nettle/base64.h>

#include "base/hash.h"
#include "report/html/html.h"
#include "report/web_asset.h"

// Groups of the contents, each with the ids of its sections; one that ends with '*' stands for all that begin so. What no group
// names is of the last.
static const struct {
	const char *title, *ids[12];
} groups[] = {
	{ "What runs", { "runs", "matrix", "answers", "answer_parts", "failures", "fallbacks", "partials" } },
	{ "Best hardware", { "best_*", "predictions" } },
	{ "Times",
		{ "latency", "performance_*", "slowest_load", "comparisons", "generation", "scenarios", "sweeps", "crossover",
			"together", "switches" } },
	{ "Precision and engines", { "precision", "accuracy", "as_shipped" } },
	{ "Memory and energy", { "memory", "energy" } },
	{ "Details", { "notes", "cells", "platforms", "method" } },
};
enum { GROUPS = sizeof groups / sizeof *groups };

static size_t group_of(const char *id)
{
	for (size_t g = 0; g < GROUPS; g++)
		for (const char *const *i = groups[g].ids; *i != NULL; i++) {
			size_t n = strcspn(*i, "*");
			if (strncmp(*i, id, n) == 0 && ((*i)[n] == '*' || id[n] == '\0'))
				return g;
		}
	return GROUPS - 1;
}

// Where to find what, below the first screen; it stays in sight.
static void contents(const struct summary *s, bool has_chart, struct arena *a, struct text *out)
{
	const bool any = s->cell_count > 0;
	const struct {
		bool is_there;
		const char *id, *title;
	} fixed[] = {
		{ any, "runs", "First screen" },
		{ any, "matrix", "Models and platforms" },
		{ s->failure_count > 0, "failures", "What does not run or is not right" },
		{ s->fallback_count > 0, "fallbacks", "Fallbacks" },
		{ s->partial_count > 0, "partials", "Ran only in part on the platform" },
		{ has_chart, "latency", "Latency" },
		{ s->comparison_count > 0, "comparisons", "Comparisons" },
		{ s->note_count > 0, "notes", "Before quoting a number" },
		{ any, "cells", "Everything that was measured" },
		{ s->platform_count > 0, "platforms", "Platforms" },
		{ true, "method", "How it was measured" },
	};

	text_add(out, "<nav class=\"contents\" aria-label=\"Contents\">");
	for (size_t g = 0; g < GROUPS; g++) {
		struct text links = { 0 };
		for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
			if (fixed[i].is_there && group_of(fixed[i].id) == g)
				text_addf(&links, "<a href=\"#%s\">%s</a>", fixed[i].id, fixed[i].title);
		for (size_t k = 0; any && k < s->section_count; k++)
			if (s->sections[k]->row_count > 0 && group_of(s->sections[k]->id) == g)
				text_addf(
					&links, "<a href=\"#%s\">%s</a>", s->sections[k]->id, html_esc(a, s->sections[k]->title));
		if (links.length > 0)
			text_addf(out, "<details name=\"contents\"><summary>%s</summary><div>%s</div></details>", groups[g].title,
				text_get(&links));
		text_done(&links);
	}
	text_add(out, "</nav>\n");
}

bool html_asset(struct text *out, const char *name)
{
	for (size_t i = 0; i < web_assets_count; i++) {
		if (!text_is(web_assets[i].name, name))
			continue;
		text_add_bytes(out, web_assets[i].data, web_assets[i].size);
		text_add(out, "\n");
		return true;
	}
	return false;
}

static enum status add_asset(struct text *out, const char *name, struct error *err)
{
	if (html_asset(out, name))
		return STATUS_OK;
	return error_set(err, STATUS_UNAVAILABLE, "this assay was built without %s, which its HTML report needs", name);
}

const char *html_policy(struct arena *a, const char *script, size_t size)
{
	struct sha256_ctx sha;
	uint8_t digest[SHA256_DIGEST_SIZE];
	char text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = { 0 };

	sha256_init(&sha);
	sha256_update(&sha, size, (const uint8_t *)script);
	sha256_digest(&sha, sizeof digest, digest);
	base64_encode_raw(text, sizeof digest, digest);
	return arena_printf(a,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; script-src "
		"'sha256-%s'; style-src "
		"'unsafe-inline'; base-uri 'none'; form-action 'none'\">",
		text);
}

static enum status add_script(struct text *out, bool has_chart, struct error *err)
{
	enum status status = STATUS_OK;

	text_add(out, "\n");
	if (has_chart)
		status = add_asset(out, "uPlot.iife.min.js", err);
	return status == STATUS_OK ? add_asset(out, "report.js", err) : status;
}

static void body(const struct summary *s, const struct text *chart, struct arena *a, struct text *page)
{
	html_first_screen(s, a, page);
	contents(s, chart->length > 0, a, page);
	if (s->cell_count > 0) {
		html_matrix(s, a, page);
		text_add_bytes(page, text_get(chart), chart->length);
		html_failures(s, a, page);
		html_fallbacks(s, a, page);
		html_partials(s, a, page);
		for (size_t i = 0; i < s->section_count; i++)
			html_section(s->sections[i], a, page);
	}
	report_comparisons_html(s, html_esc, a, page);
	if (s->cell_count > 0) {
		html_notes(s, a, page);
		text_add(page,
			"<h2 id=\"cells\">Everything that was measured</h2><p class=\"hint\">One entry for each cell.</p>\n");
		for (size_t i = 0; i < s->cell_count; i++)
			html_cell_details(s, &s->cells[i], a, page);
	}
	html_platforms(s, a, page);
	html_page_end(s, a, page);
}

enum status report_html(const struct summary *s, struct arena *a, struct text *out, struct error *err)
{
	struct text page = { 0 }, chart = { 0 }, script = { 0 };
	bool has_chart = s->cell_count > 0 && html_chart(s, a, &chart);
	enum status status = add_script(&script, has_chart, err);

	text_addf(&page,
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">%s<meta name=\"viewport\" "
		"content=\"width=device-width, initial-scale=1\">"
		"<meta name=\"generator\" content=\"assay %s\"><title>assay: %s</title>\n<style>\n",
		html_policy(a, text_get(&script), script.length), html_esc(a, s->version), html_esc(a, s->headline));
	if (status == STATUS_OK)
		status = add_asset(&page, "uPlot.min.css", err);
	if (status == STATUS_OK)
		status = add_asset(&page, "report.css", err);
	text_add(&page, "</style></head>\n<body><main>\n");
	body(s, &chart, a, &page);
	text_addf(&page, "</main>\n<script>%s</script>\n</body></html>\n", text_get(&script));
	if (status == STATUS_OK)
		text_add_bytes(out, page.data, page.length);
	text_done(&page);
	text_done(&chart);
	text_done(&script);
	return status;
}
