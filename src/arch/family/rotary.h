// SPDX-License-Identifier: Apache-2.0
// What rows of encoders with rotary positions may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_ROTARY_H
#define ASSAY_ARCH_FAMILY_ROTARY_H

#include "arch/spec.h"

#define ROTARY_ENCODER_TRAITS(X, T) \
	X(T, FLAG, branch_norm_bias, "the norms before the branches have a bias, the others none") \
	X(T, FLAG, first_unnormed, "the first layer's attention reads the embedding as it is") \
	X(T, FLAG, depth_scaled, "each branch is divided by the root of layers / 36") \
	X(T, FLAG, down_bias, "of the feed-forward layers only the last has a bias")
FAMILY_TRAITS(rotary_encoder, ROTARY_ENCODER_TRAITS);

// Of a part: texts are pooled as c, the whole's configuration, says, not as the part's own.
void rotary_pools_as(struct config *c, struct spec *part);

#endif
