// SPDX-License-Identifier: Apache-2.0
// What rows of BLIP's kin may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_QFORMER_H
#define ASSAY_ARCH_FAMILY_QFORMER_H

#include "arch/spec.h"

#define QFORMER_TRAITS(X, T) X(T, FLAG, reads, "a text stands beside the queries, with a feed-forward of its own")
FAMILY_TRAITS(qformer, QFORMER_TRAITS);

#define VLM_QUERIED_TRAITS(X, T) X(T, FLAG, frames, "a row has several pictures, each of which is asked")
FAMILY_TRAITS(vlm_queried, VLM_QUERIED_TRAITS);

// How wide what a part of this family looks at is.
int64_t qformer_memory(const struct spec *s);

#endif
