// SPDX-License-Identifier: Apache-2.0
// Are the outputs right? Compares tensors with a reference, output by output.
#ifndef ASSAY_RUN_JUDGE_H
#define ASSAY_RUN_JUDGE_H

#include <jansson.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/tensor.h"
#include "onnx/precision.h"

struct bound {
	double max_abs; // times max(1, largest absolute value of the reference)
	double nmse;
	double rounding;  // root mean square error up to which a large NMSE is rounding: of outputs near zero
	double derived;   // instead of max_abs, for outputs that are computed from others (derive.h)
	double agreement; // of integers: the least share that must be equal; 1: all of them
};
// By what the engine computes in, against the same graph in float32; judge.c has the observations behind the numbers.
struct bound bound_for(enum dtype compute);
// Of the arithmetic of precision p where the engine computes in `compute`, against reference_arithmetic (reference.h): the same
// weights, dequantised, in float32. The wider of the two.
enum activations {
	ACTIVATIONS_AS_BUILT,  // as the graph says, or allows (accuracy level of MatMulNBits)
	ACTIVATIONS_BY_ENGINE, // int8-dynamic: the engine quantises them in its own way
	ACTIVATIONS_FLOAT,     // weights alone are integers
};
struct bound bound_of(enum precision p, enum dtype compute, enum activations how);
// Each figure the wider of the two.
struct bound bound_wider(const struct bound *x, const struct bound *y);
// "max abs 0.0001 x max(1, largest reference value), NMSE 1e-08 (root mean square error above 4.8e-07)"; in the arena.
const char *bound_text(const struct bound *b, struct arena *a);
// The same with the number that it comes to for an output whose reference is at most so large, "max abs 0.00034 (0.0001 x max(1,
// largest reference value))"; NaN: not known.
const char *bound_text_of(const struct bound *b, double largest, struct arena *a);

struct check {
	const char *name;
	bool right;
	double max_abs_error, max_rel_error, nmse, cosine;
	double top1_agreement;      // NaN where there are no classes; of integers the share that is equal
	int64_t non_finite;         // in the output; padding and what masks are left out
	int64_t compared, left_out; // elements; left out: masked by the reference (judge_tensor)
	int64_t alike_not_finite;   // neither compared nor left out: not finite here and in the reference (BY_FILE)
	int64_t no_reference;       // neither: a number here and none in the reference (BY_GOLDEN)
	double reference_absmax;
	size_t worst; // flat index
	double worst_value, worst_reference;
	const char *decided_by; // the figure nearest to its bound: "max abs", "NMSE", "rounding", "NMSE of small values",
				// "NMSE in groups", "integers", "mask", "not finite", "shape"
	double of_bound;        // that figure over its bound; above 1: wrong. NaN where there is no such figure
	const char *cause;      // NULL when right; in the arena
	// Nothing is wrong, and that says nothing: why; NULL: it was judged. Its figures do not count.
	const char *not_judged;
};

// Who made a reference decides what it can excuse.
enum judged_by {
	BY_ENGINE, // another run of a graph of ours: a value that is not finite is wrong even where both have it
	// Another run of a user's file on made-up inputs: the same value that is not finite, in the same place, says nothing.
	BY_FILE,
	// Outputs of the model's authors' library: the same value that is not finite, in the same place, is right. NaN or
	// +inf in the place of a number says nothing: the file was made with other inputs, or is damaged.
	BY_GOLDEN,
};

// Which elements of an output belong to padded tokens.
struct padded {
	const struct tensor *mask; // attention mask [batch, seq], integers: 0 where there is no token
	int axis;                  // of the output, whose axis 0 is the batch: its tokens; 1 in hidden states, 2 in a cache
};

// `padded` may be NULL; where the output's batch or number of tokens is not the mask's it has no say.
// Sums in double, in the order of the elements. A different shape, a missing output or a value that is not finite is not right.
// Places where the reference has exactly a value that stands for "masked" (judge.c lists them) must hold at most -9000, and are
// left out and counted: -10000 rounds to -9984 in bfloat16. What an output holds at padded tokens is left out and counted too,
// unless it is NaN: no caller reads it, and engines need not agree on it.
void judge_tensor(const struct tensor *output, const struct tensor *reference, const struct padded *padded, struct bound bound,
	enum judged_by by, struct arena *a, struct check *out);
// NaN and +inf values of an output that nothing can be compared with; no number that a model means, whatever it computes.
int64_t judge_not_finite(const struct tensor *t);
// Perplexity: e to the mean, over places i whose successor is one, of -log softmax(logits[i])[ids[i + 1]]. logits: [batch, seq,
// vocab]; ids and mask: [batch, seq], integers; where the mask (may be NULL) is 0 there is no place. NaN: other shapes, no pair,
// or an id beyond vocab.
double judge_perplexity(const struct tensor *logits, const struct tensor *ids, const struct tensor *mask);
json_t *check_json(const struct check *c, const struct tensor *output);

#endif
