// SPDX-License-Identifier: Apache-2.0
// What rows of vision transformers whose last layers have queries for masks may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_EOMT_H
#define ASSAY_ARCH_FAMILY_EOMT_H

#include "arch/spec.h"

#define EOMT_TRAITS(X, T) \
	X(T, FLAG, rotary, "the layers are DINOv3's, with rotary positions") \
	X(T, FLAG, films, "of films: each frame's queries are made of what those of the frame before became; all see all")
FAMILY_TRAITS(eomt, EOMT_TRAITS);

#endif
