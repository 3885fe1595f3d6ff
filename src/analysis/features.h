// SPDX-License-Identifier: Apache-2.0
// What the graph of a model computes and moves on a platform, without running it: for predictions (analysis/recommend.h).
#ifndef ASSAY_ANALYSIS_FEATURES_H
#define ASSAY_ANALYSIS_FEATURES_H

#include "plan/plan.h"
#include "stats/forecast.h"

// One forward pass of the question's batch and lengths, built as the target's platform builds it first. UNSUPPORTED where the
// model cannot be built or shaped, or some dimension is known to a run only.
enum status plan_features(struct forecast_point *out, const struct plan_model *m, const struct target *t,
	const struct question *q, struct error *err);

#endif
