// SPDX-License-Identifier: Apache-2.0
// What rows of ConvNeXt may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_CONVNEXT_H
#define ASSAY_ARCH_FAMILY_CONVNEXT_H

#include "arch/spec.h"

#define CONVNEXT_TRAITS(X, T) X(T, FLAG, response_norm, "channels by how much of them the whole map has")
FAMILY_TRAITS(convnext, CONVNEXT_TRAITS);

#endif
