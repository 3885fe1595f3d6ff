// SPDX-License-Identifier: Apache-2.0
// What rows of ResNet may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_RESNET_H
#define ASSAY_ARCH_FAMILY_RESNET_H

#include "arch/spec.h"

#define RESNET_TRAITS(X, T) X(T, FLAG, deep_stem, "a stem of three convolutions, shortcuts by means of 2x2")
FAMILY_TRAITS(resnet, RESNET_TRAITS);

#endif
