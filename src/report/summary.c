// SPDX-License-Identifier: Apache-2.0
// Gathers the facts of a report from the rows, of so many at most that its size has a bound. Of every question the latest answer
// counts; an interrupted or running row hides no finished one. Latencies are compared within a line only: same model, weights,
// layers, batch, length and type.
#include "report/gather.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "hub/hub.h"
#include "run/golden.h"
#include "question/bounds.h"
#include "question/standing.h"
#include "store/guard.h"

// ---- rows --------------------------------------------------------------------------------------------------------

static const char *why_not_valid(struct arena *a, const struct row *r)
{
	json_t *said = json_parse(r->scenario_result);
	const char *why = json_string_value(json_object_get(said, "why"));
	const char *out = arena_printf(a, "NOT VALID as %s%s%s", r->scenario != NULL ? r->scenario : "single-stream",
		why != NULL ? ": " : "", why != NULL ? why : "");

	json_decref(said);
	return out;
}

static const char *cause_of(struct arena *a, const struct report_cell *c)
{
	if (c->is_not_valid && c->is_good)
		return why_not_valid(a, &c->row);
	if (c->is_good || c->is_running)
		return NULL;
	if (c->is_stand_in)
		return arena_printf(a, "the null engine stood in for %s (ASSAY_NULL): nothing was computed", c->row.requested);
	if (c->row.cause != NULL && *c->row.cause != '\0')
		return c->row.cause;
	if (c->verdict == VERDICT_UNJUDGED && text_is(c->row.verdict, verdict_word(VERDICT_RIGHT)))
		return "right, and no reference is named";
	if (c->is_elsewhere && c->row.fallback_reason != NULL)
		return c->row.fallback_reason;
	if (c->is_elsewhere && c->verdict != VERDICT_FELL_BACK)
		return arena_printf(a, "%s was asked for and %s ran", c->row.requested, c->row.actual);
	return c->is_failure ? verdict_sentence(c->verdict) : NULL;
}

static const char *p90_of(struct arena *a, const struct row *r)
{
	if (!isnan(r->latency_p90_ms))
		return report_ms(a, r->latency_p90_ms);
	if (r->samples == ROW_NONE || r->samples <= 0)
		return NULL;
	return arena_printf(a, "n too small (%lld of 64 samples)", (long long)r->samples);
}

static void take_standing(struct report_cell *c)
{
	const struct row *r = &c->row;
	bool answered = c->verdict == VERDICT_RIGHT || c->verdict == VERDICT_UNJUDGED || c->verdict == VERDICT_FELL_BACK;

	if (c->verdict == VERDICT_RIGHT && r->reference == NULL && r->source == NULL)
		c->verdict = VERDICT_UNJUDGED;
	c->is_good = row_counts(r);
	c->is_not_valid = row_is_not_valid(r);
	c->is_foreign = r->source != NULL;
	c->is_stand_in = answered && !c->is_foreign && text_is(r->engine, "null") && !text_is(r->requested, "null");
	c->is_elsewhere = answered && !c->is_foreign && !c->is_stand_in &&
		(c->verdict == VERDICT_FELL_BACK || (r->actual != NULL && !text_is(r->actual, r->requested)));
	c->is_failure = !c->is_good && !c->is_running && !c->is_foreign && c->verdict != VERDICT_COMPILES &&
		(c->verdict != VERDICT_UNJUDGED || c->is_stand_in || c->is_elsewhere);
}

static const char *agreement_of(struct arena *a, const struct row *r)
{
	const char *agrees =
		text_is(r->reference, "golden") ? arena_printf(a, "agrees with %s", golden_what(r, a)) : "engines agree";

	return arena_join(a, agrees, ", ", row_not_judged(a, r));
}

// The last word on every question, of the newest questions. Found by the few columns that tell questions apart: a row has 150.
static enum status choose(struct store *s, struct summary *out, struct error *err)
{
	static const char sql[] =
		"CREATE TEMP TABLE " REPORT_QUESTION " AS %s;"
		"CREATE TEMP TABLE " REPORT_CHOSEN " AS SELECT id FROM " REPORT_QUESTION " ORDER BY id DESC LIMIT %d;"
		"SELECT (SELECT count(*) FROM " REPORT_QUESTION ") AS questions, (SELECT count(*) FROM cell) AS cells";
	struct table t;
	enum status status = store_query(s, QUESTION_RECORD_ASK, &t, err);

	if (status != STATUS_OK)
		return status;
	out->apart = question_apart_sql(&s->arena, &t);
	const char *words = question_word_sql(&s->arena, QUESTION_FROM_SQL " WHERE r.fallback_of IS NULL", "", out->apart);
	status = store_query(s, arena_printf(&s->arena, sql, words, REPORT_QUESTIONS), &t, err);
	if (status != STATUS_OK)
		return status;
	out->questions = table_integer(&t, 0, "questions");
	out->rows = table_integer(&t, 0, "cells");
	if (out->questions > REPORT_QUESTIONS && s->notice != NULL)
		s->notice(s->context,
			arena_printf(&s->arena, "%s has answers to %lld questions; the report has the newest %d", s->path,
				(long long)out->questions, REPORT_QUESTIONS));
	return STATUS_OK;
}

static bool is_long(const struct report_cell *c)
{
	const struct row *r = &c->row;
	const char *const names[] = { r->model, r->requested, r->actual, r->engine, r->weights, r->compute_dtype, r->precision,
		r->scenario, r->source, c->machine, c->asked_device };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (names[i] != NULL && strnlen(names[i], NAME_MOST + 1) > NAME_MOST)
			return true;
	}
	return false;
}

// Why a row stands in no report; NULL: it does. In `a`.
static const char *why_left_out(struct arena *a, const struct report_cell *c)
{
	if (is_long(c))
		return arena_printf(a, "row %lld has a name of more than %d characters", (long long)c->row.row, NAME_MOST);
	if (!c->is_running && c->verdict == VERDICT_COUNT)
		return arena_printf(a, GUARD_VERDICT, "row ", arena_printf(a, "%lld", (long long)c->row.row),
			arena_printf(a, "%.100s", c->row.verdict));
	return NULL;
}

// `why`: of the last of them.
static void say_left_out(struct store *s, struct summary *out, size_t count, const char *why)
{
	out->left_out = count;
	if (count > 0 && s->notice != NULL)
		s->notice(s->context,
			arena_printf(&s->arena, "%s: %zu row%s left out of the report: %s", s->path, count,
				count == 1 ? " is" : "s are", why));
}

struct used { // a platform and device that rows name
	const struct report_cell *first;
	size_t place, rows;
};

static int by_use(const void *a, const void *b)
{
	const struct used *x = a, *y = b;

	return x->rows != y->rows ? (x->rows < y->rows) - (x->rows > y->rows) : (x->place > y->place) - (x->place < y->place);
}

static bool is_same_column(const struct report_cell *a, const struct report_cell *b)
{
	return text_is(a->row.requested, b->row.requested) && text_is(a->asked_device, b->asked_device);
}

// A database of assay has some dozens of platforms and devices; a matrix has a column for each. Of more, those of most rows.
static void keep_columns(struct store *s, struct summary *out)
{
	struct arena scratch = { 0 };
	struct used *used = ARENA_ARRAY(&scratch, out->cell_count + 1, struct used);
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < out->cell_count; i++) {
		size_t k = 0;
		while (k < count && !is_same_column(used[k].first, &out->cells[i]))
			k++;
		if (k == count)
			used[count++] = (struct used){ &out->cells[i], i, 0 };
		used[k].rows++;
	}
	if (count > REPORT_COLUMNS) {
		const size_t before = out->cell_count;
		struct report_cell *cells = ARENA_ARRAY(&s->arena, before + 1, struct report_cell);

		qsort(used, count, sizeof *used, by_use);
		for (size_t i = 0; i < before; i++) {
			for (size_t k = 0; k < REPORT_COLUMNS; k++) {
				if (!is_same_column(used[k].first, &out->cells[i]))
					continue;
				cells[kept++] = out->cells[i];
				break;
			}
		}
		out->cells = cells;
		out->cell_count = kept;
		out->left_out += before - kept;
		if (s->notice != NULL)
			s->notice(s->context,
				arena_printf(&s->arena,
					"%s names %zu platforms and devices; the report has the %d that most rows name, and "
					"leaves %zu rows "
					"out",
					s->path, count, REPORT_COLUMNS, before - kept));
	}
	arena_done(&scratch);
}

// "bert", or "bert in /models/mine" where another folder of the report has a bert.
static void name_cells(struct summary *out, struct arena *a)
{
	json_t *models = json_object(); // by name: the one model that is called so; null: several are

	for (size_t i = 0; i < out->cell_count; i++) {
		const char *model = out->cells[i].row.model, *name = report_model_name(model);
		const json_t *known = json_object_get(models, name);

		if (model != NULL && !known)
			json_object_set_new(models, name, json_string(model));
		else if (model != NULL && !text_is(json_string_value(known), model))
			json_object_set_new(models, name, json_null());
	}
	for (size_t i = 0; i < out->cell_count; i++) {
		struct report_cell *c = &out->cells[i];
		const char *name = report_model_name(c->row.model);
		const size_t before = c->row.model != NULL ? strlen(c->row.model) - strlen(name) : 0;

		c->shown = name;
		if (before > 1 && json_is_null(json_object_get(models, name)))
			c->shown = arena_printf(a, "%s in %.*s", name, (int)before - 1, c->row.model);
	}
	json_decref(models);
}

// One row; why it is left out, NULL: it is not.
static const char *take_cell(struct report_cell *c, struct arena *a, const struct table *t, const struct table *asked, size_t i)
{
	struct error err = { 0 };

	*c = (struct report_cell){ 0 };
	table_row(t, i, &c->row);
	c->machine = table_get(t, i, "machine");
	c->asked_device = table_get(t, i, "asked_device");
	c->is_imported = text_is(table_get(t, i, "imported"), "true");
	c->is_running = c->row.verdict == NULL;
	c->verdict = c->is_running ? VERDICT_COUNT : verdict_find(c->row.verdict);
	const char *why = why_left_out(a, c);
	if (why == NULL && question_of(&c->question, a, asked, i, &err) != STATUS_OK)
		why = arena_strdup(a, err.text);
	if (why != NULL)
		return why;
	row_asked(&c->asked, &c->row);
	if (c->row.data_sha256 != NULL) // one set under two names is one question, two sets under one name are two
		c->asked.data = c->row.data_sha256;
	c->name = c->row.model != NULL ? hub_full_name(c->row.model) : NULL;
	take_standing(c);
	c->qualifiers = row_qualifiers(a, &c->row, QUALIFY_ALL);
	c->own_qualifiers = row_qualifiers(a, &c->row, QUALIFY_DEVICE | QUALIFY_PRECISION | QUALIFY_SHAPE);
	if (c->verdict == VERDICT_RIGHT && !c->is_foreign)
		c->agreement = agreement_of(a, &c->row);
	c->cause = cause_of(a, c);
	c->p90 = verdict_ran(c->verdict) ? p90_of(a, &c->row) : NULL;
	c->times_cpu = c->against_cpu.times = (double)NAN;
	return NULL;
}

static enum status take_cells(struct store *s, struct summary *out, struct error *err)
{
	static const char sql[] = "SELECT r.*, c.device AS asked_device FROM result r JOIN cell c ON c.id = r.id WHERE r.id IN "
				  "(SELECT id FROM " REPORT_CHOSEN ") ORDER BY r.id";
	struct arena *a = &s->arena;
	struct table t, asked;
	size_t left_out = 0;
	const char *last = NULL;
	enum status status = choose(s, out, err);

	if (status == STATUS_OK)
		status = store_query(s, sql, &t, err);
	if (status == STATUS_OK)
		status = store_query(
			s, "SELECT * FROM cell WHERE id IN (SELECT id FROM " REPORT_CHOSEN ") ORDER BY id", &asked, err);
	if (status != STATUS_OK)
		return status;
	out->cells = ARENA_ARRAY(a, t.row_count + 1, struct report_cell);
	for (size_t i = 0; i < t.row_count; i++) {
		struct report_cell *c = &out->cells[out->cell_count];
		const char *why = take_cell(c, a, &t, &asked, i);

		if (why == NULL)
			out->cell_count++;
		else
			last = why, left_out++;
	}
	say_left_out(s, out, left_out, last);
	keep_columns(s, out);
	for (size_t i = 0; i < out->cell_count; i++)
		out->imported_count += out->cells[i].is_imported;
	name_cells(out, a);
	return STATUS_OK;
}

// ---- machine, platforms, runs ------------------------------------------------------------------------------------

static enum status take_machines(struct store *s, struct summary *out, struct error *err)
{
	struct table t;
	enum status status = store_query(s,
		arena_printf(&s->arena,
			"SELECT machine.*, COALESCE(o.is_foreign, FALSE) AS is_foreign, u.is_imported FROM machine JOIN (SELECT "
			"machine, bool_and" REPORT_RUN_IMPORTED " AS is_imported, max(id) AS last FROM run r GROUP BY machine) u"
			" ON u.machine = machine.id LEFT JOIN (SELECT machine, bool_and(source IS NOT NULL) AS is_foreign FROM "
			"result GROUP BY machine) o ON o.machine = machine.id ORDER BY is_foreign, is_imported, u.last DESC "
			"LIMIT %d",
			REPORT_OTHERS),
		&t, err);

	if (status != STATUS_OK)
		return status;
	out->machines = ARENA_ARRAY(&s->arena, t.row_count + 1, struct report_machine);
	out->machine_count = t.row_count;
	for (size_t i = 0; i < t.row_count; i++) {
		out->machines[i] = (struct report_machine){
			.is_foreign = text_is(table_get(&t, i, "is_foreign"), "true"),
			.is_imported = text_is(table_get(&t, i, "is_imported"), "true"),
			.id = table_get(&t, i, "id"),
			.cpu_model = table_get(&t, i, "cpu_model"),
			.architecture = table_get(&t, i, "architecture"),
			.os = table_get(&t, i, "os"),
			.kernel = table_get(&t, i, "kernel"),
			.features = table_get(&t, i, "features"),
			.hypervisor = table_get(&t, i, "hypervisor"),
			.cores = table_integer(&t, i, "cores"),
			.threads = table_integer(&t, i, "threads"),
			.usable_cpus = table_integer(&t, i, "usable_cpus"),
			.memory_bytes = table_integer(&t, i, "memory_bytes"),
			.memory_limit_bytes = table_integer(&t, i, "memory_limit_bytes"),
			.l2_bytes = table_integer(&t, i, "l2_bytes"),
			.l3_bytes = table_integer(&t, i, "l3_bytes"),
		};
		out->own_machine_count += !out->machines[i].is_foreign;
	}
	return STATUS_OK;
}

// Of every device: what the engine says that it can. *emulated: there are devices, and none is hardware.
static const char *capabilities_of(struct arena *a, const char *devices, bool *emulated)
{
	json_t *list = json_parse(devices), *d;
	const char *out = NULL;
	size_t i, real = 0;

	json_array_foreach(list, i, d)
	{
		const char *name = json_string_value(json_object_get(d, "name")),
			   *features = json_string_value(json_object_get(d, "features"));
		bool is_emulated = json_is_true(json_object_get(d, "emulated")),
		     compiles = json_is_true(json_object_get(d, "compiles_only"));
		real += !is_emulated && !compiles;
		out = arena_printf(a, "%s%s%s%s%s%s%s", out ? out : "", out ? "; " : "", name ? name : "?",
			is_emulated ? " (emulated)" : "", compiles ? " (compiles only)" : "", features && *features ? ": " : "",
			features ? features : "");
	}
	*emulated = json_array_size(list) > 0 && real == 0;
	json_decref(list);
	return out;
}

static enum status take_platforms(struct store *s, struct summary *out, struct error *err)
{
	struct table t;
	enum status status = store_query(s, QUESTION_RECORD_ASK, &t, err);

	if (status != STATUS_OK)
		return status;
	// Of an import it is another machine's, whatever it says. A run looks at the platforms that it asks: each one's newest.
	status = store_query(s,
		arena_printf(&s->arena,
			"WITH detected AS (SELECT d.*, r.machine FROM (%s) d JOIN run r ON r.id = d.run) SELECT * FROM detected"
			" WHERE machine = (SELECT machine FROM detected ORDER BY run DESC LIMIT 1)"
			" QUALIFY row_number() OVER (PARTITION BY platform ORDER BY run DESC, id DESC) = 1"
			" ORDER BY run DESC, id LIMIT %d",
			question_detected_sql(&t), REPORT_OTHERS),
		&t, err);
	if (status != STATUS_OK)
		return status;
	out->platforms = ARENA_ARRAY(&s->arena, t.row_count + 1, struct report_platform);
	out->platform_count = t.row_count;
	for (size_t i = 0; i < t.row_count; i++) {
		bool emulated = false;
		const char *capabilities = capabilities_of(&s->arena, table_get(&t, i, "devices"), &emulated);
		out->platforms[i] = (struct report_platform){
			.capabilities = capabilities,
			.is_emulated = emulated,
			.name = table_get(&t, i, "platform"),
			.reason = table_get(&t, i, "reason"),
			.engine = table_get(&t, i, "engine"),
			.engine_version = table_get(&t, i, "engine_version"),
			.library = table_get(&t, i, "library"),
			.device = table_get(&t, i, "device"),
			.at = table_get(&t, i, "detected_at"),
			.is_available = text_is(table_get(&t, i, "available"), "true"),
		};
	}
	return STATUS_OK;
}

static enum status take_runs(struct store *s, struct summary *out, struct error *err)
{
	struct table t;
	enum status status = store_query(s,
		arena_printf(&s->arena,
			"SELECT r.id, r.command, r.program_version, strftime(r.started_at, '%%Y-%%m-%%d %%H:%%M') AS started,"
			" (SELECT count(*) FROM cell c WHERE c.run = r.id) AS cells, " REPORT_RUN_IMPORTED
			" OR EXISTS (SELECT 1 FROM result o WHERE o.run = r.id AND o.source IS NOT NULL) AS imported FROM run r "
			"ORDER BY r.id DESC LIMIT %d",
			REPORT_OTHERS),
		&t, err);

	if (status != STATUS_OK)
		return status;
	out->runs = ARENA_ARRAY(&s->arena, t.row_count + 1, struct report_run);
	out->run_count = t.row_count;
	for (size_t i = 0; i < t.row_count; i++)
		out->runs[i] = (struct report_run){ .id = table_integer(&t, i, "id"),
			.command = table_get(&t, i, "command"),
			.version = table_get(&t, i, "program_version"),
			.started_at = table_get(&t, i, "started"),
			.is_imported = text_is(table_get(&t, i, "imported"), "true"),
			.cells = table_integer(&t, i, "cells") };
	return STATUS_OK;
}

// Of cells that were asked again with less time or memory, which was not enough: the answer stands, and this beside it.
static enum status take_later(struct store *s, struct summary *out, struct error *err)
{
	static const char sql[] = "SELECT q.id AS id, r.id AS later, r.verdict AS verdict, c.timeout_s AS timeout_s, "
				  "c.memory_limit_bytes AS bytes FROM " REPORT_QUESTION " q JOIN result r ON r.id = q.newest "
				  "JOIN cell c ON c.id = r.id WHERE q.newest > q.id AND r.verdict IN ('timeout', 'no_memory') "
				  "ORDER BY q.id";
	struct table t;
	enum status status = store_query(s, sql, &t, err);

	for (size_t i = 0, k = 0; status == STATUS_OK && i < t.row_count; i++) {
		int64_t id = table_integer(&t, i, "id");
		while (k < out->cell_count && out->cells[k].row.row < id) // both are in the order of row numbers
			k++;
		if (k == out->cell_count)
			break;
		if (out->cells[k].row.row != id)
			continue;
		bool is_time = text_is(table_get(&t, i, "verdict"), verdict_word(VERDICT_TIMEOUT));
		const char *within = is_time ? arena_printf(&s->arena, "%g s", table_real(&t, i, "timeout_s"))
					     : report_bytes(&s->arena, table_integer(&t, i, "bytes"));
		out->cells[k].later = arena_printf(&s->arena, "%s%s%s (row %lld)", is_time ? "timed out" : "not enough memory",
			within != NULL ? " within " : "", within != NULL ? within : "", (long long)table_integer(&t, i, "later"));
	}
	return status;
}

// All that is asked of the file, of one moment.
static enum status take_all(struct store *s, struct summary *out, struct error *err)
{
	enum status status = take_machines(s, out, err);
	if (status == STATUS_OK)
		status = take_platforms(s, out, err);
	if (status == STATUS_OK)
		status = take_runs(s, out, err);
	if (status == STATUS_OK)
		status = take_cells(s, out, err);
	if (status == STATUS_OK)
		status = take_later(s, out, err);
	if (status == STATUS_OK)
		status = summary_take_fallbacks(s, out, err);
	if (status == STATUS_OK)
		status = report_comparisons(s, &out->comparisons, &out->comparison_count, err);
	if (status == STATUS_OK)
		status = summary_take_processes(s, out, err);
	return status;
}

enum status summary_make(struct store *s, const struct report_options *options, struct summary *out, struct error *err)
{
	time_t now = (time_t)(clock_unix_us() / 1000000);
	struct tm utc;
	char text[32];

	*out = (struct summary){ .version = ASSAY_VERSION, .options = *options };
	gmtime_r(&now, &utc);
	strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc);
	out->made_at = arena_strdup(&s->arena, text);
	enum status status = store_read_begin(s, err);
	if (status == STATUS_OK)
		status = take_all(s, out, err);
	store_read_end(s);
	if (status != STATUS_OK)
		return error_prefix(err, "report");
	summary_place_cells(out, &s->arena);
	for (size_t i = 0; i < out->line_count; i++)
		summary_rank_line(out, &out->lines[i], &s->arena);
	summary_count_models(out, &s->arena);
	out->headline = report_headline(out, &s->arena);
	summary_gather_failures(out, &s->arena);
	summary_gather_partials(out, &s->arena);
	summary_gather_best(out, &s->arena);
	summary_gather_performance(out, &s->arena);
	summary_gather_load(out, &s->arena);
	summary_gather_precision(out, &s->arena);
	summary_gather_accuracy(out, &s->arena);
	summary_gather_shipped(out, &s->arena);
	summary_gather_sweeps(out, &s->arena);
	summary_gather_scenarios(out, &s->arena);
	summary_gather_generation(out, &s->arena);
	summary_gather_memory(out, &s->arena);
	summary_gather_energy(out, &s->arena);
	summary_gather_together(out, &s->arena);
	summary_gather_switches(out, &s->arena);
	summary_gather_forecasts(out, &s->arena);
	summary_gather_answers(out, &s->arena);
	summary_gather_notes(out, &s->arena);
	return STATUS_OK;
}
