// SPDX-License-Identifier: Apache-2.0
// The compatibility matrix of the original system, architecture x hardware -> {compatible, performance, notes, optimizations,
// examples}, derived from rows; `rows` says how many stand behind it. A pair without a row is "n/a", "not measured", and its
// `compatible` is null, as it is where all rows are unjudged, of a platform that was not on the machine, or of the null engine,
// which computes nothing: it is not known.
//
// performance, from the speed against cpu (cpu's median over this one's on the same question, geometric mean over the questions):
//   excellent  4 and more        good  1.5 to 4        moderate  1.1 to 1.5        baseline  0.9 to 1.1, and cpu itself
//   poor       below 0.9         varies  some questions below 0.9 and some above 1.1
//   n/a        nothing was timed, cpu did not answer the same, or the device is emulated, whose time says nothing
// The word is of medians, and no claim where the notes say that too few processes stand behind them.
// optimizations: lines of `comparison` on that platform whose 99 % interval called one side faster, for a model of that
// architecture.
#include <math.h>

#include "report/gather.h"

static const double excellent = 4, good = 1.5, moderate = 1.1, poor = 0.9;

struct pair {
	size_t rows, imported, good, unjudged, uncomputed, absent, timed, claimed;
	double logs, low, high;
	bool is_emulated, is_cpu;
	const char *cause, *verdict;
	const char **examples;
	size_t example_count;
	const char *qualifiers;
};

static bool is_claim(const char *claim)
{
	const enum compare_verdict v = compare_find(claim);

	return v != COMPARE_COUNT && v != COMPARE_CANNOT_TELL;
}

static struct pair pair_of(const struct summary *s, const char *architecture, const char *platform, struct arena *a)
{
	const struct report_cell **cells = ARENA_ARRAY(a, s->cell_count + 1, const struct report_cell *);
	struct pair p = { .low = INFINITY, .examples = ARENA_ARRAY(a, s->cell_count + 1, const char *) };

	for (size_t i = 0; i < s->cell_count; i++) {
		const struct report_cell *c = &s->cells[i];
		if (!text_is(c->platform, platform) || !text_is(s->lines[c->line].architecture, architecture) || c->is_running ||
			c->is_stand_in || !verdict_answers(c->verdict) || c->is_foreign)
			continue;
		cells[p.rows++] = c;
		p.is_cpu |= report_is_cpu(c);
		p.imported += c->is_imported;
		bool is_null = report_computes_nothing(c);
		p.uncomputed += is_null;
		p.good += c->is_good && !is_null;
		p.absent += c->verdict == VERDICT_UNAVAILABLE;
		p.unjudged += c->verdict == VERDICT_UNJUDGED && !c->is_elsewhere && !is_null;
		p.is_emulated = p.is_emulated || c->row.emulated == 1;
		if (c->is_good && is_null) {
			continue;
		} else if (c->is_good) {
			report_add_once(p.examples, &p.example_count, report_qualified(a, c->shown, c->qualifiers));
		} else if (p.cause == NULL) {
			p.cause = c->cause != NULL ? c->cause : verdict_sentence(c->verdict);
			p.verdict = report_verdict_word(c);
		}
		if (c->against_cpu.times > 0) {
			p.timed++;
			p.claimed += is_claim(c->against_cpu.claim);
			p.logs += log(c->against_cpu.times);
			p.low = fmin(p.low, c->against_cpu.times);
			p.high = fmax(p.high, c->against_cpu.times);
		} else if (report_is_cpu(c) && report_is_ranked(c)) {
			p.timed++;
			p.low = fmin(p.low, 1);
			p.high = fmax(p.high, 1);
		}
	}
	p.qualifiers = report_qualifiers(a, cells, p.rows);
	return p;
}

static const char *word_of(const struct pair *p)
{
	double mean = p->timed > 0 ? exp(p->logs / (double)p->timed) : (double)NAN;

	if (p->timed == 0)
		return "n/a";
	if (p->low < poor && p->high > moderate)
		return "varies";
	return mean >= excellent   ? "excellent"
		: mean >= good     ? "good"
		: mean >= moderate ? "moderate"
		: mean >= poor     ? "baseline"
				   : "poor";
}

static const char *notes_of(const struct pair *p, struct arena *a)
{
	const char *out;

	if (p->rows == 0)
		return "not measured";
	out = arena_printf(a, "%zu of %zu rows good%s", p->good, p->rows,
		p->imported > 0 ? arena_printf(a, " (%zu imported)", p->imported) : "");
	if (p->is_cpu)
		out = arena_printf(a, "%s; what the others are held against", out);
	else if (p->timed > 0)
		out = arena_printf(a, "%s; %.2f times the speed of cpu, geometric mean over %zu question%s (%.2f to %.2f)%s", out,
			exp(p->logs / (double)p->timed), p->timed, p->timed == 1 ? "" : "s", p->low, p->high,
			p->claimed == p->timed    ? ""
				: p->claimed == 0 ? ", of too few processes for a claim"
						  : arena_printf(a, ", %zu of them of enough processes for a claim", p->claimed));
	else if (p->is_emulated)
		out = arena_printf(a, "%s; emulated: its times say nothing about the hardware", out);
	else if (p->good > 0)
		out = arena_printf(a, "%s; nothing was timed that cpu was asked too", out);
	if (p->qualifiers != NULL)
		out = arena_printf(a, "%s (%s)", out, p->qualifiers);
	return p->cause != NULL ? arena_printf(a, "%s; %s: %s", out, p->verdict, p->cause) : out;
}

static bool is_of(const struct summary *s, const char *model, const char *architecture)
{
	for (size_t i = 0; i < s->line_count; i++)
		if (text_is(s->lines[i].model, model) && text_is(s->lines[i].architecture, architecture))
			return true;
	return false;
}

static json_t *optimizations_of(const struct summary *s, const char *architecture, const char *platform, struct arena *a)
{
	json_t *out = json_array();

	for (size_t i = 0; i < s->comparison_count; i++) {
		const struct report_comparison *r = &s->comparisons[i];
		const struct store_comparison *c = &r->line;
		bool b_faster = text_is(c->verdict, "faster"), a_faster = text_is(c->verdict, "slower");
		if ((!a_faster && !b_faster) || !text_is(c->requested_a, platform) || !text_is(c->requested_b, platform) ||
			!is_of(s, c->model, architecture))
			continue;
		json_array_append_new(out,
			json_string(arena_printf(a, "%s: %s takes %.0f %% less %s than %s (%s, ratio %s%s)", r->name,
				b_faster ? c->side_b : c->side_a, 100 * (1 - (b_faster ? c->ratio : 1 / c->ratio)), c->metric,
				b_faster ? c->side_a : c->side_b, r->model, r->interval, r->is_imported ? ", imported" : "")));
	}
	return out;
}

static json_t *pair_json(const struct summary *s, const char *architecture, const char *platform, struct arena *a)
{
	struct pair p = pair_of(s, architecture, platform, a);
	json_t *examples = json_array();

	for (size_t i = 0; i < p.example_count; i++)
		json_array_append_new(examples, json_string(p.examples[i]));
	return json_pack("{s:o, s:s, s:s, s:o, s:o, s:I}", "compatible",
		p.rows > p.unjudged + p.uncomputed + p.absent ? json_boolean(p.good > 0) : json_null(), "performance",
		word_of(&p), "notes", notes_of(&p, a), "optimizations", optimizations_of(s, architecture, platform, a),
		"examples", examples, "rows", (json_int_t)p.rows);
}

json_t *report_compatibility(const struct summary *s, struct arena *a)
{
	const char **hardware = ARENA_ARRAY(a, s->column_count + s->platform_count + 1, const char *);
	size_t count = 0;
	json_t *out = json_object();

	for (size_t i = 0; i < s->platform_count; i++)
		report_add_once(hardware, &count, s->platforms[i].name);
	for (size_t k = 0; k < s->column_count; k++)
		report_add_once(hardware, &count, s->columns[k]);
	for (size_t i = 0; i < s->line_count; i++) {
		const char *architecture = s->lines[i].architecture;
		if (architecture == NULL || json_object_get(out, architecture) != NULL)
			continue;
		json_t *all = json_object();
		for (size_t k = 0; k < count; k++)
			json_object_set_new(all, hardware[k], pair_json(s, architecture, hardware[k], a));
		json_object_set_new(out, architecture, all);
	}
	return out;
}
