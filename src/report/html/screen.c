// SPDX-License-Identifier: Apache-2.0
// The first screen: what runs (overview.c), what is fastest, what does not and why, of up to sixteen models.
#include <math.h>
#include <string.h>

#include "question/standing.h"
#include "report/gather.h"
#include "report/html/html.h"

enum { SCREEN_FAILURES = 4, LONG_HEADLINE = 72 };

static const struct report_cell *at(const struct summary *s, const struct report_line *l, size_t k)
{
	return l->cell[k] != 0 ? &s->cells[l->cell[k] - 1] : NULL;
}

// ---- what is fastest -----------------------------------------------------------------------------------------------

struct wins {
	size_t lowest, lines;
	double logs;
	const char *qualifiers;
};

static struct wins wins_of(const struct summary *s, const char *platform, struct arena *a)
{
	const struct report_cell **cells = ARENA_ARRAY(a, s->line_count * s->column_count + 1, const struct report_cell *);
	size_t n = 0;
	struct wins w = { 0 };

	for (size_t i = 0; i < s->line_count; i++) {
		const struct report_cell *best = report_speaks_for_model(s, i) ? s->lines[i].best : NULL;
		for (size_t k = 0; k < s->column_count && best != NULL; k++) {
			const struct report_cell *c = at(s, &s->lines[i], k);
			if (c == NULL || !text_is(c->platform, platform) || !report_is_ranked(c))
				continue;
			w.lowest += c->is_fastest;
			cells[n++] = c;
			if (c->against_cpu.times > 0) {
				w.lines++;
				w.logs += log(c->against_cpu.times);
			}
		}
	}
	w.qualifiers = report_qualifiers(a, cells, n);
	return w;
}

static void fastest(const struct summary *s, struct arena *a, struct text *out)
{
	size_t contested = 0, claimed = 0, lone = 0, told = 0;
	const struct report_cell *only = NULL;

	for (size_t i = 0; i < s->line_count; i++) {
		size_t n = 0;
		for (size_t k = 0; k < s->column_count && report_speaks_for_model(s, i); k++) {
			const struct report_cell *c = at(s, &s->lines[i], k);
			if (c == NULL || !report_is_ranked(c))
				continue;
			n++;
			only = c;
			claimed += text_is(c->against_cpu.claim, "faster") || text_is(c->against_cpu.claim, "slower");
		}
		contested += n > 1;
		lone += n == 1;
	}
	text_addf(out, "<section class=\"card\"><h2>Lowest medians</h2>%s", contested > 0 ? "<ul>" : "");
	for (size_t k = 0; k < s->column_count; k++) {
		struct wins w = wins_of(s, s->columns[k], a);
		if (w.lowest == 0 || contested == 0)
			continue;
		told += w.lowest;
		text_addf(out, "<li><div class=\"pair\"><span class=\"strong\">%s</span><span>%zu of %zu models</span></div>",
			html_esc(a, s->columns[k]), w.lowest, contested);
		if (w.lines > 0)
			text_addf(out, "<span class=\"sub\">%.2f× the speed of cpu over %zu model%s (geometric mean)</span>",
				exp(w.logs / (double)w.lines), w.lines, w.lines == 1 ? "" : "s");
		if (w.qualifiers != NULL)
			text_addf(out, "<span class=\"q\">%s</span>", html_esc(a, w.qualifiers));
		text_add(out, "</li>");
	}
	if (contested > told)
		text_addf(out,
			"<li><div class=\"pair\"><span>too near or too unstable to tell</span><span>%zu of %zu "
			"models</span></div></li>",
			contested - told, contested);
	text_add(out, contested > 0 ? "</ul><p class=\"more\">" : "<p class=\"sub\">");
	if (contested == 0)
		text_addf(out, "%s.</p></section>\n",
			lone == 0           ? "Nothing was timed on hardware"
				: lone == 1 ? arena_printf(a, "%s, the only one that ran",
						      html_esc(a, report_qualified(a, only->platform, only->qualifiers)))
					    : "No model was timed on two platforms");
	else if (claimed == 0)
		text_add(out, "Fewer than 6 processes a side: no claim. <a href=\"#best_latency\">How sure</a></p></section>\n");
	else
		text_addf(out,
			"%zu differ%s from cpu with 99\u00a0%% confidence. <a href=\"#best_latency\">How "
			"sure</a></p></section>\n",
			claimed, claimed == 1 ? "s" : "");
}

// ---- what does not -------------------------------------------------------------------------------------------------

// Equal but for numbers: "needs 27.2 GiB" and "needs 52.3 GiB" are one reason here; the table below has each.
static bool alike(const char *x, const char *y)
{
	for (;;) {
		x += strspn(x, "0123456789.");
		y += strspn(y, "0123456789.");
		if (*x != *y)
			return false;
		if (*x == '\0')
			return true;
		x++;
		y++;
	}
}

static bool joins(const struct report_failure *f, const struct report_failure *g)
{
	return f->verdict == g->verdict && f->is_elsewhere == g->is_elsewhere && f->is_stand_in == g->is_stand_in &&
		alike(f->cause, g->cause);
}

static const char *short_of(const struct summary *s, const char *name)
{
	for (size_t i = 0; i < s->line_count; i++)
		if (text_is(s->lines[i].name, name))
			return html_short_name(s, &s->lines[i]);
	return name;
}

static void failures(const struct summary *s, struct arena *a, struct text *out)
{
	const char **models = ARENA_ARRAY(a, s->line_count + 1, const char *),
		   **platforms = ARENA_ARRAY(a, s->column_count + 1, const char *);
	size_t shown = 0, more = 0;

	text_addf(out, "<section class=\"card\"><h2>What does not, or is not right</h2>%s", s->failure_count > 0 ? "<ul>" : "");
	for (size_t i = 0; i < s->failure_count; i++) {
		const struct report_failure *f = &s->failures[i];
		size_t model_count = 0, platform_count = 0, joined = 0;
		bool seen = false;
		for (size_t k = 0; k < i; k++)
			seen = seen || joins(&s->failures[k], f);
		more += !seen && shown == SCREEN_FAILURES;
		if (seen || shown == SCREEN_FAILURES)
			continue;
		shown++;
		for (size_t k = i; k < s->failure_count; k++) {
			const struct report_failure *g = &s->failures[k];
			if (!joins(f, g))
				continue;
			joined++;
			for (size_t m = 0; m < g->model_count; m++)
				report_add_once(models, &model_count, short_of(s, g->models[m]));
			for (size_t m = 0; m < g->platform_count; m++)
				report_add_once(platforms, &platform_count, g->platforms[m]);
		}
		text_addf(out,
			"<li><div class=\"pair\"><span><span class=\"strong\">%s</span> on %s</span><span class=\"chip "
			"%s\">%s</span></div><span class=\"sub clip\">%s</span>%s%s</li>",
			html_names(a, models, model_count, 2, "models"), html_names(a, platforms, platform_count, 4, "platforms"),
			html_verdict_class(f->verdict, f->is_elsewhere || f->is_stand_in), report_failure_word(f),
			html_prose(a, f->cause),
			joined > 1 ? arena_printf(a, "<span class=\"sub faint\">%zu causes, alike but for numbers</span>", joined)
				   : "",
			f->qualifiers != NULL ? arena_printf(a, "<span class=\"q\">%s</span>", html_esc(a, f->qualifiers)) : "");
	}
	text_add(out, s->failure_count > 0 ? "</ul>" : "");
	const char *unjudged = report_unjudged_words(s, a);
	if (s->failure_count == 0)
		text_addf(out, "<p class=\"sub\">%s</p>", report_no_failure_words(s, a));
	else
		text_addf(out, "<p class=\"more\"><a href=\"#failures\">%s</a>%s</p>",
			more > 0 ? arena_printf(a, "%zu more, and every cause, below", more) : "Every cause",
			unjudged != NULL ? arena_printf(a, ". Not found right either: %s.", unjudged) : "");
	text_add(out, "</section>\n");
}

static const char *software_words(const struct summary *s, struct arena *a)
{
	size_t n = 0;
	const char *which = "";

	for (size_t i = 0; i < s->cell_count; i++)
		n += report_software(&s->cells[i].row) != NULL;
	for (size_t k = 0; k < s->column_count; k++)
		if (s->column_words[k] != NULL)
			which = arena_printf(a, "%s; %s: %zu of %zu cells good, %s", which, html_esc(a, s->columns[k]),
				s->column_counts[k].good, s->column_counts[k].total, s->column_words[k]);
	return n > 0 ? arena_printf(a, " %zu of %zu cells ran on no hardware (emulated, or nothing computed)%s.", n,
			       s->cell_count, which)
		     : "";
}

static const char *shortened_words(const struct summary *s, struct arena *a)
{
	size_t n = 0;

	for (size_t i = 0; i < s->cell_count; i++)
		n += row_is_shortened(&s->cells[i].row);
	return n > 0 ? arena_printf(a, " %zu of %zu cells have fewer layers than the model: their times are not the model's.", n,
			       s->cell_count)
		     : "";
}

void html_first_screen(const struct summary *s, struct arena *a, struct text *out)
{
	text_addf(out, "<header><p class=\"eyebrow\">assay report, %s</p><h1%s>%s</h1>", s->made_at,
		s->headline != NULL && strlen(s->headline) > LONG_HEADLINE ? " class=\"long\"" : "", html_esc(a, s->headline));
	if (s->own_machine_count > 0)
		text_addf(out, "<p class=\"lede\">%s</p>", html_esc(a, report_machines_line(a, s)));
	if (s->synthetic > 0)
		text_addf(out, "<p class=\"lede\">%s: their outputs mean nothing.%s%s <a href=\"#notes\">What to know</a></p>",
			s->synthetic == s->cell_count
				? "All cells have synthetic weights"
				: arena_printf(a, "%zu of %zu cells have synthetic weights", s->synthetic, s->cell_count),
			shortened_words(s, a), software_words(s, a));
	else if (*shortened_words(s, a) || *software_words(s, a))
		text_addf(out, "<p class=\"lede\">%s%s</p>", shortened_words(s, a), software_words(s, a));
	if (s->cell_count == 0)
		text_add(out,
			"<p class=\"lede\">The database has no cells: <code>assay run MODEL --on cpu,openvino</code> makes "
			"some.</p>");
	text_add(out, "</header>\n");
	if (s->cell_count == 0)
		return;
	text_add(out, "<div class=\"screen\">\n");
	html_overview(s, a, out);
	text_add(out, "<div class=\"side\">\n");
	fastest(s, a, out);
	failures(s, a, out);
	text_add(out, "</div></div>\n");
}
