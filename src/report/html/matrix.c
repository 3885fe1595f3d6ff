// SPDX-License-Identifier: Apache-2.0
// Models and platforms: the matrix, and the chart of latencies. Data for the script is JSON in which no '<' is left.
#include <math.h>
#include <stdlib.h>

#include "report/gather.h"
#include "base/visible.h"
#include "report/html/html.h"

static void matrix_cell(const struct report_cell *c, struct arena *a, struct text *out)
{
	const char *latency = report_ms(a, c->typical.ms), *peak = report_mib(a, row_peak_mib(&c->row)),
		   *times = report_times(a, c->times_cpu);

	text_addf(out, "<td data-label=\"%s\"><div><a class=\"chip %s\" href=\"#cell-%lld\">%s %s</a>", html_esc(a, c->platform),
		html_cell_class(c), (long long)c->row.row, report_verdict_mark(c), report_verdict_word(c));
	if (c->own_qualifiers != NULL)
		text_addf(out, " <span class=\"tag warn\">%s</span>", html_esc(a, c->own_qualifiers));
	if (latency != NULL) {
		text_addf(out, "<span class=\"latency\">%s", latency);
		if (report_rank_words(c) != NULL)
			text_addf(out, "<span class=\"tag%s\">%s</span>", c->is_fastest ? " best" : "", report_rank_words(c));
		if (report_is_unstable(c))
			text_add(out, "<span class=\"tag warn\">unstable</span>");
		text_add(out, "</span>");
	}
	if (latency != NULL && report_of_processes(a, c) != NULL)
		text_addf(out, "<span class=\"sub\">%s</span>", html_esc(a, report_of_processes(a, c)));
	if (peak != NULL)
		text_addf(out, "<span class=\"sub\">%s peak memory</span>", peak);
	if (times != NULL && c->is_good && !c->is_near_fastest && !c->is_untold)
		text_addf(out, "<span class=\"sub\">%s the speed of cpu; %s</span>", times,
			html_esc(a, report_speed_words(a, &c->against_cpu)));
	if (c->agreement != NULL)
		text_addf(out, "<span class=\"sub\">%s</span>", html_esc(a, c->agreement));
	if (c->later != NULL)
		text_addf(out, "<span class=\"sub\">asked again later: %s</span>", html_esc(a, c->later));
	if (c->fallback != NULL && c->fallback->try_count > 0)
		text_addf(
			out, "<span class=\"sub\">instead: <a href=\"#fallbacks\">%s</a></span>", html_esc(a, c->fallback->got));
	if (c->cause != NULL)
		text_addf(out, "<span class=\"sub clip\" style=\"margin-top:4px;overflow-wrap:anywhere\">%s</span>",
			html_prose(a, c->cause));
	text_add(out, "</div></td>");
}

void html_matrix(const struct summary *s, struct arena *a, struct text *out)
{
	text_add(out,
		"<h2 id=\"matrix\">Models and platforms</h2><p class=\"hint\">Latency is the median of the warm runs, of "
		"several processes the median of theirs. A verdict leads to everything that was measured.</p>\n"
		"<div class=\"scroll stack\"><table class=\"matrix m\"><thead><tr><th scope=\"col\">Model</th>");
	for (size_t k = 0; k < s->column_count; k++)
		text_addf(out, "<th scope=\"col\" style=\"width:%d%%\">%s</th>", (int)(74 / s->column_count),
			html_esc(a, s->columns[k]));
	text_add(out, "</tr></thead><tbody>\n");
	for (size_t i = 0; i < s->line_count; i++) {
		const struct report_line *l = &s->lines[i];
		text_addf(out, "<tr><th scope=\"row\">%s<span class=\"sub\">%s</span>", html_esc(a, l->name),
			html_esc(a, l->variant));
		if (l->warning != NULL)
			text_addf(out, "<span class=\"tag warn\">%s</span>", html_esc(a, l->warning));
		text_add(out, "</th>");
		for (size_t k = 0; k < s->column_count; k++) {
			if (l->cell[k] != 0)
				matrix_cell(&s->cells[l->cell[k] - 1], a, out);
			else
				text_addf(out, "<td data-label=\"%s\"><span class=\"none\">%s</span></td>",
					html_esc(a, s->columns[k]),
					report_answer_of(s, l, k) != NULL ? "asked otherwise" : "not asked");
		}
		text_add(out, "</tr>\n");
	}
	text_add(out, "</tbody></table></div>\n");
}

// ---- chart -------------------------------------------------------------------------------------------------------

// {"name","note","bars":[{"platform","color","ms","min","max","text"}]} for each line that has times.
// "soft": true on a device that is not hardware. used[], hard[]: of each column, has it a bar, and one of hardware.
static json_t *chart_data(const struct summary *s, struct arena *a, bool used[], bool hard[], size_t *soft_count)
{
	json_t *groups = json_array();

	for (size_t i = 0; i < s->line_count; i++) {
		const struct report_line *l = &s->lines[i];
		json_t *bars = json_array();
		for (size_t k = 0; k < s->column_count; k++) {
			const struct report_cell *c = l->cell[k] != 0 ? &s->cells[l->cell[k] - 1] : NULL;
			if (c == NULL || isnan(c->row.latency_ms) || c->row.latency_ms <= 0 || c->is_not_valid)
				continue;
			const char *flag = c->is_good ? "" : arena_printf(a, ", %s", report_verdict_word(c));
			if (c->own_qualifiers != NULL)
				flag = arena_printf(a, "%s, %s", flag, c->own_qualifiers);
			if (report_is_unstable(c))
				flag = arena_printf(a, "%s, unstable", flag);
			json_t *bar = json_pack("{s:s, s:I, s:f, s:o}", "platform", c->platform, "color", (json_int_t)k, "ms",
				c->typical.ms, "text", json_string(arena_printf(a, "%s%s", report_ms(a, c->typical.ms), flag)));
			if (c->typical.low_ms > 0 && !isnan(c->typical.high_ms)) {
				json_object_set_new(bar, "min", json_real(c->typical.low_ms));
				json_object_set_new(bar, "max", json_real(c->typical.high_ms));
			}
			json_array_append_new(bars, bar);
			used[k] = true;
			if (report_software(&c->row) != NULL) {
				json_object_set_new(bar, "soft", json_true());
				++*soft_count;
			} else {
				hard[k] = true;
			}
		}
		if (json_array_size(bars) > 0)
			json_array_append_new(groups,
				json_pack("{s:s, s:s, s:o}", "name", l->name, "note", report_line_words(a, l), "bars", bars));
		else
			json_decref(bars);
	}
	return groups;
}

bool html_chart(const struct summary *s, struct arena *a, struct text *out)
{
	bool *used = ARENA_ARRAY(a, s->column_count + 1, bool), *hard = ARENA_ARRAY(a, s->column_count + 1, bool);
	size_t soft_count = 0;
	json_t *data = chart_data(s, a, used, hard, &soft_count);
	size_t groups = json_array_size(data);

	if (groups > 0) {
		char *json = visible_json(data, JSON_COMPACT);
		text_add(out,
			"<h2 id=\"latency\">Latency</h2><p class=\"hint\">Median of the warm runs; the line across its end "
			"reaches from the fastest run to the slowest, of several processes from the lowest median to the "
			"highest.</p>\n<div class=\"chart\"><div class=\"chart-top\">");
		for (size_t k = 0; k < s->column_count; k++) {
			if (used[k])
				text_addf(out,
					"<span class=\"key\" data-column=\"%zu\"%s><span class=\"swatch\" "
					"style=\"background:var(--p%zu)\"></span>%s</span>",
					k, hard[k] ? "" : " hidden", k % 8, html_esc(a, s->columns[k]));
		}
		if (soft_count > 0)
			text_addf(out,
				"<button type=\"button\" id=\"latency-soft\" aria-pressed=\"false\" "
				"aria-controls=\"latency-chart\">"
				"Show %zu that ran on no hardware (emulated, or nothing computed)</button>",
				soft_count);
		text_add(out,
			"<input type=\"search\" id=\"latency-filter\" placeholder=\"Filter by name\" aria-label=\"Show the "
			"models "
			"and variants with these words\" hidden>");
		text_add(out,
			"<span class=\"scales\"><button type=\"button\" data-scale=\"linear\">Linear</button><button "
			"type=\"button\" data-scale=\"log\">Logarithmic</button></span></div>"
			"<div id=\"latency-chart\" role=\"img\" aria-label=\"Latency by model and platform; the same numbers are "
			"in the table above\"></div><p class=\"hint\" id=\"latency-left\" role=\"status\"></p>"
			"<noscript><p class=\"hint\">The chart needs JavaScript; its numbers are in the table "
			"above.</p></noscript></div>\n<script type=\"application/json\" id=\"latency-data\">");
		for (const char *p = json; p != NULL && *p != '\0'; p++)
			text_add_bytes(out, *p == '<' ? "\\u003c" : p, *p == '<' ? 6 : 1);
		text_add(out, "</script>\n");
		free(json);
	}
	json_decref(data);
	return groups > 0;
}
