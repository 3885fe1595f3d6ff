// SPDX-License-Identifier: Apache-2.0
// What does not run or is not right, by cause: models and platforms that fail alike are one entry.
#include <stdlib.h>

#include "report/gather.h"

static bool same_list(const char *const *x, size_t x_count, const char *const *y, size_t y_count)
{
	for (size_t i = 0; i < x_count && x_count == y_count; i++) {
		if (!text_is(x[i], y[i]))
			return false;
	}
	return x_count == y_count;
}

// What is worse stands first: wrong answers, then what broke, then what was not available.
static int rank_of(const struct report_failure *f)
{
	static const int ranks[VERDICT_COUNT] = {
		[VERDICT_WRONG] = 0,
		[VERDICT_CRASHED] = 1,
		[VERDICT_FAILED] = 2,
		[VERDICT_NO_MEMORY] = 3,
		[VERDICT_TIMEOUT] = 4,
		[VERDICT_LOSSY] = 5,
		[VERDICT_FELL_BACK] = 6,
		[VERDICT_UNSUPPORTED] = 7,
		[VERDICT_UNAVAILABLE] = 8,
		[VERDICT_NOT_ASKED] = 9,
		[VERDICT_INTERRUPTED] = 10,
	};

	return f->is_stand_in ? 7 : f->is_elsewhere ? 6 : ranks[f->verdict];
}

static int by_rank(const void *x, const void *y)
{
	const struct report_failure *f = x, *g = y;

	return rank_of(f) != rank_of(g) ? rank_of(f) - rank_of(g)
					: (g->model_count > f->model_count) - (g->model_count < f->model_count);
}

// First by model and cause, collecting platforms; then models that fail alike on the same platforms become one entry.
void summary_gather_failures(struct summary *out, struct arena *a)
{
	struct report_failure *f = out->failures = ARENA_ARRAY(a, out->cell_count + 1, struct report_failure);
	size_t count = 0;

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		size_t k = 0;
		if (!c->is_failure)
			continue;
		while (k < count &&
			!(f[k].verdict == c->verdict && f[k].is_elsewhere == c->is_elsewhere &&
				f[k].is_stand_in == c->is_stand_in && text_is(f[k].cause, c->cause) &&
				text_is(f[k].models[0], c->shown)))
			k++;
		if (k == count) {
			f[count++] = (struct report_failure){ .cause = c->cause,
				.verdict = c->verdict,
				.is_elsewhere = c->is_elsewhere,
				.is_stand_in = c->is_stand_in,
				.models = ARENA_ARRAY(a, out->line_count, const char *),
				.platforms = ARENA_ARRAY(a, out->column_count, const char *),
				.cells = ARENA_ARRAY(a, out->cell_count, const struct report_cell *) };
			f[k].models[f[k].model_count++] = c->shown;
		}
		report_add_once(f[k].platforms, &f[k].platform_count, c->platform);
		f[k].cells[f[k].cell_count++] = c;
	}
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;
		while (k < out->failure_count &&
			!(f[k].verdict == f[i].verdict && f[k].is_elsewhere == f[i].is_elsewhere &&
				f[k].is_stand_in == f[i].is_stand_in && text_is(f[k].cause, f[i].cause) &&
				same_list(f[k].platforms, f[k].platform_count, f[i].platforms, f[i].platform_count)))
			k++;
		if (k == out->failure_count) {
			f[out->failure_count++] = f[i];
			continue;
		}
		report_add_once(f[k].models, &f[k].model_count, f[i].models[0]);
		for (size_t m = 0; m < f[i].cell_count; m++)
			f[k].cells[f[k].cell_count++] = f[i].cells[m];
	}
	for (size_t i = 0; i < out->failure_count; i++)
		f[i].qualifiers = report_qualifiers(a, f[i].cells, f[i].cell_count);
	qsort(f, out->failure_count, sizeof *f, by_rank);
}
