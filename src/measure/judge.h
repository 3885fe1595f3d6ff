// SPDX-License-Identifier: Apache-2.0
// Are the outputs right? Compares tensors with a reference, output by output.
#ifndef ASSAY_MEASURE_JUDGE_H
#define ASSAY_MEASURE_JUDGE_H

#include <jansson.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/tensor.h"
#include "onnx/precision.h"

struct bound {
	double max_abs;                      // times max(1, largest absolute value of the reference)
	double nmse;
	double derived;                      // in the place of max_abs, for outputs that are made from others (derive.h)
	bool integers_may_differ;            // what is chosen from inexact numbers: counted, and no reason to call an output wrong
};
// By what the engine computes in; the observations behind the numbers stand in judge.c.
struct bound bound_for(enum dtype compute);
// The same where a precision was asked for: that of the precision or of the arithmetic, whichever is wider.
struct bound bound_of(enum precision p, enum dtype compute);

struct check {
	const char *name;
	bool right;
	double max_abs_error, max_rel_error, nmse, cosine;
	double top1_agreement;               // NaN where the last axis has fewer than 2 elements
	int64_t non_finite;                  // in the output, where the reference is finite
	double reference_absmax;
	size_t worst;                        // flat index
	double worst_value, worst_reference;
	const char *cause;                   // NULL when right; in the arena
};

// Sums in double. A different shape, a missing output or a non-finite value is not right. Integer outputs must be equal.
// Places where the reference is at most -10000 (masked logits; conformance README) must be at most -10000 and are left out.
void judge_tensor(const struct tensor *output, const struct tensor *reference, struct bound bound, struct arena *a, struct check *out);
// Perplexity: e to the mean, over places i whose successor is one, of -log softmax(logits[i])[ids[i + 1]]. logits: [batch, seq, vocab]; ids and
// mask: [batch, seq], integers; where the mask (may be NULL) is 0 there is no place. NaN: other shapes, no pair, or an id beyond vocab.
double judge_perplexity(const struct tensor *logits, const struct tensor *ids, const struct tensor *mask);
json_t *check_json(const struct check *c, const struct tensor *output);

#endif
