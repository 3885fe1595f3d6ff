// SPDX-License-Identifier: Apache-2.0
// What models that have a conformer of blocks as their encoder share with it, and what its rows may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_BLOCK_CONFORMER_H
#define ASSAY_ARCH_FAMILY_BLOCK_CONFORMER_H

#include "arch/block/block.h"

#define BLOCK_CONFORMER_TRAITS(X, T) \
	X(T, COUNT, stacked, "so many numbers of a frame for each mel bin; 0: one") \
	X(T, FLAG, unmasked, "takes no mask of its frames") \
	X(T, FLAG, pointwise_kernels, "linear layers around the depthwise convolution lie as convolutions")
FAMILY_TRAITS(block_conformer, BLOCK_CONFORMER_TRAITS);

// Declares the encoder's inputs, with b->s at it: input_features f32 [BATCH, frames, width] and, where it is masked,
// attention_mask i64 [BATCH, frames].
void block_conformer_inputs(struct build *b, struct body *io, const char *batch);

#endif
