// SPDX-License-Identifier: Apache-2.0
// Comparisons of two sides for the report: the latest answer to each question, put into words once. html/comparison.c, md.c and
// json.c write them down.
#include <math.h>

#include "question/standing.h"
#include "report/gather.h"
#include "report/summary.h"

static bool same_question(const struct report_comparison *p, const struct report_comparison *q)
{
	const struct store_comparison *x = &p->line, *y = &q->line;

	return p->is_imported == q->is_imported && text_is(p->machine, q->machine) && text_is(x->preset, y->preset) &&
		text_is(x->model, y->model) && text_is(x->side_a, y->side_a) && text_is(x->side_b, y->side_b) &&
		text_is(x->metric, y->metric) && x->layers == y->layers && x->batch == y->batch && x->sequence == y->sequence &&
		x->synthetic == y->synthetic;
}

// Lines of one question that was asked again are told apart by their numbers; a failed try hides no older answer.
static bool is_newer(const struct store_comparison *x, const struct store_comparison *than)
{
	if (isnan(x->ratio) != isnan(than->ratio))
		return isnan(than->ratio);
	return x->id > than->id;
}

static const char *percent(struct arena *a, double ratio)
{
	double off = fabs(ratio - 1) * 100;

	return arena_printf(a, off < 10 ? "%.1f %% %s" : "%.0f %% %s", off, ratio < 1 ? "less" : "more");
}

static const char *answer_of(struct arena *a, const struct store_comparison *c)
{
	if (isnan(c->ratio))
		return "not measured";
	if (text_is(c->verdict, "faster") || text_is(c->verdict, "slower"))
		return arena_printf(a, "%s: B takes %s", c->verdict, percent(a, c->ratio));
	return c->verdict;
}

static const char *interval_of(struct arena *a, const struct store_comparison *c)
{
	if (isnan(c->ratio))
		return NULL;
	if (isnan(c->low) || isnan(c->high))
		return arena_printf(a, "%.3f", c->ratio);
	return arena_printf(a, "%.3f (%.3f to %.3f)", c->ratio, c->low, c->high);
}

static const char *where_of(struct arena *a, const struct store_comparison *c)
{
	const char *x = c->device_a && *c->device_a ? c->device_a : c->requested_a,
		   *y = c->device_b && *c->device_b ? c->device_b : c->requested_b;

	if (!x || !y || text_is(x, y))
		return x ? x : y;
	return arena_printf(a, "%s, %s", x, y);
}

static const char *notes_of(struct arena *a, const struct report_comparison *r)
{
	const struct store_comparison *c = &r->line;
	const char *imported = !r->is_imported ? NULL
		: r->machine != NULL           ? arena_printf(a, "imported, machine %.8s", r->machine)
					       : "imported";
	const char *notes = arena_join(a, imported, "; ", c->cause),
		   *qualifiers = qualifiers_of_sides(a, comparison_qualifiers(a, c, 0), comparison_qualifiers(a, c, 1));

	notes = arena_join(a, notes, "; ", qualifiers);
	if (c->load_before > 0 || c->load_after > 0)
		notes = arena_join(
			a, notes, "; ", arena_printf(a, "load average %.1f before, %.1f after", c->load_before, c->load_after));
	return notes;
}

static void put_into_words(struct report_comparison *r, struct arena *a)
{
	const struct store_comparison *c = &r->line;

	r->name = c->preset ? c->preset : "A/B";
	r->model = report_model_name(c->model);
	r->where = where_of(a, c);
	r->a_ms = report_ms(a, c->a_ms);
	r->b_ms = report_ms(a, c->b_ms);
	r->interval = interval_of(a, c);
	r->answer = answer_of(a, c);
	r->notes = notes_of(a, r);
}

// Of which files its model was is what its rows know, and whose it is its run.
static enum status take_rows(struct store *s, struct report_comparison *items, size_t count, struct error *err)
{
	static const char sql[] =
		"WITH f AS (SELECT c.id, min(r.model_sha256) AS first, max(r.model_sha256) AS last FROM (SELECT "
		"id, unnest(list_concat(TRY_CAST(rows_a AS BIGINT[]), TRY_CAST(rows_b AS BIGINT[]))) AS cell FROM "
		"comparison) c JOIN result r ON r.id = c.cell GROUP BY c.id)"
		" SELECT c.id, f.first, f.last, " REPORT_RUN_IMPORTED " AS imported, r.machine FROM "
		"comparison c LEFT JOIN f ON f.id = c.id LEFT JOIN run r ON r.id = c.run ORDER BY c.id";
	struct table t;
	enum status st = count > 0 ? store_query(s, sql, &t, err) : STATUS_OK;

	for (size_t i = 0, k = 0; !st && k < count && i < t.row_count; i++) {
		if (items[k].line.id != table_integer(&t, i, "id")) // both are in the order of their numbers
			continue;
		items[k].first_sha256 = table_get(&t, i, "first");
		items[k].last_sha256 = table_get(&t, i, "last");
		items[k].machine = table_get(&t, i, "machine");
		items[k++].is_imported = text_is(table_get(&t, i, "imported"), "true");
	}
	return st;
}

enum status report_comparisons(struct store *s, struct report_comparison **out, size_t *count, struct error *err)
{
	struct store_comparison *lines;
	size_t n, kept = 0;
	enum status st = store_comparison_list(s, REPORT_OTHERS, &lines, &n, err);

	*count = 0;
	if (st)
		return st;
	*out = ARENA_ARRAY(&s->arena, n + 1, struct report_comparison);
	for (size_t i = 0; i < n; i++)
		(*out)[i].line = lines[i];
	if ((st = take_rows(s, *out, n, err)))
		return st;
	for (size_t i = 0; i < n; i++) {
		const struct report_comparison it = (*out)[i];
		size_t k = 0;

		while (k < kept && !same_question(&(*out)[k], &it))
			k++;
		if (k == kept || is_newer(&it.line, &(*out)[k].line))
			(*out)[k] = it;
		kept += k == kept;
	}
	for (size_t i = 0; i < kept; i++)
		put_into_words(&(*out)[i], &s->arena);
	*count = kept;
	return STATUS_OK;
}
