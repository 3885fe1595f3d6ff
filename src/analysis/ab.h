// SPDX-License-Identifier: Apache-2.0
// One model on two sides, run in alternation (A B, B A, A B, ...), each time in a process of its own and never two at once, so
// that whatever else the machine does hits both. Every process is a cell with its row, as `assay run` makes them; what the sides
// come to is a line of the table `comparison` for each metric. Before the pairs one cell of each side runs that does not count:
// files come into the page cache, conversions and reference outputs are made, and a side that does not run at all is known.
#ifndef ASSAY_ANALYSIS_AB_H
#define ASSAY_ANALYSIS_AB_H

#include "plan/plan.h"
#include "run/cell.h"
#include "stats/compare.h"
#include "store/comparison.h"

// code, column of the row or name, what it is
#define AB_METRIC_LIST(X) \
	X(LOAD, "load_ms", "opening the model in the engine") \
	X(FIRST, "first_ms", "the first run") \
	X(READY, "ready_ms", "opening and the first run together") \
	X(LATENCY, "latency_ms", "the warm runs, all of them")

enum ab_metric {
#define X(code, word, what) AB_##code,
	AB_METRIC_LIST(X)
#undef X
		AB_METRIC_COUNT
};
const char *ab_metric_word(enum ab_metric m);
const char *ab_metric_what(enum ab_metric m);
enum ab_metric ab_metric_find(const char *word); // AB_METRIC_COUNT if there is none

enum { AB_PAIRS = COMPARE_LEAST };

struct ab_side {
	struct target target;
	struct question question;
	const char *name; // "webgpu:chromium layout=NCHW", "cpu int8-dynamic 2 threads", as people read it
};

struct ab {
	const struct plan_model *model; // with its weights made
	struct ab_side side[2];
	const char *preset, *what, *claim; // of a comparison that has a name; may be NULL
	unsigned metrics;                  // bits 1 << enum ab_metric; 0: all
	size_t pairs;                      // 0: AB_PAIRS
	uint64_t seed;                     // of the bootstrap
	struct store *store;               // may be NULL
	const struct cell_watch *watch;
	// After each cell; pair 0 is the one that does not count. May be NULL.
	void (*progress)(void *context, size_t pair, size_t pairs, int side, const struct cell_result *r);
	void *context;
};

struct ab_result {
	struct store_comparison *lines; // one a metric; ratio NaN where nothing could be compared, `cause` says why
	size_t line_count;
	size_t pairs;       // whole ones
	bool is_whole;      // all pairs ran: the lines are in the store
	bool is_stopped;    // from outside: nothing but the rows is in the store
	enum verdict worst; // of all cells
};

// A side that does not run is an answer: its lines say why and are stored. An error is assay's own.
enum status ab_run(const struct ab *ab, struct arena *a, struct ab_result *out, struct error *err);

// The same lines for a question that cannot be put to any engine: nothing is run. Targets without a platform are fine.
enum status ab_refuse(const struct ab *ab, const char *cause, struct arena *a, struct ab_result *out, struct error *err);

// "webgpu:chromium layout=NCHW static": for ab_side.name.
const char *ab_side_name(struct arena *a, const struct target *t, const struct question *q);

#endif
