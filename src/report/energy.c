// SPDX-License-Identifier: Apache-2.0
// Joules a sample and a token, where the machine shows a counter.
#include <math.h>

#include "report/gather.h"

static const struct report_column columns[] = {
	{ "model", "model", false },
	{ "platform", "on", false },
	{ "energy_j_per_sample", "energy a sample", true },
	{ "energy_j_per_token", "a token", true },
	{ "samples_per_wh", "samples a watt-hour", true },
	{ "idle_w", "idle", true },
	{ "source", "counted by", false },
	{ "verdict", "verdict", false },
};

static struct report_value amount(struct arena *a, double x, const char *unit)
{
	return value_real(isnan(x) ? NULL : arena_printf(a, *unit ? "%.3g\u00a0%s" : "%.3g%s", x, unit), x);
}

void summary_gather_energy(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "energy", "Energy",
		"Of the timed runs, over what the machine takes when nothing of this runs. The counters are of the whole "
		"machine: what "
		"else ran is in them. Rows without a counter say why in energy_why and are not here.",
		columns, sizeof columns / sizeof *columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		const struct row *r = &c->row;

		if (c->is_running || isnan(r->energy_j_per_sample))
			continue;
		struct report_value *v = section_row(s);
		v[0] = value_noted(value_text(report_model_name(r->model)), report_line_words(a, &out->lines[c->line]));
		v[1] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[2] = amount(a, r->energy_j_per_sample, "J");
		v[3] = amount(a, r->energy_j_per_token, "J");
		v[4] = amount(a, 3600 / r->energy_j_per_sample, "");
		v[5] = amount(a, r->idle_w, "W");
		v[6] = value_text(r->energy_source);
		v[7] = value_text(report_verdict_word(c));
	}
}
