// SPDX-License-Identifier: Apache-2.0
// What to run a model on: from rows first, and beside them, marked as such, predictions for platforms on which nobody ran it.
//
// Rows that may be chosen answered one question, right, on the platform that was asked for, and were timed on hardware: no row of
// a fallback, of an emulator, of another tool, of the null engine. Each that may not is named with the reason. Nothing is run
// here.
#ifndef ASSAY_ANALYSIS_RECOMMEND_H
#define ASSAY_ANALYSIS_RECOMMEND_H

#include "stats/forecast.h"
#include "report/summary.h"

// code, word, what is best
#define RECOMMEND_LIST(X) \
	X(LATENCY, "latency", "the lowest median time of a run") \
	X(THROUGHPUT, "throughput", "the most samples/s, at any batch") \
	X(MEMORY, "memory", "the smallest peak of memory") \
	X(COST, "cost", "the lowest price of a million samples, at any batch; needs prices")

enum recommend_goal {
#define X(code, word, what) RECOMMEND_##code,
	RECOMMEND_LIST(X)
#undef X
		RECOMMEND_COUNT
};
const char *recommend_word(enum recommend_goal g);
enum recommend_goal recommend_find(const char *word); // RECOMMEND_COUNT: there is none

struct recommend_ask {
	const char *model; // as rows have it
	enum recommend_goal goal;
	double most_mib;         // of memory; 0: any
	const char *machine;     // id; NULL: any
	int64_t batch, sequence; // 0: 1 (any for throughput and cost); what most rows have
};

struct recommend_choice {
	const struct report_cell *cell; // the newest row
	const char *use;                // "openvino, int4-weights, 2 threads"
	double figure;                  // ms, inputs a second, MiB or money for a million; times by all its processes
	double rank;                    // what puts it in its place: `figure`, of unstable times by the slowest
	const char *words;              // "88.1 ms (median of 7 processes, 86.0 ms to 91.2 ms)"
	const char *claim;              // against cpu; NULL: it is cpu, or there is none
	const char *warning;            // "unstable; synthetic weights"; NULL
	const char *command;            // that measures it again
};
struct recommend_left_out {
	const char *use, *why;
};

struct recommendation {
	struct recommend_choice *choices; // best first
	size_t choice_count;
	struct recommend_left_out *left_out;
	size_t left_out_count;
	const char *question; // what the choices answered: "batch 1, 128 tokens"; NULL: there are none
	size_t row_count;     // of the model, on any machine and whatever they are worth
};

// Of rows. A model without any row has no choices, which is no error. BAD_INPUT: cost without prices.
enum status recommend_rows(
	const struct summary *s, const struct recommend_ask *ask, struct arena *a, struct recommendation *out, struct error *err);

// Of what nobody ran: one for each group of rows on the machine that is large enough and has no timed row of this model for the
// same question.
struct recommend_prediction {
	const char *use;
	const char *platform, *precision; // NULL: as stored
	int64_t threads;                  // ROW_NONE: the engine's default
	struct forecast forecast;
	const char *like; // the measured model that is most alike
};
struct recommend_predictions {
	struct recommend_prediction *items; // fastest first
	size_t count;
	const char **too_few; // "openvino: too few models ...", "openvino: not predicted: the largest model measured here ..."
	size_t too_few_count;
	struct forecast_proof proof; // of all groups of this database
	const char *proof_words;     // NULL: nothing could be proven
};
// `features` gives what the graph of the model computes and moves on a platform; false: it cannot be built or shaped there.
typedef bool recommend_features(void *context, const char *platform, const char *precision, struct forecast_point *out);
void recommend_unmeasured(const struct summary *s, const struct recommend_ask *ask, recommend_features *features, void *context,
	struct arena *a, struct recommend_predictions *out);

#endif
