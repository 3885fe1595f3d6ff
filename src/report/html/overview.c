// SPDX-License-Identifier: Apache-2.0
// What runs: one row a model, by the line that asks least of it, and beneath it what else was asked of it (precisions, fewer
// layers, other lengths, as shipped), the fastest first, each against the same platform above.
#include <math.h>
#include <string.h>

#include "report/gather.h"
#include "report/html/html.h"

enum { SCREEN_MODELS = 16, FEW_COLUMNS = 3, VARIANTS = 6, NAME_BYTES = 64, NAME_END_BYTES = 40 };

// A time that is not of one input's forward pass says so: those of other models stand above and below it.
static const char *time_words(struct arena *a, const struct report_line *l)
{
	const char *batch = l->batch == ROW_NONE || l->batch == 1 ? NULL : arena_printf(a, "batch %lld", (long long)l->batch);
	const char *of = l->new_tokens == ROW_NONE ? NULL
		: l->source == NULL                ? "a generated token"
						   : arena_printf(a, "all %lld generated tokens", (long long)l->new_tokens);
	const char *words = arena_join(a, of, ", ", batch);

	return words != NULL ? arena_printf(a, "<span class=\"q\">%s</span>", words) : "";
}

// Exporters call all their files model.onnx: the folder tells them apart.
const char *html_short_name(const struct summary *s, const struct report_line *l)
{
	const char *slash = strrchr(l->name, '/');

	if (slash == NULL || slash[1] == '\0' || text_ends(l->name, ".onnx"))
		return l->name;
	for (size_t k = 0; k < s->line_count; k++)
		if (!text_is(s->lines[k].model, l->model) && text_ends(s->lines[k].name, slash))
			return l->name;
	return slash + 1;
}

// A name that fits: of a long one the middle is left out, as names of files differ at their ends.
static const char *fitting(struct arena *a, const char *name)
{
	size_t length = strlen(name), head = NAME_BYTES - NAME_END_BYTES, tail = length - NAME_END_BYTES;

	if (length <= NAME_BYTES)
		return name;
	while (head > 0 && ((unsigned char)name[head] & 0xC0) == 0x80) // not within a character
		head--;
	while (tail < length && ((unsigned char)name[tail] & 0xC0) == 0x80)
		tail++;
	return arena_printf(a, "%.*s…%s", (int)head, name, name + tail);
}

// ---- one row a model --------------------------------------------------------------------------------------------------

static void overview_cell(const struct summary *s, const struct report_line *l, const struct report_cell *c, const char *platform,
	struct arena *a, struct text *out)
{
	if (c == NULL) {
		text_addf(out,
			"<td class=\"empty\" data-label=\"%s\"><span class=\"mk none\" aria-label=\"not asked\"> </span></td>",
			html_esc(a, platform));
		return;
	}
	const struct report_line *own = &s->lines[c->line];
	bool is_other = own != l;
	const char *said = report_has_time(c) ? report_ms(a, c->typical.ms) : report_verdict_word(c);
	const char *of = report_has_time(c) ? report_of_processes(a, c) : NULL;
	const char *other = is_other ? report_words_beside(a, own, l) : NULL;
	const char *beside = arena_join(a, other, ", ", report_words_beyond(a, c->own_qualifiers, other));

	text_addf(out, "<td class=\"%s%s%s\" data-label=\"%s\"><a href=\"#cell-%lld\" title=\"%s on %s: %s%s%s%s%s%s%s%s\">",
		html_cell_class(c), c == l->best && c->is_fastest ? " top" : "", report_software(&c->row) != NULL ? " soft" : "",
		html_esc(a, platform), (long long)c->row.row, html_esc(a, l->name), html_esc(a, c->platform),
		report_verdict_word(c), of != NULL ? ", " : "", html_esc(a, of), c->cause != NULL ? ", " : "",
		html_esc(a, c->cause), c->qualifiers != NULL ? ", " : "", html_esc(a, c->qualifiers),
		is_other ? html_esc(a, arena_printf(a, "; asked otherwise: %s", own->variant)) : "");
	text_addf(out, "<span class=\"mk\">%s</span> <span class=\"%s\">%s%s</span>%s", report_verdict_mark(c),
		report_has_time(c) ? "t" : "w", said, report_has_time(c) && report_is_unstable(c) ? "<sup>~</sup>" : "",
		report_has_time(c) && !is_other ? time_words(a, l) : "");
	if (beside != NULL)
		text_addf(out, "<span class=\"q\">%s</span>", html_esc(a, beside));
	if (c->later != NULL)
		text_addf(out, "<span class=\"q\">later: %s</span>", html_esc(a, c->later));
	text_add(out, "</a></td>");
}

static void variant_chip(
	const struct summary *s, const struct report_line *l, const struct report_variant *v, struct arena *a, struct text *out)
{
	const struct report_cell *c = v->cell;
	const struct report_speed speed = report_speed_against(s, c, report_answer_of(s, l, c->column), a);
	const bool is_claimed = report_claimed(&speed) != 0;
	const char *words = report_words_beside(a, v->line, l);
	const char *beside = report_words_beyond(a, c->own_qualifiers, words), *times = report_times(a, v->times);

	text_addf(out, "<a class=\"vc %s\" href=\"#cell-%lld\" title=\"%s on %s: %s%s%s\"><span class=\"mk\">%s</span> ",
		html_cell_class(c), (long long)c->row.row, html_esc(a, report_line_words(a, v->line)), html_esc(a, c->platform),
		report_verdict_word(c), c->qualifiers != NULL ? ", " : "", html_esc(a, c->qualifiers), report_verdict_mark(c));
	text_addf(out, "<b>%s</b> %s%s on %s", words != NULL ? html_esc(a, words) : "asked otherwise",
		report_has_time(c) ? report_ms(a, c->typical.ms) : report_verdict_word(c),
		report_has_time(c) && report_is_unstable(c) ? "<sup>~</sup>" : "", html_esc(a, c->platform));
	if (beside != NULL)
		text_addf(out, ", %s", html_esc(a, beside));
	if (times != NULL)
		text_addf(out, is_claimed ? " <b>%s</b>" : " %s, no claim", times);
	text_add(out, "</a>");
}

// What the line under the table has to explain.
struct seen {
	size_t timed, models;
	bool bold, unstable, soft, variants;
};

static void variants(const struct summary *s, const struct report_line *l, struct seen *seen, struct arena *a, struct text *out)
{
	struct report_variant *v = ARENA_ARRAY(a, s->line_count + 1, struct report_variant);
	size_t all = report_variants(s, l, v), count = 0;

	for (size_t i = 0; i < all; i++)
		if (v[i].cell != report_answer_of(s, l, v[i].cell->column)) // else it stands above, with its words
			v[count++] = v[i];
	size_t shown = count < VARIANTS ? count : VARIANTS;

	if (count == 0)
		return;
	seen->variants = true;
	text_addf(out, "<tr class=\"vs\"><td colspan=\"%zu\">", s->column_count + 2);
	for (size_t i = 0; i < shown; i++) {
		variant_chip(s, l, &v[i], a, out);
		seen->unstable = seen->unstable || (report_has_time(v[i].cell) && report_is_unstable(v[i].cell));
	}
	if (count > shown)
		text_addf(out, "<a class=\"vc\" href=\"#matrix\">%zu more</a>", count - shown);
	text_add(out, "</td></tr>\n");
}

// ---- the card -------------------------------------------------------------------------------------------------------

static void model_row(const struct summary *s, const struct report_line *l, struct seen *seen, struct arena *a, struct text *out)
{
	const struct report_cell *best = l->best;

	seen->timed += best != NULL;
	seen->bold = seen->bold || (best != NULL && best->is_fastest);
	text_addf(out, "<tr><th scope=\"row\" title=\"%s, %s\">%s%s</th>", html_esc(a, l->name),
		html_esc(a, report_line_words(a, l)), html_esc(a, fitting(a, html_short_name(s, l))),
		l->warning != NULL ? arena_printf(a, "<span class=\"q\">%s</span>", html_esc(a, l->warning)) : "");
	for (size_t k = 0; k < s->column_count; k++) {
		const struct report_cell *c = report_answer_of(s, l, k);
		overview_cell(s, l, c, s->columns[k], a, out);
		seen->unstable = seen->unstable || (c != NULL && report_has_time(c) && report_is_unstable(c));
		seen->soft = seen->soft || (c != NULL && report_has_time(c) && report_software(&c->row) != NULL);
	}
	text_add(out, "</tr>\n");
	variants(s, l, seen, a, out);
}

// "openvino:GPU" is broken behind its colon where it has to be.
static void column_name(const char *name, struct arena *a, struct text *out)
{
	size_t n = strcspn(name, ":");

	text_addf(out, "<th scope=\"col\">%s", html_esc(a, arena_strndup(a, name, n)));
	if (name[n] == ':')
		text_addf(out, ":<wbr>%s", html_esc(a, name + n + 1));
	text_add(out, "</th>");
}

void html_overview(const struct summary *s, struct arena *a, struct text *out)
{
	struct seen seen = { 0 };

	text_addf(out,
		"<section class=\"card runs%s\"><h2 id=\"runs\">What runs</h2><div class=\"slide\"><table class=\"ov %s\" "
		"aria-labelledby=\"runs\"><thead><tr><th scope=\"col\">Model</th>",
		s->column_count <= FEW_COLUMNS ? "" : " whole", s->column_count <= FEW_COLUMNS ? "few" : "many");
	for (size_t k = 0; k < s->column_count; k++)
		column_name(s->columns[k], a, out);
	text_add(out, "</tr></thead><tbody>\n");
	for (size_t i = 0; i < s->line_count; i++) {
		if (!report_speaks_for_model(s, i))
			continue;
		if (++seen.models <= SCREEN_MODELS)
			model_row(s, &s->lines[i], &seen, a, out);
	}
	text_add(out, "</tbody></table></div><p class=\"more\">");
	if (seen.models > SCREEN_MODELS)
		text_addf(out, "<a href=\"#matrix\">%zu more model%s below</a>. ", seen.models - SCREEN_MODELS,
			seen.models - SCREEN_MODELS == 1 ? "" : "s");
	text_addf(out, "%s%s%s%s%s.</p></section>\n", seen.timed > 0 ? "Medians" : "Nothing was timed on hardware",
		seen.bold ? "; bold: best, where it can be told" : "", seen.unstable ? "; <sup>~</sup> unstable" : "",
		seen.soft ? "; <i>italic</i>: by software in the place of hardware" : "",
		seen.variants ? "; below a model what else was asked of it: its fastest, and how many times as fast as the same "
				"platform above, neither unstable; bold where several processes of each say so"
			      : "");
}
