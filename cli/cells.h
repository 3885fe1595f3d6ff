// SPDX-License-Identifier: Apache-2.0
// What `run` and `matrix` share: their options, and the loop over models x platforms x axes that stores, shows and counts.
#ifndef ASSAY_CLI_CELLS_H
#define ASSAY_CLI_CELLS_H

#include <stdio.h>

#include "plan/fallback.h"
#include "plan/sweep.h"
#include "command.h"

struct planned { // a cell of the plan
	struct plan_model *model;
	const struct target *target;
	const struct question *question;
	const char *label; // of the axes: "batch 8"; "": there are none
	size_t line;       // cells that differ in nothing but the batch follow each other and have the same one
	size_t variant;    // the same on every platform: of the axes but the batch
	// The outcome.
	json_t *results;                    // every try of its chain; NULL: not run
	double latency_ms, low_ms, high_ms; // on the platform that was asked for and at that batch; NaN
};

struct cells {
	// Options.
	struct question question; // what has several values is in the lists, and the first of them here
	struct cli_list on, precision;
	struct cli_integers batch, sequence, image_size, threads;
	int64_t workers;
	bool no_sweep_stop;
	const char *db, *options, *task;
	double memory_gib, cache_limit_gib;
	int64_t seed;
	bool json, offline;
	// Set by the caller.
	bool fetch_nothing; // what is not here is named and left out of the plan
	bool quiet;         // no summaries on standard output
	bool counted;       // "[3/14]" and the time left on standard error
	bool resume;
	const char *command; // of the run's row
	// The plan.
	struct arena arena;
	struct plan_model *models;
	size_t model_count;
	struct target *targets;
	size_t target_count;
	struct planned *planned; // models x platforms x axes, in this order
	size_t planned_count, line_count;
	bool is_sweep;
	// The outcome.
	json_t *results;   // array, as --json prints it: every try of a chain, in the order of the plan
	json_t *platforms; // what was found on the machine
	size_t done, skipped, taken, fell_back, left_out; // left_out: larger batches that a sweep did not ask
	size_t by_verdict[VERDICT_COUNT];                 // of cells: a chain's is that of its last try
	json_t *qualified[VERDICT_COUNT]; // of these {"2 layers, synthetic weights": how many}; NULL: none is qualified
	int exit_code;
};

// The rows of the option table that both commands have; `c` is a struct cells.
// clang-format off
#define CELLS_OPTIONS(c) \
	{ "on", CLI_LIST, &(c).on, "PLATFORM,...", "platforms: cpu, openvino, openvino:GPU, null:fail=run@3, ...; default " \
		"cpu" }, \
	{ "batch", CLI_INTEGERS, &(c).batch, "N,...", "batch sizes, one cell each; default 1", 1, 65536 }, \
	{ "seq", CLI_INTEGERS, &(c).sequence, "N,...", "tokens in a sequence; default 128, or what the model takes if " \
		"less", 1, 1 << 20 }, \
	{ "image-size", CLI_INTEGERS, &(c).image_size, "N,...", "height and width of images in pixels; default: what the " \
		"model says", 1, 65536 }, \
	{ "threads", CLI_INTEGERS, &(c).threads, "N,...", "threads of the engine, confirmed by it; default: the CPUs this " \
		"process may use", 1, 4096 }, \
	{ "no-sweep-stop", CLI_FLAG, &(c).no_sweep_stop, NULL, "all of several batches, also where a larger one gains " \
		"less than 5 %" }, \
	{ "task", CLI_TEXT, &(c).task, "TASK", "forward: one pass over the inputs; generate: greedy, with a cache; " \
		"default forward" }, \
	{ "prompt-tokens", CLI_INTEGER, &(c).question.prompt_tokens, "N", "of generate: tokens that go in; default 32", \
		1, 1 << 20 }, \
	{ "new-tokens", CLI_INTEGER, &(c).question.new_tokens, "N", "of generate: tokens that come out; default 32", 2, \
		1 << 20 }, \
	{ "precision", CLI_LIST, &(c).precision, "P,...", "float32, float16, bfloat16, int8-dynamic, int8-static, " \
		"int8-weights, int4-weights[:head=float32]; default as stored" }, \
	{ "max-loss", CLI_TEXT, &(c).question.variant.max_loss, "WORD=LIMIT,...", "what the outputs may lose against " \
		"float32, or what else judges them: cosine=0.001 (1 - cosine), " \
		"top1=2%, perplexity=5%, nmse=1e-3; more is `lossy`; default: the loss is reported and decides nothing" }, \
	{ "runs", CLI_INTEGER, &(c).question.runs, "N", "exactly so many timed runs; default: as --effort says", 1, 1e6 }, \
	{ "effort", CLI_TEXT, &(c).question.variant.effort, "WORD", "rapid: 3 to 11 timed runs in about 1 s, a median; " \
		"quick: 11 to 64 in 2 s, a 90th percentile; " \
		"normal: 11 to 662 in 3 s, a 99th where 662 fit; default normal" }, \
	{ "scenario", CLI_TEXT, &(c).question.variant.scenario, "WORD", "who asks, as MLPerf names it: single-stream, " \
		"multi-stream, offline, server; " \
		"default: timed runs without a claim" }, \
	{ "streams", CLI_INTEGER, &(c).question.variant.streams, "N", "of multi-stream: samples in a query, a multiple of " \
		"--batch; default 8", 1, 65536 }, \
	{ "rate", CLI_REAL, &(c).question.variant.rate_per_s, "R", "of server: queries that arrive in a second", 0.001, 1e6 }, \
	{ "latency-bound", CLI_REAL, &(c).question.variant.latency_bound_ms, "MS", "of server, and of multi-stream if " \
		"wished: what 99 % must stay within", 0.001, 1e7 }, \
	{ "cycles", CLI_INTEGER, &(c).question.variant.cycles, "N", "open, run and close so often at the end: does memory " \
		"stay behind?", 5, 10000 }, \
	{ "timeout", CLI_REAL, &(c).question.timeout_s, "S", "seconds for a whole cell; default 600", 0.1, 1e7 }, \
	{ "quiet-wait", CLI_REAL, &(c).question.quiet_wait_s, "S", "before each cell, wait up to S seconds for a calm " \
		"machine", 0.1, 1e6 }, \
	{ "memory", CLI_REAL, &(c).memory_gib, "GIB", "limit of a cell's anonymous memory; default none", 0.01, 1e6 }, \
	{ "force", CLI_FLAG, &(c).question.force, NULL, "try what is predicted not to fit into memory; default: such a " \
		"cell is no_memory" }, \
	{ "fallback", CLI_FLAG, &(c).question.fallback, NULL, "where a platform gives nothing, try the next of its chain, " \
		"as a row of its own" }, \
	{ "synthetic", CLI_FLAG, &(c).question.synthetic, NULL, "seeded random weights where a model has none here" }, \
	{ "layers", CLI_INTEGER, &(c).question.layers, "N", "only the first N layers; rows say shortened", 1, 100000 }, \
	{ "seed", CLI_INTEGER, &(c).seed, "N", "of inputs and synthetic weights; default 0", 0, 9e15 }, \
	{ "static", CLI_FLAG, &(c).question.is_static, NULL, "fixed shapes in the graph; default: as the platform takes them" }, \
	{ "dynamic", CLI_FLAG, &(c).question.is_dynamic, NULL, "batch and sequence open in the graph, also where the " \
		"platform's first form has them fixed" }, \
	{ "no-fallback", CLI_FLAG, &(c).question.no_fallback, NULL, "a node that would run elsewhere makes the cell " \
		"unsupported; says which" }, \
	{ "allow-fallback", CLI_FLAG, &(c).question.allow_fallback, NULL, "the platform may take no node at all; default: " \
		"such a cell is fell_back" }, \
	{ "golden", CLI_TEXT, &(c).question.golden, "FILE", "safetensors: its in.NAME are the inputs, its out.NAME judge" }, \
	{ "options", CLI_TEXT, &(c).options, "K=V,...", "options of the engine, over the platform's defaults" }, \
	{ "no-conform", CLI_FLAG, &(c).question.no_conform, NULL, "leave the type's conformance cases out; " \
		"type_conformance is null" }, \
	{ "cache-limit", CLI_REAL, &(c).cache_limit_gib, "GIB", "kept in the cache; default 20 or $ASSAY_CACHE_LIMIT", 0, 1e6 }, \
	{ "offline", CLI_FLAG, &(c).offline, NULL, "fetch nothing from the Hub, as with HF_HUB_OFFLINE=1" }, \
	{ "json", CLI_FLAG, &(c).json, NULL, "an array on standard output, one object a cell" }
// clang-format on

// After cli_parse: units, platforms, models. -1 to go on, else the exit code.
int cells_plan(struct cells *c, const char *const *models, size_t model_count);
// Runs every cell; the summary of each goes to standard output unless quiet. Sets exit_code; returns it.
int cells_run(struct cells *c);
// Seconds that a cell may take, `first`: the first of its model, which makes synthetic weights; and in words how that was
// guessed.
double cells_guess_s(const struct plan_model *m, const struct target *t, bool first);
int cells_worse(int a, int b); // of two exit codes
// "batch 1,2,4, threads 1,2": the axes with several values; "" where there are none.
const char *cells_axes(const struct cells *c, struct arena *a);
// From which batch on the median of one platform is below another's, a line each; nothing without a sweep over batches.
void cells_print_crossovers(const struct cells *c, FILE *out);
extern const char cells_guess_words[];
void cells_done(struct cells *c);
// "assay run bert --on cpu": argv joined, for the run's row.
const char *cells_command(struct arena *a, int argc, char **argv);
// "5 right, 1 crashed; 2 finished before"
void cells_print_counts(const struct cells *c);
const char *cells_plural(size_t n, const char *one, const char *many);

#endif
