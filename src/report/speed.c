// SPDX-License-Identifier: Apache-2.0
// How many times as fast: the rows of one question are processes with samples, and two questions are compared by stats/compare.c.
// Rows were not taken in alternation, so a machine that drifted counts as a difference; where a line of `comparison` answers the
// same with interleaved processes, that line is taken. With one process a side nothing is claimed.
#include <math.h>
#include <string.h>

#include "question/standing.h"
#include "base/json.h"
#include "report/gather.h"
#include "stats/order.h"
#include "stats/stats.h"

// Of a question the newest processes, and of each so many of its runs, spread over all of them: bounds what a report takes from a
// large database.
enum { PROCESSES_MOST = 12, SAMPLES_MOST = 64 };

static size_t take_samples(struct arena *a, const char *list, struct compare_process *p)
{
	json_t *values = json_parse(list), *v;
	double *ms = ARENA_ARRAY(a, json_array_size(values) + 1, double);
	size_t i, n = 0;

	json_array_foreach(values, i, v)
	{
		double x = json_number_value(v);
		if (x > 0)
			ms[n++] = x;
	}
	json_decref(values);
	*p = (struct compare_process){ ms, n };
	return n;
}

static struct report_typical typical_of(const struct report_cell *c, struct arena *a)
{
	const struct row *r = &c->row;
	double *medians = ARENA_ARRAY(a, c->process_count + 1, double);

	if (c->process_count < 2 || !(r->latency_ms > 0))
		return (struct report_typical){ r->latency_ms, r->latency_min_ms, r->latency_max_ms, 1 };
	for (size_t i = 0; i < c->process_count; i++)
		medians[i] = c->process_ms[i] > 0 ? c->process_ms[i] : stats_median(c->processes[i].ms, c->processes[i].count);
	order_ascending(medians, c->process_count);
	return (struct report_typical){ order_quantile(medians, c->process_count, 0.5), medians[0], medians[c->process_count - 1],
		c->process_count };
}

double report_slower(const struct report_cell *c)
{
	return c->typical.processes > 1 ? c->typical.ms / c->row.latency_ms : 1;
}

double report_per_s(const struct report_cell *c)
{
	return row_median_per_s(&c->row) / report_slower(c);
}

const char *report_of_processes(struct arena *a, const struct report_cell *c)
{
	const struct report_typical *t = &c->typical;

	return t->processes > 1 ? arena_printf(a, "median of %zu processes, %s to %s", t->processes, report_ms(a, t->low_ms),
					  report_ms(a, t->high_ms))
				: NULL;
}

const char *report_typical_spread(struct arena *a, const struct report_cell *c)
{
	const char *of = report_of_processes(a, c);

	return of == NULL ? report_spread(a, &c->row) : report_is_unstable(c) ? arena_printf(a, "%s, unstable", of) : of;
}

// Rows that ran alike: the same question, engine, version, options and form, on the same machine.
enum status summary_take_processes(struct store *s, struct summary *out, struct error *err)
{
	struct arena *a = &s->arena;
	// The SQL is laid out by hand.
	// clang-format off
	const char *sql = arena_printf(a,
		"WITH q AS (SELECT arg_max({'id': r.id, 'ms': r.latency_ms, 'n': r.samples,"
		" 'unstable': COALESCE(r.stability = 'unstable', FALSE)}, r.id, %d) AS rows" QUESTION_FROM_SQL
		" WHERE r.fallback_of IS NULL AND " ROW_COUNTS_SQL("r.") " AND r.scenario IS NULL"
		" GROUP BY %s, r.engine, r.engine_version, hash(r.options), r.form, r.model_sha256),"
		" p AS (SELECT rows[1].id AS latest, unnest(rows, recursive := true) FROM q)"
		" SELECT p.latest, p.id, p.ms, p.unstable, CAST(arg_min(s.ms, s.number, %d) AS VARCHAR) AS samples"
		" FROM p JOIN sample s ON s.cell = p.id"
		" WHERE p.latest IN (SELECT id FROM " REPORT_CHOSEN
		") AND s.number %% greatest(1, (COALESCE(p.n, 1) + %d - 1) // %d) = 0 AND s.ms > 0"
		" GROUP BY ALL ORDER BY p.latest, p.id",
		PROCESSES_MOST, out->apart, SAMPLES_MOST, SAMPLES_MOST, SAMPLES_MOST);
	// clang-format on
	struct table t;
	enum status status = store_query(s, sql, &t, err);

	if (status != STATUS_OK)
		return status;
	for (size_t i = 0, c = 0; i < t.row_count; i++) {
		int64_t latest = table_integer(&t, i, "latest");
		while (c < out->cell_count && out->cells[c].row.row < latest) // both are in the order of row numbers
			c++;
		if (c == out->cell_count)
			break;
		struct report_cell *cell = &out->cells[c];
		if (cell->row.row != latest)
			continue;
		if (cell->processes == NULL) {
			cell->processes = ARENA_ARRAY(a, PROCESSES_MOST, struct compare_process);
			cell->process_ms = ARENA_ARRAY(a, PROCESSES_MOST, double);
		}
		cell->process_ms[cell->process_count] = table_real(&t, i, "ms");
		if (take_samples(a, table_get(&t, i, "samples"), &cell->processes[cell->process_count]) == 0)
			continue;
		cell->process_count++;
		cell->unstable_count += text_is(table_get(&t, i, "unstable"), "true");
	}
	for (size_t i = 0; i < out->cell_count; i++)
		out->cells[i].typical = typical_of(&out->cells[i], a);
	return STATUS_OK;
}

static const char *claim_of(struct arena *a, const struct report_speed *s, enum compare_verdict v)
{
	if (s->processes <= 1 && s->other_processes <= 1)
		return "one process each: no claim";
	if (s->processes < COMPARE_LEAST || s->other_processes < COMPARE_LEAST)
		return arena_printf(
			a, "%zu and %zu processes: too few for a claim (%d)", s->processes, s->other_processes, COMPARE_LEAST);
	// compare.c speaks of B, the other side, against A, this one.
	return v == COMPARE_SLOWER ? "faster" : v == COMPARE_FASTER ? "slower" : compare_word(v);
}

static bool is_of_files(const struct report_comparison *c, const struct row *r)
{
	return c->first_sha256 == NULL ||
		(text_agree(c->first_sha256, r->model_sha256) && text_agree(c->last_sha256, r->model_sha256));
}

// A line of `comparison` between just these two; NULL: there is none. *swapped: its A is the other one.
static const struct store_comparison *paired(
	const struct summary *s, const struct report_cell *c, const struct report_cell *other, bool *swapped)
{
	const struct store_comparison *found = NULL;

	for (size_t i = 0; i < s->comparison_count; i++) {
		const struct store_comparison *l = &s->comparisons[i].line;
		bool ab = text_is(l->requested_a, c->row.requested) && text_is(l->requested_b, other->row.requested);
		bool ba = text_is(l->requested_b, c->row.requested) && text_is(l->requested_a, other->row.requested);
		// The side's name is the platform's and a device's, and nothing else was asked for: no option, shape, precision
		// or threads.
		bool plain = l->side_a && l->side_b && !strchr(l->side_a, ' ') && !strchr(l->side_b, ' ');
		bool alike = text_is(l->model, c->row.model) && l->batch == c->row.batch && l->sequence == c->row.sequence &&
			l->layers == c->row.layers && (l->synthetic == 1) == text_is(c->row.weights, "synthetic");
		alike = alike && s->comparisons[i].is_imported == c->is_imported &&
			text_agree(s->comparisons[i].machine, c->machine) && is_of_files(&s->comparisons[i], &c->row) &&
			is_of_files(&s->comparisons[i], &other->row);
		if (text_is(c->row.requested, other->row.requested) || !(ab || ba) || !plain || !alike ||
			!text_is(l->metric, "latency_ms") || !(l->ratio > 0) || c->row.precision != NULL ||
			c->row.threads != ROW_NONE || c->row.image_size != ROW_NONE || c->question.own_options != NULL ||
			c->question.cell.is_static || c->question.cell.is_dynamic)
			continue;
		found = l;
		*swapped = ba;
	}
	return found;
}

// Equal questions may be computed in unlike types: no ratio stands without saying so.
static const char *arithmetic_of(struct arena *a, const struct row *r, const struct row *other)
{
	const char *in = report_computed_in(r), *other_in = report_computed_in(other);

	if (in == NULL || other_in == NULL || text_is(in, other_in) || !text_is(r->precision, other->precision))
		return NULL;
	return arena_printf(a, "%s against %s", in, other_in);
}

struct report_speed report_speed_against(
	const struct summary *s, const struct report_cell *c, const struct report_cell *other, struct arena *a)
{
	struct report_speed out = { .times = (double)NAN, .low = (double)NAN, .high = (double)NAN };
	struct comparison x = { .low = (double)NAN, .high = (double)NAN };
	struct error ignored = { 0 }; // what cannot be compared has no interval
	enum compare_verdict v = COMPARE_CANNOT_TELL;
	bool swapped = false;
	const struct store_comparison *l;

	if (c == NULL || other == NULL || !text_agree(c->row.model_sha256, other->row.model_sha256) || !(c->row.latency_ms > 0) ||
		!(other->row.latency_ms > 0) || !report_same_length(c, other))
		return out;
	out.times = other->typical.ms / c->typical.ms;
	out.processes = c->typical.processes;
	out.other_processes = other->typical.processes;
	if ((l = paired(s, c, other, &swapped)) != NULL) {
		out.times = swapped ? 1 / l->ratio : l->ratio;
		out.low = swapped ? 1 / l->high : l->low;
		out.high = swapped ? 1 / l->low : l->high;
		out.processes = out.other_processes = l->pairs > 0 ? (size_t)l->pairs : 0;
		out.is_paired = true;
		v = compare_find(l->verdict);
		if (swapped)
			v = v == COMPARE_FASTER ? COMPARE_SLOWER : v == COMPARE_SLOWER ? COMPARE_FASTER : v;
	} else if (c->process_count >= COMPARE_LEAST && other->process_count >= COMPARE_LEAST && // else the quotient of the two
		compare_unpaired(c->processes, c->process_count, other->processes, other->process_count, 1, &x, &ignored) ==
			STATUS_OK) {
		out.times = x.ratio;
		out.low = x.low;
		out.high = x.high;
		v = x.verdict;
	}
	out.claim = claim_of(a, &out, v);
	out.arithmetic = arithmetic_of(a, &c->row, &other->row);
	return out;
}

int report_claimed(const struct report_speed *s)
{
	return text_is(s->claim, "faster") ? 1 : text_is(s->claim, "slower") ? -1 : 0;
}

int report_decided(const struct summary *s, const struct report_cell *c, const struct report_cell *other, struct arena *a)
{
	bool swapped;

	if (paired(s, c, other, &swapped) == NULL && (c->process_count < COMPARE_LEAST || other->process_count < COMPARE_LEAST))
		return 0;
	struct report_speed speed = report_speed_against(s, c, other, a);
	return report_claimed(&speed);
}

const char *report_speed_words(struct arena *a, const struct report_speed *s)
{
	const char *out = s->claim;

	if (isnan(s->times))
		return NULL;
	if (!isnan(s->low) && !isnan(s->high))
		out = arena_printf(a, "%.2f to %.2f (99 %%), %zu and %zu processes%s: %s", s->low, s->high, s->processes,
			s->other_processes, s->is_paired ? " in alternation" : "",
			s->processes < COMPARE_LEAST || s->other_processes < COMPARE_LEAST ? "too few for a claim" : s->claim);
	return arena_join(a, s->arithmetic, "; ", out);
}
