// SPDX-License-Identifier: Apache-2.0
// What models that have SAM 3's vision tower as a part ask of it: its body leaves the pyramid's maps in io->states.
#ifndef ASSAY_ARCH_FAMILY_SAM3_VISION_H
#define ASSAY_ARCH_FAMILY_SAM3_VISION_H

#include "arch/spec.h"

int64_t sam3_vision_levels(const struct spec *s); // maps
int64_t sam3_vision_width(const struct spec *s);  // of each

#endif
