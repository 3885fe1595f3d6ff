// SPDX-License-Identifier: Apache-2.0
// A cell in four lines, and several cells as a table. What makes a row less than the whole model on hardware (synthetic weights,
// fewer layers, a precision, an emulator), what is unstable and what was only predicted stands in both.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/visible.h"
#include "emit.h"
#include "platform/platform.h"
#include "question/standing.h"
#include "show.h"

enum { LINES = 4, LINE_WIDTH = 110, INDENT = 11 };

// By which engine, where it is not the platform's first, which is taken where it is here, and the label does not name its device.
static const char *engine_words(struct arena *a, const char *label, const struct row *r)
{
	const struct platform *p = r->requested != NULL ? platform_find(r->requested) : NULL;

	if (p == NULL || r->engine == NULL || text_is(r->engine, p->routes[0].engine) || text_is(r->engine, "null") ||
		(r->actual && !text_is(r->actual, r->requested)) || strchr(label, ':') != NULL)
		return "";
	if (r->tried && !text_is(r->tried, r->requested))
		return arena_printf(a, " (tried %s)", r->tried);
	return arena_printf(a, " (by %s)", r->device != NULL ? r->device : r->engine);
}

const char *show_title(struct arena *a, const char *label, const struct row *r)
{
	label = arena_printf(a, "%s%s", label, engine_words(a, label, r));
	const char *emulated = r->emulated == 1 && !strstr(label, "(EMULATED)") ? " (EMULATED)" : "";

	return r->actual && !text_is(r->actual, r->requested) ? arena_printf(a, "%s%s (ran on %s)", label, emulated, r->actual)
							      : arena_printf(a, "%s%s", label, emulated);
}

// ---- why -------------------------------------------------------------------------------------------------------------

// Of a cell that gave outputs: who says so, and what a reduced precision loses.
static void add_judgement(struct text *t, struct arena *a, const struct cell_result *result)
{
	const struct row *r = &result->row;
	const bool is_judged = result->verdict == VERDICT_RIGHT || result->verdict == VERDICT_WRONG;
	const bool is_golden = text_is(r->reference, "golden");

	if (r->graph_verdict && result->verdict == VERDICT_RIGHT)
		text_add(t, "graph and arithmetic are right");
	else if (is_judged && is_golden)
		text_add(t, show_agreement(a, r, result->verdict));
	else if (is_judged && r->reference)
		text_addf(t, "%s with %s", result->verdict == VERDICT_RIGHT ? "agrees" : "does not agree", r->reference);
	else
		text_add(t, verdict_sentence(result->verdict));
	const char *not_judged = is_judged ? row_not_judged(a, r) : NULL;
	if (not_judged != NULL)
		text_addf(t, ", %s", not_judged);
	if (!isnan(r->top1_agreement) && !r->graph_verdict) // else among the loss
		text_addf(t, ", top-1 agrees in %.4g %%", 100 * r->top1_agreement);
	if (r->nodes_elsewhere != ROW_NONE && r->nodes_elsewhere > 0)
		text_addf(t, "; %lld of %lld nodes ran elsewhere", (long long)r->nodes_elsewhere, (long long)r->nodes);
}

const char *show_loss(struct arena *a, const struct row *r)
{
	if (!r->graph_verdict || isnan(r->nmse))
		return NULL;
	const char *top1 = isnan(r->top1_agreement) ? "" : arena_printf(a, ", top-1 agrees in %.4g %%", 100 * r->top1_agreement);

	return arena_printf(a, "NMSE %.2g, cosine %.6g%s, to %s", r->nmse, r->cosine, top1,
		text_is(r->reference, "golden") ? "the golden outputs" : "float32");
}

// ---- figures ---------------------------------------------------------------------------------------------------------

static const char *interval(struct arena *a, const struct row *r)
{
	return isnan(r->latency_low_ms)
		? NULL
		: arena_printf(a, "%s to %s", show_ms(a, r->latency_low_ms), show_ms(a, r->latency_high_ms));
}

static void add_latency(struct text *t, struct arena *a, const struct row *r)
{
	const bool generates = text_is(r->task, "generate");
	const long long samples = r->samples == ROW_NONE ? 0 : (long long)r->samples;
	const char *between = interval(a, r);

	if (isnan(r->latency_ms) && r->emulated == 1 && !isnan(r->first_ms))
		text_add(t,
			"not timed: the device is emulated, and its speed says nothing of the hardware; --runs N or --effort "
			"times it");
	if (isnan(r->latency_ms))
		return;
	if (generates)
		text_addf(t, "prompt of %lld %s ms, then %.4g tokens/s, each ", (long long)r->prompt_tokens,
			show_ms(a, r->prefill_ms), r->tokens_per_s);
	text_add(t, show_qualified(a, arena_printf(a, "%s ms", show_ms(a, r->latency_ms)), r));
	text_addf(t, ", %s%s, ", between ? "95 % interval " : "no interval", between ? between : "");
	if (r->scenario && !generates)
		text_addf(t, "%lld %s", samples, samples == 1 ? "query" : "queries");
	else
		text_addf(t, "%lld %s%s", samples, generates ? "token" : "run", samples == 1 ? "" : "s");
	if (text_is(r->stability, "unstable") && r->stability_why) // the first of its reasons; -v has all
		text_addf(t, ", unstable (%.*s)", (int)strcspn(r->stability_why, ";"), r->stability_why);
	else if (text_is(r->stability, "stable") || text_is(r->stability, "unstable"))
		text_addf(t, ", %s", r->stability);
	else
		text_addf(t, ", stability not known%s%s", r->stability ? ": " : "", r->stability ? r->stability : "");
	if (!isnan(r->throughput_per_s))
		text_addf(t, "; %.4g samples/s", row_median_per_s(r));
}

// Of a browser's processes together no high-water mark of the resident set is known.
static double pss_alone(const struct row *r)
{
	return isnan(r->peak_resident_mib) ? r->peak_pss_mib : (double)NAN;
}

static void add_memory(struct text *t, const struct row *r)
{
	const struct {
		const char *what;
		double mib;
	} parts[] = { { "anonymous at its peak (what --memory limits)", r->peak_anonymous_mib },
		{ "resident (with mapped weights and libraries)", r->peak_resident_mib },
		{ "proportional, the largest at the end of a phase (of all its processes)", pss_alone(r) },
		{ "on the device", r->device_memory_mib } };

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!isnan(parts[i].mib))
			text_addf(t, "%s%.1f MiB %s", t->length ? ", " : "", parts[i].mib, parts[i].what);
	if (!isnan(r->predicted_mib) && isnan(r->peak_resident_mib))
		text_addf(t, "%spredicted %.1f MiB resident, not measured", t->length ? ", " : "", r->predicted_mib);
}

// Of a reduced precision the error of its arithmetic, which is what the bound is for.
static void add_error(struct text *t, struct arena *a, const struct row *r)
{
	const char *loss = show_loss(a, r);
	const bool of_arithmetic = r->arithmetic_verdict && !isnan(r->arithmetic_max_abs_error);
	const double max_abs = of_arithmetic ? r->arithmetic_max_abs_error : r->max_abs_error;
	const double nmse = of_arithmetic ? r->arithmetic_nmse : r->nmse;

	if (isnan(max_abs))
		return;
	text_addf(t, "max abs %.3g", max_abs);
	if (!isnan(nmse))
		text_addf(t, ", NMSE %.2g", nmse);
	if (r->non_finite != ROW_NONE && r->non_finite > 0)
		text_addf(t, ", %lld values are not finite", (long long)r->non_finite);
	if (r->bound) {
		const char *rest = strstr(r->bound, " where "); // from which size on the second counts

		text_addf(t, "; allowed %.*s", (int)(rest ? (size_t)(rest - r->bound) : strlen(r->bound)), r->bound);
	}
	if (loss)
		text_addf(t, "; loss: %s", loss);
}

// ---- four lines ------------------------------------------------------------------------------------------------------

// Words in at most `most` lines; what does not fit is left to -v.
static void wrapped(const char *label, const char *words, int most)
{
	int column = emit("  %-9s", label);
	const char *p = words;

	while (*p) {
		const size_t n = strcspn(p, " ");
		const int reserve = most == 1 ? 9 : 0; // " ... (-v)"

		if (column > INDENT && column + 1 + (int)n + reserve > LINE_WIDTH) {
			if (most == 1 && strlen(p) > n + (size_t)reserve) {
				emit(" ... (-v)");
				break;
			}
			if (most > 1) {
				most--;
				column = emit("\n%*s", INDENT, "") - 1;
			}
		}
		column += emit("%s%.*s", column > INDENT ? " " : "", (int)n, p);
		p += n;
		p += strspn(p, " ");
	}
	emit("\n");
}

void show_brief(const struct cell_result *result, const char *label)
{
	enum { WHY, LATENCY, MEMORY, ERROR, DATA, SHIPPED, SCENARIO, ENERGY, LEAK, TOGETHER, SWITCH, COUNT };
	static const char *const labels[COUNT] = { "", "latency", "memory", "error", "data", "shipped", "scenario", "energy",
		"leak", "together", "switch" };
	const struct row *r = &result->row;
	const bool is_bad = result->verdict != VERDICT_RIGHT;
	struct text t[COUNT] = { 0 }, inputs = { 0 };
	struct arena a = { 0 };
	int left = LINES - 1;

	add_latency(&t[LATENCY], &a, r);
	add_memory(&t[MEMORY], r);
	add_error(&t[ERROR], &a, r);
	show_add_data(&t[DATA], r);
	show_add_shipped(&t[SHIPPED], r);
	show_add_scenario(&t[SCENARIO], r);
	show_add_energy(&t[ENERGY], r);
	show_add_leak(&t[LEAK], r);
	show_add_together(&t[TOGETHER], &a, r);
	show_add_switch(&t[SWITCH], &a, r);
	for (size_t i = LATENCY; i <= ERROR; i++)
		left -= t[i].length > 0;
	// A cause has the lines that figures do not need, and without one stands in the first.
	const bool has_lines = is_bad && r->cause && left > 0, has_hint = r->hint && left > has_lines;
	if (is_bad && r->cause && !has_lines)
		text_add(&t[WHY], r->cause);
	else if (verdict_ran(result->verdict))
		add_judgement(&t[WHY], &a, result);
	else
		text_add(&t[WHY], verdict_sentence(result->verdict));
	emit("%s: %s: %s\n", show_title(&a, label, r), show_qualified(&a, verdict_word(result->verdict), r), text_get(&t[WHY]));
	if (has_lines)
		wrapped("cause", r->cause, left - has_hint);
	if (has_hint)
		wrapped("hint", r->hint, 1);
	for (size_t i = 0; i < COUNT; i++) {
		if (i != WHY && t[i].length)
			emit("  %-9s%s\n", labels[i], text_get(&t[i]));
		text_done(&t[i]);
	}
	if (r->fitted)
		wrapped("fitted", r->fitted, 3);
	// Two rows of a user's file differ in nothing else.
	if (r->shapes || r->dims || r->inputs || text_ends(r->model, ".onnx"))
		show_add_inputs(&inputs, &a, r);
	if (inputs.length)
		wrapped("inputs", text_get(&inputs), 2);
	text_done(&inputs);
	emit_flush();
	arena_done(&a);
}

// ---- the table -------------------------------------------------------------------------------------------------------

void show_table_add(struct show_table *t, struct arena *a, const struct cell_result *result, const char *label)
{
	const struct row *r = &result->row;
	const size_t model = strlen(r->model);
	const char *title = show_title(a, label, r);
	const char *on = !strncmp(title, r->model, model) && text_starts(title + model, " on ") ? title + model + 4 : title;
	const char *marks = row_qualifiers(a, r, QUALIFY_ALL);
	const double memory = row_peak_mib(r);
	struct show_line *l = ARENA_ARRAY(a, 1, struct show_line);

	*l = (struct show_line){ { r->row == ROW_NONE ? "" : arena_printf(a, "%lld", (long long)r->row),
					 arena_strdup(a, r->model), on, verdict_word(result->verdict),
					 isnan(r->latency_ms) ? ""
							      : arena_printf(a, "%s ms%s", show_ms(a, r->latency_ms),
									text_is(r->task, "generate") ? "/token" : ""),
					 isnan(r->latency_ms)     ? ""
						 : interval(a, r) ? interval(a, r)
								  : "none",
					 isnan(memory) ? "" : arena_printf(a, "%.1f MiB", memory), marks ? marks : "" },
		NULL };
	if (!isnan(r->latency_ms) && r->stability && !text_is(r->stability, "stable"))
		l->of[SHOW_COLUMNS - 1] = arena_join(a, r->stability, ", ", marks);
	// What it costs stands beside what it brings.
	if (r->graph_verdict && !isnan(r->nmse))
		l->of[SHOW_COLUMNS - 1] = arena_join(a, l->of[SHOW_COLUMNS - 1], "; ",
			isnan(r->top1_agreement) ? arena_printf(a, "loss NMSE %.2g", r->nmse)
						 : arena_printf(a, "loss top-1 agrees in %.4g %%", 100 * r->top1_agreement));
	*(t->last ? &t->last->next : &t->first) = l;
	t->last = l;
}

void show_table_print(const struct show_table *t)
{
	const struct show_line head = { { "row", "model", "on", "verdict", "latency", "95 % interval", "memory", "" }, t->first };
	int width[SHOW_COLUMNS] = { 0 };

	for (const struct show_line *l = &head; l; l = l->next)
		for (size_t i = 0; i < SHOW_COLUMNS; i++) {
			const int n = (int)visible_width(l->of[i]);

			width[i] = n > width[i] ? n : width[i];
		}
	emit("\n");
	for (const struct show_line *l = &head; l; l = l->next) {
		for (size_t i = 0; i + 1 < SHOW_COLUMNS; i++)
			emit("%s%*s", l->of[i], width[i] + 2 - (int)visible_width(l->of[i]), "");
		emit("%s\n", l->of[SHOW_COLUMNS - 1]);
	}
}
