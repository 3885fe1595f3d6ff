// SPDX-License-Identifier: Apache-2.0
// What rows of vision transformers whose patches stay in windows may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_WINDOWED_VIT_H
#define ASSAY_ARCH_FAMILY_WINDOWED_VIT_H

#include "arch/spec.h"

#define WINDOWED_VIT_TRAITS(X, T) X(T, FLAG, class_tokens, "each window has a copy of a class token; features are normed")
FAMILY_TRAITS(windowed_vit, WINDOWED_VIT_TRAITS);

#endif
