// SPDX-License-Identifier: Apache-2.0
// contrast.h: pairs of questions, and what their rows come to. Statistics are in stats/compare.c.
#include "analysis/contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/asked.h"
#include "base/text.h"
#include "question/standing.h"

static const struct {
	const char *word, *unit;
	bool more;
	const char *what;
} metrics[] = {
#define X(code, word, unit, more, what) { word, unit, more, what },
	CONTRAST_LIST(X)
#undef X
};

const char *contrast_word(enum contrast_metric m)
{
	return metrics[m].word;
}

const char *contrast_unit(enum contrast_metric m)
{
	return metrics[m].unit;
}

enum contrast_metric contrast_find(const char *word)
{
	for (size_t i = 0; i < CONTRAST_COUNT; i++)
		if (text_is(metrics[i].word, word))
			return (enum contrast_metric)i;
	return CONTRAST_COUNT;
}

double contrast_value(enum contrast_metric m, const struct row *r)
{
	switch (m) {
	case CONTRAST_LATENCY:
		return r->latency_ms;
	case CONTRAST_LOAD:
		return r->load_ms;
	case CONTRAST_FIRST:
		return r->first_ms;
	case CONTRAST_MEMORY:
		return row_peak_mib(r);
	case CONTRAST_THROUGHPUT:
		return isnan(r->throughput_per_s) ? (double)NAN : row_median_per_s(r); // as latency: one slow run says nothing
	case CONTRAST_COUNT:
		break;
	}
	return (double)NAN;
}

// ---- questions ---------------------------------------------------------------------------------------------------

struct group { // rows of one side that answer one question
	struct asked asked;
	const struct side_row **rows;
	size_t count, room;
	bool is_paired;
};

struct groups {
	const struct side *side;
	struct group *items;
	size_t count;
};

static void add_row(struct group *g, const struct side_row *r, struct arena *a)
{
	if (g->count == g->room) {
		const struct side_row **more = ARENA_ARRAY(a, g->room = 2 * g->room + 4, const struct side_row *);

		if (g->count)
			memcpy(more, g->rows, g->count * sizeof *more);
		g->rows = more;
	}
	g->rows[g->count++] = r;
}

static void gather(struct groups *g, const struct side *side, const struct side *const *both, struct arena *a)
{
	g->side = side;
	g->items = ARENA_ARRAY(a, side->count + 1, struct group);
	for (size_t i = 0; i < side->count; i++) {
		struct asked asked;
		size_t k = 0;

		asked_of(&asked, a, &side->rows[i], both, 2);
		while (k < g->count && !asked_same(&g->items[k].asked, &asked, 0))
			k++;
		if (k == g->count)
			g->items[g->count++].asked = asked;
		asked_learn(&g->items[k].asked, &asked);
		add_row(&g->items[k], &side->rows[i], a);
	}
}

static bool is_constant(const struct groups *g, unsigned field)
{
	for (size_t i = 1; i < g->count; i++)
		if (!text_is(g->items[i].asked.field[field], g->items[0].asked.field[field]))
			return false;
	return g->count > 0;
}

// What the sides were chosen by is what they differ in, and does not keep their rows apart: the platform where it was named, and
// where rows were named one by one everything that is one thing on each side.
static uint64_t chosen_fields(const struct groups *a, const struct groups *b)
{
	bool by_number = a->side->by_number && b->side->by_number, by_platform = a->side->by_platform || b->side->by_platform;
	uint64_t out = 0;

	for (unsigned f = 0; f < ASKED_COUNT; f++) {
		// Unlike models are no choice between two ways to run one.
		bool chosen = f != ASKED_FILES &&
			(by_number ||
				(by_platform &&
					(f == ASKED_PLATFORM || f == ASKED_INSTEAD || f == ASKED_DEVICE || f == ASKED_OPTIONS)));

		if (chosen && is_constant(a, f) && is_constant(b, f) &&
			!text_is(a->items[0].asked.field[f], b->items[0].asked.field[f]))
			out |= (uint64_t)1 << f;
	}
	return out;
}

// "" is a flag that was given (member.h).
static const char *field_word(const char *x)
{
	return !x ? "default" : *x ? x : "yes";
}

static const char *differs_words(const struct groups *a, const struct groups *b, uint64_t fields, struct arena *arena)
{
	const char *out = NULL;

	for (unsigned f = 0; f < ASKED_COUNT; f++) {
		if (!(fields >> f & 1))
			continue;
		out = arena_printf(arena, "%s%s%s: A %s, B %s", out ? out : "", out ? "; " : "", asked_name((enum asked_field)f),
			field_word(a->items[0].asked.field[f]), field_word(b->items[0].asked.field[f]));
	}
	return out;
}

// ---- lines -------------------------------------------------------------------------------------------------------

bool contrast_ran(const struct side_row *r)
{
	return verdict_ran(r->verdict) && text_is(r->row.actual, row_is_instead(&r->row) ? r->row.tried : r->row.requested);
}

// Of throughput the time of one input: the statistics are of times, and the less the better.
static size_t processes(
	struct compare_process *out, const struct side_row *const *rows, size_t count, enum contrast_metric m, struct arena *a)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		double x = contrast_ran(rows[i]) ? contrast_value(m, &rows[i]->row) : (double)NAN, *one;

		if (m == CONTRAST_LATENCY && contrast_ran(rows[i]) && rows[i]->ms_count > 0) {
			out[n++] = (struct compare_process){ rows[i]->ms, rows[i]->ms_count };
		} else if (x > 0) {
			one = ARENA_NEW(a, double);
			*one = metrics[m].more ? 1e3 / x : x;
			out[n++] = (struct compare_process){ one, 1 };
		}
	}
	return n;
}

// Back from times of one input to inputs a second: what was the upper end is the lower one.
static void turn_over(struct comparison *c)
{
	double low = c->low, low95 = c->low95;

	c->a_ms = 1e3 / c->a_ms;
	c->b_ms = 1e3 / c->b_ms;
	c->ratio = 1 / c->ratio;
	c->low = 1 / c->high;
	c->high = 1 / low;
	c->low95 = 1 / c->high95;
	c->high95 = 1 / low95;
}

static const char *verdict_text(enum contrast_metric m, enum compare_verdict v)
{
	if (m == CONTRAST_MEMORY && v != COMPARE_SAME && v != COMPARE_CANNOT_TELL)
		return v == COMPARE_FASTER ? "less" : "more";
	return compare_word(v);
}

// `assay ab` takes no whole pipelines: as many rows of those are asked for by hand.
static const char *few(struct arena *a, const struct comparison *c, bool is_pipeline)
{
	const char *how = is_pipeline ? "a claim needs" : "`assay ab` runs";

	if (c->a_count >= COMPARE_LEAST && c->b_count >= COMPARE_LEAST)
		return NULL;
	if (c->a_count == c->b_count)
		return arena_printf(
			a, "%zu process%s a side; %s %d", c->a_count, c->a_count == 1 ? "" : "es", how, COMPARE_LEAST);
	return arena_printf(a, "%zu and %zu processes; %s %d a side", c->a_count, c->b_count, how, COMPARE_LEAST);
}

enum status contrast_rows(struct contrast_line *line, const struct side_row *const *a, size_t a_count,
	const struct side_row *const *b, size_t b_count, uint64_t seed, struct arena *arena, struct error *err)
{
	struct compare_process *pa = ARENA_ARRAY(arena, a_count + 1, struct compare_process),
			       *pb = ARENA_ARRAY(arena, b_count + 1, struct compare_process);
	size_t na = processes(pa, a, a_count, line->metric, arena), nb = processes(pb, b, b_count, line->metric, arena);

	line->verdict = compare_word(COMPARE_CANNOT_TELL);
	line->c = (struct comparison){ .a_count = na, .b_count = nb, .ratio = (double)NAN };
	if (na == 0 || nb == 0) {
		line->cause = na ? "B did not measure it" : nb ? "A did not measure it" : "neither side measured it";
		return STATUS_OK;
	}
	enum status st = compare_unpaired(pa, na, pb, nb, seed, &line->c, err);
	if (st)
		return error_prefix(err, "%s", metrics[line->metric].word);
	line->is_compared = true;
	line->is_better = line->c.verdict == COMPARE_FASTER;
	line->is_worse = line->c.verdict == COMPARE_SLOWER;
	line->verdict = verdict_text(line->metric, line->c.verdict);
	line->cause = few(arena, &line->c, a[0]->question.cell.pipeline_asked != NULL);
	if (metrics[line->metric].more)
		turn_over(&line->c);
	return STATUS_OK;
}

// ---- one question ------------------------------------------------------------------------------------------------

static bool has_rebuilt(const struct contrast *q)
{
	bool any = false;

	for (size_t i = 0; i < q->a_count; i++)
		any |= q->a[i]->question.is_rebuilt;
	for (size_t i = 0; i < q->b_count; i++)
		any |= q->b[i]->question.is_rebuilt;
	return any;
}

// The newest row's word on each side, where they are not one and the same.
static const char *changed(struct arena *a, const char *what, const char *x, const char *y)
{
	return text_agree(x, y) ? NULL : arena_printf(a, "%s: A %s, B %s", what, x, y);
}

static const char *note_of(const struct contrast *q, struct arena *a)
{
	const struct side_row *x = q->a[q->a_count - 1], *y = q->b[q->b_count - 1];
	const char *out = NULL;

	out = arena_join(a, out, "; ", changed(a, "engine", x->row.engine, y->row.engine));
	out = arena_join(a, out, "; ",
		text_is(x->row.engine, y->row.engine) ? changed(a, "engine version", x->row.engine_version, y->row.engine_version)
						      : NULL);
	out = arena_join(
		a, out, "; ", changed(a, "machine", arena_printf(a, "%.8s", x->machine), arena_printf(a, "%.8s", y->machine)));
	out = arena_join(a, out, "; ", changed(a, "assay", x->version, y->version));
	out = arena_join(a, out, "; ", changed(a, "commit", x->commit, y->commit));
	out = arena_join(a, out, "; ", changed(a, "computes in", x->row.compute_dtype, y->row.compute_dtype));
	out = arena_join(a, out, "; ", changed(a, "form", x->row.form, y->row.form));
	if (has_rebuilt(q))
		out = arena_join(a, out, "; ", "older rows are among them, of which not everything that was asked is known");
	return out;
}

// What a verdict is worth: right is the best, one that did not run is worse than one that was right, and wrong is the worst.
static int worth(const struct side_row *r)
{
	return r->verdict == VERDICT_RIGHT       ? 4
		: r->verdict == VERDICT_UNJUDGED ? 3
		: r->verdict == VERDICT_COMPILES ? 2
		: r->verdict == VERDICT_WRONG    ? 0
						 : 1;
}

static void take_verdicts(struct contrast *q)
{
	const struct side_row *x = q->a[q->a_count - 1], *y = q->b[q->b_count - 1];

	q->verdict_a = x->verdict;
	q->verdict_b = y->verdict;
	q->cause_a = x->row.cause;
	q->cause_b = y->row.cause;
	q->change = x->verdict == y->verdict ? 0 : worth(y) < worth(x) ? -1 : worth(y) > worth(x) ? 1 : 0;
	// Unjudged is no loss where nothing could be held against it; that is said as a change, not as worse.
	if (x->verdict == VERDICT_RIGHT && y->verdict == VERDICT_UNJUDGED)
		q->change = 0;
}

static enum status make_question(
	struct contrast *q, unsigned wanted, uint64_t seed, struct contrast_result *out, struct arena *a, struct error *err)
{
	take_verdicts(q);
	q->note = note_of(q, a);
	q->lines = ARENA_ARRAY(a, CONTRAST_COUNT, struct contrast_line);
	out->worse_verdicts += q->change < 0;
	for (unsigned m = 0; m < CONTRAST_COUNT; m++) {
		struct contrast_line *line = &q->lines[q->line_count];

		if (!(wanted >> m & 1))
			continue;
		line->metric = (enum contrast_metric)m;
		enum status st = contrast_rows(line, q->a, q->a_count, q->b, q->b_count, seed, a, err);
		if (st)
			return error_prefix(err, "%s", q->what);
		q->line_count++;
		out->compared += line->is_compared;
		out->slower += line->is_worse;
		out->faster += line->is_better;
	}
	return STATUS_OK;
}

static int rank(const struct contrast *q)
{
	return q->change < 0 ? 0 : q->change > 0 ? 1 : q->verdict_a != q->verdict_b ? 2 : 3;
}

// Changed verdicts first; else the order of the rows. Insertion keeps it.
static void sort(struct contrast_result *r)
{
	for (size_t i = 1; i < r->count; i++) {
		struct contrast q = r->items[i];
		size_t k = i;

		for (; k > 0 && rank(&r->items[k - 1]) > rank(&q); k--)
			r->items[k] = r->items[k - 1];
		r->items[k] = q;
	}
}

// Which files is said where there are several of one name.
static uint64_t leave_files(const struct asked *x, const struct groups *g, const struct groups *h)
{
	const struct groups *const sides[] = { g, h };

	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < sides[i]->count; k++)
			if (asked_other_files(&sides[i]->items[k].asked, x))
				return 0;
	return (uint64_t)1 << ASKED_FILES;
}

static void take_lone(
	struct contrast_lone **out, size_t *count, const struct groups *g, const struct groups *other, struct arena *a)
{
	*out = ARENA_ARRAY(a, g->count + 1, struct contrast_lone);
	for (size_t i = 0; i < g->count; i++)
		if (!g->items[i].is_paired)
			(*out)[(*count)++] = (struct contrast_lone){ asked_words(a, &g->items[i].asked,
									     leave_files(&g->items[i].asked, g, other)),
				g->items[i].rows, g->items[i].count };
}

enum status contrast_make(const struct side *a, const struct side *b, unsigned wanted, uint64_t seed, struct arena *arena,
	struct contrast_result *out, struct error *err)
{
	const struct side *both[] = { a, b };
	struct groups ga = { 0 }, gb = { 0 };

	*out = (struct contrast_result){ 0 };
	gather(&ga, a, both, arena);
	gather(&gb, b, both, arena);
	uint64_t leave = chosen_fields(&ga, &gb);
	out->differs = differs_words(&ga, &gb, leave, arena);
	out->items = ARENA_ARRAY(arena, ga.count + 1, struct contrast);
	for (size_t i = 0; i < ga.count; i++)
		for (size_t k = 0; k < gb.count; k++) {
			struct group *x = &ga.items[i], *y = &gb.items[k];

			if (x->is_paired || y->is_paired || !asked_same(&x->asked, &y->asked, leave))
				continue;
			x->is_paired = y->is_paired = true;
			struct contrast *q = &out->items[out->count++];
			*q = (struct contrast){ .what = asked_words(arena, &x->asked, leave | leave_files(&x->asked, &ga, &gb)),
				.a = x->rows,
				.b = y->rows,
				.a_count = x->count,
				.b_count = y->count,
				.qualifiers_a = asked_qualifiers(arena, &x->asked, leave, x->rows, x->count),
				.qualifiers_b = asked_qualifiers(arena, &y->asked, leave, y->rows, y->count) };
			enum status st = make_question(q, wanted ? wanted : (1u << CONTRAST_COUNT) - 1, seed, out, arena, err);
			if (st)
				return st;
		}
	sort(out);
	take_lone(&out->only_a, &out->only_a_count, &ga, &gb, arena);
	take_lone(&out->only_b, &out->only_b_count, &gb, &ga, arena);
	return STATUS_OK;
}

bool contrast_tells(const struct contrast_result *r)
{
	bool any = r->compared > 0;

	for (size_t i = 0; i < r->count; i++)
		any = any || r->items[i].change > 0 || r->items[i].verdict_b == VERDICT_COMPILES;
	return any;
}

// ---- JSON --------------------------------------------------------------------------------------------------------

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *numbers(const struct side_row *const *rows, size_t count)
{
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(out, json_integer(rows[i]->row.row));
	return out;
}

static json_t *line_json(const struct contrast_line *l)
{
	const struct comparison *c = &l->c;
	json_t *out = json_pack("{s:s, s:s, s:s, s:s?, s:b, s:b, s:i, s:i}", "metric", metrics[l->metric].word, "unit",
		metrics[l->metric].unit, "verdict", l->verdict, "cause", l->cause, "better", l->is_better, "worse", l->is_worse,
		"processes_a", (int)c->a_count, "processes_b", (int)c->b_count);
	const struct {
		const char *name;
		double x;
	} figures[] = {
		{ "a", c->a_ms },
		{ "b", c->b_ms },
		{ "ratio", c->ratio },
		{ "low", c->low },
		{ "high", c->high },
		{ "low95", c->low95 },
		{ "high95", c->high95 },
	};

	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		json_object_set_new(out, figures[i].name, l->is_compared ? real(figures[i].x) : json_null());
	return out;
}

static json_t *lone_json(const struct contrast_lone *items, size_t count)
{
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			out, json_pack("{s:s, s:o}", "question", items[i].what, "rows", numbers(items[i].rows, items[i].count)));
	return out;
}

static json_t *side_json(const struct side *s)
{
	return json_pack("{s:s, s:s?, s:i, s:i, s:i}", "database", s->path, "words", s->words, "rows", (int)s->count, "imported",
		(int)s->imported, "unfinished", (int)s->unfinished);
}

json_t *contrast_json(const struct side *a, const struct side *b, const struct contrast_result *r)
{
	json_t *questions = json_array();

	for (size_t i = 0; i < r->count; i++) {
		const struct contrast *q = &r->items[i];
		json_t *lines = json_array();

		for (size_t k = 0; k < q->line_count; k++)
			json_array_append_new(lines, line_json(&q->lines[k]));
		json_array_append_new(questions,
			json_pack("{s:s, s:s?, s:s?, s:s, s:s, s:s?, s:s?, s:s, s:o, s:o, s:s?, s:o}", "question", q->what,
				"qualifiers_a", q->qualifiers_a, "qualifiers_b", q->qualifiers_b, "verdict_a",
				verdict_word(q->verdict_a), "verdict_b", verdict_word(q->verdict_b), "cause_a", q->cause_a,
				"cause_b", q->cause_b, "verdict_is",
				q->verdict_a == q->verdict_b ? "the same"
					: q->change < 0      ? "worse"
					: q->change > 0      ? "better"
							     : "another",
				"rows_a", numbers(q->a, q->a_count), "rows_b", numbers(q->b, q->b_count), "note", q->note,
				"lines", lines));
	}
	return json_pack("{s:o, s:o, s:s?, s:o, s:o, s:o, s:i, s:i, s:i, s:i}", "a", side_json(a), "b", side_json(b), "differs",
		r->differs, "questions", questions, "only_a", lone_json(r->only_a, r->only_a_count), "only_b",
		lone_json(r->only_b, r->only_b_count), "compared", (int)r->compared, "slower", (int)r->slower, "faster",
		(int)r->faster, "worse_verdicts", (int)r->worse_verdicts);
}
