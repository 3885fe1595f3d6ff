// SPDX-License-Identifier: Apache-2.0
// assay verify: kinds of pipelines x platforms, each asked of a tiny pipeline that the program carries (plan/verify.h).
#include <string.h>

#include "base/visible.h"
#include "cells.h"
#include "emit.h"
#include "plan/schedule.h"
#include "plan/verify.h"
#include "progress.h"
#include "show.h"

struct verify_command {
	struct cells cells;
	struct cli_list kinds;
	struct verify verify;
	size_t done;
};

static const char *platform_name(struct arena *a, const struct matrix *m, const struct target *t)
{
	const char *name = t->chosen ? arena_printf(a, "%s:%s", t->platform->name, t->device) : t->platform->name;

	return schedule_is_emulated(t, m->platforms) ? arena_printf(a, "%s (EMULATED)", name) : name;
}

static void each(void *context, const struct conform_case *c)
{
	struct verify_command *x = context;
	struct matrix *m = &x->cells.matrix;
	const struct target *on = &m->targets[(size_t)(c - x->verify.answers) / x->verify.kind_count];
	size_t asked = 0;

	for (size_t t = 0; t < m->target_count; t++)
		asked += !m->targets[t].absent && !platform_is_software(m->targets[t].platform);
	progress_step("%zu of %zu answers: %s on %s: %s", ++x->done, x->verify.kind_count * asked, c->name,
		platform_name(&m->arena, m, on), verdict_word(c->verdict));
}

// ---- what is seen ---------------------------------------------------------------------------------------------------------

static void print_grid(struct verify_command *x, struct arena *a)
{
	struct matrix *m = &x->cells.matrix;

	emit("%-22s %-7s", "kind", "asked");
	for (size_t t = 0; t < m->target_count; t++)
		emit(" %-17s", platform_name(a, m, &m->targets[t]));
	emit("\n");
	for (size_t k = 0; k < x->verify.kind_count; k++)
		for (int check = 0; check < VERIFY_CHECKS; check++) {
			emit("%-22s %-7s", check ? "" : verify_kind_name(a, x->verify.kinds[k]),
				verify_check_word((enum verify_check)check));
			for (size_t t = 0; t < m->target_count; t++) {
				struct verify_entry e;
				verify_entry(&e, &x->verify, m, k, &m->targets[t], (enum verify_check)check);
				emit(" %-17s", verdict_word(e.verdict));
			}
			emit("\n");
		}
	emit("\n");
}

static void print_cause(struct verify_command *x, struct arena *a, size_t kind, const struct target *t, enum verify_check check)
{
	struct verify_entry e;

	verify_entry(&e, &x->verify, &x->cells.matrix, kind, t, check);
	if (e.verdict == VERDICT_RIGHT || (e.verdict == VERDICT_NOT_ASKED && cli_stop)) // of those that did not begin one line
		return;
	emit("%s, %s, on %s: %s: %s%s%s\n", verify_kind_name(a, x->verify.kinds[kind]), verify_check_word(check),
		platform_name(a, &x->cells.matrix, t), verdict_word(e.verdict), e.cause ? e.cause : verdict_sentence(e.verdict),
		e.model ? "; of " : "", e.model ? strrchr(e.model, '/') + 1 : "");
}

// A line for each that is not right; of a platform that is not here one.
static void print_causes(struct verify_command *x, struct arena *a)
{
	const struct matrix *m = &x->cells.matrix;

	for (size_t t = 0; t < m->target_count; t++) {
		if (m->targets[t].absent) {
			emit("all on %s: %s: %s\n", platform_name(a, m, &m->targets[t]),
				verdict_word(m->targets[t].absent_verdict), m->targets[t].absent);
			continue;
		}
		if (cli_stop)
			emit("on %s: what is not_asked had not begun when assay was stopped\n",
				platform_name(a, m, &m->targets[t]));
		for (size_t k = 0; k < x->verify.kind_count; k++)
			for (int check = 0; check < VERIFY_CHECKS; check++)
				print_cause(x, a, k, &m->targets[t], (enum verify_check)check);
	}
}

static json_t *rows_of(const struct verify *v, size_t kind, const struct matrix *m, const struct target *t)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < m->cell_count; i++)
		if (m->cells[i].target == t && verify_is_of(v, kind, &m->cells[i]))
			json_array_append(rows,
				json_object_get(
					json_array_get(m->cells[i].results, json_array_size(m->cells[i].results) - 1), "row"));
	return rows;
}

static void print_json(struct verify_command *x)
{
	struct matrix *m = &x->cells.matrix;
	json_t *all = json_array();

	for (size_t k = 0; k < x->verify.kind_count; k++)
		for (size_t t = 0; t < m->target_count; t++)
			for (int check = 0; check < VERIFY_CHECKS; check++) {
				const struct target *target = &m->targets[t];
				const struct verify_kind *kind = x->verify.kinds[k];
				struct verify_entry e;

				verify_entry(&e, &x->verify, m, k, target, (enum verify_check)check);
				json_array_append_new(all,
					json_pack("{s:s, s:s?, s:s, s:s, s:s, s:s?, s:b, s:s, s:s?, s:o}", "kind", kind->word,
						"form", kind->form, "pipeline", kind->pipeline, "asked",
						verify_check_word((enum verify_check)check), "platform", target->platform->name,
						"device", target->device, "emulated", schedule_is_emulated(target, m->platforms),
						"verdict", verdict_word(e.verdict), "cause", e.cause, "rows",
						check == VERIFY_GRAPHS ? rows_of(&x->verify, k, m, target) : json_array()));
			}
	show_json(all);
	json_decref(all);
}

// "20 right, 2 unsupported"; returns the exit code.
static int count_verdicts(struct verify_command *x, struct text *words)
{
	struct matrix *m = &x->cells.matrix;
	size_t counts[VERDICT_COUNT] = { 0 };
	int code = x->cells.exit_code;

	for (size_t k = 0; k < x->verify.kind_count; k++)
		for (size_t t = 0; t < m->target_count; t++)
			for (int check = 0; check < VERIFY_CHECKS; check++) {
				struct verify_entry e;
				verify_entry(&e, &x->verify, m, k, &m->targets[t], (enum verify_check)check);
				counts[e.verdict]++;
			}
	for (int v = 0; v < VERDICT_COUNT; v++)
		if (counts[v]) {
			int one = verdict_exit_code((enum verdict)v);
			text_addf(words, "%s%zu %s", words->length ? ", " : "", counts[v], verdict_word((enum verdict)v));
			code = one > code ? one : code;
		}
	return code;
}

// ---- the command ------------------------------------------------------------------------------------------------------------

static int verify(struct verify_command *x)
{
	struct cells *c = &x->cells;
	struct matrix *m = &c->matrix;
	struct text words = { 0 };
	struct error err = { 0 };

	if (verify_choose(&x->verify, x->kinds.items, (size_t)x->kinds.count, &m->arena, &err) != STATUS_OK)
		return cli_error(&err);
	m->question.synthetic = m->question.no_conform = true;
	m->question.effort = "rapid";
	c->offline = c->quiet = true;
	c->counted = !progress_is_shown();
	int code = cells_plan(c, x->verify.models, x->verify.model_count);
	if (code >= 0)
		return code;
	progress_notice(arena_printf(&m->arena, "rows of the graphs go into %s; --db FILE names another", c->db));
	if (cells_run(c) == EXIT_USE)
		return EXIT_USE;
	enum status st = verify_answers(&x->verify, m, each, x, &err);
	progress_clear();
	if (st != STATUS_OK)
		return cli_error(&err);
	code = count_verdicts(x, &words);
	if (c->json) {
		print_json(x);
	} else {
		print_grid(x, &m->arena);
		print_causes(x, &m->arena);
	}
	emit_flush();
	if (json_array_size(m->results))
		emit_to(c->json ? stderr : stdout, "%s; rows of the graphs in %s, run:%lld of it\n", text_get(&words), c->db,
			(long long)m->run);
	else
		emit_to(c->json ? stderr : stdout, "%s; no row was written\n", text_get(&words));
	text_done(&words);
	return code;
}

static int run(int argc, char **argv)
{
	struct verify_command x = { .cells = { CELLS_INIT, .db = cli_default_db() } };
	const struct cli_option options[] = {
		{ "on", CLI_LIST, &x.cells.on, "PLATFORM,...",
			"cpu, openvino, openvino:GPU, cuda, ...; all: the eight platforms; default cpu" },
		{ "task", CLI_LIST, &x.kinds, "KIND,...",
			"text, vision, vision-text, audio, multimodal, diffusion, moe, state-space, rag; of text also encoder, "
			"decoder, encoder-decoder; default all" },
		{ "timeout", CLI_REAL, &x.cells.matrix.question.timeout_s, "S", "seconds for a cell; default 600", 0.1, 1e7 },
		{ "json", CLI_FLAG, &x.cells.json, NULL,
			"an array on standard output, one object a kind, platform and question" },
		{ "db", CLI_TEXT, &x.cells.db, "FILE", "DuckDB file that gets the rows; default $ASSAY_DB, else assay.duckdb" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay verify [--on PLATFORM,...] [--task KIND,...] [--json] [--db FILE]",
		.text = "Which kinds of pipelines work on which platform, by running them: of each kind a tiny pipeline that "
			"the\n"
			"program carries (PREFIX/share/assay/conform/pipeline) is asked two things on each platform.\n\n"
			"  graphs   one forward pass of each of its models, with seeded random weights, judged by another "
			"engine\n"
			"           in float32: cells as those of `assay run --synthetic`, whose rows go into the database,\n"
			"           as those of every run (--db FILE keeps them apart)\n"
			"  answer   the whole pipeline, from texts, pictures or sounds to the answer, with the model's own\n"
			"           tokenizer or processor and weights that a formula gives, held against what transformers\n"
			"           answered in float32, as `assay conform` does it; no row; one that has not answered after 60 "
			"s,\n"
			"           as it happens where a GPU is emulated, is a timeout\n\n"
			"The models have some ten thousand to half a million parameters: a verdict says that the operators, "
			"loops\n"
			"and preparation of that kind work there, not that a large model fits or is fast. A platform\n"
			"that is not on this machine is unavailable, with its cause.\n\n"
			"  assay verify --on all\n"
			"  assay verify --on openvino,webgpu --task text,rag\n\n"
			"Exit codes: 0 all are right, unjudged or compile; 1 bad use or an error of assay's own; 2 one has\n"
			"another verdict; 3 one is wrong (wins).\n",
		.options = options,
	};
	int words, code;

	x.cells.matrix.command = cells_command(&x.cells.matrix.arena, argc, argv);
	if ((code = cli_parse(&usage, argc, argv, &words)) < 0)
		code = verify(&x);
	cells_done(&x.cells);
	return code;
}

const struct command command_verify = { "verify", "kinds of pipelines x platforms: which work where, each by a run", run };
