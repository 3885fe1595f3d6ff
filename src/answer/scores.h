// SPDX-License-Identifier: Apache-2.0
// Logits to scores.
#ifndef ASSAY_ANSWER_SCORES_H
#define ASSAY_ANSWER_SCORES_H

#include <stddef.h>

#include "base/arena.h"

// In double precision, stable; `out` may be `in`.
void scores_softmax(const double *in, size_t count, double *out);
double scores_sigmoid(double x);
// Places of the scores by falling score, equal ones in their order.
size_t *scores_order(struct arena *a, const double *scores, size_t count);

#endif
