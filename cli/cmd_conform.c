// SPDX-License-Identifier: Apache-2.0
// assay conform: tiny models whose outputs transformers computed, run and compared. Every case given counts.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plan/plan.h"
#include "base/file.h"
#include "base/json.h"
#include "base/visible.h"
#include "command.h"
#include "emit.h"
#include "show.h"
#include "conform/conform.h"
#include "progress.h"

struct watch {
	size_t done, count, printed;
	struct conform_case *cases; // as they were given
	bool *answered;             // of each
	const char *on;
	bool json;
};

static void print_case(const struct conform_case *c)
{
	const bool is_asked = verdict_answers(c->verdict);

	emit("%-4s %s", c->passed ? "ok" : is_asked ? "FAIL" : "?", c->name);
	if (c->passed && c->lines)
		emit("  %zu %s", c->lines, c->counted);
	if (!isnan(c->max_abs_error))
		emit("  max %.2g", c->max_abs_error);
	if (!isnan(c->nmse))
		emit(", NMSE %.2g", c->nmse);
	if (c->reason)
		emit("  %s%s", is_asked ? "" : "not asked: ", c->reason);
	if (c->passed && c->elsewhere > 0)
		emit("  %s", c->placement);
	emit("\n");
}

static json_t *real_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

// One of the array's objects.
static void print_json(const struct conform_case *c, const char *on)
{
	json_t *one = json_pack("{s:o, s:o, s:s?, s:s?, s:s, s:b, s:s?, s:o, s:o, s:o, s:s?, s:s?, s:O*}", "name",
		visible_json_string(c->name), "folder", visible_json_string(c->folder), "model_type", c->model_type, "platform",
		c->here ? NULL : on, "verdict", verdict_word(c->verdict), "passed", c->passed, "reason", c->reason,
		"max_abs_error", real_or_null(c->max_abs_error), "nmse", real_or_null(c->nmse), "nodes_elsewhere",
		c->elsewhere < 0 ? json_null() : json_integer(c->elsewhere), "placement", c->placement, "form", c->form, "graphs",
		c->graphs);

	show_json(one);
	json_decref(one);
}

// An answer is printed once those of all cases before it are: what ends the program later takes none of them away.
static void each(void *context, const struct conform_case *c)
{
	struct watch *w = context;

	for (size_t i = 0; i < w->count; i++)
		if (w->cases[i].folder == c->folder && !w->answered[i]) {
			w->cases[i] = *c;
			w->answered[i] = true;
			break;
		}
	if (w->printed < w->count && w->answered[w->printed])
		progress_clear();
	for (; w->printed < w->count && w->answered[w->printed]; w->printed++) {
		if (w->json) {
			emit(w->printed ? ",\n" : "[\n");
			print_json(&w->cases[w->printed], w->on);
		} else {
			print_case(&w->cases[w->printed]);
		}
	}
	emit_flush();
	w->done++;
	progress_line("[%zu/%zu] %s", w->done, w->count, c->name);
}

// config.json's word; NULL where there is none to read: why the case fails is said where it is run.
static const char *model_type(struct arena *a, const char *folder)
{
	json_t *config;
	if (json_file(arena_printf(a, "%s/config.json", folder), 1 << 20, &config, NULL) != STATUS_OK)
		return NULL;
	const char *out = arena_strdup(a, json_string_value(json_object_get(config, "model_type")));
	json_decref(config);
	return out;
}

// The last part of a path, slashes at its end ignored.
static const char *base_name(struct arena *a, const char *path)
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	size_t begin = length;
	while (begin > 0 && path[begin - 1] != '/')
		begin--;
	return arena_strndup(a, path + begin, length - begin);
}

// `cases` are some of all. On no target, those of no model: in a child, so that none of them ends the others.
static int run_cases(const struct target *target, int64_t rows, double memory_gib, struct conform_case *cases, size_t count,
	struct watch *watch, struct arena *a)
{
	struct error err = { 0 };
	enum status s = conform_run(&(struct conform_asked){ .target = target,
					    .cases = cases,
					    .count = count,
					    .rows = rows,
					    .memory_bytes = (int64_t)(memory_gib * 0x1p30),
					    .each = each,
					    .context = watch },
		a, &err);

	progress_clear();
	return s == STATUS_OK ? EXIT_GOOD : cli_error(&err);
}

// Of models, on the platform.
static int run_models(const char *on, int64_t rows, double memory_gib, struct conform_case *cases, size_t count,
	struct watch *watch, struct arena *a)
{
	struct error err = { 0 };
	struct target target;
	int code = cli_cache_ready();

	if (code >= 0)
		return code;
	if (plan_pipeline_target(&target, a, on, &err) != STATUS_OK)
		return cli_error(&err);
	for (size_t i = 0; i < count && target.part_count; i++)
		if (!conform_is_pipeline(cases[i].folder, a))
			return cli_bad_use("--on %s: %s is no whole pipeline, and has no parts", watch->on, cases[i].name);
	return run_cases(&target, rows, memory_gib, cases, count, watch, a);
}

static int conform(const char *on, int64_t rows, double memory_gib, bool json, char **folders, size_t count, struct arena *a)
{
	struct conform_case *cases = ARENA_ARRAY(a, count, struct conform_case),
			    *models = ARENA_ARRAY(a, count, struct conform_case),
			    *others = ARENA_ARRAY(a, count, struct conform_case);
	struct watch watch = { .count = count, .cases = cases, .answered = ARENA_ARRAY(a, count, bool), .on = on, .json = json };
	size_t failed = 0, unasked = 0, model_count = 0, other_count = 0;
	int code = EXIT_GOOD;

	for (size_t i = 0; i < count; i++) {
		cases[i] = (struct conform_case){
			.name = base_name(a, folders[i]), .folder = folders[i], .max_abs_error = NAN, .nmse = NAN
		};
	}
	for (size_t i = 0; i < count; i++) {
		if (conform_is_here(folders[i], a)) {
			cases[i].here = true;
			others[other_count++] = cases[i];
		} else {
			cases[i].model_type = model_type(a, folders[i]);
			models[model_count++] = cases[i];
		}
	}
	if (other_count)
		code = run_cases(NULL, 0, memory_gib, others, other_count, &watch, a);
	if (code == EXIT_GOOD && model_count)
		code = run_models(on, rows, memory_gib, models, model_count, &watch, a);
	if (code != EXIT_GOOD) {
		if (json && watch.printed)
			emit("]\n");
		return code;
	}
	progress_clear();
	for (size_t i = 0; i < count; i++) {
		int one = verdict_exit_code(cases[i].verdict);

		failed += !cases[i].passed;
		unasked += !verdict_answers(cases[i].verdict);
		code = one > code ? one : code;
	}
	if (json)
		emit("]\n");
	// With --json standard output is the array alone.
	emit_flush();
	emit_to(json ? stderr : stdout, "%zu passed, %zu failed", count - failed, failed);
	if (unasked)
		emit_to(json ? stderr : stdout, " (%zu of them not asked)", unasked);
	emit_to(json ? stderr : stdout, "\n");
	return code;
}

// What a pattern of a shell matches beside cases (README.md) is none: named, and not counted.
static size_t without_files(char **folders, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (file_exists(folders[i]) && !file_is_dir(folders[i]))
			emit_error("assay: %s is a file and no case: left out\n", folders[i]);
		else
			folders[kept++] = folders[i];
	return kept;
}

static bool is_any_case(char **folders, size_t count, struct arena *a)
{
	for (size_t i = 0; i < count; i++)
		if (file_exists(arena_printf(a, "%s/config.json", folders[i])) || conform_is_pipeline(folders[i], a) ||
			conform_is_here(folders[i], a))
			return true;
	return false;
}

static int run(int argc, char **argv)
{
	const char *on = "cpu";
	int64_t rows = 0;
	double memory_gib = 0;
	bool json = false;
	const struct cli_option options[] = {
		{ "on", CLI_TEXT, &on, "PLATFORM,PART=PLATFORM,...",
			"cpu, openvino, openvino:GPU, ...; default cpu; of whole pipelines, as `assay pipeline` has it" },
		{ "batch", CLI_INTEGER, &rows, "N", "N rows of each case at once against the same rows one by one", 1, 4096 },
		{ "memory", CLI_REAL, &memory_gib, "GIB", "limit of anonymous memory; default what is available, less a reserve",
			0.01, 1e6 },
		{ "json", CLI_FLAG, &json, NULL, "an array on standard output, one object a case with the reason" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay conform [--on PLATFORM,PART=PLATFORM,...] [--batch N] [--memory GIB] [--json] CASE-DIR...",
		.text = "A case is a folder with config.json, weights.tsv, case.json and io.safetensors: a tiny model, and\n"
			"what transformers computed with it; or one of a tokenizer with cases.jsonl: texts, and what the\n"
			"library `tokenizers` gave (all of its lines are one case); one of a scheduler of diffusers; or one of "
			"a\n"
			"processor with meta.json and expected.safetensors: pictures or sounds, and what transformers made of\n"
			"them; or a whole pipeline with pipeline.json: questions, and what transformers answered. A case that "
			"is\n"
			"refused, cannot run or is none has failed, also where a limit of this process or a disk kept it\n"
			"from being asked ('?'); a file is left out, and named on\n"
			"standard error. Answers come in the order of the folders, each as soon as those before it are there.\n"
			"The last line is 'N passed, M failed' (on standard error with --json), and N + M is\n"
			"the number of folders given.\n"
			"With --batch the outputs of transformers are not looked at: what a model says about a row must not\n"
			"depend on the rows beside it.\n\n"
			"  assay conform --on openvino tests/conform/cases/*\n\n"
			"Exit codes: 0 all are right; 1 bad use or an error of assay's own; 2 a case has another verdict;\n"
			"3 a case is wrong.\n",
		.options = options,
		.min_words = 1,
		.max_words = -1,
	};
	struct arena arena = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	const size_t count = without_files(argv + 1, (size_t)words);
	if (is_any_case(argv + 1, count, &arena))
		code = conform(on, rows, memory_gib, json, argv + 1, count, &arena);
	else if (access(argv[1], F_OK))
		code = cli_bad_use("%s: there is no such file or folder", argv[1]);
	else
		code = cli_bad_use(
			"no case: a case is a folder with config.json, cases.jsonl of a tokenizer, scheduler_config.json, or "
			"meta.json of a processor");
	arena_done(&arena);
	return code;
}

const struct command command_conform = { "conform", "run conformance cases: tiny models whose outputs transformers computed",
	run };
