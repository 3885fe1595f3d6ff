// SPDX-License-Identifier: Apache-2.0
// One line of the table `comparison`: two sides of one question, run in alternation, in one measure of time. Its rows are cells
// like any other; the line says which they were and what they came to. Lines are only added, and only whole ones: a comparison
// that was stopped leaves its rows and no line.
#ifndef ASSAY_STORE_COMPARISON_H
#define ASSAY_STORE_COMPARISON_H

#include "store/store.h"

// kind, column, meaning. The SQL of the table is in schema.c's migrations and has the same columns.
#define COMPARISON_LIST(X) \
	X(INTEGER, id, "number of this comparison") \
	X(INTEGER, run, "the run of the program that made it") \
	X(TEXT, preset, "name of the optimisation that was compared; null: sides typed by hand") \
	X(TEXT, what, "what the preset compares, in a sentence") \
	X(TEXT, claim, "what the original system said of it, measured or not; null: nothing") \
	X(TEXT, model, "model as asked") \
	X(TEXT, side_a, "platform, device, options, shapes, precision and threads of A, in one text") \
	X(TEXT, side_b, "the same of B") \
	X(TEXT, requested_a, "platform of A") \
	X(TEXT, device_a, "its device") \
	X(TEXT, options_a, "options asked of its engine") \
	X(TEXT, requested_b, "platform of B") \
	X(TEXT, device_b, "its device") \
	X(TEXT, options_b, "options asked of its engine") \
	X(BOOLEAN, static_a, "A's graph had fixed shapes") \
	X(BOOLEAN, static_b, "B's graph had fixed shapes") \
	X(TEXT, verdict_a, "the worst verdict of A's cells") \
	X(TEXT, verdict_b, "the worst verdict of B's cells") \
	X(BOOLEAN, emulated_a, "A ran on a software stand-in for other hardware") \
	X(BOOLEAN, emulated_b, "B ran on a software stand-in for other hardware") \
	X(BOOLEAN, synthetic, "weights were random numbers") \
	X(INTEGER, layers, "layers asked for; null: all") \
	X(INTEGER, batch, "batch size") \
	X(INTEGER, sequence, "tokens; null: there are none") \
	X(TEXT, metric, "load_ms, first_ms, ready_ms or latency_ms") \
	X(INTEGER, pairs, "processes a side that counted") \
	X(INTEGER, samples_a, "times of A in all its processes") \
	X(INTEGER, samples_b, "times of B in all its processes") \
	X(REAL, a_ms, "median of A's processes' medians") \
	X(REAL, b_ms, "median of B's processes' medians") \
	X(REAL, ratio, "B over A; above 1: B takes longer") \
	X(REAL, low, "lower end of the ratio's 99 % interval") \
	X(REAL, high, "its upper end") \
	X(REAL, low95, "lower end of the 95 % interval") \
	X(REAL, high95, "its upper end") \
	X(TEXT, verdict, "faster, slower, same, cannot tell: of B against A") \
	X(TEXT, cause, "why nothing could be compared, or what to know before believing it; null: nothing") \
	X(JSON, rows_a, "row numbers of A's cells, in order") \
	X(JSON, rows_b, "row numbers of B's cells, in order") \
	X(REAL, load_before, "load average of the machine over a minute, before the first cell") \
	X(REAL, load_after, "the same after the last") \
	X(TEXT, compared_at, "UTC, ISO 8601")

struct store_comparison {
#define COMPARISON_TEXT const char *
#define COMPARISON_JSON const char *
#define COMPARISON_REAL double
#define COMPARISON_INTEGER int64_t
#define COMPARISON_BOOLEAN int
#define X(kind, name, meaning) COMPARISON_##kind name;
	COMPARISON_LIST(X)
#undef X
};

void comparison_init(struct store_comparison *c); // every field absent, as in struct row
// row_qualifiers of a side (0: A, 1: B), as far as the line knows: layers, synthetic weights, device. In `a`; NULL: nothing.
const char *comparison_qualifiers(struct arena *a, const struct store_comparison *c, int side);
json_t *comparison_json(const struct store_comparison *c); // all keys, null where absent; owned by the caller
// In one transaction, as numbers that follow each other; fills id and run of each.
enum status store_comparisons(struct store *s, struct store_comparison *items, size_t count, struct error *err);
// In the order of their numbers, the newest `most`, in the store's arena; none in a file whose schema is older.
enum status store_comparison_list(struct store *s, size_t most, struct store_comparison **out, size_t *count, struct error *err);

#endif
