// SPDX-License-Identifier: Apache-2.0
// Whisper's encoder for those that stand on it, and what rows of it by itself may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_WHISPER_H
#define ASSAY_ARCH_FAMILY_WHISPER_H

#include "arch/block/block.h"

#define WHISPER_ENCODER_TRAITS(X, T) \
	X(T, FLAG, paired_states, "two neighbouring states become their mean before the last norm") \
	X(T, FLAG, masked, "takes a mask of its frames")
FAMILY_TRAITS(whisper_encoder, WHISPER_ENCODER_TRAITS);

enum { WHISPER_FRAMES = 3000 }; // of made-up sound of any length: 30 seconds

// Of an encoder by itself, with b->s at it: input_features f32 [BATCH, bins, frames] and, where it has a name, i64 MASK [BATCH,
// frames].
void whisper_inputs(struct build *b, struct body *io, const char *batch, const char *mask);
// mask [batch, frames] -> how many states, or whole groups of so many, that is: f32 [batch]
graph_value whisper_lengths(struct build *b, graph_value mask, int64_t of);

#endif
