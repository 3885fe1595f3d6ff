// SPDX-License-Identifier: Apache-2.0
// What rows of models that segment what is pointed at may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_SAM_H
#define ASSAY_ARCH_FAMILY_SAM_H

#include "arch/spec.h"

#define SAM_TRAITS(X, T) \
	X(T, FLAG, fine_token, "one more mask, of finer features, is added to all others, which are sorted by their scores") \
	X(T, FLAG, second, "version 2: finer maps of the tower are added on the way up, a score says whether anything is there")
FAMILY_TRAITS(sam, SAM_TRAITS);

#endif
