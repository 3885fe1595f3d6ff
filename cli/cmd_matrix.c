// SPDX-License-Identifier: Apache-2.0
// assay matrix: many cells. The plan first, then the cells with count and time left, then the reports. It can be ended at any
// moment and taken up again with --resume: a finished cell is never run twice, an interrupted one is.
#include <stdio.h>
#include <string.h>

#include "artifact/artifact.h"
#include "base/cache.h"
#include "base/file.h"
#include "cells.h"
#include "emit.h"
#include "progress.h"
#include "report/report.h"
#include "show.h"

struct matrix_command {
	struct cells cells;
	struct cli_list models, architectures;
	const char *folder;
	bool dry_run, key, detect_only;
};

// ---- which models ------------------------------------------------------------------------------------------------

// An architecture's word as the original knew it, its other name, and the models that stand for it.
static const struct architecture {
	const char *word, *other, *models[3];
} architectures[] = {
	{ "encoder-only", NULL, { "bert-base-uncased", "roberta-base", "distilbert-base-uncased" } },
	{ "decoder-only", NULL, { "gpt2", "facebook/opt-125m", "bigscience/bloom-560m" } },
	{ "encoder-decoder", NULL, { "t5-small", "facebook/bart-base", "google/pegasus-xsum" } },
	{ "vision", NULL,
		{ "google/vit-base-patch16-224", "microsoft/swin-tiny-patch4-window7-224", "facebook/deit-base-patch16-224" } },
	{ "multimodal", NULL,
		{ "openai/clip-vit-base-patch32", "Salesforce/blip-image-captioning-base", "llava-hf/llava-1.5-7b-hf" } },
	{ "audio", "speech", { "openai/whisper-tiny", "facebook/wav2vec2-base", "facebook/hubert-base-ls960" } },
	{ "vision-encoder-text-decoder", "vision-text", { NULL } },
	{ "diffusion", NULL, { NULL } },
	{ "mixture-of-experts", "moe", { NULL } },
	{ "state-space", NULL, { NULL } },
	{ "rag", NULL, { NULL } },
};
enum { ARCHITECTURE_COUNT = sizeof architectures / sizeof *architectures };

static const char *architecture_name(size_t i, const void *table)
{
	(void)table;
	return i < ARCHITECTURE_COUNT ? architectures[i].word : NULL;
}

static const char *architecture_names(struct arena *a)
{
	const char *out = NULL;

	for (size_t i = 0; i < ARCHITECTURE_COUNT; i++)
		out = arena_join(a, out, ", ", architectures[i].word);
	return out;
}

// Those that stand for each architecture; of the carried ones with --key or --all those that are of it.
static int add_architecture(const struct matrix_command *x, const char *word, const char **models, size_t *count)
{
	struct arena a = { 0 };
	size_t i = 0, before = *count;

	while (i < ARCHITECTURE_COUNT && !text_is(architectures[i].word, word) && !text_is(architectures[i].other, word))
		i++;
	if (i == ARCHITECTURE_COUNT) {
		const char *near = text_nearest(word, architecture_name, NULL);

		int code = near ? cli_bad_use("--architectures %s: no architecture is called so; did you mean %s?", word, near)
				: cli_bad_use("--architectures %s: no architecture is called so; there are %s", word,
					  architecture_names(&a));
		arena_done(&a);
		return code;
	}
	const struct architecture *wanted = &architectures[i];
	for (size_t k = 0; !x->key && k < 3 && wanted->models[k]; k++)
		models[(*count)++] = wanted->models[k];
	for (size_t k = 0; x->key && k < hub_key_count(); k++) {
		const struct question q = { .synthetic = true };
		const char *name = hub_published_get(k)->name;
		struct plan_model m;

		if (plan_model(&m, &a, name, &q, NULL) == STATUS_OK && text_is(m.architecture, wanted->word))
			models[(*count)++] = name;
	}
	arena_done(&a);
	if (*count > before)
		return -1;
	return cli_bad_use("--architectures %s: %s; name some with --models", word,
		x->key ? "no model whose configuration the program carries is of it" : "no models stand for it");
}

// -1, or an exit code.
static int choose_models(const struct matrix_command *x, struct arena *a, const char ***out, size_t *count)
{
	const size_t named = (size_t)x->models.count, words = (size_t)x->architectures.count;
	const char **models = ARENA_ARRAY(a, named + (words + 1) * (hub_key_count() + 3), const char *);
	int code = -1;

	*count = 0;
	for (size_t i = 0; i < named; i++)
		models[(*count)++] = x->models.items[i];
	for (size_t i = 0; i < words && code < 0; i++)
		code = add_architecture(x, x->architectures.items[i], models, count);
	for (size_t i = 0; !named && !words && i < hub_key_count(); i++)
		models[(*count)++] = hub_published_get(i)->name;
	*out = models;
	return code;
}

// As `assay detect` does it, into the matrix' database.
static int detect_only(const struct matrix_command *x)
{
	struct arena a = { 0 };
	const char **argv = ARENA_ARRAY(&a, (size_t)x->cells.on.count + 5, const char *);
	struct error err = { 0 };
	int argc = 0;

	argv[argc++] = command_detect.name;
	for (int i = 0; i < x->cells.on.count; i++)
		if (!text_is(x->cells.on.items[i], "all"))
			argv[argc++] = arena_strndup(&a, x->cells.on.items[i], strcspn(x->cells.on.items[i], ":"));
	argv[argc++] = "--db";
	argv[argc++] = x->cells.db;
	if (x->cells.json)
		argv[argc++] = "--json";
	int code =
		file_mkdirs(x->folder, &err) != STATUS_OK ? cli_error(&err) : command_detect.run(argc, (char **)(uintptr_t)argv);
	arena_done(&a);
	return code;
}

// ---- the plan ----------------------------------------------------------------------------------------------------

struct estimate {
	size_t cells, refused;
	uint64_t synthetic_bytes, largest_bytes;
	double seconds;
	struct plan_memory *memory; // of the plan's cells: as it is now; it is asked again before each cell
};

static void estimate(const struct matrix *c, struct arena *a, struct estimate *out)
{
	const struct plan_model *model = NULL;
	bool tried = false;

	*out = (struct estimate){ .cells = c->cell_count, .memory = ARENA_ARRAY(a, c->cell_count + 1, struct plan_memory) };
	for (size_t i = 0; i < c->cell_count; i++) {
		const struct matrix_cell *p = &c->cells[i];
		const struct plan_model *m = p->model;

		tried &= m == model;
		model = m;
		if (!m->refused)
			plan_memory_apart(&out->memory[i], a, m, p->target, p->question, c->stop);
		const bool fits = !out->memory[i].refused || (p->question->fit && out->memory[i].less_count);
		bool runs = !m->refused && !p->target->absent && fits;
		out->refused += !runs;
		if (!runs)
			continue;
		out->seconds += matrix_guess_s(m, p->target, p->question, !tried);
		if (m->makes_weights && !tried) {
			const uint64_t nbytes = out->memory[i].refused ? out->memory[i].less[0].stored_bytes : m->synthetic_bytes;

			out->synthetic_bytes += nbytes;
			out->largest_bytes = nbytes > out->largest_bytes ? nbytes : out->largest_bytes;
		}
		tried = true;
	}
}

static void print_plan(const struct matrix_command *x, FILE *out, struct arena *a)
{
	const struct matrix *c = &x->cells.matrix;
	const char *cache = cache_dir(a);
	uint64_t limit = matrix_cache_limit(c);
	uint64_t free_bytes = file_free_bytes(cache);
	struct estimate e;

	estimate(c, a, &e);
	const char *axes = sweep_words(&c->axes, a);
	emit_to(out, "Plan: %zu %s = %zu %s x %zu %s%s%s; database %s\n", e.cells, cells_plural(e.cells, "cell", "cells"),
		c->model_count, cells_plural(c->model_count, "model", "models"), c->target_count,
		cells_plural(c->target_count, "platform", "platforms"), *axes ? " x " : "", axes, c->db);
	if (c->axes.of[QUESTION_AT_batch].count > 1 && !c->no_sweep_stop)
		emit_to(out,
			"  batches from small to large; a larger one is not asked when the last gained less than 5 %% "
			"throughput\n");
	for (size_t i = 0; i < c->model_count; i++) {
		const struct plan_model *m = &c->models[i];
		if (m->refused)
			emit_to(out, "  %-40s %s: %s\n", m->model, status_word(m->refused), m->cause);
		else if (m->makes_weights)
			emit_to(out, "  %-40s %s of synthetic weights\n", m->model, show_size(a, m->synthetic_bytes));
		else
			emit_to(out, "  %-40s %s weights%s%s\n", m->model,
				m->synthetic                           ? "synthetic"
					: m->hub.kind == HUB_ONNX_FILE ? "as in the file:"
								       : "real",
				m->weight_bytes ? ", " : "", m->weight_bytes ? show_size(a, m->weight_bytes) : "");
		for (size_t k = 0; k < c->cell_count; k++)
			if (c->cells[k].model == m && e.memory[k].refused)
				emit_to(out, "    on %-35s %s: %s\n",
					*c->cells[k].label
						? arena_printf(a, "%s, %s", c->cells[k].target->platform->name, c->cells[k].label)
						: c->cells[k].target->platform->name,
					c->cells[k].question->fit && e.memory[k].less_count
						? "asked for less (--fit)"
						: verdict_word(e.memory[k].refused_as),
					e.memory[k].refused);
	}
	for (size_t k = 0; k < c->target_count; k++)
		if (c->targets[k].absent)
			emit_to(out, "  on %-37s %s: %s\n", c->targets[k].platform->name,
				verdict_word(c->targets[k].absent_verdict), c->targets[k].absent);
	if (e.synthetic_bytes) {
		emit_to(out,
			"Disk: up to %s of synthetic weights under %s (less what is there already), at most %s kept at a time; "
			"%s free\n",
			show_size(a, e.synthetic_bytes), cache, show_size(a, limit), show_size(a, free_bytes));
		if (e.largest_bytes > free_bytes)
			emit_to(out,
				"      NOT ENOUGH for the largest model (%s): its cells will fail; free some space, or cut it "
				"with --layers\n",
				show_size(a, e.largest_bytes));
	}
	emit_to(out, "Time: about %s%s. A guess: %s; %zu %s without running\n\n", progress_duration(e.seconds),
		c->resume ? ", less what --resume finds finished" : "", matrix_guess_words, e.refused,
		cells_plural(e.refused, "cell is answered", "cells are answered"));
	fflush(out);
}

// ---- the end -----------------------------------------------------------------------------------------------------

static enum status write_reports(const struct matrix_command *x, struct arena *a, struct error *err)
{
	enum { REPORTS = 4 };
	static const enum report_format formats[REPORTS] = { REPORT_HTML, REPORT_MD, REPORT_MATRIX, REPORT_MATRIX_YAML };
	static const char *const files[REPORTS] = { "report.html", "report.md", "matrix.json", "matrix.yaml" };
	struct store store = { 0 };
	struct text texts[REPORTS] = { 0 };

	enum status s = store_open(&store, x->cells.db, true, err);
	if (s == STATUS_OK)
		s = report_write_each(&store, formats, REPORTS, NULL, texts, err);
	for (size_t i = 0; i < REPORTS; i++) {
		const char *path = arena_printf(a, "%s/%s", x->folder, files[i]);
		if (s == STATUS_OK)
			s = file_write_user(path, text_get(&texts[i]), texts[i].length, err);
		if (s == STATUS_OK && !x->cells.json)
			emit("%s\n", path);
		text_done(&texts[i]);
	}
	store_close(&store);
	return s;
}

static int matrix(struct matrix_command *x)
{
	struct cells *c = &x->cells;
	struct arena *a = &c->matrix.arena;
	struct error err = { 0 };
	const char **models;
	size_t count;

	if (x->key && x->models.count > 0)
		return cli_bad_use(
			"--key and --all name the models that the program carries, --models others; they do not go together");
	if (!c->db)
		c->db = arena_printf(a, "%s/assay.duckdb", x->folder);
	if (x->detect_only)
		return detect_only(x);
	int code = choose_models(x, a, &models, &count);
	if (code >= 0)
		return code;
	c->fetch_nothing = x->dry_run;
	c->counted = true;
	code = cells_plan(c, models, count);
	if (code >= 0)
		return code;
	print_plan(x, c->json ? stderr : stdout, a);
	if (x->dry_run)
		return EXIT_GOOD;
	if (file_mkdirs(x->folder, &err) != STATUS_OK)
		return cli_error(&err);
	c->quiet = true;
	code = cells_run(c);
	if (c->json) {
		show_json(c->matrix.results);
	} else {
		cells_print_counts(c);
		if (c->matrix.done <= c->matrix.skipped + c->matrix.taken) // a run without a row is in no list
			emit("no row was written\n");
		else if (c->matrix.run > 0)
			emit("run:%lld of %s; `assay compare run:N run:%lld` holds it against another, `assay query runs` lists "
			     "them\n",
				(long long)c->matrix.run, c->db, (long long)c->matrix.run);
	}
	cells_print_crossovers(c, c->json ? stderr : stdout);
	if (c->matrix.done > 0 && write_reports(x, a, &err) != STATUS_OK) {
		cli_error(&err);
		return code == EXIT_WRONG ? code : EXIT_USE; // a wrong cell wins
	}
	return code;
}

static int run(int argc, char **argv)
{
	struct matrix_command x = { .cells = { CELLS_INIT }, .folder = "assay-out" };
	const struct cli_option first[] = {
		{ "models", CLI_LIST, &x.models, "MODEL,...",
			"models; default: the key set. A list may also be typed with spaces: --models a b" },
		{ "architectures", CLI_LIST, &x.architectures, "WORD,...",
			"three models each that stand for encoder-only, decoder-only, encoder-decoder, vision, "
			"multimodal, audio; with --key those of the key set" },
		{ "key-models-only", CLI_FLAG, &x.key, NULL,
			"the key set of fourteen models, the first of `assay models` (--key is the same)" },
		{ "key", CLI_FLAG, &x.key, NULL, NULL },
		{ "all", CLI_FLAG, &x.key, NULL, "the same; the others of `assay models` are named with --models" },
		{ "hardware", CLI_LIST, &x.cells.on, "PLATFORM,...", "the same as --on; all: the eight platforms" },
		{ "detect-only", CLI_FLAG, &x.detect_only, NULL,
			"look at the machine, write what was found into the database, print it and stop" },
		{ "workers", CLI_INTEGER, &x.cells.matrix.workers, "N", MATRIX_WORKERS_HELP, 1, 64 },
		{ "output-dir", CLI_TEXT, &x.folder, "DIR",
			"gets assay.duckdb, report.html, report.md, matrix.json and matrix.yaml; default assay-out" },
		{ "db", CLI_TEXT, &x.cells.db, "FILE", "another DuckDB file" },
		{ "resume", CLI_FLAG, &x.cells.matrix.resume, NULL,
			"leave out what is finished in the database; run what was interrupted again" },
		{ "dry-run", CLI_FLAG, &x.dry_run, NULL, "print the plan and stop; nothing is fetched" },
		{ .kind = CLI_END },
	}, none[] = { { .kind = CLI_END } };
	const struct cli_usage usage = {
		.synopsis = "assay matrix [--models MODEL,...] [--on PLATFORM,...] [options]",
		.text = "Every model on every platform and with every value of --batch, --seq and the other lists, one cell\n"
			"each. The plan comes first: cells, disk, time. A model or platform that cannot run gives rows that say\n"
			"why. With --workers cells of different devices run side by side; what is prepared or judged on the\n"
			"processor waits until nothing is timed there. While it runs, `assay query` and `assay report` can read\n"
			"the database.\n\n"
			"  assay matrix --key --synthetic --on cpu,openvino --output-dir out\n"
			"  assay matrix --key --synthetic --on cpu,openvino --output-dir out --resume\n\n"
			"Exit codes: 0 every cell is right, unjudged or compiles; 1 bad use or an error of assay's own; 2 a\n"
			"cell has another verdict, or its scenario is NOT VALID; 3 a cell is wrong (wins). With --fallback a\n"
			"cell's last try counts.\n",
		.options = cells_options(&x.cells, first, none),
	};
	int words, code;

	x.cells.matrix.command = cells_command(&x.cells.matrix.arena, argc, argv);
	if ((code = cli_parse(&usage, argc, argv, &words)) < 0)
		code = matrix(&x);
	cells_done(&x.cells);
	return code;
}

const struct command command_matrix = { "matrix", "many cells: the plan first, progress shown, resumable, reports at the end",
	run };
