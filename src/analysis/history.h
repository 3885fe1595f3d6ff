// SPDX-License-Identifier: Apache-2.0
// One question as a series of runs in the order of time, and where it changed: the figure (stats/change.c) and the verdict. A
// point is the median of what the rows of one run of the program measured, so that six processes of one evening are one point and
// not six.
#ifndef ASSAY_ANALYSIS_HISTORY_H
#define ASSAY_ANALYSIS_HISTORY_H

#include "analysis/contrast.h"
#include "stats/change.h"

struct history_point {
	int64_t run;
	double figure;                // in the metric's unit; NaN where nothing was measured
	const struct side_row **rows; // of that run
	size_t count;
	enum verdict verdict; // of the newest of them
};

struct history_change {
	size_t at;           // index of the first point after it
	double p;            // as good by chance in this share of orders
	struct comparison c; // of the points' rows before and behind, up to the changes beside it; B is behind
	const char *verdict; // faster, slower, less, more, same, cannot tell
	bool is_worse, is_better;
	const char *with; // what else changed there: versions, commit; NULL: nothing that is known
};

struct history_turn {
	size_t at;
	const char *cause;
}; // the verdict of this point is another than that of the one before

struct history {
	const char *what, *machine;
	bool is_imported;       // all its rows are
	const char *qualifiers; // asked_qualifiers of its rows; NULL: nothing
	enum contrast_metric metric;
	struct history_point *points;
	size_t count, measured; // measured: with a figure; the series that is looked at
	struct history_change *changes;
	size_t change_count;
	struct history_turn *turns;
	size_t turn_count;
	const char *why_not; // the series is too short for changes; NULL: it was looked at
};

// One history a question and machine, in the order in which they came. Unlike files of one name are unlike models: a history
// each.
enum status history_make(const struct side *side, enum contrast_metric m, uint64_t seed, struct arena *a, struct history **out,
	size_t *count, struct error *err);
json_t *history_json(const struct history *items, size_t count);

#endif
