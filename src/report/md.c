// SPDX-License-Identifier: Apache-2.0
// The report as Markdown (tables as GitHub shows them). Names and causes are escaped: they come from files and engines.
#include <math.h>
#include <string.h>

#include "base/visible.h"
#include "report/report.h"
#include "report/gather.h"

const char *report_md_esc(struct arena *a, const char *s)
{
	struct text out = { 0 };

	for (s = s != NULL ? visible_copy(a, s) : ""; *s != '\0'; s++) {
		if (*s == '<')
			text_add(&out, "&lt;");
		else {
			if (strchr("\\`*_{}[]|#~", *s) != NULL)
				text_add(&out, "\\");
			text_add_bytes(&out, s, 1);
		}
	}
	const char *copy = arena_strdup(a, text_get(&out));
	text_done(&out);
	return copy;
}

static const char *esc(struct arena *a, const char *s)
{
	return report_md_esc(a, s);
}

static const char *list(struct arena *a, const char *const *items, size_t count)
{
	const char **escaped = ARENA_ARRAY(a, count + 1, const char *);

	for (size_t i = 0; i < count; i++)
		escaped[i] = esc(a, items[i]);
	return report_join(a, escaped, count, "and");
}

static void cell_md(const struct report_cell *c, struct arena *a, struct text *out)
{
	const char *latency = report_ms(a, c->typical.ms), *peak = report_mib(a, row_peak_mib(&c->row));
	const char *beside = arena_join(a, report_of_processes(a, c), "; ", report_rank_words(c));

	if (report_is_unstable(c))
		beside = arena_join(a, beside, ", ", "unstable");
	text_addf(out, "%s %s", report_verdict_mark(c), report_verdict_word(c));
	if (latency != NULL)
		text_addf(out, ", %s", report_qualified(a, latency, beside));
	if (peak != NULL)
		text_addf(out, ", peak %s", peak);
	if (c->agreement != NULL)
		text_addf(out, ", %s", esc(a, c->agreement));
	if (c->own_qualifiers != NULL)
		text_addf(out, ", %s", esc(a, c->own_qualifiers));
	if (c->later != NULL)
		text_addf(out, ", asked again later: %s", esc(a, c->later));
	if (c->fallback != NULL && c->fallback->try_count > 0)
		text_addf(out, "; instead %s", esc(a, c->fallback->got));
}

// One line a model: by the line that speaks for it, and behind that what else the platform was asked, each with its words.
static void model_md(const struct summary *s, const struct report_line *l, struct arena *a, struct text *out)
{
	struct report_variant *v = ARENA_ARRAY(a, s->line_count + 1, struct report_variant);
	size_t count = report_variants(s, l, v);

	text_addf(out, "| %s |", esc(a, report_qualified(a, l->name, report_line_words(a, l))));
	for (size_t k = 0; k < s->column_count; k++) {
		bool said = l->cell[k] != 0;
		text_add(out, " ");
		if (said)
			cell_md(&s->cells[l->cell[k] - 1], a, out);
		for (size_t i = 0; i < count; i++) {
			if (v[i].line->cell[k] == 0)
				continue;
			const char *words = report_words_beside(a, v[i].line, l);
			text_addf(out, "%s%s: ", said ? "; " : "", words != NULL ? esc(a, words) : "asked otherwise");
			cell_md(&s->cells[v[i].line->cell[k] - 1], a, out);
			said = true;
		}
		text_add(out, said ? " |" : "not asked |");
	}
	text_add(out, "\n");
}

static void matrix_md(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out, "## Models and platforms\n\n| model |");
	for (size_t k = 0; k < s->column_count; k++)
		text_addf(out, " %s |", esc(a, s->columns[k]));
	text_add(out, "\n| --- |");
	for (size_t k = 0; k < s->column_count; k++)
		text_add(out, " --- |");
	text_add(out, "\n");
	for (size_t i = 0; i < s->line_count; i++)
		if (report_speaks_for_model(s, i))
			model_md(s, &s->lines[i], a, out);
	text_add(out,
		"\nLatency is the median of the warm runs, of several processes the median of theirs. Memory is the peak of the "
		"child process, mapped weights included; with a browser the largest proportional set size at the end of a "
		"phase, of all its processes.\n\n");
}

static void failures_md(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out, "## What does not run or is not right, and why\n\n");
	if (s->failure_count == 0) {
		text_addf(out, "%s\n\n", report_no_failure_words(s, a));
		return;
	}
	text_add(out, "| models | on | verdict | cause |\n| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < s->failure_count; i++) {
		const struct report_failure *f = &s->failures[i];
		text_addf(out, "| %s%s | %s | %s | %s |\n", list(a, f->models, f->model_count),
			f->qualifiers != NULL ? esc(a, arena_printf(a, " (%s)", f->qualifiers)) : "",
			list(a, f->platforms, f->platform_count), report_failure_word(f), esc(a, f->cause));
	}
	text_add(out, "\n");
}

static void fallbacks_md(const struct summary *s, struct arena *a, struct text *out)
{
	if (s->fallback_count > 0)
		text_add(out, "## Fallbacks\n\n| model | asked for | chain | tries | got |\n| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < s->fallback_count; i++) {
		const struct report_fallback *f = &s->fallbacks[i];
		text_addf(out, "| %s | %s | %s | %s%s%s", esc(a, report_qualified(a, f->cell->shown, f->cell->qualifiers)),
			esc(a, f->cell->platform), esc(a, f->chain), report_verdict_word(f->cell),
			f->cell->cause != NULL ? ": " : "", esc(a, f->cell->cause));
		for (size_t k = 0; k < f->try_count; k++)
			text_addf(out, "; %s", esc(a, report_try_words(a, &f->tries[k])));
		text_addf(out, " | %s |\n", esc(a, f->got));
	}
	text_add(out, s->fallback_count > 0 ? "\n" : "");
	if (s->partial_count > 0)
		text_add(out,
			"## Ran only in part on the platform\n\n| model | on | nodes elsewhere | which |\n| --- | --- | --- | "
			"--- |\n");
	for (size_t i = 0; i < s->partial_count; i++)
		text_addf(out, "| %s | %s | %s | %s |\n",
			esc(a, report_qualified(a, s->partials[i].cell->shown, s->partials[i].cell->qualifiers)),
			esc(a, s->partials[i].on), s->partials[i].nodes, esc(a, s->partials[i].ops));
	text_add(out, s->partial_count > 0 ? "\n" : "");
}

static void figures_md(const struct summary *s, struct arena *a, struct text *out)
{
	bool begun = false, reduced = false;

	for (size_t i = 0; i < s->cell_count; i++) {
		const struct report_cell *c = &s->cells[i];
		const struct row *r = &c->row;
		if (isnan(r->latency_ms))
			continue;
		if (!begun)
			text_add(out,
				"## Times and errors\n\n| model | on | load | first run | warm runs | p90 | samples | max abs "
				"error | cosine | nodes | type conformance (float32) |\n"
				"| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n");
		begun = true;
		const bool is_reduced = !isnan(r->arithmetic_max_abs_error);
		const char *loss = is_reduced ? report_error(a, r->max_abs_error) : NULL; // of some it is not known
		reduced = reduced || loss;
		const char *load = report_ms(a, r->load_ms), *first = report_ms(a, r->first_ms), *nodes = report_placement(a, r);
		const char *error = report_error(a, is_reduced ? r->arithmetic_max_abs_error : r->max_abs_error);
		const double cosine = is_reduced ? r->arithmetic_cosine : r->cosine;
		text_addf(out, "| %s (%s) | %s | %s | %s | %s%s | %s |", esc(a, report_model_name(r->model)),
			esc(a, report_line_words(a, &s->lines[c->line])),
			esc(a, report_qualified(a, c->platform, c->own_qualifiers)), load ? load : "", first ? first : "",
			report_latency(a, r), report_is_unstable(c) ? ", unstable" : "", c->p90 ? c->p90 : "");
		if (r->samples != ROW_NONE)
			text_addf(out, " %lld", (long long)r->samples);
		text_addf(out, " | %s%s%s | ", error ? error : "", loss ? "; loss " : "", loss ? loss : "");
		if (!isnan(cosine))
			text_addf(out, "%.7g", cosine);
		if (is_reduced && !isnan(r->cosine))
			text_addf(out, "; loss %.7g", r->cosine);
		text_addf(out, " | %s | %s |\n", esc(a, nodes), esc(a, r->type_conformance));
	}
	if (reduced)
		text_add(out,
			"\nOf a reduced precision the error is that of its arithmetic against the same weights; `loss` is "
			"against "
			"float32, or golden outputs.\n");
	if (begun)
		text_add(out, "\n");
}

static void value_md(const struct report_value *v, struct arena *a, struct text *out)
{
	text_addf(out, " %s", esc(a, v->text));
	if (v->note != NULL)
		text_addf(out, v->text != NULL ? " (%s)" : "%s", esc(a, v->note));
	text_add(out, " |");
}

static void section_md(const struct report_section *t, struct arena *a, struct text *out)
{
	if (t->row_count == 0)
		return;
	text_addf(out, "## %s\n\n", t->title);
	if (t->hint != NULL)
		text_addf(out, "%s\n\n", esc(a, t->hint));
	text_add(out, "|");
	for (size_t k = 0; k < t->column_count; k++)
		if (t->columns[k].title != NULL)
			text_addf(out, " %s |", t->columns[k].title);
	text_add(out, "\n|");
	for (size_t k = 0; k < t->column_count; k++)
		if (t->columns[k].title != NULL)
			text_add(out, t->columns[k].is_number ? " ---: |" : " --- |");
	text_add(out, "\n");
	for (size_t i = 0; i < t->row_count; i++) {
		text_add(out, "|");
		for (size_t k = 0; k < t->column_count; k++)
			if (t->columns[k].title != NULL)
				value_md(&t->values[i * t->column_count + k], a, out);
		text_add(out, "\n");
	}
	text_add(out, "\n");
}

static void comparisons_md(const struct summary *s, struct arena *a, struct text *out)
{
	if (s->comparison_count > 0)
		text_add(out,
			"## Comparisons\n\nTwo sides of one question, in alternation, each time in a process of its own. B/A is "
			"the middle of the ratios of the pairs (Hodges and Lehmann's), not the quotient of the two medians, with "
			"its 99 % interval; faster and slower\n"
			"are said only when the interval leaves out 1, the ratio is off by more than 2 % and there are six "
			"processes a "
			"side.\n\n"
			"| comparison | model | in | time of | A | B | B/A (99 %) | answer | claimed before | notes |\n| --- | "
			"--- | --- | --- | ---: | ---: | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < s->comparison_count; i++) {
		const struct report_comparison *r = &s->comparisons[i];
		text_addf(out, "| %s | %s | %s | %s | %s (%s) | %s (%s) | %s | %s | %s | %s |\n", esc(a, r->name),
			esc(a, r->model), esc(a, r->where), esc(a, r->line.metric), r->a_ms ? r->a_ms : "",
			esc(a, r->line.side_a), r->b_ms ? r->b_ms : "", esc(a, r->line.side_b), r->interval ? r->interval : "",
			esc(a, r->answer), esc(a, r->line.claim), esc(a, r->notes));
	}
	if (s->comparison_count > 0)
		text_add(out, "\n");
}

static void machine_md(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out, "## The machine\n\n");
	for (size_t i = 0; i < s->machine_count; i++) {
		const struct report_machine *m = &s->machines[i];
		if (m->is_foreign) {
			text_addf(out, "- Of imported rows, not measured by assay: %s.\n",
				m->cpu_model != NULL ? esc(a, m->cpu_model) : "no machine is named");
			continue;
		}
		text_addf(out, "- %s, kernel %s. Instruction sets: %s.\n", esc(a, report_machine_line(a, m)), esc(a, m->kernel),
			m->features != NULL ? esc(a, m->features) : "not known");
	}
	text_add(out, "\n");
	if (s->platform_count == 0)
		return;
	text_add(out, "| platform | here | engine, or why not |\n| --- | --- | --- |\n");
	for (size_t i = 0; i < s->platform_count; i++) {
		const struct report_platform *p = &s->platforms[i];
		if (p->is_available)
			text_addf(out, "| %s | %s | %s %s: %s%s%s |\n", esc(a, p->name), p->is_emulated ? "emulated" : "yes",
				esc(a, report_engine_name(p->engine)), esc(a, p->engine_version), esc(a, p->device),
				p->capabilities ? "; " : "", esc(a, p->capabilities));
		else
			text_addf(out, "| %s | no | %s |\n", esc(a, p->name), esc(a, p->reason));
	}
	text_add(out, "\n");
}

void report_md(const struct summary *s, struct arena *a, struct text *out)
{
	text_addf(out, "# %s\n\n", esc(a, s->headline));
	if (s->own_machine_count > 0)
		text_addf(out, "On %s.\n", esc(a, report_machines_line(a, s)));
	size_t said = 0;
	for (size_t k = 0; k < s->column_count; k++) {
		const struct report_counts *n = &s->column_counts[k];
		if (n->total > 0)
			text_addf(out, "%s%s", said++ == 0 ? "" : "; ",
				esc(a,
					report_qualified(a,
						arena_printf(a, "%s: %zu of %zu cells good", s->columns[k], n->good, n->total),
						s->column_words[k])));
	}
	text_add(out, said > 0 ? ".\n\n" : "\n");
	if (s->cell_count > 0)
		matrix_md(s, a, out);
	failures_md(s, a, out);
	fallbacks_md(s, a, out);
	figures_md(s, a, out);
	for (size_t i = 0; i < s->section_count; i++)
		section_md(s->sections[i], a, out);
	comparisons_md(s, a, out);
	if (s->note_count > 0)
		text_add(out, "## Before quoting a number\n\n");
	for (size_t i = 0; i < s->note_count; i++)
		text_addf(out, "- %s\n", s->notes[i]);
	text_add(out, s->note_count > 0 ? "\n" : "");
	machine_md(s, a, out);
	text_add(out,
		"## How it was measured\n\nEach cell ran in a process of its own. Load, first run and warm runs are timed apart; "
		"percentiles need enough samples (90th: 64) or have none.\n");
	for (size_t i = 0; i < s->method_count; i++)
		text_addf(out, "Memory: %s.\n", esc(a, s->methods[i]));
	text_add(out, "\nThe commands that made the rows:\n\n");
	for (size_t i = 0; i < s->run_count; i++)
		text_addf(out, "    %s\n", visible_copy(a, report_run_command(a, &s->runs[i])));
	text_addf(out, "\nassay %s, %s; %lld rows in the database, %zu shown (the latest of every question).\n", s->version,
		s->made_at, (long long)s->rows, s->cell_count);
}
