// SPDX-License-Identifier: Apache-2.0
// TVLT's row has no traits of its own.
#ifndef ASSAY_ARCH_FAMILY_TVLT_H
#define ASSAY_ARCH_FAMILY_TVLT_H

#include "arch/spec.h"

FAMILY(tvlt);

#endif
