// SPDX-License-Identifier: Apache-2.0
// What rows of two towers that are compared may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_DUAL_H
#define ASSAY_ARCH_FAMILY_DUAL_H

#include "arch/block/block.h"

#define DUAL_TRAITS(X, T) \
	X(T, FLAG, compared_as_pooled, "no projections: what the towers pool is compared; the logits have a bias") \
	X(T, FLAG, compares_first, "of a text the first token's state is compared, not what is pooled") \
	X(T, FLAG, bounded_scale, "the likeness is scaled by 1 at least and by max_logit_scale at most") \
	X(T, FLAG, text_projected, "of a text the first token's state is projected, with a bias; what a picture pools is not") \
	X(T, FLAG, divided, "a temperature divides the likeness, and no bias is added") \
	X(T, FLAG, first_pooled, "of a picture the first token's state is compared") \
	X(T, FLAG, finds_objects, "a class of it finds objects in pictures by texts (owl.c)") \
	X(T, FLAG, segments, "a class of it segments pictures by texts (clipseg.c)") \
	X(T, FLAG, rooted_towers, "the towers are whole models of any type, below text_model. and vision_model.")
FAMILY_TRAITS(dual, DUAL_TRAITS);

// owl.c: objects in pictures, of unit texts [images * texts, text] and what both towers gave; declares the outputs.
void owl_objects(struct build *b, graph_value texts, const struct body *text, const struct body *vision);
// clipseg.c: what its decoder says of itself, and the regions of pictures that texts [batch, projection] name; declares the
// outputs.
struct clipseg;
const struct clipseg *clipseg_resolve(struct config *c, const struct spec *s, struct arena *a);
void clipseg_regions(struct build *b, const struct clipseg *o, graph_value texts, const struct body *vision);

#endif
