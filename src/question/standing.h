// SPDX-License-Identifier: Apache-2.0
// What a row is worth: does it count as an answer that assay measured and found right, and what has to stand beside its numbers.
// Everything that counts, ranks, recommends or predicts asks here; SQL asks with the macros, and a unit test holds both equal.
#ifndef ASSAY_QUESTION_STANDING_H
#define ASSAY_QUESTION_STANDING_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "question/row.h"

// Measured by assay and judged right by a reference that the row names, with outputs from `platform`. Not yet whether anything
// was computed: the null engine may have answered.
bool row_is_right_on(const struct row *r, const char *platform);
// The same of the platform that was asked for, by an engine that computes. The null engine counts only where platform null was
// asked for.
bool row_counts(const struct row *r);
// The model ran on `platform`: right there, by an engine that computes. The null engine never does, by its own name neither.
bool row_runs_on(const struct row *r, const char *platform);

// A further try of --fallback, on another platform than was asked for.
bool row_is_instead(const struct row *r);
bool row_is_shortened(const struct row *r); // fewer layers than the model has
// Fewer tokens than usual, of an emulated device: one question with the rows of the usual length, and no time or memory to
// compare with theirs.
bool row_is_brief(const struct row *r);
// Its scenario's own rule did not hold (scenario_result's "valid" is false): the outputs may be right, its times claim nothing.
bool row_is_not_valid(const struct row *r);
// It counts, and it is the whole model with inputs of the length that was asked for, on hardware, in no scenario whose rule did
// not hold: `success` of hardware_results.
bool row_is_success(const struct row *r);
// What a program ends with that asked for this row: verdict_exit_code, and 2 where that is 0 and a scenario's rule did not hold.
int row_exit_code(const struct row *r, enum verdict v);
// The length by which rows answer one question: asked_sequence, else sequence; ROW_NONE unknown, or no length.
int64_t row_question_sequence(const struct row *r);

// The form that its weights are published in, short, in `a`: "gptq, 4 bits" of "gptq, 4 bits in groups of 128, 7 weights
// dequantised to bf16". NULL where they are read as they lie.
const char *row_published_as(struct arena *a, const struct row *r);

// What makes a row something else than the whole trained model, as published, on hardware.
enum {
	QUALIFY_LAYERS = 1,    // "2 layers"
	QUALIFY_WEIGHTS = 2,   // "synthetic weights", "published as gptq, 4 bits"
	QUALIFY_PRECISION = 4, // "int4-weights", "computed in f16"
	QUALIFY_DEVICE = 8,    // "emulated", "nothing computed"
	QUALIFY_SOURCE = 16,   // "measured by llama-bench, not by assay"
	QUALIFY_SHAPE = 32,    // "16 tokens of the usual 128"
	QUALIFY_SCENARIO = 64, // "NOT VALID", of a scenario whose rule did not hold
	QUALIFY_ALL = 127,
};
// Of those in `which`: "2 layers, synthetic weights, 16 tokens of the usual 128, emulated", in `a`; NULL where nothing qualifies.
// No latency, throughput or verdict of a row is shown without these words beside it.
const char *row_qualifiers(struct arena *a, const struct row *r, unsigned which);

// What of its outputs nobody judged: those that the reference lacks, and values left out where they are more than half of the
// first output's; in `a`, NULL: nothing of this.
const char *row_not_judged(struct arena *a, const struct row *r);

// Of several rows, of what row_qualifiers said of each (NULL: nothing): the words of all where they are the same, else "2 of 3:
// synthetic weights; 1 of 3: 2 layers"; NULL where none has any.
const char *qualifiers_of_all(struct arena *a, const char *const *words, size_t count);
// Of two sides: the words of both where they are the same, else "A: 2 layers; B: emulated", a side without any left out; NULL:
// none has any.
const char *qualifiers_of_sides(struct arena *a, const char *of_a, const char *of_b);

// row_published_as, as an expression.
#define ROW_PUBLISHED_SQL(o) "regexp_replace(" o "weights_from, '( in groups| in blocks| [(]alpha|, [0-9]+ weights? ).*', '')"
// row_is_right_on(requested), row_counts, row_is_shortened, row_is_brief, row_is_not_valid and row_is_success as conditions,
// never null; `o` is the prefix of the columns: "", "r.". A text in JSON has its quotes behind backslashes.
#define ROW_RIGHT_SQL(o) \
	"COALESCE(" o "verdict = 'right' AND " o "reference IS NOT NULL AND " o "source IS NULL AND " o "actual = " o \
	"requested, FALSE)"
#define ROW_COUNTS_SQL(o) \
	"(" ROW_RIGHT_SQL(o) " AND COALESCE(" o "engine <> 'null' OR (" o "engine = 'null' AND " o "requested = 'null'), " \
			     "FALSE))"
#define ROW_EMULATED_SQL(o) "COALESCE(" o "emulated, FALSE)"
#define ROW_SHORTENED_SQL(o) "COALESCE(" o "shortened, " o "layers > 0, FALSE)"
#define ROW_BRIEF_SQL(o) "(" o "asked_sequence IS NOT NULL AND " o "asked_sequence IS DISTINCT FROM " o "sequence)"
#define ROW_NOT_VALID_SQL(o) "COALESCE(regexp_matches(" o "scenario_result, '\"valid\": *false'), FALSE)"
#define ROW_SUCCESS_SQL(o) \
	"(" ROW_COUNTS_SQL(o) " AND NOT " ROW_EMULATED_SQL(o) " AND NOT " ROW_SHORTENED_SQL(o) " AND NOT " ROW_BRIEF_SQL( \
		o) " AND NOT " ROW_NOT_VALID_SQL(o) ")"

#endif
