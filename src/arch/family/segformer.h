// SPDX-License-Identifier: Apache-2.0
// What rows of transformers in stages may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_SEGFORMER_H
#define ASSAY_ARCH_FAMILY_SEGFORMER_H

#include "arch/spec.h"

#define SEGFORMER_TRAITS(X, T) \
	X(T, FLAG, disjoint_patches, \
		"patches do not overlap and have learned positions, the last stage a class token, the feed-forward no " \
		"convolution")
FAMILY_TRAITS(segformer, SEGFORMER_TRAITS);

#endif
