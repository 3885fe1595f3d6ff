// SPDX-License-Identifier: Apache-2.0
// Words of the HTML report: escaping, classes of verdicts, facts of a list. No verdict is told by colour alone.
#include <string.h>

#include "base/visible.h"
#include "report/html/html.h"

const char *html_esc(struct arena *a, const char *s)
{
	struct text out = { 0 }, lines = { 0 };

	visible_add_lines(&lines, s != NULL ? s : "");
	for (s = text_get(&lines); *s != '\0'; s++) {
		switch (*s) {
		case '<':
			text_add(&out, "&lt;");
			break;
		case '>':
			text_add(&out, "&gt;");
			break;
		case '&':
			text_add(&out, "&amp;");
			break;
		case '"':
			text_add(&out, "&quot;");
			break;
		case '\'':
			text_add(&out, "&#39;");
			break;
		default:
			text_add_bytes(&out, s, 1);
		}
	}
	const char *copy = arena_strdup(a, text_get(&out));
	text_done(&lines);
	text_done(&out);
	return copy;
}

const char *html_prose(struct arena *a, const char *s)
{
	const char *from, *to;
	struct text out = { 0 };

	for (s = html_esc(a, s); (from = strchr(s, '`')) != NULL && (to = strchr(from + 1, '`')) != NULL; s = to + 1)
		text_addf(&out, "%.*s<code>%.*s</code>", (int)(from - s), s, (int)(to - from - 1), from + 1);
	text_add(&out, s);
	const char *copy = arena_strdup(a, text_get(&out));
	text_done(&out);
	return copy;
}

// The names, or how many there are.
const char *html_names(struct arena *a, const char *const *items, size_t count, size_t limit, const char *noun)
{
	return count > limit ? arena_printf(a, "%zu %s", count, noun) : html_esc(a, report_join(a, items, count, "and"));
}

// One class for every verdict that is neither right, unjudged, compiles nor wrong: something went bad, or it never could.
const char *html_verdict_class(enum verdict v, bool elsewhere)
{
	if (elsewhere)
		return "v-bad";
	switch (v) {
	case VERDICT_RIGHT:
		return "v-right";
	case VERDICT_WRONG:
		return "v-wrong";
	case VERDICT_UNJUDGED:
		return "v-unjudged";
	case VERDICT_COMPILES:
		return "v-compiles";
	case VERDICT_LOSSY:
	case VERDICT_FELL_BACK:
	case VERDICT_NO_MEMORY:
	case VERDICT_TIMEOUT:
	case VERDICT_CRASHED:
	case VERDICT_FAILED:
		return "v-bad";
	case VERDICT_UNAVAILABLE:
	case VERDICT_UNSUPPORTED:
	case VERDICT_NOT_ASKED:
	case VERDICT_INTERRUPTED:
		return "v-off";
	case VERDICT_COUNT:
		break;
	}
	return "v-running";
}

const char *html_cell_class(const struct report_cell *c)
{
	if (c->is_good && c->is_not_valid)
		return "v-bad";
	return c->is_foreign ? "v-unjudged" : html_verdict_class(c->verdict, c->is_elsewhere || c->is_stand_in);
}

void html_fact(struct text *out, struct arena *a, const char *name, const char *content)
{
	if (content != NULL && *content != '\0')
		text_addf(out, "<dt>%s</dt><dd>%s</dd>", name, html_esc(a, content));
}
