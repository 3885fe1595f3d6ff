// SPDX-License-Identifier: Apache-2.0
// What rows of DeBERTa may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_DEBERTA_H
#define ASSAY_ARCH_FAMILY_DEBERTA_H

#include "arch/spec.h"

#define DEBERTA_TRAITS(X, T) \
	X(T, FLAG, joined_by_head, "query, key and value in one tensor, head by head; each distance has a row")
FAMILY_TRAITS(deberta, DEBERTA_TRAITS);

#endif
