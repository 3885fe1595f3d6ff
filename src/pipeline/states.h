// SPDX-License-Identifier: Apache-2.0
// Vectors of texts. Private to pipeline/.
#ifndef ASSAY_PIPELINE_STATES_H
#define ASSAY_PIPELINE_STATES_H

#include "pipeline/inside.h"

// In the order in which sentence-transformers puts several behind each other.
enum pooling { POOL_FIRST, POOL_MOST, POOL_MEAN, POOL_SQRT, POOL_WEIGHTED, POOL_LAST, POOLINGS };
struct vector {
	double *x;
	size_t count;
};
// A text's: its states pooled in the ways of `how` (1 << POOL_MEAN | ..), of length 1 with `unit`. `cut` NULL: nothing is cut
// off.
enum status vector_of(struct call *c, struct part *m, const char *text, const struct truncation *cut, unsigned how, bool unit,
	struct vector *out, struct error *err);
double vector_dot(const struct vector *a, const struct vector *b); // of the same length

#endif
