// SPDX-License-Identifier: Apache-2.0
// DINOv3's vision transformer from the inside, for those that stand on it.
#ifndef ASSAY_ARCH_FAMILY_DINOV3_H
#define ASSAY_ARCH_FAMILY_DINOV3_H

#include "arch/block/vit.h"

// The beginning of spec.own of the families that have its layers. It begins as vit's does.
struct dino {
	struct vit vit;
	double theta;
	bool query_bias, key_bias, value_bias, out_bias, ffn_bias, gated;
};

void dino_resolve(struct config *c, struct spec *s, struct arena *a, struct dino *d); // s->own becomes d
// [batch, special + patches, hidden]; *map: the patches as a map.
graph_value dino_embed(struct build *b, graph_value pixels, graph_value *map);
// cos and sin [1, before + special + patches, 1, head_width / 2]; those before, class token and registers are not rotated.
void dino_tables(struct build *b, graph_value map, int64_t before, graph_value *cos, graph_value *sin);
graph_value dino_layer(struct build *b, graph_value x, graph_value bias, graph_value cos, graph_value sin);

#endif
