// SPDX-License-Identifier: Apache-2.0
// What stands on a speech encoder, for its family alone.
#ifndef ASSAY_ARCH_FAMILY_SPEECH_H
#define ASSAY_ARCH_FAMILY_SPEECH_H

#include "arch/block/block.h"

// What rows may set: traits.h.
#define SPEECH_TRAITS(X, T) X(T, FLAG, causal_convolution, "the conformer's convolution sees the past only and is layer-normed")
FAMILY_TRAITS(speech, SPEECH_TRAITS);

// What config.json says of the convolutions over samples, and of positions by convolution or in conformer layers.
struct sound;
void speech_resolve_stem(struct config *c, struct sound *o, struct arena *a);
void speech_resolve_positions(struct config *c, struct spec *s, struct sound *o);

// What resolve asks of a head: whether its class has the adapter, and which keys it cannot be without.
enum { SPEECH_ADAPTED = 1, SPEECH_LETTERS = 2, SPEECH_CODES = 4, SPEECH_VOICE = 8 };
extern const struct family_head speech_heads[];

#endif
