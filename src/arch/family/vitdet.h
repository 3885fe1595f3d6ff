// SPDX-License-Identifier: Apache-2.0
// What rows of vision transformers with windows may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_VITDET_H
#define ASSAY_ARCH_FAMILY_VITDET_H

#include "arch/block/block.h"

#define VITDET_TRAITS(X, T) X(T, FLAG, neck, "all layers but some have windows; two convolutions with norms after the last")
FAMILY_TRAITS(vitdet, VITDET_TRAITS);

int64_t vitdet_first_global(const struct spec *s); // the first layer without windows; -1: all have some
// Self-attention of x [batch, rows*cols, hidden], by "layers.attn.qkv" and "layers.attn.o"; relative: scores have what a query
// says of the distance in rows and in columns added, by the tables "layers.rows" and "layers.cols".
graph_value vitdet_attention(struct build *b, graph_value x, int64_t rows, int64_t cols, bool relative);

#endif
