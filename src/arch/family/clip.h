// SPDX-License-Identifier: Apache-2.0
// What rows of text and vision towers may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_CLIP_H
#define ASSAY_ARCH_FAMILY_CLIP_H

#include "arch/spec.h"

#define CLIP_TEXT_TRAITS(X, T) \
	X(T, FLAG, ends_highest, "a text is pooled at its greatest token id, whatever eos_token_id is") \
	X(T, FLAG, eos_as_said, "an eos_token_id of 2 is no mistake") \
	X(T, FLAG, last_token, "attention both ways; pooled is a linear layer over the last token")
FAMILY_TRAITS(clip_text, CLIP_TEXT_TRAITS);

#define CLIP_VISION_TRAITS(X, T) \
	X(T, FLAG, attention_pool, "patches without class token, pooled by attention") \
	X(T, FLAG, grid_rope, \
		"queries and keys are rotated by row and column, the class token's by learned angles; no positions") \
	X(T, FLAG, listed, \
		"patches come as rows, spatial_shapes says of which grid; a mask tells the last ones, which are of no picture") \
	X(T, FLAG, own_rows, \
		"patches have a bias; no norm before the layers; all tokens are normed after, and what is pooled once more") \
	X(T, FLAG, resized_positions, "images of any size: the grid of positions is resized, bicubic") \
	X(T, FLAG, any_size, \
		"patches without class token, of images of any size: a patch has the position of its share of the image")
FAMILY_TRAITS(clip_vision, CLIP_VISION_TRAITS);

#endif
