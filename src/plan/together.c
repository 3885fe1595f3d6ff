// SPDX-License-Identifier: Apache-2.0
// together.h: the members of a group, a thread each, and the gates where they wait for each other.
#include "plan/together.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cell/predict.h"
#include "plan/schedule.h"

enum { GATES = CELL_GATE_END + 1, PAUSE_NS = 50 * 1000 * 1000 };

struct beside {
	struct group *group;
	struct matrix_cell *cell;
	const char *label;
	char phase[320];
	struct arena arena;
	struct plan_model model;
	struct plan_memory memory;
	struct question question;
	struct plan_try attempt;
	struct plan_task task;
	struct cell_result result;
	struct error err;
	enum status status;
	// Of the alone row.
	int64_t alone_row;
	enum verdict alone;
	const char *alone_cause;
	// Guarded by the group's mutex.
	bool at[GATES], is_over;
};

struct group {
	struct matrix *matrix;
	struct store *store;
	struct crew *crew;
	struct beside *members;
	size_t count;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
};

// ---- gates ---------------------------------------------------------------------------------------------------------------

static size_t at_gate(const struct group *g, enum cell_gate gate)
{
	size_t n = 0;

	for (size_t i = 0; i < g->count; i++)
		n += g->members[i].at[gate];
	return n;
}

// That it will not come to: it ended before.
static size_t lost_for(const struct group *g, enum cell_gate gate)
{
	size_t n = 0;

	for (size_t i = 0; i < g->count; i++)
		n += g->members[i].is_over && !g->members[i].at[gate];
	return n;
}

static void wait_a_little(struct group *g)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += PAUSE_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&g->changed, &g->mutex, &until); // the stop flag has nobody who signals
}

// The first gate opens for all or for nobody; the last for those that are left.
static bool meet(void *context, enum cell_gate gate)
{
	struct beside *m = context;
	struct group *g = m->group;
	bool is_open;

	pthread_mutex_lock(&g->mutex);
	m->at[gate] = true;
	pthread_cond_broadcast(&g->changed);
	while (at_gate(g, gate) + lost_for(g, gate) < g->count && (gate == CELL_GATE_END || lost_for(g, gate) == 0) &&
		!*crew_stop_flag(g->crew))
		wait_a_little(g);
	is_open = gate == CELL_GATE_END || at_gate(g, gate) == g->count;
	pthread_mutex_unlock(&g->mutex);
	return is_open;
}

static void leave(struct beside *m)
{
	pthread_mutex_lock(&m->group->mutex);
	m->is_over = true;
	pthread_cond_broadcast(&m->group->changed);
	pthread_mutex_unlock(&m->group->mutex);
}

// ---- in threads ----------------------------------------------------------------------------------------------------------

static void tell_phase(void *context, const char *phase)
{
	const struct beside *m = context;

	crew_tell(m->group->crew, (size_t)(m - m->group->members), CREW_PHASE, phase);
}

static void tell_notice(void *context, const char *text)
{
	const struct beside *m = context;

	crew_tell(m->group->crew, (size_t)(m - m->group->members), CREW_NOTICE, text);
}

static void measure(void *context)
{
	struct beside *m = context;
	const struct cell_watch watch = {
		.phase = tell_phase, .notice = tell_notice, .meet = meet, .context = m, .stop = crew_stop_flag(m->group->crew)
	};

	m->status = plan_measure(&m->task, &watch, &m->arena, &m->result, &m->err);
	leave(m);
}

// ---- before --------------------------------------------------------------------------------------------------------------

static const char *name_of(struct arena *a, const struct matrix_cell *p)
{
	const struct target *t = p->target;
	const bool is_named = t->chosen && t->device && *t->device;

	return arena_printf(
		a, "%s on %s%s%s", p->model->model, t->platform->name, is_named ? ":" : "", is_named ? t->device : "");
}

// What stood beside it, for its question and its label.
static const char *others_of(struct arena *a, const struct group *g, const struct beside *m)
{
	const char *words = NULL;

	for (size_t i = 0; i < g->count; i++)
		if (&g->members[i] != m)
			words = arena_join(a, words, ", ", name_of(a, g->members[i].cell));
	return words;
}

static void refuse(struct beside *m, enum verdict as, const char *words)
{
	if (m->memory.refused)
		return;
	m->memory.refused_as = as;
	m->memory.refused = words;
}

static void read_alone(struct beside *m)
{
	const json_t *row = json_array_get(m->cell->results, 0);

	m->alone_row = json_is_integer(json_object_get(row, "row")) ? json_integer_value(json_object_get(row, "row")) : ROW_NONE;
	m->alone = row ? verdict_find(json_string_value(json_object_get(row, "verdict"))) : VERDICT_COUNT;
	m->alone_cause = json_string_value(json_object_get(row, "cause"));
}

// As the cell alone was prepared: its weights lie in the cache.
static enum status prepare(struct group *g, struct beside *m, struct error *err)
{
	struct matrix_cell *p = m->cell;

	m->model = *p->model;
	m->question = *p->question;
	m->question.together = others_of(&m->arena, g, m);
	m->label = arena_printf(&m->arena, "%s%s, together with %s", name_of(&m->arena, p),
		schedule_is_emulated(p->target, g->matrix->platforms) ? " (EMULATED)" : "", m->question.together);
	plan_identify(&m->model, &m->arena, NULL, NULL, NULL);
	plan_memory_apart(&m->memory, &m->arena, &m->model, p->target, &m->question, crew_stop_flag(g->crew));
	if (m->model.refused || p->target->absent || m->memory.refused)
		return STATUS_OK;
	return plan_weights(&m->model, &m->arena, p->target, &m->question, matrix_cache_limit(g->matrix), NULL, NULL, err);
}

// Those that are well are not asked where another one is not, and none where all of them together do not fit.
static void check_group(struct group *g)
{
	struct prediction sum = { 0 };
	struct arena *a = &g->matrix->arena;
	struct machine machine;
	struct error why = { 0 };
	const char *lacks = NULL;

	for (size_t i = 0; i < g->count; i++) {
		const struct beside *m = &g->members[i];

		sum.required_bytes += m->memory.predicted_bytes;
		if (!lacks && (m->alone == VERDICT_COUNT || !verdict_ran(m->alone)))
			lacks = arena_printf(a, "%s did not run alone: %s%s%s", name_of(a, m->cell),
				m->alone == VERDICT_COUNT ? "no answer" : verdict_word(m->alone), m->alone_cause ? ": " : "",
				m->alone_cause ? m->alone_cause : "");
	}
	machine_detect(&machine, a);
	const bool fits = g->matrix->question.force || predict_fits(&sum, &machine, 0, &why) == STATUS_OK;
	for (size_t i = 0; i < g->count; i++) {
		if (lacks)
			refuse(&g->members[i], VERDICT_NOT_ASKED, arena_printf(a, "not run together: %s", lacks));
		else if (!fits)
			refuse(&g->members[i], VERDICT_NO_MEMORY, arena_printf(a, "all of them together: %s", why.text));
	}
}

// ---- after ---------------------------------------------------------------------------------------------------------------

double together_share(struct together_span mine, const struct together_span *others, size_t count)
{
	int64_t from = mine.from_ns, to = mine.to_ns;

	for (size_t i = 0; i < count; i++) {
		from = others[i].from_ns > from ? others[i].from_ns : from;
		to = others[i].to_ns < to ? others[i].to_ns : to;
	}
	if (mine.to_ns <= mine.from_ns)
		return (double)NAN;
	return to > from ? (double)(to - from) / (double)(mine.to_ns - mine.from_ns) : 0;
}

static void hold_against_alone(const struct group *g, struct beside *m)
{
	struct together_span *others = ARENA_ARRAY(&m->arena, g->count, struct together_span);
	const struct cell_result *r = &m->result;
	struct row *row = &m->result.row;
	size_t n = 0;

	for (size_t i = 0; i < g->count; i++)
		if (&g->members[i] != m)
			others[n++] =
				(struct together_span){ g->members[i].result.busy_from_ns, g->members[i].result.busy_to_ns };
	row->together = m->question.together;
	row->together_share = together_share((struct together_span){ r->timed_from_ns, r->timed_to_ns }, others, n);
	row->alone_row = m->alone_row;
	row->alone_ms = m->cell->latency_ms;
	row->together_factor = row->latency_ms / m->cell->latency_ms;
	row->together_throughput = row->throughput_per_s / m->cell->throughput_per_s;
}

// Why the gate did not open for the others: the first that did not come to it.
static const char *who_lacked(struct arena *a, const struct group *g)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct beside *m = &g->members[i];

		if (!m->at[CELL_GATE_START])
			return arena_printf(a, "%s did not come to its timed runs: %s%s%s", name_of(a, m->cell),
				verdict_word(m->result.verdict), m->result.row.cause ? ": " : "",
				m->result.row.cause ? m->result.row.cause : "");
	}
	return NULL;
}

static enum status finish(struct group *g, struct beside *m, struct error *err)
{
	struct cell_result *r = &m->result;
	const char *lacked = r->verdict == VERDICT_NOT_ASKED && m->at[CELL_GATE_START] ? who_lacked(&m->arena, g) : NULL;

	if (lacked)
		r->row.cause = lacked;
	hold_against_alone(g, m);
	const enum status s = plan_finish(&m->task, g->store, &m->arena, r, err);
	if (s != STATUS_OK)
		return s;
	json_array_append_new(m->cell->results, plan_json(r));
	matrix_count(g->matrix, r->verdict, &r->row);
	if (g->matrix->event)
		g->matrix->event(g->matrix->context,
			&(struct matrix_event){ .kind = MATRIX_RESULT,
				.cell = m->cell,
				.label = m->label,
				.result = r,
				.seconds_left = (double)NAN });
	return STATUS_OK;
}

// ---- all of them ---------------------------------------------------------------------------------------------------------

static void tell_progress(const struct group *g)
{
	struct text t = { 0 };

	for (size_t i = 0; i < g->count; i++)
		text_addf(&t, "%s%s: %s", i ? "; " : "", name_of(&g->matrix->arena, g->members[i].cell), g->members[i].phase);
	if (g->matrix->event)
		g->matrix->event(g->matrix->context,
			&(struct matrix_event){ .kind = MATRIX_PROGRESS, .text = text_get(&t), .seconds_left = (double)NAN });
	text_done(&t);
}

static void hear(struct group *g, const struct crew_event *e, size_t *running)
{
	struct beside *m = &g->members[e->line];

	if (e->kind == CREW_DONE)
		--*running;
	if (e->kind == CREW_PHASE) {
		snprintf(m->phase, sizeof m->phase, "%s", e->text);
		tell_progress(g);
	}
	if (e->kind == CREW_NOTICE && g->matrix->event)
		g->matrix->event(g->matrix->context,
			&(struct matrix_event){ .kind = MATRIX_NOTICE, .cell = m->cell, .label = m->label, .text = e->text });
}

static enum status begin(struct group *g, struct beside *m, struct error *err)
{
	struct cell c;

	plan_cell(&c, &m->model, m->cell->target, &m->question);
	m->attempt = (struct plan_try){ .requested = m->cell->target->platform->name,
		.number = 1,
		.fallback_of = ROW_NONE,
		.key = plan_key(&m->model, &c, &m->arena) };
	return plan_begin(&m->task,
		&(struct plan_asked){ &m->model, m->cell->target, &m->question, &m->memory, &m->attempt, false }, g->store,
		&m->arena, err);
}

// What was started is waited for, whatever happens.
static enum status start_and_wait(struct group *g, struct error *err)
{
	struct crew_event event;
	enum status s = STATUS_OK;
	size_t running = 0;

	for (size_t i = 0; i < g->count && s == STATUS_OK; i++) {
		struct beside *m = &g->members[i];

		if ((s = begin(g, m, err)) == STATUS_OK && (s = crew_start(g->crew, i, measure, m, err)) == STATUS_OK)
			running++;
	}
	if (s != STATUS_OK)
		crew_stop(g->crew);
	while (running > 0) {
		if (crew_hear(g->crew, &event))
			hear(g, &event, &running);
		else
			crew_stop(g->crew);
	}
	for (size_t i = 0; i < g->count && s == STATUS_OK; i++)
		if ((s = g->members[i].status) != STATUS_OK)
			*err = g->members[i].err;
	return s;
}

enum status together_run(struct matrix *matrix, struct store *store, struct crew *crew, struct error *err)
{
	struct group g = { .matrix = matrix,
		.store = store,
		.crew = crew,
		.members = ARENA_ARRAY(&matrix->arena, matrix->cell_count, struct beside),
		.count = matrix->cell_count,
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER };
	enum status s = STATUS_OK;

	matrix->has_met = true;
	for (size_t i = 0; i < g.count; i++) {
		g.members[i] = (struct beside){ .group = &g, .cell = &matrix->cells[i], .phase = "start" };
		read_alone(&g.members[i]);
	}
	for (size_t i = 0; i < g.count && s == STATUS_OK; i++)
		s = prepare(&g, &g.members[i], err);
	if (s == STATUS_OK) {
		check_group(&g);
		s = start_and_wait(&g, err);
	}
	for (size_t i = 0; i < g.count && s == STATUS_OK; i++)
		s = finish(&g, &g.members[i], err);
	for (size_t i = 0; i < g.count; i++)
		arena_done(&g.members[i].arena);
	pthread_cond_destroy(&g.changed);
	pthread_mutex_destroy(&g.mutex);
	return s;
}
