// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_ARCH_FAMILY_REFORMER_H
#define ASSAY_ARCH_FAMILY_REFORMER_H

#include "arch/spec.h"

FAMILY(reformer);

#endif
