// SPDX-License-Identifier: Apache-2.0
// reproduce.h: the question rebuilt, and the two answers side by side. The cell itself is run by plan_run.
#include "analysis/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cell/asked.h"
#include "run/child_memory.h"
#include "stats/stats.h"
#include "store/store.h"

// Two processes of one question differ by more than the runs of one do: a ratio below this says nothing by itself.
static const double between_processes = 0.10;
static const double widest_interval = 0.25; // over the median: what is wider holds against everything
static const double same_error = 2;         // times as large: sums in another order make that much
static const double no_error = 1e-6;        // below it a difference is rounding
static const double timeout_most_s = 3600, quiet_most_s = 600;

// 0, the default, for what is no time.
static double within(double seconds, double most)
{
	return seconds > 0 ? fmin(seconds, most) : 0;
}

// A file or folder by the name that was typed, where that is still what it was: what has the same name here may be another.
static const char *file_now(const char *typed, const char *then)
{
	return typed && then && file_exists(then) && !file_is_same(typed, then) ? then : typed;
}

static const char *model_now(struct arena *a, const struct store_question *q, const char **moved)
{
	const char *name = file_now(q->cell.model, q->model_file);

	if (!q->model_file || file_exists(q->model_file))
		return name;
	if (file_exists(name)) {
		*moved = arena_printf(a, "the model was %s and is taken from %s here", q->model_file, name);
		return name;
	}
	// A folder of synthetic weights in the cache is made again; any other that is gone is asked for by its name.
	if ((!q->cell.synthetic || text_ends(q->cell.path, ".onnx")) && q->cell.path && file_exists(q->cell.path)) {
		*moved = arena_printf(a, "the model was %s and is taken from %s", q->cell.model, q->cell.path);
		return q->cell.path;
	}
	return q->cell.model;
}

// By itself it would be another question: what asks it is the command of its run. `how` it was measured.
static enum status refuse_part(
	struct store *s, struct arena *a, const struct side_row *r, const char *how, const char *like, struct error *err)
{
	struct table t;
	enum status st = store_query(s, arena_printf(a, "SELECT command FROM run WHERE id = %lld", (long long)r->run), &t, err);
	const char *command = st == STATUS_OK && t.row_count == 1 ? t.cells[0] : NULL;

	if (st != STATUS_OK)
		return st;
	return error_set(err, STATUS_BAD_INPUT,
		"row %lld was measured %s, and alone it would be another question; its run was begun as (the database's word, "
		"without quotes): %s",
		(long long)r->row.row, how, command ? command : like);
}

enum status reproduce_read(struct store *s, struct arena *a, int64_t row, struct reproduce *out, struct error *err)
{
	struct side side;
	enum status st = store_side(s, a, arena_printf(a, "%lld", (long long)row), true, &side, err);

	if (st)
		return st;
	if (side.count == 0)
		return error_set(err, STATUS_BAD_INPUT,
			"row %lld has no answer that could hold: it was interrupted or still runs", (long long)row);
	*out = (struct reproduce){ .old = side.rows[0] };
	const struct store_question *q = &out->old.question;
	const struct cell *c = &q->cell;
	const struct row *r = &out->old.row;
	const char *from;
	int64_t available = 0;

	if ((st = child_memory_default(&available, &from, a, "", err)))
		return st;
	if (r->source)
		return error_set(err, STATUS_BAD_INPUT, "row %lld was measured by %s: assay was not asked for it", (long long)row,
			r->source);
	if (c->together)
		return refuse_part(
			s, a, &out->old, arena_printf(a, "together with %s", c->together), "assay run MODEL... --together", err);
	if (r->fallback_of != ROW_NONE)
		return refuse_part(s, a, &out->old,
			arena_printf(a, "by --fallback after row %lld, in place of %s", (long long)r->fallback_of, r->requested),
			"assay run MODEL --fallback", err);
	if (!platform_find(c->platform))
		return error_set(
			err, STATUS_BAD_INPUT, "row %lld ran on %s, which this assay does not know", (long long)row, c->platform);
	out->model = model_now(a, q, &out->moved);
	out->on = question_target(a, q);
	out->options = q->own_options;
	out->question = c->question;
	plan_fit_asked(&out->question, r); // the record has what was taken
	if (verdict_ran(out->old.verdict)) // two profiles are not held against each other; what did not give one is asked for it
		out->question.profile = false;
	if (!q->knows_conform)
		out->question.no_conform = r->type_conformance == NULL;
	// A row may be a stranger's: what it asks for has limits here. The default of memory holds, which --force lifts.
	out->question.timeout_s = within(c->timeout_s, timeout_most_s);
	out->question.quiet_wait_s = within(c->quiet_wait_s, quiet_most_s);
	if (c->memory_bytes < 0 || (available > 0 && c->memory_bytes > available))
		out->question.memory_bytes = c->memory_bytes < 0 ? 0 : available;
	out->question.force = false;
	if (q->is_rebuilt && r->new_tokens != ROW_NONE) {
		out->question.prompt_tokens = r->prompt_tokens;
		out->question.new_tokens = r->new_tokens;
		out->question.task = "generate";
	}
	if (asked_has_things(&out->question)) // a prompt of its own
		out->question.prompt_tokens = 0;
	out->question.golden = file_now(c->golden, q->golden_file);
	out->question.data = file_now(c->data, q->data_file);
	return STATUS_OK;
}

const char *reproduce_command(struct arena *a, const struct reproduce *r)
{
	struct store_question now = r->old.question;

	now.cell.model = r->model;
	now.cell.golden = r->question.golden;
	now.cell.data = r->question.data;
	now.cell.precision = r->question.precision;
	now.cell.layers = r->question.layers;
	return question_command(a, &now, &r->old.row);
}

// A row that somebody else wrote may ask what no option would take.
static enum status check_numbers(const struct reproduce *r, struct arena *a, struct error *err)
{
	struct question scratch = { 0 };
	enum status s = STATUS_OK;

	for (size_t i = 0; i < QUESTION_COUNT && !s; i++) {
		const struct member *m = &question_members[i];
		const char *word = m->option ? member_word(m, a, &r->question) : NULL;

		if (word)
			s = member_set(m, &scratch, word, err);
	}
	return s ? error_prefix(err, "row %lld", (long long)r->old.row.row) : STATUS_OK;
}

// `words`: a target as it is typed, with options of its own or without.
static enum status check_target(
	const struct reproduce *r, struct arena *a, const char *words, const char *options, struct error *err)
{
	struct target t;
	enum status s = platform_target(&t, a, words, err);

	if (s)
		return error_prefix(err, "row %lld", (long long)r->old.row.row);
	const char *name =
		backend_reaches_out(route_backend(t.route), route_provider(t.route), arena_join(a, t.options, ",", options));
	return !name ? STATUS_OK
		     : error_set(err, STATUS_BAD_INPUT,
			       "row %lld was asked with the option %s, which opens a port or writes a file: --command prints "
			       "the question, to be asked by hand",
			       (long long)r->old.row.row, name);
}

// Do the row's own columns say what its question does? What --fit took is in both.
static bool is_of_its_question(const struct reproduce *r)
{
	const struct store_question *q = &r->old.question;
	struct question said;

	row_asked(&said, &r->old.row);
	return q->is_rebuilt || r->old.row.fitted ||
		(text_is(r->old.row.model, q->cell.model) && question_agrees(&said, &q->cell.question, QUESTION_ROW));
}

static enum status check(const struct reproduce *r, struct arena *a, struct error *err)
{
	const struct row *row = &r->old.row;
	const char *platform = r->old.question.cell.platform, *said = row->tried ? row->tried : row->requested;

	if (r->question.pipeline_asked)
		return error_set(err, STATUS_BAD_INPUT, "row %lld is of a whole pipeline: `%s` asks it again",
			(long long)row->row, reproduce_command(a, r));
	if (said && !text_is(said, platform))
		return error_set(err, STATUS_BAD_INPUT,
			"row %lld says that it ran on %s, and its question is of %s: assay wrote "
			"no such row",
			(long long)row->row, said, platform);
	enum status s = check_target(r, a, r->on, r->options, err);
	if (!s && r->question.switched_from)
		s = check_target(r, a, r->question.switched_from, NULL, err);
	if (!s)
		s = check_numbers(r, a, err);
	return s || is_of_its_question(r)
		? s
		: error_set(err, STATUS_BAD_INPUT,
			  "row %lld says that it is of %s, and its question is of %s, or of other "
			  "options than the row's: assay wrote no such row",
			  (long long)row->row, row->model ? row->model : "no model", r->old.question.cell.model);
}

enum status reproduce_check(const struct reproduce *r, struct error *err)
{
	struct arena a = { 0 };
	enum status s = check(r, &a, err);

	arena_done(&a);
	return s;
}

// ---- then and now ------------------------------------------------------------------------------------------------

static void add(struct reproduce_answer *out, const char *what, int holds, const char *words)
{
	out->check[out->count++] = (struct reproduce_check){ what, holds, words };
	out->holds = out->holds && holds != 0;
}

static void check_verdict(const struct reproduce *r, const struct cell_result *now, struct arena *a, struct reproduce_answer *out)
{
	const char *then = verdict_word(r->old.verdict), *word = verdict_word(now->verdict);

	// What was in the way here says nothing of the row.
	out->unasked = !verdict_answers(now->verdict) || (now->verdict == VERDICT_UNJUDGED && r->old.verdict != VERDICT_UNJUDGED);
	if (!out->unasked && r->old.verdict == now->verdict)
		add(out, "verdict", 1, arena_printf(a, "%s then and now", then));
	else
		add(out, "verdict", out->unasked ? -1 : 0,
			arena_printf(a, "%s then, %s now%s%s", then, word, now->row.cause ? ": " : "",
				now->row.cause ? now->row.cause : ""));
}

static void check_model(const struct reproduce *r, const struct cell_result *now, struct arena *a, struct reproduce_answer *out)
{
	const char *then = r->old.row.model_sha256, *here = now->row.model_sha256;

	if (!text_agree(then, here))
		add(out, "model", 0, arena_printf(a, "its files are others: %.12s then, %.12s now", then, here));
}

// --fit: something else may fit now, and then errors and times are of two questions.
static bool took_the_same(const struct reproduce *r, const struct cell_result *now, struct arena *a, struct reproduce_answer *out)
{
	const struct row *x = &r->old.row, *y = &now->row;
	const bool same = text_agree(x->precision, y->precision) && !x->precision == !y->precision && x->layers == y->layers;

	if (!x->fitted && !y->fitted)
		return true;
	add(out, "taken to fit", same,
		same ? "the same then and now"
		     : arena_printf(
			       a, "%s then, %s now", x->fitted ? x->fitted : "as asked", y->fitted ? y->fitted : "as asked"));
	return same;
}

static void check_error(const struct reproduce *r, const struct cell_result *now, struct arena *a, struct reproduce_answer *out)
{
	double then = r->old.row.max_abs_error, x = now->row.max_abs_error;
	const char *words = arena_printf(a, "largest %.3g then, %.3g now", then, x);

	if (isnan(then) || isnan(x))
		return;
	if (!text_is(r->old.row.reference, now->row.reference))
		add(out, "output error", -1,
			arena_printf(a, "%s, against %s then and %s now", words,
				r->old.row.reference ? r->old.row.reference : "nothing",
				now->row.reference ? now->row.reference : "nothing"));
	else
		add(out, "output error", x <= fmax(same_error * then, no_error), words);
}

// Why a time cannot be held against another: NULL where it can.
static const char *no_figure(struct arena *a, const char *when, const struct row *r)
{
	double width = (r->latency_high_ms - r->latency_low_ms) / r->latency_ms;

	if (isnan(width))
		return arena_printf(
			a, "no interval of the median %s: n too small, %d runs are needed", when, STATS_INTERVAL_LEAST);
	if (text_is(r->stability, "unstable"))
		return arena_printf(a, "the row is unstable %s", when);
	return width > widest_interval ? arena_printf(a, "the interval %s is %.0f %% of the median wide (limit %.0f %%)", when,
						 100 * width, 100 * widest_interval)
				       : NULL;
}

// What is older than exact intervals has one of a bootstrap in its row: all are made again from the runs.
static void own_interval(struct row *r, const double *ms, size_t count)
{
	stats_median_interval(ms, count, &r->latency_low_ms, &r->latency_high_ms);
}

static const char *time_text(struct arena *a, const struct row *r)
{
	return isnan(r->latency_low_ms) || isnan(r->latency_high_ms)
		? arena_printf(a, "%.4g ms (too few runs for an interval)", r->latency_ms)
		: arena_printf(a, "%.4g ms (%.4g to %.4g)", r->latency_ms, r->latency_low_ms, r->latency_high_ms);
}

static void check_latency(const struct reproduce *r, const struct cell_result *now, const struct machine *m, struct arena *a,
	struct reproduce_answer *out)
{
	struct row then = r->old.row, here = now->row;
	double ratio = here.latency_ms / then.latency_ms;

	if (!r->old.ms_count && then.latency_ms > 0) {
		add(out, "latency", -1,
			arena_printf(a,
				"%.4g ms then, and the times of its runs are not there: nothing to hold %.4g ms now against",
				then.latency_ms, here.latency_ms));
		return;
	}
	if (!now->sample_count || !(ratio > 0))
		return;
	own_interval(&then, r->old.ms, r->old.ms_count);
	own_interval(&here, now->sample_ms, now->sample_count);
	const char *words = arena_printf(a, "%s then, %s now, %.3f times", time_text(a, &then), time_text(a, &here), ratio);
	const char *why = no_figure(a, "then", &then), *why_now = no_figure(a, "now", &here);
	bool overlap = then.latency_low_ms <= here.latency_high_ms && here.latency_low_ms <= then.latency_high_ms;

	if (m && !text_is(m->id, r->old.machine))
		add(out, "latency", -1, arena_printf(a, "%s: of another machine, not held against it", words));
	else if (why || why_now)
		add(out, "latency", -1, arena_printf(a, "%s: cannot tell: %s", words, why ? why : why_now));
	else if (overlap)
		add(out, "latency", 1, arena_printf(a, "%s: the intervals overlap", words));
	else if (fabs(ratio - 1) <= between_processes)
		add(out, "latency", 1,
			arena_printf(a, "%s: within the %.0f %% that two processes may differ", words, 100 * between_processes));
	else
		add(out, "latency", 0,
			arena_printf(a, "%s: the intervals are apart by more than two processes may differ", words));
}

static const char *differs(struct arena *a, const char *before, const char *what, const char *x, const char *y)
{
	if (text_is(x, y) || (!x && !y))
		return before;
	return arena_printf(a, "%s%s%s: %s then, %s now", before ? before : "", before ? "; " : "", what, x ? x : "not known",
		y ? y : "not known");
}

// Where a digest is not known on one side, nothing is said.
static const char *differs_in_digest(struct arena *a, const char *before, const char *what, const char *x, const char *y)
{
	return text_agree(x, y) ? before : differs(a, before, what, arena_printf(a, "%.12s", x), arena_printf(a, "%.12s", y));
}

void reproduce_judge(const struct reproduce *r, const struct cell_result *now, const struct machine *m, struct arena *a,
	struct reproduce_answer *out)
{
	const struct row *x = &r->old.row, *y = &now->row;
	const char *d = r->moved;

	*out = (struct reproduce_answer){ .holds = true };
	check_verdict(r, now, a, out);
	check_model(r, now, a, out);
	if (!text_agree(x->inputs_hash, y->inputs_hash) || !text_agree(x->data_sha256, y->data_sha256))
		add(out, "inputs", 0, "the file of inputs, or the examples, are others now");
	if (took_the_same(r, now, a, out)) {
		check_error(r, now, a, out);
		check_latency(r, now, m, a, out);
	}
	out->unasked = out->unasked && out->holds;
	d = m ? differs(a, d, "machine", r->old.machine, m->id) : d;
	d = differs(a, d, "engine", x->engine, y->engine);
	d = differs(a, d, "engine version", x->engine_version, y->engine_version);
	d = differs(a, d, "device", x->device_description, y->device_description);
	d = differs(a, d, "form", x->form, y->form);
	d = differs_in_digest(a, d, "weights or graph", x->artifact_key, y->artifact_key);
	d = differs_in_digest(a, d, "inputs", x->inputs_hash, y->inputs_hash);
	d = differs_in_digest(a, d, "golden file", x->golden_sha256, y->golden_sha256);
	d = differs_in_digest(a, d, "--data", x->data_sha256, y->data_sha256);
	if (r->old.question.is_rebuilt)
		d = arena_printf(a, "%s%sthe row is older than the record of what was asked; not known: %s", d ? d : "",
			d ? "; " : "", r->old.question.missing);
	out->differs = d;
}

json_t *reproduce_json(const struct reproduce *r, const struct cell_result *now, const struct reproduce_answer *answer)
{
	json_t *checks = json_array();

	for (size_t i = 0; i < answer->count; i++) {
		const struct reproduce_check *c = &answer->check[i];

		json_array_append_new(checks,
			json_pack("{s:s, s:o, s:s}", "what", c->what, "holds",
				c->holds < 0 ? json_null() : json_boolean(c->holds), "words", c->words));
	}
	return json_pack("{s:I, s:o, s:o, s:s?, s:o}", "row", (json_int_t)r->old.row.row, "holds",
		answer->unasked ? json_null() : json_boolean(answer->holds), "checks", checks, "differs", answer->differs, "now",
		plan_json(now));
}
