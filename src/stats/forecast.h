// SPDX-License-Identifier: Apache-2.0
// How long a run would take that was not measured: from what its graph computes and moves, and from rows of other models on
// the same platform of the same machine. Always called a prediction.
//
//   law          ms = a flops + b bytes + c nodes, none below 0: least squares of the relative error over what was measured
//   neighbours   what the law leaves (log of measured over law) is averaged over the measured models that are alike, the nearer
//                the more
//   interval     how far the same procedure was off for each model when all rows of it were left out: 9 of 10 such errors lie
//                within
//                (split conformal prediction with leave-one-out scores: Vovk, Gammerman, Shafer 2005; Barber et al. 2021)
//
// What it does not know: what an engine fuses, caches, threads. That is why the interval is as wide as it is.
#ifndef ASSAY_STATS_FORECAST_H
#define ASSAY_STATS_FORECAST_H

#include <stddef.h>

#include "base/error.h"

// Kinds of nodes whose shares of the operations tell graphs apart.
enum forecast_mix { MIX_PRODUCT, MIX_CONVOLUTION, MIX_SOFTMAX, MIX_REST, MIX_COUNT };

// Which of them a node of this operation is.
enum forecast_mix forecast_mix_of(const char *op);

struct forecast_point {
	double flops, nbytes;  // of one run, > 0
	double nodes;          // of the graph, > 0
	double mix[MIX_COUNT]; // shares of flops, sum 1
	int model;             // rows of one model are left out together
	double ms;             // measured, > 0; of what is asked for: not read
};

// Models below which nothing is predicted: of fewer than 9 errors none is the ninth of ten.
// Times the arithmetic or the bytes of the largest measured model, beyond which nothing is predicted. The interval is that of
// models among the measured ones: of made-up machines (20 models over 2.5 decades, scatter 15 %, 900 draws) it held 91 % at
// the largest measured one, 85 % at twice its size, 80 % at 3 times, 60 % at 10 times, where the worst was 4 times off, and at
// 1000 times some were 280 times off.
enum { FORECAST_MODELS = 10, FORECAST_BEYOND = 2 };

struct forecast {
	double ms, low, high;  // 90 % interval
	double law_ms;         // of the law alone
	size_t points, models; // it was made from
	size_t nearest;        // index of the measured point that is most alike
};

// UNSUPPORTED with a sentence: too few models, or none nearly as large. BAD_INPUT: a figure that is not above 0.
enum status forecast_make(const struct forecast_point *known, size_t count, const struct forecast_point *asked,
	struct forecast *out, struct error *err);

// The proof: each model left out in turn and all of its rows predicted from the others, interval included. out[i] is the
// prediction for known[i] that had not seen its model.
enum status forecast_prove(const struct forecast_point *known, size_t count, struct forecast *out, struct error *err);

struct forecast_proof {
	size_t count, covered;            // rows; those whose measured time lies within the interval
	double low, high;                 // 95 % interval of the share that is covered (Wilson 1927)
	double median_error, worst_error; // factors: measured over predicted or the other way, whichever is above 1
};
// Of any number of proven predictions, of one platform or of several: measured[i] beside made[i]. NaN where there are none.
void forecast_judge(struct forecast_proof *out, const double *measured_ms, const struct forecast *made, size_t count);

#endif
