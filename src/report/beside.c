// SPDX-License-Identifier: Apache-2.0
// Several models at the same time, each beside what it took alone; and one model moved from platform to platform.
#include <math.h>

#include "report/gather.h"

static bool is_told(const struct report_cell *c)
{
	return !c->is_running && !c->is_foreign;
}

void summary_gather_together(struct summary *out, struct arena *a)
{
	static const struct report_column columns[] = {
		{ "model", "model", false },
		{ "platform", "on", false },
		{ "together", "at the same time", false },
		{ "verdict", "verdict", false },
		{ "latency_ms", "median together", true },
		{ "alone_ms", "alone, just before", true },
		{ "times", "times as long, by the median", true },
		{ "throughput", "of the throughput alone", true },
		{ "share", "overlap", true },
		{ "peak_anonymous_mib", "anonymous memory", true },
	};
	struct report_section *s = section_add(out, a, "together", "Together: several models at the same time",
		"Each model was measured alone, then all at once; outputs are judged in both. Overlap: the share of its timed "
		"runs "
		"in which all the others ran too. Two processes once each: a factor claims nothing by itself.",
		columns, sizeof columns / sizeof *columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		const struct row *r = &c->row;

		if (r->together == NULL || !is_told(c))
			continue;
		struct report_value *v = section_row(s);
		v[0] = value_noted(value_text(report_model_name(r->model)), report_line_words(a, &out->lines[c->line]));
		v[1] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[2] = value_text(r->together);
		v[3] = value_noted(value_text(report_verdict_word(c)), c->cause);
		v[4] = value_noted(value_ms(a, r->latency_ms), report_spread(a, r));
		v[5] = value_ms(a, r->alone_ms);
		v[6] = isnan(r->together_factor) ? (struct report_value){ 0 } : value_times(a, r->together_factor);
		v[7] = isnan(r->together_throughput) ? (struct report_value){ 0 } : value_times(a, r->together_throughput);
		v[8] = value_real(
			isnan(r->together_share) ? NULL : arena_printf(a, "%.4g %%", 100 * r->together_share), r->together_share);
		v[9] = value_mib(a, r->peak_anonymous_mib);
	}
}

void summary_gather_switches(struct summary *out, struct arena *a)
{
	static const struct report_column columns[] = {
		{ "model", "model", false },
		{ "platform", "on", false },
		{ "from", "from", false },
		{ "verdict", "verdict", false },
		{ "switch_ms", "switch", true },
		{ "release_ms", "release there", true },
		{ "load_ms", "load here", true },
		{ "first_ms", "first run here", true },
		{ "difference", "outputs differ by", true },
		{ "left_mib", "stayed behind", true },
	};
	struct report_section *s = section_add(out, a, "switches", "Switches: one process, from platform to platform",
		"A switch is release there, load here and the first run here, once each. The outputs are judged here, and the "
		"largest "
		"difference of one from the same there stands beside it.",
		columns, sizeof columns / sizeof *columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		const struct row *r = &c->row;

		if (r->switched_from == NULL || !is_told(c))
			continue;
		struct report_value *v = section_row(s);
		v[0] = value_noted(value_text(report_model_name(r->model)), report_line_words(a, &out->lines[c->line]));
		v[1] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[2] = value_text(r->switched_from);
		v[3] = value_noted(value_text(report_verdict_word(c)), c->cause);
		v[4] = value_ms(a, r->switch_ms);
		v[5] = value_ms(a, r->switch_release_ms);
		v[6] = value_ms(a, r->load_ms);
		v[7] = value_ms(a, r->first_ms);
		v[8] = value_noted(
			value_real(report_error(a, r->switch_max_difference), r->switch_max_difference), r->switch_not_compared);
		v[9] = value_mib(a, r->switch_left_mib);
	}
}
