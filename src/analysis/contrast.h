// SPDX-License-Identifier: Apache-2.0
// Rows against rows: which questions two sides have in common, what the rows of each come to, and whether they differ. A row is a
// process (it had a child of its own), so six rows of one question on a side are what `assay ab` runs; of fewer nothing is
// called. Which rows a side has is decided in store/side.c, statistics are in stats/compare.c; nothing is run here.
#ifndef ASSAY_ANALYSIS_CONTRAST_H
#define ASSAY_ANALYSIS_CONTRAST_H

#include "stats/compare.h"
#include "store/side.h"

// code, word, unit, is more better, what it is
#define CONTRAST_LIST(X) \
	X(LATENCY, "latency", "ms", false, "the warm runs, all of them") \
	X(LOAD, "load", "ms", false, "opening the model in the engine") \
	X(FIRST, "first", "ms", false, "the first run") \
	X(MEMORY, "memory", "MiB", false, "the largest of the peaks") \
	X(THROUGHPUT, "throughput", "/s", true, "samples/s by the median of the runs")

enum contrast_metric {
#define X(code, word, unit, more, what) CONTRAST_##code,
	CONTRAST_LIST(X)
#undef X
		CONTRAST_COUNT
};
const char *contrast_word(enum contrast_metric m);
const char *contrast_unit(enum contrast_metric m);
enum contrast_metric contrast_find(const char *word); // CONTRAST_COUNT if there is none
// Of one row, one number; NaN where it has none.
double contrast_value(enum contrast_metric m, const struct row *r);
// It gave outputs, on the platform that was asked for, or that a further try of --fallback was made on.
bool contrast_ran(const struct side_row *r);
// Two sets of rows in one metric, which is set.
struct contrast_line;
enum status contrast_rows(struct contrast_line *line, const struct side_row *const *a, size_t a_count,
	const struct side_row *const *b, size_t b_count, uint64_t seed, struct arena *arena, struct error *err);

struct contrast_line {
	enum contrast_metric metric;
	bool is_compared;         // else `cause` says why not
	struct comparison c;      // of the values: a_ms and b_ms have the metric's unit, ratio is B over A of them
	bool is_better, is_worse; // called, and B is the better or worse one
	const char *verdict;      // faster, slower, less, more, same, cannot tell
	const char *cause;        // why nothing is called or compared; NULL: nothing stands against it
};

struct contrast {         // one question that both sides answered
	const char *what; // asked_words without what differs between the sides
	const struct side_row **a, **b;
	size_t a_count, b_count;
	enum verdict verdict_a, verdict_b; // of the newest row of each
	const char *cause_a, *cause_b;
	int change; // of the verdicts: -1 B's is worse, 1 better, 0 the same worth
	struct contrast_line *lines;
	size_t line_count;
	const char *qualifiers_a, *qualifiers_b; // asked_qualifiers of the rows of each; NULL: nothing
	const char *note;                        // what else to know before believing it; NULL: nothing
};

struct contrast_lone {
	const char *what;
	const struct side_row **rows;
	size_t count;
};

struct contrast_result {
	struct contrast *items; // changed verdicts first, worse before better
	size_t count;
	struct contrast_lone *only_a, *only_b;
	size_t only_a_count, only_b_count;
	const char *differs; // what the sides differ in by choice: "platform: cpu, openvino"; NULL: nothing
	size_t compared, slower, faster, worse_verdicts; // lines compared; called worse and better; verdicts that became worse
};

// metrics: bits 1 << enum contrast_metric; 0: all. `seed` of the bootstrap.
enum status contrast_make(const struct side *a, const struct side *b, unsigned metrics, uint64_t seed, struct arena *arena,
	struct contrast_result *out, struct error *err);
// Something was compared: a figure, or a verdict that became better, or one that says that a model compiles, which has no
// figures. Verdicts that became worse are counted in the result.
bool contrast_tells(const struct contrast_result *r);
json_t *contrast_json(const struct side *a, const struct side *b, const struct contrast_result *r);

#endif
