// SPDX-License-Identifier: Apache-2.0
// side.h: words to a condition, and the rows that meet it. Words go into the statement as parameters, numbers as numbers.
#include "store/side.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "store/transaction.h"

enum { MOST_TERMS = 16 };

struct condition {
	struct text sql;
	struct db_parameter parameter[MOST_TERMS];
	size_t count;
};

static enum status nonsense(const char *term, struct error *err)
{
	struct text words = { 0 };

#define X(word, what) text_addf(&words, "%s%s", words.length ? "; " : "", word);
	SIDE_LIST(X)
#undef X
	enum status status =
		error_set(err, STATUS_BAD_INPUT, "'%s' chooses no rows. There are: %s; joined with +", term, text_get(&words));
	text_done(&words);
	return status;
}

// "3,5..7" of numbers in `column`.
static bool add_numbers(struct condition *c, const char *column, const char *list)
{
	bool any = false;

	text_add(&c->sql, "(");
	for (const char *at = list; *at;) {
		char *end;
		long long low, high;

		if (*at < '0' || *at > '9')
			return false;
		low = high = strtoll(at, &end, 10);
		if (strncmp(end, "..", 2) == 0) {
			if (end[2] < '0' || end[2] > '9')
				return false;
			high = strtoll(end + 2, &end, 10);
		}
		if (*end && (*end != ',' || !end[1]))
			return false;
		text_addf(&c->sql, "%s%s BETWEEN %lld AND %lld", any ? " OR " : "", column, low, high);
		at = end + (*end == ',');
		any = true;
	}
	text_add(&c->sql, ")");
	return any;
}

static void add_text(struct condition *c, const char *sql, const char *text)
{
	text_add(&c->sql, sql);
	c->parameter[c->count++].text = text;
}

static enum status add_term(struct condition *c, struct arena *a, const char *term, struct side *out, struct error *err)
{
	const char *colon = strchr(term, ':'), *rest = colon ? colon + 1 : NULL;
	size_t n = colon ? (size_t)(colon - term) : 0;

	text_add(&c->sql, " AND ");
	if (colon && !*rest)
		return nonsense(term, err);
	if (!colon) {
		out->by_number = true;
		return add_numbers(c, "r.id", term) ? STATUS_OK : nonsense(term, err);
	}
	if (text_is(term, "run:last")) {
		text_add(&c->sql, "r.run = (SELECT max(run) FROM result)");
		return STATUS_OK;
	}
	if (n == 3 && text_starts(term, "run"))
		return add_numbers(c, "r.run", rest) ? STATUS_OK : nonsense(term, err);
	if (n == 7 && text_starts(term, "version"))
		add_text(c, "r.run IN (SELECT id FROM run WHERE program_version = ?)", rest);
	else if (n == 6 && text_starts(term, "commit"))
		add_text(c, "r.run IN (SELECT id FROM run WHERE starts_with(program_commit, ?))", rest);
	else if (n == 7 && text_starts(term, "machine"))
		add_text(c, "starts_with(r.machine, ?)", rest);
	else if (n == 5 && text_starts(term, "model"))
		add_text(c, "r.model = ?", rest);
	else if (n == 2 && text_starts(term, "on")) {
		const char *device = strchr(rest, ':');

		out->by_platform = true;
		add_text(c, "r.requested = ?", device ? arena_strndup(a, rest, (size_t)(device - rest)) : rest);
		if (device)
			add_text(c, " AND c.device = ?", device + 1);
	} else {
		return nonsense(term, err);
	}
	return STATUS_OK;
}

static enum status make_condition(struct condition *c, struct arena *a, const char *words, struct side *out, struct error *err)
{
	char *rest = arena_strdup(a, words ? words : ""), *term;
	enum status status = STATUS_OK;

	text_add(&c->sql, "TRUE");
	while (status == STATUS_OK && (term = strsep(&rest, "+")) != NULL) {
		if (!*term && !words)
			continue;
		if (!*term || c->count + 2 > MOST_TERMS)
			return nonsense(words, err);
		status = add_term(c, a, term, out, err);
	}
	return status;
}

static enum status take_samples(struct db *d, struct arena *a, const char *ids, struct side *out, struct error *err)
{
	struct table t;
	enum status status = db_query(d, a,
		arena_printf(a,
			"SELECT s.cell, s.ms FROM sample s JOIN (SELECT cell, max(event) AS event FROM sample WHERE cell IN (%s)"
			" GROUP BY cell) AS last ON last.cell = s.cell AND last.event = s.event ORDER BY s.cell, s.number",
			ids),
		NULL, 0, &t, err);

	for (size_t i = 0, k = 0; status == STATUS_OK && i < t.row_count;) {
		int64_t cell = table_integer(&t, i, "cell");
		size_t end = i;

		while (end < t.row_count && table_integer(&t, end, "cell") == cell)
			end++;
		while (k < out->count && out->rows[k].row.row < cell)
			k++;
		if (k < out->count && out->rows[k].row.row == cell) {
			out->rows[k].ms = ARENA_ARRAY(a, end - i, double);
			for (; i < end; i++)
				if (table_real(&t, i, "ms") > 0)
					out->rows[k].ms[out->rows[k].ms_count++] = table_real(&t, i, "ms");
		}
		i = end;
	}
	return status;
}

static void take_run(struct side_row *r, const struct table *runs)
{
	for (size_t i = 0; i < runs->row_count; i++)
		if (table_integer(runs, i, "id") == r->run) {
			r->hostname = table_get(runs, i, "hostname");
			r->version = table_get(runs, i, "program_version");
			r->commit = table_get(runs, i, "program_commit");
		}
}

// Rows and timed runs are counted before they are read: 100,000 rows took 1.6 GB.
static enum status count_rows(struct db *d, struct arena *a, const struct condition *c, const char *from, bool with_samples,
	const struct side *out, struct error *err)
{
	enum { ROWS_MOST = 5000, SAMPLES_MOST = 2000000 };
	const char *chosen = out->words ? out->words : "all rows";
	struct table t;
	enum status status = db_query(
		d, a, arena_printf(a, "SELECT CAST(count(*) AS VARCHAR) AS n %s", from), c->parameter, c->count, &t, err);

	if (status == STATUS_OK && table_integer(&t, 0, "n") > ROWS_MOST)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: %s are %lld rows, and at most %d are taken: choose fewer, for instance with +model:NAME or "
			"+on:PLATFORM",
			out->path, chosen, (long long)table_integer(&t, 0, "n"), ROWS_MOST);
	if (status == STATUS_OK && with_samples)
		status = db_query(d, a,
			arena_printf(
				a, "SELECT CAST(count(*) AS VARCHAR) AS n FROM sample s WHERE s.cell IN (SELECT r.id %s)", from),
			c->parameter, c->count, &t, err);
	if (status == STATUS_OK && with_samples && table_integer(&t, 0, "n") > SAMPLES_MOST)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: %s hold %lld timed runs, and at most %d are taken: choose fewer rows", out->path, chosen,
			(long long)table_integer(&t, 0, "n"), SAMPLES_MOST);
	return status;
}

static enum status take_rows(struct db *d, struct arena *a, struct condition *c, bool with_samples, struct side *out,
	const char **ids, struct error *err)
{
	// Three statements and not one join: a file of an older assay that cannot be brought up to date lacks some of the
	// columns.
	const char *from = arena_printf(a, "FROM result r JOIN cell c ON c.id = r.id WHERE %s", text_get(&c->sql));
	struct table t, cells, runs;
	struct text list = { 0 };
	struct error why = { 0 };
	enum status status = count_rows(d, a, c, from, with_samples, out, err);

	if (status == STATUS_OK)
		status = db_query(d, a,
			arena_printf(a,
				"SELECT r.*, strftime(r.finished_at, '%%Y-%%m-%%d %%H:%%M:%%S') AS measured_at %s ORDER BY r.id",
				from),
			c->parameter, c->count, &t, err);

	if (status == STATUS_OK)
		status =
			db_query(d, a, arena_printf(a, "SELECT c.* %s ORDER BY c.id", from), c->parameter, c->count, &cells, err);
	if (status == STATUS_OK)
		status = db_query(d, a, "SELECT * FROM run", NULL, 0, &runs, err);
	if (status != STATUS_OK)
		return status;
	out->rows = ARENA_ARRAY(a, t.row_count + 1, struct side_row);
	for (size_t i = 0; i < t.row_count && i < cells.row_count; i++) {
		struct side_row *r = &out->rows[out->count];

		table_row(&t, i, &r->row);
		r->verdict = r->row.verdict ? verdict_find(r->row.verdict) : VERDICT_INTERRUPTED;
		if (!verdict_answers(r->verdict) || r->verdict == VERDICT_COUNT) {
			out->unfinished++;
			continue;
		}
		if (question_of(&r->question, a, &cells, i, &why) != STATUS_OK) {
			out->unreadable++;
			continue;
		}
		r->run = table_integer(&t, i, "run");
		r->machine = table_get(&t, i, "machine");
		r->is_imported = text_is(table_get(&t, i, "imported"), "true");
		r->measured_at = table_get(&t, i, "measured_at");
		r->asked_device = table_get(&cells, i, "device");
		take_run(r, &runs);
		text_addf(&list, "%s%lld", list.length ? "," : "", (long long)r->row.row);
		out->imported += r->is_imported;
		out->count++;
	}
	*ids = arena_strdup(a, text_get(&list));
	text_done(&list);
	return status;
}

enum status store_side(
	struct store *s, struct arena *a, const char *words, bool with_samples, struct side *out, struct error *err)
{
	struct condition c = { 0 };
	struct db d = { 0 };
	const char *ids = "";

	*out = (struct side){ .path = arena_strdup(a, s->path), .words = words };
	enum status status = make_condition(&c, a, words, out, err);
	if (status == STATUS_OK)
		status = transaction_begin(s, false, &d, err);
	if (status == STATUS_OK) {
		status = take_rows(&d, a, &c, with_samples, out, &ids, err);
		if (status == STATUS_OK && with_samples && out->count > 0)
			status = take_samples(&d, a, ids, out, err);
		db_close(&d);
	}
	text_done(&c.sql);
	if (status == STATUS_OK && out->unreadable > 0 && s->notice != NULL)
		s->notice(s->context,
			arena_printf(a, "%s: %zu row%s left out, whose column `question` is no JSON object", out->path,
				out->unreadable, out->unreadable == 1 ? " is" : "s are"));
	if (status == STATUS_OK && out->count + out->unfinished + out->unreadable == 0)
		return error_set(err, STATUS_BAD_INPUT, "%s has no rows %s", s->path, words ? words : "at all");
	return status;
}
