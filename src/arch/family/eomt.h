// SPDX-License-Identifier: Apache-2.0
// What rows of vision transformers whose last layers have queries for masks may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_EOMT_H
#define ASSAY_ARCH_FAMILY_EOMT_H

#include "arch/spec.h"

#define EOMT_TRAITS(X, T) X(T, FLAG, rotary, "the layers are DINOv3's, with rotary positions")
FAMILY_TRAITS(eomt, EOMT_TRAITS);

#endif
