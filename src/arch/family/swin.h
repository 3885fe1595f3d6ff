// SPDX-License-Identifier: Apache-2.0
// What rows of Swin may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_SWIN_H
#define ASSAY_ARCH_FAMILY_SWIN_H

#include "arch/spec.h"

#define SWIN_TRAITS(X, T) \
	X(T, FLAG, cosine_windows, "version 2 of windows: cosine attention, norms after the branches") \
	X(T, FLAG, windows_always, "windows are cut and shifted even where one is as large as the grid") \
	X(T, FLAG, no_final_norm, "no norm after the last layer")
FAMILY_TRAITS(swin, SWIN_TRAITS);

#endif
