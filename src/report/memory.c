// SPDX-License-Identifier: Apache-2.0
// Memory: predicted against measured, anonymous against mapped, on the device, and what is left behind after closing (the leak
// slope). Prediction and measurement mean the same figure, the largest resident set; why, is in docs/SCHEMA.md.
#include <math.h>

#include "report/gather.h"

static const struct report_column columns[] = {
	{ "model", "model", false },
	{ "platform", "on", false },
	{ "predicted_mib", "predicted", true },
	{ "peak_resident_mib", "measured", true },
	{ "predicted_over_measured", "predicted / measured", true },
	{ "peak_anonymous_mib", "anonymous", true },
	{ "mapped_mib", "mapped, at least", true },
	{ "peak_pss_mib", "proportional", true },
	{ "device_memory_mib", "on the device", true },
	{ "leak_mib_per_cycle", "left behind a cycle", true },
	{ "marks", "", false },
};

static const char *leak_words(struct arena *a, const struct row *r)
{
	bool certain = r->leak_low_mib > 0;

	if (isnan(r->leak_mib_per_cycle) || isnan(r->leak_low_mib) || isnan(r->leak_high_mib))
		return NULL;
	return arena_printf(a, "%.3f to %.3f MiB (95\u00a0%%)%s%s", r->leak_low_mib, r->leak_high_mib,
		r->cycles > 0 ? arena_printf(a, ", %lld cycles", (long long)r->cycles) : "",
		certain ? ": it grows" : ": no growth found");
}

void summary_gather_memory(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "memory", "Memory, predicted and measured",
		"Measured: the high-water mark of the resident set of the child process, as the kernel keeps it: anonymous "
		"memory, mapped weights and libraries. "
		"Predicted: the same figure, before anything was loaded. Anonymous is a peak too, sampled at 100 Hz; the two may "
		"be of different moments, so their difference is the least that was mapped. Proportional: the largest at the end "
		"of a phase.",
		columns, sizeof columns / sizeof *columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		const struct row *r = &c->row;
		if (c->is_running || (isnan(row_peak_mib(r)) && isnan(r->predicted_mib) && isnan(r->leak_mib_per_cycle)))
			continue;
		struct report_value *v = section_row(s);
		v[0] = value_noted(value_text(report_model_name(r->model)), report_line_words(a, &out->lines[c->line]));
		v[1] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[2] = value_mib(a, r->predicted_mib);
		v[3] = isnan(r->peak_resident_mib) ? value_text(r->attempts == 0  ? "not tried"
								     : c->is_good ? NULL
										  : report_verdict_word(c))
						   : value_mib(a, r->peak_resident_mib);
		v[4] = value_real(
			report_ratio(a, r), report_ratio(a, r) != NULL ? r->predicted_mib / r->peak_resident_mib : (double)NAN);
		v[5] = value_mib(a, r->peak_anonymous_mib);
		if (!isnan(r->peak_resident_mib) && !isnan(r->peak_anonymous_mib))
			v[6] = value_mib(a, fmax(0, r->peak_resident_mib - r->peak_anonymous_mib));
		v[7] = value_mib(a, r->peak_pss_mib);
		v[8] = value_mib(a, r->device_memory_mib);
		if (!isnan(r->leak_mib_per_cycle)) {
			v[9] = value_noted(value_real(arena_printf(a, "%.3f MiB", r->leak_mib_per_cycle), r->leak_mib_per_cycle),
				leak_words(a, r));
			if (r->leak_low_mib > 0)
				v[9] = value_flagged(v[9]);
		}
		v[10] = value_text(r->peak_resident_mib > 0 && r->predicted_mib < r->peak_resident_mib * 0.9
				? "predicted too little"
				: NULL);
	}
}
