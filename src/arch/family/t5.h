// SPDX-License-Identifier: Apache-2.0
// What rows of T5 and its kin may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_T5_H
#define ASSAY_ARCH_FAMILY_T5_H

#include "arch/spec.h"

#define T5_TRAITS(X, T) \
	X(T, FLAG, relative_each_layer, "every layer has its own bias by distance, not the first for all") \
	X(T, FLAG, unscaled_head, "a tied head reads the state as it is, not divided by sqrt(hidden)")
FAMILY_TRAITS(t5, T5_TRAITS);

#endif
