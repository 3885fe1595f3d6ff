// SPDX-License-Identifier: Apache-2.0
// The metric of a task over a set of examples (--data), beside float32's on the same.
#include <math.h>

#include "report/gather.h"

static const struct report_column columns[] = {
	{ "model", "model", false },
	{ "platform", "on", false },
	{ "verdict", "verdict", false },
	{ "data", "examples from", false },
	{ "examples", "examples", true },
	{ "metric", "metric", false },
	{ "value", "here", true },
	{ "low", "95 % interval from", true },
	{ "high", "to", true },
	{ "reference", "float32", true },
	{ "unlike", "answered otherwise", true },
	{ "worse", "worse", true },
	{ "better", "better", true },
};

static struct report_value figure(struct arena *a, double x)
{
	return isnan(x) ? (struct report_value){ 0 } : value_real(arena_printf(a, "%.5g", x), x);
}

void summary_gather_accuracy(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "accuracy", "Accuracy on data",
		"The metric of the task over the examples of --data, beside that of float32 on the same examples. Worse and "
		"better are "
		"examples whose own score is below or above float32's; more of the first than chance allows (exact sign test, p "
		"< "
		"0.05) is wrong, of a reduced precision lossy.",
		columns, sizeof columns / sizeof *columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		const struct row *r = &c->row;

		if (r->data_metric == NULL || c->is_running || c->is_foreign)
			continue;
		struct report_value *v = section_row(s);
		v[0] = value_noted(value_text(report_model_name(r->model)), report_line_words(a, &out->lines[c->line]));
		v[1] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[2] = value_noted(value_text(report_verdict_word(c)), c->cause);
		v[3] = value_text(r->data);
		v[4] = value_count(a, r->data_examples);
		v[5] = value_noted(value_text(r->data_metric), r->data_note);
		v[6] = figure(a, r->data_value);
		v[7] = figure(a, r->data_low);
		v[8] = figure(a, r->data_high);
		v[9] = value_noted(figure(a, r->data_reference), r->data_reference_by);
		v[10] = value_count(a, r->data_unlike);
		v[11] = value_count(a, r->data_worse);
		v[12] = value_count(a, r->data_better);
	}
}
