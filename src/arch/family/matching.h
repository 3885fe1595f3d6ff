// SPDX-License-Identifier: Apache-2.0
// Pairs of pictures as two rows each, for what matches them (matching.c, loftr.c).
#ifndef ASSAY_ARCH_FAMILY_MATCHING_H
#define ASSAY_ARCH_FAMILY_MATCHING_H

#include "arch/block/image.h"

// pixel_values [batch, 2, channels, height, width] of any size.
graph_value pair_input(struct build *b, int64_t channels);
graph_value pair_rows(struct graph *g, graph_value pairs);          // such pictures as [2 * batch, channels, ..]
graph_value paired(struct graph *g, graph_value x);                 // and back
graph_value of_pair(struct graph *g, graph_value x, int64_t which); // x [2 * batch, ..]: the first or the second: [batch, ..]
graph_value both_rows(struct graph *g, graph_value first, graph_value second); // two of [batch, ..] as [batch, 2, ..]
void pair_hints(const struct spec *s, struct input_hints *out);                // made-up pictures of 224 by 224

#endif
