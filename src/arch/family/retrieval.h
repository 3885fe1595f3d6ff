// SPDX-License-Identifier: Apache-2.0
// What rows of late interaction may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_RETRIEVAL_H
#define ASSAY_ARCH_FAMILY_RETRIEVAL_H

#include "arch/spec.h"

#define RETRIEVAL_TRAITS(X, T) \
	X(T, FLAG, padded, "pictures come as rows of patches with zeros behind them, and a token has one position")
FAMILY_TRAITS(retrieval, RETRIEVAL_TRAITS);

#endif
