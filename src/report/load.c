// SPDX-License-Identifier: Apache-2.0
// How long a platform takes to open a model, and the first run behind it: of each model the slowest platform first.
#include <math.h>
#include <stdlib.h>

#include "report/gather.h"

static const struct report_column columns[] = {
	{ "model", "model", false },
	{ "variant", "asked", false },
	{ "platform", "on", false },
	{ "load_ms", "load", true },
	{ "first_ms", "first run", true },
};

struct loaded {
	size_t model; // the first line of this model on this machine
	const struct report_cell *cell;
};

static size_t first_line_of(const struct summary *s, size_t line)
{
	const struct report_line *l = &s->lines[line];
	size_t i = 0;

	while (i < line &&
		!(report_same_model(&s->lines[i], l) && text_is(s->lines[i].machine, l->machine) &&
			s->lines[i].is_imported == l->is_imported))
		i++;
	return i;
}

// Cells of equal times stay in the order of their rows.
static int by_model_and_load(const void *x, const void *y)
{
	const struct loaded *p = x, *q = y;
	double load = q->cell->row.load_ms - p->cell->row.load_ms;

	if (p->model != q->model)
		return p->model < q->model ? -1 : 1;
	if (load < 0 || load > 0)
		return load < 0 ? -1 : 1;
	return (p->cell > q->cell) - (p->cell < q->cell);
}

void summary_gather_load(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "slowest_load", "Slowest to load",
		"Of each model the slowest first. Load: opening the graph in the engine; what assay takes to build the graph "
		"is not in it. First run: the one right after, which compiles or allocates what loading left undone. Both are "
		"of one process. Left out: emulated devices, foreign rows, scenarios and generated tokens.",
		columns, sizeof columns / sizeof *columns, out->cell_count);
	struct loaded *all = ARENA_ARRAY(a, out->cell_count + 1, struct loaded);
	size_t n = 0;

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		if (report_is_ranked(c) && report_is_plain(c) && !isnan(c->row.load_ms))
			all[n++] = (struct loaded){ first_line_of(out, c->line), c };
	}
	qsort(all, n, sizeof *all, by_model_and_load);
	for (size_t i = 0; i < n; i++) {
		const struct report_cell *c = all[i].cell;
		struct report_value *v = section_row(s);
		v[0] = value_text(report_model_name(c->row.model));
		v[1] = value_noted(value_text(out->lines[c->line].variant), out->lines[c->line].warning);
		v[2] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[3] = value_ms(a, c->row.load_ms);
		v[4] = value_ms(a, c->row.first_ms);
	}
}
