// SPDX-License-Identifier: Apache-2.0
// What rows of an encoder and a decoder that are models of their own may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_TWO_MODELS_H
#define ASSAY_ARCH_FAMILY_TWO_MODELS_H

#include "arch/spec.h"

enum two_models_source { SOURCE_TEXT, SOURCE_PICTURE, SOURCE_SOUND };
#define TWO_MODELS_TRAITS(X, T) \
	X(T, COUNT, source, "the encoder reads: 0 text, 1 pictures, 2 sound") \
	X(T, FLAG, below_model, "names of both begin with model., and the head is the decoder's token table")
FAMILY_TRAITS(two_models, TWO_MODELS_TRAITS);

#endif
