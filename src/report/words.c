// SPDX-License-Identifier: Apache-2.0
// Numbers and verdicts as words. Three significant digits, always with the unit; a value that is absent has no text.
#include <math.h>
#include <string.h>

#include "question/standing.h"
#include "report/gather.h"

static const char *three_digits(struct arena *a, double x, const char *unit)
{
	return arena_printf(a, "%.*f %s", fabs(x) >= 99.95 ? 0 : fabs(x) >= 9.995 ? 1 : 2, x, unit);
}

const char *report_ms(struct arena *a, double ms)
{
	if (isnan(ms))
		return NULL;
	if (ms < 0.9995) // halves go up, as where milliseconds are shown
		return three_digits(a, ms >= 0.09995 ? round(ms * 1e3) : ms * 1e3, "µs");
	return ms >= 999.5 ? three_digits(a, ms / 1e3, "s") : three_digits(a, ms, "ms");
}

const char *report_mib(struct arena *a, double mib)
{
	if (isnan(mib))
		return NULL;
	return mib >= 1023.5 ? three_digits(a, mib / 1024, "GiB") : three_digits(a, mib, "MiB");
}

const char *report_bytes(struct arena *a, int64_t nbytes)
{
	if (nbytes == ROW_NONE || nbytes <= 0)
		return NULL;
	if (nbytes < 1 << 20)
		return three_digits(a, (double)nbytes / 1024, "KiB");
	return report_mib(a, (double)nbytes / 1048576);
}

const char *report_times(struct arena *a, double times)
{
	return isnan(times) ? NULL : arena_printf(a, "%.*f×", times >= 9.95 ? 0 : times >= 0.995 ? 1 : 2, times);
}

const char *report_error(struct arena *a, double error)
{
	return isnan(error) ? NULL : arena_printf(a, "%.2g", error);
}

void report_add_once(const char **list, size_t *count, const char *item)
{
	for (size_t i = 0; i < *count; i++)
		if (text_is(list[i], item))
			return;
	list[(*count)++] = item;
}

const char *report_join(struct arena *a, const char *const *items, size_t count, const char *last)
{
	struct text out = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (i > 0 && i + 1 == count && *last != '\0')
			text_addf(&out, " %s ", last);
		else if (i > 0)
			text_add(&out, ", ");
		text_add(&out, items[i]);
	}
	const char *joined = arena_strdup(a, text_get(&out));
	text_done(&out);
	return joined;
}

const char *report_ratio(struct arena *a, const struct row *r)
{
	return isnan(r->predicted_mib) || !(r->peak_resident_mib > 0)
		? NULL
		: arena_printf(a, "%.2f", r->predicted_mib / r->peak_resident_mib);
}

const char *report_latency(struct arena *a, const struct row *r)
{
	const char *low = report_ms(a, r->latency_min_ms), *high = report_ms(a, r->latency_max_ms),
		   *out = report_ms(a, r->latency_ms);

	if (out == NULL)
		return NULL;
	if (low != NULL && high != NULL)
		out = arena_printf(a, "%s (fastest %s, slowest %s)", out, low, high);
	return out;
}

const char *report_spread(struct arena *a, const struct row *r)
{
	const char *least = report_ms(a, r->latency_min_ms), *most = report_ms(a, r->latency_max_ms),
		   *low = report_ms(a, r->latency_low_ms), *high = report_ms(a, r->latency_high_ms);
	const char *out =
		r->samples != ROW_NONE ? arena_printf(a, "%lld run%s", (long long)r->samples, r->samples == 1 ? "" : "s") : NULL;

	if (least != NULL && most != NULL)
		out = arena_printf(a, "%s%s%s to %s", out ? out : "", out ? ", " : "", least, most);
	if (low != NULL && high != NULL)
		out = arena_printf(a, "%s%smedian within %s to %s (95 %%)", out ? out : "", out ? ", " : "", low, high);
	if (text_is(r->stability, "unstable"))
		out = arena_printf(a, "%s%sunstable", out ? out : "", out ? ", " : "");
	return out;
}

double report_cost(const struct summary *s, const struct report_cell *c)
{
	for (size_t i = 0; i < s->options.price_count; i++)
		if (text_is(s->options.prices[i].platform, c->platform) ||
			text_is(s->options.prices[i].platform, c->row.requested))
			return s->options.prices[i].per_hour / 3600 / row_per_s(&c->row) * 1e6;
	return (double)NAN;
}

const char *report_line_words(struct arena *a, const struct report_line *l)
{
	return arena_join(a, *l->variant != '\0' ? l->variant : NULL, "; ", l->warning);
}

const char *report_run_command(struct arena *a, const struct report_run *r)
{
	return arena_printf(a, "%s%s", r->command != NULL ? r->command : "(not known)", r->is_imported ? "  # imported" : "");
}

const char *report_machine_line(struct arena *a, const struct report_machine *m)
{
	const char *out = m->cpu_model != NULL ? m->cpu_model : "processor of unknown model",
		   *memory = report_bytes(a, m->memory_bytes);

	if (m->usable_cpus > 0 && m->threads > 0)
		out = m->usable_cpus == m->threads ? arena_printf(a, "%s, %lld threads", out, (long long)m->threads)
						   : arena_printf(a, "%s, %lld of %lld threads usable", out,
							     (long long)m->usable_cpus, (long long)m->threads);
	if (memory != NULL)
		out = arena_printf(a, "%s, %s of memory", out, memory);
	if (m->memory_limit_bytes > 0)
		out = arena_printf(a, "%s (limit %s)", out, report_bytes(a, m->memory_limit_bytes));
	out = arena_join(a, out, ", ", m->os);
	return m->is_imported ? arena_printf(a, "%s (imported)", out) : out;
}

const char *report_machines_line(struct arena *a, const struct summary *s)
{
	const size_t more = s->own_machine_count - 1;
	const char *first = s->own_machine_count > 0 ? report_machine_line(a, &s->machines[0]) : NULL;

	return first != NULL && more > 0 ? arena_printf(a, "%s, and %zu more machine%s", first, more, more > 1 ? "s" : "")
					 : first;
}

const char *report_software(const struct row *r)
{
	return row_qualifiers(NULL, r, QUALIFY_DEVICE);
}

const char *report_qualified(struct arena *a, const char *name, const char *qualifiers)
{
	return qualifiers != NULL ? arena_printf(a, "%s (%s)", name, qualifiers) : name;
}

const char *report_qualifiers(struct arena *a, const struct report_cell *const *cells, size_t count)
{
	const char **words = ARENA_ARRAY(a, count + 1, const char *);

	for (size_t i = 0; i < count; i++)
		words[i] = cells[i]->qualifiers;
	return qualifiers_of_all(a, words, count);
}

const char *report_engine_name(const char *engine)
{
	return text_is(engine, "ort") ? "ONNX Runtime" : text_is(engine, "openvino") ? "OpenVINO" : engine;
}

const char *report_placement(struct arena *a, const struct row *r)
{
	if (r->nodes_on_platform == ROW_NONE)
		return r->placement_note != NULL ? arena_printf(a, "not known: %s", r->placement_note) : NULL;
	const char *out = arena_printf(a, "%lld", (long long)r->nodes_on_platform);
	if (r->nodes != ROW_NONE)
		out = arena_printf(a, "%s of %lld", out, (long long)r->nodes);
	out = arena_printf(a, "%s nodes on the platform", out);
	return r->nodes_fused != ROW_NONE && r->nodes_fused > 0
		? arena_printf(a, "%s, %lld more fused away", out, (long long)r->nodes_fused)
		: out;
}

const char *report_command(struct arena *a, const struct report_cell *c)
{
	return question_command(a, &c->question, &c->row);
}

// Right, and of no worth as the scenario that it was asked as.
static bool is_invalid_answer(const struct report_cell *c)
{
	return c->is_good && c->is_not_valid;
}

const char *report_verdict_mark(const struct report_cell *c)
{
	static const char *const marks[VERDICT_COUNT] = {
		[VERDICT_RIGHT] = "✓",
		[VERDICT_WRONG] = "✗",
		[VERDICT_UNJUDGED] = "○",
		[VERDICT_FELL_BACK] = "↪",
		[VERDICT_COMPILES] = "◇",
		[VERDICT_UNAVAILABLE] = "–",
		[VERDICT_UNSUPPORTED] = "–",
		[VERDICT_NO_MEMORY] = "!",
		[VERDICT_TIMEOUT] = "!",
		[VERDICT_CRASHED] = "!",
		[VERDICT_FAILED] = "!",
		[VERDICT_INTERRUPTED] = "–",
		[VERDICT_NOT_ASKED] = "–",
		[VERDICT_LOSSY] = "≈",
	};

	return c->is_running                        ? "…"
		: c->is_foreign                     ? "○"
		: is_invalid_answer(c)              ? "!"
		: c->is_elsewhere || c->is_stand_in ? "↪"
						    : marks[c->verdict];
}

static const char *word_of(enum verdict v)
{
	return v == VERDICT_NO_MEMORY    ? "not enough memory"
		: v == VERDICT_TIMEOUT   ? "timed out"
		: v == VERDICT_NOT_ASKED ? "not asked"
					 : verdict_word(v);
}

const char *report_verdict_word(const struct report_cell *c)
{
	return c->is_running           ? "running"
		: is_invalid_answer(c) ? "right, NOT VALID"
		: c->is_foreign        ? "imported"
		: c->is_stand_in       ? "stood in"
		: c->is_elsewhere      ? "ran elsewhere"
				       : word_of(c->verdict);
}

const char *report_failure_word(const struct report_failure *f)
{
	return f->is_stand_in                 ? "stood in"
		: f->is_elsewhere             ? "ran elsewhere"
		: f->verdict == VERDICT_LOSSY ? "ran, with a loss beyond what was allowed"
					      : word_of(f->verdict);
}

const char *report_model_name(const char *model)
{
	const char *slash;

	if (model == NULL)
		return "?";
	if (*model != '/' && *model != '.' && *model != '~') // a name of the Hub keeps its owner
		return model;
	slash = strrchr(model, '/');
	if (slash != NULL && text_ends(model, ".onnx")) // every exporter writes model.onnx: its folder is its name
		slash = memrchr(model, '/', (size_t)(slash - model));
	return slash != NULL && slash[1] != '\0' ? slash + 1 : model;
}

// "All 4 models run here", of those that were asked where they could run.
static const char *count_words(const struct summary *s, size_t asked, struct arena *a)
{
	size_t runs = s->models[REPORT_MODEL_RUNS],
	       other = s->models[REPORT_MODEL_IN_PART] + s->models[REPORT_MODEL_NOT_VALID] + s->models[REPORT_MODEL_UNJUDGED];

	if (asked == 1 && runs + other == 0)
		return "The model does not run here";
	if (asked == 1)
		return runs == 1                               ? "The model runs here"
			: s->models[REPORT_MODEL_IN_PART] == 1 ? "Only a part of the model was run here, and runs"
			: s->models[REPORT_MODEL_NOT_VALID] == 1
			? "The model ran here in a scenario that is NOT VALID, and in nothing else"
			: "The model ran here, unjudged";
	if (runs == asked)
		return arena_printf(a, "All %zu models run here", asked);
	if (runs > 0)
		return arena_printf(a, "%zu of %zu models run here", runs, asked);
	return other == 0 ? arena_printf(a, "None of the %zu models runs here", asked)
			  : arena_printf(a, "None of the %zu models was run whole and found right here", asked);
}

static const char *add_count(struct arena *a, const char *out, size_t n, const char *words)
{
	return n > 0 ? arena_printf(a, "%s%s%zu %s", out, *out ? ", " : "", n, words) : out;
}

const char *report_unjudged_words(const struct summary *s, struct arena *a)
{
	const struct report_counts *n = &s->counts;
	const char *out = add_count(a, "", n->of[VERDICT_UNJUDGED], "unjudged (nothing was there to compare the outputs with)");

	out = add_count(a, out, n->of[VERDICT_COMPILES], "compiled and not run");
	out = add_count(a, out, n->imported, "imported from another tool");
	return *out ? out : NULL;
}

const char *report_no_failure_words(const struct summary *s, struct arena *a)
{
	const char *unjudged = report_unjudged_words(s, a);

	if (s->cell_count == 0)
		return "Nothing was asked for.";
	if (s->counts.running > 0 && s->counts.running == s->counts.total)
		return "Nothing has finished yet.";
	if (unjudged == NULL)
		return "Everything that was asked for and has finished ran, and was found right.";
	return arena_printf(a, "Nothing failed and nothing was found wrong, but not everything was found right: %s%s.",
		add_count(a, "", s->counts.good, "right, "), unjudged);
}

static const char *nothing_words(const struct summary *s)
{
	if (s->cell_count == 0)
		return "Nothing has been measured yet";
	return s->models[REPORT_MODEL_UNANSWERED] > 0  ? "Nothing has finished yet"
		: s->models[REPORT_MODEL_COMPILES] > 0 ? "Nothing ran here; what was asked for compiles"
		: s->models[REPORT_MODEL_ABSENT] > 0   ? "No model was asked of a platform that is here"
						       : "Nothing here was computed and measured by assay";
}

const char *report_headline(const struct summary *s, struct arena *a)
{
	const size_t *n = s->models, wrong = s->counts.of[VERDICT_WRONG];
	size_t asked = n[REPORT_MODEL_RUNS] + n[REPORT_MODEL_IN_PART] + n[REPORT_MODEL_NOT_VALID] + n[REPORT_MODEL_UNJUDGED] +
		n[REPORT_MODEL_FAILS];

	if (asked == 0)
		return nothing_words(s);
	const char *out = report_qualified(a, count_words(s, asked, a),
		s->model_words[n[REPORT_MODEL_RUNS] > 0 || asked > 1 ? REPORT_MODEL_RUNS : REPORT_MODEL_IN_PART]);
	if (n[REPORT_MODEL_IN_PART] > 0 && asked > 1)
		out = arena_printf(
			a, "%s, %zu only in part (%s)", out, n[REPORT_MODEL_IN_PART], s->model_words[REPORT_MODEL_IN_PART]);
	if (n[REPORT_MODEL_NOT_VALID] > 0 && asked > 1)
		out = arena_printf(a, "%s, %zu only in a scenario that is NOT VALID", out, n[REPORT_MODEL_NOT_VALID]);
	if (n[REPORT_MODEL_UNJUDGED] > 0 && asked > 1)
		out = arena_printf(a, "%s, %zu ran unjudged", out, n[REPORT_MODEL_UNJUDGED]);
	if (s->counts.elsewhere > 0)
		out = arena_printf(a, "%s, %zu %s elsewhere than asked", out, s->counts.elsewhere,
			s->counts.elsewhere == 1 ? "cell ran" : "cells ran");
	if (wrong > 0)
		out = arena_printf(a, "%s, and %zu %s wrong", out, wrong, wrong == 1 ? "cell is" : "cells are");
	if (n[REPORT_MODEL_ABSENT] > 0)
		out = arena_printf(a, "%s; %zu %s asked only of platforms that are not here", out, n[REPORT_MODEL_ABSENT],
			n[REPORT_MODEL_ABSENT] == 1 ? "was" : "were");
	if (s->imported_count > 0)
		out = arena_printf(a, "%s; %zu of %zu cells were imported", out, s->imported_count, s->cell_count);
	return out;
}
