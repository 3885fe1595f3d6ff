// SPDX-License-Identifier: Apache-2.0
// matrix.h: the cells of the plan, run. A line of cells (one model, one platform, the batches from small to large) goes on step
// by step:
//
//   begin     the next cell, the next try of its chain; --resume may find its row                 here
//   prepare   predict the memory, write synthetic weights                                          a thread, on the processor
//   measure   child, judge, conformance                                                            a thread, on the target's
//             device
//   take      the row into the store; is there another try? is a larger batch worth asking?        here
//
// Threads, store and events: only this thread has to do with the latter two. With one worker it is one cell after the other.
#include "plan/matrix.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/artifact.h"
#include "base/clock.h"
#include "base/pages.h"
#include "base/visible.h"
#include "plan/crew.h"
#include "plan/schedule.h"
#include "plan/together.h"
#include "question/standing.h"
#include "run/cell.h"

// One try, whichever way its outcome was come by.
struct outcome {
	enum verdict verdict;
	struct row row;
	bool is_settled; // it stood in the database, or another run is at it
	bool is_left;    // to another run, or because the program is to end
};

struct line {
	struct loop *loop;
	size_t number;
	size_t at, end; // of the plan: the cell at hand, and after the last
	struct sweep_series series;
	enum { LINE_NEXT_CELL, LINE_NEXT_TRY, LINE_PREPARED, LINE_OVER } state; // what begins when it is its turn
	bool again; // prepared once, refused for memory while others ran: now alone
	// The cell at hand.
	struct arena arena;
	const char *label; // "[3/14] bert on cpu"
	char phase[320];
	struct fallback chain;
	const char *tries; // a line each
	bool tight;        // a try found too little memory
	// The try at hand. While a thread works for it, that thread has these.
	struct plan_model model; // a copy: with its weights, once it is prepared
	struct plan_memory memory;
	struct plan_task task;
	struct cell_result result;
	struct error err;
	enum status status;
	double begun_ms, told_ms;
	bool runs;
};

// What cells of a model share while they run.
struct weights {
	struct arena arena; // while it lives the model's synthetic weights stay in the cache
	size_t cells_left;
	bool refused; // before anything was run
};

struct loop {
	struct matrix *matrix;
	const struct machine *machine; // since make_lines
	struct store store;
	struct crew *crew;
	struct schedule schedule;
	struct line *lines;
	struct weights *weights; // of c->models
	double *guess_s;         // of the plan's cells
	pthread_mutex_t writing; // of weights: one at a time
	pthread_mutex_t models;  // c->models[].path and .refused, which writing them changes; held for a copy
	uint64_t cache_limit;
	double measured_s, guessed_s; // of the cells that were run: wall clock, and what was guessed for them
	double left_s;                // what was guessed for the cells that are not done
	bool failed;
	bool db_is_lost; // another program holds it: nobody waits for it again
	struct error err;
};

// Of the first one that failed; then everything that runs is stopped.
static void fail(struct loop *l, const struct error *err)
{
	if (!l->failed)
		l->err = *err;
	l->failed = true;
}

// NULL: rows are not stored.
static struct store *store_of(struct loop *l)
{
	return l->matrix->db ? &l->store : NULL;
}

static bool is_asked_to_stop(const struct matrix *m)
{
	return m->stop && *m->stop;
}

static struct matrix_cell *cell_of(const struct line *n)
{
	return &n->loop->matrix->cells[n->at];
}

// ---- what is told while they run ---------------------------------------------------------------------------------------

// Who listens may take its time, as a terminal that is stopped does: nobody waits for the database meanwhile.
static void tell(struct loop *l, const struct matrix_event *e)
{
	store_let_go(&l->store);
	if (l->matrix->event)
		l->matrix->event(l->matrix->context, e);
}

static void tell_text(const struct line *n, enum matrix_event_kind kind, const char *text)
{
	tell(n->loop, &(struct matrix_event){ .kind = kind, .cell = cell_of(n), .label = n->label, .text = text });
}

// The guesses, corrected by how wrong they have been so far; half a minute of trust in them, so that one small cell does not
// decide.
static double seconds_left(const struct loop *l)
{
	const double trust_s = 30;

	return l->guessed_s > 0 ? l->left_s * (l->measured_s + trust_s) / (l->guessed_s + trust_s) : (double)NAN;
}

static void tell_progress(struct loop *l)
{
	struct text t = { 0 };

	for (size_t i = 0; i < l->schedule.count; i++)
		if (l->schedule.lines[i].state == SCHEDULE_RUNS && l->lines[i].label)
			text_addf(&t, "%s%s: %s", t.length ? "; " : "", l->lines[i].label, l->lines[i].phase);
	if (t.length)
		tell(l, &(struct matrix_event){ .kind = MATRIX_PROGRESS, .text = text_get(&t), .seconds_left = seconds_left(l) });
	text_done(&t);
}

static void tell_sentence(void *context, const char *sentence)
{
	tell(context, &(struct matrix_event){ .kind = MATRIX_NOTICE, .text = sentence });
}

// Of a chain every try is told; what counts is the last.
static void take_result(struct line *n)
{
	struct matrix_cell *p = cell_of(n);
	const struct fallback *f = &n->chain;
	struct cell_result *r = &n->result;

	p->results = p->results ? p->results : json_array();
	json_array_append_new(p->results, plan_json(r));
	tell(n->loop,
		&(struct matrix_event){ .kind = MATRIX_RESULT,
			.cell = p,
			.label = n->label,
			.result = r,
			.text = f->attempt.number > 1 ? fallback_line(&n->arena, f->target.platform->name, r->verdict, &r->row)
						      : NULL });
}

// ---- in threads --------------------------------------------------------------------------------------------------------

static int tell_bytes(void *context, uint64_t done, uint64_t total)
{
	struct line *n = context;
	const double now = clock_ms(), pause_ms = 100;
	char text[96];

	if (total > 0 && (now - n->told_ms > pause_ms || done == total)) {
		n->told_ms = now;
		snprintf(text, sizeof text, "writing synthetic weights: %.0f of %.0f MiB, %.0f %%", (double)done / 1048576,
			(double)total / 1048576, 100.0 * (double)done / (double)total);
		crew_tell(n->loop->crew, n->number, CREW_PHASE, text);
	}
	return *crew_stop_flag(n->loop->crew) != 0;
}

static void copy_model(struct loop *l, struct plan_model *to, const struct plan_model *from)
{
	pthread_mutex_lock(&l->models);
	*to = *from;
	pthread_mutex_unlock(&l->models);
}

static void prepare(void *context)
{
	struct line *n = context;
	struct loop *l = n->loop;
	struct plan_model *m = cell_of(n)->model;

	n->status = STATUS_OK;
	pthread_mutex_lock(&l->writing);
	copy_model(l, &n->model, m);
	plan_memory_apart(&n->memory, &n->arena, &n->model, &n->chain.target, &n->chain.now, crew_stop_flag(l->crew));
	// Beside others it is refused first, and asked again when they are done.
	if (n->again || l->matrix->workers <= 1)
		n->status = plan_fit(&n->model, &n->chain.now, &n->memory, &n->arena, &n->chain.target, &n->err);
	n->runs = n->status == STATUS_OK && !n->chain.target.absent && !n->memory.refused && !n->model.refused;
	if (n->runs)
		n->status = plan_weights(&n->model, &l->weights[m - l->matrix->models].arena, &n->chain.target, &n->chain.now,
			l->cache_limit, tell_bytes, n, &n->err);
	if (!n->memory.fitted) // else its weights are of this cell alone
		copy_model(l, m, &n->model);
	pthread_mutex_unlock(&l->writing);
}

// What judges computes on the processor, and nothing may be timed there meanwhile.
static void tell_phase(void *context, const char *phase)
{
	struct line *n = context;

	crew_tell(n->loop->crew, n->number, CREW_PHASE, phase);
	if (text_is(phase, "judge"))
		crew_want(n->loop->crew, n->number);
}

static void tell_notice(void *context, const char *text)
{
	struct line *n = context;

	crew_tell(n->loop->crew, n->number, CREW_NOTICE, text);
}

static void measure(void *context)
{
	struct line *n = context;
	struct cell_watch watch = {
		.phase = tell_phase, .notice = tell_notice, .context = n, .stop = crew_stop_flag(n->loop->crew)
	};

	n->status = plan_measure(&n->task, &watch, &n->arena, &n->result, &n->err);
}

// ---- a line, step by step ------------------------------------------------------------------------------------------------

static bool resumes(const struct loop *l)
{
	return l->matrix->resume && l->matrix->db;
}

// The try has its row, or a live run is at it.
static enum status settle(struct line *n, enum store_cell_state state, int64_t row, struct outcome *out, struct error *err)
{
	struct loop *l = n->loop;
	const struct fallback *f = &n->chain;

	out->is_settled = true;
	if (state == STORE_TAKEN) {
		out->is_left = true;
		l->matrix->taken += f->attempt.number == 1;
		tell_text(n, MATRIX_TAKEN, NULL);
		return STATUS_OK;
	}
	l->matrix->skipped += f->attempt.number == 1;
	enum status s = store_row(&l->store, &n->arena, row, &out->row, err);
	if (s != STATUS_OK)
		return s;
	out->verdict = verdict_find(out->row.verdict);
	tell(l,
		&(struct matrix_event){ .kind = MATRIX_FOUND,
			.cell = cell_of(n),
			.label = n->label,
			.row = row,
			.text = f->attempt.number > 1
				? fallback_line(&n->arena, f->target.platform->name, out->verdict, &out->row)
				: out->row.verdict ? out->row.verdict
						   : "no verdict" });
	return STATUS_OK;
}

// Is the try to be left alone because --resume finds its row, or a live run has it?
static enum status look_up(struct line *n, struct outcome *out, struct error *err)
{
	enum store_cell_state state;
	int64_t row = ROW_NONE;

	if (!resumes(n->loop))
		return STATUS_OK;
	enum status s = store_cell_state(&n->loop->store, n->chain.attempt.key, plan_timeout_s(&n->chain.now), &state, &row, err);
	return s != STATUS_OK || state == STORE_NEVER ? s : settle(n, state, row, out, err);
}

void matrix_count(struct matrix *c, enum verdict v, const struct row *r)
{
	const char *words = row_qualifiers(&c->arena, r, QUALIFY_ALL);
	const int code = row_exit_code(r, v);
	json_t **of = &c->qualified[v];

	c->by_verdict[v]++;
	c->exit_code = code > c->exit_code ? code : c->exit_code;
	if (!words)
		return;
	if (!*of)
		*of = json_object();
	json_object_set_new(*of, words, json_integer(json_integer_value(json_object_get(*of, words)) + 1));
}

static void count(struct matrix *c, const struct fallback *f, const struct outcome *o)
{
	if (o->is_left || o->verdict == VERDICT_COUNT)
		return;
	matrix_count(c, o->verdict, &o->row);
	c->fell_back += f->attempt.number > 1 && verdict_exit_code(o->verdict) == 0;
}

static void ready(struct line *n)
{
	struct loop *l = n->loop;
	struct schedule_device device = { .kind = SCHEDULE_PROCESSOR };
	uint64_t bytes = 0;

	if (n->state == LINE_OVER)
		return;
	if (n->state == LINE_PREPARED && !n->runs) {
		device.kind = SCHEDULE_NOTHING;
	} else if (n->state == LINE_PREPARED) {
		schedule_device_of(&device, &n->chain.target, l->matrix->platforms);
		bytes = n->memory.predicted_bytes;
	} else if (n->again) {
		device.kind = SCHEDULE_ANY;
	} else if (n->state == LINE_NEXT_CELL &&
		(cell_of(n)->target->absent || l->weights[cell_of(n)->model - l->matrix->models].refused)) {
		device.kind = SCHEDULE_NOTHING;
	}
	schedule_ready(&l->schedule, n->number, &device, bytes);
}

static void release_model(struct loop *l, struct plan_model *m, size_t cells)
{
	struct weights *w = &l->weights[m - l->matrix->models];

	w->cells_left -= cells;
	if (w->cells_left)
		return;
	arena_done(&w->arena); // not in use: these were the last cells
	if (m->makes_weights)
		m->path = NULL;
}

// The rest of a line's batches, which are not asked.
static void end_sweep(struct line *n, const char *why)
{
	struct matrix *c = n->loop->matrix;
	const size_t rest = n->end - n->at - 1;
	json_t *last = json_array_get(cell_of(n)->results, json_array_size(cell_of(n)->results) - 1);

	tell(n->loop,
		&(struct matrix_event){
			.kind = MATRIX_SWEEP_ENDED, .cell = cell_of(n), .label = n->label, .text = why, .count = rest });
	if (last)
		json_object_set_new(last, "sweep_stop", json_string(why));
	for (size_t i = n->at + 1; i < n->end; i++)
		n->loop->left_s -= n->loop->guess_s[i];
	c->left_out += rest;
	release_model(n->loop, cell_of(n)->model, rest);
	n->end = n->at + 1;
}

static void keep_times(struct line *n, const struct outcome *o)
{
	struct matrix_cell *p = cell_of(n);
	const struct row *r = &o->row;

	if (n->chain.attempt.number > 1 || (o->verdict != VERDICT_RIGHT && o->verdict != VERDICT_UNJUDGED) ||
		(r->actual && !text_is(r->actual, r->requested)))
		return;
	p->latency_ms = isfinite(r->latency_ms) ? r->latency_ms : r->token_ms;
	p->low_ms = isfinite(r->latency_ms) ? r->latency_low_ms : (double)NAN;
	p->high_ms = isfinite(r->latency_ms) ? r->latency_high_ms : (double)NAN;
	p->throughput_per_s = r->throughput_per_s;
}

static void end_cell(struct line *n, const struct outcome *o)
{
	struct loop *l = n->loop;
	struct matrix *c = l->matrix;
	const struct matrix_cell *p = cell_of(n);

	if (n->chain.attempt.number > 1)
		tell_text(n, MATRIX_CHAIN, n->tries);
	count(c, &n->chain, o);
	if (!o->is_left && o->verdict != VERDICT_COUNT) {
		keep_times(n, o);
		const bool first = n->chain.attempt.number == 1;
		const char *why = sweep_take(
			&n->series, &n->arena, p->question->batch, first ? o->verdict : VERDICT_COUNT, n->tight, &o->row);
		if (why && n->at + 1 < n->end && !c->no_sweep_stop && !*crew_stop_flag(l->crew))
			end_sweep(n, why);
	}
	l->left_s -= l->guess_s[n->at];
	release_model(l, p->model, 1);
	arena_done(&n->arena);
	n->label = NULL;
	n->at++;
	n->state = n->at < n->end && !*crew_stop_flag(l->crew) ? LINE_NEXT_CELL : LINE_OVER;
}

// "cpu:chromium", "qnn:57 (EMULATED)": the platform and device that were asked for.
static const char *asked_of(struct line *n)
{
	const struct target *t = cell_of(n)->target;
	const bool is_named = t->chosen && t->device && *t->device;

	return arena_printf(&n->arena, "%s%s%s%s", t->platform->name, is_named ? ":" : "", is_named ? t->device : "",
		schedule_is_emulated(t, n->loop->matrix->platforms) ? " (EMULATED)" : "");
}

// "as shipped, offline": what was asked but for the axes, which have a label.
static const char *asked_words(struct line *n)
{
	struct question q = *cell_of(n)->question;

	for (size_t i = 0; i < QUESTION_COUNT; i++)
		if (n->loop->matrix->axes.of[i].count > 1)
			member_clear(&question_members[i], &q);
	return question_words(&n->arena, &q);
}

static const char *label_of(struct line *n)
{
	const struct matrix *c = n->loop->matrix;
	const struct matrix_cell *p = cell_of(n);
	const char *axes = *p->label ? arena_printf(&n->arena, ", %s", p->label) : "", *words = asked_words(n);
	const char *number = c->is_numbered ? arena_printf(&n->arena, "[%zu/%zu] ", n->at + 1, c->cell_count) : "";

	return arena_printf(&n->arena, "%s%s on %s%s%s%s", number, p->model->model, asked_of(n), axes, *words ? ", " : "", words);
}

// A try has its outcome, from the store or just now. The line is then at its next try, its next cell or its end.
static enum status after_try(struct line *n, const struct outcome *o, struct error *err)
{
	struct matrix *c = n->loop->matrix;
	bool more = false;

	n->tight |= !o->is_left && o->verdict == VERDICT_NO_MEMORY;
	if (n->chain.attempt.number == 1) {
		n->chain.attempt.fallback_of = o->row.row;
		c->done -= o->is_left && !o->is_settled;
	}
	if (!o->is_left && c->fallback && !*crew_stop_flag(n->loop->crew)) {
		n->tries = arena_printf(&n->arena, "%s  %s\n", n->tries,
			visible_copy(&n->arena, fallback_line(&n->arena, n->chain.target.platform->name, o->verdict, &o->row)));
		enum status s = fallback_next(&n->chain, o->verdict, &o->row, &more, err);
		if (s != STATUS_OK)
			return s;
	}
	if (more)
		n->state = LINE_NEXT_TRY;
	else
		end_cell(n, o);
	return STATUS_OK;
}

static void begin_cell(struct line *n)
{
	struct matrix *c = n->loop->matrix;
	const struct matrix_cell *p = cell_of(n);

	store_let_go(&n->loop->store); // weights that have changed are read whole
	c->done++;
	n->label = label_of(n);
	n->tries = "";
	n->tight = n->again = false;
	copy_model(n->loop, &n->model, p->model);
	plan_identify(&n->model, &n->arena, NULL, NULL, NULL); // hours may have passed
	fallback_begin(&n->chain, &n->arena, &n->model, p->target, p->question, c->platforms);
}

// The run is written with its first cell, or at its end: the file is opened once for both.
static enum status need_run(struct loop *l, struct error *err)
{
	struct matrix *c = l->matrix;
	enum status s;

	if (!c->db || c->run > 0)
		return STATUS_OK;
	if ((s = store_begin_run(&l->store, l->machine, c->command, err)) != STATUS_OK)
		return s;
	c->run = l->store.run;
	return store_detection(&l->store, c->platforms, err);
}

// It is the line's turn, and what it needs is free. A thread may be at work afterwards; otherwise the line is ready again or
// over.
static enum status take_turn(struct line *n, struct error *err)
{
	struct loop *l = n->loop;
	struct outcome o = { .verdict = VERDICT_COUNT };
	enum status s = STATUS_OK;

	if (n->state == LINE_PREPARED) {
		s = need_run(l, err);
		if (s == STATUS_OK)
			s = plan_begin(&n->task,
				&(struct plan_asked){
					&n->model, &n->chain.target, &n->chain.now, &n->memory, &n->chain.attempt, resumes(l) },
				store_of(l), &n->arena, err);
		store_let_go(&l->store);
		n->begun_ms = clock_ms();
		snprintf(n->phase, sizeof n->phase, "start");
		if (s == STATUS_OK && n->task.found == STORE_NEVER)
			return crew_start(l->crew, n->number, measure, n, err);
		// Another run took it while this one prepared.
		if (s == STATUS_OK)
			s = settle(n, n->task.found, n->task.row, &o, err);
	} else {
		if (n->state == LINE_NEXT_CELL)
			begin_cell(n);
		if (!n->again)
			s = look_up(n, &o, err);
	}
	if (s == STATUS_OK && !o.is_settled) {
		snprintf(n->phase, sizeof n->phase, "prepare");
		return crew_start(l->crew, n->number, prepare, n, err);
	}
	if (s == STATUS_OK)
		s = after_try(n, &o, err);
	schedule_end(&l->schedule, n->number);
	ready(n);
	return s;
}

static enum status prepared(struct line *n, bool beside, struct error *err)
{
	const struct outcome left = { .verdict = VERDICT_COUNT, .is_left = true };

	if (*crew_stop_flag(n->loop->crew))
		return after_try(n, &left, err);
	// Others had the memory: asked again when they are done.
	if (n->memory.refused && beside && !n->again) {
		n->again = true;
		n->state = LINE_NEXT_TRY;
		return STATUS_OK;
	}
	n->again = false;
	n->state = LINE_PREPARED;
	return STATUS_OK;
}

// What it came to is said here or nowhere. It counts neither among the verdicts nor among what was not started.
static void tell_unstored(struct line *n)
{
	struct matrix *c = n->loop->matrix;

	c->unstored++;
	tell_text(n, MATRIX_NOTICE,
		arena_printf(
			&n->arena, "%s: %s, and the database did not take its row", n->label, verdict_word(n->result.verdict)));
	n->label = NULL;
}

// Whatever its outcome, no other cell or try comes behind it.
static bool is_last(const struct line *n)
{
	const struct loop *l = n->loop;

	for (size_t i = 0; i < l->matrix->line_count; i++)
		if (&l->lines[i] != n && l->lines[i].state != LINE_OVER)
			return false;
	return n->at + 1 == n->end && !l->matrix->fallback && !l->matrix->together;
}

// The run ends while the file is open for its last row: opening and closing it anew takes longer than both. Where that fails, the
// end is written by itself.
static enum status keep(struct line *n, struct error *err)
{
	struct loop *l = n->loop;
	struct error why = { 0 };
	enum status s = plan_finish(&n->task, store_of(l), &n->arena, &n->result, err);

	if (s == STATUS_OK && l->matrix->db && is_last(n))
		store_end_run(&l->store, &why);
	return s;
}

static enum status measured(struct line *n, struct error *err)
{
	struct loop *l = n->loop;
	struct outcome o;
	enum status s = l->db_is_lost ? error_set(err, STATUS_TIMEOUT, "%s", l->err.text) : keep(n, err);

	if (s != STATUS_OK) {
		l->db_is_lost |= s == STATUS_TIMEOUT;
		tell_unstored(n);
		return s;
	}
	take_result(n);
	if (!n->model.refused && n->runs) {
		l->measured_s += (clock_ms() - n->begun_ms) / 1e3;
		l->guessed_s += n->chain.attempt.number == 1 ? l->guess_s[n->at] : 0;
	}
	o = (struct outcome){ .verdict = n->result.verdict, .row = n->result.row };
	return after_try(n, &o, err);
}

static void step_done(struct line *n)
{
	struct loop *l = n->loop;
	struct error err = n->err;
	const bool beside = schedule_running(&l->schedule) > 1, was_measured = n->state == LINE_PREPARED;
	enum status s = n->status;

	schedule_end(&l->schedule, n->number);
	if (s == STATUS_OK)
		s = was_measured ? measured(n, &err) : prepared(n, beside, &err);
	if (s != STATUS_OK) {
		fail(l, &err);
		return;
	}
	ready(n);
}

// ---- all lines -----------------------------------------------------------------------------------------------------------

// Starts every cell that may start now. False: no cell runs and none can start.
static bool begin_steps(struct loop *l)
{
	for (;;) {
		struct error err = { 0 };
		size_t i;

		while ((i = schedule_grant(&l->schedule)) != SIZE_MAX)
			crew_grant(l->crew, i);
		if (l->failed || is_asked_to_stop(l->matrix) || (i = schedule_next(&l->schedule)) == SIZE_MAX)
			return schedule_running(&l->schedule) > 0;
		l->lines[i].err = err;
		if (take_turn(&l->lines[i], &err) != STATUS_OK) {
			schedule_end(&l->schedule, i);
			fail(l, &err);
		}
	}
}

static void hear(struct loop *l, const struct crew_event *e)
{
	struct line *n = &l->lines[e->line];

	switch (e->kind) {
	case CREW_PHASE:
		snprintf(n->phase, sizeof n->phase, "%s", e->text);
		tell_progress(l);
		break;
	case CREW_NOTICE:
		tell_text(n, MATRIX_NOTICE, e->text);
		break;
	case CREW_WANT:
		schedule_want(&l->schedule, e->line);
		break;
	case CREW_DONE:
		step_done(n);
		break;
	}
}

static void run_all(struct loop *l)
{
	struct crew_event event;

	while (begin_steps(l)) {
		if (l->failed || is_asked_to_stop(l->matrix))
			crew_stop(l->crew);
		store_let_go(&l->store);
		if (crew_hear(l->crew, &event))
			hear(l, &event);
	}
}

static void make_lines(struct loop *l)
{
	struct matrix *c = l->matrix;
	struct machine *machine = ARENA_NEW(&c->arena, struct machine);

	machine_detect(machine, &c->arena);
	l->machine = machine;
	l->store.machine = machine->id;
	l->weights = ARENA_ARRAY(&c->arena, c->model_count + 1, struct weights);
	l->guess_s = ARENA_ARRAY(&c->arena, c->cell_count + 1, double);
	l->lines = ARENA_ARRAY(&c->arena, c->line_count + 1, struct line);
	l->schedule = (struct schedule){ .lines = ARENA_ARRAY(&c->arena, c->line_count + 1, struct schedule_line),
		.count = c->line_count,
		.workers = c->workers > 1 ? (size_t)c->workers : 1,
		.room_bytes = machine->memory_available_bytes > 0 ? (uint64_t)machine->memory_available_bytes : 0 };
	for (size_t i = 0; i < c->cell_count; i++) {
		const struct matrix_cell *p = &c->cells[i];
		struct line *n = &l->lines[p->line];

		if (i == 0 || p[-1].line != p->line)
			*n = (struct line){ .loop = l, .number = p->line, .at = i };
		n->end = i + 1;
		l->weights[p->model - c->models].cells_left++;
		l->weights[p->model - c->models].refused = p->model->refused != STATUS_OK;
		l->guess_s[i] = matrix_guess_s(p->model, p->target, p->question, i == 0 || p[-1].model != p->model);
		l->left_s += l->guess_s[i];
	}
	for (size_t i = 0; i < c->line_count; i++)
		ready(&l->lines[i]);
}

static enum status begin(struct loop *l, struct error *err)
{
	struct matrix *c = l->matrix;

	if (!c->db)
		return STATUS_OK;
	enum status s = store_open(&l->store, c->db, false, err);
	l->store.keeps_open = s == STATUS_OK; // until something is waited for
	return s;
}

struct reading {
	struct loop *loop;
	const char *model;
};

static int tell_reading(void *context, uint64_t done, uint64_t total)
{
	const struct reading *r = context;

	tell(r->loop, &(struct matrix_event){ .kind = MATRIX_READING, .text = r->model, .done = done, .total = total });
	return is_asked_to_stop(r->loop->matrix);
}

// A stop is no error: then no cell begins.
static enum status identify(struct loop *l, struct error *err)
{
	struct matrix *c = l->matrix;
	enum status s = STATUS_OK;

	for (size_t i = 0; i < c->model_count && s == STATUS_OK; i++) {
		struct reading r = { l, c->models[i].model };

		s = plan_identify_or_refuse(&c->models[i], &c->arena, tell_reading, &r, err);
	}
	return s == STATUS_INTERRUPTED ? STATUS_OK : s;
}

static void end(struct loop *l)
{
	struct matrix *c = l->matrix;
	struct error err = { 0 };

	for (size_t i = 0; i < c->model_count; i++)
		arena_done(&l->weights[i].arena);
	for (size_t i = 0; i < c->line_count; i++) {
		// Prepared, and then came the stop.
		c->done -= l->lines[i].label && l->lines[i].chain.attempt.number == 1;
		arena_done(&l->lines[i].arena);
	}
	for (size_t i = 0; i < c->cell_count; i++)
		json_array_extend(c->results, c->cells[i].results);
	if (!l->failed && (need_run(l, &err) != STATUS_OK || (l->store.run > 0 && store_end_run(&l->store, &err) != STATUS_OK)))
		fail(l, &err);
}

enum status matrix_run(struct matrix *c, struct error *err)
{
	static volatile sig_atomic_t never;
	struct loop l = { .matrix = c,
		.store = { .notice = tell_sentence },
		.cache_limit = matrix_cache_limit(c),
		.writing = PTHREAD_MUTEX_INITIALIZER,
		.models = PTHREAD_MUTEX_INITIALIZER };

	l.store.context = &l;
	c->results = json_array();
	pages_keep(); // a disk that fails under one model's files ends no other's cells
	enum status s = identify(&l, err);
	if (s == STATUS_OK)
		s = begin(&l, err);
	if (s == STATUS_OK)
		s = crew_open(&l.crew, c->line_count, c->stop ? c->stop : &never, c->polls_stop, err);
	if (s == STATUS_OK) {
		make_lines(&l);
		run_all(&l);
		if (c->together && !l.failed && !is_asked_to_stop(c)) {
			store_let_go(&l.store);
			l.store.keeps_open = false; // it waits without end between its transactions
			l.failed =
				need_run(&l, &l.err) != STATUS_OK || together_run(c, store_of(&l), l.crew, &l.err) != STATUS_OK;
		}
		crew_close(l.crew);
		end(&l);
	}
	store_close(&l.store);
	pthread_mutex_destroy(&l.writing);
	pthread_mutex_destroy(&l.models);
	c->was_stopped = is_asked_to_stop(c);
	return l.failed ? error_set(err, STATUS_FAILED, "%s", l.err.text) : s;
}
