// SPDX-License-Identifier: Apache-2.0
// The first screen: what runs, what is fastest, what does not and why.
#include <math.h>

#include "report/html.h"

enum { CARD_ITEMS = 4 };

// A stand-in is called one wherever its platform is named.
static const char *software_text(const struct summary *s, size_t column, struct arena *a)
{
	const char *what = NULL;
	size_t count = 0, all = 0;

	for (size_t i = 0; i < s->cell_count; i++) {
		const struct report_cell *c = &s->cells[i];
		const char *software = text_is(c->platform, s->columns[column]) ? report_software(&c->row) : NULL;

		all += text_is(c->platform, s->columns[column]);
		count += software != NULL;
		what = software != NULL ? software : what;
	}
	return count == 0 ? "" : count == all ? arena_printf(a, "; %s", what) : arena_printf(a, "; %zu %s", count, what);
}

static void meter(struct text *out, const struct report_counts *n)
{
	text_add(out, "<div class=\"meter\" aria-hidden=\"true\">");
	for (int v = 0; v < VERDICT_COUNT; v++) {
		if (n->of[v] > 0)
			text_addf(out, "<span class=\"%s\" style=\"flex:%zu\"></span>", html_verdict_class((enum verdict)v, false), n->of[v]);
	}
	if (n->elsewhere > 0)
		text_addf(out, "<span class=\"v-bad\" style=\"flex:%zu\"></span>", n->elsewhere);
	if (n->running > 0)
		text_addf(out, "<span style=\"flex:%zu\"></span>", n->running);
	text_add(out, "</div>");
}

static const char *counts_text(struct arena *a, const struct report_counts *n)
{
	const char *out = "";

	for (int v = 0; v < VERDICT_COUNT; v++) {
		if (n->of[v] > 0)
			out = arena_printf(a, "%s%s%zu %s", out, *out ? ", " : "", n->of[v], v == VERDICT_NO_MEMORY ? "out of memory" : verdict_word((enum verdict)v));
	}
	if (n->elsewhere > 0)
		out = arena_printf(a, "%s%s%zu ran elsewhere", out, *out ? ", " : "", n->elsewhere);
	return n->running > 0 ? arena_printf(a, "%s%s%zu running", out, *out ? ", " : "", n->running) : out;
}

static void card_runs(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out, "<section class=\"card\"><h2>What runs</h2><ul>");
	for (size_t k = 0; k < s->column_count; k++) {
		const struct report_counts *n = &s->column_counts[k];
		text_addf(out, "<li><div class=\"pair\"><span class=\"strong\">%s</span><span>%zu of %zu cells</span></div>", html_esc(a, s->columns[k]), n->good, n->total - n->of[VERDICT_COMPILES]);
		meter(out, n);
		text_addf(out, "<span class=\"sub\" style=\"margin-top:5px\">%s%s</span></li>", counts_text(a, n), software_text(s, k, a));
	}
	text_add(out, "</ul></section>\n");
}

// "openvino, 2.0× the speed of cpu"; against the next best where cpu itself is the best or was not timed.
static const char *fastest_text(const struct summary *s, const struct report_line *l, const struct report_cell **out, struct arena *a)
{
	const struct report_cell *best = NULL, *next = NULL, *cpu = NULL;
	const char **near = ARENA_ARRAY(a, s->column_count, const char *);
	size_t near_count = 0;

	for (size_t k = 0; k < s->column_count; k++) {
		const struct report_cell *c = l->cell[k] != 0 ? &s->cells[l->cell[k] - 1] : NULL;
		if (c == NULL || !c->is_good || isnan(c->row.latency_ms) || (c->row.emulated == 1 && !text_is(c->row.engine, "null")))
			continue;
		if (best == NULL || c->row.latency_ms < best->row.latency_ms) {
			next = best;
			best = c;
		} else if (next == NULL || c->row.latency_ms < next->row.latency_ms) {
			next = c;
		}
		if (text_is(c->platform, "cpu"))
			cpu = c;
		if (c->is_near_fastest)
			near[near_count++] = c->platform;
	}
	*out = best;
	if (best == NULL)
		return NULL;
	if (next == NULL)
		return arena_printf(a, "%s, the only one that ran", best->platform);
	if (near_count > 1)
		return arena_printf(a, "%s: too near each other or too unstable to tell apart", report_join(a, near, near_count, "and"));
	const struct report_cell *other = cpu != NULL && cpu != best ? cpu : next;
	return arena_printf(a, "%s, %s the speed of %s", best->platform, report_times(a, other->row.latency_ms / best->row.latency_ms), other->platform);
}

static void card_fastest(const struct summary *s, struct arena *a, struct text *out)
{
	size_t timed = 0;

	text_add(out, "<section class=\"card\"><h2>What is fastest</h2><ul>");
	for (size_t i = 0; i < s->line_count; i++) {
		const struct report_cell *best;
		const char *who = fastest_text(s, &s->lines[i], &best, a);
		if (who == NULL || ++timed > CARD_ITEMS)
			continue;
		text_addf(out, "<li><div class=\"pair\"><span class=\"strong\">%s</span><span class=\"strong\">%s</span></div><span class=\"sub\">%s</span></li>",
			html_esc(a, s->lines[i].name), report_ms(a, best->row.latency_ms), html_esc(a, who));
	}
	text_add(out, "</ul>");
	if (timed == 0)
		text_add(out, "<p class=\"sub\">Nothing was timed.</p>");
	if (timed > CARD_ITEMS)
		text_addf(out, "<p class=\"more\"><a href=\"#latency\">%zu more below</a></p>", timed - CARD_ITEMS);
	text_add(out, "</section>\n");
}

static void card_failures(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out, "<section class=\"card\"><h2>What does not, and why</h2><ul>");
	for (size_t i = 0; i < s->failure_count && i < CARD_ITEMS; i++) {
		const struct report_failure *f = &s->failures[i];
		text_addf(out, "<li><div class=\"pair\"><span><span class=\"strong\">%s</span> on %s</span><span class=\"chip %s\">%s</span></div><span class=\"sub clip\">%s</span></li>",
			html_names(a, f->models, f->model_count, 2, "models"), html_names(a, f->platforms, f->platform_count, 4, "platforms"), html_verdict_class(f->verdict, f->is_elsewhere),
			report_failure_word(f), html_esc(a, f->cause));
	}
	text_add(out, "</ul>");
	if (s->failure_count == 0)
		text_add(out, s->cell_count > 0 ? "<p class=\"sub\">Everything that was asked for and has finished ran, and nothing was found wrong.</p>" : "<p class=\"sub\">Nothing was asked for.</p>");
	if (s->failure_count > CARD_ITEMS)
		text_addf(out, "<p class=\"more\"><a href=\"#failures\">%zu more below</a></p>", s->failure_count - CARD_ITEMS);
	text_add(out, "</section>\n");
}

void html_first_screen(const struct summary *s, struct arena *a, struct text *out)
{
	text_addf(out, "<header><p class=\"eyebrow\">assay report, %s</p><h1>%s</h1>", s->made_at, report_headline(s, a));
	if (s->machine_count > 0)
		text_addf(out, "<p class=\"lede\">%s%s</p>", html_esc(a, report_machine_line(a, &s->machines[0])), s->machine_count > 1
			? arena_printf(a, ", and %zu more machine%s", s->machine_count - 1, s->machine_count > 2 ? "s" : "") : "");
	if (s->synthetic > 0)
		text_addf(out, "<p class=\"lede\">%s: their times hold, their outputs mean nothing. <a href=\"#notes\">What to know</a></p>", s->synthetic == s->cell_count
			? "All cells have synthetic weights" : arena_printf(a, "%zu of %zu cells have synthetic weights", s->synthetic, s->cell_count));
	if (s->cell_count == 0)
		text_add(out, "<p class=\"lede\">The database has no cells: <code>assay run MODEL --on cpu,openvino</code> makes some.</p>");
	text_add(out, "</header>\n");
	if (s->cell_count == 0)
		return;
	text_add(out, "<div class=\"cards\">\n");
	card_runs(s, a, out);
	card_fastest(s, a, out);
	card_failures(s, a, out);
	text_add(out, "</div>\n");
}
