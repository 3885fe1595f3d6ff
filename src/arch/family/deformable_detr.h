// SPDX-License-Identifier: Apache-2.0
// Deformable DETR (deformable_detr.c), what its rows may set (traits.h), and how DETA chooses its queries (deta.c).
#ifndef ASSAY_ARCH_FAMILY_DEFORMABLE_DETR_H
#define ASSAY_ARCH_FAMILY_DEFORMABLE_DETR_H

#include "arch/block/deform.h"

#define DEFORMABLE_DETR_TRAITS(X, T) X(T, FLAG, assigns, "places become queries by non-maximum suppression, with their states")
FAMILY_TRAITS(deformable_detr, DEFORMABLE_DETR_TRAITS);

// Most queries that deta_places can choose on so many levels.
int64_t deta_places_most(int64_t levels);
// The n places of the levels that become queries, i64 [batch, n]: of each level its 1000 best, without those whose box shares
// more than 0.9 with that of a better one of the level; of these as many of each level as of another, filled up with the best of
// the rest (Ouyang-Zhang et al. 2022, https://arxiv.org/abs/2212.06137, appendix A.2). Where suppression leaves fewer than n, the
// n best of all stand for them. score [batch, places], box [batch, places, 4]: centre and size, before the sigmoid. At least 1000
// places, as the class itself asks for.
graph_value deta_places(struct build *b, const struct deform_levels *l, graph_value score, graph_value box, int64_t n);

#endif
