// SPDX-License-Identifier: Apache-2.0
// The report as one HTML file that needs nothing else: style, script and chart library are inside. Every text that is not
// ours goes through esc(); data for the script is JSON in which no '<' is left. No verdict is told by colour alone.
#include <math.h>
#include <stdlib.h>

#include "report/summary.h"
#include "report/web_asset.h"

enum { CARD_ITEMS = 4 };

static const char *esc(struct arena *a, const char *s)
{
	struct text out = { 0 };

	for (s = s != NULL ? s : ""; *s != '\0'; s++) {
		switch (*s) {
		case '<': text_add(&out, "&lt;"); break;
		case '>': text_add(&out, "&gt;"); break;
		case '&': text_add(&out, "&amp;"); break;
		case '"': text_add(&out, "&quot;"); break;
		case '\'': text_add(&out, "&#39;"); break;
		default: text_add_bytes(&out, s, 1);
		}
	}
	const char *copy = arena_strdup(a, text_get(&out));
	text_done(&out);
	return copy;
}

// The names, or how many there are.
static const char *names(struct arena *a, const char *const *items, size_t count, size_t limit, const char *noun)
{
	return count > limit ? arena_printf(a, "%zu %s", count, noun) : esc(a, report_join(a, items, count, "and"));
}

static enum status add_asset(struct text *out, const char *name, struct error *err)
{
	for (size_t i = 0; i < web_assets_count; i++) {
		if (!text_is(web_assets[i].name, name))
			continue;
		text_add_bytes(out, web_assets[i].data, web_assets[i].size);
		text_add(out, "\n");
		return STATUS_OK;
	}
	return error_set(err, STATUS_UNAVAILABLE, "this assay was built without %s, which its HTML report needs", name);
}

// One class for every verdict that is neither right, unjudged, compiles nor wrong: something went bad, or it never could.
static const char *verdict_class(enum verdict v, bool elsewhere)
{
	if (elsewhere)
		return "v-bad";
	switch (v) {
	case VERDICT_RIGHT: return "v-right";
	case VERDICT_WRONG: return "v-wrong";
	case VERDICT_UNJUDGED: return "v-unjudged";
	case VERDICT_COMPILES: return "v-compiles";
	case VERDICT_NO_MEMORY: case VERDICT_TIMEOUT: case VERDICT_CRASHED: case VERDICT_FAILED: return "v-bad";
	case VERDICT_UNAVAILABLE: case VERDICT_UNSUPPORTED: case VERDICT_INTERRUPTED: return "v-off";
	case VERDICT_COUNT: break;
	}
	return "v-running";
}

static const char *cell_class(const struct report_cell *c)
{
	return verdict_class(c->verdict, !c->is_running && !c->is_good && verdict_exit_code(c->verdict) == 0);
}

// ---- first screen ------------------------------------------------------------------------------------------------

static void meter(struct text *out, const struct report_counts *n)
{
	text_add(out, "<div class=\"meter\" aria-hidden=\"true\">");
	for (int v = 0; v < VERDICT_COUNT; v++) {
		if (n->of[v] > 0)
			text_addf(out, "<span class=\"%s\" style=\"flex:%zu\"></span>", verdict_class((enum verdict)v, false), n->of[v]);
	}
	if (n->elsewhere > 0)
		text_addf(out, "<span class=\"v-bad\" style=\"flex:%zu\"></span>", n->elsewhere);
	if (n->running > 0)
		text_addf(out, "<span style=\"flex:%zu\"></span>", n->running);
	text_add(out, "</div>");
}

static const char *counts_text(struct arena *a, const struct report_counts *n)
{
	const char *out = "";

	for (int v = 0; v < VERDICT_COUNT; v++) {
		if (n->of[v] > 0)
			out = arena_printf(a, "%s%s%zu %s", out, *out ? ", " : "", n->of[v], v == VERDICT_NO_MEMORY ? "out of memory" : verdict_word((enum verdict)v));
	}
	if (n->elsewhere > 0)
		out = arena_printf(a, "%s%s%zu ran elsewhere", out, *out ? ", " : "", n->elsewhere);
	return n->running > 0 ? arena_printf(a, "%s%s%zu running", out, *out ? ", " : "", n->running) : out;
}

static void card_runs(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out, "<section class=\"card\"><h2>What runs</h2><ul>");
	for (size_t k = 0; k < s->column_count; k++) {
		const struct report_counts *n = &s->column_counts[k];
		text_addf(out, "<li><div class=\"pair\"><span class=\"strong\">%s</span><span>%zu of %zu cells</span></div>", esc(a, s->columns[k]), n->good, n->total);
		meter(out, n);
		text_addf(out, "<span class=\"sub\" style=\"margin-top:5px\">%s</span></li>", counts_text(a, n));
	}
	text_add(out, "</ul></section>\n");
}

// "openvino, 2.0× the speed of cpu"; against the next best where cpu itself is the best or was not timed.
static const char *fastest_text(const struct summary *s, const struct report_line *l, const struct report_cell **out, struct arena *a)
{
	const struct report_cell *best = NULL, *next = NULL, *cpu = NULL;
	const char **near = ARENA_ARRAY(a, s->column_count, const char *);
	size_t near_count = 0;

	for (size_t k = 0; k < s->column_count; k++) {
		const struct report_cell *c = l->cell[k] != 0 ? &s->cells[l->cell[k] - 1] : NULL;
		if (c == NULL || !c->is_good || isnan(c->row.latency_ms))
			continue;
		if (best == NULL || c->row.latency_ms < best->row.latency_ms) {
			next = best;
			best = c;
		} else if (next == NULL || c->row.latency_ms < next->row.latency_ms) {
			next = c;
		}
		if (text_is(c->platform, "cpu"))
			cpu = c;
		if (c->is_near_fastest)
			near[near_count++] = c->platform;
	}
	*out = best;
	if (best == NULL)
		return NULL;
	if (next == NULL)
		return arena_printf(a, "%s, the only one that ran", best->platform);
	if (near_count > 1)
		return arena_printf(a, "%s: too near each other or too unstable to tell apart", report_join(a, near, near_count, "and"));
	const struct report_cell *other = cpu != NULL && cpu != best ? cpu : next;
	return arena_printf(a, "%s, %s the speed of %s", best->platform, report_times(a, other->row.latency_ms / best->row.latency_ms), other->platform);
}

static void card_fastest(const struct summary *s, struct arena *a, struct text *out)
{
	size_t timed = 0;

	text_add(out, "<section class=\"card\"><h2>What is fastest</h2><ul>");
	for (size_t i = 0; i < s->line_count; i++) {
		const struct report_cell *best;
		const char *who = fastest_text(s, &s->lines[i], &best, a);
		if (who == NULL || ++timed > CARD_ITEMS)
			continue;
		text_addf(out, "<li><div class=\"pair\"><span class=\"strong\">%s</span><span class=\"strong\">%s</span></div><span class=\"sub\">%s</span></li>",
			esc(a, s->lines[i].name), report_ms(a, best->row.latency_ms), esc(a, who));
	}
	text_add(out, "</ul>");
	if (timed == 0)
		text_add(out, "<p class=\"sub\">Nothing was timed.</p>");
	if (timed > CARD_ITEMS)
		text_addf(out, "<p class=\"more\"><a href=\"#latency\">%zu more below</a></p>", timed - CARD_ITEMS);
	text_add(out, "</section>\n");
}

static void card_failures(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out, "<section class=\"card\"><h2>What does not, and why</h2><ul>");
	for (size_t i = 0; i < s->failure_count && i < CARD_ITEMS; i++) {
		const struct report_failure *f = &s->failures[i];
		text_addf(out, "<li><div class=\"pair\"><span><span class=\"strong\">%s</span> on %s</span><span class=\"chip %s\">%s</span></div><span class=\"sub clip\">%s</span></li>",
			names(a, f->models, f->model_count, 2, "models"), names(a, f->platforms, f->platform_count, 4, "platforms"), verdict_class(f->verdict, f->is_elsewhere),
			report_failure_word(f), esc(a, f->cause));
	}
	text_add(out, "</ul>");
	if (s->failure_count == 0)
		text_add(out, s->cell_count > 0 ? "<p class=\"sub\">Everything that was asked for and has finished ran, and nothing was found wrong.</p>" : "<p class=\"sub\">Nothing was asked for.</p>");
	if (s->failure_count > CARD_ITEMS)
		text_addf(out, "<p class=\"more\"><a href=\"#failures\">%zu more below</a></p>", s->failure_count - CARD_ITEMS);
	text_add(out, "</section>\n");
}

static void first_screen(const struct summary *s, struct arena *a, struct text *out)
{
	text_addf(out, "<header><p class=\"eyebrow\">assay report, %s</p><h1>%s</h1>", s->made_at, report_headline(s, a));
	if (s->machine_count > 0)
		text_addf(out, "<p class=\"lede\">%s%s</p>", esc(a, report_machine_line(a, &s->machines[0])), s->machine_count > 1
			? arena_printf(a, ", and %zu more machine%s", s->machine_count - 1, s->machine_count > 2 ? "s" : "") : "");
	if (s->synthetic > 0)
		text_addf(out, "<p class=\"lede\">%s: their times hold, their outputs mean nothing. <a href=\"#notes\">What to know</a></p>", s->synthetic == s->cell_count
			? "All cells have synthetic weights" : arena_printf(a, "%zu of %zu cells have synthetic weights", s->synthetic, s->cell_count));
	if (s->cell_count == 0)
		text_add(out, "<p class=\"lede\">The database has no cells: <code>assay run MODEL --on cpu,openvino</code> makes some.</p>");
	text_add(out, "</header>\n");
	if (s->cell_count == 0)
		return;
	text_add(out, "<div class=\"cards\">\n");
	card_runs(s, a, out);
	card_fastest(s, a, out);
	card_failures(s, a, out);
	text_add(out, "</div>\n");
}

// ---- matrix ------------------------------------------------------------------------------------------------------

static void matrix_cell(const struct report_cell *c, struct arena *a, struct text *out)
{
	const char *latency = report_ms(a, c->row.latency_ms), *peak = report_mib(a, report_peak_mib(&c->row)), *times = report_times(a, c->times_cpu);

	text_addf(out, "<td data-label=\"%s\"><div><a class=\"chip %s\" href=\"#cell-%lld\">%s %s</a>", esc(a, c->platform), cell_class(c), (long long)c->row.row,
		report_verdict_mark(c), report_verdict_word(c));
	if (c->row.emulated == 1)
		text_add(out, " <span class=\"tag warn\">emulated</span>");
	if (latency != NULL) {
		text_addf(out, "<span class=\"latency\">%s", latency);
		if (c->is_fastest)
			text_add(out, "<span class=\"tag best\">fastest</span>");
		else if (c->is_near_fastest)
			text_add(out, "<span class=\"tag\">near the fastest</span>");
		if (text_is(c->row.stability, "unstable"))
			text_add(out, "<span class=\"tag warn\">unstable</span>");
		text_add(out, "</span>");
	}
	if (peak != NULL)
		text_addf(out, "<span class=\"sub\">%s peak memory</span>", peak);
	if (times != NULL && c->is_good && !c->is_near_fastest)
		text_addf(out, "<span class=\"sub\">%s the speed of cpu</span>", times);
	if (c->agreement != NULL)
		text_addf(out, "<span class=\"sub\">%s</span>", c->agreement);
	if (c->cause != NULL)
		text_addf(out, "<span class=\"sub clip\" style=\"margin-top:4px\">%s</span>", esc(a, c->cause));
	text_add(out, "</div></td>");
}

static void matrix(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out, "<h2 id=\"matrix\">Models and platforms</h2><p class=\"hint\">Latency is the median of the warm runs. A verdict leads to everything that was measured.</p>\n"
		"<div class=\"scroll stack\"><table class=\"matrix m\"><thead><tr><th scope=\"col\">Model</th>");
	for (size_t k = 0; k < s->column_count; k++)
		text_addf(out, "<th scope=\"col\" style=\"width:%d%%\">%s</th>", (int)(74 / s->column_count), esc(a, s->columns[k]));
	text_add(out, "</tr></thead><tbody>\n");
	for (size_t i = 0; i < s->line_count; i++) {
		const struct report_line *l = &s->lines[i];
		text_addf(out, "<tr><th scope=\"row\">%s<span class=\"sub\">%s</span>", esc(a, l->name), esc(a, l->variant));
		if (l->warning != NULL)
			text_addf(out, "<span class=\"tag warn\">%s</span>", esc(a, l->warning));
		text_add(out, "</th>");
		for (size_t k = 0; k < s->column_count; k++) {
			if (l->cell[k] != 0)
				matrix_cell(&s->cells[l->cell[k] - 1], a, out);
			else
				text_addf(out, "<td data-label=\"%s\"><span class=\"none\">not asked</span></td>", esc(a, s->columns[k]));
		}
		text_add(out, "</tr>\n");
	}
	text_add(out, "</tbody></table></div>\n");
}

// ---- chart -------------------------------------------------------------------------------------------------------

// {"name","note","bars":[{"platform","color","ms","min","max","text"}]} for each line that has times.
static json_t *chart_data(const struct summary *s, struct arena *a, bool used[])
{
	json_t *groups = json_array();

	for (size_t i = 0; i < s->line_count; i++) {
		const struct report_line *l = &s->lines[i];
		json_t *bars = json_array();
		for (size_t k = 0; k < s->column_count; k++) {
			const struct report_cell *c = l->cell[k] != 0 ? &s->cells[l->cell[k] - 1] : NULL;
			if (c == NULL || isnan(c->row.latency_ms) || c->row.latency_ms <= 0)
				continue;
			const char *flag = c->verdict == VERDICT_WRONG ? ", wrong" : !c->is_good ? ", ran elsewhere" : "";
			json_t *bar = json_pack("{s:s, s:I, s:f, s:o}", "platform", c->platform, "color", (json_int_t)k, "ms", c->row.latency_ms, "text",
				json_string(arena_printf(a, "%s%s", report_ms(a, c->row.latency_ms), flag)));
			if (c->row.latency_min_ms > 0 && !isnan(c->row.latency_max_ms)) {
				json_object_set_new(bar, "min", json_real(c->row.latency_min_ms));
				json_object_set_new(bar, "max", json_real(c->row.latency_max_ms));
			}
			json_array_append_new(bars, bar);
			used[k] = true;
		}
		if (json_array_size(bars) > 0)
			json_array_append_new(groups, json_pack("{s:s, s:s, s:o}", "name", l->name, "note", l->warning != NULL
				? arena_printf(a, "%s; %s", l->variant, l->warning) : l->variant, "bars", bars));
		else
			json_decref(bars);
	}
	return groups;
}

static bool chart(const struct summary *s, struct arena *a, struct text *out)
{
	bool *used = ARENA_ARRAY(a, s->column_count + 1, bool);
	json_t *data = chart_data(s, a, used);
	size_t groups = json_array_size(data);

	if (groups > 0) {
		char *json = json_dumps(data, JSON_COMPACT);
		text_add(out, "<h2 id=\"latency\">Latency</h2><p class=\"hint\">Median of the warm runs; the line across its end reaches from the fastest run to the slowest.</p>\n<div class=\"chart\"><div class=\"chart-top\">");
		for (size_t k = 0; k < s->column_count; k++) {
			if (used[k])
				text_addf(out, "<span class=\"key\"><span class=\"swatch\" style=\"background:var(--p%zu)\"></span>%s</span>", k % 8, esc(a, s->columns[k]));
		}
		text_add(out, "<span class=\"scales\"><button type=\"button\" data-scale=\"linear\">Linear</button><button type=\"button\" data-scale=\"log\">Logarithmic</button></span></div>"
			"<div id=\"latency-chart\" role=\"img\" aria-label=\"Latency by model and platform; the same numbers are in the table above\"></div>"
			"<noscript><p class=\"hint\">The chart needs JavaScript; its numbers are in the table above.</p></noscript></div>\n<script type=\"application/json\" id=\"latency-data\">");
		for (const char *p = json; p != NULL && *p != '\0'; p++)
			text_add_bytes(out, *p == '<' ? "\\u003c" : p, *p == '<' ? 6 : 1);
		text_add(out, "</script>\n");
		free(json);
	}
	json_decref(data);
	return groups > 0;
}

// ---- the rest ----------------------------------------------------------------------------------------------------

static void failures(const struct summary *s, struct arena *a, struct text *out)
{
	if (s->failure_count == 0)
		return;
	text_add(out, "<h2 id=\"failures\">What does not run, and why</h2>\n<div class=\"scroll stack\" style=\"margin-top:14px\"><table><thead><tr><th style=\"width:29%\">Model</th><th style=\"width:14%\">On</th><th style=\"width:13%\">Verdict</th><th>Cause</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < s->failure_count; i++) {
		const struct report_failure *f = &s->failures[i];
		text_addf(out, "<tr><td data-label=\"Model\"><span class=\"strong\" style=\"overflow-wrap:anywhere\">%s</span></td><td data-label=\"On\"><span>%s</span></td><td data-label=\"Verdict\"><span><span class=\"chip %s\">%s</span></span></td><td data-label=\"Cause\"><span style=\"overflow-wrap:anywhere\">%s</span></td></tr>\n",
			names(a, f->models, f->model_count, f->model_count, ""), names(a, f->platforms, f->platform_count, f->platform_count, ""),
			verdict_class(f->verdict, f->is_elsewhere), report_failure_word(f), esc(a, f->cause));
	}
	text_add(out, "</tbody></table></div>\n");
}

static void notes(const struct summary *s, struct arena *a, struct text *out)
{
	if (s->note_count == 0)
		return;
	text_add(out, "<h2 id=\"notes\">Before quoting a number</h2>\n<ul class=\"notes\">");
	for (size_t i = 0; i < s->note_count; i++)
		text_addf(out, "<li>%s</li>", esc(a, s->notes[i]));
	text_add(out, "</ul>\n");
}

static void fact(struct text *out, struct arena *a, const char *name, const char *content)
{
	if (content != NULL && *content != '\0')
		text_addf(out, "<dt>%s</dt><dd>%s</dd>", name, esc(a, content));
}

static const char *integer_text(struct arena *a, int64_t x)
{
	return x != ROW_NONE ? arena_printf(a, "%lld", (long long)x) : NULL;
}

static const char *with(struct arena *a, const char *first, const char *between, const char *second)
{
	return first == NULL ? second : second == NULL ? first : arena_printf(a, "%s%s%s", first, between, second);
}

// {"a": "1", "b": 2} as "a 1, b 2"; anything else as it is.
static const char *options_text(struct arena *a, const char *options)
{
	json_t *object = options != NULL ? json_loads(options, 0, NULL) : NULL, *item;
	const char *key, *out = "";

	if (!json_is_object(object)) {
		json_decref(object);
		return options;
	}
	json_object_foreach(object, key, item) {
		char *text = json_is_string(item) ? NULL : json_dumps(item, JSON_COMPACT | JSON_ENCODE_ANY);
		out = arena_printf(a, "%s%s%s %s", out, *out != '\0' ? ", " : "", key, text != NULL ? text : json_string_value(item));
		free(text);
	}
	json_decref(object);
	return out;
}

static void cell_details(const struct summary *s, const struct report_cell *c, struct arena *a, struct text *out)
{
	const struct row *r = &c->row;
	const char *latency = report_ms(a, r->latency_ms);

	text_addf(out, "<details id=\"cell-%lld\"><summary><span class=\"strong\">%s</span><span>%s</span><span class=\"chip %s\">%s %s</span><span class=\"right\">%s</span></summary><dl>",
		(long long)r->row, esc(a, report_model_name(r->model)), esc(a, c->platform), cell_class(c), report_verdict_mark(c), report_verdict_word(c), latency != NULL ? latency : "");
	fact(out, a, "Verdict", c->is_running ? "still running" : verdict_sentence(c->verdict));
	fact(out, a, "Cause", c->cause != NULL && !text_is(c->cause, c->is_running ? "" : verdict_sentence(c->verdict)) ? c->cause : NULL);
	fact(out, a, "Agreement", with(a, c->agreement, "; reference: ", r->reference));
	fact(out, a, "Errors", r->max_abs_error == r->max_abs_error ? arena_printf(a, "max abs %s%s%s%s%s", report_error(a, r->max_abs_error),
		isnan(r->nmse) ? "" : ", NMSE ", isnan(r->nmse) ? "" : report_error(a, r->nmse), isnan(r->cosine) ? "" : ", cosine ",
		isnan(r->cosine) ? "" : arena_printf(a, "%.7g", r->cosine)) : NULL);
	fact(out, a, "Bound", r->bound);
	fact(out, a, "Worst element", r->worst);
	fact(out, a, "NaN and infinite", r->non_finite != ROW_NONE && r->non_finite > 0 ? arena_printf(a, "%lld values", (long long)r->non_finite) : NULL);
	fact(out, a, "Conformance of the type", r->type_conformance != NULL ? arena_printf(a, "%s cases pass", r->type_conformance) : NULL);
	fact(out, a, "Latency", report_latency(a, r));
	fact(out, a, "90th percentile", c->p90);
	fact(out, a, "Samples", r->samples != ROW_NONE ? arena_printf(a, "%lld timed runs%s%s", (long long)r->samples, r->stability ? ", " : "", r->stability ? r->stability : "") : NULL);
	fact(out, a, "Building the graph", report_ms(a, r->build_ms));
	fact(out, a, "Loading", report_ms(a, r->load_ms));
	fact(out, a, "First run", report_ms(a, r->first_ms));
	fact(out, a, "Peak anonymous memory", report_mib(a, r->peak_anonymous_mib));
	fact(out, a, "Peak proportional set size", report_mib(a, r->peak_pss_mib));
	fact(out, a, "Peak resident memory", report_mib(a, r->peak_resident_mib));
	fact(out, a, "Predicted peak", with(a, report_mib(a, r->predicted_mib), ", of the measured one times ", report_ratio(a, r)));
	fact(out, a, "Placement", report_placement(a, r));
	fact(out, a, "Model", with(a, with(a, with(a, r->model, ": ", r->model_type), ", ", r->head), ", ", s->lines[c->line].variant));
	fact(out, a, "Weights", with(a, with(a, with(a, r->weights, ", ", r->weights_dtype), ", ", report_bytes(a, r->weights_bytes)), "; given to the engine by ", r->placed_by));
	fact(out, a, "Shortened", r->shortened == 1 ? with(a, "yes, layers: ", "", integer_text(a, r->layers)) : NULL);
	fact(out, a, "Engine", with(a, with(a, report_engine_name(r->engine), " ", r->engine_version), ", ", with(a, r->device, ": ", r->device_description)));
	fact(out, a, "Emulated device", r->emulated == 1 ? "yes: a software stand-in for other hardware" : NULL);
	fact(out, a, "Graph variant", r->form);
	fact(out, a, "Engine options", options_text(a, r->options));
	fact(out, a, "Attempts", r->attempts != ROW_NONE && r->attempts > 1 ? integer_text(a, r->attempts) : NULL);
	fact(out, a, "Started", r->started_at);
	if (r->stderr_tail != NULL && *r->stderr_tail != '\0' && !c->is_good)
		text_addf(out, "<dt>Standard error</dt><dd><pre>%s</pre></dd>", esc(a, r->stderr_tail));
	text_addf(out, "<dt>Ask again</dt><dd><code>%s</code></dd><dt>Row</dt><dd>%lld</dd></dl></details>\n", esc(a, report_command(a, c)), (long long)r->row);
}

static void platforms(const struct summary *s, struct arena *a, struct text *out)
{
	if (s->platform_count == 0)
		return;
	text_add(out, "<h2 id=\"platforms\">Platforms on this machine</h2>\n<div class=\"scroll stack\" style=\"margin-top:14px\"><table><thead><tr><th style=\"width:15%\">Platform</th><th style=\"width:12%\">Here</th><th>Engine and device, or why not</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < s->platform_count; i++) {
		const struct report_platform *p = &s->platforms[i];
		text_addf(out, "<tr><td data-label=\"Platform\"><span class=\"strong\">%s</span></td><td data-label=\"Here\"><span><span class=\"chip %s\">%s</span></span></td><td data-label=\"%s\"><span>",
			esc(a, p->name), p->is_available ? "v-right" : "v-off", p->is_available ? "✓ yes" : "– no", p->is_available ? "With" : "Why not");
		if (p->is_available)
			text_addf(out, "%s", esc(a, with(a, with(a, report_engine_name(p->engine), " ", p->engine_version), ", ", p->device)));
		else
			text_add(out, esc(a, p->reason));
		text_add(out, "</span></td></tr>\n");
	}
	text_add(out, "</tbody></table></div>\n");
}

static void page_end(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out, "<footer><h2>How it was measured</h2><p>Every cell ran in a process of its own. Building, loading, the first run and the warm runs are timed apart, with nothing else of assay running meanwhile. "
		"Latency is the median of the warm runs; a percentile is given only with enough samples for 99\u00a0% confidence (the 90th: 64), else it says that n is too small. "
		"The fastest has the lowest median in its line; where another's fastest run is not slower than that median, or one of the two is unstable, they count as near each other. Peak memory counts mapped weights.</p>");
	for (size_t i = 0; i < s->method_count; i++)
		text_addf(out, "<p>Memory: %s.</p>", esc(a, s->methods[i]));
	text_add(out, "<h2>Machine</h2><dl>");
	for (size_t i = 0; i < s->machine_count; i++) {
		const struct report_machine *m = &s->machines[i];
		fact(out, a, "Processor", report_machine_line(a, m));
		fact(out, a, "Caches", with(a, with(a, "L2 ", "", report_bytes(a, m->l2_bytes)), ", L3 ", report_bytes(a, m->l3_bytes)));
		fact(out, a, "Instruction sets", m->features);
		fact(out, a, "Kernel", m->kernel);
		fact(out, a, "Hypervisor", m->hypervisor);
		fact(out, a, "Machine id", m->id);
	}
	text_add(out, "</dl><h2>The commands that made the rows</h2><pre>");
	for (size_t i = 0; i < s->run_count && i < 20; i++)
		text_addf(out, "%s\n", s->runs[i].command != NULL ? esc(a, s->runs[i].command) : "(not known)");
	if (s->run_count > 20)
		text_addf(out, "(and %zu older ones)\n", s->run_count - 20);
	text_addf(out, "</pre><p>assay %s. %lld row%s in the database, %zu shown: the latest answer to every question. <code>assay query 'SELECT * FROM result'</code> has them all.</p></footer>\n",
		esc(a, s->version), (long long)s->rows, s->rows == 1 ? "" : "s", s->cell_count);
}

enum status report_html(const struct summary *s, struct arena *a, struct text *out, struct error *err)
{
	struct text page = { 0 };
	enum status status;
	bool has_chart = false;

	text_addf(&page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
		"<meta name=\"generator\" content=\"assay %s\"><title>assay: %s</title>\n<style>\n", esc(a, s->version), report_headline(s, a));
	status = add_asset(&page, "uPlot.min.css", err);
	if (status == STATUS_OK)
		status = add_asset(&page, "report.css", err);
	text_add(&page, "</style></head>\n<body><main>\n");
	first_screen(s, a, &page);
	if (s->cell_count > 0) {
		matrix(s, a, &page);
		has_chart = chart(s, a, &page);
		failures(s, a, &page);
	}
	report_comparisons_html(s, esc, a, &page);
	if (s->cell_count > 0) {
		notes(s, a, &page);
		text_add(&page, "<h2 id=\"cells\">Everything that was measured</h2><p class=\"hint\">One entry for each cell.</p>\n");
		for (size_t i = 0; i < s->cell_count; i++)
			cell_details(s, &s->cells[i], a, &page);
	}
	platforms(s, a, &page);
	page_end(s, a, &page);
	text_add(&page, "</main>\n<script>\n");
	if (status == STATUS_OK && has_chart)
		status = add_asset(&page, "uPlot.iife.min.js", err);
	if (status == STATUS_OK)
		status = add_asset(&page, "report.js", err);
	text_add(&page, "</script>\n</body></html>\n");
	if (status == STATUS_OK)
		text_add_bytes(out, page.data, page.length);
	text_done(&page);
	return status;
}
