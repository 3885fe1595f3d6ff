// SPDX-License-Identifier: Apache-2.0
// What the graph of a model computes and moves on a platform, without running it: for predictions (report/recommend.h).
#ifndef ASSAY_API_FEATURES_H
#define ASSAY_API_FEATURES_H

#include "api/plan.h"
#include "measure/forecast.h"

// One forward pass of the question's batch and lengths, drawn as the target's platform draws it first. UNSUPPORTED where the model cannot
// be drawn or shaped, or some dimension is known to a run only.
enum status plan_features(struct forecast_point *out, const struct plan_model *m, const struct target *t, const struct question *q, struct error *err);

#endif
