// SPDX-License-Identifier: Apache-2.0
// Questions that differ in one number (a sweep), and the batch from which the median of another platform is lower.
#include <math.h>
#include <stdlib.h>

#include "stats/crossover.h"
#include "report/gather.h"

static const struct axis {
	unsigned but;
	const char *word;
} axes[] = {
	{ BUT_BATCH, "batch" },
	{ BUT_SEQUENCE, "sequence" },
	{ BUT_THREADS, "threads" },
	{ BUT_IMAGE, "image size" },
};

static int64_t value_of(const struct report_cell *c, unsigned axis)
{
	const struct row *r = &c->row;

	return axis == BUT_BATCH       ? r->batch
		: axis == BUT_SEQUENCE ? r->sequence
		: axis == BUT_THREADS  ? r->threads
				       : r->image_size;
}

static bool is_point(const struct report_cell *c, unsigned axis)
{
	return c->is_good && !c->is_not_valid && !c->question.cell.profile && c->row.latency_ms > 0 && value_of(c, axis) > 0;
}

// Times of the same inputs: made-up ones of a length that was asked for, or examples and a golden file of their own lengths.
static bool have_same_inputs(const struct report_cell *x, const struct report_cell *y)
{
	return text_is(x->asked.data, y->asked.data) && text_is(x->question.cell.golden, y->question.cell.golden) &&
		text_is(x->question.cell.inputs, y->question.cell.inputs);
}

// The points of cell i's sweep, in the order of the axis; 0 where i is not the first of them, or the only one.
static size_t points_of(const struct summary *s, size_t i, unsigned axis, const struct report_cell **points)
{
	size_t n = 0;

	for (size_t k = 0; k < s->cell_count && is_point(&s->cells[i], axis); k++) {
		const struct report_cell *c = &s->cells[k];
		size_t at;
		if (!is_point(c, axis) || !report_alike(&s->cells[i], c, axis) || !have_same_inputs(&s->cells[i], c))
			continue;
		if (k < i)
			return 0;
		for (at = n; at > 0 && value_of(points[at - 1], axis) > value_of(c, axis); at--)
			points[at] = points[at - 1];
		points[at] = c;
		n++;
	}
	return n > 1 && value_of(points[0], axis) != value_of(points[n - 1], axis) ? n : 0;
}

// Are all of them times that may stand among others?
static bool are_ranked(const struct report_cell **points, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!report_is_ranked(points[i]))
			return false;
	return n > 0;
}

static const struct report_column columns[] = {
	{ "axis", "varied", false },
	{ "model", "model", false },
	{ "platform", "on", false },
	{ "value", "value", true },
	{ "latency_ms", "median", true },
	{ "per_s", "inputs per second, by the median", true },
	{ "gain", "gain on the one before", true },
	{ "marks", "", false },
};

static const struct report_column crossover_columns[] = {
	{ "model", "model", false },
	{ "platform", "median of", false },
	{ "other", "below that of", false },
	{ "after", "between batch", true },
	{ "batch", "and", true },
	{ "times", "there", true },
	{ "claim", "how sure", false },
};

static void sweep(struct summary *out, const struct axis *axis, const struct report_cell **points, size_t n,
	struct report_section *s, struct arena *a)
{
	double before = (double)NAN;

	for (size_t p = 0; p < n; p++) {
		const struct report_cell *c = points[p];
		double per_s = report_per_s(c), gain = per_s / before - 1;
		struct report_value *v = section_row(s);
		v[0] = value_text(axis->word);
		v[1] = value_noted(value_text(report_model_name(c->row.model)), report_line_words(a, &out->lines[c->line]));
		v[2] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[3] = value_count(a, value_of(c, axis->but));
		v[4] = value_noted(value_ms(a, c->typical.ms), report_typical_spread(a, c));
		v[5] = value_per_s(a, per_s);
		v[6] = value_real(arena_printf(a, "%+.0f\u00a0%%", gain * 100), gain);
		v[7] = value_text(report_is_unstable(c)                 ? "unstable"
				: axis->but == BUT_BATCH && gain < 0.05 ? "gains less than 5\u00a0%"
									: NULL);
		before = per_s;
	}
}

static struct crossover_side side_of(struct arena *a, const struct report_cell **points, size_t n)
{
	struct crossover_point *out = ARENA_ARRAY(a, n + 1, struct crossover_point);

	for (size_t i = 0; i < n; i++) {
		const struct row *r = &points[i]->row;
		out[i] = (struct crossover_point){ r->batch, r->latency_ms, r->latency_low_ms, r->latency_high_ms };
	}
	return (struct crossover_side){ points[0]->platform, out, n };
}

static const struct report_cell *at_batch(const struct report_cell **points, size_t n, int64_t batch)
{
	for (size_t i = 0; i < n; i++)
		if (points[i]->row.batch == batch)
			return points[i];
	return NULL;
}

// Where the median of the first platform falls below the other's, and stays there as far as was measured.
static void crossover(struct summary *out, const struct report_cell **x, size_t nx, const struct report_cell **y, size_t ny,
	struct report_section *s, struct arena *a)
{
	const struct crossover_side sides[2] = { side_of(a, x, nx), side_of(a, y, ny) };
	struct crossover found;

	crossover_find(&found, a, sides);
	if (found.count < 2 || found.stretches[found.count - 1].lower != 0)
		return;
	const struct crossover_stretch *before = &found.stretches[found.count - 2], *now = before + 1;
	const struct report_cell *from = at_batch(x, nx, now->first), *against = at_batch(y, ny, now->first);
	struct report_speed speed = report_speed_against(out, from, against, a);
	struct report_value *v = section_row(s);
	v[0] = value_noted(value_text(report_model_name(from->row.model)), out->lines[from->line].warning);
	v[1] = value_text(report_qualified(a, from->platform, from->own_qualifiers));
	v[2] = value_text(report_qualified(a, against->platform, against->own_qualifiers));
	v[3] = value_count(a, before->last);
	v[4] = value_count(a, from->row.batch);
	v[5] = value_times(a, speed.times);
	v[6] = value_text(report_speed_words(a, &speed));
}

void summary_gather_sweeps(struct summary *out, struct arena *a)
{
	const struct report_cell **points = ARENA_ARRAY(a, out->cell_count + 1, const struct report_cell *),
				 **other = ARENA_ARRAY(a, out->cell_count + 1, const struct report_cell *);
	struct report_section *s = section_add(out, a, "sweeps", "Sweeps",
		"Questions that differ in one number. A batch that gains less than 5\u00a0% over the one before is not worth its "
		"latency.",
		columns, sizeof columns / sizeof *columns, out->cell_count * (sizeof axes / sizeof *axes));
	struct report_section *x = section_add(out, a, "crossover", "Where the medians of two platforms cross",
		"Above at the first of these batches, below at the second and as far as was measured: 95\u00a0% intervals of the "
		"medians that do not overlap. Whether that is a difference of the platforms stands under how sure. Nothing is "
		"said of batches in between.",
		crossover_columns, sizeof crossover_columns / sizeof *crossover_columns,
		out->cell_count * (out->column_count + 1));

	for (size_t k = 0; k < sizeof axes / sizeof *axes; k++) {
		for (size_t i = 0; i < out->cell_count; i++) {
			size_t n = points_of(out, i, axes[k].but, points);
			if (n > 0)
				sweep(out, &axes[k], points, n, s, a);
			bool may_cross = axes[k].but == BUT_BATCH && are_ranked(points, n);
			for (size_t j = 0; may_cross && j < out->cell_count; j++) {
				if (text_is(out->cells[i].platform, out->cells[j].platform) ||
					!report_alike(&out->cells[i], &out->cells[j], BUT_PLATFORM | BUT_BATCH))
					continue;
				size_t m = points_of(out, j, BUT_BATCH, other);
				if (are_ranked(other, m))
					crossover(out, points, n, other, m, x, a);
			}
		}
	}
}
