// SPDX-License-Identifier: Apache-2.0
// BridgeTower's rows have no traits of their own.
#ifndef ASSAY_ARCH_FAMILY_BRIDGETOWER_H
#define ASSAY_ARCH_FAMILY_BRIDGETOWER_H

#include "arch/spec.h"

FAMILY(bridgetower);
FAMILY(bridgetower_vision);

#endif
