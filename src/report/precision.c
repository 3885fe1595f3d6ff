// SPDX-License-Identifier: Apache-2.0
// Precision as an axis: slower or faster than float32 on the same platform, how wrong, how much memory. What is slower than
// float32 is marked (a smaller number is no reason to be quicker), where enough processes say so; a ratio of two rows is no such
// claim.
#include <math.h>

#include "onnx/precision.h"
#include "report/gather.h"

static const struct report_column columns[] = {
	{ "model", "model", false },
	{ "platform", "on", false },
	{ "precision", "precision", false },
	{ "verdict", "verdict", false },
	{ "latency_ms", "median", true },
	{ "times_float32", "against float32", true },
	{ "interval", "how sure", false },
	{ "flag", "", false },
	{ "cosine", "cosine", true },
	{ "max_abs_error", "largest error", true },
	{ "top1_agreement", "same argmax", true },
	{ "token_agreement", "same tokens", true },
	{ "perplexity", "perplexity", true },
	{ "peak_of_float32", "memory of float32's", true },
};

static bool is_reduced(const struct report_cell *c)
{
	enum precision p = precision_find(c->row.precision);

	return p != PRECISION_STORED && p != PRECISION_FLOAT32 && p != PRECISION_COUNT;
}

// Of the same question in float32, else as it is stored, whose arithmetic is float32's.
static const struct report_cell *float32_of(const struct summary *s, const struct report_cell *c)
{
	const struct report_cell *found = NULL;

	for (size_t i = 0; i < s->cell_count; i++) {
		const struct report_cell *o = &s->cells[i];
		enum precision p = precision_find(o->row.precision);
		if ((p != PRECISION_STORED && p != PRECISION_FLOAT32) || !o->is_good || !report_alike(c, o, BUT_PRECISION))
			continue;
		if (found == NULL || p == PRECISION_FLOAT32)
			found = o;
	}
	return found;
}

static struct report_value percent(struct arena *a, double share)
{
	return value_real(arena_printf(a, "%.1f\u00a0%%", 100 * share), share);
}

void summary_gather_precision(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "precision", "Precision: slower or faster, and how wrong",
		"Each reduced precision against float32 of the same question on the same platform. "
		"Errors are against the row's reference. SLOWER THAN FLOAT32 is said where 6 processes a side and a 99\u00a0% "
		"interval say so; what is missing for a claim stands beside the ratio.",
		columns, sizeof columns / sizeof *columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i], *base;
		const struct row *r = &c->row;
		if (!is_reduced(c) || c->is_running || c->row.pipeline_asked != NULL)
			continue;
		base = float32_of(out, c);
		struct report_speed speed = report_speed_against(out, c, base, a);
		struct report_value *v = section_row(s);
		v[0] = value_noted(value_text(report_model_name(r->model)), report_line_words(a, &out->lines[c->line]));
		v[1] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[2] = value_noted(value_text(r->precision),
			r->precision_by != NULL ? arena_printf(a, "made by the %s", r->precision_by) : NULL);
		v[3] = value_noted(value_text(report_verdict_word(c)), c->cause);
		v[4] = value_noted(value_ms(a, r->latency_ms), report_spread(a, r));
		if (!isnan(speed.times))
			v[5] = value_times(a, speed.times);
		v[6] = value_text(isnan(r->latency_ms) ? NULL
				: base == NULL         ? "no float32 row of this question"
						       : report_speed_words(a, &speed));
		if (text_is(speed.claim, "slower"))
			v[7] = value_flagged(value_text("SLOWER THAN FLOAT32"));
		v[8] = value_real(arena_printf(a, "%.7g", r->cosine), r->cosine);
		v[9] = value_real(report_error(a, r->max_abs_error), r->max_abs_error);
		v[10] = percent(a, r->top1_agreement);
		v[11] = percent(a, r->token_agreement);
		v[12] = value_noted(value_real(arena_printf(a, "%.4g", r->perplexity), r->perplexity),
			isnan(r->perplexity_float32) ? NULL
						     : arena_printf(a, "reference: %.4g; %s tokens", r->perplexity_float32,
							       text_is(r->reference, "golden") ? "given" : "random"));
		double share = base != NULL ? row_peak_mib(r) / row_peak_mib(&base->row) : (double)NAN;
		v[13] = value_times(a, share);
	}
}
