// SPDX-License-Identifier: Apache-2.0
// Who asks, and how often: the scenarios of MLPerf Inference. Runs, clock and waiting come from the caller, as in protocol.h.
#ifndef ASSAY_CELL_SCENARIO_H
#define ASSAY_CELL_SCENARIO_H

#include <stdbool.h>

#include <jansson.h>

#include "cell/beside.h"
#include "cell/protocol.h"
#include "question/question.h"

// code, word, percentile that is claimed (0: none), meaning
#define SCENARIO_LIST(X) \
	X(SINGLE_STREAM, "single-stream", 0.90, \
		"the next query when the one before is answered; the 90th percentile of its latency") \
	X(MULTI_STREAM, "multi-stream", 0.99, "likewise with several samples in a query; the 99th percentile") \
	X(OFFLINE, "offline", 0, "all samples are there at once; throughput") \
	X(SERVER, "server", 0.99, "queries arrive at a rate (Poisson); is the 99th percentile within the bound?")

enum scenario {
#define X(code, word, percentile, meaning) SCENARIO_##code,
	SCENARIO_LIST(X)
#undef X
		SCENARIO_COUNT
};
enum scenario scenario_find(const char *word); // NULL: single-stream; SCENARIO_COUNT if there is none
enum { SCENARIO_STREAMS = 8 };                 // of multi-stream, where none are asked for, as MLPerf has it

struct scenario_ask {
	enum scenario kind;
	int64_t batch;               // samples in a run
	int64_t streams;             // of multi-stream: samples in a query, a multiple of batch
	double rate_per_s, bound_ms; // bound 0: none
	size_t least, queries;       // decided before the first: looking again and again would let luck in
	int64_t limit_ns;            // no query begins after it, once there are `least`; 0: none
	uint64_t seed;               // of the arrivals
};
// What a question comes to. `runs` > 0: exactly so many queries, but server gives up at twice the time that they should take.
struct scenario_ask scenario_plan(const struct question *q, const struct effort *e, int64_t batch);

struct scenario_result {
	int64_t *latency_ns;      // of the answered queries, in order; server: from when it was to arrive
	size_t count, unanswered; // unanswered: had arrived when the time was over
	int64_t elapsed_ns;
	size_t late;             // beyond the bound, unanswered ones too
	int64_t needed;          // queries that so many late ones need for the claim (early_stop.h); 0: none
	double estimate_ms;      // of the percentile, with 99 % confidence not too low; NaN: too few queries
	double throughput_per_s; // samples
	bool is_valid;           // may the claim be made?
	const char *why;
};
enum status scenario_run(const struct protocol_run *r, const struct scenario_ask *ask, struct arena *a,
	struct scenario_result *out, struct error *err);
// The same of offline and server with several queries at a time.
enum status scenario_run_beside(
	const struct beside *b, const struct scenario_ask *ask, struct arena *a, struct scenario_result *out, struct error *err);
json_t *scenario_json(const struct scenario_ask *ask, const struct scenario_result *r);

#endif
