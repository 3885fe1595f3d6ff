// SPDX-License-Identifier: Apache-2.0
// What rows of MobileViT may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_MOBILEVIT_H
#define ASSAY_ARCH_FAMILY_MOBILEVIT_H

#include "arch/spec.h"

#define MOBILEVIT_TRAITS(X, T) X(T, FLAG, separable, "version 2: attention by one weight a place, all widths by one multiplier")
FAMILY_TRAITS(mobilevit, MOBILEVIT_TRAITS);

#endif
