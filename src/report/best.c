// SPDX-License-Identifier: Apache-2.0
// Best hardware by model and by architecture: for latency, throughput, memory, and cost where prices are given. A figure is held
// against cpu's answer to the same question; where it has no interval, the words beside it say why nothing is claimed.
#include <math.h>

#include "report/gather.h"

static const struct report_cell *at(const struct summary *s, const struct report_line *l, size_t column)
{
	return l->cell[column] != 0 ? &s->cells[l->cell[column] - 1] : NULL;
}

static const struct report_cell *cpu_of(const struct summary *s, const struct report_line *l)
{
	for (size_t k = 0; k < s->column_count; k++) {
		const struct report_cell *c = at(s, l, k);

		if (c != NULL && report_is_cpu(c))
			return c;
	}
	return NULL;
}

// Model, variant, the best and the figure; for latency the others within reach are named.
static void model_words(struct report_value *v, const struct report_line *l)
{
	v[0] = value_text(l->name);
	v[1] = value_noted(value_text(l->variant), l->warning);
}

// A figure that a cell's times gave, with its note, and marked where they are unstable.
static struct report_value timed_by(const struct report_cell *c, struct report_value v, const char *note, struct arena *a)
{
	if (!report_is_unstable(c))
		return value_noted(v, note);
	return value_flagged(value_noted(v, note != NULL ? arena_printf(a, "%s, unstable", note) : "unstable"));
}

// ---- latency -----------------------------------------------------------------------------------------------------

static const struct report_column latency_columns[] = {
	{ "model", "model", false },
	{ "variant", "asked", false },
	{ "best", "best", false },
	{ "latency_ms", "median", true },
	{ "times_cpu", "against cpu", true },
	{ "interval", "how sure", false },
};

static void best_latency(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "best_latency", "Best hardware for latency",
		"Lowest median of its line (of several processes, the median of theirs), unless a comparison of several "
		"processes says that another is faster. Against cpu: "
		"cpu's time over this one's, with the 99\u00a0% interval "
		"of a bootstrap over processes; rows are not taken in alternation unless it says so, so assay ab is surer. Fewer "
		"than 6 processes a side claim nothing.",
		latency_columns, sizeof latency_columns / sizeof *latency_columns, out->line_count);

	for (size_t i = 0; i < out->line_count; i++) {
		const struct report_line *l = &out->lines[i];
		const struct report_cell *best = l->best;
		const char **near = ARENA_ARRAY(a, out->column_count + 1, const char *),
			   **untold = ARENA_ARRAY(a, out->column_count + 1, const char *), *note = NULL;
		size_t timed = 0, near_count = 0, untold_count = 0;
		const char *instead = NULL;
		if (best == NULL)
			continue;
		for (size_t k = 0; k < out->column_count; k++) {
			const struct report_cell *c = at(out, l, k);
			timed += c != NULL && report_is_ranked(c);
			if (c != NULL && c->fallback != NULL && c->fallback->answer != NULL &&
				c->fallback->answer->row.latency_ms > 0)
				instead = arena_join(a, instead, "; ",
					arena_printf(a, "%s in place of %s, row %lld", c->fallback->got, c->platform,
						(long long)c->fallback->answer->row.row));
			if (c != NULL && c != best && c->is_near_fastest)
				near[near_count++] = report_qualified(a, c->platform, c->own_qualifiers);
			if (c != NULL && c != best && c->is_untold)
				untold[untold_count++] = report_qualified(a, c->platform, c->own_qualifiers);
		}
		if (timed == 1)
			note = instead != NULL ? arena_printf(a, "timed besides: %s", instead) : "the only one that was timed";
		if (near_count > 0)
			note = arena_printf(a, "too near to tell apart: %s", report_join(a, near, near_count, "and"));
		if (untold_count > 0)
			note = arena_printf(a, "%s%sno claim against %s: one of the two is unstable", note != NULL ? note : "",
				note != NULL ? "; " : "", report_join(a, untold, untold_count, "and"));
		struct report_value *v = section_row(s);
		model_words(v, l);
		v[2] = value_noted(value_text(report_qualified(a, best->platform, best->own_qualifiers)), note);
		v[3] = value_noted(value_ms(a, best->typical.ms), report_typical_spread(a, best));
		if (report_is_unstable(best))
			v[3] = value_flagged(v[3]);
		v[4] = value_times(a, best->against_cpu.times);
		v[5] = value_text(report_speed_words(a, &best->against_cpu));
	}
}

// ---- throughput --------------------------------------------------------------------------------------------------

static const struct report_column throughput_columns[] = {
	{ "model", "model", false },
	{ "variant", "asked", false },
	{ "best", "best", false },
	{ "per_s", "per second", true },
	{ "cpu_per_s", "best of cpu", true },
	{ "times_cpu", "against cpu", true },
	{ "interval", "how sure", false },
};

// Whatever batch, threads and precision give the most: of right answers only.
static void best_throughput(struct summary *out, struct arena *a)
{
	const unsigned but = BUT_PLATFORM | BUT_BATCH | BUT_THREADS | BUT_PRECISION;
	struct report_section *s = section_add(out, a, "best_throughput", "Best hardware for throughput",
		"Samples/s by the median of the runs (of generation: tokens/s), over every batch, number of threads and "
		"precision that was "
		"measured and found right.",
		throughput_columns, sizeof throughput_columns / sizeof *throughput_columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *first = &out->cells[i], *best = NULL, *cpu = NULL;
		bool seen = false;
		if (!report_is_ranked(first) || isnan(report_per_s(first)))
			continue;
		for (size_t k = 0; k < out->cell_count; k++) {
			const struct report_cell *c = &out->cells[k];
			if (!report_is_ranked(c) || isnan(report_per_s(c)) || !report_alike(first, c, but))
				continue;
			seen = seen || k < i;
			best = best == NULL || report_per_s(c) > report_per_s(best) ? c : best;
			if (report_is_cpu(c) && (cpu == NULL || report_per_s(c) > report_per_s(cpu)))
				cpu = c;
		}
		if (seen || best == NULL)
			continue;
		struct report_value *v = section_row(s);
		double per_s = report_per_s(best), cpu_per_s = cpu != NULL ? report_per_s(cpu) : (double)NAN;
		model_words(v, &out->lines[best->line]);
		v[2] = value_text(report_qualified(a, best->platform, best->own_qualifiers));
		v[3] = timed_by(best, value_per_s(a, per_s), NULL, a);
		v[4] = cpu != NULL
			? timed_by(cpu, value_per_s(a, cpu_per_s),
				  report_qualified(a, report_line_words(a, &out->lines[cpu->line]), cpu->own_qualifiers), a)
			: value_text(NULL);
		if (cpu == NULL || cpu == best)
			continue;
		v[5] = value_times(a, per_s / cpu_per_s);
		v[6] = value_text("different batches: a ratio of two rows, no claim");
		if (best->row.batch == cpu->row.batch) {
			struct report_speed speed = report_speed_against(out, best, cpu, a);
			v[6] = value_text(report_speed_words(a, &speed));
		}
	}
}

// ---- memory ------------------------------------------------------------------------------------------------------

static const struct report_column memory_columns[] = {
	{ "model", "model", false },
	{ "variant", "asked", false },
	{ "least", "least", false },
	{ "peak_mib", "peak", true },
	{ "cpu_peak_mib", "cpu's peak", true },
	{ "of_cpu", "of cpu's", true },
};

static void best_memory(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "best_memory", "Best hardware for memory",
		"Lowest peak of the child process, mapped weights included, of good answers; with a browser the largest "
		"proportional set size at the end of a phase. One figure a row: it has no interval.",
		memory_columns, sizeof memory_columns / sizeof *memory_columns, out->line_count);

	for (size_t i = 0; i < out->line_count; i++) {
		const struct report_line *l = &out->lines[i];
		const struct report_cell *best = NULL, *cpu = cpu_of(out, l);
		size_t measured = 0;
		for (size_t k = 0; k < out->column_count; k++) {
			const struct report_cell *c = at(out, l, k);
			if (c == NULL || !report_is_ranked(c) || !(row_peak_mib(&c->row) > 0))
				continue;
			measured++;
			best = best == NULL || row_peak_mib(&c->row) < row_peak_mib(&best->row) ? c : best;
		}
		if (measured < 2)
			continue;
		double peak = row_peak_mib(&best->row),
		       cpu_peak = cpu != NULL && cpu->is_good && report_same_length(best, cpu) ? row_peak_mib(&cpu->row)
											       : (double)NAN;
		struct report_value *v = section_row(s);
		model_words(v, l);
		v[2] = value_text(report_qualified(a, best->platform, best->own_qualifiers));
		v[3] = value_mib(a, peak);
		v[4] = value_mib(a, cpu_peak);
		v[5] = best != cpu ? value_times(a, peak / cpu_peak) : value_text(NULL);
	}
}

// ---- cost --------------------------------------------------------------------------------------------------------

static const struct report_column cost_columns[] = {
	{ "model", "model", false },
	{ "variant", "asked", false },
	{ "platform", "on", false },
	{ "per_million", "a million inferences", true },
	{ "of_cpu", "of cpu's", true },
	{ "cheapest", "", false },
};

static double cost_of(const struct summary *s, const struct report_cell *c)
{
	return report_cost(s, c) * report_slower(c);
}

static void best_cost(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "best_cost", "Cost",
		"Price of an hour over inferences (of generation: tokens) in an hour, with the machine busy all the time; prices "
		"are those that were typed: "
		"nothing else is counted.",
		cost_columns, sizeof cost_columns / sizeof *cost_columns, out->cell_count);

	for (size_t i = 0; i < out->line_count && out->options.price_count > 0; i++) {
		const struct report_cell *best = NULL, *cpu = cpu_of(out, &out->lines[i]);
		for (size_t pass = 0; pass < 2; pass++) {
			for (size_t k = 0; k < out->column_count; k++) {
				const struct report_cell *c = at(out, &out->lines[i], k);
				double cost = c != NULL && report_is_ranked(c) ? cost_of(out, c) : (double)NAN;
				if (!(cost >= 0))
					continue;
				if (pass == 0) {
					best = best == NULL || cost < cost_of(out, best) ? c : best;
					continue;
				}
				struct report_value *v = section_row(s);
				model_words(v, &out->lines[i]);
				v[2] = value_text(report_qualified(a, c->platform, c->own_qualifiers));
				v[3] = timed_by(c,
					value_real(arena_printf(a, "%.3g%s%s", cost, *out->options.currency ? " " : "",
							   out->options.currency),
						cost),
					c->row.new_tokens != ROW_NONE ? "a million tokens" : NULL, a);
				v[4] = cpu != NULL && cpu != c && report_is_ranked(cpu) && report_same_length(c, cpu)
					? value_times(a, cost / cost_of(out, cpu))
					: value_text(NULL);
				v[5] = value_text(c != best             ? NULL
						: report_is_unstable(c) ? "cheapest, by an unstable time"
									: "cheapest");
			}
		}
	}
}

// ---- by architecture ---------------------------------------------------------------------------------------------

static const struct report_column architecture_columns[] = {
	{ "architecture", "architecture", false },
	{ "platform", "on", false },
	{ "times_cpu", "against cpu", true },
	{ "lowest", "lowest", true },
	{ "highest", "highest", true },
	{ "lines", "questions", true },
	{ "claim", "how sure", false },
	{ "best", "", false },
};

struct sum {
	double logs, low, high;
	size_t lines, claimed, slower;
	const char *qualifiers;
};

static struct sum sum_of(const struct summary *s, const char *architecture, const char *platform, struct arena *a)
{
	const struct report_cell **cells = ARENA_ARRAY(a, s->cell_count + 1, const struct report_cell *);
	struct sum x = { .low = INFINITY };

	for (size_t i = 0; i < s->cell_count; i++) {
		const struct report_cell *c = &s->cells[i];
		double times = c->against_cpu.times;
		if (!text_is(c->platform, platform) || !text_is(s->lines[c->line].architecture, architecture) || !(times > 0))
			continue;
		x.logs += log(times);
		x.low = fmin(x.low, times);
		x.high = fmax(x.high, times);
		cells[x.lines++] = c;
		x.claimed += text_is(c->against_cpu.claim, "faster") || text_is(c->against_cpu.claim, "slower");
		x.slower += text_is(c->against_cpu.claim, "slower");
	}
	x.qualifiers = report_qualifiers(a, cells, x.lines);
	return x;
}

static void best_architecture(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "best_by_architecture", "Best hardware by architecture",
		"Against cpu: the geometric mean, over the questions that both answered, of cpu's time over this one's. "
		"It mixes different models; lowest and highest show by how much they differ. cpu itself is 1.",
		architecture_columns, sizeof architecture_columns / sizeof *architecture_columns,
		out->line_count * (out->column_count + 1));

	for (size_t i = 0; i < out->line_count; i++) {
		const char *architecture = out->lines[i].architecture;
		bool seen = architecture == NULL;
		double most = 1;
		for (size_t k = 0; k < i; k++)
			seen = seen || text_is(out->lines[k].architecture, architecture);
		for (size_t k = 0; k < out->column_count && !seen; k++) {
			struct sum x = sum_of(out, architecture, out->columns[k], a);
			most = x.lines > 0 ? fmax(most, exp(x.logs / (double)x.lines)) : most;
		}
		for (size_t k = 0; k < out->column_count && !seen; k++) {
			struct sum x = sum_of(out, architecture, out->columns[k], a);
			if (x.lines == 0)
				continue;
			struct report_value *v = section_row(s);
			double mean = exp(x.logs / (double)x.lines);
			v[0] = value_text(architecture);
			v[1] = value_text(out->columns[k]);
			v[2] = value_times(a, mean);
			v[3] = value_times(a, x.low);
			v[4] = value_times(a, x.high);
			v[5] = value_noted(value_count(a, (int64_t)x.lines), x.qualifiers);
			v[6] = value_text(x.claimed > 0 ? arena_printf(a, "%zu of %zu differ from cpu with 99\u00a0%% confidence",
								  x.claimed, x.lines)
							: "no claim: too few processes, or too near");
			v[7] = value_text(mean < 1 ? x.slower > 0 ? "cpu takes less" : NULL : mean == most ? "lowest" : NULL);
		}
	}
}

void summary_gather_best(struct summary *out, struct arena *a)
{
	best_latency(out, a);
	best_architecture(out, a);
	best_throughput(out, a);
	best_memory(out, a);
	best_cost(out, a);
}
