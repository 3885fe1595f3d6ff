// SPDX-License-Identifier: Apache-2.0
// What rows of Mamba and its kin may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_MAMBA_H
#define ASSAY_ARCH_FAMILY_MAMBA_H

#include "arch/spec.h"

#define MAMBA_TRAITS(X, T) X(T, FLAG, normed_selection, "RMS norms without weights over the time step, B and C of a layer")
FAMILY_TRAITS(mamba, MAMBA_TRAITS);

#endif
