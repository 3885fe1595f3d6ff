// SPDX-License-Identifier: Apache-2.0
// What rows of two towers that are compared may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_DUAL_H
#define ASSAY_ARCH_FAMILY_DUAL_H

#include "arch/spec.h"

#define DUAL_TRAITS(X, T) \
	X(T, FLAG, compared_as_pooled, "no projections: what the towers pool is compared; the logits have a bias") \
	X(T, FLAG, compares_first, "of a text the first token's state is compared, not what is pooled") \
	X(T, FLAG, bounded_scale, "the likeness is scaled by 1 at least and by max_logit_scale at most") \
	X(T, FLAG, text_projected, "of a text the first token's state is projected, with a bias; what a picture pools is not") \
	X(T, FLAG, divided, "a temperature divides the likeness, and no bias is added") \
	X(T, FLAG, first_pooled, "of a picture the first token's state is compared") \
	X(T, FLAG, rooted_towers, "the towers are whole models of any type, below text_model. and vision_model.")
FAMILY_TRAITS(dual, DUAL_TRAITS);

#endif
