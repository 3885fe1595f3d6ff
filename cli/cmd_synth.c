// SPDX-License-Identifier: Apache-2.0
// assay synth: a checkpoint with the right names and shapes and seeded random weights.
#include <stdio.h>

#include "plan/plan.h"
#include "artifact/artifact.h"
#include "command.h"
#include "emit.h"
#include "fetching.h"
#include "progress.h"
#include "show.h"

static enum status synth(const char *model, const char *folder, struct synth_options *o, struct arena *a, struct error *err)
{
	struct hub_model hub;
	struct checkpoint c = { 0 };

	enum status s = hub_find(&hub, a, model, err);
	if (s != STATUS_OK)
		return s;
	s = plan_checkpoint(&c, &hub, err);
	if (s == STATUS_OK)
		s = synth_write(folder, &c, o, err);
	checkpoint_close(&c);
	return s;
}

static void print_json(const char *folder, int64_t seed, struct arena *a)
{
	json_t *out = json_pack("{s:[o, o], s:I}", "files", show_written(arena_printf(a, "%s/config.json", folder)),
		show_written(arena_printf(a, "%s/model.safetensors", folder)), "seed", (json_int_t)seed);

	show_json(out);
	json_decref(out);
}

static int run(int argc, char **argv)
{
	const char *folder = NULL, *dtype = NULL;
	int64_t seed = 0, layers = 0;
	bool json = false;
	const struct cli_option options[] = {
		{ "o", CLI_TEXT, &folder, "DIR", "the folder to write (--output DIR is the same)" },
		{ "output", CLI_TEXT, &folder, "DIR", NULL },
		{ "seed", CLI_INTEGER, &seed, "N", "other numbers; default 0", 0, 9e15 },
		{ "dtype", CLI_TEXT, &dtype, "TYPE", "f32, f16 or bf16; default: as the configuration says, else f32" },
		{ "layers", CLI_INTEGER, &layers, "N", "only the first N layers; config.json says so", 1, 100000 },
		{ "json", CLI_FLAG, &json, NULL, "an object on standard output: files, bytes, seed" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay synth MODEL -o DIR [--seed N] [--dtype TYPE] [--layers N] [--json]",
		.text = "MODEL may be a folder with nothing but a config.json, or a model whose configuration the program\n"
			"carries. The folder gets config.json and model.safetensors: the right names and shapes, scaled\n"
			"random numbers. The same seed gives the same bytes.\n\n"
			"  assay synth bert-base-uncased -o bert --layers 2\n\n"
			"Exit codes: 0 written; 1 bad use or an error of assay's own; 2 the model is not supported, or it was\n"
			"interrupted.\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	struct synth_options o = { .progress = progress_bytes };
	struct arena arena = { 0 };
	struct error err = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (!folder)
		return cli_bad_use("where to? Add -o DIR");
	if (dtype && (o.dtype = dtype_find(dtype)) != DTYPE_F32 && o.dtype != DTYPE_F16 && o.dtype != DTYPE_BF16)
		return cli_bad_use("--dtype wants f32, f16 or bf16, not '%s'", dtype);
	o.seed = (uint64_t)seed;
	o.layers = layers;
	o.context = (void *)folder;
	cli_catch_stop();
	if ((code = fetching_ensure(argv[1], FETCH_CONFIG, false)) >= 0)
		return code;
	enum status s = synth(argv[1], folder, &o, &arena, &err);
	progress_clear();
	if (s == STATUS_OK && json)
		print_json(folder, seed, &arena);
	else if (s == STATUS_OK)
		emit("%s: config.json and model.safetensors, synthetic weights, seed %lld\n", folder, (long long)seed);
	else
		cli_error(&err);
	arena_done(&arena);
	return s == STATUS_OK ? EXIT_GOOD : s == STATUS_UNSUPPORTED || s == STATUS_INTERRUPTED ? EXIT_VERDICT : EXIT_USE;
}

const struct command command_synth = { "synth", "write a checkpoint with seeded random weights", run };
