// SPDX-License-Identifier: Apache-2.0
// cells.h. What is decided about a cell is decided in api/plan.c; here is the order of things, and what a person sees.
#include "cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/artifact.h"
#include "base/clock.h"
#include "base/file.h"
#include "fetching.h"
#include "progress.h"
#include "show.h"

const char *cells_plural(size_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

const char *cells_command(struct arena *a, int argc, char **argv)
{
	struct text t = { 0 };
	text_add(&t, "assay");
	for (int i = 0; i < argc; i++)
		text_addf(&t, strpbrk(argv[i], " '\"*?$;&|<>()") ? " '%s'" : " %s", argv[i]);
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

void cells_print_counts(const struct cells *c)
{
	const char *separator = "";
	for (int v = 0; v < VERDICT_COUNT; v++)
		if (c->by_verdict[v]) {
			printf("%s%zu %s", separator, c->by_verdict[v], verdict_word((enum verdict)v));
			separator = ", ";
		}
	if (c->skipped)
		printf("; %zu finished before", c->skipped);
	if (c->taken)
		printf("; %zu left to another run", c->taken);
	putchar('\n');
}

// Of one cell: starting an engine, first runs, 3 s of timed runs and the judging; then every GiB of weights is read, converted or
// repacked, and read again for the reference. Six cells of three models, 1.7 GiB, took 127 s on 2 busy cores.
static const double guess_s_per_cell = 8, guess_s_per_gib = 10, guess_s_per_written_gib = 2;
const char cells_guess_words[] = "8 s a cell and 10 s a GiB of weights, and 2 s a GiB to write synthetic ones";

double cells_guess_s(const struct plan_model *m, const struct target *t, bool first)
{
	double gib = (double)(m->weight_bytes + m->synthetic_bytes) / 1073741824.0;
	if (m->refused || t->absent)
		return 0;
	return guess_s_per_cell + guess_s_per_gib * gib + (first && m->makes_weights ? guess_s_per_written_gib * gib : 0);
}

// Brings what the models lack: first configurations, then the weights of those that assay can draw. Nobody waits for gigabytes of
// a model that gets a refusal. In a dry run the ones that are not here are taken out of the list.
static int bring(struct cells *c, const char **models, size_t *count)
{
	struct fetching x = { .offline = c->offline, .dry_run = c->fetch_nothing };
	struct question q = c->question;
	size_t kept = 0;
	int code = -1;
	bool added;

	for (size_t i = 0; i < *count && code < 0; i++) {
		code = fetching_add(&x, models[i], q.synthetic || !x.dry_run ? FETCH_CONFIG : FETCH_MODEL, &added);
		if (!added || !x.dry_run)
			models[kept++] = models[i];
	}
	if (code < 0)
		code = fetching_all(&x);
	*count = kept;
	q.synthetic = true;
	for (size_t i = 0; i < kept && code < 0 && !c->question.synthetic && !x.dry_run; i++) {
		struct plan_model m;
		if (plan_model(&m, &c->arena, models[i], &q, NULL) == STATUS_OK && m.refused != STATUS_UNSUPPORTED)
			code = fetching_add(&x, models[i], FETCH_MODEL, &added);
	}
	if (code < 0)
		code = fetching_all(&x);
	fetching_done(&x);
	return code;
}

// --task generate has defaults; its lengths mean nothing to a forward pass.
static int check_task(struct cells *c)
{
	struct question *q = &c->question;
	if (c->task && strcmp(c->task, "forward") && strcmp(c->task, "generate"))
		return cli_bad_use("--task %s: there are forward and generate", c->task);
	bool generates = c->task && strcmp(c->task, "generate") == 0;
	if (!generates && (q->prompt_tokens || q->new_tokens))
		return cli_bad_use("--prompt-tokens and --new-tokens belong to --task generate");
	if (generates && q->sequence)
		return cli_bad_use("--seq is the length of a forward pass; --task generate has --prompt-tokens");
	if (generates && (q->golden || q->is_static))
		return cli_bad_use("--task generate takes neither --golden nor --static");
	if (generates) {
		q->prompt_tokens = q->prompt_tokens ? q->prompt_tokens : 32;
		q->new_tokens = q->new_tokens ? q->new_tokens : 32;
		q->sequence = q->prompt_tokens;
	}
	return -1;
}

int cells_plan(struct cells *c, const char *const *models, size_t model_count)
{
	struct error err = { 0 };

	c->question.seed = (uint64_t)c->seed;
	c->question.memory_bytes = (int64_t)(c->memory_gib * 1073741824.0);
	int code = check_task(c);
	if (code >= 0)
		return code;
	if (c->question.golden && !file_exists(c->question.golden))
		return cli_bad_use("--golden %s: no such file", c->question.golden);
	if (c->question.golden && model_count > 1)
		return cli_bad_use("--golden judges one model, not %zu", model_count);
	if (plan_targets(&c->targets, &c->target_count, &c->arena, c->on.items, (size_t)c->on.count, c->options, &err) !=
		STATUS_OK)
		return cli_error(&err);
	const char **named = ARENA_ARRAY(&c->arena, model_count + 1, const char *);
	for (size_t i = 0; i < model_count; i++)
		named[i] = models[i];
	code = bring(c, named, &model_count);
	if (code >= 0)
		return code;
	c->models = ARENA_ARRAY(&c->arena, model_count + 1, struct plan_model);
	for (size_t i = 0; i < model_count; i++)
		if (plan_model(&c->models[i], &c->arena, named[i], &c->question, &err) != STATUS_OK)
			return cli_error(&err);
	c->model_count = model_count;
	return -1;
}

// ---- one cell after the other ----------------------------------------------------------------------------------------

struct loop {
	struct cells *cells;
	struct store store;
	double measured_s, guessed_s; // of the cells that were run: wall clock, and what was guessed for them
	double guess_s;               // for the running one
	double left_s;                // what was guessed for the cells from the running one on
	const char *label;            // "[3/14] bert on cpu"
};

static void say_notice(const char *sentence)
{
	progress_clear();
	fprintf(stderr, "assay: %s\n", sentence);
}

// The guesses, corrected by how wrong they have been so far; half a minute of trust in them, so that one small cell does not
// decide.
static double seconds_left(const struct loop *l)
{
	const double trust_s = 30;
	return l->left_s * (l->measured_s + trust_s) / (l->guessed_s + trust_s);
}

static void show_phase(void *context, const char *phase)
{
	struct loop *l = context;
	if (l->cells->counted && l->guessed_s > 0)
		progress_line("%s: %s, about %s left", l->label, phase, progress_duration(seconds_left(l)));
	else
		progress_line("%s: %s", l->label, phase);
}

static int fail(struct loop *l, const struct error *err)
{
	progress_clear();
	l->cells->exit_code = EXIT_USE;
	return cli_error(err);
}

static int worse(int a, int b)
{
	return a > b ? a : b;
}

static void take_result(struct loop *l, struct cell_result *r, struct arena *a)
{
	struct cells *c = l->cells;
	progress_clear();
	c->by_verdict[r->verdict]++;
	c->exit_code = worse(c->exit_code, verdict_exit_code(r->verdict));
	json_array_append_new(c->results, plan_json(r));
	if (c->counted)
		fprintf(stderr, "%s: %s\n", l->label, show_short(a, r));
	if (!c->quiet)
		show_result(r, c->db);
}

// A cell that was finished before counts with the verdict it has.
static enum status take_stored(struct loop *l, int64_t row, struct error *err)
{
	struct table t;
	char sql[80];

	snprintf(sql, sizeof sql, "SELECT verdict FROM result WHERE id = %lld", (long long)row);
	enum status s = store_query(&l->store, sql, &t, err);
	if (s != STATUS_OK)
		return s;
	const char *word = table_get(&t, 0, "verdict");
	enum verdict v = word ? verdict_find(word) : VERDICT_COUNT;
	if (v != VERDICT_COUNT) {
		l->cells->by_verdict[v]++;
		l->cells->exit_code = worse(l->cells->exit_code, verdict_exit_code(v));
	}
	fprintf(stderr, "%s: finished before, row %lld: %s\n", l->label, (long long)row, word ? word : "no verdict");
	return STATUS_OK;
}

// Is the cell to be left alone because --resume finds its row, or a live run has it?
static enum status is_settled(
	struct loop *l, const struct plan_model *m, const struct target *t, struct arena *a, bool *out, struct error *err)
{
	struct cell cell;
	enum store_cell_state state;
	int64_t row = ROW_NONE;

	*out = false;
	if (!l->cells->resume)
		return STATUS_OK;
	plan_cell(&cell, m, t, &l->cells->question);
	enum status s = store_cell_state(&l->store, plan_key(m, &cell, a), &state, &row, err);
	if (s != STATUS_OK || state == STORE_NEVER)
		return s;
	*out = true;
	if (state == STORE_TAKEN) {
		l->cells->taken++;
		fprintf(stderr, "%s: another run is at it, left alone\n", l->label);
		return STATUS_OK;
	}
	l->cells->skipped++;
	return take_stored(l, row, err);
}

static enum status prepare_and_run(
	struct loop *l, struct plan_model *m, const struct target *t, struct arena *weights, struct arena *a, struct error *err)
{
	struct cells *c = l->cells;
	struct cell_watch watch = { .phase = show_phase, .context = l, .stop = &cli_stop };
	uint64_t limit = c->cache_limit_gib >= 0 ? (uint64_t)(c->cache_limit_gib * 1073741824.0) : plan_cache_limit();
	const char *what = arena_printf(a, "%s: writing synthetic weights", l->label);
	struct cell_result result;
	struct plan_memory memory;
	double begin = clock_ms();

	plan_memory(&memory, a, m, t, &c->question);
	if (!t->absent && !memory.refused) {
		enum status s = plan_weights(m, weights, &c->question, limit, progress_bytes, (void *)what, err);
		if (s != STATUS_OK)
			return s;
	}
	if (cli_stop) {
		c->done--;
		return STATUS_OK;
	}
	enum status s = plan_run(m, t, &c->question, &memory, &l->store, &watch, a, &result, err);
	if (s != STATUS_OK)
		return s;
	take_result(l, &result, a);
	if (!m->refused && !memory.refused && !t->absent) {
		l->measured_s += (clock_ms() - begin) / 1e3;
		l->guessed_s += l->guess_s;
	}
	return STATUS_OK;
}

static int run_cell(struct loop *l, struct plan_model *m, const struct target *t, struct arena *weights)
{
	struct cells *c = l->cells;
	struct arena a = { 0 };
	struct error err = { 0 };
	bool settled;
	int code = -1;

	c->done++;
	l->label = c->counted ? arena_printf(&a, "[%zu/%zu] %s on %s", c->done, c->model_count * c->target_count, m->model,
					t->platform->name)
			      : arena_printf(&a, "%s on %s", m->model, t->platform->name);
	enum status s = is_settled(l, m, t, &a, &settled, &err);
	if (s == STATUS_OK && !settled)
		s = prepare_and_run(l, m, t, weights, &a, &err);
	if (s != STATUS_OK)
		code = fail(l, &err);
	arena_done(&a);
	return code;
}

static int run_all(struct loop *l)
{
	struct cells *c = l->cells;
	int code = -1;
	for (size_t i = 0; i < c->model_count; i++)
		for (size_t k = 0; k < c->target_count; k++)
			l->left_s += cells_guess_s(&c->models[i], &c->targets[k], k == 0);
	for (size_t i = 0; i < c->model_count && code < 0; i++) {
		struct plan_model *m = &c->models[i];
		struct arena weights = { 0 }; // while it lives the model's synthetic weights stay in the cache
		for (size_t k = 0; k < c->target_count && !cli_stop && code < 0; k++) {
			l->guess_s = cells_guess_s(m, &c->targets[k], k == 0);
			code = run_cell(l, m, &c->targets[k], &weights);
			l->left_s -= l->guess_s;
		}
		arena_done(&weights);
		if (m->makes_weights)
			m->path = NULL;
	}
	return code;
}

static enum status begin(struct loop *l, struct error *err)
{
	struct cells *c = l->cells;
	struct machine machine;

	machine_detect(&machine, &c->arena);
	enum status s = store_open(&l->store, c->db, false, err);
	if (s == STATUS_OK)
		s = store_begin_run(&l->store, &machine, c->command, err);
	if (s != STATUS_OK)
		return s;
	progress_line("looking at the engines");
	json_t *platforms = detect_platforms();
	plan_choose(c->targets, c->target_count, platforms, &c->arena);
	s = store_detection(&l->store, platforms, err);
	json_decref(platforms);
	progress_clear();
	return s;
}

int cells_run(struct cells *c)
{
	struct loop l = { .cells = c, .store.notice = say_notice };
	struct error err = { 0 };

	cli_catch_stop();
	c->results = json_array();
	c->exit_code = EXIT_GOOD;
	if (begin(&l, &err) != STATUS_OK) {
		store_close(&l.store);
		return fail(&l, &err);
	}
	bool failed = run_all(&l) >= 0;
	progress_clear();
	if (!failed && store_end_run(&l.store, &err) != STATUS_OK)
		fail(&l, &err);
	store_close(&l.store);
	if (cli_stop) {
		size_t left = c->model_count * c->target_count - c->done;
		fprintf(stderr, "assay: stopped; %zu %s not started\n", left, cells_plural(left, "cell was", "cells were"));
		c->exit_code = worse(c->exit_code, EXIT_VERDICT);
	}
	return c->exit_code;
}

void cells_done(struct cells *c)
{
	json_decref(c->results);
	c->results = NULL;
	arena_done(&c->arena);
}
