// SPDX-License-Identifier: Apache-2.0
// The vision transformer from the inside, for those that stand on it.
#ifndef ASSAY_ARCH_BLOCK_VIT_H
#define ASSAY_ARCH_BLOCK_VIT_H

#include "arch/block/image.h"

// spec.own of the family.
struct vit {
	int64_t classes;                // tokens before the patches that have positions
	int64_t registers;              // tokens after those that have none
	int64_t encoder_stride;         // of the head for masked images
	bool no_norm;                   // after the last layer
	bool no_positions;              // nothing is added to the patches
	bool norm_outputs, map_outputs; // of a backbone: normed, and as maps
};

static inline const struct vit *vit_of(const struct build *b)
{
	return b->s->own;
}

enum { VIT_NO_KEY_BIAS = 1, VIT_LAYER_SCALE = 2 }; // each branch times a learned vector
// Layer b->layer; bias: added to the scores, or NO_VALUE.
graph_value vit_layer(struct build *b, graph_value x, graph_value bias, unsigned how);
int64_t vit_special(const struct build *b);                   // all tokens before the patches
graph_value vit_patches(struct build *b, graph_value tokens); // without them
// Heads: last_hidden_state and what the model pools; classes by the class token.
void vit_bare(struct build *b, const struct body *io);
void vit_classes(struct build *b, const struct body *io);
// State `index` of a body as a backbone gives it: normed where the model does, [batch, tokens, hidden].
graph_value vit_state(struct build *b, const struct body *io, int64_t index);
graph_value vit_feature(
	struct build *b, const struct body *io, int64_t index); // the same without special tokens where it is a map
graph_value vit_map(
	struct build *b, const struct body *io, graph_value patches); // [batch, hidden, rows, cols] of the image's grid

#endif
