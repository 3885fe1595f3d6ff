// SPDX-License-Identifier: Apache-2.0
// history.h: rows to series, series to changes. Where a series changed is decided in stats/change.c, by how much in
// stats/compare.c.
#include "analysis/history.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/asked.h"
#include "base/text.h"
#include "stats/stats.h"

struct series {
	struct asked asked;
	const char *machine;
	bool is_imported; // another database's word is no point of what was measured here
	const struct side_row **rows;
	size_t count;
};

static size_t gather(struct series *out, const struct side *side, struct arena *a)
{
	const struct side *const one[] = { side };
	size_t n = 0;

	for (size_t i = 0; i < side->count; i++) {
		struct asked asked;
		size_t k = n;

		asked_of(&asked, a, &side->rows[i], one, 1);
		// The newest first: a row that does not know its files is of those that its name had last.
		while (k > 0 &&
			!(asked_same(&out[k - 1].asked, &asked, 0) && text_is(out[k - 1].machine, side->rows[i].machine) &&
				out[k - 1].is_imported == side->rows[i].is_imported))
			k--;
		if (k == 0) {
			out[n++] = (struct series){ asked, side->rows[i].machine, side->rows[i].is_imported,
				ARENA_ARRAY(a, side->count, const struct side_row *), 0 };
			k = n;
		}
		struct series *s = &out[k - 1];
		asked_learn(&s->asked, &asked);
		s->rows[s->count++] = &side->rows[i];
	}
	return n;
}

// Which files is said where there are several of one name.
static uint64_t leave_files(const struct series *all, size_t count, const struct asked *x)
{
	for (size_t i = 0; i < count; i++)
		if (asked_other_files(&all[i].asked, x))
			return 0;
	return (uint64_t)1 << ASKED_FILES;
}

// Numbers of rows and of runs both grow with time; rows come in the order of their numbers, and those of a run beside others'
// when two programs write at once.
static void take_points(struct history *h, const struct series *s, struct arena *a)
{
	double *figures = ARENA_ARRAY(a, s->count, double);

	h->points = ARENA_ARRAY(a, s->count, struct history_point);
	for (size_t i = 0; i < s->count; i++) {
		size_t k = 0;

		while (k < h->count && h->points[k].run != s->rows[i]->run)
			k++;
		if (k == h->count)
			h->points[h->count++] = (struct history_point){ .run = s->rows[i]->run,
				.rows = ARENA_ARRAY(a, s->count, const struct side_row *) };
		h->points[k].rows[h->points[k].count++] = s->rows[i];
		h->points[k].verdict = s->rows[i]->verdict;
	}
	for (size_t k = 0; k < h->count; k++) {
		size_t n = 0;

		for (size_t i = 0; i < h->points[k].count; i++) {
			double x = contrast_ran(h->points[k].rows[i]) ? contrast_value(h->metric, &h->points[k].rows[i]->row)
								      : (double)NAN;

			if (x > 0)
				figures[n++] = x;
		}
		h->points[k].figure = stats_median(figures, n);
		h->measured += !isnan(h->points[k].figure);
	}
}

static void take_turns(struct history *h, struct arena *a)
{
	h->turns = ARENA_ARRAY(a, h->count + 1, struct history_turn);
	for (size_t k = 1; k < h->count; k++)
		if (h->points[k].verdict != h->points[k - 1].verdict)
			h->turns[h->turn_count++] =
				(struct history_turn){ k, h->points[k].rows[h->points[k].count - 1]->row.cause };
}

static const char *add(struct arena *a, const char *before, const char *what, const char *x, const char *y)
{
	if (text_is(x, y) || (!x && !y))
		return before;
	return arena_printf(
		a, "%s%s%s %s to %s", before ? before : "", before ? ", " : "", what, x ? x : "unknown", y ? y : "unknown");
}

static const char *add_digest(struct arena *a, const char *before, const char *what, const char *x, const char *y)
{
	return add(a, before, what, x ? arena_printf(a, "%.8s", x) : NULL, y ? arena_printf(a, "%.8s", y) : NULL);
}

static const char *with(const struct history *h, size_t before, size_t at, struct arena *a)
{
	const struct side_row *x = h->points[before].rows[0], *y = h->points[at].rows[0];
	const char *out = add(a, NULL, "engine", x->row.engine, y->row.engine);

	out = add(a, out, "engine version", x->row.engine_version, y->row.engine_version);
	out = add(a, out, "assay", x->version, y->version);
	out = add(a, out, "commit", x->commit, y->commit);
	out = add(a, out, "form", x->row.form, y->row.form);
	out = add(a, out, "device", x->row.device_description, y->row.device_description);
	return add_digest(a, out, "weights or graph", x->row.artifact_key, y->row.artifact_key);
}

// The rows of points [begin, end) of the measured ones.
static const struct side_row **rows_between(
	const struct history *h, const size_t *measured, size_t begin, size_t end, size_t *count, struct arena *a)
{
	size_t most = 1;

	for (size_t i = begin; i < end; i++)
		most += h->points[measured[i]].count;
	const struct side_row **out = ARENA_ARRAY(a, most, const struct side_row *);
	*count = 0;
	for (size_t i = begin; i < end; i++)
		for (size_t k = 0; k < h->points[measured[i]].count; k++)
			out[(*count)++] = h->points[measured[i]].rows[k];
	return out;
}

static enum status take_changes(struct history *h, uint64_t seed, struct arena *a, struct error *err)
{
	double *x = ARENA_ARRAY(a, h->measured + 1, double);
	size_t *measured = ARENA_ARRAY(a, h->measured + 1, size_t), n = 0;
	struct change *found;

	for (size_t k = 0; k < h->count; k++)
		if (!isnan(h->points[k].figure)) {
			x[n] = log(h->points[k].figure); // what counts is how many times as long
			measured[n++] = k;
		}
	if (!change_find(x, n, seed, a, &found, &h->change_count)) {
		h->why_not = arena_printf(
			a, "%zu run%s: of fewer than %d a change cannot be told from chance", n, n == 1 ? "" : "s", CHANGE_LEAST);
		return STATUS_OK;
	}
	h->changes = ARENA_ARRAY(a, h->change_count + 1, struct history_change);
	for (size_t i = 0; i < h->change_count; i++) {
		size_t begin = i ? found[i - 1].at : 0, at = found[i].at, end = i + 1 < h->change_count ? found[i + 1].at : n,
		       before_count, behind_count;
		struct contrast_line line = { .metric = h->metric };
		const struct side_row **before = rows_between(h, measured, begin, at, &before_count, a);
		const struct side_row **behind = rows_between(h, measured, at, end, &behind_count, a);

		enum status st = contrast_rows(&line, before, before_count, behind, behind_count, seed, a, err);
		if (st)
			return st;
		h->changes[i] = (struct history_change){ .at = measured[at],
			.p = found[i].p,
			.c = line.c,
			.verdict = line.verdict,
			.is_worse = line.is_worse,
			.is_better = line.is_better,
			.with = with(h, measured[at - 1], measured[at], a) };
	}
	return STATUS_OK;
}

enum status history_make(const struct side *side, enum contrast_metric m, uint64_t seed, struct arena *a, struct history **out,
	size_t *count, struct error *err)
{
	struct series *all = ARENA_ARRAY(a, side->count + 1, struct series);

	*count = gather(all, side, a);
	*out = ARENA_ARRAY(a, *count + 1, struct history);
	for (size_t i = 0; i < *count; i++) {
		struct history *h = &(*out)[i];

		*h = (struct history){ .what = asked_words(a, &all[i].asked, leave_files(all, *count, &all[i].asked)),
			.qualifiers = asked_qualifiers(a, &all[i].asked, 0, all[i].rows, all[i].count),
			.machine = all[i].machine,
			.is_imported = all[i].is_imported,
			.metric = m };
		take_points(h, &all[i], a);
		take_turns(h, a);
		enum status st = take_changes(h, seed, a, err);
		if (st)
			return error_prefix(err, "%s", h->what);
	}
	return STATUS_OK;
}

// ---- JSON --------------------------------------------------------------------------------------------------------

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *point_json(const struct history_point *p)
{
	const struct side_row *r = p->rows[p->count - 1];
	json_t *rows = json_array();

	for (size_t i = 0; i < p->count; i++)
		json_array_append_new(rows, json_integer(p->rows[i]->row.row));
	return json_pack("{s:I, s:o, s:o, s:s, s:s?, s:s?, s:s?, s:s?}", "run", (json_int_t)p->run, "figure", real(p->figure),
		"rows", rows, "verdict", verdict_word(p->verdict), "measured_at", r->measured_at, "version", r->version, "commit",
		r->commit, "engine_version", r->row.engine_version);
}

static json_t *change_json(const struct history *h, const struct history_change *c)
{
	const struct history_point *p = &h->points[c->at];

	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:b, s:s?}", "run", (json_int_t)p->run, "row",
		(json_int_t)p->rows[0]->row.row, "before", real(c->c.a_ms), "behind", real(c->c.b_ms), "ratio", real(c->c.ratio),
		"low", real(c->c.low), "high", real(c->c.high), "p", real(c->p), "verdict", c->verdict, "worse", c->is_worse,
		"better", c->is_better, "with", c->with);
}

json_t *history_json(const struct history *items, size_t count)
{
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct history *h = &items[i];
		json_t *points = json_array(), *changes = json_array(), *turns = json_array();

		for (size_t k = 0; k < h->count; k++)
			json_array_append_new(points, point_json(&h->points[k]));
		for (size_t k = 0; k < h->change_count; k++)
			json_array_append_new(changes, change_json(h, &h->changes[k]));
		for (size_t k = 0; k < h->turn_count; k++) {
			const struct history_point *p = &h->points[h->turns[k].at];

			json_array_append_new(turns,
				json_pack("{s:I, s:I, s:s, s:s, s:s?}", "run", (json_int_t)p->run, "row",
					(json_int_t)p->rows[p->count - 1]->row.row, "from", verdict_word(p[-1].verdict), "to",
					verdict_word(p->verdict), "cause", h->turns[k].cause));
		}
		json_array_append_new(out,
			json_pack("{s:s, s:s?, s:s?, s:b, s:s, s:s, s:o, s:o, s:o, s:s?}", "question", h->what, "qualifiers",
				h->qualifiers, "machine", h->machine, "imported", h->is_imported, "metric",
				contrast_word(h->metric), "unit", contrast_unit(h->metric), "points", points, "changes", changes,
				"verdicts", turns, "why_not", h->why_not));
	}
	return out;
}
