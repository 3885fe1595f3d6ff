// SPDX-License-Identifier: Apache-2.0
// What rows of real-time detectors may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_RT_DETR_H
#define ASSAY_ARCH_FAMILY_RT_DETR_H

#include "arch/spec.h"

#define RT_DETR_TRAITS(X, T) X(T, FLAG, scaled_offsets, "how far places may lie from a box is said by config.json")
FAMILY_TRAITS(rt_detr, RT_DETR_TRAITS);

#endif
