// SPDX-License-Identifier: Apache-2.0
// What an engine does if left alone beside what assay asks it to do, float32 on all CPUs: how much faster, at the price of what.
#include <math.h>

#include "report/gather.h"

static const struct report_column columns[] = {
	{ "model", "model", false },
	{ "platform", "on", false },
	{ "defaults", "the engine's own defaults", false },
	{ "verdict", "verdict", false },
	{ "latency_ms", "median as shipped", true },
	{ "asked_latency_ms", "median as assay asks", true },
	{ "times", "against that", true },
	{ "interval", "how sure", false },
	{ "max_abs_error", "largest error as shipped", true },
	{ "asked_max_abs_error", "as assay asks", true },
};

static bool is_shipped(const struct report_cell *c)
{
	return c->row.as_shipped == 1 && !c->is_running && !c->is_foreign;
}

// The same question with assay's options, if it was answered well.
static const struct report_cell *asked_of(const struct summary *s, const struct report_cell *c)
{
	for (size_t i = 0; i < s->cell_count; i++) {
		const struct report_cell *o = &s->cells[i];

		if (o->is_good && !is_shipped(o) && !o->question.cell.profile && report_alike(c, o, BUT_SHIPPED))
			return o;
	}
	return NULL;
}

void summary_gather_shipped(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "as_shipped", "As shipped: the engine's own defaults",
		"What an engine does when nothing is set, against the same question as assay asks it unless options say "
		"otherwise, in float32 on all CPUs. Both are judged by the bound of the precision that ran.",
		columns, sizeof columns / sizeof *columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i], *asked;
		const struct row *r = &c->row;

		if (!is_shipped(c))
			continue;
		asked = asked_of(out, c);
		struct report_speed speed = report_speed_against(out, c, asked, a);
		struct report_value *v = section_row(s);
		v[0] = value_noted(value_text(report_model_name(r->model)), report_line_words(a, &out->lines[c->line]));
		v[1] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[2] = value_text(r->shipped_defaults);
		v[3] = value_noted(value_text(report_verdict_word(c)), c->cause);
		v[4] = value_noted(value_ms(a, c->typical.ms), report_typical_spread(a, c));
		v[6] = isnan(speed.times) ? (struct report_value){ 0 } : value_times(a, speed.times);
		v[7] = value_text(isnan(r->latency_ms) ? NULL
				: asked == NULL        ? "not asked without --as-shipped"
						       : report_speed_words(a, &speed));
		v[8] = value_real(report_error(a, r->max_abs_error), r->max_abs_error);
		if (asked == NULL)
			continue;
		v[5] = value_noted(value_ms(a, asked->typical.ms), report_typical_spread(a, asked));
		v[9] = value_real(report_error(a, asked->row.max_abs_error), asked->row.max_abs_error);
	}
}
