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
#include "measure/protocol.h"
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
	if (c->fell_back)
		printf("; %zu of these on a fallback", c->fell_back);
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

// How it is measured.
static int check_protocol(struct cells *c)
{
	const struct variant *v = &c->question.variant;

	if (!effort_find(v->effort))
		return cli_bad_use("--effort %s: there are rapid, quick and normal", v->effort);
	return -1;
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
	if (q->is_static && q->is_dynamic)
		return cli_bad_use("--static and --dynamic do not go together");
	if (generates && (q->golden || q->is_static))
		return cli_bad_use("--task generate takes neither --golden nor --static");
	if (generates) {
		q->prompt_tokens = q->prompt_tokens ? q->prompt_tokens : 32;
		q->new_tokens = q->new_tokens ? q->new_tokens : 32;
		q->sequence = q->prompt_tokens;
	}
	return -1;
}

static void warn_stand_ins(void)
{
	struct text names = { 0 };

	for (size_t i = 0; i < platform_count(); i++)
		if (platform_is_stand_in(platform_get(i)))
			text_addf(&names, "%s%s", names.length ? ", " : "", platform_get(i)->name);
	if (names.length)
		fprintf(stderr, "assay: ASSAY_NULL: the null engine stands in for %s; nothing is computed\n", text_get(&names));
	text_done(&names);
}

int cells_plan(struct cells *c, const char *const *models, size_t model_count)
{
	struct error err = { 0 };

	c->question.seed = (uint64_t)c->seed;
	c->question.memory_bytes = (int64_t)(c->memory_gib * 1073741824.0);
	int code = check_task(c);
	if (code < 0)
		code = check_protocol(c);
	if (code >= 0)
		return code;
	struct precise precise;
	if (precision_parse(&precise, c->question.variant.precision, &err) != STATUS_OK)
		return cli_bad_use("--precision %s", err.text);
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
	progress_line("looking at the engines");
	c->platforms = detect_platforms(c->counted ? NULL : c->targets, c->counted ? 0 : c->target_count, c->question.fallback);
	plan_choose(c->targets, c->target_count, c->platforms, &c->arena);
	progress_clear();
	warn_stand_ins();
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

// One try, whichever way its outcome was come by.
struct outcome {
	enum verdict verdict;
	struct row row;
	bool is_settled;                     // it stood in the database, or another run is at it
	bool is_left;                        // to another run, or because the program is to end
};

// Of a chain every try is told; what counts is the last.
static void take_result(struct loop *l, const struct fallback *f, struct cell_result *r, struct arena *a)
{
	struct cells *c = l->cells;
	progress_clear();
	json_array_append_new(c->results, plan_json(r));
	if (c->counted)
		fprintf(stderr, "%s: %s\n", l->label, f->attempt.number > 1 ? fallback_line(a, f->target.platform->name, r->verdict, &r->row) : show_short(a, r));
	if (!c->quiet)
		show_result(r, c->db);
}

// Is the try to be left alone because --resume finds its row, or a live run has it?
static enum status look_up(struct loop *l, const struct fallback *f, struct arena *a, struct outcome *out, struct error *err)
{
	enum store_cell_state state;
	int64_t row = ROW_NONE;

	if (!l->cells->resume)
		return STATUS_OK;
	enum status s = store_cell_state(&l->store, f->attempt.key, &state, &row, err);
	if (s != STATUS_OK || state == STORE_NEVER)
		return s;
	out->is_settled = true;
	if (state == STORE_TAKEN) {
		out->is_left = true;
		l->cells->taken += f->attempt.number == 1;
		fprintf(stderr, "%s: another run is at it, left alone\n", l->label);
		return STATUS_OK;
	}
	l->cells->skipped += f->attempt.number == 1;
	s = store_row(&l->store, a, row, &out->row, err);
	if (s != STATUS_OK)
		return s;
	out->verdict = verdict_find(out->row.verdict);
	fprintf(stderr, "%s: finished before, row %lld: %s\n", l->label, (long long)row,
		f->attempt.number > 1 ? fallback_line(a, f->target.platform->name, out->verdict, &out->row) : out->row.verdict ? out->row.verdict : "no verdict");
	return STATUS_OK;
}

static void show_notice(void *context, const char *text)
{
	(void)context;
	say_notice(text);
}

static enum status prepare_and_run(struct loop *l, struct plan_model *m, const struct fallback *f, struct arena *weights, struct arena *a,
	struct outcome *out, struct error *err)
{
	struct cells *c = l->cells;
	struct cell_watch watch = { .phase = show_phase, .notice = show_notice, .context = l, .stop = &cli_stop };
	uint64_t limit = c->cache_limit_gib >= 0 ? (uint64_t)(c->cache_limit_gib * 1073741824.0) : plan_cache_limit();
	const char *what = arena_printf(a, "%s: writing synthetic weights", l->label);
	struct cell_result result;
	struct plan_memory memory;

	plan_memory(&memory, a, m, &f->target, &f->now);
	bool runs = !f->target.absent && !memory.refused;
	if (runs) {
		enum status s = plan_weights(m, weights, &f->now, limit, progress_bytes, (void *)what, err);
		if (s != STATUS_OK)
			return s;
	}
	if (cli_stop) {
		out->is_left = true;
		return STATUS_OK;
	}
	double begin = clock_ms();
	enum status s = plan_run(m, &f->target, &f->now, &memory, &f->attempt, &l->store, &watch, a, &result, err);
	if (s != STATUS_OK)
		return s;
	take_result(l, f, &result, a);
	if (!m->refused && runs) {
		l->measured_s += (clock_ms() - begin) / 1e3;
		l->guessed_s += f->attempt.number == 1 ? l->guess_s : 0;
	}
	out->verdict = result.verdict;
	out->row = result.row;
	return STATUS_OK;
}

static void count(struct cells *c, const struct fallback *f, const struct outcome *o)
{
	if (o->is_left || o->verdict == VERDICT_COUNT)
		return;
	c->by_verdict[o->verdict]++;
	c->fell_back += f->attempt.number > 1 && verdict_exit_code(o->verdict) == 0;
	c->exit_code = worse(c->exit_code, verdict_exit_code(o->verdict));
}

// Behind the summaries of a chain: one line a try.
static void tell_chain(const struct cells *c, const char *lines)
{
	if (!c->quiet && !c->counted)
		printf("%s\n", lines);
}

static enum status run_chain(struct loop *l, struct plan_model *m, const struct target *t, struct arena *weights, struct arena *a, struct error *err)
{
	struct cells *c = l->cells;
	struct outcome o = { .verdict = VERDICT_COUNT };
	struct fallback f;
	const char *lines = "";
	bool more = true;
	enum status s = STATUS_OK;

	fallback_begin(&f, a, m, t, &c->question, c->platforms);
	for (; more && s == STATUS_OK; more = more && s == STATUS_OK) {
		o = (struct outcome){ .verdict = VERDICT_COUNT };
		s = look_up(l, &f, a, &o, err);
		if (s == STATUS_OK && !o.is_settled)
			s = prepare_and_run(l, m, &f, weights, a, &o, err);
		if (s != STATUS_OK)
			break;
		if (f.attempt.number == 1) {
			f.attempt.fallback_of = o.row.row;
			c->done -= o.is_left && !o.is_settled;
		}
		more = false;
		if (o.is_left || !c->question.fallback || cli_stop)
			break;
		lines = arena_printf(a, "%s  %s\n", lines, fallback_line(a, f.target.platform->name, o.verdict, &o.row));
		s = fallback_next(&f, o.verdict, &o.row, &more, err);
	}
	if (s != STATUS_OK)
		return s;
	if (f.attempt.number > 1)
		tell_chain(c, lines);
	count(c, &f, &o);
	return STATUS_OK;
}

static int run_cell(struct loop *l, struct plan_model *m, const struct target *t, struct arena *weights)
{
	struct cells *c = l->cells;
	struct arena a = { 0 };
	struct error err = { 0 };
	int code = -1;

	c->done++;
	l->label = c->counted ? arena_printf(&a, "[%zu/%zu] %s on %s", c->done, c->model_count * c->target_count, m->model,
					t->platform->name)
			      : arena_printf(&a, "%s on %s", m->model, t->platform->name);
	if (run_chain(l, m, t, weights, &a, &err) != STATUS_OK)
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
	return store_detection(&l->store, c->platforms, err);
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
	json_decref(c->platforms);
	c->results = c->platforms = NULL;
	arena_done(&c->arena);
}
