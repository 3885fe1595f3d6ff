// SPDX-License-Identifier: Apache-2.0
// Models x platforms x values of axes: a plan of cells, and the cells run; with .together a cell a model, on the
// platforms in turn. `assay run`, `matrix`, `profile` and `reproduce`, and the public API, all come this way. Nothing is printed
// here: what happens is told as events.
//
//   matrix_option  "batch=1,8": any option of the question or of the matrix, by its name on the command line
//   matrix_check   what does not go together; defaults that follow from other options
//   matrix_plan    models and platforms are found, the cells made; nothing is fetched
//   matrix_run     resume, workers, chains of fallbacks, ends of sweeps; rows into the database
#ifndef ASSAY_PLAN_MATRIX_H
#define ASSAY_PLAN_MATRIX_H

#include "plan/fallback.h"
#include "plan/sweep.h"

// Options of the whole, beside those of QUESTION_LIST: kind, name, option, argument, least, most, help.
// clang-format off
#define MATRIX_WORKERS_HELP "cells side by side on different devices, never two on one; default 1"
#define MATRIX_TOGETHER_HELP \
	"each model alone, then all at the same time: a second row of each, with the time beside the others and alone, the " \
	"share of overlap, memory and judgement; the platforms of --on go round"
#define MATRIX_SWITCH_HELP \
	"the model moved from platform to platform in one process, and from the last back to the first: a row for each, with " \
	"what release, load and first run took, and how far the outputs are from those of the platform before"
#define MATRIX_LIST(X) \
	X(INTEGER, workers, "workers", "N", 1, 64, MATRIX_WORKERS_HELP) \
	X(FLAG, no_sweep_stop, "no-sweep-stop", NULL, 0, 0, \
		"all of several batches, also where a larger one gains less than 5 %") \
	X(FLAG, fallback, "fallback", NULL, 0, 0, \
		"where a platform gives nothing, try the next of its chain, as a row of its own") \
	X(FLAG, together, "together", NULL, 0, 0, MATRIX_TOGETHER_HELP) \
	X(FLAG, switches, "switch", NULL, 0, 0, MATRIX_SWITCH_HELP) \
	X(TEXT, options, "options", "K=V,...", 0, 0, "options of the engine, over the platform's defaults") \
	X(REAL, cache_limit_gib, "cache-limit", "GIB", 0, 1e6, "kept in the cache; default 20 or $ASSAY_CACHE_LIMIT")
// clang-format on
enum { MATRIX_MEMBERS = 7 };
extern const struct member matrix_members[MATRIX_MEMBERS];

struct matrix_cell {
	struct plan_model *model;
	const struct target *target;
	const struct question *question;
	const char *label; // of the axes: "batch 8"; "": there are none
	size_t line;       // cells that differ in nothing but the batch follow each other and have the same one
	size_t series;     // the same on every platform: of the axes but the batch
	// The outcome.
	json_t *results;                                      // array: every try of its chain as plan_json; NULL: not run
	double latency_ms, low_ms, high_ms, throughput_per_s; // on the platform that was asked for and at that batch; NaN
};

enum matrix_event_kind {
	MATRIX_READING,     // text: which model's files are read; done, total bytes
	MATRIX_PROGRESS,    // text: the cells that run, each with its phase
	MATRIX_NOTICE,      // text: something that a person must do or know
	MATRIX_RESULT,      // a try ended: result; text: of a fallback, what it was, else NULL
	MATRIX_FOUND,       // --resume: it was finished before, as row `row`; text: how
	MATRIX_TAKEN,       // --resume: another run is at it
	MATRIX_CHAIN,       // a chain of several tries ended; text: a line each
	MATRIX_SWEEP_ENDED, // text: why; count: larger batches that are not asked
};
struct matrix_event {
	enum matrix_event_kind kind;
	const struct matrix_cell *cell; // NULL: of none
	const char *label;              // "bert on cpu, batch 8"; with is_numbered "[3/14] bert on cpu, batch 8"; NULL
	const char *text;
	const struct cell_result *result; // MATRIX_RESULT
	int64_t row;                      // MATRIX_FOUND
	size_t count;
	uint64_t done, total;
	double seconds_left; // of all cells, guessed; NaN: nothing to guess by
};

struct matrix { // MATRIX_INIT
	// Asked.
	struct question question; // of every cell; what has several values is in `axes`, and the first of them here
	struct sweep_axes axes;
#define X(kind, name, ...) MEMBER_TYPE_##kind name;
	MATRIX_LIST(X)
#undef X
	const char *const *on; // "cpu", "openvino:GPU", ...; none: cpu
	size_t on_count;
	const char *db;              // NULL: rows are not stored
	bool resume;                 // leave out what is finished in the database
	bool looks_at_all;           // also at platforms that were not asked for: what the machine has goes into the database
	bool is_numbered;            // labels
	const char *command;         // of the run's record in the database
	volatile sig_atomic_t *stop; // set by a signal handler; NULL: nobody stops it
	bool polls_stop;             // it may be set by whom this thread hears nothing of
	// From the thread that called; may be NULL. What it is given lives for the call.
	void (*event)(void *context, const struct matrix_event *e);
	void *context;
	// The plan.
	struct arena arena;
	struct plan_model *models;
	size_t model_count;
	struct target *targets;
	size_t target_count;
	struct matrix_cell *cells; // models x platforms x axes, in this order; with .together one a model
	size_t cell_count, line_count;
	json_t *platforms; // what was found on the machine
	// The outcome.
	json_t *results;                                  // array: every try of a chain, in the order of the plan
	size_t done, skipped, taken, fell_back, left_out; // left_out: larger batches that a sweep did not ask
	size_t unstored;                                  // measured, and the database did not take the row
	size_t by_verdict[VERDICT_COUNT];                 // of cells: a chain's is that of its last try
	json_t *qualified[VERDICT_COUNT]; // of these {"2 layers, synthetic weights": how many}; NULL: none is qualified
	int64_t run;                      // of the database, in which its rows are; 0: none
	int exit_code;                    // the worst verdict_exit_code
	bool was_stopped;
	bool has_met; // of .together: the rows of all of them at the same time were begun
};
#define MATRIX_INIT \
	{ \
		.cache_limit_gib = -1 \
	}

// Where is the option in question_members or matrix_members? False: there is none.
const struct member *matrix_member(const char *option, bool *is_of_question);
// "batch=1,8", "synthetic", "workers=2": as on the command line, without the dashes. `word` must outlive the matrix. BAD_INPUT.
enum status matrix_option(struct matrix *m, const char *word, struct error *err);
// One option by its member: of an axis all values at once. BAD_INPUT.
enum status matrix_set(struct matrix *m, const struct member *member, const char *value, struct error *err);
// After all options, before the plan. BAD_INPUT: what does not go together, an unknown platform.
enum status matrix_check(struct matrix *m, size_t model_count, struct error *err);
// BAD_INPUT: a model that is not here. What is not supported of a model is a refusal, and rows. Takes some seconds where engines
// are looked at.
enum status matrix_plan(struct matrix *m, const char *const *models, size_t model_count, struct error *err);
// An error is assay's own (a model that cannot be found, the database); what a cell meets is its verdict. A stop is no error.
enum status matrix_run(struct matrix *m, struct error *err);
void matrix_done(struct matrix *m); // after matrix_plan, or without it; accepts a zeroed one

// Counts a cell's outcome in by_verdict, qualified and exit_code. Of matrix_run's steps.
void matrix_count(struct matrix *m, enum verdict v, const struct row *r);

uint64_t matrix_cache_limit(const struct matrix *m); // bytes
// Seconds that a cell may take, `first`: the first of its model, which makes synthetic weights; and in words how it was guessed.
double matrix_guess_s(const struct plan_model *m, const struct target *t, const struct question *q, bool first);
extern const char matrix_guess_words[];

#endif
