// SPDX-License-Identifier: Apache-2.0
// What rows of Depth Anything may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_DEPTH_ANYTHING_H
#define ASSAY_ARCH_FAMILY_DEPTH_ANYTHING_H

#include "arch/spec.h"

#define DEPTH_ANYTHING_TRAITS(X, T) \
	X(T, FLAG, prompted, "a second input, a coarse depth, is added at every size; no largest depth")
FAMILY_TRAITS(depth_anything, DEPTH_ANYTHING_TRAITS);

#endif
