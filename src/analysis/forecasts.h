// SPDX-License-Identifier: Apache-2.0
// Rows as points of stats/forecast.h: one group for each platform of each machine, precision and number of threads. Private to
// the folder.
#ifndef ASSAY_ANALYSIS_FORECASTS_H
#define ASSAY_ANALYSIS_FORECASTS_H

#include "stats/forecast.h"
#include "report/gather.h"

struct forecast_group {
	const char *machine, *platform;
	const char *precision;            // as asked; NULL: as stored
	int64_t threads;                  // ROW_NONE: the engine's default
	const char *words;                // "openvino, int4-weights, 2 threads"
	struct forecast_point *points;    // timed forward passes of models that assay built, newest last, at most FORECAST_ROWS
	const struct report_cell **cells; // the cell of each
	size_t count;
	struct forecast *proven; // of each point the prediction that had not seen its model; NULL: too few models
};

enum { FORECAST_ROWS = 300 };

// The precision of a row, as groups have it.
const char *forecast_precision(const struct row *r);

// Of all groups of the summary together: how good predictions are on this database.
void forecast_groups_judge(struct forecast_proof *out, const struct summary *s, struct arena *a);
// "21 of 24 measured times lay within the predicted 90 % intervals (88 %; 95 % interval of that: 69 to 96 %); the middle
// prediction was 1.2× off, the worst 2.0×"; NULL: nothing was proven.
const char *forecast_proof_words(struct arena *a, const struct forecast_proof *p);

#endif
