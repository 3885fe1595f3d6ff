// SPDX-License-Identifier: Apache-2.0
// Two sides of one question against each other: how many times A's time B's is, between which bounds, and whether that may be
// called a difference. Each side is some processes (a process is one load of the engine; two of them differ by more than the runs
// of one do), each with one or more times in the order in which they were taken.
#ifndef ASSAY_STATS_COMPARE_H
#define ASSAY_STATS_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// code, word (in the database and in JSON), sentence
#define COMPARE_LIST(X) \
	X(FASTER, "faster", "B takes less time: the 99 % interval leaves out 1 and the ratio is below 0.98") \
	X(SLOWER, "slower", "B takes more time: the 99 % interval leaves out 1 and the ratio is above 1.02") \
	X(SAME, "same", "the whole 99 % interval lies within 2 % of 1") \
	X(CANNOT_TELL, "cannot tell", "the interval is too wide for a difference and for none, or there are too few processes")

enum compare_verdict {
#define X(code, word, sentence) COMPARE_##code,
	COMPARE_LIST(X)
#undef X
		COMPARE_COUNT
};
const char *compare_word(enum compare_verdict v);
const char *compare_sentence(enum compare_verdict v);
enum compare_verdict compare_find(const char *word); // COMPARE_COUNT if there is none

enum { COMPARE_LEAST = 6 };  // processes a side below which nothing is called
enum { COMPARE_MOST = 100 }; // of two sides that were not interleaved: all pairs are drawn thousands of times

struct compare_process {
	const double *ms; // > 0, in the order in which they were taken
	size_t count;     // at least 1
};

struct comparison {
	double a_ms, b_ms; // of each side: the median of its processes' medians
	double ratio;      // B over A; above 1: B takes longer
	double low, high;  // 99 %; NaN, as the next two, for one process a side, and for two pairs
	double low95, high95;
	size_t a_count, b_count; // processes
	size_t a_samples, b_samples;
	enum compare_verdict verdict;
};

// `a` and `b` were taken in alternation: process i of one ran beside process i of the other, in time, and what slowed one down
// slowed the other. The same number on each side. The same input and seed give the same answer. BAD_INPUT: no processes, an empty
// one, or a time that is not above 0.
enum status compare_paired(const struct compare_process *a, const struct compare_process *b, size_t count, uint64_t seed,
	struct comparison *out, struct error *err);
// Sides that were not interleaved, of any number each: drift between them counts as a difference. Of more than
// COMPARE_MOST the last ones count, the newest where they are in the order of time.
enum status compare_unpaired(const struct compare_process *a, size_t a_count, const struct compare_process *b, size_t b_count,
	uint64_t seed, struct comparison *out, struct error *err);

#endif
