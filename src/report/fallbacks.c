// SPDX-License-Identifier: Apache-2.0
// What ran instead of what was asked for: chains of fallbacks with every try, silent fallbacks, and cells of which only a part
// ran on the platform.
#include "question/standing.h"
#include "base/json.h"
#include "report/gather.h"

static const char *platform_of(const struct row *r)
{
	return r->tried != NULL ? r->tried : r->actual != NULL ? r->actual : r->requested != NULL ? r->requested : "?";
}

// "cuda, openvino, cpu" as this program's platform table has it.
static const char *chain_of(struct arena *a, const char *requested)
{
	const struct platform *p = requested != NULL ? platform_find(requested) : NULL;
	const char *out = requested != NULL ? requested : "?";

	for (size_t i = 0; p != NULL && i < sizeof p->fallback / sizeof *p->fallback && p->fallback[i] != NULL; i++)
		out = arena_printf(a, "%s, %s", out, p->fallback[i]);
	return out;
}

static const char *cost_of(struct arena *a, const struct row *r)
{
	double x = r->fallback_factor;

	if (!(x > 0))
		return "";
	return arena_printf(a, ", %.2f times %s the last of %s%s", x >= 1 ? x : 1 / x, x >= 1 ? "as slow as" : "as fast as",
		r->requested,
		r->fallback_against != ROW_NONE ? arena_printf(a, " (row %lld)", (long long)r->fallback_against) : "");
}

const char *report_try_words(struct arena *a, const struct report_try *t)
{
	const char *qualifiers = row_qualifiers(a, &t->row, QUALIFY_ALL), *latency = report_ms(a, t->row.latency_ms);
	const char *out = arena_printf(a, "%s: %s", t->platform, t->is_running ? "running" : verdict_word(t->verdict));

	if (t->row.actual != NULL && !text_is(t->row.actual, t->platform))
		out = arena_printf(a, "%s, it ran on %s", out, t->row.actual);
	if (t->row.batch != ROW_NONE && t->row.attempt > 1 && t->row.fallback_reason != NULL && t->row.batch > 1)
		out = arena_printf(a, "%s, batch %lld", out, (long long)t->row.batch);
	if (latency != NULL)
		out = arena_printf(a, "%s, %s%s%s", out, latency, text_is(t->row.stability, "unstable") ? ", unstable" : "",
			cost_of(a, &t->row));
	else if (t->row.cause != NULL)
		out = arena_printf(a, "%s: %s", out, t->row.cause);
	return report_qualified(a, out, qualifiers);
}

static struct report_cell *cell_of(struct summary *out, int64_t row)
{
	for (size_t i = 0; i < out->cell_count; i++)
		if (out->cells[i].row.row == row)
			return &out->cells[i];
	return NULL;
}

static struct report_fallback *add(struct summary *out, struct arena *a, struct report_cell *c, size_t most)
{
	struct report_fallback *f = &out->fallbacks[out->fallback_count++];

	*f = (struct report_fallback){
		.cell = c, .chain = chain_of(a, c->row.requested), .tries = ARENA_ARRAY(a, most + 1, struct report_try)
	};
	c->fallback = f;
	return f;
}

// Rows of one question follow each other.
static size_t tries_of(const struct table *t, size_t first)
{
	size_t n = 1;

	while (first + n < t->row_count && table_integer(t, first + n, "fallback_of") == table_integer(t, first, "fallback_of"))
		n++;
	return n;
}

static bool is_silent(const struct report_cell *c)
{
	return !c->is_running && c->row.actual != NULL && !text_is(c->row.actual, c->row.requested);
}

// Of tries at the same place in a chain (one had no answer) the last counts. Those of a cell that has been asked anew are old.
enum status summary_take_fallbacks(struct store *s, struct summary *out, struct error *err)
{
	static const char sql[] =
		"SELECT * FROM result WHERE id IN (SELECT id FROM (SELECT id, fallback_of, attempt FROM result"
		" WHERE fallback_of IN (SELECT id FROM " REPORT_CHOSEN
		") QUALIFY row_number() OVER (PARTITION BY fallback_of, attempt"
		" ORDER BY CASE WHEN state = 'running' OR verdict IN " VERDICT_NO_ANSWER_SQL " THEN 1 ELSE 0 END, id DESC) = 1)"
		" ORDER BY id DESC LIMIT %d) ORDER BY fallback_of, attempt";
	struct arena *a = &s->arena;
	struct table t;
	enum status status = store_query(s, arena_printf(a, sql, REPORT_QUESTIONS), &t, err);

	if (status != STATUS_OK)
		return status;
	out->fallbacks = ARENA_ARRAY(a, t.row_count + out->cell_count + 1, struct report_fallback);
	for (size_t i = 0; i < t.row_count; i++) {
		struct report_cell *c = cell_of(out, table_integer(&t, i, "fallback_of"));
		struct report_fallback *f;
		if (c == NULL)
			continue;
		if (c->fallback == NULL)
			add(out, a, c, tries_of(&t, i));
		f = &out->fallbacks[c->fallback - out->fallbacks];
		struct report_try *y = &f->tries[f->try_count];
		table_row(&t, i, &y->row);
		y->platform = platform_of(&y->row);
		y->is_running = y->row.verdict == NULL;
		y->verdict = y->is_running ? VERDICT_COUNT : verdict_find(y->row.verdict);
		if (y->verdict == VERDICT_COUNT && !y->is_running) {
			out->left_out++; // no word of this assay
			continue;
		}
		f->try_count++;
		bool there = y->row.actual == NULL || text_is(y->row.actual, y->platform);
		if (y->verdict == VERDICT_WRONG || (!y->is_running && verdict_exit_code(y->verdict) == 0 && there))
			f->answer = y;
	}
	for (size_t i = 0; i < out->cell_count; i++)
		if (out->cells[i].fallback == NULL && is_silent(&out->cells[i]))
			add(out, a, &out->cells[i], 0);
	for (size_t i = 0; i < out->fallback_count; i++) {
		struct report_fallback *f = &out->fallbacks[i];
		f->got = f->answer != NULL ? report_try_words(a, f->answer)
			: f->try_count > 0 ? "none of the chain answered"
					   : arena_printf(a, "%s ran, %s", f->cell->row.actual,
						     f->cell->row.fallback_allowed == 1 ? "allowed by --allow-fallback"
											: "silently: nobody asked for it");
	}
	return STATUS_OK;
}

// [{"op","dtype","count","reason"}, ...] in words: "Gather i64 (4): REASON".
static const char *refused_words(struct arena *a, const char *text)
{
	json_t *list = json_parse(text), *item;
	const char *out = "";
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *op = json_string_value(json_object_get(item, "op")),
			   *dtype = json_string_value(json_object_get(item, "dtype"));
		const char *reason = json_string_value(json_object_get(item, "reason"));
		out = arena_printf(a, "%s%s%s%s%s (%lld)%s%s", out, *out ? "; " : "", op != NULL ? op : "?",
			dtype != NULL ? " " : "", dtype != NULL ? dtype : "",
			(long long)json_integer_value(json_object_get(item, "count")), reason != NULL ? ": " : "",
			reason != NULL ? reason : "");
	}
	json_decref(list);
	return *out ? out : "the engine does not say which";
}

void summary_gather_partials(struct summary *out, struct arena *a)
{
	out->partials = ARENA_ARRAY(a, out->cell_count + 1, struct report_partial);
	for (size_t i = 0; i < out->cell_count; i++) {
		const struct row *r = &out->cells[i].row;
		if (r->nodes_elsewhere == ROW_NONE || r->nodes_elsewhere <= 0 || r->actual == NULL)
			continue; // what --no-fallback refuses did not run
		out->partials[out->partial_count++] = (struct report_partial){ &out->cells[i],
			arena_join(a, out->cells[i].platform, ", ", out->cells[i].question.cell.question.pipeline_parts),
			arena_printf(a, "%lld of %lld", (long long)r->nodes_elsewhere,
				(long long)(r->nodes != ROW_NONE ? r->nodes : r->nodes_elsewhere)),
			r->answer_parts && r->placement_note ? r->placement_note : refused_words(a, r->refused) };
	}
}
