// SPDX-License-Identifier: Apache-2.0
// FLAVA's rows have no traits of their own.
#ifndef ASSAY_ARCH_FAMILY_FLAVA_H
#define ASSAY_ARCH_FAMILY_FLAVA_H

#include "arch/spec.h"

FAMILY(flava);
FAMILY(flava_fusion);

#endif
