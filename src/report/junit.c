// SPDX-License-Identifier: Apache-2.0
// The report as JUnit XML for continuous integration: a suite a platform, a case a cell.
//
//   wrong, lossy, failed,               failure    assay was asked whether it runs right, and it does not
//   ran elsewhere, NOT VALID
//   crashed, timeout, not_asked,        error      no answer came
//   interrupted
//   unavailable, unsupported,           skipped    an answer, with its reason, and no fault
//   no_memory, compiles, unjudged,
//   still running, stood in,
//   imported, the null engine
//   right                               passed; also elsewhere, where --allow-fallback was given, and
//                                       says where
#include <math.h>

#include "base/visible.h"
#include "report/gather.h"

// XML 1.0 has no way to write a control character: it is shown as an escape (base/visible.h).
static const char *esc(struct arena *a, const char *s)
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
		case '\n':
			text_add(&out, "&#10;");
			break;
		case '\t':
			text_add(&out, "&#9;");
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

enum outcome { PASSED, FAILURE, ERROR, SKIPPED };

static enum outcome outcome_of(const struct report_cell *c)
{
	if (c->is_running || c->is_foreign || c->is_imported || c->is_stand_in)
		return SKIPPED;
	switch (c->verdict) {
	case VERDICT_RIGHT:
		return report_computes_nothing(c)                    ? SKIPPED
			: c->is_not_valid                            ? FAILURE
			: c->is_good || c->row.fallback_allowed == 1 ? PASSED
								     : FAILURE;
	case VERDICT_FELL_BACK:
		return FAILURE;
	case VERDICT_UNJUDGED:
		return c->is_elsewhere && c->row.fallback_allowed != 1 ? FAILURE : SKIPPED;
	case VERDICT_WRONG:
	case VERDICT_LOSSY:
	case VERDICT_FAILED:
		return FAILURE;
	case VERDICT_CRASHED:
	case VERDICT_TIMEOUT:
	case VERDICT_NOT_ASKED:
	case VERDICT_INTERRUPTED:
		return ERROR;
	case VERDICT_COMPILES:
	case VERDICT_UNAVAILABLE:
	case VERDICT_UNSUPPORTED:
	case VERDICT_NO_MEMORY:
		return SKIPPED;
	case VERDICT_COUNT:
		break;
	}
	return ERROR;
}

static double seconds(const struct report_cell *c)
{
	return c->row.wall_ms > 0 ? c->row.wall_ms / 1000 : 0;
}

// Facts that a person looks for in a log.
static void facts(const struct report_cell *c, struct arena *a, struct text *out)
{
	const struct row *r = &c->row;
	const char *latency = report_latency(a, r), *peak = report_mib(a, row_peak_mib(r));

	text_addf(out, "      <system-out>row %lld", (long long)r->row);
	if (latency != NULL)
		text_addf(out, "&#10;median %s%s", latency, report_is_unstable(c) ? ", unstable" : "");
	if (c->p90 != NULL)
		text_addf(out, "&#10;90th percentile %s", esc(a, c->p90));
	if (peak != NULL)
		text_addf(out, "&#10;%s %s", isnan(r->peak_resident_mib) ? "proportional memory" : "peak memory", peak);
	if (c->agreement != NULL)
		text_addf(out, "&#10;%s", esc(a, c->agreement));
	if (c->is_elsewhere && c->row.fallback_allowed == 1)
		text_addf(out, "&#10;ran on %s instead of %s, allowed by --allow-fallback", esc(a, c->row.actual),
			esc(a, c->row.requested));
	if (c->is_elsewhere && c->cause != NULL)
		text_addf(out, "&#10;%s", esc(a, c->cause));
	if (c->verdict == VERDICT_UNJUDGED && !c->is_foreign)
		text_add(out, "&#10;unjudged: there was nothing to compare its outputs with");
	if (c->qualifiers != NULL)
		text_addf(out, "&#10;%s", esc(a, c->qualifiers));
	text_addf(out, "&#10;%s</system-out>\n", esc(a, report_command(a, c)));
}

// "bert (batch 1, 128 tokens, f32)": of a pipeline also its options and what it was asked.
static const char *name_of(const struct summary *s, const struct report_cell *c, struct arena *a)
{
	const struct report_line *l = &s->lines[c->line];
	const char *words = arena_join(a, *l->variant != '\0' ? l->variant : NULL, "; ", report_pipeline_words(a, c));

	words = arena_join(a, words, "; ", c->qualifiers);
	return words != NULL ? arena_printf(a, "%s (%s)", l->name, words) : l->name;
}

// Systems of continuous integration take two cases of one name for one: those have their rows in it.
static const char **names_of(const struct summary *s, struct arena *a)
{
	const char **out = ARENA_ARRAY(a, s->cell_count + 1, const char *);
	bool *alike = ARENA_ARRAY(a, s->cell_count + 1, bool);

	for (size_t i = 0; i < s->cell_count; i++) {
		out[i] = name_of(s, &s->cells[i], a);
		for (size_t k = 0; k < i; k++)
			if (text_is(out[k], out[i]) && text_is(s->cells[k].platform, s->cells[i].platform))
				alike[k] = alike[i] = true;
	}
	for (size_t i = 0; i < s->cell_count; i++)
		if (alike[i])
			out[i] = arena_printf(a, "%s, row %lld", out[i], (long long)s->cells[i].row.row);
	return out;
}

static void test_case(const char *name, const struct report_cell *c, struct arena *a, struct text *out)
{
	static const char nothing[] = "nothing was computed: the null engine, which was asked for, only answers";
	static const char *const tags[] = { [FAILURE] = "failure", [ERROR] = "error", [SKIPPED] = "skipped" };
	enum outcome o = outcome_of(c);
	const char *cause = c->is_running                                   ? "still running"
		: c->is_imported && verdict_ran(c->verdict)                 ? "imported from another database of assay"
		: c->cause != NULL                                          ? c->cause
		: c->verdict == VERDICT_RIGHT && report_computes_nothing(c) ? nothing
									    : verdict_sentence(c->verdict),
		   *word = report_verdict_word(c);

	text_addf(out, "    <testcase classname=\"assay.%s\" name=\"%s\" time=\"%.3f\">\n", esc(a, c->platform), esc(a, name),
		seconds(c));
	if (o == SKIPPED)
		text_addf(out, "      <skipped message=\"%s: %s\"/>\n", word, esc(a, cause));
	else if (o != PASSED)
		text_addf(out, "      <%s type=\"%s\" message=\"%s%s %s\">%s</%s>\n", tags[o], word,
			c->is_not_valid ? "right" : word, c->is_not_valid ? "," : ":", esc(a, cause),
			esc(a,
				c->is_not_valid                    ? cause
					: c->row.worst != NULL     ? c->row.worst
					: c->row.raw_error != NULL ? c->row.raw_error
								   : cause),
			tags[o]);
	facts(c, a, out);
	if (o != PASSED && c->row.stderr_tail != NULL && *c->row.stderr_tail != '\0')
		text_addf(out, "      <system-err>%s</system-err>\n", esc(a, c->row.stderr_tail));
	text_add(out, "    </testcase>\n");
}

static void counts(const struct summary *s, const char *platform, struct text *out)
{
	size_t n[4] = { 0 }, all = 0;
	double time = 0;

	for (size_t i = 0; i < s->cell_count; i++) {
		if (platform != NULL && !text_is(s->cells[i].platform, platform))
			continue;
		n[outcome_of(&s->cells[i])]++;
		time += seconds(&s->cells[i]);
		all++;
	}
	text_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\"", all, n[FAILURE], n[ERROR],
		n[SKIPPED], time);
}

void report_junit(const struct summary *s, struct arena *a, struct text *out)
{
	const char **names = names_of(s, a);

	text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\"");
	counts(s, NULL, out);
	text_add(out, ">\n");
	for (size_t k = 0; k < s->column_count; k++) {
		text_addf(out, "  <testsuite name=\"%s\"", esc(a, s->columns[k]));
		counts(s, s->columns[k], out);
		text_add(out, ">\n");
		for (size_t i = 0; i < s->cell_count; i++)
			if (text_is(s->cells[i].platform, s->columns[k]))
				test_case(names[i], &s->cells[i], a, out);
		text_add(out, "  </testsuite>\n");
	}
	text_add(out, "</testsuites>\n");
}
