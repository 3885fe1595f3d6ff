// SPDX-License-Identifier: Apache-2.0
// What to know before a number is quoted.
#include <math.h>
#include <string.h>

#include "report/gather.h"

void summary_gather_notes(struct summary *out, struct arena *a)
{
	size_t shortened = 0, emulated = 0, unstable = 0, shared_graph = 0, unjudged = 0, split = 0, unknown = 0, timed = 0,
	       foreign = 0, predicted = 0, not_valid = 0;
	const char **n = out->notes = ARENA_ARRAY(a, 24, const char *);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct row *r = &out->cells[i].row;
		out->synthetic += text_is(r->weights, "synthetic");
		shortened += r->shortened == 1;
		emulated += r->emulated == 1;
		foreign += r->source != NULL;
		not_valid += out->cells[i].is_not_valid;
		predicted += r->attempts == 0 && !isnan(r->predicted_mib);
		if (!verdict_ran(out->cells[i].verdict))
			continue;
		timed++;
		unstable += report_is_unstable(&out->cells[i]);
		shared_graph += out->cells[i].agreement != NULL && !text_is(r->reference, "golden");
		unjudged += out->cells[i].verdict == VERDICT_UNJUDGED;
		unknown += r->nodes_on_platform == ROW_NONE;
		split += r->nodes_on_platform != ROW_NONE && r->nodes != ROW_NONE &&
			r->nodes_on_platform + (r->nodes_fused == ROW_NONE ? 0 : r->nodes_fused) < r->nodes;
	}
#define NOTE(count, ...) \
	if ((count) > 0) \
	n[out->note_count++] = arena_printf(a, __VA_ARGS__)
	NOTE(out->left_out,
		"%zu rows are left out: they hold what this assay does not know or has no room for, as it said when it made this "
		"report.",
		out->left_out);
	NOTE(out->questions - (int64_t)out->cell_count - (int64_t)out->left_out,
		"The database has answers to %lld questions; this report has the newest %zu, and nothing below speaks of the "
		"others.",
		(long long)out->questions, out->cell_count);
	NOTE(out->synthetic,
		"%zu of %zu cells ran, or would run, with synthetic weights: seeded random numbers of the right shapes. Their "
		"times and memory are those of the architecture; their outputs mean nothing.",
		out->synthetic, out->cell_count);
	NOTE(shortened, "%zu of %zu cells have fewer layers than the model: their times and memory are not the model's.",
		shortened, out->cell_count);
	NOTE(emulated,
		"%zu of %zu cells were asked of an emulated device, a software stand-in: their times say nothing about the "
		"hardware.",
		emulated, out->cell_count);
	NOTE(not_valid,
		"%zu of %zu cells are scenarios that are NOT VALID: the rule by which such a scenario may claim a figure did not "
		"hold. They are ranked nowhere.",
		not_valid, out->cell_count);
	NOTE(foreign,
		"%zu of %zu cells were measured by another tool and imported, not by assay: each stands in a line of its own and "
		"has no place among the fastest.",
		foreign, out->cell_count);
	NOTE(out->imported_count,
		"%zu of %zu cells were imported from other databases of assay: they are what those files say, measured on the "
		"machines that they name; they stand in lines of their own.",
		out->imported_count, out->cell_count);
	NOTE(predicted, "%zu of %zu cells were not tried: that they do not fit is a prediction.", predicted, out->cell_count);
	NOTE(shared_graph,
		"%zu of %zu cells that ran were judged against another engine that was given the same graph (\"engines agree\"); "
		"only \"agrees with transformers' outputs\" compares with the original implementation.",
		shared_graph, timed);
	NOTE(unjudged, "%zu of %zu cells that ran had nothing to be compared with (unjudged).", unjudged, timed);
	NOTE(unstable,
		"%zu of %zu cells that ran had unstable times: their runs drifted, scattered or had outliers; each row says "
		"which, with the limit.",
		unstable, timed);
	NOTE(split, "In %zu of %zu cells that ran, some nodes ran elsewhere than on the platform that was asked for.", split,
		timed);
	NOTE(unknown, "In %zu of %zu cells that ran it is not known where every node ran.", unknown, timed);
	NOTE(out->counts.running, "%zu cell%s still running, or waiting for the program that started %s.", out->counts.running,
		out->counts.running == 1 ? " is" : "s are", out->counts.running == 1 ? "it" : "them");
	NOTE(out->own_machine_count > 1 ? out->own_machine_count : 0,
		"The rows come from %zu machines; cells of different machines are in different lines.", out->own_machine_count);
	for (size_t i = 0; i < out->section_count; i++) {
		const struct report_section *t = out->sections[i];
		size_t flagged = 0;
		for (size_t k = 0; k < t->row_count * t->column_count; k++)
			flagged += text_is(t->values[k].text, "SLOWER THAN FLOAT32");
		NOTE(flagged, "%zu reduced precision%s slower than float32 here.", flagged, flagged == 1 ? " is" : "s are");
	}
#undef NOTE
	out->methods = ARENA_ARRAY(a, out->cell_count + 1, const char *);
	for (size_t i = 0; i < out->cell_count; i++) {
		const char *m = out->cells[i].row.memory_sampling;
		const char *limit = m ? strstr(m, "; limit by ") : NULL; // of each cell its own: the row has it
		size_t k = 0;
		if (limit)
			m = arena_strndup(a, m, (size_t)(limit - m));
		while (m != NULL && k < out->method_count && !text_is(out->methods[k], m))
			k++;
		if (m != NULL && k == out->method_count)
			out->methods[out->method_count++] = m;
	}
}
