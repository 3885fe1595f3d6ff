// SPDX-License-Identifier: Apache-2.0
// How often something is run, and which of the runs count: warm-up until it is steady, then the sample. What is run, and the
// clock, come from the caller, so that the rules are tested without an engine.
#ifndef ASSAY_CELL_PROTOCOL_H
#define ASSAY_CELL_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

// word, warm-up: seconds and runs at most; sample: at least, until so many seconds have passed or so many are done; a scenario:
// its multiple of the queries that its percentile needs, and seconds at most; meaning
#define EFFORT_LIST(X) \
	X("rapid", 0.2, 100, 3, 1, 11, 1, 5, "3 to 11 runs in about 1 s: just a median") \
	X("quick", 0.5, 300, 11, 2, 64, 2, 20, "11 to 64 runs in about 2 s: a 90th percentile where 64 fit") \
	X("normal", 1, 1000, 11, 3, 662, 4, 60, "11 to 662 runs in about 3 s: a 99th percentile where 662 fit")

struct effort {
	const char *word;
	double warm_s;
	size_t warm_runs, least;
	double sample_s;
	size_t most, scenario_times;
	double scenario_s;
	const char *meaning;
};
const struct effort *effort_find(const char *word); // NULL word: normal; NULL if there is none

struct protocol_limits {
	int64_t warm_ns;
	size_t warm_runs; // at least 1: one run is always thrown away
	size_t least, most;
	int64_t sample_ns; // over after `least` runs
};
// `runs` > 0: exactly so many count, and no more are thrown away.
struct protocol_limits protocol_limits(const struct effort *e, int64_t runs);

struct protocol_run {
	void *context;
	int64_t (*now)(void *context); // ns
	// Once. *ns is -1; it is set where the engine's own clock says how long it took.
	enum status (*run)(void *context, int64_t *ns, struct error *err);
	void (*wait)(void *context, int64_t until_ns); // of scenarios; may be NULL otherwise
};
enum status protocol_once(const struct protocol_run *r, int64_t *ns, struct error *err);

extern const char protocol_agree[], protocol_time[], protocol_count[]; // why a warm-up ended, as in row.warmup_end
struct protocol_warmup {
	size_t runs;
	int64_t *each, ns; // of each run, memory of the arena; of all, what lies between them too
	const char *end;
};
// Runs until the medians of three windows agree within STATS_STABLE_WITHIN, or a limit. A window lasts 3 runs and 10 ms, or 100
// runs. The first run is in no window.
enum status protocol_warm_up(const struct protocol_run *r, const struct protocol_limits *l, struct arena *a,
	struct protocol_warmup *out, struct error *err);

struct protocol_sample {
	int64_t *ns; // memory of the arena
	size_t count;
	double clock_us;   // median between two looks at the clock with nothing between them
	double harness_us; // median from the end of a run to the beginning of the next, less that
};
enum status protocol_sample(const struct protocol_run *r, const struct protocol_limits *l, struct arena *a,
	struct protocol_sample *out, struct error *err);

#endif
