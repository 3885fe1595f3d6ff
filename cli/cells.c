// SPDX-License-Identifier: Apache-2.0
// cells.h: from options to the cells of the plan, and what is counted of them. Running them is cells_run.c's; what is decided
// about a cell is decided in plan/plan.c.
#include "cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "emit.h"
#include "fetching.h"
#include "cell/protocol.h"
#include "run/loss.h"
#include "cell/scenario.h"
#include "progress.h"
#include "stats/crossover.h"

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

// " (synthetic weights)" where all are, else " (2: synthetic weights; 1: emulated)".
static void print_qualified(const json_t *qualified, size_t count)
{
	const char *words, *separator = "";
	json_t *n;

	if (!qualified)
		return;
	emit(" (");
	json_object_foreach((json_t *)qualified, words, n)
	{
		if (json_integer_value(n) == (json_int_t)count)
			emit("%s", words);
		else
			emit("%s%lld: %s", separator, (long long)json_integer_value(n), words);
		separator = "; ";
	}
	emit(")");
}

void cells_print_counts(const struct cells *c)
{
	const char *separator = "";
	for (int v = 0; v < VERDICT_COUNT; v++)
		if (c->by_verdict[v]) {
			emit("%s%zu %s", separator, c->by_verdict[v], verdict_word((enum verdict)v));
			print_qualified(c->qualified[v], c->by_verdict[v]);
			separator = ", ";
		}
	if (c->fell_back)
		emit("; %zu of these on a fallback", c->fell_back);
	if (c->skipped)
		emit("; %zu finished before", c->skipped);
	if (c->taken)
		emit("; %zu left to another run", c->taken);
	if (c->left_out)
		emit("; %zu of larger batches not asked", c->left_out);
	emit("\n");
}

int cells_worse(int a, int b)
{
	return a > b ? a : b;
}

// The batches of one model, variant and platform that gave a time.
static struct crossover_side side_of(
	const struct cells *c, struct arena *a, const struct plan_model *m, size_t variant, const struct target *t)
{
	struct crossover_point *points = ARENA_ARRAY(a, c->planned_count + 1, struct crossover_point);
	struct crossover_side side = {
		.name = t->chosen ? arena_printf(a, "%s:%s", t->platform->name, t->device) : t->platform->name, .points = points
	};

	for (size_t i = 0; i < c->target_count; i++)
		if (&c->targets[i] != t && c->targets[i].platform == t->platform && t->options && !strstr(side.name, "="))
			side.name = arena_printf(a, "%s,%s", side.name, t->options);

	for (size_t i = 0; i < c->planned_count; i++) {
		const struct planned *p = &c->planned[i];

		if (p->model == m && p->variant == variant && p->target == t && !isnan(p->latency_ms))
			points[side.count++] =
				(struct crossover_point){ p->question->batch, p->latency_ms, p->low_ms, p->high_ms };
	}
	return side;
}

// "gpt2 at 2 threads, seq 16": what is the same for both sides.
static const char *without_batch(struct arena *a, const struct planned *p)
{
	size_t n = strlen(p->label);
	const char *at = p->label;

	for (const char *next; (next = strstr(at, "batch ")); at = next + 1)
		n = (size_t)(next - p->label);
	while (n && (p->label[n - 1] == ' ' || p->label[n - 1] == ','))
		n--;
	return n ? arena_printf(a, "%s, %.*s", p->model->model, (int)n, p->label) : p->model->model;
}

void cells_print_crossovers(const struct cells *c, FILE *out)
{
	struct arena a = { 0 };

	if (c->batch.count < 2 || c->target_count < 2)
		return;
	for (size_t i = 0; i < c->planned_count; i++) {
		const struct planned *p = &c->planned[i];

		// Once for each model and variant: at the first cell of its first platform.
		if (p->target != c->targets || (i && p[-1].line == p->line))
			continue;
		for (size_t x = 0; x < c->target_count; x++)
			for (size_t y = x + 1; y < c->target_count; y++) {
				const struct crossover_side sides[2] = { side_of(c, &a, p->model, p->variant, &c->targets[x]),
					side_of(c, &a, p->model, p->variant, &c->targets[y]) };
				struct crossover found;

				crossover_find(&found, &a, sides);
				const char *sentence = crossover_sentence(&a, sides, &found);
				if (sentence)
					emit_to(out, "%s: %s\n", without_batch(&a, p), sentence);
			}
	}
	arena_done(&a);
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

// Brings what the models lack: first configurations, then the weights of those that assay can build. Gigabytes are not fetched
// for a model that gets a refusal. In a dry run the ones that are not here are taken out of the list.
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
		struct hub_model hub;
		// A folder or a file of its own lacks nothing that could be brought; what lies there is looked at once,
		// afterwards.
		if (hub_find(&hub, &x.arena, models[i], NULL) == STATUS_OK &&
			(hub.kind == HUB_FOLDER || hub.kind == HUB_ONNX_FILE))
			continue;
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
	enum scenario scenario = scenario_find(v->scenario);
	if (scenario == SCENARIO_COUNT)
		return cli_bad_use("--scenario %s: there are single-stream, multi-stream, offline and server", v->scenario);
	bool server = scenario == SCENARIO_SERVER, multi = scenario == SCENARIO_MULTI_STREAM;
	if (server && !(v->rate_per_s > 0 && v->latency_bound_ms > 0))
		return cli_bad_use("--scenario server needs --rate and --latency-bound");
	if (!server && v->rate_per_s > 0)
		return cli_bad_use("--rate belongs to --scenario server");
	if (!server && !multi && v->latency_bound_ms > 0)
		return cli_bad_use("--latency-bound belongs to --scenario server or multi-stream");
	if (!multi && v->streams)
		return cli_bad_use("--streams belongs to --scenario multi-stream");
	int64_t streams = v->streams ? v->streams : SCENARIO_STREAMS, batch = c->question.batch ? c->question.batch : 1;
	if (multi && streams % batch)
		return cli_bad_use("--streams %lld is no multiple of --batch %lld", (long long)streams, (long long)batch);
	if (c->question.new_tokens && (v->scenario || v->cycles))
		return cli_bad_use("--task generate takes neither --scenario nor --cycles");
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
	if (generates && c->sequence.count)
		return cli_bad_use("--seq is the length of a forward pass; --task generate has --prompt-tokens");
	if (q->no_fallback && q->allow_fallback)
		return cli_bad_use("--no-fallback and --allow-fallback exclude each other");
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
		emit_error("assay: ASSAY_NULL: the null engine stands in for %s; nothing is computed\n", text_get(&names));
	text_done(&names);
}

static struct sweep_axes axes_of(const struct cells *c)
{
	return (struct sweep_axes){
		.precision = { c->precision.items, (size_t)c->precision.count },
		.threads = { c->threads.items, (size_t)c->threads.count },
		.image_size = { c->image_size.items, (size_t)c->image_size.count },
		.sequence = { c->sequence.items, (size_t)c->sequence.count },
		.batch = { c->batch.items, (size_t)c->batch.count },
	};
}

static void add_axis(struct text *t, const char *name, const struct cli_integers *list)
{
	if (list->count < 2)
		return;
	text_addf(t, "%s%s ", t->length ? ", " : "", name);
	for (int i = 0; i < list->count; i++)
		text_addf(t, "%s%lld", i ? "," : "", (long long)list->items[i]);
}

const char *cells_axes(const struct cells *c, struct arena *a)
{
	struct text t = { 0 };

	for (int i = 0; i < c->precision.count && c->precision.count > 1; i++)
		text_addf(&t, "%s%s", i ? "," : "precision ", c->precision.items[i]);
	add_axis(&t, "threads", &c->threads);
	add_axis(&t, "image size", &c->image_size);
	add_axis(&t, "seq", &c->sequence);
	add_axis(&t, "batch", &c->batch);
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

// What has one value, or the first of several.
static void take_axes(struct cells *c)
{
	struct question *q = &c->question;

	q->variant.precision = c->precision.count ? c->precision.items[0] : NULL;
	q->batch = c->batch.count ? c->batch.items[0] : 0;
	q->sequence = c->sequence.count ? c->sequence.items[0] : 0;
	q->variant.threads = c->threads.count ? c->threads.items[0] : 0;
	q->variant.image_size = c->image_size.count ? c->image_size.items[0] : 0;
}

// Models x platforms x axes.
static void plan_cells(struct cells *c)
{
	const struct sweep_axes axes = axes_of(c);
	size_t count, most = c->model_count * c->target_count;
	const char *left_out;

	c->is_sweep = sweep_most(&axes) > 1;
	for (size_t i = 0; i < 5; i++) {
		const size_t n = (size_t[]){ axes.precision.count, axes.threads.count, axes.image_size.count, axes.sequence.count,
			axes.batch.count }[i];
		most *= n ? n : 1;
	}
	c->planned = ARENA_ARRAY(&c->arena, most + 1, struct planned);
	for (size_t i = 0; i < c->model_count; i++) {
		struct sweep_cell *cells;

		sweep_cells(&cells, &count, &left_out, &c->arena, &axes, &c->question, &c->models[i]);
		if (left_out)
			emit_error("assay: %s: %s means nothing to this model and is left out for it\n", c->models[i].model,
				left_out);
		for (size_t k = 0; k < c->target_count; k++)
			for (size_t n = 0; n < count; n++) {
				c->line_count += n == 0 || cells[n].series != cells[n - 1].series;
				c->planned[c->planned_count++] = (struct planned){ .model = &c->models[i],
					.target = &c->targets[k],
					.question = &cells[n].question,
					.label = cells[n].label,
					.line = c->line_count - 1,
					.variant = cells[n].series,
					.latency_ms = (double)NAN,
					.low_ms = (double)NAN,
					.high_ms = (double)NAN };
			}
	}
}

int cells_plan(struct cells *c, const char *const *models, size_t model_count)
{
	struct error err = { 0 };

	take_axes(c);
	c->question.seed = (uint64_t)c->seed;
	c->question.memory_bytes = (int64_t)(c->memory_gib * 1073741824.0);
	int code = check_task(c);
	if (code < 0)
		code = check_protocol(c);
	if (code < 0)
		code = cli_cache_ready();
	if (code >= 0)
		return code;
	for (int i = 0; i < c->precision.count; i++) {
		struct precise precise;
		if (precision_parse(&precise, c->precision.items[i], &err) != STATUS_OK)
			return cli_bad_use("--precision %s", err.text);
	}
	struct loss_limits limits;
	if (loss_parse(&limits, c->question.variant.max_loss, &err) != STATUS_OK)
		return cli_bad_use("%s", err.text);
	if (c->question.golden && !file_exists(c->question.golden))
		return cli_bad_use("--golden %s: no such file", c->question.golden);
	if (c->question.golden && (c->batch.count || c->sequence.count || c->image_size.count))
		return cli_bad_use("--golden has the shapes of the file: --batch, --seq and --image-size do not go with it");
	if (c->workers > 1 && c->question.quiet_wait_s > 0)
		return cli_bad_use(
			"--quiet-wait and --workers %lld: cells beside each other are no calm machine", (long long)c->workers);
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
	plan_cells(c);
	warn_stand_ins();
	return -1;
}

void cells_done(struct cells *c)
{
	for (size_t i = 0; i < c->planned_count; i++)
		json_decref(c->planned[i].results);
	json_decref(c->results);
	for (int v = 0; v < VERDICT_COUNT; v++)
		json_decref(c->qualified[v]);
	json_decref(c->platforms);
	c->results = c->platforms = NULL;
	arena_done(&c->arena);
}
