// SPDX-License-Identifier: Apache-2.0
// cells.h: from the command line to a matrix, and what is seen of it.
#include "cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "emit.h"
#include "fetching.h"
#include "progress.h"
#include "show.h"
#include "stats/crossover.h"

const char *cells_plural(size_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

const char *cells_command(struct arena *a, int argc, char **argv)
{
	struct text t = { 0 };
	text_add(&t, "assay");
	for (int i = 0; i < argc; i++) {
		text_add(&t, " ");
		text_add_word(&t, argv[i]);
	}
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

void cells_print_counts(const struct cells *cells)
{
	const struct matrix *c = &cells->matrix;
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

// The batches of one model, series and platform that gave a time.
static struct crossover_side side_of(
	const struct matrix *c, struct arena *a, const struct plan_model *m, size_t series, const struct target *t)
{
	struct crossover_point *points = ARENA_ARRAY(a, c->cell_count + 1, struct crossover_point);
	struct crossover_side side = {
		.name = t->chosen ? arena_printf(a, "%s:%s", t->platform->name, t->device) : t->platform->name, .points = points
	};

	for (size_t i = 0; i < c->target_count; i++)
		if (&c->targets[i] != t && c->targets[i].platform == t->platform && t->options && !strstr(side.name, "="))
			side.name = arena_printf(a, "%s,%s", side.name, t->options);

	for (size_t i = 0; i < c->cell_count; i++) {
		const struct matrix_cell *p = &c->cells[i];

		if (p->model == m && p->series == series && p->target == t && !isnan(p->latency_ms))
			points[side.count++] =
				(struct crossover_point){ p->question->batch, p->latency_ms, p->low_ms, p->high_ms };
	}
	return side;
}

// "gpt2 at 2 threads, seq 16": what is the same for both sides.
static const char *without_batch(struct arena *a, const struct matrix_cell *p)
{
	size_t n = strlen(p->label);
	const char *at = p->label;

	for (const char *next; (next = strstr(at, "batch ")); at = next + 1)
		n = (size_t)(next - p->label);
	while (n && (p->label[n - 1] == ' ' || p->label[n - 1] == ','))
		n--;
	return n ? arena_printf(a, "%s, %.*s", p->model->model, (int)n, p->label) : p->model->model;
}

void cells_print_crossovers(const struct cells *cells, FILE *out)
{
	const struct matrix *c = &cells->matrix;
	struct arena a = { 0 };

	if (c->axes.of[QUESTION_AT_batch].count < 2 || c->target_count < 2)
		return;
	for (size_t i = 0; i < c->cell_count; i++) {
		const struct matrix_cell *p = &c->cells[i];

		// Once for each model and series: at the first cell of its first platform.
		if (p->target != c->targets || (i && p[-1].line == p->line))
			continue;
		for (size_t x = 0; x < c->target_count; x++)
			for (size_t y = x + 1; y < c->target_count; y++) {
				const struct crossover_side sides[2] = { side_of(c, &a, p->model, p->series, &c->targets[x]),
					side_of(c, &a, p->model, p->series, &c->targets[y]) };
				struct crossover found;

				crossover_find(&found, &a, sides);
				const char *sentence = crossover_sentence(&a, sides, &found);
				if (sentence)
					emit_to(out, "%s: %s\n", without_batch(&a, p), sentence);
			}
	}
	arena_done(&a);
}

// Brings what the models lack: first configurations, then the weights of those that assay can build. Gigabytes are not fetched
// for a model that gets a refusal. In a dry run the ones that are not here are taken out of the list.
static int bring(struct cells *c, const char **models, size_t *count)
{
	struct fetching x = { .offline = c->offline, .dry_run = c->fetch_nothing };
	struct question q = c->matrix.question;
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
	for (size_t i = 0; i < kept && code < 0 && !c->matrix.question.synthetic && !x.dry_run; i++) {
		struct plan_model m;
		struct hub_model hub;
		// A folder or a file of its own lacks nothing that could be brought; what lies there is looked at once,
		// afterwards.
		if (hub_find(&hub, &x.arena, models[i], NULL) == STATUS_OK &&
			(hub.kind == HUB_FOLDER || hub.kind == HUB_ONNX_FILE))
			continue;
		if (plan_model_apart(&m, &c->matrix.arena, models[i], &q, c->matrix.stop, NULL) == STATUS_OK &&
			m.refused != STATUS_UNSUPPORTED)
			code = fetching_add(&x, models[i], FETCH_MODEL, &added);
	}
	if (code < 0)
		code = fetching_all(&x);
	fetching_done(&x);
	return code;
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

// ---- events ----------------------------------------------------------------------------------------------------------

static void show_try(struct cells *c, const struct matrix_event *e)
{
	struct arena a = { 0 };

	if (c->counted)
		emit_error("%s: %s\n", e->label, e->text ? e->text : show_short(&a, e->result));
	if (!c->quiet && c->verbose)
		show_result(e->result, e->label, c->db);
	else if (!c->quiet)
		show_brief(e->result, e->label);
	if (!c->quiet)
		show_table_add(&c->table, &c->matrix.arena, e->result, e->label);
	arena_done(&a);
}

// After the summaries of a chain: one line a try.
static void show_chain(const struct cells *c, const char *lines)
{
	if (c->quiet || c->counted)
		return;
	emit_lines(lines);
	emit("\n");
}

static void show_progress(const struct cells *c, const struct matrix_event *e)
{
	if (c->counted && !isnan(e->seconds_left))
		progress_line("%s, about %s left", e->text, progress_duration(e->seconds_left));
	else
		progress_line("%s", e->text);
}

static void show_reading(const struct matrix_event *e)
{
	struct arena a = { 0 };

	progress_bytes(arena_printf(&a, "%s: reading its files, to know what it is", e->text), e->done, e->total);
	arena_done(&a);
}

static void show(void *context, const struct matrix_event *e)
{
	struct cells *c = context;

	if (e->kind != MATRIX_PROGRESS && e->kind != MATRIX_READING)
		progress_clear();
	switch (e->kind) {
	case MATRIX_READING:
		show_reading(e);
		break;
	case MATRIX_PROGRESS:
		show_progress(c, e);
		break;
	case MATRIX_NOTICE:
		progress_notice(e->text);
		break;
	case MATRIX_RESULT:
		show_try(c, e);
		break;
	case MATRIX_FOUND:
		emit_error("%s: finished before, row %lld: %s\n", e->label, (long long)e->row, e->text);
		break;
	case MATRIX_TAKEN:
		emit_error("%s: another run is at it, left alone\n", e->label);
		break;
	case MATRIX_CHAIN:
		show_chain(c, e->text);
		break;
	case MATRIX_SWEEP_ENDED:
		emit_error("%s: %s; %zu larger %s not asked\n", e->label, e->text, e->count,
			cells_plural(e->count, "batch is", "batches are"));
		break;
	}
}

// ---- options and plan --------------------------------------------------------------------------------------------------

static struct cli_option option_of(const struct member *m, void *of, struct cli_list *several)
{
	static const enum cli_kind kinds[] = { [MEMBER_TEXT] = CLI_TEXT,
		[MEMBER_INTEGER] = CLI_INTEGER,
		[MEMBER_REAL] = CLI_REAL,
		[MEMBER_FLAG] = CLI_FLAG,
		[MEMBER_GIB] = CLI_GIB };

	return (struct cli_option){ m->option, several ? CLI_VALUES : kinds[m->kind],
		several ? (void *)several : (char *)of + m->offset, m->argument, m->help, m->least, m->most };
}

static bool takes_several(enum question_at at)
{
	return question_use(at) == QUESTION_AXIS || question_use(at) == QUESTION_EACH;
}

static bool is_there(const struct cli_option *options, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(options[i].name, name) == 0)
			return true;
	return false;
}

static void add_options(struct cli_option *out, size_t *count, const struct cli_option *more)
{
	for (; more->kind != CLI_END; more++)
		if (!is_there(out, *count, more->name))
			out[(*count)++] = *more;
}

// That command lists it itself.
static bool is_of_one_command(const struct member *m)
{
	return text_is(m->name, "workers") || text_is(m->name, "together") || text_is(m->name, "switches");
}

const struct cli_option *cells_options(struct cells *c, const struct cli_option *first, const struct cli_option *last)
{
	const struct cli_option on[] = {
		{ "on", CLI_LIST, &c->on, "PLATFORM,...",
			"cpu, openvino, openvino:GPU, cuda, ...; `assay platforms` lists them; default cpu" },
		{ .kind = CLI_END }
	};
	const struct cli_option rest[] = { { "offline", CLI_FLAG, &c->offline, NULL,
						   "fetch nothing from the Hub, as with HF_HUB_OFFLINE=1" },
		{ "json", CLI_FLAG, &c->json, NULL, "an array on standard output, one object a cell" }, { .kind = CLI_END } };
	enum { OWN_MOST = 40 };
	struct cli_option *out = ARENA_ARRAY(&c->matrix.arena, QUESTION_COUNT + MATRIX_MEMBERS + OWN_MOST, struct cli_option);
	size_t n = 0;

	add_options(out, &n, first);
	add_options(out, &n, on);
	for (size_t i = 0; i < QUESTION_COUNT; i++)
		if (question_members[i].option)
			add_options(out, &n,
				(struct cli_option[]){ option_of(&question_members[i], &c->matrix.question,
							       takes_several((enum question_at)i) ? &c->axes[i] : NULL),
					{ .kind = CLI_END } });
	for (size_t i = 0; i < MATRIX_MEMBERS; i++)
		if (!is_of_one_command(&matrix_members[i]))
			add_options(out, &n,
				(struct cli_option[]){ option_of(&matrix_members[i], &c->matrix, NULL), { .kind = CLI_END } });
	add_options(out, &n, rest);
	add_options(out, &n, last);
	out[n].kind = CLI_END;
	return out;
}

int cells_plan(struct cells *c, const char *const *models, size_t model_count)
{
	struct matrix *m = &c->matrix;
	struct error err = { 0 };
	int code;

	for (size_t i = 0; i < QUESTION_COUNT; i++)
		for (int k = 0; k < c->axes[i].count; k++)
			if (matrix_set(m, &question_members[i], c->axes[i].items[k], &err) != STATUS_OK)
				return cli_error(&err);
	m->on = c->on.items;
	m->on_count = (size_t)c->on.count;
	m->db = c->db;
	m->is_numbered = c->counted;
	m->looks_at_all = c->counted && m->on_count == 0;
	m->stop = &cli_stop;
	cli_limit_loading(m->question.timeout_s);
	m->event = show;
	m->context = c;
	if (matrix_check(m, model_count, &err) != STATUS_OK)
		return cli_error(&err);
	if ((code = cli_cache_ready()) >= 0)
		return code;
	const char **named = ARENA_ARRAY(&m->arena, model_count + 1, const char *);
	for (size_t i = 0; i < model_count; i++)
		named[i] = models[i];
	if ((code = bring(c, named, &model_count)) >= 0)
		return code;
	enum status s = matrix_plan(m, named, model_count, &err);
	progress_clear();
	if (s != STATUS_OK)
		return cli_error(&err);
	warn_stand_ins();
	return -1;
}

// After a stop or an error: what has no row.
static void print_rest(const struct cells *c)
{
	const struct matrix *m = &c->matrix;
	const size_t left = m->cell_count - m->done - m->left_out + (m->together && !m->has_met ? m->cell_count : 0);

	emit_error("assay: %s%s%s", cli_stop ? "interrupted (" : "", cli_stop ? cli_stop_name() : "", cli_stop ? "); " : "");
	if (m->unstored)
		emit_error("%zu %s measured and %s no row; ", m->unstored, cells_plural(m->unstored, "cell was", "cells were"),
			cells_plural(m->unstored, "has", "have"));
	emit_error("%zu %s not started\n", left, cells_plural(left, "cell was", "cells were"));
}

int cells_run(struct cells *c)
{
	struct matrix *m = &c->matrix;
	struct error err = { 0 };

	cli_catch_stop();
	enum status s = matrix_run(m, &err);
	progress_clear();
	c->exit_code = m->exit_code;
	if (s != STATUS_OK) {
		const int code = cli_error(&err);
		c->exit_code = m->exit_code == EXIT_WRONG ? EXIT_WRONG : code; // wrong wins, of those that have their rows
	}
	if (cli_stop)
		c->exit_code = c->exit_code > EXIT_VERDICT ? c->exit_code : EXIT_VERDICT;
	if (cli_stop || (s != STATUS_OK && m->run > 0))
		print_rest(c);
	return c->exit_code;
}

void cells_done(struct cells *c)
{
	matrix_done(&c->matrix);
}
